/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cudart-fake.c: the functions of the CUDA runtime and of the driver that cuda/core/gpu/ calls. */
#include "cudart-fake.h"

#include <cuda_runtime_api.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_STREAMS 16
#define MAX_WRITES 16

struct CUstream_st {
  bool used;
  int device;
  uint64_t end; /* when its work is done */
  struct {
    uint32_t *word, value;
    uint64_t at;
  } write[MAX_WRITES];
  int n_writes;
};

struct CUevent_st {
  uint64_t at; /* when it is reached */
};

Rt rt = { .driver = 13000, .n = 2, .major = 9 };
static struct CUstream_st streams[MAX_STREAMS];
static int contexts[8]; /* their addresses are contexts */

/* ---- time ----------------------------------------------------------------- */

void
rt_pass (uint64_t ns)
{
  rt.now += ns;
  if (rt.hurry && rt.now >= rt.hurry_at)
    *rt.hurry = 1;
  for (int i = 0; i < MAX_STREAMS; i++) {
    struct CUstream_st *s = &streams[i];
    int n = 0;

    for (int w = 0; w < s->n_writes; w++)
      if (s->write[w].at <= rt.now)
        __atomic_store_n (s->write[w].word, s->write[w].value, __ATOMIC_RELEASE);
      else
        s->write[n++] = s->write[w];
    s->n_writes = n;
  }
}

int
clock_gettime (clockid_t clock, struct timespec *t)
{
  (void) clock;
  rt_pass (1000);
  t->tv_sec = (time_t) (rt.now / 1000000000u);
  t->tv_nsec = (long) (rt.now % 1000000000u);
  return 0;
}

int
nanosleep (const struct timespec *t, struct timespec *left)
{
  (void) left;
  rt.naps++;
  rt_pass ((uint64_t) t->tv_sec * 1000000000u + (uint64_t) t->tv_nsec);
  return 0;
}

int
sched_yield (void)
{
  rt.yields++;
  return 0;
}

/* ---- streams --------------------------------------------------------------- */

/* Counts a call that may block. */
static void
call (void)
{
  rt.wrong += rt.device < 0;
  for (int i = 0; i < MAX_STREAMS; i++)
    if (streams[i].used && streams[i].device == rt.device && streams[i].end == RT_NEVER)
      rt.blocked++;
}

static cudaError_t
work (cudaStream_t s)
{
  call ();
  rt.wrong += s->device != rt.device;
  if (s->end < rt.now)
    s->end = rt.now;
  s->end = rt.work_ns == RT_NEVER || s->end == RT_NEVER ? RT_NEVER : s->end + rt.work_ns;
  return cudaSuccess;
}

void
rt_end (void *stream)
{
  struct CUstream_st *s = stream;

  s->end = rt.now;
  for (int w = 0; w < s->n_writes; w++)
    s->write[w].at = rt.now;
  rt_pass (0);
}

static int
query (void *stream)
{
  const struct CUstream_st *s = stream;

  rt.queries++;
  rt.wrong += s->device != rt.device || !s->used;
  if (s->end <= rt.now)
    return cudaSuccess;
  return rt.query_error ? rt.query_error : cudaErrorNotReady;
}

cudaError_t
cudaStreamQuery (cudaStream_t stream)
{
  return (cudaError_t) query (stream);
}

cudaError_t
cudaStreamCreateWithFlags (cudaStream_t *stream, unsigned flags)
{
  int i = 0;

  (void) flags;
  call ();
  while (i < MAX_STREAMS - 1 && streams[i].used)
    i++;
  streams[i] = (struct CUstream_st) { .used = true, .device = rt.device };
  *stream = &streams[i];
  rt.live++;
  return cudaSuccess;
}

cudaError_t
cudaStreamDestroy (cudaStream_t stream)
{
  call ();
  stream->used = false;
  rt.live--;
  return cudaSuccess;
}

cudaError_t
cudaStreamWaitEvent (cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
  (void) flags;
  call ();
  if (stream->end < event->at)
    stream->end = event->at;
  return cudaSuccess;
}

static int
write_word (cudaStream_t s, unsigned long long address, uint32_t value, unsigned flags)
{
  (void) flags;
  call ();
  if (rt.write_error)
    return rt.write_error;
  if (s->n_writes < MAX_WRITES) {
    s->write[s->n_writes].word = (uint32_t *) (uintptr_t) address;
    s->write[s->n_writes].value = value;
    s->write[s->n_writes++].at = s->end;
  }
  rt_pass (0);
  return 0;
}

/* ---- events ---------------------------------------------------------------- */

cudaError_t
cudaEventCreateWithFlags (cudaEvent_t *event, unsigned flags)
{
  (void) flags;
  call ();
  *event = calloc (1, sizeof **event);
  rt.live++;
  return cudaSuccess;
}

cudaError_t
cudaEventCreate (cudaEvent_t *event)
{
  return cudaEventCreateWithFlags (event, 0);
}

