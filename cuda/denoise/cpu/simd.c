/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * denoise/cpu/simd.c: the denoiser's inner loops for one instruction set (CF_ISA), in lanes of 16 bits; simd.h says
 * what they do. */
#include "simd.h"
#include "core/simd.h"

#if defined __AVX512BW__
#include <immintrin.h>
#define V_SIZE 64
#define V_INTRINSIC(name) _mm512_##name
typedef __m512i V;
#elif defined __AVX2__
#include <immintrin.h>
#define V_SIZE 32
#define V_INTRINSIC(name) _mm256_##name
typedef __m256i V;
#elif defined __SSE2__
#ifdef __SSE4_1__
#include <smmintrin.h>
#else
#include <emmintrin.h>
#endif
#define V_SIZE 16
#define V_INTRINSIC(name) _mm_##name
typedef __m128i V;
#else
#define V_SIZE 16
#endif

/* Vectors of signed and of unsigned lanes; those with u at any address. */
typedef int16_t S2 __attribute__ ((vector_size (V_SIZE), may_alias));
typedef uint16_t U2 __attribute__ ((vector_size (V_SIZE), may_alias));
typedef uint32_t U4 __attribute__ ((vector_size (V_SIZE), may_alias));
typedef S2 S2u __attribute__ ((aligned (2)));
typedef U4 U4u __attribute__ ((aligned (4)));
#define N2 (V_SIZE / 2)
#define V_CONSTANT(number) ((S2) { 0 } + (int16_t) (number))

/* A table of 16 values, for look_up. */
#if defined __AVX512BW__
typedef __m512i Table;
#elif defined __SSE4_1__ || defined __AVX2__
typedef struct {
  S2 low, high; /* bytes of the values, in each lane of 16 bytes */
} Table;
#else
typedef const uint16_t *Table;
#endif

#if defined __SSE2__
#define multiply_high(a, b) ((S2) V_INTRINSIC (mulhi_epu16) ((V) (a), (V) (b)))
#define least(a, b) ((S2) V_INTRINSIC (min_epi16) ((V) (a), (V) (b)))
#define most(a, b) ((S2) V_INTRINSIC (max_epi16) ((V) (a), (V) (b)))
#define add_clamped(a, b) ((S2) V_INTRINSIC (adds_epi16) ((V) (a), (V) (b)))
#define subtract_to_0(a, b) ((S2) V_INTRINSIC (subs_epu16) ((V) (a), (V) (b)))
#if V_SIZE > 16 || defined __SSE4_1__
#define multiply_round(a, b) ((S2) V_INTRINSIC (mulhrs_epi16) ((V) (a), (V) (b)))
#define absolute(a) ((S2) V_INTRINSIC (abs_epi16) ((V) (a)))
#else
#define absolute(a) most (a, -(a))

/* (a b + 2^14) >> 15 from the halves of the product: its bits 15 .. 30, rounded up by bit 14. */
ALWAYS_INLINE S2
multiply_round (S2 a, S2 b)
{
  const S2 high = (S2) _mm_mulhi_epi16 ((__m128i) a, (__m128i) b);
  const U2 low = (U2) a * (U2) b;

  return (S2) (((U2) high << 1) + (low >> 15) + (low >> 14 & 1));
}
#endif
#else
#define EACH_LANE(result, term) \
  for (int i = 0; i < N2; i++) \
  result[i] = (int16_t) (term)

ALWAYS_INLINE S2
multiply_round (S2 a, S2 b)
{
  S2 r;

  EACH_LANE (r, (a[i] * b[i] + 16384) >> 15);
  return r;
}

ALWAYS_INLINE S2
multiply_high (S2 a, S2 b)
{
  S2 r;

  EACH_LANE (r, (uint32_t) (uint16_t) a[i] * (uint16_t) b[i] >> 16);
  return r;
}

ALWAYS_INLINE S2
least (S2 a, S2 b)
{
  return (a & (a < b)) | (b & ~(a < b));
}

ALWAYS_INLINE S2
most (S2 a, S2 b)
{
  return (b & (a < b)) | (a & ~(a < b));
}

ALWAYS_INLINE S2
add_clamped (S2 a, S2 b)
{
  S2 r;

  EACH_LANE (r, a[i] + b[i] > 32767 ? 32767 : a[i] + b[i] < -32768 ? -32768 : a[i] + b[i]);
  return r;
}

ALWAYS_INLINE S2
subtract_to_0 (S2 a, S2 b)
{
  return (S2) (((U2) a - (U2) b) & (U2) ((U2) a > (U2) b));
}

#define absolute(a) most (a, -(a))
#endif

