/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/quads.cu: kernels of up to 15 x 17 taps that fit signed bytes, on 8-bit samples, on the integer tensor
 * units, from global memory to global memory.
 *
 * A row is filtered as bytes, as in direct.cu, with taps `step` bytes apart.
 *
 * Map: 4 warps a block, a warp makes two, four or eight groups of four rows of 128 bytes. Lane 4 g + t loads the 16
 * bytes from 16 g on and those beside them, of row t of every four rows (a set). One mma makes 128 outputs, four rows
 * of 32 bytes each, from a set of rows and a part of 8 bytes of the window: row g of its left operand are those bytes
 * of the lanes 4 g + t one after the other, row g + 8 the bytes two further; column n of its right operand are the taps
 * of four kernel rows, shifted n / 2 rows down and n % 2 bytes to the right. So a lane ends up with 16 neighbours of
 * row t, in four mma for every part of the window: windows of W words (2 W - 1 taps on each side) in D sets of rows (up
 * to 4 D - 3 kernel rows) take D W / 2 mma for 128 outputs. Windows of one word take two sets at once.
 *
 * The fragments of the right operands are made by the host; a lane reads its own from the kernel's argument.
 *
 * Shared memory: bytes beside the rows, where they are not just the outermost pixel repeated; each warp writes and
 * reads its own.
 *
 * Bound by latency at 1080p, as all blocks run at once, by loads and stores at 4K. Times: docs/notes/convolve.md. */
#include "direct.cuh"

