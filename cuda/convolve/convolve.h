/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/convolve.h: the contract of the convolution filter.
 *
 * Sums. A kernel has w x h taps (1..63 each, even sizes too; box, gauss and unsharp odd ones up to 255) and its anchor
 * at (w / 2, h / 2), integer division. With x(X, Y) the samples of a component (of a field),
 *   S(X, Y) = sum over i < w, j < h of  c(i, j) x(X + i - ax, Y + j - ay)
 * which is a correlation, as in OpenCV and FFmpeg. flip=true reverses the taps in both directions and takes
 * ax = w - 1 - w / 2, ay = h - 1 - h / 2, which is a convolution. S is an exact integer: it fits 32 bits for 8-bit
 * samples and 62 bits for deeper ones; a kernel whose sum of |c| times the largest sample does not fit is refused.
 *
 * Weights. The taps, as typed or as the preset defines them, are doubles t.
 *   divisor d: as set; 0 means the sum of t, or 1 if |sum| <= 1e-9 sum |t|.
 *   Exact: all t 2^n and d 2^n are integers below 2^31 for one and the same n <= 16 (the smallest such n): c = t 2^n,
 *     D = d 2^n. A negative D negates all c and D. If the sums then do not fit: with n = 0 (the typed weights are
 *     integers) the kernel is refused, with n > 0 the next rule applies.
 *   Else: c = t / d 2^s, rounded to the nearest integer, halves away from 0, and D = 2^s, with the largest s <= 16 for
 *     which the sums fit (and the c fit 32 bits). If divisor is 0, the difference between D (or 0, where the sum of t
 *     counts as 0) and the sum of the rounded c is added to the anchor's tap: a blur leaves flat areas unchanged. The
 *     sums fit with that addition, too.
 *   Then the greatest power of two that divides D and all c is divided out, which changes no result.
 *
 * Rounding. out = S / D + bias, of the exact rational number, to the nearest integer, halves to even; then saturated
 * to 0 .. max (255, 1023, 4095, 65535). bias is the double as set. Chroma is filtered about mid-level (128, 512, 2048,
 * 32768) and takes no bias: out = S' / D + mid with S' the sum over x - mid.
 * A kernel whose only non-zero tap is at the anchor and equal to D, with bias 0,
 * is the identity: stored words are copied unchanged.
 *
 * Sides and sigmas of box, gauss, unsharp and log. sx = sigma; sy = sigma-y, or sigma where that is 0.
 *   kx = kernel-width, or kernel-size where that is 0. Where both are 0: min (m, 2 ceil (3 sx) + 1) for gauss, unsharp
 *   and log with sx > 0, otherwise 5. ky likewise from kernel-height and sy. m = 63 for log and motion, otherwise 255;
 *   larger sides are refused.
 *   With r = (k - 1) / 2 of the axis, a sigma of 0 then means 0.3 (r - 1) + 0.8. All are raised to at least 0.01.
 * motion has k = kernel-size, where 0 means 5.
 *
 * Presets, (i, j) counted from the anchor:
 *   box       kx x ky ones
 *   sharpen   0 -a 0; -a 1+4a -a; 0 -a 0, a = amount
 *   laplace   0 1 0; 1 -4 1; 0 1 0
 *   sobel-x   -1 0 1; -2 0 2; -1 0 1, positive where samples grow to the right; sobel-y: its transpose, positive where
 *             they grow downward. out = S / D + mid + bias, for chroma S' / D + mid as always: 0 becomes mid-level
 *   emboss    -2 -1 0; -1 1 1; 0 1 2, its outer eight taps moved counterclockwise
 *             by angle / 45 positions (the nearest integer, halves up; modulo 8)
 *   log       g = exp (-i^2 / (2 sx^2) - j^2 / (2 sy^2)),
 *             t = g ((i^2 - sx^2) / sx^4 + (j^2 - sy^2) / sy^4) / sum g, minus the mean of all t
 *   motion    k x k; p = i cos A - j sin A along, q = i sin A + j cos A across,
 *             t = max (0, 1 - |q|) min (1, max (0, r + 1 - |p|)); A = angle, counterclockwise, 0 = to the right
 *   gauss, unsharp, sobel, prewitt, scharr, fill, mosaic, privacy: below
 *   custom    the rows of `kernel` (or of the file)
 *
 * gauss. Each axis: k weights g = exp (-i^2 / (2 sigma^2)) / sum; with sigma 0 at k = 3, 5, 7 instead 1 2 1 / 4,
 * 1 4 6 4 1 / 16, 1 3.5 7 9 7 3.5 1 / 32. They become integers in units of 1 / F, F = 256 at 8 bit and 65536 above,
 * from the outermost tap to the centre: n = the integer nearest to g F + e (halves to even), e = g F + e - n carries
 * to the next tap, symmetrically on both sides, and the centre takes the remainder to F. S is the sum with the product
 * of both axes' weights (separable), D = F^2, and out = floor (S / D + bias + 1/2): halves UP, where the other kernels
 * round them to even. divisor is not used. At 8 bit the result equals OpenCV's GaussianBlur.
 * unsharp. With the same S, D and A = amount in 1/256 (nearest, halves up):
 * out = floor (x + A / 256 (x - S / D) + bias + 1/2), saturated.
 * sobel, prewitt, scharr: with gx and gy the sums with
 *   -m 0 m; -n 0 n; -m 0 m   and its transpose, (m, n) = (1, 2), (1, 1), (3, 10),
 * r = the integer nearest to sqrt (gx^2 + gy^2); out = r / D + bias, rounded like the sums; divisor d (0 = 1): if
 * d 2^n is an integer below 2^31 for an n <= 16, r 2^n / (d 2^n), else r m / 65536 with m nearest to 65536 / d. Chroma
 * is written as mid-level.
 *
 * fill, mosaic, privacy leave nothing of a frame but a colour, or the means of a few cells. The other parameters but
 * apply-to have no meaning there, and gray must be none.
 *   fill      the component of fill-color, as CfColors in cf.h defines it, << (bits - 8)
 *   mosaic    the mean of the sample's cell. With s the shorter and L the longer side of the frame in pixels, there are
 *             n = min (blocks, max (1, s div 4)) cells along s and min ((2 L n + s) div (2 s), max (1, L div 4)) along
 *             L. A component of w x h samples (of a field) has nx = min (w, those along the width) by
 *             ny = min (h, those along the height) cells; the cell (i, j) covers the columns
 *             i w div nx .. (i + 1) w div nx - 1, and the rows likewise. The mean of the sum S of its c samples is
 *             (2 S + c) div (2 c).
 *   privacy   the same means m, interpolated between the centres of the cells. Along x, D = 2 w:
 *               p = (2 x + 1) nx - w;  p < 0: i = f = 0, else i = p div D, f = 256 (p - i D) div D
 *             and along y likewise j, g with ny, h. With k = min (i + 1, nx - 1), l = min (j + 1, ny - 1)
 *               out = ((256 - g) ((256 - f) m(i, j) + f m(k, j)) + g ((256 - f) m(i, l) + f m(k, l)) + 32768) >> 16
 *
 * gray. mean or luma: an RGB frame is first converted to one plane y,
 *   mean: (R + G + B) / 3 truncated;  luma: (77 R + 150 G + 29 B + 128) >> 8,
 * y is filtered as luma and written to R, G and B (with an identity kernel, too).
 * YUV: luma is filtered and chroma is written as mid-level.
 *
 * Components that are not filtered (alpha, padding, those that apply-to leaves out) are copied as stored, also where
 * gray or a magnitude would have written mid-level.
 *
 * Borders. replicate: coordinates are clamped. reflect101: coordinates are mirrored about the outermost sample, as
 * often as needed (side 1: always 0). wrap: coordinates are taken modulo the side. constant: samples outside are
 * min (border-value, max) for luma and mid-level for chroma. With gray the border is that of the gray plane.
 *
 * Samples. As in median/median.h: samples of 10 and 12 bits are clamped to 1023 and 4095 on load,
 * P010 stores value << 6, P012 value << 4; thresholds and biases are in sample values.
 *
 * | parameter | unit, range | takes effect |
 * | preset | see above (gauss) | next frame |
 * | kernel | text: rows by ';', numbers by spaces or ',', either may be last | next frame; preset becomes custom |
 * | kernel-file | path of the same, rows by newline or ';'; read once, when set | next frame; preset becomes custom |
 * | kernel-size, kernel-width, kernel-height | samples, 0 or odd 1..255 (0) | next frame |
 * | sigma, sigma-y | samples, 0..100 (0) | next frame |
 * | angle | degrees, -360..360 (0) | next frame |
 * | amount | 0..10 (1) | next frame |
 * | divisor | -1e9..1e9 (0) | next frame |
 * | bias | sample value, -65536..65536 (0) | next frame |
 * | border | replicate, reflect101, wrap, constant (replicate) | next frame |
 * | border-value | sample value, 0..65535 (0) | next frame |
 * | flip | false, true (false) | next frame |
 * | gray | none, mean, luma (none) | next frame |
 * | fill-color | 0xAARRGGBB, alpha is ignored (0xff000000) | next frame |
 * | blocks | 2..64 (8) | next frame |
 *
 * One function makes the weights on the CPU for both backends. From there on
 * all arithmetic is in integers, so every variant returns the same bytes. */
