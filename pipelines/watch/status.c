/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * status.c: the state of all cameras, as commands, a terminal and Prometheus get it. */
#include "status.h"

#include "events.h"
#include "gpu.h"
#include "http.h"
#include "index.h"
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

/* By HTTP, with libsoup where it is found at build time. */

#ifdef HAVE_SOUP
static Http *server;

/* Of each camera; `member`: of its status, or behind a point of its status' `record`. */
static const struct {
  const char *name, *type, *help, *member;
} metrics[] = {
  { "up", "gauge", "1 while frames come from the camera.", "state" },
  { "frames_total", "counter", "Filtered frames.", "frames" },
  { "dropped_total", "counter", "Frames that the filter had no time for.", "dropped" },
  { "frames_per_second", "gauge", "Frames of the last second.", "fps" },
  { "unmasked_frames_total", "counter", "Frames that an element that hides left as they were.", "unmasked" },
  { "restarts_total", "counter", "How often the camera was lost.", "restarts" },
  { "recording", "gauge", "1 while it is recorded.", ".on" },
  { "recording_failed", "gauge", "1 from a failure of recording on until a new piece begins.", ".failed" },
  { "recording_dropped_total", "counter", "Frames that encoder or disk had no time for.", ".dropped" },
  { "on_gpu", "gauge", "1 while a GPU filters.", "backend" },
};

static double
number_of (JsonObject *camera, const char *member)
{
  if (g_str_equal (member, "state"))
    return g_str_equal (json_object_get_string_member (camera, member), "up");
  if (*member == '.')
    return json_object_get_double_member (json_object_get_object_member (camera, "record"), member + 1);
  if (g_str_equal (member, "backend"))
    return g_str_has_prefix (json_object_get_string_member (camera, member), "cuda");
  return json_object_get_double_member (camera, member);
}

/* Returns the text that Prometheus reads. Free it. Names of cameras need no escaping: see is_name () of config.c. */
static char *
metrics_text (Watch *watch)
{
  GString *text = g_string_new (NULL);
  JsonObject *status = status_json (watch, NULL), *cameras = json_object_get_object_member (status, "cameras");

  for (guint m = 0; m < G_N_ELEMENTS (metrics); m++) {
    const char *name = metrics[m].name;

    g_string_append_printf (text, "# HELP cf_watch_%s %s\n# TYPE cf_watch_%s %s\n", name, metrics[m].help, name,
        metrics[m].type);
    for (guint i = 0; i < watch->cameras->len; i++) {
      const char *camera = ((const Camera *) watch->cameras->pdata[i])->settings->name;
      JsonObject *object = json_object_get_object_member (cameras, camera);
      char number[G_ASCII_DTOSTR_BUF_SIZE];

      if (g_str_equal (metrics[m].member, "unmasked") && !json_object_has_member (object, "unmasked"))
        continue;
      g_ascii_dtostr (number, sizeof number, number_of (object, metrics[m].member));
      g_string_append_printf (text, "cf_watch_%s{camera=\"%s\"} %s\n", name, camera, number);
    }
  }
  json_object_unref (status);
  g_string_append_printf (text,
      "# HELP cf_watch_events_total Events.\n# TYPE cf_watch_events_total counter\n"
      "cf_watch_events_total %" G_GUINT64_FORMAT "\n"
      "# HELP cf_watch_events_lost_total Lines that standard output lost.\n# TYPE cf_watch_events_lost_total counter\n"
      "cf_watch_events_lost_total %" G_GUINT64_FORMAT "\n"
      "# HELP cf_watch_index_dropped_total Seconds and events that the index had no time for.\n"
      "# TYPE cf_watch_index_dropped_total counter\n"
      "cf_watch_index_dropped_total %" G_GUINT64_FORMAT "\n",
      events_count (), events_lost (), index_dropped ());
  return g_string_free (text, FALSE);
}

static void
on_request (SoupServer *soup, SoupServerMessage *message, const char *path, GHashTable *query, gpointer data)
{
  char *text;

  (void) soup;
  (void) query;
  if (g_str_equal (path, "/metrics")) {
    text = metrics_text (data);
    soup_server_message_set_status (message, SOUP_STATUS_OK, NULL);
    soup_server_message_set_response (message, "text/plain; version=0.0.4", SOUP_MEMORY_TAKE, text, strlen (text));
  } else if (g_str_equal (path, "/healthz")) {
    soup_server_message_set_status (message, SOUP_STATUS_OK, NULL);
    soup_server_message_set_response (message, "text/plain", SOUP_MEMORY_STATIC, "ok\n", 3);
  } else {
    soup_server_message_set_status (message, SOUP_STATUS_NOT_FOUND, NULL);
  }
}

gboolean
metrics_start (Watch *watch, const Config *config, GString *wrong)
{
  const HttpPlan plan = { .what = "metrics", .address = config->metrics.address, .port = config->metrics.port };

  server = http_start (&plan, on_request, watch, wrong);
  if (server)
    watch->metrics_port = http_port (server);
  return server != NULL;
}

void
metrics_stop (void)
{
  http_stop (server);
}
#endif
