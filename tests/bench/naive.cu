/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * naive.cu: kernels as one first writes them, and how much faster the filters are: microseconds per frame of 1080p of
 * both, in one run, as JSON for docs/performance/studies.py. Each result is compared with the CPU's.
 *
 * Convolution and median are as in students' reports and tutorials: a thread makes a pixel, or a row of
 * pixels, and reads its window from global memory, from a tile of the block's own pixels, or from a tile with a halo;
 * the median sorts the window, in memory of the thread or from the device's heap, or keeps the smaller half in a binary
 * heap. The recursive filter gives each quadrant a block and each row a thread, which stays a sample behind the row
 * above. Its scheduler is there as the paper has it, and the filter itself with claims of few chunks
 * (irfilter/gpu/scheduler.cuh). The segmentation does each step by a launch, a thread a cell or a row of cells. */
#include "bench.h"
#include "cf-test.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cuda_runtime.h>

#include "naive_segment.cuh"

constexpr int WIDTH = 1920, HEIGHT = 1080, BLOCK = 16, MOST = 15 /* side of a window */, TILE_SIDE = BLOCK + MOST - 1;
constexpr int ROWS_BLOCK = 1024; /* rows that are filtered together in a quadrant */

/* A launch of a kernel. */
struct Task {
  const uint8_t *in;
  uint8_t *out;
  size_t pitch;
  int k;              /* side of the window */
  const float *taps;  /* k x k, of the convolution, on the device */
  float divisor;      /* of it */
  float *y;           /* results of the four quadrants, on the device */
  int *done;          /* progress and locks of their columns, on the device */
  float a, b[8 * 8];  /* of the recursive filter: all of a are equal */
};

/* ---- samples ------------------------------------------------------------ */

/* Returns the nearest pixel of the frame as a number: its gray level or, of RGBA, R, G, B from the highest byte. */
template<class T> __device__ T
load (const Task &t, int x, int y)
{
  const uint8_t *at = t.in + min (max (y, 0), HEIGHT - 1) * t.pitch + min (max (x, 0), WIDTH - 1) * sizeof (T);

  if (sizeof (T) == 1)
    return *at;
  const uchar4 p = *(const uchar4 *) at;
  return (T) (p.x << 16 | p.y << 8 | p.z);
}

/* Stores a pixel. Alpha comes from the input. */
template<class T> __device__ void
store (const Task &t, int x, int y, T v)
{
  const size_t at = y * t.pitch + x * sizeof (T);

  if (sizeof (T) == 1)
    t.out[at] = (uint8_t) v;
  else
    *(uchar4 *) (t.out + at) = make_uchar4 (v >> 16 & 255, v >> 8 & 255, v & 255, t.in[at + 3]);
}

/* Where a window is read: in global memory; in a tile of the block's own pixels and beyond it in global memory; in a
 * tile with its halo. */
enum Source { GLOBAL, TILE, HALO };

template<class T, Source S> __device__ void
fill_tile (const Task &t, T *tile)
{
  const int halo = S == HALO ? t.k / 2 : 0, side = BLOCK + 2 * halo;

  for (int j = threadIdx.y; S != GLOBAL && j < side; j += BLOCK)
    for (int i = threadIdx.x; i < side; i += BLOCK)
      tile[j * side + i] = load<T> (t, blockIdx.x * BLOCK + i - halo, blockIdx.y * BLOCK + j - halo);
  __syncthreads ();
}

template<class T, Source S> __device__ T
sample (const Task &t, const T *tile, int x, int y)
{
  const int halo = S == HALO ? t.k / 2 : 0, side = BLOCK + 2 * halo;
  const int i = x - (int) blockIdx.x * BLOCK + halo, j = y - (int) blockIdx.y * BLOCK + halo;

  if (S == GLOBAL || (S == TILE && (i < 0 || j < 0 || i >= side || j >= side)))
    return load<T> (t, x, y);
  return tile[j * side + i];
}

/* ---- convolution -------------------------------------------------------- */

/* The taps are above 0 and the divisor is odd: the float is exact enough for the nearest integer, and halves do not
 * occur. */
