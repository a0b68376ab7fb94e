/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/device.c: the CUDA device: errors, devices and memory; stream.c has streams and events. No C files but these
 * two include the runtime's header.
 *
 * The runtime is linked statically and loads the driver at run time: without an installed driver every call returns
 * error 35, which becomes CF_NO_GPU. */
#include "core/device.h"
#include "cuda.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Atomic (const char *) lost; /* NULL, or the first sticky error */
static atomic_uint_fast64_t launches, allocations;
static _Thread_local const char *last_kernel;

/* Keeps the first sticky error. The text does not change once `lost` points to it. */
static void
lose (const char *kernel, int error, const CfStatus *failure)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static CfStatus first;
  int device = -1;

  pthread_mutex_lock (&lock);
  if (!atomic_load (&lost)) {
    if (cudaGetDevice (&device) != cudaSuccess)
      (void) cudaGetLastError ();
    cf_fail (&first, CF_GPU_LOST, "%s, %s, GPU %d%s%s", failure->message, cudaGetErrorName ((cudaError_t) error),
        device, kernel ? ", last kernel launched: " : "", kernel ? kernel : "");
    atomic_store (&lost, first.message);
  }
  pthread_mutex_unlock (&lock);
}

CfCode
cf_cuda_check_after (const char *kernel, int error, const char *what, CfStatus *status)
{
  CfStatus failure;

  if (error == cudaSuccess)
    return CF_OK;
  (void) cudaGetLastError (); /* so that the next call does not report it again */
  if (cf_cuda_fail (error, what, cudaGetErrorString ((cudaError_t) error), &failure) == CF_GPU_LOST) {
    lose (kernel, error, &failure);
    cf_fail_lost (&failure);
    failure.cuda = error;
  }
  if (status)
    *status = failure;
  return failure.code;
}

CfCode
cf_cuda_check (int error, const char *what, CfStatus *status)
{
  return cf_cuda_check_after (last_kernel, error, what, status);
}

CfCode
cf_cuda_launched (const char *kernel, CfStatus *status)
{
  CfCode code = cf_cuda_check (cudaGetLastError (), kernel, status);

  atomic_fetch_add (&launches, 1);
  last_kernel = kernel;
  return code;
}

const char *
cf_cuda_last_kernel (void)
{
  return last_kernel;
}

static const char *
loss (void)
{
  return atomic_load (&lost);
}

static void
counters (CfGpuState *state)
{
  state->launches = atomic_load (&launches);
  state->allocations = atomic_load (&allocations);
}

/* ---- the current context ------------------------------------------------ */

/* Functions of the driver, for which the runtime has none: it has no contexts but its own. Their errors have the
 * numbers of the runtime's. */
typedef int (*GetContext) (void **context);
typedef int (*PushContext) (void *context);
typedef int (*QueryStream) (void *stream);

void *
cf_cuda_entry (const char *name)
{
  enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  void *entry = NULL;
  int error;

#if CUDART_VERSION >= 12050
  error = cudaGetDriverEntryPointByVersion (name, &entry, 12000, cudaEnableDefault, &result);
#else
  error = cudaGetDriverEntryPoint (name, &entry, cudaEnableDefault, &result);
#endif
  if (error == cudaSuccess && result == cudaDriverEntryPointSuccess)
    return entry;
  (void) cudaGetLastError ();
  return NULL;
}

static int
current (void **context)
{
  GetContext get = (GetContext) cf_cuda_entry ("cuCtxGetCurrent");
  int number = -1;

  *context = NULL;
  if (get)
    (void) get (context); /* none is current: NULL */
  if (cudaGetDevice (&number) != cudaSuccess) {
    (void) cudaGetLastError ();
    return -1;
  }
  return number;
}

/* The thread may have no context, or another. Queries the driver, because the runtime would create a context. */
static bool
ended (void *context, void *stream)
{
  PushContext push = (PushContext) cf_cuda_entry ("cuCtxPushCurrent");
  GetContext pop = (GetContext) cf_cuda_entry ("cuCtxPopCurrent");
  QueryStream query = (QueryStream) cf_cuda_entry ("cuStreamQuery");
  int error;

  if (cf_gpu_lost () || !context || !push || !pop || !query || push (context) != 0)
    return false;
  error = query (stream);
  (void) pop (&context);
  if (error != cudaErrorNotReady)
    cf_cuda_check (error, "looking whether the GPU still hangs", NULL);
  return error == cudaSuccess;
}

/* ---- devices ------------------------------------------------------------ */

static void
versions (int *driver, int *runtime)
{
  *runtime = CUDART_VERSION;
  if (cudaDriverGetVersion (driver) != cudaSuccess)
    *driver = 0;
}

