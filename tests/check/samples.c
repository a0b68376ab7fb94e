/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * samples.c: reads and writes the samples of an image one by one, using nothing but the format table and the contract
 * of cf.h. */
#include "kernelcheck.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int
kc_component_width (const CfFormatInfo *info, int component, int width)
{
  return (width + (1 << info->comp[component].w_sub) - 1) >> info->comp[component].w_sub;
}

int
kc_component_height (const CfFormatInfo *info, int component, int height)
{
  return (height + (1 << info->comp[component].h_sub) - 1) >> info->comp[component].h_sub;
}

int
kc_fields (const CfVideo *video)
{
  return video->interlaced ? 2 : 1;
}

static uint8_t *
sample_at (const CfImage *image, const CfFormatInfo *info, int component, int x, int y)
{
  const CfComponent *c = &info->comp[component];

  return (uint8_t *) image->plane[c->plane].data + (size_t) y * image->plane[c->plane].pitch +
      ((size_t) c->offset + (size_t) x * c->step) * info->bytes;
}

/* The word of a pixel of a packed format, and the largest value of a sample in it. */
static uint32_t
packed_word (const uint8_t *at)
{
  return at[0] | (uint32_t) at[1] << 8 | (uint32_t) at[2] << 16 | (uint32_t) at[3] << 24;
}

static uint32_t
packed_most (const CfComponent *c)
{
  return c->role == CF_ROLE_ALPHA ? 3 : 1023;
}

unsigned
kc_word (const CfImage *image, int component, int x, int y)
{
  const CfFormatInfo *info = cf_format_info (image->format);
  const uint8_t *at = sample_at (image, info, component, x, y);

  if (info->unpacked)
    return packed_word (at) >> info->comp[component].bit & packed_most (&info->comp[component]);
  return info->bytes == 2 ? at[0] | (unsigned) at[1] << 8 : at[0];
}

void
kc_put_word (const CfImage *image, int component, int x, int y, unsigned word)
{
  const CfFormatInfo *info = cf_format_info (image->format);
  const CfComponent *c = &info->comp[component];
  uint8_t *at = sample_at (image, info, component, x, y);

  if (info->unpacked) {
    const uint32_t most = packed_most (c), all = (packed_word (at) & ~(most << c->bit)) | (word & most) << c->bit;

    for (int i = 0; i < 4; i++)
      at[i] = (uint8_t) (all >> 8 * i);
    return;
  }
  at[0] = (uint8_t) word;
  if (info->bytes == 2)
    at[1] = (uint8_t) (word >> 8);
}

KcPlane
kc_unpack (const CfVideo *video, const CfImage *image, int component, int field)
{
  const CfFormatInfo *info = cf_format_info (image->format);
  int fields = kc_fields (video), rows = kc_component_height (info, component, image->height);
  unsigned max = (1u << info->bits) - 1;
  KcPlane plane = { .w = kc_component_width (info, component, image->width),
    .h = (rows + fields - 1 - field) / fields };

  plane.v = g_new (uint32_t, plane.w *plane.h + 1);
  for (int y = 0; y < plane.h; y++)
    for (int x = 0; x < plane.w; x++) {
      unsigned value = kc_word (image, component, x, y * fields + field) >> info->shift;

      plane.v[y * plane.w + x] = MIN (value, max);
    }
  return plane;
}

void
kc_pack (const CfVideo *video, const CfImage *image, int component, int field, const KcPlane *plane)
{
  const CfFormatInfo *info = cf_format_info (image->format);
  int fields = kc_fields (video);

  for (int y = 0; y < plane->h; y++)
    for (int x = 0; x < plane->w; x++)
      kc_put_word (image, component, x, y * fields + field, plane->v[y * plane->w + x] << info->shift);
}

void
kc_copy_component (const CfImage *in, const CfImage *out, int component)
{
  const CfFormatInfo *info = cf_format_info (in->format);
  int w = kc_component_width (info, component, in->width), h = kc_component_height (info, component, in->height);

  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++)
      kc_put_word (out, component, x, y, kc_word (in, component, x, y));
}

void
kc_rgb_components (const CfFormatInfo *info, int components[3])
{
  for (int c = 0; c < info->n_components; c++)
    if (info->comp[c].role >= CF_ROLE_RED && info->comp[c].role <= CF_ROLE_BLUE)
      components[info->comp[c].role - CF_ROLE_RED] = c;
}

bool
kc_is_filtered (const CfFormatInfo *info, int component, const CfCommon *common)
{
  CfRole role = info->comp[component].role;

  if (role == CF_ROLE_ALPHA)
    return false;
  if (common->apply_to == CF_APPLY_LUMA)
    return role == CF_ROLE_LUMA;
  if (common->apply_to == CF_APPLY_CHROMA)
    return role == CF_ROLE_CHROMA;
  return true;
}

uint32_t
kc_color_level (const CfColors *colors, bool rgb, uint32_t argb, int k)
{
  const double kr = colors->kr ? colors->kr : 2990, kb = colors->kb ? colors->kb : 1140;
  const double r = argb / 65536 % 256, g = argb / 256 % 256, b = argb % 256;
  const double luma = kr * r + (10000 - kr - kb) * g + kb * b;
  const double least = colors->limited ? 16 : 0, range = colors->limited ? 219 : 255;
  const double chroma = colors->limited ? 224 : 255;

  if (rgb)
    return (uint32_t) floor (least + range * (k == 0 ? r : k == 1 ? g : b) / 255 + 0.5);
  if (k == 0)
    return (uint32_t) floor (least + range * luma / 2550000 + 0.5);
  if (k == 1)
    return (uint32_t) ceil (128 + chroma * (10000 * b - luma) / (510 * (10000 - kb)) - 0.5);
  return (uint32_t) ceil (128 + chroma * (10000 * r - luma) / (510 * (10000 - kr)) - 0.5);
}

bool
kc_same_words (const CfVideo *video, const CfImage *a, const CfImage *b)
{
  const CfFormatInfo *info = cf_format_info (video->format);

  for (int i = 0; i < info->n_components; i++)
    for (int y = 0; y < kc_component_height (info, i, video->height); y++)
      for (int x = 0; x < kc_component_width (info, i, video->width); x++)
        if (kc_word (a, i, x, y) != kc_word (b, i, x, y))
          return false;
  return true;
}

int
kc_wrong_samples (const char *what, bool good, const uint32_t *got, const uint32_t *expected, int n)
{
  if (good && memcmp (got, expected, sizeof *got * (size_t) n) == 0)
    return 0;
  printf ("the reference of %s:", what);
  for (int i = 0; i < n; i++)
    printf (" %u (%u)", got[i], expected[i]);
  printf ("\n");
  return 1;
}
