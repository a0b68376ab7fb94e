/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/plan.cu: the recursive filter on CUDA: plans, memory, launches. A pass is two
 * launches: quadrants.cu filters all quadrants of all views, sum.cu adds up their results. What is filtered along
 * lines takes lines.cu instead. */
#include "core/gpu/shares.cuh"
#include "internal.cuh"
#include "lines.cuh"

#include <algorithm>
#include <limits.h>
#include <string.h>

namespace {

using namespace cf;

struct IrBuffer {
  void *data;
  size_t size;
};

struct IrState {
  CfIrDesign design;
  IrWork work[CF_IR_MAX_PASSES]; /* all but the pointers of a frame */
  IrBuffer y, r, handover, saved, owner, scheduler; /* scheduler: IrScheduler.word */
  IrBuffer between; /* see lines.cuh */
  bool needs_clear; /* the buffers' contents are invalid: first launch, after a failed one, new sizes */
  bool ready;   /* the buffers are large enough for `work`, or for lines */
  bool counted; /* in ir_shares */
  bool pdl;     /* for the kernels of lines.cu */
  IrTestOverrides test;
};

PlanShares ir_shares; /* of the plans that filter quadrants */
constexpr int ir_most_shares = 5; /* more frames at once gain little, and each takes longer */

const IrQuadrants *const ir_quadrants[] = { &ir_quadrants_2, &ir_quadrants_3, &ir_quadrants_4, &ir_quadrants_5,
  &ir_quadrants_8 };

IrState *
ir_state (const CfPlan *plan)
{
  return static_cast<IrState *> (plan->state);
}

int
ir_round_up (int n, int to)
{
  return (n + to - 1) / to * to;
}

int
ir_y_pitch (int width)
{
  return ir_round_up (width, 4);
}

/* ---- sizes -------------------------------------------------------------- */

/* Returns the largest number of strips of a window along a side of `width` samples, for either direction. */
int
ir_max_strips (int width, int nx, int margin, int m)
{
  int widest = 0;

  for (int i = 0; i < nx; i++)
    for (int direction = -1; direction <= 1; direction += 2) {
      const CfIrSpan s = cf_ir_span (width, nx, i, margin, direction);

      widest = s.window_end - s.window > widest ? s.window_end - s.window : widest;
    }
  return (widest + ir_strip_columns (m) - 1) / ir_strip_columns (m);
}

/* Fills `work` for a pass, all but the pointers of a frame. */
void
ir_make_work (const CfIrPass *pass, CfIrBorder border, const CfView *views, int n, IrWork *work)
{
  *work = IrWork ();
  work->warmup_margin = pass->warmup_margin;
  work->m = pass->m;
  work->zero = border == CF_IR_ZERO;
  memcpy (work->set, pass->set, sizeof work->set);
  work->same = true;
  for (int q = 0; q < CF_IR_QUADRANTS; q++)
    if (pass->used[q]) {
      work->quadrant[work->n_quadrants++] = (uint8_t) q;
      work->same = work->same && memcmp (&work->set[q], &work->set[work->quadrant[0]], sizeof work->set[q]) == 0;
    }
  if (work->same && work->n_quadrants > 0)
    work->set[0] = work->set[work->quadrant[0]];
  for (int i = 0; i < n; i++) {
    IrView &v = work->view[work->n_views];

    if (!views[i].filtered)
      continue;
    v.width = views[i].width;
    v.height = views[i].height;
    v.y_pitch = ir_y_pitch (v.width);
    v.y_quadrant = (long long) v.y_pitch * v.height;
    v.step = views[i].step * views[i].bytes;
    v.shift = views[i].shift;
    v.max = (1 << views[i].bits) - 1;
    v.nx = cf_ir_grid (v.width, pass->warmup_margin);
    v.ny = cf_ir_grid (v.height, pass->warmup_margin);
    v.strips = ir_max_strips (v.width, v.nx, pass->warmup_margin, pass->m);
    v.first_strip = work->n_strips;
    work->n_strips += work->n_quadrants * v.nx * v.ny * v.strips;
    work->rows = std::max (work->rows, v.height + pass->m - 2);
    work->n_views++;
  }
  work->rows = ir_round_up (work->rows, ir_chunk);
  work->scheduler.n = work->n_strips;
  for (int s = 0; s < work->n_strips; s++)
    work->scheduler.strips += ir_strip (*work, s).chunks > 0;
}

/* Makes the buffer at least `size` bytes large; a new one sets *needs_clear. */
CfCode
ir_reserve (IrBuffer *b, size_t size, bool *needs_clear, CfStatus *status)
{
  if (size <= b->size)
    return CF_OK;
  cf_gpu_free (CF_DEVICE, b->data);
  *needs_clear = true;
  b->size = 0;
  b->data = cf_gpu_alloc (CF_DEVICE, size, status);
  if (!b->data)
    return status->code;
  b->size = size;
  return CF_OK;
}

/* Reserves memory for the trace of the last pass. */
CfCode
ir_reserve_trace (IrState *s, CfStatus *status)
{
  const IrWork &work = s->work[s->design.n - 1];
  const int chunks = work.rows / ir_chunk;
  const CfCode code = ir_reserve (&s->owner, (size_t) work.n_strips * (size_t) chunks * sizeof (int),
      &s->needs_clear, status);

  s->test.owner = code == CF_OK ? static_cast<int *> (s->owner.data) : NULL;
  s->test.owner_chunks = chunks;
  return code;
}

/* Reserves memory for the passes; `plane`: bytes of one float for each filtered sample. */
CfCode
ir_reserve_all (IrState *s, size_t plane, CfStatus *status)
{
  size_t handover = 0, saved = 0, scheduler = 0;
  CfCode code;

  for (int i = 0; i < s->design.n; i++) {
    const IrWork &work = s->work[i];
    const size_t strips = (size_t) work.n_strips;

    handover = std::max (handover, strips * (size_t) (work.rows + 1) * (size_t) ir_handover_floats (work.m) * 4);
    saved = std::max (saved, strips * (size_t) ir_saved (work.m) * 4);
    scheduler = std::max (scheduler, (strips + 1) * 4);
  }
  code = ir_reserve (&s->y, CF_IR_QUADRANTS * plane, &s->needs_clear, status);
  if (code == CF_OK && s->design.n > 1)
    code = ir_reserve (&s->r, plane, &s->needs_clear, status);
  if (code == CF_OK)
    code = ir_reserve (&s->handover, handover, &s->needs_clear, status);
  if (code == CF_OK)
    code = ir_reserve (&s->saved, saved, &s->needs_clear, status);
  if (code == CF_OK)
    code = ir_reserve (&s->scheduler, scheduler, &s->needs_clear, status);
  return code == CF_OK && s->test.owner ? ir_reserve_trace (s, status) : code;
}

/* ---- plan --------------------------------------------------------------- */

CfCode
ir_update (CfPlan *plan, CfStatus *status)
{
  IrState *s = ir_state (plan);
  CfView views[CF_MAX_VIEWS];
  CfIrDesign design;
  CfImage image;
  size_t plane = 0;
  const CfCode code = cf_ir_design (static_cast<const CfIrFilterParams *> (plan->params), plan->video.format, &design,
      status);

  if (code != CF_OK)
    return code;
  cf_image_layout (&image, plan->video.format, plan->video.width, plan->video.height, 1);
  const int n = cf_image_views (&plan->video, &plan->common, &image, views);

  s->ready = false;
  s->design = design;
  ir_shares.count (plan, !design.by_lines, &s->counted);
  if (design.by_lines) {
    const CfCode lines = ir_reserve (&s->between, ir_lines_memory (views, n), &s->needs_clear, status);

    s->ready = lines == CF_OK;
    return lines;
  }
  for (int i = 0; i < design.n; i++)
    ir_make_work (&design.pass[i], design.border, views, n, &s->work[i]);
  for (int i = 0; i < s->work[0].n_views; i++)
    plane += (size_t) s->work[0].view[i].y_quadrant * sizeof (float);
  const CfCode got = ir_reserve_all (s, plane, status);

  s->ready = got == CF_OK;
  return got;
}

CfCode
ir_init (CfPlan *plan, CfStatus *status)
{
  CfCode code = ir_load_sum (status);

  if (code == CF_OK)
    code = ir_load_lines (&ir_state (plan)->pdl, status);
  ir_state (plan)->needs_clear = true;
  ir_state (plan)->test.max_chunks = INT_MAX;
  for (const IrQuadrants *q : ir_quadrants)
    if (code == CF_OK)
      code = q->load (status);
  return code == CF_OK ? ir_update (plan, status) : code;
}

void
ir_free (CfPlan *plan)
{
  IrState *s = ir_state (plan);

  ir_shares.count (plan, false, &s->counted);
  for (IrBuffer *b : { &s->y, &s->r, &s->handover, &s->saved, &s->owner, &s->scheduler, &s->between })
    cf_gpu_free (CF_DEVICE, b->data);
}

/* ---- frames ------------------------------------------------------------- */

CfCode
ir_clear (const IrBuffer *b, int byte, cudaStream_t stream, CfStatus *status)
{
  if (!b->data)
    return CF_OK;
  return cf_cuda_check (cudaMemsetAsync (b->data, byte, b->size, stream), "clearing the recursive filter's memory",
      status);
}

/* Sets the buffers to the state that each launch leaves: no strip is claimed, nothing is handed over. */
CfCode
ir_clear_all (IrState *s, cudaStream_t stream, CfStatus *status)
{
  CfCode code = ir_clear (&s->handover, 0xff, stream, status);

  for (IrBuffer *b : { &s->y, &s->r, &s->saved, &s->scheduler, &s->between })
    if (code == CF_OK)
      code = ir_clear (b, 0, stream, status);
  return code;
}

/* Launches pass `at` of the design. */
CfCode
ir_run_pass (CfPlan *plan, int at, const CfImage *in, const CfImage *out, cudaStream_t stream, CfStatus *status)
{
  const IrState *s = ir_state (plan);
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
  work.blocks = s->test.blocks;
  if (work.blocks == 0)
    work.blocks = std::min (work.n_strips, ir_shares.of (plan, ir_sm_blocks * plan->context->sms, ir_most_shares));
  work.test.owner = sum.last ? s->test.owner : NULL;
  work.scheduler.word = static_cast<unsigned *> (s->scheduler.data);
  work.scheduler.max_chunks = s->test.max_chunks;
  work.handover = static_cast<float *> (s->handover.data);
  work.saved = static_cast<float *> (s->saved.data);
  make_launch (plan, in, out, 0, &sum.launch);
  sum.n_quadrants = work.n_quadrants;
  sum.through = pass->through;
  sum.scheduler = work.scheduler;
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
  for (const IrQuadrants *q : ir_quadrants)
    if (work.n_strips > 0 && q->m == work.m)
      code = q->launch (work, at > 0 ? IR_FLOATS : info->bytes == 1 ? IR_BYTES : IR_WORDS, stream, status);
  return code == CF_OK ? ir_launch_sum (sum, stream, status) : code;
}

/* Launches all passes of the design. */
CfCode
ir_run_passes (CfPlan *plan, const CfImage *in, const CfImage *out, cudaStream_t stream, CfStatus *status)
{
  const IrState *s = ir_state (plan);
  CfCode code = CF_OK;

  if (s->test.owner)
    code = ir_clear (&s->owner, 0xff, stream, status);
  for (int i = 0; code == CF_OK && i < s->design.n; i++)
    code = ir_run_pass (plan, i, in, out, stream, status);
  return code;
}

CfCode
ir_enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  IrState *s = ir_state (plan);
  cudaStream_t handle = static_cast<cudaStream_t> (cf_stream_handle (stream));
  CfCode code;

