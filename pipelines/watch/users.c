/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * users.c: who may use the page from other machines. Logins are in memory only: they end with the process. */
#include "users.h"

#include "events.h"
#include "password.h"
#include "secrets.h"
#include "threads.h"
#include "token.h"

#include <string.h>

#define HOUR (3600 * (gint64) G_USEC_PER_SEC)
#define IDLE (12 * HOUR) /* without use, until a login ends */
#define LASTS (30 * 24 * HOUR)
#define MAX_LOGINS 16 /* of a user; another one ends the one that was not in use for longest */
#define MINUTE (60 * G_USEC_PER_SEC)
#define MAX_WRONG 5     /* passwords a minute from a place */
#define MAX_PLACES 1024 /* whose wrong passwords are counted; one more takes the place of the oldest */
#define MAX_CHECKS 16   /* passwords that wait to be checked */
#define REPORTS_AGAIN (10 * G_USEC_PER_SEC)

struct Login {
  char *user; /* NULL: the token's */
  Role role;
  gint64 begun, used; /* monotonic µs */
  gboolean ended;
};

/* The wrong passwords of a place, and the passwords that are being checked. */
typedef struct {
  gint64 begun;
  guint n;
} Tries;

static JsonObject *users;  /* name -> { "password" or "hash", "role" }; NULL: nobody may log in */
static GHashTable *logins; /* SHA-256 of the secret -> Login */
static GHashTable *places; /* place -> Tries */
static guint checks;

/* ---- who has logged in ---------------------------------------------------- */

static const char *const roles[] = { "viewer", "operator", "admin", "owner" };

const char *
role_name (Role role)
{
  return roles[role];
}

static Login *
login_new (const char *user, Role role)
{
  Login *login = g_rc_box_new0 (Login);

  login->user = g_strdup (user);
  login->role = role;
  login->begun = login->used = g_get_monotonic_time ();
  return login;
}

static void
login_clear (gpointer login)
{
  g_free (((Login *) login)->user);
}

void
login_unref (Login *login)
{
  g_rc_box_release_full (login, login_clear);
}

gboolean
login_holds (Login *login)
{
  const gint64 now = g_get_monotonic_time ();

  if (login->user && (now - login->used > IDLE || now - login->begun > LASTS))
    login->ended = TRUE;
  login->used = now;
  return !login->ended;
}

static gboolean
has_ended (gpointer secret, gpointer login, gpointer data)
{
  (void) secret;
  (void) data;
  return ((Login *) login)->ended;
}

void
login_end (Login *login)
{
  login->ended = login->user != NULL;
  if (logins)
    g_hash_table_foreach_remove (logins, has_ended, NULL);
}

const char *
login_user (const Login *login)
{
  return login->user;
}

Role
login_role (const Login *login)
{
  return login->role;
}

Login *
login_of_token (void)
{
  return login_new (NULL, ROLE_ADMIN);
}

/* The table has what a secret is made to, so that no time that a search takes says anything about one. */
static char *
key_of (const char *secret)
{
  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, secret, -1);
}

Login *
users_find (const char *secret)
{
  g_autofree char *key = key_of (secret);
  Login *login = logins ? g_hash_table_lookup (logins, key) : NULL;

  if (!login || login_holds (login))
    return login;
  g_hash_table_remove (logins, key);
  return NULL;
}

/* Ends the user's login that was not in use for longest, if there are too many. */
static void
make_room (const char *user)
{
  Login *oldest = NULL, *login;
  GHashTableIter iter;
  guint n = 0;

  g_hash_table_iter_init (&iter, logins);
  while (g_hash_table_iter_next (&iter, NULL, (gpointer *) &login)) {
    if (strcmp (login->user, user))
      continue;
    n++;
    if (!oldest || login->used < oldest->used)
      oldest = login;
  }
  if (n >= MAX_LOGINS)
    login_end (oldest);
}

/* Returns a new login that the secret opens. */
static Login *
begin_login (const char *user, const char *secret)
{
  JsonObject *entry = json_object_get_object_member (users, user);
  const char *role = json_object_get_string_member_with_default (entry, "role", roles[ROLE_VIEWER]);
  Login *login;
  Role at = ROLE_VIEWER;

  while (strcmp (roles[at], role)) /* secrets.c has checked that it is one */
    at++;
  login = login_new (user, at);
  make_room (user);
  g_hash_table_insert (logins, key_of (secret), login);
  return login;
}

/* ---- the file ------------------------------------------------------------ */

static gboolean
is_as_before (JsonObject *read, const char *user)
{
  JsonNode *old = users ? json_object_get_member (users, user) : NULL, *new = json_object_get_member (read, user);

  return old && new && json_node_equal (old, new);
}

