/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve/cpu/tile.c: one task of the convolution on the CPU, a rectangle of
 * outputs. Rows stream by: each row of samples is fetched once (with its
 * borders, as plain numbers) into a ring, what the path wants of it is made
 * once into another, and as soon as a window is complete a row of outputs
 * leaves. */
#include "fast_fir.h"

#include <stdlib.h>
#include <string.h>

/* ---- scratch memory ------------------------------------------------------ */

/* Whole cache lines, and not a whole number of pages. */
static size_t
padded (size_t bytes)
{
  bytes = (bytes + CF_ROW_SLACK + 63) & ~(size_t) 63;
  return bytes % 4096 ? bytes : bytes + 64;
}

static void *
take (uint8_t **scratch, size_t bytes)
{
  uint8_t *taken = *scratch;

  *scratch += padded (bytes);
  return taken;
}

static Ring
take_ring (uint8_t **scratch, int rows, size_t bytes)
{
  Ring ring = { .data = *scratch, .pitch = padded (bytes), .rows = rows };

  *scratch += ring.pitch * (size_t) rows;
  return ring;
}

#define RING_BUDGET (512 << 10)     /* bytes */
#define FEW_COLUMNS 7               /* what a box adds up without levels */
#define FAST_ROW (CF_TILE_FAST + 64 + 4 * CF_CONVOLVE_MAX + 16) /* samples: columns are whole 64s, of 3 channels too */
#define FAST_ROWS 350               /* 27 streams of 11, a batch, rows of samples */
#define BOX_LEVELS 6 /* 2^6 is more than any width */
#define MAX_TAPS (CF_CONVOLVE_MAX * (CF_CONVOLVE_MAX + 1))

size_t
cf_convolve_scratch (int samples, int bytes)
{
  size_t n = (size_t) samples, rows = CF_CONVOLVE_MAX + 1;
  size_t rings = rows * padded (n * (size_t) bytes) + 2 * rows * padded (4 * n);
  size_t short_n = n < FAST_ROW ? n : FAST_ROW, fast_rings = FAST_ROWS * padded (4 * short_n);

  return (rings > fast_rings ? rings : fast_rings) + 6 * padded (4 * n) + padded (8 * n) +
      padded (2 * n) + padded (sizeof (CfTap) * MAX_TAPS) + padded (sizeof (CfPairTap) * MAX_TAPS / 2);
}

/* Rows of input that one of output (two, in paths of pairs) needs at once. */
static int
span (const Tile *tile)
{
  int h = tile->path == CF_PATH_COPY ? 1 : tile->m->c.h;

  if (tile->path == CF_PATH_FAST)
    return cf_fast_span (tile->m);
  return tile->m->paired ? h / 2 * 2 + 2 : h;
}

static bool
is_box (const Tile *tile)
{
  return tile->path == CF_PATH_BOX || tile->path == CF_PATH_BOX_16 || tile->path == CF_PATH_BOX_SCAN;
}

/* Short rings stay in the cache: none is longer than what looks back at it.
 * Returns the bytes of the rings. */
static size_t
lay_out (Tile *tile, uint8_t *scratch)
{
  const uint8_t *begin = scratch;
  size_t n = (size_t) tile->n_in;
  int rows = span (tile), x = rows, a = tile->m->paired ? rows / 2 : rows, b = rows / 2;
  size_t a_bytes = 4, size;

  switch (tile->path) {
    case CF_PATH_BOX:
    case CF_PATH_BOX_16:
      x = rows + 1; /* the row that leaves, too */
      a = BOX_LEVELS;
      break;
    case CF_PATH_BOX_SCAN:
      x = rows + 1;
      a = 1;
      break;
    case CF_PATH_FAST:
      cf_fast_rings (tile->m, &x, &a, &b);
      break;
    case CF_PATH_ROWS_PAIRS:
      a = 2;
      /* fall through */
    case CF_PATH_ROWS_16:
      a_bytes = 2;
      /* fall through */
    case CF_PATH_ROWS_BYTES:
    case CF_PATH_ROWS_32:
    case CF_PATH_ROWS_SPLIT:
    case CF_PATH_ROWS_64:
      x = tile->m->c.op == CF_CONVOLVE_UNSHARP ? rows : 1;
      break;
    default:
      break;
  }
  tile->x = take_ring (&scratch, x, n * (size_t) (tile->t + 1));
  tile->a = take_ring (&scratch, a, a_bytes * n);
  tile->b = take_ring (&scratch, b, 4 * n);
  size = (size_t) (scratch - begin);
  for (int i = 0; i < 2; i++) {
    tile->s[i] = take (&scratch, 4 * n);
    tile->upper[i] = take (&scratch, 4 * n);
    tile->high[i] = take (&scratch, 4 * n);
  }
  tile->wide = take (&scratch, 8 * n);
  tile->out = take (&scratch, 2 * n);
  tile->taps = take (&scratch, sizeof (CfTap) * MAX_TAPS);
  tile->pair_taps = take (&scratch, sizeof (CfPairTap) * MAX_TAPS / 2);
  return size;
}

