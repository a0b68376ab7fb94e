/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * denoise/gpu/plan.cu: the denoiser on CUDA: its plan and its kernels. The names are those of denoise.h.
 *
 * A block of 384 threads has a tile of 64 x 48 samples of a view. It works in PAIRS: two neighbours of a row in the
 * halves of a word. Its arrays in shared memory, 62 KB, have 40 pairs x 60 rows, from 8 columns to the left of the tile
 * and 6 rows above it on. Each step needs fewer of them than the one before:
 *   load     S, m, c and e          x - 8 .. x + 71, y - 6 .. y + 53
 *   count    the tile's blocks of 8 x 8, a row of 8 samples per thread
 *   add up   sums of e along rows   x - 4 .. x + 67, as many rows
 *   decide   moved                  x - 4 .. x + 67, y - 3 .. y + 50
 *   follow   the new m and c        x - 2 .. x + 65, y - 2 .. y + 49; the tile's own are kept for the next frame
 *   smooth   the output             the tile
 * What lies outside the plane is the nearest sample inside: S and the state are read so, and moved and the new m are
 * copied there, by the blocks at the border, after they are made.
 *
 * Races: a barrier follows each step. A step writes arrays that no thread reads in it, or only its own pairs. The
 * state is read from one copy and written to the other one. Blocks count with atomics; the last one to finish, by a
 * ticket, reads the counts past the L1 cache and clears them for the next frame. Frames are queued on one stream.
 * Bound: work, about 300 instructions a sample, with the estimate 350. */
#include "core/gpu/launch.cuh"
#include "denoise/noise.h"

