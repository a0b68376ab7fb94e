/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * no_bench.c: kernelcheck --bench in a build without CUDA. */
#include "check/kernelcheck.h"

#include <stdio.h>

int
kc_bench_main (int argc, char **argv)
{
  (void) argc;
  (void) argv;
  printf ("no GPU: this build has no CUDA kernels\n0 passed, 0 failed, 1 skipped\n");
  return 77;
}
