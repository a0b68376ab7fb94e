/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * reference/segment.c: the labels of the segmentation, written directly from the contract (cuda/segment/segment.h),
 * step by step and without optimisation: every round visits every cell, components are found by flood fill. */
#include "segment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef SgColor Color;

typedef struct {
  uint32_t n;
  uint64_t sum[3];
  Color mean;
  bool seeded, marked;
  uint64_t claim; /* step 10: cells of the components << 32 | ~index of their old region; 0: none */
} Region;

typedef struct {
  const SgSetup *u;
  const SgState *before;
  int n;        /* cells */
  Color *q, *p; /* of each cell: its own colour, and the smoothed one */
  bool *listed; /* of each cell: whether it is one of seeds */
  int n_listed;
  int *root;      /* of each cell */
  Region *region; /* indexed by root */
  int *pick, *next;
  uint64_t *best;
} Work;

/* ---- colours ------------------------------------------------------------ */

static int64_t
square (const Color *p)
{
  return (int64_t) p->c[0] * p->c[0] + (int64_t) p->c[1] * p->c[1] + (int64_t) p->c[2] * p->c[2];
}

static int64_t
distance (const Color *p, const Color *q)
{
  Color d = { { p->c[0] - q->c[0], 2 * (p->c[1] - q->c[1]), 2 * (p->c[2] - q->c[2]) } };

  return square (&d);
}

/* rel for a given N. */
static bool
rel_fixed (const Color *p, const Color *q, int64_t n)
{
  return 131072 * distance (p, q) < n * (square (p) + square (q));
}

static bool
rel (const Color *p, const Color *q, double t)
{
  return rel_fixed (p, q, (int64_t) floor (65536 * t * t + 0.5));
}

SgColor
sg_ycbcr (SgColor rgb)
{
  int r = rgb.c[0], g = rgb.c[1], b = rgb.c[2];

  return (SgColor) { { (19595 * r + 38470 * g + 7471 * b + 32768) / 65536,
      (-11059 * r - 21709 * g + 32768 * b + 8421375) / 65536, (32768 * r - 27439 * g - 5329 * b + 8421375) / 65536 } };
}

static Color
as_ycbcr (const SgSetup *u, const int v[3])
{
  const SgColor rgb = { { v[0] >> (u->bits - 8), v[1] >> (u->bits - 8), v[2] >> (u->bits - 8) } };
  SgColor c = u->rgb ? sg_ycbcr (rgb) : rgb;

  if (u->n_components == 1)
    c.c[1] = c.c[2] = 128;
  return c;
}

static int
sample (const SgSetup *u, int component, int x, int y)
{
  const KcPlane *plane = &u->plane[component];

  return (int) plane->v[(y >> u->h_sub[component]) * plane->w + (x >> u->w_sub[component])];
}

static Color
pixel_color (const SgSetup *u, int x, int y)
{
  int v[3] = { 0 };

  for (int k = 0; k < u->n_components; k++)
    v[k] = sample (u, k, x, y);
  return as_ycbcr (u, v);
}

static Color
cell_color (const SgSetup *u, int column, int row)
{
  int v[3] = { 0 };

  for (int k = 0; k < u->n_components; k++) {
    int64_t sum = 0, n = 0;

    for (int y = row * u->size; y < MIN ((row + 1) * u->size, u->height); y++)
      for (int x = column * u->size; x < MIN ((column + 1) * u->size, u->width); x++, n++)
        sum += sample (u, k, x, y);
    v[k] = (int) ((sum + n / 2) / n);
  }
  return as_ycbcr (u, v);
}

/* Returns the number of the cell, or of the nearest one inside the frame. */
static int
cell_at (const SgSetup *u, int column, int row)
{
  return CLAMP (row, 0, u->rows - 1) * u->columns + CLAMP (column, 0, u->columns - 1);
}

static Color
smoothed (const Work *w, int column, int row)
{
  Color p = { { 0 } };

  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      for (int k = 0; k < 3; k++)
        p.c[k] += (dx ? 1 : 2) * (dy ? 1 : 2) * w->q[cell_at (w->u, column + dx, row + dy)].c[k];
  for (int k = 0; k < 3; k++)
    p.c[k] = (p.c[k] + 8) / 16;
  return p;
}

