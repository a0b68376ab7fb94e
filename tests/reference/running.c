/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * tests/reference/running.c: the running background and motion, written from their contract (cuda/median/running.h):
 * one block, cell and sample at a time, and groups of cells by flood fill. */
#include "running.h"

#include <stdlib.h>
#include <string.h>

unsigned long rn_reached[RN_N_BRANCHES];

typedef struct {
  RnState *s;
  const CfFormatInfo *info;
  CfVideo video; /* not interlaced */
  const CfCommon *common;
  KcPlane z[4]; /* samples of all components but alpha */
  char output;  /* the first letter of its name */
} Frame;

static bool
reached (RnBranch branch, bool so)
{
  rn_reached[branch] += so;
  return so;
}

static int
clamp (int v, int s)
{
  return v < -s ? -s : v > s ? s : v;
}

/* ---- the state ---------------------------------------------------------- */

void
rn_free_state (void *state_)
{
  RnState *s = state_;

  if (!s)
    return;
  for (int c = 0; c < 4; c++)
    g_free (s->p[c].v);
  g_free (s->block);
  g_free (s->cell);
  g_free (s->tile);
  g_free (s);
}

static RnState *
new_state (const CfVideo *video)
{
  RnState *s = g_new0 (RnState, 1);
  int n;

  s->columns = (video->width + RN_CELL - 1) / RN_CELL;
  s->rows = (video->height + RN_CELL - 1) / RN_CELL;
  s->side = MAX (2, (s->rows + 3) / 7);
  n = s->columns * s->rows;
  s->block = g_new0 (RnBlock, n * RN_BLOCKS * RN_BLOCKS);
  s->cell = g_new0 (RnCell, n);
  s->tile = g_new0 (RnTile, n); /* more than there are */
  return s;
}

static int
n_cells (const RnState *s)
{
  return s->columns * s->rows;
}

static RnBlock *
block_at (const RnState *s, int x, int y)
{
  return &s->block[y * s->columns * RN_BLOCKS + x];
}

/* Returns block i of a cell, 0 .. 15. */
static RnBlock *
block_of (const RnState *s, int cell, int i)
{
  return block_at (s, cell % s->columns * RN_BLOCKS + i % RN_BLOCKS, cell / s->columns * RN_BLOCKS + i / RN_BLOCKS);
}

static int
tile_columns (const RnState *s)
{
  return (s->columns + s->side - 1) / s->side;
}

static int
n_tiles (const RnState *s)
{
  return tile_columns (s) * ((s->rows + s->side - 1) / s->side);
}

static int
tile_of (const RnState *s, int cell)
{
  return cell / s->columns / s->side * tile_columns (s) + cell % s->columns / s->side;
}

/* Returns whether the cell lies in the window of the tile. */
static bool
in_window (const RnState *s, int tile, int cell)
{
  const int other = tile_of (s, cell), n = tile_columns (s);

  return abs (other % n - tile % n) <= 1 && abs (other / n - tile / n) <= 1;
}

/* ---- blocks ------------------------------------------------------------- */

static int
sample_of_pixel (const Frame *f, int c, int x, int y)
{
  return (int) f->z[c].v[MIN (y, f->video.height - 1) * f->z[c].w + MIN (x, f->video.width - 1)];
}

static int
value_of_block (const Frame *f, int bx, int by)
{
  int sum = 0, colors[3];

  if (f->info->rgb)
    kc_rgb_components (f->info, colors);
  for (int y = by * RN_BLOCK; y < (by + 1) * RN_BLOCK; y++)
    for (int x = bx * RN_BLOCK; x < (bx + 1) * RN_BLOCK; x++)
      sum += f->info->rgb ? 2 * sample_of_pixel (f, colors[0], x, y) + 5 * sample_of_pixel (f, colors[1], x, y) +
              sample_of_pixel (f, colors[2], x, y)
                          : sample_of_pixel (f, 0, x, y);
  return sum >> (f->info->bits - (f->info->rgb ? 5 : 8));
}

