/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfbackend.h: filters frames on the GPU or on the CPU, and fails over from the GPU to the CPU.
 *
 * Submitting a frame queues its work on the GPU. Finishing a frame waits for that work, or filters the frame on the
 * CPU. With frames-in-flight > 1 the streaming thread submits one frame per slot and the output thread finishes the
 * frames in order; otherwise the streaming thread does both. All other functions require that no frame is pending.
 *
 * A backend belongs to one element. It keeps plans for the CPU, so that the frame on which the GPU failed can still be
 * delivered; it keeps none where a GPU failure ends the stream. With a temporal filter, the CPU plans take every frame
 * into their history. A stateful filter (segmentation) would have to filter every frame twice for that; instead it
 * starts without history on the CPU, and the GPU is not used again before the next flush, which resets both. */
#ifndef GST_GSTCFBACKEND_H
#define GST_GSTCFBACKEND_H

#include "gstcfframe.h"
#include "gstcfstats.h"
#include "transfer/transfer.h"

G_BEGIN_DECLS

typedef struct {
  GstElement *element; /* posts the messages; no reference */
  const CfFilter *filter;
  GstCfStats stats;
  gboolean fail_on_gpu_error;
  guint slots; /* the maximum number of pending frames */

  GstCfPlans cpu;   /* used by the finishing thread */
  gpointer scratch; /* for areas on the CPU: NULL until a frame needs it */

  GMutex lock; /* shared by the submitting thread and the finishing thread, which detects failures */
  GstCfTransfer transfer;
  GstCfChain chain;     /* links the element to neighbours that exchange CUDA memory */
  gboolean use_gpu;     /* the next frame goes to the GPU */
  guint given_up;       /* how often all pending frames were given up, */
  CfCode reason;        /* and the last time why: CF_TIMEOUT, CF_GPU_LOST or CF_CANCELLED */
  GstObject *cut_short; /* NULL, or the context we abandoned after a cancelled wait; opened again at the next reset */
  guint failures;       /* GPU failures; 0 again after FORGET_AFTER good frames */
  guint good;           /* frames filtered on the GPU since the last failure */
  gboolean warned;      /* the warning about a GPU failure was posted */
  gboolean ended;       /* the GPU failed with fail_on_gpu_error set; cleared by the next start */

  gboolean configured;
  gboolean nvmm; /* the frames of both pads are NVMM; set by the caller of configure */
  GstVideoInfo info;
  CfFormat format;
  guint modes; /* bits 1 << GstCfMode */
  CfCommon common;
  gpointer params;   /* the backend's own copy */
  CfTraits traits;   /* the traits of `params` */
  gboolean gap;      /* the plan for the next frame did not process the previous frame */
  CfRegions regions; /* of the last frame; valid until the next frame */
} GstCfBackend;

/* A pending frame. The caller owns the buffers and keeps them until the frame is finished. */
typedef struct {
  GstBuffer *in, *out; /* equal: the frame passes, or its area is filtered in place; `out` NULL: the frame is only
                          taken into the history */
  CfArea *area;        /* NULL, or what is filtered of the frame; the frame's reference */
  gboolean passes;
  gboolean leaves; /* it passes, and the GPU may not have finished it; GstCfFrameRequest.leaves is for filtered ones */
  GstCfMode mode;
  const gchar *refusal; /* NULL, or why the buffers cannot be mapped; request.status says more */
  gboolean on_gpu, mapped;
  gboolean cuda_memory; /* the input or the output is in CUDA memory */
  GstCfFrame src, dst;
  GstCfFrameRequest request;
  guint given_up; /* GstCfBackend.given_up at submission */
  guint64 start;  /* time of submission, ns */
} GstCfPendingFrame;

void gst_cf_backend_init (GstCfBackend *b, GstElement *element, const CfFilter *filter);
void gst_cf_backend_clear (GstCfBackend *b);

