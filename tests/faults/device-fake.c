/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device-fake.c: the device layer over host memory, with faults. What error
 * means what, and which calls are left out once the GPU is lost, is as in
 * cuda/core/gpu/device.c. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* recursive mutexes that need no start */
#endif
#include "fake.h"
#include "convolve/convolve.h"
#include "irfilter/irfilter.h"
#include "median/median.h"
#include "segment/segment.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCKS 256
#define MAX_OPS 256

struct CfStream {
  const void *queue; /* one for all that borrow the same */
};

struct CfMarks {
  int unused;
};

typedef enum { COPY, BYTES, FILTER, REMEMBER, MARK, FOLLOW } OpKind;

typedef struct {
  OpKind kind;
  const void *queue; /* of the stream */
  bool done;
  CfPlan *plan;
  CfImage to, from;
  size_t bytes; /* BYTES: from the first plane to the first plane */
  const CfMarks *marks;
  int mark; /* FOLLOW: of those marks */
} Op;

static struct {
  uint8_t *memory;
  size_t size;
} blocks[MAX_BLOCKS];

FakeReport fake;
static Op ops[MAX_OPS];
static int n_ops, fail_at = -1, fail_code, run;
static bool fail_for_good, lost;
static uint64_t launches;
static CfContext cpu = { .backend = CF_BACKEND_CPU };
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* What this thread knows: since the run of that number. */
static _Thread_local struct {
  int pushed, lost_run, hung_run;
} mine;

const char *
fake_kind_name (FakeKind kind)
{
  static const char *const names[] = { "count", "push", "init", "stream", "device-alloc", "pinned-alloc", "free",
    "kernels", "mark", "upload", "launch", "download", "wait", "regions" };

  return names[kind];
}

void
fake_arm (int call, int code, bool for_good)
{
  for (int i = 0; i < MAX_BLOCKS; i++) { /* what the run before gave up */
    free (blocks[i].memory);
    blocks[i].memory = NULL;
  }
  memset (&fake, 0, sizeof fake);
  fail_at = call;
  fail_code = code;
  fail_for_good = for_good;
  n_ops = 0;
  lost = false;
  run++;
}

void
fake_current (int more)
{
  pthread_mutex_lock (&lock);
  fake.pushed += more;
  pthread_mutex_unlock (&lock);
  mine.pushed += more;
}

static CfCode
code_of (int error)
{
  static const int sticky[] = { 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911 };

  for (size_t i = 0; i < sizeof sticky / sizeof sticky[0]; i++)
    if (sticky[i] == error)
      return CF_GPU_LOST;
  return error == 2 ? CF_NO_MEMORY : error == 35 || error == 100 ? CF_NO_GPU : CF_GPU_ERROR;
}

/* Lock held. */
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
  fake.misuse += fake.hung && kind >= FAKE_KERNELS && mine.hung_run == run;
  if (n < FAKE_MAX_CALLS)
    fake.kind[fake.calls++] = kind;
  if (fail_at < 0 || n < fail_at || (n > fail_at && !fail_for_good))
    return CF_OK;
  if (fail_code == FAKE_TIMEOUT && kind != FAKE_WAIT) { /* the other thread's came first */
    fail_at++;
    return CF_OK;
  }
  if (!fake.fired)
    fake.fired_kind = kind;
  fake.fired = true;
  if (fail_code == FAKE_TIMEOUT) {
    fake.hung = true;
    mine.hung_run = run;
    return cf_fail (status, CF_TIMEOUT, "the GPU did not finish a frame");
  }
  fake.unreachable |= kind == FAKE_PUSH || kind == FAKE_FREE;
  code = code_of (fail_code);
  if (kind != FAKE_PUSH) /* that one is not of the device layer, which does not see it */
    lost = code == CF_GPU_LOST;
  if (lost) {
    mine.lost_run = run;
    n_ops = 0; /* what was queued will never be done */
  }
  cf_fail (status, code, "%s: CUDA error %d", fake_kind_name (kind), fail_code);
  if (status)
    status->cuda = fail_code;
  return code;
}

CfCode
fake_call (FakeKind kind, CfStatus *status)
{
  CfCode code;

  pthread_mutex_lock (&lock);
  code = call (kind, status);
  pthread_mutex_unlock (&lock);
  return code;
}

/* ---- queued work --------------------------------------------------------- */

static void
copy (const CfImage *to, const CfImage *from)
{
  const CfFormatInfo *info = cf_format_info (from->format);

  for (int p = 0; p < info->n_planes; p++)
    for (int y = 0; y < cf_plane_rows (from->format, from->height, p); y++)
      memcpy ((uint8_t *) to->plane[p].data + (size_t) y * to->plane[p].pitch,
          (const uint8_t *) from->plane[p].data + (size_t) y * from->plane[p].pitch,
          cf_plane_row_bytes (from->format, from->width, p));
}