gboolean
users_read (const char *path, gboolean take, GString *wrong)
{
  JsonObject *read = secrets_read_users (path, wrong);
  GHashTableIter iter;
  Login *login;

  if (!read || !take) {
    g_clear_pointer (&read, json_object_unref);
    return wrong->len == 0;
  }
  if (!logins) {
    logins = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) login_unref);
    places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  }
  g_hash_table_iter_init (&iter, logins);
  while (g_hash_table_iter_next (&iter, NULL, (gpointer *) &login)) {
    if (is_as_before (read, login->user))
      continue;
    login->ended = TRUE;
    g_hash_table_iter_remove (&iter);
  }
  g_clear_pointer (&users, json_object_unref);
  users = read;
  return TRUE;
}

/* ---- passwords ------------------------------------------------------------ */

typedef struct {
  char *name, *password, *from;
  JsonNode *entry; /* what the file says of the user; NULL: nobody has the name */
  const char *known;
  gboolean is_hash, right;
  UsersDone done;
  gpointer data;
} Check;

/* Returns the place's tries in this minute. */
static Tries *
tries_of (const char *from)
{
  const gint64 now = g_get_monotonic_time ();
  Tries *tries = g_hash_table_lookup (places, from), *other;
  char *place, *oldest = NULL;
  gint64 since = G_MAXINT64;
  GHashTableIter iter;

  if (!tries && g_hash_table_size (places) >= MAX_PLACES) {
    g_hash_table_iter_init (&iter, places);
    while (g_hash_table_iter_next (&iter, (gpointer *) &place, (gpointer *) &other))
      if (other->begun < since)
        since = other->begun, oldest = place;
    g_hash_table_remove (places, oldest);
  }
  if (!tries)
    g_hash_table_insert (places, g_strdup (from), tries = g_new0 (Tries, 1));
  if (tries->n == 0 || now - tries->begun > MINUTE)
    *tries = (Tries) { .begun = now };
  return tries;
}

void
users_report_failed (JsonObject *known, const char *name, const char *at, const char *from)
{
  static gint64 reported; /* monotonic µs */
  static guint more;
  const gint64 now = g_get_monotonic_time ();

  if (reported && now - reported < REPORTS_AGAIN) {
    more++;
    return;
  }
  event_post (NULL, "login-failed", "at", word_node (at), "user",
      known && json_object_has_member (known, name) ? word_node (name) : NULL, "from", word_node (from), "more",
      int_node (more), NULL);
  reported = now;
  more = 0;
}

static gboolean
on_checked (gpointer data)
{
  Check *check = data;
  JsonNode *entry = json_object_get_member (users, check->name);
  g_autofree char *secret = NULL;
  Login *login = NULL;
  Tries *tries;

  checks--;
  /* The file may have been read again meanwhile. */
  if (check->right && entry && json_node_equal (entry, check->entry) && (secret = token_random ()))
    login = begin_login (check->name, secret);
  /* Only this attempt is taken back: who has a password of his own gains no more attempts at another user's. */
  tries = tries_of (check->from);
  if (login && tries->n > 0)
    tries->n--;
  if (!login)
    users_report_failed (users, check->name, "page", check->from);
  check->done (login, secret, 0, check->data);
  g_clear_pointer (&check->entry, json_node_unref);
  g_free (check->name);
  g_free (check->password);
  g_free (check->from);
  g_free (check);
  return G_SOURCE_REMOVE;
}

static void
check_in_thread (gpointer data, gpointer unused)
{
  Check *check = data;

  (void) unused;
  check->right = password_is (check->password, check->known, check->is_hash);
  in_main (on_checked, check);
}

void
users_log_in (const char *name, const char *password, const char *from, UsersDone done, gpointer data)
{
  static GThreadPool *pool; /* of one thread: logins take a core at most, whoever sends them */
  Tries *tries = tries_of (from);
  JsonNode *entry = json_object_get_member (users, name);
  JsonObject *user;
  Check *check;

  if (tries->n >= MAX_WRONG || checks >= MAX_CHECKS) {
    const gint64 left = tries->begun + MINUTE - g_get_monotonic_time ();

    users_report_failed (users, name, "page", from);
    done (NULL, NULL, tries->n >= MAX_WRONG ? (guint) (left / G_USEC_PER_SEC) + 1 : 1, data);
    return;
  }
  tries->n++; /* wrong until it is known to be right, so that many at once are no more than one after the other */
  checks++;
  check = g_new0 (Check, 1);
  *check = (Check) { g_strdup (name), g_strdup (password), g_strdup (from), .done = done, .data = data };
  if (entry) {
    check->entry = json_node_ref (entry);
    user = json_node_get_object (entry);
    check->is_hash = json_object_has_member (user, "hash");
    check->known = json_object_get_string_member (user, check->is_hash ? "hash" : "password");
  }
  if (!pool) /* it shares its thread with the other pools, so this does not fail */
    pool = g_thread_pool_new (check_in_thread, NULL, 1, FALSE, NULL);
  g_thread_pool_push (pool, check, NULL);
}
