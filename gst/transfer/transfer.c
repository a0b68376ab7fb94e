/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * transfer/transfer.c: an element's plans and slots on the GPU, and the way of its frames: the steps of a request; how
 * one frame at a time takes them, and how several do. */
#include "transfer/transfer.h"
#include "gstcfcuda.h"

#include <string.h>

/* The events of a slot. */
enum { BEFORE_UPLOAD, AFTER_UPLOAD, BEFORE_KERNELS, AFTER_KERNELS, BEFORE_DOWNLOAD, AFTER_DOWNLOAD, N_SLOT_EVENTS };

/* One frame in eight is timed for the stats. Timing each one takes events around each copy and more waits: it left 85 %
 * of the link's rate at 1080p instead of 88. */
#define GST_CF_TIMED_EVERY 8

static gboolean
failed (const GstCfFrameRequest *r)
{
  return r->status.code != CF_OK;
}

/* Makes the context current; not that of a GPU that hangs. */
static gboolean
push (GstCfTransfer *t, CfStatus *status)
{
  if (cf_gpu_hangs (t->device))
    cf_fail_hung (t->device, status);
  else if (gst_cf_cuda_push (t->context))
    return TRUE;
  else if (cf_gpu_lost ())
    cf_fail_lost (status);
  else
    cf_fail (status, CF_GPU_ERROR, "the CUDA context could not be made current");
  return FALSE;
}

/* ---- without copies ------------------------------------------------------- */

/* An integrated GPU reaches pinned memory as fast as its own, but does not cache it, so that a filter that reads each
 * sample many times is slower there than a copy and the filter. The first frames of a configuration go both ways in
 * turn and are timed, the others the way that took less. */
#define FRAMES_OF_TRIAL 8

static void
decide_way (GstCfTransfer *t, GstCfFrameRequest *r)
{
  gint copied, direct;

  /* A part of a frame that is filtered in place is copied; a frame that leaves has no time of its own. */
  if (!t->integrated || r->in_place || r->leaves || r->in.kind == GST_CF_FOREIGN || r->out.kind == GST_CF_FOREIGN ||
      (r->in.kind == GST_CF_DEVICE && r->out.kind == GST_CF_DEVICE))
    return;
  r->own.trial = t->tried < FRAMES_OF_TRIAL;
  r->own.timed |= r->own.trial;
  if (r->own.trial) {
    r->own.direct = t->tried++ % 2;
    return;
  }
  copied = g_atomic_int_get (&t->shortest[0]);
  direct = g_atomic_int_get (&t->shortest[1]);
  r->own.direct = !copied || direct <= copied;
}

/* Called by the thread that waits, for a frame that was timed. */
static void
note_trial (GstCfTransfer *t, const GstCfFrameRequest *r)
{
  const guint64 ns = r->ns.upload + r->ns.kernel + r->ns.download;
  gint *shortest = &t->shortest[r->own.direct];
  const gint before = g_atomic_int_get (shortest);

  if (r->own.trial && ns > 0 && (!before || ns < (guint64) before))
    g_atomic_int_set (shortest, (gint) MIN (ns, G_MAXINT));
}

static gboolean
is_copied (const GstCfFrameRequest *r, const GstCfSide *side)
{
  return side->kind != GST_CF_DEVICE && !r->own.direct;
}

/* ---- steps -------------------------------------------------------------- */

/* Allocates memory for an image of the transfer's layout, unless there is some. */
static gboolean
provide (const GstCfTransfer *t, CfMemory kind, gpointer *memory, CfImage *image, CfStatus *status)
{
  if (*memory)
    return TRUE;
  *memory = cf_gpu_alloc (kind, t->bytes, status);
  if (!*memory)
    return FALSE;
  if (kind == CF_PINNED) /* what is between rows travels with them */
    memset (*memory, 0, t->bytes);
  cf_image_at (image, &t->layout, *memory);
  return TRUE;
}

