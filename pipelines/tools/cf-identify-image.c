/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf-identify-image.c: reads (by GStreamer), draws, blurs and compares the images of
 * cf-identify, and adds noise to them. */

#include "cf-identify.h"

#include <gst/gst.h>
#include <gst/video/video.h>

#include <math.h>
#include <string.h>

Image *
image_new (int w, int h)
{
  Image *image = g_new0 (Image, 1);

  image->w = w;
  image->h = h;
  image->v = g_new0 (double, (gsize) w *h);
  return image;
}

void
image_free (Image *image)
{
  g_free (image->v);
  g_free (image);
}

/* ---- reading ------------------------------------------------------------ */

/* The sample is GRAY16_LE, which keeps files of more than 8 bits exact. */
static Image *
from_sample (GstSample *sample)
{
  GstVideoInfo info;
  GstVideoFrame frame;
  Image *image;

  if (!gst_video_info_from_caps (&info, gst_sample_get_caps (sample)) ||
      !gst_video_frame_map (&frame, &info, gst_sample_get_buffer (sample), GST_MAP_READ))
    return NULL;
  image = image_new (info.width, info.height);
  for (int y = 0; y < image->h; y++) {
    const guint8 *row = (const guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, 0) +
        (gsize) y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0);

    for (int x = 0; x < image->w; x++)
      image->v[(gsize) y * image->w + x] = GST_READ_UINT16_LE (row + 2 * x) / 257.0;
  }
  gst_video_frame_unmap (&frame);
  return image;
}

Image *
image_load (const char *path, GError **error)
{
  g_autoptr (GstElement) pipeline = NULL, source = NULL, sink = NULL;
  g_autoptr (GstMessage) message = NULL;
  g_autoptr (GstSample) sample = NULL;
  g_autoptr (GstBus) bus = NULL;
  Image *image = NULL;

  if (!g_file_test (path, G_FILE_TEST_IS_REGULAR)) {
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
        g_file_test (path, G_FILE_TEST_IS_DIR) ? "\"%s\" is a folder; an image is needed" : "no file \"%s\"", path);
    return NULL;
  }
  pipeline = gst_parse_launch ("filesrc name=source ! decodebin ! videoconvert ! video/x-raw,format=GRAY16_LE ! "
                               "fakesink name=sink sync=false",
      error);
  if (!pipeline)
    return NULL;
  source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_object_set (source, "location", path, NULL);
  bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PAUSED); /* a failure comes as a message */
  message = gst_bus_timed_pop_filtered (bus, 30 * GST_SECOND, GST_MESSAGE_ERROR | GST_MESSAGE_ASYNC_DONE);
  if (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    g_autoptr (GError) why = NULL;

    gst_message_parse_error (message, &why, NULL);
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "\"%s\" cannot be read as an image: %s%s", path,
        why->message,
        why->domain == GST_CORE_ERROR || g_error_matches (why, GST_STREAM_ERROR, GST_STREAM_ERROR_CODEC_NOT_FOUND)
            ? " (PNG and JPEG need the package gstreamer1.0-plugins-good)"
            : "");
  } else {
    g_object_get (sink, "last-sample", &sample, NULL);
    image = sample ? from_sample (sample) : NULL;
    if (!image)
      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "no image could be read from \"%s\" within 30 seconds",
          path);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  return image;
}

/* ---- drawing ------------------------------------------------------------ */

/* G. Marsaglia, "Xorshift RNGs" (2003); the same on every machine. */
static double
uniform (guint64 *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return ((*state >> 11) + 0.5) / 9007199254740992.0;
}

static double
normal (guint64 *state)
{
  double radius = sqrt (-2 * log (uniform (state)));

  return radius * cos (2 * G_PI * uniform (state));
}

