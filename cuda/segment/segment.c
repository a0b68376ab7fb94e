/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/segment.c: the segmentation's parameter table and descriptor, and the code that both
 * backends share: the set-up of a plan and the regions as they are reported. segment.h is the
 * contract, segment/cpu/plan.c the CPU plan, segment/gpu/plan.cu the CUDA plan. */
#include "segment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name) offsetof (CfSegmentParams, name)

static const CfEnumValue outputs[] = {
  { CF_SEGMENT_MEAN, "mean", "Each region in its mean colour" },
  { CF_SEGMENT_BOUNDARIES, "boundaries", "The input, with the regions' borders in boundary-color" },
  { CF_SEGMENT_LABELS, "labels", "Each region in a colour derived from its id" },
  { CF_SEGMENT_PASSTHROUGH, "passthrough",
      "The input; for use with region-meta, label-meta, events or message-interval" },
  { 0, NULL, NULL },
};

static const CfParam params[] = {
  { "output", CF_TYPE_ENUM, FIELD (output), 0, 0, CF_SEGMENT_MEAN, outputs, "", "What to paint" },
  { "seed-threshold", CF_TYPE_DOUBLE, FIELD (seed_threshold), 0, 1, 1, NULL, "",
      "Place seeds where the colours of all neighbours differ by less than this fraction of their length; "
      "1: nearly everywhere; 0: 0.05 at 480 lines of cells, more where there are fewer, less where there are more" },
  { "seed-similarity", CF_TYPE_BOOL, FIELD (seed_similarity), 0, 0, 0, NULL, "",
      "Place seeds only where the frame is also smoother than Otsu's threshold" },
  { "seeds", CF_TYPE_STRING, FIELD (seeds), 0, 0, 0, NULL, "",
      "Pixels of different things: \"x,y;x,y\"; regions that hold such pixels are not merged with each other" },
  { "merge-threshold", CF_TYPE_DOUBLE, FIELD (merge_threshold), 0, 1, 0.12, NULL, "",
      "Merge neighbouring regions whose mean colours differ by less than this fraction of their length; it holds for a "
      "thousandth of the frame, and is smaller for larger regions" },
  { "weak-difference", CF_TYPE_DOUBLE, FIELD (weak_difference), 0, 1, 0.03, NULL, "",
      "A border is weak where the colours on its two sides differ by less than this fraction of their length" },
  { "weak-fraction", CF_TYPE_DOUBLE, FIELD (weak_fraction), 0, 1, 1, NULL, "",
      "Merge two regions when more than this fraction of the shorter perimeter is a weak border; 1: never" },
  { "min-size", CF_TYPE_INT, FIELD (min_size), 0, (double) CF_MAX_SIZE *CF_MAX_SIZE, 0, NULL, "pixels",
      "Merge smaller regions into the neighbour with the nearest colour; 0: a ten thousandth of the frame" },
  { "max-regions", CF_TYPE_INT, FIELD (max_regions), 1, 65535, 65535, NULL, "regions",
      "Upper limit; while there are more regions, those merge whose colours differ least, the smaller ones first" },
  { "temporal", CF_TYPE_DOUBLE, FIELD (temporal), 0, 1, 0.15, NULL, "",
      "Keep a pixel in its region while its colour differs by less than this fraction from the region's mean in the "
      "previous frame; 0: segment each frame by itself" },
  { "cell-size", CF_TYPE_INT, FIELD (cell_size), 0, 16, 0, NULL, "pixels",
      "Side of the square cells that regions grow by; 0: derived from the size, for about 480 lines of cells" },
  { "region-meta", CF_TYPE_BOOL, FIELD (region_meta), 0, 0, 0, NULL, "",
      "Attach one GstVideoRegionOfInterestMeta per region" },
  { "label-meta", CF_TYPE_BOOL, FIELD (label_meta), 0, 0, 0, NULL, "", "Attach a meta with the region of each pixel" },
  { "message-interval", CF_TYPE_INT, FIELD (message_interval), 0, 3600000, 0, NULL, "ms",
      "Post a message with the regions on the bus, at most once per interval; 0: never" },
  { "events", CF_TYPE_BOOL, FIELD (events), 0, 0, 0, NULL, "",
      "Post a message when a region appears, leaves, enters a zone or leaves it" },
  { "zones", CF_TYPE_STRING, FIELD (zones), 0, 0, 0, NULL, "",
      "Parts of the frame for events: \"door: 0.1,0.2 0.4,0.2 0.4,0.6; yard: ...\", a name and corners in fractions of "
      "the frame each" },
  { "min-age", CF_TYPE_INT, FIELD (min_age), 0, 10000, 5, NULL, "frames",
      "Post an event only after what it reports has been so for as many frames before" },
  { "boundary-color", CF_TYPE_COLOR, FIELD (boundary_color), 0, 0, 0xffffffff, NULL, "",
      "Colour of the borders, 0xAARRGGBB; alpha is ignored" },
};