/* Allocates the memory of the slot that the frame needs, and copies pageable input to pinned memory. */
static void
step_stage (GstCfTransfer *t, GstCfFrameRequest *r)
{
  GstCfSlot *slot = &t->slot[r->slot];

  if (failed (r))
    return;
  if (((is_copied (r, &r->in) || (r->area && is_copied (r, &r->out))) &&
          !provide (t, CF_DEVICE, &slot->memory_in, &slot->device_in, &r->status)) ||
      ((is_copied (r, &r->out) || r->area) &&
          !provide (t, CF_DEVICE, &slot->memory_out, &slot->device_out, &r->status)) ||
      (r->in.kind == GST_CF_PAGEABLE && !provide (t, CF_PINNED, &slot->memory_host_in, &slot->host_in, &r->status)) ||
      ((r->out.kind == GST_CF_PAGEABLE || r->in_place) &&
          !provide (t, CF_PINNED, &slot->memory_host_out, &slot->host_out, &r->status)))
    return;
  if (r->in.kind == GST_CF_PAGEABLE)
    cf_image_copy (&slot->host_in, r->in.image, r->in_place ? &(CfPart) { r->area, CF_AREA_READ } : NULL);
}

/* A frame's images outside this context: its own, or the slot's pinned ones. */
static const CfImage *
host_in (const GstCfTransfer *t, const GstCfFrameRequest *r)
{
  return r->in.kind == GST_CF_PAGEABLE ? &t->slot[r->slot].host_in : r->in.image;
}

static const CfImage *
host_out (const GstCfTransfer *t, const GstCfFrameRequest *r)
{
  return r->out.kind == GST_CF_PAGEABLE ? &t->slot[r->slot].host_out : r->out.image;
}

/* The images on the GPU: the frame's own or the slot's; without copies those above. With an area slot->device_out is
 * scratch, and the result is in the frame's `out` (CUDA memory, or without copies) or in slot->device_in. A solid area
 * that is filtered in place needs no blend and stays in slot->device_out. */
static const CfImage *
device_in (const GstCfTransfer *t, const GstCfFrameRequest *r)
{
  if (r->in.kind == GST_CF_DEVICE)
    return r->in.image;
  return r->own.direct ? host_in (t, r) : &t->slot[r->slot].device_in;
}

static const CfImage *
device_out (const GstCfTransfer *t, const GstCfFrameRequest *r)
{
  if (r->out.kind == GST_CF_DEVICE)
    return r->out.image;
  if (r->own.direct)
    return host_out (t, r);
  return r->area && !(r->in_place && cf_area_info (r->area).solid) ? &t->slot[r->slot].device_in
                                                                   : &t->slot[r->slot].device_out;
}

/* Records an event of the slot. */
static void
step_record (GstCfTransfer *t, GstCfFrameRequest *r, CfStream *stream, guint event)
{
  if (!failed (r))
    r->status.code = cf_stream_record (stream, t->slot[r->slot].events, event, &r->status);
}

/* The same for the times alone: where the frame is timed and does not leave. */
static void
step_time (GstCfTransfer *t, GstCfFrameRequest *r, CfStream *stream, guint event)
{
  if (r->own.timed && !r->leaves)
    step_record (t, r, stream, event);
}

/* Has the stream wait for an event. */
static void
step_wait_event (GstCfFrameRequest *r, CfStream *stream, const CfEvents *events, guint event)
{
  if (!failed (r))
    r->status.code = cf_stream_wait_event (stream, events, event, &r->status);
}

/* Copies the frame, or what the filter reads for an area, to the slot's device memory. step_download copies back. Both
 * do nothing where their side is not copied. */
static void
step_upload (GstCfTransfer *t, GstCfFrameRequest *r, CfStream *stream)
{
  if (!is_copied (r, &r->in))
    return;
  r->own.queued = TRUE;
  step_time (t, r, stream, BEFORE_UPLOAD);
  if (!failed (r))
    r->status.code = cf_stream_copy (stream, r->in.kind == GST_CF_FOREIGN ? CF_ON_DEVICE : CF_UPLOAD, device_in (t, r),
        host_in (t, r), r->in_place ? &(CfPart) { r->area, CF_AREA_READ } : NULL, &r->status);
  if (r->own.up)
    step_record (t, r, stream, AFTER_UPLOAD);
  else
    step_time (t, r, stream, AFTER_UPLOAD);
}

