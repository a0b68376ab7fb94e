/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/area.c: areas: the boxes around what is filtered, the shapes and maps that say how strongly, copies of parts of
 * frames, and the blend on the CPU (its rows: blend_simd.c).
 *
 * Boxes whose CfBox.read rectangles overlap are joined, so each box can be filtered by itself, in any order, and be
 * blended in place. If there are too many shapes for the table, they are drawn into a map; if there are too many boxes,
 * one box surrounds all. */
#include "blend.h"
#include "cpu.h"
#include "device.h"
#include "threads.h"

#include <stdlib.h>
#include <string.h>

/* Boxes are read from a multiple of this many columns on, where the frame has them: the kernels load aligned words. */
#define READ_ALIGN 32

/* ---- rectangles --------------------------------------------------------- */

/* Clips a rectangle to the frame. Returns false if nothing is left. */
static bool
clip (CfRect *r, int width, int height)
{
  const int64_t right = (int64_t) r->x + r->width, below = (int64_t) r->y + r->height;

  if (r->width <= 0 || r->height <= 0 || right <= 0 || below <= 0 || r->x >= width || r->y >= height)
    return false;
  r->x = cf_max (r->x, 0);
  r->y = cf_max (r->y, 0);
  r->width = (int) (right < width ? right : width) - r->x;
  r->height = (int) (below < height ? below : height) - r->y;
  return true;
}

static CfRect
around (const CfRect *a, const CfRect *b)
{
  const int x = cf_min (a->x, b->x), y = cf_min (a->y, b->y);

  return (
      CfRect) { x, y, cf_max (a->x + a->width, b->x + b->width) - x, cf_max (a->y + a->height, b->y + b->height) - y };
}

static bool
meet (const CfRect *a, const CfRect *b)
{
  return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height && b->y < a->y + a->height;
}

/* Extends a rectangle to multiples of column and row, within the frame. */
static CfRect
align (CfRect r, int column, int row, int width, int height)
{
  const int right = cf_min ((r.x + r.width + column - 1) / column * column, width);
  const int below = cf_min ((r.y + r.height + row - 1) / row * row, height);

  r.x = r.x / column * column;
  r.y = r.y / row * row;
  r.width = right - r.x;
  r.height = below - r.y;
  return r;
}

/* ---- boxes -------------------------------------------------------------- */

/* Common to all boxes of an area, in pixels: the units in which they begin and end, the halo, the unit of columns that
 * are read. */
typedef struct {
  int column, row, halo_x, halo_y, read_column;
  bool replicates;
} Units;

/* Returns whether all samples of a plane have the same number a pixel, so that copies of a pixel are copies of all its
 * samples. */
static bool
pixels_alike (const CfFormatInfo *info)
{
  for (int i = 1; i < info->n_components; i++)
    for (int k = 0; k < i; k++)
      if (info->comp[i].plane == info->comp[k].plane && info->comp[i].w_sub != info->comp[k].w_sub)
        return false;
  return true;
}

static Units
units_of (const CfArea *area, const CfTraits *traits)
{
  const CfFormatInfo *info = cf_format_info (area->format);
  int w_sub = 0, h_sub = 0;

  for (int i = 0; i < info->n_components; i++) {
    w_sub = cf_max (w_sub, info->comp[i].w_sub);
    h_sub = cf_max (h_sub, info->comp[i].h_sub);
  }
  return (Units) {
    .column = 1 << w_sub,
    .row = (1 << h_sub) << (area->interlaced ? 1 : 0),
    .halo_x = area->by_halo ? traits->halo_columns << w_sub : 0,
    .halo_y = area->by_halo ? (traits->halo << h_sub) << (area->interlaced ? 1 : 0) : 0,
    .read_column = area->by_halo && !area->anchored ? READ_ALIGN : 1 << w_sub,
    .replicates = traits->replicates && pixels_alike (info),
  };
}

static CfRect
with_halo (const CfRect *write, const Units *u)
{
  return (CfRect) { write->x - u->halo_x, write->y - u->halo_y, write->width + 2 * u->halo_x,
    write->height + 2 * u->halo_y };
}