/* As wide as leaves the rings in the second level of cache, and as there is
 * scratch memory for: that is for CF_TILE samples of the largest kernel. */
int
cf_convolve_widest (const CfConvolveCpu *m, const CfConvolvePart *part)
{
  Tile tile = { .m = m, .part = part, .path = m->path[part->kind], .t = m->in[part->view].bytes - 1 };
  int beside = (m->c.w - 1) * part->channels;
  int least = tile.path == CF_PATH_FAST ? CF_TILE_FAST : CF_TILE;
  size_t ring;

  for (int n = CF_TILE_WIDEST; n > least; n /= 2) {
    tile.n_in = n + 64 * part->channels + beside;
    ring = lay_out (&tile, m->scratch);
    if (ring <= RING_BUDGET && (uint8_t *) tile.pair_taps + padded (sizeof (CfPairTap) * MAX_TAPS / 2) <=
        m->scratch + m->scratch_size)
      return n;
  }
  return least;
}

/* ---- rounding ------------------------------------------------------------ */

/* The inputs below outputs 0 .. n - 1 of row o of the task. */
static const void *
centre (const Tile *tile, int o)
{
  const CfConvolution *c = &tile->m->c;

  return (uint8_t *) ring_row (&tile->x, o + c->ay) + (size_t) (c->ax * tile->channels) * (size_t) (tile->t + 1);
}

static void
finish64 (const Tile *tile, int o, const int64_t *s)
{
  const CfConvolveSimd *simd = tile->m->simd;
  void *out = cf_tile_target (tile, tile->y0 + o);

  if (tile->m->c.op == CF_CONVOLVE_UNSHARP)
    simd->unsharp64[tile->t] (s, centre (tile, o), tile->n, tile->rounding, out);
  else
    simd->round64[tile->t] (s, tile->n, tile->rounding, out);
  cf_tile_store (tile, tile->y0 + o, out);
}

static void
finish32 (const Tile *tile, int o, const int32_t *s)
{
  const CfConvolveSimd *simd = tile->m->simd;
  void *out;

  if (!tile->m->narrow[tile->part->kind]) {
    simd->widen (s, tile->n, tile->wide);
    finish64 (tile, o, tile->wide);
    return;
  }
  out = cf_tile_target (tile, tile->y0 + o);
  if (tile->m->c.op == CF_CONVOLVE_UNSHARP && tile->rounding->is_part)
    simd->unsharp_part[tile->t] (s, centre (tile, o), tile->n, tile->rounding, out);
  else if (tile->m->c.op == CF_CONVOLVE_UNSHARP)
    simd->unsharp32 (s, centre (tile, o), tile->n, tile->rounding, out);
  else
    simd->round32[tile->t] (s, tile->n, tile->rounding, out);
  cf_tile_store (tile, tile->y0 + o, out);
}

/* ---- the paths: what is made of row i, and row o of outputs -------------- */

static int
list_taps (const Tile *tile, const Ring *ring, int o, size_t bytes)
{
  const CfConvolveCpu *m = tile->m;

  for (int k = 0; k < m->n_taps; k++)
    tile->taps[k] = (CfTap) {
      .at = (uint8_t *) ring_row (ring, o + m->taps[k].j) + (size_t) (m->taps[k].i * tile->channels) * bytes,
      .weight = m->taps[k].weight[0],
    };
  return m->n_taps;
}

