/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * buffers.c: layouts, metas, malformed buffers, and buffers that are slow. flight.c has timestamps and flags. */
#include "common.h"

/* Returns a copy of `frame` in another layout: `lead` bytes before each plane, `pad` more bytes
 * per row, described by a GstVideoMeta; one memory per plane if `split`. */
static GstBuffer *
with_layout (const GstVideoInfo *info, GstBuffer *frame, gsize lead, gint pad, gboolean split)
{
  GstBuffer *buffer = gst_buffer_new ();
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0 }, at = 0;
  gint stride[GST_VIDEO_MAX_PLANES] = { 0 };
  GstVideoFrame from, to;

  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++) {
    gint row = GST_VIDEO_INFO_PLANE_STRIDE (info, p);
    gsize size;

    stride[p] = row + pad;
    size = lead + (gsize) stride[p] * (gsize) (GST_VIDEO_INFO_COMP_HEIGHT (info, p) - 1) + (gsize) row;
    offset[p] = at + lead;
    at += size;
    gst_buffer_append_memory (buffer, gst_allocator_alloc (NULL, size, NULL));
  }
  if (!split)
    gst_buffer_replace_all_memory (buffer, gst_buffer_get_all_memory (buffer));
  gst_buffer_memset (buffer, 0, 0xa5, at);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT (info),
      GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info), GST_VIDEO_INFO_N_PLANES (info), offset, stride);
  fail_unless (gst_video_frame_map (&from, info, frame, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&to, info, buffer, GST_MAP_WRITE));
  fail_unless (gst_video_frame_copy (&to, &from));
  gst_video_frame_unmap (&to);
  gst_video_frame_unmap (&from);
  return buffer;
}

GST_START_TEST (padded_layouts)
{
  static const gchar *const formats[] = { "NV12", "I420", "RGB", "I420_10LE", "GRAY8" };
  GstHarness *h = new_harness (new_element (NULL));
  Expect e = EXPECT (3);
  gint n = 0;

  for (gsize f = 0; f < G_N_ELEMENTS (formats); f++) {
    GstVideoInfo info;

    set_caps (h, video_caps (formats[f], 18, 12, NULL), &info);
    for (gint i = 0; i < 8; i++) {
      GstBuffer *plain = random_frame (&info, (guint) i, 0);
      GstBuffer *in = with_layout (&info, plain, i & 1 ? 66 : 0, i & 2 ? 46 : 0, (i & 4) != 0);
      GstBuffer *out = push_pull (h, in);

      assert_filtered (&info, out, &plain, 1, &e);
      gst_buffer_unref (out);
      gst_buffer_unref (plain);
      n++;
    }
  }
  close_harness (h, n);
}
GST_END_TEST

