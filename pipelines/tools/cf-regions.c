/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf-regions: lists the regions that cudasegment finds in a file, a camera or a network camera: as tables for people,
 * or as JSON, an object a line, for programs.
 *
 *   source ! queue ! videoconvert ! FILTER with a cudasegment ! fakesink
 *
 * A probe behind the cudasegment reads the label map's list of regions (gstcudasegmentmeta.h). */

#include "gstcudasegmentmeta.h"
#include "line.h"

#include <gst/video/video.h>

#include <errno.h>
#include <glib-unix.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LARGEST 10         /* rows of a table, if not asked for others */
#define OLDEST 10          /* rows of the table at the end */
#define NOT_GIVEN G_MININT /* an option */

typedef struct {
  char **inputs;
  char *filter;
  double interval; /* seconds between two lists; 0: each frame */
  int largest;     /* regions of a list; 0: all */
  int frames;      /* 0: until the input ends */
  gboolean json;
} Options;

/* What the streaming thread counts. The main thread reads it when the pipeline has stopped. */
typedef struct {
  guint frames;
  guint fewest, most; /* regions in a frame */
  guint64 seen;       /* regions that began */
  double first, last; /* times of frames */
  double due;         /* time of the next list */
  GArray *oldest;     /* GstCudaSegmentRegion: those of the highest age, as they were last */
  guint width, height;
} Count;

typedef struct {
  Options opt;
  GstElement *pipeline;
  GMainLoop *loop;
  GstVideoInfo info; /* of the frame under way */
  Count count;
  gint ended;      /* atomic: no more frames are read */
  gboolean failed; /* an error was printed */
} Program;

/* ---- a region ----------------------------------------------------------- */

/* Returns the mean colour as 0xRRGGBB, by the matrix and the range that the video states. */
static guint
rgb_of (const GstVideoInfo *info, const GstCudaSegmentRegion *r)
{
  gdouble kr = 0.299, kb = 0.114, y = r->mean_y / 255, cb = (r->mean_cb - 128) / 255, cr = (r->mean_cr - 128) / 255;
  gdouble part[3];
  guint rgb = 0;

  if (!GST_VIDEO_INFO_IS_RGB (info)) {
    gdouble red, blue;

    if (gst_video_color_matrix_get_Kr_Kb (info->colorimetry.matrix, &red, &blue)) {
      kr = red;
      kb = blue;
    }
    if (info->colorimetry.range != GST_VIDEO_COLOR_RANGE_0_255) {
      y = (r->mean_y - 16) / 219;
      cb = (r->mean_cb - 128) / 224;
      cr = (r->mean_cr - 128) / 224;
    }
  }
  part[0] = y + 2 * (1 - kr) * cr;
  part[2] = y + 2 * (1 - kb) * cb;
  part[1] = (y - kr * part[0] - kb * part[2]) / (1 - kr - kb);
  for (guint i = 0; i < 3; i++)
    rgb = rgb << 8 | (guint) (CLAMP (part[i], 0, 1) * 255 + 0.5);
  return rgb;
}

/* The larger one first, of equals the one with the smaller id. */
static gint
compare_area (gconstpointer a, gconstpointer b)
{
  const GstCudaSegmentRegion *r = a, *s = b;

  return r->area != s->area ? (r->area < s->area ? 1 : -1) : r->id < s->id ? -1 : r->id > s->id;
}

/* The older one first, of equals the larger one. */
static gint
compare_age (gconstpointer a, gconstpointer b)
{
  const GstCudaSegmentRegion *r = a, *s = b;

  return r->age != s->age ? (r->age < s->age ? 1 : -1) : compare_area (a, b);
}

/* Returns the regions of a map that have pixels, the largest first. Free the array. */
static GArray *
sort_regions (const GstCudaSegmentMap *map)
{
  GArray *regions = g_array_sized_new (FALSE, FALSE, sizeof (GstCudaSegmentRegion), map->n_regions);

  for (guint i = 0; i < map->n_regions; i++)
    if (map->region[i].area > 0)
      g_array_append_val (regions, map->region[i]);
  g_array_sort (regions, compare_area);
  return regions;
}

/* ---- tables ------------------------------------------------------------- */

/* "1:02:03.45" or "2:03.45". */
static char *
time_text (double seconds)
{
  guint64 hundredths = (guint64) (MAX (seconds, 0) * 100 + 0.5), minutes = hundredths / 6000;

  if (minutes >= 60)
    return g_strdup_printf ("%u:%02u:%05.2f", (guint) (minutes / 60), (guint) (minutes % 60),
        hundredths % 6000 / 100.0);
  return g_strdup_printf ("%u:%05.2f", (guint) minutes, hundredths % 6000 / 100.0);
}

