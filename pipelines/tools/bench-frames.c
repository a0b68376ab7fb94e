/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-frames.c: the frames that sources send. Pinned and CUDA memory are slow to
 * allocate, and hundreds of cameras with copies of their own would fill the machine.
 * Therefore frames of one kind of memory, format and size are made once per process. */

#include "bench-camera.h"
#include "line.h"

#include <string.h>

/* GST_MAP_CUDA of GStreamer's CUDA library: maps the device's side of the memory. */
#define MAP_CUDA ((GstMapFlags) (GST_MAP_FLAG_LAST << 1))

/* ---- images --------------------------------------------------------------
 *
 * They resemble those of a street camera: soft shapes of all sizes with 1/f contrast (octaves of smooth
 * noise), hard edges, sensor noise that differs in each frame, and a camera that moves slightly. The time
 * of a filter depends on the content: medians and regions are cheap on flat images. */

#define MARGIN 64   /* samples that the camera moves, at most */
#define NOISE 65536 /* noise samples */

typedef struct {
  int w, h;
  guint8 *v;
} Scene;

static guint32
next_random (guint32 *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

/* Adds smooth noise of +-height: random values at every `cell` samples, bilinear in between. */
static void
add_octave (int *sum, int w, int h, int cell, int height, guint32 *random)
{
  int columns = w / cell + 2, rows = h / cell + 2;
  int *node = g_new (int, columns *rows);

  for (int i = 0; i < columns * rows; i++)
    node[i] = (int) (next_random (random) % (2 * height + 1)) - height;
  for (int y = 0; y < h; y++) {
    const int *top = node + y / cell * columns, *bottom = top + columns;
    int fy = y % cell;

    for (int x = 0, c = 0, fx = 0; x < w; x++) {
      int left = top[c] * (cell - fy) + bottom[c] * fy, right = top[c + 1] * (cell - fy) + bottom[c + 1] * fy;

      sum[(gsize) y * w + x] += (left * (cell - fx) + right * fx) / (cell * cell / 16);
      if (++fx == cell) {
        fx = 0;
        c++;
      }
    }
  }
  g_free (node);
}

/* Adds rectangles that are lighter or darker than the background, like houses, cars and signs. */
static void
add_edges (int *sum, int w, int h, guint32 *random)
{
  for (int n = 0; n < 120; n++) {
    int rw = 2 + (int) (next_random (random) % (1 + w / 6)), rh = 2 + (int) (next_random (random) % (1 + h / 5));
    int x0 = (int) (next_random (random) % w), y0 = (int) (next_random (random) % h);
    int step = ((int) (next_random (random) % 61) - 30) * 16;

    for (int y = y0; y < MIN (h, y0 + rh); y++)
      for (int x = x0; x < MIN (w, x0 + rw); x++)
        sum[(gsize) y * w + x] += step;
  }
}

static Scene
make_scene (int w, int h)
{
  Scene scene = { w + MARGIN, h + MARGIN, NULL };
  gsize n = (gsize) scene.w * scene.h;
  int *sum = g_new0 (int, n);
  guint32 random = 0x9e3779b9;

  for (int cell = 256, height = 48; cell >= 8; cell /= 2, height = height * 5 / 8)
    add_octave (sum, scene.w, scene.h, cell, height, &random);
  add_edges (sum, scene.w, scene.h, &random);
  scene.v = g_malloc (n);
  for (gsize i = 0; i < n; i++)
    scene.v[i] = (guint8) CLAMP (118 + sum[i] / 16, 0, 255);
  g_free (sum);
  return scene;
}

/* Returns noise that is about Gaussian with sigma 2.5 levels. */
static gint8 *
make_noise (void)
{
  gint8 *noise = g_new (gint8, NOISE);
  guint32 random = 12345;

  for (int i = 0; i < NOISE; i++) {
    int sum = 0;

    for (int k = 0; k < 4; k++)
      sum += (int) (next_random (&random) % 9) - 4;
    noise[i] = (gint8) (sum / 2);
  }
  return noise;
}

/* Fills one component of frame `number`. Chroma has a quarter of the contrast around 128; alpha
 * is opaque. */
static void
fill_component (GstVideoFrame *frame, int comp, const Scene *scene, const gint8 *noise, int number)
{
  const GstVideoFormatInfo *format = frame->info.finfo;
  int w = GST_VIDEO_FRAME_COMP_WIDTH (frame, comp), h = GST_VIDEO_FRAME_COMP_HEIGHT (frame, comp);
  int step = GST_VIDEO_FRAME_COMP_PSTRIDE (frame, comp), depth = (int) GST_VIDEO_FRAME_COMP_DEPTH (frame, comp);
  int shift = (int) GST_VIDEO_FORMAT_INFO_SHIFT (format, comp);
  gboolean chroma = GST_VIDEO_FORMAT_INFO_IS_YUV (format) && (comp == 1 || comp == 2), alpha = comp == 3;
  int dx = (number * 7 + comp * 13) % MARGIN, dy = (number * 5 + comp * 29) % MARGIN;
  guint32 random = 77 + (guint32) number * 4 + (guint32) comp;

  for (int y = 0; y < h; y++) {
    guint8 *out = (guint8 *) GST_VIDEO_FRAME_COMP_DATA (frame, comp) +
        (gssize) y * GST_VIDEO_FRAME_COMP_STRIDE (frame, comp);
    const guint8 *in = scene->v + (gsize) (y + dy) * scene->w + dx;
    guint32 start = next_random (&random);

    for (int x = 0; x < w; x++, out += step) {
      int value = chroma ? 128 + (in[x] - 118) / 4 : in[x];

      value = alpha ? 255 : CLAMP (value + noise[(start + (guint32) x) % NOISE], 0, 255);
      if (depth == 8)
        *out = (guint8) value;
      else
        GST_WRITE_UINT16_LE (out, (guint16) (value << (depth - 8) << shift));
    }
  }
}

/* Shared by the threads that make images of one scene. */
typedef struct {
  const GstVideoInfo *info;
  GstBuffer **images;
  Scene scene;
  gint8 *noise;
  gint failed; /* atomic */
} Painter;

/* Makes image `number` - 1: a thread pool takes no NULL. */
static void
make_image (gpointer number, gpointer data)
{
  Painter *painter = data;
  int i = GPOINTER_TO_INT (number) - 1;
  GstVideoFrame frame;

  painter->images[i] = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (painter->info), NULL);
  if (!painter->images[i] || !gst_video_frame_map (&frame, painter->info, painter->images[i], GST_MAP_WRITE)) {
    g_atomic_int_set (&painter->failed, TRUE);
    return;
  }
  for (int c = 0; c < (int) GST_VIDEO_FORMAT_INFO_N_COMPONENTS (painter->info->finfo); c++)
    fill_component (&frame, c, &painter->scene, painter->noise, i);
  gst_video_frame_unmap (&frame);
}

