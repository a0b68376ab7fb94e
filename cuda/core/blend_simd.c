/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/blend_simd.c: the blend's loops over rows, compiled once for each instruction set (CF_ISA).
 *
 * The words of a row follow each other in groups of `step`, and each has the strength of its sample; which component
 * it belongs to does not matter then. A row is blended in blocks of so many groups that the compiler makes vectors of
 * all loops. Blocks whose strengths are all 0 or all 255 are copied. */
#include "blend.h"
#include "simd.h"

#define BLOCK 64 /* groups */

/* Strengths of a row, and behind them 0 for the rest of the last block, also where a sample has two pixels. */
typedef uint8_t Strengths[CF_MAX_SIZE + 2 * BLOCK];

/* ---- strengths ---------------------------------------------------------- */

/* Fills the strengths of row `y` of a box. */
static void
row_of_pixels (const CfArea *area, const CfBox *box, int y, uint8_t *row)
{
  const int x0 = box->write.x, n = box->write.width;

  if (area->map)
    memcpy (row, area->map->strength + (size_t) y * (size_t) area->width + x0, (size_t) n);
  else
    memset (row, 0, (size_t) n);
  for (unsigned i = 0; i < box->n; i++)
    cf_area_draw (area, &area->shape[box->shape + i], y, x0, n, row);
  for (int x = 0; area->invert && x < n; x++)
    row[x] = (uint8_t) (255 - row[x]);
  memset (row + n, 0, 2 * BLOCK);
}

/* Fills the largest strengths of the rows of pixels of which a component has samples in row `y` of its plane. */
static void
row_of_component (const CfArea *area, const CfBox *box, const CfComponent *c, int y, uint8_t *restrict row)
{
  const int fields = c->h_sub && area->interlaced ? 2 : 1, unit = fields << c->h_sub;
  const int first = y / fields * unit, n = box->write.width;
  Strengths other;

  row_of_pixels (area, box, first, row);
  for (int k = first + 1; k < first + unit && k < area->height; k++) {
    row_of_pixels (area, box, k, other);
    for (int x = 0; x < n; x++)
      row[x] = row[x] > other[x] ? row[x] : other[x];
  }
}

/* Fills the larger one of each of n pairs of pixels, `times` times. */
ALWAYS_INLINE void
larger_of_pairs (int times, int n, const uint8_t *restrict row, uint8_t *restrict to)
{
  for (int x = 0; x < n; x++)
    for (int i = 0; i < times; i++)
      to[x * times + i] = row[2 * x] > row[2 * x + 1] ? row[2 * x] : row[2 * x + 1];
}

/* ---- the blend ---------------------------------------------------------- */

/* The words of a block. */
typedef union {
  uint8_t byte[4 * BLOCK];
  uint16_t half[2 * BLOCK];
  uint32_t whole[BLOCK];
} Words;

/* A blended sample is q = (sum + 127) / 255 for sum = in (255 - s) + filtered s. With sum + 127 = 255 q + r,
 * t = sum + 128 is 256 q + r + 1 - q, and (t + e) >> 8 is q for e = q and for e = q - 1. Such an e is t >> 8 where q is
 * less than 256, and (t + (t >> 8)) >> 8 where it is less than 65536. */

ALWAYS_INLINE void
mix_1 (int n, const uint8_t *restrict strength, const uint8_t *in, const uint8_t *filtered, uint8_t *out)
{
  SAME_OR_APART
  for (int i = 0; i < n; i++) {
    const uint8_t s = strength[i], rest = (uint8_t) (255 - s);
    const uint16_t t = (uint16_t) (in[i] * rest + filtered[i] * s + 128);

    out[i] = (uint8_t) ((uint16_t) (t + (t >> 8)) >> 8);
  }
}

/* Returns a blended sample; `in` and `filtered` are shifted left. */
ALWAYS_INLINE uint32_t
mix (uint32_t in, uint32_t filtered, uint32_t strength, int shift)
{
  const uint32_t t = ((((in << 8) - in) + (filtered - in) * strength) >> shift) + 128;

  return (t + ((t + (t >> 8)) >> 8)) >> 8;
}

/* A value is shifted, or may be clamped, but not both: it has the highest bits of its word then. */
ALWAYS_INLINE void
mix_2 (const CfFormatInfo *info, int n, const uint8_t *restrict strength, const uint16_t *in, const uint16_t *filtered,
    uint16_t *out)
{
  const uint16_t most = (uint16_t) (((1u << info->bits) - 1) << info->shift), unit = (uint16_t) (1u << info->shift);
  const int shift = info->shift;

  SAME_OR_APART
  for (int i = 0; i < n; i++) {
    const uint8_t s = strength[i];
    const uint16_t a = (in[i] < most ? in[i] : most) & most, b = (filtered[i] < most ? filtered[i] : most) & most;
    const uint16_t mixed = (uint16_t) ((uint16_t) mix (a, b, s, shift) * unit);

    out[i] = s == 0 ? in[i] : s == 255 ? filtered[i] : mixed;
  }
}

/* Blends pixels of a packed format, which have four components. */
ALWAYS_INLINE void
mix_4 (const CfFormatInfo *info, int n, const uint8_t *restrict strength, const uint32_t *in, const uint32_t *filtered,
    uint32_t *out)
{
  uint32_t most[4];
  int bit[4];

  for (int k = 0; k < 4; k++) {
    bit[k] = info->comp[k].bit;
    most[k] = (1u << info->comp[k].bits) - 1;
  }
  SAME_OR_APART
  for (int i = 0; i < n; i++) {
    const uint32_t a = in[i], b = filtered[i], s = strength[i];
    uint32_t word = 0;

    for (int k = 0; k < 4; k++)
      word |= mix (a >> bit[k] & most[k], b >> bit[k] & most[k], s, 0) << bit[k];
    out[i] = word;
  }
}