static CfRect
read_of (const CfArea *area, const CfRect *write, const Units *u)
{
  CfRect r = with_halo (write, u);

  clip (&r, area->width, area->height);
  return align (r, u->read_column, u->row, area->width, area->height);
}

/* Returns the largest multiple of `unit` that is not more than `value`. */
static int
round_down (int value, int unit)
{
  return value - (value % unit + unit) % unit;
}

/* Returns CfBox.sheet of a box. No width: filter it alone. At the frame's border that is needed unless the filter
 * replicates the nearest sample there. */
static CfRect
sheet_of (const CfBox *box, const CfArea *area, const Units *u)
{
  const CfRect r = with_halo (&box->write, u);
  CfRect all = { round_down (r.x, u->read_column), round_down (r.y, u->row) };

  if (area->anchored || !area->by_halo)
    return (CfRect) { 0 };
  if (r.x >= 0 && r.y >= 0 && r.x + r.width <= area->width && r.y + r.height <= area->height)
    return box->read;
  all.width = -round_down (-r.x - r.width, u->read_column) - all.x;
  all.height = -round_down (-r.y - r.height, u->row) - all.y;
  return u->replicates && all.width <= area->width && all.height <= area->height ? all : (CfRect) { 0 };
}

/* Adds a rectangle to the boxes; those whose `read` overlaps its own are joined with it. Returns the new number. */
static unsigned
add_box (const CfArea *area, CfBox *box, unsigned n, CfRect write, const Units *u)
{
  CfRect read;

  for (bool joined = true; joined;) {
    joined = false;
    read = read_of (area, &write, u);
    for (unsigned i = 0; i < n && !joined; i++)
      if (meet (&read, &box[i].read)) {
        write = around (&write, &box[i].write);
        box[i] = box[--n];
        joined = true;
      }
  }
  box[n] = (CfBox) { .write = write, .read = read };
  box[n].sheet = sheet_of (&box[n], area, u);
  return n + 1;
}

/* Makes the boxes of a list of clipped rectangles; one that surrounds all of them if there are too many. */
static void
make_boxes (CfArea *area, const CfRect *rect, unsigned n, const Units *u)
{
  CfRect all = { 0 };

  area->n_boxes = 0;
  for (unsigned i = 0; i < n; i++) {
    const CfRect write = align (rect[i], u->column, u->row, area->width, area->height);

    all = i ? around (&all, &write) : write;
    if (area->n_boxes < CF_AREA_BOXES)
      area->n_boxes = add_box (area, area->box, area->n_boxes, write, u);
    else
      area->n_boxes = CF_AREA_BOXES + 1;
  }
  if (area->n_boxes > CF_AREA_BOXES)
    area->n_boxes = add_box (area, area->box, 0, all, u);
}

/* ---- maps --------------------------------------------------------------- */

static CfMap *
map_new (const CfArea *area, const CfMap *from, CfStatus *status)
{
  static uint64_t number;
  const size_t size = (size_t) area->width * (size_t) area->height;
  CfMap *map = calloc (1, sizeof *map + size);

  if (!map) {
    cf_fail (status, CF_NO_MEMORY, "out of memory: a mask of %d x %d pixels", area->width, area->height);
    return NULL;
  }
  if (from) { /* its count of references may change meanwhile */
    map->full = from->full;
    map->n = from->n;
    memcpy (map->part, from->part, sizeof map->part);
    memcpy (map->strength, from->strength, size);
  }
  map->refs = 1;
  map->number = __atomic_add_fetch (&number, 1, __ATOMIC_RELAXED);
  return map;
}

static void
map_unref (CfMap *map)
{
  if (map && __atomic_sub_fetch (&map->refs, 1, __ATOMIC_ACQ_REL) == 0)
    free (map);
}

static void
add_part (CfMap *map, CfRect r)
{
  if (map->n < CF_AREA_BOXES)
    map->part[map->n++] = r;
  else
    map->part[0] = around (&map->part[0], &r);
}

