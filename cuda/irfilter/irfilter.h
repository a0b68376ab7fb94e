/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/irfilter.h: the contract of the two-dimensional recursive filter.
 *
 * The filter works on planes: a plane is one component of one field of a frame, with samples v(X, Y), width W and
 * height H, mid = 2^(bits - 1). Blurs are filtered along lines (below), everything else by quadrants.
 *
 * By quadrants, x = (float) v; for chroma x = (float) (v - mid). A design is one pass or a cascade of
 * several; the first pass reads x, each further one the float result of the one before. A pass is the sum of up to
 * four quadrant filters, of x itself and of an offset:
 *   r(X, Y) = fma (p, x(X, Y), o),  then  r = r + y_q(X, Y)  for the quadrants in
 *   use, in the order se, sw, ne, nw.
 * o is 0 except in the last pass: there it is mid for chroma, else the design's offset.
 * The last pass's r becomes the sample
 *   v = rint (min (max (r, 0), 2^bits - 1)),  halves to even, NaN as 0.
 *
 * Quadrants. se runs right and down: sx = sy = 1; sw left and down (sx = -1); ne right and up (sy = -1); nw left and
 * up. n2 counts columns and n1 rows in the quadrant's direction, from 0 at its near edges. With an m x m window
 *   y[n1,n2] = sum a[k,l] x[n1 - k, n2 - l] + sum' b[k,l] y[n1 - k, n2 - l],
 * 0 <= k, l < m, k down the rows, l along the columns, without (0, 0) in the
 * second sum. Both sums are ADDED: a pole at z = 0.9 along the rows is b[0,1] = 0.9.
 *
 * Arithmetic: float32 (IEEE, no flushing to zero), only fused multiply-adds, in this order:
 *   acc = 2^-60
 *   for k = 0 .. m - 1, for l = 0 .. m - 1:   acc = fma (a[k,l], x[n1-k,n2-l], acc)
 *   for k = m - 1 .. 1, for l = m - 1 .. 0:   acc = fma (b[k,l], y[n1-k,n2-l], acc)
 *   for l = m - 1 .. 1:                       acc = fma (b[0,l], y[n1,n2-l], acc)
 *   y[n1,n2] = acc
 * The operands that become available last are used last: the rows above are finished early, the sample to the left is
 * not. 2^-60 keeps the decay of a bright spot in a black frame out of the denormal numbers, which are about a hundred
 * times as slow on a CPU; elsewhere rounding absorbs it. m is rounded up to one of 2, 3, 4, 5, 8 with zeros
 * (CfIrPass.m is the rounded one).
 *
 * Borders. Only what lies outside before the near edges is ever read.
 * replicate: the plane is extended infinitely by its edge samples, and y has settled there:
 *   corner (n1 < 0 and n2 < 0):  c = corner * x[0,0]
 *   above (n1 < 0):  y = s[n2], the same for all n1 < 0:
 *     acc = 2^-60; for l = 0 .. m-1: acc = fma (top_a[l], x[0,n2-l], acc);
 *     for l = m-1 .. 1: acc = fma (top_b[l], s[n2-l], acc);   s[n2] = acc, s = c for n2 < 0
 *   left (n2 < 0):  y = t[n1], the same for all n2 < 0:
 *     acc = 2^-60; for k = 0 .. m-1: acc = fma (left_a[k], x[n1-k,0], acc);
 *     for k = m-1 .. 1: acc = fma (left_b[k], t[n1-k], acc);  t[n1] = acc, t = c for n1 < 0
 *   x outside is the nearest sample (both coordinates clamped). With sums over
 *   the float32 a and b, in double, row by row, rounded to float once at the end:
 *     corner = sum a / (1 - sum b)
 *     top_a[l] = sum_k a[k,l] / (1 - B0), top_b[l] = sum_k b[k,l] / (1 - B0), B0 = sum_k>=1 b[k,0], top_b[0] = 0
 *     left_a[k] = sum_l a[k,l] / (1 - C0), left_b[k] = sum_l b[k,l] / (1 - C0), C0 = sum_l>=1 b[0,l], left_b[0] = 0
 * zero: x is 0 outside (chroma: mid-level). By the same formulas with an edge's constants 0: above, top_a = top_b = 0
 *   and x = 0 for n1 < 0; left, left_a = left_b = 0 and x = 0 for n2 < 0; c = 0 where one of the two edges is zero.
 *
 * Superblocks. The influence of a sample on a stable filter decays. So that the GPU does not depend on one wavefront
 * across the whole plane, each pass divides the plane into cf_ir_grid's nx x ny cores; core (i, j) has the columns i
 * W / nx .. (i + 1) W / nx - 1, integer division, and the rows alike. For each quadrant a core is filtered as the far
 * end of a plane of its own, its window: the core and a warm-up margin of up to `margin` more columns and rows on the
 * two sides that the quadrant comes from, as far as the plane reaches. x outside the window follows the border rule at
 * the WINDOW's edges; an edge inside the plane is replicate also with border=zero.
 *   margin = ceil (16.6 / ln (1 / rho)), at least m, at most CF_MAX_SIZE (rho = 0: m)
 * with rho the largest pole radius of the pass's quadrants: what lies further away is
 * below float32's resolution (rho^margin < 2^-24).
 *   nx = W / (2 margin), integer division, clamped to 1..4; ny = H / (2 margin) alike.
 * A filter whose margin is too large for that has one core, the whole plane.
 *
 * Lines. The presets smooth, soft, highpass and sharpen are the product of a filter along the columns and the same
 * filter along the rows. With method=auto and all four quadrants in use they are computed so: in R rounds along each
 * column, then in R rounds along each row; soft has R = 3, the others R = 1. With method=quadrants, and where a
 * quadrant is left out, they are computed by quadrants. x = (float) v + 1, for chroma as well: the 1 keeps every sum
 * clear of the denormal numbers. In double, from nu (see Presets) rounded to float, and then each rounded to float:
 *   e = 1 / (1 - nu),   q[i] = nu^(16 i),  Q = nu^128,  those below 2^-60 as 0
 * A round multiplies a flat line by h = (1 + nu) / (1 - nu), and k = h^-R.
 * A round filters a line x[0 .. n-1], which is extended to S = ceil (n / 16) segments of 16 samples by the border's
 * value: `first` before and `last` behind it. Float32, fused multiply-adds only:
 *   in each segment from zero:  f = x[0];  f = fma (nu, f, x[j]), j = 1 .. 15;
 *                               g = x[15]; g = fma (nu, g, x[j]), j = 14 .. 0
 *   carries to the right, by eights of segments 8 i .. 8 i + 7: within each u = 0; for its segments u[s] = u,
 *     u = fma (q[1], u, f[s]); over the eights G = e * first; G[i] = G, G = fma (Q, G, u behind eight i);
 *     c[s] = fma (q[s mod 8], G[s / 8], u[s])
 *   carries to the left, d[s], the same with the segments counted from the last one to the first, g and `last`
 *   in each segment, with c = c[s] and d = d[s]:  c = c[j] = fma (nu, c, x[j]), j = 0 .. 15;
 *     for j = 15 .. 0: y[j] = fma (nu, d, c[j]), d = fma (nu, d, x[j])
 * Between columns and rows:
 *   8 bits: integers of 16 bits, x = rint (255 k y), computed as fma (255 k, y, 2^23) - 2^23;   more bits: x = y
 * and the result, with gain = k / 255 for 8 bits, else k^2:
 *   smooth, soft:       v = fma (gain, y, 2^23 - 1) - 2^23
 *   highpass, sharpen:  v = rint (min (max (fma (-amount gain, y, fma (p, (float) v, o)), 0), 2^bits - 1)),
 *     p = amount, o = mid + amount for highpass; p = 1 + amount, o = amount for sharpen
 * The integers are wrong by at most half of 1 / 255 of a level, about as much as float32 for sigma 200 by quadrants.
 * Border replicate: first = x[0], last = x[n-1] of each round. zero: both are what a plane of z = 1 (chroma: mid + 1)
 * has become, in double, then rounded to float: z h^i in round i = 0 .. R - 1 along the columns, and along the rows
 * 255 z h^i for 8 bits, z h^(R + i) for more.
 *
 * Stability. A set is refused unless its largest pole radius is below 1: rho is the largest r for which 1 - sum b[k,l]
 * r^-(k+l) e^-i(k w1 + l w2) is 0 at some w1, w2. (Huang's theorem: a set is stable if and only if D(z1, inf) is and,
 * for each |z1| = 1, all roots in z2 are inside.) The float32 coefficients are tested, because rounding moves poles
 * that coincide, as those of the smoother do. Where k, l <= 1, rho is the largest real root of
 * r^2 - (s b01 + t b10) r - s t b11 over s, t = +-1. |a|, passthrough and offset <= 1e6, |b| <= 1e4.
 *
 * Presets, all computed in double (lambda = sigma^2 / 2):
 *   nu = (1 + 2 lambda - sqrt (1 + 4 lambda)) / (2 lambda)
 *   smooth: in each quadrant b[0,1] = b[1,0] = nu, b[1,1] = -nu^2, rounded to float; a = g [1 nu; nu nu^2],
 *     g = (1 - sum of the float b) / (4 (1 + nu)^2), rounded to float (after g times nu, or times nu^2), so that a
 *     flat plane stays flat. m = 2; the response is ((1 - nu) / (1 + nu))^2
 *     nu^(|X| + |Y|), an exponential of standard deviation sigma along each axis.
 *   soft: three smooth passes of sigma / sqrt (3).
 *   highpass: mid + amount (x - smooth): a (in double) times -amount, p = amount, offset = mid
 *   sharpen: x + amount (x - smooth): a times -amount, p = 1 + amount
 *   deblur: x + amount (restored - x), restored by the set of a table for sigma (0.5..3; the nearest entry, the
 *     smaller one of two at the same distance; sigma outside the range is refused; 1 unless sigma was set): a times
 *     amount, p = 1 - amount
 *   motion-deblur: the same with the set of a table for length (3..15) and angle (0, 45, 90, 135)
 *     There are tables for noise 0, 2 and 5: the first one for at least `noise` is taken, and the last one beyond.
 *   custom: numerator and denominator, the same in all quadrants; or coefficients,
 *     a JSON file with a set for each; whichever was set last.
 * quadrants selects the quadrants; the others are left out of the sum, and the rest keeps its weights (with smooth,
 * three quadrants give three quarters of the brightness). If that leaves no quadrant, the parameters are refused.
 * sharpen with amount 0 changes nothing: an element passes its buffers on.
 *
 * Samples. As in median/median.h: 10 and 12 bit are clamped to 1023 and 4095 on load, P010 is value << 6, P012 << 4;
 * alpha, padding and what apply-to leaves out are copied as stored; each field of an
 * interlaced frame is filtered by itself. The offset is in sample values.
 *
 * | parameter | unit, range | takes effect |
 * | preset | see above (soft) | next frame |
 * | sigma | samples, 0.1..200 (3; deblur: 1) | next frame |
 * | amount | 0..10 (1) | next frame |
 * | length | samples, 3..15 (9) | next frame |
 * | angle | degrees: 0, 45, 90, 135 (0) | next frame |
 * | noise | standard deviation of the video's noise in levels of 8 bits, 0..10 (2) | next frame |
 * | numerator, denominator | text: m x m, rows by ';', numbers by spaces or ',' | next frame; preset becomes custom |
 * | coefficients | path of a JSON file, read once, when set | next frame; preset becomes custom |
 * | quadrants | flags se, sw, ne, nw (all) | next frame |
 * | method | auto, quadrants (auto): see Lines | next frame |
 * | border | replicate, zero (replicate) | next frame |
 * | pole-radius | read only: the largest of the design's, 0 where it is refused | |
 *
 * Text: as many rows as columns; `denominator` begins with 0. A numerator alone is a FIR
 * filter (b = 0), a denominator alone has a = 1 at (0, 0); if both are there the smaller
 * one is padded with zeros. JSON: { "m": 3, "se": { "a": [[..]..], "b": [[..]..] }, "sw": .., "ne": ..,
 * "nw": .., "offset": 0, "passthrough": 0 }; a quadrant that is missing is not in use, at least one is there. A "b"
 * may be missing (b = 0), as may "offset" and "passthrough"; "comment" is ignored; other names are refused.
 *
 * Sources: A. Nikonorov, S. Popov, V. Fursov on two-dimensional recursive
 * filtering on GPUs (the four quadrants, the scheduler: gpu/scheduler.cuh; the sign of b varies there and not here);
 * T. Huang, "Stability of two-dimensional recursive filters" (1972); R. DeCarlo, J. Murray, R. Saeks, "Multivariable
 * Nyquist theory" (1977); the smoother: L. Alvarez, L. Mazorra, "Signal and image restoration
 * using shock filters and anisotropic diffusion" (1994); lines in blocks: D. Nehab, A. Maximo, R. Lima, H. Hoppe,
 * "GPU-efficient recursive filtering and summed-area tables" (2011). */
