/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cf-identify-picture.c: pictures for cf-identify: read by GStreamer, drawn,
 * blurred, made noisy, compared. */

#include "cf-identify.h"

#include <gst/gst.h>
#include <gst/video/video.h>

#include <math.h>
#include <string.h>

Picture *
picture_new (int w, int h)
{
  Picture *picture = g_new0 (Picture, 1);

  picture->w = w;
  picture->h = h;
  picture->v = g_new0 (double, (gsize) w * h);
  return picture;
}

void
picture_free (Picture *picture)
{
  g_free (picture->v);
  g_free (picture);
}

/* ---- reading ------------------------------------------------------------ */

/* 16 bits, whatever was in the file: more than 8 are not lost. */
static Picture *
from_sample (GstSample *sample)
{
  GstVideoInfo info;
  GstVideoFrame frame;
  Picture *picture;

  if (!gst_video_info_from_caps (&info, gst_sample_get_caps (sample)) ||
      !gst_video_frame_map (&frame, &info, gst_sample_get_buffer (sample), GST_MAP_READ))
    return NULL;
  picture = picture_new (info.width, info.height);
  for (int y = 0; y < picture->h; y++) {
    const guint8 *row = (const guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, 0) +
        (gsize) y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0);

    for (int x = 0; x < picture->w; x++)
      picture->v[(gsize) y * picture->w + x] = GST_READ_UINT16_LE (row + 2 * x) / 257.0;
  }
  gst_video_frame_unmap (&frame);
  return picture;
}

Picture *
picture_load (const char *path, GError **error)
{
  GstElement *pipeline, *source, *sink;
  g_autoptr (GstMessage) message = NULL;
  g_autoptr (GstBus) bus = NULL;
  GstSample *sample = NULL;
  Picture *picture = NULL;

  if (!g_file_test (path, G_FILE_TEST_IS_REGULAR)) {
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "there is no file \"%s\"", path);
    return NULL;
  }
  pipeline = gst_parse_launch ("filesrc name=source ! decodebin ! videoconvert ! video/x-raw,format=GRAY16_LE ! "
                               "fakesink name=sink sync=false", error);
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
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "\"%s\" cannot be read as a picture: %s (PNG and JPEG need "
        "the package gstreamer1.0-plugins-good)", path, why->message);
  } else {
    g_object_get (sink, "last-sample", &sample, NULL);
    picture = sample ? from_sample (sample) : NULL;
    if (!picture)
      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "no picture came out of \"%s\" within 30 seconds", path);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  if (sample)
    gst_sample_unref (sample);
  gst_object_unref (source);
  gst_object_unref (sink);
  gst_object_unref (pipeline);
  return picture;
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

/* A disc or a turned rectangle over what is there, its edge a sample wide. */
static void
draw_leaf (Picture *picture, guint64 *random)
{
  const double smallest = 1.5, largest = picture->w / 4.0;
  double u = uniform (random), turn = G_PI * uniform (random), gray = 16 + 224 * uniform (random);
  /* Areas for all sizes alike: the density falls with the radius' cube. */
  double r = 1 / sqrt (1 / (smallest * smallest) * (1 - u) + 1 / (largest * largest) * u);
  double cx = (picture->w + 2 * r) * uniform (random) - r, cy = (picture->h + 2 * r) * uniform (random) - r;
  double flat = uniform (random) < 0.5 ? 0 : 0.3 + 0.7 * uniform (random); /* 0: a disc */
  int reach = (int) ceil (1.5 * r) + 1;

  for (int y = MAX (0, (int) cy - reach); y < MIN (picture->h, (int) cy + reach + 1); y++)
    for (int x = MAX (0, (int) cx - reach); x < MIN (picture->w, (int) cx + reach + 1); x++) {
      double dx = x - cx, dy = y - cy, *v = &picture->v[(gsize) y * picture->w + x];
      double p = fabs (dx * cos (turn) + dy * sin (turn)), q = fabs (dy * cos (turn) - dx * sin (turn));
      double inside = flat > 0 ? MIN (r - p, flat * r - q) : r - sqrt (dx * dx + dy * dy);
      double cover = CLAMP (inside + 0.5, 0, 1);

      *v += cover * (gray - *v);
    }
}

/* Leaves that fall over each other: G. Matheron's model (1968), whose
 * statistics are near those of photographs (A. Lee, D. Mumford, J. Huang,
 * "Occlusion models for natural images", 2001). */
Picture *
picture_chart (int side)
{
  Picture *picture = picture_new (side, side);
  guint64 random = 0x9e3779b97f4a7c15u;

  for (int i = 0; i < side * side / 8; i++)
    draw_leaf (picture, &random);
  picture_round (picture);
  return picture;
}

/* ---- working on them ---------------------------------------------------- */

Picture *
picture_part (const Picture *picture, Rect rect)
{
  Picture *part = picture_new (rect.w, rect.h);

  for (int y = 0; y < rect.h; y++)
    memcpy (part->v + (gsize) y * rect.w, picture->v + (gsize) (y + rect.y) * picture->w + rect.x,
        rect.w * sizeof (double));
  return part;
}

Picture *
picture_blur (const Picture *picture, const Blur *blur)
{
  double reach = (blur->length - 1) / 2, turn = blur->angle * G_PI / 180, sum = 0;
  int r = (int) ceil (blur->motion ? reach + 1 : 4 * blur->sigma), side = 2 * r + 1;
  g_autofree double *weight = g_new (double, side * side);
  Picture *out = picture_new (picture->w, picture->h);

  for (int j = -r; j <= r; j++)
    for (int i = -r; i <= r; i++) {
      /* Motion as cudaconvolve's preset has it, for even lengths too. */
      double p = i * cos (turn) - j * sin (turn), q = i * sin (turn) + j * cos (turn);
      double w = blur->motion ? MAX (0, 1 - fabs (q)) * CLAMP (reach + 1 - fabs (p), 0, 1) :
                                exp (-(i * i + j * j) / (2 * blur->sigma * blur->sigma));

      sum += weight[(j + r) * side + i + r] = w;
    }
  for (int y = 0; y < out->h; y++)
    for (int x = 0; x < out->w; x++) {
      double acc = 0;

      for (int j = -r; j <= r; j++) {
        const double *row = picture->v + (gsize) CLAMP (y + j, 0, out->h - 1) * out->w;

        for (int i = -r; i <= r; i++)
          acc += weight[(j + r) * side + i + r] * row[CLAMP (x + i, 0, out->w - 1)];
      }
      out->v[(gsize) y * out->w + x] = acc / sum;
    }
  return out;
}

void
picture_add_noise (Picture *picture, double sigma)
{
  guint64 random = 0x2545f4914f6cdd1du;

  for (gsize i = 0; i < (gsize) picture->w * picture->h; i++)
    picture->v[i] += sigma * normal (&random);
}

void
picture_round (Picture *picture)
{
  for (gsize i = 0; i < (gsize) picture->w * picture->h; i++)
    picture->v[i] = rint (CLAMP (picture->v[i], 0, 255));
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