static gboolean
can_fill (const GstVideoFormatInfo *format)
{
  int comps = (int) GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format);

  for (int c = 0; c < comps; c++)
    if (GST_VIDEO_FORMAT_INFO_DEPTH (format, c) < 8 || GST_VIDEO_FORMAT_INFO_PSTRIDE (format, c) == 0 ||
        (GST_VIDEO_FORMAT_INFO_DEPTH (format, c) > 8 && !GST_VIDEO_FORMAT_INFO_IS_LE (format)))
      return FALSE;
  return comps > 0 && !GST_VIDEO_FORMAT_INFO_IS_COMPLEX (format) && !GST_VIDEO_FORMAT_INFO_IS_TILED (format);
}

/* ---- images of a video file ------------------------------------------------ */

/* The images that have been taken so far. */
typedef struct {
  const GstVideoInfo *info;
  GstBuffer **images;
  int n, wanted;
} Taken;

static GstBuffer *
copy_of (GstBuffer *buffer, const GstVideoInfo *from_info, const GstVideoInfo *to_info)
{
  GstBuffer *image = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (to_info), NULL);
  GstVideoFrame from, to;
  gboolean good = FALSE;

  if (image && gst_video_frame_map (&from, from_info, buffer, GST_MAP_READ)) {
    if (gst_video_frame_map (&to, to_info, image, GST_MAP_WRITE)) {
      good = gst_video_frame_copy (&to, &from);
      gst_video_frame_unmap (&to);
    }
    gst_video_frame_unmap (&from);
  }
  if (!good)
    g_clear_pointer (&image, gst_buffer_unref);
  return image;
}

