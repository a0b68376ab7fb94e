/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/tile.c: one task of the convolution on the CPU, a rectangle of outputs. Rows stream through: each row
 * of samples is fetched once (with its borders, as plain numbers) into a ring, the path makes pairs, columns or sums
 * of it once into another ring, and as soon as a window is complete a row of outputs is made and stored. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Samples in a row of a task: the first, or the second for CF_PATH_FAST. Smaller kernels get wider tasks, up to
 * TILE_WIDTH_MAX: longer runs of consecutive addresses in the image. */
#define TILE_WIDTH 2048
#define TILE_WIDTH_FAST 512
#define TILE_WIDTH_MAX 8192

/* Data of the last `rows` rows; `pitch` in bytes. */
typedef struct {
  uint8_t *data;
  size_t pitch;
  int rows;
} Ring;

/* The rectangle of outputs that a task makes. */
typedef struct {
  const CfConvolveCpu *m;
  const CfConvolvePart *part;
  const CfRounding *rounding;
  CfConvolvePath path;
  int type;      /* of samples: 0 uint8_t, 1 uint16_t */
  bool fused;    /* the loop that makes the last sums also rounds and blends them */
  bool in_place; /* outputs need no further step, so that they are written to the output image */
  int channels;
  int x0, y0, rows; /* the rectangle of outputs, in pixels */
  int cols;
  int n, n_in;        /* samples in a row of outputs, in a row of inputs */
  int before, inside; /* pixels of a row of inputs beyond the image's left side, and inside the image */
  bool direct;        /* rows need no conversion and no border but copies: a box sums columns out of the image */
  uint8_t *columns;   /* box: sums of columns, of 16 bits if columns16, else of 32 */
  Ring x;             /* rows of inputs */
  Ring a, b;          /* what the path makes of them: pairs, columns or sums */
  CfTap *taps;
  int32_t *s[2], *upper[2], *high[2]; /* sums of two rows of outputs */
  int64_t *wide;                      /* sums of one row */
  uint8_t *out;                       /* n samples of one row */
} Tile;

static void *
ring_row (const Ring *ring, int i)
{
  return ring->data + ring->pitch * (size_t) (i % ring->rows);
}

/* ---- samples: from the input image, with borders, into the output image -- */

/* Sets n samples of a type to a value. */
static void
fill (void *row, int type, int n, int value)
{
  if (type == 0)
    memset (row, value, (size_t) n);
  else
    for (int i = 0; i < n; i++)
      ((uint16_t *) row)[i] = (uint16_t) value;
}

/* Converts n samples of R, G and B, planes of 16-bit words, to gray. */
static void
gray_words (const uint8_t *const from[3], const CfView *view, bool luma, int n, uint16_t *row)
{
  const uint16_t *r = (const void *) from[0], *g = (const void *) from[1], *b = (const void *) from[2];
  const uint32_t max = (1u << view->bits) - 1;

  for (int i = 0; i < n; i++) {
    const uint32_t v[3] = { r[i] < max ? r[i] : max, g[i] < max ? g[i] : max, b[i] < max ? b[i] : max };

    row[i] = (uint16_t) (luma ? (77 * v[0] + 150 * v[1] + 29 * v[2] + 128) >> 8 : (v[0] + v[1] + v[2]) / 3);
  }
}

/* Fetches pixels x .. x + n - 1 of row y, which all lie inside the image. */
static void
fetch_inside (const Tile *tile, int x, int y, int n, uint8_t *row)
{
  const CfConvolvePart *part = tile->part;
  const CfView *view = &tile->m->in[part->view];
  size_t at = view->pitch * (size_t) y + (size_t) x * part->pixel_step * view->bytes;
  int max = tile->m->c.max;

  if (part->action == CF_ACTION_GRAY) {
    const uint8_t *from[3];
    const CfView *all = tile->m->in;
    int found = 0;

    for (int i = part->view; found < 3; i++)
      if (all[i].field == view->field)
        from[found++] = all[i].data + all[i].pitch * (size_t) y + (size_t) x * part->pixel_step * view->bytes;
    if (tile->type == 1)
      gray_words (from, view, tile->m->c.gray == CF_GRAY_LUMA, n, (uint16_t *) (void *) row);
    else
      tile->m->simd->gray (from, part->pixel_step, n, row, tile->m->c.gray == CF_GRAY_LUMA);
  } else if (part->step == 1 && view->bits == 8 * view->bytes)
    memcpy (row, view->data + at, (size_t) n * part->channels * view->bytes);
  else
    tile->m->simd->gather[tile->type](view->data + at, part->step, n * part->channels, row, view->shift, max);
}

/* Copies a pixel of `size` bytes to n pixels at `to`. */
static void
repeat_pixel (const uint8_t *pixel, size_t size, int n, uint8_t *to)
{
  if (size == 1)
    memset (to, *pixel, (size_t) n);
  else if (size == 2)
    fill (to, 1, n, *(const uint16_t *) (const void *) pixel);
  else if (size == 4)
    for (int i = 0; i < n; i++)
      memcpy (to + 4 * i, pixel, 4);
  else
    for (int i = 0; i < n; i++)
      memcpy (to + size * (size_t) i, pixel, size);
}

/* Copies the outermost of the pixels inside the image to those beyond it. */
static void
repeat_sides (const Tile *tile, size_t size, uint8_t *row)
{
  uint8_t *inside = row + size * (size_t) tile->before, *end = inside + size * (size_t) tile->inside;

  repeat_pixel (inside, size, tile->before, row);
  repeat_pixel (end - size, size, tile->n_in / tile->channels - tile->before - tile->inside, end);
}

