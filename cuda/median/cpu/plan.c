/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/plan.c: the median filter's plan on the CPU: choice of the variant,
 * tasks, memory of the threads, history. */
#include "internal.h"

#include "core/cpu.h"
#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

#define TASKS 4 /* of a frame, for each thread, so that all are occupied */

static const char *const variants[] = { "direct", "network", "histogram", "sorted", NULL };

static const struct {
  size_t (*scratch) (const CfMedianCpu *m);
  void (*task) (const CfMedianCpu *m, const CfMedianTask *task, uint8_t *scratch);
} functions[] = { { cf_median_direct_scratch, cf_median_direct_task },
  { cf_median_network_scratch, cf_median_network_task }, { cf_median_histogram_scratch, cf_median_histogram_task },
  { cf_median_sorted_scratch, cf_median_sorted_task } };

static const CfMedianSimd *const simd[] = CF_ISA_TABLES (cf_median_simd);

/* ---- frames ------------------------------------------------------------- */

/* Lists the views of an image, field by field, and returns their number. */
static int
list_views (const CfPlan *plan, const CfImage *image, CfView views[CF_MAX_VIEWS])
{
  CfView all[CF_MAX_VIEWS];
  int n = cf_image_views (&plan->video, &plan->common, image, all), at = 0;

  for (int field = 0; field < 2; field++)
    for (int i = 0; i < n; i++)
      if (all[i].field == field)
        views[at++] = all[i];
  return n;
}

/* Copies the input frame into the history, in place of the oldest one. */
static void
keep_frame (CfPlan *plan, const CfImage *in)
{
  CfMedianCpu *m = plan->state;
  CfImage kept;

  if (m->n_slots == 0)
    return;
  m->newest = (m->newest + 1) % m->n_slots;
  if (m->n_kept < m->n_slots)
    m->n_kept++;
  cf_image_at (&kept, &m->layout, m->history + (size_t) m->newest * m->frame_size);
  cf_image_copy (&kept, in, NULL);
}

/* Lists the views of the window's frames: `in`, then those of the ring, newest first. The oldest frame stands for those
 * that have not come yet. With win.ahead, `in` is in the ring as well, as many frames back, and is not listed twice. */
static void
list_frames (CfPlan *plan, const CfImage *in, const CfImage *out)
{
  CfMedianCpu *m = plan->state;

  m->n_views = list_views (plan, out, m->out);
  list_views (plan, in, m->in[0]);
  for (int s = 1; s < m->win.depth; s++) {
    const int wanted = m->win.ahead > 0 && s > m->win.ahead ? s : s - 1;
    const int back = wanted < m->n_kept ? wanted : m->n_kept - 1;
    CfImage kept;

    if (m->n_kept == 0) {
      memcpy (m->in[s], m->in[0], sizeof m->in[s]);
      continue;
    }
    cf_image_at (&kept, &m->layout,
        m->history + (size_t) ((m->newest - back + m->n_slots) % m->n_slots) * m->frame_size);
    list_views (plan, &kept, m->in[s]);
  }
}

/* ---- tasks -------------------------------------------------------------- */

uint8_t *
cf_median_first (const CfView *views, int n_views, const CfView *view)
{
  uint8_t *first = view->data;

  for (int i = 0; i < n_views; i++)
    if (views[i].plane == view->plane && views[i].field == view->field && views[i].data < first)
      first = views[i].data;
  return first;
}

void
cf_median_write (const CfMedianCpu *m, const CfMedianTask *t, int y, void *row, void *input)
{
  const int n = t->x1 - t->x0;

  if (m->threshold) {
    m->simd->unpack[m->size](&m->in[0][t->view], y, t->x0, n, input);
    m->simd->choose[m->size](row, input, n, m->threshold);
  }
  m->simd->pack[m->size](&m->out[t->view], y, t->x0, n, row);
}

/* Returns whether the components of the view's plane are filtered together: where neighbours have the same distance in
 * each of them, and at most half of them are filtered in vain. Compiled networks split pixels of two and of four. */
