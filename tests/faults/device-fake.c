/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * device-fake.c: a CfDevice with host memory and faults. After the loss of the GPU it omits the same calls as
 * cuda/core/gpu/device.c. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* a static initialiser for recursive mutexes */
#endif
#include "fake-private.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPS 256
#define DOUBT_NS 50000000 /* between the end of a wait that is cut short and its deadline; real time */

struct CfStream {
  const void *queue; /* the same for all CfStreams of one borrowed handle */
};

struct CfEvents {
  int unused;
};

typedef enum { COPY, BYTES, FILTER, BLEND, REPACK, HISTORY, RECORD, WAIT_EVENT } OpKind;

typedef struct {
  OpKind kind;
  const void *queue;  /* the stream's */
  bool done, uploads; /* uploads: COPY that reads an image of the host */
  CfPlan *plan;
  CfImage to, from, filtered, alpha; /* filtered, area: BLEND; alpha: REPACK */
  CfArea *area;
  CfPiece piece[CF_PIECES]; /* COPY */
  unsigned n_pieces;
  bool interlaced;
  size_t bytes; /* BYTES: copied between the first planes of `from` and `to` */
  const CfEvents *events;
  unsigned event; /* RECORD, WAIT_EVENT: index in `events` */
} Op;

FakeReport fake;
int fake_devices = 1;
static const int numbers[FAKE_MAX_DEVICES] = { 0, 1, 2, 3 }; /* their addresses are contexts */
static unsigned stuck;                                       /* a bit for each device that hangs */
static uint64_t frame_ns;
static int fail_kind = -1;
static Op ops[MAX_OPS];
static const CfImage no_image;
static int n_ops, fail_at = -1, fail_code, run;
static bool fail_for_good, lost, in_doubt;
static CfStatus fault; /* the last one; if the GPU is lost, that by which it was lost */
static bool given_up;  /* what is executed now is work for which nothing waits any more */
static _Atomic enum { IMPATIENT, PATIENT, WAITING } patience;
static _Atomic uint64_t launches;
pthread_mutex_t fake_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* The state of this thread: the devices of the contexts pushed, and the runs in which it learned that the GPU is lost
 * or hangs. */
static _Thread_local struct {
  int pushed, number[8], lost_run, hung_run;
} mine;

void
fake_arm (int call, int code, bool for_good)
{
  fake_forget_blocks ();
  memset (&fake, 0, sizeof fake);
  fail_at = call;
  fail_code = code;
  fail_for_good = for_good;
  fail_kind = -1;
  n_ops = 0;
  lost = false;
  stuck = 0;
  in_doubt = false;
  frame_ns = 0;
  (void) cf_gpu_state (); /* what hung in the run before has ended */
  run++;
}

void
fake_fail_next (FakeKind kind, int code, bool for_good)
{
  pthread_mutex_lock (&fake_lock);
  fail_kind = (int) kind;
  fail_code = code;
  fail_for_good = for_good;
  pthread_mutex_unlock (&fake_lock);
}

void
fake_slow (uint64_t ns)
{
  frame_ns = ns;
}

