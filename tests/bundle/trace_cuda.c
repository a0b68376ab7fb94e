/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * trace_cuda.c: counts the calls that a program makes to the CUDA driver over a number of steady
 * frames, and reports those that a steady stream must not make: calls that allocate, register,
 * load, create or free anything, copy synchronously or wait for the whole GPU. CUDA loads this
 * library if CUDA_INJECTION64_PATH names it. CUPTI reports the calls of all libraries, GStreamer's
 * included. Runtime calls end as driver calls; the library does not subscribe to the runtime's,
 * because the runtime then asks for the kernel's name at each launch, which it does not do
 * otherwise. Built where CUPTI is installed:
 *   gcc -std=gnu11 -shared -fPIC -o trace_cuda.so trace_cuda.c -lcupti
 *
 *   CF_TRACE_OUT       the table; without it the library does nothing
 *   CF_TRACE_FRAMES    frames to count. Without it the table covers the whole run and is written at its end
 *   CF_TRACE_SKIP      frames before them (200), in which trials end and memory is allocated
 *
 * Frames are counted by the completion word that the GPU writes after each frame that is waited
 * for (cuda/core/gpu/stream.c). With CF_TRACE_FRAMES the table is written when the last frame has
 * ended; there is none if fewer frames came. */
#include <cupti.h>
#include <dlfcn.h>
#include <fnmatch.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLS 2048 /* more than the driver has */

typedef struct {
  _Atomic (const char *) name;
  atomic_ulong n, waits; /* waits: calls that wait because of their arguments */
} Call;

static Call calls[CALLS];
static atomic_ulong words;
static atomic_bool counting;
static unsigned long first, last; /* counted in words; last 0: to the end of the run */
static const char *path;
static CUresult (*get_attribute) (void *value, CUpointer_attribute attribute, CUdeviceptr pointer);
static _Thread_local bool asking; /* this library's own call, not the program's */

/* Every other call is forbidden, so that an unexpected call is noticed. Waits for one stream or
 * event are allowed: a frame must be finished before it leaves. */
static const char *const allowed[] = {
  "cuLaunchKernel",
  "cuLaunchKernel_ptsz",
  "cuLaunchKernelEx*",
  "cuLaunchCooperativeKernel*",
  "cuMemcpy*Async*",
  "cuMemset*Async*",
  "cuEventRecord*",
  "cuEventQuery*",
  "cuEventElapsedTime*",
  "cuEventSynchronize*",
  "cuStreamWaitEvent*",
  "cuStreamQuery*",
  "cuStreamSynchronize*",
  "cuStreamWriteValue32*",
  "cuCtxPushCurrent*",
  "cuCtxPopCurrent*",
  "cuCtxGetCurrent",
  "cuCtxSetCurrent",
  "cuCtxGetDevice*",
};

static bool
is_allowed (const char *name)
{
  for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
    if (fnmatch (allowed[i], name, 0) == 0)
      return true;
  return false;
}

/* ---- calls that wait because of their arguments ----------------------- */

/* Returns whether memory is unknown to CUDA. An asynchronous copy of such memory has read or
 * written it, or a staging copy, when the call returns. */
static bool
is_pageable (const void *memory)
{
  unsigned type;
  bool known;

  asking = true;
  known = get_attribute (&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr) memory) == CUDA_SUCCESS;
  asking = false;
  return !known;
}

static bool
is_side_pageable (CUmemorytype type, const void *host, CUdeviceptr device)
{
  return (type == CU_MEMORYTYPE_HOST && is_pageable (host)) ||
      (type == CU_MEMORYTYPE_UNIFIED && is_pageable ((const void *) device));
}

static bool
is_copy_pageable (const CUDA_MEMCPY2D *copy)
{
  return is_side_pageable (copy->srcMemoryType, copy->srcHost, copy->srcDevice) ||
      is_side_pageable (copy->dstMemoryType, copy->dstHost, copy->dstDevice);
}

static bool
is_default (CUstream stream)
{
  return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

static bool
waits (CUpti_CallbackId which, const void *params)
{
  switch (which) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz:
      return is_pageable (((const cuMemcpyHtoDAsync_v2_params *) params)->srcHost);
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2_ptsz:
      return is_pageable (((const cuMemcpyDtoHAsync_v2_params *) params)->dstHost);
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync_ptsz:
      return is_pageable ((const void *) ((const cuMemcpyAsync_params *) params)->src) ||
          is_pageable ((const void *) ((const cuMemcpyAsync_params *) params)->dst);
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DAsync_v2_ptsz:
      return is_copy_pageable (((const cuMemcpy2DAsync_v2_params *) params)->pCopy);
    case CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz:
      return is_default (((const cuStreamSynchronize_params *) params)->hStream);
    default:
      return false;
  }
}

