/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcftrial.h: by which way frames go to the GPU and back, found out by trying. One
 * thread at a time. */
#ifndef GST_CF_TRIAL_H
#define GST_CF_TRIAL_H

#include <glib.h>

G_BEGIN_DECLS

/* A frame that the CPU waits for, one at a time, is copied to the GPU and back, as a
 * whole or in bands that overlap, or the kernels read and write host memory
 * themselves. Which is quicker depends on filter, size and machine, so the first
 * frames try all ways. */
typedef enum { GST_CF_COPY, GST_CF_DIRECT_IN, GST_CF_DIRECT_OUT, GST_CF_DIRECT_BOTH, GST_CF_BANDS_2, GST_CF_BANDS_4,
  GST_CF_N_WAYS } GstCfWay;

typedef struct {
  GstCfWay sides;                /* those in host memory, where there is a choice */
  gint n;                        /* frames since the trial began; below 0: it has to wait */
  guint64 best[GST_CF_N_WAYS];   /* ns, the shortest that a frame took; 0: not tried */
  GstCfWay chosen;
  gboolean decided;
} GstCfTrial;

/* New parameters: who turns a knob all the time has no trial. */
#define GST_CF_FRAMES_AFTER_CHANGE 32

/* Begins anew, after `wait` frames, for frames that are in host memory on these sides. */
void gst_cf_trial_begin (GstCfTrial *trial, GstCfWay sides, gint wait);
/* The way of the next frame: copies, as long as nothing else is known to be quicker.
 * `bands`: they may be tried. */
GstCfWay gst_cf_trial_choose (GstCfTrial *trial, GstCfWay sides, gboolean bands);
/* A frame took `ns` on that way. TRUE: with that, the trial is over. */
gboolean gst_cf_trial_note (GstCfTrial *trial, GstCfWay way, guint64 ns);

G_END_DECLS
#endif