namespace {

using namespace cf;

constexpr int threads = 384, per_sm = 3, tile_w = 64, tile_h = 48, left = 8, above = 6;
constexpr int pairs = (tile_w + 2 * left) / 2, rows = tile_h + 2 * above, warps = threads / 32;
constexpr int pitch = pairs + 1; /* odd: threads below each other use different banks */

/* What a view keeps from frame to frame. */
struct Noise {
  int sigma[CF_DENOISE_ZONES];
  CfDenoiseCounts counts;
};

struct DenoiseWork {
  Launch launch;
  const uint8_t *before; /* the state of all views */
  uint8_t *after;
  long long offset[CF_MAX_VIEWS]; /* of the state of a view, bytes */
  int pitch[CF_MAX_VIEWS];        /* bytes, a multiple of 64 */
  Noise *noise;                   /* of all views */
  unsigned *ticket;
  int *report;   /* pinned: sigma of all views */
  int set_sigma; /* -1: estimated */
  int strength;
  bool first, estimates;
  CfDenoiseTables tables;
};

typedef unsigned Array[rows][pitch];

struct Shared {
  Array S, m, e, size, sum5, sum7; /* e is biased by 127; size is |e| */
  unsigned char c[rows][pitch];    /* c - 1 of the left sample, and 16 times that of the right one */
  /* by c: -a1 and -b1, -a2 and -b2 in halves; 2^15 / c and R */
  unsigned maybe[CF_DENOISE_FRAMES], surely[CF_DENOISE_FRAMES];
  int part[CF_DENOISE_FRAMES], still[CF_DENOISE_FRAMES];
  int inverse[CF_DENOISE_LEVELS];                       /* r */
  int reach[CF_DENOISE_LEVELS][CF_DENOISE_FRAMES + 1];  /* u */
  bool last;
};

/* ---- pairs ----------------------------------------------------------------- */

__device__ __forceinline__ int
low (unsigned pair)
{
  return (int) (pair & 0xffff);
}

__device__ __forceinline__ int
high (unsigned pair)
{
  return (int) (pair >> 16);
}

__device__ __forceinline__ unsigned
pair_of (int a, int b)
{
  return __byte_perm ((unsigned) a, (unsigned) b, 0x5410);
}

/* Returns the right sample of one pair and the left one of the next. */
__device__ __forceinline__ unsigned
between (unsigned a, unsigned b)
{
  return __byte_perm (a, b, 0x5432);
}

__device__ __forceinline__ int
mulr (int a, int b)
{
  return (a * b + 16384) >> 15;
}

/* ---- loads and stores -------------------------------------------------------- */

__device__ __forceinline__ int
to_S (const Plane &plane, int x)
{
  return plane.bits < 16 ? x << (15 - plane.bits) : x >> 1;
}

/* Returns S of two neighbours; `inside`: both are. */
template<int BYTES> __device__ __forceinline__ unsigned
load_pair (const Plane &plane, const uint8_t *row, int x, bool inside)
{
  if (BYTES == 1 && inside) {
    const unsigned v = *(const unsigned short *) (row + x);

    return (v & 0xff) << 7 | (v >> 8) << 23;
  }
  const int last = plane.width - 1;
  const int a = (int) load_sample (plane, row, min (max (x, 0), last));
  const int b = (int) load_sample (plane, row, min (max (x + 1, 0), last));

  return pair_of (to_S (plane, a), to_S (plane, b));
}

/* Loads m and c of two neighbours. */
template<int BYTES> __device__ __forceinline__ unsigned
load_state (const uint8_t *row, int x, int width, bool inside, unsigned *c)
{
  unsigned a, b;

  if (BYTES == 1) {
    if (inside) {
      const unsigned v = *(const unsigned *) (row + 2 * x);

      *c = (v & 15) | (v >> 12 & 0xf0);
      return v >> 1 & 0x7ff87ff8;
    }
    a = *(const unsigned short *) (row + 2 * min (max (x, 0), width - 1));
    b = *(const unsigned short *) (row + 2 * min (max (x + 1, 0), width - 1));
    *c = (a & 15) | (b & 15) << 4;
    return pair_of ((int) (a >> 4 << 3), (int) (b >> 4 << 3));
  }
  a = *(const unsigned *) (row + 4 * min (max (x, 0), width - 1));
  b = *(const unsigned *) (row + 4 * min (max (x + 1, 0), width - 1));
  *c = (a & 15) | (b & 15) << 4;
  return pair_of ((int) (a >> 4), (int) (b >> 4));
}

template<int BYTES> __device__ __forceinline__ void
store_state (uint8_t *row, int x, int width, unsigned m, unsigned c)
{
  if (BYTES == 1) /* a row has room for a whole pair at its end */
    *(unsigned *) (row + 2 * x) = m << 1 | (c & 15) | (c & 0xf0) << 12;
  else {
    *(unsigned *) (row + 4 * x) = (unsigned) low (m) << 4 | (c & 15);
    if (x + 1 < width)
      *(unsigned *) (row + 4 * x + 4) = (unsigned) high (m) << 4 | c >> 4;
  }
}

/* Stores step 6 of a sample. */
__device__ __forceinline__ void
store_output (const Plane &plane, int x, int y, int o, int S)
{
  const int largest = (1 << plane.bits) - 1;
  int v;

  if (plane.bits < 16)
    v = min ((o + (1 << (15 - plane.bits) >> 1)) >> (15 - plane.bits), largest);
  else
    v = min (max ((int) load_sample (plane, plane.in + y * plane.in_pitch, x) + 2 * (o - S), 0), largest);
  store_sample (plane, plane.out + y * plane.out_pitch, x, (unsigned) v);
}

/* ---- steps -------------------------------------------------------------------- */

/* Calls f (row, pair) for n_rows rows from `first` on, and for each pair from EXTRA pairs to the left of the tile to as
 * many to the right: those of the tile by a warp a row, then the others. */
template<int EXTRA, class F> __device__ __forceinline__ void
each_pair (int first, int n_rows, F f)
{
  const int lane = (int) threadIdx.x % 32, warp = (int) threadIdx.x / 32;

  for (int row = first + warp; row < first + n_rows; row += warps)
    f (row, left / 2 + lane);
  for (int i = (int) threadIdx.x; i < 2 * EXTRA * n_rows; i += threads) {
    const int k = i % (2 * EXTRA);

    f (first + i / (2 * EXTRA), k < EXTRA ? left / 2 - EXTRA + k : left / 2 + 32 - EXTRA + k);
  }
}

/* Returns the e of a sample. */
__device__ __forceinline__ int
difference (const Shared &s, int S, int m)
{
  return min (max (mulr (S - m, s.inverse[m >> 11]), -127), 127);
}

/* Sets what load_tile does for a pair. */
template<bool FIRST> __device__ __forceinline__ void
keep_pair (Shared &s, int row, int pair, unsigned S, unsigned m, unsigned c)
{
  s.S[row][pair] = S;
  s.m[row][pair] = FIRST ? S : m;
  s.c[row][pair] = (unsigned char) (FIRST ? 0 : c);
  if (!FIRST) {
    const int a = difference (s, low (S), low (m)), b = difference (s, high (S), high (m));

    s.e[row][pair] = pair_of (a + 127, b + 127);
    s.size[row][pair] = pair_of (abs (a), abs (b));
  }
}

/* Loads the tile and what lies around it; all loads of a thread's rows before what is computed of them. INSIDE: all
 * columns are in the plane, and an aligned word holds two pairs of its samples of 8 bits. */
template<int BYTES, bool FIRST, bool INSIDE> __device__ __forceinline__ void
load_rows (const Plane &plane, const uint8_t *state, int state_pitch, int x0, int y0, Shared &s)
{
  constexpr int each = (rows + warps - 1) / warps, extra = left;
  const int lane = (int) threadIdx.x % 32, warp = (int) threadIdx.x / 32;
  unsigned S[each], m[each], c[each];

#pragma unroll
  for (int part = 0; part < 2; part++) {
    /* the pairs of the tile, a row for each warp; then the others, four rows for each */
    const int pair = part == 0 ? left / 2 + lane : lane % extra < extra / 2 ? lane % extra : 32 + lane % extra;
    const int first = part == 0 ? warp : 4 * warp + lane / extra, step = part == 0 ? warps : 4 * warps;
    const int n = part == 0 ? each : (rows + 4 * warps - 1) / (4 * warps);

#pragma unroll
    for (int k = 0; k < n; k++) {
      const int x = x0 - left + 2 * pair, y = min (max (y0 - above + first + k * step, 0), plane.height - 1);

      S[k] = load_pair<BYTES> (plane, plane.in + y * plane.in_pitch, x, INSIDE);
      if (!FIRST)
        m[k] = load_state<BYTES> (state + (long long) y * state_pitch, x, plane.width, INSIDE, &c[k]);
    }
#pragma unroll
    for (int k = 0; k < n; k++)
      if (first + k * step < rows)
        keep_pair<FIRST> (s, first + k * step, pair, S[k], m[k], c[k]);
  }
}

template<int BYTES, bool FIRST> __device__ __forceinline__ void
load_tile (const Plane &plane, const uint8_t *state, int state_pitch, int x0, int y0, Shared &s)
{
  if (BYTES == 1 && plane.in_words && plane.step == 1 && x0 >= left && x0 + tile_w + left <= plane.width)
    load_rows<BYTES, FIRST, true> (plane, state, state_pitch, x0, y0, s);
  else
    load_rows<BYTES, FIRST, false> (plane, state, state_pitch, x0, y0, s);
}

/* Adds up e along the rows. No half overflows, so whole words are added. */
__device__ __forceinline__ void
add_up (Shared &s)
{
  each_pair<2> (0, rows, [&] (int row, int at) {
    const unsigned *e = &s.e[row][at], *size = &s.size[row][at];
    const unsigned l = e[-1], c = e[0], r = e[1];
    const unsigned a = size[-2], b = size[-1], d = size[0], f = size[1], g = size[2];

    s.sum5[row][at] = l + between (l, c) + c + between (c, r) + r;
    s.sum7[row][at] = between (a, b) + b + between (b, d) + d + between (d, f) + f + between (f, g);
  });
}

/* Returns `moved` of a sample as bits: 1 perhaps, 2 surely. */
__device__ __forceinline__ unsigned
decide (const Shared &s, int a, int b, unsigned c)
{
  const unsigned sums = pair_of (abs (a - 25 * 127), b);

  return (__viaddmax_s16x2 (sums, s.maybe[c], 0) ? 1 : 0) | (__viaddmax_s16x2 (sums, s.surely[c], 0) ? 2 : 0);
}

/* Sets `moved`, in place of e. */
__device__ __forceinline__ void
decide_tile (Shared &s)
{
  each_pair<2> (3, tile_h + 6, [&] (int row, int at) {
    unsigned a = s.sum5[row - 2][at], b = s.sum7[row - 3][at];

#pragma unroll
    for (int k = -1; k <= 2; k++)
      a += s.sum5[row + k][at];
#pragma unroll
    for (int k = -2; k <= 3; k++)
      b += s.sum7[row + k][at];
    s.e[row][at] = decide (s, low (a), low (b), s.c[row][at] & 15)
        | decide (s, high (a), high (b), s.c[row][at] >> 4) << 16;
  });
}

/* Copies the nearest sample inside to the places outside of an array, up to `reach` from the tile. */
__device__ __forceinline__ void
extend (const Plane &plane, int x0, int y0, int reach, Array array)
{
  const int top = max (0, -(y0 - above)), bottom = min (rows, plane.height - (y0 - above)) - 1;
  const int first = max (0, -(x0 - left)), last = min (2 * pairs, plane.width - (x0 - left)) - 1;
  const int h = tile_h + 2 * reach, width = tile_w + 2 * reach;

  for (int i = (int) threadIdx.x; i < width * h; i += threads) {
    const int row = above - reach + i / width, column = left - reach + i % width;
    const int from_row = min (max (row, top), bottom), from = min (max (column, first), last);

    if (from_row != row || from != column)
      ((unsigned short *) array[row])[column] = ((const unsigned short *) array[from_row])[from];
  }
}

/* Returns the new m of a sample, and sets its new c - 1. */
template<int BYTES> __device__ __forceinline__ int
follow (const Shared &s, unsigned moved, int S, int m, unsigned *c)
{
  if (moved & 2) {
    *c = 0;
    return S;
  }
  *c = min (*c + 1, moved ? 1 : CF_DENOISE_FRAMES - 1);
  m += mulr (S - m, s.part[*c]);
  return BYTES == 1 ? min (4095, (m + 4) >> 3) << 3 : m;
}

/* Makes the new m and c, in place. */
template<int BYTES, bool FIRST> __device__ __forceinline__ void
follow_tile (const Plane &plane, uint8_t *state, int state_pitch, int x0, int y0, Shared &s)
{
  each_pair<1> (above - 2, tile_h + 4, [&] (int row, int at) {
    const int x = x0 - left + 2 * at, y = y0 - above + row;
    unsigned m = s.m[row][at], c = s.c[row][at];

    if (!FIRST) {
      unsigned moved = 0;

#pragma unroll
      for (int k = -1; k <= 1; k++) {
        const unsigned *v = &s.e[row + k][at];

        moved |= v[0] | between (v[-1], v[0]) | between (v[0], v[1]);
      }
      const unsigned S = s.S[row][at];
      unsigned a = c & 15, b = c >> 4;
      const int m0 = follow<BYTES> (s, moved & 3, low (S), low (m), &a);
      const int m1 = follow<BYTES> (s, moved >> 16, high (S), high (m), &b);

      m = pair_of (m0, m1);
      c = a | b << 4;
      s.m[row][at] = m;
      s.c[row][at] = (unsigned char) c;
    }
    if (row >= above && row < above + tile_h && at >= left / 2 && at < left / 2 + tile_w / 2 && x < plane.width
        && y < plane.height)
      store_state<BYTES> (state + (long long) y * state_pitch, x, plane.width, m, c);
  });
}

/* A pair whose neighbours are looked at: m, -m, m + 1 and u. */
struct Centre {
  unsigned m, minus, plus_1, u;
};

/* Adds psi of a pair of neighbours: the positive ones to `more`, the negative ones to `less`. `not_q` is -q - 1. */
__device__ __forceinline__ void
add_psi (unsigned q, unsigned not_q, const Centre &at, unsigned *more, unsigned *less)
{
  const unsigned d = __viaddmin_s16x2 (q, at.minus, 0x7fff7fff);
  const unsigned minus_d = __viaddmin_s16x2 (not_q, at.plus_1, 0x7fff7fff);

  *more += __viaddmin_s16x2_relu (minus_d, at.u, d);
  *less += __viaddmin_s16x2_relu (d, at.u, minus_d);
}

/* A row of m around a pair: 2 and 1 samples to the left, its own place, 1 and 2 to the right; and the same inverted. */
struct Row {
  unsigned m[5], not_m[5];
};

__device__ __forceinline__ void
load_row (const unsigned *m, Row *r)
{
  r->m[0] = m[-1];
  r->m[2] = m[0];
  r->m[4] = m[1];
  r->m[1] = between (r->m[0], r->m[2]);
  r->m[3] = between (r->m[2], r->m[4]);
#pragma unroll
  for (int k = 0; k < 5; k++)
    r->not_m[k] = ~r->m[k];
}

/* Adds mulr of a ring's sums, W being its weight, to the two o. */
template<int W> __device__ __forceinline__ void
add_ring (unsigned more, unsigned less, int o[2])
{
  const unsigned sum = more + 0x80008000 - less; /* biased by 2^15 */

  o[0] += (low (sum) * W + 16384 - 32768 * W) >> 15;
  o[1] += (high (sum) * W + 16384 - 32768 * W) >> 15;
}

/* Adds to the two o of a pair what its neighbours in five rows of m make of it. */
__device__ __forceinline__ void
smooth (const Row *r0, const Row *r1, const Row *r2, const Row *r3, const Row *r4, unsigned u, int o[2])
{
  const Centre at = { r2->m[2], __viaddmin_s16x2 (r2->not_m[2], 0x00010001, 0x7fff7fff), r2->m[2] + 0x00010001, u };
  unsigned more = 0, less = 0;

#define ADD(row, k) add_psi (row->m[k], row->not_m[k], at, &more, &less)
  ADD (r2, 1), ADD (r2, 3), ADD (r1, 2), ADD (r3, 2);
  add_ring<2521> (more, less, o);
  more = less = 0;
  ADD (r1, 1), ADD (r1, 3), ADD (r3, 1), ADD (r3, 3);
  add_ring<2206> (more, less, o);
  more = less = 0;
  ADD (r2, 0), ADD (r2, 4), ADD (r0, 2), ADD (r4, 2);
  add_ring<1576> (more, less, o);
  more = less = 0;
  ADD (r0, 0), ADD (r0, 4), ADD (r4, 0), ADD (r4, 4);
  add_ring<945> (more, less, o);
#undef ADD
}

/* Filters the tile. A thread has a pair of columns and four rows. */
template<int BYTES> __device__ __forceinline__ void
smooth_tile (const Plane &plane, int x0, int y0, const Shared &s)
{
  constexpr int each = tile_w / 2 * tile_h / threads;
  const int at = left / 2 + (int) threadIdx.x % (tile_w / 2), first = (int) threadIdx.x / (tile_w / 2) * each;
  const int x = x0 - left + 2 * at;
  Row r[5];

#pragma unroll
  for (int k = 0; k < 4; k++)
    load_row (&s.m[above + first - 2 + k][at], &r[k]);
#pragma unroll
  for (int k = 0; k < each; k++) {
    const int row = above + first + k, y = y0 + first + k;
    const unsigned c = s.c[row][at], m = s.m[row][at], S = s.S[row][at];
    int o[2] = { low (m), high (m) };

    load_row (&s.m[row + 2][at], &r[(k + 4) % 5]);
    smooth (&r[k % 5], &r[(k + 1) % 5], &r[(k + 2) % 5], &r[(k + 3) % 5], &r[(k + 4) % 5],
        pair_of (s.reach[low (m) >> 11][c & 15], s.reach[m >> 27][c >> 4]), o);
    if (x >= plane.width || y >= plane.height)
      continue;
    o[0] = min (max (o[0], 0), 32767);
    o[1] = min (max (o[1], 0), 32767);
    if (BYTES == 1 && plane.out_words && x + 1 < plane.width)
      *(unsigned short *) (plane.out + y * plane.out_pitch + x)
          = (unsigned short) (min ((o[0] + 64) >> 7, 255) | min ((o[1] + 64) >> 7, 255) << 8);
    else {
      store_output (plane, x, y, o[0], low (S));
      if (x + 1 < plane.width)
        store_output (plane, x + 1, y, o[1], high (S));
    }
  }
}

/* ---- the estimate --------------------------------------------------------------- */

/* Returns S >> 3 of a pair. */
__device__ __forceinline__ unsigned
eighth (unsigned pair)
{
  return pair >> 3 & 0x1fff1fff;
}

/* Returns the sum of |L| of eight samples of a row, with neighbours K away: the bend along the row of the bend down the
 * columns. A word holds both halves of a pair through sums of any sign; a bias keeps the results positive. */
template<int K> __device__ __forceinline__ int
bends (const Shared &s, int row, int at)
{
  unsigned bend[6];
  int sum = 0;

#pragma unroll
  for (int k = 0; k < 6; k++)
    bend[k] = 2 * eighth (s.S[row][at + k - 1]) + 0x20002000 - eighth (s.S[row - K][at + k - 1])
        - eighth (s.S[row + K][at + k - 1]);
#pragma unroll
  for (int k = 1; k < 5; k++) {
    const unsigned l = K == 1 ? between (bend[k - 1], bend[k]) : bend[k - 1];
    const unsigned r = K == 1 ? between (bend[k], bend[k + 1]) : bend[k + 1];
    const unsigned bent = 2 * bend[k] + 0x80008000 - l - r;

    sum += abs (low (bent) - 32768) + abs (high (bent) - 32768);
  }
  return sum;
}

/* Counts the tile's blocks of 8 x 8: eight threads each. */
template<int BYTES, bool FIRST> __device__ __forceinline__ void
count_tile (const Plane &plane, int x0, int y0, const Shared &s, Noise *noise)
{
  const int block = (int) threadIdx.x / 8, x = block % (tile_w / 8) * 8, y = block / (tile_w / 8) * 16;
  const int row = above + y + (int) threadIdx.x % 8, at = (left + x) / 2;
  const int top = plane.bits == 16 ? 32767 : ((1 << plane.bits) - 1) << (15 - plane.bits);
  int sum[5] = { }; /* t, s, w, S, extreme samples */

  static_assert (tile_w / 8 * tile_h / 2 <= threads, "a row of a block for each thread");
  if ((int) threadIdx.x / 32 * 32 >= tile_w / 8 * tile_h / 2)
    return;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const unsigned S = s.S[row][at + k], m = s.m[row][at + k], c = s.c[row][at + k];

    sum[3] += low (S) + high (S);
    sum[4] += (low (S) == 0 || low (S) == top) + (high (S) == 0 || high (S) == top);
    if (!FIRST)
      sum[0] += mulr (abs (low (S) - low (m)), s.still[c & 15]) + mulr (abs (high (S) - high (m)), s.still[c >> 4]);
  }
  sum[1] = bends<1> (s, row, at);
  if (!FIRST)
    sum[2] = bends<2> (s, row, at);
#pragma unroll
  for (int i = 0; i < 5; i++) {
    sum[i] += __shfl_xor_sync (0xffffffff, sum[i], 1);
    sum[i] += __shfl_xor_sync (0xffffffff, sum[i], 2);
    sum[i] += __shfl_xor_sync (0xffffffff, sum[i], 4);
  }
  if (threadIdx.x % 8 == 0 && x0 + x + 8 <= plane.width && y0 + y + 8 <= plane.height && sum[4] <= 16) {
    const int z = sum[3] >> 18;

    atomicAdd (&noise->counts.bin[1][z][min (sum[1] / 768, CF_DENOISE_BINS - 1)], 1);
    if (!FIRST) {
      atomicAdd (&noise->counts.bin[0][z][min (sum[0] >> 10, CF_DENOISE_BINS - 1)], 1);
      atomicAdd (&noise->counts.bin[2][z][min (sum[2] / 768, CF_DENOISE_BINS - 1)], 1);
    }
  }
}

