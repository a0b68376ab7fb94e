/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/segment.h: segmentation by seeded region growing: the contract.
 *
 * The method is that of J. Barriuso (2011), who follows Shih & Cheng (2005) and Adams & Bischof (1994): seeds are
 * found in smooth areas, the rest of the frame joins the seeded regions whose mean is nearest, and similar regions are
 * merged. Here the method works on the whole frame, in Boruvka rounds whose result does not depend on any order, and
 * keeps regions from frame to frame. Samples, colours and sums are integers, and the labels are the same on every
 * backend. This contract defines them to the last sample.
 *
 * 0. Notation. |p|^2 is the squared length of a colour (Y, Cb, Cr), d (p, q) the squared distance of two colours,
 *    in which differences of chroma count twice: dY^2 + 4 (dCb^2 + dCr^2). rel (p, q, t) means that the relative
 *    distance of two colours is below t:
 *        131072 d (p, q) < N (|p|^2 + |q|^2),  N = floor (65536 t^2 + 1/2)
 *    with t in 0..1. rel is symmetric; it is never true for t = 0. A frame is segmented as a whole, an interlaced frame
 *    too.
 *
 * 1. Cells. The frame is divided into cells of s x s pixels, beginning at its upper left
 *    corner; cells at the right and lower edge may be cut off.
 *        s = cell-size, or where that is 0: max (1, (min (width, height) + 239) div 480)
 *    so that the shorter side is about 480 cells: a threshold then means the same at any
 *    resolution, and noise is averaged. The colour of a cell: each component is
 *    (sum + n div 2) div n over the cell's n pixels (the chroma of a pixel is the sample that
 *    covers the pixel), then >> (bits - 8). RGB becomes full range BT.601:
 *        Y  = (19595 R + 38470 G + 7471 B + 32768) >> 16
 *        Cb = (-11059 R - 21709 G + 32768 B + 8421375) >> 16
 *        Cr = (32768 R - 27439 G - 5329 B + 8421375) >> 16
 *    and gray has Cb = Cr = 128. Cells are numbered row by row; c stands for the number of a cell, and q(c) for this
 *    own colour of it. Noise is smoothed: the colour p(c), which the steps use where they do not name q, is of each
 *    component (sum w q + 8) div 16 over the 3 x 3 cells around c, where w is 4 for c, 2 for the cells beside, above
 *    and below, and 1 at the corners; a cell outside the frame is replaced by the nearest one inside.
 *
 * 2. Kept cells (only where temporal = t > 0 and the previous frame was segmented into the same cells). Let m be the
 *    mean of the region to which c belonged in the previous frame, and p' the colour of c in that frame. c is kept if
 *    rel (p(c), m, t), or if c has hardly changed: rel (p(c), p', t / 3) and rel (p(c), m, min (1, 3 t)). Without the
 *    second rule, cells that joined a region only by growth would leave it in every frame. No cell of a region is kept
 *    that holds two or more cells of `seeds` where these are not the same cells as for the previous frame: so a region
 *    is divided in which a user points at two things.
 *
 * 3. Seeds. A cell c that is not kept is a seed if rel (p(c), p(d), T) for each of its up to 8
 *    neighbours d; T = seed-threshold, or where that is 0:
 *        T = 0.05 min (2, 480 / l),  l = ceil (min (width, height) / s)
 *    With seed-similarity, c must also be similar to its surroundings. Let
 *    r(c) = sum over Y, Cb, Cr of isqrt (9 sum x^2 - (sum x)^2) over the own colours of the 3 x 3 cells around c
 *    (a cell outside the frame is replaced by the nearest one inside), and R the largest r. Then
 *    h = 255 - 255 r div R (255 where R = 0) must exceed Otsu's threshold: the smallest t in
 *    0..254 with cells on both sides that maximises, in double precision,
 *        (S0 N1 - S1 N0)^2 / (N0 N1)
 *    where N0 and S0 are the count and the sum of all h <= t of all cells, N1 and S1 those of
 *    all other h. Where there is no such t, every cell passes.
 *    The cells of the pixels listed in `seeds` are seeds in any case, where they are not kept; pixels outside the frame
    are ignored.
 *
 * 4. Components. Seeds that touch (4 neighbours) form one region if they lie in the same block of 16 x 16 cells
 *    (blocks begin at the frame's upper left corner) and their colours are of one class: equal (Cb + 32) div 64, (Cr +
 *    32) div 64 and L, with L = Y div 32 where Y < 64, else Y div 64 + 1. Without blocks and classes a chain of seeds
 *    would run along any gradient and through any gap of a soft border, from a thing into its background; what they
 *    cut is merged again by step 8. So do kept cells that touch (4 neighbours) and belonged to the same region. The
 *    root of a region is its smallest cell number. Of the components into which an old region (one of the previous
 *    frame, of o cells there) falls, those of M cells or more, or of at least o / 16, continue it if they have at
 *    least o / 4 cells together: as one region, even if they do not touch. Of the others, one of M cells or more
 *    becomes a new region, and the cells of a smaller one are free again. M = ceil (min-size / s^2), at least 1;
 *    min-size 0 stands for max (1, width height div 10000). Every cell that is in no component is a region of its own,
 *    without a seed. A region has n cells, the sums of their colours, and a mean: of each component (sum + n div 2)
 *    div n.
 *
 * 5. A round: each region may pick one other region that it touches (4 neighbours of its
 *    cells). With m and m' the means of two regions, n and n' their cells, the pick is the region with the least
 *    d (m, m') in growth, and with the least cost in merging; of equals the one with the smallest root. The cost of
 *    joining two regions is C = d (m, m')^2 min (n, n', 2^24), of which the 14 leading binary digits count: with e the
 *    number of the others, at least 0, the cost is 8192 e + C div 2^e. Then all regions that are connected
 *    by picks are joined into one; its root is that of the region that picks none, or the smaller root of the two
 *    regions that pick each other (there are no other cycles). Means and cells are those of before the round. A joined
 *    region continues each old region that one of its parts continues.
 *
 * 6. Growth: rounds in which every region without a seed picks, among all that it touches, until no region without a
 *    seed is left, or only one region. A region has a seed if it holds a seed cell or a kept component. Regions that
 *    then hold a cell of `seeds` are MARKED. A marked region picks none in steps 8 and 9: so no round joins two of
 *    them, and each thing at which a user has pointed stays a region of its own.
 *
 * 7. Weak borders, once. For two regions that touch, w counts the pairs of touching cells
 *    (4 neighbours), one cell in each region, whose colours p and q have
 *    rel (p, q, weak-difference), and S is the smaller of the two perimeters (the perimeter of
 *    a region: its pairs of touching cells with any other region). If
 *    65536 w > floor (65536 weak-fraction + 1/2) S, the two are joined, unless one of them is marked. All such pairs
 *    are joined at once, whatever else they are joined to; the root of the result is the smallest. Where both regions
 *    continue old regions, weak-difference is multiplied by 0.6. By default weak-fraction is 1, and nothing is joined.
 *
 * 8. Merging by mean: rounds in which each region picks among the larger ones that it touches (those of more cells,
 *    or of as many and with a smaller root; a marked one counts as larger than any that is not) and for which
 *    rel (m, m', T(k)), until no region picks. In round r = 0, 1, .. R - 1, N of T(k) is >> (R - r), and the rounds go
 *    on even if no region picks: so the most alike merge first, and what merges depends little on noise. R is 5, or 7
 *    where `seeds` lists pixels of the frame: else two things that differ little, with a soft border between them,
 *    would become one before what belongs to a marked region has joined it. Two regions that both continue old regions
 *    do not pick each other: what was separate stays separate. The more cells the smaller of the two has, the more
 *    alike they must be, as in the method of Felzenszwalb & Huttenlocher (2004): with 2^k <= min (n, n') < 2^(k + 1)
 *    and z cells in the frame, N of T(k) is
 *        floor (65536 min (1, t^2 sqrt (z / (1000 2^k))) + 1/2),  t = merge-threshold
 *    so that T is t for a thousandth of the frame, and 0.42 t for 32 times as many cells. As the smaller one picks, two
 *    large regions never join because both are near to a small one between them, unless that one is marked.
 *
 * 9. Merging by size: rounds in which each region of fewer than M cells picks, among all that it touches, until none
 *    picks. Then, with L = 81920: while there are more than max-regions, and more than cells of
 *    `seeds`, rounds in which each region picks among the larger ones (step 8) that it touches and for which the cost
 *    is below L, until no region picks; then L grows by 2048. So small regions of another colour stay longer than large
 *    ones of nearly the same.
 *
 * 10. Ids. The regions are listed in the order of their roots; the position in this list is the index of a region. A
 *    region that continues old regions takes the id and the age of the one whose components (step 4) had the most cells
 *    (of equals the one with the smaller index in the previous frame), and its age is increased by one. All other
 *    regions get the next free ids in list order, and age 0. Ids begin with 1 in the first frame, after a reset, where
 *    s has changed, and in each frame where temporal is 0; the state that such a frame leaves may be used by the next
 *    frame. Ids are counted modulo 2^32, and their lower 31 bits are reported, so that an int holds them: a street with
 *    3 new regions a frame uses them up in 9 months. Then they begin again with 0, whatever regions there still are.
 *
 *    Then the borders move, 4 times. Each cell c may take its own region, or the region of its neighbour above, left,
 *    right or below. It takes the one whose mean (step 9) is nearest to q(c), of equals the earlier in this order.
 *    So what smoothing mixes along a border goes to either side. A cell stays where its region has the id of the region
 *    to which it belonged in the previous frame (only where step 2 applies). All cells move at once. The
 *    number of cells and the mean of a region do not change any more.
 *
 * 11. Labels of pixels. Take a pixel of cell c, in column i and row j of c (0 .. s - 1). Its horizontal neighbour cell
 *    is the one left of c where 2 i + 1 < s and right of c where 2 i + 1 > s; its vertical neighbour cell is the one
 *    above c where 2 j + 1 < s and below c where 2 j + 1 > s. Of the region of c, that of the horizontal and that of
 *    the vertical neighbour, the pixel takes the one whose mean (step 9) is nearest to the pixel's own colour (its
 *    samples >> (bits - 8), as in step 1), of equals the earlier in this order. A neighbour cell outside the frame is
 *    left out. So borders are as fine as the pixels. A region may lose its last pixel in this step; it is still
 *    listed. Area, bounding box, centroid and reported mean of a region are those of its pixels.
 *
 * 12. Painting. A sample of a subsampled component belongs to the pixel at (x << w_sub,
 *    y << h_sub).
 *    mean: (2 S + n) div (2 n) of the n samples of this component in the pixel's region, S their sum.
 *    boundaries: boundary-color, as CfColors in cf.h defines it, where the pixel's region differs from that of the
 *    right or of the lower neighbour pixel, else the sample.
 *    labels: a colour made of the id,
 *        h = id 2654435769 mod 2^32; R, G, B = 64 + 3 b div 4, b = h >> 24, h >> 16 & 255, h >> 8 & 255
 *    passthrough: the sample.
 *    The colours of labels become YCbCr as in step 1. All are << (bits - 8). Components that apply-to excludes, and
 *    alpha, are copied; all components except alpha count for the labels.
 *
 * | parameter | unit, range | takes effect |
 * | output | mean, boundaries, labels, passthrough (mean) | next frame |
 * | seed-threshold | 0..1 (1) | next frame |
 * | seed-similarity | false, true (false) | next frame |
 * | seeds | text: "x,y; x,y", pixels, in the grammar of lists in cf.h | next frame |
 * | merge-threshold | 0..1 (0.12) | next frame |
 * | weak-difference | 0..1 (0.03) | next frame |
 * | weak-fraction | 0..1 (1) | next frame |
 * | min-size | pixels, 0..268435456 (0) | next frame |
 * | max-regions | regions, 1..65535 (65535) | next frame |
 * | temporal | 0..1 (0.15) | next frame |
 * | cell-size | pixels, 0..16 (0) | next frame; the state is dropped where the size changes |
 * | region-meta, label-meta | false, true (false) | next frame |
 * | message-interval | ms, 0..3600000 (0) | next frame |
 * | events | false, true (false) | next frame; zones and min-age are for these messages |
 * | zones | text: "name: x,y x,y x,y; ...", fractions of the frame | next frame |
 * | min-age | frames, 0..10000 (5) | next frame |
 * | boundary-color | 0xAARRGGBB (0xffffffff) | next frame |
 *
 * State. A frame leaves to the next: the colour and the index of each cell, the mean and the cells (step 9),
 * id and birth frame of each region, the cells of `seeds`, and the next free id. The state is dropped at a reset and
 * where s changes; other parameters may change at any frame. */
#ifndef CF_SEGMENT_SEGMENT_H
#define CF_SEGMENT_SEGMENT_H

#include "core/filter.h"

CF_BEGIN_DECLS

typedef enum { CF_SEGMENT_MEAN, CF_SEGMENT_BOUNDARIES, CF_SEGMENT_LABELS, CF_SEGMENT_PASSTHROUGH } CfSegmentOutput;

typedef struct {
  int output;            /* CfSegmentOutput */
  double seed_threshold; /* 0..1; 0 = derived from the resolution */
  int seed_similarity;
  const char *seeds; /* pixels: "x,y;x,y" */
  double merge_threshold;
  double weak_difference, weak_fraction; /* 0..1; fraction 1 = off */
  int min_size;                          /* pixels; 0 = derived from the resolution */
  int max_regions;                       /* 1..65535 */
  double temporal;                       /* 0..1; 0 = each frame is segmented by itself */
  int cell_size;                         /* pixels, 0..16; 0 = derived from the resolution */
  int region_meta, label_meta;
  int message_interval; /* milliseconds; 0 = no messages */
  int events;           /* bool */
  char *zones;
  int min_age;             /* frames */
  uint32_t boundary_color; /* 0xAARRGGBB */
} CfSegmentParams;

#define CF_SEGMENT_MAX_SEEDS 1024
#define CF_SEGMENT_BLOCK 16              /* cells, of a block's side in step 4; a power of two */
#define CF_SEGMENT_MOVES 4               /* of the borders in step 10 */
#define CF_SEGMENT_PIECE 16              /* a piece below M cells has at least one part in so many */
#define CF_SEGMENT_NO_WEAK 65536         /* CfSegmentSetup.fraction, at which step 7 joins nothing */
#define CF_SEGMENT_SIZES 32              /* values of k in step 8 */
#define CF_SEGMENT_RISES 5               /* R of step 8 */
#define CF_SEGMENT_SEEDED_RISES 7        /* the same with seeds */
#define CF_SEGMENT_LIMIT 81920u          /* L of step 9, */
#define CF_SEGMENT_LIMIT_STEP 2048u      /* and by what it grows */
#define CF_SEGMENT_COST_CELLS (1u << 24) /* cells beyond these do not count for a cost */
/* The next L with which regions may pick where no pair costs less than `least`. */
#define CF_SEGMENT_NEXT_LIMIT(limit, least) \
  ((limit) + (((least) > (limit) ? (least) - (limit) : 0) / CF_SEGMENT_LIMIT_STEP + 1) * CF_SEGMENT_LIMIT_STEP)

/* Returns N of rel: the square of a threshold in 0..1, in fixed point with 16 fractional bits. */
static inline uint32_t
cf_segment_fixed (double t)
{
  return (uint32_t) (65536 * t * t + 0.5);
}

/* The parameters resolved for one size and format; the same for both backends. */
typedef struct {
  int size;                         /* s, in pixels */
  int columns, rows;                /* of cells; the last ones may be cut off */
  bool stateless;                   /* temporal is 0 */
  uint32_t seed, keep[3];           /* N of T; of t, t / 3 and min (1, 3 t) */
  uint32_t merge[CF_SEGMENT_SIZES]; /* N by k of step 8 */
  int rises;                        /* R of step 8 */
  uint32_t weak[2];                 /* N; [1]: where both regions continue old regions */
  uint32_t fraction;                /* floor (65536 weak-fraction + 1/2) */
  uint32_t min_cells;               /* M */
  int max_regions;                  /* at least n_seeds */
  bool similarity;
  bool reports; /* cf_plan_regions is asked for: metas or messages are on */
  CfSegmentOutput output;
  uint32_t color; /* boundary-color as Y | Cb << 8 | Cr << 16, or R | G << 8 | B << 16 for RGB formats */
  int n_seeds;
  int seeds[CF_SEGMENT_MAX_SEEDS]; /* cell numbers, each once, ascending */
} CfSegmentSetup;

/* Sums over the pixels of one region, as both backends collect them. */
typedef struct {
  uint64_t sum[3];                   /* of the first three components' samples: the format's colour space and depth */
  uint64_t sum_x, sum_y;             /* of the pixels' coordinates */
  uint32_t n[3];                     /* number of samples of each component; n[0] is the number of pixels */
  uint32_t left, top, right, bottom; /* of the outermost pixels, inclusive; left > right: no pixels */
  uint32_t id, birth;                /* birth: number of the frame in which the region appeared */
} CfSegmentRegion;

/* Fills regions[0 .. n - 1] with what cf_plan_regions reports of the n regions `found` of frame number
 * `frame`; `format` says what the sums are of. Any thread. */
void cf_segment_describe (CfFormat format, const CfSegmentRegion *found, unsigned n, uint32_t frame, CfRegion *regions);

/* Fills `setup` for this video and the colours of `common`. `params` must be ones that cf_filter_check accepts. Returns
 * CF_OK, or CF_BAD_VALUE with a sentence in `status` for text in `seeds` that is no list of points. Any thread. */
CfCode cf_segment_setup (const CfVideo *video, const CfCommon *common, const CfSegmentParams *params,
    CfSegmentSetup *setup, CfStatus *status);

/* Returns whether two setups have the same seeds. Any thread. */
bool cf_segment_same_seeds (const CfSegmentSetup *a, const CfSegmentSetup *b);

extern const CfFilter cf_segment;
extern const CfOps cf_segment_cpu, cf_segment_cuda;

CF_END_DECLS
#endif