#ifndef CF_CONVOLVE_CONVOLVE_H
#define CF_CONVOLVE_CONVOLVE_H

#include "core/filter.h"

CF_BEGIN_DECLS

#define CF_CONVOLVE_MAX 63   /* largest side of a kernel with weights of its own for every tap */
#define CF_CONVOLVE_LONG 255 /* of box, gauss and unsharp */
/* The side of kernels for which none is set and no sigma implies one. */
#define CF_CONVOLVE_DEFAULT 5
#define CF_CONVOLVE_MAX_BLOCKS 64

typedef enum {
  CF_PRESET_IDENTITY,
  CF_PRESET_BOX,
  CF_PRESET_GAUSS,
  CF_PRESET_SHARPEN,
  CF_PRESET_LAPLACE,
  CF_PRESET_UNSHARP,
  CF_PRESET_EMBOSS,
  CF_PRESET_SOBEL,
  CF_PRESET_PREWITT,
  CF_PRESET_SCHARR,
  CF_PRESET_LOG,
  CF_PRESET_MOTION,
  CF_PRESET_CUSTOM,
  CF_PRESET_FILL,
  CF_PRESET_MOSAIC,
  CF_PRESET_PRIVACY,
  CF_PRESET_SOBEL_X,
  CF_PRESET_SOBEL_Y
} CfConvolvePreset;

