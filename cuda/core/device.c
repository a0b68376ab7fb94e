/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/device.c: the GPU functions of cf.h, which call the device's table of functions. */
#include "area.h"
#include "device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#ifdef CF_HAVE_CUDA
static const CfDevice *device = &cf_device_cuda;
#else
static const CfDevice *device;
#endif

/* CUDA does not work after a fork: the child must not call it. */
static atomic_bool forked;
static const char by_fork[] =
    "this process was forked from one that uses CUDA; only a newly started program can use the GPU";
static pthread_once_t watch_forks = PTHREAD_ONCE_INIT;

static void
note_fork (void)
{
  atomic_store (&forked, true);
}

static void
begin_to_watch (void)
{
  pthread_atfork (NULL, NULL, note_fork);
}

void
cf_device_install (const CfDevice *stand_in)
{
  device = stand_in;
}

static CfCode
fail_without (CfStatus *status)
{
  return cf_fail (status, CF_NO_GPU,
      "this build has no CUDA kernels; install the CUDA toolkit (12.1 or newer) and build again");
}

/* ---- CUDA's errors ------------------------------------------------------- */

/* What an error means for the process, by NVIDIA's description of cudaError_t. CF_GPU_LOST: the error is sticky, every
 * later call returns it; or the context and everything in it is gone. CF_NO_GPU: no GPU is to be had, and a later call
 * does not change that. Any other error may pass (CF_GPU_ERROR). */
static const struct {
  int number;
  CfCode code;
  const char *sentence;
} errors[] = {
  { 2, CF_NO_MEMORY, "not enough memory" },
  { 3, CF_NO_GPU, "the NVIDIA driver could not be initialised" },
  { 4, CF_GPU_LOST, "the process is ending" },
  { 34, CF_NO_GPU, "the libcuda.so.1 that was found is a stub, not a driver" },
  { 35, CF_NO_GPU, "the NVIDIA driver is older than this build needs" },
  { 46, CF_NO_GPU, "the GPU is taken by another process (compute mode exclusive or prohibited) or is full" },
  { 100, CF_NO_GPU, "the NVIDIA driver finds no GPU" },
  { 102, CF_NO_GPU, "the GPU has no vGPU license" },
  { 127, CF_NO_GPU, "CUDA could not start" },
  { 201, CF_GPU_LOST, "the CUDA context was destroyed" },
  { 209, CF_NO_GPU, "this build has no kernels for this GPU (cuda-archs)" },
  { 214, CF_GPU_LOST, "the GPU's memory had an error that ECC could not correct" },
  { 220, CF_GPU_LOST, "NVLink had an error that could not be corrected" },
  { 222, CF_NO_GPU, "the NVIDIA driver is too old to compile the kernels for this GPU" },
  { 226, CF_GPU_LOST, "a hardware error was contained" },
  { 700, CF_GPU_LOST, "a kernel accessed an illegal address" },
  { 702, CF_GPU_LOST, "a kernel ran longer than the driver permits" },
  { 709, CF_GPU_LOST, "the CUDA context was destroyed" },
  { 710, CF_GPU_LOST, "an assertion in a kernel failed" },
  { 714, CF_GPU_LOST, "a kernel damaged its stack" },
  { 715, CF_GPU_LOST, "a kernel ran into an illegal instruction" },
  { 716, CF_GPU_LOST, "a kernel accessed a misaligned address" },
  { 717, CF_GPU_LOST, "a kernel accessed the wrong kind of memory" },
  { 718, CF_GPU_LOST, "a kernel lost its program counter" },
  { 719, CF_GPU_LOST, "a kernel failed" },
  { 721, CF_GPU_LOST, "a kernel left tensor memory allocated" },
  { 802, CF_NO_GPU, "the system is not ready for CUDA (with NVSwitch, the Fabric Manager has to run)" },
  { 803, CF_NO_GPU, "the kernel module and the libraries of the NVIDIA driver have different versions" },
  { 804, CF_NO_GPU, "CUDA's forward compatibility package does not support this GPU" },
  { 805, CF_NO_GPU, "the MPS daemon cannot be reached" },
  { 806, CF_NO_GPU, "the connection to the MPS server failed" },
  { 807, CF_NO_GPU, "the MPS server is not ready" },
  { 808, CF_NO_GPU, "the MPS server has no room for another process" },
  { 809, CF_NO_GPU, "the MPS server has no room for another connection" },
  { 810, CF_GPU_LOST, "the MPS server ended this process' use of the GPU" },
  { 911, CF_GPU_LOST, "a device outside CUDA, for which the GPU waited, failed" },
  { 999, CF_GPU_ERROR, "an unknown error of the driver" },
};

