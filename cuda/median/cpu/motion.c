/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/motion.c: which blocks and cells of a frame move. Three passes: each row of cells by itself (blocks), the
 * tiles, and each row of cells again (what counts, and the update). */
#include "motion.h"

#include "core/cpu.h"
#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

#define SIDE (CF_RUNNING_CELL / CF_RUNNING_BLOCK) /* blocks of a cell's side */

static int
clamp (int v, int s)
{
  return v < -s ? -s : v > s ? s : v;
}

CfCode
cf_motion_init (CfMotion *m, const CfRunning *r, const CfFormatInfo *info, CfStatus *status)
{
  const size_t cells = (size_t) r->n_cells, blocks = cells * SIDE * SIDE;
  const size_t tiles = (size_t) r->tiles_x * (size_t) r->tiles_y, row = (size_t) r->columns * CF_RUNNING_CELL;

  m->r = r;
  m->blocks_x = r->columns * SIDE;
  m->blocks_y = r->rows * SIDE;
  m->n_colors = info->rgb ? 3 : 1;
  m->size = info->bytes - 1;
  m->shift = info->bits - (info->rgb ? 5 : 8);
  /* Sums of three colors for a row of blocks, and a row of samples. What else is needed is less. */
  m->scratch_size = ((size_t) m->blocks_x * 3 * sizeof (uint32_t) + row * sizeof (uint16_t) + 63) / 64 * 64;
  m->x = malloc (blocks * sizeof *m->x);
  m->before = malloc (blocks * sizeof *m->before);
  m->back = malloc (blocks * sizeof *m->back);
  m->noise = malloc (blocks * sizeof *m->noise);
  m->block = malloc (blocks * sizeof *m->block);
  m->flags = malloc (blocks);
  m->past = malloc (cells * sizeof *m->past);
  m->cell = malloc (cells * sizeof *m->cell);
  m->tile = malloc (tiles * sizeof *m->tile);
  m->window = malloc (tiles * sizeof *m->window);
  m->survey = malloc ((size_t) r->rows * sizeof *m->survey);
  m->state = calloc (cells, sizeof *m->state);
  m->scratch = aligned_alloc (64, m->scratch_size * (size_t) cf_cpu_threads ());
  if (!m->x || !m->before || !m->back || !m->noise || !m->block || !m->flags || !m->past || !m->cell || !m->tile ||
      !m->window || !m->survey || !m->state || !m->scratch)
    return cf_fail (status, CF_NO_MEMORY, "out of memory: the blocks of %d x %d pixels", r->width, r->height);
  return CF_OK;
}

void
cf_motion_free (CfMotion *m)
{
  void *const all[] = { m->x, m->before, m->back, m->noise, m->block, m->flags, m->past, m->cell, m->tile, m->window,
    m->survey, m->state, m->scratch };

  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    free (all[i]);
}

/* ---- blocks ------------------------------------------------------------- */

/* Computes the values of a row of blocks. */
static void
sum_blocks (const CfMotion *m, int by, uint8_t *scratch)
{
  const int n = m->blocks_x, width = m->r->columns * CF_RUNNING_CELL;
  uint32_t *const sum = (uint32_t *) (void *) scratch;
  uint16_t *const x = m->x + (size_t) by * (size_t) n;
  uint8_t *const row = scratch + (size_t) n * 3 * sizeof *sum;

  if (by >= m->r->real_y) {
    memset (x, 0, (size_t) n * sizeof *x);
    return;
  }
  memset (sum, 0, (size_t) n * (size_t) m->n_colors * sizeof *sum);
  for (int color = 0; color < m->n_colors; color++)
    for (int y = 0; y < CF_RUNNING_BLOCK; y++) {
      m->simd->unpack[m->size](&m->in[color], by * CF_RUNNING_BLOCK + y, 0, width, row);
      m->simd->sum4[m->size](row, n, sum + color * n);
    }
  if (m->n_colors == 1)
    for (int i = 0; i < n; i++)
      x[i] = (uint16_t) (sum[i] >> m->shift);
  else
    for (int i = 0; i < n; i++)
      x[i] = (uint16_t) ((2 * sum[i] + 5 * sum[i + n] + sum[i + 2 * n]) >> m->shift);
  for (int i = m->r->real_x; i < n; i++)
    x[i] = 0;
}

/* Returns whether a changed block is distinct. */
static bool
is_distinct (const CfMotion *m, int bx, int by, int threshold)
{
  const int n = m->blocks_x, x = m->x[by * n + bx];
  int low = 65535, high = 0;

  for (int v = cf_max (by - 1, 0); v <= cf_min (by + 1, m->r->real_y - 1); v++)
    for (int u = cf_max (bx - 1, 0); u <= cf_min (bx + 1, m->r->real_x - 1); u++) {
      low = cf_min (low, m->back[v * n + u]);
      high = cf_max (high, m->back[v * n + u]);
    }
  return cf_max (low - x, x - high) > threshold;
}

