/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/flat.cu: the rank filter for larger windows of 8-bit samples, by histograms that slide down the image. Its
 * time depends on the width of the window and not on the content of the image. Of other samples it takes the codes that
 * sort.cu makes, tile by tile.
 *
 * Map: a warp makes 32 outputs side by side, one per lane, and slides down: a row of samples enters the windows,
 * another one leaves them. Four neighbouring lanes, a quad, have most columns of their windows in common. Each of the
 * four counts a quarter of those ("common"), and the few other columns of its own window ("private"). All warps of a
 * launch get equally many rows; a row costs the same everywhere, and a start counts as the rows that take as long.
 *
 * Shared memory, per warp: the fine level, 256 counts per lane for common samples and 256 for private ones; the coarse
 * level, 16 and 16 counts per lane, each the sum of 16 fine ones; and the words of the entering and of the leaving row.
 * A word has two or four counts. Word (i, lane) of a level lies in bank `lane`, so that counting has no bank conflicts
 * whatever the samples are.
 * Races: none between warps, which share nothing. In a warp, a lane's counts are written by that lane only, and read by
 * the others of its quad behind a __syncwarp ().
 * An output: the 16 coarse counts, common ones of all four lanes and private ones of its own, are summed up and their
 * running sums compared with the rank; then the same with the 16 fine counts of the value's block.
 *
 * Bound: instructions, most of them to count and to sum up. Figures: docs/notes/median.md. */
#include "internal.h"

#include <algorithm>
#include <type_traits>

