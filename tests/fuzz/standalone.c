/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * standalone.c: drives a fuzz target where there is no libFuzzer: tries each file of the corpus, then random mutations
 * of them. The options are some of libFuzzer's:
 *
 *   TARGET [-runs=N] [-max_total_time=SECONDS] [-max_len=BYTES] [-timeout=SECONDS] [-seed=N] [-dict=FILE]
 *     FILE|FOLDER...
 *
 * Without -runs and -max_total_time there are no mutations. An input that fails is left in crash-TARGET-HASH. */
#include "fuzz.h"

#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the sanitizers' library, where there is one: calls the function before the process ends. */
void __sanitizer_set_death_callback (void (*callback) (void)) __attribute__ ((weak));

static struct {
  gint64 runs, seconds, max_len, timeout, seed;
  const gchar *dictionary;
} options = { .max_len = 1024, .timeout = 60, .seed = 1 };

static GPtrArray *corpus; /* of GBytes */
static GPtrArray *tokens; /* of GString */
static GRand *rng;
static GString *input;
static guint64 executions;
static const gchar *program;

/* ---- an input that fails ------------------------------------------------- */

/* Runs in a signal handler, and has nothing else than the input to lose. */
static void
save_input (void)
{
  static gboolean saved;
  gchar *path;

  if (saved || !input)
    return;
  saved = TRUE;
  path = g_strdup_printf ("crash-%s-%08x", program, fuzz_hash (0, input->str, input->len));
  if (g_file_set_contents (path, input->str, (gssize) input->len, NULL))
    fprintf (stderr, "%s: execution %" G_GUINT64_FORMAT ", the input is in %s\n", program, executions, path);
}

static void
on_signal (int number)
{
  if (number == SIGALRM)
    fprintf (stderr, "INVARIANT: not done after %" G_GINT64_FORMAT " s\n", options.timeout);
  save_input ();
  signal (number, SIG_DFL);
  if (number == SIGALRM)
    abort ();
  raise (number);
}

static void
catch_failures (void)
{
  static const int signals[] = { SIGABRT, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGILL };

  signal (SIGALRM, on_signal);
  if (__sanitizer_set_death_callback) {
    __sanitizer_set_death_callback (save_input);
    signal (SIGABRT, on_signal);
    return;
  }
  for (gsize i = 0; i < G_N_ELEMENTS (signals); i++)
    signal (signals[i], on_signal);
}

/* ---- inputs ------------------------------------------------------------- */

static void
try_input (void)
{
  /* A copy of its own size, so that the address sanitizer sees an access behind it. */
  guint8 *copy = g_memdup2 (input->str, input->len);

  executions++;
  alarm ((guint) options.timeout);
  LLVMFuzzerTestOneInput (copy, input->len);
  alarm (0);
  g_free (copy);
}

static gint
compare (gconstpointer a, gconstpointer b)
{
  return g_strcmp0 (*(gchar *const *) a, *(gchar *const *) b);
}

/* Takes a file, or the files of a folder in the order of their names. */
static void
add_path (const gchar *path)
{
  GDir *folder = g_dir_open (path, 0, NULL);
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  const gchar *name;
  gchar *text;
  gsize size;

  if (folder) {
    while ((name = g_dir_read_name (folder)))
      g_ptr_array_add (names, g_build_filename (path, name, NULL));
    g_dir_close (folder);
    g_ptr_array_sort (names, compare);
    for (guint i = 0; i < names->len; i++)
      add_path (g_ptr_array_index (names, i));
  } else if (g_file_get_contents (path, &text, &size, NULL)) {
    g_ptr_array_add (corpus, g_bytes_new_take (text, size));
  } else {
    fuzz_fail ("%s cannot be read", path);
  }
  g_ptr_array_unref (names);
}

/* Returns the token of a line `"token"`, in which \", \\ and \xNN are escaped. */
static GString *
token_of (const gchar *line)
{
  GString *token = g_string_new (NULL);

  for (const gchar *at = line + 1; *at && (*at != '"' || at[1]); at++)
    if (at[0] == '\\' && at[1] == 'x' && g_ascii_isxdigit (at[2]) && g_ascii_isxdigit (at[3])) {
      g_string_append_c (token, (gchar) (16 * g_ascii_xdigit_value (at[2]) + g_ascii_xdigit_value (at[3])));
      at += 3;
    } else {
      at += at[0] == '\\' && at[1] != '\0';
      g_string_append_c (token, *at);
    }
  return token;
}

static void
read_dictionary (const gchar *path)
{
  gchar *text, **lines;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    fuzz_fail ("%s cannot be read", path);
  lines = g_strsplit (text, "\n", -1);
  for (gchar **line = lines; *line; line++)
    if (**line == '"')
      g_ptr_array_add (tokens, token_of (*line));
  g_strfreev (lines);
  g_free (text);
}

