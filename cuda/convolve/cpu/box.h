/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/box.h: sums of boxes out of sums of columns, by levels of doubled width, one by one or by running sums.
 * Included by simd.c. */

static void
add_shifted (const uint16_t *from, int shift, int n, uint16_t *to)
{
  for (int p = 0; p < n; p += N2)
    *(U2u *) (void *) (to + p) = *(const U2u *) (const void *) (from + p) +
        *(const U2u *) (const void *) (from + p + shift);
}

/* Returns x[l - by] in lane l, 0 in the first `by` lanes. */
ALWAYS_INLINE U4
shift_lanes (U4 x, int by)
{
  U4 order;

  for (int l = 0; l < N4; l++)
    order[l] = (uint32_t) (l < by ? l : N4 + l - by);
  return shuffle4 ((U4) { 0 }, x, order);
}

/* Loads sums of columns, of 32 bits (`wide`) or of 16, from number `at` on. */
ALWAYS_INLINE U4
load_columns (const void *column, bool wide, int at)
{
  if (wide)
    return *(const U4u *) (const void *) ((const uint32_t *) column + at);
  return load4_2 ((const uint16_t *) column + at);
}

/* Makes running sums in s, or rounds them where that is NULL. The prefix sums of a vector's differences, over the lanes
 * of a channel, take log (N4 / step) additions; then the last sum of the vector before is added. */
ALWAYS_INLINE void
scan_body (int step, const void *column, bool wide, int w, int n, int32_t *s, const CfRounding *r, const CfKeep *keep,
    void *out)
{
  uint32_t first[4] = { 0 }; /* of each channel, the sum of the columns before the first that is added */
  U4 before, last;

  for (int i = 0; i < (w - 1) * step; i += step)
    for (int c = 0; c < step; c++)
      first[c] += wide ? ((const uint32_t *) column)[i + c] : ((const uint16_t *) column)[i + c];
  for (int l = 0; l < N4; l++) {
    before[l] = first[l % step];
    last[l] = (uint32_t) (N4 - step + l % step);
  }
  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4];

    for (int v = 0; v < 4; v++) {
      U4 x = load_columns (column, wide, (w - 1) * step + p + v * N4) - load_columns (column, wide, p - step + v * N4);

      x += shift_lanes (x, step);
      if (2 * step < N4)
        x += shift_lanes (x, 2 * step);
      if (4 * step < N4)
        x += shift_lanes (x, 4 * step);
      if (8 * step < N4)
        x += shift_lanes (x, 8 * step);
      sum[v] = x + before;
      /* both give the same sums; the first has the longer chain of dependent instructions */
      before = N4 % step ? shuffle4 (sum[v], sum[v], last) : before + shuffle4 (x, x, last);
      if (s)
        *(U4u *) (void *) (s + p + v * N4) = sum[v];
    }
    if (s)
      continue;
    if (!wide)
      round_store_1 (sum, p, n, r, keep, out, false, false, true);
    else if (r->log2 < 0 && !r->ties)
      round_store_2 (sum, p, n, r, NULL, out, false, false, false);
    else
      round_store_2 (sum, p, n, r, NULL, out, r->log2 >= 0, r->ties, false);
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
    round_store_1 (sum, p, n, r, keep, out, false, false, true);
  }
}

static void
scan (const void *column, bool wide, int w, int step, int max_column, int n, int32_t *s, const CfRounding *r,
    const CfKeep *keep, void *out)
{
  if (s && wide)
    EACH_STEP (step, scan_body, column, true, w, n, s, NULL, NULL, NULL)
  else if (s)
    EACH_STEP (step, scan_body, column, false, w, n, s, NULL, NULL, NULL)
  else if (wide)
    EACH_STEP (step, scan_body, column, true, w, n, NULL, r, keep, out)
  else if (step == 4 && max_column * (N4 / 4) < 1 << 15)
    scan_pixels (column, w, n, r, keep, out);
  else
    EACH_STEP (step, scan_body, column, false, w, n, NULL, r, keep, out)
}

ALWAYS_INLINE void
add_columns_out_body (const CfTap *columns, int n_columns, int n, const CfRounding *r, uint16_t *out, bool neighbours,
    bool power, bool ties, bool scaled)
{
  const CfRounding rounding = *r; /* a copy: the compiler need not reload it after stores to `out` */

  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4] = { { 0 } };

    for (int v = 0; neighbours && v < 4; v++)
      for (int k = 0; k < n_columns; k++)
        sum[v] += following ((const uint32_t *) columns[0].data + p + v * N4, k);
    for (int k = 0; !neighbours && k < n_columns; k++)
      for (int v = 0; v < 4; v++)
        sum[v] += load_columns (columns[k].data, true, p + v * N4);
    round_store_2 (sum, p, n, &rounding, NULL, out, power, ties, scaled);
  }
}

static void
add_columns_out (const CfTap *columns, int n_columns, int n, const CfRounding *r, uint16_t *out)
{
  bool scaled = r->by_scale && !r->ties && r->log2 < 0, near = are_neighbours (columns, 4);

  if (scaled && n_columns == 3 && near)
    add_columns_out_body (columns, 3, n, r, out, true, false, false, true);
  else if (scaled && n_columns == 5 && near)
    add_columns_out_body (columns, 5, n, r, out, true, false, false, true);
  else if (scaled && n_columns == 3)
    add_columns_out_body (columns, 3, n, r, out, false, false, false, true);
  else
    EACH_ROUNDING (r, add_columns_out_body, columns, n_columns, n, r, out, false)
}
