/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve/cpu/lanes.h: what goes by lanes of 16 bytes: separable kernels of 8 bit
 * all in 16 bits, and those of 16 bit by products of pairs. Included by
 * simd.c. */

/* ---- sums of 8 bit in 16 bits, by lanes ---------------------------------- */

#ifdef NO_BYTES
#define across_bytes across16_1
#define down_bytes down16_1
#define across16_bytes across16_1
#else
/* Where in two vectors, of what was interleaved from lanes' lower and upper halves, stands what comes first and last. */
static inline void
order_of_lanes (U8 *lower, U8 *upper)
{
  for (int i = 0; i < N8; i++) {
    (*lower)[i] = (uint64_t) (i / 4 * 2 + i % 2 + i / 2 % 2 * N8);
    (*upper)[i] = (*lower)[i] + N8 / 2;
  }
}

/* Can two neighbours' products be added in 15 bits, and all weights be signed bytes? */
static bool
are_bytes (const int32_t *c, int w)
{
  for (int i = 0; i < w; i++)
    if (c[i] > 127 || c[i] < -127 || (i + 1 < w && abs (c[i]) + abs (c[i + 1]) > 128))
      return false;
  return true;
}

static inline void
across_bytes_by (const uint8_t *x, int w, int step, const int32_t *c, bool bytes, int n, uint16_t *sums,
    bool in_order)
{
  U8 lower, upper;

  order_of_lanes (&lower, &upper);
  for (int p = 0; p < n; p += V_SIZE) {
    U2 low = { 0 }, high = { 0 }, zero = { 0 };
    int i = 0;

    for (; bytes && i + 1 < w; i += 2) {
      U4 a = *(const U4u *) (const void *) (x + p + i * step);
      U4 b = *(const U4u *) (const void *) (x + p + (i + 1) * step);
      U2 weight = (U2) { 0 } + (uint16_t) ((c[i] & 0xff) | (uint32_t) c[i + 1] << 8);

      low += multiply_bytes (interleave_low (a, b), weight);
      high += multiply_bytes (interleave_high (a, b), weight);
    }
    for (; i < w; i++) {
      U4 a = *(const U4u *) (const void *) (x + p + i * step);
      U2 weight = (U2) { 0 } + (uint16_t) c[i];

      low += interleave_low (a, zero) * weight;
      high += interleave_high (a, zero) * weight;
    }
    in_order = in_order && V_SIZE > 16;
    *(U2u *) (void *) (sums + p) = in_order ? (U2) __builtin_shuffle ((U8) low, (U8) high, lower) : low;
    *(U2u *) (void *) (sums + p + N2) = in_order ? (U2) __builtin_shuffle ((U8) low, (U8) high, upper) : high;
  }
}

static void
across_bytes (const void *row, int w, int step, const int32_t *c, bool even, int n, uint16_t *sums)
{
  (void) even;
  if (w == 3 && c[0] == 1 && c[1] == 2 && c[2] == 1)
    across_bytes_by (row, 3, step, (const int32_t[]) { 1, 2, 1 }, true, n, sums, false);
  else if (w == 5 && are_bytes (c, w))
    across_bytes_by (row, 5, step, c, true, n, sums, false);
  else
    across_bytes_by (row, w, step, c, are_bytes (c, w), n, sums, false);
}

/* As across16, for its order. */
static void
across16_bytes (const void *row, int w, int step, const int32_t *c, bool even, int n, uint16_t *sums)
{
  if (are_bytes (c, w) && w == 7)
    across_bytes_by (row, 7, step, c, true, n, sums, true);
  else if (are_bytes (c, w) && w > 3)
    across_bytes_by (row, w, step, c, true, n, sums, true);
  else
    across16_1 (row, w, step, c, even, n, sums);
}

static inline void
down_bytes_by (const CfTap *rows, int h, int n, const CfRounding *r, const uint8_t *x8, const CfKeep *keep,
    uint8_t *out, bool power, bool ties, CfWeights weights)
{
  U2 max = (U2) { 0 } + (uint16_t) r->max, d = (U2) { 0 } + (uint16_t) (r->d2 / 2);
  U2 magic = (U2) { 0 } + (uint16_t) r->magic16;
  int shift = x8 ? r->rest_log2 : power ? r->log2 - 1 : r->shift16;

  for (int p = 0; p < n; p += V_SIZE) {
    U2 s[2];
    U4 bytes;

    for (int v = 0; v < 2; v++)
      s[v] = (U2) { 0 } + (uint16_t) (x8 ? 0 : r->add / 2);
    for (int j = 0; j < h; j++) {
      const uint16_t *x = (const uint16_t *) rows[j].at + p;
      U2 weight = (U2) { 0 } + (uint16_t) (weights == ONE_TWO_ONE ? 1 + j % 2 : rows[j].weight);

      for (int v = 0; v < 2; v++)
        s[v] += *(const U2u *) (const void *) (x + v * N2) * weight;
    }
    for (int v = 0; v < 2 && !x8; v++) {
      U2 q = (power ? s[v] : multiply_high (s[v], magic)) >> shift;

      if (ties)
        q -= q & 1 & (U2) (q * d == s[v]);
      s[v] = weights == ANY ? minimum2 (q, max) : q;
    }
    if (x8) {
      U4 x = *(const U4u *) (const void *) (x8 + p);
      uint16_t part = (uint16_t) r->part, rest = (uint16_t) r->rest16;

      s[0] = interleave_low (x, (U2) { 0 }) * (uint16_t) (part + 1) - ((s[0] * part + rest) >> shift);
      s[1] = interleave_high (x, (U2) { 0 }) * (uint16_t) (part + 1) - ((s[1] * part + rest) >> shift);
    }
    bytes = pack_bytes (s[0], s[1]);
    if (n - p < V_SIZE) {
      uint8_t block[V_SIZE];

      memcpy (block, &bytes, V_SIZE);
      store_rest_1 (out + p, block, n - p, keep, p);
      return;
    }
    if (keep->bytes)
      bytes = (bytes & ~keep->bytes) | (*(const U4u *) (const void *) (keep->from + p) & keep->bytes);
    *(U4u *) (void *) (out + p) = bytes;
  }
}

