/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcfbackend.c: the way of a frame, and the way out when the GPU fails. */
#include "gstcfbackend.h"
#include "gstcfcuda.h"
#include "gstcfframe.h"
#include "gstcfparams.h"
#include "gstcfmemory.h"

#include <stdio.h>
#include <string.h>

GST_DEBUG_CATEGORY_EXTERN (gst_cf_filter_debug);
#define GST_CAT_DEFAULT gst_cf_filter_debug

/* So many failures that may pass are tried again on later frames... */
#define MAX_FAILURES 4
/* ...and forgotten after so many good frames. */
#define FORGET_AFTER 10000

static guint64
now_ns (void)
{
  return (guint64) g_get_monotonic_time () * 1000;
}

void
gst_cf_backend_init (GstCfBackend *path, GstElement *element, const CfFilter *filter)
{
  memset (path, 0, sizeof *path);
  path->element = element;
  path->filter = filter;
  g_mutex_init (&path->lock);
  gst_cf_chain_init (&path->chain, element);
  gst_cf_stats_init (&path->stats);
}

void
gst_cf_backend_clear (GstCfBackend *path)
{
  gst_cf_backend_stop (path);
  gst_cf_stats_clear (&path->stats);
  g_mutex_clear (&path->lock);
}

void
gst_cf_backend_post_error (GstElement *element, const CfStatus *status, const gchar *what)
{
  GQuark domain = GST_RESOURCE_ERROR;
  gint code = GST_RESOURCE_ERROR_FAILED;
  gchar *text = g_strdup_printf ("%s: %s", what, status->message);

  switch (status->code) {
    case CF_BAD_VALUE:
    case CF_UNSUPPORTED:
      domain = GST_STREAM_ERROR;
      code = GST_STREAM_ERROR_FORMAT;
      break;
    case CF_NO_MEMORY:
      code = GST_RESOURCE_ERROR_NO_SPACE_LEFT;
      break;
    case CF_NO_GPU:
      code = GST_RESOURCE_ERROR_NOT_FOUND;
      break;
    default:
      break;
  }
  gst_element_message_full (element, GST_MESSAGE_ERROR, domain, code, text, NULL, __FILE__, GST_FUNCTION, __LINE__);
}

gboolean
gst_cf_video_from_info (const CfFilter *filter, const GstVideoInfo *info, CfVideo *video, guint *modes,
    CfStatus *status)
{
  const gchar *name = gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (info));
  const gchar *interlacing = gst_video_interlace_mode_to_string (GST_VIDEO_INFO_INTERLACE_MODE (info));

  memset (video, 0, sizeof *video);
  video->format = cf_format_from_name (name);
  video->width = GST_VIDEO_INFO_WIDTH (info);
  video->height = GST_VIDEO_INFO_HEIGHT (info);
  switch (GST_VIDEO_INFO_INTERLACE_MODE (info)) {
    case GST_VIDEO_INTERLACE_MODE_PROGRESSIVE:
      *modes = 1u << GST_CF_PROGRESSIVE;
      break;
    case GST_VIDEO_INTERLACE_MODE_INTERLEAVED:
      *modes = 1u << GST_CF_INTERLACED;
      video->interlaced = true;
      break;
    case GST_VIDEO_INTERLACE_MODE_MIXED:
      *modes = 1u << GST_CF_PROGRESSIVE | 1u << GST_CF_INTERLACED;
      break;
    default:
      status->code = CF_UNSUPPORTED;
      snprintf (status->message, sizeof status->message,
          "interlace-mode %s is not handled; progressive, interleaved and mixed are", interlacing);
      return FALSE;
  }
  if (video->format == CF_FORMAT_NONE) {
    status->code = CF_UNSUPPORTED;
    snprintf (status->message, sizeof status->message, "the pixel format %s is not handled", name);
    return FALSE;
  }
  if (cf_filter_whole_frames (filter)) {
    *modes = 1u << GST_CF_PROGRESSIVE;
    video->interlaced = false;
  }
  return TRUE;
}

/* ---- start and stop ----------------------------------------------------- */

gboolean
gst_cf_backend_start (GstCfBackend *path, guint slots, gboolean fail_on_gpu_error, CfStatus *status)
{
  gst_cf_stats_reset (&path->stats);
  path->slots = slots;
  path->fail_on_gpu_error = fail_on_gpu_error;
  path->failures = path->good = 0;
  path->warned = path->ended = path->configured = path->use_gpu = path->gap = path->hung = FALSE;
  path->cpu = cf_context_new (CF_BACKEND_CPU, status);
  return path->cpu != NULL;
}

