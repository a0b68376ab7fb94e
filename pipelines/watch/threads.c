/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * threads.c: calls between threads. */
#include "threads.h"

typedef struct {
  void (*function) (gpointer data);
  gpointer data;
} Job;

void
in_main (GSourceFunc function, gpointer data)
{
  g_idle_add_full (G_PRIORITY_DEFAULT, function, data, NULL);
}

static void
do_job (gpointer data, gpointer unused)
{
  g_autofree Job *job = data;

  (void) unused;
  job->function (job->data);
}

void
in_pool (void (*function) (gpointer data), gpointer data)
{
  static GThreadPool *pool; /* for the life of the process */

  if (g_once_init_enter (&pool)) /* without a limit it does not fail */
    g_once_init_leave (&pool, g_thread_pool_new (do_job, NULL, -1, FALSE, NULL));
  g_thread_pool_push (pool, g_memdup2 (&(Job) { function, data }, sizeof (Job)), NULL);
}
