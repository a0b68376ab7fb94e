/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/direct.cuh: what direct.cu, quads.cu and passes.cu share, whose kernels filter the bytes of a row
 * whatever components they belong to: the description of a frame, borders, loads, stores at the end of a row. */
#ifndef CF_CONVOLVE_GPU_DIRECT_CUH
#define CF_CONVOLVE_GPU_DIRECT_CUH

#include "tile.cuh"
#include "sums.cuh"

namespace cf {

/* A group of components of the same pixels (Group), as the kernels that filter bytes need it. */
struct DirectGroup {
  uint4 outside;        /* constant border: a vector of samples outside the image */
  const uint8_t *in;
  uint8_t *out;
  int in_pitch, out_pitch;
  int bytes, height; /* bytes of a row; rows */
  int first_block, blocks_x;
  unsigned blocks_inverse;
  alignas (16) int init[4]; /* initial values of the sums of a word's four bytes */
  unsigned pick;        /* selector of a word's bytes: 0..3 from the results, 4..7 from the input */
  unsigned repeat[2];   /* selectors that make two words left [0] and right [1] of a row from its outermost word */
  uint8_t step, spread; /* spread: index of the weights for this step */
  bool filtered, keeps; /* keeps: `pick` takes bytes from the input */
  bool repeats;         /* words beside a row are made with `repeat` */
  bool vectors;         /* the rows of both images begin on 16 bytes, and `keeps` is not set */
  bool pairs;           /* the rows of the output begin on 8 bytes */
  bool plain;           /* `pairs`, and `keeps` is not set */
  bool clamps;          /* `repeats`, with rows of whole vectors, and `repeat` has two equal selectors */

  int across () const { return bytes; } /* what blocks share out */
};

/* The frame and the parameters, as the kernels' argument. */
struct DirectLaunch {
  Rounding rounding;
  int n, blocks, ay;
  uint8_t border;
  bool prefetches;
  unsigned zero; /* 0, which the compiler must not know */
  DirectGroup group[CF_MAX_VIEWS];
};

/* Returns the offset in the image of byte `at` of row y, mapped by the border; -1: outside the image. `y` is
 * already mapped, or -1. */
static __device__ __noinline__ long long
offset_of_byte (const DirectLaunch &launch, int index, int at, int y)
{
  const DirectGroup &d = launch.group[index];
  const int x = (at + 64 * d.step) / d.step - 64, mx = cf_border_map ((CfBorder) launch.border, x, d.bytes / d.step);

  return mx < 0 || y < 0 ? -1 : (long long) y * d.in_pitch + mx * d.step + at - x * d.step;
}

/* Stores a word of a row, up to the row's end. */
static __device__ __forceinline__ void
store_word (const DirectGroup &d, uint8_t *row, int x, unsigned word)
{
  if (x + 3 < d.bytes)
    *(unsigned *) (row + x) = word;
  else
#pragma unroll
    for (int i = 0; i < 3; i++)
      if (x + i < d.bytes)
        row[x + i] = (uint8_t) (word >> 8 * i);
}

/* Fills a launch for a frame but for its blocks, and lists the steps of its spreads. Returns false if the kernels that
 * filter bytes cannot take the frame's formats, strides or alignment. */
bool convolve_fill_direct (const Work &work, DirectLaunch *launch, int *steps, int *n_steps);
bool convolve_quads_fits (const CfConvolution &c, const Rounding &k, int limbs, int step);
/* For a launch that is filled, with the steps of its spreads. */
bool convolve_quads_launch (Frame *f, DirectLaunch *launch, const int *steps, int n_steps);

} // namespace cf

#endif
