/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * control.c: the commands, their table, and the lines that they come in. */
#include "control.h"

#include "events.h"
#include "index.h"
#include "look.h"
#include "search.h"
#include "secrets.h"
#include "snapshot.h"
#include "status.h"
#include "store.h"
#include "threads.h"

#include <string.h>

typedef struct {
  Watch *watch;
  ControlAnswer answer;
  gpointer from;  /* who gets the answer */
  Role role;      /* what the caller may do */
  const char *by; /* who it is */
  Camera *camera; /* the argument of this kind; NULL: not given */
  char **word;    /* the arguments, NULL-terminated */
} Call;

typedef enum {
  ARGUMENT_NONE,
  ARGUMENT_CAMERA,     /* one that there is */
  ARGUMENT_ANY_CAMERA, /* the same, and may be missing */
  ARGUMENT_CHOICE,     /* one of its name's words: on|off */
  ARGUMENT_TEXT,
} ArgumentKind;

#define MAX_ARGUMENTS 3

typedef struct {
  const char *name;
  Role role; /* that it needs */
  struct {
    ArgumentKind kind;
    const char *name; /* as it is documented */
  } arguments[MAX_ARGUMENTS];
  gboolean changes;                                       /* something: an event tells it */
  JsonObject *(*run) (const Call *call);                  /* returns the answer, or NULL: it comes later */
  void (*add_files) (const Call *call, GPtrArray *paths); /* files that the main thread will read; NULL: none */
} Command;

static JsonObject *
ok_answer (void)
{
  return object_of ("ok", bool_node (TRUE), NULL);
}

/* Adds to an error which one it is, as a status of HTTP. */
static JsonObject *
coded (guint code, JsonObject *error)
{
  json_object_set_int_member (error, CONTROL_CODE, code);
  return error;
}

/* Returns the answer of a function that adds to `wrong` when it fails. */
static JsonObject *
answer_of (const GString *wrong)
{
  return wrong->len ? error_of ("%s", wrong->str) : ok_answer ();
}

/* Returns an error with the first 64 bytes of an unknown word. Passwords are hidden before it is cut: a part of one
 * would not be recognised. */
static JsonObject *
unknown (const char *what, const char *word, const char *more)
{
  g_autofree char *clean = secrets_hide (word);

  return coded (404, error_of ("there is no %s \"%.64s\"%s", what, clean, more));
}

/* ---- filters ------------------------------------------------------------- */

static JsonObject *
command_set (const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL), missing = g_string_new (NULL);
  JsonObject *answer;
  JsonNode *value;

  if (call->role < ROLE_ADMIN && !camera_may_set (call->camera, call->word[1], call->word[2], wrong))
    return coded (403, answer_of (wrong));
  camera_set (call->camera, call->word[1], call->word[2], call->role, call->by, wrong);
  answer = answer_of (wrong);
  value = camera_get (call->camera, call->word[1], missing);
  if (value && !wrong->len)
    json_object_set_member (answer, "value", value);
  else if (value)
    json_node_unref (value);
  else if (wrong->len)
    coded (404, answer);
  return answer;
}

static JsonObject *
command_get (const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL);
  JsonNode *value = camera_get (call->camera, call->word[1], wrong);

  return value ? object_of ("ok", bool_node (TRUE), "value", value, NULL) : coded (404, error_of ("%s", wrong->str));
}

static JsonObject *
command_elements (const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL);
  g_autofree char *line = NULL;
  JsonArray *elements = camera_describe (call->camera, &line, wrong);

  if (!elements)
    return answer_of (wrong);
  return object_of ("ok", bool_node (TRUE), "elements", array_node (elements), "line", line ? text_node (line) : NULL,
      NULL);
}

static JsonObject *
command_filter (const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL);

  watch_set_filter (call->watch, call->camera, call->word[1], call->by, wrong);
  return answer_of (wrong);
}

static JsonObject *
command_enable (const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL);

  if (call->role < ROLE_ADMIN && !camera_may_set (call->camera, NULL, NULL, wrong))
    return coded (403, answer_of (wrong));
  camera_enable (call->camera, !strcmp (call->word[1], "on"), call->role, call->by, wrong);
  return answer_of (wrong);
}

/* The camera may have left the configuration: what was set on it waits for its name. */
static gboolean
is_known (const Call *call)
{
  const char *name = call->word[0];

  return watch_find (call->watch, name) || store_get (name) || store_trouble (name);
}

