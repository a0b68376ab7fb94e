/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcffilter.c: the base class: start and stop, messages, events, new parameters. */
#include "gstcffilter-private.h"
#include "gstcfcaps.h"
#include "gstcfcuda.h"
#include "gstcfdevicename.h"
#include "gstcfdevices.h"
#include "gstcfmemory.h"

#define GST_CAT_DEFAULT gst_cf_filter_debug

GST_DEBUG_CATEGORY (gst_cf_filter_debug);

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (GstCfFilter, gst_cf_filter, GST_TYPE_BASE_TRANSFORM,
    G_ADD_PRIVATE (GstCfFilter)
        GST_DEBUG_CATEGORY_INIT (gst_cf_filter_debug, "cffilter", 0, "base class of the CUDA filters"))

GstCfFilterPrivate *
gst_cf_filter_private (GstCfFilter *self)
{
  return gst_cf_filter_get_instance_private (self);
}

/* ---- start, stop, contexts ---------------------------------------------- */

#define INSISTED_UNKNOWN -2

/* Returns the number of the GPU that the user insists on, -1: of none. What cuda-device names is known from the start
 * on. */
static gint
wanted_device (GstCfFilter *self)
{
  GstCfFilterPrivate *priv = PRIV (self);
  gint device;

  GST_OBJECT_LOCK (self);
  device = priv->insisted != INSISTED_UNKNOWN ? priv->insisted : priv->device_name ? -1 : priv->device;
  GST_OBJECT_UNLOCK (self);
  return device;
}

/* Sets `*device` to the GPU that cuda-device names, if it names one, and drops the context of another one that was
 * offered before. */
static CfCode
find_named_gpu (GstCfFilter *self, const gchar *name, guint64 hung, gint *device, CfStatus *status)
{
  GstCfFilterPrivate *priv = PRIV (self);
  GstObject *other = NULL;
  gint named;
  CfCode code = gst_cf_device_name_find (name, cf_gpu_count (NULL), hung, &named, status);

  if (code != CF_OK)
    return code;
  *device = named >= 0 ? named : *device;
  GST_OBJECT_LOCK (self);
  priv->insisted = *device;
  if (*device >= 0 && priv->context && gst_cf_cuda_device (priv->context) != *device)
    other = g_steal_pointer (&priv->context);
  GST_OBJECT_UNLOCK (self);
  gst_clear_object (&other);
  return CF_OK;
}

/* Chooses a GPU of which `unfit` has no bit, and for which this build has kernels. Where there is none, the one that is
 * returned is refused when it is opened. */
static gint
choose_gpu (guint64 unfit)
{
  const guint n = (guint) MAX (cf_gpu_count (NULL), 0);
  gint device = gst_cf_devices_choose (n, unfit);
  CfGpuInfo info;

  while (!(unfit >> device & 1) && cf_gpu_info (device, &info, NULL) == CF_OK &&
      cf_gpu_check (&info, cf_gpu_state ().archs, NULL) != CF_OK) {
    unfit |= G_GUINT64_CONSTANT (1) << device;
    device = gst_cf_devices_choose (n, unfit);
  }
  return device;
}

/* Opens a GPU. Nothing is asked of one that hangs: making a CUDA context there may never end. */
static gboolean
open_gpu (GstCfFilter *self, gint device, const gchar *name, CfStatus *status)
{
  GstCfFilterPrivate *priv = PRIV (self);
  guint64 hung = cf_gpu_state ().hung;

  if (!gst_cf_cuda_available (status) || (name && find_named_gpu (self, name, hung, &device, status) != CF_OK))
    return FALSE;
  if (device < 0)
    device = choose_gpu (hung);
  cf_gpu_settle_doubt (device);
  if (cf_gpu_hangs (device))
    cf_fail_hung (device, status);
  else if (!gst_cf_cuda_ensure_context (GST_ELEMENT (self), device, &priv->context))
    cf_fail (status, CF_GPU_ERROR, "could not create a CUDA context on device %d", device);
  else
    return gst_cf_backend_open_gpu (&priv->backend, priv->context, status);
  return FALSE;
}

/* Opens the GPU where the properties and the host permit. Returns FALSE after an element error if backend=cuda and the
 * GPU cannot be used. */
