/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/sheet.c: boxes of a frame that are filtered together on the GPU: copied beside each other into one image, the
 * sheet, which is filtered as a frame. Each box brings the pixels around it that the filter reads, beyond the border
 * copies of the nearest ones, so it does not matter what lies beside it. The launches of a filter for a small box take
 * as long as those for a large image. */
#include "area.h"
#include "device.h"

/* With fewer boxes the two copies cost as much as the launches that they save. */
#define FEWEST 3
/* Boxes begin at multiples of these, so that rows are aligned and all planes and fields begin there. */
#define COLUMN 32
#define ROW 4

typedef struct {
  const CfBox *box[CF_AREA_BOXES]; /* the highest first */
  int x[CF_AREA_BOXES], y[CF_AREA_BOXES];
  unsigned n;
  int width, height;
} Sheet;

static int
round_up (int value, int unit)
{
  return (value + unit - 1) / unit * unit;
}

static int
max_int (int a, int b)
{
  return a > b ? a : b;
}

static void
take_boxes (const CfArea *area, Sheet *s)
{
  s->n = 0;
  for (unsigned i = 0; i < area->n_boxes; i++) {
    unsigned k = s->n;

    if (area->box[i].sheet.width == 0)
      continue;
    for (; k > 0 && s->box[k - 1]->sheet.height < area->box[i].sheet.height; k--)
      s->box[k] = s->box[k - 1];
    s->box[k] = &area->box[i];
    s->n++;
  }
}

/* Lays the boxes in rows from left to right. Returns false where they do not fit an image of the frame's size. */
static bool
lay_out (const CfArea *area, Sheet *s)
{
  int x = 0, y = 0, height = 0; /* of the row */

  s->width = s->height = 0;
  for (unsigned i = 0; i < s->n; i++) {
    const CfRect *part = &s->box[i]->sheet;

    if (x + part->width > area->width) {
      y += height;
      x = height = 0;
    }
    if (y + part->height > area->height)
      return false;
    s->x[i] = x;
    s->y[i] = y;
    s->width = max_int (s->width, x + part->width);
    s->height = max_int (s->height, y + part->height);
    x += round_up (part->width, COLUMN);
    height = max_int (height, round_up (part->height, ROW));
  }
  return true;
}

/* Copies the boxes into the sheet. */
static CfCode
gather (CfStream *stream, const Sheet *s, const CfImage *in, bool interlaced, const CfImage *sheet, CfStatus *status)
{
  CfPiece piece[CF_PIECES];

  for (unsigned i = 0; i < s->n; i++)
    piece[i] = (CfPiece) { s->box[i]->sheet, s->x[i], s->y[i] };
  return cf_stream_copy_pieces (stream, CF_ON_DEVICE, sheet, in, interlaced, piece, s->n, status);
}

/* And back, what may change of them. */
static CfCode
scatter (CfStream *stream, const Sheet *s, const CfImage *sheet, const CfImage *out, CfStatus *status)
{
  CfPiece piece[CF_PIECES];

  for (unsigned i = 0; i < s->n; i++) {
    const CfRect *part = &s->box[i]->sheet, *write = &s->box[i]->write;

    piece[i] = (CfPiece) { { s->x[i] + write->x - part->x, s->y[i] + write->y - part->y, write->width, write->height },
      write->x, write->y };
  }
  return cf_stream_copy_pieces (stream, CF_ON_DEVICE, out, sheet, false, piece, s->n, status);
}

CfCode
cf_sheet_filter (CfPlan *plan, CfStream *stream, const CfArea *area, const CfImage *in, const CfImage *out,
    bool done[CF_AREA_BOXES], CfStatus *status)
{
  CfImage layout, from, to;
  CfRect all = { 0 };
  size_t bytes;
  CfCode code;
  Sheet s;

  take_boxes (area, &s);
  if (plan->context->backend != CF_BACKEND_CUDA || s.n < FEWEST || !lay_out (area, &s))
    return CF_OK;
  bytes = cf_image_layout (&layout, area->format, area->width, area->height, 256);
  if (!plan->sheets && !(plan->sheets = cf_gpu_alloc (CF_DEVICE, 2 * bytes, status)))
    return status->code;
  cf_image_at (&from, &layout, plan->sheets);
  cf_image_at (&to, &layout, (uint8_t *) plan->sheets + bytes);
  all.width = s.width;
  all.height = s.height;
  code = gather (stream, &s, in, area->interlaced, &from, status);
  if (code == CF_OK)
    code = cf_area_filter (plan, stream, &all, &from, &to, status);
  if (code == CF_OK)
    code = scatter (stream, &s, &to, out, status);
  for (unsigned i = 0; i < s.n; i++)
    done[s.box[i] - area->box] = true;
  return code;
}
