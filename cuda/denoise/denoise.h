/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * denoise/denoise.h: the contract of the denoiser: a mean over time that starts anew where something moves, then a mean
 * over space of the samples that differ by no more than noise.
 *
 * All numbers are integers. a >> n is the floor of a / 2^n, a / b cuts off towards 0, and
 *   mulr (a, b) = (a b + 2^14) >> 15,     clamp (v, lo, hi) = the nearest value to v in lo .. hi.
 * Each component is filtered by itself, and so is each field of interlaced video. "Inside" is inside the component's
 * field. Wherever a sample outside is read, of S, e, moved, m or c, the nearest sample inside stands for it.
 *
 * 1. Input. x is the sample's value: of 10 and 12 bits, values above 1023 or 4095 count as that.
 *   S = x << (15 - bits), of 16 bits x >> 1.        So a step of 8 bits is 128.
 *
 * 2. State. Of each sample: m, the mean so far (0 .. 32767), and c, for how many frames it stands (1 .. 16). Of each
 * component and field: sigma[8], the noise of 8 zones of brightness, in 1/128 of a step of 8 bits, 0 at first. In the
 * first frame m = S and c = 1 take the place of step 4.
 *
 * 3. Noise of a level l = 0 .. 15. A sample's level is m >> 11, m being that of the frame before in step 4, the new one
 * in step 5. With noise set: sigma[z] = floor (noise * 128 + 1/2) for all z.
 *   a = sigma[max (0, l - 1) / 2],   b = sigma[min (15, l + 1) / 2]
 *   g[l] = clamp (((a + b) / 2 * strength + 50) / 100, 17, 8191)
 *
 * 4. Time. m and c are those of the frame before. With r[l] = 2^19 / g[l]:
 *   e = clamp (mulr (S - m, r[m >> 11]), -127, 127)                     the difference, in 1/16 of the noise
 *   A = |sum of e over 5 x 5|,   B = sum of |e| over 7 x 7
 *   F[1 .. 16] = 362 314 296 286 280 277 274 272 270 269 267 266 266 265 264 264          256 sqrt (1 + 1 / c)
 *   a2 = 280 F[c] >> 8,   b2 = 1015 F[c] >> 8,   a1 = 5 a2 >> 3,   b1 = 13 b2 >> 4
 *   moved = 2 where A > a2 or B > b2; else 1 where A > a1 or B > b1; else 0
 *   v = the largest `moved` of 3 x 3
 * Where v = 2: c = 1, m = S. Else c = min (c + 1, 2 where v = 1, 16 where v = 0), then m = m + mulr (S - m, 2^15 / c).
 * Formats of 8 bits keep 12 bits of m: m = min (4095, (m + 4) >> 3) << 3.
 *
 * 5. Space, with the new m and c of all samples:
 *   K[1 .. 16] = 40960 28963 23648 20480 18318 16722 15481 14482 13653 12953 12350 11824 11360 10947 10576 10240
 *   h = min (4095, 2 max (17, g[m >> 11] - 38) K[c] >> 16)
 * 4 h is five times the noise that is left in m. Of a neighbour q, d = (m(q) >> 1) - (m >> 1) and
 *   psi = sign (d) max (0, min (|d|, 2 h - |d|)):     it counts less the nearer |d| is to 2 h.
 * N is the sum of psi of the eight neighbours around, F of the eight at (+-2, 0), (0, +-2) and (+-2, +-2).
 *   o = clamp (m + ((156 N + 74 F) >> 10), 0, 32767)
 * m itself is not changed. So an impulse of more than 4 h stays where it is: those are for the median.
 *
 * 6. Output. Below 16 bits: min (2^bits - 1, (o + 2^(14 - bits)) >> (15 - bits)). 16 bits: clamp (x + 2 (o - S), 0,
 * 65535).
 *
 * 7. Estimate, with noise = -1. Blocks of 8 x 8, whole ones, from the first sample on, are counted in histograms: those
 * of rows 0 .. 7, 16 .. 23, 32 .. 39 and so on; half of the blocks say as much as all. m and c are those of the frame
 * before, P = S >> 3; n4(k) and n8(k) are the sums of P of the four samples k to the left, right, above and below, and
 * of the four at the corners, (+-k, +-k):
 *   R[1 .. 16] = 23170 26755 28378 29309 29913 30337 30652 30894 31086 31243 31373 31482 31576 31657 31727 31790
 *   t = sum of mulr (|S - m|, R[c])                                     32768 / sqrt (1 + 1 / c)
 *   s = sum of |4 P - 2 n4(1) + n8(1)|,   w = sum of |4 P - 2 n4(2) + n8(2)|
 *   zone z = (sum of S) >> 18
 * A block counts unless more than 16 of its samples have S = 0 or the largest S. It adds one to T[z] at
 * min (255, t >> 10), to N[z] at min (255, s / 768), to W[z] at min (255, w / 768).
 * Q(H, k) = 16 i + 8 with the first i at which H[0] + ... + H[i] > k. Of the n blocks of a zone and the n_all of all, a
 * zone is known where n >= 16 and 32 n >= n_all. Then
 *   s = Q(N, n / 16) 430 >> 8,   t = Q(T, n / 4) 350 >> 8,   w = Q(W, n / 16) 430 >> 8
 *   spare = max (0, s - 384),    top = max (s, min (w, s + min (s / 2, spare))),    limit = 9 top / 8
 *   est = min (t, top) where t <= limit, else max (s, top - (t - limit))
 *   where est > s: est = 2 est - s
 * s is the quietest sixteenth of the picture. t is right where a quarter of the zone stands still. Together with w it
 * sees noise that a codec has smoothed, which needs more than its own sigma; `spare` leaves this out of light noise,
 * where fine texture that moves looks the same. In the first frame est = s, without t and w. A zone that is not known
 * takes the est of the nearest known one, of two the darker one. Where none is known, sigma stays.
 * The first frame is counted before it is filtered, and sigma = est. Each later one is filtered with the sigma that the
 * frames before it have left; then sigma = sigma + (est - sigma) / 4 with the est of the frame before, unless that was
 * the first one or its noise was set.
 *
 * | parameter | unit, range | takes effect |
 * | noise | standard deviation, levels of 8 bits; -1: estimated, -1..64 (-1) | next frame |
 * | strength | %, 0..200 (100) | next frame |
 * | message-interval | ms, 0..3600000 (0) | next frame |
 *
 * With strength = 0 or noise = 0 a frame is copied as stored, and the state begins anew behind it. It begins anew, too,
 * at the start, with new caps, a flush, another apply-to, after frames that passed (enabled = false), and where the CPU
 * takes over. A cut, a lost frame or a switch of the light needs no signal: step 4 finds it. A stream of interlaced and
 * progressive frames has a state for each.
 *
 * Every variant on either backend gives the same bytes.
 *
 * Sources. Fast noise variance estimation by a Laplacian: J. Immerkaer (Computer Vision and Image Understanding 64,
 * 1996). Bilateral and robust means: C. Tomasi and R. Manduchi, "Bilateral filtering for gray and color images" (ICCV
 * 1998); M. Black and others, "Robust anisotropic diffusion" (IEEE TIP 7, 1998). Recursive means over time that adapt
 * to motion: J. Brailean and others, "Noise reduction filters for dynamic image sequences" (Proc. IEEE 83, 1995). */
#ifndef CF_DENOISE_DENOISE_H
#define CF_DENOISE_DENOISE_H

#include "core/filter.h"

CF_BEGIN_DECLS

typedef struct {
  double noise;
  int strength;
  int message_interval;
} CfDenoiseParams;

#define CF_DENOISE_ZONES CF_NOISE_ZONES
#define CF_DENOISE_BINS 256
#define CF_DENOISE_LEVELS 16
#define CF_DENOISE_FRAMES 16 /* the largest c */
#define CF_DENOISE_BLOCK 8
#define CF_DENOISE_REACH 4095 /* the largest h */
#define CF_DENOISE_NEAR 156   /* the weights of N and F, of 1024 */
#define CF_DENOISE_FAR 74

/* Returns whether frames are copied. */
static inline bool
cf_denoise_is_off (const CfDenoiseParams *params)
{
  return params->noise == 0 || params->strength == 0;
}

extern const CfFilter cf_denoise;
extern const CfOps cf_denoise_cpu;
extern const CfOps cf_denoise_cuda; /* only in a build with CUDA */

CF_END_DECLS
#endif
