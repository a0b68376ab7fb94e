/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * fake.c: the fake GPU: calls that fail, queued work, time, waits, and memory. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* a static initialiser for recursive mutexes */
#endif
#include "core/gpu/cuda.h"
#include "fake-private.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_OPS 256
#define MAX_BLOCKS 512

FakeReport fake;
FakeRuntime fake_runtime = { .driver = 13000 };
int fake_devices = 1;
CfGpuInfo fake_infos[FAKE_MAX_DEVICES] = { { .major = 9, .sms = 16 }, { .major = 9 }, { .major = 9 }, { .major = 9 } };
static const int numbers[FAKE_MAX_DEVICES] = { 0, 1, 2, 3 }; /* their addresses are contexts */
static unsigned stuck;                                       /* a bit for each device that hangs */
static int fail_kind = -1;
static FakeOp ops[MAX_OPS];
static int n_ops, fail_at = -1, fail_code, run = 1;
static bool fail_for_good, lost, in_doubt;
static bool given_up; /* what is executed now is work for which nothing waits any more */
static _Atomic enum { IMPATIENT, PATIENT, WAITING } patience;
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; /* guards all of the fake GPU */

static struct {
  uint8_t *memory;
  size_t size;
  bool pinned;
} blocks[MAX_BLOCKS];

/* The state of this thread: the devices of the contexts pushed; the runs in which it learned that the GPU is lost or
 * hangs; the last error; whether it waits, what cuts that short, and whether time stands still until then. */
static _Thread_local struct {
  int pushed, number[8], lost_run, hung_run, error;
  bool waits, patient;
  const int *hurry;
  int n_waits; /* FAKE_WAIT, in all runs */
} mine;

/* ---- calls ------------------------------------------------------------------ */

const char *
fake_kind_name (FakeKind kind)
{
  static const char *const names[] = { "count", "push", "init", "stream", "device-alloc", "pinned-alloc", "free",
    "kernels", "clear", "event", "signal", "upload", "launch", "download", "wait", "regions" };

  return names[kind];
}

static void
change_pushed (int more)
{
  pthread_mutex_lock (&lock);
  fake.pushed += more;
  pthread_mutex_unlock (&lock);
  mine.pushed += more;
}

void
fake_push (int number)
{
  if (mine.pushed < 8)
    mine.number[mine.pushed] = number;
  change_pushed (1);
}

void
fake_pop (void)
{
  change_pushed (-1);
}

/* Returns the device of the current context. */
int
fake_number_now (void)
{
  return mine.pushed > 0 && mine.pushed <= 8 ? mine.number[mine.pushed - 1] : 0;
}

void *
fake_context_now (void)
{
  return mine.pushed ? (void *) &numbers[fake_number_now ()] : NULL;
}

/* Returns the block that an address is in, -1: none. */
static int
block_of (const void *address)
{
  const uint8_t *data = address;

  for (int i = 0; i < MAX_BLOCKS; i++)
    if (blocks[i].memory && data >= blocks[i].memory && data < blocks[i].memory + blocks[i].size)
      return i;
  return -1;
}

/* Returns the device of a stream. A neighbour's stream, of which only the address counts, is on the current one. */
static int
device_of (const void *stream)
{
  return block_of (stream) >= 0 ? ((const struct CUstream_st *) stream)->device : fake_number_now ();
}

static bool
is_stuck (int device)
{
  return stuck >> device & 1;
}

/* Returns whether there is work on a device that does not end. */
static bool
hangs (int device)
{
  for (int i = 0; i < n_ops; i++)
    if (ops[i].end == FAKE_NEVER && device_of (ops[i].stream) == device)
      return true;
  return is_stuck (device);
}

/* Returns whether this call is the one that fails. Called with the lock held. */
static bool
is_to_fail (int n, FakeKind kind)
{
  if (fail_kind >= 0) {
    if (fail_kind != (int) kind)
      return false;
    fail_kind = fail_for_good ? fail_kind : -1;
    return true;
  }
  if (fail_at < 0 || n < fail_at || (n > fail_at && !fail_for_good))
    return false;
  if (fail_code == FAKE_TIMEOUT && kind != FAKE_WAIT) { /* another thread called first: the next call hangs */
    fail_at++;
    return false;
  }
  return true;
}