static gboolean
start_gpu (GstCfFilter *self, GstCfBackendKind backend, gint device, const gchar *name)
{
  CfStatus status = { 0 };
  gboolean absent, named;
  gint none;

  if (backend == GST_CF_BACKEND_CPU || open_gpu (self, device, name, &status))
    return TRUE;
  /* A host without a GPU or its driver, or a build without CUDA. */
  absent = status.code == CF_NO_GPU && status.cuda == 0;
  if (!absent)
    gst_cf_stats_gpu_error (&PRIV (self)->backend.stats, status.message);
  named = name && gst_cf_device_name_find (name, 0, 0, &none, NULL) != CF_OK;
  if (backend == GST_CF_BACKEND_CUDA && absent)
    GST_ELEMENT_ERROR (self, RESOURCE, NOT_FOUND,
        ("No GPU can be used: %s. Use backend=auto or backend=cpu to filter on the CPU", status.message), (NULL));
  else if (backend == GST_CF_BACKEND_CUDA)
    GST_ELEMENT_ERROR (self, LIBRARY, INIT, ("The GPU cannot be used: %s", status.message), (NULL));
  else if (absent && !named)
    GST_INFO_OBJECT (self, "filtering on the CPU: %s", status.message);
  else
    GST_ELEMENT_WARNING (self, LIBRARY, INIT,
        ("The GPU cannot be used: %s. The CPU filters the frames", status.message), (NULL));
  return backend != GST_CF_BACKEND_CUDA;
}

static void
release (GstCfFilter *self)
{
  GstCfFilterPrivate *priv = PRIV (self);
  GstBufferPool *pool;
  GstObject *context;

  GST_OBJECT_LOCK (self);
  priv->started = priv->have_video = priv->has_gpu = FALSE;
  priv->insisted = INSISTED_UNKNOWN;
  context = priv->context;
  priv->context = NULL;
  pool = g_steal_pointer (&priv->pool);
  GST_OBJECT_UNLOCK (self);
  gst_clear_object (&pool);
  gst_cf_output_stop (&priv->output);
  g_clear_pointer (&priv->area, cf_area_unref);
  g_queue_clear_full (&priv->held, (GDestroyNotify) gst_buffer_unref);
  gst_cf_roi_stop (priv->roi);
  gst_cf_backend_stop (&priv->backend);
  if (priv->allocator)
    gst_object_unref (priv->allocator);
  priv->allocator = NULL;
  if (context)
    gst_object_unref (context);
}

static gboolean
start (GstCfFilter *self)
{
  GstCfFilterPrivate *priv = PRIV (self);
  CfStatus status = { 0 };
  gboolean fail_on_gpu_error;
  GstCfBackendKind backend;
  g_autofree gchar *name = NULL;
  gint device;
  CfCode code;

  GST_OBJECT_LOCK (self);
  priv->slots = (guint) priv->frames_in_flight;
  priv->latency = priv->pushed = 0;
  backend = priv->wanted_backend;
  device = priv->device;
  name = g_strdup (priv->device_name);
  fail_on_gpu_error = priv->on_gpu_error == GST_CF_ON_GPU_ERROR_ERROR;
  code = cf_filter_check (FILTER (self), NULL, &priv->common, priv->params, &status);
  GST_OBJECT_UNLOCK (self);
  if (code != CF_OK || gst_cf_device_name_check (name, &status) != CF_OK) {
    GST_ELEMENT_ERROR (self, LIBRARY, SETTINGS, ("%s", status.message), (NULL));
    return FALSE;
  }
  if (!gst_cf_backend_start (&priv->backend, priv->slots, fail_on_gpu_error, &status)) {
    gst_cf_backend_post_error (GST_ELEMENT (self), &status, "Could not start the filter");
    return FALSE;
  }
  if (!start_gpu (self, backend, device, name)) {
    release (self);
    return FALSE;
  }
  priv->discont = FALSE;
  priv->held_flow = GST_FLOW_OK;
  gst_cf_backend_set_flushing (&priv->backend, FALSE);
  if (priv->slots > 1 && !gst_cf_output_start (&priv->output, priv->slots, GST_OBJECT_NAME (self))) {
    GST_ELEMENT_ERROR (self, RESOURCE, FAILED, ("Could not start the output thread (frames-in-flight=%u)", priv->slots),
        (NULL));
    release (self);
    return FALSE;
  }
  priv->allocator = gst_cf_allocator_new (priv->backend.use_gpu ? priv->context : NULL);
  g_atomic_int_set (&priv->reset, FALSE);
  g_atomic_int_set (&priv->posted, FALSE);
  gst_caps_replace (&priv->refused_caps, NULL);
  GST_OBJECT_LOCK (self);
  priv->advice[0] = '\0';
  priv->has_gpu = priv->backend.use_gpu;
  priv->started = TRUE;
  priv->serial++;
  GST_OBJECT_UNLOCK (self);
  gst_cf_roi_start (priv->roi);
  gst_cf_filter_update_active_backend (self);
  return TRUE;
}

