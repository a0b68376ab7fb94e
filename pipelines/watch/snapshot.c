/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * snapshot.c: makes a frame of a camera a picture. The streaming thread only takes a reference; a thread of the pool
 * converts the frame. A file is first written under another name, so that no reader finds half a picture. */
#define _GNU_SOURCE /* renameat2 */
#include "snapshot.h"

#include "events.h"
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <gst/video/video.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define WITHIN 5000 /* ms for a frame to come, and as many for it to be written */
#define CONVERTS_WITHIN (5 * GST_SECOND)
#define WAITING "cf-watch-snapshot" /* set on a pad while a snapshot for a file waits for a frame */
/* Set on a pad while a picture in memory of this kind is being made. */
static const char *const keys[] = { [SNAPSHOT_LARGE] = "cf-watch-picture",
  [SNAPSHOT_SCALED] = "cf-watch-small-picture",
  [SNAPSHOT_PAIR] = "cf-watch-pair" };

typedef struct {
  SnapshotPicture done;
  gpointer from;
} Asker;

/* The main thread and the probe have a reference each. */
typedef struct {
  gatomicrefcount count;
  char *camera, *file; /* file NULL: it stays in memory */
  gboolean overwrite;
  SnapshotAnswer answer; /* NULL: it was answered */
  gpointer from;
  GArray *askers, *later; /* of Asker; in memory; `later`: they came after the frame, and get another one */
  SnapshotKind kind;
  GBytes *picture; /* in memory; NULL: `error` */
  GstPad *pad;
  gulong probe;
  guint timer;
  gboolean late;     /* a frame has come, but WITHIN has passed */
  _Atomic int taken; /* a frame has come, or none is wanted any more */

  /* The first frame that enters the filter is waited for, or a later one: what is set counts in them. A pair keeps that
   * frame until it comes out; where a later one does, it was dropped. */
  GstPad *input;
  gulong input_probe;
  GMutex lock;          /* of the two that follow */
  GstClockTime entered; /* its PTS; NONE: it has not come */
  GstSample *before;    /* of a pair */

  /* Of the thread that has the frame. */
  GstSample *sample;
  char *error;
  int width, height, par_n, par_d;
} Snapshot;

static void
snapshot_unref (gpointer data)
{
  Snapshot *snapshot = data;

  if (!g_atomic_ref_count_dec (&snapshot->count))
    return;
  gst_object_unref (snapshot->pad);
  gst_object_unref (snapshot->input);
  g_clear_pointer (&snapshot->before, gst_sample_unref);
  g_mutex_clear (&snapshot->lock);
  g_clear_pointer (&snapshot->askers, g_array_unref);
  g_clear_pointer (&snapshot->later, g_array_unref);
  g_clear_pointer (&snapshot->picture, g_bytes_unref);
  g_free (snapshot->camera);
  g_free (snapshot->file);
  g_free (snapshot->error);
  g_free (snapshot);
}

static gboolean
report (gpointer data)
{
  Snapshot *snapshot = data;
  JsonObject *answer, *picture;

  g_clear_handle_id (&snapshot->timer, g_source_remove);
  gst_pad_remove_probe (snapshot->input, snapshot->input_probe);
  if (snapshot->error)
    answer = error_of ("%s", snapshot->error);
  else {
    answer = object_of ("ok", bool_node (TRUE), NULL);
    picture = object_of ("file", text_node (snapshot->file), "width", int_node (snapshot->width), "height",
        int_node (snapshot->height), NULL);
    object_add_members (answer, json_object_ref (picture));
    event_post_object (snapshot->camera, "snapshot", picture);
  }
  if (snapshot->answer)
    snapshot->answer (snapshot->from, answer);
  else
    json_object_unref (answer);
  snapshot_unref (snapshot);
  return G_SOURCE_REMOVE;
}

