/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcftamper.h: element messages about what happens to the camera, or to its light, found in what frames are like
 * (CfScene; words in capitals are its contract's, cuda/median/running.h).
 *
 * Time is running time. A frame without one, or with an earlier one than the frame before, comes 1/15 s after that.
 * Nothing is posted in the first second.
 *
 * A frame ANEW has the SAME VIEW if the background has at least blocks / 64 edges, and half of them are in the frame;
 * ANOTHER one if less than 1/4 of them are. A frame ANEW is FRESH if the background has so many edges, and less than
 * half of them are in the frame; the frames within 1 s after it are FRESH as well.
 *
 * USUAL is how many strong edges the view has: the mean over the last 30 s, without frames in which the camera is
 * covered, blinded, dark or defocused. It begins with the first frame, with a turn, and with a light. It is known after
 * a second, if it is at least blocks / 64; what it decides below is not so before.
 *
 * The event "light" is posted for a frame that is LIT and whose mean differs by 1 level of 255 from the frame before,
 * or anew with the same view and 4 levels; not if one of the two is blinded. `from` and `to`: mean brightness before
 * and in the frame, levels of 255. It is posted again only after a second without such frames.
 *
 * Other events are "NAME-start" and "NAME-stop". A state starts after it was so for 1 s, and stops after it was not so
 * for 1 s; `seconds`, in stop: how long it was so.
 *   shake      most frames of about the last second (an average that forgets) are anew without light, or LOOSE with a
 *              number of same edges that differs from the last frame's by more than 1/32 of the background's: a camera
 *              that was only moved a little is LOOSE as well. Until fewer than 1/4 are
 *   blinded    half of the blocks are bright
 *   covered    less than 1/4 of the usual edges in a fresh frame, until there are 1/2; not blinded
 *   dark       9/10 of the blocks are dark; not covered
 *   defocused  less than 1/2 of the usual edges in a frame that is not fresh, until there are 3/4; not blinded, covered
 *              or dark
 *   turned     a frame anew with another view, if it and the background have at least 1/4 of the usual edges. Until
 *              10 s after the start, then the view is the usual one; or until another view comes that has the mean of
 *              the one before, within 2 levels, and half to twice its edges: it has turned back, and stops at once.
 *              While more than 1/5 of the frames shake, any frame anew counts that is not as like the view before,
 *              unless it has the same view, and no other
 *   frozen     all blocks are equal; starts after 2 s: a camera's picture has noise
 * They are not told apart from what looks the same: light that leaves nothing to see from a cover, a large thing that
 * comes to stand before the camera from a blur, heavy rain or a slow turn from shaking. */
#ifndef GST_CF_TAMPER_H
#define GST_CF_TAMPER_H

#include "gstcfevents.h"

G_BEGIN_DECLS

typedef enum {
  GST_CF_TAMPER_SHAKE,
  GST_CF_TAMPER_BLINDED,
  GST_CF_TAMPER_COVERED,
  GST_CF_TAMPER_DARK,
  GST_CF_TAMPER_DEFOCUSED,
  GST_CF_TAMPER_TURNED,
  GST_CF_TAMPER_FROZEN,
  GST_CF_TAMPER_STATES
} GstCfTamperName;

/* Edges of a view. */
typedef struct {
  gdouble edges;
  GstClockTime known; /* how long they have been counted */
} GstCfTamperView;

/* All 0: no frame has come. */
typedef struct {
  gboolean begun;
  GstClockTime now, running; /* since the first frame; running time of the last one */
  GstClockTime anew, light;  /* when the last such frame came; NONE: never */
  struct {
    gboolean is, on;             /* so in the last frame; posted */
    GstClockTime changed, began; /* `is` has changed; was first so */
  } state[GST_CF_TAMPER_STATES];
  gdouble shaking;  /* share of the last second */
  guint mean, same; /* CfScene.mean and same_edges of the last frame */
  GstCfTamperView usual;
  gboolean turned;
  GstClockTime turned_at;
  GstCfTamperView before;      /* what was usual before it was turned */
  guint calm_mean, calm_edges; /* of the last frame in which nothing shook or had turned */
} GstCfTamper;

/* Takes a frame, which `events` has. `scene`: NULL ends all states at once, as a frame does that begins anew. */
void gst_cf_tamper_frame (GstCfTamper *t, const GstCfEvents *events, const CfScene *scene);

G_END_DECLS
#endif
