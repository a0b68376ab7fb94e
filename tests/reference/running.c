/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * tests/reference/running.c: the running median and motion, written from their contract (cuda/median/running.h): a
 * sample at a time, with the sums of the contract, and groups of cells by flood fill. */
#include "check/kernelcheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 16

typedef struct {
  bool begun;
  int64_t sum;       /* a(t) */
  KcPlane before[4]; /* B(t - 1) */
  int *hold;         /* frames for which a cell stays in motion, the last frame included */
  int columns, rows;
} State;

typedef struct {
  const CfFormatInfo *info;
  CfVideo video; /* not interlaced */
  const CfCommon *common;
  char output; /* the first letter of its name */
  int64_t step, threshold, largest;
  uint8_t *moves; /* of each pixel */
} Frame;

static void
free_state (void *state_)
{
  State *state = state_;

  for (int c = 0; state && c < 4; c++)
    g_free (state->before[c].v);
  if (state)
    g_free (state->hold);
  g_free (state);
}

static State *
new_state (const CfVideo *video)
{
  State *state = g_new0 (State, 1);

  state->columns = (video->width + SIDE - 1) / SIDE;
  state->rows = (video->height + SIDE - 1) / SIDE;
  state->hold = g_new0 (int, state->columns * state->rows);
  return state;
}

/* ---- samples ------------------------------------------------------------ */

static void
take_step (State *state, Frame *f, double rate)
{
  const int64_t one = (int64_t) 1 << 24, before = state->sum / one;

  f->step = f->largest;
  if (state->begun) {
    state->sum += (int64_t) floor (ldexp (rate, 24) + 0.5) * f->largest;
    f->step = state->sum / one - before;
  }
}

static bool
is_chroma (const Frame *f, int c)
{
  return f->info->comp[c].role == CF_ROLE_CHROMA;
}

/* Moves the background of a component to x, and notes which pixels move. */
static void
follow (State *state, Frame *f, int c, const KcPlane *x)
{
  KcPlane *b = &state->before[c];

  if (!b->v) {
    *b = *x;
    b->v = g_new0 (uint32_t, x->w * x->h);
  }
  for (int i = 0; i < x->w * x->h; i++) {
    int64_t by = (int64_t) x->v[i] - b->v[i];

    if (!state->begun)
      b->v[i] = x->v[i];
    else if (by > 0)
      b->v[i] += (uint32_t) MIN (by, f->step);
    else
      b->v[i] -= (uint32_t) MIN (-by, f->step);
    if (!is_chroma (f, c) && llabs ((int64_t) x->v[i] - b->v[i]) > f->threshold)
      f->moves[i] = 1;
  }
}

static void
put (const State *state, const Frame *f, int c, KcPlane *x, const CfImage *out)
{
  for (int i = 0; i < x->w * x->h; i++) {
    const int64_t b = state->before[c].v[i], d = llabs (x->v[i] - b), mid = (f->largest + 1) / 2;

    if (f->output == 'b')
      x->v[i] = (uint32_t) b;
    else if (is_chroma (f, c))
      x->v[i] = (uint32_t) mid;
    else
      x->v[i] = (uint32_t) (f->output == 'd' ? d : f->moves[i] ? f->largest : 0);
  }
  kc_pack (&f->video, out, c, 0, x);
}

static void
filter (State *state, Frame *f, const CfImage *in, const CfImage *out)
{
  KcPlane x[4] = { 0 };

  for (int c = 0; c < f->info->n_components; c++)
    if (kc_is_filtered (f->info, c, f->common)) {
      x[c] = kc_unpack (&f->video, in, c, 0);
      follow (state, f, c, &x[c]);
    }
  for (int c = 0; c < f->info->n_components; c++)
    if (!x[c].v || f->output == 'r')
      kc_copy_component (in, out, c);
    else
      put (state, f, c, &x[c], out);
  for (int c = 0; c < 4; c++)
    g_free (x[c].v);
  state->begun = true;
}

/* ---- cells -------------------------------------------------------------- */

/* Fills the group of cells with in[] set that touch `cell`: sets their group[] to `number` (-1: none yet). */
static void
flood (const State *state, const bool *in, int *group, int cell, int number)
{
  const int n = state->columns * state->rows;
  g_autofree int *stack = g_new (int, n);
  int top = 0;

  group[cell] = number;
  stack[top++] = cell;
  while (top > 0) {
    const int x = stack[--top] % state->columns, y = stack[top] / state->columns;

    for (int v = MAX (y - 1, 0); v <= MIN (y + 1, state->rows - 1); v++)
      for (int u = MAX (x - 1, 0); u <= MIN (x + 1, state->columns - 1); u++)
        if (in[v * state->columns + u] && group[v * state->columns + u] < 0) {
          group[v * state->columns + u] = number;
          stack[top++] = v * state->columns + u;
        }
  }
}

