/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/networks.c: generates selection networks; networks.h describes them.
 *
 * A network is first a graph of nodes (input sample, minimum, maximum), built in the order in which it will run. Then
 * the nodes that no output needs are dropped, the minimum and the maximum of one pair become one SORT, and slots are
 * allocated so that few are in use at a time. */
#include "networks.h"
#include "core/filter.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT, MIN, MAX };

typedef struct {
  uint8_t kind;
  bool used;
  int a, b;      /* operands; INPUT: a = sample number */
  int twin;      /* the other half of the pair: the MIN's MAX or the MAX's MIN; -1 if none */
  int last_user; /* node after which the value is dead, in running order */
} Node;

/* A sorted list of nodes: a base list, if any, merged with more samples. It is
 * built on first use: lists that are built late keep fewer values alive. */
typedef struct List {
  int n;
  int *node; /* NULL until built */
  struct List *base;
  int n_samples;
  int *sample;
  int x, y, w, h; /* the rectangle of the samples */
  struct List *next;
} List;

typedef struct Block {
  struct Block *next;
  _Alignas (max_align_t) char memory[];
} Block;

typedef struct {
  CfMedianNetwork *net;
  Node *nodes;
  int n_nodes, cap_nodes;
  int *input_node; /* sample number -> node, -1 = not loaded yet */
  int *output;     /* output number -> node */
  Block *blocks;   /* all memory from alloc; freed at the end */
  List *lists;     /* lists without a base, which neighbouring tiles share */
  jmp_buf no_memory;
} Builder;

/* A tile and the samples that all its windows share, sorted: the core. `below` samples are known to sort before every
 * candidate for the wanted rank and were dropped from `core`; `inside` counts the samples that the core stands for. */
typedef struct {
  int at[2], size[2]; /* [0] along x, [1] along y */
  int *core;
  int n_core, below, inside;
  /* Outside the core, or NULL: lists[0], by footprint x, of the rows that all windows share; lists[1], by footprint y,
   * of the columns that they share. */
  List **lists[2];
} Tile;

/* Returns zeroed memory that lives as long as the builder; does not return if out of memory. */
static void *
alloc (Builder *m, size_t size)
{
  Block *block = calloc (1, sizeof *block + size);

  if (!block)
    longjmp (m->no_memory, 1);
  block->next = m->blocks;
  m->blocks = block;
  return block->memory;
}

static int *
ints (Builder *m, int n)
{
  return alloc (m, sizeof (int) * (size_t) (n + 1));
}

/* ---- nodes -------------------------------------------------------------- */

static int
add_node (Builder *m, int kind, int a, int b)
{
  if (m->n_nodes == m->cap_nodes) {
    int cap = m->cap_nodes ? 2 * m->cap_nodes : 4096;
    Node *nodes = realloc (m->nodes, sizeof *nodes * (size_t) cap);

    if (!nodes)
      longjmp (m->no_memory, 1);
    m->nodes = nodes;
    m->cap_nodes = cap;
  }
  m->nodes[m->n_nodes] = (Node) { .kind = (uint8_t) kind, .a = a, .b = b, .twin = -1 };
  return m->n_nodes++;
}

static int
input_node (Builder *m, int sample)
{
  if (m->input_node[sample] < 0)
    m->input_node[sample] = add_node (m, INPUT, sample, 0);
  return m->input_node[sample];
}

/* Replaces nodes (a, b) by their (minimum, maximum). */
static void
sort_pair (Builder *m, int *a, int *b)
{
  int low = add_node (m, MIN, *a, *b), high = add_node (m, MAX, *a, *b);

  m->nodes[low].twin = high;
  m->nodes[high].twin = low;
  *a = low;
  *b = high;
}

/* ---- sorted lists ------------------------------------------------------- */

/* Merges two sorted lists of any lengths with Batcher's odd-even merge: first the
 * elements with even and those with odd numbers, then neighbours are sorted. */
