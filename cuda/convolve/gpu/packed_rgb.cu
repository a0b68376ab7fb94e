/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve/gpu/packed_rgb.cu: kernels of up to 9 x 9 taps on pixels of four 8-bit samples of
 * which three are filtered, on the integer tensor units, straight from the picture's
 * memory to the picture's memory.
 *
 * Block: 4 warps; a warp makes 8 rows of 128 pixels, two at a time. A lane loads four
 * pixels at a time and takes them apart itself: seven byte permutations make the word
 * of each of three planes. One mma makes 128 outputs of a row of a plane out of TWO
 * rows of samples, as in small.cu: row g of its left operand is the 16 samples
 * from 8 g - 4 on of one row and those of the next row behind them; column n of its
 * right operand holds two rows of the kernel, n bytes down. Its four words lie in four
 * registers one behind the other, so each row of samples is in one operand only: output rows
 * of the one parity meet the kernel's rows 2 p and 2 p + 1 there, those of the other
 * 2 p - 1 and 2 p. So (h + 1) / 2 mma for 128 outputs and no register is moved.
 *
 * Shared memory: the kernel's rows and the right operands' fragments made of them, each
 * written before a barrier and read after it.
 *
 * Two rows of results are made while the next rows of samples are on their way: so 128 registers
 * suffice, and at 1080p all blocks run at once.
 *
 * An H200 takes 11.0 us for 7 x 7 RGBA at 1080p and 33.6 at 4K (a copy 5.5 and 17.1), with a tile in
 * shared memory (small.cu) 15.2 and 38.2. The time hardly depends on the kernel's
 * size, 9.3 to 11.0 us at 1080p from 3 x 3 to 9 x 9, so neither on the tensor units nor on
 * what it loads; supposed, not measured: all warps load, work and store at about the same
 * time, where a copy reads and writes at once. Four rows of results a warp with all their
 * samples in registers, twice as many warps: faster at 3 x 3 (8.8 and 26.2, instead of 9.3 and
 * 28.7), where bands are still faster, level at 5 and 7, slower at 9 x 9 (12.7 and 39.0 instead
 * of 10.6 and 33.4). Fragments kept in registers by the compiler: spilled (hide). */
#include "tile.cuh"
#include "sums.cuh"

#include <limits.h>