static void
down_bytes (const CfTap *rows, int h, int n, const CfRounding *r, const CfKeep *keep, void *out)
{
  bool binomial = h == 3 && rows[0].weight == 1 && rows[1].weight == 2 && rows[2].weight == 1;

  if (r->ties)
    down_bytes_by (rows, h, n, r, NULL, keep, out, r->log2 >= 0, true, ANY);
  else if (r->log2 > 1 && binomial)
    down_bytes_by (rows, 3, n, r, NULL, keep, out, true, false, ONE_TWO_ONE);
  else if (r->log2 >= 0 && h == 5)
    down_bytes_by (rows, 5, n, r, NULL, keep, out, true, false, ANY);
  else
    down_bytes_by (rows, h, n, r, NULL, keep, out, r->log2 >= 0, false, ANY);
}

static void
sharpen_bytes (const CfTap *rows, int h, int n, const CfRounding *r, const uint8_t *x, const CfKeep *keep, uint8_t *out)
{
  if (h == 3 && rows[0].weight == 1 && rows[1].weight == 2 && rows[2].weight == 1)
    down_bytes_by (rows, 3, n, r, x, keep, out, true, false, ONE_TWO_ONE);
  else if (h == 5)
    down_bytes_by (rows, 5, n, r, x, keep, out, true, false, ANY);
  else
    down_bytes_by (rows, h, n, r, x, keep, out, true, false, ANY);
}
#endif

/* ---- separable, of words: products of pairs across as well -------------- */

#ifndef NO_BYTES
static inline void
across_words_by (const uint16_t *x, int w, int step, const int32_t *c, int32_t start, int n, int32_t *sums)
{
  U2 flip = (U2) { 0 } + 0x8000, zero = { 0 };
  U8 lower, upper;

  order_of_lanes (&lower, &upper);
  for (int p = 0; p < n; p += N2) {
    U4 low = (U4) { 0 } + (uint32_t) start, high = low;

    for (int i = 0; i < w; i += 2) {
      U2 a = *(const U2u *) (const void *) (x + p + i * step) ^ flip;
      U2 b = i + 1 < w ? (U2) (*(const U2u *) (const void *) (x + p + (i + 1) * step) ^ flip) : zero;
      U4 weight = (U4) { 0 } + ((uint32_t) (uint16_t) c[i] | (i + 1 < w ? (uint32_t) c[i + 1] << 16 : 0));

      low += multiply_pairs (words_low (a, b), weight);
      high += multiply_pairs (words_high (a, b), weight);
    }
    *(U4u *) (void *) (sums + p) = (U4) (V_SIZE == 16 ? (U8) low : __builtin_shuffle ((U8) low, (U8) high, lower));
    *(U4u *) (void *) (sums + p + N4) =
        (U4) (V_SIZE == 16 ? (U8) high : __builtin_shuffle ((U8) low, (U8) high, upper));
  }
}

static void
across_words (const uint16_t *x, int w, int step, const int32_t *c, int32_t start, int n, int32_t *sums)
{
  if (w == 3)
    across_words_by (x, 3, step, c, start, n, sums);
  else if (w == 5)
    across_words_by (x, 5, step, c, start, n, sums);
  else
    across_words_by (x, w, step, c, start, n, sums);
}

static void
split_pairs (const int32_t *restrict a, const int32_t *restrict b, int n, uint32_t *restrict upper,
    uint32_t *restrict lower)
{
  for (int i = 0; i < n; i++) {
    uint32_t first = (uint32_t) a[i], second = (uint32_t) b[i];

    upper[i] = first >> 16 | (second & 0xffff0000u);
    lower[i] = ((first & 0xffff) | second << 16) ^ 0x80008000u;
  }
}

