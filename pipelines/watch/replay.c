/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * replay.c: compares a piece's frames with what its filter makes of the original.
 *
 * The filter has to make all frames of the piece, in their order; the original may have more. The record tells only
 * within ten seconds from which frame on a change counts. So each setting that may have been in force is tried; they
 * have to follow each other as in the record. That needs a filter that makes each frame of one frame alone. */
#include "replay.h"

#include "chain.h"
#include "hashes.h"
#include "rerun.h"

#include <gst/app/gstappsink.h>
#include <string.h>

#define MARGIN (10 * G_USEC_PER_SEC) /* between a change and the first frame with it */
#define MAX_TRIED 64                 /* settings for one frame */
#define HASH_LENGTH 64
#define CANNOT "it cannot be filtered again, because "

/* The filter from a change on. */
typedef struct {
  gint64 time; /* µs since 1970; of the first one G_MININT64 */
  JsonArray *elements;
  guint first, last; /* of the changes that were made on them */
  Rerun *filter;     /* NULL: not needed yet, or any more */
} State;

typedef struct {
  JsonArray *changes;
  GArray *states; /* of State */
  guint state;    /* in force */
  const char *at; /* the rest of the list of hashes */
  char *hash;     /* the next frame's, NULL: all were found */
  gint64 wall;    /* its time */
  guint64 found, frames;
  guint64 pending, left_out; /* pending: frames of the original since the last one that was found */
  GstCaps *caps;             /* before the filter */
  GstVideoInfo info;
  GString *wrong;
} Replay;

/* ---- the record ---------------------------------------------------------- */

static void
clear_state (gpointer data)
{
  rerun_free (((State *) data)->filter);
}

static JsonArray *
array_of (JsonObject *object, const char *member)
{
  JsonNode *node = json_object_get_member (object, member);

  return node && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
}

/* Adds the state behind a change. Another filter line adds none: it begins another piece. */
static gboolean
add_state (Replay *replay, guint i)
{
  JsonObject *change = chain_object (replay->changes, i);
  const char *text = chain_text (change, "time"), *set = chain_text (change, "set");
  g_autoptr (GDateTime) time = text ? g_date_time_new_from_iso8601 (text, NULL) : NULL;
  State state = g_array_index (replay->states, State, replay->states->len - 1);

  if (!time)
    return FALSE;
  if (!g_strcmp0 (set, "filter"))
    return TRUE;
  if (!set)
    state.elements = array_of (change, "settings");
  if (!set || state.last != i) /* a change of the filter line came in between */
    state.first = set ? i : i + 1;
  state.last = i + 1;
  state.time = g_date_time_to_unix (time) * G_USEC_PER_SEC + g_date_time_get_microsecond (time);
  g_array_append_val (replay->states, state);
  return state.elements != NULL;
}

static gboolean
read_record (Replay *replay, JsonObject *record)
{
  State first = { .time = G_MININT64, .elements = array_of (record, "settings") };
  gboolean ok;

  replay->changes = array_of (record, "changes");
  ok = first.elements && replay->changes;
  g_array_append_val (replay->states, first);
  if (json_object_has_member (record, "changes_left_out")) {
    g_string_append (replay->wrong, CANNOT "not all changes are in its record");
    return FALSE;
  }
  for (guint i = 0; ok && i < json_array_get_length (replay->changes); i++)
    ok = add_state (replay, i);
  if (!ok)
    g_string_append (replay->wrong, CANNOT "its record lacks settings or changes");
  return ok;
}

/* ---- the list of hashes -------------------------------------------------- */

static gboolean
read_caps (Replay *replay, const char *line)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (line);

  if (!caps || !gst_video_info_from_caps (&replay->info, caps))
    g_string_append (replay->wrong, CANNOT "its list of hashes names no kind of frames");
  else if (replay->caps && !gst_caps_is_equal (caps, replay->caps))
    g_string_append (replay->wrong, CANNOT "the frames before the filter change their kind within it");
  gst_caps_replace (&replay->caps, caps);
  return !replay->wrong->len;
}