static void
print_rows (const Program *program, const GArray *regions, guint n)
{
  double pixels = (double) program->count.width * program->count.height;

  if (n > 0)
    printf ("%8s %7s %10s %7s  %-13s %-13s %s\n", "id", "frames", "pixels", "share", "size", "at", "colour");
  for (guint i = 0; i < n; i++) {
    const GstCudaSegmentRegion *r = &g_array_index (regions, GstCudaSegmentRegion, i);
    g_autofree char *size = g_strdup_printf ("%u x %u", r->width, r->height);
    g_autofree char *at = g_strdup_printf ("%u, %u", r->x, r->y);

    printf ("%8u %7u %10u %6.2f%%  %-13s %-13s #%06x\n", r->id, r->age + 1, r->area, 100 * r->area / pixels, size, at,
        rgb_of (&program->info, r));
  }
}

static void
print_table (const Program *program, const GArray *regions, guint n, double time)
{
  g_autofree char *text = time_text (time);
  g_autofree char *which = n < regions->len ? g_strdup_printf (", the largest %u", n) : g_strdup ("");

  printf ("%s  frame %u of %u x %u: %u region%s%s\n", text, program->count.frames, program->count.width,
      program->count.height, regions->len, regions->len == 1 ? "" : "s", which);
  print_rows (program, regions, n);
  putchar ('\n');
}

/* The table at the end. */
static void
print_summary (const Program *program)
{
  const Count *count = &program->count;
  g_autofree char *length = time_text (count->last - count->first);

  printf ("%u frame%s in %s: %u to %u regions in a frame, %" G_GUINT64_FORMAT " in all.\n", count->frames,
      count->frames == 1 ? "" : "s", length, count->fewest, count->most, count->seen);
  puts ("Those that stayed longest:");
  print_rows (program, count->oldest, count->oldest->len);
}

/* ---- JSON --------------------------------------------------------------- */

static void
print_json (const Program *program, const GArray *regions, guint n, double time)
{
  const Count *count = &program->count;

  printf ("{\"frame\": %u, \"time\": %.6f, \"width\": %u, \"height\": %u, \"count\": %u, \"regions\": [", count->frames,
      time, count->width, count->height, regions->len);
  for (guint i = 0; i < n; i++) {
    const GstCudaSegmentRegion *r = &g_array_index (regions, GstCudaSegmentRegion, i);

    printf ("%s{\"id\": %u, \"age\": %u, \"area\": %u, \"x\": %u, \"y\": %u, \"width\": %u, \"height\": %u, "
            "\"centroid\": [%.2f, %.2f], \"mean\": [%.2f, %.2f, %.2f], \"colour\": \"#%06x\"}",
        i ? ", " : "", r->id, r->age, r->area, r->x, r->y, r->width, r->height, r->centroid_x, r->centroid_y, r->mean_y,
        r->mean_cb, r->mean_cr, rgb_of (&program->info, r));
  }
  puts ("]}");
}

/* ---- frames ------------------------------------------------------------- */

/* Keeps the OLDEST regions of the highest age, each as it was when it was last seen. */
static void
keep_oldest (GArray *oldest, const GstCudaSegmentRegion *r)
{
  GstCudaSegmentRegion *youngest = NULL;

  for (guint i = 0; i < oldest->len; i++) {
    GstCudaSegmentRegion *kept = &g_array_index (oldest, GstCudaSegmentRegion, i);

    if (kept->id == r->id && kept->age < r->age) {
      *kept = *r;
      return;
    }
    if (!youngest || compare_age (kept, youngest) > 0)
      youngest = kept;
  }
  if (oldest->len < OLDEST)
    g_array_append_val (oldest, *r);
  else if (compare_age (r, youngest) < 0)
    *youngest = *r;
}

static void
count_regions (Count *count, const GArray *regions)
{
  for (guint i = 0; i < regions->len; i++) {
    const GstCudaSegmentRegion *r = &g_array_index (regions, GstCudaSegmentRegion, i);

    count->seen += r->age == 0;
    keep_oldest (count->oldest, r);
  }
  count->fewest = count->frames ? MIN (count->fewest, regions->len) : regions->len;
  count->most = MAX (count->most, regions->len);
}

