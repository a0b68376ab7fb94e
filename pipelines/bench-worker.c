/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-worker.c: children that do the work. This process itself never starts a
 * thread, GStreamer or CUDA, which would not survive the fork. */

#define _GNU_SOURCE 1 /* sched_setaffinity */
#include "bench.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

gboolean
bench_send (int fd, const void *thing, gsize size)
{
  const char *at = thing;

  while (size > 0) {
    gssize n = write (fd, at, size);

    if (n < 0 && errno != EINTR)
      return FALSE;
    at += MAX (n, 0);
    size -= (gsize) MAX (n, 0);
  }
  return TRUE;
}

/* The first so many of those it may run on now; all later threads inherit it. */
static void
take_cores (int cores)
{
  cpu_set_t all, some;

  if (cores <= 0 || sched_getaffinity (0, sizeof all, &all))
    return;
  CPU_ZERO (&some);
  for (int i = 0; i < CPU_SETSIZE && cores > 0; i++)
    if (CPU_ISSET (i, &all)) {
      CPU_SET (i, &some);
      cores--;
    }
  if (sched_setaffinity (0, sizeof some, &some))
    fprintf (stderr, "bench: the number of cores could not be set\n");
}

/* A whole thing from the pipe; FALSE at its end. Hands Ctrl-C on to the child,
 * which may not have got it. */
static gboolean
receive (int fd, pid_t child, char *thing, gsize size)
{
  gboolean told = FALSE;
  gsize have = 0;

  while (have < size) {
    gssize n = read (fd, thing + have, size - have);

    if (bench_stop && !told) {
      kill (child, SIGINT);
      told = TRUE;
    }
    if (n == 0 || (n < 0 && errno != EINTR))
      return FALSE;
    have += (gsize) MAX (n, 0);
  }
  return TRUE;
}

int
bench_worker (int cores, BenchWork work, gpointer data, gsize size, BenchGot got, gpointer got_data)
{
  g_autofree char *thing = g_malloc (size + 1);
  int pipes[2], status = 0;
  pid_t child;

  fflush (NULL);
  if (pipe (pipes) || (child = fork ()) < 0) {
    fprintf (stderr, "bench: no process can be started: %s\n", g_strerror (errno));
    return 1;
  }
  if (child == 0) {
    prctl (PR_SET_PDEATHSIG, SIGTERM);
    close (pipes[0]);
    take_cores (cores);
    status = work (data, pipes[1]);
    fflush (NULL);
    _exit (status); /* drivers may stumble over their own ends; all is said */
  }
  close (pipes[1]);
  while (receive (pipes[0], child, thing, size))
    got (thing, got_data);
  close (pipes[0]);
  while (waitpid (child, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
}

void
bench_progress (const char *format, ...)
{
  static int terminal = -1;
  va_list args;

  if (terminal < 0)
    terminal = isatty (STDERR_FILENO);
  if (!terminal)
    return;
  fputs ("\r\033[K", stderr);
  if (format) {
    g_autofree char *text = NULL;

    va_start (args, format);
    text = g_strdup_vprintf (format, args);
    va_end (args);
    fprintf (stderr, "%.78s", text);
  }
  fflush (stderr);
}
