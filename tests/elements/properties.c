/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * properties.c: the properties of all elements, by their tables: defaults, dependencies, live changes,
 * bad values before and after the start, and frames that are passed through unchanged. */
#include "properties.h"

#include <gst/base/gstbasetransform.h>
#include <malloc.h>
#include <string.h>

#define ROW(stem) &stem##_properties,
static const Properties *const all[CF_N_FILTERS] = { CF_FILTERS (ROW) };

#define ROWS 1000 /* more than a table of bad values has: number of the filter * ROWS + row */

const guint8 ramp[4] = { 10, 20, 30, 41 };

/* Sets a property; returns the path of the file that the value names. */
static gchar *
set_or_file (GstElement *element, const gchar *name, const gchar *value)
{
  gchar *path = value && value[0] == '@' ? temporary_file (value + 1) : NULL;

  set_value (element, name, path ? path : value);
  return path;
}

void
set_all (GstElement *element, const Setting *settings)
{
  for (const Setting *s = settings; s && s->name; s++)
    set_value (element, s->name, s->value);
}

static GstElement *
new_filter (const Properties *p, const Setting *settings)
{
  GstElement *element = new_element_of (p->factory, NULL);

  set_all (element, settings);
  return element;
}

/* ---- defaults ----------------------------------------------------------- */

/* Each property has at first its default (the pages of docs/elements have these), and of the element's own ones each
 * can change at any time. */
GST_START_TEST (defaults)
{
  GstElement *element = gst_element_factory_make (all[__i__]->factory, NULL);
  GParamSpec **specs;
  guint n;

  specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);
  for (guint i = 0; i < n; i++) {
    const GParamFlags flags = specs[i]->flags;
    const gboolean own = specs[i]->owner_type == G_OBJECT_TYPE (element);
    const GType type = specs[i]->value_type;
    GValue value = G_VALUE_INIT;

    fail_unless (g_param_spec_get_blurb (specs[i]) && *g_param_spec_get_blurb (specs[i]), "%s", specs[i]->name);
    if (strcmp (specs[i]->name, "backend") == 0 || g_str_has_prefix (specs[i]->name, "cuda-device") ||
        strcmp (specs[i]->name, "frames-in-flight") == 0)
      fail_unless (flags & GST_PARAM_MUTABLE_READY, "%s", specs[i]->name);
    if (!(flags & G_PARAM_WRITABLE) || g_type_is_a (GST_TYPE_BASE_TRANSFORM, specs[i]->owner_type))
      continue;
    g_value_init (&value, type);
    g_object_get_property (G_OBJECT (element), specs[i]->name, &value);
    fail_unless (g_param_value_defaults (specs[i], &value), "%s", specs[i]->name);
    g_value_unset (&value);
    fail_unless (!own || flags & GST_PARAM_MUTABLE_PLAYING, "%s", specs[i]->name);
    fail_unless (!own || type == G_TYPE_STRING || G_TYPE_IS_FLAGS (type) || flags & GST_PARAM_CONTROLLABLE, "%s",
        specs[i]->name);
  }
  expect_value (element, "qos", "true"); /* of GstBaseTransform */
  fail_unless (!g_object_class_find_property (G_OBJECT_GET_CLASS (element), "file-text"));
  g_free (specs);
  gst_object_unref (element);
}
GST_END_TEST

/* ---- dependent properties ----------------------------------------------- */

/* Preset, typed texts and file exclude each other: the last one counts. */
GST_START_TEST (the_last_kernel_counts)
{
  const Properties *p = all[__i__];
  GstElement *element = new_filter (p, NULL);
  gchar *path = temporary_file (p->file_steps[0].value + 1), *signal = g_strconcat ("notify::", p->file, NULL);
  gint presets = 0, files = 0;

  g_signal_connect (element, "notify::preset", G_CALLBACK (count_notify), &presets);
  g_signal_connect (element, signal, G_CALLBACK (count_notify), &files);
  for (gint playing = 0; playing < 2; playing++) {
    if (playing)
      fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
    for (const Setting *s = p->last_counts; s->name; s++) {
      const gchar *value = g_strcmp0 (s->value, "@") == 0 ? path : s->value;

      if (s->name[0] == '=')
        expect_value (element, s->name + 1, value);
      else
        set_value (element, s->name, value);
    }
  }
  fail_unless_equals_int (presets, 8);
  fail_unless_equals_int (files, 4);
  expect_no_messages (element);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
  free_value (path, TRUE);
  g_free (signal);
}
GST_END_TEST

