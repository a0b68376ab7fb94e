/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * properties_convolve.c: the table of cudaconvolve. */
#include "properties.h"

#define SHARPEN "0 -1 0; -1 5 -1; 0 -1 0"

static const Setting default_values[] = {
  { "preset", "gauss" }, { "kernel", NULL }, { "kernel-file", NULL }, { "kernel-size", "5" }, { "sigma", "0" },
  { "angle", "0" }, { "amount", "1" }, { "divisor", "0" }, { "bias", "0" }, { "border", "replicate" },
  { "border-value", "0" }, { "flip", "false" }, { "gray", "none" }, { "apply-to", "all" }, { NULL }
};

static const Setting last_counts[] = {
  { "preset", "box" }, { "kernel", "1 2 1" }, { "=preset", "custom" }, { "=kernel", "1 2 1" },
  { "kernel-file", "@" }, { "=kernel", NULL }, { "=kernel-file", "@" },
  /* A preset is used while it is set; custom returns to the file. */
  { "preset", "gauss" }, { "=kernel-file", "@" },
  { "preset", "custom" }, { "kernel", SHARPEN }, { "=kernel-file", NULL }, { "=preset", "custom" }, { NULL }
};

static const Setting size_3[] = { { "kernel-size", "3" }, { NULL } };

static const Step steps[] = {
  { "kernel", "1 0", { 10, 10, 20, 30 } }, { "kernel", "0 0 1", { 20, 30, 41, 41 } },
  { "bias", "5", { 25, 35, 46, 46 } }, { "flip", "true", { 15, 15, 25, 35 } },
  { "flip", "false", { 25, 35, 46, 46 } },
  { "bias", "0", { 20, 30, 41, 41 } }, { "divisor", "2", { 10, 15, 20, 20 } }, { "divisor", "0", { 20, 30, 41, 41 } },
  { "preset", "identity", { 10, 20, 30, 41 } }, { "preset", "custom", { 20, 30, 41, 41 } },
  { "border", "wrap", { 20, 30, 41, 10 } }, { "preset", "box", { 24, 20, 30, 27 } },
  { "kernel-size", "1", { 10, 20, 30, 41 } }, { "preset", "custom", { 20, 30, 41, 10 } },
  { NULL }
};

static const Setting identity[] = { { "preset", "identity" }, { NULL } };

static const Step file_steps[] = { { "kernel-file", "@1 0\n", { 10, 10, 20, 30 } },
  { "preset", "identity", { 10, 20, 30, 41 } }, { "preset", "custom", { 10, 10, 20, 30 } }, { NULL } };

static const Pass passes[] = {
  { NULL, "the defaults", FALSE },
  { "preset", "identity", TRUE }, { "preset", "gauss", FALSE }, { "kernel-size", "1", TRUE },
  { "kernel-size", "3", FALSE }, { "kernel", "0 0 0; 0 1 0; 0 0 0", TRUE }, { "bias", "1", FALSE },
  { "bias", "0", TRUE }, { "gray", "luma", FALSE }, { "apply-to", "luma", TRUE }, { "gray", "none", TRUE },
  { "apply-to", "all", TRUE }, { "divisor", "2", FALSE }, { "kernel", "2", TRUE }, { "kernel", "1 0", FALSE },
  { "preset", "identity", FALSE }, { "divisor", "0", TRUE },
  /* With RGB, gray changes every sample; new caps decide again. */
  { "gray", "mean", FALSE }, { "caps", "RGB", FALSE }, { "caps", "GRAY8", TRUE }, { "caps", "NV12", FALSE }, { NULL }
};