static void
merge (Builder *m, const int *a, int na, int stride_a, const int *b, int nb, int stride_b, int *out)
{
  int n = na + nb, n_even = (na + 1) / 2 + (nb + 1) / 2, n_odd = n - n_even;
  int *even, *odd;

  if (na == 0 || nb == 0) {
    for (int i = 0; i < na; i++)
      out[i] = a[i * stride_a];
    for (int i = 0; i < nb; i++)
      out[i] = b[i * stride_b];
    return;
  }
  if (na == 1 && nb == 1) {
    out[0] = a[0];
    out[1] = b[0];
    sort_pair (m, &out[0], &out[1]);
    return;
  }
  even = ints (m, n_even);
  odd = ints (m, n_odd);
  merge (m, a, (na + 1) / 2, 2 * stride_a, b, (nb + 1) / 2, 2 * stride_b, even);
  merge (m, a + stride_a, na / 2, 2 * stride_a, b + stride_b, nb / 2, 2 * stride_b, odd);
  out[0] = even[0];
  for (int i = 0; 2 * i + 1 < n; i++) {
    int low = i < n_odd ? odd[i] : -1, high = i + 1 < n_even ? even[i + 1] : -1;

    if (low >= 0 && high >= 0)
      sort_pair (m, &high, &low), out[2 * i + 1] = high, out[2 * i + 2] = low;
    else
      out[2 * i + 1] = low >= 0 ? low : high;
  }
  /* both lengths are odd: n_even is n_odd + 2, and the last even element follows */
  for (int i = n_odd + 1; i < n_even; i++)
    out[n_odd + i] = even[i];
}

static int *
merged (Builder *m, const int *a, int na, const int *b, int nb)
{
  int *out = ints (m, na + nb);

  merge (m, a, na, 1, b, nb, 1, out);
  return out;
}

static int *
sorted_samples (Builder *m, const int *sample, int n)
{
  int *out, *low, *high;

  if (n == 1) {
    out = ints (m, 1);
    out[0] = input_node (m, sample[0]);
    return out;
  }
  low = sorted_samples (m, sample, n / 2);
  high = sorted_samples (m, sample + n / 2, n - n / 2);
  return merged (m, low, n / 2, high, n - n / 2);
}

static const int *
list_nodes (Builder *m, List *list)
{
  if (!list->node) {
    int *more = sorted_samples (m, list->sample, list->n_samples);

    list->node = list->base ? merged (m, list_nodes (m, list->base), list->base->n, more, list->n_samples) : more;
  }
  return list->node;
}

/* Returns the list of the samples of a rectangle of the footprint, added to the list `base` (or NULL). */
static List *
get_list (Builder *m, List *base, int x, int y, int w, int h)
{
  const CfMedianNetwork *net = m->net;
  int fw = net->tile_w + net->w - 1, fh = net->tile_h + net->h - 1;
  List *list;

  for (list = base ? NULL : m->lists; list; list = list->next)
    if (list->x == x && list->y == y && list->w == w && list->h == h)
      return list;
  list = alloc (m, sizeof *list);
  *list = (List) { .base = base, .x = x, .y = y, .w = w, .h = h };
  list->sample = ints (m, w * h * net->depth);
  for (int s = 0; s < net->depth; s++)
    for (int j = y; j < y + h; j++)
      for (int i = x; i < x + w; i++)
        list->sample[list->n_samples++] = (s * fh + j) * fw + i;
  list->n = list->n_samples + (base ? base->n : 0);
  if (!base) {
    list->next = m->lists;
    m->lists = list;
  }
  return list;
}

/* ---- tiles -------------------------------------------------------------- */

/* Returns the k-th smallest element (from 0) of two sorted lists: the minimum, over all splits of k + 1 elements
 * between the fronts of the lists, of the larger of the two last elements. */