typedef enum { CF_BORDER_REPLICATE, CF_BORDER_REFLECT101, CF_BORDER_WRAP, CF_BORDER_CONSTANT } CfBorder;
typedef enum { CF_GRAY_NONE, CF_GRAY_MEAN, CF_GRAY_LUMA } CfGray;

typedef struct {
  int preset; /* CfConvolvePreset */
  const char *kernel, *kernel_file;
  int kernel_size, kernel_width, kernel_height;
  double sigma, sigma_y, angle, amount, divisor, bias;
  int border; /* CfBorder */
  int border_value;
  int flip;
  int gray;            /* CfGray */
  uint32_t fill_color; /* 0xAARRGGBB */
  int blocks;
  const char *file_text; /* the content of kernel_file when it was set; not a property */
} CfConvolveParams;

/* COPY: the identity. LINEAR: S / D. The others: see the head of this file. */
typedef enum {
  CF_CONVOLVE_COPY,
  CF_CONVOLVE_LINEAR,
  CF_CONVOLVE_UNSHARP,
  CF_CONVOLVE_MAGNITUDE,
  CF_CONVOLVE_FILL,
  CF_CONVOLVE_MOSAIC,
  CF_CONVOLVE_PRIVACY
} CfConvolveOp;

/* A component's index into pairs of constants. LUMA stands for gray, luma, R, G, B. */
enum { CF_CONVOLVE_LUMA, CF_CONVOLVE_CHROMA };

/* The parameters resolved for samples of one bit depth. Plain data, may be copied. */
typedef struct {
  CfConvolveOp op;
  int bits, max, mid;
  int w, h, ax, ay;
  /* c(i, j) = weights[j * w + i]; MAGNITUDE: those of gx, with those of gy in
   * weights_y. Not filled where `dense` is false: gauss and unsharp above 8 bit,
   * and kernels with a side above CF_CONVOLVE_MAX. */
  bool dense;
  int32_t weights[CF_CONVOLVE_MAX * CF_CONVOLVE_MAX];
  int32_t weights_y[9];
  /* c(i, j) = col[j] row[i], exactly. Never set for MAGNITUDE. */
  bool separable;
  int32_t row[CF_CONVOLVE_LONG], col[CF_CONVOLVE_LONG];
  bool box;             /* all c are 1 */
  int64_t sum, abs_sum; /* of c; MAGNITUDE: the larger abs_sum of the two */
  /* For luma [0] and chroma [1]; S is the sum over x for chroma, too.
   * LINEAR:    out = floor ((2 S + add) / (2 D)), minus 1 where ties_even is set,
   *            the remainder is 0 and the quotient is odd; then saturated
   * UNSHARP:   out = floor ((256 D x + amount (D x - S) + add) / (256 D)), saturated
   * MAGNITUDE: as LINEAR with factor r in place of S */
  int64_t divisor; /* D >= 1 */
  int64_t add[2];
  bool ties_even[2];
  int64_t factor;
  int amount; /* A */
  /* LINEAR: |2 S + add| < 2^31 for luma and chroma, and for 0 <= n < 2^31
   * n / (2 D) = (n * (uint64_t) magic) >> shift, shift >= 32. */
  bool narrow;
  uint32_t magic;
  int shift;
  CfBorder border;
  int outside[2]; /* CONSTANT: the sample outside the frame, luma and chroma */
  /* FILL: the sample of each component of the format. MOSAIC, PRIVACY: blocks as in the parameters. */
  uint16_t fill[4];
  int blocks;
  CfGray gray; /* as in the parameters; cf_convolve_action applies it to a format */
} CfConvolution;

