/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-naive.c: the median and the convolution as one writes them first: sequential C, sample by sample, straight from
 * the definition. It is the 1.0 of `--study speedup`. Each frame is also filtered by the library on the CPU, outside of
 * the measured time, and has to be the same. The frames are of 8 bits, borders are replicated. */

#include "bench-camera.h"
#include "cf.h"
#include "line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IMAGES 3        /* different frames */
#define SMALL_WINDOW 64 /* samples that are sorted by insertion; more: by qsort () */
#define MAX_SIDE 255

/* A window of w x h samples around (w / 2, h / 2). */
typedef struct {
  int w, h;
  int rank;        /* median: of the result among the sorted samples; convolution: -1 */
  gboolean packed; /* median: of the numbers R << 16 | G << 8 | B */
  int *weights;    /* convolution: w h of them, to be freed */
  int divisor;     /* > 0 */
  gboolean even;   /* halves are rounded to even, not up */
} Naive;

/* One component of a frame. */
typedef struct {
  guint8 *data;
  int stride, step, w, h;
} Plane;

typedef struct {
  Naive naive;
  const CfFilter *filter;
  void *params;
  CfContext *context;
  CfPlan *plan;
  GstVideoInfo info;
  GstBuffer *images[IMAGES + 2]; /* the last two: the naive result, and the library's */
  double wall, cpu;              /* seconds */
  guint64 rows;                  /* of luma that were filtered in that time */
} Run;

/* ---- the filters ---------------------------------------------------------- */

static int
sample (const Plane *plane, int x, int y)
{
  x = CLAMP (x, 0, plane->w - 1);
  y = CLAMP (y, 0, plane->h - 1);
  return plane->data[y * plane->stride + x * plane->step];
}

static int
compare_samples (const void *a, const void *b)
{
  return *(const int *) a - *(const int *) b;
}

/* `in`: the component, or with packed R, G and B. */
static int
median (const Naive *n, const Plane *in, int x, int y)
{
  int list[MAX_SIDE * MAX_SIDE];
  int count = 0;

  for (int j = 0; j < n->h; j++)
    for (int i = 0; i < n->w; i++) {
      const int column = x + i - n->w / 2, row = y + j - n->h / 2;
      int k = count++, value = sample (in, column, row);

      if (n->packed)
        value = value << 16 | sample (in + 1, column, row) << 8 | sample (in + 2, column, row);

      for (; n->w * n->h <= SMALL_WINDOW && k > 0 && list[k - 1] > value; k--)
        list[k] = list[k - 1];
      list[k] = value;
    }
  if (n->w * n->h > SMALL_WINDOW)
    qsort (list, (size_t) count, sizeof *list, compare_samples);
  return list[n->rank];
}

/* `base` is the middle of chroma, which is filtered about it. */
static int
convolution (const Naive *n, const Plane *in, int x, int y, int base)
{
  int sum = 0, quotient, rest;

  for (int j = 0; j < n->h; j++)
    for (int i = 0; i < n->w; i++)
      sum += n->weights[j * n->w + i] * (sample (in, x + i - n->w / 2, y + j - n->h / 2) - base);
  quotient = sum / n->divisor - (sum % n->divisor < 0);
  rest = sum - quotient * n->divisor;
  if (rest > n->divisor - rest || (rest == n->divisor - rest && (!n->even || quotient % 2 != 0)))
    quotient++;
  return CLAMP (quotient + base, 0, 255);
}

/* ---- what a line asks for ------------------------------------------------- */

static gboolean
is_default (GstElement *element, const char *name)
{
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), name);
  GValue value = G_VALUE_INIT;
  gboolean same;

  g_value_init (&value, spec->value_type);
  g_object_get_property (G_OBJECT (element), name, &value);
  same = g_param_value_defaults (spec, &value);
  g_value_unset (&value);
  return same;
}