/* Starts the backend with the CPU only. */
gboolean gst_cf_backend_start (GstCfBackend *b, guint slots, gboolean fail_on_gpu_error, CfStatus *status);
/* Opens the GPU of a CUDA context in a started backend. */
gboolean gst_cf_backend_open_gpu (GstCfBackend *b, GstObject *context, CfStatus *status);
/* Closes the GPU and frees the plans. */
void gst_cf_backend_stop (GstCfBackend *b);

/* The functions below post an element error before they return FALSE or GST_FLOW_ERROR, unless documented otherwise. */

/* Makes the plans for new caps. */
gboolean
gst_cf_backend_configure (GstCfBackend *b, const GstVideoInfo *info, const CfCommon *common, gconstpointer params);
/* Applies new parameters. Succeeds without effect before the first configure. */
gboolean gst_cf_backend_update (GstCfBackend *b, const CfCommon *common, gconstpointer params);
/* Moves the backend to another CUDA context, that of the input frames. */
gboolean gst_cf_backend_adopt (GstCfBackend *b, GstObject *context);
/* Returns whether the backend uses the GPU in a context other than `context`. Submitting thread. */
gboolean gst_cf_backend_is_elsewhere (GstCfBackend *b, GstObject *context);

/* Returns the CUDA context that frames are filtered in, or will be after a flush; NULL where the GPU is not used any
 * more. Submitting thread. */
GstObject *gst_cf_backend_context (const GstCfBackend *b);
/* Returns format, size and interlacing of the frame `in`, for gst_cf_roi_area. Submitting thread. */
CfVideo gst_cf_backend_video (const GstCfBackend *b, GstBuffer *in);
/* Returns whether the filter would leave every frame unchanged. Submitting thread. */
gboolean gst_cf_backend_is_identity (const GstCfBackend *b);
/* Returns whether the input can be pushed as the output, unfiltered. Does not wait: if downstream does not take
 * unfinished frames, gst_cf_backend_finish waits for the GPU. Submitting thread. */
gboolean gst_cf_backend_may_pass (const GstCfBackend *b, GstBuffer *in);
/* Returns whether an area of the input is to be filtered in the input's memory. Submitting thread. */
gboolean gst_cf_backend_is_in_place (GstCfBackend *b, GstBuffer *in, const CfArea *area);
/* Returns whether frames without anything to filter must be filtered all the same, because later results depend on
 * them. Submitting thread. */
gboolean gst_cf_backend_needs_all (const GstCfBackend *b);
/* Returns whether gst_cf_backend_reset must be called before the next frame is filtered. Submitting thread. */
gboolean gst_cf_backend_needs_reset (GstCfBackend *b);
/* Queues a frame on the GPU if the GPU is in use; on the CPU gst_cf_backend_finish does the work. Takes `area`.
 *   area, in == out: filters the area in place    area, in != out: filters the area and copies the rest
 *   NULL, in == out: the frame passes             NULL, in != out: filters the whole frame
 *   out == NULL: the plans only take the frame into their history (CfTraits.ahead)
 * Returns FALSE after a failure or a flush: finish this frame before the next one is submitted. Posts nothing. */
gboolean gst_cf_backend_submit (GstCfBackend *b, GstCfPendingFrame *frame, guint slot, GstBuffer *in, GstBuffer *out,
    CfArea *area);
/* Ends a submitted frame: waits for the GPU, or filters the frame on the CPU if it was not submitted to the GPU or the
 * GPU failed. `drop`: only waits until the GPU no longer uses the buffers. */
GstFlowReturn gst_cf_backend_finish (GstCfBackend *b, GstCfPendingFrame *frame, gboolean drop);

/* Clears the history of all plans. Uses the GPU again after a failure that may have passed. */
void gst_cf_backend_reset (GstCfBackend *b);

/* While flushing, a frame does not wait for those of other elements: gst_cf_backend_finish returns GST_FLOW_FLUSHING
 * for it, without a message and without counting it. Any thread; does not wait. */
void gst_cf_backend_set_flushing (GstCfBackend *b, gboolean flushing);

/* Posts an element error "WHAT: MESSAGE" with the domain and code for the status. */
void gst_cf_backend_post_error (GstElement *element, const CfStatus *status, const gchar *what);

G_END_DECLS
#endif