GST_START_TEST (metas_are_kept)
{
  static const gchar *const tags[] = { GST_META_TAG_VIDEO_STR, NULL };
  GstHarness *h = new_harness (new_element (NULL));
  GstVideoRegionOfInterestMeta *roi;
  GstVideoCropMeta *crop;
  GstCustomMeta *custom;
  GstCaps *clock;
  GstVideoInfo info;
  GstBuffer *in, *out;
  gint answer = 0;

  gst_meta_register_custom ("cf-test-untagged", (const gchar *[]) { NULL }, NULL, NULL, NULL);
  gst_meta_register_custom ("cf-test-video", (const gchar **) tags, NULL, NULL, NULL);
  set_caps (h, video_caps ("I420", 16, 8, NULL), &info);
  in = random_frame (&info, 3, 0);
  gst_buffer_add_video_region_of_interest_meta (in, "face", 1, 2, 3, 4);
  gst_buffer_add_video_time_code_meta_full (in, 25, 1, NULL, GST_VIDEO_TIME_CODE_FLAGS_NONE, 1, 2, 3, 4, 0);
  clock = gst_caps_new_empty_simple ("timestamp/x-test");
  gst_buffer_add_reference_timestamp_meta (in, clock, 42, GST_CLOCK_TIME_NONE);
  gst_caps_unref (clock);
  custom = gst_buffer_add_custom_meta (in, "cf-test-untagged");
  gst_structure_set (gst_custom_meta_get_structure (custom), "answer", G_TYPE_INT, 42, NULL);
  gst_buffer_add_custom_meta (in, "cf-test-video");
  crop = gst_buffer_add_video_crop_meta (in);
  crop->x = 2;
  crop->y = 2;
  crop->width = 8;
  crop->height = 4;
  out = push_pull (h, in);
  roi = (GstVideoRegionOfInterestMeta *) gst_buffer_get_meta (out, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
  fail_unless (roi && roi->x == 1 && roi->y == 2 && roi->w == 3 && roi->h == 4);
  fail_unless (gst_buffer_get_video_time_code_meta (out) != NULL);
  fail_unless (gst_buffer_get_reference_timestamp_meta (out, NULL) != NULL);
  custom = gst_buffer_get_custom_meta (out, "cf-test-untagged");
  fail_unless (
      custom && gst_structure_get_int (gst_custom_meta_get_structure (custom), "answer", &answer) && answer == 42);
  fail_unless (gst_buffer_get_custom_meta (out, "cf-test-video") != NULL);
  crop = gst_buffer_get_video_crop_meta (out);
  fail_unless (crop && crop->x == 2 && crop->y == 2 && crop->width == 8 && crop->height == 4);
  gst_buffer_unref (out);
  close_harness (h, 1);
}
GST_END_TEST

/* Makes a meta describe the part of its frame that begins at (x, y) and has the size of `info`. */
static void
crop_planes (const GstVideoInfo *info, GstVideoMeta *meta, gint x, gint y)
{
  for (gint c = GST_VIDEO_INFO_N_COMPONENTS (info) - 1; c >= 0; c--) {
    guint p = GST_VIDEO_INFO_COMP_PLANE (info, c);

    if (GST_VIDEO_INFO_COMP_POFFSET (info, c) == 0) /* the plane's first component */
      meta->offset[p] += (gsize) (GST_VIDEO_FORMAT_INFO_SCALE_HEIGHT (info->finfo, c, y) * meta->stride[p] +
          GST_VIDEO_FORMAT_INFO_SCALE_WIDTH (info->finfo, c, x) * GST_VIDEO_INFO_COMP_PSTRIDE (info, c));
  }
  meta->width = (guint) info->width;
  meta->height = (guint) info->height;
}

static void
expect_region (GstBuffer *buffer, gint id, gint x, gint y, gint width, gint height)
{
  const GstVideoRegionOfInterestMeta *r = gst_buffer_get_video_region_of_interest_meta_id (buffer, id);

  fail_unless (r != NULL && r->parent_id == 3 && r->roi_type == g_quark_from_static_string ("face"));
  fail_unless (gst_structure_has_name (r->params->data, "detection"));
  fail_unless_equals_int ((gint) r->x, x);
  fail_unless_equals_int ((gint) r->y, y);
  fail_unless_equals_int ((gint) r->w, width);
  fail_unless_equals_int ((gint) r->h, height);
}

static void
add_region (GstBuffer *buffer, gint id, guint x, guint y, guint width, guint height)
{
  GstVideoRegionOfInterestMeta *r = gst_buffer_add_video_region_of_interest_meta (buffer, "face", x, y, width, height);

  r->id = id;
  r->parent_id = 3;
  gst_video_region_of_interest_meta_add_param (r, gst_structure_new_empty ("detection"));
}

/* A decoder's larger frame with a crop to the size of the caps: that part is filtered, from the whole chroma sample
 * on in which it begins, and the output has no crop meta. Regions are where they were in the picture. */
GST_START_TEST (larger_frame_is_cropped)
{
  static const struct {
    const gchar *format;
    gint x, y; /* where a crop at (7, 5) begins */
  } rows[] = { { "NV12", 6, 4 }, { "YUY2", 6, 5 }, { "UYVY", 6, 5 }, { "RGB", 7, 5 } };
  /* With `identity` frames pass without a copy, but not these. */
  GstHarness *h = new_harness (
      __i__ ? new_convolve ("preset", "identity", NULL) : new_element ("kernel-size", "1", NULL));

  for (gsize f = 0; f < G_N_ELEMENTS (rows); f++) {
    GstVideoInfo info, large;
    GstVideoCropMeta *crop;
    GstBuffer *in, *part, *out;

    set_caps (h, video_caps (rows[f].format, 32, 20, NULL), &large);
    set_caps (h, video_caps (rows[f].format, 16, 8, NULL), &info);
    in = random_frame (&large, 1, 0);
    gst_buffer_add_video_meta (in, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT (&large), 32, 20);
    part = gst_buffer_copy (in);
    crop = gst_buffer_add_video_crop_meta (in);
    crop->x = 7;
    crop->y = 5;
    crop->width = 16;
    crop->height = 8;
    add_region (in, 1, 8, 7, 3, 2);
    add_region (in, 2, 0, 2, 9, 6);
    add_region (in, 3, 1, 0, 2, 3);
    out = push_pull (h, in);
    fail_unless (gst_buffer_get_video_crop_meta (out) == NULL);
    expect_region (out, 1, 8 - rows[f].x, 7 - rows[f].y, 3, 2);
    expect_region (out, 2, 0, 0, 9 - rows[f].x, 8 - rows[f].y);
    expect_region (out, 3, 0, 0, 0, 0);
    crop_planes (&info, gst_buffer_get_video_meta (part), rows[f].x, rows[f].y);
    assert_same (&info, out, part);
    gst_buffer_unref (part);
    gst_buffer_unref (out);
  }
  close_harness (h, G_N_ELEMENTS (rows));
}
GST_END_TEST

/* Parts of an output's memory, shared and copied, also parts of parts. A first frame is its own history, and comes out
 * as it was. */
GST_START_TEST (parts_of_output_memory)
{
  GstVideoInfo info;
  GstHarness *h = new_stream (new_element ("kernel-size", "1", "temporal-depth", "3", NULL), "GRAY8", 16, 8, &info);
  GstBuffer *in = random_frame (&info, 1, 0), *right = gst_buffer_copy_deep (in), *out = push_pull (h, in);
  GstMemory *part = gst_memory_share (gst_buffer_peek_memory (out, 0), 20, -1);

  for (gint i = 0; i < 4; i++) {
    const gssize from = i & 1 ? 7 : 0, size = i & 2 ? 30 : -1;
    GstMemory *memory = gst_memory_copy (part, from, size), *shared = gst_memory_share (part, from, size);
    GstMapInfo map;

    for (gint k = 0; k < 2; k++) {
      fail_unless (gst_memory_map (k ? shared : memory, &map, GST_MAP_READ));
      fail_unless_equals_int ((gint) map.size, size < 0 ? 16 * 8 - 20 - (gint) from : (gint) size);
      fail_unless (gst_buffer_memcmp (right, (gsize) (20 + from), map.data, map.size) == 0);
      gst_memory_unmap (k ? shared : memory, &map);
    }
    gst_memory_unref (memory);
    gst_memory_unref (shared);
  }
  gst_memory_unref (part);
  gst_buffer_unref (right);
  gst_buffer_unref (out);
  close_harness (h, 1);
}
GST_END_TEST

/* ---- malformed buffers ------------------------------------------------ */

enum {
  STRIDE_TIMES_1000,
  STRIDE_BELOW_ROW,
  STRIDE_NEGATIVE,
  OFFSET_AT_END,
  OFFSET_HUGE,
  SHORT_BUFFER,
  EMPTY_BUFFER,
  OTHER_FORMAT,
  SMALLER_META,
  CROP_OUTSIDE,
  N_MALFORMED
};

static GstBuffer *
malformed (const GstVideoInfo *info, gint which)
{
  GstBuffer *plain = random_frame (info, 1, 0), *buffer = with_layout (info, plain, 0, 0, FALSE);
  GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

  gst_buffer_unref (plain);
  switch (which) {
    case STRIDE_TIMES_1000:
      meta->stride[1] *= 1000;
      break;
    case STRIDE_BELOW_ROW:
      meta->stride[0] = GST_VIDEO_INFO_WIDTH (info) - 1;
      break;
    case STRIDE_NEGATIVE:
      meta->stride[0] = -meta->stride[0];
      break;
    case OFFSET_AT_END:
      meta->offset[1] = gst_buffer_get_size (buffer);
      break;
    case OFFSET_HUGE:
      meta->offset[1] = G_MAXSIZE - 8;
      break;
    case SHORT_BUFFER:
      gst_buffer_unref (buffer);
      return gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (info) - 1, NULL);
    case EMPTY_BUFFER:
      gst_buffer_unref (buffer);
      return gst_buffer_new ();
    case OTHER_FORMAT:
      meta->format = GST_VIDEO_FORMAT_I420;
      break;
    case SMALLER_META:
      meta->height--;
      break;
    case CROP_OUTSIDE: /* and inside the memory */
      meta->width++;
      gst_buffer_append_memory (buffer, gst_allocator_alloc (NULL, 64, NULL));
      gst_buffer_replace_all_memory (buffer, gst_buffer_get_all_memory (buffer));
      gst_buffer_add_video_crop_meta (buffer);
      gst_buffer_get_video_crop_meta (buffer)->x = 2;
      gst_buffer_get_video_crop_meta (buffer)->width = (guint) GST_VIDEO_INFO_WIDTH (info);
      gst_buffer_get_video_crop_meta (buffer)->height = (guint) GST_VIDEO_INFO_HEIGHT (info);
      break;
  }
  return buffer;
}

