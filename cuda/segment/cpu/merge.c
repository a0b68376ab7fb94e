/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/cpu/merge.c: growth, weak borders, merging and ids on the CPU: steps 5 to 10 of segment/segment.h.
 *
 * In the first round of growth nearly all regions that pick are single cells, so this round
 * works on rows of cells. Far fewer regions are left after it; they are numbered, and the pairs
 * that touch are listed as edges. All later rounds work on regions and edges only. Of the other steps only the list of
 * borders is made from cells; all else works on regions and borders. */
#include "internal.h"

#include <string.h>

/* ---- rounds -------------------------------------------------------------- */

#define PER_TASK 4096 /* regions of one task */

/* Turns the picks of live regions into next, except that of the smaller one of two that pick each other: it stays a
 * root. */
static void
pick_task (CfSgCpu *m, int task, uint8_t *scratch)
{
  const uint32_t first = (uint32_t) task * PER_TASK, end = first + PER_TASK < m->n_live ? first + PER_TASK : m->n_live;
  bool any = false;

  (void) scratch;
  for (uint32_t i = first; i < end; i++) {
    const uint32_t r = m->live[i], to = (uint32_t) m->node[r].best;

    if (m->node[r].best == CF_SG_NO_PICK)
      continue;
    any = true;
    if (m->node[to].best == CF_SG_NO_PICK || (uint32_t) m->node[to].best != r || to < r)
      m->node[r].next = to;
  }
  if (any)
    __atomic_store_n (&m->any, true, __ATOMIC_RELAXED);
}

/* Sets next of each live region to its root. Other threads walk over the same regions and shorten the same paths at
 * the same time; this is safe because they only store the root at which a path ends. */
static void
find_roots_task (CfSgCpu *m, int task, uint8_t *scratch)
{
  const uint32_t first = (uint32_t) task * PER_TASK, end = first + PER_TASK < m->n_live ? first + PER_TASK : m->n_live;

  (void) scratch;
  for (uint32_t i = first; i < end; i++) {
    uint32_t root = m->live[i], to;

    while ((to = __atomic_load_n (&m->node[root].next, __ATOMIC_RELAXED)) != root)
      root = to;
    for (uint32_t r = m->live[i]; r != root; r = to) {
      to = __atomic_load_n (&m->node[r].next, __ATOMIC_RELAXED);
      if (to != root)
        __atomic_store_n (&m->node[r].next, root, __ATOMIC_RELAXED);
    }
  }
}

/* Adds the sums and the claim of region `from` to region `to`. */
static void
add_region (CfSgCpu *m, uint32_t from, uint32_t to)
{
  m->is_touched[from] = true;
  cf_sg_add (&m->sum[to], &m->sum[from]);
  m->claim[to] = m->claim[to] > m->claim[from] ? m->claim[to] : m->claim[from];
  if (!m->is_touched[to]) {
    m->is_touched[to] = true;
    m->touched[m->n_touched++] = to;
  }
}

/* Does the second half of join: for node[].next that is known, adds up sums, claims and means. */
static void
gather_live (CfSgCpu *m)
{
  uint32_t left = 0;

  for (uint32_t i = 0; i < m->n_touched; i++)
    m->is_touched[m->touched[i]] = false;
  m->n_touched = 0;
  for (uint32_t i = 0; i < m->n_live; i++) {
    const uint32_t r = m->live[i];

    m->node[r].best = CF_SG_NO_PICK;
    if (m->node[r].next != r)
      add_region (m, r, m->node[r].next);
    else
      m->live[left++] = r;
  }
  m->n_live = left;
  for (uint32_t i = 0; i < m->n_touched; i++) {
    const uint32_t r = m->touched[i];

    m->node[r].mean = cf_sg_mean (&m->sum[r]) | (m->node[r].mean & CF_SG_SEEDED);
  }
}

/* Finishes a round once node[].best holds the picks of the live regions (all that may pick): joins the regions
 * that picks connect, so that node[].next of a former region is the one of which it is a part now, and removes
 * the joined ones from live[]. Returns false if no region has picked. */