static bool
is_flat (const CfMedianCpu *m, const CfView *views, int n, const CfView *view)
{
  const bool splits = m->variant == CF_MEDIAN_NETWORK && m->program.code >= 0 && (view->step == 2 || view->step == 4);
  int components = 0, filtered = 0;

  for (int i = 0; i < n; i++)
    if (views[i].plane == view->plane && views[i].field == view->field) {
      components++;
      filtered += views[i].filtered;
    }
  return (m->variant == CF_MEDIAN_DIRECT || splits) && !m->packed && m->threshold == 0 &&
      view->bits == 8 * view->bytes && view->step == components && 2 * filtered >= components;
}

/* Sets the columns and rows of a task: small enough for the variant, and so that there are `wanted` tasks, unless the
 * windows of neighbouring tasks would overlap much. */
static void
task_size (const CfMedianCpu *m, const CfView *view, bool flat, int wanted, int *cols, int *rows)
{
  bool network = m->variant == CF_MEDIAN_NETWORK, histogram = m->variant == CF_MEDIAN_HISTOGRAM;
  bool sorted = m->variant == CF_MEDIAN_SORTED;
  int unit_w = network ? m->program.tile_w * m->program.lanes : 16, unit_h = network ? m->program.tile_h : 2;
  int max_w = network ? m->program.max_cols / (flat ? view->step : 1) : histogram || sorted ? m->max_cols : view->width;

  *cols = view->width < max_w ? view->width : max_w;
  *rows = sorted && view->height > m->max_cols ? m->max_cols : view->height;
  while (cf_divide_up (view->width, *cols) * cf_divide_up (view->height, *rows) < wanted) {
    bool high = *rows > 2 * unit_h, wide = *cols > 2 * unit_w;
    bool enough = cf_divide_up (view->width, *cols) * cf_divide_up (view->height, *rows) >= cf_divide_up (wanted, 4);

    if ((!high && !wide) || (enough && histogram && *rows < 16 * m->win.h))
      return;
    if (high && (!wide || !histogram || *rows / m->win.h >= *cols / m->win.w))
      *rows = cf_divide_up (cf_divide_up (*rows, 2), unit_h) * unit_h;
    else
      *cols = cf_divide_up (cf_divide_up (*cols, 2), unit_w) * unit_w;
  }
}

/* Lists the tasks, and counts those for which there is no memory as well. */
static void
list_tasks (CfMedianCpu *m, const CfView *views, int n)
{
  const int wanted = TASKS * cf_cpu_threads ();
  double area = 0;

  m->n_tasks = 0;
  m->channels = 1;
  for (int i = 0; i < n; i++)
    area += (double) views[i].width * views[i].height;
  for (int i = 0; i < n; i++) {
    const CfView *view = &views[i];
    const bool copy = !view->filtered, flat = is_flat (m, views, n, view);
    int share = (int) (wanted * ((double) view->width * view->height) / area + 0.999), cols, rows;
    bool first = true;

    for (int j = 0; j < i; j++)
      if (views[j].plane == view->plane && views[j].field == view->field && views[j].filtered)
        first = false;
    if (m->packed && view->filtered && i > 0 && views[i - 1].field == view->field && views[i - 1].filtered)
      continue; /* the task of the pixel's first component filters whole pixels */
    if (flat && (copy || !first))
      continue;
    if (flat)
      m->channels = cf_max (m->channels, view->step);
    if (copy) {
      cols = view->width;
      rows = cf_divide_up (view->height, share);
    } else
      task_size (m, view, flat, flat ? share * view->step : share, &cols, &rows);
    if (m->variant == CF_MEDIAN_DIRECT)
      cols = view->width; /* its tasks filter whole rows */
    for (int y = 0; y < view->height; y += rows)
      for (int x = 0; x < view->width; x += cols, m->n_tasks++)
        if (m->n_tasks < m->max_tasks)
          m->tasks[m->n_tasks] = (CfMedianTask) { .view = (uint8_t) i,
            .copy = copy,
            .flat = flat,
            .x0 = x,
            .x1 = cf_min (x + cols, view->width),
            .y0 = y,
            .y1 = cf_min (y + rows, view->height) };
  }
}

