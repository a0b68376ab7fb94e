/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcfgpu.c: one element's GPU objects and the way of a frame. */
#include "gstcfgpu.h"
#include "gstcfcuda.h"
#include "gstcfframe.h"

#include <stdio.h>
#include <string.h>

static gboolean
push (GstCfGpu *gpu, CfStatus *status)
{
  if (gst_cf_cuda_push (gpu->context))
    return TRUE;
  status->code = cf_gpu_lost () ? CF_GPU_LOST : CF_GPU_ERROR;
  status->cuda = 0;
  snprintf (status->message, sizeof status->message, "the CUDA context could not be made current");
  return FALSE;
}

gboolean
gst_cf_gpu_open (GstCfGpu *gpu, GstObject *context, CfStatus *status)
{
  memset (gpu, 0, sizeof *gpu);
  gpu->context = gst_object_ref (context);
  if (!push (gpu, status)) {
    gst_clear_object (&gpu->context);
    return FALSE;
  }
  gpu->cf = cf_context_new (CF_BACKEND_CUDA, status);
  if (gpu->cf)
    gpu->stream = cf_stream_new (NULL, status);
  gst_cf_cuda_pop ();
  if (!gpu->stream)
    gst_cf_gpu_close (gpu);
  return gpu->context != NULL;
}

/* Context current. */
static void
free_configuration (GstCfGpu *gpu)
{
  for (int m = 0; m < GST_CF_N_MODES; m++) {
    cf_plan_free (gpu->plan[m]);
    gpu->plan[m] = NULL;
  }
  cf_device_free (gpu->memory_in);
  cf_device_free (gpu->memory_out);
  cf_pinned_free (gpu->memory_host_in);
  cf_pinned_free (gpu->memory_host_out);
  gpu->memory_in = gpu->memory_out = gpu->memory_host_in = gpu->memory_host_out = NULL;
}

void
gst_cf_gpu_unconfigure (GstCfGpu *gpu)
{
  if (gst_cf_cuda_push (gpu->context)) {
    free_configuration (gpu);
    gst_cf_cuda_pop ();
  } else {
    /* Out of reach (after a fork): nothing may be called any more. */
    memset (gpu->plan, 0, sizeof gpu->plan);
    gpu->memory_in = gpu->memory_out = gpu->memory_host_in = gpu->memory_host_out = NULL;
  }
}

void
gst_cf_gpu_close (GstCfGpu *gpu)
{
  if (!gpu->context)
    return;
  gst_cf_gpu_unconfigure (gpu);
  if (gst_cf_cuda_push (gpu->context)) {
    cf_stream_free (gpu->stream);
    cf_context_free (gpu->cf);
    gst_cf_cuda_pop ();
  }
  gst_object_unref (gpu->context);
  memset (gpu, 0, sizeof *gpu);
}

guint
gst_cf_gpu_abandon (GstCfGpu *gpu)
{
  guint n = 0;

  n += gpu->stream != NULL;
  n += (gpu->memory_in != NULL) + (gpu->memory_out != NULL);
  n += (gpu->memory_host_in != NULL) + (gpu->memory_host_out != NULL);
  for (int m = 0; m < GST_CF_N_MODES; m++)
    n += gpu->plan[m] != NULL;
  /* The reference to the context stays as well: it must outlive them. */
  memset (gpu, 0, sizeof *gpu);
  return n;
}

/* The same layout on both sides lets one copy move a whole frame; where the
 * rows of GStreamer's layout are badly aligned, rows of 256 are worth more. */