static int
select_one (Builder *m, const int *a, int na, const int *b, int nb, int k)
{
  int result = -1;

  for (int i = 0; i <= k + 1; i++) {
    int j = k + 1 - i, candidate;

    if (i > na || j > nb)
      continue;
    if (i && j)
      candidate = add_node (m, MAX, a[i - 1], b[j - 1]);
    else
      candidate = i ? a[i - 1] : b[j - 1];
    result = result < 0 ? candidate : add_node (m, MIN, result, candidate);
  }
  return result;
}

/* Merges a sorted list into the core and keeps the elements that can still hold the rank: with e samples of a window
 * outside the core, those at positions rank - e .. rank. */
static void
add_to_core (Builder *m, Tile *t, const int *list, int n)
{
  const CfMedianNetwork *net = m->net;
  int outside, low, high, total = t->n_core + n;
  int *all;

  t->inside += n;
  outside = net->w * net->h * net->depth - t->inside;
  low = cf_max (0, net->rank - outside - t->below);
  high = cf_min (total - 1, net->rank - t->below);
  if (low == high && t->n_core > 0) {
    all = ints (m, 1);
    all[0] = select_one (m, t->core, t->n_core, list, n, low);
    t->core = all;
  } else {
    all = t->n_core ? merged (m, t->core, t->n_core, list, n) : memcpy (ints (m, n), list, sizeof (int) * (size_t) n);
    t->core = all + low;
  }
  t->n_core = high - low + 1;
  t->below += low;
}

/* Merges lists pairwise, as in merge sort, then merges the result into the core. */
static void
add_lists_to_core (Builder *m, Tile *t, List **lists, int n)
{
  const int **node = alloc (m, sizeof *node * (size_t) (n + 1));
  int *size = ints (m, n), count = 0;

  /* as carries in a binary counter: a list is merged once there is one of its level, and all after the last one */
  for (int i = 0; i < n; i++) {
    node[count] = list_nodes (m, lists[i]);
    size[count++] = lists[i]->n;
    for (int bit = i + 1; count > 1 && (i == n - 1 || !(bit & 1)); bit >>= 1) {
      count--;
      node[count - 1] = merged (m, node[count - 1], size[count - 1], node[count], size[count]);
      size[count - 1] += size[count];
    }
  }
  if (n)
    add_to_core (m, t, node[0], size[0]);
}

static void solve (Builder *m, Tile *t);

/* Solves the first or the second half of a tile, which is cut along an axis. Its windows share `gain` more columns (or
 * rows) from footprint position `from` on; the lists of the other axis grow by the corner samples there. */
static void
solve_half (Builder *m, const Tile *t, int axis, bool second)
{
  const CfMedianNetwork *net = m->net;
  const int window[2] = { net->w, net->h }, tile[2] = { net->tile_w, net->tile_h };
  int other = 1 - axis, first = t->size[axis] / 2, gain = second ? first : t->size[axis] - first, from;
  Tile half = *t;

  for (int i = 0; i < 2; i++) {
    size_t bytes = sizeof (List *) * (size_t) (tile[i] + window[i] - 1);

    half.lists[i] = memcpy (alloc (m, bytes), t->lists[i], bytes);
  }
  half.size[axis] -= gain;
  half.at[axis] += second ? first : 0;
  from = second ? t->at[axis] + window[axis] : t->at[axis] + half.size[axis] - 1;
  add_lists_to_core (m, &half, &half.lists[axis][from], gain);
  for (int i = t->at[other]; i < t->at[other] + window[other] + t->size[other] - 1; i++) {
    List **list = &half.lists[other][i];

    if (*list)
      *list = axis ? get_list (m, *list, i, from, 1, gain) : get_list (m, *list, from, i, gain, 1);
  }
  for (int i = 0; i < gain; i++)
    half.lists[axis][from + i] = NULL;
  solve (m, &half);
}

static void
solve (Builder *m, Tile *t)
{
  int axis = t->size[0] >= t->size[1] ? 0 : 1;

  if (t->size[0] == 1 && t->size[1] == 1) {
    m->output[t->at[1] * m->net->tile_w + t->at[0]] = t->core[0];
    return;
  }
  solve_half (m, t, axis, false);
  solve_half (m, t, axis, true);
}

