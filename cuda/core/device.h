/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/device.h: the functions through which the core uses the GPU, besides those of cf.h. core/gpu/ has them for CUDA;
 * in a build without CUDA they say so (core/gpu-none.c). */
#ifndef CF_CORE_DEVICE_H
#define CF_CORE_DEVICE_H

#include "filter.h"

/* The most rectangles of a launch. */
#define CF_PIECES 64

/* A rectangle of an image, and the pixel of another image of the same format at which it comes to lie. Both begin with
 * whole samples of all components. */
typedef struct {
  CfRect from;
  int x, y;
} CfPiece;

/* Fills a context for the current device. */
CfCode cf_device_context_init (CfContext *context, CfStatus *status);
/* out = in + (filtered - in) * strength / 255 in the boxes of an area; host memory. `out` may be `in`. */
void cf_area_blend (const CfArea *area, const CfImage *in, const CfImage *filtered, const CfImage *out);
/* Queues the same, with frame->scratch as `filtered`, and with frame->copies the copy of the rest, behind the filter's
 * kernels. Uploads the area's map if it is another one than last time; the plan's first two maps allocate their memory.
 * `status` is not NULL. */
CfCode cf_device_blend (CfPlan *plan, CfStream *stream, const CfFrame *frame, CfStatus *status);
/* Queues what cf_repack does. */
CfCode
cf_device_repack (CfStream *stream, const CfImage *from, const CfImage *alpha, const CfImage *to, CfStatus *status);
/* Queues the copy of an image. `whole`: nothing but the image is in the memory between its planes, so that these bytes
 * may be copied, too. */
CfCode cf_stream_copy_planes (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from,
    bool whole, CfStatus *status);
/* Queues the copy of up to CF_PIECES rectangles, and of no other bytes, between places that do not overlap. What lies
 * beyond `from` is the nearest pixel in it, of the same field where it is interlaced. */
CfCode cf_stream_copy_pieces (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from,
    bool interlaced, const CfPiece *piece, unsigned n, CfStatus *status);

/* Returns CF_OK where calls that may block may be made for the current context. CF_TIMEOUT: its GPU hangs, and the call
 * would wait until that goes on, which may be never. CF_GPU_LOST: no call succeeds any more. CF_NO_GPU: this build has
 * no CUDA. All functions of cf.h that make such calls ask this first. */
CfCode cf_device_usable (CfStatus *status);

#endif
