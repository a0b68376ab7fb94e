/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfoutput.h: frames under way between two threads. The streaming thread
 * submits one after the other and waits only where all places are taken; the
 * output thread waits for the oldest, finishes it and pushes it at once.
 *
 * What downstream answers to a push is kept for the streaming thread, which
 * hands it to upstream in place of the next frame's. Frames behind one that
 * downstream refused are dropped until then. */
#ifndef GST_GSTCFOUTPUT_H
#define GST_GSTCFOUTPUT_H

#include "gstcfbackend.h"

G_BEGIN_DECLS

/* Both in the output thread. Finish: makes the frame ready, drops the reference
 * to the input, and leaves `frame->out` to be pushed or dropped. Push takes `out`. */
typedef GstFlowReturn (*GstCfFinish) (gpointer user, GstCfPendingFrame *frame, gboolean drop);
typedef GstFlowReturn (*GstCfPush) (gpointer user, GstBuffer *out);

typedef struct {
  GstCfFinish finish;
  GstCfPush push;
  gpointer user;

  GThread *thread; /* NULL: not started */
  GMutex lock;
  GCond changed;
  /* all below: lock held */
  GstCfPendingFrame frame[GST_CF_MAX_IN_FLIGHT]; /* a ring; its place is a frame's slot */
  guint size, first, n;
  gboolean pushing;  /* one more is in the output thread's hands */
  gboolean flushing; /* frames are dropped, and none is let in */
  gboolean stopping;
  GstFlowReturn flow; /* for upstream */
} GstCfOutput;

void gst_cf_output_init (GstCfOutput *output, GstCfFinish finish, GstCfPush push, gpointer user);
void gst_cf_output_clear (GstCfOutput *output);

/* `size`: places, at most GST_CF_MAX_IN_FLIGHT. FALSE: no thread could be had. */
gboolean gst_cf_output_start (GstCfOutput *output, guint size, const gchar *name);
/* Drops what is under way and ends the thread. No-op where it is not started. */
void gst_cf_output_stop (GstCfOutput *output);

/* Streaming thread. Waits until fewer than `most` frames are under way and gives
 * the place of the next, with its number; NULL where it is not to be submitted:
 * gst_cf_output_take_flow says why. */
GstCfPendingFrame *gst_cf_output_begin (GstCfOutput *output, guint most, guint *place);
/* The frame of that place was submitted. */
void gst_cf_output_add (GstCfOutput *output);
/* The flow for upstream, GST_FLOW_OK where there is nothing to say; said once. */
GstFlowReturn gst_cf_output_take_flow (GstCfOutput *output);

/* Waits until every frame has left. Any thread but the output thread. */
void gst_cf_output_drain (GstCfOutput *output);
/* TRUE: from now on, nobody waits for a place, and frames are dropped. FALSE:
 * waits until they are, and begins anew. */
void gst_cf_output_set_flushing (GstCfOutput *output, gboolean flushing);

G_END_DECLS
#endif
