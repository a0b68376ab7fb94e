/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * snapshot.c: writes a frame of a camera as a picture. The streaming thread only takes a reference; a thread of the
 * pool converts the frame and writes the file, first under another name, so that no reader finds half a picture. */
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

#define WITHIN 5000                 /* ms for a frame to come, and as many for it to be written */
#define WAITING "cf-watch-snapshot" /* set on a pad while a snapshot waits for a frame */

/* The main thread and the probe have a reference each. */
typedef struct {
  gatomicrefcount count;
  char *camera, *file;
  gboolean overwrite;
  SnapshotAnswer answer; /* NULL: it was answered */
  gpointer from;
  GstPad *pad;
  gulong probe;
  guint timer;
  gboolean late;     /* a frame has come, but WITHIN has passed */
  _Atomic int taken; /* a frame has come, or none is wanted any more */

  /* Of the thread that has the frame. */
  GstSample *sample;
  char *error;
  int width, height;
} Snapshot;

static void
snapshot_unref (gpointer data)
{
  Snapshot *snapshot = data;

  if (!g_atomic_ref_count_dec (&snapshot->count))
    return;
  gst_object_unref (snapshot->pad);
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

static void
write_in_thread (gpointer data)
{
  Snapshot *snapshot = data;
  g_autoptr (GstCaps)
      caps = gst_caps_new_empty_simple (g_str_has_suffix (snapshot->file, ".png") ? "image/png" : "image/jpeg");
  g_autoptr (GError) error = NULL;
  GstSample *frame = in_system_memory (snapshot->sample);
  GstSample *picture = gst_video_convert_sample (frame, caps, 10 * GST_SECOND, &error);
  GstMapInfo map;

  if (!picture)
    snapshot->error = g_strdup_printf ("the frame cannot be made a picture: %s", error ? error->message : "no encoder");
  else if (!gst_buffer_map (gst_sample_get_buffer (picture), &map, GST_MAP_READ))
    snapshot->error = g_strdup ("the picture cannot be read");
  else {
    snapshot->error = write_file (snapshot->file, snapshot->overwrite, map.data, map.size);
    gst_buffer_unmap (gst_sample_get_buffer (picture), &map);
  }
  if (picture)
    gst_sample_unref (picture);
  gst_sample_unref (frame);
  gst_sample_unref (snapshot->sample); /* the pool of the filter gets its buffer back */
  in_main (report, snapshot);
}

/* Takes the frame. Called from a streaming thread. */
static GstPadProbeReturn
on_frame (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Snapshot *snapshot = data;
  g_autoptr (GstCaps) caps = NULL;
  GstVideoInfo video;

  if (atomic_exchange (&snapshot->taken, 1))
    return GST_PAD_PROBE_REMOVE;
  g_object_set_data (G_OBJECT (pad), WAITING, NULL);
  caps = gst_pad_get_current_caps (pad);
  if (caps && gst_video_info_from_caps (&video, caps)) {
    snapshot->width = GST_VIDEO_INFO_WIDTH (&video);
    snapshot->height = GST_VIDEO_INFO_HEIGHT (&video);
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
    snapshot_unref (snapshot);
  }
  return G_SOURCE_REMOVE;
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
  g_atomic_ref_count_init (&snapshot->count);
  g_atomic_ref_count_inc (&snapshot->count);
  snapshot->camera = g_strdup (camera);
  snapshot->file = g_strdup (file);
  snapshot->overwrite = overwrite;
  snapshot->answer = answer;
  snapshot->from = from;
  snapshot->timer = g_timeout_add (WITHIN, on_late, snapshot);
  snapshot->pad = g_steal_pointer (&pad);
  g_object_set_data (G_OBJECT (snapshot->pad), WAITING, snapshot);
  snapshot->probe = gst_pad_add_probe (snapshot->pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, snapshot, snapshot_unref);
  return NULL;
}
