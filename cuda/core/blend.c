/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/blend.c: frames of which only an area is filtered: the boxes through the plan, and the blend on the CPU. */
#include "area.h"
#include "cf-test.h"
#include "device.h"
#include "threads.h"

#include <string.h>

/* ---- strengths ---------------------------------------------------------- */

/* Fills the strengths of row `y` of a box. */
static void
row_of_pixels (const CfArea *area, const CfBox *box, int y, uint8_t *row)
{
  const int x0 = box->write.x, n = box->write.width;

  if (area->map)
    memcpy (row, area->map->strength + (size_t) y * (size_t) area->width + x0, (size_t) n);
  else
    memset (row, 0, (size_t) n);
  for (unsigned i = 0; i < box->n; i++)
    cf_area_draw (area, &area->shape[box->shape + i], y, x0, n, row);
  for (int x = 0; area->invert && x < n; x++)
    row[x] = (uint8_t) (255 - row[x]);
}

/* Fills the strengths of the samples of a component in row `y` of its plane: of each, the largest of its pixels. */
static void
row_of_samples (const CfArea *area, const CfBox *box, const CfComponent *c, int y, uint8_t *row)
{
  const int fields = c->h_sub && area->interlaced ? 2 : 1, unit = fields << c->h_sub;
  const int first = y / fields * unit, n = box->write.width;
  uint8_t other[CF_MAX_SIZE];

  row_of_pixels (area, box, first, row);
  for (int k = first + 1; k < first + unit && k < area->height; k++) {
    row_of_pixels (area, box, k, other);
    for (int x = 0; x < n; x++)
      row[x] = row[x] > other[x] ? row[x] : other[x];
  }
  for (int x = 0; c->w_sub && x < n; x += 2) {
    const uint8_t right = x + 1 < n ? row[x + 1] : 0;

    row[x / 2] = row[x] > right ? row[x] : right;
  }
}

/* ---- the blend ---------------------------------------------------------- */

static unsigned
mix (unsigned in, unsigned filtered, unsigned strength)
{
  return (in * (255 - strength) + filtered * strength + 127) / 255;
}

static unsigned
value_of (const CfFormatInfo *info, unsigned word)
{
  const unsigned most = (1u << info->bits) - 1;

  return word >> info->shift < most ? word >> info->shift : most;
}

/* Returns the end of the run of equal strengths that begins at x. */
static int
end_of_run (const uint8_t *strength, int x, int n)
{
  const uint64_t all = UINT64_C (0x0101010101010101) * strength[x];
  uint64_t eight;
  int end = x + 1;

  for (; end + 8 <= n; end += 8) {
    memcpy (&eight, strength + end, 8);
    if (eight != all)
      break;
  }
  while (end < n && strength[end] == strength[x])
    end++;
  return end;
}

/* Copies what is not filtered and what is so at full strength, in a row of `n` pieces of `bytes` bytes. */
static void
copy_runs (int n, size_t bytes, const uint8_t *strength, const uint8_t *in, const uint8_t *filtered, uint8_t *out)
{
  for (int x = 0, end; x < n; x = end) {
    const uint8_t *from = strength[x] == 0 ? in : filtered;
    const size_t at = (size_t) x * bytes;

    end = end_of_run (strength, x, n);
    if (strength[x] == 255 || (strength[x] == 0 && in != out))
      memcpy (out + at, from + at, (size_t) (end - x) * bytes);
  }
}

/* Copies n samples that lie between those of other components with other strengths: those of YUY2 and UYVY, one byte
 * each. */
static void
copy_samples (int n, size_t step, const uint8_t *from, uint8_t *to)
{
  for (size_t i = 0, end = (size_t) n * step; i < end; i += step)
    to[i] = from[i];
}

