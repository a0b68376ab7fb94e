/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * denoise/gpu/plan.cu: the denoiser on CUDA: its plan and its kernels. The names are those of denoise.h.
 *
 * A block of 8 warps has a tile of 112 x 64 samples of a view. A warp does a row at a time, and a thread has a QUAD of
 * four samples of it: lanes 2 to 29 those of the tile, the others what lies beside it. Each step needs fewer rows than
 * the one before:
 *   count    the tile's blocks of 8 x 8              half a row of blocks for each warp
 *   take     e, and its sums along the row           y - 6 .. y + 69
 *   decide   moved, the largest of three neighbours  y - 3 .. y + 66
 *   follow   the new m and c                         y - 2 .. y + 65; the tile's own are kept for the next frame
 *   smooth   the output                              the tile
 * Between steps rows are in shared memory, 49 KB; neighbours in a row come from the lanes beside.
 * Samples stand in PAIRS: two neighbours in the halves of a word. Whole words are added and subtracted, which is exact
 * wherever both halves of the result are in 0 .. 65535; a bias keeps them there.
 * What lies outside the plane is the nearest sample inside: S and the state are read so, and so are the rows of `moved`
 * and of the new m; in the columns outside these are copied after they are made.
 *
 * Races: a barrier follows each step. A step writes words that no other thread reads in it. The state is read from one
 * copy and written to the other one, and so is sigma. Blocks count with atomics, in counts that take turns: others, the
 * first of the launch, learn from those of the frame before and clear them. Frames are queued on one stream. */
#include "core/gpu/launch.cuh"
#include "denoise/noise.h"

namespace {

using namespace cf;

constexpr int warps = 8, threads = 32 * warps, per_sm = 4;
constexpr int tile_w = 112, tile_h = 8 * warps, beside = 8, above = 6, rows = tile_h + 2 * above;
constexpr int first_lane = beside / 4, last_lane = first_lane + tile_w / 4 - 1;

/* What a view keeps from frame to frame, twice: a frame takes the sigma of its turn, and counts to the counts of its
 * turn; at the same time the counts of the frame before make the sigma of the next one. */
struct Noise {
  int sigma[2][CF_DENOISE_ZONES];
  CfDenoiseCounts counts[2];
};

/* What becomes of counts: the sigma of a first frame; that of the next frame; nothing. */
enum Learning { START, GO_ON, FORGET };

struct DenoiseWork {
  Launch launch;
  const uint8_t *before; /* the state of all views */
  uint8_t *after;
  CfDenoiseLayout layout;
  Noise *noise; /* of all views */
  int *report;   /* pinned: the latest sigma of all views */
  int set_sigma; /* -1: estimated */
  int strength;
  bool estimates;
  int learns; /* the first blocks learn from the frame before, one for each view; 0: there are none */
  int turn;
  CfDenoiseTables tables;
};

/* What a thread counts of a block: t, s, w, the sum of S, and of how many samples S is neither 0 nor the largest,
 * beyond one for each. */
struct Sums {
  unsigned t, s, w, S, plain;
};

/* What is found of a zone: its blocks, and what est is if it is known. */
struct Found {
  int n[CF_DENOISE_ZONES], est[CF_DENOISE_ZONES];
};

/* Tables for the block, those of c at c - 1; and of each row and lane what one step leaves for the next. */
struct Shared {
  uint2 inverse[CF_DENOISE_LEVELS];                     /* factors: r */
  uint2 part[CF_DENOISE_FRAMES];                        /* factors: 2^15 / c, with a bias of 2^15 */
  uint2 still[CF_DENOISE_FRAMES];                       /* factors: R */
  uint2 limits[CF_DENOISE_FRAMES];                      /* pairs a1, b1 and a2, b2, with the top bits set */
  unsigned reach[CF_DENOISE_LEVELS][CF_DENOISE_FRAMES]; /* h */
  union {
    uint2 sum5[rows][32]; /* of e, with a bias of 127 for each */
    uint2 mean[rows][32]; /* ~(new m >> 1) */
  };
  union {
    uint2 sum7[rows][32]; /* of |e| */
    uint2 h[rows][32];    /* and the lowest bit of the new m, as the highest */
    Found found;        /* of a block that learns */
  };
  union {
    unsigned c[rows][32];     /* bytes: 8 (c - 1) */
    unsigned moved[rows][32]; /* as decide () says */
  };
  Sums sums[warps][16];
};

static_assert (sizeof (Shared) <= 65536, "a block fits on every GPU from capability 7.5 on");

/* ---- pairs and quads ------------------------------------------------------- */

constexpr unsigned half = 0x80008000; /* 2^15 in both halves */

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

/* Returns the right sample of one pair and the left one of the next. */
__device__ __forceinline__ unsigned
between (unsigned a, unsigned b)
{
  return __byte_perm (a, b, 0x5432);
}

/* Returns a pair of bytes of a quad, as a pair. */
__device__ __forceinline__ unsigned
bytes_pair (unsigned quad, int pair)
{
  return __byte_perm (quad, 0, pair ? 0x4342 : 0x4140);
}

/* Returns 0xff for each half of two words with the top bit set, 0 for the others. */
__device__ __forceinline__ unsigned
top_bits (unsigned a, unsigned b)
{
  unsigned bytes;

  asm ("prmt.b32 %0, %1, %2, 0xfdb9;" : "=r" (bytes) : "r" (a), "r" (b));
  return bytes;
}

__device__ __forceinline__ uint2
entry (const uint2 *table, unsigned offset)
{
  return *(const uint2 *) ((const char *) table + offset);
}

/* Returns |v| + 2^15 of both halves, v with a bias of 2^15. */
__device__ __forceinline__ unsigned
magnitude (unsigned biased)
{
  return __vmaxu2 (biased, 0x00010000 - biased);
}

__device__ __forceinline__ unsigned
from_left (unsigned v)
{
  return __shfl_up_sync (0xffffffff, v, 1);
}

__device__ __forceinline__ unsigned
from_right (unsigned v)
{
  return __shfl_down_sync (0xffffffff, v, 1);
}

/* Returns the factors with which times () multiplies by `factor` / 2^15. */
__device__ __forceinline__ uint2
factors (unsigned factor, unsigned bias)
{
  return make_uint2 (2 * factor, 32768 - 65536 * factor + (bias << 16));
}

/* Returns mulr of both halves of a pair, which have a bias of 2^15, with the factors of each. */
__device__ __forceinline__ unsigned
times (unsigned biased, uint2 left, uint2 right)
{
  return __byte_perm ((biased & 0xffff) * left.x + left.y, (biased >> 16) * right.x + right.y, 0x7632);
}

/* ---- rows ------------------------------------------------------------------ */

/* A row as it was loaded. */
template<int BYTES> struct Raw {
  unsigned S[2], state[2 * BYTES];
};

/* A thread's place in the rows. */
struct Column {
  int x, last_row;
  bool inside; /* in the tile and in the plane */
  bool edge;   /* the tile and what lies beside it reach beyond the plane */
  bool fast;   /* S is in a word of the row or, if `second`, in two; else load_other () finds it */
  bool second;
  bool word; /* the output is an aligned word */
  /* Row 0: of the input and the state the nearest quad inside, of the new state and the output the thread's own. */
  const uint8_t *in, *before;
  uint8_t *after, *out;
  unsigned in_pitch, out_pitch, pitch;
  int source;              /* the lane that has the nearest samples inside */
  unsigned bytes, pair[2]; /* __byte_perm's selectors of these from bytes, and from two pairs */
  unsigned pick;           /* those of S from its words */
};

template<int BYTES> __device__ __forceinline__ Column
column_of (const DenoiseWork &w, const Plane &plane, int view, int x0)
{
  const int lane = (int) threadIdx.x % 32, last = plane.width - 1;
  Column c;

  c.x = x0 - beside + 4 * lane;
  c.inside = lane >= first_lane && lane <= last_lane && c.x <= last;
  c.edge = x0 == 0 || x0 + tile_w + beside > plane.width;
  const int x = min (max (c.x, 0), last & ~3);
  c.source = (x - (x0 - beside)) / 4;
  c.bytes = 0;
  c.pair[0] = c.pair[1] = 0;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const unsigned at = (unsigned) (min (max (c.x + k, 0), last) - x);

    c.bytes |= at << (4 * k);
    c.pair[k / 2] |= (2 * at | (2 * at + 1) << 4) << (8 * (k % 2));
  }
  const unsigned offset = (unsigned) ((uintptr_t) plane.in & 3);
  const bool words = plane.in_words && (x + 4 <= plane.width) && (plane.step == 1 || (plane.step == 2 && BYTES == 1));

