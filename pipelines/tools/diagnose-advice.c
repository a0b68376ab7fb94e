/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * diagnose-advice.c: what is in the way of the GPU, and what to do. */

#include "diagnose.h"

#include <cf.h>

#define CONTAINER_GPU \
  "docker: `docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,video,utility ...`, podman: `podman run " \
  "--device nvidia.com/gpu=all ...`; the host needs NVIDIA's container toolkit"

static void add (GPtrArray *list, const char *format, ...) G_GNUC_PRINTF (2, 3);

static void
add (GPtrArray *list, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_ptr_array_add (list, g_strdup_vprintf (format, args));
  va_end (args);
}

static void
advise_wsl (const DiagnoseFacts *f, GPtrArray *list)
{
  if (!f->dxg)
    add (list,
        "WSL without a GPU: /dev/dxg is missing. In Windows: `wsl --update`, and `wsl --set-version DISTRIBUTION 2` "
        "if `wsl -l -v` says version 1; Windows 10 21H2 or newer is needed.");
  else if (!f->has_cuda && f->wsl_library)
    add (list,
        "WSL: the driver's libraries are in /usr/lib/wsl/lib, where the loader does not look. Type: "
        "`export LD_LIBRARY_PATH=/usr/lib/wsl/lib`, or `sudo ldconfig`.");
  else if (!f->has_cuda)
    add (list, "WSL: Windows has no NVIDIA driver. Install it in Windows; in WSL itself no driver must be installed.");
}

#define JETPACK_L4T 38 /* Jetson Linux of JetPack 7, the first with a GStreamer that is new enough */

/* A Jetson's GPU is part of its processor, and its driver part of JetPack: no PCI bus, on most no NVML. */
static void
advise_jetson (const DiagnoseFacts *f, GPtrArray *list)
{
  if (f->l4t && f->l4t < JETPACK_L4T)
    add (list,
        "This Jetson runs Jetson Linux R%d (JetPack %d). JetPack 7 is needed: older ones have a GStreamer older than "
        "1.22.",
        f->l4t,
        f->l4t < 34       ? 4
            : f->l4t < 36 ? 5
                          : 6);
  if (f->n_devices > 0)
    return;
  if (f->container && !f->has_cuda)
    add (list, "This container lacks the Jetson's driver. Start it with `docker run --runtime nvidia ...`.");
  else if (!f->has_cuda)
    add (list, "The Jetson's driver (libcuda.so.1) is missing. Type: `sudo apt-get install nvidia-jetpack`.");
  else if (f->closed_nvmap)
    add (list,
        "This user may not open /dev/nvmap, the GPU's memory. Type: `sudo usermod -aG video,render $USER`, and log in "
        "again.");
}

/* The way from the device to /dev/nvidia0. */
static void
advise_driver (const DiagnoseFacts *f, GPtrArray *list)
{
  if (!f->kernel_driver && f->on_bus == 0)
    add (list, "No NVIDIA device is on the PCI bus. To a virtual machine it has to be passed through by the host.");
  else if (!f->kernel_driver && f->container)
    add (list, "This container runs on a machine without a loaded NVIDIA driver. Install the driver on the host.");
  else if (!f->kernel_driver)
    add (list,
        "%d NVIDIA device%s on the PCI bus, but NVIDIA's driver is not loaded%s. Install it (Debian: "
        "nvidia-driver of non-free; Ubuntu: `ubuntu-drivers install`) and reboot. If it is installed: `sudo "
        "modprobe nvidia` prints why it does not load; with Secure Boot its module has to be signed.",
        f->on_bus, f->on_bus == 1 ? " is" : "s are",
        f->nouveau ? ": nouveau is, which has no CUDA, and which the driver's package disables" : "");
  else if (f->container && (!f->control_node || f->nodes == 0))
    add (list,
        "This container has no GPU: it lacks /dev/nvidiactl or /dev/nvidia0. Start it with the GPU; " CONTAINER_GPU
        ".");
  else if (!f->control_node || f->nodes == 0 || !f->uvm_node)
    add (list,
        "The driver is loaded, but its device nodes (/dev/nvidiactl, /dev/nvidia0, /dev/nvidia-uvm) are not all "
        "there. Type: `sudo nvidia-modprobe -c 0 -u`.");
  else if (f->closed_nodes > 0)
    add (list,
        "This user may not open /dev/nvidia0. Add the user to the group that `ls -l /dev/nvidia0` names: `sudo "
        "usermod -aG GROUP $USER`, and log in again.");
}

