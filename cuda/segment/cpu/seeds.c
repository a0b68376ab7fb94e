/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/cpu/seeds.c: cells, kept cells, seeds and components on the CPU: steps 1 to 4 of
 * segment/segment.h. Components are found by union-find over runs of cells: inside a strip by the
 * task of the strip, across the borders of strips by the calling thread afterwards. */
#include "internal.h"

#include <string.h>

/* ---- 1: cells ------------------------------------------------------------ */

/* Sums each column of a plane over the rows of pixels from .. end - 1. A row of a subsampled plane counts once for
 * each row of pixels that it covers. */
static void
add_rows (const CfSgCpu *m, int plane, int from, int end, uint32_t *sum)
{
  const CfFormatInfo *info = m->info;
  const int h_sub = m->plane[plane].h_sub;
  const int words = (int) (cf_plane_row_bytes (info->format, m->video.width, plane) / info->bytes);
  const size_t pitch = m->in_image->plane[plane].pitch;
  const uint8_t *data = m->in_image->plane[plane].data;

  memset (sum, 0, (size_t) words * sizeof *sum);
  for (int y = from; y < end;) {
    int next = ((y >> h_sub) + 1) << h_sub;

    next = next < end ? next : end;
    m->simd->add[info->bytes - 1](data + pitch * (size_t) (y >> h_sub), words, info->shift, (1 << info->bits) - 1,
        (uint32_t) (next - y), sum);
    y = next;
  }
}

/* Computes the own colours of a row of cells; the last cell may be cut off and is divided by itself. */
static void
color_row (const CfSgCpu *m, int row, uint8_t *scratch)
{
  const CfSegmentSetup *s = &m->setup;
  const int from = row * s->size, end = from + s->size < m->video.height ? from + s->size : m->video.height;
  const int whole = m->video.width / s->size, bits = m->info->bits;
  uint32_t *columns = (uint32_t *) scratch, *cell[3] = { NULL }, *last[3] = { NULL };
  uint32_t *to = m->own + cf_sg_row_start (m, row);

  for (int p = 0; p < m->info->n_planes; p++) {
    add_rows (m, p, from, end, columns);
    for (int k = 0; k < m->n_colors; k++) {
      const CfComponent *c = &m->info->comp[k];
      const CfSgColumns sums = { columns + c->offset, c->step, c->w_sub, s->size, m->video.width };

      if (c->plane != p)
        continue;
      cell[k] = columns + 4 * (m->video.width + 1) + k * s->columns;
      last[k] = cell[k] + whole;
      m->simd->gather (&sums, s->columns, cell[k]);
    }
  }
  m->simd->color (cell, whole, (uint32_t) (s->size * (end - from)), bits, m->info->rgb, to);
  if (whole < s->columns)
    m->simd->color (last, 1, (uint32_t) ((m->video.width - whole * s->size) * (end - from)), bits, m->info->rgb,
        to + whole);
  to[-1] = to[0];
  to[s->columns] = to[s->columns - 1];
}

static void
color_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  for (int row = strip * CF_SG_STRIP_ROWS; row < cf_sg_strip_end (m, strip); row++)
    color_row (m, row, scratch);
}

/* Finds the own colours of the row above, the row itself and the row below; a row outside the frame is replaced by the
 * nearest one inside. */
static void
own_rows (const CfSgCpu *m, int row, const uint32_t *at[3])
{
  const int last = m->setup.rows - 1;

  at[0] = m->own + cf_sg_row_start (m, row > 0 ? row - 1 : 0);
  at[1] = m->own + cf_sg_row_start (m, row);
  at[2] = m->own + cf_sg_row_start (m, row < last ? row + 1 : last);
}

static void
mean_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  uint32_t *sums = (uint32_t *) scratch + 1;

  for (int row = strip * CF_SG_STRIP_ROWS; row < cf_sg_strip_end (m, strip); row++) {
    const uint32_t *at[3];

    own_rows (m, row, at);
    m->simd->mean (at, m->setup.columns, (uint32_t *const[2]) { sums, sums + m->pitch },
        m->color[m->now] + cf_sg_row_start (m, row));
  }
}