/* Writes a file that appears under its name when it is complete. Returns what went wrong (free it), or NULL. */
static char *
write_file (const char *path, gboolean overwrite, gconstpointer data, gsize n)
{
  /* A new name each time: the remains of a process that was killed are not in the way. */
  g_autofree char *part = g_strconcat (path, ".XXXXXX.part", NULL);
  int file = g_mkstemp_full (part, O_WRONLY | O_CLOEXEC, 0640), wrong = 0;
  const char *at = data;

  if (file < 0)
    return g_strdup_printf ("%s: %s", path, g_strerror (errno));
  while (n > 0 && !wrong) {
    gssize done = write (file, at, n);

    if (done < 0 && errno != EINTR)
      wrong = errno;
    at += MAX (done, 0);
    n -= (gsize) MAX (done, 0);
  }
  if (close (file) && !wrong)
    wrong = errno;
  if (!wrong && renameat2 (AT_FDCWD, part, AT_FDCWD, path, overwrite ? 0 : RENAME_NOREPLACE)) {
    wrong = errno;
    /* Some file systems of networks cannot do that; linking refuses an existing name as well. */
    if (wrong == EINVAL && link (part, path) == 0)
      wrong = 0, unlink (part);
  }
  if (!wrong)
    return NULL;
  unlink (part);
  return wrong == EEXIST ? g_strdup_printf ("%s: there is such a file; --overwrite replaces it", path)
                         : g_strdup_printf ("%s: %s", path, g_strerror (wrong));
}

/* Returns the frame as one in system memory: CUDA memory can be mapped for reading there, but caps have to say so. */
static GstSample *
in_system_memory (GstSample *sample)
{
  GstCaps *caps = gst_caps_copy (gst_sample_get_caps (sample));
  GstSample *copy;

  gst_caps_set_features (caps, 0, NULL);
  copy = gst_sample_new (gst_sample_get_buffer (sample), caps, gst_sample_get_segment (sample), NULL);
  gst_caps_unref (caps);
  return copy;
}

/* Returns the frame as RGB: jpegenc would take the levels of video, 16 to 235, for levels of JPEG, 0 to 255. A small
 * picture has fewer pixels, and they are square. Takes the frame; NULL: that is not possible. */
static GstSample *
prepare (const Snapshot *snapshot, GstSample *frame, GError **error)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string ("video/x-raw, format = RGB");
  const double shape = (double) snapshot->height * snapshot->par_d / ((double) snapshot->width * snapshot->par_n);
  GstSample *prepared;

  if (snapshot->kind == SNAPSHOT_SCALED && snapshot->width > SNAPSHOT_SMALL)
    gst_caps_set_simple (caps, "width", G_TYPE_INT, SNAPSHOT_SMALL, "height", G_TYPE_INT,
        (int) CLAMP (SNAPSHOT_SMALL * shape + 0.5, 1, 16384), "pixel-aspect-ratio", GST_TYPE_FRACTION, 1, 1, NULL);
  prepared = gst_video_convert_sample (frame, caps, CONVERTS_WITHIN, error);
  gst_sample_unref (frame);
  return prepared;
}

static gboolean report_picture (gpointer data);

/* Returns the frame, which it takes, as JPEG or PNG; NULL with an error. The filter's pool gets its buffer back. */
static GBytes *
encode (Snapshot *snapshot, GstSample *sample)
{
  const gboolean png = snapshot->file && g_str_has_suffix (snapshot->file, ".png");
  g_autoptr (GstCaps) caps = gst_caps_new_empty_simple (png ? "image/png" : "image/jpeg");
  g_autoptr (GError) error = NULL;
  GstSample *frame = in_system_memory (sample), *picture = NULL;
  GBytes *bytes = NULL;
  GstMapInfo map;

  if (!png)
    frame = prepare (snapshot, frame, &error);
  if (frame)
    picture = gst_video_convert_sample (frame, caps, CONVERTS_WITHIN, &error);
  if (!picture)
    snapshot->error = g_strdup_printf ("the frame cannot be made a picture: %s", error ? error->message : "no encoder");
  else if (!gst_buffer_map (gst_sample_get_buffer (picture), &map, GST_MAP_READ))
    snapshot->error = g_strdup ("the picture cannot be read");
  else {
    bytes = g_bytes_new (map.data, map.size);
    gst_buffer_unmap (gst_sample_get_buffer (picture), &map);
  }
  if (picture)
    gst_sample_unref (picture);
  if (frame)
    gst_sample_unref (frame);
  gst_sample_unref (sample);
  return bytes;
}