static void
take (GstElement *sink, GstBuffer *buffer, GstPad *pad, gpointer data)
{
  Taken *taken = data;
  GstCaps *caps = gst_pad_get_current_caps (pad);
  GstVideoInfo info;

  if (taken->n < taken->wanted && caps && gst_video_info_from_caps (&info, caps) &&
      (taken->images[taken->n] = copy_of (buffer, &info, taken->info)) != NULL && ++taken->n == taken->wanted)
    gst_element_post_message (sink, gst_message_new_application (GST_OBJECT (sink), gst_structure_new_empty ("taken")));
  g_clear_pointer (&caps, gst_caps_unref);
}

/* Runs the pipeline until it has sent enough frames or all that it has. Returns whether there were any, and says why
 * not. */
static gboolean
play (GstElement *pipeline, const char *file, const Taken *taken)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;
  GError *error = NULL;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE,
      GST_MESSAGE_ERROR | GST_MESSAGE_EOS | GST_MESSAGE_APPLICATION);
  if (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  if (taken->n == 0)
    complain ("--video %s: no frames can be read: %s", file, error ? error->message : "there is no video in it");
  g_clear_error (&error);
  g_clear_pointer (&message, gst_message_unref);
  gst_object_unref (bus);
  return taken->n > 0;
}

/* Takes the first n / 2 frames of a video file, scaled and converted, and puts them into `images` there and back again,
 * so that the picture never jumps. Prints the reason and returns FALSE where the file has no frames. */
static gboolean
video_images (const char *file, const GstVideoInfo *info, GstBuffer **images, int n)
{
  Taken taken = { .info = info, .images = images, .wanted = (n + 1) / 2 };
  g_autofree char *caps = g_strdup_printf ("video/x-raw,format=%s,width=%d,height=%d,pixel-aspect-ratio=1/1",
      GST_VIDEO_INFO_NAME (info), GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info));
  g_autofree char *line = g_strdup_printf ("filesrc name=source ! decodebin ! videoconvert ! videoscale ! %s ! "
                                           "fakesink name=sink signal-handoffs=true sync=false",
      caps);
  g_autoptr (GError) error = NULL;
  GstElement *pipeline = gst_parse_launch (line, &error), *source, *sink;
  gboolean good;

  if (!pipeline || error) {
    g_clear_object (&pipeline);
    return complain ("--video %s: %s", file, error ? error->message : line);
  }
  source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_object_set (source, "location", file, NULL);
  g_signal_connect (sink, "handoff", G_CALLBACK (take), &taken);
  good = play (pipeline, file, &taken);
  gst_object_unref (source);
  gst_object_unref (sink);
  gst_object_unref (pipeline);
  if (!good)
    return FALSE;
  for (int i = taken.n, period = MAX (1, 2 * taken.n - 1); i < n; i++) {
    int at = i % period;

    images[i] = gst_buffer_ref (images[at < taken.n ? at : period - at]);
  }
  return TRUE;
}

gboolean
bench_images (const GstVideoInfo *info, const char *video, GstBuffer **images, int n)
{
  Painter painter = { .info = info, .images = images };
  GThreadPool *threads;

  if (video)
    return video_images (video, info, images, n);
  if (!can_fill (info->finfo))
    return FALSE;
  painter.scene = make_scene (GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info));
  painter.noise = make_noise ();
  threads = g_thread_pool_new (make_image, &painter, (int) MIN (g_get_num_processors (), 16), TRUE, NULL);
  for (int i = 1; i <= n; i++)
    g_thread_pool_push (threads, GINT_TO_POINTER (i), NULL);
  g_thread_pool_free (threads, FALSE, TRUE);
  g_free (painter.noise);
  g_free (painter.scene.v);
  return !painter.failed;
}

/* ---- frames --------------------------------------------------------------- */

typedef struct {
  BenchFrames frames;
  GstVideoInfo layout; /* with the buffers' strides and offsets */
  int gpu, wanted;
  char kind[48]; /* of memory; empty: the images themselves */
} FrameSet;

static GMutex lock;     /* of the list */
static GPtrArray *sets; /* of FrameSet */

static const char *
kind_of (GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);

  return memory->allocator && memory->allocator->mem_type ? memory->allocator->mem_type : "memory";
}

