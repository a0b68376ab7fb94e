/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * areas.c: frames of which only an area is filtered, for random areas, formats and parameters: each sample must be the
 * blend of the input and of the whole frame filtered, by the strength that cf.h defines, computed here pixel by pixel.
 * The whole frame comes from another plan, which the other cases prove. */
#include "kernelcheck.h"

#include <string.h>

#define MAX_RECTS 40
#define MAX_POINTS 8
#define DEADLINE_NS 60000000000u

/* A random area, with what it is made of. */
typedef struct {
  CfVideo video;
  CfAreaSpec spec;
  CfRect rect[MAX_RECTS * 20];
  CfPolygon polygon[2];
  CfPoint point[2][MAX_POINTS];
  uint8_t *mask;
} Random;

static int
pick (uint64_t *state, int first, int last)
{
  return first + (int) (kc_random (state) % (uint64_t) (last - first + 1));
}

/* ---- random areas ------------------------------------------------------- */

static CfRect
random_rect (const CfVideo *video, uint64_t *state)
{
  switch (pick (state, 0, 9)) {
    case 0: /* anywhere, and mostly outside */
      return (
          CfRect) { pick (state, -300, 300), pick (state, -300, 300), pick (state, -5, 200), pick (state, -5, 200) };
    case 1: /* at the far end of the numbers */
      return (CfRect) { pick (state, 0, 1) ? -2147483647 : 2147483000, -5, 2147483647, 2147483647 };
    case 2: /* at an edge */
      return (CfRect) { pick (state, 0, 1) ? -3 : video->width - 3, pick (state, 0, video->height - 1), 6, 5 };
    case 3:
      return (CfRect) { pick (state, 0, video->width - 1), pick (state, 0, video->height - 1), 1, 1 };
    default:
      return (CfRect) { pick (state, -4, video->width - 1), pick (state, -4, video->height - 1),
        pick (state, 0, 1 + video->width / 3), pick (state, 0, 1 + video->height / 3) };
  }
}

static void
random_polygon (Random *r, unsigned i, uint64_t *state)
{
  CfPolygon *p = &r->polygon[i];

  p->n = (unsigned) pick (state, 0, MAX_POINTS);
  p->point = r->point[i];
  for (unsigned k = 0; k < p->n; k++)
    r->point[i][k] = (CfPoint) { pick (state, -2000, 256 * r->video.width + 2000),
      pick (state, -500, 256 * r->video.height + 500) };
}

static void
random_mask (Random *r, uint64_t *state)
{
  const size_t size = (size_t) r->video.width * (size_t) r->video.height;
  const int kind = pick (state, 0, 2);

  r->mask = g_malloc (size);
  for (size_t i = 0; i < size; i++)
    r->mask[i] = kind == 0 ? 255 : kind == 1 ? (uint8_t) kc_random (state) : kc_random (state) % 8 ? 0 : 200;
  r->spec.mask = r->mask;
}

/* Small regions, most of which are far from each other. */
static void
scatter_rects (Random *r, uint64_t *state)
{
  r->spec.n_rects = 0;
  for (int y = 0; y < r->video.height; y += 14)
    for (int x = 0; x < r->video.width; x += 32)
      if (pick (state, 0, 3) && r->spec.n_rects < MAX_RECTS)
        r->rect[r->spec.n_rects++] = (CfRect) { x + pick (state, 10, 16), y + pick (state, 2, 6), pick (state, 1, 9),
          pick (state, 1, 5) };
}

static void
random_area (Random *r, const CfVideo *video, uint64_t *state)
{
  *r = (Random) { .video = *video };
  r->spec.n_rects = (unsigned) (pick (state, 0, 15) == 0 ? MAX_RECTS * 20
                                                         : pick (state, 0, pick (state, 0, 3) ? 5 : 40));
  for (unsigned i = 0; i < r->spec.n_rects; i++)
    r->rect[i] = random_rect (video, state);
  if (pick (state, 0, 19) == 0)
    r->rect[0] = (CfRect) { 0, 0, video->width, video->height };
  if (pick (state, 0, 3) == 0)
    scatter_rects (r, state);
  r->spec.rect = r->rect;
  r->spec.ellipses = pick (state, 0, 2) == 0;
  r->spec.invert = pick (state, 0, 4) == 0;
  if (pick (state, 0, 3) == 0) {
    r->spec.n_polygons = (unsigned) pick (state, 1, 2);
    r->spec.polygon = r->polygon;
    random_polygon (r, 0, state);
    random_polygon (r, 1, state);
  }
  if (pick (state, 0, 4) == 0)
    random_mask (r, state);
}

