/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * jobs.c: kernelcheck in several processes at once, since the reference, which
 * takes most of the time, has one thread. Each process takes its share of the
 * cases by their numbers, prints its own failures, and sends what it counted. */
#include "kernelcheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_JOBS 64

typedef struct {
  unsigned long passed, failed, skipped, cases, frames, launches;
} Counts;

/* The process `job`; never returns. CUDA does not live through a fork, so nothing
 * of it was touched before. */
static void
be_job (KcRun *run, int job, int descriptor, void (*work) (void))
{
  Counts counts;
  bool sent;

  run->options.job = job;
  setvbuf (stdout, NULL, _IOLBF, 0);
  work ();
  counts = (Counts) { run->passed, run->failed, run->skipped, run->cases, run->frames, run->launches };
  sent = write (descriptor, &counts, sizeof counts) == (ssize_t) sizeof counts && kc_variants_send (descriptor);
  fflush (stdout);
  _exit (sent ? 0 : 1);
}

static void
add_job (KcRun *run, int job, int descriptor)
{
  Counts counts;

  if (read (descriptor, &counts, sizeof counts) != (ssize_t) sizeof counts || !kc_variants_receive (descriptor)) {
    kc_result (run, false, "process %d of %d ended before it was done", job + 1, run->options.jobs);
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
kc_jobs (KcRun *run, void (*work) (void))
{
  const int jobs = run->options.jobs > MAX_JOBS ? MAX_JOBS : run->options.jobs;
  int ends[MAX_JOBS], started = 0;

  run->options.jobs = jobs;
  fflush (stdout);
  for (int i = 0; i < jobs; i++) {
    int both[2];
    pid_t child = pipe (both) == 0 ? fork () : -1;

    if (child == 0) {
      close (both[0]);
      be_job (run, i, both[1], work);
    }
    if (child < 0) {
      kc_result (run, false, "process %d of %d cannot be started", i + 1, jobs);
      break;
    }
    close (both[1]);
    ends[started++] = both[0];
  }
  for (int i = 0; i < started; i++) {
    add_job (run, i, ends[i]);
    close (ends[i]);
  }
  while (wait (NULL) > 0)
    continue;
}