  c.fast = __all_sync (0xffffffff, words);
  c.second = plane.step == 2 || BYTES == 2;
  c.pick = !c.fast ? 0x3210 : plane.step == 2 ? 2 * c.bytes + 0x1111 * offset : c.bytes;
  c.in = plane.in - (c.fast && plane.step == 2 ? offset : 0) + (c.fast ? x * plane.step * BYTES : 0);
  c.before = w.before + w.layout.offset[view] + 2 * BYTES * x;
  c.after = w.after + w.layout.offset[view] + 2 * BYTES * c.x;
  c.out = plane.out + c.x * plane.step * BYTES;
  c.out_pitch = (unsigned) plane.out_pitch;
  c.word = BYTES == 1 && plane.out_words && c.x + 4 <= plane.width;
  c.in_pitch = (unsigned) plane.in_pitch;
  c.pitch = (unsigned) w.layout.pitch[view];
  c.last_row = plane.height - 1;
  /* kept in registers as they are; the compiler would add up their parts again for each row */
  asm volatile ("" : "+l" (c.in), "+l" (c.before), "+l" (c.after), "+l" (c.out));
  return c;
}

/* Returns the address of row y; of a row inside. */
template<class T> __device__ __forceinline__ T *
row_at (T *first, int y, unsigned pitch)
{
  return first + (unsigned long long) (unsigned) y * pitch;
}

/* Loads a quad of another component, or across the end of a row. Not inlined: few threads do. */
template<int BYTES> __device__ __noinline__ Quad
load_other (const Plane &plane, const uint8_t *row, int x)
{
  const QuadColumn column = quad_column (plane, x);

  if (!column.words || plane.step < 2)
    return load_quad_clamped (plane, row, x);
  if (plane.step == 2)
    return load_quad<BYTES, 2> (plane, row, column);
  return plane.step == 3 ? load_quad<BYTES, 3> (plane, row, column) : load_quad<BYTES, 4> (plane, row, column);
}

/* Loads row y, or the nearest one inside. */
template<int BYTES, bool STATE> __device__ __forceinline__ void
load_row (const Plane &plane, const Column &column, int row_y, Raw<BYTES> *raw)
{
  const int y = min (max (row_y, 0), column.last_row);
  const uint8_t *const row = row_at (column.in, y, column.in_pitch);

  if (column.fast) {
    raw->S[0] = *(const unsigned *) row;
    if (column.second)
      raw->S[1] = ((const unsigned *) row)[1];
  } else {
    const Quad quad = load_other<BYTES> (plane, row, column.x);

    raw->S[0] = quad.lo;
    raw->S[1] = quad.hi;
  }
  if (!STATE)
    return;
  const uint8_t *const state = row_at (column.before, y, column.pitch);

  if (BYTES == 1) {
    const uint2 v = *(const uint2 *) state;

    raw->state[0] = v.x;
    raw->state[1] = v.y;
  } else {
    const uint4 v = *(const uint4 *) state;

    raw->state[0] = v.x;
    raw->state[1] = v.y;
    raw->state[2 * BYTES - 2] = v.z;
    raw->state[2 * BYTES - 1] = v.w;
  }
}