namespace cf {

namespace {

constexpr int warps = 4, threads = 32 * warps, strip_bytes = 128;

/* Returns how many bytes the taps of a window of w words may reach to each side. */
__host__ __device__ constexpr int
reach_of (int w)
{
  return w == 1 ? 1 : 2 * w - 1;
}

/* Returns how many words beside its own a lane needs on each side. */
__host__ __device__ constexpr int
words_beside (int w)
{
  return w <= 2 ? 1 : w / 2;
}

/* Returns the number of fragments for windows of w words in d sets. */
__host__ __device__ constexpr int
fragments_of (int w, int d)
{
  return w == 1 ? (d + 1) / 2 : d * w / 2;
}

/* The right operands for each of up to two steps. */
template<int N> struct QuadFragments {
  uint2 of[max_spreads][N][32];
};

/* Where a lane loads its words, its own four and those on each side; columns inside the image, unless the group clamps
 * them. EXCHANGES: the words on its sides are other lanes' own, and only the first and the last lane of a row load
 * those beside the strip. */
template<int W, bool EXCHANGES> struct Columns {
  GlobalBytes own, left, right;          /* in row 0; EXCHANGES: `left` is a lane's one side */
  int pitch, lane;
  unsigned pick_left, pick_right;        /* repeat the row's outermost word where those beside it are outside */

  __device__ __forceinline__
  Columns (const DirectGroup &d, int x, int lane_) : pitch (d.in_pitch), lane (lane_)
  {
    constexpr int beside = words_beside (W);
    const int at = min (x, d.bytes - 16);

    own = GlobalBytes (d.in + at);
    left = GlobalBytes (d.in + max (at - 4 * beside, 0));
    right = GlobalBytes (d.in + min (x + 16, d.bytes - 4 * beside));
    if (EXCHANGES && is_last ())
      left = right;
    /* bytes 4 .. 7 are those of the row's outermost word */
    pick_left = x == 0 ? (d.repeat[0] & 0xffff) + 0x4444 : 0x3210;
    pick_right = x + 16 >= d.bytes ? (d.repeat[1] & 0xffff) + 0x4444 : 0x3210;
  }
  __device__ __forceinline__ bool is_first () const { return lane < 4; }
  __device__ __forceinline__ bool is_last () const { return lane >= 28; }
  /* Loads those of row y. */
  __device__ __forceinline__ void
  load (int y, unsigned *w) const
  {
    constexpr int beside = words_beside (W);

    load_words<4> (own.row (y, pitch), w + beside);
    if (!EXCHANGES || is_first () || is_last ())
      load_words<beside> (left.row (y, pitch), w);
    if (!EXCHANGES)
      load_words<beside> (right.row (y, pitch), w + beside + 4);
  }
  /* Completes the words: takes those on the sides from other lanes, and repeats the outermost ones. */
  __device__ __forceinline__ void
  complete (unsigned *w) const
  {
    constexpr int beside = words_beside (W);

#pragma unroll
    for (int i = 0; EXCHANGES && i < beside; i++) {
      const unsigned before = __shfl_sync (~0u, w[4 + i], lane - 4), after = __shfl_sync (~0u, w[beside + i], lane + 4);

      w[beside + 4 + i] = is_last () ? w[i] : after;
      w[i] = is_first () ? w[i] : before;
    }
#pragma unroll
    for (int i = 0; i < beside; i++) {
      w[i] = __byte_perm (w[i], w[beside], pick_left);
      w[beside + 4 + i] = __byte_perm (w[beside + 4 + i], w[beside + 3], pick_right);
    }
  }
};

/* At an edge of the image, with any border: makes the bytes that the warp's rows have outside the image. edge[r]: the
 * words before row r of the warp ([0], its last ones), and from the row's last 16 bytes, which may be incomplete, on
 * ([1], [2]). A lane makes the same word of several rows: finding its columns takes longer than loading them. */
template<int W, int SETS> __device__ __forceinline__ void
make_edge (const DirectLaunch &launch, int index, int x0, int lane, int lane_row, uint4 (*edge)[3])
{
  constexpr int beside = words_beside (W), words = 2 * beside + 4, rows = 32 / words; /* rows at a time */
  const DirectGroup &d = launch.group[index];
  const int last = (d.bytes - 1) & ~15, k = lane % words, at = (k < beside ? 0 : last) + 4 * (k - beside);
  const bool is_needed = lane < words * rows && (k < beside ? x0 == 0 : x0 + strip_bytes + 4 * beside > d.bytes);
  int column[4] = { };

#pragma unroll
  for (int i = 0; i < 4; i++)
    if (is_needed)
      column[i] = (int) offset_of_byte (launch, index, at + i, 0);
#pragma unroll
  for (int first = 0; first < 4 * SETS; first += rows) {
    const int r = first + lane / words, y = __shfl_sync (~0u, lane_row, min (r, 4 * SETS - 1));
    unsigned word = 0;

    if (!is_needed || r >= 4 * SETS || y < 0)
      continue;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const unsigned value = d.in[(long long) y * d.in_pitch + max (column[i], 0)];

      word |= (column[i] < 0 ? d.outside.x >> 8 * i & 0xff : value) << 8 * i;
    }
    ((unsigned *) edge[r])[k < beside ? 4 - beside + k : 4 + k - beside] = word;
  }
  __syncwarp ();
}

/* Loads the lane's words of row y, mapped by the border (-1: outside, all `outside`), at an edge: `beyond` are the
 * row's words of make_edge (). */
template<int W> __device__ __forceinline__ void
load_edge (const DirectGroup &d, int x, int y, const uint8_t *beyond, unsigned *w)
{
  constexpr int beside = words_beside (W);
  const int last = (d.bytes - 1) & ~15, from = min (x, last);
  const uint8_t *row = d.in + (long long) y * d.in_pitch + from;
  const uint8_t *own = from == last ? beyond + 16 : row;
  const uint8_t *left = from == 0 ? beyond + 16 - 4 * beside : row - 4 * beside;
  const uint8_t *right = from + 16 + 4 * beside > d.bytes ? beyond + 32 - (last - from) : row + 16;

  if (y < 0)
    own = left = right = (const uint8_t *) &d.outside;
#pragma unroll
  for (int i = 0; i < 2 * beside + 4; i++)
    w[i] = *(const unsigned *) (i < beside ? left + 4 * i : i < beside + 4 ? own + 4 * (i - beside)
        : right + 4 * (i - beside - 4));
}

/* Makes the parts of the windows of a set: p[n][0] are the four bytes from 4 n - reach_of (W) on, p[n][1] those two
 * further. */
template<int W> __device__ __forceinline__ void
cut_windows (const unsigned *w, unsigned (*p)[2])
{
#pragma unroll
  for (int n = 0; n < W + 3; n++) {
    if (W == 1) {
      p[n][0] = __byte_perm (w[n], w[n + 1], 0x6543);
      p[n][1] = __byte_perm (w[n + 1], w[n + 2], 0x4321);
    } else {
      p[n][0] = __byte_perm (w[n], w[n + 1], 0x4321);
      p[n][1] = __byte_perm (w[n], w[n + 1], 0x6543);
    }
  }
}

/* Returns whether operands have parts of even numbers as their lower half always: each operand is used up before the
 * next one, which has one new part, so no part is moved. Those that begin with a part of odd number need their
 * fragments with the halves swapped, b[1] beside b[0]; with many fragments these registers cost more than they save. */
__host__ __device__ constexpr bool
swaps (int w)
{
  return w < 4;
}

/* Adds the products of set s to the sums of all groups that meet it. */
template<int W, int D, int GROUPS> __device__ __forceinline__ void
add_set (int (*sum)[4][4], const unsigned (*p)[2], const uint2 (*b)[fragments_of (W, D)], const int *init, int s)
{
#pragma unroll
  for (int n = 0; n < W + 2; n++) {
    const int odd = swaps (W) ? n % 2 : 0;
    const unsigned *low = p[n + odd], *high = p[n + 1 - odd], a[4] = { low[0], low[1], high[0], high[1] };

#pragma unroll
    for (int part = 0; part < W / 2; part++)
#pragma unroll
      for (int q = 0; q < GROUPS; q++) {
        const int i = n - 2 * part, d = s - q, e = d * (W / 2) + part;

        if (i >= 0 && i < 4 && d >= 0 && d < D)
          multiply<true> (sum[q][i], e == 0 ? init : sum[q][i], a, b[odd][e].x, b[odd][e].y);
      }
  }
}

/* The same for windows of one word, where two sets make the sums of a group. Even sets are the lower half. */
__device__ __forceinline__ void
add_two_sets (int (*sum)[4], const unsigned (*even)[2], const unsigned (*odd)[2], uint2 b, const int *init)
{
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const unsigned a[4] = { even[i][0], even[i][1], odd[i][0], odd[i][1] };

    multiply<true> (sum[i], init, a, b.x, b.y);
  }
}

