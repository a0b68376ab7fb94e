/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * fmp4.c: a fuzz target: any packets through cf-watch's writer of fragmented MP4. What it makes is read again: boxes
 * that fill each other, and fragments that have their frame, at its time. */
#include "../../pipelines/watch/fmp4.h"
#include "fuzz.h"

#include <string.h>

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
  gst_init (argc, argv);
  g_log_set_always_fatal (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
  return 0;
}

static guint64
read_number (const guint8 *data, guint bytes)
{
  guint64 number = 0;

  for (guint i = 0; i < bytes; i++)
    number = number << 8 | data[i];
  return number;
}

/* Returns the payload of the box of the path, "moof/traf/tfdt", with its size. Fails where boxes do not fill the one
 * that they are in, or it is not there. */
static const guint8 *
find (const guint8 *data, gsize n, const char *path, gsize *size)
{
  const guint8 *found = NULL;

  for (gsize at = 0, box; at < n; at += box) {
    box = n - at < 8 ? 0 : read_number (data + at, 4);
    if (box < 8 || box > n - at)
      fuzz_fail ("%s: a box of %zu bytes in %zu", path, box, n - at);
    if (!found && !memcmp (data + at + 4, path, 4)) {
      found = data + at + 8;
      *size = box - 8;
    }
  }
  if (!found)
    fuzz_fail ("there is no %s", path);
  return path[4] ? find (found, *size, path + 5, size) : found;
}

static GstCaps *
make_caps (FuzzBytes *bytes)
{
  const gsize n = fuzz_below (bytes, 64), size = MIN (n, bytes->left);
  GstBuffer *parameters = gst_buffer_new_allocate (NULL, size, NULL);
  GstCaps *caps;

  gst_buffer_fill (parameters, 0, bytes->at, size);
  bytes->at += size;
  bytes->left -= size;
  caps = gst_caps_new_empty_simple (fuzz_below (bytes, 8) ? "video/x-h264" : "video/x-h265");
  if (fuzz_below (bytes, 8))
    gst_caps_set_simple (caps, "width", G_TYPE_INT, (int) fuzz_below (bytes, 65536), "height", G_TYPE_INT,
        (int) fuzz_below (bytes, 65536), NULL);
  if (fuzz_below (bytes, 8))
    gst_caps_set_simple (caps, "codec_data", GST_TYPE_BUFFER, parameters, NULL);
  gst_buffer_unref (parameters);
  return caps;
}

static void
check_begin (const GstCaps *caps)
{
  static const char sample[] = "moov/trak/mdia/minf/stbl/stsd";
  g_autofree char *codec = fmp4_codec (caps);
  g_autofree guint8 *made = NULL;
  const guint8 *entry;
  GstByteWriter out;
  gsize n, size;

  if (codec && (strlen (codec) != 11 || strncmp (codec, "avc1.", 5)))
    fuzz_fail ("the codec is %s", codec);
  gst_byte_writer_init (&out);
  fmp4_begin (&out, caps);
  n = gst_byte_writer_get_size (&out);
  made = gst_byte_writer_reset_and_get_data (&out);
  find (made, n, "ftyp", &size);
  find (made, n, "moov/mvhd", &size);
  find (made, n, "moov/mvex/trex", &size);
  entry = find (made, n, sample, &size) + 8;
  entry = find (entry, size - 8, "avc1", &size) + 78;
  find (entry, size - 78, "avcC", &size);
  if (codec ? size < 5 : size > 0)
    fuzz_fail ("%zu bytes of parameters for %s", size, codec);
}

/* Returns a time: none, any, or some like those before. */
static GstClockTime
make_time (FuzzBytes *bytes)
{
  const guint how = fuzz_below (bytes, 8);
  guint64 time = fuzz_below (bytes, 65536);

  if (how == 0)
    return GST_CLOCK_TIME_NONE;
  for (guint i = 0; how == 1 && i < 6; i++)
    time = time << 8 | fuzz_byte (bytes);
  return how == 1 ? time : time * GST_MSECOND;
}

static void
check_frame (FuzzBytes *bytes, guint32 number)
{
  const gsize length = fuzz_below (bytes, 65536);
  GstBuffer *frame = gst_buffer_new_allocate (NULL, length, NULL);
  const GstClockTime dts = make_time (bytes), duration = fuzz_below (bytes, 65536) * GST_MSECOND;
  g_autofree guint8 *made = NULL;
  const guint8 *box;
  GstByteWriter out;
  gsize n, size, moof;

  GST_BUFFER_PTS (frame) = make_time (bytes);
  if (fuzz_byte (bytes) & 1)
    GST_BUFFER_FLAG_SET (frame, GST_BUFFER_FLAG_DELTA_UNIT);
  gst_byte_writer_init (&out);
  fmp4_frame (&out, number, dts, duration, frame);
  n = gst_byte_writer_get_size (&out);
  made = g_malloc0 (n + length);
  memcpy (made, out.parent.data, n);
  gst_byte_writer_reset (&out);
  find (made, n + length, "moof", &moof);
  find (made, n + length, "mdat", &size);
  box = find (made, n + length, "moof/mfhd", &size);
  if (size != 8 || read_number (box + 4, 4) != number)
    fuzz_fail ("the number of fragment %u", number);
  box = find (made, n + length, "moof/traf/tfdt", &size);
  if (size != 12 || read_number (box + 4, 8) != gst_util_uint64_scale_round (dts, 90000, GST_SECOND))
    fuzz_fail ("the time of fragment %u", number);
  box = find (made, n + length, "moof/traf/trun", &size);
  if (size != 28 || read_number (box + 8, 4) != n || n != moof + 16 || read_number (box + 16, 4) != length ||
      read_number (box + 12, 4) != duration / GST_MSECOND * 90)
    fuzz_fail ("the frame of fragment %u", number);
  gst_buffer_unref (frame);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  FuzzBytes bytes = { data, size };
  GstCaps *caps = make_caps (&bytes);

  check_begin (caps);
  gst_caps_unref (caps);
  for (guint32 number = 1; bytes.left > 0; number++)
    check_frame (&bytes, number);
  return 0;
}