/* Returns the time of the frame in the stream, in seconds; that of the one before where it has none. */
static double
time_of (const Program *program, GstPad *pad, GstBuffer *buffer)
{
  g_autoptr (GstEvent) event = gst_pad_get_sticky_event (pad, GST_EVENT_SEGMENT, 0);
  GstClockTime time = GST_CLOCK_TIME_NONE;
  const GstSegment *segment;

  if (event && GST_BUFFER_PTS_IS_VALID (buffer)) {
    gst_event_parse_segment (event, &segment);
    time = gst_segment_to_stream_time (segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));
  }
  return GST_CLOCK_TIME_IS_VALID (time) ? (double) time / GST_SECOND : program->count.last;
}

/* Ends the program, from the streaming thread: by a message, because a main loop that does not run yet cannot be
 * quit. */
static void
end (Program *program)
{
  g_atomic_int_set (&program->ended, 1);
  gst_element_post_message (program->pipeline,
      gst_message_new_application (GST_OBJECT (program->pipeline), gst_structure_new_empty ("end")));
}

static void
list_frame (Program *program, const GArray *regions, double time)
{
  guint n = program->opt.largest > 0 ? MIN ((guint) program->opt.largest, regions->len) : regions->len;

  if (time + 1e-6 < program->count.due)
    return;
  while (program->opt.interval > 0 && program->count.due <= time + 1e-6)
    program->count.due += program->opt.interval;
  if (program->opt.json)
    print_json (program, regions, n, time);
  else
    print_table (program, regions, n, time);
  /* A reader behind a pipe sees each list at once. */
  if (!flush_output ())
    end (program);
}

static GstPadProbeReturn
read_frame (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Program *program = data;
  Count *count = &program->count;
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);
  g_autoptr (GArray) regions = NULL;
  GstCudaSegmentMap map;
  double time;

  if (g_atomic_int_get (&program->ended))
    return GST_PAD_PROBE_DROP;
  if (!caps || !gst_video_info_from_caps (&program->info, caps) ||
      !gst_cuda_segment_map_get (GST_PAD_PROBE_INFO_BUFFER (info), &map))
    return GST_PAD_PROBE_OK;
  regions = sort_regions (&map);
  time = time_of (program, pad, GST_PAD_PROBE_INFO_BUFFER (info));
  if (count->frames == 0)
    count->first = count->due = time;
  count->width = map.width;
  count->height = map.height;
  count_regions (count, regions);
  list_frame (program, regions, time);
  count->last = time;
  count->frames++;
  if (program->opt.frames > 0 && count->frames >= (guint) program->opt.frames)
    end (program);
  return GST_PAD_PROBE_OK;
}

/* ---- the pipeline ------------------------------------------------------- */

/* Returns the launch line of the source, or NULL after a message. Sets *uri (free it) where it has one. */
static const char *
choose_source (const char *input, char **uri)
{
  g_autoptr (GError) error = NULL;
  gboolean camera = g_str_has_prefix (input, "/dev/");

  *uri = NULL;
  if (strstr (input, "://"))
    *uri = g_strdup (input);
  else if (access (input, R_OK))
    complain ("\"%s\" cannot be read: %s; INPUT is a video file, /dev/videoN or an address such as rtsp://host/stream",
        input, g_strerror (errno));
  else if (g_file_test (input, G_FILE_TEST_IS_DIR))
    complain ("\"%s\" is a directory; INPUT is one video file", input);
  else if (camera)
    return "v4l2src name=source ! decodebin ! queue leaky=downstream max-size-buffers=4";
  else if (!(*uri = gst_filename_to_uri (input, &error)))
    complain ("\"%s\": %s", input, error->message);
  return *uri ? "uridecodebin name=source ! queue name=in max-size-buffers=4" : NULL;
}

static void
on_no_more_pads (GstElement *source, gpointer data)
{
  Program *program = data;
  g_autoptr (GstElement) in = gst_bin_get_by_name (GST_BIN (program->pipeline), "in");
  g_autoptr (GstPad) sink = gst_element_get_static_pad (in, "sink");

  (void) source;
  if (!gst_pad_is_linked (sink))
    GST_ELEMENT_ERROR (program->pipeline, STREAM, WRONG_TYPE, ("there is no video in it"), (NULL));
}

/* Returns the cudasegment that is read: the last one of the line; NULL after a message if it has none. Unref
 * it. */
static GstElement *
find_segment (GstElement *filter, const char *line)
{
  g_autolist (GstElement) segments = find_elements (filter, "label-meta");

  if (segments)
    return gst_object_ref (g_list_last (segments)->data);
  complain ("--filter '%s': no cudasegment is in this line, and only it finds regions", line);
  return NULL;
}

