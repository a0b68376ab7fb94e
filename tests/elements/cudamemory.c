/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cudamemory.c: frames in CUDA memory on either pad or on both, and elements in a row, whose frames
 * leave an element before the GPU has finished them. Whatever elements are around and between,
 * whatever changes or reads the frames: the bytes equal those of elements on the CPU. */
#include "gate.h"
#include "regions.h"

#include <gst/video/gstvideometa.h>
#include <stdlib.h>

#define GPU "video/x-raw(" CUDA_FEATURE ")"
#define ON_GPU " backend=cuda on-gpu-error=error "
#define DOWNLOAD GPU " ! cudadownload name=d ! "
#define TO_HOST "capsfilter caps=video/x-raw"

/* Two pipelines with the same filters, "e0", "e1" and so on, on the GPU and on the CPU. */
typedef struct {
  GstHarness *gpu, *cpu;
  GstVideoInfo info;
  guint unfinished; /* frames that left element e0 on the GPU with input that is still held */
  guint frames;
  Found *found[2]; /* in the map and in the metas of the frame that left e0 last, if it has them */
} Pair;

/* ---- the two pipelines ------------------------------------------------------ */

/* Looks at a frame that leaves e0: one that is unfinished has a meta that holds the input, which belongs to another
 * element. */
static GstPadProbeReturn
look (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  GType api = g_type_from_name ("GstCfChainAPI");
  GstCudaSegmentMap map;
  Pair *pair = data;

  (void) pad;
  pair->unfinished += api && gst_buffer_get_meta (buffer, api) != NULL;
  if (gst_cuda_segment_map_get (buffer, &map) && !pair->found[0]) {
    pair->found[0] = found_in_map (buffer);
    pair->found[1] = found_in_metas (buffer);
  }
  return GST_PAD_PROBE_OK;
}

/* Returns "FILTER backend=cpu name=e0 ! ..." or, with `between`, the same on the GPU. */
static gchar *
describe (const gchar *const *filters, guint n, const gchar *between)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s%s%s name=e%u ! ", i && between ? between : "", filters[i],
        between ? ON_GPU : " backend=cpu ", i);
  return g_string_free (text, FALSE);
}

/* Sets the caps of both. */
static void
set_both_caps (Pair *pair, const gchar *format, gint width, gint height)
{
  set_caps (pair->gpu, video_caps (format, width, height, NULL), &pair->info);
  set_caps (pair->cpu, video_caps (format, width, height, NULL), &pair->info);
}

/* Opens both pipelines. `head` and `tail`: the elements around the filters on the GPU. */
static void
open_pair_around (Pair *pair, const gchar *head, const gchar *const *filters, guint n, const gchar *between,
    const gchar *tail, const gchar *format, gint width, gint height)
{
  gchar *cpu = describe (filters, n, NULL), *gpu = describe (filters, n, between);
  gchar *cpu_line = g_strconcat (cpu, "identity", NULL), *gpu_line = g_strconcat (head, gpu, tail, TO_HOST, NULL);

  memset (pair, 0, sizeof *pair);
  pair->gpu = parse_harness (gpu_line);
  pair->cpu = parse_harness (cpu_line);
  gst_harness_set_sink_caps_str (pair->gpu, "video/x-raw");
  set_both_caps (pair, format, width, height);
  add_probe (child_of (pair->gpu, "e0"), "src", look, pair);
  g_free (gpu_line);
  g_free (cpu_line);
  g_free (gpu);
  g_free (cpu);
}

static void
open_pair (Pair *pair, const gchar *head, const gchar *const *filters, guint n, const gchar *between)
{
  open_pair_around (pair, head, filters, n, between, DOWNLOAD, "NV12", 640, 480);
}

static void
close_pair (Pair *pair)
{
  free_harness (pair->gpu);
  free_harness (pair->cpu);
}

/* Pulls n frames of both, and fails unless they are the same. */
static void
expect_same (Pair *pair, guint n, const gchar *what)
{
  while (n--) {
    GstBuffer *out = gst_harness_pull (pair->gpu), *right = gst_harness_pull (pair->cpu);

    fail_unless (out && right, "%s: no frame came out", what);
    assert_same (&pair->info, out, right);
    gst_buffer_unref (out);
    gst_buffer_unref (right);
  }
}

