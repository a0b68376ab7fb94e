/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-ffmpeg.c: measures a filter of FFmpeg ("ffmpeg:median=radius=2") by the program ffmpeg. It reads a few frames
 * once, its filter `loop` repeats them in memory, and nothing is written. The time of a short run is subtracted from
 * that of a longer one; the difference has neither the start nor the reading, but only filtered frames. */

#define _GNU_SOURCE 1 /* memfd_create, wait4 */
#include "bench-camera.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define IMAGES 10 /* different frames; the shortest run filters each once */

typedef struct {
  const BenchCase *c;
  BenchRow *row;
  char *size;
  const char *pixels; /* FFmpeg's name of the format */
  int frames, log;    /* files in memory: the raw frames, and what ffmpeg prints */
} Run;

typedef struct {
  double wall, cpu; /* seconds */
} Time;

/* The formats that both have, without a conversion. */
static const char *
pixel_format (const char *format)
{
  static const char *const names[][2] = { { "GRAY8", "gray" }, { "GRAY16_LE", "gray16le" }, { "I420", "yuv420p" },
    { "Y42B", "yuv422p" }, { "Y444", "yuv444p" }, { "NV12", "nv12" }, { "NV21", "nv21" }, { "RGB", "rgb24" },
    { "BGR", "bgr24" }, { "RGBA", "rgba" }, { "BGRA", "bgra" }, { "RGBP", "gbrp" } };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (!strcmp (names[i][0], format))
      return names[i][1];
  return NULL;
}

/* Writes the raw frames to a file in memory. */
static gboolean
write_frames (Run *run, const GstVideoInfo *info, const char *video)
{
  GstBuffer *images[IMAGES] = { NULL };
  gboolean good = (run->frames = memfd_create ("frames", MFD_CLOEXEC)) >= 0 &&
      (run->log = memfd_create ("log", MFD_CLOEXEC)) >= 0 && bench_images (info, video, images, IMAGES);

  for (int i = 0; i < IMAGES; i++) {
    GstVideoFrame frame;

    if (good && gst_video_frame_map (&frame, info, images[i], GST_MAP_READ)) {
      for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES (&frame); p++) {
        int components[GST_VIDEO_MAX_COMPONENTS];
        gsize bytes;

        gst_video_format_info_component (info->finfo, p, components);
        bytes = (gsize) GST_VIDEO_FRAME_COMP_WIDTH (&frame, components[0]) *
            (gsize) GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, components[0]);
        for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT (&frame, components[0]); y++) {
          const guint8 *row = GST_VIDEO_FRAME_PLANE_DATA (&frame, p);

          row += (gssize) y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p);
          good = good && write (run->frames, row, bytes) == (gssize) bytes;
        }
      }
      gst_video_frame_unmap (&frame);
    }
    gst_clear_buffer (&images[i]);
  }
  return good || bench_fail (run->row, bench_failure (run->c), "there is no memory for its frames");
}

/* Sets the row's note to the first error that ffmpeg has printed, which the later ones follow from; returns FALSE. */
static gboolean
fail_by_log (Run *run, const char *log)
{
  g_auto (GStrv) lines = g_strsplit (log, "\n", -1);
  const char *first = NULL, *prefix;

  for (char **line = lines; *line && !first; line++)
    if (strstr (*line, "rror") || strstr (*line, "No such") || strstr (*line, "nvalid"))
      first = *line;
  prefix = first && *first == '[' ? strstr (first, "] ") : NULL; /* the part of ffmpeg and its address */
  if (prefix)
    first = prefix + 2;
  return bench_fail (run->row, bench_failure (run->c), "ffmpeg: %s", first ? first : "it ended without a message");
}