/* A filter whose regions are frames of their own gets some that are far from each other, on whole samples. */
static void
separate_area (Random *r, const CfVideo *video, uint64_t *state)
{
  *r = (Random) { .video = *video };
  for (int y = 0; y + 24 <= video->height; y += 24)
    for (int x = 0; x + 24 <= video->width; x += 24)
      if (pick (state, 0, 2) == 0 && r->spec.n_rects < MAX_RECTS)
        r->rect[r->spec.n_rects++] = (CfRect) { x + 4 * pick (state, 0, 1), y, 4 * pick (state, 1, 4),
          4 * pick (state, 1, 4) };
  r->spec.rect = r->rect;
}

/* ---- strengths ---------------------------------------------------------- */

static bool
in_ellipse (const CfRect *rect, int x, int y)
{
  const int wide = MAX (rect->width - 32767, 0), high = MAX (rect->height - 32767, 0);
  const double w = rect->width - wide, h = rect->height - high;
  const long double dx = (2.0L * x + 1 - 2.0L * (rect->x + wide / 2) - w) / w;
  const long double dy = (2.0L * y + 1 - 2.0L * (rect->y + high / 2) - h) / h;

  return dx * dx + dy * dy <= 1 + 1e-15L;
}

/* Counts the edges to the left of a pixel's centre. */
static bool
in_polygon (const CfPolygon *p, int x, int y)
{
  const int64_t px = 256 * x + 128, py = 256 * y + 128;
  int crossings = 0;

  for (unsigned i = 0; p->n >= 3 && i < p->n; i++) {
    CfPoint a = p->point[i], b = p->point[(i + 1) % p->n];

    if (a.y > b.y) {
      const CfPoint c = a;

      a = b;
      b = c;
    }
    if (a.y <= py && py < b.y)
      crossings += (px - a.x) * (b.y - a.y) > (py - a.y) * (int64_t) (b.x - a.x);
  }
  return crossings % 2;
}

static int
pixel_strength (const Random *r, int x, int y)
{
  int strength = r->mask ? r->mask[y * r->video.width + x] : 0;

  for (unsigned i = 0; i < r->spec.n_rects; i++) {
    const CfRect *rect = &r->rect[i];

    if (rect->width > 0 && rect->height > 0 && x >= rect->x && y >= rect->y && (int64_t) x - rect->x < rect->width &&
        (int64_t) y - rect->y < rect->height && (!r->spec.ellipses || in_ellipse (rect, x, y)))
      strength = 255;
  }
  for (unsigned i = 0; i < r->spec.n_polygons; i++)
    if (in_polygon (&r->polygon[i], x, y))
      strength = 255;
  return r->spec.invert ? 255 - strength : strength;
}

static int
sample_strength (const Random *r, const uint8_t *pixels, const CfComponent *c, int x, int y)
{
  const int rows = c->h_sub ? (r->video.interlaced ? 4 : 2) : 1, cols = c->w_sub ? 2 : 1;
  const int top = c->h_sub ? (r->video.interlaced ? y / 2 * 4 : 2 * y) : y, left = x * cols;
  int strength = 0;

  for (int py = top; py < MIN (top + rows, r->video.height); py++)
    for (int px = left; px < MIN (left + cols, r->video.width); px++)
      strength = MAX (strength, pixels[py * r->video.width + px]);
  return strength;
}