/* Saves the area's part of the input, which the download will overwrite: after the kernels are queued, so that the copy
 * runs beside them, and before the download is. */
static void
step_keep (GstCfTransfer *t, GstCfFrameRequest *r)
{
  if (failed (r))
    return;
  r->kept = t->slot[r->slot].host_out;
  cf_image_copy (&r->kept, r->out.image, &(CfPart) { r->area, CF_AREA_WRITE });
  r->keeps = TRUE;
}

/* Restores the input from `kept` if the frame has failed, unless the GPU may still write to it. */
static void
put_back (GstCfFrameRequest *r)
{
  if (!r->keeps || r->status.code == CF_TIMEOUT || r->unfinished)
    return;
  if (failed (r))
    cf_image_copy (r->out.image, &r->kept, &(CfPart) { r->area, CF_AREA_WRITE });
  r->keeps = FALSE;
}

static void
step_download (GstCfTransfer *t, GstCfFrameRequest *r, CfStream *stream)
{
  if (!is_copied (r, &r->out))
    return;
  if (!failed (r))
    r->status.code = cf_stream_copy (stream, r->out.kind == GST_CF_FOREIGN ? CF_ON_DEVICE : CF_DOWNLOAD,
        host_out (t, r), device_out (t, r),
        r->in_place ? &(CfPart) { r->area, r->out.kind == GST_CF_PAGEABLE ? CF_AREA_PACKED : CF_AREA_WRITE } : NULL,
        &r->status);
  step_time (t, r, stream, AFTER_DOWNLOAD);
}

static CfCode
enqueue (GstCfTransfer *t, GstCfFrameRequest *r)
{
  const CfImage *in = device_in (t, r), *out = device_out (t, r);
  const CfFrame frame = { .in = in,
    .out = out,
    .area = r->area,
    .scratch = &t->slot[r->slot].device_out,
    .hurry = &t->flushing,
    .copies = r->area && !r->in_place && in->plane[0].data != out->plane[0].data };

  return cf_plan_enqueue (t->plans.plan[r->mode], r->own.stream, &frame, &r->status);
}

/* Takes the frame into the history of the plans that do not filter it, then filters. With an area, copies the rest of
 * the input to the output, unless they are one. */
static void
step_filter (GstCfTransfer *t, GstCfFrameRequest *r)
{
  const gboolean chain_times = r->leaves && r->own.timed, taken = !r->out.image;

  r->own.queued = TRUE;
  if (chain_times && !failed (r))
    r->status.code = gst_cf_chain_begin_timing (t->chain, &r->status);
  /* First: what follows may write where the input is. */
  if (t->history && (taken || !t->ahead) && !failed (r))
    r->status.code = gst_cf_plans_push (&t->plans, r->own.stream, device_in (t, r), taken ? -1 : (int) r->mode,
        &r->status);
  if (!taken && !failed (r))
    r->status.code = enqueue (t, r);
  if (chain_times && !failed (r))
    r->status.code = gst_cf_chain_end_timing (t->chain, &r->status);
}

static guint64
deadline (const GstCfTransfer *t)
{
  return g_atomic_int_get (&t->warm) ? GST_CF_DEADLINE_NS : GST_CF_FIRST_DEADLINE_NS;
}

/* ---- one frame at a time -------------------------------------------------- */

/* Slices of a frame overlap their copies and kernels, and each costs some calls. Measured on an H200 against whole
 * frames and other numbers of slices: docs/notes/frame-path.md. */
#define ROWS_FOR_2_SLICES 960
#define ROWS_FOR_4_SLICES 1440
/* A stream whose parameters change all the time does not make new slices for each of them. */
#define FRAMES_AFTER_CHANGE 32

