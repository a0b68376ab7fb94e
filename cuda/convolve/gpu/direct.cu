/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve/gpu/direct.cu: small kernels of 8-bit samples on the integer tensor units,
 * straight from the picture's memory to the picture's memory.
 *
 * A row is taken as the bytes that it is, whatever they belong to: the next
 * sample of a component is `step` bytes on, so a row of the kernel is a band of
 * weights `step` bytes apart, and pixels need not be taken apart and put together.
 *
 * Block: 4 warps; a warp makes ROWS rows of 256 bytes. One mma makes 128 outputs
 * of a row out of one row of samples: row g of its left operand is the 32 bytes
 * from 16 g - 8 on (g + 8: 128 bytes further), four words a lane, each of them
 * loaded by itself: pairs would have to be moved to other registers. Column n of
 * the right operand holds a row of the kernel 4 (n / 2) + n % 2 bytes down, in a
 * second mma 2 more, so that a lane ends up with four neighbours: a word to store.
 * So H mma make 128 outputs.
 *
 * Shared memory: the kernel's rows spread to 64 bytes, and the right operands'
 * fragments made of them; each is written before a barrier and read after it. A
 * warp at an edge that needs more than its outermost pixels repeated has their
 * bytes in `beyond`, written and read by itself.
 *
 * Weights beyond signed bytes are split into up to three limbs of base 256, each of
 * which repeats the work.
 *
 * Why no tile: at 1080p all blocks run at once, so a frame takes as long as one
 * warp lives, and barriers and a way through shared memory are a good part of that.
 * An H200 takes 3.5 us for 3 x 3 at 1080p and 7.2 at 4K (copy 2.5 and 5.5), 4.2 and 8.2 where
 * it does not begin ahead (await_previous); 4.4 and 9.9 with two limbs and a division; about 330
 * instructions a warp and four rows, 430 where ties go to even. Warps that go on
 * with the next rows, loaded meanwhile, took 5.0 us at 1080p and gained nothing at 4K
 * (127 registers instead of 80; bounded to 80 they spill). */
#include "tile.cuh"
#include "sums.cuh"

#include <limits.h>

