/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * kernelcheck.c: the main program. See usage below, and kernelcheck.h for how its files divide the
 * work. */
#define _GNU_SOURCE
#include "kernelcheck.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One row per filter. */
const KcFilter *const kc_filters[] = { &kc_median, &kc_convolve, &kc_irfilter, &kc_segment, NULL };

static const char usage[] =
    "kernelcheck [--cpu] [--gpu] [--require-gpu] [options]: the fast code against the reference\n"
    "  --cpu           the CPU side, with every instruction set of this machine (default without --gpu)\n"
    "  --gpu           the GPU; exit status 77 where there is none\n"
    "  --require-gpu   where there is none, that is a failure\n"
    "  --quick         fewer cases, for small machines\n"
    "  --full          every combination\n"
    "  --sanitize      a few cases a variant, to run under compute-sanitizer\n"
    "  --self-test     only: are injected faults detected? (each run begins with it)\n"
    "  --filter STEM   one filter        --isa NAME   one instruction set\n"
    "  --seed N        random contents and parameters (printed; the default is fixed)\n"
    "  --case I        only case I, with the same other options\n"
    "  --one-in N      a sample: about one case in N\n"
    "  --jobs N        N processes share the cases: the reference is single-threaded\n"
    "  --one-thread    on one processor, so that the CPU side has one thread\n"
    "  --verbose       print every variant\n"
    "  --schedule      only: the recursive filter on the GPU with random orders of its blocks (schedule.c)\n"
    "  --segment       only: segmentation of the same frames many times, with several numbers of blocks (steady.c)\n"
    "  --frames N      frames of --schedule beside other work (default 10000; with --quick 300), or\n"
    "                  runs of --segment (default 100; with --quick 2)\n"
    "kernelcheck --in FILE --out FILE ...: filter raw frames (raw.c)\n"
    "kernelcheck --bench ...: time the GPU variants (bench.h)\n";

static bool
parse (int argc, char **argv, KcOptions *o)
{
  struct { const char *name; bool *flag; } flags[] = {
    { "--cpu", &o->cpu }, { "--gpu", &o->gpu }, { "--require-gpu", &o->require_gpu }, { "--quick", &o->quick },
    { "--full", &o->full },
    { "--sanitize", &o->sanitize }, { "--self-test", &o->self_test }, { "--verbose", &o->verbose },
    { "--schedule", &o->schedule }, { "--segment", &o->segment },
    { "--one-thread", &o->one_thread },
  };

  for (int i = 1; i < argc; i++) {
    size_t f = 0;

    while (f < sizeof flags / sizeof *flags && strcmp (flags[f].name, argv[i]) != 0)
      f++;
    if (f < sizeof flags / sizeof *flags)
      *flags[f].flag = true;
    else if (i + 1 < argc && strcmp (argv[i], "--filter") == 0)
      o->filter = argv[++i];
    else if (i + 1 < argc && strcmp (argv[i], "--isa") == 0)
      o->isa = argv[++i];
    else if (i + 1 < argc && strcmp (argv[i], "--seed") == 0)
      o->seed = strtoull (argv[++i], NULL, 0);
    else if (i + 1 < argc && strcmp (argv[i], "--case") == 0)
      o->only = strtol (argv[++i], NULL, 0);
    else if (i + 1 < argc && strcmp (argv[i], "--one-in") == 0 && (o->one_in = (int) strtol (argv[i + 1], NULL, 0)) > 0)
      i++;
    else if (i + 1 < argc && strcmp (argv[i], "--jobs") == 0 && (o->jobs = (int) strtol (argv[i + 1], NULL, 0)) > 0)
      i++;
    else if (i + 1 < argc && strcmp (argv[i], "--frames") == 0 && (o->frames = strtol (argv[i + 1], NULL, 0)) > 0)
      i++;
    else
      return false;
  }
  o->gpu = o->gpu || o->require_gpu || o->schedule;
  o->cpu = !o->schedule && (o->cpu || !o->gpu);
  return true;
}

static KcRun run = { .options = { .seed = 1, .only = -1 } };

/* A read or write outside an image hits a guard page: reports the case. */
static void
on_fault (int number)
{
  char text[256];
  int n = snprintf (text, sizeof text,
      "FAIL case %u: signal %d; memory outside the image was accessed? (--seed %llu --case %u)\n"
      "%lu passed, %lu failed, 0 skipped\n",
      run.number - 1, number, (unsigned long long) run.options.seed, run.number - 1, run.passed, run.failed + 1);

  if (write (STDOUT_FILENO, text, (size_t) n) != n)
    _exit (3);
  _exit (1);
}

static void
open_gpu (void)
{
  CfStatus status = { 0 };
  CfGpuInfo info;

  if (cf_gpu_count (&status) > 0)
    run.gpu = cf_context_new (CF_BACKEND_CUDA, &status);
  if (run.gpu)
    run.stream = cf_stream_new (NULL, &status);
  if (run.stream) {
    if (cf_gpu_info (0, &info, &status) == CF_OK)
      printf ("GPU: %s, capability %d.%d\n", info.name, info.major, info.minor);
    return;
  }
  printf ("no GPU: %s\n", status.message);
  if (run.gpu)
    cf_context_free (run.gpu);
  run.gpu = NULL;
  if (run.options.require_gpu)
    run.failed++;
  else
    run.skipped++;
}