/* Returns whether all strengths of a block are `value`. */
ALWAYS_INLINE bool
is_all (uint8_t value, const uint8_t *strength)
{
  uint8_t others = 0;

  for (int i = 0; i < BLOCK; i++)
    others |= strength[i] ^ value;
  return others == 0;
}

/* Blends a block of groups. `even`, `odd`: the strengths of the words of each group. */
ALWAYS_INLINE void
blend_block (int step, int bytes, const CfFormatInfo *info, const uint8_t *even, const uint8_t *odd, const void *in,
    const void *filtered, void *out)
{
  const int n = BLOCK * step;
  const uint8_t first = even[0], *strength = even;
  uint8_t spread[4 * BLOCK];

  if ((first == 0 || first == 255) && is_all (first, even) && is_all (first, odd)) {
    if (first || in != out)
      memcpy (out, first ? filtered : in, (size_t) (n * bytes));
    return;
  }
  if (step > 1) {
    for (int i = 0; i < BLOCK; i++)
      for (int k = 0; k < step; k++)
        spread[i * step + k] = k % 2 ? odd[i] : even[i];
    strength = spread;
  }
  if (bytes == 1)
    mix_1 (n, strength, in, filtered, out);
  else if (bytes == 2)
    mix_2 (info, n, strength, in, filtered, out);
  else
    mix_4 (info, n, strength, in, filtered, out);
}

/* Blends n groups of `step` words of `bytes` bytes each. */
ALWAYS_INLINE void
blend_groups (int step, int bytes, const CfFormatInfo *info, int n, const uint8_t *even, const uint8_t *odd,
    const uint8_t *in, const uint8_t *filtered, uint8_t *out)
{
  const size_t group = (size_t) (step * bytes);
  int x = 0;

  for (; x + BLOCK <= n; x += BLOCK, in += BLOCK * group, filtered += BLOCK * group, out += BLOCK * group)
    blend_block (step, bytes, info, even + x, odd + x, in, filtered, out);
  if (x < n) {
    const size_t rest = (size_t) (n - x) * group;
    Words part[3] = { 0 };

    memcpy (&part[0], in, rest);
    memcpy (&part[1], filtered, rest);
    blend_block (step, bytes, info, even + x, odd + x, &part[0], &part[1], &part[2]);
    memcpy (out, &part[2], rest);
  }
}

static void
blend_row (int step, const CfFormatInfo *info, int n, const uint8_t *even, const uint8_t *odd, const uint8_t *in,
    const uint8_t *filtered, uint8_t *out)
{
  if (info->bytes == 4)
    blend_groups (1, 4, info, n, even, odd, in, filtered, out);
  else if (info->bytes == 2 && step == 1)
    blend_groups (1, 2, info, n, even, odd, in, filtered, out);
  else if (info->bytes == 2)
    blend_groups (2, 2, info, n, even, odd, in, filtered, out);
  else
    EACH_STEP (step, blend_groups, 1, info, n, even, odd, in, filtered, out)
}

static void
blend_rows (const CfBlend *b, const CfBox *box, int p, int begin, int end)
{
  const CfFormatInfo *info = cf_format_info (b->area->format);
  const size_t left = cf_plane_row_bytes (info->format, box->write.x, p);
  const size_t bytes = cf_plane_row_bytes (info->format, box->write.width, p);
  const CfComponent *of[2] = { NULL, NULL }; /* one with a sample for each pixel of a row, one with a sample for two */
  const uint8_t *even, *odd;
  Strengths pixels, pairs;
  int step;

  for (int i = 0; i < info->n_components; i++)
    if (info->comp[i].plane == p)
      of[info->comp[i].w_sub] = &info->comp[i];
  /* NV12's chroma has as many samples in a row as luma, and their strengths are those of YUY2's chroma. */
  step = of[0] ? of[0]->step : 1;
  even = of[0] ? pixels : pairs;
  odd = of[1] ? pairs : pixels;
  if (of[0] && of[1] && of[0]->offset == 1) { /* UYVY */
    even = pairs;
    odd = pixels;
  }
  for (int y = begin; y < end; y++) {
    const uint8_t *in = (const uint8_t *) b->in->plane[p].data + (size_t) y * b->in->plane[p].pitch + left;
    const uint8_t *filtered = (const uint8_t *) b->filtered->plane[p].data + (size_t) y * b->filtered->plane[p].pitch +
        left;
    uint8_t *out = (uint8_t *) b->out->plane[p].data + (size_t) y * b->out->plane[p].pitch + left;

    if (box->solid) {
      memcpy (out, filtered, bytes);
      continue;
    }
    row_of_component (b->area, box, of[0] ? of[0] : of[1], y, pixels);
    if (of[1] && !of[0] && of[1]->step == 1)
      larger_of_pairs (1, box->write.width / 2 + BLOCK, pixels, pairs);
    else if (of[1])
      larger_of_pairs (2, box->write.width / 2 + BLOCK, pixels, pairs);
    blend_row (step, info, (int) (bytes / info->bytes) / step, even, odd, in, filtered, out);
  }
}

const CfBlendSimd GLUE (cf_blend_simd_, CF_ISA) = { .rows = blend_rows };