/* A warp's share of a histogram: eight bins a thread. Read past the L1 cache, and cleared. */
__device__ __forceinline__ int
take_bins (uint32_t *bins, unsigned bin[8])
{
  const int lane = (int) threadIdx.x % 32;
  unsigned sum = 0;

#pragma unroll
  for (int i = 0; i < 8; i++) {
    bin[i] = __ldcg (&bins[8 * lane + i]);
    bins[8 * lane + i] = 0;
    sum += bin[i];
  }
  return (int) sum;
}

/* Returns the sum of a warp's values up to the thread's own. */
__device__ __forceinline__ int
running_sum (int v)
{
  const int lane = (int) threadIdx.x % 32;

#pragma unroll
  for (int k = 1; k < 32; k *= 2) {
    const int other = __shfl_up_sync (0xffffffff, v, (unsigned) k);

    v += lane >= k ? other : 0;
  }
  return v;
}

/* Returns Q (bins, k) for a warp; `before`: the sum of the bins before the thread's. */
__device__ __forceinline__ int
warp_quantile (const unsigned bin[8], int before, int k)
{
  int not_above = 0; /* of the thread's bins, how many running sums are not above k */

#pragma unroll
  for (int i = 0; i < 8; i++) {
    before += (int) bin[i];
    not_above += before <= k;
  }
  const int first = __shfl_sync (0xffffffff, running_sum (not_above), 31);

  return cf_denoise_quantile (min (first, CF_DENOISE_BINS - 1));
}

