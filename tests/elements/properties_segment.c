/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * properties_segment.c: the table of cudasegment. */
#include "properties.h"

#include <string.h>

/* Two flat halves; the expected images follow the documentation. */
static const guint8 halves[16] = { 50, 50, 50, 54, 200, 200, 200, 204, 50, 50, 50, 50, 200, 200, 200, 200 };

#define BOTH(left, right) \
  { left, left, left, left, right, right, right, right, left, left, left, left, right, right, right, right }
#define BORDER(v) { 50, 50, 50, v, 200, 200, 200, 204, 50, 50, 50, v, 200, 200, 200, 200 }

/* Half of the pixels: the colours between the two halves are no regions then. */
static const Setting no_memory[] = { { "temporal", "0" }, { "min-size", "8" }, { NULL } };

static const Step steps[] = { { "output", "mean", BOTH (51, 201) }, /* 404 / 8, up from a half; 1604 / 8 */
  { "output", "boundaries", BORDER (255) }, { "boundary-color", "0xff000000", BORDER (0) },
  { "boundary-color", "0x00ff0000", BORDER (76) }, /* red: (19595 * 255 + 32768) >> 16; alpha counts for nothing */
  { "boundary-color", "0x0000ff00", BORDER (150) },
  { "output", "labels", BOTH (134, 146) }, /* of the ids 1 and 2: R, G, B 182, 105, 154 and 109, 146, 246 */
  { "output", "passthrough", { 50, 50, 50, 54, 200, 200, 200, 204, 50, 50, 50, 50, 200, 200, 200, 200 } },
  { "output", "mean", BOTH (51, 201) }, { "max-regions", "1", BOTH (126, 126) }, /* 2008 / 16 = 125.5 */
  { NULL } };

static const Pass passes[] = { { "output", "passthrough", TRUE, TRUE }, { "region-meta", "true", FALSE, TRUE },
  { "region-meta", "false", TRUE, TRUE }, { "label-meta", "true", FALSE, TRUE }, { "label-meta", "false", TRUE, TRUE },
  { "message-interval", "1000", FALSE, TRUE }, { "output", "labels", FALSE, FALSE },
  { "message-interval", "0", FALSE, FALSE }, { "output", "passthrough", TRUE, TRUE }, { NULL } };

static const Bad bad[] = { { "seeds", "1", "number 1" }, { "seeds", "x,1", "number 1" },
  { "seeds", "1,2;3", "number 2" }, { "seeds", "1,2;3,4,5", "number 2" }, { "seeds", "1 2", "number 1" },
  { "seeds", "1,2 3,4", "number 1" }, { "seeds", "1,2;;3", "number 2" }, { "seeds", "1,2;,", "number 2" },
  { "seeds", "1.5,2", "number 1" }, { "seeds", "0x1,2", "number 1" }, { "seeds", "99999999,1", "number 1" },
  { "seeds", "nan,1", "number 1" }, { "seeds", "--1,1", "number 1" }, { "seeds", "@1025", "1024" },
  { "seeds", "@letters", "number 1" }, { NULL } };

static gchar *
make (const Bad *row)
{
  gchar *pairs, *text;

  if (strcmp (row->value, "@letters") == 0)
    return repeated ("letter", 1 << 17);
  pairs = repeated ("1,2;", 1024);
  text = g_strconcat (pairs, "3,4", NULL);
  g_free (pairs);
  return text;
}

static const Setting two_seeds[] = { { "seeds", "1,1;2,2" }, { NULL } };
static const Setting good_start[] = { { "seeds", "1,2;3,4" }, { NULL } };
static const Setting good[] = { { "seeds", "5,5" }, { NULL } };

static void
show (GstHarness *h, const GstVideoInfo *info, const Refusal *r, guint n)
{
  (void) r;
  gst_buffer_unref (push_pull (h, regions_frame (info, n)));
}

/* Without smooth cells there is one region; each seed makes its own. */
GST_START_TEST (seeds)
{
  static const struct {
    const gchar *seeds;
    guint n;
  } rows[] = { { NULL, 1 }, { "1,1;6,1", 2 }, { "1,1", 1 }, { "", 1 }, { "1,1;6,1;1,1;-5,0;8,0;0,999999", 2 },
    { "0,0;2,0;4,0;6,0", 4 }, { "0,0;1,0;4,0;6,1", 3 },
    { " 0, 0 ;; 2 ,0;\n+4,0;6,0; ", 4 } }; /* adjacent seeds make one region */
  static const guint8 stairs[16] = { 10, 30, 50, 70, 90, 110, 130, 150, 12, 32, 52, 72, 92, 112, 132, 152 };
  GstElement *element = new_segment ("temporal", "0", "seed-threshold", "0.0001", "merge-threshold", "0",
      "weak-fraction", "1", "region-meta", "true", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", 8, 2, &info);

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    GstBuffer *out;
    Found *found;

    g_object_set (element, "seeds", rows[i].seeds, NULL);
    out = push_pull (h, frame_of (&info, stairs));
    found = found_in_metas (out);
    fail_unless (found->n == rows[i].n, "\"%s\": %u regions, not %u", rows[i].seeds, found->n, rows[i].n);
    gst_buffer_unref (out);
    g_free (found);
  }
  g_free (only_message (element, GST_MESSAGE_WARNING, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS)); /* -5,0 */
  close_harness (h, G_N_ELEMENTS (rows));
}
GST_END_TEST

/* Interlaced frames are segmented as whole frames, and each depends on the one before. */
GST_START_TEST (interlaced_frames_are_whole)
{
  static const gchar *const modes[] = { "interlace-mode=interleaved,field-order=top-field-first",
    "interlace-mode=mixed", NULL };
  GstBuffer *out[G_N_ELEMENTS (modes)][3];
  GstVideoInfo info;

  for (gsize m = 0; m < G_N_ELEMENTS (modes); m++) {
    GstHarness *h = new_harness (new_segment ("output", "labels", "label-meta", "true", NULL));

    set_caps (h, video_caps ("I420", 98, 68, modes[m]), &info);
    for (guint n = 0; n < 3; n++) {
      GstBuffer *in = regions_frame (&info, n);

      if (m == 1 && n != 1)
        GST_BUFFER_FLAG_SET (in, GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TFF);
      out[m][n] = push_pull (h, in);
    }
    close_harness (h, 3);
  }
  for (guint n = 0; n < 3; n++)
    for (gsize m = 0; m < G_N_ELEMENTS (modes); m++) {
      Found *one = found_in_map (out[m][n]), *other = found_in_map (out[2][n]);

      assert_same (&info, out[m][n], out[2][n]);
      fail_unless (memcmp (one, other, sizeof *one) == 0, "the regions of frame %u", n);
      gst_buffer_unref (out[m][n]);
      g_free (other);
      g_free (one);
    }
}
GST_END_TEST

static void
add (TCase *tests)
{
  tcase_add_test (tests, seeds);
  tcase_add_test (tests, interlaced_frames_are_whole);
}

const Properties segment_properties = {
  .factory = "cudasegment",
  .start = no_memory,
  .format = "GRAY8",
  .width = 8,
  .height = 2,
  .samples = halves,
  .steps = steps,
  .passes = passes,
  .bad = bad,
  .good_start = good_start,
  .bad_format = "I420",
  .bad_width = 64,
  .bad_height = 48,
  .refusal = { two_seeds, two_seeds, NULL },
  .good = good,
  .show = show,
  .make = make,
  .add = add,
};
