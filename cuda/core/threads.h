/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/threads.h: one thread pool per process, with as many threads as cores that the process may run on. The first
 * call that needs it starts it. */
#ifndef CF_CORE_THREADS_H
#define CF_CORE_THREADS_H

/* Returns the number of threads that run tasks, including the caller: the cores that this process may run on. */
int cf_cpu_threads (void);

/* Runs one task of a call; `task` is 0 .. n_tasks - 1. `thread` is less than cf_cpu_threads () and differs between
 * tasks of one call that run at the same time, so it can be the index of scratch memory. */
typedef void (*CfTask) (void *data, int task, int thread);

/* Runs all tasks, some of them in the calling thread, and returns when all are done. Several threads may call it at the
 * same time; each call numbers its threads separately. Never fails: if no other thread can be started, the caller runs
 * all tasks. */
void cf_parallel_for (int n_tasks, CfTask fn, void *data);

#endif
