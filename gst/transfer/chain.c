/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * transfer/chain.c: frames in CUDA memory: the stream that the elements of a chain share, fences on memory, and
 * input that is held while the GPU reads it.
 *
 * Work on a shared stream is numbered: a thread that has queued something takes the next number, and a
 * thread that has waited notes up to which number everything is done. */
#include "transfer/chain.h"
#include "gstcfcuda.h"
#include "gstcfdevices.h"

#include <gst/base/gstbasetransform.h>

GST_DEBUG_CATEGORY_EXTERN (gst_cf_filter_debug);
#define GST_CAT_DEFAULT gst_cf_filter_debug

struct _GstCfSharedStream {
  gint refs;
  GstObject *context;
  gint device; /* the context's */
  gpointer handle;
  GMutex waiting; /* guards `stream`, with which any thread waits */
  CfStream *stream;
  GMutex lock; /* guards the rest */
  guint64 queued, done;
  guint64 first; /* up to here some work is the first of its plan */
  gboolean hung; /* the stream did not end in time: nothing of it is touched any more */
  gboolean cut;  /* the last wait was cut short */
};

/* On a memory: the work that used it last. Only the memory's writer changes it. */
typedef struct {
  GstCfSharedStream *shared;
  guint64 number;
} Fence;

/* A buffer that the GPU may still read, for all frames made of it. */
typedef struct {
  gint refs;
  GstBuffer *buffer;
  GstCfSharedStream *shared;
  guint64 number;
} Hold;

typedef struct {
  GstMeta meta;
  Hold *hold;
} HoldMeta;

static G_DEFINE_QUARK (gst-cf-chain-fence, fence);

/* ---- the stream --------------------------------------------------------- */

/* Context current. */
static GstCfSharedStream *
shared_new (GstObject *context, CfStatus *status)
{
  gpointer handle = gst_cf_cuda_stream_new ();
  CfStream *stream = handle ? cf_stream_new (handle, status) : NULL;
  GstCfSharedStream *shared;

  if (!handle && cf_gpu_lost ())
    cf_fail_lost (status);
  else if (!handle)
    cf_fail (status, CF_GPU_ERROR, "no CUDA stream could be made for CUDA memory");
  else if (!stream && !cf_gpu_lost () && !cf_gpu_hangs (gst_cf_cuda_device (context)))
    gst_cf_cuda_stream_free (handle);
  if (!stream)
    return NULL;
  shared = g_new0 (GstCfSharedStream, 1);
  shared->refs = 1;
  shared->context = gst_object_ref (context);
  shared->device = gst_cf_cuda_device (context);
  shared->handle = handle;
  shared->stream = stream;
  g_mutex_init (&shared->waiting);
  g_mutex_init (&shared->lock);
  return shared;
}

static GstCfSharedStream *
shared_ref (GstCfSharedStream *shared)
{
  g_atomic_int_inc (&shared->refs);
  return shared;
}

static void
shared_unref (GstCfSharedStream *shared)
{
  if (!g_atomic_int_dec_and_test (&shared->refs))
    return;
  /* A stream of a GPU that hangs stays until the process ends, with its context. */
  if (!shared->hung && !cf_gpu_may_hang (shared->device)) {
    if (!cf_gpu_lost () && gst_cf_cuda_push (shared->context)) {
      cf_stream_free (shared->stream);
      if (!cf_gpu_lost ())
        gst_cf_cuda_stream_free (shared->handle);
      gst_cf_cuda_pop ();
    }
    gst_object_unref (shared->context);
  }
  g_mutex_clear (&shared->waiting);
  g_mutex_clear (&shared->lock);
  g_free (shared);
}

static gboolean
is_done (GstCfSharedStream *shared, guint64 number)
{
  gboolean done;

  g_mutex_lock (&shared->lock);
  done = shared->done >= number;
  g_mutex_unlock (&shared->lock);
  return done;
}

static guint64
queued (GstCfSharedStream *shared)
{
  guint64 number;

  g_mutex_lock (&shared->lock);
  number = shared->queued;
  g_mutex_unlock (&shared->lock);
  return number;
}

static gboolean
hangs (GstCfSharedStream *shared)
{
  gboolean hung;

  g_mutex_lock (&shared->lock);
  hung = shared->hung;
  g_mutex_unlock (&shared->lock);
  return hung || cf_gpu_hangs (shared->device);
}

/* Notes the result of a wait for `number`. */
static void
note (GstCfSharedStream *shared, guint64 number, CfCode code)
{
  g_mutex_lock (&shared->lock);
  if (code == CF_OK)
    shared->done = MAX (shared->done, number);
  shared->hung = shared->hung || code == CF_TIMEOUT;
  shared->cut = code == CF_CANCELLED;
  g_mutex_unlock (&shared->lock);
}