/* Returns (CF_DENOISE_NEAR near + CF_DENOISE_FAR far) >> 10. */
ALWAYS_INLINE S2
weigh (S2 near, S2 far)
{
#if defined __SSE2__
  const V weights = V_INTRINSIC (set1_epi32) (CF_DENOISE_FAR << 16 | CF_DENOISE_NEAR);
  const V low = V_INTRINSIC (madd_epi16) (V_INTRINSIC (unpacklo_epi16) ((V) near, (V) far), weights);
  const V high = V_INTRINSIC (madd_epi16) (V_INTRINSIC (unpackhi_epi16) ((V) near, (V) far), weights);

  return (S2) V_INTRINSIC (packs_epi32) (V_INTRINSIC (srai_epi32) (low, 10), V_INTRINSIC (srai_epi32) (high, 10));
#else
  S2 r;

  EACH_LANE (r, (CF_DENOISE_NEAR * near[i] + CF_DENOISE_FAR * far[i]) >> 10);
  return r;
#endif
}

/* ---- tables --------------------------------------------------------------- */

ALWAYS_INLINE Table
make_table (const uint16_t value[16])
{
#if defined __AVX512BW__
  return _mm512_broadcast_i64x4 (_mm256_loadu_si256 ((const void *) value));
#elif defined __SSE4_1__ || defined __AVX2__
  Table t;
  uint8_t *low = (uint8_t *) &t.low, *high = (uint8_t *) &t.high;

  for (int i = 0; i < V_SIZE; i++) {
    low[i] = (uint8_t) value[i % 16];
    high[i] = (uint8_t) (value[i % 16] >> 8);
  }
  return t;
#else
  return value;
#endif
}

/* Returns the values at the indices 0 .. 15. A byte of 0x80 has the shuffle give 0. */
ALWAYS_INLINE S2
look_up (Table t, S2 index)
{
#if defined __AVX512BW__
  return (S2) _mm512_permutexvar_epi16 ((__m512i) index, t);
#elif defined __AVX2__
  return (S2) (_mm256_shuffle_epi8 ((__m256i) t.low, (__m256i) (index | (int16_t) 0x8000)) |
      _mm256_shuffle_epi8 ((__m256i) t.high, (__m256i) (index << 8 | 0x80)));
#elif defined __SSE4_1__
  return (S2) (_mm_shuffle_epi8 ((__m128i) t.low, (__m128i) (index | (int16_t) 0x8000)) |
      _mm_shuffle_epi8 ((__m128i) t.high, (__m128i) (index << 8 | 0x80)));
#else
  S2 r;

  for (int i = 0; i < N2; i++)
    r[i] = (int16_t) t[index[i] & 15]; /* behind a row the index may be any */
  return r;
#endif
}

ALWAYS_INLINE S2
load (const int16_t *p)
{
  return *(const S2u *) (const void *) p;
}

ALWAYS_INLINE void
store (int16_t *p, S2 v)
{
  *(S2u *) (void *) p = v;
}

/* ---- images ---------------------------------------------------------------- */

#define T uint8_t
#define N(name) GLUE (name, _1)
#include "core/rows_tmpl.h"
#undef T
#undef N
#define T uint16_t
#define N(name) GLUE (name, _2)
#include "core/rows_tmpl.h"
#undef T
#undef N

static void
load_row (const CfView *view, int y, int n, int16_t *restrict S, void *scratch)
{
  const uint8_t *row = view->data + (size_t) y * view->pitch;
  const int largest = (1 << view->bits) - 1, up = 15 - view->bits;

  if (view->bytes == 1) {
    const uint8_t *restrict x = scratch;

    gather_1 (row, view->step, n, scratch, 0, largest);
    for (int i = 0; i < n; i++)
      S[i] = (int16_t) (x[i] << 7);
  } else {
    const uint16_t *restrict x = scratch;

    gather_2 (row, view->step, n, scratch, view->shift, largest);
    for (int i = 0; i < n; i++)
      S[i] = (int16_t) (up >= 0 ? x[i] << up : x[i] >> 1);
  }
}

/* Returns step 6 of a value below 16 bits; `drop` is 15 - bits. */
ALWAYS_INLINE int
rounded (int o, int drop, int largest)
{
  const int v = (o + (1 << drop >> 1)) >> drop;

  return v < largest ? v : largest;
}

static void
store_row (const CfView *out, const CfView *in, int y, int n, const int16_t *restrict o, const int16_t *restrict S,
    void *scratch)
{
  uint8_t *row = out->data + (size_t) y * out->pitch;
  const int drop = 15 - out->bits, largest = (1 << out->bits) - 1;
  uint8_t *restrict bytes = scratch;
  uint16_t *restrict words = scratch;

  if (out->bytes == 1) {
    for (int i = 0; i < n; i++)
      bytes[i] = (uint8_t) rounded (o[i], 7, 255);
    scatter_1 (row, out->step, n, bytes, 0);
    return;
  }
  if (out->bits == 16)
    gather_2 (in->data + (size_t) y * in->pitch, in->step, n, words, 0, largest);
  for (int i = 0; i < n; i++)
    if (out->bits < 16)
      words[i] = (uint16_t) rounded (o[i], drop, largest);
    else {
      const int v = words[i] + 2 * (o[i] - S[i]), above = v > 0 ? v : 0;

      words[i] = (uint16_t) (above < largest ? above : largest);
    }
  scatter_2 (row, out->step, n, words, out->shift);
}