/* Sets toggle[x] for the first pixel x of row `y` whose centre is to the right of an edge, for each edge. */
static void
cross_edges (const CfPolygon *p, int y, int width, uint8_t *toggle)
{
  const int64_t at = 256 * (int64_t) y + 128;

  memset (toggle, 0, (size_t) width);
  for (unsigned i = 0; i < p->n; i++) {
    const CfPoint a = p->point[i], b = p->point[i + 1 < p->n ? i + 1 : 0];
    int64_t n, d, x;

    if ((a.y <= at) == (b.y <= at))
      continue;
    /* 256 x + 128 > a.x + (at - a.y) (b.x - a.x) / (b.y - a.y) */
    d = (int64_t) b.y - a.y;
    n = ((int64_t) a.x - 128) * d + (at - a.y) * ((int64_t) b.x - a.x);
    n = d < 0 ? -n : n;
    d = 256 * (d < 0 ? -d : d);
    x = n < 0 ? 0 : n / d + 1;
    if (x < width)
      toggle[x] ^= 1;
  }
}

static bool
add_polygon (const CfArea *area, CfMap *map, const CfPolygon *p)
{
  uint8_t *toggle = malloc ((size_t) area->width);
  int first = area->width, last = -1, top = -1, bottom = -1;

  if (!toggle)
    return false;
  for (int y = 0; p->n >= 3 && y < area->height; y++) {
    uint8_t *row = map->strength + (size_t) y * (size_t) area->width, inside = 0;

    cross_edges (p, y, area->width, toggle);
    for (int x = 0; x < area->width; x++) {
      inside ^= toggle[x];
      if (!inside)
        continue;
      row[x] = 255;
      first = cf_min (first, x);
      last = cf_max (last, x);
      top = top < 0 ? y : top;
      bottom = y;
    }
  }
  free (toggle);
  if (bottom >= 0)
    add_part (map, (CfRect) { first, top, last - first + 1, bottom - top + 1 });
  return true;
}

static void
add_mask (const CfArea *area, CfMap *map, const uint8_t *mask)
{
  int first = area->width, last = -1, top = -1, bottom = -1;

  for (int y = 0; y < area->height; y++, mask += area->width) {
    uint8_t *row = map->strength + (size_t) y * (size_t) area->width;

    for (int x = 0; x < area->width; x++) {
      if (!mask[x])
        continue;
      row[x] = row[x] > mask[x] ? row[x] : mask[x];
      first = cf_min (first, x);
      last = cf_max (last, x);
      top = top < 0 ? y : top;
      bottom = y;
    }
  }
  if (bottom >= 0)
    add_part (map, (CfRect) { first, top, last - first + 1, bottom - top + 1 });
}

/* Gives the area a map if it needs one. Returns false when memory is out. */
static bool
make_map (CfArea *area, const CfAreaSpec *spec, CfStatus *status)
{
  const size_t size = (size_t) area->width * (size_t) area->height;
  CfMap *base = spec->base ? spec->base->map : NULL;

  if (!spec->n_polygons && !spec->mask) {
    if (base)
      __atomic_add_fetch (&base->refs, 1, __ATOMIC_RELAXED);
    area->map = base;
    return true;
  }
  area->map = map_new (area, base, status);
  if (!area->map)
    return false;
  for (unsigned i = 0; i < spec->n_polygons; i++)
    if (!add_polygon (area, area->map, &spec->polygon[i])) {
      cf_fail (status, CF_NO_MEMORY, "out of memory");
      return false;
    }
  if (spec->mask)
    add_mask (area, area->map, spec->mask);
  area->map->full = area->map->strength[0] == 255 &&
      memcmp (area->map->strength, area->map->strength + 1, size - 1) == 0;
  return true;
}

/* ---- shapes ------------------------------------------------------------- */

/* Fills the shape of a rectangle, and the rectangle of the frame's pixels that it can cover. Returns false if there is
 * none. */
