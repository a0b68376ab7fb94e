/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/device.h: the table of functions through which the core uses the GPU. core/gpu/ has the table for CUDA; a build
 * without CUDA has none; tests install their own. cf.h has the contracts of the functions. */
#ifndef CF_CORE_DEVICE_H
#define CF_CORE_DEVICE_H

#include "cf-test.h"
#include "filter.h"

/* The most rectangles of a launch. */
#define CF_PIECES 64

/* A rectangle of an image, and the pixel of another image of the same format at which it comes to lie. Both begin with
 * whole samples of all components. */
typedef struct {
  CfRect from;
  int x, y;
} CfPiece;

struct CfDevice {
  const char *archs; /* CfGpuState */
  void (*versions) (int *driver, int *runtime);
  int (*count) (CfStatus *status);
  CfCode (*info) (int device, CfGpuInfo *info, CfStatus *status);
  /* Returns the error by which the process lost the GPU, in words that do not change; NULL: it has not. */
  const char *(*loss) (void);
  /* Sets the launches and allocations of a state. */
  void (*counters) (CfGpuState *state);
  /* Returns the number of the current context's device, -1 where there is none, and the context. */
  int (*current) (void **context);
  /* Returns whether it is known that the work of a stream has ended, which cf_device_hangs was called for. Does not
   * wait; any thread, with any context. */
  bool (*ended) (void *context, void *stream);

  /* Fills the device's part of a context. */
  CfCode (*context_init) (CfContext *context, CfStatus *status);
  /* Returns the filter's functions on this device, NULL where it has none. */
  const CfOps *(*ops) (const CfFilter *filter);

  void *(*pinned_alloc) (size_t size, CfStatus *status);
  void (*pinned_free) (void *memory);
  void *(*device_alloc) (size_t size, CfStatus *status);
  void (*device_free) (void *memory);

  CfStream *(*stream_new) (void *handle, CfStatus *status);
  void (*stream_free) (CfStream *stream);
  /* `whole`: nothing but the image is in the memory between its planes, so that these bytes may be copied, too. */
  CfCode (*stream_copy) (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, bool whole,
      CfStatus *status);
  /* Queues the copy of up to CF_PIECES rectangles, and of no other bytes, between places that do not overlap. What
   * lies beyond `from` is the nearest pixel in it, of the same field where it is interlaced. */
  CfCode (*copy_pieces) (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from,
      bool interlaced, const CfPiece *piece, unsigned n, CfStatus *status);
  /* Queues what cf_area_blend does. `map`: a copy of the area's map, NULL where it has none. */
  CfCode (*blend) (CfStream *stream, const CfArea *area, const void *map, const CfImage *in, const CfImage *filtered,
      const CfImage *out, CfStatus *status);
  /* Queues what cf_repack does. */
  CfCode (*repack) (CfStream *stream, const CfImage *from, const CfImage *alpha, const CfImage *to, CfStatus *status);
  CfCode (*stream_wait) (CfStream *stream, uint64_t deadline_ns, const int *hurry, CfStatus *status);
  CfCode (*stream_record) (CfStream *stream, CfEvents *events, unsigned i, CfStatus *status);
  CfCode (*stream_wait_event) (CfStream *stream, const CfEvents *events, unsigned i, CfStatus *status);
  CfCode (*stream_signal) (CfStream *stream, CfEvents *events, CfStatus *status);

  CfEvents *(*events_new) (unsigned n, CfStatus *status);
  void (*events_free) (CfEvents *events);
  CfCode (*events_wait) (CfEvents *events, uint64_t deadline_ns, const int *hurry, CfStatus *status);
  uint64_t (*events_elapsed_ns) (const CfEvents *events, unsigned from, unsigned to);
};

extern const CfDevice cf_device_cuda; /* core/gpu/device.c */

/* Fills a context for the current device. */
CfCode cf_device_context_init (CfContext *context, CfStatus *status);
/* Returns the filter's functions on the device, NULL where it has none. */
const CfOps *cf_device_ops (const CfFilter *filter);
/* Queues the copy of the rows begin..end - 1 (cf_image_rows) of an image, and of no other bytes. */
CfCode cf_stream_copy_rows (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, int begin,
    int end, CfStatus *status);

/* out = in + (filtered - in) * strength / 255 in the boxes of an area; host memory. `out` may be `in`. */
void cf_area_blend (const CfArea *area, const CfImage *in, const CfImage *filtered, const CfImage *out);
/* The same through the device table, for a frame with an area whose scratch image is filtered. Uploads the area's map
 * where that changed, from memory that the first two maps allocate. `status` is not NULL. */
CfCode cf_device_blend (CfPlan *plan, CfStream *stream, const CfFrame *frame, CfStatus *status);
/* Queues what cf_repack does. */
CfCode
cf_device_repack (CfStream *stream, const CfImage *from, const CfImage *alpha, const CfImage *to, CfStatus *status);
/* Queues the copy of an image; `whole` as for CfDevice.stream_copy. */
CfCode cf_stream_copy_planes (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from,
    bool whole, CfStatus *status);
/* Queues copies of rectangles, as CfDevice.copy_pieces. */
CfCode cf_stream_copy_pieces (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from,
    bool interlaced, const CfPiece *piece, unsigned n, CfStatus *status);

/* Records that the work of a stream of the current context (for CUDA a cudaStream_t) did not end before its deadline,
 * or that this is not known. `kernel`: the last one launched before, a string that stays; NULL: not known. `left_ns`:
 * the deadline is only so far away, and the GPU hangs from then on. The device's functions call this with no lock held
 * that `ended` takes. */
void cf_device_hangs (void *stream, const char *kernel, uint64_t left_ns);
/* Returns CF_OK where calls that may block may be made for the current context; CF_TIMEOUT where its GPU hangs, and
 * CF_NO_GPU in a build without CUDA. All functions of cf.h that make such calls ask this first. */
CfCode cf_device_usable (CfStatus *status);

/* Fills a status with the code and the sentence for an error number of the CUDA runtime or driver, which share their
 * numbers, and returns the code. `what`: the operation that failed; `name`: CUDA's own description, for an error that
 * has no sentence here. */
CfCode cf_cuda_fail (int error, const char *what, const char *name, CfStatus *status);

#endif
