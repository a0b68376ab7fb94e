/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * watch.c: all cameras of the process. */
#include "watch.h"

#include "events.h"
#include "filter.h"
#include "gpu.h"
#include "index.h"
#include "page.h"
#include "secrets.h"
#include "serve.h"
#include "store.h"

#include <string.h>
#include <unistd.h>

#define END_WITHIN 10 /* s for cameras and files; the broker has 2.5 s after that, standard output 1 s */

static Camera *
find_camera (GPtrArray *cameras, const char *name)
{
  for (guint i = 0; i < cameras->len; i++) {
    Camera *camera = cameras->pdata[i];

    if (!strcmp (camera->settings->name, name))
      return camera;
  }
  return NULL;
}

Camera *
watch_find (Watch *watch, const char *name)
{
  return find_camera (watch->cameras, name);
}

/* Starts the camera. If an older one of its name is still being stopped, the camera waits, since both would want the
 * same device. */
static void
add_camera (Watch *watch, CameraSettings *settings, gboolean looked)
{
  Camera *camera = camera_new (settings);

  g_ptr_array_add (watch->cameras, camera);
  if (!find_camera (watch->leaving, settings->name))
    camera_start (camera, looked);
}

void
watch_start (Watch *watch, Config *config)
{
  watch->config = config;
  watch->cameras = g_ptr_array_new ();
  watch->leaving = g_ptr_array_new ();
  watch->begun = g_get_monotonic_time ();
  store_open (config->trial ? NULL : config->path);
  if (config->index && !config->trial)
    index_start (watch, config->path);
  event_post (NULL, "ready", "cameras", int_node (config->cameras->len), "pid", int_node (getpid ()), "gpus",
      int_node (gpu_count ()), "socket", watch->socket ? text_node (watch->socket) : NULL, "metrics_port",
      watch->metrics_port ? int_node (watch->metrics_port) : NULL, "page_port",
      watch->page_port ? int_node (watch->page_port) : NULL, "rtsp_port",
      watch->rtsp_port ? int_node (watch->rtsp_port) : NULL, NULL);
  for (guint i = 0; i < config->cameras->len; i++)
    add_camera (watch, config->cameras->pdata[i], FALSE);
}

/* ---- changes ------------------------------------------------------------- */

static void
free_gone (Watch *watch)
{
  for (guint i = watch->leaving->len; i-- > 0;) {
    Camera *camera = watch->leaving->pdata[i];

    if (!camera_is_gone (camera))
      continue;
    g_ptr_array_remove_index (watch->leaving, i);
    camera_free (camera);
  }
  for (guint i = 0; i < watch->cameras->len; i++) {
    Camera *camera = watch->cameras->pdata[i];

    if (camera->state == CAMERA_NEW && !find_camera (watch->leaving, camera->settings->name))
      camera_start (camera, FALSE);
  }
}

void
watch_add (Watch *watch, const char *name, const char *json, GString *wrong)
{
  CameraSettings *settings;

  free_gone (watch);
  if (watch_find (watch, name))
    g_string_append_printf (wrong, "there is a camera \"%s\" already", name);
  else if (find_camera (watch->leaving, name))
    g_string_append_printf (wrong, "the removed camera \"%s\" is still being stopped", name);
  else if ((settings = config_read_camera (watch->config, name, json, wrong))) {
    Camera *camera;

    add_camera (watch, settings, TRUE);
    camera_settings_unref (settings);
    camera = watch_find (watch, name);
    if (camera->state == CAMERA_FAILED) { /* what was typed is wrong, so there is nothing to keep */
      g_string_append (wrong, camera->reason);
      watch_remove (watch, camera);
    }
  }
}

void
watch_set_filter (Watch *watch, Camera *camera, const char *line, const char *by, GString *wrong)
{
  const char *own = strchr (camera->settings->text, '\n') + 1; /* behind the defaults */
  g_autoptr (JsonNode) node = json_from_string (own, NULL);
  GstElement *filter = *line ? filter_new ("", line, wrong) : NULL;
  g_autofree char *json = NULL;
  CameraSettings *settings;

  g_clear_pointer (&filter, gst_object_unref);
  if (wrong->len)
    return;
  json_object_set_string_member (json_node_get_object (node), "filter", line);
  json = json_to_string (node, FALSE);
  if (!(settings = config_read_camera (watch->config, camera->settings->name, json, wrong)))
    return;
  camera_restart (camera, settings, by);
  camera_settings_unref (settings);
}

void
watch_remove (Watch *watch, Camera *camera)
{
  camera_remove (camera, FALSE);
  g_ptr_array_remove (watch->cameras, camera);
  g_ptr_array_add (watch->leaving, camera);
  event_post_object (camera->settings->name, "removed", json_object_new ());
}

