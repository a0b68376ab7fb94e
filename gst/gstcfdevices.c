/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfdevices.c: counts the elements of this process on each GPU. */
#include "gstcfdevices.h"

#include "cf.h"

static GMutex lock;
static guint elements[GST_CF_MAX_DEVICES];
static guint64 refused;

void
gst_cf_devices_count (gint device, gint change)
{
  if (device < 0 || device >= GST_CF_MAX_DEVICES)
    return;
  g_mutex_lock (&lock);
  elements[device] += (guint) change;
  g_mutex_unlock (&lock);
}

void
gst_cf_devices_refuse (gint device)
{
  if (device < 0 || device >= GST_CF_MAX_DEVICES)
    return;
  g_mutex_lock (&lock);
  refused |= G_GUINT64_CONSTANT (1) << device;
  g_mutex_unlock (&lock);
}

gint
gst_cf_devices_choose (guint n, guint64 unfit)
{
  gint device;

  g_mutex_lock (&lock);
  device = cf_gpu_fewest (elements, MIN (n, GST_CF_MAX_DEVICES), unfit | refused);
  g_mutex_unlock (&lock);
  return device;
}