static void
forget_ops (void)
{
  for (int i = 0; i < n_ops; i++)
    free (ops[i].arguments);
  n_ops = 0;
}

static int
fail (FakeKind kind)
{
  if (!fake.fired)
    fake.fired_kind = kind;
  fake.fired = true;
  if (fail_code == FAKE_TIMEOUT) {
    stuck |= 1u << fake_number_now ();
    fake.hung = true;
    return cudaSuccess;
  }
  fake.unreachable |= kind == FAKE_PUSH || kind == FAKE_FREE;
  if (kind == FAKE_PUSH) /* by GStreamer, so the device layer does not see the error */
    return fail_code;
  if (cf_cuda_fail (fail_code, "", "", NULL) == CF_GPU_LOST) {
    lost = true;
    mine.lost_run = run;
    forget_ops (); /* queued work is never executed */
  }
  return mine.error = fail_code;
}

/* As fake_call, with the lock held. */
static int
call (FakeKind kind)
{
  const int n = fake.calls;

  if (lost && kind == FAKE_PUSH) /* GStreamer can still do that */
    return cudaSuccess;
  if (lost) {
    fake.after += mine.lost_run == run;
    mine.lost_run = run;
    return mine.error = fail_code;
  }
  fake.misuse += mine.pushed == 0 && kind != FAKE_COUNT && kind != FAKE_PUSH;
  fake.calls++;
  mine.n_waits += kind == FAKE_WAIT;
  if (n < FAKE_MAX_CALLS)
    fake.kind[n] = kind;
  /* A thread that was on its way here when another found that the GPU hangs could not know. */
  if (kind != FAKE_COUNT && kind != FAKE_PUSH && kind != FAKE_WAIT && kind != FAKE_REGIONS &&
      hangs (fake_number_now ()))
    fake.blocked += mine.hung_run == run || in_doubt;
  return is_to_fail (n, kind) ? fail (kind) : cudaSuccess;
}

int
fake_own_waits (void)
{
  return mine.n_waits;
}

int
fake_take_error (void)
{
  const int error = mine.error;

  mine.error = cudaSuccess;
  return error;
}

int
fake_call (FakeKind kind)
{
  int error;

  pthread_mutex_lock (&lock);
  fake.misuse += kind == FAKE_REGIONS && n_ops > 0; /* the caller has not waited for the stream */
  error = call (kind);
  pthread_mutex_unlock (&lock);
  return error;
}

bool
fake_is_lost (void)
{
  bool is;

  pthread_mutex_lock (&lock);
  is = lost;
  pthread_mutex_unlock (&lock);
  return is;
}

void
fake_know_loss (void)
{
  mine.lost_run = run;
}

void
fake_reset (int number, int code, bool for_good)
{
  for (int i = 0; i < MAX_BLOCKS; i++) {
    free (blocks[i].memory);
    blocks[i].memory = NULL;
  }
  forget_ops ();
  memset (&fake, 0, sizeof fake);
  fail_at = number;
  fail_code = code;
  fail_for_good = for_good;
  fail_kind = -1;
  lost = false;
  stuck = 0;
  in_doubt = false;
  fake_runtime.slow_ns = 0;
  run++;
}

void
fake_fail_next (FakeKind kind, int code, bool for_good)
{
  pthread_mutex_lock (&lock);
  fail_kind = (int) kind;
  fail_code = code;
  fail_for_good = for_good;
  pthread_mutex_unlock (&lock);
}

/* ---- queued work -------------------------------------------------------------- */

/* Returns the last queued record of the event before `end`, -1 where none is queued. */
static int
find_record (const struct CUevent_st *event, int end)
{
  for (int i = end - 1; i >= 0; i--)
    if (ops[i].what == FAKE_RECORD && ops[i].event == event)
      return i;
  return -1;
}

/* Returns the last queued work of a stream, -1: none. */
static int
find_last (const void *stream)
{
  int i = n_ops - 1;

  while (i >= 0 && ops[i].stream != stream)
    i--;
  return i;
}

/* An upload that was given up reads a frame that its owner may fill anew by now, as a real GPU does; nothing uses what
 * it reads. For tests/tsan.sh it is a function of its own. */
static void __attribute__ ((noinline))
upload_given_up (FakeOp *op)
{
  op->run (op->arguments);
  op->done = true;
}