gboolean
gst_cf_backend_open_gpu (GstCfBackend *path, GstObject *context, CfStatus *status)
{
  path->use_gpu = gst_cf_gpu_open (&path->gpu, context, path->slots, status);
  if (path->use_gpu)
    gst_cf_chain_open (&path->chain, context);
  return path->use_gpu;
}

static void
free_cpu_plans (GstCfBackend *path)
{
  for (int m = 0; m < GST_CF_N_MODES; m++) {
    cf_plan_free (path->cpu_plan[m]);
    path->cpu_plan[m] = NULL;
  }
}

/* What a GPU that hangs may still use stays. */
static void
close_gpu (GstCfBackend *path)
{
  if (gst_cf_chain_close (&path->chain) == CF_TIMEOUT)
    gst_cf_stats_abandon (&path->stats, gst_cf_gpu_abandon (&path->gpu));
  else
    gst_cf_gpu_close (&path->gpu);
}

void
gst_cf_backend_stop (GstCfBackend *path)
{
  close_gpu (path);
  free_cpu_plans (path);
  if (path->cpu)
    cf_context_free (path->cpu);
  path->cpu = NULL;
  if (path->params)
    gst_cf_params_free (path->filter, path->params);
  path->params = NULL;
  path->configured = path->use_gpu = FALSE;
}

static void
reset_cpu_plans (GstCfBackend *path)
{
  for (int m = 0; m < GST_CF_N_MODES; m++)
    if (path->cpu_plan[m])
      cf_plan_reset (path->cpu_plan[m]);
}

/* ---- failure ------------------------------------------------------------ */

/* Takes note of a GPU failure: decides whether the GPU is tried again, and
 * says so once on the bus. `on_gpu`: the frame is in GPU memory on either side.
 * FALSE: this ends the stream, and the element error is posted. */
static gboolean
gpu_failed (GstCfBackend *path, const CfStatus *status, gboolean on_gpu)
{
  gboolean hung = status->code == CF_TIMEOUT;
  gboolean lost = hung || status->code == CF_GPU_LOST || cf_gpu_lost ();
  gboolean give_up = lost || ++path->failures >= MAX_FAILURES || status->code == CF_NO_GPU;
  gboolean ends = path->fail_on_gpu_error || (on_gpu && lost);

  path->good = 0;
  if (path->follows && path->use_gpu) /* else the CPU has been at work already */
    reset_cpu_plans (path);
  g_mutex_lock (&path->lock);
  if (lost) {
    path->given_up++;
    path->hung = hung;
  }
  if (hung)
    gst_cf_stats_abandon (&path->stats, gst_cf_gpu_abandon (&path->gpu));
  if (ends || give_up || path->history > 0 || path->follows)
    path->use_gpu = FALSE;
  g_mutex_unlock (&path->lock);
  if (ends) {
    path->ended = path->fail_on_gpu_error;
    gst_cf_backend_post_error (path->element, status, path->fail_on_gpu_error ? "The GPU failed (on-gpu-error=error)"
        : "The GPU failed, and the frame cannot be taken out of its memory");
    return FALSE;
  }
  GST_WARNING_OBJECT (path->element, "GPU failure %u, error %d: %s", path->failures, status->cuda, status->message);
  if (!path->warned) {
    gchar *text = g_strdup_printf ("The GPU failed: %s. The CPU filters %s%s", status->message,
        give_up ? "from here on" : path->history > 0 || path->follows ? "until the next flush"
        : "this frame; the GPU is tried again", path->follows ? ", and the numbers of regions begin anew" : "");

    path->warned = TRUE;
    gst_element_message_full (path->element, GST_MESSAGE_WARNING, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED, text,
        NULL, __FILE__, GST_FUNCTION, __LINE__);
  }
  return TRUE;
}

/* May the GPU be used again where its memory of the stream does not matter? */
static gboolean
gpu_is_fit (const GstCfBackend *path)
{
  return !path->ended && path->gpu.context && path->gpu.configured && path->failures < MAX_FAILURES
      && !cf_gpu_lost ();
}

/* ---- configuration ------------------------------------------------------ */