/* Fetches n_in samples of row y, which may lie outside the image, as plain numbers, with the kernel's margins on both
 * sides. */
static void
fetch (const Tile *tile, int y, uint8_t *row)
{
  const CfConvolution *c = &tile->m->c;
  const CfConvolvePart *part = tile->part;
  int left = tile->x0 - c->ax, n = tile->n_in / tile->channels, end = tile->before + tile->inside;
  size_t pixel = (size_t) tile->channels * (size_t) (tile->type + 1);

  y = cf_border_map (c->border, y, part->height);
  if (y < 0) {
    fill (row, tile->type, n * tile->channels, c->outside[part->kind]);
    return;
  }
  fetch_inside (tile, left + tile->before, y, tile->inside, row + (size_t) tile->before * pixel);
  if (c->border == CF_BORDER_REPLICATE) {
    repeat_sides (tile, pixel, row);
    return;
  }
  for (int i = 0; i < n; i++) {
    int from;

    if (i == tile->before) /* skip the pixels that fetch_inside has fetched */
      i = end;
    if (i >= n)
      break;
    from = cf_border_map (c->border, left + i, part->width);
    if (from < 0)
      fill (row + (size_t) i * pixel, tile->type, tile->channels, c->outside[part->kind]);
    else if (from - left >= tile->before && from - left < end)
      repeat_pixel (row + (size_t) (from - left) * pixel, pixel, 1, row + (size_t) i * pixel);
    else
      fetch_inside (tile, from, y, 1, row + (size_t) i * pixel);
  }
}

/* Returns row i of the inputs in the image, from its first pixel inside on. */
static const uint8_t *
direct_row (const Tile *tile, int i)
{
  const CfConvolution *c = &tile->m->c;
  const CfView *view = &tile->m->in[tile->part->view];
  const int y = cf_border_map (CF_BORDER_REPLICATE, tile->y0 - c->ay + i, tile->part->height);

  return view->data + view->pitch * (size_t) y +
      (size_t) (tile->x0 - c->ax + tile->before) * tile->part->pixel_step * view->bytes;
}

/* Box: adds row i of the inputs to the columns and subtracts the row that leaves the window. */
static void
add_row (const Tile *tile, int i)
{
  const CfConvolveCpu *m = tile->m;
  const size_t pixel = (size_t) tile->channels * (m->columns16 ? 2 : 4);
  const bool leaves = i >= m->c.h;
  const void *add, *sub = NULL;
  uint8_t *columns = tile->columns;
  int n = tile->n_in;

  if (tile->direct) {
    add = direct_row (tile, i);
    if (leaves)
      sub = direct_row (tile, i - m->c.h);
    columns += pixel * (size_t) tile->before;
    n = tile->inside * tile->channels;
  } else {
    add = ring_row (&tile->x, i);
    if (leaves)
      sub = ring_row (&tile->x, i - m->c.h);
    fetch (tile, tile->y0 - m->c.ay + i, ring_row (&tile->x, i));
  }
  if (m->columns16)
    m->simd->update_columns16[tile->type](add, sub, n, (uint16_t *) (void *) columns);
  else
    m->simd->update_columns32[tile->type](add, sub, n, (uint32_t *) (void *) columns);
  if (tile->direct)
    repeat_sides (tile, pixel, tile->columns);
}

/* Returns where to write the outputs of row y: the output image, or tile->out, from which store () stores them. */
static void *
output_of (const Tile *tile, int y)
{
  const CfView *view = &tile->m->out[tile->part->view];

  return tile->in_place
      ? view->data + view->pitch * (size_t) y + (size_t) tile->x0 * tile->part->pixel_step * view->bytes
      : tile->out;
}

/* Returns the bytes that row y of the outputs keeps of the input, for fused loops; else none. */
static CfKeep
keep_of (const Tile *tile, int y)
{
  const CfConvolvePart *part = tile->part;
  const CfView *in = &tile->m->in[part->view];

  return (CfKeep) {
    .src = in->data + in->pitch * (size_t) y + (size_t) tile->x0 * part->pixel_step * in->bytes,
    .mask = tile->fused && part->action == CF_ACTION_FILTER ? part->keep : 0,
  };
}

/* Fills where a fused loop puts rows o .. o + n - 1 of outputs: in the image, or in a buffer, as rows below the tile,
 * which are made, but not stored. */
static void
find_outputs (const Tile *tile, int o, int n, CfKeep *keep, uint8_t **out)
{
  for (int i = 0; i < n; i++) {
    const bool is_row = o + i < tile->rows;
    const int y = tile->y0 + (is_row ? o + i : o);

    keep[i] = keep_of (tile, y);
    out[i] = is_row && tile->in_place ? output_of (tile, y) : (uint8_t *) tile->wide + i * tile->n;
  }
}

