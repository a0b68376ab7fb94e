/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * nvmm.c: frames of NVIDIA's elements (NVMM), with a stand-in for their library: the GPU copies those in its memory,
 * and the CPU maps the others. They come out as frames of system memory do, in surfaces of their own, and the input
 * stays as it is. What is no such frame is refused. */
#include "elements/stats.h"
#include "common.h"
#include "fake.h"
#include "gstcudamedian.h"
#include "nvbufsurface.h"

#include <stdio.h>
#include <string.h>

#define FRAMES 12
#define WIDTH 48
#define HEIGHT 32

typedef struct {
  GstElement *element;
  GstPad *src, *sink;
  GstVideoInfo info;
  gboolean nvmm;
  GstBuffer *out[FRAMES];
  int n_out;
} Run;

static GstFlowReturn
take (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Run *run = gst_pad_get_element_private (pad);

  (void) parent;
  run->out[run->n_out++] = buffer;
  return GST_FLOW_OK;
}

/* Starts an element and its stream. `caps`: more of them. */
static void
open_run (Run *run, const gchar *format, gboolean nvmm, const gchar *backend, gint in_flight, const gchar *roi)
{
  g_autofree gchar *text = g_strdup_printf ("video/x-raw%s,framerate=25/1,format=%s,width=%d,height=%d%s",
      nvmm ? "(" GST_CF_NVMM_FEATURE ")" : "", format, WIDTH, HEIGHT, nvmm ? ",batch-size=1" : "");
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  g_autoptr (GstBus) bus = gst_bus_new ();

  *run = (Run) { .element = gst_object_ref_sink (g_object_new (gst_cuda_median_get_type (), NULL)), .nvmm = nvmm };
  gst_video_info_from_caps (&run->info, caps);
  gst_element_set_bus (run->element, bus);
  gst_util_set_object_arg (G_OBJECT (run->element), "backend", backend);
  g_object_set (run->element, "kernel-size", 5, "frames-in-flight", in_flight, "roi", roi, NULL);
  faults_link (run->element, &run->src, &run->sink, take, run);
  faults_check (gst_element_set_state (run->element, GST_STATE_PLAYING) == GST_STATE_CHANGE_SUCCESS, "no start");
  gst_pad_push_event (run->src, gst_event_new_stream_start ("nvmm"));
  faults_check (gst_pad_push_event (run->src, gst_event_new_caps (caps)), "the caps are refused");
  faults_push_segment (run->src);
}

static void
close_run (Run *run)
{
  GstBus *bus = gst_element_get_bus (run->element);

  for (int i = 0; i < run->n_out; i++)
    gst_buffer_unref (run->out[i]);
  gst_element_set_state (run->element, GST_STATE_NULL);
  gst_bus_set_flushing (bus, TRUE);
  gst_object_unref (bus);
  gst_element_set_bus (run->element, NULL);
  gst_pad_set_active (run->src, FALSE);
  gst_pad_set_active (run->sink, FALSE);
  gst_object_unref (run->element);
  gst_object_unref (run->src);
  gst_object_unref (run->sink);
}

/* Returns what the buffer has, without a copy. */
static GstCfNvBuffer *
surfaces_of (GstBuffer *buffer)
{
  GstMapInfo map;

  gst_buffer_map (buffer, &map, GST_MAP_READ);
  gst_buffer_unmap (buffer, &map);
  return (GstCfNvBuffer *) map.data;
}

static void
destroy (gpointer surfaces)
{
  NvBufSurfaceDestroy (surfaces);
}

/* Returns a buffer with `batch` surfaces, the first one filled, and says that its colours are those of BT.709. */
static GstBuffer *
new_nvmm (const Run *run, guint batch)
{
  static const struct {
    GstVideoFormat format;
    gint number;
  } numbers[] = { { GST_VIDEO_FORMAT_GRAY8, 1 }, { GST_VIDEO_FORMAT_I420, 2 }, { GST_VIDEO_FORMAT_NV12, 6 },
    { GST_VIDEO_FORMAT_RGBA, 19 } };
  GstCfNvRequest request = { .width = WIDTH, .height = HEIGHT };
  GstCfNvBuffer *surfaces = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (numbers); i++)
    if (numbers[i].format == GST_VIDEO_INFO_FORMAT (&run->info))
      request.format = numbers[i].number;
  faults_check (NvBufSurfaceCreate (&surfaces, batch, &request) == 0, "no surface");
  surfaces->filled = 1;
  surfaces->surface->format = 33;
  return gst_buffer_new_wrapped_full (0, surfaces, sizeof *surfaces, 0, sizeof *surfaces, surfaces, destroy);
}