static gboolean
make_cpu_plans (GstCfBackend *path, CfStatus *status)
{
  for (int m = 0; m < GST_CF_N_MODES; m++) {
    CfVideo video = { path->format, GST_VIDEO_INFO_WIDTH (&path->info), GST_VIDEO_INFO_HEIGHT (&path->info),
      m == GST_CF_INTERLACED };

    if (!(path->modes & (1u << m)))
      continue;
    path->cpu_plan[m] = cf_plan_new (path->cpu, path->filter, &video, &path->common, path->params, status);
    if (!path->cpu_plan[m])
      return FALSE;
  }
  return TRUE;
}

static void
take_params (GstCfBackend *path, const CfCommon *common, gconstpointer params)
{
  CfVideo video;

  if (path->params)
    gst_cf_params_free (path->filter, path->params);
  path->params = gst_cf_params_copy (path->filter, params);
  path->common = *common;
  path->history = cf_filter_history (path->filter, params);
  path->follows = cf_filter_follows (path->filter, params);
  path->reports = cf_filter_reports (path->filter, params);
  video = (CfVideo) { path->format, GST_VIDEO_INFO_WIDTH (&path->info), GST_VIDEO_INFO_HEIGHT (&path->info), false };
  path->passes = cf_filter_passes (path->filter, &video, common, params);
}

static gboolean
configure_gpu (GstCfBackend *path)
{
  CfStatus status = { 0 };

  if (path->ended) /* and the error is posted */
    return FALSE;
  if (!path->gpu.context || path->failures >= MAX_FAILURES || cf_gpu_lost ()) {
    path->use_gpu = FALSE;
    return TRUE;
  }
  /* Frames that have left may still need the plans. */
  path->use_gpu = gst_cf_chain_settle (&path->chain, &status) == CF_OK && gst_cf_gpu_configure (&path->gpu,
      path->filter, &path->info, path->format, path->modes, &path->common, path->params, &status);
  if (path->use_gpu)
    return TRUE;
  /* Without its plans and memory there is nothing to try again. */
  path->failures = MAX_FAILURES;
  return gpu_failed (path, &status, FALSE);
}

gboolean
gst_cf_backend_configure (GstCfBackend *path, const GstVideoInfo *info, const CfCommon *common, gconstpointer params)
{
  CfStatus status = { 0 };
  CfVideo video;

  path->configured = FALSE;
  free_cpu_plans (path);
  if (!gst_cf_video_from_info (path->filter, info, &video, &path->modes, &status)) {
    gst_cf_backend_post_error (path->element, &status, "These caps cannot be filtered");
    return FALSE;
  }
  path->info = *info;
  path->format = video.format;
  take_params (path, common, params);
  if (!configure_gpu (path))
    return FALSE;
  if (!(path->use_gpu && path->fail_on_gpu_error) && !make_cpu_plans (path, &status)) {
    gst_cf_backend_post_error (path->element, &status, "The filter could not be set up");
    return FALSE;
  }
  path->configured = TRUE;
  return TRUE;
}

gboolean
gst_cf_backend_update (GstCfBackend *path, const CfCommon *common, gconstpointer params)
{
  CfStatus status = { 0 };

  if (!path->configured)
    return TRUE;
  take_params (path, common, params);
  for (int m = 0; m < GST_CF_N_MODES; m++) {
    CfVideo video = { path->format, GST_VIDEO_INFO_WIDTH (&path->info), GST_VIDEO_INFO_HEIGHT (&path->info),
      m == GST_CF_INTERLACED };

    if (path->cpu_plan[m] && !gst_cf_plan_update (&path->cpu_plan[m], path->cpu, path->filter, &video, common, params,
            &status)) {
      gst_cf_backend_post_error (path->element, &status, "The filter could not take its new properties");
      return FALSE;
    }
  }
  if (!gpu_is_fit (path))
    return TRUE;
  if (gst_cf_chain_settle (&path->chain, &status) == CF_OK
      && gst_cf_gpu_update (&path->gpu, path->filter, &path->info, path->format, common, params, &status))
    return TRUE;
  path->failures = MAX_FAILURES; /* its plans hold other parameters than the CPU's */
  return gpu_failed (path, &status, FALSE);
}

gboolean
gst_cf_backend_adopt (GstCfBackend *path, GstObject *context)
{
  CfStatus status = { 0 };

  close_gpu (path);
  if (!gst_cf_backend_open_gpu (path, context, &status)) {
    path->failures = MAX_FAILURES;
    return gpu_failed (path, &status, FALSE);
  }
  return path->configured ? configure_gpu (path) : TRUE;
}

