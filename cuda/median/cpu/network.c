/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/network.c: rank filters by selection networks (median/networks.h) on the CPU. A network becomes a list of
 * steps on byte offsets, which runs on one block of neighbouring tiles at a time; some medians are compiled instead
 * (mkcode.c). */
#include "internal.h"

#include "core/cpu.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SAMPLES 2500 /* of a window; larger networks take long to generate */
#define EXTRA_LANES 64   /* behind each part, for loads past its end */
#define CHANNELS 4       /* of a pixel at most */

/* Returns a side of a tile. Larger tiles share more work between windows but use more memory; these are the fastest. */
static int
tile_side (int window)
{
  return window == 1 ? 1 : window < 9 ? 4 : 8;
}

int
cf_median_network_code (const CfMedianCpu *m)
{
  const CfMedianWindow *win = &m->win;
  const int i = (win->w - 5) / 2;
  const bool square = win->w == win->h && win->w >= 5 && win->depth == 1 && win->rank == (win->n - 1) / 2;

  return square && m->size < 2 && i < CF_MEDIAN_N_CODES && m->simd->code[m->size][i] ? i : -1;
}

/* Translates a network into steps on the arena. Loads become operands, stores become steps, and unused halves of pairs
 * are written to a spare slot. Returns false if out of memory. */
static bool
translate (CfMedianProgram *p, const CfMedianNetwork *net, size_t bytes)
{
  const size_t part = (size_t) (p->lanes + p->extra) * bytes; /* bytes of a part of a row in the arena */
  size_t samples = (size_t) (p->fh * net->depth * p->tile_w) * part;
  size_t slots_at = (samples + CF_MEDIAN_SLOT - 1) / CF_MEDIAN_SLOT * CF_MEDIAN_SLOT;
  const uint32_t unused = (uint32_t) (slots_at + (size_t) net->n_slots * CF_MEDIAN_SLOT);
  uint32_t *at = malloc (sizeof *at * (size_t) (net->n_slots + 1));

  p->out_at = (size_t) unused + CF_MEDIAN_SLOT;
  p->arena_size = p->out_at + (size_t) (p->tile_w * p->tile_h) * CF_MEDIAN_SLOT;
  p->steps = malloc (sizeof *p->steps * (size_t) (net->n_steps + 1));
  p->n_steps = 0;
  for (int i = 0; at && p->steps && i < net->n_steps; i++) {
    const CfMedianNetStep *s = &net->steps[i];
    const bool store = s->op == CF_MEDIAN_NET_STORE, sort = s->op == CF_MEDIAN_NET_SORT;
    const bool max = s->op == CF_MEDIAN_NET_MAX;
    const uint32_t d = (uint32_t) ((store ? p->out_at : slots_at) + (size_t) s->d * CF_MEDIAN_SLOT);
    const uint32_t e = sort ? (uint32_t) (slots_at + (size_t) s->e * CF_MEDIAN_SLOT) : unused;

    if (s->op == CF_MEDIAN_NET_LOAD) {
      const int row = s->a / p->fw, x = s->a % p->fw;

      at[s->d] = (uint32_t) ((size_t) (row * p->tile_w + x % p->tile_w) * part + (size_t) (x / p->tile_w) * bytes);
      continue;
    }
    p->steps[p->n_steps++] = (CfMedianStep) { max ? unused : d, max ? d : e, at[s->a], at[store ? s->a : s->b] };
    if (!store)
      at[s->d] = d;
    if (sort)
      at[s->e] = e;
  }
  free (at);
  return at && p->steps;
}

CfCode
cf_median_network_prepare (CfMedianCpu *m, CfStatus *status)
{
  const CfMedianWindow *win = &m->win;
  const size_t bytes = (size_t) 1 << m->size;
  CfMedianProgram next = { .win = *win, .bytes = bytes, .code = cf_median_network_code (m) }, *p = &next;
  int block;
  CfMedianNetwork *net;
  bool done;

  if (m->program.bytes == bytes && memcmp (&m->program.win, win, sizeof *win) == 0)
    return CF_OK;
  p->tile_w = p->code < 0 ? tile_side (win->w) : CF_MEDIAN_CODE_W;
  p->tile_h = p->code < 0 ? tile_side (win->h) : CF_MEDIAN_CODE_H (win->h);
  p->lanes = (p->code < 0 ? CF_MEDIAN_SLOT : 64) / (int) bytes; /* 64: the largest vector */
  p->fw = p->tile_w + win->w - 1;
  p->fh = p->tile_h + win->h - 1;
  p->extra = (p->fw - 1) / p->tile_w;
  if (win->n > MAX_SAMPLES || p->fw * p->fh * win->depth > 65535)
    return cf_fail (status, CF_UNSUPPORTED, "a network for %d samples would be too large; the maximum is %d", win->n,
        MAX_SAMPLES);
  if (p->code < 0) {
    net = cf_median_network_new (win->w, win->h, win->depth, win->rank, p->tile_w, p->tile_h);
    done = net && translate (p, net, bytes);
    cf_median_network_free (net);
    if (!done) {
      free (p->steps);
      return cf_fail (status, CF_NO_MEMORY, "out of memory for a network of %d samples", win->n);
    }
  }
  block = p->lanes * p->tile_w;
  p->max_cols = (2048 / (int) bytes + block - 1) / block * block;
  p->part_pitch = (size_t) (p->max_cols / p->tile_w + p->extra + EXTRA_LANES) * bytes;
  p->row_length = p->max_cols + CHANNELS * p->extra * p->tile_w;
  m->program = next;
  return CF_OK;
}