/* Executes a stream's work up to entry `last`, and the work of other streams for which it has to wait. */
static void
work_up_to (const void *stream, int last)
{
  for (int i = 0; i <= last; i++) {
    FakeOp *op = &ops[i];
    int at;

    if (op->done || op->stream != stream)
      continue;
    op->done = true;
    switch (op->what) {
      case FAKE_RUN:
        if (op->kind == FAKE_UPLOAD && given_up)
          upload_given_up (op);
        else
          op->run (op->arguments);
        break;
      case FAKE_WAIT_EVENT:
        at = find_record (op->event, i);
        if (at >= 0)
          work_up_to (ops[at].stream, at);
        break;
      case FAKE_WORD:
        __atomic_store_n (op->word, op->value, __ATOMIC_RELEASE);
        break;
      default:
        break;
    }
  }
}

static void
forget_done (void)
{
  int n = 0;

  for (int i = 0; i < n_ops; i++)
    if (ops[i].done)
      free (ops[i].arguments);
    else
      ops[n++] = ops[i];
  n_ops = n;
}

void
fake_settle (void)
{
  pthread_mutex_lock (&lock);
  stuck = 0;
  in_doubt = false;
  for (int i = 0; i < n_ops; i++)
    work_up_to (ops[i].stream, i);
  forget_done ();
  pthread_mutex_unlock (&lock);
}

void
fake_finish (const void *stream)
{
  pthread_mutex_lock (&lock);
  work_up_to (stream, n_ops - 1);
  forget_done ();
  pthread_mutex_unlock (&lock);
}

void
fake_end (const void *stream)
{
  pthread_mutex_lock (&lock);
  for (int i = 0; i < n_ops; i++)
    if (ops[i].stream == stream)
      ops[i].end = fake_runtime.now;
  pthread_mutex_unlock (&lock);
  fake_pass (0);
}

/* Queues work that takes that long, and a copy of its arguments. Called with the lock held. */
static int
push (FakeOp op, uint64_t ns, const void *arguments, size_t size)
{
  const int last = find_last (op.stream), at = op.what == FAKE_WAIT_EVENT ? find_record (op.event, n_ops) : -1;

  if (n_ops == MAX_OPS)
    return mine.error = 999;
  op.end = fake_runtime.now;
  if (last >= 0 && ops[last].end > op.end)
    op.end = ops[last].end;
  if (at >= 0 && ops[at].end > op.end)
    op.end = ops[at].end;
  op.end = ns == FAKE_NEVER || op.end == FAKE_NEVER ? FAKE_NEVER : op.end + ns;
  if (size > 0)
    op.arguments = memcpy (malloc (size), arguments, size);
  ops[n_ops++] = op;
  return cudaSuccess;
}

/* The same for a call. */
int
fake_queue (FakeOp op, uint64_t ns, const void *arguments, size_t size)
{
  int error;

  pthread_mutex_lock (&lock);
  fake.misuse += device_of (op.stream) != fake_number_now ();
  /* Of host memory that is not pinned: on a real GPU a copy may block. */
  fake.misuse += op.kind == FAKE_UPLOAD && block_of (op.uses[1]) < 0;
  fake.misuse += op.kind == FAKE_DOWNLOAD && block_of (op.uses[0]) < 0;
  error = call (op.kind);
  if (error == cudaSuccess)
    error = push (op, ns, arguments, size);
  pthread_mutex_unlock (&lock);
  return error;
}

void
fake_launch (FakeKind kind, const void *stream, void (*function) (const void *arguments), const void *arguments,
    size_t size, const void *to, const void *from)
{
  uint64_t ns = fake_runtime.slow_ns;
  int block;

  pthread_mutex_lock (&lock);
  block = block_of (from);
  ns += block >= 0 && blocks[block].pinned ? fake_runtime.pinned_ns : 0;
  /* Only an integrated GPU reaches it, but for copies. */
  fake.misuse += kind == FAKE_LAUNCH && block >= 0 && blocks[block].pinned &&
      !fake_infos[fake_number_now ()].integrated;
  pthread_mutex_unlock (&lock);
  fake_queue ((FakeOp) { .kind = kind, .stream = stream, .run = function, .uses = { to, from } }, ns, arguments, size);
}

/* ---- time --------------------------------------------------------------------- */

