/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/cpu/lines_simd.c: the inner loops of lines.h for the instruction set of this compilation (CF_ISA).
 *
 * A round sums each segment from zero, scans the sums, and filters each segment from its carries. The sums of a round
 * are taken where its samples are made: while they are loaded, or right behind the round before; so each round passes
 * over the line once, and the last one writes its results where they belong. */
#include "lines.h"

#if defined __AVX512BW__
#define LANES 16
#elif defined __AVX2__
#define LANES 8
#else
#define LANES 4
#endif
#include "vector_tmpl.h"

#define SEG CF_IR_SEGMENT
#define MAGIC 0x1p23f /* from here on floats are integers */
#define MAX_STRIPS (CF_IR_LINES_COLUMNS / LANES)

typedef int32_t I __attribute__ ((vector_size (4 * LANES)));
typedef I Iu __attribute__ ((aligned (1), may_alias));
typedef uint8_t Bytes __attribute__ ((vector_size (LANES)));
typedef Bytes Bytes_u __attribute__ ((aligned (1), may_alias));
typedef uint16_t Words __attribute__ ((vector_size (2 * LANES)));
typedef Words Words_u __attribute__ ((aligned (1), may_alias));

/* ---- a round ------------------------------------------------------------ */

/* Several strips of LANES lines side by side: sample i of strip k is x[i * strips + k]. */
typedef struct {
  const CfIrLines *lines;
  int strips, segments;
  V *x, *right, *left;   /* the samples; the sums or carries of the segments, alike */
  V edge[2][MAX_STRIPS]; /* the first and the last sample of the lines, or what lies outside */
} Strips;

ALWAYS_INLINE void
sum_segment (const Strips *s, int segment, int k, const V v[SEG])
{
  const V nu = all_v (s->lines->nu);
  V right = v[0], left = v[SEG - 1];

  for (int j = 1; j < SEG; j++) {
    right = fma_v (nu, right, v[j]);
    left = fma_v (nu, left, v[SEG - 1 - j]);
  }
  s->right[segment * s->strips + k] = right;
  s->left[segment * s->strips + k] = left;
}

ALWAYS_INLINE void
filter_segment (const Strips *s, int segment, int k, V v[SEG])
{
  const V nu = all_v (s->lines->nu);
  V seen[SEG], right = s->right[segment * s->strips + k], left = s->left[segment * s->strips + k];

  for (int j = 0; j < SEG; j++)
    seen[j] = right = fma_v (nu, right, v[j]);
  for (int j = SEG - 1; j >= 0; j--) {
    V x = v[j];

    v[j] = fma_v (nu, left, seen[j]);
    left = fma_v (nu, left, x);
  }
}

/* Takes the samples of a segment for the next round: completes the last segment behind its first n samples (a
 * replicated border has no `outside`), keeps the edges, sums and stores the segment. */
ALWAYS_INLINE void
begin_segment (Strips *s, int segment, int k, int n, const float *outside, V v[SEG])
{
  V *x = s->x + segment * SEG * s->strips + k;

  if (segment == s->segments - 1) {
    for (int j = n; j < SEG; j++)
      v[j] = outside ? all_v (*outside) : v[n - 1];
    s->edge[1][k] = outside ? all_v (*outside) : v[SEG - 1];
  }
  if (segment == 0)
    s->edge[0][k] = outside ? all_v (*outside) : v[0];
  sum_segment (s, segment, k, v);
  for (int j = 0; j < SEG; j++)
    x[j * s->strips] = v[j];
}

/* Turns sums, `step` vectors apart in the direction of the recursion, into carries. */
ALWAYS_INLINE void
scan_sums (const CfIrLines *l, int segments, ptrdiff_t step, V edge, V *sum)
{
  const V q = all_v (l->power[1]), eight = all_v (l->eight);
  V g = all_v (l->settled) * edge;

  for (int i = 0; i < segments; i += CF_IR_EIGHT) {
    V u = all_v (0);

    for (int j = 0; j < CF_IR_EIGHT && i + j < segments; j++, sum += step) {
      V added = *sum;

      *sum = fma_v (all_v (l->power[j]), g, u);
      u = fma_v (q, u, added);
    }
    g = fma_v (eight, g, u);
  }
}

ALWAYS_INLINE void
scan (const Strips *s)
{
  for (int k = 0; k < s->strips; k++) {
    scan_sums (s->lines, s->segments, s->strips, s->edge[0][k], s->right + k);
    scan_sums (s->lines, s->segments, -s->strips, s->edge[1][k], s->left + (s->segments - 1) * s->strips + k);
  }
}