static JsonObject *
command_overrides (const Call *call)
{
  const Camera *camera = watch_find (call->watch, call->word[0]);
  JsonObject *set = store_get (call->word[0]), *answer;
  g_autoptr (GString) wrong = g_string_new (NULL);
  Overrides *stored;

  if (!is_known (call))
    return unknown ("camera", call->word[0], "");
  if (camera && camera->closed)
    return error_of ("%s", camera->closed);
  stored = overrides_new (call->word[0]);
  if (!camera && set)
    overrides_load (stored, set, wrong);
  answer = answer_of (wrong);
  if (!wrong->len)
    object_add_members (answer,
        object_of ("overrides", array_node (overrides_list (camera ? camera->overrides : stored)), "saved",
            bool_node (store_is_saved ()), "file", text_node (store_path ()), NULL));
  overrides_free (stored);
  return answer;
}

static JsonObject *
command_forget (const Call *call)
{
  Camera *camera = watch_find (call->watch, call->word[0]);
  gboolean all = TRUE;

  if (!is_known (call))
    return unknown ("camera", call->word[0], "");
  if (camera)
    camera_forget (camera, call->by);
  else
    store_forget (call->word[0]);
  for (guint i = 0; i < call->watch->cameras->len; i++)
    all &= !store_trouble (((const Camera *) call->watch->cameras->pdata[i])->settings->name);
  if (all)
    store_give_up ();
  return ok_answer ();
}

/* ---- cameras ------------------------------------------------------------- */

static JsonObject *
command_add (const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL);

  watch_add (call->watch, call->word[0], call->word[1], wrong);
  return answer_of (wrong);
}

static JsonObject *
command_remove (const Call *call)
{
  watch_remove (call->watch, call->camera);
  return ok_answer ();
}

static JsonObject *
command_restart (const Call *call)
{
  if (call->camera->state == CAMERA_STUCK)
    return coded (409, error_of ("its pipelines do not end; it comes back when one of them has ended after all"));
  if (call->camera->state == CAMERA_NEW)
    return coded (409,
        error_of ("the removed camera of this name is still being stopped; this one starts when it has ended"));
  camera_restart (call->camera, NULL, call->by);
  return ok_answer ();
}

static JsonObject *
command_reload (const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL);
  JsonObject *lists = watch_reload (call->watch, call->by, wrong), *answer = answer_of (wrong);

  if (lists)
    object_add_members (answer, lists);
  return answer;
}

static JsonObject *
command_record (const Call *call)
{
  const char *word = call->word[1];
  int when = !strcmp (word, "on") ? WHEN_ALWAYS : !strcmp (word, "off") ? WHEN_OFF : -1;

  if (!recorder_set_when (call->camera->recorder, when))
    return coded (409, error_of ("the camera has no \"record\" with a folder in the file"));
  return ok_answer ();
}

static JsonObject *
command_trigger (const Call *call)
{
  if (call->camera->state != CAMERA_UP)
    return coded (409, error_of ("the camera is not up (%s)", camera_state_name (call->camera->state)));
  recorder_trigger (call->camera->recorder);
  return ok_answer ();
}

static JsonObject *
command_status (const Call *call)
{
  return object_of ("ok", bool_node (TRUE), "status", object_node (status_json (call->watch, call->camera)), NULL);
}

static JsonObject *
command_quit (const Call *call)
{
  watch_end (call->watch, "quit");
  return ok_answer ();
}

/* ---- the search ---------------------------------------------------------- */

#define SEARCHING 1       /* at a time: the other cores are the cameras' */
#define MOST_SEARCHES 100 /* that wait, also of clients that have gone */

typedef struct {
  ControlAnswer done;
  gpointer from;
  char *text, **cameras;
  JsonObject *answer;
} Search;

static gboolean
on_found (gpointer data)
{
  g_autofree Search *search = data;

  search->done (search->from, search->answer);
  g_free (search->text);
  g_strfreev (search->cameras);
  return G_SOURCE_REMOVE;
}