#ifndef CF_IRFILTER_IRFILTER_H
#define CF_IRFILTER_IRFILTER_H

#include "core/filter.h"

CF_BEGIN_DECLS

#define CF_IR_MAX 8 /* side of a window */
#define CF_IR_MAX_PASSES 3
#define CF_IR_MAX_GRID 4 /* cores along a side */
#define CF_IR_TINY 0x1p-60f

typedef enum {
  CF_IR_SMOOTH,
  CF_IR_SOFT,
  CF_IR_HIGHPASS,
  CF_IR_SHARPEN,
  CF_IR_DEBLUR,
  CF_IR_MOTION_DEBLUR,
  CF_IR_CUSTOM
} CfIrPreset;

typedef enum { CF_IR_REPLICATE, CF_IR_ZERO } CfIrBorder;
typedef enum { CF_IR_AUTO, CF_IR_BY_QUADRANTS } CfIrMethod;

/* Quadrants, in the order in which they are added; quadrant q is bit q of CfIrFilterParams.quadrants. */
enum { CF_IR_SE, CF_IR_SW, CF_IR_NE, CF_IR_NW, CF_IR_QUADRANTS };

typedef struct {
  int preset; /* CfIrPreset */
  double sigma, amount;
  int length, angle;
  double noise;
  const char *numerator, *denominator, *coefficients;
  int quadrants;         /* 1 << CF_IR_SE ... */
  int method;            /* CfIrMethod */
  int border;            /* CfIrBorder */
  double pole_radius;    /* set by CfFilter.changed; 0 where the design is refused */
  const char *file_text; /* contents of `coefficients` when it was set; not a property */
  bool sigma_is_set;     /* not a property */
} CfIrFilterParams;

