/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * transfer/transfer.c: one element's GPU objects and the way of a frame. */
#include "transfer.h"
#include "gstcfcuda.h"
#include "gstcfframe.h"

#include <stdio.h>
#include <string.h>

/* The points of a frame's way; two of them are needed where copies have streams
 * of their own, the others where it is timed. */
enum { BEFORE_UPLOAD, AFTER_UPLOAD, BEFORE_KERNELS, AFTER_KERNELS, BEFORE_DOWNLOAD, AFTER_DOWNLOAD };
G_STATIC_ASSERT (AFTER_DOWNLOAD < CF_MARKS);

/* One frame in so many is timed for the stats: with marks around each copy, and waits for
 * copies that were over anyway, 1080p used 85 % of the link instead of 88. */
#define TIMED_EVERY 8

static guint64
now_ns (void)
{
  return (guint64) g_get_monotonic_time () * 1000;
}

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

/* From four frames under way on downloads go on two streams by turns: one begins while
 * the last bytes of another are on the link (1080p: 94 % of it instead of 88). With
 * fewer, two downloads at once leave the uploads without a frame to go with (3: 83 % instead
 * of 88, 2: 58 instead of 75). Two streams for uploads as well make frames fall into step,
 * all up, then all down. */
static guint
n_down (const GstCfGpu *gpu)
{
  return gpu->n_slots < 4 ? 1 : 2;
}

/* Context current. */
static gboolean
make_streams (GstCfGpu *gpu, CfStatus *status)
{
  CfStream **const streams[] = { &gpu->stream, &gpu->up, &gpu->down[0], &gpu->down[1] };
  gboolean good = TRUE;

  for (guint i = 0; good && i < 2 + n_down (gpu); i++)
    good = (*streams[i] = cf_stream_new (NULL, status)) != NULL;
  return good;
}

gboolean
gst_cf_gpu_open (GstCfGpu *gpu, GstObject *context, guint slots, CfStatus *status)
{
  gboolean good;

  memset (gpu, 0, sizeof *gpu);
  gpu->context = gst_object_ref (context);
  gpu->n_slots = slots;
  if (!push (gpu, status)) {
    gst_clear_object (&gpu->context);
    return FALSE;
  }
  gpu->cf = cf_context_new (CF_BACKEND_CUDA, status);
  if (gpu->cf && slots == 1)
    gpu->turns = gst_cf_turns_open (context);
  good = gpu->turns || (gpu->cf && make_streams (gpu, status));
  gst_cf_cuda_pop ();
  if (!good)
    gst_cf_gpu_close (gpu);
  return gpu->context != NULL;
}

/* Those of all ways but one; context current. */
static void
free_bands (GstCfGpu *gpu, GstCfWay but)
{
  for (int i = 0; i < 2; i++)
    if ((GstCfWay) (GST_CF_BANDS_2 + i) != but)
      gst_cf_bands_free (&gpu->bands[i]);
}

/* Context current. */
static void
free_configuration (GstCfGpu *gpu)
{
  gpu->configured = FALSE;
  gpu->before = NULL;
  gst_cf_trial_end (&gpu->trial);
  for (int m = 0; m < GST_CF_N_MODES; m++) {
    cf_plan_free (gpu->plan[m]);
    gpu->plan[m] = NULL;
  }
  free_bands (gpu, GST_CF_N_WAYS);
  cf_device_free (gpu->memory_bands);
  gpu->memory_bands = NULL;
  gpu->no_bands = FALSE;
  for (guint i = 0; i < gpu->n_slots; i++) {
    GstCfGpuSlot *slot = &gpu->slot[i];

    cf_device_free (slot->memory_in);
    cf_device_free (slot->memory_out);
    cf_pinned_free (slot->memory_host_in);
    cf_pinned_free (slot->memory_host_out);
    cf_marks_free (slot->marks);
    memset (slot, 0, sizeof *slot);
  }
}

void
gst_cf_gpu_unconfigure (GstCfGpu *gpu)
{
  if (gst_cf_cuda_push (gpu->context)) {
    free_configuration (gpu);
    gst_cf_cuda_pop ();
  } else {
    /* Out of reach (after a fork): nothing may be called any more. */
    gst_cf_trial_end (&gpu->trial);
    memset (gpu->plan, 0, sizeof gpu->plan);
    memset (gpu->slot, 0, sizeof gpu->slot);
    memset (gpu->bands, 0, sizeof gpu->bands);
    gpu->memory_bands = NULL;
    gpu->configured = FALSE;
  }
}

