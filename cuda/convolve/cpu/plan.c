/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/plan.c: the convolution's plan on the CPU. It chooses the variant and the width of its integers, derives
 * the constants for rounding, and cuts a frame into tasks. Scratch memory is that of the kernel in use. */
#include "internal.h"

#include "core/cpu.h"
#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

static const char *const variants[CF_CONVOLVE_N_VARIANTS + 1] = { "copy", "hide", "magnitude", "box", "separable",
  "fast", "direct", "split", "wide", NULL };

static const CfConvolveSimd *const simd[] = CF_ISA_TABLES (cf_convolve_simd);

/* ---- rounding: the constants that turn sums into samples (simd.h) -------- */

/* Returns the logarithm of a power of two, or -1 for any other v > 0. */
static int
exact_log2 (int64_t v)
{
  return v & (v - 1) ? -1 : __builtin_ctzll ((unsigned long long) v);
}

/* Sets the constants for x + (A (D x - S) + add) / (256 D), divided by the power of two that A and 256 have in common.
 * |D x - S| is at most D max. */
static void
set_reduced (CfRounding *r, int64_t d)
{
  const int common = r->amount ? cf_min (__builtin_ctz ((unsigned) r->amount), 8) : 8;
  const int64_t add = r->add >> common;

  r->is_reduced = r->log2 >= 8 && d < 1 << 15 && add < 1 << 30 && add > -(1 << 30) &&
      (r->amount >> common) * d * r->max < 1 << 30;
  if (!r->is_reduced)
    return;
  r->gain = r->amount >> common;
  r->add_reduced = (int) add;
  r->log2_reduced = r->log2 - common;
  r->log2_d = r->log2 - 8;
}

/* Fills the constants for rounding sums of luma or chroma (`kind`), where D and all sums are 2^reduced times smaller
 * than in convolve.h. The bits that are shifted out of `add` cannot change a quotient, but ties can only happen if all
 * of them are 0. */
static void
set_rounding (CfConvolveCpu *m, int kind, int reduced)
{
  const CfConvolution *c = &m->c;
  CfRounding *r = &m->rounding[kind];
  int64_t cut = ((int64_t) 1 << reduced) - 1, d = c->divisor >> reduced;
  bool unsharp = c->op == CF_CONVOLVE_UNSHARP, shifts;

  *r = (CfRounding) {
    .max = c->max,
    .add = c->add[kind] >> reduced,
    .d2 = (unsharp ? 256 : 2) * d,
    .magic = c->magic,
    .shift = c->shift - 32,
    .amount = c->amount,
    /* an odd numerator is never a multiple of 2 D */
    .ties = c->ties_even[kind] && !(c->add[kind] & cut) && !(c->add[kind] >> reduced & 1),
  };
  r->top = r->d2 * (c->max + 1) - 1;
  r->inverse = 1.0 / (double) r->d2;
  r->log2 = exact_log2 (r->d2);
  r->scale = (float) (2 * r->inverse);
  r->offset = (float) (((double) r->add + 0.5) * r->inverse);
  r->by_scale = r->d2 * (c->max + 1) <= 1 << 21 && c->abs_sum * c->max < 1 << 21 &&
      llabs (r->add) <= r->d2 * c->mid / 2;
  if (c->op == CF_CONVOLVE_LINEAR && c->bits == 16 && r->add & 1 && r->d2 < 80 && c->abs_sum * c->max < 1 << 24 &&
      llabs (r->add) <= r->d2) {
    r->by_scale = true;
    r->offset = (float) ((double) r->add * r->inverse);
  }
  /* a shift needs no multiplier, and 32 bits may hold the reduced sums */
  shifts = r->log2 >= 0 && r->log2 < 31 && llabs (r->add) < 1 << 30;
  r->narrow = c->narrow || (c->op == CF_CONVOLVE_LINEAR && shifts && (c->abs_sum >> reduced) < (1 << 29) / c->max);
  if (c->op == CF_CONVOLVE_MAGNITUDE)
    r->narrow = shifts && llabs (c->factor) < 1 << 20 && 2 * llabs (c->factor) * c->abs_sum * c->max < 1 << 30;
  if (!unsharp)
    return;
  set_reduced (r, d);
  r->up = 24 - r->log2;
  r->narrow = r->is_reduced;
  if (!r->narrow && c->bits == 8 && r->up >= 0) {
    /* unsharp32 takes S / D in units of 2^-16 and `add` in units of 2^-24 */
    const int64_t add = r->add * ((int64_t) 1 << r->up);

    r->narrow = llabs (add) < (int64_t) 1 << 38;
    r->add = r->narrow ? add : r->add;
  }
}

