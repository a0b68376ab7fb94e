/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/gpu/plan.cu: the recursive filter on CUDA: plans, memory, launches. A pass is
 * two: quadrants.cu makes all quadrants of all components, sum.cu
 * adds them up. */
#include "internal.cuh"

#include <algorithm>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

namespace {

using namespace cf;

struct Buffer {
  void *data;
  size_t size;
};

struct State {
  CfIrDesign design;
  IrWork work[CF_IR_MAX_PASSES]; /* all but what is a frame's */
  Buffer y, r, words, saved, owner, follow; /* follow: the strips' words, and how many are closed */
  bool fresh; /* nothing in memory counts: first launch, after a failed one, new sizes */
  bool ready; /* the memory holds what `work` needs */
  IrTest test;
};

State *
state_of (const CfPlan *plan)
{
  return static_cast<State *> (plan->state);
}

int
round_up (int n, int to)
{
  return (n + to - 1) / to * to;
}

int
y_pitch (int width)
{
  return round_up (width, 4);
}

/* ---- sizes -------------------------------------------------------------- */

/* The most strips that a window of this side has, for either direction. */
int
most_strips (int width, int nx, int warm, int m)
{
  int most = 0;

  for (int i = 0; i < nx; i++)
    for (int direction = -1; direction <= 1; direction += 2) {
      const CfIrSpan s = cf_ir_span (width, nx, i, warm, direction);

      most = s.window_end - s.window > most ? s.window_end - s.window : most;
    }
  return (most + ir_strip_columns (m) - 1) / ir_strip_columns (m);
}

/* A pass without what is a frame's. */
void
make_work (const CfIrPass *pass, CfIrBorder border, const CfView *views, int n, IrWork *work)
{
  *work = IrWork ();
  work->warm = pass->warm;
  work->m = pass->m;
  work->zero = border == CF_IR_ZERO;
  memcpy (work->set, pass->set, sizeof work->set);
  for (int q = 0; q < CF_IR_QUADRANTS; q++)
    if (pass->used[q])
      work->quadrant[work->n_quadrants++] = (uint8_t) q;
  for (int i = 0; i < n; i++) {
    IrView &v = work->view[work->n_views];

    if (!views[i].filtered)
      continue;
    v.width = views[i].width;
    v.height = views[i].height;
    v.y_pitch = y_pitch (v.width);
    v.y_quadrant = (long long) v.y_pitch * v.height;
    v.step = views[i].step * views[i].bytes;
    v.shift = views[i].shift;
    v.max = (1 << views[i].bits) - 1;
    v.nx = cf_ir_grid (v.width, pass->warm);
    v.ny = cf_ir_grid (v.height, pass->warm);
    v.strips = most_strips (v.width, v.nx, pass->warm, pass->m);
    v.first_strip = work->n_strips;
    work->n_strips += work->n_quadrants * v.nx * v.ny * v.strips;
    work->rows = v.height + 1 > work->rows ? v.height + 1 : work->rows;
    work->n_views++;
  }
  work->rows = round_up (work->rows, ir_chunk);
  work->follow.n = work->n_strips;
  for (int s = 0; s < work->n_strips; s++)
    work->follow.strips += ir_strip (*work, s).chunks > 0;
}

CfCode
reserve (Buffer *b, size_t size, bool *fresh, CfStatus *status)
{
  if (size <= b->size)
    return CF_OK;
  cf_device_free (b->data);
  *fresh = true;
  b->size = 0;
  b->data = cf_device_alloc (size, status);
  if (!b->data)
    return status->code;
  b->size = size;
  return CF_OK;
}

/* Memory for the last pass's trace. */
CfCode
reserve_trace (State *s, CfStatus *status)
{
  const IrWork &work = s->work[s->design.n - 1];
  const int chunks = work.rows / ir_chunk;
  const CfCode code = reserve (&s->owner, (size_t) work.n_strips * (size_t) chunks * sizeof (int), &s->fresh, status);

  s->test.owner = code == CF_OK ? static_cast<int *> (s->owner.data) : NULL;
  s->test.owner_chunks = chunks;
  return code;
}

/* Memory for the passes, kept for smaller ones; each plane of floats has `plane` bytes. */
CfCode
reserve_all (State *s, size_t plane, CfStatus *status)
{
  size_t words = 0, saved = 0, follow = 0;
  CfCode code;

  for (int i = 0; i < s->design.n; i++) {
    const IrWork &work = s->work[i];
    const size_t strips = (size_t) work.n_strips;

    words = std::max (words, strips * (size_t) work.rows * (size_t) ir_handed (work.m) * 4);
    saved = std::max (saved, strips * (size_t) ir_saved (work.m) * 4);
    follow = std::max (follow, (strips + 1) * 4);
  }
  code = reserve (&s->y, CF_IR_QUADRANTS * plane, &s->fresh, status);
  if (code == CF_OK && s->design.n > 1)
    code = reserve (&s->r, plane, &s->fresh, status);
  if (code == CF_OK)
    code = reserve (&s->words, words, &s->fresh, status);
  if (code == CF_OK)
    code = reserve (&s->saved, saved, &s->fresh, status);
  if (code == CF_OK)
    code = reserve (&s->follow, follow, &s->fresh, status);
  return code == CF_OK && s->test.owner ? reserve_trace (s, status) : code;
}

/* ---- plan --------------------------------------------------------------- */

CfCode
set_up (CfPlan *plan, CfStatus *status)
{
  State *s = state_of (plan);
  CfStatus local, *why = status ? status : &local;
  CfView views[CF_MAX_VIEWS];
  CfIrDesign design;
  CfImage image;
  size_t plane = 0;
  const CfCode code = cf_ir_design (static_cast<const CfIrFilterParams *> (plan->params), plan->video.format, &design,
      why);

  if (code != CF_OK)
    return code;
  cf_image_layout (&image, plan->video.format, plan->video.width, plan->video.height, 1);
  const int n = cf_image_views (&plan->video, &plan->common, &image, views);

  s->ready = false;
  s->design = design;
  for (int i = 0; i < design.n; i++)
    make_work (&design.pass[i], design.border, views, n, &s->work[i]);
  for (IrWork &work : s->work)
    work.sms = plan->context->sms;
  for (int i = 0; i < s->work[0].n_views; i++)
    plane += (size_t) s->work[0].view[i].y_quadrant * sizeof (float);
  const CfCode got = reserve_all (s, plane, why);

  s->ready = got == CF_OK;
  return got;
}

CfCode
irfilter_init (CfPlan *plan, CfStatus *status)
{
  CfCode (*const init[]) (CfStatus *) = {
    irfilter_init_follow_2, irfilter_init_follow_3, irfilter_init_follow_4, irfilter_init_follow_5,
    irfilter_init_follow_8, irfilter_init_sum,
  };

  plan->state = calloc (1, sizeof (State));
  if (!plan->state)
    return cf_fail (status, CF_NO_MEMORY, "out of memory");
  state_of (plan)->fresh = true;
  state_of (plan)->test.most = INT_MAX;
  for (CfCode (*load) (CfStatus *) : init) {
    const CfCode code = load (status);

    if (code != CF_OK)
      return code;
  }
  return set_up (plan, status);
}

void
irfilter_free (CfPlan *plan)
{
  State *s = state_of (plan);

  if (!s)
    return;
  for (Buffer *b : { &s->y, &s->r, &s->words, &s->saved, &s->owner, &s->follow })
    cf_device_free (b->data);
  free (s);
}

/* ---- frames ------------------------------------------------------------- */

CfCode
clear (const Buffer *b, int byte, cudaStream_t stream, CfStatus *status)
{
  if (!b->data)
    return CF_OK;
  return cf_cuda_check (cudaMemsetAsync (b->data, byte, b->size, stream), "clearing the recursive filter's memory",
      status);
}

/* As each launch leaves it: no strip is claimed, nothing is handed over. */
CfCode
start_afresh (State *s, cudaStream_t stream, CfStatus *status)
{
  CfCode code = clear (&s->words, 0xff, stream, status);

  for (Buffer *b : { &s->y, &s->r, &s->saved, &s->follow })
    if (code == CF_OK)
      code = clear (b, 0, stream, status);
  return code;
}

CfCode
launch_follow (const IrWork &work, IrSource source, cudaStream_t stream, CfStatus *status)
{
  switch (work.m) {
    case 2:
      return irfilter_launch_follow_2 (work, source, stream, status);
    case 3:
      return irfilter_launch_follow_3 (work, source, stream, status);
    case 4:
      return irfilter_launch_follow_4 (work, source, stream, status);
    case 5:
      return irfilter_launch_follow_5 (work, source, stream, status);
    default:
      return irfilter_launch_follow_8 (work, source, stream, status);
  }
}

/* Pass `at` of the design. */
CfCode
run_pass (CfPlan *plan, int at, const CfImage *in, const CfImage *out, cudaStream_t stream, CfStatus *status)
{
  const State *s = state_of (plan);
  const CfIrPass *pass = &s->design.pass[at];
  IrWork work = s->work[at];
  const CfFormatInfo *info = cf_format_info (plan->video.format);
  CfView views[CF_MAX_VIEWS];
  const int n = cf_image_views (&plan->video, &plan->common, in, views);
  float *y = static_cast<float *> (s->y.data), *r = static_cast<float *> (s->r.data);
  IrSum sum = { };
  CfCode code = CF_OK;

  sum.last = at == s->design.n - 1;
  work.test = s->test;
  work.test.owner = sum.last ? s->test.owner : NULL;
  work.follow.word = static_cast<unsigned *> (s->follow.data);
  work.follow.most = s->test.most;
  work.words = static_cast<float *> (s->words.data);
  work.saved = static_cast<float *> (s->saved.data);
  make_launch (plan, in, out, 0, &sum.launch);
  sum.n_quadrants = work.n_quadrants;
  sum.through = pass->through;
  sum.follow = work.follow;
  for (int i = 0, k = 0; i < n; i++) {
    const bool chroma = info->comp[views[i].component].role == CF_ROLE_CHROMA;
    IrView &v = work.view[k];

    if (!views[i].filtered)
      continue;
    v.y = y;
    v.in = at > 0 ? (const void *) r : views[i].data;
    v.pitch = at > 0 ? (long long) v.y_pitch * 4 : (long long) views[i].pitch;
    v.mid = chroma ? s->design.mid : 0;
    sum.x[i] = at > 0 ? r : NULL;
    sum.y[i] = y;
    sum.r[i] = r;
    sum.y_quadrant[i] = v.y_quadrant;
    sum.y_pitch[i] = v.y_pitch;
    sum.offset[i] = pass->offset[chroma];
    sum.mid[i] = v.mid;
    y += v.y_quadrant * work.n_quadrants;
    r += r ? v.y_quadrant : 0;
    k++;
  }
  if (work.n_strips > 0)
    code = launch_follow (work, at > 0 ? IR_FLOATS : info->bytes == 1 ? IR_BYTES : IR_WORDS, stream, status);
  return code == CF_OK ? irfilter_launch_sum (sum, stream, status) : code;
}

CfCode
irfilter_enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  State *s = state_of (plan);
  cudaStream_t handle = static_cast<cudaStream_t> (cf_stream_handle (stream));
  CfCode code;

