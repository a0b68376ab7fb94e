/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment_graph.cu: steps 4 to 10 of the segmentation, in one cooperative launch:
 * its blocks wait for each other at a barrier, so that no step needs the host.
 *
 * Each round is two phases, A and B. In A what has a border puts the best partner of its
 * region into `best`, by an atomic minimum over distance and root, which no order
 * changes. In B each region's root follows the picks to where they end, adds its sums
 * there and hangs itself below. `best` is used in turns, so that B can clear the
 * other one. Lists shrink from round to round: a border cell whose neighbours have become
 * its own region's never has a border again.
 *
 * A barrier of all blocks takes a microsecond. Once the lists are short the first block
 * goes on alone, whose barrier takes a tenth of that, and the others wait. */
#include "segment_list.cuh"

namespace cf {

namespace {

constexpr int threads = 1024;
constexpr unsigned alone_below = 6144; /* entries; as measured */
constexpr int pair_slots = 4096;       /* of a tile's hash table: more than a tile has pairs */

struct Shared {
  SgAppender appender;
  unsigned n;
  unsigned long long key[pair_slots];
  unsigned count[pair_slots]; /* pairs << 16 | weak ones */
};

/* The blocks that work together: all, or the first one. */
struct Team {
  SgControl *control;
  unsigned arrivals; /* that open the next barrier of all blocks */
  bool alone;

  __device__ unsigned first () const { return (alone ? 0 : blockIdx.x * threads) + threadIdx.x; }
  __device__ unsigned step () const { return alone ? threads : gridDim.x * threads; }

  __device__ void
  barrier_of_all ()
  {
    arrivals += gridDim.x;
    __syncthreads ();
    if (threadIdx.x == 0) {
      __threadfence ();
      atomicAdd (&control->arrived, 1u);
      while (*(volatile unsigned *) &control->arrived < arrivals)
        ;
      __threadfence ();
    }
    __syncthreads ();
  }