/* Lets ffmpeg filter `n` frames. Returns FALSE, with the row's note, if it fails or would convert the frames. */
static gboolean
filter_frames (Run *run, guint64 n, Time *time)
{
  g_autofree char *filter = g_strdup_printf ("loop=loop=-1:size=%d,%s", IMAGES, run->c->line + strlen (BENCH_FFMPEG));
  g_autofree char *count = g_strdup_printf ("%" G_GUINT64_FORMAT, n);
  const char *argv[] = { "ffmpeg", "-hide_banner", "-nostdin", "-v", "verbose", "-f", "rawvideo", "-pixel_format",
    run->pixels, "-video_size", run->size, "-i", "pipe:0", "-vf", filter, "-fps_mode", "passthrough", "-frames:v",
    count, "-f", "null", "-", NULL };
  char log[65536] = "";
  guint64 begin = bench_now ();
  struct rusage usage;
  gssize length;
  GPid pid;
  int status;

  lseek (run->frames, 0, SEEK_SET);
  if (ftruncate (run->log, 0) || lseek (run->log, 0, SEEK_SET) ||
      !g_spawn_async_with_fds (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
          &pid, run->frames, run->log, run->log, NULL))
    return bench_fail (run->row, bench_failure (run->c), "the program ffmpeg is not installed");
  while (wait4 (pid, &status, 0, &usage) < 0)
    if (errno != EINTR)
      return bench_fail (run->row, bench_failure (run->c), "ffmpeg is lost");
  time->wall = (double) (bench_now () - begin) / 1e9;
  time->cpu = (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
      (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  length = pread (run->log, log, sizeof log - 1, 0);
  log[MAX (length, 0)] = '\0';
  if (!WIFEXITED (status) || WEXITSTATUS (status))
    return fail_by_log (run, log);
  if (strstr (log, "auto-inserting filter") || strstr (log, "auto_scale"))
    return bench_fail (run->row, BENCH_LEFT_OUT, "ffmpeg converts %s for this filter", run->row->format);
  return TRUE;
}

/* Filters the frames in `row->format`. */
static gboolean
measure (const BenchOptions *opt, Run *run)
{
  BenchRow *row = run->row;
  Time shortest, longer;
  GstVideoInfo info;
  guint64 n = IMAGES;
  gboolean good;

  run->pixels = pixel_format (row->format);
  if (!run->pixels)
    return bench_fail (row, BENCH_LEFT_OUT, "FFmpeg has no format %s", row->format);
  if (!gst_video_info_set_format (&info, gst_video_format_from_string (row->format), (guint) run->c->size.width,
          (guint) run->c->size.height))
    return bench_fail (row, BENCH_LEFT_OUT, "there is no such format or size");
  row->frame_bytes = GST_VIDEO_INFO_SIZE (&info);
  row->rotating = IMAGES;
  g_strlcpy (row->memory, "of ffmpeg", sizeof row->memory);
  good = write_frames (run, &info, opt->video) && filter_frames (run, IMAGES, &shortest);
  for (double wanted = opt->frames ? 0 : opt->seconds; good && !bench_stop;) {
    double seconds;

    row->frames = opt->frames ? (guint64) opt->frames : n;
    good = filter_frames (run, IMAGES + row->frames, &longer);
    seconds = longer.wall - shortest.wall;
    if (seconds >= wanted / 2 || row->frames >= 1000000)
      break;
    n = (guint64) CLAMP ((double) n * wanted / MAX (seconds, wanted / 20), (double) n * 2, 1e6);
  }
  close (run->frames);
  close (run->log);
  row->seconds = good ? longer.wall - shortest.wall : 0;
  /* Both times are differences of two runs, in which ffmpeg's start is contained. */
  if (good && !(row->seconds > 0 && longer.cpu > shortest.cpu))
    return bench_fail (row, bench_failure (run->c), "so few frames take less time than ffmpeg's start varies by");
  row->fps = good ? (double) row->frames / row->seconds : 0;
  row->ms = good ? 1e3 / row->fps : 0;
  row->cpu_ms = good ? 1e3 * (longer.cpu - shortest.cpu) / (double) row->frames : 0;
  row->cores = good ? (longer.cpu - shortest.cpu) / row->seconds : 0;
  return good;
}

void
bench_ffmpeg (const BenchOptions *opt, const BenchCase *c, BenchRow *row)
{
  static const char *const others[] = { "I420", "GRAY8", "RGB" };
  g_autofree char *size = g_strdup_printf ("%dx%d", c->size.width, c->size.height);
  Run run = { .c = c, .row = row, .size = size };

  g_strlcpy (row->format, c->format, sizeof row->format);
  if (c->rate > 0) {
    bench_fail (row, BENCH_LEFT_OUT, "a filter of FFmpeg is measured without --rate only");
    return;
  }
  if (measure (opt, &run) || !c->baseline)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (others) && strstr (row->note, "converts"); i++) {
    row->state = BENCH_GOOD;
    row->note[0] = '\0';
    g_strlcpy (row->format, others[i], sizeof row->format);
    measure (opt, &run);
  }
}