static void
change_pushed (int more)
{
  pthread_mutex_lock (&fake_lock);
  fake.pushed += more;
  pthread_mutex_unlock (&fake_lock);
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
static int
number_now (void)
{
  return mine.pushed > 0 && mine.pushed <= 8 ? mine.number[mine.pushed - 1] : 0;
}

static int
current (void **context)
{
  int number = number_now ();

  *context = (void *) &numbers[number];
  return number;
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

/* Called with the lock held. */
static CfCode
hang (CfStatus *status)
{
  stuck |= 1u << number_now ();
  fake.hung = true;
  mine.hung_run = run;
  return cf_fail (status, CF_TIMEOUT, "the GPU did not finish a frame; last kernel launched: " FAKE_KERNEL);
}

/* Counts a call, as fake_call. Called with the lock held. */
static CfCode
call (FakeKind kind, CfStatus *status)
{
  int n = fake.calls;
  CfCode code;

  if (lost) {
    fake.after += mine.lost_run == run;
    mine.lost_run = run;
    return cf_fail (status, CF_GPU_LOST, "called although the GPU is lost");
  }
  fake.misuse += mine.pushed == 0 && kind != FAKE_COUNT && kind != FAKE_PUSH;
  fake.calls++;
  if (n < FAKE_MAX_CALLS)
    fake.kind[n] = kind;
  if (stuck >> number_now () & 1 && kind != FAKE_COUNT && kind != FAKE_PUSH && kind != FAKE_REGIONS) {
    /* A thread that was on its way here when another found that the GPU hangs could not know. */
    fake.blocked += mine.hung_run == run || in_doubt;
    mine.hung_run = run;
    return cf_fail (status, CF_TIMEOUT, "blocks");
  }
  if (!is_to_fail (n, kind))
    return CF_OK;
  if (!fake.fired)
    fake.fired_kind = kind;
  fake.fired = true;
  if (fail_code == FAKE_TIMEOUT)
    return hang (status);
  fake.unreachable |= kind == FAKE_PUSH || kind == FAKE_FREE;
  code = cf_cuda_fail (fail_code, fake_kind_name (kind), "an error", &fault);
  if (status)
    *status = fault;
  if (kind != FAKE_PUSH) /* GStreamer pushes contexts, so the device does not see the error */
    lost = code == CF_GPU_LOST;
  if (lost) {
    mine.lost_run = run;
    n_ops = 0; /* queued work is never executed */
  }
  return code;
}

CfCode
fake_call (FakeKind kind, CfStatus *status)
{
  CfCode code;

  pthread_mutex_lock (&fake_lock);
  fake.misuse += kind == FAKE_REGIONS && n_ops > 0; /* the caller has not waited for the stream */
  code = call (kind, status);
  pthread_mutex_unlock (&fake_lock);
  return code;
}

/* ---- queued work --------------------------------------------------------- */

/* Returns the last queued record of the event before `end`, -1 where none is queued. */
static int
find_record (const CfEvents *events, unsigned event, int end)
{
  for (int i = end - 1; i >= 0; i--)
    if (ops[i].kind == RECORD && ops[i].events == events && ops[i].event == event)
      return i;
  return -1;
}

static void
copy (const Op *op)
{
  for (unsigned i = 0; i < op->n_pieces; i++)
    for (int p = 0; p < cf_format_info (op->from.format)->n_planes; p++)
      fake_copy_piece (&op->to, &op->from, op->interlaced, &op->piece[i], p);
}

/* An upload that was given up reads a frame that its owner may fill anew by now, as a real GPU does; nothing uses what
 * it reads. For tests/tsan.sh it is a function of its own. */
static void __attribute__ ((noinline))
upload_given_up (const Op *op)
{
  copy (op);
}

/* Executes a stream's work up to entry `last`, and the work of other streams for which it has to wait. */
static void
work_up_to (const void *queue, int last)
{
  for (int i = 0; i <= last; i++) {
    Op *op = &ops[i];
    CfCode code = CF_OK;
    int at;

    if (op->done || op->queue != queue)
      continue;
    op->done = true;
    switch (op->kind) {
      case COPY:
        if (op->uploads && given_up)
          upload_given_up (op);
        else
          copy (op);
        break;
      case BYTES:
        memcpy (op->to.plane[0].data, op->from.plane[0].data, op->bytes);
        break;
      case FILTER:
        code = fake_filter (op->plan, &op->from, &op->to);
        break;
      case BLEND:
        cf_area_blend (op->area, &op->from, &op->filtered, &op->to);
        cf_area_unref (op->area);
        break;
      case REPACK:
        cf_repack (&op->from, op->alpha.format ? &op->alpha : NULL, &op->to);
        break;
      case HISTORY:
        code = cf_plan_enqueue (op->plan, NULL, &(CfFrame) { .in = &op->from }, NULL);
        break;
      case WAIT_EVENT:
        at = find_record (op->events, op->event, i);
        if (at >= 0)
          work_up_to (ops[at].queue, at);
        break;
      default:
        break;
    }
    fake.misuse += code != CF_OK;
  }
}

static void
forget_done (void)
{
  int n = 0;

  for (int i = 0; i < n_ops; i++)
    if (!ops[i].done)
      ops[n++] = ops[i];
  n_ops = n;
}

void
fake_settle (void)
{
  pthread_mutex_lock (&fake_lock);
  stuck = 0;
  in_doubt = false;
  for (int i = 0; i < n_ops; i++)
    work_up_to (ops[i].queue, i);
  n_ops = 0;
  pthread_mutex_unlock (&fake_lock);
}

/* Returns whether what is known of a stream's work is that it has ended. */
static bool
ended (void *context, void *stream)
{
  bool is;

  pthread_mutex_lock (&fake_lock);
  is = !lost && !(stuck >> *(const int *) context & 1) && !(fake.fired && fail_for_good && fail_kind < 0);
  if (is) {
    given_up = true;
    work_up_to (stream, n_ops - 1);
    given_up = false;
    forget_done ();
  }
  pthread_mutex_unlock (&fake_lock);
  return is;
}

void
fake_copy (const void *queue, void *to, const void *from, size_t bytes)
{
  Op op = { .kind = BYTES, .queue = queue, .bytes = bytes };

  op.to.plane[0].data = to;
  op.from.plane[0].data = (void *) from;
  pthread_mutex_lock (&fake_lock);
  if (!lost && n_ops < MAX_OPS)
    ops[n_ops++] = op;
  pthread_mutex_unlock (&fake_lock);
}

void
fake_finish (const void *queue)
{
  pthread_mutex_lock (&fake_lock);
  work_up_to (queue, n_ops - 1);
  forget_done ();
  pthread_mutex_unlock (&fake_lock);
}

static CfCode
queue (FakeKind kind, Op op, CfStatus *status)
{
  CfCode code;

  pthread_mutex_lock (&fake_lock);
  if (op.kind == COPY && kind != FAKE_LAUNCH) /* of host memory that is not pinned: on a real GPU it may block */
    fake.misuse += !fake_is_allocated (kind == FAKE_UPLOAD ? op.from.plane[0].data : op.to.plane[0].data);
  code = call (kind, status);
  if (code == CF_OK && n_ops == MAX_OPS)
    code = cf_fail (status, CF_GPU_ERROR, "too much is queued");
  else if (code == CF_OK)
    ops[n_ops++] = op;
  pthread_mutex_unlock (&fake_lock);
  return code;
}

bool
fake_in_use (const uint8_t *memory, size_t size)
{
  for (int i = 0; i < n_ops; i++) {
    const uint8_t *to = ops[i].to.plane[0].data, *from = ops[i].from.plane[0].data;

    if ((to >= memory && to < memory + size) || (from >= memory && from < memory + size))
      return true;
  }
  return false;
}

CfCode
fake_launch (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  Op op = { .kind = out ? FILTER : HISTORY, .queue = stream->queue, .plan = plan, .from = *in };

  if (out)
    op.to = *out;
  launches++;
  return queue (FAKE_LAUNCH, op, status);
}

/* ---- devices and memory -------------------------------------------------- */

bool
fake_is_lost (void)
{
  bool is;

  pthread_mutex_lock (&fake_lock);
  is = lost;
  pthread_mutex_unlock (&fake_lock);
  return is;
}

static const char *
loss (void)
{
  if (fake_is_lost ())
    mine.lost_run = run;
  return mine.lost_run == run ? fault.message : NULL;
}

static void
counters (CfGpuState *state)
{
  state->launches = launches;
}

static int
count (CfStatus *status)
{
  CfStatus failure = { 0 };

  if (fake_call (FAKE_COUNT, &failure) == CF_OK)
    return fake_devices;
  if (failure.cuda == 100) /* as cuda/core/gpu/device.c: there is none, which is no error */
    failure.cuda = 0;
  if (status)
    *status = failure;
  return 0;
}

static CfCode
context_init (CfContext *context, CfStatus *status)
{
  context->device = number_now ();
  return lost ? cf_fail_lost (status) : cf_gpu_count (status) ? fake_call (FAKE_INIT, status) : status->code;
}

/* ---- streams and events -------------------------------------------------- */

static CfStream *
stream_new (void *handle, CfStatus *status)
{
  CfStream *stream = fake_alloc (FAKE_STREAM, sizeof (CfStream), status);

  if (stream)
    stream->queue = handle ? handle : stream;
  return stream;
}

static void
stream_free (CfStream *stream)
{
  fake_release (stream);
}

static CfCode
copy_pieces (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, bool interlaced,
    const CfPiece *piece, unsigned n, CfStatus *status)
{
  static const FakeKind
      kinds[] = { [CF_UPLOAD] = FAKE_UPLOAD, [CF_DOWNLOAD] = FAKE_DOWNLOAD, [CF_ON_DEVICE] = FAKE_LAUNCH };
  Op op = { COPY, stream->queue, .uploads = direction == CF_UPLOAD, .to = *to, .from = *from, .n_pieces = n };

  op.interlaced = interlaced;
  memcpy (op.piece, piece, n * sizeof *piece);
  return queue (kinds[direction], op, status);
}

static CfCode
stream_copy (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, bool whole,
    CfStatus *status)
{
  (void) whole;
  return copy_pieces (stream, direction, to, from, false, &(CfPiece) { { 0, 0, from->width, from->height } }, 1,
      status);
}

static CfCode
blend (CfStream *stream, const CfArea *area, const void *map, const CfImage *in, const CfImage *filtered,
    const CfImage *out, CfStatus *status)
{
  CfArea *held = cf_area_ref ((CfArea *) area);
  CfCode code;

  (void) map, launches++;
  code = queue (FAKE_LAUNCH,
      (Op) { .kind = BLEND, .queue = stream->queue, .to = *out, .from = *in, .filtered = *filtered, .area = held },
      status);
  if (code != CF_OK)
    cf_area_unref (held);
  return code;
}

static CfCode
repack (CfStream *stream, const CfImage *from, const CfImage *alpha, const CfImage *to, CfStatus *status)
{
  launches++;
  return queue (FAKE_LAUNCH,
      (Op) { .kind = REPACK, .queue = stream->queue, .to = *to, .from = *from, .alpha = alpha ? *alpha : no_image },
      status);
}

/* Returns the code for a wait that ended with `code`: CF_TIMEOUT, as core/gpu/stream.c does after any error except a
 * lost GPU, because it is not known how far the GPU has come. Called with no lock held. */
static CfCode
end_wait (CfCode code, const void *queue, CfStatus *status)
{
  if (code == CF_OK || code == CF_GPU_LOST)
    return code;
  fake.hung = true;
  mine.hung_run = run;
  cf_device_hangs ((void *) queue, FAKE_KERNEL, 0);
  return status->code = CF_TIMEOUT;
}

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

/* Lasts until the wait is cut short, where it is to be. Returns CF_OK where it is not. Called with no lock held. */
static CfCode
be_cut_short (const void *queue, const int *hurry, CfStatus *status)
{
  if (atomic_load (&patience) != PATIENT)
    return CF_OK;
  atomic_store (&patience, WAITING);
  while (hurry && !__atomic_load_n (hurry, __ATOMIC_ACQUIRE))
    sched_yield ();
  pthread_mutex_lock (&fake_lock);
  atomic_store (&patience, IMPATIENT);
  fake.misuse += !hurry;
  stuck |= 1u << number_now ();
  fake.hung = in_doubt = true;
  pthread_mutex_unlock (&fake_lock);
  cf_device_hangs ((void *) queue, FAKE_KERNEL, DOUBT_NS);
  return cf_fail (status, CF_CANCELLED, "a wait was cut short");
}

/* Counts a wait and lets its time pass: that of all frames which are queued. `looks`: the wait makes no call that may
 * block. Called with the lock held. */
static CfCode
pass_time (bool looks, uint64_t deadline_ns, CfStatus *status)
{
  CfCode code = looks && stuck >> number_now () & 1 ? hang (status) : call (FAKE_WAIT, status);
  uint64_t ns = 0;

  for (int i = 0; i < n_ops; i++)
    if (ops[i].kind == FILTER && !ops[i].done)
      ns += frame_ns;
  return code == CF_OK && ns > deadline_ns ? hang (status) : code;
}

static CfCode
stream_wait (CfStream *stream, uint64_t deadline_ns, const int *hurry, CfStatus *status)
{
  CfCode code = be_cut_short (stream->queue, hurry, status);

  if (code != CF_OK)
    return code;
  pthread_mutex_lock (&fake_lock);
  code = pass_time (false, deadline_ns, status);
  /* In every second run a GPU that hangs has done the work before. */
  if (code == CF_OK || (code == CF_TIMEOUT && run % 2))
    work_up_to (stream->queue, n_ops - 1);
  forget_done ();
  pthread_mutex_unlock (&fake_lock);
  return end_wait (code, stream->queue, status);
}

static CfEvents *
events_new (unsigned n, CfStatus *status)
{
  (void) n;
  return fake_alloc (FAKE_STREAM, sizeof (CfEvents), status);
}

static void
events_free (CfEvents *events)
{
  fake_release (events);
}

static CfCode
stream_record (CfStream *stream, CfEvents *events, unsigned i, CfStatus *status)
{
  return queue (FAKE_EVENT, (Op) { .kind = RECORD, .queue = stream->queue, .events = events, .event = i }, status);
}

static CfCode
stream_wait_event (CfStream *stream, const CfEvents *events, unsigned i, CfStatus *status)
{
  return queue (FAKE_EVENT, (Op) { .kind = WAIT_EVENT, .queue = stream->queue, .events = events, .event = i }, status);
}

/* The number of the event that stands for the completion word. */
#define COMPLETION 1000

static CfCode
stream_signal (CfStream *stream, CfEvents *events, CfStatus *status)
{
  return stream_record (stream, events, COMPLETION, status);
}

static CfCode
events_wait (CfEvents *events, uint64_t deadline_ns, const int *hurry, CfStatus *status)
{
  const void *queue;
  CfCode code;
  int at;

  pthread_mutex_lock (&fake_lock);
  at = find_record (events, COMPLETION, n_ops);
  queue = at >= 0 ? ops[at].queue : NULL;
  pthread_mutex_unlock (&fake_lock);
  code = be_cut_short (queue, hurry, status);
  if (code != CF_OK)
    return code;
  pthread_mutex_lock (&fake_lock);
  code = pass_time (true, deadline_ns, status);
  /* Every second run executes the newest work first, as far as the order of the streams permits. */
  for (int i = n_ops - 1; code == CF_OK && run % 2 && i >= 0; i--)
    if (!ops[i].done)
      work_up_to (ops[i].queue, i);
  at = find_record (events, COMPLETION, n_ops);
  queue = at >= 0 ? ops[at].queue : NULL;
  if (code == CF_OK && at >= 0)
    work_up_to (queue, at);
  forget_done ();
  pthread_mutex_unlock (&fake_lock);
  return end_wait (code, queue, status);
}

static uint64_t
events_elapsed_ns (const CfEvents *events, unsigned from, unsigned to)
{
  (void) events, (void) from, (void) to;
  pthread_mutex_lock (&fake_lock);
  fake.after += lost && mine.lost_run == run;
  pthread_mutex_unlock (&fake_lock);
  return 1000;
}

/* ---- the table ------------------------------------------------------------ */

static const CfDevice fake_device = {
  .archs = FAKE_ARCHS,
  .versions = fake_versions,
  .count = count,
  .info = fake_info,
  .loss = loss,
  .counters = counters,
  .current = current,
  .ended = ended,
  .context_init = context_init,
  .ops = fake_ops_of,
  .pinned_alloc = fake_pinned_alloc,
  .pinned_free = fake_release,
  .device_alloc = fake_device_alloc,
  .device_free = fake_release,
  .stream_new = stream_new,
  .stream_free = stream_free,
  .stream_copy = stream_copy,
  .copy_pieces = copy_pieces,
  .blend = blend,
  .repack = repack,
  .stream_wait = stream_wait,
  .stream_record = stream_record,
  .stream_wait_event = stream_wait_event,
  .stream_signal = stream_signal,
  .events_new = events_new,
  .events_free = events_free,
  .events_wait = events_wait,
  .events_elapsed_ns = events_elapsed_ns,
};

void
fake_install (void)
{
  cf_device_install (&fake_device);
}
