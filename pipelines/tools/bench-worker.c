/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-worker.c: child processes that measure. The parent never starts a thread,
 * GStreamer or CUDA, because these do not survive a fork. */

#define _GNU_SOURCE 1 /* sched_setaffinity */
#include "bench.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

gpointer
bench_share (gsize size)
{
  gpointer memory = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

  if (memory == MAP_FAILED)
    g_error ("bench: no memory that processes can share: %s", g_strerror (errno));
  return memory;
}

/* Restricts the process to the first `cores` CPUs that it may run on; later threads inherit that. */
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

static void
start_child (pid_t *child, int cores, BenchWork work, gpointer data, int number)
{
  int status;

  fflush (NULL);
  if ((*child = fork ()) < 0)
    fprintf (stderr, "bench: no process can be started: %s\n", g_strerror (errno));
  if (*child)
    return;
  prctl (PR_SET_PDEATHSIG, SIGTERM);
  take_cores (cores);
  status = work (data, number);
  fflush (NULL);
  _exit (status); /* without exit handlers: those of drivers may crash, and all rows are stored */
}

int
bench_workers (int n, int cores, BenchWork work, gpointer data)
{
  g_autofree pid_t *child = g_new0 (pid_t, n); /* 0 or less: the child has ended */
  int running = 0, worst = 0, signalled = FALSE, status;

  for (int i = 0; i < n; i++) {
    start_child (&child[i], cores, work, data, i);
    running += child[i] > 0;
    worst |= child[i] < 0;
  }
  while (running > 0) {
    gboolean stop = bench_stop && !signalled;

    for (int i = 0; i < n; i++) {
      if (child[i] > 0 && waitpid (child[i], &status, WNOHANG) > 0) {
        worst = MAX (worst, WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status));
        child[i] = 0;
        running--;
      }
      if (child[i] > 0 && stop) /* a child may not have received the signal from the terminal */
        kill (child[i], SIGINT);
    }
    signalled = signalled || stop;
    g_usleep (running ? 10000 : 0);
  }
  return worst;
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
