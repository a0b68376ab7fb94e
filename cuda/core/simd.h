/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/simd.h: for the files that are compiled once for each instruction set, CF_ISA (cuda/meson.build). */
#ifndef CF_CORE_SIMD_H
#define CF_CORE_SIMD_H

#include <string.h>

#ifndef CF_ISA
#define CF_ISA baseline
#endif

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_ (a, b)
#define ALWAYS_INLINE static inline __attribute__ ((always_inline))

/* Calls `loop` with `step`, 1 to 4, as a constant, with which the compiler vectorises the loop. */
#define EACH_STEP(step, loop, ...) \
  switch (step) { \
    case 1: \
      loop (1, __VA_ARGS__); \
      break; \
    case 2: \
      loop (2, __VA_ARGS__); \
      break; \
    case 3: \
      loop (3, __VA_ARGS__); \
      break; \
    default: \
      loop (4, __VA_ARGS__); \
  }

/* For a loop whose output is the input or overlaps nothing. */
#ifdef __clang__
#define SAME_OR_APART _Pragma ("clang loop vectorize(assume_safety)")
#else
#define SAME_OR_APART _Pragma ("GCC ivdep")
#endif

#endif