/* Stores the outputs of row y, which are in `row`, unless they are in the image already. */
static void
store (const Tile *tile, int y, const uint8_t *row)
{
  const CfConvolvePart *part = tile->part;
  const CfConvolveSimd *simd = tile->m->simd;
  const CfView *out = &tile->m->out[part->view], *in = &tile->m->in[part->view];
  size_t at = (size_t) tile->x0 * part->pixel_step * out->bytes;
  uint8_t *to = out->data + out->pitch * (size_t) y + at;
  const uint8_t *from = in->data + in->pitch * (size_t) y + at;

  if (tile->in_place)
    return;
  if (part->action == CF_ACTION_GRAY && part->pixel_step == 4) {
    /* blend () takes whole pixels, whose first byte lies `offset` bytes before the view's R */
    size_t offset = cf_format_info (tile->m->format)->comp[out->component].offset;

    simd->blend (to - offset, from - offset, part->keep, tile->n, row, true);
  } else if (part->action == CF_ACTION_GRAY) {
    for (int i = part->view, found = 0; found < 3; i++)
      if (tile->m->out[i].field == out->field) {
        const CfView *view = &tile->m->out[i];

        simd->scatter[tile->type](view->data + view->pitch * (size_t) y + at, part->pixel_step, tile->n, row,
            view->shift);
        found++;
      }
  } else if (part->keep)
    simd->blend (to, from, part->keep, tile->cols, row, false);
  else
    simd->scatter[tile->type](to, part->step, tile->n, row, out->shift);
}

/* Sets rows y0 .. y1 - 1 of a part to the middle value. */
static void
fill_mid_rows (const CfConvolveCpu *m, const CfConvolvePart *part, int y0, int y1)
{
  const CfView *out = &m->out[part->view];
  int word = m->c.mid << out->shift, n = part->width * part->channels;

  for (int y = y0; y < y1; y++) {
    uint8_t *to = out->data + out->pitch * (size_t) y;

    if (part->step == 1)
      fill (to, out->bytes - 1, n, word);
    else if (out->bytes == 1)
      for (int x = 0; x < n; x++)
        to[x * part->step] = (uint8_t) word;
    else
      for (int x = 0; x < n; x++)
        ((uint16_t *) (void *) to)[x * part->step] = (uint16_t) word;
  }
}

/* ---- fast FIR ------------------------------------------------------------ */

/* Large dense kernels with fewer products.
 *
 * Let h0 be a kernel's even rows and h1 its odd rows, x0 and x1 the even and odd rows of samples, and x0' the rows x0
 * shifted down by one. The even and odd rows of outputs are
 *   y0 = h0 x0 + h1 x1   = h0 (x0 - x1) + (h0 + h1) x1
 *   y1 = h0 x1 + h1 x0'  = h1 (x0' - x1) + (h0 + h1) x1
 * which takes three kernels of half the height for two rows instead of four (a "fast FIR" of two phases: Winograd
 * 1980). Each of the three can be split again: `levels` times, for 2^levels phases and 3^levels STREAMS of rows.
 * Sums are correct modulo 2^32, so the only condition is that differences of samples and sums of weights fit signed
 * 16-bit numbers.
 *
 * The digits of a stream's number in base 3, the first level's digit the highest, name its kernel: 0 h0, 1 h0 + h1,
 * 2 h1. Row r of a stream is made of row 2^levels r of samples and the 2 (2^levels - 1) rows below it. Rows hold pairs
 * of neighbouring samples. */

/* Returns the weight in row j, column i of a stream's kernel. */
static int64_t
weight_of (const CfConvolution *c, int levels, int stream, int j, int i)
{
  int64_t sum = 0;

  if (i >= c->w)
    return 0;
  for (int phase = 0; phase < 1 << levels; phase++) {
    int row = (j << levels) + phase;
    bool is_in = row < c->h;

    for (int l = levels - 1, digits = stream; l >= 0; l--, digits /= 3)
      is_in = is_in && (digits % 3 == 1 || digits % 3 == 2 * (phase >> l & 1));
    if (is_in)
      sum += c->weights[row * c->w + i];
  }
  return sum;
}

/* Chooses the levels. Returns false if the kernel is not supported. */
static bool
set_levels (CfConvolveCpu *m)
{
  const CfConvolution *c = &m->c;
  int levels = c->h < 6 ? 1 : c->h < 20 ? 2 : 3;

  m->fast_levels = levels;
  m->fast_height = (c->h + (1 << levels) - 1) >> levels;
  m->fast_pairs = (c->w + 1) / 2;
  /* differences of 16-bit samples need 17 bits */
  return c->op == CF_CONVOLVE_LINEAR && c->dense && c->bits != 16 && m->fast_height <= CF_FAST_HEIGHT;
}

bool
cf_fast_prepare (CfConvolveCpu *m)
{
  const CfConvolution *c = &m->c;
  uint32_t *weights = m->fast_weights;

  if (!set_levels (m))
    return false;
  for (int t = 0; t < cf_fast_streams (m->fast_levels); t++)
    for (int i = 0; i < m->fast_pairs; i++)
      for (int j = 0; j < m->fast_height; j++) {
        int64_t a = weight_of (c, m->fast_levels, t, j, 2 * i);
        int64_t b = weight_of (c, m->fast_levels, t, j, 2 * i + 1);

        if (a > INT16_MAX || a < INT16_MIN || b > INT16_MAX || b < INT16_MIN)
          return false;
        *weights++ = (uint32_t) (a & 0xffff) | (uint32_t) b << 16;
      }
  return true;
}

/* The model counts products of pairs for one sample. A product in a stream costs 5/6 of one in CF_PATH_PAIRS, since
 * each load serves more products; making and joining the streams costs as much as 55 products, with three levels 70.
 * The constants fit measurements with all instruction sets: docs/notes/convolve-cpu.md. */