/* Stores 16 bytes at `to`, of which only `n` are inside the row. */
__device__ __noinline__ void
store_bytes (uint8_t *to, uint4 v, int n)
{
  const unsigned word[4] = { v.x, v.y, v.z, v.w };

#pragma unroll
  for (int i = 0; i < 16; i++)
    if (i < n)
      to[i] = (uint8_t) (word[i / 4] >> 8 * (i % 4));
}

/* A kernel's code for warps inside the image. TESTED: results are tested before they are stored. These branches part
 * the groups of kernels with many products; without them the compiler places all stores at the end, behind the
 * products of all groups. LONG: for many groups; the words on a lane's sides are other lanes' (Columns), a few sets are
 * loaded ahead instead of all of them, and there is no code for edges: all groups clamp. */
enum Form : uint8_t { STRAIGHT, TESTED, LONG };

/* Rounds 16 sums and stores them. Without TESTS all of them or none are inside the row, and no sum is negative. */
template<Rule RULE, bool TESTS> __device__ __forceinline__ void
finish (const Rounding &k, const DirectGroup &d, int (*sum)[4], uint8_t *to, int x, bool is_inside)
{
  unsigned word[4];

  if (TESTS && k.clips)
#pragma unroll
    for (int i = 0; i < 16; i++)
      sum[i / 4][i % 4] = max (sum[i / 4][i % 4], 0);
#pragma unroll
  for (int i = 0; i < 4; i++)
    word[i] = round_four_ruled<RULE> (k, sum[i]);
  const uint4 v = make_uint4 (word[0], word[1], word[2], word[3]);

  if (is_inside && (!TESTS || x + 16 <= d.bytes))
    *(uint4 *) to = v;
  else if (TESTS && is_inside)
    store_bytes (to, v, d.bytes - x);
}