static void
push_frame (Pair *pair, GstBuffer *in)
{
  fail_unless_equals_int (gst_harness_push (pair->gpu, gst_buffer_ref (in)), GST_FLOW_OK);
  fail_unless_equals_int (gst_harness_push (pair->cpu, in), GST_FLOW_OK);
}

/* Pushes n random frames into both. */
static void
push (Pair *pair, guint n)
{
  while (n--)
    push_frame (pair, random_frame (&pair->info, pair->frames++, 0));
}

static void
set_one (GstHarness *h, const gchar *name, const gchar *property, const gchar *value)
{
  set_value (child_of (h, name), property, value);
}

static void
set_both (Pair *pair, const gchar *name, const gchar *property, const gchar *value)
{
  set_one (pair->gpu, name, property, value);
  set_one (pair->cpu, name, property, value);
}

/* Fails unless the first n filters have done so many frames on the GPU, and no others. */
static void
expect_on_gpu (Pair *pair, guint n, guint64 frames)
{
  for (guint i = 0; i < n; i++) {
    gchar name[] = { 'e', (gchar) ('0' + i), '\0' };
    GstElement *element = child_of (pair->gpu, name);

    fail_unless_equals_uint64 (stat_of (element, "frames-gpu"), frames);
    fail_unless_equals_uint64 (stat_of (element, "frames"), frames);
    fail_unless (stat_of (element, "gpu-launches") > 0);
  }
}

#define UPLOAD "cudaupload ! " GPU " ! "
#define SLOW "cudamedian kernel-size=51"
#define MEDIAN "cudamedian" ON_GPU
#define REGIONS "cudasegment output=labels region-meta=true label-meta=true"
#define N_FORMATS 27

static const gchar *const four[] = { SLOW, "cudaconvolve preset=unsharp kernel-size=9", "cudairfilter sigma=4",
  "cudasegment" };
static const gchar *const between[] = { "", GPU " ! ", "queue ! ", "identity ! ", "tee ! ",
  "tee ! queue ! identity ! queue ! " };

/* ---- memory -------------------------------------------------------------- */

/* With CUDA memory on both pads, on one, and on none. */
static const struct {
  const gchar *head, *tail;
} around[] = { { "", "" }, { UPLOAD, DOWNLOAD }, { UPLOAD, "" }, { "", DOWNLOAD } };

GST_START_TEST (every_format)
{
  static const gint sizes[][2] = { { 66, 34 }, { 2, 2 } };
  static const gchar *const median[] = { "cudamedian" };
  gchar **formats = formats_of ("cudamedian", TRUE, N_FORMATS);

  for (gsize i = 0; i < 2 * G_N_ELEMENTS (around); i++) {
    Pair pair;

    open_pair_around (&pair, around[i / 2].head, median, 1, "", around[i / 2].tail, formats[__i__], sizes[i % 2][0],
        sizes[i % 2][1]);
    for (gint n = 0; n < 3; n++) {
      push (&pair, 1);
      expect_same (&pair, 1, formats[__i__]);
    }
    expect_on_gpu (&pair, 1, 3);
    close_pair (&pair);
  }
  g_strfreev (formats);
}
GST_END_TEST

/* The same image, numbers and metas as on the CPU, wherever the frames are. */
GST_START_TEST (segmentation)
{
  static const gchar *const formats[] = { "NV12", "Y444", "RGBA", "P010_10LE" };
  static const gchar *const filters[] = { REGIONS };

  for (gsize i = 0; i < G_N_ELEMENTS (around); i++) {
    Pair pair;

    open_pair_around (&pair, around[i].head, filters, 1, "", around[i].tail, formats[__i__], 98, 66);
    for (guint n = 0; n < 4; n++) {
      GstBuffer *out, *right;
      Found *all;

      push_frame (&pair, regions_frame (&pair.info, n));
      out = gst_harness_pull (pair.gpu);
      right = gst_harness_pull (pair.cpu);
      all = found_in_map (right);
      assert_same (&pair.info, out, right);
      fail_unless (pair.found[0]->n == all->n && memcmp (pair.found[0], all, sizeof *all) == 0, "regions on the GPU");
      assert_same_regions (all, pair.found[1]);
      gst_buffer_unref (right);
      gst_buffer_unref (out);
      g_clear_pointer (&pair.found[0], g_free);
      g_clear_pointer (&pair.found[1], g_free);
      g_free (all);
    }
    expect_on_gpu (&pair, 1, 4);
    close_pair (&pair);
  }
}
GST_END_TEST

