/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/stream.c: CUDA streams and events: copies, the order among streams, how the host waits for the end of work,
 * and the upload of an area's map before the blend. */
#include "core/area.h"
#include "cuda.h"

#include <cuda_runtime_api.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A completion word, with which the host waits for the end of queued work: the GPU writes the next number to a word of
 * pinned memory, and the waiting thread reads it without calling the driver. Every query of the driver takes a lock
 * that all threads of the process share: with 400 cameras the queries took most of the time of 16 cores
 * (docs/notes/frame-path.md). Where the driver cannot write words, an event is used instead. */
typedef struct {
  uint32_t *word, number;
  cudaEvent_t event;
  cudaStream_t stream; /* the stream of the work */
  const char *kernel;  /* the last one that the thread had launched; NULL: none */
  bool by_event;       /* the last signal uses the event */
  uint64_t took;       /* duration of the last wait, ns */
} Completion;

struct CfStream {
  cudaStream_t handle;
  bool borrowed;
  Completion completion;
};

typedef struct {
  cudaEvent_t event;
  cudaStream_t stream; /* the stream that recorded the event last; NULL: not recorded */
} Event;

struct CfEvents {
  Completion completion;
  unsigned n;
  Event event[];
};

/* ---- completion words ---------------------------------------------------- */

/* The driver's cuStreamWriteValue32, for which the runtime has no function. Its errors have the numbers of the
 * runtime's. */
typedef int (*WriteWord) (cudaStream_t stream, unsigned long long address, uint32_t value, unsigned flags);

static WriteWord
write_word (void)
{
  static _Atomic (void *) found;
  static atomic_bool asked;
  void *entry;

  if (atomic_load (&asked))
    return (WriteWord) atomic_load (&found);
  entry = cf_cuda_entry ("cuStreamWriteValue32");
  atomic_store (&found, entry);
  atomic_store (&asked, true);
  return (WriteWord) entry;
}

static void
clear_completion (Completion *c)
{
  if (c->event && !cf_gpu_lost ())
    cf_cuda_check (cudaEventDestroy (c->event), "freeing a CUDA event", NULL);
  cf_gpu_free (CF_PINNED, c->word);
}

/* Allocates the word when it is first needed, because pinned memory is slow to allocate and to free, and most sets of
 * events have no use for it. */
static bool
provide_word (Completion *c)
{
  if (!c->word && (c->word = cf_gpu_alloc (CF_PINNED, sizeof *c->word, NULL)))
    *c->word = 0;
  return c->word != NULL;
}

static int
signal_by_event (Completion *c)
{
  int error = c->event ? cudaSuccess : (int) cudaEventCreateWithFlags (&c->event, cudaEventDisableTiming);

  return error == cudaSuccess ? (int) cudaEventRecord (c->event, c->stream) : error;
}

/* Queues the signal after all work that is queued on the stream. Returns a cudaError_t. */
static int
signal_completion (Completion *c, cudaStream_t stream)
{
  WriteWord write = write_word ();
  int error = write && provide_word (c) ? write (stream, (unsigned long long) (uintptr_t) c->word, ++c->number, 0)
                                        : (int) cudaErrorNotSupported;

  c->stream = stream;
  c->kernel = cf_cuda_last_kernel ();
  c->by_event = error == cudaErrorNotSupported;
  return c->by_event ? signal_by_event (c) : error;
}

/* Returns cudaSuccess if the work is done, otherwise cudaErrorNotReady or an error. `ask`: queries the driver for
 * errors, too. */
static int
look (const Completion *c, bool ask)
{
  if (c->by_event)
    return cudaEventQuery (c->event);
  if ((int32_t) (__atomic_load_n (c->word, __ATOMIC_ACQUIRE) - c->number) >= 0)
    return cudaSuccess;
  return ask ? (int) cudaStreamQuery (c->stream) : (int) cudaErrorNotReady;
}

static void
sleep_ns (uint64_t ns)
{
  nanosleep (&(struct timespec) { .tv_nsec = (long) ns }, NULL);
}

/* Handles a wait that has ended without the work. `left_ns`: until the deadline. */
static CfCode
give_up (const Completion *c, uint64_t deadline_ns, uint64_t left_ns, CfStatus *status)
{
  cf_cuda_hangs (c->stream, c->kernel, left_ns);
  if (left_ns)
    return cf_fail (status, CF_CANCELLED, "the GPU did not finish a frame before a flush or stop ended the wait");
  return cf_fail (status, CF_TIMEOUT, "the GPU did not finish a frame in %.1f s%s%s", (double) deadline_ns / 1e9,
      c->kernel ? "; last kernel launched: " : "", c->kernel ? c->kernel : "");
}