/* Returns whether 16 bits hold numerators S + add / 2 up to `limit` and suffice to divide them. Sets the constants
 * for that. 2 S + add over 2 D is S + add / 2 over D, without the lowest bit of an odd `add`. */
static bool
fits16 (CfRounding *r, int64_t limit)
{
  uint64_t d = (uint64_t) r->d2 / 2, one, error;

  if (r->add < 0 || limit >= 1 << 16)
    return false;
  if (r->log2 >= 0)
    return r->log2 <= 16;
  if (d >= 1 << 16)
    return false;
  /* n magic16 / 2^k is too large by n error / (D 2^k), which must be less than 1 / D */
  r->shift16 = 31 - __builtin_clz ((unsigned) d);
  one = (uint64_t) 1 << (16 + r->shift16);
  r->magic16 = (uint32_t) ((one + d - 1) / d);
  error = r->magic16 * d - one;
  return (uint64_t) limit * error < one;
}

/* Returns whether 16 bits suffice for an unsharp mask with sums up to `limit`. Sets the constants for that.
 * floor ((gain D x - gain S + add) / D) = gain x - ceil ((gain S - add) / D), as gain x is an integer;
 * ceil ((gain S - add) / D) = (gain S + add16) >> log2 of D with add16 = D - 1 - add. */
static bool
sharpen_fits16 (CfRounding *r, int64_t limit)
{
  r->add16 = (1 << r->log2_reduced) - 1 - r->add_reduced;
  /* the quotient is taken from (1 + gain) x, and what is left must be a signed number of 16 bits */
  return r->is_reduced && r->max == 255 && r->log2_reduced == r->log2_d && r->add16 >= 0 &&
      r->gain * limit + r->add16 < 1 << 16 && (r->gain * limit + r->add16) >> r->log2_reduced < 1 << 15;
}

/* Returns whether D is a power of two and rounding without ties is floor ((S + *add) / D). For an unsharp mask with an
 * amount of 1 that quotient is (256 S - r->add) / (256 D), rounded up, where the lower byte of r->add has no effect;
 * the output is 2 x minus the quotient. */
static bool
truncating_form (const CfConvolution *c, const CfRounding *r, int64_t *d, int64_t *add)
{
  bool unsharp = c->op == CF_CONVOLVE_UNSHARP;

  *d = unsharp ? r->d2 >> 8 : r->d2 >> 1;
  *add = unsharp ? *d - 1 - (r->add >> 8) : r->add >> 1;
  return r->log2 >= 0 && *d >= 1 && *add >= 0 && (unsharp ? r->amount == 256 : !r->ties);
}

/* Returns whether 16 bits hold the sums of the upper and of the lower bytes of 16-bit samples. Sets the constants
 * for rounding those. */
static bool
fits_bytes (const CfConvolution *c, CfRounding *r, int64_t abs_sum)
{
  int64_t d, add;

  if (c->bits != 16 || !truncating_form (c, r, &d, &add) || d > 256 || abs_sum > d || add >= d)
    return false;
  r->log2_bytes = exact_log2 (d);
  r->add_bytes = (int) add;
  return true;
}

/* Sets the constants with which halves_out rounds sums up to `limit`, if it can. */
static void
set_halves (const CfConvolution *c, CfRounding *r, int64_t limit)
{
  int64_t d, add;

  if (truncating_form (c, r, &d, &add) && d > 1 << 16 && add < (int64_t) 1 << 46 && limit + add < (int64_t) 1 << 48) {
    r->log2_halves = exact_log2 (d);
    r->add_halves = add;
  }
}

