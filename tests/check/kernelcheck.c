/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * kernelcheck.c: the main program. See the options below, and kernelcheck.h for how its files divide the work. */
#define _GNU_SOURCE
#include "kernelcheck.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define ROW(stem) &kc_##stem,
const KcFilter *const kc_filters[] = { CF_FILTERS (ROW) ROW (running) NULL };

static KcRun run = { .options = { .seed = 1, .only = -1, .plans = 32 } };

static const GOptionEntry options[] = {
  { "cpu", 0, 0, G_OPTION_ARG_NONE, &run.options.cpu,
      "the CPU side, with every instruction set of this machine (default without --gpu)", NULL },
  { "gpu", 0, 0, G_OPTION_ARG_NONE, &run.options.gpu, "the GPU; exit status 77 where there is none", NULL },
  { "require-gpu", 0, 0, G_OPTION_ARG_NONE, &run.options.require_gpu, "where there is none, that is a failure", NULL },
  { "quick", 0, 0, G_OPTION_ARG_NONE, &run.options.quick, "fewer cases, for small machines", NULL },
  { "full", 0, 0, G_OPTION_ARG_NONE, &run.options.full, "every combination", NULL },
  { "sanitize", 0, 0, G_OPTION_ARG_NONE, &run.options.sanitize, "a few cases a variant, to run under compute-sanitizer",
      NULL },
  { "self-test", 0, 0, G_OPTION_ARG_NONE, &run.options.self_test,
      "only: are injected faults detected? (each run begins with it)", NULL },
  { "filter", 0, 0, G_OPTION_ARG_STRING, &run.options.filter, "one filter", "STEM" },
  { "list", 0, 0, G_OPTION_ARG_NONE, &run.options.list, "only: prints the filters", NULL },
  { "isa", 0, 0, G_OPTION_ARG_STRING, &run.options.isa, "one instruction set", "NAME" },
  { "seed", 0, 0, G_OPTION_ARG_INT64, &run.options.seed,
      "random contents and parameters (printed; the default is fixed)", "N" },
  { "case", 0, 0, G_OPTION_ARG_INT, &run.options.only, "only case I, with the same other options", "I" },
  { "one-in", 0, 0, G_OPTION_ARG_INT, &run.options.one_in, "a sample: about one case in N", "N" },
  { "jobs", 0, 0, G_OPTION_ARG_INT, &run.options.jobs, "N processes share the cases: the reference is single-threaded",
      "N" },
  { "one-thread", 0, 0, G_OPTION_ARG_NONE, &run.options.one_thread,
      "on one processor, so that the CPU side has one thread", NULL },
  { "verbose", 0, 0, G_OPTION_ARG_NONE, &run.options.verbose, "print every variant", NULL },
  { "schedule", 0, 0, G_OPTION_ARG_NONE, &run.options.schedule,
      "only: on the GPU, the recursive filter with random orders of its blocks, and late warps (schedule.c)", NULL },
  { "segment", 0, 0, G_OPTION_ARG_NONE, &run.options.segment,
      "only: segmentation of the same frames many times, with several numbers of blocks (steady.c)", NULL },
  { "areas", 0, 0, G_OPTION_ARG_NONE, &run.options.areas,
      "only: frames of which random areas are filtered, on the CPU, or with --gpu on the GPU (areas.c)", NULL },
  { "crowd", 0, 0, G_OPTION_ARG_NONE, &run.options.crowd,
      "only: many plans of a filter at once, at full speed (crowd.c)", NULL },
  { "plans", 0, 0, G_OPTION_ARG_INT, &run.options.plans, "plans of --crowd (default 32)", "N" },
  { "clip", 0, 0, G_OPTION_ARG_FILENAME, &run.options.clip, "frames of --crowd, a YUV4MPEG2 file (default: made ones)",
      "FILE" },
  { "frames", 0, 0, G_OPTION_ARG_INT, &run.options.frames,
      "frames of --schedule beside other work (default 10000; "
      "with --quick 300), of --crowd for each filter (default 20000), "
      "or runs of --segment (default 100; with --quick 2)",
      "N" },
  { NULL }
};

bool
kc_parse (int argc, char **argv, const GOptionEntry *entries, const char *summary)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  bool good;

  g_option_context_set_summary (context, summary);
  g_option_context_add_main_entries (context, entries, NULL);
  good = g_option_context_parse (context, &argc, &argv, &error) && argc == 1;
  if (!good)
    fprintf (stderr, "kernelcheck: %s\n", error ? error->message : argv[1]);
  return good;
}

