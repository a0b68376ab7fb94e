/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * face.c: shows how much of a face a filter's setting leaves. */
#include "face.h"

#include "elements.h"
#include "threads.h"

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>
#include <string.h>

#define MADE_WITHIN (5 * GST_SECOND)

typedef struct {
  GstStructure *settings; /* what is set, by the names of the properties */
  char *line;
  guint width, height; /* of the face */
  SnapshotPicture done;
  gpointer from;
  GBytes *picture; /* NULL: it could not be made */
} Face;

static GMutex one_at_a_time; /* a frame with a wide kernel takes a while */

/* Ellipses, the later ones before the earlier: centre and radii, in halves of the face, and brightness. */
static const struct {
  double x, y, rx, ry;
  guint8 level;
} parts[] = {
  { 0, 0, 1, 1, 175 },                                               /* head */
  { 0, -0.8, 0.75, 0.3, 50 },                                        /* hair */
  { -0.4, -0.3, 0.24, 0.05, 60 }, { 0.4, -0.3, 0.24, 0.05, 60 },     /* brows */
  { -0.4, -0.12, 0.2, 0.1, 230 }, { 0.4, -0.12, 0.2, 0.1, 230 },     /* eyes */
  { -0.38, -0.12, 0.08, 0.09, 25 }, { 0.42, -0.12, 0.08, 0.09, 25 }, /* pupils */
  { 0, 0.12, 0.09, 0.26, 200 }, { 0, 0.34, 0.16, 0.05, 120 },        /* nose */
  { 0, 0.6, 0.36, 0.1, 90 }, { 0, 0.57, 0.3, 0.03, 60 },             /* mouth */
};

static guint8
level_at (double x, double y)
{
  guint8 level = 70; /* what is behind */

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++) {
    const double dx = (x - parts[i].x) / parts[i].rx, dy = (y - parts[i].y) / parts[i].ry;

    if (dx * dx + dy * dy <= 1)
      level = parts[i].level;
  }
  return level;
}

/* Returns a frame with two of them, half a face apart. */
static GstSample *
draw (const Face *face)
{
  const guint width = 2 * face->width + face->width / 2;
  g_autoptr (GstCaps) caps = NULL;
  GstVideoFrame frame;
  GstVideoInfo info;
  GstBuffer *buffer;
  GstSample *sample;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_Y444, width, face->height);
  caps = gst_video_info_to_caps (&info);
  buffer = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (&info), NULL);
  GST_BUFFER_PTS (buffer) = 0;
  gst_buffer_memset (buffer, 0, 128, GST_VIDEO_INFO_SIZE (&info)); /* no colour */
  if (gst_video_frame_map (&frame, &info, buffer, GST_MAP_WRITE)) {
    for (guint y = 0; y < face->height; y++)
      for (guint x = 0; x < width; x++) {
        const guint at = x < face->width + face->width / 4 ? x : x - face->width - face->width / 2;
        guint8 *row = (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, 0) + y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0);

        row[x] = level_at (2.0 * ((int) at + 0.5) / face->width - 1, 2.0 * (y + 0.5) / face->height - 1);
      }
    gst_video_frame_unmap (&frame);
  }
  sample = gst_sample_new (buffer, caps, NULL, NULL);
  gst_buffer_unref (buffer);
  return sample;
}

static gboolean
set_property (GQuark name, const GValue *value, gpointer element)
{
  g_object_set_property (element, g_quark_to_string (name), value);
  return TRUE;
}

static gboolean
on_made (gpointer data)
{
  Face *face = data;

  face->done (face->from, face->picture, "the element does not filter the picture of a face");
  g_clear_pointer (&face->picture, g_bytes_unref);
  gst_structure_free (face->settings);
  g_free (face->line);
  g_free (face);
  return G_SOURCE_REMOVE;
}

/* In a thread of the pool. */
static void
make (gpointer data)
{
  Face *face = data;
  g_autoptr (GstElement) pipeline = gst_parse_launch (face->line, NULL), element = NULL, in = NULL, out = NULL;
  g_autoptr (GstSample) frame = draw (face), made = NULL;
  GstMapInfo map;

  g_mutex_lock (&one_at_a_time);
  if (pipeline) {
    element = gst_bin_get_by_name (GST_BIN (pipeline), "face");
    in = gst_bin_get_by_name (GST_BIN (pipeline), "in");
    out = gst_bin_get_by_name (GST_BIN (pipeline), "out");
    gst_structure_foreach (face->settings, set_property, element);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    gst_app_src_push_sample (GST_APP_SRC (in), frame);
    gst_app_src_end_of_stream (GST_APP_SRC (in));
    made = gst_app_sink_try_pull_sample (GST_APP_SINK (out), MADE_WITHIN);
    if (made && gst_buffer_map (gst_sample_get_buffer (made), &map, GST_MAP_READ)) {
      face->picture = g_bytes_new (map.data, map.size);
      gst_buffer_unmap (gst_sample_get_buffer (made), &map);
    }
    gst_element_set_state (pipeline, GST_STATE_NULL);
  }
  g_mutex_unlock (&one_at_a_time);
  in_main (on_made, face);
}

/* Returns whether the property says how an area is filtered; not which one, nor where. */
static gboolean
is_setting (const GParamSpec *spec)
{
  static const char *const others[] = { "name", "mask", "mask-polygons", "backend", "cuda-device", "cuda-device-id",
    "frames-in-flight", NULL };

  return (spec->flags & G_PARAM_READWRITE) == G_PARAM_READWRITE && !(spec->flags & G_PARAM_CONSTRUCT_ONLY) &&
      !g_type_is_a (spec->value_type, G_TYPE_OBJECT) && !g_str_has_prefix (spec->name, "roi") &&
      !g_strv_contains (others, spec->name);
}

/* The preset comes last: weights that are set choose another one. */
static GstStructure *
read_settings (GstElement *element)
{
  GstStructure *settings = gst_structure_new_empty ("settings");
  g_auto (GValue) preset = G_VALUE_INIT;
  guint n;
  g_autofree GParamSpec **specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);

  for (guint i = 0; i < n; i++) {
    g_auto (GValue) value = G_VALUE_INIT;

    if (!is_setting (specs[i]))
      continue;
    g_value_init (&value, specs[i]->value_type);
    g_object_get_property (G_OBJECT (element), specs[i]->name, &value);
    if (!g_param_value_defaults (specs[i], &value))
      gst_structure_set_value (settings, specs[i]->name, &value);
  }
  g_object_get_property (G_OBJECT (element), "preset", &preset);
  gst_structure_remove_field (settings, "preset");
  gst_structure_set_value (settings, "preset", &preset);
  return settings;
}

gboolean
face_show (GstElement *element, guint width, SnapshotPicture done, gpointer from)
{
  GObjectClass *class = G_OBJECT_GET_CLASS (element);
  Face *face;

  if (!g_object_class_find_property (class, "roi") || !g_object_class_find_property (class, "preset"))
    return FALSE;
  face = g_new0 (Face, 1);
  face->settings = read_settings (element);
  face->width = width;
  face->height = width * 5 / 4;
  face->line = g_strdup_printf ("appsrc name=in format=time ! %s name=face backend=cpu roi=%u,0,%u,%u ! videoconvert ! "
                                "video/x-raw,format=RGB ! jpegenc quality=95 ! appsink name=out sync=false",
      element_kind (element), width + width / 2, width, face->height);
  face->done = done;
  face->from = from;
  in_pool (make, face);
  return TRUE;
}
