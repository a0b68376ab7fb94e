/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/internal.cuh: declarations that the CUDA files of the segmentation share. SgWork describes the work of
 * one frame. It is the argument of every kernel. The launches of a frame are, in this order:
 *   cells.cu   colours of cells, seeds, components inside tiles
 *   graph.cu   one cooperative launch: components of the frame, growth, weak borders, merging, numbers
 *   moves.cu   the borders move
 *   pixels.cu  labels of pixels and their sums; then the colour table and the output image (paint.cuh)
 * The steps are those of segment/segment.h. */
#ifndef CF_SEGMENT_GPU_INTERNAL_CUH
#define CF_SEGMENT_GPU_INTERNAL_CUH

#include "core/gpu/late.cuh"
#include "core/gpu/launch.cuh"
#include "segment/segment.h"

namespace cf {

constexpr int sg_tile = 32;      /* side in cells of the tiles in which borders are counted */
constexpr int sg_tile_rows = 32; /* rows of the tiles in which components are found */
constexpr unsigned sg_kept = 512; /* the least kind of kept cells; seeds have less */
constexpr unsigned sg_none = 0xffffffffu;
constexpr unsigned long long sg_none_64 = ~0ull;

/* The sums of a region, stored at its root: x = flags | cells << 32 | sum of Y, y = sum of Cb << 32 | sum of Cr. An
 * addition never carries into the next field, because a frame has at most sg_max_cells cells. */
struct alignas (16) SgRecord {
  unsigned long long x, y;
};
constexpr unsigned long long sg_seeded = 1ull << 63, sg_old = 1ull << 62, sg_flags = sg_seeded | sg_old;
constexpr long long sg_max_cells = 1ll << 24;
/* The bit of a marked region (step 6) in its number of cells, which makes it larger than any other. A region that is
 * marked joins none, so that this bit stays at its root. */
constexpr unsigned sg_marked = 1u << 29;

/* Counters and lengths of lists. All of them are 0 between two frames. */
struct SgControl {
  unsigned long long arrived; /* arrivals of blocks at the grid barrier, and << 32 the sum of what they have passed */
  unsigned free;     /* cells that belong to no component */
  unsigned seeded;   /* regions with a seed */
  unsigned listed, left; /* of cell_list: when components are settled, and after a first round of growth by chunks */
  unsigned locals, joins, slots;      /* lengths of lists */
  unsigned roots[3], picks[3];        /* used in rotation: one is read, one filled, one cleared */
  unsigned gathered; /* edges for the single block */
  unsigned regions, parity; /* result of the merging: the number of regions, and which root_list holds them */
  unsigned roughest, histogram[256]; /* of the similarity in step 3 */
  int threshold;
};

/* What a frame leaves to the next one. */
struct SgState {
  unsigned *p;          /* per cell: Y | Cb << 8 | Cr << 16 */
  uint16_t *label;      /* per cell: index of its region, after the borders have moved */
  unsigned *mean, *cells, *id, *birth; /* per region */
  unsigned *scalars;    /* [0] number of regions, [1] next free id */
};

/* One component of the frame, in the input and the output image. */
struct SgComponent {
  const uint8_t *in;
  uint8_t *out;
  long long in_pitch, out_pitch;
  int width, height, step; /* step in bytes */
  uint8_t w_sub, h_sub;
  bool filtered;
  bool wide; /* samples are consecutive bytes, and aligned 32-bit words may be accessed */
};

/* Arrangements of 8-bit samples that may be accessed as whole words. SG_ANY: sample by sample. */
enum SgLayout { SG_ANY, SG_GRAY, SG_PLANAR_420, SG_SEMI_420, SG_PACKED };

struct SgWork {
  /* the frame */
  SgLayout layout;      /* how samples are read */
  const uint8_t *words; /* SG_PACKED: the first word of the image, four bytes a pixel */
  SgLayout out_layout;  /* how pixels are written. SG_ANY: sample by sample; else `paint` has one word per region */
  uint8_t *out_words;   /* SG_PACKED: the pixels; SG_SEMI_420: the chroma */
  unsigned preserved;   /* SG_PACKED: the bits of a word that are copied from the input */
  uint8_t bit_shift[3]; /* position of each sample in a word of `paint` */
  int width, height, n_components, n_colors; /* n_colors: the components that count, 1 or 3 */
  int bytes, bits, shift;
  bool rgb;
  SgComponent component[4];
  /* parameters, from CfSegmentSetup */
  int size, columns, rows, n; /* number of cells */
  unsigned seed, keep[3], merge[CF_SEGMENT_SIZES], weak[2], fraction, min_cells, max_regions;
  bool recurrent, divides, similarity, reports, label_meta; /* divides: regions with two or more new seeds (step 2) */
  int output, rises;
  unsigned color, frame;
  int n_clicks;
  const int *clicks;    /* cells that the `seeds` parameter names, in device memory */
  /* Device memory. An array has one entry per cell where nothing else is said. Where two names are given for the same
   * array, the first use ends before the second begins. */
  SgState before, after;
  SgControl *control;
  unsigned *parent, *kind; /* kind: 0 free, sg_seed_kind () of a seed, or sg_kept + index in the last frame */
  unsigned *local;    /* number of the cell's component in its tile, an index into local_list; sg_none: no component */
  unsigned *smallest; /* of components, where their numbers are too many for the shared memory: the smallest cell */
  unsigned *rough; /* of the similarity; later `smallest` */
  unsigned *mean;  /* of a component before growth, at its root */
  unsigned *rank;  /* of a region, at its root; was `mean` */
  SgRecord *record;
  /* claim: cells << 32 | ~index of the old region that a root continues. best: each root's pick */
  unsigned long long *claim, *best[2];
  /* Of the pieces that may continue an old region, 65536 entries: the sums, and ~ the smallest root. 0 between frames
   * */
  SgRecord *pieces;
  unsigned *first_piece;
  unsigned *root_list[2]; /* one behind the other */
  unsigned *local_list; /* of the components in tiles the first cells */
  /* Of growth: cells without a seed, and regions without one. They are root_list, in the order in which no phase writes
   * what another block may still read: the first one was local_list, and fragments of old regions are read from
   * cell_list while root_list[1] may be written already. */
  unsigned *cell_list, *region_list;
  unsigned long long *edge; /* two roots; 2 entries per cell */
  unsigned *raw;            /* the own colours of cells */
  uint16_t *unmoved;        /* indices before the borders move; in the memory of `edge`, when none is read any more */
  unsigned long long *pair; /* of growth, 4 entries per cell: where kind, local, smallest, mean and edge are */
  unsigned *seen;       /* hash table of `seen_slots` entries, a power of two */
  unsigned seen_slots;
  /* Only where weak borders are looked for. key, weak_count: hash table of `slots` entries, a power of two; slot_list:
   * of each edge its slot */
  unsigned long long *key;
  unsigned *weak_count, *slot_list, *perimeter, slots;
  bool weak_borders;
  /* Test overrides: whether a block of the pixel kernel adds up its own pixels first, and how many warps it has; late
   * blocks of the graph kernel. */
  bool block_sums;
  int warps;
  Late late;
  /* pixels */
  uint16_t *map;        /* width x height indices */
  CfSegmentRegion *found, *reported; /* reported, reported_n: in pinned host memory */
  unsigned *reported_n;
  unsigned *paint;      /* [index][component] for three components; one word per index if out_layout is not SG_ANY.
                         * Before, SgGathered.region */
};
static_assert (sizeof (SgWork) < 4000, "must fit the parameters of a kernel");

inline constexpr const char *sg_loading = "loading the segmentation's kernels";

CfCode sg_launch_cells (const SgWork &work, cudaStream_t stream, CfStatus *status);
CfCode sg_launch_graph (const SgWork &work, int blocks, unsigned size, cudaStream_t stream, CfStatus *status);
CfCode sg_launch_moves (const SgWork &work, cudaStream_t stream, CfStatus *status);
CfCode sg_launch_pixels (const SgWork &work, cudaStream_t stream, CfStatus *status);
/* Load the kernels of one file. A plan calls them once. sg_init_graph sets `*size` to the bytes of dynamic shared
 * memory of a block of the graph kernel. */
CfCode sg_init_cells (CfStatus *status);
CfCode sg_init_graph (unsigned *size, CfStatus *status);
CfCode sg_init_moves (CfStatus *status);
CfCode sg_init_pixels (CfStatus *status);

#ifdef __CUDACC__

/* Returns the squared length of a colour; the next two are the distance and the relation `rel` of the contract. */
__device__ __forceinline__ unsigned
sg_square (unsigned p)
{
  return __dp4a (p, p, 0u);
}

__device__ __forceinline__ unsigned
sg_distance (unsigned p, unsigned q)
{
  const unsigned difference = __vabsdiffu4 (p, q);

  return sg_square (difference) + 3 * sg_square (difference & 0xffff00u);
}

__device__ __forceinline__ bool
sg_near (unsigned p, unsigned q, unsigned n)
{
  return 131072ull * sg_distance (p, q) < (unsigned long long) n * (sg_square (p) + sg_square (q));
}

/* Returns the kind of a seed of this colour: its class (step 4), 1 to 125, and 128 and 256 in every other column and
 * row of blocks, so that the kinds of seeds in neighbouring blocks differ. */
__device__ __forceinline__ unsigned
sg_seed_kind (unsigned p, int column, int row)
{
  const unsigned y = p & 255, light = y < 64 ? y >> 5 : (y >> 6) + 1;

  return 1 + light + 5 * (((p >> 8 & 255) + 32) >> 6) + 25 * (((p >> 16 & 255) + 32) >> 6)
      + (column & CF_SEGMENT_BLOCK ? 128 : 0) + (row & CF_SEGMENT_BLOCK ? 256 : 0);
}

/* Returns the cost of joining two regions of step 5; `cells` is the size of the smaller one. It has 19 bits, as a frame
 * has at most sg_max_cells cells. */
__device__ __forceinline__ unsigned
sg_cost (unsigned distance, unsigned cells)
{
  const unsigned long long c = (unsigned long long) distance * distance * min (cells, CF_SEGMENT_COST_CELLS);
  const int e = max (50 - __clzll ((long long) c), 0);

  return ((unsigned) e << 13) + (unsigned) (c >> e);
}

/* Returns (sum + n / 2) / n; `one` is about 1 / n. The quotient must be below 256, so the error of the float product is
 * far below 1. */
__device__ __forceinline__ unsigned
sg_divide (unsigned sum, unsigned n, float one)
{
  const unsigned s = sum + n / 2, q = min ((unsigned) ((float) s * one), 255u);
  const int rest = (int) (s - q * n);

  return q - (rest < 0) + (rest >= (int) n);
}

/* Returns the colour of n cells with these sums. */
__device__ __forceinline__ unsigned
sg_mean_of_sums (unsigned n, unsigned luma, unsigned cb, unsigned cr)
{
  const float one = __fdividef (1, (float) n);

  return sg_divide (luma, n, one) | sg_divide (cb, n, one) << 8 | sg_divide (cr, n, one) << 16;
}

/* Returns the cells of a region, with sg_marked where it is marked. */
__device__ __forceinline__ unsigned
sg_weight (const SgRecord &r)
{
  return (unsigned) (r.x >> 32) & (2 * sg_marked - 1);
}

__device__ __forceinline__ unsigned
sg_cells (const SgRecord &r)
{
  return sg_weight (r) & ~sg_marked;
}

__device__ __forceinline__ unsigned
sg_mean (const SgRecord &r)
{
  return sg_mean_of_sums (sg_cells (r), (unsigned) r.x, (unsigned) (r.y >> 32), (unsigned) r.y);
}

__device__ __forceinline__ unsigned
sg_sample (const SgWork &work, const SgComponent &c, int x, int y)
{
  const uint8_t *p = c.in + (y >> c.h_sub) * c.in_pitch + (long long) (x >> c.w_sub) * c.step;
  const unsigned word = work.bytes == 1 ? *p : *(const uint16_t *) p;

  return min (word >> work.shift, (1u << work.bits) - 1);
}

/* Returns the 8-bit YCbCr colour of three samples of work.bits bits. */
__device__ __forceinline__ unsigned
sg_color (const SgWork &work, unsigned a, unsigned b, unsigned c)
{
  const int drop = work.bits - 8;
  const int r = (int) (a >> drop), g = (int) (b >> drop), l = (int) (c >> drop);

  if (work.n_colors == 1)
    return (unsigned) r | 0x808000u;
  if (!work.rgb)
    return (unsigned) (r | g << 8 | l << 16);
  return (unsigned) ((19595 * r + 38470 * g + 7471 * l + 32768) >> 16
      | (-11059 * r - 21709 * g + 32768 * l + 8421375) >> 16 << 8
      | (32768 * r - 27439 * g - 5329 * l + 8421375) >> 16 << 16);
}

#endif

} // namespace cf

#endif