/* Makes the slices of this configuration, once. FALSE: the frame goes as a whole; or the request has failed. */
static gboolean
provide_slices (GstCfTransfer *t, GstCfFrameRequest *r)
{
  CfStatus status = { 0 };

  if (t->slices || t->whole)
    return t->slices != NULL;
  t->whole = TRUE;
  t->slices = cf_slices_new (t->layout.height < ROWS_FOR_4_SLICES ? 2 : 4, t->plans.context, t->plans.filter,
      &t->plans.video, t->common, t->params, &status);
  if (t->slices && provide (t, CF_DEVICE, &t->memory_slices, &t->device_slices, &status))
    return TRUE;
  /* Any other failure is the GPU's, as in all steps; the frames after this one go as a whole. */
  if (status.code != CF_UNSUPPORTED)
    r->status = status;
  cf_slices_free (t->slices);
  t->slices = NULL;
  return FALSE;
}

/* Where other frames are on the link, it is busy anyway, and slices would only be more calls. */
static gboolean
may_slice (GstCfTransfer *t, GstCfFrameRequest *r)
{
  if (t->steady < FRAMES_AFTER_CHANGE) {
    t->steady++;
    return FALSE;
  }
  return r->in.kind < GST_CF_DEVICE && r->out.kind < GST_CF_DEVICE && r->mode == GST_CF_PROGRESSIVE &&
      t->layout.height >= ROWS_FOR_2_SLICES && gst_cf_link_slots_idle (t->link_slots) && provide_slices (t, r);
}

/* A frame that uses the link needs a link slot. Its streams are those of the slot, unless the kernels have the
 * stream of a chain. */
static void
take_link_slot (GstCfTransfer *t, GstCfFrameRequest *r)
{
  gboolean alone;

  if (failed (r) || (r->in.kind == GST_CF_DEVICE && r->out.kind == GST_CF_DEVICE))
    return;
  r->status.code = gst_cf_link_slots_take (t->link_slots, &t->flushing, deadline (t), &r->own.link_slot, &alone,
      &r->status);
  r->own.has_link_slot = !failed (r);
  if (!r->own.has_link_slot)
    return;
  r->own.sliced = r->own.sliced && alone;
  if (!r->own.stream)
    r->own.stream = gst_cf_link_slots_stream (t->link_slots, r->own.link_slot, GST_CF_LINK_KERNELS, &r->status);
  if (r->own.sliced && !failed (r))
    r->own.up = gst_cf_link_slots_stream (t->link_slots, r->own.link_slot, GST_CF_LINK_UP, &r->status);
  if (r->own.sliced && !failed (r))
    r->own.down = gst_cf_link_slots_stream (t->link_slots, r->own.link_slot, GST_CF_LINK_DOWN, &r->status);
}

static void
queue_slices (GstCfTransfer *t, GstCfFrameRequest *r)
{
  GstCfSlot *slot = &t->slot[r->slot];
  const CfSlicesRequest request = { .up = r->own.up,
    .kernels = r->own.stream,
    .down = r->own.down,
    .host_in = host_in (t, r),
    .device_in = &slot->device_in,
    .device_out = { &slot->device_out, &t->device_slices },
    .host_out = host_out (t, r) };

  step_time (t, r, r->own.up, BEFORE_KERNELS);
  if (!failed (r))
    r->status.code = cf_slices_enqueue (t->slices, &request, &r->status);
  step_time (t, r, r->own.down, AFTER_KERNELS);
}

static void
queue_whole (GstCfTransfer *t, GstCfFrameRequest *r)
{
  CfStream *stream = r->own.stream;

  step_upload (t, r, stream);
  step_time (t, r, stream, BEFORE_KERNELS);
  step_filter (t, r);
  step_time (t, r, stream, AFTER_KERNELS);
  if (r->in_place && r->out.kind == GST_CF_PINNED)
    step_keep (t, r);
  if (r->in_place)
    step_time (t, r, stream, BEFORE_DOWNLOAD);
  step_download (t, r, stream);
}

static void
sync_submit (GstCfTransfer *t, GstCfFrameRequest *r)
{
  r->own.sliced = !r->own.stream && !r->area && !r->own.direct && may_slice (t, r);
  step_stage (t, r);
  take_link_slot (t, r);
  if (failed (r))
    return;
  if (r->own.sliced)
    queue_slices (t, r);
  else
    queue_whole (t, r);
}

