/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/simd.h: the inner loops of the convolution on the CPU. simd.c defines them and is compiled once for
 * each instruction set. Apart from gather, scatter, gray and blend they work on rows of plain samples and know
 * nothing of image formats. In pairs of functions [0] is for samples of 8 bit, [1] for samples of 10 and 16 bit.
 *
 * A row may hold several interleaved channels: neighbours are then `step` samples apart, and n counts samples of all
 * channels. Rows in scratch memory are read and written up to CF_ROW_SLACK bytes past their end; `out` never is.
 *
 * All functions are pure loops over their arguments and thread-safe. */
#ifndef CF_CONVOLVE_CPU_SIMD_H
#define CF_CONVOLVE_CPU_SIMD_H

#include "convolve/convolve.h"

#define CF_ROW_SLACK 256
#define CF_SCAN_MARGIN 32
#define CF_SMALL_ROWS 8
#define CF_SMALL_SIZE 5 /* the largest */

/* The constants that turn sums into samples, for luma or for chroma. CfConvolution
 * in convolve.h has the formulas; a flag says that a faster form is exact, too. */
typedef struct {
  int max;
  bool ties;       /* ties can happen, and round to even */
  int64_t add, d2; /* d2: 2 D; UNSHARP: 256 D */
  int64_t top;     /* the largest numerator that does not saturate */
  double inverse;  /* 1 / d2 */
  int log2;        /* of d2; -1: d2 is not a power of two */
  bool narrow;     /* 32 bits suffice (round32, unsharp32) */
  uint32_t magic;  /* narrow: n / d2 = (n * magic >> 32) >> shift */
  int shift;
  /* Narrow, too: n / d2 = S scale + offset, truncated, with scale 2 / d2 and offset (add + 1/2) / d2. With
   * m = max + 1 and |add| <= d2 m / 4 the roundings of scale, product, offset and sum, each at most 2^-24 of them, add
   * up to less than 3.8 m / 2^24 for quotients below m (larger ones saturate anyway). d2 m <= 2^21, so (n + 1/2) / d2
   * is at least 1 / (2 d2) >= 4 m / 2^24 away from any integer.
   * 16 bit, an odd n, |add| <= d2 < 80: n / d2 is at least 1 / d2 > 3.1 m / 2^24 away, and offset is add / d2. */
  bool by_scale;
  float scale, offset;
  /* 16 bit, sums of upper and of lower bytes: S = 256 upper + lower. D = 2^log2_bytes and the sum of the weights are at
   * most 256, so 16 bits hold both sums, and the rounded quotient is
   * (upper << (8 - log2_bytes)) + ((lower + add_bytes) >> log2_bytes), at most 65535.
   * UNSHARP with an amount of 1: 2 x minus that quotient. */
  int log2_bytes, add_bytes;
  /* The same for D above 2^16: (S + add_halves) >> log2_halves; 0: not possible. */
  int log2_halves;
  int64_t add_halves;
  uint32_t magic16; /* 16 bits hold n: n / D = (n * magic16 >> 16) >> shift16 */
  int shift16;
  int amount; /* UNSHARP */
  int up;     /* UNSHARP at 8 bit: S << up is S / D in units of 2^-16 */
  /* UNSHARP without the power of two that A and 256 have in common, where 32 bits hold the numerator:
   * x + ((gain (D x - S) + add_reduced) >> log2_reduced), D = 2^log2_d. */
  bool is_reduced;
  int gain, add_reduced, log2_reduced, log2_d;
  /* With an integer amount 16 bits may suffice: (1 + gain) x - ((gain S + add16) >> log2_reduced). */
  int add16;
} CfRounding;

/* A tap of a kernel: the address of the sample (or sum) that it weights for output 0, and weight[0]. A tap for pairs
 * has two 16-bit weights in a word, the lower one for the lower half of a pair: weight[0] for the first of two rows of
 * outputs, weight[1] for the second. */
typedef struct {
  const void *data;
  int32_t weight[2];
} CfTap;

/* The bytes of 4-byte pixels that an output row takes from the input row
 * `src`: those that are set in `mask`; 0: none. */
typedef struct {
  const uint8_t *src;
  uint32_t mask;
} CfKeep;

/* The arguments for a dense kernel that tile.c takes apart: CF_FAST_ROWS rows of outputs for each of 2^levels
 * phases, out of 3^levels streams of `height + CF_FAST_ROWS - 1` rows of pairs of neighbours, each with a kernel of
 * `height` rows of `pairs` pairs of weights. */
#define CF_FAST_LEVELS 3
#define CF_FAST_MAX_STREAMS 27 /* 3^CF_FAST_LEVELS */
#define CF_FAST_ROWS 4
#define CF_FAST_HEIGHT 8
static inline int
cf_fast_streams (int levels)
{
  return levels == 1 ? 3 : levels == 2 ? 9 : 27;
}

