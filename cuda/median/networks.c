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

typedef struct {
  uint8_t op; /* CF_MEDIAN_NET_LOAD, _MIN or _MAX */
  bool used;
  int a, b;      /* operands; LOAD: a = sample number */
  int twin;      /* the other half of the pair: the MIN's MAX or the MAX's MIN; -1 if none */
  int last_user; /* node after which the value is dead, in running order */
  int output;    /* 1 + the output that it is, 0: none; no two windows have the same samples */
  int slot;
} Node;

/* A sorted list of nodes: a base list, if any, merged with the samples of a rectangle of the footprint. It is
 * built on first use: lists that are built late keep fewer values alive. */
typedef struct List {
  int n;
  const int *node; /* NULL until built */
  struct List *base;
  int x, y, w, h; /* the rectangle */
  struct List *next;
} List;

typedef struct Block {
  struct Block *next;
  _Alignas (max_align_t) char memory[];
} Block;

typedef struct {
  CfMedianNetwork *net;
  int fw, fh; /* the footprint */
  Node *nodes;
  int n_nodes, cap_nodes;
  int *input_node; /* sample number -> node, -1 = not loaded yet */
  int *spare;      /* stack of free slots */
  int n_spare;
  Block *blocks; /* all memory from alloc, newest first; freed at the end */
  size_t left;   /* bytes of the newest block, at its begin */
  List *lists;   /* lists without a base, which neighbouring tiles share */
  jmp_buf no_memory;
} Builder;

/* A tile and the samples that all its windows share, sorted: the core. `below` samples are known to sort before every
 * candidate for the wanted rank and were dropped from `core`; `inside` counts the samples that the core stands for. */
typedef struct {
  int at[2], size[2]; /* [0] along x, [1] along y */
  const int *core;
  int n_core, below, inside;
  /* Outside the core, or NULL: lists[0], by footprint x, of the rows that all windows share; lists[1], by footprint y,
   * of the columns that they share. */
  List **lists[2];
} Tile;

/* Returns zeroed memory that lives as long as the builder; does not return if out of memory. */
static void *
alloc (Builder *m, size_t size)
{
  size = (size + sizeof (max_align_t) - 1) / sizeof (max_align_t) * sizeof (max_align_t);
  if (size > m->left) {
    const size_t least = 1 << 20, left = size > least ? size : least;
    Block *block = calloc (1, sizeof *block + left);

    if (!block)
      longjmp (m->no_memory, 1);
    block->next = m->blocks;
    m->blocks = block;
    m->left = left;
  }
  m->left -= size;
  return m->blocks->memory + m->left;
}

static int *
ints (Builder *m, int n)
{
  return alloc (m, sizeof (int) * (size_t) (n + 1));
}

/* ---- nodes -------------------------------------------------------------- */

static int
add_node (Builder *m, int op, int a, int b)
{
  if (m->n_nodes == m->cap_nodes) {
    int cap = m->cap_nodes ? 2 * m->cap_nodes : 4096;
    Node *nodes = realloc (m->nodes, sizeof *nodes * (size_t) cap);

    if (!nodes)
      longjmp (m->no_memory, 1);
    m->nodes = nodes;
    m->cap_nodes = cap;
  }
  m->nodes[m->n_nodes] = (Node) { .op = (uint8_t) op, .a = a, .b = b, .twin = -1 };
  return m->n_nodes++;
}

/* Replaces two nodes by their minimum and maximum. */
static void
sort_pair (Builder *m, int pair[2])
{
  int low = add_node (m, CF_MEDIAN_NET_MIN, pair[0], pair[1]), high = add_node (m, CF_MEDIAN_NET_MAX, pair[0], pair[1]);

  m->nodes[low].twin = high;
  m->nodes[high].twin = low;
  pair[0] = low;
  pair[1] = high;
}

/* ---- sorted lists ------------------------------------------------------- */

/* Merges two sorted lists of any lengths with Batcher's odd-even merge: first the elements with even and those with odd
 * numbers; then the first even one, and pairs of the other even ones and the odd ones, which are sorted. */
