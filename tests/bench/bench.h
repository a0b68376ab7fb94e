/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench.h: kernelcheck --bench: what a filter costs on the GPU, in
 * microseconds a frame of 8 bits, beside a plain copy of as many bytes and,
 * where its library is at hand, a peer.
 *
 *   kernelcheck --bench [--filter median] [--sizes 3,5,...] [--set NAME=VALUE]
 *     [--kinds dense,gauss,...] [--format GRAY8,RGBA]
 *     [--resolution 1080p,4k,800x600,...] [--streams 1,8] [--picture FILE.pgm]
 *     [--all-variants] [--peer FILE.so] [--json FILE] [--markdown FILE]
 *
 * How: one launch a frame in a CUDA graph over so many frames that the L2
 * cache does not hold them; the median of seven repetitions between two
 * events. With several streams the graph has as many branches, each with a plan
 * of its own and its share of the frames; the time is still that of one frame.
 * One frame of each row is compared with the reference, so a kernel that is
 * fast and wrong is reported as wrong. */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Columns and rows of picture around each picture: peers without border
 * handling read there. */
#define BENCH_MARGIN_X 64
#define BENCH_MARGIN_Y 32
#define BENCH_REPETITIONS 7
#define BENCH_MAX_STREAMS 16

/* Frames in device memory; picture i begins at in + i * frame + offset. */
typedef struct {
  int width, height, n;
  int pixel; /* bytes */
  size_t pitch, frame, offset;
  uint8_t *in, *out;
  void *stream[BENCH_MAX_STREAMS]; /* cudaStream_t; the others fork off the first and join it again */
  int n_streams;
} BenchFrames;

/* A filter of somebody else, in a library that --peer names. */
typedef struct {
  const char *name;
  /* `kind`: KcBench.peer; pixels of so many 8-bit samples. NULL if it cannot;
   * run: 0 = queued on the stream. */
  void *(*open) (const char *kind, int size, int pixel, int width, int height, void *stream);
  int (*run) (void *peer, const uint8_t *src, size_t src_pitch, uint8_t *dst, size_t dst_pitch);
  void (*close) (void *peer);
} BenchPeer;

typedef const BenchPeer *(*BenchPeerEntry) (void);
#define BENCH_PEER_ENTRY "bench_peer"

/* bench_gpu.cu; on failure they say why in `error` (256 bytes) and give 0. */
typedef int (*BenchEnqueue) (void *user, int stream, const uint8_t *src, uint8_t *dst, size_t pitch);
int bench_frames_new (BenchFrames *f, int width, int height, int pixel, const uint8_t *pictures, int n_pictures,
    size_t l2_bytes, char *error);
void bench_frames_free (BenchFrames *f);
double bench_copy_us (BenchFrames *f, char *error);
/* `graph`: replay the launches from a graph; else launch them one by one. Uses
 * the first f->n_streams streams. */
double bench_filter_us (BenchFrames *f, BenchEnqueue enqueue, void *user, int graph, char *error);
/* Frame i without the margins, rows behind each other. */
int bench_fetch (BenchFrames *f, int i, uint8_t *in, uint8_t *out, char *error);
/* The size of a picture with its margins, which bench_frames_new is given. */
size_t bench_picture_bytes (int width, int height, int pixel);

#ifdef __cplusplus
}
#endif
#endif