static bool
join (CfSgCpu *m)
{
  const int n_tasks = (int) ((m->n_live + PER_TASK - 1) / PER_TASK);

  m->any = false;
  cf_sg_run (m, n_tasks, pick_task);
  if (m->any)
    cf_sg_run (m, n_tasks, find_roots_task);
  gather_live (m);
  return m->any;
}

static uint32_t
region_root (CfSgNode *node, uint32_t r)
{
  while (node[r].next != r)
    r = node[r].next = node[node[r].next].next;
  return r;
}

/* Moves the regions that are left together, in the same order. renumber[] gets the new number of each old region. */
static void
compact (CfSgCpu *m, uint32_t *renumber)
{
  uint32_t n = 0;

  for (uint32_t r = 0; r < m->n_regions; r++) {
    if (m->node[r].next != r)
      continue;
    m->sum[n] = m->sum[r];
    m->claim[n] = m->claim[r];
    m->node[n].mean = m->node[r].mean & ~CF_SG_SEEDED;
    renumber[r] = n++;
  }
  for (uint32_t r = 0; r < m->n_regions; r++)
    renumber[r] = renumber[region_root (m->node, r)];
  m->n_regions = n;
  m->n_touched = 0;
  for (uint32_t r = 0; r < n; r++) {
    m->node[r].next = r;
    m->node[r].best = CF_SG_NO_PICK;
    m->is_touched[r] = false;
  }
}

/* ---- 5 and 6: the first round of growth ----------------------------------- */

static void
pick_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  (void) scratch;
  for (int row = strip * CF_SG_STRIP_ROWS; row < cf_sg_strip_end (m, strip); row++) {
    const size_t first = cf_sg_row_start (m, row);
    const CfSgNeighbours at = { m->mean + first, m->root + first, (ptrdiff_t) m->pitch };
    const CfSgFreeRun *free_run = m->free_run + first;

    if (m->row_free_runs[row] > (uint32_t) m->setup.columns / 32) { /* many short runs make short vectors */
      m->simd->pick (&at, (uint32_t) first, m->setup.columns, m->picked + first);
      continue;
    }
    memcpy (m->picked + first, at.root, (size_t) m->setup.columns * sizeof *m->picked);
    for (uint32_t g = 0; g < m->row_free_runs[row]; g++) {
      const CfSgNeighbours part = { at.mean + free_run[g].from, at.root + free_run[g].from, at.pitch };

      m->simd->pick (&part, (uint32_t) first + free_run[g].from, free_run[g].to - free_run[g].from,
          m->picked + first + free_run[g].from);
    }
  }
}

/* Returns the root to which the picks of a cell lead, and shortens the path. Other threads walk over the same cells and
 * shorten paths at the same time; a shortened path ends at the same root, so the result is the same. */
static uint32_t
root_of_picks (CfSgCpu *m, uint32_t from)
{
  uint32_t at = from, root, to;
  int steps = 0;

  for (;; at = to, steps++) {
    to = __atomic_load_n (&m->picked[at], __ATOMIC_RELAXED);
    root = at < to ? at : to;
    if (to == at || __atomic_load_n (&m->picked[to], __ATOMIC_RELAXED) == at)
      break;
  }
  for (at = from; steps > 2 && at != root; at = to) {
    to = __atomic_load_n (&m->picked[at], __ATOMIC_RELAXED);
    __atomic_store_n (&m->picked[at], root, __ATOMIC_RELAXED);
  }
  return root;
}

static void
find_roots_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  (void) scratch;
  for (int row = strip * CF_SG_STRIP_ROWS; row < cf_sg_strip_end (m, strip); row++) {
    const uint32_t first = (uint32_t) cf_sg_row_start (m, row);

    for (uint32_t g = 0; g < m->row_free_runs[row]; g++)
      for (uint32_t i = first + m->free_run[first + g].from; i < first + m->free_run[first + g].to; i++)
        __atomic_store_n (&m->picked[i], root_of_picks (m, i), __ATOMIC_RELAXED);
  }
}

