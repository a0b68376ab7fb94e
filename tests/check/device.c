/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * device.c: copies bytes to and from device memory through the image copies of cf.h. Any run of
 * bytes is copied as gray images: full rows, then a last shorter one. */
#include "kernelcheck.h"

#define DEADLINE_NS 60000000000u

static bool
move (KcRun *run, uint8_t *device, uint8_t *host, size_t size, bool up, CfStatus *status)
{
  while (size > 0) {
    int width = (int) (size < CF_MAX_SIZE ? size : CF_MAX_SIZE);
    size_t rows = size / (size_t) width;
    int height = (int) (rows < CF_MAX_SIZE ? rows : CF_MAX_SIZE);
    size_t moved = (size_t) width * (size_t) height;
    CfImage a = { .format = CF_FORMAT_GRAY8, .width = width, .height = height }, b = a;
    CfCode code;

    a.plane[0].data = device;
    b.plane[0].data = host;
    a.plane[0].pitch = b.plane[0].pitch = (size_t) width;
    code = up ? cf_stream_copy (run->stream, CF_UPLOAD, &a, &b, status)
        : cf_stream_copy (run->stream, CF_DOWNLOAD, &b, &a, status);
    if (code != CF_OK)
      return false;
    device += moved;
    host += moved;
    size -= moved;
  }
  return cf_stream_wait (run->stream, DEADLINE_NS, status) == CF_OK;
}

bool
kc_upload (KcRun *run, void *device, const void *host, size_t size, CfStatus *status)
{
  return move (run, device, (uint8_t *) host, size, true, status);
}

bool
kc_download (KcRun *run, void *host, const void *device, size_t size, CfStatus *status)
{
  return move (run, (uint8_t *) device, host, size, false, status);
}