/* ---- seeds -------------------------------------------------------------- */

/* Returns the i-th of the 8 neighbours of a cell (the first 4 share a side), -1 outside the frame. */
static int
neighbour_at (const SgSetup *u, int column, int row, int i)
{
  static const int dx[8] = { 0, -1, 1, 0, -1, 1, -1, 1 }, dy[8] = { -1, 0, 0, 1, -1, -1, 1, 1 };
  int x = column + dx[i], y = row + dy[i];

  return x < 0 || y < 0 || x >= u->columns || y >= u->rows ? -1 : y * u->columns + x;
}

static int
neighbour (const SgSetup *u, int cell, int i)
{
  return neighbour_at (u, cell % u->columns, cell / u->columns, i);
}

static bool
is_smooth (const Work *w, int cell)
{
  for (int i = 0; i < 8; i++) {
    int other = neighbour (w->u, cell, i);

    if (other >= 0 && !rel (&w->p[cell], &w->p[other], w->u->seed_threshold))
      return false;
  }
  return true;
}

static int
roughness (const Work *w, int cell)
{
  int total = 0;

  for (int k = 0; k < 3; k++) {
    int64_t s = 0, q = 0;

    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        const int v = w->q[cell_at (w->u, cell % w->u->columns + dx, cell / w->u->columns + dy)].c[k];

        s += v;
        q += (int64_t) v * v;
      }
    total += (int) kc_root (9 * q - s * s);
  }
  return total;
}

/* Fills h[] of step 3 for each cell and returns Otsu's threshold, -1 if there is none. */
static int
otsu (const Work *w, int *h)
{
  int64_t count[256] = { 0 };
  int largest = 0, threshold = -1;
  double best = -1;

  for (int i = 0; i < w->n; i++) {
    h[i] = roughness (w, i);
    largest = h[i] > largest ? h[i] : largest;
  }
  for (int i = 0; i < w->n; i++) {
    h[i] = largest > 0 ? 255 - 255 * h[i] / largest : 255;
    count[h[i]]++;
  }
  for (int t = 0; t < 255; t++) {
    int64_t n0 = 0, s0 = 0, n1 = 0, s1 = 0;
    double d, v;

    for (int i = 0; i < 256; i++) {
      *(i <= t ? &n0 : &n1) += count[i];
      *(i <= t ? &s0 : &s1) += count[i] * i;
    }
    if (n0 == 0 || n1 == 0)
      continue;
    d = (double) s0 * (double) n1 - (double) s1 * (double) n0;
    v = d * d / ((double) n0 * (double) n1);
    if (v > best) {
      best = v;
      threshold = t;
    }
  }
  return threshold;
}

/* ---- kept cells --------------------------------------------------------- */

static bool
is_kept (const Work *w, int cell, int old)
{
  const double t = w->u->temporal;
  const Color *mean = &w->before->region[old].mean;

  if (rel (&w->p[cell], mean, t))
    return true;
  return rel (&w->p[cell], &w->before->p[cell], t / 3) && rel (&w->p[cell], mean, 3 * t < 1 ? 3 * t : 1);
}

/* Sets held[] to how many cells of seeds each old region holds, to 0 where these are the same as before. */
static void
count_new_seeds (const Work *w, int *held)
{
  memset (held, 0, (size_t) w->n * sizeof *held);
  if (w->before->n_regions == 0 || memcmp (w->listed, w->before->listed, (size_t) w->n * sizeof *w->listed) == 0)
    return;
  for (int i = 0; i < w->n; i++)
    held[w->before->label[i]] += w->listed[i];
}

/* ---- components --------------------------------------------------------- */

static int
luma_class (int y)
{
  return y < 64 ? y / 32 : y / 64 + 1;
}

/* Returns whether two seeds that touch form one region. */
static bool
joins (const Work *w, int a, int b)
{
  const Color *p = &w->p[a], *q = &w->p[b];
  const int columns = w->u->columns;

  return luma_class (p->c[0]) == luma_class (q->c[0]) && (p->c[1] + 32) / 64 == (q->c[1] + 32) / 64 &&
      (p->c[2] + 32) / 64 == (q->c[2] + 32) / 64 && a % columns / 16 == b % columns / 16 &&
      a / columns / 16 == b / columns / 16;
}

