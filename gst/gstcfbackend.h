/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcfbackend.h: what happens to a frame, and what when the GPU fails.
 *
 * A frame is submitted, which queues it on the GPU, and finished, which waits
 * for it, or has the CPU make it. Where frames are to overlap, the streaming
 * thread submits them, up to one a slot, and another thread finishes them, in
 * their order; else one thread does both. All other functions are for when
 * nothing is under way.
 *
 * The path belongs to one element. It has the CPU's plans always, except
 * where a GPU failure ends the stream anyway, so that the very frame that the
 * GPU failed on is delivered; filters that look back in time have the CPU's
 * plans follow the stream all along. Those that follow their own results (as
 * segmentation does) would have to do all the work twice for that: they begin
 * anew on the CPU, and stay there until a flush, where all begins anew. */
#ifndef GST_GSTCFBACKEND_H
#define GST_GSTCFBACKEND_H

#include "gstcfframe.h"
#include "transfer/transfer.h"
#include "gstcfstats.h"

G_BEGIN_DECLS

typedef struct {
  GstElement *element; /* for its messages; not a reference */
  const CfFilter *filter;
  GstCfStats stats;
  gboolean fail_on_gpu_error;
  guint slots;        /* frames that may be under way */

  CfContext *cpu;
  CfPlan *cpu_plan[GST_CF_N_MODES]; /* the finishing thread's */
  /* For whoever submits and whoever finds on finishing that the GPU fails. */
  GMutex lock;
  GstCfGpu gpu;
  GstCfChain chain;   /* what the GPU's frames have to do with the neighbours' */
  gboolean use_gpu;   /* the next frame goes there */
  guint given_up;     /* how often the GPU was, with all frames that were under way */
  gboolean hung;      /* the last time, because it did not answer */
  guint failures;     /* of the GPU, since it last worked for long */
  guint good;         /* frames it made since the last failure */
  gboolean warned;    /* the bus has heard of it */
  gboolean ended;     /* fail_on_gpu_error: it has failed, and nothing mends that but a new start */

  gboolean configured;
  GstVideoInfo info;
  CfFormat format;
  guint modes;        /* bits 1 << GstCfMode */
  gint history;       /* earlier frames that the filter looks at */
  gboolean follows;   /* a frame's result leans on those of all frames since a reset */
  gboolean gap;       /* the plan that is to make the next frame has missed the one before */
  gboolean passes;    /* filtering would change nothing */
  gboolean reports;   /* there are regions after each frame */
  CfRegions regions;  /* of the frame just made; they last until the next one */
  CfCommon common;
  gpointer params;    /* this path's copy */
} GstCfBackend;

/* A frame under way. The buffers are the caller's; they stay until the frame is
 * finished. */
typedef struct {
  GstBuffer *in, *out; /* the same: nothing is filtered */
  GstCfMode mode;
  gboolean refused, on_gpu, mapped;
  gboolean cuda_memory; /* on either side */
  GstCfFrame src, dst;
  GstCfGpuJob gpu;
  CfStatus status;     /* of the submission */
  guint given_up;      /* the path's, then */
  guint64 start;
} GstCfJob;

void gst_cf_backend_init (GstCfBackend *path, GstElement *element, const CfFilter *filter);
void gst_cf_backend_clear (GstCfBackend *path);

/* start: the CPU side; then, if there is a context, the GPU's; and the end. */
gboolean gst_cf_backend_start (GstCfBackend *path, guint slots, gboolean fail_on_gpu_error, CfStatus *status);
gboolean gst_cf_backend_open_gpu (GstCfBackend *path, GstObject *context, CfStatus *status);
void gst_cf_backend_stop (GstCfBackend *path);

/* All of these post an element error where they return FALSE or an error. */
gboolean gst_cf_backend_configure (GstCfBackend *path, const GstVideoInfo *info, const CfCommon *common,
    gconstpointer params);
gboolean gst_cf_backend_update (GstCfBackend *path, const CfCommon *common, gconstpointer params);
/* The input's frames live in another context: move there. */
gboolean gst_cf_backend_adopt (GstCfBackend *path, GstObject *context);
/* Is the GPU in use, in another context than this one? Submitting thread. */
gboolean gst_cf_backend_is_elsewhere (GstCfBackend *path, GstObject *context);

/* May this frame be its own output? Submitting thread. */
gboolean gst_cf_backend_may_pass (const GstCfBackend *path, GstBuffer *in);
/* Does the next frame that is filtered need a gst_cf_backend_reset before it?
 * Submitting thread. */
gboolean gst_cf_backend_needs_reset (GstCfBackend *path);
/* FALSE: this frame has to be finished before another is submitted. */
gboolean gst_cf_backend_submit (GstCfBackend *path, GstCfJob *job, guint slot, GstBuffer *in, GstBuffer *out);
/* `drop`: nobody wants the frame any more; what the GPU does with it is waited
 * for, no more. */
GstFlowReturn gst_cf_backend_finish (GstCfBackend *path, GstCfJob *job, gboolean drop);

/* Forgets the earlier frames. */
void gst_cf_backend_reset (GstCfBackend *path);

/* A GST_ELEMENT_ERROR of the domain that fits the status. */
void gst_cf_backend_post_error (GstElement *element, const CfStatus *status, const gchar *what);

/* The video of some caps, as the filter library sees it; FALSE and a sentence
 * where it does not take it. `modes` is which kinds of frames to expect; to a
 * filter of whole frames all are progressive. */
gboolean gst_cf_video_from_info (const CfFilter *filter, const GstVideoInfo *info, CfVideo *video, guint *modes,
    CfStatus *status);

G_END_DECLS
#endif
