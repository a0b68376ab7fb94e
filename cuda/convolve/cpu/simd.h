/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve/cpu/simd.h: the inner loops of the convolution on the CPU, compiled once
 * an instruction set from simd.c. They work on rows of plain samples,
 * never on pictures' layouts, but for gather, scatter and their like. [0] is
 * for samples of 8 bit, [1] for 10 and 16.
 *
 * Rows may hold several channels interleaved: then neighbours are `step` apart
 * and nothing else is different. Rows in scratch memory are read and written
 * up to CF_ROW_SLACK bytes past their end; `out` never is. */
#ifndef CF_CONVOLVE_CPU_SIMD_H
#define CF_CONVOLVE_CPU_SIMD_H

#include "convolve/convolve.h"

#define CF_ROW_SLACK 256
#define CF_BEFORE_SCAN 32

/* How sums become samples, for luma or for chroma: see CfConvolution. */
typedef struct {
  int max;
  bool ties;       /* ties can happen and go to the even one */
  int64_t add, d2; /* 2 D; UNSHARP: 256 D */
  int64_t top;     /* the largest numerator that is not saturated */
  double inverse;  /* 1 / d2 */
  int log2;        /* of d2; -1: it is no power of two */
  uint32_t magic;  /* narrow: n / d2 = (n * magic >> 32) >> shift */
  int shift;
  /* Narrow, too: n / d2 = (n + 1/2) inverse_float, cut off. n is below 2^23, so
   * that is exact but for the two roundings of inverse and product, each less
   * than 2^-24 of a quotient that is max + 1 at most (larger ones are saturated
   * anyhow). The true one is 1 / (2 d2) away from any integer, and
   * d2 (max + 1) <= 2^21. */
  bool by_float;
  float inverse_float;
  /* Narrower still, |add| <= d2: n / d2 = S scale + offset, cut off, with scale
   * 2 / d2 and offset (add + 1/2) / d2. Below max + 1 the roundings of scale,
   * product, offset and sum are together less than 780 / 2^24, and 1 / (2 d2) is
   * more than that up to a d2 of 10000. */
  bool by_scale;
  float scale, offset;
  /* 16 bit: 2 S + add is odd and d2, below 80, even, so the quotient is 1 / d2 or more away from any integer, and with
   * |add| <= d2 it is S scale + offset_odd, cut off: the roundings of scale, product and sum, each 2^-24 of 65537 at
   * most (a larger one is saturated anyhow), and of the offset are together less than 1 / 84. */
  bool by_odd;
  float offset_odd;
  /* 16 bit, each byte by itself: S = 256 upper + lower. D = 2^log2_bytes and the weights' sum are 256 at most, so 16 bits
   * hold both, and S / D = (upper << (8 - log2_bytes)) + ((lower + rest_bytes) >> log2_bytes), which is at most 65535.
   * UNSHARP with an amount of 1: twice x less that. */
  int log2_bytes, rest_bytes;
  /* The same of D = 2^log2_halves above 2^16. */
  int log2_halves;
  int64_t rest_halves;
  uint32_t magic16; /* all in 16 bits: n / D = (n * magic16 >> 16) >> shift16 */
  int shift16;
  int amount;      /* UNSHARP */
  int up;          /* UNSHARP at 8 bit: S << up is over 2^16 */
  /* UNSHARP, where 32 bits hold it: x + ((part (D x - S) + rest) >> rest_log2), D = 2^whole_log2. */
  bool is_part;
  int part, rest, rest_log2, whole_log2;
  /* With an amount that is an integer 16 bits may do: (1 + part) x - ((part S + rest16) >> rest_log2). */
  int rest16;
  int64_t factor;  /* MAGNITUDE */
} CfRounding;

/* A tap of a kernel: where the row of what it weighs begins for output 0, and
 * the weight. */
typedef struct {
  const void *at;
  int32_t weight;
} CfTap;

/* Bytes that an output keeps of its input, where pixels have 4: those that are
 * set in `bytes`; 0: none. */
typedef struct {
  const uint8_t *from;
  uint32_t bytes;
} CfKeep;

/* What is done about a dense kernel in fast_fir.c, for CF_FAST_ROWS rows of outputs of each of 2^levels phases:
 * 3^levels streams of `height + CF_FAST_ROWS - 1` rows of pairs of neighbours; as many kernels of `height` rows of
 * `pairs` pairs of weights. */