namespace cf {

namespace {

constexpr int warps = 4, tile_w = 128;
constexpr int apart_h = 9, apart_limbs = 3, apart_rows = 8, apart_reach = 4; /* reach: pixels beside an output */

/* Where the planes' bytes are in a pixel, as selectors. */
struct Places {
  unsigned two, third;   /* of two pixels: planes 0 and 1; plane 2 */
  unsigned rest, put[2]; /* the fourth byte, behind two other words; how the pixel of a pair is put together */
};

__device__ __forceinline__ Places
places_of (const Group &g)
{
  const unsigned o0 = (unsigned) g.plane_offset (0), o1 = (unsigned) g.plane_offset (1),
      o2 = (unsigned) g.plane_offset (2), o3 = (unsigned) g.plane_offset (3);

  return Places { o0 | (o0 + 4) << 4 | o1 << 8 | (o1 + 4) << 12, o2 | (o2 + 4) << 4, (o3 + 4) << 4,
    { 1u << 4 * o1 | 4u << 4 * o2 | 5u << 4 * o3, 2u << 4 * o0 | 3u << 4 * o1 | 4u << 4 * o2 | 5u << 4 * o3 } };
}

/* Four pixels to a word of each plane. */
__device__ __forceinline__ void
take_apart (const Places &p, uint4 w, unsigned &plane0, unsigned &plane1, unsigned &plane2)
{
  const unsigned low = __byte_perm (w.x, w.y, p.two), high = __byte_perm (w.z, w.w, p.two);

  plane0 = __byte_perm (low, high, 0x5410);
  plane1 = __byte_perm (low, high, 0x7632);
  plane2 = __byte_perm (__byte_perm (w.x, w.y, p.third), __byte_perm (w.z, w.w, p.third), 0x5410);
}

/* A pixel from outside. */
__device__ __forceinline__ unsigned
outside_of (const Work &work, const Group &g)
{
  unsigned pixel = 0;

#pragma unroll
  for (int i = 0; i < 3; i++)
    pixel |= (unsigned) (g.plane_chroma (i) ? work.outside[1] : work.outside[0]) << 8 * g.plane_offset (i);
  return pixel;
}

/* Four pixels from x on of row y, anywhere; -1: a row from outside. */
__device__ __noinline__ uint4
four_beyond (const Work &work, int index, int x, int y)
{
  const Group &g = work.group[index];
  const unsigned *row = (const unsigned *) (g.in + (long long) max (y, 0) * g.in_pitch), outside = outside_of (work, g);
  int at[4];
  unsigned pixel[4];

#pragma unroll
  for (int i = 0; i < 4; i++)
    at[i] = cf_border_map ((CfBorder) work.border, x + i, g.width);
#pragma unroll
  for (int i = 0; i < 4; i++)
    pixel[i] = row[max (at[i], 0)];
#pragma unroll
  for (int i = 0; i < 4; i++)
    pixel[i] = y < 0 || at[i] < 0 ? outside : pixel[i];
  return make_uint4 (pixel[0], pixel[1], pixel[2], pixel[3]);
}

/* Where a lane's pixels come from: four at x and four at x + 64 of each row. */
struct Source {
  const uint8_t *first;
  int second;          /* bytes on */
  int x, pitch, mine;  /* lane r's `mine` is the picture's row to take for row r, -1: from outside */
  bool repeats, slow;  /* what is beside the picture: its outermost pixels; anything */
};

__device__ __forceinline__ Source
source_of (const Work &work, const Group &g, int x0, int x, int mine)
{
  const bool inside = x0 > 0 && x0 + tile_w + apart_reach <= g.width && __all_sync (~0u, mine >= 0);
  const bool repeats = work.border == CF_BORDER_REPLICATE && g.width % 4 == 0;
  const int last = g.width - 4, at = min (max (x, 0), last);
  Source s = { g.in + 4 * at, 4 * (min (x + 64, last) - at), x, (int) g.in_pitch, mine, !inside && repeats,
    !inside && !repeats };

  keep_whole (s.first);
  return s;
}

/* Two rows of samples. */
__device__ __forceinline__ void
load_pair (const Work &work, const Group &g, const Source &s, int r, uint4 *w)
{
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int y = __shfl_sync (~0u, s.mine, r + i);
    const uint8_t *row = s.first + (long long) y * s.pitch;

    if (s.slow) {
      w[2 * i] = four_beyond (work, g.index, s.x, y);
      w[2 * i + 1] = four_beyond (work, g.index, s.x + 64, y);
    } else {
      w[2 * i] = *(const uint4 *) row;
      w[2 * i + 1] = *(const uint4 *) (row + s.second);
    }
  }
}

__device__ __forceinline__ uint4
repeat_pixels (uint4 w, int x, int width)
{
  const unsigned pixel = x < 0 ? w.x : w.w;

  return x < 0 || x >= width ? make_uint4 (pixel, pixel, pixel, pixel) : w;
}

/* Two rows' pixels to the left operands' words of each plane. */
__device__ __forceinline__ void
take_pair_apart (const Places &p, const Group &g, const Source &s, uint4 *w, unsigned (*a)[4])
{
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if (s.repeats)
      w[i] = repeat_pixels (w[i], s.x + i % 2 * 64, g.width);
    take_apart (p, w[i], a[0][i], a[1][i], a[2][i]);
  }
}

/* The right operands' fragments, [limb][odd][pair]: for an output row of the same parity as
 * the warp's first the kernel's rows 2 p and 2 p + 1, for the others those one up: what they
 * meet begins a row before theirs. */
template<int PAIRS, int LIMBS> __device__ __forceinline__ void
make_pair_fragments (const unsigned *weights, uint2 *fragment, int start, int warp, int lane)
{
  constexpr int n = LIMBS * 2 * PAIRS;
  const int word = start >> 2, bit = 8 * (start & 3);

#pragma unroll
  for (int i = 0; i < (n + warps - 1) / warps; i++) {
    const int f = i * warps + warp, limb = f / (2 * PAIRS), first = f % PAIRS * 2 - f / PAIRS % 2;
    const unsigned *row = weights + (min (limb, LIMBS - 1) * 10 + first) * 8 + word;
    const unsigned b0 = first < 0 ? 0 : __funnelshift_r (row[0], row[1], bit);

    if (f < n)
      fragment[f * 32 + lane] = make_uint2 (b0, __funnelshift_r (row[8], row[9], bit));
  }
}

