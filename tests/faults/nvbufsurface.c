/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * nvbufsurface.c: stands for NVIDIA's library of surfaces. The memory of a surface array is hidden: a map shows a copy,
 * with bytes of no meaning until it is synchronised, and what is written there is lost unless it is, too. Rows and
 * planes are padded. stub_memory is the kind of new surfaces. */
#include "nvbufsurface.h"

#include <stdlib.h>
#include <string.h>

#define PADDING 64

/* Longer than what gstcfnvmm.h knows of a surface, as in the library. */
typedef struct {
  GstCfNvSurface surface;
  gpointer more[13];
  guint8 *hidden, *shown;
} Entry;

gint stub_memory = GST_CF_NV_SURFACE_ARRAY;
_Atomic gint stub_live, stub_mapped, stub_wrong;

static const struct {
  gint number;
  guint n, step[2],
      sub[2]; /* planes; of the first and of the others the bytes of a pixel and log2 of the subsampling */
} formats[] = { { 1, 1, { 1 }, { 0 } }, { 2, 3, { 1, 1 }, { 0, 1 } }, { 6, 2, { 1, 2 }, { 0, 1 } },
  { 19, 1, { 4 }, { 0 } } };

gint
NvBufSurfaceCreate (GstCfNvBuffer **surfaces, guint32 n, GstCfNvRequest *request)
{
  GstCfNvBuffer *made = g_new0 (GstCfNvBuffer, 1);
  Entry *list = g_new0 (Entry, n);
  gsize f = 0;

  while (f < G_N_ELEMENTS (formats) && formats[f].number != request->format)
    f++;
  if (f == G_N_ELEMENTS (formats) || request->layout != GST_CF_NV_PITCH || request->memory != GST_CF_NV_DEFAULT)
    return -1;
  *made = (GstCfNvBuffer) { .gpu = request->gpu, .batch = n, .memory = stub_memory, .surface = &list[0].surface };
  for (guint32 i = 0; i < n; i++) {
    GstCfNvSurface *s = &list[i].surface;

    s->width = request->width;
    s->height = request->height;
    s->format = request->format;
    s->planes.n = formats[f].n;
    for (guint p = 0; p < s->planes.n; p++) {
      s->planes.offset[p] = s->size;
      s->planes.pitch[p] = ((s->width * formats[f].step[p > 0] >> formats[f].sub[p > 0]) + PADDING) & ~3u;
      s->planes.height[p] = s->height >> formats[f].sub[p > 0];
      s->planes.size[p] = s->planes.pitch[p] * s->planes.height[p] + PADDING;
      s->size += s->planes.size[p];
    }
    s->pitch = s->planes.pitch[0];
    list[i].hidden = g_malloc0 (s->size);
    if (stub_memory != GST_CF_NV_SURFACE_ARRAY)
      s->data = list[i].hidden;
  }
  stub_live++;
  *surfaces = made;
  return 0;
}

gint
NvBufSurfaceDestroy (GstCfNvBuffer *surfaces)
{
  Entry *list = (Entry *) surfaces->surface;

  for (guint32 i = 0; i < surfaces->batch; i++) {
    stub_wrong += list[i].shown != NULL;
    g_free (list[i].hidden);
  }
  g_free (list);
  g_free (surfaces);
  stub_live--;
  return 0;
}

/* Returns the entry if the call is right. */
static Entry *
find (GstCfNvBuffer *surfaces, gint index, gint plane, gboolean is_mapped)
{
  Entry *entry = (Entry *) surfaces->surface + index;
  const gboolean right = index >= 0 && index < (gint) surfaces->batch && plane == -1 &&
      surfaces->memory == GST_CF_NV_SURFACE_ARRAY && (entry->shown != NULL) == is_mapped;

  stub_wrong += !right;
  return right ? entry : NULL;
}

gint
NvBufSurfaceMap (GstCfNvBuffer *surfaces, gint index, gint plane, gint how)
{
  Entry *entry = find (surfaces, index, plane, FALSE);

  if (!entry || how < 0 || how > 2)
    return -1;
  entry->shown = g_malloc (entry->surface.size);
  memset (entry->shown, 0x5a, entry->surface.size);
  for (guint p = 0; p < entry->surface.planes.n; p++)
    entry->surface.mapped[p] = entry->shown + entry->surface.planes.offset[p];
  stub_mapped++;
  return 0;
}

gint
NvBufSurfaceUnMap (GstCfNvBuffer *surfaces, gint index, gint plane)
{
  Entry *entry = find (surfaces, index, plane, TRUE);

  if (!entry)
    return -1;
  g_clear_pointer (&entry->shown, g_free);
  memset (entry->surface.mapped, 0, sizeof entry->surface.mapped);
  stub_mapped--;
  return 0;
}

gint
NvBufSurfaceSyncForCpu (GstCfNvBuffer *surfaces, gint index, gint plane)
{
  Entry *entry = find (surfaces, index, plane, TRUE);

  if (!entry)
    return -1;
  memcpy (entry->shown, entry->hidden, entry->surface.size);
  return 0;
}

gint
NvBufSurfaceSyncForDevice (GstCfNvBuffer *surfaces, gint index, gint plane)
{
  Entry *entry = find (surfaces, index, plane, TRUE);

  if (!entry)
    return -1;
  memcpy (entry->hidden, entry->shown, entry->surface.size);
  return 0;
}