namespace cf {

extern __shared__ __align__ (16) unsigned char flat_shared[];

/* A window as the kernel needs it. */
struct FlatWindow {
  int w, h, rank;
  int full;       /* rounds of four common words, one word per lane of the quad */
  int staged;     /* words of a row */
  int shift;      /* the strips begin that many columns left of the image, so that words are aligned */
  int start;      /* what filling a histogram costs, in rows of outputs */
  int warp_bytes; /* shared memory */
};

/* ---- shared memory -------------------------------------------------------- */

/* With addresses in the shared window, which are found once; those of flat_shared would be found again for each row. */
__device__ __forceinline__ unsigned
load_shared (unsigned at)
{
  unsigned word;

  asm volatile ("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(at) : "memory");
  return word;
}

__device__ __forceinline__ void
store_shared (unsigned at, unsigned word)
{
  asm volatile ("st.shared.u32 [%0], %1;" : : "r"(at), "r"(word) : "memory");
}

__device__ __forceinline__ void
add_shared (unsigned at, unsigned what)
{
  asm volatile ("red.shared.add.u32 [%0], %1;" : : "r"(at), "r"(what) : "memory");
}

/* Makes the compiler keep a value in a register, which it would compute again where it is used. */
__device__ __forceinline__ void
keep (unsigned &value)
{
  asm volatile ("" : "+r"(value));
}

/* Returns base + byte `i` of `bytes` times `factor`, which is below 256. */
__device__ __forceinline__ unsigned
scaled_byte (unsigned bytes, int i, unsigned factor, unsigned base)
{
  return __dp4a (bytes, factor << (8 * i), base);
}

/* ---- counts --------------------------------------------------------------- */

/* The counts of a lane, BITS bits each: of the N = 256 values, or of N = 16 blocks of 16 values. Each word has those of
 * `per_word` values; words are 128 bytes apart. */
template<int BITS, int N> struct FlatCounts {
  static constexpr int per_word = 32 / BITS, shift = N == 16 ? 4 : 0;
  static constexpr int bytes = N / per_word * 128, block = 16 / per_word * 128; /* of all; of 16 values */
  static constexpr unsigned low_mask = (unsigned) (per_word - 1) << shift; /* the place in a word */

  /* Four samples: bytes that say which word, and which of its counts. */
  struct Samples {
    unsigned word, place;
  };

  static __device__ __forceinline__ Samples
  split (unsigned w)
  {
    constexpr unsigned high_mask = 0xff & ~(low_mask | ((1u << shift) - 1));

    return Samples { w & high_mask * 0x01010101u,
      BITS >> shift ? w & low_mask * 0x01010101u : w >> 1 & low_mask / 2 * 0x01010101u };
  }
  /* Adds sample i to the counts, or subtracts it. */
  template<bool LEAVE> static __device__ __forceinline__ void
  count (unsigned at, Samples s, int i)
  {
    const unsigned bit = scaled_byte (s.place, i, BITS >> shift ? BITS >> shift : 1, 0);

    add_shared (scaled_byte (s.word, i, 128 / (per_word << shift), at), (LEAVE ? ~0u : 1u) << bit);
  }
  /* Adds the counts of four values to a and b. */
  static __device__ __forceinline__ void
  gather (unsigned at, unsigned &a, unsigned &b)
  {
    const unsigned w = load_shared (at);

    a += BITS == 8 ? w & 0xff00ff : w;
    b += BITS == 8 ? __byte_perm (w, 0, 0x4341) : load_shared (at + 128);
  }
  /* Makes of sums that gather () made those of values 0 and 2, and 1 and 3, in 16 bits each. */
  static __device__ __forceinline__ void
  spread (unsigned &a, unsigned &b)
  {
    const unsigned w = a;

    if (BITS == 16) {
      a = __byte_perm (w, b, 0x5410);
      b = __byte_perm (w, b, 0x7632);
    }
  }
  /* Returns the sum of the counts of 16 values. */
  static __device__ __forceinline__ unsigned
  sum_block (unsigned at)
  {
    unsigned w = 0;

#pragma unroll
    for (int k = 0; k < 16 / per_word; k++)
      w += load_shared (at + 128 * k);
    return BITS == 8 ? __dp4a (w, 0x01010101u, 0u) : (w + (w >> 16)) & 0xffff;
  }
};

/* Two halves of counts: of values 0 and 2 of four, and of values 1 and 3. */
struct FlatFour {
  unsigned even, odd;
};

/* A warp's counts of common samples with COMMON bits and of private ones with PRIVATE bits: the fine level, then the
 * coarse one. */
template<int COMMON, int PRIVATE> struct FlatLayout {
  typedef FlatCounts<COMMON, 256> Common;
  typedef FlatCounts<PRIVATE, 256> Private;
  typedef FlatCounts<COMMON, 16> CoarseCommon;
  typedef FlatCounts<PRIVATE, 16> CoarsePrivate;
  static constexpr int fine = Common::bytes + Private::bytes;
  static constexpr int bytes = fine + CoarseCommon::bytes + CoarsePrivate::bytes;

  /* Counts the first COUNT bytes of w on the fine level and, with COARSE, on the coarse one. */
  template<bool IS_PRIVATE, bool COARSE, bool LEAVE, int COUNT> static __device__ __forceinline__ void
  count (unsigned at, unsigned w)
  {
    typedef std::conditional_t<IS_PRIVATE, Private, Common> Fine;
    typedef std::conditional_t<IS_PRIVATE, CoarsePrivate, CoarseCommon> Coarse;
    const typename Fine::Samples fine_samples = Fine::split (w);
    const typename Coarse::Samples coarse_samples = Coarse::split (w);

#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      Fine::template count<LEAVE> (at + (IS_PRIVATE ? Common::bytes : 0), fine_samples, i);
      if (COARSE)
        Coarse::template count<LEAVE> (at + fine + (IS_PRIVATE ? CoarseCommon::bytes : 0), coarse_samples, i);
    }
  }
  /* Returns the counts of the values 4 i .. 4 i + 3 of a block of 16, or of 16 blocks, in a lane's window. at: the
   * counts of its quad, its own first. */
  template<bool COARSE> static __device__ __forceinline__ FlatFour
  four (const unsigned (&at)[4], unsigned block, int i)
  {
    typedef std::conditional_t<COARSE, CoarseCommon, Common> C;
    typedef std::conditional_t<COARSE, CoarsePrivate, Private> P;
    const unsigned common = COARSE ? fine : block * C::block;
    const unsigned own = COARSE ? fine + C::bytes : Common::bytes + block * P::block;
    FlatFour sum = { 0, 0 }, other = { 0, 0 };

#pragma unroll
    for (int k = 0; k < 4; k++)
      C::gather (at[k] + common + (unsigned) (i * (C::block / 4)), sum.even, sum.odd);
    C::spread (sum.even, sum.odd);
    P::gather (at[0] + own + (unsigned) (i * (P::block / 4)), other.even, other.odd);
    P::spread (other.even, other.odd);
    return FlatFour { sum.even + other.even, sum.odd + other.odd };
  }
  /* Sums up a lane's coarse counts from its fine ones. */
  static __device__ __forceinline__ void
  sum_blocks (unsigned at)
  {
    sum_blocks_of<Common, CoarseCommon> (at, at + fine);
    sum_blocks_of<Private, CoarsePrivate> (at + Common::bytes, at + fine + CoarseCommon::bytes);
  }
  template<class C, class B> static __device__ __forceinline__ void
  sum_blocks_of (unsigned from, unsigned to)
  {
#pragma unroll 1
    for (int i = 0; i < 16 / B::per_word; i++) {
      unsigned w = 0;

#pragma unroll
      for (int k = 0; k < B::per_word; k++)
        w |= C::sum_block (from + (unsigned) (i * B::per_word + k) * C::block) << (32 / B::per_word * k);
      store_shared (to + 128 * (unsigned) i, w);
    }
  }
};

/* A warp's counts where both need 16 bits: a word per value, common samples in its lower half. So what is added does
 * not depend on the sample, which takes half of the instructions. */
struct FlatWords {
  static constexpr int fine = 256 * 128, bytes = fine + 16 * 128;

