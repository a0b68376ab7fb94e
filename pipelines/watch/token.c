/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * token.c: the secret that opens the page. */
#include "token.h"

#include "secrets.h"
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES 32
#define DIGITS (2 * BYTES)

char *
token_random (void)
{
  guint8 bytes[BYTES];
  char *text;

  if (getrandom (bytes, sizeof bytes, 0) != sizeof bytes)
    return NULL;
  text = g_malloc (DIGITS + 1);
  for (guint i = 0; i < sizeof bytes; i++)
    g_snprintf (text + 2 * i, 3, "%02x", bytes[i]);
  return text;
}

char *
token_make (GString *wrong)
{
  char *token = token_random ();

  if (!token)
    g_string_append (wrong, "this system has no random numbers, which the page's link needs");
  secrets_add (token);
  return token;
}

/* Makes the file unless it is there: two processes of a user have the same token. Returns what errno was, 0: done. */
static int
make_file (const char *path)
{
  g_autofree char *part = g_strconcat (path, ".XXXXXX", NULL), *token = token_random ();
  int wrong = state_make_folder (path);
  const int file = wrong ? -1 : g_mkstemp_full (part, O_WRONLY | O_CLOEXEC, 0600);

  if (!wrong && file < 0)
    wrong = errno;
  if (!wrong && (!token || write (file, token, DIGITS) != DIGITS))
    wrong = EIO;
  if (file >= 0 && close (file) && !wrong)
    wrong = errno;
  if (!wrong && link (part, path) && errno != EEXIST)
    wrong = errno;
  if (file >= 0)
    unlink (part);
  return wrong;
}

/* Returns the file's text; NULL with what is wrong, in which none of it is repeated. */
static char *
read_file (const char *path, GString *wrong)
{
  char text[DIGITS + 2] = "";
  int file = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat info;
  gssize n = 0;

  if (file < 0 && errno == ENOENT)
    g_string_append_printf (wrong, "%s: there is no such file; cf-watch makes it when it starts with \"page\"", path);
  else if (file < 0 || fstat (file, &info) || (n = read (file, text, sizeof text - 1)) < 0)
    g_string_append_printf (wrong, "%s: %s", path, g_strerror (errno));
  else if (!S_ISREG (info.st_mode) || info.st_mode & (S_IRWXG | S_IRWXO))
    g_string_append_printf (wrong, "%s: others may read or write it (mode %04o): remove it, and a new one is made",
        path, (guint) info.st_mode & 07777);
  else if (strlen (g_strchomp (text)) != DIGITS || strspn (text, "0123456789abcdef") != DIGITS)
    g_string_append_printf (wrong, "%s: it has to be %d hexadecimal digits: remove it, and a new one is made", path,
        DIGITS);
  if (file >= 0)
    close (file);
  return wrong->len ? NULL : g_strdup (text);
}

char *
token_load (gboolean make, GString *wrong)
{
  g_autofree char *path = state_file ("page-token");
  const int error = make && access (path, F_OK) ? make_file (path) : 0;
  char *token = NULL;

  if (error)
    g_string_append_printf (wrong, "%s: %s", path, g_strerror (error));
  else
    token = read_file (path, wrong);
  if (token)
    secrets_add (token);
  return token;
}
