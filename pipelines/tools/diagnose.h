/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * diagnose.h: what cf-diagnose finds on a machine, and what it advises. */
#ifndef PIPELINES_TOOLS_DIAGNOSE_H
#define PIPELINES_TOOLS_DIAGNOSE_H

#include <glib.h>

#define DIAGNOSE_TOOLKIT 12010 /* the oldest CUDA toolkit that the project builds with */
#define DIAGNOSE_DEVICES 16    /* GPUs, at most */

typedef enum { DIAGNOSE_SHARED, DIAGNOSE_EXCLUSIVE_THREAD, DIAGNOSE_PROHIBITED, DIAGNOSE_EXCLUSIVE } DiagnoseMode;

typedef struct {
  char name[96];
  int capability; /* 75 for 7.5 */
  int sms, bus;
  gsize memory;
  DiagnoseMode mode;
  gboolean watchdog;   /* a display is attached: long kernels are ended */
  gboolean integrated; /* its memory is the machine's */
} DiagnoseDevice;

/* Free the strings with diagnose_clear (). */
typedef struct {
  /* from files */
  gboolean container, wsl, dxg, wsl_library, nouveau;
  char *jetson;                    /* the name of the machine; NULL: it is no Jetson */
  int l4t;                         /* the release of Jetson Linux, 36 in JetPack 6; 0: unknown */
  gboolean closed_nvmap;           /* this user may not open the Jetson's /dev/nvmap */
  int on_bus;                      /* NVIDIA's display devices on the PCI bus */
  char *kernel_driver;             /* the first line of the driver's version; NULL: it is not loaded */
  gboolean control_node, uvm_node; /* /dev/nvidiactl, /dev/nvidia-uvm */
  int nodes, closed_nodes;         /* /dev/nvidia0 ...; those that this user may not open */
  /* from libcuda and libnvidia-ml */
  gboolean has_cuda, has_nvml, has_decode_library;
  gboolean compat;     /* libcuda is that of a cuda-compat package */
  int init, nvml_init; /* results of cuInit and nvmlInit */
  int driver;          /* 12020 for CUDA 12.2; 0: unknown */
  int n_devices;       /* of `device` */
  DiagnoseDevice device[DIAGNOSE_DEVICES];
  int mig, mig_instances; /* GPUs in MIG mode; their instances */
  /* from this build and GStreamer, by the caller */
  int toolkit;                 /* 12060: the build has kernels by CUDA 12.6; 0: it has none */
  const char *archs;           /* CfGpuState */
  gboolean has_nvcc;           /* nvcc is installed */
  gboolean nvcodec, nvh264dec; /* GStreamer's plugin, its element */
  const char *hidden;          /* CUDA_VISIBLE_DEVICES; NULL: not set */
} DiagnoseFacts;

/* Reads files below `root` ("": those of the machine), and asks the driver's libraries, without a CUDA context. */
void diagnose_read (DiagnoseFacts *facts, const char *root);
void diagnose_clear (DiagnoseFacts *facts);
/* Returns what is in the way of the GPU, or worth knowing, and what to do; one string each, NULL-terminated. Free it
 * with g_strfreev(). */
char **diagnose_advise (const DiagnoseFacts *facts);

/* Returns the newest CUDA toolkit that `driver` (see above) is known to run, 12090 for 12.9; 0: none that the project
 * builds with. */
int diagnose_newest_toolkit (int driver);

#endif
