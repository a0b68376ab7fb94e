/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device.c: the CUDA runtime behind cf.h: errors, devices, memory, streams.
 * The only C file that includes the runtime's header. device-none.c stands in
 * for it in a build without CUDA.
 *
 * The runtime is linked statically and finds the driver by itself: with no
 * driver every call answers 35, which cf_gpu_count turns into CF_NO_GPU. */
#include "cf-private.h"

#include <cuda_runtime_api.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_bool lost;
static atomic_uint_fast64_t launches, allocations;
static _Atomic (cudaStream_t) hung; /* a stream whose work did not end in time */
static atomic_int first_pid; /* the process that used CUDA first; a fork of it may not */

struct CfStream {
  cudaStream_t handle;
  bool borrowed;
  cudaEvent_t marks[CF_STREAM_MARKS];
  cudaEvent_t end; /* of a borrowed one, which others may keep busy: all queued before a wait */
};

struct CfMarks {
  cudaEvent_t event[CF_MARKS];
  cudaStream_t stream[CF_MARKS]; /* that set it; NULL: none has */
};

/* After these the process keeps its CPU, but no CUDA call will succeed again
 * (illegal address, launch failure, hardware fault and their like). */
static bool
is_sticky (int error)
{
  static const int sticky[] = { 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911 };

  for (size_t i = 0; i < sizeof sticky / sizeof sticky[0]; i++)
    if (sticky[i] == error)
      return true;
  return false;
}

static CfCode
code_of (int error)
{
  if (is_sticky (error)) {
    atomic_store (&lost, true);
    return CF_GPU_LOST;
  }
  switch (error) {
    case cudaErrorMemoryAllocation:
      return CF_NO_MEMORY;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
      return CF_NO_GPU;
    default:
      return CF_GPU_ERROR;
  }
}

CfCode
cf_cuda_check (int error, const char *what, CfStatus *status)
{
  CfCode code;

  if (error == cudaSuccess)
    return CF_OK;
  (void) cudaGetLastError (); /* a passing error must not be reported by the next call again */
  code = code_of (error);
  cf_fail (status, code, "%s: CUDA error %d (%s)%s", what, error, cudaGetErrorString ((cudaError_t) error),
      code == CF_GPU_LOST ? "; this process cannot use the GPU any more" : "");
  if (status)
    status->cuda = error;
  return code;
}

CfCode
cf_cuda_launched (const char *kernel, CfStatus *status)
{
  atomic_fetch_add (&launches, 1);
  return cf_cuda_check (cudaGetLastError (), kernel, status);
}

/* Freeing and allocating wait for the device: not while it hangs, and after a
 * sticky error no call succeeds. What is not freed then is left to the process's
 * end. A stream that hung is given up, never freed, so it can still be asked. */
static bool
usable (void)
{
  cudaStream_t stream = atomic_load (&hung);

  if (cf_gpu_lost ())
    return false;
  if (!stream)
    return true;
  if (cudaStreamQuery (stream) == cudaErrorNotReady)
    return false;
  (void) cudaGetLastError ();
  atomic_store (&hung, NULL);
  return true;
}

bool
cf_gpu_lost (void)
{
  return atomic_load (&lost);
}

uint64_t
cf_gpu_launches (void)
{
  return atomic_load (&launches);
}

uint64_t
cf_gpu_allocations (void)
{
  return atomic_load (&allocations);
}

/* ---- devices ------------------------------------------------------------ */

bool
cf_gpu_built (void)
{
  return true;
}

int
cf_gpu_runtime_version (void)
{
  return CUDART_VERSION;
}

int
cf_gpu_driver_version (void)
{
  int version = 0;

  return cudaDriverGetVersion (&version) == cudaSuccess ? version : 0;
}

/* CUDA does not survive a fork: the child may not touch it. */
static bool
forked (void)
{
  int none = 0, pid = (int) getpid ();

  return !atomic_compare_exchange_strong (&first_pid, &none, pid) && none != pid;
}