/* Numbers the groups in the order of their first cells; returns how many there are. */
static int
groups_of (const State *state, const bool *in, int *group)
{
  const int n = state->columns * state->rows;
  int count = 0;

  for (int i = 0; i < n; i++)
    group[i] = -1;
  for (int i = 0; i < n; i++)
    if (in[i] && group[i] < 0)
      flood (state, in, group, i, count++);
  return count;
}

/* Keeps in `held` the cells that are in motion in this frame. */
static void
hold_cells (State *state, const Frame *f, int min_area, int hold, bool *held)
{
  const int n = state->columns * state->rows;
  g_autofree int *moving = g_new0 (int, n), *size = g_new0 (int, n), *group = g_new (int, n), *sum = g_new0 (int, n);
  g_autofree bool *active = g_new0 (bool, n);

  for (int y = 0; y < f->video.height; y++)
    for (int x = 0; x < f->video.width; x++) {
      const int cell = y / SIDE * state->columns + x / SIDE;

      size[cell]++;
      moving[cell] += f->moves[y * f->video.width + x];
    }
  for (int i = 0; i < n; i++)
    active[i] = moving[i] >= size[i] / 8.0;
  groups_of (state, active, group);
  for (int i = 0; i < n; i++)
    if (active[i])
      sum[group[i]] += moving[i];
  for (int i = 0; i < n; i++) {
    const bool kept = active[i] && sum[group[i]] >= min_area;

    state->hold[i] = kept ? hold + 1 : MAX (MIN (state->hold[i], hold + 1) - 1, 0);
    held[i] = state->hold[i] > 0;
  }
}

static void
find (State *state, const Frame *f, int min_area, int hold, KcRegions *regions)
{
  const int n = state->columns * state->rows;
  g_autofree bool *held = g_new0 (bool, n);
  g_autofree int *group = g_new (int, n);

  hold_cells (state, f, min_area, hold, held);
  regions->n = (unsigned) groups_of (state, held, group);
  regions->region = g_new0 (CfRegion, regions->n + 1);
  for (unsigned i = 0; i < regions->n; i++) {
    CfRegion *r = &regions->region[i];
    double sum_x = 0, sum_y = 0;
    int left = f->video.width, top = f->video.height, right = 0, bottom = 0;

    r->id = i + 1;
    for (int y = 0; y < f->video.height; y++)
      for (int x = 0; x < f->video.width; x++)
        if (group[y / SIDE * state->columns + x / SIDE] == (int) i) {
          r->area++;
          sum_x += x;
          sum_y += y;
          left = MIN (left, x);
          top = MIN (top, y);
          right = MAX (right, x + 1);
          bottom = MAX (bottom, y + 1);
        }
    r->x = left;
    r->y = top;
    r->width = right - left;
    r->height = bottom - top;
    r->centroid_x = sum_x / r->area;
    r->centroid_y = sum_y / r->area;
  }
}

/* ---- frames ------------------------------------------------------------- */

static void
stateful_reference (const CfFilter *filter_, const CfVideo *video, const CfCommon *common, const void *params,
    void **state_, const CfImage *in, const CfImage *out, KcRegions *regions)
{
  const CfFormatInfo *info = cf_format_info (video->format);
  const int64_t levels = (int64_t) 1 << info->bits;
  const int threshold = kc_param_int (filter_, params, "threshold", 0);
  const bool motion = kc_param_int (filter_, params, "motion-meta", 0) != 0;
  Frame f = { .info = info,
    .video = *video,
    .common = common,
    .output = kc_param_name (filter_, params, "output")[0],
    .threshold = threshold ? threshold : levels / 16,
    .largest = levels - 1,
    .moves = g_malloc0 ((size_t) video->width * (size_t) video->height) };
  State *state = *state_ ? *state_ : new_state (video);

  *state_ = state;
  f.video.interlaced = false;
  take_step (state, &f, kc_param_double (filter_, params, "rate"));
  filter (state, &f, in, out);
  if (!motion)
    memset (state->hold, 0, (size_t) (state->columns * state->rows) * sizeof *state->hold);
  else if (regions)
    find (state, &f, kc_param_int (filter_, params, "motion-min-area", 0),
        kc_param_int (filter_, params, "motion-hold", 0), regions);
  g_free (f.moves);
}

static bool
reference (const CfFilter *filter_, const CfVideo *video, const CfCommon *common, const void *params,
    const CfImage *const *seen, int n_seen, const CfImage *out)
{
  void *state = NULL;

  for (int i = n_seen - 1; i >= 0; i--)
    stateful_reference (filter_, video, common, params, &state, seen[i], out, NULL);
  free_state (state);
  return true;
}

