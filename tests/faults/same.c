/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * same.c: the frames of a GPU without faults are those of the CPU: in slices and as a whole, fields and mixed modes,
 * frames in flight, memory that is pinned and not, frames that several threads copy; and those of an integrated GPU,
 * which are copied or not, as is faster. */
#include "elements/stats.h"
#include "common.h"
#include "fake.h"
#include "gstcudaconvolve.h"
#include "gstcudamedian.h"

#include <stdio.h>
#include <string.h>

#define FRAMES 12
#define FRAMES_OF_TRIAL 8 /* transfer.c */

typedef struct {
  GType (*type) (void);
  const gchar *properties; /* name=value, with a space between them */
  const gchar *caps;
  gsize size;        /* of a frame */
  int launches;      /* the calls that begin kernels, a frame: slices; 0: any number */
  const char *later; /* NULL, or a border that the second half of the stream has */
} Row;

static const Row rows[] = {
  /* A halo in rows: of a window that is narrow and high; in chroma of half the height; of an even kernel. */
  { gst_cuda_median_get_type, "kernel-width=1 kernel-height=9", "format=Y444,width=8,height=960", 8 * 960 * 3, 2 },
  { gst_cuda_median_get_type, "kernel-size=5", "format=I420,width=8,height=962", 8 * 962 + 2 * 4 * 481, 2 },
  { gst_cuda_median_get_type, "kernel-size=7", "format=NV12,width=8,height=1440", 8 * 2160, 4 },
  { gst_cuda_convolve_get_type, "kernel=1;2;3;-4;5;-6", "format=Y42B,width=8,height=961", 8 * 961 * 2, 2 },
  { gst_cuda_convolve_get_type, "preset=gauss kernel-width=3 kernel-height=101", "format=GRAY8,width=8,height=960",
      8 * 960, 2 },
  /* Packed pixels are taken apart, filtered and put together, slice by slice; and a history of them. */
  { gst_cuda_median_get_type, "kernel-size=5", "format=Y410,width=8,height=960", 8 * 960 * 4, 6 },
  { gst_cuda_median_get_type, "temporal-depth=3", "format=RGB10A2_LE,width=8,height=16", 8 * 16 * 4, 3 },
  /* A row may depend on the opposite end of the frame, and each field on its own rows. */
  { gst_cuda_convolve_get_type, "preset=box border=wrap", "format=I420,width=8,height=960", 8 * 1440, 1 },
  { gst_cuda_median_get_type, "kernel-size=3", "format=I420,width=8,height=960,interlace-mode=interleaved", 8 * 1440,
      1 },
  /* Every other pair of frames is interlaced: with 960 rows only the others are cut into slices. */
  { gst_cuda_median_get_type, "kernel-size=3", "format=I420,width=8,height=960,interlace-mode=mixed", 8 * 1440, 0 },
  { gst_cuda_median_get_type, "temporal-depth=5 kernel-size=1", "format=I420,width=8,height=16,interlace-mode=mixed",
      8 * 24, 0 },
  /* Frames that wait for later ones. */
  { gst_cuda_median_get_type, "temporal-depth=5 temporal-center=true", "format=NV12,width=8,height=960", 8 * 1440, 0 },
  { gst_cuda_median_get_type, "temporal-depth=7 temporal-center=true kernel-size=1",
      "format=I420,width=8,height=16,interlace-mode=mixed", 8 * 24, 0 },
  /* 2 MB and an odd number of rows, which threads share. */
  { gst_cuda_median_get_type, "kernel-width=3 kernel-height=1", "format=GRAY8,width=2304,height=955", 2304 * 955, 1 },
  /* Regions: from three on the GPU filters them in one image, but those by themselves of which the border is a constant
   * or may cut a pixel's samples.
   * Small ones are filtered in place. Four fill the frame, but do not fit an image of its size. */
  { gst_cuda_median_get_type, "kernel-size=5 roi=40,20,9,7;150,31,5,3;99,60,20,11;200,8,4,4",
      "format=NV12,width=256,height=96", 256 * 144, 4 },
  { gst_cuda_median_get_type, "kernel-size=3 roi=0,0,9,7;150,31,5,3;99,60,20,11;200,13,4,4;251,90,9,9",
      "format=I420,width=256,height=96,interlace-mode=interleaved", 256 * 144, 4 },
  { gst_cuda_convolve_get_type, "preset=gauss sigma=2 border=wrap roi=40,20,9,7;150,31,5,3;99,60,20,11",
      "format=YUY2,width=256,height=96", 256 * 192, 0 },
  { gst_cuda_convolve_get_type, "preset=unsharp sigma=1 border=constant roi=40,20,9,7;151,31,5,3;99,60,21,11;0,0,9,7",
      "format=YUY2,width=256,height=96", 256 * 192, 5 },
  { gst_cuda_median_get_type, "kernel-size=5 roi=40,20,9,7;150,31,5,3;99,60,20,11", "format=Y410,width=256,height=96",
      256 * 384, 5 },
  { gst_cuda_convolve_get_type, "preset=box kernel-size=3 roi=2,2,28,90;36,2,92,28;164,2,80,28;36,40,214,52",
      "format=GRAY8,width=256,height=96", 256 * 96, 5 },
  { gst_cuda_convolve_get_type, "preset=box kernel-size=3 roi=10,8,40,80;80,8,44,80;150,8,45,80;200,8,46,80",
      "format=RGBA,width=256,height=96", 256 * 384, 4 },
  { gst_cuda_convolve_get_type, "preset=gauss sigma=2 roi=40,20,9,7;150,31,5,3;99,60,20,11;250,90,6,6",
      "format=UYVY,width=256,height=96", 256 * 192, 5 },
  { gst_cuda_median_get_type, "kernel-size=9 roi=0,0,9,7;150,31,5,3;99,60,20,11;252,92,9,9;2,88,3,3",
      "format=I420,width=255,height=95", 256 * 144, 4 },
  { gst_cuda_median_get_type, "kernel-width=5 kernel-height=1 roi=0,2,40,3;0,20,40,3;0,40,40,3",
      "format=GRAY8,width=67,height=68", 68 * 68, 3 },
  { gst_cuda_convolve_get_type, "preset=unsharp sigma=1 border=constant roi=40,20,9,7;150,31,5,3;99,60,20,11;0,0,9,7",
      "format=NV12,width=256,height=96", 256 * 144, 5 },
  { gst_cuda_convolve_get_type, "preset=unsharp sigma=1 roi=40,20,9,7;150,31,5,3;99,60,20,11;0,0,9,7",
      "format=NV12,width=256,height=96", 256 * 144, 0, "constant" },
  /* One below another, the boxes would take more memory than a frame. */
  { gst_cuda_median_get_type,
      "kernel-size=3 roi=0,0,250,4;10,20,1,70;30,20,1,70;50,20,1,70;70,20,1,70;90,20,1,70;110,20,1,70;130,20,1,70",
      "format=GRAY8,width=256,height=96", 256 * 96, 0 },
  /* The highest box has an odd number of rows, and another one lies below it. */
  { gst_cuda_median_get_type, "kernel-width=3 kernel-height=1 roi=40,61,8,34;8,4,8,4;40,4,8,4;72,4,8,4;104,4,8,4",
      "format=I420,width=128,height=95", 128 * 144, 4 },
  { gst_cuda_convolve_get_type, "preset=privacy roi=40,20,9,7;150,31,5,3;99,60,20,11;0,0,8,8",
      "format=I420,width=256,height=96", 256 * 144, 0 },
};

