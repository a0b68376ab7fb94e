/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/direct.cu: kernels of up to 9 x 9 taps on 8-bit samples, on the integer tensor units, from
 * global memory to global memory without a tile in shared memory.
 *
 * A row is filtered as bytes, whatever components they belong to: the next sample of a component is `step`
 * bytes on, so the taps of a kernel row are spread `step` bytes apart, and pixels are not split into planes.
 *
 * Map: 4 warps a block, a warp makes ROWS rows of 256 bytes. One mma makes 128 outputs of a row from one row
 * of samples. Row g of its left operand is the 32 bytes from 16 g - 8 on (row g + 8: 128 bytes further); a
 * lane loads its four words one by one, as wider loads would need moves between registers. Column n of the
 * right operand is a kernel row, shifted down by 4 (n / 2) + n % 2 bytes, in a second mma by 2 more, so that
 * a lane ends up with four neighbours and stores a word. So H mma make 128 outputs. Weights wider than a
 * signed byte are split into up to three limbs of base 256, each of which repeats the products.
 *
 * Shared memory: the spread kernel rows (64 bytes each), and the fragments of the right operands; each is
 * written before a barrier and read after it. `edge_bytes` is written and read by one warp only.
 *
 * Bound by latency: at 1080p all blocks are resident at once, so a frame takes as long as one warp lives,
 * which is why there are no tile and no further barriers. Times: docs/notes/convolve.md. */
#include "direct.cuh"

#include <limits.h>