static int
threshold_of (const CfMotion *m, int block)
{
  return cf_max (m->threshold_least, m->noise[block]);
}

/* Takes a pair of neighbouring blocks into a cell's edges. */
static void
take_pair (const CfMotion *m, CfMotionCell *cell, int a, int b)
{
  const int t = cf_max (threshold_of (m, a), threshold_of (m, b)), te = t + t / 4 + t / 8;
  const int xa = m->x[a], xb = m->x[b], ba = m->back[a], bb = m->back[b];

  if (abs ((xb - xa) - (bb - ba)) <= te || abs (xb * ba - xa * bb) <= te * cf_max (16, cf_min (ba, bb)))
    return;
  cell->edges++;
  if (!((m->flags[a] ^ m->flags[b]) & 1))
    return;
  cell->balance = (int8_t) (cell->balance + (abs (xb - xa) > abs (bb - ba)) - (abs (xb - xa) < abs (bb - ba)));
}

/* Looks closely at a cell with L >= 2. */
static void
look (const CfMotion *m, CfMotionCell *cell, int cx, int cy)
{
  for (int i = 0; i < SIDE * SIDE; i++) {
    const int bx = cx * SIDE + i % SIDE, by = cy * SIDE + i / SIDE, block = by * m->blocks_x + bx;

    if (m->flags[block] & 1) {
      cell->changed |= (uint16_t) (1 << i);
      if (is_distinct (m, bx, by, threshold_of (m, block))) {
        cell->apart |= (uint16_t) (1 << i);
        cell->n_distinct++;
      }
    }
    if (i % SIDE < SIDE - 1)
      take_pair (m, cell, block, block + 1);
    if (i / SIDE < SIDE - 1)
      take_pair (m, cell, block, block + m->blocks_x);
  }
}

static void
block_task (void *data, int cy, int thread)
{
  const CfMotion *m = data;
  const int n = m->blocks_x;
  uint8_t *const scratch = m->scratch + (size_t) thread * m->scratch_size;
  int16_t *const drift = (int16_t *) (void *) scratch;
  uint8_t *const changed = scratch + (size_t) n * 2, *const restless = changed + n;

  for (int y = 0; y < SIDE; y++)
    sum_blocks (m, cy * SIDE + y, scratch);
  if (m->first)
    return;
  memset (scratch, 0, (size_t) n * 4);
  m->survey[cy] = (CfMedianSurvey) { 0 };
  for (int y = 0; y < SIDE; y++) {
    const int at = (cy * SIDE + y) * n;

    m->simd->compare (m->x + at, m->before + at, m->back + at, m->noise + at, n, m->threshold_least, m->flags + at,
        changed, restless, drift);
    if (cy * SIDE + y < m->r->real_y)
      m->simd->survey (m->x + at, m->before + at, m->back + at, m->noise + at, m->r->real_x, m->threshold_least,
          &m->survey[cy]);
  }
  for (int cx = 0; cx < m->r->columns; cx++) {
    CfMotionCell *cell = &m->cell[cy * m->r->columns + cx];
    CfMotionPast *past = &m->past[cy * m->r->columns + cx];

    past->was_ghost = past->ghost;
    *cell = (CfMotionCell) { 0 };
    for (int i = cx * SIDE; i < (cx + 1) * SIDE; i++) {
      cell->n_changed = (uint8_t) (cell->n_changed + changed[i]);
      cell->n_restless = (uint8_t) (cell->n_restless + restless[i]);
      cell->drift = (int16_t) (cell->drift + drift[i]);
    }
    if (cell->n_changed >= CF_RUNNING_NEED)
      look (m, cell, cx, cy);
  }
}

/* ---- tiles -------------------------------------------------------------- */

static void
add (CfRunningSums *to, const CfRunningSums *from)
{
  to->changed += from->changed;
  to->edges += from->edges;
  to->restless += from->restless;
  to->cells += from->cells;
  to->distinct += from->distinct;
  to->drift += from->drift;
  to->steady += from->steady;
}

static bool
is_smooth (const CfRunningSums *window)
{
  return window->changed >= 32 && window->changed > 3 * window->edges;
}

static int
tile_of (const CfRunning *r, int cx, int cy)
{
  return cy / r->tile * r->tiles_x + cx / r->tile;
}

