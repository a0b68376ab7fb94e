/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * fake.h: a fake GPU that fails on demand, behind the functions of the CUDA runtime: the device layer (core/gpu/) is
 * the real one. Its memory is host memory, and its kernels are the filters of the CPU. Work is queued and executed by a
 * wait, so that a thread that accesses an image too early finds wrong bytes. A wait executes only the work that it has
 * to wait for, or the newest work first, so that missing synchronisation between streams causes wrong bytes, too.
 *
 * A GPU that hangs executes nothing until fake_settle. A call that may block there, which for a real one may be for
 * ever, is counted. The device layer's clock is the fake's: no wait takes real time.
 *
 * fake.c is the fake GPU, cudart-fake.c has the functions of the runtime, kernels-fake.c what stands for the kernels;
 * hooks.c looks into the device layer, and cuda-fake.c replaces gst/gstcfcuda.c. For at most two threads. */
#ifndef FAKE_H
#define FAKE_H

#include "core/device.h"

#include <stdatomic.h>

typedef enum {
  FAKE_COUNT,
  FAKE_PUSH,
  FAKE_INIT,
  FAKE_STREAM, /* or an event */
  FAKE_DEVICE_ALLOC,
  FAKE_PINNED_ALLOC,
  FAKE_FREE,
  FAKE_KERNELS,
  FAKE_CLEAR,
  FAKE_EVENT,
  FAKE_SIGNAL, /* the event or word that the host waits for */
  FAKE_UPLOAD,
  FAKE_LAUNCH,
  FAKE_DOWNLOAD,
  FAKE_WAIT,
  FAKE_REGIONS
} FakeKind;

#define FAKE_TIMEOUT -1     /* an error for waits: the GPU hangs until fake_settle */
#define FAKE_MAX_CALLS 2000 /* of which the kind is known */
#define FAKE_MAX_DEVICES 4

/* What has happened in this run. */
typedef struct {
  int calls;
  FakeKind kind[FAKE_MAX_CALLS];
  int after;    /* CUDA calls made by a thread that already knew the GPU is lost; must stay 0 */
  int blocked;  /* calls that may block, by a thread that knew the GPU hangs; must stay 0 */
  int misuse;   /* calls without a context or with another one's stream, frees of memory in use, copies of other memory;
                * must stay 0 */
  int pushed;   /* contexts that are pushed now */
  int contexts; /* contexts that exist */
  int live;     /* memory blocks, streams and events that exist */
  bool fired, unreachable; /* unreachable: a push or a free has failed */
  atomic_bool hung;        /* the device layer has a stream that hangs or hung */
  FakeKind fired_kind;
} FakeReport;

extern FakeReport fake;

#define FAKE_NEVER UINT64_MAX

/* What the GPU, its driver and its clock are; fake_arm changes nothing of it but slow_ns. */
typedef struct {
  _Atomic uint64_t now; /* ns; each look at the clock takes 1 us */
  uint64_t copy_ns;     /* how long a copy takes; FAKE_NEVER: the stream hangs */
  uint64_t slow_ns;     /* how long a kernel takes, */
  uint64_t pinned_ns;   /* and how much longer in pinned memory */
  int query_error;      /* the result of queries of work that is not done; 0: that it is not */
  int driver;           /* version; 0: none */
  int shared;           /* bytes of shared memory that a block may opt in to */
  bool words;           /* the driver can have a stream write a word of memory; else the device layer uses events */
  int *hurry;           /* NULL, or what becomes 1 at that time */
  uint64_t hurry_at;
  atomic_uint queries, naps, yields; /* of streams and events; of threads that wait */
} FakeRuntime;

extern FakeRuntime fake_runtime;

/* The last kernel that was launched, in messages; what GPUs the kernels are for. */
#define FAKE_KERNEL "fake_kernel"
#define FAKE_ARCHS "80,86,90"

/* The number of GPUs: 1, unless a program sets it; and what they say of themselves: at first, capability 9.0. */
extern int fake_devices;
extern CfGpuInfo fake_infos[FAKE_MAX_DEVICES];

/* A bit, 1 << number, for each GPU that runs none of the kernels, whatever FAKE_ARCHS says. */
extern unsigned fake_unfit;

/* Set by programs that use CUDA memory, and one context for all elements. */
extern bool fake_cuda_memory;
/* How often CUDA memory was mapped for the host while its GPU hung, which may block. */
extern _Atomic int fake_maps_blocked, fake_frees_blocked;

/* Resets the fake GPU and sets its failure: call number `call` (-1: none) fails with CUDA error `code`, and with
 * `for_good` all later calls, too. */
void fake_arm (int call, int code, bool for_good);
/* Sets another failure in the same run: the next call of that kind, and with `for_good` all later ones, too. */
void fake_fail_next (FakeKind kind, int code, bool for_good);
/* The next wait lasts until a flush or stop cuts it short. Then the GPU hangs until fake_settle, which is in doubt for
 * a moment, and no call that may block may be made meanwhile. */
void fake_wait_for_hurry (void);
/* Returns when that wait has begun. */
void fake_await_wait (void);
/* Lets time pass. */
void fake_pass (uint64_t ns);
/* Returns how often the calling thread has waited for the GPU. */
int fake_own_waits (void);
/* Counts a call. Returns the CUDA error with which it fails, 0: it does not. */
int fake_call (FakeKind kind);
/* Returns cf_gpu_lost, but does not record that the calling thread knows of the loss. */
bool fake_is_lost (void);
/* Records that a context of a device was pushed in this thread, and that it was popped. */
void fake_push (int number);
void fake_pop (void);
/* Executes all queued work. A GPU that hung goes on. */
void fake_settle (void);
/* Ends the work of a stream (a cudaStream_t) that hangs. */
void fake_end (const void *stream);
/* Queues a copy of bytes on a stream of a neighbour. Never fails. */
void fake_copy (const void *stream, void *to, const void *from, size_t bytes);
/* Executes the work of a neighbour's stream. */
void fake_finish (const void *stream);
/* Launches a kernel: queues a call of `run` with a copy of `arguments`, which reads the memory `from` and writes `to`.
 * cf_cuda_launched says whether that went well. `kind`: FAKE_LAUNCH, or the direction in which it copies. */
void fake_launch (FakeKind kind, const void *stream, void (*run) (const void *arguments), const void *arguments,
    size_t size, const void *to, const void *from);
/* Returns the name of a kind of call. */
const char *fake_kind_name (FakeKind kind);

/* For hooks.c: the fake's part of fake_arm; this thread knows that the GPU is lost; it begins a wait, which
 * `hurry` cuts short, and ends it. */
void fake_reset (int call, int code, bool for_good);
void fake_know_loss (void);
void fake_wait_begins (const int *hurry);
void fake_wait_ends (CfCode code);

#endif
