/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * core/threads.h: one pool of threads for the whole process, as many as the cores
 * that it may run on, started when first needed. */
#ifndef CF_CORE_THREADS_H
#define CF_CORE_THREADS_H

/* One task of many: `task` counts from 0 to n_tasks - 1; `thread` is below
 * cf_cpu_threads () and no two jobs of one call that run at the same time have
 * the same, so it can index scratch memory. */
typedef void (*CfTask) (void *data, int task, int thread);

/* Runs all jobs and returns when all are done. The caller takes part. Several
 * threads may call it at once; each call has its own thread numbers. Never
 * fails: without helpers the caller does everything. */
void cf_parallel_for (int n_tasks, CfTask fn, void *data);

#endif
