/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * onefilter.c: see onefilter.h. */
#include "onefilter.h"
#include "gstcudamedian.h"

#include <stdio.h>
#include <string.h>

#define CAPS "video/x-raw%s,format=I420,width=8,height=16,framerate=%d/1"

static guint8 expected[2][CONTENTS][SIZE]; /* kernel-size 3 and 5 */
static gboolean learning;

/* ---- an element ----------------------------------------------------------- */

static GstFlowReturn
take (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Filter *f = gst_pad_get_element_private (pad);
  guint8 *right = expected[f->size == 5][GST_BUFFER_OFFSET (buffer) % CONTENTS];

  (void) parent;
  if (learning)
    gst_buffer_extract (buffer, 0, right, SIZE);
  f->came++;
  f->right += gst_buffer_get_size (buffer) == SIZE && gst_buffer_memcmp (buffer, 0, right, SIZE) == 0;
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

void
push_caps (Filter *f, const gchar *feature, int rate)
{
  gchar *text = g_strdup_printf (CAPS, feature, rate);
  GstCaps *caps = gst_caps_from_string (text);

  gst_pad_push_event (f->src, gst_event_new_caps (caps));
  gst_caps_unref (caps);
  g_free (text);
}

/* Uses the element in the thread that posts a message, as an application may: no lock is held meanwhile. */
static GstBusSyncReply
use_element (GstBus *bus, GstMessage *message, gpointer user)
{
  Filter *f = user;
  GParamSpec **specs;
  guint n;

  (void) bus;
  if (GST_MESSAGE_SRC (message) != GST_OBJECT_CAST (f->element) ||
      !(GST_MESSAGE_TYPE (message) & (GST_MESSAGE_ERROR | GST_MESSAGE_WARNING)))
    return GST_BUS_PASS;
  specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (f->element), &n);
  for (guint i = 0; i < n; i++) {
    GValue value = G_VALUE_INIT;

    if (!(specs[i]->flags & G_PARAM_READABLE))
      continue;
    g_value_init (&value, specs[i]->value_type);
    g_object_get_property (G_OBJECT (f->element), specs[i]->name, &value);
    g_value_unset (&value);
  }
  g_free (specs);
  g_object_set (f->element, "roi-grow", 0.0, NULL);
  return GST_BUS_PASS;
}

void
open_filter (Filter *f, const gchar *backend, gint device, gint in_flight)
{
  memset (f, 0, sizeof *f);
  f->size = 3;
  f->element = gst_object_ref_sink (g_object_new (gst_cuda_median_get_type (), NULL));
  f->bus = gst_bus_new ();
  gst_element_set_bus (f->element, f->bus);
  gst_bus_set_sync_handler (f->bus, use_element, f, NULL);
  gst_util_set_object_arg (G_OBJECT (f->element), "backend", backend);
  g_object_set (f->element, "cuda-device-id", device, "frames-in-flight", in_flight, NULL);
  faults_link (f->element, &f->src, &f->sink, take, f);
  f->started = gst_element_set_state (f->element, GST_STATE_PLAYING) == GST_STATE_CHANGE_SUCCESS;
}

void
begin_stream (Filter *f, const gchar *feature)
{
  gst_pad_push_event (f->src, gst_event_new_stream_start ("hangs"));
  push_caps (f, feature, 25);
  faults_push_segment (f->src);
}

static void
fill (GstBuffer *buffer, int frame)
{
  guint32 noise = (guint32) (frame % CONTENTS) * 2654435761u + 1;
  guint8 bytes[SIZE];

  for (gsize i = 0; i < SIZE; i++) {
    noise = noise * 1664525u + 1013904223u;
    bytes[i] = (guint8) (noise >> 24);
  }
  gst_buffer_fill (buffer, 0, bytes, SIZE);
  GST_BUFFER_OFFSET (buffer) = (guint64) frame;
  GST_BUFFER_PTS (buffer) = (GstClockTime) frame * 40 * GST_MSECOND;
  GST_BUFFER_DURATION (buffer) = 40 * GST_MSECOND;
}

gboolean
accept_cuda (GstPad *pad, GstObject *parent, GstQuery *query)
{
  GstCaps *caps;

  if (GST_QUERY_TYPE (query) != GST_QUERY_CAPS)
    return gst_pad_query_default (pad, parent, query);
  caps = gst_caps_from_string ("video/x-raw(memory:CUDAMemory)");
  gst_query_set_caps_result (query, caps);
  gst_caps_unref (caps);
  return TRUE;
}