/* Sets S of a quad. */
template<int BYTES> __device__ __forceinline__ void
set_S (const Plane &plane, const Column &column, const Raw<BYTES> &raw, unsigned S[2])
{
  if (BYTES == 1) {
    const unsigned quad = __byte_perm (raw.S[0], raw.S[1], column.pick);

    S[0] = __byte_perm (quad, 0, 0x1404) >> 1;
    S[1] = __byte_perm (quad, 0, 0x3424) >> 1;
  } else
#pragma unroll
    for (int i = 0; i < 2; i++) {
      unsigned x = raw.S[i];

      if (column.fast) {
        const unsigned mask = (0xffffu >> plane.shift) * 0x00010001u, top = ((1u << plane.bits) - 1) * 0x00010001u;

        x = __vminu2 (__byte_perm (raw.S[0], raw.S[1], column.pair[i]) >> plane.shift & mask, top);
      }
      S[i] = plane.bits < 16 ? x << (15 - plane.bits) : x >> 1 & 0x7fff7fff;
    }
}

/* Sets m and c of a quad. */
template<int BYTES> __device__ __forceinline__ void
set_state (const Column &column, const unsigned *state, unsigned m[2], unsigned *c)
{
  if (BYTES == 1) {
    const unsigned a = __byte_perm (state[0], state[1], column.pair[0]);
    const unsigned b = __byte_perm (state[0], state[1], column.pair[1]);

    m[0] = a >> 1 & 0x7ff87ff8;
    m[1] = b >> 1 & 0x7ff87ff8;
    *c = __byte_perm (a, b, 0x6420) << 3 & 0x78787878;
  } else {
    const unsigned *const v = &state[2 * BYTES - 2];
    const unsigned p = __byte_perm (state[0] >> 4, state[1] >> 4, 0x5410);
    const unsigned q = __byte_perm (v[0] >> 4, v[1] >> 4, 0x5410);
    const unsigned ages = __byte_perm (__byte_perm (state[0], state[1], 0x0040), __byte_perm (v[0], v[1], 0x0040),
        0x5410);

    m[0] = __byte_perm (p, q, column.pair[0]);
    m[1] = __byte_perm (p, q, column.pair[1]);
    *c = __byte_perm (ages, 0, column.bytes) << 3 & 0x78787878;
  }
}

/* Returns e of a pair, with a bias of 127. */
__device__ __forceinline__ unsigned
differences (const Shared &s, unsigned S, unsigned m)
{
  const unsigned level = m >> 8 & 0x00780078;
  const unsigned e = times (S + half - m, entry (s.inverse, level & 0xffff), entry (s.inverse, level >> 16));

  return __viaddmin_s16x2_relu (e, 0x007f007f, 0x00fe00fe);
}

/* Sets the sums along the row around each sample of a quad, from its e. */
__device__ __forceinline__ void
add_up (unsigned e, uint2 *sum5, uint2 *sum7)
{
  const unsigned left = from_left (e), right = from_right (e);
  const unsigned ones = 0x01010101, size = __vabsdiffu4 (e, 0x7f7f7f7f);
  const unsigned size_left = __vabsdiffu4 (left, 0x7f7f7f7f), size_right = __vabsdiffu4 (right, 0x7f7f7f7f);
  /* what both sums of 5 have: the pairs that begin at the samples 0, 1 and 2 */
  const unsigned inner = bytes_pair (e, 0) + __byte_perm (e, 0, 0x4241) + bytes_pair (e, 1);
  const unsigned all = __dp4a (size, ones, 0u);

  sum5->x = inner + bytes_pair (left, 1) + (__byte_perm (left, e, 0x0403) & 0x00ff00ff);
  sum5->y = inner + bytes_pair (right, 0) + (__byte_perm (e, right, 0x0403) & 0x00ff00ff);
  sum7->x = __byte_perm (__dp4a (size_left, 0x01010100u, all),
      __dp4a (size_left, 0x01010000u, __dp4a (size_right, 0x00000001u, all)), 0x5410);
  sum7->y = __byte_perm (__dp4a (size_left, 0x01000000u, __dp4a (size_right, 0x00000101u, all)),
      __dp4a (size_right, 0x00010101u, all), 0x5410);
}

/* Takes all rows. The barrier is behind the first load. */
template<int BYTES> __device__ __forceinline__ void
take_rows (const Plane &plane, const Column &column, int y0, int warp, Shared &s)
{
  const int lane = (int) threadIdx.x % 32;
  Raw<BYTES> next;

  load_row<BYTES, true> (plane, column, y0 - above + warp, &next);
  __syncthreads ();
#pragma unroll 1
  for (int row = warp; row < rows; row += warps) {
    const Raw<BYTES> raw = next;
    unsigned S[2], m[2], c;

    load_row<BYTES, true> (plane, column, y0 - above + row + warps, &next);
    set_S<BYTES> (plane, column, raw, S);
    set_state<BYTES> (column, raw.state, m, &c);
    add_up (__byte_perm (differences (s, S[0], m[0]), differences (s, S[1], m[1]), 0x6420), &s.sum5[row][lane],
        &s.sum7[row][lane]);
    s.c[row][lane] = c;
  }
}

