/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gpufault.c: a real fault in the middle of a stream, in the CUDA context of the element:
 *
 *   gpufault --fault address|trap|hang [--memory system|cuda] --element 'cudamedian kernel-size=5'
 *
 * address writes to an address that is not mapped, trap executes a trap, and hang is a kernel that occupies the whole
 * GPU for HANG_SECONDS. In system memory all frames must arrive with the bytes of the CPU and with one warning. In CUDA
 * memory, which cannot be read after the fault, the stream must end with an error, of which the element posts at most
 * one. The element must stop at once; GStreamer's elements beside it may wait for the GPU, to which they give memory
 * back. An element that starts afterwards, or while the GPU hangs, must filter on the CPU from its first frame on, and
 * say what was wrong first, and after which kernel. Each fault needs a process of its own. */
#define GST_USE_UNSTABLE_API
#include <dlfcn.h>
#include <gst/app/gstappsink.h>
#include <gst/cuda/gstcudacontext.h>
#include <stdio.h>
#include <string.h>

#define FRAMES 200
#define FAULT_AT 50
#define HANG_SECONDS 8
#define LONGEST_WAIT_MS 2500 /* the deadline of a frame is 2 s */
#define RESTART_MS 1500      /* the first frame of an element that starts while the GPU hangs */

static const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry address () { .reg .u64 %a; .reg .u32 %v; mov.u64 %a, 16; mov.u32 %v, 1;"
    "  st.global.u32 [%a], %v; ret; }\n"
    ".visible .entry trap () { trap; ret; }\n"
    ".visible .entry hang (.param .u64 ns) { .reg .u64 %start, %now, %n; .reg .pred %p; ld.param.u64 %n, [ns];"
    "  mov.u64 %start, %globaltimer; again: mov.u64 %now, %globaltimer; sub.u64 %now, %now, %start;"
    "  setp.lt.u64 %p, %now, %n; @%p bra again; ret; }\n";

/* The driver's functions that are needed; all return a CUresult. */
typedef int (*ModuleLoadData) (gpointer *module, const void *image);
typedef int (*ModuleGetFunction) (gpointer *function, gpointer module, const char *name);
typedef int (*LaunchKernel) (gpointer function, guint x, guint y, guint z, guint bx, guint by, guint bz, guint shared,
    gpointer stream, void **arguments, void **extra);

static gchar *fault, *element_line, *memory;
static gboolean cuda_memory;

typedef struct {
  GstElement *element;
  gint seen, frames, warnings, errors; /* messages: of the element */
  gint other_errors;                   /* of its neighbours */
  gint injected;                       /* -1: failed, 1: launched */
  gdouble first_ms, longest_ms, stop_ms;
  gchar *digest, *gpu_error; /* the stats' field, at the end */
} Run;

static gboolean
launch_fault (GstElement *element)
{
  GstContext *message = gst_element_get_context (element, GST_CUDA_CONTEXT_TYPE);
  gpointer driver = dlopen ("libcuda.so.1", RTLD_NOW), module = NULL, function = NULL;
  const gboolean hang = strcmp (fault, "hang") == 0;
  guint64 ns = HANG_SECONDS * (guint64) GST_SECOND;
  void *arguments[] = { &ns };
  GstCudaContext *context = NULL;
  ModuleLoadData load;
  ModuleGetFunction find;
  LaunchKernel launch;
  int error;

  if (!message || !driver ||
      !gst_structure_get (gst_context_get_structure (message), GST_CUDA_CONTEXT_TYPE, GST_TYPE_CUDA_CONTEXT, &context,
          NULL) ||
      !gst_cuda_context_push (context))
    return FALSE;
  *(void **) &load = dlsym (driver, "cuModuleLoadData");
  *(void **) &find = dlsym (driver, "cuModuleGetFunction");
  *(void **) &launch = dlsym (driver, "cuLaunchKernel");
  error = load (&module, ptx);
  if (!error)
    error = find (&function, module, fault);
  if (!error)
    error = launch (function, hang ? 32 * 256 : 1, 1, 1, hang ? 64 : 1, 1, 1, 0, NULL, hang ? arguments : NULL, NULL);
  if (error)
    printf ("the driver returned error %d\n", error);
  gst_cuda_context_pop (NULL);
  gst_object_unref (context);
  gst_context_unref (message);
  return error == 0;
}

static GstPadProbeReturn
inject (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Run *run = data;

  (void) pad;
  (void) info;
  if (++run->seen == FAULT_AT)
    run->injected = launch_fault (run->element) ? 1 : -1;
  return GST_PAD_PROBE_OK;
}

static void
count_messages (Run *run, GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;

  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR))) {
    const gboolean is_error = GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR;
    GError *error = NULL;

    (is_error ? gst_message_parse_error : gst_message_parse_warning) (message, &error, NULL);
    if (GST_MESSAGE_SRC (message) == GST_OBJECT_CAST (run->element))
      (*(is_error ? &run->errors : &run->warnings))++;
    else if (is_error)
      run->other_errors++;
    printf ("  %s from %s: %s\n", is_error ? "error" : "warning", GST_MESSAGE_SRC_NAME (message), error->message);
    g_clear_error (&error);
    gst_message_unref (message);
  }
  gst_object_unref (bus);
}