void
gst_cf_backend_reset (GstCfBackend *path)
{
  CfStatus status = { 0 };

  reset_cpu_plans (path);
  if (!gpu_is_fit (path))
    return;
  if (gst_cf_gpu_reset (&path->gpu, &status))
    path->use_gpu = TRUE;
  else
    gpu_failed (path, &status, FALSE); /* its plans still know the earlier frames */
}

/* ---- frames ------------------------------------------------------------- */

typedef enum { DONE, TRY_CPU, FAILED } Outcome;

static gboolean
map (GstCfBackend *path, GstCfFrame *frame, GstBuffer *buffer, GstMapFlags flags)
{
  CfStatus status = { 0 };

  if (gst_cf_frame_map (frame, buffer, &path->info, path->format, flags, &status))
    return TRUE;
  gst_cf_backend_post_error (path->element, &status, flags & GST_MAP_WRITE ? "The output buffer cannot be written"
      : "The input buffer cannot be read");
  return FALSE;
}

static gboolean
map_both (GstCfBackend *path, GstCfFrame *in, GstBuffer *in_buffer, GstMapFlags in_flags, GstCfFrame *out,
    GstBuffer *out_buffer, GstMapFlags out_flags)
{
  if (!map (path, in, in_buffer, GST_MAP_READ | in_flags))
    return FALSE;
  if (map (path, out, out_buffer, GST_MAP_WRITE | out_flags))
    return TRUE;
  gst_cf_frame_unmap (in);
  return FALSE;
}

/* The GPU has nothing more to do with the buffer, which is to be read or written
 * elsewhere than on the chain's stream. */
static gboolean
finish_buffer (GstCfBackend *path, GstBuffer *buffer)
{
  CfStatus status = { 0 };

  if (gst_cf_chain_finish (buffer, &status) == CF_OK)
    return TRUE;
  gst_cf_backend_post_error (path->element, &status, "The GPU failed, and the frame cannot be taken out of its memory");
  return FALSE;
}

/* Keeps the CPU's plans at hand for a stream that the GPU filters, or the
 * other mode's plan up to date. `but` is the mode that has seen the frame. */
static void
remember_on_cpu (GstCfBackend *path, const CfImage *in, int but)
{
  CfStatus status = { 0 };

  for (int m = 0; m < GST_CF_N_MODES; m++)
    if (m != but && path->cpu_plan[m] && cf_plan_push_history (path->cpu_plan[m], NULL, in, &status) != CF_OK)
      GST_WARNING_OBJECT (path->element, "a frame was not remembered: %s", status.message);
}

/* Submitting thread, lock held. */
static void
submit_gpu (GstCfBackend *path, GstCfJob *job, guint slot)
{
  GstObject *in_context = gst_cf_cuda_buffer_context (job->in), *out_context = gst_cf_cuda_buffer_context (job->out);
  gboolean in_device = in_context && in_context == path->gpu.context;
  gboolean out_device = out_context && out_context == path->gpu.context;
  GstMapFlags in_flags = in_device ? GST_CF_MAP_CUDA : 0, out_flags = out_device ? GST_CF_MAP_CUDA : 0;

  job->on_gpu = TRUE;
  job->given_up = path->given_up;
  job->cuda_memory = in_context || out_context;
  if (cf_gpu_lost ()) { /* another element's fault ends this one's GPU as well */
    job->status.code = CF_GPU_LOST;
    snprintf (job->status.message, sizeof job->status.message, "an earlier fault ended CUDA for this process");
    return;
  }
  job->mapped = (in_device || finish_buffer (path, job->in)) && (out_device || finish_buffer (path, job->out))
      && map_both (path, &job->src, job->in, in_flags, &job->dst, job->out, out_flags);
  job->refused = !job->mapped;
  if (job->refused)
    return;
  job->gpu = (GstCfGpuJob) { .slot = slot, .mode = job->mode, .filter = path->filter, .common = &path->common,
    .params = path->params, .in = &job->src.image, .out = &job->dst.image,
    .in_device = in_device, .out_device = out_device, .in_pinned = gst_cf_buffer_is_pinned (job->in),
    .out_pinned = gst_cf_buffer_is_pinned (job->out), .regions = path->reports ? &path->regions : NULL,
    .chain = &path->chain, .in_buffer = job->in, .out_buffer = job->out };
  job->gpu.leave = out_device && (in_device || job->gpu.in_pinned) && !path->reports
      && gst_cf_chain_may_leave (&path->chain);
  job->status.code = gst_cf_gpu_submit (&path->gpu, &job->gpu, path->history > 0, &job->status);
}

