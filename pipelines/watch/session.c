/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * session.c: one stretch of recording. */
#include "session.h"

#include "events.h"
#include "hashes.h"
#include "hub.h"
#include "threads.h"

#include <glib/gstdio.h>
#include <gst/app/gstappsrc.h>
#include <unistd.h>

#define MAX_WAITING (64 << 20)      /* bytes that may wait for the disk */
#define SILENT (3 * GST_SECOND)     /* after so long without sound, the files go on without */
#define END_WITHIN 10               /* s for the files to be finished */
#define ASTRAY (4 * G_USEC_PER_SEC) /* the camera's clock and this machine's may part so far in one session */

typedef struct {
  gint64 start;       /* µs since 1970 */
  gint64 bytes;       /* when it was finished */
  GstClockTime first; /* time stamp of its first frame */
  GstClockTime last;  /* of its last one so far */
  guint64 frames;
} File;

struct Session {
  CameraSettings *settings;
  Keep *keep;
  SessionCalls calls;
  gpointer data;
  GstElement *pipeline, *source, *sound; /* sound: NULL, if there is none */
  guint watch, deadline;
  gboolean opening, ending, over; /* over: `ended` was called */
  char *error;

  /* Of the thread that pushes. */
  gboolean begun;
  GstClockTime base, decoded; /* DTS of the first and of the newest frame */
  GstClockTime key;           /* PTS of the first frame */
  GstClockTime heard;         /* PTS of the last sound */
  gboolean deaf;              /* no more sound is taken */
  _Atomic gint64 wall;        /* of the time stamp 0 */
  _Atomic guint64 last, step; /* the last frame's time stamp; the distance of two frames */

  GMutex lock;       /* of `files` and `file` */
  GHashTable *files; /* path -> File, while it is not finished */
  File *file;        /* that frames are written to; of `files` */

  GMutex writing;             /* of what follows; the main thread does not wait for it, since a disk may hang */
  char *hashes_path, *hashed; /* beside the file; the caps in it */
  FILE *hashes;               /* NULL: not opened */
};

/* Ends the list of the newest file's hashes. What could not be written is no list. */
static void
end_hashes (Session *session)
{
  gboolean failed;

  if (session->hashes) {
    failed = ferror (session->hashes);
    if (fclose (session->hashes) || failed)
      g_unlink (session->hashes_path);
  }
  session->hashes = NULL;
  g_clear_pointer (&session->hashes_path, g_free);
  g_clear_pointer (&session->hashed, g_free);
}

static void
session_free (Session *session)
{
  GHashTableIter iter;
  gpointer file;

  g_hash_table_iter_init (&iter, session->files);
  while (g_hash_table_iter_next (&iter, &file, NULL)) /* what was not finished is not written any more either */
    keep_end (session->keep, file);
  keep_unref (session->keep);
  gst_object_unref (session->pipeline);
  end_hashes (session);
  g_mutex_clear (&session->writing);
  camera_settings_unref (session->settings);
  g_hash_table_unref (session->files);
  g_mutex_clear (&session->lock);
  g_free (session->error);
  g_free (session);
}

/* ---- the end ------------------------------------------------------------- */

static gboolean
after_stop (gpointer data)
{
  Session *session = data;

  if (session->deadline)
    g_source_remove (session->deadline);
  if (!session->over)
    session->calls.ended (session, session->error, session->data);
  session->over = TRUE;
  session_free (session);
  return G_SOURCE_REMOVE;
}

static void
stop_in_thread (gpointer data)
{
  Session *session = data;

  gst_element_set_state (session->pipeline, GST_STATE_NULL);
  in_main (after_stop, session);
}

/* Takes the pipeline down. A disk that hangs may keep the thread for ever; the recorder does not wait for it. */
static void
stop (Session *session)
{
  if (!session->watch || session->opening) /* after_open stops it then */
    return;
  g_source_remove (session->watch);
  session->watch = 0;
  in_pool (stop_in_thread, session);
}

static gboolean
on_deadline (gpointer data)
{
  Session *session = data;

  session->deadline = 0;
  if (!session->error)
    session->error = g_strdup_printf ("the disk did not take the end of the recording within %d s", END_WITHIN);
  stop (session);
  session->over = TRUE;
  session->calls.ended (session, session->error, session->data);
  return G_SOURCE_REMOVE;
}

static void
end_streams (Session *session)
{
  if (session->sound)
    gst_app_src_end_of_stream (GST_APP_SRC (session->sound));
  gst_app_src_end_of_stream (GST_APP_SRC (session->source));
}

