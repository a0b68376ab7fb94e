/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * fmp4.c: H.264 as fragmented MP4. The names are the standard's names of boxes. In them are mostly numbers of 32 bits;
 * two of 16 bits are written as one. */
#include "fmp4.h"

#define TIMESCALE 90000 /* units a second */

/* The writer's own function takes it for granted that the place is aligned. */
static void
put_word (GstByteWriter *out, guint32 word)
{
  const guint32 big = GUINT32_TO_BE (word);

  gst_byte_writer_put_data (out, (const guint8 *) &big, sizeof big);
}

/* Begins a box. Returns its place, for end_box (). */
static guint
begin_box (GstByteWriter *out, const char *type)
{
  const guint at = gst_byte_writer_get_pos (out);

  put_word (out, 0); /* its size */
  gst_byte_writer_put_data (out, (const guint8 *) type, 4);
  return at;
}

static void
end_box (GstByteWriter *out, guint at)
{
  const guint end = gst_byte_writer_get_pos (out);

  gst_byte_writer_set_pos (out, at);
  put_word (out, end - at);
  gst_byte_writer_set_pos (out, end);
}

static void
put_words (GstByteWriter *out, const guint32 *words, guint n)
{
  for (guint i = 0; i < n; i++)
    put_word (out, words[i]);
}

#define WORDS(out, ...) \
  put_words (out, (const guint32[]) { __VA_ARGS__ }, sizeof ((const guint32[]) { __VA_ARGS__ }) / sizeof (guint32))
/* A whole box of such numbers; the first one is its version and its flags. */
#define BOX(out, type, ...) \
  do { \
    const guint box_at = begin_box (out, type); \
    WORDS (out, __VA_ARGS__); \
    end_box (out, box_at); \
  } while (0)

#define FOUR(a, b, c, d) ((guint32) (a) << 24 | (b) << 16 | (c) << 8 | (d))
#define UPRIGHT 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000 /* a matrix that changes nothing */

/* Returns the stream's parameters, an AVCDecoderConfigurationRecord; NULL: there are none. The caller unmaps it. */
static GstBuffer *
map_parameters (const GstCaps *caps, GstMapInfo *map)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  const GValue *value = gst_structure_get_value (structure, "codec_data");
  GstBuffer *buffer = value ? gst_value_get_buffer (value) : NULL;

  if (!gst_structure_has_name (structure, "video/x-h264") || !buffer || !gst_buffer_map (buffer, map, GST_MAP_READ))
    return NULL;
  if (map->size > 4)
    return buffer;
  gst_buffer_unmap (buffer, map);
  return NULL;
}

char *
fmp4_codec (const GstCaps *caps)
{
  GstMapInfo map;
  GstBuffer *parameters = map_parameters (caps, &map);
  char *codec;

  if (!parameters)
    return NULL;
  codec = g_strdup_printf ("avc1.%02X%02X%02X", map.data[1], map.data[2], map.data[3]);
  gst_buffer_unmap (parameters, &map);
  return codec;
}

/* How the frames are encoded, and no frame: those are all in fragments. */
static void
put_table (GstByteWriter *out, const GstCaps *caps, guint32 width, guint32 height)
{
  const guint stbl = begin_box (out, "stbl"), stsd = begin_box (out, "stsd");
  guint avc1, avcc;
  GstMapInfo map;
  GstBuffer *parameters = map_parameters (caps, &map);

  WORDS (out, 0, 1);
  avc1 = begin_box (out, "avc1");
  WORDS (out, 0, 1, 0, 0, 0, 0, width << 16 | height, 0x480000, 0x480000, 0, 0x10000, 0, 0, 0, 0, 0, 0, 0, 24);
  gst_byte_writer_fill (out, 0xff, 2);
  avcc = begin_box (out, "avcC");
  if (parameters) {
    gst_byte_writer_put_data (out, map.data, (guint) map.size);
    gst_buffer_unmap (parameters, &map);
  }
  end_box (out, avcc);
  end_box (out, avc1);
  end_box (out, stsd);
  BOX (out, "stts", 0, 0);
  BOX (out, "stsc", 0, 0);
  BOX (out, "stsz", 0, 0, 0);
  BOX (out, "stco", 0, 0);
  end_box (out, stbl);
}

