/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * secrets.c: passwords of cameras, of the broker and of users. */
#include "secrets.h"

#include "password.h"
#include "reader.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

static GMutex lock;
static JsonObject *secrets; /* name -> { "user", "password" } */
static GPtrArray *hidden;   /* every text that may not be shown; only grows, for messages under way */

/* Call it with the lock held. */
static void
hide (const char *text)
{
  g_autofree char *escaped = NULL;

  if (!text || !*text)
    return;
  if (!hidden)
    hidden = g_ptr_array_new_with_free_func (g_free);
  if (g_ptr_array_find_with_equal_func (hidden, text, g_str_equal, NULL))
    return;
  g_ptr_array_add (hidden, g_strdup (text));
  escaped = g_uri_escape_string (text, NULL, FALSE);
  if (strcmp (escaped, text))
    g_ptr_array_add (hidden, g_steal_pointer (&escaped));
}

/* What each entry of a file may have: texts. */
typedef struct {
  const char *const members[4]; /* NULL-terminated */
  const char *shape;            /* for people */
} Shape;

static const Shape logins = { { "user", "password" },
  "{ \"user\": \"...\", \"password\": \"...\" }, of which the first may be missing" };
static const Shape accounts = { { "password", "hash", "role" },
  "{ \"password\": \"...\" } or { \"hash\": \"...\" }, and may have \"role\": \"viewer\", \"operator\" or \"admin\"" };

static gboolean
check_entry (Reader *reader, JsonObject *top, const char *name, const Shape *shape)
{
  JsonNode *node = json_object_get_member (top, name);
  JsonObject *entry = node && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  g_autoptr (GList) members = entry ? json_object_get_members (entry) : NULL;

  for (GList *l = members; entry && l; l = l->next)
    if (!g_strv_contains (shape->members, l->data) || reader_is_twice (reader, entry, l->data) ||
        json_node_get_value_type (json_object_get_member (entry, l->data)) != G_TYPE_STRING)
      entry = NULL;
  for (guint i = 0; entry && shape->members[i]; i++)
    if (!g_strcmp0 (json_object_get_string_member_with_default (entry, shape->members[i], NULL), "...")) {
      g_string_append_printf (reader->wrong, "%s: %s: \"...\" stands for a %s of your own", reader->path, name,
          shape->members[i]);
      return FALSE;
    }
  if (!entry)
    g_string_append_printf (reader->wrong, "%s: %s: has to be %s", reader->path, name, shape->shape);
  return entry != NULL;
}

/* Returns the file's object; NULL with what is wrong, in which no part of the file is repeated. */
static JsonObject *
read_file (const char *path, const Shape *shape, GString *wrong)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GList) names = NULL;
  g_autofree char *text = NULL;
  JsonObject *top = NULL;
  GStatBuf info;
  Reader reader;
  gsize length;

  reader_init (&reader, path, NULL, wrong);
  reader.secret = TRUE;
  if (g_stat (path, &info) == 0 && info.st_mode & (S_IROTH | S_IWOTH | S_IWGRP))
    g_string_append_printf (wrong, "%s: others may %s it (mode %04o): chmod 600 %s", path,
        info.st_mode & S_IROTH ? "read" : "write", (guint) info.st_mode & 07777, path);
  else if (!g_file_get_contents (path, &text, &length, &error))
    g_string_append (wrong, error->message);
  else
    top = reader_parse (&reader, text, (gssize) length);
  names = top ? json_object_get_members (top) : NULL;
  for (GList *l = names; top && l; l = l->next)
    if (reader_is_twice (&reader, top, l->data)) {
      g_string_append_printf (wrong, "%s: %s is there twice", path, (const char *) l->data);
      top = NULL;
    } else if (!check_entry (&reader, top, l->data, shape)) {
      top = NULL;
    }
  if (top)
    json_object_ref (top);
  reader_clear (&reader);
  return top;
}

/* Checks what is more about a user than its members. Names are in events and headers of HTTP. */
static gboolean
check_user (const char *path, const char *name, JsonObject *user, GString *wrong)
{
  static const char *const roles[] = { "viewer", "operator", "admin", NULL };
  const char *password = json_object_get_string_member_with_default (user, "password", NULL);
  const char *hash = json_object_get_string_member_with_default (user, "hash", NULL);
  const char *role = json_object_get_string_member_with_default (user, "role", roles[0]);
  const gsize n = strlen (name);
  g_autoptr (GString) why = g_string_new (NULL);

  for (gsize i = 0; i < n; i++)
    if (!g_ascii_isalnum (name[i]) && !strchr ("._-@", name[i]))
      g_string_assign (why, "a user's name has up to 64 letters of ASCII, digits and . _ - @");
  if (n == 0 || n > 64)
    g_string_assign (why, "a user's name has 1 to 64 characters");
  if (why->len == 0 && (!g_strv_contains (roles, role) || !hash == !password || (password && !*password)))
    g_string_printf (why, "has to be %s", accounts.shape);
  if (why->len == 0 && hash)
    password_check_hash (hash, why);
  if (why->len)
    g_string_append_printf (wrong, "%s: %.64s: %s", path, name, why->str);
  return why->len == 0;
}

