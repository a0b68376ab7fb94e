/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * reference/segment_paint.c: the rest of the segmentation's contract (cuda/segment/segment.h): the resolved parameters
 * (steps 1, 3 and 4), painting and reported regions (steps 11 and 12), and the state between frames. */
#include "segment.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- parameters --------------------------------------------------------- */

/* Reads "x,y;x,y" as cell numbers; points outside the frame are left out. */
static int *
read_seeds (const char *text, SgSetup *u)
{
  int *cells = g_new (int, strlen (text) + 1), x, y, used;

  text += strspn (text, "; ");
  while (sscanf (text, " %d ,%d %n", &x, &y, &used) == 2) {
    if (x >= 0 && y >= 0 && x < u->width && y < u->height)
      cells[u->n_seeds++] = y / u->size * u->columns + x / u->size;
    text += used;
    text += strspn (text, "; ");
  }
  return cells;
}

static void
free_setup (SgSetup *u)
{
  for (int k = 0; k < 3; k++)
    g_free (u->plane[k].v);
  g_free ((void *) u->seeds);
}

static void
make_setup (const CfFilter *filter, const CfVideo *video, const void *params, const CfImage *in, SgSetup *u)
{
  const CfFormatInfo *info = cf_format_info (video->format);
  const int shorter = MIN (video->width, video->height);
  const int min_size = kc_param_int (filter, params, "min-size", 0);
  const int size = kc_param_int (filter, params, "cell-size", 0);
  const char *seeds = kc_param_text (filter, params, "seeds");
  int lines, pixels;

  *u = (SgSetup) { .width = video->width, .height = video->height };
  u->size = size ? size : MAX (1, (shorter + 239) / 480);
  u->columns = (video->width + u->size - 1) / u->size;
  u->rows = (video->height + u->size - 1) / u->size;
  u->bits = info->bits;
  u->rgb = info->rgb;
  u->n_components = info->n_components < 3 ? 1 : 3;
  lines = (shorter + u->size - 1) / u->size;
  u->seed_threshold = kc_param_double (filter, params, "seed-threshold");
  if (u->seed_threshold == 0)
    u->seed_threshold = 0.05 * fmin (2, 480.0 / lines);
  u->merge_threshold = kc_param_double (filter, params, "merge-threshold");
  u->weak_difference = kc_param_double (filter, params, "weak-difference");
  u->weak_fraction = kc_param_double (filter, params, "weak-fraction");
  u->temporal = kc_param_double (filter, params, "temporal");
  u->similarity = kc_param_int (filter, params, "seed-similarity", 0) != 0;
  u->max_regions = kc_param_int (filter, params, "max-regions", 65535);
  pixels = min_size ? min_size : MAX (1, video->width * video->height / 10000);
  u->min_cells = (uint32_t) MAX (1, (int) (((int64_t) pixels + u->size * u->size - 1) / (u->size * u->size)));
  for (int k = 0; k < u->n_components; k++) {
    u->w_sub[k] = info->comp[k].w_sub;
    u->h_sub[k] = info->comp[k].h_sub;
    u->plane[k] = kc_unpack (video, in, k, 0);
  }
  u->seeds = read_seeds (seeds ? seeds : "", u);
}

/* ---- painting ----------------------------------------------------------- */

typedef struct {
  const SgSetup *u;
  const SgState *state;
  const CfFormatInfo *info;
  const CfImage *out;
  const char *output;
  uint32_t color; /* boundary-color */
  const CfColors *colors;
  int *label; /* one entry a pixel: index of its region */
} Paint;

static int
label_at (const Paint *p, int x, int y)
{
  return p->label[y * p->u->width + x];
}

/* Returns component k of the colour 0xRRGGBB of a label. */
static unsigned
label_level (const Paint *p, int k, uint32_t rgb)
{
  const SgColor c = { { (int) (rgb >> 16 & 255), (int) (rgb >> 8 & 255), (int) (rgb & 255) } };

  return (unsigned) (p->u->rgb ? c : sg_ycbcr (c)).c[k];
}

/* Returns a level of 8 bits as a stored word of the format. */
static unsigned
word_of (const Paint *p, unsigned level)
{
  return level << (p->u->bits - 8) << p->info->shift;
}

