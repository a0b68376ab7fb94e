/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/packed.c: packed formats, whose pixels are words of 32 bits with three samples of 10 bits. A plan takes the
 * pixels apart into planes of 16-bit words, which its filter reads and writes as it does those of other formats, and
 * puts them together again. So no filter has code for packed pixels, and all of them are as exact as at 10 bits. */
#include "filter.h"
#include "threads.h"

CfVideo
cf_unpacked_video (const CfVideo *video)
{
  const CfFormatInfo *info = cf_format_info (video->format);
  CfVideo unpacked = *video;

  if (info && info->unpacked)
    unpacked.format = info->unpacked;
  return unpacked;
}

#define ROWS 32 /* of a task */

typedef struct {
  const CfImage *from, *alpha, *to;
} Repack;

static void
take_apart (const CfComponent *c, int width, const uint32_t *restrict from, uint16_t *restrict to)
{
  const uint32_t most = (1u << c->bits) - 1;

  for (int x = 0; x < width; x++)
    to[x] = (uint16_t) (from[x] >> c->bit & most);
}

static void
put_together (const CfComponent *c, int width, const uint16_t *const from[3], const uint32_t *restrict alpha,
    uint32_t *restrict to)
{
  const uint32_t rest = ((1u << c[3].bits) - 1) << c[3].bit;

  for (int x = 0; x < width; x++)
    to[x] = (alpha[x] & rest) | (uint32_t) from[0][x] << c[0].bit | (uint32_t) from[1][x] << c[1].bit |
        (uint32_t) from[2][x] << c[2].bit;
}

static void *
row_of (const CfImage *image, int plane, int y)
{
  return (uint8_t *) image->plane[plane].data + (size_t) y * image->plane[plane].pitch;
}

static void
repack_rows (void *data, int task, int thread)
{
  const Repack *r = data;
  const bool apart = !r->alpha;
  const CfFormatInfo *packed = cf_format_info (apart ? r->from->format : r->to->format);
  const CfFormatInfo *planes = cf_format_info (packed->unpacked);
  const int width = r->from->width, height = r->from->height;

  (void) thread;
  for (int y = task * ROWS; y < height && y < (task + 1) * ROWS; y++) {
    const uint16_t *row[3];

    for (int i = 0; i < 3 && apart; i++)
      take_apart (&packed->comp[i], width, row_of (r->from, 0, y), row_of (r->to, planes->comp[i].plane, y));
    for (int i = 0; i < 3 && !apart; i++)
      row[i] = row_of (r->from, planes->comp[i].plane, y);
    if (!apart)
      put_together (packed->comp, width, row, row_of (r->alpha, 0, y), row_of (r->to, 0, y));
  }
}

void
cf_repack (const CfImage *from, const CfImage *alpha, const CfImage *to)
{
  Repack repack = { from, alpha, to };

  cf_parallel_for ((from->height + ROWS - 1) / ROWS, repack_rows, &repack);
}
