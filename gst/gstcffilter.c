/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcffilter.c: the base class: properties, frames, caps and allocation, start and stop, messages, events.
 *
 * Threads. The object lock guards the properties. For each frame, the streaming thread works with one snapshot of them,
 * which the backend owns. With frames-in-flight > 1 the output thread finishes and pushes the frames (gstcfoutput.h).
 * The streaming thread handles serialized events, serialized queries, new parameters and new caps only while no frame
 * is pending. Other threads read `context` under the object lock. The streaming thread, start, stop, and set_context
 * (only while it is NULL) change it. */
#include "gstcffilter.h"
#include "gstcfbackend.h"
#include "gstcfcaps.h"
#include "gstcfcuda.h"
#include "gstcfdevicename.h"
#include "gstcfdevices.h"
#include "gstcfmemory.h"
#include "gstcfnvmm.h"
#include "gstcfoutput.h"
#include "gstcfparams.h"

#include <string.h>

#define GST_CAT_DEFAULT gst_cf_filter_debug

GST_DEBUG_CATEGORY (gst_cf_filter_debug);

typedef enum { GST_CF_BACKEND_AUTO, GST_CF_BACKEND_CUDA, GST_CF_BACKEND_CPU } GstCfBackendKind;
typedef enum { GST_CF_ON_GPU_ERROR_FALLBACK, GST_CF_ON_GPU_ERROR_ERROR } GstCfOnGpuError;

typedef struct {
  /* properties */
  GstCfBackendKind wanted_backend, active_backend;
  gint device;
  gchar *device_name; /* NULL: `device` counts */
  GstCfOnGpuError on_gpu_error;
  gint frames_in_flight;
  CfCommon common;
  gpointer params;
  GstCfRoi *roi; /* with the properties for regions, and `enabled` */
  /* serial: counts the changes of common, params, started and the caps, against which a new value is checked; seen: the
   * serial of the last snapshot */
  guint serial, seen;
  gint insisted;    /* the resolved cuda-device: a number; -1: any; -2: not resolved yet */
  gboolean started; /* invalid values are rejected at once */
  gboolean has_gpu; /* a GPU was opened at the start, so the caps include CUDA memory */
  gboolean have_video;
  CfVideo video;
  CfArea *area;         /* from prepare_output_buffer to submit: what to filter; NULL: the whole frame */
  gboolean same_memory; /* both pads have CUDA memory, or neither: input can be pushed as output */

  GstCaps *refused_caps;                          /* the error for these input caps was posted, */
  guint refused_serial;                           /* with the parameters of this serial */
  gchar advice[sizeof ((CfStatus *) 0)->message]; /* the last advice on accepted values; object lock */
  GThread *animating;                             /* atomic: the thread in which GstController sets properties */
  gint64 animation_warned;                        /* time of the last warning about a value of an animation, us */

  GstObject *context;
  GstCfBackend backend;
  GstBufferPool *pool;     /* of output buffers, as long as it is this element's own; under the object lock */
  GstAllocator *allocator; /* host memory, pinned where there is a GPU */
  gint reset;              /* atomic: reset the backend before the next frame */
  gint posted;             /* atomic: an error was posted since the start or the last flush */

  /* a filter that looks at later frames (CfTraits.ahead); streaming thread */
  GQueue held;             /* frames in the plans' history that wait for later ones, oldest first */
  GstFlowReturn held_flow; /* of the frames that finish_held pushed, for upstream's next frame */

  /* frames-in-flight > 1 */
  GstCfOutput output;
  guint slots;          /* the value of frames-in-flight at the start */
  gboolean discont;     /* frames were dropped before the next one; streaming thread */
  GstClockTime latency; /* the duration of slots - 1 frames and of those ahead; object lock */
  guint64 pushed;       /* frames since start or flush, for QoS messages; object lock */
} GstCfFilterPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (GstCfFilter, gst_cf_filter, GST_TYPE_BASE_TRANSFORM,
    G_ADD_PRIVATE (GstCfFilter)
        GST_DEBUG_CATEGORY_INIT (gst_cf_filter_debug, "cffilter", 0, "base class of the CUDA filters"))

#define PRIV(self) ((GstCfFilterPrivate *) gst_cf_filter_get_instance_private (self))
#define FILTER(self) (GST_CF_FILTER_GET_CLASS (self)->filter)

GstObject *
gst_cf_filter_context (GstCfFilter *self)
{
  return PRIV (self)->context;
}

GstCfRoi *
gst_cf_filter_roi (GstCfFilter *self)
{
  return PRIV (self)->roi;
}

enum {
  PROP_0,
  PROP_BACKEND,
  PROP_ACTIVE_BACKEND,
  PROP_CUDA_DEVICE_ID,
  PROP_CUDA_DEVICE,
  PROP_ON_GPU_ERROR,
  PROP_APPLY_TO,
  PROP_FRAMES_IN_FLIGHT,
  PROP_STATS,
  PROP_ROI,                                         /* the first of those of gstcfroi.h */
  PROP_FILTER = PROP_ROI + GST_CF_ROI_N_PROPERTIES, /* the first row of the parameter table */
};

/* ---- properties ----------------------------------------------------------- */

static GType
backend_type (void)
{
  static const GEnumValue values[] = {
    { GST_CF_BACKEND_AUTO, "The GPU if there is one, otherwise the CPU", "auto" },
    { GST_CF_BACKEND_CUDA, "The GPU; an error without one", "cuda" },
    { GST_CF_BACKEND_CPU, "The CPU", "cpu" },
    { 0, NULL, NULL },
  };
  static gsize type;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, gst_cf_register_enum ("GstCfBackend", values));
  return type;
}

static GType
on_gpu_error_type (void)
{
  static const GEnumValue values[] = {
    { GST_CF_ON_GPU_ERROR_FALLBACK, "The CPU filters the frame", "fallback" },
    { GST_CF_ON_GPU_ERROR_ERROR, "An element error ends the stream", "error" },
    { 0, NULL, NULL },
  };
  static gsize type;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, gst_cf_register_enum ("GstCfOnGpuError", values));
  return type;
}

static GType
apply_to_type (void)
{
  static const GEnumValue values[] = {
    { CF_APPLY_ALL, "All components", "all" },
    { CF_APPLY_LUMA, "Luma; chroma is copied", "luma" },
    { CF_APPLY_CHROMA, "Chroma; luma is copied", "chroma" },
    { 0, NULL, NULL },
  };
  static gsize type;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, gst_cf_register_enum ("GstCfApplyTo", values));
  return type;
}

/* Notifies of all other properties that changed together with row `row` (< 0: apply-to). */
static void
notify_others (GstCfFilter *self, gint row, gconstpointer before, gconstpointer after)
{
  const CfFilterInfo *info = cf_filter_info (FILTER (self));

  for (guint i = 0; row >= 0 && i < info->n_params; i++)
    if (i != (guint) row && !info->params[i].hidden && !gst_cf_param_is_equal (&info->params[i], before, after))
      g_object_notify (G_OBJECT (self), info->params[i].name);
}

/* Sets row `row` in `params`, or apply-to (`row` < 0) in `common`. */
static CfCode
set_value (const CfFilter *filter, gint row, CfValue value, CfCommon *common, gpointer params, CfStatus *status)
{
  if (row >= 0)
    return cf_params_set_value (filter, params, (guint) row, value, status);
  common->apply_to = (CfApplyTo) value.number;
  return CF_OK;
}

/* Sets a value and checks all parameters together; `video`: NULL before the caps are known. */
static CfCode
set_checked (const CfFilter *filter, gint row, CfValue value, const CfVideo *video, CfCommon *common, gpointer params,
    CfStatus *status)
{
  CfCode code = set_value (filter, row, value, common, params, status);

  return code == CF_OK ? cf_filter_check (filter, video, common, params, status) : code;
}

/* Sets a value that GstController computes: where it is refused (an even kernel-size), the next larger or smaller
 * whole number. */