static void
search_in_thread (gpointer data, gpointer unused)
{
  Search *search = data;
  g_autoptr (GString) wrong = g_string_new (NULL);
  gboolean no_camera = FALSE;
  JsonObject *found = search_index (index_path (), search->text, (const char *const *) search->cameras, &no_camera,
      wrong);

  search->answer = no_camera ? coded (404, answer_of (wrong)) : answer_of (wrong);
  if (found)
    object_add_members (search->answer, found);
  (void) unused;
  in_main (on_found, search);
}

static JsonObject *
command_search (const Call *call)
{
  static GThreadPool *pool; /* for the life of the process */
  const GPtrArray *cameras = call->watch->cameras;
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();

  if (!index_path ())
    return coded (409,
        error_of (call->watch->config->trial ? "nothing is recorded, so there is no index (--try)"
                                             : "there is no index, as the file says (\"index\": false)"));
  if (!pool)
    pool = g_thread_pool_new (search_in_thread, NULL, SEARCHING, FALSE, NULL);
  if (g_thread_pool_unprocessed (pool) >= MOST_SEARCHES)
    return coded (503, error_of ("%d searches wait already", MOST_SEARCHES));
  for (guint i = 0; i < cameras->len; i++)
    g_strv_builder_add (names, ((const Camera *) cameras->pdata[i])->settings->name);
  g_thread_pool_push (pool,
      g_memdup2 (&(Search) { call->answer, call->from, g_strdup (call->word[0]), g_strv_builder_end (names), NULL },
          sizeof (Search)),
      NULL);
  return NULL;
}

/* ---- snapshots ----------------------------------------------------------- */

/* Returns the file of "[--overwrite] FILE", which may be relative to the folder of the configuration. */
static char *
snapshot_file (const Call *call, gboolean *overwrite)
{
  static const char flag[] = "--overwrite ";
  g_autofree char *folder = g_path_get_dirname (call->watch->config->path);

  *overwrite = g_str_has_prefix (call->word[1], flag);
  return g_canonicalize_filename (call->word[1] + (*overwrite ? strlen (flag) : 0), folder);
}

static JsonObject *
command_snapshot (const Call *call)
{
  gboolean overwrite;
  g_autofree char *file = snapshot_file (call, &overwrite);

  if (!g_str_has_suffix (file, ".png") && !g_str_has_suffix (file, ".jpg") && !g_str_has_suffix (file, ".jpeg"))
    return error_of ("\"%s\" does not end in .jpg, .jpeg or .png", file);
  if (call->camera->state != CAMERA_UP)
    return error_of ("the camera is not up (%s)", camera_state_name (call->camera->state));
  return snapshot_take (camera_pictures (call->camera), call->camera->settings->name, file, overwrite, call->answer,
      call->from);
}

/* ---- files that are named ------------------------------------------------ */

/* A camera that is up has its filter, and nothing is read for it. */
static void
add_filter_files (const Call *call, GPtrArray *paths)
{
  if (!call->camera->pipeline)
    camera_add_files (call->camera, paths);
}

static void
add_set_files (const Call *call, GPtrArray *paths)
{
  add_filter_files (call, paths);
  look_add (paths, call->word[2]);
}