/* A quadrant's constants: entry [k][l], zeros from m on. */
typedef struct {
  float a[CF_IR_MAX][CF_IR_MAX], b[CF_IR_MAX][CF_IR_MAX]; /* b[0][0] = 0 */
  float top_a[CF_IR_MAX], top_b[CF_IR_MAX], left_a[CF_IR_MAX], left_b[CF_IR_MAX];
  float corner;
} CfIrSet;

typedef struct {
  int m;             /* 2, 3, 4, 5 or 8 */
  int warmup_margin; /* columns and rows of a window beside its core, at most */
  bool used[CF_IR_QUADRANTS];
  CfIrSet set[CF_IR_QUADRANTS];
  float through;   /* p */
  float offset[2]; /* o: [0] luma, gray, R, G, B; [1] chroma */
} CfIrPass;

#define CF_IR_SEGMENT 16 /* samples */
#define CF_IR_EIGHT 8    /* segments that are scanned together */
#define CF_IR_ROUNDS 3

/* Constants of the filter along lines. */
typedef struct {
  int rounds;                                   /* 1 or 3 */
  float nu, settled, power[CF_IR_EIGHT], eight; /* nu, e, q, Q */
  float outside[2][2][CF_IR_ROUNDS];            /* border zero: [luma and others, chroma][columns, rows][round] */
  float between;                                /* 255 k; 0: the plane between columns and rows is of floats */
  bool mixed;                                   /* highpass, sharpen: r = fma (gain, y, fma (through, v, offset)) */
  float gain, through, offset;
} CfIrLines;