int
cf_gpu_count (CfStatus *status)
{
  int n = 0, error;

  if (forked ()) {
    cf_fail (status, CF_NO_GPU, "this process was forked from one that uses CUDA; only a new program can use the GPU");
    return 0;
  }
  if (cf_gpu_driver_version () == 0) {
    cf_fail (status, CF_NO_GPU, "no NVIDIA driver is installed (libcuda.so.1 was not found)");
    return 0;
  }
  error = cudaGetDeviceCount (&n);
  if (error == cudaErrorInsufficientDriver) {
    int driver = cf_gpu_driver_version ();

    cf_fail (status, CF_NO_GPU, "the NVIDIA driver speaks CUDA %d.%d; this build needs %d.%d or newer", driver / 1000,
        driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    (void) cudaGetLastError ();
    return 0;
  }
  if (cf_cuda_check (error, "counting the GPUs", status) != CF_OK)
    return 0;
  if (n == 0)
    cf_fail (status, CF_NO_GPU, "the NVIDIA driver sees no GPU");
  return n;
}

static int
attribute (enum cudaDeviceAttr which, int device)
{
  int value = 0;

  if (cudaDeviceGetAttribute (&value, which, device) != cudaSuccess)
    (void) cudaGetLastError ();
  return value;
}

CfCode
cf_gpu_info (int device, CfGpuInfo *info, CfStatus *status)
{
  struct cudaDeviceProp properties;
  CfCode code = cf_cuda_check (cudaGetDeviceProperties (&properties, device), "reading the GPU's properties", status);

  memset (info, 0, sizeof *info);
  if (code != CF_OK)
    return code;
  snprintf (info->name, sizeof info->name, "%.127s", properties.name);
  info->major = properties.major;
  info->minor = properties.minor;
  info->sms = properties.multiProcessorCount;
  info->memory = properties.totalGlobalMem;
  info->l2_bytes = (uint64_t) properties.l2CacheSize;
  info->pci_bus = properties.pciBusID;
  return CF_OK;
}

CfCode
cf_cuda_context_init (CfContext *context, CfStatus *status)
{
  CfCode code;

  if (cf_gpu_lost ())
    return cf_fail (status, CF_GPU_LOST, "an earlier GPU fault ended CUDA for this process; restart it");
  if (cf_gpu_count (status) == 0)
    return status ? status->code : CF_NO_GPU;
  code = cf_cuda_check (cudaGetDevice (&context->device), "finding the current device", status);
  if (code == CF_OK) /* makes the primary context if none is current, and tells whether it works */
    code = cf_cuda_check (cudaFree (NULL), "using the current CUDA context", status);
  if (code != CF_OK)
    return code;
  context->sms = attribute (cudaDevAttrMultiProcessorCount, context->device);
  context->major = attribute (cudaDevAttrComputeCapabilityMajor, context->device);
  context->minor = attribute (cudaDevAttrComputeCapabilityMinor, context->device);
  context->max_shared = attribute (cudaDevAttrMaxSharedMemoryPerBlockOptin, context->device);
  return CF_OK;
}

/* ---- memory ------------------------------------------------------------- */

void *
cf_pinned_alloc (size_t size, CfStatus *status)
{
  void *memory = NULL;

  if (!usable ()) {
    cf_fail (status, cf_gpu_lost () ? CF_GPU_LOST : CF_GPU_ERROR, "no pinned host memory from a GPU that %s",
        cf_gpu_lost () ? "is lost" : "hangs");
    return NULL;
  }
  atomic_fetch_add (&allocations, 1);
  return cf_cuda_check (cudaHostAlloc (&memory, size, cudaHostAllocPortable | cudaHostAllocMapped),
      "allocating pinned host memory", status) == CF_OK ? memory : NULL;
}

void
cf_pinned_free (void *memory)
{
  if (memory && usable ())
    cf_cuda_check (cudaFreeHost (memory), "freeing pinned host memory", NULL);
}

void *
cf_device_alloc (size_t size, CfStatus *status)
{
  void *memory = NULL;

  atomic_fetch_add (&allocations, 1);
  if (cf_cuda_check (cudaMalloc (&memory, size), "allocating device memory", status) != CF_OK)
    return NULL;
  /* Padding between rows travels with the rows: never send what was there. The
   * clear must be over before another stream, which does not wait for it, writes. */
  if (cf_cuda_check (cudaMemset (memory, 0, size), "clearing device memory", status) != CF_OK
      || cf_cuda_check (cudaStreamSynchronize (cudaStreamLegacy), "clearing device memory", status) != CF_OK) {
    cf_device_free (memory);
    return NULL;
  }
  return memory;
}

void
cf_device_free (void *memory)
{
  if (memory && usable ())
    cf_cuda_check (cudaFree (memory), "freeing device memory", NULL);
}

/* ---- streams ------------------------------------------------------------ */

CfStream *
cf_stream_new (void *handle, CfStatus *status)
{
  CfStream *stream = calloc (1, sizeof *stream);
  CfCode code = CF_OK;

  if (!stream) {
    cf_fail (status, CF_NO_MEMORY, "out of memory");
    return NULL;
  }
  stream->handle = (cudaStream_t) handle;
  stream->borrowed = handle != NULL;
  if (!handle)
    code = cf_cuda_check (cudaStreamCreateWithFlags (&stream->handle, cudaStreamNonBlocking), "making a CUDA stream",
        status);
  for (int i = 0; code == CF_OK && i < CF_STREAM_MARKS; i++)
    code = cf_cuda_check (cudaEventCreate (&stream->marks[i]), "making a CUDA event", status);
  if (code == CF_OK && handle)
    code = cf_cuda_check (cudaEventCreateWithFlags (&stream->end, cudaEventDisableTiming), "making a CUDA event", status);
  if (code != CF_OK) {
    cf_stream_free (stream);
    return NULL;
  }
  return stream;
}

void
cf_stream_free (CfStream *stream)
{
  if (!stream)
    return;
  for (int i = 0; i < CF_STREAM_MARKS; i++)
    if (stream->marks[i] && usable ())
      cf_cuda_check (cudaEventDestroy (stream->marks[i]), "freeing a CUDA event", NULL);
  if (stream->end && usable ())
    cf_cuda_check (cudaEventDestroy (stream->end), "freeing a CUDA event", NULL);
  if (stream->handle && !stream->borrowed && usable ())
    cf_cuda_check (cudaStreamDestroy (stream->handle), "freeing a CUDA stream", NULL);
  free (stream);
}

void *
cf_stream_handle (const CfStream *stream)
{
  return stream ? stream->handle : NULL;
}

/* Do both pictures lie alike, so that one copy moves all planes? The planes
 * must follow each other without large gaps: what is between them travels. */
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

    if (data < base_a || begin != (size_t) ((const uint8_t *) b->plane[p].data - base_b) || pitch != b->plane[p].pitch
        || begin < extent || begin > extent + 64 * pitch || pitch > row + 4096)
      return 0;
    extent = begin + (rows - 1) * pitch + row;
  }
  return extent;
}