static const Bad bad[] = {
  { "kernel", "", "row 1, column 1" },
  { "kernel", " ; ", "row 1, column 1" },
  { "kernel", "1 2;;3 4", "row 2, column 1" },
  { "kernel", "1 2 3;4 5 6;7 8", "row 3, column 3" },
  { "kernel", "1 2;3 4 5", "row 2, column 3" },
  { "kernel", "1 2;3 x", "row 2, column 2: \"x\"" },
  { "kernel", "1 nan", "row 1, column 2: \"nan\"" },
  { "kernel", "inf", "row 1, column 1: \"inf\"" },
  { "kernel", "1 2 -Infinity", "row 1, column 3" },
  { "kernel", "0x10", "row 1, column 1" },
  { "kernel", "1 1e999", "row 1, column 2" },
  { "kernel", "1,,2", "row 1, column 2" },
  { "kernel", "1,2,", "row 1, column 3" },
  { "kernel", "@64x64", "row 1, column 64" },
  { "kernel", "@1x64", "row 64, column 1" },
  { "kernel", "@megabyte of letters", "row 1, column 1" },
  { "kernel", "@megabyte of numbers", "row 1, column 64" },
  { "kernel", "@megabyte of blanks", "row 1, column 1" },
  { "kernel", "1e308 1e308", "row 1, column 1" },
  { "kernel", "1 9000000; 1 1", "row 1, column 2", "GRAY8" },
  { "kernel", "1 1; -9000000 1", "row 2, column 1", "I420" },
  { "kernel-file", "/nonexistent/kernel.txt", "/nonexistent/kernel.txt" },
  { "kernel-file", "/", "directory" },
  { "kernel-file", "@1 2;3", "row 2, column 2" },
  { "kernel-file", "@1 2\n3 nan\n", "row 2, column 2" },
  { "kernel-file", "@", "row 1, column 1" },
  { "kernel-size", "4", "3 or 5" },
  { "preset", "custom", "kernel" },
  { NULL }
};

static gchar *
make (const Bad *row)
{
  const gchar *value = row->value;
  gchar *line, *text;

  if (strcmp (row->name, "kernel-file") == 0)
    return g_strdup (value + 1);
  if (strstr (value, "letters"))
    return repeated ("kernel; ", 1 << 17);
  if (strstr (value, "numbers"))
    return repeated ("1 ", 1 << 19);
  if (strstr (value, "blanks"))
    return repeated (" ", 1 << 20);
  if (strcmp (value, "@1x64") == 0)
    return repeated ("1;", 64);
  line = repeated ("1 ", 64);
  line[127] = ';';
  text = repeated (line, 64);
  g_free (line);
  return text;
}

/* "custom" is refused if there is no kernel to return to. */
static const Setting with_kernel[] = { { "preset", "identity" }, { "kernel", "1 0" }, { NULL } };
static const Setting kept_kernel[] = { { "preset", "custom" }, { "kernel", "1 0" }, { "kernel-size", "5" },
  { "kernel-file", NULL }, { NULL } };
static const Setting kept_identity[] = { { "preset", "identity" }, { "kernel", NULL }, { "kernel-size", "5" },
  { "kernel-file", NULL }, { NULL } };
static const Setting good_start[] = { { "kernel", SHARPEN }, { "kernel-size", "3" }, { NULL } };
static const Setting good[] = { { "kernel", "1" }, { NULL } };

static void
show (GstHarness *h, const GstVideoInfo *info, const Refusal *r, guint n)
{
  expect_samples (h, info, ramp, n < 2 ? r->right : ramp, n ? "after" : "before");
}

/* A late frame is dropped and not counted, filtered or not. */
GST_START_TEST (late_frames_are_dropped)
{
  for (gint pass = 0; pass < 2; pass++) {
    GstElement *element = new_convolve ("preset", pass ? "identity" : "box", NULL);
    GstHarness *h = new_harness (element);
    GstVideoInfo info;
    GstBuffer *late;

    set_caps (h, video_caps ("GRAY8", 32, 16, NULL), &info);
    passes_through (h, &info, 1);
    fail_unless (gst_harness_push_upstream_event (h, gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 2.0,
                GST_SECOND, 40 * GST_MSECOND)));
    late = random_frame (&info, 2, 0);
    fail_unless_equals_int (gst_harness_push (h, late), GST_FLOW_OK);
    fail_unless (gst_harness_try_pull (h) == NULL, "a late frame came out");
    fail_unless (passes_through (h, &info, 100) == pass);
    close_harness (h, 2);
  }
}
GST_END_TEST

static void
add (TCase *tests)
{
  tcase_add_test (tests, late_frames_are_dropped);
}

const Properties convolve_properties = {
  .factory = "cudaconvolve",
  .defaults = default_values,
  .file = "kernel-file",
  .last_counts = last_counts,
  .start = size_3,
  .format = "GRAY8",
  .width = 4,
  .height = 1,
  .samples = ramp,
  .steps = steps,
  .file_start = identity,
  .file_steps = file_steps,
  .passes = passes,
  .bad = bad,
  .good_start = good_start,
  .bad_format = "GRAY8",
  .bad_width = 4,
  .bad_height = 1,
  .refusal = { with_kernel, kept_kernel, (const guint8[4]) { 10, 10, 20, 30 } },
  .preset_refusal = { identity, kept_identity, ramp },
  .good = good,
  .show = show,
  .make = make,
  .add = add,
};
