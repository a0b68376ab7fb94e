/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfbackend.c: filters frames on the GPU or on the CPU; failover when the GPU fails. */
#include "gstcfbackend.h"
#include "gstcfcaps.h"
#include "gstcfcuda.h"
#include "gstcfmemory.h"
#include "gstcfnvmm.h"

#include <string.h>

GST_DEBUG_CATEGORY_EXTERN (gst_cf_filter_debug);
#define GST_CAT_DEFAULT gst_cf_filter_debug

/* The GPU is not used again after this many failures, even if each may be temporary. */
#define MAX_FAILURES 4
/* The count of failures restarts after this many good frames. */
#define FORGET_AFTER 10000

/* On the GPU, an area is filtered in place if it covers at most 1 / IN_PLACE_SHARE of the frame. Only its rows cross
 * the link then, but the host copies the area once more, slower than the link does. With one frame at a time the host
 * copies while the GPU works, so a third is worth it (docs/notes/regions.md). */
#define IN_PLACE_SHARE 8
#define IN_PLACE_SHARE_OF_ONE 3

static guint64
now_ns (void)
{
  return (guint64) g_get_monotonic_time () * 1000;
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

/* Returns the bytes of a frame's samples, without what is between rows. */
static gsize
video_bytes (CfFormat format, const GstVideoInfo *info)
{
  gsize bytes = 0;

  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++)
    bytes += cf_plane_row_bytes (format, GST_VIDEO_INFO_WIDTH (info), (int) p) *
        (gsize) cf_plane_rows (format, GST_VIDEO_INFO_HEIGHT (info), (int) p);
  return bytes;
}

void
gst_cf_backend_init (GstCfBackend *b, GstElement *element, const CfFilter *filter)
{
  memset (b, 0, sizeof *b);
  b->element = element;
  b->filter = filter;
  g_mutex_init (&b->lock);
  gst_cf_chain_init (&b->chain, element, &b->transfer.flushing);
  gst_cf_stats_init (&b->stats);
}

void
gst_cf_backend_clear (GstCfBackend *b)
{
  gst_cf_backend_stop (b);
  gst_cf_stats_clear (&b->stats);
  g_mutex_clear (&b->lock);
}

/* ---- start and stop ----------------------------------------------------- */

gboolean
gst_cf_backend_start (GstCfBackend *b, guint slots, gboolean fail_on_gpu_error, CfStatus *status)
{
  gst_cf_stats_reset (&b->stats);
  b->slots = slots;
  b->fail_on_gpu_error = fail_on_gpu_error;
  b->failures = b->good = 0;
  b->warned = b->ended = b->configured = b->use_gpu = b->gap = FALSE;
  b->cut_short = NULL;
  b->cpu.context = cf_context_new (CF_BACKEND_CPU, status);
  return b->cpu.context != NULL;
}

gboolean
gst_cf_backend_open_gpu (GstCfBackend *b, GstObject *context, CfStatus *status)
{
  b->use_gpu = gst_cf_transfer_open (&b->transfer, context, &b->chain, b->slots, status);
  if (b->use_gpu)
    gst_cf_chain_open (&b->chain, context);
  return b->use_gpu;
}

/* Memory that the GPU may still use is not freed. */
static void
close_gpu (GstCfBackend *b)
{
  CfCode code = gst_cf_chain_close (&b->chain);

  if (code == CF_TIMEOUT || code == CF_CANCELLED)
    gst_cf_stats_abandon (&b->stats, gst_cf_transfer_abandon (&b->transfer));
  else
    gst_cf_transfer_close (&b->transfer);
}

void
gst_cf_backend_stop (GstCfBackend *b)
{
  close_gpu (b);
  g_clear_pointer (&b->scratch, g_free);
  gst_cf_plans_free (&b->cpu);
  g_clear_pointer (&b->cpu.context, cf_context_free);
  if (b->params)
    cf_params_free (b->filter, b->params);
  b->params = NULL;
  b->configured = b->use_gpu = FALSE;
}

/* ---- failure ------------------------------------------------------------ */