/* Returns `moved` of a quad as bytes that are or-ed to find the largest: 0x78 for 2, 0x70 for 1; other bits are of no
 * account. */
__device__ __forceinline__ unsigned
decide (const Shared &s, uint2 sum_a_of, uint2 sum_b_of, unsigned c)
{
  const unsigned sum_a[2] = { sum_a_of.x, sum_a_of.y }, sum_b[2] = { sum_b_of.x, sum_b_of.y };
  unsigned moved[2];

#pragma unroll
  for (int i = 0; i < 2; i++) {
    const unsigned a = __vmaxu2 (sum_a[i], 2 * 25 * 127 * 0x00010001u - sum_a[i]); /* with a bias of 25 x 127 */
    const unsigned x = __byte_perm (a, sum_b[i], 0x5410), y = __byte_perm (a, sum_b[i], 0x7632);
    const uint2 p = entry (s.limits, c >> (16 * i) & 0xff), q = entry (s.limits, c >> (16 * i + 8) & 0xff);
    const unsigned maybe_not = top_bits (p.x - x, q.x - y), surely_not = top_bits (p.y - x, q.y - y);

    moved[i] = (~maybe_not & 0x70707070) | (~surely_not & ~0x70707070);
  }
  return __byte_perm (moved[0], moved[1], 0x6420) | __byte_perm (moved[0], moved[1], 0x7531);
}

/* Returns the largest of each three neighbours of a row. */
__device__ __forceinline__ unsigned
widen (const Column &column, unsigned moved)
{
  if (column.edge)
    moved = __byte_perm (__shfl_sync (0xffffffff, moved, column.source), 0, column.bytes);
  return moved | __byte_perm (from_left (moved), moved, 0x6543) | __byte_perm (moved, from_right (moved), 0x4321);
}

__device__ __forceinline__ void
add (uint2 *sum, uint2 v)
{
  sum->x += v.x;
  sum->y += v.y;
}

__device__ __forceinline__ void
subtract (uint2 *sum, uint2 v)
{
  sum->x -= v.x;
  sum->y -= v.y;
}

/* Sets `moved`, in place of c. A warp goes down its share of the rows. */
__device__ __forceinline__ void
decide_rows (const Column &column, int warp, Shared &s)
{
  constexpr int n = rows - 6, share = (n + warps - 1) / warps;
  const int lane = (int) threadIdx.x % 32, first = 3 + warp * share, end = min (first + share, rows - 3);
  uint2 a = make_uint2 (0, 0), b = a;

#pragma unroll
  for (int k = -2; k < 2; k++)
    add (&a, s.sum5[first + k][lane]);
#pragma unroll
  for (int k = -3; k < 3; k++)
    add (&b, s.sum7[first + k][lane]);
#pragma unroll 1
  for (int row = first; row < end; row++) {
    add (&a, s.sum5[row + 2][lane]);
    add (&b, s.sum7[row + 3][lane]);
    s.moved[row][lane] = widen (column, decide (s, a, b, s.c[row][lane]));
    subtract (&a, s.sum5[row - 2][lane]);
    subtract (&b, s.sum7[row - 3][lane]);
  }
}

/* Makes the new m and c of all rows, and keeps those of the tile. The barrier is behind the first load. */
template<int BYTES, bool FIRST> __device__ __forceinline__ void
follow_rows (const Plane &plane, const Column &column, int y0, int warp, Shared &s)
{
  const int lane = (int) threadIdx.x % 32;
  const int top = max (0, above - y0), bottom = min (rows, plane.height - y0 + above) - 1; /* inside the plane */
  const int first = max (top, above - 2), end = min (bottom + 1, above + tile_h + 2);
  Raw<BYTES> next;

  load_row<BYTES, !FIRST> (plane, column, y0 - above + first + warp, &next);
  __syncthreads ();
#pragma unroll 1
  for (int row = first + warp; row < end; row += warps) {
    const Raw<BYTES> raw = next;
    unsigned words[2 * BYTES], mean[2], h[2], S[2], old_m[2], old_c, moved = 0;

    load_row<BYTES, !FIRST> (plane, column, y0 - above + row + warps, &next);
    set_S<BYTES> (plane, column, raw, S);
    if (!FIRST) {
      set_state<BYTES> (column, raw.state, old_m, &old_c);
      moved = s.moved[max (row - 1, top)][lane] | s.moved[row][lane] | s.moved[min (row + 1, bottom)][lane];
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
      unsigned m = S[i], c = 0;

      if (!FIRST) {
        const unsigned most = ~bytes_pair (moved, i) & 0x00780078;

        c = __viaddmin_u16x2 (bytes_pair (old_c, i), 0x00080008, most);
        m = old_m[i] - half + times (S[i] + half - old_m[i], entry (s.part, c & 0xffff), entry (s.part, c >> 16));
        if (BYTES == 1)
          m = __viaddmin_u16x2 (m, 0x00040004, 0x7fff7fff) & 0xfff8fff8;
      }
      const unsigned index = (m >> 5 & 0x03c003c0) | c >> 1;
      const char *const reach = (const char *) s.reach;

      h[i] = __byte_perm (*(const unsigned *) (reach + (index & 0xffff)), *(const unsigned *) (reach + (index >> 16)),
          0x5410);
      if (BYTES == 1) {
        mean[i] = ~(m >> 1);
        words[i] = 2 * m + (c >> 3);
      } else {
        mean[i] = ~(m >> 1 & 0x3fff3fff);
        h[i] |= m << 15 & half;
        words[BYTES * i] = (unsigned) low (m) << 4 | (unsigned) low (c) >> 3;
        words[BYTES * i + BYTES - 1] = (unsigned) high (m) << 4 | (unsigned) high (c) >> 3;
      }
    }
    if (row >= above && row < above + tile_h && column.inside) {
      uint8_t *const to = row_at (column.after, y0 - above + row, column.pitch);

      if (BYTES == 1)
        *(uint2 *) to = make_uint2 (words[0], words[1]);
      else
        *(uint4 *) to = make_uint4 (words[0], words[1], words[2 * BYTES - 2], words[2 * BYTES - 1]);
    }
    if (column.edge) {
      const unsigned a = __shfl_sync (0xffffffff, mean[0], column.source);
      const unsigned b = __shfl_sync (0xffffffff, mean[1], column.source);

      mean[0] = __byte_perm (a, b, column.pair[0]);
      mean[1] = __byte_perm (a, b, column.pair[1]);
    }
    s.mean[row][lane] = make_uint2 (mean[0], mean[1]);
    s.h[row][lane] = make_uint2 (h[0], h[1]);
  }
}

