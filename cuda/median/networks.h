/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/networks.h: generates selection networks for the rank filter.
 *
 * A network computes one rank of the window of every output of a tile of tile_w x tile_h outputs, from the
 * (tile_w + w - 1) x (tile_h + h - 1) x depth samples that their windows cover (the tile's footprint). It uses minimum
 * and maximum alone, without branches and without indices that depend on data, so it runs on any number of SIMD lanes.
 *
 * Hierarchical tiling (Sugy 2025): the samples that all windows of a tile share are sorted once, and only the part
 * that can still hold the wanted rank is kept. Then the tile is halved, and each half adds the further samples that
 * its own windows share, until a tile is one output. Lists are merged with Batcher's odd-even merge, and operations
 * without a reader are dropped.
 *
 * Thread-safety: a network is constant once it is generated, and the functions
 * have no state, so any thread may use them. */
#ifndef CF_MEDIAN_NETWORKS_H
#define CF_MEDIAN_NETWORKS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
  CF_MEDIAN_NET_LOAD,  /* slot d = input sample number a */
  CF_MEDIAN_NET_SORT,  /* slot d = min, slot e = max of slots a and b */
  CF_MEDIAN_NET_MIN,   /* slot d = min of slots a and b */
  CF_MEDIAN_NET_MAX,   /* slot d = max of slots a and b */
  CF_MEDIAN_NET_STORE, /* output number d = slot a */
} CfMedianNetOp;

/* Slots d and e may be slots a and b: read both operands before writing. */
typedef struct {
  uint16_t op; /* CfMedianNetOp */
  uint16_t d, e, a, b;
} CfMedianNetStep;

typedef struct {
  int w, h, depth, rank; /* the window, and the rank counted from 0 */
  int tile_w, tile_h;    /* outputs of a tile */
  int n_slots;           /* the steps use slots 0..n_slots - 1 */
  int n_steps;
  int n_ops; /* minima and maxima; a SORT counts 2 */
  CfMedianNetStep *steps;
} CfMedianNetwork;

/* Input sample number of footprint position (x, y) of frame s, and back:
 *   ((s * (tile_h + h - 1)) + y) * (tile_w + w - 1) + x
 * Output (x, y) of the tile is number y * tile_w + x; its window begins at footprint position (x, y). */

/* Returns a new network for w, h odd from 1, depth from 1, 0 <= rank < w h depth
 * and tile sides of 1..16; NULL if out of memory. */
CfMedianNetwork *cf_median_network_new (int w, int h, int depth, int rank, int tile_w, int tile_h);
/* Frees a network; NULL is allowed. */
void cf_median_network_free (CfMedianNetwork *network);

#endif