/* ---- 3: the similarity --------------------------------------------------- */

static void
roughness_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  (void) scratch;
  for (int row = strip * CF_SG_STRIP_ROWS; row < cf_sg_strip_end (m, strip); row++) {
    const uint32_t *at[3];

    own_rows (m, row, at);
    m->simd->roughness (at, m->setup.columns, m->roughness + cf_sg_row_start (m, row));
  }
}

/* Returns h of step 3. */
static int
similarity_at (const CfSgCpu *m, size_t index)
{
  return m->max_roughness > 0 ? 255 - 255 * m->roughness[index] / m->max_roughness : 255;
}

/* Returns Otsu's threshold of a histogram of h, -1 if there is none. */
static int
otsu (const int64_t count[256])
{
  int64_t n = 0, sum = 0, n0 = 0, s0 = 0;
  double best = -1;
  int threshold = -1;

  for (int i = 0; i < 256; i++) {
    n += count[i];
    sum += i * count[i];
  }
  for (int t = 0; t < 255; t++) {
    double d, v;

    n0 += count[t];
    s0 += t * count[t];
    if (n0 == 0 || n0 == n)
      continue;
    d = (double) s0 * (double) (n - n0) - (double) (sum - s0) * (double) n0;
    v = d * d / ((double) n0 * (double) (n - n0));
    if (v > best) {
      best = v;
      threshold = t;
    }
  }
  return threshold;
}

static void
find_threshold (CfSgCpu *m)
{
  int64_t count[256] = { 0 };

  cf_sg_run (m, m->n_strips, roughness_strip);
  m->max_roughness = 0;
  for (int row = 0; row < m->setup.rows; row++)
    for (size_t i = cf_sg_row_start (m, row), end = i + (size_t) m->setup.columns; i < end; i++)
      m->max_roughness = m->roughness[i] > m->max_roughness ? m->roughness[i] : m->max_roughness;
  for (int row = 0; row < m->setup.rows; row++)
    for (size_t i = cf_sg_row_start (m, row), end = i + (size_t) m->setup.columns; i < end; i++)
      count[similarity_at (m, i)]++;
  m->threshold = otsu (count);
}

/* ---- 2 and 3: kinds ------------------------------------------------------ */

/* Lets no cell of an old region be kept that holds two or more new seeds: its mean becomes 0, to which no colour is
 * near. */
static void
divide_regions (CfSgCpu *m)
{
  memset (m->carrier, 0, m->n_before * sizeof *m->carrier);
  for (int i = 0; i < m->setup.n_seeds; i++) {
    const uint32_t old = m->label[1 - m->now][m->setup.seeds[i]];

    if (m->carrier[old]++ > 0)
      m->found_mean[1 - m->now][old] = 0;
  }
}

/* The squared lengths of a row of cells, and its links (simd.h). */
typedef struct {
  uint32_t *length;
  uint8_t *link[4];
} Row;

/* The scratch memory of a thread for the kinds of a row of cells; row[1] is the row itself, row[0] the one below. */
typedef struct {
  Row row[2];
  uint8_t *seed, *changed;
  uint32_t *kind, *mean;
} Kinds;

static void
kinds_memory (const CfSgCpu *m, uint8_t *scratch, Kinds *k)
{
  const size_t n = (size_t) m->setup.columns + 2 * CF_SG_PAD;
  uint32_t *words = (uint32_t *) scratch;
  uint8_t *bytes;

  k->row[0].length = words + CF_SG_PAD;
  k->row[1].length = words + n + CF_SG_PAD;
  k->kind = words + 2 * n + CF_SG_PAD;
  k->mean = words + 3 * n + CF_SG_PAD;
  bytes = (uint8_t *) (words + 4 * n) + CF_SG_PAD;
  for (int i = 0; i < 8; i++) {
    k->row[i / 4].link[i % 4] = bytes + (size_t) i * n;
    bytes[(ptrdiff_t) ((size_t) i * n) - 1] = bytes[(size_t) i * n + n - 2 * CF_SG_PAD] = 1;
  }
  k->seed = bytes + 8 * n;
  k->changed = bytes + 9 * n;
  k->kind[-1] = 0;
}

