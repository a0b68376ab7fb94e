/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcffilter-frames.c: a frame's way through the element: what is filtered of it, where to, when, by which thread. */
#include "gstcffilter-private.h"

#define GST_CAT_DEFAULT gst_cf_filter_debug

static GstBaseTransformClass *parent; /* the class of GstBaseTransform */

/* Makes the area of a frame: NULL for all of it. Without memory for an area, all of the frame is filtered. */
static CfArea *
area_of (GstCfFilter *self, GstBuffer *in)
{
  GstCfFilterPrivate *priv = PRIV (self);
  GstCfBackend *b = &priv->backend;
  const CfVideo video = gst_cf_backend_video (b, in);
  CfStatus status = { 0 };
  CfArea *area = gst_cf_roi_area (priv->roi, in, &GST_BASE_TRANSFORM (self)->segment, &b->info, &video, &b->traits,
      &status);

  if (!area && status.code != CF_OK)
    GST_WARNING_OBJECT (self, "the whole frame is filtered: %s", status.message);
  if (area && cf_area_info (area).whole)
    g_clear_pointer (&area, cf_area_unref);
  return area;
}

/* Decides what is filtered of a frame, and where to. Returns the input as the output where the frame passes, or where a
 * part of it is filtered in place. The passthrough mode of the base class is not used: it releases the pool of output
 * buffers and needs a renegotiation to get one again. */
static GstFlowReturn
prepare_output_buffer (GstBaseTransform *trans, GstBuffer *in, GstBuffer **out)
{
  GstCfFilter *self = GST_CF_FILTER (trans);
  GstCfFilterPrivate *priv = PRIV (self);
  GstCfBackend *b = &priv->backend;
  gboolean passes = gst_cf_backend_is_identity (b) || !gst_cf_roi_is_enabled (priv->roi);

  g_clear_pointer (&priv->area, cf_area_unref);
  if (passes && priv->same_memory && gst_cf_backend_may_pass (b, in)) {
    gst_cf_roi_see (priv->roi, in, &trans->segment, &b->info);
    *out = in;
    return GST_FLOW_OK;
  }
  if (b->configured && gst_cf_roi_is_used (priv->roi))
    priv->area = area_of (self, in);
  passes = priv->area && cf_area_info (priv->area).empty && !gst_cf_backend_needs_all (b);
  if (passes && priv->same_memory && gst_cf_backend_may_pass (b, in)) {
    g_clear_pointer (&priv->area, cf_area_unref);
    *out = in;
    return GST_FLOW_OK;
  }
  if (priv->area && priv->same_memory && gst_cf_backend_is_in_place (b, in, priv->area)) {
    *out = in;
    return GST_FLOW_OK;
  }
  return parent->prepare_output_buffer (trans, in, out);
}

/* Submits a frame in a slot, after a reset of the backend where one is due. Returns FALSE if the frame must be finished
 * before the next one is submitted. */
static gboolean
submit (GstCfFilter *self, GstCfPendingFrame *frame, guint slot, GstBuffer *in, GstBuffer *out)
{
  GstCfFilterPrivate *priv = PRIV (self);
  gboolean flushed = g_atomic_int_compare_and_exchange (&priv->reset, TRUE, FALSE);
  CfArea *area = g_steal_pointer (&priv->area);

  if (flushed || ((in != out || area) && gst_cf_backend_needs_reset (&priv->backend))) {
    gst_cf_filter_drain (self);
    gst_cf_backend_reset (&priv->backend);
  }
  return gst_cf_backend_submit (&priv->backend, frame, slot, in, out, area);
}

static GstFlowReturn
finish (GstCfFilter *self, GstCfPendingFrame *frame, gboolean drop)
{
  GstCfFilterClass *klass = GST_CF_FILTER_GET_CLASS (self);
  GstCfFilterPrivate *priv = PRIV (self);
  GstFlowReturn flow = gst_cf_backend_finish (&priv->backend, frame, drop);

  /* New parameters are applied only while no frame is pending, so these are the frame's. */
  if (flow == GST_FLOW_OK && !drop && frame->out && klass->regions &&
      !klass->regions (self, frame->out, &priv->backend.info,
          !frame->passes && priv->backend.traits.has_regions ? &priv->backend.regions : NULL, priv->backend.params))
    flow = GST_FLOW_ERROR;
  gst_cf_filter_update_active_backend (self);
  return flow;
}

/* frames-in-flight=1, or pull mode: filters one frame, which the base class pushes. */
static GstFlowReturn
transform (GstBaseTransform *trans, GstBuffer *in, GstBuffer *out)
{
  GstCfFilter *self = GST_CF_FILTER (trans);
  GstCfPendingFrame frame;

  submit (self, &frame, 0, in, out);
  return finish (self, &frame, FALSE);
}

/* ---- frames-in-flight > 1 ----------------------------------------------- */