static void
sync_wait (GstCfTransfer *t, GstCfFrameRequest *r)
{
  CfStream *last = r->own.down ? r->own.down : r->own.stream;

  r->status.code = gst_cf_chain_wait (t->chain, last, deadline (t), &r->status);
}

/* The request is over, whatever came of it. */
static void
sync_end (GstCfTransfer *t, GstCfFrameRequest *r)
{
  if (r->own.has_link_slot && r->status.code == CF_TIMEOUT)
    gst_cf_link_slots_abandon (t->link_slots, r->own.link_slot);
  else if (r->own.has_link_slot)
    gst_cf_link_slots_release (t->link_slots, r->own.link_slot);
  r->own.has_link_slot = FALSE;
}

static void
sync_free (GstCfTransfer *t)
{
  cf_slices_free (t->slices);
  t->slices = NULL;
  t->whole = FALSE;
}

/* ---- several frames at once ----------------------------------------------- */

/* From four frames under way on, downloads alternate between two streams: one begins while the last bytes of another
 * are on the link (1080p: 94 % of the link's rate instead of 88). With fewer frames, two downloads at once leave the
 * uploads without a frame to go with (3 frames: 83 % instead of 88; 2: 58 instead of 75). Two streams for uploads make
 * frames fall into step, all up, then all down. */
static guint
n_down (const GstCfTransfer *t)
{
  return t->n_slots < 4 ? 1 : 2;
}

static gboolean
overlap_open (GstCfTransfer *t, CfStatus *status)
{
  CfStream **const streams[] = { &t->kernels, &t->up, &t->down[0], &t->down[1] };
  gboolean good = TRUE;

  for (guint i = 0; good && i < 2 + n_down (t); i++)
    good = (*streams[i] = cf_stream_new (NULL, status)) != NULL;
  return good;
}

static void
overlap_close (GstCfTransfer *t)
{
  cf_stream_free (t->down[1]);
  cf_stream_free (t->down[0]);
  cf_stream_free (t->up);
  cf_stream_free (t->kernels);
}

static void
queue_upload (GstCfTransfer *t, GstCfFrameRequest *r)
{
  GstCfSlot *slot = &t->slot[r->slot];

  if (!is_copied (r, &r->in) || failed (r))
    return;
  if (slot->left) /* the GPU may still read what this upload overwrites */
    step_wait_event (r, t->up, slot->events, AFTER_KERNELS);
  slot->left = FALSE;
  step_upload (t, r, t->up);
  step_wait_event (r, r->own.stream, slot->events, AFTER_UPLOAD);
}

/* The plans' memory serves one frame at a time, whatever its stream. */
static void
queue_kernels (GstCfTransfer *t, GstCfFrameRequest *r)
{
  CfEvents *events = t->slot[r->slot].events;

  if (t->before)
    step_wait_event (r, r->own.stream, t->before, AFTER_KERNELS);
  step_time (t, r, r->own.stream, BEFORE_KERNELS);
  step_filter (t, r);
  step_record (t, r, r->own.stream, AFTER_KERNELS);
  if (!failed (r))
    t->before = events;
}

static void
queue_download (GstCfTransfer *t, GstCfFrameRequest *r)
{
  if (!is_copied (r, &r->out))
    return;
  step_wait_event (r, r->own.down, t->slot[r->slot].events, AFTER_KERNELS);
  step_time (t, r, r->own.down, BEFORE_DOWNLOAD);
  step_download (t, r, r->own.down);
}

static void
overlap_submit (GstCfTransfer *t, GstCfFrameRequest *r)
{
  GstCfSlot *slot = &t->slot[r->slot];

  if (!r->own.stream)
    r->own.stream = t->kernels;
  r->own.up = t->up;
  r->own.down = t->down[r->slot % n_down (t)];
  step_stage (t, r);
  queue_upload (t, r);
  queue_kernels (t, r);
  queue_download (t, r);
  slot->left = slot->left || r->leaves;
  if (!r->leaves)
    step_record (t, r, is_copied (r, &r->out) ? r->own.down : r->own.stream, CF_COMPLETION);
}