/* Copies the lane's bytes of a group that is not filtered. */
template<int GROUPS> __device__ __forceinline__ void
copy_quads (const DirectGroup &d, int x, int y)
{
#pragma unroll 1
  for (int q = 0; q < GROUPS && y + 4 * q < d.height; q++) {
    const uint8_t *from = d.in + (long long) (y + 4 * q) * d.in_pitch + x;
    uint8_t *to = d.out + (long long) (y + 4 * q) * d.out_pitch + x;

    if (x + 16 <= d.bytes)
      *(uint4 *) to = *(const uint4 *) from;
    else
      for (int i = 0; i < d.bytes - x; i++)
        to[i] = from[i];
  }
}

/* What a warp has of its place and of the weights. */
template<int W, int D> struct Quads {
  int index, x0, y0, x, lane; /* x: the lane's first byte */
  int lane_row;               /* the image's row of the warp's row `lane` */
  uint2 b[2][fragments_of (W, D)];
  int init[4];
};

/* Filters a warp's rows. INSIDE: all samples are inside the image, or the group clamps them. Inside and at an edge are
 * code of their own, so that what most warps do lies together, and loads are not all completed where branches meet. */
template<int W, int D, int GROUPS, Form FORM, Rule RULE, bool INSIDE> __device__ __forceinline__ void
filter_quads (const DirectLaunch &launch, const DirectGroup &d, const Quads<W, D> &k, uint4 (*edge)[3])
{
  constexpr int sets = GROUPS + D - 1, ahead = !INSIDE ? 1 : FORM != LONG ? sets : W == 1 ? 4 : W == 2 ? 3 : 2;
  const int t = k.lane & 3, above = k.y0 - launch.ay;
  const Columns<W, FORM == LONG> columns (d, k.x, k.lane);
  unsigned w[sets][4 + 2 * words_beside (W)], p[2][W + 3][2];
  int sum[GROUPS][4][4];
  uint8_t *to = d.out + (long long) (k.y0 + t) * d.out_pitch + k.x;

  const auto load = [&] (int s) {
    if (INSIDE)
      columns.load (min (max (above + t + 4 * s, 0), d.height - 1), w[s]);
    else
      load_edge<W> (launch.group[k.index], k.x, __shfl_sync (~0u, k.lane_row, 4 * s + t),
          (const uint8_t *) edge[4 * s + t], w[s]);
  };

  if (!INSIDE)
    make_edge<W, sets> (launch, k.index, k.x0, k.lane, k.lane_row, edge);
#pragma unroll
  for (int s = 0; s < ahead; s++)
    load (s);
#pragma unroll
  for (int s = 0; s < sets; s++) {
    const int q = s - D + 1;

    if (INSIDE)
      columns.complete (w[s]);
    cut_windows<W> (w[s], p[W == 1 ? s % 2 : 0]);
    if (s + ahead < sets)
      load (s + ahead);
    if (W > 1)
      add_set<W, D, GROUPS> (sum, p[0], k.b, k.init, s);
    else if (q >= 0)
      add_two_sets (sum[q], p[0], p[1], k.b[q % 2][0], k.init);
    if (q >= 0) {
      finish<RULE, FORM == TESTED || !INSIDE> (launch.rounding, d, sum[q], to, k.x,
          k.x < d.bytes && k.y0 + 4 * q + t < d.height);
      to += 4 * (long long) d.out_pitch;
    }
  }
}