/* Called by the output thread. */
static GstFlowReturn
finish_pending (gpointer user, GstCfPendingFrame *frame, gboolean drop)
{
  GstFlowReturn flow = finish (user, frame, drop);

  if (frame->in != frame->out)
    gst_buffer_unref (frame->in);
  return flow;
}

/* Called by the output thread. Does what the base class does when it pushes a frame. */
static GstFlowReturn
push_finished (gpointer user, GstBuffer *out)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (user);
  GstClockTime end = GST_BUFFER_PTS (out);

  if (GST_CLOCK_TIME_IS_VALID (end) && GST_BUFFER_DURATION_IS_VALID (out))
    end += GST_BUFFER_DURATION (out);
  GST_OBJECT_LOCK (user);
  PRIV (user)->pushed++;
  GST_OBJECT_UNLOCK (user);
  if (GST_CLOCK_TIME_IS_VALID (end) && trans->segment.format == GST_FORMAT_TIME)
    trans->segment.position = end;
  return gst_pad_push (GST_BASE_TRANSFORM_SRC_PAD (trans), out);
}

GstFlowReturn
gst_cf_filter_take_flow (GstCfFilter *self)
{
  GstCfFilterPrivate *priv = PRIV (self);
  GstFlowReturn flow = priv->slots > 1 ? gst_cf_output_take_flow (&priv->output) : GST_FLOW_OK;

  if (flow == GST_FLOW_OK)
    flow = priv->held_flow;
  priv->held_flow = GST_FLOW_OK;
  return flow;
}

/* Drops a frame; takes it. Its regions count: the detector may have looked at no other one. */
static void
drop_frame (GstCfFilter *self, GstBuffer *in)
{
  GstCfFilterPrivate *priv = PRIV (self);

  gst_cf_roi_sync (priv->roi);
  gst_cf_roi_see (priv->roi, in, &GST_BASE_TRANSFORM (self)->segment, &priv->backend.info);
  gst_buffer_unref (in);
  priv->discont = TRUE;
}

/* Returns the flow of an earlier frame instead, if downstream did not accept it. */
static GstFlowReturn
submit_input_buffer (GstBaseTransform *trans, gboolean is_discont, GstBuffer *in)
{
  GstCfFilter *self = GST_CF_FILTER (trans);
  GstFlowReturn flow = gst_cf_filter_take_flow (self);

  /* Between the activation of the pad and that of the base class, the latter still believes in the caps of the stream
   * before. */
  if (!gst_pad_has_current_caps (GST_BASE_TRANSFORM_SINK_PAD (trans))) {
    gst_buffer_unref (in);
    return GST_FLOW_NOT_NEGOTIATED;
  }
  if (flow != GST_FLOW_OK) {
    drop_frame (self, in);
    return flow;
  }
  gst_buffer_ref (in);
  flow = parent->submit_input_buffer (trans, is_discont, in);
  if (flow == GST_BASE_TRANSFORM_FLOW_DROPPED) /* it is late (QoS) */
    drop_frame (self, in);
  else
    gst_buffer_unref (in);
  return flow;
}

/* Sets DISCONT on the first frame after dropped ones, as the base class does when it pushes. */
static GstBuffer *
mark_discont (GstCfFilterPrivate *priv, GstBuffer *out)
{
  if (priv->discont && !GST_BUFFER_IS_DISCONT (out)) {
    out = gst_buffer_make_writable (out);
    GST_BUFFER_FLAG_SET (out, GST_BUFFER_FLAG_DISCONT);
  }
  priv->discont = FALSE;
  return out;
}

/* Submits a frame to the output thread; takes `in`. The regions of a frame are in the plan until the next frame, so
 * frames with regions do not overlap. */
static GstFlowReturn
submit_frame (GstCfFilter *self, GstBuffer *in)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  GstCfFilterPrivate *priv = PRIV (self);
  GstBuffer *out = NULL;
  GstFlowReturn flow;
  GstCfPendingFrame *frame;
  gboolean passes, more;
  guint slot;

  frame = gst_cf_output_begin (&priv->output, priv->backend.traits.has_regions ? 1 : priv->slots, &slot);
  if (!frame) {
    drop_frame (self, in);
    return gst_cf_output_take_flow (&priv->output);
  }
  flow = GST_BASE_TRANSFORM_GET_CLASS (self)->prepare_output_buffer (trans, in, &out);
  if (flow != GST_FLOW_OK || !out) {
    gst_buffer_unref (in);
    return flow;
  }
  passes = in == out;
  out = mark_discont (priv, out);
  more = submit (self, frame, slot, passes ? out : in, out);
  gst_cf_output_add (&priv->output);
  if (!more)
    gst_cf_filter_drain (self);
  return GST_FLOW_OK;
}

