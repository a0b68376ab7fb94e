/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-worker.c: child processes that measure. The parent never starts a thread,
 * GStreamer or CUDA, because these do not survive a fork. */

#define _GNU_SOURCE 1 /* sched_setaffinity */
#include "bench.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

gboolean
bench_send (int fd, const void *message, gsize size)
{
  const char *at = message;

  while (size > 0) {
    gssize n = write (fd, at, size);

    if (n < 0 && errno != EINTR)
      return FALSE;
    at += MAX (n, 0);
    size -= (gsize) MAX (n, 0);
  }
  return TRUE;
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

typedef struct {
  pid_t pid; /* 0: the child has ended */
  int fd;
  char *message; /* `received` bytes of the next one */
  gsize received;
} Child;

static gboolean
start_child (Child *child, int cores, BenchWork work, gpointer data, gsize size)
{
  int pipes[2], status;

  fflush (NULL);
  if (pipe (pipes) || (child->pid = fork ()) < 0) {
    fprintf (stderr, "bench: no process can be started: %s\n", g_strerror (errno));
    return FALSE;
  }
  if (child->pid == 0) {
    prctl (PR_SET_PDEATHSIG, SIGTERM);
    close (pipes[0]);
    take_cores (cores);
    status = work (data, pipes[1]);
    fflush (NULL);
    _exit (status); /* without exit handlers: those of drivers may crash, and all rows have been sent */
  }
  close (pipes[1]);
  child->fd = pipes[0];
  child->message = g_malloc (size + 1);
  return TRUE;
}

static int
end_child (Child *child)
{
  int status = 0;

  close (child->fd);
  while (waitpid (child->pid, &status, 0) < 0 && errno == EINTR)
    ;
  g_clear_pointer (&child->message, g_free);
  child->pid = 0;
  return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
}

/* Reads what the child has sent. Returns FALSE at the end of the pipe. */
static gboolean
read_message (Child *child, gsize size, BenchOnMessage on_message, gpointer user_data)
{
  gssize n = read (child->fd, child->message + child->received, size - child->received);

  if (n < 0)
    return errno == EINTR;
  child->received += (gsize) n;
  if (child->received == size) {
    on_message (child->message, user_data);
    child->received = 0;
  }
  return n > 0;
}

/* Sends SIGINT to the children, which may not have received it from the terminal. */
static void
interrupt_all (Child *child, int n)
{
  for (int i = 0; i < n; i++)
    if (child[i].pid)
      kill (child[i].pid, SIGINT);
}

int
bench_workers (int n, int cores, BenchWork work, gpointer *data, gsize size, BenchOnMessage on_message,
    gpointer user_data)
{
  g_autofree Child *child = g_new0 (Child, n);
  g_autofree struct pollfd *polls = g_new0 (struct pollfd, n);
  gboolean signalled = FALSE;
  int running = 0, worst = 0;

  for (int i = 0; i < n; i++) {
    if (start_child (&child[i], cores, work, data[i], size))
      running++;
    else
      worst = 1;
    polls[i] = (struct pollfd) { child[i].pid > 0 ? child[i].fd : -1, POLLIN, 0 };
  }
  while (running > 0) {
    if (bench_stop && !signalled) {
      interrupt_all (child, n);
      signalled = TRUE;
    }
    if (poll (polls, (nfds_t) n, 1000) <= 0)
      continue;
    for (int i = 0; i < n; i++)
      if (polls[i].fd >= 0 && polls[i].revents && !read_message (&child[i], size, on_message, user_data)) {
        int status = end_child (&child[i]);

        worst = MAX (worst, status);
        polls[i].fd = -1;
        running--;
      }
  }
  return worst;
}

int
bench_worker (int cores, BenchWork work, gpointer data, gsize size, BenchOnMessage on_message, gpointer user_data)
{
  return bench_workers (1, cores, work, &data, size, on_message, user_data);
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