/* Handles a GPU failure: decides whether the GPU is used again, and posts one warning on the bus. `on_gpu`: the input
 * or the output of the frame is in GPU memory. Returns FALSE after an element error if the failure ends the stream. */
static gboolean
gpu_failed (GstCfBackend *b, const CfStatus *status, gboolean on_gpu)
{
  gboolean hung = status->code == CF_TIMEOUT;
  gboolean lost = hung || status->code == CF_GPU_LOST || cf_gpu_lost ();
  gboolean give_up = lost || ++b->failures >= MAX_FAILURES || status->code == CF_NO_GPU;
  gboolean ends = b->fail_on_gpu_error || (on_gpu && lost);

  gst_cf_stats_gpu_error (&b->stats, status->message);
  b->good = 0;
  if (b->traits.stateful && b->use_gpu) /* else the CPU plans are in use already */
    gst_cf_plans_reset (&b->cpu);
  g_mutex_lock (&b->lock);
  if (lost) {
    b->given_up++;
    b->reason = hung ? CF_TIMEOUT : CF_GPU_LOST;
  }
  if (hung)
    gst_cf_stats_abandon (&b->stats, gst_cf_transfer_abandon (&b->transfer));
  if (ends || give_up || b->traits.history > 0 || b->traits.stateful)
    b->use_gpu = FALSE;
  g_mutex_unlock (&b->lock);
  if (ends) {
    b->ended = b->fail_on_gpu_error;
    gst_cf_backend_post_error (b->element, status,
        b->fail_on_gpu_error ? "The GPU failed (on-gpu-error=error)"
                             : "The GPU failed, and the frame cannot be read from its memory");
    return FALSE;
  }
  GST_WARNING_OBJECT (b->element, "GPU failure %u, error %d: %s", b->failures, status->cuda, status->message);
  if (!b->warned) {
    gchar *text = g_strdup_printf ("The GPU failed: %s. The CPU filters %s%s", status->message,
        give_up                                           ? "from now on"
            : b->traits.history > 0 || b->traits.stateful ? "until the next flush"
                                                          : "this frame; the GPU is used again for the next one",
        !b->traits.stateful         ? ""
            : b->traits.has_regions ? "; what earlier frames have taught is lost, and region ids start again at 1"
                                    : "; what earlier frames have taught is lost");

    b->warned = TRUE;
    gst_element_message_full (b->element, GST_MESSAGE_WARNING, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED, text,
        NULL, __FILE__, GST_FUNCTION, __LINE__);
  }
  return TRUE;
}

/* Gives up all pending frames, because a flush or stop has cut the wait for one of them short. The next frame, after
 * the flush, finds out whether the GPU hangs. */
static void
cut_short (GstCfBackend *b)
{
  g_mutex_lock (&b->lock);
  b->given_up++;
  b->reason = CF_CANCELLED;
  b->cut_short = b->transfer.context;
  b->use_gpu = FALSE;
  gst_cf_stats_abandon (&b->stats, gst_cf_transfer_abandon (&b->transfer));
  g_mutex_unlock (&b->lock);
}

/* Handles a failure after which the GPU has no plans that can be used. */
static gboolean
plans_failed (GstCfBackend *b, const CfStatus *status)
{
  if (status->code == CF_CANCELLED) {
    cut_short (b);
    return TRUE;
  }
  b->failures = MAX_FAILURES;
  return gpu_failed (b, status, FALSE);
}

/* Returns whether the GPU may be used again after a reset of its plans. */
static gboolean
gpu_is_fit (const GstCfBackend *b)
{
  return !b->ended && b->transfer.context && b->transfer.configured && b->failures < MAX_FAILURES && !cf_gpu_lost ();
}

/* ---- configuration ------------------------------------------------------ */

