/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * stream.c: a fuzz target: an element between two bare pads, to which the bytes of the input do whatever its neighbours
 * and the application may do, from one thread. The first byte chooses the element; each further one is the letter of a
 * row of `actions`, or chooses one by its number.
 *
 * The input runs with one frame and with three frames in flight. Frames arrive in order, each once; all that were
 * accepted have arrived at EOS and at a drain query, unless an error was posted, downstream refused one, or QoS was
 * asked for; and where nothing was lost in either run, both have the same bytes. CF_FUZZ_TRACE=1 prints each action. */
#include "stream.h"

#include <stdio.h>

#define MAX_ACTIONS 200
#define TEMPLATE_CAPS "video/x-raw, format=(string){ NV12, I420, GRAY8, RGB, P010_10LE }"

typedef struct {
  FuzzBytes bytes;
  gint frames_in_flight;
  GstElement *element;
  GstPad *src, *sink, *element_sink;
  GstBus *bus;
  GstCaps *caps; /* the last that were sent */
  GstVideoInfo info;
  guint64 number;            /* of the last frame */
  guint allocation, accepts; /* what downstream answers to these queries */

  GMutex lock;             /* for the rest, because the output thread calls chain () */
  guint64 last;            /* the last frame that arrived */
  guint accepted, arrived; /* since the start or the last flush */
  gboolean lossy;          /* since then, frames may be lost */
  gboolean ever_lossy;
  guint32 hash;
  GstFlowReturn answer;
  guint answers; /* how often chain () returns `answer` */
} Stream;

static void
set_lossy (Stream *s)
{
  s->lossy = s->ever_lossy = TRUE;
}

/* ---- downstream --------------------------------------------------------- */

/* Returns whether the buffer has the memory of an input, or what the pieces of that were merged to (known by a
 * GstVideoMeta that contradicts the caps): then it has its layout, too, good or bad. */
static gboolean
is_passed (GstBuffer *buffer, const GstVideoInfo *info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

  if (meta && meta->format != GST_VIDEO_INFO_FORMAT (info))
    return TRUE;
  return gst_buffer_n_memory (buffer) == 0 ||
      gst_mini_object_get_qdata (GST_MINI_OBJECT_CAST (gst_buffer_peek_memory (buffer, 0)),
          g_quark_from_static_string ("fuzz-input"));
}

/* Hashes the samples; what lies between them is not defined. */
static guint32
hash_component (const GstVideoFrame *frame, guint c, guint32 hash)
{
  const guint8 *row = GST_VIDEO_FRAME_COMP_DATA (frame, c);
  gsize bytes = GST_VIDEO_FRAME_COMP_DEPTH (frame, c) > 8 ? 2 : 1;

  for (gint y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT (frame, c); y++, row += GST_VIDEO_FRAME_COMP_STRIDE (frame, c))
    for (gint x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH (frame, c); x++)
      hash = fuzz_hash (hash, row + x * GST_VIDEO_FRAME_COMP_PSTRIDE (frame, c), bytes);
  return hash;
}

static guint32
hash_of (GstPad *pad, GstBuffer *buffer, guint32 hash)
{
  GstCaps *caps = gst_pad_get_current_caps (pad);
  GstVideoFrame frame;
  GstVideoInfo info;

  if (!caps || !gst_video_info_from_caps (&info, caps))
    fuzz_fail ("a frame comes without caps of video");
  gst_caps_unref (caps);
  if (is_passed (buffer, &info))
    return hash;
  if (!gst_video_frame_map (&frame, &info, buffer, GST_MAP_READ))
    fuzz_fail ("a frame cannot be mapped");
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (&info); c++)
    hash = hash_component (&frame, c, hash);
  gst_video_frame_unmap (&frame);
  return hash;
}

static GstFlowReturn
chain (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Stream *s = gst_pad_get_element_private (pad);
  guint64 number = GST_BUFFER_OFFSET (buffer);
  GstFlowReturn flow = GST_FLOW_OK;

  (void) parent;
  g_mutex_lock (&s->lock);
  if (number <= s->last || number > s->number)
    fuzz_fail ("frame %" G_GUINT64_FORMAT " comes after frame %" G_GUINT64_FORMAT, number, s->last);
  s->last = number;
  if (s->answers > 0) {
    s->answers--;
    flow = s->answer;
  }
  if (flow != GST_FLOW_OK)
    set_lossy (s);
  s->arrived++;
  s->hash = hash_of (pad, buffer, s->hash);
  g_mutex_unlock (&s->lock);
  gst_buffer_unref (buffer);
  return flow;
}