/* ---- seeds -------------------------------------------------------------- */

#define BEYOND 1000000 /* of a coordinate */

static CfTextList
seeds_of (const char *text)
{
  return (CfTextList) { .what = "seeds", .example = "320,240", .text = text };
}

/* Reads the current point of the list. */
static CfCode
read_point (CfTextList *list, int *x, int *y, CfStatus *status)
{
  double n[2];
  bool point;

  if (cf_text_tuples (list, 2, n, 1, &point) != 1 || point || !(fabs (n[0]) < BEYOND) || !(fabs (n[1]) < BEYOND))
    return cf_text_refuse (list, "must be two whole numbers x,y, with a ';' between points", status);
  if (list->number > CF_SEGMENT_MAX_SEEDS)
    return cf_fail (status, CF_BAD_VALUE, "seeds has more than %d points", CF_SEGMENT_MAX_SEEDS);
  *x = (int) n[0];
  *y = (int) n[1];
  return CF_OK;
}

static bool
is_inside (const CfVideo *video, int x, int y)
{
  return x >= 0 && y >= 0 && x < video->width && y < video->height;
}

/* Adds the cells of the points to `setup`, whose cell size is set already. With setup = NULL the
 * text is only checked. */
static CfCode
read_seeds (const char *text, const CfVideo *video, CfSegmentSetup *setup, CfStatus *status)
{
  CfTextList list = seeds_of (text);

  while (cf_text_next (&list)) {
    int x = 0, y = 0;
    CfCode code = read_point (&list, &x, &y, status);

    if (code != CF_OK)
      return code;
    if (setup && is_inside (video, x, y))
      setup->seeds[setup->n_seeds++] = y / setup->size * setup->columns + x / setup->size;
  }
  return CF_OK;
}

static int
compare_cells (const void *a, const void *b)
{
  return *(const int *) a - *(const int *) b;
}

/* Sorts the cells of seeds, drops repeated ones, and sets what depends on them. */
static void
use_seeds (CfSegmentSetup *setup)
{
  const int n = setup->n_seeds;

  qsort (setup->seeds, (size_t) n, sizeof setup->seeds[0], compare_cells);
  setup->n_seeds = 0;
  for (int i = 0; i < n; i++)
    if (i == 0 || setup->seeds[i] != setup->seeds[i - 1])
      setup->seeds[setup->n_seeds++] = setup->seeds[i];
  setup->rises = n > 0 ? CF_SEGMENT_SEEDED_RISES : CF_SEGMENT_RISES;
  setup->max_regions = setup->n_seeds > setup->max_regions ? setup->n_seeds : setup->max_regions;
}

bool
cf_segment_same_seeds (const CfSegmentSetup *a, const CfSegmentSetup *b)
{
  return a->n_seeds == b->n_seeds && memcmp (a->seeds, b->seeds, (size_t) a->n_seeds * sizeof a->seeds[0]) == 0;
}

/* ---- set-up ------------------------------------------------------------- */

static int
at_least_one (int v)
{
  return v > 1 ? v : 1;
}

static void
set_cells (const CfVideo *video, const CfSegmentParams *p, CfSegmentSetup *setup)
{
  const int side = video->width < video->height ? video->width : video->height;
  const int pixels = video->width * video->height;
  const int64_t min_size = p->min_size ? p->min_size : at_least_one (pixels / 10000);

  setup->size = p->cell_size ? p->cell_size : at_least_one ((side + 239) / 480);
  setup->columns = (video->width + setup->size - 1) / setup->size;
  setup->rows = (video->height + setup->size - 1) / setup->size;
  setup->min_cells = (uint32_t) ((min_size + setup->size * setup->size - 1) / (setup->size * setup->size));
}

static void
set_thresholds (const CfSegmentParams *p, CfSegmentSetup *setup)
{
  const int lines = setup->columns < setup->rows ? setup->columns : setup->rows;
  const double t = p->temporal;

  setup->seed = cf_segment_fixed (p->seed_threshold > 0 ? p->seed_threshold : 0.05 * (lines > 240 ? 480.0 / lines : 2));
  setup->stateless = !(t > 0);
  setup->keep[0] = cf_segment_fixed (t);
  setup->keep[1] = cf_segment_fixed (t / 3);
  setup->keep[2] = cf_segment_fixed (3 * t < 1 ? 3 * t : 1);
  for (int k = 0; k < CF_SEGMENT_SIZES; k++) {
    const double cells = (double) setup->columns * setup->rows;
    const double square = p->merge_threshold * p->merge_threshold * sqrt (cells / (1000 * ldexp (1, k)));

    setup->merge[k] = (uint32_t) (65536 * (square < 1 ? square : 1) + 0.5);
  }
  setup->weak[0] = cf_segment_fixed (p->weak_difference);
  setup->weak[1] = cf_segment_fixed (p->weak_difference * 0.6);
  setup->fraction = (uint32_t) (65536 * p->weak_fraction + 0.5);
}

