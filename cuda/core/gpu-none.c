/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu-none.c: the functions of core/gpu/ in a build without CUDA, where there is no GPU. Each
 * question and each attempt to make something says so. Streams and events cannot be made, so nothing calls the
 * functions that take one. */
#include "device.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

CfCode
cf_device_usable (CfStatus *status)
{
  return cf_fail (status, CF_NO_GPU,
      "this build has no CUDA kernels; install the CUDA toolkit (12.1 or newer) and build again");
}

/* ---- devices ------------------------------------------------------------ */

int
cf_gpu_count (CfStatus *status)
{
  cf_device_usable (status);
  return 0;
}

CfCode
cf_gpu_info (int number, CfGpuInfo *info, CfStatus *status)
{
  memset (info, 0, sizeof *info);
  return cf_device_usable (status);
}

CfGpuState
cf_gpu_state (void)
{
  return (CfGpuState) { .archs = "" };
}

bool
cf_gpu_hangs (int number)
{
  return false;
}

bool
cf_gpu_may_hang (int number)
{
  return false;
}

bool
cf_gpu_lost (void)
{
  return false;
}

CfCode
cf_fail_lost (CfStatus *status)
{
  return cf_device_usable (status);
}

CfCode
cf_fail_hung (int number, CfStatus *status)
{
  return cf_device_usable (status);
}

void
cf_gpu_settle_doubt (int number)
{
}

CfCode
cf_device_context_init (CfContext *context, CfStatus *status)
{
  return cf_device_usable (status);
}

/* ---- memory ------------------------------------------------------------- */

void *
cf_gpu_alloc (CfMemory memory, size_t size, CfStatus *status)
{
  cf_device_usable (status);
  return NULL;
}

void
cf_gpu_free (CfMemory memory, void *block)
{
}

/* ---- streams and events ------------------------------------------------- */

CfStream *
cf_stream_new (void *handle, CfStatus *status)
{
  cf_device_usable (status);
  return NULL;
}

void
cf_stream_free (CfStream *stream)
{
}

CfCode
cf_stream_copy_planes (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, bool whole,
    CfStatus *status)
{
  return cf_device_usable (status);
}

CfCode
cf_stream_copy_pieces (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, bool interlaced,
    const CfPiece *piece, unsigned n, CfStatus *status)
{
  return cf_device_usable (status);
}

CfCode
cf_device_repack (CfStream *stream, const CfImage *from, const CfImage *alpha, const CfImage *to, CfStatus *status)
{
  return cf_device_usable (status);
}

CfCode
cf_device_blend (CfPlan *plan, CfStream *stream, const CfFrame *frame, CfStatus *status)
{
  return cf_device_usable (status);
}

CfCode
cf_stream_wait (CfStream *stream, uint64_t deadline_ns, const int *hurry, CfStatus *status)
{
  return cf_device_usable (status);
}

CfCode
cf_stream_record (CfStream *stream, CfEvents *events, unsigned i, CfStatus *status)
{
  return cf_device_usable (status);
}

CfCode
cf_stream_wait_event (CfStream *stream, const CfEvents *events, unsigned i, CfStatus *status)
{
  return cf_device_usable (status);
}

CfEvents *
cf_events_new (unsigned n, CfStatus *status)
{
  cf_device_usable (status);
  return NULL;
}

void
cf_events_free (CfEvents *events)
{
}

CfCode
cf_events_wait (CfEvents *events, uint64_t deadline_ns, const int *hurry, CfStatus *status)
{
  return cf_device_usable (status);
}

uint64_t
cf_events_elapsed_ns (const CfEvents *events, unsigned from, unsigned to)
{
  return 0;
}