template<int W, int D, int GROUPS, int BLOCKS, Form FORM, Rule RULE> __global__ void
__launch_bounds__ (threads, BLOCKS)
convolve_quads_kernel (const __grid_constant__ DirectLaunch launch,
    const __grid_constant__ QuadFragments<fragments_of (W, D)> fragments)
{
  constexpr int sets = GROUPS + D - 1, beside = words_beside (W);
  __shared__ uint4 edge[warps][FORM == LONG ? 1 : 4 * sets][3];
  const int warp = (int) threadIdx.x >> 5, lane = (int) threadIdx.x & 31;
  const int index = index_of_block (launch, (int) blockIdx.x);
  const DirectGroup d = launch.group[index];
  const int2 position = block_position (d, (int) blockIdx.x);
  const int x0 = position.x * strip_bytes, y0 = (position.y * warps + warp) * 4 * GROUPS, x = x0 + 16 * (lane >> 2);
  const int wanted = y0 - launch.ay + lane, clamped = min (max (wanted, 0), d.height - 1);
  const bool rows_inside = launch.border == CF_BORDER_REPLICATE
      || (y0 >= launch.ay && y0 - launch.ay + 4 * sets <= d.height);
  Quads<W, D> k = { index, x0, y0, x, lane, clamped, { }, { d.init[0], d.init[1], d.init[2], d.init[3] } };

  static_assert (FORM == LONG || 4 * sets <= 32, "a row for each lane");
  if (d.filtered)
#pragma unroll
    for (int i = 0; i < fragments_of (W, D); i++) {
      k.b[0][i] = read_argument (&fragments.of[d.spread][i][lane]);
      if (swaps (W)) /* in registers of their own: moved for each product, they would cost more than the products */
        k.b[1][i] = make_uint2 (k.b[0][i].y ^ launch.zero, k.b[0][i].x ^ launch.zero);
    }
  if (launch.border != CF_BORDER_REPLICATE && clamped != wanted)
    k.lane_row = edge_row (launch.border, wanted, d.height);
  if (FORM == LONG || launch.prefetches)
    prefetch_rows<strip_bytes, 4 * GROUPS * warps, threads> (d.in, d.in_pitch, d.bytes, d.height, x0,
        position.y * warps * 4 * GROUPS);
  griddep_wait ();
  if (y0 >= d.height)
    return;
  if (!d.filtered) {
    copy_quads<GROUPS> (d, x, y0 + (lane & 3));
    return;
  }
  if (FORM == LONG
      || __builtin_expect (d.clamps || (rows_inside && x0 > 0 && x0 + strip_bytes + 4 * beside <= d.bytes), true))
    filter_quads<W, D, GROUPS, FORM, RULE, true> (launch, d, k, edge[warp]);
  else if constexpr (FORM != LONG)
    filter_quads<W, D, GROUPS, FORM, RULE, false> (launch, d, k, edge[warp]);
}

/* ---- launches ----------------------------------------------------------- */

/* The first that fits is taken. Which number of groups is better was measured: for frames up to 4 MB (SMALL), larger
 * ones (MEDIUM), and those above 5 MB whose groups all clamp (LARGE): with blocks of so many rows, others would wait
 * for their edges. `blocks`: how many an SM shall hold; it bounds the registers of a thread. Only those that test
 * results take sums that can be negative, which need divisors so large that they are rare. */
enum Frames : uint8_t { SMALL = 1, MEDIUM = 2, LARGE = 4, ALL = 7 };
#define CF_QUADS(w, d, groups, blocks, form, frames) \
  { w, d, groups, form, frames, RULE_ONE, \
    (const void *) convolve_quads_kernel<w, d, groups, blocks, form, RULE_ONE> }, \
  { w, d, groups, form, frames, RULE_EVEN, \
    (const void *) convolve_quads_kernel<w, d, groups, blocks, form, RULE_EVEN> }
const struct Variant {
  int words, sets, groups;
  Form form;
  uint8_t frames;
  Rule rule;
  const void *kernel;
} variants[] = {
  CF_QUADS (1, 2, 2, 8, STRAIGHT, SMALL | MEDIUM), CF_QUADS (1, 2, 8, 4, LONG, LARGE),
  CF_QUADS (2, 2, 4, 4, STRAIGHT, SMALL), CF_QUADS (2, 2, 2, 7, STRAIGHT, MEDIUM), CF_QUADS (2, 2, 8, 4, LONG, LARGE),
  CF_QUADS (2, 3, 4, 4, STRAIGHT, SMALL), CF_QUADS (2, 3, 2, 5, STRAIGHT, MEDIUM), CF_QUADS (2, 3, 8, 4, LONG, LARGE),
  CF_QUADS (4, 2, 4, 4, STRAIGHT, ALL), CF_QUADS (4, 3, 4, 4, STRAIGHT, SMALL | MEDIUM),
  CF_QUADS (4, 3, 8, 4, LONG, LARGE), CF_QUADS (4, 5, 2, 4, STRAIGHT, SMALL),
  CF_QUADS (4, 5, 4, 3, TESTED, MEDIUM | LARGE),
};
#undef CF_QUADS
static_assert (sizeof (QuadFragments<10>) <= sizeof (Operands::bytes), "Operands are too small");

