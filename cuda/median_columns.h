/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * median_columns.h: histograms of columns and the search of ranks in sums of
 * them, after S. Perreault and P. Hebert, "Median filtering in constant time"
 * (2007), here with cumulative entries, any rank, and digits of numbers that
 * have more bits than a histogram. Included by median_simd.c once a width of
 * the counts: COLUMN, COUNT, H (name), Sum and its functions. */

static void
H (columns) (const CfMedianColumns *columns, const uint16_t *add, const uint16_t *sub)
{
  static const COLUMN steps[64] __attribute__ ((aligned (64))) = STEP_TABLE;
  COLUMN *coarse = columns->coarse, *fine = columns->fine;
  size_t n = (size_t) columns->n;

  for (size_t x = 0; x < n; x++) {
    if (add[x] != CF_NO_DIGIT) {
      const COLUMN *group = steps + 31 - (add[x] >> 5), *bin = steps + 31 - (add[x] & 31);
      COLUMN *f = fine + ((size_t) (add[x] >> 5) * n + x) * 32;

      for (int i = 0; i < 32; i++)
        coarse[32 * x + (size_t) i] = (COLUMN) (coarse[32 * x + (size_t) i] + group[i]);
      for (int i = 0; i < 32; i++)
        f[i] = (COLUMN) (f[i] + bin[i]);
    }
    if (sub && sub[x] != CF_NO_DIGIT) {
      const COLUMN *group = steps + 31 - (sub[x] >> 5), *bin = steps + 31 - (sub[x] & 31);
      COLUMN *f = fine + ((size_t) (sub[x] >> 5) * n + x) * 32;

      for (int i = 0; i < 32; i++)
        coarse[32 * x + (size_t) i] = (COLUMN) (coarse[32 * x + (size_t) i] - group[i]);
      for (int i = 0; i < 32; i++)
        f[i] = (COLUMN) (f[i] - bin[i]);
    }
  }
}

/* The sum of one group's columns x .. x + w - 1, given that of `last` .. (-1:
 * none yet): by going along, or afresh where that is shorter. */
static inline void
H (catch_up) (H (Sum) *sum, const COLUMN *group, int w, int last, int x)
{
  if (last < 0 || 2 * (x - last) > w) {
    memset (sum, 0, sizeof *sum);
    for (int i = x; i < x + w; i++)
      H (add) (sum, group + 32 * i);
    return;
  }
  for (int i = last; i < x; i++) {
    H (add) (sum, group + 32 * (i + w));
    H (sub) (sum, group + 32 * i);
  }
}

static void
H (sweep) (const CfMedianSweep *s)
{
  const COLUMN *coarse = s->columns->coarse, *fine = s->columns->fine, *group_columns = fine;
  size_t group_size = (size_t) s->columns->n * 32;
  H (Sum) groups = { 0 }, bins = { 0 }, kept[32];
  COUNT below[32];
  int last[32], group = 0;

  memset (last, -1, sizeof last);
  for (int x = 0; x < s->w - 1; x++)
    H (add) (&groups, coarse + 32 * x);
  for (int x = 0; x < s->n; x++) {
    uint32_t rank = s->rank[x];
    int g, b;

    H (add) (&groups, coarse + 32 * (x + s->w - 1));
    if (x)
      H (sub) (&groups, coarse + 32 * (x - 1));
    if (s->found[x] != s->prefix)
      continue;
    g = H (not_above) (&groups, rank) - 1;
    H (get) (below, &groups);
    rank -= below[g];
    if (g != group) {
      kept[group] = bins;
      bins = kept[g];
      group = g;
      group_columns = fine + group_size * (size_t) g;
    }
    if (last[g] >= 0 && last[g] == x - 1) {
      H (add) (&bins, group_columns + 32 * (x + s->w - 1));
      H (sub) (&bins, group_columns + 32 * (x - 1));
    } else
      H (catch_up) (&bins, group_columns, s->w, last[g], x);
    last[g] = x;
    b = H (not_above) (&bins, rank) - 1;
    H (get) (below, &bins);
    s->next[x] = s->prefix << s->digit_bits | (uint32_t) (32 * g + b);
    s->rank[x] = rank - below[b];
  }
}
