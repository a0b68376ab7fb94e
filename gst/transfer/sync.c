/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * transfer/sync.c: one frame at a time, which the thread that submitted it waits for: on the streams of a link slot,
 * as a whole or in slices, or on the stream of a chain. */
#include "transfer/steps.h"

/* Slices of a frame overlap their copies and kernels, and each costs some calls. Measured on an H200 against whole
 * frames and other numbers of slices: docs/notes/frame-path.md. */
#define ROWS_FOR_2_SLICES 960
#define ROWS_FOR_4_SLICES 1440
/* A stream whose parameters change all the time does not make new slices for each of them. */
#define FRAMES_AFTER_CHANGE 32

/* Makes the slices of this configuration, once. FALSE: the frame goes as a whole; or the request has failed. */
static gboolean
provide_slices (GstCfTransfer *t, GstCfFrameRequest *r)
{
  const CfVideo video = { t->layout.format, t->layout.width, t->layout.height, r->mode == GST_CF_INTERLACED };
  CfStatus status = { 0 };

  if (t->slices || t->whole)
    return t->slices != NULL;
  t->whole = TRUE;
  t->slices = cf_slices_new (video.height < ROWS_FOR_4_SLICES ? 2 : 4, t->cf, t->filter, &video, t->common, t->params,
      &status);
  if (t->slices && gst_cf_provide (t, CF_DEVICE, &t->memory_slices, &t->device_slices, &status))
    return TRUE;
  /* Any other failure is the GPU's, as in all steps; the frames after this one go as a whole. */
  if (status.code != CF_UNSUPPORTED)
    r->status = status;
  cf_slices_free (t->slices);
  t->slices = NULL;
  return FALSE;
}

/* Where other frames are on the link, it is busy anyway, and slices would only be more calls. */
static gboolean
may_slice (GstCfTransfer *t, GstCfFrameRequest *r)
{
  if (t->steady < FRAMES_AFTER_CHANGE) {
    t->steady++;
    return FALSE;
  }
  return r->in.kind != GST_CF_DEVICE && r->out.kind != GST_CF_DEVICE && r->mode == GST_CF_PROGRESSIVE &&
      t->layout.height >= ROWS_FOR_2_SLICES && gst_cf_link_slots_idle (t->link_slots) && provide_slices (t, r);
}

/* A frame that uses the link needs a link slot. Its streams are those of the slot, unless the kernels have the
 * stream of a chain. */
static void
take_link_slot (GstCfTransfer *t, GstCfFrameRequest *r)
{
  gboolean alone;

  if (gst_cf_request_failed (r) || (r->in.kind == GST_CF_DEVICE && r->out.kind == GST_CF_DEVICE))
    return;
  r->status.code = gst_cf_link_slots_take (t->link_slots, &t->flushing, gst_cf_deadline (t), &r->own.link_slot, &alone,
      &r->status);
  r->own.has_link_slot = !gst_cf_request_failed (r);
  if (!r->own.has_link_slot)
    return;
  r->own.sliced = r->own.sliced && alone;
  if (!r->own.stream)
    r->own.stream = gst_cf_link_slots_stream (t->link_slots, r->own.link_slot, GST_CF_LINK_KERNELS, &r->status);
  if (r->own.sliced && !gst_cf_request_failed (r))
    r->own.up = gst_cf_link_slots_stream (t->link_slots, r->own.link_slot, GST_CF_LINK_UP, &r->status);
  if (r->own.sliced && !gst_cf_request_failed (r))
    r->own.down = gst_cf_link_slots_stream (t->link_slots, r->own.link_slot, GST_CF_LINK_DOWN, &r->status);
}

static void
queue_slices (GstCfTransfer *t, GstCfFrameRequest *r)
{
  GstCfSlot *slot = &t->slot[r->slot];
  const CfSlicesRequest request = { .up = r->own.up,
    .kernels = r->own.stream,
    .down = r->own.down,
    .host_in = gst_cf_host_in (t, r),
    .device_in = &slot->device_in,
    .device_out = { &slot->device_out, &t->device_slices },
    .host_out = gst_cf_host_out (t, r) };

  gst_cf_step_time (t, r, r->own.up, BEFORE_KERNELS);
  if (!gst_cf_request_failed (r))
    r->status.code = cf_slices_enqueue (t->slices, &request, &r->status);
  gst_cf_step_time (t, r, r->own.down, AFTER_KERNELS);
}

static void
queue_whole (GstCfTransfer *t, GstCfFrameRequest *r)
{
  CfStream *stream = r->own.stream;

  gst_cf_step_upload (t, r, stream);
  gst_cf_step_time (t, r, stream, BEFORE_KERNELS);
  gst_cf_step_filter (t, r);
  gst_cf_step_time (t, r, stream, AFTER_KERNELS);
  if (r->in_place && r->out.kind == GST_CF_PINNED)
    gst_cf_step_keep (t, r);
  if (r->in_place)
    gst_cf_step_time (t, r, stream, BEFORE_DOWNLOAD);
  gst_cf_step_download (t, r, stream);
}

void
gst_cf_sync_submit (GstCfTransfer *t, GstCfFrameRequest *r)
{
  r->own.sliced = !r->own.stream && !r->area && may_slice (t, r);
  gst_cf_step_stage (t, r);
  take_link_slot (t, r);
  if (gst_cf_request_failed (r))
    return;
  if (r->own.sliced)
    queue_slices (t, r);
  else
    queue_whole (t, r);
}

void
gst_cf_sync_wait (GstCfTransfer *t, GstCfFrameRequest *r)
{
  CfStream *last = r->own.down ? r->own.down : r->own.stream;

  r->status.code = gst_cf_chain_wait (t->chain, last, gst_cf_deadline (t), &r->status);
}

void
gst_cf_sync_end (GstCfTransfer *t, GstCfFrameRequest *r)
{
  if (r->own.has_link_slot && r->status.code == CF_TIMEOUT)
    gst_cf_link_slots_abandon (t->link_slots, r->own.link_slot);
  else if (r->own.has_link_slot)
    gst_cf_link_slots_release (t->link_slots, r->own.link_slot);
  r->own.has_link_slot = FALSE;
}

void
gst_cf_sync_free (GstCfTransfer *t)
{
  cf_slices_free (t->slices);
  t->slices = NULL;
  t->whole = FALSE;
}