/* Counts the regions whose root is in each row. */
static void
count_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  (void) scratch;
  for (int row = strip * CF_SG_STRIP_ROWS; row < cf_sg_strip_end (m, strip); row++) {
    const uint32_t first = (uint32_t) cf_sg_row_start (m, row), end = first + (uint32_t) m->setup.columns;
    uint32_t roots = 0;

    for (uint32_t i = first; i < end; i++)
      roots += m->picked[i] == i;
    m->row_first_region[row] = roots;
  }
}

/* ---- numbers ------------------------------------------------------------- */

static void
number_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  (void) scratch;
  for (int row = strip * CF_SG_STRIP_ROWS; row < cf_sg_strip_end (m, strip); row++) {
    const uint32_t first = (uint32_t) cf_sg_row_start (m, row), end = first + (uint32_t) m->setup.columns;
    uint32_t r = m->row_first_region[row];

    for (uint32_t i = first; i < end; i++) {
      if (m->picked[i] != i)
        continue;
      m->node[r].mean = m->mean[i] & CF_SG_SEEDED;
      m->root[i] = r | m->node[r].mean;
      m->sum[r] = (CfSgSum) { 0 };
      m->claim[r] = 0;
      m->node[r].best = CF_SG_NO_PICK;
      m->node[r].next = r;
      m->is_touched[r] = false;
      r++;
    }
  }
}

/* Returns the numbers of the regions whose root is in a strip. */
static CfSgRange
strip_regions (const CfSgCpu *m, int strip)
{
  return (CfSgRange) { m->row_first_region[strip * CF_SG_STRIP_ROWS],
    strip + 1 < m->n_strips ? m->row_first_region[(strip + 1) * CF_SG_STRIP_ROWS] : m->n_regions };
}

/* Sets the labels of a strip and adds up its free cells. Only the task of a strip adds to the regions whose root is in
 * it; cells of other regions go to a list (region in live[], colour in touched[]) that sum_regions () adds later. */
static void
label_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  const CfSgRange own = strip_regions (m, strip);
  const uint32_t base = (uint32_t) cf_sg_row_start (m, strip * CF_SG_STRIP_ROWS), *color = m->color[m->now];
  uint32_t *label = m->label[m->now], k = base;

  (void) scratch;
  for (int row = strip * CF_SG_STRIP_ROWS; row < cf_sg_strip_end (m, strip); row++) {
    const size_t first = cf_sg_row_start (m, row), end = first + (size_t) m->setup.columns;

    for (size_t i = first; i < end; i++)
      label[i] = m->root[m->picked[i]];
    for (uint32_t g = 0; g < m->row_free_runs[row]; g++)
      for (size_t i = first + m->free_run[first + g].from; i < first + m->free_run[first + g].to; i++) {
        const uint32_t r = label[i] & CF_SG_NUMBER;

        if (r >= own.first && r < own.end) {
          cf_sg_add_color (&m->sum[r], color[i]);
        } else {
          m->live[k] = r;
          m->touched[k++] = color[i];
        }
      }
  }
  m->strip_edges[strip] = (CfSgRange) { base, k };
}

/* Adds the components, and the cells that label_strip () has listed, to their regions. */
static void
sum_regions (CfSgCpu *m)
{
  for (uint32_t i = 0; i < m->n_components; i++) {
    const CfSgComponent *c = &m->component[i];
    const uint32_t r = m->root[c->root] & CF_SG_NUMBER;

    if (c->free)
      continue;
    cf_sg_add (&m->sum[r], &c->sum);
    m->claim[r] = c->claim;
  }
  for (int strip = 0; strip < m->n_strips; strip++)
    for (uint32_t k = m->strip_edges[strip].first; k < m->strip_edges[strip].end; k++)
      cf_sg_add_color (&m->sum[m->live[k]], m->touched[k]);
}

