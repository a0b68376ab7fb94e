/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cudart-fake.h: a fake of the CUDA runtime with a clock of its own, on which work takes time and a stream can hang. It
 * replaces the C library's clock, too, so that no wait takes real time. One thread. */
#ifndef CUDART_FAKE_H
#define CUDART_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#define RT_NEVER UINT64_MAX

typedef struct {
  uint64_t now;     /* ns; each look at the clock takes 1 us */
  int device;       /* of the current context; -1: none */
  uint64_t work_ns; /* how long a copy takes; RT_NEVER: the stream hangs */
  int count_error;  /* results of functions: cudaGetDeviceCount, */
  int query_error;  /* the queries of streams that are not done, */
  int write_error;  /* the word that a stream writes, */
  int malloc_error;
  int *hurry; /* NULL, or what becomes 1 at that time */
  uint64_t hurry_at;
  int driver;       /* version; 0: none */
  int n;            /* devices */
  int major, minor; /* their compute capability */
  int shared;       /* bytes of shared memory that a block may opt in to */

  unsigned queries, naps, yields; /* of streams and events; of the thread */
  unsigned blocked;               /* calls that may block, on a device on which a stream hangs */
  unsigned wrong;                 /* calls without a context, or with another than the stream's; must stay 0 */
  unsigned live;                  /* blocks of memory, streams and events */
} Rt;

extern Rt rt;

/* Lets time pass. */
void rt_pass (uint64_t ns);
/* Ends the work of a stream (a cudaStream_t) that hangs. */
void rt_end (void *stream);

#endif