/* Three elements in a row negotiate CUDA memory between them; a downstream that accepts any memory
 * gets system memory. GRAY8 has no CUDA memory. */
GST_START_TEST (memory_in_a_row)
{
  static const gchar *const names[] = { "a", "b", "c" };
  GstHarness *h = parse_harness (MEDIAN "name=a ! " MEDIAN "name=b percentile=0 ! " MEDIAN "name=c");
  GstVideoInfo info;

  set_caps (h, video_caps (__i__ ? "GRAY8" : "NV12", 64, 32, NULL), &info);
  gst_buffer_unref (push_pull (h, random_frame (&info, 1, 0)));
  for (gint i = 0; i < 3; i++) {
    GstPad *pad = gst_element_get_static_pad (child_of (h, names[i]), "src");
    GstCaps *caps = gst_pad_get_current_caps (pad);

    fail_unless (gst_caps_features_contains (gst_caps_get_features (caps, 0), CUDA_FEATURE) == (i < 2 && !__i__),
        "after %s", names[i]);
    gst_caps_unref (caps);
    gst_object_unref (pad);
  }
  free_harness (h);
}
GST_END_TEST

/* Frames from a context other than the element's: the element switches to that context. */
GST_START_TEST (other_context)
{
  GstHarness *from = gst_harness_new_parse (UPLOAD "capsfilter caps=\"" GPU "\"");
  GstHarness *h = parse_harness (MEDIAN "name=f ! " DOWNLOAD TO_HOST);
  Expect e = EXPECT (3);
  GstVideoInfo info;

  set_caps (from, video_caps ("NV12", 64, 32, NULL), &info);
  for (guint i = 0; i < 4; i++) {
    GstBuffer *in = random_frame (&info, i, 0), *out = push_pull (from, gst_buffer_ref (in));

    if (i == 0)
      gst_harness_set_src_caps (h, gst_pad_get_current_caps (from->sinkpad));
    out = push_pull (h, out);
    assert_filtered (&info, out, &in, 1, &e);
    gst_buffer_unref (out);
    gst_buffer_unref (in);
  }
  fail_unless_equals_uint64 (stat_of (child_of (h, "f"), "frames-gpu"), 4);
  free_harness (h);
  free_harness (from);
}
GST_END_TEST

/* An identity hands the buffer on if both pads have the same memory, and copies it otherwise.
 * Switched to a filter and back, it works as before. */
GST_START_TEST (identity_passes)
{
  static const gchar *const convolve[] = { "cudaconvolve" };
  const gboolean passes_through = __i__ < 2;
  GstElement *f;
  Pair pair;

  open_pair_around (&pair, around[__i__].head, convolve, 1, "", around[__i__].tail, "NV12", 66, 34);
  for (guint i = 0; i < 9; i++) {
    const gboolean filtered = i >= 3 && i < 6;

    set_both (&pair, "e0", filtered ? "kernel" : "preset", filtered ? "1 1" : "identity");
    push (&pair, 1);
    expect_same (&pair, 1, "identity");
  }
  f = child_of (pair.gpu, "e0");
  fail_unless_equals_uint64 (stat_of (f, "frames"), 9);
  fail_unless_equals_uint64 (stat_of (f, "frames-passed"), passes_through ? 6 : 0);
  fail_unless_equals_uint64 (stat_of (f, "frames-gpu"), passes_through ? 3 : 9);
  close_pair (&pair);
}
GST_END_TEST

/* ---- regions --------------------------------------------------------------- */

/* Attaches a detector's regions, which move from frame to frame. */
static GstPadProbeReturn
detect (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer = gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));
  guint *n = data;

  (void) pad;
  if (*n % 3 < 2) {
    gst_buffer_add_video_region_of_interest_meta (buffer, "face", 5 + 7 * *n, 3, 13, 9);
    gst_buffer_add_video_region_of_interest_meta (buffer, "car", 30, 20 + *n, 11, 1);
  }
  ++*n;
  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  return GST_PAD_PROBE_OK;
}