  template<bool IS_PRIVATE, bool COARSE, bool LEAVE, int COUNT> static __device__ __forceinline__ void
  count (unsigned at, unsigned w)
  {
    const unsigned one = IS_PRIVATE ? 0x10000 : 1, blocks = w & 0xf0f0f0f0;

#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      add_shared (scaled_byte (w, i, 128, at), LEAVE ? 0 - one : one);
      if (COARSE)
        add_shared (scaled_byte (blocks, i, 8, at + fine), LEAVE ? 0 - one : one);
    }
  }
  template<bool COARSE> static __device__ __forceinline__ FlatFour
  four (const unsigned (&at)[4], unsigned block, int i)
  {
    const unsigned from = (COARSE ? fine : block * 2048) + (unsigned) i * 512;
    unsigned own[4], all[4];

#pragma unroll
    for (int v = 0; v < 4; v++) {
      all[v] = own[v] = load_shared (at[0] + from + 128 * v);
#pragma unroll
      for (int k = 1; k < 4; k++)
        all[v] += load_shared (at[k] + from + 128 * v);
    }
    return FlatFour { __byte_perm (all[0], all[2], 0x5410) + __byte_perm (own[0], own[2], 0x7632),
      __byte_perm (all[1], all[3], 0x5410) + __byte_perm (own[1], own[3], 0x7632) };
  }
  static __device__ __forceinline__ void
  sum_blocks (unsigned at)
  {
#pragma unroll 1
    for (int i = 0; i < 16; i++) {
      unsigned w = 0;

#pragma unroll
      for (int k = 0; k < 16; k++)
        w += load_shared (at + (unsigned) i * 2048 + 128 * k);
      store_shared (at + fine + 128 * (unsigned) i, w);
    }
  }
};

/* What a lane keeps in registers. */
struct FlatLane {
  unsigned at[4];   /* its counts, and those of the other lanes of the quad */
  unsigned quad;    /* the quad's first word of the first staged row */
  unsigned words;   /* the lane's first common word of four columns of that row */
  unsigned pick[3]; /* selectors: its byte of a word, of two words, of a third one behind those */
  unsigned slide;   /* selector: its private columns in the quad's outer words */
};

/* The columns of a quad, in words of four from its first word on: the private ones of all four lanes are in the first
 * and in the last word. NARROW: the windows begin one column into the first word, and a lane has three private columns;
 * else it has five. FULL: the number of rounds of four common words, or -1: `rounds` is. REST: the common words beyond
 * those, of which each lane counts a byte. */
template<class L, bool NARROW, int REST, int FULL> struct FlatRow {
  unsigned w[FULL > 0 ? FULL : 1], left, right, some;

  __device__ __forceinline__ void
  read (const FlatLane &lane, unsigned row, int rounds)
  {
    const unsigned rest = lane.quad + row + 4 + 16 * (unsigned) (FULL >= 0 ? FULL : rounds);

#pragma unroll
    for (int i = 0; i < (FULL >= 0 ? FULL : 1); i++)
      w[i] = load_shared (lane.words + row + 16 * i);
    left = load_shared (lane.quad + row);
    right = load_shared (rest + 4 * REST);
    some = 0;
    if (REST > 0)
      some = load_shared (rest);
    if (REST > 0)
      some = __byte_perm (some, REST > 1 ? load_shared (rest + 4) : 0, lane.pick[REST > 1]);
    if (REST > 2)
      some = __byte_perm (some, load_shared (rest + 8), lane.pick[2]);
  }
  /* Counts all but the rounds. */
  template<bool COARSE, bool LEAVE> __device__ __forceinline__ void
  count_rest (const FlatLane &lane) const
  {
    L::template count<false, COARSE, LEAVE, REST> (lane.at[0], some);
    L::template count<true, COARSE, LEAVE, NARROW ? 3 : 4> (lane.at[0], __byte_perm (left, right, lane.slide));
    if (!NARROW)
      L::template count<true, COARSE, LEAVE, 1> (lane.at[0], __byte_perm (right, 0, lane.pick[0]));
  }
};

