/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/columns_tmpl.h: histograms of columns, and the search of ranks in sums of them, after S. Perreault and P.
 * Hebert, "Median filtering in constant time" (2007); here with cumulative entries, any rank, and columns that are
 * brought up to date when an output needs their group. simd.c includes it once per width of the counts and defines
 * COLUMN, COUNT, H (name), Sum and its functions slide and negative. */

/* Entries of a column, at any address of one: all 32, or as many as a vector of this instruction set has, where gcc
 * would compare longer ones entry by entry. */
#define ENTRIES (V_SIZE / sizeof (COLUMN) < 32 ? V_SIZE / sizeof (COLUMN) : 32)
typedef COLUMN
    H (Entries) __attribute__ ((vector_size (ENTRIES * sizeof (COLUMN)), aligned (sizeof (COLUMN)), may_alias));

/* Takes the samples `add` into the columns of a block, and `sub`, unless it is NULL, out of them. */
static void
H (columns) (void *columns, int set, const uint16_t *add, const uint16_t *sub)
{
  static const COLUMN last[32] = { 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11,
    10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0 };
  uint8_t a[CF_MEDIAN_BLOCK], b[CF_MEDIAN_BLOCK] = { 0 };
  H (Entries) *column = columns;

  entries (add, set, a);
  if (sub)
    entries (sub, set, b);
#pragma GCC unroll 4
  for (int x = 0; x < CF_MEDIAN_BLOCK; x++)
    for (size_t i = 0; i < 32 / ENTRIES; i++)
      *column++ += ((COLUMN) a[x] > ((const H (Entries) *) last)[i]) -
          ((COLUMN) b[x] > ((const H (Entries) *) last)[i]);
#undef ENTRIES
}

/* The sum of the columns of one set in the window of output `at` (-1: none yet), less the rank and 1: entries that are
 * not above the rank are negative. */
typedef struct {
  H (Sum) sum;
  int at;
} H (Window);

/* Moves a sum on to output x, or sums columns x .. x + w - 1 from scratch where this is shorter. */
static inline void
H (advance) (H (Window) * window, const CfMedianSweep *s, const COLUMN *columns, int x)
{
  static const COLUMN none[32];
  int from = window->at;

  if (from < 0 || 2 * (x - from) > s->w) {
    COUNT *v = (COUNT *) (void *) &window->sum;

    for (int i = 0; i < 32; i++)
      v[i] = (COUNT) (-1 - s->rank);
    for (int i = x; i < x + s->w; i++)
      H (slide) (&window->sum, columns + 32 * i, none);
  } else
    for (int i = from; i < x; i++)
      H (slide) (&window->sum, columns + 32 * (i + s->w), columns + 32 * i);
  window->at = x;
}

/* Makes a block ready unless it is. */
ALWAYS_INLINE void
H (need) (CfMedianSweep *s, int set, int block)
{
  if (s->counted[set * s->n_blocks + block] != s->y)
    s->ready (s, set, block);
}

/* Finds the results of a row. From one output to the next the result mostly stays in its group, so the inner loop
 * slides only this group's sum. A result outside it is looked for in the group of the result above, or else in the next
 * group, and then in the coarse set. Where its code began at half a cache line, a checkerboard took 70 ms for 50. */
static void __attribute__ ((aligned (64)))
H (sweep) (CfMedianSweep *s)
{
  H (Window) windows[CF_MEDIAN_SETS];
  uint16_t *result = s->result;
  const int n = s->n, w = s->w;
  int set = group_of (result[0]), before = set, left = set, missed = 0;

  for (int i = 0; i < CF_MEDIAN_SETS; i++)
    windows[i].at = -1;
  for (int x = 0;;) {
    const COLUMN *columns = (const COLUMN *) (const void *) (s->sets + s->set_size * (size_t) set);
    const int first = set > 0, last = set == CF_MEDIAN_COARSE ? 0 : 31;
    int b, end = x / CF_MEDIAN_BLOCK * CF_MEDIAN_BLOCK, from = x;
    H (Sum) sum;

    for (; end < x + w; end += CF_MEDIAN_BLOCK)
      H (need) (s, set, end / CF_MEDIAN_BLOCK);
    H (advance) (&windows[set], s, columns, x);
    sum = windows[set].sum;
    b = H (negative) (&sum);
    while (b >= first && b <= last) {
      const int stop = end - w < n - 1 ? end - w : n - 1;

      for (; x < stop && (unsigned) (b - first) <= (unsigned) (last - first); x++) {
        result[x] = (uint16_t) (CF_MEDIAN_GROUP * set + b);
        H (slide) (&sum, columns + 32 * (x + w), columns + 32 * x);
        b = H (negative) (&sum);
      }
      if (x < stop)
        break;
      if (x == n - 1 && b >= first && b <= last) {
        result[x] = (uint16_t) (CF_MEDIAN_GROUP * set + b);
        return;
      }
      if (x < n - 1) {
        H (need) (s, set, end / CF_MEDIAN_BLOCK);
        end += CF_MEDIAN_BLOCK;
      }
    }
    windows[set].sum = sum;
    windows[set].at = x;
    missed = x > from ? 1 : missed + 1;
    before = left;
    if (x > from)
      left = set;
    if (set == CF_MEDIAN_COARSE)
      set = b;
    else {
      const int side = b < first ? -1 : 1, above = group_of (result[x]);

      set = missed > 1                 ? CF_MEDIAN_COARSE
          : side * above > side * set  ? above
          : side * before > side * set ? before
                                       : set + side;
    }
  }
}
