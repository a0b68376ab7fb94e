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

/* ---- networks: 3 x 3, 5 x 5, ... 17 x 17, median rank --------------------- */

struct MedianNetworkVariant {
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

/* ---- 3 x 3 and 5 x 5 of 8-bit planes, median rank: registers -------------- */

constexpr int median_n_registers = 2;

/* Returns whether the kernels can do the launch's planes: by their formats, alignment and the threshold. */
bool median_registers_fit (const Launch &launch);
/* Filters the launch's inputs into its outputs; sets Launch::blocks, first_block and blocks_x. */
CfCode median_launch_registers (Launch *launch, int variant, bool pdl, cudaStream_t stream, CfStatus *status);
/* Loads the kernels. Returns in *pdl whether they and the others were compiled with griddep_wait (). */
CfCode median_registers_init (bool *pdl, CfStatus *status);

/* ---- large windows of 8-bit samples: flat ------------------------------- */

/* Returns whether flat can do this window with `max_shared` bytes of shared memory per block. */
bool median_flat_fits (const CfMedianWindow &window, int max_shared);
CfCode median_flat_init (int max_shared, CfStatus *status); /* as those below */

/* ---- large windows of 16-bit samples: sort, then flat -------------------- */

/* Tiles of sorted samples, see sort.cu. A tile begins `left` columns left of its outputs and `above` rows above. */
struct MedianTiles {
  uint8_t *memory;           /* of the device, `bytes` for each tile: the samples' codes, and behind these at */
  int places, list, results; /* ... bytes the sorted samples' places and numbers, and what flat found */
  int bytes;
  int strips, rows;     /* outputs: 32 strips columns; strips <= 2, rows <= 64 */
  int pitch, height, n; /* samples: pitch columns, height rows, n in all, fewer than 65536 */
  unsigned by_pitch;    /* __umulhi (number of a sample, by_pitch) is its row */
  int left, above;
  int bucket;              /* samples with the same code, a multiple of 8 and at most 256 */
  int n_primary;           /* packed: number of fields, else 0; as in MedianPadded below */
  bool values;             /* the list has the samples, not their numbers */
  int first[CF_MAX_VIEWS]; /* number of a plane's first tile */
};

/* Returns whether tiles for this window fit into `max_shared` bytes of shared memory per block, and lays them out.
 * columns: of samples for 32 outputs side by side; tiles->n_primary and tiles->left are set. */
bool median_sort_fits (int columns, const CfMedianWindow &window, int bits, int max_shared, MedianTiles *tiles);
/* Returns the number of a frame's tiles, and sets tiles->first. T: Plane or CfView. */
template <class T>
int
median_count_tiles (const T *planes, int n, MedianTiles *tiles)
{
  int sum = 0;

  for (int i = 0; i < n; i++) {
    tiles->first[i] = sum;
    if (planes[i].filtered && (tiles->n_primary == 0 || i < tiles->n_primary))
      sum += (planes[i].width + 32 * tiles->strips - 1) / (32 * tiles->strips) *
          ((planes[i].height + tiles->rows - 1) / tiles->rows);
  }
  return sum;
}
/* Sort the samples of the tiles, and find the results where flat has found codes. They set Launch::blocks, first_block
 * and blocks_x, and tiles->first. */
CfCode median_launch_sort (Launch *launch, const CfMedianWindow &window, MedianTiles *tiles, bool pdl,
    cudaStream_t stream, CfStatus *status);
CfCode median_launch_search (Launch *launch, const CfMedianWindow &window, MedianTiles *tiles, bool pdl,
    cudaStream_t stream, CfStatus *status);
CfCode median_sort_init (int max_shared, CfStatus *status);
/* Returns whether flat can do this window with such tiles, and lays them out. */
bool median_sorted_fits (const CfMedianWindow &window, int n_primary, int bits, int max_shared, MedianTiles *tiles);
/* Filters the launch's inputs into its outputs, with tiles.strips = 0: 8-bit samples as they are; else leaves the codes
 * of results in the tiles, whose samples are sorted. Sets Launch::blocks, first_block and blocks_x. */
CfCode median_launch_flat (Launch *launch, const CfMedianWindow &window, const MedianTiles &tiles,
    const CfContext *context, bool pdl, cudaStream_t stream, CfStatus *status);
/* Filters by sorted tiles. */
CfCode median_launch_sorted (Launch *launch, const CfMedianWindow &window, MedianTiles *tiles, const CfContext *context,
    bool pdl, cudaStream_t stream, CfStatus *status);

/* ---- small windows, any rank --------------------------------------------- */

constexpr int median_small = 15; /* samples at most */

/* Filters by sorting each window of one frame. n_primary: packed: number of fields, else 0. */
CfCode median_launch_small (Launch *launch, const CfMedianWindow &window, int n_primary, bool pdl, cudaStream_t stream,
    CfStatus *status);

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

/* ---- samples and packed colours ------------------------------------------ */

#ifdef __CUDACC__

/* Returns the sample (x, y) of a plane or, with n_primary > 0, the pixel as a number, red highest; `index` is its
 * primary plane then. */
__device__ __forceinline__ unsigned
load_value (const Launch &launch, int index, int n_primary, int x, int y)
{
  unsigned value = 0;

#pragma unroll
  for (int c = 0; c < 3; c++) { /* the components are in the order R, G, B */
    const Plane &plane = launch.plane[index + c * n_primary];

    value = value << 8 | load_sample (plane, plane.in + y * plane.in_pitch, x);
    if (n_primary == 0)
      break;
  }
  return value;
}

__device__ __forceinline__ int
distance (unsigned a, unsigned b)
{
  return abs ((int) a - (int) b);
}

/* Stores a result where it differs from the input by more than the threshold, in any channel of a packed colour, else
 * the input. */
__device__ __forceinline__ void
store_result (const Launch &launch, int index, int n_primary, int x, int y, unsigned input, unsigned result)
{
  const int t = launch.threshold;

  if (n_primary == 0) {
    const Plane &plane = launch.plane[index];

    store_sample (plane, plane.out + y * plane.out_pitch, x, distance (input, result) > t ? result : input);
    return;
  }
  const bool far = distance (input >> 16, result >> 16) > t || distance (input >> 8 & 255, result >> 8 & 255) > t ||
      distance (input & 255, result & 255) > t;
  const unsigned value = far ? result : input;

#pragma unroll
  for (int c = 0; c < 3; c++) {
    const Plane &plane = launch.plane[index + c * n_primary];

    store_sample (plane, plane.out + y * plane.out_pitch, x, value >> (16 - 8 * c) & 255);
  }
}

#endif

} // namespace cf

#endif