/* The C library's functions, as the device layer calls them. */
int fake_clock_gettime (clockid_t clock, struct timespec *t);
int fake_nanosleep (const struct timespec *t, struct timespec *left);
int fake_sched_yield (void);

void
fake_pass (uint64_t ns)
{
  pthread_mutex_lock (&lock);
  fake_runtime.now += ns;
  if (fake_runtime.hurry && fake_runtime.now >= fake_runtime.hurry_at)
    *fake_runtime.hurry = 1;
  for (int i = 0; i < n_ops; i++)
    if (ops[i].what == FAKE_WORD && ops[i].end <= fake_runtime.now)
      work_up_to (ops[i].stream, i);
  forget_done ();
  pthread_mutex_unlock (&lock);
}

int
fake_clock_gettime (clockid_t clock, struct timespec *t)
{
  (void) clock;
  fake_pass (mine.patient ? 0 : 1000);
  t->tv_sec = (time_t) (fake_runtime.now / 1000000000u);
  t->tv_nsec = (long) (fake_runtime.now % 1000000000u);
  return 0;
}

int
fake_nanosleep (const struct timespec *t, struct timespec *left)
{
  (void) left;
  fake_runtime.naps++;
  fake_pass (mine.patient ? 0 : (uint64_t) t->tv_sec * 1000000000u + (uint64_t) t->tv_nsec);
  return mine.patient ? sched_yield () : 0;
}

int
fake_sched_yield (void)
{
  fake_runtime.yields++;
  return mine.patient ? sched_yield () : 0;
}

/* ---- waits --------------------------------------------------------------------- */

void
fake_wait_for_hurry (void)
{
  atomic_store (&patience, PATIENT);
}

void
fake_await_wait (void)
{
  while (atomic_load (&patience) != WAITING)
    sched_yield ();
}

void
fake_wait_begins (const int *hurry)
{
  mine.hurry = hurry;
  mine.waits = true;
}

void
fake_wait_ends (CfCode code)
{
  mine.waits = false;
  if (code == CF_TIMEOUT)
    mine.hung_run = run;
}

/* Where a wait is to be cut short, has time stand still until it is. From then on the GPU hangs. */
static void
be_patient (void)
{
  if (!mine.patient && (!mine.waits || atomic_load (&patience) != PATIENT))
    return;
  fake.misuse += !mine.hurry;
  mine.patient = mine.hurry && !__atomic_load_n (mine.hurry, __ATOMIC_ACQUIRE);
  atomic_store (&patience, mine.patient ? WAITING : IMPATIENT);
  if (mine.patient)
    return;
  stuck |= 1u << fake_number_now ();
  fake.hung = in_doubt = true;
}

/* Executes what a wait for entry `at` (-1: nothing) requires, and every second run first the newest work, as far as the
 * order of the streams permits. */
static void
work_for (int at)
{
  for (int i = n_ops - 1; run % 2 && i >= 0; i--)
    if (!ops[i].done && ops[i].end <= fake_runtime.now && !is_stuck (device_of (ops[i].stream)))
      work_up_to (ops[i].stream, i);
  if (at >= 0)
    work_up_to (ops[at].stream, at);
  forget_done ();
}

/* Looks whether an event is reached. The first look of a wait counts as a call. Called with the lock held. */
static int
look (struct CUevent_st *event)
{
  const bool was_stuck = is_stuck (fake_number_now ());
  int at, error = event->looked || was_stuck ? cudaSuccess : call (event->clears ? FAKE_CLEAR : FAKE_WAIT);

  event->looked = false;
  if (error == cudaSuccess && lost)
    error = fail_code;
  if (error != cudaSuccess)
    return error;
  be_patient ();
  at = find_record (event, n_ops);
  if (!mine.patient && !is_stuck (fake_number_now ()) && (at < 0 || ops[at].end <= fake_runtime.now)) {
    work_for (at);
    return cudaSuccess;
  }
  /* In every second run a GPU that hangs has done the work before. */
  if (!was_stuck && !in_doubt && is_stuck (fake_number_now ()) && run % 2 && at >= 0) {
    work_up_to (ops[at].stream, at - 1);
    forget_done ();
  }
  event->looked = true;
  return fake_runtime.query_error ? fake_runtime.query_error : cudaErrorNotReady;
}

