/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcffilter-props.c: the properties of all elements: those that they share, and those
 * of each filter's own parameter table. */
#include "gstcffilter-private.h"
#include "gstcfparams.h"

#define GST_CAT_DEFAULT gst_cf_filter_debug

enum {
  PROP_0,
  PROP_BACKEND,
  PROP_ACTIVE_BACKEND,
  PROP_CUDA_DEVICE_ID,
  PROP_ON_GPU_ERROR,
  PROP_APPLY_TO,
  PROP_FRAMES_IN_FLIGHT,
  PROP_STATS,
  PROP_FILTER, /* the first of the filter's own */
};

static GType
register_enum (const gchar *name, const GEnumValue *values)
{
  GType type = g_enum_register_static (name, values);

  gst_type_mark_as_plugin_api (type, 0);
  return type;
}

static GType
backend_type (void)
{
  static const GEnumValue values[] = {
    { GST_CF_BACKEND_AUTO, "The GPU if there is one, else the CPU", "auto" },
    { GST_CF_BACKEND_CUDA, "The GPU, an error if there is none", "cuda" },
    { GST_CF_BACKEND_CPU, "The CPU", "cpu" },
    { 0, NULL, NULL },
  };
  static gsize type;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, register_enum ("GstCfBackend", values));
  return type;
}

static GType
on_gpu_error_type (void)
{
  static const GEnumValue values[] = {
    { GST_CF_ON_GPU_ERROR_FALLBACK, "The CPU filters the frame", "fallback" },
    { GST_CF_ON_GPU_ERROR_ERROR, "An element error", "error" },
    { 0, NULL, NULL },
  };
  static gsize type;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, register_enum ("GstCfOnGpuError", values));
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
    g_once_init_leave (&type, register_enum ("GstCfApplyTo", values));
  return type;
}

/* Says which other properties a change of row `row` (< 0: apply-to) has changed. */
static void
notify_others (GstCfFilter *self, gint row, gconstpointer before, gconstpointer after)
{
  const CfFilter *filter = FILTER (self);
  unsigned n;
  const CfParam *table = cf_filter_params (filter, &n);

  for (guint i = 0; row >= 0 && i < n; i++)
    if (i != (guint) row && !table[i].hidden && !gst_cf_params_equal (filter, i, before, after))
      g_object_notify (G_OBJECT (self), table[i].name);
}

/* Changes apply-to or row `row` of the table (row < 0), as one step that is
 * checked as a whole. Before start anything goes in, and start complains; from
 * then on a bad value leaves the old one and says so on the bus. The lock is
 * not held meanwhile, because a row may name a file to be read: what was changed
 * by others in that time is taken up, and the step done again. */
static void
change (GstCfFilter *self, gint row, const GValue *value)
{
  GstCfFilterPrivate *priv = PRIV (self);
  const CfFilter *filter = FILTER (self);
  gpointer params, old = NULL;
  CfStatus status = { 0 };
  gboolean current;
  CfCode code;

  do {
    gboolean started, have_video;
    CfCommon common;
    CfVideo video;
    guint serial;

    GST_OBJECT_LOCK (self);
    common = priv->common;
    params = gst_cf_params_copy (filter, priv->params);
    serial = priv->serial;
    started = priv->started;
    have_video = priv->have_video;
    video = priv->video;
    GST_OBJECT_UNLOCK (self);
    code = CF_OK;
    if (row < 0) {
      common.apply_to = (CfApplyTo) g_value_get_enum (value);
    } else {
      gst_cf_params_set (filter, (guint) row, params, value);
      code = cf_filter_param_changed (filter, params, (guint) row, &status);
    }
    if (code == CF_OK && started)
      code = cf_filter_check (filter, have_video ? &video : NULL, &common, params, &status);
    if (!started)
      code = CF_OK;
    GST_OBJECT_LOCK (self);
    current = serial == priv->serial;
    if (current && code == CF_OK) {
      old = priv->params;
      priv->params = params;
      priv->common = common;
      priv->serial++;
      params = gst_cf_params_copy (filter, params);
    }
    GST_OBJECT_UNLOCK (self);
    if (old)
      notify_others (self, row, old, params);
    gst_cf_params_free (filter, params);
  } while (!current);
  gst_cf_params_free (filter, old);
  if (code != CF_OK)
    GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS, ("%s; the old value stays", status.message), (NULL));
}

