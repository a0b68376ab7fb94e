/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * transfer/transfer.h: a frame's way to the GPU and back: everything that one element owns on the GPU, and frame
 * requests, which are submitted and waited for.
 *
 * With one slot, frames go one at a time: on the streams of a link slot (linkslots.h), as a whole or in slices. With
 * several slots, frames overlap: uploads, kernels and downloads have streams of their own. In both, a frame in CUDA
 * memory is on the stream of a chain of elements (chain.h). An integrated GPU may read and write a frame in pinned
 * memory where it is, without copies. All functions make the CUDA context current themselves.
 *
 * Threads. One thread at a time uses a GstCfTransfer. While frames are under way, one thread may submit and another
 * wait for earlier ones. */
#ifndef GST_TRANSFER_TRANSFER_H
#define GST_TRANSFER_TRANSFER_H

#include "gstcfplans.h"
#include "transfer/chain.h"
#include "transfer/linkslots.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

#define GST_CF_MAX_IN_FLIGHT 8

/* An image's memory. Pageable: the GPU cannot reach it, so the image goes through pinned memory of the slot. Pinned:
 * the GPU copies from and to it. Device: memory of the transfer's CUDA context. Foreign: memory of a GPU, of another
 * context (NVMM), from and to which the GPU copies, too. */
typedef enum { GST_CF_PAGEABLE, GST_CF_PINNED, GST_CF_DEVICE, GST_CF_FOREIGN } GstCfMemoryKind;

typedef struct {
  GstBuffer *buffer;
  const CfImage *image; /* the buffer, mapped: device addresses for GST_CF_DEVICE and GST_CF_FOREIGN */
  GstCfMemoryKind kind;
} GstCfSide;

/* A frame on its way. The caller sets the first part and keeps what it points to until the wait is over; submit and
 * wait set the results; the rest is theirs alone. A step of a request that has failed does nothing. */
typedef struct {
  GstCfSide in, out; /* out.image NULL: the plans take `in` into their history and do no more; the rest of `out` is then
                        the buffer of `in` and GST_CF_DEVICE */
  guint slot;
  GstCfMode mode;
  const CfArea *area; /* NULL, or what is filtered of the frame */
  gboolean in_place;  /* with an area: both sides are one buffer in host memory, and only the area's part is moved.
                         Pageable: we write that part after a successful wait. Pinned (one slot only): the GPU writes
                         it; on failure submit and wait restore it, unless the GPU may still write: see `kept` */
  gboolean leaves;    /* the frame is handed on before the GPU is done, and nothing waits for it here */
  CfRegions *regions; /* NULL, or to be filled with the frame's; they last until the plan's next call */

  /* results */
  CfStatus status;
  gboolean unfinished; /* after CF_CANCELLED: the GPU may still use the images, as after CF_TIMEOUT */
  gboolean keeps;      /* the GPU writes into the input, or may have written; */
  CfImage kept;        /* a copy of the area's part of the input from before, in the slot's memory */
  struct {
    guint64 upload, kernel, download;
  } ns; /* 0: did not happen or was not timed; a frame that leaves has the kernel time of an earlier one, or 0 */

  struct {
    CfStream *stream;    /* for the kernels */
    CfStream *up, *down; /* for the copies, where they have streams of their own */
    guint link_slot;
    gboolean has_link_slot, sliced, timed;
    gboolean direct, trial;
    gboolean queued;    /* some of its work */
    GstCfTicket ticket; /* tells the chain that the work before this frame is done */
  } own;
} GstCfFrameRequest;

/* What a frame under way needs for itself. Memory is allocated when a frame first needs it. */
typedef struct {
  gpointer memory_in, memory_out, memory_host_in, memory_host_out;
  CfImage device_in, device_out, host_in, host_out;
  CfEvents *events;
  gboolean left; /* a frame has left from here since the last upload to here */
} GstCfSlot;