/* Starts before the pads are active and stops after they are not, so that no caps and no frame arrive in between. The
 * virtual functions start and stop of the base class do not promise that: a pad accepts data before start returns. */
static GstStateChangeReturn
change_state (GstElement *element, GstStateChange transition)
{
  GstCfFilter *self = GST_CF_FILTER (element);
  gboolean starts = transition == GST_STATE_CHANGE_READY_TO_PAUSED;
  GstStateChangeReturn result;

  if (starts && !start (self))
    return GST_STATE_CHANGE_FAILURE;
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
    CfStatus status = { 0 };

    gst_cf_backend_set_flushing (&PRIV (self)->backend, TRUE); /* the streaming thread may wait for the GPU */
    /* CUDA memory of the pools is freed next, which waits for frames that have left, unless the GPU is in doubt. */
    if (gst_cf_chain_settle_all (&PRIV (self)->backend.chain, &status) != CF_OK)
      GST_WARNING_OBJECT (self, "stopping: %s", status.message);
  }
  result = GST_ELEMENT_CLASS (gst_cf_filter_parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY || (starts && result == GST_STATE_CHANGE_FAILURE))
    release (self);
  return result;
}

static void
set_context (GstElement *element, GstContext *message)
{
  GstCfFilter *self = GST_CF_FILTER (element);
  GstCfFilterPrivate *priv = PRIV (self);
  GstObject *context = NULL;

  if (message)
    gst_cf_cuda_set_context (element, message, wanted_device (self), &context);
  GST_OBJECT_LOCK (self);
  if (context && !priv->context) {
    priv->context = context;
    context = NULL;
  }
  GST_OBJECT_UNLOCK (self);
  if (context)
    gst_object_unref (context);
  GST_ELEMENT_CLASS (gst_cf_filter_parent_class)->set_context (element, message);
}

/* ---- before a frame ----------------------------------------------------- */

void
gst_cf_filter_drain (GstCfFilter *self)
{
  gst_cf_output_drain (&PRIV (self)->output);
}

/* Moves the element to the CUDA context of its input frames, unless the user insists on another GPU. In that case
 * frames are copied through system memory. */
static void
adopt_context (GstCfFilter *self, GstBuffer *buffer)
{
  GstCfFilterPrivate *priv = PRIV (self);
  GstObject *input_context = gst_cf_cuda_buffer_context (buffer), *old;
  gint device;

  if (!input_context || !gst_cf_backend_is_elsewhere (&priv->backend, input_context))
    return;
  device = wanted_device (self);
  if (device >= 0 && gst_cf_cuda_device (input_context) != device)
    return;
  gst_cf_filter_finish_held (self);
  gst_cf_filter_drain (self);
  if (!gst_cf_backend_is_elsewhere (&priv->backend, input_context)) /* the GPU failed while a frame was pending */
    return;
  GST_INFO_OBJECT (self, "moving to the CUDA context of the input, %" GST_PTR_FORMAT, (void *) input_context);
  GST_OBJECT_LOCK (self);
  old = priv->context;
  priv->context = gst_object_ref (input_context);
  GST_OBJECT_UNLOCK (self);
  if (gst_cf_backend_adopt (&priv->backend, input_context)) {
    gst_object_unref (priv->allocator);
    priv->allocator = gst_cf_allocator_new (input_context);
    gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  }
  if (old)
    gst_object_unref (old);
}

void
gst_cf_filter_animate (GstCfFilter *self, GstBuffer *next)
{
  const GstSegment *segment = &GST_BASE_TRANSFORM (self)->segment;
  GstClockTime time = GST_CLOCK_TIME_NONE;

  if (segment->format == GST_FORMAT_TIME)
    time = gst_segment_to_stream_time (segment, GST_FORMAT_TIME, GST_BUFFER_TIMESTAMP (next));
  if (!GST_CLOCK_TIME_IS_VALID (time))
    return;
  g_atomic_pointer_set (&PRIV (self)->animating, g_thread_self ());
  gst_object_sync_values (GST_OBJECT (self), time);
  g_atomic_pointer_set (&PRIV (self)->animating, NULL);
}

/* Replaces `*params`, which may be NULL, by a snapshot of the properties where there are new values. Without memory the
 * old ones stay in force, and the next frame tries again. */
static void
take_params (GstCfFilter *self, CfCommon *common, gpointer *params)
{
  GstCfFilterPrivate *priv = PRIV (self);
  gpointer snapshot = NULL;

  GST_OBJECT_LOCK (self);
  if (priv->seen != priv->serial)
    snapshot = gst_cf_filter_snapshot (self, common);
  GST_OBJECT_UNLOCK (self);
  if (!snapshot)
    return;
  cf_params_free (FILTER (self), *params);
  *params = snapshot;
}