static void
measure (RnState *s, const Frame *f)
{
  for (int y = 0; y < s->rows * RN_BLOCKS; y++)
    for (int x = 0; x < s->columns * RN_BLOCKS; x++) {
      RnBlock *b = block_at (s, x, y);

      b->real = RN_BLOCK * x < f->video.width && RN_BLOCK * y < f->video.height;
      b->x = b->real ? value_of_block (f, x, y) : 0;
      b->d = b->x - b->B;
      b->t = abs (b->x - b->X);
      b->T = MAX (112, MAX (b->V, s->G));
      reached (RN_FLOOR, s->number > 0 && s->G > MAX (112, b->V));
      reached (RN_LEAST_T, s->number > 0 && MAX (b->V, s->G) < 112);
      b->changed = abs (b->d) > b->T;
      b->restless = b->t > b->T;
    }
}

static void
find_distinct (RnState *s)
{
  const int w = s->columns * RN_BLOCKS, h = s->rows * RN_BLOCKS;

  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      RnBlock *b = block_at (s, x, y);
      int lo = b->B, hi = b->B;

      for (int v = MAX (y - 1, 0); v <= MIN (y + 1, h - 1); v++)
        for (int u = MAX (x - 1, 0); u <= MIN (x + 1, w - 1); u++) {
          const RnBlock *near = block_at (s, u, v);

          lo = near->real ? MIN (lo, near->B) : lo;
          hi = near->real ? MAX (hi, near->B) : hi;
        }
      b->distinct = MAX (lo - b->x, b->x - hi) > b->T;
    }
}

/* ---- cells -------------------------------------------------------------- */

/* Adds a pair of neighbours to their cell's E and Y. */
static void
count_edge (RnCell *cell, const RnBlock *a, const RnBlock *b)
{
  const int m = MAX (a->T, b->T), limit = m + m / 4 + m / 8;
  const int now = b->x - a->x, before = b->B - a->B;
  const int64_t gain = llabs ((int64_t) b->x * a->B - (int64_t) a->x * b->B);

  if (abs (now - before) <= limit || reached (RN_EDGE_BY_GAIN, gain <= (int64_t) limit * MAX (16, MIN (a->B, b->B))))
    return;
  cell->E++;
  if (a->changed == b->changed)
    return;
  cell->Y += reached (RN_STRONGER_EDGE, abs (now) > abs (before));
  cell->Y -= reached (RN_WEAKER_EDGE, abs (now) < abs (before));
}

static void
count_blocks (RnState *s, int number)
{
  RnCell *cell = &s->cell[number];

  cell->L = cell->U = cell->D = cell->E = cell->Y = 0;
  for (int i = 0; i < RN_BLOCKS * RN_BLOCKS; i++) {
    const RnBlock *b = block_of (s, number, i);

    cell->L += b->changed;
    cell->U += b->restless;
    cell->D += b->distinct;
  }
  for (int i = 0; cell->L >= 2 && i < RN_BLOCKS * RN_BLOCKS; i++) {
    if (i % RN_BLOCKS > 0)
      count_edge (cell, block_of (s, number, i - 1), block_of (s, number, i));
    if (i / RN_BLOCKS > 0)
      count_edge (cell, block_of (s, number, i - RN_BLOCKS), block_of (s, number, i));
  }
}

/* ---- the frame ---------------------------------------------------------- */

static void
judge_tile (RnState *s, int number)
{
  RnTile *tile = &s->tile[number];
  int sum_l = 0, sum_e = 0, sum = 0, n = 0;

  for (int i = 0; i < n_cells (s); i++) {
    if (!in_window (s, number, i))
      continue;
    sum_l += s->cell[i].L;
    sum_e += s->cell[i].E;
    for (int j = 0; j < RN_BLOCKS * RN_BLOCKS; j++)
      if (!block_of (s, i, j)->changed) {
        sum += clamp (block_of (s, i, j)->d, 24);
        n++;
      }
  }
  tile->smooth = sum_l >= 32 && sum_l > 3 * sum_e;
  tile->drift = sum / MAX (1, n);
  reached (RN_SEVERAL_TILES, number > 0 && tile->drift != s->tile[0].drift);
}

static void
judge_light (RnState *s)
{
  const int n = n_cells (s);
  int z = 0;
  bool lit;

  for (int i = 0; i < n_tiles (s); i++)
    judge_tile (s, i);
  for (int i = 0; i < n; i++)
    z += s->cell[i].L >= 2 && s->tile[tile_of (s, i)].smooth;
  lit = z * (s->lit > 0 ? 128 : 8) >= n && !s->anew;
  s->widely_lit = 8 * z >= n && !s->anew;
  reached (RN_LIT, lit && z > 0);
  reached (RN_LIT_AGAIN, lit && z > 0 && 8 * z < n);
  for (int i = 0; i < n_tiles (s); i++)
    s->tile[i].lit = lit && s->tile[i].smooth;
  if (s->anew)
    return;
  if (8 * z >= n)
    s->lit = 45;
  s->lit = MAX (0, s->lit - 1);
}