static int
list_pair_taps (const Tile *tile, const Ring *ring, int o, const CfConvolveTap *taps, int n)
{
  for (int k = 0; k < n; k++)
    tile->pair_taps[k] = (CfPairTap) {
      .at = (uint32_t *) ring_row (ring, o / 2 + taps[k].j) + taps[k].i * tile->channels,
      .weight = { taps[k].weight[0], taps[k].weight[1] },
    };
  return n;
}

/* The sums of one of two groups of taps, for rows o and o + 1. */
static void
products_of_group (const Tile *tile, int o, int group, int32_t *const s[2])
{
  const CfConvolveCpu *m = tile->m;
  bool two = m->n_groups == 2;
  int from = group ? m->second[0] : 0, to = two && !group ? m->second[0] : m->n_taps;
  int high_from = group ? m->second[1] : 0, high_to = two && !group ? m->second[1] : m->n_high;

  if (m->n_high) {
    list_pair_taps (tile, &tile->a, o, m->high + high_from, high_to - high_from);
    m->simd->products (tile->pair_taps, high_to - high_from, tile->n, 0, NULL, tile->high);
  }
  list_pair_taps (tile, &tile->a, o, m->taps + from, to - from);
  m->simd->products (tile->pair_taps, to - from, tile->n, 0, m->n_high ? tile->high : NULL, s);
}

static void
make_groups (const Tile *tile, int o)
{
  const CfConvolveCpu *m = tile->m;
  int32_t *const *upper = m->n_groups == 2 ? tile->upper : tile->s;

  products_of_group (tile, o, 0, tile->s);
  if (m->n_groups == 2)
    products_of_group (tile, o, 1, tile->upper);
  for (int i = 0; i < 2 && o + i < tile->rows; i++) {
    m->simd->combine (upper[i], tile->s[i], tile->n, m->n_groups - 1, m->more, tile->wide);
    finish64 (tile, o + i, tile->wide);
  }
}

/* The sums of the pairs in a ring, for rows o and o + 1; without s the rows of
 * outputs themselves. */
static void
products (const Tile *tile, const Ring *ring, int o, int32_t *const s[2])
{
  const CfConvolveCpu *m = tile->m;
  int32_t *const *high = m->n_high ? tile->high : NULL;
  int n_taps, y = tile->y0 + o;
  CfKeep keep[2];
  uint8_t *out[2];

  if (m->n_high) {
    n_taps = list_pair_taps (tile, ring, o, m->high, m->n_high);
    m->simd->products (tile->pair_taps, n_taps, tile->n, 0, NULL, tile->high);
  }
  n_taps = list_pair_taps (tile, ring, o, m->taps, m->n_taps);
  if (s) {
    m->simd->products (tile->pair_taps, n_taps, tile->n, m->start, high, s);
    return;
  }
  for (int i = 0; i < 2; i++) {
    bool is_row = o + i < tile->rows; /* else it goes nowhere */

    keep[i] = is_row ? cf_tile_kept (tile, y + i) : (CfKeep) { .from = keep[0].from };
    out[i] = is_row ? cf_tile_target (tile, y + i) : (uint8_t *) tile->high[0];
    /* two rows that are not in the picture yet have one place each */
    if (i == 1 && out[1] == tile->out)
      out[1] = (uint8_t *) tile->s[1];
  }
  m->simd->products_out (tile->pair_taps, n_taps, tile->n, m->start, high, tile->rounding, keep, out);
  cf_tile_store (tile, y, out[0]);
  if (out[1] == (uint8_t *) tile->s[1])
    memcpy (tile->out, out[1], (size_t) tile->n);
  if (out[1] == (uint8_t *) tile->s[1])
    cf_tile_store (tile, y + 1, tile->out);
}

static void
add_row (const Tile *tile, const void *add, const void *sub)
{
  const CfConvolveCpu *m = tile->m;

  if (tile->path == CF_PATH_BOX_SCAN)
    m->simd->column16[tile->t] (add, sub, tile->n_in, (uint16_t *) ring_row (&tile->a, 0) + CF_BEFORE_SCAN);
  else if (m->n_narrow)
    m->simd->column16[tile->t] (add, sub, tile->n_in, ring_row (&tile->a, 0));
  else
    m->simd->column32[tile->t] (add, sub, tile->n_in, ring_row (&tile->a, 0));
}