/* Blends `in` and `filtered` into `expected`. */
static void
blend (const Random *r, const CfImage *in, const CfImage *filtered, const CfImage *expected)
{
  const CfFormatInfo *info = cf_format_info (r->video.format);
  const int most = (1 << info->bits) - 1, w = r->video.width, h = r->video.height;
  uint8_t *pixels = g_malloc ((gsize) w * (gsize) h);

  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++)
      pixels[y * w + x] = (uint8_t) pixel_strength (r, x, y);
  for (int c = 0; c < info->n_components; c++)
    for (int y = 0; y < kc_component_height (info, c, h); y++)
      for (int x = 0; x < kc_component_width (info, c, w); x++) {
        const int s = sample_strength (r, pixels, &info->comp[c], x, y);
        const int a = (int) kc_word (in, c, x, y), b = (int) kc_word (filtered, c, x, y);
        const int low = MIN (a >> info->shift, most), high = MIN (b >> info->shift, most);
        const int mixed = (510 * low + 2 * (high - low) * s + 255) / 510;

        kc_put_word (expected, c, x, y, (unsigned) (s == 0 ? a : s == 255 ? b : mixed << info->shift));
      }
  g_free (pixels);
}

/* ---- cases -------------------------------------------------------------- */

typedef struct {
  KcRun *run;
  CfContext *context;
  const KcFilter *kc;
  const CfFilter *filter;
  CfVideo video;
  CfCommon common;
  char set[KC_TEXT];
  CfTraits traits;
  CfPlan *whole, *plan;
  KcImage in, filtered, expected, got, scratch;
  KcDeviceImage device_in, device_out, device_scratch; /* empty without a GPU */
} Areas;

/* Filters each region of `r` as a frame. */
static bool
filter_regions (Areas *a, const Random *r, const void *params)
{
  CfStatus status = { 0 };

  for (unsigned i = 0; i < r->spec.n_rects; i++) {
    const CfRect *rect = &r->rect[i];
    CfVideo part = { a->video.format, rect->width, rect->height, a->video.interlaced };
    const CfFormatInfo *info = cf_format_info (part.format);
    CfImage in = a->in.image, out = a->filtered.image;
    CfPlan *plan = cf_plan_new (a->run->cpu, a->filter, &part, &a->common, params, &status);

    in.width = out.width = part.width;
    in.height = out.height = part.height;
    for (int p = 0; p < info->n_planes; p++) {
      const size_t left = cf_plane_row_bytes (part.format, rect->x, p);
      const size_t top = (size_t) cf_plane_rows (part.format, rect->y, p);

      in.plane[p].data = (uint8_t *) in.plane[p].data + top * in.plane[p].pitch + left;
      out.plane[p].data = (uint8_t *) out.plane[p].data + top * out.plane[p].pitch + left;
    }
    if (!plan || cf_plan_enqueue (plan, NULL, &(CfFrame) { .in = &in, .out = &out }, &status) != CF_OK)
      return false;
    cf_plan_free (plan);
  }
  return true;
}

/* Makes regions end in the middle of a sample of chroma, at random: what is filtered for them stays the same. */
static void
cut_regions (const Areas *a, Random *r, uint64_t *state)
{
  const CfFormatInfo *info = cf_format_info (a->video.format);
  int across = 0, down = 0; /* most pixels that may be cut off */

  for (int i = 0; i < info->n_components; i++) {
    across = MAX (across, info->comp[i].w_sub);
    down = MAX (down, info->comp[i].h_sub);
  }
  for (unsigned i = 0; i < r->spec.n_rects; i++) {
    const int left = pick (state, 0, across), top = pick (state, 0, down);

    r->rect[i].x += left;
    r->rect[i].y += top;
    r->rect[i].width -= left + pick (state, 0, across);
    r->rect[i].height -= top + pick (state, 0, down);
  }
}