/* Reads the next frame's line. At the end `hash` is NULL. Returns FALSE with what is wrong. */
static gboolean
next (Replay *replay)
{
  g_clear_pointer (&replay->hash, g_free);
  while (*replay->at && !replay->hash) {
    const gsize length = strcspn (replay->at, "\n");
    g_autofree char *line = g_strndup (replay->at, length);
    char *end;

    replay->at += length + (replay->at[length] == '\n');
    if (g_str_has_prefix (line, "video/x-raw")) {
      if (!read_caps (replay, line))
        return FALSE;
      continue;
    }
    replay->wall = g_ascii_strtoll (line, &end, 10);
    if (*end != ' ' || strlen (end + 1) != HASH_LENGTH || !replay->caps) {
      g_string_append_printf (replay->wrong, CANNOT "nobody knows the hash of its frame %" G_GUINT64_FORMAT,
          replay->found + 1);
      return FALSE;
    }
    replay->hash = g_strdup (end + 1);
  }
  return TRUE;
}

/* ---- frames -------------------------------------------------------------- */

/* May the next frame of the piece have been filtered in this state? */
static gboolean
may_be (const Replay *replay, guint i)
{
  const State *state = &g_array_index (replay->states, State, i), *later = state + 1;

  return (i == 0 || state->time <= replay->wall + MARGIN) &&
      (i + 1 == replay->states->len || later->time >= replay->wall - MARGIN);
}

/* Takes what has come out of the filter. Returns whether the next frame of the piece was among it. */
static gboolean
compare (Replay *replay, Rerun *filter)
{
  gboolean any = FALSE;
  char *hash;

  while ((hash = rerun_take (filter))) {
    if (replay->hash && !strcmp (hash, replay->hash)) {
      any = TRUE;
      replay->left_out += replay->pending;
      replay->pending = 0;
      replay->found++;
      next (replay);
    } else if (rerun_is_pure (filter) == FALSE)
      replay->pending += replay->found > 0;
    g_free (hash);
  }
  return any;
}

/* Returns the filter of the state, NULL with what is wrong. */
static Rerun *
filter_of (Replay *replay, State *state)
{
  g_autoptr (GString) why = g_string_new (NULL);

  if (!state->filter && !(state->filter = rerun_new (state->elements, replay->changes, state->first, state->last, why)))
    g_string_append_printf (replay->wrong, CANNOT "%s", why->str);
  else if (replay->states->len > 1 && !rerun_is_pure (state->filter))
    g_string_append (replay->wrong,
        CANNOT "its frames depend on those before, and a setting has changed: nobody knows from which frame on");
  return replay->wrong->len ? NULL : state->filter;
}

/* Filters a frame of the original in each state that may have been in force, and looks for the next frame of the piece.
 * `frame` is NULL when the original has ended. Returns FALSE with what is wrong. */
static gboolean
try (Replay *replay, GstBuffer *frame)
{
  guint tried = 0;

  while (replay->state + 1 < replay->states->len && !may_be (replay, replay->state) &&
      g_array_index (replay->states, State, replay->state + 1).time <= replay->wall + MARGIN)
    g_clear_pointer (&g_array_index (replay->states, State, replay->state++).filter, rerun_free);
  for (guint i = replay->state; i < replay->states->len && (i == replay->state || may_be (replay, i)); i++) {
    State *state = &g_array_index (replay->states, State, i);
    Rerun *filter;

    if (++tried > MAX_TRIED) {
      g_string_append (replay->wrong, CANNOT "too many settings have changed within seconds");
      return FALSE;
    }
    if (!(filter = filter_of (replay, state)) || !rerun_push (filter, replay->caps, frame, replay->wrong))
      return FALSE;
    if (compare (replay, filter)) {
      while (replay->state < i)
        g_clear_pointer (&g_array_index (replay->states, State, replay->state++).filter, rerun_free);
      return !replay->wrong->len;
    }
  }
  if (frame && rerun_is_pure (g_array_index (replay->states, State, replay->state).filter))
    replay->pending += replay->found > 0;
  return TRUE;
}

/* ---- the original -------------------------------------------------------- */

