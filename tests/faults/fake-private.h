/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * fake-private.h: what cudart-fake.c and kernels-fake.c need of the fake GPU (fake.c). Errors are the runtime's. */
#ifndef FAKE_PRIVATE_H
#define FAKE_PRIVATE_H

#include "fake.h"

struct CUstream_st {
  int device;
};

struct CUevent_st {
  uint64_t at;         /* when the GPU reaches it */
  bool signal, clears; /* the host waits for it; it is behind the clearing of new memory */
  bool looked;         /* a wait has looked, and goes on */
};

typedef struct {
  enum { FAKE_RUN, FAKE_RECORD, FAKE_WAIT_EVENT, FAKE_WORD } what;
  FakeKind kind;
  const void *stream;
  uint64_t end; /* when it is done at the earliest */
  bool done;
  void (*run) (const void *arguments); /* FAKE_RUN */
  void *arguments;
  const uint8_t *uses[2];
  const struct CUevent_st *event; /* FAKE_RECORD, FAKE_WAIT_EVENT */
  uint32_t *word, value;          /* FAKE_WORD */
} FakeOp;

typedef struct {
  uint8_t *to;
  const uint8_t *from; /* NULL: `value` */
  size_t to_pitch, from_pitch, width, height;
  int value;
} FakeCopy;

/* Returns the device of the current context; and that, NULL: there is none. */
int fake_number_now (void);
void *fake_context_now (void);
/* Returns the last error of this thread, and forgets it. */
int fake_take_error (void);
/* Counts a call where it must not be made, because the thread knows that the GPU is lost. */
void fake_ask (void);
/* Sets `memory` to a block with bytes of no meaning; frees one. */
int fake_alloc (FakeKind kind, void **memory, size_t size);
int fake_release (void *memory);
/* Queues work that takes that long, with a copy of its arguments. */
int fake_queue (FakeOp op, uint64_t ns, const void *arguments, size_t size);
/* Executes a FakeCopy. */
void fake_run_copy (const void *arguments);
int fake_record (struct CUevent_st *event, const void *stream);
/* Looks for a wait whether an event is reached. */
int fake_look (struct CUevent_st *event);
/* Returns whether all work of a stream is done. `abandoned`: nothing waits for it. */
int fake_query (const void *stream, bool abandoned);

#endif
