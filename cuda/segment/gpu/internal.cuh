/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment/gpu/internal.cuh: what the CUDA files of the segmentation share: a frame's work as
 * it travels with its launches, in this order:
 *   cells.cu   cells, seeds, components inside tiles
 *   graph.cu   one launch whose blocks wait for each other: components,
 *                      growth, weak borders, merging, numbers
 *   pixels.cu  labels of pixels and their sums, by paint.cuh the table and the picture
 * The steps are those of segment/segment.h. */
#ifndef CF_SEGMENT_GPU_INTERNAL_CUH
#define CF_SEGMENT_GPU_INTERNAL_CUH

#include "core/gpu/launch.cuh"
#include "segment/segment.h"

#include <initializer_list>

namespace cf {

constexpr int sg_tile = 32;      /* cells a side, of the tiles whose borders are counted */
constexpr int sg_tile_rows = 32; /* of the tiles whose components are found */
constexpr unsigned sg_none = 0xffffffffu;
constexpr unsigned long long sg_never = ~0ull;

/* A region's sums, at its root: x = flags | cells << 32 | sum of Y, y = sum of Cb << 32 |
 * sum of Cr. What is added never carries into what stands above: a picture has
 * at most sg_max_cells cells. */
struct alignas (16) SgRecord {
  unsigned long long x, y;
};
constexpr unsigned long long sg_seeded = 1ull << 63, sg_old = 1ull << 62, sg_flags = sg_seeded | sg_old;
constexpr long long sg_max_cells = 1ll << 24;

/* Counters and lists' lengths; all 0 between two frames. */
struct SgControl {
  unsigned arrived;  /* at the barrier */
  unsigned free;     /* cells that are in no component */
  unsigned freed, locals, slots;      /* lengths of lists */
  unsigned roots[3], edges[3];        /* in turns */
  unsigned picks[3];
  unsigned regions, turn; /* what the merging came to */
  unsigned roughest, histogram[256]; /* of step 3's similarity */
  int threshold;
};

/* What a frame leaves to the next. */
struct SgState {
  unsigned *p;          /* of each cell: Y | Cb << 8 | Cr << 16 */
  uint16_t *label;      /* of each cell: index */
  unsigned *mean, *id, *birth; /* of each region */
  unsigned *scalars;    /* how many regions; the next free id */
};

/* A component of the picture, in and out. */
struct SgComponent {
  const uint8_t *in;
  uint8_t *out;
  long long in_pitch, out_pitch;
  int width, height, step; /* step in bytes */
  uint8_t w_sub, h_sub;
  bool filtered;
  bool wide; /* bytes in a row, and words of four are aligned */
};

/* How samples of 8 bits lie where whole words of them may be read. */
enum SgLayout { SG_ANY, SG_GRAY, SG_PLANAR_420, SG_SEMI_420, SG_PACKED };

struct SgWork {
  /* the picture */
  SgLayout layout;      /* SG_ANY: by samples */
  const uint8_t *words; /* of SG_PACKED: four bytes a pixel */
  SgLayout quick;       /* how the picture is painted: SG_ANY: by samples; else `paint` has a word a region */
  uint8_t *out_words;   /* of SG_PACKED the pixels, of SG_SEMI_420 the chroma */
  unsigned kept;        /* of SG_PACKED: the bits that are not painted */
  uint8_t place[3];     /* by how many bits a sample is shifted in such a word */
  int width, height, n_components, n_colors; /* n_colors: 1 or 3 of the components count */
  int bytes, bits, shift;
  bool rgb;
  SgComponent component[4];
  /* parameters: CfSegmentSetup */
  int size, columns, rows, n; /* cells */
  unsigned seed, keep[3], merge[2], weak[2], fraction, min_cells, max_regions;
  bool follow, similarity, reports, label_meta;
  int output;
  unsigned color, frame;
  int n_clicks;
  const int *clicks;    /* cells, in device memory */
  /* memory, of as many entries as cells where nothing else is said */
  SgState before, after;
  SgControl *control;
  unsigned *parent, *kind, *rough, *count; /* kind: 0 free, 1 seed, 2 + index; count: perimeter, then index */
  unsigned *joined, *smallest; /* of the components: list.cuh's mixed parents; a root's smallest cell */
  unsigned *mean;       /* of the components' roots, before they grow */
  SgRecord *record;
  unsigned long long *claim, *best[2], *largest; /* largest: of 65536 old regions */
  unsigned *freed_list, *local_list, *root_list[2];
  unsigned long long *key, *edge[2]; /* key: a hash table of slots; edge: 2 a cell */
  unsigned *weak_count, *slot_list;
  unsigned slots;       /* a power of two */
  /* how pixels are counted, for studies: whether a block adds up its own first, and its warps */
  bool collect;
  int warps;
  /* pixels */
  uint16_t *map;        /* width x height: index */
  CfSegmentRegion *found, *told; /* told: in host memory */
  unsigned *told_n;
  unsigned *paint;      /* [index][component] of the first three, or a word of them: `quick` */
};
static_assert (sizeof (SgWork) < 4000, "travels with a launch");

CfCode segment_launch_cells (const SgWork &work, cudaStream_t stream, CfStatus *status);
CfCode segment_launch_graph (const SgWork &work, int blocks, unsigned size, cudaStream_t stream, CfStatus *status);
CfCode segment_launch_pixels (const SgWork &work, cudaStream_t stream, CfStatus *status);
/* Loads kernels, so that no frame waits for it. */
CfCode segment_load (std::initializer_list<const void *> kernels, CfStatus *status);
/* Load the kernels; once a plan. `size`: of the graph's shared memory. */
CfCode segment_init_cells (CfStatus *status);
CfCode segment_init_graph (unsigned *size, CfStatus *status);
CfCode segment_init_pixels (CfStatus *status);

#ifdef __CUDACC__

/* rel of the contract. */
__device__ __forceinline__ unsigned
sg_square (unsigned p)
{
  return __dp4a (p, p, 0u);
}

__device__ __forceinline__ unsigned
sg_distance (unsigned p, unsigned q)
{
  return sg_square (__vabsdiffu4 (p, q));
}

__device__ __forceinline__ bool
sg_near (unsigned p, unsigned q, unsigned n)
{
  return 131072ull * sg_distance (p, q) < (unsigned long long) n * (sg_square (p) + sg_square (q));
}

/* (sum + n / 2) / n for a quotient below 256: the float's error is far below 1. */
__device__ __forceinline__ unsigned
sg_divide (unsigned sum, unsigned n)
{
  const unsigned s = sum + n / 2;
  unsigned q = (unsigned) __fdividef ((float) s, (float) n);

  q = min (q, 255u);
  if (q * n > s)
    q--;
  else if (s - q * n >= n)
    q++;
  return q;
}

__device__ __forceinline__ unsigned
sg_cells (const SgRecord &r)
{
  return (unsigned) (r.x >> 32) & 0x3fffffffu;
}

__device__ __forceinline__ unsigned
sg_mean (const SgRecord &r)
{
  const unsigned n = sg_cells (r);

  return sg_divide ((unsigned) r.x, n) | sg_divide ((unsigned) (r.y >> 32), n) << 8
      | sg_divide ((unsigned) r.y, n) << 16;
}

__device__ __forceinline__ unsigned
sg_sample (const SgWork &work, const SgComponent &c, int x, int y)
{
  const uint8_t *p = c.in + (y >> c.h_sub) * c.in_pitch + (long long) (x >> c.w_sub) * c.step;
  const unsigned word = work.bytes == 1 ? *p : *(const uint16_t *) p;

  return min (word >> work.shift, (1u << work.bits) - 1);
}

/* Three samples of `bits` bits to 8-bit YCbCr. */
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