/* What cuInit says. */
static void
advise_init (const DiagnoseFacts *f, GPtrArray *list)
{
  static const struct {
    int result;
    const char *advice;
  } results[] = {
    { 34,
        "The libcuda.so.1 that is found is the toolkit's stub, not a driver. Remove its folder (.../stubs) from "
        "LD_LIBRARY_PATH." },
    { 46,
        "All GPUs are busy: in exclusive mode, with another process on them. `nvidia-smi` lists the processes; `sudo "
        "nvidia-smi -c 0` lets several share a GPU." },
    { 802,
        "The GPUs are not ready: a machine with NVSwitch needs its fabric manager. Type: `sudo systemctl start "
        "nvidia-fabricmanager`." },
    { 803, "The driver's library and its kernel module have different versions, as after an update. Reboot." },
    { 804,
        "The forward compatibility package (cuda-compat) does not work with this GPU: it is for data centre GPUs. "
        "Remove its folder (/usr/local/cuda/compat) from LD_LIBRARY_PATH, and install a newer driver." },
  };

  for (guint i = 0; i < G_N_ELEMENTS (results); i++)
    if (f->init == results[i].result) {
      add (list, "%s", results[i].advice);
      return;
    }
  if (f->nvml_init == 18)
    add (list, "%s", results[3].advice);
  else if ((f->init == 100 || !f->init) && f->hidden)
    add (list,
        "CUDA_VISIBLE_DEVICES=\"%s\" hides the GPUs. Type: `unset CUDA_VISIBLE_DEVICES`, or name one that "
        "`nvidia-smi -L` lists.",
        f->hidden);
  else if (f->init == 100 || !f->init)
    add (list, "The driver is there, but lists no GPU that CUDA can use. `nvidia-smi` shows their state.");
  else
    add (list,
        "The driver cannot be initialised (CUDA error %d). After suspend: `sudo rmmod nvidia_uvm && sudo modprobe "
        "nvidia_uvm`; else reboot, and look at `sudo dmesg | grep -i nvrm`.",
        f->init);
}

/* A driver for CUDA 12.0 runs machine code of every toolkit 12, of which 12.9 is the last. */
int
diagnose_newest_toolkit (int driver)
{
  return driver >= 13000 ? 13000 : driver >= 12000 ? 12090 : 0;
}

static void
advise_versions (const DiagnoseFacts *f, GPtrArray *list)
{
  int driver = f->driver / 1000, toolkit = f->toolkit / 1000;

  if (!f->toolkit || !f->driver)
    return;
  if (f->compat && !f->init)
    add (list,
        "The forward compatibility package (cuda-compat) is in use: CUDA %d.%d on an older kernel driver. It is "
        "for data centre GPUs only; GStreamer's decoders use the older driver.",
        driver, f->driver % 1000 / 10);
  if (driver < toolkit && f->jetson)
    add (list,
        "The driver is for CUDA %d.%d, this build needs %d.0. A Jetson's driver comes with JetPack: install a newer "
        "one (JetPack 7 has CUDA 13), or build with the toolkit of this one, in /usr/local/cuda.",
        driver, f->driver % 1000 / 10, toolkit);
  else if (driver < toolkit) {
    int runs = diagnose_newest_toolkit (f->driver);
    g_autofree char *build = runs ? g_strdup_printf ("or build with toolkit %d.%d, the newest that this driver runs; ",
                                        runs / 1000, runs % 1000 / 10)
                                  : g_strdup ("");

    add (list,
        "The driver is older than the toolkit: it is for CUDA %d.%d, this build needs %d.0. Install driver %s or "
        "newer; %sor, on data centre GPUs, install cuda-compat-%d-%d.",
        driver, f->driver % 1000 / 10, toolkit, toolkit >= 13 ? "580.65" : "525.60", build, toolkit,
        f->toolkit % 1000 / 10);
  } else if (f->driver < f->toolkit)
    add (list,
        "The driver (CUDA %d.%d) is older than the toolkit (%d.%d). That works where the build has machine code for "
        "this GPU: configure with `-Dcuda-archs=%d`.",
        driver, f->driver % 1000 / 10, toolkit, f->toolkit % 1000 / 10, f->n_devices ? f->device[0].capability : 75);
}