/* What stands below 2^16 only carries. */
static void
halves_out (const int32_t *upper, const int32_t *lower, int n, int64_t more, const CfRounding *r, const uint16_t *x,
    uint16_t *out)
{
  int64_t all = more + r->rest_halves;
  uint32_t above = (uint32_t) (all >> 16), below = (uint32_t) (all & 0xffff);
  U2 max = (U2) { 0 } + (uint16_t) r->max;

  for (int p = 0; p < n; p += N2) {
    uint16_t block[N2], *to = n - p < N2 ? block : out + p;
    U4 q[2];

    for (int v = 0; v < 2; v++) {
      U4 low = *(const U4u *) (const void *) (lower + p + v * N4);

      q[v] = *(const U4u *) (const void *) (upper + p + v * N4) + above + (U4) ((S4) low >> 16);
      q[v] = (q[v] + (((low & 0xffff) + below) >> 16)) >> (r->log2_halves - 16);
      if (x)
        q[v] = 2 * load4_2 (x + p + v * N4) - q[v];
    }
    *(U2u *) (void *) to = saturate2 ((S4) q[0], (S4) q[1], max);
    if (to == block)
      memcpy (out + p, block, (size_t) (n - p) * sizeof *out);
  }
}
#endif

/* ---- separable, 16 bit: bytes of samples, all in 16 bits ------------------ */

static inline void
across_upper_lower_by (const uint16_t *x, int w, int step, const int32_t *c, bool even, int n, uint16_t *sums)
{
  int half = even ? w / 2 : 0;

  for (int p = 0; p < n; p += N2) {
    U2 upper = { 0 }, lower = { 0 };

    for (int i = 0; i < w - half; i++) {
      U2 a = *(const U2u *) (const void *) (x + p + i * step), high = a >> 8, low = a & 255;
      U2 weight = (U2) { 0 } + (uint16_t) c[i];

      if (i < half) {
        U2 b = *(const U2u *) (const void *) (x + p + (w - 1 - i) * step);

        high += b >> 8;
        low += b & 255;
      }
      upper += high * weight;
      lower += low * weight;
    }
    *(U2u *) (void *) (sums + 2 * p) = upper;
    *(U2u *) (void *) (sums + 2 * p + N2) = lower;
  }
}

static void
across_upper_lower (const uint16_t *x, int w, int step, const int32_t *c, bool even, int n, uint16_t *sums)
{
  if (even && w == 3 && c[0] == 1 && c[1] == 2)
    across_upper_lower_by (x, 3, step, (const int32_t[]) { 1, 2, 1 }, true, n, sums);
  else if (even && w == 5)
    across_upper_lower_by (x, 5, step, c, true, n, sums);
  else
    across_upper_lower_by (x, w, step, c, even, n, sums);
}

static inline __attribute__ ((always_inline)) void
down_upper_lower_by (const CfTap *rows, int h, int half, int n, const CfRounding *r, const uint16_t *x, uint16_t *out,
    CfWeights weights)
{
  const uint16_t *at[CF_CONVOLVE_MAX]; /* no store to `out` changes these */
  uint16_t weight_of[CF_CONVOLVE_MAX];
  U2 rest = (U2) { 0 } + (uint16_t) r->rest_bytes;
  int down = r->log2_bytes;

  for (int j = 0; j < h; j++) {
    at[j] = rows[j].at;
    weight_of[j] = (uint16_t) (weights == ONE_TWO_ONE ? 1 + j % 2 : rows[j].weight);
  }
  for (int p = 0; p < n; p += N2) {
    U2 upper = { 0 }, lower = rest, q;

    for (int j = 0; j < h - half; j++) {
      const U2u *a = (const void *) (at[j] + 2 * p);
      U2 weight = (U2) { 0 } + weight_of[j];
      U2 high = a[0], low = a[1];

      if (j < half) {
        const U2u *b = (const void *) (at[h - 1 - j] + 2 * p);

        high += b[0];
        low += b[1];
      }
      upper += high * weight;
      lower += low * weight;
    }
    q = (upper << (8 - down)) + (lower >> down);
    if (x) {
      U2 in = *(const U2u *) (const void *) (x + p), least = minimum2 (in, q), more = in - least;

      /* what is above is added as far as it goes, what is below taken off */
      in += minimum2 (more, ~in);
      q -= least;
      q = in - minimum2 (in, q);
    }
    if (n - p < N2) {
      uint16_t block[N2];

      *(U2u *) (void *) block = q;
      memcpy (out + p, block, (size_t) (n - p) * sizeof *out);
      return;
    }
    *(U2u *) (void *) (out + p) = q;
  }
}

static void
down_upper_lower (const CfTap *rows, int h, int n, const CfRounding *r, const uint16_t *x, uint16_t *out)
{
  int half = same_rows (rows, h);

  if (h == 3 && half && rows[0].weight == 1 && rows[1].weight == 2 && !x)
    down_upper_lower_by (rows, 3, 1, n, r, NULL, out, ONE_TWO_ONE);
  else if (h == 5 && half && !x)
    down_upper_lower_by (rows, 5, 2, n, r, NULL, out, ANY);
  else if (h == 5 && half)
    down_upper_lower_by (rows, 5, 2, n, r, x, out, ANY);
  else
    down_upper_lower_by (rows, h, half, n, r, x, out, ANY);
}