static CfCode
set_animated (const CfFilter *filter, gint row, CfValue value, const CfVideo *video, CfCommon *common, gpointer params,
    CfStatus *status)
{
  const gboolean whole = row >= 0 && cf_filter_info (filter)->params[row].type == CF_TYPE_INT;
  CfCode code = set_checked (filter, row, value, video, common, params, status);

  for (gint step = 1; code != CF_OK && step >= -1 && whole; step -= 2) {
    const CfValue near = { .number = value.number + step };
    CfStatus near_status = { 0 };

    code = set_checked (filter, row, near, video, common, params, &near_status);
    if (code == CF_OK)
      *status = near_status;
  }
  return code;
}

/* Posts why a value was refused; of the values of an animation at most one a second. */
static void
warn_refused (GstCfFilter *self, const CfStatus *status, gboolean animated)
{
  GstCfFilterPrivate *priv = PRIV (self);
  gint64 now = g_get_monotonic_time ();

  if (animated && priv->animation_warned && now - priv->animation_warned < G_USEC_PER_SEC)
    return;
  if (animated)
    priv->animation_warned = now;
  GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS, ("%s; the previous value is kept", status->message), (NULL));
}

/* Posts the library's advice on accepted values, in the message of `status`, as a warning, unless it is the advice of
 * the last call. */
static void
advise (GstCfFilter *self, const CfStatus *status)
{
  GstCfFilterPrivate *priv = PRIV (self);
  gboolean is_new;

  GST_OBJECT_LOCK (self);
  is_new = strcmp (priv->advice, status->message) != 0;
  g_strlcpy (priv->advice, status->message, sizeof priv->advice);
  GST_OBJECT_UNLOCK (self);
  if (is_new && status->message[0])
    GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS, ("%s", status->message), (NULL));
}

/* Changes row `row` of the table (< 0: apply-to) and checks all parameters together. Before the start every value is
 * accepted, and start checks it; later an invalid value leaves the old one in place, with a warning on the bus. The
 * object lock is not held during the check, because a row may name a file to be read. If another thread changes a
 * property in the meantime, the change is repeated on the new values. */
static void
change (GstCfFilter *self, gint row, CfValue value)
{
  GstCfFilterPrivate *priv = PRIV (self);
  const CfFilter *filter = FILTER (self);
  gboolean animated = g_atomic_pointer_get (&priv->animating) == g_thread_self ();
  gpointer params, old = NULL;
  CfStatus status = { 0 };
  gboolean current, started;
  CfCode code;

  do {
    gboolean have_video;
    CfCommon common;
    CfVideo video;
    guint serial;

    GST_OBJECT_LOCK (self);
    common = priv->common;
    params = cf_params_new (filter, priv->params);
    serial = priv->serial;
    started = priv->started;
    have_video = priv->have_video;
    video = priv->video;
    GST_OBJECT_UNLOCK (self);
    code = params ? CF_OK : cf_fail (&status, CF_NO_MEMORY, "out of memory");
    if (params && started)
      code = (animated ? set_animated : set_checked) (filter, row, value, have_video ? &video : NULL, &common, params,
          &status);
    else if (params)
      set_value (filter, row, value, &common, params, &status);
    GST_OBJECT_LOCK (self);
    current = serial == priv->serial;
    if (current && code == CF_OK) {
      old = priv->params;
      priv->params = params;
      priv->common = common;
      priv->serial++;
      params = cf_params_new (filter, params);
    }
    GST_OBJECT_UNLOCK (self);
    if (old && params)
      notify_others (self, row, old, params);
    cf_params_free (filter, params);
  } while (!current);
  cf_params_free (filter, old);
  if (code != CF_OK)
    warn_refused (self, &status, animated);
  else if (started)
    advise (self, &status);
}

static void
set_property (GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  GstCfFilter *self = GST_CF_FILTER (object);
  GstCfFilterPrivate *priv = PRIV (self);
  gboolean late = FALSE;

  if (id == PROP_APPLY_TO) {
    change (self, -1, (CfValue) { .number = g_value_get_enum (value) });
    return;
  }
  if (id >= PROP_FILTER) {
    change (self, (gint) (id - PROP_FILTER),
        gst_cf_param_value (&cf_filter_info (FILTER (self))->params[id - PROP_FILTER], value));
    return;
  }
  if (id >= PROP_ROI) {
    gst_cf_roi_set_property (priv->roi, id - PROP_ROI, value);
    return;
  }
  GST_OBJECT_LOCK (self);
  switch (id) {
    case PROP_BACKEND:
      late = priv->started && (gint) priv->wanted_backend != g_value_get_enum (value);
      priv->wanted_backend = (GstCfBackendKind) g_value_get_enum (value);
      break;
    case PROP_CUDA_DEVICE_ID:
      late = priv->started && priv->device != g_value_get_int (value);
      priv->device = g_value_get_int (value);
      break;
    case PROP_CUDA_DEVICE:
      late = priv->started && g_strcmp0 (priv->device_name, g_value_get_string (value)) != 0;
      g_free (priv->device_name);
      priv->device_name = g_value_dup_string (value);
      break;
    case PROP_ON_GPU_ERROR:
      late = priv->started && (gint) priv->on_gpu_error != g_value_get_enum (value);
      priv->on_gpu_error = (GstCfOnGpuError) g_value_get_enum (value);
      break;
    case PROP_FRAMES_IN_FLIGHT:
      late = priv->started && priv->frames_in_flight != g_value_get_int (value);
      priv->frames_in_flight = g_value_get_int (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
      break;
  }
  GST_OBJECT_UNLOCK (self);
  if (late)
    GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS,
        ("%s is read when the element starts: the new value takes effect after the READY state", spec->name), (NULL));
}

