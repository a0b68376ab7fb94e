/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcffilter-private.h: the interface between the files of the base class: gstcffilter.c (class, start and stop,
 * events), gstcffilter-frames.c (frames), gstcffilter-props.c (properties), gstcffilter-caps.c (caps, queries and
 * allocation).
 *
 * Threads. The object lock guards the properties. For each frame, the streaming thread works with one snapshot of them,
 * which the backend owns. With frames-in-flight > 1 the output thread finishes and pushes the frames (gstcfoutput.h).
 * The streaming thread handles serialized events, serialized queries, new parameters and new caps only while no frame
 * is pending. Other threads read `context` under the object lock. The streaming thread, start, stop, and set_context
 * (only while it is NULL) change it. */
#ifndef GST_CF_FILTER_PRIVATE_H
#define GST_CF_FILTER_PRIVATE_H

#include "gstcffilter.h"
#include "gstcfoutput.h"
#include "gstcfroi.h"

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN (gst_cf_filter_debug);

typedef enum { GST_CF_BACKEND_AUTO, GST_CF_BACKEND_CUDA, GST_CF_BACKEND_CPU } GstCfBackendKind;
typedef enum { GST_CF_ON_GPU_ERROR_FALLBACK, GST_CF_ON_GPU_ERROR_ERROR } GstCfOnGpuError;

typedef struct {
  /* properties */
  GstCfBackendKind wanted_backend, active_backend;
  gint device;
  gchar *device_name; /* NULL: `device` counts */
  GstCfOnGpuError on_gpu_error;
  gint frames_in_flight;
  CfCommon common;
  gpointer params;
  GstCfRoi *roi; /* with the properties for regions, and `enabled` */
  /* serial: counts the changes of common, params, started and the caps, against which a new value is checked; seen: the
   * serial of the last snapshot */
  guint serial, seen;
  gint insisted;    /* the resolved cuda-device: a number; -1: any; -2: not resolved yet */
  gboolean started; /* invalid values are rejected at once */
  gboolean has_gpu; /* a GPU was opened at the start, so the caps include CUDA memory */
  gboolean have_video;
  CfVideo video;
  CfArea *area;         /* of the frame whose output buffer is being prepared; NULL: all of it */
  gboolean same_memory; /* on both pads, so an input buffer can be pushed as output */

  GstCaps *refused_caps;                          /* the error for these input caps was posted, */
  guint refused_serial;                           /* with the parameters of this serial */
  gchar advice[sizeof ((CfStatus *) 0)->message]; /* the last advice on accepted values; object lock */
  GThread *animating;                             /* atomic: the thread in which GstController sets properties */
  gint64 animation_warned;                        /* time of the last warning about a value of an animation, us */

  GstObject *context;
  GstCfBackend backend;
  GstBufferPool *pool;     /* of output buffers, as long as it is this element's own; under the object lock */
  GstAllocator *allocator; /* host memory, pinned where there is a GPU */
  gint reset;              /* atomic: reset the backend before the next frame */
  gint posted;             /* atomic: an error was posted since the start or the last flush */

  /* a filter that looks at later frames (CfTraits.ahead); streaming thread */
  GQueue held;             /* frames in the plans' history that wait for later ones, oldest first */
  GstFlowReturn held_flow; /* of those that were pushed without a frame from upstream */

  /* frames-in-flight > 1 */
  GstCfOutput output;
  guint slots;          /* the value of frames-in-flight at the start */
  gboolean discont;     /* frames were dropped before the next one; streaming thread */
  GstClockTime latency; /* the duration of slots - 1 frames and of those ahead; object lock */
  guint64 pushed;       /* frames since start or flush, for QoS messages; object lock */
} GstCfFilterPrivate;

GstCfFilterPrivate *gst_cf_filter_private (GstCfFilter *self);
#define PRIV(self) gst_cf_filter_private (self)
#define FILTER(self) (GST_CF_FILTER_GET_CLASS (self)->filter)

/* gstcffilter-props.c */
/* Installs the properties of the base class. */
void gst_cf_filter_install_properties (GObjectClass *klass);
/* Installs a property for each row of the filter's parameter table. */
void gst_cf_filter_install_params (GObjectClass *klass, const CfFilter *filter);
/* Returns a copy of the current parameters, to be freed by the caller; NULL where memory is out: `*common` stays then.
 * The object lock is held. */
gpointer gst_cf_filter_snapshot (GstCfFilter *self, CfCommon *common);
/* Posts the library's advice on accepted values, in the message of `status`, as a warning, unless it is the advice of
 * the last call. */
void gst_cf_filter_advise (GstCfFilter *self, const CfStatus *status);
/* Updates active-backend from the backend. To be called after anything that may have changed the device in use. */
void gst_cf_filter_update_active_backend (GstCfFilter *self);

/* gstcffilter-caps.c */
/* Installs the virtual functions for caps, queries and allocation. */
void gst_cf_filter_install_negotiation (GstBaseTransformClass *klass);
/* Notes the latency with these parameters, and posts a message where it has changed. */
void gst_cf_filter_update_latency (GstCfFilter *self);

/* gstcffilter.c */
/* Waits until no frame is pending. Called by the streaming thread, or with the stream lock held. */
void gst_cf_filter_drain (GstCfFilter *self);

/* Has GstController set the properties for the frame that comes out next. Streaming thread. */
void gst_cf_filter_animate (GstCfFilter *self, GstBuffer *next);

/* gstcffilter-frames.c */
void gst_cf_filter_init_frames (GstCfFilter *self);
/* Installs the virtual functions for frames. */
void gst_cf_filter_install_frames (GstBaseTransformClass *klass);
/* Returns the flow of earlier frames for upstream, and forgets it. Streaming thread. */
GstFlowReturn gst_cf_filter_take_flow (GstCfFilter *self);
/* Filters and pushes the frames that wait for later ones, as at the end of the stream: the last one stands for those
 * that do not come. The next frame begins a new history. Streaming thread. */
void gst_cf_filter_finish_held (GstCfFilter *self);

G_END_DECLS
#endif
