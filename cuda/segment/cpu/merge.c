/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/cpu/merge.c: weak borders, merging and ids on the CPU: steps 7 to 10 of segment/segment.h. Only the list of
 * borders is made from cells; all else works on regions and borders. */
#include "internal.h"

#include <string.h>

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
  m->border[k] = (CfSgBorder) { a, b, 1, weak };
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

static uint32_t
region_root (CfSgNode *node, uint32_t r)
{
  while (node[r].next != r)
    r = node[r].next = node[node[r].next].next;
  return r;
}

/* Lists the regions from which the merging begins. */
static void
list_live (CfSgCpu *m)
{
  for (uint32_t r = 0; r < m->n_regions; r++)
    m->live[r] = r;
  m->n_live = m->n_regions;
  cf_sg_gather_live (m);
}

/* Joins regions with union-find; the smaller number, that is the smaller root, stays. */
static void
join_weak (CfSgCpu *m)
{
  for (uint32_t i = 0; i < m->n_borders; i++) {
    const CfSgBorder *b = &m->border[i];
    const uint64_t shorter = m->node[b->a].best < m->node[b->b].best ? m->node[b->a].best : m->node[b->b].best;

    if (((uint64_t) b->weak << 16) > m->setup.fraction * shorter) {
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
offer (CfSgCpu *m, uint32_t region, uint32_t with, uint64_t key)
{
  if ((key | with) < m->node[region].best)
    m->node[region].best = key | with;
}

/* Which regions pick in a round: those of two that are similar (step 8; `shift` lowers the threshold), those of fewer
 * than min_cells cells, or those that cost less than `limit` (9). */
typedef struct {
  bool by_mean;
  int shift;
  uint32_t min_cells, limit;
} Stage;

/* Returns whether two regions may join in step 8. d: the distance of their means; cells: of the smaller one. */
static inline bool
is_similar (const CfSgCpu *m, uint32_t a, uint32_t b, uint32_t d, uint64_t cells, int shift)
{
  const uint32_t lengths = cf_sg_length (m->node[a].mean) + cf_sg_length (m->node[b].mean);

  return !(m->claim[a] && m->claim[b]) &&
      cf_sg_near (d, lengths, m->setup.merge[63 - __builtin_clzll (cells)] >> shift);
}

/* One round of merging. Drops the borders inside joined regions. Returns false if no region has picked. */
static bool
merge_round (CfSgCpu *m, Stage stage)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < m->n_borders; i++) {
    const uint32_t a = m->node[m->border[i].a].next, b = m->node[m->border[i].b].next;
    const uint32_t p = m->node[a].mean, q = m->node[b].mean, d = cf_sg_distance (p, q);
    const uint64_t of_a = m->sum[a].cells, of_b = m->sum[b].cells, least = of_a < of_b ? of_a : of_b;
    const uint32_t cost = cf_sg_cost (d, least);
    const bool first = of_a < of_b || (of_a == of_b && a > b); /* of the two, a is the one that picks */
    const bool joins = stage.by_mean ? is_similar (m, a, b, d, least, stage.shift) : cost < stage.limit;

    if (a == b)
      continue;
    m->border[n].a = a;
    m->border[n++].b = b;
    if ((joins && first) || of_a < stage.min_cells)
      offer (m, a, b, (uint64_t) cost << 32);
    if ((joins && !first) || of_b < stage.min_cells)
      offer (m, b, a, (uint64_t) cost << 32);
  }
  m->n_borders = n;
  return cf_sg_join (m);
}

static void
merge_regions (CfSgCpu *m)
{
  for (int shift = CF_SEGMENT_RISES; merge_round (m, (Stage) { .by_mean = true, .shift = shift }) || shift > 0;)
    shift -= shift > 0;
  while (merge_round (m, (Stage) { .min_cells = m->setup.min_cells }))
    ;
  for (uint32_t limit = CF_SEGMENT_LIMIT; m->n_live > (uint32_t) m->setup.max_regions; limit += CF_SEGMENT_LIMIT_STEP)
    while (merge_round (m, (Stage) { .limit = limit }))
      ;
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

void
cf_sg_merge (CfSgCpu *m)
{
  list_borders (m);
  if (m->setup.fraction < CF_SEGMENT_NO_WEAK)
    join_weak (m);
  else
    list_live (m);
  merge_regions (m);
  cf_sg_renumber (m);
  assign_ids (m);
}
