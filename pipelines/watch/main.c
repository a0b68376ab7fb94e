/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf-watch: runs a building's cameras. docs/watch.md is the user's page. This file has the command line, signals, the
 * service manager, and the order in which things begin and end. */
#include "../tools/line.h"
#include "check.h"
#include "client.h"
#include "events.h"
#include "gpu.h"
#include "index.h"
#include "look.h"
#include "mqtt.h"
#include "page.h"
#include "parts.h"
#include "password.h"
#include "secrets.h"
#include "serve.h"
#include "status.h"
#include "topics.h"
#include "try.h"
#include "watch.h"
#include "ws.h"

#include <errno.h>
#include <gio/gio.h>
#include <gio/gunixsocketaddress.h>
#include <glib-unix.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

static const char summary[] =
    "Runs the cameras that FILE names: filters their video, keeps the connections up, records, and reports events as "
    "lines of JSON. Commands come from standard input or a socket; `status` is one.";
static const char description[] =
    "A first FILE:\n  { \"cameras\": { \"door\": { \"source\": \"rtsp://192.168.1.20/stream1\",\n"
    "                           \"filter\": \"cudamedian kernel-size=3\" } } }\n"
    "All settings: docs/watch.md, which Debian's package cudafilters-doc has in /usr/share/doc/cudafilters-doc";

/* ---- the service manager ------------------------------------------------- */

static void
notify (const char *state)
{
#ifdef HAVE_SYSTEMD
  sd_notify (0, state); /* no manager: nothing happens */
#else
  (void) state;
#endif
}

/* Sees all events: an EventSink. */
static void
on_event (const char *line, const char *camera, const char *type)
{
  if (g_str_equal (type, "stopping"))
    notify ("STOPPING=1");
  if (events_are_quiet ())
    try_show_event (line, type);
  index_event (line, camera, type);
  mqtt_publish (line, camera, type);
  topics_see_event (type);
  ws_show_event (line, type);
}

static gboolean
feed_watchdog (gpointer data)
{
  (void) data;
  notify ("WATCHDOG=1");
  return G_SOURCE_CONTINUE;
}

/* The watchdog is fed by the main loop, which is what must not stop. */
static void
start_watchdog (void)
{
#ifdef HAVE_SYSTEMD
  guint64 us = 0;

  if (sd_watchdog_enabled (0, &us) > 0 && us > 0)
    g_timeout_add ((guint) (us / 2000), feed_watchdog, NULL);
#else
  if (g_getenv ("NOTIFY_SOCKET"))
    say ("cf-watch: built without libsystemd, so the service manager is not notified: use Type=exec, no WatchdogSec");
  (void) feed_watchdog;
#endif
}

/* ---- signals ------------------------------------------------------------- */

static guint signal_sources[2];

static gboolean
on_signal (Watch *watch, guint which, const char *name)
{
  /* Without the sources a next signal, of either kind, ends the process at once, even if the main loop hangs. */
  g_clear_handle_id (&signal_sources[1 - which], g_source_remove);
  watch_end (watch, name);
  return G_SOURCE_REMOVE;
}

static gboolean
on_interrupt (gpointer watch)
{
  return on_signal (watch, 0, "SIGINT");
}

static gboolean
on_terminate (gpointer watch)
{
  return on_signal (watch, 1, "SIGTERM");
}

static void
on_looked (const char *fault, gpointer data)
{
  g_autoptr (GString) wrong = g_string_new (fault);
  JsonObject *lists = NULL;
  Watch *watch = data;

  if (watch->ending)
    return;
  if (!fault)
    lists = watch_reload (watch, "SIGHUP", wrong);
  if (lists)
    event_post_object (NULL, "reloaded", lists);
  else
    event_post (NULL, "reload-failed", "reason", text_node (wrong->str), NULL);
}

static gboolean
on_hang_up (gpointer watch)
{
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);

  watch_add_files (watch, paths);
  look_start (paths, on_looked, watch);
  return G_SOURCE_CONTINUE;
}

static gboolean
on_second (gpointer data)
{
  watch_tick (data);
  if (isatty (STDERR_FILENO) && !events_are_quiet ())
    status_print (data);
  return G_SOURCE_CONTINUE;
}

/* ---- begin and end ------------------------------------------------------- */

/* Ends the process when all is finished, without exit handlers: one of NVIDIA's driver crashes now and then where its
 * decoders were in use, and where a camera hangs, one that waits for its threads would hang, too. */
static void G_GNUC_NORETURN
finish (int status)
{
  fflush (NULL);
  _exit (status);
}

/* Prints a text, or what is wrong where it is NULL, and ends. */
static void G_GNUC_NORETURN
print (const char *text, const GString *wrong)
{
  if (!text) {
    complain ("%s", wrong->str);
    finish (2);
  }
  printf ("%s\n", text);
  finish (0);
}

static void G_GNUC_NORETURN
print_hash (GString *wrong)
{
  const char *password = password_ask (wrong);

  print (password ? password_hash (password, wrong) : NULL, wrong);
}