/* Returns the set of such frames; a new one, for which *is_new becomes TRUE, has no frames. */
static BenchFrames *
get_set (const BenchCamera *camera, const char *kind, const GstVideoInfo *layout, gboolean *is_new)
{
  FrameSet *k;

  if (!sets)
    sets = g_ptr_array_new ();
  *is_new = FALSE;
  for (guint i = 0; i < sets->len; i++) {
    k = g_ptr_array_index (sets, i);
    if (k->gpu == camera->gpu && k->wanted >= camera->wanted_frames && !strcmp (k->kind, kind) &&
        gst_video_info_is_equal (&k->layout, layout))
      return &k->frames;
  }
  *is_new = TRUE;
  k = g_new0 (FrameSet, 1);
  k->layout = *layout;
  k->gpu = camera->gpu;
  k->wanted = camera->wanted_frames;
  g_strlcpy (k->kind, kind, sizeof k->kind);
  g_ptr_array_add (sets, k);
  return &k->frames;
}

/* Returns the images in plain memory, none if they cannot be made. Call with the lock held. */
static const BenchFrames *
get_images (const BenchCamera *camera)
{
  gboolean is_new;
  BenchFrames *images = get_set (camera, "", &camera->info, &is_new);

  if (is_new && bench_images (&camera->info, camera->video, images->frame, camera->wanted_frames)) {
    images->n = camera->wanted_frames;
    g_strlcpy (images->memory, kind_of (images->frame[0]), sizeof images->memory);
  }
  return images;
}

/* Copies the image into the buffer. CUDA memory is uploaded now, not when the filter first
 * maps it. */
static gboolean
fill (const GstVideoInfo *info, GstBuffer *buffer, GstBuffer *image, gboolean cuda)
{
  GstVideoFrame from, to;
  gboolean good;

  if (!gst_video_frame_map (&from, info, image, GST_MAP_READ))
    return FALSE;
  good = gst_video_frame_map (&to, info, buffer, GST_MAP_WRITE);
  if (good) {
    good = gst_video_frame_copy (&to, &from);
    gst_video_frame_unmap (&to);
  }
  gst_video_frame_unmap (&from);
  if (good && cuda) {
    good = gst_video_frame_map (&to, info, buffer, GST_MAP_READ | MAP_CUDA);
    if (good)
      gst_video_frame_unmap (&to);
  }
  return good;
}

/* Fills as many of the pool's buffers as are wanted and available. Call with the lock held. */
static const BenchFrames *
from_pool (const BenchCamera *camera, GstBufferPool *pool, const BenchFrames *images)
{
  GstBufferPoolAcquireParams params = { .flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT };
  GstVideoInfo layout = camera->info;
  const GstVideoMeta *meta;
  GstBuffer *buffer;
  BenchFrames *frames;
  gboolean is_new;

  if (gst_buffer_pool_acquire_buffer (pool, &buffer, &params) != GST_FLOW_OK)
    return NULL;
  meta = gst_buffer_get_video_meta (buffer);
  for (guint p = 0; meta && p < meta->n_planes; p++) {
    layout.stride[p] = meta->stride[p];
    layout.offset[p] = meta->offset[p];
  }
  frames = get_set (camera, kind_of (buffer), &layout, &is_new);
  while (is_new && fill (&camera->info, buffer, images->frame[frames->n], camera->memory == BENCH_CUDA)) {
    frames->frame[frames->n++] = g_steal_pointer (&buffer);
    if (frames->n == images->n || gst_buffer_pool_acquire_buffer (pool, &buffer, &params) != GST_FLOW_OK)
      break;
  }
  if (is_new && frames->n)
    g_snprintf (frames->memory, sizeof frames->memory, "proposed %s", kind_of (frames->frame[0]));
  g_clear_pointer (&buffer, gst_buffer_unref);
  return frames->n ? frames : NULL;
}

const BenchFrames *
bench_frames (const BenchCamera *camera, GstBufferPool *pool)
{
  const BenchFrames *images, *frames = NULL;

  g_mutex_lock (&lock);
  images = get_images (camera);
  if (images->n && pool)
    frames = from_pool (camera, pool, images);
  if (images->n && !frames && camera->memory != BENCH_CUDA)
    frames = images;
  g_mutex_unlock (&lock);
  return frames;
}