static void
judge_frame (RnState *s)
{
  const int n = n_cells (s);
  int p = 0, r = 0, u = 0;

  for (int i = 0; i < n; i++) {
    p += s->cell[i].L >= 2;
    r += s->cell[i].D >= 2;
    u += s->cell[i].U;
  }
  s->anew = reached (RN_ANEW, 5 * p > 3 * n);
  s->loose = reached (RN_LOOSE, !s->anew && 20 * p > n && 2 * r < p);
  for (int i = 0; s->anew && i < n; i++)
    s->cell[i].L = s->cell[i].D = s->cell[i].U = s->cell[i].Y = 0;
  reached (RN_LARGE_TILES, s->side > 2);
  judge_light (s);
  s->G = 50 * u > 16 * n ? MIN (256, s->G + 8) : MAX (0, s->G - 1);
}

static void
judge_cell (RnState *s, int number)
{
  RnCell *cell = &s->cell[number];
  const bool dark = !s->tile[tile_of (s, number)].lit;
  bool beside = false;
  int y_sum = 0;

  for (int i = 0; i < n_cells (s); i++) {
    if (abs (i % s->columns - number % s->columns) > 1 || abs (i / s->columns - number / s->columns) > 1)
      continue;
    y_sum += s->cell[i].candidate ? s->cell[i].Y : 0;
    beside |= i != number && s->cell[i].was_ghost;
  }
  cell->ghost = reached (RN_GHOST, cell->candidate && cell->q >= 6 && y_sum < 0) ||
      reached (RN_GHOST_BESIDE, cell->candidate && cell->q >= 6 && y_sum == 0 && beside);
  cell->counts = cell->candidate && !cell->ghost;
  reached (RN_LOOSE_COUNTS, s->loose && cell->counts);

  cell->k = 0;
  for (int i = 0; i < RN_BLOCKS * RN_BLOCKS; i++)
    if (s->loose ? block_of (s, number, i)->distinct : block_of (s, number, i)->changed)
      cell->k |= 1u << i;
  cell->sure = reached (RN_SURE, cell->counts && __builtin_popcount (cell->k & cell->c1 & cell->c2) >= 3);
  cell->c2 = cell->c1;
  cell->c1 = cell->counts ? cell->k : 0;
  cell->moves = cell->counts || (s->loose && cell->L >= 2 && dark && !cell->ghost);
  reached (RN_LOOSE_MOVES, cell->moves && !cell->counts);
}

static void
judge_cells (RnState *s)
{
  for (int i = 0; i < n_cells (s); i++) {
    RnCell *cell = &s->cell[i];

    cell->candidate = s->loose ? cell->D >= 2 : cell->L >= 2 && !s->tile[tile_of (s, i)].lit;
    cell->was_ghost = cell->ghost;
    cell->q = cell->candidate && cell->U < 2 ? cell->q + 1 : 0;
  }
  for (int i = 0; i < n_cells (s); i++)
    judge_cell (s, i);
}

/* ---- the update --------------------------------------------------------- */

static RnAction
choose (const RnState *s, int number, const RnBlock *b)
{
  const RnCell *cell = &s->cell[number];

  if (s->loose)
    return RN_HOLDS;
  if (s->anew || cell->ghost || (cell->L >= 2 && s->tile[tile_of (s, number)].lit))
    return RN_TAKES;
  return b->changed && cell->counts ? RN_HOLDS : RN_FOLLOWS;
}

