/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfdevicename.h: GPUs by other names than their numbers, the values of the property cuda-device:
 *   auto, least-used none in particular, as NULL
 *   strongest        the one with the most multiprocessors times clock; of equal ones that with more memory, or the
 *                    first
 *   GPU-..., MIG-... the one with that UUID, as nvidia-smi -L prints it
 *   0000:01:00.0     the one at that PCI address, as nvidia-smi prints it; domain and function may be missing
 * Letters may be large or small. */
#ifndef GST_CF_DEVICE_NAME_H
#define GST_CF_DEVICE_NAME_H

#include "cf.h"

#include <glib.h>

G_BEGIN_DECLS

/* Returns CF_BAD_VALUE and a sentence where `text` is no such name. */
CfCode gst_cf_device_name_check (const gchar *text, CfStatus *status);
/* Sets `*device` to the number of the GPU of 0..n - 1 that `text` names, -1 for none in particular. Returns
 * CF_UNSUPPORTED and a sentence where there is no such GPU. Asks nothing of a GPU whose bit, 1 << number, is in `hung`:
 * it is none that can be found. A GPU for which this build has no kernels is not the strongest. */
CfCode gst_cf_device_name_find (const gchar *text, gint n, guint64 hung, gint *device, CfStatus *status);

G_END_DECLS
#endif