/* Returns the name of a property that is set and that the naive filter does not have, or NULL. */
static const char *
find_unknown (GstElement *element, const CfFilterInfo *info)
{
  static const char *const known[] = { "kernel-size", "kernel-width", "kernel-height", "percentile", "color-order",
    "preset", "kernel", "divisor", NULL };
  static const char *const others[] = { "enabled", "apply-to", "roi", "roi-meta", "mask", "mask-polygons" };

  for (unsigned i = 0; i < info->n_params; i++)
    if (!info->params[i].hidden && !info->params[i].readonly && !g_strv_contains (known, info->params[i].name) &&
        !is_default (element, info->params[i].name))
      return info->params[i].name;
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    if (!is_default (element, others[i]))
      return others[i];
  return NULL;
}

static void
read_sides (GstElement *element, Naive *n)
{
  int size, w, h;

  g_object_get (element, "kernel-size", &size, "kernel-width", &w, "kernel-height", &h, NULL);
  size = size ? size : 5; /* what cudaconvolve takes without a sigma */
  n->w = w ? w : size;
  n->h = h ? h : size;
}

/* Fills the k weights of a Gaussian, which sum to 256. */
static void
gauss (int k, int *weight)
{
  static const int small[3][4] = { { 64, 128 }, { 16, 64, 96 }, { 8, 28, 56, 72 } }; /* of 3, 5 and 7 */
  const double sigma = 0.3 * ((k - 1) / 2 - 1) + 0.8;
  double sum = 0, error = 0;
  int left = 256;

  for (int i = 0; i < k; i++)
    sum += exp (-(i - k / 2) * (i - k / 2) / (2 * sigma * sigma));
  for (int i = 0; i < k / 2; i++) {
    const double exact = 256 * exp (-(i - k / 2) * (i - k / 2) / (2 * sigma * sigma)) / sum + error;

    weight[i] = weight[k - 1 - i] = k > 1 && k <= 7 ? small[k / 2 - 1][i] : (int) rint (exact);
    error = exact - weight[i];
    left -= 2 * weight[i];
  }
  weight[k / 2] = left;
}

/* Fills the weights of a text of whole numbers, rows by ';'. */
static gboolean
read_weights (const char *text, Naive *n)
{
  g_auto (GStrv) rows = g_strsplit (text, ";", -1);

  n->h = (int) g_strv_length (rows);
  n->w = 0;
  for (int j = 0; j < n->h; j++) {
    char *at = rows[j], *end;

    for (int i = 0; *(at += strspn (at, " ,\t")); i++, at = end) {
      const long value = strtol (at, &end, 10);

      if (end == at || strchr (".eE", *end) ? *end != '\0' : labs (value) > 1000000)
        return FALSE;
      if (j == 0) {
        n->w = i + 1;
        n->weights = g_renew (int, n->weights, n->w * n->h);
      }
      if (i >= n->w)
        return FALSE;
      n->weights[j * n->w + i] = (int) value;
    }
  }
  return n->w > 0;
}

/* Fills a preset's weights; `text` is the kernel of "custom". */
static gboolean
find_weights (const char *preset, const char *text, Naive *n)
{
  static const char *const fixed[][2] = { { "sharpen", "0 -1 0; -1 5 -1; 0 -1 0" },
    { "laplace", "0 1 0; 1 -4 1; 0 1 0" } };
  int across[MAX_SIDE], down[MAX_SIDE];

  for (guint i = 0; i < G_N_ELEMENTS (fixed); i++)
    if (g_str_equal (preset, fixed[i][0]))
      return read_weights (fixed[i][1], n);
  if (g_str_equal (preset, "custom"))
    return text && read_weights (text, n);
  n->weights = g_new (int, n->w * n->h);
  n->even = !g_str_equal (preset, "gauss");
  gauss (n->w, across);
  gauss (n->h, down);
  for (int j = 0; j < n->h; j++)
    for (int i = 0; i < n->w; i++)
      n->weights[j * n->w + i] = n->even ? 1 : across[i] * down[j];
  return !n->even || g_str_equal (preset, "box");
}

