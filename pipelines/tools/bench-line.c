/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-line.c: the filter line of a case: its bin, its properties, its stats. */

#include "bench-camera.h"
#include "line.h"

#include <gst/video/video.h>
#include <string.h>

gboolean
bench_line_check (const char *line)
{
  g_autofree char *ffmpeg = bench_is_ffmpeg (line) ? g_find_program_in_path ("ffmpeg") : NULL;
  GstElement *bin = bench_is_ffmpeg (line) ? NULL : parse_filter ("", line);
  gboolean good = bin || ffmpeg;

  if (bench_is_ffmpeg (line) && !ffmpeg)
    complain ("'%s': the program ffmpeg is not installed", line);

  if (bin)
    gst_object_unref (gst_object_ref_sink (bin));
  return good;
}

gboolean
bench_format_check (const char *format)
{
  return gst_video_format_from_string (format) > GST_VIDEO_FORMAT_ENCODED ||
      complain ("--format %s: GStreamer knows no such format; examples are NV12, I420, RGBA and GRAY8", format);
}

/* ---- properties --------------------------------------------------------- */

/* Sets the property. Returns FALSE if the text is no value of it or out of range. */
static gboolean
set_property (GstElement *element, GParamSpec *spec, const char *text)
{
  GValue value = G_VALUE_INIT;
  gboolean good;

  g_value_init (&value, spec->value_type);
  good = gst_value_deserialize (&value, text) && !g_param_value_validate (spec, &value);
  if (good)
    g_object_set_property (G_OBJECT (element), spec->name, &value);
  g_value_unset (&value);
  return good;
}

/* Sets the property on all elements of the bin that have it. Returns their number, or -1 if one
 * refuses the value. */
static int
set_all (GstElement *bin, const char *name, const char *text)
{
  g_autolist (GstElement) elements = find_elements (bin, name);
  int n = 0;

  for (GList *l = elements; l && n >= 0; l = l->next) {
    GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (l->data), name);

    if (spec->flags & G_PARAM_WRITABLE)
      n = set_property (l->data, spec, text) ? n + 1 : -1;
  }
  return n;
}

/* Sets the property on this project's elements and returns their number. */
static int
set_ours (GstElement *bin, const char *property, const char *value)
{
  g_autolist (GstElement) filters = find_filters (bin);
  int n = 0;

  for (GList *l = filters; l; l = l->next, n++)
    gst_util_set_object_arg (l->data, property, value);
  return n;
}

GstElement *
bench_line_new (const BenchCase *c, int camera, BenchRow *row)
{
  g_autoptr (GError) error = NULL;
  GstElement *bin = gst_parse_bin_from_description_full (c->line, TRUE, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  int n = 1;

  if (!bin || error) {
    bench_fail (row, bench_failure (c), "%s", error ? error->message : "no such line");
    g_clear_object (&bin);
    return NULL;
  }
  if (c->property)
    n = set_all (bin, c->property, c->value);
  if (n == 0)
    bench_fail (row, BENCH_FAILED, "no element of this line has a property \"%s\"", c->property);
  else if (n < 0)
    bench_fail (row, BENCH_LEFT_OUT, "%s=%s is not a valid value", c->property, c->value);
  else if (c->cpu && set_ours (bin, "backend", "cpu") == 0)
    bench_fail (row, BENCH_LEFT_OUT, "no element of this line has a CPU backend, so there is nothing to compare");
  if (row->state != BENCH_GOOD) {
    gst_object_unref (bin);
    return NULL;
  }
  if (c->gpus) {
    g_autofree char *gpu = g_strdup_printf ("%d", camera % c->gpus);

    set_ours (bin, "cuda-device-id", gpu);
  }
  return bin;
}

/* ---- the filters and their parameters ------------------------------------- */

/* Returns the nicks of a flags value, joined by '+'. */
static char *
text_of_flags (const GValue *value)
{
  g_autoptr (GTypeClass) klass = g_type_class_ref (G_VALUE_TYPE (value));
  const GFlagsClass *flags = G_FLAGS_CLASS (klass);
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < flags->n_values; i++)
    if (g_value_get_flags (value) & flags->values[i].value)
      g_string_append_printf (text, "%s%s", text->len ? "+" : "", flags->values[i].value_nick);
  return g_string_free (text, FALSE);
}

/* Returns the text of a property as cf_params_set takes it. */
static char *
text_of (const GValue *value)
{
  if (G_VALUE_HOLDS_STRING (value))
    return g_value_dup_string (value);
  if (G_VALUE_HOLDS_FLAGS (value))
    return text_of_flags (value);
  if (G_VALUE_HOLDS_ENUM (value))
    return g_strdup_printf ("%d", g_value_get_enum (value));
  return gst_value_serialize (value);
}

