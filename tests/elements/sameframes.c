/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * sameframes.c: compares the frames of two pipelines byte for byte.
 *
 *   sameframes [--all-on-gpu NAME,NAME] [--quick-exit] 'PIPELINE A' 'PIPELINE B'
 *
 * Each pipeline ends in "appsink name=out0", or in several branches with out0, out1 and so on; each
 * branch of A is compared with that of B, so that one decoder and one CUDA context serve all branches.
 * The program prints a line per branch. --all-on-gpu: the stats of these elements in A must show that
 * the GPU filtered every frame; otherwise the CPU would have been compared with itself. Compared are
 * caps, samples, not padding, and the metas of cudasegment.
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

#define MAX_OUTS 32

typedef struct {
  GstElement *pipeline;
  guint n; /* sinks */
  GstAppSink *sink[MAX_OUTS];
} Side;

/* The results of a branch. */
typedef struct {
  guint64 frames, regions, maps; /* frames, and metas that are equal on both sides */
  gchar *wrong;                  /* NULL: nothing is wrong */
  gboolean ended;
} Out;

static void
side_find_sinks (Side *side)
{
  for (; side->n < MAX_OUTS; side->n++) {
    g_autofree gchar *name = g_strdup_printf ("out%u", side->n);
    GstElement *out = GST_IS_BIN (side->pipeline) ? gst_bin_get_by_name (GST_BIN (side->pipeline), name) : NULL;

    if (!out)
      return;
    side->sink[side->n] = GST_APP_SINK (out);
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
    printf ("%s: %s\n", line, error ? error->message : "does not end in \"appsink name=out0\"");
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

/* ---- what is compared, as bytes ------------------------------------------- */

/* Returns the bytes of a row of a plane up to the end of its last sample, and the plane's rows. */
static gsize
row_bytes (const GstVideoFrame *frame, guint plane, gint *rows)
{
  gsize bytes = 0;

  for (gint c = 0; c < (gint) GST_VIDEO_FRAME_N_COMPONENTS (frame); c++)
    if (GST_VIDEO_FRAME_COMP_PLANE (frame, c) == plane) {
      gint end = (GST_VIDEO_FRAME_COMP_WIDTH (frame, c) - 1) * GST_VIDEO_FRAME_COMP_PSTRIDE (frame, c) +
          GST_VIDEO_FRAME_COMP_POFFSET (frame, c) + (GST_VIDEO_FRAME_COMP_DEPTH (frame, c) + 7) / 8;

      bytes = MAX (bytes, (gsize) end);
      *rows = GST_VIDEO_FRAME_COMP_HEIGHT (frame, c);
    }
  return bytes;
}

/* Returns the samples, and adds 1 if they can be read. */
static GByteArray *
samples_of (GstSample *sample, guint64 *n)
{
  GByteArray *all = g_byte_array_new ();
  GstVideoFrame frame;
  GstVideoInfo info;

  if (!gst_video_info_from_caps (&info, gst_sample_get_caps (sample)) ||
      !gst_video_frame_map (&frame, &info, gst_sample_get_buffer (sample), GST_MAP_READ))
    return all;
  ++*n;
  for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES (&frame); p++) {
    gint rows = 0;
    gsize bytes = row_bytes (&frame, p, &rows);

    for (gint y = 0; y < rows; y++)
      g_byte_array_append (all,
          (const guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, p) +
              (gssize) y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p),
          (guint) bytes);
  }
  gst_video_frame_unmap (&frame);
  return all;
}