/* Frames of which a part is filtered, by each source of regions: with few shapes and with a map of many strengths. */
static void
compare_regions (gint memory, const gchar *const *filters, guint n, const gchar *format, const gchar *mask)
{
  guint seen[2] = { 0, 0 };
  Pair pair;

  open_pair_around (&pair, around[memory].head, filters, n, "", around[memory].tail, format, 98, 66);
  add_probe (child_of (pair.gpu, "e0"), "sink", detect, &seen[0]);
  add_probe (child_of (pair.cpu, "e0"), "sink", detect, &seen[1]);
  for (guint i = 0; i < n; i++) {
    const gchar name[] = { 'e', (gchar) ('0' + i), '\0' };

    set_both (&pair, name, "roi-meta", "true");
    set_both (&pair, name, "roi", "3,5,21,9; 0.7,0.7,0.3,0.3; 14,5,3,40; -5,-5,9,9");
  }
  for (guint i = 0; i < 9; i++) {
    if (i == 3)
      set_both (&pair, "e0", "roi-shape", "ellipse");
    if (i == 5)
      set_both (&pair, "e0", "mask", mask);
    if (i == 7)
      set_both (&pair, "e0", "mask-polygons", "0.1,0.2 0.4,0.2 0.45,0.61; 0.5,0.5 0.9,0.5 0.5,0.9 0.9,0.9");
    if (i == 8)
      set_both (&pair, "e0", "roi-invert", "true");
    push (&pair, 1);
    expect_same (&pair, 1, format);
  }
  expect_on_gpu (&pair, n, 9);
  fail_unless_equals_int (seen[0], 9);
  fail_unless_equals_int (seen[1], 9);
  close_pair (&pair);
}

GST_START_TEST (regions)
{
  static const gchar *const filters[] = { "cudamedian kernel-size=5", "cudaconvolve preset=gauss kernel-size=9",
    "cudairfilter sigma=4", "cudasegment", "cudaconvolve preset=privacy blocks=4",
    "cudamedian kernel-size=3 temporal-depth=3", CF_FILTERS (ELEMENT) };
  static const gchar *const formats[] = { "NV12", "P010_10LE", "RGBA", "Y42B", "YUY2" };
  /* A ramp. Where the build reads no pictures, both backends refuse it alike. */
  gchar *mask = temporary_file ("P2 4 2 255 0 85 170 255 255 170 85 0\n");

  for (gint memory = 0; memory < (gint) G_N_ELEMENTS (around); memory++) {
    compare_regions (memory, &filters[__i__], 1, formats[memory], mask);
    compare_regions (memory, &filters[__i__], 1, formats[memory + 1], mask);
  }
  compare_regions (1, &filters[__i__ % 3], 4, "NV12", mask);
  free_value (mask, TRUE);
}
GST_END_TEST

/* ---- elements in a row --------------------------------------------------- */

GST_START_TEST (every_length)
{
  static const struct {
    guint n;
    const gchar *format;
    gint width, height;
  } rows[] = { { 1, "NV12", 640, 480 }, { 2, "RGBA", 322, 122 }, { 4, "NV12", 640, 480 }, { 4, "P010_10LE", 130, 66 } };

  for (gsize r = 0; r < G_N_ELEMENTS (rows); r++) {
    Pair pair;

    open_pair_around (&pair, UPLOAD, four, rows[r].n, between[__i__], DOWNLOAD, rows[r].format, rows[r].width,
        rows[r].height);
    for (gint i = 0; i < 2; i++) { /* several in flight, if there is a queue */
      push (&pair, 3);
      expect_same (&pair, 3, between[__i__]);
    }
    expect_on_gpu (&pair, rows[r].n, 6);
    fail_unless_equals_int (pair.unfinished, rows[r].n > 1 ? 6 : 0);
    /* Frames without a wait are timed as well: some of them, once they are finished. */
    fail_unless (stat_of (child_of (pair.gpu, "e0"), "kernel-max") > 0);
    close_pair (&pair);
  }
}
GST_END_TEST

/* Input in memory that the first element proposed is held, too. Frames in other memory are copied
 * first and leave finished. */
