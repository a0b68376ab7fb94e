/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf-diagnose: prints what the filters find on this machine and which backend they
 * would use. If that is the CPU, prints the reason and the remedy. */

#include <cf.h>

#include <gst/gst.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MIN_TOOLKIT "12.1"

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

/* Returns the first line of a small file (free it), or NULL. */
static char *
first_line (const char *path)
{
  char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return NULL;
  text[strcspn (text, "\n")] = '\0';
  return g_strstrip (text);
}

/* Counts NVIDIA display devices on the PCI bus, with or without a driver. */
static int
count_nvidia_pci (void)
{
  GDir *dir = g_dir_open ("/sys/bus/pci/devices", 0, NULL);
  const char *name;
  int n = 0;

  while (dir && (name = g_dir_read_name (dir))) {
    g_autofree char *vendor_path = g_build_filename ("/sys/bus/pci/devices", name, "vendor", NULL);
    g_autofree char *class_path = g_build_filename ("/sys/bus/pci/devices", name, "class", NULL);
    g_autofree char *vendor = first_line (vendor_path), *class = first_line (class_path);

    n += vendor && class && !strcmp (vendor, "0x10de") && g_str_has_prefix (class, "0x03");
  }
  if (dir)
    g_dir_close (dir);
  return n;
}

static void
print_cpu (void)
{
  int threads;
  const char *isa = cf_cpu_info (&threads);

  row ("CPU", "%s, %d thread%s", isa, threads, threads == 1 ? "" : "s");
}

static bool
has_kernels (void)
{
  int driver, runtime;

  cf_gpu_versions (&driver, &runtime);
  return runtime > 0;
}

/* `version` 0: there is none. */
static void
print_version (const char *name, int version, const char *without_kernels)
{
  if (!has_kernels ())
    row (name, "%s: built without CUDA kernels", without_kernels);
  else if (version > 0)
    row (name, "CUDA %d.%d", version / 1000, version % 1000 / 10);
  else
    row (name, "none");
}

/* Prints driver, runtime and devices. Returns whether a GPU would be used. */
static bool
print_gpus (void)
{
  g_autofree char *kernel_driver = first_line ("/proc/driver/nvidia/version");
  int n = cf_gpu_count (NULL), driver, runtime;
  bool usable = false;

  cf_gpu_versions (&driver, &runtime);
  row ("kernel driver", "%s",
      kernel_driver ? kernel_driver : "no NVIDIA driver is loaded (/proc/driver/nvidia/version)");
  print_version ("driver", driver, "not checked");
  print_version ("runtime", runtime, "none");
  for (int i = 0; i < n; i++) {
    g_autofree char *name = g_strdup_printf ("device %d", i);
    CfStatus why = { CF_OK, 0, "" };
    CfGpuInfo info;

    if (cf_gpu_info (i, &info, &why) == CF_OK) {
      row (name, "%s, compute capability %d.%d, %d SMs, %.1f GiB, PCI bus %02x", info.name, info.major, info.minor,
          info.sms, info.memory / 1073741824.0, (unsigned) info.pci_bus);
      usable = true;
    } else
      row (name, "cannot be queried: %s", why.message);
  }
  if (n <= 0)
    row ("devices", "none usable");
  return usable;
}

static void
print_gstreamer (void)
{
  g_autofree char *version = gst_version_string ();
  g_autoptr (GstPlugin) plugin = gst_registry_find_plugin (gst_registry_get (), "cudafilters");
  g_autoptr (GstElementFactory) decoder = gst_element_factory_find ("nvh264dec");

  row ("GStreamer", "%s", version);
  if (plugin)
    row ("plugin", "%s, %s, %s CUDA kernels", gst_plugin_get_version (plugin), gst_plugin_get_filename (plugin),
        has_kernels () ? "with" : "without");
  else
    row ("plugin", "cudafilters is not found: set GST_PLUGIN_PATH to the directory of libgstcudafilters.so");
  row ("GPU decoding", "%s",
      decoder ? "nvh264dec: frames can stay on the GPU"
              : "no nvh264dec (GStreamer registers it only where it finds a GPU)");
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
print_toolkit_help (void)
{
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
  printf ("\nFor CUDA kernels, get the toolkit (%s or newer) from NVIDIA's network repository:\n", MIN_TOOLKIT);
  printf ("  wget https://developer.download.nvidia.com/compute/cuda/repos/%s%s/%s/cuda-keyring_1.1-1_all.deb\n",
      repo ? "ubuntu" : "debian", repo ? repo : "12", arch);
  printf ("  sudo dpkg -i cuda-keyring_1.1-1_all.deb && sudo apt-get update\n"
          "  sudo apt-get install cuda-nvcc-13-0 cuda-cudart-dev-13-0 libgstreamer-plugins-bad1.0-dev\n"
          "then remove the build directory and build again. The distributions' own nvidia-cuda-toolkit is too old\n"
          "(Debian 12: 11.8, Ubuntu 24.04: 12.0).\n");
}

static void
print_verdict (bool usable)
{
  CfStatus status = { CF_OK, 0, "" };
  g_autofree char *nvcc = find_nvcc ();
  int on_bus = count_nvidia_pci ();

  row ("nvcc", "%s", nvcc ? nvcc : "not found");
  if (usable) {
    printf ("\nbackend=auto uses the GPU.\n");
    return;
  }
  cf_gpu_count (&status);
  printf ("\nbackend=auto uses the CPU: %s\n", status.message[0] ? status.message : "no usable GPU");
  if (on_bus > 0 && !g_file_test ("/proc/driver/nvidia/version", G_FILE_TEST_EXISTS))
    printf ("%d NVIDIA device%s on the PCI bus, but NVIDIA's driver is missing: install it (Debian: nvidia-driver of\n"
            "non-free; Ubuntu: ubuntu-drivers install) and reboot.\n",
        on_bus, on_bus == 1 ? " is" : "s are");
  else if (on_bus == 0)
    printf ("No NVIDIA device is on the PCI bus.\n");
  if (!has_kernels () && !nvcc)
    print_toolkit_help ();
  else if (!has_kernels ())
    printf ("nvcc is installed, but this build has no CUDA kernels: it was configured without them or before nvcc was\n"
            "installed, or gstreamer-cuda-1.0 (libgstreamer-plugins-bad1.0-dev) is missing, or nvcc is older than %s.\n"
            "Remove the build directory and build again; meson prints what is missing.\n",
        MIN_TOOLKIT);
}

int
main (int argc, char **argv)
{
  GError *error = NULL;
  bool usable;

  if (argc > 1) {
    printf ("usage: cf-diagnose\nPrints what the filters find on this machine and which backend they would use.\n");
    return strcmp (argv[1], "--help") ? 2 : 0;
  }
  if (!gst_init_check (NULL, NULL, &error)) {
    fprintf (stderr, "cf-diagnose: GStreamer does not start: %s\n", error ? error->message : "no reason given");
    g_clear_error (&error);
    return 1;
  }
  print_gstreamer ();
  print_cpu ();
  usable = print_gpus ();
  print_verdict (usable);
  return 0;
}
