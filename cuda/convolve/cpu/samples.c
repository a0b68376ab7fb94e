/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/samples.c: fetches rows of samples, with their borders, from the
 * input image and stores rows of outputs into the output image. */
#include "tile.h"

#include <string.h>

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

/* Copies one pixel to n pixels at `to`. */
static void
repeat_pixel (const Tile *tile, const uint8_t *pixel, int n, uint8_t *to)
{
  const size_t bytes = (size_t) tile->channels * (size_t) (tile->type + 1);

  if (tile->channels == 1)
    cf_tile_fill (to, tile->type, n, tile->type ? *(const uint16_t *) (const void *) pixel : *pixel);
  else if (bytes == 4)
    for (int i = 0; i < n; i++)
      memcpy (to + 4 * i, pixel, 4);
  else
    for (int i = 0; i < n; i++)
      memcpy (to + bytes * (size_t) i, pixel, bytes);
}

void
cf_tile_fetch (const Tile *tile, int y, uint8_t *row)
{
  const CfConvolution *c = &tile->m->c;
  const CfConvolvePart *part = tile->part;
  bool copy = tile->path == CF_PATH_COPY;
  int left = tile->x0 - (copy ? 0 : c->ax), n = tile->cols + (copy ? 0 : c->w - 1);
  int first = left < 0 ? 0 : left, end = left + n < part->width ? left + n : part->width;
  size_t pixel = (size_t) tile->channels * (size_t) (tile->type + 1);

  y = cf_border_map (c->border, y, part->height);
  if (y < 0) {
    cf_tile_fill (row, tile->type, n * tile->channels, c->outside[part->kind]);
    return;
  }
  fetch_inside (tile, first, y, end - first, row + (size_t) (first - left) * pixel);
  if (c->border == CF_BORDER_REPLICATE) {
    repeat_pixel (tile, row + (size_t) (first - left) * pixel, first - left, row);
    row += (size_t) (end - left) * pixel;
    repeat_pixel (tile, row - pixel, left + n - end, row);
    return;
  }
  for (int i = 0; i < n; i++) {
    int from;

    if (left + i == first) /* skip the pixels that fetch_inside has fetched */
      i += end - first;
    if (i >= n)
      break;
    from = cf_border_map (c->border, left + i, part->width);
    if (from < 0)
      cf_tile_fill (row + (size_t) i * pixel, tile->type, tile->channels, c->outside[part->kind]);
    else if (from >= first && from < end)
      repeat_pixel (tile, row + (size_t) (from - left) * pixel, 1, row + (size_t) i * pixel);
    else
      fetch_inside (tile, from, y, 1, row + (size_t) i * pixel);
  }
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