/* Called where all frames must have arrived. */
static void
check_complete (Stream *s)
{
  guint errors = stream_check_bus (s->bus);

  g_mutex_lock (&s->lock);
  if (errors > 0)
    set_lossy (s);
  if (s->arrived > s->accepted || (s->arrived < s->accepted && !s->lossy))
    if (!s->lossy)
      fuzz_fail ("%u of %u frames have arrived (frames-in-flight=%d)", s->arrived, s->accepted, s->frames_in_flight);
  g_mutex_unlock (&s->lock);
}

static gboolean
sink_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  (void) parent;
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS)
    check_complete (gst_pad_get_element_private (pad));
  gst_event_unref (event);
  return TRUE;
}

/* Proposes pools and metas, good and bad, for the output. */
static gboolean
answer_allocation (Stream *s, GstQuery *query)
{
  static const struct {
    guint size, min, max;
  } pools[] = { { 0, 0, 0 }, { 1, 0, 1 }, { 100000, 2, 2 }, { 0, 1, 1 } };
  guint kind = s->allocation;
  GstBufferPool *pool;
  GstCaps *caps;

  gst_query_parse_allocation (query, &caps, NULL);
  if (kind % 8 == 7 || !caps)
    return FALSE;
  if (kind & 8)
    gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  if (kind % 8 < G_N_ELEMENTS (pools)) {
    pool = kind & 16 ? gst_video_buffer_pool_new () : gst_buffer_pool_new ();
    gst_query_add_allocation_pool (query, kind & 32 ? NULL : pool, pools[kind % 8].size, pools[kind % 8].min,
        pools[kind % 8].max);
    gst_object_unref (pool);
  }
  return TRUE;
}

static GstCaps *
accepted_caps (Stream *s)
{
  return s->accepts % 4 == 1 ? gst_caps_from_string (TEMPLATE_CAPS)
      : s->accepts % 4 == 2  ? gst_caps_new_empty ()
                             : gst_caps_new_any ();
}

static gboolean
sink_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  Stream *s = gst_pad_get_element_private (pad);
  GstCaps *caps, *filter, *all;

  if (GST_QUERY_TYPE (query) == GST_QUERY_ALLOCATION)
    return answer_allocation (s, query);
  if (GST_QUERY_TYPE (query) == GST_QUERY_DRAIN) {
    check_complete (s);
    return TRUE;
  }
  if (GST_QUERY_TYPE (query) == GST_QUERY_CAPS) {
    gst_query_parse_caps (query, &filter);
    all = accepted_caps (s);
    caps = filter ? gst_caps_intersect_full (filter, all, GST_CAPS_INTERSECT_FIRST) : gst_caps_ref (all);
    gst_query_set_caps_result (query, caps);
    gst_caps_unref (caps);
    gst_caps_unref (all);
    return TRUE;
  }
  if (GST_QUERY_TYPE (query) == GST_QUERY_ACCEPT_CAPS) {
    gst_query_parse_accept_caps (query, &caps);
    all = accepted_caps (s);
    gst_query_set_accept_caps_result (query, gst_caps_is_subset (caps, all));
    gst_caps_unref (all);
    return TRUE;
  }
  return gst_pad_query_default (pad, parent, query);
}

/* ---- upstream ----------------------------------------------------------- */

static gboolean
src_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  (void) pad;
  (void) parent;
  gst_event_unref (event);
  return TRUE;
}

static gboolean
src_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  if (GST_QUERY_TYPE (query) == GST_QUERY_LATENCY) {
    gst_query_set_latency (query, TRUE, GST_SECOND, GST_CLOCK_TIME_NONE);
    return TRUE;
  }
  return gst_pad_query_default (pad, parent, query);
}

/* Returns whether the pad has an event of that type. */
static gboolean
has (GstPad *pad, GstEventType type)
{
  GstEvent *event = gst_pad_get_sticky_event (pad, type, 0);
  gboolean found = event != NULL;

  if (event)
    gst_event_unref (event);
  return found;
}