template<Source S> __device__ void
convolve_pixel (const Task &t, const uint8_t *tile, int x, int y)
{
  float sum = 0;

  for (int j = 0; j < t.k; j++)
    for (int i = 0; i < t.k; i++)
      sum = fmaf (t.taps[j * t.k + i], sample<uint8_t, S> (t, tile, x + i - t.k / 2, y + j - t.k / 2), sum);
  store (t, x, y, (uint8_t) (sum / t.divisor + .5f));
}

template<Source S> __global__ void
convolve (Task t)
{
  __shared__ uint8_t tile[TILE_SIDE * TILE_SIDE];
  const int x = blockIdx.x * BLOCK + threadIdx.x, y = blockIdx.y * BLOCK + threadIdx.y;

  fill_tile<uint8_t, S> (t, tile);
  if (x < WIDTH && y < HEIGHT)
    convolve_pixel<S> (t, tile, x, y);
}

__global__ void
convolve_rows (Task t)
{
  const int y = blockIdx.x * blockDim.x + threadIdx.x;

  for (int x = 0; y < HEIGHT && x < WIDTH; x++)
    convolve_pixel<GLOBAL> (t, NULL, x, y);
}

/* ---- median ------------------------------------------------------------- */

/* The first `n` of `window` are in order; inserts v. */
template<class T> __device__ void
insert (T *window, int n, T v)
{
  for (; n > 0 && window[n - 1] > v; n--)
    window[n] = window[n - 1];
  window[n] = v;
}

/* Replaces the largest of a heap of `n` samples. */
template<class T> __device__ void
replace_root (T *heap, int n, T v)
{
  int p = 0;

  for (int child = 1; child < n; child = 2 * p + 1) {
    child += child + 1 < n && heap[child + 1] > heap[child];
    if (heap[child] <= v)
      break;
    heap[p] = heap[child];
    p = child;
  }
  heap[p] = v;
}

enum How { SORTED, SORTED_NEW, BINARY_HEAP };

template<class T, Source S, How H> __global__ void
median (Task t)
{
  __shared__ T tile[TILE_SIDE * TILE_SIDE];
  const int x = blockIdx.x * BLOCK + threadIdx.x, y = blockIdx.y * BLOCK + threadIdx.y, n = t.k * t.k, half = n / 2;

  fill_tile<T, S> (t, tile);
  if (x >= WIDTH || y >= HEIGHT)
    return;
  T local[H == SORTED_NEW ? 1 : MOST * MOST], *window = H == SORTED_NEW ? new T[n] : local;
  if (!window)
    return; /* the comparison finds it */
  for (int i = 0; H == BINARY_HEAP && i <= half; i++)
    window[i] = (T) ~0;
  for (int i = 0; i < n; i++) {
    const T v = sample<T, S> (t, tile, x + i % t.k - t.k / 2, y + i / t.k - t.k / 2);

    if (H != BINARY_HEAP)
      insert (window, i, v);
    else if (v < window[0])
      replace_root (window, half + 1, v);
  }
  store (t, x, y, window[H == BINARY_HEAP ? 0 : half]);
  if (H == SORTED_NEW)
    delete[] window;
}

/* ---- recursive filter, border=zero -------------------------------------- */

/* Computes a sample of quadrant q from those above and to the left of it, in the quadrant's direction. */
template<class Y> __device__ void
recurse (const Task &t, int q, Y *y, int r, int c)
{
  const int m = t.k;
  auto in = [&] (int i, int j) {
    return i < 0 || j < 0 ? 0 : (float) load<uint8_t> (t, q & 1 ? WIDTH - 1 - j : j, q & 2 ? HEIGHT - 1 - i : i);
  };
  auto before = [&] (int i, int j) { return i >= 0 && j >= 0 ? y[i * WIDTH + j] : i < 0 && j < 0 ? 0 : 0x1p-60f; };
  float acc = 0x1p-60f;

  for (int k = 0; k < m; k++)
    for (int l = 0; l < m; l++)
      acc = fmaf (t.a, in (r - k, c - l), acc);
  for (int k = m - 1; k >= 1; k--)
    for (int l = m - 1; l >= 0; l--)
      acc = fmaf (t.b[k * m + l], before (r - k, c - l), acc);
  for (int l = m - 1; l >= 1; l--)
    acc = fmaf (t.b[l], before (r, c - l), acc);
  y[r * WIDTH + c] = acc;
}