static void
mean_task (CfSgCpu *m, int task, uint8_t *scratch)
{
  const uint32_t first = (uint32_t) task * PER_TASK;
  const uint32_t end = first + PER_TASK < m->n_regions ? first + PER_TASK : m->n_regions;

  (void) scratch;
  for (uint32_t r = first; r < end; r++)
    m->node[r].mean |= cf_sg_mean (&m->sum[r]);
}

/* Numbers the regions in the order of their roots; sets their sums, means and the cells' labels. */
static void
number_regions (CfSgCpu *m)
{
  uint32_t n = 0;

  cf_sg_run (m, m->n_strips, count_strip);
  for (int row = 0; row < m->setup.rows; row++) {
    const uint32_t roots = m->row_first_region[row];

    m->row_first_region[row] = n;
    n += roots;
  }
  m->n_regions = n;
  cf_sg_run (m, m->n_strips, number_strip);
  cf_sg_run (m, m->n_strips, label_strip);
  sum_regions (m);
  cf_sg_run (m, (int) ((n + PER_TASK - 1) / PER_TASK), mean_task);
}

/* ---- 6: the other rounds of growth --------------------------------------- */

/* Stores `key` in *best if it is less. An atomic minimum: the result does not depend on the order of the threads. */
static inline void
offer (uint64_t *best, uint64_t key)
{
  uint64_t old = __atomic_load_n (best, __ATOMIC_RELAXED);

  while (key < old && !__atomic_compare_exchange_n (best, &old, key, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

/* Offers the two regions of an edge to each other. A region with a seed does not pick: its key is all ones and thus
 * never less, which saves a branch that is hard to predict. */
static inline void
offer_edge (CfSgCpu *m, uint32_t a, uint32_t b)
{
  const uint32_t p = m->node[a].mean, q = m->node[b].mean;
  const uint64_t key = (uint64_t) cf_sg_distance (p, q) << 32;

  offer (&m->node[a].best, key | b | -(uint64_t) (p / CF_SG_SEEDED));
  offer (&m->node[b].best, key | a | -(uint64_t) (q / CF_SG_SEEDED));
}

static inline uint32_t
add_edge (CfSgCpu *m, uint32_t k, uint32_t a, uint32_t b)
{
  m->edge[k] = (CfSgEdge) { a & CF_SG_NUMBER, b & CF_SG_NUMBER };
  offer_edge (m, a & CF_SG_NUMBER, b & CF_SG_NUMBER);
  return k + 1;
}

/* Lists the edges of a strip, and offers each. */
static void
edges_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  const int n = m->setup.columns;
  const uint32_t base = 2 * (uint32_t) cf_sg_row_start (m, strip * CF_SG_STRIP_ROWS);
  uint8_t *right = scratch, *below = scratch + n + CF_SG_PAD;
  uint32_t k = base;

  for (int row = strip * CF_SG_STRIP_ROWS; row < cf_sg_strip_end (m, strip); row++) {
    const uint32_t *label = m->label[m->now] + cf_sg_row_start (m, row);

    m->simd->grow (label, (ptrdiff_t) m->pitch, n, right, below);
    for (int x = cf_sg_next (right, 0, n); x < n; x = cf_sg_next (right, x + 1, n))
      k = add_edge (m, k, label[x], label[x + 1]);
    for (int x = cf_sg_next (below, 0, n); x < n; x = cf_sg_next (below, x + 1, n))
      k = add_edge (m, k, label[x], label[(size_t) x + m->pitch]);
  }
  m->strip_edges[strip] = (CfSgRange) { base, k };
}

/* Offers the edges of a strip, after dropping those inside a region that the previous round has joined and those
 * between two regions with seeds. */
static void
offer_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  CfSgRange *range = &m->strip_edges[strip];
  uint32_t k = range->first;

  (void) scratch;
  for (uint32_t i = range->first; i < range->end; i++) {
    const uint32_t a = m->node[m->edge[i].a].next, b = m->node[m->edge[i].b].next;

    m->edge[k] = (CfSgEdge) { a, b };
    k += (a != b) & !(m->node[a].mean & m->node[b].mean & CF_SG_SEEDED);
  }
  range->end = k;
  for (uint32_t i = range->first; i < k; i++)
    offer_edge (m, m->edge[i].a, m->edge[i].b);
}

static void
relabel_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  (void) scratch;
  for (int row = strip * CF_SG_STRIP_ROWS; row < cf_sg_strip_end (m, strip); row++) {
    uint32_t *label = m->label[m->now] + cf_sg_row_start (m, row);

    for (int x = 0; x < m->setup.columns; x++)
      label[x] = m->picked[label[x] & CF_SG_NUMBER];
  }
}

