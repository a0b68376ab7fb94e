/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * status.c: the state of all cameras. */
#include "status.h"

#include "events.h"
#include "gpu.h"
#include "mqtt.h"

#include <stdio.h>

JsonObject *
status_json (Watch *watch, Camera *only)
{
  JsonObject *cameras = json_object_new ();
  const double up = (double) (g_get_monotonic_time () - watch->begun) / G_USEC_PER_SEC;

  for (guint i = 0; i < watch->cameras->len; i++) {
    Camera *camera = watch->cameras->pdata[i];

    if (!only || camera == only)
      json_object_set_object_member (cameras, camera->settings->name, camera_status (camera));
  }
  return object_of ("schema", int_node (EVENT_SCHEMA), "time", time_node (g_get_real_time ()), "uptime_s",
      number_node (up), "events", int_node ((gint64) events_count ()), "events_lost",
      int_node ((gint64) events_lost ()), "gpus", int_node (gpu_count ()), "mqtt", word_node (mqtt_state ()), "cameras",
      object_node (cameras), NULL);
}

void
status_print (Watch *watch)
{
  guint up = 0;
  guint64 dropped = 0;
  double fps = 0;

  for (guint i = 0; i < watch->cameras->len; i++) {
    Camera *camera = watch->cameras->pdata[i];

    up += camera->state == CAMERA_UP;
    fps += camera->fps;
    dropped += camera_counts (camera).dropped;
  }
  fprintf (stderr, "\r\033[K%u of %u cameras up, %.0f frames/s, %" G_GUINT64_FORMAT " dropped", up, watch->cameras->len,
      fps, dropped);
  fflush (stderr);
}

/* ---- Prometheus ---------------------------------------------------------- */

/* Names of cameras need no escaping: see is_name () of config.c. */
static void
add_metric (GString *text, Watch *watch, const char *name, const char *type, const char *help,
    double (*value) (Camera *camera))
{
  g_string_append_printf (text, "# HELP cf_watch_%s %s\n# TYPE cf_watch_%s %s\n", name, help, name, type);
  for (guint i = 0; i < watch->cameras->len; i++) {
    Camera *camera = watch->cameras->pdata[i];
    char number[G_ASCII_DTOSTR_BUF_SIZE];

    g_ascii_dtostr (number, sizeof number, value (camera));
    g_string_append_printf (text, "cf_watch_%s{camera=\"%s\"} %s\n", name, camera->settings->name, number);
  }
}

static double
get_up (Camera *camera)
{
  return camera->state == CAMERA_UP;
}

static double
get_frames (Camera *camera)
{
  return (double) camera_counts (camera).frames;
}

static double
get_dropped (Camera *camera)
{
  return (double) camera_counts (camera).dropped;
}

static double
get_fps (Camera *camera)
{
  return camera->fps;
}

static double
get_restarts (Camera *camera)
{
  return (double) camera->restarts;
}

static double
get_recording (Camera *camera)
{
  JsonObject *record = recorder_status (camera->recorder);
  gboolean on = json_object_get_boolean_member (record, "on");

  json_object_unref (record);
  return on;
}

static double
get_gpu (Camera *camera)
{
  g_autofree char *backend = camera_backend (camera);

  return g_str_has_prefix (backend, "cuda");
}

char *
status_metrics (Watch *watch)
{
  GString *text = g_string_new (NULL);

  add_metric (text, watch, "up", "gauge", "1 while frames come from the camera.", get_up);
  add_metric (text, watch, "frames_total", "counter", "Filtered frames.", get_frames);
  add_metric (text, watch, "dropped_total", "counter", "Frames that the filter had no time for.", get_dropped);
  add_metric (text, watch, "frames_per_second", "gauge", "Frames of the last second.", get_fps);
  add_metric (text, watch, "restarts_total", "counter", "How often the camera was lost.", get_restarts);
  add_metric (text, watch, "recording", "gauge", "1 while it is recorded.", get_recording);
  add_metric (text, watch, "on_gpu", "gauge", "1 while a GPU filters.", get_gpu);
  g_string_append_printf (text,
      "# HELP cf_watch_events_total Events.\n# TYPE cf_watch_events_total counter\n"
      "cf_watch_events_total %" G_GUINT64_FORMAT "\n"
      "# HELP cf_watch_events_lost_total Lines that standard output lost.\n# TYPE cf_watch_events_lost_total counter\n"
      "cf_watch_events_lost_total %" G_GUINT64_FORMAT "\n",
      events_count (), events_lost ());
  return g_string_free (text, FALSE);
}