/* A read or write outside an image hits a guard page: reports the case. */
static void
on_fault (int number)
{
  char text[256];
  int n = snprintf (text, sizeof text,
      "FAIL case %u: signal %d; memory outside the image was accessed? (--seed %" G_GINT64_FORMAT " --case %u)\n"
      "%lu passed, %lu failed, 0 skipped\n",
      run.number - 1, number, run.options.seed, run.number - 1, run.passed, run.failed + 1);

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
  cpu_set_t one;

  CPU_ZERO (&one);
  CPU_SET (sched_getcpu (), &one);
  return sched_setaffinity (0, sizeof one, &one) == 0;
}

/* Runs all cases, or this process's share of them. */
static void
work (void)
{
  CfStatus status = { 0 };

  if (run.options.cpu) {
    int threads;
    const char *isa = cf_cpu_info (&threads);

    if (kc_is_first_process (&run))
      printf ("CPU: %s, %d threads\n", isa, threads);
    run.cpu = cf_context_new (CF_BACKEND_CPU, &status);
    if (!run.cpu)
      kc_result (&run, false, "no CPU context: %s", status.message);
  }
  if (run.options.gpu)
    open_gpu ();
  if (run.options.areas) {
    if (run.cpu)
      kc_areas (&run);
  } else if (run.options.schedule && run.gpu) {
    kc_schedule (&run);
  } else if (run.options.segment) {
    if (run.cpu || run.gpu)
      kc_steady (&run);
  } else if (run.options.crowd) {
    if (run.cpu || run.gpu)
      kc_crowd (&run);
  } else if (run.cpu || run.gpu) {
    if (run.options.only < 0 && kc_is_first_process (&run))
      kc_contract (&run);
    for (const KcFilter *const *kc = kc_filters; *kc; kc++)
      if (!run.options.filter || g_str_equal (run.options.filter, (*kc)->stem))
        kc_sweep (&run, *kc);
  }
  run.launches = cf_gpu_state ().launches;
  cf_stream_free (run.stream);
  if (run.gpu)
    cf_context_free (run.gpu);
  if (run.cpu)
    cf_context_free (run.cpu);
}

/* Prints the summary. Without a GPU something is skipped; where nothing was skipped, some case must have run. */
static void
finish (gint64 start)
{
  const bool ran = run.skipped == 0 || run.cases > 0;

  if (run.options.only < 0 && !run.options.self_test && !run.options.schedule && !run.options.segment &&
      !run.options.crowd && !run.options.areas && run.cases > 0)
    kc_result (&run, kc_variants_report (&run), "a variant exists that no case reaches");
  if (ran)
    kc_result (&run, run.cases > 0, "no case ran");
  if (run.options.gpu && run.skipped == 0)
    kc_result (&run, run.launches > 0, "nothing was launched on the GPU");
  printf ("%lu cases, %lu frames, %lu kernel launches, seed %" G_GINT64_FORMAT ", %.0f s\n", run.cases, run.frames,
      run.launches, run.options.seed, (double) (g_get_monotonic_time () - start) / 1e6);
  printf ("%lu passed, %lu failed, %lu skipped\n", run.passed, run.failed, run.skipped);
}

#ifndef CF_HAVE_CUDA
int
kc_bench_main (int argc, char **argv)
{
  (void) argc;
  (void) argv;
  printf ("no GPU: this build has no CUDA kernels\n0 passed, 0 failed, 1 skipped\n");
  return 77;
}
#endif

int
main (int argc, char **argv)
{
  const gint64 start = g_get_monotonic_time ();
  KcOptions *o = &run.options;

  for (int i = 1; i < argc; i++) {
    if (g_str_equal (argv[i], "--bench"))
      return kc_bench_main (argc, argv);
    if (g_str_equal (argv[i], "--in"))
      return kc_raw_main (argc, argv);
  }
  if (!kc_parse (argc, argv, options,
          "Compares the fast code with the reference.\n"
          "kernelcheck --in FILE --out FILE ... filters raw frames, kernelcheck --bench ... times the GPU variants."))
    return 2;
  if (o->list) {
    for (const CfFilter *const *f = cf_filters; *f; f++)
      puts (cf_filter_info (*f)->stem);
    return 0;
  }
  o->gpu = o->gpu || o->require_gpu || o->schedule;
  o->cpu = o->areas || (!o->schedule && (o->cpu || !o->gpu));
  if (o->one_thread && !take_one_processor ()) {
    fputs ("kernelcheck: cannot restrict itself to one processor\n", stderr);
    return 2;
  }
  signal (SIGSEGV, on_fault);
  signal (SIGBUS, on_fault);
  if (o->jobs > 1 && o->only < 0 && !o->schedule && !o->segment && !o->crowd) {
    kc_run_processes (&run, work);
  } else {
    o->jobs = 0;
    work ();
  }
  finish (start);
  if (run.failed)
    return 1;
  return run.passed == 0 && run.skipped ? 77 : 0;
}