static void
update_block (const RnState *s, int number, RnBlock *b)
{
  const int drift = s->tile[tile_of (s, number)].drift;

  b->action = choose (s, number, b);
  b->X = b->x;
  if (s->loose)
    return;
  if (b->action == RN_TAKES) {
    b->B = b->x;
    reached (RN_TAKE, !s->anew);
  } else if (b->action == RN_HOLDS) {
    b->B = CLAMP (b->B + clamp (b->d, 1) + drift, 0, 4095);
    reached (RN_HOLD, true);
    reached (RN_DRIFT, drift > 0);
    reached (RN_DRIFT_DOWN, drift < 0);
  } else
    b->B += clamp (b->d, 24);
  if (s->anew)
    return;
  if (reached (RN_NOISE_UP, 7 * b->t > 4 * b->V))
    b->V += (b->V >> 4) + 2;
  else
    b->V -= (b->V >> 6) + 1;
  reached (RN_NOISE_DOWN, b->V < 256);
  reached (RN_NOISE_MOST, b->V > 1280);
  reached (RN_NOISE_LEAST, b->V < 16);
  b->V = CLAMP (b->V, 16, 1280);
}

static void
find_masked (RnState *s)
{
  const int w = s->columns * RN_BLOCKS, h = s->rows * RN_BLOCKS;

  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      bool masked = false;

      for (int v = MAX (y - 1, 0); v <= MIN (y + 1, h - 1); v++)
        for (int u = MAX (x - 1, 0); u <= MIN (x + 1, w - 1); u++)
          masked = masked || (block_at (s, u, v)->changed && s->cell[v / RN_BLOCKS * s->columns + u / RN_BLOCKS].moves);
      block_at (s, x, y)->masked = masked;
    }
}

/* Takes the frame into the state. */
/* Counts what CfScene has of a pair of blocks side by side. */
static void
survey_pair (CfScene *scene, const RnBlock *a, const RnBlock *b)
{
  const int m = MAX (a->T, b->T), limit = m + m / 4 + m / 8;
  const int now = b->x - a->x, before = b->B - a->B;
  const bool strong = abs (now) > limit, was = abs (before) > limit;

  scene->edges += strong;
  scene->back_edges += was;
  scene->same_edges += strong && was && (now > 0) == (before > 0);
}

static void
survey (RnState *s)
{
  CfScene *scene = &s->scene;
  uint64_t sum = 0;

  *scene = (CfScene) { .anew = s->anew, .loose = s->loose, .lit = s->widely_lit };
  for (int y = 0; y < s->rows * RN_BLOCKS; y++)
    for (int x = 0; x < s->columns * RN_BLOCKS; x++) {
      const RnBlock *b = block_at (s, x, y);

      if (!b->real)
        continue;
      scene->blocks++;
      scene->equal += b->t == 0;
      scene->dark += b->x < 384;
      scene->bright += b->x >= 3760;
      sum += (uint64_t) b->x;
      if (x % RN_BLOCKS && block_at (s, x - 1, y)->real)
        survey_pair (scene, block_at (s, x - 1, y), b);
    }
  scene->mean = (uint32_t) (sum / scene->blocks);
}

static void
step (RnState *s, const Frame *f)
{
  measure (s, f);
  s->scene = (CfScene) { 0 };
  if (s->number == 0) {
    for (int i = 0; i < n_cells (s) * RN_BLOCKS * RN_BLOCKS; i++) {
      RnBlock *b = &s->block[i];

      *b = (RnBlock) { .B = b->x, .X = b->x, .V = 256, .x = b->x, .T = 256, .action = RN_TAKES };
    }
    return;
  }
  find_distinct (s);
  for (int i = 0; i < n_cells (s); i++)
    count_blocks (s, i);
  judge_frame (s);
  survey (s);
  judge_cells (s);
  find_masked (s);
  for (int i = 0; i < n_cells (s); i++)
    for (int j = 0; j < RN_BLOCKS * RN_BLOCKS; j++)
      update_block (s, i, block_of (s, i, j));
}

/* ---- the output --------------------------------------------------------- */

static bool
is_chroma (const Frame *f, int c)
{
  return f->info->comp[c].role == CF_ROLE_CHROMA;
}

/* Returns the block of sample (x, y) of a component. */
static const RnBlock *
block_of_sample (const Frame *f, int c, int x, int y)
{
  return block_at (f->s, (x << f->info->comp[c].w_sub) / RN_BLOCK, (y << f->info->comp[c].h_sub) / RN_BLOCK);
}

