/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * sameframes.c: compares the frames of two pipelines byte for byte.
 *
 *   sameframes [--hash] [--all-on-gpu NAME,NAME] [--quick-exit] 'PIPELINE A' ['PIPELINE B']
 *
 * Each pipeline ends in "appsink name=out", or in several branches with out, out1, out2 and so on;
 * each branch of A is compared with that of B, so that one decoder and one CUDA context serve all
 * branches. The program prints a line per branch. With one pipeline, or with --hash, the line has
 * the number of frames and the SHA-256 of their samples. --all-on-gpu: the stats of these elements
 * in A must show that the GPU filtered every frame; otherwise the CPU would have been compared
 * with itself. Compared are samples, not padding, and the metas of cudasegment.
 *
 * --quick-exit ends the process without exit handlers, for pipelines with NVIDIA's decoders: a
 * thread that the driver's video library starts (libnvidia-eglcore 580.159) crashed while exit
 * handlers ran in 6 of 94 short processes on an H200, in half of them without an element of this
 * plugin. */
#include "gstcudasegmentmeta.h"
#include "stats.h"

#include <gst/app/gstappsink.h>
#include <gst/video/video.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_OUTS 16

typedef struct {
  GstElement *pipeline;
  guint n; /* sinks */
  GstAppSink *sink[MAX_OUTS];
} Side;

/* The results of a branch of A and, where there is one, of B. */
typedef struct {
  GChecksum *sum;
  guint64 frames, regions, maps; /* metas that are equal on both sides */
  gchar *wrong; /* NULL: nothing is wrong */
  gboolean ended;
} Out;

static void
side_find_sinks (Side *side)
{
  for (guint i = 0; i < MAX_OUTS; i++) {
    gchar name[16] = "out";
    GstElement *out;

    if (i > 0)
      g_snprintf (name, sizeof name, "out%u", i);
    out = GST_IS_BIN (side->pipeline) ? gst_bin_get_by_name (GST_BIN (side->pipeline), name) : NULL;
    if (!out || !GST_IS_APP_SINK (out)) {
      g_clear_object (&out);
      return;
    }
    side->sink[side->n++] = GST_APP_SINK (out);
    g_object_set (out, "sync", FALSE, "max-buffers", 4, "emit-signals", FALSE, NULL);
  }
}

static gboolean
side_open (Side *side, const char *line)
{
  GError *error = NULL;

  side->pipeline = gst_parse_launch (line, &error);
  if (side->pipeline)
    side_find_sinks (side);
  if (error || side->n == 0) {
    printf ("%s: %s\n", line, error ? error->message : "does not end in \"appsink name=out\"");
    g_clear_error (&error);
    return FALSE;
  }
  return gst_element_set_state (side->pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE;
}

/* Prints the pipeline's error; FALSE: there is none. */
static gboolean
side_failed (Side *side)
{
  GstBus *bus = gst_element_get_bus (side->pipeline);
  GstMessage *message = bus ? gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR) : NULL;
  GError *error = NULL;

  g_clear_object (&bus);
  if (!message)
    return FALSE;
  gst_message_parse_error (message, &error, NULL);
  printf ("%s: %s\n", GST_OBJECT_NAME (message->src), error->message);
  g_clear_error (&error);
  gst_message_unref (message);
  return TRUE;
}

static gboolean
side_all_on_gpu (Side *side, const gchar *name, guint64 want)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (side->pipeline), name);
  guint64 frames = element ? stat_of (element, "frames") : 0, gpu = element ? stat_of (element, "frames-gpu") : 0;

  if (element)
    gst_object_unref (element);
  if (frames == 0 || gpu != frames || frames != want) {
    printf ("%s: the GPU filtered %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " frames\n", name, gpu, want);
    return FALSE;
  }
  return TRUE;
}

static void
side_close (Side *side)
{
  if (side->pipeline)
    gst_element_set_state (side->pipeline, GST_STATE_NULL);
  for (guint i = 0; i < side->n; i++)
    gst_object_unref (side->sink[i]);
  if (side->pipeline)
    gst_object_unref (side->pipeline);
}

static gboolean
map_sample (GstSample *sample, GstVideoFrame *frame)
{
  GstVideoInfo info;

  return gst_video_info_from_caps (&info, gst_sample_get_caps (sample)) &&
      gst_video_frame_map (frame, &info, gst_sample_get_buffer (sample), GST_MAP_READ);
}

/* Returns the bytes of a row of a plane up to the end of its last sample. */
static gsize
row_bytes (const GstVideoFrame *frame, guint plane)
{
  gsize bytes = 0;

  for (gint c = 0; c < (gint) GST_VIDEO_FRAME_N_COMPONENTS (frame); c++)
    if (GST_VIDEO_FRAME_COMP_PLANE (frame, c) == plane) {
      gsize end = (gsize) (GST_VIDEO_FRAME_COMP_WIDTH (frame, c) - 1) *
          (gsize) GST_VIDEO_FRAME_COMP_PSTRIDE (frame, c) + (gsize) GST_VIDEO_FRAME_COMP_POFFSET (frame, c) +
          (gsize) (GST_VIDEO_FRAME_COMP_DEPTH (frame, c) + 7) / 8;

      bytes = MAX (bytes, end);
    }
  return bytes;
}