static bool
make_shape (const CfArea *area, const CfRect *rect, CfShape *shape, CfRect *pixels)
{
  CfRect r = *rect;

  *pixels = r;
  if (!clip (pixels, area->width, area->height))
    return false;
  if (!area->ellipses)
    r = *pixels;
  else { /* an ellipse that is larger than the table can say is one of the largest size with the same centre */
    const int wide = r.width - cf_min (r.width, CF_SHAPE_MAX), high = r.height - cf_min (r.height, CF_SHAPE_MAX);

    r = (CfRect) { r.x + wide / 2, r.y + high / 2, r.width - wide, r.height - high };
    *pixels = r;
    if (!clip (pixels, area->width, area->height))
      return false;
  }
  *shape = (CfShape) { (int16_t) r.x, (int16_t) r.y, (uint16_t) r.width, (uint16_t) r.height };
  return true;
}

/* Returns half the number of a row's pixels, from the ellipse's middle on, that are inside: the pixels x with
 * |2 x + 1 - W| <= that number, which is of the other parity than W. -1: none. */
static int
half_width (const CfShape *s, int y)
{
  const int64_t w = s->width, h = s->height, dy = 2 * (int64_t) (y - s->y) + 1 - h;
  const int64_t room = w * w * (h * h - dy * dy);
  int low = -1, high = s->width;

  if (room < 0)
    return -1;
  while (low + 1 < high) { /* low fits, high does not */
    const int64_t middle = (low + high) / 2;

    if (middle * middle * h * h <= room)
      low = (int) middle;
    else
      high = (int) middle;
  }
  return low;
}

void
cf_area_draw (const CfArea *area, const CfShape *s, int y, int x0, int width, uint8_t *row)
{
  int first = s->x, end = s->x + s->width;

  if (y < s->y || y >= s->y + s->height)
    return;
  if (area->ellipses) {
    const int half = half_width (s, y);

    /* 2 (x - X) + 1 - W in -half..half */
    first = s->x + (s->width - 1 - half + 1) / 2;
    end = half < 0 ? first : s->x + (s->width - 1 + half) / 2 + 1;
  }
  first = cf_max (first, x0);
  end = cf_min (end, x0 + width);
  if (first < end)
    memset (row + (first - x0), 255, (size_t) (end - first));
}

/* Stores the rectangles as shapes, or draws them into the map if they are too many. `pixels` gets the `*n` that are not
 * empty, clipped. Returns false when memory is out. */
static bool
take_rects (CfArea *area, const CfAreaSpec *spec, CfRect *pixels, unsigned *n, CfStatus *status)
{
  CfShape shape;

  *n = 0;
  for (unsigned i = 0; i < spec->n_rects; i++) {
    if (!make_shape (area, &spec->rect[i], &shape, &pixels[*n]))
      continue;
    if (*n < CF_AREA_SHAPES)
      area->shape[*n] = shape;
    area->whole = area->whole || (!area->ellipses && shape.width == area->width && shape.height == area->height);
    (*n)++;
  }
  area->n_shapes = *n;
  if (*n > CF_AREA_SHAPES) {
    CfMap *map = map_new (area, area->map, status);

    if (!map)
      return false;
    map_unref (area->map);
    area->map = map;
    area->n_shapes = 0;
    for (unsigned i = 0; i < spec->n_rects; i++) {
      CfRect inside;

      if (make_shape (area, &spec->rect[i], &shape, &inside))
        for (int y = inside.y; y < inside.y + inside.height; y++)
          cf_area_draw (area, &shape, y, 0, area->width, map->strength + (size_t) y * (size_t) area->width);
    }
  }
  return true;
}

/* Orders the shapes by box, fills CfBox.shape, .n, .solid and .full. A box with a rectangle that cuts samples of chroma
 * has a `full` if all components of a plane cut it alike. */
