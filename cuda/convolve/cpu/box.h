/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/box.h: sums of boxes out of sums of columns, by levels of doubled
 * width or by running sums. Included by simd.c. */

static void
add_shifted16 (const uint16_t *restrict from, int shift, int n, void *to, bool wide)
{
  uint16_t *restrict narrow_to = to;
  uint32_t *restrict wide_to = to;

  if (wide)
    for (int i = 0; i < n; i++)
      wide_to[i] = (uint32_t) from[i] + from[i + shift];
  else
    for (int i = 0; i < n; i++)
      narrow_to[i] = (uint16_t) (from[i] + from[i + shift]);
}

static void
add_shifted32 (const uint32_t *restrict from, int shift, int n, uint32_t *restrict to)
{
  for (int i = 0; i < n; i++)
    to[i] = from[i] + from[i + shift];
}

#if N4 == 16
#define LANES(f) \
  { f (0), f (1), f (2), f (3), f (4), f (5), f (6), f (7), f (8), f (9), f (10), f (11), f (12), f (13), f (14), \
    f (15) }
#elif N4 == 8
#define LANES(f) { f (0), f (1), f (2), f (3), f (4), f (5), f (6), f (7) }
#else
#define LANES(f) { f (0), f (1), f (2), f (3) }
#endif
#define UP(l) ((l) < by ? (l) : N4 + (l) - by)
#define LAST(l) (N4 - step + (l) % step)

/* Returns x[l - by] in lane l, 0 in the first `by` lanes. */
static inline U4
shift_lanes (U4 x, int by)
{
  return shuffle4 ((U4) { 0 }, x, (U4) LANES (UP));
}

/* Makes running sums. The prefix sums of a vector's differences, over the lanes of a channel, take log (N4 / step)
 * additions; then the last sum of the vector before is added. */
ALWAYS_INLINE void
scan_block (int step, const void *column, bool wide, int w, int p, U4 *before, U4 sum[4])
{
  const uint16_t *narrow = column;
  const uint32_t *words = column;
  int add = (w - 1) * step + p, sub = p - step;
  U4 last = LANES (LAST);

  for (int v = 0; v < 4; v++) {
    U4 x;

    if (wide)
      x = *(const U4u *) (const void *) (words + add + v * N4) - *(const U4u *) (const void *) (words + sub + v * N4);
    else
      x = load4_2 (narrow + add + v * N4) - load4_2 (narrow + sub + v * N4);
    x += shift_lanes (x, step);
    if (2 * step < N4)
      x += shift_lanes (x, 2 * step);
    if (4 * step < N4)
      x += shift_lanes (x, 4 * step);
    if (8 * step < N4)
      x += shift_lanes (x, 8 * step);
    sum[v] = x + *before;
    /* both give the same sums; the first has the longer chain of dependent instructions */
    *before = N4 % step ? shuffle4 (sum[v], sum[v], last) : *before + shuffle4 (x, x, last);
  }
}

/* Returns the sums of the columns before the first that is added, of each lane's channel. */
ALWAYS_INLINE U4
scan_start (int step, const void *column, bool wide, int w)
{
  const uint16_t *narrow = column;
  const uint32_t *words = column;
  uint32_t sum[4] = { 0 };
  U4 before;

  for (int i = 0; i < (w - 1) * step; i += step)
    for (int c = 0; c < step; c++)
      sum[c] += wide ? words[i + c] : narrow[i + c];
  for (int l = 0; l < N4; l++)
    before[l] = sum[l % step];
  return before;
}

static inline void
scan_body (int step, const uint16_t *column, int w, int n, int32_t *s, const CfRounding *r, const CfKeep *keep,
    uint8_t *out)
{
  U4 before = scan_start (step, column, false, w);

  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4];

    scan_block (step, column, false, w, p, &before, sum);
    if (out)
      round_store8 (sum, p, n, r, keep, out, false, false);
    for (int v = 0; !out && v < 4; v++)
      *(U4u *) (void *) (s + p + v * N4) = sum[v];
  }
}

/* The same for four channels: a vector of sums is the vector before it plus the columns that have entered since, one
 * for each of its pixels, minus those that have left. */