/* Waits for everything queued so far, with `stream`, which is the shared one or an element's own handle on it.
 * `hurry`: see cf_stream_wait. */
static CfCode
wait_on (GstCfSharedStream *shared, CfStream *stream, guint64 deadline_ns, const gint *hurry, CfStatus *status)
{
  guint64 number;
  gboolean cut;
  CfCode code;

  if (hangs (shared))
    return cf_fail_hung (shared->device, status);
  g_mutex_lock (&shared->lock);
  number = shared->queued;
  cut = shared->cut;
  if (shared->first > shared->done)
    deadline_ns = MAX (deadline_ns, GST_CF_FIRST_DEADLINE_NS);
  g_mutex_unlock (&shared->lock);
  if (cut && hurry && g_atomic_int_get (hurry) && cf_gpu_may_hang (shared->device))
    return cf_fail (status, CF_CANCELLED, "the GPU did not finish a frame before a flush or stop ended the wait");
  code = cf_stream_wait (stream, deadline_ns, hurry, status);
  note (shared, number, code);
  return code;
}

/* The same in any thread, with any context or none, unless `number` is done. */
static CfCode
wait_for (GstCfSharedStream *shared, guint64 number, const gint *hurry, CfStatus *status)
{
  CfCode code;

  if (is_done (shared, number))
    return CF_OK;
  if (hangs (shared))
    return cf_fail_hung (shared->device, status);
  if (cf_gpu_lost ())
    return cf_fail_lost (status);
  if (!gst_cf_cuda_push (shared->context))
    return cf_fail (status, CF_GPU_ERROR, "the CUDA context could not be made current");
  g_mutex_lock (&shared->waiting);
  code = wait_on (shared, shared->stream, GST_CF_DEADLINE_NS, hurry, status);
  g_mutex_unlock (&shared->waiting);
  gst_cf_cuda_pop ();
  return code;
}

/* ---- fences ------------------------------------------------------------- */

static Fence *
fence_of (GstBuffer *buffer)
{
  if (!gst_cf_cuda_buffer_context (buffer))
    return NULL;
  return gst_mini_object_get_qdata (GST_MINI_OBJECT_CAST (gst_buffer_peek_memory (buffer, 0)), fence_quark ());
}

static void
fence_free (gpointer data)
{
  Fence *fence = data;

  shared_unref (fence->shared);
  g_free (fence);
}

static void
fence_buffer (GstBuffer *buffer, GstCfSharedStream *shared, guint64 number)
{
  Fence *fence = fence_of (buffer);

  if (fence && fence->shared == shared) {
    fence->number = number;
    return;
  }
  fence = g_new (Fence, 1);
  *fence = (Fence) { shared_ref (shared), number };
  gst_mini_object_set_qdata (GST_MINI_OBJECT_CAST (gst_buffer_peek_memory (buffer, 0)), fence_quark (), fence,
      fence_free);
}

/* ---- input that is held ------------------------------------------------- */

static Hold *
hold_ref (Hold *hold)
{
  g_atomic_int_inc (&hold->refs);
  return hold;
}

static void
hold_unref (Hold *hold)
{
  CfStatus status = { 0 };
  gint hurry;

  if (!g_atomic_int_dec_and_test (&hold->refs))
    return;
  /* The wait is over at once, except where a frame was dropped on its way. A buffer that a hung GPU may
   * read is never given back; where another wait was cut short, this one is, too. */
  hurry = cf_gpu_may_hang (hold->shared->device);
  if (wait_for (hold->shared, hold->number, &hurry, &status) == CF_OK || status.code == CF_GPU_LOST)
    gst_buffer_unref (hold->buffer);
  else
    GST_WARNING ("an input buffer is given up: %s", status.message);
  shared_unref (hold->shared);
  g_free (hold);
}

GType
gst_cf_chain_api_get_type (void)
{
  static gsize type;

  if (g_once_init_enter (&type)) {
    static const gchar *tags[] = { GST_META_TAG_MEMORY_STR, NULL };

    g_once_init_leave (&type, gst_meta_api_type_register ("GstCfChainAPI", tags));
  }
  return (GType) type;
}

static gboolean
hold_meta_init (GstMeta *meta, gpointer params, GstBuffer *buffer)
{
  (void) params;
  (void) buffer;
  ((HoldMeta *) meta)->hold = NULL;
  return TRUE;
}

