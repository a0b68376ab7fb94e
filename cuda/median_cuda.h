/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * median_cuda.h: what the CUDA files of the median share: the rows of the
 * variant table, and the padded planes that the general variants read. */
#ifndef MEDIAN_CUDA_H
#define MEDIAN_CUDA_H

#include "device.cuh"
#include "median.h"

namespace cf {

/* ---- networks: one row a square size, median rank ----------------------- */

struct NetworkVariant {
  int k;
  const char *name;
  const void *kernel; /* takes a Jobs */
  int tile_w, tile_h; /* outputs a block */
  int block_y;        /* of 32 x block_y threads */
};

constexpr int n_network_variants = 8;

const NetworkVariant *median_network_narrow (void); /* samples of up to 10 bits */
const NetworkVariant *median_network_wide (void);   /* of 16 bits */

/* ---- any window, any rank: tree and select ------------------------------- */

/* The window's samples, from padded copies of the components: element
 * (x, y) of frame s of job i is at frame[s] + offset[i] + y * pitch[i] +
 * x * element bytes, with the window of output (x, y) beginning there, so that
 * no kernel has to look at borders. Packed colours have one plane of 32-bit
 * numbers, in place of job 0. */
constexpr int max_depth = 15;

struct Padded {
  const uint8_t *frame[max_depth]; /* the current one first */
  long long offset[CF_MAX_VIEWS], pitch[CF_MAX_VIEWS];
  int w, h, depth, rank; /* the window */
  int bits;              /* of an element's value: 8, 10, 16 or 24 */
  bool packed;
  int red, green, blue;  /* packed: the jobs of the channels */
};

CfCode median_launch_pad (const Jobs *jobs, const Padded *padded, uint8_t *frame, cudaStream_t stream, CfStatus *status);
CfCode median_launch_select (Jobs *jobs, const Padded *padded, cudaStream_t stream, CfStatus *status);
CfCode median_launch_tree (Jobs *jobs, const Padded *padded, cudaStream_t stream, CfStatus *status);
/* Shared memory of the tree's blocks; call once, before the first launch. */
CfCode median_tree_init (CfStatus *status);

/* The padded planes reach this far beyond the picture, for whole tiles. */
constexpr int pad_tile_w = 256, pad_tile_h = 128;

} // namespace cf

#endif