/* Blends the samples of a pixel of a packed format. */
static uint32_t
mix_word (const CfFormatInfo *info, uint32_t in, uint32_t filtered, unsigned strength)
{
  uint32_t word = 0;

  for (int i = 0; i < info->n_components; i++) {
    const CfComponent *c = &info->comp[i];
    const uint32_t most = (1u << c->bits) - 1;

    word |= mix (in >> c->bit & most, filtered >> c->bit & most, strength) << c->bit;
  }
  return word;
}

/* Blends one component in a row of `n` samples, which begin at the component's first sample in the box. `copied`: those
 * of strength 0 and 255 are there already. The first component of a packed format stands for all of them. */
static void
blend_row (const CfFormatInfo *info, const CfComponent *c, int n, bool copied, const uint8_t *strength,
    const uint8_t *in, const uint8_t *filtered, uint8_t *out)
{
  const size_t step = (size_t) c->step * info->bytes;

  for (int x = 0; x < n; x++) {
    const unsigned s = strength[x];
    const size_t at = (size_t) x * step;
    uint32_t all, filtered_all;
    uint16_t a, b;

    if (s == 0 || s == 255) {
      const int end = end_of_run (strength, x, n);

      if (!copied && (s || in != out))
        copy_samples (end - x, step, (s ? filtered : in) + at, out + at);
      x = end - 1;
    } else if (info->bytes == 4) {
      memcpy (&all, in + at, 4);
      memcpy (&filtered_all, filtered + at, 4);
      all = mix_word (info, all, filtered_all, s);
      memcpy (out + at, &all, 4);
    } else if (info->bytes == 1) {
      out[at] = (uint8_t) mix (in[at], filtered[at], s);
    } else {
      memcpy (&a, in + at, 2);
      memcpy (&b, filtered + at, 2);
      a = (uint16_t) (mix (value_of (info, a), value_of (info, b), s) << info->shift);
      memcpy (out + at, &a, 2);
    }
  }
}

typedef struct {
  const CfArea *area;
  const CfImage *in, *filtered, *out;
  int n; /* rows of tasks a box */
} Blend;

/* Returns whether all components of a plane have the same samples a pixel, and so the same strengths. */
static bool
has_one_size (const CfFormatInfo *info, int p)
{
  const CfComponent *first = NULL;

  for (int i = 0; i < info->n_components; i++) {
    const CfComponent *c = &info->comp[i];

    if (c->plane != p)
      continue;
    if (first && (c->w_sub != first->w_sub || c->step != first->step))
      return false;
    first = first ? first : c;
  }
  return first != NULL;
}

/* Blends the rows begin..end - 1 of plane `p`. */
static void
blend_plane (const Blend *b, const CfBox *box, int p, int begin, int end)
{
  const CfFormatInfo *info = cf_format_info (b->area->format);
  const size_t left = cf_plane_row_bytes (info->format, box->write.x, p);
  const size_t bytes = cf_plane_row_bytes (info->format, box->write.width, p);
  const bool one_size = has_one_size (info, p);
  uint8_t strength[CF_MAX_SIZE];

  for (int y = begin; y < end; y++) {
    const uint8_t *in = (const uint8_t *) b->in->plane[p].data + (size_t) y * b->in->plane[p].pitch + left;
    const uint8_t *filtered = (const uint8_t *) b->filtered->plane[p].data + (size_t) y * b->filtered->plane[p].pitch +
        left;
    uint8_t *out = (uint8_t *) b->out->plane[p].data + (size_t) y * b->out->plane[p].pitch + left;
    const CfComponent *of = NULL; /* whose strengths these are */

    if (box->solid) {
      memcpy (out, filtered, bytes);
      continue;
    }
    for (int i = 0; i < info->n_components; i++) {
      const CfComponent *c = &info->comp[i];
      const size_t at = (size_t) c->offset * info->bytes;
      const int n = (box->write.width + (1 << c->w_sub) - 1) >> c->w_sub;

      if (c->plane != p || (of && info->unpacked))
        continue;
      if (!of || of->w_sub != c->w_sub || of->h_sub != c->h_sub)
        row_of_samples (b->area, box, c, y, strength);
      if (!of && one_size)
        copy_runs (n, (size_t) c->step * info->bytes, strength, in, filtered, out);
      of = c;
      blend_row (info, c, n, one_size, strength, in + at, filtered + at, out + at);
    }
  }
}