/* Takes the frame and random ones behind it into the history of both plans, where the filter looks ahead. */
static bool
take_frames (Areas *a, uint64_t *state, CfStatus *status)
{
  const bool gpu = a->context == a->run->gpu;
  bool good = true;

  for (int i = 0; good && a->traits.ahead > 0 && i <= a->traits.ahead; i++) {
    kc_image_fill (&a->scratch, KC_RANDOM, i, kc_random (state));
    if (i == 0)
      cf_image_copy (&a->scratch.image, &a->in.image, NULL);
    good = cf_plan_enqueue (a->whole, NULL, &(CfFrame) { .in = &a->scratch.image }, status) == CF_OK &&
        (!gpu || kc_device_image_copy (a->run, CF_UPLOAD, &a->device_scratch, &a->scratch, status)) &&
        cf_plan_enqueue (a->plan, gpu ? a->run->stream : NULL,
            &(CfFrame) { .in = gpu ? &a->device_scratch.image : &a->scratch.image }, status) == CF_OK &&
        (!gpu || cf_stream_wait (a->run->stream, DEADLINE_NS, NULL, status) == CF_OK);
  }
  return good;
}

/* Where the output goes: with all of the frame to an image of its own, with the area's part alone to such a one, which
 * has the rest already, into the input, or to the scratch image. */
typedef enum { COPIED, APART, IN_PLACE, IN_SCRATCH } Where;

static const char *const where_names[] = { "", ", apart", ", in place", ", in the scratch image" };

static bool
enqueue_on_gpu (Areas *a, const CfArea *area, Where where, CfStatus *status)
{
  const CfImage *in = where == IN_PLACE ? &a->device_out.image : &a->device_in.image;
  KcDeviceImage *out = where == IN_SCRATCH ? &a->device_scratch : &a->device_out;
  CfStream *stream = a->run->stream;

  return kc_device_image_copy (a->run, CF_UPLOAD, &a->device_in, &a->in, status) &&
      kc_device_image_copy (a->run, CF_UPLOAD, &a->device_out, &a->got, status) &&
      cf_plan_enqueue (a->plan, stream,
          &(CfFrame) { .in = in,
              .out = &out->image,
              .area = area,
              .scratch = &a->device_scratch.image,
              .copies = where == COPIED },
          status) == CF_OK &&
      cf_stream_wait (stream, DEADLINE_NS, NULL, status) == CF_OK &&
      kc_device_image_copy (a->run, CF_DOWNLOAD, out, where == IN_SCRATCH ? &a->scratch : &a->got, status);
}

static bool
enqueue (Areas *a, const CfArea *area, Where where, CfStatus *status)
{
  const CfImage *in = where == IN_PLACE ? &a->got.image : &a->in.image;
  const CfImage *out = where == IN_SCRATCH ? &a->scratch.image : &a->got.image;
  bool good;

  if (a->context == a->run->gpu)
    good = enqueue_on_gpu (a, area, where, status);
  else
    good = cf_plan_enqueue (a->plan, NULL, &(CfFrame) { in, out, area, &a->scratch.image, .copies = where == COPIED },
               status) == CF_OK;
  if (good && where == IN_SCRATCH)
    cf_image_copy (&a->got.image, &a->scratch.image, &(CfPart) { area, CF_AREA_WRITE });
  return good;
}

