/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/rows_tmpl.h: moves samples between an image and plain rows. Included once for each type T of samples, after
 * core/simd.h; N (name) makes the names distinct. */

static inline void
N (gather_step) (int step, const T *restrict from, int n, T *restrict row, int shift, T max)
{
  for (int i = 0; i < n; i++) {
    T v = (T) (from[i * step] >> shift);

    row[i] = v < max ? v : max;
  }
}

/* Reads n words, `step` words apart, shifts them right and clamps them to `max`. */
static void
N (gather) (const void *from, int step, int n, void *row, int shift, int max)
{
  EACH_STEP (step, N (gather_step), from, n, row, shift, (T) max)
}

static inline void
N (scatter_step) (int step, T *restrict to, int n, const T *restrict row, int shift)
{
  for (int i = 0; i < n; i++)
    to[i * step] = (T) (row[i] << shift);
}

/* The inverse: shifts left. */
static void
N (scatter) (void *to, int step, int n, const void *row, int shift)
{
  EACH_STEP (step, N (scatter_step), to, n, row, shift)
}