/* Returns FALSE and posts an error, which begins with `what`, where memory is out. */
static gboolean
take_params (GstCfBackend *b, const CfCommon *common, gconstpointer params, const gchar *what)
{
  gpointer copy = cf_params_new (b->filter, params);
  CfStatus status = { .code = CF_NO_MEMORY, .message = "out of memory" };
  CfVideo video;

  if (!copy) {
    gst_cf_backend_post_error (b->element, &status, what);
    return FALSE;
  }
  cf_params_free (b->filter, b->params);
  b->params = copy;
  b->common = *common;
  video = (CfVideo) { b->format, GST_VIDEO_INFO_WIDTH (&b->info), GST_VIDEO_INFO_HEIGHT (&b->info), false };
  b->traits = cf_filter_traits (b->filter, &video, common, params);
  return TRUE;
}

static gboolean
configure_gpu (GstCfBackend *b)
{
  CfStatus status = { 0 };

  if (b->ended) /* the error was posted */
    return FALSE;
  if (b->use_gpu && cf_gpu_lost ()) { /* by another element */
    cf_fail_lost (&status);
    return plans_failed (b, &status);
  }
  if (!b->transfer.context || b->failures >= MAX_FAILURES || cf_gpu_lost ()) {
    b->use_gpu = FALSE;
    return TRUE;
  }
  /* The GPU may still use the plans for frames that were pushed unfinished. */
  b->use_gpu = gst_cf_chain_settle (&b->chain, &status) == CF_OK &&
      gst_cf_transfer_configure (&b->transfer, b->filter, &b->info, b->format, b->modes, &b->common, b->params,
          &status);
  return b->use_gpu ? TRUE : plans_failed (b, &status);
}

gboolean
gst_cf_backend_configure (GstCfBackend *b, const GstVideoInfo *info, const CfCommon *common, gconstpointer params)
{
  CfStatus status = { 0 };
  CfVideo video;

  b->configured = FALSE;
  g_clear_pointer (&b->scratch, g_free);
  gst_cf_plans_free (&b->cpu);
  if (!gst_cf_video_from_info (b->filter, info, &video, &b->modes, &status)) {
    gst_cf_backend_post_error (b->element, &status, "The caps are not supported");
    return FALSE;
  }
  b->info = *info;
  b->format = video.format;
  if (!take_params (b, common, params, "The filter could not be configured") || !configure_gpu (b))
    return FALSE;
  video.interlaced = false;
  if (!(b->use_gpu && b->fail_on_gpu_error) &&
      !gst_cf_plans_make (&b->cpu, b->filter, video, b->modes, &b->common, b->params, &status)) {
    gst_cf_backend_post_error (b->element, &status, "The filter could not be configured");
    return FALSE;
  }
  b->configured = TRUE;
  return TRUE;
}

gboolean
gst_cf_backend_update (GstCfBackend *b, const CfCommon *common, gconstpointer params)
{
  CfStatus status = { 0 };

  if (!b->configured)
    return TRUE;
  if (!take_params (b, common, params, "The new property values could not be applied"))
    return FALSE;
  if (!gst_cf_plans_update (&b->cpu, common, params, &status)) {
    gst_cf_backend_post_error (b->element, &status, "The new property values could not be applied");
    return FALSE;
  }
  if (!gpu_is_fit (b))
    return TRUE;
  if (gst_cf_chain_settle (&b->chain, &status) == CF_OK &&
      gst_cf_transfer_update (&b->transfer, &b->common, b->params, &status))
    return TRUE;
  return plans_failed (b, &status); /* the GPU plans hold other parameters than the CPU plans */
}

gboolean
gst_cf_backend_adopt (GstCfBackend *b, GstObject *context)
{
  CfStatus status = { 0 };

  close_gpu (b);
  if (!gst_cf_backend_open_gpu (b, context, &status))
    return plans_failed (b, &status);
  return b->configured ? configure_gpu (b) : TRUE;
}

void
gst_cf_backend_reset (GstCfBackend *b)
{
  CfStatus status = { 0 };

  gst_cf_plans_reset (&b->cpu);
  if (b->cut_short)
    gst_cf_backend_adopt (b, g_steal_pointer (&b->cut_short));
  if (!gpu_is_fit (b))
    return;
  if (gst_cf_transfer_reset (&b->transfer, &status))
    b->use_gpu = TRUE;
  else
    gpu_failed (b, &status, FALSE); /* the GPU plans still hold the earlier frames */
}