/* ---- taps ---------------------------------------------------------------- */

/* Returns the lower (`high`: upper) halves of the weights of two rows as one word; weight = 65536 upper + lower. */
static int32_t
pair_of (int32_t first, int32_t second, bool high)
{
  const int64_t weights[2] = { first, second };
  uint32_t halves[2];

  for (int i = 0; i < 2; i++) {
    int16_t lower = (int16_t) (weights[i] & 0xffff);

    halves[i] = (uint32_t) (high ? (weights[i] - lower) / 65536 : lower);
  }
  return (int32_t) ((halves[0] & 0xffff) | halves[1] << 16);
}

/* Adds two pairs of weights to the current group of taps, or begins the next group where the absolute weights of a
 * group would exceed 16 bits: the sums of a group times signed 16-bit samples fit 32 bits. */
static void
add_to_group (CfConvolveCpu *m, const int32_t c[3], int64_t sum[2])
{
  int64_t middle = llabs (c[1]), both[2] = { middle + llabs (c[2]), llabs (c[0]) + middle };

  if (sum[0] + both[0] >= 1 << 16 || sum[1] + both[1] >= 1 << 16) {
    m->begin[1][0] = m->n_taps;
    m->begin[1][1] = m->n_high;
    m->n_groups += both[0] < 1 << 16 && both[1] < 1 << 16 ? 1 : CF_CONVOLVE_MAX;
    sum[0] = sum[1] = 0;
  }
  sum[0] += both[0];
  sum[1] += both[1];
}

/* Lists the taps of a w x h matrix for rows in pairs, in groups if wanted. Rows -1 and h, which pair up with rows of
 * the matrix, have weight 0. */
static void
list_pairs (CfConvolveCpu *m, const int32_t *weights, int w, int h, bool groups)
{
  int64_t sum[2] = { 0 };

  m->paired = true;
  m->n_taps = m->n_high = 0;
  m->n_groups = 1;
  for (int j = 0; j <= h / 2; j++)
    for (int i = 0; i < w; i++) {
      int32_t c[3]; /* of rows 2 j - 1, 2 j, 2 j + 1 */

      for (int k = 0; k < 3; k++) {
        int row = 2 * j + k - 1;

        c[k] = row >= 0 && row < h ? weights[row * w + i] : 0;
      }
      if (groups)
        add_to_group (m, c, sum);
      for (int high = 0; high < 2; high++) {
        CfConvolveTap tap = {
          .j = (uint8_t) j,
          .i = (uint8_t) i,
          .weight = { pair_of (c[1], c[2], high), pair_of (c[0], c[1], high) },
        };

        if (!tap.weight[0] && !tap.weight[1])
          continue;
        if (high)
          m->high[m->n_high++] = tap;
        else
          m->taps[m->n_taps++] = tap;
      }
    }
  m->begin[0][0] = m->begin[0][1] = 0;
  if (m->n_groups <= 2) {
    m->begin[m->n_groups][0] = m->n_taps;
    m->begin[m->n_groups][1] = m->n_high;
  }
}

static void
list_single (CfConvolveCpu *m, const int32_t *weights, int w, int h)
{
  m->n_taps = m->n_high = 0;
  for (int j = 0; j < h; j++)
    for (int i = 0; i < w; i++)
      if (weights[j * w + i])
        m->taps[m->n_taps++] = (CfConvolveTap) { .j = (uint8_t) j, .i = (uint8_t) i, .weight = { weights[j * w + i] } };
}

/* Takes the path for small kernels, which has no list of taps, where luma and chroma can. Boxes of 5 x 5 on interleaved
 * channels stay behind: column sums cost less than interleaving, see docs/notes/convolve-cpu.md. */
