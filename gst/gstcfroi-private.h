/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfroi-private.h: the interface between gstcfroi.c (frames) and gstcfroi-props.c (properties). */
#ifndef GST_CF_ROI_PRIVATE_H
#define GST_CF_ROI_PRIVATE_H

#include "gstcfmask.h"
#include "gstcfroi.h"

G_BEGIN_DECLS

typedef enum { GST_CF_ROI_PASS, GST_CF_ROI_LAST, GST_CF_ROI_ALL, GST_CF_ROI_AUTO } GstCfRoiMissing;

/* The properties that are texts; each is read into a block of bytes that does not change. */
typedef enum {
  GST_CF_ROI_RECTANGLES, /* GstCfRoiRectangle[] */
  GST_CF_ROI_POLYGONS,   /* GstCfRoiCorner[] */
  GST_CF_ROI_MASK,       /* GstCfMask */
  GST_CF_ROI_TYPES,      /* GQuark[] */
  GST_CF_ROI_SIZE,       /* GstCfRoiSize */
  GST_CF_ROI_N_TEXTS
} GstCfRoiText;

typedef struct {
  gdouble x, y, width, height;
  gboolean fractions; /* of the frame, not pixels */
} GstCfRoiRectangle;

/* The frames that rectangles in pixels are of. */
typedef struct {
  gint width, height;
} GstCfRoiSize;

/* In fractions of the frame. */
typedef struct {
  gdouble x, y;
  gboolean last; /* of its polygon */
} GstCfRoiCorner;

typedef struct {
  gboolean enabled, meta, ellipses, invert;
  GstCfRoiMissing missing;
  gdouble min_confidence, grow;       /* grow: % */
  gint hold;                          /* ms */
  GBytes *source[GST_CF_ROI_N_TEXTS]; /* NULL: none */
  guint broken; /* bits 1 << GstCfRoiText: refused, without an older value; then the whole frame is filtered */
  guint fresh;  /* bits 1 << GstCfRoiText: not looked at yet, whether it covers anything */
} GstCfRoiSettings;

struct _GstCfRoi {
  GstElement *element;

  /* Object lock. */
  GstCfRoiSettings set;
  guint serial; /* counts the changes of `set` */
  gchar *text[GST_CF_ROI_N_TEXTS];
  gchar *refusal[GST_CF_ROI_N_TEXTS]; /* before the start: why the value was refused */
  gboolean started;
  gboolean size_is_taken; /* roi-size is that of the frames: it was not set */
  gint width, height;     /* of the frames, 0: not known yet; written by the streaming thread */

  /* Streaming thread. */
  GstCfRoiSettings now; /* the snapshot, of the serial `seen` */
  guint seen;

  CfVideo video; /* what the areas are for */
  CfTraits traits;
  CfArea *base, *area;   /* of the properties alone; of the last frame with regions of its own */
  GArray *drawn, *rects; /* CfRect: the rectangles of `area`; of this frame, */
  guint n_fixed;         /* of which so many are those of the property */
  GArray *found, *last;  /* the regions of this frame; of the last frame that had some */
  GArray *held;          /* regions that stay, */
  GHashTable *held_by_rect;
  guint x, y;      /* where the last frame that was part of a larger one began there, */
  gboolean placed; /* if there was one since the size is known */
  gboolean timed;  /* the running time of the last frame that had one, if any had */
  GstClockTimeDiff time;
};

/* Takes the size of the frames for that of the rectangles in pixels; where none are known, forgets the one that it took
 * before. The object lock is held. */
void gst_cf_roi_take_size (GstCfRoi *roi);
/* Warns of what covers nothing of the frame, once after each change of its property: it can hardly be meant, and what
 * was to be hidden is open. Streaming thread. */
void gst_cf_roi_warn_of_nothing (GstCfRoi *roi, const CfAreaSpec *spec);

G_END_DECLS
#endif