/* ---- what the submitting thread asks -------------------------------------- */

gboolean
gst_cf_backend_is_identity (const GstCfBackend *b)
{
  return b->configured && b->traits.identity;
}

gboolean
gst_cf_backend_may_pass (const GstCfBackend *b, GstBuffer *in)
{
  return b->configured && !gst_cf_frame_crops (in, &b->info);
}

/* Not with a history: the CPU plans take the input into it after the frame is filtered. */
gboolean
gst_cf_backend_is_in_place (GstCfBackend *b, GstBuffer *in, const CfArea *area)
{
  const guint64 pixels = (guint64) GST_VIDEO_INFO_WIDTH (&b->info) * (guint64) GST_VIDEO_INFO_HEIGHT (&b->info);
  gboolean on_gpu;

  g_mutex_lock (&b->lock); /* the finishing thread may give the GPU up */
  on_gpu = b->use_gpu;
  g_mutex_unlock (&b->lock);
  if (on_gpu && cf_area_info (area).pixels * (b->slots > 1 ? IN_PLACE_SHARE : IN_PLACE_SHARE_OF_ONE) > pixels)
    return FALSE;
  return b->configured && b->traits.history == 0 && !b->nvmm && !gst_cf_cuda_buffer_context (in) &&
      !gst_cf_frame_crops (in, &b->info) && gst_buffer_is_writable (in) && gst_buffer_is_all_memory_writable (in);
}

gboolean
gst_cf_backend_needs_all (const GstCfBackend *b)
{
  return b->traits.history > 0 || b->traits.stateful;
}

gboolean
gst_cf_backend_needs_reset (GstCfBackend *b)
{
  gboolean gap;

  g_mutex_lock (&b->lock);
  gap = b->gap;
  g_mutex_unlock (&b->lock);
  return gap && gst_cf_backend_needs_all (b);
}

GstObject *
gst_cf_backend_context (const GstCfBackend *b)
{
  return b->cut_short ? b->cut_short : b->transfer.context;
}

gboolean
gst_cf_backend_is_elsewhere (GstCfBackend *b, GstObject *context)
{
  gboolean elsewhere;

  g_mutex_lock (&b->lock);
  elsewhere = b->use_gpu && b->transfer.context != context;
  g_mutex_unlock (&b->lock);
  return elsewhere;
}

/* ---- frames ------------------------------------------------------------- */

typedef enum { DONE, TRY_CPU, FAILED } Outcome;

/* The functions that map return NULL, or what went wrong, in words that the message of `status` continues. They post
 * nothing, because the lock may be held. */
static const gchar *
map (GstCfBackend *b, GstCfFrame *frame, GstBuffer *buffer, GstMapFlags flags, CfStatus *status)
{
  if (b->nvmm)
    flags |= GST_CF_MAP_NVMM;
  if (gst_cf_frame_map (frame, buffer, &b->info, b->format, flags, status))
    return NULL;
  return flags & GST_MAP_WRITE ? "The output buffer cannot be written" : "The input buffer cannot be read";
}

/* Maps both sides of a frame; a frame that is filtered in place, or that has no output, has one mapping. */
static const gchar *
map_both (GstCfBackend *b, GstCfPendingFrame *frame, GstMapFlags read, GstMapFlags write, CfStatus *status)
{
  const gboolean one = frame->in == frame->out;
  const gchar *wrong = map (b, &frame->src, frame->in, one ? read | write : read, status);

  if (wrong || !frame->out)
    return wrong;
  if (one) {
    frame->dst.image = frame->src.image;
    return NULL;
  }
  wrong = map (b, &frame->dst, frame->out, write, status);
  if (wrong)
    gst_cf_frame_unmap (&frame->src);
  return wrong;
}

static void
unmap_both (GstCfPendingFrame *frame)
{
  if (frame->out && frame->in != frame->out)
    gst_cf_frame_unmap (&frame->dst);
  gst_cf_frame_unmap (&frame->src);
}

