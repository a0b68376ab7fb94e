/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/motion_tmpl.h: the loops over rows of blocks of median/running.h. simd.c includes it. */

/* Adds to sum[i] the samples 4 i .. 4 i + 3 of a row; two samples are added at a time, as halves of a word. */
static void
sum4_1 (const void *row, int n, uint32_t *restrict sum)
{
  const uint32_t *restrict four = row, low = 0x00ff00ff;

  for (int i = 0; i < n; i++) {
    const uint32_t two = (four[i] & low) + (four[i] >> 8 & low);

    sum[i] += (two & 0xffff) + (two >> 16);
  }
}

static void
sum4_2 (const void *row, int n, uint32_t *restrict sum)
{
  const uint32_t *restrict two = row;

  for (int i = 0; i < n; i++)
    sum[i] += (two[2 * i] & 0xffff) + (two[2 * i] >> 16) + (two[2 * i + 1] & 0xffff) + (two[2 * i + 1] >> 16);
}

static void
compare (const uint16_t *restrict x, const uint16_t *restrict before, const uint16_t *restrict back,
    const uint16_t *restrict noise, int n, int least, uint8_t *restrict flags, uint8_t *restrict changed,
    uint8_t *restrict restless, int16_t *restrict drift)
{
  for (int i = 0; i < n; i++) {
    const int16_t d = (int16_t) (x[i] - back[i]), t = (int16_t) (x[i] - before[i]);
    const int16_t high = (int16_t) (noise[i] > least ? noise[i] : least);
    const int16_t step = d > CF_RUNNING_STEP ? CF_RUNNING_STEP : d < -CF_RUNNING_STEP ? -CF_RUNNING_STEP : d;
    const uint8_t is_changed = (d > high) | (d < -high), is_restless = (t > high) | (t < -high);

    flags[i] = (uint8_t) (is_changed | is_restless << 1);
    changed[i] = (uint8_t) (changed[i] + is_changed);
    restless[i] = (uint8_t) (restless[i] + is_restless);
    drift[i] = (int16_t) (drift[i] + (is_changed ? 0 : step));
  }
}

static void
survey (const uint16_t *restrict x, const uint16_t *restrict before, const uint16_t *restrict back,
    const uint16_t *restrict noise, int n, int least, CfMedianSurvey *restrict s)
{
  const int side = CF_RUNNING_CELL / CF_RUNNING_BLOCK;
  uint32_t equal = 0, dark = 0, bright = 0, sum = 0, edges = 0, back_edges = 0, same = 0;

  for (int i = 0; i < n; i++) {
    equal += x[i] == before[i];
    dark += x[i] < CF_RUNNING_DARK;
    bright += x[i] >= CF_RUNNING_BRIGHT;
    sum += x[i];
  }
  for (int i = 0; i < n - 1; i++) {
    const int v = noise[i] > noise[i + 1] ? noise[i] : noise[i + 1], t = v > least ? v : least;
    const int te = i % side < side - 1 ? t + t / 4 + t / 8 : 65535;
    const int now = x[i + 1] - x[i], then = back[i + 1] - back[i];
    const uint32_t up = now > te, down = now<-te, back_up = then> te, back_down = then < -te;

    edges += up | down;
    back_edges += back_up | back_down;
    same += (up & back_up) | (down & back_down);
  }
  s->equal += equal;
  s->dark += dark;
  s->bright += bright;
  s->edges += edges;
  s->back_edges += back_edges;
  s->same_edges += same;
  s->sum += sum;
}

static void
near (const uint16_t *restrict x, const uint16_t *restrict back, int n, int step_, uint16_t *restrict to)
{
  const int16_t step = (int16_t) step_;

  for (int i = 0; i < n; i++) {
    const int16_t d = (int16_t) (x[i] - back[i]);

    to[i] = (uint16_t) (back[i] + (d > step ? step : d < -step ? -step : d));
  }
}

static void
quiet (const uint16_t *restrict x, const uint16_t *restrict before, uint16_t *restrict noise, int n)
{
  for (int i = 0; i < n; i++) {
    const int d = x[i] - before[i], t = d < 0 ? -d : d, v = noise[i];
    const int to = 7 * t > 4 * v ? v + (v >> 4) + 2 : v - (v >> 6) - 1;

    noise[i] = (uint16_t) clamp (to, CF_RUNNING_NOISE_MIN, CF_RUNNING_NOISE_MAX);
  }
}