static const int *
merged (Builder *m, const int *a, int na, int stride_a, const int *b, int nb, int stride_b)
{
  const int n = na + nb, n_even = (na + 1) / 2 + (nb + 1) / 2;
  int *out = ints (m, n);
  const int *even, *odd;

  if (na * nb < 2) {
    for (int i = 0; i < n; i++)
      out[i] = i < na ? a[i * stride_a] : b[(i - na) * stride_b];
    if (na * nb == 1)
      sort_pair (m, out);
    return out;
  }
  even = merged (m, a, (na + 1) / 2, 2 * stride_a, b, (nb + 1) / 2, 2 * stride_b);
  odd = merged (m, a + stride_a, na / 2, 2 * stride_a, b + stride_b, nb / 2, 2 * stride_b);
  for (int i = 0; i < n_even; i++)
    out[cf_max (2 * i - 1, 0)] = even[i];
  for (int i = 0; i < n - n_even; i++)
    out[cf_min (2 * i + 2, n - 1)] = odd[i];
  for (int i = 1; i + 1 < n; i += 2)
    sort_pair (m, out + i);
  return out;
}

static const int *
sorted_samples (Builder *m, const int *sample, int n)
{
  const int *low, *high;

  if (n == 1) {
    if (m->input_node[*sample] < 0)
      m->input_node[*sample] = add_node (m, CF_MEDIAN_NET_LOAD, *sample, 0);
    return &m->input_node[*sample];
  }
  low = sorted_samples (m, sample, n / 2);
  high = sorted_samples (m, sample + n / 2, n - n / 2);
  return merged (m, low, n / 2, 1, high, n - n / 2, 1);
}

static const int *
list_nodes (Builder *m, List *list)
{
  const int *more;
  int *sample, n = 0;

  if (list->node)
    return list->node;
  sample = ints (m, list->n);
  for (int s = 0; s < m->net->depth; s++)
    for (int j = list->y; j < list->y + list->h; j++)
      for (int i = list->x; i < list->x + list->w; i++)
        sample[n++] = (s * m->fh + j) * m->fw + i;
  more = sorted_samples (m, sample, n);
  list->node = list->base ? merged (m, list_nodes (m, list->base), list->base->n, 1, more, n, 1) : more;
  return list->node;
}

/* Returns the list of the samples of a rectangle of the footprint, added to the list `base` (or NULL). */
static List *
get_list (Builder *m, List *base, int x, int y, int w, int h)
{
  List *list;

  for (list = base ? NULL : m->lists; list; list = list->next)
    if (list->x == x && list->y == y && list->w == w && list->h == h)
      return list;
  list = alloc (m, sizeof *list);
  *list = (List) { w * h * m->net->depth + (base ? base->n : 0), NULL, base, x, y, w, h, m->lists };
  if (!base)
    m->lists = list;
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
      candidate = add_node (m, CF_MEDIAN_NET_MAX, a[i - 1], b[j - 1]);
    else
      candidate = i ? a[i - 1] : b[j - 1];
    result = result < 0 ? candidate : add_node (m, CF_MEDIAN_NET_MIN, result, candidate);
  }
  return result;
}

/* Merges lists pairwise, as in merge sort, then merges the result into the core and keeps the elements that can still
 * hold the rank: with e samples of a window outside the core, those at positions rank - e .. rank. */