static CfCode
copy_image (CfStream *stream, const CfImage *to, const CfImage *from, enum cudaMemcpyKind kind, const char *what,
    CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info (from->format);
  size_t extent = common_extent (to, from);
  CfCode code = CF_OK;

  if (extent)
    return cf_cuda_check (cudaMemcpyAsync (to->plane[0].data, from->plane[0].data, extent, kind, stream->handle), what,
        status);
  for (int p = 0; code == CF_OK && p < info->n_planes; p++)
    code = cf_cuda_check (cudaMemcpy2DAsync (to->plane[p].data, to->plane[p].pitch, from->plane[p].data,
            from->plane[p].pitch, cf_plane_row_bytes (from->format, from->width, p),
            (size_t) cf_plane_rows (from->format, from->height, p), kind, stream->handle), what, status);
  return code;
}

CfCode
cf_stream_upload (CfStream *stream, const CfImage *device, const CfImage *host, CfStatus *status)
{
  return copy_image (stream, device, host, cudaMemcpyHostToDevice, "uploading a frame", status);
}

CfCode
cf_stream_download (CfStream *stream, const CfImage *host, const CfImage *device, CfStatus *status)
{
  return copy_image (stream, host, device, cudaMemcpyDeviceToHost, "downloading a frame", status);
}