static void
pull_all (Run *run, GstElement *pipeline)
{
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "out");
  GChecksum *sum = g_checksum_new (G_CHECKSUM_SHA256);
  gint64 before = g_get_monotonic_time ();
  GstSample *sample;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while ((sample = gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 30 * GST_SECOND))) {
    const gint64 now = g_get_monotonic_time ();
    const gdouble ms = (gdouble) (now - before) / 1000;
    GstMapInfo map;

    if (gst_buffer_map (gst_sample_get_buffer (sample), &map, GST_MAP_READ)) {
      g_checksum_update (sum, map.data, (gssize) map.size);
      gst_buffer_unmap (gst_sample_get_buffer (sample), &map);
    }
    gst_sample_unref (sample);
    if (run->frames++ == 0)
      run->first_ms = ms;
    else
      run->longest_ms = MAX (run->longest_ms, ms);
    before = now;
  }
  run->digest = g_strdup (g_checksum_get_string (sum));
  g_checksum_free (sum);
  gst_object_unref (sink);
}

static gchar *
get_gpu_error (GstElement *element)
{
  GstStructure *stats = NULL;
  gchar *text;

  g_object_get (element, "stats", &stats, NULL);
  text = g_strdup (gst_structure_has_field (stats, "gpu-error") ? gst_structure_get_string (stats, "gpu-error") : "");
  gst_structure_free (stats);
  return text;
}

static Run
play (const gchar *backend, gboolean injects)
{
  const gboolean on_gpu = cuda_memory && strcmp (backend, "cpu") != 0;
  gchar *line = g_strdup_printf (
      "videotestsrc num-buffers=%d pattern=smpte75 animation-mode=frames motion=sweep ! "
      "video/x-raw,format=NV12,width=1280,height=720,framerate=60/1 ! %s%s name=filter backend=%s ! %sappsink name=out "
      "sync=false",
      FRAMES, on_gpu ? "cudaupload ! video/x-raw(memory:CUDAMemory) ! " : "", element_line, backend,
      on_gpu ? "cudadownload ! video/x-raw ! " : "");
  Run run = { 0 };
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch (line, &error);
  gint64 begin;

  if (error)
    g_error ("%s: %s", line, error->message);
  run.element = gst_bin_get_by_name (GST_BIN (pipeline), "filter");
  if (injects) {
    GstPad *pad = gst_element_get_static_pad (run.element, "sink");

    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, inject, &run, NULL);
    gst_object_unref (pad);
  }
  pull_all (&run, pipeline);
  count_messages (&run, pipeline);
  run.gpu_error = get_gpu_error (run.element);
  begin = g_get_monotonic_time ();
  gst_element_set_locked_state (run.element, TRUE);
  gst_element_set_state (run.element, GST_STATE_NULL);
  run.stop_ms = (gdouble) (g_get_monotonic_time () - begin) / 1000;
  printf ("  backend=%s: %d frames, %d warnings, %d errors, first %.0f ms, longest wait %.0f ms, stop %.0f ms\n",
      backend, run.frames, run.warnings, run.errors, run.first_ms, run.longest_ms, run.stop_ms);
  gst_object_unref (run.element);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  printf ("  all elements have stopped after %.0f ms\n", (gdouble) (g_get_monotonic_time () - begin) / 1000);
  gst_object_unref (pipeline);
  g_free (line);
  return run;
}

