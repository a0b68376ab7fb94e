/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * chain.c: elements in a row, with frames in CUDA memory that leave an element before the GPU has
 * finished them. Whatever elements are between, whatever changes or reads the frames: the bytes
 * equal those of elements on the CPU. */
#include "common.h"

#include <stdlib.h>

#define GPU "video/x-raw(" CUDA_FEATURE ")"
#define ON_GPU " backend=cuda on-gpu-error=error "
#define TO_HOST GPU " ! cudadownload name=d ! capsfilter caps=video/x-raw"
#define SLOW "cudamedian kernel-size=51"
#define MEDIAN "cudamedian" ON_GPU

/* The same filters on the GPU and on the CPU. */
typedef struct {
  GstHarness *gpu, *cpu;
  GstVideoInfo info;
  guint unfinished; /* frames that left element e0 on the GPU with input that is still held */
  guint frames;
} Pair;

/* Counts frames that leave e0 unfinished: such a frame has a meta that holds the input, which belongs
 * to another element. */
static GstPadProbeReturn
count_unfinished (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GType api = g_type_from_name ("GstCfChainAPI");

  (void) pad;
  *(guint *) data += api && gst_buffer_get_meta (GST_PAD_PROBE_INFO_BUFFER (info), api) != NULL;
  return GST_PAD_PROBE_OK;
}

static void
probe (GstHarness *h, const gchar *name, GstPadProbeCallback callback, gpointer data)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (h->element), name);
  GstPad *pad = gst_element_get_static_pad (element, "src");

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, callback, data, NULL);
  gst_object_unref (pad);
  gst_object_unref (element);
}

/* Returns "FILTER backend=cpu name=e0 ! ..." or, with `between`, the same on the GPU. */
static gchar *
describe (const gchar *const *filters, guint n, const gchar *between)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s%s%s name=e%u ! ", i && between ? between : "", filters[i],
        between ? ON_GPU : " backend=cpu ", i);
  g_string_append (text, between ? TO_HOST : "identity");
  return g_string_free (text, FALSE);
}

/* Opens both pipelines. `head`: the elements before the filters on the GPU. */
static void
open_pair (Pair *pair, const gchar *head, const gchar *const *filters, guint n, const gchar *between, const gchar *caps)
{
  gchar *cpu = describe (filters, n, NULL), *tail = describe (filters, n, between);
  gchar *gpu = g_strconcat (head, tail, NULL);
  gchar **part = g_strsplit (caps, " ", 3);

  memset (pair, 0, sizeof *pair);
  pair->gpu = gst_harness_new_parse (gpu);
  pair->cpu = gst_harness_new_parse (cpu);
  gst_harness_set_sink_caps_str (pair->gpu, "video/x-raw");
  set_caps (pair->gpu, video_caps (part[0], atoi (part[1]), atoi (part[2]), NULL), &pair->info);
  set_caps (pair->cpu, video_caps (part[0], atoi (part[1]), atoi (part[2]), NULL), &pair->info);
  probe (pair->gpu, "e0", count_unfinished, &pair->unfinished);
  g_strfreev (part);
  g_free (gpu);
  g_free (tail);
  g_free (cpu);
}

static void
close_pair (Pair *pair)
{
  gst_harness_teardown (pair->gpu);
  gst_harness_teardown (pair->cpu);
}

static void
expect_same (Pair *pair, const gchar *what)
{
  GstBuffer *out = gst_harness_pull (pair->gpu), *right = gst_harness_pull (pair->cpu);

  fail_unless (out && right, "%s: no frame came out", what);
  assert_same (&pair->info, out, right);
  gst_buffer_unref (out);
  gst_buffer_unref (right);
}

static void
push (Pair *pair)
{
  GstBuffer *in = random_frame (&pair->info, pair->frames++, 0);

  fail_unless_equals_int (gst_harness_push (pair->gpu, gst_buffer_ref (in)), GST_FLOW_OK);
  fail_unless_equals_int (gst_harness_push (pair->cpu, in), GST_FLOW_OK);
}