/* ---- the table ----------------------------------------------------------- */

static unsigned long
count (unsigned long *forbidden)
{
  unsigned long n = 0;

  for (int i = 0; i < CALLS; i++)
    if (calls[i].n > 0) {
      n += calls[i].n;
      *forbidden += is_allowed (calls[i].name) ? calls[i].waits : calls[i].n;
    }
  return n;
}

static void
write_calls (FILE *file, bool good)
{
  for (int i = 0; i < CALLS; i++) {
    const char *name = calls[i].name;
    unsigned long n = calls[i].n, bad = calls[i].waits;

    if (n == 0 || (is_allowed (name) && bad == 0) != good)
      continue;
    fprintf (file, "%-9s %-34s %8lu", good ? "allowed" : "forbidden", name, n);
    if (last)
      fprintf (file, " %9.3f", (double) n / (double) (last - first));
    if (bad)
      fprintf (file, "  %lu of them %s", bad,
          fnmatch ("*Synchronize*", name, 0) == 0 ? "for the default stream" : "with memory that is not pinned");
    fputc ('\n', file);
  }
}

static void
write_table (void)
{
  unsigned long forbidden = 0, n = count (&forbidden);
  FILE *file = fopen (path, "w");

  if (!file) {
    perror (path);
    return;
  }
  fprintf (file, "frames %lu\ncalls %lu\nforbidden %lu\n", last ? last - first : words, n, forbidden);
  write_calls (file, true);
  write_calls (file, false); /* forbidden calls come last */
  if (fclose (file) != 0)
    perror (path);
}

static void
at_exit (void)
{
  if (!last)
    write_table ();
  else if (words <= last)
    fprintf (stderr, "trace: the run ended after %lu frames, before the last frame to be counted\n", words);
}

/* ---- calls --------------------------------------------------------------- */

/* Counts a frame; the window holds the frames first..last - 1. */
static void
count_frame (void)
{
  unsigned long n = atomic_fetch_add (&words, 1);

  if (!last)
    return;
  if (n == first)
    counting = true;
  if (n == last) {
    counting = false;
    write_table ();
  }
}

static void CUPTIAPI
on_call (void *user, CUpti_CallbackDomain domain, CUpti_CallbackId which, const void *info)
{
  const CUpti_CallbackData *data = info;
  Call *call = &calls[which < CALLS ? which : CALLS - 1];

  (void) user;
  if (asking || domain != CUPTI_CB_DOMAIN_DRIVER_API || data->callbackSite != CUPTI_API_ENTER)
    return;
  if (fnmatch ("cuStreamWriteValue32*", data->functionName, 0) == 0)
    count_frame ();
  if (!counting)
    return;
  call->name = data->functionName;
  call->n++;
  if (waits (which, data->functionParams))
    call->waits++;
}

static unsigned long
number (const char *name, unsigned long otherwise)
{
  const char *text = getenv (name);

  return text && *text ? strtoul (text, NULL, 10) : otherwise;
}

static bool
subscribe (void)
{
  CUpti_SubscriberHandle subscriber;
  CUptiResult result = cuptiSubscribe (&subscriber, on_call, NULL);
  const char *text = "?";

  if (result == CUPTI_SUCCESS)
    result = cuptiEnableDomain (1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
  if (result == CUPTI_SUCCESS)
    return true;
  cuptiGetResultString (result, &text);
  fprintf (stderr, "trace: CUPTI cannot report the calls: %s\n", text);
  return false;
}

/* CUDA calls this in the library that CUDA_INJECTION64_PATH names; 0 lets CUDA unload it. */
int InitializeInjection (void);

int
InitializeInjection (void)
{
  unsigned long frames = number ("CF_TRACE_FRAMES", 0);
  void *cuda = dlopen ("libcuda.so.1", RTLD_NOW);

  path = getenv ("CF_TRACE_OUT");
  *(void **) &get_attribute = cuda ? dlsym (cuda, "cuPointerGetAttribute") : NULL;
  if (!path || !*path || !get_attribute)
    return 0;
  first = number ("CF_TRACE_SKIP", 200);
  last = frames ? first + frames : 0;
  counting = !last;
  if (!subscribe ())
    return 0;
  atexit (at_exit);
  return 1;
}
