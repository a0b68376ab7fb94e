/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * denoise/cpu/plan.c: the denoiser on the CPU. A task is a band of rows of a view. It goes down its rows once; each
 * step of the contract runs as many rows behind the one before it as it reads below its own, in rings of rows. */
#include "simd.h"

#include "core/cpu.h"
#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

#define RING 16 /* rows; the steps are up to 12 apart */
#define BAND 64 /* rows of a band at least */

/* How far a row's e, moved and new m are needed above and below a band. */
enum { REACH_E = 6, REACH_MOVED = 3, REACH_M = 2 };

static const CfDenoiseSimd *const simd[] = CF_ISA_TABLES (cf_denoise_simd);

/* The state of a view. */
typedef struct {
  uint8_t *words[2]; /* before and after the frame; `pitch` bytes a row */
  size_t pitch;
  int32_t sigma[CF_DENOISE_ZONES];
  CfDenoiseCounts counts;
} Field;

#define SUMS 5 /* rows of the sums: four of 32 bits for each two columns, one of 16 bits for each column */

/* The rings of a thread; `n` of them, of rows of `row` values. */
enum { RING_S, RING_M, RING_C, RING_SUM5, RING_SUM7, RING_MOVED, RING_NEW_M, RING_NEW_C, RING_HALF, RINGS };

typedef struct {
  const CfDenoiseSimd *simd;
  Field field[CF_MAX_VIEWS];
  void *memory;
  int16_t *scratch;         /* of all threads */
  size_t row, scratch_size; /* values */
  bool begun;
  CfApplyTo apply_to;

  /* of the frame */
  bool first, counting; /* counting: the pass before the first frame */
  bool estimates;
  int n_views, size; /* size: bytes of a sample - 1 */
  int first_task[CF_MAX_VIEWS + 1], band[CF_MAX_VIEWS];
  CfView in[CF_MAX_VIEWS], out[CF_MAX_VIEWS];
  CfDenoiseLevels levels[CF_MAX_VIEWS];
} CfDenoiseCpu;

/* A band of a view, and the thread's memory for it. */
typedef struct {
  const CfDenoiseCpu *m;
  Field *field;
  const CfView *in, *out;
  const CfDenoiseLevels *levels;
  int n, height, begin, end;
  int16_t *ring[RINGS], *plain; /* plain: one row */
  CfDenoiseSums sums;
} Band;

/* ---- the plan ------------------------------------------------------------ */

static CfCode
init (CfPlan *plan, CfStatus *status)
{
  CfDenoiseCpu *m = plan->state;
  CfDenoiseLayout layout = { 0 };
  size_t size;

  m->simd = simd[cf_cpu_isa_number ()];
  m->size = cf_format_info (plan->video.format)->bits == 8 ? 0 : 1;
  m->row = ((size_t) plan->video.width + 2 * CF_DENOISE_PAD + 63) / 64 * 64;
  m->scratch_size = m->row * (RINGS * RING + 1 + SUMS);
  size = cf_denoise_lay_out (&plan->video, &layout);
  m->memory = aligned_alloc (64, 2 * size + 64);
  m->scratch = aligned_alloc (64, m->scratch_size * sizeof *m->scratch * (size_t) cf_cpu_threads ());
  if (!m->memory || !m->scratch)
    return cf_fail (status, CF_NO_MEMORY, "out of memory: denoising %d x %d pixels", plan->video.width,
        plan->video.height);
  for (int i = 0; i < CF_MAX_VIEWS; i++)
    for (int k = 0; k < 2; k++) {
      m->field[i].pitch = layout.pitch[i];
      m->field[i].words[k] = (uint8_t *) m->memory + (size_t) k * size + layout.offset[i];
    }
  m->apply_to = plan->common.apply_to;
  return CF_OK;
}

static void
release (CfPlan *plan)
{
  CfDenoiseCpu *m = plan->state;

  free (m->memory);
  free (m->scratch);
}

static void
reset (CfPlan *plan)
{
  ((CfDenoiseCpu *) plan->state)->begun = false;
}

static CfCode
update (CfPlan *plan, CfStatus *status)
{
  const CfDenoiseParams *p = plan->params;
  CfDenoiseCpu *m = plan->state;

  (void) status;
  if (m->apply_to != plan->common.apply_to || cf_denoise_is_off (p))
    reset (plan);
  m->apply_to = plan->common.apply_to;
  return CF_OK;
}

