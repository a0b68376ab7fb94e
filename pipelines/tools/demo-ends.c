/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * demo-ends.c: where the video of cf-demo comes from and where it goes. */

#include "demo.h"
#include "line.h"
#include "output.h"

#include <glib/gstdio.h>
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#define TEST_FRAMES 100 /* frames of the test pattern that are written to a file */

/* ---- input -------------------------------------------------------------- */

/* Returns whether the camera exists and can be opened. */
static gboolean
check_camera (const char *path)
{
  glob_t found;

  if (access (path, F_OK)) {
    gboolean any = glob ("/dev/video[0-9]*", 0, NULL, &found) == 0;
    g_autofree char *cameras = any ? g_strjoinv (" ", found.gl_pathv) : g_strdup ("none");

    globfree (&found);
    return complain ("no camera %s; cameras here: %s", path, cameras);
  }
  if (access (path, R_OK | W_OK))
    return complain ("%s cannot be opened: %s; members of the group \"video\" can open it", path, g_strerror (errno));
  return TRUE;
}

static gboolean
check_file (const char *path)
{
  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return complain ("no file \"%s\"; the input is a file, a camera such as /dev/video0 or an address such as "
                     "rtsp://host/stream",
        path);
  if (g_file_test (path, G_FILE_TEST_IS_DIR))
    return complain ("\"%s\" is a folder; the input is one video file", path);
  return !access (path, R_OK) || complain ("\"%s\" cannot be read: %s", path, g_strerror (errno));
}

gboolean
demo_choose_source (DemoOptions *opt, DemoEnds *ends)
{
  const char *input = opt->input, *line = "filesrc name=source ! decodebin name=decoder", *property = "location";

  if (!input) {
    line = "videotestsrc name=source pattern=smpte horizontal-speed=3 ! "
           "video/x-raw,format=I420,width=640,height=480,framerate=30/1";
    property = NULL;
  } else if (g_str_has_prefix (input, "/dev/video")) {
    opt->live = TRUE;
    line = "v4l2src name=source ! decodebin name=decoder";
    property = "device";
    if (!check_camera (input))
      return FALSE;
  } else if (strstr (input, "://")) {
    opt->live = g_str_has_prefix (input, "rtsp");
    line = "uridecodebin name=source";
    property = "uri";
  } else if (!check_file (input)) {
    return FALSE;
  }
  ends->source = g_strdup (line);
  ends->property = g_strdup (property);
  ends->value = g_strdup (input);
  return TRUE;
}

/* ---- output ------------------------------------------------------------- */

static gboolean
have (const char *factory)
{
  g_autoptr (GstElementFactory) found = gst_element_factory_find (factory);

  return found != NULL;
}

/* Returns the first window sink that opens here, or NULL. Does not use autovideosink, which falls back to
 * a fakesink. */
static const char *
choose_window (void)
{
  gboolean wayland = g_getenv ("WAYLAND_DISPLAY") != NULL, x11 = g_getenv ("DISPLAY") != NULL;
  const struct {
    const char *name;
    gboolean has_display;
  } sinks[] = { { "waylandsink", wayland }, { "xvimagesink", x11 }, { "ximagesink", x11 },
    { "glimagesink", wayland || x11 } };

  for (guint i = 0; i < G_N_ELEMENTS (sinks); i++) {
    GstElement *sink = sinks[i].has_display ? gst_element_factory_make (sinks[i].name, NULL) : NULL;
    gboolean opens = sink && gst_element_set_state (sink, GST_STATE_READY) == GST_STATE_CHANGE_SUCCESS;

    if (sink)
      gst_element_set_state (sink, GST_STATE_NULL);
    g_clear_pointer (&sink, gst_object_unref);
    if (opens)
      return sinks[i].name;
  }
  if (wayland || x11)
    say ("no window can be opened on this display, or GStreamer's plugin for it is missing (gstreamer1.0-x)");
  else
    say ("no display here (neither DISPLAY nor WAYLAND_DISPLAY is set), so no window");
  return NULL;
}

/* Encoders by quality, not by bits per second: what a filter has made finer must not be lost again. x264enc and vp8enc
 * have a limit of 2 and 0.3 Mbit/s in these modes, too, which is taken away here. */
static const struct {
  char codec;
  const char *line, *needs;
} encoders[] = {
  { 'h', "x264enc pass=qual quantizer=20 vbv-buf-capacity=0 speed-preset=veryfast key-int-max=60", NULL },
  { 'h', "openh264enc rate-control=off qp-min=20 qp-max=24 gop-size=60 ! h264parse", "h264parse" },
  { 'v', "vp8enc end-usage=cq cq-level=20 target-bitrate=100000000 deadline=1 cpu-used=16 threads=8", NULL },
  { 'j', "jpegenc quality=92", NULL },
};

/* The endings of file names; for each, the codecs that it may have, the best first. An unfinished MP4 file has an index
 * only in fragments. */
static const struct {
  const char *ending, *mux, *codecs;
} containers[] = {
  { ".mp4", "mp4mux fragment-duration=1000 fragment-mode=first-moov-then-finalise", "h" },
  { ".mkv", "matroskamux", "hvj" },
  { ".webm", "webmmux", "v" },
  { ".avi", "avimux", "j" },
};