JsonObject *
secrets_read_users (const char *path, GString *wrong)
{
  JsonObject *read = read_file (path, &accounts, wrong);
  g_autoptr (GList) names = read ? json_object_get_members (read) : NULL;

  for (GList *l = names; read && l; l = l->next) {
    JsonObject *user = json_object_get_object_member (read, l->data);

    if (!check_user (path, l->data, user, wrong)) {
      g_clear_pointer (&read, json_object_unref);
      break;
    }
    secrets_add (json_object_get_string_member_with_default (user, "password", NULL));
    secrets_add (json_object_get_string_member_with_default (user, "hash", NULL));
  }
  return read;
}

gboolean
secrets_load (const char *path, gboolean take, GString *wrong)
{
  const char *other = g_getenv ("CF_WATCH_SECRETS");
  g_auto (GStrv) environment = g_get_environ ();
  JsonObject *read = NULL;
  g_autoptr (GList) entries = NULL;

  path = other && *other ? other : path;
  if (path && !(read = read_file (path, &logins, wrong)))
    return FALSE;
  if (!take) {
    g_clear_pointer (&read, json_object_unref);
    return TRUE;
  }
  g_mutex_lock (&lock);
  g_clear_pointer (&secrets, json_object_unref);
  secrets = read ? read : json_object_new ();
  entries = json_object_get_values (secrets);
  for (GList *l = entries; l; l = l->next)
    hide (json_object_get_string_member_with_default (json_node_get_object (l->data), "password", NULL));
  for (char **one = environment; *one; one++)
    if (g_str_has_prefix (*one, "CF_WATCH_PASSWORD_") && strchr (*one, '='))
      hide (strchr (*one, '=') + 1);
  g_mutex_unlock (&lock);
  return TRUE;
}

void
secrets_add (const char *secret)
{
  g_mutex_lock (&lock);
  hide (secret);
  g_mutex_unlock (&lock);
}

/* Returns CF_WATCH_WHAT_NAME, where NAME is in capitals with _ for what no name of a variable has. */
static const char *
from_environment (const char *what, const char *name)
{
  g_autofree char *variable = g_strdup_printf ("CF_WATCH_%s_%s", what, name);

  for (char *c = variable; *c; c++)
    *c = g_ascii_isalnum (*c) ? g_ascii_toupper (*c) : '_';
  return g_getenv (variable);
}

static char *
find (const char *what, const char *name, const char *member)
{
  const char *text = from_environment (what, name);
  char *found = NULL;

  g_mutex_lock (&lock);
  if (text)
    found = g_strdup (text);
  else if (secrets && json_object_has_member (secrets, name))
    found = g_strdup (
        json_object_get_string_member_with_default (json_object_get_object_member (secrets, name), member, NULL));
  g_mutex_unlock (&lock);
  return found;
}

char *
secrets_user (const char *name)
{
  return find ("USER", name, "user");
}

char *
secrets_password (const char *name)
{
  return find ("PASSWORD", name, "password");
}

/* Returns where the longest password that begins at the text ends; the text itself if there is none. */
static const char *
end_of_hidden (const char *text)
{
  gsize longest = 0;

  for (guint i = 0; hidden && i < hidden->len; i++)
    if (g_str_has_prefix (text, hidden->pdata[i]))
      longest = MAX (longest, strlen (hidden->pdata[i]));
  return text + longest;
}

char *
secrets_hide (const char *text)
{
  GString *out = g_string_new (NULL);
  const char *end = text;

  g_mutex_lock (&lock);
  /* Passwords may begin alike and overlap: all that belongs to one of them goes. */
  for (; *text; text++) {
    const char *next = MAX (end, end_of_hidden (text));

    if (text >= end)
      g_string_append_len (out, next > text ? "***" : text, next > text ? 3 : 1);
    end = next;
  }
  g_mutex_unlock (&lock);
  /* json-glib does not escape all control characters. */
  for (char *c = out->str; *c; c++)
    if (g_ascii_iscntrl (*c) && *c != '\n' && *c != '\t')
      *c = '?';
  if (!g_utf8_validate (out->str, (gssize) out->len, NULL)) {
    char *valid = g_utf8_make_valid (out->str, (gssize) out->len);

    g_string_free (out, TRUE);
    return valid;
  }
  return g_string_free (out, FALSE);
}