/* Returns whether the query came through, and so no frame is under way. */
static gboolean
drain (Stream *s)
{
  GstQuery *query = gst_query_new_drain ();
  gboolean drained = gst_pad_peer_query (s->src, query);

  gst_query_unref (query);
  return drained;
}

/* A flush or a new start. `drained`: no frame was under way. */
static void
begin_anew (Stream *s, gboolean drained)
{
  guint errors = stream_check_bus (s->bus);

  g_mutex_lock (&s->lock);
  if (errors > 0 || (!drained && s->frames_in_flight > 1))
    set_lossy (s);
  s->accepted = s->arrived = 0;
  s->lossy = FALSE;
  g_mutex_unlock (&s->lock);
}

static void
flush (Stream *s)
{
  gboolean drained = fuzz_byte (&s->bytes) & 1 && drain (s);

  gst_pad_push_event (s->src, gst_event_new_flush_start ());
  gst_pad_push_event (s->src, gst_event_new_flush_stop (TRUE));
  begin_anew (s, drained);
}

/* Sends what has to come before a frame. */
static void
prepare (Stream *s)
{
  GstSegment segment;

  if (!has (s->element_sink, GST_EVENT_STREAM_START))
    gst_pad_push_event (s->src, gst_event_new_stream_start ("fuzz"));
  if (has (s->element_sink, GST_EVENT_SEGMENT))
    return;
  if (s->caps && !has (s->element_sink, GST_EVENT_CAPS))
    gst_pad_push_event (s->src, gst_event_new_caps (s->caps));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_push_event (s->src, gst_event_new_segment (&segment));
}

/* Returns whether caps would come behind a segment, which GStreamer forbids. */
static gboolean
is_too_late (GstPad *pad)
{
  return has (pad, GST_EVENT_SEGMENT) && !has (pad, GST_EVENT_CAPS);
}

static void
send_caps (Stream *s)
{
  GstCaps *caps = stream_caps (&s->bytes);
  GstVideoInfo info;

  if (is_too_late (s->src) || is_too_late (s->element_sink) || is_too_late (s->sink))
    flush (s);
  if (!has (s->element_sink, GST_EVENT_STREAM_START))
    gst_pad_push_event (s->src, gst_event_new_stream_start ("fuzz"));
  if (gst_video_info_from_caps (&info, caps) && GST_VIDEO_INFO_SIZE (&info) > 0 &&
      GST_VIDEO_INFO_SIZE (&info) < 1 << 15)
    s->info = info;
  gst_pad_push_event (s->src, gst_event_new_caps (caps));
  gst_caps_replace (&s->caps, caps);
  gst_caps_unref (caps);
}

static void
push (Stream *s, gboolean odd)
{
  GstBuffer *buffer, *shared = NULL;
  GstFlowReturn flow;
  guint32 before = 0;
  guint errors;
  GstMapInfo map;

  prepare (s);
  g_mutex_lock (&s->lock);
  s->number++;
  g_mutex_unlock (&s->lock);
  buffer = stream_buffer (&s->bytes, &s->info, odd, s->number);
  for (guint i = 0; i < gst_buffer_n_memory (buffer); i++)
    gst_mini_object_set_qdata (GST_MINI_OBJECT_CAST (gst_buffer_peek_memory (buffer, i)),
        g_quark_from_static_string ("fuzz-input"), s, NULL);
  if (fuzz_byte (&s->bytes) & 1 && gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    shared = gst_buffer_ref (buffer);
    before = fuzz_hash (0, map.data, map.size);
    gst_buffer_unmap (buffer, &map);
  }
  flow = gst_pad_push (s->src, buffer);
  errors = stream_check_bus (s->bus);
  g_mutex_lock (&s->lock);
  s->accepted += flow == GST_FLOW_OK;
  if (flow != GST_FLOW_OK || errors > 0)
    set_lossy (s);
  if (s->frames_in_flight == 1 && !s->lossy && s->arrived != s->accepted)
    fuzz_fail ("%u frames were accepted, %u have arrived", s->accepted, s->arrived);
  g_mutex_unlock (&s->lock);
  if (!shared)
    return;
  drain (s);
  if (gst_buffer_map (shared, &map, GST_MAP_READ)) {
    if (fuzz_hash (0, map.data, map.size) != before)
      fuzz_fail ("the input was written");
    gst_buffer_unmap (shared, &map);
  }
  gst_buffer_unref (shared);
}