/* Solves a tile from its samples. The windows of a tile larger than the window
 * have no sample in common, so such a tile is cut first. */
static void
solve_root (Builder *m, int x0, int y0, int tw, int th)
{
  const CfMedianNetwork *net = m->net;
  int fw = net->tile_w + net->w - 1, fh = net->tile_h + net->h - 1;
  int core_w = net->w - tw + 1, core_h = net->h - th + 1;
  Tile root = { .at = { x0, y0 }, .size = { tw, th } };
  List **core;

  if (core_w <= 0) {
    solve_root (m, x0, y0, tw / 2, th);
    solve_root (m, x0 + tw / 2, y0, tw - tw / 2, th);
    return;
  }
  if (core_h <= 0) {
    solve_root (m, x0, y0, tw, th / 2);
    solve_root (m, x0, y0 + th / 2, tw, th - th / 2);
    return;
  }
  root.lists[0] = alloc (m, sizeof (List *) * (size_t) fw);
  root.lists[1] = alloc (m, sizeof (List *) * (size_t) fh);
  core = alloc (m, sizeof (List *) * (size_t) core_w);
  for (int x = 0; x < tw + net->w - 1; x++)
    if (x < tw - 1 || x >= net->w)
      root.lists[0][x0 + x] = get_list (m, NULL, x0 + x, y0 + th - 1, 1, core_h);
  for (int y = 0; y < th + net->h - 1; y++)
    if (y < th - 1 || y >= net->h)
      root.lists[1][y0 + y] = get_list (m, NULL, x0 + tw - 1, y0 + y, core_w, 1);
  for (int i = 0; i < core_w; i++)
    core[i] = get_list (m, NULL, x0 + tw - 1 + i, y0 + th - 1, 1, core_h);
  add_lists_to_core (m, &root, core, core_w);
  solve (m, &root);
}

/* ---- from the graph to steps -------------------------------------------- */

static void
mark_used (Builder *m, int outputs)
{
  for (int i = 0; i < outputs; i++)
    m->nodes[m->output[i]].used = true;
  /* operands precede their users, so one backward pass reaches all of them */
  for (int i = m->n_nodes - 1; i >= 0; i--)
    if (m->nodes[i].used && m->nodes[i].kind != INPUT) {
      m->nodes[m->nodes[i].a].used = true;
      m->nodes[m->nodes[i].b].used = true;
    }
}

/* Returns whether node i is computed by its twin's step: a pair with both halves
 * used is one step, at the first half. */
static bool
is_second_half (const Builder *m, int i)
{
  const Node *n = &m->nodes[i];

  return n->twin >= 0 && n->twin < i && m->nodes[n->twin].used;
}

/* Finds the last users of values; those without one are not kept beyond their own node. */
static void
find_last_users (Builder *m)
{
  for (int i = 0; i < m->n_nodes; i++)
    if (m->nodes[i].used && m->nodes[i].kind != INPUT) {
      int step = is_second_half (m, i) ? m->nodes[i].twin : i;

      if (m->nodes[m->nodes[i].a].last_user < step)
        m->nodes[m->nodes[i].a].last_user = step;
      if (m->nodes[m->nodes[i].b].last_user < step)
        m->nodes[m->nodes[i].b].last_user = step;
    }
}

typedef struct {
  int *slot_of; /* node -> slot */
  int *spare;   /* stack of free slots */
  int *output;  /* node -> 1 + the output that it is, 0: none; no two windows have the same samples */
  int n_spare;
} Slots;

static int
take_slot (Builder *m, Slots *s)
{
  return s->n_spare ? s->spare[--s->n_spare] : m->net->n_slots++;
}

static void
emit (Builder *m, int op, int d, int e, int a, int b)
{
  CfMedianNetwork *net = m->net;

  net->steps[net->n_steps++] = (CfMedianNetStep) { (uint16_t) op, (uint16_t) d, (uint16_t) e, (uint16_t) a,
    (uint16_t) b };
  net->n_ops += op == CF_MEDIAN_NET_SORT ? 2 : op == CF_MEDIAN_NET_MIN || op == CF_MEDIAN_NET_MAX;
}

