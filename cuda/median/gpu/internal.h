/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/internal.h: what the CUDA files of the median share: the variant
 * table of the networks, and the padded planes that select and tree read. */
#ifndef CF_MEDIAN_GPU_INTERNAL_H
#define CF_MEDIAN_GPU_INTERNAL_H

#include "core/gpu/launch.cuh"
#include "median/median.h"

namespace cf {

/* ---- networks: one row per size of a square window, median rank ---------- */

struct MedianNetworkVariant {
  int k;
  const void *kernel; /* takes a Launch */
  int tile_w, tile_h; /* outputs per block */
  int block_y;        /* a block has 32 x block_y threads */
  int shared;         /* bytes of dynamic shared memory */
  int arch;           /* the kernel has a body in code for this architecture and later ones: 90 is 9.0 */
};

constexpr int median_n_networks = 8;

/* Each returns a table of median_n_networks rows, valid for the whole process. */
const MedianNetworkVariant *median_networks_narrow (void); /* samples of up to 10 bits */
const MedianNetworkVariant *median_networks_wide (void);   /* samples of 16 bits */

/* ---- small square windows of 8-bit planes, median rank: registers -------- */

constexpr int median_n_registers = 2;

/* Returns the k of a variant for k x k. */
int median_registers_size (int variant);
/* Returns whether the kernels can do the launch's planes: by their formats, alignment and the threshold. */
bool median_registers_fit (const Launch &launch);
/* Filters the launch's inputs into its outputs; sets Launch::blocks, first_block and blocks_x. */
CfCode median_launch_registers (Launch *launch, int variant, bool pdl, cudaStream_t stream, CfStatus *status);
/* Loads the kernels. Returns in *pdl whether they and the others were compiled with griddep_wait (). */
CfCode median_registers_init (bool *pdl, CfStatus *status);

/* ---- large windows of 8-bit samples: flat ------------------------------- */

/* Returns whether flat can do this window with `max_shared` bytes of shared memory per block. */
bool median_flat_fits (const CfMedianWindow &window, int max_shared);
/* Filters the launch's inputs into its outputs; sets Launch::blocks, first_block and blocks_x. */
CfCode median_launch_flat (Launch *launch, const CfMedianWindow &window, const CfContext *context, bool pdl,
    cudaStream_t stream, CfStatus *status);
CfCode median_flat_init (int max_shared, CfStatus *status); /* as those below */

/* ---- any window, any rank: tree and select ------------------------------- */

/* These kernels read copies of the components that already contain the border,
 * so they need no edge cases: sample (x, y) of a component is element
 * (x + median_pad, y + median_pad) of its padded plane. The padding to the right and below covers whole tiles. It is
 * wide enough for any window, so a new window needs no new memory and keeps the history.
 * With packed colours a field has one padded plane of 32-bit numbers, that of its primary plane, which is the plane of
 * the first channel in Launch::plane; the second and third channel follow at a distance of `n_primary` planes. */
constexpr int median_pad = 127, median_pad_right = 127 + 384, median_pad_below = 127 + 64;

struct MedianPadded {
  const uint8_t *frame[CF_MEDIAN_MAX_DEPTH]; /* the one that is filtered first */
  long long offset[CF_MAX_VIEWS];            /* of each padded plane inside a frame, bytes */
  int pitch[CF_MAX_VIEWS];                   /* bytes, a multiple of 16 */
  int w, h, depth, rank;                     /* the window */
  int bits;                                  /* of an element's value: 8, 10, 16 or 24 */
  int bytes;                                 /* of an element: 1, 2 or 4 */
  int n_primary;                             /* packed: number of fields, 1 or 2; per channel: 0 */
};

/* The three functions below put work on `stream` and return without waiting for it; they fail if a launch fails.
 * Launch::blocks, first_block and blocks_x are set for the kernel's own tiles. */

/* Fills the padded planes of `frame` (device memory) from the launch's inputs. */
CfCode
median_launch_pad (Launch *launch, const MedianPadded &padded, uint8_t *frame, cudaStream_t stream, CfStatus *status);
/* Filter the padded frames into the launch's outputs. */
CfCode median_launch_select (Launch *launch, const MedianPadded &padded, cudaStream_t stream, CfStatus *status);
CfCode median_launch_tree (Launch *launch, const MedianPadded &padded, cudaStream_t stream, CfStatus *status);
/* Returns whether the tree can do this window with `max_shared` bytes of shared memory per block. */
bool median_tree_fits (const MedianPadded &padded, int max_shared);
inline constexpr const char *median_loading = "loading the median's kernels";

/* Load the kernels and set the limits of their shared memory; called once per plan, so that no launch has to. */
CfCode median_select_init (CfStatus *status);
CfCode median_tree_init (int max_shared, CfStatus *status);

} // namespace cf

#endif