static void
run_task (void *data, int index, int thread)
{
  const CfMedianCpu *m = data;
  const CfMedianTask *task = &m->tasks[index];
  uint8_t *scratch = m->scratch + (size_t) thread * m->scratch_size;

  if (task->copy)
    cf_view_copy (&m->out[task->view], &m->in[0][task->view], task->y0, task->y1);
  else
    functions[m->variant].task (m, task, scratch);
}

/* ---- the plan ----------------------------------------------------------- */

static bool
is_direct (const CfMedianWindow *win)
{
  return win->w == 3 && win->h == 3 && win->depth == 1 && win->rank == 4;
}

/* Returns up to how many samples of a window the network is the fastest, measured. The histogram's cost does not grow
 * with the window, the cost of sorted samples grows little. A network that is not compiled has tiles side by side in
 * its vectors: narrow frames do not fill them. */
static int
network_limit (const CfMedianCpu *m, int width)
{
  const bool avx = cf_cpu_isa_number () <= CF_ISA_AVX2;
  const int limit = m->bits > 8 ? 170 : avx ? 17 * 17 : 220;

  if (m->bits > 10)
    return m->size == 2 ? 15 * 15 : avx ? 21 * 21 : 25 * 25;
  return cf_median_network_code (m) < 0 ? cf_min (limit, 2 * width / 5) : limit;
}

static CfCode
choose_variant (CfMedianCpu *m, int preferred, int width, CfStatus *status)
{
  const CfMedianVariant large = m->bits > 10 ? CF_MEDIAN_SORTED : CF_MEDIAN_HISTOGRAM;
  const CfMedianVariant best = is_direct (&m->win) ? CF_MEDIAN_DIRECT
      : m->win.n <= network_limit (m, width)       ? CF_MEDIAN_NETWORK
                                                   : large;
  const int side = cf_max (m->win.w, m->win.h);

  m->variant = preferred < 0 ? best : (CfMedianVariant) preferred;
  if (m->variant == CF_MEDIAN_NETWORK)
    return cf_median_network_prepare (m, status);
  if (m->variant == CF_MEDIAN_DIRECT && !is_direct (&m->win))
    return cf_fail (status, CF_UNSUPPORTED, "variant direct filters only the median of 3 x 3 samples");
  if (m->variant != CF_MEDIAN_DIRECT && m->variant != large)
    return cf_fail (status, CF_UNSUPPORTED, "variant %s filters only values of %s 10 bits", variants[m->variant],
        large == CF_MEDIAN_SORTED ? "up to" : "more than");
  m->max_cols = m->variant == CF_MEDIAN_HISTOGRAM ? 512 : side > 64 && m->win.depth == 1 ? 256 : 64;
  m->wide = m->variant == CF_MEDIAN_HISTOGRAM ? m->win.h * m->win.depth > 127 || m->win.n > 32768
                                              : (m->max_cols + side) * m->win.depth > 256;
  return CF_OK;
}

/* Lists the tasks anew, for the plan's size. */
static void
cut_frames (CfPlan *plan)
{
  CfView views[CF_MAX_VIEWS];
  CfImage image;

  cf_image_layout (&image, plan->video.format, plan->video.width, plan->video.height, 1);
  list_tasks (plan->state, views, list_views (plan, &image, views));
}

/* Allocates memory for the tasks of frames of the plan's size and of smaller ones, which can have more: task_size ()
 * halves tasks until a view has its share, and so ends below twice that, unless the largest tasks are more. The shares
 * are rounded up, in a flat plane for each of its views. */
static CfCode
reserve_tasks (CfPlan *plan, CfStatus *status)
{
  CfMedianCpu *m = plan->state;
  CfMedianTask *tasks;
  int most;

  cut_frames (plan);
  most = m->n_tasks + 2 * (TASKS * cf_cpu_threads () + CF_MAX_VIEWS);
  if (most <= m->max_tasks)
    return CF_OK;
  tasks = realloc (m->tasks, sizeof *tasks * (size_t) most);
  if (!tasks)
    return cf_fail (status, CF_NO_MEMORY, "out of memory");
  m->tasks = tasks;
  m->max_tasks = most;
  cut_frames (plan);
  return CF_OK;
}