/* Returns whether the output thread finishes frames. */
static gboolean
overlaps (GstCfFilter *self)
{
  return PRIV (self)->slots > 1 && GST_PAD_MODE (GST_BASE_TRANSFORM_SRC_PAD (self)) != GST_PAD_MODE_PULL;
}

/* Filters the queued frame into `*out`, or submits it. */
static GstFlowReturn
filter_queued (GstBaseTransform *trans, GstBuffer **out)
{
  *out = NULL;
  return overlaps (GST_CF_FILTER (trans)) ? submit_frame (GST_CF_FILTER (trans), g_steal_pointer (&trans->queued_buf))
                                          : parent->generate_output (trans, out);
}

/* ---- frames that wait for later ones ------------------------------------ */

/* Has the plans take a frame into their history. */
static GstFlowReturn
take_frame (GstCfFilter *self, GstBuffer *in)
{
  GstCfFilterPrivate *priv = PRIV (self);
  GstCfPendingFrame only, *frame = &only;
  gboolean more;
  guint slot;

  g_clear_pointer (&priv->area, cf_area_unref);
  if (!overlaps (self)) {
    submit (self, frame, 0, in, NULL);
    return finish (self, frame, FALSE);
  }
  frame = gst_cf_output_begin (&priv->output, priv->slots, &slot);
  if (!frame)
    return gst_cf_output_take_flow (&priv->output);
  more = submit (self, frame, slot, gst_buffer_ref (in), NULL);
  gst_cf_output_add (&priv->output);
  if (!more)
    gst_cf_filter_drain (self);
  return GST_FLOW_OK;
}

/* Exchanges the queued frame, which is taken into the history, for the one that it is the last of the frames ahead of:
 * none before there are as many. */
static GstFlowReturn
exchange_queued (GstBaseTransform *trans)
{
  GstCfFilterPrivate *priv = PRIV (GST_CF_FILTER (trans));
  GstBuffer *in = g_steal_pointer (&trans->queued_buf);
  GstFlowReturn flow = take_frame (GST_CF_FILTER (trans), in);

  if (flow != GST_FLOW_OK) {
    drop_frame (GST_CF_FILTER (trans), in);
    return flow;
  }
  g_queue_push_tail (&priv->held, in);
  if (priv->held.length > (guint) priv->backend.traits.ahead)
    trans->queued_buf = g_queue_pop_head (&priv->held);
  return GST_FLOW_OK;
}

void
gst_cf_filter_finish_held (GstCfFilter *self)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  GstCfFilterPrivate *priv = PRIV (self);
  GstBuffer *last = g_queue_peek_tail (&priv->held), *out = NULL;
  GstFlowReturn flow = GST_FLOW_OK;
  guint behind; /* frames taken after the oldest one */

  if (!last)
    return;
  gst_buffer_ref (last);
  for (behind = priv->held.length - 1; priv->held.length > 0 && flow == GST_FLOW_OK; behind--) {
    for (; behind < (guint) priv->backend.traits.ahead && flow == GST_FLOW_OK; behind++)
      flow = take_frame (self, last);
    if (flow == GST_FLOW_OK) {
      trans->queued_buf = g_queue_pop_head (&priv->held);
      gst_cf_filter_animate (self, trans->queued_buf);
      gst_cf_roi_sync (priv->roi); /* `enabled`; parameters are those of the window */
      flow = filter_queued (trans, &out);
    }
    if (out && flow == GST_FLOW_OK)
      flow = push_finished (self, g_steal_pointer (&out));
    gst_clear_buffer (&out);
  }
  while (!g_queue_is_empty (&priv->held))
    drop_frame (self, g_queue_pop_head (&priv->held));
  gst_buffer_unref (last);
  priv->held_flow = flow;
  g_atomic_int_set (&priv->reset, TRUE);
}

static GstFlowReturn
generate_output (GstBaseTransform *trans, GstBuffer **out)
{
  GstFlowReturn flow = GST_FLOW_OK;

  if (trans->queued_buf && PRIV (GST_CF_FILTER (trans))->backend.traits.ahead > 0)
    flow = exchange_queued (trans);
  *out = NULL;
  return trans->queued_buf ? filter_queued (trans, out) : flow;
}

/* ---- class -------------------------------------------------------------- */

void
gst_cf_filter_init_frames (GstCfFilter *self)
{
  g_queue_init (&PRIV (self)->held);
  gst_cf_output_init (&PRIV (self)->output, finish_pending, push_finished, self);
}

void
gst_cf_filter_install_frames (GstBaseTransformClass *klass)
{
  parent = g_type_class_peek_parent (klass);
  klass->prepare_output_buffer = GST_DEBUG_FUNCPTR (prepare_output_buffer);
  klass->transform = GST_DEBUG_FUNCPTR (transform);
  klass->submit_input_buffer = GST_DEBUG_FUNCPTR (submit_input_buffer);
  klass->generate_output = GST_DEBUG_FUNCPTR (generate_output);
}