static void
prefer_small (CfConvolveCpu *m, bool box)
{
  const CfConvolution *c = &m->c;

  if (!m->simd->small[0] || c->bits != 8 || (box && cf_format_info (m->format)->comp[0].step > 1))
    return;
  if (cf_small_fits (m->row, m->col, box, c->w, c->h, &m->rounding[0]) &&
      cf_small_fits (m->row, m->col, box, c->w, c->h, &m->rounding[1])) {
    m->path = CF_PATH_SMALL;
    m->n_taps = 0;
  }
}

/* ---- separable ----------------------------------------------------------- */

/* Returns the logarithm of the largest power of two that divides all of v. */
static int
common_log2 (const int32_t *v, int n)
{
  uint32_t all = 0;

  for (int i = 0; i < n; i++)
    all |= (uint32_t) v[i];
  return all ? __builtin_ctz (all) : 0;
}

/* Copies row and column, divided by the powers of two that D contains, too: a
 * gauss of 3 becomes 1 2 1. Returns the logarithm of the divided factor. */
static int
reduce_factors (CfConvolveCpu *m)
{
  const CfConvolution *c = &m->c;
  int in_d = __builtin_ctzll ((unsigned long long) c->divisor), row, col;

  memcpy (m->row, c->row, sizeof m->row);
  memcpy (m->col, c->col, sizeof m->col);
  /* `magic` is for the original D */
  if (exact_log2 (c->divisor) < 0)
    return 0;
  row = cf_min (common_log2 (m->row, c->w), in_d);
  col = cf_min (common_log2 (m->col, c->h), in_d - row);
  for (int i = 0; i < c->w; i++)
    m->row[i] /= 1 << row;
  for (int j = 0; j < c->h; j++)
    m->col[j] /= 1 << col;
  return row + col;
}

/* Returns the sum of absolute values, and the sum in *sum. */
static int64_t
sums_of (const int32_t *v, int n, int64_t *sum)
{
  int64_t abs_sum = *sum = 0;

  for (int i = 0; i < n; i++) {
    *sum += v[i];
    abs_sum += llabs (v[i]);
  }
  return abs_sum;
}

/* Returns whether v are signed 16-bit weights whose sum of products with signed 16-bit numbers fits 32 bits. */
static bool
fit_words (const int32_t *v, int n, bool negative, int64_t abs_sum)
{
  for (int i = 0; i < n; i++)
    if (v[i] > INT16_MAX || v[i] < INT16_MIN)
      return false;
  /* 32 bits hold -2^31, but not 2^31 */
  return abs_sum < 1 << 16 || (abs_sum == 1 << 16 && !negative);
}

static bool
sums_fit16 (CfConvolveCpu *m, int kind, int64_t limit)
{
  CfRounding *r = &m->rounding[kind];

  if (m->c.op == CF_CONVOLVE_UNSHARP)
    return m->simd->small[0] && sharpen_fits16 (r, limit) && cf_small_fits (m->row, m->col, false, m->c.w, m->c.h, r);
  return fits16 (r, limit + r->add / 2);
}