static void
take_row (const Tile *tile, int i)
{
  const CfConvolveCpu *m = tile->m;
  const CfConvolveSimd *simd = m->simd;
  void *x = ring_row (&tile->x, i), *before = i % 2 ? ring_row (&tile->x, i - 1) : NULL; /* of a pair */
  int t = tile->t;

  cf_tile_fetch (tile, tile->y0 - (tile->path == CF_PATH_COPY ? 0 : m->c.ay) + i, x);
  switch (tile->path) {
    case CF_PATH_BOX:
    case CF_PATH_BOX_16:
    case CF_PATH_BOX_SCAN:
      add_row (tile, x, i >= m->c.h ? ring_row (&tile->x, i - m->c.h) : NULL);
      break;
    case CF_PATH_ROWS_16:
      (t ? simd->across16[1] : simd->across8) (x, m->c.w, tile->channels, m->row, m->even, tile->n,
          ring_row (&tile->a, i));
      break;
    case CF_PATH_ROWS_BYTES:
      simd->across_upper_lower (x, m->c.w, tile->channels, m->row, m->even, tile->n, ring_row (&tile->a, i));
      break;
    case CF_PATH_ROWS_PAIRS:
      simd->across16[t] (x, m->c.w, tile->channels, m->row, m->even, tile->n, ring_row (&tile->a, i));
      if (before)
        simd->pair[1] (ring_row (&tile->a, i - 1), ring_row (&tile->a, i), tile->n, ring_row (&tile->b, i / 2),
            m->minus);
      break;
    case CF_PATH_ROWS_SPLIT:
      simd->across_words (x, m->c.w, tile->channels, m->row, 0, tile->n, tile->s[i % 2]);
      if (before)
        simd->split_pairs (tile->s[0], tile->s[1], tile->n, ring_row (&tile->a, i / 2), ring_row (&tile->b, i / 2));
      break;
    case CF_PATH_ROWS_32:
      if (m->words) {
        simd->across_words (x, m->c.w, tile->channels, m->row, m->words_start, tile->n, ring_row (&tile->a, i));
        break;
      }
      /* fall through */
    case CF_PATH_ROWS_64:
      simd->across32[t] (x, m->c.w, tile->channels, m->row, m->even, tile->n, ring_row (&tile->a, i));
      break;
    case CF_PATH_FAST:
      cf_fast_take (tile, i, x);
      break;
    case CF_PATH_PAIRS:
    case CF_PATH_GROUPS:
      if (before)
        simd->pair[t] (before, x, tile->n_in, ring_row (&tile->a, i / 2), m->minus);
      break;
    case CF_PATH_SPLIT:
      if (before)
        simd->pair_bytes (before, x, tile->n_in, ring_row (&tile->a, i / 2), ring_row (&tile->b, i / 2));
      break;
    default:
      break;
  }
}

static void
make_magnitude (const Tile *tile, int o)
{
  const CfConvolution *c = &tile->m->c;
  const void *row[3] = { ring_row (&tile->x, o), ring_row (&tile->x, o + 1), ring_row (&tile->x, o + 2) };
  int m = abs (c->weights[0]), middle = abs (c->weights[3]); /* flip turns the signs, which squares forget */
  int32_t *r = tile->s[0];

  tile->m->simd->gradient[tile->t] (row, tile->channels, tile->n, m, middle, ring_row (&tile->a, 0), r);
  if (tile->m->narrow[tile->part->kind]) {
    for (int i = 0; c->factor != 1 && i < tile->n; i++)
      r[i] *= (int32_t) c->factor;
    finish32 (tile, o, r);
    return;
  }
  tile->m->simd->widen (r, tile->n, tile->wide);
  for (int i = 0; i < tile->n; i++)
    tile->wide[i] *= c->factor;
  finish64 (tile, o, tile->wide);
}

