/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * diagnose-facts.c: what files, libcuda and libnvidia-ml say of the GPUs. The libraries are loaded where they are
 * there, so that this needs neither NVIDIA's headers nor a driver. */

#define _GNU_SOURCE 1 /* dladdr */
#include "diagnose.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* CUdevice_attribute */
enum { SMS = 16, WATCHDOG = 17, INTEGRATED = 18, MODE = 20, BUS = 33, MAJOR = 75, MINOR = 76 };

static gboolean
exists (const char *root, const char *path)
{
  g_autofree char *whole = g_strconcat (root, path, NULL);

  return g_file_test (whole, G_FILE_TEST_EXISTS);
}

/* Returns the first line of a small file (free it), or NULL. */
static char *
first_line (const char *root, const char *path)
{
  g_autofree char *whole = g_strconcat (root, path, NULL);
  char *text = NULL;

  if (!g_file_get_contents (whole, &text, NULL, NULL))
    return NULL;
  text[strcspn (text, "\n")] = '\0';
  return g_strstrip (text);
}

/* Counts NVIDIA's display devices on the PCI bus, with or without a driver. */
static int
count_on_bus (const char *root)
{
  g_autofree char *folder = g_strconcat (root, "/sys/bus/pci/devices", NULL);
  GDir *dir = g_dir_open (folder, 0, NULL);
  const char *name;
  int n = 0;

  while (dir && (name = g_dir_read_name (dir))) {
    g_autofree char *vendor_path = g_strconcat ("/", name, "/vendor", NULL);
    g_autofree char *class_path = g_strconcat ("/", name, "/class", NULL);
    g_autofree char *vendor = first_line (folder, vendor_path), *class = first_line (folder, class_path);

    n += vendor && class && !strcmp (vendor, "0x10de") && g_str_has_prefix (class, "0x03");
  }
  if (dir)
    g_dir_close (dir);
  return n;
}

/* A Jetson's GPU is not on the PCI bus, and its driver is a part of its Linux: "# R36 (release), REVISION: 4.3". */
static void
read_jetson (DiagnoseFacts *facts, const char *root)
{
  g_autofree char *model = first_line (root, "/proc/device-tree/model");
  g_autofree char *release = first_line (root, "/etc/nv_tegra_release");
  g_autofree char *nvmap = g_strconcat (root, "/dev/nvmap", NULL);

  if (release && g_str_has_prefix (release, "# R"))
    facts->l4t = atoi (release + strlen ("# R"));
  if (release || (model && strstr (model, "Jetson")))
    facts->jetson = g_strdup (model && model[0] ? model : "a Jetson");
  facts->closed_nvmap = g_file_test (nvmap, G_FILE_TEST_EXISTS) && access (nvmap, R_OK | W_OK) != 0;
}

static void
read_files (DiagnoseFacts *facts, const char *root)
{
  g_autofree char *release = first_line (root, "/proc/sys/kernel/osrelease");

  facts->container = exists (root, "/.dockerenv") || exists (root, "/run/.containerenv") ||
      exists (root, "/run/systemd/container");
  facts->wsl = release && (strstr (release, "microsoft") || strstr (release, "Microsoft"));
  facts->dxg = exists (root, "/dev/dxg");
  facts->wsl_library = exists (root, "/usr/lib/wsl/lib/libcuda.so.1");
  facts->nouveau = exists (root, "/sys/module/nouveau");
  read_jetson (facts, root);
  facts->on_bus = count_on_bus (root);
  facts->kernel_driver = first_line (root, "/proc/driver/nvidia/version");
  facts->control_node = exists (root, "/dev/nvidiactl");
  facts->uvm_node = exists (root, "/dev/nvidia-uvm");
  for (int i = 0; i < DIAGNOSE_DEVICES; i++) {
    g_autofree char *node = g_strdup_printf ("%s/dev/nvidia%d", root, i);

    if (g_file_test (node, G_FILE_TEST_EXISTS)) {
      facts->nodes++;
      facts->closed_nodes += access (node, R_OK | W_OK) != 0;
    }
  }
}