/* The last one of these marks that is queued, before `end`; -1: none is. */
static int
find_mark (const CfMarks *marks, int mark, int end)
{
  for (int i = end - 1; i >= 0; i--)
    if (ops[i].kind == MARK && ops[i].marks == marks && ops[i].mark == mark)
      return i;
  return -1;
}

/* Does a stream's work up to `last`, and what that has to wait for. */
static void
work_up_to (const void *queue, int last)
{
  for (int i = 0; i <= last; i++) {
    Op *op = &ops[i];
    CfCode code = CF_OK;
    int mark;

    if (op->done || op->queue != queue)
      continue;
    op->done = true;
    switch (op->kind) {
      case COPY:
        copy (&op->to, &op->from);
        break;
      case BYTES:
        memcpy (op->to.plane[0].data, op->from.plane[0].data, op->bytes);
        break;
      case FILTER:
        code = cf_plan_enqueue (op->plan, NULL, &op->from, &op->to, NULL);
        break;
      case REMEMBER:
        code = cf_plan_push_history (op->plan, NULL, &op->from, NULL);
        break;
      case FOLLOW:
        mark = find_mark (op->marks, op->mark, i);
        if (mark >= 0)
          work_up_to (ops[mark].queue, mark);
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
  pthread_mutex_lock (&lock);
  for (int i = 0; i < n_ops; i++)
    work_up_to (ops[i].queue, i);
  n_ops = 0;
  pthread_mutex_unlock (&lock);
}

void
fake_copy (const void *queue, void *to, const void *from, size_t bytes)
{
  Op op = { .kind = BYTES, .queue = queue, .bytes = bytes };

  op.to.plane[0].data = to;
  op.from.plane[0].data = (void *) from;
  pthread_mutex_lock (&lock);
  if (!lost && n_ops < MAX_OPS)
    ops[n_ops++] = op;
  pthread_mutex_unlock (&lock);
}

void
fake_finish (const void *queue)
{
  pthread_mutex_lock (&lock);
  work_up_to (queue, n_ops - 1);
  forget_done ();
  pthread_mutex_unlock (&lock);
}

static CfCode
queue (FakeKind kind, Op op, CfStatus *status)
{
  CfCode code;

  pthread_mutex_lock (&lock);
  code = call (kind, status);
  if (code == CF_OK && n_ops == MAX_OPS)
    code = cf_fail (status, CF_GPU_ERROR, "too much is queued");
  else if (code == CF_OK)
    ops[n_ops++] = op;
  pthread_mutex_unlock (&lock);
  return code;
}

static bool
in_use (const uint8_t *memory, size_t size)
{
  for (int i = 0; i < n_ops; i++) {
    const uint8_t *to = ops[i].to.plane[0].data, *from = ops[i].from.plane[0].data;

    if ((to >= memory && to < memory + size) || (from >= memory && from < memory + size))
      return true;
  }
  return false;
}

/* ---- the filters' CUDA side ---------------------------------------------- */

typedef struct {
  CfPlan *plan; /* of the CPU */
  void *scratch;
} State;

static CfCode
init (CfPlan *plan, CfStatus *status)
{
  State *s = plan->state = calloc (1, sizeof *s);

  if (!s)
    return cf_fail (status, CF_NO_MEMORY, "out of memory");
  if (fake_call (FAKE_KERNELS, status) != CF_OK || !(s->scratch = cf_device_alloc (1000, status)))
    return status->code;
  s->plan = cf_plan_new (&cpu, plan->filter, &plan->video, &plan->common, plan->params, status);
  return s->plan ? CF_OK : status->code;
}

/* New parameters may need other memory. */
static CfCode
update (CfPlan *plan, CfStatus *status)
{
  State *s = plan->state;
  void *scratch = cf_device_alloc (2000, status);

  if (!scratch)
    return status ? status->code : CF_NO_MEMORY;
  cf_device_free (s->scratch);
  s->scratch = scratch;
  return cf_plan_update (s->plan, &plan->common, plan->params, status);
}

static CfCode
enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  launches++;
  return queue (FAKE_LAUNCH, (Op) { .kind = FILTER, .queue = stream->queue, .plan = ((State *) plan->state)->plan,
      .to = *out, .from = *in }, status);
}

static CfCode
keep_in_mind (CfPlan *plan, CfStream *stream, const CfImage *in, CfStatus *status)
{
  launches++;
  return queue (FAKE_LAUNCH, (Op) { .kind = REMEMBER, .queue = stream->queue, .plan = ((State *) plan->state)->plan,
      .from = *in }, status);
}

static void
reset (CfPlan *plan)
{
  cf_plan_reset (((State *) plan->state)->plan);
}

static CfCode
regions (CfPlan *plan, CfRegions *found, CfStatus *status)
{
  CfCode code = fake_call (FAKE_REGIONS, status);

  fake.misuse += n_ops > 0; /* nobody has waited */
  return code == CF_OK ? cf_plan_regions (((State *) plan->state)->plan, found, status) : code;
}

static void
free_state (CfPlan *plan)
{
  State *s = plan->state;

  if (!s)
    return;
  cf_device_free (s->scratch);
  cf_plan_free (s->plan);
  free (s);
}

/* Every filter's. */
#define FAKE_OPS { .init = init, .update = update, .enqueue = enqueue, .push_history = keep_in_mind, .reset = reset, \
  .regions = regions, .free = free_state }