/* Waits until the GPU has finished with a buffer that is going to be accessed outside the chain's stream. */
static const gchar *
finish_buffer (GstCfBackend *b, GstBuffer *buffer, CfStatus *status)
{
  return gst_cf_chain_finish (&b->chain, buffer, status) == CF_OK ? NULL
                                                                  : "The GPU failed, and its memory cannot be read";
}

static const gchar *
map_for_cpu (GstCfBackend *b, GstCfPendingFrame *frame, CfStatus *status)
{
  const gchar *wrong = finish_buffer (b, frame->in, status);

  if (!wrong && frame->out)
    wrong = finish_buffer (b, frame->out, status);
  return wrong ? wrong : map_both (b, frame, GST_MAP_READ, GST_MAP_WRITE, status);
}

/* Adds a frame to the history of the CPU plans but that of mode `but`, which has filtered it (-1: none has), so that
 * each of them can continue the stream. */
static void
push_cpu_history (GstCfBackend *b, const CfImage *in, int but)
{
  CfStatus status = { 0 };

  if (gst_cf_plans_push (&b->cpu, NULL, in, but, &status) != CF_OK)
    GST_WARNING_OBJECT (b->element, "a frame is missing from the history of the CPU plans: %s", status.message);
}

/* Returns whether the plans take the frame into their history now. With CfTraits.ahead they took it before, as a frame
 * without an output. */
static gboolean
makes_history (const GstCfBackend *b, const GstCfPendingFrame *frame)
{
  return b->traits.history > 0 && (!frame->out || b->traits.ahead == 0);
}

static GstCfMemoryKind
kind_of (const GstCfBackend *b, GstBuffer *buffer)
{
  GstObject *context = gst_cf_cuda_buffer_context (buffer);

  if (b->nvmm)
    return gst_cf_nvmm_is_on_gpu (buffer) ? GST_CF_FOREIGN : GST_CF_PAGEABLE;
  if (context && context == b->transfer.context)
    return GST_CF_DEVICE;
  return gst_cf_buffer_is_pinned (buffer) ? GST_CF_PINNED : GST_CF_PAGEABLE;
}

/* Maps a frame. A buffer that is not in this GPU's memory is accessed by the host, or by a copy outside the chain's
 * stream, so pending work on it is waited for first. */
static const gchar *
map_for_gpu (GstCfBackend *b, GstCfPendingFrame *frame)
{
  GstCfFrameRequest *r = &frame->request;
  const GstMapFlags read = r->in.kind >= GST_CF_DEVICE ? GST_MAP_READ | GST_CF_MAP_CUDA : GST_MAP_READ;
  const GstMapFlags write = r->out.kind >= GST_CF_DEVICE ? GST_MAP_WRITE | GST_CF_MAP_CUDA : GST_MAP_WRITE;
  const gchar *wrong = r->in.kind == GST_CF_DEVICE ? NULL : finish_buffer (b, frame->in, &r->status);

  if (!wrong && frame->out && r->out.kind != GST_CF_DEVICE)
    wrong = finish_buffer (b, frame->out, &r->status);
  return wrong ? wrong : map_both (b, frame, read, write, &r->status);
}

static gboolean
in_cuda_memory (const GstCfPendingFrame *frame)
{
  return gst_cf_cuda_buffer_context (frame->in) || (frame->out && gst_cf_cuda_buffer_context (frame->out));
}