void
gst_cf_gpu_close (GstCfGpu *gpu)
{
  if (!gpu->context)
    return;
  gst_cf_gpu_unconfigure (gpu);
  if (gst_cf_cuda_push (gpu->context)) {
    cf_stream_free (gpu->down[1]);
    cf_stream_free (gpu->down[0]);
    cf_stream_free (gpu->up);
    cf_stream_free (gpu->stream);
    cf_context_free (gpu->cf);
    gst_cf_cuda_pop ();
  }
  if (gpu->turns)
    gst_cf_turns_close (gpu->turns);
  gst_object_unref (gpu->context);
  memset (gpu, 0, sizeof *gpu);
}

guint
gst_cf_gpu_abandon (GstCfGpu *gpu)
{
  guint n = (gpu->stream != NULL) + (gpu->up != NULL) + (gpu->down[0] != NULL) + (gpu->down[1] != NULL);

  for (guint i = 0; i < gpu->n_slots; i++) {
    const GstCfGpuSlot *slot = &gpu->slot[i];

    n += (slot->memory_in != NULL) + (slot->memory_out != NULL);
    n += (slot->memory_host_in != NULL) + (slot->memory_host_out != NULL);
  }
  n += gpu->bands[0].n + gpu->bands[1].n + (gpu->memory_bands != NULL);
  for (int m = 0; m < GST_CF_N_MODES; m++)
    n += gpu->plan[m] != NULL;
  if (gpu->turns) /* what hung of these was given up when it did */
    gst_cf_turns_close (gpu->turns);
  gst_cf_trial_end (&gpu->trial);
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

typedef gpointer (*Allocate) (gsize size, CfStatus *status);

/* Memory for a picture, on its first use: frames in CUDA memory need none, nor do those
 * of pinned memory any on the host. What is between rows travels with them. */
static gboolean
provide (const GstCfGpu *gpu, Allocate allocate, gpointer *memory, CfImage *image, CfStatus *status)
{
  if (*memory)
    return TRUE;
  *memory = allocate (gpu->bytes, status);
  if (!*memory)
    return FALSE;
  if (allocate == cf_pinned_alloc)
    memset (*memory, 0, gpu->bytes);
  cf_image_at (image, &gpu->layout, *memory);
  return TRUE;
}

/* ---- plans -------------------------------------------------------------- */

/* Begins a trial, or goes on with one if the plans do the same as before: with other
 * kernels, or rows that depend on more others, another way may be quicker. */
static void
begin_trial (GstCfGpu *gpu, const CfFilter *filter, gconstpointer params, gint wait)
{
  const CfPlan *plan = gpu->plan[GST_CF_PROGRESSIVE] ? gpu->plan[GST_CF_PROGRESSIVE] : gpu->plan[GST_CF_INTERLACED];
  g_autofree gchar *work = g_strdup_printf ("%p %p %s %d of %d x %d x %d", (gpointer) gpu->context, (gpointer) filter,
      cf_plan_variant (plan), cf_filter_halo (filter, params), gpu->layout.format, gpu->layout.width, gpu->layout.height);

  if (gpu->trial.chosen >= GST_CF_BANDS_2 || g_strcmp0 (work, gpu->trial.work) != 0)
    gst_cf_trial_begin (&gpu->trial, work, wait);
}

gboolean
gst_cf_gpu_configure (GstCfGpu *gpu, const CfFilter *filter, const GstVideoInfo *info, CfFormat format, guint modes,
    const CfCommon *common, gconstpointer params, CfStatus *status)
{
  gboolean ok = TRUE;

  if (!push (gpu, status))
    return FALSE;
  free_configuration (gpu);
  gpu->warm = FALSE;
  gpu->bytes = choose_layout (&gpu->layout, info, format);
  for (guint i = 0; ok && i < gpu->n_slots; i++)
    ok = (gpu->slot[i].marks = cf_marks_new (status)) != NULL;
  for (int m = 0; ok && m < GST_CF_N_MODES; m++) {
    CfVideo video = { format, GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info), m == GST_CF_INTERLACED };

    if (modes & (1u << m)) {
      gpu->plan[m] = cf_plan_new (gpu->cf, filter, &video, common, params, status);
      ok = gpu->plan[m] != NULL;
    }
  }
  gpu->configured = ok;
  if (ok)
    begin_trial (gpu, filter, params, 0);
  else
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
  free_bands (gpu, GST_CF_N_WAYS);
  if (ok)
    begin_trial (gpu, filter, params, GST_CF_FRAMES_AFTER_CHANGE);
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

/* ---- frames ------------------------------------------------------------- */

/* Context current in all that follow. */

/* For the times, where there are any to be. */
static CfCode
mark (const GstCfGpu *gpu, const GstCfGpuJob *job, CfStream *stream, int which, CfStatus *status)
{
  return job->timed && !job->leave ? cf_stream_set_mark (stream, gpu->slot[job->slot].marks, which, status) : CF_OK;
}

/* For another stream to wait for. */
static CfCode
mark_for_others (const GstCfGpu *gpu, const GstCfGpuJob *job, CfStream *stream, int which, CfStatus *status)
{
  return gpu->up ? cf_stream_set_mark (stream, gpu->slot[job->slot].marks, which, status)
      : mark (gpu, job, stream, which, status);
}

static CfCode
queue_upload (GstCfGpu *gpu, const GstCfGpuJob *job, const CfImage *host, CfStatus *status)
{
  GstCfGpuSlot *slot = &gpu->slot[job->slot];
  CfStream *stream = gpu->up ? gpu->up : job->stream;
  CfCode code = CF_OK;

  if (gpu->up && slot->left) /* a frame that has left may still be read where this one goes */
    code = cf_stream_follow (stream, slot->marks, AFTER_KERNELS, status);
  slot->left = FALSE;
  if (code == CF_OK)
    code = mark (gpu, job, stream, BEFORE_UPLOAD, status);
  if (code == CF_OK)
    code = cf_stream_upload (stream, &slot->device_in, host, status);
  if (code == CF_OK)
    code = mark_for_others (gpu, job, stream, AFTER_UPLOAD, status);
  if (code == CF_OK && gpu->up)
    code = cf_stream_follow (job->stream, slot->marks, AFTER_UPLOAD, status);
  return code;
}

static CfCode
queue_kernels (GstCfGpu *gpu, const GstCfGpuJob *job, gboolean history, const CfImage *in, const CfImage *out,
    CfStatus *status)
{
  CfMarks *marks = gpu->slot[job->slot].marks;
  CfCode code = CF_OK;

  /* The plans' memory is used by one frame at a time, whatever its stream. */
  if (gpu->up && gpu->before)
    code = cf_stream_follow (job->stream, gpu->before, AFTER_KERNELS, status);
  if (code == CF_OK)
    code = job->leave && job->timed ? cf_stream_mark (job->stream, 1, status)
        : mark (gpu, job, job->stream, BEFORE_KERNELS, status);
  if (code == CF_OK)
    code = cf_plan_enqueue (gpu->plan[job->mode], job->stream, in, out, status);
  for (int m = 0; code == CF_OK && history && m < GST_CF_N_MODES; m++)
    if (m != (int) job->mode && gpu->plan[m])
      code = cf_plan_push_history (gpu->plan[m], job->stream, in, status);
  if (code == CF_OK && job->leave && job->timed)
    code = cf_stream_mark (job->stream, 2, status);
  if (code == CF_OK && (gpu->up || !job->leave)) {
    code = mark_for_others (gpu, job, job->stream, AFTER_KERNELS, status);
    gpu->before = marks;
  }
  return code;
}

static CfStream *
down_stream (const GstCfGpu *gpu, const GstCfGpuJob *job)
{
  return gpu->up ? gpu->down[job->slot % n_down (gpu)] : job->stream;
}

static CfCode
queue_download (GstCfGpu *gpu, const GstCfGpuJob *job, const CfImage *host, CfStatus *status)
{
  const GstCfGpuSlot *slot = &gpu->slot[job->slot];
  CfStream *stream = down_stream (gpu, job);
  CfCode code = CF_OK;

  if (stream != job->stream)
    code = cf_stream_follow (stream, slot->marks, AFTER_KERNELS, status);
  if (code == CF_OK && stream != job->stream)
    code = mark (gpu, job, stream, BEFORE_DOWNLOAD, status);
  if (code == CF_OK)
    code = cf_stream_download (stream, host, &slot->device_out, status);
  return code == CF_OK ? mark (gpu, job, stream, AFTER_DOWNLOAD, status) : code;
}

static gboolean
uploads (const GstCfGpuJob *job)
{
  return !job->in_device && (job->way >= GST_CF_BANDS_2 || !(job->way & GST_CF_DIRECT_IN));
}

static gboolean
downloads (const GstCfGpuJob *job)
{
  return !job->out_device && (job->way >= GST_CF_BANDS_2 || !(job->way & GST_CF_DIRECT_OUT));
}

/* The slot's memory that the frame needs on its way. */
static gboolean
provide_all (const GstCfGpu *gpu, const GstCfGpuJob *job, GstCfGpuSlot *slot, CfStatus *status)
{
  gboolean stages_in = !job->in_device && !job->in_pinned, stages_out = !job->out_device && !job->out_pinned;

  return (!uploads (job) || provide (gpu, cf_device_alloc, &slot->memory_in, &slot->device_in, status))
      && (!downloads (job) || provide (gpu, cf_device_alloc, &slot->memory_out, &slot->device_out, status))
      && (!stages_in || provide (gpu, cf_pinned_alloc, &slot->memory_host_in, &slot->host_in, status))
      && (!stages_out || provide (gpu, cf_pinned_alloc, &slot->memory_host_out, &slot->host_out, status));
}

/* FALSE without an error: not this frame. A failure is the GPU's, as any other; the frames
 * after it go as a whole. */
static gboolean
provide_bands (GstCfGpu *gpu, const GstCfGpuJob *job, CfStatus *status)
{
  GstCfBands *bands = &gpu->bands[job->way - GST_CF_BANDS_2];
  const guint n = job->way == GST_CF_BANDS_2 ? 2 : 4;
  CfVideo video = { gpu->layout.format, gpu->layout.width, gpu->layout.height, job->mode == GST_CF_INTERLACED };

  status->code = CF_OK;
  if (bands->n > 0 || video.interlaced || !gst_cf_bands_fit (n, job->filter, &video, job->params))
    return bands->n > 0 && !video.interlaced;
  gpu->no_bands = !provide (gpu, cf_device_alloc, &gpu->memory_bands, &gpu->device_bands, status)
      || !gst_cf_bands_make (bands, n, gpu->cf, job->filter, &video, job->common, job->params, status);
  return !gpu->no_bands;
}

/* Which way the frame goes, and whether it is timed. */
static CfCode
choose (GstCfGpu *gpu, GstCfGpuJob *job, CfStatus *status)
{
  job->way = GST_CF_COPY;
  if (job->leave)
    return CF_OK;
  if (gpu->n_slots == 1)
    job->way = gst_cf_trial_choose (&gpu->trial, (GstCfWay) ((job->in_device ? 0 : GST_CF_DIRECT_IN)
            | (job->out_device ? 0 : GST_CF_DIRECT_OUT)), !gpu->no_bands, gst_cf_turns_idle (gpu->turns));
  job->timed = gpu->frames++ % TIMED_EVERY == 0;
  if (job->way < GST_CF_BANDS_2 || provide_bands (gpu, job, status))
    return CF_OK;
  job->way = GST_CF_COPY;
  return status->code;
}

/* All that needs no turn. */
static CfCode
prepare (GstCfGpu *gpu, GstCfGpuJob *job, CfStatus *status)
{
  GstCfGpuSlot *slot = &gpu->slot[job->slot];

  if (choose (gpu, job, status) != CF_OK || !provide_all (gpu, job, slot, status))
    return status->code;
  if (!job->in_device && !job->in_pinned)
    cf_image_copy (&slot->host_in, job->in);
  return CF_OK;
}

static CfCode
queue_bands (GstCfGpu *gpu, const GstCfGpuJob *job, const CfImage *host_in, const CfImage *host_out, CfStatus *status)
{
  const GstCfBands *bands = &gpu->bands[job->way - GST_CF_BANDS_2];
  const GstCfGpuSlot *slot = &gpu->slot[job->slot];
  const GstCfBandsWay way = { job->up, job->stream, job->down, host_in, &slot->device_in,
    { &slot->device_out, &gpu->device_bands }, host_out };
  CfCode code = mark (gpu, job, job->up, BEFORE_UPLOAD, status);

  if (code == CF_OK)
    code = gst_cf_bands_queue (bands, &way, status);
  return code == CF_OK ? mark (gpu, job, job->down, AFTER_DOWNLOAD, status) : code;
}

static CfCode
queue_frame (GstCfGpu *gpu, const GstCfGpuJob *job, gboolean history, CfStatus *status)
{
  GstCfGpuSlot *slot = &gpu->slot[job->slot];
  const CfImage *in = job->in_device || job->in_pinned ? job->in : &slot->host_in;
  const CfImage *out = job->out_device || job->out_pinned ? job->out : &slot->host_out;
  CfCode code = CF_OK;

  if (job->way >= GST_CF_BANDS_2)
    return queue_bands (gpu, job, in, out, status);
  if (uploads (job))
    code = queue_upload (gpu, job, in, status);
  if (code == CF_OK)
    code = queue_kernels (gpu, job, history, uploads (job) ? &slot->device_in : in,
        downloads (job) ? &slot->device_out : out, status);
  if (code == CF_OK && downloads (job))
    code = queue_download (gpu, job, out, status);
  slot->left = slot->left || job->leave;
  if (code == CF_OK && gpu->n_slots > 1 && !job->leave)
    code = cf_stream_set_end (downloads (job) ? down_stream (gpu, job) : job->stream, slot->marks, status);
  return code;
}

/* Frames that the CPU waits for at once, and that use the link, take turns. Where others
 * have theirs, the link is busy anyway, and bands would only be more calls. */
static CfCode
take_turn (const GstCfGpu *gpu, GstCfGpuJob *job, CfStatus *status)
{
  job->in_turn = gpu->n_slots == 1 && !(job->in_device && job->out_device);
  if (!job->in_turn)
    return CF_OK;
  job->in_turn = gst_cf_turns_enter (gpu->turns, &job->turn, &job->alone);
  if (!job->in_turn) {
    snprintf (status->message, sizeof status->message, "the GPU did not finish another element's frame in time");
    status->cuda = 0;
    return status->code = CF_TIMEOUT;
  }
  if (job->way >= GST_CF_BANDS_2 && !job->alone)
    job->way = GST_CF_COPY;
  job->start = now_ns ();
  if (!job->stream)
    job->stream = gst_cf_turns_stream (gpu->turns, job->turn, GST_CF_TURN_KERNELS, status);
  if (job->stream && job->way >= GST_CF_BANDS_2
      && (job->up = gst_cf_turns_stream (gpu->turns, job->turn, GST_CF_TURN_UP, status)))
    job->down = gst_cf_turns_stream (gpu->turns, job->turn, GST_CF_TURN_DOWN, status);
  return job->stream && (job->down || job->way < GST_CF_BANDS_2) ? CF_OK : status->code;
}

static void
end_turn (const GstCfGpu *gpu, GstCfGpuJob *job, CfCode code)
{
  if (job->in_turn && code == CF_TIMEOUT)
    gst_cf_turns_give_up (gpu->turns, job->turn);
  else if (job->in_turn)
    gst_cf_turns_leave (gpu->turns, job->turn);
  job->in_turn = FALSE;
}

/* That what the host waits for is queued on last. */
static CfStream *
last_stream (const GstCfGpuJob *job)
{
  return job->down ? job->down : job->stream;
}

static guint64
deadline (const GstCfGpu *gpu)
{
  return gpu->warm ? GST_CF_DEADLINE_NS : GST_CF_FIRST_DEADLINE_NS;
}

/* Some of a frame that could not be queued may be under way: nothing may be
 * touched before it is over. */
static CfCode
settle (GstCfGpu *gpu, const GstCfGpuJob *job)
{
  CfStream *const others[] = { gpu->up, gpu->down[0], gpu->down[1], job->up, job->down };
  CfStatus status = { 0 };
  CfCode code = job->stream ? gst_cf_chain_wait (job->chain, job->stream, deadline (gpu), &status) : CF_OK;

  for (gsize i = 0; code != CF_TIMEOUT && i < G_N_ELEMENTS (others); i++)
    if (others[i])
      code = cf_stream_wait (others[i], deadline (gpu), &status);
  return code;
}

CfCode
gst_cf_gpu_submit (GstCfGpu *gpu, GstCfGpuJob *job, gboolean history, CfStatus *status)
{
  CfCode code;

  if (!push (gpu, status))
    return status->code;
  job->stream = gpu->stream;
  job->up = job->down = NULL;
  job->in_turn = FALSE;
  job->kernel = 0;
  code = gst_cf_chain_enter (job->chain, gpu->context, job->in_buffer, job->out_buffer, &job->stream, status);
  if (code == CF_OK && gpu->n_slots > 1 && !job->leave)
    gst_cf_chain_take_ticket (job->chain, job->stream, &job->ticket);
  job->timed = code == CF_OK && job->leave && gst_cf_chain_time (job->chain, &job->kernel);
  if (code == CF_OK)
    code = prepare (gpu, job, status);
  if (code == CF_OK)
    code = take_turn (gpu, job, status);
  if (code == CF_OK)
    code = queue_frame (gpu, job, history, status);
  if (code == CF_OK && job->leave) {
    code = gst_cf_chain_leave (job->chain, job->in_buffer, job->out_buffer, !gpu->warm, status);
    gpu->warm = TRUE;
  } else if (code != CF_OK && code != CF_GPU_LOST && code != CF_TIMEOUT && settle (gpu, job) == CF_TIMEOUT) {
    code = CF_TIMEOUT;
  }
  if (code != CF_OK) {
    gst_cf_chain_use_ticket (&job->ticket, code);
    end_turn (gpu, job, code);
  }
  if (code != CF_OK || gpu->n_slots > 1)
    gst_cf_cuda_pop ();
  status->code = code;
  return code;
}

/* What only other ways need goes. */
static void
decide_way (GstCfGpu *gpu, GstCfGpuJob *job)
{
  job->decided = gst_cf_trial_note (&gpu->trial, job->way, job->took, job->alone);
  if (!job->decided)
    return;
  free_bands (gpu, gpu->trial.chosen);
  if (gpu->trial.chosen < GST_CF_BANDS_2) {
    cf_device_free (gpu->memory_bands);
    gpu->memory_bands = NULL;
  }
}

/* Frames that overlap have their copies timed without the waits between them, and
 * those in bands altogether: as kernels. */
static void
take_times (GstCfGpu *gpu, GstCfGpuJob *job)
{
  const CfMarks *marks = gpu->slot[job->slot].marks;
  int filtered = gpu->up ? BEFORE_DOWNLOAD : AFTER_KERNELS;

  if (job->way >= GST_CF_BANDS_2) {
    job->kernel = cf_marks_elapsed_ns (marks, BEFORE_UPLOAD, AFTER_DOWNLOAD);
    return;
  }
  job->upload = uploads (job) ? cf_marks_elapsed_ns (marks, BEFORE_UPLOAD, AFTER_UPLOAD) : 0;
  job->kernel = cf_marks_elapsed_ns (marks, BEFORE_KERNELS, AFTER_KERNELS);
  job->download = downloads (job) ? cf_marks_elapsed_ns (marks, filtered, AFTER_DOWNLOAD) : 0;
}

CfCode
gst_cf_gpu_finish (GstCfGpu *gpu, GstCfGpuJob *job, CfStatus *status)
{
  const GstCfGpuSlot *slot = &gpu->slot[job->slot];
  CfCode code;

  job->decided = FALSE;
  job->upload = job->download = job->took = 0;
  if (job->leave) {
    end_turn (gpu, job, CF_OK);
    if (gpu->n_slots == 1)
      gst_cf_cuda_pop ();
    return CF_OK;
  }
  if (gpu->n_slots > 1 && !push (gpu, status)) { /* nobody knows how far the GPU is */
    if (status->code != CF_GPU_LOST)
      status->code = CF_TIMEOUT;
    gst_cf_chain_use_ticket (&job->ticket, status->code);
    return status->code;
  }
  if (cf_gpu_lost ()) {
    code = CF_GPU_LOST;
    snprintf (status->message, sizeof status->message, "a fault ended CUDA for this process");
  } else if (gpu->n_slots == 1) {
    code = gst_cf_chain_wait (job->chain, last_stream (job), deadline (gpu), status);
  } else {
    code = cf_marks_wait (slot->marks, deadline (gpu), status);
  }
  if (job->in_turn)
    job->took = now_ns () - job->start;
  end_turn (gpu, job, code);
  gst_cf_chain_use_ticket (&job->ticket, code);
  if (code == CF_OK && job->regions)
    code = cf_plan_regions (gpu->plan[job->mode], job->regions, status);
  if (code == CF_OK && job->timed)
    take_times (gpu, job);
  if (code == CF_OK && gpu->n_slots == 1 && job->took)
    decide_way (gpu, job);
  gpu->warm = gpu->warm || code == CF_OK;
  gst_cf_cuda_pop ();
  if (code == CF_OK && !job->out_device && !job->out_pinned)
    cf_image_copy (job->out, &slot->host_out);
  status->code = code;
  return code;
}