gboolean
bench_line_params (GstElement *element, const CfFilter *filter, void *params, CfStatus *status)
{
  const CfFilterInfo *info = cf_filter_info (filter);

  for (unsigned i = 0; i < info->n_params; i++) {
    const CfParam *p = &info->params[i];
    GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), p->name);
    GValue value = G_VALUE_INIT;
    gboolean good = TRUE;

    if (!spec || p->hidden || p->readonly)
      continue;
    g_value_init (&value, spec->value_type);
    g_object_get_property (G_OBJECT (element), spec->name, &value);
    if (!g_param_value_defaults (spec, &value)) {
      g_autofree char *text = text_of (&value);

      good = cf_params_set (filter, params, p->name, text, status) == CF_OK;
    }
    g_value_unset (&value);
    if (!good)
      return FALSE;
  }
  return TRUE;
}

const CfFilter *
bench_line_filter (GstElement *element)
{
  const char *name = GST_OBJECT_NAME (gst_element_get_factory (element));

  return g_str_has_prefix (name, "cuda") ? cf_filter_find (name + strlen ("cuda")) : NULL;
}

/* ---- formats ------------------------------------------------------------ */

static gboolean
takes (GstCaps *caps, const char *format, BenchMemory memory)
{
  g_autoptr (GstCaps) one = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING, format, NULL);

  if (memory == BENCH_CUDA)
    gst_caps_set_features_simple (one, gst_caps_features_new ("memory:CUDAMemory", NULL));

  return gst_caps_can_intersect (caps, one);
}

const char *
bench_line_format (GstElement *bin, const BenchCase *c, BenchRow *row)
{
  static const char *const known[] = { "NV12", "I420", "RGBA", "BGR", "RGB", "AYUV", "GRAY8", "YUY2", NULL };
  GstPad *pad = gst_element_get_static_pad (bin, "sink");
  g_autoptr (GstCaps) caps = gst_pad_query_caps (pad, NULL);
  g_autoptr (GString) others = g_string_new (NULL);
  const char *format = takes (caps, c->format, c->memory) ? c->format : NULL;

  gst_object_unref (pad);
  for (int i = 0; known[i]; i++)
    if (takes (caps, known[i], c->memory)) {
      g_string_append_printf (others, "%s%s", others->len ? ", " : "", known[i]);
      if (!format && c->baseline)
        format = known[i];
    }
  if (!format)
    bench_fail (row, BENCH_LEFT_OUT, "the line does not take %s%s%s%s", c->format,
        c->memory == BENCH_CUDA ? " in CUDA memory" : "", others->len ? "; it takes, for example, " : "", others->str);
  return format;
}

/* ---- stats -------------------------------------------------------------- */

void
bench_stats_find (BenchStats *stats, GstElement *bin)
{
  g_autolist (GstElement) filters = find_filters (bin);

  for (GList *l = filters; l && stats->n < BENCH_ELEMENTS; l = l->next)
    stats->element[stats->n++] = gst_object_ref (l->data);
}

static guint64
field (const GstStructure *stats, const char *name)
{
  guint64 value = 0;

  return stats && gst_structure_get_uint64 (stats, name, &value) ? value : 0;
}

static void
read_element (GstElement *element, BenchElement *out)
{
  GstElementFactory *factory = gst_element_get_factory (element);
  g_autofree char *backend = active_backend (element);
  g_autoptr (GstStructure) stats = NULL;

  g_object_get (element, "stats", &stats, NULL);
  g_strlcpy (out->name, factory ? GST_OBJECT_NAME (factory) : "?", sizeof out->name);
  g_strlcpy (out->backend, backend, sizeof out->backend);
  out->frames = field (stats, "frames");
  out->gpu = field (stats, "frames-gpu");
  out->cpu = field (stats, "frames-cpu");
  out->fallback = field (stats, "frames-fallback");
  out->passed = field (stats, "frames-passed");
  /* Medians of the last frames: the means include the first ones, which may have waited for kernels to load. */
  out->upload_p50 = (double) field (stats, "upload-p50") / 1e3;
  out->kernel_p50 = (double) field (stats, "kernel-p50") / 1e3;
  out->download_p50 = (double) field (stats, "download-p50") / 1e3;
  out->total_p50 = (double) field (stats, "total-p50") / 1e3;
}

void
bench_stats_begin (BenchStats *stats)
{
  for (int i = 0; i < stats->n; i++)
    read_element (stats->element[i], &stats->before[i]);
}

void
bench_stats_read (BenchStats *stats, BenchRow *row)
{
  row->n_elements = stats->n;
  for (int i = 0; i < stats->n; i++) {
    const BenchElement *before = &stats->before[i];
    BenchElement *out = &row->element[i];

    read_element (stats->element[i], out);
    out->frames -= before->frames;
    out->gpu -= before->gpu;
    out->cpu -= before->cpu;
    out->fallback -= before->fallback;
    out->passed -= before->passed;
  }
}

void
bench_stats_clear (BenchStats *stats)
{
  for (int i = 0; i < stats->n; i++)
    gst_object_unref (stats->element[i]);
}