/* Puts the filter between source and sink. Returns FALSE after a message. */
static gboolean
build (Program *program, GstElement *filter, const char *source_line, const char *uri)
{
  g_autofree char *line = g_strdup_printf ("%s ! videoconvert name=convert  fakesink name=sink sync=false",
      source_line);
  g_autoptr (GstElement) source = NULL, convert = NULL, sink = NULL;
  g_autoptr (GError) error = NULL;

  program->pipeline = gst_parse_launch_full (line, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (!program->pipeline)
    return complain ("GStreamer lacks something: %s", error->message);
  gst_bin_add (GST_BIN (program->pipeline), filter);
  source = gst_bin_get_by_name (GST_BIN (program->pipeline), "source");
  convert = gst_bin_get_by_name (GST_BIN (program->pipeline), "convert");
  sink = gst_bin_get_by_name (GST_BIN (program->pipeline), "sink");
  if (!gst_element_link (convert, filter) || !gst_element_link (filter, sink))
    return complain ("--filter '%s' does not take and give raw video", program->opt.filter);
  if (uri) {
    g_object_set (source, "uri", uri, NULL);
    g_signal_connect (source, "no-more-pads", G_CALLBACK (on_no_more_pads), program);
  } else
    g_object_set (source, "device", program->opt.inputs[0], NULL);
  return TRUE;
}

/* Returns whether the pipeline was made; else a message says why not. */
static gboolean
prepare (Program *program)
{
  g_autoptr (GstElement) filter = NULL, segment = NULL;
  g_autofree char *uri = NULL;
  g_autoptr (GstPad) pad = NULL;
  const char *line = program->opt.filter, *source;

  if (line[strcspn (line, " =")] == '=') /* GStreamer calls it an empty bin */
    return complain ("--filter '%s' has no element; right would be --filter 'cudasegment %s'", line, line);
  filter = parse_filter ("--filter ", line);
  if (!filter)
    return FALSE;
  gst_object_ref_sink (filter);
  segment = find_segment (filter, line);
  source = segment ? choose_source (program->opt.inputs[0], &uri) : NULL;
  if (!source || !build (program, filter, source, uri))
    return FALSE;
  /* Nothing sees the picture behind it, so that painting would be in vain. */
  gst_util_set_object_arg (G_OBJECT (segment), "output", "passthrough");
  g_object_set (segment, "label-meta", TRUE, NULL);
  pad = gst_element_get_static_pad (segment, "src");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, read_frame, program, NULL);
  return TRUE;
}

static void
print_error (Program *program, GstMessage *message)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *debug = NULL;
  const char *detail;

  gst_message_parse_error (message, &error, &debug);
  if (program->failed) /* later errors are consequences of the first */
    return;
  program->failed = TRUE;
  complain ("%s: %s", program->opt.inputs[0], error->message);
  detail = debug ? strchr (debug, '\n') : NULL; /* behind the place in the source */
  if (detail && detail[1])
    say ("  %s", detail + 1);
  if (g_error_matches (error, GST_CORE_ERROR, GST_CORE_ERROR_MISSING_PLUGIN) ||
      g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_CODEC_NOT_FOUND))
    say ("  most decoders are in gstreamer1.0-libav and gstreamer1.0-plugins-bad");
}

static gboolean
on_message (GstBus *bus, GstMessage *message, gpointer data)
{
  Program *program = data;
  g_autoptr (GError) error = NULL;

  (void) bus;
  switch (GST_MESSAGE_TYPE (message)) {
    case GST_MESSAGE_EOS:
    case GST_MESSAGE_APPLICATION: /* of end () */
      g_main_loop_quit (program->loop);
      break;
    case GST_MESSAGE_ERROR:
      print_error (program, message);
      g_main_loop_quit (program->loop);
      break;
    case GST_MESSAGE_WARNING:
      gst_message_parse_warning (message, &error, NULL);
      /* The audio of a file finds no place here, and so it should be. */
      if (!g_error_matches (error, GST_PARSE_ERROR, GST_PARSE_ERROR_DELAYED_LINK))
        complain ("warning: %s: %s", GST_MESSAGE_SRC_NAME (message), error->message);
      break;
    default:
      break;
  }
  return G_SOURCE_CONTINUE;
}

static gboolean
on_signal (gpointer data)
{
  Program *program = data;

  g_atomic_int_set (&program->ended, 1);
  g_main_loop_quit (program->loop);
  return G_SOURCE_CONTINUE;
}

