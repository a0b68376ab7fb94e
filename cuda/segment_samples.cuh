/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment_samples.cuh: sums over squares of pixels whose samples are read by words of
 * several: what the segmentation adds up most is cells of 2 x 2 or 4 x 4 pixels of 8 bits. */
#ifndef SEGMENT_SAMPLES_CUH
#define SEGMENT_SAMPLES_CUH

#include "segment_cuda.h"

namespace cf {

/* The bytes at p, which is aligned to as many. */
template<int BYTES> __device__ __forceinline__ unsigned
sg_load_bytes (const uint8_t *p)
{
  return BYTES == 4 ? *(const unsigned *) p : BYTES == 2 ? *(const uint16_t *) p : *p;
}

/* How many samples of each colour difference are in n pixels. */
__device__ __forceinline__ unsigned
sg_square_chroma (const SgWork &work, unsigned n)
{
  return work.layout == SG_PACKED || work.layout == SG_GRAY ? n : n / 4;
}

template<int SIZE> __device__ __forceinline__ void
sg_sum_packed (const SgWork &work, int x, int y, unsigned (&sum)[3])
{
  const uint8_t *at = work.words + y * work.component[0].in_pitch + 4ll * x;
  unsigned even = 0, odd = 0; /* sums of bytes 0 and 2, 1 and 3 */

#pragma unroll
  for (int j = 0; j < SIZE; j++, at += work.component[0].in_pitch)
#pragma unroll
    for (int i = 0; i < SIZE; i++) {
      const unsigned word = sg_load_bytes<4> (at + 4 * i);

      even += word & 0xff00ffu;
      odd += word >> 8 & 0xff00ffu;
    }
#pragma unroll
  for (int k = 0; k < 3; k++) {
    const unsigned byte = (unsigned) (work.component[k].in - work.words);

    sum[k] = (byte & 1 ? odd : even) >> 8 * (byte & 2) & 0xffffu;
  }
}

template<int SIZE> __device__ __forceinline__ void
sg_sum_chroma (const SgWork &work, int x, int y, unsigned (&sum)[3])
{
  const SgComponent &u = work.component[1], &v = work.component[2];
  const long long at = y / 2 * u.in_pitch;
  const bool swapped = v.in < u.in;

  sum[1] = sum[2] = 0;
#pragma unroll
  for (int j = 0; j < SIZE / 2; j++)
    if (work.layout == SG_PLANAR_420) {
      sum[1] = __dp4a (sg_load_bytes<SIZE / 2> (u.in + at + j * u.in_pitch + x / 2), 0x01010101u, sum[1]);
      sum[2] = __dp4a (sg_load_bytes<SIZE / 2> (v.in + y / 2 * v.in_pitch + j * v.in_pitch + x / 2), 0x01010101u,
          sum[2]);
    } else {
      const unsigned word = sg_load_bytes<SIZE> ((swapped ? v.in : u.in) + at + j * u.in_pitch + x);

      sum[1] = __dp4a (word, swapped ? 0x01000100u : 0x00010001u, sum[1]);
      sum[2] = __dp4a (word, swapped ? 0x00010001u : 0x01000100u, sum[2]);
    }
}

/* The sums of the three colours over SIZE x SIZE pixels (2 or 4) from (x, y), which are
 * multiples of SIZE; work.layout is not SG_ANY. */
template<int SIZE> __device__ __forceinline__ void
sg_sum_square (const SgWork &work, int x, int y, unsigned (&sum)[3])
{
  const uint8_t *at = work.component[0].in + y * work.component[0].in_pitch + x;

  if (work.layout == SG_PACKED) {
    sg_sum_packed<SIZE> (work, x, y, sum);
    return;
  }
  sum[0] = 0;
#pragma unroll
  for (int j = 0; j < SIZE; j++)
    sum[0] = __dp4a (sg_load_bytes<SIZE> (at + j * work.component[0].in_pitch), 0x01010101u, sum[0]);
  if (work.layout == SG_GRAY)
    sum[1] = sum[2] = 0;
  else
    sg_sum_chroma<SIZE> (work, x, y, sum);
}

} // namespace cf

#endif