/* The filter that parameters describe, for samples of one depth. Plain data: may be copied. */
typedef struct {
  bool by_lines; /* filter with `lines`, else with `pass` */
  CfIrLines lines;
  int n; /* passes */
  CfIrPass pass[CF_IR_MAX_PASSES];
  CfIrBorder border;
  double pole_radius; /* the largest of all quadrants in use */
  int bits, max, mid;
} CfIrDesign;

/* Fills `design` for parameters and a pixel format. Returns CF_BAD_VALUE where they are refused; `status` (may be
 * NULL) says why: row and column (from 1) in a text, the position in a file, quadrant, pole radius and frequency of an
 * unstable set. Returns CF_UNSUPPORTED for an unknown format. Thread-safe. */
CfCode cf_ir_design (const CfIrFilterParams *params, CfFormat format, CfIrDesign *design, CfStatus *status);

#ifdef __CUDACC__
#define CF_IR_INLINE __host__ __device__ static inline
#else
#define CF_IR_INLINE static inline
#endif

/* Returns the number of cores along a side of n samples. */
CF_IR_INLINE int
cf_ir_grid (int n, int margin)
{
  int cores = n / (2 * margin);

  return cores < 1 ? 1 : cores > CF_IR_MAX_GRID ? CF_IR_MAX_GRID : cores;
}