static bool
noise (CfPlan *plan, double to[CF_NOISE_ZONES])
{
  const CfDenoiseCpu *m = plan->state;
  int i = 0;

  while (i < m->n_views && !m->in[i].filtered)
    i++;
  if (i == m->n_views || ((const CfDenoiseParams *) plan->params)->noise >= 0)
    return false;
  for (int z = 0; z < CF_NOISE_ZONES; z++)
    to[z] = m->field[i].sigma[z] / 128.0;
  return true;
}

/* ---- rows ----------------------------------------------------------------- */

static int16_t *
row_of (const Band *b, int ring, int y)
{
  return b->ring[ring] + (size_t) (y & (RING - 1)) * b->m->row;
}

/* Sets `rows` to the rows y - reach .. y + reach of a ring; beyond the border, the nearest one. */
static void
rows_around (const Band *b, int ring, int y, int reach, const int16_t **rows)
{
  for (int k = -reach; k <= reach; k++)
    rows[k + reach] = row_of (b, ring, cf_min (cf_max (y + k, 0), b->height - 1));
}

/* Repeats the outermost values of a row beyond both ends. */
static void
extend (int16_t *row, int n, int reach)
{
  for (int i = 1; i <= reach; i++) {
    row[-i] = row[0];
    row[n - 1 + i] = row[n - 1];
  }
}

/* Takes row y: S, the state, and the sums of e over the row. */
static void
read_row (const Band *b, int y)
{
  const CfDenoiseSimd *f = b->m->simd;
  int16_t *S = row_of (b, RING_S, y), *m = row_of (b, RING_M, y), *c = row_of (b, RING_C, y);

  f->load (b->in, y, b->n, S, b->plain);
  extend (S, b->n, 2);
  if (b->m->first)
    return;
  f->unpack[b->m->size](b->field->words[0] + (size_t) y * b->field->pitch, b->n, m, c);
  f->compare (S, m, b->levels, b->n, b->plain);
  extend (b->plain, b->n, 3);
  f->sum (b->plain, b->n, row_of (b, RING_SUM5, y), row_of (b, RING_SUM7, y));
}

static void
decide_row (const Band *b, int y)
{
  const int16_t *sum5[5], *sum7[7];

  rows_around (b, RING_SUM5, y, 2, sum5);
  rows_around (b, RING_SUM7, y, 3, sum7);
  b->m->simd->decide (sum5, sum7, row_of (b, RING_C, y), b->n, row_of (b, RING_MOVED, y));
  extend (row_of (b, RING_MOVED, y), b->n, 1);
}

/* Makes the new m and c of row y, and keeps them if it is the band's own. */
static void
follow_row (const Band *b, int y)
{
  int16_t *m = row_of (b, RING_NEW_M, y), *c = row_of (b, RING_NEW_C, y), *half = row_of (b, RING_HALF, y);
  const int16_t *moved[3], *S = row_of (b, RING_S, y);

  if (b->m->first) {
    memcpy (m, S, (size_t) b->n * sizeof *m);
    memset (c, 0, (size_t) b->n * sizeof *c);
    for (int i = 0; i < b->n; i++)
      half[i] = S[i] >> 1;
  } else {
    rows_around (b, RING_MOVED, y, 1, moved);
    b->m->simd->follow (moved, S, row_of (b, RING_M, y), row_of (b, RING_C, y), b->m->size == 0, b->n, m, c, half);
  }
  if (y >= b->begin && y < b->end)
    b->m->simd->pack[b->m->size](b->field->words[1] + (size_t) y * b->field->pitch, b->n, m, c);
  extend (half, b->n, 2);
}

static void
write_row (const Band *b, int y)
{
  const int16_t *half[5];
  int16_t *o = row_of (b, RING_SUM5, y); /* whose rows from here on up are not needed any more */

  rows_around (b, RING_HALF, y, 2, half);
  b->m->simd->smooth (half, row_of (b, RING_NEW_M, y), row_of (b, RING_NEW_C, y), b->levels, b->n, o);
  b->m->simd->store (b->out, b->in, y, b->n, o, row_of (b, RING_S, y), b->plain);
}

/* ---- the estimate ----------------------------------------------------------- */

/* Returns the sum of a block's four pairs of columns. */
static uint32_t
sum_of_block (const uint32_t *pairs, int x)
{
  pairs += x / 2;
  return pairs[0] + pairs[1] + pairs[2] + pairs[3];
}

