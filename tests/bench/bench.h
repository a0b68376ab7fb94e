/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench.h: kernelcheck --bench: the time of a filter on the GPU, in microseconds per frame of 8 bits, beside a plain
 * copy of as many bytes and, where its library is present, a baseline. `kernelcheck --bench --help` prints its options.
 *
 * Method: a CUDA graph holds one launch per frame, over more frames than fit into the L2 cache; the result is the
 * median of seven repetitions, each timed between two events. With several streams the graph has as many branches, each
 * with its own plan and its share of the frames; the result is still the time per frame. One frame of each row is
 * compared with the reference, so a fast but wrong kernel is reported as wrong. */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Margins of image content around each frame, for baselines without border handling, which read there. */
#define BENCH_MARGIN_X 64
#define BENCH_MARGIN_Y 32
#define BENCH_REPETITIONS 7
#define BENCH_MAX_STREAMS 16

/* Frames in device memory; frame i begins at in + i * frame + offset. */
typedef struct {
  int width, height, n; /* height: with the rows of further planes */
  int pixel;            /* bytes */
  size_t pitch, frame, offset;
  uint8_t *in, *out;
  void *stream[BENCH_MAX_STREAMS]; /* cudaStream_t; the others fork off the first one and join it again */
  int n_streams;
} BenchFrames;

/* A filter of another library, in a shared object that --baseline names. */
typedef struct {
  const char *name;
  /* open: `kind` is KcBench.baseline; a pixel has `pixel` samples of 8 bits. Returns NULL if the library has no such
   * filter. run: returns 0 when the work is queued on the stream. */
  void *(*open) (const char *kind, int size, int pixel, int width, int height, void *stream);
  int (*run) (void *baseline, const uint8_t *src, size_t src_pitch, uint8_t *dst, size_t dst_pitch);
  void (*close) (void *baseline);
} BenchBaseline;

typedef const BenchBaseline *(*BenchBaselineEntry) (void);
#define BENCH_BASELINE_ENTRY "bench_baseline"

/* bench_gpu.cu. All functions return 0 on failure and write the reason to `error` (256 bytes). */
typedef int (*BenchEnqueue) (void *user, int stream, const uint8_t *src, uint8_t *dst, size_t pitch);
int bench_frames_new (BenchFrames *f, int width, int height, int pixel, const uint8_t *images, int n_images,
    size_t l2_bytes, char *error);
void bench_frames_free (BenchFrames *f);
double bench_copy_us (BenchFrames *f, char *error);
/* Returns microseconds per frame. `graph`: replays the launches from a graph; otherwise launches them one by one. Uses
 * the first f->n_streams streams. */
double bench_filter_us (BenchFrames *f, BenchEnqueue enqueue, void *user, int graph, char *error);
/* Downloads frame i without margins and padding. */
int bench_fetch (BenchFrames *f, int i, uint8_t *in, uint8_t *out, char *error);
/* bench_tiles.cu: a kernel of a median's network, for gray frames whose rows are aligned to 4 bytes. */
typedef struct {
  int size, w, h, rows; /* of the window; outputs per thread and lane; of 32 threads in a block */
  const void *kernel;
  int shared;            /* bytes of dynamic shared memory */
  int registers, blocks; /* of a thread; that are on an SM together */
  int dependent;         /* programmatic dependent launch */
} BenchTile;
/* Returns the i-th kernel, NULL behind the last. */
BenchTile *bench_tile (int i);
/* Fills in what the GPU makes of it: the members from `registers` on. 0: failed. */
int bench_tile_measure (BenchTile *tile);
int bench_tile_enqueue (const BenchTile *tile, const BenchFrames *f, int stream, const uint8_t *src, uint8_t *dst,
    size_t pitch);
/* Returns the bytes of an image with its margins, as bench_frames_new expects it. */
size_t bench_image_bytes (int width, int height, int pixel);

#ifdef __cplusplus
}
#endif
#endif
