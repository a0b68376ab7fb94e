/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/cpu/paint.c: painting and the label map on the CPU: step 12 of segment/segment.h. Runs of
 * pixels are filled with the colour of their region. */
#include "internal.h"

#include <string.h>

/* ---- colours ------------------------------------------------------------- */

/* Converts the three 8-bit components of a colour to stored words of the format. */
static void
words_of_color (const CfSgCpu *m, uint32_t color, uint32_t word[3])
{
  for (int k = 0; k < 3; k++)
    word[k] = (color >> 8 * k & 255) << (m->info->bits - 8) << m->info->shift;
}

static void
words_of_label (const CfSgCpu *m, uint32_t id, uint32_t word[3])
{
  const uint32_t h = id * 2654435769u;
  const uint32_t r = 64 + 3 * (h >> 24) / 4, g = 64 + 3 * (h >> 16 & 255) / 4, b = 64 + 3 * (h >> 8 & 255) / 4;

  words_of_color (m, m->info->rgb ? r | g << 8 | b << 16 : cf_sg_ycbcr (r, g, b), word);
}

static void
words_of_mean (const CfSgCpu *m, const CfSegmentRegion *r, uint32_t word[3])
{
  for (int k = 0; k < 3; k++)
    word[k] = r->n[k] ? (uint32_t) ((2 * r->sum[k] + r->n[k]) / (2 * (uint64_t) r->n[k])) << m->info->shift : 0;
}

/* Puts the words of region i into the palettes of the planes or components that are painted. */
static void
set_color (CfSgCpu *m, uint32_t i, const uint32_t word[3])
{
  for (int p = 0; p < m->info->n_planes; p++)
    if (m->palette[p])
      m->palette[p][i] = 0;
  for (int k = 0; k < m->n_colors; k++) {
    const CfComponent *c = &m->info->comp[k];

    if (m->plane[c->plane].painting == CF_SG_PER_COMPONENT)
      m->palette[k][i] = word[k];
    else
      m->palette[c->plane][i] |= word[k] << (8 * m->info->bytes * c->offset);
  }
}

static void
set_palette (CfSgCpu *m)
{
  const uint32_t n = m->setup.output == CF_SEGMENT_BOUNDARIES ? 1 : m->n_found;

  for (uint32_t i = 0; i < n; i++) {
    uint32_t word[3];

    if (m->setup.output == CF_SEGMENT_MEAN)
      words_of_mean (m, &m->region[i], word);
    else if (m->setup.output == CF_SEGMENT_LABELS)
      words_of_label (m, m->found_id[m->now][i], word);
    else
      words_of_color (m, m->setup.color, word);
    set_color (m, i, word);
  }
}

/* ---- rows ---------------------------------------------------------------- */

/* Copies the visible samples of a row of a plane. In 4:2:2 packed in one plane, a row of odd width ends with a sample
 * that is not visible and must not be written. */
static void
copy_row (const CfSgCpu *m, int plane, int row)
{
  const CfFormatInfo *info = m->info;
  const uint8_t *in = (const uint8_t *) m->in_image->plane[plane].data + m->in_image->plane[plane].pitch * (size_t) row;
  uint8_t *out = (uint8_t *) m->out_image->plane[plane].data + m->out_image->plane[plane].pitch * (size_t) row;
  size_t bytes = cf_plane_row_bytes (info->format, m->video.width, plane);

  if (m->plane[plane].uneven && m->video.width % 2) {
    bytes -= (size_t) m->plane[plane].group;
    for (int k = 0; k < info->n_components; k++) {
      const CfComponent *c = &info->comp[k];
      const size_t at = (size_t) (c->offset + c->step * ((m->video.width - 1) >> c->w_sub)) * info->bytes;

      memcpy (out + at, in + at, info->bytes);
    }
  }
  memcpy (out, in, bytes);
}

/* Fills the bytes from .. end - 1 of a row with a pattern of 8 bytes. With `may_overrun` it may also write some bytes
 * behind them, but none from `limit` on. */