GST_START_TEST (from_system_memory)
{
  Pair pair;

  open_pair (&pair, "", four, 4, between[0]);
  for (gint i = 0; i < 8; i++) {
    GstBuffer *in = random_frame (&pair.info, (guint) i, 0);
    GstBuffer *pinned = gst_harness_create_buffer (pair.gpu, pair.info.size);
    GstMapInfo map;

    gst_buffer_map (in, &map, GST_MAP_READ);
    gst_buffer_fill (pinned, 0, map.data, map.size);
    gst_buffer_unmap (in, &map);
    gst_harness_push (pair.gpu, gst_buffer_ref (i % 3 ? pinned : in));
    gst_harness_push (pair.cpu, in);
    expect_same (&pair, 1, "from system memory");
    gst_buffer_unref (pinned);
  }
  expect_on_gpu (&pair, 4, 8);
  fail_unless_equals_int (pair.unfinished, 5);
  close_pair (&pair);
}
GST_END_TEST

/* Each element has its own output thread. */
GST_START_TEST (several_in_flight)
{
  static const gchar *const filters[] = { SLOW " frames-in-flight=3", "cudaconvolve frames-in-flight=2",
    "cudamedian temporal-depth=3 frames-in-flight=4", "cudairfilter sigma=4 frames-in-flight=8" };
  Pair pair;

  open_pair (&pair, __i__ < 2 ? UPLOAD : "", filters, 4, between[__i__ % 2 * 2]);
  push (&pair, 24);
  expect_same (&pair, 24, "several in flight");
  expect_on_gpu (&pair, 4, 24);
  close_pair (&pair);
}
GST_END_TEST

/* Frames that wait for later ones stay in CUDA memory. */
GST_START_TEST (center)
{
  static const gchar *const filters[] = { "cudaconvolve", "cudamedian temporal-depth=5 temporal-center=true",
    "cudamedian temporal-depth=3 temporal-center=true threshold=20 apply-to=luma frames-in-flight=4" };
  Pair pair;

  open_pair (&pair, __i__ < 2 ? UPLOAD : "", filters, 3, between[__i__ % 2 * 2]);
  push (&pair, 12);
  expect_same (&pair, 9, "with frames to come");
  fail_unless (gst_harness_push_event (pair.gpu, gst_event_new_eos ()));
  fail_unless (gst_harness_push_event (pair.cpu, gst_event_new_eos ()));
  expect_same (&pair, 3, "the last ones");
  expect_on_gpu (&pair, 3, 12);
  close_pair (&pair);
}
GST_END_TEST

/* With an element downstream that needs finished frames, all frames leave finished. */
GST_START_TEST (foreign_elements)
{
  static const gchar *const links[] = { "cudadownload ! capsfilter caps=video/x-raw ! ",
    "tee name=t t. ! queue ! fakesink async=false t. ! ", "tee name=t t. ! cudadownload ! fakesink async=false t. ! " };
  Pair pair;

  open_pair (&pair, UPLOAD, four, 2, links[__i__]);
  for (gint i = 0; i < 4; i++) {
    push (&pair, 1);
    expect_same (&pair, 1, links[__i__]);
  }
  expect_on_gpu (&pair, 2, 4);
  fail_unless_equals_int (pair.unfinished, 0);
  close_pair (&pair);
}
GST_END_TEST

/* Both branches of a tee have elements of this plugin: frames leave unfinished. */
GST_START_TEST (two_branches)
{
  Pair pair;

  open_pair (&pair, UPLOAD, four, 2,
      "tee name=t t. ! queue ! cudaconvolve name=b" ON_GPU "! " GPU " ! fakesink async=false t. ! queue ! ");
  push (&pair, 12);
  expect_same (&pair, 12, "two branches");
  fail_unless_equals_int (pair.unfinished, 12);
  close_pair (&pair);
}
GST_END_TEST

/* ---- reading unfinished frames ---------------------------------------- */

