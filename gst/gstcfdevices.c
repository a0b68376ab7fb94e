/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfdevices.c: counts the elements of this process on each GPU. */
#include "gstcfdevices.h"

static GMutex lock;
static guint elements[GST_CF_MAX_DEVICES];

guint
gst_cf_devices_fewest (const guint *counts, guint n)
{
  guint best = 0;

  for (guint i = 1; i < n; i++)
    if (counts[i] < counts[best])
      best = i;
  return best;
}

void
gst_cf_devices_count (gint device, gint change)
{
  if (device < 0 || device >= GST_CF_MAX_DEVICES)
    return;
  g_mutex_lock (&lock);
  elements[device] += (guint) change;
  g_mutex_unlock (&lock);
}

gint
gst_cf_devices_choose (guint n, guint64 unfit)
{
  guint counts[GST_CF_MAX_DEVICES];

  n = MIN (n, GST_CF_MAX_DEVICES);
  g_mutex_lock (&lock);
  for (guint i = 0; i < n; i++)
    counts[i] = unfit >> i & 1 ? G_MAXUINT : elements[i];
  g_mutex_unlock (&lock);
  return (gint) gst_cf_devices_fewest (counts, n);
}