/* A plane's sums of two rows: of each x, x + 1, x + 64, x + 65; a: pairs of rows of samples. */
template<int PAIRS, int LIMBS> __device__ __forceinline__ void
add_pairs (int (*sum)[4], const unsigned (*a)[3][4], int plane, const uint2 *fragment, int begin)
{
  const int init = LIMBS == 1 ? begin : 0, first[4] = { init, init, init, init };

#pragma unroll
  for (int limb = LIMBS - 1; limb >= 0; limb--)
#pragma unroll
    for (int odd = 0; odd < 2; odd++) {
      if (limb < LIMBS - 1)
#pragma unroll
        for (int i = 0; i < 4; i++)
          sum[odd][i] = sum[odd][i] * 256 + (limb == 0 ? begin : 0);
#pragma unroll
      for (int p = 0; p < PAIRS; p++) {
        const uint2 b = fragment[((limb * 2 + odd) * PAIRS + p) * 32];

        multiply_to<false, true> (sum[odd], limb == LIMBS - 1 && p == 0 ? first : sum[odd], a[p][plane], b.x, b.y);
      }
    }
}

template<Rule RULE> __device__ __forceinline__ void
round_pair (const Rounding &k, const int (*sum)[4], unsigned *word)
{
  word[0] = round_four_ruled<RULE> (k, sum[0]);
  word[1] = round_four_ruled<RULE> (k, sum[1]);
}

/* One limb: quick sums that are never below 0. */
template<int LIMBS> __device__ __forceinline__ void
round_apart (const Rounding &k, int (*sum)[4], unsigned *word)
{
  if (LIMBS > 1 && k.clips)
#pragma unroll
    for (int i = 0; i < 8; i++)
      sum[i / 4][i % 4] = max (sum[i / 4][i % 4], 0);
  if (k.rule == RULE_ONE)
    round_pair<RULE_ONE> (k, sum, word);
  else if (LIMBS == 1 || k.rule == RULE_EVEN)
    round_pair<RULE_EVEN> (k, sum, word);
  else if (k.rule == RULE_SHIFT)
    round_pair<RULE_SHIFT> (k, sum, word);
  else
    round_pair<RULE_DIVIDE> (k, sum, word);
}

/* Two pixels of two planes, the third's word and what was there. */
__device__ __forceinline__ uint2
put_together (const Places &p, unsigned plane0, unsigned plane1, unsigned plane2, uint2 was, int side)
{
  const unsigned two = __byte_perm (plane0, plane1, side ? 0x7362 : 0x5140);
  const unsigned low = __byte_perm (plane2, was.x, p.rest | (side ? 2 : 0)),
      high = __byte_perm (plane2, was.y, p.rest | (side ? 3 : 1));

  return make_uint2 (__byte_perm (two, low, p.put[0]), __byte_perm (two, high, p.put[1]));
}

/* What two rows hold at x, x + 1 and 64 further. */
__device__ __forceinline__ void
load_pixels_at (const Group &g, bool whole, int x, int y, uint2 *was)
{
  const uint8_t *from = g.in + (long long) y * (int) g.in_pitch + 4 * x;

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const uint8_t *at = from + (i / 2) * g.in_pitch + i % 2 * 256;

    if (whole)
      was[i] = *(const uint2 *) at;
    else {
      const bool has_row = y + i / 2 < g.height;

      was[i].x = has_row && x + i % 2 * 64 < g.width ? ((const unsigned *) at)[0] : 0;
      was[i].y = has_row && x + i % 2 * 64 + 1 < g.width ? ((const unsigned *) at)[1] : 0;
    }
  }
}

__device__ __forceinline__ void
store_pixels_at (const Group &g, const Places &p, bool whole, int x, int y, const unsigned (*word)[2], const uint2 *was)
{
  uint8_t *to = g.out + (long long) y * (int) g.out_pitch + 4 * x;

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const uint2 pixels = put_together (p, word[0][i / 2], word[1][i / 2], word[2][i / 2], was[i], i % 2);
    uint8_t *at = to + (i / 2) * g.out_pitch + i % 2 * 256;

    if (whole)
      *(uint2 *) at = pixels;
    else if (y + i / 2 < g.height) {
      if (x + i % 2 * 64 < g.width)
        ((unsigned *) at)[0] = pixels.x;
      if (x + i % 2 * 64 + 1 < g.width)
        ((unsigned *) at)[1] = pixels.y;
    }
  }
}