static gboolean
read_convolution (GstElement *element, Naive *n)
{
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), "preset");
  const GEnumValue *preset;
  g_autofree char *text = NULL;
  gint64 sum = 0, all = 0;
  double divisor;
  int number;

  n->rank = -1;
  n->even = TRUE;
  g_object_get (element, "preset", &number, "kernel", &text, "divisor", &divisor, NULL);
  preset = g_enum_get_value (G_PARAM_SPEC_ENUM (spec)->enum_class, number);
  if (!preset || !find_weights (preset->value_nick, text, n))
    return FALSE;
  for (int i = 0; i < n->w * n->h; i++) {
    sum += n->weights[i];
    all += ABS (n->weights[i]);
  }
  divisor = divisor == 0 || !n->even ? (double) (sum ? sum : 1) : divisor;
  if (divisor < 0) /* the same result with both signs changed */
    for (int i = 0; i < n->w * n->h; i++)
      n->weights[i] = -n->weights[i];
  n->divisor = (int) fabs (divisor);
  return all <= G_MAXINT / 256 && fabs (divisor) <= G_MAXINT / 2 && n->divisor == fabs (divisor);
}

/* Reads the line's only element. Returns FALSE, with the row's note, where the naive filter cannot do that. */
static gboolean
read_line (GstElement *bin, Run *run, BenchRow *row)
{
  g_autolist (GstElement) filters = find_filters (bin);
  GstElement *element = filters && !filters->next && GST_BIN_NUMCHILDREN (bin) == 1 ? filters->data : NULL;
  const CfFilter *filter = element ? bench_line_filter (element) : NULL;
  const char *stem = filter ? cf_filter_info (filter)->stem : "", *unknown;
  const gboolean is_median = g_str_equal (stem, "median");
  CfStatus status = { .code = CF_OK };
  int percentile;

  if (!is_median && !g_str_equal (stem, "convolve"))
    return bench_fail (row, BENCH_LEFT_OUT, "naive C is of one cudamedian or cudaconvolve");
  if ((unknown = find_unknown (element, cf_filter_info (filter))))
    return bench_fail (row, BENCH_LEFT_OUT, "naive C has no %s", unknown);
  run->filter = filter;
  run->params = cf_params_new (filter, NULL);
  if (!run->params || !bench_line_params (element, filter, run->params, &status))
    return bench_fail (row, BENCH_LEFT_OUT, "%s", status.message);
  read_sides (element, &run->naive);
  if (!is_median)
    return read_convolution (element, &run->naive) || bench_fail (row, BENCH_LEFT_OUT, "naive C has no such kernel");
  g_object_get (element, "percentile", &percentile, "color-order", &run->naive.packed, NULL);
  run->naive.rank = (2 * percentile * (run->naive.w * run->naive.h - 1) + 100) / 200;
  return TRUE;
}

/* ---- frames --------------------------------------------------------------- */

static gboolean
has_eight_bits (const GstVideoFormatInfo *format)
{
  for (guint c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format); c++)
    if (GST_VIDEO_FORMAT_INFO_DEPTH (format, c) != 8)
      return FALSE;
  return !GST_VIDEO_FORMAT_INFO_IS_COMPLEX (format);
}