/* Returns the pair's bytes; NULL with an error. */
static GBytes *
encode_pair (Snapshot *snapshot)
{
  g_autoptr (GBytes) before = encode (snapshot, g_steal_pointer (&snapshot->before)), after = NULL;
  GByteArray *pair;
  guint32 length;

  if (before)
    after = encode (snapshot, snapshot->sample);
  else
    gst_sample_unref (snapshot->sample);
  if (!after)
    return NULL;
  pair = g_byte_array_new ();
  length = GUINT32_TO_BE ((guint32) g_bytes_get_size (before));
  g_byte_array_append (pair, (const guint8 *) &length, sizeof length);
  g_byte_array_append (pair, g_bytes_get_data (before, NULL), (guint) g_bytes_get_size (before));
  g_byte_array_append (pair, g_bytes_get_data (after, NULL), (guint) g_bytes_get_size (after));
  return g_byte_array_free_to_bytes (pair);
}

static void
write_in_thread (gpointer data)
{
  Snapshot *snapshot = data;

  snapshot->picture = snapshot->before ? encode_pair (snapshot) : encode (snapshot, snapshot->sample);
  if (snapshot->file && snapshot->picture)
    snapshot->error = write_file (snapshot->file, snapshot->overwrite, g_bytes_get_data (snapshot->picture, NULL),
        g_bytes_get_size (snapshot->picture));
  in_main (snapshot->file ? report : report_picture, snapshot);
}

/* Notes the first frame that enters the filter. Called from a streaming thread. */
static GstPadProbeReturn
on_input (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  const gboolean has_time = GST_BUFFER_PTS_IS_VALID (buffer);
  Snapshot *snapshot = data;

  g_mutex_lock (&snapshot->lock);
  if (!GST_CLOCK_TIME_IS_VALID (snapshot->entered) && !atomic_load (&snapshot->taken)) {
    if (snapshot->kind != SNAPSHOT_PAIR) {
      snapshot->entered = has_time ? GST_BUFFER_PTS (buffer) : 0;
    } else if (has_time) {
      g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);

      snapshot->entered = GST_BUFFER_PTS (buffer);
      snapshot->before = gst_sample_new (buffer, caps, NULL, NULL);
    }
  }
  g_mutex_unlock (&snapshot->lock);
  return GST_PAD_PROBE_OK;
}

/* Returns whether the frame that leaves the filter is the one that is waited for. */
static gboolean
is_awaited (Snapshot *snapshot, const GstBuffer *buffer)
{
  const GstClockTime time = GST_BUFFER_PTS (buffer); /* NONE is later than all others */
  gboolean awaited;

  g_mutex_lock (&snapshot->lock);
  awaited = GST_CLOCK_TIME_IS_VALID (snapshot->entered) &&
      (snapshot->kind == SNAPSHOT_PAIR ? time == snapshot->entered : time >= snapshot->entered);
  if (snapshot->before && GST_CLOCK_TIME_IS_VALID (time) && time > snapshot->entered) {
    g_clear_pointer (&snapshot->before, gst_sample_unref);
    snapshot->entered = GST_CLOCK_TIME_NONE;
  }
  g_mutex_unlock (&snapshot->lock);
  return awaited;
}