/* Copies rows between a surface and bytes without padding, as the neighbours of an element do. */
static void
copy (const Run *run, GstBuffer *buffer, guint8 *flat, gboolean to_surface)
{
  GstCfNvBuffer *surfaces = surfaces_of (buffer);
  const GstCfNvSurface *s = surfaces->surface;
  const gboolean map = surfaces->memory == GST_CF_NV_SURFACE_ARRAY;

  if (map && (NvBufSurfaceMap (surfaces, 0, -1, to_surface ? 1 : 0) || NvBufSurfaceSyncForCpu (surfaces, 0, -1)))
    return;
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&run->info); p++)
    for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT (&run->info, p); y++) {
      guint8 *row = (map ? (guint8 *) s->mapped[p] : (guint8 *) s->data + s->planes.offset[p]) +
          (gsize) y * s->planes.pitch[p];
      const gsize n = (gsize) GST_VIDEO_INFO_PLANE_STRIDE (&run->info, p);
      guint8 *at = flat + GST_VIDEO_INFO_PLANE_OFFSET (&run->info, p) + (gsize) y * n;

      memcpy (to_surface ? row : at, to_surface ? at : row, n);
    }
  if (map && to_surface)
    NvBufSurfaceSyncForDevice (surfaces, 0, -1);
  if (map)
    NvBufSurfaceUnMap (surfaces, 0, -1);
}

/* Pushes the frames. Returns the flow of the last one. */
static GstFlowReturn
stream (Run *run, GstBuffer **kept)
{
  const gsize size = GST_VIDEO_INFO_SIZE (&run->info);
  g_autofree guint8 *bytes = g_malloc (size);
  GstFlowReturn flow = GST_FLOW_OK;
  guint32 noise = 1;

  for (int i = 0; i < FRAMES && flow == GST_FLOW_OK; i++) {
    GstBuffer *buffer = run->nvmm ? new_nvmm (run, 1 + (i & 1)) : gst_buffer_new_allocate (NULL, size, NULL);

    for (gsize b = 0; b < size; b++)
      bytes[b] = (guint8) ((noise = noise * 1664525u + 1013904223u) >> 24);
    if (run->nvmm)
      copy (run, buffer, bytes, TRUE);
    else
      gst_buffer_fill (buffer, 0, bytes, size);
    if (kept)
      kept[i] = gst_buffer_ref (buffer);
    flow = gst_pad_push (run->src, buffer);
  }
  gst_pad_push_event (run->src, gst_event_new_eos ());
  return flow;
}

/* Compares a stream of NVMM with one of system memory. */
static void
same (const gchar *format, gint memory, const gchar *backend, gint in_flight, const gchar *roi)
{
  g_autofree guint8 *bytes = NULL;
  GstBuffer *kept[FRAMES];
  int right = 0, whole = 0, other = 0;
  Run nvmm, flat;

  stub_memory = memory;
  fake_arm (-1, 0, false);
  open_run (&flat, format, FALSE, "cpu", 1, roi);
  stream (&flat, NULL);
  open_run (&nvmm, format, TRUE, backend, in_flight, roi);
  stream (&nvmm, kept);
  bytes = g_malloc0 (GST_VIDEO_INFO_SIZE (&nvmm.info));
  for (int i = 0; i < MIN (nvmm.n_out, flat.n_out); i++) {
    copy (&nvmm, nvmm.out[i], bytes, FALSE);
    right += gst_buffer_memcmp (flat.out[i], 0, bytes, GST_VIDEO_INFO_SIZE (&nvmm.info)) == 0;
    other += surfaces_of (nvmm.out[i]) != surfaces_of (kept[i]) && surfaces_of (nvmm.out[i])->surface->format == 33;
    copy (&nvmm, kept[i], bytes, FALSE);
    gst_buffer_unref (kept[i]);
    whole += gst_buffer_memcmp (flat.out[i], 0, bytes, GST_VIDEO_INFO_SIZE (&nvmm.info)) != 0;
  }
  if (right != FRAMES)
    printf ("%s, memory %d, %s, %d in flight, roi %s: %d frames are right\n", format, memory, backend, in_flight, roi,
        right);
  faults_check (right == FRAMES && whole == FRAMES && other == FRAMES, "frames are not those of system memory");
  faults_check (stat_of (nvmm.element, "frames-gpu") == (strcmp (backend, "cuda") ? 0 : FRAMES), "the other backend");
  close_run (&nvmm);
  close_run (&flat);
  faults_check (stub_live == 0 && stub_mapped == 0 && stub_wrong == 0, "surfaces are left, or wrong calls");
  faults_check (!fake.misuse && !fake.blocked, "misuse of the GPU");
}

typedef enum { BATCH, SMALL, BLOCK_LINEAR, OF_GPU, EMPTY } Wrong;