/* Stores the output that is this node, and frees its slot if no later step reads it. */
static void
finish_node (Builder *m, Slots *s, int node, int step)
{
  if (s->output[node] > 0)
    emit (m, CF_MEDIAN_NET_STORE, s->output[node] - 1, 0, s->slot_of[node], 0);
  if (m->nodes[node].last_user <= step)
    s->spare[s->n_spare++] = s->slot_of[node];
}

static void
emit_node (Builder *m, Slots *s, int i)
{
  const Node *n = &m->nodes[i];
  bool pair = n->kind != INPUT && n->twin > i && m->nodes[n->twin].used;

  if (n->kind == INPUT) {
    s->slot_of[i] = take_slot (m, s);
    emit (m, CF_MEDIAN_NET_LOAD, s->slot_of[i], 0, n->a, 0);
    finish_node (m, s, i, i);
    return;
  }
  /* operands without later users give their slots to the results */
  if (m->nodes[n->b].last_user <= i)
    s->spare[s->n_spare++] = s->slot_of[n->b];
  if (m->nodes[n->a].last_user <= i && n->a != n->b)
    s->spare[s->n_spare++] = s->slot_of[n->a];
  s->slot_of[i] = take_slot (m, s);
  if (pair) {
    s->slot_of[n->twin] = take_slot (m, s);
    emit (m, CF_MEDIAN_NET_SORT, s->slot_of[i], s->slot_of[n->twin], s->slot_of[n->a], s->slot_of[n->b]);
    finish_node (m, s, n->twin, i);
  } else
    emit (m, n->kind == MIN ? CF_MEDIAN_NET_MIN : CF_MEDIAN_NET_MAX, s->slot_of[i], 0, s->slot_of[n->a],
        s->slot_of[n->b]);
  finish_node (m, s, i, i);
}

static void
emit_steps (Builder *m, int outputs)
{
  Slots s = { ints (m, m->n_nodes), ints (m, m->n_nodes + 2), ints (m, m->n_nodes), 0 };

  for (int o = 0; o < outputs; o++)
    s.output[m->output[o]] = o + 1;
  m->net->steps = malloc (sizeof (CfMedianNetStep) * (size_t) (m->n_nodes + outputs + 1));
  if (!m->net->steps)
    longjmp (m->no_memory, 1);
  for (int i = 0; i < m->n_nodes; i++)
    if (m->nodes[i].used && !is_second_half (m, i))
      emit_node (m, &s, i);
}

CfMedianNetwork *
cf_median_network_new (int w, int h, int depth, int rank, int tile_w, int tile_h)
{
  Builder m = { 0 };
  int inputs = (tile_w + w - 1) * (tile_h + h - 1) * depth, outputs = tile_w * tile_h;

  if (setjmp (m.no_memory)) {
    cf_median_network_free (m.net);
    m.net = NULL;
  } else {
    m.net = calloc (1, sizeof *m.net);
    if (!m.net)
      longjmp (m.no_memory, 1);
    *m.net = (CfMedianNetwork) { .w = w, .h = h, .depth = depth, .rank = rank, .tile_w = tile_w, .tile_h = tile_h };
    m.input_node = ints (&m, inputs);
    memset (m.input_node, -1, sizeof (int) * (size_t) inputs);
    m.output = ints (&m, outputs);
    solve_root (&m, 0, 0, tile_w, tile_h);
    mark_used (&m, outputs);
    find_last_users (&m);
    emit_steps (&m, outputs);
  }
  while (m.blocks) {
    Block *next = m.blocks->next;

    free (m.blocks);
    m.blocks = next;
  }
  free (m.nodes);
  return m.net;
}

void
cf_median_network_free (CfMedianNetwork *network)
{
  if (network)
    free (network->steps);
  free (network);
}
