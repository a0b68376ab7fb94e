/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/vectors.h: the vectors of simd.c, V_SIZE bytes long, and the
 * instructions that the compiler does not find in plain code:
 *   multiply_pairs  the 32-bit sum of two products of signed 16-bit numbers
 *   multiply_high   the upper half of a product of 16-bit numbers
 *   multiply_even   64-bit products of the 32-bit numbers in even lanes
 *   minimum2        the smaller of two 16-bit numbers
 *   saturate        packs four vectors of 32 bits to one of bytes, 0 .. 255
 *   saturate2       packs two vectors of 32 bits to one of 16 bits, 0 .. max */
#ifndef CF_CONVOLVE_CPU_VECTORS_H
#define CF_CONVOLVE_CPU_VECTORS_H

#include <stdint.h>
#include <string.h>

/* x86: INTRINSIC (madd_epi16) is that of vectors of V_SIZE bytes, and M their type. */
#if defined __AVX512BW__
#define V_SIZE 64
#define INTRINSIC(name) _mm512_##name
#define M __m512i
#elif defined __AVX2__
#define V_SIZE 32
#define INTRINSIC(name) _mm256_##name
#define M __m256i
#else
#define V_SIZE 16
#define INTRINSIC(name) _mm_##name
#define M __m128i
#endif

#if defined __SSE2__
#include <immintrin.h>
#define multiply_pairs(a, b) ((U4) INTRINSIC (madd_epi16) ((M) (a), (M) (b)))
#define multiply_high(a, b) ((U2) INTRINSIC (mulhi_epu16) ((M) (a), (M) (b)))
#define multiply_even(a, b) ((U8) INTRINSIC (mul_epu32) ((M) (a), (M) (b)))
#else
#define multiply_pairs(a, b) \
  ((U4) ((((S4) (a) << 16) >> 16) * (((S4) (b) << 16) >> 16) + ((S4) (a) >> 16) * ((S4) (b) >> 16)))
#define multiply_high(a, b) \
  __builtin_convertvector (__builtin_convertvector (a, Double4) * __builtin_convertvector (b, Double4) >> 16, U2)
#define multiply_even(a, b) (((U8) (a) & 0xffffffffu) * ((U8) (b) & 0xffffffffu))
#endif
#if defined __SSE4_1__
#define minimum2(a, b) ((U2) INTRINSIC (min_epu16) ((M) (a), (M) (b)))
#elif defined __SSE2__
#define minimum2(a, b) ((U2) _mm_sub_epi16 ((M) (a), _mm_subs_epu16 ((M) (a), (M) (b))))
#else
#define minimum2(a, b) (((a) & (U2) ((a) < (b))) | ((b) & (U2) ((a) >= (b))))
#endif

/* Forces the value into a register here, so that the compiler neither reorders a chain of additions and runs out of
 * registers for its addends, nor repeats a load, which may cross a cache line, as an operand of each of its uses. */
#if defined __SSE2__
#define keep_in_register(v) __asm__ ("" : "+v"(v))
#elif defined __aarch64__
#define keep_in_register(v) __asm__ ("" : "+w"(v))
#else
#define keep_in_register(v) ((void) 0)
#endif

/* In lanes of 16 bytes: interleave bytes or words, multiply bytes with signed bytes and add two products to 16 bits,
 * and pack 16 bits to the bytes in the order before they were interleaved. pack_words keeps the order of its words. */
#if defined __SSE4_1__
#define interleave_low(a, b) ((U2) INTRINSIC (unpacklo_epi8) ((M) (a), (M) (b)))
#define interleave_high(a, b) ((U2) INTRINSIC (unpackhi_epi8) ((M) (a), (M) (b)))
#define multiply_bytes(a, b) ((U2) INTRINSIC (maddubs_epi16) ((M) (a), (M) (b)))
#define words_low(a, b) ((U4) INTRINSIC (unpacklo_epi16) ((M) (a), (M) (b)))
#define words_high(a, b) ((U4) INTRINSIC (unpackhi_epi16) ((M) (a), (M) (b)))
#define pack_bytes(a, b) ((U4) INTRINSIC (packus_epi16) ((M) (a), (M) (b)))
#define pack_words(a, b) ((U2) join_lanes ((U8) INTRINSIC (packus_epi32) ((M) (a), (M) (b))))
#else
#define NO_BYTE_LANES
#endif

/* Vectors are named by their elements: U, S: unsigned, signed; the bytes of one; u: unaligned in memory. Half,
 * Quarter: as many elements as a vector has of twice, four times their size; Double: the reverse. */