/* Moves the background of a component. */
static void
move (Frame *f, int c)
{
  RnState *s = f->s;
  const KcPlane *z = &f->z[c];
  KcPlane *p = &s->p[c];

  if (!p->v) {
    *p = *z;
    p->v = g_new (uint32_t, z->w * z->h + 1);
    memcpy (p->v, z->v, sizeof *p->v * (size_t) (z->w * z->h));
    return;
  }
  for (int i = 0; i < z->w * z->h; i++) {
    const RnAction action = block_of_sample (f, c, i % z->w, i / z->w)->action;
    const int by = (int) z->v[i] - (int) p->v[i], u = 1 << (f->info->bits - 8);

    if (action == RN_TAKES)
      p->v[i] = z->v[i];
    else if (action == RN_FOLLOWS || s->number % 16 == 0)
      p->v[i] = (uint32_t) ((int) p->v[i] + clamp (by, u));
    reached (RN_HOLD_16, action == RN_HOLDS && s->number % 16 == 0 && by != 0);
  }
}

static int
distance (const Frame *f, int c, int i)
{
  return abs ((int) f->z[c].v[i] - (int) f->s->p[c].v[i]);
}

/* Returns whether pixel i, whose component c is no chroma, moves. */
static bool
pixel_moves (const Frame *f, int c, int i)
{
  const RnBlock *b = block_of_sample (f, c, i % f->z[c].w, i / f->z[c].w);
  const int limit = (1 << (f->info->bits - 8)) * (3 * b->T >> 4);
  bool far = false;

  if (!b->masked)
    return false;
  for (int k = 0; k < f->info->n_components; k++)
    if (f->z[k].v && f->info->comp[k].role != CF_ROLE_ALPHA && !is_chroma (f, k))
      far = far || distance (f, k, i) > limit;
  reached (RN_MASK, far);
  reached (RN_MASKED_AT_REST, !far);
  return far;
}

static uint32_t
shown (const Frame *f, int c, int i)
{
  const uint32_t p = f->s->p[c].v[i], z = f->z[c].v[i], middle = 1u << (f->info->bits - 1);

  switch (f->output) {
    case 'b':
      return p;
    case 's':
      return block_of_sample (f, c, i % f->z[c].w, i / f->z[c].w)->masked ? p : z;
    case 'd':
      return is_chroma (f, c) ? middle : (uint32_t) distance (f, c, i);
    default:
      return is_chroma (f, c) ? middle : pixel_moves (f, c, i) ? 2 * middle - 1 : 0;
  }
}

static void
show (Frame *f, const CfImage *in, const CfImage *out)
{
  const bool begins = f->output != 'r';

  for (int c = 0; c < f->info->n_components; c++)
    if (kc_is_filtered (f->info, c, f->common) && (begins || f->s->p[c].v))
      move (f, c);
  for (int c = 0; c < f->info->n_components; c++) {
    KcPlane plane = f->z[c];

    if (!kc_is_filtered (f->info, c, f->common) || !begins) {
      kc_copy_component (in, out, c);
      continue;
    }
    plane.v = g_new (uint32_t, plane.w *plane.h + 1);
    for (int i = 0; i < plane.w * plane.h; i++)
      plane.v[i] = shown (f, c, i);
    kc_pack (&f->video, out, c, 0, &plane);
    g_free (plane.v);
  }
}

/* ---- motion ------------------------------------------------------------- */

/* Fills the group of cells with in[] set that touch `cell`: sets their group[] to `number` (-1: none yet). */
static void
flood (const RnState *s, const bool *in, int *group, int cell, int number)
{
  g_autofree int *stack = g_new (int, n_cells (s));
  int top = 0;

  group[cell] = number;
  stack[top++] = cell;
  while (top > 0) {
    const int x = stack[--top] % s->columns, y = stack[top] / s->columns;

    for (int v = MAX (y - 1, 0); v <= MIN (y + 1, s->rows - 1); v++)
      for (int u = MAX (x - 1, 0); u <= MIN (x + 1, s->columns - 1); u++)
        if (in[v * s->columns + u] && group[v * s->columns + u] < 0) {
          group[v * s->columns + u] = number;
          stack[top++] = v * s->columns + u;
        }
  }
}

/* Numbers the groups in the order of their first cells; returns how many there are. */
static int
groups_of (const RnState *s, const bool *in, int *group)
{
  int count = 0;

  for (int i = 0; i < n_cells (s); i++)
    group[i] = -1;
  for (int i = 0; i < n_cells (s); i++)
    if (in[i] && group[i] < 0)
      flood (s, in, group, i, count++);
  return count;
}