/* ---- live changes ------------------------------------------------------- */

/* Runs the steps, the first one before the element starts if there are no samples to expect before. */
static void
run_steps (const Properties *p, const Setting *start, const Step *steps, const guint8 *before)
{
  GstElement *element = new_filter (p, start);
  gchar *path = before ? NULL : set_or_file (element, steps->name, steps->value);
  GstHarness *h;
  GstVideoInfo info;
  gint frames = 0;

  free_value (path, path != NULL);
  h = new_harness (element);
  set_caps (h, video_caps (p->format, p->width, p->height, NULL), &info);
  if (before) {
    expect_samples (h, &info, p->samples, before, "nothing yet");
    frames++;
  }
  for (const Step *s = steps; s->name; s++, frames++) {
    if (before || s > steps) {
      path = set_or_file (element, s->name, s->value);
      free_value (path, path != NULL);
    }
    expect_samples (h, &info, p->samples, s->right, s->value);
  }
  expect_no_messages (element);
  close_harness (h, frames);
}

GST_START_TEST (change_between_two_frames)
{
  const Properties *p = all[__i__];

  run_steps (p, p->start, p->steps, NULL);
}
GST_END_TEST

/* A file is read once, when the property is set. */
GST_START_TEST (file_is_read_once)
{
  const Properties *p = all[__i__];

  run_steps (p, p->file_start, p->file_steps, NULL);
  run_steps (p, p->file_start, p->file_steps, ramp);
}
GST_END_TEST

/* ---- lists -------------------------------------------------------------- */