CfCode
cf_cuda_fail (int error, const char *what, const char *name, CfStatus *status)
{
  CfCode code = CF_GPU_ERROR;

  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
    if (errors[i].number == error) {
      code = errors[i].code;
      name = errors[i].sentence;
    }
  cf_fail (status, code, "%s: %s (CUDA error %d)", what, name, error);
  if (status)
    status->cuda = error;
  return code;
}

/* ---- GPUs that hang ------------------------------------------------------- */

/* Streams whose work did not end before its deadline, or of which that is not known. They are not freed as long as they
 * are in the list, so they can be queried. A list that is full never becomes empty: then more hangs than it can say
 * when they end. */
#define MAX_HUNG 1000

static pthread_mutex_t hung_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint n_hung;
static struct {
  int number; /* of the device */
  void *context, *stream;
  const char *kernel; /* cf_device_hangs */
  uint64_t deadline;  /* ns; the GPU hangs from then on, and until then that is not known */
} hung[MAX_HUNG];
static atomic_uint_fast64_t abandoned;

typedef struct {
  uint64_t hung, doubt; /* CfGpuState */
} Devices;

static uint64_t
now_ns (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

void
cf_device_hangs (void *stream, const char *kernel, uint64_t left_ns)
{
  const uint64_t deadline = left_ns ? now_ns () + left_ns : 0;
  void *context;
  int number = device->current (&context);
  unsigned n, i = 0;

  pthread_mutex_lock (&hung_lock);
  n = atomic_load (&n_hung);
  while (i < n && (hung[i].stream != stream || hung[i].context != context))
    i++;
  if (i == n && n < MAX_HUNG) {
    hung[n].number = number;
    hung[n].context = context;
    hung[n].stream = stream;
    hung[n].kernel = kernel;
    hung[n].deadline = deadline;
    atomic_store (&n_hung, n + 1);
  } else if (i < n && deadline < hung[i].deadline) {
    hung[i].deadline = deadline;
  }
  pthread_mutex_unlock (&hung_lock);
}

/* Returns a device's bit; all bits for a number without one. */
static uint64_t
bit_of (int number)
{
  return number < 0 || number > 63 ? UINT64_MAX : UINT64_C (1) << number;
}

static Devices
hung_devices (void)
{
  Devices devices = { 0, 0 };
  uint64_t now;
  unsigned n;

  if (atomic_load (&n_hung) == 0 || atomic_load (&forked))
    return devices;
  now = now_ns ();
  pthread_mutex_lock (&hung_lock);
  n = atomic_load (&n_hung);
  if (n == MAX_HUNG)
    devices.hung = UINT64_MAX;
  for (unsigned i = n; i-- > 0;) {
    const uint64_t bit = bit_of (hung[i].number);

    if ((devices.hung & bit) == bit) /* one stream of a device that has not ended is enough to know */
      continue;
    if (device->ended (hung[i].context, hung[i].stream))
      hung[i] = hung[--n];
    else if (now < hung[i].deadline)
      devices.doubt |= bit;
    else
      devices.hung |= bit;
  }
  atomic_store (&n_hung, n);
  pthread_mutex_unlock (&hung_lock);
  return devices;
}

/* Returns which of the two the current context's GPU is in. */
static Devices
state_now (void)
{
  Devices devices = atomic_load (&n_hung) ? hung_devices () : (Devices) { 0, 0 };
  uint64_t bit;
  void *context;

  if (!devices.hung && !devices.doubt)
    return devices;
  bit = bit_of (device->current (&context));
  return (Devices) { devices.hung & bit, devices.doubt & bit };
}

/* Returns whether no call that may block may be made for the current context, because its GPU hangs. A call that
 * allocates, frees, copies or launches waits there until the GPU goes on, which may be never. */
static bool
hangs (void)
{
  return state_now ().hung != 0;
}

/* The work ends, or its deadline comes. */
void
cf_gpu_settle_doubt (int number)
{
  while (atomic_load (&n_hung) && hung_devices ().doubt & bit_of (number))
    nanosleep (&(struct timespec) { .tv_nsec = 1000000 }, NULL);
}

static void
settle_doubt (void)
{
  void *context;

  if (atomic_load (&n_hung))
    cf_gpu_settle_doubt (device->current (&context));
}

CfCode
cf_device_usable (CfStatus *status)
{
  void *context;

  if (!device)
    return fail_without (status);
  return hangs () ? cf_fail_hung (device->current (&context), status) : CF_OK;
}

CfCode
cf_fail_hung (int number, CfStatus *status)
{
  const char *kernel = NULL;

  pthread_mutex_lock (&hung_lock);
  for (unsigned i = 0; !kernel && i < atomic_load (&n_hung); i++)
    if (hung[i].number == number)
      kernel = hung[i].kernel;
  pthread_mutex_unlock (&hung_lock);
  return cf_fail (status, CF_TIMEOUT, "GPU %d hangs: an earlier frame of this process was not finished in time%s%s",
      number, kernel ? "; last kernel launched: " : "", kernel ? kernel : "");
}

/* Returns whether there is an object and it may be freed. One that stays is counted. */
static bool
may_free (const void *object)
{
  Devices state;

  if (!object || !device)
    return false;
  state = state_now ();
  if (!state.hung && !state.doubt)
    return true;
  atomic_fetch_add (&abandoned, 1);
  return false;
}

/* ---- devices ------------------------------------------------------------ */

int
cf_gpu_count (CfStatus *status)
{
  if (!device) {
    fail_without (status);
    return 0;
  }
  if (atomic_load (&forked)) {
    cf_fail (status, CF_NO_GPU, "%s", by_fork);
    return 0;
  }
  pthread_once (&watch_forks, begin_to_watch);
  return device->count (status);
}

CfCode
cf_gpu_info (int number, CfGpuInfo *info, CfStatus *status)
{
  memset (info, 0, sizeof *info);
  return device ? device->info (number, info, status) : fail_without (status);
}

CfCode
cf_gpu_check (const CfGpuInfo *info, const char *archs, CfStatus *status)
{
  const int capability = info->major * 10 + info->minor;

  if (cf_archs_run (archs, capability))
    return CF_OK;
  if (capability < CF_OLDEST_CAPABILITY)
    return cf_fail (status, CF_UNSUPPORTED, "%s has compute capability %d.%d; the kernels need 7.5 (Turing) or newer",
        info->name, info->major, info->minor);
  return cf_fail (status, CF_UNSUPPORTED,
      "%s has compute capability %d.%d, and this build's kernels are for %s; build with -Dcuda-archs=%d,%s", info->name,
      info->major, info->minor, archs, capability, archs);
}

bool
cf_gpu_lost (void)
{
  return device && (atomic_load (&forked) || device->loss ());
}

CfCode
cf_fail_lost (CfStatus *status)
{
  if (atomic_load (&forked))
    return cf_fail (status, CF_GPU_LOST, "%s", by_fork);
  return cf_fail (status, CF_GPU_LOST, "this process has lost the GPU and must restart: %s", device->loss ());
}

/* They do not change, and a process that was forked must not ask. */
static int driver_version, runtime_version;

static void
find_versions (void)
{
  device->versions (&driver_version, &runtime_version);
}

CfGpuState
cf_gpu_state (void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  CfGpuState state = { .archs = "", .abandoned = atomic_load (&abandoned) };
  Devices devices;

  if (!device)
    return state;
  pthread_once (&once, find_versions);
  device->counters (&state);
  state.archs = device->archs;
  state.driver = driver_version;
  state.runtime = runtime_version;
  state.forked = atomic_load (&forked);
  devices = hung_devices ();
  state.hung = devices.hung;
  state.doubt = devices.doubt;
  return state;
}

CfCode
cf_device_context_init (CfContext *context, CfStatus *status)
{
  CfGpuInfo info;
  CfCode code;

  if (device)
    settle_doubt ();
  code = cf_device_usable (status);
  if (code == CF_OK)
    code = device->context_init (context, status);
  if (code == CF_OK)
    code = cf_gpu_info (context->device, &info, status);
  return code == CF_OK ? cf_gpu_check (&info, device->archs, status) : code;
}

const CfOps *
cf_device_ops (const CfFilter *filter)
{
  return device ? device->ops (filter) : NULL;
}

/* ---- memory ------------------------------------------------------------- */

void *
cf_gpu_alloc (CfMemory memory, size_t size, CfStatus *status)
{
  settle_doubt ();
  if (cf_device_usable (status) != CF_OK)
    return NULL;
  return memory == CF_PINNED ? device->pinned_alloc (size, status) : device->device_alloc (size, status);
}

void
cf_gpu_free (CfMemory memory, void *block)
{
  if (!may_free (block))
    return;
  if (memory == CF_PINNED)
    device->pinned_free (block);
  else
    device->device_free (block);
}

/* ---- streams and events ------------------------------------------------- */

CfStream *
cf_stream_new (void *handle, CfStatus *status)
{
  return cf_device_usable (status) == CF_OK ? device->stream_new (handle, status) : NULL;
}

void
cf_stream_free (CfStream *stream)
{
  if (may_free (stream))
    device->stream_free (stream);
}

CfCode
cf_stream_copy_planes (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, bool whole,
    CfStatus *status)
{
  CfCode code = cf_device_usable (status);

  return code == CF_OK ? device->stream_copy (stream, direction, to, from, whole, status) : code;
}

CfCode
cf_stream_copy_pieces (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, bool interlaced,
    const CfPiece *piece, unsigned n, CfStatus *status)
{
  CfCode code = cf_device_usable (status);

  return code == CF_OK && n > 0 ? device->copy_pieces (stream, direction, to, from, interlaced, piece, n, status)
                                : code;
}

CfCode
cf_stream_copy_rows (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, int begin,
    int end, CfStatus *status)
{
  CfImage to_rows, from_rows;

  cf_image_rows (&to_rows, to, begin, end);
  cf_image_rows (&from_rows, from, begin, end);
  return cf_stream_copy_planes (stream, direction, &to_rows, &from_rows, false, status);
}

/* Provides the buffer of the next map, which the GPU has read. */
static CfCode
provide_map (CfPlan *plan, size_t size, const int *hurry, CfStatus *status)
{
  const uint64_t deadline_ns = UINT64_C (2000000000);
  const unsigned i = plan->next_map;

  if (!plan->map && !(plan->map = cf_gpu_alloc (CF_DEVICE, size, status)))
    return status->code;
  if (!plan->pinned_map[i].memory && !(plan->pinned_map[i].memory = cf_gpu_alloc (CF_PINNED, size, status)))
    return status->code;
  if (!plan->pinned_map[i].uploaded && !(plan->pinned_map[i].uploaded = cf_events_new (0, status)))
    return status->code;
  return plan->pinned_map[i].queued ? cf_events_wait (plan->pinned_map[i].uploaded, deadline_ns, hurry, status) : CF_OK;
}

static CfCode
upload_map (CfPlan *plan, CfStream *stream, const CfArea *area, const int *hurry, CfStatus *status)
{
  const size_t size = (size_t) area->width * (size_t) area->height;
  CfImage to = { .format = CF_FORMAT_GRAY8, .width = area->width, .height = area->height }, from = to;
  const unsigned i = plan->next_map;
  CfCode code = provide_map (plan, size, hurry, status);

  if (code != CF_OK)
    return code;
  memcpy (plan->pinned_map[i].memory, area->map->strength, size);
  to.plane[0].data = plan->map;
  from.plane[0].data = plan->pinned_map[i].memory;
  to.plane[0].pitch = from.plane[0].pitch = (size_t) area->width;
  plan->map_number = 0;
  code = device->stream_copy (stream, CF_UPLOAD, &to, &from, true, status);
  if (code == CF_OK)
    code = device->stream_signal (stream, plan->pinned_map[i].uploaded, status);
  if (code != CF_OK)
    return code;
  plan->pinned_map[i].queued = true;
  plan->next_map = 1 - i;
  plan->map_number = area->map->number;
  return CF_OK;
}

CfCode
cf_device_blend (CfPlan *plan, CfStream *stream, const CfFrame *frame, CfStatus *status)
{
  const CfArea *area = frame->area;
  CfCode code = cf_device_usable (status);

  if (code == CF_OK && area->map && area->map->number != plan->map_number)
    code = upload_map (plan, stream, area, frame->hurry, status);
  return code == CF_OK
      ? device->blend (stream, area, area->map ? plan->map : NULL, frame->in, frame->scratch, frame->out, status)
      : code;
}

CfCode
cf_device_repack (CfStream *stream, const CfImage *from, const CfImage *alpha, const CfImage *to, CfStatus *status)
{
  CfCode code = cf_device_usable (status);

  return code == CF_OK ? device->repack (stream, from, alpha, to, status) : code;
}

CfCode
cf_stream_wait (CfStream *stream, uint64_t deadline_ns, const int *hurry, CfStatus *status)
{
  CfCode code = cf_device_usable (status);

  return code == CF_OK ? device->stream_wait (stream, deadline_ns, hurry, status) : code;
}

CfCode
cf_stream_record (CfStream *stream, CfEvents *events, unsigned i, CfStatus *status)
{
  CfCode code = cf_device_usable (status);

  if (code != CF_OK)
    return code;
  return i == CF_COMPLETION ? device->stream_signal (stream, events, status)
                            : device->stream_record (stream, events, i, status);
}

CfCode
cf_stream_wait_event (CfStream *stream, const CfEvents *events, unsigned i, CfStatus *status)
{
  CfCode code = cf_device_usable (status);

  return code == CF_OK ? device->stream_wait_event (stream, events, i, status) : code;
}

CfEvents *
cf_events_new (unsigned n, CfStatus *status)
{
  return cf_device_usable (status) == CF_OK ? device->events_new (n, status) : NULL;
}

void
cf_events_free (CfEvents *events)
{
  if (may_free (events))
    device->events_free (events);
}

/* Only looks, so that it may wait while another stream hangs. */
CfCode
cf_events_wait (CfEvents *events, uint64_t deadline_ns, const int *hurry, CfStatus *status)
{
  return device ? device->events_wait (events, deadline_ns, hurry, status) : fail_without (status);
}

uint64_t
cf_events_elapsed_ns (const CfEvents *events, unsigned from, unsigned to)
{
  return cf_device_usable (NULL) == CF_OK ? device->events_elapsed_ns (events, from, to) : 0;
}