/* What the last block finds of a zone: its blocks, and what est is if it is known. */
struct Found {
  int n[CF_MAX_VIEWS][CF_DENOISE_ZONES], est[CF_MAX_VIEWS][CF_DENOISE_ZONES];
};

/* Takes the counts of all views into their sigma. All threads of the last block: a warp has a zone, then a thread. */
template<bool FIRST> __device__ __forceinline__ void
learn (const DenoiseWork &w, Found &found)
{
  const int zone = (int) threadIdx.x / 32, view_of_thread = (int) threadIdx.x / CF_DENOISE_ZONES;

  static_assert (warps >= CF_DENOISE_ZONES, "a zone for each warp");
  for (int view = 0; view < w.launch.n && zone < CF_DENOISE_ZONES; view++) {
    unsigned bin[3][8];
    int before[3], n = 0;

    if (!w.launch.plane[view].filtered)
      continue;
#pragma unroll
    for (int h = 0; h < 3; h++) {
      const int sum = take_bins (w.noise[view].counts.bin[h][zone], bin[h]), up_to = running_sum (sum);

      before[h] = up_to - sum;
      if (h == 1)
        n = __shfl_sync (0xffffffff, up_to, 31);
    }
    const int s = warp_quantile (bin[1], before[1], n / 16), t = warp_quantile (bin[0], before[0], n / 4);
    const int wide = warp_quantile (bin[2], before[2], n / 16);

    found.n[view][zone] = n;
    found.est[view][zone] = FIRST ? s * 430 >> 8 : cf_denoise_zone (s, t, wide);
  }
  __syncthreads ();
  if (view_of_thread >= w.launch.n || !w.launch.plane[view_of_thread].filtered)
    return;
  const int z = (int) threadIdx.x % CF_DENOISE_ZONES;
  int *sigma = &w.noise[view_of_thread].sigma[z];

  *sigma = cf_denoise_learn (found.n[view_of_thread], found.est[view_of_thread], z, FIRST, FIRST ? 0 : *sigma);
  w.report[threadIdx.x] = *sigma;
}