static void
before_transform (GstBaseTransform *trans, GstBuffer *buffer)
{
  GstCfFilter *self = GST_CF_FILTER (trans);
  GstCfFilterPrivate *priv = PRIV (self);
  GstBuffer *oldest = g_queue_peek_head (&priv->held);
  gpointer params = NULL;
  CfCommon common;

  gst_cf_filter_animate (self, oldest ? oldest : buffer);
  adopt_context (self, buffer);
  take_params (self, &common, &params);
  if (params && cf_filter_traits (FILTER (self), NULL, &common, params).kept != priv->backend.traits.kept)
    gst_cf_filter_finish_held (self);
  if (oldest && g_queue_is_empty (&priv->held)) { /* the window has ended, so this frame is the next one */
    gst_cf_filter_animate (self, buffer);
    take_params (self, &common, &params);
  }
  gst_cf_roi_sync (priv->roi);
  if (params) {
    gst_cf_filter_drain (self);
    if (!gst_cf_backend_update (&priv->backend, &common, params))
      priv->backend.configured = FALSE; /* the error was posted; no frame is filtered with the old values */
    gst_cf_filter_update_latency (self);
    cf_params_free (FILTER (self), params);
  }
}

/* ---- messages ----------------------------------------------------------- */

/* Notes errors, for may_end. Corrects the count of frames in QoS messages: the base class does not count those that the
 * output thread pushes. */
static gboolean
post_message (GstElement *element, GstMessage *message)
{
  GstCfFilterPrivate *priv = PRIV (GST_CF_FILTER (element));

  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    g_atomic_int_set (&priv->posted, TRUE);
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_QOS && priv->slots > 1 &&
      GST_MESSAGE_SRC (message) == GST_OBJECT_CAST (element)) {
    guint64 dropped, pushed;
    GstFormat format;

    gst_message_parse_qos_stats (message, &format, NULL, &dropped);
    GST_OBJECT_LOCK (element);
    pushed = priv->pushed;
    GST_OBJECT_UNLOCK (element);
    message = gst_message_make_writable (message);
    gst_message_set_qos_stats (message, format, pushed, dropped);
  }
  return GST_ELEMENT_CLASS (gst_cf_filter_parent_class)->post_message (element, message);
}

/* ---- events ------------------------------------------------------------- */

/* Returns whether EOS is to go on after all frames. If downstream refused one of the last frames, no later frame
 * carries that to upstream: EOS must not say that the stream is complete. An error is posted instead, as queue does. */
static gboolean
may_end (GstCfFilter *self)
{
  GstCfFilterPrivate *priv = PRIV (self);
  GstFlowReturn flow = gst_cf_filter_take_flow (self);

  if (flow != GST_FLOW_NOT_LINKED && flow >= GST_FLOW_EOS)
    return TRUE;
  if (!g_atomic_int_get (&priv->posted))
    GST_ELEMENT_FLOW_ERROR (self, flow);
  return FALSE;
}

static void
flush_stop (GstCfFilter *self)
{
  GstCfFilterPrivate *priv = PRIV (self);

  gst_cf_output_set_flushing (&priv->output, FALSE);
  gst_cf_backend_set_flushing (&priv->backend, FALSE);
  g_atomic_int_set (&priv->reset, TRUE);
  g_atomic_int_set (&priv->posted, FALSE);
  priv->discont = FALSE;
  gst_cf_roi_reset (priv->roi);
  g_queue_clear_full (&priv->held, (GDestroyNotify) gst_buffer_unref);
  priv->held_flow = GST_FLOW_OK;
  GST_OBJECT_LOCK (self);
  priv->pushed = 0;
  GST_OBJECT_UNLOCK (self);
}

/* Flushes the pool of output buffers, unless it is another element's, which flushes it itself. Any thread, so not with
 * gst_base_transform_get_buffer_pool: that takes no lock and may return a pool that is being freed (GStreamer 1.22). */
static void
set_pool_flushing (GstCfFilter *self, gboolean flushing)
{
  GstBufferPool *pool;

  GST_OBJECT_LOCK (self);
  pool = PRIV (self)->pool ? gst_object_ref (PRIV (self)->pool) : NULL;
  GST_OBJECT_UNLOCK (self);
  if (!pool)
    return;
  gst_buffer_pool_set_flushing (pool, flushing);
  gst_object_unref (pool);
}

/* Returns whether frames before an event have nothing to do with those after it, and must not be pushed later. Other
 * events (tags, say) overtake the frames that wait: windows would be cut wherever such an event happens to be. */