static void
scan_pixels (const uint16_t *column, int w, int n, const CfRounding *r, const CfKeep *keep, uint8_t *out)
{
  const uint16_t *add = column + (w - 1) * 4, *sub = column - 4;
  U4 s = { 0 };

  for (int i = 0; i < w; i++)
    s += load4_2 (column + i * 4 - N4); /* reads zeros of the margin below 0 */
  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4];

    for (int v = 0; v < 4; v++) {
      Half2 change = { 0 };

      for (int i = 0; i < N4; i += 4)
        change += *(const Half2 *) (const void *) (add + p + v * N4 - i) -
            *(const Half2 *) (const void *) (sub + p + v * N4 - i);
      s += (U4) __builtin_convertvector ((HalfS2) change, S4);
      sum[v] = s;
    }
    round_store8 (sum, p, n, r, keep, out, false, false);
  }
}

static void
scan (const uint16_t *column, int w, int step, int n, int32_t *s)
{
  EACH_STEP (step, scan_body, column, w, n, s, NULL, NULL, NULL)
}

static void
scan_out (const uint16_t *column, int w, int step, int max_column, int n, const CfRounding *r, const CfKeep *keep,
    uint8_t *out)
{
  if (step == 4 && max_column * (N4 / 4) < 1 << 15)
    scan_pixels (column, w, n, r, keep, out);
  else
    EACH_STEP (step, scan_body, column, w, n, NULL, r, keep, out)
}

static inline void
scan32_out_body (int step, const uint32_t *column, int w, int n, const CfRounding *r, uint16_t *out)
{
  U4 before = scan_start (step, column, true, w);

  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4];

    scan_block (step, column, true, w, p, &before, sum);
    if (r->log2 < 0 && !r->ties)
      round_store16 (sum, p, n, r, out, false, false, false);
    else
      round_store16 (sum, p, n, r, out, r->log2 >= 0, r->ties, false);
  }
}

static void
scan32_out (const uint32_t *column, int w, int step, int n, const CfRounding *r, uint16_t *out)
{
  EACH_STEP (step, scan32_out_body, column, w, n, r, out)
}

static inline void
levels_block (const CfTap *narrow, int n_narrow, const CfTap *wide, int n_wide, int p, U4 sum[4])
{
  for (int v = 0; v < 4; v++)
    sum[v] = (U4) { 0 };
  for (int k = 0; k < n_narrow; k++)
    for (int v = 0; v < 4; v++)
      sum[v] += load4_2 ((const uint16_t *) narrow[k].data + p + v * N4);
  for (int k = 0; k < n_wide; k++)
    for (int v = 0; v < 4; v++)
      sum[v] += *(const U4u *) (const void *) ((const uint32_t *) wide[k].data + p + v * N4);
}

static void
add_levels (const CfTap *narrow, int n_narrow, const CfTap *wide, int n_wide, int n, int32_t *s)
{
  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4];

    levels_block (narrow, n_narrow, wide, n_wide, p, sum);
    for (int v = 0; v < 4; v++)
      *(U4u *) (void *) (s + p + v * N4) = sum[v];
  }
}

ALWAYS_INLINE void
add_levels_out_body (const CfTap *wide, int n_wide, int n, const CfRounding *r, uint16_t *out, bool power, bool ties,
    bool odd, bool neighbours)
{
  const CfRounding rounding = *r; /* a copy: the compiler need not reload it after stores to `out` */

  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4] = { { 0 } };

    for (int v = 0; neighbours && v < 4; v++)
      for (int k = 0; k < n_wide; k++)
        sum[v] += following ((const uint32_t *) wide[0].data + p + v * N4, k);
    if (!neighbours)
      levels_block (NULL, 0, wide, n_wide, p, sum);
    round_store16 (sum, p, n, &rounding, out, power, ties, odd);
  }
}

static void
add_levels_out (const CfTap *wide, int n_wide, int n, const CfRounding *r, uint16_t *out)
{
  if (r->log2 >= 0 || r->ties)
    add_levels_out_body (wide, n_wide, n, r, out, r->log2 >= 0, r->ties, false, false);
  else if (r->by_odd && n_wide == 3 && are_neighbours (wide, 4))
    add_levels_out_body (wide, 3, n, r, out, false, false, true, true);
  else if (r->by_odd && n_wide == 5 && are_neighbours (wide, 4))
    add_levels_out_body (wide, 5, n, r, out, false, false, true, true);
  else if (r->by_odd && n_wide == 3)
    add_levels_out_body (wide, 3, n, r, out, false, false, true, false);
  else if (r->by_odd)
    add_levels_out_body (wide, n_wide, n, r, out, false, false, true, false);
  else
    add_levels_out_body (wide, n_wide, n, r, out, false, false, false, false);
}