/* Has the last block of the launch learn. All threads. */
template<bool FIRST> __device__ __forceinline__ void
finish_counts (const DenoiseWork &w, Shared &s)
{
  __syncthreads ();
  if (threadIdx.x == 0) {
    __threadfence (); /* of what the whole block has counted: the barrier comes before it */
    s.last = atomicInc (w.ticket, (unsigned) w.launch.blocks - 1) == (unsigned) w.launch.blocks - 1;
    __threadfence ();
  }
  __syncthreads ();
  if (!s.last)
    return;
  learn<FIRST> (w, *(Found *) s.sum5);
}

/* ---- kernels ---------------------------------------------------------------------- */

/* Sets the tables of the block. */
__device__ __forceinline__ void
fill_tables (const DenoiseWork &w, int view, Shared &s)
{
  const int i = (int) threadIdx.x % CF_DENOISE_FRAMES, level = (int) threadIdx.x / CF_DENOISE_FRAMES;
  const int *sigma = w.noise[view].sigma;

  static_assert (threads >= CF_DENOISE_FRAMES * CF_DENOISE_LEVELS, "an entry of a table for each thread");
  if (level >= CF_DENOISE_LEVELS)
    return;
  const CfDenoiseLevel l = w.set_sigma >= 0 ? cf_denoise_level (w.set_sigma, w.set_sigma, w.strength)
                                            : cf_denoise_level (sigma[max (0, level - 1) / 2],
                                                sigma[min (CF_DENOISE_LEVELS - 1, level + 1) / 2], w.strength);

  s.reach[level][i] = min (16383, (int) ((unsigned) l.reach * w.tables.left[i] >> 16));
  if (i == 0)
    s.inverse[level] = l.inverse;
  if (level == 0) {
    s.maybe[i] = pair_of (-w.tables.a1[i], -w.tables.b1[i]);
    s.surely[i] = pair_of (-w.tables.a2[i], -w.tables.b2[i]);
    s.part[i] = w.tables.part[i];
    s.still[i] = w.tables.still[i];
  }
}