/* Runs all rounds but the last one, which is scanned only; the first is begun. n: samples of the last segment. */
ALWAYS_INLINE void
run_rounds (Strips *s, int n, const float *outside)
{
  scan (s);
  for (int round = 1; round < s->lines->rounds; round++) {
    for (int i = 0; i < s->segments; i++)
      for (int k = 0; k < s->strips; k++) {
        V v[SEG];

        for (int j = 0; j < SEG; j++)
          v[j] = s->x[(i * SEG + j) * s->strips + k];
        filter_segment (s, i, k, v);
        begin_segment (s, i, k, n, outside ? outside + round : NULL, v);
      }
    scan (s);
  }
}

/* The last round of a segment. */
ALWAYS_INLINE void
end_segment (const Strips *s, int segment, int k, V v[SEG])
{
  for (int j = 0; j < SEG; j++)
    v[j] = s->x[(segment * SEG + j) * s->strips + k];
  filter_segment (s, segment, k, v);
}

ALWAYS_INLINE void
lay_out (const CfIrLinesTask *t, int strips, int n, Strips *s)
{
  *s = (Strips) { .lines = t->lines, .strips = strips, .segments = cf_ir_segments (n) };
  s->x = (V *) (void *) t->scratch;
  s->right = s->x + s->segments * SEG * strips;
  s->left = s->right + s->segments * strips;
}

/* Returns how many samples of a line of n its last segment has. */
static int
rest_of (int n)
{
  return (n - 1) % SEG + 1;
}

/* ---- samples ------------------------------------------------------------ */

ALWAYS_INLINE I
at_most (I v, int max)
{
  I top = (I) { 0 } + max, low = v < top;

  return (v & low) | (top & ~low);
}

/* Returns valid values of stored words. */
ALWAYS_INLINE I
values_of (const CfView *view, int bytes, I words)
{
  return bytes == 1 || view->bits == 16 ? words : at_most (words >> view->shift, (1 << view->bits) - 1);
}

ALWAYS_INLINE int
word_at (const uint8_t *row, int x, int step, int bytes)
{
  return bytes == 1 ? row[x * step] : ((const uint16_t *) (const void *) row)[x * step];
}

/* Loads LANES numbers. */
ALWAYS_INLINE I
load_bytes (const uint8_t *at)
{
#if LANES == 16
  return (I) _mm512_cvtepu8_epi32 (_mm_loadu_si128 ((const void *) at));
#elif defined __AVX2__
  return (I) _mm256_cvtepu8_epi32 (_mm_loadl_epi64 ((const void *) at));
#elif defined __SSE4_1__
  return (I) _mm_cvtepu8_epi32 (_mm_loadu_si32 (at));
#else
  return __builtin_convertvector (*(const Bytes_u *) at, I);
#endif
}

ALWAYS_INLINE I
load_halves (const uint8_t *at)
{
#if LANES == 16
  return (I) _mm512_cvtepu16_epi32 (_mm256_loadu_si256 ((const void *) at));
#elif defined __AVX2__
  return (I) _mm256_cvtepu16_epi32 (_mm_loadu_si128 ((const void *) at));
#elif defined __SSE4_1__
  return (I) _mm_cvtepu16_epi32 (_mm_loadl_epi64 ((const void *) at));
#else
  return __builtin_convertvector (*(const Words_u *) (const void *) at, I);
#endif
}

/* Loads LANES words from column x on; those behind the row's end are 0. */
ALWAYS_INLINE I
load_words (const CfView *view, int bytes, const uint8_t *row, int x)
{
  const uint8_t *at = row + (size_t) x * view->step * (size_t) bytes;
  I v = { 0 };

  if (view->step == 1 && x + LANES <= view->width)
    return bytes == 1 ? load_bytes (at) : load_halves (at);
  /* the byte behind the last sample of a row is not the row's */
  if (view->step == 2 && bytes == 1 && x + LANES < view->width)
    return load_halves (at) & 0xff;
  if (view->step == 4 && bytes == 1 && x + LANES < view->width)
    return *(const Iu *) at & 0xff;
  for (int i = 0; i < LANES && x + i < view->width; i++)
    v[i] = word_at (at, i, view->step, bytes);
  return v;
}

/* ---- columns ------------------------------------------------------------ */

#define AHEAD (2 * SEG) /* rows that are fetched into the cache early: each lies in another page */