static gint passed, failed;

static void
check (gboolean good, const gchar *what)
{
  if (good)
    passed++;
  else
    failed++;
  if (!good)
    printf ("FAIL: %s\n", what);
}

int
main (int argc, char **argv)
{
  const GOptionEntry entries[] = { { "fault", 0, 0, G_OPTION_ARG_STRING, &fault, "address, trap or hang", "KIND" },
    { "memory", 0, 0, G_OPTION_ARG_STRING, &memory, "memory of the frames: system or cuda (system)", "KIND" },
    { "element", 0, 0, G_OPTION_ARG_STRING, &element_line, "the element, with properties", "LINE" }, { NULL } };
  GOptionContext *context = g_option_context_new (NULL);
  GError *error = NULL;
  Run right, run, second;
  gboolean hangs, goes_on;

  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  if (!g_option_context_parse (context, &argc, &argv, &error) || !fault || !element_line) {
    printf ("%s\n", error ? error->message : "--fault and --element are needed");
    return 1;
  }
  cuda_memory = memory && strcmp (memory, "cuda") == 0;
  printf ("%s, %s, %s memory\n", element_line, fault, cuda_memory ? "CUDA" : "system");
  hangs = strcmp (fault, "hang") == 0;
  right = play ("cpu", FALSE);
  run = play ("auto", TRUE);
  check (right.frames == FRAMES, "the CPU filters all frames");
  check (run.injected == 1, "the fault is launched in the context of the element");
  check (run.longest_ms < LONGEST_WAIT_MS, "no frame waits longer than the deadline");
  check (run.stop_ms < LONGEST_WAIT_MS, "the element stops");
  if (cuda_memory) {
    check (run.frames < FRAMES && run.errors <= 1 && run.errors + run.other_errors > 0,
        "the stream ends with an error");
  } else {
    check (run.frames == FRAMES && strcmp (run.digest, right.digest) == 0, "all frames, with the CPU's bytes");
    check (run.warnings == 1 && run.errors == 0, "one warning, no error");
  }
  goes_on = hangs && cuda_memory; /* by now: GStreamer's elements have waited for it */
  cuda_memory = FALSE;
  second = play ("auto", FALSE);
  check (second.frames == FRAMES && strcmp (second.digest, right.digest) == 0, "an element that starts afterwards");
  printf ("  it says: %s\n", second.gpu_error);
  if (!goes_on)
    check (strstr (second.gpu_error, hangs ? "GPU 0 hangs" : "has lost the GPU and must restart: ") &&
            strstr (second.gpu_error, "last kernel launched: ") &&
            (hangs || strstr (second.gpu_error, strcmp (fault, "trap") == 0 ? "CUDA error 7" : "(CUDA error 700)")),
        "it says what was wrong first");
  check (second.first_ms < RESTART_MS && second.longest_ms < RESTART_MS, "it does not wait for the GPU");
  printf ("%d passed, %d failed, 0 skipped\n", passed, failed);
  return failed > 0;
}
