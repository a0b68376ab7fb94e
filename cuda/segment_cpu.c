/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment_cpu.c: the segmentation's plan on the CPU. */
#include "segment.h"

#include <string.h>

/* To come: so far the frame is copied. */
static CfCode
enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);

  (void) stream;
  (void) status;
  for (int p = 0; p < info->n_planes; p++)
    for (int y = 0; y < cf_plane_rows (info->format, in->height, p); y++)
      memcpy ((uint8_t *) out->plane[p].data + out->plane[p].pitch * (size_t) y,
          (const uint8_t *) in->plane[p].data + in->plane[p].pitch * (size_t) y,
          cf_plane_row_bytes (info->format, in->width, p));
  return CF_OK;
}

static CfCode
regions (CfPlan *plan, CfRegions *out, CfStatus *status)
{
  (void) plan;
  (void) status;
  memset (out, 0, sizeof *out);
  return CF_OK;
}

const CfOps cf_segment_cpu = {
  .enqueue = enqueue,
  .regions = regions,
};