static GstPadProbeReturn
read_frame (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info), *copy;
  GstCaps *caps = gst_pad_get_current_caps (pad);
  GstVideoFrame from, to;
  GstVideoInfo v;

  gst_video_info_from_caps (&v, caps);
  gst_caps_unref (caps);
  fail_unless (gst_video_frame_map (&from, &v, buffer, GST_MAP_READ));
  gst_video_info_set_format (&v, v.finfo->format, (guint) v.width, (guint) v.height);
  copy = gst_buffer_new_allocate (NULL, v.size, NULL);
  fail_unless (gst_video_frame_map (&to, &v, copy, GST_MAP_WRITE));
  gst_video_frame_copy (&to, &from);
  gst_video_frame_unmap (&from);
  gst_video_frame_unmap (&to);
  g_queue_push_tail (data, copy);
  return GST_PAD_PROBE_OK;
}

GST_START_TEST (read_by_a_probe)
{
  GQueue seen = G_QUEUE_INIT, right = G_QUEUE_INIT;
  Pair pair;

  open_pair_around (&pair, UPLOAD, four, 2, between[0], DOWNLOAD, "NV12", 1920, 1080);
  add_probe (child_of (pair.gpu, "e0"), "src", read_frame, &seen);
  add_probe (child_of (pair.cpu, "e0"), "src", read_frame, &right);
  for (gint i = 0; i < 4; i++) {
    GstBuffer *a, *b;

    push (&pair, 1);
    expect_same (&pair, 1, "read by a probe");
    a = g_queue_pop_head (&seen);
    b = g_queue_pop_head (&right);
    assert_same (&pair.info, a, b);
    gst_buffer_unref (a);
    gst_buffer_unref (b);
  }
  fail_unless_equals_int (pair.unfinished, 4);
  close_pair (&pair);
}
GST_END_TEST

typedef enum { COPY, DEEP_COPY, DROP, N_KINDS } Kind;

/* Replaces every second frame by a copy with the same memory or with other memory, or drops it. */
static GstPadProbeReturn
replace (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  gint *state = data; /* the kind, and the number of frames so far */

  (void) pad;
  if (state[1]++ % 2)
    return GST_PAD_PROBE_OK;
  if (state[0] == DROP)
    return GST_PAD_PROBE_DROP;
  GST_PAD_PROBE_INFO_DATA (info) = state[0] == COPY ? gst_buffer_copy (buffer) : gst_buffer_copy_deep (buffer);
  gst_buffer_unref (buffer);
  return GST_PAD_PROBE_OK;
}

GST_START_TEST (copied_and_dropped)
{
  const gint kind = __i__ / 2;
  gint on_gpu[2] = { kind, 0 }, on_cpu[2] = { kind, 0 };
  Pair pair;

  open_pair (&pair, UPLOAD, four, 2, between[__i__ % 2 * 2]);
  add_probe (child_of (pair.gpu, "e0"), "src", replace, on_gpu);
  add_probe (child_of (pair.cpu, "e0"), "src", replace, on_cpu);
  push (&pair, 20);
  expect_same (&pair, kind == DROP ? 10 : 20, "copied and dropped");
  close_pair (&pair);
}
GST_END_TEST

/* ---- changes ---------------------------------------------------------- */

GST_START_TEST (live_changes)
{
  static const struct {
    const gchar *name, *property, *value;
  } changes[] = { { "e0", "kernel-size", "3" }, { "e1", "kernel-size", "31" }, { "e2", "sigma", "40" },
    { "e0", "kernel-size", "15" }, { "e2", "sigma", "0.3" }, { "e3", "cell-size", "4" },
    { "e0", "temporal-depth", "3" }, { "e1", "preset", "identity" }, { "e3", "region-meta", "true" },
    { "e1", "preset", "sobel" }, { "e3", "region-meta", "false" }, { "e0", "kernel-size", "7" } };
  Pair pair;

  open_pair (&pair, UPLOAD, four, 4, between[2 * __i__]);
  for (gsize i = 0; i < G_N_ELEMENTS (changes); i++) {
    push (&pair, 1);
    expect_same (&pair, 1, changes[i].property);
    set_both (&pair, changes[i].name, changes[i].property, changes[i].value);
  }
  push (&pair, 3);
  expect_same (&pair, 3, "after all changes");
  close_pair (&pair);
}
GST_END_TEST