__global__ void __launch_bounds__ (ROWS_BLOCK)
quadrants (Task t)
{
  float *y = t.y + (size_t) blockIdx.x * WIDTH * HEIGHT;

  for (int top = 0; top < HEIGHT; top += ROWS_BLOCK)
    for (int step = 0; step < WIDTH + ROWS_BLOCK; step++) {
      const int r = top + threadIdx.x, c = step - threadIdx.x;

      if (r < HEIGHT && c >= 0 && c < WIDTH)
        recurse (t, blockIdx.x, y, r, c);
      __syncthreads ();
    }
}

/* The scheduler as the paper has it: a block claims its own column or, where that is not ready, the nearest one to the
 * left that is, computes one sample, and releases it, until its own column is complete. There the threads of a block
 * add up the window together, here one thread does, because the sum's order is fixed. A block waits with nothing
 * claimed, so it does not matter which blocks are resident. */
__global__ void
one_sample (Task t)
{
  volatile float *y = t.y + (size_t) blockIdx.y * WIDTH * HEIGHT; /* not from L1: other blocks write it */
  volatile int *done = t.done + blockIdx.y * WIDTH;               /* rows of each column */
  int *locks = t.done + (4 + blockIdx.y) * WIDTH;

  while (done[blockIdx.x] < HEIGHT) {
    int c = blockIdx.x;

    while (c > 0 && done[c - 1] <= done[c])
      c--;
    if (atomicCAS (&locks[c], 0, 1))
      continue;
    __threadfence ();
    const int r = done[c];

    if (r < HEIGHT && (c == 0 || done[c - 1] > r)) { /* it still is ready */
      __threadfence ();
      recurse (t, blockIdx.y, y, r, c);
      __threadfence ();
      done[c] = r + 1;
    }
    __threadfence ();
    atomicExch (&locks[c], 0);
  }
}

__global__ void
add_quadrants (Task t)
{
  const int x = blockIdx.x * BLOCK + threadIdx.x, y = blockIdx.y * BLOCK + threadIdx.y;
  float sum = 0;

  if (x >= WIDTH || y >= HEIGHT)
    return;
  for (int q = 0; q < 4; q++)
    sum += t.y[((size_t) q * HEIGHT + (q & 2 ? HEIGHT - 1 - y : y)) * WIDTH + (q & 1 ? WIDTH - 1 - x : x)];
  store (t, x, y, (uint8_t) __float2int_rn (fminf (fmaxf (sum, 0), 255)));
}

/* ---- the rows ----------------------------------------------------------- */

struct Naive {
  const char *what;
  const void *kernel; /* NULL where chunks or cells say what to do */
  dim3 grid, block;
  const void *then; /* NULL, or a second kernel, a thread a pixel */
  int chunks;       /* the filter itself, with claims of so many */
  bool cells, rows; /* the segmentation, a thread a cell or a row of them */
};

static const dim3 tiles ((WIDTH + BLOCK - 1) / BLOCK, (HEIGHT + BLOCK - 1) / BLOCK), tile (BLOCK, BLOCK);

#define PIXELS(what, ...) { what, (const void *) __VA_ARGS__, tiles, tile }
static const Naive convolves[] = {
  PIXELS ("a thread a pixel, global memory", convolve<GLOBAL>),
  PIXELS ("shared memory without halo", convolve<TILE>),
  PIXELS ("shared memory with halo", convolve<HALO>),
  { "a thread a row, global memory", (const void *) convolve_rows, dim3 ((HEIGHT + 63) / 64), dim3 (64) }, { } };
static const Naive medians[] = {
  PIXELS ("sorted by each thread, global memory", median<uint8_t, GLOBAL, SORTED>),
  PIXELS ("sorted by each thread, shared memory with halo", median<uint8_t, HALO, SORTED>),
  PIXELS ("binary heap of each thread, shared memory with halo", median<uint8_t, HALO, BINARY_HEAP>),
  PIXELS ("sorted in the device's heap, shared memory with halo", median<uint8_t, HALO, SORTED_NEW>), { } };
static const Naive packed_medians[] = {
  PIXELS ("sorted by each thread, global memory", median<uint32_t, GLOBAL, SORTED>),
  PIXELS ("binary heap of each thread, shared memory with halo", median<uint32_t, HALO, BINARY_HEAP>), { } };