static int
count (CfStatus *status)
{
  int n = 0, error, driver, runtime;

  versions (&driver, &runtime);
  if (driver == 0) {
    cf_fail (status, CF_NO_GPU, "no NVIDIA driver is installed (libcuda.so.1 was not found)");
    return 0;
  }
  error = cudaGetDeviceCount (&n);
  if (error == cudaErrorNoDevice) {
    (void) cudaGetLastError ();
    n = error = 0;
  }
  if (error == cudaErrorInsufficientDriver) {
    cf_fail (status, CF_NO_GPU, "the NVIDIA driver supports CUDA %d.%d; this build needs %d.%d or newer", driver / 1000,
        driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    (void) cudaGetLastError ();
    return 0;
  }
  if (cf_cuda_check (error, "counting the GPUs", status) != CF_OK)
    return 0;
  if (n == 0)
    cf_fail (status, CF_NO_GPU, "the NVIDIA driver finds no GPU");
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

static CfCode
fill_info (int device, CfGpuInfo *info, CfStatus *status)
{
  struct cudaDeviceProp properties;
  CfCode code = cf_cuda_check (cudaGetDeviceProperties (&properties, device), "reading the GPU's properties", status);

  if (code != CF_OK)
    return code;
  snprintf (info->name, sizeof info->name, "%.127s", properties.name);
  info->major = properties.major;
  info->minor = properties.minor;
  info->sms = properties.multiProcessorCount;
  info->memory = properties.totalGlobalMem;
  info->l2_bytes = (uint64_t) properties.l2CacheSize;
  info->clock_khz = attribute (cudaDevAttrClockRate, device);
  memcpy (info->uuid, properties.uuid.bytes, sizeof info->uuid);
  info->pci_domain = properties.pciDomainID;
  info->pci_bus = properties.pciBusID;
  info->pci_slot = properties.pciDeviceID;
  return CF_OK;
}

static CfCode
context_init (CfContext *context, CfStatus *status)
{
  CfCode code;

  if (cf_gpu_lost ())
    return cf_fail_lost (status);
  if (cf_gpu_count (status) == 0)
    return status ? status->code : CF_NO_GPU;
  code = cf_cuda_check (cudaGetDevice (&context->device), "finding the current device", status);
  if (code == CF_OK) /* creates the primary context if none is current, and fails if the context cannot be used */
    code = cf_cuda_check (cudaFree (NULL), "using the current CUDA context", status);
  if (code != CF_OK)
    return code;
  context->sms = attribute (cudaDevAttrMultiProcessorCount, context->device);
  context->max_shared = attribute (cudaDevAttrMaxSharedMemoryPerBlockOptin, context->device);
  return CF_OK;
}

/* ---- memory ------------------------------------------------------------- */

static void *
pinned_alloc (size_t size, CfStatus *status)
{
  void *memory = NULL;

  if (cf_gpu_lost ()) {
    cf_fail_lost (status);
    return NULL;
  }
  atomic_fetch_add (&allocations, 1);
  return cf_cuda_check (cudaHostAlloc (&memory, size, cudaHostAllocPortable | cudaHostAllocMapped),
             "allocating pinned host memory", status) == CF_OK
      ? memory
      : NULL;
}

static void
pinned_free (void *memory)
{
  if (!cf_gpu_lost ())
    cf_cuda_check (cudaFreeHost (memory), "freeing pinned host memory", NULL);
}

static void
device_free (void *memory)
{
  if (!cf_gpu_lost ())
    cf_cuda_check (cudaFree (memory), "freeing device memory", NULL);
}

static void *
device_alloc (size_t size, CfStatus *status)
{
  void *memory = NULL;
  CfCode code;

  atomic_fetch_add (&allocations, 1);
  if (cf_cuda_check (cudaMalloc (&memory, size), "allocating device memory", status) != CF_OK)
    return NULL;
  /* Padding is copied together with the rows around it, so it must not contain data of other programs. */
  code = cf_cuda_clear (memory, size, status);
  if (code == CF_OK)
    return memory;
  if (code != CF_TIMEOUT)
    device_free (memory);
  return NULL;
}

/* ---- the table ---------------------------------------------------------- */

static const CfOps *
ops (const CfFilter *filter)
{
  return filter->cuda;
}

const CfDevice cf_device_cuda = {
  .archs = CF_ARCHS,
  .versions = versions,
  .count = count,
  .info = fill_info,
  .loss = loss,
  .counters = counters,
  .current = current,
  .ended = ended,
  .context_init = context_init,
  .ops = ops,
  .pinned_alloc = pinned_alloc,
  .pinned_free = pinned_free,
  .device_alloc = device_alloc,
  .device_free = device_free,
  .stream_new = cf_cuda_stream_new,
  .stream_free = cf_cuda_stream_free,
  .stream_copy = cf_cuda_stream_copy,
  .copy_pieces = cf_cuda_copy_pieces,
  .blend = cf_cuda_blend,
  .repack = cf_cuda_repack,
  .stream_wait = cf_cuda_stream_wait,
  .stream_record = cf_cuda_stream_record,
  .stream_wait_event = cf_cuda_stream_wait_event,
  .stream_signal = cf_cuda_stream_signal,
  .events_new = cf_cuda_events_new,
  .events_free = cf_cuda_events_free,
  .events_wait = cf_cuda_events_wait,
  .events_elapsed_ns = cf_cuda_events_elapsed_ns,
};
