/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment/segment.h: segmentation by seeded region growing: the contract.
 *
 * After J. Barriuso (2011), who follows Shih & Cheng (2005) and Adams & Bischof
 * (1994): seeds are found in smooth places, grow into the regions whose mean is
 * nearest, and regions alike are merged. Here over the whole frame, in rounds
 * (Boruvka's) whose result does not depend on any order, and followed in time.
 * Everything is in integers; the labels are the same on every backend. What is
 * written here defines them to the last sample.
 *
 * 0. Names. rel (p, q, t): two colours are nearer than t, relatively:
 *        131072 |p - q|^2 < N (|p|^2 + |q|^2),  N = floor (65536 t^2 + 1/2)
 *    with the squared length of (Y, Cb, Cr), t in 0..1. It is symmetric; t = 0 is
 *    never true. A frame is segmented as a whole, interlaced ones too.
 *
 * 1. Cells. The picture is cut into cells of s x s pixels from its upper left
 *    corner, those on the right and lower edge may be cut off;
 *        s = cell-size, or where that is 0: max (1, (min (width, height) + 239) div 480)
 *    so that about 480 lines of them are left: a threshold then means the same at
 *    any resolution, and noise is averaged. A cell's colour: each component is
 *    (sum + n div 2) div n over its n pixels (a pixel's chroma is the sample that
 *    covers it), then >> (bits - 8); RGB becomes full range BT.601:
 *        Y  = (19595 R + 38470 G + 7471 B + 32768) >> 16
 *        Cb = (-11059 R - 21709 G + 32768 B + 8421375) >> 16
 *        Cr = (32768 R - 27439 G - 5329 B + 8421375) >> 16
 *    and gray has Cb = Cr = 128. Cells are numbered row by row; c is a cell's
 *    number and p(c) its colour.
 *
 * 2. Kept cells (temporal = t > 0, and the frame before was segmented with the same
 *    cells): with m the mean of the region that c belonged to then, and p' its colour
 *    then, c is kept if rel (p(c), m, t), or if it has hardly changed: rel (p(c), p', t / 3)
 *    and rel (p(c), m, min (1, 3 t)). Without the second rule the cells that only growth
 *    has brought to a region would leave it in every frame.
 *
 * 3. Seeds. Of the cells that are not kept, c is a seed if rel (p(c), p(d), T) for
 *    all of its up to 8 neighbours d; T = seed-threshold, or where that is 0:
 *        T = 0.05 min (1, 480 / l),  l = ceil (min (width, height) / s)
 *    With seed-similarity it must also be alike its surroundings: with
 *    r(c) = sum over Y, Cb, Cr of isqrt (9 sum x^2 - (sum x)^2) over the 3 x 3 cells
 *    about it (those outside are the nearest inside) and R the largest r,
 *    h = 255 - 255 r div R (255 where R = 0) must exceed Otsu's threshold: the
 *    smallest t in 0..254 with cells on both sides that maximises, in double
 *    precision, (S0 N1 - S1 N0)^2 / (N0 N1); N0, S0 count and sum the h <= t of all
 *    cells, N1, S1 the others; every cell passes where there is no such t.
 *    The cells of the pixels named by `seeds` are seeds in any case and not kept;
 *    pixels outside the picture are left out.
 *
 * 4. Components. Seeds that touch (8 neighbours) are one region; so are kept cells
 *    that touch and were of one region. A region's root is its smallest cell
 *    number. Of the components that an old region falls into, the largest (of
 *    equals the one with the smallest root) carries it on; the others stay as new
 *    ones if they have M cells or more, and else their cells are free again.
 *    M = ceil (min-size / s^2), at least 1; min-size 0 stands for
 *    max (1, width height div 10000). Every cell that is in no component is a
 *    region of its own, without a seed.
 *    A region has n cells, the sums of their colours, and a mean: of each
 *    component (sum + n div 2) div n.
 *
 * 5. A round: each region may pick another one that it touches (4 neighbours, of
 *    cells). A pick is the one with the least |m - m'|^2, of equals the one with
 *    the smallest root. Then all regions become one that are joined by picks; its
 *    root is that of the region which picks none, or the smaller one of the two
 *    that pick each other (there are no other circles). Means are those of before
 *    the round. What is joined carries on each of the old ones that it holds.
 *
 * 6. Growth: rounds in which the regions without a seed pick, any that they touch,
 *    until there is none left, or only one region. What holds a seed, or a kept
 *    component, has a seed.
 *
 * 7. Weak borders, once. For two regions that touch, w counts the pairs of touching
 *    cells (4 neighbours) on either side with rel (p, q, weak-difference'), and S is the
 *    smaller perimeter of the two (its pairs of touching cells with any other
 *    region). If 65536 w > floor (65536 weak-fraction + 1/2) S they are joined, all
 *    at once and whatever they are joined to; the root is the smallest.
 *
 * 8. Merging by mean: rounds in which each region picks among those that it touches
 *    and with rel (m, m', merge-threshold'), until none picks.
 *    Where both regions carry old ones on, the thresholds marked with ' are taken
 *    times 0.6: what was apart stays apart.
 *
 * 9. Merging by size: rounds in which each region of less than M cells picks, any
 *    that it touches, until there is none left, or only one region. Then, while
 *    there are more than max-regions, M is doubled, and again.
 *
 * 10. Numbers. The regions are listed by their roots; the place in the list is the
 *    index. A region that carries old ones on takes the id and the age of that one
 *    whose component (step 4) had most cells (of equals the smaller index then);
 *    its age is one more. All others get the next free ids in that order, age 0.
 *    Ids begin with 1 in the first frame, after a reset, where s has changed, and in
 *    each frame where temporal is 0; what such a frame leaves may be followed.
 *
 * 11. Labels of pixels. A pixel of cell c, in column i and row j of it (0 .. s - 1):
 *    the cell left of c where 2 i + 1 < s, right of it where 2 i + 1 > s; above where
 *    2 j + 1 < s, below where 2 j + 1 > s. Of the regions of c, of that one beside and
 *    of that one above or below, the pixel takes the one whose mean (step 9) is nearest
 *    to its own colour (its samples >> (bits - 8), as in step 1), of equals the
 *    earlier in this list. So borders are as fine as the picture. A region may lose
 *    its last pixel so; it is still listed. Its pixels give its area, bounding box, centroid and means.
 *
 * 12. Painting. A sample of a subsampled component belongs to the pixel at (x << w_sub,
 *    y << h_sub).
 *    mean: (2 S + n) div (2 n) of the n samples of this component in its region.
 *    boundaries: boundary-color where the pixel's region is another one than the right
 *    or the lower neighbour's, else the sample. labels: a colour made of the id,
 *        h = id 2654435769 mod 2^32; R, G, B = 64 + 3 b div 4, b = h >> 24, h >> 16 & 255, h >> 8 & 255
 *    passthrough: the sample. Colours become YCbCr as in step 1, << (bits - 8). Components
 *    that apply-to leaves out, and alpha, are copied; all of them count for the labels.
 *
 * State. What a frame leaves to the next: each cell's colour and index, each region's
 * mean (step 9), id and birth, and the next free id. It is forgotten at a reset and
 * where s changes; other parameters may change at any frame. */
#ifndef CF_SEGMENT_SEGMENT_H
#define CF_SEGMENT_SEGMENT_H

#include "core/filter.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { CF_SEGMENT_MEAN, CF_SEGMENT_BOUNDARIES, CF_SEGMENT_LABELS, CF_SEGMENT_PASSTHROUGH } CfSegmentOutput;

typedef struct {
  int output;            /* CfSegmentOutput */
  double seed_threshold; /* 0..1; 0 = by the resolution */
  int seed_similarity;
  const char *seeds;     /* "x,y;x,y" */
  double merge_threshold;
  double weak_difference, weak_fraction; /* 0..1; fraction 1 = off */
  int min_size;          /* pixels; 0 = by the resolution */
  int max_regions;       /* 1..65535 */
  double temporal;       /* 0..1; 0 = each frame afresh */
  int cell_size;         /* 0..16; 0 = by the resolution */
  int region_meta, label_meta;
  int message_interval;  /* ms; 0 = none */
  uint32_t boundary_color; /* 0xAARRGGBB */
} CfSegmentParams;

#define CF_SEGMENT_MAX_SEEDS 1024

/* Thresholds squared in 16-bit fixed point: N of rel. */
static inline uint32_t
cf_segment_fixed (double t)
{
  return (uint32_t) (65536 * t * t + 0.5);
}

/* What the parameters come to for a picture, the same for both backends. */
typedef struct {
  int size;              /* s */
  int columns, rows;     /* of cells */
  bool afresh;           /* temporal is 0 */
  uint32_t seed, keep[3]; /* N of the thresholds; of t, t / 3 and min (1, 3 t) */
  uint32_t merge[2], weak[2]; /* [1]: where both carry old regions on */
  uint32_t fraction;     /* floor (65536 weak-fraction + 1/2) */
  uint32_t min_cells;    /* M */
  int max_regions;
  bool similarity;
  bool reports;          /* somebody wants to know the regions */
  CfSegmentOutput output;
  uint32_t color;        /* boundary-color as Y | Cb << 8 | Cr << 16, or R | G << 8 | B << 16 */
  int n_seeds;
  int seeds[CF_SEGMENT_MAX_SEEDS]; /* cells; those outside the picture are left out */
} CfSegmentSetup;

/* What is counted of a region's pixels, on either backend. */
typedef struct {
  uint64_t sum[3];          /* of the first three components' samples, as painted */
  uint64_t sum_x, sum_y;    /* of the pixels */
  uint32_t n[3];            /* samples of each; n[0] pixels */
  uint32_t left, top, right, bottom; /* the outermost pixels; left > right: none */
  uint32_t id, birth;
} CfSegmentRegion;

/* What cf_plan_regions tells of `n` regions of frame `frame`. */
void cf_segment_describe (CfFormat format, const CfSegmentRegion *found, unsigned n, uint32_t frame, CfRegion *regions);

/* segment.c. `params` as cf_filter_check accepts them. Any thread. */
CfCode cf_segment_setup (const CfVideo *video, const CfSegmentParams *params, CfSegmentSetup *setup, CfStatus *status);

extern const CfFilter cf_segment;
extern const CfOps cf_segment_cpu, cf_segment_cuda;

#ifdef __cplusplus
}
#endif
#endif