static guint
plane_rows (const GstVideoFrame *frame, guint plane)
{
  for (gint c = 0; c < (gint) GST_VIDEO_FRAME_N_COMPONENTS (frame); c++)
    if (GST_VIDEO_FRAME_COMP_PLANE (frame, c) == plane)
      return (guint) GST_VIDEO_FRAME_COMP_HEIGHT (frame, c);
  return 0;
}

static const guint8 *
plane_row (const GstVideoFrame *frame, guint plane, guint y)
{
  return (const guint8 *) GST_VIDEO_FRAME_PLANE_DATA (frame, plane) +
      (gsize) y * (gsize) GST_VIDEO_FRAME_PLANE_STRIDE (frame, plane);
}

static gboolean
same_samples (GstSample *a, GstSample *b)
{
  GstVideoFrame in, out;
  gboolean equal = FALSE;

  if (!map_sample (a, &in))
    return FALSE;
  if (map_sample (b, &out)) {
    equal = TRUE;
    for (guint p = 0; equal && p < GST_VIDEO_FRAME_N_PLANES (&in); p++)
      for (guint y = 0; equal && y < plane_rows (&in, p); y++)
        equal = memcmp (plane_row (&in, p, y), plane_row (&out, p, y), row_bytes (&in, p)) == 0;
    gst_video_frame_unmap (&out);
  }
  gst_video_frame_unmap (&in);
  return equal;
}

static gboolean
same_params (GList *a, GList *b)
{
  for (; a && b; a = a->next, b = b->next)
    if (!gst_structure_is_equal (a->data, b->data))
      return FALSE;
  return !a && !b;
}

/* Compares the next region meta of each buffer; *end: one of the buffers has no more. */
static gboolean
same_region (GstBuffer *a, gpointer *state_a, GstBuffer *b, gpointer *state_b, gboolean *end)
{
  const GType type = GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE;
  GstVideoRegionOfInterestMeta *x = (gpointer) gst_buffer_iterate_meta_filtered (a, state_a, type);
  GstVideoRegionOfInterestMeta *y = (gpointer) gst_buffer_iterate_meta_filtered (b, state_b, type);

  *end = !x || !y;
  return !x == !y && (!x || (x->roi_type == y->roi_type && x->id == y->id && x->parent_id == y->parent_id &&
      x->x == y->x && x->y == y->y && x->w == y->w && x->h == y->h && same_params (x->params, y->params)));
}

static gboolean
same_maps (const GstCudaSegmentMap *a, const GstCudaSegmentMap *b)
{
  if (a->width != b->width || a->height != b->height || a->n_regions != b->n_regions ||
      memcmp (a->region, b->region, a->n_regions * sizeof *a->region) != 0)
    return FALSE;
  for (gsize y = 0; y < a->height; y++)
    if (memcmp ((const guint8 *) a->label + y * a->pitch, (const guint8 *) b->label + y * b->pitch, a->width * 2u) != 0)
      return FALSE;
  return TRUE;
}

/* Returns which metas differ, or NULL. Counts the equal ones. */
static const gchar *
find_different_meta (Out *out, GstBuffer *a, GstBuffer *b)
{
  gpointer state_a = NULL, state_b = NULL;
  GstCudaSegmentMap x, y;
  gboolean end = FALSE, map = gst_cuda_segment_map_get (a, &x);

  while (!end) {
    if (!same_region (a, &state_a, b, &state_b, &end))
      return "metas of regions";
    out->regions += !end;
  }
  if (map != gst_cuda_segment_map_get (b, &y) || (map && !same_maps (&x, &y)))
    return "label maps";
  out->maps += map;
  return NULL;
}

/* Returns the first difference, or NULL; the caller frees it. */
static gchar *
find_difference (Out *out, GstSample *a, GstSample *b)
{
  const gchar *meta;

  if (!gst_caps_is_equal (gst_sample_get_caps (a), gst_sample_get_caps (b))) {
    g_autofree gchar *x = gst_caps_to_string (gst_sample_get_caps (a));
    g_autofree gchar *y = gst_caps_to_string (gst_sample_get_caps (b));

    return g_strdup_printf ("frame %" G_GUINT64_FORMAT ": the caps are %s and %s", out->frames, x, y);
  }
  if (!same_samples (a, b))
    return g_strdup_printf ("frame %" G_GUINT64_FORMAT " differs", out->frames);
  meta = find_different_meta (out, gst_sample_get_buffer (a), gst_sample_get_buffer (b));
  return meta ? g_strdup_printf ("frame %" G_GUINT64_FORMAT ": the %s differ", out->frames, meta) : NULL;
}