static void
set_one (GstHarness *h, const gchar *name, const gchar *property, const gchar *value)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (h->element), name);

  gst_util_set_object_arg (G_OBJECT (element), property, value);
  gst_object_unref (element);
}

static void
set_both (Pair *pair, const gchar *name, const gchar *property, const gchar *value)
{
  set_one (pair->gpu, name, property, value);
  set_one (pair->cpu, name, property, value);
}

static void
expect_on_gpu (Pair *pair, guint n, guint64 frames)
{
  for (guint i = 0; i < n; i++) {
    gchar *name = g_strdup_printf ("e%u", i);
    GstElement *element = gst_bin_get_by_name (GST_BIN (pair->gpu->element), name);

    fail_unless_equals_uint64 (stat_of (element, "frames-gpu"), frames);
    fail_unless_equals_uint64 (stat_of (element, "frames"), frames);
    gst_object_unref (element);
    g_free (name);
  }
}

/* Frames without a wait are timed as well: some of them, once they are finished. */
static void
expect_timed (Pair *pair)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (pair->gpu->element), "e0");

  fail_unless (stat_of (element, "kernel-max") > 0);
  gst_object_unref (element);
}

static const gchar *const four[] = { SLOW, "cudaconvolve preset=unsharp kernel-size=9", "cudairfilter sigma=4",
  "cudasegment" };
static const gchar *const between[] = { "", GPU " ! ", "queue ! ", "identity ! ", "tee ! ",
  "tee ! queue ! identity ! queue ! " };

#define UPLOAD "cudaupload ! " GPU " ! "

GST_START_TEST (every_length)
{
  static const struct {
    guint n;
    const gchar *caps;
  } rows[] = { { 1, "NV12 640 480" }, { 2, "RGBA 322 122" }, { 4, "NV12 640 480" }, { 4, "P010_10LE 130 66" } };

  for (gsize r = 0; r < G_N_ELEMENTS (rows); r++) {
    Pair pair;

    open_pair (&pair, UPLOAD, four, rows[r].n, between[__i__], rows[r].caps);
    for (gint i = 0; i < 6; i++) { /* several in flight, if there is a queue */
      push (&pair);
      if (i % 3 == 2)
        for (gint k = 0; k < 3; k++)
          expect_same (&pair, between[__i__]);
    }
    expect_on_gpu (&pair, rows[r].n, 6);
    fail_unless_equals_int (pair.unfinished, rows[r].n > 1 ? 6 : 0);
    expect_timed (&pair);
    close_pair (&pair);
  }
}
GST_END_TEST

/* Input in memory that the first element proposed is held, too. Frames in other memory are copied
 * first and leave finished. */
