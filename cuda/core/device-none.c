/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * core/device-none.c: core/gpu/device.c and core/gpu/stream.c for a build without CUDA: there is no GPU. */
#include "filter.h"

#define NONE "this build has no CUDA kernels; install the CUDA toolkit (12.1 or newer) and build again"

bool
cf_gpu_built (void)
{
  return false;
}

int
cf_gpu_count (CfStatus *status)
{
  cf_fail (status, CF_NO_GPU, NONE);
  return 0;
}

CfCode
cf_gpu_info (int device, CfGpuInfo *info, CfStatus *status)
{
  (void) device;
  (void) info;
  return cf_fail (status, CF_NO_GPU, NONE);
}

int
cf_gpu_driver_version (void)
{
  return 0;
}

int
cf_gpu_runtime_version (void)
{
  return 0;
}

bool
cf_gpu_lost (void)
{
  return false;
}

uint64_t
cf_gpu_launches (void)
{
  return 0;
}

CfCode
cf_cuda_context_init (CfContext *context, CfStatus *status)
{
  (void) context;
  return cf_fail (status, CF_NO_GPU, NONE);
}

void *
cf_pinned_alloc (size_t size, CfStatus *status)
{
  (void) size;
  cf_fail (status, CF_NO_GPU, NONE);
  return NULL;
}

void
cf_pinned_free (void *memory)
{
  (void) memory;
}

void *
cf_device_alloc (size_t size, CfStatus *status)
{
  return cf_pinned_alloc (size, status);
}

void
cf_device_free (void *memory)
{
  (void) memory;
}

CfStream *
cf_stream_new (void *handle, CfStatus *status)
{
  (void) handle;
  cf_fail (status, CF_NO_GPU, NONE);
  return NULL;
}

void
cf_stream_free (CfStream *stream)
{
  (void) stream;
}

CfCode
cf_stream_upload (CfStream *stream, const CfImage *device, const CfImage *host, CfStatus *status)
{
  (void) stream;
  (void) device;
  (void) host;
  return cf_fail (status, CF_NO_GPU, NONE);
}

CfCode
cf_stream_download (CfStream *stream, const CfImage *host, const CfImage *device, CfStatus *status)
{
  return cf_stream_upload (stream, device, host, status);
}

CfCode
cf_stream_upload_rows (CfStream *stream, const CfImage *device, const CfImage *host, int begin, int end,
    CfStatus *status)
{
  (void) begin;
  (void) end;
  return cf_stream_upload (stream, device, host, status);
}

CfCode
cf_stream_download_rows (CfStream *stream, const CfImage *host, const CfImage *device, int begin, int end,
    CfStatus *status)
{
  (void) begin;
  (void) end;
  return cf_stream_download (stream, host, device, status);
}

CfCode
cf_stream_wait (CfStream *stream, uint64_t deadline_ns, CfStatus *status)
{
  (void) deadline_ns;
  return cf_stream_upload (stream, NULL, NULL, status);
}

CfCode
cf_stream_mark (CfStream *stream, int mark, CfStatus *status)
{
  (void) mark;
  return cf_stream_upload (stream, NULL, NULL, status);
}

uint64_t
cf_stream_elapsed_ns (CfStream *stream, int from, int to)
{
  (void) stream;
  (void) from;
  (void) to;
  return 0;
}

CfMarks *
cf_marks_new (CfStatus *status)
{
  cf_fail (status, CF_NO_GPU, NONE);
  return NULL;
}

void
cf_marks_free (CfMarks *marks)
{
  (void) marks;
}

CfCode
cf_stream_set_mark (CfStream *stream, CfMarks *marks, int mark, CfStatus *status)
{
  (void) marks;
  return cf_stream_mark (stream, mark, status);
}

CfCode
cf_stream_follow (CfStream *stream, const CfMarks *marks, int mark, CfStatus *status)
{
  (void) marks;
  return cf_stream_mark (stream, mark, status);
}

CfCode
cf_stream_set_end (CfStream *stream, CfMarks *marks, CfStatus *status)
{
  (void) marks;
  return cf_stream_mark (stream, 0, status);
}

CfCode
cf_marks_wait (CfMarks *marks, uint64_t deadline_ns, CfStatus *status)
{
  (void) marks;
  return cf_stream_wait (NULL, deadline_ns, status);
}

uint64_t
cf_marks_elapsed_ns (const CfMarks *marks, int from, int to)
{
  (void) marks;
  return cf_stream_elapsed_ns (NULL, from, to);
}

uint64_t
cf_gpu_allocations (void)
{
  return 0;
}