/* Sets the root of each cell. class[]: 0 free, 1 seed, 2 + index of the old region for kept cells. */
static void
flood (Work *w, const int *class, int *stack)
{
  for (int i = 0; i < w->n; i++)
    w->root[i] = class[i] ? -1 : i;
  for (int i = 0; i < w->n; i++) {
    int n = 0;

    if (w->root[i] >= 0)
      continue;
    w->root[i] = i;
    stack[n++] = i;
    while (n > 0) {
      int cell = stack[--n];

      for (int k = 0; k < 4; k++) {
        int other = neighbour (w->u, cell, k);

        if (other >= 0 && w->root[other] < 0 && class[other] == class[i] && (class[i] != 1 || joins (w, i, other))) {
          w->root[other] = i;
          stack[n++] = other;
        }
      }
    }
  }
}

static void
set_mean (Region *r)
{
  for (int k = 0; k < 3; k++)
    r->mean.c[k] = (int) ((r->sum[k] + r->n / 2) / r->n);
}

static void
count_regions (Work *w)
{
  for (int i = 0; i < w->n; i++) {
    w->region[i].n = 0;
    memset (w->region[i].sum, 0, sizeof w->region[i].sum);
  }
  for (int i = 0; i < w->n; i++) {
    Region *r = &w->region[w->root[i]];

    r->n++;
    for (int k = 0; k < 3; k++)
      r->sum[k] += (uint64_t) w->p[i].c[k];
  }
  for (int i = 0; i < w->n; i++)
    if (w->root[i] == i)
      set_mean (&w->region[i]);
}

/* Returns whether a component is one of the pieces of an old region that may continue it. */
static bool
is_piece (const Work *w, int root, int old, uint32_t min_cells)
{
  return w->region[root].n >= min_cells || 16 * (int64_t) w->region[root].n >= w->before->region[old].n;
}

/* Decides which components continue old regions, and which are free again. */
static void
drop_fragments (Work *w, const int *class, uint32_t min_cells)
{
  for (int i = 0; i < w->n; i++) { /* by old index: the first root that continues it, and the cells of all that do */
    w->next[i] = -1;
    w->best[i] = 0;
  }
  for (int i = 0; i < w->n; i++) {
    const int old = class[i] - 2;

    if (old < 0 || w->root[i] != i || !is_piece (w, i, old, min_cells))
      continue;
    w->next[old] = w->next[old] < 0 ? i : w->next[old];
    w->best[old] += w->region[i].n;
  }
  for (int i = 0; i < w->n; i++) {
    const int root = w->root[i], old = class[i] - 2;
    const bool continues = old >= 0 && is_piece (w, root, old, min_cells) &&
        4 * w->best[old] >= w->before->region[old].n;
    const bool freed = old >= 0 && !continues && w->region[root].n < min_cells;

    w->pick[i] = freed ? i : continues ? w->next[old] : root; /* the new root; n of the old root is still needed */
    w->region[i].seeded = class[i] && !freed;
    w->region[i].claim = 0;
    if (continues && w->next[old] == i)
      w->region[i].claim = w->best[old] << 32 | (0xffffffffu - (uint32_t) old);
  }
  memcpy (w->root, w->pick, (size_t) w->n * sizeof *w->root);
}

static void
find_components (Work *w)
{
  const SgSetup *u = w->u;
  g_autofree int *class = g_new (int, w->n), *h = g_new (int, w->n), *stack = g_new (int, w->n);
  int *held = w->next;
  int threshold = u->similarity ? otsu (w, h) : -1;

  count_new_seeds (w, held);
  for (int i = 0; i < w->n; i++) {
    int old = w->before->n_regions > 0 ? w->before->label[i] : 0;

    class[i] = 0;
    if (w->before->n_regions > 0 && held[old] < 2 && is_kept (w, i, old))
      class[i] = 2 + old;
    else if (w->listed[i] || (is_smooth (w, i) && (!u->similarity || h[i] > threshold)))
      class[i] = 1;
  }
  flood (w, class, stack);
  count_regions (w);
  drop_fragments (w, class, u->min_cells);
  count_regions (w);
}

/* ---- rounds ------------------------------------------------------------- */

/* Returns the number of the region's cells, or of the other's where it has fewer. */
static uint32_t
fewer_cells (const Work *w, int region, int with)
{
  return MIN (w->region[region].n, w->region[with].n);
}