static gsize
choose_layout (CfImage *layout, const GstVideoInfo *info, CfFormat format)
{
  guint n = GST_VIDEO_INFO_N_PLANES (info);
  gboolean aligned = TRUE;

  for (guint p = 0; p < n; p++)
    aligned = aligned && GST_VIDEO_INFO_PLANE_STRIDE (info, p) % 16 == 0
        && GST_VIDEO_INFO_PLANE_OFFSET (info, p) % 16 == 0;
  if (!aligned)
    return cf_image_layout (layout, format, GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info), 256);
  memset (layout, 0, sizeof *layout);
  layout->format = format;
  layout->width = GST_VIDEO_INFO_WIDTH (info);
  layout->height = GST_VIDEO_INFO_HEIGHT (info);
  for (guint p = 0; p < n; p++) {
    layout->plane[p].data = (guint8 *) GST_VIDEO_INFO_PLANE_OFFSET (info, p);
    layout->plane[p].pitch = (size_t) GST_VIDEO_INFO_PLANE_STRIDE (info, p);
  }
  return GST_VIDEO_INFO_SIZE (info);
}

static gboolean
allocate (GstCfGpu *gpu, const GstVideoInfo *info, CfFormat format, CfStatus *status)
{
  CfImage layout;
  gsize size = choose_layout (&layout, info, format);

  if (!(gpu->memory_in = cf_device_alloc (size, status)) || !(gpu->memory_out = cf_device_alloc (size, status))
      || !(gpu->memory_host_in = cf_pinned_alloc (size, status))
      || !(gpu->memory_host_out = cf_pinned_alloc (size, status)))
    return FALSE;
  memset (gpu->memory_host_in, 0, size);
  memset (gpu->memory_host_out, 0, size);
  cf_image_at (&gpu->device_in, &layout, gpu->memory_in);
  cf_image_at (&gpu->device_out, &layout, gpu->memory_out);
  cf_image_at (&gpu->host_in, &layout, gpu->memory_host_in);
  cf_image_at (&gpu->host_out, &layout, gpu->memory_host_out);
  return TRUE;
}

gboolean
gst_cf_gpu_configure (GstCfGpu *gpu, const CfFilter *filter, const GstVideoInfo *info, CfFormat format, guint modes,
    const CfCommon *common, gconstpointer params, CfStatus *status)
{
  gboolean ok;

  if (!push (gpu, status))
    return FALSE;
  free_configuration (gpu);
  gpu->warm = FALSE;
  ok = allocate (gpu, info, format, status);
  for (int m = 0; ok && m < GST_CF_N_MODES; m++) {
    CfVideo video = { format, GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info), m == GST_CF_INTERLACED };

    if (modes & (1u << m)) {
      gpu->plan[m] = cf_plan_new (gpu->cf, filter, &video, common, params, status);
      ok = gpu->plan[m] != NULL;
    }
  }
  if (!ok)
    free_configuration (gpu);
  gst_cf_cuda_pop ();
  return ok;
}

gboolean
gst_cf_plan_update (CfPlan **plan, CfContext *context, const CfFilter *filter, const CfVideo *video,
    const CfCommon *common, gconstpointer params, CfStatus *status)
{
  CfCode code = cf_plan_update (*plan, common, params, status);

  if (code == CF_REPLAN) {
    CfPlan *fresh = cf_plan_new (context, filter, video, common, params, status);

    if (!fresh)
      return FALSE;
    cf_plan_free (*plan);
    *plan = fresh;
    code = CF_OK;
  }
  return code == CF_OK;
}

gboolean
gst_cf_gpu_update (GstCfGpu *gpu, const CfFilter *filter, const GstVideoInfo *info, CfFormat format,
    const CfCommon *common, gconstpointer params, CfStatus *status)
{
  gboolean ok = TRUE;

  if (!push (gpu, status))
    return FALSE;
  for (int m = 0; ok && m < GST_CF_N_MODES; m++) {
    CfVideo video = { format, GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info), m == GST_CF_INTERLACED };

    if (gpu->plan[m])
      ok = gst_cf_plan_update (&gpu->plan[m], gpu->cf, filter, &video, common, params, status);
  }
  gst_cf_cuda_pop ();
  return ok;
}

gboolean
gst_cf_gpu_reset (GstCfGpu *gpu, CfStatus *status)
{
  if (!push (gpu, status))
    return FALSE;
  for (int m = 0; m < GST_CF_N_MODES; m++)
    if (gpu->plan[m])
      cf_plan_reset (gpu->plan[m]);
  gst_cf_cuda_pop ();
  return TRUE;
}