static void
read_device (void *cuda, int number, DiagnoseDevice *device)
{
  int (*get) (int *, int) = dlsym (cuda, "cuDeviceGet");
  int (*get_name) (char *, int, int) = dlsym (cuda, "cuDeviceGetName");
  int (*get_memory) (size_t *, int) = dlsym (cuda, "cuDeviceTotalMem_v2");
  int (*get_attribute) (int *, int, int) = dlsym (cuda, "cuDeviceGetAttribute");
  int handle, value[MINOR + 1] = { 0 };
  static const int wanted[] = { SMS, WATCHDOG, INTEGRATED, MODE, BUS, MAJOR, MINOR };

  g_strlcpy (device->name, "a GPU that cannot be queried", sizeof device->name);
  if (!get || !get_name || !get_memory || !get_attribute || get (&handle, number))
    return;
  if (get_name (device->name, sizeof device->name, handle) || get_memory (&device->memory, handle))
    return;
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    if (get_attribute (&value[wanted[i]], wanted[i], handle))
      value[wanted[i]] = 0;
  device->capability = 10 * value[MAJOR] + value[MINOR];
  device->sms = value[SMS];
  device->bus = value[BUS];
  device->mode = (DiagnoseMode) value[MODE];
  device->watchdog = value[WATCHDOG] != 0;
  device->integrated = value[INTEGRATED] != 0;
}

static void
read_cuda (DiagnoseFacts *facts)
{
  void *cuda = dlopen ("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  int (*init) (unsigned) = cuda ? dlsym (cuda, "cuInit") : NULL;
  int (*get_version) (int *) = cuda ? dlsym (cuda, "cuDriverGetVersion") : NULL;
  int (*get_count) (int *) = cuda ? dlsym (cuda, "cuDeviceGetCount") : NULL;
  Dl_info info;
  int n = 0;

  facts->has_cuda = init && get_version && get_count;
  if (!facts->has_cuda)
    return;
  facts->compat = dladdr ((void *) init, &info) && strstr (info.dli_fname, "/compat/");
  if (get_version (&facts->driver))
    facts->driver = 0;
  facts->init = init (0);
  if (facts->init || get_count (&n))
    return;
  facts->n_devices = MIN (n, DIAGNOSE_DEVICES);
  for (int i = 0; i < facts->n_devices; i++)
    read_device (cuda, i, &facts->device[i]);
}

/* MIG is known to NVML only: CUDA lists the instances as if they were GPUs, or lists none. */
static void
read_nvml (DiagnoseFacts *facts)
{
  void *nvml = dlopen ("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  int (*init) (void) = nvml ? dlsym (nvml, "nvmlInit_v2") : NULL;
  int (*get_count) (unsigned *) = nvml ? dlsym (nvml, "nvmlDeviceGetCount_v2") : NULL;
  int (*get_handle) (unsigned, void **) = nvml ? dlsym (nvml, "nvmlDeviceGetHandleByIndex_v2") : NULL;
  int (*get_mode) (void *, unsigned *, unsigned *) = nvml ? dlsym (nvml, "nvmlDeviceGetMigMode") : NULL;
  int (*get_most) (void *, unsigned *) = nvml ? dlsym (nvml, "nvmlDeviceGetMaxMigDeviceCount") : NULL;
  int (*get_instance) (void *, unsigned, void **) = nvml ? dlsym (nvml, "nvmlDeviceGetMigDeviceHandleByIndex") : NULL;
  unsigned n = 0, mode, next, most;
  void *handle, *instance;

  facts->has_nvml = init != NULL;
  facts->nvml_init = init ? init () : 0;
  if (!init || facts->nvml_init || !get_count || !get_handle || !get_mode || !get_most || !get_instance ||
      get_count (&n))
    return;
  for (unsigned i = 0; i < n; i++)
    if (!get_handle (i, &handle) && !get_mode (handle, &mode, &next) && mode) {
      facts->mig++;
      for (unsigned k = 0; !get_most (handle, &most) && k < most; k++)
        facts->mig_instances += !get_instance (handle, k, &instance);
    }
}

void
diagnose_read (DiagnoseFacts *facts, const char *root)
{
  void *decode = dlopen ("libnvcuvid.so.1", RTLD_LAZY | RTLD_LOCAL);

  *facts = (DiagnoseFacts) { .has_decode_library = decode != NULL };
  if (decode)
    dlclose (decode);
  read_files (facts, root);
  read_nvml (facts);
  read_cuda (facts);
}

void
diagnose_clear (DiagnoseFacts *facts)
{
  g_clear_pointer (&facts->kernel_driver, g_free);
  g_clear_pointer (&facts->jetson, g_free);
}
