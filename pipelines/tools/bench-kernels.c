/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-kernels.c: kernels only: calls the filters of a line directly, without GStreamer,
 * for the least time that a frame can take. Frames in pinned memory are measured in
 * each transfer mode, and the fastest is reported: copied as whole frames or (one filter)
 * in slices that overlap. Frames in CUDA memory have one mode: waited for one by one for
 * the latency, and many queued at once for the rate. */

#include "bench.h"
#include "bench-camera.h"
#include "cf.h"
#include "line.h"

#include <string.h>

#define FRAMES 24 /* pairs of frames in rotation: more than a GPU's L2 holds */
#define QUEUED 64 /* frames that are queued before the thread waits */
#define DEADLINE (30 * (guint64) GST_SECOND)

typedef struct {
  CfContext *context;
  CfStream *stream;
  CfEvents *events; /* before and after the kernels */
  CfVideo video;
  int n; /* filters, in the order of the line */
  const CfFilter *filter[BENCH_ELEMENTS];
  void *params[BENCH_ELEMENTS];
  CfCommon common[BENCH_ELEMENTS];
  CfPlan *plan[BENCH_ELEMENTS];
  CfImage host_in[FRAMES], host_out[FRAMES];
  CfImage device_in[FRAMES], between[BENCH_ELEMENTS + 1]; /* between: the output of each plan, and one more */
  void *memory[4];                                        /* host_in, host_out, device_in, between */
  gsize bytes;
  /* For the modes in slices, whose second output image is between[n]. */
  CfSlices *slices;
  CfStream *up, *down;
  CfStatus status; /* of a function that returned FALSE */
} KernelRun;

typedef struct {
  const char *name;
  guint slices; /* 0: as a whole */
} TransferMode;

static const TransferMode modes[] = { { "as a whole", 0 }, { "in two slices", 2 }, { "in four slices", 4 } };

#define NOT_OURS "a line must have only elements of this project for --bare"

static gboolean
refuse (KernelRun *k, const char *text)
{
  g_strlcpy (k->status.message, text, sizeof k->status.message);
  return FALSE;
}

/* ---- construction --------------------------------------------------------- */

/* Returns whether there is the memory, in which it lays out n images. */
static gboolean
lay_out (const KernelRun *k, const CfImage *layout, guint8 *memory, CfImage *image, int n)
{
  for (int i = 0; i < n && memory; i++)
    cf_image_at (&image[i], layout, memory + (gsize) i * k->bytes);
  return memory != NULL;
}

static gboolean
allocate (KernelRun *k, const BenchCase *c, CfFormat format)
{
  CfImage layout;
  gsize size = (cf_image_layout (&layout, format, c->size.width, c->size.height, 4) + 255) / 256 * 256;

  k->bytes = size;
  k->memory[0] = cf_gpu_alloc (CF_PINNED, size * FRAMES, &k->status);
  k->memory[1] = cf_gpu_alloc (CF_PINNED, size * FRAMES, &k->status);
  k->memory[2] = cf_gpu_alloc (CF_DEVICE, size * FRAMES, &k->status);
  k->memory[3] = cf_gpu_alloc (CF_DEVICE, size * (gsize) (k->n + 1), &k->status);
  if (k->memory[1])
    memset (k->memory[1], 0, size * FRAMES);
  return lay_out (k, &layout, k->memory[0], k->host_in, FRAMES) &&
      lay_out (k, &layout, k->memory[1], k->host_out, FRAMES) &&
      lay_out (k, &layout, k->memory[2], k->device_in, FRAMES) &&
      lay_out (k, &layout, k->memory[3], k->between, k->n + 1);
}

/* Fills host_in with images like those of the cameras. */
static gboolean
fill (KernelRun *k, const BenchCase *c)
{
  GstBuffer *image[FRAMES] = { NULL };
  GstVideoInfo info;
  gboolean good = gst_video_info_set_format (&info, gst_video_format_from_string (c->format), (guint) c->size.width,
                      (guint) c->size.height) &&
      bench_images (&info, c->video, image, FRAMES);

  for (int i = 0; i < FRAMES && image[i]; i++) {
    GstVideoFrame frame;

    good = good && gst_video_frame_map (&frame, &info, image[i], GST_MAP_READ);
    for (guint p = 0; good && p < GST_VIDEO_INFO_N_PLANES (&info); p++) {
      int rows = cf_plane_rows (k->host_in[i].format, c->size.height, (int) p);

      for (int y = 0; y < rows; y++)
        memcpy ((guint8 *) k->host_in[i].plane[p].data + (gsize) y * k->host_in[i].plane[p].pitch,
            (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, p) + (gssize) y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p),
            cf_plane_row_bytes (k->host_in[i].format, c->size.width, (int) p));
    }
    if (good)
      gst_video_frame_unmap (&frame);
    gst_buffer_unref (image[i]);
  }
  return good;
}

