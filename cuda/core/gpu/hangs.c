/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/hangs.c: GPUs that hang, on which no call is made that may block. */
#include "cuda.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* ---- the current context ------------------------------------------------ */

/* Driver calls that the runtime API lacks (it knows only primary contexts). Their errors have the runtime's numbers. */
typedef int (*GetContext) (void **context);
typedef int (*PushContext) (void *context);
typedef int (*QueryStream) (void *stream);

/* Returns the number of the current context's device, -1 where there is none, and the context. */
static int
current (void **context)
{
  GetContext get = (GetContext) cf_cuda_entry ("cuCtxGetCurrent");
  int number = -1;

  *context = NULL;
  if (get)
    (void) get (context); /* none is current: NULL */
  if (cudaGetDevice (&number) != cudaSuccess) {
    (void) cudaGetLastError ();
    return -1;
  }
  return number;
}

/* Returns whether it is known that the work of a stream has ended. The thread may have no context, or another. Queries
 * the driver, because the runtime would create a context. */
static bool
ended (void *context, void *stream)
{
  PushContext push = (PushContext) cf_cuda_entry ("cuCtxPushCurrent");
  GetContext pop = (GetContext) cf_cuda_entry ("cuCtxPopCurrent");
  QueryStream query = (QueryStream) cf_cuda_entry ("cuStreamQuery");
  int error;

  if (cf_gpu_lost () || !context || !push || !pop || !query || push (context) != 0)
    return false;
  error = query (stream);
  (void) pop (&context);
  if (error != cudaErrorNotReady)
    cf_cuda_check (error, "looking whether the GPU still hangs", NULL);
  return error == cudaSuccess;
}

/* ---- what hangs --------------------------------------------------------- */

/* Streams whose work missed its deadline, or may miss it. A stream in the list is not freed, so it can be queried. A
 * full list never becomes empty: more streams may hang than it can watch. */
#define MAX_HUNG 1000

static pthread_mutex_t hung_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint n_hung;
static struct {
  int number; /* of the device */
  void *context, *stream;
  const char *kernel; /* cf_cuda_hangs */
  uint64_t deadline;  /* ns; the GPU hangs from then on, and until then that is not known */
} hung[MAX_HUNG];
static atomic_uint_fast64_t abandoned;

typedef struct {
  uint64_t hung, doubt; /* CfGpuState */
} Devices;

uint64_t
cf_cuda_now_ns (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

void
cf_cuda_hangs (void *stream, const char *kernel, uint64_t left_ns)
{
  const uint64_t deadline = left_ns ? cf_cuda_now_ns () + left_ns : 0;
  void *context;
  int number = current (&context);
  unsigned n, i = 0;

  pthread_mutex_lock (&hung_lock);
  n = atomic_load (&n_hung);
  while (i < n && (hung[i].stream != stream || hung[i].context != context))
    i++;
  if (i == n && n < MAX_HUNG) {
    hung[n].number = number;
    hung[n].context = context;
    hung[n].stream = stream;
    hung[n].kernel = kernel;
    hung[n].deadline = deadline;
    atomic_store (&n_hung, n + 1);
  } else if (i < n && deadline < hung[i].deadline) {
    hung[i].deadline = deadline;
  }
  pthread_mutex_unlock (&hung_lock);
}

/* Returns a device's bit; all bits for a number without one. */
static uint64_t
bit_of (int number)
{
  return number < 0 || number > 63 ? UINT64_MAX : UINT64_C (1) << number;
}

static Devices
hung_devices (void)
{
  Devices devices = { 0, 0 };
  uint64_t now;
  unsigned n;

  if (atomic_load (&n_hung) == 0 || cf_cuda_forked ())
    return devices;
  now = cf_cuda_now_ns ();
  pthread_mutex_lock (&hung_lock);
  n = atomic_load (&n_hung);
  if (n == MAX_HUNG)
    devices.hung = UINT64_MAX;
  for (unsigned i = n; i-- > 0;) {
    const uint64_t bit = bit_of (hung[i].number);

    if ((devices.hung & bit) == bit) /* one stream of a device that has not ended is enough to know */
      continue;
    if (ended (hung[i].context, hung[i].stream))
      hung[i] = hung[--n];
    else if (now < hung[i].deadline)
      devices.doubt |= bit;
    else
      devices.hung |= bit;
  }
  atomic_store (&n_hung, n);
  pthread_mutex_unlock (&hung_lock);
  return devices;
}

static bool
has (uint64_t devices, int number)
{
  return number < 0 ? devices != 0 : devices >> (number < 63 ? number : 63) & 1;
}

bool
cf_gpu_hangs (int number)
{
  return has (hung_devices ().hung, number);
}

bool
cf_gpu_may_hang (int number)
{
  const Devices devices = hung_devices ();

  return has (devices.hung | devices.doubt, number);
}

/* Returns which of the two the current context's GPU is in. */
static Devices
state_now (void)
{
  Devices devices = atomic_load (&n_hung) ? hung_devices () : (Devices) { 0, 0 };
  uint64_t bit;
  void *context;

  if (!devices.hung && !devices.doubt)
    return devices;
  bit = bit_of (current (&context));
  return (Devices) { devices.hung & bit, devices.doubt & bit };
}

/* The work ends, or its deadline comes. */
void
cf_gpu_settle_doubt (int number)
{
  while (atomic_load (&n_hung) && hung_devices ().doubt & bit_of (number))
    nanosleep (&(struct timespec) { .tv_nsec = 1000000 }, NULL);
}

CfCode
cf_device_usable (CfStatus *status)
{
  void *context;

  if (state_now ().hung)
    return cf_fail_hung (current (&context), status);
  return cf_gpu_lost () ? cf_fail_lost (status) : CF_OK;
}

CfCode
cf_cuda_may_allocate (CfStatus *status)
{
  void *context;

  if (atomic_load (&n_hung))
    cf_gpu_settle_doubt (current (&context));
  return cf_device_usable (status);
}

CfCode
cf_fail_hung (int number, CfStatus *status)
{
  const char *kernel = NULL;

  pthread_mutex_lock (&hung_lock);
  for (unsigned i = 0; !kernel && i < atomic_load (&n_hung); i++)
    if (hung[i].number == number)
      kernel = hung[i].kernel;
  pthread_mutex_unlock (&hung_lock);
  return cf_fail (status, CF_TIMEOUT, "GPU %d hangs: an earlier frame of this process was not finished in time%s%s",
      number, kernel ? "; last kernel launched: " : "", kernel ? kernel : "");
}

bool
cf_cuda_may_free (const void *object)
{
  Devices state;

  if (!object)
    return false;
  state = state_now ();
  if (!state.hung && !state.doubt)
    return true;
  atomic_fetch_add (&abandoned, 1);
  return false;
}

void
cf_cuda_state_of_hangs (CfGpuState *state)
{
  const Devices devices = hung_devices ();

  state->hung = devices.hung;
  state->doubt = devices.doubt;
  state->abandoned = atomic_load (&abandoned);
}