/* Chooses the separable path with the narrowest integers that hold all sums. Returns false where none of them does. */
static bool
prepare_separable (CfConvolveCpu *m)
{
  const CfConvolution *c = &m->c;
  int reduced = reduce_factors (m);
  bool fits16, fits32, bytes;
  int64_t row_sum, row = sums_of (m->row, c->w, &row_sum) * c->max, col_sum, col = sums_of (m->col, c->h, &col_sum);
  bool negative_row = row != row_sum * c->max, negative_col = col != col_sum;
  /* The sums of weights are at most 2^47, so 64 bits hold one of them times 2^16; the product of both must fit, too. */
  bool small = row < (int64_t) 1 << 32 && col < (int64_t) 1 << 31;
  CfConvolvePath path;

  m->words = c->bits > 8 && m->simd->horizontal_words && fit_words (m->row, c->w, negative_row, row / c->max);
  m->rows_signed = negative_row || negative_col;
  fits16 = negative_row ? row < 1 << 15 : row < 1 << 16;
  fits32 = small && row * col < (int64_t) 1 << 31;
  if (fits16 && fits32)
    path = CF_PATH_ROWS_PAIRS;
  else if (fits32)
    path = CF_PATH_ROWS_32;
  else if (m->words && fit_words (m->col, c->h, negative_col, col))
    path = CF_PATH_ROWS_SPLIT;
  else if (row < (m->rows_signed ? (int64_t) 1 << 31 : (int64_t) 1 << 32))
    path = CF_PATH_ROWS_64;
  else
    return false;
  m->symmetric = c->w % 2 == 1;
  for (int i = 0; i < c->w / 2; i++)
    m->symmetric = m->symmetric && m->row[i] == m->row[c->w - 1 - i];
  fits16 = path == CF_PATH_ROWS_PAIRS;
  bytes = true;
  /* luma and chroma have one list of taps and so one path: luma's sums with the bias may not fit where chroma's do */
  for (int kind = 0; kind < 2; kind++) {
    set_rounding (m, kind, reduced);
    if (m->rows_signed)
      continue;
    fits16 = fits16 && sums_fit16 (m, kind, row * col);
    bytes = bytes && fits_bytes (c, &m->rounding[kind], row / c->max * col);
    set_halves (c, &m->rounding[kind], row * col);
  }
  if (!m->rows_signed && (bytes || fits16))
    path = bytes ? CF_PATH_ROWS_BYTES : CF_PATH_ROWS_16;
  m->path = path;
  m->factor = 1 << 16;
  m->centered = path == CF_PATH_ROWS_PAIRS && !negative_row;
  /* What undoes the subtraction of 32768. Samples are x = 32768 + x', so horizontal sums are A = 32768 R + A' with R
   * the sum of the row's weights. A' = 2^16 u + 32768 + l with signed 16-bit u and l. With C the sum of the column's
   * weights, S = 2^16 sum c u + sum c l + 32768 (R + 1) C. */
  m->initial = path == CF_PATH_ROWS_32 ? (int32_t) ((uint32_t) row_sum << 15)
      : m->centered                    ? (int32_t) ((uint32_t) col_sum << 15)
                                       : 0;
  m->offset = (row_sum + 1) * col_sum * 32768;
  if (path == CF_PATH_ROWS_SPLIT || path == CF_PATH_ROWS_PAIRS)
    list_pairs (m, m->col, 1, c->h, false);
  else
    list_single (m, m->col, 1, c->h);
  if (path == CF_PATH_ROWS_16)
    prefer_small (m, false);
  return true;
}

/* ---- box ----------------------------------------------------------------- */

/* For boxes of four channels that are wider than this, running sums are faster
 * than BOX_16: docs/notes/convolve-cpu.md. */
#define SCAN_FROM 8

static bool
prepare_box (CfConvolveCpu *m)
{
  const CfConvolution *c = &m->c;
  int64_t column = (int64_t) c->h * c->max;
  bool small = true, scans = cf_format_info (m->format)->comp[0].step == 4 && c->w > SCAN_FROM;

  m->columns16 = column < 1 << 16;
  for (int kind = 0; kind < 2; kind++) {
    set_rounding (m, kind, 0);
    scans = scans && cf_can_fuse_scan (&m->rounding[kind]);
    small = fits16 (&m->rounding[kind], column * c->w + m->rounding[kind].add / 2) && small;
  }
  m->path = small && !scans ? CF_PATH_BOX_16 : CF_PATH_BOX;
  if (small && !scans)
    prefer_small (m, true);
  return true;
}

/* ---- which variant ------------------------------------------------------- */