/* Takes the frame. Called from a streaming thread. */
static GstPadProbeReturn
on_frame (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Snapshot *snapshot = data;
  g_autoptr (GstCaps) caps = NULL;
  GstVideoInfo video;

  if (!is_awaited (snapshot, GST_PAD_PROBE_INFO_BUFFER (info)))
    return GST_PAD_PROBE_OK;
  if (atomic_exchange (&snapshot->taken, 1))
    return GST_PAD_PROBE_REMOVE;
  if (snapshot->file)
    g_object_set_data (G_OBJECT (pad), WAITING, NULL);
  caps = gst_pad_get_current_caps (pad);
  if (caps && gst_video_info_from_caps (&video, caps)) {
    snapshot->width = GST_VIDEO_INFO_WIDTH (&video);
    snapshot->height = GST_VIDEO_INFO_HEIGHT (&video);
    snapshot->par_n = GST_VIDEO_INFO_PAR_N (&video);
    snapshot->par_d = GST_VIDEO_INFO_PAR_D (&video);
  }
  snapshot->sample = gst_sample_new (GST_PAD_PROBE_INFO_BUFFER (info), caps, NULL, NULL);
  in_pool (write_in_thread, snapshot);
  return GST_PAD_PROBE_REMOVE;
}

/* Answers after WITHIN that no frame has come; after twice as long, that the file is not written yet. */
static gboolean
on_late (gpointer data)
{
  Snapshot *snapshot = data;
  const gboolean none = !atomic_exchange (&snapshot->taken, 1);

  if (!none && !snapshot->late) {
    snapshot->late = TRUE;
    return G_SOURCE_CONTINUE;
  }
  snapshot->timer = 0;
  snapshot->answer (snapshot->from,
      none ? error_of ("no frame came within %d s", WITHIN / 1000)
           : error_of ("%s: the disk is slow; the event \"snapshot\" says when it is written", snapshot->file));
  snapshot->answer = NULL;
  if (none) {
    g_object_set_data (G_OBJECT (snapshot->pad), WAITING, NULL);
    gst_pad_remove_probe (snapshot->pad, snapshot->probe);
    gst_pad_remove_probe (snapshot->input, snapshot->input_probe);
    snapshot_unref (snapshot);
  }
  return G_SOURCE_REMOVE;
}

/* Begins to wait for a frame; `late` is called after WITHIN. */
static void
begin (Snapshot *snapshot, GstElement *filter, GstPad *pad, GSourceFunc late)
{
  g_mutex_init (&snapshot->lock);
  snapshot->entered = GST_CLOCK_TIME_NONE;
  g_atomic_ref_count_init (&snapshot->count);
  g_atomic_ref_count_inc (&snapshot->count);
  g_atomic_ref_count_inc (&snapshot->count);
  snapshot->timer = g_timeout_add (WITHIN, late, snapshot);
  snapshot->pad = gst_object_ref (pad);
  snapshot->probe = gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, snapshot, snapshot_unref);
  snapshot->input = gst_element_get_static_pad (filter, "sink");
  snapshot->input_probe = gst_pad_add_probe (snapshot->input, GST_PAD_PROBE_TYPE_BUFFER, on_input, snapshot,
      snapshot_unref);
}

JsonObject *
snapshot_take (GstElement *filter, const char *camera, const char *file, gboolean overwrite, SnapshotAnswer answer,
    gpointer from)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (filter, "src");
  Snapshot *snapshot;

  if (g_object_get_data (G_OBJECT (pad), WAITING))
    return error_of ("a snapshot of this camera is being taken");
  snapshot = g_new0 (Snapshot, 1);
  snapshot->camera = g_strdup (camera);
  snapshot->file = g_strdup (file);
  snapshot->overwrite = overwrite;
  snapshot->answer = answer;
  snapshot->from = from;
  g_object_set_data (G_OBJECT (pad), WAITING, snapshot);
  begin (snapshot, filter, pad, on_late);
  return NULL;
}

/* ---- in memory ----------------------------------------------------------- */

static void show (GstElement *filter, SnapshotKind kind, GArray *askers);

static gboolean
has_entered (Snapshot *snapshot)
{
  gboolean entered;

  g_mutex_lock (&snapshot->lock);
  entered = GST_CLOCK_TIME_IS_VALID (snapshot->entered);
  g_mutex_unlock (&snapshot->lock);
  return entered;
}

static void
answer_all (GArray *askers, GBytes *picture, const char *wrong)
{
  for (guint i = 0; i < askers->len; i++) {
    const Asker asker = g_array_index (askers, Asker, i);

    asker.done (asker.from, picture, wrong);
  }
  g_array_set_size (askers, 0);
}

