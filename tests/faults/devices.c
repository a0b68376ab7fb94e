/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * devices.c: which of four GPUs an element takes by the properties cuda-device and cuda-device-id, what it says of
 * names that are none and of GPUs without kernels, and whether it stays on the GPU that the user wants. */
#include "common.h"
#include "fake.h"
#include "gstcfcuda.h"
#include "gstcfdevicename.h"
#include "gstcfdevices.h"
#include "gstcffilter.h"
#include "gstcudamedian.h"

#include <stdio.h>
#include <string.h>

#define UUID_1 "GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1"
#define CAPS "video/x-raw(memory:CUDAMemory),format=I420,width=8,height=16,framerate=25/1"
#define SIZE (8 * 16 * 3 / 2)

/* The last three are equally strong, and two of these have more memory. */
static void
make_gpus (void)
{
  static const CfGpuInfo infos[] = { { .sms = 100, .clock_khz = 1000, .memory = 8, .pci_bus = 0x01 },
    { .sms = 90, .clock_khz = 1500, .memory = 4, .pci_bus = 0xc1, .pci_slot = 2 },
    { .sms = 90, .clock_khz = 1500, .memory = 5, .pci_domain = 0x10000, .pci_bus = 0xc1, .pci_slot = 2 },
    { .sms = 90, .clock_khz = 1500, .memory = 5, .pci_domain = 1, .pci_bus = 0x01 } };

  for (gint i = 0; i < 4; i++) {
    fake_infos[i] = infos[i];
    fake_infos[i].major = 9;
    memset (fake_infos[i].uuid, 0xa0 + i, sizeof fake_infos[i].uuid);
  }
}

static GstElement *
new_element (const gchar *backend, const gchar *name, gint number)
{
  GstElement *element = gst_object_ref_sink (g_object_new (gst_cuda_median_get_type (), NULL));
  GstBus *bus = gst_bus_new ();

  gst_element_set_bus (element, bus);
  gst_object_unref (bus);
  gst_util_set_object_arg (G_OBJECT (element), "backend", backend);
  g_object_set (element, "cuda-device", name, "cuda-device-id", number, NULL);
  return element;
}

static GstObject *
context_of (GstElement *element)
{
  return gst_cf_filter_context (GST_CF_FILTER (element));
}

static gint
number_of (GstElement *element)
{
  return context_of (element) ? gst_cf_cuda_device (context_of (element)) : -1;
}

static void
offer (GstElement *element, GstObject *cuda_context)
{
  GstContext *context = gst_context_new ("fake", FALSE);

  gst_structure_set (gst_context_writable_structure (context), "context", GST_TYPE_OBJECT, cuda_context, NULL);
  gst_element_set_context (element, context);
  gst_context_unref (context);
}

/* Stops an element and checks that its only message is of this type and has `text` in it; NULL: no message. */
static void
end (GstElement *element, GstMessageType type, const gchar *text)
{
  GstBus *bus = gst_element_get_bus (element);
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  int errors = 0, warnings = 0;
  gchar *have = NULL;

  gst_element_set_state (element, GST_STATE_NULL);
  if (message) {
    GError *error = NULL;

    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
      gst_message_parse_error (message, &error, NULL);
    else
      gst_message_parse_warning (message, &error, NULL);
    faults_check (error->domain == GST_LIBRARY_ERROR, "a message of another kind");
    have = g_strdup (error->message);
    g_error_free (error);
  }
  if (have && (!text || !strstr (have, text)))
    printf ("a message: %s\n", have);
  faults_check (text ? message && GST_MESSAGE_TYPE (message) == type && strstr (have, text) : !message,
      "a message does not say what is wrong");
  faults_count_messages (bus, &errors, &warnings);
  faults_check (errors == 0 && warnings == 0, "too many messages");
  gst_clear_message (&message);
  g_free (have);
  gst_object_unref (bus);
  gst_element_set_bus (element, NULL);
  gst_object_unref (element);
}

/* ---- names ------------------------------------------------------------------ */

