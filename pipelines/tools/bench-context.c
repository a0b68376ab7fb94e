/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-context.c: answers GStreamer's messages about CUDA contexts; see bench-context.h. */

#include "bench-context.h"
#include "bench.h"

#define CUDA_CONTEXT "gst.cuda.context"

static GMutex lock;
static GstContext *contexts[BENCH_GPUS]; /* one per GPU, until the process ends */

static void
keep_context (GstContext *context)
{
  guint gpu = 0;

  gst_structure_get_uint (gst_context_get_structure (context), "cuda-device-id", &gpu);
  g_mutex_lock (&lock);
  if (gpu < BENCH_GPUS && !contexts[gpu])
    contexts[gpu] = gst_context_ref (context);
  g_mutex_unlock (&lock);
}

static GstContext *
find_context (int gpu)
{
  GstContext *found = NULL;

  g_mutex_lock (&lock);
  for (int i = MAX (gpu, 0); i < (gpu < 0 ? BENCH_GPUS : MIN (gpu + 1, BENCH_GPUS)) && !found; i++)
    if (contexts[i])
      found = gst_context_ref (contexts[i]);
  g_mutex_unlock (&lock);
  return found;
}

/* Runs in the thread that posts the message; the element continues after the answer. */
static GstBusSyncReply
on_message (GstBus *bus, GstMessage *message, gpointer gpu)
{
  const gchar *type = NULL;
  GstContext *context = NULL;

  (void) bus;
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_HAVE_CONTEXT) {
    gst_message_parse_have_context (message, &context);
    if (gst_context_has_context_type (context, CUDA_CONTEXT))
      keep_context (context);
  } else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_NEED_CONTEXT &&
      gst_message_parse_context_type (message, &type) && g_str_equal (type, CUDA_CONTEXT) &&
      (context = find_context (GPOINTER_TO_INT (gpu)))) {
    gst_element_set_context (GST_ELEMENT (GST_MESSAGE_SRC (message)), context);
  }
  g_clear_pointer (&context, gst_context_unref);
  return GST_BUS_PASS;
}

void
bench_context_share (GstElement *pipeline, int gpu)
{
  GstBus *bus = gst_element_get_bus (pipeline);

  gst_bus_set_sync_handler (bus, on_message, GINT_TO_POINTER (gpu), NULL);
  gst_object_unref (bus);
}