#define CF_FAST_LEVELS 3
#define CF_FAST_MOST 27 /* streams */
#define CF_FAST_ROWS 4
#define CF_FAST_HEIGHT 8
typedef struct {
  int levels, height, pairs;   /* 1 .. CF_FAST_LEVELS, 1 .. CF_FAST_HEIGHT */
  int step;                    /* from neighbour to neighbour */
  const uint32_t *const *rows; /* stream by stream */
  const uint32_t *weights;     /* the same, then column by column */
} CfFast;

/* The same of pairs: weights of 16 bit, the low one for the low half, for two
 * rows of outputs at once. */
typedef struct {
  const void *at;
  int32_t weight[2];
} CfPairTap;

typedef struct {
  /* ---- between pictures and rows: n samples, in the picture `step` apart */
  void (*gather[2]) (const void *from, int step, int n, void *row, int shift, int max);
  void (*scatter[2]) (void *to, int step, int n, const void *row, int shift);
  /* R, G and B of 8 bit to gray. */
  void (*gray) (const uint8_t *const from[3], int step, int n, uint8_t *row, bool luma);
  /* n pixels of 4 bytes: the bytes in `keep` from `from`, the others from the
   * row, which has pixels (blend) or one byte for each pixel (spread). */
  void (*blend) (uint8_t *to, const uint8_t *from, uint32_t keep, int n, const uint8_t *row);
  void (*spread) (uint8_t *to, const uint8_t *from, uint32_t keep, int n, const uint8_t *row);

  /* ---- dense: sums of 32 bits, correct modulo 2^32 */
  /* Two rows side by side, samples of `a` in the low halves; 16-bit ones less
   * 32768 (the signed numbers that products of 16 bits want) if `signed_`. */
  void (*pair[2]) (const void *a, const void *b, int n, uint32_t *pairs, bool signed_);
  /* The same of the samples' upper and lower bytes. */
  void (*pair_bytes) (const uint16_t *a, const uint16_t *b, int n, uint32_t *upper, uint32_t *lower);
  /* Two rows of sums: s = start + the sum over taps of pairs times pairs of
   * weights; with `high` the sum starts from high << 16 as well. */
  void (*products) (const CfPairTap *taps, int n_taps, int n, int32_t start, int32_t *const high[2],
      int32_t *const s[2]);
  /* The same to the end, samples of 8 bit (see round32): for rounding that
   * cf_rounds_at_once () likes. */
  void (*products_out) (const CfPairTap *taps, int n_taps, int n, int32_t start, int32_t *const high[2],
      const CfRounding *r, const CfKeep keep[2], uint8_t *const out[2]);
  /* A row of n pairs for each of 3^levels streams, out of 2^(levels + 1) - 1 rows. */
  void (*differ) (const uint32_t *const *rows, int levels, int n, uint32_t *const *to);
  /* The sums of CF_FAST_ROWS << levels rows. */
  void (*fast) (const CfFast *f, int n, int32_t *const *s);
  /* s = the sum over taps of samples times weights in 64 bits. */
  void (*wide[2]) (const CfTap *taps, int n_taps, int n, int64_t *s);
  /* s = upper factor + lower + more */
  void (*combine) (const int32_t *upper, const int32_t *lower, int n, int factor, int64_t more, int64_t *s);
  void (*widen) (const int32_t *s32, int n, int64_t *s);

  /* ---- separable: across (along a row), then down */
  /* sum of row[i * step] c[i], modulo 2^16 or 2^32; `even`: c is symmetric */
  void (*across16[2]) (const void *row, int w, int step, const int32_t *c, bool even, int n, uint16_t *sums);
  void (*across32[2]) (const void *row, int w, int step, const int32_t *c, bool even, int n, uint32_t *sums);
  /* Of samples of 16 bit less 32768, by products of pairs: weights are signed 16 bits; start + the sum, modulo 2^32.
   * NULL, as the two below, where that is no faster. */
  void (*across_words) (const uint16_t *x, int w, int step, const int32_t *c, int32_t start, int n, int32_t *sums);
  /* Two rows of signed sums side by side, as two rows of pairs: their upper halves, and their lower ones less 32768. */
  void (*split_pairs) (const int32_t *a, const int32_t *b, int n, uint32_t *upper, uint32_t *lower);
  /* out = (upper 2^16 + lower + more + rest_halves) / 2^log2_halves, of what is not negative and below 2^48; of an
   * unsharp mask with an amount of 1 and of samples x, if there are any, twice x less that. */
  void (*halves_out) (const int32_t *upper, const int32_t *lower, int n, int64_t more, const CfRounding *r,
      const uint16_t *x, uint16_t *out);
  /* From the sums of h rows to those of the kernel; taps hold rows. */
  void (*down32) (const CfTap *rows, int h, int n, int32_t *s);
  /* The same to the end, samples of 2 bytes: narrow rounding. */
  void (*down32_out) (const CfTap *rows, int h, int n, const CfRounding *r, uint16_t *out);
  void (*down64) (const CfTap *rows, int h, int n, bool is_signed, int64_t *s);
  /* In 16 bits to the end: all sums, and what rounding adds, are below 2^16. */
  void (*down16[2]) (const CfTap *rows, int h, int n, const CfRounding *r, const CfKeep *keep, void *out);

  /* Of samples of 16 bit, sums of their upper and lower bytes: 2 n in a row, interleaved by vectors; and those to the
   * end (log2_bytes), of an unsharp mask of samples x if there are any. */
  void (*across_upper_lower) (const uint16_t *x, int w, int step, const int32_t *c, bool even, int n, uint16_t *sums);
  void (*down_upper_lower) (const CfTap *rows, int h, int n, const CfRounding *r, const uint16_t *x, uint16_t *out);

  /* Both for samples of 8 bit alone; what they hand on is in an order of their own. */
  void (*across8) (const void *row, int w, int step, const int32_t *c, bool even, int n, uint16_t *sums);
  void (*down8) (const CfTap *rows, int h, int n, const CfRounding *r, const CfKeep *keep, void *out);
  /* The same of an unsharp mask (rest16) of samples x. NULL where there is none. */
  void (*sharpen8) (const CfTap *rows, int h, int n, const CfRounding *r, const uint8_t *x, const CfKeep *keep,
      uint8_t *out);

  /* ---- box: columns are sums of h samples, levels of 2, 4, 8 .. columns */
  /* column += add - sub (or NULL), in 16 or 32 bits */
  void (*column16[2]) (const void *add, const void *sub, int n, uint16_t *column);
  void (*column32[2]) (const void *add, const void *sub, int n, uint32_t *column);
  /* to[i] = from[i] + from[i + shift], of 16 bits (`wide`: to 32) or of 32 */
  void (*twice16) (const uint16_t *from, int shift, int n, void *to, bool wide);
  void (*twice32) (const uint32_t *from, int shift, int n, uint32_t *to);
  /* The sums of rows of 16 bits and rows of 32. */
  void (*add_levels) (const CfTap *narrow, int n_narrow, const CfTap *wide, int n_wide, int n, int32_t *s);
  /* The same to the end of rows of 32 alone, samples of 2 bytes: narrow rounding. */
  void (*add_levels_out) (const CfTap *wide, int n_wide, int n, const CfRounding *r, uint16_t *out);

  /* s = the sums of w columns, each the one before it plus what comes and less
   * what leaves; `column` has CF_BEFORE_SCAN zeros before it. scan_out makes samples of
   * 8 bit of them, by_scale and without ties; `most` is the largest column. */
  void (*scan) (const uint16_t *column, int w, int step, int n, int32_t *s);
  void (*scan_out) (const uint16_t *column, int w, int step, int most, int n, const CfRounding *r,
      const CfKeep *keep, uint8_t *out);

  /* ---- magnitude: of three rows that begin a sample to the left */
  void (*gradient[2]) (const void *const row[3], int step, int n, int m, int middle, int32_t *scratch, int32_t *r);

  /* ---- rounding */
  void (*round32[2]) (const int32_t *s, int n, const CfRounding *r, void *out);
  void (*round64[2]) (const int64_t *s, int n, const CfRounding *r, void *out);
  /* x: the input's samples */
  void (*unsharp32) (const int32_t *s, const uint8_t *x, int n, const CfRounding *r, uint8_t *out);
  void (*unsharp_part[2]) (const int32_t *s, const void *x, int n, const CfRounding *r, void *out);
  void (*unsharp64[2]) (const int64_t *s, const void *x, int n, const CfRounding *r, void *out);
} CfConvolveSimd;

/* Of narrow rounding: not with the multiplication of 64 bits. */
static inline bool
cf_rounds_at_once (const CfRounding *r)
{
  return r->log2 >= 0 || (r->by_scale && !r->ties);
}

extern const CfConvolveSimd cf_convolve_simd_avx512bw, cf_convolve_simd_avx2, cf_convolve_simd_sse4_1,
    cf_convolve_simd_baseline;

#endif