static void
overlap_wait (GstCfTransfer *t, GstCfFrameRequest *r)
{
  r->status.code = cf_events_wait (t->slot[r->slot].events, deadline (t), &t->flushing, &r->status);
}

/* ---- opened and closed -------------------------------------------------- */

static void
forget (GstCfTransfer *t)
{
  memset (t, 0, G_STRUCT_OFFSET (GstCfTransfer, flushing));
}

void
gst_cf_transfer_set_flushing (GstCfTransfer *t, gboolean flushing)
{
  g_atomic_int_set (&t->flushing, flushing);
  if (flushing)
    gst_cf_link_slots_cancel (&t->flushing);
}

gboolean
gst_cf_transfer_open (GstCfTransfer *t, GstObject *context, GstCfChain *chain, guint slots, CfStatus *status)
{
  CfGpuInfo info;
  gboolean good;

  forget (t);
  t->context = gst_object_ref (context);
  t->device = gst_cf_cuda_device (context);
  t->chain = chain;
  t->n_slots = slots;
  if (!push (t, status)) {
    gst_clear_object (&t->context);
    return FALSE;
  }
  good = (t->plans.context = cf_context_new (CF_BACKEND_CUDA, status)) != NULL &&
      cf_gpu_info (t->device, &info, status) == CF_OK;
  t->integrated = good && info.integrated;
  if (good && slots == 1)
    t->link_slots = gst_cf_link_slots_open (context);
  else if (good)
    good = overlap_open (t, status);
  gst_cf_cuda_pop ();
  if (!good)
    gst_cf_transfer_close (t);
  return good;
}

/* Context current. */
static void
free_configuration (GstCfTransfer *t)
{
  t->configured = FALSE;
  t->before = NULL;
  gst_cf_plans_free (&t->plans);
  sync_free (t);
  cf_gpu_free (CF_DEVICE, t->memory_slices);
  t->memory_slices = NULL;
  for (guint i = 0; i < t->n_slots; i++) {
    GstCfSlot *slot = &t->slot[i];

    cf_gpu_free (CF_DEVICE, slot->memory_in);
    cf_gpu_free (CF_DEVICE, slot->memory_out);
    cf_gpu_free (CF_PINNED, slot->memory_host_in);
    cf_gpu_free (CF_PINNED, slot->memory_host_out);
    cf_events_free (slot->events);
    memset (slot, 0, sizeof *slot);
  }
}

void
gst_cf_transfer_close (GstCfTransfer *t)
{
  if (!t->context)
    return;
  if (cf_gpu_hangs (t->device)) {
    gst_cf_transfer_abandon (t);
    return;
  }
  /* Else the context is out of reach (after a fork), and what there is of it stays. */
  if (gst_cf_cuda_push (t->context)) {
    free_configuration (t);
    overlap_close (t);
    cf_context_free (t->plans.context);
    gst_cf_cuda_pop ();
  }
  if (t->link_slots)
    gst_cf_link_slots_close (t->link_slots);
  gst_object_unref (t->context);
  forget (t);
}

guint
gst_cf_transfer_abandon (GstCfTransfer *t)
{
  guint n = (t->kernels != NULL) + (t->up != NULL) + (t->down[0] != NULL) + (t->down[1] != NULL);

  for (guint i = 0; i < t->n_slots; i++) {
    const GstCfSlot *slot = &t->slot[i];

    n += (slot->memory_in != NULL) + (slot->memory_out != NULL);
    n += (slot->memory_host_in != NULL) + (slot->memory_host_out != NULL);
  }
  n += (t->slices != NULL) + (t->memory_slices != NULL);
  for (int m = 0; m < GST_CF_N_MODES; m++)
    n += t->plans.plan[m] != NULL;
  if (t->link_slots) /* what hung of these was given up when it did */
    gst_cf_link_slots_close (t->link_slots);
  /* The reference to the context stays as well: the context must outlive them. */
  forget (t);
  return n;
}

