/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve/convolve.h: the contract of the convolution filter.
 *
 * Sums. A kernel has w x h taps (1..63 each, even ones too) and its anchor at
 * (w / 2, h / 2), integer division. With x(X, Y) the samples of a component (of
 * a field),
 *   S(X, Y) = sum over i < w, j < h of  c(i, j) x(X + i - ax, Y + j - ay)
 * which is a correlation, as in OpenCV and FFmpeg. flip=true reverses the taps
 * in both directions and takes ax = w - 1 - w / 2, ay = h - 1 - h / 2: a
 * convolution. S is an exact integer: 32 bits hold it at 8 bit, 64 bits above;
 * a kernel whose sum of |c| times the largest sample does not fit is refused.
 *
 * Weights. The taps as typed or as the preset makes them are doubles t.
 *   divisor d: as set; 0 means the sum of t, or 1 if |sum| <= 1e-9 sum |t|.
 *   Exact: all t 2^n and d 2^n are integers below 2^31 for one and the same
 *     n <= 16 (the smallest such): c = t 2^n, D = d 2^n. A negative D negates
 *     all c and D. If the sums then do not fit: with n = 0 (what was typed are
 *     integers) the kernel is refused, with n > 0 the next rule is tried.
 *   Else: c = t / d 2^s, rounded to the nearest integer, halves away from 0, and
 *     D = 2^s, with the largest s <= 16 for which the sums fit (and the c fit 32
 *     bits). If divisor is 0, what the rounded sum misses to exactly D (to 0
 *     where the sum of t counts as 0) is added to the anchor's tap, so that
 *     a blur leaves a flat picture flat; the sums fit with that as well.
 *   Then the greatest common divisor of D and all c that is a power of two is
 *   divided out, which changes no result.
 *
 * Rounding. out = S / D + bias, of the exact rational number, to the nearest
 * integer, halves to even; then saturated to 0 .. max (255, 1023, 65535). bias
 * is the double as set. Chroma is filtered about mid-level (128, 512, 32768)
 * and takes no bias: out = S' / D + mid with S' the sum over x - mid.
 * A kernel with one tap other than 0, at the anchor and equal to D, and no bias, is the
 * identity: words are copied as stored.
 *
 * Presets, k = kernel-size, r = (k - 1) / 2, (i, j) counted from the anchor:
 *   box       k x k ones
 *   sharpen   0 -a 0; -a 1+4a -a; 0 -a 0, a = amount
 *   laplace   0 1 0; 1 -4 1; 0 1 0
 *   emboss    -2 -1 0; -1 1 1; 0 1 2, its outer eight taps moved counterclockwise
 *             by angle / 45 places (the nearest integer, halves up; modulo 8)
 *   log       g = exp (-(i^2 + j^2) / (2 sigma^2)),
 *             t = g (i^2 + j^2 - 2 sigma^2) / (sigma^4 sum g), less the mean of all t
 *   motion    k x k; p = i cos A - j sin A along, q = i sin A + j cos A across,
 *             t = max (0, 1 - |q|) min (1, max (0, r + 1 - |p|)); A = angle,
 *             counterclockwise, 0 = to the right
 *   gauss, unsharp, sobel, prewitt, scharr: below
 *   custom    the rows of `kernel` (or of the file)
 * sigma 0: 0.3 (r - 1) + 0.8. It is at least 0.01 everywhere.
 *
 * gauss. One axis: k weights g = exp (-i^2 / (2 sigma^2)) / sum; with sigma 0 at
 * k = 3, 5, 7 instead 1 2 1 / 4, 1 4 6 4 1 / 16, 1 3.5 7 9 7 3.5 1 / 32. They
 * become integers of 1 / F, F = 256 at 8 bit and 65536 above, from the outside
 * in: n = the integer nearest to g F + e (halves to even), e = g F + e - n goes to
 * the next, both sides alike, and the centre takes what is left to F. S is
 * the sum with both axes' weights (separable), D = F^2, and
 * out = floor (S / D + bias + 1/2): halves UP, where the other kernels round
 * them to even. divisor is not used. At 8 bit this is OpenCV's GaussianBlur.
 * unsharp. With the same S, D and A = amount in 1/256 (nearest, halves up):
 * out = floor (x + A / 256 (x - S / D) + bias + 1/2), saturated.
 * sobel, prewitt, scharr: with gx and gy the sums with
 *   -m 0 m; -n 0 n; -m 0 m   and its transpose, (m, n) = (1, 2), (1, 1), (3, 10),
 * r = the integer nearest to sqrt (gx^2 + gy^2); out = r / D + bias by the same
 * rounding as sums; divisor d (0 = 1): if d 2^n is an integer below 2^31 for an
 * n <= 16, r 2^n / (d 2^n), else r m / 65536 with m nearest to 65536 / d. Chroma
 * is written mid-level.
 *
 * gray. mean or luma: an RGB picture is made one plane y first,
 *   mean: (R + G + B) / 3 truncated;  luma: (77 R + 150 G + 29 B + 128) >> 8,
 * y is filtered as luma and written to R, G and B (an identity kernel too).
 * YUV: luma is filtered and chroma written mid-level.
 *
 * Components that are not filtered (alpha, padding, apply-to) are copied as
 * stored, also where gray or a magnitude would have written mid-level.
 *
 * Borders. replicate: coordinates are clamped. reflect101: mirrored about the
 * outermost sample, as often as needed (n = 1: always 0). wrap: modulo the
 * side. constant: samples outside are min (border-value, max); for
 * chroma mid-level. With gray the border is that of the gray plane.
 *
 * Samples. As in median/median.h: 10 bit is clamped to 1023 on load, P010 is
 * value << 6, thresholds and biases are in sample values.
 *
 * | parameter | unit, range | takes effect |
 * | preset | see above (gauss) | next frame |
 * | kernel | text: rows by ';', numbers by spaces or ',' | next frame; preset becomes custom |
 * | kernel-file | path of the same, rows by newline or ';'; read once, when set | next frame; preset becomes custom |
 * | kernel-size | samples, odd 1..63 (5) | next frame |
 * | sigma | samples, 0..100 (0) | next frame |
 * | angle | degrees, -360..360 (0) | next frame |
 * | amount | 0..10 (1) | next frame |
 * | divisor | -1e9..1e9 (0) | next frame |
 * | bias | sample value, -65536..65536 (0) | next frame |
 * | border | replicate, reflect101, wrap, constant (replicate) | next frame |
 * | border-value | sample value, 0..65535 (0) | next frame |
 * | flip | false, true (false) | next frame |
 * | gray | none, mean, luma (none) | next frame |
 *
 * All of it is integer arithmetic once the weights are made (on the CPU, by one
 * function, for both backends), so every variant gives the same bytes. */