/* Returns the cost of joining two regions. */
static uint64_t
cost_of (const Work *w, int region, int with)
{
  const uint64_t d = (uint64_t) distance (&w->region[region].mean, &w->region[with].mean);
  uint64_t c = d * d * MIN (fewer_cells (w, region, with), 1u << 24), others = 0;

  for (; c >= 16384; c /= 2)
    others++;
  return 8192 * others + c;
}

/* Makes `with` the pick of `region` if it is the best so far. cost: the distance of the two in growth. */
static void
offer (Work *w, int region, int with, uint64_t cost)
{
  const uint64_t key = cost << 32 | (uint32_t) with;

  if (key < w->best[region]) {
    w->best[region] = key;
    w->pick[region] = with;
  }
}

/* Returns the root of the region of which r becomes a part. next[]: the result where it is known, else -1. */
static int
root_of_picks (const Work *w, int r)
{
  for (;;) {
    int to = w->pick[r];

    if (w->next[r] >= 0)
      return w->next[r];
    if (to < 0)
      return r;
    if (w->pick[to] == r)
      return MIN (r, to);
    r = to;
  }
}

/* Joins the regions that picks connect. Returns false if no region has picked. */
static bool
join (Work *w)
{
  bool any = false;

  memset (w->next, -1, (size_t) w->n * sizeof *w->next);
  for (int i = 0; i < w->n; i++)
    if (w->root[i] == i) {
      const int root = root_of_picks (w, i);

      for (int r = i; r >= 0 && w->next[r] < 0; r = w->pick[r]) /* all that pick one after the other */
        w->next[r] = root;
      any = any || root != i;
    }
  if (!any)
    return false;
  for (int i = 0; i < w->n; i++)
    if (w->root[i] == i && w->next[i] != i) {
      const Region *from = &w->region[i];
      Region *to = &w->region[w->next[i]];

      to->seeded = to->seeded || from->seeded;
      to->claim = MAX (to->claim, from->claim);
      to->n += from->n;
      for (int k = 0; k < 3; k++)
        to->sum[k] += from->sum[k];
      set_mean (to);
    }
  for (int i = 0; i < w->n; i++)
    w->root[i] = w->next[w->root[i]];
  return true;
}

typedef enum { GROW, BY_MEAN, BY_SIZE, BY_COST } RoundKind;

/* Returns R of step 8. */
static uint32_t
rises_of (const Work *w)
{
  return w->n_listed > 0 ? 7 : 5;
}

/* Returns whether the means of two regions are similar by step 8, in the given round of it. */
static bool
similar (const Work *w, const Region *a, const Region *b, uint32_t round)
{
  const double t = w->u->merge_threshold;
  const uint32_t rises = rises_of (w);
  const int64_t part = round < rises ? 1 << (rises - round) : 1;
  double power = 1;
  int64_t n;

  if (a->claim && b->claim)
    return false;
  while (2 * power <= a->n && 2 * power <= b->n)
    power *= 2;
  n = (int64_t) floor (65536 * MIN (1, t * t * sqrt ((double) w->n / (1000 * power))) + 0.5);
  return rel_fixed (&a->mean, &b->mean, n / part);
}

static bool
is_smaller (const Work *w, int region, int with)
{
  const uint32_t n = w->region[region].n, other = w->region[with].n;

  return w->region[with].marked || n < other || (n == other && region > with);
}

/* limit: the round of BY_MEAN, M of BY_SIZE, L of BY_COST; cost: of joining the two. No region is marked during growth.
 */
static bool
may_pick (const Work *w, int region, int with, RoundKind kind, uint32_t limit, uint64_t cost)
{
  const Region *a = &w->region[region], *b = &w->region[with];

  if (a->marked)
    return false;
  switch (kind) {
    case GROW:
      return !a->seeded;
    case BY_MEAN:
      return is_smaller (w, region, with) && similar (w, a, b, limit);
    case BY_SIZE:
      return a->n < limit;
    default:
      return cost < limit && is_smaller (w, region, with);
  }
}