GST_START_TEST (flush_and_eos)
{
  static const gchar *const filters[] = { SLOW, "cudamedian temporal-depth=3", "cudasegment" };
  Pair pair;

  open_pair (&pair, UPLOAD, filters, 3, between[2 * __i__]);
  for (gint round = 0; round < 3; round++) {
    GstHarness *const both[] = { pair.gpu, pair.cpu };

    push (&pair, 4);
    for (gsize k = 0; k < G_N_ELEMENTS (both); k++) {
      GstBuffer *out;

      flush_harness (both[k], NULL);
      while ((out = gst_harness_try_pull (both[k])))
        gst_buffer_unref (out);
    }
    push (&pair, 4);
    expect_same (&pair, 4, "after a flush");
  }
  push (&pair, 1);
  fail_unless (gst_harness_push_event (pair.gpu, gst_event_new_eos ()));
  expect_same (&pair, 1, "before the end");
  close_pair (&pair);
}
GST_END_TEST

/* New caps in mid-stream: other plans and pools while frames are in flight. */
GST_START_TEST (new_caps)
{
  Pair pair;

  open_pair (&pair, UPLOAD, four, 4, between[2]);
  for (gint i = 0; i < 4; i++) {
    GstVideoInfo before = pair.info, now;

    push (&pair, 3);
    set_both_caps (&pair, "NV12", 640 - 32 * i, 480 + 16 * i);
    push (&pair, 2);
    now = pair.info;
    pair.info = before;
    expect_same (&pair, 3, "before new caps");
    pair.info = now;
    expect_same (&pair, 2, "after new caps");
  }
  close_pair (&pair);
}
GST_END_TEST

/* ---- relinking and several chains ------------------------------------- */

/* The second element is unlinked while an unfinished frame waits before it. The frame goes to the
 * download, and is finished by then. */
GST_START_TEST (relinked)
{
  Gate gate = { .passed = 0 };
  GstElement *e1;
  GstPad *from, *to, *in, *out;
  gulong id;
  Pair pair;

  open_pair_around (&pair, UPLOAD, four, 2, "queue name=q ! ", DOWNLOAD, "NV12", 1920, 1080);
  push (&pair, 1);
  expect_same (&pair, 1, "before");
  e1 = child_of (pair.gpu, "e1");
  from = gst_element_get_static_pad (child_of (pair.gpu, "q"), "src");
  in = gst_element_get_static_pad (e1, "sink");
  out = gst_element_get_static_pad (e1, "src");
  to = gst_pad_get_peer (out);
  id = gst_pad_add_probe (from, GST_PAD_PROBE_TYPE_BLOCK_DOWNSTREAM, count_frame, &gate, NULL);
  push (&pair, 1);
  gst_buffer_unref (gst_harness_pull (pair.cpu)); /* filtered twice there */
  fail_unless_equals_int (wait_for (&gate, &gate.passed, 1, WAIT_US), 1);
  gst_pad_unlink (from, in);
  gst_pad_unlink (out, to);
  fail_unless_equals_int (gst_pad_link (from, to), GST_PAD_LINK_OK);
  gst_pad_remove_probe (from, id);
  set_one (pair.cpu, "e1", "preset", "identity");
  for (gint i = 0; i < 3; i++) {
    fail_unless_equals_int (gst_harness_push (pair.cpu, random_frame (&pair.info, pair.frames - 1, 0)), GST_FLOW_OK);
    expect_same (&pair, 1, "after the second element");
    fail_unless_equals_int (gst_harness_push (pair.gpu, random_frame (&pair.info, pair.frames++, 0)), GST_FLOW_OK);
  }
  fail_unless_equals_int (pair.unfinished, 2);
  gst_object_unref (from);
  gst_object_unref (to);
  gst_object_unref (in);
  gst_object_unref (out);
  close_pair (&pair);
}
GST_END_TEST

/* Returns a part of a chain, on a GPU context; its downstream neighbour accepts unfinished frames. */
static GstHarness *
open_part (const gchar *text, GstContext *context)
{
  GstElement *bin = gst_parse_bin_from_description (text, TRUE, NULL);
  GstHarness *h;

  if (context)
    gst_element_set_context (bin, context);
  h = new_harness (bin);
  gst_harness_add_propose_allocation_meta (h, g_type_from_name ("GstCfChainAPI"), NULL);
  return h;
}