#ifndef CF_CONVOLVE_CONVOLVE_H
#define CF_CONVOLVE_CONVOLVE_H

#include "core/filter.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CF_CONVOLVE_MAX 63

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
} CfConvolvePreset;

typedef enum { CF_BORDER_REPLICATE, CF_BORDER_REFLECT101, CF_BORDER_WRAP, CF_BORDER_CONSTANT } CfBorder;
typedef enum { CF_GRAY_NONE, CF_GRAY_MEAN, CF_GRAY_LUMA } CfGray;

typedef struct {
  int preset; /* CfConvolvePreset */
  const char *kernel, *kernel_file;
  int kernel_size;
  double sigma, angle, amount, divisor, bias;
  int border; /* CfBorder */
  int border_value;
  int flip;
  int gray;              /* CfGray */
  const char *file_text; /* what stood in kernel_file when it was set; no property */
} CfConvolveParams;

/* COPY: the identity. LINEAR: S / D. UNSHARP, MAGNITUDE: as above. */
typedef enum { CF_CONVOLVE_COPY, CF_CONVOLVE_LINEAR, CF_CONVOLVE_UNSHARP, CF_CONVOLVE_MAGNITUDE } CfConvolveOp;

/* Which of a pair of constants a component takes. */
enum { CF_CONVOLVE_LUMA, CF_CONVOLVE_CHROMA }; /* luma: gray, luma, R, G, B */

