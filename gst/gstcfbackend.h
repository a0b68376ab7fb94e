/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfbackend.h: filters frames on the GPU or on the CPU, and fails over from the one to the other.
 *
 * A frame is submitted, which queues it on the GPU, and finished, which waits for it or has the CPU filter it. Where
 * frames overlap, the streaming thread submits them, one for each slot, and another thread finishes them, in their
 * order; else one thread does both. All other functions are for when no frame is under way.
 *
 * A backend belongs to one element. It always has plans for the CPU, except where a GPU failure ends the stream
 * anyway, so that the very frame on which the GPU failed is delivered. Filters with a history have the CPU's plans
 * see every frame. Stateful filters (segmentation) would have to do all the work twice for that: they start again
 * on the CPU, and stay there until a flush, where everything starts again. */
#ifndef GST_GSTCFBACKEND_H
#define GST_GSTCFBACKEND_H

#include "gstcfframe.h"
#include "gstcfstats.h"
#include "transfer/transfer.h"

G_BEGIN_DECLS

typedef struct {
  GstElement *element; /* for its messages; not a reference */
  const CfFilter *filter;
  GstCfStats stats;
  gboolean fail_on_gpu_error;
  guint slots; /* frames that may be under way */

  CfContext *cpu;
  CfPlan *cpu_plan[GST_CF_N_MODES]; /* the finishing thread's */

  GMutex lock; /* between the thread that submits and the one that sees a failure when it finishes */
  GstCfTransfer transfer;
  GstCfChain chain;  /* the element's place among neighbours with CUDA memory */
  gboolean use_gpu;  /* for the next frame */
  guint given_up;    /* how often the GPU was given up, with all frames under way */
  gboolean hung;     /* the last time, because it did not answer */
  guint failures;    /* of the GPU, since it last worked for long */
  guint good;        /* frames that it made since the last failure */
  gboolean warned;   /* the warning is posted */
  gboolean ended;    /* with fail_on_gpu_error the GPU has failed: only a new start mends that */

  gboolean configured;
  GstVideoInfo info;
  CfFormat format;
  guint modes;       /* bits 1 << GstCfMode */
  CfCommon common;
  gpointer params;   /* this backend's copy */
  CfTraits traits;   /* of the parameters */
  gboolean gap;      /* the plan for the next frame has not seen the one before */
  CfRegions regions; /* of the last frame; they last until the next one */
} GstCfBackend;

/* A frame under way. The buffers are the caller's and stay until the frame is finished. */
typedef struct {
  GstBuffer *in, *out; /* the same: nothing is filtered */
  GstCfMode mode;
  gboolean refused, on_gpu, mapped;
  gboolean cuda_memory; /* on either side */
  GstCfFrame src, dst;
  GstCfFrameRequest request;
  guint given_up;       /* the backend's, at submission */
  guint64 start;        /* ns */
} GstCfPendingFrame;

void gst_cf_backend_init (GstCfBackend *b, GstElement *element, const CfFilter *filter);
void gst_cf_backend_clear (GstCfBackend *b);

/* Start with the CPU; then, if there is a context, with the GPU; and stop. */
gboolean gst_cf_backend_start (GstCfBackend *b, guint slots, gboolean fail_on_gpu_error, CfStatus *status);
gboolean gst_cf_backend_open_gpu (GstCfBackend *b, GstObject *context, CfStatus *status);
void gst_cf_backend_stop (GstCfBackend *b);

/* The functions below post an element error where they return FALSE or an error. */
gboolean gst_cf_backend_configure (GstCfBackend *b, const GstVideoInfo *info, const CfCommon *common,
    gconstpointer params);
gboolean gst_cf_backend_update (GstCfBackend *b, const CfCommon *common, gconstpointer params);
/* Moves to the context of the input's frames. */
gboolean gst_cf_backend_adopt (GstCfBackend *b, GstObject *context);
/* Returns whether the GPU is in use, in another context than this one. Submitting thread. */
gboolean gst_cf_backend_is_elsewhere (GstCfBackend *b, GstObject *context);

/* Returns whether this frame may be its own output. Submitting thread. */
gboolean gst_cf_backend_may_pass (const GstCfBackend *b, GstBuffer *in);
/* Returns whether a gst_cf_backend_reset has to precede the next frame that is filtered. Submitting thread. */
gboolean gst_cf_backend_needs_reset (GstCfBackend *b);
/* FALSE: this frame has to be finished before another is submitted. */
gboolean gst_cf_backend_submit (GstCfBackend *b, GstCfPendingFrame *frame, guint slot, GstBuffer *in, GstBuffer *out);
/* `drop`: discards the frame; only waits until the GPU no longer uses its buffers. */
GstFlowReturn gst_cf_backend_finish (GstCfBackend *b, GstCfPendingFrame *frame, gboolean drop);

/* Forgets the earlier frames. */
void gst_cf_backend_reset (GstCfBackend *b);

/* Posts a GST_ELEMENT_ERROR of the domain that fits the status. */
void gst_cf_backend_post_error (GstElement *element, const CfStatus *status, const gchar *what);

/* Fills the video of some caps and the modes of their frames (bits 1 << GstCfMode); a filter of whole frames has
 * progressive ones only. FALSE and a sentence where the library does not take the caps. */
gboolean gst_cf_video_from_info (const CfFilter *filter, const GstVideoInfo *info, CfVideo *video, guint *modes,
    CfStatus *status);

G_END_DECLS
#endif