/* Lists of numbers, one grammar: texts that mean the same, and texts that are refused. */
static const struct {
  gint filter; /* in `all` */
  Setting with[3];
  const gchar *name, *where; /* of the message */
  const gchar *same[6], *bad[8];
} lists[] = {
  { 0, { { "temporal-method", "running" }, { "motion-meta", "true" } }, "zones", "number",
      { "a: 0,0 1,0 1,1; b: 0,0 .5,0 .5,1", "a:0,0,1,0,1,1;b:0,0,.5,0,.5,1;",
          " ; a : 0 , 0 1\t,0 , 1, 1 , ;; b: 0,0 .5,0 .5,1,\n;\r\n" },
      { "a: 0,0,,1,0 1,1", "a: 0,,0 1,0 1,1", "a: ,0,0 1,0 1,1", "a: 0,0 1,0 1,1,,; b: 0,0 .5,0 .5,1",
          "a: 0,0 1,0 1e0,1", "a: 0,0 1,0 0x1,1" } },
  { 1, { { "preset", "fill" } }, "roi", "number",
      { "1,1,2,2;4,0,2,3", "1,1,2,2;4,0,2,3;", " 1 , 1\t,2, 2 ; 4,0,2,3 ", ";1,1,2,2;;\n4,0,2,3;\f; ",
          "1,1,2,2,;4,0,2,3 , ;" },
      { "1,,1,2,2", ",1,1,2,2", "1,1,2,2,,;4,0,2,3", "1,1,2,2;,;4,0,2,3", "1,1,2,2 4,0,2,3", "1 1 2 2" } },
  { 1, { { "preset", "fill" } }, "mask-polygons", "number",
      { "0,0 .5,0 .5,.5;.5,.5 1,.5 1,1", "0,0,.5,0,.5,.5;.5,.5,1,.5,1,1;", " 0 , 0 .5,0\t.5, .5 ; .5,.5 1,.5 1,1 ",
          ";0,0 .5,0 .5,.5;;\n.5,.5 1,.5 1,1;\v; ", "0,0 .5,0 .5,.5,; .5,.5 , 1,.5 , 1,1 , ;" },
      { "0,,0 .5,0 .5,.5", ",0,0 .5,0 .5,.5", "0,0,,.5,0 .5,.5", "0,0 .5,0 .5,.5;,;0,0 1,0 1,1", "0,0 .5 0 .5,.5",
          "0,0 .5,0 5e-1,.5", "0,0 .5,0 nan,.5" } },
  { 1, { { "roi", "4,2,4,2" } }, "roi-size", "WIDTHxHEIGHT", { "32x16", " 32x16", "32x16 ", "\t32 x 16 \n" },
      { "32,16", "32 16", "x16", "32x", "32xx16", "32x16x", "0x20x16", "32x16;" } },
  { 1, { { "preset", "identity" } }, "kernel", "row",
      { "1 2 1;0 4 0;1 2 1", "1,2,1;0,4,0;1,2,1;", " 1 , 2\t,1 ; 0 4, 0;\n1 2 1\n", "1,2,1,;0,4,0 , ;1,2,1,\n",
          "+1 2. 1e0;0 .4e1 0;1 2 1\v" },
      { "1,,2,1", ",1,2,1", "1,2,1,,;0,4,0", "1,2,1;,;1,2,1", "1,2,1;;1,2,1", "1 0x2 1", "1 nan 1", "1 2,1;0,4" } },
  { 1, { { "preset", "identity" } }, "kernel-file", "row",
      { "@1 2 1\n0 4 0\n1 2 1", "@1,2,1\n0,4,0\n1,2,1\n\n", "@1,2,1,\r\n0,4,0,\r\n1,2,1,\r\n",
          "@1 2 1;\n0 4 0;\n1 2 1;\n" },
      { "@1,,2,1", "@,1,2,1", "@1,2,1\n\n0,4,0", "@1,2,1\n,\n0,4,0" } },
  { 2, { { "preset", "sharpen" } }, "numerator", "row",
      { "0 1;.5 0", "0,1;.5,0;", " 0 , 1\t;\n.5 0\n", "0,1,;.5,0 , ;", "0 1;5e-1 0" },
      { "0,,1;.5,0", ",0,1;.5,0", "0,1,,;.5,0", "0,1;;.5,0", "0,1;,;.5,0" } },
  { 2, { { "numerator", ".25" } }, "denominator", "row",
      { "0 .5;.25 0", "0,.5;.25,0;", " 0 , .5\t;\n.25 0\n", "0,.5,;.25,0 , ;", "0 .5;25e-2 0" },
      { "0,,.5;.25,0", ",0,.5;.25,0", "0,.5,,;.25,0", "0,.5;;.25,0", "0,.5;,;.25,0" } },
  { 3, { { "output", "labels" } }, "seeds", "number",
      { "1,2;9,4", "1,2;9,4;", " 1 , 2\t; 9,4 ", ";1,2;;\n9,4;\f; ", "1,2,;9,4 , ;", "1,2;+9,4" },
      { "1,,2", ",1,2", "1,2,,;9,4", "1,2;,;9,4", "1,2 9,4", "1 2", "1,2e0", "1,2.0" } },
  { 3, { { "events", "true" } }, "zones", "number",
      { "a: 0,0 1,0 1,1; b: 0,0 .5,0 .5,1", "a:0,0,1,0,1,1,;b:0,0,.5,0,.5,1,;",
          ";a :0 , 0 1,0 1,1;;\nb: 0,0 .5,0 .5,1;;" },
      { "a: 0,0,,1,0 1,1", "a: 0,0 1,0 1,1;,", "a: 0,0 1,0 1,1;; b: 0,0" } },
};

static GstBuffer *
filter_frame (GstHarness *h, const GstVideoInfo *info)
{
  return push_pull (h, regions_frame (info, 0));
}

