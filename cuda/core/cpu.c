/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/cpu.c: chooses the instruction set of the CPU code. */
#include "cf-test.h"
#include "cpu.h"
#include "threads.h"

#include <stdatomic.h>
#include <string.h>

/* indexed by CfIsa */
static const char *const names[] = { "avx512bw", "avx2", "sse4.1", "baseline" };

static atomic_int limit;

static bool
has (int isa)
{
#if defined __x86_64__ || defined __i386__
  __builtin_cpu_init ();
  switch (isa) {
    case CF_ISA_AVX512BW:
      return !CF_NO_AVX512BW && __builtin_cpu_supports ("avx512f") && __builtin_cpu_supports ("avx512bw") &&
          __builtin_cpu_supports ("avx512vl") && __builtin_cpu_supports ("avx512dq") &&
          __builtin_cpu_supports ("fma") && __builtin_cpu_supports ("bmi2");
    case CF_ISA_AVX2:
      return !CF_NO_AVX2 && __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma") &&
          __builtin_cpu_supports ("bmi2");
    case CF_ISA_SSE4_1:
      return !CF_NO_SSE4_1 && __builtin_cpu_supports ("sse4.1");
    default:
      return true;
  }
#else
  return isa == CF_ISA_BASELINE;
#endif
}

CfIsa
cf_cpu_isa_number (void)
{
  int isa = atomic_load (&limit);

  while (!has (isa))
    isa++;
  return (CfIsa) isa;
}

const char *
cf_cpu_info (int *threads)
{
  if (threads)
    *threads = cf_cpu_threads ();
  return names[cf_cpu_isa_number ()];
}

bool
cf_cpu_limit (const char *isa)
{
  for (int i = 0; i <= CF_ISA_BASELINE; i++)
    if (isa && strcmp (isa, names[i]) == 0 && has (i)) {
      atomic_store (&limit, i);
      return true;
    }
  return false;
}
