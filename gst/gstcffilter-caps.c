/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcffilter-caps.c: caps negotiation, queries and buffer pools. */
#include "gstcfcaps.h"
#include "gstcfcuda.h"
#include "gstcffilter-private.h"
#include "gstcfframe.h"
#include "gstcfmemory.h"

#define GST_CAT_DEFAULT gst_cf_filter_debug

static GstBaseTransformClass *parent; /* the class of GstBaseTransform */

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

  if (!parent->query (GST_BASE_TRANSFORM (self), direction, q))
    return FALSE;
  GST_OBJECT_LOCK (self);
  own = PRIV (self)->latency;
  GST_OBJECT_UNLOCK (self);
  gst_query_parse_latency (q, &live, &min, &max);
  gst_query_set_latency (q, live, min + own, GST_CLOCK_TIME_IS_VALID (max) ? max + own : max);
  return TRUE;
}

void
gst_cf_filter_update_latency (GstCfFilter *self)
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
    gst_cf_filter_finish_held (self);
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
  return parent->query (trans, direction, q);
}

/* The new peer may not support unfinished frames, so all pushed frames are finished first. */
static gboolean
src_event (GstBaseTransform *trans, GstEvent *event)
{
  CfStatus status = { 0 };

  if (GST_EVENT_TYPE (event) == GST_EVENT_RECONFIGURE &&
      gst_cf_chain_settle_all (&PRIV (GST_CF_FILTER (trans))->backend.chain, &status) != CF_OK)
    GST_WARNING_OBJECT (trans, "%s", status.message);
  return parent->src_event (trans, event);
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
  GST_OBJECT_LOCK (self);
  priv->serial++;
  priv->common.colors = gst_cf_colors_from_info (&info);
  params = gst_cf_filter_snapshot (self, &common);
  code = params ? cf_filter_check (filter, &video, &common, params, &status)
                : cf_fail (&status, CF_NO_MEMORY, "out of memory");
  priv->video = video;
  priv->have_video = code == CF_OK;
  GST_OBJECT_UNLOCK (self);
  if (code == CF_OK) {
    gst_cf_filter_advise (self, &status);
    ok = gst_cf_backend_configure (&priv->backend, &info, &common, params);
    gst_cf_filter_update_latency (self);
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

  gst_cf_filter_finish_held (self);
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
  gst_cf_filter_update_active_backend (self);
  return ok;
}

static gboolean
get_unit_size (GstBaseTransform *trans, GstCaps *caps, gsize *size)
{
  GstVideoInfo info;

  (void) trans;
  if (!gst_video_info_from_caps (&info, caps))
    return FALSE;
  *size = GST_VIDEO_INFO_SIZE (&info);
  return TRUE;
}

/* ---- allocation --------------------------------------------------------- */

/* Makes and configures a pool of this plugin. `size` is the minimum size of a buffer on entry, and the pool's on
 * return. Returns NULL on failure. */
static GstBufferPool *
make_pool (GstCfFilter *self, GstCaps *caps, gboolean meta, guint min, guint *size)
{
  GstCfFilterPrivate *priv = PRIV (self);
  gboolean cuda = gst_cf_caps_is_cuda (caps);
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
  pool = cuda ? gst_cf_cuda_pool_new (context) : gst_cf_pool_new (priv->allocator);
  config = gst_buffer_pool_get_config (pool);
  /* CUDA memory is allocated by fill_pool. */
  gst_buffer_pool_config_set_params (config, caps, (guint) MAX (*size, GST_VIDEO_INFO_SIZE (&info)), cuda ? 0 : min, 0);
  if (meta)
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
  GstVideoInfo info;
  gboolean need_pool;
  GstCaps *caps;
  guint size = 0;

  /* Without `decide_query` the base class forwards the query downstream, as for an element in passthrough mode. */
  if (decide_query && !parent->propose_allocation (trans, decide_query, q))
    return FALSE;
  gst_query_parse_allocation (q, &caps, &need_pool);
  if (!caps)
    return FALSE;
  if (priv->backend.use_gpu) {
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
  if (min > 2 && gst_query_get_n_allocation_pools (q) == 0 && gst_video_info_from_caps (&info, caps))
    gst_query_add_allocation_pool (q, NULL, (guint) GST_VIDEO_INFO_SIZE (&info), min, 0);
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

/* Allocates `n` buffers of a pool in CUDA memory, each of which is then not freed while its GPU hangs: the pool's own
 * start would allocate them without that. */
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
      ((gst_cf_caps_is_cuda (caps) && !gst_cf_cuda_pool_is_on (pool, gst_cf_backend_context (&priv->backend))) ||
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

/* Adds a region of the input to the output, at its place in what mapping has cropped out of the frame: a filter behind
 * this one would hide another place. What lies to the left of that or above is cut off. */
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

/* Keeps every meta, because the frame keeps its size, except for a crop meta that mapping has applied; regions move
 * with that. */
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

void
gst_cf_filter_install_negotiation (GstBaseTransformClass *klass)
{
  parent = g_type_class_peek_parent (klass);
  klass->src_event = GST_DEBUG_FUNCPTR (src_event);
  klass->query = GST_DEBUG_FUNCPTR (query);
  klass->transform_caps = GST_DEBUG_FUNCPTR (transform_caps);
  klass->set_caps = GST_DEBUG_FUNCPTR (set_caps);
  klass->get_unit_size = GST_DEBUG_FUNCPTR (get_unit_size);
  klass->propose_allocation = GST_DEBUG_FUNCPTR (propose_allocation);
  klass->decide_allocation = GST_DEBUG_FUNCPTR (decide_allocation);
  klass->filter_meta = GST_DEBUG_FUNCPTR (filter_meta);
  klass->transform_meta = GST_DEBUG_FUNCPTR (transform_meta);
}
