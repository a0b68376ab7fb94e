/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench_gpu.cu: the part of the benchmark that calls the CUDA runtime: frames in device memory,
 * graphs over them, events, and the plain copy.
 *
 * copy_plane: each thread copies 16 bytes of a row; `across` blocks side by side copy a row. No two threads access the
 * same byte, so there is no race. Bound by memory bandwidth. A dependent launch, as the filters' own are. */
#include "bench.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

static bool
good (cudaError_t e, const char *what, char *error)
{
  if (e == cudaSuccess)
    return true;
  (void) cudaGetLastError ();
  snprintf (error, 256, "%s: %s", what, cudaGetErrorString (e));
  return false;
}

__global__ static void
copy_plane (const uint8_t *in, uint8_t *out, size_t pitch, int vectors, int across)
{
  int row = blockIdx.x / across, x = (blockIdx.x - row * across) * blockDim.x + threadIdx.x;
  size_t at = row * pitch + 16 * (size_t) x;

#if defined (__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile ("griddepcontrol.wait;" : : : "memory");
  asm volatile ("griddepcontrol.launch_dependents;" : : : "memory");
#endif
  if (x < vectors)
    *(uint4 *) (out + at) = *(const uint4 *) (in + at);
}

size_t
bench_image_bytes (int width, int height, int pixel)
{
  return (size_t) (width + 2 * BENCH_MARGIN_X) * pixel * (size_t) (height + 2 * BENCH_MARGIN_Y);
}

int
bench_frames_new (BenchFrames *f, int width, int height, int pixel, const uint8_t *images, int n_images,
    size_t l2_bytes, char *error)
{
  size_t row = ((size_t) width + 2 * BENCH_MARGIN_X) * pixel, rows = (size_t) height + 2 * BENCH_MARGIN_Y;

  memset (f, 0, sizeof *f);
  f->width = width;
  f->height = height;
  f->pixel = pixel;
  f->pitch = (row + 255) / 256 * 256;
  f->frame = f->pitch * rows;
  f->offset = f->pitch * BENCH_MARGIN_Y + BENCH_MARGIN_X * pixel;
  f->n = (int) std::max<size_t> (64, 4 * l2_bytes / (2 * (size_t) width * pixel * (size_t) height) + 1);
  f->n_streams = 1;
  for (int i = 0; i < BENCH_MAX_STREAMS; i++)
    if (!good (cudaStreamCreateWithFlags ((cudaStream_t *) &f->stream[i], cudaStreamNonBlocking), "stream", error))
      return 0;
  if (!good (cudaMalloc (&f->in, f->frame * f->n), "frames", error) ||
      !good (cudaMalloc (&f->out, f->frame * f->n), "frames", error) ||
      !good (cudaMemset (f->out, 0, f->frame * f->n), "frames", error))
    return 0;
  for (int i = 0; i < f->n; i++)
    if (!good (cudaMemcpy2D (f->in + i * f->frame, f->pitch, images + (i % n_images) * row * rows, row, row, rows,
                cudaMemcpyHostToDevice), "upload", error))
      return 0;
  return good (cudaDeviceSynchronize (), "upload", error);
}

void
bench_frames_free (BenchFrames *f)
{
  (void) cudaFree (f->in);
  (void) cudaFree (f->out);
  for (int i = 0; i < BENCH_MAX_STREAMS; i++)
    if (f->stream[i])
      (void) cudaStreamDestroy ((cudaStream_t) f->stream[i]);
  memset (f, 0, sizeof *f);
}

/* Makes stream `to` wait for the work queued on `from` so far. */
static bool
stream_wait (void *from, void *to)
{
  cudaEvent_t event = NULL;
  bool ok = cudaEventCreateWithFlags (&event, cudaEventDisableTiming) == cudaSuccess &&
      cudaEventRecord (event, (cudaStream_t) from) == cudaSuccess &&
      cudaStreamWaitEvent ((cudaStream_t) to, event, 0) == cudaSuccess;

  if (event)
    (void) cudaEventDestroy (event);
  return ok;
}

static int
enqueue_all (BenchFrames *f, BenchEnqueue enqueue, void *user, int n)
{
  bool ok = true;

  for (int s = 1; ok && s < f->n_streams; s++)
    ok = stream_wait (f->stream[0], f->stream[s]);
  for (int i = 0; ok && i < n; i++)
    ok = enqueue (user, i % f->n_streams, f->in + i * f->frame + f->offset, f->out + i * f->frame + f->offset,
        f->pitch);
  for (int s = 1; ok && s < f->n_streams; s++)
    ok = stream_wait (f->stream[s], f->stream[0]);
  return ok;
}