GST_START_TEST (from_system_memory)
{
  Pair pair;

  open_pair (&pair, "", four, 4, between[0], "NV12 640 480");
  for (gint i = 0; i < 8; i++) {
    GstBuffer *in = random_frame (&pair.info, (guint) i, 0);
    GstBuffer *pinned = gst_harness_create_buffer (pair.gpu, pair.info.size);
    GstMapInfo map;

    gst_buffer_map (in, &map, GST_MAP_READ);
    gst_buffer_fill (pinned, 0, map.data, map.size);
    gst_buffer_unmap (in, &map);
    gst_harness_push (pair.cpu, gst_buffer_ref (in));
    gst_harness_push (pair.gpu, gst_buffer_ref (i % 3 ? pinned : in));
    expect_same (&pair, "from system memory");
    gst_buffer_unref (in);
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

  open_pair (&pair, __i__ < 2 ? UPLOAD : "", filters, 4, between[__i__ % 2 * 2], "NV12 640 480");
  for (gint i = 0; i < 24; i++)
    push (&pair);
  for (gint i = 0; i < 24; i++)
    expect_same (&pair, "several in flight");
  expect_on_gpu (&pair, 4, 24);
  close_pair (&pair);
}
GST_END_TEST

/* With an element downstream that needs finished frames, all frames leave finished. */
GST_START_TEST (foreign_elements)
{
  static const gchar *const links[] = { "cudadownload ! capsfilter caps=video/x-raw ! ",
    "tee name=t t. ! queue ! fakesink async=false t. ! ", "tee name=t t. ! cudadownload ! fakesink async=false t. ! " };
  Pair pair;

  open_pair (&pair, UPLOAD, four, 2, links[__i__], "NV12 640 480");
  for (gint i = 0; i < 4; i++) {
    push (&pair);
    expect_same (&pair, links[__i__]);
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

  open_pair (&pair, UPLOAD, four, 2, "tee name=t t. ! queue ! cudaconvolve name=b" ON_GPU "! " GPU
      " ! fakesink async=false t. ! queue ! ", "NV12 640 480");
  for (gint i = 0; i < 12; i++)
    push (&pair);
  for (gint i = 0; i < 12; i++)
    expect_same (&pair, "two branches");
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

  open_pair (&pair, UPLOAD, four, 2, between[0], "NV12 1920 1080");
  probe (pair.gpu, "e0", read_frame, &seen);
  probe (pair.cpu, "e0", read_frame, &right);
  for (gint i = 0; i < 4; i++) {
    GstBuffer *a, *b;

    push (&pair);
    expect_same (&pair, "read by a probe");
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

  open_pair (&pair, UPLOAD, four, 2, between[__i__ % 2 * 2], "NV12 640 480");
  probe (pair.gpu, "e0", replace, on_gpu);
  probe (pair.cpu, "e0", replace, on_cpu);
  for (gint i = 0; i < 20; i++)
    push (&pair);
  for (gint i = 0; i < (kind == DROP ? 10 : 20); i++)
    expect_same (&pair, "copied and dropped");
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
    { "e0", "temporal-depth", "3" },
    { "e1", "preset", "identity" }, { "e3", "region-meta", "true" }, { "e1", "preset", "sobel" },
    { "e3", "region-meta", "false" }, { "e0", "kernel-size", "7" } };
  Pair pair;

  open_pair (&pair, UPLOAD, four, 4, between[2 * __i__], "NV12 640 480");
  for (gsize i = 0; i < G_N_ELEMENTS (changes); i++) {
    push (&pair);
    expect_same (&pair, changes[i].property);
    set_both (&pair, changes[i].name, changes[i].property, changes[i].value);
  }
  for (gint i = 0; i < 3; i++)
    push (&pair);
  for (gint i = 0; i < 3; i++)
    expect_same (&pair, "after all changes");
  close_pair (&pair);
}
GST_END_TEST

GST_START_TEST (flush_and_eos)
{
  static const gchar *const filters[] = { SLOW, "cudamedian temporal-depth=3", "cudasegment" };
  Pair pair;

  open_pair (&pair, UPLOAD, filters, 3, between[2 * __i__], "NV12 640 480");
  for (gint round = 0; round < 3; round++) {
    GstHarness *const both[] = { pair.gpu, pair.cpu };

    for (gint i = 0; i < 4; i++)
      push (&pair);
    for (gsize k = 0; k < G_N_ELEMENTS (both); k++) {
      GstSegment segment;
      GstBuffer *out;

      gst_segment_init (&segment, GST_FORMAT_TIME);
      fail_unless (gst_harness_push_event (both[k], gst_event_new_flush_start ()));
      fail_unless (gst_harness_push_event (both[k], gst_event_new_flush_stop (TRUE)));
      fail_unless (gst_harness_push_event (both[k], gst_event_new_segment (&segment)));
      while ((out = gst_harness_try_pull (both[k])))
        gst_buffer_unref (out);
    }
    for (gint i = 0; i < 4; i++)
      push (&pair);
    for (gint i = 0; i < 4; i++)
      expect_same (&pair, "after a flush");
  }
  push (&pair);
  fail_unless (gst_harness_push_event (pair.gpu, gst_event_new_eos ()));
  expect_same (&pair, "before the end");
  close_pair (&pair);
}
GST_END_TEST

/* New caps in mid-stream: other plans and pools while frames are in flight. */
GST_START_TEST (new_caps)
{
  Pair pair;

  open_pair (&pair, UPLOAD, four, 4, between[2], "NV12 640 480");
  for (gint i = 0; i < 4; i++) {
    GstHarness *const both[] = { pair.gpu, pair.cpu };
    GstVideoInfo before = pair.info;

    for (gint k = 0; k < 3; k++)
      push (&pair);
    for (gsize k = 0; k < G_N_ELEMENTS (both); k++)
      set_caps (both[k], video_caps ("NV12", 640 - 32 * i, 480 + 16 * i, NULL), &pair.info);
    for (gint k = 0; k < 2; k++)
      push (&pair);
    for (gint k = 0; k < 5; k++) {
      GstVideoInfo now = pair.info;

      pair.info = k < 3 ? before : now;
      expect_same (&pair, "new caps");
      pair.info = now;
    }
  }
  close_pair (&pair);
}
GST_END_TEST

/* ---- relinking and several chains ------------------------------------- */

typedef struct {
  GMutex lock;
  GCond changed;
  gboolean blocked;
} Block;

static GstPadProbeReturn
block (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Block *b = data;

  (void) pad;
  (void) info;
  g_mutex_lock (&b->lock);
  b->blocked = TRUE;
  g_cond_signal (&b->changed);
  g_mutex_unlock (&b->lock);
  return GST_PAD_PROBE_OK;
}

/* The second element is unlinked while an unfinished frame waits before it. The frame goes to the
 * download, and is finished by then. */
GST_START_TEST (relinked)
{
  Block b = { .blocked = FALSE };
  GstElement *q, *e1;
  GstPad *from, *to, *in, *out;
  gulong id;
  Pair pair;

  open_pair (&pair, UPLOAD, four, 2, "queue name=q ! ", "NV12 1920 1080");
  push (&pair);
  expect_same (&pair, "before");
  q = gst_bin_get_by_name (GST_BIN (pair.gpu->element), "q");
  e1 = gst_bin_get_by_name (GST_BIN (pair.gpu->element), "e1");
  from = gst_element_get_static_pad (q, "src");
  in = gst_element_get_static_pad (e1, "sink");
  out = gst_element_get_static_pad (e1, "src");
  to = gst_pad_get_peer (out);
  id = gst_pad_add_probe (from, GST_PAD_PROBE_TYPE_BLOCK_DOWNSTREAM, block, &b, NULL);
  push (&pair);
  gst_buffer_unref (gst_harness_pull (pair.cpu)); /* filtered twice there */
  g_mutex_lock (&b.lock);
  while (!b.blocked)
    g_cond_wait (&b.changed, &b.lock);
  g_mutex_unlock (&b.lock);
  gst_pad_unlink (from, in);
  gst_pad_unlink (out, to);
  fail_unless_equals_int (gst_pad_link (from, to), GST_PAD_LINK_OK);
  gst_pad_remove_probe (from, id);
  set_one (pair.cpu, "e1", "preset", "identity");
  for (gint i = 0; i < 3; i++) {
    GstBuffer *out_buffer = gst_harness_pull (pair.gpu), *right;

    fail_unless_equals_int (gst_harness_push (pair.cpu, random_frame (&pair.info, pair.frames - 1, 0)), GST_FLOW_OK);
    right = gst_harness_pull (pair.cpu);
    assert_same (&pair.info, out_buffer, right);
    gst_buffer_unref (out_buffer);
    gst_buffer_unref (right);
    fail_unless_equals_int (gst_harness_push (pair.gpu, random_frame (&pair.info, pair.frames++, 0)), GST_FLOW_OK);
  }
  fail_unless_equals_int (pair.unfinished, 2);
  gst_object_unref (from);
  gst_object_unref (to);
  gst_object_unref (in);
  gst_object_unref (out);
  gst_object_unref (q);
  gst_object_unref (e1);
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
  GstHarness *cpu = gst_harness_new_parse (SLOW " backend=cpu ! cudaconvolve preset=unsharp backend=cpu"
      " ! cudamedian temporal-depth=3 backend=cpu");
  const gchar *begin = "cudaupload ! " GPU " ! " SLOW ON_GPU "! capsfilter caps=\"" GPU "\"";
  GstHarness *h[2], *end, *first;
  GstContext *context;
  GstVideoInfo info;

  /* The meta API is registered when the first element queries it. */
  first = gst_harness_new_parse (MEDIAN "! " GPU " ! " MEDIAN);
  set_caps (first, video_caps ("NV12", 640, 480, NULL), &info);
  gst_buffer_unref (gst_harness_push_and_pull (first, random_frame (&info, 0, 0)));
  h[0] = open_part (begin, NULL);
  context = context_of (h[0]);
  h[1] = open_part (begin, context);
  end = open_part ("cudaconvolve preset=unsharp" ON_GPU "! " GPU " ! cudamedian temporal-depth=3" ON_GPU
      "! capsfilter caps=video/x-raw", context);
  for (gint i = 0; i < 2; i++)
    set_caps (h[i], video_caps ("NV12", 640, 480, NULL), &info);
  set_caps (cpu, video_caps ("NV12", 640, 480, NULL), &info);
  for (guint i = 0; i < 24; i += 4) {
    GstBuffer *in_flight[4];

    for (guint k = 0; k < 4; k++) {
      in_flight[k] = gst_harness_push_and_pull (h[k % 2], random_frame (&info, i + k, 0));
      fail_unless (gst_buffer_get_meta (in_flight[k], g_type_from_name ("GstCfChainAPI")) != NULL,
          "the frame left finished");
    }
    if (i == 0)
      gst_harness_set_src_caps (end, gst_pad_get_current_caps (h[0]->sinkpad));
    for (guint k = 0; k < 4; k++) {
      const guint which = k ^ (i / 4 % 4);
      GstBuffer *out = gst_harness_push_and_pull (end, in_flight[which]);
      GstBuffer *right = gst_harness_push_and_pull (cpu, random_frame (&info, i + which, 0));

      assert_same (&info, out, right);
      gst_buffer_unref (out);
      gst_buffer_unref (right);
    }
    /* A frame that no element consumes. */
    gst_buffer_unref (gst_harness_push_and_pull (h[1], random_frame (&info, i, 0)));
  }
  gst_context_unref (context);
  gst_harness_teardown (end);
  gst_harness_teardown (h[0]);
  gst_harness_teardown (h[1]);
  gst_harness_teardown (first);
  gst_harness_teardown (cpu);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("chain");

  tcase_add_loop_test (tests, every_length, 0, G_N_ELEMENTS (between));
  tcase_add_test (tests, from_system_memory);
  tcase_add_loop_test (tests, several_in_flight, 0, 4);
  tcase_add_loop_test (tests, foreign_elements, 0, 3);
  tcase_add_test (tests, two_branches);
  tcase_add_test (tests, read_by_a_probe);
  tcase_add_loop_test (tests, copied_and_dropped, 0, 2 * N_KINDS);
  tcase_add_loop_test (tests, live_changes, 0, 2);
  tcase_add_loop_test (tests, flush_and_eos, 0, 2);
  tcase_add_test (tests, new_caps);
  tcase_add_test (tests, relinked);
  tcase_add_test (tests, two_chains);
  return run_suite (argc, argv, "chain", tests, TRUE);
}
