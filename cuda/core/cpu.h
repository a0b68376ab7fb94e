/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/cpu.h: the instruction sets that the CPU side is compiled for. */
#ifndef CF_CORE_CPU_H
#define CF_CORE_CPU_H

/* best first; the AVX ones have fused multiply-adds */
typedef enum { CF_ISA_AVX512BW, CF_ISA_AVX2, CF_ISA_SSE4_1, CF_ISA_BASELINE } CfIsa;

/* The best one of this machine, or of what cf_cpu_limit left. */
CfIsa cf_cpu_isa_number (void);

#endif