/* Handles an error. Except after the loss of the GPU it is not known whether the GPU still writes to the frame, as
 * after a timeout. */
static CfCode
fail_wait (const Completion *c, int error, CfStatus *status)
{
  CfCode code = cf_cuda_check_after (c->kernel, error, "waiting for the GPU", status);

  if (code == CF_GPU_LOST)
    return code;
  cf_cuda_hangs (c->stream, c->kernel, 0);
  if (status)
    status->code = CF_TIMEOUT;
  return CF_TIMEOUT;
}

/* Polls for the end of the work, because cudaStreamSynchronize and similar functions have no timeout. A sleep takes
 * some 50 us longer than requested. Therefore the thread sleeps for half the duration of the last wait, then reads the
 * word without a pause for about the duration of a frame, and then with short sleeps, so that a slow GPU does not
 * occupy a core. `first`: the result of queueing the signal. After a fault the word is never written, so the driver is
 * queried every millisecond. */
static CfCode
wait_for (Completion *c, int first, uint64_t deadline_ns, const int *hurry, CfStatus *status)
{
  const uint64_t ask_ns = 1000000, most_eager_ns = 1000000, margin_ns = 50000;
  const uint64_t hurried_ns = deadline_ns / 20 + 2 * c->took;
  uint64_t start = cf_cuda_now_ns (), asked = start, now = start, end = start + deadline_ns;
  uint64_t eager_ns = c->took > most_eager_ns ? 0 : c->took * 5 / 4;

  if (eager_ns < 300000)
    eager_ns = 300000;
  if (c->took > 6 * margin_ns && c->took <= most_eager_ns && first == cudaSuccess)
    sleep_ns (c->took / 2 - margin_ns);
  for (;;) {
    bool ask = now - asked >= ask_ns;
    int error = first != cudaSuccess ? first : look (c, ask);

    if (error == cudaSuccess) {
      c->took = cf_cuda_now_ns () - start;
      return CF_OK;
    }
    if (error != cudaErrorNotReady)
      return fail_wait (c, error, status);
    if (ask)
      asked = now;
    now = cf_cuda_now_ns ();
    if (hurry && __atomic_load_n (hurry, __ATOMIC_ACQUIRE)) {
      hurry = NULL;
      end = end < now + hurried_ns ? end : now + hurried_ns;
    }
    if (now > end)
      return give_up (c, deadline_ns, now < start + deadline_ns ? start + deadline_ns - now : 0, status);
    if (now - start > eager_ns)
      sleep_ns (50000);
    else
      sched_yield ();
  }
}

/* ---- streams ------------------------------------------------------------ */

CfStream *
cf_stream_new (void *handle, CfStatus *status)
{
  CfStream *stream;
  CfCode code = CF_OK;

  if (cf_device_usable (status) != CF_OK)
    return NULL;
  stream = calloc (1, sizeof *stream);
  if (!stream) {
    cf_fail (status, CF_NO_MEMORY, "out of memory");
    return NULL;
  }
  stream->handle = (cudaStream_t) handle;
  stream->borrowed = handle != NULL;
  if (!handle)
    code = cf_cuda_check (cudaStreamCreateWithFlags (&stream->handle, cudaStreamNonBlocking), "making a CUDA stream",
        status);
  if (code != CF_OK) {
    free (stream);
    return NULL;
  }
  return stream;
}

void
cf_stream_free (CfStream *stream)
{
  if (!cf_cuda_may_free (stream))
    return;
  clear_completion (&stream->completion);
  if (stream->handle && !stream->borrowed && !cf_gpu_lost ())
    cf_cuda_check (cudaStreamDestroy (stream->handle), "freeing a CUDA stream", NULL);
  free (stream);
}

void *
cf_stream_handle (const CfStream *stream)
{
  return stream ? stream->handle : NULL;
}

/* Returns the bytes from the first to the last sample if both images have the same layout in memory and their planes
 * follow each other without large gaps, so that one copy can transfer all planes with the bytes between them; otherwise
 * returns 0. */
