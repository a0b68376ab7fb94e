/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench_npp.cpp: NVIDIA's NPP as a baseline of the benchmark. Built where NPP's headers and
 * libraries are installed:
 *   nvcc -shared -Xcompiler -fPIC -o bench_npp.so bench_npp.cpp -lnppif -lnppc
 * NPP's median has no border rule: it reads the margin around a frame. Its convolutions replicate the border here, as
 * cudaconvolve does. For regions it has watersheds, in place, and connected components of equal samples; both for one
 * channel. */
#include "bench.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <npp.h>

typedef struct Npp Npp;
struct Npp {
  NppStreamContext context;
  NppiSize size, mask; /* size of the frame and of the kernel */
  NppiPoint anchor;
  NppiMaskSize named; /* gauss up to 15 */
  bool has_name, rgba;
  Npp8u *buffer;   /* scratch */
  Npp32u *labels;  /* one label per pixel, without padding */
  Npp32f *weights; /* device memory */
  NppStatus (*run) (const Npp *npp, const Npp8u *src, int src_pitch, Npp8u *dst, int dst_pitch);
};

static const NppiPoint origin = { 0, 0 };

static bool
fill_context (NppStreamContext *c, cudaStream_t stream)
{
  cudaDeviceProp properties;

  memset (c, 0, sizeof *c);
  if (cudaGetDevice (&c->nCudaDeviceId) != cudaSuccess ||
      cudaGetDeviceProperties (&properties, c->nCudaDeviceId) != cudaSuccess)
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

/* ---- the functions, for one and four channels ---------------------------- */

static NppStatus
run_median (const Npp *n, const Npp8u *src, int src_pitch, Npp8u *dst, int dst_pitch)
{
  return nppiFilterMedian_8u_C1R_Ctx (src, src_pitch, dst, dst_pitch, n->size, n->mask, n->anchor, n->buffer,
      n->context);
}

static NppStatus
run_dense (const Npp *n, const Npp8u *src, int src_pitch, Npp8u *dst, int dst_pitch)
{
  return (n->rgba ? nppiFilterBorder32f_8u_C4R_Ctx : nppiFilterBorder32f_8u_C1R_Ctx) (src, src_pitch, n->size, origin,
      dst, dst_pitch, n->size, n->weights, n->mask, n->anchor, NPP_BORDER_REPLICATE, n->context);
}

static NppStatus
run_gauss (const Npp *n, const Npp8u *src, int src_pitch, Npp8u *dst, int dst_pitch)
{
  if (n->has_name)
    return (n->rgba ? nppiFilterGaussBorder_8u_C4R_Ctx : nppiFilterGaussBorder_8u_C1R_Ctx) (src, src_pitch, n->size,
        origin, dst, dst_pitch, n->size, n->named, NPP_BORDER_REPLICATE, n->context);
  return (n->rgba ? nppiFilterGaussAdvancedBorder_8u_C4R_Ctx : nppiFilterGaussAdvancedBorder_8u_C1R_Ctx) (src,
      src_pitch, n->size, origin, dst, dst_pitch, n->size, n->mask.width, n->weights, NPP_BORDER_REPLICATE, n->context);
}

static NppStatus
run_box (const Npp *n, const Npp8u *src, int src_pitch, Npp8u *dst, int dst_pitch)
{
  return (n->rgba ? nppiFilterBoxBorder_8u_C4R_Ctx : nppiFilterBoxBorder_8u_C1R_Ctx) (src, src_pitch, n->size, origin,
      dst, dst_pitch, n->size, n->mask, n->anchor, NPP_BORDER_REPLICATE, n->context);
}

static NppStatus
run_watershed (const Npp *n, const Npp8u *src, int src_pitch, Npp8u *dst, int dst_pitch)
{
  if (cudaMemcpy2DAsync (dst, (size_t) dst_pitch, src, (size_t) src_pitch, (size_t) n->size.width,
          (size_t) n->size.height, cudaMemcpyDeviceToDevice, n->context.hStream) != cudaSuccess)
    return NPP_MEMCPY_ERROR;
  return nppiSegmentWatershed_8u_C1IR_Ctx (dst, dst_pitch, n->labels, n->size.width * (int) sizeof *n->labels,
      nppiNormInf, NPP_WATERSHED_SEGMENT_BOUNDARIES_NONE, n->size, n->buffer, n->context);
}

static NppStatus
run_label_markers (const Npp *n, const Npp8u *src, int src_pitch, Npp8u *, int)
{
  return nppiLabelMarkersUF_8u32u_C1R_Ctx ((Npp8u *) src, src_pitch, n->labels, n->size.width * (int) sizeof *n->labels,
      n->size, nppiNormInf, n->buffer, n->context);
}

/* ---- open, run, close ---------------------------------------------------- */

static void
npp_close (void *baseline)
{
  Npp *npp = (Npp *) baseline;

  (void) cudaFree (npp->buffer);
  (void) cudaFree (npp->labels);
  (void) cudaFree (npp->weights);
  free (npp);
}

static bool
open_median (Npp *npp)
{
  Npp32u bytes = 0;

  npp->run = run_median;
  return !npp->rgba && npp->mask.width <= 31 &&
      nppiFilterMedianGetBufferSize_8u_C1R_Ctx (npp->size, npp->mask, &bytes, npp->context) == NPP_SUCCESS &&
      cudaMalloc (&npp->buffer, bytes ? bytes : 1) == cudaSuccess;
}

/* Allocates a Gauss of n taps, or n x n different weights: NPP's time does not depend on their values. */
static bool
open_weights (Npp *npp, int n, bool gauss)
{
  Npp32f *host = (Npp32f *) calloc ((size_t) n, sizeof *host);
  double sigma = 0.3 * ((npp->mask.width - 1) / 2 - 1) + 0.8;
  bool good = host && cudaMalloc (&npp->weights, (size_t) n * sizeof *host) == cudaSuccess;

  for (int i = 0; host && i < n; i++)
    host[i] = gauss ? (Npp32f) (exp (-(i - n / 2) * (i - n / 2) / (2 * sigma * sigma)) / (sigma * 2.5066))
        : (Npp32f) ((i * 37 % 101 - 40) / (10.0 * n));
  good = good && cudaMemcpy (npp->weights, host, (size_t) n * sizeof *host, cudaMemcpyHostToDevice) == cudaSuccess;
  free (host);
  return good;
}

static bool
open_gauss (Npp *npp)
{
  static const NppiMaskSize names[] = { NPP_MASK_SIZE_3_X_3, NPP_MASK_SIZE_5_X_5, NPP_MASK_SIZE_7_X_7,
    NPP_MASK_SIZE_9_X_9, NPP_MASK_SIZE_11_X_11, NPP_MASK_SIZE_13_X_13, NPP_MASK_SIZE_15_X_15 };
  int k = npp->mask.width;

  npp->run = run_gauss;
  npp->has_name = k >= 3 && k <= 15;
  if (npp->has_name)
    npp->named = names[(k - 3) / 2];
  return npp->has_name || open_weights (npp, k, true);
}

/* The size of a scratch buffer is an int in some versions of NPP and a size_t in others. */
template <typename Bytes>
static bool
scratch (Npp *npp, NppStatus (*ask) (NppiSize, Bytes *))
{
  Bytes bytes = 0;

  return ask (npp->size, &bytes) == NPP_SUCCESS && cudaMalloc (&npp->buffer, bytes ? (size_t) bytes : 1) == cudaSuccess;
}

static bool
open_labels (Npp *npp, bool watershed)
{
  const size_t bytes = (size_t) npp->size.width * (size_t) npp->size.height * sizeof *npp->labels;

  npp->run = watershed ? run_watershed : run_label_markers;
  return !npp->rgba && cudaMalloc (&npp->labels, bytes) == cudaSuccess &&
      (watershed ? scratch (npp, nppiSegmentWatershedGetBufferSize_8u_C1R)
                 : scratch (npp, nppiLabelMarkersUFGetBufferSize_32u_C1R));
}

static void *
npp_open (const char *kind, int size, int pixel, int width, int height, void *stream)
{
  Npp *npp = (Npp *) calloc (1, sizeof *npp);
  bool good = npp && (pixel == 1 || pixel == 4) && fill_context (&npp->context, (cudaStream_t) stream);

  if (!npp)
    return NULL;
  npp->rgba = pixel == 4;
  npp->size = { width, height };
  npp->mask = { size, size };
  npp->anchor = { size / 2, size / 2 };
  if (good && strcmp (kind, "median") == 0) {
    good = open_median (npp);
  } else if (good && strcmp (kind, "dense") == 0) {
    npp->run = run_dense;
    good = open_weights (npp, size * size, false);
  } else if (good && strcmp (kind, "gauss") == 0) {
    good = open_gauss (npp);
  } else if (good && strcmp (kind, "box") == 0) {
    npp->run = run_box;
  } else if (good && (strcmp (kind, "watershed") == 0 || strcmp (kind, "label markers") == 0)) {
    good = open_labels (npp, kind[0] == 'w');
  } else {
    good = false;
  }
  if (good)
    return npp;
  npp_close (npp);
  return NULL;
}

static int
npp_run (void *baseline, const uint8_t *src, size_t src_pitch, uint8_t *dst, size_t dst_pitch)
{
  const Npp *npp = (const Npp *) baseline;

  return npp->run (npp, src, (int) src_pitch, dst, (int) dst_pitch) == NPP_SUCCESS ? 0 : -1;
}

extern "C" __attribute__ ((visibility ("default"))) const BenchBaseline *
bench_baseline (void)
{
  static const BenchBaseline baseline = { .name = "NPP", .open = npp_open, .run = npp_run, .close = npp_close };

  return &baseline;
}
