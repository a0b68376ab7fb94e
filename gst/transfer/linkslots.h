/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * transfer/linkslots.h: the elements of a process take turns with the link to the GPU.
 *
 * GST_CF_TURNS frames of a CUDA context are on their way at a time, in the order
 * in which they came, each on the CUDA streams that belong to its turn. So many
 * fill the link. Where hundreds of cameras had their frames wait in the driver
 * and on the GPU, each on a stream of its own, each frame made the others slower.
 *
 * A turn is for one frame that the same thread waits for, with nothing in between
 * that waits for anything but the GPU. Any thread. */
#ifndef GST_TRANSFER_LINKSLOTS_H
#define GST_TRANSFER_LINKSLOTS_H

#include "cf.h"

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_CF_TURNS 8

typedef struct _GstCfTurns GstCfTurns;

/* Most frames need but the first. */
typedef enum { GST_CF_TURN_KERNELS, GST_CF_TURN_UP, GST_CF_TURN_DOWN, GST_CF_N_TURN_STREAMS } GstCfTurnStream;

/* Those of the context, a reference. */
GstCfTurns *gst_cf_turns_open (GstObject *context);
void gst_cf_turns_close (GstCfTurns *turns);

/* Waits for a turn. `alone`: nobody else has one. FALSE: somebody's turn was given up
 * meanwhile, and there is none. */
gboolean gst_cf_turns_enter (GstCfTurns *turns, guint *turn, gboolean *alone);
/* Does nobody have a turn now? */
gboolean gst_cf_turns_idle (GstCfTurns *turns);
void gst_cf_turns_leave (GstCfTurns *turns, guint turn);
/* The streams of a turn that was entered; NULL where none could be made. Context
 * current. */
CfStream *gst_cf_turns_stream (GstCfTurns *turns, guint turn, GstCfTurnStream which, CfStatus *status);
/* Instead of leave, where the frame on its streams did not end in time: they are left
 * to themselves, and who waits gets no turn. Else a GPU that hangs would hold up as many as
 * have turns at a time, one after the other. */
void gst_cf_turns_give_up (GstCfTurns *turns, guint turn);

G_END_DECLS
#endif