static void
hold_meta_free (GstMeta *meta, GstBuffer *buffer)
{
  (void) buffer;
  if (((HoldMeta *) meta)->hold)
    hold_unref (((HoldMeta *) meta)->hold);
}

static void add_hold (GstBuffer *buffer, Hold *hold);

/* A copy of the buffer, which has the same memory. */
static gboolean
hold_meta_transform (GstBuffer *to, GstMeta *meta, GstBuffer *from, GQuark type, gpointer data)
{
  (void) from;
  (void) data;
  if (GST_META_TRANSFORM_IS_COPY (type) && ((HoldMeta *) meta)->hold)
    add_hold (to, hold_ref (((HoldMeta *) meta)->hold));
  return TRUE;
}

static const GstMetaInfo *
hold_meta_info (void)
{
  static const GstMetaInfo *info;

  if (g_once_init_enter (&info))
    g_once_init_leave (&info,
        gst_meta_register (GST_CF_CHAIN_API, "GstCfHoldMeta", sizeof (HoldMeta), hold_meta_init, hold_meta_free,
            hold_meta_transform));
  return info;
}

/* Takes the hold. */
static void
add_hold (GstBuffer *buffer, Hold *hold)
{
  HoldMeta *meta = (HoldMeta *) gst_buffer_add_meta (buffer, hold_meta_info (), NULL);

  meta->hold = hold;
}

/* Holds what the GPU reads for `out`: `in`, and what `in` was made of. */
static void
hold_input (GstBuffer *in, GstBuffer *out, GstCfSharedStream *shared, guint64 number)
{
  Fence *fence = fence_of (in);
  HoldMeta *meta;
  Hold *hold;

  if (!fence || fence->shared != shared) {
    hold = g_new (Hold, 1);
    *hold = (Hold) { 1, gst_buffer_ref (in), shared_ref (shared), number };
    add_hold (out, hold);
    return;
  }
  /* Its next writer is on the same stream, behind this. */
  meta = (HoldMeta *) gst_buffer_get_meta (in, GST_CF_CHAIN_API);
  if (meta && meta->hold && !is_done (shared, meta->hold->number))
    add_hold (out, hold_ref (meta->hold));
}

/* ---- an element --------------------------------------------------------- */

void
gst_cf_chain_init (GstCfChain *chain, GstElement *element, const gint *flushing)
{
  *chain = (GstCfChain) { .element = element, .flushing = flushing, .device = -1 };
}

void
gst_cf_chain_open (GstCfChain *chain, GstObject *context)
{
  chain->device = gst_cf_cuda_device (context);
  gst_cf_devices_count (chain->device, 1);
}

/* Context current. */
static void
forget_foreign (GstCfForeign *foreign)
{
  cf_events_free (foreign->events);
  cf_stream_free (foreign->stream);
  *foreign = (GstCfForeign) { 0 };
}

/* Goes over to another stream, or to none; the context is current. */
static void
change_stream (GstCfChain *chain, GstCfSharedStream *shared, CfStream *stream)
{
  GstCfSharedStream *old;

  forget_foreign (&chain->of_in);
  forget_foreign (&chain->of_out);
  cf_events_free (chain->events);
  chain->events = NULL;
  cf_stream_free (chain->stream);
  chain->stream = stream;
  chain->last = 0;
  chain->timing = FALSE;
  chain->frames = 0;
  GST_OBJECT_LOCK (chain->element);
  old = chain->shared;
  chain->shared = shared;
  GST_OBJECT_UNLOCK (chain->element);
  if (old)
    shared_unref (old);
}

CfCode
gst_cf_chain_close (GstCfChain *chain)
{
  CfStatus status = { 0 };
  CfCode code = chain->device >= 0 && cf_gpu_hangs (chain->device) ? cf_fail_hung (chain->device, &status) : CF_OK;

  if (chain->shared) {
    code = hangs (chain->shared) ? cf_fail_hung (chain->shared->device, &status) : gst_cf_chain_settle (chain, &status);
    if (code != CF_OK)
      GST_WARNING_OBJECT (chain->element, "leaving a chain: %s", status.message);
    if (gst_cf_cuda_push (chain->shared->context)) {
      change_stream (chain, NULL, NULL);
      gst_cf_cuda_pop ();
    } else {
      chain->stream = NULL; /* out of reach, after a fork */
      chain->events = NULL;
      chain->of_in = chain->of_out = (GstCfForeign) { 0 };
      change_stream (chain, NULL, NULL);
    }
  }
  if (chain->device >= 0)
    gst_cf_devices_count (chain->device, -1);
  chain->device = -1;
  chain->taken = FALSE;
  return code;
}

