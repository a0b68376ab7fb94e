/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/direct.c: the 3x3 median, the most common window, from rows to rows. Where all components of a plane can
 * be filtered together ("flat"), the rows are the image's own, without unpack and pack. */
#include "internal.h"

#include <string.h>

size_t
cf_median_direct_scratch (const CfMedianCpu *m)
{
  return 6 * (((size_t) (m->channels * m->layout.width) << m->size) + 64); /* four rows in, two out */
}

/* Fills the mask of the components of the plane that are not filtered. Returns false if all of them are. Only pixels of
 * four components have others (is_flat). */
static bool
make_mask (const CfMedianCpu *m, const CfView *view, uint8_t mask[CF_MEDIAN_KEEP])
{
  const uint8_t *first = cf_median_first (m->in[0], m->n_views, view);
  const int pixel = view->step * view->bytes;
  bool any = false;

  memset (mask, 0, CF_MEDIAN_KEEP);
  for (int i = 0; i < m->n_views; i++) {
    const CfView *in = &m->in[0][i];

    if (in->filtered || in->plane != view->plane || in->field != view->field)
      continue;
    any = true;
    for (int at = (int) (in->data - first); at < CF_MEDIAN_KEEP; at += pixel)
      memset (mask + at, 255, in->bytes);
  }
  return any;
}

static void
flat_task (const CfMedianCpu *m, const CfMedianTask *t, uint8_t *scratch)
{
  const CfView *in = &m->in[0][t->view], *out = &m->out[t->view];
  const uint8_t *first_in = cf_median_first (m->in[0], m->n_views, in);
  uint8_t *first_out = cf_median_first (m->out, m->n_views, out);
  int n = in->width * in->step;
  void *unused = cf_median_take (&scratch, (size_t) n << m->size);
  uint8_t mask[CF_MEDIAN_KEEP], *keep = make_mask (m, in, mask) ? mask : NULL;

  for (int y = t->y0; y < t->y1; y += 2) {
    const void *from[4];
    void *to[2] = { first_out + out->pitch * (size_t) y, unused };

    for (int i = 0, row = y - 1; i < 4; i++, row++)
      from[i] = first_in + in->pitch * (size_t) (row < 0 ? 0 : row >= in->height ? in->height - 1 : row);
    if (y + 1 < t->y1)
      to[1] = first_out + out->pitch * (size_t) (y + 1);
    m->simd->median3[m->size](from, to, n, in->step, keep);
  }
}

void
cf_median_direct_task (const CfMedianCpu *m, const CfMedianTask *t, uint8_t *scratch)
{
  const CfView *in = &m->in[0][t->view];
  const int n = in->width;
  void *row[6], *const *to = row + 4; /* a ring of four rows, and two results */

  if (t->flat) {
    flat_task (m, t, scratch);
    return;
  }
  for (int i = 0; i < 6; i++)
    row[i] = cf_median_take (&scratch, (size_t) n << m->size);
  for (int y = t->y0; y < t->y1; y += 2) {
    const void *from[4];

    for (int i = 0; i < 4; i++) {
      from[i] = row[(y + i) % 4];
      if (i > 1 || y == t->y0) /* else it is there from the rows before */
        m->simd->unpack[m->size](in, y - 1 + i, 0, n, row[(y + i) % 4]);
    }
    m->simd->median3[m->size](from, to, n, 1, NULL);
    for (int i = 0; i < 2 && y + i < t->y1; i++) {
      if (m->threshold)
        m->simd->choose[m->size](to[i], from[1 + i], n, m->threshold);
      m->simd->pack[m->size](&m->out[t->view], y + i, 0, n, to[i]);
    }
  }
}