static void
free_run (KernelRun *k)
{
  for (int p = 0; p < k->n; p++) {
    cf_plan_free (k->plan[p]);
    cf_params_free (k->filter[p], k->params[p]);
  }
  cf_events_free (k->events);
  cf_stream_free (k->up);
  cf_stream_free (k->down);
  cf_stream_free (k->stream);
  cf_gpu_free (CF_PINNED, k->memory[0]);
  cf_gpu_free (CF_PINNED, k->memory[1]);
  cf_gpu_free (CF_DEVICE, k->memory[2]);
  cf_gpu_free (CF_DEVICE, k->memory[3]);
  cf_context_free (k->context);
}

/* ---- timing --------------------------------------------------------------- */

/* Queues all plans, from `in` to `out`. */
static gboolean
filter_frame (KernelRun *k, const CfImage *in, const CfImage *out)
{
  for (int p = 0; p < k->n; p++)
    if (cf_plan_enqueue (k->plan[p], k->stream,
            &(CfFrame) { .in = p ? &k->between[p - 1] : in, .out = p == k->n - 1 ? out : &k->between[p] },
            &k->status) != CF_OK)
      return FALSE;
  return TRUE;
}

static gboolean
one_frame_in_slices (KernelRun *k, int i)
{
  const CfSlicesRequest request = { k->up, k->stream, k->down, &k->host_in[i], &k->device_in[i],
    { &k->between[0], &k->between[1] }, &k->host_out[i] };

  return cf_stream_record (k->stream, k->events, 0, &k->status) == CF_OK &&
      cf_slices_enqueue (k->slices, &request, &k->status) == CF_OK &&
      cf_stream_record (k->stream, k->events, 1, &k->status) == CF_OK &&
      cf_stream_wait (k->down, DEADLINE, NULL, &k->status) == CF_OK;
}

/* Filters frame i and waits for it. `mode` NULL: the frame is in CUDA memory. */
static gboolean
one_frame (KernelRun *k, const TransferMode *mode, int i)
{
  const CfImage *in = &k->device_in[i], *out = &k->between[k->n - 1];

  if (mode && mode->slices)
    return one_frame_in_slices (k, i);
  return (!mode || cf_stream_copy (k->stream, CF_UPLOAD, in, &k->host_in[i], NULL, &k->status) == CF_OK) &&
      cf_stream_record (k->stream, k->events, 0, &k->status) == CF_OK && filter_frame (k, in, out) &&
      cf_stream_record (k->stream, k->events, 1, &k->status) == CF_OK &&
      (!mode || cf_stream_copy (k->stream, CF_DOWNLOAD, &k->host_out[i], out, NULL, &k->status) == CF_OK) &&
      cf_stream_wait (k->stream, DEADLINE, NULL, &k->status) == CF_OK;
}

/* Returns the us per frame with QUEUED frames queued in CUDA memory; 0 after an error. */
static double
measure_queued (KernelRun *k, double seconds)
{
  guint64 begin = bench_now (), now = begin;
  int n = 0;

  do {
    for (int i = 0; i < QUEUED; i++, n++)
      if (!filter_frame (k, &k->device_in[n % FRAMES], &k->between[k->n - 1]))
        return 0;
    if (cf_stream_wait (k->stream, DEADLINE, NULL, &k->status) != CF_OK)
      return 0;
    now = bench_now ();
  } while ((double) (now - begin) < seconds * 1e9);
  return (double) (now - begin) / 1e3 / n;
}

/* Filters one frame after the other for `seconds`. The row gets the times if their median, which *p50
 * becomes, is the least so far. */
static gboolean
try_mode (KernelRun *k, const TransferMode *mode, double seconds, BenchRow *row, double *p50)
{
  g_autoptr (GArray) took = g_array_new (FALSE, FALSE, sizeof (guint64));
  guint64 begin = bench_now (), now = begin;
  BenchRow own = *row;
  double kernels = 0;

  for (int i = 0; (double) (now - begin) < seconds * 1e9 || i < 20; i++) {
    guint64 from = bench_now (), ns;

    if (!one_frame (k, mode, i % FRAMES))
      return FALSE;
    now = bench_now ();
    ns = now - from;
    if (i < 10) /* the first frames load kernels */
      continue;
    kernels += (double) cf_events_elapsed_ns (k->events, 0, 1);
    g_array_append_val (took, ns);
  }
  bench_set_latencies (&own, took);
  own.frames = took->len;
  own.element[0].kernel_p50 = kernels / took->len / 1e3;
  *p50 = own.p50;
  if (row->p50 == 0 || own.p50 < row->p50)
    *row = own;
  return TRUE;
}

/* Returns CF_UNSUPPORTED for a mode that the line or its frames do not have. */
static CfCode
open_mode (KernelRun *k, const TransferMode *mode)
{
  if (mode->slices == 0)
    return CF_OK;
  if (k->n > 1)
    return CF_UNSUPPORTED;
  if ((k->up || (k->up = cf_stream_new (NULL, &k->status))) &&
      (k->down || (k->down = cf_stream_new (NULL, &k->status))))
    k->slices = cf_slices_new (mode->slices, k->context, k->filter[0], &k->video, &k->common[0], k->params[0],
        &k->status);
  return k->slices ? CF_OK : k->status.code;
}