/* Counts the blocks of a row of blocks. Several tasks count blocks of a view at the same time. */
static void
count_blocks (const Band *b)
{
  CfDenoiseCounts *counts = &b->field->counts;
  const CfDenoiseSums *s = &b->sums;

  for (int x = 0; x + CF_DENOISE_BLOCK <= b->n; x += CF_DENOISE_BLOCK) {
    const uint32_t bin[3] = { sum_of_block (s->t, x) >> 10, sum_of_block (s->s, x) / 768,
      sum_of_block (s->w, x) / 768 };
    const uint32_t z = sum_of_block (s->sum, x) >> 18;
    int extreme = 0;

    for (int i = 0; i < CF_DENOISE_BLOCK; i++)
      extreme += s->extreme[x + i];
    for (int h = 0; h < 3 && extreme <= 16; h++)
      __atomic_fetch_add (&counts->bin[h][z][bin[h] < CF_DENOISE_BINS ? bin[h] : CF_DENOISE_BINS - 1], 1,
          __ATOMIC_RELAXED);
  }
}

static void
clear_sums (const Band *b)
{
  memset (b->sums.t, 0, b->m->row * SUMS * sizeof *b->plain);
}

/* Adds row y, which is the band's own, to the sums of its blocks. */
static void
count_row (const Band *b, int y)
{
  const int16_t *S[5];
  const int top = y / CF_DENOISE_BLOCK * CF_DENOISE_BLOCK;

  if (top % (2 * CF_DENOISE_BLOCK) || top + CF_DENOISE_BLOCK > b->height)
    return;
  if (y == top)
    clear_sums (b);
  rows_around (b, RING_S, y, 2, S);
  b->m->simd->count (S, b->m->first ? NULL : row_of (b, RING_M, y), row_of (b, RING_C, y),
      b->in->bits == 16 ? 32767 : ((1 << b->in->bits) - 1) << (15 - b->in->bits), b->n, b->plain, &b->sums);
  if (y == top + CF_DENOISE_BLOCK - 1)
    count_blocks (b);
}

/* Returns Q (bins, k). */
static int
quantile (const uint32_t bins[CF_DENOISE_BINS], uint32_t k)
{
  uint32_t sum = 0;
  int i = 0;

  while (i < CF_DENOISE_BINS - 1 && (sum += bins[i]) <= k)
    i++;
  return cf_denoise_quantile (i);
}

static void
estimate (Field *f, bool first)
{
  int est[CF_DENOISE_ZONES], n[CF_DENOISE_ZONES] = { 0 };

  for (int z = 0; z < CF_DENOISE_ZONES; z++) {
    for (int i = 0; i < CF_DENOISE_BINS; i++)
      n[z] += (int) f->counts.bin[1][z][i];
    const uint32_t sixteenth = (uint32_t) n[z] / 16, quarter = (uint32_t) n[z] / 4;
    const int s = quantile (f->counts.bin[1][z], sixteenth);

    est[z] = first
        ? s * 430 >> 8
        : cf_denoise_zone (s, quantile (f->counts.bin[0][z], quarter), quantile (f->counts.bin[2][z], sixteenth));
  }
  for (int z = 0; z < CF_DENOISE_ZONES; z++)
    f->sigma[z] = cf_denoise_learn (n, est, z, first, f->sigma[z]);
}

/* ---- frames ------------------------------------------------------------------ */

static void
filter_band (const Band *b)
{
  const CfDenoiseCpu *m = b->m;
  const int last = cf_min (b->end + REACH_E, b->height);

  for (int y = cf_max (b->begin - REACH_E, 0); y < b->end + REACH_E; y++) {
    const int decided = y - 3, followed = y - 4;

    if (y < last)
      read_row (b, y);
    if (m->estimates && y - 2 >= b->begin && y - 2 < b->end)
      count_row (b, y - 2);
    if (m->counting)
      continue;
    if (!m->first && decided >= cf_max (b->begin - REACH_MOVED, 0) &&
        decided < cf_min (b->end + REACH_MOVED, b->height))
      decide_row (b, decided);
    if (followed >= cf_max (b->begin - REACH_M, 0) && followed < cf_min (b->end + REACH_M, b->height))
      follow_row (b, followed);
    if (y - REACH_E >= b->begin)
      write_row (b, y - REACH_E);
  }
}