static GstContext *
context_of (GstHarness *h)
{
  GstQuery *query = gst_query_new_context ("gst.cuda.context");
  GstContext *context;

  fail_unless (gst_pad_peer_query (h->sinkpad, query));
  gst_query_parse_context (query, &context);
  gst_context_ref (context);
  gst_query_unref (query);
  return context;
}

/* Frames of two chains alternate, and later frames overtake earlier ones, through two more
 * elements, whose input changes from stream to stream. */
GST_START_TEST (two_chains)
{
  GstHarness *cpu = parse_harness (SLOW " backend=cpu ! cudaconvolve preset=unsharp backend=cpu"
                                        " ! cudamedian temporal-depth=3 backend=cpu");
  const gchar *begin = "cudaupload ! " GPU " ! " SLOW ON_GPU "! capsfilter caps=\"" GPU "\"";
  GstHarness *h[2], *end, *first;
  GstContext *context;
  GstVideoInfo info;

  /* The meta API is registered when the first element queries it. */
  first = parse_harness (MEDIAN "! " GPU " ! " MEDIAN);
  set_caps (first, video_caps ("NV12", 640, 480, NULL), &info);
  gst_buffer_unref (push_pull (first, random_frame (&info, 0, 0)));
  h[0] = open_part (begin, NULL);
  context = context_of (h[0]);
  h[1] = open_part (begin, context);
  end = open_part ("cudaconvolve preset=unsharp" ON_GPU "! " GPU " ! cudamedian temporal-depth=3" ON_GPU
                   "! capsfilter caps=video/x-raw",
      context);
  for (gint i = 0; i < 2; i++)
    set_caps (h[i], video_caps ("NV12", 640, 480, NULL), &info);
  set_caps (cpu, video_caps ("NV12", 640, 480, NULL), &info);
  for (guint i = 0; i < 24; i += 4) {
    GstBuffer *in_flight[4];

    for (guint k = 0; k < 4; k++) {
      in_flight[k] = push_pull (h[k % 2], random_frame (&info, i + k, 0));
      fail_unless (gst_buffer_get_meta (in_flight[k], g_type_from_name ("GstCfChainAPI")) != NULL,
          "the frame left finished");
    }
    if (i == 0)
      gst_harness_set_src_caps (end, gst_pad_get_current_caps (h[0]->sinkpad));
    for (guint k = 0; k < 4; k++) {
      const guint which = k ^ (i / 4 % 4);
      GstBuffer *out = push_pull (end, in_flight[which]);
      GstBuffer *right = push_pull (cpu, random_frame (&info, i + which, 0));

      assert_same (&info, out, right);
      gst_buffer_unref (out);
      gst_buffer_unref (right);
    }
    /* A frame that no element consumes. */
    gst_buffer_unref (push_pull (h[1], random_frame (&info, i, 0)));
  }
  gst_context_unref (context);
  free_harness (end);
  free_harness (h[0]);
  free_harness (h[1]);
  free_harness (first);
  free_harness (cpu);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("cudamemory");

  tcase_add_loop_test (tests, every_format, 0, N_FORMATS);
  tcase_add_loop_test (tests, segmentation, 0, 4);
  tcase_add_loop_test (tests, memory_in_a_row, 0, 2);
  tcase_add_test (tests, other_context);
  tcase_add_loop_test (tests, identity_passes, 0, G_N_ELEMENTS (around));
  tcase_add_loop_test (tests, regions, 0, 6 + CF_N_FILTERS);
  tcase_add_loop_test (tests, every_length, 0, G_N_ELEMENTS (between));
  tcase_add_test (tests, from_system_memory);
  tcase_add_loop_test (tests, several_in_flight, 0, 4);
  tcase_add_loop_test (tests, center, 0, 4);
  tcase_add_loop_test (tests, foreign_elements, 0, 3);
  tcase_add_test (tests, two_branches);
  tcase_add_test (tests, read_by_a_probe);
  tcase_add_loop_test (tests, copied_and_dropped, 0, 2 * N_KINDS);
  tcase_add_loop_test (tests, live_changes, 0, 2);
  tcase_add_loop_test (tests, flush_and_eos, 0, 2);
  tcase_add_test (tests, new_caps);
  tcase_add_test (tests, relinked);
  tcase_add_test (tests, two_chains);
  return run_suite (argc, argv, "cudamemory", tests, TRUE);
}