/* Gives the regions that are left new numbers in the same order, and the cells new labels. */
static void
renumber_regions (CfSgCpu *m)
{
  compact (m, m->picked);
  cf_sg_run (m, m->n_strips, relabel_strip);
}

static void
grow (CfSgCpu *m)
{
  cf_sg_run (m, m->n_strips, pick_strip);
  cf_sg_run (m, m->n_strips, find_roots_strip);
  number_regions (m);
  m->n_live = 0;
  for (uint32_t r = 0; r < m->n_regions; r++)
    if (!(m->node[r].mean & CF_SG_SEEDED))
      m->live[m->n_live++] = r;
  if (m->n_live > 0) {
    cf_sg_run (m, m->n_strips, edges_strip); /* also makes the first offers */
    while (join (m) && m->n_live > 0)
      cf_sg_run (m, m->n_strips, offer_strip);
  }
  renumber_regions (m);
  for (int i = 0; i < m->setup.n_seeds; i++)
    m->node[m->label[m->now][m->setup.seeds[i]]].mean |= CF_SG_MARKED;
}

/* ---- borders ------------------------------------------------------------- */

/* Adds a pair of touching cells to the list of borders, which begins at `first` and ends before k; the last entry is
 * often of the same two regions. Returns the new end. */
static uint32_t
add_pair (CfSgCpu *m, uint32_t first, uint32_t k, size_t at, size_t other)
{
  const uint32_t *label = m->label[m->now], *color = m->color[m->now];
  const uint32_t l = label[at], r = label[other], a = l < r ? l : r, b = l < r ? r : l;
  uint32_t weak = 0;

  if (m->setup.fraction < CF_SEGMENT_NO_WEAK)
    weak = cf_sg_rel (color[at], color[other], m->setup.weak[m->use_state && m->claim[a] && m->claim[b]]);
  if (k > first && m->border[k - 1].a == a && m->border[k - 1].b == b) {
    m->border[k - 1].pairs++;
    m->border[k - 1].weak += weak;
    return k;
  }
  m->border[k] = (CfSgBorder) { a, b, { 1 }, { weak } };
  return k + 1;
}

static void
borders_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  const int n = m->setup.columns;
  const uint32_t base = 2 * (uint32_t) cf_sg_row_start (m, strip * CF_SG_STRIP_ROWS);
  uint32_t k = base;

  for (int row = strip * CF_SG_STRIP_ROWS; row < cf_sg_strip_end (m, strip); row++) {
    const size_t first = cf_sg_row_start (m, row);
    const uint32_t *label = m->label[m->now] + first;

    m->simd->differ (label, label + 1, n - 1, scratch);
    for (int x = cf_sg_next (scratch, 0, n - 1); x < n - 1; x = cf_sg_next (scratch, x + 1, n - 1))
      k = add_pair (m, base, k, first + (size_t) x, first + (size_t) x + 1);
    if (row + 1 == m->setup.rows)
      break;
    m->simd->differ (label, label + m->pitch, n, scratch);
    for (int x = cf_sg_next (scratch, 0, n); x < n; x = cf_sg_next (scratch, x + 1, n))
      k = add_pair (m, base, k, first + (size_t) x, first + (size_t) x + m->pitch);
  }
  m->strip_edges[strip] = (CfSgRange) { base, k };
}

/* Sorts the borders of all strips by their first region (a counting sort); the borders of region r then are
 * start[r] .. start[r + 1] - 1. Sets node[].best to the perimeter of the region. */
