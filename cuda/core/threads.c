/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/threads.c: the thread pool; threads.h says what it promises.
 *
 * Calls wait in a list. A helper takes the first call that still has jobs,
 * works on it until they are handed out, and looks again. A call lives on its
 * caller's stack, so it ends only once no helper holds it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* sched_getaffinity */
#endif
#include "threads.h"

#include "cf.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#define MAX_THREADS 256

typedef struct Call {
  CfTask fn;
  void *data;
  int n_tasks;
  atomic_int next;  /* the next task to hand out */
  int helpers;      /* that work on it now */
  int n_threads;    /* numbers given out: the caller is 0 */
  struct Call *link;
} Call;

static struct {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  Call *calls;
  int n_helpers; /* started */
  int n_idle;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

static int n_cores;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
before_fork (void)
{
  pthread_mutex_lock (&pool.lock);
}

static void
after_fork_parent (void)
{
  pthread_mutex_unlock (&pool.lock);
}

/* The child has no helpers, and the other threads' calls are not its own. */
static void
after_fork_child (void)
{
  pthread_mutex_init (&pool.lock, NULL);
  pthread_cond_init (&pool.work, NULL);
  pthread_cond_init (&pool.done, NULL);
  pool.calls = NULL;
  pool.n_helpers = pool.n_idle = 0;
}

static void
count_cores (void)
{
  cpu_set_t set;
  long n = sched_getaffinity (0, sizeof set, &set) == 0 ? CPU_COUNT (&set) : sysconf (_SC_NPROCESSORS_ONLN);

  n_cores = n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (int) n;
  /* Without the handlers a child of fork could wait for helpers it has not. */
  if (pthread_atfork (before_fork, after_fork_parent, after_fork_child) != 0)
    n_cores = 1;
}

int
cf_cpu_threads (void)
{
  pthread_once (&once, count_cores);
  return n_cores;
}

static void
work_on (Call *call, int thread)
{
  int task;

  while ((task = atomic_fetch_add_explicit (&call->next, 1, memory_order_relaxed)) < call->n_tasks)
    call->fn (call->data, task, thread);
}

/* All below: lock held. */

static void
unlink_call (Call *call)
{
  Call **at = &pool.calls;

  while (*at && *at != call)
    at = &(*at)->link;
  if (*at)
    *at = call->link;
}

static void *
helper (void *unused)
{
  pthread_mutex_lock (&pool.lock);
  for (;;) {
    Call *call = pool.calls;
    int thread;

    if (!call) {
      pool.n_idle++;
      pthread_cond_wait (&pool.work, &pool.lock);
      pool.n_idle--;
      continue;
    }
    thread = call->n_threads++;
    call->helpers++;
    pthread_mutex_unlock (&pool.lock);
    work_on (call, thread);
    pthread_mutex_lock (&pool.lock);
    unlink_call (call);
    if (--call->helpers == 0)
      pthread_cond_broadcast (&pool.done);
  }
  return unused;
}

static void
start_helpers (int n)
{
  pthread_attr_t attr;
  sigset_t all, old;
  pthread_t thread;

  if (pool.n_helpers >= n || pthread_attr_init (&attr) != 0)
    return;
  pthread_attr_setdetachstate (&attr, PTHREAD_CREATE_DETACHED);
  /* the application's signal handlers run in its own threads */
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old);
  while (pool.n_helpers < n && pthread_create (&thread, &attr, helper, NULL) == 0)
    pool.n_helpers++;
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  pthread_attr_destroy (&attr);
}

void
cf_parallel_for (int n_tasks, CfTask fn, void *data)
{
  Call call = { .fn = fn, .data = data, .n_tasks = n_tasks, .n_threads = 1 };
  int helpers = cf_cpu_threads () - 1;

  if (n_tasks <= 1 || helpers == 0) {
    work_on (&call, 0);
    return;
  }
  pthread_mutex_lock (&pool.lock);
  start_helpers (helpers);
  /* behind the others: calls are served in the order they came */
  for (Call **at = &pool.calls;; at = &(*at)->link)
    if (!*at) {
      *at = &call;
      break;
    }
  if (n_tasks - 1 < helpers)
    helpers = n_tasks - 1;
  for (int i = 0; i < helpers && i < pool.n_idle; i++)
    pthread_cond_signal (&pool.work);
  pthread_mutex_unlock (&pool.lock);
  work_on (&call, 0);
  pthread_mutex_lock (&pool.lock);
  unlink_call (&call);
  while (call.helpers)
    pthread_cond_wait (&pool.done, &pool.lock);
  pthread_mutex_unlock (&pool.lock);
}