/* Filters a tile. FIRST: a frame without a state. */
template<int BYTES, bool FIRST> __global__ void __launch_bounds__ (threads, per_sm)
denoise_kernel (const __grid_constant__ DenoiseWork w)
{
  extern __shared__ Shared shared[];
  Shared &s = *shared;
  const Plane &of_block = plane_of_block (w.launch, (int) blockIdx.x), plane = of_block;
  const int block = (int) blockIdx.x - plane.first_block, view = (int) (&of_block - w.launch.plane);
  const int x0 = block % plane.blocks_x * tile_w, y0 = block / plane.blocks_x * tile_h;
  const bool border = x0 < 3 || y0 < 3 || x0 + tile_w + 3 > plane.width || y0 + tile_h + 3 > plane.height;

  griddep_wait ();
  if (!plane.filtered)
    copy_tile (plane, x0, y0, tile_w, tile_h, (int) threadIdx.x, threads);
  else {
    fill_tables (w, view, s);
    __syncthreads ();
    load_tile<BYTES, FIRST> (plane, w.before + w.offset[view], w.pitch[view], x0, y0, s);
    __syncthreads ();
    if (!FIRST) {
      if (w.estimates)
        count_tile<BYTES, false> (plane, x0, y0, s, &w.noise[view]);
      add_up (s);
      __syncthreads ();
      decide_tile (s);
      __syncthreads ();
      if (border) {
        extend (plane, x0, y0, 3, s.e);
        __syncthreads ();
      }
    }
    follow_tile<BYTES, FIRST> (plane, w.after + w.offset[view], w.pitch[view], x0, y0, s);
    __syncthreads ();
    if (border && !FIRST) {
      extend (plane, x0, y0, 2, s.m);
      __syncthreads ();
    }
    smooth_tile<BYTES> (plane, x0, y0, s);
    if (w.set_sigma >= 0 && block == 0 && threadIdx.x < CF_DENOISE_ZONES)
      w.noise[view].sigma[threadIdx.x] = w.set_sigma; /* for the frame with which the estimate begins */
  }
  if (!FIRST && w.estimates)
    finish_counts<false> (w, s);
}