static inline void
fill (uint8_t *row, size_t from, size_t end, uint64_t pattern, int group, size_t limit, bool may_overrun)
{
  const uint64_t two[2] = { pattern, pattern };

  if (may_overrun)
    for (; from < end && from + 16 <= limit; from += 16)
      memcpy (row + from, two, 16);
  for (; from + 8 <= end; from += 8)
    memcpy (row + from, two, 8);
  for (; from < end; from += (size_t) group)
    memcpy (row + from, two, (size_t) group);
}

/* Paints the runs of a row in a plane with groups of 1, 2 or 4 bytes. `may_overrun`: every pixel of the row is painted
 * from left to right, so a run may write into the next. */
static inline void
fill_runs (const CfSgPlane *plane, const uint32_t *palette, const uint32_t *run, size_t n, int width, bool may_overrun,
    uint8_t *row, int group)
{
  const uint32_t round = (1u << plane->w_sub) - 1, limit = ((uint32_t) width + round) >> plane->w_sub;

  for (size_t i = 0; i < n; i++) {
    const uint32_t from = run[i] >> 16, end = i + 1 < n ? run[i + 1] >> 16 : (uint32_t) width;
    const uint32_t label = run[i] & 0xffff;
    uint64_t pattern;

    if (label == CF_SG_UNPAINTED)
      continue;
    pattern = palette[label];
    pattern = group == 1 ? pattern * 0x0101010101010101u
        : group == 2     ? pattern * 0x0001000100010001u
                         : pattern * 0x0000000100000001u;
    fill (row, (size_t) ((from + round) >> plane->w_sub) * (size_t) group,
        (size_t) ((end + round) >> plane->w_sub) * (size_t) group, pattern, group, (size_t) limit * (size_t) group,
        may_overrun);
  }
}

/* Paints the runs of a row pixel by pixel: groups of 3 bytes, or of 4 bytes of which some are kept. */
static void
blend_runs (const CfSgPlane *plane, const uint32_t *palette, const uint32_t *run, size_t n, int width, uint8_t *row)
{
  const uint32_t keep = ~plane->mask;

  for (size_t i = 0; i < n; i++) {
    const uint32_t from = run[i] >> 16, end = i + 1 < n ? run[i + 1] >> 16 : (uint32_t) width;
    const uint32_t label = run[i] & 0xffff, color = label == CF_SG_UNPAINTED ? 0 : palette[label] & plane->mask;

    if (label == CF_SG_UNPAINTED)
      continue;
    if (plane->group == 3)
      for (uint8_t *to = row + 3 * from; to < row + 3 * end; to += 3) {
        to[0] = (uint8_t) color;
        to[1] = (uint8_t) (color >> 8);
        to[2] = (uint8_t) (color >> 16);
      }
    else
      for (uint32_t x = from; x < end; x++) {
        uint32_t word;

        memcpy (&word, row + 4 * x, 4);
        word = (word & keep) | color;
        memcpy (row + 4 * x, &word, 4);
      }
  }
}

/* Paints the runs of a row in one 8-bit component of a packed plane. */
static void
paint_component_runs (const CfSgCpu *m, int k, const uint32_t *run, size_t n, uint8_t *row)
{
  const CfComponent *c = &m->info->comp[k];
  const uint32_t round = (1u << c->w_sub) - 1;

  for (size_t i = 0; i < n; i++) {
    const uint32_t from = run[i] >> 16, end = i + 1 < n ? run[i + 1] >> 16 : (uint32_t) m->video.width;
    const uint32_t label = run[i] & 0xffff;

    for (uint32_t x = (from + round) >> c->w_sub; label != CF_SG_UNPAINTED && x < (end + round) >> c->w_sub; x++)
      row[c->offset + c->step * x] = (uint8_t) m->palette[k][label];
  }
}

