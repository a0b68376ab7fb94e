/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * jobs.c: runs kernelcheck in several processes, because the reference, which takes most of the
 * time, is single-threaded. Each process takes its share of the cases by their numbers, prints its
 * own failures, and sends its counts to the parent. */
#include "kernelcheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_JOBS 64

typedef struct {
  unsigned long passed, failed, skipped, cases, frames, launches;
} Counts;

/* Runs process `index`; never returns. CUDA does not survive a fork, so the parent must not have
 * used CUDA before. */
static void
child_process (KcRun *run, int index, int descriptor, void (*work) (void))
{
  Counts counts;
  bool sent;

  run->options.process = index;
  setvbuf (stdout, NULL, _IOLBF, 0);
  work ();
  counts = (Counts) { run->passed, run->failed, run->skipped, run->cases, run->frames, run->launches };
  sent = write (descriptor, &counts, sizeof counts) == (ssize_t) sizeof counts && kc_variants_send (descriptor);
  fflush (stdout);
  _exit (sent ? 0 : 1);
}

static void
add_counts (KcRun *run, int index, int descriptor)
{
  Counts counts;

  if (read (descriptor, &counts, sizeof counts) != (ssize_t) sizeof counts || !kc_variants_receive (descriptor)) {
    kc_result (run, false, "process %d of %d ended early", index + 1, run->options.jobs);
    return;
  }
  run->passed += counts.passed;
  run->failed += counts.failed;
  run->skipped += counts.skipped;
  run->cases += counts.cases;
  run->frames += counts.frames;
  run->launches += counts.launches;
}

void
kc_run_processes (KcRun *run, void (*work) (void))
{
  const int jobs = run->options.jobs > MAX_JOBS ? MAX_JOBS : run->options.jobs;
  int read_ends[MAX_JOBS], started = 0;

  run->options.jobs = jobs;
  fflush (stdout);
  for (int i = 0; i < jobs; i++) {
    int ends[2];
    pid_t child = pipe (ends) == 0 ? fork () : -1;

    if (child == 0) {
      close (ends[0]);
      child_process (run, i, ends[1], work);
    }
    if (child < 0) {
      kc_result (run, false, "process %d of %d cannot be started", i + 1, jobs);
      break;
    }
    close (ends[1]);
    read_ends[started++] = ends[0];
  }
  for (int i = 0; i < started; i++) {
    add_counts (run, i, read_ends[i]);
    close (read_ends[i]);
  }
  while (wait (NULL) > 0)
    continue;
}