static bool
run_round (Work *w, RoundKind kind, uint32_t limit)
{
  for (int i = 0; i < w->n; i++) {
    w->pick[i] = -1;
    w->best[i] = UINT64_MAX;
  }
  for (int y = 0, i = 0; y < w->u->rows; y++)
    for (int x = 0; x < w->u->columns; x++, i++)
      for (int k = 2; k < 4; k++) { /* right and below: each pair once */
        const int other = neighbour_at (w->u, x, y, k), a = w->root[i], b = other >= 0 ? w->root[other] : a;
        const uint64_t cost = a == b ? 0
            : kind == GROW           ? (uint64_t) distance (&w->region[a].mean, &w->region[b].mean)
                                     : cost_of (w, a, b);

        if (a != b && may_pick (w, a, b, kind, limit, cost))
          offer (w, a, b, cost);
        if (a != b && may_pick (w, b, a, kind, limit, cost))
          offer (w, b, a, cost);
      }
  return join (w);
}

/* ---- weak borders ------------------------------------------------------- */

typedef struct {
  int a, b;
  bool weak;
} Pair;

static int
compare_pairs (const void *a_, const void *b_)
{
  const Pair *a = a_, *b = b_;

  return a->a != b->a ? (a->a > b->a) - (a->a < b->a) : (a->b > b->b) - (a->b < b->b);
}

static int
find (int *parent, int i)
{
  while (parent[i] != i)
    i = parent[i];
  return i;
}

static void
join_weak (Work *w)
{
  g_autofree Pair *pairs = g_new (Pair, 2 * w->n);
  g_autofree int *perimeter = g_new0 (int, w->n);
  int n = 0;

  for (int i = 0; i < w->n; i++) {
    w->next[i] = w->root[i];
    for (int k = 2; k < 4; k++) { /* right and below: each pair once */
      int other = neighbour (w->u, i, k), a = w->root[i], b = other >= 0 ? w->root[other] : a;
      bool both;

      if (a == b)
        continue;
      both = w->region[a].claim && w->region[b].claim;
      perimeter[a]++;
      perimeter[b]++;
      pairs[n++] = (Pair) { MIN (a, b), a > b ? a : b,
        rel (&w->p[i], &w->p[other], w->u->weak_difference * (both ? 0.6 : 1)) };
    }
  }
  qsort (pairs, (size_t) n, sizeof *pairs, compare_pairs);
  for (int i = 0, end; i < n; i = end) {
    const int a = pairs[i].a, b = pairs[i].b;
    int64_t weak = 0;

    for (end = i; end < n && compare_pairs (&pairs[i], &pairs[end]) == 0; end++)
      weak += pairs[end].weak;
    if (w->region[a].marked || w->region[b].marked)
      continue;
    if (65536 * weak > (int64_t) floor (65536 * w->u->weak_fraction + 0.5) * MIN (perimeter[a], perimeter[b])) {
      int ra = find (w->next, a), rb = find (w->next, b);

      w->next[ra > rb ? ra : rb] = MIN (ra, rb);
    }
  }
  for (int i = 0; i < w->n; i++)
    w->pick[i] = w->root[i] == i ? find (w->next, i) : -1;
  for (int i = 0; i < w->n; i++)
    if (w->pick[i] == i)
      w->pick[i] = -1;
  join (w);
}

/* ---- the result --------------------------------------------------------- */

static int
count_roots (const Work *w)
{
  int n = 0;

  for (int i = 0; i < w->n; i++)
    n += w->root[i] == i;
  return n;
}

static void
number (Work *w, SgState *after)
{
  int n = 0;

  after->n_regions = count_roots (w);
  after->n_cells = w->n;
  after->frame = w->before->n_regions > 0 ? w->before->frame + 1 : 0;
  after->next_id = w->before->n_regions > 0 ? w->before->next_id : 1;
  after->label = g_new (int, w->n);
  after->region = g_new0 (SgRegion, after->n_regions);
  for (int i = 0; i < w->n; i++) {
    const Region *r = &w->region[i];
    SgRegion *to = &after->region[n];

    if (w->root[i] != i)
      continue;
    to->mean = r->mean;
    to->n = r->n;
    if (r->claim) {
      const SgRegion *old = &w->before->region[0xffffffffu - (uint32_t) r->claim];

      to->id = old->id;
      to->birth = old->birth;
    } else {
      to->id = after->next_id++;
      to->birth = after->frame;
    }
    w->next[i] = n++;
  }
  for (int i = 0; i < w->n; i++)
    after->label[i] = w->next[w->root[i]];
}