  if (!s->ready)
    return cf_fail (status, CF_NO_MEMORY, "not enough GPU memory for these coefficients of the recursive filter");
  code = s->needs_clear ? ir_clear_all (s, handle, status) : CF_OK;
  s->needs_clear = true; /* until everything is launched */
  if (code == CF_OK && s->design.by_lines)
    code = ir_launch_lines (plan, s->design, in, out, s->between.data, s->pdl, handle, status);
  else if (code == CF_OK)
    code = ir_run_passes (plan, in, out, handle, status);
  s->needs_clear = code != CF_OK;
  return code;
}

/* ---- tests -------------------------------------------------------------- */

CfCode
ir_set_override (CfPlan *plan, const char *name, int value, CfStatus *status)
{
  IrState *s = ir_state (plan);
  IrTestOverrides &test = s->test;

  if (value < 0)
    return cf_fail (status, CF_BAD_VALUE, "test override %s is %d; it must be 0 or more", name, value);
  if (strcmp (name, "blocks") == 0)
    test.blocks = value;
  else if (strcmp (name, "chunks") == 0) /* of one claim; 0: as many as are ready */
    test.max_chunks = value > 0 ? value : INT_MAX;
  else if (strcmp (name, "trace") == 0 && value > 0)
    return ir_reserve_trace (s, status);
  else if (strcmp (name, "trace") == 0)
    test.owner = NULL;
  else if (!set_late (&test.late, name, value))
    return cf_fail (status, CF_UNSUPPORTED,
        "the recursive filter has no test override %s; it has blocks, chunks, delay, seed and trace", name);
  return CF_OK;
}

CfCode
ir_trace (CfPlan *plan, CfStream *stream, int *table, size_t size, int *rows, int *columns, CfStatus *status)
{
  const IrState *s = ir_state (plan);
  const IrWork &work = s->work[s->design.n - 1];
  cudaStream_t handle = static_cast<cudaStream_t> (cf_stream_handle (stream));
  CfCode code;

  if (!s->test.owner)
    return cf_fail (status, CF_BAD_VALUE, "no trace was recorded; set the test override trace to 1 before the frame");
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
  .state_size = sizeof (IrState),
  .init = ir_init,
  .update = ir_update,
  .enqueue = ir_enqueue,
  .free = ir_free,
  .set_override = ir_set_override,
  .trace = ir_trace,
};