static gboolean
try_host (KernelRun *k, double seconds, BenchRow *row)
{
  g_autoptr (GString) all = g_string_new (NULL);
  double p50;

  for (guint w = 0; w < G_N_ELEMENTS (modes); w++) {
    CfCode code = open_mode (k, &modes[w]);
    gboolean good;

    if (code == CF_UNSUPPORTED)
      continue;
    if (code != CF_OK)
      return FALSE;
    good = try_mode (k, &modes[w], seconds / G_N_ELEMENTS (modes), row, &p50);
    cf_slices_free (k->slices);
    k->slices = NULL;
    if (!good)
      return FALSE;
    g_string_append_printf (all, "%s%s %.0f us", all->len ? "; " : "", modes[w].name, p50 * 1e3);
  }
  g_strlcpy (row->note, all->str, sizeof row->note);
  row->ms = row->p50;
  return TRUE;
}

static gboolean
try_device (KernelRun *k, double seconds, BenchRow *row)
{
  double p50, queued;

  /* The time may depend on the content, so device_in gets images too. */
  for (int i = 0; i < FRAMES; i++)
    if (cf_stream_copy (k->stream, CF_UPLOAD, &k->device_in[i], &k->host_in[i], NULL, &k->status) != CF_OK)
      return FALSE;
  if (!try_mode (k, NULL, seconds / 2, row, &p50) || (queued = measure_queued (k, seconds / 2)) <= 0)
    return FALSE;
  row->ms = queued / 1e3;
  g_snprintf (row->note, sizeof row->note, "in CUDA memory, many queued; p50 of one by one");
  return TRUE;
}

static gboolean
add_plan (KernelRun *k, GstElement *element)
{
  const CfFilter *filter = bench_line_filter (element);
  int n = k->n, apply_to = 0;

  if (!filter)
    return refuse (k, NOT_OURS);
  k->filter[n] = filter;
  k->params[n] = cf_params_new (filter, NULL);
  if (!k->params[n])
    return refuse (k, "out of memory");
  k->n++;
  g_object_get (element, "apply-to", &apply_to, NULL);
  k->common[n].apply_to = (CfApplyTo) apply_to;
  if (bench_line_params (element, filter, k->params[n], &k->status))
    k->plan[n] = cf_plan_new (k->context, filter, &k->video, &k->common[n], k->params[n], &k->status);
  return k->plan[n] != NULL;
}

/* Makes the plans, the streams and the memory. */
static gboolean
open_run (KernelRun *k, const BenchCase *c, GstElement *bin)
{
  g_autolist (GstElement) filters = find_filters (bin);
  guint n = g_list_length (filters);
  gboolean good = n > 0 && n <= BENCH_ELEMENTS && (int) n == GST_BIN_NUMCHILDREN (bin);

  k->video = (CfVideo) { cf_format_from_name (c->format), c->size.width, c->size.height, false };
  if (!good)
    refuse (k, NOT_OURS);
  good = good && cf_gpu_count (&k->status) > 0 && (k->context = cf_context_new (CF_BACKEND_CUDA, &k->status)) &&
      (k->stream = cf_stream_new (NULL, &k->status)) && (k->events = cf_events_new (2, &k->status)) &&
      (k->video.format != CF_FORMAT_NONE || refuse (k, "the filters do not take this format"));
  for (GList *l = filters; l && good; l = l->next)
    good = add_plan (k, l->data);
  return good && allocate (k, c, k->video.format) && (fill (k, c) || refuse (k, "there are no images of this format"));
}

void
bench_kernels_only (const BenchOptions *opt, const BenchCase *c, BenchRow *row)
{
  GstElement *bin = bench_line_new (c, 0, row);
  KernelRun run = { NULL };
  double seconds = MIN (opt->seconds, 1);

  g_strlcpy (row->format, c->format, sizeof row->format);
  if (bin && open_run (&run, c, bin) &&
      (c->memory == BENCH_CUDA ? try_device (&run, seconds, row) : try_host (&run, seconds, row))) {
    row->n_elements = 1;
    row->frame_bytes = run.bytes;
    row->rotating = FRAMES;
    row->element[0].gpu = row->element[0].frames = row->frames;
    g_strlcpy (row->element[0].name, "filter", sizeof row->element[0].name);
    g_strlcpy (row->element[0].backend, "cuda", sizeof row->element[0].backend);
    row->fps = 1e3 / row->ms;
    row->seconds = (double) row->frames * row->p50 / 1e3;
  } else {
    bench_fail (row, BENCH_LEFT_OUT, "%s", run.status.message); /* where there is no bin, the row has the reason */
  }
  free_run (&run);
  g_clear_object (&bin);
}