/* Returns the region metas as text, and adds their number. */
static GByteArray *
regions_of (GstSample *sample, guint64 *n)
{
  GstVideoRegionOfInterestMeta *meta;
  GString *text = g_string_new (NULL);
  gpointer state = NULL;

  while ((meta = (gpointer) gst_buffer_iterate_meta_filtered (gst_sample_get_buffer (sample), &state,
              GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
    g_string_append_printf (text, "%s %d %d %u %u %u %u", g_quark_to_string (meta->roi_type), meta->id, meta->parent_id,
        meta->x, meta->y, meta->w, meta->h);
    for (GList *param = meta->params; param; param = param->next) {
      g_autofree gchar *one = gst_structure_to_string (param->data);

      g_string_append (text, one);
    }
    ++*n;
  }
  return g_bytes_unref_to_array (g_string_free_to_bytes (text));
}

/* Returns the label map, and adds 1 if there is one. */
static GByteArray *
map_of (GstSample *sample, guint64 *n)
{
  GByteArray *all = g_byte_array_new ();
  GstCudaSegmentMap map;

  if (!gst_cuda_segment_map_get (gst_sample_get_buffer (sample), &map))
    return all;
  ++*n;
  g_byte_array_append (all, (const guint8 *) map.region, (guint) (map.n_regions * sizeof *map.region));
  for (gsize y = 0; y < map.height; y++)
    g_byte_array_append (all, (const guint8 *) map.label + y * map.pitch, map.width * 2u);
  return all;
}

/* Takes both arrays. */
static gboolean
are_same (GByteArray *a, GByteArray *b)
{
  gboolean same = a->len == b->len && memcmp (a->data, b->data, a->len) == 0;

  g_byte_array_unref (a);
  g_byte_array_unref (b);
  return same;
}

/* Returns what differs, or NULL. */
static const gchar *
find_difference (Out *out, GstSample *a, GstSample *b)
{
  guint64 of_a = 0, of_b = 0;

  if (!a || !b)
    return "only one of the pipelines has it";
  if (!gst_caps_is_equal (gst_sample_get_caps (a), gst_sample_get_caps (b)))
    return "the caps differ";
  if (!are_same (samples_of (a, &of_a), samples_of (b, &of_b)) || of_a + of_b != 2)
    return "the samples differ";
  if (!are_same (regions_of (a, &out->regions), regions_of (b, &of_b)))
    return "the metas of regions differ";
  return are_same (map_of (a, &out->maps), map_of (b, &of_b)) ? NULL : "the label maps differ";
}

/* Pulls a frame of a branch and compares it. After a difference frames are only pulled. */
static void
pull (Out *out, GstAppSink *a, GstAppSink *b)
{
  GstSample *x = gst_app_sink_pull_sample (a), *y = gst_app_sink_pull_sample (b);
  const gchar *what = (x || y) && !out->wrong ? find_difference (out, x, y) : NULL;

  if (what)
    out->wrong = g_strdup_printf ("frame %" G_GUINT64_FORMAT ": %s", out->frames, what);
  out->frames += x != NULL;
  out->ended = !x || !y;
  g_clear_pointer (&x, gst_sample_unref);
  g_clear_pointer (&y, gst_sample_unref);
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
        pull (&out[i], a->sink[i], b->sink[i]);
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
    if (out[i].wrong || out[i].frames == 0)
      printf ("%s\n", out[i].wrong ? out[i].wrong : "no frame came");
    else
      printf ("%" G_GUINT64_FORMAT " frames the same, with %" G_GUINT64_FORMAT " regions and %" G_GUINT64_FORMAT
              " label maps\n",
          out[i].frames, out[i].regions, out[i].maps);
    good = good && !out[i].wrong && out[i].frames > 0;
  }
  return good;
}

static gboolean
compare (const char *line_a, const char *line_b, gchar **gpu)
{
  Side a = { NULL }, b = { NULL };
  Out out[MAX_OUTS] = { { 0 } };
  gboolean good = side_open (&a, line_a) && side_open (&b, line_b);

  if (good && a.n != b.n) {
    printf ("%u branches and %u\n", a.n, b.n);
    good = FALSE;
  }
  if (good) {
    run_sides (&a, &b, out);
    good = !side_failed (&a) && !side_failed (&b);
    for (guint i = 0; good && gpu && gpu[i]; i++)
      good = side_all_on_gpu (&a, gpu[i], out[0].frames);
    good = print_results (out, a.n) && good;
  } else if (a.pipeline) {
    side_failed (&a);
  }
  for (guint i = 0; i < a.n; i++)
    g_free (out[i].wrong);
  side_close (&a);
  side_close (&b);
  return good;
}

int
main (int argc, char **argv)
{
  g_autofree gchar *gpu = NULL;
  g_auto (GStrv) names = NULL;
  gboolean quick_exit = FALSE, good;
  GOptionEntry entries[] = { { "all-on-gpu", 0, 0, G_OPTION_ARG_STRING, &gpu,
                                 "the elements that must have used the GPU", "NAME,NAME" },
    { "quick-exit", 0, 0, G_OPTION_ARG_NONE, &quick_exit, "end without exit handlers", NULL }, { NULL } };
  GOptionContext *options = g_option_context_new ("A B");
  GError *error = NULL;

  g_option_context_add_main_entries (options, entries, NULL);
  g_option_context_add_group (options, gst_init_get_option_group ());
  if (!g_option_context_parse (options, &argc, &argv, &error) || argc != 3) {
    printf ("%s\n", error ? error->message : "two pipelines");
    return 2;
  }
  g_option_context_free (options);
  names = gpu ? g_strsplit (gpu, ",", -1) : NULL;
  good = compare (argv[1], argv[2], names);
  (void) fflush (stdout);
  if (quick_exit)
    _exit (good ? 0 : 1);
  return good ? 0 : 1;
}