static size_t
common_extent (const CfImage *a, const CfImage *b)
{
  const CfFormatInfo *info = cf_format_info (a->format);
  const uint8_t *base_a = a->plane[0].data, *base_b = b->plane[0].data;
  size_t extent = 0;

  for (int p = 0; p < info->n_planes; p++) {
    size_t rows = (size_t) cf_plane_rows (a->format, a->height, p);
    const uint8_t *data = a->plane[p].data;
    size_t pitch = a->plane[p].pitch, row = cf_plane_row_bytes (a->format, a->width, p);
    size_t begin = (size_t) (data - base_a);

    if (data < base_a || begin != (size_t) ((const uint8_t *) b->plane[p].data - base_b) ||
        pitch != b->plane[p].pitch || begin < extent || begin > extent + 64 * pitch || pitch > row + 4096)
      return 0;
    extent = begin + (rows - 1) * pitch + row;
  }
  return extent;
}

/* Copies a plane; in one piece only if there are no bytes between its rows: they may belong to another plane. */
static CfCode
copy_plane (CfStream *stream, const CfImage *to, const CfImage *from, int p, enum cudaMemcpyKind kind, const char *what,
    CfStatus *status)
{
  size_t row = cf_plane_row_bytes (from->format, from->width, p), pitch = from->plane[p].pitch;
  size_t rows = (size_t) cf_plane_rows (from->format, from->height, p);
  void *data = to->plane[p].data;

  if (to->plane[p].pitch == row && pitch == row)
    return cf_cuda_check (cudaMemcpyAsync (data, from->plane[p].data, rows * row, kind, stream->handle), what, status);
  return cf_cuda_check (
      cudaMemcpy2DAsync (data, to->plane[p].pitch, from->plane[p].data, pitch, row, rows, kind, stream->handle), what,
      status);
}

static CfCode
copy_planes (CfStream *stream, const CfImage *to, const CfImage *from, enum cudaMemcpyKind kind, const char *what,
    CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info (from->format);
  CfCode code = CF_OK;

  for (int p = 0; code == CF_OK && p < info->n_planes; p++)
    code = copy_plane (stream, to, from, p, kind, what, status);
  return code;
}

CfCode
cf_stream_copy_planes (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, bool whole,
    CfStatus *status)
{
  static const enum cudaMemcpyKind kinds[] = { [CF_UPLOAD] = cudaMemcpyHostToDevice,
    [CF_DOWNLOAD] = cudaMemcpyDeviceToHost,
    [CF_ON_DEVICE] = cudaMemcpyDeviceToDevice };
  static const char *const names[] = { [CF_UPLOAD] = "uploading a frame",
    [CF_DOWNLOAD] = "downloading a frame",
    [CF_ON_DEVICE] = "copying a frame" };
  const enum cudaMemcpyKind kind = kinds[direction];
  const char *what = names[direction];
  const size_t extent = whole ? common_extent (to, from) : 0;
  const CfCode code = cf_device_usable (status);

  if (code != CF_OK)
    return code;
  if (extent)
    return cf_cuda_check (cudaMemcpyAsync (to->plane[0].data, from->plane[0].data, extent, kind, stream->handle), what,
        status);
  return copy_planes (stream, to, from, kind, what, status);
}

CfCode
cf_stream_wait (CfStream *stream, uint64_t deadline_ns, const int *hurry, CfStatus *status)
{
  const CfCode code = cf_device_usable (status);
  int error;

  if (code != CF_OK)
    return code;
  error = signal_completion (&stream->completion, stream->handle);
  return wait_for (&stream->completion, error, deadline_ns, hurry, status);
}

/* On a stream of its own: the legacy default stream would wait for other work. The end of an event is found without
 * pinned memory for a word. */
CfCode
cf_cuda_clear (void *memory, size_t size, CfStatus *status)
{
  const uint64_t deadline_ns = UINT64_C (10000000000);
  Completion c = { .by_event = true };
  CfCode code = cf_cuda_check (cudaStreamCreateWithFlags (&c.stream, cudaStreamNonBlocking), "making a CUDA stream",
      status);

  if (code != CF_OK)
    return code;
  code = cf_cuda_check (cudaMemsetAsync (memory, 0, size, c.stream), "clearing device memory", status);
  if (code == CF_OK)
    code = wait_for (&c, signal_by_event (&c), deadline_ns, NULL, status);
  if (code == CF_TIMEOUT)
    return code;
  clear_completion (&c);
  if (!cf_gpu_lost ())
    cf_cuda_check (cudaStreamDestroy (c.stream), "freeing a CUDA stream", NULL);
  return code;
}

