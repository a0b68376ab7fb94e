/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * fake-driver.c: NVIDIA's libcuda and libnvidia-ml as far as cf-diagnose asks them, with answers of the environment:
 * FAKE_INIT=0 FAKE_DRIVER=12020 FAKE_DEVICES=1 FAKE_CAPABILITY=89 FAKE_OLD=-1 (the number of a device of capability
 * 6.1) FAKE_MODE=0 FAKE_WATCHDOG=0 FAKE_INTEGRATED=0, FAKE_NVML=0 FAKE_MIG=0 FAKE_INSTANCES=0. */

#include <stdio.h>
#include <stdlib.h>

#define API __attribute__ ((visibility ("default")))

static int
answer (const char *name, int otherwise)
{
  const char *text = getenv (name);

  return text ? atoi (text) : otherwise;
}

#ifdef FAKE_CUDA
API int cuInit (unsigned flags);
API int cuDriverGetVersion (int *version);
API int cuDeviceGetCount (int *count);
API int cuDeviceGet (int *device, int number);
API int cuDeviceGetName (char *name, int length, int device);
API int cuDeviceTotalMem_v2 (size_t *bytes, int device);
API int cuDeviceGetAttribute (int *value, int attribute, int device);

int
cuInit (unsigned flags)
{
  (void) flags;
  return answer ("FAKE_INIT", 0);
}

int
cuDriverGetVersion (int *version)
{
  *version = answer ("FAKE_DRIVER", 12020);
  return 0;
}

int
cuDeviceGetCount (int *count)
{
  *count = answer ("FAKE_DEVICES", 1);
  return 0;
}

int
cuDeviceGet (int *device, int number)
{
  *device = number;
  return 0;
}

int
cuDeviceGetName (char *name, int length, int device)
{
  snprintf (name, (size_t) length, "Fake GPU %d", device);
  return 0;
}

int
cuDeviceTotalMem_v2 (size_t *bytes, int device)
{
  (void) device;
  *bytes = (size_t) 8 << 30;
  return 0;
}

int
cuDeviceGetAttribute (int *value, int attribute, int device)
{
  int capability = device == answer ("FAKE_OLD", -1) ? 61 : answer ("FAKE_CAPABILITY", 89);

  switch (attribute) {
    case 17:
      *value = answer ("FAKE_WATCHDOG", 0);
      break;
    case 18:
      *value = answer ("FAKE_INTEGRATED", 0);
      break;
    case 20:
      *value = answer ("FAKE_MODE", 0);
      break;
    case 75:
      *value = capability / 10;
      break;
    case 76:
      *value = capability % 10;
      break;
    default:
      *value = 1;
  }
  return 0;
}
#else
API int nvmlInit_v2 (void);
API int nvmlDeviceGetCount_v2 (unsigned *count);
API int nvmlDeviceGetHandleByIndex_v2 (unsigned number, void **handle);
API int nvmlDeviceGetMigMode (void *handle, unsigned *now, unsigned *next);
API int nvmlDeviceGetMaxMigDeviceCount (void *handle, unsigned *count);
API int nvmlDeviceGetMigDeviceHandleByIndex (void *handle, unsigned number, void **instance);

int
nvmlInit_v2 (void)
{
  return answer ("FAKE_NVML", 0);
}

int
nvmlDeviceGetCount_v2 (unsigned *count)
{
  *count = 1;
  return 0;
}

int
nvmlDeviceGetHandleByIndex_v2 (unsigned number, void **handle)
{
  (void) number;
  *handle = NULL;
  return 0;
}

int
nvmlDeviceGetMigMode (void *handle, unsigned *now, unsigned *next)
{
  (void) handle;
  *now = *next = (unsigned) answer ("FAKE_MIG", 0);
  return 0;
}

int
nvmlDeviceGetMaxMigDeviceCount (void *handle, unsigned *count)
{
  (void) handle;
  *count = 7;
  return 0;
}

int
nvmlDeviceGetMigDeviceHandleByIndex (void *handle, unsigned number, void **instance)
{
  (void) handle;
  *instance = NULL;
  return number < (unsigned) answer ("FAKE_INSTANCES", 0) ? 0 : 6; /* not found */
}
#endif