static void
sort_borders (CfSgCpu *m, uint32_t *start)
{
  memset (start, 0, ((size_t) m->n_regions + 2) * sizeof *start);
  for (uint32_t r = 0; r < m->n_regions; r++)
    m->node[r].best = 0;
  for (int strip = 0; strip < m->n_strips; strip++)
    for (uint32_t i = m->strip_edges[strip].first; i < m->strip_edges[strip].end; i++) {
      const CfSgBorder *b = &m->border[i];

      start[b->a + 2]++;
      m->node[b->a].best += b->pairs;
      m->node[b->b].best += b->pairs;
    }
  for (uint32_t r = 0; r < m->n_regions; r++)
    start[r + 2] += start[r + 1];
  for (int strip = 0; strip < m->n_strips; strip++)
    for (uint32_t i = m->strip_edges[strip].first; i < m->strip_edges[strip].end; i++)
      m->sorted[start[m->border[i].a + 1]++] = m->border[i];
}

/* Adds up the borders between the same two regions to one. last_border[b] is the index of the last border with b as its
 * second region; it may belong to an earlier first region. */
static void
sum_borders (CfSgCpu *m, const uint32_t *start, uint32_t *last_border)
{
  uint32_t n = 0;

  memset (last_border, 255, (size_t) m->n_regions * sizeof *last_border);
  for (uint32_t a = 0; a < m->n_regions; a++) {
    const uint32_t first = n;

    for (uint32_t i = start[a]; i < start[a + 1]; i++) {
      const CfSgBorder *s = &m->sorted[i];

      if (last_border[s->b] >= first && last_border[s->b] < n) {
        m->border[last_border[s->b]].pairs += s->pairs;
        m->border[last_border[s->b]].weak += s->weak;
      } else {
        last_border[s->b] = n;
        m->border[n++] = *s;
      }
    }
  }
  m->n_borders = n;
}

static void
list_borders (CfSgCpu *m)
{
  cf_sg_run (m, m->n_strips, borders_strip);
  sort_borders (m, m->picked);
  sum_borders (m, m->picked, m->live);
}

/* ---- 7: weak borders ----------------------------------------------------- */

/* Lists the regions from which the merging begins. */
static void
list_live (CfSgCpu *m)
{
  for (uint32_t r = 0; r < m->n_regions; r++)
    m->live[r] = r;
  m->n_live = m->n_regions;
  gather_live (m);
}

/* Joins regions with union-find; the smaller number, that is the smaller root, stays. */
static void
join_weak (CfSgCpu *m)
{
  for (uint32_t i = 0; i < m->n_borders; i++) {
    const CfSgBorder *b = &m->border[i];
    const uint64_t shorter = m->node[b->a].best < m->node[b->b].best ? m->node[b->a].best : m->node[b->b].best;
    const bool marked = (m->node[b->a].mean | m->node[b->b].mean) & CF_SG_MARKED;

    if (!marked && ((uint64_t) b->weak << 16) > m->setup.fraction * shorter) {
      const uint32_t p = region_root (m->node, b->a), q = region_root (m->node, b->b);

      m->node[p > q ? p : q].next = p < q ? p : q;
    }
  }
  for (uint32_t r = 0; r < m->n_regions; r++) /* regions before r already have their root */
    m->node[r].next = m->node[m->node[r].next].next;
  list_live (m);
}

/* ---- 8 and 9: merging ---------------------------------------------------- */

/* Makes `with` the pick of `region` if it is the best so far. */
static void
offer_merge (CfSgCpu *m, uint32_t region, uint32_t with, uint64_t key)
{
  if ((key | with) < m->node[region].best)
    m->node[region].best = key | with;
}

/* Which regions pick in a round: two whose border is more alike than `alike` (step 8) or costs less than `limit` (9),
 * and regions of fewer than min_cells cells. first: of all rounds; begins: the first with these values. */
typedef struct {
  uint32_t alike, min_cells, limit;
  bool first, begins;
} Stage;

#define NO_MEANS UINT32_MAX /* Stage.alike of step 9 */

/* Sets the ends of a border to the regions that have them now, then its cost and how alike the two are, counted up to
 * `most`. Returns false if the border lies inside a region. */
