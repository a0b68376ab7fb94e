/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * transfer/chain.h: frames in CUDA memory on their way from element to element of this plugin, without the host
 * waiting in between.
 *
 * Where downstream can take it, a frame leaves an element while the GPU still works on it. The elements of such a chain
 * queue their work on one CUDA stream: each finds the stream with the frame's memory, and joins it. So the order of
 * the stream sees to it that a frame is written before it is read, and read before its buffer, back in its
 * pool, is written anew. The last element of the chain waits, once for all of them, and a failure of any of
 * them comes to light there.
 *
 * An element that can take unfinished frames says so in the ALLOCATION query, by naming GST_CF_CHAIN_API. Elements in
 * between (queue, tee, identity, capsfilter) hand the query on, and a tee with one branch that cannot take such frames
 * drops the API from it. Elements that answer the query themselves never name it, because it is tagged as
 * belonging to the memory. After a new link the source pad has to reconfigure; until it has, frames are
 * finished before they leave, and the frames under way are finished within that event, so before the application sees
 * the link.
 *
 * Input that is not on the chain's stream (a decoder's frame, pinned host memory) must not go back to its owner while
 * the GPU reads it: the frames made of it hold it, all along the chain.
 *
 * Frames in CUDA memory are on such a stream where there is no chain, too. The legacy default stream waits for
 * it, and it waits for that stream: GStreamer 1.22 copies CUDA memory and reads it back on the default stream, so a
 * pad probe that maps or copies an unfinished frame sees the finished one, and a copy that has not ended
 * (gst_buffer_copy_deep) is not read too early. GStreamer 1.24 does the same with memory that has no
 * stream of its own, which is what the elements of this plugin offer each other.
 *
 * Other memory of 1.24 comes with a stream, on which its owners leave reads and writes unfinished, both when they hand
 * a frame on and when they give it back. So work here that reads or writes such memory waits for that stream, on the
 * GPU; and the frame is finished before it leaves, because whatever maps it waits for its own stream only. A neighbour
 * that reads a frame on a third stream cannot be known.
 *
 * Threads: a GstCfChain belongs to an element's streaming thread, and to start and stop. The functions for buffers and
 * gst_cf_chain_settle_all may be called in any thread. */
#ifndef GST_TRANSFER_CHAIN_H
#define GST_TRANSFER_CHAIN_H

#include "cf.h"

#include <gst/gst.h>

G_BEGIN_DECLS

/* How long a frame may take; the first one may wait for code to be compiled and
 * memory to be mapped. */
#define GST_CF_DEADLINE_NS (2 * G_GUINT64_CONSTANT (1000000000))
#define GST_CF_FIRST_DEADLINE_NS (10 * G_GUINT64_CONSTANT (1000000000))

#define GST_CF_CHAIN_API (gst_cf_chain_api_get_type ())
GType gst_cf_chain_api_get_type (void);

typedef struct _GstCfSharedStream GstCfSharedStream;

/* A stream that memory came with, of a neighbour. */
typedef struct {
  gpointer handle;
  CfStream *stream;
  CfEvents *events;
} GstCfForeign;

/* An element's place in a chain. */
typedef struct {
  GstElement *element;        /* not a reference */
  const gint *flushing;       /* of the element's transfer; waits are cut short while it is not 0 */
  gint device;                /* that the element is counted for; -1: not open */
  gboolean taken;             /* downstream takes unfinished frames */
  GstCfSharedStream *shared;  /* where the last frames were queued; changed under the element's object lock */
  CfStream *stream;           /* this element's own handle on it */
  CfEvents *events;           /* two, around the kernels of a frame that is timed; made when first needed */
  guint64 last;               /* number of its last work there that was not waited for */
  gboolean timing;            /* the events were recorded and not read yet */
  guint frames;               /* that left unfinished on this stream */
  GstCfForeign of_in, of_out; /* streams of the last frames' memory */
} GstCfChain;

/* The work that was on the chain's stream when a frame was queued there: it is done when that frame is. */
typedef struct {
  GstCfSharedStream *shared;
  guint64 number;
} GstCfTicket;

/* `flushing`: see GstCfTransfer. */
void gst_cf_chain_init (GstCfChain *chain, GstElement *element, const gint *flushing);
/* From open to close the element uses the GPU of this context. Close waits for what the element has queued; if it
 * fails, the GPU may still use the element's memory. */
void gst_cf_chain_open (GstCfChain *chain, GstObject *context);
CfCode gst_cf_chain_close (GstCfChain *chain);

/* decide_allocation: notes whether downstream takes unfinished frames, and takes that out of the query, whose
 * rest is offered upstream. */
void gst_cf_chain_decide (GstCfChain *chain, GstQuery *query);

/* Returns whether a frame may leave unfinished now: not while the source pad has a new peer to query. */
gboolean gst_cf_chain_may_leave (const GstCfChain *chain);

/* Keeps the buffer's CUDA memory, if it is that, from being freed while its GPU hangs, which would wait for the GPU. */
void gst_cf_chain_guard (GstBuffer *buffer);

/* Returns the stream for a frame from `in` to `out`, both mapped: the chain's where one of them is in memory of this
 * CUDA context, which is current; NULL where neither is, or with a status on failure. Waits for what this element has
 * queued elsewhere, and for what may still use `out` elsewhere. */
CfStream *gst_cf_chain_enter (GstCfChain *chain, GstObject *context, GstBuffer *in, GstBuffer *out, CfStatus *status);
/* Hands on a frame that is queued: unfinished if it still may leave, else after a wait. `first`: it is the first since
 * the plans were made. */
CfCode gst_cf_chain_leave (GstCfChain *chain, GstBuffer *in, GstBuffer *out, gboolean first, CfStatus *status);
/* Waits for what was queued on `stream`, the chain's or another of the element's own, as cf_stream_wait
 * does. */
CfCode gst_cf_chain_wait (GstCfChain *chain, CfStream *stream, guint64 deadline_ns, CfStatus *status);
/* For a frame on the chain's stream that is waited for by its events, perhaps in another thread: take a ticket before
 * the frame is queued (`ticket` is zero, and stays zero where the stream is not the chain's), and use it with the
 * result of the wait. */
void gst_cf_chain_take_ticket (GstCfChain *chain, const CfStream *stream, GstCfTicket *ticket);
void gst_cf_chain_use_ticket (GstCfTicket *ticket, CfCode code);
/* Returns whether the kernels of a frame that leaves unfinished are to be timed, between begin and end. `kernel`: the
 * time of the frame timed last, in ns (0: not known). */
gboolean gst_cf_chain_is_timed (GstCfChain *chain, guint64 *kernel);
CfCode gst_cf_chain_begin_timing (GstCfChain *chain, CfStatus *status);
CfCode gst_cf_chain_end_timing (GstCfChain *chain, CfStatus *status);

/* Waits for everything that this element has queued on the chain's stream: its plans and its memory may be changed
 * then. */
CfCode gst_cf_chain_settle (GstCfChain *chain, CfStatus *status);
/* The same for all elements: every frame under way is finished. */
CfCode gst_cf_chain_settle_all (GstCfChain *chain, CfStatus *status);
/* Waits for everything that the chain's stream does with the buffer. Then any thread or stream may access it. Fails on
 * a GPU that hangs. */
CfCode gst_cf_chain_finish (const GstCfChain *chain, GstBuffer *buffer, CfStatus *status);

G_END_DECLS
#endif