/* Moves the borders once: fills to[] from after->label. */
static void
move_borders (const Work *w, const SgState *after, int *to)
{
  for (int i = 0; i < w->n; i++) {
    const int own = after->label[i];
    const bool same = w->before->n_regions > 0 && w->before->region[w->before->label[i]].id == after->region[own].id;

    to[i] = own;
    for (int k = 0; !same && k < 4; k++) { /* above, left, right, below */
      const int other = neighbour (w->u, i, k), label = other >= 0 ? after->label[other] : own;

      if (distance (&w->q[i], &after->region[label].mean) < distance (&w->q[i], &after->region[to[i]].mean))
        to[i] = label;
    }
  }
}

static void
segment (Work *w)
{
  const SgSetup *u = w->u;

  for (int i = 0; i < w->n; i++)
    w->q[i] = cell_color (u, i % u->columns, i / u->columns);
  for (int i = 0; i < w->n; i++)
    w->p[i] = smoothed (w, i % u->columns, i / u->columns);
  find_components (w);
  while (run_round (w, GROW, 0))
    ;
  for (int i = 0; i < u->n_seeds; i++)
    w->region[w->root[u->seeds[i]]].marked = true;
  join_weak (w);
  for (uint32_t round = 0; run_round (w, BY_MEAN, round) || round < rises_of (w); round++)
    ;
  while (run_round (w, BY_SIZE, u->min_cells))
    ;
  for (uint32_t limit = 81920; count_roots (w) > MAX (u->max_regions, w->n_listed); limit += 2048)
    while (run_round (w, BY_COST, limit))
      ;
}

void
sg_state_free (SgState *state)
{
  g_free (state->p);
  g_free (state->listed);
  g_free (state->label);
  g_free (state->region);
  memset (state, 0, sizeof *state);
}

void
sg_segment (const SgSetup *u, const SgState *before, SgState *after)
{
  static const SgState none;
  const int n = u->columns * u->rows;
  const bool fits = u->temporal > 0 && before->n_cells == n && before->columns == u->columns && before->size == u->size;
  g_autofree Color *q = g_new (Color, n);
  g_autofree int *root = g_new (int, n), *pick = g_new (int, n), *next = g_new (int, n);
  g_autofree Region *region = g_new0 (Region, n);
  g_autofree uint64_t *best = g_new (uint64_t, n);
  Work w = { .u = u,
    .before = fits ? before : &none,
    .n = n,
    .q = q,
    .p = g_new (Color, n),
    .listed = g_new0 (bool, n),
    .root = root,
    .region = region,
    .pick = pick,
    .next = next,
    .best = best };

  for (int i = 0; i < u->n_seeds; i++) {
    w.n_listed += !w.listed[u->seeds[i]];
    w.listed[u->seeds[i]] = true;
  }
  *after = (SgState) { .p = w.p, .listed = w.listed, .columns = u->columns, .size = u->size };
  segment (&w);
  number (&w, after);
  for (int i = 0; i < 4; i++) {
    move_borders (&w, after, next);
    memcpy (after->label, next, (size_t) n * sizeof *next);
  }
}

/* ---- pixels ------------------------------------------------------------- */

int
sg_pixel_label (const SgSetup *u, const SgState *state, int x, int y)
{
  const int column = x / u->size, row = y / u->size, i = x % u->size, j = y % u->size;
  const int beside = 2 * i + 1 < u->size ? column - 1 : 2 * i + 1 > u->size ? column + 1 : column;
  const int above = 2 * j + 1 < u->size ? row - 1 : 2 * j + 1 > u->size ? row + 1 : row;
  int label[3] = { state->label[row * u->columns + column] }, best = 0;
  const Color p = pixel_color (u, x, y);

  label[1] = beside >= 0 && beside < u->columns ? state->label[row * u->columns + beside] : label[0];
  label[2] = above >= 0 && above < u->rows ? state->label[above * u->columns + column] : label[0];
  for (int k = 1; k < 3; k++)
    if (distance (&p, &state->region[label[k]].mean) < distance (&p, &state->region[label[best]].mean))
      best = k;
  return label[best];
}