const CfOps cf_median_cuda = FAKE_OPS;
const CfOps cf_convolve_cuda = FAKE_OPS;
const CfOps cf_irfilter_cuda = FAKE_OPS;
const CfOps cf_segment_cuda = FAKE_OPS;

/* ---- devices and memory -------------------------------------------------- */

bool
cf_gpu_built (void)
{
  return true;
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

bool
cf_gpu_lost (void)
{
  if (!fake_is_lost ())
    return false;
  mine.lost_run = run;
  return true;
}

uint64_t
cf_gpu_launches (void)
{
  return launches;
}

uint64_t
cf_gpu_allocations (void)
{
  return 0;
}

int
cf_gpu_count (CfStatus *status)
{
  return fake_call (FAKE_COUNT, status) == CF_OK;
}

CfCode
cf_cuda_context_init (CfContext *context, CfStatus *status)
{
  (void) context;
  if (lost)
    return cf_fail (status, CF_GPU_LOST, "an earlier GPU fault ended CUDA for this process");
  return cf_gpu_count (status) ? fake_call (FAKE_INIT, status) : status->code;
}

static void *
alloc (FakeKind kind, size_t size, CfStatus *status)
{
  void *memory = NULL;
  int i = 0;

  pthread_mutex_lock (&lock);
  if (call (kind, status) == CF_OK) {
    while (i < MAX_BLOCKS && blocks[i].memory)
      i++;
    if (i < MAX_BLOCKS)
      memory = blocks[i].memory = aligned_alloc (4096, (size + 4095) & ~(size_t) 4095);
    if (memory) {
      blocks[i].size = size;
      memset (memory, 0, size);
      fake.live++;
    } else {
      cf_fail (status, CF_NO_MEMORY, "out of memory");
    }
  }
  pthread_mutex_unlock (&lock);
  return memory;
}

static void
release (void *memory)
{
  int i = 0;

  if (!memory)
    return;
  pthread_mutex_lock (&lock);
  if (lost || call (FAKE_FREE, NULL) != CF_OK) {
    pthread_mutex_unlock (&lock);
    return;
  }
  while (i < MAX_BLOCKS && blocks[i].memory != memory)
    i++;
  if (i < MAX_BLOCKS) {
    fake.misuse += in_use (memory, blocks[i].size);
    free (memory);
    blocks[i].memory = NULL;
    fake.live--;
  } else {
    fake.misuse++; /* not ours, or freed before */
  }
  pthread_mutex_unlock (&lock);
}

void *
cf_pinned_alloc (size_t size, CfStatus *status)
{
  /* cuda/core/gpu/device.c makes no call for it then. */
  if (cf_gpu_lost ()) {
    cf_fail (status, CF_GPU_LOST, "no pinned host memory from a GPU that is lost");
    return NULL;
  }
  return alloc (FAKE_PINNED_ALLOC, size, status);
}

void
cf_pinned_free (void *memory)
{
  release (memory);
}

void *
cf_device_alloc (size_t size, CfStatus *status)
{
  return alloc (FAKE_DEVICE_ALLOC, size, status);
}

void
cf_device_free (void *memory)
{
  release (memory);
}

/* ---- streams ------------------------------------------------------------- */

CfStream *
cf_stream_new (void *handle, CfStatus *status)
{
  CfStream *stream = alloc (FAKE_STREAM, sizeof (CfStream), status);

  if (stream)
    stream->queue = handle ? handle : stream;
  return stream;
}

void
cf_stream_free (CfStream *stream)
{
  release (stream);
}

CfCode
cf_stream_upload (CfStream *stream, const CfImage *device, const CfImage *host, CfStatus *status)
{
  return queue (FAKE_UPLOAD, (Op) { .kind = COPY, .queue = stream->queue, .to = *device, .from = *host }, status);
}

CfCode
cf_stream_download (CfStream *stream, const CfImage *host, const CfImage *device, CfStatus *status)
{
  return queue (FAKE_DOWNLOAD, (Op) { .kind = COPY, .queue = stream->queue, .to = *host, .from = *device }, status);
}

CfCode
cf_stream_upload_rows (CfStream *stream, const CfImage *device, const CfImage *host, int begin, int end,
    CfStatus *status)
{
  CfImage to, from;

  cf_image_rows (&to, device, begin, end);
  cf_image_rows (&from, host, begin, end);
  return cf_stream_upload (stream, &to, &from, status);
}

CfCode
cf_stream_download_rows (CfStream *stream, const CfImage *host, const CfImage *device, int begin, int end,
    CfStatus *status)
{
  CfImage to, from;

  cf_image_rows (&to, host, begin, end);
  cf_image_rows (&from, device, begin, end);
  return cf_stream_download (stream, &to, &from, status);
}

/* As cuda/core/gpu/device.c: after any error but a lost GPU nobody knows how far it is. */
static CfCode
unknown (CfCode code, CfStatus *status)
{
  if (code == CF_GPU_LOST)
    return code;
  fake.hung = true;
  mine.hung_run = run;
  return status->code = CF_TIMEOUT;
}

CfCode
cf_stream_wait (CfStream *stream, uint64_t deadline_ns, CfStatus *status)
{
  CfCode code;

  (void) deadline_ns;
  pthread_mutex_lock (&lock);
  code = call (FAKE_WAIT, status);
  if (code == CF_OK)
    work_up_to (stream->queue, n_ops - 1);
  else if (code != CF_TIMEOUT && stream->queue == stream)
    for (int i = 0; i < n_ops; i++) /* lost on the way, but for what neighbours do */
      ops[i].done = ops[i].kind != BYTES;
  forget_done ();
  if (code != CF_OK && stream->queue != stream)
    code = unknown (code, status);
  pthread_mutex_unlock (&lock);
  return code;
}

CfCode
cf_stream_mark (CfStream *stream, int mark, CfStatus *status)
{
  (void) stream;
  (void) mark;
  return fake_call (FAKE_MARK, status);
}

uint64_t
cf_stream_elapsed_ns (CfStream *stream, int from, int to)
{
  (void) stream;
  (void) from;
  (void) to;
  pthread_mutex_lock (&lock);
  fake.after += lost && mine.lost_run == run;
  pthread_mutex_unlock (&lock);
  return 1000;
}

/* ---- marks --------------------------------------------------------------- */

CfMarks *
cf_marks_new (CfStatus *status)
{
  return alloc (FAKE_STREAM, sizeof (CfMarks), status);
}

void
cf_marks_free (CfMarks *marks)
{
  release (marks);
}

CfCode
cf_stream_set_mark (CfStream *stream, CfMarks *marks, int mark, CfStatus *status)
{
  return queue (FAKE_MARK, (Op) { .kind = MARK, .queue = stream->queue, .marks = marks, .mark = mark }, status);
}

CfCode
cf_stream_follow (CfStream *stream, const CfMarks *marks, int mark, CfStatus *status)
{
  return queue (FAKE_MARK, (Op) { .kind = FOLLOW, .queue = stream->queue, .marks = marks, .mark = mark }, status);
}

/* One mark more. */
CfCode
cf_stream_set_end (CfStream *stream, CfMarks *marks, CfStatus *status)
{
  return cf_stream_set_mark (stream, marks, CF_MARKS, status);
}

CfCode
cf_marks_wait (CfMarks *marks, uint64_t deadline_ns, CfStatus *status)
{
  CfCode code;
  int at;

  (void) deadline_ns;
  pthread_mutex_lock (&lock);
  code = call (FAKE_WAIT, status);
  /* In every second run what was queued last is done first, where it may be. */
  for (int i = n_ops - 1; code == CF_OK && run % 2 && i >= 0; i--)
    if (!ops[i].done)
      work_up_to (ops[i].queue, i);
  at = find_mark (marks, CF_MARKS, n_ops);
  if (code == CF_OK && at >= 0)
    work_up_to (ops[at].queue, at);
  forget_done ();
  if (code != CF_OK)
    code = unknown (code, status);
  pthread_mutex_unlock (&lock);
  return code;
}

uint64_t
cf_marks_elapsed_ns (const CfMarks *marks, int from, int to)
{
  (void) marks;
  return cf_stream_elapsed_ns (NULL, from, to);
}
