/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-gpu.c: NVML, loaded at run time: no header of NVIDIA's is needed. */

#include "bench-gpu.h"

#include <dlfcn.h>

/* As NVML's interface has them. */
typedef struct {
  unsigned gpu, memory; /* % of the time */
} Utilization;

typedef struct {
  unsigned long long total, free, used;
} Memory;

typedef struct {
  int (*init) (void);
  int (*count) (unsigned *n);
  int (*handle) (unsigned index, void **device);
  int (*utilization) (void *device, Utilization *utilization);
  int (*memory) (void *device, Memory *memory);
} Nvml;

static gboolean
load (Nvml *nvml)
{
  const struct {
    const char *name;
    gpointer *function;
  } symbols[] = {
    { "nvmlInit_v2", (gpointer *) &nvml->init },
    { "nvmlDeviceGetCount_v2", (gpointer *) &nvml->count },
    { "nvmlDeviceGetHandleByIndex_v2", (gpointer *) &nvml->handle },
    { "nvmlDeviceGetUtilizationRates", (gpointer *) &nvml->utilization },
    { "nvmlDeviceGetMemoryInfo", (gpointer *) &nvml->memory },
  };
  void *library = dlopen ("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);

  for (guint i = 0; library && i < G_N_ELEMENTS (symbols); i++)
    if (!(*symbols[i].function = dlsym (library, symbols[i].name)))
      return FALSE;
  return library && nvml->init () == 0;
}

int
bench_gpu_use (int max, double *percent, double *memory)
{
  static Nvml nvml;
  static int state; /* 1: loaded, -1: cannot be */
  unsigned n = 0;

  if (state == 0)
    state = load (&nvml) ? 1 : -1;
  if (state < 0 || nvml.count (&n))
    return 0;
  n = MIN (n, (unsigned) max);
  for (unsigned i = 0; i < n; i++) {
    Utilization u;
    Memory m;
    void *device;

    if (nvml.handle (i, &device) || nvml.utilization (device, &u) || nvml.memory (device, &m))
      return 0;
    percent[i] = u.gpu;
    memory[i] = (double) m.used / 1e6;
  }
  return (int) n;
}