typedef struct {
  GstElement *element;
  GstPad *src, *sink; /* of the neighbours */
  GstBufferPool *pool;
  GstBuffer *out[FRAMES];
  int n_out;
} Run;

static GstFlowReturn
take (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Run *run = gst_pad_get_element_private (pad);

  (void) parent;
  run->out[run->n_out++ % FRAMES] = buffer;
  return GST_FLOW_OK;
}

static void
open_run (Run *run, const Row *row, const gchar *backend, gint in_flight)
{
  gchar **properties = g_strsplit (row->properties, " ", -1);

  *run = (Run) { .element = gst_object_ref_sink (g_object_new (row->type (), NULL)) };
  for (gchar **p = properties; *p; p++) {
    gchar **pair = g_strsplit (*p, "=", 2);

    gst_util_set_object_arg (G_OBJECT (run->element), pair[0], pair[1]);
    g_strfreev (pair);
  }
  g_strfreev (properties);
  gst_util_set_object_arg (G_OBJECT (run->element), "backend", backend);
  g_object_set (run->element, "frames-in-flight", in_flight, NULL);
  faults_link (run->element, &run->src, &run->sink, take, run);
  gst_element_set_state (run->element, GST_STATE_PLAYING);
}

static void
close_run (Run *run)
{
  for (int i = 0; i < run->n_out; i++)
    gst_buffer_unref (run->out[i]);
  if (run->pool)
    gst_buffer_pool_set_active (run->pool, FALSE);
  gst_clear_object (&run->pool);
  gst_element_set_state (run->element, GST_STATE_NULL);
  gst_pad_set_active (run->src, FALSE);
  gst_pad_set_active (run->sink, FALSE);
  gst_object_unref (run->element);
  gst_object_unref (run->src);
  gst_object_unref (run->sink);
}