static void
advise_device (const DiagnoseDevice *device, int number, const char *archs, GPtrArray *list)
{
  CfGpuInfo info = { .major = device->capability / 10, .minor = device->capability % 10 };
  CfStatus status;

  g_strlcpy (info.name, device->name, sizeof info.name);
  if (device->capability && cf_gpu_check (&info, archs, &status) != CF_OK)
    add (list, "Device %d: %s.", number, status.message);
  if (device->mode == DIAGNOSE_PROHIBITED)
    add (list, "Device %d is in the mode \"prohibited\": no program may use it. Type: `sudo nvidia-smi -i %d -c 0`.",
        number, number);
  else if (device->mode != DIAGNOSE_SHARED)
    add (list,
        "Device %d is in exclusive mode: one process at a time. A second one filters on the CPU. To share it: `sudo "
        "nvidia-smi -i %d -c 0`, or NVIDIA's MPS.",
        number, number);
  if (device->watchdog)
    add (list,
        "Device %d drives a display: the driver ends a kernel that takes longer than some seconds. The filters' "
        "take milliseconds; for the widest windows on large frames choose another GPU by cuda-device-id.",
        number);
}

static void
advise_mig (const DiagnoseFacts *f, GPtrArray *list)
{
  if (f->mig && !f->mig_instances)
    add (list,
        "MIG is on, but there is no instance, so CUDA lists no GPU. Make one: `sudo nvidia-smi mig -cgi 0 -C`; or "
        "turn MIG off: `sudo nvidia-smi -mig 0`.");
  else if (f->mig)
    add (list,
        "MIG is on: a process uses one instance, which is cuda-device-id=0. Choose it by "
        "CUDA_VISIBLE_DEVICES=MIG-..., as `nvidia-smi -L` prints it; it decodes video only if its profile has a "
        "decoder.");
}

static void
advise_decoder (const DiagnoseFacts *f, GPtrArray *list)
{
  if (f->n_devices == 0 || f->nvh264dec)
    return;
  if (f->jetson)
    add (list,
        "A Jetson decodes with nvv4l2decoder (`sudo apt-get install nvidia-l4t-gstreamer`): nvv4l2decoder ! "
        "nvvidconv ! video/x-raw ! cudamedian ...");
  else if (!f->nvcodec)
    add (list,
        "GStreamer's plugin nvcodec is missing, so video is decoded on the CPU. Debian, Ubuntu: `sudo apt-get "
        "install gstreamer1.0-plugins-bad`.");
  else if (!f->has_decode_library && f->container)
    add (list,
        "The driver's decoder (libnvcuvid.so.1) is not in this container: NVIDIA_DRIVER_CAPABILITIES lacks "
        "\"video\"; " CONTAINER_GPU ".");
  else if (!f->has_decode_library)
    add (list,
        "The driver's decoder (libnvcuvid.so.1) is missing. Debian: `sudo apt-get install libnvcuvid1`; Ubuntu: the "
        "package libnvidia-decode-VERSION of the driver.");
  else
    add (list,
        "The plugin nvcodec is there, but GStreamer has no nvh264dec: this GPU or MIG profile has no decoder, or "
        "GStreamer remembers a time without a GPU. Type: `rm -r ~/.cache/gstreamer-1.0`.");
}

static void
advise_build (const DiagnoseFacts *f, GPtrArray *list)
{
  if (!f->toolkit && f->has_nvcc)
    add (list,
        "nvcc is installed, but this build has no CUDA kernels: it was configured without them or before nvcc was "
        "installed, or gstreamer-cuda-1.0 (libgstreamer-plugins-bad1.0-dev) is missing, or nvcc is older than "
        "%d.%d. Remove the build folder and build again; meson prints what is missing.",
        DIAGNOSE_TOOLKIT / 1000, DIAGNOSE_TOOLKIT % 1000 / 10);
}

char **
diagnose_advise (const DiagnoseFacts *f)
{
  GPtrArray *list = g_ptr_array_new ();

  if (f->wsl)
    advise_wsl (f, list);
  else if (f->jetson)
    advise_jetson (f, list);
  else if (f->n_devices == 0)
    advise_driver (f, list);
  if (!f->has_cuda && !f->wsl && list->len == 0)
    add (list, "The driver's library libcuda.so.1 is missing. %s",
        f->container ? "NVIDIA_DRIVER_CAPABILITIES lacks \"compute\"; " CONTAINER_GPU "."
                     : "Debian: `sudo apt-get install libcuda1`; Ubuntu: the package libnvidia-compute-VERSION of the "
                       "driver.");
  if (f->mig)
    advise_mig (f, list);
  if (f->has_cuda && f->n_devices == 0 && (list->len == 0 || (f->jetson && !f->closed_nvmap)))
    advise_init (f, list);
  advise_versions (f, list);
  for (int i = 0; i < f->n_devices; i++)
    advise_device (&f->device[i], i, f->archs, list);
  advise_decoder (f, list);
  advise_build (f, list);
  g_ptr_array_add (list, NULL);
  return (char **) g_ptr_array_free (list, FALSE);
}
