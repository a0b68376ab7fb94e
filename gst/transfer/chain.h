/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * transfer/chain.h: frames in CUDA memory from element to element of this plugin,
 * without the host waiting in between.
 *
 * Where downstream can take it, a frame leaves while the GPU still works on it.
 * The elements of such a chain queue their work on one CUDA stream: the next one
 * finds it with the frame's memory and joins it. So the order of the stream
 * alone sees to it that a frame is written before it is read, and read before
 * its buffer, back in its pool, is written anew. The last element of the chain
 * waits, once for all of them, and there a failure of any of them comes to light.
 *
 * Who can take an unfinished frame says so in the ALLOCATION query, by naming
 * GST_CF_CHAIN_API; what stands between (queue, tee, identity, capsfilter) hands
 * the query on, and a tee with one branch that cannot take it does not name it.
 * Elements that answer for themselves never name it, for it is tagged as
 * belonging to the memory. After a new link the source pad has to reconfigure;
 * until it has, frames are finished before they leave, and those under way are
 * finished within that event, thus before the link is there for the application.
 *
 * Input that is not on the chain's stream (a decoder's frame, pinned host
 * memory) must not go back to its owner while the GPU reads it: the frames made
 * of it hold it, all along the chain.
 *
 * Frames in CUDA memory go on such a stream where there is no chain, too. It is
 * one that the legacy default stream waits for, and that waits for it: GStreamer
 * 1.22 copies CUDA memory and reads it back on that one, so that a pad probe that
 * maps or copies an unfinished frame sees the finished one, and a copy that has
 * not ended yet (gst_buffer_copy_deep) is not read before. GStreamer 1.24 does the
 * same with memory that has no stream of its own, which is what the elements of this
 * plugin offer each other.
 *
 * Other memory of 1.24 has one, its neighbours': for what they read and write there
 * they do not wait, neither when they hand a frame on nor when they give it back. So
 * what reads or writes such memory here follows that stream, on the GPU; and it is
 * done before the frame leaves, for whoever maps the frame waits for its own stream
 * only. Of a neighbour that reads a frame on a third stream nobody could know.
 *
 * Threads: a GstCfChain belongs to an element's streaming thread, and to start and
 * stop; the functions for buffers and gst_cf_chain_settle_all may be called in any. */
#ifndef GST_TRANSFER_CHAIN_H
#define GST_TRANSFER_CHAIN_H

#include "cf.h"

#include <gst/gst.h>

G_BEGIN_DECLS

/* How long a frame may take; the first one may wait for code to be compiled and
 * memory to be mapped. */
#define GST_CF_DEADLINE_NS (2 * G_GUINT64_CONSTANT (1000000000))
#define GST_CF_FIRST_DEADLINE_NS (30 * G_GUINT64_CONSTANT (1000000000))

#define GST_CF_CHAIN_API (gst_cf_chain_api_get_type ())
GType gst_cf_chain_api_get_type (void);

typedef struct _GstCfSharedStream GstCfSharedStream;

/* Somebody else's stream that memory came with. */
typedef struct {
  gpointer handle;
  CfStream *stream;
  CfMarks *marks;
} GstCfForeign;

/* An element's place in a chain. */
typedef struct {
  GstElement *element;       /* not a reference */
  gint device;               /* that it is counted for; -1: not open */
  gboolean taken;            /* downstream takes unfinished frames */
  GstCfSharedStream *shared; /* where its frames were queued last; changed under the element's object lock */
  CfStream *stream;          /* the same, with marks of this element's own */
  guint64 last;              /* number of its last work there that it has not waited for */
  gboolean timing;           /* the marks are set and have not been read */
  guint frames;              /* that left unfinished on this stream */
  GstCfForeign of_in, of_out; /* of the frames' memory last */
} GstCfChain;

/* What the stream was told before a frame that is waited for by itself: is done
 * when that is. */
typedef struct {
  GstCfSharedStream *shared;
  guint64 number;
} GstCfTicket;

void gst_cf_chain_init (GstCfChain *chain, GstElement *element);
/* The element uses the GPU of this context from now on; until the close, which
 * waits for what it has queued. Not CF_OK: the GPU may still use what it has. */
void gst_cf_chain_open (GstCfChain *chain, GstObject *context);
CfCode gst_cf_chain_close (GstCfChain *chain);

/* decide_allocation: looks whether downstream takes unfinished frames, and takes
 * that out of the query, whose rest is offered upstream. */
void gst_cf_chain_decide (GstCfChain *chain, GstQuery *query);

/* May a frame leave unfinished now? Not while the source pad has a new peer to
 * get to know. */
gboolean gst_cf_chain_may_leave (const GstCfChain *chain);

/* The stream for a frame from `in` to `out`: the chain's, where one of them is in
 * memory of this CUDA context, which is current; else `*stream` stays as it is.
 * What this element has queued elsewhere is waited for, and so is what may still
 * use `out` elsewhere. Both are mapped. */
CfCode gst_cf_chain_enter (GstCfChain *chain, GstObject *context, GstBuffer *in, GstBuffer *out, CfStream **stream,
    CfStatus *status);
/* All of the frame is queued, and it leaves, unfinished if it still may. `first`:
 * since the plans were made. */
CfCode gst_cf_chain_leave (GstCfChain *chain, GstBuffer *in, GstBuffer *out, gboolean first, CfStatus *status);
/* Waits for what was queued on `stream`, the chain's or another of the element's
 * own, as cf_stream_wait does. */
CfCode gst_cf_chain_wait (GstCfChain *chain, CfStream *stream, guint64 deadline_ns, CfStatus *status);
/* For who waits for a mark on that stream, perhaps in another thread: a ticket is
 * taken before the frame is queued (`ticket` zero before that; it stays zero where
 * the stream is not the chain's), and used with what the wait came to. */
void gst_cf_chain_take_ticket (GstCfChain *chain, const CfStream *stream, GstCfTicket *ticket);
void gst_cf_chain_use_ticket (GstCfTicket *ticket, CfCode code);
/* Shall the marks 1 and 2 be set about the kernels of a frame that leaves
 * unfinished? `kernel`: the time between those set last, in ns (0: not known). */
gboolean gst_cf_chain_time (GstCfChain *chain, guint64 *kernel);

/* All that this element has queued on the chain's stream is done on return: its
 * plans and its memory may be changed. */
CfCode gst_cf_chain_settle (GstCfChain *chain, CfStatus *status);
/* The same of all elements: every frame under way is finished. */
CfCode gst_cf_chain_settle_all (GstCfChain *chain, CfStatus *status);
/* All that the chain's stream was to do with the buffer is done on return:
 * anybody may read and write it. */
CfCode gst_cf_chain_finish (GstBuffer *buffer, CfStatus *status);
/* The frame is its own output: may it leave as it is? */
gboolean gst_cf_chain_pass (const GstCfChain *chain, GstBuffer *buffer);

G_END_DECLS
#endif
