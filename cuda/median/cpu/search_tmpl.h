/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/search_tmpl.h: the search in a sorted list (sorted.c). simd.c includes it once per type T of positions. */

typedef unsigned T N (Positions) __attribute__ ((vector_size (V_SIZE), aligned (sizeof (T)), may_alias));
typedef signed T N (Places) __attribute__ ((vector_size (V_SIZE)));
typedef int8_t N (Flags) __attribute__ ((vector_size (V_SIZE / sizeof (T)), aligned (1), may_alias));

/* Returns which samples of a block are in the window of output x, a bit each. Positions wrap around: what is in the
 * window is among the w and h smallest numbers of T, which are negative. */
ALWAYS_INLINE uint64_t
N (in_window) (const CfMedianSearch *s, int block, int x)
{
  const unsigned T *px = (const unsigned T *) s->x + CF_MEDIAN_LISTED * (size_t) block;
  const unsigned T *py = (const unsigned T *) s->y + CF_MEDIAN_LISTED * (size_t) block;
  const int least = -(1 << (8 * SIZE - 1));
  const unsigned T left = (unsigned T) (x - least), top = (unsigned T) (s->top * s->depth - least);
  const signed T w = (signed T) (s->w + least), h = (signed T) (s->h + least);
  uint64_t in = 0;

  for (int i = 0; i < CF_MEDIAN_LISTED; i += (int) (V_SIZE / sizeof (T))) {
    const N (Places) at_x = (N (Places)) (*(const N (Positions) *) (px + i) - left);
    const N (Places) at_y = (N (Places)) (*(const N (Positions) *) (py + i) - top);

#if defined __AVX512BW__
    in |= (uint64_t) (N (mask_below) (at_x, w) & N (mask_below) (at_y, h)) << i;
#else
    const N (Flags) flags = __builtin_convertvector ((at_x < w) & (at_y < h), N (Flags));

    in |= mask_of (&flags, (int) sizeof flags) << i;
#endif
  }
  return in;
}

static void
N (search) (CfMedianSearch *search)
{
  static const int16_t none[CF_MEDIAN_COLUMN] = { [0 ... CF_MEDIAN_COLUMN - 1] = INT16_MAX };
  const CfMedianSearch s = *search; /* which no result can be part of */
  const int16_t *column = s.blocks + s.top * s.depth, *end = column + s.pitch * (size_t) s.w;
  int block = s.block, below = 0;

  for (int x = 0; x < s.w; x++)
    below += change (column + s.pitch * (size_t) x, none, s.h, block);
  for (int x = 0;; x++, column += s.pitch, end += s.pitch) {
    uint64_t in;
    int more;

    while (below > s.rank)
      below -= __builtin_popcountll (N (in_window) (&s, --block, x));
    while (below + (more = __builtin_popcountll (in = N (in_window) (&s, block, x))) <= s.rank) {
      below += more;
      block++;
    }
    s.result[x] = (uint32_t) (CF_MEDIAN_LISTED * block + nth_bit (in, s.rank - below));
    if (x == 0)
      search->block = block;
    if (x == s.n - 1)
      return;
    below += change (end, column, s.h, block);
  }
}