/* ---- state ------------------------------------------------------------------ */

static void
unpack_1 (const void *state, int n, int16_t *restrict m, int16_t *restrict c)
{
  const uint16_t *restrict s = state;

  for (int i = 0; i < n; i++) {
    m[i] = (int16_t) (s[i] >> 4 << 3);
    c[i] = s[i] & 15;
  }
}

static void
pack_1 (void *state, int n, const int16_t *restrict m, const int16_t *restrict c)
{
  uint16_t *restrict s = state;

  for (int i = 0; i < n; i++)
    s[i] = (uint16_t) (m[i] << 1 | c[i]);
}

static void
unpack_2 (const void *state, int n, int16_t *restrict m, int16_t *restrict c)
{
  const uint32_t *restrict s = state;

  for (int i = 0; i < n; i++) {
    m[i] = (int16_t) (s[i] >> 4);
    c[i] = s[i] & 15;
  }
}

static void
pack_2 (void *state, int n, const int16_t *restrict m, const int16_t *restrict c)
{
  uint32_t *restrict s = state;

  for (int i = 0; i < n; i++)
    s[i] = (uint32_t) (m[i] << 4 | c[i]);
}

/* ---- time ------------------------------------------------------------------- */

static void
compare (const int16_t *S, const int16_t *m, const CfDenoiseLevels *levels, int n, int16_t *e)
{
  const Table inverse = make_table (levels->inverse);

  for (int i = 0; i < n; i += N2) {
    const S2 mean = load (m + i), d = multiply_round (load (S + i) - mean, look_up (inverse, mean >> 11));

    store (e + i, most (least (d, V_CONSTANT (127)), V_CONSTANT (-127)));
  }
}

static void
sum (const int16_t *e, int n, int16_t *sum5, int16_t *sum7)
{
  for (int i = 0; i < n; i += N2) {
    S2 v[7], near;

    for (int k = 0; k < 7; k++)
      v[k] = load (e + i + k - 3);
    store (sum5 + i, v[1] + v[2] + v[3] + v[4] + v[5]);
    near = absolute (v[1]) + absolute (v[2]) + absolute (v[3]) + absolute (v[4]) + absolute (v[5]);
    store (sum7 + i, near + absolute (v[0]) + absolute (v[6]));
  }
}

static void
decide (const int16_t *const sum5[5], const int16_t *const sum7[7], const int16_t *c, int n, int16_t *moved)
{
  const Table a1 = make_table (cf_denoise_tables.a1), a2 = make_table (cf_denoise_tables.a2);
  const Table b1 = make_table (cf_denoise_tables.b1), b2 = make_table (cf_denoise_tables.b2);

  for (int i = 0; i < n; i += N2) {
    const S2 age = load (c + i);
    S2 a = load (sum5[0] + i), b = load (sum7[0] + i);

    for (int k = 1; k < 5; k++)
      a += load (sum5[k] + i);
    for (int k = 1; k < 7; k++)
      b += load (sum7[k] + i);
    a = absolute (a);
    store (moved + i,
        -((a > look_up (a1, age)) | (b > look_up (b1, age))) - ((a > look_up (a2, age)) | (b > look_up (b2, age))));
  }
}

/* Returns the largest of three neighbours. */
ALWAYS_INLINE S2
most_of_3 (const int16_t *p)
{
  return most (most (load (p - 1), load (p)), load (p + 1));
}

static void
follow (const int16_t *const moved[3], const int16_t *S, const int16_t *m, const int16_t *c, bool coarse, int n,
    int16_t *new_m, int16_t *new_c, int16_t *half)
{
  const Table part = make_table (cf_denoise_tables.part);

  for (int i = 0; i < n; i += N2) {
    const S2 v = most (most (most_of_3 (moved[0] + i), most_of_3 (moved[1] + i)), most_of_3 (moved[2] + i));
    const S2 doubt = v == 1, still = v < 2, sample = load (S + i), mean = load (m + i);
    const S2 age = least (load (c + i) + 1, V_CONSTANT (CF_DENOISE_FRAMES - 1) - (doubt & (CF_DENOISE_FRAMES - 2)));
    S2 to = mean + multiply_round (sample - mean, look_up (part, age));

    if (coarse)
      to = least ((S2) ((U2) (to + 4) >> 3), V_CONSTANT (4095)) << 3;
    to = (to & still) | (sample & ~still);
    store (new_m + i, to);
    store (half + i, to >> 1);
    store (new_c + i, age & still);
  }
}