void
session_end (Session *session)
{
  if (session->ending)
    return;
  session->ending = TRUE;
  session->deadline = g_timeout_add_seconds (END_WITHIN, on_deadline, session);
  if (session->begun)
    end_streams (session);
  else
    stop (session); /* there is no file */
}

static void
fail (Session *session, const char *error)
{
  if (!session->error)
    session->error = g_strdup (error);
  if (!session->ending)
    session->deadline = g_timeout_add_seconds (END_WITHIN, on_deadline, session);
  session->ending = TRUE;
  stop (session);
}

/* ---- messages ------------------------------------------------------------ */

static void
on_piece (Session *session, const GstStructure *structure, gboolean begun)
{
  const char *file = gst_structure_get_string (structure, "location");
  GstClockTime time = GST_CLOCK_TIME_NONE;
  File *known, it = { .start = -1 };

  gst_structure_get_clock_time (structure, "running-time", &time);
  g_mutex_lock (&session->lock);
  known = file ? g_hash_table_lookup (session->files, file) : NULL;
  if (known && begun)
    known->first = time;
  if (known)
    it = *known;
  if (known && !begun) {
    if (session->file == known)
      session->file = NULL;
    g_hash_table_remove (session->files, file);
  }
  g_mutex_unlock (&session->lock);
  if (it.start < 0)
    return;
  if (!begun && time == session->last) /* at the end of all, the last frame has no next one */
    time += session->step;
  session->calls.piece (session,
      &(SessionPiece) { file, it.start, session->wall + (gint64) it.last / 1000,
          begun                 ? -1
              : time > it.first ? (double) (time - it.first) / GST_SECOND
                                : 0,
          it.bytes, it.frames },
      session->data);
}

/* Looks how long a finished file is, in the thread that has written it: a disk may hang. */
static GstBusSyncReply
on_finished (GstBus *bus, GstMessage *message, gpointer data)
{
  const GstStructure *structure = gst_message_get_structure (message);
  Session *session = data;
  const char *file;
  GStatBuf info;
  File *known;

  (void) bus;
  if (GST_MESSAGE_TYPE (message) != GST_MESSAGE_ELEMENT || !structure ||
      !gst_structure_has_name (structure, "splitmuxsink-fragment-closed") ||
      !(file = gst_structure_get_string (structure, "location")) || g_stat (file, &info))
    return GST_BUS_PASS;
  g_mutex_lock (&session->writing);
  end_hashes (session);
  g_mutex_unlock (&session->writing);
  g_mutex_lock (&session->lock);
  if ((known = g_hash_table_lookup (session->files, file)))
    known->bytes = info.st_size;
  g_mutex_unlock (&session->lock);
  return GST_BUS_PASS;
}

static gboolean
on_message (GstBus *bus, GstMessage *message, gpointer data)
{
  const GstStructure *structure = gst_message_get_structure (message);
  Session *session = data;

  (void) bus;
  if (session->over) /* the recorder may have gone */
    return TRUE;
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    g_autofree char *text = message_text (message);

    fail (session, text);
  } else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS) {
    stop (session);
  } else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ELEMENT && structure) {
    if (gst_structure_has_name (structure, "splitmuxsink-fragment-opened"))
      on_piece (session, structure, TRUE);
    else if (gst_structure_has_name (structure, "splitmuxsink-fragment-closed"))
      on_piece (session, structure, FALSE);
  }
  return session->watch != 0;
}

/* ---- the beginning ------------------------------------------------------- */

/* Returns the name of the next file. Called from a streaming thread. */
static char *
on_location (GstElement *sink, guint number, GstSample *sample, gpointer data)
{
  Session *session = data;
  const RecordSettings *record = &session->settings->record;
  GstBuffer *buffer = sample ? gst_sample_get_buffer (sample) : NULL;
  g_autofree char *wrong = keep_check_folder (session->keep, record->folder);
  gint64 start = session->wall;
  char *path = NULL;

  (void) sink;
  (void) number;
  if (wrong) {
    GST_ELEMENT_ERROR (session->pipeline, RESOURCE, OPEN_WRITE, ("%s", wrong), (NULL));
    return g_strdup (""); /* no file has this name */
  }
  if (buffer && GST_BUFFER_PTS_IS_VALID (buffer))
    start += (gint64) (GST_BUFFER_PTS (buffer) / 1000);
  for (gint64 name = start; !path; name += 1000) {
    g_autofree char *time = time_text (name, TRUE);

    g_autofree char *file = g_strdup_printf ("%s-%s.%s", session->settings->name, time, record->format ? "mp4" : "mkv");

    path = g_build_filename (record->folder, file, NULL);
    if (g_file_test (path, G_FILE_TEST_EXISTS)) /* never over a file: a millisecond later */
      g_clear_pointer (&path, g_free);
  }
  keep_begin (session->keep, path);
  g_mutex_lock (&session->writing);
  end_hashes (session);
  session->hashes_path = g_strconcat (path, HASHES_END, NULL);
  g_mutex_unlock (&session->writing);
  g_mutex_lock (&session->lock);
  session->file = g_memdup2 (&(File) { .start = start }, sizeof (File));
  g_hash_table_insert (session->files, g_strdup (path), session->file);
  g_mutex_unlock (&session->lock);
  return path;
}