static bool
reports (const void *params_)
{
  const CfSegmentParams *p = params_;

  return p->region_meta || p->label_meta || p->events || p->message_interval > 0;
}

CfCode
cf_segment_setup (const CfVideo *video, const CfCommon *common, const CfSegmentParams *p, CfSegmentSetup *setup,
    CfStatus *status)
{
  int level[3];
  CfCode code;

  memset (setup, 0, sizeof *setup);
  set_cells (video, p, setup);
  set_thresholds (p, setup);
  setup->max_regions = p->max_regions;
  setup->similarity = p->seed_similarity;
  setup->reports = reports (p);
  setup->output = (CfSegmentOutput) p->output;
  cf_color_levels (&common->colors, cf_format_info (video->format)->rgb, p->boundary_color, level);
  setup->color = (uint32_t) (level[0] | level[1] << 8 | level[2] << 16);
  code = read_seeds (p->seeds, video, setup, status);
  use_seeds (setup);
  return code;
}

/* ---- reported regions --------------------------------------------------- */

/* Fills mean[] with Y, Cb, Cr in levels of 8 bits. A region may have pixels but no sample of a
 * subsampled component; the mean of that component is then 128. */
static void
describe_colors (const CfFormatInfo *info, const CfSegmentRegion *f, double mean[3])
{
  const double levels = 1 << (info->bits - 8);
  double v[3];

  for (int k = 0; k < 3; k++)
    v[k] = f->n[k] ? (double) f->sum[k] / f->n[k] / levels : 128;
  if (info->rgb) {
    mean[0] = (19595 * v[0] + 38470 * v[1] + 7471 * v[2]) / 65536;
    mean[1] = 128 + (-11059 * v[0] - 21709 * v[1] + 32768 * v[2]) / 65536;
    mean[2] = 128 + (32768 * v[0] - 27439 * v[1] - 5329 * v[2]) / 65536;
  } else {
    memcpy (mean, v, sizeof v);
  }
}

void
cf_segment_describe (CfFormat format, const CfSegmentRegion *found, unsigned n, uint32_t frame, CfRegion *regions)
{
  const CfFormatInfo *info = cf_format_info (format);

  for (unsigned i = 0; i < n; i++) {
    const CfSegmentRegion *f = &found[i];
    CfRegion *r = &regions[i];

    *r = (CfRegion) { .id = f->id & INT32_MAX, .age = frame - f->birth, .area = f->n[0] };
    if (f->n[0] == 0)
      continue;
    r->x = (int) f->left;
    r->y = (int) f->top;
    r->width = (int) (f->right - f->left + 1);
    r->height = (int) (f->bottom - f->top + 1);
    r->centroid_x = (double) f->sum_x / f->n[0];
    r->centroid_y = (double) f->sum_y / f->n[0];
    describe_colors (info, f, r->mean);
  }
}

/* ---- advice ------------------------------------------------------------- */

static void
advise (const CfVideo *video, const void *params_, CfStatus *status)
{
  CfTextList list = seeds_of (((const CfSegmentParams *) params_)->seeds);

  while (video && cf_text_next (&list)) {
    CfStatus ignored;
    int x = 0, y = 0;

    if (read_point (&list, &x, &y, &ignored) != CF_OK)
      return;
    if (!is_inside (video, x, y)) {
      cf_fail (status, CF_OK, "point %u of seeds, %d,%d, is outside the frame of %d x %d pixels and is not used",
          list.number, x, y, video->width, video->height);
      return;
    }
  }
}

/* ---- the descriptor ----------------------------------------------------- */

static CfCode
check (const CfVideo *video, const CfCommon *common, const void *params_, CfStatus *status)
{
  const CfSegmentParams *p = params_;
  CfCode code = cf_zones_check (p->zones, status);

  (void) common;
  return code == CF_OK ? read_seeds (p->seeds, video, NULL, status) : code;
}

static bool
is_identity (const CfVideo *video, const CfCommon *common, const void *params_)
{
  const CfSegmentParams *p = params_;

  if (reports (p))
    return false;
  if (p->output == CF_SEGMENT_PASSTHROUGH)
    return true;
  return !cf_any_filtered (video, common);
}

static void
traits (const CfVideo *video, const CfCommon *common, const void *params_, CfTraits *traits)
{
  const CfSegmentParams *p = params_;

  traits->stateful = p->temporal > 0;
  traits->has_regions = reports (p);
  traits->identity = video && is_identity (video, common, params_);
}

const CfFilter cf_segment = {
  .info = { .stem = "segment", .params = params, .n_params = sizeof params / sizeof params[0], .whole_frames = true },
  .params_size = sizeof (CfSegmentParams),
  .check = check,
  .advise = advise,
  .traits = traits,
  .cpu = &cf_segment_cpu,
#ifdef CF_HAVE_CUDA
  .cuda = &cf_segment_cuda,
#endif
};
