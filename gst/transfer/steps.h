/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * transfer/steps.h: what transfer.c, sync.c and overlap.c share: the steps of a frame request. A step of a request that
 * has failed does nothing. Context current. */
#ifndef GST_TRANSFER_STEPS_H
#define GST_TRANSFER_STEPS_H

#include "transfer/transfer.h"

G_BEGIN_DECLS

/* The events of a slot. */
enum { BEFORE_UPLOAD, AFTER_UPLOAD, BEFORE_KERNELS, AFTER_KERNELS, BEFORE_DOWNLOAD, AFTER_DOWNLOAD, N_SLOT_EVENTS };

/* One frame in so many is timed for the stats: events around each copy of each frame, and waits for copies
 * that were over anyway, left 85 % of the link's rate at 1080p instead of 88. */
#define GST_CF_TIMED_EVERY 8

static inline gboolean
gst_cf_request_failed (const GstCfFrameRequest *r)
{
  return r->status.code != CF_OK;
}

/* Allocates the memory of the slot that the frame needs, and copies pageable input to pinned memory. */
void gst_cf_step_stage (GstCfTransfer *t, GstCfFrameRequest *r);
/* Records an event of the slot. */
void gst_cf_step_record (GstCfTransfer *t, GstCfFrameRequest *r, CfStream *stream, guint event);
/* The same for the times alone: where the frame is timed and does not leave. */
void gst_cf_step_time (GstCfTransfer *t, GstCfFrameRequest *r, CfStream *stream, guint event);
/* Has the stream wait for an event. */
void gst_cf_step_wait_event (GstCfFrameRequest *r, CfStream *stream, const CfEvents *events, guint event);
/* Copies the frame to the slot's device memory, and from there; nothing where the side is in device memory. */
void gst_cf_step_upload (GstCfTransfer *t, GstCfFrameRequest *r, CfStream *stream);
void gst_cf_step_download (GstCfTransfer *t, GstCfFrameRequest *r, CfStream *stream);
/* Copies the area's part of the input, into which the GPU is going to write, to the slot's memory: while the GPU works,
 * and before the download is queued. */
void gst_cf_step_keep (GstCfTransfer *t, GstCfFrameRequest *r);
/* Filters, and keeps the other mode's history. Of an area, the rest of the frame is copied on the GPU first, unless the
 * frame is filtered in place. */
void gst_cf_step_filter (GstCfTransfer *t, GstCfFrameRequest *r);
/* The images in pinned host memory that a frame is copied from and to: its own, or the slot's. */
const CfImage *gst_cf_host_in (const GstCfTransfer *t, const GstCfFrameRequest *r);
const CfImage *gst_cf_host_out (const GstCfTransfer *t, const GstCfFrameRequest *r);
/* Allocates memory for an image of the transfer's layout, unless there is some. */
gboolean gst_cf_provide (const GstCfTransfer *t, CfMemory kind, gpointer *memory, CfImage *image, CfStatus *status);
guint64 gst_cf_deadline (const GstCfTransfer *t);

/* sync.c */
void gst_cf_sync_submit (GstCfTransfer *t, GstCfFrameRequest *r);
void gst_cf_sync_wait (GstCfTransfer *t, GstCfFrameRequest *r);
/* The request is over, whatever came of it. */
void gst_cf_sync_end (GstCfTransfer *t, GstCfFrameRequest *r);
void gst_cf_sync_free (GstCfTransfer *t);

/* overlap.c */
gboolean gst_cf_overlap_open (GstCfTransfer *t, CfStatus *status);
void gst_cf_overlap_close (GstCfTransfer *t);
void gst_cf_overlap_submit (GstCfTransfer *t, GstCfFrameRequest *r);
void gst_cf_overlap_wait (GstCfTransfer *t, GstCfFrameRequest *r);

G_END_DECLS
#endif