/* ---- space ------------------------------------------------------------------ */

ALWAYS_INLINE S2
psi (const int16_t *neighbour, S2 mean, S2 reach)
{
  const S2 d = load (neighbour) - mean, far = absolute (d), sign = d >> 15;

  return (least (far, subtract_to_0 (reach, far)) ^ sign) - sign;
}

static void
smooth (const int16_t *const half[5], const int16_t *m, const int16_t *c, const CfDenoiseLevels *levels, int n,
    int16_t *o)
{
  const Table reach_of = make_table (levels->reach), left = make_table (cf_denoise_tables.left);

  for (int i = 0; i < n; i += N2) {
    const int16_t *const r0 = half[0] + i, *const r1 = half[1] + i, *const r2 = half[2] + i, *const r3 = half[3] + i;
    const int16_t *const r4 = half[4] + i;
    const S2 mean = load (m + i), middle = load (r2);
    const S2 reach = multiply_high (look_up (reach_of, mean >> 11), look_up (left, load (c + i)));
    const S2 u = least (reach, V_CONSTANT (CF_DENOISE_REACH)) << 1;
#define PSI(at) psi (at, middle, u)
    const S2 near = PSI (r1 - 1) + PSI (r1) + PSI (r1 + 1) + PSI (r2 - 1) + PSI (r2 + 1) + PSI (r3 - 1) + PSI (r3) +
        PSI (r3 + 1);
    const S2 far = PSI (r0 - 2) + PSI (r0) + PSI (r0 + 2) + PSI (r2 - 2) + PSI (r2 + 2) + PSI (r4 - 2) + PSI (r4) +
        PSI (r4 + 2);
#undef PSI

    store (o + i, most (add_clamped (mean, weigh (near, far)), V_CONSTANT (0)));
  }
}

/* ---- the estimate ------------------------------------------------------------ */

/* Returns -P above, 2 P and -P below of samples added up: 4 P - 2 n4 + n8 is this, down the columns, of this, along
 * them. Sums may wrap on the way; the result fits. */
ALWAYS_INLINE S2
bend (const int16_t *above, const int16_t *row, const int16_t *below)
{
  return ((load (row) >> 3) << 1) - (load (above) >> 3) - (load (below) >> 3);
}

/* Adds neighbours, which are not negative, to the sums of pairs. */
ALWAYS_INLINE void
add_pairs (uint32_t *sums, S2 v)
{
  U4u *const at = (U4u *) (void *) sums;

  *at += ((U4) v & 0xffff) + ((U4) v >> 16);
}

ALWAYS_INLINE void
count_bends (const int16_t *bends, int distance, int n, uint32_t *sums)
{
  for (int i = 0; i < n; i += N2) {
    const S2 l = (load (bends + i) << 1) - load (bends + i - distance) - load (bends + i + distance);

    add_pairs (sums + i / 2, absolute (l));
  }
}

static void
count (const int16_t *const S[5], const int16_t *m, const int16_t *c, int largest, int n, int16_t *bends,
    const CfDenoiseSums *sums)
{
  const Table still = make_table (cf_denoise_tables.still);

  /* from a vector before the row on: its neighbours count */
  for (int i = -N2; i < n + N2; i += N2)
    store (bends + i, bend (S[1] + i, S[2] + i, S[3] + i));
  count_bends (bends, 1, n, sums->s);
  for (int i = 0; i < n; i += N2) {
    const S2 sample = load (S[2] + i);

    add_pairs (sums->sum + i / 2, sample);
    store (sums->extreme + i, load (sums->extreme + i) - ((sample == 0) | (sample == (int16_t) largest)));
  }
  if (!m)
    return;
  for (int i = -N2; i < n + N2; i += N2)
    store (bends + i, bend (S[0] + i, S[2] + i, S[4] + i));
  count_bends (bends, 2, n, sums->w);
  for (int i = 0; i < n; i += N2)
    add_pairs (sums->t + i / 2,
        multiply_round (absolute (load (S[2] + i) - load (m + i)), look_up (still, load (c + i))));
}

/* ---- the table ---------------------------------------------------------------- */

const CfDenoiseSimd GLUE (cf_denoise_simd_, CF_ISA) = {
  .load = load_row,
  .store = store_row,
  .unpack = { unpack_1, unpack_2 },
  .pack = { pack_1, pack_2 },
  .compare = compare,
  .sum = sum,
  .decide = decide,
  .follow = follow,
  .smooth = smooth,
  .count = count,
};
