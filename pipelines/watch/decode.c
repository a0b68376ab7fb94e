/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * decode.c: pictures of a camera whose own packets pass. A pipeline of its own takes the hub's newest group of
 * pictures, decodes it as fast as it can, and shows what comes from then on. */
#include "decode.h"

#include "elements.h"
#include "snapshot.h"
#include "source.h"
#include "threads.h"

#include <cf.h>

#include <gst/app/gstappsrc.h>
#include <stdatomic.h>

#define LOOK 100                     /* ms */
#define UNUSED (10 * G_USEC_PER_SEC) /* after the last question it ends */

typedef struct {
  GstElement *bin, *source, *pictures;
  gboolean begun;             /* the source has caps; under the hub's lock */
  _Atomic int started, ended; /* ended: the stream, or the decoder has failed */
  GstClockTime from;          /* PTS of the first picture that is shown; set before it is started */
} Run;

struct Decoder {
  Hub *hub;
  Run *run; /* NULL: none */
  guint timer;
  gint64 asked; /* monotonic µs */
};

/* ---- what the hub gives --------------------------------------------------- */

static gboolean
is_too_large (GstCaps *caps)
{
  int width = 0, height = 0;

  gst_structure_get (gst_caps_get_structure (caps, 0), "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height,
      NULL);
  return width > CF_MAX_SIZE || height > CF_MAX_SIZE;
}

static void
take (GstBuffer *buffer, GstCaps *caps, gpointer data)
{
  Run *run = data;

  if (!run->begun) {
    gst_app_src_set_caps (GST_APP_SRC (run->source), caps);
    atomic_store (&run->ended, is_too_large (caps));
  }
  run->begun = TRUE;
  if (!atomic_load (&run->started)) /* it is there already */
    run->from = MAX (run->from, GST_BUFFER_PTS (buffer));
  if (atomic_load (&run->ended))
    gst_buffer_unref (buffer);
  else
    gst_app_src_push_buffer (GST_APP_SRC (run->source), buffer);
}

static gsize
level (gpointer data)
{
  return hub_level (((Run *) data)->source);
}

static void
end (gpointer data)
{
  atomic_store (&((Run *) data)->ended, 1);
}

/* ---- its pipeline --------------------------------------------------------- */

/* Drops the pictures that are not the newest. */
static GstPadProbeReturn
on_picture (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  (void) pad;
  if (info->type & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) {
    if (GST_EVENT_TYPE (info->data) == GST_EVENT_CAPS)
      info->data = source_complete_color (info->data);
    return GST_PAD_PROBE_OK;
  }
  return GST_BUFFER_PTS (GST_PAD_PROBE_INFO_BUFFER (info)) < ((Run *) data)->from ? GST_PAD_PROBE_DROP
                                                                                  : GST_PAD_PROBE_OK;
}

static void
on_pad (GstElement *decoder, GstPad *pad, gpointer data)
{
  g_autoptr (GstPad) sink = gst_element_get_static_pad (((Run *) data)->pictures, "sink");

  (void) decoder;
  if (!gst_pad_is_linked (sink))
    gst_pad_link (pad, sink);
}

static GstBusSyncReply
on_message (GstBus *bus, GstMessage *message, gpointer data)
{
  (void) bus;
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    atomic_store (&((Run *) data)->ended, 1);
  gst_message_unref (message);
  return GST_BUS_DROP;
}

static Run *
run_new (void)
{
  Run *run = g_new0 (Run, 1);
  g_autoptr (GstElement) decoder = NULL;
  g_autoptr (GstBus) bus = NULL;

  run->bin = gst_parse_launch ("appsrc name=packets format=time is-live=true max-bytes=0 ! decodebin name=decoder "
                               "identity name=pictures ! fakesink sync=false async=false",
      NULL);
  gst_object_ref_sink (run->bin);
  run->source = gst_bin_get_by_name (GST_BIN (run->bin), "packets");
  run->pictures = gst_bin_get_by_name (GST_BIN (run->bin), "pictures");
  decoder = gst_bin_get_by_name (GST_BIN (run->bin), "decoder");
  bus = gst_element_get_bus (run->bin);
  gst_bus_set_sync_handler (bus, on_message, run, NULL);
  g_signal_connect (decoder, "pad-added", G_CALLBACK (on_pad), run);
  element_add_probe (run->pictures, "sink", GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_picture,
      run);
  return run;
}

static void
stop_in_thread (gpointer data)
{
  Run *run = data;

  gst_element_set_state (run->bin, GST_STATE_NULL);
  gst_object_unref (run->source);
  gst_object_unref (run->pictures);
  gst_object_unref (run->bin);
  g_free (run);
}

/* ---- the object ----------------------------------------------------------- */

void
decoder_stop (Decoder *decoder)
{
  Run *run = g_steal_pointer (&decoder->run);

  g_clear_handle_id (&decoder->timer, g_source_remove);
  if (!run)
    return;
  hub_remove_taker (decoder->hub, run);
  snapshot_stop (run->pictures);
  in_pool (stop_in_thread, run);
}

/* Begins when the hub has a stream, and ends when nobody has asked for a while. */
static gboolean
look (gpointer data)
{
  static const HubCalls calls = { .take = take, .level = level, .end = end };
  Decoder *decoder = data;
  Run *run = decoder->run;

  if (g_get_monotonic_time () - decoder->asked > UNUSED || atomic_load (&run->ended)) {
    decoder->timer = 0;
    decoder_stop (decoder);
    return G_SOURCE_REMOVE;
  }
  if (!atomic_load (&run->started) && hub_add_taker (decoder->hub, &calls, run)) {
    atomic_store (&run->started, 1);
    gst_element_set_state (run->bin, GST_STATE_PLAYING); /* it waits for nothing: the decoder comes with the caps */
  }
  return G_SOURCE_CONTINUE;
}

GstElement *
decoder_pictures (Decoder *decoder)
{
  decoder->asked = g_get_monotonic_time ();
  if (decoder->run && atomic_load (&decoder->run->ended))
    decoder_stop (decoder);
  if (!decoder->run) {
    decoder->run = run_new ();
    decoder->timer = g_timeout_add (LOOK, look, decoder);
    look (decoder);
  }
  return decoder->run->pictures;
}

Decoder *
decoder_new (Hub *hub)
{
  Decoder *decoder = g_new0 (Decoder, 1);

  decoder->hub = hub_ref (hub);
  return decoder;
}

void
decoder_free (Decoder *decoder)
{
  decoder_stop (decoder);
  hub_unref (decoder->hub);
  g_free (decoder);
}