/* Called by the submitting thread with the lock held. */
static void
submit_gpu (GstCfBackend *b, GstCfPendingFrame *frame, guint slot)
{
  GstCfFrameRequest *r = &frame->request;

  *r = (GstCfFrameRequest) { .slot = slot,
    .mode = frame->mode,
    .in = { frame->in, &frame->src.image, kind_of (b, frame->in) },
    .out = { frame->in, NULL, GST_CF_DEVICE },
    .area = frame->area,
    .in_place = frame->in == frame->out,
    .regions = b->traits.has_regions ? &b->regions : NULL };
  if (frame->out)
    r->out = (GstCfSide) { frame->out, &frame->dst.image, kind_of (b, frame->out) };
  frame->on_gpu = TRUE;
  frame->given_up = b->given_up;
  frame->cuda_memory = in_cuda_memory (frame) || r->in.kind == GST_CF_FOREIGN || r->out.kind == GST_CF_FOREIGN;
  if (cf_gpu_lost ()) { /* a fault in another element ends CUDA for the whole process */
    cf_fail_lost (&r->status);
    return;
  }
  /* With several slots the GPU does not write into the input: the submitting thread has no time to save it first. */
  if (r->in_place && r->out.kind == GST_CF_PINNED && b->slots > 1)
    r->out.kind = GST_CF_PAGEABLE;
  frame->refusal = map_for_gpu (b, frame);
  frame->mapped = !frame->refusal;
  if (frame->refusal)
    return;
  r->leaves = frame->out && r->out.kind == GST_CF_DEVICE && r->in.kind != GST_CF_PAGEABLE && !r->regions &&
      gst_cf_chain_may_leave (&b->chain);
  gst_cf_transfer_submit (&b->transfer, r);
}

/* Restores the part of an input that the GPU may have overwritten, from `kept`. The frame is not mapped on entry. */
static void
put_back (GstCfBackend *b, GstCfPendingFrame *frame)
{
  CfStatus status = { 0 };

  if (map (b, &frame->src, frame->in, GST_MAP_READ | GST_MAP_WRITE, &status))
    return; /* the CPU cannot map it either, and says so */
  cf_image_copy (&frame->src.image, &frame->request.kept, &(CfPart) { frame->area, CF_AREA_WRITE });
  gst_cf_frame_unmap (&frame->src);
}

/* Withdraws pinned memory that the GPU may still read (the input) or write (the output). */
static void
give_up_buffers (GstCfBackend *b, GstCfPendingFrame *frame)
{
  const GstCfFrameRequest *r = &frame->request;
  guint n;

  if (r->in.kind == GST_CF_FOREIGN)
    gst_cf_stats_abandon (&b->stats, gst_cf_buffer_pin_memory (frame->in));
  if (r->out.kind == GST_CF_FOREIGN)
    gst_cf_stats_abandon (&b->stats, gst_cf_buffer_pin_memory (frame->out));
  if (r->in.kind == GST_CF_PINNED && !r->keeps)
    gst_cf_stats_abandon (&b->stats, gst_cf_buffer_pin_memory (frame->in));
  if (r->out.kind != GST_CF_PINNED || (r->in_place && !r->keeps))
    return;
  n = gst_cf_buffer_give_up_memory (frame->out);
  gst_cf_stats_abandon (&b->stats, n);
  if (n == 0)
    b->fail_on_gpu_error = TRUE; /* no memory is left to filter the frame into */
  else if (r->keeps)
    put_back (b, frame);
}

/* Waits for a frame on the GPU and returns its result. `stale`: the GPU was given up after the frame was submitted. */
static CfCode
wait_for_gpu (GstCfBackend *b, GstCfPendingFrame *frame, gboolean stale)
{
  CfStatus *status = &frame->request.status;

  if (stale)
    status->code = status->code == CF_OK || status->code == CF_TIMEOUT ? b->reason : CF_GPU_LOST;
  else if (status->code == CF_OK)
    gst_cf_transfer_wait (&b->transfer, &frame->request);
  return status->code;
}

static Outcome
finish_gpu (GstCfBackend *b, GstCfPendingFrame *frame, guint64 time[GST_CF_N_TIMES])
{
  const GstCfFrameRequest *r = &frame->request;
  gboolean stale = frame->given_up != b->given_up;
  CfCode code = wait_for_gpu (b, frame, stale);

  if (code == CF_OK && makes_history (b, frame) && r->in.kind < GST_CF_DEVICE)
    push_cpu_history (b, &frame->src.image, -1);
  if (frame->mapped)
    unmap_both (frame);
  if (code == CF_OK) {
    time[GST_CF_UPLOAD] = r->ns.upload;
    time[GST_CF_KERNEL] = r->ns.kernel;
    time[GST_CF_DOWNLOAD] = r->ns.download;
    if (++b->good >= FORGET_AFTER)
      b->failures = 0;
    return DONE;
  }
  if (r->unfinished && !stale)
    cut_short (b);
  if (code == CF_TIMEOUT || (code == CF_CANCELLED && (r->unfinished || stale)))
    give_up_buffers (b, frame);
  if (code == CF_CANCELLED)
    return FAILED;
  if (stale) /* the failure was posted */
    return b->fail_on_gpu_error || frame->cuda_memory ? FAILED : TRY_CPU;
  return gpu_failed (b, &r->status, frame->cuda_memory) ? TRY_CPU : FAILED;
}