bool
cf_fast_is_faster (CfConvolveCpu *m)
{
  const CfConvolution *c = &m->c;
  int fast, direct = 0;

  if (!set_levels (m))
    return false;
  fast = cf_fast_streams (m->fast_levels) * m->fast_height * m->fast_pairs >> m->fast_levels;
  for (int j = 0; j <= c->h / 2; j++)
    for (int i = 0; i < c->w; i++) {
      bool any = false;

      for (int row = 2 * j - 1; row < 2 * j + 2; row++)
        any = any || (row >= 0 && row < c->h && c->weights[row * c->w + i]);
      direct += any;
    }
  return 6 * direct > 5 * fast + 6 * (m->fast_levels == 3 ? 70 : 55);
}

/* Returns the number of rows of samples of which a row of each stream is made. */
static int
n_source_rows (const CfConvolveCpu *m)
{
  return (2 << m->fast_levels) - 1;
}

/* Returns the row of ring b, behind the sums, that holds row i of samples as pairs. */
static uint32_t *
pair_row (const Tile *tile, int i)
{
  return ring_row (&tile->b, cf_convolve_batch (tile->m) + i % n_source_rows (tile->m));
}

/* Adds row i of samples: pairs its neighbours, and makes the row of each stream for which it is the last input. */
static void
fast_push_row (const Tile *tile, int i, const uint8_t *x)
{
  const CfConvolveCpu *m = tile->m;
  int levels = m->fast_levels, streams = cf_fast_streams (levels), sources = n_source_rows (m), step = tile->channels;
  int first = i - sources + 1, n = tile->n + 2 * (m->fast_pairs - 1) * step;
  const uint32_t *rows[2 << CF_FAST_LEVELS] = { NULL };
  uint32_t *to[CF_FAST_MAX_STREAMS] = { NULL };

  m->simd->pair[tile->type](x, x + step * (tile->type + 1), n, pair_row (tile, i), false);
  if (first < 0 || first & ((1 << levels) - 1))
    return;
  for (int k = 0; k < sources; k++)
    rows[k] = pair_row (tile, first + k);
  for (int t = 0; t < streams; t++)
    to[t] = ring_row (&tile->a, (first >> levels) * streams + t);
  m->simd->make_streams (rows, levels, n, to);
}

/* Makes the sums of rows o .. o + cf_convolve_batch () - 1 of outputs, in the first rows of ring b. */
static void
fast_sums (const Tile *tile, int o)
{
  const CfConvolveCpu *m = tile->m;
  int streams = cf_fast_streams (m->fast_levels), n_rows = m->fast_height + CF_FAST_ROWS - 1,
      first = o >> m->fast_levels;
  const uint32_t *rows[CF_FAST_MAX_STREAMS * (CF_FAST_HEIGHT + CF_FAST_ROWS - 1)];
  int32_t *s[CF_FAST_ROWS << CF_FAST_LEVELS];
  const CfFast fast = { m->fast_levels, m->fast_height, m->fast_pairs, tile->channels, rows, m->fast_weights };

  for (int t = 0; t < streams; t++)
    for (int r = 0; r < n_rows; r++)
      rows[t * n_rows + r] = ring_row (&tile->a, (first + r) * streams + t);
  for (int k = 0; k < cf_convolve_batch (m); k++)
    s[k] = ring_row (&tile->b, k);
  m->simd->fast (&fast, tile->n, s);
}

/* ---- scratch memory ------------------------------------------------------ */

/* Takes `rows` rows from scratch memory and adds their bytes to `used`; without memory (NULL) it only adds. Rows have
 * whole cache lines, but never whole pages: a multiple of 4096 bytes apart they would compete for the same lines. */
static Ring
carve_ring (uint8_t *scratch, size_t *used, int rows, size_t bytes)
{
  const size_t lines = (bytes + CF_ROW_SLACK + 63) / 64;
  Ring ring = { .data = scratch ? scratch + *used : NULL,
    .pitch = 64 * (lines % 64 ? lines : lines + 1),
    .rows = rows };

  *used += ring.pitch * (size_t) rows;
  return ring;
}

static void *
carve (uint8_t *scratch, size_t *used, size_t bytes)
{
  return carve_ring (scratch, used, 1, bytes).data;
}

#define RING_BUDGET (512 << 10) /* bytes of a thread's rings, to fit the level 2 cache */
#define BOX_LEVELS 8            /* 2^8 is more than any width */

/* Returns the rows of input that a row of outputs (two rows in paths of pairs) needs. */
static int
window_rows (const Tile *tile)
{
  int h = tile->m->c.h;

  if (tile->path == CF_PATH_FAST)
    return ((tile->m->fast_height + CF_FAST_ROWS) << tile->m->fast_levels) - 1;
  if (tile->path == CF_PATH_SMALL)
    return h + CF_SMALL_ROWS - 1;
  return tile->m->paired ? h / 2 * 2 + 2 : h;
}

static bool
is_box (const Tile *tile)
{
  return tile->path == CF_PATH_BOX || tile->path == CF_PATH_BOX_16;
}

int
cf_convolve_batch (const CfConvolveCpu *m)
{
  return m->path == CF_PATH_FAST ? CF_FAST_ROWS << m->fast_levels
      : m->path == CF_PATH_SMALL ? CF_SMALL_ROWS
      : m->paired                ? 2
                                 : 1;
}

/* Lays rings and buffers out in scratch memory (NULL: only counts). Rings are only as long as the path looks back, so
 * that they stay in the cache. Returns the bytes of the rings, and of all in `used`. */