/* ---- plans -------------------------------------------------------------- */

/* GStreamer's own layout lets one copy move a whole frame; where its rows are badly aligned, rows of 256 are worth
 * more. Returns the image's size in bytes. */
static gsize
choose_layout (CfImage *layout, const GstVideoInfo *info, CfFormat format)
{
  guint n = GST_VIDEO_INFO_N_PLANES (info);
  gboolean aligned = TRUE;

  for (guint p = 0; p < n; p++)
    aligned = aligned && GST_VIDEO_INFO_PLANE_STRIDE (info, p) % 16 == 0 &&
        GST_VIDEO_INFO_PLANE_OFFSET (info, p) % 16 == 0;
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

static void
take_params (GstCfTransfer *t, const CfFilter *filter, const CfCommon *common, gconstpointer params)
{
  const CfTraits traits = cf_filter_traits (filter, NULL, common, params);

  t->tried = 0;
  t->shortest[0] = t->shortest[1] = 0;
  t->common = common;
  t->params = params;
  t->history = traits.history > 0;
  t->ahead = traits.ahead > 0;
}

gboolean
gst_cf_transfer_configure (GstCfTransfer *t, const CfFilter *filter, const GstVideoInfo *info, CfFormat format,
    guint modes, const CfCommon *common, gconstpointer params, CfStatus *status)
{
  gboolean ok = TRUE;

  if (!push (t, status))
    return FALSE;
  free_configuration (t);
  g_atomic_int_set (&t->warm, FALSE);
  t->steady = G_MAXUINT / 2;
  t->bytes = choose_layout (&t->layout, info, format);
  take_params (t, filter, common, params);
  if (cf_gpu_lost ()) /* which a free has found out */
    ok = cf_fail_lost (status) == CF_OK;
  for (guint i = 0; ok && i < t->n_slots; i++)
    ok = (t->slot[i].events = cf_events_new (N_SLOT_EVENTS, status)) != NULL;
  ok = ok &&
      gst_cf_plans_make (&t->plans, filter, (CfVideo) { format, t->layout.width, t->layout.height }, modes, common,
          params, status);
  t->configured = ok;
  if (!ok)
    free_configuration (t);
  gst_cf_cuda_pop ();
  return ok;
}

gboolean
gst_cf_transfer_update (GstCfTransfer *t, const CfCommon *common, gconstpointer params, CfStatus *status)
{
  gboolean ok;

  if (!push (t, status))
    return FALSE;
  take_params (t, t->plans.filter, common, params);
  ok = gst_cf_plans_update (&t->plans, common, params, status);
  sync_free (t);
  t->steady = 0;
  gst_cf_cuda_pop ();
  return ok;
}

gboolean
gst_cf_transfer_reset (GstCfTransfer *t, CfStatus *status)
{
  if (!push (t, status))
    return FALSE;
  gst_cf_plans_reset (&t->plans);
  gst_cf_cuda_pop ();
  return TRUE;
}

/* ---- frames ------------------------------------------------------------- */

/* Waits until the GPU has ended what was queued of a request that failed. */
static void
settle (GstCfTransfer *t, GstCfFrameRequest *r)
{
  CfStream *const others[] = { r->own.up, r->own.down, t->down[0], t->down[1] };
  CfStatus status = { 0 };
  CfCode code;

  if (!failed (r) || r->status.code == CF_GPU_LOST || r->status.code == CF_TIMEOUT ||
      (r->status.code == CF_CANCELLED && !r->own.queued))
    return;
  code = r->own.stream ? gst_cf_chain_wait (t->chain, r->own.stream, deadline (t), &status) : CF_OK;
  for (gsize i = 0; code != CF_TIMEOUT && code != CF_CANCELLED && i < G_N_ELEMENTS (others); i++)
    if (others[i])
      code = cf_stream_wait (others[i], deadline (t), &t->flushing, &status);
  if (code == CF_TIMEOUT || code == CF_CANCELLED)
    r->status.code = code;
  r->unfinished = code == CF_CANCELLED;
}

/* The frame is over for this element: releases the link slot, uses the ticket, pops the context. */
static void
end (GstCfTransfer *t, GstCfFrameRequest *r)
{
  sync_end (t, r);
  gst_cf_chain_use_ticket (&r->own.ticket, r->status.code);
  gst_cf_cuda_pop ();
}

CfCode
gst_cf_transfer_submit (GstCfTransfer *t, GstCfFrameRequest *r)
{
  const gboolean overlap = t->n_slots > 1;

  memset (&r->status, 0, sizeof r->status);
  r->unfinished = r->keeps = FALSE;
  memset (&r->ns, 0, sizeof r->ns);
  memset (&r->own, 0, sizeof r->own);
  if (!push (t, &r->status))
    return r->status.code;
  r->own.stream = gst_cf_chain_enter (t->chain, t->context, r->in.buffer, r->out.buffer, &r->status);
  if (overlap && !r->leaves && !failed (r))
    gst_cf_chain_take_ticket (t->chain, r->own.stream, &r->own.ticket);
  if (!failed (r))
    r->own.timed = r->leaves ? gst_cf_chain_is_timed (t->chain, &r->ns.kernel) : t->frames++ % GST_CF_TIMED_EVERY == 0;
  decide_way (t, r);
  if (!failed (r) && overlap)
    overlap_submit (t, r);
  else if (!failed (r))
    sync_submit (t, r);
  if (r->leaves && !failed (r)) {
    r->status.code = gst_cf_chain_leave (t->chain, r->in.buffer, r->out.buffer, !g_atomic_int_get (&t->warm),
        &r->status);
    g_atomic_int_set (&t->warm, TRUE);
  } else {
    settle (t, r);
    if (failed (r))
      put_back (r);
  }
  if (failed (r))
    end (t, r);
  else if (overlap)
    gst_cf_cuda_pop ();
  return r->status.code;
}

/* The time of a frame in slices counts as kernels, for its copies overlap them. */
static void
take_times (const GstCfTransfer *t, GstCfFrameRequest *r)
{
  const CfEvents *events = t->slot[r->slot].events;
  const guint filtered = t->n_slots > 1 || r->in_place ? BEFORE_DOWNLOAD : AFTER_KERNELS;

  r->ns.kernel = cf_events_elapsed_ns (events, BEFORE_KERNELS, AFTER_KERNELS);
  if (is_copied (r, &r->in) && !r->own.sliced)
    r->ns.upload = cf_events_elapsed_ns (events, BEFORE_UPLOAD, AFTER_UPLOAD);
  if (is_copied (r, &r->out) && !r->own.sliced)
    r->ns.download = cf_events_elapsed_ns (events, filtered, AFTER_DOWNLOAD);
}

void
gst_cf_transfer_wait (GstCfTransfer *t, GstCfFrameRequest *r)
{
  const gboolean overlap = t->n_slots > 1;

  if (r->leaves && overlap)
    return;
  if (overlap && !push (t, &r->status)) { /* how far the GPU is cannot be known */
    if (r->status.code != CF_GPU_LOST)
      r->status.code = CF_TIMEOUT;
    gst_cf_chain_use_ticket (&r->own.ticket, r->status.code);
    return;
  }
  if (r->leaves) {
    end (t, r);
    return;
  }
  if (cf_gpu_lost ())
    cf_fail_lost (&r->status);
  else if (overlap)
    overlap_wait (t, r);
  else
    sync_wait (t, r);
  r->unfinished = r->status.code == CF_CANCELLED;
  if (!failed (r) && r->regions)
    r->status.code = cf_plan_regions (t->plans.plan[r->mode], r->regions, &r->status);
  if (!failed (r) && r->own.timed) {
    take_times (t, r);
    note_trial (t, r);
  }
  if (!failed (r))
    g_atomic_int_set (&t->warm, TRUE);
  put_back (r);
  end (t, r);
  if (!failed (r) && r->out.kind == GST_CF_PAGEABLE)
    cf_image_copy (r->out.image, &t->slot[r->slot].host_out,
        r->in_place ? &(CfPart) { r->area, CF_AREA_PACKED } : NULL);
}
