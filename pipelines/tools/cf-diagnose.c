/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf-diagnose: prints what the filters find on this machine and which backend they
 * would use; what is in the way of the GPU, and what to do.
 *
 *   diagnose-facts.c  files, the driver's libraries      diagnose-advice.c  what follows from them */

#include "diagnose.h"
#include "line.h"

#include <cf.h>

#include <gst/gst.h>

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 100
#define SECONDS 30 /* for a frame: the first use of a GPU takes seconds */

static void row (const char *name, const char *format, ...) G_GNUC_PRINTF (2, 3);

static void
row (const char *name, const char *format, ...)
{
  va_list args;

  printf ("%-14s ", name);
  va_start (args, format);
  vprintf (format, args);
  va_end (args);
  putchar ('\n');
}

static void
print_cpu (void)
{
  int threads;
  const char *isa = cf_cpu_info (&threads);

  row ("CPU", "%s, %d thread%s", isa, threads, threads == 1 ? "" : "s");
}

/* Returns the path of nvcc (free it), or NULL. */
static char *
find_nvcc (void)
{
  char *path = g_find_program_in_path ("nvcc");

  if (!path && g_file_test ("/usr/local/cuda/bin/nvcc", G_FILE_TEST_IS_EXECUTABLE))
    path = g_strdup ("/usr/local/cuda/bin/nvcc");
  return path;
}

static void
print_toolkit_help (int driver)
{
  const int newest = diagnose_newest_toolkit (driver), toolkit = newest ? newest : 13000;
  const int major = toolkit / 1000, minor = toolkit % 1000 / 10;
  g_autofree char *id = g_get_os_info (G_OS_INFO_KEY_ID), *version = g_get_os_info (G_OS_INFO_KEY_VERSION_ID);
  g_autofree char *repo = NULL;
#if defined(__aarch64__)
  const char *arch = "sbsa";
#else
  const char *arch = "x86_64";
#endif

  if (!g_strcmp0 (id, "ubuntu") && version) {
    g_auto (GStrv) parts = g_strsplit (version, ".", -1);

    repo = g_strjoinv ("", parts); /* 24.04: ubuntu2404 */
  }
  printf ("\nFor CUDA kernels, get the toolkit (%d.%d or newer) from NVIDIA's network repository:\n",
      DIAGNOSE_TOOLKIT / 1000, DIAGNOSE_TOOLKIT % 1000 / 10);
  printf ("  wget https://developer.download.nvidia.com/compute/cuda/repos/%s%s/%s/cuda-keyring_1.1-1_all.deb\n",
      repo ? "ubuntu" : "debian", repo ? repo : "12", arch);
  printf ("  sudo dpkg -i cuda-keyring_1.1-1_all.deb && sudo apt-get update\n"
          "  sudo apt-get install cuda-nvcc-%d-%d cuda-cudart-dev-%d-%d libgstreamer-plugins-bad1.0-dev\n"
          "then remove the build directory and build again. The distributions' own nvidia-cuda-toolkit is too old\n"
          "(Debian 12: 11.8, Ubuntu 24.04: 12.0).\n",
      major, minor, major, minor);
  if (newest)
    printf ("The driver here, for CUDA %d.%d, runs what %d.%d makes.\n", driver / 1000, driver % 1000 / 10, major,
        minor);
  else
    printf ("%d.%d needs driver 580.65 or newer.\n", major, minor);
}

/* Prints the text in lines of COLUMNS. */
static void
print_wrapped (const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  gsize column = 0;

  for (char **word = words; *word; word++) {
    gsize length = strlen (*word);

    if (column && column + 1 + length > COLUMNS) {
      putchar ('\n');
      column = 0;
    }
    column += (gsize) printf ("%s%s", column ? " " : "", *word);
  }
  putchar ('\n');
}

static void
print_gstreamer (const DiagnoseFacts *facts)
{
  g_autofree char *version = gst_version_string ();
  g_autoptr (GstPlugin) plugin = gst_registry_find_plugin (gst_registry_get (), "cudafilters");

  row ("GStreamer", "%s", version);
  if (plugin)
    row ("plugin", "%s, %s, %s CUDA kernels", gst_plugin_get_version (plugin), gst_plugin_get_filename (plugin),
        facts->toolkit ? "with" : "without");
  else
    row ("plugin", "cudafilters is not found: set GST_PLUGIN_PATH to the directory of libgstcudafilters.so");
  row ("GPU decoding", "%s",
      facts->nvh264dec ? "nvh264dec: frames can stay on the GPU"
                       : "no nvh264dec (GStreamer registers it only where it finds a GPU)");
}

/* `version` 0: there is none. */
static void
print_version (const char *name, int version, const char *without)
{
  if (version > 0)
    row (name, "CUDA %d.%d", version / 1000, version % 1000 / 10);
  else
    row (name, "%s", without);
}