static void
deal_shapes (CfArea *area)
{
  const bool alike = !area->ellipses && !area->invert && !area->map && !area->interlaced &&
      pixels_alike (cf_format_info (area->format));
  CfShape ordered[CF_AREA_SHAPES];
  unsigned n = 0;

  area->plain = true;
  for (unsigned b = 0; b < area->n_boxes; b++) {
    CfBox *box = &area->box[b];

    box->shape = n;
    for (unsigned i = 0; i < area->n_shapes; i++) {
      const CfShape *s = &area->shape[i];
      const CfRect r = { s->x, s->y, s->width, s->height };

      if (meet (&r, &box->write))
        ordered[n++] = *s;
      box->solid = box->solid ||
          (!area->ellipses && !area->invert && r.x <= box->write.x && r.y <= box->write.y &&
              r.x + r.width >= box->write.x + box->write.width && r.y + r.height >= box->write.y + box->write.height);
    }
    box->n = n - box->shape;
    if (box->solid)
      box->full = box->write;
    else if (alike && box->n == 1) {
      const CfShape *s = &ordered[box->shape];

      box->full = (CfRect) { s->x, s->y, s->width, s->height };
      clip (&box->full, area->width, area->height);
    }
    area->plain = area->plain && box->full.width > 0;
  }
  memcpy (area->shape, ordered, n * sizeof *ordered);
}

/* ---- areas -------------------------------------------------------------- */

static bool
fill (CfArea *area, const CfTraits *traits, const CfAreaSpec *spec, CfStatus *status)
{
  const CfRect frame = { 0, 0, area->width, area->height };
  const Units units = units_of (area, traits);
  CfRect *pixels = malloc ((spec->n_rects + CF_AREA_BOXES) * sizeof *pixels);
  unsigned n = 0;
  bool good;

  if (!pixels)
    cf_fail (status, CF_NO_MEMORY, "out of memory: %u regions", spec->n_rects);
  good = pixels && make_map (area, spec, status) && take_rects (area, spec, pixels, &n, status);
  if (good) {
    for (unsigned i = 0; area->map && i < area->map->n; i++)
      pixels[n++] = area->map->part[i];
    area->whole = area->whole || (area->map && area->map->full);
    if (area->invert && n == 0)
      area->whole = true;
    else if (area->invert && area->whole) {
      area->whole = false;
      area->n_shapes = n = 0;
    } else if (area->invert || area->whole) {
      pixels[0] = frame;
      n = 1;
    }
    make_boxes (area, area->whole ? &frame : pixels, area->whole ? 1 : n, &units);
    deal_shapes (area);
  }
  free (pixels);
  return good;
}

CfArea *
cf_area_new (const CfVideo *video, const CfTraits *traits, const CfAreaSpec *spec, CfStatus *status)
{
  CfArea *area = calloc (1, sizeof *area);

  if (!area) {
    cf_fail (status, CF_NO_MEMORY, "out of memory");
    return NULL;
  }
  area->refs = 1;
  area->format = video->format;
  area->width = video->width;
  area->height = video->height;
  area->interlaced = video->interlaced;
  area->ellipses = spec->ellipses;
  area->invert = spec->invert;
  area->anchored = traits->anchored;
  area->by_halo = traits->halo >= 0 && traits->history == 0 && !traits->stateful;
  if (fill (area, traits, spec, status))
    return area;
  cf_area_unref (area);
  return NULL;
}

CfArea *
cf_area_ref (CfArea *area)
{
  __atomic_add_fetch (&area->refs, 1, __ATOMIC_RELAXED);
  return area;
}

void
cf_area_unref (CfArea *area)
{
  if (!area || __atomic_sub_fetch (&area->refs, 1, __ATOMIC_ACQ_REL) != 0)
    return;
  map_unref (area->map);
  free (area);
}

CfAreaInfo
cf_area_info (const CfArea *area)
{
  CfAreaInfo info = { .empty = area->n_boxes == 0, .whole = area->whole, .solid = true };

  for (unsigned i = 0; i < area->n_boxes; i++) {
    info.solid = info.solid && area->box[i].solid;
    info.pixels += (uint64_t) area->box[i].write.width * (uint64_t) area->box[i].write.height;
  }
  return info;
}

/* ---- copies ------------------------------------------------------------- */

/* Lists the rectangles of a part, and where they go to in an image of the frame's size. */
static unsigned
list_pieces (const CfPart *part, CfPiece piece[CF_PIECES])
{
  const CfArea *area = part->area;

  for (unsigned i = 0; i < area->n_boxes; i++) {
    const CfRect *r = part->use == CF_AREA_READ ? &area->box[i].read : &area->box[i].write;

    piece[i] = (CfPiece) { *r, r->x, r->y };
  }
  return area->n_boxes;
}