namespace cf {

namespace {

constexpr int warps = 4, threads = 32 * warps, strip = 256;
constexpr int reach = 8;        /* bytes on each side of an output that taps may lie */
constexpr int max_h = 9, max_band_limbs = 3, max_spreads = 2;
constexpr int spread_bytes = 64; /* tap i of a row: byte 32 + step (i - ax) */

/* A group of components that lie in the same pixels. */
struct Band {
  const uint8_t *in;
  uint8_t *out;
  int in_pitch, out_pitch;
  int bytes, height; /* bytes: of a row */
  int first_block, blocks_x;
  unsigned blocks_inverse;
  int init[4];         /* what sums begin with, of the bytes of a word */
  unsigned pick;       /* a word's bytes out of the results (0..3) and what was there (4..7) */
  unsigned outside;    /* a word of what is outside the picture */
  unsigned repeat[2];  /* left and right of it: selectors for two words out of the outermost one */
  uint8_t step, spread;
  bool filtered, keeps; /* keeps: pick takes something of what was there */
  bool repeats;         /* what is beside the picture comes out of its outermost words */
};

struct Bands {
  Rounding rounding;
  int n, blocks, ay;
  uint8_t border;
  Band band[CF_MAX_VIEWS];
};

template<int H, int LIMBS> struct BandWeights {
  uint4 row[max_spreads][LIMBS][H][spread_bytes / 16];
};

/* Byte `at` of row y, anywhere. Where it lies, -1: outside. */
__device__ __noinline__ long long
place_of_byte (const Bands &bands, int index, int at, int y)
{
  const Band &b = bands.band[index];
  const int x = (at + 64 * b.step) / b.step - 64, mx = cf_border_map ((CfBorder) bands.border, x, b.bytes / b.step);

  return mx < 0 || y < 0 ? -1 : (long long) y * b.in_pitch + mx * b.step + at - x * b.step;
}

/* The eight bytes from `at` on of row y, which is inside or -1. */
__device__ __noinline__ uint2
bytes_beyond (const Bands &bands, int index, int at, int y)
{
  const Band &b = bands.band[index];
  unsigned value[8];
  long long place[8];

#pragma unroll
  for (int i = 0; i < 8; i++)
    place[i] = place_of_byte (bands, index, at + i, y);
#pragma unroll
  for (int i = 0; i < 8; i++)
    value[i] = b.in[max (place[i], 0ll)];
#pragma unroll
  for (int i = 0; i < 8; i++)
    value[i] = place[i] < 0 ? b.outside >> 8 * ((at + i) & 3) & 0xff : value[i];
  return make_uint2 (value[0] | value[1] << 8 | value[2] << 16 | value[3] << 24,
      value[4] | value[5] << 8 | value[6] << 16 | value[7] << 24);
}

/* Where the lane's word i of a row is, from its first on. */
__device__ __forceinline__ int
word_at (int i)
{
  return (i & 1) * 128 + (i >> 1) * 16;
}

/* Rows of samples, of each the lane's four words; lane r's `mine` is the row to take
 * for r. */
template<int COUNT> __device__ __forceinline__ void
load_inside (const Band &b, int from, int mine, unsigned (*a)[4])
{
  const uint8_t *column = b.in + from;

  keep_whole (column);
#pragma unroll
  for (int r = 0; r < COUNT; r++) {
    const uint8_t *p = column + (long long) __shfl_sync (~0u, mine, r) * b.in_pitch;

#pragma unroll
    for (int i = 0; i < 4; i++)
      a[r][i] = *(const unsigned *) (p + word_at (i));
  }
}

/* The same for a warp beside whose columns or rows the picture ends: first what is
 * inside, then what else stands in the warp's first or last columns. */
template<int COUNT> __device__ __forceinline__ void
load_edge (const Bands &bands, const Band &b, int index, int x0, int from, int mine, int lane, unsigned (*beyond)[6],
    unsigned (*a)[4])
{
  const int end = b.bytes & ~3;

  if (!b.repeats) {
    if (lane < COUNT && x0 == 0)
      *(uint2 *) beyond[lane] = bytes_beyond (bands, index, -8, mine);
    if (lane < COUNT && x0 + strip + reach > b.bytes) {
      *(uint2 *) (beyond[lane] + 2) = bytes_beyond (bands, index, end, mine);
      *(uint2 *) (beyond[lane] + 4) = bytes_beyond (bands, index, end + 8, mine);
    }
    __syncwarp ();
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const uint8_t *column = b.in + min (max (from + word_at (i), 0), end - 4);

    keep_whole (column);
#pragma unroll
    for (int r = 0; r < COUNT; r++)
      a[r][i] = *(const unsigned *) (column + (long long) max (__shfl_sync (~0u, mine, r), 0) * b.in_pitch);
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int at = from + word_at (i);

    if (b.repeats) {
      const unsigned selectors = at < 0 ? b.repeat[0] >> (at < -4 ? 0 : 16)
          : at >= end ? b.repeat[1] >> (at < end + 4 ? 0 : 16) : 0x3210;

#pragma unroll
      for (int r = 0; r < COUNT; r++)
        a[r][i] = __byte_perm (a[r][i], 0, selectors & 0xffff);
      continue;
    }
#pragma unroll
    for (int r = 0; r < COUNT; r++)
      if (__shfl_sync (~0u, mine, r) < 0)
        a[r][i] = b.outside;
    if (at < 0 || (at >= end && at < end + 16))
#pragma unroll
      for (int r = 0; r < COUNT; r++)
        a[r][i] = beyond[r][at < 0 ? 2 + at / 4 : 2 + (at - end) / 4];
  }
}

/* The fragments of the right operands: for both mma of a row two words. */
template<int COUNT> __device__ __forceinline__ void
make_fragments (const unsigned *spread, uint4 *fragment, int warp, int lane)
{
  const int n = lane >> 2, start = 32 - reach + 4 * (lane & 3) - 4 * (n >> 1) - (n & 1);

#pragma unroll
  for (int i = 0; i < (COUNT + warps - 1) / warps; i++) {
    const int row = i * warps + warp;
    unsigned word[4];

#pragma unroll
    for (int k = 0; k < 4; k++) {
      const int at = start - 2 * (k >> 1) + 16 * (k & 1);
      const unsigned *from = spread + min (row, COUNT - 1) * (spread_bytes / 4) + (at >> 2);

      word[k] = __funnelshift_r (from[0], from[1], 8 * (at & 3));
    }
    if (row < COUNT)
      fragment[row * 32 + lane] = make_uint4 (word[0], word[1], word[2], word[3]);
  }
}

/* All products of ROWS rows: sum[r][s]: columns 4 t + 2 s, 4 t + 2 s + 1 of this lane's
 * sixteen bytes, and the same 128 further. */
template<int H, int ROWS, int LIMBS> __device__ __forceinline__ void
add_products (int (*sum)[2][4], const unsigned (*a)[4], const uint4 *fragment, const int *init)
{
  int first[2][4] = { };

  if (LIMBS == 1)
#pragma unroll
    for (int i = 0; i < 8; i++) {
      first[i / 4][i % 4] = init[i / 4 * 2 + i % 2];
      hide (first[i / 4][i % 4]); /* as they lie, for all */
    }
#pragma unroll
  for (int limb = LIMBS - 1; limb >= 0; limb--) {
#pragma unroll
    for (int i = 0; limb < LIMBS - 1 && i < 8 * ROWS; i++)
      sum[i / 8][i / 4 % 2][i % 4] = sum[i / 8][i / 4 % 2][i % 4] * 256
          + (limb == 0 ? init[i / 4 % 2 * 2 + i % 2] : 0);
#pragma unroll
    for (int j = 0; j < H; j++) {
      const uint4 b = fragment[(limb * H + j) * 32];

#pragma unroll
      for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int s = 0; s < 2; s++)
          multiply_to<false, true> (sum[r][s], j == 0 && limb == LIMBS - 1 ? first[s] : sum[r][s], a[r + j],
              s ? b.z : b.x, s ? b.w : b.y);
    }
  }
}

template<int ROWS, Rule RULE> __device__ __forceinline__ void
round_rows (const Rounding &k, const int (*sum)[2][4], unsigned (*word)[2])
{
#pragma unroll
  for (int r = 0; r < ROWS; r++)
#pragma unroll
    for (int side = 0; side < 2; side++) {
      const int four[4] = { sum[r][0][2 * side], sum[r][0][2 * side + 1], sum[r][1][2 * side],
        sum[r][1][2 * side + 1] };

      word[r][side] = round_four_ruled<RULE> (k, four);
    }
}

/* One limb: quick sums that are never below 0. */
template<int ROWS, int LIMBS> __device__ __forceinline__ void
round_all (const Rounding &k, int (*sum)[2][4], unsigned (*word)[2])
{
  if (LIMBS > 1 && k.clips)
#pragma unroll
    for (int i = 0; i < 8 * ROWS; i++)
      sum[i / 8][i / 4 % 2][i % 4] = max (sum[i / 8][i / 4 % 2][i % 4], 0);
  if (k.rule == RULE_ONE)
    round_rows<ROWS, RULE_ONE> (k, sum, word);
  else if (LIMBS == 1 || k.rule == RULE_EVEN)
    round_rows<ROWS, RULE_EVEN> (k, sum, word);
  else if (k.rule == RULE_SHIFT)
    round_rows<ROWS, RULE_SHIFT> (k, sum, word);
  else
    round_rows<ROWS, RULE_DIVIDE> (k, sum, word);
}

/* A word of a row that may end in it. */
__device__ __forceinline__ void
store_word (const Band &b, uint8_t *row, int x, unsigned word)
{
  if (x + 3 < b.bytes)
    *(unsigned *) (row + x) = word;
  else
#pragma unroll
    for (int i = 0; i < 3; i++)
      if (x + i < b.bytes)
        row[x + i] = (uint8_t) (word >> 8 * i);
}

template<int ROWS> __device__ __forceinline__ void
store_rows (const Band &b, int x0, int x, int y, const unsigned (*word)[2])
{
  if (x0 + strip <= b.bytes && y + ROWS <= b.height) {
    uint8_t *to = b.out + (long long) y * b.out_pitch + x;

#pragma unroll
    for (int r = 0; r < ROWS; r++, to += b.out_pitch) {
      ((unsigned *) to)[0] = word[r][0];
      ((unsigned *) to)[32] = word[r][1];
    }
    return;
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++)
    if (y + r < b.height)
#pragma unroll
      for (int side = 0; side < 2; side++)
        store_word (b, b.out + (long long) (y + r) * b.out_pitch, x + 128 * side, word[r][side]);
}

/* The input's words where the output's will be; rows are whole words. */
template<int ROWS> __device__ __forceinline__ void
load_words (const Band &b, int x, int y, unsigned (*word)[2])
{
#pragma unroll
  for (int side = 0; side < 2; side++) {
    const uint8_t *column = b.in + min (x + 128 * side, b.bytes - 4);

    keep_whole (column);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
      word[r][side] = *(const unsigned *) (column + (long long) min (y + r, b.height - 1) * b.in_pitch);
  }
}

/* A group of which nothing is filtered. */
template<int ROWS> __device__ __forceinline__ void
copy_rows (const Band &b, int x0, int x, int y)
{
  unsigned word[ROWS][2];

  if (b.bytes % 4 == 0) {
    load_words<ROWS> (b, x, y, word);
    store_rows<ROWS> (b, x0, x, y, word);
    return;
  }
#pragma unroll 1
  for (int i = 0; i < 8 * ROWS; i++) {
    const int at = x + i % 4 + i / 4 % 2 * 128, row = y + i / 8;

    if (at < b.bytes && row < b.height)
      b.out[(long long) row * b.out_pitch + at] = b.in[(long long) row * b.in_pitch + at];
  }
}

/* How many blocks' registers an SM shall hold: with 128 instead of 96 registers 7 x 7 of two
 * limbs took 5.7 instead of 5.1 us at 1080p, with 128 instead of 134 3 x 3 of two limbs 9.9
 * instead of 12.0 at 4K. */
constexpr int
resident (int h, int rows, int limbs)
{
  return rows == 8 ? (h == 3 ? 4 : 3) : h == 3 && limbs == 1 ? 6 : h == 9 || (h == 7 && limbs == 1) ? 4 : 5;
}

template<int H, int ROWS, int LIMBS> __global__ void __launch_bounds__ (threads, resident (H, ROWS, LIMBS))
convolve_band_kernel (const __grid_constant__ Bands bands, const __grid_constant__ BandWeights<H, LIMBS> weights)
{
  constexpr int count = ROWS + H - 1; /* rows of samples; at most 32 */
  constexpr int vectors = LIMBS * H * spread_bytes / 16;
  __shared__ uint4 spread[vectors], fragment[LIMBS * H * 32];
  __shared__ __align__ (8) unsigned beyond[warps][count][6];
  const int thread = (int) threadIdx.x, warp = thread >> 5, lane = thread & 31;
  int index = 0;

  while (index + 1 < bands.n && (int) blockIdx.x >= bands.band[index + 1].first_block)
    index++;
  const Band b = bands.band[index];
  const unsigned block = blockIdx.x - (unsigned) b.first_block;
  const unsigned down = b.blocks_inverse ? __umulhi (block, b.blocks_inverse) : block;
  const int x0 = (int) (block - down * (unsigned) b.blocks_x) * strip, y0 = ((int) down * warps + warp) * ROWS;
  const int x = x0 + 16 * (lane >> 2) + 4 * (lane & 3), from = x - reach;
  const int wanted = y0 - bands.ay + lane;
  int mine = min (max (wanted, 0), b.height - 1);
  unsigned rest[ROWS][2], word[ROWS][2];
  unsigned a[count][4];
  int sum[ROWS][2][4];

  if (!b.filtered) {
    await_previous ();
    copy_rows<ROWS> (b, x0, x, y0);
    return;
  }
  if (bands.border != CF_BORDER_REPLICATE && mine != wanted)
    mine = edge_row (bands.border, wanted, b.height);
  const auto load_samples = [&] {
    if (x0 > 0 && x0 + strip + reach <= b.bytes && __all_sync (~0u, mine >= 0))
      load_inside<count> (b, from, mine, a);
    else
      load_edge<count> (bands, b, index, x0, from, mine, lane, beyond[warp], a);
  };

  if (!has_turns) /* they arrive meanwhile */
    load_samples ();
#pragma unroll
  for (int i = 0; i < (vectors + threads - 1) / threads; i++)
    if (i * threads + thread < vectors)
      spread[i * threads + thread] = (&weights.row[b.spread][0][0][0])[i * threads + thread];
  __syncthreads ();
  make_fragments<LIMBS * H> ((const unsigned *) spread, fragment, warp, lane);
  if (has_turns) {
    await_previous ();
    load_samples ();
  }
  if (b.keeps)
    load_words<ROWS> (b, x, y0, rest);
  __syncthreads ();
  if (y0 >= b.height)
    return;
  add_products<H, ROWS, LIMBS> (sum, a, fragment + lane, b.init);
  round_all<ROWS, LIMBS> (bands.rounding, sum, word);
  if (b.keeps)
#pragma unroll
    for (int i = 0; i < 2 * ROWS; i++)
      word[i / 2][i % 2] = __byte_perm (word[i / 2][i % 2], rest[i / 2][i % 2], b.pick);
  store_rows<ROWS> (b, x0, x, y0, word);
}

/* ---- launches ----------------------------------------------------------- */

/* Eight rows a warp: fewer rows are loaded twice. Four: more warps. */
#define CF_BAND(h, rows, limbs) { h, limbs, rows, (const void *) convolve_band_kernel<h, rows, limbs> }
const struct Variant {
  int h, limbs, rows;
  const void *kernel;
} variants[] = {
  CF_BAND (3, 4, 1), CF_BAND (3, 8, 1), CF_BAND (5, 4, 1), CF_BAND (5, 8, 1), CF_BAND (7, 4, 1), CF_BAND (7, 8, 1),
  CF_BAND (9, 4, 1), CF_BAND (9, 8, 1), CF_BAND (3, 4, 2), CF_BAND (3, 8, 2), CF_BAND (5, 4, 2), CF_BAND (5, 8, 2),
  CF_BAND (7, 4, 2), CF_BAND (7, 8, 2), CF_BAND (9, 4, 2), CF_BAND (9, 8, 2), CF_BAND (3, 4, 3), CF_BAND (3, 8, 3),
  CF_BAND (5, 4, 3), CF_BAND (7, 4, 3), CF_BAND (9, 4, 3),
};
#undef CF_BAND

/* Selectors of the two words beside a row's first or last word that go on with its
 * outermost pixel. */
unsigned
repeat_pixel (int step, bool right)
{
  unsigned selectors = 0;

  for (int i = 0; i < 8; i++)
    selectors |= (unsigned) (right ? 4 - step + i % step : (i + 8 * (step - 1)) % step) << 4 * i;
  return selectors;
}

/* False: this group is not for these kernels. */
bool
make_band (const Work &work, const Group &g, Band *b)
{
  const uintptr_t in = (uintptr_t) g.in | (uintptr_t) g.in_pitch, out = (uintptr_t) g.out | (uintptr_t) g.out_pitch;
  const Rounding &k = work.rounding;

  *b = Band ();
  b->in = g.in;
  b->out = g.out;
  b->in_pitch = (int) g.in_pitch;
  b->out_pitch = (int) g.out_pitch;
  b->bytes = g.width * g.step;
  b->height = g.height;
  b->step = g.step;
  b->filtered = g.planes > 0;
  b->repeats = work.border == CF_BORDER_REPLICATE && b->bytes % 4 == 0;
  b->repeat[0] = repeat_pixel (g.step, false);
  b->repeat[1] = repeat_pixel (g.step, true);
  for (int i = 0; i < g.step; i++) {
    if (g.fate[i] != CF_FATE_FILTER && g.fate[i] != CF_FATE_COPY)
      return false;
    b->keeps = b->keeps || (b->filtered && g.fate[i] == CF_FATE_COPY);
  }
  if ((b->keeps && b->bytes % 4 != 0) || (g.step == 3 && b->filtered && (b->keeps || (g.chroma != 0 && g.chroma != 7))))
    return false; /* words differ */
  for (int i = 0; i < 4; i++) {
    const int at = g.step == 3 ? 0 : i % g.step, chroma = g.plane_chroma (g.plane[at]);

    b->init[i] = k.begin[chroma];
    b->outside |= (unsigned) work.outside[chroma] << 8 * i;
    b->pick |= (unsigned) (g.fate[at] == CF_FATE_COPY ? 4 + i : i) << 4 * i;
  }
  return g.bytes == 1 && !g.gray && ((in | out) & 3) == 0 && b->bytes >= 4 && g.in_pitch <= INT_MAX
      && g.out_pitch <= INT_MAX && work.ax * g.step <= reach && (work.w - 1 - work.ax) * g.step <= reach;
}

/* Spreads the kernel's rows for a step; signed digits of base 256. */
void
put_spread (const CfConvolution &c, int step, int limbs, int h, uint8_t *rows)
{
  for (int j = 0; j < c.h; j++)
    for (int i = 0; i < c.w; i++) {
      int64_t rest = c.weights[j * c.w + i];

      for (int l = 0; l < limbs; l++) {
        const int8_t digit = (int8_t) (rest & 0xff);

        rows[(l * h + j) * spread_bytes + 32 + step * (i - c.ax)] = (uint8_t) digit;
        rest = (rest - digit) / 256;
      }
    }
}

/* How many warps of eight rows keep a big GPU busy; fewer where they win more. */
int
enough_warps (const Variant &v)
{
  return v.limbs == 1 && (v.h == 5 || v.h == 7) ? 1024 : 2048;
}

const Variant *
variant_of (const Work &work, int h, int limbs)
{
  const Variant *found = NULL;
  int tasks = 0;

  for (int i = 0; i < work.n; i++)
    tasks += (work.group[i].width * work.group[i].step + strip - 1) / strip * ((work.group[i].height + 7) / 8);
  for (const Variant &v : variants)
    if (v.h >= h && v.limbs >= limbs && (!found || (v.h == found->h && v.limbs == found->limbs
        && tasks >= enough_warps (v))))
      found = &v;
  return found;
}

} // namespace