static void
paint_plane (const CfSgCpu *m, int p, int row, const uint32_t *run, size_t n, bool all)
{
  const CfSgPlane *plane = &m->plane[p];
  uint8_t *to = (uint8_t *) m->out_image->plane[p].data + m->out_image->plane[p].pitch * (size_t) row;
  const int width = m->video.width;

  if (!all || plane->painting != CF_SG_FILL)
    copy_row (m, p, row);
  if (n == 0 || plane->painting == CF_SG_COPY)
    return;
  if (plane->painting == CF_SG_PER_COMPONENT) {
    for (int k = 0; k < m->n_colors; k++)
      if (m->info->comp[k].plane == p && m->in[k].filtered)
        paint_component_runs (m, k, run, n, to);
  } else if (plane->painting == CF_SG_BLEND || plane->group == 3) {
    blend_runs (plane, m->palette[p], run, n, width, to);
  } else if (plane->group == 1) {
    fill_runs (plane, m->palette[p], run, n, width, all, to, 1);
  } else if (plane->group == 2) {
    fill_runs (plane, m->palette[p], run, n, width, all, to, 2);
  } else {
    fill_runs (plane, m->palette[p], run, n, width, all, to, 4);
  }
}

/* ---- borders ------------------------------------------------------------- */

/* Writes the runs of border pixels of row y (label 0) and those between them (CF_SG_UNPAINTED) to `to`; returns how
 * many. */
static size_t
border_runs (const CfSgCpu *m, int y, uint32_t *to)
{
  const uint32_t *run = m->pixel_run, width = (uint32_t) m->video.width;
  size_t a = m->row_pixel_run[2 * y], a_end = m->row_pixel_run[2 * y + 1], b = a, b_end = a_end, n = 0;
  uint32_t last = UINT32_MAX;

  if (y + 1 < m->video.height) {
    b = m->row_pixel_run[2 * y + 2];
    b_end = m->row_pixel_run[2 * y + 3];
  }
  for (uint32_t x = 0; x < width;) {
    const uint32_t end = a + 1 < a_end ? run[a + 1] >> 16 : width, below = b + 1 < b_end ? run[b + 1] >> 16 : width;
    const uint32_t next = end < below ? end : below;
    const bool differ = (run[a] & 0xffff) != (run[b] & 0xffff), right = next == end && end < width;
    const uint32_t inside = differ ? next : right ? next - 1 : next;

    if (inside > x && last != (differ ? 0 : CF_SG_UNPAINTED))
      to[n++] = x << 16 | (last = differ ? 0 : CF_SG_UNPAINTED);
    if (inside < next && last != 0)
      to[n++] = inside << 16 | (last = 0);
    a += next == end;
    b += next == below;
    x = next;
  }
  return n;
}

/* Writes row y of the label map. */
static void
write_labels (const CfSgCpu *m, int y, const uint32_t *run, size_t n)
{
  uint16_t *to = m->label_map + (size_t) y * (size_t) m->video.width;

  for (size_t i = 0; i < n; i++)
    for (uint32_t x = run[i] >> 16, end = i + 1 < n ? run[i + 1] >> 16 : (uint32_t) m->video.width; x < end; x++)
      to[x] = (uint16_t) run[i];
}

/* ---- tasks --------------------------------------------------------------- */

static void
paint_row (CfSgCpu *m, int y, uint32_t *scratch)
{
  const bool paint = m->painted;
  const uint32_t *run = m->has_runs ? m->pixel_run + m->row_pixel_run[2 * y] : NULL;
  size_t n = m->has_runs ? m->row_pixel_run[2 * y + 1] - m->row_pixel_run[2 * y] : 0;
  const bool all = paint && m->setup.output != CF_SEGMENT_BOUNDARIES;

  if (m->label_map)
    write_labels (m, y, run, n);
  if (paint && !all) {
    n = border_runs (m, y, scratch);
    run = scratch;
  }
  for (int p = 0; p < m->info->n_planes; p++)
    if ((y & ((1 << m->plane[p].h_sub) - 1)) == 0)
      paint_plane (m, p, y >> m->plane[p].h_sub, run, paint ? n : 0, all);
}

static void
paint_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  const int end = cf_sg_strip_end (m, strip) * m->setup.size;

  for (int y = strip * CF_SG_STRIP_ROWS * m->setup.size; y < end && y < m->video.height; y++)
    paint_row (m, y, (uint32_t *) scratch);
}

void
cf_sg_paint (CfSgCpu *m)
{
  if (m->painted)
    set_palette (m);
  cf_sg_run (m, m->n_strips, paint_strip);
}
