/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment_cpu_grow.c: the segmentation's rounds on the CPU, and growth: steps 5
 * and 6 of segment.h.
 *
 * In the first round of growth nearly all regions that pick are single cells: it
 * is made with rows of cells. What is left is far less, and gets numbers and a
 * list of the pairs that touch; no later round looks at cells. */
#include "segment_cpu.h"

#include <string.h>

/* ---- rounds -------------------------------------------------------------- */

/* next[] of the live regions: what they pick, but the smaller one of a pair
 * nothing. Whether there were picks. */
static bool
follow_picks (CfSgCpu *m)
{
  bool any = false;

  for (uint32_t i = 0; i < m->n_live; i++) {
    const uint32_t r = m->live[i], to = (uint32_t) m->best[r];

    if (m->best[r] == CF_SG_NEVER)
      continue;
    any = true;
    if (m->best[to] == CF_SG_NEVER || (uint32_t) m->best[to] != r || to < r)
      m->next[r] = to;
  }
  for (uint32_t i = 0; i < m->n_live; i++) {
    uint32_t r = m->live[i];

    while (m->next[r] != r)
      r = m->next[r] = m->next[m->next[r]];
    m->next[m->live[i]] = r;
  }
  return any;
}

static void
add_region (CfSgCpu *m, uint32_t from, uint32_t to)
{
  cf_sg_add (&m->sum[to], &m->sum[from]);
  m->claim[to] = m->claim[to] > m->claim[from] ? m->claim[to] : m->claim[from];
  if (!m->is_touched[to]) {
    m->is_touched[to] = true;
    m->touched[m->n_touched++] = to;
  }
}

void
cf_sg_gather_live (CfSgCpu *m)
{
  uint32_t left = 0;

  m->n_touched = 0;
  for (uint32_t i = 0; i < m->n_live; i++) {
    const uint32_t r = m->live[i];

    m->best[r] = CF_SG_NEVER;
    if (m->next[r] != r)
      add_region (m, r, m->next[r]);
    else
      m->live[left++] = r;
  }
  m->n_live = left;
  for (uint32_t i = 0; i < m->n_touched; i++) {
    const uint32_t r = m->touched[i];

    m->tone[r] = cf_sg_mean (&m->sum[r]) | (m->tone[r] & CF_SG_SEEDED);
    m->is_touched[r] = false;
  }
}

bool
cf_sg_join (CfSgCpu *m)
{
  const bool any = follow_picks (m);

  cf_sg_gather_live (m);
  return any;
}

static void
compact (CfSgCpu *m, uint32_t *renumber)
{
  uint32_t n = 0;

  for (uint32_t r = 0; r < m->n_regions; r++) {
    if (m->next[r] != r)
      continue;
    m->sum[n] = m->sum[r];
    m->claim[n] = m->claim[r];
    m->tone[n] = m->tone[r] & ~CF_SG_SEEDED;
    renumber[r] = n++;
  }
  for (uint32_t r = 0; r < m->n_regions; r++) {
    uint32_t root = r;

    while (m->next[root] != root)
      root = m->next[root] = m->next[m->next[root]];
    renumber[r] = renumber[root];
  }
  m->n_regions = n;
  for (uint32_t r = 0; r < n; r++) {
    m->next[r] = r;
    m->best[r] = CF_SG_NEVER;
  }
}

/* ---- the first round of growth ------------------------------------------- */

static void
pick_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  (void) scratch;
  for (int row = strip * CF_SG_STRIP; row < cf_sg_strip_end (m, strip); row++) {
    const size_t first = cf_sg_place (m, row);
    const CfSgAround at = { m->mean + first, m->root + first, (ptrdiff_t) m->pitch };

    if (m->row_free[row] > 0)
      m->simd->pick (&at, (uint32_t) first, m->setup.columns, m->picked + first);
    else
      memcpy (m->picked + first, m->root + first, (size_t) m->setup.columns * sizeof *m->picked);
  }
}

/* Other threads follow picks through the same cells and shorten their ways, but
 * the end is the same whatever is shortened. */
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
follow_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  (void) scratch;
  for (int row = strip * CF_SG_STRIP; row < cf_sg_strip_end (m, strip); row++) {
    const uint32_t first = (uint32_t) cf_sg_place (m, row), end = first + (uint32_t) m->setup.columns;
    uint32_t roots = 0;

    for (uint32_t i = first; m->row_free[row] > 0 && i < end; i++)
      if (!(m->mean[i] & CF_SG_SEEDED))
        __atomic_store_n (&m->picked[i], root_of_picks (m, i), __ATOMIC_RELAXED);
    for (uint32_t i = first; i < end; i++)
      roots += __atomic_load_n (&m->picked[i], __ATOMIC_RELAXED) == i;
    m->row_first[row] = roots;
  }
}

/* ---- numbers ------------------------------------------------------------- */

static void
number_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  (void) scratch;
  for (int row = strip * CF_SG_STRIP; row < cf_sg_strip_end (m, strip); row++) {
    const uint32_t first = (uint32_t) cf_sg_place (m, row), end = first + (uint32_t) m->setup.columns;
    uint32_t r = m->row_first[row];

    for (uint32_t i = first; i < end; i++) {
      if (m->picked[i] != i)
        continue;
      m->tone[r] = m->mean[i] & CF_SG_SEEDED;
      m->root[i] = r | m->tone[r];
      m->sum[r] = (CfSgSum) { 0 };
      m->claim[r] = 0;
      m->best[r] = CF_SG_NEVER;
      m->next[r] = r;
      m->is_touched[r] = false;
      r++;
    }
  }
}