static cudaGraphExec_t
make_graph (BenchFrames *f, BenchEnqueue enqueue, void *user, char *error)
{
  cudaStream_t stream = (cudaStream_t) f->stream[0];
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;

  if (!good (cudaStreamBeginCapture (stream, cudaStreamCaptureModeThreadLocal), "capture", error))
    return NULL;
  int queued = enqueue_all (f, enqueue, user, f->n);
  if (!good (cudaStreamEndCapture (stream, &graph), "capture", error) || !queued) {
    if (graph)
      (void) cudaGraphDestroy (graph);
    return NULL;
  }
  if (!good (cudaGraphInstantiate (&exec, graph, 0), "graph", error))
    exec = NULL;
  (void) cudaGraphDestroy (graph);
  return exec;
}

/* Returns the milliseconds of one measurement: `rounds` launches of the graph, or of frames 0..n-1
 * one by one. */
static double
measure_ms (BenchFrames *f, cudaGraphExec_t exec, BenchEnqueue enqueue, void *user, int rounds, int n, char *error)
{
  cudaStream_t stream = (cudaStream_t) f->stream[0];
  cudaEvent_t from = NULL, to = NULL;
  float ms = 0;
  bool ok = good (cudaEventCreate (&from), "event", error) && good (cudaEventCreate (&to), "event", error) &&
      good (cudaEventRecord (from, stream), "event", error);

  for (int r = 0; ok && r < rounds; r++)
    ok = exec ? good (cudaGraphLaunch (exec, stream), "launching the graph", error) : enqueue_all (f, enqueue, user, n);
  ok = ok && good (cudaEventRecord (to, stream), "event", error) &&
      good (cudaEventSynchronize (to), "running", error) && good (cudaEventElapsedTime (&ms, from, to), "event", error);
  if (from)
    (void) cudaEventDestroy (from);
  if (to)
    (void) cudaEventDestroy (to);
  return ok ? ms : 0;
}

double
bench_filter_us (BenchFrames *f, BenchEnqueue enqueue, void *user, int graph, char *error)
{
  double ms[BENCH_REPETITIONS], once;
  cudaGraphExec_t exec = NULL;
  int rounds = 1, n = f->n, repetitions = BENCH_REPETITIONS;

  /* Measured twice: the first launch of a kernel loads it. */
  once = measure_ms (f, NULL, enqueue, user, 1, f->n_streams, error);
  once = once > 0 && once < 200 ? measure_ms (f, NULL, enqueue, user, 1, f->n_streams, error) : once;
  if (once <= 0)
    return 0;
  if (graph && !(exec = make_graph (f, enqueue, user, error)))
    return 0;
  /* A measurement takes about 5 ms at least and 300 ms at most. */
  if (!graph)
    n = once * n > 300 ? std::max (1, (int) (300 / once)) : n;
  if (once > 100)
    repetitions = 3;
  double first = measure_ms (f, exec, enqueue, user, 1, n, error);
  if (first > 0 && first < 5)
    rounds = (int) (5 / first) + 1;
  for (int i = 0; i < repetitions && first > 0; i++)
    if ((ms[i] = measure_ms (f, exec, enqueue, user, rounds, n, error)) <= 0)
      first = 0;
  if (exec)
    (void) cudaGraphExecDestroy (exec);
  if (first <= 0)
    return 0;
  std::sort (ms, ms + repetitions);
  return ms[repetitions / 2] * 1000 / rounds / n;
}

static int
enqueue_copy (void *user, int stream, const uint8_t *src, uint8_t *dst, size_t pitch)
{
  BenchFrames *f = (BenchFrames *) user;
  int vectors = f->width * f->pixel / 16, across = (vectors + 127) / 128;
  cudaLaunchAttribute attribute = { };
  cudaLaunchConfig_t config = { };
  cudaFuncAttributes attributes;

  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = dim3 (across * f->height);
  config.blockDim = dim3 (128);
  config.stream = (cudaStream_t) f->stream[stream];
  config.attrs = &attribute;
  if (cudaFuncGetAttributes (&attributes, copy_plane) != cudaSuccess)
    return 0;
  config.numAttrs = attributes.ptxVersion >= 90; /* it waits only where it was compiled for that */
  return cudaLaunchKernelEx (&config, copy_plane, src, dst, pitch, vectors, across) == cudaSuccess;
}

double
bench_copy_us (BenchFrames *f, char *error)
{
  return bench_filter_us (f, enqueue_copy, f, 1, error);
}

int
bench_fetch (BenchFrames *f, int i, uint8_t *in, uint8_t *out, char *error)
{
  size_t at = i * f->frame + f->offset, w = (size_t) f->width * f->pixel, h = (size_t) f->height;

  return good (cudaStreamSynchronize ((cudaStream_t) f->stream[0]), "download", error) &&
      good (cudaMemcpy2D (in, w, f->in + at, f->pitch, w, h, cudaMemcpyDeviceToHost), "download", error) &&
      good (cudaMemcpy2D (out, w, f->out + at, f->pitch, w, h, cudaMemcpyDeviceToHost), "download", error);
}