/* A row around a quad: `mean` of the pairs that begin at the samples -2, -1, 0, ... 4. */
struct Row {
  unsigned at[7];
};

__device__ __forceinline__ void
load_mean (uint2 mean, Row *r)
{
  r->at[0] = from_left (mean.y);
  r->at[2] = mean.x;
  r->at[4] = mean.y;
  r->at[6] = from_right (mean.x);
#pragma unroll
  for (int i = 1; i < 6; i += 2)
    r->at[i] = between (r->at[i - 1], r->at[i + 1]);
}

/* Adds up psi of four neighbours q of a pair, with a bias of 2^14. With d = q - m, psi is twice what d is clamped to
 * -h .. h less what it is clamped to -2 h .. 2 h. */
__device__ __forceinline__ unsigned
ring (unsigned m, unsigned h, unsigned q0, unsigned q1, unsigned q2, unsigned q3)
{
  const unsigned near = m + h + 0x00010001, far = near + h; /* q is there as -q - 1 */
  const unsigned a = __viaddmin_s16x2_relu (q0, near, 2 * h) + __viaddmin_s16x2_relu (q1, near, 2 * h)
      + __viaddmin_s16x2_relu (q2, near, 2 * h) + __viaddmin_s16x2_relu (q3, near, 2 * h);
  const unsigned b = __viaddmin_s16x2_relu (q0, far, 4 * h) + __viaddmin_s16x2_relu (q1, far, 4 * h)
      + __viaddmin_s16x2_relu (q2, far, 4 * h) + __viaddmin_s16x2_relu (q3, far, 4 * h);

  return b + 0x40004000 - 2 * a;
}

/* Sets 1024 o of a quad, from five rows. */
template<int BYTES> __device__ __forceinline__ void
smooth (const Row &r0, const Row &r1, const Row &r2, const Row &r3, const Row &r4, uint2 h_of, int o[4])
{
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int c = 2 + 2 * i;
    const unsigned m = ~r2.at[c], word = i ? h_of.y : h_of.x, h = BYTES == 1 ? word : word & ~half;
    const unsigned full = BYTES == 1 ? 2 * m : 2 * m + (word >> 15 & 0x00010001);
    const unsigned near = ring (m, h, r2.at[c - 1], r2.at[c + 1], r1.at[c], r3.at[c])
        + ring (m, h, r1.at[c - 1], r1.at[c + 1], r3.at[c - 1], r3.at[c + 1]);
    const unsigned far = ring (m, h, r2.at[c - 2], r2.at[c + 2], r0.at[c], r4.at[c])
        + ring (m, h, r0.at[c - 2], r0.at[c + 2], r4.at[c - 2], r4.at[c + 2]);
    constexpr unsigned weights = CF_DENOISE_NEAR | CF_DENOISE_FAR << 8;
    constexpr unsigned bias = 32768 * (CF_DENOISE_NEAR + CF_DENOISE_FAR);

    o[2 * i] = (int) __dp2a_lo (__byte_perm (near, far, 0x5410), weights, (full & 0xffff) * 1024 - bias);
    o[2 * i + 1] = (int) __dp2a_lo (__byte_perm (near, far, 0x7632), weights, (full >> 16) * 1024 - bias);
  }
}

/* Returns v[0 .. 3] as bytes, each the nearest value to it in 0 .. 255. */
__device__ __forceinline__ unsigned
to_bytes (const int v[4])
{
  unsigned two, four;

  asm ("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r" (two) : "r" (v[3]), "r" (v[2]));
  asm ("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r" (four) : "r" (v[1]), "r" (v[0]), "r" (two));
  return four;
}

/* Stores step 6 of a quad of row y. */
template<int BYTES> __device__ __forceinline__ void
store_row (const Plane &plane, const Column &column, int y, int o[4])
{
  uint8_t *const at = row_at (column.out, y, column.out_pitch);
  Quad quad = { };

  if (BYTES == 1) {
#pragma unroll
    for (int k = 0; k < 4; k++)
      o[k] = (o[k] + (64 << 10)) >> 17;
    quad.lo = to_bytes (o);
    if (column.word) {
      *(unsigned *) at = quad.lo;
      return;
    }
    if (plane.step == 2 && column.x + 3 < plane.width) {
#pragma unroll
      for (int k = 0; k < 4; k++)
        at[2 * k] = (uint8_t) (quad.lo >> (8 * k));
      return;
    }
  } else {
    const int drop = 15 - plane.bits, largest = (1 << plane.bits) - 1;

#pragma unroll
    for (int k = 0; k < 4; k++) {
      const int clamped = min (max (o[k] >> 10, 0), 32767);

      if (plane.bits < 16)
        o[k] = min ((clamped + (1 << drop >> 1)) >> drop, largest);
      else {
        const int x = (int) load_sample (plane, plane.in + y * plane.in_pitch, min (column.x + k, plane.width - 1));

        o[k] = min (max (x + 2 * (clamped - (x >> 1)), 0), largest);
      }
    }
    quad = Quad { (unsigned) o[0] | (unsigned) o[1] << 16, (unsigned) o[2] | (unsigned) o[3] << 16 };
  }
  store_quad (plane, plane.out + y * plane.out_pitch, column.x, quad);
}