ALWAYS_INLINE void
columns (const CfIrLinesTask *t, int x, int bytes, int strips)
{
  const CfView *in = t->in;
  uint8_t *between_plane = t->between;
  const float *outside = t->zero ? t->lines->outside[t->chroma][0] : NULL;
  const V between = all_v (t->lines->between), magic = all_v (MAGIC);
  Strips s;

  lay_out (t, strips, in->height, &s);
  for (int i = 0; i < s.segments; i++)
    for (int k = 0; k < strips; k++) {
      V v[SEG];

      for (int j = 0; j < SEG; j++) {
        int y = i * SEG + j < in->height ? i * SEG + j : in->height - 1;
        const uint8_t *row = in->data + (size_t) y * in->pitch;
        I words = load_words (in, bytes, row, x + k * LANES);

        if (k == 0 && y + AHEAD < in->height)
          __builtin_prefetch (row + AHEAD * in->pitch + x * in->step * bytes);
        v[j] = __builtin_convertvector (values_of (in, bytes, words) + 1, V);
      }
      begin_segment (&s, i, k, rest_of (in->height), outside, v);
    }
  run_rounds (&s, rest_of (in->height), outside);
  for (int i = 0; i < s.segments; i++)
    for (int k = 0; k < strips; k++) {
      ptrdiff_t at = (ptrdiff_t) (x / CF_IR_LINES_COLUMNS * s.segments + i) * SEG * CF_IR_LINES_COLUMNS + k * LANES;
      V v[SEG];

      end_segment (&s, i, k, v);
      for (int j = 0; j < SEG; j++, at += CF_IR_LINES_COLUMNS)
        if (bytes == 1)
          *(Words_u *) (void *) ((uint16_t *) t->between +
              at) = __builtin_convertvector ((I) fma_v (between, v[j], magic), Words);
        else
          *(Vu *) (void *) (between_plane + 4 * at) = v[j];
    }
}

/* ---- rows to lanes and back --------------------------------------------- */

/* Exchanges, in each group of four lanes, rows and columns of the 4 x 4 numbers of four vectors. */
ALWAYS_INLINE void
transpose_4 (I v[4])
{
#if LANES == 16
  __m512i a = _mm512_unpacklo_epi32 ((__m512i) v[0], (__m512i) v[1]);
  __m512i b = _mm512_unpackhi_epi32 ((__m512i) v[0], (__m512i) v[1]);
  __m512i c = _mm512_unpacklo_epi32 ((__m512i) v[2], (__m512i) v[3]);
  __m512i d = _mm512_unpackhi_epi32 ((__m512i) v[2], (__m512i) v[3]);

  v[0] = (I) _mm512_unpacklo_epi64 (a, c);
  v[1] = (I) _mm512_unpackhi_epi64 (a, c);
  v[2] = (I) _mm512_unpacklo_epi64 (b, d);
  v[3] = (I) _mm512_unpackhi_epi64 (b, d);
#elif defined __AVX2__
  __m256i a = _mm256_unpacklo_epi32 ((__m256i) v[0], (__m256i) v[1]);
  __m256i b = _mm256_unpackhi_epi32 ((__m256i) v[0], (__m256i) v[1]);
  __m256i c = _mm256_unpacklo_epi32 ((__m256i) v[2], (__m256i) v[3]);
  __m256i d = _mm256_unpackhi_epi32 ((__m256i) v[2], (__m256i) v[3]);

  v[0] = (I) _mm256_unpacklo_epi64 (a, c);
  v[1] = (I) _mm256_unpackhi_epi64 (a, c);
  v[2] = (I) _mm256_unpacklo_epi64 (b, d);
  v[3] = (I) _mm256_unpackhi_epi64 (b, d);
#else
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < i; j++) {
      int n = v[i][j];

      v[i][j] = v[j][i];
      v[j][i] = n;
    }
#endif
}

/* Reads 16 bytes of each of LANES rows: lane i of v[c] is the c-th word of 32 bits of row i. */
ALWAYS_INLINE void
gather_4 (const void *from, size_t pitch, I v[4])
{
  const uint8_t *at = from;

  for (size_t r = 0; r < 4; r++) {
#if LANES == 16
    __m512i row = _mm512_castsi128_si512 (_mm_loadu_si128 ((const void *) (at + r * pitch)));

    row = _mm512_inserti32x4 (row, _mm_loadu_si128 ((const void *) (at + (r + 4) * pitch)), 1);
    row = _mm512_inserti32x4 (row, _mm_loadu_si128 ((const void *) (at + (r + 8) * pitch)), 2);
    v[r] = (I) _mm512_inserti32x4 (row, _mm_loadu_si128 ((const void *) (at + (r + 12) * pitch)), 3);
#elif defined __AVX2__
    __m256i row = _mm256_castsi128_si256 (_mm_loadu_si128 ((const void *) (at + r * pitch)));

    v[r] = (I) _mm256_inserti128_si256 (row, _mm_loadu_si128 ((const void *) (at + (r + 4) * pitch)), 1);
#else
    v[r] = *(const Iu *) (const void *) (at + r * pitch);
#endif
  }
  transpose_4 (v);
}