typedef uint16_t U2 __attribute__ ((vector_size (V_SIZE)));
typedef uint32_t U4 __attribute__ ((vector_size (V_SIZE)));
typedef int32_t S4 __attribute__ ((vector_size (V_SIZE)));
typedef uint64_t U8 __attribute__ ((vector_size (V_SIZE)));
typedef U2 U2u __attribute__ ((aligned (1), may_alias));
typedef U4 U4u __attribute__ ((aligned (1), may_alias));
typedef U8 U8u __attribute__ ((aligned (1), may_alias));
typedef uint8_t Half1 __attribute__ ((vector_size (V_SIZE / 2), aligned (1), may_alias));
typedef uint8_t Quarter1 __attribute__ ((vector_size (V_SIZE / 4), aligned (1), may_alias));
typedef uint16_t Half2 __attribute__ ((vector_size (V_SIZE / 2), aligned (1), may_alias));
typedef int16_t HalfS2 __attribute__ ((vector_size (V_SIZE / 2)));
typedef float Float4 __attribute__ ((vector_size (V_SIZE)));
typedef uint32_t Double4 __attribute__ ((vector_size (2 * V_SIZE)));

/* shuffle4 (a, b, order), shuffle8: elements order[i] of a followed by b. The order is constant after inlining only,
 * which is too late for clang's builtin function; clang makes the same instructions of the loop. */
#ifdef __clang__
#define SHUFFLE(name, V) \
  static inline V name (V a, V b, V order) \
  { \
    const int n = sizeof a / sizeof a[0]; \
    V to; \
\
    for (int i = 0; i < n; i++) \
      to[i] = order[i] < (unsigned) n ? a[order[i] % n] : b[order[i] % n]; \
    return to; \
  }
SHUFFLE (shuffle4, U4)
SHUFFLE (shuffle8, U8)
#undef SHUFFLE
#else
#define shuffle4 __builtin_shuffle
#define shuffle8 __builtin_shuffle
#endif

#define N2 (V_SIZE / 2)
#define N4 (V_SIZE / 4)
#define N8 (V_SIZE / 8)

/* Packing works in lanes of 16 bytes: joins the halves of two vectors that were packed once. */
static inline U8
join_lanes (U8 packed)
{
  U8 order;

  for (int l = 0; l < N8; l++)
    order[l] = (uint64_t) (l % (N8 / 2) * 2 + l / (N8 / 2));
  return shuffle8 (packed, packed, order);
}

static inline U4
saturate (const S4 v[4])
{
#if defined __SSE2__
  M low = INTRINSIC (packs_epi32) ((M) v[0], (M) v[1]), high = INTRINSIC (packs_epi32) ((M) v[2], (M) v[3]);
  U4 packed = (U4) INTRINSIC (packus_epi16) (low, high), order;

  for (int l = 0; l < N4; l++)
    order[l] = (uint32_t) (l % (N4 / 4) * 4 + l / (N4 / 4));
  return shuffle4 (packed, packed, order);
#else
  uint8_t bytes[V_SIZE];
  U4 all;

  for (int k = 0; k < 4; k++) {
    S4 q = v[k] & ~(v[k] >> 31);

    q = (q & (S4) (q < 255)) | (255 & (S4) (q >= 255));
    *(Quarter1 *) (void *) (bytes + k * V_SIZE / 4) = __builtin_convertvector (q, Quarter1);
  }
  memcpy (&all, bytes, sizeof all);
  return all;
#endif
}

/* Loads bytes as 32-bit numbers. The compilers' own conversion is slow where a quarter is less than a register. */
static inline U4
load_bytes (const uint8_t *x)
{
#if defined __AVX512BW__
  return (U4) _mm512_cvtepu8_epi32 (_mm_loadu_si128 ((const void *) x));
#elif defined __AVX2__
  return (U4) _mm256_cvtepu8_epi32 (_mm_loadl_epi64 ((const void *) x));
#elif defined __SSE4_1__
  int bytes;

  memcpy (&bytes, x, sizeof bytes);
  return (U4) _mm_cvtepu8_epi32 (_mm_cvtsi32_si128 (bytes));
#else
  return __builtin_convertvector (*(const Quarter1 *) (const void *) x, U4);
#endif
}

/* Packs 16-bit numbers up to 255 to bytes, in their order. */
static inline U4
pack_in_order (const U2 v[2])
{
#ifdef pack_bytes
  return (U4) join_lanes ((U8) pack_bytes (v[0], v[1]));
#else
  Half1 halves[2] = { __builtin_convertvector (v[0], Half1), __builtin_convertvector (v[1], Half1) };
  U4 all;

  memcpy (&all, halves, sizeof all);
  return all;
#endif
}

/* Packs two vectors of quotients to one of samples of 10 or 16 bit. */
static inline U2
saturate2 (S4 a, S4 b, U2 max)
{
#ifdef pack_words
  return minimum2 (pack_words (a, b), max);
#else
  Half2 halves[2];
  S4 both[2] = { a, b };
  U2 all;

  for (int v = 0; v < 2; v++) {
    S4 q = both[v] & ~(both[v] >> 31);

    halves[v] = __builtin_convertvector ((q & (S4) (q < 65535)) | (65535 & (S4) (q >= 65535)), Half2);
  }
  memcpy (&all, halves, sizeof all);
  return minimum2 (all, max);
#endif
}

#endif
