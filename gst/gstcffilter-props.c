/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcffilter-props.c: the properties of all elements: the common ones, and one for each row of a filter's parameter
 * table. */
#include "gstcffilter-private.h"

#include <string.h>

#define GST_CAT_DEFAULT gst_cf_filter_debug

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

GType
gst_cf_register_enum (const gchar *name, const GEnumValue *values)
{
  GType type = g_enum_register_static (name, values);

  gst_type_mark_as_plugin_api (type, 0);
  return type;
}

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

/* ---- a parameter table as properties --------------------------------------- */

/* Returns "Kernel size" for "kernel-size". */
static gchar *
nick_of (const gchar *name)
{
  gchar *nick = g_strdelimit (g_strdup (name), "-", ' ');

  nick[0] = g_ascii_toupper (nick[0]);
  return nick;
}

/* Returns "GstCfMedianColorOrder" for color-order of the median. */
static gchar *
type_name (const CfFilter *filter, const CfParam *param)
{
  GString *name = g_string_new ("GstCf-");

  g_string_append_printf (name, "%s-%s", cf_filter_info (filter)->stem, param->name);
  for (gsize i = 0; i < name->len;) {
    if (name->str[i] == '-') {
      g_string_erase (name, (gssize) i, 1);
      name->str[i] = g_ascii_toupper (name->str[i]);
    } else {
      i++;
    }
  }
  return g_string_free (name, FALSE);
}

/* Returns the GEnum of an enum row or the GFlags of a flags row. A registered type is never removed, so its values are
 * not freed. */
static GType
values_type (const CfFilter *filter, const CfParam *param)
{
  gchar *name = type_name (filter, param);
  GType type = g_type_from_name (name);
  GFlagsValue *flags;
  GEnumValue *values;
  guint n = 0;

  while (!type && param->values[n].name)
    n++;
  if (!type && param->type == CF_TYPE_FLAGS) {
    flags = g_new0 (GFlagsValue, n + 1);
    for (guint i = 0; i < n; i++)
      flags[i] = (GFlagsValue) { (guint) param->values[i].value, param->values[i].blurb, param->values[i].name };
    type = g_flags_register_static (name, flags);
    gst_type_mark_as_plugin_api (type, 0);
  } else if (!type) {
    values = g_new0 (GEnumValue, n + 1);
    for (guint i = 0; i < n; i++)
      values[i] = (GEnumValue) { param->values[i].value, param->values[i].blurb, param->values[i].name };
    type = g_enum_register_static (name, values);
    gst_type_mark_as_plugin_api (type, 0);
  }
  g_free (name);
  return type;
}

static GParamSpec *
make_spec (const CfFilter *filter, const CfParam *p)
{
  const GParamFlags flags = p->readonly ? G_PARAM_READABLE : G_PARAM_READWRITE | GST_PARAM_MUTABLE_PLAYING;
  const GParamFlags live = p->readonly ? flags : flags | GST_PARAM_CONTROLLABLE;
  gchar *nick = nick_of (p->name);
  gchar *blurb = p->unit && p->unit[0] ? g_strdup_printf ("%s [%s]", p->blurb, p->unit) : g_strdup (p->blurb);
  GParamSpec *spec = NULL;

  switch (p->type) {
    case CF_TYPE_INT:
      spec = g_param_spec_int (p->name, nick, blurb, (gint) p->min, (gint) p->max, (gint) p->def, live);
      break;
    case CF_TYPE_DOUBLE:
      spec = g_param_spec_double (p->name, nick, blurb, p->min, p->max, p->def, live);
      break;
    case CF_TYPE_BOOL:
      spec = g_param_spec_boolean (p->name, nick, blurb, p->def != 0, live);
      break;
    case CF_TYPE_ENUM:
      spec = g_param_spec_enum (p->name, nick, blurb, values_type (filter, p), (gint) p->def, live);
      break;
    case CF_TYPE_FLAGS:
      spec = g_param_spec_flags (p->name, nick, blurb, values_type (filter, p), (guint) p->def, flags);
      break;
    case CF_TYPE_STRING:
      spec = g_param_spec_string (p->name, nick, blurb, NULL, flags);
      break;
    case CF_TYPE_COLOR:
      spec = g_param_spec_uint (p->name, nick, blurb, 0, G_MAXUINT32, (guint) p->def, live);
      break;
  }
  g_free (nick);
  g_free (blurb);
  return spec;
}