/* Plays to the end, or until Ctrl-C. Returns the status of the process. */
static int
run (Program *program)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (program->pipeline);

  program->loop = g_main_loop_new (NULL, FALSE);
  program->count.oldest = g_array_new (FALSE, FALSE, sizeof (GstCudaSegmentRegion));
  gst_bus_add_watch (bus, on_message, program);
  g_unix_signal_add (SIGINT, on_signal, program);
  g_unix_signal_add (SIGTERM, on_signal, program);
  gst_element_set_state (program->pipeline, GST_STATE_PLAYING); /* a failure arrives as a message */
  g_main_loop_run (program->loop);
  gst_element_set_state (program->pipeline, GST_STATE_NULL);
  gst_bus_remove_watch (bus);
  g_main_loop_unref (program->loop);
  if (program->count.frames > 0 && !program->opt.json) {
    g_array_sort (program->count.oldest, compare_age);
    print_summary (program);
  }
  if (program->count.frames == 0 && !program->failed && !program->ended)
    program->failed = !complain ("%s: no frame came out of it", program->opt.inputs[0]);
  g_array_unref (program->count.oldest);
  return program->failed ? 1 : 0;
}

/* ---- command line ------------------------------------------------------- */

static const char summary[] =
    "Lists the regions of similar colour that cudasegment finds in a video: the largest ones once a\n"
    "second, and at the end those that stayed longest. INPUT is a video file, a camera (/dev/video0)\n"
    "or an address (rtsp://...).\n\n"
    "  cf-regions street.avi\n"
    "  cf-regions --filter 'cudamedian ! cudasegment max-regions=30' --largest 5 /dev/video0\n"
    "  cf-regions --json --interval 0 street.avi > regions.jsonl    every region of every frame";

static const char description[] =
    "id        number of the region, the same from frame to frame as long as it stays\n"
    "frames    how many frames it has been there, this one included\n"
    "pixels    its size; share: of the frame\n"
    "size, at  width and height of the smallest box around it, and the box's left and upper edge\n"
    "colour    its mean colour, red, green and blue as #rrggbb\n\n"
    "JSON has an object a line: frame (from 0), time in seconds, width, height, count, and regions,\n"
    "each with id, age in frames (0: new), area, x, y, width, height, centroid, mean (Y, Cb, Cr) and\n"
    "colour. Ctrl-C ends a camera's list. Status 0: good; 1: the input or the output failed; 2: a\n"
    "wrong command line.";

static gboolean
parse_options (Options *opt, int argc, char **argv)
{
  const GOptionEntry entries[] = {
    { "filter", 'f', 0, G_OPTION_ARG_STRING, &opt->filter, "element line with a cudasegment (cudasegment)", "LINE" },
    { "interval", 'i', 0, G_OPTION_ARG_DOUBLE, &opt->interval,
        "seconds of the video between two lists (1); 0: each frame", "SECONDS" },
    { "largest", 'l', 0, G_OPTION_ARG_INT, &opt->largest, "regions of a list (10, with --json all); 0: all", "N" },
    { "frames", 'n', 0, G_OPTION_ARG_INT, &opt->frames, "end after N frames", "N" },
    { "json", 'j', 0, G_OPTION_ARG_NONE, &opt->json, "print an object of JSON a line, and no summary", NULL },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &opt->inputs, NULL, NULL },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  guint n;

  if (!parse_command_line (entries, "INPUT - the regions of a video", summary, description, &argc, &argv))
    return FALSE;
  n = opt->inputs ? g_strv_length (opt->inputs) : 0;
  if (n != 1)
    return complain ("%u inputs were given, but one is needed: a video file, /dev/videoN or an address; see --help", n);
  if (!(opt->interval >= 0 && opt->interval <= 1e6))
    return complain ("--interval %g: expected 0 (each frame) to 1000000 seconds", opt->interval);
  if (opt->largest == NOT_GIVEN)
    opt->largest = opt->json ? 0 : LARGEST;
  if (opt->largest < 0 || opt->frames < 0)
    return complain ("%s %d: expected 0 or more", opt->frames < 0 ? "--frames" : "--largest",
        opt->frames < 0 ? opt->frames : opt->largest);
  return TRUE;
}

int
main (int argc, char **argv)
{
  Program program = { .opt = { .interval = 1, .largest = NOT_GIVEN } };
  int status = 2;

  setlocale (LC_ALL, "");
  if (!parse_options (&program.opt, argc, argv))
    return 2;
  setlocale (LC_NUMERIC, "C"); /* decimal points in JSON */
  gst_init (NULL, NULL);
  if (!program.opt.filter)
    program.opt.filter = g_strdup ("cudasegment");
  if (prepare (&program))
    status = run (&program);
  g_clear_object (&program.pipeline);
  g_free (program.opt.filter);
  g_strfreev (program.opt.inputs);
  return status;
}