/* Filters the tile: a warp has eight rows, four at a time. */
template<int BYTES> __device__ __forceinline__ void
smooth_rows (const Plane &plane, const Column &column, int y0, int warp, const Shared &s)
{
  constexpr int each = 4;
  const int lane = (int) threadIdx.x % 32;
  const int top = max (0, above - y0), bottom = min (rows, plane.height - y0 + above) - 1;

#pragma unroll 1
  for (int row = above + warp * each; row <= min (bottom, above + tile_h - 1); row += warps * each) {
    Row r[5];

#pragma unroll
    for (int k = 0; k < 4; k++)
      load_mean (s.mean[min (max (row - 2 + k, top), bottom)][lane], &r[k]);
#pragma unroll
    for (int k = 0; k < each; k++) {
      int o[4];

      load_mean (s.mean[min (row + k + 2, bottom)][lane], &r[(k + 4) % 5]);
      smooth<BYTES> (r[k % 5], r[(k + 1) % 5], r[(k + 2) % 5], r[(k + 3) % 5], r[(k + 4) % 5], s.h[row + k][lane], o);
      if (column.inside && row + k <= bottom)
        store_row<BYTES> (plane, column, y0 - above + row + k, o);
    }
  }
}

/* ---- the estimate ------------------------------------------------------------ */

/* Returns P, as a pair. */
__device__ __forceinline__ unsigned
eighth (unsigned S)
{
  return S >> 3 & 0x1fff1fff;
}

/* Adds both halves of a pair to a sum. */
__device__ __forceinline__ unsigned
add_halves (unsigned pair, unsigned sum)
{
  return __dp2a_lo (pair, 0x0101u, sum);
}

/* Adds |4 P - 2 n4 + n8| of a quad: the bend along the row of the bend down the columns, with neighbours DISTANCE away.
 * Each sample's has a bias of 2^15. */
template<int DISTANCE> __device__ __forceinline__ unsigned
bends (const unsigned above[2], const unsigned here[2], const unsigned below[2], unsigned sum)
{
  unsigned bend[4];

#pragma unroll
  for (int i = 0; i < 2; i++)
    bend[1 + i] = 2 * eighth (here[i]) + 0x20002000 - eighth (above[i]) - eighth (below[i]);
  bend[0] = from_left (bend[2]);
  bend[3] = from_right (bend[1]);
#pragma unroll
  for (int i = 1; i < 3; i++) {
    const unsigned l = DISTANCE == 1 ? between (bend[i - 1], bend[i]) : bend[i - 1];
    const unsigned r = DISTANCE == 1 ? between (bend[i], bend[i + 1]) : bend[i + 1];

    sum = add_halves (magnitude (2 * bend[i] + half - l - r), sum);
  }
  return sum;
}

/* Adds a row of samples to the sums of its blocks. S: of five rows. */
template<bool FIRST> __device__ __forceinline__ void
count_row (const Shared &s, const unsigned S[5][2], const unsigned m[2], unsigned c, unsigned top, Sums *sums)
{
#pragma unroll
  for (int i = 0; i < 2; i++) {
    sums->S = add_halves (S[2][i], sums->S);
    sums->plain = add_halves (__vminu2 (S[2][i], 0x00010001) + __vminu2 (top - S[2][i], 0x00010001), sums->plain);
    if (!FIRST)
      sums->t = add_halves (times (magnitude (S[2][i] + half - m[i]), entry (s.still, c >> (16 * i) & 0xff),
          entry (s.still, c >> (16 * i + 8) & 0xff)), sums->t);
  }
  sums->s = bends<1> (S[1], S[2], S[3], sums->s);
  if (!FIRST)
    sums->w = bends<2> (S[0], S[2], S[4], sums->w);
}

/* Adds up half a row of blocks: two threads have four rows of a block. */
template<int BYTES, bool FIRST> __device__ __forceinline__ void
count_rows (const Plane &plane, const Column &column, int y0, int warp, Shared &s)
{
  const unsigned top = (plane.bits == 16 ? 32767u : ((1u << plane.bits) - 1) << (15 - plane.bits)) * 0x00010001u;
  const int y = y0 + warp / 2 * 16 + warp % 2 * 4;
  unsigned S[8][2];
  Raw<BYTES> raw[8];
  Sums sums = { };

#pragma unroll
  for (int k = 0; k < 8; k++)
    if (!FIRST && k >= 2 && k < 6)
      load_row<BYTES, true> (plane, column, y - 2 + k, &raw[k]);
    else
      load_row<BYTES, false> (plane, column, y - 2 + k, &raw[k]);
  __syncthreads ();
#pragma unroll
  for (int k = 0; k < 8; k++)
    set_S<BYTES> (plane, column, raw[k], S[k]);
#pragma unroll
  for (int k = 0; k < 4; k++) {
    unsigned m[2], c;

    if (!FIRST)
      set_state<BYTES> (column, raw[k + 2].state, m, &c);
    count_row<FIRST> (s, &S[k], m, c, top, &sums);
  }
  sums.t += __shfl_xor_sync (0xffffffff, sums.t, 1);
  sums.s += __shfl_xor_sync (0xffffffff, sums.s, 1);
  sums.w += __shfl_xor_sync (0xffffffff, sums.w, 1);
  sums.S += __shfl_xor_sync (0xffffffff, sums.S, 1);
  sums.plain += __shfl_xor_sync (0xffffffff, sums.plain, 1);
  s.sums[warp][threadIdx.x % 32 / 2] = sums; /* both threads have the same */
}