static void
add_line_files (const Call *call, GPtrArray *paths)
{
  look_add_line (paths, call->word[1]);
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

/* ---- the table ----------------------------------------------------------- */

#define CAMERA { ARGUMENT_CAMERA, "CAMERA" }
#define TEXT(name) { ARGUMENT_TEXT, name }
#define CHOICE(words) { ARGUMENT_CHOICE, words }

static const Command commands[] = {
  { "set", ROLE_OPERATOR, { CAMERA, TEXT ("ELEMENT.PROPERTY"), TEXT ("VALUE") }, TRUE, command_set, add_set_files },
  { "get", ROLE_VIEWER, { CAMERA, TEXT ("ELEMENT.PROPERTY") }, FALSE, command_get, add_filter_files },
  { "elements", ROLE_VIEWER, { CAMERA }, FALSE, command_elements, add_filter_files },
  { "filter", ROLE_ADMIN, { CAMERA, TEXT ("LINE") }, TRUE, command_filter, add_line_files },
  { "enable", ROLE_OPERATOR, { CAMERA, CHOICE ("on|off") }, TRUE, command_enable, add_filter_files },
  { "overrides", ROLE_VIEWER, { TEXT ("CAMERA") }, FALSE, command_overrides, NULL },
  { "forget", ROLE_ADMIN, { TEXT ("CAMERA") }, TRUE, command_forget, NULL },
  { "add", ROLE_ADMIN, { TEXT ("CAMERA"), TEXT ("{json}") }, TRUE, command_add, add_new_files },
  { "remove", ROLE_ADMIN, { CAMERA }, TRUE, command_remove, NULL },
  { "reload", ROLE_ADMIN, { { 0 } }, TRUE, command_reload, add_watch_files },
  { "snapshot", ROLE_ADMIN, { CAMERA, TEXT ("[--overwrite] FILE") }, FALSE, command_snapshot, add_snapshot_file },
  { "record", ROLE_OPERATOR, { CAMERA, CHOICE ("on|off|auto") }, TRUE, command_record, NULL },
  { "trigger", ROLE_OPERATOR, { CAMERA }, TRUE, command_trigger, NULL },
  { "restart", ROLE_OPERATOR, { CAMERA }, TRUE, command_restart, NULL },
  { "search", ROLE_VIEWER, { TEXT ("WHAT") }, FALSE, command_search, NULL },
  { "status", ROLE_VIEWER, { { ARGUMENT_ANY_CAMERA, "[CAMERA]" } }, FALSE, command_status, NULL },
  { "quit", ROLE_OWNER, { { 0 } }, TRUE, command_quit, NULL },
};

/* Returns the command; NULL with the answer that there is none. */
static const Command *
find_command (const char *name, JsonObject **answer)
{
  g_autoptr (GString) names = g_string_new ("; there are ");

  for (guint i = 0; i < G_N_ELEMENTS (commands); i++) {
    if (!strcmp (commands[i].name, name))
      return &commands[i];
    g_string_append_printf (names, "%s%s", i ? ", " : "", commands[i].name);
  }
  *answer = unknown ("command", name, names->str);
  return NULL;
}

static guint
count_arguments (const Command *command)
{
  guint n = 0;

  while (n < MAX_ARGUMENTS && command->arguments[n].kind)
    n++;
  return n;
}

static JsonObject *
usage (const Command *command)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < count_arguments (command); i++)
    g_string_append_printf (text, "%s%s", i ? " " : "", command->arguments[i].name);
  return error_of ("%s needs: %s %s", command->name, command->name, text->str);
}

/* Returns what is wrong with a word that is none of the choice; NULL: it is one. */
static JsonObject *
check_choice (const char *choice, const char *word)
{
  g_auto (GStrv) words = g_strsplit (choice, "|", -1);
  g_autofree char *list = g_strjoinv (", ", words);

  if (g_strv_contains ((const char *const *) words, word))
    return NULL;
  return g_strv_length (words) == 2 ? error_of ("\"%s\" is neither %s nor %s", word, words[0], words[1])
                                    : error_of ("\"%s\" is none of %s", word, list);
}

/* Returns what is wrong with the words; NULL with the call's camera. */
static JsonObject *
check_words (const Command *command, Call *call)
{
  const guint n = count_arguments (command), given = g_strv_length (call->word);

  if (call->role < command->role)
    return coded (403,
        error_of ("%s needs the role %s, and yours is %s", command->name, role_name (command->role),
            role_name (call->role)));
  if (given > n || (given < n && command->arguments[given].kind != ARGUMENT_ANY_CAMERA))
    return usage (command);
  if (call->watch->ending && command->run != command_status)
    return coded (503, error_of ("the program is ending"));
  for (guint i = 0; i < given; i++) {
    const ArgumentKind kind = command->arguments[i].kind;
    JsonObject *wrong = NULL;

    if (kind == ARGUMENT_CHOICE)
      wrong = check_choice (command->arguments[i].name, call->word[i]);
    else if (kind != ARGUMENT_TEXT && !(call->camera = watch_find (call->watch, call->word[i])))
      wrong = unknown ("camera", call->word[i], "");
    if (wrong)
      return wrong;
  }
  return NULL;
}

/* What somebody has set, up to its first frame. */
typedef struct {
  char *camera;
  JsonObject *event, *answer;
  ControlAnswer done;
  gpointer from;
} Shown;

static void
add_frame (JsonObject *object, gint64 wall)
{
  json_object_set_member (object, "frame", wall ? time_node (wall) : json_node_new (JSON_NODE_NULL));
}

