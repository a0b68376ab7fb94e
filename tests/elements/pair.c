/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * pair.c: see pair.h. */
#include "pair.h"

/* Looks at a frame that leaves e0: one that is unfinished has a meta that holds the input, which belongs to another
 * element. */
static GstPadProbeReturn
look (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  GType api = g_type_from_name ("GstCfChainAPI");
  GstCudaSegmentMap map;
  Pair *pair = data;

  (void) pad;
  pair->unfinished += api && gst_buffer_get_meta (buffer, api) != NULL;
  if (gst_cuda_segment_map_get (buffer, &map) && !pair->found[0]) {
    pair->found[0] = found_in_map (buffer);
    pair->found[1] = found_in_metas (buffer);
  }
  return GST_PAD_PROBE_OK;
}

/* Returns "FILTER backend=cpu name=e0 ! ..." or, with `between`, the same on the GPU. */
static gchar *
describe (const gchar *const *filters, guint n, const gchar *between)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s%s%s name=e%u ! ", i && between ? between : "", filters[i],
        between ? ON_GPU : " backend=cpu ", i);
  return g_string_free (text, FALSE);
}

void
set_both_caps (Pair *pair, const gchar *format, gint width, gint height)
{
  set_caps (pair->gpu, video_caps (format, width, height, NULL), &pair->info);
  set_caps (pair->cpu, video_caps (format, width, height, NULL), &pair->info);
}

void
open_pair_around (Pair *pair, const gchar *head, const gchar *const *filters, guint n, const gchar *between,
    const gchar *tail, const gchar *format, gint width, gint height)
{
  gchar *cpu = describe (filters, n, NULL), *gpu = describe (filters, n, between);
  gchar *cpu_line = g_strconcat (cpu, "identity", NULL), *gpu_line = g_strconcat (head, gpu, tail, TO_HOST, NULL);

  memset (pair, 0, sizeof *pair);
  pair->gpu = parse_harness (gpu_line);
  pair->cpu = parse_harness (cpu_line);
  gst_harness_set_sink_caps_str (pair->gpu, "video/x-raw");
  set_both_caps (pair, format, width, height);
  add_probe (child_of (pair->gpu, "e0"), "src", look, pair);
  g_free (gpu_line);
  g_free (cpu_line);
  g_free (gpu);
  g_free (cpu);
}

void
open_pair (Pair *pair, const gchar *head, const gchar *const *filters, guint n, const gchar *between)
{
  open_pair_around (pair, head, filters, n, between, DOWNLOAD, "NV12", 640, 480);
}

void
close_pair (Pair *pair)
{
  free_harness (pair->gpu);
  free_harness (pair->cpu);
}

void
expect_same (Pair *pair, guint n, const gchar *what)
{
  while (n--) {
    GstBuffer *out = gst_harness_pull (pair->gpu), *right = gst_harness_pull (pair->cpu);

    fail_unless (out && right, "%s: no frame came out", what);
    assert_same (&pair->info, out, right);
    gst_buffer_unref (out);
    gst_buffer_unref (right);
  }
}

void
push_frame (Pair *pair, GstBuffer *in)
{
  fail_unless_equals_int (gst_harness_push (pair->gpu, gst_buffer_ref (in)), GST_FLOW_OK);
  fail_unless_equals_int (gst_harness_push (pair->cpu, in), GST_FLOW_OK);
}

void
push (Pair *pair, guint n)
{
  while (n--)
    push_frame (pair, random_frame (&pair->info, pair->frames++, 0));
}

void
set_one (GstHarness *h, const gchar *name, const gchar *property, const gchar *value)
{
  set_value (child_of (h, name), property, value);
}

void
set_both (Pair *pair, const gchar *name, const gchar *property, const gchar *value)
{
  set_one (pair->gpu, name, property, value);
  set_one (pair->cpu, name, property, value);
}

void
expect_on_gpu (Pair *pair, guint n, guint64 frames)
{
  for (guint i = 0; i < n; i++) {
    gchar name[] = { 'e', (gchar) ('0' + i), '\0' };
    GstElement *element = child_of (pair->gpu, name);

    fail_unless_equals_uint64 (stat_of (element, "frames-gpu"), frames);
    fail_unless_equals_uint64 (stat_of (element, "frames"), frames);
    fail_unless (stat_of (element, "gpu-launches") > 0);
  }
}