static void
log_way (const GstCfBackend *path)
{
  static const gchar *const names[] = {
    "copied to the GPU and back", "read from host memory by the kernels, and copied back",
    "copied to the GPU, and written to host memory by the kernels",
    "read from and written to host memory by the kernels", "copied to the GPU and back in two bands",
    "copied to the GPU and back in four bands"
  };
  const GstCfTrial *t = &path->gpu.trial;

  G_STATIC_ASSERT (G_N_ELEMENTS (names) == GST_CF_N_WAYS);
  GST_INFO_OBJECT (path->element, "frames are %s", names[t->chosen]);
  for (int w = 0; w < GST_CF_N_WAYS; w++)
    if (t->best[w])
      GST_INFO_OBJECT (path->element, "%s: %" G_GUINT64_FORMAT " ns", names[w], t->best[w]);
}

/* The GPU may still read the one buffer and write the other. */
static void
give_up_buffers (GstCfBackend *path, GstCfJob *job)
{
  guint n;

  if (job->gpu.in_pinned)
    gst_cf_stats_abandon (&path->stats, gst_cf_buffer_pin_memory (job->in));
  if (!job->gpu.out_pinned)
    return;
  n = gst_cf_buffer_give_up_memory (job->out, &path->info);
  gst_cf_stats_abandon (&path->stats, n);
  if (n == 0)
    path->fail_on_gpu_error = TRUE; /* nowhere to put the frame */
}

/* What the GPU has made of the frame. `stale`: it was given up meanwhile. */
static CfCode
wait_for_gpu (GstCfBackend *path, GstCfJob *job, gboolean stale)
{
  CfCode code = job->status.code;

  if (stale)
    return path->hung && (code == CF_OK || code == CF_TIMEOUT) ? CF_TIMEOUT : CF_GPU_LOST;
  return code == CF_OK ? gst_cf_gpu_finish (&path->gpu, &job->gpu, &job->status) : code;
}

static Outcome
finish_gpu (GstCfBackend *path, GstCfJob *job, guint64 time[GST_CF_N_TIMES])
{
  gboolean stale = job->given_up != path->given_up;
  CfCode code = wait_for_gpu (path, job, stale);

  job->status.code = code;
  if (code == CF_OK && path->history > 0 && !job->gpu.in_device)
    remember_on_cpu (path, &job->src.image, -1);
  if (job->mapped) {
    gst_cf_frame_unmap (&job->dst);
    gst_cf_frame_unmap (&job->src);
  }
  if (code == CF_OK) {
    time[GST_CF_UPLOAD] = job->gpu.upload;
    time[GST_CF_KERNEL] = job->gpu.kernel;
    time[GST_CF_DOWNLOAD] = job->gpu.download;
    if (job->gpu.decided)
      log_way (path);
    if (++path->good >= FORGET_AFTER)
      path->failures = 0;
    return DONE;
  }
  if (code == CF_TIMEOUT)
    give_up_buffers (path, job);
  if (stale) /* the bus has heard of it */
    return path->fail_on_gpu_error || job->cuda_memory ? FAILED : TRY_CPU;
  return gpu_failed (path, &job->status, job->cuda_memory) ? TRY_CPU : FAILED;
}

static Outcome
run_cpu (GstCfBackend *path, GstBuffer *in, GstBuffer *out, GstCfMode mode, guint64 time[GST_CF_N_TIMES])
{
  gboolean on_gpu = gst_cf_cuda_buffer_context (in) || gst_cf_cuda_buffer_context (out);
  CfStatus status = { 0 };
  GstCfFrame src, dst;
  guint64 start;
  CfCode code;

  if (on_gpu && cf_gpu_lost ()) {
    status.code = CF_GPU_LOST;
    snprintf (status.message, sizeof status.message, "a fault ended CUDA for this process");
    gst_cf_backend_post_error (path->element, &status, "The frame cannot be taken out of the GPU's memory");
    return FAILED;
  }
  if (!finish_buffer (path, in) || !finish_buffer (path, out) || !map_both (path, &src, in, 0, &dst, out, 0))
    return FAILED;
  start = now_ns ();
  code = cf_plan_enqueue (path->cpu_plan[mode], NULL, &src.image, &dst.image, &status);
  time[GST_CF_KERNEL] = now_ns () - start;
  if (code == CF_OK && path->history > 0)
    remember_on_cpu (path, &src.image, (int) mode);
  if (code == CF_OK && path->reports)
    code = cf_plan_regions (path->cpu_plan[mode], &path->regions, &status);
  gst_cf_frame_unmap (&dst);
  gst_cf_frame_unmap (&src);
  if (code == CF_OK)
    return DONE;
  gst_cf_backend_post_error (path->element, &status, "The frame could not be filtered");
  return FAILED;
}

