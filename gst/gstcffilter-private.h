/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcffilter-private.h: what the files of the base class share:
 * gstcffilter.c (class, start and stop, frames and events), gstcffilter-props.c
 * (properties), gstcffilter-caps.c (caps, queries and allocation).
 *
 * Threads. The properties are guarded by the object lock; the streaming thread
 * works on one snapshot a frame, which the path owns. With frames-in-flight > 1
 * a second thread finishes and pushes the frames (gstcfoutput.h); whatever else
 * the streaming thread does, serialized events and queries, new parameters and
 * caps, it does with no frame under way. `context` is read under the object lock
 * by other threads, and changed by the streaming thread, start and stop, and
 * set_context while it is NULL. */
#ifndef GST_CF_FILTER_PRIVATE_H
#define GST_CF_FILTER_PRIVATE_H

#include "gstcffilter.h"
#include "gstcfoutput.h"

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN (gst_cf_filter_debug);

typedef enum { GST_CF_BACKEND_AUTO, GST_CF_BACKEND_CUDA, GST_CF_BACKEND_CPU } GstCfBackendKind;
typedef enum { GST_CF_ON_GPU_ERROR_FALLBACK, GST_CF_ON_GPU_ERROR_ERROR } GstCfOnGpuError;

typedef struct {
  /* properties */
  GstCfBackendKind wanted_backend, active_backend;
  gint device;
  GstCfOnGpuError on_gpu_error;
  gint frames_in_flight;
  CfCommon common;
  gpointer params;
  /* changes of what a new value is checked with: common, params, started and
   * the caps; and those that the path has seen */
  guint serial, seen;
  gboolean started; /* a bad value is refused at once */
  gboolean has_gpu; /* a GPU was opened at start, so that CUDA memory is spoken */
  gboolean have_video;
  CfVideo video;
  gboolean same_memory; /* on both pads, so that an input buffer may go out */

  gchar refusal[sizeof ((CfStatus *) 0)->message]; /* why the last caps were refused */

  GstObject *context;
  GstCfBackend backend;
  GstAllocator *allocator; /* host memory, pinned where there is a GPU */
  gint reset;              /* atomic: forget earlier frames before the next */

  /* frames that overlap */
  GstCfOutput output;
  guint slots;             /* frames-in-flight as it was at the start */
  gboolean discont;        /* frames before the next were dropped; streaming thread */
  GstClockTime latency;    /* what holding slots - 1 frames may cost; object lock */
  guint64 pushed;          /* since start or flush, for QoS messages; object lock */
} GstCfFilterPrivate;

GstCfFilterPrivate *gst_cf_filter_private (GstCfFilter *self);
#define PRIV(self) gst_cf_filter_private (self)
#define FILTER(self) (GST_CF_FILTER_GET_CLASS (self)->filter)

/* gstcffilter-props.c */
void gst_cf_filter_install_properties (GObjectClass *klass);
void gst_cf_filter_install_params (GObjectClass *klass, const CfFilter *filter);
/* The properties as they are now, as a block for the caller to free. Object
 * lock held. */
gpointer gst_cf_filter_snapshot (GstCfFilter *self, CfCommon *common);
/* After anything that may have changed what filters the frames. */
void gst_cf_filter_update_active_backend (GstCfFilter *self);

/* gstcffilter-caps.c */
void gst_cf_filter_install_negotiation (GstBaseTransformClass *klass);

/* gstcffilter.c */
/* Waits until no frame is under way. Streaming thread, or with its lock. */
void gst_cf_filter_drain (GstCfFilter *self);

G_END_DECLS
#endif