static void
names (void)
{
  static const struct {
    int devices;
    const gchar *name;
    gint number, right;
  } rows[] = { { 4, NULL, 3, 3 }, { 4, "auto", 2, 2 }, { 4, "AUTO", -1, 0 }, { 4, "least-used", -1, 0 },
    { 4, "Least-Used", 3, 3 }, { 1, "strongest", -1, 0 }, { 2, "strongest", 0, 1 }, { 3, "strongest", -1, 2 },
    { 4, "Strongest", -1, 2 }, { 4, UUID_1, -1, 1 }, { 4, "gpu-A2a2A2a2-a2a2-A2A2-a2a2-a2a2a2a2a2A2", 1, 2 },
    { 4, "MIG-a3a3a3a3-a3a3-a3a3-a3a3-a3a3a3a3a3a3", -1, 3 }, { 4, "0000:01:00.0", 2, 0 }, { 4, "01:00.0", -1, 0 },
    { 4, "1:0", -1, 0 }, { 4, "0:c1:02", -1, 1 }, { 4, "00000000:C1:02.0", -1, 1 }, { 4, "10000:c1:02.0", -1, 2 },
    { 4, "0001:01:00.0", -1, 3 } };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    GstElement *element = new_element ("cuda", rows[i].name, rows[i].number);

    fake_devices = rows[i].devices;
    faults_check (gst_element_set_state (element, GST_STATE_PAUSED) == GST_STATE_CHANGE_SUCCESS, "no start");
    if (number_of (element) != rows[i].right)
      printf ("%s: GPU %d, not %d\n", rows[i].name, number_of (element), rows[i].right);
    faults_check (number_of (element) == rows[i].right, "another GPU");
    end (element, 0, NULL);
  }
}

/* Elements that run at a time, each on the GPU that the fewest others use. */
static void
distributed (void)
{
  static const gchar *const name[] = { "least-used", "auto", "least-used", NULL };
  GstElement *element[4];

  fake_devices = 4;
  for (gint i = 0; i < 4; i++) {
    element[i] = new_element ("cuda", name[i], -1);
    faults_check (gst_element_set_state (element[i], GST_STATE_PAUSED) == GST_STATE_CHANGE_SUCCESS, "no start");
    faults_check (number_of (element[i]) == i, "not the GPU that the fewest elements use");
  }
  for (gint i = 0; i < 4; i++)
    end (element[i], 0, NULL);
}

