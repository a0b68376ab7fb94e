/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/threads.h: one pool of threads for the whole process, as many as the cores
 * that it may run on, started when first needed. */
#ifndef CF_CORE_THREADS_H
#define CF_CORE_THREADS_H

/* Returns how many threads run tasks, the caller's among them: the cores that this process may run on. */
int cf_cpu_threads (void);

/* One task of many: `task` counts from 0 to n_tasks - 1; `thread` is below cf_cpu_threads (), and no two tasks of
 * one call that run at the same time have the same, so it can index scratch memory. */
typedef void (*CfTask) (void *data, int task, int thread);

/* Runs all tasks and returns when all are done. The caller takes part. Several threads may call it at the same
 * time; each call has its own thread numbers. Never fails: without other threads the caller runs every
 * task. */
void cf_parallel_for (int n_tasks, CfTask fn, void *data);

#endif