static gboolean
is_equal (const CfParam *p, gconstpointer a, gconstpointer b)
{
  if (p->type == CF_TYPE_STRING)
    return g_strcmp0 (G_STRUCT_MEMBER (const gchar *const, a, p->offset),
               G_STRUCT_MEMBER (const gchar *const, b, p->offset)) == 0;
  if (p->type == CF_TYPE_DOUBLE)
    return !(G_STRUCT_MEMBER (const double, a, p->offset) < G_STRUCT_MEMBER (const double, b, p->offset)) &&
        !(G_STRUCT_MEMBER (const double, a, p->offset) > G_STRUCT_MEMBER (const double, b, p->offset));
  return G_STRUCT_MEMBER (const int, a, p->offset) == G_STRUCT_MEMBER (const int, b, p->offset);
}

static CfValue
value_of (const CfParam *p, const GValue *value)
{
  switch (p->type) {
    case CF_TYPE_INT:
      return (CfValue) { .number = g_value_get_int (value) };
    case CF_TYPE_DOUBLE:
      return (CfValue) { .real = g_value_get_double (value) };
    case CF_TYPE_BOOL:
      return (CfValue) { .number = g_value_get_boolean (value) };
    case CF_TYPE_ENUM:
      return (CfValue) { .number = g_value_get_enum (value) };
    case CF_TYPE_FLAGS:
      return (CfValue) { .number = (gint) g_value_get_flags (value) };
    case CF_TYPE_COLOR:
      return (CfValue) { .color = g_value_get_uint (value) };
    default:
      return (CfValue) { .text = g_value_get_string (value) };
  }
}

static void
get_param (const CfParam *p, gconstpointer params, GValue *value)
{
  switch (p->type) {
    case CF_TYPE_INT:
      g_value_set_int (value, G_STRUCT_MEMBER (const int, params, p->offset));
      break;
    case CF_TYPE_DOUBLE:
      g_value_set_double (value, G_STRUCT_MEMBER (const double, params, p->offset));
      break;
    case CF_TYPE_BOOL:
      g_value_set_boolean (value, G_STRUCT_MEMBER (const int, params, p->offset) != 0);
      break;
    case CF_TYPE_ENUM:
      g_value_set_enum (value, G_STRUCT_MEMBER (const int, params, p->offset));
      break;
    case CF_TYPE_FLAGS:
      g_value_set_flags (value, (guint) G_STRUCT_MEMBER (const int, params, p->offset));
      break;
    case CF_TYPE_STRING:
      g_value_set_string (value, G_STRUCT_MEMBER (const gchar *const, params, p->offset));
      break;
    case CF_TYPE_COLOR:
      g_value_set_uint (value, G_STRUCT_MEMBER (const uint32_t, params, p->offset));
      break;
  }
}

/* ---- changes ------------------------------------------------------------ */

/* Notifies of all other properties that changed together with row `row` (< 0: apply-to). */
static void
notify_others (GstCfFilter *self, gint row, gconstpointer before, gconstpointer after)
{
  const CfFilterInfo *info = cf_filter_info (FILTER (self));

  for (guint i = 0; row >= 0 && i < info->n_params; i++)
    if (i != (guint) row && !info->params[i].hidden && !is_equal (&info->params[i], before, after))
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

void
gst_cf_filter_advise (GstCfFilter *self, const CfStatus *status)
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
    gst_cf_filter_advise (self, &status);
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
        value_of (&cf_filter_info (FILTER (self))->params[id - PROP_FILTER], value));
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
        get_param (&cf_filter_info (FILTER (self))->params[id - PROP_FILTER], priv->params, value);
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

void
gst_cf_filter_install_params (GObjectClass *klass, const CfFilter *filter)
{
  const CfFilterInfo *info = cf_filter_info (filter);

  /* GObject calls the functions of the class that installed a property. */
  klass->set_property = set_property;
  klass->get_property = get_property;
  for (guint i = 0; i < info->n_params; i++)
    if (!info->params[i].hidden)
      g_object_class_install_property (klass, PROP_FILTER + i, make_spec (filter, &info->params[i]));
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

gpointer
gst_cf_filter_snapshot (GstCfFilter *self, CfCommon *common)
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

void
gst_cf_filter_update_active_backend (GstCfFilter *self)
{
  set_active_backend (self, PRIV (self)->backend.use_gpu ? GST_CF_BACKEND_CUDA : GST_CF_BACKEND_CPU);
}