template<int H, int LIMBS> __global__ void __launch_bounds__ (32 * warps, 4)
convolve_apart_kernel (const __grid_constant__ Work work, const __grid_constant__ SmallWeights small)
{
  constexpr int pairs = (H + 1) / 2, all = (apart_rows + H - 1) / 2, early = pairs + (H < 7 ? 2 : H < 9 ? 1 : 0);
  __shared__ uint4 staged[LIMBS * 20];
  __shared__ uint2 fragment[LIMBS * 2 * pairs * 32];
  const Group g = group_of_block (work, (int) blockIdx.x);
  const int2 place = place_of_block (g, (int) blockIdx.x);
  const int thread = (int) threadIdx.x, warp = thread >> 5, lane = thread & 31, group = lane >> 2, t = lane & 3;
  const int x0 = place.x * tile_w, y0 = (place.y * warps + warp) * apart_rows, wanted = y0 - work.ay + lane;
  const Places p = places_of (g);
  int mine = min (max (wanted, 0), g.height - 1);
  unsigned a[all][3][4];
  uint4 w[all][4];

  if (thread < LIMBS * 20)
    staged[thread] = (&small.row[0][0][0])[thread];
  if (work.border != CF_BORDER_REPLICATE && mine != wanted)
    mine = edge_row (work.border, wanted, g.height);
  const Source s = source_of (work, g, x0, x0 + 8 * group - apart_reach + 4 * t, mine);

  __syncthreads ();
  make_pair_fragments<pairs, LIMBS> ((const unsigned *) staged, fragment, 8 + 4 * t - group + work.ax, warp, lane);
  __syncthreads ();
  await_previous ();
  if (y0 >= g.height)
    return;
  const bool whole = x0 + tile_w <= g.width && y0 + apart_rows <= g.height;

#pragma unroll
  for (int q = 0; q < min (early, all); q++)
    load_pair (work, g, s, 2 * q, w[q]);
#pragma unroll
  for (int q = 0; q < pairs - 1; q++)
    take_pair_apart (p, g, s, w[q], a[q]);
#pragma unroll
  for (int i = 0; i < apart_rows / 2; i++) {
    const int x = x0 + 8 * group + 2 * t, y = y0 + 2 * i;
    unsigned word[3][2];
    uint2 was[4];
    int at = lane;

    take_pair_apart (p, g, s, w[i + pairs - 1], a[i + pairs - 1]);
    if (i + early < all)
      load_pair (work, g, s, 2 * (i + early), w[i + early]);
    load_pixels_at (g, whole, x, y, was);
#pragma unroll
    for (int k = 0; k < 3; k++) {
      int sum[2][4];

      if (k == 0 || LIMBS > 1)
        hide (at); /* fragments are not to stay in registers */
      add_pairs<pairs, LIMBS> (sum, a + i, k, fragment + at, work.rounding.begin[g.plane_chroma (k)]);
      round_apart<LIMBS> (work.rounding, sum, word[k]);
    }
    store_pixels_at (g, p, whole, x, y, word, was);
  }
}

#define CF_APART(h) { h, 1, (const void *) convolve_apart_kernel<h, 1> }, \
  { h, 2, (const void *) convolve_apart_kernel<h, 2> }, { h, 3, (const void *) convolve_apart_kernel<h, 3> }
const struct {
  int h, limbs;
  const void *kernel;
} variants[] = { CF_APART (3), CF_APART (5), CF_APART (7), CF_APART (9) };
#undef CF_APART

} // namespace

CfCode
convolve_apart_init (CfStatus *status)
{
  return load_variants (variants, 0, status);
}

bool
convolve_apart_fits (const CfConvolution &c, const Rounding &k, int limbs)
{
  return c.bits == 8 && c.dense && c.op == CF_CONVOLVE_LINEAR && k.rule != RULE_NONE && limbs <= apart_limbs
      && c.h <= apart_h && c.ax <= apart_reach && c.w - 1 - c.ax <= apart_reach;
}

bool
convolve_launch_apart (Work *work, const SmallWeights &weights, cudaStream_t stream, CfCode *code, CfStatus *status)
{
  void *arguments[] = { work, const_cast<SmallWeights *> (&weights) };
  const int limbs = max (work->limbs, work->rounding.quick != QUICK_NONE && !work->rounding.clips ? 1 : 2);
  int i = 0;

  for (int j = 0; j < work->n; j++) {
    const Group &g = work->group[j];
    int copied = 0;

    for (int k = 0; k < 4; k++)
      copied += g.fate[k] == CF_FATE_COPY;
    if (g.step != 4 || g.planes != 3 || copied != 1 || g.gray || !g.in_vectors || !g.out_words || g.out_pitch > INT_MAX)
      return false;
  }
  while (variants[i].h < work->h || variants[i].limbs < limbs)
    i++;
  deal_groups (work, tile_w, warps * apart_rows);
  *code = launch_blocks ("convolve apart", variants[i].kernel, work->blocks, 32 * warps, arguments, 0, work->ahead,
      stream, status);
  return true;
}

} // namespace cf
