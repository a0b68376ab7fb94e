/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cuda_runtime_api.h: what the C files of cuda/core/gpu/ use of the CUDA runtime, with its names and numbers.
 * cudart-fake.c implements it. */
#ifndef FAKE_CUDA_RUNTIME_API_H
#define FAKE_CUDA_RUNTIME_API_H

#include <stddef.h>

#define CUDART_VERSION 13000

typedef enum cudaError {
  cudaSuccess = 0,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorNotReady = 600,
  cudaErrorNotSupported = 801
} cudaError_t;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

typedef struct {
  char bytes[16];
} cudaUUID_t;

struct cudaDeviceProp {
  char name[256];
  cudaUUID_t uuid;
  size_t totalGlobalMem;
  int major, minor, multiProcessorCount, l2CacheSize, pciDomainID, pciBusID, pciDeviceID;
};

enum cudaDeviceAttr {
  cudaDevAttrClockRate = 13,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrIntegrated = 18,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess, cudaDriverEntryPointSymbolNotFound };

#define cudaHostAllocPortable 1
#define cudaHostAllocMapped 2
#define cudaEventDisableTiming 2
#define cudaStreamNonBlocking 1
#define cudaEnableDefault 0

cudaError_t cudaGetLastError (void);
const char *cudaGetErrorString (cudaError_t error);
const char *cudaGetErrorName (cudaError_t error);
cudaError_t cudaDriverGetVersion (int *version);
cudaError_t cudaGetDeviceCount (int *n);
cudaError_t cudaGetDevice (int *device);
cudaError_t cudaDeviceGetAttribute (int *value, enum cudaDeviceAttr which, int device);
cudaError_t cudaGetDeviceProperties (struct cudaDeviceProp *properties, int device);
cudaError_t cudaGetDriverEntryPointByVersion (const char *name, void **entry, unsigned version,
    unsigned long long flags, enum cudaDriverEntryPointQueryResult *result);
cudaError_t cudaHostAlloc (void **memory, size_t size, unsigned flags);
cudaError_t cudaFreeHost (void *memory);
cudaError_t cudaMalloc (void **memory, size_t size);
cudaError_t cudaFree (void *memory);
cudaError_t cudaMemsetAsync (void *memory, int value, size_t size, cudaStream_t stream);
cudaError_t cudaMemcpyAsync (void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
    size_t height, enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags (cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy (cudaStream_t stream);
cudaError_t cudaStreamQuery (cudaStream_t stream);
cudaError_t cudaStreamWaitEvent (cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreate (cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags (cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy (cudaEvent_t event);
cudaError_t cudaEventRecord (cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery (cudaEvent_t event);
cudaError_t cudaEventElapsedTime (float *ms, cudaEvent_t from, cudaEvent_t to);

#endif