/* Filters a frame. With an area, copies the rest of the input to the output, unless they are one. */
static CfCode
filter_on_cpu (GstCfBackend *b, GstCfMode mode, const CfArea *area, const CfImage *in, const CfImage *out,
    CfStatus *status)
{
  CfImage layout, scratch;
  const gsize size = cf_image_layout (&layout, b->format, in->width, in->height, 64);

  if (!area)
    return cf_plan_enqueue (b->cpu.plan[mode], NULL, &(CfFrame) { in, out }, status);
  if (!b->scratch && !(b->scratch = g_try_malloc (size)))
    return cf_fail (status, CF_NO_MEMORY, "out of memory: %d x %d pixels", in->width, in->height);
  cf_image_at (&scratch, &layout, b->scratch);
  return cf_plan_enqueue (b->cpu.plan[mode], NULL,
      &(CfFrame) { in, out, area, &scratch, .copies = in->plane[0].data != out->plane[0].data }, status);
}

static Outcome
run_cpu (GstCfBackend *b, GstCfPendingFrame *frame, guint64 time[GST_CF_N_TIMES])
{
  const CfImage *in = &frame->src.image, *out = &frame->dst.image;
  CfStatus status = { 0 };
  const gchar *wrong;
  guint64 start;
  CfCode code;

  if (cf_gpu_lost () && in_cuda_memory (frame)) {
    cf_fail_lost (&status);
    gst_cf_backend_post_error (b->element, &status, "The frame cannot be read from GPU memory");
    return FAILED;
  }
  wrong = map_for_cpu (b, frame, &status);
  if (wrong) {
    frame->request.status.code = status.code;
    if (status.code != CF_CANCELLED)
      gst_cf_backend_post_error (b->element, &status, wrong);
    return FAILED;
  }
  start = now_ns ();
  code = frame->out ? filter_on_cpu (b, frame->mode, frame->area, in, out, &status) : CF_OK;
  time[GST_CF_KERNEL] = now_ns () - start;
  if (code == CF_OK && makes_history (b, frame))
    push_cpu_history (b, in, frame->out ? (int) frame->mode : -1);
  if (code == CF_OK && b->traits.has_regions)
    code = cf_plan_regions (b->cpu.plan[frame->mode], &b->regions, &status);
  unmap_both (frame);
  if (code == CF_OK)
    return DONE;
  gst_cf_backend_post_error (b->element, &status, "The frame could not be filtered");
  return FAILED;
}

static GstCfMode
mode_of (const GstCfBackend *b, GstBuffer *buffer)
{
  if (b->modes == (1u << GST_CF_PROGRESSIVE))
    return GST_CF_PROGRESSIVE;
  if (b->modes == (1u << GST_CF_INTERLACED))
    return GST_CF_INTERLACED;
  return GST_BUFFER_FLAG_IS_SET (buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED) ? GST_CF_INTERLACED : GST_CF_PROGRESSIVE;
}

CfVideo
gst_cf_backend_video (const GstCfBackend *b, GstBuffer *in)
{
  return (CfVideo) { b->format, GST_VIDEO_INFO_WIDTH (&b->info), GST_VIDEO_INFO_HEIGHT (&b->info),
    mode_of (b, in) == GST_CF_INTERLACED };
}

