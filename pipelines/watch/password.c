/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * password.c: hashes of passwords. */
#include "password.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#ifdef HAVE_CRYPT
#include <crypt.h>

#define METHOD "$y$"

/* Returns the hash by the method and the salt that the setting, or a hash, begins with; NULL: it is no such setting.
 * Free it. */
static char *
hash_by (const char *password, const char *setting)
{
  struct crypt_data *data = g_new0 (struct crypt_data, 1); /* 32 KiB: too many for a thread's stack */
  char *hash = g_strdup (crypt_rn (password, setting, data, sizeof *data));

  explicit_bzero (data, sizeof *data);
  g_free (data);
  return hash;
}

char *
password_hash (const char *password, GString *wrong)
{
  char setting[CRYPT_GENSALT_OUTPUT_SIZE], *hash = NULL;

  if (!*password)
    g_string_append (wrong, "an empty password protects nothing");
  else if (strlen (password) >= CRYPT_MAX_PASSPHRASE_SIZE)
    g_string_append_printf (wrong, "a password has less than %d bytes", CRYPT_MAX_PASSPHRASE_SIZE);
  else if (!crypt_gensalt_rn (METHOD, 0, NULL, 0, setting, sizeof setting) || !(hash = hash_by (password, setting)))
    g_string_append_printf (wrong, "crypt(3): %s", g_strerror (errno));
  return hash;
}

gboolean
password_check_hash (const char *text, GString *wrong)
{
  g_auto (GStrv) parts = g_strsplit (text, "$", -1); /* "", "y", costs, salt, hash */

  if (g_str_has_prefix (text, METHOD) && crypt_checksalt (text) == CRYPT_SALT_OK && g_strv_length (parts) == 5 &&
      strlen (parts[4]) == 43)
    return TRUE;
  g_string_append (wrong, "\"hash\" has to be what cf-watch --hash-password prints (yescrypt)");
  return FALSE;
}
#else
char *
password_hash (const char *password, GString *wrong)
{
  (void) password;
  g_string_append (wrong, "this cf-watch was built without libxcrypt, so it makes no hashes");
  return NULL;
}

gboolean
password_check_hash (const char *text, GString *wrong)
{
  (void) text;
  g_string_append (wrong, "this cf-watch was built without libxcrypt: \"password\" in place of \"hash\"");
  return FALSE;
}
#endif

gboolean
password_is_same (const char *one, const char *other)
{
  g_autofree char *a = g_compute_checksum_for_string (G_CHECKSUM_SHA256, one, -1);
  g_autofree char *b = g_compute_checksum_for_string (G_CHECKSUM_SHA256, other, -1);
  guint different = 0;

  for (gsize i = 0; a[i]; i++)
    different |= (guint) (a[i] ^ b[i]);
  return different == 0;
}

gboolean
password_is (const char *password, const char *known, gboolean is_hash)
{
  gboolean same = FALSE;
#ifdef HAVE_CRYPT
  static const char nobody[] = "$y$j9T$2EHaVDnkMLJBm3Ld2EHaV."; /* costs what new hashes do */
  g_autofree char *hash = hash_by (password, known && is_hash ? known : nobody);

  if (known && is_hash)
    same = hash && password_is_same (hash, known);
#else
  g_assert (!is_hash);
#endif
  if (known && !is_hash)
    same = password_is_same (password, known);
  return same;
}

/* ---- the terminal -------------------------------------------------------- */

/* Returns the next line of standard input without its end; NULL at the end. */
static char *
read_line (void)
{
  g_autofree char *line = NULL;
  size_t size = 0;
  /* getline () allocates by malloc (), which g_free () frees. */
  const ssize_t n = getline (&line, &size, stdin);

  if (n <= 0)
    return NULL;
  line[strcspn (line, "\n")] = '\0';
  return g_steal_pointer (&line);
}

static char *
prompt (const char *text)
{
  struct termios was, hidden;
  char *line;

  tcgetattr (STDIN_FILENO, &was);
  hidden = was;
  hidden.c_lflag &= ~(tcflag_t) (ECHO | ISIG); /* a signal would leave the terminal without an echo */
  tcsetattr (STDIN_FILENO, TCSAFLUSH, &hidden);
  fputs (text, stderr);
  line = read_line ();
  tcsetattr (STDIN_FILENO, TCSAFLUSH, &was);
  fputc ('\n', stderr);
  return line;
}

char *
password_ask (GString *wrong)
{
  const gboolean terminal = isatty (STDIN_FILENO);
  g_autofree char *first = terminal ? prompt ("Password: ") : read_line ();
  g_autofree char *second = terminal && first ? prompt ("The same again: ") : NULL;

  if (!first)
    g_string_append (wrong, "standard input has no password");
  else if (terminal && g_strcmp0 (first, second))
    g_string_append (wrong, "the two are not the same");
  return wrong->len ? NULL : g_steal_pointer (&first);
}