static const Naive recursives[] = {
  { "a block a quadrant, a thread a row", (const void *) quadrants, dim3 (4), dim3 (ROWS_BLOCK),
    (const void *) add_quadrants },
  { "1 sample a claim, as in the paper", (const void *) one_sample, dim3 (WIDTH, 4), dim3 (1),
    (const void *) add_quadrants },
  { "ours, 1 chunk a claim", NULL, 0, 0, NULL, 1 }, { "ours, 4 chunks a claim", NULL, 0, 0, NULL, 4 },
  { "ours, 16 chunks a claim", NULL, 0, 0, NULL, 16 }, { } };
static const Naive segments[] = { { "a thread a cell, global memory", NULL, 0, 0, NULL, 0, true, false },
  { "a thread a row of cells, global memory", NULL, 0, 0, NULL, 0, true, true }, { } };

static const struct {
  const char *stem, *name;
  CfFormat format;
  int pixel; /* bytes */
  int sizes[4]; /* sides of the window, or of a cell */
  const Naive *naive;
} filters[] = {
  { "convolve", "cudaconvolve kernel=...", CF_FORMAT_GRAY8, 1, { 3, 7, 15 }, convolves },
  { "median", "cudamedian", CF_FORMAT_GRAY8, 1, { 3, 7, 15 }, medians },
  { "median", "cudamedian color-order=packed", CF_FORMAT_RGBA, 4, { 3, 7, 15 }, packed_medians },
  { "irfilter", "cudairfilter numerator=... border=zero", CF_FORMAT_GRAY8, 1, { 3, 5, 8 }, recursives },
  { "segment", "cudasegment temporal=0 cell-size=...", CF_FORMAT_GRAY8, 1, { 1, 2 }, segments },
};

/* ---- measuring ---------------------------------------------------------- */

struct Run {
  BenchFrames frames;
  Task task;
  Segmentation segmentation;
  const Naive *naive;
  CfPlan *plan, *cpu;
  CfStream *stream;
  CfVideo video;
  CfStatus status;
};

static CfImage
image_at (const CfVideo *video, const uint8_t *data, size_t pitch)
{
  CfImage image = { };

  image.format = video->format;
  image.width = video->width;
  image.height = video->height;
  image.plane[0].data = (uint8_t *) data;
  image.plane[0].pitch = pitch;
  return image;
}

static CfCode
filter_frame (CfPlan *plan, CfStream *stream, const CfVideo *video, const uint8_t *src, uint8_t *dst, size_t pitch,
    CfStatus *status)
{
  const CfImage in = image_at (video, src, pitch), out = image_at (video, dst, pitch);
  CfFrame frame = { };

  frame.in = &in;
  frame.out = &out;
  return cf_plan_enqueue (plan, stream, &frame, status);
}

static int
enqueue_ours (void *user, int, const uint8_t *src, uint8_t *dst, size_t pitch)
{
  Run *run = (Run *) user;

  return filter_frame (run->plan, run->stream, &run->video, src, dst, pitch, &run->status) == CF_OK;
}

static int
enqueue_naive (void *user, int, const uint8_t *src, uint8_t *dst, size_t pitch)
{
  Run *run = (Run *) user;
  const Naive *naive = run->naive;
  Task task = run->task;
  void *arguments[] = { &task };
  const cudaStream_t stream = (cudaStream_t) run->frames.stream[0];

  if (naive->cells) {
    Segmentation s = run->segmentation;

    s.c.in = src;
    s.c.out = dst;
    s.c.pitch = pitch;
    s.rows = naive->rows;
    s.stream = stream;
    return s.run ();
  }
  task.in = src;
  task.out = dst;
  task.pitch = pitch;
  if (naive->then && cudaMemsetAsync (task.done, 0, 8 * sizeof (int) * WIDTH, stream) != cudaSuccess)
    return 0;
  return cudaLaunchKernel (naive->kernel, naive->grid, naive->block, arguments, 0, stream) == cudaSuccess &&
      (!naive->then || cudaLaunchKernel (naive->then, tiles, tile, arguments, 0, stream) == cudaSuccess);
}