/* Returns true if the taps for samples `step` bytes apart fit the windows of a variant. */
bool
window_fits (const Variant &v, const CfConvolution &c, int step)
{
  const int reach = reach_of (v.words);

  return c.h <= 4 * v.sets - 3 && c.ax * step <= reach && (c.w - 1 - c.ax) * step <= reach;
}

/* Returns the tap, `row` rows and `byte` bytes from a window's first one, of an output at the window's middle. */
int
tap_of (const CfConvolution &c, int step, int reach, int row, int byte)
{
  const int from_anchor = byte - reach, column = (from_anchor + 64 * step) / step - 64 + c.ax;

  if (from_anchor % step != 0 || column < 0 || column >= c.w || row < 0 || row >= c.h)
    return 0;
  return c.weights[row * c.w + column];
}

} // namespace

void
convolve_fill_quads (const CfConvolution &c, int words, int sets, int step, int up, uint2 *fragments)
{
  const int parts = words == 1 ? 1 : words / 2;

  for (int i = 0; i < 32 * fragments_of (words, sets); i++) {
    const int e = i / 32, column = i % 32 / 4, t = i % 4;
    unsigned half[2] = { 0, 0 };

    for (int k = 0; k < 8; k++) {
      const int set = words == 1 ? 2 * e + k / 4 : e / parts, byte = words == 1 ? k % 4 : 8 * (e % parts) + k;
      const int tap = tap_of (c, step, reach_of (words), 4 * set + t - column / 2 - up, byte - column % 2);

      half[k / 4] |= (set < sets ? (unsigned) tap & 0xff : 0u) << 8 * (k % 4);
    }
    fragments[i] = make_uint2 (half[0], half[1]);
  }
}

const Load convolve_load_quads = convolve_load<variants, false>;

bool
convolve_quads_fits (const CfConvolution &c, const Rounding &k, int limbs, int step)
{
  return c.bits == 8 && c.dense && c.op == CF_CONVOLVE_LINEAR && limbs == 1
      && (k.rule == RULE_ONE || k.rule == RULE_EVEN)
      && window_fits (variants[sizeof variants / sizeof *variants - 1], c, step);
}

bool
convolve_quads_launch (Frame *f, DirectLaunch *launch, const int *steps, int n_steps)
{
  uint2 *fragments = (uint2 *) f->operands->bytes;
  const Variant *v = variants;
  long long bytes = 0;
  bool clamp = true;

  for (int i = 0; i < launch->n; i++) {
    const DirectGroup &d = launch->group[i];

    if (!d.vectors)
      return false;
    bytes += (long long) d.bytes * d.height;
    clamp = clamp && (d.clamps || !d.filtered);
  }

  const bool clips = launch->rounding.clips;
  const Frames frames = clamp && bytes > 5 << 20 ? LARGE : clips || bytes > 4 << 20 ? MEDIUM : SMALL;

  for (int i = 0; i < n_steps; i++) {
    if (!convolve_quads_fits (f->c, launch->rounding, f->work.limbs, steps[i]))
      return false;
    while (v->rule != launch->rounding.rule || !(v->frames & frames) || (clips && v->form != TESTED)
        || !window_fits (*v, f->c, steps[i]))
      v++;
  }
  const bool fresh = convolve_renew (f->operands, v->kernel, steps, n_steps);

  for (int i = 0; fresh && i < n_steps; i++)
    convolve_fill_quads (f->c, v->words, v->sets, steps[i], 0, fragments + i * fragments_of (v->words, v->sets) * 32);
  launch->prefetches = clamp || bytes <= 5 << 20; /* others run in three rounds of blocks and more */
  convolve_assign_blocks (launch, strip_bytes, 4 * v->groups * warps);
  return f->launch ("convolve quads", v->kernel, launch->blocks, threads, 0, launch, fragments);
}

} // namespace cf
