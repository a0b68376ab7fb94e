/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/cpu.h: the instruction sets for which the CPU code is compiled. */
#ifndef CF_CORE_CPU_H
#define CF_CORE_CPU_H

/* The best one first. The AVX sets include fused multiply-add. */
typedef enum { CF_ISA_AVX512BW, CF_ISA_AVX2, CF_ISA_SSE4_1, CF_ISA_BASELINE } CfIsa;

/* Returns the best instruction set of this machine that cf_cpu_limit allows. */
CfIsa cf_cpu_isa_number (void);

/* Whether an instruction set is left out, as builds for tests do (the option cpu-isas) to compile sooner. */
#ifndef CF_NO_AVX512BW
#define CF_NO_AVX512BW 0
#endif
#ifndef CF_NO_AVX2
#define CF_NO_AVX2 0
#endif
#ifndef CF_NO_SSE4_1
#define CF_NO_SSE4_1 0
#endif

/* The tables NAME_avx512bw .. NAME_baseline, indexed by CfIsa; NULL for one that is left out. */
#if defined __x86_64__ || defined __i386__
#define CF_ISA_TABLES(name) \
  { CF_NO_AVX512BW ? NULL : &name##_avx512bw, CF_NO_AVX2 ? NULL : &name##_avx2, CF_NO_SSE4_1 ? NULL : &name##_sse4_1, \
    &name##_baseline }
#else
#define CF_ISA_TABLES(name) { [CF_ISA_BASELINE] = &name##_baseline }
#endif

#endif