static void
sum_tiles (CfMotion *m)
{
  const CfRunning *r = m->r;

  memset (m->tile, 0, (size_t) r->tiles_x * (size_t) r->tiles_y * sizeof *m->tile);
  memset (m->window, 0, (size_t) r->tiles_x * (size_t) r->tiles_y * sizeof *m->window);
  for (int i = 0; i < r->n_cells; i++) {
    const CfMotionCell *c = &m->cell[i];
    const CfRunningSums sums = { c->n_changed, c->edges, c->n_restless, c->n_changed >= CF_RUNNING_NEED,
      c->n_distinct >= CF_RUNNING_NEED, c->drift, SIDE * SIDE - c->n_changed };

    add (&m->tile[tile_of (r, i % r->columns, i / r->columns)], &sums);
  }
  for (int y = 0; y < r->tiles_y; y++)
    for (int x = 0; x < r->tiles_x; x++)
      for (int v = cf_max (y - 1, 0); v <= cf_min (y + 1, r->tiles_y - 1); v++)
        for (int u = cf_max (x - 1, 0); u <= cf_min (x + 1, r->tiles_x - 1); u++)
          add (&m->window[y * r->tiles_x + x], &m->tile[v * r->tiles_x + u]);
}

/* Decides what the frame is, and the levels of the next one. */
static void
decide (CfMotion *m)
{
  const int n = m->r->n_cells;
  CfScene *s = &m->scene;
  CfRunningSums all = { 0 };
  int smooth = 0;
  uint64_t sum = 0;

  for (int i = 0; i < m->r->tiles_x * m->r->tiles_y; i++) {
    add (&all, &m->tile[i]);
    if (is_smooth (&m->window[i]))
      smooth += m->tile[i].cells;
  }
  *s = (CfScene) { .blocks = (uint32_t) (m->r->real_x * m->r->real_y), .anew = 5 * all.cells > 3 * n };
  for (int y = 0; y < m->r->rows; y++) {
    const CfMedianSurvey *row = &m->survey[y];

    s->equal += row->equal;
    s->dark += row->dark;
    s->bright += row->bright;
    s->edges += row->edges;
    s->back_edges += row->back_edges;
    s->same_edges += row->same_edges;
    sum += row->sum;
  }
  s->mean = (uint32_t) (sum / s->blocks);
  s->loose = !s->anew && 20 * all.cells > n && 2 * all.distinct < all.cells;
  s->lit = !s->anew && 8 * smooth >= n;
  m->lights = !s->anew && smooth * (m->level.lit > 0 ? 128 : 8) >= n;
  if (!s->anew)
    m->level.lit = cf_max (0, (s->lit ? 45 : m->level.lit) - 1);
  m->level.floor = 50 * all.restless > 16 * n ? cf_min (CF_RUNNING_FLOOR, m->level.floor + 8)
                                              : cf_max (0, m->level.floor - 1);
}

/* ---- cells -------------------------------------------------------------- */

static bool
is_lit (const CfMotion *m, int cx, int cy)
{
  return m->lights && is_smooth (&m->window[tile_of (m->r, cx, cy)]);
}

/* Returns whether a cell counts, ghost or not. */
static bool
counts (const CfMotion *m, int cx, int cy)
{
  const CfMotionCell *cell = &m->cell[cy * m->r->columns + cx];

  if (m->scene.anew)
    return false;
  if (m->scene.loose)
    return cell->n_distinct >= CF_RUNNING_NEED;
  return cell->n_changed >= CF_RUNNING_NEED && !is_lit (m, cx, cy);
}

/* Returns whether a cell that stands still is a ghost. */
static bool
is_ghost (const CfMotion *m, int cx, int cy)
{
  bool beside = false;
  int sum = 0;

  for (int v = cf_max (cy - 1, 0); v <= cf_min (cy + 1, m->r->rows - 1); v++)
    for (int u = cf_max (cx - 1, 0); u <= cf_min (cx + 1, m->r->columns - 1); u++) {
      if (counts (m, u, v))
        sum += m->cell[v * m->r->columns + u].balance;
      beside |= m->past[v * m->r->columns + u].was_ghost && (u != cx || v != cy);
    }
  return sum < 0 || (sum == 0 && beside);
}

/* Writes the new backgrounds of a cell that takes or holds to its columns of the rows of blocks at `to`. */
static void
set_back (const CfMotion *m, int cx, int cy, bool take, uint16_t *to)
{
  const CfRunningSums *window = &m->window[tile_of (m->r, cx, cy)];
  const int drift = window->drift / cf_max (1, window->steady);

  for (int i = 0; i < SIDE * SIDE; i++) {
    const int column = cx * SIDE + i % SIDE, block = (cy * SIDE + i / SIDE) * m->blocks_x + column;

    if (take)
      to[i / SIDE * m->blocks_x + column] = m->x[block];
    else if (m->flags[block] & 1)
      to[i / SIDE * m->blocks_x + column] = (uint16_t) cf_max (0,
          cf_min (4095, m->back[block] + clamp (m->x[block] - m->back[block], 1) + drift));
  }
}

