/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * control.c: the commands. Each is a row of a table: how many words follow its name (the last one is the rest of the
 * line), whether the first is a camera, and its function. */
#include "control.h"

#include "events.h"
#include "look.h"
#include "secrets.h"
#include "status.h"
#include "watch.h"

#include <string.h>

#define SNAPSHOT_WITHIN 5000 /* ms for a frame to come */

typedef struct {
  Watch *watch;
  Client *client;
  Camera *camera; /* the first word, where it is one */
  char *word[3];
} Call;

typedef struct {
  const char *name, *usage;
  int min, max;
  gboolean camera; /* the first word has to be a camera that there is; if it may be missing, where it is given */
  JsonObject *(*run) (const Call *call);
  void (*add_files) (const Call *call, GPtrArray *paths); /* those that it makes the main thread read; NULL: none */
} Command;

static JsonObject *
ok_answer (void)
{
  JsonObject *answer = json_object_new ();

  json_object_set_boolean_member (answer, "ok", TRUE);
  return answer;
}

/* Returns the answer of a function that adds to `wrong` when it fails. */
static JsonObject *
answer_of (const GString *wrong)
{
  return wrong->len ? client_error ("%s", wrong->str) : ok_answer ();
}

/* Returns an error with the beginning of a word that is not known. A part of a password would not be recognised, so
 * that passwords are hidden first. */
static JsonObject *
unknown (const char *what, const char *word, const char *more)
{
  g_autofree char *clean = secrets_hide (word);

  return client_error ("there is no %s \"%.64s\"%s", what, clean, more);
}

/* Returns 1 for "on", 0 for "off", -1 otherwise. */
static int
on_off (const char *word)
{
  return !strcmp (word, "on") ? 1 : !strcmp (word, "off") ? 0 : -1;
}

/* ---- filters ------------------------------------------------------------- */

static JsonObject *
run_set (const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL);

  if (!camera_set (call->camera, call->word[1], call->word[2], wrong) && !wrong->len)
    g_string_append (wrong, "the filter has no elements");
  return answer_of (wrong);
}

static JsonObject *
run_get (const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL);
  JsonNode *value = camera_get (call->camera, call->word[1], wrong);
  JsonObject *answer = answer_of (wrong);

  if (value)
    json_object_set_member (answer, "value", value);
  return answer;
}

static JsonObject *
run_enable (const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL);
  int on = on_off (call->word[1]);

  if (on < 0)
    return client_error ("\"%s\" is neither on nor off", call->word[1]);
  camera_enable (call->camera, on, wrong);
  return answer_of (wrong);
}

/* ---- cameras ------------------------------------------------------------- */

static JsonObject *
run_add (const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL);

  watch_add (call->watch, call->word[0], call->word[1], wrong);
  return answer_of (wrong);
}

static JsonObject *
run_remove (const Call *call)
{
  watch_remove (call->watch, call->camera);
  return ok_answer ();
}

static JsonObject *
run_restart (const Call *call)
{
  if (call->camera->state == CAMERA_STUCK)
    return client_error ("its pipelines do not end; it comes back when one of them has ended after all");
  if (call->camera->held)
    return client_error ("the removed camera of this name is still being stopped; this one starts when it has ended");
  camera_restart (call->camera, NULL);
  return ok_answer ();
}

static JsonObject *
run_reload (const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL);
  JsonObject *answer = ok_answer ();

  if (watch_reload (call->watch, answer, wrong))
    return answer;
  json_object_unref (answer);
  return client_error ("%s", wrong->str);
}

static JsonObject *
run_record (const Call *call)
{
  int on = on_off (call->word[1]);

  if (on < 0 && strcmp (call->word[1], "auto"))
    return client_error ("\"%s\" is none of on, off, auto", call->word[1]);
  if (!recorder_set_when (call->camera->recorder, on < 0 ? -1 : on ? WHEN_ALWAYS : WHEN_OFF))
    return client_error ("the camera has no \"record\" with a folder in the file");
  return ok_answer ();
}

static JsonObject *
run_trigger (const Call *call)
{
  if (call->camera->state != CAMERA_UP)
    return client_error ("the camera is not up (%s)", camera_state_name (call->camera->state));
  recorder_trigger (call->camera->recorder);
  return ok_answer ();
}

static JsonObject *
run_status (const Call *call)
{
  JsonObject *answer = ok_answer ();

  json_object_set_object_member (answer, "status", status_json (call->watch, call->camera));
  return answer;
}