/* One side of a core and of its window, in the plane's coordinates. */
typedef struct {
  int core, core_end;     /* core .. core_end - 1 */
  int window, window_end; /* the core and the warm-up margin on the side that the quadrant comes from */
  bool outer;             /* the window's near edge is the plane's */
} CfIrSpan;

/* Returns core i of n_cores along a side of n samples and its window, for direction +1 or -1. */
CF_IR_INLINE CfIrSpan
cf_ir_span (int n, int n_cores, int i, int margin, int direction)
{
  CfIrSpan s;

  s.core = (int) ((long long) i * n / n_cores);
  s.core_end = (int) ((long long) (i + 1) * n / n_cores);
  s.window = s.core;
  s.window_end = s.core_end;
  if (direction > 0)
    s.window = s.core > margin ? s.core - margin : 0;
  else
    s.window_end = n - s.core_end > margin ? s.core_end + margin : n;
  s.outer = direction > 0 ? s.window == 0 : s.window_end == n;
  return s;
}

/* Return a quadrant's direction, +1 or -1: cf_ir_sx to the right or left, cf_ir_sy down or up. */
CF_IR_INLINE int
cf_ir_sx (int quadrant)
{
  return quadrant & 1 ? -1 : 1;
}

CF_IR_INLINE int
cf_ir_sy (int quadrant)
{
  return quadrant & 2 ? -1 : 1;
}

extern const CfFilter cf_irfilter;
extern const CfOps cf_irfilter_cpu;
extern const CfOps cf_irfilter_cuda; /* only in a build with CUDA */

CF_END_DECLS
#endif