/* Resolves `params` for `format` and the colours of `common` into `c`. Returns CF_BAD_VALUE, with row and column of the
 * kernel counted from 1 where they apply, or CF_UNSUPPORTED for an unknown format. Thread-safe. */
CfCode cf_convolution_resolve (const CfConvolveParams *params, const CfCommon *common, CfFormat format,
    CfConvolution *c, CfStatus *status);

/* Returns the nick of a CfConvolvePreset, such as "gauss", or "" for any other number. */
const char *cf_convolve_preset_name (int preset);

/* What the filter does with the samples of a component: copies them, filters
 * them, writes mid-level, or (GRAY) filters the gray plane of R, G and B. */
typedef enum { CF_ACTION_COPY, CF_ACTION_FILTER, CF_ACTION_MID, CF_ACTION_GRAY } CfConvolveAction;
/* Returns the action for the component of `view`. Thread-safe. */
CfConvolveAction cf_convolve_action (const CfConvolution *c, CfFormat format, const CfView *view);

/* Returns whether frames are hidden: FILL, MOSAIC, PRIVACY. */
static inline bool
cf_convolve_hides (const CfConvolution *c)
{
  return c->op >= CF_CONVOLVE_FILL;
}

/* Fills the numbers of cells of a component of width x height samples, for frames of `video`; FILL: 1 and 1. */
void cf_convolve_cells (const CfConvolution *c, const CfVideo *video, int width, int height, int *nx, int *ny);
/* Returns the most cells that a component of frames up to the size of `video` can have, whatever `blocks` is. */
size_t cf_convolve_max_cells (const CfVideo *video);

#ifdef __CUDACC__
#define CF_HOST_DEVICE __host__ __device__
#else
#define CF_HOST_DEVICE
#endif

/* Returns the index, 0 .. n - 1, of the sample that stands for index i of a row
 * or column of n samples, or -1 for the constant border. */
CF_HOST_DEVICE static inline int
cf_border_map (CfBorder border, int i, int n)
{
  if (i >= 0 && i < n)
    return i;
  switch (border) {
    case CF_BORDER_REFLECT101: {
      int period = 2 * (n - 1);

      if (n == 1)
        return 0;
      i %= period;
      i = i < 0 ? i + period : i;
      return i < n ? i : period - i;
    }
    case CF_BORDER_WRAP:
      i %= n;
      return i < 0 ? i + n : i;
    case CF_BORDER_CONSTANT:
      return -1;
    default:
      return i < 0 ? 0 : n - 1;
  }
}

/* Returns the place of sample x of w among n <= w cells: i << 8 | f of PRIVACY, and for MOSAIC its cell << 8. The cell
 * is the largest i with i w div n <= x, which is i w < (x + 1) n. */
CF_HOST_DEVICE static inline unsigned
cf_convolve_place (CfConvolveOp op, int x, int w, int n)
{
  unsigned p, d = 2 * (unsigned) w;

  if (op != CF_CONVOLVE_PRIVACY)
    return (unsigned) (((x + 1) * n - 1) / w) << 8;
  if ((2 * x + 1) * n < w)
    return 0;
  p = (unsigned) ((2 * x + 1) * n - w);
  return p / d << 8 | 256 * (p % d) / d;
}

extern const CfFilter cf_convolve;
extern const CfOps cf_convolve_cpu;
extern const CfOps cf_convolve_cuda; /* only in a build with CUDA */

CF_END_DECLS
#endif