static JsonObject *
run_quit (const Call *call)
{
  watch_end (call->watch, "quit");
  return ok_answer ();
}

/* ---- snapshots ----------------------------------------------------------- */

typedef struct {
  Client *client; /* NULL: it was answered */
  Run *run;
  char *camera, *file;
  guint timer;
  gboolean late;
} Snapshot;

static void
snapshot_free (Snapshot *snapshot)
{
  run_unref (snapshot->run);
  g_free (snapshot->camera);
  g_free (snapshot->file);
  g_free (snapshot);
}

static void
on_snapshot (const char *error, int width, int height, gpointer data)
{
  Snapshot *snapshot = data;
  JsonObject *answer = error ? client_error ("%s", error) : ok_answer ();
  JsonObject *event = error ? NULL : event_new (snapshot->camera, "snapshot");

  g_clear_handle_id (&snapshot->timer, g_source_remove);
  for (int i = 0; i < 2 && !error; i++) {
    JsonObject *object = i ? answer : event;

    set_text (object, "file", snapshot->file);
    json_object_set_int_member (object, "width", width);
    json_object_set_int_member (object, "height", height);
  }
  if (event)
    event_post (event);
  if (snapshot->client)
    client_answer (snapshot->client, answer);
  else
    json_object_unref (answer);
  snapshot_free (snapshot);
}

/* Answers that no frame has come or that, twice as late, it has not been written yet. */
static gboolean
on_snapshot_late (gpointer data)
{
  Snapshot *snapshot = data;
  gboolean none = run_snapshot_cancel (snapshot->run);

  if (!none && !snapshot->late) {
    snapshot->late = TRUE;
    return G_SOURCE_CONTINUE;
  }
  snapshot->timer = 0;
  client_answer (g_steal_pointer (&snapshot->client),
      none ? client_error ("no frame came within %d s", SNAPSHOT_WITHIN / 1000)
           : client_error ("%s: the disk is slow; the event \"snapshot\" says when it is written", snapshot->file));
  if (none)
    snapshot_free (snapshot);
  return G_SOURCE_REMOVE;
}

/* Returns the file of "[--overwrite] FILE", which may be relative to that with the cameras. */
static char *
snapshot_file (const Call *call, gboolean *overwrite)
{
  static const char flag[] = "--overwrite ";
  g_autofree char *folder = g_path_get_dirname (call->watch->config->path);

  *overwrite = g_str_has_prefix (call->word[1], flag);
  return g_canonicalize_filename (call->word[1] + (*overwrite ? strlen (flag) : 0), folder);
}

static JsonObject *
run_take_snapshot (const Call *call)
{
  gboolean overwrite;
  g_autofree char *file = snapshot_file (call, &overwrite);
  Snapshot *snapshot;

  if (!g_str_has_suffix (file, ".png") && !g_str_has_suffix (file, ".jpg") && !g_str_has_suffix (file, ".jpeg"))
    return client_error ("\"%s\" does not end in .jpg, .jpeg or .png", file);
  if (call->camera->state != CAMERA_UP)
    return client_error ("the camera is not up (%s)", camera_state_name (call->camera->state));
  snapshot = g_new0 (Snapshot, 1);
  snapshot->run = run_ref (call->camera->run);
  snapshot->file = g_strdup (file);
  snapshot->camera = g_strdup (call->camera->settings->name);
  if (!run_snapshot (snapshot->run, file, overwrite, on_snapshot, snapshot)) {
    snapshot_free (snapshot);
    return client_error ("a snapshot of this camera is being taken");
  }
  snapshot->client = client_ref (call->client);
  snapshot->timer = g_timeout_add (SNAPSHOT_WITHIN, on_snapshot_late, snapshot);
  return NULL;
}

/* ---- files that are named ------------------------------------------------ */

/* A camera that is up has its filter, and nothing is read for it. */
static void
add_filter_files (const Call *call, GPtrArray *paths)
{
  if (!call->camera->run)
    camera_add_files (call->camera, paths);
}

static void
add_set_files (const Call *call, GPtrArray *paths)
{
  add_filter_files (call, paths);
  look_add (paths, call->word[2]);
}

static void
add_new_files (const Call *call, GPtrArray *paths)
{
  g_autoptr (GString) wrong = g_string_new (NULL); /* the command itself reports it */
  CameraSettings *settings = config_read_camera (call->watch->config, call->word[0], call->word[1], wrong);

  if (!settings)
    return;
  look_add_line (paths, settings->filter);
  camera_settings_unref (settings);
}