/* Gives all who asked the picture, or what is wrong. Those that came after its frame get the next one. */
static gboolean
report_picture (gpointer data)
{
  Snapshot *snapshot = data;

  g_clear_handle_id (&snapshot->timer, g_source_remove);
  gst_pad_remove_probe (snapshot->input, snapshot->input_probe);
  g_object_set_data (G_OBJECT (snapshot->pad), keys[snapshot->kind], NULL);
  answer_all (snapshot->askers, snapshot->picture, snapshot->error);
  if (snapshot->later->len) {
    g_autoptr (GstElement) filter = gst_pad_get_parent_element (snapshot->pad);

    show (filter, snapshot->kind, g_steal_pointer (&snapshot->later));
  }
  snapshot_unref (snapshot);
  return G_SOURCE_REMOVE;
}

/* Ends the wait for a frame, unless one has come: its picture is being made. */
static void
give_up (Snapshot *snapshot, const char *wrong)
{
  if (atomic_exchange (&snapshot->taken, 1))
    return;
  gst_pad_remove_probe (snapshot->pad, snapshot->probe);
  snapshot->error = g_strdup (wrong);
  report_picture (snapshot);
}

static gboolean
on_no_frame (gpointer data)
{
  Snapshot *snapshot = data;

  snapshot->timer = 0;
  give_up (snapshot,
      snapshot->kind == SNAPSHOT_PAIR
          ? "the filter gives its frames other times, or drops them: there is none to compare"
          : "no frame came in time");
  return G_SOURCE_REMOVE;
}

void
snapshot_stop (GstElement *filter)
{
  static const char gone[] = "the camera is not up any more";
  g_autoptr (GstPad) pad = gst_element_get_static_pad (filter, "src");

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    Snapshot *snapshot = g_object_get_data (G_OBJECT (pad), keys[i]);

    if (!snapshot)
      continue;
    /* Also those whose picture is being made: the next settings may hide what it shows. */
    answer_all (snapshot->askers, NULL, gone);
    answer_all (snapshot->later, NULL, gone);
    give_up (snapshot, gone);
  }
}

void
snapshot_renew (GstElement *filter)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (filter, "src");
  Snapshot *waiting = g_object_get_data (G_OBJECT (pad), WAITING);

  if (waiting) {
    g_mutex_lock (&waiting->lock);
    waiting->entered = GST_CLOCK_TIME_NONE;
    g_mutex_unlock (&waiting->lock);
  }
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    Snapshot *snapshot = g_object_get_data (G_OBJECT (pad), keys[i]);

    if (!snapshot)
      continue;
    /* Nobody gets the picture that is being made, if one is. */
    g_array_prepend_vals (snapshot->later, snapshot->askers->data, snapshot->askers->len);
    g_array_set_size (snapshot->askers, 0);
    give_up (snapshot, NULL);
  }
}

/* Begins to make a picture. Takes the array of who asks for it. */
static void
show (GstElement *filter, SnapshotKind kind, GArray *askers)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (filter, "src");
  Snapshot *snapshot = g_new0 (Snapshot, 1);

  snapshot->askers = askers;
  snapshot->later = g_array_new (FALSE, FALSE, sizeof (Asker));
  snapshot->kind = kind;
  g_object_set_data (G_OBJECT (pad), keys[kind], snapshot);
  begin (snapshot, filter, pad, on_no_frame);
}

void
snapshot_show (GstElement *filter, SnapshotKind kind, SnapshotPicture done, gpointer from)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (filter, "src");
  Snapshot *other = g_object_get_data (G_OBJECT (pad), keys[kind]);
  const Asker asker = { done, from };

  if (other) {
    g_array_append_val (has_entered (other) ? other->later : other->askers, asker);
  } else {
    GArray *askers = g_array_new (FALSE, FALSE, sizeof (Asker));

    g_array_append_val (askers, asker);
    show (filter, kind, askers);
  }
}