/* Notes for the output what happens to the blocks of a cell. */
static void
set_blocks (const CfMotion *m, int cx, int cy, bool moves, bool take, bool hold)
{
  for (int i = 0; i < SIDE * SIDE; i++) {
    const int block = (cy * SIDE + i / SIDE) * m->blocks_x + cx * SIDE + i % SIDE;
    const bool changed = m->flags[block] & 1;
    int to = take || m->scene.anew ? CF_RUNNING_TAKE : CF_RUNNING_FOLLOW;

    if (m->scene.loose || (hold && changed))
      to = CF_RUNNING_HOLD;
    m->block[block] = (uint16_t) (to | (moves && changed ? CF_MOTION_MASKS : 0) |
        3 * threshold_of (m, block) >> 4 << CF_MOTION_LEVEL);
  }
}

static void
cell_task (void *data, int cy, int thread)
{
  const CfMotion *m = data;
  const bool updates = !m->scene.anew && !m->scene.loose;
  const size_t row = (size_t) cy * SIDE * (size_t) m->blocks_x, n = SIDE * (size_t) m->blocks_x;
  uint16_t *const back = m->back + row,
                  *const to = (uint16_t *) (void *) (m->scratch + (size_t) thread * m->scratch_size);

  if (updates)
    m->simd->near (m->x + row, back, (int) n, CF_RUNNING_STEP, to);
  for (int cx = 0; cx < m->r->columns; cx++) {
    const int at = cy * m->r->columns + cx;
    const CfMotionCell *cell = &m->cell[at];
    CfMotionPast *past = &m->past[at];
    const bool changed = cell->n_changed >= CF_RUNNING_NEED, lit = is_lit (m, cx, cy), counted = counts (m, cx, cy);
    const uint16_t k = m->scene.loose ? cell->apart : cell->changed;
    bool ghost, now, moves, sure;

    past->still = (uint8_t) (counted && cell->n_restless < 2 ? cf_min (past->still + 1, CF_RUNNING_STILL) : 0);
    ghost = past->ghost = past->still >= CF_RUNNING_STILL && is_ghost (m, cx, cy);
    now = counted && !ghost;
    moves = now || (m->scene.loose && changed && !lit && !ghost);
    sure = now && __builtin_popcount (k & past->mask[0] & past->mask[1]) >= CF_RUNNING_SURE;
    past->mask[1] = past->mask[0];
    past->mask[0] = now ? k : 0;
    m->state[at] = (uint16_t) (cell->n_changed | (moves ? CF_RUNNING_MOVES : 0) | (now ? CF_RUNNING_COUNTS : 0) |
        (sure ? CF_RUNNING_IS_SURE : 0));
    if (updates && (ghost || now || (changed && lit)))
      set_back (m, cx, cy, !now, to);
    if (m->wants_blocks)
      set_blocks (m, cx, cy, moves, ghost || (changed && lit), now);
  }
  if (updates) {
    memcpy (back, to, n * sizeof *to);
    m->simd->quiet (m->x + row, m->before + row, m->noise + row, (int) n);
  } else if (m->scene.anew)
    memcpy (back, m->x + row, n * sizeof *back);
}

/* ---- frames ------------------------------------------------------------- */

static void
begin (CfMotion *m)
{
  const size_t cells = (size_t) m->r->n_cells, blocks = cells * SIDE * SIDE;

  memcpy (m->back, m->x, blocks * sizeof *m->back);
  memset (m->past, 0, cells * sizeof *m->past);
  memset (m->state, 0, cells * sizeof *m->state);
  m->level = (CfRunningLevel) { 0 };
  m->scene = (CfScene) { 0 };
  for (size_t i = 0; i < blocks; i++) {
    m->noise[i] = CF_RUNNING_NOISE;
    m->block[i] = CF_RUNNING_TAKE;
  }
}

void
cf_motion_frame (CfMotion *m, const CfView *in, const CfRunningFrame *frame)
{
  uint16_t *x = m->x;

  m->in = in;
  m->first = frame->first;
  m->wants_blocks = frame->back;
  m->threshold_least = cf_max (CF_RUNNING_LEAST, m->level.floor);
  cf_parallel_for (m->r->rows, block_task, m);
  if (frame->first)
    begin (m);
  else {
    sum_tiles (m);
    decide (m);
    cf_parallel_for (m->r->rows, cell_task, m);
  }
  m->x = m->before;
  m->before = x;
}