/* Texts of one meaning have one result, set before the start and later; others are refused, and nothing changes. */
GST_START_TEST (one_grammar)
{
  const Properties *p = all[lists[__i__].filter];
  const gchar *name = lists[__i__].name;
  GstBuffer *right = NULL, *out;

  for (gint k = 0; k < 6 && lists[__i__].same[k]; k++) {
    GstElement *element = new_filter (p, lists[__i__].with);
    const gboolean late = k & 1;
    gchar *path = late ? NULL : set_or_file (element, name, lists[__i__].same[k]), *before, *text;
    gint frames = 1;
    GstVideoInfo info;
    GstHarness *h = new_stream (element, "GRAY8", 16, 8, &info);

    if (late) {
      path = set_or_file (element, name, lists[__i__].same[k]);
      expect_value (element, name, path ? path : lists[__i__].same[k]);
    }
    out = filter_frame (h, &info);
    if (right)
      assert_same (&info, out, right);
    else
      right = gst_buffer_ref (out);
    gst_buffer_unref (out);
    expect_no_messages (element);
    for (gint b = 0; k == 0 && b < 8 && lists[__i__].bad[b]; b++, frames++) {
      gchar *wrong;

      g_object_get (element, name, &before, NULL);
      wrong = set_or_file (element, name, lists[__i__].bad[b]);
      expect_value (element, name, before);
      text = only_message (element, GST_MESSAGE_WARNING, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
      expect_message (text, name, lists[__i__].where);
      free_value (wrong, wrong != NULL);
      g_free (text);
      g_free (before);
      gst_buffer_unref (filter_frame (h, &info));
    }
    free_value (path, path != NULL);
    close_harness (h, frames);
  }
  gst_buffer_unref (right);
}
GST_END_TEST

/* ---- bad values --------------------------------------------------------- */

static void
set_bad (const Properties *p, const Bad *bad, GstElement *element)
{
  const gboolean is_made = bad->value[0] == '@', is_file = is_made && g_strcmp0 (bad->name, p->file) == 0;
  gchar *text = is_made ? p->make (bad) : g_strdup (bad->value), *path = is_file ? temporary_file (text) : NULL;

  set_value (element, bad->name, path ? path : text);
  free_value (path, is_file);
  g_free (text);
}

static void
expect_refusal (GstElement *element, const Bad *bad, GstMessageType type)
{
  gchar *text = only_message (element, type, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);

  expect_message (text, bad->name, bad->where ? bad->where : bad->name);
  g_free (text);
}

GST_START_TEST (bad_before_start)
{
  const Properties *p = all[__i__ / ROWS];
  const Bad *bad = &p->bad[__i__ % ROWS];
  GstElement *element = new_filter (p, p->bad_start);

  set_bad (p, bad, element);
  if (p->refused)
    p->refused (element, bad, NULL);
  if (bad->format) {
    GstVideoInfo info;
    GstHarness *h = new_stream (element, bad->format, 16, 8, &info);

    expect_refusal (element, bad, GST_MESSAGE_ERROR);
    free_harness (h);
    return;
  }
  fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  expect_refusal (element, bad, GST_MESSAGE_ERROR);
  gst_element_set_state (element, GST_STATE_NULL);
  /* With valid values it starts. */
  set_all (element, p->good_start);
  fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
}
GST_END_TEST

/* Returns the values of all properties but `stats`. */
static gchar *
all_values (GstElement *element)
{
  GString *text = g_string_new (NULL);
  GParamSpec **specs;
  guint n;

  specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);
  for (guint i = 0; i < n; i++) {
    GValue value = G_VALUE_INIT;

    if (!(specs[i]->flags & G_PARAM_READABLE) || strcmp (specs[i]->name, "stats") == 0)
      continue;
    g_value_init (&value, specs[i]->value_type);
    g_object_get_property (G_OBJECT (element), specs[i]->name, &value);
    if (!G_VALUE_HOLDS_OBJECT (&value)) {
      gchar *one = g_strdup_value_contents (&value);

      g_string_append_printf (text, "%s=%s ", specs[i]->name, one);
      g_free (one);
    }
    g_value_unset (&value);
  }
  g_free (specs);
  return g_string_free (text, FALSE);
}

GST_START_TEST (bad_while_playing)
{
  const Properties *p = all[__i__ / ROWS];
  const Bad *bad = &p->bad[__i__ % ROWS];
  const Refusal *r = strcmp (bad->name, "preset") == 0 ? &p->preset_refusal : &p->refusal;
  GstElement *element = new_filter (p, r->settings);
  GstHarness *h = new_harness (element);
  gchar *before, *after;
  GstVideoInfo info;

  set_caps (h, video_caps (bad->format && !r->right ? bad->format : p->bad_format, p->bad_width, p->bad_height, NULL),
      &info);
  p->show (h, &info, r, 0);
  before = all_values (element);
  set_bad (p, bad, element);
  after = all_values (element);
  fail_unless_equals_string (after, before);
  for (const Setting *s = r->kept; s && s->name; s++)
    expect_value (element, s->name, s->value);
  if (p->refused)
    p->refused (element, bad, r);
  p->show (h, &info, r, 1);
  expect_refusal (element, bad, GST_MESSAGE_WARNING);
  fail_unless (pop_message (element, GST_MESSAGE_ERROR) == NULL);
  /* A valid value is accepted afterwards. */
  set_all (element, p->good);
  for (const Setting *s = p->good; s->name; s++)
    expect_value (element, s->name, s->value);
  p->show (h, &info, r, 2);
  close_harness (h, 3);
  g_free (before);
  g_free (after);
}
GST_END_TEST