  if (!s->ready)
    return cf_fail (status, CF_NO_MEMORY, "the GPU had no memory left for these coefficients of the recursive filter");
  code = s->fresh ? start_afresh (s, handle, status) : CF_OK;
  s->fresh = true; /* until all is launched */
  if (code == CF_OK && s->test.owner)
    code = clear (&s->owner, 0xff, handle, status);
  for (int i = 0; code == CF_OK && i < s->design.n; i++)
    code = run_pass (plan, i, in, out, handle, status);
  s->fresh = code != CF_OK;
  return code;
}

/* ---- tests -------------------------------------------------------------- */

CfCode
irfilter_tune (CfPlan *plan, const char *knob, int value, CfStatus *status)
{
  State *s = state_of (plan);
  IrTest &test = s->test;
  CfStatus local, *why = status ? status : &local;

  if (value < 0)
    return cf_fail (why, CF_BAD_VALUE, "knob %s is %d; it must be 0 or more", knob, value);
  if (strcmp (knob, "blocks") == 0)
    test.blocks = value;
  else if (strcmp (knob, "chunks") == 0) /* a claim; 0: all that can be had */
    test.most = value > 0 ? value : INT_MAX;
  else if (strcmp (knob, "delay") == 0) /* ns, at the most, at random */
    test.delay = value;
  else if (strcmp (knob, "seed") == 0)
    test.seed = (unsigned) value;
  else if (strcmp (knob, "trace") == 0 && value > 0)
    return reserve_trace (s, why);
  else if (strcmp (knob, "trace") == 0)
    test.owner = NULL;
  else
    return cf_fail (why, CF_UNSUPPORTED,
        "the recursive filter has no knob %s; it has blocks, chunks, delay, seed and trace", knob);
  return CF_OK;
}

