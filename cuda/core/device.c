/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/device.c: the GPU functions of cf.h, which call the device's table of functions. */
#include "device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#ifdef CF_HAVE_CUDA
static const CfDevice *device = &cf_device_cuda;
#else
static const CfDevice *device;
#endif

/* CUDA does not work after a fork: the child must not call it. */
static atomic_bool forked;
static pthread_once_t watch_forks = PTHREAD_ONCE_INIT;

static void
note_fork (void)
{
  atomic_store (&forked, true);
}

static void
begin_to_watch (void)
{
  pthread_atfork (NULL, NULL, note_fork);
}

void
cf_device_install (const CfDevice *stand_in)
{
  device = stand_in;
}

static CfCode
fail_without (CfStatus *status)
{
  return cf_fail (status, CF_NO_GPU,
      "this build has no CUDA kernels; install the CUDA toolkit (12.1 or newer) and build again");
}

static void *
none (CfStatus *status)
{
  fail_without (status);
  return NULL;
}

/* Sticky errors (illegal address, launch failure, hardware fault and similar): no CUDA call of the process succeeds
 * after one of them. */
CfCode
cf_cuda_code (int error)
{
  static const int sticky[] = { 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911 };

  for (size_t i = 0; i < sizeof sticky / sizeof sticky[0]; i++)
    if (sticky[i] == error)
      return CF_GPU_LOST;
  switch (error) {
    case 0:
      return CF_OK;
    case 2: /* cudaErrorMemoryAllocation */
      return CF_NO_MEMORY;
    case 35:  /* cudaErrorInsufficientDriver */
    case 100: /* cudaErrorNoDevice */
      return CF_NO_GPU;
    default:
      return CF_GPU_ERROR;
  }
}

/* ---- devices ------------------------------------------------------------ */

void
cf_gpu_versions (int *driver, int *runtime)
{
  *driver = *runtime = 0;
  if (device)
    device->versions (driver, runtime);
}

int
cf_gpu_count (CfStatus *status)
{
  if (!device) {
    fail_without (status);
    return 0;
  }
  if (atomic_load (&forked)) {
    cf_fail (status, CF_NO_GPU,
        "this process was forked from one that uses CUDA; only a newly started program can use the GPU");
    return 0;
  }
  pthread_once (&watch_forks, begin_to_watch);
  return device->count (status);
}

CfCode
cf_gpu_info (int number, CfGpuInfo *info, CfStatus *status)
{
  memset (info, 0, sizeof *info);
  return device ? device->info (number, info, status) : fail_without (status);
}

bool
cf_gpu_lost (void)
{
  return device && (atomic_load (&forked) || device->lost ());
}

bool
cf_gpu_forked (void)
{
  return atomic_load (&forked);
}

CfGpuCounters
cf_gpu_counters (void)
{
  return device ? device->counters () : (CfGpuCounters) { 0 };
}

CfCode
cf_device_context_init (CfContext *context, CfStatus *status)
{
  return device ? device->context_init (context, status) : fail_without (status);
}

const CfOps *
cf_device_ops (const CfFilter *filter)
{
  return device ? device->ops (filter) : NULL;
}

/* ---- memory ------------------------------------------------------------- */

void *
cf_pinned_alloc (size_t size, CfStatus *status)
{
  return device ? device->pinned_alloc (size, status) : none (status);
}

void
cf_pinned_free (void *memory)
{
  if (memory && device)
    device->pinned_free (memory);
}

void *
cf_device_alloc (size_t size, CfStatus *status)
{
  return device ? device->device_alloc (size, status) : none (status);
}

void
cf_device_free (void *memory)
{
  if (memory && device)
    device->device_free (memory);
}

/* ---- streams and events ------------------------------------------------- */

CfStream *
cf_stream_new (void *handle, CfStatus *status)
{
  return device ? device->stream_new (handle, status) : none (status);
}

void
cf_stream_free (CfStream *stream)
{
  if (stream && device)
    device->stream_free (stream);
}

CfCode
cf_stream_copy (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, CfStatus *status)
{
  return device ? device->stream_copy (stream, direction, to, from, true, status) : fail_without (status);
}

CfCode
cf_stream_copy_rows (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, int begin,
    int end, CfStatus *status)
{
  CfImage to_rows, from_rows;

  cf_image_rows (&to_rows, to, begin, end);
  cf_image_rows (&from_rows, from, begin, end);
  return device ? device->stream_copy (stream, direction, &to_rows, &from_rows, false, status)
      : fail_without (status);
}

CfCode
cf_stream_wait (CfStream *stream, uint64_t deadline_ns, CfStatus *status)
{
  return device ? device->stream_wait (stream, deadline_ns, status) : fail_without (status);
}

CfCode
cf_stream_record (CfStream *stream, CfEvents *events, unsigned i, CfStatus *status)
{
  return device ? device->stream_record (stream, events, i, status) : fail_without (status);
}

CfCode
cf_stream_wait_event (CfStream *stream, const CfEvents *events, unsigned i, CfStatus *status)
{
  return device ? device->stream_wait_event (stream, events, i, status) : fail_without (status);
}

CfCode
cf_stream_signal (CfStream *stream, CfEvents *events, CfStatus *status)
{
  return device ? device->stream_signal (stream, events, status) : fail_without (status);
}

CfEvents *
cf_events_new (unsigned n, CfStatus *status)
{
  return device ? device->events_new (n, status) : none (status);
}

void
cf_events_free (CfEvents *events)
{
  if (events && device)
    device->events_free (events);
}

CfCode
cf_events_wait (CfEvents *events, uint64_t deadline_ns, CfStatus *status)
{
  return device ? device->events_wait (events, deadline_ns, status) : fail_without (status);
}

uint64_t
cf_events_elapsed_ns (const CfEvents *events, unsigned from, unsigned to)
{
  return device ? device->events_elapsed_ns (events, from, to) : 0;
}