/* Sets in[] for the cells that move and whose groups are large enough. */
static void
drop_small (const RnState *s, int min_area, bool *in)
{
  g_autofree int *group = g_new (int, n_cells (s)), *sum = g_new0 (int, n_cells (s));

  for (int i = 0; i < n_cells (s); i++)
    in[i] = s->cell[i].moves;
  groups_of (s, in, group);
  for (int i = 0; i < n_cells (s); i++)
    if (in[i])
      sum[group[i]] += s->cell[i].L;
  for (int i = 0; i < n_cells (s); i++)
    in[i] = in[i] && !reached (RN_DROPPED, 16 * (int64_t) sum[group[i]] < min_area);
}

/* Sets `fresh` of the cells; kept[]: those that move and were not dropped. */
static void
confirm (RnState *s, const bool *kept)
{
  g_autofree int *group = g_new (int, n_cells (s)), *size = g_new0 (int, n_cells (s)),
                 *sure = g_new0 (int, n_cells (s));
  g_autofree bool *in = g_new (bool, n_cells (s));

  for (int i = 0; i < n_cells (s); i++)
    in[i] = kept[i] && s->cell[i].counts;
  groups_of (s, in, group);
  for (int i = 0; i < n_cells (s); i++)
    if (in[i]) {
      size[group[i]]++;
      sure[group[i]] += s->cell[i].sure;
    }
  for (int i = 0; i < n_cells (s); i++) {
    const bool some = in[i] && sure[group[i]] > 0, enough = some && 4 * sure[group[i]] >= size[group[i]];

    s->cell[i].fresh = reached (RN_CONFIRMED, enough);
    reached (RN_UNCONFIRMED, some && !enough);
  }
}

static void
hold (int *left, bool anew, int frames)
{
  *left = anew ? frames + 1 : MAX (MIN (*left, frames + 1) - 1, 0);
}

static void
hold_cells (RnState *s, int min_area, int frames)
{
  g_autofree bool *kept = g_new (bool, n_cells (s));

  drop_small (s, min_area, kept);
  confirm (s, kept);
  for (int i = 0; i < n_cells (s); i++) {
    hold (&s->cell[i].motion, kept[i], frames);
    hold (&s->cell[i].confirmed, s->cell[i].fresh, frames);
  }
}