static size_t
lay_out (Tile *tile, uint8_t *scratch, size_t *used)
{
  const CfConvolveCpu *m = tile->m;
  size_t n = (size_t) tile->n_in, n_taps = (size_t) (m->n_taps > m->n_high ? m->n_taps : m->n_high);
  int rows = window_rows (tile), x = rows, a = m->paired ? rows / 2 : rows, b = rows / 2;
  size_t a_bytes = 4, rings;

  switch (tile->path) {
    case CF_PATH_BOX:
    case CF_PATH_BOX_16:
      x = rows + 1; /* with the row that leaves the window */
      a = tile->path == CF_PATH_BOX ? 1 : BOX_LEVELS;
      break;
    case CF_PATH_FAST:
      x = 1;
      a = cf_fast_streams (m->fast_levels) * (m->fast_height + CF_FAST_ROWS - 1);
      b = cf_convolve_batch (m) + n_source_rows (m);
      break;
    case CF_PATH_SMALL:
      a = b = 0;
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
      x = m->c.op == CF_CONVOLVE_UNSHARP ? rows : 1;
      break;
    default:
      if (m->paired && m->c.op != CF_CONVOLVE_UNSHARP)
        x = 2;
  }
  *used = 0;
  tile->x = carve_ring (scratch, used, x, n * (size_t) (tile->type + 1));
  tile->a = carve_ring (scratch, used, a, a_bytes * n);
  tile->b = carve_ring (scratch, used, b, 4 * n);
  rings = *used;
  for (int i = 0; i < 2; i++) {
    tile->s[i] = carve (scratch, used, 4 * n);
    tile->upper[i] = carve (scratch, used, 4 * n);
    tile->high[i] = carve (scratch, used, 4 * n);
  }
  tile->wide = carve (scratch, used, 8 * n);
  tile->out = carve (scratch, used, 2 * n);
  tile->taps = carve (scratch, used, sizeof (CfTap) * n_taps);
  return rings;
}

/* Returns the widest rows whose rings fit the level 2 cache. */
int
cf_convolve_max_width (const CfConvolveCpu *m, const CfConvolvePart *part, size_t *scratch)
{
  Tile tile = { .m = m, .part = part, .path = m->path, .channels = part->channels };
  int n = TILE_WIDTH_MAX, min_width = tile.path == CF_PATH_FAST ? TILE_WIDTH_FAST : TILE_WIDTH;
  size_t used;

  tile.type = m->in[part->view].bytes - 1;
  for (; n > min_width; n /= 2) {
    tile.n_in = n + (m->c.w + 63) * tile.channels;
    if (lay_out (&tile, NULL, &used) <= RING_BUDGET)
      break;
  }
  /* this frame's tasks are equally wide; a narrower frame may have a wider task */
  tile.n_in = (cf_min (part->width, n / tile.channels + 63) + m->c.w - 1) * tile.channels;
  lay_out (&tile, NULL, &used);
  *scratch = used > *scratch ? used : *scratch;
  return n;
}

/* ---- rounding ------------------------------------------------------------ */

/* Returns the input samples at the positions of outputs 0 .. n - 1 of row o of the tile. */
static const void *
centre_row (const Tile *tile, int o)
{
  const CfConvolution *c = &tile->m->c;

  return (uint8_t *) ring_row (&tile->x, o + c->ay) + (size_t) (c->ax * tile->channels) * (size_t) (tile->type + 1);
}

static void
finish64 (const Tile *tile, int o, const int64_t *s)
{
  const CfConvolveSimd *simd = tile->m->simd;
  void *out = output_of (tile, tile->y0 + o);

  if (tile->m->c.op == CF_CONVOLVE_UNSHARP)
    simd->unsharp64[tile->type](s, centre_row (tile, o), tile->n, tile->rounding, out);
  else
    simd->round64[tile->type](s, tile->n, tile->rounding, out);
  store (tile, tile->y0 + o, out);
}

static void
finish32 (const Tile *tile, int o, const int32_t *s)
{
  const CfConvolveSimd *simd = tile->m->simd;
  void *out;

  if (!tile->rounding->narrow) {
    simd->combine (s, s, tile->n, 0, 0, tile->wide);
    finish64 (tile, o, tile->wide);
    return;
  }
  out = output_of (tile, tile->y0 + o);
  if (tile->m->c.op == CF_CONVOLVE_UNSHARP && tile->rounding->is_reduced)
    simd->unsharp_reduced[tile->type](s, centre_row (tile, o), tile->n, tile->rounding, out);
  else if (tile->m->c.op == CF_CONVOLVE_UNSHARP)
    simd->unsharp32 (s, centre_row (tile, o), tile->n, tile->rounding, out);
  else
    simd->round32[tile->type](s, tile->n, tile->rounding, out);
  store (tile, tile->y0 + o, out);
}

/* ---- the paths: push_row takes row i of inputs, output_row makes row o ---- */

/* Fills tile->taps for rows of a ring, of `bytes` a number, from number `first` on. */
static int
list_taps (const Tile *tile, const Ring *ring, int first, size_t bytes, const CfConvolveTap *taps, int n)
{
  const uint8_t *row = NULL;

  for (int k = 0; k < n; k++) {
    if (k == 0 || taps[k].j != taps[k - 1].j)
      row = ring_row (ring, first + taps[k].j);
    tile->taps[k] = (CfTap) {
      .data = row + (size_t) (taps[k].i * tile->channels) * bytes,
      .weight = { taps[k].weight[0], taps[k].weight[1] },
    };
  }
  return n;
}