static GstCfMode
mode_of (const GstCfBackend *path, GstBuffer *buffer)
{
  if (path->modes == (1u << GST_CF_PROGRESSIVE))
    return GST_CF_PROGRESSIVE;
  if (path->modes == (1u << GST_CF_INTERLACED))
    return GST_CF_INTERLACED;
  return GST_BUFFER_FLAG_IS_SET (buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED) ? GST_CF_INTERLACED : GST_CF_PROGRESSIVE;
}

static gsize
frame_bytes (const GstCfBackend *path)
{
  gsize bytes = 0;

  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&path->info); p++)
    bytes += cf_plane_row_bytes (path->format, GST_VIDEO_INFO_WIDTH (&path->info), (int) p)
        * (gsize) cf_plane_rows (path->format, GST_VIDEO_INFO_HEIGHT (&path->info), (int) p);
  return bytes;
}

gboolean
gst_cf_backend_may_pass (const GstCfBackend *path, GstBuffer *in)
{
  return path->configured && path->passes && !gst_cf_frame_crops (in, &path->info)
      && gst_cf_chain_pass (&path->chain, in);
}

gboolean
gst_cf_backend_needs_reset (GstCfBackend *path)
{
  gboolean needs = FALSE;

  if (path->follows) {
    g_mutex_lock (&path->lock);
    needs = path->gap;
    g_mutex_unlock (&path->lock);
  }
  return needs;
}

gboolean
gst_cf_backend_is_elsewhere (GstCfBackend *path, GstObject *context)
{
  gboolean elsewhere;

  g_mutex_lock (&path->lock);
  elsewhere = path->use_gpu && path->gpu.context != context;
  g_mutex_unlock (&path->lock);
  return elsewhere;
}

gboolean
gst_cf_backend_submit (GstCfBackend *path, GstCfJob *job, guint slot, GstBuffer *in, GstBuffer *out)
{
  job->in = in;
  job->out = out;
  job->start = now_ns ();
  job->mode = mode_of (path, in);
  job->refused = job->on_gpu = job->mapped = FALSE;
  job->status.code = CF_OK;
  g_mutex_lock (&path->lock);
  path->gap = in == out;
  if (in != out && path->configured && path->use_gpu)
    submit_gpu (path, job, slot);
  g_mutex_unlock (&path->lock);
  return !job->refused && job->status.code == CF_OK;
}

static GstFlowReturn
passed (GstCfBackend *path, gboolean drop)
{
  static const guint64 no_time[GST_CF_N_TIMES];

  if (!drop)
    gst_cf_stats_frame (&path->stats, GST_CF_PASSED, frame_bytes (path), no_time);
  return GST_FLOW_OK;
}

GstFlowReturn
gst_cf_backend_finish (GstCfBackend *path, GstCfJob *job, gboolean drop)
{
  guint64 time[GST_CF_N_TIMES] = { 0 };
  GstCfBy by = GST_CF_BY_CPU;
  Outcome outcome = TRY_CPU;

  if (job->in == job->out)
    return passed (path, drop);
  if (!path->configured)
    return GST_FLOW_NOT_NEGOTIATED;
  if (job->refused)
    return GST_FLOW_ERROR;
  if (job->on_gpu) {
    outcome = finish_gpu (path, job, time);
    by = outcome == DONE ? GST_CF_BY_GPU : GST_CF_BY_FALLBACK;
  }
  if (outcome == TRY_CPU && drop)
    return GST_FLOW_OK;
  /* Without a plan the GPU has failed for good, and was not to be stood in for. */
  if (outcome == TRY_CPU && !path->cpu_plan[job->mode])
    return GST_FLOW_ERROR;
  if (outcome == TRY_CPU)
    outcome = run_cpu (path, job->in, job->out, job->mode, time);
  if (outcome != DONE)
    return GST_FLOW_ERROR;
  if (by == GST_CF_BY_FALLBACK) {
    g_mutex_lock (&path->lock);
    path->gap = path->gap || path->use_gpu;
    g_mutex_unlock (&path->lock);
  }
  if (drop)
    return GST_FLOW_OK;
  time[GST_CF_TOTAL] = now_ns () - job->start;
  gst_cf_stats_frame (&path->stats, by, frame_bytes (path), time);
  return GST_FLOW_OK;
}