/* Counts what the muxer gets. The next file is named when all of the one before has gone there. */
static GstPadProbeReturn
on_muxed (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  Session *session = data;

  (void) pad;
  g_mutex_lock (&session->writing);
  if (session->hashes_path)
    hashes_write (&session->hashes, session->hashes_path, &session->hashed, buffer,
        session->wall + (gint64) (GST_BUFFER_PTS (buffer) / 1000));
  g_mutex_unlock (&session->writing);
  g_mutex_lock (&session->lock);
  if (session->file) {
    session->file->frames++;
    if (GST_BUFFER_PTS_IS_VALID (buffer))
      session->file->last = MAX (session->file->last, GST_BUFFER_PTS (buffer));
  }
  g_mutex_unlock (&session->lock);
  return GST_PAD_PROBE_OK;
}

static void
on_muxer_pad (GstElement *muxer, GstPad *pad, gpointer session)
{
  (void) muxer;
  if (GST_PAD_IS_SINK (pad) && g_str_has_prefix (GST_OBJECT_NAME (pad), "video"))
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, on_muxed, session, NULL);
}

typedef struct {
  Session *session;
  char *error;
} Opening;

static gboolean
after_open (gpointer data)
{
  Opening *opening = data;
  Session *session = opening->session;

  session->opening = FALSE;
  if (opening->error)
    fail (session, opening->error);
  else if (session->ending)
    stop (session);
  else
    session->calls.opened (session, session->data);
  g_free (opening->error);
  g_free (opening);
  return G_SOURCE_REMOVE;
}