static void
lengths_of (const CfSgCpu *m, int row, Row *to)
{
  m->simd->lengths (m->color[m->now] + cf_sg_row_start (m, row) - 1, m->setup.columns + 2, to->length - 1);
}

/* Computes the links of a row into k->row[1], and the lengths of the row below into k->row[0]. Expects the lengths
 * of the row itself in k->row[0]. */
static void
links_of (const CfSgCpu *m, int row, Kinds *k)
{
  const Row at = k->row[0];

  k->row[0] = k->row[1];
  k->row[1] = at;
  lengths_of (m, row + 1, &k->row[0]);
  m->simd->links (m->color[m->now] + cf_sg_row_start (m, row), (ptrdiff_t) m->pitch,
      (const uint32_t *const[2]) { at.length, k->row[0].length }, m->setup.columns, m->setup.seed, at.link);
}

/* Returns the number of the first seed of the set-up whose padded index is `index` or more. */
static int
first_seed (const CfSgCpu *m, size_t index)
{
  int low = 0, high = m->setup.n_seeds;

  while (low < high) {
    const int mid = (low + high) / 2;

    if ((size_t) m->setup.seeds[mid] < index)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

/* Sets k->kind[] for a row, from k->seed[]. */
static void
find_kinds (const CfSgCpu *m, int row, Kinds *k)
{
  const int n = m->setup.columns, now = m->now;
  const size_t first = cf_sg_row_start (m, row);
  const uint32_t *label = m->label[1 - now] + first, *color = m->color[now] + first;

  if (m->setup.similarity)
    for (int x = 0; x < n; x++)
      k->seed[x] &= similarity_at (m, first + (size_t) x) > m->threshold;
  for (int i = first_seed (m, first); i < m->setup.n_seeds && (size_t) m->setup.seeds[i] < first + (size_t) n; i++)
    k->seed[(size_t) m->setup.seeds[i] - first] = 1;
  m->simd->kinds (color, k->seed, row, n, k->kind);
  if (m->use_state) {
    for (int x = 0; x < n; x++)
      k->mean[x] = m->found_mean[1 - now][label[x]];
    m->simd->keep (color, m->color[1 - now] + first, k->mean, label, n, m->setup.keep, k->kind);
  }
}

/* ---- 4: runs of one kind ------------------------------------------------- */

/* Returns the root of a run; halves the path to it. */
static uint32_t
run_root (uint32_t *parent, uint32_t r)
{
  while (parent[r] != r) {
    parent[r] = parent[parent[r]];
    r = parent[r];
  }
  return r;
}

/* Joins the runs of two neighbouring rows that are of one kind and touch. */
static void
join_runs (CfSgCpu *m, CfSgRange up, CfSgRange at)
{
  const CfSgRun *run = m->run;
  uint32_t i = up.first;

  for (uint32_t r = at.first; r < at.end; r++) {
    while (i < up.end && run[i].to <= run[r].from)
      i++;
    for (uint32_t j = i; j < up.end && run[j].from < run[r].to; j++)
      if (run[j].kind == run[r].kind) {
        const uint32_t a = run_root (m->run_parent, j), b = run_root (m->run_parent, r);

        m->run_parent[a > b ? a : b] = a < b ? a : b;
      }
  }
}

/* Lists the runs of a row, numbered from `first` on. */
static void
list_runs (CfSgCpu *m, int row, uint32_t first, const Kinds *k)
{
  const int n = m->setup.columns;
  uint32_t r = first;

  m->simd->differ (k->kind, k->kind - 1, n, k->changed);
  for (int x = cf_sg_next (k->changed, 0, n), end; x < n; x = end) {
    end = cf_sg_next (k->changed, x + 1, n);
    if (k->kind[x] == 0)
      continue;
    m->run[r] = (CfSgRun) { (uint16_t) x, (uint16_t) end, k->kind[x] };
    m->run_parent[r] = r;
    r++;
  }
  m->row_runs[row] = (CfSgRange) { first, r };
}

static void
runs_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  const int from = strip * CF_SG_STRIP_ROWS, end = cf_sg_strip_end (m, strip);
  uint32_t next = (uint32_t) cf_sg_row_start (m, from);
  Kinds k;

  kinds_memory (m, scratch, &k);
  lengths_of (m, from - 1, &k.row[0]);
  links_of (m, from - 1, &k);
  for (int row = from; row < end; row++) {
    uint8_t *up[4];

    memcpy (up, k.row[1].link, sizeof up);
    links_of (m, row, &k);
    m->simd->smooth (k.row[1].link, up, m->setup.columns, k.seed);
    find_kinds (m, row, &k);
    list_runs (m, row, next, &k);
    next = m->row_runs[row].end;
    if (row > from)
      join_runs (m, m->row_runs[row - 1], m->row_runs[row]);
  }
}

/* ---- 4: components ------------------------------------------------------- */

static void
add_run (CfSgSum *sum, const uint32_t *color, uint32_t n)
{
  uint32_t y = 0, b = 0, r = 0;

  for (uint32_t x = 0; x < n; x++) {
    y += color[x] & 255;
    b += color[x] >> 8 & 255;
    r += color[x] >> 16 & 255;
  }
  cf_sg_add (sum, &(CfSgSum) { n, { y, b, r } });
}

/* Numbers the components in the order of their roots and adds up their cells. run_parent[] then holds the component
 * of each run: the parent of a run is an earlier run, which already has its component. */
static void
list_components (CfSgCpu *m)
{
  m->n_components = 0;
  for (int row = 0; row < m->setup.rows; row++)
    for (uint32_t r = m->row_runs[row].first; r < m->row_runs[row].end; r++) {
      const size_t index = cf_sg_row_start (m, row) + m->run[r].from;

      if (m->run_parent[r] == r) {
        m->component[m->n_components] = (CfSgComponent) { .kind = m->run[r].kind, .root = (uint32_t) index };
        m->run_parent[r] = m->n_components++;
      } else {
        m->run_parent[r] = m->run_parent[m->run_parent[r]];
      }
      add_run (&m->component[m->run_parent[r]].sum, m->color[m->now] + index,
          (uint32_t) (m->run[r].to - m->run[r].from));
    }
}

/* Returns the carrier of the component's old region, NULL if its cells are seeds. */
static uint32_t *
carrier_of (const CfSgCpu *m, const CfSgComponent *c)
{
  return c->kind >= CF_SG_KEPT ? &m->carrier[c->kind - CF_SG_KEPT] : NULL;
}

/* Returns how many cells the component's old region had. */
static uint64_t
cells_before (const CfSgCpu *m, const CfSgComponent *c)
{
  return m->found_cells[1 - m->now][c->kind - CF_SG_KEPT];
}

/* Returns whether a component of an old region is one of the pieces that may continue it. */
static bool
is_piece (const CfSgCpu *m, const CfSgComponent *c)
{
  return c->sum.cells >= m->setup.min_cells || CF_SEGMENT_PIECE * c->sum.cells >= cells_before (m, c);
}

/* Finds the pieces of each old region: the first one gets the number of cells of all in `claim`. */
static void
find_carriers (CfSgCpu *m)
{
  if (m->use_state)
    memset (m->carrier, 255, m->n_before * sizeof *m->carrier);
  for (uint32_t i = 0; i < m->n_components; i++) {
    const CfSgComponent *c = &m->component[i];
    uint32_t *carrier = carrier_of (m, c);

    if (!carrier || !is_piece (m, c))
      continue;
    if (*carrier == UINT32_MAX)
      *carrier = i;
    m->component[*carrier].claim += c->sum.cells;
  }
}

/* Decides which components continue old regions, and which are free again. Pieces of an old region are added to the
 * first one, and have no cells of their own then. */
static void
join_pieces (CfSgCpu *m)
{
  for (uint32_t i = 0; i < m->n_components; i++) {
    CfSgComponent *c = &m->component[i];
    const uint32_t *carrier = carrier_of (m, c);
    CfSgComponent *first = carrier && *carrier != UINT32_MAX ? &m->component[*carrier] : NULL;

    if (first && is_piece (m, c) && 4 * first->claim >= cells_before (m, c)) {
      if (first == c)
        continue;
      cf_sg_add (&first->sum, &c->sum);
      c->sum = (CfSgSum) { 0 };
      c->root = first->root;
    } else {
      c->free = carrier && c->sum.cells < m->setup.min_cells;
    }
  }
}

static void
drop_fragments (CfSgCpu *m)
{
  find_carriers (m);
  join_pieces (m);
  for (uint32_t i = 0; i < m->n_components; i++) {
    CfSgComponent *c = &m->component[i];

    if (c->sum.cells == 0) {
      c->mean = m->component[*carrier_of (m, c)].mean;
      c->claim = m->component[*carrier_of (m, c)].claim;
    } else {
      c->mean = cf_sg_mean (&c->sum);
      if (c->claim)
        c->claim = 4 * c->claim < cells_before (m, c) ? 0 : c->claim << 32 | (UINT32_MAX - (c->kind - CF_SG_KEPT));
    }
  }
}

/* ---- the state in which growth begins ------------------------------------ */

/* Makes each free cell from .. end - 1 of a row a region of its own. */
static void
set_free_cells (CfSgCpu *m, int row, int from, int end)
{
  const size_t first = cf_sg_row_start (m, row);
  const uint32_t *color = m->color[m->now] + first;

  if (from == end)
    return;
  for (int x = from; x < end; x++) {
    m->mean[first + (size_t) x] = color[x];
    m->root[first + (size_t) x] = (uint32_t) first + (uint32_t) x;
  }
  m->free_run[first + m->row_free_runs[row]++] = (CfSgFreeRun) { (uint16_t) from, (uint16_t) end };
}

static void
start_growth_strip (CfSgCpu *m, int strip, uint8_t *scratch)
{
  (void) scratch;
  for (int row = strip * CF_SG_STRIP_ROWS; row < cf_sg_strip_end (m, strip); row++) {
    const size_t first = cf_sg_row_start (m, row);
    int done = 0;

    m->row_free_runs[row] = 0;
    for (uint32_t r = m->row_runs[row].first; r < m->row_runs[row].end; r++) {
      const CfSgComponent *c = &m->component[m->run_parent[r]];

      if (c->free)
        continue;
      set_free_cells (m, row, done, m->run[r].from);
      done = m->run[r].to;
      for (size_t i = first + m->run[r].from; i < first + m->run[r].to; i++) {
        m->mean[i] = c->mean | CF_SG_SEEDED;
        m->root[i] = c->root;
      }
    }
    set_free_cells (m, row, done, m->setup.columns);
  }
}

void
cf_sg_find_components (CfSgCpu *m)
{
  cf_sg_run (m, m->n_strips, color_strip);
  cf_sg_run (m, m->n_strips, mean_strip);
  if (m->setup.similarity)
    find_threshold (m);
  if (m->use_state && !cf_segment_same_seeds (&m->setup, &m->last))
    divide_regions (m);
  cf_sg_run (m, m->n_strips, runs_strip);
  for (int row = CF_SG_STRIP_ROWS; row < m->setup.rows; row += CF_SG_STRIP_ROWS)
    join_runs (m, m->row_runs[row - 1], m->row_runs[row]);
  list_components (m);
  drop_fragments (m);
  cf_sg_run (m, m->n_strips, start_growth_strip);
}