/* Returns a pool of CUDA memory. */
GstBufferPool *
open_pool (GstObject *context)
{
  GstBufferPool *pool = fake_pool_new (context, NULL);
  GstCaps *caps = gst_caps_from_string ("video/x-raw(memory:CUDAMemory),format=I420,width=8,height=16");
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (config, caps, SIZE, 0, 0);
  faults_check (gst_buffer_pool_set_config (pool, config) && gst_buffer_pool_set_active (pool, TRUE), "no pool");
  gst_caps_unref (caps);
  return pool;
}

GstBuffer *
frame_from (Filter *f, GstBufferPool *pool)
{
  GstBuffer *buffer = NULL;

  faults_check (gst_buffer_pool_acquire_buffer (pool, &buffer, NULL) == GST_FLOW_OK, "no buffer");
  fill (buffer, f->sent++);
  return buffer;
}

GstFlowReturn
push_frames (Filter *f, int n)
{
  GstFlowReturn flow = GST_FLOW_OK;

  for (int i = 0; i < n && flow == GST_FLOW_OK; i++) {
    GstBuffer *buffer = f->pool ? frame_from (f, f->pool) : gst_buffer_new_allocate (NULL, SIZE, NULL);

    if (!f->pool)
      fill (buffer, f->sent++);
    flow = gst_pad_push (f->src, buffer);
  }
  return flow;
}

/* Waits for the frames under way. */
void
drain (Filter *f)
{
  gst_pad_push_event (f->src, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM, NULL));
}

guint64
on_gpu (Filter *f)
{
  drain (f);
  return stat_of (f->element, "frames-gpu");
}

void
set_size (Filter *f, int size)
{
  drain (f);
  f->size = size;
  g_object_set (f->element, "kernel-size", size, NULL);
}

void
start (Filter *f, const gchar *backend, gint device, gint in_flight)
{
  open_filter (f, backend, device, in_flight);
  faults_check (f->started, "an element does not start");
  begin_stream (f, "");
}

/* Stops the element. Checks the frames, and the messages: how many, and that the first one contains `text`. */
void
stop (Filter *f, int errors, int warnings, const gchar *text)
{
  int n_errors = 0, n_warnings = 0;
  GError *error = NULL;
  GstMessage *message;

  if (GST_STATE (f->element) == GST_STATE_PLAYING)
    drain (f);
  gst_element_set_state (f->element, GST_STATE_NULL);
  message = gst_bus_pop_filtered (f->bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  if (message) {
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
      gst_message_parse_error (message, &error, NULL);
    else
      gst_message_parse_warning (message, &error, NULL);
    n_errors = GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR;
    n_warnings = !n_errors;
    if (!text || !strstr (error->message, text))
      printf ("a message: %s\n", error->message);
    faults_check (text && strstr (error->message, text), "a message does not say what is wrong");
    faults_check (!strstr (error->message, "earlier frames"), "a median of one frame has learnt from earlier ones");
    g_error_free (error);
    gst_message_unref (message);
  }
  faults_count_messages (f->bus, &n_errors, &n_warnings);
  faults_check (n_errors == errors && n_warnings == warnings, "too many messages, or too few");
  if (f->right != f->came || (f->started && f->came != f->sent))
    printf ("%d sent, %d came, %d right\n", f->sent, f->came, f->right);
  faults_check (f->right == f->came && (!f->started || f->came == f->sent), "a frame is missing or has wrong bytes");
  gst_pad_set_active (f->src, FALSE);
  gst_pad_set_active (f->sink, FALSE);
  gst_element_set_bus (f->element, NULL);
  gst_object_unref (f->element);
  gst_object_unref (f->src);
  gst_object_unref (f->sink);
  gst_object_unref (f->bus);
}

void
check_calls (void)
{
  faults_check (fake.blocked == 0, "a call that may block, on a GPU that hangs");
  faults_check (fake.after == 0 && fake.misuse == 0 && fake.pushed == 0, "a call on a lost GPU, or a wrong one");
  fake_settle ();
}

/* A frame of the element hangs; it is filtered on the CPU. */
void
hang (Filter *f)
{
  fake_fail_next (FAKE_WAIT, FAKE_TIMEOUT, false);
  faults_check (push_frames (f, 1) == GST_FLOW_OK, "a frame that hangs ends the stream");
  drain (f);
  faults_check (cf_gpu_state ().hung != 0 && stat_of (f->element, "frames-fallback") >= 1, "no hang");
}

void
learn (void)
{
  Filter f;

  learning = TRUE;
  start (&f, "cpu", -1, 1);
  push_frames (&f, CONTENTS);
  set_size (&f, 5);
  push_frames (&f, CONTENTS);
  stop (&f, 0, 0, NULL);
  learning = FALSE;
}
