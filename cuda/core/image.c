/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/image.c: pixel formats and images: the layouts of the formats (GStreamer's, gst/video/video-format.h), the
 * geometry of planes, views, and copies in host memory. */
#include "filter.h"
#include "threads.h"

#include <string.h>

#define L CF_ROLE_LUMA
#define C CF_ROLE_CHROMA
#define R CF_ROLE_RED
#define G CF_ROLE_GREEN
#define B CF_ROLE_BLUE
#define A CF_ROLE_ALPHA

/* A component: plane, offset and step in samples, log2 subsampling, role. */
#define FULL(plane, offset, step, role) { plane, offset, step, 0, 0, role, 0, 0 }
#define SUB(plane, offset, step, ws, hs) { plane, offset, step, ws, hs, C, 0, 0 }

#define FORMAT(name, planes, comps, bits, shift, rgb, ...) \
  [CF_FORMAT_##name] = { CF_FORMAT_##name, #name, planes, comps, bits, (bits) > 8 ? 2 : 1, shift, rgb, CF_FORMAT_NONE, \
    { __VA_ARGS__ } }

/* Pixels that are one word of 32 bits: its samples of 10 bits at the given bits, and 2 bits of alpha. */
#define PART(bit, bits, role) { 0, 0, 1, 0, 0, role, bit, bits }
#define PACKED(name, rgb, planes, r0, b0, r1, b1, r2, b2) \
  [CF_FORMAT_##name] = { CF_FORMAT_##name, #name, 1, 4, 10, 4, 0, rgb, CF_FORMAT_##planes, \
    { PART (b0, 10, r0), PART (b1, 10, r1), PART (b2, 10, r2), PART (30, 2, A) } }

#define YUV3(ws, hs) FULL (0, 0, 1, L), SUB (1, 0, 1, ws, hs), SUB (2, 0, 1, ws, hs)

static const CfFormatInfo formats[CF_N_FORMATS] = {
  FORMAT (GRAY8, 1, 1, 8, 0, false, FULL (0, 0, 1, L)),
  FORMAT (GRAY16_LE, 1, 1, 16, 0, false, FULL (0, 0, 1, L)),
  FORMAT (NV12, 2, 3, 8, 0, false, FULL (0, 0, 1, L), SUB (1, 0, 2, 1, 1), SUB (1, 1, 2, 1, 1)),
  FORMAT (NV21, 2, 3, 8, 0, false, FULL (0, 0, 1, L), SUB (1, 1, 2, 1, 1), SUB (1, 0, 2, 1, 1)),
  FORMAT (I420, 3, 3, 8, 0, false, YUV3 (1, 1)),
  FORMAT (YV12, 3, 3, 8, 0, false, FULL (0, 0, 1, L), SUB (2, 0, 1, 1, 1), SUB (1, 0, 1, 1, 1)),
  FORMAT (NV16, 2, 3, 8, 0, false, FULL (0, 0, 1, L), SUB (1, 0, 2, 1, 0), SUB (1, 1, 2, 1, 0)),
  FORMAT (Y42B, 3, 3, 8, 0, false, YUV3 (1, 0)),
  FORMAT (Y444, 3, 3, 8, 0, false, YUV3 (0, 0)),
  FORMAT (YUY2, 1, 3, 8, 0, false, FULL (0, 0, 2, L), SUB (0, 1, 4, 1, 0), SUB (0, 3, 4, 1, 0)),
  FORMAT (UYVY, 1, 3, 8, 0, false, FULL (0, 1, 2, L), SUB (0, 0, 4, 1, 0), SUB (0, 2, 4, 1, 0)),
  FORMAT (AYUV, 1, 4, 8, 0, false, FULL (0, 1, 4, L), FULL (0, 2, 4, C), FULL (0, 3, 4, C), FULL (0, 0, 4, A)),
  FORMAT (RGB, 1, 3, 8, 0, true, FULL (0, 0, 3, R), FULL (0, 1, 3, G), FULL (0, 2, 3, B)),
  FORMAT (BGR, 1, 3, 8, 0, true, FULL (0, 2, 3, R), FULL (0, 1, 3, G), FULL (0, 0, 3, B)),
  FORMAT (RGBA, 1, 4, 8, 0, true, FULL (0, 0, 4, R), FULL (0, 1, 4, G), FULL (0, 2, 4, B), FULL (0, 3, 4, A)),
  FORMAT (BGRA, 1, 4, 8, 0, true, FULL (0, 2, 4, R), FULL (0, 1, 4, G), FULL (0, 0, 4, B), FULL (0, 3, 4, A)),
  FORMAT (ARGB, 1, 4, 8, 0, true, FULL (0, 1, 4, R), FULL (0, 2, 4, G), FULL (0, 3, 4, B), FULL (0, 0, 4, A)),
  FORMAT (ABGR, 1, 4, 8, 0, true, FULL (0, 3, 4, R), FULL (0, 2, 4, G), FULL (0, 1, 4, B), FULL (0, 0, 4, A)),
  FORMAT (RGBx, 1, 4, 8, 0, true, FULL (0, 0, 4, R), FULL (0, 1, 4, G), FULL (0, 2, 4, B), FULL (0, 3, 4, A)),
  FORMAT (BGRx, 1, 4, 8, 0, true, FULL (0, 2, 4, R), FULL (0, 1, 4, G), FULL (0, 0, 4, B), FULL (0, 3, 4, A)),
  FORMAT (xRGB, 1, 4, 8, 0, true, FULL (0, 1, 4, R), FULL (0, 2, 4, G), FULL (0, 3, 4, B), FULL (0, 0, 4, A)),
  FORMAT (xBGR, 1, 4, 8, 0, true, FULL (0, 3, 4, R), FULL (0, 2, 4, G), FULL (0, 1, 4, B), FULL (0, 0, 4, A)),
  /* planes in the order G, B, R; the components stay R, G, B */
  FORMAT (GBR, 3, 3, 8, 0, true, FULL (2, 0, 1, R), FULL (0, 0, 1, G), FULL (1, 0, 1, B)),
  FORMAT (P010_10LE, 2, 3, 10, 6, false, FULL (0, 0, 1, L), SUB (1, 0, 2, 1, 1), SUB (1, 1, 2, 1, 1)),
  FORMAT (P016_LE, 2, 3, 16, 0, false, FULL (0, 0, 1, L), SUB (1, 0, 2, 1, 1), SUB (1, 1, 2, 1, 1)),
  FORMAT (I420_10LE, 3, 3, 10, 0, false, YUV3 (1, 1)),
  FORMAT (I422_10LE, 3, 3, 10, 0, false, YUV3 (1, 0)),
  FORMAT (Y444_10LE, 3, 3, 10, 0, false, YUV3 (0, 0)),
  FORMAT (Y444_16LE, 3, 3, 16, 0, false, YUV3 (0, 0)),
  FORMAT (P012_LE, 2, 3, 12, 4, false, FULL (0, 0, 1, L), SUB (1, 0, 2, 1, 1), SUB (1, 1, 2, 1, 1)),
  FORMAT (I420_12LE, 3, 3, 12, 0, false, YUV3 (1, 1)),
  FORMAT (I422_12LE, 3, 3, 12, 0, false, YUV3 (1, 0)),
  FORMAT (Y444_12LE, 3, 3, 12, 0, false, YUV3 (0, 0)),
  FORMAT (NV24, 2, 3, 8, 0, false, FULL (0, 0, 1, L), FULL (1, 0, 2, C), FULL (1, 1, 2, C)),
  FORMAT (VUYA, 1, 4, 8, 0, false, FULL (0, 2, 4, L), FULL (0, 1, 4, C), FULL (0, 0, 4, C), FULL (0, 3, 4, A)),
  FORMAT (A420, 4, 4, 8, 0, false, YUV3 (1, 1), FULL (3, 0, 1, A)),
  FORMAT (RGBP, 3, 3, 8, 0, true, FULL (0, 0, 1, R), FULL (1, 0, 1, G), FULL (2, 0, 1, B)),
  FORMAT (BGRP, 3, 3, 8, 0, true, FULL (2, 0, 1, R), FULL (1, 0, 1, G), FULL (0, 0, 1, B)),
  FORMAT (GBR_10LE, 3, 3, 10, 0, true, FULL (2, 0, 1, R), FULL (0, 0, 1, G), FULL (1, 0, 1, B)),
  PACKED (Y410, false, Y444_10LE, L, 10, C, 0, C, 20),
  PACKED (RGB10A2_LE, true, GBR_10LE, R, 0, G, 10, B, 20),
  PACKED (BGR10A2_LE, true, GBR_10LE, R, 20, G, 10, B, 0),
};

const CfFormatInfo *
cf_format_info (CfFormat format)
{
  return format > CF_FORMAT_NONE && format < CF_N_FORMATS ? &formats[format] : NULL;
}

CfFormat
cf_format_from_name (const char *name)
{
  for (int i = CF_FORMAT_NONE + 1; name && i < CF_N_FORMATS; i++)
    if (strcmp (formats[i].name, name) == 0)
      return (CfFormat) i;
  return CF_FORMAT_NONE;
}

/* Returns the samples of a subsampled component along one side; the last one may cover less than a whole group. */
static int
subsampled (int size, int log2)
{
  return (size + (1 << log2) - 1) >> log2;
}

size_t
cf_plane_row_bytes (CfFormat format, int width, int plane)
{
  const CfFormatInfo *info = cf_format_info (format);
  size_t bytes = 0;

  if (!info)
    return 0;
  /* A row ends with a whole group of interleaved samples: a YUY2 row of width 3 has two groups of four bytes. */
  for (int i = 0; i < info->n_components; i++) {
    const CfComponent *c = &info->comp[i];
    size_t end = (size_t) subsampled (width, c->w_sub) * c->step * info->bytes;

    if (c->plane == plane && end > bytes)
      bytes = end;
  }
  return bytes;
}

int
cf_plane_rows (CfFormat format, int height, int plane)
{
  const CfFormatInfo *info = cf_format_info (format);

  for (int i = 0; info && i < info->n_components; i++)
    if (info->comp[i].plane == plane)
      return subsampled (height, info->comp[i].h_sub);
  return 0;
}

size_t
cf_image_layout (CfImage *image, CfFormat format, int width, int height, size_t align)
{
  const CfFormatInfo *info = cf_format_info (format);
  size_t total = 0;

  memset (image, 0, sizeof *image);
  image->format = format;
  image->width = width;
  image->height = height;
  for (int p = 0; info && p < info->n_planes; p++) {
    size_t pitch = (cf_plane_row_bytes (format, width, p) + align - 1) & ~(align - 1);

    image->plane[p].pitch = pitch;
    image->plane[p].data = (void *) total;
    total += pitch * (size_t) cf_plane_rows (format, height, p);
  }
  return total;
}

void
cf_image_at (CfImage *image, const CfImage *layout, void *base)
{
  const CfFormatInfo *info = cf_format_info (layout->format);

  *image = *layout;
  for (int p = 0; info && p < info->n_planes; p++)
    image->plane[p].data = (uint8_t *) base + (size_t) layout->plane[p].data;
}

void
cf_image_rows (CfImage *rows, const CfImage *image, int begin, int end)
{
  const CfFormatInfo *info = cf_format_info (image->format);

  *rows = *image;
  rows->height = end - begin;
  for (int p = 0; info && p < info->n_planes; p++)
    rows->plane[p].data = (uint8_t *) image->plane[p].data +
        (size_t) cf_plane_rows (image->format, begin, p) * image->plane[p].pitch;
}

void
cf_image_part (CfImage *part, const CfImage *image, const CfRect *rect)
{
  const CfFormatInfo *info = cf_format_info (image->format);

  cf_image_rows (part, image, rect->y, rect->y + rect->height);
  part->width = rect->width;
  for (int p = 0; info && p < info->n_planes; p++)
    part->plane[p].data = (uint8_t *) part->plane[p].data + cf_plane_row_bytes (image->format, rect->x, p);
}

static bool
is_filtered (CfRole role, CfApplyTo apply_to)
{
  switch (role) {
    case CF_ROLE_ALPHA:
      return false;
    case CF_ROLE_LUMA:
      return apply_to != CF_APPLY_CHROMA;
    case CF_ROLE_CHROMA:
      return apply_to != CF_APPLY_LUMA;
    default:
      return true;
  }
}

int
cf_image_views (const CfVideo *video, const CfCommon *common, const CfImage *image, CfView views[CF_MAX_VIEWS])
{
  const CfFormatInfo *info = cf_format_info (video->format);
  int fields = video->interlaced ? 2 : 1;
  int n = 0;

  for (int i = 0; info && i < info->n_components; i++) {
    const CfComponent *c = &info->comp[i];
    int rows = subsampled (video->height, c->h_sub);
    size_t pitch = image->plane[c->plane].pitch;
    uint8_t *data = image->plane[c->plane].data; /* NULL where a plan lists views before there is a frame */

    for (int f = 0; f < fields; f++) {
      int height = (rows + fields - 1 - f) / fields;

      if (height == 0)
        continue;
      views[n++] = (CfView) {
        .data = data ? data + pitch * (size_t) f + (size_t) c->offset * info->bytes : NULL,
        .pitch = pitch * (size_t) fields,
        .width = subsampled (video->width, c->w_sub),
        .height = height,
        .step = c->step,
        .bytes = info->bytes,
        .shift = info->shift,
        .bits = info->bits,
        .component = (uint8_t) i,
        .plane = c->plane,
        .field = (uint8_t) f,
        .filtered = is_filtered (c->role, common->apply_to),
      };
    }
  }
  return n;
}

void
cf_view_copy (const CfView *to, const CfView *from, int begin, int end)
{
  const size_t step = (size_t) from->step * from->bytes, width = (size_t) from->width;

  for (int y = begin; y < end; y++) {
    const uint8_t *in = from->data + from->pitch * (size_t) y;
    uint8_t *out = to->data + to->pitch * (size_t) y;

    if (from->step == 1)
      memcpy (out, in, width * from->bytes);
    else if (from->bytes == 1)
      for (size_t x = 0; x < width; x++)
        out[x * step] = in[x * step];
    else
      for (size_t x = 0; x < width; x++)
        memcpy (out + x * step, in + x * step, 2);
  }
}

/* ---- copies ------------------------------------------------------------- */

/* One thread copies at a quarter of the rate of the link to a GPU, and pageable memory is copied before its upload.
 * Therefore several threads copy a large image. */
#define CHUNK ((size_t) 512 << 10) /* bytes for which one more thread pays */
#define MAX_CHUNKS 8
#define AHEAD 4 /* rows */

typedef struct {
  const CfImage *to, *from;
  int n; /* chunks of rows */
} Copy;

/* Asks for a row that is copied later: where rows lie apart, each begins with a wait for memory. */
static void
ask_for (const uint8_t *from, uint8_t *to, size_t row)
{
  for (size_t i = 0; i < row + 63; i += 64) {
    __builtin_prefetch (from + i, 0);
    __builtin_prefetch (to + i, 1);
  }
}

static void
copy_chunk (void *data, int chunk, int thread)
{
  const Copy *c = data;
  const CfFormatInfo *info = cf_format_info (c->from->format);

  (void) thread;
  for (int p = 0; p < info->n_planes; p++) {
    size_t row = cf_plane_row_bytes (info->format, c->from->width, p);
    size_t from_pitch = c->from->plane[p].pitch, to_pitch = c->to->plane[p].pitch;
    int rows = cf_plane_rows (info->format, c->from->height, p);
    int begin = (int) ((long long) rows * chunk / c->n), end = (int) ((long long) rows * (chunk + 1) / c->n);
    const uint8_t *from = (const uint8_t *) c->from->plane[p].data + (size_t) begin * from_pitch;
    uint8_t *to = (uint8_t *) c->to->plane[p].data + (size_t) begin * to_pitch;

    if (from_pitch == row && to_pitch == row) {
      memcpy (to, from, (size_t) (end - begin) * row);
      continue;
    }
    for (int y = begin; y < end; y++, from += from_pitch, to += to_pitch) {
      if (y + AHEAD < end)
        ask_for (from + AHEAD * from_pitch, to + AHEAD * to_pitch, row);
      memcpy (to, from, row);
    }
  }
}

void
cf_image_copy_whole (const CfImage *to, const CfImage *from)
{
  const CfFormatInfo *info = cf_format_info (from->format);
  Copy copy = { to, from, 1 };
  size_t bytes = 0;

  for (int p = 0; p < info->n_planes; p++)
    bytes += cf_plane_row_bytes (info->format, from->width, p) * (size_t) cf_plane_rows (info->format, from->height, p);
  if (bytes / CHUNK > 1)
    copy.n = bytes / CHUNK > MAX_CHUNKS ? MAX_CHUNKS : (int) (bytes / CHUNK);
  cf_parallel_for (copy.n, copy_chunk, &copy);
}