/* Counts the blocks of the tile. */
template<bool FIRST> __device__ __forceinline__ void
count_blocks (const Plane &plane, const Column &column, int y0, int warp, const Shared &s, CfDenoiseCounts *counts)
{
  const int lane = (int) threadIdx.x % 32, y = y0 + warp / 2 * 16;
  const unsigned bias = 64 * 32768;

  if (warp % 2 || lane % 2 || !column.inside || column.x + 8 > plane.width || y + 8 > plane.height)
    return;
  const Sums a = s.sums[warp][lane / 2], b = s.sums[warp + 1][lane / 2];
  const unsigned z = (a.S + b.S) >> 18;

  if (a.plain + b.plain + 16 < 2 * 64)
    return;
  atomicAdd (&counts->bin[1][z][min ((a.s + b.s - bias) / 768, CF_DENOISE_BINS - 1)], 1);
  if (!FIRST) {
    atomicAdd (&counts->bin[0][z][min ((a.t + b.t) >> 10, CF_DENOISE_BINS - 1)], 1);
    atomicAdd (&counts->bin[2][z][min ((a.w + b.w - bias) / 768, CF_DENOISE_BINS - 1)], 1);
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

/* Takes the counts of a view into its sigma. A warp has a zone, then a thread. All threads. */
__device__ __forceinline__ void
learn (const DenoiseWork &w, int view, Learning learning, Shared &s)
{
  const int zone = (int) threadIdx.x / 32, z = (int) threadIdx.x;
  Noise &noise = w.noise[view];
  unsigned bin[3][8];
  int before[3], n = 0;

  static_assert (warps >= CF_DENOISE_ZONES, "a zone for each warp");
  if (zone < CF_DENOISE_ZONES) {
#pragma unroll
    for (int h = 0; h < 3; h++) {
      const int sum = take_bins (noise.counts[!w.turn].bin[h][zone], bin[h]), up_to = running_sum (sum);

      before[h] = up_to - sum;
      if (h == 1)
        n = __shfl_sync (0xffffffff, up_to, 31);
    }
    const int near = warp_quantile (bin[1], before[1], n / 16), t = warp_quantile (bin[0], before[0], n / 4);
    const int wide = warp_quantile (bin[2], before[2], n / 16);

    s.found.n[zone] = n;
    s.found.est[zone] = learning == START ? near * 430 >> 8 : cf_denoise_zone (near, t, wide);
  }
  __syncthreads ();
  if (z < CF_DENOISE_ZONES && learning != FORGET && w.launch.plane[view].filtered) {
    noise.sigma[!w.turn][z] = w.report[view * CF_DENOISE_ZONES + z] = cf_denoise_learn (s.found.n, s.found.est, z,
        learning == START, learning == START ? 0 : noise.sigma[w.turn][z]);
  }
}

/* ---- kernels ---------------------------------------------------------------------- */

/* Sets the tables of the block. */
__device__ __forceinline__ void
fill_tables (const DenoiseWork &w, int view, Shared &s)
{
  const int *sigma = w.noise[view].sigma[w.turn];

  for (int k = (int) threadIdx.x; k < CF_DENOISE_LEVELS * CF_DENOISE_FRAMES; k += threads) {
    const int i = k % CF_DENOISE_FRAMES, level = k / CF_DENOISE_FRAMES;
    const CfDenoiseLevel l = w.set_sigma >= 0 ? cf_denoise_level (w.set_sigma, w.set_sigma, w.strength)
                                              : cf_denoise_level (sigma[max (0, level - 1) / 2],
                                                  sigma[min (CF_DENOISE_LEVELS - 1, level + 1) / 2], w.strength);

    s.reach[level][i] = min (CF_DENOISE_REACH, (unsigned) l.reach * w.tables.left[i] >> 16);
    if (i == 0)
      s.inverse[level] = factors (l.inverse, 0);
    if (level == 0) {
      const unsigned bias = 25 * 127 + half;

      s.limits[i] = make_uint2 (w.tables.a1[i] + bias + ((unsigned) w.tables.b1[i] << 16),
          w.tables.a2[i] + bias + ((unsigned) w.tables.b2[i] << 16));
      s.part[i] = factors (i == 0 ? 32768 : w.tables.part[i], 32768);
      s.still[i] = factors (w.tables.still[i], 0);
    }
  }
}

/* What a launch does: a frame with a state before it; one without; or only the noise of the latter is estimated. */
enum Kind { NEXT, FIRST, COUNT };

template<int BYTES, Kind KIND> __device__ __forceinline__ void
filter_tile (const DenoiseWork &w, const Plane &plane, int view, int x0, int y0, Shared &s)
{
  const int warp = __shfl_sync (0xffffffff, (int) threadIdx.x / 32, 0); /* in a uniform register */
  const Column column = column_of<BYTES> (w, plane, view, x0);

  if (KIND != FIRST && w.estimates)
    count_rows<BYTES, KIND == COUNT> (plane, column, y0, warp, s);
  if (KIND == NEXT)
    take_rows<BYTES> (plane, column, y0, warp, s);
  __syncthreads ();
  if (KIND != FIRST && w.estimates)
    count_blocks<KIND == COUNT> (plane, column, y0, warp, s, &w.noise[view].counts[w.turn]);
  if (KIND == COUNT)
    return;
  if (KIND == NEXT)
    decide_rows (column, warp, s);
  follow_rows<BYTES, KIND == FIRST> (plane, column, y0, warp, s);
  __syncthreads ();
  smooth_rows<BYTES> (plane, column, y0, warp, s);
}

template<int BYTES, Kind KIND> __global__ void __launch_bounds__ (threads, per_sm)
denoise_kernel (const __grid_constant__ DenoiseWork w)
{
  extern __shared__ Shared shared[];
  Shared &s = *shared;
  const int number = (int) blockIdx.x - w.learns;
  const Plane &plane = plane_of_block (w.launch, number);
  const int block = number - plane.first_block, view = (int) (&plane - w.launch.plane);
  const int x0 = block % plane.blocks_x * tile_w, y0 = block / plane.blocks_x * tile_h;

  griddep_wait ();
  if (number < 0)
    learn (w, number + w.learns, GO_ON, s);
  else if (plane.filtered) {
    fill_tables (w, view, s);
    filter_tile<BYTES, KIND> (w, plane, view, x0, y0, s);
    if (KIND != COUNT && w.set_sigma >= 0 && block == 0 && threadIdx.x < 2 * CF_DENOISE_ZONES)
      w.noise[view].sigma[0][threadIdx.x] = w.set_sigma; /* for the frame with which the estimate begins */
  } else if (KIND != COUNT) {
    copy_tile (plane, x0, y0, tile_w, tile_h, (int) threadIdx.x, threads);
  }
}

/* Takes the counts of the turn before, a view for each block. */
__global__ void __launch_bounds__ (threads, per_sm)
denoise_learn_kernel (const __grid_constant__ DenoiseWork w, Learning learning)
{
  extern __shared__ Shared shared[];

  griddep_wait ();
  learn (w, (int) blockIdx.x, learning, *shared);
}

/* ---- the plan ----------------------------------------------------------------------- */

/* That which learns; then by the bytes of a sample, and of each the kinds. */
const void *const kernels[] = { (const void *) denoise_learn_kernel, (const void *) denoise_kernel<1, NEXT>,
  (const void *) denoise_kernel<1, FIRST>, (const void *) denoise_kernel<1, COUNT>,
  (const void *) denoise_kernel<2, NEXT>, (const void *) denoise_kernel<2, FIRST>,
  (const void *) denoise_kernel<2, COUNT> };

struct DenoiseState {
  int *report;     /* pinned: sigma of all views, which the kernels write */
  int reported;    /* the first view that is filtered; -1: none is, or none yet */
  uint8_t *memory; /* the state twice, the noise of all views */
  size_t size;     /* of one state, bytes */
  bool pdl; /* see launch_kernel () */
  bool begun;
  int current;  /* the state that the next frame reads */
  int turn;     /* of the next frame's noise */
  bool counted; /* by the frame before */
  CfApplyTo apply_to;
  DenoiseWork work; /* all but what changes with each frame */
};

DenoiseState *
denoise_state (const CfPlan *plan)
{
  return static_cast<DenoiseState *> (plan->state);
}

CfCode
denoise_init (CfPlan *plan, CfStatus *status)
{
  constexpr size_t reported_bytes = CF_MAX_VIEWS * CF_DENOISE_ZONES * sizeof (int);
  DenoiseState *s = denoise_state (plan);
  const size_t noise = CF_MAX_VIEWS * sizeof (Noise);
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
  s->size = cf_denoise_lay_out (&plan->video, &s->work.layout);
  s->memory = static_cast<uint8_t *> (cf_gpu_alloc (CF_DEVICE, 2 * s->size + noise, status));
  s->report = s->memory ? static_cast<int *> (cf_gpu_alloc (CF_PINNED, reported_bytes, status))
                        : NULL;
  if (!s->report)
    return status->code;
  memset (s->report, 0, reported_bytes);
  s->work.report = s->report;
  s->reported = -1;
  s->work.noise = reinterpret_cast<Noise *> (s->memory + 2 * s->size);
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

/* Launches a kernel of the denoiser. `learning`: for the one that learns. */
CfCode
launch (const DenoiseState *s, const void *kernel, int blocks, DenoiseWork *w, Learning learning, cudaStream_t stream,
    CfStatus *status)
{
  void *arguments[] = { w, &learning };

  return launch_kernel ("denoise", kernel, blocks, dim3 (threads), arguments, sizeof (Shared), s->pdl, stream, status);
}

CfCode
denoise_enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  const CfDenoiseParams *p = static_cast<const CfDenoiseParams *> (plan->params);
  const void *const *const of_bytes = &kernels[3 * cf_format_info (plan->video.format)->bytes - 2];
  cudaStream_t handle = static_cast<cudaStream_t> (cf_stream_handle (stream));
  const bool off = cf_denoise_is_off (p);
  DenoiseState *s = denoise_state (plan);
  const bool first = !s->begun, estimates = p->noise < 0 && !off, counts = estimates && !first;
  DenoiseWork w = s->work;
  CfCode code = CF_OK;

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
  w.estimates = estimates;
  w.turn = s->turn;
  if (s->counted && !counts)
    code = launch (s, kernels[0], w.launch.n, &w, FORGET, handle, status);
  if (code == CF_OK && first && estimates) {
    code = launch (s, of_bytes[COUNT], w.launch.blocks, &w, START, handle, status);
    w.turn = !s->turn; /* of the frame that would follow */
    if (code == CF_OK)
      code = launch (s, kernels[0], w.launch.n, &w, START, handle, status);
    w.turn = s->turn;
  }
  w.learns = counts ? w.launch.n : 0;
  if (code == CF_OK)
    code = launch (s, of_bytes[first ? FIRST : NEXT], w.launch.blocks + w.learns, &w, GO_ON, handle, status);
  s->current = !s->current;
  s->turn ^= counts;
  s->counted = counts;
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
