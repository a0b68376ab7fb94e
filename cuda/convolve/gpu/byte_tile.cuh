/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/byte_tile.cuh: tiles of rows of bytes in shared memory, as they lie in the image, whatever components
 * they belong to: passes.cu, packed_passes.cu and packed_quads.cu take their samples from them. A block copies all of
 * its tile at once, so every byte is loaded once and in whole vectors, and loads under way take no registers.
 *
 * No races: of vectors and words no two threads write the same one before the first barrier; behind it, pixels beside
 * the image are repeated by a thread for each row, and a second barrier follows. */
#ifndef CF_CONVOLVE_GPU_BYTE_TILE_CUH
#define CF_CONVOLVE_GPU_BYTE_TILE_CUH

#include "tile.cuh"

namespace cf {

/* Where a tile comes from: rows that begin on 16 bytes, of pixels of `step` bytes. outside: a word of samples outside
 * the image, with a constant border. clamps: rows are whole vectors, and the words beside them are made from the
 * outermost ones with the selectors `repeat`. */
struct TileSource {
  const uint8_t *in;
  int pitch, bytes, height, step, border;
  unsigned outside;
  bool clamps;
  unsigned repeat[2];
};

/* Returns the columns of the bytes at .. at + 3 of a row, mapped by the border; -1: outside the image. */
static __device__ __noinline__ int4
columns_of_word (const TileSource &s, int at)
{
  int column[4];

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int x = (at + i + 64 * s.step) / s.step - 64;
    const int mapped = cf_border_map ((CfBorder) s.border, x, s.bytes / s.step);

    column[i] = mapped < 0 ? -1 : at + i + (mapped - x) * s.step;
  }
  return make_int4 (column[0], column[1], column[2], column[3]);
}

/* Repeats the outermost pixels of the rows of a tile that is filled but for the vectors beside the image. */
template<int CHUNKS, int ROWS, int PITCH, int THREADS> __device__ __forceinline__ void
repeat_in_tile (const TileSource &s, int from, uint8_t *tile)
{
  const int end = s.bytes - from;

  for (int r = (int) threadIdx.x; r < ROWS; r += THREADS) {
    uint8_t *row = tile + r * PITCH;
    const unsigned first = __byte_perm (*(const unsigned *) (row + max (-from, 0)), 0, s.repeat[0]);
    const unsigned last = __byte_perm (*(const unsigned *) (row + min (end, 16 * CHUNKS) - 4), 0, s.repeat[1]);

    for (int at = 0; at < -from; at += 16)
      *(uint4 *) (row + at) = make_uint4 (first, first, first, first);
    for (int at = end; at < 16 * CHUNKS; at += 16)
      *(uint4 *) (row + at) = make_uint4 (last, last, last, last);
  }
}

/* Fills the words of a tile that are not in whole vectors inside the image, mapped by the border; with a constant
 * border rows outside the image are filled already. */
template<int CHUNKS, int ROWS, int PITCH, int THREADS> __device__ __forceinline__ void
map_in_tile (const TileSource &s, int from, int above, uint8_t *tile)
{
  constexpr int batch = 4; /* rows whose loads are under way together */
  const int left = max (-from, 0) / 4, right = min ((s.bytes - from) / 16, CHUNKS) * 4, n = left + 4 * CHUNKS - right;
  const int rows = THREADS / n, k = (int) threadIdx.x % n, word = k < left ? k : right + k - left;
  const int4 columns = columns_of_word (s, from + 4 * word);
  const int byte[4] = { columns.x, columns.y, columns.z, columns.w };

  static_assert (4 * CHUNKS <= THREADS, "a thread for each word of a row");
#pragma unroll 1
  for (int first = (int) threadIdx.x / n; first < ROWS && (int) threadIdx.x < rows * n; first += batch * rows) {
    unsigned v[batch] = { };
    int y[batch];

#pragma unroll
    for (int i = 0; i < batch; i++)
      y[i] = image_row (s.border, above + first + i * rows, s.height);
#pragma unroll
    for (int i = 0; i < 4 * batch; i++)
      v[i / 4] |= (byte[i % 4] < 0 ? s.outside >> 8 * (i % 4) & 0xff
          : s.in[(long long) max (y[i / 4], 0) * s.pitch + byte[i % 4]]) << 8 * (i % 4);
#pragma unroll
    for (int i = 0; i < batch; i++)
      if (first + i * rows < ROWS && y[i] >= 0)
        *(unsigned *) (tile + (first + i * rows) * PITCH + 4 * word) = v[i];
  }
}

/* Fills a tile in shared memory, mapped by the border: ROWS rows of CHUNKS vectors of 16 bytes, PITCH bytes apart; from
 * and above: the column and the row of its first byte, `from` a multiple of 16. */
template<int CHUNKS, int ROWS, int PITCH, int THREADS> __device__ __forceinline__ void
fill_tile (const TileSource &s, int from, int above, uint8_t *tile)
{
  constexpr int at_once = THREADS / CHUNKS; /* rows */
  const int first = (int) threadIdx.x / CHUNKS, chunk = (int) threadIdx.x % CHUNKS, at = from + 16 * chunk;
  const bool inside = at >= 0 && at + 16 <= s.bytes, is_edge = from < 0 || from + 16 * CHUNKS > s.bytes;
  const GlobalBytes column (s.in + (inside ? at : 0));
  uint8_t *to = tile + first * PITCH + 16 * chunk;

  if (s.border == CF_BORDER_REPLICATE || (above >= 0 && above + ROWS <= s.height)) {
    if (inside && first < at_once)
#pragma unroll
      for (int i = 0; i < (ROWS + at_once - 1) / at_once; i++)
        if (first + i * at_once < ROWS)
          __pipeline_memcpy_async (to + i * at_once * PITCH,
              column.row (min (max (above + first + i * at_once, 0), s.height - 1), s.pitch), 16);
  } else if (first < at_once)
#pragma unroll 1
    for (int r = first; r < ROWS; r += at_once, to += at_once * PITCH) {
      const int y = image_row (s.border, above + r, s.height);

      if (y < 0)
        *(uint4 *) to = make_uint4 (s.outside, s.outside, s.outside, s.outside);
      else if (inside)
        __pipeline_memcpy_async (to, column.row (y, s.pitch), 16);
    }
  __pipeline_commit ();
  if (is_edge && !s.clamps)
    map_in_tile<CHUNKS, ROWS, PITCH, THREADS> (s, from, above, tile);
  __pipeline_wait_prior (0);
  __syncthreads ();
  if (is_edge && s.clamps) {
    repeat_in_tile<CHUNKS, ROWS, PITCH, THREADS> (s, from, tile);
    __syncthreads ();
  }
}

/* Returns true if the device holds all blocks of a launch at once, `per_sm` on an SM. Such launches have variants with
 * fewer blocks on an SM and more registers for each, so that nothing is spilled; larger frames need the blocks more. */
static inline bool
fits_at_once (const Work &work, int blocks, int per_sm)
{
  return blocks <= per_sm * work.sms;
}

} // namespace cf

#endif
