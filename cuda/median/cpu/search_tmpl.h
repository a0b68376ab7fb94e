/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/search_tmpl.h: the search in a sorted list (sorted.c). simd.c includes it once per type T of positions. */

typedef T N (Positions) __attribute__ ((vector_size (V_SIZE), aligned (sizeof (T)), may_alias));
typedef int8_t N (Flags) __attribute__ ((vector_size (V_SIZE / sizeof (T)), aligned (1), may_alias));

/* Finds which samples of a block are in the window of output x, a bit each, and returns their number. */
ALWAYS_INLINE int
N (in_window) (const CfMedianSearch *s, int block, int x, uint64_t in[CF_MEDIAN_LISTED / 64])
{
  const T *px = (const T *) s->x + CF_MEDIAN_LISTED * (size_t) block;
  const T *py = (const T *) s->y + CF_MEDIAN_LISTED * (size_t) block;
  const T left = (T) x, top = (T) s->top, w = (T) s->w, h = (T) s->h;
  int n = 0;

  for (int j = 0; j < CF_MEDIAN_LISTED / 64; j++, px += 64, py += 64) {
    uint8_t flags[64];

    for (int i = 0; i < 64; i += (int) (V_SIZE / sizeof (T)))
      *(N (Flags) *) (flags + i) = __builtin_convertvector (
          (*(const N (Positions) *) (px + i) - left < w) & (*(const N (Positions) *) (py + i) - top < h), N (Flags));
    in[j] = mask_of (flags);
    n += __builtin_popcountll (in[j]);
  }
  return n;
}

static void
N (search) (CfMedianSearch *s)
{
  static const uint16_t none[CF_MEDIAN_COLUMN] = { [0 ... CF_MEDIAN_COLUMN - 1] = 0xffff };
  const int n = s->h * s->depth;
  const uint16_t *column = s->blocks + s->top * s->depth, *end = column + s->pitch * (size_t) s->w;
  int block = s->block, below = 0;

  for (int x = 0; x < s->w; x++)
    below += change (column + s->pitch * (size_t) x, none, n, block);
  for (int x = 0;; x++, column += s->pitch, end += s->pitch) {
    uint64_t in[CF_MEDIAN_LISTED / 64];
    int more, rank, j = 0;

    while (below > s->rank)
      below -= N (in_window) (s, --block, x, in);
    while (below + (more = N (in_window) (s, block, x, in)) <= s->rank) {
      below += more;
      block++;
    }
    for (rank = s->rank - below; j < CF_MEDIAN_LISTED / 64 - 1 && rank >= __builtin_popcountll (in[j]); j++)
      rank -= __builtin_popcountll (in[j]);
    s->result[x] = (uint32_t) (CF_MEDIAN_LISTED * block + 64 * j + nth_bit (in[j], rank));
    if (x == 0)
      s->block = block;
    if (x == s->n - 1)
      return;
    below += change (end, column, n, block);
  }
}