/* Allocates the threads' scratch memory for the listed tasks. Keeps the present memory if it is large enough, or if the
 * allocation fails. */
static CfCode
reserve_memory (CfMedianCpu *m, CfStatus *status)
{
  const size_t per_thread = (functions[m->variant].scratch (m) + 4095) / 4096 * 4096;
  const size_t size = (size_t) cf_cpu_threads () * per_thread;
  uint8_t *scratch;

  m->scratch_size = per_thread;
  if (size <= m->allocated)
    return CF_OK;
  scratch = aligned_alloc (4096, size);
  if (!scratch)
    return cf_fail (status, CF_NO_MEMORY, "out of memory: the median needs %zu MB for %d threads", size >> 20,
        cf_cpu_threads ());
  free (m->scratch);
  m->scratch = scratch;
  m->allocated = size;
  return CF_OK;
}

/* Sets up everything that depends on the parameters. Old buffers are freed only after all new ones exist, so going back
 * to the old parameters never fails. */
static CfCode
update (CfPlan *plan, CfStatus *status)
{
  CfMedianCpu *m = plan->state;
  CfMedianProgram obsolete = m->program;
  const CfMedianParams *params = plan->params;
  const CfFormatInfo *info = cf_format_info (plan->video.format);
  CfCode code;

  m->win = cf_median_window (params);
  m->threshold = params->threshold;
  m->packed = params->color_order == CF_MEDIAN_PACKED;
  m->bits = m->packed ? 24 : info->bits;
  m->size = m->packed ? 2 : info->bytes - 1;
  code = choose_variant (m, plan->preferred, plan->video.width, status);
  if (code == CF_OK)
    code = reserve_tasks (plan, status);
  if (code == CF_OK)
    code = reserve_memory (m, status);
  if (code == CF_OK)
    plan->variant = m->variant;
  else {
    const CfMedianProgram failed = m->program;

    m->program = obsolete;
    obsolete = failed;
  }
  if (obsolete.steps != m->program.steps)
    free (obsolete.steps);
  return code;
}

static CfCode
init (CfPlan *plan, CfStatus *status)
{
  CfMedianCpu *m = plan->state;
  const CfMedianWindow win = cf_median_window (plan->params);
  const CfIsa isa = cf_cpu_isa_number ();

  m->simd = m->stepper = simd[isa];
  if (isa == CF_ISA_AVX512BW && simd[CF_ISA_AVX2])
    m->stepper = simd[CF_ISA_AVX2];
  m->frame_size = cf_image_layout (&m->layout, plan->video.format, plan->video.width, plan->video.height, 64);
  m->n_slots = win.ahead > 0 ? win.depth : win.depth - 1;
  if (m->n_slots)
    m->history = malloc (m->frame_size * (size_t) m->n_slots);
  if (m->n_slots && !m->history)
    return cf_fail (status, CF_NO_MEMORY, "out of memory: the history of %d frames takes %zu MB", m->n_slots,
        (m->frame_size * (size_t) m->n_slots) >> 20);
  return update (plan, status);
}

static void
release (CfPlan *plan)
{
  CfMedianCpu *m = plan->state;

  free (m->program.steps);
  free (m->tasks);
  free (m->scratch);
  free (m->history);
}

static CfCode
enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  CfMedianCpu *m = plan->state;

  (void) stream;
  (void) status;
  list_frames (plan, in, out);
  cf_parallel_for (m->n_tasks, run_task, m);
  if (m->win.ahead == 0)
    keep_frame (plan, in);
  return CF_OK;
}

static CfCode
push_history (CfPlan *plan, CfStream *stream, const CfImage *in, CfStatus *status)
{
  (void) stream;
  (void) status;
  keep_frame (plan, in);
  return CF_OK;
}

static void
reset (CfPlan *plan)
{
  ((CfMedianCpu *) plan->state)->n_kept = 0;
}

const CfOps cf_median_cpu = {
  .state_size = sizeof (CfMedianCpu),
  .init = init,
  .update = update,
  .enqueue = enqueue,
  .push_history = push_history,
  .resize = cut_frames,
  .reset = reset,
  .free = release,
  .variants = variants,
};