static uint32_t
id_color (uint32_t id)
{
  const uint32_t h = id * 2654435769u;

  return (64 + 3 * (h >> 24) / 4) << 16 | (64 + 3 * (h >> 16 & 255) / 4) << 8 | (64 + 3 * (h >> 8 & 255) / 4);
}

static bool
is_border (const Paint *p, int x, int y)
{
  const int own = label_at (p, x, y);

  return (x + 1 < p->u->width && label_at (p, x + 1, y) != own) ||
      (y + 1 < p->u->height && label_at (p, x, y + 1) != own);
}

/* Sums and counts the samples of a component for each region. */
static void
add_up (const Paint *p, int k, uint64_t *sum, uint64_t *n)
{
  const KcPlane *plane = &p->u->plane[k];

  memset (sum, 0, sizeof *sum * (size_t) p->state->n_regions);
  memset (n, 0, sizeof *n * (size_t) p->state->n_regions);
  for (int y = 0; y < plane->h; y++)
    for (int x = 0; x < plane->w; x++) {
      const int region = label_at (p, x << p->u->w_sub[k], y << p->u->h_sub[k]);

      sum[region] += plane->v[y * plane->w + x];
      n[region]++;
    }
}

static void
paint_component (const Paint *p, int k, const uint64_t *sum, const uint64_t *n)
{
  for (int y = 0; y < p->u->plane[k].h; y++)
    for (int x = 0; x < p->u->plane[k].w; x++) {
      const int px = x << p->u->w_sub[k], py = y << p->u->h_sub[k], region = label_at (p, px, py);

      if (g_str_equal (p->output, "mean"))
        kc_put_word (p->out, k, x, y, (unsigned) ((2 * sum[region] + n[region]) / (2 * n[region])) << p->info->shift);
      else if (g_str_equal (p->output, "labels"))
        kc_put_word (p->out, k, x, y, word_of (p, label_level (p, k, id_color (p->state->region[region].id))));
      else if (g_str_equal (p->output, "boundaries") && is_border (p, px, py))
        kc_put_word (p->out, k, x, y, word_of (p, kc_color_level (p->colors, p->u->rgb, p->color, k)));
    }
}

/* ---- reported regions --------------------------------------------------- */

static void
report_pixels (const Paint *p, KcRegions *report)
{
  for (int i = 0; i < p->state->n_regions; i++) {
    CfRegion *r = &report->region[i];

    r->id = p->state->region[i].id % (1u << 31);
    r->age = p->state->frame - p->state->region[i].birth;
    r->x = p->u->width;
    r->y = p->u->height;
  }
  for (int y = 0; y < p->u->height; y++)
    for (int x = 0; x < p->u->width; x++) {
      CfRegion *r = &report->region[label_at (p, x, y)];

      report->label[y * p->u->width + x] = (uint16_t) label_at (p, x, y);
      r->area++;
      r->centroid_x += x;
      r->centroid_y += y;
      r->x = MIN (r->x, x);
      r->y = MIN (r->y, y);
      r->width = MAX (r->width, x + 1); /* until the end of the loops: the right edge */
      r->height = MAX (r->height, y + 1);
    }
  for (int i = 0; i < p->state->n_regions; i++) {
    CfRegion *r = &report->region[i];

    r->width -= r->x;
    r->height -= r->y;
    r->centroid_x /= r->area;
    r->centroid_y /= r->area;
  }
}

/* The mean of a component without samples in a region is not defined; NAN marks it as not to be compared. */
static void
report_mean (const Paint *p, int k, const uint64_t *sum, const uint64_t *n, KcRegions *report)
{
  for (int i = 0; i < p->state->n_regions; i++)
    report->region[i].mean[k] = n[i] ? (double) sum[i] / (double) n[i] / (1 << (p->u->bits - 8)) : (double) NAN;
}

static void
report_colors (const Paint *p, KcRegions *report)
{
  for (int i = 0; i < p->state->n_regions; i++) {
    double *m = report->region[i].mean;
    const double r = m[0], g = m[1], b = m[2];

    if (p->u->n_components == 1)
      m[1] = m[2] = 128;
    if (!p->u->rgb)
      continue;
    m[0] = 0.299 * r + 0.587 * g + 0.114 * b;
    m[1] = 128 + (b - m[0]) / 1.772;
    m[2] = 128 + (r - m[0]) / 1.402;
  }
}