CfCode
convolve_band_init (CfStatus *status)
{
  return load_variants (variants, 0, status);
}

bool
convolve_band_fits (const CfConvolution &c, const Rounding &k, int limbs, int step)
{
  return c.bits == 8 && c.dense && c.op == CF_CONVOLVE_LINEAR && c.h <= max_h && limbs <= max_band_limbs
      && k.rule != RULE_NONE
      && c.ax * step <= reach && (c.w - 1 - c.ax) * step <= reach;
}

bool
convolve_launch_band (const Work &work, const CfConvolution &c, cudaStream_t stream, CfCode *code, CfStatus *status)
{
  const int limbs = max (work.limbs, work.rounding.quick != QUICK_NONE && !work.rounding.clips ? 1 : 2);
  const Variant *v = variant_of (work, c.h, limbs);
  const int spread_size = v->limbs * v->h * spread_bytes;
  alignas (16) uint8_t weights[max_spreads * max_band_limbs * max_h * spread_bytes] = { };
  Bands bands = { };
  int steps[max_spreads], n_steps = 0;
  void *arguments[] = { &bands, weights };

  bands.rounding = work.rounding;
  bands.n = work.n;
  bands.ay = work.ay;
  bands.border = work.border;
  for (int i = 0; i < work.n; i++) {
    Band *b = &bands.band[i];

    if (!make_band (work, work.group[i], b))
      return false;
    while (b->filtered && b->spread < n_steps && steps[b->spread] != b->step)
      b->spread++;
    if (b->filtered && b->spread == max_spreads)
      return false;
    if (b->filtered && b->spread == n_steps) {
      put_spread (c, b->step, limbs, v->h, weights + n_steps * spread_size);
      steps[n_steps++] = b->step;
    }
    b->first_block = bands.blocks;
    b->blocks_x = (b->bytes + strip - 1) / strip;
    b->blocks_inverse = inverse_of_blocks (b->blocks_x);
    bands.blocks += b->blocks_x * ((b->height + warps * v->rows - 1) / (warps * v->rows));
  }
  *code = launch_blocks ("convolve band", v->kernel, bands.blocks, threads, arguments, 0, work.ahead, stream, status);
  return true;
}

} // namespace cf