/* Estimates the noise of the first frame. */
template<int BYTES> __global__ void __launch_bounds__ (threads, per_sm)
denoise_first_kernel (const __grid_constant__ DenoiseWork w)
{
  extern __shared__ Shared shared[];
  Shared &s = *shared;
  const Plane &of_block = plane_of_block (w.launch, (int) blockIdx.x), plane = of_block;
  const int block = (int) blockIdx.x - plane.first_block, view = (int) (&of_block - w.launch.plane);
  const int x0 = block % plane.blocks_x * tile_w, y0 = block / plane.blocks_x * tile_h;

  griddep_wait ();
  if (plane.filtered) {
    load_tile<BYTES, true> (plane, NULL, 0, x0, y0, s);
    __syncthreads ();
    count_tile<BYTES, true> (plane, x0, y0, s, &w.noise[view]);
  }
  finish_counts<true> (w, s);
}

/* ---- the plan ----------------------------------------------------------------------- */

/* By the bytes of a sample: for a frame with a state before it, and without; then for the noise of a first frame. */
const void *const kernels[] = { (const void *) denoise_kernel<1, false>, (const void *) denoise_kernel<1, true>,
  (const void *) denoise_kernel<2, false>, (const void *) denoise_kernel<2, true>,
  (const void *) denoise_first_kernel<1>, (const void *) denoise_first_kernel<2> };

struct DenoiseState {
  int *report;     /* pinned: sigma of all views, which the kernels write */
  int reported;    /* the first view that is filtered; -1: none is, or none yet */
  uint8_t *memory; /* the state twice, the noise of all views, the ticket */
  size_t size;     /* of one state, bytes */
  bool pdl; /* see launch_kernel () */
  bool begun;
  int current; /* the state that the next frame reads */
  CfApplyTo apply_to;
  DenoiseWork work; /* all but what changes with each frame */
};

DenoiseState *
denoise_state (const CfPlan *plan)
{
  return static_cast<DenoiseState *> (plan->state);
}

/* Sets the place of the state of each component, whatever apply-to will be. Returns the bytes of all. */
size_t
lay_out (const CfPlan *plan, DenoiseWork *w)
{
  const CfCommon all = { };
  const size_t bytes = cf_format_info (plan->video.format)->bits == 8 ? 2 : 4;
  CfImage image = { };
  CfView views[CF_MAX_VIEWS];
  size_t size = 0;

  image.format = plan->video.format;
  const int n = cf_image_views (&plan->video, &all, &image, views);

  for (int i = 0; i < n; i++) {
    w->pitch[i] = (int) (((size_t) views[i].width * bytes + 63) / 64 * 64);
    w->offset[i] = (long long) size;
    if (views[i].filtered)
      size += (size_t) w->pitch[i] * (size_t) views[i].height;
  }
  return size;
}