static void
add_to_sum (GChecksum *sum, GstSample *sample)
{
  GstVideoFrame map;

  if (!map_sample (sample, &map))
    return;
  for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES (&map); p++)
    for (guint y = 0; y < plane_rows (&map, p); y++)
      g_checksum_update (sum, plane_row (&map, p, y), (gssize) row_bytes (&map, p));
  gst_video_frame_unmap (&map);
}

/* Pulls a frame of a branch and compares it; `b` may be NULL. After a difference frames are only
 * pulled. */
static void
pull (Out *out, GstAppSink *a, GstAppSink *b)
{
  GstSample *x = gst_app_sink_pull_sample (a), *y = b ? gst_app_sink_pull_sample (b) : NULL;

  if (!out->wrong && b && !x != !y)
    out->wrong = g_strdup_printf ("one of the pipelines ends after %" G_GUINT64_FORMAT " frames, the other does not",
        out->frames);
  if (!out->wrong && x && y)
    out->wrong = find_difference (out, x, y);
  if (x && out->sum)
    add_to_sum (out->sum, x);
  out->frames += x != NULL;
  out->ended = !x || (b && !y);
  if (x)
    gst_sample_unref (x);
  if (y)
    gst_sample_unref (y);
}

/* Pulls from the branches in rotation, because a full branch blocks the others. */
static void
run_sides (Side *a, Side *b, Out *out)
{
  guint running = a->n;

  while (running > 0) {
    running = 0;
    for (guint i = 0; i < a->n; i++) {
      if (!out[i].ended)
        pull (&out[i], a->sink[i], b ? b->sink[i] : NULL);
      running += !out[i].ended;
    }
  }
}

/* Prints a line per branch. */
static gboolean
print_results (const Out *out, guint n)
{
  gboolean good = TRUE;

  for (guint i = 0; i < n; i++) {
    gboolean bad = out[i].wrong || out[i].frames == 0;

    if (bad)
      printf ("%s\n", out[i].wrong ? out[i].wrong : "no frame came");
    else
      printf ("%" G_GUINT64_FORMAT " frames %s", out[i].frames,
          out[i].sum ? g_checksum_get_string (out[i].sum) : "the same");
    if (!bad && out[i].regions + out[i].maps > 0)
      printf (", with %" G_GUINT64_FORMAT " regions and %" G_GUINT64_FORMAT " label maps", out[i].regions, out[i].maps);
    if (!bad)
      printf ("\n");
    good = good && !bad;
  }
  return good;
}

static gboolean
compare (const char *line_a, const char *line_b, gboolean hash, gchar **gpu)
{
  Side a = { NULL }, b = { NULL };
  Out out[MAX_OUTS] = { { NULL } };
  gboolean good = side_open (&a, line_a) && (!line_b || side_open (&b, line_b));

  if (good && line_b && a.n != b.n) {
    printf ("%u branches and %u\n", a.n, b.n);
    good = FALSE;
  }
  if (good) {
    for (guint i = 0; i < a.n; i++)
      out[i].sum = hash || !line_b ? g_checksum_new (G_CHECKSUM_SHA256) : NULL;
    run_sides (&a, line_b ? &b : NULL, out);
    good = !side_failed (&a) && (!line_b || !side_failed (&b));
    for (guint i = 0; good && gpu && gpu[i]; i++)
      good = side_all_on_gpu (&a, gpu[i], out[0].frames);
    good = print_results (out, a.n) && good;
  } else if (a.pipeline) {
    side_failed (&a);
  }
  for (guint i = 0; i < a.n; i++) {
    g_free (out[i].wrong);
    g_clear_pointer (&out[i].sum, g_checksum_free);
  }
  side_close (&a);
  side_close (&b);
  return good;
}

int
main (int argc, char **argv)
{
  gboolean hash = FALSE, quick_exit = FALSE, good;
  gchar *gpu = NULL, **names;
  GOptionEntry entries[] = {
    { "hash", 0, 0, G_OPTION_ARG_NONE, &hash, "print the SHA-256 of the frames", NULL },
    { "all-on-gpu", 0, 0, G_OPTION_ARG_STRING, &gpu, "the elements that must have used the GPU", "NAME,NAME" },
    { "quick-exit", 0, 0, G_OPTION_ARG_NONE, &quick_exit, "end without exit handlers", NULL },
    { NULL }
  };
  GOptionContext *options = g_option_context_new ("A [B]");
  GError *error = NULL;

  g_option_context_add_main_entries (options, entries, NULL);
  g_option_context_add_group (options, gst_init_get_option_group ());
  if (!g_option_context_parse (options, &argc, &argv, &error) || argc < 2 || argc > 3) {
    printf ("%s\n", error ? error->message : "one or two pipelines");
    return 2;
  }
  g_option_context_free (options);
  names = gpu ? g_strsplit (gpu, ",", -1) : NULL;
  good = compare (argv[1], argc == 3 ? argv[2] : NULL, hash, names);
  g_strfreev (names);
  g_free (gpu);
  (void) fflush (stdout);
  if (quick_exit)
    _exit (good ? 0 : 1);
  return good ? 0 : 1;
}