/* ---- actions ------------------------------------------------------------ */

static void
push_frame (Stream *s)
{
  push (s, FALSE);
}

static void
push_odd_frame (Stream *s)
{
  push (s, TRUE);
}

static void
set_property (Stream *s)
{
  stream_property (&s->bytes, s->element);
  g_object_set (s->element, "frames-in-flight", s->frames_in_flight, NULL);
}

static void
reset_properties (Stream *s)
{
  stream_defaults (s->element);
  g_object_set (s->element, "frames-in-flight", s->frames_in_flight, NULL);
}

static void
send_down (Stream *s)
{
  prepare (s);
  gst_pad_push_event (s->src, stream_event_down (&s->bytes));
}

static void
send_up (Stream *s)
{
  GstEvent *event = stream_event_up (&s->bytes);

  g_mutex_lock (&s->lock);
  if (GST_EVENT_TYPE (event) == GST_EVENT_QOS)
    set_lossy (s);
  g_mutex_unlock (&s->lock);
  gst_pad_push_event (s->sink, event);
}

static void
send_eos (Stream *s)
{
  prepare (s);
  gst_pad_push_event (s->src, gst_event_new_eos ());
}

static GstQuery *
any_query (FuzzBytes *bytes, GstCaps *known)
{
  GstCaps *caps = fuzz_byte (bytes) & 1 && known ? gst_caps_ref (known) : stream_caps (bytes);
  GstQuery *query;

  switch (fuzz_below (bytes, 8)) {
    case 0:
      query = gst_query_new_allocation (caps, fuzz_byte (bytes) & 1);
      break;
    case 1:
      query = gst_query_new_allocation (NULL, fuzz_byte (bytes) & 1);
      break;
    case 2:
      query = gst_query_new_caps (fuzz_byte (bytes) & 1 ? caps : NULL);
      break;
    case 3:
      query = gst_query_new_accept_caps (caps);
      break;
    case 4:
      query = gst_query_new_latency ();
      break;
    case 5:
      query = gst_query_new_position (GST_FORMAT_TIME);
      break;
    case 6:
      query = gst_query_new_context ("gst.cuda.context");
      break;
    default:
      query = gst_query_new_drain ();
      break;
  }
  gst_caps_unref (caps);
  return query;
}

static void
ask_down (Stream *s)
{
  GstQuery *query = any_query (&s->bytes, s->caps);

  gst_pad_peer_query (s->src, query);
  gst_query_unref (query);
}

static void
ask_up (Stream *s)
{
  GstQuery *query = any_query (&s->bytes, s->caps);

  if (!GST_QUERY_IS_SERIALIZED (query))
    gst_pad_peer_query (s->sink, query);
  gst_query_unref (query);
}

static void
change_state (Stream *s)
{
  guint choice = fuzz_byte (&s->bytes);
  GstState state = (GstState) (GST_STATE_NULL + choice % 4), now = GST_STATE (s->element);
  gboolean drained = choice & 4 && drain (s);

  gst_element_set_state (s->element, state);
  if (state <= GST_STATE_READY || now <= GST_STATE_READY) {
    /* The neighbours forget the stream, too. */
    gst_pad_set_active (s->src, FALSE);
    gst_pad_set_active (s->src, TRUE);
    gst_pad_set_active (s->sink, FALSE);
    gst_pad_set_active (s->sink, TRUE);
    begin_anew (s, drained);
  }
}

static void
change_downstream (Stream *s)
{
  static const GstFlowReturn answers[] = { GST_FLOW_EOS, GST_FLOW_ERROR, GST_FLOW_NOT_LINKED, GST_FLOW_FLUSHING,
    GST_FLOW_NOT_NEGOTIATED };

  switch (fuzz_below (&s->bytes, 3)) {
    case 0:
      drain (s);
      g_mutex_lock (&s->lock);
      s->answer = answers[fuzz_below (&s->bytes, G_N_ELEMENTS (answers))];
      s->answers = 1 + fuzz_below (&s->bytes, 3);
      g_mutex_unlock (&s->lock);
      break;
    case 1:
      s->allocation = fuzz_byte (&s->bytes);
      break;
    default:
      s->accepts = fuzz_byte (&s->bytes);
      break;
  }
  gst_pad_push_event (s->sink, gst_event_new_reconfigure ());
}

