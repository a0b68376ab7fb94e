/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfmask.c: reads masks and scales them to the frame. GdkPixbuf reads the files and does nothing else, so that the
 * strengths do not depend on its version. */
#include "gstcfmask.h"

#include <string.h>
#ifdef HAVE_GDK_PIXBUF
#include <gdk-pixbuf/gdk-pixbuf.h>

static GBytes *
mask_of (const GdkPixbuf *picture)
{
  const gint width = gdk_pixbuf_get_width (picture), height = gdk_pixbuf_get_height (picture);
  const gint step = gdk_pixbuf_get_n_channels (picture), pitch = gdk_pixbuf_get_rowstride (picture);
  const guint8 *pixels = gdk_pixbuf_read_pixels (picture);
  const gsize size = sizeof (GstCfMask) + (gsize) width * (gsize) height;
  GstCfMask *mask = g_try_malloc (size);

  if (!mask)
    return NULL;
  mask->width = width;
  mask->height = height;
  for (gint y = 0; y < height; y++)
    for (gint x = 0; x < width; x++) {
      const guint8 *p = pixels + (gsize) y * (gsize) pitch + (gsize) x * (gsize) step;

      mask->strength[(gsize) y * (gsize) width + (gsize) x] = (guint8) ((77 * p[0] + 150 * p[1] + 29 * p[2] + 128) >>
          8);
    }
  return g_bytes_new_take (mask, size);
}

/* Returns whether a file ends before its picture does, in the formats of which GdkPixbuf returns what there is, without
 * an error: the rest would be black, or gray, and stay unfiltered. A file that cannot be read is left to GdkPixbuf. */
static gboolean
is_cut (const gchar *path, const GdkPixbufFormat *format)
{
  g_autofree gchar *name = gdk_pixbuf_format_get_name ((GdkPixbufFormat *) format), *data = NULL;
  const gboolean jpeg = strcmp (name, "jpeg") == 0, bmp = strcmp (name, "bmp") == 0;
  gsize size;
  guint8 *end;
  guint32 word;

  if ((!jpeg && !bmp && strcmp (name, "gif") != 0) || !g_file_get_contents (path, &data, &size, NULL) || size < 6)
    return FALSE;
  if (bmp) { /* behind two bytes, the size of the file */
    memcpy (&word, data + 2, sizeof word);
    return size < GUINT32_FROM_LE (word);
  }
  end = (guint8 *) data + size - 2;
  if (!jpeg)
    return end[0] != 0 || end[1] != 0x3b;
  /* The last scan begins with ff da, and does not have ff d9, the end of the picture, in its samples. */
  while (end > (guint8 *) data && (end[0] != 0xff || (end[1] != 0xd9 && end[1] != 0xda)))
    end--;
  return end[0] != 0xff || end[1] != 0xd9;
}

GBytes *
gst_cf_mask_read (const gchar *path, CfStatus *status)
{
  const GdkPixbufFormat *format;
  GError *error = NULL;
  GBytes *mask = NULL;
  GdkPixbuf *picture;
  gint width, height;

  /* The size first: a large picture is not decoded only to be refused. */
  format = gdk_pixbuf_get_file_info (path, &width, &height);
  if (format && (width > CF_MAX_SIZE || height > CF_MAX_SIZE)) {
    cf_fail (status, CF_BAD_VALUE, "mask: the picture has %d x %d pixels; it may have %d x %d", width, height,
        CF_MAX_SIZE, CF_MAX_SIZE);
    return NULL;
  }
  if (format && is_cut (path, format)) {
    cf_fail (status, CF_BAD_VALUE, "mask: the file ends before the picture does");
    return NULL;
  }
  picture = gdk_pixbuf_new_from_file (path, &error);
  if (!picture) {
    gchar *reason = g_utf8_make_valid (error->message, (gssize) MIN (strlen (error->message), 150));

    cf_fail (status, CF_BAD_VALUE, "mask: %s", reason);
    g_free (reason);
    g_error_free (error);
    return NULL;
  }
  if (gdk_pixbuf_get_width (picture) <= CF_MAX_SIZE && gdk_pixbuf_get_height (picture) <= CF_MAX_SIZE)
    mask = mask_of (picture);
  if (!mask)
    cf_fail (status, CF_NO_MEMORY, "mask: there is no memory for the picture");
  g_object_unref (picture);
  return mask;
}
#else
GBytes *
gst_cf_mask_read (const gchar *path, CfStatus *status)
{
  (void) path;
  cf_fail (status, CF_UNSUPPORTED,
      "mask: this build reads no pictures; build it with gdk-pixbuf-2.0, or use mask-polygons");
  return NULL;
}
#endif

/* Where strength `i` of a line of `n` lies in one of `from`: between `at` and `next`, which has a weight of so many
 * 1/256. */
typedef struct {
  gint at, next, weight;
} Tap;

static Tap
tap_of (gint i, gint n, gint from)
{
  gint64 position = ((2 * (gint64) i + 1) * from * 128) / n - 128;
  gint at;

  position = CLAMP (position, 0, ((gint64) from - 1) * 256);
  at = (gint) (position >> 8);
  return (Tap) { at, MIN (at + 1, from - 1), (gint) (position & 255) };
}

void
gst_cf_mask_scale (const GstCfMask *mask, gint width, gint height, guint8 *to)
{
  Tap *columns = g_new (Tap, (gsize) width);

  for (gint x = 0; x < width; x++)
    columns[x] = tap_of (x, width, mask->width);
  for (gint y = 0; y < height; y++) {
    const Tap row = tap_of (y, height, mask->height);
    const guint8 *above = mask->strength + (gsize) row.at * (gsize) mask->width;
    const guint8 *below = mask->strength + (gsize) row.next * (gsize) mask->width;

    for (gint x = 0; x < width; x++) {
      const Tap c = columns[x];
      const gint upper = above[c.at] * (256 - c.weight) + above[c.next] * c.weight;
      const gint lower = below[c.at] * (256 - c.weight) + below[c.next] * c.weight;

      *to++ = (guint8) ((upper * (256 - row.weight) + lower * row.weight + 32768) >> 16);
    }
  }
  g_free (columns);
}
