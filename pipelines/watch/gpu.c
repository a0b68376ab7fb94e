/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gpu.c: deals cameras to GPUs, and shares CUDA contexts. A context takes some 500 MiB of a GPU, so that each camera
 * with one of its own would fill it. The program itself links nothing of CUDA: the context travels in a GstContext. */
#include "gpu.h"

#include <cf.h>

#include <gmodule.h>

#define CUDA_CONTEXT "gst.cuda.context"
#define MAX_GPUS 64

/* The driver's attributes of a device (CUdevice_attribute). */
enum { MAJOR = 75, MINOR = 76 };

static guint n_gpus, cameras[MAX_GPUS];
static guint64 unfit;                  /* the bits of GPUs on which the plugin's kernels do not run */
static GMutex lock;                    /* of `contexts` */
static GstContext *contexts[MAX_GPUS]; /* kept for reconnects, unless the GPU turns out to be unfit */
static GMutex opening[MAX_GPUS];       /* held while a GPU's first context is made */

/* Returns for which GPUs the plugin's kernels were made: "75,90"; "": it has none, or there is no plugin. */
static char *
plugin_archs (void)
{
  g_autoptr (GstElementFactory) factory = gst_element_factory_find ("cudamedian");
  const char *archs = factory ? gst_element_factory_get_metadata (factory, "cuda-archs") : NULL;

  return g_strdup (archs ? archs : "");
}

/* Finds the GPUs that the kernels do not run on. */
static void
find_unfit (GModule *driver, GString *note)
{
  g_autofree char *archs = plugin_archs ();
  int device, major, minor;
  union {
    gpointer symbol;
    int (*get) (int *device, int number);
    int (*attribute) (int *value, int which, int device);
  } get, ask;

  if (!g_module_symbol (driver, "cuDeviceGet", &get.symbol) ||
      !g_module_symbol (driver, "cuDeviceGetAttribute", &ask.symbol))
    return;
  for (guint i = 0; i < n_gpus; i++) {
    if (get.get (&device, (int) i) || ask.attribute (&major, MAJOR, device) || ask.attribute (&minor, MINOR, device) ||
        cf_archs_run (archs, 10 * major + minor))
      continue;
    unfit |= G_GUINT64_CONSTANT (1) << i;
    g_string_append_printf (note,
        "%sGPU %u gets no camera: it has compute capability %d.%d, and the plugin's kernels are for %s",
        note->len ? "; " : "", i, major, minor, archs[0] ? archs : "7.5 and newer");
  }
}