/* Lets decodebin go on with pictures only: elements for other streams may open any address and any file. */
static gboolean
on_continue (GstElement *decoder, GstPad *pad, GstCaps *caps, gpointer data)
{
  static const char *const kinds[] = { "video/", "image/", "multipart/x-mixed-replace", "application/ogg",
    "application/mxf", "application/x-yuv4mpeg" };
  const char *name = gst_structure_get_name (gst_caps_get_structure (caps, 0));

  (void) decoder;
  (void) pad;
  (void) data;
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_str_has_prefix (name, kinds[i]))
      return TRUE;
  return FALSE;
}

/* Is it one of the formats that have the same samples in another order? */
static gboolean
is_420 (const char *format)
{
  static const char *const formats[] = { "I420", "NV12", "NV21", "YV12", NULL };

  return format && g_strv_contains (formats, format);
}

/* Links the first stream of pictures. */
static void
on_pad (GstElement *decoder, GstPad *pad, gpointer convert)
{
  g_autoptr (GstPad) sink = gst_element_get_static_pad (convert, "sink");
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);
  const GstStructure *structure = caps ? gst_caps_get_structure (caps, 0) : NULL;
  GstElement *taken = g_object_get_data (G_OBJECT (decoder), "taken");
  const char *wanted = g_object_get_data (G_OBJECT (decoder), "format");

  if (!structure || !gst_structure_has_name (structure, "video/x-raw") || gst_pad_is_linked (sink))
    return;
  if (is_420 (wanted) && is_420 (gst_structure_get_string (structure, "format"))) {
    g_autoptr (GstCaps) same = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING, wanted, NULL);

    g_object_set (taken, "caps", same, NULL);
  }
  gst_pad_link (pad, sink);
}

static void
on_no_more_pads (GstElement *decoder, gpointer convert)
{
  g_autoptr (GstPad) sink = gst_element_get_static_pad (convert, "sink");

  if (!gst_pad_is_linked (sink))
    GST_ELEMENT_ERROR (decoder, STREAM, WRONG_TYPE, ("there is no picture in it"), (NULL));
}

static GstElement *
decode (Replay *replay, const char *path, GstElement **taken)
{
  g_autoptr (GError) error = NULL;
  GstElement *pipeline = gst_parse_launch ("filesrc name=file ! decodebin name=decoder  videoconvert name=convert ! "
                                           "appsink name=taken sync=false max-buffers=4 caps=video/x-raw",
      &error);
  g_autoptr (GstElement) file = NULL, decoder = NULL, convert = NULL;

  if (error) {
    g_string_append (replay->wrong, error->message);
    gst_clear_object (&pipeline);
    return NULL;
  }
  file = gst_bin_get_by_name (GST_BIN (pipeline), "file");
  decoder = gst_bin_get_by_name (GST_BIN (pipeline), "decoder");
  convert = gst_bin_get_by_name (GST_BIN (pipeline), "convert");
  *taken = gst_bin_get_by_name (GST_BIN (pipeline), "taken");
  g_object_set (file, "location", path, NULL);
  g_object_set_data (G_OBJECT (decoder), "taken", *taken);
  g_object_set_data (G_OBJECT (decoder), "format", (gpointer) GST_VIDEO_INFO_NAME (&replay->info));
  g_signal_connect (decoder, "autoplug-continue", G_CALLBACK (on_continue), NULL);
  g_signal_connect (decoder, "pad-added", G_CALLBACK (on_pad), convert);
  g_signal_connect (decoder, "no-more-pads", G_CALLBACK (on_no_more_pads), convert);
  return pipeline;
}

static gboolean
check_kind (Replay *replay, GstCaps *caps)
{
  const GstVideoInfo *want = &replay->info;
  GstVideoInfo info;

  if (!gst_video_info_from_caps (&info, caps))
    g_string_append (replay->wrong, "its frames are of no known kind");
  else if (GST_VIDEO_INFO_FORMAT (&info) != GST_VIDEO_INFO_FORMAT (want) ||
      GST_VIDEO_INFO_WIDTH (&info) != GST_VIDEO_INFO_WIDTH (want) ||
      GST_VIDEO_INFO_HEIGHT (&info) != GST_VIDEO_INFO_HEIGHT (want))
    g_string_append_printf (replay->wrong,
        "its frames are %s of %d x %d, but those before the filter were %s of %d x %d", GST_VIDEO_INFO_NAME (&info),
        GST_VIDEO_INFO_WIDTH (&info), GST_VIDEO_INFO_HEIGHT (&info), GST_VIDEO_INFO_NAME (want),
        GST_VIDEO_INFO_WIDTH (want), GST_VIDEO_INFO_HEIGHT (want));
  return !replay->wrong->len;
}