/* Counts ROWS staged rows, `row` bytes apart; the second one leaves with LEAVE. */
template<class L, bool NARROW, int REST, int FULL, int ROWS, bool COARSE, bool LEAVE> __device__ __forceinline__ void
count_rows (const FlatLane &lane, unsigned row, int rounds)
{
  FlatRow<L, NARROW, REST, FULL> a, b;

  a.read (lane, 0, rounds);
  if (ROWS > 1)
    b.read (lane, row, rounds);
  if (FULL >= 0) {
#pragma unroll
    for (int i = 0; i < FULL; i++) {
      L::template count<false, COARSE, false, 4> (lane.at[0], a.w[i]);
      if (ROWS > 1)
        L::template count<false, COARSE, LEAVE, 4> (lane.at[0], b.w[i]);
    }
  } else {
    unsigned from = lane.words;

    /* the word of a round is read one round ahead; behind the last one that is not used */
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
      const unsigned now = a.w[0], other = ROWS > 1 ? b.w[0] : 0;

      from += 16;
      a.w[0] = load_shared (from);
      if (ROWS > 1)
        b.w[0] = load_shared (from + row);
      L::template count<false, COARSE, false, 4> (lane.at[0], now);
      if (ROWS > 1)
        L::template count<false, COARSE, LEAVE, 4> (lane.at[0], other);
    }
  }
  a.template count_rest<COARSE, false> (lane);
  if (ROWS > 1)
    b.template count_rest<COARSE, LEAVE> (lane);
}

/* ---- rows ----------------------------------------------------------------- */

/* Where a lane's words of a row come from, N at most. STEP: of samples in words of the image, 1 or 2; 0: samples are
 * read one by one. */
template<int N, int STEP> struct FlatSource {
  static constexpr int parts = STEP > 0 ? STEP : 4;
  const uint8_t *from[N][parts]; /* in row 0 */
  unsigned pick[N];              /* selects samples, and repeats the outermost one where the word is beyond the image */
  unsigned raw[2][N][parts];     /* of two rows */

  /* Finds the words from column x on, which is a multiple of 4; lanes without one get the last one. */
  __device__ __forceinline__ void
  find (const Plane &plane, int x, int staged)
  {
    const unsigned offset = STEP > 1 ? (unsigned) ((uintptr_t) plane.in & 3) : 0;

#pragma unroll
    for (int i = 0; i < N; i++) {
      const int first = x + 4 * min ((int) (threadIdx.x & 31) + 32 * i, staged - 1);
      const QuadColumn c = quad_column (plane, first);

      pick[i] = (STEP > 1 ? STEP : 1) * c.pick + 0x1111 * offset;
#pragma unroll
      for (int k = 0; k < parts; k++)
        from[i][k] = plane.in + (STEP > 0 ? STEP * c.x + 4 * k - (int) offset
            : min (max (first + k, 0), plane.width - 1) * plane.step);
    }
  }
  /* Loads row y, or the nearest one of the image. */
  __device__ __forceinline__ void
  load (const Plane &plane, int which, int y)
  {
    const long long row = (long long) (unsigned) min (max (y, 0), plane.height - 1) * plane.in_pitch;

#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
      for (int k = 0; k < parts; k++)
        raw[which][i][k] = STEP > 0 ? *(const unsigned *) (from[i][k] + row) : from[i][k][row];
  }
  /* Writes the words that were loaded to shared memory. */
  __device__ __forceinline__ void
  stage (int which, unsigned to, int staged) const
  {
#pragma unroll
    for (int i = 0; i < N; i++) {
      const unsigned (&r)[parts] = raw[which][i];
      const int word = (int) (threadIdx.x & 31) + 32 * i;

      if (word < staged)
        store_shared (to + 4 * (unsigned) word, STEP > 0 ? __byte_perm (r[0], r[parts - 1], pick[i])
            : r[0] | r[1 % parts] << 8 | r[2 % parts] << 16 | r[3 % parts] << 24);
    }
  }
};