guint
gpu_init (GString *note)
{
  GModule *driver = g_module_open ("libcuda.so.1", G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
  union {
    gpointer symbol;
    int (*init) (guint flags);
    int (*count) (int *n);
  } f;
  int n = 0;

  /* The driver's own count is the one that CUDA_VISIBLE_DEVICES, containers and MIG leave. */
  if (!driver || !g_module_symbol (driver, "cuInit", &f.symbol) || f.init (0) != 0 ||
      !g_module_symbol (driver, "cuDeviceGetCount", &f.symbol) || f.count (&n) != 0)
    n = 0;
  n_gpus = (guint) CLAMP (n, 0, MAX_GPUS);
  if (n_gpus > 0)
    find_unfit (driver, note);
  return n_gpus;
}

guint
gpu_count (void)
{
  return n_gpus;
}

int
gpu_take (int wanted)
{
  const int gpu = wanted >= 0 ? wanted : cf_gpu_fewest (cameras, n_gpus, unfit);

  if (gpu < 0 || gpu >= (int) n_gpus)
    return -1;
  cameras[gpu]++;
  return gpu;
}

void
gpu_release (int gpu)
{
  if (gpu >= 0)
    cameras[gpu]--;
}

gboolean
gpu_refuse (int gpu)
{
  g_return_val_if_fail (gpu >= 0 && gpu < (int) n_gpus, FALSE);
  unfit |= G_GUINT64_CONSTANT (1) << gpu;
  g_mutex_lock (&lock);
  g_clear_pointer (&contexts[gpu], gst_context_unref);
  g_mutex_unlock (&lock);
  return cf_gpu_fewest (cameras, n_gpus, unfit) >= 0;
}

static gboolean
has_context (int gpu)
{
  gboolean has;

  g_mutex_lock (&lock);
  has = contexts[gpu] != NULL;
  g_mutex_unlock (&lock);
  return has;
}

static void
keep_context (GstContext *context)
{
  guint gpu = 0;

  if (!gst_context_has_context_type (context, CUDA_CONTEXT) ||
      !gst_structure_get_uint (gst_context_get_structure (context), "cuda-device-id", &gpu))
    return;
  g_mutex_lock (&lock);
  if (gpu < MAX_GPUS && !contexts[gpu])
    contexts[gpu] = gst_context_ref (context);
  g_mutex_unlock (&lock);
}

/* Gives an element the context of its own GPU or, if any will do, of the camera's. */
static void
give_context (GstElement *element, int gpu)
{
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), "cuda-device-id");
  GstContext *context = NULL;
  gint64 own = -1;

  if (spec) {
    GValue value = G_VALUE_INIT, number = G_VALUE_INIT;

    g_value_init (&value, spec->value_type);
    g_value_init (&number, G_TYPE_INT64);
    g_object_get_property (G_OBJECT (element), "cuda-device-id", &value);
    if (g_value_transform (&value, &number))
      own = g_value_get_int64 (&number);
  }
  if (own >= 0 && own < MAX_GPUS)
    gpu = (int) own;
  g_mutex_lock (&lock);
  if (gpu >= 0 && contexts[gpu])
    context = gst_context_ref (contexts[gpu]);
  g_mutex_unlock (&lock);
  if (context) {
    gst_element_set_context (element, context);
    gst_context_unref (context);
  }
}

/* Called from the thread in which an element posts. */
static GstBusSyncReply
on_message (GstBus *bus, GstMessage *message, gpointer gpu)
{
  const char *type;

  (void) bus;
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_HAVE_CONTEXT) {
    GstContext *context;

    gst_message_parse_have_context (message, &context);
    keep_context (context);
    gst_context_unref (context);
  } else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_NEED_CONTEXT && GST_IS_ELEMENT (GST_MESSAGE_SRC (message)) &&
      gst_message_parse_context_type (message, &type) && g_str_equal (type, CUDA_CONTEXT)) {
    give_context (GST_ELEMENT (GST_MESSAGE_SRC (message)), GPOINTER_TO_INT (gpu));
  }
  return GST_BUS_PASS;
}

static void
assign_element (const GValue *item, gpointer gpu)
{
  GObject *element = g_value_get_object (item);
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), "cuda-device-id");
  int own = 0;

  /* Those of other plugins may be of another type, or not writable. */
  if (!spec || spec->value_type != G_TYPE_INT || !(spec->flags & G_PARAM_WRITABLE))
    return;
  g_object_get (element, "cuda-device-id", &own, NULL);
  if (own < 0)
    g_object_set (element, "cuda-device-id", GPOINTER_TO_INT (gpu), NULL);
}

void
gpu_assign (GstElement *pipeline, GstElement *line, int gpu)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  GstIterator *it = gst_bin_iterate_recurse (GST_BIN (line));

  if (gpu >= 0)
    while (gst_iterator_foreach (it, assign_element, GINT_TO_POINTER (gpu)) == GST_ITERATOR_RESYNC)
      gst_iterator_resync (it);
  gst_iterator_free (it);
  gst_bus_set_sync_handler (bus, on_message, GINT_TO_POINTER (gpu), NULL);
}

void
gpu_warm_up (GstElement *line, int gpu)
{
  if (gpu < 0 || has_context (gpu))
    return;
  g_mutex_lock (&opening[gpu]);
  if (!has_context (gpu) && gst_element_set_state (line, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE)
    GST_WARNING_OBJECT (line, "the filter does not start"); /* the pipeline's own start reports it */
  g_mutex_unlock (&opening[gpu]);
}