size_t
cf_median_network_scratch (const CfMedianCpu *m)
{
  const CfMedianProgram *p = &m->program;
  size_t row = (size_t) p->row_length << m->size;

  return p->arena_size + (size_t) (m->channels * p->tile_w * (p->fh * m->win.depth + p->tile_h)) * p->part_pitch +
      2 * row + 512;
}

typedef struct {
  const CfMedianCpu *m;
  const CfMedianTask *task;
  uint8_t *arena, *in_parts, *out_parts, *row, *input;
  int n; /* pixels of a row, with the halo */
  int blocks;
  /* A flat task takes whole pixels, which lie side by side: part p of a row is one of channel p % channels. */
  int channels;
  const uint8_t *first_in;
  uint8_t *first_out;
} Work;

/* Returns the parts of row y of frame s in the ring of fh rows per frame. */
static uint8_t *
ring_row (const Work *w, int s, int y)
{
  const CfMedianProgram *p = &w->m->program;
  int at = (y + p->fh) % p->fh; /* y >= -h / 2 > -fh */

  return w->in_parts + (size_t) ((s * p->fh + at) * p->tile_w * w->channels) * p->part_pitch;
}

/* Returns n pixels of row y: in the image, or copied with the nearest one beyond it. Further behind it than a window
 * nothing is copied. */
static const uint8_t *
read_pixels (const Work *w, int y)
{
  const CfMedianCpu *m = w->m;
  const CfView *view = &m->in[0][w->task->view];
  const int x = w->task->x0 - m->win.w / 2, left = x < 0 ? -x : 0, last = view->height - 1;
  const size_t pixel = (size_t) w->channels << m->size;
  const int behind = x + w->n - view->width, end = left + (behind > 0 ? w->n - left - behind : w->n - left);
  const uint8_t *from = w->first_in + view->pitch * (size_t) (y < 0 ? 0 : y > last ? last : y);

  if (left == 0 && behind <= 0)
    return from + pixel * (size_t) x;
  memcpy (w->row + pixel * (size_t) left, from + pixel * (size_t) (x + left), pixel * (size_t) (end - left));
  for (int i = 0; i < left; i++)
    memcpy (w->row + pixel * (size_t) i, from, pixel);
  for (int i = end; i < w->n && i < end + m->win.w; i++)
    memcpy (w->row + pixel * (size_t) i, from + pixel * (size_t) (view->width - 1), pixel);
  return w->row;
}

/* Reads rows from .. to - 1 of every frame into the ring. */
static void
load_rows (const Work *w, int from, int to)
{
  const CfMedianCpu *m = w->m;
  const CfMedianProgram *p = &m->program;

  for (int s = 0; s < m->win.depth; s++)
    for (int y = from; y < to; y++) {
      const uint8_t *row = w->task->flat ? read_pixels (w, y) : w->row;

      if (!w->task->flat)
        m->simd->unpack[m->size](&m->in[s][w->task->view], y, w->task->x0 - m->win.w / 2, w->n, w->row);
      m->simd->split[m->size](row, w->n * w->channels, p->tile_w * w->channels, ring_row (w, s, y),
          p->part_pitch >> m->size);
    }
}

/* Computes one block of tiles, outputs of rows y .. y + tile_h - 1. */
static void
run_block (const Work *w, int y, int block)
{
  const CfMedianCpu *m = w->m;
  const CfMedianProgram *p = &m->program;
  size_t from = (size_t) (block * p->lanes) << m->size, size = (size_t) (p->lanes + p->extra) << m->size;
  int lanes = (w->task->x1 - w->task->x0 + p->tile_w - 1) / p->tile_w - block * p->lanes;
  uint8_t *to = w->arena;

  for (int s = 0; s < m->win.depth; s++)
    for (int j = 0; j < p->fh; j++) {
      const uint8_t *parts = ring_row (w, s, y - m->win.h / 2 + j) + from;

      for (int i = 0; i < p->tile_w; i++, to += size)
        memcpy (to, parts + (size_t) i * p->part_pitch, size);
    }
  m->stepper->network[m->size](p->steps, p->n_steps, w->arena, lanes < p->lanes ? lanes : p->lanes);
  for (int i = 0; i < p->tile_w * p->tile_h; i++)
    memcpy (w->out_parts + (size_t) i * p->part_pitch + from, w->arena + p->out_at + (size_t) i * CF_MEDIAN_SLOT,
        CF_MEDIAN_SLOT);
}