static gboolean
open_run (const BenchCase *c, GstElement *bin, Run *run, BenchRow *row)
{
  const CfVideo video = { cf_format_from_name (c->format), c->size.width, c->size.height, false };
  const CfCommon all = { 0 };
  CfStatus status = { .code = CF_OK };

  if (!gst_video_info_set_format (&run->info, gst_video_format_from_string (c->format), (guint) c->size.width,
          (guint) c->size.height) ||
      !has_eight_bits (run->info.finfo))
    return bench_fail (row, BENCH_LEFT_OUT, "naive C is of samples of 8 bits");
  if (!read_line (bin, run, row))
    return FALSE;
  if (!(run->context = cf_context_new (CF_BACKEND_CPU, &status)) ||
      !(run->plan = cf_plan_new (run->context, run->filter, &video, &all, run->params, &status)))
    return bench_fail (row, BENCH_LEFT_OUT, "%s", status.message);
  if (!bench_images (&run->info, c->video, run->images, IMAGES))
    return bench_fail (row, BENCH_LEFT_OUT, "there are no images of this format");
  for (int i = IMAGES; i < IMAGES + 2; i++)
    run->images[i] = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (&run->info), NULL);
  return TRUE;
}

static void
close_run (Run *run)
{
  for (int i = 0; i < IMAGES + 2; i++)
    gst_clear_buffer (&run->images[i]);
  cf_plan_free (run->plan);
  cf_context_free (run->context);
  if (run->filter)
    cf_params_free (run->filter, run->params);
  g_free (run->naive.weights);
}

static Plane
plane_of (const GstVideoFrame *frame, int comp)
{
  return (Plane) { GST_VIDEO_FRAME_COMP_DATA (frame, comp), GST_VIDEO_FRAME_COMP_STRIDE (frame, comp),
    GST_VIDEO_FRAME_COMP_PSTRIDE (frame, comp), GST_VIDEO_FRAME_COMP_WIDTH (frame, comp),
    GST_VIDEO_FRAME_COMP_HEIGHT (frame, comp) };
}

static guint8 *
sample_at (const Plane *plane, int x, int y)
{
  return plane->data + y * plane->stride + x * plane->step;
}

/* Filters what belongs to row y of the frame. */
static void
filter_row (const Run *run, const GstVideoFrame *in, const GstVideoFrame *out, int y)
{
  const Naive *n = &run->naive;
  const int components = (int) GST_VIDEO_FRAME_N_COMPONENTS (in);
  Plane from[GST_VIDEO_MAX_COMPONENTS], to[GST_VIDEO_MAX_COMPONENTS];

  for (int c = 0; c < components; c++) {
    from[c] = plane_of (in, c);
    to[c] = plane_of (out, c);
  }
  for (int x = 0; n->packed && x < from[0].w; x++) {
    const int color = median (n, from, x, y);

    for (int c = 0; c < 3; c++)
      *sample_at (&to[c], x, y) = (guint8) (color >> (16 - 8 * c));
  }
  for (int c = n->packed ? 3 : 0; c < components; c++) {
    const int base = GST_VIDEO_INFO_IS_YUV (&run->info) && (c == 1 || c == 2) ? 128 : 0;
    const int end = (int) ((gint64) (y + 1) * from[c].h / GST_VIDEO_FRAME_HEIGHT (in));

    for (int row = (int) ((gint64) y * from[c].h / GST_VIDEO_FRAME_HEIGHT (in)); row < end; row++)
      for (int x = 0; x < from[c].w; x++)
        *sample_at (&to[c], x, row) = (guint8) (c == 3 ? sample (&from[c], x, row)
                : n->rank >= 0                         ? median (n, &from[c], x, row)
                                                       : convolution (n, &from[c], x, row, base));
  }
}