gboolean
gst_cf_backend_submit (GstCfBackend *b, GstCfPendingFrame *frame, guint slot, GstBuffer *in, GstBuffer *out,
    CfArea *area)
{
  frame->in = in;
  frame->out = out;
  frame->area = area;
  frame->passes = in == out && !area;
  frame->leaves = frame->passes && gst_cf_chain_may_leave (&b->chain);
  frame->start = now_ns ();
  frame->mode = mode_of (b, in);
  frame->refusal = NULL;
  frame->on_gpu = frame->mapped = FALSE;
  frame->request.status.code = CF_OK;
  g_mutex_lock (&b->lock);
  b->gap = frame->passes && b->traits.ahead == 0; /* with `ahead` the plans took it before */
  if (!frame->passes && b->configured && b->use_gpu)
    submit_gpu (b, frame, slot);
  g_mutex_unlock (&b->lock);
  return !frame->refusal && frame->request.status.code == CF_OK;
}

/* Notes what the plan that has filtered a frame knows of its noise. */
static void
note_noise (GstCfBackend *b, const GstCfPendingFrame *frame, GstCfBy by)
{
  CfPlan *plan = by == GST_CF_BY_GPU ? b->transfer.plans.plan[frame->mode] : b->cpu.plan[frame->mode];
  gdouble noise[CF_NOISE_ZONES];

  gst_cf_stats_noise (&b->stats, cf_plan_noise (plan, noise) ? noise : NULL);
}

static GstFlowReturn
finish (GstCfBackend *b, GstCfPendingFrame *frame, gboolean drop)
{
  guint64 time[GST_CF_N_TIMES] = { 0 };
  GstCfBy by = GST_CF_BY_CPU;
  Outcome outcome = TRY_CPU;

  /* An element before this one may have left the frame unfinished. */
  if (frame->passes && !frame->leaves && !drop)
    frame->refusal = finish_buffer (b, frame->in, &frame->request.status);
  if (frame->passes && !frame->refusal) {
    if (!drop)
      gst_cf_stats_frame (&b->stats, GST_CF_PASSED, video_bytes (b->format, &b->info), time);
    return GST_FLOW_OK;
  }
  if (!b->configured)
    return GST_FLOW_NOT_NEGOTIATED;
  if (frame->refusal && frame->request.status.code == CF_CANCELLED)
    return GST_FLOW_FLUSHING;
  if (frame->refusal) {
    if (!drop)
      gst_cf_backend_post_error (b->element, &frame->request.status, frame->refusal);
    return GST_FLOW_ERROR;
  }
  if (frame->on_gpu) {
    outcome = finish_gpu (b, frame, time);
    by = outcome == DONE ? GST_CF_BY_GPU : GST_CF_BY_FALLBACK;
  }
  if (outcome == TRY_CPU && drop)
    return GST_FLOW_OK;
  if (outcome == TRY_CPU) /* without a plan for the CPU, the failure of the GPU ends the stream; it was posted */
    outcome = b->cpu.plan[frame->mode] ? run_cpu (b, frame, time) : FAILED;
  if (outcome != DONE)
    return frame->request.status.code == CF_CANCELLED ? GST_FLOW_FLUSHING : GST_FLOW_ERROR;
  if (by == GST_CF_BY_FALLBACK) {
    g_mutex_lock (&b->lock);
    b->gap = b->gap || b->use_gpu;
    g_mutex_unlock (&b->lock);
  }
  if (drop || !frame->out)
    return GST_FLOW_OK;
  note_noise (b, frame, by);
  time[GST_CF_TOTAL] = now_ns () - frame->start;
  gst_cf_stats_frame (&b->stats, by, video_bytes (b->format, &b->info), time);
  return GST_FLOW_OK;
}

GstFlowReturn
gst_cf_backend_finish (GstCfBackend *b, GstCfPendingFrame *frame, gboolean drop)
{
  GstFlowReturn flow = finish (b, frame, drop);

  g_clear_pointer (&frame->area, cf_area_unref);
  return flow;
}

void
gst_cf_backend_set_flushing (GstCfBackend *b, gboolean flushing)
{
  gst_cf_transfer_set_flushing (&b->transfer, flushing);
}