static bool
rate_border (const CfSgCpu *m, CfSgBorder *s, uint32_t most)
{
  const uint32_t a = s->a = m->node[s->a].next, b = s->b = m->node[s->b].next;
  const uint32_t p = m->node[a].mean, q = m->node[b].mean, d = cf_sg_distance (p, q);
  const uint64_t least = m->sum[a].cells < m->sum[b].cells ? m->sum[a].cells : m->sum[b].cells;
  const uint32_t lengths = cf_sg_length (p) + cf_sg_length (q), n = m->setup.merge[63 - __builtin_clzll (least)];

  if (a == b)
    return false;
  s->cost = cf_sg_cost (d, least);
  s->alike = 0;
  while (s->alike < most && cf_sg_near (d, lengths, n >> s->alike))
    s->alike++;
  if (s->alike > 0 && m->claim[a] && m->claim[b])
    s->alike = 0;
  return true;
}

/* Offers the two regions of a border to each other where they may pick. joins: the border is alike or cheap enough. */
static void
offer_border (CfSgCpu *m, const CfSgBorder *s, bool joins, uint32_t min_cells)
{
  const uint32_t a = s->a, b = s->b;
  const uint64_t of_a = m->sum[a].cells, of_b = m->sum[b].cells;
  const bool a_picks = !(m->node[a].mean & CF_SG_MARKED), b_picks = !(m->node[b].mean & CF_SG_MARKED);
  /* of the two, a is the one that picks */
  const bool first = a_picks && (!b_picks || of_a < of_b || (of_a == of_b && a > b));

  if ((joins && first) || (a_picks && of_a < min_cells))
    offer_merge (m, a, b, (uint64_t) s->cost << 32);
  if (b_picks && ((joins && !first) || of_b < min_cells))
    offer_merge (m, b, a, (uint64_t) s->cost << 32);
}

/* One round of merging. Drops the borders inside joined regions. In the rounds after a stage's first one only borders
 * of regions that the last round has changed count: of two others neither can have picked. Sets m->least to the
 * least cost of a border. Returns false if no region has picked. */
static bool
merge_round (CfSgCpu *m, Stage stage)
{
  uint32_t n = 0;

  m->least = UINT32_MAX;
  for (uint32_t i = 0; i < m->n_borders; i++) {
    CfSgBorder s = m->border[i];
    const bool changed = stage.first | m->is_touched[s.a] | m->is_touched[s.b];

    if (changed && !rate_border (m, &s, stage.alike + 1))
      continue;
    m->border[n++] = s;
    m->least = s.cost < m->least ? s.cost : m->least;
    if (changed || stage.begins) {
      const bool joins = s.alike > stage.alike || s.cost < stage.limit;

      if (joins || stage.min_cells > 0)
        offer_border (m, &s, joins, stage.min_cells);
    }
  }
  m->n_borders = n;
  return join (m);
}

static void
merge_rounds (CfSgCpu *m, Stage stage)
{
  stage.begins = true;
  while (merge_round (m, stage))
    stage.begins = false;
}

static void
merge_regions (CfSgCpu *m)
{
  const uint32_t rises = (uint32_t) m->setup.rises;

  for (uint32_t alike = rises; alike > 0; alike--)
    merge_round (m, (Stage) { .alike = alike, .first = alike == rises, .begins = true });
  merge_rounds (m, (Stage) { .alike = 0 });
  merge_rounds (m, (Stage) { .alike = NO_MEANS, .min_cells = m->setup.min_cells });
  for (uint32_t limit = CF_SEGMENT_LIMIT; m->n_live > (uint32_t) m->setup.max_regions;
      limit = CF_SEGMENT_NEXT_LIMIT (limit, m->least))
    merge_rounds (m, (Stage) { .alike = NO_MEANS, .limit = limit });
}

/* ---- 10: ids ------------------------------------------------------------- */