int
fake_look (struct CUevent_st *event)
{
  int error;

  pthread_mutex_lock (&lock);
  fake_runtime.queries++;
  error = look (event);
  pthread_mutex_unlock (&lock);
  return error;
}

int
fake_record (struct CUevent_st *event, const void *stream)
{
  int last, error;

  pthread_mutex_lock (&lock);
  last = find_last (stream);
  event->clears = last >= 0 && ops[last].kind == FAKE_CLEAR;
  error = fake_queue ((FakeOp) { FAKE_RECORD, event->signal ? FAKE_SIGNAL : FAKE_EVENT, stream, .event = event }, 0,
      NULL, 0);
  if (error == cudaSuccess) {
    event->at = ops[n_ops - 1].end;
    event->looked = false;
  }
  pthread_mutex_unlock (&lock);
  return error;
}

void
fake_ask (void)
{
  pthread_mutex_lock (&lock);
  fake.after += lost && mine.lost_run == run;
  pthread_mutex_unlock (&lock);
}

int
fake_query (const void *stream, bool abandoned)
{
  int last, error = cudaSuccess;

  pthread_mutex_lock (&lock);
  fake_runtime.queries++;
  fake.misuse += device_of (stream) != fake_number_now ();
  last = find_last (stream);
  if (last >= 0 && ops[last].end > fake_runtime.now)
    error = fake_runtime.query_error ? fake_runtime.query_error : cudaErrorNotReady;
  else if (lost || is_stuck (fake_number_now ()) || (fake.fired && fail_for_good && fail_kind < 0))
    error = cudaErrorNotReady;
  given_up = abandoned;
  if (error == cudaSuccess)
    work_up_to (stream, last);
  given_up = false;
  forget_done ();
  pthread_mutex_unlock (&lock);
  return error;
}

/* ---- memory ------------------------------------------------------------------ */

int
fake_alloc (FakeKind kind, void **memory, size_t size)
{
  int i = 0, error;

  pthread_mutex_lock (&lock);
  error = call (kind);
  while (error == cudaSuccess && i < MAX_BLOCKS - 1 && blocks[i].memory)
    i++;
  if (error == cudaSuccess && blocks[i].memory)
    error = 2;
  if (error == cudaSuccess) {
    *memory = blocks[i].memory = aligned_alloc (4096, (size + 4095) & ~(size_t) 4095);
    blocks[i].size = size;
    blocks[i].pinned = kind == FAKE_PINNED_ALLOC;
    memset (*memory, 0x5a, size); /* also as a completion word: one of work that is done */
    fake.live++;
  }
  pthread_mutex_unlock (&lock);
  return error;
}

int
fake_release (void *memory)
{
  int i, error;

  pthread_mutex_lock (&lock);
  error = call (FAKE_FREE);
  i = error == cudaSuccess ? block_of (memory) : -1;
  fake.misuse += error == cudaSuccess && (i < 0 || blocks[i].memory != memory); /* not allocated, or freed before */
  if (i >= 0) {
    const uint8_t *begin = blocks[i].memory, *end = begin + blocks[i].size;

    for (int o = 0; o < n_ops; o++)
      for (int u = 0; u < 2; u++)
        fake.misuse += ops[o].uses[u] >= begin && ops[o].uses[u] < end; /* in use */
    free (blocks[i].memory);
    blocks[i].memory = NULL;
    fake.live--;
  }
  pthread_mutex_unlock (&lock);
  return error;
}

/* ---- copies -------------------------------------------------------------------- */

void
fake_run_copy (const void *arguments)
{
  const FakeCopy *c = arguments;

  for (size_t y = 0; y < c->height; y++)
    if (c->from)
      memcpy (c->to + y * c->to_pitch, c->from + y * c->from_pitch, c->width);
    else
      memset (c->to + y * c->to_pitch, c->value, c->width);
}

void
fake_copy (const void *stream, void *to, const void *from, size_t bytes)
{
  const FakeCopy copy = { .to = to, .from = from, .width = bytes, .height = 1 };
  const FakeOp op = { .stream = stream, .run = fake_run_copy, .uses = { to, from } };

  pthread_mutex_lock (&lock);
  if (!lost)
    push (op, 0, &copy, sizeof copy);
  pthread_mutex_unlock (&lock);
}
