/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * core/copy.c: pictures from host memory to host memory. One thread moves a quarter
 * of what the link to a GPU does (memory that is not pinned has to be copied
 * before), so that large pictures are copied by several, in bands. */
#include "filter.h"
#include "threads.h"

#include <string.h>

#define BAND ((size_t) 512 << 10) /* bytes that are worth a thread */
#define MAX_BANDS 8

typedef struct {
  const CfImage *to, *from;
  int n; /* bands */
} Copy;

static void
copy_band (void *data, int band, int thread)
{
  const Copy *c = data;
  const CfFormatInfo *info = cf_format_info (c->from->format);

  (void) thread;
  for (int p = 0; p < info->n_planes; p++) {
    size_t row = cf_plane_row_bytes (info->format, c->from->width, p);
    size_t from_pitch = c->from->plane[p].pitch, to_pitch = c->to->plane[p].pitch;
    int rows = cf_plane_rows (info->format, c->from->height, p);
    int begin = (int) ((long long) rows * band / c->n), end = (int) ((long long) rows * (band + 1) / c->n);
    const uint8_t *from = (const uint8_t *) c->from->plane[p].data + (size_t) begin * from_pitch;
    uint8_t *to = (uint8_t *) c->to->plane[p].data + (size_t) begin * to_pitch;

    if (from_pitch == row && to_pitch == row) {
      memcpy (to, from, (size_t) (end - begin) * row);
      continue;
    }
    for (int y = begin; y < end; y++, from += from_pitch, to += to_pitch)
      memcpy (to, from, row);
  }
}

void
cf_image_copy (const CfImage *to, const CfImage *from)
{
  const CfFormatInfo *info = cf_format_info (from->format);
  Copy copy = { to, from, 1 };
  size_t bytes = 0;

  for (int p = 0; p < info->n_planes; p++)
    bytes += cf_plane_row_bytes (info->format, from->width, p) * (size_t) cf_plane_rows (info->format, from->height, p);
  if (bytes / BAND > 1)
    copy.n = bytes / BAND > MAX_BANDS ? MAX_BANDS : (int) (bytes / BAND);
  cf_parallel_for (copy.n, copy_band, &copy);
}