/* Prepares the plan for a variant. Returns false if the variant does not support the kernel. */
static bool
prepare (CfConvolveCpu *m, CfConvolveVariant variant)
{
  const CfConvolution *c = &m->c;
  bool linear = c->op == CF_CONVOLVE_LINEAR || c->op == CF_CONVOLVE_UNSHARP, fits = linear && c->dense;

  m->paired = false;
  m->n_taps = m->n_high = 0;
  switch (variant) {
    case CF_CONVOLVE_V_COPY:
      m->path = CF_PATH_COPY;
      fits = c->op == CF_CONVOLVE_COPY;
      break;
    case CF_CONVOLVE_V_HIDE:
      m->path = CF_PATH_HIDE;
      fits = cf_convolve_hides (c);
      break;
    case CF_CONVOLVE_V_MAGNITUDE:
      m->path = CF_PATH_MAGNITUDE;
      fits = c->op == CF_CONVOLVE_MAGNITUDE;
      break;
    case CF_CONVOLVE_V_BOX:
      return c->op == CF_CONVOLVE_LINEAR && c->box && prepare_box (m);
    case CF_CONVOLVE_V_SEPARABLE:
      return linear && c->separable && prepare_separable (m);
    case CF_CONVOLVE_V_FAST:
      m->path = CF_PATH_FAST;
      fits = cf_fast_prepare (m);
      break;
    case CF_CONVOLVE_V_DIRECT:
      m->path = c->abs_sum <= INT32_MAX / c->max ? CF_PATH_PAIRS : CF_PATH_GROUPS;
      if (!fits || (m->path == CF_PATH_GROUPS && c->bits < 16))
        return false;
      list_pairs (m, c->weights, c->w, c->h, m->path == CF_PATH_GROUPS);
      fits = m->n_groups <= 2;
      m->centered = c->bits == 16;
      m->initial = m->centered && m->path == CF_PATH_PAIRS ? (int32_t) ((uint32_t) c->sum << 15) : 0;
      m->offset = c->sum * 32768;
      m->factor = m->n_groups - 1;
      break;
    case CF_CONVOLVE_V_SPLIT:
      m->path = CF_PATH_SPLIT;
      if (!fits || c->bits == 8 || c->abs_sum > INT32_MAX / 255)
        return false;
      list_pairs (m, c->weights, c->w, c->h, false);
      m->initial = 0;
      m->offset = 0;
      m->factor = 1 << 8;
      break;
    default:
      m->path = CF_PATH_WIDE;
      if (fits)
        list_single (m, c->weights, c->w, c->h);
  }
  for (int kind = 0; fits && kind < 2; kind++)
    set_rounding (m, kind, 0);
  return fits;
}

/* Returns the first variant that supports the kernel, or CF_CONVOLVE_N_VARIANTS. */
static CfConvolveVariant
choose_variant (CfConvolveCpu *m)
{
  CfConvolveVariant v = 0;

  while (v < CF_CONVOLVE_N_VARIANTS && ((v == CF_CONVOLVE_V_FAST && !cf_fast_is_faster (m)) || !prepare (m, v)))
    v++;
  return v;
}

/* ---- parts and tasks ----------------------------------------------------- */

/* Joins the interleaved channels of a plane to one part, if all of them are filtered (or copied, or mid-level) in the
 * same way. Up to half of four channels may be copied while the others are filtered: `keep` restores their bytes. */
static bool
join_plane (const CfConvolveCpu *m, const CfConvolveAction *actions, int n, int at, CfConvolvePart *part)
{
  const CfFormatInfo *info = cf_format_info (m->format);
  const CfView *view = &m->in[at];
  int channels = 0, filtered = 0, mids = 0, first = at, kind = -1;
  uint32_t keep = 0;

  for (int i = 0; i < n; i++) {
    const CfView *other = &m->in[i];
    const CfComponent *c = &info->comp[other->component];
    int other_kind = c->role == CF_ROLE_CHROMA ? CF_CONVOLVE_CHROMA : CF_CONVOLVE_LUMA;

    if (other->plane != view->plane || other->field != view->field)
      continue;
    channels++;
    if (c->offset == 0)
      first = i;
    if (other->width != view->width || actions[i] == CF_ACTION_GRAY)
      return false;
    mids += actions[i] == CF_ACTION_MID;
    if (actions[i] == CF_ACTION_COPY) {
      keep |= cf_convolve_byte_mask (c->offset);
      continue;
    }
    filtered++;
    if (kind >= 0 && kind != other_kind)
      return false;
    kind = other_kind;
  }
  if (channels != view->step || (mids && mids < channels))
    return false;
  if (filtered && filtered < channels && (2 * filtered < channels || channels != 4 || view->bytes != 1))
    return false;
  part->keep = filtered ? keep : 0;
  part->action = mids ? CF_ACTION_MID : filtered ? CF_ACTION_FILTER : CF_ACTION_COPY;
  part->kind = (uint8_t) (kind < 0 ? 0 : kind);
  part->view = (uint8_t) first;
  part->channels = view->step;
  part->step = 1;
  return true;
}