/* What cannot be filtered is an error that says why. */
static void
refused (Wrong wrong, const gchar *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GstMessage) message = NULL;
  g_autoptr (GstBus) bus = NULL;
  GstBuffer *buffer;
  Run run;

  fake_arm (-1, 0, false);
  stub_memory = wrong == OF_GPU ? GST_CF_NV_DEVICE : GST_CF_NV_SURFACE_ARRAY;
  open_run (&run, "NV12", TRUE, "cpu", 1, NULL);
  buffer = wrong == EMPTY ? gst_buffer_new_allocate (NULL, 8, NULL) : new_nvmm (&run, 2);
  if (wrong == BATCH)
    surfaces_of (buffer)->filled = 2;
  if (wrong == SMALL)
    surfaces_of (buffer)->surface->planes.pitch[1] = WIDTH - 1;
  if (wrong == BLOCK_LINEAR)
    surfaces_of (buffer)->surface->layout = 1;
  faults_check (gst_pad_push (run.src, buffer) == GST_FLOW_ERROR && run.n_out == 0, "a wrong frame is taken");
  bus = gst_element_get_bus (run.element);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  if (message)
    gst_message_parse_error (message, &error, NULL);
  if (error && !strstr (error->message, text))
    printf ("%s\n", error->message);
  faults_check (error && strstr (error->message, text), "an error that does not say why");
  close_run (&run);
  faults_check (stub_live == 0 && stub_mapped == 0 && stub_wrong == 0, "surfaces are left, or wrong calls");
}

/* The GPU is lost in the middle. What the CPU can map it filters; what it cannot is an error. */
static void
lost (gint memory)
{
  const gboolean goes_on = memory == GST_CF_NV_SURFACE_ARRAY;
  int errors = 0, warnings = 0;
  GstFlowReturn flow;
  GstBus *bus;
  Run run;

  stub_memory = memory;
  fake_arm (40, 719, true);
  open_run (&run, "NV12", TRUE, "auto", 1, NULL);
  flow = stream (&run, NULL);
  faults_check (fake.fired && flow == (goes_on ? GST_FLOW_OK : GST_FLOW_ERROR), "another end");
  faults_check (run.n_out == FRAMES || !goes_on, "frames are missing");
  bus = gst_element_get_bus (run.element);
  faults_count_messages (bus, &errors, &warnings);
  gst_object_unref (bus);
  faults_check (errors == !goes_on && warnings == goes_on, "not the one message");
  close_run (&run);
  faults_check (stub_live == 0 && stub_mapped == 0 && stub_wrong == 0, "surfaces are left, or wrong calls");
}

/* A frame that is not filtered passes as it is. The pads offer NVMM after system memory, and no change of memory. */
static void
pads (void)
{
  g_autoptr (GstCaps) caps = NULL, nvmm = gst_caps_from_string ("video/x-raw(" GST_CF_NVMM_FEATURE "),format=NV12");
  GstBuffer *buffer;
  GstPad *sink;
  Run run;

  stub_memory = GST_CF_NV_SURFACE_ARRAY;
  open_run (&run, "NV12", TRUE, "cpu", 1, NULL);
  g_object_set (run.element, "enabled", FALSE, NULL);
  buffer = new_nvmm (&run, 1);
  gst_pad_push (run.src, buffer);
  faults_check (run.n_out == 1 && run.out[0] == buffer, "the frame does not pass");
  sink = gst_element_get_static_pad (run.element, "sink");
  caps = gst_pad_query_caps (sink, nvmm);
  faults_check (gst_caps_get_size (caps) == 1 && gst_caps_can_intersect (caps, nvmm), "the pad does not offer NVMM");
  gst_object_unref (sink);
  close_run (&run);
  /* A small area is filtered in place in system memory; a surface never is. */
  open_run (&run, "NV12", TRUE, "cpu", 1, "4,4,10,8");
  buffer = new_nvmm (&run, 1);
  surfaces_of (buffer)->gpu = 7;
  gst_pad_push (run.src, buffer);
  faults_check (run.n_out == 1 && surfaces_of (run.out[0])->gpu == 0, "a surface is filtered in place");
  close_run (&run);
}

int
main (void)
{
  static const gint memories[] = { GST_CF_NV_SURFACE_ARRAY, GST_CF_NV_DEVICE, GST_CF_NV_SYSTEM };
  static const gchar *const formats[] = { "NV12", "I420", "GRAY8", "RGBA" };

  faults_start ();
  for (gsize f = 0; f < G_N_ELEMENTS (formats); f++)
    for (gsize m = 0; m < G_N_ELEMENTS (memories); m++)
      for (gint in_flight = 1; in_flight <= 3; in_flight += 2) {
        fake_infos[0].integrated = memories[m] == GST_CF_NV_SURFACE_ARRAY;
        same (formats[f], memories[m], "cuda", in_flight, NULL);
        same (formats[f], memories[m], "cuda", in_flight, "4,4,10,8");
        if (memories[m] != GST_CF_NV_DEVICE)
          same (formats[f], memories[m], "cpu", in_flight, "4,4,30,20");
      }
  refused (BATCH, "put the filter before nvstreammux");
  refused (SMALL, "is not what the caps say");
  refused (BLOCK_LINEAR, "put nvvidconv before");
  refused (OF_GPU, "only a GPU can read");
  refused (EMPTY, "no NVMM surface");
  lost (GST_CF_NV_SURFACE_ARRAY);
  lost (GST_CF_NV_DEVICE);
  pads ();
  return faults_end ();
}
