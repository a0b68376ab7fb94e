/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/samples.c: fetches rows of samples, with their borders, from the
 * input image and stores rows of outputs into the output image. */
#include "tile.h"

#include <string.h>

/* Returns the column of the image of the first pixel in a row of inputs. */
static int
left_of (const Tile *tile)
{
  return tile->x0 - (tile->path == CF_PATH_COPY ? 0 : tile->m->c.ax);
}

void
cf_tile_place (Tile *tile)
{
  const CfConvolvePart *part = tile->part;
  const CfView *view = &tile->m->in[part->view];
  const int left = left_of (tile), end = left + tile->n_in / tile->channels;

  tile->before = left < 0 ? -left : 0;
  tile->inside = (end < part->width ? end : part->width) - left - tile->before;
  tile->direct = tile->m->c.border == CF_BORDER_REPLICATE && part->action == CF_ACTION_FILTER && part->step == 1 &&
      view->bits == 8 * view->bytes;
}

void
cf_tile_fill (void *row, int type, int n, int value)
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
    cf_tile_fill (to, 1, n, *(const uint16_t *) (const void *) pixel);
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

void
cf_tile_fetch (const Tile *tile, int y, uint8_t *row)
{
  const CfConvolution *c = &tile->m->c;
  const CfConvolvePart *part = tile->part;
  int left = left_of (tile), n = tile->n_in / tile->channels, end = tile->before + tile->inside;
  size_t pixel = (size_t) tile->channels * (size_t) (tile->type + 1);

  y = cf_border_map (c->border, y, part->height);
  if (y < 0) {
    cf_tile_fill (row, tile->type, n * tile->channels, c->outside[part->kind]);
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
      cf_tile_fill (row + (size_t) i * pixel, tile->type, tile->channels, c->outside[part->kind]);
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
      (size_t) (left_of (tile) + tile->before) * tile->part->pixel_step * view->bytes;
}

void
cf_tile_add_row (const Tile *tile, int i)
{
  const CfConvolveCpu *m = tile->m;
  const size_t pixel = (size_t) tile->channels * (m->n_narrow ? 2 : 4);
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
    cf_tile_fetch (tile, tile->y0 - m->c.ay + i, ring_row (&tile->x, i));
  }
  if (m->n_narrow)
    m->simd->update_columns16[tile->type](add, sub, n, (uint16_t *) (void *) columns);
  else
    m->simd->update_columns32[tile->type](add, sub, n, (uint32_t *) (void *) columns);
  if (tile->direct)
    repeat_sides (tile, pixel, tile->columns);
}

void *
cf_tile_output (const Tile *tile, int y)
{
  const CfConvolvePart *part = tile->part;
  const CfView *view = &tile->m->out[part->view];

  if (part->action == CF_ACTION_GRAY || (part->keep && !tile->fused) || part->step != 1 || view->shift)
    return tile->out;
  return view->data + view->pitch * (size_t) y + (size_t) tile->x0 * part->pixel_step * view->bytes;
}

CfKeep
cf_tile_keep (const Tile *tile, int y)
{
  const CfConvolvePart *part = tile->part;
  const CfView *in = &tile->m->in[part->view];

  return (CfKeep) {
    .src = in->data + in->pitch * (size_t) y + (size_t) tile->x0 * part->pixel_step * in->bytes,
    .mask = tile->fused && part->action == CF_ACTION_FILTER ? part->keep : 0,
  };
}

void
cf_tile_store (const Tile *tile, int y, const uint8_t *row)
{
  const CfConvolvePart *part = tile->part;
  const CfConvolveSimd *simd = tile->m->simd;
  const CfView *out = &tile->m->out[part->view], *in = &tile->m->in[part->view];
  size_t at = (size_t) tile->x0 * part->pixel_step * out->bytes;
  uint8_t *to = out->data + out->pitch * (size_t) y + at;
  const uint8_t *from = in->data + in->pitch * (size_t) y + at;

  if (row != tile->out)
    return;
  if (part->action == CF_ACTION_GRAY && part->pixel_step == 4) {
    /* spread () takes whole pixels, whose first byte lies `offset` bytes before the view's R */
    size_t offset = cf_format_info (tile->m->format)->comp[out->component].offset;

    simd->spread (to - offset, from - offset, part->keep, tile->n, row);
  } else if (part->action == CF_ACTION_GRAY) {
    for (int i = part->view, found = 0; found < 3; i++)
      if (tile->m->out[i].field == out->field) {
        const CfView *view = &tile->m->out[i];

        simd->scatter[tile->type](view->data + view->pitch * (size_t) y + at, part->pixel_step, tile->n, row,
            view->shift);
        found++;
      }
  } else if (part->keep)
    simd->blend (to, from, part->keep, tile->cols, row);
  else
    simd->scatter[tile->type](to, part->step, tile->n, row, out->shift);
}

void
cf_tile_copy_rows (const CfConvolveCpu *m, const CfConvolvePart *part, int y0, int y1)
{
  CfView in = m->in[part->view];

  in.step = part->step;
  in.width = part->width * part->channels;
  cf_view_copy (&m->out[part->view], &in, y0, y1);
}

void
cf_tile_fill_mid_rows (const CfConvolveCpu *m, const CfConvolvePart *part, int y0, int y1)
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