/* Lays the rectangles one below another in the memory of `image`, aligned as in the frame: sets `packed` and where each
 * piece goes. The host reads rows that follow each other faster than rows of a frame. Without room the pieces stay
 * where they are. */
static void
pack (const CfImage *image, CfPiece *piece, unsigned n, CfImage *packed)
{
  const CfFormatInfo *info = cf_format_info (image->format);
  const int last = info->n_planes - 1;
  const size_t room = (size_t) ((uint8_t *) image->plane[last].data - (uint8_t *) image->plane[0].data) +
      image->plane[last].pitch * (size_t) cf_plane_rows (image->format, image->height, last);
  int width = 0, height = 0;
  CfImage layout;

  *packed = *image;
  for (unsigned i = 0; i < n; i++) {
    width = cf_max (width, piece[i].from.x % 32 + piece[i].from.width);
    height += (piece[i].from.height + 3) / 4 * 4;
  }
  if (n == 0 || cf_image_layout (&layout, image->format, width, height, 64) > room)
    return;
  cf_image_at (packed, &layout, image->plane[0].data);
  height = 0;
  for (unsigned i = 0; i < n; i++) {
    piece[i].x = piece[i].from.x % 32;
    piece[i].y = height;
    height += (piece[i].from.height + 3) / 4 * 4;
  }
}

void
cf_image_copy (const CfImage *to, const CfImage *from, const CfPart *part)
{
  CfPiece piece[CF_PIECES];
  CfImage image = *from;
  unsigned n;

  if (!part || (part->use == CF_AREA_READ && !part->area->by_halo)) {
    cf_image_copy_whole (to, from);
    return;
  }
  n = list_pieces (part, piece);
  if (part->use == CF_AREA_PACKED)
    pack (from, piece, n, &image);
  for (unsigned i = 0; i < n; i++) {
    const CfRect *rect = &piece[i].from, there = { piece[i].x, piece[i].y, rect->width, rect->height };
    CfImage to_part, from_part;

    cf_image_part (&to_part, to, rect);
    cf_image_part (&from_part, &image, &there);
    cf_image_copy_whole (&to_part, &from_part);
  }
}

CfCode
cf_stream_copy (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, const CfPart *part,
    CfStatus *status)
{
  CfPiece piece[CF_PIECES];
  CfImage image = *to;
  unsigned n;

  if (!part)
    return cf_stream_copy_planes (stream, direction, to, from, true, status);
  if (part->use == CF_AREA_READ && !part->area->by_halo)
    return cf_stream_copy_planes (stream, direction, to, from, false, status);
  n = list_pieces (part, piece);
  if (part->use == CF_AREA_PACKED)
    pack (to, piece, n, &image);
  return cf_stream_copy_pieces (stream, direction, &image, from, false, piece, n, status);
}

/* ---- the blend on the CPU ------------------------------------------------ */

static const CfBlendSimd *const simd[] = CF_ISA_TABLES (cf_blend_simd);

typedef struct {
  CfBlend blend;
  const CfBlendSimd *simd;
  int n; /* rows of tasks a box */
} Work;

static void
blend_task (void *data, int task, int thread)
{
  const Work *w = data;
  const CfArea *area = w->blend.area;
  const CfBox *box = &area->box[task / w->n];
  const CfFormatInfo *info = cf_format_info (area->format);

  (void) thread;
  for (int p = 0; p < info->n_planes; p++) {
    const int top = cf_plane_rows (info->format, box->write.y, p);
    const int rows = cf_plane_rows (info->format, box->write.height, p), part = task % w->n;

    w->simd->rows (&w->blend, box, p, top + (int) ((int64_t) rows * part / w->n),
        top + (int) ((int64_t) rows * (part + 1) / w->n));
  }
}

void
cf_area_blend (const CfArea *area, const CfImage *in, const CfImage *filtered, const CfImage *out)
{
  Work work = { { area, in, filtered, out }, simd[cf_cpu_isa_number ()], area->n_boxes < 4 ? 8 : 1 };

  cf_parallel_for ((int) area->n_boxes * work.n, blend_task, &work);
}