/* Returns whether the library gives the same in the first `rows` rows. */
static gboolean
is_same (Run *run, const GstVideoFrame *in, const GstVideoFrame *naive, const GstVideoFrame *ours, int rows)
{
  const CfFormat format = cf_format_from_name (GST_VIDEO_INFO_NAME (&run->info));
  CfImage from = { .format = format, .width = GST_VIDEO_FRAME_WIDTH (in), .height = GST_VIDEO_FRAME_HEIGHT (in) };
  CfImage to = from;
  CfStatus status;

  for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES (in); p++) {
    from.plane[p].data = GST_VIDEO_FRAME_PLANE_DATA (in, p);
    to.plane[p].data = GST_VIDEO_FRAME_PLANE_DATA (ours, p);
    from.plane[p].pitch = to.plane[p].pitch = (size_t) GST_VIDEO_FRAME_PLANE_STRIDE (in, p);
  }
  if (cf_plan_enqueue (run->plan, NULL, &(CfFrame) { .in = &from, .out = &to }, &status) != CF_OK)
    return FALSE;
  for (int c = 0; c < (int) GST_VIDEO_FRAME_N_COMPONENTS (in); c++) {
    const Plane a = plane_of (naive, c), b = plane_of (ours, c);

    for (int y = 0; y < (int) ((gint64) rows * a.h / GST_VIDEO_FRAME_HEIGHT (in)); y++)
      for (int x = 0; x < a.w; x++)
        if (sample (&a, x, y) != sample (&b, x, y))
          return FALSE;
  }
  return TRUE;
}

/* ---- the row -------------------------------------------------------------- */

static double
cpu_seconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* Filters an image, or the rows of it for which there is time. Returns FALSE where the library does otherwise. */
static gboolean
filter_image (const BenchOptions *opt, Run *run, int number)
{
  GstVideoFrame frame[3]; /* the image, and both results */
  GstBuffer *const buffer[3] = { run->images[number], run->images[IMAGES], run->images[IMAGES + 1] };
  const double before = run->wall;
  gboolean same = TRUE;
  int rows = 0, mapped = 0;

  while (mapped < 3 && gst_video_frame_map (&frame[mapped], &run->info, buffer[mapped], GST_MAP_READWRITE))
    mapped++;
  if (mapped == 3) {
    const double cpu = cpu_seconds ();
    const guint64 begin = bench_now ();

    do {
      filter_row (run, &frame[0], &frame[1], rows++);
      run->wall = before + (double) (bench_now () - begin) / 1e9;
    } while (rows < GST_VIDEO_INFO_HEIGHT (&run->info) && !bench_stop && (opt->frames || run->wall < opt->seconds));
    run->cpu += cpu_seconds () - cpu;
    run->rows += (guint64) rows;
    same = is_same (run, &frame[0], &frame[1], &frame[2], rows);
  }
  while (mapped > 0)
    gst_video_frame_unmap (&frame[--mapped]);
  return same && run->rows > 0;
}

static void
fill_row (const BenchCase *c, const Run *run, BenchRow *row)
{
  const double frames = (double) run->rows / c->size.height;

  row->frames = (guint64) ceil (frames);
  row->seconds = run->wall;
  row->fps = frames / run->wall;
  row->ms = 1e3 / row->fps;
  row->cpu_ms = 1e3 * run->cpu / frames;
  row->cores = run->cpu / run->wall;
  row->interrupted = bench_stop != 0;
  if (frames < 1)
    g_snprintf (row->note, sizeof row->note, "from %" G_GUINT64_FORMAT " of %d rows", run->rows, c->size.height);
}

void
bench_naive (const BenchOptions *opt, const BenchCase *c, BenchRow *row)
{
  GstElement *bin = bench_line_new (c, 0, row);
  Run run = { .wall = 0 };

  g_strlcpy (row->format, c->format, sizeof row->format);
  g_strlcpy (row->memory, "plain", sizeof row->memory);
  if (bin && open_run (c, bin, &run, row)) {
    row->frame_bytes = GST_VIDEO_INFO_SIZE (&run.info);
    row->rotating = IMAGES;
    for (int i = 0;
        row->state == BENCH_GOOD && !bench_stop && (opt->frames ? i < opt->frames : i == 0 || run.wall < opt->seconds);
        i++)
      if (!filter_image (opt, &run, i % IMAGES))
        bench_fail (row, BENCH_FAILED, "naive C and the element do not give the same frame");
    if (row->state == BENCH_GOOD)
      fill_row (c, &run, row);
  }
  close_run (&run);
  g_clear_object (&bin);
}