typedef struct {
  GstObject *context;  /* NULL: not open */
  gint device;         /* the context's */
  gboolean integrated; /* this GPU's memory is the host's */
  GstCfChain *chain;   /* the element's place in a chain */
  GstCfPlans plans;
  guint n_slots;
  GstCfSlot slot[GST_CF_MAX_IN_FLIGHT];
  guint frames; /* queued so far, without those that left */

  /* as configured */
  gboolean configured;    /* the plans are there */
  gint warm;              /* a frame has come back since; atomic, because the finishing thread sets it */
  const CfCommon *common; /* `common` and `params` are the caller's */
  gconstpointer params;
  gboolean history, ahead; /* the filter looks at earlier frames; at later ones, too */
  CfImage layout;          /* of a slot's images, */
  gsize bytes;             /* and the size of one */
  guint tried;             /* frames of the trial (transfer.c) so far; */
  gint shortest[2];        /* the shortest time of one with copies, of one without, ns; 0: none yet. Atomic */

  /* one slot */
  GstCfLinkSlots *link_slots;
  CfSlices *slices;       /* made when a frame first needs them */
  gboolean whole;         /* frames of this configuration cannot be sliced */
  guint steady;           /* frames since the parameters changed */
  gpointer memory_slices; /* a second image for slices to be filtered into */
  CfImage device_slices;

  /* several slots: the stream of the kernels of all frames, in their order, unless a chain's stream has them; of the
   * uploads; of the downloads, which may alternate between two */
  CfStream *kernels, *up, *down[2];
  CfEvents *before; /* of the frame queued last */

  gint flushing; /* atomic; set by any thread, and kept by open and close: the last member */
} GstCfTransfer;

/* Opens the GPU of a context, to which it takes a reference, for `slots` frames under way at a time. Loads the
 * kernels. `chain` stays the caller's. */
gboolean gst_cf_transfer_open (GstCfTransfer *t, GstObject *context, GstCfChain *chain, guint slots, CfStatus *status);
/* Frees everything, or abandons it where the GPU hangs. */
void gst_cf_transfer_close (GstCfTransfer *t);
/* Forgets everything and frees nothing, for the GPU may still use it. Returns how many objects were given up. */
guint gst_cf_transfer_abandon (GstCfTransfer *t);

/* Makes plans for `modes` (bits 1 << GstCfMode). `filter`, `common` and `params` stay the caller's and have to
 * last until the next configure or update. */
gboolean gst_cf_transfer_configure (GstCfTransfer *t, const CfFilter *filter, const GstVideoInfo *info, CfFormat format,
    guint modes, const CfCommon *common, gconstpointer params, CfStatus *status);
/* Takes new parameters; the same about what stays the caller's. */
gboolean gst_cf_transfer_update (GstCfTransfer *t, const CfCommon *common, gconstpointer params, CfStatus *status);
/* Has the plans forget earlier frames. */
gboolean gst_cf_transfer_reset (GstCfTransfer *t, CfStatus *status);

/* Queues one frame. On failure waits for what was queued of it, except after CF_TIMEOUT or if r->unfinished: then the
 * GPU may still use what gst_cf_transfer_wait lists. With one slot a queued frame leaves the context current until the
 * same thread has waited for it. */
CfCode gst_cf_transfer_submit (GstCfTransfer *t, GstCfFrameRequest *r);
/* While flushing, a submit that would wait for a link slot fails with CF_CANCELLED at once and queues nothing. A wait
 * for the GPU is cut short, as cf_stream_wait says. Any thread, whether open or not. */
void gst_cf_transfer_set_flushing (GstCfTransfer *t, gboolean flushing);
/* Waits for a frame that was submitted, and leaves the result in r->status; frames are waited for in their order. After
 * CF_TIMEOUT and CF_CANCELLED the GPU may still use the images of all frames under way and everything in `t`. */
void gst_cf_transfer_wait (GstCfTransfer *t, GstCfFrameRequest *r);

G_END_DECLS
#endif
