/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfmask.c: reads masks and scales them to the frame. GdkPixbuf reads the files and does nothing else, so that the
 * strengths do not depend on its version. */
#include "gstcfmask.h"

#include <gst/gst.h>
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

/* Returns whether the marker that ends the picture, ff d9, comes where markers stand. Headers are skipped, since a
 * table or a small picture in them may have these bytes. Samples have ff only before 00 and the markers d0 to d7. */
static gboolean
jpeg_is_whole (const guint8 *data, gsize size)
{
  gsize at = 2; /* behind the marker that begins the file */

  while (at + 1 < size) {
    const guint8 marker = data[at + 1];

    if (data[at] != 0xff || marker == 0xff)
      at++;
    else if (marker == 0xd9)
      return TRUE;
    else if (marker <= 1 || (marker >= 0xd0 && marker <= 0xd8))
      at += 2;
    else if (at + 3 < size)
      at += 2 + ((gsize) data[at + 2] << 8 | data[at + 3]);
    else
      break;
  }
  return FALSE;
}

/* Returns whether the last chunk, IEND, is there with its checksum. Each has its length, its name, data, a checksum. */
static gboolean
png_is_whole (const guint8 *data, gsize size)
{
  for (gsize at = 8, length; at + 12 <= size; at += 12 + length) {
    length = (gsize) data[at] << 24 | (gsize) data[at + 1] << 16 | (gsize) data[at + 2] << 8 | data[at + 3];
    if (memcmp (data + at + 4, "IEND", 4) == 0)
      return TRUE;
  }
  return FALSE;
}

/* Returns the number in `bytes` bytes, the lowest first. They may stand at any address. */
static guint32
number_at (const guint8 *at, int bytes)
{
  guint32 value = 0;

  while (bytes-- > 0)
    value = value << 8 | at[bytes];
  return value;
}

/* The file's size is in its header, and follows from the picture's size unless that is compressed. */
static gboolean
bmp_is_whole (const guint8 *data, gsize size, gint width, gint height)
{
  guint64 named, begin, pitch;
  gboolean old, compressed;

  if (size < 34)
    return FALSE;
  named = number_at (data + 2, 4);
  begin = number_at (data + 10, 4);
  old = number_at (data + 14, 4) == 12;
  compressed = !old && (number_at (data + 30, 4) == 1 || number_at (data + 30, 4) == 2);
  pitch = ((guint64) width * number_at (data + (old ? 24 : 28), 2) + 31) / 32 * 4;
  return size >= named && (compressed ? named > begin : size >= begin + pitch * (guint64) height);
}

/* Fails for a file that was copied in part only. For some formats GdkPixbuf reports that; for JPEG, BMP and GIF it
 * fills the rest with black or gray, which would stay unfiltered. From 2.44 on (glycin) it takes a PNG with half an
 * end, and a PNM file in text whose last number has lost digits. All other formats are refused: they may do so, too. */
static gboolean
is_whole (const gchar *path, const GdkPixbufFormat *format, gint width, gint height, CfStatus *status)
{
  static const gchar *const safe[] = { "tiff", "tga", "xpm", "legacy-xpm" /* from 2.44 on */, "svg", NULL };
  g_autofree gchar *name = gdk_pixbuf_format_get_name ((GdkPixbufFormat *) format), *data = NULL;
  const gboolean jpeg = g_str_equal (name, "jpeg"), bmp = g_str_equal (name, "bmp"), png = g_str_equal (name, "png"),
                 pnm = g_str_equal (name, "pnm");
  const guint8 *bytes;
  gboolean whole;
  gsize size;

  if (g_strv_contains (safe, name))
    return TRUE;
  if (!jpeg && !bmp && !png && !pnm && !g_str_equal (name, "gif")) {
    cf_fail (status, CF_BAD_VALUE,
        "mask: the picture has the format %s; use PNG, JPEG, TIFF, BMP, GIF, PNM, TGA, XPM "
        "or SVG, of which it can be seen whether the file is whole",
        name);
    return FALSE;
  }
  whole = g_file_get_contents (path, &data, &size, NULL) && size > 2;
  bytes = (const guint8 *) data;
  if (whole)
    whole = jpeg ? jpeg_is_whole (bytes, size)
        : png    ? png_is_whole (bytes, size)
        : bmp    ? bmp_is_whole (bytes, size, width, height)
        : pnm    ? bytes[1] > '3' || g_ascii_isspace (bytes[size - 1]) /* P1 to P3 are text */
                 : bytes[size - 2] == 0 && bytes[size - 1] == 0x3b;
  if (!whole)
    cf_fail (status, CF_BAD_VALUE, "mask: the file ends before the picture does; copy it again");
  return whole;
}

static gboolean
is_small (gint width, gint height, CfStatus *status)
{
  if ((gint64) width * height <= GST_CF_MASK_PIXELS)
    return TRUE;
  cf_fail (status, CF_BAD_VALUE,
      "mask: the picture has %d x %d pixels; it may have %d in all, as many as 8192 x 4096. "
      "Masks are scaled to the frame, so a smaller one does",
      width, height, GST_CF_MASK_PIXELS);
  return FALSE;
}

GBytes *
gst_cf_mask_read (const gchar *path, CfStatus *status)
{
  const GdkPixbufFormat *format;
  GError *error = NULL;
  GBytes *mask = NULL;
  GdkPixbuf *picture;
  gint width, height;

  if (g_file_test (path, G_FILE_TEST_EXISTS) && !g_file_test (path, G_FILE_TEST_IS_REGULAR)) { /* a pipe would block */
    cf_fail (status, CF_BAD_VALUE, "mask: this is not a regular file; name a picture, such as doors.png");
    return NULL;
  }
  /* The size first: a large picture is not decoded only to be refused. */
  format = gdk_pixbuf_get_file_info (path, &width, &height);
  if (format && (!is_small (width, height, status) || !is_whole (path, format, width, height, status)))
    return NULL;
  picture = gdk_pixbuf_new_from_file (path, &error);
  if (!picture) {
    gchar *reason = g_utf8_make_valid (error->message, (gssize) MIN (strlen (error->message), 150));

    cf_fail (status, CF_BAD_VALUE, "mask: %s", reason);
    g_free (reason);
    g_error_free (error);
    return NULL;
  }
  if (format && is_small (gdk_pixbuf_get_width (picture), gdk_pixbuf_get_height (picture), status)) {
    mask = mask_of (picture);
    if (!mask)
      cf_fail (status, CF_NO_MEMORY, "mask: there is no memory for the picture");
  } else if (!format) {
    cf_fail (status, CF_BAD_VALUE, "mask: the file changed while it was read; set the mask again");
  }
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