cudaError_t
cudaEventDestroy (cudaEvent_t event)
{
  call ();
  free (event);
  rt.live--;
  return cudaSuccess;
}

cudaError_t
cudaEventRecord (cudaEvent_t event, cudaStream_t stream)
{
  call ();
  event->at = stream->end > rt.now ? stream->end : rt.now;
  return cudaSuccess;
}

cudaError_t
cudaEventQuery (cudaEvent_t event)
{
  rt.queries++;
  return event->at <= rt.now ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t
cudaEventElapsedTime (float *ms, cudaEvent_t from, cudaEvent_t to)
{
  *ms = (float) ((double) (to->at - from->at) / 1e6);
  return to->at <= rt.now ? cudaSuccess : cudaErrorNotReady;
}

/* ---- contexts and devices --------------------------------------------------- */

static int
get_context (void **context)
{
  *context = rt.device < 0 ? NULL : &contexts[rt.device];
  return 0;
}

static int saved[4], n_saved;

static int
push_context (void *context)
{
  saved[n_saved++] = rt.device;
  rt.device = (int) ((int *) context - contexts);
  return 0;
}

static int
pop_context (void **context)
{
  get_context (context);
  rt.device = saved[--n_saved];
  return 0;
}

cudaError_t
cudaGetDriverEntryPointByVersion (const char *name, void **entry, unsigned version, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *result)
{
  const struct {
    const char *name;
    void *entry;
  } rows[] = {
    { "cuCtxGetCurrent", (void *) get_context },
    { "cuCtxPushCurrent", (void *) push_context },
    { "cuCtxPopCurrent", (void *) pop_context },
    { "cuStreamQuery", (void *) query },
    { "cuStreamWriteValue32", (void *) write_word },
  };

  (void) version;
  (void) flags;
  *result = cudaDriverEntryPointSymbolNotFound;
  for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (strcmp (rows[i].name, name) == 0) {
      *entry = rows[i].entry;
      *result = cudaDriverEntryPointSuccess;
    }
  return cudaSuccess;
}

cudaError_t
cudaGetLastError (void)
{
  return cudaSuccess;
}

const char *
cudaGetErrorString (cudaError_t error)
{
  (void) error;
  return "CUDA's own words";
}

const char *
cudaGetErrorName (cudaError_t error)
{
  (void) error;
  return "cudaErrorOfThisNumber";
}

cudaError_t
cudaDriverGetVersion (int *version)
{
  *version = rt.driver;
  return cudaSuccess;
}

cudaError_t
cudaGetDeviceCount (int *n)
{
  *n = rt.count_error ? 0 : rt.n;
  return (cudaError_t) rt.count_error;
}

cudaError_t
cudaGetDevice (int *device)
{
  *device = rt.device < 0 ? 0 : rt.device;
  return cudaSuccess;
}

cudaError_t
cudaDeviceGetAttribute (int *value, enum cudaDeviceAttr which, int device)
{
  (void) device;
  *value = which == cudaDevAttrMaxSharedMemoryPerBlockOptin ? rt.shared : (int) which;
  return cudaSuccess;
}

cudaError_t
cudaGetDeviceProperties (struct cudaDeviceProp *properties, int device)
{
  memset (properties, 0, sizeof *properties);
  strcpy (properties->name, "fake");
  properties->major = rt.major;
  properties->minor = rt.minor;
  memset (properties->uuid.bytes, 0xa0 + device, sizeof properties->uuid.bytes);
  properties->pciDomainID = 0x10000;
  properties->pciBusID = 0xc1 + device;
  properties->pciDeviceID = 2;
  return cudaSuccess;
}

/* ---- memory ------------------------------------------------------------------ */

cudaError_t
cudaMalloc (void **memory, size_t size)
{
  call ();
  if (rt.malloc_error)
    return (cudaError_t) rt.malloc_error;
  *memory = malloc (size);
  rt.live++;
  return cudaSuccess;
}

cudaError_t
cudaFree (void *memory)
{
  call ();
  rt.live -= memory != NULL;
  free (memory);
  return cudaSuccess;
}

cudaError_t
cudaHostAlloc (void **memory, size_t size, unsigned flags)
{
  (void) flags;
  return cudaMalloc (memory, size);
}

cudaError_t
cudaFreeHost (void *memory)
{
  return cudaFree (memory);
}

cudaError_t
cudaMemsetAsync (void *memory, int value, size_t size, cudaStream_t stream)
{
  memset (memory, value, size);
  return work (stream);
}

cudaError_t
cudaMemcpyAsync (void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream)
{
  (void) kind;
  memcpy (to, from, size);
  return work (stream);
}

cudaError_t
cudaMemcpy2DAsync (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
    enum cudaMemcpyKind kind, cudaStream_t stream)
{
  (void) kind;
  for (size_t y = 0; y < height; y++)
    memcpy ((char *) to + y * to_pitch, (const char *) from + y * from_pitch, width);
  return work (stream);
}