static void
print_gpus (const DiagnoseFacts *facts)
{
  if (facts->jetson && facts->l4t)
    row ("machine", "%s, Jetson Linux R%d", facts->jetson, facts->l4t);
  else if (facts->jetson)
    row ("machine", "%s", facts->jetson);
  if (facts->kernel_driver || !facts->jetson)
    row ("kernel driver", "%s",
        facts->kernel_driver ? facts->kernel_driver : "no NVIDIA driver is loaded (/proc/driver/nvidia/version)");
  print_version ("driver", facts->driver, "none (libcuda.so.1)");
  print_version ("runtime", facts->toolkit, "none: built without CUDA kernels");
  if (facts->archs[0])
    row ("kernels", "for -Dcuda-archs=%s", facts->archs);
  for (int i = 0; i < facts->n_devices; i++) {
    const DiagnoseDevice *device = &facts->device[i];
    g_autofree char *name = g_strdup_printf ("device %d", i);
    g_autofree char *place = g_strdup_printf ("PCI bus %02x", (unsigned) device->bus);

    row (name, "%s, compute capability %d.%d, %d SMs, %.1f GiB, %s", device->name, device->capability / 10,
        device->capability % 10, device->sms, (double) device->memory / 1073741824.0,
        device->integrated ? "which is the machine's memory" : place);
  }
  if (facts->n_devices == 0)
    row ("devices", "none usable");
}

static void
read_facts (DiagnoseFacts *facts)
{
  const char *root = g_getenv ("CF_DIAGNOSE_ROOT"); /* for tests: a folder with the files of another machine */
  g_autoptr (GstPlugin) nvcodec = gst_registry_find_plugin (gst_registry_get (), "nvcodec");
  g_autoptr (GstElementFactory) decoder = gst_element_factory_find ("nvh264dec");
  g_autofree char *nvcc = find_nvcc ();

  diagnose_read (facts, root ? root : "");
  facts->toolkit = cf_gpu_state ().runtime;
  facts->archs = cf_gpu_state ().archs;
  if (g_getenv ("CF_DIAGNOSE_TOOLKIT")) /* for tests, too */
    facts->toolkit = atoi (g_getenv ("CF_DIAGNOSE_TOOLKIT"));
  if (g_getenv ("CF_DIAGNOSE_ARCHS"))
    facts->archs = g_getenv ("CF_DIAGNOSE_ARCHS");
  facts->has_nvcc = nvcc != NULL;
  facts->nvcodec = nvcodec != NULL;
  facts->nvh264dec = decoder != NULL;
  facts->hidden = g_getenv ("CUDA_VISIBLE_DEVICES");
}

/* Has the GPU filter a frame. Returns NULL, or why it did not (free it). */
static char *
try_gpu (int device)
{
  g_autofree char *line = g_strdup_printf ("videotestsrc num-buffers=1 ! video/x-raw,format=I420,width=64,height=64 ! "
                                           "cudamedian backend=cuda on-gpu-error=error cuda-device-id=%d ! fakesink",
      device);
  g_autoptr (GError) error = NULL;
  g_autoptr (GstElement) pipeline = gst_parse_launch (line, &error);
  g_autoptr (GstMessage) message = NULL;
  g_autoptr (GstBus) bus = NULL;

  if (error)
    return g_strdup (error->message);
  bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, SECONDS * GST_SECOND, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  if (!message)
    return g_strdup_printf ("no frame came in %d s", SECONDS);
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS)
    return NULL;
  gst_message_parse_error (message, &error, NULL);
  return g_strdup (error->message);
}

/* backend=auto takes GPUs that have filtered a frame. */
static void
print_backend (const DiagnoseFacts *facts)
{
  g_autoptr (GString) good = g_string_new (NULL), bad = g_string_new (NULL);
  CfStatus status = { CF_OK, 0, "" };
  int n = 0;

  for (int i = 0; i < facts->n_devices; i++) {
    g_autofree char *why = try_gpu (i);

    if (why)
      g_string_append_printf (bad, "Device %d has not: %s\n", i, why);
    else
      g_string_append_printf (good, "%s%d", n++ ? ", " : "", i);
  }
  putchar ('\n');
  if (n > 0)
    printf ("backend=auto uses the GPU: device%s %s filtered a frame.\n%s", n > 1 ? "s" : "", good->str, bad->str);
  else if (cf_gpu_count (&status) == 0)
    printf ("backend=auto uses the CPU: %s\n", status.message);
  else
    printf ("backend=auto uses the CPU: no GPU filtered a frame.\n%s", bad->str);
}

static void
print_verdict (const DiagnoseFacts *facts)
{
  g_autofree char *nvcc = find_nvcc ();
  g_auto (GStrv) advice = diagnose_advise (facts);

  row ("nvcc", "%s", nvcc ? nvcc : "not found");
  print_backend (facts);
  for (char **text = advice; *text; text++) {
    putchar ('\n');
    print_wrapped (*text);
  }
  if (!facts->toolkit && !nvcc)
    print_toolkit_help (facts->driver);
}

int
main (int argc, char **argv)
{
  const GOptionEntry none[] = { { NULL, 0, 0, 0, NULL, NULL, NULL } };
  GError *error = NULL;
  DiagnoseFacts facts;

  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C"); /* decimal points */
  if (!parse_command_line (none, "- what the filters find on this machine, and which backend they would use", NULL,
          NULL, &argc, &argv))
    return 2;
  if (argc > 1)
    return complain ("\"%s\" is one too many; it takes no arguments", argv[1]) ? 0 : 2;
  if (!gst_init_check (NULL, NULL, &error)) {
    complain ("GStreamer does not start: %s", error ? error->message : "no reason given");
    g_clear_error (&error);
    return 1;
  }
  read_facts (&facts);
  print_gstreamer (&facts);
  print_cpu ();
  print_gpus (&facts);
  print_verdict (&facts);
  diagnose_clear (&facts);
  return 0;
}
