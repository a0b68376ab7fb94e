/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * device.c: images in device memory. Their bytes, padding included, are copied through the image copies of cf.h, as
 * gray images: full rows, then a last shorter one. And the end of a run on a GPU that hangs. */
#include "kernelcheck.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEADLINE_NS 60000000000u

static bool
copy_bytes (KcRun *run, CfDirection direction, uint8_t *to, uint8_t *from, size_t size, CfStatus *status)
{
  while (size > 0) {
    const size_t width = MIN (size, CF_MAX_SIZE), height = MIN (size / width, CF_MAX_SIZE), moved = width * height;
    CfImage a = { .format = CF_FORMAT_GRAY8, .width = (int) width, .height = (int) height }, b = a;

    a.plane[0].data = to;
    b.plane[0].data = from;
    a.plane[0].pitch = b.plane[0].pitch = width;
    if (cf_stream_copy (run->stream, direction, &a, &b, NULL, status) != CF_OK)
      return false;
    to += moved;
    from += moved;
    size -= moved;
  }
  return cf_stream_wait (run->stream, DEADLINE_NS, NULL, status) == CF_OK;
}

void
kc_device_image_free (KcDeviceImage *d)
{
  for (int i = 0; i < CF_MAX_PLANES; i++)
    if (d->pinned)
      cf_gpu_free (CF_PINNED, d->memory[i]);
    else
      cf_gpu_free (CF_DEVICE, d->memory[i]);
  memset (d, 0, sizeof *d);
}

bool
kc_device_image_new (KcDeviceImage *d, const KcImage *host, bool pinned, CfStatus *status)
{
  *d = (KcDeviceImage) { .image = host->image, .pinned = pinned };
  for (int i = 0; i < CF_MAX_PLANES && host->mem[i].size; i++) {
    const size_t size = host->mem[i].size;
    const ptrdiff_t head = (uint8_t *) host->image.plane[i].data - host->mem[i].base;

    d->memory[i] = pinned ? cf_gpu_alloc (CF_PINNED, size, status) : cf_gpu_alloc (CF_DEVICE, size, status);
    if (!d->memory[i]) {
      kc_device_image_free (d);
      return false;
    }
    d->image.plane[i].data = (uint8_t *) d->memory[i] + head;
  }
  return true;
}

bool
kc_device_image_copy (KcRun *run, CfDirection direction, const KcDeviceImage *d, const KcImage *host, CfStatus *status)
{
  const bool up = direction == CF_UPLOAD;

  for (int i = 0; i < CF_MAX_PLANES && host->mem[i].size; i++) {
    uint8_t *to = up ? d->memory[i] : host->mem[i].base, *from = up ? host->mem[i].base : d->memory[i];

    if (d->pinned)
      memcpy (to, from, host->mem[i].size);
    else if (!copy_bytes (run, direction, to, from, host->mem[i].size, status))
      return false;
  }
  return true;
}

void
kc_end_hung (KcRun *run, const char *format, ...)
{
  char text[2 * KC_TEXT];
  va_list args;

  va_start (args, format);
  vsnprintf (text, sizeof text, format, args);
  va_end (args);
  kc_result (run, false, "%s; the GPU hangs, the test ends here", text);
  printf ("%lu passed, %lu failed, %lu skipped\n", run->passed, run->failed, run->skipped);
  fflush (stdout);
  _exit (1);
}