static void
add_to_core (Builder *m, Tile *t, List **lists, int n)
{
  const CfMedianNetwork *net = m->net;
  const int **node = alloc (m, sizeof *node * (size_t) n);
  int *size = ints (m, n), count = 0, low, high;

  /* as carries in a binary counter: a list is merged once there is one of its level, and all after the last one */
  for (int i = 0; i < n; i++) {
    node[count] = list_nodes (m, lists[i]);
    size[count++] = lists[i]->n;
    for (int bit = i + 1; count > 1 && (i == n - 1 || !(bit & 1)); bit >>= 1) {
      count--;
      node[count - 1] = merged (m, node[count - 1], size[count - 1], 1, node[count], size[count], 1);
      size[count - 1] += size[count];
    }
  }
  t->inside += *size;
  low = cf_max (0, net->rank - (net->w * net->h * net->depth - t->inside) - t->below);
  high = cf_min (t->n_core + *size - 1, net->rank - t->below);
  if (low == high && t->n_core > 0) {
    int *one = ints (m, 1);

    *one = select_one (m, t->core, t->n_core, *node, *size, low);
    t->core = one;
  } else
    t->core = merged (m, t->core, t->n_core, 1, *node, *size, 1) + low;
  t->n_core = high - low + 1;
  t->below += low;
}

/* Solves a tile by its halves along an axis. The windows of a half share `gain` more columns (or rows) from footprint
 * position `from` on; the lists of the other axis grow by the corner samples there. */
static void
solve (Builder *m, const Tile *t)
{
  const CfMedianNetwork *net = m->net;
  const int window[2] = { net->w, net->h }, footprint[2] = { m->fw, m->fh };
  const int axis = t->size[0] >= t->size[1] ? 0 : 1, other = 1 - axis, first = t->size[axis] / 2;

  if (first == 0) {
    m->nodes[t->core[0]].output = t->at[1] * net->tile_w + t->at[0] + 1;
    m->nodes[t->core[0]].used = true;
    return;
  }
  for (int second = 0; second < 2; second++) {
    const int gain = second ? first : t->size[axis] - first;
    Tile half = *t;
    int from;

    for (int i = 0; i < 2; i++) {
      size_t bytes = sizeof (List *) * (size_t) footprint[i];

      half.lists[i] = memcpy (alloc (m, bytes), t->lists[i], bytes);
    }
    half.size[axis] -= gain;
    half.at[axis] += second ? first : 0;
    from = second ? t->at[axis] + window[axis] : t->at[axis] + half.size[axis] - 1;
    add_to_core (m, &half, &half.lists[axis][from], gain);
    for (int i = t->at[other]; i < t->at[other] + window[other] + t->size[other] - 1; i++) {
      List **list = &half.lists[other][i];

      if (*list)
        *list = axis ? get_list (m, *list, i, from, 1, gain) : get_list (m, *list, from, i, gain, 1);
    }
    for (int i = 0; i < gain; i++)
      half.lists[axis][from + i] = NULL;
    solve (m, &half);
  }
}

/* Solves a tile from its samples. The windows of a tile larger than the window
 * have no sample in common, so such a tile is cut first. */
static void
solve_root (Builder *m, int x0, int y0, int tw, int th)
{
  const CfMedianNetwork *net = m->net;
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
  root.lists[0] = alloc (m, sizeof (List *) * (size_t) m->fw);
  root.lists[1] = alloc (m, sizeof (List *) * (size_t) m->fh);
  core = alloc (m, sizeof (List *) * (size_t) core_w);
  for (int x = 0; x < tw + net->w - 1; x++)
    if (x < tw - 1 || x >= net->w)
      root.lists[0][x0 + x] = get_list (m, NULL, x0 + x, y0 + th - 1, 1, core_h);
  for (int y = 0; y < th + net->h - 1; y++)
    if (y < th - 1 || y >= net->h)
      root.lists[1][y0 + y] = get_list (m, NULL, x0 + tw - 1, y0 + y, core_w, 1);
  for (int i = 0; i < core_w; i++)
    core[i] = get_list (m, NULL, x0 + tw - 1 + i, y0 + th - 1, 1, core_h);
  add_to_core (m, &root, core, core_w);
  solve (m, &root);
}

/* ---- from the graph to steps -------------------------------------------- */

/* Returns whether node i is computed by its twin's step: a pair with both halves
 * used is one step, at the first half. */
static bool
is_second_half (const Builder *m, int i)
{
  const Node *n = &m->nodes[i];

  return n->twin >= 0 && n->twin < i && m->nodes[n->twin].used;
}

