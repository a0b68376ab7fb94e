/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfoutput.h: the queue of pending frames between two threads. The streaming thread submits frames and waits only
 * while all slots are taken. The output thread finishes the oldest frame and pushes it.
 *
 * The flow that a push returns is kept for the streaming thread, which returns it to upstream in place of the flow of
 * the next frame. Until then, the frames after one that downstream did not accept are dropped. */
#ifndef GST_GSTCFOUTPUT_H
#define GST_GSTCFOUTPUT_H

#include "gstcfbackend.h"

G_BEGIN_DECLS

/* Both functions are called by the output thread. GstCfFinish waits for the frame and releases the reference to the
 * input; `frame->out`, unless it is NULL, is then pushed or dropped. GstCfPush takes `out`. */
typedef GstFlowReturn (*GstCfFinish) (gpointer user, GstCfPendingFrame *frame, gboolean drop);
typedef GstFlowReturn (*GstCfPush) (gpointer user, GstBuffer *out);

typedef struct {
  GstCfFinish finish;
  GstCfPush push;
  gpointer user;

  GThread *thread; /* NULL: not started */
  GMutex lock;
  GCond changed;
  /* all fields below: guarded by the lock */
  GstCfPendingFrame frame[GST_CF_MAX_IN_FLIGHT]; /* a ring, indexed by slot */
  guint size, first, n;
  gboolean pushing;  /* the output thread is pushing a frame that is not in the ring any more */
  gboolean flushing; /* pending frames are dropped, and no frame is accepted */
  gboolean stopping;
  GstFlowReturn flow; /* the flow for upstream */
} GstCfOutput;

void gst_cf_output_init (GstCfOutput *output, GstCfFinish finish, GstCfPush push, gpointer user);
void gst_cf_output_clear (GstCfOutput *output);

/* Starts the output thread. `size`: the number of slots, at most GST_CF_MAX_IN_FLIGHT. Returns FALSE if the thread
 * cannot be started. */
gboolean gst_cf_output_start (GstCfOutput *output, guint size, const gchar *name);
/* Drops the pending frames and ends the thread. Does nothing if the thread is not started. */
void gst_cf_output_stop (GstCfOutput *output);

/* The next three functions are called by the streaming thread. */

/* Waits until fewer than `max_pending` frames are pending, and returns the next frame, with its slot. Returns NULL if
 * no frame is to be submitted; gst_cf_output_take_flow then returns the reason. */
GstCfPendingFrame *gst_cf_output_begin (GstCfOutput *output, guint max_pending, guint *slot);
/* Hands the frame of gst_cf_output_begin, which was submitted, to the output thread. */
void gst_cf_output_add (GstCfOutput *output);
/* Returns the flow for upstream and resets it to GST_FLOW_OK. */
GstFlowReturn gst_cf_output_take_flow (GstCfOutput *output);

/* Waits until all pending frames are pushed or dropped. Any thread except the output thread. */
void gst_cf_output_drain (GstCfOutput *output);
/* TRUE: wakes the streaming thread, refuses new frames and drops the pending ones. FALSE: waits until they are dropped,
 * and accepts frames again. */
void gst_cf_output_set_flushing (GstCfOutput *output, gboolean flushing);

G_END_DECLS
#endif