/* Returns whether the warp may read words of the row from column x on. */
__device__ __forceinline__ bool
has_words (const Plane &plane, int x, int staged)
{
  bool words = plane.step <= 2;

#pragma unroll 1
  for (int i = (int) threadIdx.x & 31; i < staged; i += 32)
    words = words && quad_column (plane, x + 4 * i).words;
  return __all_sync (0xffffffffu, words);
}

/* ---- searching ------------------------------------------------------------ */

/* Returns sum - the number of halves of a and b whose top bit is set. */
__device__ __forceinline__ int
less_tops (unsigned a, unsigned b, int sum)
{
  unsigned signs;

  asm ("prmt.b32 %0, %1, %2, 0xfdb9;" : "=r"(signs) : "r"(a), "r"(b)); /* bytes 0 or -1 */
  return __dp4a ((int) signs, 0x01010101, sum);
}

/* Sums up the counts of 16 values in the lane's window, from `total` on, which has the same sum in both halves. */
template<class L, bool COARSE> __device__ __forceinline__ void
running_sums (const FlatLane &lane, unsigned block, unsigned total, unsigned (&sum)[8])
{
  FlatFour four[4];

#pragma unroll
  for (int i = 0; i < 4; i++)
    four[i] = L::template four<COARSE> (lane.at, block, i);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const unsigned sums = (four[i].even + four[i].odd) * 0x10001u; /* up to value 1, up to value 3 */

    sum[2 * i + 1] = total + sums;
    sum[2 * i] = total + sums - four[i].odd;
    total += __byte_perm (sums, 0, 0x3232);
  }
}

/* Returns which of 16 running sums is the first one over the rank, and leaves in both halves of `most` the last one
 * before it. */
__device__ __forceinline__ unsigned
first_over (const unsigned (&sum)[8], unsigned &most)
{
  int first = 16;

#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    most = __vmaxs2 (__vmaxs2 (most, sum[i]), sum[i + 1]);
    first = less_tops (sum[i], sum[i + 1], first);
  }
  most = __vmaxs2 (most, __byte_perm (most, 0, 0x1032));
  return (unsigned) first;
}

/* Returns the value of the rank in the lane's window; `equal`: how many such samples the rank is behind. Running sums
 * are kept less rank + 1 and plus 0x8000, so that the top bit of each half is set in those over the rank;
 * median_flat_fits () has the windows with which they fit. */
template<class L> __device__ __forceinline__ unsigned
find_rank (const FlatLane &lane, unsigned zero, int &equal)
{
  unsigned most = zero, sum[8];

  running_sums<L, true> (lane, 0, zero, sum);
  const unsigned block = first_over (sum, most);

  running_sums<L, false> (lane, block, most, sum);
  const unsigned value = first_over (sum, most);

  equal = 0x7fff - (int) (most & 0xffff);
  return block * 16 + value;
}

/* ---- results ------------------------------------------------------------ */

/* Stores a lane's results: the values of 8-bit samples. */
struct FlatValues {
  const Plane &plane;
  int threshold, x;
  uint8_t *output;

  __device__ __forceinline__
  FlatValues (const Plane &p, int t, int x0, int y0)
    : plane (p), threshold (t), x (x0 + ((int) threadIdx.x & 31)),
      output (p.out + y0 * p.out_pitch + (long long) x * p.step)
  {
  }
  __device__ __forceinline__ void
  store (int y, unsigned value, int)
  {
    if (x >= 0 && x < plane.width) {
      if (threshold > 0) {
        const unsigned input = plane.in[y * plane.in_pitch + (long long) x * plane.step];

        if (abs ((int) input - (int) value) <= threshold)
          value = input;
      }
      *output = (uint8_t) value;
    }
    output += plane.out_pitch;
  }
};

/* The same for the codes of sorted samples, which median_search_kernel () completes. */
struct FlatCodes {
  uint16_t *output; /* in the tile's first row */
  int pitch;        /* samples */

  __device__ __forceinline__ void
  store (int y, unsigned value, int equal)
  {
    output[y * pitch] = (uint16_t) (value * 256 + (unsigned) equal);
  }
};

/* ---- the kernel ----------------------------------------------------------- */