static void
put_track (GstByteWriter *out, const GstCaps *caps, guint32 width, guint32 height)
{
  const guint trak = begin_box (out, "trak");
  guint mdia, minf, hdlr, dinf;

  BOX (out, "tkhd", 3, 0, 0, 1, 0, 0, 0, 0, 0, 0, UPRIGHT, width << 16, height << 16);
  mdia = begin_box (out, "mdia");
  BOX (out, "mdhd", 0, 0, 0, TIMESCALE, 0, 0x55c40000); /* "und": no language */
  hdlr = begin_box (out, "hdlr");
  WORDS (out, 0, 0, FOUR ('v', 'i', 'd', 'e'), 0, 0, 0);
  gst_byte_writer_put_uint8 (out, 0);
  end_box (out, hdlr);
  minf = begin_box (out, "minf");
  BOX (out, "vmhd", 1, 0, 0);
  dinf = begin_box (out, "dinf");
  BOX (out, "dref", 0, 1, 12, FOUR ('u', 'r', 'l', ' '), 1); /* the data is in the same file */
  end_box (out, dinf);
  put_table (out, caps, width, height);
  end_box (out, minf);
  end_box (out, mdia);
  end_box (out, trak);
}

void
fmp4_begin (GstByteWriter *out, const GstCaps *caps)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  int width = 0, height = 0;
  guint moov, mvex;

  gst_structure_get (structure, "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height, NULL);
  BOX (out, "ftyp", FOUR ('i', 's', 'o', '5'), 512, FOUR ('i', 's', 'o', '5'), FOUR ('m', 'p', '4', '1'));
  moov = begin_box (out, "moov");
  BOX (out, "mvhd", 0, 0, 0, TIMESCALE, 0, 0x10000, 0x1000000, 0, 0, UPRIGHT, 0, 0, 0, 0, 0, 0, 2);
  put_track (out, caps, (guint32) width, (guint32) height);
  mvex = begin_box (out, "mvex");
  BOX (out, "trex", 0, 1, 1, 0, 0, 0);
  end_box (out, mvex);
  end_box (out, moov);
}

static guint64
in_units (GstClockTime time)
{
  return gst_util_uint64_scale_round (time, TIMESCALE, GST_SECOND);
}

void
fmp4_frame (GstByteWriter *out, guint32 number, GstClockTime dts, GstClockTime duration, GstBuffer *frame)
{
  const gboolean key = !GST_BUFFER_FLAG_IS_SET (frame, GST_BUFFER_FLAG_DELTA_UNIT);
  const guint32 size = (guint32) gst_buffer_get_size (frame);
  const guint64 decoded = in_units (dts), shown = in_units (GST_BUFFER_PTS (frame));
  const guint moof = begin_box (out, "moof");
  guint traf;

  BOX (out, "mfhd", 0, number);
  traf = begin_box (out, "traf");
  BOX (out, "tfhd", 0x20000, 1); /* the data begins where the fragment does, plus what trun says */
  BOX (out, "tfdt", 0x1000000, (guint32) (decoded >> 32), (guint32) decoded);
  /* One frame: where its data is, duration, size, whether it needs others, and PTS less DTS. The data is behind these 7
   * numbers and the head of mdat. */
  BOX (out, "trun", 0x1000f01, 1, gst_byte_writer_get_pos (out) - moof + 7 * 4 + 8, (guint32) in_units (duration), size,
      key ? 0x2000000 : 0x1010000, (guint32) (shown - decoded));
  end_box (out, traf);
  end_box (out, moof);
  WORDS (out, size + 8, FOUR ('m', 'd', 'a', 't'));
}

typedef struct {
  GstBuffer *buffer;
  GstMapInfo map;
} Mapped;

static void
unmap (gpointer data)
{
  Mapped *mapped = data;

  gst_buffer_unmap (mapped->buffer, &mapped->map);
  gst_buffer_unref (mapped->buffer);
  g_free (mapped);
}

GBytes *
fmp4_data (GstBuffer *buffer)
{
  Mapped *mapped = g_new (Mapped, 1);

  mapped->buffer = buffer;
  if (gst_buffer_map (buffer, &mapped->map, GST_MAP_READ))
    return g_bytes_new_with_free_func (mapped->map.data, mapped->map.size, unmap, mapped);
  gst_buffer_unref (buffer);
  g_free (mapped);
  return g_bytes_new (NULL, 0);
}