static void
run (Config *config)
{
  g_autoptr (GString) wrong = g_string_new (NULL), note = g_string_new (NULL);
  Watch watch = { .loop = g_main_loop_new (NULL, FALSE), .config = config };

  signal (SIGPIPE, SIG_IGN);
  signal (SIGTTIN, SIG_IGN); /* started in the background of a terminal: it reads nothing then */
  gpu_init (note);
  if (note->len)
    complain ("%s", note->str);
  if (!secrets_load (config->secrets, TRUE, wrong) || (config->metrics.on && !metrics_start (&watch, config, wrong)) ||
      (config->page.on && !page_start (&watch, config, wrong)) ||
      (config->rtsp.on && !(watch.rtsp_port = serve_start (config, wrong))) || !clients_start (&watch, config, wrong)) {
    complain ("%s", wrong->str);
    clients_stop ();
    finish (2);
  }
  events_start (on_event, config->trial);
  if (config->trial)
    try_show_link (config, watch.page_port);
  topics_start (&watch, config);
  signal_sources[0] = g_unix_signal_add (SIGINT, on_interrupt, &watch);
  signal_sources[1] = g_unix_signal_add (SIGTERM, on_terminate, &watch);
  g_unix_signal_add (SIGHUP, on_hang_up, &watch);
  g_timeout_add (1000, on_second, &watch);
  watch_start (&watch, config);
  notify ("READY=1");
  start_watchdog ();
  g_main_loop_run (watch.loop);
  metrics_stop ();
  page_stop ();
  clients_stop ();
  index_stop ();
  event_post (NULL, "stopped", "clean", bool_node (watch.clean), NULL);
  mqtt_stop ();
  events_stop ();
  if (isatty (STDERR_FILENO))
    say ("%s", "");
  finish (watch.clean ? 0 : 1);
}

/* Makes the classes that network sources need, before there are threads. GLib 2.74 deadlocks where one thread makes the
 * first GSocketClient (rtspsrc) while another registers GSocketAddress (souphttpsrc, as its plugin is loaded):
 * GStreamer's lock for loading plugins is then held for ever, and no camera starts any more. */
static void
make_network_classes (void)
{
  const GType types[] = { G_TYPE_INET_ADDRESS, G_TYPE_INET_SOCKET_ADDRESS, G_TYPE_UNIX_SOCKET_ADDRESS,
    G_TYPE_NETWORK_ADDRESS, G_TYPE_NETWORK_SERVICE, G_TYPE_PROXY_ADDRESS, G_TYPE_RESOLVER, G_TYPE_SOCKET,
    G_TYPE_SOCKET_CONNECTION, G_TYPE_TCP_CONNECTION, G_TYPE_SOCKET_CLIENT, G_TYPE_TLS_CERTIFICATE };

  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    g_type_class_unref (g_type_class_ref (types[i]));
}

int
main (int argc, char **argv)
{
  gboolean only_check = FALSE, only_link = FALSE, only_hash = FALSE;
  g_autofree char *source = NULL, *line = NULL;
  const GOptionEntry entries[] = {
    { "check", 0, 0, G_OPTION_ARG_NONE, &only_check, "check FILE and end: 0 where it is right, 2 where it is not",
        NULL },
    { "page-link", 0, 0, G_OPTION_ARG_NONE, &only_link, "print the address that opens the page of FILE, and end",
        NULL },
    { "hash-password", 0, 0, G_OPTION_ARG_NONE, &only_hash,
        "read a password from the terminal or from standard input, print its hash for a file of users, and end", NULL },
    { "try", 0, 0, G_OPTION_ARG_FILENAME, &source,
        "show SOURCE (a file, an address, /dev/video0 or test) on a page of this machine, through FILTER (" TRY_LINE
        "), which can be changed there; nothing is recorded",
        "SOURCE" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  g_autoptr (GString) wrong = g_string_new (NULL), notes = g_string_new (NULL);
  Config *config;

  /* Each new pipeline of a camera starts threads, and glibc gives these up to eight arenas a core, which keep what was
   * freed: with eight RTSP cameras that come and go, 40 % more memory after ten minutes. */
#ifdef M_ARENA_MAX
  mallopt (M_ARENA_MAX, 2);
#endif
  setlocale (LC_ALL, "");
  g_set_prgname ("cf-watch");
  if (!parse_command_line (entries, "FILE | --try SOURCE [FILTER]", summary, description, &argc, &argv))
    return 2;
  if (only_hash && argc == 1)
    print_hash (wrong);
  if (source && !only_check && !only_link && !only_hash)
    line = try_join (argv + 1);
  else if (only_hash) {
    complain ("--hash-password takes nothing more: it asks for the password");
    return 2;
  } else if (argc != 2) {
    complain ("%s; --help shows an example",
        argc < 2 ? "a FILE with the cameras is missing" : "there is one FILE only");
    return 2;
  }
  make_network_classes ();
  gst_init (NULL, NULL);
  parts_register ();
  config = line ? try_config (source, line, wrong)
                : config_load (argv[1], wrong, only_check ? check_config : NULL, notes);
  if (notes->len)
    say ("%s", notes->str);
  if (!config) {
    say ("%s", g_strchomp (wrong->str));
    finish (2);
  }
  if (only_check) {
    say ("%s: %u camera%s, nothing wrong", argv[1], config->cameras->len, config->cameras->len == 1 ? "" : "s");
    finish (0);
  }
  if (only_link)
    print (page_link (config, wrong), wrong);
  run (config);
}