static void
set_property (GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  GstCfFilter *self = GST_CF_FILTER (object);
  GstCfFilterPrivate *priv = PRIV (self);

  if (id >= PROP_FILTER || id == PROP_APPLY_TO) {
    change (self, id == PROP_APPLY_TO ? -1 : (gint) (id - PROP_FILTER), value);
    return;
  }
  GST_OBJECT_LOCK (self);
  switch (id) {
    case PROP_BACKEND:
      priv->backend = (GstCfBackendKind) g_value_get_enum (value);
      break;
    case PROP_CUDA_DEVICE_ID:
      priv->device = g_value_get_int (value);
      break;
    case PROP_ON_GPU_ERROR:
      priv->on_gpu_error = (GstCfOnGpuError) g_value_get_enum (value);
      break;
    case PROP_FRAMES_IN_FLIGHT:
      priv->frames_in_flight = g_value_get_int (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
      break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
get_property (GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  GstCfFilter *self = GST_CF_FILTER (object);
  GstCfFilterPrivate *priv = PRIV (self);

  if (id == PROP_STATS) {
    g_value_take_boxed (value, gst_cf_stats_get (&priv->path.stats));
    return;
  }
  GST_OBJECT_LOCK (self);
  switch (id) {
    case PROP_BACKEND:
      g_value_set_enum (value, (gint) priv->backend);
      break;
    case PROP_ACTIVE_BACKEND:
      g_value_set_enum (value, (gint) priv->active_backend);
      break;
    case PROP_CUDA_DEVICE_ID:
      g_value_set_int (value, priv->device);
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
        gst_cf_params_get (FILTER (self), id - PROP_FILTER, priv->params, value);
      else
        G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
      break;
  }
  GST_OBJECT_UNLOCK (self);
}

void
gst_cf_filter_install_properties (GObjectClass *klass)
{
  const GParamFlags rw = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;
  const GParamFlags ro = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  klass->set_property = set_property;
  klass->get_property = get_property;
  g_object_class_install_property (klass, PROP_BACKEND, g_param_spec_enum ("backend", "Backend",
          "What filters the frames", backend_type (), GST_CF_BACKEND_AUTO, rw | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (klass, PROP_ACTIVE_BACKEND, g_param_spec_enum ("active-backend", "Active backend",
          "What filters the frames now (auto: not decided yet)", backend_type (), GST_CF_BACKEND_AUTO, ro));
  g_object_class_install_property (klass, PROP_CUDA_DEVICE_ID, g_param_spec_int ("cuda-device-id", "CUDA device ID",
          "The GPU to use (-1 = auto)", -1, G_MAXINT, -1, rw | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (klass, PROP_ON_GPU_ERROR, g_param_spec_enum ("on-gpu-error", "On GPU error",
          "What a failing GPU does to the stream", on_gpu_error_type (), GST_CF_ON_GPU_ERROR_FALLBACK,
          rw | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (klass, PROP_APPLY_TO, g_param_spec_enum ("apply-to", "Apply to",
          "Which components are filtered, the others are copied (RGB: all only)", apply_to_type (), CF_APPLY_ALL,
          rw | GST_PARAM_CONTROLLABLE | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (klass, PROP_FRAMES_IN_FLIGHT, g_param_spec_int ("frames-in-flight",
          "Frames in flight", "Frames under way at a time; upload, kernels and download of successive ones overlap "
          "(1 = none does, which adds no latency)", 1, GST_CF_MAX_IN_FLIGHT, 1, rw | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (klass, PROP_STATS, g_param_spec_boxed ("stats", "Statistics",
          "Since start: frames, frames-gpu, frames-cpu, frames-fallback, frames-passed, bytes; mean, p50, p99 and max "
          "in ns of upload, kernel, download and total", GST_TYPE_STRUCTURE, ro));
}

void
gst_cf_filter_install_params (GObjectClass *klass, const CfFilter *filter)
{
  /* A class does not inherit these two. */
  klass->set_property = set_property;
  klass->get_property = get_property;
  gst_cf_params_install (klass, filter, PROP_FILTER);
}

gpointer
gst_cf_filter_snapshot (GstCfFilter *self, CfCommon *common)
{
  GstCfFilterPrivate *priv = PRIV (self);

  *common = priv->common;
  priv->seen = priv->serial;
  return gst_cf_params_copy (FILTER (self), priv->params);
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

void
gst_cf_filter_update_active_backend (GstCfFilter *self)
{
  set_active_backend (self, PRIV (self)->path.use_gpu ? GST_CF_BACKEND_CUDA : GST_CF_BACKEND_CPU);
}