/* The opposite. */
ALWAYS_INLINE void
scatter_4 (I v[4], void *to, size_t pitch)
{
  uint8_t *at = to;

  transpose_4 (v);
  for (size_t r = 0; r < 4; r++) {
#if LANES == 16
    _mm_storeu_si128 ((void *) (at + r * pitch), _mm512_castsi512_si128 ((__m512i) v[r]));
    _mm_storeu_si128 ((void *) (at + (r + 4) * pitch), _mm512_extracti32x4_epi32 ((__m512i) v[r], 1));
    _mm_storeu_si128 ((void *) (at + (r + 8) * pitch), _mm512_extracti32x4_epi32 ((__m512i) v[r], 2));
    _mm_storeu_si128 ((void *) (at + (r + 12) * pitch), _mm512_extracti32x4_epi32 ((__m512i) v[r], 3));
#elif defined __AVX2__
    _mm_storeu_si128 ((void *) (at + r * pitch), _mm256_castsi256_si128 ((__m256i) v[r]));
    _mm_storeu_si128 ((void *) (at + (r + 4) * pitch), _mm256_extracti128_si256 ((__m256i) v[r], 1));
#else
    *(Iu *) (void *) (at + r * pitch) = v[r];
#endif
  }
}

/* Reads 16 columns of LANES rows of numbers of 1, 2 or 4 bytes: lane i of v[j] is column j of row i. */
ALWAYS_INLINE void
gather (const void *from, size_t pitch, int bytes, I v[SEG])
{
  const uint8_t *at = from;

  for (int i = 0; i < bytes; i++) {
    I w[4];

    gather_4 (at + 16 * i, pitch, w);
    for (int j = 0; j < 4; j++)
      for (int k = 0; k < 4 / bytes; k++)
        v[(4 * i + j) * 4 / bytes + k] = bytes == 4 ? w[j] : w[j] >> 8 * bytes * k & (bytes == 1 ? 0xff : 0xffff);
  }
}

/* Writes 16 columns of LANES rows of numbers of 1 or 2 bytes. */
ALWAYS_INLINE void
scatter (const I v[SEG], int bytes, void *to, size_t pitch)
{
  uint8_t *at = to;

  for (int i = 0; i < bytes; i++) {
    I w[4];

    for (int j = 0; j < 4; j++) {
      const I *from = v + (4 * i + j) * 4 / bytes;

      w[j] = from[0];
      for (int k = 1; k < 4 / bytes; k++)
        w[j] |= from[k] << 8 * bytes * k;
    }
    scatter_4 (w, at + 16 * i, pitch);
  }
}

/* Returns whether a segment of a row's samples can be read or written as a whole, in all LANES rows. */
ALWAYS_INLINE bool
is_whole (const CfView *view, int x, int y)
{
  return view->step == 1 && x + SEG <= view->width && y + LANES <= view->height;
}

/* Loads the values of 16 columns of LANES rows, as far as the view has them. */
ALWAYS_INLINE void
load_block (const CfView *view, int bytes, int x, int y, I v[SEG])
{
  _Alignas (64) uint8_t part[LANES * SEG * 2] = { 0 };
  const uint8_t *at = view->data + (size_t) y * view->pitch + (size_t) x * view->step * (size_t) bytes;

  if (is_whole (view, x, y))
    gather (at, view->pitch, bytes, v);
  else {
    for (int i = 0; i < LANES && y + i < view->height; i++)
      for (int j = 0; j < SEG && x + j < view->width; j++) {
        int word = word_at (at + (size_t) i * view->pitch, j, view->step, bytes);

        if (bytes == 1)
          part[i * SEG + j] = (uint8_t) word;
        else
          ((uint16_t *) (void *) part)[i * SEG + j] = (uint16_t) word;
      }
    gather (part, (size_t) (SEG * bytes), bytes, v);
  }
  for (int j = 0; j < SEG; j++)
    v[j] = values_of (view, bytes, v[j]);
}

/* Stores the samples of a row's segment, as far as the view has them. */
ALWAYS_INLINE void
store_part (int step, int bytes, const uint8_t *part, int n, uint8_t *to)
{
  for (int j = 0; j < n; j++)
    if (bytes == 1)
      to[j * step] = part[j];
    else
      ((uint16_t *) (void *) to)[j * step] = ((const uint16_t *) (const void *) part)[j];
}

