/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cudart-fake.c: the functions of the CUDA runtime and of the driver that cuda/core/gpu/ calls. */
#include "fake-private.h"

#include <cuda_runtime_api.h>
#include <string.h>

/* ---- memory ------------------------------------------------------------------ */

cudaError_t
cudaMalloc (void **memory, size_t size)
{
  return fake_alloc (FAKE_DEVICE_ALLOC, memory, size);
}

cudaError_t
cudaHostAlloc (void **memory, size_t size, unsigned flags)
{
  (void) flags;
  return fake_alloc (FAKE_PINNED_ALLOC, memory, size);
}

cudaError_t
cudaFree (void *memory)
{
  return memory ? fake_release (memory) : fake_call (FAKE_INIT);
}

cudaError_t
cudaFreeHost (void *memory)
{
  return fake_release (memory);
}

/* ---- copies -------------------------------------------------------------------- */

static cudaError_t
queue_copy (const FakeCopy *copy, FakeKind kind, cudaStream_t stream)
{
  const FakeOp op = { .kind = kind, .stream = stream, .run = fake_run_copy, .uses = { copy->to, copy->from } };

  return fake_queue (op, fake_runtime.copy_ns, copy, sizeof *copy);
}

cudaError_t
cudaMemsetAsync (void *memory, int value, size_t size, cudaStream_t stream)
{
  return queue_copy (&(FakeCopy) { .to = memory, .width = size, .height = 1, .value = value }, FAKE_CLEAR, stream);
}

cudaError_t
cudaMemcpy2DAsync (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
    enum cudaMemcpyKind kind, cudaStream_t stream)
{
  const FakeKind as = kind == cudaMemcpyHostToDevice ? FAKE_UPLOAD
      : kind == cudaMemcpyDeviceToHost               ? FAKE_DOWNLOAD
                                                     : FAKE_LAUNCH;

  return queue_copy (&(FakeCopy) { to, from, to_pitch, from_pitch, width, height, 0 }, as, stream);
}

cudaError_t
cudaMemcpyAsync (void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream)
{
  return cudaMemcpy2DAsync (to, 0, from, 0, size, 1, kind, stream);
}

/* ---- streams and events ---------------------------------------------------------- */

cudaError_t
cudaStreamCreateWithFlags (cudaStream_t *stream, unsigned flags)
{
  const cudaError_t error = fake_alloc (FAKE_STREAM, (void **) stream, sizeof **stream);

  (void) flags;
  if (error == cudaSuccess)
    (*stream)->device = fake_number_now ();
  return error;
}

cudaError_t
cudaStreamDestroy (cudaStream_t stream)
{
  return fake_release (stream);
}

cudaError_t
cudaStreamQuery (cudaStream_t stream)
{
  return fake_query (stream, false);
}

static int
query_for_hang (void *stream)
{
  return fake_query (stream, true);
}

cudaError_t
cudaStreamWaitEvent (cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
  (void) flags;
  return fake_queue ((FakeOp) { FAKE_WAIT_EVENT, FAKE_EVENT, stream, .event = event }, 0, NULL, 0);
}

static int
write_word (cudaStream_t stream, unsigned long long address, uint32_t value, unsigned flags)
{
  (void) flags;
  if (!fake_runtime.words)
    return cudaErrorNotSupported;
  return fake_queue (
      (FakeOp) { FAKE_WORD, FAKE_SIGNAL, stream, .word = (uint32_t *) (uintptr_t) address, .value = value }, 0, NULL,
      0);
}

cudaError_t
cudaEventCreateWithFlags (cudaEvent_t *event, unsigned flags)
{
  const cudaError_t error = fake_alloc (FAKE_STREAM, (void **) event, sizeof **event);

  if (error == cudaSuccess)
    **event = (struct CUevent_st) { .signal = flags & cudaEventDisableTiming };
  return error;
}

cudaError_t
cudaEventCreate (cudaEvent_t *event)
{
  return cudaEventCreateWithFlags (event, 0);
}

cudaError_t
cudaEventDestroy (cudaEvent_t event)
{
  return fake_release (event);
}

cudaError_t
cudaEventRecord (cudaEvent_t event, cudaStream_t stream)
{
  return fake_record (event, stream);
}

cudaError_t
cudaEventQuery (cudaEvent_t event)
{
  return fake_look (event);
}

cudaError_t
cudaEventElapsedTime (float *ms, cudaEvent_t from, cudaEvent_t to)
{
  fake_ask ();
  *ms = (float) ((double) (int64_t) (to->at - from->at) / 1e6); /* events of two streams: it may be negative */
  return to->at <= fake_runtime.now ? cudaSuccess : cudaErrorNotReady;
}

/* ---- contexts and devices --------------------------------------------------- */

/* The device layer asks for the context when it finds that a GPU hangs, or knows. */
static int
get_context (void **context)
{
  fake.hung = true;
  *context = fake_context_now ();
  return 0;
}

static int
push_context (void *context)
{
  fake_push (*(int *) context);
  return 0;
}

static int
pop_context (void **context)
{
  (void) context;
  fake_pop ();
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
    { "cuStreamQuery", (void *) query_for_hang },
    { fake_runtime.words ? "cuStreamWriteValue32" : "", (void *) write_word },
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
  return fake_take_error ();
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
  *version = fake_runtime.driver;
  return cudaSuccess;
}

cudaError_t
cudaGetDeviceCount (int *n)
{
  const int error = fake_call (FAKE_COUNT);

  *n = error ? 0 : fake_devices;
  return error;
}

cudaError_t
cudaGetDevice (int *device)
{
  *device = fake_number_now ();
  return cudaSuccess;
}

cudaError_t
cudaDeviceGetAttribute (int *value, enum cudaDeviceAttr which, int device)
{
  switch (which) {
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = fake_runtime.shared;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = fake_infos[device].sms;
      break;
    case cudaDevAttrIntegrated:
      *value = fake_infos[device].integrated;
      break;
    case cudaDevAttrClockRate:
      *value = fake_infos[device].clock_khz;
      break;
    default:
      *value = (int) which;
  }
  return cudaSuccess;
}

cudaError_t
cudaGetDeviceProperties (struct cudaDeviceProp *properties, int device)
{
  const CfGpuInfo *info = &fake_infos[device];

  fake.blocked += (int) (cf_gpu_state ().hung >> device & 1);
  memset (properties, 0, sizeof *properties);
  strcpy (properties->name, info->name);
  properties->major = info->major;
  properties->minor = info->minor;
  properties->multiProcessorCount = info->sms;
  properties->totalGlobalMem = info->memory;
  properties->l2CacheSize = (int) info->l2_bytes;
  memcpy (properties->uuid.bytes, info->uuid, sizeof info->uuid);
  properties->pciDomainID = info->pci_domain;
  properties->pciBusID = info->pci_bus;
  properties->pciDeviceID = info->pci_slot;
  return cudaSuccess;
}