static CameraSettings *
find_settings (Config *config, const char *name)
{
  for (guint i = 0; i < config->cameras->len; i++) {
    CameraSettings *settings = config->cameras->pdata[i];

    if (!strcmp (settings->name, name))
      return settings;
  }
  return NULL;
}

void
watch_add_files (Watch *watch, GPtrArray *paths)
{
  const Config *config = watch->config;
  const char *secrets = g_getenv ("CF_WATCH_SECRETS");
  const char *const files[] = { config->path, secrets && *secrets ? secrets : config->secrets, config->mqtt.ca,
    config->rtsp.users, config->page.users, config->page.certificate, config->page.key };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    if (files[i])
      g_ptr_array_add (paths, g_strdup (files[i]));
  for (guint i = 0; i < config->cameras->len; i++) {
    const CameraSettings *settings = config->cameras->pdata[i];

    if (settings->tls_ca)
      g_ptr_array_add (paths, g_strdup (settings->tls_ca));
  }
}

JsonObject *
watch_reload (Watch *watch, const char *by, GString *wrong)
{
  static const char *const names[] = { "added", "removed", "changed", "kept", "restart_needed" };
  enum { ADDED, REMOVED, CHANGED, KEPT, RESTART };
  JsonArray *lists[G_N_ELEMENTS (names)];
  JsonObject *answer;
  Config *config = watch->config->trial ? NULL : config_load (watch->config->path, wrong, NULL, NULL);

  if (watch->config->trial)
    g_string_append (wrong, "there is no file to read: the camera is from the command line (--try)");
  /* Nothing counts before all can be read. */
  for (int take = FALSE; config && take <= TRUE; take++)
    if (!secrets_load (config->secrets, take, wrong) || !page_reload (take, wrong) || !serve_read_users (take, wrong))
      g_clear_pointer (&config, config_free);
  if (!config)
    return NULL;
  answer = json_object_new ();
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    json_object_set_array_member (answer, names[i], lists[i] = json_array_new ());
  for (guint i = watch->cameras->len; i-- > 0;) {
    Camera *camera = watch->cameras->pdata[i];
    CameraSettings *settings = find_settings (config, camera->settings->name);
    gboolean same = settings && !strcmp (settings->text, camera->settings->text);

    json_array_add_string_element (lists[!settings ? REMOVED : same ? KEPT : CHANGED], camera->settings->name);
    if (!settings)
      watch_remove (watch, camera);
    else if (!same || camera->state == CAMERA_FAILED) /* what it lacked may be there now */
      camera_restart (camera, same ? NULL : settings, by);
  }
  for (guint i = 0; i < config->cameras->len; i++) {
    CameraSettings *settings = config->cameras->pdata[i];

    if (watch_find (watch, settings->name))
      continue;
    json_array_add_string_element (lists[ADDED], settings->name);
    add_camera (watch, settings, FALSE);
  }
  if (strcmp (config->process, watch->config->process))
    json_array_add_string_element (lists[RESTART], "control, index, mqtt, metrics, page or rtsp");
  /* What only a restart takes up is compared with what the process started with. */
  g_free (config->process);
  config->process = g_strdup (watch->config->process);
  config_free (watch->config);
  watch->config = config;
  return answer;
}

/* ---- the end ------------------------------------------------------------- */

static gboolean
look_for_end (gpointer data)
{
  Watch *watch = data;

  free_gone (watch);
  if ((watch->leaving->len > 0 || store_is_busy ()) && g_get_monotonic_time () < watch->end_by)
    return G_SOURCE_CONTINUE;
  watch->clean = watch->leaving->len == 0 && camera_count_aside () == 0 && store_is_saved ();
  g_main_loop_quit (watch->loop);
  return G_SOURCE_REMOVE;
}

void
watch_end (Watch *watch, const char *reason)
{
  if (watch->ending)
    return;
  watch->ending = TRUE;
  event_post (NULL, "stopping", "reason", word_node (reason), NULL);
  for (guint i = 0; i < watch->leaving->len; i++)
    ((Camera *) watch->leaving->pdata[i])->final = TRUE;
  for (guint i = 0; i < watch->cameras->len; i++) {
    camera_remove (watch->cameras->pdata[i], TRUE);
    g_ptr_array_add (watch->leaving, watch->cameras->pdata[i]);
  }
  g_ptr_array_set_size (watch->cameras, 0);
  /* A little more than a session has for its own end. */
  watch->end_by = g_get_monotonic_time () + END_WITHIN * G_USEC_PER_SEC + G_USEC_PER_SEC / 2;
  g_timeout_add (20, look_for_end, watch);
}

void
watch_tick (Watch *watch)
{
  for (guint i = 0; i < watch->cameras->len; i++)
    camera_tick (watch->cameras->pdata[i]);
  for (guint i = 0; i < watch->leaving->len; i++)
    camera_tick (watch->leaving->pdata[i]);
  free_gone (watch);
  store_tick ();
}