typedef struct {
  int levels, height, pairs;   /* levels: 1 .. CF_FAST_LEVELS, height: 1 .. CF_FAST_HEIGHT */
  int step;                    /* distance of neighbours, in samples */
  const uint32_t *const *rows; /* all rows of stream 0, then of stream 1, ... */
  const uint32_t *weights;     /* in the order stream, column, row */
} CfFast;

/* Kernels of `small`: ones; 1 2 1 or 1 4 6 4 1 both ways; an unsharp mask with the latter (add16). */
typedef enum { CF_SMALL_BOX, CF_SMALL_BINOMIAL, CF_SMALL_SHARPEN, CF_N_SMALL } CfSmall;

typedef struct {
  /* ---- between images and rows: n samples, `step` samples apart in the image */
  /* Reads words, shifts them right by `shift` and clamps them to `max`; scatter shifts left. */
  void (*gather[2]) (const void *from, int step, int n, void *row, int shift, int max);
  void (*scatter[2]) (void *to, int step, int n, const void *row, int shift);
  /* Converts R, G and B of 8 bit to gray. */
  void (*gray) (const uint8_t *const from[3], int step, int n, uint8_t *row, bool luma);
  /* Writes n pixels of 4 bytes: the bytes set in the mask `keep` come from `from`, the others from `row`, which holds
   * pixels, or one byte per pixel (`spreads`). */
  void (*blend) (uint8_t *to, const uint8_t *from, uint32_t keep, int n, const uint8_t *row, bool spreads);

  /* ---- dense: sums of 32 bits, correct modulo 2^32 */
  /* Pairs the samples of two rows, those of `a` in the lower halves. `signed_` subtracts
   * 32768 from 16-bit samples: products of pairs are of signed 16-bit numbers. */
  void (*pair[2]) (const void *a, const void *b, int n, uint32_t *pairs, bool signed_);
  /* Pairs the upper and the lower bytes of the samples. */
  void (*pair_bytes) (const uint16_t *a, const uint16_t *b, int n, uint32_t *upper, uint32_t *lower);
  /* Makes two rows of sums: s = initial + (high << 16, unless NULL) + the sum over taps of products of pairs with pairs
   * of weights. s NULL: rounds them to 8-bit samples, as round32. */
  void (*products) (const CfTap *taps, int n_taps, int n, int32_t initial, int32_t *const high[2], int32_t *const s[2],
      const CfRounding *r, const CfKeep keep[2], uint8_t *const out[2]);
  /* Makes a row of n pairs for each of 3^levels streams out of 2^(levels + 1) - 1 rows. */
  void (*make_streams) (const uint32_t *const *rows, int levels, int n, uint32_t *const *to);
  /* Makes the sums of CF_FAST_ROWS << levels rows. */
  void (*fast) (const CfFast *f, int n, int32_t *const *s);
  /* s = the sum over taps of samples times weights, in 64 bits */
  void (*wide[2]) (const CfTap *taps, int n_taps, int n, int64_t *s);
  /* s = upper factor + lower + offset */
  void (*combine) (const int32_t *upper, const int32_t *lower, int n, int factor, int64_t offset, int64_t *s);

  /* ---- separable: horizontal pass along a row, then vertical pass over rows of its sums */
  /* sums = the sum of row[i * step] c[i], modulo 2^16 or 2^32; `symmetric`: c[i] = c[w - 1 - i] */
  void (*horizontal16[2]) (const void *row, int w, int step, const int32_t *c, bool symmetric, int n, uint16_t *sums);
  void (*horizontal32[2]) (const void *row, int w, int step, const int32_t *c, bool symmetric, int n, uint32_t *sums);
  /* The same for samples of 2 bytes minus 32768, by products of pairs: initial + the sum, modulo 2^32. Weights are
   * signed 16-bit numbers. NULL, like the two functions below, where products of pairs are not faster. */
  void (
      *horizontal_words) (const uint16_t *x, int w, int step, const int32_t *c, int32_t initial, int n, int32_t *sums);
  /* Pairs two rows of signed sums: their upper halves in `upper`, their lower halves minus 32768 in `lower`. */
  void (*split_pairs) (const int32_t *a, const int32_t *b, int n, uint32_t *upper, uint32_t *lower);
  /* out = (upper 2^16 + lower + offset + add_halves) >> log2_halves, for a sum of at least 0 and below 2^48. With x
   * (an unsharp mask with an amount of 1 of the samples x) out = 2 x minus that. x may be NULL. */
  void (*halves_out) (const int32_t *upper, const int32_t *lower, int n, int64_t offset, const CfRounding *r,
      const uint16_t *x, uint16_t *out);
  /* Weighted sum of h rows of horizontal sums, a tap for each row. s NULL: rounds it to 2-byte samples, as round32. */
  void (*vertical32) (const CfTap *rows, int h, int n, int32_t *s, const CfRounding *r, uint16_t *out);
  void (*vertical64) (const CfTap *rows, int h, int n, bool is_signed, int64_t *s);
  /* The same with rounding, all of it in 16 bits: sums plus the rounding term are below 2^16. */
  void (*vertical16[2]) (const CfTap *rows, int h, int n, const CfRounding *r, const CfKeep *keep, void *out);

  /* Sums of the upper and of the lower bytes of 16-bit samples: 2 n sums in a row, a vector of each in turn. The
   * vertical pass rounds by log2_bytes; x as in halves_out. */
  void (*horizontal_upper_lower) (const uint16_t *x, int w, int step, const int32_t *c, bool symmetric, int n,
      uint16_t *sums);
  void (*vertical_upper_lower) (const CfTap *rows, int h, int n, const CfRounding *r, const uint16_t *x, uint16_t *out);

  /* Both passes for 8-bit samples. Between them sums are in the order of 16-byte lanes, which is private to them. */
  void (*horizontal8) (const void *row, int w, int step, const int32_t *c, bool symmetric, int n, uint16_t *sums);
  void (*vertical8) (const CfTap *rows, int h, int n, const CfRounding *r, const CfKeep *keep, void *out);
  /* Both passes and the rounding for CF_SMALL_ROWS rows of outputs out of size + CF_SMALL_ROWS - 1 rows of 8-bit
   * samples. Only where cf_small_fits (). NULL in builds without byte lanes. */
  void (*small[CF_N_SMALL]) (const uint8_t *const *rows, int size, int step, int n, const CfRounding *r,
      const CfKeep *keep, uint8_t *const *out);

  /* ---- box: a column is the sum of h samples, level l the sum of 2^l neighbouring columns */
  /* column += add - sub, in 16 or 32 bits; sub may be NULL */
  void (*update_columns16[2]) (const void *add, const void *sub, int n, uint16_t *column);
  void (*update_columns32[2]) (const void *add, const void *sub, int n, uint32_t *column);
  /* to[i] = from[i] + from[i + shift] */
  void (*add_shifted) (const uint16_t *from, int shift, int n, uint16_t *to);
  /* The sum of rows of 32 bits, rounded to 2-byte samples with narrow rounding. */
  void (*add_columns_out) (const CfTap *columns, int n_columns, int n, const CfRounding *r, uint16_t *out);

  /* s = the sums of w columns of 32 bits (`wide`) or of 16: each is the sum before it plus the column that enters minus
   * the column that leaves. CF_SCAN_MARGIN zeros precede `column`; `max_column` is the largest possible one. s NULL:
   * rounds them, `wide` to 2-byte samples with narrow rounding, else to 8-bit samples, by_scale and without ties. */
  void (*scan) (const void *column, bool wide, int w, int step, int max_column, int n, int32_t *s, const CfRounding *r,
      const CfKeep *keep, void *out);

  /* ---- mosaic, privacy: words out = ((256 - f) a + f b) / 65536, rounded half up, << shift; a, b < 2^24 */
  void (*between[2]) (const uint32_t *a, const uint32_t *b, uint32_t f, int n, int shift, void *out);

  /* ---- magnitude: r = the rounded length of the gradient, of three rows that begin one pixel to the left */
  void (*gradient[2]) (const void *const row[3], int step, int n, int m, int middle, int32_t *scratch, int32_t *r);

  /* ---- rounding: sums to samples; round32 is for narrow rounding */
  void (*round32[2]) (const int32_t *s, int n, const CfRounding *r, void *out);
  void (*round64[2]) (const int64_t *s, int n, const CfRounding *r, void *out);
  /* The same for an unsharp mask of the input samples x: without 64-bit numbers at 8 bit; where is_reduced; any. */
  void (*unsharp32) (const int32_t *s, const uint8_t *x, int n, const CfRounding *r, uint8_t *out);
  void (*unsharp_reduced[2]) (const int32_t *s, const void *x, int n, const CfRounding *r, void *out);
  void (*unsharp64[2]) (const int64_t *s, const void *x, int n, const CfRounding *r, void *out);
} CfConvolveSimd;

/* Returns whether `small` can take a box or these weights, for sums that 16 bits hold and that do not saturate: a box
 * by `magic16`, weights of 1 2 1 or 1 4 6 4 1 by a power of two. */
static inline bool
cf_small_fits (const int32_t *row, const int32_t *col, bool box, int w, int h, const CfRounding *r)
{
  static const int32_t binomial[2][CF_SMALL_SIZE] = { { 1, 2, 1 }, { 1, 4, 6, 4, 1 } };
  int sum;

  if (w != h || (w != 3 && w != CF_SMALL_SIZE) || r->ties || box != (r->log2 < 0))
    return false;
  for (int i = 0; i < w && !box; i++)
    if (row[i] != binomial[w > 3][i] || col[i] != binomial[w > 3][i])
      return false;
  sum = box ? w : 1 << (w - 1);
  return 2 * 255 * sum * sum + r->add < 256 * r->d2;
}

extern const CfConvolveSimd cf_convolve_simd_avx512bw, cf_convolve_simd_avx2, cf_convolve_simd_sse4_1,
    cf_convolve_simd_baseline;

#endif