/* ---- mutations ---------------------------------------------------------- */

static gsize
below (gsize n)
{
  return n > 1 ? g_rand_int (rng) % n : 0;
}

static GBytes *
any_of_corpus (void)
{
  return g_ptr_array_index (corpus, below (corpus->len));
}

/* Makes one change to the input. */
static void
mutate (void)
{
  static const gchar marks[] = "0123456789.,;:-+eE[]{}\"| \n\0\x7f\xff";
  gsize at = below (input->len + 1), n = 1 + below (8), size;
  const gchar *other;

  n = MIN (n, input->len - at);
  switch (below (8)) {
    case 0:
      if (n > 0)
        input->str[at] = (gchar) (input->str[at] ^ 1 << below (8));
      break;
    case 1:
      if (n > 0)
        input->str[at] = (gchar) below (256);
      break;
    case 2:
      g_string_erase (input, (gssize) at, (gssize) n);
      break;
    case 3:
      g_string_insert_c (input, (gssize) at, marks[below (sizeof marks)]);
      break;
    case 4: { /* bytes of the input once more */
      gchar *part = g_memdup2 (input->str + at, n);

      g_string_insert_len (input, (gssize) below (input->len + 1), part, (gssize) n);
      g_free (part);
      break;
    }
    case 5: { /* a part of another one */
      gsize from;

      other = g_bytes_get_data (any_of_corpus (), &size);
      from = below (size);
      if (size > 0)
        g_string_insert_len (input, (gssize) at, other + from, (gssize) (1 + below (size - from)));
      break;
    }
    default:
      if (tokens->len > 0) {
        const GString *token = g_ptr_array_index (tokens, below (tokens->len));

        g_string_insert_len (input, (gssize) at, token->str, (gssize) token->len);
      } else if (n > 0) {
        input->str[at] = (gchar) (input->str[at] + (gint) below (5) - 2);
      }
      break;
  }
}

static void
run_mutations (void)
{
  gint64 end = g_get_monotonic_time () + options.seconds * G_USEC_PER_SEC;

  for (gint64 i = 0; options.runs > 0 ? i < options.runs : options.seconds > 0; i++) {
    gsize size;
    const gchar *text = g_bytes_get_data (any_of_corpus (), &size);

    if (options.seconds > 0 && g_get_monotonic_time () > end)
      break;
    g_string_truncate (input, 0);
    g_string_append_len (input, text, (gssize) size);
    for (gsize n = 1 + below (6); n > 0; n--)
      mutate ();
    g_string_truncate (input, MIN (input->len, (gsize) options.max_len));
    try_input ();
  }
}

/* ---- the program -------------------------------------------------------- */

/* Returns whether the argument is that option, and reads its number. */
static gboolean
read_option (const gchar *argument, const gchar *name, gint64 *value)
{
  gboolean is = g_str_has_prefix (argument, name);

  if (is)
    *value = g_ascii_strtoll (argument + strlen (name), NULL, 10);
  return is;
}

static void
read_argument (const gchar *argument)
{
  if (g_str_has_prefix (argument, "-dict="))
    read_dictionary (argument + strlen ("-dict="));
  else if (*argument != '-')
    add_path (argument);
  else if (!read_option (argument, "-runs=", &options.runs) && !read_option (argument, "-seed=", &options.seed) &&
      !read_option (argument, "-max_total_time=", &options.seconds) &&
      !read_option (argument, "-max_len=", &options.max_len) && !read_option (argument, "-timeout=", &options.timeout))
    fuzz_fail ("there is no option %s", argument);
}

static void
free_string (gpointer string)
{
  g_string_free (string, TRUE);
}

int
main (int argc, char **argv)
{
  program = strrchr (argv[0], '/') ? strrchr (argv[0], '/') + 1 : argv[0];
  corpus = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  tokens = g_ptr_array_new_with_free_func (free_string);
  g_ptr_array_add (corpus, g_bytes_new (NULL, 0));
  LLVMFuzzerInitialize (&argc, &argv);
  for (int i = 1; i < argc; i++)
    read_argument (argv[i]);
  rng = g_rand_new_with_seed ((guint32) options.seed);
  input = g_string_new (NULL);
  catch_failures ();
  for (guint i = 0; i < corpus->len; i++) {
    gsize size;
    const gchar *text = g_bytes_get_data (g_ptr_array_index (corpus, i), &size);

    g_string_truncate (input, 0);
    g_string_append_len (input, text, (gssize) size);
    try_input ();
  }
  run_mutations ();
  printf ("%u inputs, %" G_GUINT64_FORMAT " executions\n1 passed, 0 failed, 0 skipped\n", corpus->len - 1, executions);
  g_string_free (g_steal_pointer (&input), TRUE);
  g_rand_free (rng);
  g_ptr_array_unref (tokens);
  g_ptr_array_unref (corpus);
  return 0;
}
