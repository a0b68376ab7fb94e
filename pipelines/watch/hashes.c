/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * hashes.c: the SHA-256 of each frame as it leaves the filter. An encoder keeps a frame's time and nothing
 * else, so each hash waits for the packet of that time, which carries it from there on. */
#include "hashes.h"

#include "sign.h"

#include <glib/gstdio.h>

#define MARK "cf-hash"
#define MAX_WAITING 256 /* frames; the branch that encodes leaves some out, and an encoder holds some back */

typedef struct {
  GstClockTime running;
  char *hash, *caps;
} Waiting;

struct Hashes {
  GMutex lock;
  GQueue waiting; /* of Waiting, the oldest first */
};

/* ---- a frame ------------------------------------------------------------- */

/* Returns how many bytes of a row of the plane are samples. */
static gsize
row_bytes (const GstVideoFrame *frame, guint plane)
{
  gsize bytes = 0;

  for (guint i = 0; i < GST_VIDEO_FRAME_N_COMPONENTS (frame); i++)
    if ((guint) GST_VIDEO_FRAME_COMP_PLANE (frame, i) == plane)
      bytes = MAX (bytes,
          (gsize) GST_VIDEO_FRAME_COMP_WIDTH (frame, i) * (gsize) GST_VIDEO_FRAME_COMP_PSTRIDE (frame, i));
  return MIN (bytes, (gsize) GST_VIDEO_FRAME_PLANE_STRIDE (frame, plane));
}

static guint
row_count (const GstVideoFrame *frame, guint plane)
{
  guint rows = 0;

  for (guint i = 0; i < GST_VIDEO_FRAME_N_COMPONENTS (frame); i++)
    if ((guint) GST_VIDEO_FRAME_COMP_PLANE (frame, i) == plane)
      rows = MAX (rows, (guint) GST_VIDEO_FRAME_COMP_HEIGHT (frame, i));
  return rows;
}

char *
hash_frame (GstBuffer *buffer, const GstVideoInfo *info)
{
  SignHash *hash;
  GstVideoFrame frame;

  if (!gst_video_frame_map (&frame, info, buffer, GST_MAP_READ))
    return NULL;
  hash = sign_hash_new ();
  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES (&frame); plane++) {
    const guint8 *row = GST_VIDEO_FRAME_PLANE_DATA (&frame, plane);
    const gsize bytes = row_bytes (&frame, plane), stride = (gsize) GST_VIDEO_FRAME_PLANE_STRIDE (&frame, plane);
    const guint rows = row_count (&frame, plane);
    const gboolean dense = bytes == stride;

    for (guint i = 0; i < (dense ? 1 : rows); i++, row += stride)
      sign_hash_add (hash, row, dense ? bytes * rows : bytes);
  }
  gst_video_frame_unmap (&frame);
  return sign_hash_end (hash);
}

/* ---- on the way ---------------------------------------------------------- */

static void
waiting_free (gpointer data)
{
  Waiting *waiting = data;

  g_free (waiting->hash);
  g_free (waiting->caps);
  g_free (waiting);
}

Hashes *
hashes_new (void)
{
  static gsize registered;
  static const char *tags[] = { NULL };
  Hashes *hashes = g_new0 (Hashes, 1);

  if (g_once_init_enter (&registered)) {
    gst_meta_register_custom (MARK, tags, NULL, NULL, NULL);
    g_once_init_leave (&registered, 1);
  }
  g_mutex_init (&hashes->lock);
  return hashes;
}

void
hashes_free (Hashes *hashes)
{
  g_queue_clear_full (&hashes->waiting, waiting_free);
  g_mutex_clear (&hashes->lock);
  g_free (hashes);
}

/* Returns the frame's running time; NONE: it has none. */
static GstClockTime
running_time (GstPad *pad, GstBuffer *frame)
{
  g_autoptr (GstEvent) event = gst_pad_get_sticky_event (pad, GST_EVENT_SEGMENT, 0);
  const GstSegment *segment;

  if (!event)
    return GST_CLOCK_TIME_NONE;
  gst_event_parse_segment (event, &segment);
  return gst_segment_to_running_time (segment, GST_FORMAT_TIME, GST_BUFFER_PTS (frame));
}

/* Returns the caps as text, without the kind of memory: the samples are the same in each. */
static char *
caps_text (GstPad *pad)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad), plain = NULL;

  if (!caps)
    return NULL;
  plain = gst_caps_copy (caps);
  gst_caps_set_features_simple (plain, NULL);
  return gst_caps_to_string (plain);
}

void
hashes_add (Hashes *hashes, GstPad *output, GstPad *input, GstBuffer *frame)
{
  const GstClockTime running = running_time (output, frame);
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (output);
  g_autofree char *hash = NULL, *from = caps_text (input);
  GstVideoInfo info;
  Waiting *waiting;

  if (!GST_CLOCK_TIME_IS_VALID (running) || !from || !caps || !gst_video_info_from_caps (&info, caps) ||
      !(hash = hash_frame (frame, &info)))
    return;
  waiting = g_new (Waiting, 1);
  *waiting = (Waiting) { running, g_steal_pointer (&hash), g_steal_pointer (&from) };
  g_mutex_lock (&hashes->lock);
  g_queue_push_tail (&hashes->waiting, waiting);
  if (hashes->waiting.length > MAX_WAITING)
    waiting_free (g_queue_pop_head (&hashes->waiting));
  g_mutex_unlock (&hashes->lock);
}

void
hashes_mark (Hashes *hashes, GstClockTime running, GstBuffer *packet)
{
  Waiting *found = NULL;

  g_mutex_lock (&hashes->lock);
  for (GList *l = hashes->waiting.head; l && !found; l = l->next)
    if (((Waiting *) l->data)->running == running) {
      found = l->data;
      g_queue_delete_link (&hashes->waiting, l);
    }
  g_mutex_unlock (&hashes->lock);
  if (!found)
    return;
  gst_structure_set (gst_custom_meta_get_structure (gst_buffer_add_custom_meta (packet, MARK)), "hash", G_TYPE_STRING,
      found->hash, "caps", G_TYPE_STRING, found->caps, NULL);
  waiting_free (found);
}

/* ---- the file ------------------------------------------------------------ */

void
hashes_write (FILE **file, const char *path, char **caps, GstBuffer *packet, gint64 wall)
{
  GstCustomMeta *meta = gst_meta_get_info (MARK) ? gst_buffer_get_custom_meta (packet, MARK) : NULL;
  const GstStructure *mark = meta ? gst_custom_meta_get_structure (meta) : NULL;
  const char *from = mark ? gst_structure_get_string (mark, "caps") : NULL;

  if (!*file && (!mark || !(*file = g_fopen (path, "we"))))
    return;
  if (from && g_strcmp0 (from, *caps)) {
    fprintf (*file, "%s\n", from);
    g_free (*caps);
    *caps = g_strdup (from);
  }
  fprintf (*file, "%" G_GINT64_FORMAT " %s\n", wall, mark ? gst_structure_get_string (mark, "hash") : "-");
}