/* The parameters for samples of one depth, worked out. Plain data: copy it. */
typedef struct {
  CfConvolveOp op;
  int bits, max, mid;
  int w, h, ax, ay;
  /* c(i, j) = weights[j * w + i]; MAGNITUDE: gx's, and gy's in weights_y.
   * Not filled where `dense` is false: gauss and unsharp above 8 bit. */
  bool dense;
  int32_t weights[CF_CONVOLVE_MAX * CF_CONVOLVE_MAX];
  int32_t weights_y[9];
  /* c(i, j) = col[j] row[i]: exactly so. Never for MAGNITUDE. */
  bool separable;
  int32_t row[CF_CONVOLVE_MAX], col[CF_CONVOLVE_MAX];
  bool box; /* all c are 1 */
  int64_t sum, abs_sum; /* of c; MAGNITUDE: the larger abs_sum of the two */
  /* LINEAR:    out = floor ((2 S + add) / (2 D)), less 1 where ties_even and the
   *            division leaves no rest and the quotient is odd; then saturated
   * UNSHARP:   out = floor ((256 D x + amount (D x - S) + add) / (256 D)), saturated
   * MAGNITUDE: as LINEAR with factor r for S
   * for luma [0] and chroma [1]; S is over x, also for chroma. */
  int64_t divisor; /* D >= 1 */
  int64_t add[2];
  bool ties_even[2];
  int64_t factor;
  int amount; /* A */
  /* LINEAR: |2 S + add| < 2^31 for both, and for 0 <= n < 2^31
   * n / (2 D) = (n * (uint64_t) magic) >> shift, shift >= 32. */
  bool narrow;
  uint32_t magic;
  int shift;
  CfBorder border;
  int outside[2]; /* CONSTANT: the sample out there, luma and chroma */
  CfGray gray;    /* of the parameters; what it means for a format: cf_convolve_fate */
} CfConvolution;

/* Works out the parameters; CF_BAD_VALUE with what is wrong (of a kernel, in
 * which row and column, counted from 1). Any thread. */
CfCode cf_convolution_resolve (const CfConvolveParams *params, CfFormat format, CfConvolution *c, CfStatus *status);

/* What becomes of a component. GRAY: of R, G and B together one plane. */
typedef enum { CF_FATE_COPY, CF_FATE_FILTER, CF_FATE_MID, CF_FATE_GRAY } CfConvolveFate;
CfConvolveFate cf_convolve_fate (const CfConvolution *c, CfFormat format, const CfView *view);

#ifdef __CUDACC__
#define CF_BOTH_SIDES __host__ __device__
#else
#define CF_BOTH_SIDES
#endif

/* Where sample `at` of a side of n samples comes from; -1: from outside. */
CF_BOTH_SIDES static inline int
cf_border_map (CfBorder border, int at, int n)
{
  if (at >= 0 && at < n)
    return at;
  switch (border) {
    case CF_BORDER_REFLECT101: {
      int period = 2 * (n - 1);

      if (n == 1)
        return 0;
      at %= period;
      at = at < 0 ? at + period : at;
      return at < n ? at : period - at;
    }
    case CF_BORDER_WRAP:
      at %= n;
      return at < 0 ? at + n : at;
    case CF_BORDER_CONSTANT:
      return -1;
    default:
      return at < 0 ? 0 : n - 1;
  }
}

extern const CfFilter cf_convolve;
extern const CfOps cf_convolve_cpu;
extern const CfOps cf_convolve_cuda; /* only in a build with CUDA */

#ifdef __cplusplus
}
#endif
#endif
