/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ways.c: with one frame in flight a frame is transferred to the GPU and back in one of several
 * transfer modes, whole or in slices of rows; the first frames of a stream try them. In each mode
 * the frames must equal the CPU's. */
#include "common.h"

/* Enough to try each mode once, and some twice. */
#define FRAMES 14

static const gchar *const formats[] = { "GRAY8", "NV12", "I420", "Y42B", "YUY2", "RGBA", "GBR", "GRAY16_LE",
  "P010_10LE" };
/* Sizes that are cut into two and four slices, with remaining rows; into two only; into none.
 * Widths whose host and device layouts are equal, and others. */
static const gint sizes[][2] = { { 192, 322 }, { 77, 361 }, { 65, 170 }, { 64, 200 }, { 320, 240 }, { 64, 90 } };

static const struct {
  const gchar *factory, *name[3], *value[3];
  gboolean slices; /* whether the filter may be cut into slices */
} cases[] = {
  { "cudamedian", { NULL }, { NULL }, TRUE },
  { "cudamedian", { "kernel-width", "kernel-height" }, { "5", "13" }, TRUE },
  { "cudamedian", { "kernel-size", "percentile" }, { "9", "20" }, TRUE },
  { "cudamedian", { "temporal-depth" }, { "3" }, FALSE },
  { "cudaconvolve", { "preset", "kernel-size" }, { "gauss", "7" }, TRUE },
  { "cudaconvolve", { "preset", "kernel-size", "border" }, { "box", "31", "constant" }, TRUE },
  { "cudaconvolve", { "kernel", "border" }, { "1 2; 3 -4; 0 5; 7 1", "reflect101" }, TRUE },
  { "cudaconvolve", { "kernel", "border" }, { "1 0 0; 0 2 0; 0 0 -1", "wrap" }, FALSE },
  { "cudairfilter", { "sigma" }, { "2" }, FALSE },
};

static GstElement *
new_case (gint i, gboolean cpu)
{
  GstElement *element = new_element_of (cases[i].factory, NULL);

  if (cpu) {
    gst_util_set_object_arg (G_OBJECT (element), "backend", "cpu");
    gst_util_set_object_arg (G_OBJECT (element), "on-gpu-error", "fallback");
  }
  for (gint p = 0; p < 3 && cases[i].name[p]; p++)
    set_value (element, cases[i].name[p], cases[i].value[p]);
  return element;
}

/* Returns the kernel launches of one frame. */
static guint64
push_both (GstHarness *h, GstHarness *cpu, const GstVideoInfo *info, guint seed)
{
  guint64 before = stat_of (h->element, "gpu-launches");
  GstBuffer *in = random_frame (info, seed, (gint) seed % 3);
  GstBuffer *out = gst_harness_push_and_pull (h, gst_buffer_ref (in));
  guint64 launches = stat_of (h->element, "gpu-launches") - before;
  GstBuffer *right = gst_harness_push_and_pull (cpu, in);

  assert_same (info, out, right);
  gst_buffer_unref (out);
  gst_buffer_unref (right);
  return launches;
}

/* Each slice has its own launches. */
static void
check_launches (guint64 least, guint64 most, gboolean slices, gint height)
{
  guint64 n_slices = !slices || height < 160 ? 1 : height < 320 ? 2 : 4;

  if (on_gpu ())
    fail_unless (least > 0 && most >= n_slices, "%" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT " launches a frame",
        least, most);
}

GST_START_TEST (every_mode_is_right)
{
  GstHarness *h = new_harness (new_case (__i__, FALSE)), *cpu = new_harness (new_case (__i__, TRUE));
  gint n = 0;

  for (gsize f = 0; f < G_N_ELEMENTS (formats); f++)
    for (gsize s = 0; s < G_N_ELEMENTS (sizes); s++) {
      GstCaps *caps = video_caps (formats[f], sizes[s][0], sizes[s][1], NULL);
      guint64 least = G_MAXUINT64, most = 0;
      GstVideoInfo info;

      set_caps (cpu, gst_caps_ref (caps), &info);
      set_caps (h, caps, &info);
      for (guint i = 0; i < FRAMES; i++, n++) {
        guint64 launches = push_both (h, cpu, &info, i);

        least = MIN (least, launches);
        most = MAX (most, launches);
      }
      check_launches (least, most, cases[__i__].slices, sizes[s][1]);
    }
  gst_harness_teardown (cpu);
  close_harness (h, n);
}
GST_END_TEST

/* The window grows while frames are in slices and the trial of modes has ended. */
GST_START_TEST (settings_change)
{
  static const gchar *const windows[] = { "3", "7", "63", "5" };
  GstHarness *h = new_harness (new_case (0, FALSE)), *cpu = new_harness (new_case (0, TRUE));
  GstVideoInfo info;

  set_caps (cpu, video_caps ("NV12", 96, 400, NULL), &info);
  set_caps (h, video_caps ("NV12", 96, 400, NULL), &info);
  for (guint i = 0; i < 4 * 90; i++) {
    if (i % 90 == 0) {
      set_value (h->element, "kernel-size", windows[i / 90]);
      set_value (cpu->element, "kernel-size", windows[i / 90]);
    }
    push_both (h, cpu, &info, i);
  }
  gst_harness_teardown (cpu);
  close_harness (h, 4 * 90);
}
GST_END_TEST

/* Fields are filtered separately, so there are no slices. */
GST_START_TEST (interlaced)
{
  GstHarness *h = new_harness (new_case (0, FALSE)), *cpu = new_harness (new_case (0, TRUE));
  GstVideoInfo info;

  set_caps (cpu, video_caps ("I420", 96, 400, "interlace-mode=interleaved"), &info);
  set_caps (h, video_caps ("I420", 96, 400, "interlace-mode=interleaved"), &info);
  for (guint i = 0; i < 40; i++)
    push_both (h, cpu, &info, i);
  gst_harness_teardown (cpu);
  close_harness (h, 40);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("ways");

  tcase_add_loop_test (tests, every_mode_is_right, 0, G_N_ELEMENTS (cases));
  tcase_add_test (tests, settings_change);
  tcase_add_test (tests, interlaced);
  return run_suite (argc, argv, "ways", tests, FALSE);
}
