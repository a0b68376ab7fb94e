/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * usage.c: memory, descriptors, threads and GPU memory of this process. */
#define _GNU_SOURCE
#include "soak.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int passed, failed, skipped;

void
result (gboolean good, const char *what, const char *detail)
{
  if (good)
    passed++;
  else
    failed++;
  if (!good)
    printf ("FAIL %s: %s\n", what, detail);
}

static long
count_entries (const char *path)
{
  DIR *dir = opendir (path);
  struct dirent *entry;
  long n = 0;

  while (dir && (entry = readdir (dir)))
    n += entry->d_name[0] != '.';
  if (dir)
    closedir (dir);
  return n;
}

static long
status_field (const char *name)
{
  FILE *file = fopen ("/proc/self/status", "r");
  char line[256];
  long value = 0;

  while (file && fgets (line, sizeof line, file))
    if (strncmp (line, name, strlen (name)) == 0)
      value = strtol (line + strlen (name) + 1, NULL, 10);
  if (file)
    fclose (file);
  return value;
}

/* Returns the GPU memory of this process in MB. If the driver does not list the process (in a
 * container, or before the first CUDA call), returns that of the whole device, unless
 * CF_GPU_SHARED says that other processes allocate there. Returns 0 if it is unknown. */
static long
gpu_memory (void)
{
  FILE *file = popen ("nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader,nounits 2>/dev/null", "r");
  long mb = 0, sum = 0, pid;
  gboolean listed = FALSE;

  while (file && fscanf (file, "%ld, %ld", &pid, &mb) == 2)
    if (pid == (long) getpid ()) {
      listed = TRUE;
      sum += mb;
    }
  if (file)
    pclose (file);
  if (listed || g_getenv ("CF_GPU_SHARED"))
    return sum;
  file = popen ("nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null", "r");
  if (file && fscanf (file, "%ld", &sum) != 1)
    sum = 0;
  if (file)
    pclose (file);
  return sum;
}

#define PATIENCE (60 * G_USEC_PER_SEC)

static GMutex lock;
static GCond ended;
static gboolean alive; /* the thread below, guarded by `lock` */

static void
note_end (gpointer data)
{
  (void) data;
  g_mutex_lock (&lock);
  alive = FALSE;
  g_cond_signal (&ended);
  g_mutex_unlock (&lock);
}

static GPrivate of_the_thread = G_PRIVATE_INIT (note_end);

static void
note_thread (gpointer data, gpointer pool)
{
  (void) pool;
  g_private_set (&of_the_thread, data);
}

/* An idle thread of a GLib pool stays for half a second, on a busy machine for longer. One that becomes idle now is
 * awaited: the others have been idle for longer. */
static void
wait_for_idle_threads (void)
{
  const gint64 end = g_get_monotonic_time () + PATIENCE;
  GThreadPool *pool = g_thread_pool_new (note_thread, NULL, 1, FALSE, NULL);

  g_mutex_lock (&lock);
  alive = TRUE;
  g_thread_pool_push (pool, pool, NULL);
  while (alive && g_cond_wait_until (&ended, &lock, end))
    continue;
  g_mutex_unlock (&lock);
  g_thread_pool_free (pool, FALSE, TRUE);
}

Usage
usage_now (const Usage *before)
{
  const gint64 end = g_get_monotonic_time () + PATIENCE;
  Usage u;
  struct mallinfo2 heap;
  long threads;

  /* Some threads may have become idle only meanwhile, or end late. What has leaked does not go away. */
  do {
    threads = count_entries ("/proc/self/task");
    wait_for_idle_threads ();
  } while (count_entries ("/proc/self/task") < threads && g_get_monotonic_time () < end);
  while (before && count_entries ("/proc/self/task") > before->threads && g_get_monotonic_time () < end)
    g_usleep (5000);
  malloc_trim (0);
  heap = mallinfo2 ();
  u.rss_kb = status_field ("VmRSS:");
  u.heap_kb = (long) ((heap.uordblks + heap.hblkhd) / 1024);
  u.descriptors = count_entries ("/proc/self/fd");
  u.threads = count_entries ("/proc/self/task");
  u.gpu_mb = gpu_memory ();
  return u;
}

void
print_usage (const char *when, const Usage *u)
{
  printf ("%-28s rss %6ld kB, heap %6ld kB, descriptors %3ld, threads %3ld, GPU %ld MB\n", when, u->rss_kb, u->heap_kb,
      u->descriptors, u->threads, u->gpu_mb);
  fflush (stdout);
}

void
compare_usage (const char *what, const Usage *before, const Usage *after)
{
  /* Pages are returned late, so the resident set may vary a little. */
  const struct {
    const char *name;
    long before, after, allowed;
  } rows[] = {
    { "resident set (kB)", before->rss_kb, after->rss_kb, 2048 },
    { "heap (kB)", before->heap_kb, after->heap_kb, 128 },
    { "descriptors", before->descriptors, after->descriptors, 0 },
    { "threads", before->threads, after->threads, 0 },
    { "GPU memory (MB)", before->gpu_mb, after->gpu_mb, 4 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree gchar *detail = g_strdup_printf ("%s: %ld, and then %ld", rows[i].name, rows[i].before, rows[i].after);

    result (rows[i].after <= rows[i].before + rows[i].allowed, what, detail);
  }
}
