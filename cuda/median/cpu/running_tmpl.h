/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/running_tmpl.h: the running median's loops over rows of values of type T. simd.c includes it once per
 * SIZE, 1 and 2. */

/* Moves each value of `background` towards that of `x`, by at most `step`, and leaves their distance in `distance`. */
static void
N (follow) (void *background, const void *x_, void *distance, int n, int step_, int largest_)
{
  T *restrict b = background, *restrict d = distance;
  const T *restrict x = x_;
  const T step = (T) step_, largest = (T) largest_;

  for (int i = 0; i < n; i++) {
    const T low = b[i] > step ? (T) (b[i] - step) : 0;
    const T high = b[i] < (T) (largest - step) ? (T) (b[i] + step) : largest;
    const T up = x[i] > low ? x[i] : low, to = up < high ? up : high;

    b[i] = to;
    d[i] = x[i] > to ? (T) (x[i] - to) : (T) (to - x[i]);
  }
}
