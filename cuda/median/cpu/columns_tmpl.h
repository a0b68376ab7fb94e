/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/columns_tmpl.h: histograms of columns, and the search of ranks in sums of them, after S. Perreault and P.
 * Hebert, "Median filtering in constant time" (2007); here with cumulative entries, any rank, and digits of values
 * that have more bits than a histogram. simd.c includes it once per width of the counts and defines COLUMN, COUNT, H
 * (name), Sum and its functions. */

/* The 32 entries of a column as one vector, at any address of an entry. */
typedef COLUMN H (Entries) __attribute__ ((vector_size (32 * sizeof (COLUMN)), aligned (sizeof (COLUMN)), may_alias));

/* Adds the entries of `more` and subtracts those of `less`. */
ALWAYS_INLINE void
H (step) (COLUMN *column, const COLUMN *more, const COLUMN *less)
{
  *(H (Entries) *) column += *(const H (Entries) *) more - *(const H (Entries) *) less;
}

static void
H (columns) (const CfMedianColumns *columns, const uint16_t *add, const uint16_t *sub)
{
  static const COLUMN steps[64] __attribute__ ((aligned (64))) = STEP_TABLE;
  static const COLUMN none[32];
  /* the entries behind group g, and those from bin b on */
  const COLUMN *behind = steps + 31, *from = steps + 32;
  COLUMN *coarse = columns->coarse, *fine = columns->fine;
  size_t n = (size_t) columns->n;

  for (size_t x = 0; x < n; x++, coarse += 32, fine += 32) {
    size_t a = add[x], s = sub ? sub[x] : CF_MEDIAN_NO_DIGIT;

    if (a != CF_MEDIAN_NO_DIGIT && s != CF_MEDIAN_NO_DIGIT) {
      H (step) (coarse, behind - (a >> 5), behind - (s >> 5));
      H (step) (fine + 32 * n * (a >> 5), from - (a & 31), none);
      H (step) (fine + 32 * n * (s >> 5), none, from - (s & 31));
    } else if (a != CF_MEDIAN_NO_DIGIT) {
      H (step) (coarse, behind - (a >> 5), none);
      H (step) (fine + 32 * n * (a >> 5), from - (a & 31), none);
    } else if (s != CF_MEDIAN_NO_DIGIT) {
      H (step) (coarse, none, behind - (s >> 5));
      H (step) (fine + 32 * n * (s >> 5), none, from - (s & 31));
    }
  }
}

/* The sums of a sweep: of the coarse columns, and for each group of the fine ones.
 * Each is valid for output `at` (-1: for none yet). */
typedef struct {
  const COLUMN *coarse, *fine;
  size_t group_size;
  int w;
  struct {
    H (Sum) sum;
    int at;
  } groups, bins[32];
  COUNT below; /* samples in the groups before the one last found */
} H (State);

/* Moves a sum from output `at` on to output x, or sums columns x .. x + w - 1 from scratch where this is shorter. */
static inline void
H (advance) (H (Sum) * sum, const COLUMN *columns, int w, int at, int x)
{
  if (at < 0 || 2 * (x - at) > w) {
    memset (sum, 0, sizeof *sum);
    for (int i = x; i < x + w; i++)
      H (add) (sum, columns + 32 * i);
    return;
  }
  for (int i = at; i < x; i++) {
    H (add) (sum, columns + 32 * (i + w));
    H (sub) (sum, columns + 32 * i);
  }
}

/* Returns the group that holds the rank at output x, and advances its sum to x. */
static __attribute__ ((noinline)) int
H (find) (H (State) * s, int x, uint32_t rank)
{
  COUNT entries[32];
  int g;

  H (advance) (&s->groups.sum, s->coarse, s->w, s->groups.at, x);
  s->groups.at = x;
  H (get) (entries, &s->groups.sum);
  g = H (not_above) (&s->groups.sum, rank) - 1;
  s->below = entries[g];
  H (advance) (&s->bins[g].sum, s->fine + s->group_size * (size_t) g, s->w, s->bins[g].at, x);
  s->bins[g].at = x;
  return g;
}

static void
H (start) (H (State) * state, const CfMedianSweep *s)
{
  state->coarse = s->columns->coarse;
  state->fine = s->columns->fine;
  state->group_size = (size_t) s->columns->n * 32;
  state->w = s->w;
  state->groups.at = -1;
  for (int i = 0; i < 32; i++)
    state->bins[i].at = -1;
}

/* Finds the only digit of all outputs, all of one rank. From one output to the next the result mostly stays in its
 * group, so the inner loop updates only this group's sum and the number of samples below it. */
static void
H (sweep_all) (const CfMedianSweep *s)
{
  H (State) state;
  uint16_t *digit = s->digit;
  uint32_t rank = s->first_rank;
  size_t n = (size_t) s->n, wide = (size_t) s->w * 32;
  const COLUMN *coarse, *fine;
  H (Sum) bins;
  COUNT below;
  int group, b;

  H (start) (&state, s);
  for (size_t x = 0; x < n;) {
    group = H (find) (&state, (int) x, rank);
    bins = state.bins[group].sum;
    below = state.below;
    b = H (not_above) (&bins, rank - below);
    coarse = state.coarse + group;
    fine = state.fine + state.group_size * (size_t) group + 32 * x;
    do {
      digit[x] = (uint16_t) (32 * group + b);
      if (++x == n)
        return;
      H (add) (&bins, fine + wide);
      H (sub) (&bins, fine);
      below = (COUNT) (below + coarse[32 * (x - 1) + wide] - coarse[32 * (x - 1)]);
      fine += 32;
      b = H (not_above) (&bins, rank - below);
    } while (__builtin_expect (b < 32 && rank >= below, 1));
    state.bins[group].sum = bins;
    state.bins[group].at = (int) x;
  }
}

/* Finds the next digit of the outputs with the prefix, each of its own rank. */
static void
H (sweep_some) (const CfMedianSweep *s)
{
  H (State) state;

  H (start) (&state, s);
  for (int x = 0; x < s->n; x++) {
    COUNT entries[32];
    uint32_t rank = s->rank[x];
    int group, b;

    if (s->found[x] != s->prefix)
      continue;
    group = H (find) (&state, x, rank);
    rank -= state.below;
    b = H (not_above) (&state.bins[group].sum, rank);
    H (get) (entries, &state.bins[group].sum);
    s->next[x] = s->prefix << s->digit_bits | (uint32_t) (32 * group + b);
    s->rank[x] = b ? rank - entries[b - 1] : rank;
  }
}

static void
H (sweep) (const CfMedianSweep *s)
{
  if (s->found)
    H (sweep_some) (s);
  else
    H (sweep_all) (s);
}
