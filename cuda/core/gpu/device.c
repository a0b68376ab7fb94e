/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * core/gpu/device.c: the CUDA runtime behind cf.h: errors, devices, memory; stream.c has
 * the streams. They are the only C files that include the runtime's header;
 * core/device-none.c stands in for both in a build without CUDA.
 *
 * The runtime is linked statically and finds the driver by itself: with no
 * driver every call answers 35, which cf_gpu_count turns into CF_NO_GPU. */
#include "core/filter.h"

#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static atomic_bool lost;
static atomic_uint_fast64_t launches, allocations;
static _Atomic (cudaStream_t) hung; /* a stream whose work did not end in time */
static atomic_int first_pid; /* the process that used CUDA first; a fork of it may not */

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

/* What is not freed then is left to the process's end. A stream that hung is given up,
 * never freed, so it can still be asked. */
bool
cf_cuda_usable (void)
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

void
cf_cuda_hangs (void *stream)
{
  atomic_store (&hung, (cudaStream_t) stream);
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

  if (!cf_cuda_usable ()) {
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
  if (memory && cf_cuda_usable ())
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
  if (memory && cf_cuda_usable ())
    cf_cuda_check (cudaFree (memory), "freeing device memory", NULL);
}
