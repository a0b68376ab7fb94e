/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * median/networks.h: selection networks for the rank filter, made by a program.
 *
 * A network computes one rank of the window of every output of a tile of
 * tile_w x tile_h outputs, from the (tile_w + w - 1) x (tile_h + h - 1) x depth
 * samples that their windows cover, with nothing but minimum and maximum: no
 * branch, no index that depends on data, so it runs on any number of lanes.
 *
 * Hierarchical tiling (Sugy 2025): what all windows of a tile share is sorted
 * once, and only the part of it that can still hold the wanted rank is kept;
 * then the tile is halved, and each half adds what its own windows share
 * besides, until a tile is one output. Lists are merged with Batcher's odd-even
 * merge, and every operation whose result nobody reads is dropped.
 *
 * Thread-safety: a network is not changed once made; functions have no state. */
#ifndef CF_MEDIAN_NETWORKS_H
#define CF_MEDIAN_NETWORKS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  CF_NET_LOAD,  /* slot d = input sample number a */
  CF_NET_SORT,  /* slot d = min, slot e = max of slots a and b */
  CF_NET_MIN,   /* slot d = min of slots a and b */
  CF_NET_MAX,   /* slot d = max of slots a and b */
  CF_NET_STORE, /* output number d = slot a */
} CfNetOp;

/* d or e may be the same slot as a or b: read both before writing. */
typedef struct {
  uint16_t op; /* CfNetOp */
  uint16_t d, e, a, b;
} CfNetStep;

typedef struct {
  int w, h, depth, rank;  /* the window, and the rank counted from 0 */
  int tile_w, tile_h;     /* outputs a tile */
  int n_slots;            /* slots that the steps use: 0..n_slots - 1 */
  int n_steps;
  int n_ops;              /* minima and maxima: SORT counts 2 */
  CfNetStep *steps;
} CfNetwork;

/* Input sample number of footprint position (x, y) of frame s, and back:
 *   ((s * (tile_h + h - 1)) + y) * (tile_w + w - 1) + x
 * Output (x, y) of the tile is number y * tile_w + x; its window begins at
 * footprint position (x, y). */

/* w, h odd 1.., depth 1.., 0 <= rank < w h depth, tile sides 1..16. NULL if
 * memory is out. */
CfNetwork *cf_network_new (int w, int h, int depth, int rank, int tile_w, int tile_h);
void cf_network_free (CfNetwork *network);

#ifdef __cplusplus
}
#endif
#endif