/* Must run before the library counts the processors. */
static bool
take_one_processor (void)
{
  cpu_set_t all, one;

  CPU_ZERO (&one);
  if (sched_getaffinity (0, sizeof all, &all) != 0)
    return false;
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET (i, &all)) {
      CPU_SET (i, &one);
      break;
    }
  return sched_setaffinity (0, sizeof one, &one) == 0;
}

static void
report_cpu (void)
{
  int threads;
  const char *isa = cf_cpu_info (&threads);

  printf ("CPU: %s, %d threads\n", isa, threads);
}

/* Runs all cases, or this process's share of them. */
static void
work (void)
{
  CfStatus status = { 0 };

  if (run.options.cpu) {
    if (kc_is_first_process (&run))
      report_cpu ();
    run.cpu = cf_context_new (CF_BACKEND_CPU, &status);
    if (!run.cpu)
      kc_result (&run, false, "no CPU context: %s", status.message);
  }
  if (run.options.gpu)
    open_gpu ();
  if (run.options.schedule && run.gpu) {
    kc_schedule (&run);
  } else if (run.options.segment) {
    if (run.cpu || run.gpu)
      kc_steady (&run);
  } else if (run.cpu || run.gpu) {
    if (run.options.only < 0 && kc_is_first_process (&run))
      kc_contract (&run);
    for (const KcFilter *const *kc = kc_filters; *kc; kc++)
      if (!run.options.filter || strcmp (run.options.filter, (*kc)->stem) == 0)
        kc_sweep (&run, *kc);
  }
  run.launches = cf_gpu_counters ().launches;
  cf_stream_free (run.stream);
  if (run.gpu)
    cf_context_free (run.gpu);
  if (run.cpu)
    cf_context_free (run.cpu);
}

/* Checks that the filters' references have what all cases need. */
static bool
are_complete (void)
{
  for (const KcFilter *const *i = kc_filters; *i; i++) {
    const KcFilter *kc = *i;
    const char *missing = !cf_filter_find (kc->stem) ? "filter of that stem in cuda/filters.c"
        : !kc->reference ? "reference" : !kc->settings ? "settings" : !kc->large_settings ? "large_settings"
        : !kc->bad_settings ? "bad_settings" : !kc->right ? "right" : !kc->wrong ? "wrong" : NULL;

    if (missing) {
      fprintf (stderr, "kernelcheck: the filter %s has no %s\n", kc->stem, missing);
      return false;
    }
  }
  return true;
}

/* Prints the summary. Without a GPU something is skipped; if nothing was skipped, at least one
 * case must have run. */
static void
finish (const struct timespec *start)
{
  const bool ran = run.skipped == 0 || run.cases > 0;
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  if (run.options.only < 0 && !run.options.self_test && !run.options.schedule && !run.options.segment &&
      run.cases > 0)
    kc_result (&run, kc_variants_report (&run), "a variant exists that no case reaches");
  if (ran)
    kc_result (&run, run.cases > 0, "no case ran");
  if (run.options.gpu && run.skipped == 0)
    kc_result (&run, run.launches > 0, "nothing was launched on the GPU");
  printf ("%lu cases, %lu frames, %lu kernel launches, seed %llu, %.0f s\n", run.cases, run.frames, run.launches,
      (unsigned long long) run.options.seed,
      (double) (now.tv_sec - start->tv_sec) + (double) (now.tv_nsec - start->tv_nsec) / 1e9);
  printf ("%lu passed, %lu failed, %lu skipped\n", run.passed, run.failed, run.skipped);
}

int
main (int argc, char **argv)
{
  struct timespec start;

  for (int i = 1; i < argc; i++) {
    if (strcmp (argv[i], "--bench") == 0)
      return kc_bench_main (argc, argv);
    if (strcmp (argv[i], "--in") == 0)
      return kc_raw_main (argc, argv);
  }
  if (!parse (argc, argv, &run.options)) {
    fputs (usage, stderr);
    return 2;
  }
  if (!are_complete ())
    return 2;
  if (run.options.one_thread && !take_one_processor ()) {
    fputs ("kernelcheck: cannot restrict itself to one processor\n", stderr);
    return 2;
  }
  clock_gettime (CLOCK_MONOTONIC, &start);
  signal (SIGSEGV, on_fault);
  signal (SIGBUS, on_fault);
  if (run.options.jobs > 1 && run.options.only < 0 && !run.options.schedule && !run.options.segment) {
    kc_run_processes (&run, work);
  } else {
    run.options.jobs = 0;
    work ();
  }
  finish (&start);
  if (run.failed)
    return 1;
  return run.passed == 0 && run.skipped ? 77 : 0;
}