/* Copies the samples of a channel at all outputs of the tiles. */
static void
copy_channel (const Work *w, const void *const *row, int channel)
{
  const CfMedianCpu *m = w->m;
  const CfMedianProgram *p = &m->program;
  const size_t apart = (size_t) w->channels * p->part_pitch, size = (size_t) (w->blocks * p->lanes) << m->size;
  uint8_t *to = w->out_parts + (size_t) channel * p->part_pitch;

  for (int i = 0; i < p->tile_w * p->tile_h; i++, to += apart) {
    const int x = i % p->tile_w + m->win.w / 2;
    const uint8_t *from = row[i / p->tile_w + m->win.h / 2];

    memcpy (to, from + (size_t) (x % p->tile_w) * apart + ((size_t) (x / p->tile_w) << m->size), size);
  }
}

/* Computes all tiles with outputs of rows y .. y + tile_h - 1 with the compiled network, channel by channel. */
static void
run_code (const Work *w, int y)
{
  const CfMedianCpu *m = w->m;
  const CfMedianProgram *p = &m->program;
  const CfView *views = m->in[0], *view = &views[w->task->view];
  const size_t pitch = (size_t) w->channels * (p->part_pitch >> m->size);
  bool filtered[CHANNELS] = { !w->task->flat };

  for (int i = 0; w->task->flat && i < m->n_views; i++)
    if (views[i].plane == view->plane && views[i].field == view->field)
      filtered[(views[i].data - w->first_in) >> m->size] = views[i].filtered;
  for (int c = 0; c < w->channels; c++) {
    const void *row[CF_MEDIAN_CODE_H (99) + 2 * CF_MEDIAN_N_CODES + 2];
    const size_t at = (size_t) c * p->part_pitch;

    for (int j = 0; j < p->fh; j++)
      row[j] = ring_row (w, 0, y - m->win.h / 2 + j) + at;
    if (filtered[c])
      m->simd->code[m->size][p->code](row, pitch, w->out_parts + at, pitch, w->blocks * p->lanes);
    else
      copy_channel (w, row, c);
  }
}

/* Writes row `tile_row` of the computed tiles to row y of the output. */
static void
write_row (const Work *w, int y, int tile_row)
{
  const CfMedianCpu *m = w->m;
  const CfMedianProgram *p = &m->program;
  const CfMedianTask *t = w->task;
  const int n = w->blocks * p->lanes * p->tile_w, parts = p->tile_w * w->channels;
  const size_t pixel = (size_t) w->channels << m->size;
  uint8_t *to = t->flat ? w->first_out + m->out[t->view].pitch * (size_t) y + pixel * (size_t) t->x0 : NULL;
  uint8_t *row = t->flat && n == t->x1 - t->x0 ? to : w->row;

  m->simd->join[m->size](row, n * w->channels, parts, w->out_parts + (size_t) (tile_row * parts) * p->part_pitch,
      p->part_pitch >> m->size);
  if (t->flat) {
    if (row != to)
      memcpy (to, row, pixel * (size_t) (t->x1 - t->x0));
    return;
  }
  cf_median_write (m, t, y, w->row, w->input);
}

void
cf_median_network_task (const CfMedianCpu *m, const CfMedianTask *task, uint8_t *scratch)
{
  const CfMedianProgram *p = &m->program;
  int block = p->lanes * p->tile_w, ry = m->win.h / 2;
  size_t row = (size_t) p->row_length << m->size;
  Work w = { .m = m, .task = task, .channels = 1 };

  if (task->flat) {
    w.channels = m->in[0][task->view].step;
    w.first_in = cf_median_first (m->in[0], m->n_views, &m->in[0][task->view]);
    w.first_out = cf_median_first (m->out, m->n_views, &m->out[task->view]);
  }
  w.blocks = (task->x1 - task->x0 + block - 1) / block;
  w.n = w.blocks * block + p->extra * p->tile_w;
  w.arena = cf_median_take (&scratch, p->arena_size);
  w.in_parts = cf_median_take (&scratch, (size_t) (w.channels * p->fh * m->win.depth * p->tile_w) * p->part_pitch);
  w.out_parts = cf_median_take (&scratch, (size_t) (w.channels * p->tile_w * p->tile_h) * p->part_pitch);
  w.row = cf_median_take (&scratch, row);
  w.input = cf_median_take (&scratch, row);
  load_rows (&w, task->y0 - ry, task->y0 - ry + p->fh - p->tile_h);
  for (int y = task->y0; y < task->y1; y += p->tile_h) {
    load_rows (&w, y - ry + p->fh - p->tile_h, y - ry + p->fh);
    if (p->code >= 0)
      run_code (&w, y);
    for (int b = 0; p->code < 0 && b < w.blocks; b++)
      run_block (&w, y, b);
    for (int i = 0; i < p->tile_h && y + i < task->y1; i++)
      write_row (&w, y + i, i);
  }
}
