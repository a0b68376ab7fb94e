/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * snapshot.c: one filtered frame as JPEG or PNG. The streaming thread only takes a reference; a thread of the pool
 * converts it and writes the file, first under another name, so that no reader finds half a picture. */
#define _GNU_SOURCE /* renameat2 */
#include "pipeline-private.h"

#include <errno.h>
#include <fcntl.h>
#include <gst/video/video.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct Shot {
  Pipeline *pipeline;
  char *path;
  gboolean overwrite;
  PipelineSnapshotDone done;
  gpointer data;
  GstSample *sample;
  char *error;
  int width, height;
};

static void
shot_free (Shot *shot)
{
  pipeline_unref (shot->pipeline);
  g_free (shot->path);
  g_free (shot->error);
  if (shot->sample)
    gst_sample_unref (shot->sample);
  g_free (shot);
}

static gboolean
report (gpointer data)
{
  Shot *shot = data;

  shot->done (shot->error, shot->width, shot->height, shot->data);
  shot_free (shot);
  return G_SOURCE_REMOVE;
}

/* Writes a file that appears under its name when it is complete. Returns what went wrong (free it), or NULL. */
static char *
write_file (const char *path, gboolean overwrite, gconstpointer data, gsize n)
{
  /* A name of its own: what a process that was killed has left is not in the way. */
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
  Shot *shot = data;
  g_autoptr (GstCaps)
      caps = gst_caps_new_empty_simple (g_str_has_suffix (shot->path, ".png") ? "image/png" : "image/jpeg");
  g_autoptr (GError) error = NULL;
  GstSample *frame = in_system_memory (shot->sample);
  GstSample *picture = gst_video_convert_sample (frame, caps, 10 * GST_SECOND, &error);
  GstMapInfo map;

  if (!picture)
    shot->error = g_strdup_printf ("the frame cannot be made a picture: %s", error ? error->message : "no encoder");
  else if (!gst_buffer_map (gst_sample_get_buffer (picture), &map, GST_MAP_READ))
    shot->error = g_strdup ("the picture cannot be read");
  else {
    shot->error = write_file (shot->path, shot->overwrite, map.data, map.size);
    gst_buffer_unmap (gst_sample_get_buffer (picture), &map);
  }
  if (picture)
    gst_sample_unref (picture);
  gst_sample_unref (frame);
  g_clear_pointer (&shot->sample, gst_sample_unref); /* the pool of the filter gets its buffer back */
  in_main (report, shot);
}

/* Returns the snapshot that was asked for, which is then the caller's; NULL if there is none. Thread-safe. */
static Shot *
take_request (Pipeline *pipeline)
{
  Shot *shot;

  g_mutex_lock (&pipeline->lock);
  shot = pipeline->shot;
  pipeline->shot = NULL;
  atomic_store (&pipeline->wants_shot, 0);
  g_mutex_unlock (&pipeline->lock);
  return shot;
}

void
pipeline_take_shot (Pipeline *pipeline, GstPad *pad, GstBuffer *buffer)
{
  GstCaps *caps = gst_pad_get_current_caps (pad);
  Shot *shot = take_request (pipeline);
  GstVideoInfo info;

  if (shot) {
    if (caps && gst_video_info_from_caps (&info, caps)) {
      shot->width = GST_VIDEO_INFO_WIDTH (&info);
      shot->height = GST_VIDEO_INFO_HEIGHT (&info);
    }
    shot->sample = gst_sample_new (buffer, caps, NULL, NULL);
    in_pool (write_in_thread, shot);
  }
  if (caps)
    gst_caps_unref (caps);
}

gboolean
pipeline_snapshot (Pipeline *pipeline, const char *path, gboolean overwrite, PipelineSnapshotDone done, gpointer data)
{
  Shot *shot;

  g_mutex_lock (&pipeline->lock);
  if (pipeline->shot) {
    g_mutex_unlock (&pipeline->lock);
    return FALSE;
  }
  pipeline->shot = shot = g_new0 (Shot, 1);
  shot->pipeline = pipeline_ref (pipeline);
  shot->path = g_strdup (path);
  shot->overwrite = overwrite;
  shot->done = done;
  shot->data = data;
  atomic_store (&pipeline->wants_shot, 1);
  g_mutex_unlock (&pipeline->lock);
  return TRUE;
}

gboolean
pipeline_snapshot_cancel (Pipeline *pipeline)
{
  Shot *shot = take_request (pipeline);

  if (shot)
    shot_free (shot);
  return shot != NULL;
}
