/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * median/gpu/internal.h: what the CUDA files of the median share: the rows of the
 * variant table, and the padded planes that the general variants read. */
#ifndef CF_MEDIAN_GPU_INTERNAL_H
#define CF_MEDIAN_GPU_INTERNAL_H

#include "core/gpu/launch.cuh"
#include "median/median.h"

namespace cf {

/* ---- networks: one row a square size, median rank ----------------------- */

struct NetworkVariant {
  int k;
  const char *name;
  const void *kernel; /* takes a Launch */
  int tile_w, tile_h; /* outputs a block */
  int block_y;        /* of 32 x block_y threads */
};

constexpr int n_network_variants = 8;

const NetworkVariant *median_network_narrow (void); /* samples of up to 10 bits */
const NetworkVariant *median_network_wide (void);   /* of 16 bits */

/* ---- any window, any rank: tree and select ------------------------------- */

/* The window's samples, from copies of the components with the border already
 * in place, so that these kernels look at no edge: sample (x, y) of a component
 * is element (x + pad, y + pad) of its padded plane. The planes reach far enough
 * beyond the picture for whole tiles. They hold any window, so a new window
 * needs no new memory and keeps the history. Packed colours have
 * one plane of 32-bit numbers a field: its primary plane is that of the first channel,
 * and those of the others follow at a distance of `primary`. */
constexpr int pad = 127, pad_right = 127 + 384, pad_below = 127 + 64;
constexpr int max_depth = 15;

struct Padded {
  const uint8_t *frame[max_depth];  /* the current one first */
  long long offset[CF_MAX_VIEWS];   /* of each plane, bytes */
  int pitch[CF_MAX_VIEWS];          /* bytes, a multiple of 16 */
  int w, h, depth, rank;            /* the window */
  int bits;                         /* of an element's value: 8, 10, 16 or 24 */
  int element;                      /* bytes: 1, 2 or 4 */
  int primary;                      /* packed: the fields, 1 or 2; else 0 */
};

/* Fills `frame` from the launch' inputs. */
CfCode median_launch_pad (Launch *launch, const Padded &padded, uint8_t *frame, cudaStream_t stream, CfStatus *status);
/* Filters into the launch' outputs. */
CfCode median_launch_select (Launch *launch, const Padded &padded, cudaStream_t stream, CfStatus *status);
CfCode median_launch_tree (Launch *launch, const Padded &padded, cudaStream_t stream, CfStatus *status);
/* Can the tree do this window? */
bool median_tree_fits (const Padded &padded, int max_shared);
/* Loads the kernels and sets the limits of their shared memory; once a plan. */
CfCode median_general_init (CfStatus *status);
CfCode median_tree_init (int max_shared, CfStatus *status);

} // namespace cf

#endif