/* Filters all frames of a file, or up to the piece's last one. Returns FALSE with what is wrong. */
static gboolean
take_file (Replay *replay, const char *path)
{
  g_autoptr (GstElement) taken = NULL, pipeline = decode (replay, path, &taken);
  g_autoptr (GstBus) bus = pipeline ? gst_element_get_bus (pipeline) : NULL;
  gboolean ended = pipeline == NULL;

  if (pipeline)
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (!ended && replay->hash && !replay->wrong->len) {
    g_autoptr (GstSample) sample = gst_app_sink_try_pull_sample (GST_APP_SINK (taken), 100 * GST_MSECOND);
    g_autoptr (GstMessage) message = sample ? NULL : gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    g_autoptr (GError) error = NULL;

    if (sample && check_kind (replay, gst_sample_get_caps (sample)))
      try (replay, gst_sample_get_buffer (sample));
    if (message)
      gst_message_parse_error (message, &error, NULL);
    if (error)
      g_string_append (replay->wrong, error->message);
    ended = !sample && gst_app_sink_is_eos (GST_APP_SINK (taken));
  }
  if (pipeline)
    gst_element_set_state (pipeline, GST_STATE_NULL);
  if (replay->wrong->len && !strstr (replay->wrong->str, CANNOT)) {
    g_string_prepend (replay->wrong, ": ");
    g_string_prepend (replay->wrong, path);
  }
  return !replay->wrong->len;
}

/* ---- the verdict --------------------------------------------------------- */

static void
add_verdict (Replay *replay)
{
  const gboolean pure = rerun_is_pure (g_array_index (replay->states, State, replay->state).filter);
  g_autoptr (GDateTime) date = g_date_time_new_from_unix_utc (replay->wall / G_USEC_PER_SEC);
  g_autofree char *time = date ? g_date_time_format (date, "%Y-%m-%dT%H:%M:%S") : g_strdup ("?");

  if (replay->found == 0)
    g_string_append_printf (replay->wrong,
        "its filter makes its first frame of none of the original's: either is not what it should be, or the original "
        "begins too late%s",
        pure ? "" : " (this filter needs frames from before the piece, too)");
  else
    g_string_append_printf (replay->wrong,
        "frame %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
        " (%s.%03dZ) is not what the filter makes of the original%s; "
        "the %" G_GUINT64_FORMAT " before are",
        replay->found + 1, replay->frames, time, (int) (replay->wall % G_USEC_PER_SEC / 1000),
        replay->pending ? "" : ", which ends there", replay->found);
}

gboolean
replay (JsonObject *record, const char *hashes, char **originals, guint64 *left_out, GString *wrong)
{
  Replay replay = { .at = hashes, .wrong = wrong, .frames = (guint64) chain_number (record, "frames") };

  replay.states = g_array_new (FALSE, FALSE, sizeof (State));
  g_array_set_clear_func (replay.states, clear_state);
  if (read_record (&replay, record) && next (&replay) && filter_of (&replay, &g_array_index (replay.states, State, 0)))
    for (char **path = originals; *path && replay.hash && take_file (&replay, *path); path++)
      ;
  if (replay.hash && !wrong->len && try (&replay, NULL) && replay.hash)
    add_verdict (&replay);
  if (!wrong->len && replay.found != replay.frames)
    g_string_append_printf (wrong, CANNOT "its list of hashes has %" G_GUINT64_FORMAT " frames, not %" G_GUINT64_FORMAT,
        replay.found, replay.frames);
  *left_out = replay.left_out;
  g_array_unref (replay.states);
  gst_clear_caps (&replay.caps);
  g_free (replay.hash);
  return !wrong->len;
}
