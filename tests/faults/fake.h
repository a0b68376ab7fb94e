/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * fake.h: a GPU that fails on demand, where there is none. Its memory is host memory, and its kernels are the CPU's
 * filters. Work is queued and done by the wait, so that a thread that touches an image too early gets wrong bytes; and
 * a wait does no more than it has to, or begins with what came last, so that streams that do not wait for each other
 * where they must make wrong bytes, too.
 *
 * device-fake.c has the library's CfDevice, cuda-fake.c stands in for gst/gstcfcuda.c. For two threads at most. */
#ifndef FAKE_H
#define FAKE_H

#include "core/device.h"

typedef enum {
  FAKE_COUNT, FAKE_PUSH, FAKE_INIT, FAKE_STREAM, FAKE_DEVICE_ALLOC, FAKE_PINNED_ALLOC, FAKE_FREE, FAKE_KERNELS,
  FAKE_EVENT, FAKE_UPLOAD, FAKE_LAUNCH, FAKE_DOWNLOAD, FAKE_WAIT, FAKE_REGIONS
} FakeKind;

#define FAKE_TIMEOUT -1 /* for a wait: the GPU hangs, until fake_settle */
#define FAKE_MAX_CALLS 1000

typedef struct {
  int calls;
  FakeKind kind[FAKE_MAX_CALLS];
  int after;      /* CUDA calls made by a thread that already knew the GPU is lost; must stay 0 */
  int misuse;     /* calls without a context, frees of memory in use, hung streams used by a thread that knew; 0 */
  int pushed;     /* contexts pushed and not popped */
  int contexts;   /* alive */
  int live;       /* pieces of memory and streams alive */
  bool fired, hung, unreachable; /* unreachable: a push or a free failed */
  FakeKind fired_kind;
} FakeReport;

extern FakeReport fake;

/* Whether there is CUDA memory, and one context for all elements. */
extern bool fake_cuda_memory;

/* Puts the stand-in in the place of the GPU: first of all. */
void fake_install (void);
/* Starts anew: call number `call` fails with CUDA error `code`, and for good
 * all behind it. -1: none. */
void fake_arm (int call, int code, bool for_good);
/* One call; not CF_OK where it is the one to fail. */
CfCode fake_call (FakeKind kind, CfStatus *status);
/* cf_gpu_lost, without letting the calling thread know. */
bool fake_is_lost (void);
/* A context is current from here on in this thread, or (-1) no longer. */
void fake_current (int more);
/* A GPU that hung goes on with what is queued. */
void fake_settle (void);
/* A neighbour queues the copy of bytes on a stream of its own. Never fails. */
void fake_copy (const void *queue, void *to, const void *from, size_t bytes);
/* A neighbour waits for that stream. */
void fake_finish (const void *queue);
const char *fake_kind_name (FakeKind kind);

#endif