static void
add_watch_files (const Call *call, GPtrArray *paths)
{
  watch_add_files (call->watch, paths);
}

static void
add_snapshot_file (const Call *call, GPtrArray *paths)
{
  gboolean overwrite;

  g_ptr_array_add (paths, snapshot_file (call, &overwrite));
}

/* ---- lines --------------------------------------------------------------- */

static const Command commands[] = {
  { "set", "CAMERA ELEMENT.PROPERTY VALUE", 3, 3, TRUE, run_set, add_set_files },
  { "get", "CAMERA ELEMENT.PROPERTY", 2, 2, TRUE, run_get, add_filter_files },
  { "enable", "CAMERA on|off", 2, 2, TRUE, run_enable, add_filter_files },
  { "add", "CAMERA {json}", 2, 2, FALSE, run_add, add_new_files },
  { "remove", "CAMERA", 1, 1, TRUE, run_remove, NULL },
  { "reload", "", 0, 0, FALSE, run_reload, add_watch_files },
  { "snapshot", "CAMERA [--overwrite] FILE", 2, 2, TRUE, run_take_snapshot, add_snapshot_file },
  { "record", "CAMERA on|off|auto", 2, 2, TRUE, run_record, NULL },
  { "trigger", "CAMERA", 1, 1, TRUE, run_trigger, NULL },
  { "restart", "CAMERA", 1, 1, TRUE, run_restart, NULL },
  { "status", "[CAMERA]", 0, 1, TRUE, run_status, NULL },
  { "quit", "", 0, 0, FALSE, run_quit, NULL },
};

/* Cuts the next word off the line; the last one is the rest. Returns NULL at the end. */
static char *
next_word (char **line, gboolean rest)
{
  char *word = *line + strspn (*line, " \t"), *end = word + (rest ? strlen (word) : strcspn (word, " \t"));

  *line = *end ? end + 1 : end;
  *end = '\0';
  return *word ? word : NULL;
}

static const Command *
find_command (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (!strcmp (commands[i].name, name))
      return &commands[i];
  return NULL;
}

/* A command that waits for its files to be read. */
typedef struct {
  Watch *watch;
  Client *client;
  char *line;
} Waiting;

static JsonObject *execute (Client *client, char *line, Watch *watch, gboolean looked);

static void
on_looked (const char *wrong, gpointer data)
{
  Waiting *waiting = data;
  JsonObject *answer = wrong ? client_error ("%s", wrong)
                             : execute (waiting->client, waiting->line, waiting->watch, TRUE);

  if (answer)
    client_answer (waiting->client, answer);
  else
    client_unref (waiting->client); /* what answers later has a reference of its own */
  g_free (waiting->line);
  g_free (waiting);
}

/* Returns the answer; NULL: it comes later. */
static JsonObject *
execute (Client *client, char *line, Watch *watch, gboolean looked)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *whole = g_strdup (line);
  const char *name = next_word (&line, FALSE);
  const Command *command = find_command (name);
  Call call = { .watch = watch, .client = client };
  int n = 0;

  if (!command) {
    g_autoptr (GString) names = g_string_new ("; there are ");

    for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
      g_string_append_printf (names, "%s%s", i ? ", " : "", commands[i].name);
    return unknown ("command", name, names->str);
  }
  while (n < command->max && (call.word[n] = next_word (&line, n == command->max - 1)))
    n++;
  if (n < command->min || *line)
    return client_error ("%s needs: %s %s", name, name, command->usage);
  if (call.watch->ending && strcmp (name, "status"))
    return client_error ("the program is ending");
  if (command->camera && n > 0 && !(call.camera = watch_find (watch, call.word[0])))
    return unknown ("camera", call.word[0], "");
  if (command->add_files && !looked)
    command->add_files (&call, paths);
  if (paths->len) {
    Waiting *waiting = g_new (Waiting, 1);

    waiting->watch = watch;
    waiting->client = client_ref (client);
    waiting->line = g_steal_pointer (&whole);
    look_start (g_steal_pointer (&paths), on_looked, waiting);
    return NULL;
  }
  return command->run (&call);
}

JsonObject *
control_line (Client *client, char *line, gpointer watch)
{
  return execute (client, line, watch, FALSE);
}