static void
assign_ids (CfSgCpu *m)
{
  const int now = m->now;

  m->frame = m->use_state ? m->frame + 1 : 0;
  m->next_id = m->use_state ? m->next_id : 1;
  for (uint32_t r = 0; r < m->n_regions; r++) {
    m->found_mean[now][r] = m->node[r].mean;
    m->found_cells[now][r] = (uint32_t) m->sum[r].cells;
    if (m->claim[r]) {
      const uint32_t old = UINT32_MAX - (uint32_t) m->claim[r];

      m->found_id[now][r] = m->found_id[1 - now][old];
      m->found_birth[now][r] = m->found_birth[1 - now][old];
    } else {
      m->found_id[now][r] = m->next_id++;
      m->found_birth[now][r] = m->frame;
    }
  }
  m->n_found = m->n_regions;
}

/* ---- 10: moving borders --------------------------------------------------- */

/* Returns the region that a cell takes in this move. */
static uint32_t
region_after_move (const CfSgCpu *m, size_t i)
{
  const uint32_t *label = m->label[m->now] + i, *mean = m->found_mean[m->now], p = m->own[i];
  const ptrdiff_t step[4] = { -(ptrdiff_t) m->pitch, -1, 1, (ptrdiff_t) m->pitch };
  uint32_t nearest = *label, least = cf_sg_distance (p, mean[nearest]);

  if (m->use_state && m->found_id[m->now][nearest] == m->found_id[1 - m->now][m->label[1 - m->now][i]])
    return nearest;
  for (int k = 0; k < 4; k++) {
    const uint32_t other = label[step[k]];
    uint32_t d;

    if (other == nearest || other == CF_SG_OUTSIDE)
      continue;
    d = cf_sg_distance (p, mean[other]);
    nearest = d < least ? other : nearest;
    least = d < least ? d : least;
  }
  return nearest;
}

/* Lists the cells of a strip that move: the cell in live[], its new region in touched[]. In the first move these can
 * only be cells at borders, later only neighbours of cells that moved last. */
static void
find_moves_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  const int n = m->setup.columns;
  const uint32_t base = (uint32_t) cf_sg_row_start (m, strip * CF_SG_STRIP_ROWS);
  uint32_t k = base;

  for (int row = strip * CF_SG_STRIP_ROWS; row < cf_sg_strip_end (m, strip); row++) {
    const size_t first = cf_sg_row_start (m, row);

    if (m->move == 0)
      m->simd->border (m->label[m->now] + first, (ptrdiff_t) m->pitch, n, scratch);
    else
      m->simd->beside (m->moved + first, (ptrdiff_t) m->pitch, n, scratch);
    for (int x = cf_sg_next (scratch, 0, n); x < n; x = cf_sg_next (scratch, x + 1, n)) {
      const size_t i = first + (size_t) x;

      m->live[k] = (uint32_t) i;
      m->touched[k] = region_after_move (m, i);
      k += m->touched[k] != m->label[m->now][i];
    }
  }
  m->strip_edges[strip] = (CfSgRange) { base, k };
}

static void
move_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  const int first = strip * CF_SG_STRIP_ROWS;

  (void) scratch;
  memset (m->moved + cf_sg_row_start (m, first), 0, m->pitch * (size_t) (cf_sg_strip_end (m, strip) - first));
  for (uint32_t k = m->strip_edges[strip].first; k < m->strip_edges[strip].end; k++) {
    m->label[m->now][m->live[k]] = m->touched[k];
    m->moved[m->live[k]] = true;
  }
}

static void
move_borders (CfSgCpu *m)
{
  for (m->move = 0; m->move < CF_SEGMENT_MOVES; m->move++) {
    cf_sg_run (m, m->n_strips, find_moves_strip);
    cf_sg_run (m, m->n_strips, move_strip);
  }
}

void
cf_sg_merge (CfSgCpu *m)
{
  grow (m);
  list_borders (m);
  if (m->setup.fraction < CF_SEGMENT_NO_WEAK)
    join_weak (m);
  else
    list_live (m);
  merge_regions (m);
  renumber_regions (m);
  assign_ids (m);
  move_borders (m);
}
