/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfmask.h: masks: gray pictures that say how strongly each pixel is filtered. Any thread. */
#ifndef GST_GSTCFMASK_H
#define GST_GSTCFMASK_H

#include "cf.h"

#include <glib.h>

G_BEGIN_DECLS

/* The most pixels of a picture. Each takes 5 bytes while it is read: 168 MB. */
#define GST_CF_MASK_PIXELS (8192 * 4096)

typedef struct {
  gint width, height;
  guint8 strength[]; /* row by row */
} GstCfMask;

/* Returns the mask of the picture at `path`, a GstCfMask. The strength of a pixel is its luminance,
 * (77 R + 150 G + 29 B + 128) / 256 rounded down; alpha does not count. Returns NULL with a status that names the
 * property if the file cannot be read, is not whole or too large, or in a build without GdkPixbuf. May wait for the
 * disk. */
GBytes *gst_cf_mask_read (const gchar *path, CfStatus *status);

/* Scales a mask to `width` x `height` strengths at `to`. The pixel (x, y) takes the strengths around the point
 *   ((2 x + 1) * mask width * 128 / width - 128, ((2 y + 1) * mask height * 128 / height - 128),
 * in 1/256 pixels of the mask from the centre of its first one, divisions rounded down, limited to the outermost
 * centres; between centres bilinear, rounded to the nearest. A mask of the frame's size is taken as it is. */
void gst_cf_mask_scale (const GstCfMask *mask, gint width, gint height, guint8 *to);

G_END_DECLS
#endif
