/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * transfer/overlap.c: several frames at once, each in a slot of its own: uploads, kernels and downloads have streams of
 * their own, so that those of different frames overlap. Another thread waits for them, in their order. */
#include "transfer/steps.h"

/* From four frames under way on, downloads alternate between two streams: one begins while the last bytes of another
 * are on the link (1080p: 94 % of the link's rate instead of 88). With fewer frames, two downloads at once leave the
 * uploads without a frame to go with (3 frames: 83 % instead of 88; 2: 58 instead of 75). Two streams for uploads make
 * frames fall into step, all up, then all down. */
static guint
n_down (const GstCfTransfer *t)
{
  return t->n_slots < 4 ? 1 : 2;
}

gboolean
gst_cf_overlap_open (GstCfTransfer *t, CfStatus *status)
{
  CfStream **const streams[] = { &t->kernels, &t->up, &t->down[0], &t->down[1] };
  gboolean good = TRUE;

  for (guint i = 0; good && i < 2 + n_down (t); i++)
    good = (*streams[i] = cf_stream_new (NULL, status)) != NULL;
  return good;
}

void
gst_cf_overlap_close (GstCfTransfer *t)
{
  cf_stream_free (t->down[1]);
  cf_stream_free (t->down[0]);
  cf_stream_free (t->up);
  cf_stream_free (t->kernels);
}

static void
queue_upload (GstCfTransfer *t, GstCfFrameRequest *r)
{
  GstCfSlot *slot = &t->slot[r->slot];

  if (r->in.kind == GST_CF_DEVICE || gst_cf_request_failed (r))
    return;
  if (slot->left) /* the GPU may still read what this upload overwrites */
    gst_cf_step_wait_event (r, t->up, slot->events, AFTER_KERNELS);
  slot->left = FALSE;
  gst_cf_step_upload (t, r, t->up);
  gst_cf_step_wait_event (r, r->own.stream, slot->events, AFTER_UPLOAD);
}

/* The plans' memory serves one frame at a time, whatever its stream. */
static void
queue_kernels (GstCfTransfer *t, GstCfFrameRequest *r)
{
  CfEvents *events = t->slot[r->slot].events;

  if (t->before)
    gst_cf_step_wait_event (r, r->own.stream, t->before, AFTER_KERNELS);
  gst_cf_step_time (t, r, r->own.stream, BEFORE_KERNELS);
  gst_cf_step_filter (t, r);
  gst_cf_step_record (t, r, r->own.stream, AFTER_KERNELS);
  if (!gst_cf_request_failed (r))
    t->before = events;
}

static void
queue_download (GstCfTransfer *t, GstCfFrameRequest *r)
{
  if (r->out.kind == GST_CF_DEVICE)
    return;
  gst_cf_step_wait_event (r, r->own.down, t->slot[r->slot].events, AFTER_KERNELS);
  gst_cf_step_time (t, r, r->own.down, BEFORE_DOWNLOAD);
  gst_cf_step_download (t, r, r->own.down);
}

void
gst_cf_overlap_submit (GstCfTransfer *t, GstCfFrameRequest *r)
{
  GstCfSlot *slot = &t->slot[r->slot];

  if (!r->own.stream)
    r->own.stream = t->kernels;
  r->own.up = t->up;
  r->own.down = t->down[r->slot % n_down (t)];
  gst_cf_step_stage (t, r);
  queue_upload (t, r);
  queue_kernels (t, r);
  queue_download (t, r);
  slot->left = slot->left || r->leaves;
  if (!r->leaves)
    gst_cf_step_record (t, r, r->out.kind == GST_CF_DEVICE ? r->own.stream : r->own.down, CF_COMPLETION);
}

void
gst_cf_overlap_wait (GstCfTransfer *t, GstCfFrameRequest *r)
{
  r->status.code = cf_events_wait (t->slot[r->slot].events, gst_cf_deadline (t), &t->flushing, &r->status);
}