/* The sums of `n` rows as samples. */
static void
finish16 (const Tile *tile, int o, const CfTap *rows, int n)
{
  CfKeep keep = cf_tile_kept (tile, tile->y0 + o);
  void *out = cf_tile_target (tile, tile->y0 + o);

  if (tile->m->c.op == CF_CONVOLVE_UNSHARP)
    tile->m->simd->sharpen8 (rows, n, tile->n, tile->rounding, centre (tile, o), &keep, out);
  else if (tile->path == CF_PATH_ROWS_16 && tile->t == 0)
    tile->m->simd->down8 (rows, n, tile->n, tile->rounding, &keep, out);
  else
    tile->m->simd->down16[tile->t] (rows, n, tile->n, tile->rounding, &keep, out);
  cf_tile_store (tile, tile->y0 + o, out);
}

static void
finish_levels (const Tile *tile, int o, const CfTap *wide, int n)
{
  void *out = cf_tile_target (tile, tile->y0 + o);

  tile->m->simd->add_levels_out (wide, n, tile->n, tile->rounding, out);
  cf_tile_store (tile, tile->y0 + o, out);
}

/* The window is as many columns as the levels that w has in binary; of a few
 * columns each is taken by itself. */
static void
make_box (const Tile *tile, int o)
{
  const CfConvolveCpu *m = tile->m;
  CfTap narrow[FEW_COLUMNS > BOX_LEVELS ? FEW_COLUMNS : BOX_LEVELS];
  CfTap wide[FEW_COLUMNS > BOX_LEVELS ? FEW_COLUMNS : BOX_LEVELS];
  int n_narrow = 0, n_wide = 0, done = 0, w = m->c.w;

  if (tile->path == CF_PATH_BOX_16 && w <= FEW_COLUMNS) {
    for (; n_narrow < w; n_narrow++)
      narrow[n_narrow] = (CfTap) { (uint16_t *) ring_row (&tile->a, 0) + n_narrow * tile->channels, 1 };
    finish16 (tile, o, narrow, w);
    return;
  }
  if (tile->at_once && tile->path == CF_PATH_BOX && w <= FEW_COLUMNS) {
    for (; n_wide < w; n_wide++)
      wide[n_wide] = (CfTap) { (uint32_t *) ring_row (&tile->a, 0) + n_wide * tile->channels, 1 };
    finish_levels (tile, o, wide, w);
    return;
  }
  for (int level = 0; 1 << level <= w; level++) {
    const uint8_t *row = ring_row (&tile->a, level);
    int length = tile->n + (w - (1 << level)) * tile->channels, shift = (1 << level) / 2 * tile->channels;
    bool is_narrow = level < m->n_narrow;

    if (level > 0 && level <= m->n_narrow)
      m->simd->twice16 (ring_row (&tile->a, level - 1), shift, length, ring_row (&tile->a, level), !is_narrow);
    else if (level > 0)
      m->simd->twice32 (ring_row (&tile->a, level - 1), shift, length, ring_row (&tile->a, level));
    if (!(w >> level & 1))
      continue;
    row += (size_t) (done * tile->channels) * (is_narrow ? 2 : 4);
    if (is_narrow)
      narrow[n_narrow++] = (CfTap) { row, 1 };
    else
      wide[n_wide++] = (CfTap) { row, 1 };
    done += 1 << level;
  }
  if (tile->path == CF_PATH_BOX_16)
    finish16 (tile, o, narrow, n_narrow);
  else if (tile->at_once)
    finish_levels (tile, o, wide, n_wide);
  else {
    m->simd->add_levels (narrow, n_narrow, wide, n_wide, tile->n, tile->s[0]);
    finish32 (tile, o, tile->s[0]);
  }
}

static void
make_scan (const Tile *tile, int o)
{
  const CfConvolveCpu *m = tile->m;
  const uint16_t *column = (uint16_t *) ring_row (&tile->a, 0) + CF_BEFORE_SCAN;
  CfKeep keep = cf_tile_kept (tile, tile->y0 + o);
  uint8_t *out;

  if (!tile->at_once) {
    m->simd->scan (column, m->c.w, tile->channels, tile->n, tile->s[0]);
    finish32 (tile, o, tile->s[0]);
    return;
  }
  out = cf_tile_target (tile, tile->y0 + o);
  m->simd->scan_out (column, m->c.w, tile->channels, m->c.h * m->c.max, tile->n, tile->rounding, &keep,
      out);
  cf_tile_store (tile, tile->y0 + o, out);
}