static void
list_parts (CfConvolveCpu *m, int n)
{
  const CfFormatInfo *info = cf_format_info (m->format);
  CfConvolveAction actions[CF_MAX_VIEWS];
  bool done[CF_MAX_VIEWS] = { false };

  m->n_parts = 0;
  for (int i = 0; i < n; i++)
    actions[i] = cf_convolve_action (&m->c, m->format, &m->in[i]);
  for (int i = 0; i < n; i++) {
    const CfView *view = &m->in[i];
    CfConvolvePart *part = &m->parts[m->n_parts];
    bool joined;

    if (done[i])
      continue;
    *part = (CfConvolvePart) {
      .action = actions[i],
      .view = (uint8_t) i,
      .channels = 1,
      .step = view->step,
      .pixel_step = view->step,
      .kind = info->comp[view->component].role == CF_ROLE_CHROMA ? CF_CONVOLVE_CHROMA : CF_CONVOLVE_LUMA,
      .width = view->width,
      .height = view->height,
    };
    joined = actions[i] != CF_ACTION_GRAY && join_plane (m, actions, n, i, part);
    for (int j = i; j < n; j++) {
      const CfView *other = &m->in[j];

      if (j == i || (other->field == view->field && other->plane == view->plane && joined))
        done[j] = true;
      else if (other->field == view->field && part->action == CF_ACTION_GRAY) {
        /* the part of R includes G and B; `keep` restores alpha with them */
        done[j] = actions[j] == CF_ACTION_GRAY || view->step == 4;
        if (actions[j] != CF_ACTION_GRAY && view->step == 4)
          part->keep |= cf_convolve_byte_mask (info->comp[other->component].offset);
      }
    }
    m->n_parts++;
  }
}

/* Cuts parts into tasks: wide enough that few samples are fetched by two tasks, narrow enough for the cache, about four
 * for each thread, and whole batches of rows. */
static void
list_tasks (CfConvolveCpu *m)
{
  const int wanted = 4 * cf_cpu_threads (), batch = cf_convolve_batch (m);
  double area = 0;

  m->n_tasks = 0;
  m->needed = 0;
  for (int i = 0; i < m->n_parts; i++)
    area += (double) m->parts[i].width * m->parts[i].height * m->parts[i].channels;
  for (int i = 0; i < m->n_parts; i++) {
    CfConvolvePart *part = &m->parts[i];
    bool copies = part->action == CF_ACTION_COPY || part->action == CF_ACTION_MID;
    double share = wanted * ((double) part->width * part->height * part->channels) / area;
    int max = copies ? part->width : cf_convolve_max_width (m, part, &m->needed) / part->channels, rows;

    part->cols = part->width;
    part->n_cols = cf_divide_up (part->width, max);
    if (part->n_cols > 1) {
      part->cols = (cf_divide_up (part->width, part->n_cols) + 63) & ~63;
      part->n_cols = cf_divide_up (part->width, part->cols);
    }
    rows = cf_divide_up (part->height, cf_divide_up ((int) (share + 0.999), part->n_cols));
    /* tasks one above the other both fetch h - 1 rows: at most a third of all fetched rows */
    if (!copies)
      rows = cf_divide_up (cf_max (rows, 2 * m->c.h), batch) * batch;
    part->rows = cf_min (rows, part->height);
    part->n_tasks = part->n_cols * cf_divide_up (part->height, part->rows);
    m->n_tasks += part->n_tasks;
  }
}

