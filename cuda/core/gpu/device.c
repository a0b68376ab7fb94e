/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/device.c: the CUDA device: launches, devices and memory; errors.c has errors, hangs.c GPUs that hang,
 * stream.c streams and events. No C files but these include the runtime's header.
 *
 * The runtime is linked statically and loads the driver at run time: without an installed driver every call returns
 * error 35, which becomes CF_NO_GPU. */
#include "cuda.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_uint_fast64_t launches, allocations;
static _Thread_local const char *last_kernel;

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

/* ---- devices ------------------------------------------------------------ */

/* Returns the CUDA version of the driver, 0 where none is installed. */
static int
driver_now (void)
{
  int version;

  return cudaDriverGetVersion (&version) == cudaSuccess ? version : 0;
}

int
cf_gpu_count (CfStatus *status)
{
  int n = 0, error, driver;

  if (cf_cuda_watch_forks (status) != CF_OK)
    return 0;
  driver = driver_now ();
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
  info->clock_khz = attribute (cudaDevAttrClockRate, device);
  memcpy (info->uuid, properties.uuid.bytes, sizeof info->uuid);
  info->pci_domain = properties.pciDomainID;
  info->pci_bus = properties.pciBusID;
  info->pci_slot = properties.pciDeviceID;
  info->integrated = attribute (cudaDevAttrIntegrated, device) != 0;
  return CF_OK;
}

/* It does not change, and a process that was forked must not ask. */
static int driver_version;

static void
find_version (void)
{
  driver_version = driver_now ();
}

CfGpuState
cf_gpu_state (void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  CfGpuState state = { .runtime = CUDART_VERSION,
    .archs = CF_ARCHS,
    .forked = cf_cuda_forked (),
    .launches = atomic_load (&launches),
    .allocations = atomic_load (&allocations) };

  pthread_once (&once, find_version);
  state.driver = driver_version;
  cf_cuda_state_of_hangs (&state);
  return state;
}

/* Fills what the plans have to know of the current context's device. */
static CfCode
open_device (CfContext *context, CfStatus *status)
{
  CfCode code;

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

/* Finds what the list of archs cannot say: a driver that is too old to compile for the GPU, code of another kind. */
static CfCode
try_kernel (CfContext *context, CfStatus *status)
{
  CfCode code = cf_cuda_load_pieces (&context->dependent, status);

  if (code != CF_NO_GPU)
    return code;
  if (status)
    status->code = CF_UNSUPPORTED;
  return CF_UNSUPPORTED;
}

CfCode
cf_device_context_init (CfContext *context, CfStatus *status)
{
  CfGpuInfo info;
  CfCode code = cf_cuda_may_allocate (status);

  if (code == CF_OK)
    code = open_device (context, status);
  if (code == CF_OK)
    code = cf_gpu_info (context->device, &info, status);
  if (code == CF_OK)
    code = cf_gpu_check (&info, CF_ARCHS, status);
  return code == CF_OK ? try_kernel (context, status) : code;
}

/* ---- memory ------------------------------------------------------------- */

static void *
pinned_alloc (size_t size, CfStatus *status)
{
  void *memory = NULL;

  return cf_cuda_check (cudaHostAlloc (&memory, size, cudaHostAllocPortable | cudaHostAllocMapped),
             "allocating pinned host memory", status) == CF_OK
      ? memory
      : NULL;
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

void *
cf_gpu_alloc (CfMemory memory, size_t size, CfStatus *status)
{
  if (cf_cuda_may_allocate (status) != CF_OK)
    return NULL;
  atomic_fetch_add (&allocations, 1);
  return memory == CF_PINNED ? pinned_alloc (size, status) : device_alloc (size, status);
}

void
cf_gpu_free (CfMemory memory, void *block)
{
  if (!cf_cuda_may_free (block))
    return;
  if (memory == CF_DEVICE)
    device_free (block);
  else if (!cf_gpu_lost ())
    cf_cuda_check (cudaFreeHost (block), "freeing pinned host memory", NULL);
}