static const char *
find_encoder (const char *codecs)
{
  for (; *codecs; codecs++)
    for (guint i = 0; i < G_N_ELEMENTS (encoders); i++) {
      g_autofree char *name = g_strndup (encoders[i].line, strcspn (encoders[i].line, " "));

      if (encoders[i].codec == *codecs && have (name) && (!encoders[i].needs || have (encoders[i].needs)))
        return encoders[i].line;
    }
  return NULL;
}

/* Returns the launch line of encoder and muxer for the file's name (free it), or NULL after a message. */
static char *
choose_writer (const DemoOptions *opt)
{
  for (guint i = 0; i < G_N_ELEMENTS (containers); i++) {
    const char *ending = containers[i].ending, *encoder = find_encoder (containers[i].codecs);
    gsize length = strlen (opt->output), n = strlen (ending);
    gboolean live = opt->live && encoder && g_str_has_prefix (encoder, "x264enc");

    if (length <= n || g_ascii_strcasecmp (opt->output + length - n, ending))
      continue;
    if (encoder)
      return g_strdup_printf ("%s%s ! %s", encoder, live ? " tune=zerolatency" : "", containers[i].mux);
    complain ("--output \"%s\": there is no encoder for %s here: %s; .mkv and .avi need neither", opt->output, ending,
        containers[i].codecs[0] == 'h' ? "gstreamer1.0-plugins-ugly has x264enc"
                                       : "gstreamer1.0-plugins-good has vp8enc");
    return NULL;
  }
  complain ("--output \"%s\": the name has to end in .mp4, .mkv, .webm or .avi", opt->output);
  return NULL;
}

char *
demo_picture_name (const char *output)
{
  return g_strdup_printf ("%.*s.png", (int) (strrchr (output, '.') - output), output);
}

/* Returns a name that no file has. Free it. */
static char *
default_output (void)
{
  const char *ending = find_encoder ("v") && have ("webmmux") ? "webm" : "mkv";

  for (int i = 1;; i++) {
    g_autofree char *number = i > 1 ? g_strdup_printf ("-%d", i) : g_strdup ("");
    g_autofree char *name = g_strdup_printf ("cudafilters-demo%s.%s", number, ending);
    g_autofree char *part = g_strconcat (name, ".part", NULL), *picture = demo_picture_name (name);

    if (access (name, F_OK) && access (part, F_OK) && access (picture, F_OK))
      return g_steal_pointer (&name);
  }
}

gboolean
demo_choose_sink (DemoOptions *opt, DemoEnds *ends)
{
  const char *inputs[] = { opt->input, NULL }, *window = opt->output ? NULL : choose_window ();

  opt->window = window != NULL;
  if (window) {
    ends->sink = g_strdup (window);
    return TRUE;
  }
  if (!opt->output)
    opt->output = default_output ();
  ends->sink = choose_writer (opt);
  ends->part = ends->sink ? output_part_new ("--output", opt->output, opt->force, inputs) : NULL;
  if (!opt->input && opt->frames == 0)
    opt->frames = TEST_FRAMES;
  return ends->part != NULL;
}

/* ---- the same for gst-launch-1.0 ----------------------------------------- */

static gboolean
is_plain (const char *text)
{
  return !text[strspn (text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_@%+=:,./!-")];
}

/* Appends the word as a shell takes it. */
static void
append_word (GString *line, const char *word)
{
  g_autofree char *quoted = is_plain (word) ? g_strdup (word) : g_shell_quote (word);

  g_string_append_printf (line, " %s", quoted);
}

/* Appends the words of a launch line, without names, which only this program needs. */
static void
append_words (GString *line, const char *text)
{
  g_auto (GStrv) words = NULL;

  if (g_shell_parse_argv (text, NULL, &words, NULL))
    for (char **word = words; *word; word++)
      if (!g_str_has_prefix (*word, "name="))
        append_word (line, *word);
}

/* Appends a property whose value is any text. */
static void
append_property (GString *line, const char *name, const char *value)
{
  g_autoptr (GString) word = g_string_new (name);
  const char *quote = is_plain (value) ? "" : "\"";

  g_string_append_printf (word, "=%s", quote);
  for (; *value; value++) {
    if (*value == '"' || *value == '\\')
      g_string_append_c (word, '\\');
    g_string_append_c (word, *value);
  }
  g_string_append (word, quote);
  append_word (line, word->str);
}

void
demo_print_line (const DemoOptions *opt, const DemoEnds *ends)
{
  g_autoptr (GString) line = g_string_new ("gst-launch-1.0 -e");
  const char *rest = strchr (ends->source, '!');
  g_autofree char *first = rest ? g_strndup (ends->source, (gsize) (rest - ends->source)) : g_strdup (ends->source);

  append_words (line, first);
  if (ends->property)
    append_property (line, ends->property, ends->value);
  else if (opt->frames)
    g_string_append_printf (line, " num-buffers=%d", opt->frames);
  append_words (line, rest ? rest : "");
  append_words (line, "! videoconvert !");
  if (opt->before) {
    append_words (line, opt->before);
    append_words (line, "!");
  }
  append_words (line, opt->filter);
  append_words (line, "! videoconvert !");
  append_words (line, opt->window ? "autovideosink" : ends->sink);
  if (!opt->window) {
    append_words (line, "! filesink");
    append_property (line, "location", opt->output);
  }
  say ("%s", line->str);
}