static void
finish_halves (const Tile *tile, int o, int i)
{
  void *out = cf_tile_target (tile, tile->y0 + o);

  tile->m->simd->halves_out (tile->upper[i], tile->s[i], tile->n, tile->m->more, tile->rounding,
      tile->m->c.op == CF_CONVOLVE_UNSHARP ? centre (tile, o) : NULL, out);
  cf_tile_store (tile, tile->y0 + o, out);
}

/* Two rows of outputs, of which the task may have but one. */
static void
make_pair (const Tile *tile, int o)
{
  const CfConvolveCpu *m = tile->m;
  bool rows_split = tile->path == CF_PATH_ROWS_SPLIT, split = rows_split || tile->path == CF_PATH_SPLIT;

  products (tile, tile->path == CF_PATH_PAIRS || split ? &tile->a : &tile->b, o,
      split ? tile->upper : tile->at_once ? NULL : tile->s);
  if (tile->at_once)
    return;
  if (split)
    products (tile, &tile->b, o, tile->s);
  for (int i = 0; i < 2 && o + i < tile->rows; i++)
    if (rows_split && m->halves[tile->part->kind])
      finish_halves (tile, o + i, i);
    else if (split) {
      m->simd->combine (tile->upper[i], tile->s[i], tile->n, rows_split ? 1 << 16 : 1 << 8, rows_split ? m->more : 0,
          tile->wide);
      finish64 (tile, o + i, tile->wide);
    } else
      finish32 (tile, o + i, tile->s[i]);
}

static void
make_row (const Tile *tile, int o)
{
  const CfConvolveCpu *m = tile->m;
  const CfConvolveSimd *simd = m->simd;
  int32_t *s = tile->s[0];
  void *out;

  switch (tile->path) {
    case CF_PATH_COPY:
      out = cf_tile_target (tile, tile->y0 + o);
      memcpy (out, ring_row (&tile->x, o), (size_t) tile->n * (size_t) (tile->t + 1));
      cf_tile_store (tile, tile->y0 + o, out);
      break;
    case CF_PATH_BOX:
    case CF_PATH_BOX_16:
      make_box (tile, o);
      break;
    case CF_PATH_BOX_SCAN:
      make_scan (tile, o);
      break;
    case CF_PATH_MAGNITUDE:
      make_magnitude (tile, o);
      break;
    case CF_PATH_ROWS_16:
      finish16 (tile, o, tile->taps, list_taps (tile, &tile->a, o, 2));
      break;
    case CF_PATH_ROWS_BYTES:
      out = cf_tile_target (tile, tile->y0 + o);
      simd->down_upper_lower (tile->taps, list_taps (tile, &tile->a, o, 4), tile->n, tile->rounding,
          m->c.op == CF_CONVOLVE_UNSHARP ? centre (tile, o) : NULL, out);
      cf_tile_store (tile, tile->y0 + o, out);
      break;
    case CF_PATH_ROWS_32:
      if (tile->at_once) {
        out = cf_tile_target (tile, tile->y0 + o);
        simd->down32_out (tile->taps, list_taps (tile, &tile->a, o, 4), tile->n, tile->rounding, out);
        cf_tile_store (tile, tile->y0 + o, out);
        break;
      }
      simd->down32 (tile->taps, list_taps (tile, &tile->a, o, 4), tile->n, s);
      finish32 (tile, o, s);
      break;
    case CF_PATH_ROWS_64:
      simd->down64 (tile->taps, list_taps (tile, &tile->a, o, 4), tile->n, m->rows_signed, tile->wide);
      finish64 (tile, o, tile->wide);
      break;
    case CF_PATH_WIDE:
      simd->wide[tile->t] (tile->taps, list_taps (tile, &tile->x, o, (size_t) tile->t + 1), tile->n, tile->wide);
      finish64 (tile, o, tile->wide);
      break;
    case CF_PATH_GROUPS:
      make_groups (tile, o);
      break;
    case CF_PATH_FAST:
      cf_fast_sums (tile, o);
      for (int i = 0; i < cf_fast_batch (m) && o + i < tile->rows; i++)
        finish32 (tile, o + i, ring_row (&tile->b, i));
      break;
    default:
      make_pair (tile, o);
  }
}