static gboolean
ends_window (GstEvent *event)
{
  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_STREAM_START:
    case GST_EVENT_CAPS:
    case GST_EVENT_SEGMENT:
    case GST_EVENT_SEGMENT_DONE:
    case GST_EVENT_GAP:
    case GST_EVENT_EOS:
      return TRUE;
    default:
      return FALSE;
  }
}

static gboolean
sink_event (GstBaseTransform *trans, GstEvent *event)
{
  GstCfFilter *self = GST_CF_FILTER (trans);

  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_FLUSH_START:
      /* The streaming thread may be waiting for a slot, for the link to the GPU or for a buffer of the pool. */
      gst_cf_output_set_flushing (&PRIV (self)->output, TRUE);
      gst_cf_backend_set_flushing (&PRIV (self)->backend, TRUE);
      set_pool_flushing (self, TRUE);
      break;
    case GST_EVENT_FLUSH_STOP:
      flush_stop (self);
      set_pool_flushing (self, FALSE);
      break;
    default:
      if (ends_window (event))
        gst_cf_filter_finish_held (self);
      if (GST_EVENT_IS_SERIALIZED (event))
        gst_cf_filter_drain (self);
      if (GST_EVENT_TYPE (event) == GST_EVENT_EOS && !may_end (self)) {
        gst_event_unref (event);
        return FALSE;
      }
      break;
  }
  return GST_BASE_TRANSFORM_CLASS (gst_cf_filter_parent_class)->sink_event (trans, event);
}

/* ---- class -------------------------------------------------------------- */

static void
constructed (GObject *object)
{
  GstCfFilter *self = GST_CF_FILTER (object);
  GstCfFilterPrivate *priv = PRIV (self);

  G_OBJECT_CLASS (gst_cf_filter_parent_class)->constructed (object);
  priv->device = -1;
  priv->insisted = INSISTED_UNKNOWN;
  priv->frames_in_flight = 1;
  priv->slots = 1;
  gst_cf_filter_init_frames (self);
  priv->params = cf_params_new (FILTER (self), NULL);
  priv->roi = gst_cf_roi_new (GST_ELEMENT (self));
  gst_cf_backend_init (&priv->backend, GST_ELEMENT (self), FILTER (self));
  gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self), TRUE);
}

static void
finalize (GObject *object)
{
  GstCfFilter *self = GST_CF_FILTER (object);
  GstCfFilterPrivate *priv = PRIV (self);

  release (self); /* does nothing after a stop */
  gst_caps_replace (&priv->refused_caps, NULL);
  gst_cf_output_clear (&priv->output);
  gst_cf_backend_clear (&priv->backend);
  cf_params_free (FILTER (self), priv->params);
  gst_cf_roi_free (priv->roi);
  g_free (priv->device_name);
  G_OBJECT_CLASS (gst_cf_filter_parent_class)->finalize (object);
}

static void
gst_cf_filter_init (GstCfFilter *self)
{
  (void) self; /* constructed initialises the instance, because it knows the filter */
}

static void
gst_cf_filter_class_init (GstCfFilterClass *klass)
{
  GObjectClass *object = G_OBJECT_CLASS (klass);
  GstElementClass *element = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *trans = GST_BASE_TRANSFORM_CLASS (klass);
  GstCaps *caps = gst_cf_caps_template ();

  object->constructed = constructed;
  object->finalize = finalize;
  gst_cf_filter_install_properties (object);
  element->change_state = GST_DEBUG_FUNCPTR (change_state);
  element->set_context = GST_DEBUG_FUNCPTR (set_context);
  element->post_message = GST_DEBUG_FUNCPTR (post_message);
  gst_element_class_add_pad_template (element, gst_pad_template_new ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template (element, gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref (caps);
  gst_cf_filter_install_negotiation (trans);
  gst_cf_filter_install_frames (trans);
  trans->before_transform = GST_DEBUG_FUNCPTR (before_transform);
  trans->sink_event = GST_DEBUG_FUNCPTR (sink_event);
  gst_type_mark_as_plugin_api (GST_TYPE_CF_FILTER, 0);
}

void
gst_cf_filter_class_setup (GstCfFilterClass *klass, const gchar *stem)
{
  klass->filter = cf_filter_find (stem);
  g_return_if_fail (klass->filter != NULL);
  /* For applications that deal elements to GPUs, without a question to the driver. */
  gst_element_class_add_metadata (GST_ELEMENT_CLASS (klass), "cuda-archs", cf_gpu_state ().archs);
  gst_cf_filter_install_params (G_OBJECT_CLASS (klass), klass->filter);
}