static void
run_task (void *data, int index, int thread)
{
  CfDenoiseCpu *m = data;
  int16_t *scratch = m->scratch + (size_t) thread * m->scratch_size, *sums;
  Band b = { .m = m };
  int i = 0;

  while (index >= m->first_task[i + 1])
    i++;
  b.in = &m->in[i];
  b.out = &m->out[i];
  b.field = &m->field[i];
  b.levels = &m->levels[i];
  b.n = b.in->width;
  b.height = b.in->height;
  b.begin = (index - m->first_task[i]) * m->band[i];
  b.end = cf_min (b.begin + m->band[i], b.height);
  if (!b.in->filtered) {
    if (!m->counting)
      cf_view_copy (b.out, b.in, b.begin, b.end);
    return;
  }
  for (int k = 0; k < RINGS; k++, scratch += RING * m->row)
    b.ring[k] = scratch + CF_DENOISE_PAD;
  b.plain = scratch + CF_DENOISE_PAD;
  sums = scratch + m->row;
  b.sums = (CfDenoiseSums) { .t = (uint32_t *) (void *) sums,
    .s = (uint32_t *) (void *) (sums + m->row),
    .w = (uint32_t *) (void *) (sums + 2 * m->row),
    .sum = (uint32_t *) (void *) (sums + 3 * m->row),
    .extreme = sums + 4 * m->row };
  filter_band (&b);
}

static void
take_levels (CfDenoiseCpu *m, const CfDenoiseParams *p)
{
  for (int i = 0; i < m->n_views; i++) {
    Field *f = &m->field[i];

    for (int z = 0; z < CF_DENOISE_ZONES && p->noise >= 0; z++)
      f->sigma[z] = (int) (p->noise * 128 + 0.5);
    for (int l = 0; l < CF_DENOISE_LEVELS; l++) {
      const CfDenoiseLevel level = cf_denoise_level (f->sigma[cf_max (0, l - 1) / 2],
          f->sigma[cf_min (CF_DENOISE_LEVELS - 1, l + 1) / 2], p->strength);

      m->levels[i].reach[l] = level.reach;
      m->levels[i].inverse[l] = level.inverse;
    }
  }
}

/* Clears the counts of all views; learn: takes them into sigma first. */
static void
take_counts (CfDenoiseCpu *m, bool learn)
{
  for (int i = 0; i < m->n_views; i++) {
    if (learn && m->in[i].filtered)
      estimate (&m->field[i], m->first);
    memset (&m->field[i].counts, 0, sizeof m->field[i].counts);
  }
}

/* Divides the rows of each view among the tasks: bands begin with a row of blocks. Returns the number of tasks. */
static int
deal_bands (CfDenoiseCpu *m)
{
  for (int i = 0; i < m->n_views; i++) {
    const int rows = cf_max (BAND, cf_divide_up (m->in[i].height, cf_cpu_threads ()));

    m->band[i] = cf_divide_up (rows, CF_DENOISE_BLOCK) * CF_DENOISE_BLOCK;
    m->first_task[i + 1] = m->first_task[i] + cf_divide_up (m->in[i].height, m->band[i]);
  }
  return m->first_task[m->n_views];
}

static CfCode
enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  const CfDenoiseParams *p = plan->params;
  CfDenoiseCpu *m = plan->state;
  int n_tasks;

  (void) stream;
  (void) status;
  m->n_views = cf_image_views (&plan->video, &plan->common, in, m->in);
  cf_image_views (&plan->video, &plan->common, out, m->out);
  for (int i = 0; i < m->n_views && cf_denoise_is_off (p); i++)
    m->in[i].filtered = false;
  m->first = !m->begun;
  m->begun = !cf_denoise_is_off (p);
  m->estimates = p->noise < 0 && m->begun;
  n_tasks = deal_bands (m);
  if (m->first)
    for (int i = 0; i < m->n_views; i++)
      memset (m->field[i].sigma, 0, sizeof m->field[i].sigma);
  if (m->first || !m->estimates)
    take_counts (m, false);
  m->counting = m->first && m->estimates;
  if (m->counting) {
    cf_parallel_for (n_tasks, run_task, m);
    take_counts (m, true);
    m->counting = false;
  }
  take_levels (m, p);
  m->estimates = m->estimates && !m->first;
  if (m->estimates)
    take_counts (m, true); /* of the frame before */
  cf_parallel_for (n_tasks, run_task, m);
  for (int i = 0; i < m->n_views; i++) {
    uint8_t *before = m->field[i].words[0];

    m->field[i].words[0] = m->field[i].words[1];
    m->field[i].words[1] = before;
  }
  return CF_OK;
}

const CfOps cf_denoise_cpu = {
  .state_size = sizeof (CfDenoiseCpu),
  .init = init,
  .update = update,
  .enqueue = enqueue,
  .reset = reset,
  .free = release,
  .noise = noise,
};