/* One frame: another area, and what comes out. */
static void
check_frame (Areas *a, int frame, const void *params, uint64_t *state)
{
  Where where = pick (state, COPIED, IN_SCRATCH);
  CfStatus status = { 0 };
  CfArea *area = NULL;
  bool good;
  Random r;

  if (a->traits.anchored)
    separate_area (&r, &a->video, state);
  else
    random_area (&r, &a->video, state);
  kc_image_fill (&a->in, frame % 3 ? KC_RANDOM : KC_PATCHES, frame, kc_random (state));
  if (where == COPIED)
    kc_image_fill (&a->got, KC_RANDOM, frame, kc_random (state));
  else
    cf_image_copy (&a->got.image, &a->in.image, NULL);
  cf_image_copy (&a->filtered.image, &a->in.image, NULL);
  good = take_frames (a, state, &status);
  if (good)
    good = a->traits.anchored ? filter_regions (a, &r, params)
                              : cf_plan_enqueue (a->whole, NULL,
                                    &(CfFrame) { .in = &a->in.image, .out = &a->filtered.image }, &status) == CF_OK;
  if (a->traits.anchored)
    cut_regions (a, &r, state);
  blend (&r, &a->in.image, &a->filtered.image, &a->expected.image);
  area = cf_area_new (&a->video, &a->traits, &r.spec, &status);
  if (area && where == IN_SCRATCH && !cf_area_info (area).solid)
    where = APART; /* both have the input */
  good = good && area && enqueue (a, area, where, &status);
  a->run->frames++;
  kc_result (a->run, good && kc_same_words (&a->video, &a->expected.image, &a->got.image),
      "area: %s %s %s %d x %d%s, frame %d, %u rectangles%s, %u polygons%s%s%s on %s: %s (--seed %" G_GINT64_FORMAT ")",
      a->kc->stem, a->set, cf_format_info (a->video.format)->name, a->video.width, a->video.height,
      a->video.interlaced ? " interlaced" : "", frame, r.spec.n_rects, r.spec.ellipses ? " as ellipses" : "",
      r.spec.n_polygons, r.mask ? ", mask" : "", r.spec.invert ? ", inverted" : "", where_names[where],
      a->context == a->run->gpu ? "the GPU" : cf_cpu_info (NULL), good ? "wrong samples" : status.message,
      a->run->options.seed);
  cf_area_unref (area);
  g_free (r.mask);
}

static void
check_case (KcRun *run, CfContext *context, const KcFilter *kc, CfFormat format, int frames, uint64_t *state)
{
  Areas a = { .run = run, .context = context, .kc = kc, .filter = cf_filter_find (kc->stem) };
  KcImage *const images[] = { &a.in, &a.filtered, &a.expected, &a.got, &a.scratch };
  CfStatus status = { 0 };
  void *params = NULL;

  a.video = (CfVideo) { format, pick (state, 1, 130), pick (state, 1, 70), pick (state, 0, 4) == 0 };
  a.common.apply_to = (CfApplyTo) (pick (state, 0, 3) ? 0 : pick (state, 0, 2));
  if (cf_format_info (format)->rgb)
    a.common.apply_to = CF_APPLY_ALL;
  if (cf_filter_info (a.filter)->whole_frames)
    a.video.interlaced = false;
  run->cases++;
  if (kc_params_random (kc, &a.video, &a.common, a.set, state, &status))
    params = kc_params_new (a.filter, a.set, &status);
  if (!params)
    return; /* no parameters for this format */
  a.traits = cf_filter_traits (a.filter, &a.video, &a.common, params);
  for (gsize i = 0; i < G_N_ELEMENTS (images); i++)
    kc_image_new (images[i], &a.video, (KcLayout) pick (state, 0, KC_N_LAYOUTS - 1), kc_random (state));
  a.whole = cf_plan_new (run->cpu, a.filter, &a.video, &a.common, params, &status);
  a.plan = cf_plan_new (context, a.filter, &a.video, &a.common, params, &status);
  if (context == run->gpu)
    kc_result (run,
        kc_device_image_new (&a.device_in, &a.in, false, &status) &&
            kc_device_image_new (&a.device_out, &a.got, false, &status) &&
            kc_device_image_new (&a.device_scratch, &a.scratch, false, &status),
        "area: %s", status.message);
  kc_result (run, a.whole && a.plan, "area: no plan for %s %s: %s", kc->stem, a.set, status.message);
  for (int frame = 0; a.whole && a.plan && frame < frames; frame++)
    check_frame (&a, frame, params, state);
  cf_plan_free (a.whole);
  cf_plan_free (a.plan);
  kc_device_image_free (&a.device_in);
  kc_device_image_free (&a.device_out);
  kc_device_image_free (&a.device_scratch);
  for (gsize i = 0; i < G_N_ELEMENTS (images); i++)
    kc_image_free (images[i]);
  cf_params_free (a.filter, params);
}

/* Blends 256 values of a format with each other, in every strength: column x has the x-th value, row y the strength y,
 * and the filter fills the frame with one value after the other. With 8 bits these are all there are. */