/* Returns microseconds per frame, 0 after an error. Sets *right to whether the first frame is the CPU's. */
static double
measure (Run *run, BenchEnqueue enqueue, bool *right, char *error)
{
  BenchFrames *f = &run->frames;
  const size_t row = (size_t) f->width * f->pixel, n = row * f->height;
  uint8_t *in = (uint8_t *) malloc (3 * n), *out = in + n, *expected = out + n;
  double us = 0;

  if (in && cudaMemset (f->out, 0, f->frame) == cudaSuccess && cudaDeviceSynchronize () == cudaSuccess)
    us = bench_filter_us (f, enqueue, run, 0, error);
  /* From here on launches count. A graph cannot wait, as the naive segmentation does. */
  if (us > 0 && us < 500 && (enqueue == enqueue_ours || !run->naive->cells))
    us = bench_filter_us (f, enqueue, run, 1, error);
  *right = us > 0 && bench_fetch (f, 0, in, out, error) &&
      filter_frame (run->cpu, NULL, &run->video, in, expected, row, &run->status) == CF_OK &&
      memcmp (out, expected, n) == 0;
  free (in);
  return us;
}

/* Allocates what the naive segmentation needs for as many cells as pixels. */
static bool
allocate_cells (Cells *c)
{
  bool good = cudaMalloc (&c->changed, sizeof (int)) == cudaSuccess &&
      cudaMemset (c->changed, 0, sizeof (int)) == cudaSuccess &&
      cudaMalloc (&c->best, sizeof *c->best * WIDTH * HEIGHT) == cudaSuccess;

  for (uint8_t **bytes : { &c->q, &c->p, &c->is_seed, &c->mean, &c->seeded })
    good = good && cudaMalloc (bytes, WIDTH * HEIGHT) == cudaSuccess;
  for (int **words : { &c->root, &c->next, &c->label, (int **) &c->n, (int **) &c->sum })
    good = good && cudaMalloc (words, sizeof (int) * WIDTH * HEIGHT) == cudaSuccess;
  return good;
}

/* Sets the filter's parameters for a window of k x k, and in the task what the kernels need of them. */
static bool
set_params (Run *run, const CfFilter *filter, void *params, int k, bool packed)
{
  const char *stem = cf_filter_info (filter)->stem;
  char first[4096] = "", second[4096] = "";
  float taps[MOST * MOST];
  Task *t = &run->task;
  int sum = 0;

  auto set = [&] (const char *name, const char *text) {
    return cf_params_set (filter, params, name, text, &run->status) == CF_OK;
  };
  if (strcmp (stem, "segment") == 0) {
    run->segmentation.set (WIDTH, HEIGHT, k);
    snprintf (first, sizeof first, "%d", k);
    return set ("temporal", "0") && set ("cell-size", first);
  }
  t->k = k;
  t->a = .01f / (float) (k * k);
  for (int i = 0; i < k * k; i++) {
    const int end = (i + 1) % k ? ' ' : ';';

    sum += (int) (taps[i] = (float) (1 + (7 * i + i / k * i) % 9));
    if (strcmp (stem, "convolve") == 0)
      snprintf (first + strlen (first), 32, "%g%c", taps[i], end);
    if (strcmp (stem, "irfilter") != 0)
      continue;
    /* The sum of b over .98^(row + column) is 1, so the pole radius is .98: one core. */
    t->b[i] = i > 0 ? (float) (pow (.98, i / k + i % k) / (k * k - 1)) : 0;
    snprintf (first + strlen (first), 32, "%.9g%c", t->a, end);
    snprintf (second + strlen (second), 32, "%.9g%c", t->b[i], end);
  }
  if (strcmp (stem, "irfilter") == 0)
    return set ("numerator", first) && set ("denominator", second) && set ("border", "zero");
  t->divisor = (float) (sum | 1);
  snprintf (second, sizeof second, "%d", strcmp (stem, "median") == 0 ? k : sum | 1);
  if (strcmp (stem, "median") == 0)
    return set ("kernel-size", second) && set ("color-order", packed ? "packed" : "per-channel");
  return set ("kernel", first) && set ("divisor", second) &&
      cudaMemcpy ((void *) t->taps, taps, k * k * sizeof *taps, cudaMemcpyHostToDevice) == cudaSuccess;
}