void
gst_cf_chain_decide (GstCfChain *chain, GstQuery *query)
{
  guint at;

  chain->taken = gst_query_find_allocation_meta (query, GST_CF_CHAIN_API, &at);
  if (chain->taken)
    gst_query_remove_nth_allocation_meta (query, at);
  GST_INFO_OBJECT (chain->element, "frames leave %s", chain->taken ? "before the GPU is done" : "finished");
}

gboolean
gst_cf_chain_may_leave (const GstCfChain *chain)
{
  return chain->taken && !gst_pad_needs_reconfigure (GST_BASE_TRANSFORM_SRC_PAD (chain->element));
}

/* Returns whether a memory may be freed. To free it on a GPU that hangs, or may hang, is to wait for that GPU: the
 * memory stays until the process ends. */
static gboolean
may_free (GstMiniObject *memory)
{
  if (!cf_gpu_may_hang (gst_cf_cuda_device (gst_cf_cuda_memory_context (GST_MEMORY_CAST (memory)))))
    return TRUE;
  gst_mini_object_ref (memory);
  return FALSE;
}

/* Where a frame's work is queued: on the stream of its input; on the one of the
 * frames before; on a new one. NULL: it is all in host memory, or (status) there is
 * none to be had. The caller owns a reference. */
static GstCfSharedStream *
choose_stream (GstCfChain *chain, GstObject *context, GstBuffer *in, GstBuffer *out, CfStatus *status)
{
  gboolean in_ours = gst_cf_cuda_buffer_context (in) == context, out_ours = gst_cf_cuda_buffer_context (out) == context;
  const Fence *fence = in_ours ? fence_of (in) : NULL;

  if (!in_ours && !out_ours)
    return NULL;
  if (fence && fence->shared->context == context)
    return shared_ref (fence->shared);
  return chain->shared && chain->shared->context == context ? shared_ref (chain->shared) : shared_new (context, status);
}

/* Has what is queued from now on wait for the neighbours that use the buffer on a stream of their own. */
static CfCode
sync_with_foreign_stream (GstCfChain *chain, GstCfForeign *foreign, GstObject *context, GstBuffer *buffer,
    CfStatus *status)
{
  gpointer handle = gst_cf_cuda_buffer_context (buffer) == context ? gst_cf_cuda_buffer_stream (buffer) : NULL;
  CfCode code;

  if (!handle || handle == chain->shared->handle)
    return CF_OK;
  if (handle != foreign->handle) {
    forget_foreign (foreign);
    foreign->stream = cf_stream_new (handle, status);
    foreign->events = foreign->stream ? cf_events_new (1, status) : NULL;
    if (!foreign->events) {
      forget_foreign (foreign);
      return status->code;
    }
    foreign->handle = handle;
    GST_DEBUG_OBJECT (chain->element, "frames wait for CUDA stream %p, which %" GST_PTR_FORMAT " came with", handle,
        (void *) buffer);
  }
  code = cf_stream_record (foreign->stream, foreign->events, 0, status);
  return code == CF_OK ? cf_stream_wait_event (chain->stream, foreign->events, 0, status) : code;
}

/* Goes over to `shared`, once what this element queued elsewhere is done: the plans' memory, and then the
 * output's, is used in one place at a time. */
static CfCode
join (GstCfChain *chain, GstCfSharedStream *shared, GstBuffer *out, CfStatus *status)
{
  const Fence *fence = fence_of (out);
  CfCode code = CF_OK;
  CfStream *joined;

  if (shared && hangs (shared))
    return cf_fail_hung (shared->device, status);
  if (shared != chain->shared)
    code = gst_cf_chain_settle (chain, status);
  if (code == CF_OK && fence && fence->shared != shared)
    code = gst_cf_chain_finish (chain, out, status);
  if (code != CF_OK || !shared || shared == chain->shared)
    return code;
  joined = cf_stream_new (shared->handle, status);
  if (!joined)
    return status->code;
  change_stream (chain, shared_ref (shared), joined);
  return CF_OK;
}

void
gst_cf_chain_guard (GstBuffer *buffer)
{
  GstMiniObject *memory = GST_MINI_OBJECT_CAST (gst_buffer_peek_memory (buffer, 0));

  if (gst_cf_cuda_buffer_context (buffer) && !memory->dispose)
    memory->dispose = may_free;
}

