/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * fake.h: a fake GPU that fails on demand. Its memory is host memory, and its kernels are the filters of the CPU. Work
 * is queued and executed by a wait, so that a thread that accesses an image too early finds wrong bytes. A wait
 * executes only the work that it has to wait for, or the newest work first, so that missing synchronisation between
 * streams causes wrong bytes, too.
 *
 * A GPU that hangs executes nothing until fake_settle. A call that may block there, which for a real one may be for
 * ever, is counted and fails. Time is virtual: a wait takes as long as fake_slow says, and ends at its deadline.
 *
 * device-fake.c implements the library's CfDevice, with the kernels of filters-fake.c; cuda-fake.c replaces
 * gst/gstcfcuda.c. For at most two threads. */
#ifndef FAKE_H
#define FAKE_H

#include "core/device.h"

#include <stdatomic.h>

typedef enum {
  FAKE_COUNT,
  FAKE_PUSH,
  FAKE_INIT,
  FAKE_STREAM,
  FAKE_DEVICE_ALLOC,
  FAKE_PINNED_ALLOC,
  FAKE_FREE,
  FAKE_KERNELS,
  FAKE_EVENT,
  FAKE_UPLOAD,
  FAKE_LAUNCH,
  FAKE_DOWNLOAD,
  FAKE_WAIT,
  FAKE_REGIONS
} FakeKind;

#define FAKE_TIMEOUT -1     /* an error for waits: the GPU hangs until fake_settle */
#define FAKE_MAX_CALLS 1000 /* of which the kind is known */
#define FAKE_MAX_DEVICES 4

typedef struct {
  int calls;
  FakeKind kind[FAKE_MAX_CALLS];
  int after;               /* CUDA calls made by a thread that already knew the GPU is lost; must stay 0 */
  int blocked;             /* calls that may block, on a GPU that hangs; must stay 0 */
  int misuse;              /* calls without a context, frees of memory in use, copies of other memory; must stay 0 */
  int pushed;              /* contexts that are pushed now */
  int contexts;            /* contexts that exist */
  int live;                /* memory blocks and streams that exist */
  bool fired, unreachable; /* unreachable: a push or a free has failed */
  atomic_bool hung;        /* waits of two threads may end so at once */
  FakeKind fired_kind;
} FakeReport;

extern FakeReport fake;

/* The last kernel that was launched, in messages; what GPUs the kernels are for. */
#define FAKE_KERNEL "fake_kernel"
#define FAKE_ARCHS "80,86,90"

/* The number of GPUs: 1, unless a program sets it; and what they say of themselves: at first, capability 9.0. */
extern int fake_devices;
extern CfGpuInfo fake_infos[FAKE_MAX_DEVICES];
/* The functions of the table for these. */
void fake_versions (int *driver, int *runtime);
CfCode fake_info (int device, CfGpuInfo *info, CfStatus *status);

/* Set by programs that use CUDA memory, and one context for all elements. */
extern bool fake_cuda_memory;
/* How often CUDA memory was mapped for the host while its GPU hung, which may block. */
extern _Atomic int fake_maps_blocked, fake_frees_blocked;

/* Installs the fake GPU. To be called before all other functions. */
void fake_install (void);
/* Resets the fake GPU and sets its failure: call number `call` (-1: none) fails with CUDA error `code`, and with
 * `for_good` all later calls, too. */
void fake_arm (int call, int code, bool for_good);
/* Sets another failure in the same run: the next call of that kind, and with `for_good` all later ones, too. */
void fake_fail_next (FakeKind kind, int code, bool for_good);
/* From now on, every plan's work on a frame takes that long. */
void fake_slow (uint64_t ns);
/* The next wait lasts until a flush or stop cuts it short. Then the GPU hangs until fake_settle, which is in doubt for
 * a moment, and no call that may block may be made meanwhile. */
void fake_wait_for_hurry (void);
/* Returns when that wait has begun. */
void fake_await_wait (void);
/* Counts a call. Returns an error if the call is to fail. */
CfCode fake_call (FakeKind kind, CfStatus *status);
/* Returns cf_gpu_lost, but does not record that the calling thread knows of the loss. */
bool fake_is_lost (void);
/* Records that a context of a device was pushed in this thread, and that it was popped. */
void fake_push (int number);
void fake_pop (void);
/* Executes all queued work. A GPU that hung goes on. */
void fake_settle (void);
/* Queues a copy of bytes on a stream of a neighbour. Never fails. */
void fake_copy (const void *queue, void *to, const void *from, size_t bytes);
/* Executes the work of a neighbour's stream. */
void fake_finish (const void *queue);
/* Returns a filter's functions on the fake GPU, which are the same for all. */
const CfOps *fake_ops_of (const CfFilter *filter);
/* Queues a frame of a plan of the CPU on a stream; `out` NULL: for its history alone. */
CfCode fake_launch (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status);
/* What queued work does: copies a rectangle of plane `p`, where beyond the border of `from` lies the nearest sample, of
 * the same field; filters an image of any size up to the plan's, as a part of a frame. */
void fake_copy_piece (const CfImage *to_image, const CfImage *from, bool interlaced, const CfPiece *piece, int p);
CfCode fake_filter (CfPlan *plan, const CfImage *from, const CfImage *to);
/* Returns the name of a kind of call. */
const char *fake_kind_name (FakeKind kind);

#endif