static void
get_property (GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  GstCfFilter *self = GST_CF_FILTER (object);
  GstCfFilterPrivate *priv = PRIV (self);

  if (id == PROP_STATS) {
    g_value_take_boxed (value, gst_cf_stats_get (&priv->backend.stats));
    return;
  }
  if (id >= PROP_ROI && id < PROP_FILTER) {
    gst_cf_roi_get_property (priv->roi, id - PROP_ROI, value);
    return;
  }
  GST_OBJECT_LOCK (self);
  switch (id) {
    case PROP_BACKEND:
      g_value_set_enum (value, (gint) priv->wanted_backend);
      break;
    case PROP_ACTIVE_BACKEND:
      g_value_set_enum (value, (gint) priv->active_backend);
      break;
    case PROP_CUDA_DEVICE_ID:
      g_value_set_int (value, priv->device);
      break;
    case PROP_CUDA_DEVICE:
      g_value_set_string (value, priv->device_name);
      break;
    case PROP_ON_GPU_ERROR:
      g_value_set_enum (value, (gint) priv->on_gpu_error);
      break;
    case PROP_APPLY_TO:
      g_value_set_enum (value, (gint) priv->common.apply_to);
      break;
    case PROP_FRAMES_IN_FLIGHT:
      g_value_set_int (value, priv->frames_in_flight);
      break;
    default:
      if (id >= PROP_FILTER)
        gst_cf_param_get (&cf_filter_info (FILTER (self))->params[id - PROP_FILTER], priv->params, value);
      else
        G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
      break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
install_properties (GObjectClass *klass)
{
  const GParamFlags rw = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;
  const GParamFlags ro = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  klass->set_property = set_property;
  klass->get_property = get_property;
  g_object_class_install_property (klass, PROP_BACKEND,
      g_param_spec_enum ("backend", "Backend", "Where frames are filtered", backend_type (), GST_CF_BACKEND_AUTO,
          rw | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (klass, PROP_ACTIVE_BACKEND,
      g_param_spec_enum ("active-backend", "Active backend", "Where frames are filtered now (auto: not decided yet)",
          backend_type (), GST_CF_BACKEND_AUTO, ro));
  g_object_class_install_property (klass, PROP_CUDA_DEVICE_ID,
      g_param_spec_int ("cuda-device-id", "CUDA device ID", "Number of the GPU to use (-1 = auto)", -1, G_MAXINT, -1,
          rw | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (klass, PROP_CUDA_DEVICE,
      g_param_spec_string ("cuda-device", "CUDA device",
          "GPU to use by another name than its number, instead of cuda-device-id: strongest, a UUID (GPU-...) or a PCI "
          "address (0000:01:00.0); auto or least-used: none in particular",
          NULL, rw | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (klass, PROP_ON_GPU_ERROR,
      g_param_spec_enum ("on-gpu-error", "On GPU error", "What happens to the stream when the GPU fails",
          on_gpu_error_type (), GST_CF_ON_GPU_ERROR_FALLBACK, rw | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (klass, PROP_APPLY_TO,
      g_param_spec_enum ("apply-to", "Apply to", "The components to filter; others are copied (RGB: all only)",
          apply_to_type (), CF_APPLY_ALL, rw | GST_PARAM_CONTROLLABLE | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (klass, PROP_FRAMES_IN_FLIGHT,
      g_param_spec_int ("frames-in-flight", "Frames in flight",
          "Frames processed at a time; upload, kernels and download of successive frames overlap "
          "(1 = no overlap and no added latency)",
          1, GST_CF_MAX_IN_FLIGHT, 1, rw | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (klass, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "Since the start: frames, frames-gpu, frames-cpu, frames-fallback, frames-passed, bytes; mean, p50, p99 and "
          "max in ns of upload, kernel, download and total; if the GPU has failed, gpu-error",
          GST_TYPE_STRUCTURE, ro));
  gst_cf_roi_install_properties (klass, PROP_ROI);
}

/* Installs a property for each row of the filter's parameter table. */
static void
install_params (GObjectClass *klass, const CfFilter *filter)
{
  const CfFilterInfo *info = cf_filter_info (filter);

  /* GObject calls the functions of the class that installed a property. */
  klass->set_property = set_property;
  klass->get_property = get_property;
  for (guint i = 0; i < info->n_params; i++)
    if (!info->params[i].hidden)
      g_object_class_install_property (klass, PROP_FILTER + i, gst_cf_param_spec (filter, &info->params[i]));
}

/* Returns the address of the row `name` in `params`. */
static gconstpointer
find_param (GstCfFilter *self, gconstpointer params, const gchar *name)
{
  const CfFilterInfo *info = cf_filter_info (FILTER (self));

  for (guint i = 0; i < info->n_params; i++)
    if (strcmp (info->params[i].name, name) == 0)
      return G_STRUCT_MEMBER_P (params, info->params[i].offset);
  g_return_val_if_reached (NULL);
}

gint
gst_cf_filter_int_param (GstCfFilter *self, gconstpointer params, const gchar *name)
{
  const gint *value = find_param (self, params, name);

  return value ? *value : 0;
}

const gchar *
gst_cf_filter_text_param (GstCfFilter *self, gconstpointer params, const gchar *name)
{
  const gchar *const *value = find_param (self, params, name);

  return value ? *value : NULL;
}

gboolean
gst_cf_filter_noise (GstCfFilter *self, gdouble noise[CF_NOISE_ZONES])
{
  return gst_cf_stats_get_noise (&PRIV (self)->backend.stats, noise);
}

void
gst_cf_interval_reset (GstCfInterval *last)
{
  last->running = last->clock = GST_CLOCK_TIME_NONE;
}

gboolean
gst_cf_interval_is_over (GstCfInterval *last, GstBuffer *buffer, const GstSegment *segment, GstClockTime interval)
{
  const GstClockTime clock = (GstClockTime) g_get_monotonic_time () * 1000;
  const GstClockTime running = segment->format == GST_FORMAT_TIME
      ? gst_segment_to_running_time (segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer))
      : GST_CLOCK_TIME_NONE;
  const gboolean timed = GST_CLOCK_TIME_IS_VALID (running) && GST_CLOCK_TIME_IS_VALID (last->running);
  const GstClockTime now = timed ? running : clock, before = timed ? last->running : last->clock;

  if (GST_CLOCK_TIME_IS_VALID (last->clock) && now >= before && now - before < interval)
    return FALSE;
  last->running = running;
  last->clock = clock;
  return TRUE;
}

/* Returns a copy of the current parameters, which the caller frees, and sets `*common`. Without memory returns NULL and
 * leaves `*common`. The object lock is held. */
static gpointer
snapshot (GstCfFilter *self, CfCommon *common)
{
  GstCfFilterPrivate *priv = PRIV (self);

  gpointer copy = cf_params_new (FILTER (self), priv->params);

  if (copy) {
    *common = priv->common;
    priv->seen = priv->serial;
  }
  return copy;
}

static void
set_active_backend (GstCfFilter *self, GstCfBackendKind backend)
{
  GstCfFilterPrivate *priv = PRIV (self);
  gboolean changed;

  GST_OBJECT_LOCK (self);
  changed = priv->active_backend != backend;
  priv->active_backend = backend;
  GST_OBJECT_UNLOCK (self);
  if (changed)
    g_object_notify (G_OBJECT (self), "active-backend");
}

/* Updates active-backend from the backend. To be called after anything that may have changed the device in use. */
static void
update_active_backend (GstCfFilter *self)
{
  set_active_backend (self, PRIV (self)->backend.use_gpu ? GST_CF_BACKEND_CUDA : GST_CF_BACKEND_CPU);
}

/* ---- frames --------------------------------------------------------------- */

/* Waits until no frame is pending. Called by the streaming thread, or with the stream lock held. */
void
gst_cf_filter_drain (GstCfFilter *self)
{
  gst_cf_output_drain (&PRIV (self)->output);
}

/* Has GstController set the properties for the frame that comes out next. Streaming thread. */
static void
animate (GstCfFilter *self, GstBuffer *next)
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

/* Makes the area of a frame: NULL for all of it. Without memory for an area, all of the frame is filtered. */
static CfArea *
area_of (GstCfFilter *self, GstBuffer *in)
{
  GstCfFilterPrivate *priv = PRIV (self);
  GstCfBackend *b = &priv->backend;
  const CfVideo video = gst_cf_backend_video (b, in);
  CfStatus status = { 0 };
  CfArea *area = gst_cf_roi_area (priv->roi, in, &GST_BASE_TRANSFORM (self)->segment, &b->info, &video, &b->traits,
      &status);

  if (!area && status.code != CF_OK)
    GST_WARNING_OBJECT (self, "the whole frame is filtered: %s", status.message);
  if (area && cf_area_info (area).whole)
    g_clear_pointer (&area, cf_area_unref);
  return area;
}

/* Decides which area of a frame is filtered (priv->area), and into which buffer. The output is the input if the frame
 * passes, or if an area is filtered in place. The passthrough mode of the base class is not used: it releases the pool
 * of output buffers and needs a renegotiation to get one again. */
static GstFlowReturn
prepare_output_buffer (GstBaseTransform *trans, GstBuffer *in, GstBuffer **out)
{
  GstCfFilter *self = GST_CF_FILTER (trans);
  GstCfFilterPrivate *priv = PRIV (self);
  GstCfBackend *b = &priv->backend;
  gboolean passes = gst_cf_backend_is_identity (b) || !gst_cf_roi_is_enabled (priv->roi);
  GstFlowReturn flow;

  g_clear_pointer (&priv->area, cf_area_unref);
  if (passes && b->traits.lapses)
    g_atomic_int_set (&priv->reset, TRUE);
  if (passes && priv->same_memory && gst_cf_backend_may_pass (b, in)) {
    gst_cf_roi_see (priv->roi, in, &trans->segment, &b->info);
    *out = in;
    return GST_FLOW_OK;
  }
  if (b->configured && gst_cf_roi_is_used (priv->roi))
    priv->area = area_of (self, in);
  passes = priv->area && cf_area_info (priv->area).empty && !gst_cf_backend_needs_all (b);
  if (passes && priv->same_memory && gst_cf_backend_may_pass (b, in)) {
    g_clear_pointer (&priv->area, cf_area_unref);
    *out = in;
    return GST_FLOW_OK;
  }
  if (priv->area && priv->same_memory && gst_cf_backend_is_in_place (b, in, priv->area)) {
    *out = in;
    return GST_FLOW_OK;
  }
  flow = GST_BASE_TRANSFORM_CLASS (gst_cf_filter_parent_class)->prepare_output_buffer (trans, in, out);
  if (b->nvmm && flow == GST_FLOW_OK)
    gst_cf_nvmm_copy_format (*out, in);
  return flow;
}

/* Submits a frame in a slot, after a reset of the backend where one is due. Returns FALSE if the frame must be finished
 * before the next one is submitted. */
static gboolean
submit (GstCfFilter *self, GstCfPendingFrame *frame, guint slot, GstBuffer *in, GstBuffer *out)
{
  GstCfFilterPrivate *priv = PRIV (self);
  gboolean flushed = g_atomic_int_compare_and_exchange (&priv->reset, TRUE, FALSE);
  CfArea *area = g_steal_pointer (&priv->area);

  if (flushed || ((in != out || area) && gst_cf_backend_needs_reset (&priv->backend))) {
    gst_cf_filter_drain (self);
    gst_cf_backend_reset (&priv->backend);
  }
  return gst_cf_backend_submit (&priv->backend, frame, slot, in, out, area);
}

static GstFlowReturn
finish (GstCfFilter *self, GstCfPendingFrame *frame, gboolean drop)
{
  GstCfFilterClass *klass = GST_CF_FILTER_GET_CLASS (self);
  GstCfFilterPrivate *priv = PRIV (self);
  GstFlowReturn flow = gst_cf_backend_finish (&priv->backend, frame, drop);

  /* New parameters are applied only while no frame is pending, so these are the frame's. */
  if (flow == GST_FLOW_OK && !drop && frame->out && klass->regions &&
      !klass->regions (self, frame->out, &priv->backend.info,
          !frame->passes && priv->backend.traits.has_regions ? &priv->backend.regions : NULL, priv->backend.params))
    flow = GST_FLOW_ERROR;
  update_active_backend (self);
  return flow;
}

/* frames-in-flight=1, or pull mode: filters one frame, which the base class pushes. */
static GstFlowReturn
transform (GstBaseTransform *trans, GstBuffer *in, GstBuffer *out)
{
  GstCfFilter *self = GST_CF_FILTER (trans);
  GstCfPendingFrame frame;

  submit (self, &frame, 0, in, out);
  return finish (self, &frame, FALSE);
}

/* ---- frames-in-flight > 1 ----------------------------------------------- */

/* Called by the output thread. */
static GstFlowReturn
finish_pending (gpointer user, GstCfPendingFrame *frame, gboolean drop)
{
  GstFlowReturn flow = finish (user, frame, drop);

  if (frame->in != frame->out)
    gst_buffer_unref (frame->in);
  return flow;
}

/* Called by the output thread. Does what the base class does when it pushes a frame. */
static GstFlowReturn
push_finished (gpointer user, GstBuffer *out)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (user);
  GstClockTime end = GST_BUFFER_PTS (out);

  if (GST_CLOCK_TIME_IS_VALID (end) && GST_BUFFER_DURATION_IS_VALID (out))
    end += GST_BUFFER_DURATION (out);
  GST_OBJECT_LOCK (user);
  PRIV (user)->pushed++;
  GST_OBJECT_UNLOCK (user);
  if (GST_CLOCK_TIME_IS_VALID (end) && trans->segment.format == GST_FORMAT_TIME)
    trans->segment.position = end;
  return gst_pad_push (GST_BASE_TRANSFORM_SRC_PAD (trans), out);
}

/* Returns the flow of earlier frames for upstream, and forgets it. Streaming thread. */
static GstFlowReturn
take_flow (GstCfFilter *self)
{
  GstCfFilterPrivate *priv = PRIV (self);
  GstFlowReturn flow = priv->slots > 1 ? gst_cf_output_take_flow (&priv->output) : GST_FLOW_OK;

  if (flow == GST_FLOW_OK)
    flow = priv->held_flow;
  priv->held_flow = GST_FLOW_OK;
  return flow;
}

/* Drops a frame; takes it. Its regions still count: the detector may not have looked at the next frames. */
static void
drop_frame (GstCfFilter *self, GstBuffer *in)
{
  GstCfFilterPrivate *priv = PRIV (self);

  gst_cf_roi_sync (priv->roi);
  gst_cf_roi_see (priv->roi, in, &GST_BASE_TRANSFORM (self)->segment, &priv->backend.info);
  gst_buffer_unref (in);
  priv->discont = TRUE;
}

/* Returns the flow of an earlier frame instead, if downstream did not accept it. */
static GstFlowReturn
submit_input_buffer (GstBaseTransform *trans, gboolean is_discont, GstBuffer *in)
{
  GstCfFilter *self = GST_CF_FILTER (trans);
  GstFlowReturn flow = take_flow (self);

  /* Between the activation of the pad and that of the base class, the latter still believes in the caps of the stream
   * before. */
  if (!gst_pad_has_current_caps (GST_BASE_TRANSFORM_SINK_PAD (trans))) {
    gst_buffer_unref (in);
    return GST_FLOW_NOT_NEGOTIATED;
  }
  if (flow != GST_FLOW_OK) {
    drop_frame (self, in);
    return flow;
  }
  gst_buffer_ref (in);
  flow = GST_BASE_TRANSFORM_CLASS (gst_cf_filter_parent_class)->submit_input_buffer (trans, is_discont, in);
  if (flow == GST_BASE_TRANSFORM_FLOW_DROPPED) /* it is late (QoS) */
    drop_frame (self, in);
  else
    gst_buffer_unref (in);
  return flow;
}

/* Sets DISCONT on the first frame after dropped ones, as the base class does when it pushes. */
static GstBuffer *
mark_discont (GstCfFilterPrivate *priv, GstBuffer *out)
{
  if (priv->discont && !GST_BUFFER_IS_DISCONT (out)) {
    out = gst_buffer_make_writable (out);
    GST_BUFFER_FLAG_SET (out, GST_BUFFER_FLAG_DISCONT);
  }
  priv->discont = FALSE;
  return out;
}

/* Submits a frame to the output thread; takes `in`. The regions of a frame are in the plan until the next frame, so
 * frames with regions do not overlap. */
static GstFlowReturn
submit_frame (GstCfFilter *self, GstBuffer *in)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  GstCfFilterPrivate *priv = PRIV (self);
  GstBuffer *out = NULL;
  GstFlowReturn flow;
  GstCfPendingFrame *frame;
  gboolean passes, more;
  guint slot;

  frame = gst_cf_output_begin (&priv->output, priv->backend.traits.has_regions ? 1 : priv->slots, &slot);
  if (!frame) {
    drop_frame (self, in);
    return gst_cf_output_take_flow (&priv->output);
  }
  flow = GST_BASE_TRANSFORM_GET_CLASS (self)->prepare_output_buffer (trans, in, &out);
  if (flow != GST_FLOW_OK || !out) {
    gst_buffer_unref (in);
    return flow;
  }
  passes = in == out;
  out = mark_discont (priv, out);
  more = submit (self, frame, slot, passes ? out : in, out);
  gst_cf_output_add (&priv->output);
  if (!more)
    gst_cf_filter_drain (self);
  return GST_FLOW_OK;
}

/* Returns whether the output thread finishes frames. */
static gboolean
overlaps (GstCfFilter *self)
{
  return PRIV (self)->slots > 1 && GST_PAD_MODE (GST_BASE_TRANSFORM_SRC_PAD (self)) != GST_PAD_MODE_PULL;
}

/* Filters the queued frame into `*out`, or submits it. */
static GstFlowReturn
filter_queued (GstBaseTransform *trans, GstBuffer **out)
{
  *out = NULL;
  return overlaps (GST_CF_FILTER (trans))
      ? submit_frame (GST_CF_FILTER (trans), g_steal_pointer (&trans->queued_buf))
      : GST_BASE_TRANSFORM_CLASS (gst_cf_filter_parent_class)->generate_output (trans, out);
}

/* ---- frames that wait for later ones ------------------------------------ */

/* Has the plans take a frame into their history. */
static GstFlowReturn
take_frame (GstCfFilter *self, GstBuffer *in)
{
  GstCfFilterPrivate *priv = PRIV (self);
  GstCfPendingFrame only, *frame = &only;
  gboolean more;
  guint slot;

  g_clear_pointer (&priv->area, cf_area_unref);
  if (!overlaps (self)) {
    submit (self, frame, 0, in, NULL);
    return finish (self, frame, FALSE);
  }
  frame = gst_cf_output_begin (&priv->output, priv->slots, &slot);
  if (!frame)
    return gst_cf_output_take_flow (&priv->output);
  more = submit (self, frame, slot, gst_buffer_ref (in), NULL);
  gst_cf_output_add (&priv->output);
  if (!more)
    gst_cf_filter_drain (self);
  return GST_FLOW_OK;
}

/* Takes the queued frame into the history and holds it. Queues in its place the held frame that is `ahead` frames
 * older, if there is one: all frames that its result depends on are in the history now. */
static GstFlowReturn
exchange_queued (GstBaseTransform *trans)
{
  GstCfFilterPrivate *priv = PRIV (GST_CF_FILTER (trans));
  GstBuffer *in = g_steal_pointer (&trans->queued_buf);
  GstFlowReturn flow = take_frame (GST_CF_FILTER (trans), in);

  if (flow != GST_FLOW_OK) {
    drop_frame (GST_CF_FILTER (trans), in);
    return flow;
  }
  g_queue_push_tail (&priv->held, in);
  if (priv->held.length > (guint) priv->backend.traits.ahead)
    trans->queued_buf = g_queue_pop_head (&priv->held);
  return GST_FLOW_OK;
}

/* Filters and pushes the held frames as at the end of the stream: the last frame stands for the later ones that do not
 * come. The next frame begins a new history. Streaming thread. */
static void
finish_held (GstCfFilter *self)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  GstCfFilterPrivate *priv = PRIV (self);
  GstBuffer *last = g_queue_peek_tail (&priv->held), *out = NULL;
  GstFlowReturn flow = GST_FLOW_OK;
  guint behind; /* frames taken after the oldest one */

  if (!last)
    return;
  gst_buffer_ref (last);
  for (behind = priv->held.length - 1; priv->held.length > 0 && flow == GST_FLOW_OK; behind--) {
    for (; behind < (guint) priv->backend.traits.ahead && flow == GST_FLOW_OK; behind++)
      flow = take_frame (self, last);
    if (flow == GST_FLOW_OK) {
      trans->queued_buf = g_queue_pop_head (&priv->held);
      animate (self, trans->queued_buf);
      gst_cf_roi_sync (priv->roi); /* `enabled`; parameters are those of the window */
      flow = filter_queued (trans, &out);
    }
    if (out && flow == GST_FLOW_OK)
      flow = push_finished (self, g_steal_pointer (&out));
    gst_clear_buffer (&out);
  }
  while (!g_queue_is_empty (&priv->held))
    drop_frame (self, g_queue_pop_head (&priv->held));
  gst_buffer_unref (last);
  priv->held_flow = flow;
  g_atomic_int_set (&priv->reset, TRUE);
}

/* Called by the base class for each frame, after before_transform. The frame is trans->queued_buf. */
static GstFlowReturn
generate_output (GstBaseTransform *trans, GstBuffer **out)
{
  GstFlowReturn flow = GST_FLOW_OK;

  if (trans->queued_buf && PRIV (GST_CF_FILTER (trans))->backend.traits.ahead > 0)
    flow = exchange_queued (trans);
  *out = NULL;
  return trans->queued_buf ? filter_queued (trans, out) : flow;
}

/* ---- negotiation -------------------------------------------------------- */

/* Returns whether the pads of this element can negotiate CUDA memory. */
static gboolean
has_cuda (GstCfFilter *self)
{
  GstCfFilterPrivate *priv = PRIV (self);
  GstObject *context = NULL;
  GstCfBackendKind backend;
  gboolean started, has;

  GST_OBJECT_LOCK (self);
  started = priv->started;
  if (started && priv->has_gpu)
    context = gst_object_ref (priv->context);
  backend = priv->wanted_backend;
  GST_OBJECT_UNLOCK (self);
  if (!started)
    return backend != GST_CF_BACKEND_CPU && gst_cf_cuda_available (NULL);
  has = context && !cf_gpu_lost () && !cf_gpu_hangs (gst_cf_cuda_device (context));
  gst_clear_object (&context);
  return has;
}

/* Returns whether downstream's caps name CUDA memory. Elements that accept ANY caps or features may not support it, so
 * they do not count. Without a peer the pad offers everything, because linking queries these caps. */
static gboolean
downstream_names_cuda (GstCfFilter *self)
{
  GstPad *pad = GST_BASE_TRANSFORM_SRC_PAD (self);
  GstCaps *caps;
  gboolean names;

  if (!gst_pad_is_linked (pad))
    return TRUE;
  caps = gst_pad_peer_query_caps (pad, NULL);
  names = caps && gst_cf_caps_name_cuda (caps);
  gst_caps_replace (&caps, NULL);
  return names;
}

static GstCaps *
transform_caps (GstBaseTransform *trans, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstCfFilter *self = GST_CF_FILTER (trans);
  gboolean cuda = has_cuda (self);
  GstCaps *out, *filtered;

  /* The sink pad accepts both memories and prefers CUDA memory. */
  out = gst_cf_caps_transform (caps, cuda, direction == GST_PAD_SRC || (cuda && downstream_names_cuda (self)));
  if (!filter)
    return out;
  filtered = gst_caps_intersect_full (filter, out, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (out);
  return filtered;
}

/* Returns the caps of one pad, from those of the other pad's peer. The query of the base class asks that peer twice, so
 * that the number of queries doubles with each element of a chain; and without a peer it offers memory that is not
 * available. */
static GstCaps *
query_caps (GstCfFilter *self, GstPadDirection direction, GstCaps *filter)
{
  gboolean sink = direction == GST_PAD_SINK, cuda = has_cuda (self);
  GstPad *other = sink ? GST_BASE_TRANSFORM_SRC_PAD (self) : GST_BASE_TRANSFORM_SINK_PAD (self);
  GstCaps *all = gst_cf_caps_all (cuda);
  GstCaps *wanted = filter ? gst_caps_intersect_full (filter, all, GST_CAPS_INTERSECT_FIRST) : gst_caps_ref (all);
  GstCaps *other_wanted = gst_cf_caps_transform (wanted, cuda, TRUE);
  GstCaps *peer, *caps, *result;

  peer = gst_caps_is_empty (other_wanted) ? gst_caps_ref (other_wanted) : gst_pad_peer_query_caps (other, other_wanted);
  caps = gst_cf_caps_transform (peer, cuda, sink || (cuda && downstream_names_cuda (self)));
  result = filter ? gst_caps_intersect_full (wanted, caps, GST_CAPS_INTERSECT_FIRST) : gst_caps_ref (caps);
  gst_caps_unref (caps);
  gst_caps_unref (peer);
  gst_caps_unref (other_wanted);
  gst_caps_unref (wanted);
  gst_caps_unref (all);
  return result;
}

/* Adds the latency of pending and held frames to upstream's. */
static gboolean
query_latency (GstCfFilter *self, GstPadDirection direction, GstQuery *q)
{
  GstClockTime min, max, own;
  gboolean live;

  if (!GST_BASE_TRANSFORM_CLASS (gst_cf_filter_parent_class)->query (GST_BASE_TRANSFORM (self), direction, q))
    return FALSE;
  GST_OBJECT_LOCK (self);
  own = PRIV (self)->latency;
  GST_OBJECT_UNLOCK (self);
  gst_query_parse_latency (q, &live, &min, &max);
  gst_query_set_latency (q, live, min + own, GST_CLOCK_TIME_IS_VALID (max) ? max + own : max);
  return TRUE;
}

/* Notes the latency with these parameters, and posts a message where it has changed. */
static void
update_latency (GstCfFilter *self)
{
  GstCfFilterPrivate *priv = PRIV (self);
  const GstVideoInfo *info = &priv->backend.info;
  const guint frames = priv->slots - 1 + (guint) priv->backend.traits.ahead;
  gint n = GST_VIDEO_INFO_FPS_N (info), d = GST_VIDEO_INFO_FPS_D (info);
  GstClockTime latency = n > 0 && d > 0 ? gst_util_uint64_scale (frames, (guint64) d * GST_SECOND, (guint64) n) : 0;
  gboolean changed;

  GST_OBJECT_LOCK (self);
  changed = priv->latency != latency;
  priv->latency = latency;
  GST_OBJECT_UNLOCK (self);
  if (changed)
    gst_element_post_message (GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
}

static gboolean
query (GstBaseTransform *trans, GstPadDirection direction, GstQuery *q)
{
  GstCfFilter *self = GST_CF_FILTER (trans);
  GstCfFilterPrivate *priv = PRIV (self);

  if (GST_QUERY_TYPE (q) == GST_QUERY_DRAIN && direction == GST_PAD_SINK) /* upstream wants its buffers back */
    finish_held (self);
  if (GST_QUERY_IS_SERIALIZED (q) && direction == GST_PAD_SINK)
    gst_cf_filter_drain (self);
  if (GST_QUERY_TYPE (q) == GST_QUERY_LATENCY)
    return query_latency (self, direction, q);
  if (GST_QUERY_TYPE (q) == GST_QUERY_CAPS) {
    GstCaps *filter, *caps;

    gst_query_parse_caps (q, &filter);
    caps = query_caps (self, direction, filter);
    gst_query_set_caps_result (q, caps);
    gst_caps_unref (caps);
    return TRUE;
  }
  if (GST_QUERY_TYPE (q) == GST_QUERY_CONTEXT) {
    GstObject *context;
    gboolean answered;

    GST_OBJECT_LOCK (self);
    context = priv->context ? gst_object_ref (priv->context) : NULL;
    GST_OBJECT_UNLOCK (self);
    answered = gst_cf_cuda_context_query (GST_ELEMENT (self), q, context);
    if (context)
      gst_object_unref (context);
    if (answered)
      return TRUE;
  }
  return GST_BASE_TRANSFORM_CLASS (gst_cf_filter_parent_class)->query (trans, direction, q);
}

/* The new peer may not support unfinished frames, so all pushed frames are finished first. */
static gboolean
src_event (GstBaseTransform *trans, GstEvent *event)
{
  CfStatus status = { 0 };

  if (GST_EVENT_TYPE (event) == GST_EVENT_RECONFIGURE &&
      gst_cf_chain_settle_all (&PRIV (GST_CF_FILTER (trans))->backend.chain, &status) != CF_OK)
    GST_WARNING_OBJECT (trans, "%s", status.message);
  return GST_BASE_TRANSFORM_CLASS (gst_cf_filter_parent_class)->src_event (trans, event);
}

static gboolean
configure (GstCfFilter *self, GstCaps *in_caps, GstCaps *out_caps)
{
  GstCfFilterPrivate *priv = PRIV (self);
  const CfFilter *filter = FILTER (self);
  CfStatus status = { 0 };
  GstVideoInfo info;
  gpointer params;
  CfCommon common;
  CfVideo video;
  guint modes;
  CfCode code;
  gboolean ok;

  if (!gst_video_info_from_caps (&info, in_caps)) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT, ("The caps are not those of raw video"),
        ("%" GST_PTR_FORMAT, (void *) in_caps));
    return FALSE;
  }
  if (!gst_cf_video_from_info (filter, &info, &video, &modes, &status)) {
    gst_cf_backend_post_error (GST_ELEMENT (self), &status, "The caps are not supported");
    return FALSE;
  }
  gst_cf_roi_resize (priv->roi, GST_VIDEO_INFO_WIDTH (&info), GST_VIDEO_INFO_HEIGHT (&info));
  /* transform_caps lets the caps of the pads differ in their memory only. */
  priv->same_memory = gst_cf_caps_is_cuda (in_caps) == gst_cf_caps_is_cuda (out_caps);
  priv->backend.nvmm = gst_cf_caps_is_nvmm (in_caps);
  GST_OBJECT_LOCK (self);
  priv->serial++;
  priv->common.colors = gst_cf_colors_from_info (&info);
  params = snapshot (self, &common);
  code = params ? cf_filter_check (filter, &video, &common, params, &status)
                : cf_fail (&status, CF_NO_MEMORY, "out of memory");
  priv->video = video;
  priv->have_video = code == CF_OK;
  GST_OBJECT_UNLOCK (self);
  if (code == CF_OK) {
    advise (self, &status);
    ok = gst_cf_backend_configure (&priv->backend, &info, &common, params);
    update_latency (self);
  } else {
    GST_ELEMENT_ERROR (self, LIBRARY, SETTINGS, ("%s", status.message), (NULL));
    ok = FALSE;
  }
  cf_params_free (filter, params);
  return ok;
}

/* Refused caps arrive again with the next event or frame. Without a change of the parameters they are refused again
 * without a further error: a stream must not go on after an error. */
static gboolean
set_caps (GstBaseTransform *trans, GstCaps *in_caps, GstCaps *out_caps)
{
  GstCfFilter *self = GST_CF_FILTER (trans);
  GstCfFilterPrivate *priv = PRIV (self);
  guint serial;
  gboolean ok;

  finish_held (self);
  gst_cf_filter_drain (self);
  GST_OBJECT_LOCK (self);
  serial = priv->serial;
  GST_OBJECT_UNLOCK (self);
  if (priv->refused_caps && priv->refused_serial == serial && gst_caps_is_equal (priv->refused_caps, in_caps))
    return FALSE;
  ok = configure (self, in_caps, out_caps);
  GST_OBJECT_LOCK (self);
  priv->refused_serial = priv->serial;
  GST_OBJECT_UNLOCK (self);
  gst_caps_replace (&priv->refused_caps, ok ? NULL : in_caps);
  update_active_backend (self);
  return ok;
}

static gboolean
get_unit_size (GstBaseTransform *trans, GstCaps *caps, gsize *size)
{
  GstVideoInfo info;

  (void) trans;
  if (!gst_video_info_from_caps (&info, caps))
    return FALSE;
  *size = gst_cf_caps_is_nvmm (caps) ? sizeof (GstCfNvBuffer) : GST_VIDEO_INFO_SIZE (&info);
  return TRUE;
}

/* ---- allocation --------------------------------------------------------- */

/* Makes and configures a pool of this plugin. `size` is the minimum size of a buffer on entry, and the pool's on
 * return. Returns NULL on failure. */
static GstBufferPool *
make_pool (GstCfFilter *self, GstCaps *caps, gboolean meta, guint min, guint *size)
{
  GstCfFilterPrivate *priv = PRIV (self);
  const gboolean cuda = gst_cf_caps_is_cuda (caps), nvmm = gst_cf_caps_is_nvmm (caps);
  GstAllocator *allocator = NULL;
  GstObject *context = gst_cf_backend_context (&priv->backend);
  GstStructure *config;
  GstBufferPool *pool;
  GstVideoInfo info;

  if (!gst_video_info_from_caps (&info, caps))
    return NULL;
  if (cuda && context)
    cf_gpu_settle_doubt (gst_cf_cuda_device (context));
  if (cuda && (!context || cf_gpu_hangs (gst_cf_cuda_device (context))))
    return NULL;
  if (nvmm)
    pool = gst_cf_nvmm_pool_new (&info, context ? gst_cf_cuda_device (context) : 0, &allocator, size);
  else
    pool = cuda ? gst_cf_cuda_pool_new (context) : gst_cf_pool_new (priv->allocator);
  config = gst_buffer_pool_get_config (pool);
  /* CUDA memory is allocated by fill_pool. */
  gst_buffer_pool_config_set_params (config, caps, nvmm ? *size : (guint) MAX (*size, GST_VIDEO_INFO_SIZE (&info)),
      cuda ? 0 : min, 0);
  if (nvmm)
    gst_buffer_pool_config_set_allocator (config, allocator, NULL);
  gst_clear_object (&allocator);
  if (meta && !nvmm)
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config (pool, config)) {
    GST_WARNING_OBJECT (self, "the pool rejected %" GST_PTR_FORMAT, (void *) caps);
    gst_object_unref (pool);
    return NULL;
  }
  /* The allocator of CUDA memory chooses the stride, so only the pool knows the size of a buffer. */
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_get_params (config, NULL, size, NULL, NULL);
  gst_structure_free (config);
  return pool;
}

static gboolean
propose_allocation (GstBaseTransform *trans, GstQuery *decide_query, GstQuery *q)
{
  GstCfFilter *self = GST_CF_FILTER (trans);
  GstCfFilterPrivate *priv = PRIV (self);
  /* One buffer that upstream fills, and the input of each pending and held frame. */
  const guint min = priv->slots + 1 + (guint) priv->backend.traits.ahead;
  gsize unit;
  gboolean need_pool;
  GstCaps *caps;
  guint size = 0;

  /* Without `decide_query` the base class forwards the query downstream, as for an element in passthrough mode. */
  if (decide_query &&
      !GST_BASE_TRANSFORM_CLASS (gst_cf_filter_parent_class)->propose_allocation (trans, decide_query, q))
    return FALSE;
  gst_query_parse_allocation (q, &caps, &need_pool);
  if (!caps)
    return FALSE;
  if (priv->backend.use_gpu && !gst_cf_caps_is_nvmm (caps)) {
    GstBufferPool *pool = need_pool ? make_pool (self, caps, TRUE, min, &size) : NULL;

    if (pool) {
      gst_query_add_allocation_pool (q, pool, size, min, 0);
      gst_object_unref (pool);
    }
    if (!gst_cf_caps_is_cuda (caps))
      gst_query_add_allocation_param (q, priv->allocator, NULL);
  }
  /* Upstream's own pool must have as many: one that has no more to give never pushes the frame that the held ones wait
   * for. */
  if (min > 2 && gst_query_get_n_allocation_pools (q) == 0 && get_unit_size (trans, caps, &unit))
    gst_query_add_allocation_pool (q, NULL, (guint) unit, min, 0);
  gst_query_add_allocation_meta (q, GST_VIDEO_META_API_TYPE, NULL);
  if (gst_cf_caps_is_cuda (caps) && priv->backend.use_gpu)
    gst_query_add_allocation_meta (q, GST_CF_CHAIN_API, NULL);
  return TRUE;
}

/* Configures the pool that downstream proposes. Returns FALSE if it does not accept a suitable configuration. */
static gboolean
configure_pool (GstCfFilter *self, GstBufferPool *pool, GstCaps *caps, gboolean meta, guint min, guint max, guint *size)
{
  GstStructure *config = gst_buffer_pool_get_config (pool);
  gboolean ok;

  gst_buffer_pool_config_set_params (config, caps, *size, min, max);
  if (meta)
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  ok = gst_buffer_pool_set_config (pool, config);
  config = gst_buffer_pool_get_config (pool);
  if (!ok && gst_buffer_pool_config_validate_params (config, caps, *size, min, max)) {
    /* The pool changed the configuration to one that is acceptable as well. */
    ok = gst_buffer_pool_set_config (pool, config);
    config = gst_buffer_pool_get_config (pool);
  }
  if (ok)
    gst_buffer_pool_config_get_params (config, NULL, size, NULL, NULL);
  gst_structure_free (config);
  if (!ok)
    GST_INFO_OBJECT (self, "downstream's pool rejected its configuration; using another pool");
  return ok;
}

/* Allocates `n` buffers of a pool in CUDA memory and guards each: its memory is not freed while its GPU hangs. Buffers
 * that the pool allocated itself would lack the guard. */
static void
fill_pool (GstBufferPool *pool, guint n)
{
  GstBuffer *buffers[GST_CF_MAX_IN_FLIGHT + 3];
  guint i;

  if (!gst_buffer_pool_set_active (pool, TRUE))
    return;
  for (i = 0; i < MIN (n, G_N_ELEMENTS (buffers)); i++) {
    if (gst_buffer_pool_acquire_buffer (pool, &buffers[i], NULL) != GST_FLOW_OK)
      break;
    gst_cf_chain_guard (buffers[i]);
  }
  while (i > 0)
    gst_buffer_unref (buffers[--i]);
}

/* Keeps this element's own pool of output buffers (NULL: there is none), for a flush. */
static void
keep_pool (GstCfFilter *self, GstBufferPool *pool)
{
  GstCfFilterPrivate *priv = PRIV (self);
  GstBufferPool *old;

  GST_OBJECT_LOCK (self);
  old = priv->pool;
  priv->pool = pool ? gst_object_ref (pool) : NULL;
  GST_OBJECT_UNLOCK (self);
  gst_clear_object (&old);
}

static gboolean
decide_allocation (GstBaseTransform *trans, GstQuery *q)
{
  GstCfFilter *self = GST_CF_FILTER (trans);
  GstCfFilterPrivate *priv = PRIV (self);
  guint size = 0, min = 0, max = 0;
  GstBufferPool *pool = NULL;
  gboolean proposed, own, meta;
  GstVideoInfo info;
  GstCaps *caps;

  gst_query_parse_allocation (q, &caps, NULL);
  if (!caps || !gst_video_info_from_caps (&info, caps))
    return FALSE;
  meta = gst_query_find_allocation_meta (q, GST_VIDEO_META_API_TYPE, NULL);
  gst_cf_chain_decide (&priv->backend.chain, q);
  proposed = gst_query_get_n_allocation_pools (q) > 0;
  if (proposed)
    gst_query_parse_nth_allocation_pool (q, 0, &pool, &size, &min, &max);
  size = (guint) MAX (size, GST_VIDEO_INFO_SIZE (&info));
  if (pool &&
      (gst_cf_caps_is_nvmm (caps) ||
          (gst_cf_caps_is_cuda (caps) && !gst_cf_cuda_pool_is_on (pool, gst_cf_backend_context (&priv->backend))) ||
          !configure_pool (self, pool, caps, meta, min, max, &size)))
    gst_clear_object (&pool);
  own = !pool;
  if (own) {
    /* All is allocated at the start, so that no frame waits for an allocation: the buffers that downstream keeps (a
     * sink keeps its last frame), those of the pending frames, and the one that the output thread pushes. */
    min = MAX (min, 1) + priv->slots + (priv->slots > 1 ? 1 : 0);
    max = 0;
    pool = make_pool (self, caps, meta, min, &size);
    if (pool && gst_cf_caps_is_cuda (caps))
      fill_pool (pool, min);
  }
  if (!pool) {
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT, ("Could not allocate output buffers"),
        ("%" GST_PTR_FORMAT, (void *) caps));
    return FALSE;
  }
  keep_pool (self, own ? pool : NULL);
  if (proposed)
    gst_query_set_nth_allocation_pool (q, 0, pool, size, min, max);
  else
    gst_query_add_allocation_pool (q, pool, size, min, max);
  gst_object_unref (pool);
  return TRUE;
}

/* Proposes to upstream all metas that downstream supports. */
static gboolean
filter_meta (GstBaseTransform *trans, GstQuery *q, GType api, const GstStructure *params)
{
  (void) trans;
  (void) q;
  (void) api;
  (void) params;
  return TRUE;
}

/* Adds a region of the input to the output, relative to the crop's origin (x, y), so that the next filter finds the
 * same place of the picture. Cuts off what lies to the left of the origin or above it. */
static void
move_region (GstBuffer *out, const GstVideoRegionOfInterestMeta *from, guint x, guint y)
{
  const guint left = MAX (from->x, x), top = MAX (from->y, y);
  const guint64 right = MAX (left, (guint64) from->x + from->w), below = MAX (top, (guint64) from->y + from->h);
  GstVideoRegionOfInterestMeta *to = gst_buffer_add_video_region_of_interest_meta_id (out, from->roi_type, left - x,
      top - y, (guint) (right - left), (guint) (below - top));

  to->id = from->id;
  to->parent_id = from->parent_id;
  for (const GList *l = from->params; l; l = l->next)
    gst_video_region_of_interest_meta_add_param (to, gst_structure_copy (l->data));
}

/* Keeps every meta, because the frame keeps its size. If mapping crops the frame, drops the crop meta and moves the
 * regions. */
static gboolean
transform_meta (GstBaseTransform *trans, GstBuffer *out, GstMeta *meta, GstBuffer *in)
{
  const GstVideoInfo *info = &PRIV (GST_CF_FILTER (trans))->backend.info;
  guint x, y;

  if (!gst_cf_frame_crops (in, info))
    return TRUE;
  gst_cf_frame_origin (in, info, &x, &y);
  if (meta->info->api == GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE && (x || y)) {
    move_region (out, (const GstVideoRegionOfInterestMeta *) meta, x, y);
    return FALSE;
  }
  return meta->info->api != GST_VIDEO_CROP_META_API_TYPE;
}

/* ---- start, stop, contexts ---------------------------------------------- */

#define INSISTED_UNKNOWN -2

/* Returns the number of the GPU that the user insists on; -1: any GPU. Before the start, cuda-device is not resolved
 * and counts as any. */
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

/* Sets `*device` to the GPU that `name` (cuda-device) means, if it means one, and drops a context on another GPU. */
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

/* Opens the GPU of that number, for which this build must have kernels: `refused` becomes whether they fail there all
 * the same. Nothing is asked of one that hangs: making a CUDA context there may never end. */
static gboolean
open_device (GstCfFilter *self, gint device, gboolean *refused, CfStatus *status)
{
  GstCfFilterPrivate *priv = PRIV (self);
  CfGpuInfo info;

  *refused = FALSE;
  cf_gpu_settle_doubt (device);
  if (cf_gpu_hangs (device)) {
    cf_fail_hung (device, status);
    return FALSE;
  }
  if (cf_gpu_info (device, &info, status) != CF_OK || cf_gpu_check (&info, cf_gpu_state ().archs, status) != CF_OK)
    return FALSE;
  if (!gst_cf_cuda_ensure_context (GST_ELEMENT (self), device, &priv->context)) {
    cf_fail (status, CF_GPU_ERROR, "could not create a CUDA context on device %d", device);
    return FALSE;
  }
  if (gst_cf_backend_open_gpu (&priv->backend, priv->context, status))
    return TRUE;
  *refused = status->code == CF_UNSUPPORTED;
  return FALSE;
}

/* Lets a context go. */
static void
drop_context (GstCfFilter *self)
{
  GstObject *context;

  GST_OBJECT_LOCK (self);
  context = g_steal_pointer (&PRIV (self)->context);
  GST_OBJECT_UNLOCK (self);
  gst_clear_object (&context);
}

/* Opens the GPU that the user names, or else, of those that can be opened, the one with the fewest elements. */
static gboolean
open_gpu (GstCfFilter *self, gint device, const gchar *name, CfStatus *status)
{
  guint64 unfit = cf_gpu_state ().hung;
  gboolean refused;
  guint n;

  if (!gst_cf_cuda_available (status) || (name && find_named_gpu (self, name, unfit, &device, status) != CF_OK))
    return FALSE;
  if (device >= 0)
    return open_device (self, device, &refused, status);
  n = (guint) MAX (cf_gpu_count (NULL), 0);
  device = MAX (gst_cf_devices_choose (n, unfit), 0);
  while (!open_device (self, device, &refused, status)) {
    if (refused)
      gst_cf_devices_refuse (gst_cf_cuda_device (PRIV (self)->context));
    unfit |= G_GUINT64_CONSTANT (1) << device;
    device = gst_cf_devices_choose (n, unfit);
    if (device < 0 || cf_gpu_lost ())
      return FALSE;
    drop_context (self);
  }
  return TRUE;
}

/* Opens the GPU where the properties and the host permit. Returns FALSE after an element error if backend=cuda and the
 * GPU cannot be used. The message says in its details which GPU does not run the kernels, if the application has named
 * it by its number: an application that deals elements to GPUs then takes another. -1: it is not that. */
static gboolean
start_gpu (GstCfFilter *self, GstCfBackendKind backend, gint device, const gchar *name)
{
  CfStatus status = { 0 };
  gboolean absent, named;
  gint none, unfit;

  if (backend == GST_CF_BACKEND_CPU || open_gpu (self, device, name, &status))
    return TRUE;
  /* A host without a GPU or its driver, or a build without CUDA. */
  absent = status.code == CF_NO_GPU && status.cuda == 0;
  if (!absent)
    gst_cf_stats_gpu_error (&PRIV (self)->backend.stats, status.message);
  named = name && gst_cf_device_name_find (name, 0, 0, &none, NULL) != CF_OK;
  unfit = status.code == CF_UNSUPPORTED && !name ? device : -1;
  if (backend == GST_CF_BACKEND_CUDA && absent)
    GST_ELEMENT_ERROR (self, RESOURCE, NOT_FOUND,
        ("No GPU can be used: %s. Use backend=auto or backend=cpu to filter on the CPU", status.message), (NULL));
  else if (backend == GST_CF_BACKEND_CUDA)
    GST_ELEMENT_ERROR_WITH_DETAILS (self, LIBRARY, INIT, ("The GPU cannot be used: %s", status.message), (NULL),
        ("unfit-device", G_TYPE_INT, unfit, NULL));
  else if (absent && !named)
    GST_INFO_OBJECT (self, "filtering on the CPU: %s", status.message);
  else
    GST_ELEMENT_WARNING_WITH_DETAILS (self, LIBRARY, INIT,
        ("The GPU cannot be used: %s. The CPU filters the frames", status.message), (NULL),
        ("unfit-device", G_TYPE_INT, unfit, NULL));
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
  update_active_backend (self);
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
  finish_held (self);
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

/* Replaces `*params`, which may be NULL, by a snapshot of the properties where there are new values. Without memory the
 * old ones stay in force, and the next frame tries again. */
static void
take_params (GstCfFilter *self, CfCommon *common, gpointer *params)
{
  GstCfFilterPrivate *priv = PRIV (self);
  gpointer fresh = NULL;

  GST_OBJECT_LOCK (self);
  if (priv->seen != priv->serial)
    fresh = snapshot (self, common);
  GST_OBJECT_UNLOCK (self);
  if (!fresh)
    return;
  cf_params_free (FILTER (self), *params);
  *params = fresh;
}

static void
before_transform (GstBaseTransform *trans, GstBuffer *buffer)
{
  GstCfFilter *self = GST_CF_FILTER (trans);
  GstCfFilterPrivate *priv = PRIV (self);
  GstBuffer *oldest = g_queue_peek_head (&priv->held);
  gpointer params = NULL;
  CfCommon common;

  animate (self, oldest ? oldest : buffer);
  adopt_context (self, buffer);
  take_params (self, &common, &params);
  if (params && cf_filter_traits (FILTER (self), NULL, &common, params).kept != priv->backend.traits.kept)
    finish_held (self);
  if (oldest && g_queue_is_empty (&priv->held)) { /* the window has ended, so this frame is the next one */
    animate (self, buffer);
    take_params (self, &common, &params);
  }
  gst_cf_roi_sync (priv->roi);
  if (params) {
    gst_cf_filter_drain (self);
    if (!gst_cf_backend_update (&priv->backend, &common, params))
      priv->backend.configured = FALSE; /* the error was posted; no frame is filtered with the old values */
    update_latency (self);
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
  GstFlowReturn flow = take_flow (self);

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
        finish_held (self);
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
  g_queue_init (&priv->held);
  gst_cf_output_init (&priv->output, finish_pending, push_finished, self);
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
  install_properties (object);
  element->change_state = GST_DEBUG_FUNCPTR (change_state);
  element->set_context = GST_DEBUG_FUNCPTR (set_context);
  element->post_message = GST_DEBUG_FUNCPTR (post_message);
  gst_element_class_add_pad_template (element, gst_pad_template_new ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template (element, gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref (caps);
  trans->src_event = GST_DEBUG_FUNCPTR (src_event);
  trans->query = GST_DEBUG_FUNCPTR (query);
  trans->transform_caps = GST_DEBUG_FUNCPTR (transform_caps);
  trans->set_caps = GST_DEBUG_FUNCPTR (set_caps);
  trans->get_unit_size = GST_DEBUG_FUNCPTR (get_unit_size);
  trans->propose_allocation = GST_DEBUG_FUNCPTR (propose_allocation);
  trans->decide_allocation = GST_DEBUG_FUNCPTR (decide_allocation);
  trans->filter_meta = GST_DEBUG_FUNCPTR (filter_meta);
  trans->transform_meta = GST_DEBUG_FUNCPTR (transform_meta);
  trans->prepare_output_buffer = GST_DEBUG_FUNCPTR (prepare_output_buffer);
  trans->transform = GST_DEBUG_FUNCPTR (transform);
  trans->submit_input_buffer = GST_DEBUG_FUNCPTR (submit_input_buffer);
  trans->generate_output = GST_DEBUG_FUNCPTR (generate_output);
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
  install_params (G_OBJECT_CLASS (klass), klass->filter);
}