/* The input's memory: of the host; proposed by the element, which is pinned; the first half of a frame in that. */
typedef enum { PLAIN, PINNED, HALF_PINNED, N_MEMORIES } Memory;

static GstBuffer *
new_frame (const Run *run, gsize size, Memory memory)
{
  GstBuffer *buffer = NULL, *half;

  if (!run->pool || gst_buffer_pool_acquire_buffer (run->pool, &buffer, NULL) != GST_FLOW_OK)
    return gst_buffer_new_allocate (NULL, size, NULL);
  if (memory == PINNED)
    return buffer;
  half = gst_buffer_new_allocate (NULL, size - size / 2, NULL);
  gst_buffer_prepend_memory (half, gst_memory_share (gst_buffer_peek_memory (buffer, 0), 0, (gssize) (size / 2)));
  gst_buffer_unref (buffer);
  return half;
}

/* Pushes the stream. */
static void
stream (Run *run, const Row *row, Memory memory)
{
  gchar *text = g_strdup_printf ("video/x-raw,framerate=25/1,%s", row->caps);
  GstCaps *caps = gst_caps_from_string (text);
  guint8 *bytes = g_malloc (row->size);
  guint32 noise = 1;

  gst_pad_push_event (run->src, gst_event_new_stream_start ("same"));
  gst_pad_push_event (run->src, gst_event_new_caps (caps));
  faults_push_segment (run->src);
  if (memory != PLAIN)
    run->pool = faults_proposed_pool (run->src, caps);
  for (int i = 0; i < FRAMES; i++) {
    GstBuffer *buffer = new_frame (run, row->size, memory);

    if (row->later && i == FRAMES / 2)
      gst_util_set_object_arg (G_OBJECT (run->element), "border", row->later);
    for (gsize b = 0; b < row->size; b++)
      bytes[b] = (guint8) ((noise = noise * 1664525u + 1013904223u) >> 24);
    gst_buffer_fill (buffer, 0, bytes, row->size);
    if (i & 2)
      GST_BUFFER_FLAG_SET (buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
    gst_pad_push (run->src, buffer);
  }
  gst_pad_push_event (run->src, gst_event_new_eos ());
  g_free (bytes);
  gst_caps_unref (caps);
  g_free (text);
}

static void
compare (const Row *row, Run *cpu, gint in_flight, Memory memory)
{
  int same = 0, launches = 0;
  Run gpu;

  fake_arm (-1, 0, false);
  open_run (&gpu, row, "cuda", in_flight);
  stream (&gpu, row, memory);
  for (int i = 0; i < MIN (cpu->n_out, gpu.n_out); i++) {
    GstMapInfo map;

    gst_buffer_map (cpu->out[i], &map, GST_MAP_READ);
    same += gst_buffer_get_size (gpu.out[i]) == map.size && gst_buffer_memcmp (gpu.out[i], 0, map.data, map.size) == 0;
    gst_buffer_unmap (cpu->out[i], &map);
  }
  for (int call = 0; call < MIN (fake.calls, FAKE_MAX_CALLS); call++)
    launches += fake.kind[call] == FAKE_LAUNCH;
  if (same != FRAMES || stat_of (gpu.element, "frames-gpu") != FRAMES)
    printf ("%s %s, frames-in-flight=%d, memory %d: %d frames are the CPU's\n", row->caps, row->properties, in_flight,
        (int) memory, same);
  faults_check (same == FRAMES && stat_of (gpu.element, "frames-gpu") == FRAMES, "the frames are not the CPU's");
  if (in_flight == 1 && row->launches && launches != row->launches * FRAMES && !fake_infos[0].integrated)
    printf ("%s %s: %d launches\n", row->caps, row->properties, launches);
  faults_check (in_flight > 1 || !row->launches || launches == row->launches * FRAMES || fake_infos[0].integrated,
      "other slices than expected");
  close_run (&gpu);
  faults_check (!fake.misuse, "copies of memory that is not pinned, or other misuse");
}

/* An integrated GPU: half of the first frames are copied, and of the others all or none. */
static void
integrated (gboolean copies_are_faster, gint in_flight, Memory memory)
{
  static const Row row = { gst_cuda_median_get_type, "kernel-size=3", "format=GRAY8,width=8,height=16", 8 * 16 };
  const int right = FRAMES_OF_TRIAL / 2 + (copies_are_faster ? FRAMES - FRAMES_OF_TRIAL : 0);
  int uploads = 0, downloads = 0;
  Run run;

  fake_arm (-1, 0, false);
  fake_runtime.slow_ns = 1000000;
  fake_runtime.copy_ns = 200000;
  fake_runtime.pinned_ns = copies_are_faster ? 500000 : 300000;
  open_run (&run, &row, "cuda", in_flight);
  stream (&run, &row, memory);
  for (int call = 0; call < MIN (fake.calls, FAKE_MAX_CALLS); call++) {
    uploads += fake.kind[call] == FAKE_UPLOAD;
    downloads += fake.kind[call] == FAKE_DOWNLOAD;
  }
  if (uploads != right || downloads != right)
    printf ("frames-in-flight=%d, memory %d: %d uploads, %d downloads\n", in_flight, (int) memory, uploads, downloads);
  faults_check (uploads == right && downloads == right, "the slower way");
  close_run (&run);
  fake_runtime.copy_ns = fake_runtime.pinned_ns = 0;
}

int
main (void)
{
  faults_start ();
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    Run cpu;

    fake_arm (-1, 0, false);
    open_run (&cpu, &rows[i], "cpu", 1);
    stream (&cpu, &rows[i], PLAIN);
    faults_check (cpu.n_out == FRAMES, "frames are missing");
    for (Memory memory = PLAIN; memory < N_MEMORIES; memory++) {
      compare (&rows[i], &cpu, 1, memory);
      compare (&rows[i], &cpu, 3, memory);
      fake_infos[0].integrated = true;
      compare (&rows[i], &cpu, 1, memory);
      compare (&rows[i], &cpu, 3, memory);
      fake_infos[0].integrated = false;
    }
    close_run (&cpu);
  }
  fake_infos[0].integrated = true;
  for (gint in_flight = 1; in_flight <= 5; in_flight += 2)
    for (Memory memory = PLAIN; memory <= PINNED; memory++) {
      integrated (TRUE, in_flight, memory);
      integrated (FALSE, in_flight, memory);
    }
  return faults_end ();
}