static uint64_t
now_ns (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* cudaStreamSynchronize and its like have no timeout, so poll: eagerly as long as
 * a frame takes, then with short sleeps, so that a slow GPU does not burn a core.
 * `first`: the error of what was done to be able to wait. `event` NULL: until the
 * stream is idle. */
static CfCode
wait_for (int first, cudaStream_t stream, cudaEvent_t event, uint64_t deadline_ns, CfStatus *status)
{
  const uint64_t eager_ns = 300000;
  uint64_t start = now_ns ();

  for (;;) {
    int error = first != cudaSuccess ? first : (int) (event ? cudaEventQuery (event) : cudaStreamQuery (stream));
    uint64_t spent;

    if (error == cudaSuccess)
      return CF_OK;
    if (error != cudaErrorNotReady) {
      CfCode code = cf_cuda_check (error, "waiting for the GPU", status);

      /* nobody knows whether the GPU still writes: as if it had not finished */
      if (code == CF_GPU_LOST)
        return code;
      if (status)
        status->code = CF_TIMEOUT;
      return CF_TIMEOUT;
    }
    spent = now_ns () - start;
    if (spent > deadline_ns) {
      atomic_store (&hung, stream);
      return cf_fail (status, CF_TIMEOUT, "the GPU did not finish a frame in %.1f s", (double) deadline_ns / 1e9);
    }
    if (spent > eager_ns)
      nanosleep (&(struct timespec) { .tv_nsec = 50000 }, NULL);
    else
      sched_yield ();
  }
}

CfCode
cf_stream_wait (CfStream *stream, uint64_t deadline_ns, CfStatus *status)
{
  int first = stream->borrowed ? (int) cudaEventRecord (stream->end, stream->handle) : cudaSuccess;

  return wait_for (first, stream->handle, stream->borrowed ? stream->end : NULL, deadline_ns, status);
}

CfCode
cf_stream_mark (CfStream *stream, int mark, CfStatus *status)
{
  return cf_cuda_check (cudaEventRecord (stream->marks[mark], stream->handle), "recording a CUDA event", status);
}

uint64_t
cf_stream_elapsed_ns (CfStream *stream, int from, int to)
{
  float ms = 0;

  if (cudaEventElapsedTime (&ms, stream->marks[from], stream->marks[to]) != cudaSuccess) {
    (void) cudaGetLastError ();
    return 0;
  }
  return (uint64_t) (ms * 1e6f);
}

/* ---- marks -------------------------------------------------------------- */

CfMarks *
cf_marks_new (CfStatus *status)
{
  CfMarks *marks = calloc (1, sizeof *marks);
  CfCode code = CF_OK;

  if (!marks) {
    cf_fail (status, CF_NO_MEMORY, "out of memory");
    return NULL;
  }
  for (int i = 0; code == CF_OK && i < CF_MARKS; i++)
    code = cf_cuda_check (cudaEventCreate (&marks->event[i]), "making a CUDA event", status);
  if (code != CF_OK) {
    cf_marks_free (marks);
    return NULL;
  }
  return marks;
}

void
cf_marks_free (CfMarks *marks)
{
  if (!marks)
    return;
  for (int i = 0; i < CF_MARKS; i++)
    if (marks->event[i] && usable ())
      cf_cuda_check (cudaEventDestroy (marks->event[i]), "freeing a CUDA event", NULL);
  free (marks);
}

CfCode
cf_stream_set_mark (CfStream *stream, CfMarks *marks, int mark, CfStatus *status)
{
  marks->stream[mark] = stream->handle;
  return cf_cuda_check (cudaEventRecord (marks->event[mark], stream->handle), "recording a CUDA event", status);
}

CfCode
cf_stream_follow (CfStream *stream, const CfMarks *marks, int mark, CfStatus *status)
{
  if (!marks->stream[mark] || marks->stream[mark] == stream->handle)
    return CF_OK;
  return cf_cuda_check (cudaStreamWaitEvent (stream->handle, marks->event[mark], 0), "ordering two CUDA streams",
      status);
}

CfCode
cf_marks_wait (const CfMarks *marks, int mark, uint64_t deadline_ns, CfStatus *status)
{
  return wait_for (cudaSuccess, marks->stream[mark], marks->event[mark], deadline_ns, status);
}

uint64_t
cf_marks_elapsed_ns (const CfMarks *marks, int from, int to)
{
  float ms = 0;

  if (!marks->stream[from] || !marks->stream[to]
      || cudaEventElapsedTime (&ms, marks->event[from], marks->event[to]) != cudaSuccess) {
    (void) cudaGetLastError ();
    return 0;
  }
  return (uint64_t) (ms * 1e6f);
}