/* Makes the sums of the pairs in a ring with a group of taps, for rows o and o + 1; if s is NULL rounds and stores the
 * rows of outputs. */
static void
products (const Tile *tile, const Ring *ring, int o, int group, int32_t *const s[2])
{
  const CfConvolveCpu *m = tile->m;
  const int *from = m->begin[group], *to = m->begin[group + 1];
  int32_t *const *high = m->n_high ? tile->high : NULL;
  int n_taps;
  CfKeep keep[2];
  uint8_t *out[2];

  if (high) {
    n_taps = list_taps (tile, ring, o / 2, 4, m->high + from[1], to[1] - from[1]);
    m->simd->products (tile->taps, n_taps, tile->n, 0, NULL, high, NULL, NULL, NULL);
  }
  n_taps = list_taps (tile, ring, o / 2, 4, m->taps + from[0], to[0] - from[0]);
  if (!s)
    find_outputs (tile, o, 2, keep, out);
  m->simd->products (tile->taps, n_taps, tile->n, m->initial, high, s, tile->rounding, keep, out);
  for (int i = 0; !s && !tile->in_place && i < 2 && o + i < tile->rows; i++)
    store (tile, tile->y0 + o + i, out[i]);
}

static void
push_row (const Tile *tile, int i)
{
  const CfConvolveCpu *m = tile->m;
  const CfConvolveSimd *simd = m->simd;
  void *x = ring_row (&tile->x, i), *before = i % 2 ? ring_row (&tile->x, i - 1) : NULL; /* of a pair */
  int type = tile->type;

  if (is_box (tile)) {
    add_row (tile, i);
    return;
  }
  fetch (tile, tile->y0 - m->c.ay + i, x);
  switch (tile->path) {
    case CF_PATH_ROWS_16:
      (type ? simd->horizontal16[1] : simd->horizontal8) (x, m->c.w, tile->channels, m->row, m->symmetric, tile->n,
          ring_row (&tile->a, i));
      break;
    case CF_PATH_ROWS_BYTES:
      simd->horizontal_upper_lower (x, m->c.w, tile->channels, m->row, m->symmetric, tile->n, ring_row (&tile->a, i));
      break;
    case CF_PATH_ROWS_PAIRS:
      simd->horizontal16[type](x, m->c.w, tile->channels, m->row, m->symmetric, tile->n, ring_row (&tile->a, i));
      if (before)
        simd->pair[1](ring_row (&tile->a, i - 1), ring_row (&tile->a, i), tile->n, ring_row (&tile->b, i / 2),
            m->centered);
      break;
    case CF_PATH_ROWS_SPLIT:
      simd->horizontal_words (x, m->c.w, tile->channels, m->row, 0, tile->n, tile->s[i % 2]);
      if (before)
        simd->split_pairs (tile->s[0], tile->s[1], tile->n, ring_row (&tile->a, i / 2), ring_row (&tile->b, i / 2));
      break;
    case CF_PATH_ROWS_32:
      if (m->words) {
        simd->horizontal_words (x, m->c.w, tile->channels, m->row, m->initial, tile->n, ring_row (&tile->a, i));
        break;
      }
      /* fall through */
    case CF_PATH_ROWS_64:
      simd->horizontal32[type](x, m->c.w, tile->channels, m->row, m->symmetric, tile->n, ring_row (&tile->a, i));
      break;
    case CF_PATH_FAST:
      fast_push_row (tile, i, x);
      break;
    case CF_PATH_PAIRS:
    case CF_PATH_GROUPS:
      if (before)
        simd->pair[type](before, x, tile->n_in, ring_row (&tile->a, i / 2), m->centered);
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
  int m = abs (c->weights[0]), middle = abs (c->weights[3]); /* flip changes signs only, which squares drop */
  int32_t *r = tile->s[0];

  tile->m->simd->gradient[tile->type](row, tile->channels, tile->n, m, middle, ring_row (&tile->a, 0), r);
  if (tile->rounding->narrow) {
    for (int i = 0; c->factor != 1 && i < tile->n; i++)
      r[i] *= (int32_t) c->factor;
    finish32 (tile, o, r);
    return;
  }
  tile->m->simd->combine (r, r, tile->n, 0, 0, tile->wide);
  for (int i = 0; i < tile->n; i++)
    tile->wide[i] *= c->factor;
  finish64 (tile, o, tile->wide);
}

/* Sums n rows (or columns, for a box), rounds and stores, all in 16 bits. */
static void
finish16 (const Tile *tile, int o, const CfTap *rows, int n)
{
  CfKeep keep = keep_of (tile, tile->y0 + o);
  void *out = output_of (tile, tile->y0 + o);

  if (tile->path == CF_PATH_ROWS_16 && tile->type == 0)
    tile->m->simd->vertical8 (rows, n, tile->n, tile->rounding, &keep, out);
  else
    tile->m->simd->vertical16[tile->type](rows, n, tile->n, tile->rounding, &keep, out);
  store (tile, tile->y0 + o, out);
}

/* In 16 bits: a window of w columns is a sum of levels (see simd.h), one for each 1 of w in binary; a few columns are
 * added up directly. */
static void
make_box16 (const Tile *tile, int o)
{
  const uint16_t *level = (const uint16_t *) (const void *) tile->columns;
  CfTap taps[CF_FEW_COLUMNS > BOX_LEVELS ? CF_FEW_COLUMNS : BOX_LEVELS];
  int n = 0, w = tile->m->c.w, step = tile->channels;

  for (; w <= CF_FEW_COLUMNS && n < w; n++)
    taps[n] = (CfTap) { level + n * step, { 1 } };
  for (int l = 0, done = 0; w > CF_FEW_COLUMNS && 1 << l <= w; l++) {
    if (l > 0) {
      uint16_t *to = ring_row (&tile->a, l);

      tile->m->simd->add_shifted (level, (1 << l) / 2 * step, tile->n + (w - (1 << l)) * step, to);
      level = to;
    }
    if (w >> l & 1) {
      taps[n++] = (CfTap) { level + done * step, { 1 } };
      done += 1 << l;
    }
  }
  finish16 (tile, o, taps, n);
}

static void
make_box (const Tile *tile, int o)
{
  const CfConvolveCpu *m = tile->m;
  int32_t *s = tile->fused ? NULL : tile->s[0];
  CfTap taps[CF_FEW_COLUMNS];
  CfKeep keep = keep_of (tile, tile->y0 + o);
  void *out = output_of (tile, tile->y0 + o);

  if (s || m->columns16 || m->c.w > CF_FEW_COLUMNS)
    m->simd->scan (tile->columns, !m->columns16, m->c.w, tile->channels, m->c.h * m->c.max, tile->n, s, tile->rounding,
        &keep, out);
  else {
    for (int i = 0; i < m->c.w; i++)
      taps[i] = (CfTap) { (uint32_t *) (void *) tile->columns + i * tile->channels, { 1 } };
    m->simd->add_columns_out (taps, m->c.w, tile->n, tile->rounding, out);
  }
  if (!s)
    store (tile, tile->y0 + o, out);
  else if (m->c.abs_sum <= INT32_MAX / m->c.max)
    finish32 (tile, o, s);
  else { /* 16 bit: the largest sums need all 32 bits */
    for (int i = 0; i < tile->n; i++)
      tile->wide[i] = (uint32_t) s[i];
    finish64 (tile, o, tile->wide);
  }
}

/* Makes two rows of outputs; the second may lie below the tile. */
static void
make_pair (const Tile *tile, int o)
{
  const CfConvolveCpu *m = tile->m;
  const bool rows_split = tile->path == CF_PATH_ROWS_SPLIT, split = rows_split || tile->path == CF_PATH_SPLIT;

  products (tile, split || tile->path == CF_PATH_ROWS_PAIRS ? &tile->b : &tile->a, o, 0, tile->fused ? NULL : tile->s);
  if (split)
    products (tile, &tile->a, o, 0, tile->upper);
  else if (m->n_groups == 2)
    products (tile, &tile->a, o, 1, tile->upper);
  for (int i = 0; !tile->fused && i < 2 && o + i < tile->rows; i++)
    if (rows_split && tile->rounding->log2_halves) {
      void *out = output_of (tile, tile->y0 + o + i);

      m->simd->halves_out (tile->upper[i], tile->s[i], tile->n, m->offset, tile->rounding,
          m->c.op == CF_CONVOLVE_UNSHARP ? centre_row (tile, o + i) : NULL, out);
      store (tile, tile->y0 + o + i, out);
    } else if (split || tile->path == CF_PATH_GROUPS) {
      m->simd->combine (m->factor ? tile->upper[i] : tile->s[i], tile->s[i], tile->n, m->factor, m->offset, tile->wide);
      finish64 (tile, o + i, tile->wide);
    } else
      finish32 (tile, o + i, tile->s[i]);
}

static void
make_small (const Tile *tile, int o)
{
  const CfConvolution *c = &tile->m->c;
  const CfSmall kind = c->op == CF_CONVOLVE_UNSHARP ? CF_SMALL_SHARPEN : c->box ? CF_SMALL_BOX : CF_SMALL_BINOMIAL;
  const uint8_t *rows[CF_SMALL_SIZE + CF_SMALL_ROWS - 1];
  CfKeep keep[CF_SMALL_ROWS];
  uint8_t *out[CF_SMALL_ROWS];

  for (int j = 0; j < c->h + CF_SMALL_ROWS - 1; j++)
    rows[j] = ring_row (&tile->x, o + j);
  find_outputs (tile, o, CF_SMALL_ROWS, keep, out);
  tile->m->simd->small[kind](rows, c->w, tile->channels, tile->n, tile->rounding, keep, out);
  for (int i = 0; !tile->in_place && i < CF_SMALL_ROWS && o + i < tile->rows; i++)
    store (tile, tile->y0 + o + i, out[i]);
}

static void
output_row (const Tile *tile, int o)
{
  const CfConvolveCpu *m = tile->m;
  const CfConvolveSimd *simd = m->simd;
  const bool wide = tile->path == CF_PATH_WIDE;
  const size_t bytes = wide ? (size_t) tile->type + 1 : tile->path == CF_PATH_ROWS_16 ? 2 : 4;
  const int n_taps = m->paired ? 0 : list_taps (tile, wide ? &tile->x : &tile->a, o, bytes, m->taps, m->n_taps);
  int32_t *s = tile->s[0];
  void *out = output_of (tile, tile->y0 + o);

  switch (tile->path) {
    case CF_PATH_COPY:
      memcpy (out, ring_row (&tile->x, o), (size_t) tile->n * (size_t) (tile->type + 1));
      store (tile, tile->y0 + o, out);
      break;
    case CF_PATH_BOX:
      make_box (tile, o);
      break;
    case CF_PATH_BOX_16:
      make_box16 (tile, o);
      break;
    case CF_PATH_SMALL:
      make_small (tile, o);
      break;
    case CF_PATH_MAGNITUDE:
      make_magnitude (tile, o);
      break;
    case CF_PATH_ROWS_16:
      finish16 (tile, o, tile->taps, n_taps);
      break;
    case CF_PATH_ROWS_BYTES:
      simd->vertical_upper_lower (tile->taps, n_taps, tile->n, tile->rounding,
          m->c.op == CF_CONVOLVE_UNSHARP ? centre_row (tile, o) : NULL, out);
      store (tile, tile->y0 + o, out);
      break;
    case CF_PATH_ROWS_32:
      simd->vertical32 (tile->taps, n_taps, tile->n, tile->fused ? NULL : s, tile->rounding, out);
      if (tile->fused)
        store (tile, tile->y0 + o, out);
      else
        finish32 (tile, o, s);
      break;
    case CF_PATH_ROWS_64:
      simd->vertical64 (tile->taps, n_taps, tile->n, m->rows_signed, tile->wide);
      finish64 (tile, o, tile->wide);
      break;
    case CF_PATH_WIDE:
      simd->wide[tile->type](tile->taps, n_taps, tile->n, tile->wide);
      finish64 (tile, o, tile->wide);
      break;
    case CF_PATH_FAST:
      fast_sums (tile, o);
      for (int i = 0; i < cf_convolve_batch (m) && o + i < tile->rows; i++)
        finish32 (tile, o + i, ring_row (&tile->b, i));
      break;
    default:
      make_pair (tile, o);
  }
}

/* ---- a task -------------------------------------------------------------- */

/* Returns whether the last loop of the path also rounds and stores. */
static bool
is_fused (const Tile *tile)
{
  const CfConvolveCpu *m = tile->m;
  bool narrow = m->c.op == CF_CONVOLVE_LINEAR && tile->rounding->narrow;

  switch (tile->path) {
    case CF_PATH_BOX_16:
    case CF_PATH_ROWS_16:
    case CF_PATH_SMALL:
      return true;
    case CF_PATH_BOX:
      return m->columns16 ? cf_can_fuse_scan (tile->rounding) : narrow;
    case CF_PATH_ROWS_32:
      return narrow && tile->type == 1;
    case CF_PATH_ROWS_PAIRS:
    case CF_PATH_PAIRS:
      return m->c.bits == 8 && narrow;
    default:
      return false;
  }
}

void
cf_convolve_run_task (void *data, int task, int thread)
{
  const CfConvolveCpu *m = data;
  const CfConvolvePart *part = m->parts;
  const CfView *view;
  Tile tile = { .m = m, .path = m->path };
  int y1, left, window, batch;
  size_t used;

  for (; task >= part->n_tasks; part++)
    task -= part->n_tasks;
  view = &m->in[part->view];
  tile.part = part;
  tile.rounding = &m->rounding[part->kind];
  tile.type = view->bytes - 1;
  tile.channels = part->channels;
  tile.x0 = task % part->n_cols * part->cols;
  tile.y0 = task / part->n_cols * part->rows;
  y1 = cf_min (tile.y0 + part->rows, part->height);
  if (part->action == CF_ACTION_COPY) {
    CfView in = *view;

    in.step = part->step;
    in.width = part->width * part->channels;
    cf_view_copy (&m->out[part->view], &in, tile.y0, y1);
    return;
  }
  if (part->action == CF_ACTION_MID) {
    fill_mid_rows (m, part, tile.y0, y1);
    return;
  }
  left = tile.x0 - m->c.ax;
  tile.rows = y1 - tile.y0;
  tile.cols = cf_min (part->cols, part->width - tile.x0);
  tile.before = cf_max (-left, 0);
  tile.direct = m->c.border == CF_BORDER_REPLICATE && part->action == CF_ACTION_FILTER && part->step == 1 &&
      view->bits == 8 * view->bytes;
  tile.n = tile.cols * tile.channels;
  tile.n_in = (tile.cols + m->c.w - 1) * tile.channels;
  tile.inside = cf_min (left + tile.cols + m->c.w - 1, part->width) - left - tile.before;
  tile.fused = is_fused (&tile);
  tile.in_place = part->action == CF_ACTION_FILTER && (!part->keep || tile.fused) && part->step == 1 && !view->shift;
  lay_out (&tile, m->scratch + (size_t) thread * m->scratch_size, &used);
  if (is_box (&tile)) { /* all sums are 0, and those inside the image begin at a cache line */
    const size_t size = m->columns16 ? 2 : 4, shift = size * (size_t) (tile.before * tile.channels) % 64;

    memset (tile.a.data, 0, (size_t) tile.n_in * 4 + CF_SCAN_MARGIN * 4 + 64);
    tile.columns = tile.a.data + (tile.path == CF_PATH_BOX ? CF_SCAN_MARGIN * size : 0) + (64 - shift) % 64;
  }
  window = window_rows (&tile);
  batch = cf_convolve_batch (m);
  for (int i = 0, o = 0; o < tile.rows; i++) {
    push_row (&tile, i);
    if (i < o + window - 1)
      continue;
    output_row (&tile, o);
    o += batch;
  }
}