static const struct {
  gchar letter;
  void (*run) (Stream *s);
} actions[] = {
  { 'b', push_frame },
  { 'o', push_odd_frame },
  { 'c', send_caps },
  { 'p', set_property },
  { 'r', reset_properties },
  { 'd', send_down },
  { 'u', send_up },
  { 'e', send_eos },
  { 'f', flush },
  { 'q', ask_down },
  { 'Q', ask_up },
  { 's', change_state },
  { 'D', change_downstream },
};

static void
run_action (Stream *s)
{
  guint byte = fuzz_byte (&s->bytes), i = 0;

  while (i < G_N_ELEMENTS (actions) && actions[i].letter != (gchar) byte)
    i++;
  i = i < G_N_ELEMENTS (actions) ? i : byte % G_N_ELEMENTS (actions);
  actions[i].run (s);
  if (g_getenv ("CF_FUZZ_TRACE"))
    fprintf (stderr, "%c: %s, %u of %u frames%s\n", actions[i].letter,
        gst_element_state_get_name (GST_STATE (s->element)), s->arrived, s->accepted, s->ever_lossy ? ", lossy" : "");
}

/* ---- one run ------------------------------------------------------------ */

static GstPad *
new_pad (Stream *s, const gchar *name, GstPadDirection direction)
{
  GstPad *pad = stream_pad (s->element, name, direction, s);

  if (direction == GST_PAD_SRC) {
    gst_pad_set_event_function (pad, src_event);
    gst_pad_set_query_function (pad, src_query);
  } else {
    gst_pad_set_chain_function (pad, chain);
    gst_pad_set_event_function (pad, sink_event);
    gst_pad_set_query_function (pad, sink_query);
  }
  gst_pad_set_active (pad, TRUE);
  return pad;
}

static void
begin (Stream *s)
{
  s->element = stream_element (fuzz_byte (&s->bytes), s->frames_in_flight);
  g_mutex_init (&s->lock);
  s->bus = gst_bus_new ();
  gst_element_set_bus (s->element, s->bus);
  s->src = new_pad (s, "upstream", GST_PAD_SRC);
  s->sink = new_pad (s, "downstream", GST_PAD_SINK);
  s->element_sink = gst_element_get_static_pad (s->element, "sink");
  gst_video_info_set_format (&s->info, GST_VIDEO_FORMAT_GRAY8, 16, 16);
}

static void
end (Stream *s)
{
  gboolean drained = drain (s);

  if (gst_element_set_state (s->element, GST_STATE_NULL) != GST_STATE_CHANGE_SUCCESS)
    fuzz_fail ("the element cannot be stopped");
  begin_anew (s, drained);
  gst_element_set_bus (s->element, NULL);
  gst_pad_set_active (s->src, FALSE);
  gst_pad_set_active (s->sink, FALSE);
  gst_object_unref (s->element_sink);
  g_object_add_weak_pointer (G_OBJECT (s->element), (gpointer *) &s->element);
  gst_object_unref (s->element);
  stream_check_bus (s->bus);
  if (s->element)
    fuzz_fail ("the element still has references");
  gst_object_unref (s->src);
  gst_object_unref (s->sink);
  gst_object_unref (s->bus);
  gst_caps_replace (&s->caps, NULL);
  g_mutex_clear (&s->lock);
}

static void
run (Stream *s)
{
  begin (s);
  if (fuzz_byte (&s->bytes) & 1)
    set_property (s);
  gst_element_set_state (s->element, GST_STATE_PLAYING);
  begin_anew (s, TRUE);
  for (guint i = 0; i < MAX_ACTIONS && s->bytes.left > 0; i++)
    run_action (s);
  end (s);
}

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
  (void) argc;
  (void) argv;
  stream_init (NULL);
  return 0;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  Stream one = { .bytes = { data, size }, .frames_in_flight = 1 };
  Stream three = { .bytes = { data, size }, .frames_in_flight = 3 };

  run (&one);
  run (&three);
  if (!one.ever_lossy && !three.ever_lossy && (one.hash != three.hash || one.last != three.last))
    fuzz_fail ("with three frames in flight the bytes are others: %08x, not %08x", three.hash, one.hash);
  return 0;
}
