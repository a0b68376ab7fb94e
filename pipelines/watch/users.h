/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * users.h: who may use the page from other machines: names, passwords and roles from a file, and the logins of those
 * who have logged in. Main thread. */
#ifndef PIPELINES_WATCH_USERS_H
#define PIPELINES_WATCH_USERS_H

#include <json-glib/json-glib.h>

/* Each may do what those before it may. */
typedef enum {
  ROLE_VIEWER,   /* looks */
  ROLE_OPERATOR, /* sets and records */
  ROLE_ADMIN,    /* adds, removes and reloads cameras */
  ROLE_OWNER,    /* runs the program: its standard input and socket; nobody gets this role by a login */
} Role;

/* Returns "viewer" and so on. */
const char *role_name (Role role);

typedef struct Login Login;

#define login_ref(login) ((Login *) g_rc_box_acquire (login))
void login_unref (Login *login);
/* Returns whether the login still holds: the user has not logged out, is still in the file as before, and has not
 * been away for too long. To ask counts as use. Connections that last have to ask now and then. */
gboolean login_holds (Login *login);
void login_end (Login *login);
const char *login_user (const Login *login); /* NULL: the holder of the token, who has no name */
Role login_role (const Login *login);

/* Returns the login of whoever has the token: an admin's, which does not end. Free it. */
Login *login_of_token (void);

/* Reads the file (secrets.h). If `take`, it counts, and the logins of users who are gone from it or have changed end.
 * Returns FALSE with what is wrong; all stays as it was then. */
gboolean users_read (const char *path, gboolean take, GString *wrong);

/* The password was checked. `secret`: what the browser has to show for the login from now on; NULL, like the login:
 * name or password is wrong, or the address has to wait for so many seconds. */
typedef void (*UsersDone) (Login *login, const char *secret, guint wait, gpointer data);
/* Checks a password, in another thread; `done` is called later, or at once with `wait`. `from`: where it comes from. */
void users_log_in (const char *name, const char *password, const char *from, UsersDone done, gpointer data);
/* Posts the event "login-failed", one in ten seconds at most; the next one says how many came between. `known`: who may
 * log in; another name is not repeated, since people type passwords there. `at`: "page" or "rtsp". */
void users_report_failed (JsonObject *known, const char *name, const char *at, const char *from);
/* Returns the login with the secret, which is in use by that; NULL: there is none. */
Login *users_find (const char *secret);

#endif