GST_START_TEST (malformed_are_refused)
{
  GstElement *element = new_element (NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "NV12", 16, 8, &info);
  gchar *text;

  fail_unless_equals_int (gst_harness_push (h, malformed (&info, __i__)), GST_FLOW_ERROR);
  fail_unless (gst_harness_try_pull (h) == NULL);
  text = only_message (element, GST_MESSAGE_ERROR, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
  fail_unless (strlen (text) > 20);
  g_free (text);
  close_harness (h, 0);
}
GST_END_TEST

/* A pool of buffers that are too short. */
typedef GstBufferPool ShortPool;
typedef GstBufferPoolClass ShortPoolClass;

GType short_pool_get_type (void);
G_DEFINE_TYPE (ShortPool, short_pool, GST_TYPE_BUFFER_POOL)

static GstFlowReturn
alloc_short (GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params)
{
  (void) pool;
  (void) params;
  *buffer = gst_buffer_new_allocate (NULL, 1, NULL);
  return GST_FLOW_OK;
}

static void
short_pool_class_init (ShortPoolClass *klass)
{
  klass->alloc_buffer = alloc_short;
}

static void
short_pool_init (ShortPool *pool)
{
  (void) pool;
}

static GstPadProbeReturn
propose_short_pool (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  GstBufferPool *pool;

  (void) pad;
  (void) data;
  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  pool = g_object_new (short_pool_get_type (), NULL);
  gst_query_add_allocation_pool (query, pool, 1, 1, 0);
  gst_object_unref (pool);
  return GST_PAD_PROBE_HANDLED;
}

/* An output that is too short is an error, after which nothing holds the input. */
GST_START_TEST (output_is_short)
{
  GstElement *element = new_element (NULL);
  GstHarness *h = new_harness (element);
  GstVideoInfo info;
  GstMemory *memory;
  GstBuffer *in;

  gst_pad_add_probe (h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, propose_short_pool, NULL, NULL);
  set_caps (h, video_caps ("GRAY8", 16, 8, NULL), &info);
  in = random_frame (&info, 1, 0);
  memory = gst_memory_ref (gst_buffer_peek_memory (in, 0));
  fail_unless_equals_int (gst_harness_push (h, in), GST_FLOW_ERROR);
  fail_unless_equals_int (GST_MINI_OBJECT_REFCOUNT_VALUE (memory), 1);
  gst_memory_unref (memory);
  g_free (only_message (element, GST_MESSAGE_ERROR, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT));
  close_harness (h, 0);
}
GST_END_TEST

/* ---- times --------------------------------------------------------------- */

/* Memory that takes its time to be mapped. */
typedef struct {
  GstMemory memory;
  gint64 us;
  guint8 data[];
} SlowMemory;

typedef GstAllocator SlowAllocator;
typedef GstAllocatorClass SlowAllocatorClass;
GType slow_allocator_get_type (void);
G_DEFINE_TYPE (SlowAllocator, slow_allocator, GST_TYPE_ALLOCATOR)

static void
slow_free (GstAllocator *allocator, GstMemory *memory)
{
  (void) allocator;
  g_free (memory);
}

static gpointer
slow_map (GstMemory *memory, gsize size, GstMapFlags flags)
{
  SlowMemory *slow = (SlowMemory *) memory;
  const gint64 end = g_get_monotonic_time () + slow->us;

  (void) size;
  (void) flags;
  while (g_get_monotonic_time () < end)
    ;
  return slow->data;
}

static void
slow_unmap (GstMemory *memory)
{
  (void) memory;
}

static void
slow_allocator_class_init (SlowAllocatorClass *klass)
{
  klass->free = slow_free;
}

static void
slow_allocator_init (SlowAllocator *self)
{
  self->mem_type = "SlowMemory";
  self->mem_map = slow_map;
  self->mem_unmap = slow_unmap;
  GST_OBJECT_FLAG_SET (self, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

static GstBuffer *
slow_frame (GstAllocator *allocator, const GstVideoInfo *info, guint64 us)
{
  SlowMemory *slow = g_malloc0 (sizeof *slow + info->size);
  GstBuffer *buffer = gst_buffer_new ();

  gst_memory_init (&slow->memory, 0, allocator, NULL, info->size, 0, 0, info->size);
  slow->us = (gint64) us;
  gst_buffer_append_memory (buffer, &slow->memory);
  return buffer;
}

/* Five frames of a hundred take three times as long as any other, however busy the machine is. A start begins again. */
GST_START_TEST (percentiles_of_times)
{
  GstElement *element = new_element ("frames-in-flight", "1", NULL);
  GstAllocator *allocator = gst_object_ref_sink (g_object_new (slow_allocator_get_type (), NULL));
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", 96, 54, &info);
  guint64 us;

  for (guint i = 0; i < 95; i++)
    gst_buffer_unref (push_pull (h, random_frame (&info, i, 0)));
  us = 3 * (stat_of (element, "total-max") / 1000 + 1);
  for (guint i = 0; i < 5; i++)
    gst_buffer_unref (push_pull (h, slow_frame (allocator, &info, us)));
  fail_unless (stat_of (element, "total-p99") > 2 * stat_of (element, "total-p50"));
  fail_unless (stat_of (element, "total-max") >= stat_of (element, "total-p99"));
  fail_unless_equals_uint64 (stat_of (element, "frames"), 100);
  gst_element_set_state (element, GST_STATE_READY);
  gst_element_set_state (element, GST_STATE_PLAYING);
  fail_unless_equals_uint64 (stat_of (element, "total-max"), 0);
  close_harness (h, 0);
  gst_object_unref (allocator);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("buffers");

  tcase_add_test (tests, padded_layouts);
  tcase_add_test (tests, metas_are_kept);
  tcase_add_loop_test (tests, larger_frame_is_cropped, 0, 2);
  tcase_add_test (tests, parts_of_output_memory);
  tcase_add_loop_test (tests, malformed_are_refused, 0, N_MALFORMED);
  tcase_add_test (tests, output_is_short);
  tcase_add_test (tests, percentiles_of_times);
  return run_suite (argc, argv, "buffers", tests, FALSE);
}