/* ---- events ------------------------------------------------------------- */

CfEvents *
cf_events_new (unsigned n, CfStatus *status)
{
  CfEvents *events;
  CfCode code = CF_OK;

  if (cf_device_usable (status) != CF_OK)
    return NULL;
  events = calloc (1, sizeof *events + n * sizeof events->event[0]);
  if (!events) {
    cf_fail (status, CF_NO_MEMORY, "out of memory");
    return NULL;
  }
  events->n = n;
  for (unsigned i = 0; code == CF_OK && i < n; i++)
    code = cf_cuda_check (cudaEventCreate (&events->event[i].event), "making a CUDA event", status);
  if (code != CF_OK) {
    cf_events_free (events);
    return NULL;
  }
  return events;
}

void
cf_events_free (CfEvents *events)
{
  if (!cf_cuda_may_free (events))
    return;
  for (unsigned i = 0; i < events->n; i++)
    if (events->event[i].event && !cf_gpu_lost ())
      cf_cuda_check (cudaEventDestroy (events->event[i].event), "freeing a CUDA event", NULL);
  clear_completion (&events->completion);
  free (events);
}

CfCode
cf_stream_record (CfStream *stream, CfEvents *events, unsigned i, CfStatus *status)
{
  const CfCode code = cf_device_usable (status);

  if (code != CF_OK)
    return code;
  if (i == CF_COMPLETION)
    return cf_cuda_check (signal_completion (&events->completion, stream->handle), "signalling a frame's end", status);
  events->event[i].stream = stream->handle;
  return cf_cuda_check (cudaEventRecord (events->event[i].event, stream->handle), "recording a CUDA event", status);
}

CfCode
cf_stream_wait_event (CfStream *stream, const CfEvents *events, unsigned i, CfStatus *status)
{
  const CfCode code = cf_device_usable (status);
  const Event *e = &events->event[i];

  if (code != CF_OK || !e->stream || e->stream == stream->handle)
    return code;
  return cf_cuda_check (cudaStreamWaitEvent (stream->handle, e->event, 0), "ordering two CUDA streams", status);
}

/* Only looks, so that it may wait while another stream hangs. */
CfCode
cf_events_wait (CfEvents *events, uint64_t deadline_ns, const int *hurry, CfStatus *status)
{
  return wait_for (&events->completion, cudaSuccess, deadline_ns, hurry, status);
}

uint64_t
cf_events_elapsed_ns (const CfEvents *events, unsigned from, unsigned to)
{
  const Event *a = &events->event[from], *b = &events->event[to];
  float ms = 0;

  if (cf_device_usable (NULL) != CF_OK)
    return 0;
  if (!a->stream || !b->stream || cudaEventElapsedTime (&ms, a->event, b->event) != cudaSuccess) {
    (void) cudaGetLastError ();
    return 0;
  }
  return ms > 0 ? (uint64_t) (ms * 1e6f) : 0; /* events of two streams may be in the other order */
}

/* ---- kernels of the core ------------------------------------------------- */

CfCode
cf_stream_copy_pieces (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, bool interlaced,
    const CfPiece *piece, unsigned n, CfStatus *status)
{
  const CfCode code = cf_device_usable (status);

  return code == CF_OK && n > 0 ? cf_cuda_copy_pieces (stream, direction, to, from, interlaced, piece, n, status)
                                : code;
}

CfCode
cf_device_repack (CfStream *stream, const CfImage *from, const CfImage *alpha, const CfImage *to, CfStatus *status)
{
  const CfCode code = cf_device_usable (status);

  return code == CF_OK ? cf_cuda_repack (stream, from, alpha, to, status) : code;
}

/* Allocates the memory for the next map if it is not there, and waits until the GPU has read the last map that was in
 * that pinned buffer. */
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
  code = cf_stream_copy_planes (stream, CF_UPLOAD, &to, &from, true, status);
  if (code == CF_OK)
    code = cf_stream_record (stream, plan->pinned_map[i].uploaded, CF_COMPLETION, status);
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
  return code == CF_OK ? cf_cuda_blend (stream, frame, area->map ? plan->map : NULL, plan->context->dependent, status)
                       : code;
}