/* ---- frames ------------------------------------------------------------- */

static void
free_state (void *state)
{
  if (state)
    sg_state_free (state);
  g_free (state);
}

/* Paints a frame and fills `report`. */
static void
make (Paint *p, const CfCommon *common, KcRegions *report)
{
  const int regions = p->state->n_regions, pixels = p->u->width * p->u->height;
  g_autofree uint64_t *sum = g_new (uint64_t, regions), *n = g_new (uint64_t, regions);
  g_autofree int *label = p->label = g_new (int, pixels);

  *report = (KcRegions) { (unsigned) regions, g_new0 (CfRegion, regions), g_new (uint16_t, pixels) };
  for (int i = 0; i < pixels; i++)
    label[i] = sg_pixel_label (p->u, p->state, i % p->u->width, i / p->u->width);
  report_pixels (p, report);
  for (int k = 0; k < p->u->n_components; k++) {
    add_up (p, k, sum, n);
    report_mean (p, k, sum, n, report);
    if (kc_is_filtered (p->info, k, common))
      paint_component (p, k, sum, n);
  }
  report_colors (p, report);
}

static void
run_frame (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params, void **state,
    const CfImage *in, const CfImage *out, KcRegions *report)
{
  const CfVideo whole = { video->format, video->width, video->height, false };
  SgSetup u;
  Paint p = { .info = cf_format_info (video->format),
    .out = out,
    .u = &u,
    .colors = &common->colors,
    .output = kc_param_name (filter, params, "output"),
    .color = (uint32_t) kc_param_int (filter, params, "boundary-color", 0) };
  KcRegions unused = { 0 };
  SgState after;

  if (!*state)
    *state = g_new0 (SgState, 1);
  make_setup (filter, &whole, params, in, &u);
  sg_segment (&u, *state, &after);
  sg_state_free (*state);
  *(SgState *) *state = after;
  p.state = *state;
  for (int k = 0; k < p.info->n_components; k++)
    kc_copy_component (in, out, k);
  make (&p, common, report ? report : &unused);
  kc_regions_free (&unused);
  free_setup (&u);
}

static bool
reference (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params,
    const CfImage *const *seen, int n_seen, const CfImage *out)
{
  void *state = NULL;

  for (int i = n_seen - 1; i >= 0; i--)
    run_frame (filter, video, common, params, &state, seen[i], out, NULL);
  free_state (state);
  return true;
}

static const KcBench bench[] = { { "stateless", "temporal=0 cell-size=%d", "0", "watershed", NULL },
  { "stateful", "temporal=0.15 cell-size=%d", "0", "label markers", NULL },
  /* Barriuso's (2011) question: sums of regions by atomics or by a reduction in the block, and the block's size,
   * which is 8 warps in the rows above */
  { "global atomics", "temporal=0.15 cell-size=%d", "0", NULL, NULL, "collect", 0 },
  { "4 warps", "temporal=0.15 cell-size=%d", "0", NULL, NULL, "warps", 4 },
  { "street stateless", "temporal=0 cell-size=%d", "0", .streams = "1,8", .content = "street" },
  { "street stateful", "temporal=0.15 cell-size=%d", "0", .streams = "1,8", .content = "street" }, { 0 } };

const KcFilter kc_segment = {
  .stem = "segment",
  .reference = reference,
  .stateful_reference = run_frame,
  .free_state = free_state,
  .has_regions = true,
  .check_reference = sg_check,
  .random_setting = sg_random,
  .expand = sg_expand,
  .contents = sg_contents,
  .n_contents = &sg_n_contents,
  .settings = sg_settings,
  .frame_settings = sg_frame_settings,
  .large_settings = sg_large_settings,
  .sanitize_settings = sg_sanitize_settings,
  .more_sizes = sg_more_sizes,
  .bad_settings = sg_bad_settings,
  .right = "output=boundaries boundary-color=0xff20c0f0 region-meta=1 label-meta=1",
  .wrong = "output=boundaries boundary-color=0xff20c4f0 region-meta=1 label-meta=1",
  .bench = bench,
  .bench_formats = "GRAY8,RGBA",
  .bench_resolutions = "480p,1080p,4k",
};
