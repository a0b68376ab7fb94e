/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/threads.c: the thread pool.
 *
 * Calls are queued in a list. A worker takes the first call that has tasks left, runs tasks until all are handed out,
 * and takes the next call. A call is on the stack of its caller, which returns only when no worker uses the call any
 * more. */
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
  atomic_int next; /* the next task to hand out */
  int workers;     /* workers that run its tasks now */
  int n_threads;   /* thread numbers handed out; the caller's is 0 */
  struct Call *link;
} Call;

static struct {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  Call *calls;
  int n_workers; /* workers that were started */
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

/* The child process has no workers and none of the calls of other threads. */
static void
after_fork_child (void)
{
  pthread_mutex_init (&pool.lock, NULL);
  pthread_cond_init (&pool.work, NULL);
  pthread_cond_init (&pool.done, NULL);
  pool.calls = NULL;
  pool.n_workers = pool.n_idle = 0;
}

static void
count_cores (void)
{
  cpu_set_t set;
  long n = sched_getaffinity (0, sizeof set, &set) == 0 ? CPU_COUNT (&set) : sysconf (_SC_NPROCESSORS_ONLN);

  n_cores = n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (int) n;
  /* Without the handlers a forked child could wait for workers that it does not have: use no workers. */
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

/* Called with the lock held. */
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
worker (void *unused)
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
    call->workers++;
    pthread_mutex_unlock (&pool.lock);
    work_on (call, thread);
    pthread_mutex_lock (&pool.lock);
    unlink_call (call);
    if (--call->workers == 0)
      pthread_cond_broadcast (&pool.done);
  }
  return unused;
}

/* Starts workers until there are `n`. Called with the lock held. */
static void
start_workers (int n)
{
  pthread_attr_t attr;
  sigset_t all, old;
  pthread_t thread;

  if (pool.n_workers >= n || pthread_attr_init (&attr) != 0)
    return;
  pthread_attr_setdetachstate (&attr, PTHREAD_CREATE_DETACHED);
  /* signals of the application are handled in its own threads */
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old);
  while (pool.n_workers < n && pthread_create (&thread, &attr, worker, NULL) == 0)
    pool.n_workers++;
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  pthread_attr_destroy (&attr);
}

void
cf_parallel_for (int n_tasks, CfTask fn, void *data)
{
  Call call = { .fn = fn, .data = data, .n_tasks = n_tasks, .n_threads = 1 };
  int workers = cf_cpu_threads () - 1;

  if (n_tasks <= 1 || workers == 0) {
    work_on (&call, 0);
    return;
  }
  pthread_mutex_lock (&pool.lock);
  start_workers (workers);
  /* calls are served in order: append to the list */
  for (Call **at = &pool.calls;; at = &(*at)->link)
    if (!*at) {
      *at = &call;
      break;
    }
  if (n_tasks - 1 < workers)
    workers = n_tasks - 1;
  for (int i = 0; i < workers && i < pool.n_idle; i++)
    pthread_cond_signal (&pool.work);
  pthread_mutex_unlock (&pool.lock);
  work_on (&call, 0);
  pthread_mutex_lock (&pool.lock);
  unlink_call (&call);
  while (call.workers)
    pthread_cond_wait (&pool.done, &pool.lock);
  pthread_mutex_unlock (&pool.lock);
}