CfStream *
gst_cf_chain_enter (GstCfChain *chain, GstObject *context, GstBuffer *in, GstBuffer *out, CfStatus *status)
{
  GstCfSharedStream *shared;

  gst_cf_chain_guard (out);
  status->code = CF_OK;
  shared = choose_stream (chain, context, in, out, status);
  if (status->code == CF_OK)
    status->code = join (chain, shared, out, status);
  if (status->code == CF_OK && shared)
    status->code = sync_with_foreign_stream (chain, &chain->of_in, context, in, status);
  if (status->code == CF_OK && shared)
    status->code = sync_with_foreign_stream (chain, &chain->of_out, context, out, status);
  if (!shared)
    return NULL;
  shared_unref (shared);
  return chain->stream;
}

CfCode
gst_cf_chain_leave (GstCfChain *chain, GstBuffer *in, GstBuffer *out, gboolean first, CfStatus *status)
{
  GstCfSharedStream *shared = chain->shared;

  g_mutex_lock (&shared->lock);
  chain->last = ++shared->queued;
  if (first)
    shared->first = chain->last;
  g_mutex_unlock (&shared->lock);
  fence_buffer (out, shared, chain->last);
  hold_input (in, out, shared, chain->last);
  /* The pad may have a new peer since the query; if one comes later, the event that announces it finishes
   * this frame, too. */
  return gst_cf_chain_may_leave (chain) && !gst_cf_cuda_buffer_stream (out) ? CF_OK
                                                                            : gst_cf_chain_settle (chain, status);
}

CfCode
gst_cf_chain_wait (GstCfChain *chain, CfStream *stream, guint64 deadline_ns, CfStatus *status)
{
  if (!chain->stream || stream != chain->stream)
    return cf_stream_wait (stream, deadline_ns, chain->flushing, status);
  return wait_on (chain->shared, stream, deadline_ns, chain->flushing, status);
}

void
gst_cf_chain_take_ticket (GstCfChain *chain, const CfStream *stream, GstCfTicket *ticket)
{
  if (chain->stream && stream == chain->stream)
    *ticket = (GstCfTicket) { shared_ref (chain->shared), queued (chain->shared) };
}

void
gst_cf_chain_use_ticket (GstCfTicket *ticket, CfCode code)
{
  if (!ticket->shared)
    return;
  note (ticket->shared, ticket->number, code);
  shared_unref (ticket->shared);
  ticket->shared = NULL;
}

/* One frame in eight is timed: the events and their query cost as much as a launch. */
gboolean
gst_cf_chain_is_timed (GstCfChain *chain, guint64 *kernel)
{
  const guint at = chain->frames++ % 8;

  if (chain->timing && at % 4 == 0) /* no events: the frame failed before it was timed */
    chain->timing = chain->events && (*kernel = cf_events_elapsed_ns (chain->events, 0, 1)) == 0;
  if (chain->timing || at != 0)
    return FALSE;
  chain->timing = TRUE;
  return TRUE;
}

CfCode
gst_cf_chain_begin_timing (GstCfChain *chain, CfStatus *status)
{
  if (!chain->events && !(chain->events = cf_events_new (2, status))) {
    chain->timing = FALSE;
    return status->code;
  }
  return cf_stream_record (chain->stream, chain->events, 0, status);
}

CfCode
gst_cf_chain_end_timing (GstCfChain *chain, CfStatus *status)
{
  return cf_stream_record (chain->stream, chain->events, 1, status);
}

CfCode
gst_cf_chain_settle (GstCfChain *chain, CfStatus *status)
{
  return chain->shared ? wait_for (chain->shared, chain->last, chain->flushing, status) : CF_OK;
}

CfCode
gst_cf_chain_settle_all (GstCfChain *chain, CfStatus *status)
{
  GstCfSharedStream *shared;
  CfCode code;

  GST_OBJECT_LOCK (chain->element);
  shared = chain->shared ? shared_ref (chain->shared) : NULL;
  GST_OBJECT_UNLOCK (chain->element);
  if (!shared)
    return CF_OK;
  code = wait_for (shared, queued (shared), chain->flushing, status);
  shared_unref (shared);
  return code;
}

CfCode
gst_cf_chain_finish (const GstCfChain *chain, GstBuffer *buffer, CfStatus *status)
{
  GstObject *context = gst_cf_cuda_buffer_context (buffer);
  const Fence *fence = fence_of (buffer);

  /* To read the memory is a copy on its GPU. */
  if (context && cf_gpu_hangs (-1) && cf_gpu_hangs (gst_cf_cuda_device (context)))
    return cf_fail_hung (gst_cf_cuda_device (context), status);
  /* Other elements may have read it since the fence was set. */
  return fence ? wait_for (fence->shared, queued (fence->shared), chain->flushing, status) : CF_OK;
}
