/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * image.c: test images with guard pages and poisoned padding. */
#define _GNU_SOURCE
#include "kernelcheck.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint64_t
kc_random (uint64_t *state)
{
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double
kc_random_double (uint64_t *state)
{
  return (double) (kc_random (state) >> 11) / 9007199254740992.0;
}

int64_t
kc_root (int64_t square)
{
  int64_t r = (int64_t) sqrt ((double) square);

  while (r * r > square)
    r--;
  while ((r + 1) * (r + 1) <= square)
    r++;
  return r;
}

static size_t
round_up (size_t n, size_t to)
{
  return (n + to - 1) / to * to;
}

/* Chooses head, pitch and tail of a plane; samples stay aligned to their size. */
static void
plane_layout (KcLayout layout, size_t row, size_t bytes, uint64_t *state, size_t *head, size_t *pitch, size_t *tail)
{
  *head = *tail = 0;
  *pitch = row;
  switch (layout) {
    case KC_FRONT:
      *pitch = round_up (row, 64);
      *tail = *pitch - row;
      break;
    case KC_ODD:
      *head = bytes * (1 + kc_random (state) % 31);
      *pitch = row + bytes * (1 + kc_random (state) % 37);
      *tail = 1 + kc_random (state) % 40;
      break;
    case KC_WIDE:
      *head = 256;
      *pitch = round_up (row, 256) + 256;
      *tail = *pitch - row;
      break;
    default:
      break;
  }
}

void
kc_image_poison (KcImage *p, uint64_t seed)
{
  uint64_t state = seed ^ 0x706f69736f6eu;

  for (int i = 0; i < CF_MAX_PLANES; i++) {
    size_t n = p->mem[i].size, at = 0;

    for (; at + 8 <= n; at += 8) {
      uint64_t r = kc_random (&state);
      memcpy (p->mem[i].base + at, &r, 8);
    }
    for (; at < n; at++)
      p->mem[i].base[at] = (uint8_t) kc_random (&state);
  }
}

/* Returns `size` bytes of whole pages, of which the first and the last one cannot be accessed. */
static uint8_t *
map_guarded (size_t size)
{
  size_t page = (size_t) sysconf (_SC_PAGESIZE);
  uint8_t *map = mmap (NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (map == MAP_FAILED || mprotect (map + page, size - 2 * page, PROT_READ | PROT_WRITE) != 0)
    g_error ("out of memory");
  return map;
}

void
kc_image_new (KcImage *p, const CfVideo *video, KcLayout layout, uint64_t seed)
{
  const CfFormatInfo *info = cf_format_info (video->format);
  size_t page = (size_t) sysconf (_SC_PAGESIZE);
  uint64_t state = seed;

  *p = (KcImage) { .image = { .format = video->format, .width = video->width, .height = video->height } };
  for (int i = 0; i < info->n_planes; i++) {
    size_t row = cf_plane_row_bytes (video->format, video->width, i);
    size_t rows = (size_t) cf_plane_rows (video->format, video->height, i);
    size_t head, pitch, tail, size, inner;
    uint8_t *map;

    plane_layout (layout, row, info->bytes, &state, &head, &pitch, &tail);
    size = head + (rows - 1) * pitch + row + tail;
    inner = round_up (size, page);
    map = map_guarded (inner + 2 * page);
    p->mem[i].map = map;
    p->mem[i].map_size = inner + 2 * page;
    /* Row sizes are multiples of the size of a sample, so samples stay aligned when the image ends at the page. */
    p->mem[i].base = layout == KC_TIGHT ? map + page + inner - size : map + page;
    p->mem[i].size = size;
    p->image.plane[i].data = p->mem[i].base + head;
    p->image.plane[i].pitch = pitch;
  }
  kc_image_poison (p, seed);
}

void
kc_image_copy (KcImage *p, const KcImage *from)
{
  *p = *from;
  for (int i = 0; i < CF_MAX_PLANES; i++)
    if (from->mem[i].map) {
      p->mem[i].map = map_guarded (from->mem[i].map_size);
      p->mem[i].base = p->mem[i].map + (from->mem[i].base - from->mem[i].map);
      p->image.plane[i].data = p->mem[i].base + ((uint8_t *) from->image.plane[i].data - from->mem[i].base);
      memcpy (p->mem[i].base, from->mem[i].base, from->mem[i].size);
    }
}

void
kc_image_free (KcImage *p)
{
  for (int i = 0; i < CF_MAX_PLANES; i++)
    if (p->mem[i].map)
      (void) munmap (p->mem[i].map, p->mem[i].map_size);
  memset (p, 0, sizeof *p);
}

uint8_t
kc_natural (int x, int y, int frame, uint64_t seed)
{
  uint64_t state = seed ^ ((uint64_t) (unsigned) frame << 48) ^ ((uint64_t) (unsigned) y << 24) ^ (unsigned) x;
  uint64_t r = kc_random (&state);
  int moved = x + frame * 2;
  /* A slow gradient, blocks with hard edges, fine texture on every other block, and sensor noise as a sum of four
   * uniform numbers. */
  int light = 60 + (x + 2 * y) / 48 % 100;
  int block = (moved / 53 * 7 + y / 41 * 5) % 4 * 24;
  int texture = (moved / 53 + y / 41) % 2 ? (x * 5 ^ y * 3) & 31 : 0;
  int noise = (int) ((r & 15) + (r >> 8 & 15) + (r >> 16 & 15) + (r >> 24 & 15)) - 30;
  int v = light + block + texture + noise / 2;

  return (uint8_t) CLAMP (v, 0, 255);
}

/* Returns the patch of position (x, y): the one of the nearest of some points, one in each square of 16 x 16. The disc
 * is a patch of its own. */
static uint64_t
patch_at (int x, int y, int frame, uint64_t seed)
{
  int best = 1 << 30, cx = 20 + frame * 2 % 97, cy = 14 + frame % 31;
  uint64_t found = 0;

  if ((x - cx) * (x - cx) + (y - cy) * (y - cy) <= 36)
    return seed ^ 0x5eedu;
  for (int j = y / 16 - 1; j <= y / 16 + 1; j++)
    for (int i = x / 16 - 1; i <= x / 16 + 1; i++) {
      uint64_t state = seed ^ ((uint64_t) (unsigned) j << 32) ^ (unsigned) i, r = kc_random (&state);
      int dx = i * 16 + (int) (r & 15) - x, dy = j * 16 + (int) (r >> 4 & 15) - y;

      if (dx * dx + dy * dy < best) {
        best = dx * dx + dy * dy;
        found = state ^ r;
      }
    }
  return found;
}

/* Returns one byte of component `component` of a scene of flat, ramped and noisy patches of colour, with a disc that
 * moves from frame to frame. */
static uint8_t
patches_byte (int x, int y, int component, int frame, uint64_t seed)
{
  /* Equal, similar and distant colours. Bits of the patch decide whether it is a ramp, and how noisy it is. */
  static const uint8_t palette[8][3] = { { 60, 110, 140 }, { 66, 110, 138 }, { 74, 112, 136 }, { 130, 128, 128 },
    { 140, 128, 128 }, { 180, 90, 160 }, { 215, 120, 100 }, { 20, 130, 130 } };
  static const uint8_t noise[4] = { 0, 1, 3, 9 };
  const uint64_t patch = patch_at (x, y, frame, seed);
  uint64_t state = patch ^ ((uint64_t) (unsigned) frame << 50) ^ ((uint64_t) (unsigned) y << 24) ^ (unsigned) x, r;
  int v, n = noise[patch >> 20 & 3];

  state += (uint64_t) (unsigned) component << 60;
  r = kc_random (&state);
  v = palette[patch >> 8 & 7][component % 3] + (patch >> 30 & 1 ? (x + y) % 32 / 2 : 0);
  v += (int) (r % (unsigned) (2 * n + 1)) - n;
  return (uint8_t) CLAMP (v, 0, 255);
}

static unsigned
sample_word (KcContent content, const CfFormatInfo *info, int x, int y, int frame, uint64_t seed, uint64_t *state)
{
  const int size = info->unpacked ? info->bits : info->bytes * 8; /* bits of a word */
  unsigned all = (1u << size) - 1;
  unsigned top = ((1u << info->bits) - 1) << info->shift;
  uint64_t r;

  switch (content) {
    case KC_LOW:
      return 0;
    case KC_HIGH:
      return all; /* above the maximum where the word has more bits than the sample */
    case KC_GRADIENT:
      return ((unsigned) (x * 3 + y * 5 + frame * 11) << (size - 8)) & top;
    case KC_SALT:
      r = kc_random (state);
      if (r % 8 == 0)
        return r & 8 ? 0 : top;
      return ((unsigned) (x * 2 + y + frame) << (size - 8)) & top;
    case KC_TIES:
      return (unsigned) (100 + (kc_random (state) & 1)) << info->shift;
    case KC_NATURAL:
      return (unsigned) kc_natural (x, y, frame, seed) << (info->bits - 8) << info->shift;
    default:
      return (unsigned) kc_random (state) & all;
  }
}

/* All components use the same patches; the lower bits of deeper samples are noise. */
static unsigned
patches_word (const CfFormatInfo *info, int component, int x, int y, int frame, uint64_t seed)
{
  uint64_t state = seed ^ ((uint64_t) (unsigned) x << 32) ^ (unsigned) (y * 4 + component);
  const unsigned deep = (unsigned) kc_random (&state) & ((1u << (info->bits - 8)) - 1);

  return ((unsigned) patches_byte (x, y, component, frame, seed) << (info->bits - 8) | deep) << info->shift;
}

void
kc_image_fill (KcImage *p, KcContent content, int frame, uint64_t seed)
{
  const CfFormatInfo *info = cf_format_info (p->image.format);

  for (int c = 0; c < info->n_components; c++) {
    const CfComponent *comp = &info->comp[c];
    const int w = kc_component_width (info, c, p->image.width), h = kc_component_height (info, c, p->image.height);
    uint64_t state = seed + (uint64_t) frame * 1000003u + (uint64_t) c * 7919u;

    for (int y = 0; y < h; y++)
      for (int x = 0; x < w; x++)
        kc_put_word (&p->image, c, x, y,
            content == KC_PATCHES ? patches_word (info, c, x << comp->w_sub, y << comp->h_sub, frame, seed)
                                  : sample_word (content, info, x, y, frame + 3 * c, seed, &state));
  }
}