/* Looks at the folder first: what it says is clearer than what a muxer says. */
static void
open_in_thread (gpointer data)
{
  Opening *opening = data;
  Session *session = opening->session;

  opening->error = keep_check_folder (session->keep, session->settings->record.folder);
  if (!opening->error && gst_element_set_state (session->pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
    opening->error = g_strdup ("the muxer does not start");
  in_main (after_open, opening);
}

/* Returns a muxer whose files can be played when the process or the machine dies while they are written: Matroska in
 * clusters of a second, MP4 in fragments of a second. */
static GstElement *
make_muxer (gboolean mp4)
{
  GstElement *muxer = gst_element_factory_make (mp4 ? "mp4mux" : "matroskamux", NULL);

  if (muxer && mp4)
    g_object_set (muxer, "fragment-duration", 1000, NULL);
  else if (muxer)
    g_object_set (muxer, "offset-to-zero", TRUE, "max-cluster-duration", (gint64) GST_SECOND, "writing-app", "cf-watch",
        NULL);
  return muxer;
}

gboolean
session_takes_sound (guint format, GstCaps *sound)
{
  return format == 0 || gst_structure_has_name (gst_caps_get_structure (sound, 0), "audio/mpeg");
}

/* Adds the sound's way into the files. */
static gboolean
add_sound (Session *session, GstElement *sink, GstCaps *caps)
{
  session->sound = gst_element_factory_make ("appsrc", "sound");
  g_object_set (session->sound, "format", GST_FORMAT_TIME, "caps", caps, "max-bytes", (guint64) 0, NULL);
  gst_bin_add (GST_BIN (session->pipeline), session->sound);
  return gst_element_link_pads (session->sound, "src", sink, "audio_%u");
}

Session *
session_new (const CameraSettings *settings, Keep *keep, GstCaps *caps, GstCaps *sound, const SessionCalls *calls,
    gpointer data)
{
  Session *session = g_new0 (Session, 1);
  GstElement *muxer = make_muxer (settings->record.format == 1);
  GstElement *sink = gst_element_factory_make ("splitmuxsink", "files"),
             *file = gst_element_factory_make ("filesink", NULL);
  GstBus *bus;
  Opening *opening = g_new0 (Opening, 1);

  g_mutex_init (&session->lock);
  g_mutex_init (&session->writing);
  session->settings = camera_settings_ref ((CameraSettings *) settings);
  session->keep = keep_ref (keep);
  session->calls = *calls;
  session->data = data;
  session->files = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  session->pipeline = gst_object_ref_sink (gst_pipeline_new ("recording"));
  session->source = gst_element_factory_make ("appsrc", "packets");
  bus = gst_element_get_bus (session->pipeline);
  session->watch = gst_bus_add_watch (bus, on_message, session);
  gst_bus_set_sync_handler (bus, on_finished, session, NULL);
  gst_object_unref (bus);
  opening->session = session;
  session->opening = TRUE;
  if (!muxer || !sink || !file || !session->source) {
    opening->error = g_strdup (
        "this GStreamer lacks appsrc, splitmuxsink (gstreamer1.0-plugins-base, -good) or the muxer");
    g_clear_object (&muxer);
    g_clear_object (&sink);
    g_clear_object (&file);
    g_clear_object (&session->source);
    in_main (after_open, opening);
    return session;
  }
  g_object_set (session->source, "format", GST_FORMAT_TIME, "caps", caps, "max-bytes", (guint64) 0, NULL);
  /* What is held back in a buffer is lost with the process. */
  gst_util_set_object_arg (G_OBJECT (file), "buffer-mode", "unbuffered");
  g_object_set (sink, "sink", file, "muxer", muxer, "max-size-time", (guint64) settings->record.piece * GST_SECOND,
      NULL);
  g_signal_connect (sink, "format-location-full", G_CALLBACK (on_location), session);
  g_signal_connect (muxer, "pad-added", G_CALLBACK (on_muxer_pad), session);
  gst_bin_add_many (GST_BIN (session->pipeline), session->source, sink, NULL);
  if (!gst_element_link (session->source, sink))
    opening->error = g_strdup_printf ("the muxer takes no %s",
        gst_structure_get_name (gst_caps_get_structure (caps, 0)));
  else if (sound && session_takes_sound (settings->record.format, sound) && !add_sound (session, sink, sound))
    opening->error = g_strdup_printf ("the muxer takes no %s",
        gst_structure_get_name (gst_caps_get_structure (sound, 0)));
  if (opening->error)
    in_main (after_open, opening);
  else
    in_pool (open_in_thread, opening);
  return session;
}

gboolean
session_push (Session *session, GstBuffer *buffer, gint64 wall)
{
  gint64 start;

  if (hub_level (session->source) > MAX_WAITING)
    return FALSE;
  if (session->begun && GST_BUFFER_PTS (buffer) < session->key) /* it refers to a picture from before the first one */
    return TRUE;
  buffer = gst_buffer_copy (buffer); /* shares the memory */
  if (!session->begun) {
    session->base = GST_BUFFER_DTS (buffer);
    session->key = GST_BUFFER_PTS (buffer);
  }
  start = wall - (gint64) (GST_BUFFER_PTS (buffer) - session->base) / 1000;
  if (!session->begun || ABS (start - session->wall) > ASTRAY)
    session->wall = start;
  if (!session->begun)
    session->heard = GST_BUFFER_PTS (buffer);
  session->begun = TRUE;
  if (session->sound && !session->deaf && GST_BUFFER_DTS (buffer) > session->heard + SILENT) {
    session->deaf = TRUE; /* the muxer would wait for it, and no picture would be written */
    gst_app_src_end_of_stream (GST_APP_SRC (session->sound));
  }
  GST_BUFFER_PTS (buffer) -= session->base;
  GST_BUFFER_DTS (buffer) -= session->base;
  session->step = GST_BUFFER_DTS (buffer) - session->decoded;
  session->decoded = GST_BUFFER_DTS (buffer);
  session->last = MAX (session->last, GST_BUFFER_PTS (buffer));
  gst_app_src_push_buffer (GST_APP_SRC (session->source), buffer); /* what it refuses, an error explains */
  return TRUE;
}

void
session_push_sound (Session *session, GstBuffer *buffer)
{
  if (!session->sound || session->deaf || !session->begun || GST_BUFFER_PTS (buffer) < session->key ||
      hub_level (session->sound) > MAX_WAITING)
    return;
  session->heard = MAX (session->heard, GST_BUFFER_PTS (buffer));
  buffer = gst_buffer_copy (buffer); /* shares the memory */
  GST_BUFFER_FLAG_UNSET (buffer, GST_BUFFER_FLAG_DELTA_UNIT | HUB_SOUND);
  GST_BUFFER_PTS (buffer) -= session->base;
  GST_BUFFER_DTS (buffer) = GST_CLOCK_TIME_NONE;
  gst_app_src_push_buffer (GST_APP_SRC (session->sound), buffer);
}