static void
blend_task (void *data, int task, int thread)
{
  const Blend *b = data;
  const CfBox *box = &b->area->box[task / b->n];
  const CfFormatInfo *info = cf_format_info (b->area->format);

  (void) thread;
  for (int p = 0; p < info->n_planes; p++) {
    const int top = cf_plane_rows (info->format, box->write.y, p);
    const int rows = cf_plane_rows (info->format, box->write.height, p), part = task % b->n;

    blend_plane (b, box, p, top + (int) ((int64_t) rows * part / b->n),
        top + (int) ((int64_t) rows * (part + 1) / b->n));
  }
}

void
cf_area_blend (const CfArea *area, const CfImage *in, const CfImage *filtered, const CfImage *out)
{
  Blend blend = { area, in, filtered, out, area->n_boxes < 4 ? 8 : 1 };

  cf_parallel_for ((int) area->n_boxes * blend.n, blend_task, &blend);
}

/* ---- a frame ------------------------------------------------------------ */

static CfCode
set_size (CfPlan *plan, int width, int height, CfStatus *status)
{
  plan->video.width = width;
  plan->video.height = height;
  return plan->ops->resize ? plan->ops->resize (plan, status) : CF_OK;
}

CfCode
cf_area_filter (CfPlan *plan, CfStream *stream, const CfRect *rect, const CfImage *in, const CfImage *out,
    CfStatus *status)
{
  CfImage from, to;
  CfCode code = set_size (plan, rect->width, rect->height, status);

  cf_image_part (&from, in, rect);
  cf_image_part (&to, out, rect);
  return code == CF_OK ? cf_packed_enqueue (plan, stream, &from, &to, status) : code;
}

/* Filters all boxes, those that remain one after the other. */
static CfCode
filter_boxes (CfPlan *plan, CfStream *stream, const CfArea *area, const CfImage *in, const CfImage *scratch,
    CfStatus *status)
{
  const int width = plan->video.width, height = plan->video.height;
  bool done[CF_AREA_BOXES] = { false };
  CfCode code, back;

  if (area->anchored && plan->ops->enqueue_boxes && !plan->packed)
    return plan->ops->enqueue_boxes (plan, stream, area, in, scratch, status);
  code = cf_sheet_filter (plan, stream, area, in, scratch, done, status);
  for (unsigned i = 0; code == CF_OK && i < area->n_boxes; i++)
    if (!done[i])
      code = cf_area_filter (plan, stream, &area->box[i].read, in, scratch, status);
  back = set_size (plan, width, height, code == CF_OK ? status : NULL);
  return code == CF_OK ? back : code;
}

CfCode
cf_area_enqueue (CfPlan *plan, CfStream *stream, const CfFrame *frame, CfStatus *status)
{
  const CfArea *area = frame->area;
  CfCode code = cf_plan_check_image (plan, frame->scratch, "scratch", status);

  if (code == CF_OK &&
      (area->format != frame->in->format || area->width != plan->video.width || area->height != plan->video.height ||
          area->interlaced != plan->video.interlaced))
    code = cf_fail (status, CF_BAD_VALUE, "the area is for another format or size than the plan: %d x %d, not %d x %d",
        area->width, area->height, plan->video.width, plan->video.height);
  if (code == CF_OK)
    code = area->by_halo ? filter_boxes (plan, stream, area, frame->in, frame->scratch, status)
                         : cf_packed_enqueue (plan, stream, frame->in, frame->scratch, status);
  if (code != CF_OK || area->n_boxes == 0)
    return code;
  if (plan->context->backend == CF_BACKEND_CUDA)
    return cf_device_blend (plan, stream, frame, status);
  cf_area_blend (area, frame->in, frame->scratch, frame->out);
  return CF_OK;
}
