/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfdevices.h: chooses the GPU of an element with cuda-device-id=-1. The element takes the GPU of a neighbour's or
 * the application's CUDA context. If there is no such context, it takes the GPU with the fewest elements of this plugin
 * in this process; of several such GPUs, the first. All functions may be called from any thread. */
#ifndef GST_CF_DEVICES_H
#define GST_CF_DEVICES_H

#include <glib.h>

G_BEGIN_DECLS

#define GST_CF_MAX_DEVICES 64

/* Counts one element more (1) or less (-1) on a GPU. Ignores device numbers that are negative or too large. */
void gst_cf_devices_count (gint device, gint change);
/* Notes that this build's kernels do not run on a GPU, so that no element tries it again. */
void gst_cf_devices_refuse (gint device);
/* Returns the GPU of 0..n - 1 for the next element: one that was not refused and whose bit, 1 << number, is not in
 * `unfit`; -1 if there is none. */
gint gst_cf_devices_choose (guint n, guint64 unfit);

G_END_DECLS
#endif