__device__ __forceinline__ FlatLane
lane_of (unsigned shared, unsigned stage, bool narrow)
{
  const unsigned l = threadIdx.x & 31, j = threadIdx.x & 3;
  FlatLane lane = { { shared + 4 * l, shared + 4 * (l ^ 1), shared + 4 * (l ^ 2), shared + 4 * (l ^ 3) },
    stage + (l & ~3u), stage + (l & ~3u) + 4 + 4 * j,
    { j, 0x40 + 0x11 * j, 0x410 + 0x100 * j }, (narrow ? 0x3321 : 0x3210) + 0x1111 * j };

#pragma unroll
  for (int i = 0; i < 4; i++)
    keep (lane.at[i]);
  keep (lane.quad);
  keep (lane.words);
#pragma unroll
  for (int i = 0; i < 3; i++)
    keep (lane.pick[i]);
  keep (lane.slide);
  return lane;
}

/* Makes the outputs of the rows y0 .. y1 - 1 from column x0 on, by one warp. `results` gets row y as row y - above. */
template<class L, bool NARROW, int REST, int FULL, int N, int STEP, class Results> __device__ __forceinline__ void
slide (const Plane &plane, const FlatWindow &f, Results results, unsigned shared, int x0, int y0, int y1, int above)
{
  const int r = f.h / 2;
  const unsigned stage = shared + L::bytes, other = 4 * (unsigned) f.staged;
  const FlatLane lane = lane_of (shared, stage, NARROW);
  unsigned zero = (0x7fffu - (unsigned) f.rank) * 0x10001u;
  FlatSource<N, STEP> source;

  keep (zero);
  source.find (plane, x0 - f.w / 2 - NARROW, f.staged);
  source.load (plane, 0, y0 - r);
  source.load (plane, 1, y0 - r + 1);
#pragma unroll 4
  for (int i = 0; i < L::fine / 128; i++)
    store_shared (lane.at[0] + 128 * i, 0);
  for (int y = y0 - r; y < y0 + r; y += 2) {
    source.stage (0, stage, f.staged);
    source.stage (1, stage + other, f.staged);
    __syncwarp ();
    source.load (plane, 0, y + 2);
    source.load (plane, 1, y + 3);
    count_rows<L, NARROW, REST, FULL, 2, false, false> (lane, other, f.full);
    __syncwarp ();
  }
  source.stage (0, stage, f.staged);
  __syncwarp ();
  source.load (plane, 0, y0 + 1 + r);
  source.load (plane, 1, y0 - r);
  count_rows<L, NARROW, REST, FULL, 1, false, false> (lane, other, f.full);
  L::sum_blocks (lane.at[0]);

  for (int y = y0;; y++) {
    __syncwarp ();
    int equal;
    const unsigned value = find_rank<L> (lane, zero, equal);

    results.store (y - above, value, equal);
    if (y + 1 == y1)
      break;
    source.stage (0, stage, f.staged);
    source.stage (1, stage + other, f.staged);
    __syncwarp (); /* also: all lanes have read the others' counts */
    source.load (plane, 0, y + 2 + r);
    source.load (plane, 1, y + 1 - r);
    count_rows<L, NARROW, REST, FULL, 2, true, true> (lane, other, f.full);
  }
  __syncwarp ();
}

constexpr int copy_w = 512, copy_h = 16; /* a block's tile of a plane that is copied */