  __device__ void
  barrier ()
  {
    if (alone)
      __syncthreads ();
    else
      barrier_of_all ();
  }
};

__device__ __forceinline__ unsigned long long
key_of (unsigned p, unsigned q, unsigned root)
{
  return (unsigned long long) sg_distance (p, q) << 32 | root;
}

__device__ __forceinline__ unsigned
neighbour (const SgWork &work, unsigned c, int i)
{
  const int column = (int) (c % (unsigned) work.columns), row = (int) (c / (unsigned) work.columns);

  switch (i) {
    case 0:
      return row > 0 ? c - (unsigned) work.columns : c;
    case 1:
      return column > 0 ? c - 1 : c;
    case 2:
      return column + 1 < work.columns ? c + 1 : c;
    default:
      return row + 1 < work.rows ? c + (unsigned) work.columns : c;
  }
}

/* ---- step 4: components ------------------------------------------------- */

/* Joins what touches across the tiles' edges: each cell on a tile's upper or left
 * edge looks at its neighbours there. */
__device__ void
join_across (const SgWork &work, unsigned c, int dx, int dy)
{
  const int x = (int) (c % (unsigned) work.columns) + dx, y = (int) (c / (unsigned) work.columns) + dy;
  const unsigned other = (unsigned) (y * work.columns + x);

  if ((unsigned) x < (unsigned) work.columns && (unsigned) y < (unsigned) work.rows && work.kind[other] == work.kind[c])
    sg_unite (work.parent, c, other);
}

__device__ void
join_tiles (const SgWork &work, const Team &team)
{
  const unsigned columns = (unsigned) work.columns, rows = (unsigned) work.rows;
  const unsigned across = (rows - 1) / sg_tile * columns, down = (columns - 1) / sg_tile * rows;

  for (unsigned i = team.first (); i < across + down; i += team.step ()) {
    if (i < across) { /* the upper edges */
      const unsigned c = (i / columns + 1) * sg_tile * columns + i % columns;

      if (work.kind[c]) {
        join_across (work, c, 0, -1);
        join_across (work, c, -1, -1);
        join_across (work, c, 1, -1);
      }
    } else { /* the left ones */
      const unsigned j = i - across, c = j % rows * columns + (j / rows + 1) * sg_tile;

      if (work.kind[c]) {
        join_across (work, c, -1, 0);
        join_across (work, c, -1, -1);
        join_across (work, c, -1, 1);
      }
    }
  }
}

/* The sums of the tiles' components to their roots. */
__device__ void
add_locals (const SgWork &work, const Team &team)
{
  const unsigned n = work.control->locals;

  for (unsigned base = team.first () - threadIdx.x; base < n; base += team.step ()) {
    const unsigned i = base + threadIdx.x;
    const unsigned c = i < n ? work.local_list[i] : 0, root = i < n ? sg_find (work.parent, c) : 0;

    sg_add_record (work.record, i < n && root != c, root, sg_load_record (work.record + c));
    if (i < n && root != c)
      work.parent[c] = root;
  }
}

__device__ void
find_largest (const SgWork &work, const Team &team)
{
  const unsigned n = work.control->locals;

  for (unsigned i = team.first (); i < n; i += team.step ()) {
    const unsigned c = work.local_list[i];

    if (work.kind[c] >= 2 && sg_load (work.parent + c) == c)
      atomicMax (work.largest + (work.kind[c] - 2),
          (unsigned long long) sg_cells (sg_load_record (work.record + c)) << 32 | (0xffffffffu - c));
  }
}

/* Is the component with this root one that is free again? */
__device__ __forceinline__ bool
is_dropped (const SgWork &work, unsigned root, unsigned kind, unsigned long long *largest)
{
  *largest = sg_load (work.largest + (kind - 2));
  return 0xffffffffu - (unsigned) *largest != root && sg_cells (sg_load_record (work.record + root)) < work.min_cells;
}

/* The largest carry their old regions on; the cells of small ones go to the list of
 * free ones. Their records are written one phase later: others still read them. */
__device__ void
drop_fragments (const SgWork &work, const Team &team, Shared *shared)
{
  const unsigned n = (unsigned) work.n;

  for (unsigned base = team.first () - threadIdx.x; base < n; base += team.step ()) {
    const unsigned c = base + threadIdx.x;
    const unsigned kind = c < n ? work.kind[c] : 0;
    bool dropped = false;

    if (kind >= 2) {
      const unsigned root = sg_find (work.parent, c);
      unsigned long long largest;

      dropped = is_dropped (work, root, kind, &largest);
      if (root == c && 0xffffffffu - (unsigned) largest == root) {
        work.claim[c] = largest >> 32 << 32 | (0xffffffffu - (kind - 2));
        atomicOr (&work.record[c].x, sg_old);
      }
    }
    sg_append (&shared->appender, work.list[0], &work.control->free[0], dropped, c);
  }
}

__device__ void
free_fragments (const SgWork &work, const Team &team, unsigned from, unsigned n)
{
  for (unsigned i = from + team.first (); i < n; i += team.step ()) {
    const unsigned c = sg_load (work.list[0] + i), p = work.after.p[c];

    work.parent[c] = c;
    work.record[c] = SgRecord { 1ull << 32 | (p & 255), (unsigned long long) (p >> 8 & 255) << 32 | p >> 16 };
  }
}

/* Ready for the next frame; no barrier is needed before their next use. */
__device__ void
clear_largest (const SgWork &work, const Team &team)
{
  for (unsigned i = team.first (); i < work.before.scalars[0]; i += team.step ())
    work.largest[i] = 0;
}

/* ---- rounds, phase B ---------------------------------------------------- */

/* Where the picks lead from r, whose own is `to`. */
__device__ unsigned
follow_picks (const SgWork &work, const unsigned long long *best, unsigned r, unsigned to, bool growing)
{
  for (;;) {
    unsigned long long next = sg_never;

    if (!growing || !(sg_load (&work.record[to].x) & sg_seeded))
      next = sg_load (best + to);
    if (next == sg_never)
      return to;
    if ((unsigned) next == r)
      return min (r, to);
    r = to;
    to = (unsigned) next;
  }
}

/* Each root of the list: joined to another, or kept in the next list. */
__device__ void
join_picks (const SgWork &work, const Team &team, Shared *shared, int turn, bool growing, const unsigned *list,
    unsigned n, unsigned *next, unsigned *next_n, unsigned *picks)
{
  const unsigned long long *best = work.best[turn & 1];
  unsigned long long *other = work.best[~turn & 1];

  for (unsigned base = team.first () - threadIdx.x; base < n; base += team.step ()) {
    const unsigned i = base + threadIdx.x, r = i < n ? sg_load (list + i) : 0;
    const unsigned long long pick = i < n ? sg_load (best + r) : sg_never;
    const unsigned to = pick != sg_never ? follow_picks (work, best, r, (unsigned) pick, growing) : r;
    const bool joined = i < n && to != r;
    const SgRecord record = joined ? sg_load_record (work.record + r) : SgRecord { 0, 0 };

    if (joined) {
      work.parent[r] = to;
      if (record.x & sg_old) {
        atomicMax (work.claim + to, sg_load (work.claim + r));
        atomicOr (&work.record[to].x, sg_old);
      }
    } else if (i < n) {
      other[r] = sg_never;
    }
    sg_add_record (work.record, joined, to, record);
    if (__any_sync (~0u, joined) && (threadIdx.x & 31) == 0)
      *picks = 1;
    sg_append (&shared->appender, next, next_n, i < n && !joined, r);
  }
}

/* ---- step 6: growth ----------------------------------------------------- */

/* Phase A of the first round: free cells are regions of one cell. */
__device__ void
pick_cells (const SgWork &work, const Team &team, unsigned n)
{
  for (unsigned i = team.first (); i < n; i += team.step ()) {
    const unsigned c = sg_load (work.list[0] + i), p = work.after.p[c];
    unsigned long long best = sg_never;

    for (int k = 0; k < 4; k++) {
      const unsigned other = neighbour (work, c, k);

      if (other != c) {
        const unsigned root = sg_find (work.parent, other);

        best = min (best, key_of (p, sg_mean (sg_load_record (work.record + root)), root));
      }
    }
    work.best[0][c] = best;
  }
}

/* Phase A of the others: a cell of a free region that has a border asks for each
 * neighbour; what is enclosed or grown leaves the list. */
__device__ void
pick_borders (const SgWork &work, const Team &team, Shared *shared, int turn, const unsigned *list, unsigned n,
    unsigned *next, unsigned *next_n)
{
  unsigned long long *best = work.best[turn & 1];

  for (unsigned base = team.first () - threadIdx.x; base < n; base += team.step ()) {
    const unsigned i = base + threadIdx.x;
    unsigned long long key = sg_never;
    unsigned c = 0;

    if (i < n) {
      c = sg_load (list + i);
      const unsigned root = sg_find (work.parent, c);
      const SgRecord record = sg_load_record (work.record + root);
      const unsigned mean = sg_mean (record);

      work.parent[c] = root;
      for (int k = 0; k < 4 && !(record.x & sg_seeded); k++) {
        const unsigned to = sg_find (work.parent, neighbour (work, c, k));

        if (to != root)
          key = min (key, key_of (mean, sg_mean (sg_load_record (work.record + to)), to));
      }
      if (key < sg_load (best + root))
        atomicMin (best + root, key);
    }
    sg_append (&shared->appender, next, next_n, key != sg_never, c);
  }
}

__device__ void
grow (const SgWork &work, Team &team, Shared *shared)
{
  SgControl *control = work.control;
  unsigned n = sg_load (&control->free[0]), roots = n;
  const unsigned *list = work.list[0], *root_list = work.list[0];

  for (int turn = 0; roots > 0; turn++) {
    const int now = turn % 3, next = (turn + 1) % 3, after = (turn + 2) % 3;

    if (!team.alone && n < alone_below && blockIdx.x > 0)
      return;
    team.alone = team.alone || n < alone_below;
    if (turn == 0)
      pick_cells (work, team, n);
    else
      pick_borders (work, team, shared, turn, list, n, work.list[turn & 1], &control->free[next]);
    team.barrier ();
    if (team.first () == 0) {
      control->free[after] = control->roots[after] = control->picks[after] = 0;
      if (turn == 0) /* the list stays: all its cells may have borders */
        control->free[next] = n;
    }
    join_picks (work, team, shared, turn, true, root_list, roots, work.root_list[turn & 1], &control->roots[next],
        &control->picks[now]);
    team.barrier ();
    list = work.list[turn & 1];
    n = sg_load (&control->free[next]);
    root_list = work.root_list[turn & 1];
    roots = sg_load (&control->picks[now]) ? sg_load (&control->roots[next]) : 0;
  }
}

/* ---- the graph of regions ----------------------------------------------- */

/* Each cell right below its root; the roots in a list. */
__device__ void
flatten (const SgWork &work, const Team &team, Shared *shared)
{
  const unsigned n = (unsigned) work.n;

  for (unsigned base = team.first () - threadIdx.x; base < n; base += team.step ()) {
    const unsigned c = base + threadIdx.x, root = c < n ? sg_find (work.parent, c) : 0;

    if (c < n) {
      work.parent[c] = root;
      if (root == c) {
        work.count[c] = 0;
        work.best[0][c] = work.best[1][c] = sg_never;
      }
    }
    sg_append (&shared->appender, work.root_list[0], &work.control->roots[0], c < n && root == c, c);
  }
}

__device__ __forceinline__ unsigned
hash_of (unsigned long long key)
{
  key *= 0x9e3779b97f4a7c15ull;
  return (unsigned) (key >> 32);
}

/* A touching pair of cells of two regions to the tile's table. */
__device__ void
count_pair (const SgWork &work, Shared *shared, unsigned a, unsigned b, unsigned p, unsigned q)
{
  const unsigned long long key = (unsigned long long) min (a, b) << 32 | max (a, b);
  unsigned at = hash_of (key) % pair_slots;
  unsigned long long old;

  while ((old = atomicCAS (&shared->key[at], sg_never, key)) != sg_never && old != key)
    at = (at + 1) % pair_slots;
  const bool both = (sg_load (&work.record[a].x) & sg_load (&work.record[b].x) & sg_old) != 0;

  atomicAdd (&shared->count[at], 1u << 16 | (unsigned) sg_near (p, q, work.weak[both]));
}

/* A tile's pair of regions to the frame's table; true: it is the first of its kind. */
__device__ bool
add_pair (const SgWork &work, unsigned long long key, unsigned count, unsigned *slot)
{
  unsigned at = hash_of (key) & (work.slots - 1);
  unsigned long long old;

  while ((old = atomicCAS (&work.key[at], sg_never, key)) != sg_never && old != key)
    at = (at + 1) & (work.slots - 1);
  if (count & 0xffff)
    atomicAdd (work.weak_count + at, count & 0xffff);
  atomicAdd (work.count + (unsigned) (key >> 32), count >> 16);
  atomicAdd (work.count + (unsigned) key, count >> 16);
  *slot = at;
  return old == sg_never;
}

__device__ void
count_tile (const SgWork &work, Shared *shared, unsigned tile)
{
  const unsigned tiles_x = (unsigned) (work.columns + sg_tile - 1) / sg_tile, t = threadIdx.x;
  const unsigned x = tile % tiles_x * sg_tile + t % sg_tile, y = tile / tiles_x * sg_tile + t / sg_tile;
  const unsigned columns = (unsigned) work.columns, c = y * columns + x;
  bool any = false;

  if (x < columns && y < (unsigned) work.rows) {
    const unsigned root = sg_load (work.parent + c), right = x + 1 < columns ? sg_load (work.parent + c + 1) : root;
    const unsigned below = y + 1 < (unsigned) work.rows ? sg_load (work.parent + c + columns) : root;

    any = right != root || below != root;
    if (right != root)
      count_pair (work, shared, root, right, work.after.p[c], work.after.p[c + 1]);
    if (below != root)
      count_pair (work, shared, root, below, work.after.p[c], work.after.p[c + columns]);
  }
  if (!__syncthreads_or (any))
    return;
  for (unsigned i = t; i < pair_slots; i += threads) {
    const unsigned long long key = shared->key[i];
    const unsigned count = shared->count[i];
    unsigned slot = 0;
    const bool fresh = key != sg_never && add_pair (work, key, count, &slot);

    shared->key[i] = sg_never;
    shared->count[i] = 0;
    sg_append (&shared->appender, work.slot_list, &work.control->slots, fresh, slot);
  }
  __syncthreads ();
}

__device__ void
count_pairs (const SgWork &work, Shared *shared)
{
  const unsigned tiles = (unsigned) ((work.columns + sg_tile - 1) / sg_tile * ((work.rows + sg_tile - 1) / sg_tile));

  for (unsigned i = threadIdx.x; i < pair_slots; i += threads) {
    shared->key[i] = sg_never;
    shared->count[i] = 0;
  }
  __syncthreads ();
  for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x)
    count_tile (work, shared, tile);
}

/* ---- step 7: weak borders ----------------------------------------------- */

/* The pairs leave the table, which is empty then, and become the list of edges. */
__device__ void
join_weak (const SgWork &work, const Team &team)
{
  const unsigned n = sg_load (&work.control->slots);

  if (team.first () == 0)
    work.control->roots[0] = 0;
  for (unsigned i = team.first (); i < n; i += team.step ()) {
    const unsigned slot = sg_load (work.slot_list + i);
    const unsigned long long key = sg_load (work.key + slot);
    const unsigned a = (unsigned) (key >> 32), b = (unsigned) key, weak = sg_load (work.weak_count + slot);
    const unsigned perimeter = min (sg_load (work.count + a), sg_load (work.count + b));

    work.edge[0][i] = key;
    work.key[slot] = sg_never;
    work.weak_count[slot] = 0;
    if ((unsigned long long) weak << 16 > (unsigned long long) work.fraction * perimeter)
      sg_unite (work.parent, a, b);
  }
}

__device__ void
add_weak (const SgWork &work, const Team &team, Shared *shared, unsigned n)
{
  for (unsigned base = team.first () - threadIdx.x; base < n; base += team.step ()) {
    const unsigned i = base + threadIdx.x, r = i < n ? sg_load (work.root_list[0] + i) : 0;
    const unsigned to = i < n ? sg_find (work.parent, r) : 0;
    const bool joined = i < n && to != r;
    const SgRecord record = joined ? sg_load_record (work.record + r) : SgRecord { 0, 0 };

    if (joined && (record.x & sg_old)) {
      atomicMax (work.claim + to, sg_load (work.claim + r));
      atomicOr (&work.record[to].x, sg_old);
    }
    sg_add_record (work.record, joined, to, record);
    sg_append (&shared->appender, work.root_list[1], &work.control->roots[1], i < n && !joined, r);
  }
}

/* ---- steps 8 and 9: merging --------------------------------------------- */

__device__ __forceinline__ void
offer (unsigned long long *best, unsigned region, unsigned long long key)
{
  if (key < sg_load (best + region))
    atomicMin (best + region, key);
}

/* Phase A over the edges; those inside a region leave the list. */
__device__ void
pick_edges (const SgWork &work, const Team &team, Shared *shared, int turn, unsigned min_cells,
    const unsigned long long *list, unsigned n, unsigned long long *next, unsigned *next_n)
{
  unsigned long long *best = work.best[turn & 1];

  for (unsigned base = team.first () - threadIdx.x; base < n; base += team.step ()) {
    const unsigned i = base + threadIdx.x;
    unsigned a = 0, b = 0;

    if (i < n) {
      const unsigned long long edge = sg_load (list + i);

      a = sg_find (work.parent, (unsigned) (edge >> 32));
      b = sg_find (work.parent, (unsigned) edge);
    }
    if (a != b) {
      const SgRecord ra = sg_load_record (work.record + a), rb = sg_load_record (work.record + b);
      const unsigned ma = sg_mean (ra), mb = sg_mean (rb);
      const bool alike = min_cells == 0 && sg_near (ma, mb, work.merge[(ra.x & rb.x & sg_old) != 0]);

      if (alike || sg_cells (ra) < min_cells)
        offer (best, a, key_of (ma, mb, b));
      if (alike || sg_cells (rb) < min_cells)
        offer (best, b, key_of (ma, mb, a));
    }
    sg_append (&shared->appender, next, next_n, a != b, (unsigned long long) a << 32 | b);
  }
}

/* What the rounds of merging hand from one to the next. */
struct Merge {
  int turn;
  unsigned edges, roots;
};

/* Rounds until none picks; min_cells 0: by mean. A block that is not needed any more returns false. */
__device__ bool
merge (const SgWork &work, Team &team, Shared *shared, unsigned min_cells, Merge *m)
{
  SgControl *control = work.control;

  for (bool again = true; again; m->turn++) {
    const int turn = m->turn, now = turn % 3, next = (turn + 1) % 3, after = (turn + 2) % 3;

    if (!team.alone && m->edges < alone_below && blockIdx.x > 0)
      return false;
    team.alone = team.alone || m->edges < alone_below;
    pick_edges (work, team, shared, turn, min_cells, work.edge[turn & 1], m->edges, work.edge[~turn & 1],
        &control->edges[next]);
    team.barrier ();
    if (team.first () == 0)
      control->edges[after] = control->roots[after] = control->picks[after] = 0;
    join_picks (work, team, shared, turn, false, work.root_list[~turn & 1], m->roots, work.root_list[turn & 1],
        &control->roots[next], &control->picks[now]);
    team.barrier ();
    m->edges = sg_load (&control->edges[next]);
    m->roots = sg_load (&control->roots[next]);
    again = sg_load (&control->picks[now]) != 0;
  }
  return true;
}

/* ---- step 10: numbers --------------------------------------------------- */

/* A warp a region: its place among all. */
__device__ void
number (const SgWork &work, const unsigned *list, unsigned n)
{
  const unsigned lane = threadIdx.x & 31, warps = gridDim.x * threads / 32;
  const unsigned free_id = work.follow ? work.before.scalars[1] : 1;

  for (unsigned i = (blockIdx.x * threads + threadIdx.x) / 32; i < n; i += warps) {
    const unsigned r = sg_load (list + i);
    unsigned smaller = 0, smaller_new = 0;

    for (unsigned j = lane; j < n; j += 32) {
      const unsigned other = sg_load (list + j);

      if (other < r) {
        smaller++;
        smaller_new += !(sg_load (&work.record[other].x) & sg_old);
      }
    }
    smaller = sg_reduce (~0u, smaller);
    smaller_new = sg_reduce (~0u, smaller_new);
    if (lane == 0) {
      const SgRecord record = sg_load_record (work.record + r);
      const bool old = (record.x & sg_old) != 0;
      const unsigned from = old ? 0xffffffffu - (unsigned) sg_load (work.claim + r) : 0;
      const unsigned id = old ? work.before.id[from] : free_id + smaller_new;
      const unsigned birth = old ? work.before.birth[from] : work.frame;

      work.count[r] = smaller;
      work.after.mean[smaller] = sg_mean (record);
      work.after.id[smaller] = id;
      work.after.birth[smaller] = birth;
      work.found[smaller] = CfSegmentRegion { { 0, 0, 0 }, 0, 0, { 0, 0, 0 }, 0xffffffffu, 0xffffffffu, 0, 0, id, birth };
      if (smaller == n - 1) {
        work.after.scalars[0] = n;
        work.after.scalars[1] = free_id + smaller_new + !old;
      }
    }
  }
}

__device__ void
label_cells (const SgWork &work, const Team &team)
{
  for (unsigned c = team.first (); c < (unsigned) work.n; c += team.step ())
    work.after.label[c] = (uint16_t) sg_load (work.count + sg_find (work.parent, c));
}

/* ---- all ---------------------------------------------------------------- */

__device__ void
find_components (const SgWork &work, Team &team, Shared *shared)
{
  const unsigned listed = sg_load (&work.control->free[0]);

  join_tiles (work, team);
  team.barrier ();
  add_locals (work, team);
  team.barrier ();
  if (!work.follow)
    return;
  find_largest (work, team);
  team.barrier ();
  drop_fragments (work, team, shared);
  team.barrier ();
  free_fragments (work, team, listed, sg_load (&work.control->free[0]));
  clear_largest (work, team);
  team.barrier ();
}

/* The first block, or all: from the edges to the last merge. */
__device__ void
merge_all (const SgWork &work, Team &team, Shared *shared)
{
  /* turns begin with 2: its lists are edge[0] and root_list[1] */
  Merge m = { 2, sg_load (&work.control->slots), sg_load (&work.control->roots[1]) };
  unsigned min_cells = work.min_cells;

  if (!merge (work, team, shared, 0, &m))
    return;
  for (;; min_cells = min (min_cells, 0x7fffffffu) * 2) {
    if (!merge (work, team, shared, min_cells, &m))
      return;
    if (m.roots <= work.max_regions)
      break;
  }
  if (team.first () == 0) { /* for the blocks that have returned */
    work.control->regions = m.roots;
    work.control->turn = (unsigned) m.turn;
  }
}

__global__ void __launch_bounds__ (threads, 1)
segment_graph (const __grid_constant__ SgWork work)
{
  extern __shared__ unsigned char memory[];
  Shared *shared = (Shared *) memory;
  Team team = { work.control, 0, false };

  find_components (work, team, shared);
  grow (work, team, shared);
  team.alone = false;
  team.barrier_of_all ();
  if (team.first () == 0)
    for (int i = 0; i < 3; i++)
      work.control->roots[i] = work.control->picks[i] = work.control->edges[i] = 0;
  team.barrier ();
  flatten (work, team, shared);
  team.barrier ();
  const unsigned roots = sg_load (&work.control->roots[0]);

  count_pairs (work, shared);
  team.barrier ();
  join_weak (work, team);
  team.barrier ();
  add_weak (work, team, shared, roots);
  team.barrier ();
  merge_all (work, team, shared);
  team.alone = false;
  team.barrier_of_all ();

  number (work, work.root_list[~sg_load (&work.control->turn) & 1], sg_load (&work.control->regions));
  team.barrier ();
  label_cells (work, team);
}

} // namespace