CfCode
denoise_init (CfPlan *plan, CfStatus *status)
{
  DenoiseState *s = denoise_state (plan);
  const size_t noise = CF_MAX_VIEWS * sizeof (Noise), ticket = 64;
  CfCode code = CF_OK;

  s->pdl = true;
  for (const void *kernel : kernels) {
    cudaFuncAttributes attributes = { };

    if (code == CF_OK)
      code = cf_cuda_check (cudaFuncGetAttributes (&attributes, kernel), "loading the denoiser's kernels", status);
    if (code == CF_OK)
      code = cf_cuda_check (cudaFuncSetAttribute (kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
          (int) sizeof (Shared)), "the shared memory of the denoiser", status);
    s->pdl = s->pdl && attributes.ptxVersion >= 90;
  }
  if (code != CF_OK)
    return code;
  s->size = lay_out (plan, &s->work);
  s->memory = static_cast<uint8_t *> (cf_gpu_alloc (CF_DEVICE, 2 * s->size + noise + ticket, status));
  s->report = s->memory ? static_cast<int *> (cf_gpu_alloc (CF_PINNED, CF_MAX_VIEWS * sizeof (Noise::sigma), status))
                        : NULL;
  if (!s->report)
    return status->code;
  memset (s->report, 0, CF_MAX_VIEWS * sizeof (Noise::sigma));
  s->work.report = s->report;
  s->reported = -1;
  s->work.noise = reinterpret_cast<Noise *> (s->memory + 2 * s->size);
  s->work.ticket = reinterpret_cast<unsigned *> (s->memory + 2 * s->size + noise);
  s->work.tables = cf_denoise_tables;
  s->apply_to = plan->common.apply_to;
  return code;
}

void
denoise_free (CfPlan *plan)
{
  if (denoise_state (plan)->report)
    cf_gpu_free (CF_PINNED, denoise_state (plan)->report);
  cf_gpu_free (CF_DEVICE, denoise_state (plan)->memory);
}

void
denoise_reset (CfPlan *plan)
{
  denoise_state (plan)->begun = false;
}

CfCode
denoise_update (CfPlan *plan, CfStatus *status)
{
  DenoiseState *s = denoise_state (plan);

  (void) status;
  if (s->apply_to != plan->common.apply_to || cf_denoise_is_off (static_cast<CfDenoiseParams *> (plan->params)))
    denoise_reset (plan);
  s->apply_to = plan->common.apply_to;
  return CF_OK;
}

bool
denoise_noise (CfPlan *plan, double noise[CF_NOISE_ZONES])
{
  const DenoiseState *s = denoise_state (plan);

  if (s->reported < 0 || static_cast<CfDenoiseParams *> (plan->params)->noise >= 0)
    return false;
  for (int z = 0; z < CF_NOISE_ZONES; z++)
    noise[z] = ((const volatile int *) s->report)[s->reported * CF_NOISE_ZONES + z] / 128.0;
  return true;
}

CfCode
launch (const DenoiseState *s, DenoiseWork *w, bool narrow, cudaStream_t stream, CfStatus *status)
{
  const dim3 size (threads);
  void *arguments[] = { w };
  CfCode code = CF_OK;

  if (w->first && w->estimates)
    code = launch_kernel ("denoise: the noise of the first frame", narrow ? kernels[4] : kernels[5], w->launch.blocks,
        size, arguments, sizeof (Shared), s->pdl, stream, status);
  if (code == CF_OK)
    code = launch_kernel ("denoise", kernels[2 * !narrow + w->first], w->launch.blocks, size, arguments,
        sizeof (Shared), s->pdl, stream, status);
  return code;
}

CfCode
denoise_enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  const CfDenoiseParams *p = static_cast<const CfDenoiseParams *> (plan->params);
  cudaStream_t handle = static_cast<cudaStream_t> (cf_stream_handle (stream));
  const bool off = cf_denoise_is_off (p);
  DenoiseState *s = denoise_state (plan);
  DenoiseWork w = s->work;
  CfCode code;

  make_launch (plan, in, out, 0, &w.launch);
  deal_blocks (&w.launch, tile_w, tile_h);
  s->reported = -1;
  for (int i = w.launch.n - 1; i >= 0; i--) {
    w.launch.plane[i].filtered = w.launch.plane[i].filtered && !off;
    if (w.launch.plane[i].filtered)
      s->reported = i;
  }
  w.before = s->memory + (size_t) s->current * s->size;
  w.after = s->memory + (size_t) !s->current * s->size;
  w.set_sigma = p->noise < 0 ? -1 : (int) (p->noise * 128 + 0.5);
  w.strength = p->strength;
  w.first = !s->begun;
  w.estimates = p->noise < 0 && !off;
  code = launch (s, &w, cf_format_info (plan->video.format)->bytes == 1, handle, status);
  s->current = !s->current;
  s->begun = code == CF_OK && !off;
  return code;
}

} // namespace

extern "C" const CfOps cf_denoise_cuda = {
  .state_size = sizeof (DenoiseState),
  .init = denoise_init,
  .update = denoise_update,
  .enqueue = denoise_enqueue,
  .reset = denoise_reset,
  .free = denoise_free,
  .noise = denoise_noise,
};
