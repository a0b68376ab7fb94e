/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * transfer/trial.h: by which way frames go to the GPU and back, found out by trying. */
#ifndef GST_TRANSFER_TRIAL_H
#define GST_TRANSFER_TRIAL_H

#include <glib.h>

G_BEGIN_DECLS

/* A frame that the CPU waits for, one at a time, is copied to the GPU and back, as a
 * whole or in bands that overlap, or the kernels read and write host memory
 * themselves. Which is quicker depends on filter, size and machine, so the first
 * frames try all ways. */
typedef enum { GST_CF_COPY, GST_CF_DIRECT_IN, GST_CF_DIRECT_OUT, GST_CF_DIRECT_BOTH, GST_CF_BANDS_2, GST_CF_BANDS_4,
  GST_CF_N_WAYS } GstCfWay;

/* One element's. What one element has found serves all of the process that have the same
 * work and are still there; meanwhile these copy. So hundreds of cameras that start at a time
 * try no more than one does. One thread at a time uses one of these. */
typedef struct {
  gchar *work;                 /* what is to be done; the same text for the same work */
  GstCfWay sides;              /* those in host memory, where there is a choice */
  gint wait;                   /* frames before it may try */
  gboolean tries;              /* private: the frame under way does */
  struct _GstCfTried *tried;   /* private: what is known of this work on these sides */
  gboolean decided, told;      /* told: who asked has heard of it */
  GstCfWay chosen;             /* once decided, as is */
  guint64 best[GST_CF_N_WAYS]; /* ns, the shortest that a frame took; 0: not tried */
} GstCfTrial;

/* New parameters: who turns a knob all the time has no trial. */
#define GST_CF_FRAMES_AFTER_CHANGE 32

/* Begins, after `wait` frames, for this work. The trial is zeroed, or ended by this. */
void gst_cf_trial_begin (GstCfTrial *trial, const gchar *work, gint wait);
/* Frees what it has. The trial is zeroed, or has begun. */
void gst_cf_trial_end (GstCfTrial *trial);
/* The way of the next frame, which is in host memory on these sides: copies, as long as
 * nothing else is known to be quicker. `bands`: they may be tried. `alone`: nobody else
 * uses the link, so that a frame may try. */
GstCfWay gst_cf_trial_choose (GstCfTrial *trial, GstCfWay sides, gboolean bands, gboolean alone);
/* A frame took `ns` on that way, alone on the link or not. TRUE, once: it is decided. */
gboolean gst_cf_trial_note (GstCfTrial *trial, GstCfWay way, guint64 ns, gboolean alone);

G_END_DECLS
#endif