CfCode
irfilter_trace (CfPlan *plan, CfStream *stream, int *table, size_t size, int *rows, int *columns, CfStatus *status)
{
  const State *s = state_of (plan);
  const IrWork &work = s->work[s->design.n - 1];
  cudaStream_t handle = static_cast<cudaStream_t> (cf_stream_handle (stream));
  CfCode code;

  if (!s->test.owner)
    return cf_fail (status, CF_BAD_VALUE, "no trace was kept; turn the knob trace to 1 before the frame");
  *rows = work.n_strips;
  *columns = s->test.owner_chunks;
  size = std::min (size, (size_t) *rows * (size_t) *columns);
  code = cf_cuda_check (cudaMemcpyAsync (table, s->test.owner, size * sizeof *table, cudaMemcpyDeviceToHost, handle),
      "reading the trace", status);
  if (code == CF_OK)
    code = cf_cuda_check (cudaStreamSynchronize (handle), "reading the trace", status);
  for (size_t i = 0; code == CF_OK && i < size; i++)
    if ((int) (i % (size_t) *columns) >= ir_strip (work, (int) (i / (size_t) *columns)).chunks)
      table[i] = -1;
  return code;
}

} // namespace

extern "C" const CfOps cf_irfilter_cuda = {
  irfilter_init, set_up, irfilter_enqueue, NULL, NULL, irfilter_free, NULL, NULL, NULL, irfilter_tune, irfilter_trace,
};