/* Measures the filter and the kernels beside it. Returns how many failed. */
static int
measure_rows (Run *run, CfContext *context[2], int row, int k)
{
  static const CfCommon all = { };
  static bool any;
  const CfFilter *filter = cf_filter_find (filters[row].stem);
  void *params = cf_params_new (filter, NULL);
  char error[256] = "";
  bool right = false;
  double ours = 0;
  int failed = 0;

  run->video.format = filters[row].format;
  if (params && set_params (run, filter, params, k, filters[row].pixel == 4) &&
      (run->plan = cf_plan_new (context[0], filter, &run->video, &all, params, &run->status)) &&
      (run->cpu = cf_plan_new (context[1], filter, &run->video, &all, params, &run->status)) &&
      (run->stream = cf_stream_new (run->frames.stream[0], &run->status)))
    ours = measure (run, enqueue_ours, &right, error);
  failed = !right;
  for (const Naive *naive = filters[row].naive; right && naive->what; naive++) {
    bool same = !naive->chunks || cf_plan_override (run->plan, "chunks", naive->chunks, &run->status) == CF_OK;

    run->naive = naive;
    const double us = same ? measure (run, naive->chunks ? enqueue_ours : enqueue_naive, &same, error) : 0;
    failed += !same;
    printf ("%s  {\"filter\": \"%s\", \"size\": %d, \"kernel\": \"%s\", ", any ? ",\n" : "", filters[row].name, k,
        naive->what);
    printf ("\"us\": %.2f, \"ours_us\": %.2f, \"right\": %s}", us, ours, same ? "true" : "false");
    fflush (stdout);
    any = true;
  }
  if (failed)
    fprintf (stderr, "%s, %d x %d: %d wrong or failed: %s %s\n", filters[row].name, k, k, failed, error,
        run->status.message);
  cf_stream_free (run->stream);
  cf_plan_free (run->plan);
  cf_plan_free (run->cpu);
  cf_params_free (filter, params);
  run->stream = NULL;
  run->plan = run->cpu = NULL;
  return failed;
}

int
main (void)
{
  static Run run;
  CfContext *context[2] = { cf_context_new (CF_BACKEND_CUDA, &run.status), NULL };
  CfGpuInfo gpu = { };
  char error[256] = "", date[16];
  const time_t now = time (NULL);
  int failed = 0;

  if (!context[0] || cf_gpu_info (0, &gpu, &run.status) != CF_OK) {
    fprintf (stderr, "no GPU: %s\n", run.status.message);
    return 77;
  }
  context[1] = cf_context_new (CF_BACKEND_CPU, &run.status);
  run.video.width = WIDTH;
  run.video.height = HEIGHT;
  if (!context[1] || cudaDeviceSetLimit (cudaLimitMallocHeapSize, (size_t) 1 << 30) != cudaSuccess ||
      cudaMalloc (&run.task.taps, MOST * MOST * sizeof (float)) != cudaSuccess ||
      cudaMalloc (&run.task.done, 8 * sizeof (int) * WIDTH) != cudaSuccess ||
      cudaMalloc (&run.task.y, 4 * sizeof (float) * WIDTH * HEIGHT) != cudaSuccess ||
      !allocate_cells (&run.segmentation.c)) {
    fprintf (stderr, "memory: %s\n", cudaGetErrorString (cudaGetLastError ()));
    return 1;
  }
  strftime (date, sizeof date, "%Y-%m-%d", gmtime (&now));
  printf ("{\"gpu\": \"%s\", \"date\": \"%s\", \"rows\": [\n", gpu.name, date);
  for (size_t row = 0; row < sizeof filters / sizeof filters[0]; row++) {
    const size_t n = bench_image_bytes (WIDTH, HEIGHT, filters[row].pixel);
    uint8_t *image = (uint8_t *) malloc (n);
    uint32_t noise = 1;

    for (size_t i = 0; image && i < n; i++)
      image[i] = (uint8_t) (i / 64 % 200 + ((noise = noise * 1664525 + 1013904223) >> 27));
    if (image && bench_frames_new (&run.frames, WIDTH, HEIGHT, filters[row].pixel, image, 1, gpu.l2_bytes, error)) {
      for (const int *k = filters[row].sizes; *k; k++)
        failed += measure_rows (&run, context, (int) row, *k);
    } else {
      fprintf (stderr, "frames: %s\n", error);
      failed++;
    }
    bench_frames_free (&run.frames);
    free (image);
  }
  printf ("\n]}\n");
  cf_context_free (context[1]);
  cf_context_free (context[0]);
  return failed ? 1 : 0;
}
