/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench_npp.cpp: NVIDIA's NPP as a peer of the benchmark. Built where NPP's
 * headers and libraries are:
 *   nvcc -shared -Xcompiler -fPIC -o bench_npp.so bench_npp.cpp -lnppif -lnppc
 * NPP has no border rule for its median: it reads the margin around a picture. */
#include "bench.h"

#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <npp.h>

typedef struct {
  NppStreamContext context;
  NppiSize roi, mask;
  NppiPoint anchor;
  Npp8u *buffer;
} Npp;

static bool
fill_context (NppStreamContext *c, cudaStream_t stream)
{
  cudaDeviceProp properties;

  memset (c, 0, sizeof *c);
  if (cudaGetDevice (&c->nCudaDeviceId) != cudaSuccess || cudaGetDeviceProperties (&properties, c->nCudaDeviceId) != cudaSuccess)
    return false;
  c->hStream = stream;
  c->nMultiProcessorCount = properties.multiProcessorCount;
  c->nMaxThreadsPerMultiProcessor = properties.maxThreadsPerMultiProcessor;
  c->nMaxThreadsPerBlock = properties.maxThreadsPerBlock;
  c->nSharedMemPerBlock = properties.sharedMemPerBlock;
  c->nCudaDevAttrComputeCapabilityMajor = properties.major;
  c->nCudaDevAttrComputeCapabilityMinor = properties.minor;
  return cudaStreamGetFlags (stream, &c->nStreamFlags) == cudaSuccess;
}

static void
npp_close (void *peer)
{
  Npp *npp = (Npp *) peer;

  (void) cudaFree (npp->buffer);
  free (npp);
}

static void *
npp_open (const char *filter, int size, int width, int height, void *stream)
{
  Npp *npp = strcmp (filter, "median") == 0 ? (Npp *) calloc (1, sizeof *npp) : NULL;
  Npp32u bytes = 0;

  if (!npp)
    return NULL;
  npp->roi = { width, height };
  npp->mask = { size, size };
  npp->anchor = { size / 2, size / 2 };
  if (!fill_context (&npp->context, (cudaStream_t) stream) ||
      nppiFilterMedianGetBufferSize_8u_C1R_Ctx (npp->roi, npp->mask, &bytes, npp->context) != NPP_SUCCESS ||
      cudaMalloc (&npp->buffer, bytes ? bytes : 1) != cudaSuccess) {
    npp_close (npp);
    return NULL;
  }
  return npp;
}

static int
npp_run (void *peer, const uint8_t *src, size_t src_pitch, uint8_t *dst, size_t dst_pitch)
{
  Npp *npp = (Npp *) peer;

  return nppiFilterMedian_8u_C1R_Ctx (src, (Npp32s) src_pitch, dst, (Npp32s) dst_pitch, npp->roi, npp->mask, npp->anchor,
      npp->buffer, npp->context) == NPP_SUCCESS ? 0 : -1;
}

extern "C" __attribute__ ((visibility ("default"))) const BenchPeer *
bench_peer (void)
{
  static const BenchPeer peer = { "NPP", 31, npp_open, npp_run, npp_close };

  return &peer;
}
