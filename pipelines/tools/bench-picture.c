/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-picture.c: pictures that look enough like a street camera's: soft shapes
 * of all sizes with 1/f contrast (octaves of smooth noise), hard edges, and the
 * noise of a sensor, new in each frame. The camera moves a little, too. What a
 * filter costs depends on that: on flat pictures medians and regions are cheap. */

#include "bench-camera.h"
#include "cf.h"

#define MARGIN 64 /* how far the camera moves */
#define NOISE 65536

typedef struct {
  int w, h;
  guint8 *v;
} World;

static guint32
next_random (guint32 *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

/* Adds smooth noise of +-height: random values at every `cell` samples, lines between them. */
static void
add_octave (int *sum, int w, int h, int cell, int height, guint32 *random)
{
  int columns = w / cell + 2, rows = h / cell + 2;
  int *node = g_new (int, columns * rows);

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

/* Houses, cars, signs: rectangles that are lighter or darker than what is behind. */
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

static World
make_world (int w, int h)
{
  World world = { w + MARGIN, h + MARGIN, NULL };
  gsize n = (gsize) world.w * world.h;
  int *sum = g_new0 (int, n);
  guint32 random = 0x9e3779b9;

  for (int cell = 256, height = 48; cell >= 8; cell /= 2, height = height * 5 / 8)
    add_octave (sum, world.w, world.h, cell, height, &random);
  add_edges (sum, world.w, world.h, &random);
  world.v = g_malloc (n);
  for (gsize i = 0; i < n; i++)
    world.v[i] = (guint8) CLAMP (118 + sum[i] / 16, 0, 255);
  g_free (sum);
  return world;
}

/* About a bell of sigma 2.5 levels. */
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

/* One component of frame `number`. Chroma has a quarter of the contrast about the
 * middle, alpha is full. */
static void
fill_component (GstVideoFrame *frame, int comp, const World *world, const gint8 *noise, int number)
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
    const guint8 *in = world->v + (gsize) (y + dy) * world->w + dx;
    guint32 place = next_random (&random);

    for (int x = 0; x < w; x++, out += step) {
      int value = chroma ? 128 + (in[x] - 118) / 4 : in[x];

      value = alpha ? 255 : CLAMP (value + noise[(place + (guint32) x) % NOISE], 0, 255);
      if (depth == 8)
        *out = (guint8) value;
      else
        GST_WRITE_UINT16_LE (out, (guint16) (value << (depth - 8) << shift));
    }
  }
}

static gboolean
make_picture (const GstVideoInfo *info, GstBuffer **picture, const World *world, const gint8 *noise, int number)
{
  GstVideoFrame frame;

  *picture = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (info), NULL);
  if (!*picture || !gst_video_frame_map (&frame, info, *picture, GST_MAP_WRITE))
    return FALSE;
  for (int c = 0; c < (int) GST_VIDEO_FORMAT_INFO_N_COMPONENTS (info->finfo); c++)
    fill_component (&frame, c, world, noise, number);
  gst_video_frame_unmap (&frame);
  return TRUE;
}

/* Several threads make pictures of one world. */
typedef struct {
  const GstVideoInfo *info;
  GstBuffer **pictures;
  const World *world;
  const gint8 *noise;
  int n;
  gint next, failed; /* atomic */
} Painter;

static gpointer
paint (gpointer data)
{
  Painter *painter = data;
  int i;

  while ((i = g_atomic_int_add (&painter->next, 1)) < painter->n)
    if (!make_picture (painter->info, &painter->pictures[i], painter->world, painter->noise, i))
      g_atomic_int_set (&painter->failed, TRUE);
  return NULL;
}

gboolean
bench_pictures (const GstVideoInfo *info, GstBuffer **pictures, int n)
{
  const GstVideoFormatInfo *format = info->finfo;
  int comps = (int) GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format);
  Painter painter = { .info = info, .pictures = pictures, .n = n };
  GThread *thread[16];
  int threads = MIN ((int) G_N_ELEMENTS (thread), cf_cpu_threads ());
  gint8 *noise;
  World world;

  for (int c = 0; c < comps; c++)
    if (GST_VIDEO_FORMAT_INFO_DEPTH (format, c) < 8 || GST_VIDEO_FORMAT_INFO_PSTRIDE (format, c) == 0 ||
        (GST_VIDEO_FORMAT_INFO_DEPTH (format, c) > 8 && !GST_VIDEO_FORMAT_INFO_IS_LE (format)))
      return FALSE;
  if (comps == 0 || GST_VIDEO_FORMAT_INFO_IS_COMPLEX (format) || GST_VIDEO_FORMAT_INFO_IS_TILED (format))
    return FALSE;
  world = make_world (GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info));
  noise = make_noise ();
  painter.world = &world;
  painter.noise = noise;
  for (int i = 1; i < threads; i++)
    thread[i] = g_thread_new ("picture", paint, &painter);
  paint (&painter);
  for (int i = 1; i < threads; i++)
    g_thread_join (thread[i]);
  g_free (noise);
  g_free (world.v);
  return !painter.failed;
}