ALWAYS_INLINE void
store_block (const CfView *view, int bytes, int x, int y, I v[SEG])
{
  _Alignas (64) uint8_t part[LANES * SEG * 2];
  uint8_t *at = view->data + (size_t) y * view->pitch + (size_t) x * view->step * (size_t) bytes;
  int n = view->width - x < SEG ? view->width - x : SEG;

  for (int j = 0; bytes == 2 && j < SEG; j++)
    v[j] = v[j] << view->shift;
  if (is_whole (view, x, y)) {
    scatter (v, bytes, at, view->pitch);
    return;
  }
  scatter (v, bytes, part, (size_t) (SEG * bytes));
  for (int i = 0; i < LANES && y + i < view->height; i++)
    EACH_STEP (view->step, store_part, bytes, part + i * SEG * bytes, n, at + (size_t) i * view->pitch)
}

/* ---- rows --------------------------------------------------------------- */

/* Returns min (max (r, 0), max), rounded to integers, halves to even. */
ALWAYS_INLINE I
round_v (V r, float max)
{
  V top = all_v (max);
  I positive = r > all_v (0), low = r < top;

  r = (V) ((I) r & positive);
  r = (V) (((I) r & low) | ((I) top & ~low));
  return (I) (r + all_v (MAGIC)) & 0xffff;
}

/* Filters LANES rows. */
ALWAYS_INLINE void
rows (const CfIrLinesTask *t, int y, int bytes)
{
  const CfIrLines *l = t->lines;
  const CfView *out = t->out;
  const float *outside = t->zero ? l->outside[t->chroma][1] : NULL;
  const V gain = all_v (l->gain), through = all_v (l->through), offset = all_v (l->offset);
  const ptrdiff_t block = (ptrdiff_t) cf_ir_segments (out->height) * SEG * CF_IR_LINES_COLUMNS;
  Strips s;

  lay_out (t, 1, out->width, &s);
  for (int i = 0; i < s.segments; i++) {
    const ptrdiff_t at = i / 2 * block + y * CF_IR_LINES_COLUMNS + i % 2 * SEG;
    I w[SEG];
    V v[SEG];

    for (int j = 0; j < LANES * bytes && i % 2 == 0; j++) /* of the next block but one; may lie behind the plane */
      __builtin_prefetch ((const uint8_t *) t->between + (at + 2 * block) * 2 * bytes + j * 64);
    gather ((const uint8_t *) t->between + at * 2 * bytes, (size_t) (CF_IR_LINES_COLUMNS * 2 * bytes), 2 * bytes, w);
    for (int j = 0; j < SEG; j++)
      v[j] = bytes == 1 ? __builtin_convertvector (w[j], V) : (V) w[j];
    begin_segment (&s, i, 0, rest_of (out->width), outside, v);
  }
  run_rounds (&s, rest_of (out->width), outside);
  for (int i = 0; i < s.segments; i++) {
    I w[SEG];
    V v[SEG];

    end_segment (&s, i, 0, v);
    if (l->mixed) {
      load_block (t->in, bytes, i * SEG, y, w);
      for (int j = 0; j < SEG; j++)
        w[j] = round_v (fma_v (gain, v[j], fma_v (through, __builtin_convertvector (w[j], V), offset)),
            (float) ((1 << out->bits) - 1));
    } else
      for (int j = 0; j < SEG; j++)
        w[j] = (I) fma_v (gain, v[j], all_v (MAGIC - 1)) & 0xffff;
    store_block (out, bytes, i * SEG, y, w);
  }
}

/* ---- tasks -------------------------------------------------------------- */

static void
columns_task (const CfIrLinesTask *t, int x)
{
  bool half = t->in->width - x <= CF_IR_LINES_COLUMNS / 2;

  if (t->in->bytes == 1 && !half)
    columns (t, x, 1, MAX_STRIPS);
  else if (t->in->bytes == 1)
    columns (t, x, 1, MAX_STRIPS / 2);
  else if (!half)
    columns (t, x, 2, MAX_STRIPS);
  else
    columns (t, x, 2, MAX_STRIPS / 2);
}

static void
rows_task (const CfIrLinesTask *t, int y)
{
  for (int i = y; i < y + CF_IR_LINES_ROWS && i < t->out->height; i += LANES)
    if (t->out->bytes == 1)
      rows (t, i, 1);
    else
      rows (t, i, 2);
}

const CfIrLinesSimd GLUE (cf_ir_lines_, CF_ISA) = { .columns = columns_task, .rows = rows_task };