/* ---- the plan ------------------------------------------------------------ */

/* Cuts frames of the plan's current size into tasks. */
static void
cut_frames (CfPlan *plan)
{
  CfConvolveCpu *m = plan->state;
  CfImage image;

  if (cf_convolve_hides (&m->c)) /* hide.c cuts each frame by itself */
    return;
  cf_image_layout (&image, plan->video.format, plan->video.width, plan->video.height, 1);
  list_parts (m, cf_image_views (&plan->video, &plan->common, &image, m->in));
  list_tasks (m);
}

/* Allocates the scratch memory of the kernel for frames of the plan's current size and smaller ones: what a plan holds
 * depends on its parameters, not on those before. */
static CfCode
reserve (CfConvolveCpu *m, CfStatus *status)
{
  size_t size = cf_convolve_hides (&m->c) ? cf_convolve_hide_scratch_size (m) : m->needed;
  uint8_t *scratch;

  size = (size / 4096 + 1) * 4096;
  if (size == m->scratch_size)
    return CF_OK;
  scratch = aligned_alloc (4096, size * (size_t) cf_cpu_threads ());
  if (!scratch)
    return cf_fail (status, CF_NO_MEMORY, "out of memory: the convolution needs %zu MB for %d threads",
        (size * (size_t) cf_cpu_threads ()) >> 20, cf_cpu_threads ());
  free (m->scratch);
  m->scratch = scratch;
  m->scratch_size = size;
  return CF_OK;
}

static CfCode
update (CfPlan *plan, CfStatus *status)
{
  CfConvolveCpu *m = plan->state;
  CfConvolveVariant variant;

  /* Each update has a copy of the parameters of its own, and goes back to the former one if it fails;
   * cf_plan_prefer () changes none. */
  if (m->params != plan->params) {
    CfConvolution c;
    CfCode code = cf_convolution_resolve (plan->params, &plan->common, plan->video.format, &c, status);

    if (code != CF_OK)
      return code;
    m->c = c;
    if (c.op == CF_CONVOLVE_COPY) { /* no sample needs its neighbours */
      m->c.w = m->c.h = 1;
      m->c.ax = m->c.ay = 0;
    }
    m->params = plan->params;
  }
  variant = plan->preferred < 0 ? choose_variant (m) : (CfConvolveVariant) plan->preferred;
  if (variant == CF_CONVOLVE_N_VARIANTS)
    return cf_fail (status, CF_UNSUPPORTED, "the CPU backend does not support this kernel");
  if (plan->preferred >= 0 && !prepare (m, variant))
    return cf_fail (status, CF_UNSUPPORTED, "variant %s does not support this kernel", variants[variant]);
  plan->variant = variant;
  if (variant == CF_CONVOLVE_V_HIDE && cf_convolve_hide_init (m, status) != CF_OK)
    return CF_NO_MEMORY;
  cut_frames (plan);
  return reserve (m, status);
}

static CfCode
init (CfPlan *plan, CfStatus *status)
{
  CfConvolveCpu *m = plan->state;

  m->simd = simd[cf_cpu_isa_number ()];
  m->format = plan->video.format;
  m->largest = plan->video;
  return update (plan, status);
}

static void
release (CfPlan *plan)
{
  CfConvolveCpu *m = plan->state;

  free (m->scratch);
  free (m->cells);
}

static CfCode
enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  CfConvolveCpu *m = plan->state;
  const int n = cf_image_views (&plan->video, &plan->common, in, m->in);

  (void) stream;
  (void) status;
  cf_image_views (&plan->video, &plan->common, out, m->out);
  if (cf_convolve_hides (&m->c))
    cf_convolve_hide (m, &plan->video, n);
  else
    cf_parallel_for (m->n_tasks, cf_convolve_run_task, m);
  return CF_OK;
}

const CfOps cf_convolve_cpu = {
  .state_size = sizeof (CfConvolveCpu),
  .init = init,
  .update = update,
  .enqueue = enqueue,
  .resize = cut_frames,
  .free = release,
  .variants = variants,
};