/* ---- a task -------------------------------------------------------------- */

static void
copy_rows (const CfConvolveCpu *m, const CfConvolvePart *part, int y0, int y1)
{
  const CfView *in = &m->in[part->view], *out = &m->out[part->view];
  size_t step = (size_t) part->step * in->bytes;

  for (int y = y0; y < y1; y++) {
    const uint8_t *from = in->data + in->pitch * (size_t) y;
    uint8_t *to = out->data + out->pitch * (size_t) y;

    if (part->step == 1)
      memcpy (to, from, (size_t) part->width * part->channels * in->bytes);
    else
      for (int b = 0; b < in->bytes; b++)
        for (size_t x = 0; x < (size_t) part->width; x++)
          to[x * step + (size_t) b] = from[x * step + (size_t) b];
  }
}

static void
mid_rows (const CfConvolveCpu *m, const CfConvolvePart *part, int y0, int y1)
{
  const CfView *out = &m->out[part->view];
  int word = m->c.mid << out->shift, n = part->width * part->channels;

  for (int y = y0; y < y1; y++) {
    uint8_t *to = out->data + out->pitch * (size_t) y;

    if (part->step == 1)
      cf_tile_fill (to, out->bytes - 1, n, word);
    else if (out->bytes == 1)
      for (int x = 0; x < n; x++)
        to[x * part->step] = (uint8_t) word;
    else
      for (int x = 0; x < n; x++)
        ((uint16_t *) (void *) to)[x * part->step] = (uint16_t) word;
  }
}

/* Is what the path ends with one loop that rounds and stores? */
static bool
ends_at_once (const Tile *tile)
{
  const CfConvolveCpu *m = tile->m;
  bool narrow = m->c.op == CF_CONVOLVE_LINEAR && m->narrow[tile->part->kind];

  switch (tile->path) {
    case CF_PATH_BOX_16:
    case CF_PATH_ROWS_16:
      return true;
    case CF_PATH_BOX:
      return narrow && tile->t == 1 && !m->n_narrow;
    case CF_PATH_ROWS_32:
      return narrow && tile->t == 1;
    case CF_PATH_BOX_SCAN:
      return cf_scans_at_once (m, tile->part->kind);
    case CF_PATH_ROWS_PAIRS:
    case CF_PATH_PAIRS:
      return m->c.bits == 8 && narrow && cf_rounds_at_once (tile->rounding);
    default:
      return false;
  }
}

void
cf_convolve_task (const CfConvolveCpu *m, const CfConvolvePart *part, int task, uint8_t *scratch)
{
  int x0 = task % part->n_cols * part->cols, y0 = task / part->n_cols * part->rows, window;
  int y1 = y0 + part->rows < part->height ? y0 + part->rows : part->height;
  Tile tile = {
    .m = m, .part = part, .rounding = &m->rounding[part->kind], .path = m->path[part->kind],
    .t = m->in[part->view].bytes - 1, .channels = part->channels, .x0 = x0, .y0 = y0, .rows = y1 - y0,
    .cols = x0 + part->cols < part->width ? part->cols : part->width - x0,
  };

  if (part->fate == CF_FATE_COPY) {
    copy_rows (m, part, y0, y1);
    return;
  }
  if (part->fate == CF_FATE_MID) {
    mid_rows (m, part, y0, y1);
    return;
  }
  tile.n = tile.cols * tile.channels;
  tile.n_in = tile.path == CF_PATH_COPY ? tile.n : tile.n + (m->c.w - 1) * tile.channels;
  tile.at_once = ends_at_once (&tile);
  lay_out (&tile, scratch);
  if (is_box (&tile))
    memset (ring_row (&tile.a, 0), 0, (size_t) tile.n_in * 4 + CF_BEFORE_SCAN * 2);
  window = span (&tile);
  for (int i = 0, o = 0; o < tile.rows; i++) {
    take_row (&tile, i);
    if (i < o + window - 1)
      continue;
    make_row (&tile, o);
    o += tile.path == CF_PATH_FAST ? cf_fast_batch (m) : m->paired ? 2 : 1;
  }
}