/* A FilterNext. */
static void
on_frame (gint64 wall, gpointer data)
{
  g_autofree Shown *shown = data;
  g_autofree char *camera = shown->camera;

  add_frame (shown->event, wall);
  add_frame (shown->answer, wall);
  event_post_object (camera, "command", shown->event);
  shown->done (shown->from, shown->answer);
}

/* Executes the command, whose arguments are right, and posts what somebody has changed; if it shows in the frames of
 * the pipeline that there is, when the first of them has come. The event has the arguments' beginning only: a long one,
 * such as a kernel, would make many events take much memory. */
static JsonObject *
run (const Command *command, const Call *call)
{
  const char *camera = call->word[0]; /* NULL: it concerns the process */
  const gboolean shows = command->run == command_set || command->run == command_enable;
  g_autofree char *all = g_strjoinv (" ", call->word + (camera ? 1 : 0)), *clean = secrets_hide (all);
  g_autofree char *arguments = g_strdup_printf ("%.200s", clean);
  JsonObject *answer = command->run (call), *event;
  Shown *shown;

  if (!answer || !command->changes || !json_object_get_boolean_member (answer, "ok"))
    return answer;
  event = object_of ("command", word_node (command->name), "arguments", text_node (arguments), "by",
      text_node (call->by), NULL);
  if (shows) {
    shown = g_memdup2 (&(Shown) { g_strdup (camera), event, answer, call->answer, call->from }, sizeof (Shown));
    if (camera_next (call->camera, on_frame, shown))
      return NULL;
    g_free (shown->camera);
    g_free (shown);
    add_frame (event, 0);
    add_frame (answer, 0);
  }
  event_post_object (camera, "command", event);
  return answer;
}

/* A command that waits for its files to be read. */
typedef struct {
  const Command *command;
  Call call;
} Waiting;

static JsonObject *execute (const Command *command, Call call, gboolean looked);

static void
on_looked (const char *wrong, gpointer data)
{
  Waiting *waiting = data;
  JsonObject *answer = wrong ? error_of ("%s", wrong) : execute (waiting->command, waiting->call, TRUE);

  if (answer)
    waiting->call.answer (waiting->call.from, answer);
  g_strfreev (waiting->call.word);
  g_free (waiting);
}

/* Returns the answer; NULL: it comes later. Checks the words again when the files were read: the camera may be gone. */
static JsonObject *
execute (const Command *command, Call call, gboolean looked)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  JsonObject *wrong = check_words (command, &call);
  Waiting *waiting;

  if (wrong)
    return wrong;
  if (command->add_files && !looked)
    command->add_files (&call, paths);
  if (paths->len == 0)
    return run (command, &call);
  waiting = g_new0 (Waiting, 1);
  waiting->command = command;
  waiting->call = call;
  waiting->call.camera = NULL; /* it may be gone then */
  waiting->call.word = g_strdupv (call.word);
  look_start (g_steal_pointer (&paths), on_looked, waiting);
  return NULL;
}

JsonObject *
control_call (Watch *watch, Role role, const char *by, char **words, ControlAnswer answer, gpointer from)
{
  JsonObject *wrong = NULL;
  const Command *command = find_command (words[0], &wrong);
  const Call call = { .watch = watch, .role = role, .by = by, .answer = answer, .from = from, .word = words + 1 };

  return command ? execute (command, call, FALSE) : wrong;
}

/* ---- lines --------------------------------------------------------------- */

/* Cuts the next word off the line; the last one is the rest. Returns NULL at the end. */
static char *
next_word (char **line, gboolean rest)
{
  char *word = *line + strspn (*line, " \t"), *end = word + (rest ? strlen (word) : strcspn (word, " \t"));

  *line = *end ? end + 1 : end;
  *end = '\0';
  return *word ? word : NULL;
}

JsonObject *
control_line (Watch *watch, const char *by, char *line, ControlAnswer answer_later, gpointer from)
{
  JsonObject *answer = NULL;
  const Command *command = find_command (next_word (&line, FALSE), &answer);
  char *words[MAX_ARGUMENTS + 1] = { NULL };

  if (!command)
    return answer;
  for (guint n = 0, last = MAX (count_arguments (command), 1) - 1; n <= last; n++)
    if (!(words[n] = next_word (&line, n == last)))
      break;
  return execute (command,
      (Call) { .watch = watch, .role = ROLE_OWNER, .by = by, .answer = answer_later, .from = from, .word = words },
      FALSE);
}