/* A gray sample that jumps from 10 to 100, at a rate of 2.55 levels a frame: a(t) = 2.55 t, so 2, 3, 2, 3 levels. */
static int
check_reference (void)
{
  static const uint8_t right[] = { 10, 12, 15, 17, 20, 22, 25, 27, 30 };
  const CfFilter *filter_ = cf_filter_find ("median");
  const CfVideo video = { CF_FORMAT_GRAY8, 1, 1, false };
  const CfCommon common = { 0 };
  void *params = kc_params_new (filter_, "temporal-method=running output=background rate=0.01", NULL), *state = NULL;
  uint8_t in = 10, out = 0;
  const CfImage from = { CF_FORMAT_GRAY8, 1, 1, { { &in, 1 } } }, to = { CF_FORMAT_GRAY8, 1, 1, { { &out, 1 } } };
  int failures = 0;

  for (size_t i = 0; i < G_N_ELEMENTS (right); i++, in = 100) {
    stateful_reference (filter_, &video, &common, params, &state, &from, &to, NULL);
    failures += out != right[i];
  }
  free_state (state);
  cf_params_free (filter_, params);
  return failures;
}

/* ---- cases -------------------------------------------------------------- */

#define RUNNING "temporal-method=running "

/* Of random samples, the thresholds make about every second cell active: 165, 660 and 42000 of 8, 10 and 16 bits. */
static const char *const settings[] = { RUNNING "output=result motion-meta=1 rate=0.02 threshold=165 motion-hold=1",
  RUNNING "output=background rate=0.1", RUNNING "output=difference rate=0.05 motion-meta=1 motion-hold=0 threshold=660",
  RUNNING "output=mask rate=0.3 threshold=30 motion-meta=1 motion-min-area=300",
  RUNNING "output=background rate=0.0039 motion-meta=1 threshold=42000 motion-hold=2",
  RUNNING "output=mask rate=1 motion-meta=1", RUNNING "output=result", RUNNING "output=mask rate=0 threshold=165",
  RUNNING "output=background rate=0", RUNNING "output=background rate=1", RUNNING "output=background rate=0.00001",
  RUNNING "output=difference rate=0.5 threshold=5", RUNNING "output=mask threshold=65535 motion-meta=1",
  RUNNING "output=result motion-meta=1 threshold=160 motion-hold=0 motion-min-area=60",
  RUNNING "output=mask motion-meta=1 threshold=1000 motion-hold=10000 kernel-size=5 temporal-depth=3",
  RUNNING "output=difference motion-meta=1 threshold=42000 rate=0.7 color-order=packed", NULL };
static const char *const large_settings[] = { RUNNING "output=result motion-meta=1 rate=0.02",
  RUNNING "output=mask threshold=12 motion-meta=1 motion-min-area=40", RUNNING "output=background rate=0.01", NULL };
static const char *const bad_settings[] = { "temporal-method=2", "output=4", "rate=-0.001", "rate=1.001", "rate=nan",
  "motion-min-area=-1", "motion-hold=-1", "motion-hold=10001", "min-age=-1", "min-age=10001", "zones=a",
  "zones=a:", "zones=: 0,0 1,0 1,1", "zones=a: 0,0 1,1", "zones=a: 0,0 1,0 1", "zones=a: 0,0 1,0 1,x",
  "zones=a: 0,0 1,0 1,1.01", "zones=a: 0,0 1,0 -1,1", "zones=a: 0,0,,1,0 1,1 0,1", "zones=a: 0,0 1,0 .,1",
  "zones=a: 0,0 1,0 1,1; a: 0,0 1,0 1,1", "zones=a: 0,0 1,0 1,1; 0,0 1,0 1,1", NULL };

static void
random_setting (GString *text, uint64_t *state)
{
  static const char *const outputs[] = { "result", "background", "difference", "mask" };
  const double u = kc_random_double (state), v = kc_random_double (state), w = kc_random_double (state);

  g_string_append_printf (text, RUNNING "output=%s rate=%.17g threshold=%d motion-meta=%d",
      outputs[kc_random (state) % 4], kc_random (state) % 4 ? u * u * u : u,
      (int) (v * (kc_random (state) % 2 ? 255 : 65535)), kc_random (state) % 4 > 0);
  g_string_append_printf (text, " motion-hold=%d motion-min-area=%d", (int) (kc_random (state) % 4),
      (int) (w * w * w * 1000));
}

const KcFilter kc_running = {
  .stem = "median",
  .reference = reference,
  .stateful_reference = stateful_reference,
  .free_state = free_state,
  .has_regions = true,
  .check_reference = check_reference,
  .random_setting = random_setting,
  .script = "EEE",
  .settings = settings,
  .frame_settings = settings,
  .large_settings = large_settings,
  .bad_settings = bad_settings,
  .right = RUNNING "output=background rate=0.1 motion-meta=1",
  .wrong = RUNNING "output=background rate=0.11 motion-meta=1",
  .bench = (const KcBench[]) { { 0 } },
  .bench_formats = "GRAY8",
};