template<class L, bool NARROW, int REST, int FULL, int N, int WARPS, bool SORTED> __global__ void
__launch_bounds__ (32 * WARPS, 1)
median_flat_kernel (const __grid_constant__ Launch launch, const __grid_constant__ FlatWindow f,
    const __grid_constant__ MedianTiles tiles)
{
  const int warps = (int) blockDim.x / 32, warp = (int) threadIdx.x / 32, n = (int) gridDim.x * warps;
  const long long me = (long long) blockIdx.x * warps + warp;
  const int end = (int) ((me + 1) * launch.blocks / n);
  const unsigned shared = (unsigned) __cvta_generic_to_shared (flat_shared) + (unsigned) (warp * f.warp_bytes);

  griddep_wait ();
  for (int at = (int) (me * launch.blocks / n), rows; at < end; at += rows) {
    const Plane &plane = plane_of_block (launch, at);
    const int tile_rows = SORTED ? tiles.rows : plane.height, down = (plane.height + tile_rows - 1) / tile_rows;
    const int per_strip = plane.height + f.start * down, strip = (at - plane.first_block) / per_strip;
    const int in_strip = at - plane.first_block - strip * per_strip, tile = in_strip / (tile_rows + f.start);
    const int first = in_strip - tile * (tile_rows + f.start), top = tile * tile_rows;
    const int x0 = 32 * strip - f.shift, y0 = max (first - f.start, 0);

    rows = min (min (tile_rows, plane.height - top) + f.start - first, end - at);

    const int y1 = first + rows - f.start;

    if (y1 <= y0)
      continue;
    if constexpr (SORTED) {
      const int across = plane.blocks_x / tiles.strips;
      const int column = strip % tiles.strips * 32;
      uint8_t *memory = tiles.memory
          + (long long) (tiles.first[&plane - launch.plane] + tile * across + strip / tiles.strips) * tiles.bytes;
      Plane codes = { };

      codes.in = memory;
      codes.in_pitch = codes.width = tiles.pitch;
      codes.height = tiles.height;
      codes.step = codes.bytes = 1;
      codes.in_words = true;
      slide<L, NARROW, REST, FULL, N, 1> (codes, f,
          FlatCodes { (uint16_t *) (memory + tiles.results) + column + (threadIdx.x & 31), 32 * tiles.strips }, shared,
          column + tiles.left, y0 + tiles.above, y1 + tiles.above, tiles.above);
    } else {
      const FlatValues values (plane, launch.threshold, x0, y0);
      const bool words = has_words (plane, x0 - f.w / 2 - NARROW, f.staged);

      if (words && plane.step == 1)
        slide<L, NARROW, REST, FULL, N, 1> (plane, f, values, shared, x0, y0, y1, 0);
      else if (words)
        slide<L, NARROW, REST, FULL, N, 2> (plane, f, values, shared, x0, y0, y1, 0);
      else
        slide<L, NARROW, REST, FULL, N, 0> (plane, f, values, shared, x0, y0, y1, 0);
    }
  }
  for (int i = 0; i < launch.n; i++) {
    const Plane &plane = launch.plane[i];
    const int across = (plane.width + copy_w - 1) / copy_w, count = across * ((plane.height + copy_h - 1) / copy_h);

    for (int tile = (int) blockIdx.x; !plane.filtered && tile < count; tile += (int) gridDim.x)
      copy_tile (plane, tile % across * copy_w, tile / across * copy_h, copy_w, copy_h, (int) threadIdx.x,
          (int) blockDim.x);
  }
}

/* ---- launch --------------------------------------------------------------- */

/* Counts of 8 bits; of 16 bits for common and of 8 for private samples. */
typedef FlatLayout<8, 8> FlatBytes;
typedef FlatLayout<16, 8> FlatMixed;

/* Returns the common words of a window: those of four columns that all windows of a quad have. */
static int
common_words (int w)
{
  return w % 4 == 3 ? w / 4 : w / 4 - 1;
}

template<class L, int FULL, int N, int WARPS, bool SORTED> static const void *
flat_kernel (int w)
{
  static const void *const kernels[] = { (const void *) median_flat_kernel<L, false, 0, FULL, N, WARPS, SORTED>,
    (const void *) median_flat_kernel<L, false, 1, FULL, N, WARPS, SORTED>,
    (const void *) median_flat_kernel<L, false, 2, FULL, N, WARPS, SORTED>,
    (const void *) median_flat_kernel<L, false, 3, FULL, N, WARPS, SORTED>,
    (const void *) median_flat_kernel<L, true, 0, FULL, N, WARPS, SORTED>,
    (const void *) median_flat_kernel<L, true, 1, FULL, N, WARPS, SORTED>,
    (const void *) median_flat_kernel<L, true, 2, FULL, N, WARPS, SORTED>,
    (const void *) median_flat_kernel<L, true, 3, FULL, N, WARPS, SORTED> };

  return kernels[common_words (w) % 4 + (w % 4 == 3 ? 4 : 0)];
}

/* What the counts of a window need: warps of a block, and shared memory per warp without staged words. */
struct FlatKind {
  const void *kernel;
  int warps, bytes;
};