/* A change replaces all parameters; the old ones are freed. */
GST_START_TEST (changes_keep_no_memory)
{
  GstElement *element = new_filter (all[__i__], NULL);
  gsize before = 0;

  for (gint i = 0; i < 10000; i++) {
    if (i == 1000)
      before = mallinfo2 ().uordblks;
    set_value (element, "apply-to", i % 2 ? "luma" : "all");
  }
  fail_unless (mallinfo2 ().uordblks < before + 65536);
  gst_object_unref (element);
}
GST_END_TEST

/* ---- frames that filtering would not change ----------------------------- */

GST_START_TEST (passing)
{
  const Properties *p = all[__i__];
  GstElement *element = new_filter (p, p->pass_start);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "NV12", 64, 48, &info);
  guint64 passed = 0, bytes = 0;
  guint frames = 0;

  for (const Pass *s = p->passes; s->value; s++) {
    if (g_strcmp0 (s->name, "caps") == 0)
      set_caps (h, video_caps (s->value, 64, 48, NULL), &info);
    else if (s->name)
      set_value (element, s->name, s->value);
    for (gint again = 0; again < 2; again++, frames++) {
      GstBuffer *in = p == &segment_properties ? regions_frame (&info, frames) : random_frame (&info, frames, 0);
      GstBuffer *right = gst_buffer_copy_deep (in), *out = push_pull (h, in);

      fail_unless ((out == in) == s->passes_through, "%s=%s", s->name, s->value);
      if (s->passes_through || s->same)
        assert_same (&info, out, right);
      passed += s->passes_through;
      bytes += GST_VIDEO_INFO_SIZE (&info);
      gst_buffer_unref (right);
      gst_buffer_unref (out);
    }
  }
  fail_unless_equals_uint64 (stat_of (element, "frames-passed"), passed);
  fail_unless_equals_uint64 (stat_of (element, "bytes"), bytes);
  expect_no_messages (element);
  close_harness (h, (gint) frames);
}
GST_END_TEST

/* One case a filter: CK_RUN_CASE=median runs one. */
int
main (int argc, char **argv)
{
  TCase *tests[CF_N_FILTERS];

  for (gint i = 0; i < CF_N_FILTERS; i++) {
    const Properties *p = all[i];
    gint rows = 0;

    while (p->bad[rows].name)
      rows++;
    tests[i] = tcase_create (p->factory + strlen ("cuda"));
    tcase_add_loop_test (tests[i], defaults, i, i + 1);
    if (p->last_counts)
      tcase_add_loop_test (tests[i], the_last_kernel_counts, i, i + 1);
    if (p->steps)
      tcase_add_loop_test (tests[i], change_between_two_frames, i, i + 1);
    if (p->file_steps)
      tcase_add_loop_test (tests[i], file_is_read_once, i, i + 1);
    tcase_add_loop_test (tests[i], changes_keep_no_memory, i, i + 1);
    tcase_add_loop_test (tests[i], bad_before_start, i * ROWS, i * ROWS + rows);
    tcase_add_loop_test (tests[i], bad_while_playing, i * ROWS, i * ROWS + rows);
    if (p->passes)
      tcase_add_loop_test (tests[i], passing, i, i + 1);
    for (gint row = 0; row < (gint) G_N_ELEMENTS (lists); row++)
      if (lists[row].filter == i)
        tcase_add_loop_test (tests[i], one_grammar, row, row + 1);
    p->add (tests[i]);
  }
  return run_cases (argc, argv, "properties", tests, CF_N_FILTERS, FALSE);
}