/* Adds the pixels of the cells of group `number` one by one. */
static void
describe (const Frame *f, const int *group, int number, CfRegion *r)
{
  double sum_x = 0, sum_y = 0;
  int left = f->video.width, top = f->video.height, right = 0, bottom = 0;

  for (int y = 0; y < f->video.height; y++)
    for (int x = 0; x < f->video.width; x++) {
      const int cell = y / RN_CELL * f->s->columns + x / RN_CELL;

      if (group[cell] != number)
        continue;
      r->area++;
      r->confirmed += f->s->cell[cell].confirmed > 0;
      r->fresh += f->s->cell[cell].fresh;
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

static void
list_regions (const Frame *f, KcRegions *regions)
{
  const RnState *s = f->s;
  g_autofree int *group = g_new (int, n_cells (s));
  g_autofree bool *in = g_new (bool, n_cells (s));

  for (int i = 0; i < n_cells (s); i++)
    in[i] = s->cell[i].motion > 0;
  regions->n = (unsigned) groups_of (s, in, group);
  regions->region = g_new0 (CfRegion, regions->n + 1);
  for (unsigned i = 0; i < regions->n; i++) {
    regions->region[i].id = i + 1;
    describe (f, group, (int) i, &regions->region[i]);
  }
}

static void
find_motion (const CfFilter *filter, const void *params, const Frame *f, KcRegions *regions)
{
  if (regions) {
    regions->scene = f->s->scene;
    regions->unknown = f->s->number == 0 || f->s->anew;
  }
  if (kc_param_int (filter, params, "motion-meta", 0)) {
    hold_cells (f->s, kc_param_int (filter, params, "motion-min-area", 0),
        kc_param_int (filter, params, "motion-hold", 0));
    if (regions)
      list_regions (f, regions);
  } else
    for (int i = 0; i < n_cells (f->s); i++)
      f->s->cell[i].motion = f->s->cell[i].confirmed = 0;
}

/* ---- frames ------------------------------------------------------------- */

void
rn_filter (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params, void **state,
    const CfImage *in, const CfImage *out, KcRegions *regions)
{
  const CfFormatInfo *info = cf_format_info (video->format);
  Frame f = { .info = info, .video = *video, .common = common, .output = kc_param_name (filter, params, "output")[0] };

  if (!*state)
    *state = new_state (video);
  f.s = *state;
  f.video.interlaced = false;
  for (int c = 0; c < info->n_components; c++)
    if (info->comp[c].role != CF_ROLE_ALPHA)
      f.z[c] = kc_unpack (&f.video, in, c, 0);
  step (f.s, &f);
  show (&f, in, out);
  find_motion (filter, params, &f, regions);
  f.s->number++;
  for (int c = 0; c < 4; c++)
    g_free (f.z[c].v);
}

static bool
reference (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params,
    const CfImage *const *seen, int n_seen, const CfImage *out)
{
  void *state = NULL;

  for (int i = n_seen - 1; i >= 0; i--)
    rn_filter (filter, video, common, params, &state, seen[i], out, NULL);
  rn_free_state (state);
  return true;
}

/* ---- cases -------------------------------------------------------------- */

#define RUNNING "temporal-method=running "

static const char *const settings[] = { RUNNING "output=result motion-meta=1 motion-hold=1",
  RUNNING "output=background", RUNNING "output=difference motion-meta=1 motion-hold=0 threshold=660",
  RUNNING "output=mask motion-meta=1 motion-min-area=300", RUNNING "output=still motion-meta=1 motion-hold=2",
  RUNNING "output=mask", RUNNING "output=result", RUNNING "output=still",
  RUNNING "output=background motion-meta=1 motion-hold=0 motion-min-area=1",
  RUNNING "output=mask motion-meta=1 motion-hold=10000 kernel-size=5 temporal-depth=3",
  RUNNING "output=difference motion-meta=1 motion-min-area=700 color-order=packed",
  RUNNING "output=still motion-meta=1 motion-hold=5 motion-min-area=2000", RUNNING "output=result tamper=1",
  RUNNING "output=mask motion-meta=1 tamper=1", NULL };
static const char *const large_settings[] = { RUNNING "output=result motion-meta=1",
  RUNNING "output=mask motion-meta=1 motion-min-area=40", RUNNING "output=still motion-meta=1", NULL };
static const char *const bad_settings[] = { "temporal-method=2", "output=5", "motion-min-area=-1", "motion-hold=-1",
  "motion-hold=10001", "min-age=-1", "min-age=10001", "zones=a", "zones=a:", "zones=: 0,0 1,0 1,1", "zones=a: 0,0 1,1",
  "zones=a: 0,0 1,0 1", "zones=a: 0,0 1,0 1,x", "zones=a: 0,0 1,0 1,1.01", "zones=a: 0,0 1,0 -1,1",
  "zones=a: 0,0,,1,0 1,1 0,1", "zones=a: 0,0 1,0 .,1", "zones=a: 0,0 1,0 1,1; a: 0,0 1,0 1,1",
  "zones=a: 0,0 1,0 1,1; 0,0 1,0 1,1", NULL };

static void
random_setting (GString *text, uint64_t *state)
{
  static const char *const outputs[] = { "result", "background", "still", "difference", "mask" };
  const double w = kc_random_double (state);

  g_string_append_printf (text, RUNNING "output=%s motion-meta=%d tamper=%d",
      outputs[kc_random (state) % G_N_ELEMENTS (outputs)], kc_random (state) % 4 > 0, kc_random (state) % 4 == 0);
  g_string_append_printf (text, " motion-hold=%d motion-min-area=%d", (int) (kc_random (state) % 4),
      (int) (w * w * w * 4000));
}

const KcFilter kc_running = {
  .stem = "median",
  .reference = reference,
  .stateful_reference = rn_filter,
  .free_state = rn_free_state,
  .has_regions = true,
  .check_reference = rn_check,
  .draw = rn_draw,
  .random_setting = random_setting,
  .script = "EEE",
  .settings = settings,
  .frame_settings = settings,
  .large_settings = large_settings,
  .bad_settings = bad_settings,
  .right = RUNNING "output=still motion-meta=1",
  .wrong = RUNNING "output=result motion-meta=1",
  .bench = (const KcBench[]) { { 0 } },
  .bench_formats = "GRAY8",
};
