/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gate.h: holds frames behind an element, and counts them. */
#ifndef GATE_H
#define GATE_H

#include "common.h"

#define WAIT_US (60 * G_USEC_PER_SEC)

/* A pad probe downstream that blocks frames as a paused sink does, or refuses them. */
typedef struct {
  GMutex lock;
  GCond changed;
  gboolean closed, flushing;
  gboolean deaf;      /* a flush does not open it, like an encoder that is busy with a frame */
  GstFlowReturn flow; /* GST_FLOW_OK: accepts frames */
  gint waiting, passed;
} Gate;

void gate_new (Gate *gate, GstHarness *h, gboolean closed);
void gate_set (Gate *gate, gboolean closed, GstFlowReturn flow);
/* Waits until a count that changes under the gate's lock has reached a value, for at most `us`.
 * Returns the count. */
gint wait_for (Gate *gate, const gint *count, gint value, gint64 us);
/* A probe that counts frames in gate->passed. */
GstPadProbeReturn count_frame (GstPad *pad, GstPadProbeInfo *info, gpointer gate);

/* A thread that pushes frames: g_thread_new ("pusher", push_all, pusher). */
typedef struct {
  GstHarness *h;
  const GstVideoInfo *info;
  Gate *gate;
  gint frames, done, most; /* most: frames that were pushed and had not passed the gate */
  GstFlowReturn flow;
} Pusher;

gpointer push_all (gpointer pusher);
/* Returns how many of the frames that such threads have pushed are not freed yet. */
gint living_frames (void);

#endif