static void
check_values (KcRun *run, CfFormat format, const char *isa)
{
  const CfFilter *filter = cf_filter_find ("convolve");
  const CfFormatInfo *info = cf_format_info (format);
  const CfVideo video = { format, 256, 256, false };
  const int most = (1 << info->bits) - 1;
  unsigned long wrong = 0;
  uint8_t mask[256 * 256];
  KcImage image[3]; /* in, out, scratch */
  int value[256];

  for (int i = 0; i < 3; i++)
    kc_image_new (&image[i], &video, KC_TIGHT, 1);
  for (int i = 0; i < 256 * 256; i++) {
    const int x = i % 256, y = i / 256;

    value[x] = x < 128 || most == 255 ? x : most - (x - 128) * (x - 128) * most / 16384;
    mask[i] = (uint8_t) y;
    kc_put_word (&image[0].image, 0, x, y, (unsigned) value[x] << info->shift);
  }
  cf_image_copy (&image[1].image, &image[0].image, NULL);
  for (int k = 0; k < 256; k++) {
    g_autofree char *set = g_strdup_printf ("kernel=0 bias=%d", value[k]);
    CfStatus status = { 0 };
    void *params = kc_params_new (filter, set, &status);
    const CfTraits traits = cf_filter_traits (filter, &video, &(CfCommon) { 0 }, params);
    CfArea *area = cf_area_new (&video, &traits, &(CfAreaSpec) { .mask = mask }, &status);
    CfPlan *plan = cf_plan_new (run->cpu, filter, &video, &(CfCommon) { 0 }, params, &status);
    const CfFrame frame = { &image[0].image, &image[1].image, .area = area, .scratch = &image[2].image };

    if (!area || !plan || cf_plan_enqueue (plan, NULL, &frame, &status) != CF_OK)
      kc_result (run, false, "area: %s of %s: %s", set, info->name, status.message);
    for (int i = 0; i < 256 * 256; i++) {
      const int x = i % 256, y = i / 256;

      wrong += kc_word (&image[1].image, 0, x, y) >> info->shift !=
          (unsigned) ((510 * value[x] + 2 * (value[k] - value[x]) * y + 255) / 510);
    }
    cf_plan_free (plan);
    cf_area_unref (area);
    cf_params_free (filter, params);
  }
  kc_result (run, wrong == 0, "area: %lu samples of %s are not blended right on %s", wrong, info->name, isa);
  for (int i = 0; i < 3; i++)
    kc_image_free (&image[i]);
}

void
kc_areas (KcRun *run)
{
  /* for each filter; together 1000 areas a format */
  const int plans = run->options.quick ? 1 : 10, frames = run->options.quick ? 5 : 25;
  static const CfFormat depths[] = { CF_FORMAT_GRAY8, CF_FORMAT_RGB10A2_LE, CF_FORMAT_P012_LE, CF_FORMAT_GRAY16_LE };
  uint64_t state = (uint64_t) run->options.seed;
  unsigned number = 0;

  for (unsigned i = 0; !run->options.gpu && i < KC_N_ISAS * G_N_ELEMENTS (depths); i++) {
    const char *isa = kc_is_ours (run, number++) ? kc_take_isa (run, i % KC_N_ISAS) : NULL;

    if (isa)
      check_values (run, depths[i / KC_N_ISAS], isa);
  }
  for (const KcFilter *const *kc = kc_filters; *kc; kc++)
    for (int f = CF_FORMAT_NONE + 1; f < CF_N_FORMATS; f++)
      for (int i = 0; i < plans; i++) {
        const uint64_t own = kc_random (&state);

        if (run->options.filter && !g_str_equal (run->options.filter, (*kc)->stem))
          continue;
        if (!kc_is_ours (run, number++))
          continue;
        for (unsigned isa = 0; isa < (run->options.gpu ? 1 : KC_N_ISAS); isa++) {
          CfContext *context = run->options.gpu ? run->gpu : kc_take_isa (run, isa) ? run->cpu : NULL;
          uint64_t same = own;

          if (context)
            check_case (run, context, *kc, (CfFormat) f, frames, &same);
        }
      }
}