namespace cf {

namespace {

constexpr int warps = 4, threads = 32 * warps, strip_bytes = 256;
constexpr int halo = 8;         /* bytes on each side of an output that taps may reach */
constexpr int max_h = 9, max_direct_limbs = 3;
constexpr int spread_bytes = 64; /* of a spread kernel row; tap i is byte 32 + step (i - ax) */

/* The spread kernel rows, for each of up to two steps. */
template<int H, int LIMBS> struct DirectWeights {
  uint4 row[max_spreads][LIMBS][H][spread_bytes / 16];
};

/* Loads the eight bytes from `at` on of row y (already mapped, or -1), mapped by the border. */
__device__ __noinline__ uint2
load_past_edge (const DirectLaunch &launch, int index, int at, int y)
{
  const DirectGroup &d = launch.group[index];
  unsigned value[8];
  long long offset[8];

#pragma unroll
  for (int i = 0; i < 8; i++)
    offset[i] = offset_of_byte (launch, index, at + i, y);
#pragma unroll
  for (int i = 0; i < 8; i++)
    value[i] = d.in[max (offset[i], 0ll)];
#pragma unroll
  for (int i = 0; i < 8; i++)
    value[i] = offset[i] < 0 ? d.outside.x >> 8 * ((at + i) & 3) & 0xff : value[i];
  return make_uint2 (value[0] | value[1] << 8 | value[2] << 16 | value[3] << 24,
      value[4] | value[5] << 8 | value[6] << 16 | value[7] << 24);
}

/* Returns the offset of a lane's word i from its word 0, in bytes. */
__device__ __forceinline__ int
word_at (int i)
{
  return (i & 1) * 128 + (i >> 1) * 16;
}

/* Loads the lane's four words of COUNT rows of samples, all inside the image. Lane r's `lane_row` is the
 * image's row that is loaded as row r. */
template<int COUNT> __device__ __forceinline__ void
load_inside (const DirectGroup &d, int from, int lane_row, unsigned (*a)[4])
{
  const uint8_t *column = d.in + from;

  keep_whole (column);
#pragma unroll
  for (int r = 0; r < COUNT; r++) {
    const uint8_t *p = column + (long long) __shfl_sync (~0u, lane_row, r) * d.in_pitch;

#pragma unroll
    for (int i = 0; i < 4; i++)
      a[r][i] = *(const unsigned *) (p + word_at (i));
  }
}

/* The same for a warp at an edge of the image: first loads what is inside, at clamped addresses, then
 * replaces the words that are not inside. Where they are not just the outermost pixels repeated, lane r
 * first makes the bytes before (edge_bytes[r][0..1]) and after row r ([2..5]). */
template<int COUNT> __device__ __forceinline__ void
load_edge (const DirectLaunch &launch, const DirectGroup &d, int index, int x0, int from, int lane_row, int lane,
    unsigned (*edge_bytes)[6], unsigned (*a)[4])
{
  const int end = d.bytes & ~3;

  if (!d.repeats) {
    if (lane < COUNT && x0 == 0)
      *(uint2 *) edge_bytes[lane] = load_past_edge (launch, index, -8, lane_row);
    if (lane < COUNT && x0 + strip_bytes + halo > d.bytes) {
      *(uint2 *) (edge_bytes[lane] + 2) = load_past_edge (launch, index, end, lane_row);
      *(uint2 *) (edge_bytes[lane] + 4) = load_past_edge (launch, index, end + 8, lane_row);
    }
    __syncwarp ();
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const uint8_t *column = d.in + min (max (from + word_at (i), 0), end - 4);

    keep_whole (column);
#pragma unroll
    for (int r = 0; r < COUNT; r++)
      a[r][i] = *(const unsigned *) (column + (long long) max (__shfl_sync (~0u, lane_row, r), 0) * d.in_pitch);
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int at = from + word_at (i);

    if (d.repeats) {
      const unsigned selectors = at < 0 ? d.repeat[0] >> (at < -4 ? 0 : 16)
          : at >= end ? d.repeat[1] >> (at < end + 4 ? 0 : 16) : 0x3210;

#pragma unroll
      for (int r = 0; r < COUNT; r++)
        a[r][i] = __byte_perm (a[r][i], 0, selectors & 0xffff);
      continue;
    }
#pragma unroll
    for (int r = 0; r < COUNT; r++)
      if (__shfl_sync (~0u, lane_row, r) < 0)
        a[r][i] = d.outside.x;
    if (at < 0 || (at >= end && at < end + 16))
#pragma unroll
      for (int r = 0; r < COUNT; r++)
        a[r][i] = edge_bytes[r][at < 0 ? 2 + at / 4 : 2 + (at - end) / 4];
  }
}

/* Makes the fragments of the right operands of COUNT kernel rows: two words for each of a row's two mma. */
template<int COUNT> __device__ __forceinline__ void
make_fragments (const unsigned *spread, uint4 *fragment, int warp, int lane)
{
  const int n = lane >> 2, start = 32 - halo + 4 * (lane & 3) - 4 * (n >> 1) - (n & 1);

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

/* Makes all sums of ROWS rows. With g = lane / 4 and t = lane % 4, sum[r][s] are those of the bytes
 * 16 g + 4 t + 2 s and the next one, and of the same two 128 further. */
template<int H, int ROWS, int LIMBS> __device__ __forceinline__ void
add_products (int (*sum)[2][4], const unsigned (*a)[4], const uint4 *fragment, const int *init)
{
  int first[2][4] = { };

  if (LIMBS == 1)
#pragma unroll
    for (int i = 0; i < 8; i++) {
      first[i / 4][i % 4] = init[i / 4 * 2 + i % 2];
      hide (first[i / 4][i % 4]); /* keeps these registers as the initial sums of all rows */
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
          multiply<true> (sum[r][s], j == 0 && limb == LIMBS - 1 ? first[s] : sum[r][s], a[r + j],
              s ? b.z : b.x, s ? b.w : b.y);
    }
  }
}

/* Stores the lane's words of ROWS rows; x0: first byte of the warp's columns. */
template<int ROWS> __device__ __forceinline__ void
store_rows (const DirectGroup &d, int x0, int x, int y, const unsigned (*word)[2])
{
  if (x0 + strip_bytes <= d.bytes && y + ROWS <= d.height) {
    uint8_t *to = d.out + (long long) y * d.out_pitch + x;

#pragma unroll
    for (int r = 0; r < ROWS; r++, to += d.out_pitch) {
      ((unsigned *) to)[0] = word[r][0];
      ((unsigned *) to)[32] = word[r][1];
    }
    return;
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++)
    if (y + r < d.height)
#pragma unroll
      for (int side = 0; side < 2; side++)
        store_word (d, d.out + (long long) (y + r) * d.out_pitch, x + 128 * side, word[r][side]);
}

/* Loads the input's words at the lane's output words; rows consist of whole words. */
template<int ROWS> __device__ __forceinline__ void
load_kept (const DirectGroup &d, int x, int y, unsigned (*word)[2])
{
#pragma unroll
  for (int side = 0; side < 2; side++) {
    const uint8_t *column = d.in + min (x + 128 * side, d.bytes - 4);

    keep_whole (column);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
      word[r][side] = *(const unsigned *) (column + (long long) min (y + r, d.height - 1) * d.in_pitch);
  }
}

/* Copies the lane's bytes of a group without filtered planes. */
template<int ROWS> __device__ __forceinline__ void
copy_rows (const DirectGroup &d, int x0, int x, int y)
{
  unsigned word[ROWS][2];

  if (d.bytes % 4 == 0) {
    load_kept<ROWS> (d, x, y, word);
    store_rows<ROWS> (d, x0, x, y, word);
    return;
  }
#pragma unroll 1
  for (int i = 0; i < 8 * ROWS; i++) {
    const int at = x + i % 4 + i / 4 % 2 * 128, row = y + i / 8;

    if (at < d.bytes && row < d.height)
      d.out[(long long) row * d.out_pitch + at] = d.in[(long long) row * d.in_pitch + at];
  }
}

/* Returns how many blocks an SM shall hold; it bounds the registers of a thread. Chosen by measurement, see
 * docs/notes/convolve.md. */
constexpr int
blocks_per_sm (int h, int rows, int limbs)
{
  return rows == 8 ? (h == 3 ? 4 : 3) : h == 3 && limbs == 1 ? 6 : h == 9 || (h == 7 && limbs == 1) ? 4 : 5;
}

template<int H, int ROWS, int LIMBS> __global__ void __launch_bounds__ (threads, blocks_per_sm (H, ROWS, LIMBS))
convolve_direct_kernel (const __grid_constant__ DirectLaunch launch,
    const __grid_constant__ DirectWeights<H, LIMBS> weights)
{
  constexpr int count = ROWS + H - 1; /* rows of samples; at most 32, one per lane of `lane_row` */
  constexpr int vectors = LIMBS * H * spread_bytes / 16;
  __shared__ uint4 spread[vectors], fragment[LIMBS * H * 32];
  __shared__ __align__ (8) unsigned edge_bytes[warps][count][6];
  const int thread = (int) threadIdx.x, warp = thread >> 5, lane = thread & 31;
  const int index = index_of_block (launch, (int) blockIdx.x);
  const DirectGroup d = launch.group[index];
  const int2 position = block_position (d, (int) blockIdx.x);
  const int x0 = position.x * strip_bytes, y0 = (position.y * warps + warp) * ROWS;
  const int x = x0 + 16 * (lane >> 2) + 4 * (lane & 3), from = x - halo;
  const int wanted = y0 - launch.ay + lane;
  int lane_row = min (max (wanted, 0), d.height - 1);
  unsigned kept[ROWS][2], word[ROWS][2]; /* [r][0]: the lane's four bytes of row r; [r][1]: those 128 further */
  unsigned a[count][4];
  int sum[ROWS][2][4], four[2 * ROWS][4];

  if (!d.filtered) {
    griddep_wait ();
    copy_rows<ROWS> (d, x0, x, y0);
    return;
  }
  if (launch.border != CF_BORDER_REPLICATE && lane_row != wanted)
    lane_row = edge_row (launch.border, wanted, d.height);
  const auto load_samples = [&] {
    if (x0 > 0 && x0 + strip_bytes + halo <= d.bytes && __all_sync (~0u, lane_row >= 0))
      load_inside<count> (d, from, lane_row, a);
    else
      load_edge<count> (launch, d, index, x0, from, lane_row, lane, edge_bytes[warp], a);
  };

  if (!has_griddep) /* the samples arrive while the fragments are made */
    load_samples ();
#pragma unroll
  for (int i = 0; i < (vectors + threads - 1) / threads; i++)
    if (i * threads + thread < vectors)
      spread[i * threads + thread] = (&weights.row[d.spread][0][0][0])[i * threads + thread];
  __syncthreads ();
  make_fragments<LIMBS * H> ((const unsigned *) spread, fragment, warp, lane);
  if (has_griddep) {
    griddep_wait ();
    load_samples ();
  }
  if (d.keeps)
    load_kept<ROWS> (d, x, y0, kept);
  __syncthreads ();
  if (y0 >= d.height)
    return;
  add_products<H, ROWS, LIMBS> (sum, a, fragment + lane, d.init);
#pragma unroll
  for (int i = 0; i < 8 * ROWS; i++)
    four[i / 4][i % 4] = sum[i / 8][i / 2 % 2][i / 4 % 2 * 2 + i % 2];
  round_words_ruled<LIMBS, 2 * ROWS> (launch.rounding, four, word[0]);
  if (d.keeps)
#pragma unroll
    for (int i = 0; i < 2 * ROWS; i++)
      word[i / 2][i % 2] = __byte_perm (word[i / 2][i % 2], kept[i / 2][i % 2], d.pick);
  store_rows<ROWS> (d, x0, x, y0, word);
}

/* ---- launches ----------------------------------------------------------- */

/* With eight rows a warp fewer rows are loaded twice; with four there are more warps. */
#define CF_DIRECT(h, rows, limbs) { h, limbs, rows, (const void *) convolve_direct_kernel<h, rows, limbs> }
const struct Variant {
  int h, limbs, rows;
  const void *kernel;
} variants[] = {
  CF_DIRECT (3, 4, 1), CF_DIRECT (3, 8, 1), CF_DIRECT (5, 4, 1), CF_DIRECT (5, 8, 1), CF_DIRECT (7, 4, 1),
  CF_DIRECT (7, 8, 1), CF_DIRECT (9, 4, 1), CF_DIRECT (9, 8, 1), CF_DIRECT (3, 4, 2), CF_DIRECT (3, 8, 2),
  CF_DIRECT (5, 4, 2), CF_DIRECT (5, 8, 2), CF_DIRECT (7, 4, 2), CF_DIRECT (7, 8, 2), CF_DIRECT (9, 4, 2),
  CF_DIRECT (9, 8, 2), CF_DIRECT (3, 4, 3), CF_DIRECT (3, 8, 3), CF_DIRECT (5, 4, 3), CF_DIRECT (7, 4, 3),
  CF_DIRECT (9, 4, 3),
};
#undef CF_DIRECT

/* Returns the selectors of the two words left or right of a row that repeat its outermost pixel, made from
 * the row's first or last word. */
unsigned
repeat_pixel (int step, bool right)
{
  unsigned selectors = 0;

  for (int i = 0; i < 8; i++)
    selectors |= (unsigned) (right ? 4 - step + i % step : (i + 8 * (step - 1)) % step) << 4 * i;
  return selectors;
}

/* Fills *d from a group. Returns false if these kernels cannot filter it. */
bool
make_direct_group (const Work &work, const Group &g, DirectGroup *d)
{
  const uintptr_t in = (uintptr_t) g.in | (uintptr_t) g.in_pitch, out = (uintptr_t) g.out | (uintptr_t) g.out_pitch;
  const Rounding &k = work.rounding;

  *d = DirectGroup ();
  d->in = g.in;
  d->out = g.out;
  d->in_pitch = (int) g.in_pitch;
  d->out_pitch = (int) g.out_pitch;
  d->bytes = g.width * g.step;
  d->height = g.height;
  d->step = g.step;
  d->filtered = g.planes > 0;
  d->repeats = work.border == CF_BORDER_REPLICATE && d->bytes % 4 == 0;
  d->repeat[0] = repeat_pixel (g.step, false);
  d->repeat[1] = repeat_pixel (g.step, true);
  d->clamps = d->repeats && d->bytes % 16 == 0 && g.step != 3;
  for (int i = 0; i < g.step; i++) {
    if (g.action[i] != CF_ACTION_FILTER && g.action[i] != CF_ACTION_COPY)
      return false;
    d->keeps = d->keeps || (d->filtered && g.action[i] == CF_ACTION_COPY);
  }
  if ((d->keeps && d->bytes % 4 != 0) || (g.step == 3 && d->filtered && (d->keeps || (g.chroma != 0 && g.chroma != 7))))
    return false; /* `init`, `outside` or `pick` would differ from word to word */
  for (int i = 0; i < 4; i++) {
    const int at = g.step == 3 ? 0 : i % g.step, chroma = g.plane_chroma (g.plane[at]);

    d->init[i] = k.init[chroma];
    d->outside.x |= (unsigned) work.outside[chroma] << 8 * i;
    d->pick |= (unsigned) (g.action[at] == CF_ACTION_COPY ? 4 + i : i) << 4 * i;
  }
  d->outside.y = d->outside.z = d->outside.w = d->outside.x;
  d->vectors = ((in | out) & 15) == 0 && !d->keeps;
  d->pairs = (out & 7) == 0;
  d->plain = d->pairs && !d->keeps;
  return g.bytes == 1 && !g.gray && ((in | out) & 3) == 0 && d->bytes >= 4 && g.in_pitch <= INT_MAX
      && g.out_pitch <= INT_MAX;
}

/* Returns the first variant for h rows and `limbs` limbs, with the rows per warp that suit the frame's size: eight if
 * so many warps keep a large GPU busy; where eight rows gain more, fewer warps suffice. */
const Variant *
variant_of (const Work &work, int h, int limbs)
{
  const Variant *found = NULL;
  int tasks = 0;

  for (int i = 0; i < work.n; i++)
    tasks += cf_divide_up (work.group[i].width * work.group[i].step, strip_bytes)
        * cf_divide_up (work.group[i].height, 8);
  for (const Variant &v : variants)
    if (v.h >= h && v.limbs >= limbs && (!found || (v.h == found->h && v.limbs == found->limbs
        && tasks >= (v.limbs == 1 && (v.h == 5 || v.h == 7) ? 1024 : 2048))))
      found = &v;
  return found;
}

} // namespace

const Load convolve_load_direct = convolve_load<variants, false>;

bool
convolve_direct_fits (const CfConvolution &c, const Rounding &k, int limbs, int step)
{
  return (c.bits == 8 && c.dense && c.op == CF_CONVOLVE_LINEAR && c.h <= max_h && limbs <= max_direct_limbs
      && k.rule != RULE_NONE && c.ax * step <= halo && (c.w - 1 - c.ax) * step <= halo)
      || (step < 4 && convolve_quads_fits (c, k, limbs, step));
}

bool
convolve_fill_direct (const Work &work, DirectLaunch *launch, int *steps, int *n_steps)
{
  *launch = DirectLaunch ();
  *n_steps = 0;
  launch->rounding = work.rounding;
  launch->n = work.n;
  launch->ay = work.ay;
  launch->border = work.border;
  for (int i = 0; i < work.n; i++) {
    DirectGroup *d = &launch->group[i];

    if (!make_direct_group (work, work.group[i], d))
      return false;
    while (d->filtered && d->spread < *n_steps && steps[d->spread] != d->step)
      d->spread++;
    if (d->filtered && d->spread == max_spreads)
      return false;
    if (d->filtered && d->spread == *n_steps)
      steps[(*n_steps)++] = d->step;
  }
  return true;
}

bool
convolve_direct_launch (Frame *f)
{
  const CfConvolution &c = f->c;
  const int limbs = max (f->work.limbs, f->work.rounding.quick != QUICK_NONE && !f->work.rounding.clips ? 1 : 2);
  const Variant *v = variant_of (f->work, c.h, limbs);
  DirectLaunch launch;
  int steps[max_spreads], n_steps;

  static_assert (sizeof (DirectWeights<max_h, max_direct_limbs>) <= sizeof (Operands::bytes), "Operands are too small");

  if (!convolve_fill_direct (f->work, &launch, steps, &n_steps))
    return false;
  if (convolve_quads_launch (f, &launch, steps, n_steps))
    return true;
  for (int i = 0; i < n_steps; i++)
    if (!v || c.ax * steps[i] > halo || (c.w - 1 - c.ax) * steps[i] > halo)
      return false;

  const bool fresh = convolve_renew (f->operands, v->kernel, steps, n_steps);

  for (int i = 0; fresh && i < n_steps; i++)
    convolve_split_weights (c.weights, c.w, c.h, limbs, steps[i], spread_bytes, v->h * spread_bytes,
        f->operands->bytes + i * v->limbs * v->h * spread_bytes + 32 - steps[i] * c.ax);
  convolve_assign_blocks (&launch, strip_bytes, warps * v->rows);
  return f->launch ("convolve direct", v->kernel, launch.blocks, threads, 0, &launch, f->operands->bytes);
}

} // namespace cf