/* Marks the nodes that others need, and finds the last step that reads each. Operands precede their users, so one
 * backward pass reaches all of them. */
static void
find_users (Builder *m)
{
  for (int i = m->n_nodes - 1; i >= 0; i--) {
    const Node *n = &m->nodes[i];

    for (int j = 0; n->used && n->op != CF_MEDIAN_NET_LOAD && j < 2; j++) {
      Node *operand = &m->nodes[j ? n->b : n->a];

      operand->used = true;
      operand->last_user = cf_max (operand->last_user, is_second_half (m, i) ? n->twin : i);
    }
  }
}

static int
take_slot (Builder *m)
{
  return m->n_spare ? m->spare[--m->n_spare] : m->net->n_slots++;
}

/* Frees a node's slot if no step after this one reads it. */
static void
free_slot (Builder *m, const Node *n, int step)
{
  if (n->last_user <= step)
    m->spare[m->n_spare++] = n->slot;
}

static void
emit (Builder *m, int op, int d, int e, int a, int b)
{
  CfMedianNetwork *net = m->net;

  net->steps[net->n_steps++] = (CfMedianNetStep) { (uint16_t) op, (uint16_t) d, (uint16_t) e, (uint16_t) a,
    (uint16_t) b };
  net->n_ops += op == CF_MEDIAN_NET_SORT ? 2 : op == CF_MEDIAN_NET_MIN || op == CF_MEDIAN_NET_MAX;
}

/* Stores the output that is this node. */
static void
finish_node (Builder *m, const Node *n, int step)
{
  if (n->output > 0)
    emit (m, CF_MEDIAN_NET_STORE, n->output - 1, 0, n->slot, 0);
  free_slot (m, n, step);
}

static void
emit_node (Builder *m, int i)
{
  Node *n = &m->nodes[i], *twin = n->twin > i && m->nodes[n->twin].used ? &m->nodes[n->twin] : NULL;
  const Node *a = &m->nodes[n->a], *b = &m->nodes[n->b];

  if (n->op == CF_MEDIAN_NET_LOAD) {
    n->slot = take_slot (m);
    emit (m, n->op, n->slot, 0, n->a, 0);
  } else {
    /* operands without later users give their slots to the results */
    free_slot (m, b, i);
    free_slot (m, a, i);
    n->slot = take_slot (m);
    if (twin)
      twin->slot = take_slot (m);
    emit (m, twin ? CF_MEDIAN_NET_SORT : n->op, n->slot, twin ? twin->slot : 0, a->slot, b->slot);
  }
  if (twin)
    finish_node (m, twin, i);
  finish_node (m, n, i);
}

CfMedianNetwork *
cf_median_network_new (int w, int h, int depth, int rank, int tile_w, int tile_h)
{
  Builder m = { .fw = tile_w + w - 1, .fh = tile_h + h - 1 };

  if (setjmp (m.no_memory)) {
    cf_median_network_free (m.net);
    m.net = NULL;
  } else {
    m.net = calloc (1, sizeof *m.net);
    if (!m.net)
      longjmp (m.no_memory, 1);
    *m.net = (CfMedianNetwork) { .w = w, .h = h, .depth = depth, .rank = rank, .tile_w = tile_w, .tile_h = tile_h };
    m.input_node = ints (&m, m.fw * m.fh * depth);
    memset (m.input_node, -1, sizeof (int) * (size_t) (m.fw * m.fh * depth));
    solve_root (&m, 0, 0, tile_w, tile_h);
    find_users (&m);
    m.spare = ints (&m, m.n_nodes + 2);
    m.net->steps = malloc (sizeof (CfMedianNetStep) * (size_t) (m.n_nodes + tile_w * tile_h));
    if (!m.net->steps)
      longjmp (m.no_memory, 1);
    for (int i = 0; i < m.n_nodes; i++)
      if (m.nodes[i].used && !is_second_half (&m, i))
        emit_node (&m, i);
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