static void
label_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  (void) scratch;
  for (int row = strip * CF_SG_STRIP; row < cf_sg_strip_end (m, strip); row++) {
    const size_t first = cf_sg_place (m, row), end = first + (size_t) m->setup.columns;

    for (size_t i = first; i < end; i++)
      m->label[m->now][i] = m->root[m->picked[i]];
  }
}

static void
sum_regions (CfSgCpu *m)
{
  for (uint32_t i = 0; i < m->n_components; i++) {
    const CfSgComponent *c = &m->component[i];
    uint32_t r;

    if (c->free)
      continue;
    r = m->root[c->root] & CF_SG_NUMBER;
    m->sum[r] = c->sum;
    m->claim[r] = c->claim;
  }
  for (int row = 0; row < m->setup.rows; row++) {
    const size_t first = cf_sg_place (m, row), end = first + (size_t) m->setup.columns;

    for (size_t i = first; m->row_free[row] > 0 && i < end; i++)
      if (!(m->mean[i] & CF_SG_SEEDED))
        cf_sg_add_color (&m->sum[m->label[m->now][i] & CF_SG_NUMBER], m->color[m->now][i]);
  }
}

#define TONES 4096 /* by one job */

static void
tone_job (CfSgCpu *m, int job, uint8_t *scratch)
{
  const uint32_t first = (uint32_t) job * TONES, end = first + TONES < m->n_regions ? first + TONES : m->n_regions;

  (void) scratch;
  for (uint32_t r = first; r < end; r++)
    m->tone[r] |= cf_sg_mean (&m->sum[r]);
}

static void
number_regions (CfSgCpu *m)
{
  uint32_t n = 0;

  for (int row = 0; row < m->setup.rows; row++) {
    const uint32_t roots = m->row_first[row];

    m->row_first[row] = n;
    n += roots;
  }
  m->n_regions = n;
  cf_sg_run (m, m->n_strips, number_strip);
  cf_sg_run (m, m->n_strips, label_strip);
  sum_regions (m);
  cf_sg_run (m, (int) ((n + TONES - 1) / TONES), tone_job);
}

/* ---- the other rounds of growth ------------------------------------------ */

static void
edges_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  const int n = m->setup.columns;
  const uint32_t base = 2 * (uint32_t) cf_sg_place (m, strip * CF_SG_STRIP);
  uint8_t *right = scratch, *below = scratch + n + CF_SG_PAD;
  uint32_t k = base;

  for (int row = strip * CF_SG_STRIP; row < cf_sg_strip_end (m, strip); row++) {
    const uint32_t *label = m->label[m->now] + cf_sg_place (m, row);

    m->simd->grow (label, (ptrdiff_t) m->pitch, n, right, below);
    for (int x = cf_sg_next (right, 0, n); x < n; x = cf_sg_next (right, x + 1, n))
      m->edge[k++] = (CfSgEdge) { label[x] & CF_SG_NUMBER, label[x + 1] & CF_SG_NUMBER };
    for (int x = cf_sg_next (below, 0, n); x < n; x = cf_sg_next (below, x + 1, n))
      m->edge[k++] = (CfSgEdge) { label[x] & CF_SG_NUMBER, label[(size_t) x + m->pitch] & CF_SG_NUMBER };
  }
  m->strip_edges[strip] = (CfSgRange) { base, k };
}

/* What is less stays, whoever comes first. */
static void
consider (uint64_t *best, uint64_t key)
{
  uint64_t old = __atomic_load_n (best, __ATOMIC_RELAXED);

  while (key < old && !__atomic_compare_exchange_n (best, &old, key, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

/* Edges between what the round before has joined are dropped, and those between
 * two that have seeds; the regions of the others look at each other. */
static void
look_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  CfSgRange *range = &m->strip_edges[strip];
  uint32_t k = range->first;

  (void) scratch;
  for (uint32_t i = range->first; i < range->end; i++) {
    const uint32_t a = m->next[m->edge[i].a], b = m->next[m->edge[i].b];
    const uint32_t p = m->tone[a], q = m->tone[b];
    uint64_t key;

    if (a == b || (p & q & CF_SG_SEEDED))
      continue;
    key = (uint64_t) cf_sg_distance (p, q) << 32;
    if (!(p & CF_SG_SEEDED))
      consider (&m->best[a], key | b);
    if (!(q & CF_SG_SEEDED))
      consider (&m->best[b], key | a);
    m->edge[k++] = (CfSgEdge) { a, b };
  }
  range->end = k;
}

static void
relabel_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  (void) scratch;
  for (int row = strip * CF_SG_STRIP; row < cf_sg_strip_end (m, strip); row++) {
    uint32_t *label = m->label[m->now] + cf_sg_place (m, row);

    for (int x = 0; x < m->setup.columns; x++)
      label[x] = m->picked[label[x] & CF_SG_NUMBER];
  }
}

void
cf_sg_renumber (CfSgCpu *m)
{
  compact (m, m->picked);
  cf_sg_run (m, m->n_strips, relabel_strip);
}

void
cf_sg_grow (CfSgCpu *m)
{
  cf_sg_run (m, m->n_strips, pick_strip);
  cf_sg_run (m, m->n_strips, follow_strip);
  number_regions (m);
  m->n_live = 0;
  for (uint32_t r = 0; r < m->n_regions; r++)
    if (!(m->tone[r] & CF_SG_SEEDED))
      m->live[m->n_live++] = r;
  if (m->n_live > 0) {
    cf_sg_run (m, m->n_strips, edges_strip);
    do
      cf_sg_run (m, m->n_strips, look_strip);
    while (cf_sg_join (m) && m->n_live > 0);
  }
  cf_sg_renumber (m);
}