template<bool SORTED> static FlatKind
flat_kind (const CfMedianWindow &window)
{
  const int w = window.w, words = common_words (w), own = w % 4 == 3 ? 3 : 5;

  if (words < 8 && std::max (words, own) * window.h <= 255)
    return FlatKind { words < 4 ? flat_kernel<FlatBytes, 0, 1, 12, SORTED> (w)
      : flat_kernel<FlatBytes, 1, 1, 12, SORTED> (w), 12, FlatBytes::bytes };
  if (words + 9 <= 32 && own * window.h <= 255)
    return FlatKind { flat_kernel<FlatMixed, -1, 1, 8, SORTED> (w), 8, FlatMixed::bytes };
  return FlatKind { words + 9 <= 64 ? flat_kernel<FlatWords, -1, 2, 6, SORTED> (w)
    : flat_kernel<FlatWords, -1, 3, 6, SORTED> (w), 6, FlatWords::bytes };
}

static FlatWindow
flat_window (const CfMedianWindow &window)
{
  const int words = common_words (window.w), staged = words + 9, narrow = window.w % 4 == 3;

  return FlatWindow { window.w, window.h, window.rank, words / 4, staged, -(window.w / 2 + narrow) & 3,
    window.h / 5 + 2, (flat_kind<false> (window).bytes + 8 * staged + 31) & ~15 };
}

bool
median_flat_fits (const CfMedianWindow &window, int max_shared)
{
  /* running sums less the rank have 16 bits with a sign */
  return window.w >= 3 && window.depth == 1 && window.rank < 0x8000 && window.n - window.rank <= 0x8000
      && flat_window (window).warp_bytes <= max_shared;
}

bool
median_sorted_fits (const CfMedianWindow &window, int n_primary, int bits, int max_shared, MedianTiles *tiles)
{
  *tiles = MedianTiles ();
  tiles->n_primary = n_primary;
  tiles->left = window.w / 2 + (window.w % 4 == 3);
  return median_flat_fits (window, max_shared)
      && median_sort_fits (4 * flat_window (window).staged, window, bits, max_shared, tiles);
}

CfCode
median_launch_flat (Launch *launch, const CfMedianWindow &window, const MedianTiles &tiles, const CfContext *context,
    bool pdl, cudaStream_t stream, CfStatus *status)
{
  const bool sorted = tiles.strips > 0;
  FlatWindow f = flat_window (window);
  const FlatKind kind = sorted ? flat_kind<true> (window) : flat_kind<false> (window);
  const int warps = std::min (kind.warps, context->max_shared / f.warp_bytes);
  void *arguments[] = { launch, &f, const_cast<MedianTiles *> (&tiles) };

  if (sorted)
    f.shift = 0;
  launch->blocks = 0;
  for (int i = 0; i < launch->n; i++) {
    Plane &plane = launch->plane[i];
    const int strips = (plane.width + f.shift + 31) / 32, rows = sorted ? tiles.rows : plane.height;

    plane.first_block = launch->blocks;
    plane.blocks_x = sorted ? (strips + tiles.strips - 1) / tiles.strips * tiles.strips : strips;
    if (plane.filtered && (tiles.n_primary == 0 || i < tiles.n_primary))
      launch->blocks += strips * (plane.height + f.start * ((plane.height + rows - 1) / rows));
  }
  return launch_kernel ("median: flat", kind.kernel, context->sms, 32 * (unsigned) warps, arguments,
      (size_t) (warps * f.warp_bytes), pdl, stream, status);
}

CfCode
median_launch_sorted (Launch *launch, const CfMedianWindow &window, MedianTiles *tiles, const CfContext *context,
    bool pdl, cudaStream_t stream, CfStatus *status)
{
  CfCode code = median_launch_sort (launch, window, tiles, pdl, stream, status);

  if (code == CF_OK)
    code = median_launch_flat (launch, window, *tiles, context, pdl, stream, status);
  return code == CF_OK ? median_launch_search (launch, window, tiles, pdl, stream, status) : code;
}

CfCode
median_flat_init (int max_shared, CfStatus *status)
{
  CfCode code = median_sort_init (max_shared, status);

  for (int tall = 0; tall < 2; tall++)
    for (int w = 3; code == CF_OK && w <= 255; w += w == 79 ? 148 : 2) { /* few and many staged words */
      CfMedianWindow window = { };

      window.w = w;
      window.h = tall ? 255 : 1;
      for (const void *kernel : { flat_kind<false> (window).kernel, flat_kind<true> (window).kernel })
        if (code == CF_OK)
          code = cf_cuda_check (cudaFuncSetAttribute (kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, max_shared),
              median_loading, status);
    }
  return code;
}

} // namespace cf
