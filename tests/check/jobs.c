/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * jobs.c: runs kernelcheck in several processes, because most of the reference, which takes most of the time, has one
 * thread. Each process takes its share of the cases by their numbers, prints its own failures, and leaves its
 * counts in memory that it shares with the parent. */
#define _GNU_SOURCE
#include "kernelcheck.h"

#ifdef _OPENMP
#include <omp.h>
#endif
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_JOBS 64

/* Runs one process's share; never returns. CUDA does not survive a fork, so the parent must not have used CUDA. */
static void
child_process (KcRun *run, int index, KcRun *shared, void (*work) (void))
{
  run->options.process = index;
#ifdef _OPENMP
  omp_set_num_threads (1); /* of the reference: the other processes have the other cores */
#endif
  setvbuf (stdout, NULL, _IOLBF, 0);
  work ();
  *shared = *run;
  fflush (stdout);
  _exit (0);
}

static void
add_counts (KcRun *run, const KcRun *child)
{
  run->passed += child->passed;
  run->failed += child->failed;
  run->skipped += child->skipped;
  run->cases += child->cases;
  run->frames += child->frames;
  run->launches += child->launches;
  for (int i = 0; i < KC_MAX_VARIANTS && child->variants[i].name[0]; i++)
    kc_variant_count (run, child->variants[i].name, child->variants[i].runs);
}

void
kc_run_processes (KcRun *run, void (*work) (void))
{
  const int jobs = MIN (run->options.jobs, MAX_JOBS);
  KcRun *shared = mmap (NULL, MAX_JOBS * sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t children[MAX_JOBS];

  if (shared == MAP_FAILED) {
    kc_result (run, false, "out of memory");
    return;
  }
  run->options.jobs = jobs;
  fflush (stdout);
  for (int i = 0; i < jobs; i++)
    if ((children[i] = fork ()) == 0)
      child_process (run, i, &shared[i], work);
  for (int i = 0; i < jobs; i++) {
    int status = -1;

    if (children[i] > 0 && waitpid (children[i], &status, 0) == children[i] && status == 0)
      add_counts (run, &shared[i]);
    else
      kc_result (run, false, "process %d of %d could not be started, or ended early", i + 1, jobs);
  }
  (void) munmap (shared, MAX_JOBS * sizeof *shared);
}