/* Texts that name nothing, at any backend; names of no GPU that is here, where a GPU is wanted. */
static void
wrong_names (void)
{
  static const struct {
    const gchar *name, *text;
  } no_names[] = { { "", "must be auto, least-used, strongest" }, { "strong", "must be auto" },
    { "least", "must be auto" }, { "\xff\n", "\"??\"" }, { "0", "PCI address" }, { "01:00.1", "PCI address" },
    { "0000:01:00.0.0", "PCI" }, { "1:2:3:4", "PCI" }, { "-1:00.0", "PCI" }, { "01:00.0 ", "PCI" }, { "01:", "PCI" },
    { "GPU-", "nvidia-smi -L" }, { "GPU-1", "no UUID" }, { UUID_1 "a", "no UUID" },
    { "GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1ag", "no UUID" },
    { "GPU-a1a1a1a1aa1a1-a1a1-a1a1-a1a1a1a1a1a1a", "no UUID" } },
    absent[] = { { "GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a2", "none of 4 GPUs" }, { "02:00.0", "\"02:00.0\"" },
      { "0002:01:00.0", "none of 4" }, { "0000:01:01.0", "nvidia-smi" } };

  fake_devices = 4;
  for (gsize i = 0; i < G_N_ELEMENTS (no_names); i++) {
    GstElement *element = new_element (i % 2 ? "cpu" : "auto", no_names[i].name, 1);

    faults_check (gst_element_set_state (element, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE, "a start");
    end (element, GST_MESSAGE_ERROR, no_names[i].text);
  }
  for (gsize i = 0; i < 2 * G_N_ELEMENTS (absent); i++) {
    const gboolean strict = i % 2;
    GstElement *element = new_element (strict ? "cuda" : "auto", absent[i / 2].name, 1);

    faults_check ((gst_element_set_state (element, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE) == strict,
        "a start without the GPU, or none on the CPU");
    faults_check (number_of (element) < 0, "a GPU that was not named");
    end (element, strict ? GST_MESSAGE_ERROR : GST_MESSAGE_WARNING, absent[i / 2].text);
  }
}

static void
hung_gpus (void)
{
  static const struct {
    const gchar *name;
    guint64 hung;
    gint right;
  } rows[] = { { "strongest", 0, 2 }, { "strongest", 4, 3 }, { "strongest", 12, 1 }, { "strongest", 14, 0 },
    { "strongest", 15, -1 }, { UUID_1, 13, 1 }, { UUID_1, 2, -1 }, { "0:c1:2.0", 2, -1 } };

  fake_devices = 4;
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    CfStatus status = { 0 };
    gint device;
    CfCode code = gst_cf_device_name_find (rows[i].name, 4, rows[i].hung, &device, &status);

    faults_check (device == rows[i].right, "a GPU that hangs, or not the best of the others");
    faults_check ((code == CF_OK) == (device >= 0) && (code == CF_OK || strstr (status.message, "hangs")),
        "no word of the GPU that hangs");
  }
}

/* Makes a GPU one that the build has no kernels for. */
static void
take_kernels (CfGpuInfo *info)
{
  strcpy (info->name, "Old GPU");
  info->major = 7;
  info->minor = 5;
}

/* GPUs for which the build has no kernels (FAKE_ARCHS) are not chosen, and refused where they are named. */
static void
without_kernels (void)
{
  static const struct {
    const gchar *name;
    gint number;
    guint unfit; /* bits of GPUs */
    gint right;  /* -1: no GPU */
  } rows[] = { { NULL, -1, 1, 1 }, { NULL, -1, 7, 3 }, { NULL, -1, 15, -1 }, { "strongest", -1, 4, 3 },
    { "strongest", -1, 14, 0 }, { "strongest", -1, 15, -1 }, { NULL, 1, 1, 1 }, { NULL, 1, 2, -1 },
    { UUID_1, -1, 2, -1 }, { UUID_1, -1, 13, 1 }, { "0:c1:2.0", -1, 2, -1 } };

  fake_devices = 4;
  for (gsize i = 0; i < 2 * G_N_ELEMENTS (rows); i++) {
    const gboolean strict = i % 2, fails = rows[i / 2].right < 0;
    GstElement *element = new_element (strict ? "cuda" : "auto", rows[i / 2].name, rows[i / 2].number);
    GstStructure *stats = NULL;
    const gchar *error;
    gint backend;

    make_gpus ();
    for (gint k = 0; k < 4; k++)
      if (rows[i / 2].unfit >> k & 1)
        take_kernels (&fake_infos[k]);
    faults_check ((gst_element_set_state (element, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE) == (strict && fails),
        "a start without kernels, or none with them");
    faults_check (fails || number_of (element) == rows[i / 2].right, "not a GPU with kernels");
    g_object_get (element, "stats", &stats, "active-backend", &backend, NULL);
    faults_check (!fails || backend != 1 /* cuda */, "a GPU without kernels is used");
    error = gst_structure_get_string (stats, "gpu-error");
    faults_check (fails ? error && strstr (error, "kernels are for") : !error, "stats do not say it");
    gst_structure_free (stats);
    end (element, strict ? GST_MESSAGE_ERROR : GST_MESSAGE_WARNING,
        fails ? "Old GPU has compute capability 7.5, and this build's kernels are for " FAKE_ARCHS
                "; build with -Dcuda-archs=75," FAKE_ARCHS
              : NULL);
  }
  make_gpus ();
}

/* A GPU whose capability is that of the kernels, but on which they do not run (a driver that is too old to compile
 * them): all elements go to the other one, and no second one tries it. Where it is named, or the only one, it is
 * refused with the reason. */
static void
kernels_fail (void)
{
  static const gchar why[] = "this build has no kernels for this GPU";
  GstElement *element[3];

  fake_devices = 2;
  fake_unfit = 1 << 0;
  for (gsize i = 0; i < G_N_ELEMENTS (element); i++) {
    element[i] = new_element ("cuda", NULL, -1);
    faults_check (gst_element_set_state (element[i], GST_STATE_PAUSED) == GST_STATE_CHANGE_SUCCESS, "no start");
    faults_check (number_of (element[i]) == 1, "not the GPU that runs the kernels");
    faults_check (fake.contexts == 1, "a context is left on the other GPU");
  }
  faults_check (gst_cf_devices_choose (2, 0) == 1 && gst_cf_devices_choose (1, 0) == -1, "the GPU is not remembered");
  for (gsize i = 0; i < G_N_ELEMENTS (element); i++)
    end (element[i], 0, NULL);
  element[0] = new_element ("cuda", NULL, 0);
  faults_check (gst_element_set_state (element[0], GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE, "a start");
  end (element[0], GST_MESSAGE_ERROR, why);
  fake_devices = 1;
  element[0] = new_element ("auto", NULL, -1);
  faults_check (gst_element_set_state (element[0], GST_STATE_PAUSED) == GST_STATE_CHANGE_SUCCESS, "no start");
  end (element[0], GST_MESSAGE_WARNING, why);
  fake_unfit = 0;
}

/* Where there is no GPU at all, an element that names one says so, and no other. */
static void
no_gpus (void)
{
  static const gchar *const names[] = { NULL, "auto", "strongest", UUID_1 };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++) {
    GstElement *element = new_element ("auto", names[i], -1);

    fake_fail_next (FAKE_COUNT, 100, false); /* CUDA finds none */
    faults_check (gst_element_set_state (element, GST_STATE_PAUSED) == GST_STATE_CHANGE_SUCCESS, "no start");
    end (element, GST_MESSAGE_WARNING, i < 2 ? NULL : "The CPU filters the frames");
  }
}

static void
late (void)
{
  GstElement *element = new_element ("auto", "strongest", -1);
  gchar *name;

  fake_devices = 4;
  gst_element_set_state (element, GST_STATE_PAUSED);
  g_object_set (element, "cuda-device", "strongest", NULL);
  g_object_set (element, "cuda-device", UUID_1, NULL);
  g_object_get (element, "cuda-device", &name, NULL);
  faults_check (strcmp (name, UUID_1) == 0 && number_of (element) == 2, "a change while the element runs");
  g_free (name);
  gst_element_set_state (element, GST_STATE_READY);
  gst_element_set_state (element, GST_STATE_PAUSED);
  faults_check (number_of (element) == 1, "the new value has no effect");
  end (element, GST_MESSAGE_WARNING, "takes effect after the READY state");
}

/* ---- contexts of others ------------------------------------------------------ */

/* The application offers contexts before the start and after it. */
static void
offered (const gchar *name, gint number, gint right)
{
  GstObject *contexts[] = { fake_context_new (0), fake_context_new (1) };

  for (gint i = 0; i < 2; i++) {
    GstElement *element = new_element ("cuda", name, number);

    offer (element, contexts[i]);
    gst_element_set_state (element, GST_STATE_PAUSED);
    offer (element, contexts[1 - i]);
    faults_check (number_of (element) == (right < 0 ? i : right), "not the GPU that was named");
    faults_check ((context_of (element) == contexts[i]) == (right < 0 || right == i), "not the context offered");
    end (element, 0, NULL);
  }
  gst_object_unref (contexts[0]);
  gst_object_unref (contexts[1]);
}

static GstFlowReturn
take (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  GstBuffer **out = gst_pad_get_element_private (pad);

  (void) parent;
  *out = buffer;
  return GST_FLOW_OK;
}

/* A frame in the memory of GPU 0 comes to an element on another GPU. */
static void
input_of_another (const gchar *name, gint right)
{
  GstElement *element = new_element ("cuda", name, -1);
  GstObject *context = fake_context_new (0);
  GstBufferPool *pool = fake_pool_new (context, NULL);
  GstCaps *caps = gst_caps_from_string (CAPS);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstBuffer *in = NULL, *out = NULL;
  GstPad *src, *sink;
  guint8 flat[SIZE];

  gst_buffer_pool_config_set_params (config, caps, SIZE, 0, 0);
  gst_buffer_pool_set_config (pool, config);
  gst_buffer_pool_set_active (pool, TRUE);
  faults_link (element, &src, &sink, take, &out);
  faults_check (gst_element_set_state (element, GST_STATE_PLAYING) == GST_STATE_CHANGE_SUCCESS, "no start");
  gst_pad_push_event (src, gst_event_new_stream_start ("devices"));
  gst_pad_push_event (src, gst_event_new_caps (caps));
  faults_push_segment (src);
  faults_check (gst_buffer_pool_acquire_buffer (pool, &in, NULL) == GST_FLOW_OK, "no buffer");
  memset (flat, 77, SIZE);
  gst_buffer_fill (in, 0, flat, SIZE);
  faults_check (gst_pad_push (src, in) == GST_FLOW_OK && out, "no frame came out");
  faults_check (gst_buffer_memcmp (out, 0, flat, SIZE) == 0, "wrong bytes");
  faults_check (number_of (element) == right && (context_of (element) == context) == (right == 0),
      "not the GPU that was named");
  gst_buffer_unref (out);
  gst_pad_set_active (src, FALSE);
  gst_pad_set_active (sink, FALSE);
  end (element, 0, NULL);
  gst_object_unref (src);
  gst_object_unref (sink);
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  gst_object_unref (context);
  gst_caps_unref (caps);
}

int
main (void)
{
  fake_cuda_memory = true;
  faults_start ();
  fake_arm (-1, 0, false);
  make_gpus ();
  names ();
  wrong_names ();
  hung_gpus ();
  without_kernels ();
  no_gpus ();
  late ();
  offered (NULL, -1, -1);
  offered ("auto", -1, -1);
  offered (NULL, 1, 1);
  offered (UUID_1, -1, 1);
  offered ("c1:02", 0, 1);
  distributed ();
  input_of_another (NULL, 0);
  input_of_another (UUID_1, 1);
  input_of_another ("strongest", 2);
  kernels_fail (); /* the last, because it is not forgotten */
  faults_check (fake.blocked == 0 && fake.after == 0 && fake.misuse == 0 && fake.pushed == 0, "a wrong call");
  faults_check (fake.contexts == 0, "a context is left");
  return faults_end ();
}