/* Queues the whole frame; context current. */
static CfCode
queue_frame (GstCfGpu *gpu, CfStream *stream, const GstCfGpuJob *job, gboolean history, CfStatus *status)
{
  const CfImage *in = job->in_device ? job->in : &gpu->device_in;
  const CfImage *out = job->out_device ? job->out : &gpu->device_out;
  CfCode code = CF_OK;

  if (!job->in_device) {
    code = cf_stream_mark (stream, 0, status);
    if (code == CF_OK && !job->in_pinned)
      gst_cf_image_copy (&gpu->host_in, job->in);
    if (code == CF_OK)
      code = cf_stream_upload (stream, in, job->in_pinned ? job->in : &gpu->host_in, status);
  }
  if (code == CF_OK && job->timed)
    code = cf_stream_mark (stream, 1, status);
  if (code == CF_OK)
    code = cf_plan_enqueue (gpu->plan[job->mode], stream, in, out, status);
  for (int m = 0; code == CF_OK && history && m < GST_CF_N_MODES; m++)
    if (m != (int) job->mode && gpu->plan[m])
      code = cf_plan_remember (gpu->plan[m], stream, in, status);
  if (code == CF_OK && job->timed)
    code = cf_stream_mark (stream, 2, status);
  if (code == CF_OK && !job->out_device) {
    code = cf_stream_download (stream, job->out_pinned ? job->out : &gpu->host_out, out, status);
    if (code == CF_OK)
      code = cf_stream_mark (stream, 3, status);
  }
  return code;
}

static CfCode
wait (const GstCfGpu *gpu, CfStream *stream, const GstCfGpuJob *job, CfStatus *status)
{
  return gst_cf_chain_wait (job->chain, stream, gpu->warm ? GST_CF_DEADLINE_NS : GST_CF_FIRST_DEADLINE_NS, status);
}

static CfCode
finish_frame (GstCfGpu *gpu, CfStream *stream, GstCfGpuJob *job, CfStatus *status)
{
  CfCode code = wait (gpu, stream, job, status);

  if (code == CF_OK && job->regions)
    code = cf_plan_regions (gpu->plan[job->mode], job->regions, status);
  if (code != CF_OK)
    return code;
  job->upload = job->in_device ? 0 : cf_stream_elapsed_ns (stream, 0, 1);
  job->kernel = cf_stream_elapsed_ns (stream, 1, 2);
  job->download = job->out_device ? 0 : cf_stream_elapsed_ns (stream, 2, 3);
  return CF_OK;
}

CfCode
gst_cf_gpu_run (GstCfGpu *gpu, GstCfGpuJob *job, gboolean history, CfStatus *status)
{
  CfStream *stream = gpu->stream;
  CfCode code;

  if (!push (gpu, status))
    return status->code;
  code = gst_cf_chain_enter (job->chain, job->in_buffer, job->out_buffer, job->leave, &stream, status);
  job->timed = code == CF_OK && (!job->leave || gst_cf_chain_time (job->chain, &job->kernel));
  if (code == CF_OK)
    code = queue_frame (gpu, stream, job, history, status);
  if (code == CF_OK && job->leave) {
    gst_cf_chain_leave (job->chain, job->in_buffer, job->out_buffer, !gpu->warm);
  } else if (code == CF_OK) {
    code = finish_frame (gpu, stream, job, status);
  } else if (code != CF_GPU_LOST) {
    /* Some of it may be under way; nothing may be touched before it is over. */
    CfStatus ignored;

    if (wait (gpu, stream, job, &ignored) == CF_TIMEOUT)
      code = CF_TIMEOUT;
  }
  gpu->warm = gpu->warm || code == CF_OK;
  gst_cf_cuda_pop ();
  if (code == CF_OK && !job->out_device && !job->out_pinned)
    gst_cf_image_copy (job->out, &gpu->host_out);
  status->code = code;
  return code;
}
