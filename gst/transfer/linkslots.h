/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * transfer/linkslots.h: the elements of a process share the link to a GPU in slots.
 *
 * GST_CF_LINK_SLOTS frames of a CUDA context are on the link at a time, in the order in which they came, each on the
 * CUDA streams of its slot. So many fill the link, also where most wait for their kernels. Frames of hundreds of
 * cameras that wait in the driver and on the GPU, each on a stream of its own, make each other slower.
 *
 * A thread that holds a slot for a frame waits for that frame, and in between for nothing but the GPU. A thread that
 * waits for a slot goes on at its deadline, and at once when its element is flushed. Any thread. */
#ifndef GST_TRANSFER_LINKSLOTS_H
#define GST_TRANSFER_LINKSLOTS_H

#include "cf.h"

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_CF_LINK_SLOTS 16

typedef struct _GstCfLinkSlots GstCfLinkSlots;

/* The streams of a slot. Frames as a whole use the first alone. */
typedef enum { GST_CF_LINK_KERNELS, GST_CF_LINK_UP, GST_CF_LINK_DOWN, GST_CF_N_LINK_STREAMS } GstCfLinkStream;

/* Returns a reference to the slots of the context. */
GstCfLinkSlots *gst_cf_link_slots_open (GstObject *context);
void gst_cf_link_slots_close (GstCfLinkSlots *slots);

/* Takes a slot; waits if all are taken. `alone`: no other slot is taken. A wait fails with CF_TIMEOUT if the slot of
 * another frame is abandoned meanwhile, with CF_GPU_ERROR after `deadline_ns`, and with CF_CANCELLED if `*cancelled` is
 * set. Any thread sets that, atomically, and then calls gst_cf_link_slots_cancel. */
CfCode gst_cf_link_slots_take (GstCfLinkSlots *slots, const gint *cancelled, guint64 deadline_ns, guint *slot,
    gboolean *alone, CfStatus *status);
/* Wakes the threads that wait with this flag, for slots of whatever context. */
void gst_cf_link_slots_cancel (const gint *cancelled);
/* Returns whether no slot is taken now. */
gboolean gst_cf_link_slots_idle (GstCfLinkSlots *slots);
/* Returns how many threads wait for a slot. */
guint gst_cf_link_slots_waiting (GstCfLinkSlots *slots);
void gst_cf_link_slots_release (GstCfLinkSlots *slots, guint slot);
/* Returns a stream of a slot that the caller holds; NULL and a status where it could not be made. Context
 * current. */
CfStream *gst_cf_link_slots_stream (GstCfLinkSlots *slots, guint slot, GstCfLinkStream which, CfStatus *status);
/* Releases a slot whose frame did not end in time: its streams are left alone, and the threads that wait for a slot
 * are refused. */
void gst_cf_link_slots_abandon (GstCfLinkSlots *slots, guint slot);

G_END_DECLS
#endif