CfCode
segment_launch_graph (const SgWork &work, int blocks, cudaStream_t stream, CfStatus *status)
{
  void *arguments[] = { const_cast<SgWork *> (&work) };
  const cudaError_t error = cudaLaunchCooperativeKernel ((const void *) segment_graph, dim3 ((unsigned) blocks),
      dim3 (threads), arguments, sizeof (Shared), stream);
  const CfCode code = cf_cuda_check (error, "launching segment_graph", status);

  return code == CF_OK ? cf_cuda_launched ("segment_graph", status) : code;
}

CfCode
segment_init_graph (int *blocks, int sms, CfStatus *status)
{
  int each = 0;
  CfCode code = cf_cuda_check (cudaFuncSetAttribute (segment_graph, cudaFuncAttributeMaxDynamicSharedMemorySize,
      (int) sizeof (Shared)), "loading the segmentation's kernels", status);

  if (code == CF_OK)
    code = cf_cuda_check (cudaOccupancyMaxActiveBlocksPerMultiprocessor (&each, segment_graph, threads, sizeof (Shared)),
        "asking how many blocks fit", status);
  if (code == CF_OK && each < 1)
    return cf_fail (status, CF_UNSUPPORTED, "this GPU has no room for a block of the segmentation");
  *blocks = sms;
  return code;
}

} // namespace cf