/* Draws a disc or a rotated rectangle over the image; its edge is one sample wide. */
static void
draw_leaf (Image *image, guint64 *random)
{
  const double smallest = 1.5, largest = image->w / 4.0;
  double u = uniform (random), angle = G_PI * uniform (random), gray = 16 + 224 * uniform (random);
  /* Leaves of each size cover about the same area: their density falls with the cube of the radius. */
  double r = 1 / sqrt (1 / (smallest * smallest) * (1 - u) + 1 / (largest * largest) * u);
  double cx = (image->w + 2 * r) * uniform (random) - r, cy = (image->h + 2 * r) * uniform (random) - r;
  double flat = uniform (random) < 0.5 ? 0 : 0.3 + 0.7 * uniform (random); /* 0: a disc */
  int extent = (int) ceil (1.5 * r) + 1;

  for (int y = MAX (0, (int) cy - extent); y < MIN (image->h, (int) cy + extent + 1); y++)
    for (int x = MAX (0, (int) cx - extent); x < MIN (image->w, (int) cx + extent + 1); x++) {
      double dx = x - cx, dy = y - cy, *v = &image->v[(gsize) y * image->w + x];
      double p = fabs (dx * cos (angle) + dy * sin (angle)), q = fabs (dy * cos (angle) - dx * sin (angle));
      double inside = flat > 0 ? MIN (r - p, flat * r - q) : r - sqrt (dx * dx + dy * dy);
      double cover = CLAMP (inside + 0.5, 0, 1);

      *v += cover * (gray - *v);
    }
}

/* Dead leaves, the model of G. Matheron (1968): shapes that occlude each other. Its statistics are
 * close to those of photographs (A. Lee, D. Mumford, J. Huang, "Occlusion models for natural
 * images", 2001). */
Image *
image_chart (int side)
{
  Image *image = image_new (side, side);
  guint64 random = 0x9e3779b97f4a7c15u;

  for (int i = 0; i < side * side / 8; i++)
    draw_leaf (image, &random);
  image_round (image);
  return image;
}

/* ---- processing --------------------------------------------------------- */

Image *
image_part (const Image *image, Rect rect)
{
  Image *part = image_new (rect.w, rect.h);

  for (int y = 0; y < rect.h; y++)
    memcpy (part->v + (gsize) y * rect.w, image->v + (gsize) (y + rect.y) * image->w + rect.x,
        rect.w * sizeof (double));
  return part;
}

Image *
image_blur (const Image *image, const Blur *blur)
{
  double extent = (blur->length - 1) / 2, angle = blur->angle * G_PI / 180, sum = 0;
  int r = (int) ceil (blur->motion ? extent + 1 : 4 * blur->sigma), side = 2 * r + 1;
  g_autofree double *weight = g_new (double, side *side);
  Image *out = image_new (image->w, image->h);

  for (int j = -r; j <= r; j++)
    for (int i = -r; i <= r; i++) {
      /* Motion blur as in cudaconvolve's preset, also for even lengths. */
      double p = i * cos (angle) - j * sin (angle), q = i * sin (angle) + j * cos (angle);
      double w = blur->motion ? MAX (0, 1 - fabs (q)) * CLAMP (extent + 1 - fabs (p), 0, 1)
                              : exp (-(i * i + j * j) / (2 * blur->sigma * blur->sigma));

      sum += weight[(j + r) * side + i + r] = w;
    }
  for (int y = 0; y < out->h; y++)
    for (int x = 0; x < out->w; x++) {
      double acc = 0;

      for (int j = -r; j <= r; j++) {
        const double *row = image->v + (gsize) CLAMP (y + j, 0, out->h - 1) * out->w;

        for (int i = -r; i <= r; i++)
          acc += weight[(j + r) * side + i + r] * row[CLAMP (x + i, 0, out->w - 1)];
      }
      out->v[(gsize) y * out->w + x] = acc / sum;
    }
  return out;
}

void
image_add_noise (Image *image, double sigma)
{
  guint64 random = 0x2545f4914f6cdd1du;

  for (gsize i = 0; i < (gsize) image->w * image->h; i++)
    image->v[i] += sigma * normal (&random);
}

void
image_round (Image *image)
{
  for (gsize i = 0; i < (gsize) image->w * image->h; i++)
    image->v[i] = rint (CLAMP (image->v[i], 0, 255));
}

void
difference_add (Difference *difference, double d)
{
  difference->sum += d;
  difference->squares += d * d;
  difference->n++;
}

double
difference_psnr (const Difference *difference)
{
  double mean = difference->sum / difference->n, square = difference->squares / difference->n - mean * mean;

  return square > 0 ? 10 * log10 (255 * 255 / square) : INFINITY;
}
