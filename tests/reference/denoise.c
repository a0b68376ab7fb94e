/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * tests/reference/denoise.c: the denoiser, written from its contract (cuda/denoise/denoise.h): a sample at a time, each
 * step over a whole plane. */
#include "check/kernelcheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ZONES = 8, LEVELS = 16, BINS = 256 };

static const int F[17] = { 0, 362, 314, 296, 286, 280, 277, 274, 272, 270, 269, 267, 266, 266, 265, 264, 264 };
static const int K[17] = { 0, 40960, 28963, 23648, 20480, 18318, 16722, 15481, 14482, 13653, 12953, 12350, 11824, 11360,
  10947, 10576, 10240 };
static const int R[17] = { 0, 23170, 26755, 28378, 29309, 29913, 30337, 30652, 30894, 31086, 31243, 31373, 31482, 31576,
  31657, 31727, 31790 };

/* A component of a field: its state, and what the steps make of a frame. */
typedef struct {
  int w, h, bits;
  int *m, *c;
  int sigma[ZONES];

  int *S, *e, *moved, *new_m, *new_c;
  int bins[3][ZONES][BINS]; /* N, T, W */
  int est[ZONES];           /* of the frame before; -1: there is none */
} Plane;

typedef struct {
  bool begun;
  CfApplyTo apply_to;
  Plane plane[4][2];
} State;

static int
mulr (int a, int b)
{
  return (int) (((int64_t) a * b + (1 << 14)) >> 15);
}

static int
at (const Plane *p, const int *array, int x, int y)
{
  return array[CLAMP (y, 0, p->h - 1) * p->w + CLAMP (x, 0, p->w - 1)];
}

static void
free_plane (Plane *p)
{
  g_free (p->m);
  g_free (p->c);
  memset (p, 0, sizeof *p);
}

static void
forget (State *state)
{
  for (int c = 0; c < 4; c++)
    for (int f = 0; f < 2; f++)
      free_plane (&state->plane[c][f]);
  state->begun = false;
}

static void
free_state (void *state)
{
  if (state)
    forget (state);
  g_free (state);
}

/* ---- the estimate -------------------------------------------------------- */

/* Returns |4 P - 2 n4 (k) + n8 (k)|. */
static int
laplacian (const Plane *p, int x, int y, int k)
{
  int sum = 0;

  for (int j = -1; j <= 1; j++)
    for (int i = -1; i <= 1; i++)
      sum += (at (p, p->S, x + i * k, y + j * k) >> 3) * (i && j ? 1 : i || j ? -2 : 4);
  return abs (sum);
}

static void
count_block (Plane *p, int left, int top)
{
  const int largest = p->bits == 16 ? 32767 : ((1 << p->bits) - 1) << (15 - p->bits);
  int s = 0, t = 0, w = 0, sum = 0, extreme = 0, z;

  for (int y = top; y < top + 8; y++)
    for (int x = left; x < left + 8; x++) {
      const int S = p->S[y * p->w + x];

      s += laplacian (p, x, y, 1);
      w += laplacian (p, x, y, 2);
      t += mulr (abs (S - p->m[y * p->w + x]), R[p->c[y * p->w + x]]);
      sum += S;
      extreme += S == 0 || S == largest;
    }
  if (extreme > 16)
    return;
  z = sum >> 18;
  p->bins[0][z][MIN (255, s / 768)]++;
  p->bins[1][z][MIN (255, t >> 10)]++;
  p->bins[2][z][MIN (255, w / 768)]++;
}

static int
quantile (const int bins[BINS], int k)
{
  int sum = 0;

  for (int i = 0; i < BINS; i++) {
    sum += bins[i];
    if (sum > k)
      return 16 * i + 8;
  }
  return 0; /* of a zone without blocks, which is not known */
}

static int
estimate_zone (const Plane *p, int z, int n, bool first)
{
  const int s = quantile (p->bins[0][z], n / 16) * 430 >> 8, t = quantile (p->bins[1][z], n / 4) * 350 >> 8;
  const int w = quantile (p->bins[2][z], n / 16) * 430 >> 8;
  const int spare = MAX (0, s - 384), top = MAX (s, MIN (w, s + MIN (s / 2, spare))), limit = 9 * top / 8;
  int est = t <= limit ? MIN (t, top) : MAX (s, top - (t - limit));

  if (est > s)
    est += est - s;
  return first ? s : est;
}

/* Step 7. m and c are those of the frame before, or S and 1. Sets p->est, -1 where no zone is known. */
static void
estimate (Plane *p, bool first)
{
  int n[ZONES] = { 0 }, est[ZONES], all = 0;

  memset (p->bins, 0, sizeof p->bins);
  for (int y = 0; y + 8 <= p->h; y += 16)
    for (int x = 0; x + 8 <= p->w; x += 8)
      count_block (p, x, y);
  for (int z = 0; z < ZONES; z++) {
    for (int i = 0; i < BINS; i++)
      n[z] += p->bins[0][z][i];
    all += n[z];
  }
  for (int z = 0; z < ZONES; z++)
    est[z] = n[z] >= 16 && 32 * n[z] >= all ? estimate_zone (p, z, n[z], first) : -1;
  for (int z = 0; z < ZONES; z++) {
    int nearest = -1;

    for (int i = ZONES - 1; i >= 0; i--)
      if (est[i] >= 0 && (nearest < 0 || abs (i - z) <= abs (nearest - z)))
        nearest = i;
    p->est[z] = nearest < 0 ? -1 : est[nearest];
  }
}

/* ---- time and space ------------------------------------------------------- */

static int
level_noise (const Plane *p, int l, int strength)
{
  const int a = p->sigma[MAX (0, l - 1) / 2], b = p->sigma[MIN (15, l + 1) / 2];

  return CLAMP (((a + b) / 2 * strength + 50) / 100, 17, 8191);
}

static int
decide (const Plane *p, int x, int y)
{
  const int c = p->c[y * p->w + x], a2 = 280 * F[c] >> 8, b2 = 1015 * F[c] >> 8, a1 = 5 * a2 >> 3, b1 = 13 * b2 >> 4;
  int A = 0, B = 0;

  for (int j = -3; j <= 3; j++)
    for (int i = -3; i <= 3; i++) {
      const int e = at (p, p->e, x + i, y + j);

      B += abs (e);
      A += abs (i) <= 2 && abs (j) <= 2 ? e : 0;
    }
  A = abs (A);
  return A > a2 || B > b2 ? 2 : A > a1 || B > b1 ? 1 : 0;
}

/* Step 4: sets new_m and new_c. */
static void
follow (Plane *p, const int g[LEVELS])
{
  for (int i = 0; i < p->w * p->h; i++)
    p->e[i] = CLAMP (mulr (p->S[i] - p->m[i], (1 << 19) / g[p->m[i] >> 11]), -127, 127);
  for (int y = 0; y < p->h; y++)
    for (int x = 0; x < p->w; x++)
      p->moved[y * p->w + x] = decide (p, x, y);
  for (int y = 0; y < p->h; y++)
    for (int x = 0; x < p->w; x++) {
      const int i = y * p->w + x;
      int v = 0;

      for (int k = 0; k < 9; k++)
        v = MAX (v, at (p, p->moved, x + k % 3 - 1, y + k / 3 - 1));
      p->new_c[i] = v == 2 ? 1 : MIN (p->c[i] + 1, v == 1 ? 2 : 16);
      p->new_m[i] = v == 2 ? p->S[i] : p->m[i] + mulr (p->S[i] - p->m[i], 32768 / p->new_c[i]);
      if (p->bits == 8)
        p->new_m[i] = MIN (4095, (p->new_m[i] + 4) >> 3) << 3;
    }
}

/* Step 5 for a sample. */
static int
smooth (const Plane *p, const int g[LEVELS], int x, int y)
{
  const int m = p->new_m[y * p->w + x], c = p->new_c[y * p->w + x];
  const int h = (int) MIN (4095, (int64_t) 2 * MAX (17, g[m >> 11] - 38) * K[c] >> 16);
  int sum[3] = { 0 }; /* by distance */

  for (int k = 0; k < 25; k++) {
    const int dx = k % 5 - 2, dy = k / 5 - 2, distance = MAX (abs (dx), abs (dy));
    const int d = (at (p, p->new_m, x + dx, y + dy) >> 1) - (m >> 1);

    if (distance < 2 || (dx % 2 == 0 && dy % 2 == 0))
      sum[distance] += (d < 0 ? -1 : 1) * MAX (0, MIN (abs (d), 2 * h - abs (d)));
  }
  return CLAMP (m + ((156 * sum[1] + 74 * sum[2]) >> 10), 0, 32767);
}

/* Filters the samples of a plane in place. */
static void
filter_plane (Plane *p, KcPlane *x, double noise, int strength, bool first)
{
  const int n = x->w * x->h;
  g_autofree int *work = g_new (int, 5 * n);
  int g[LEVELS];

  p->S = work;
  p->e = work + n;
  p->moved = work + 2 * n;
  p->new_m = work + 3 * n;
  p->new_c = work + 4 * n;
  for (int i = 0; i < n; i++)
    p->S[i] = (int) (p->bits == 16 ? x->v[i] >> 1 : x->v[i] << (15 - p->bits));
  if (first) {
    p->m = g_memdup2 (p->S, (gsize) n * sizeof *p->S);
    p->c = g_new (int, n);
    for (int i = 0; i < n; i++)
      p->c[i] = 1;
    if (noise < 0)
      estimate (p, true);
    for (int z = 0; z < ZONES; z++)
      p->sigma[z] = noise < 0 ? MAX (0, p->est[z]) : 0;
  }
  for (int z = 0; z < ZONES && noise >= 0; z++)
    p->sigma[z] = (int) floor (noise * 128 + 0.5);
  for (int l = 0; l < LEVELS; l++)
    g[l] = level_noise (p, l, strength);
  for (int z = 0; z < ZONES; z++)
    if (first || noise >= 0)
      p->est[z] = -1;
    else if (p->est[z] >= 0)
      p->sigma[z] += (p->est[z] - p->sigma[z]) / 4;
  if (!first && noise < 0)
    estimate (p, false);
  if (first) {
    memcpy (p->new_m, p->m, (size_t) n * sizeof *p->m);
    memcpy (p->new_c, p->c, (size_t) n * sizeof *p->c);
  } else
    follow (p, g);
  for (int i = 0; i < n; i++) {
    const int o = smooth (p, g, i % p->w, i / p->w);

    x->v[i] = (uint32_t) (p->bits < 16 ? MIN ((1 << p->bits) - 1, (o + (1 << (14 - p->bits))) >> (15 - p->bits))
                                       : CLAMP ((int) x->v[i] + 2 * (o - p->S[i]), 0, 65535));
  }
  memcpy (p->m, p->new_m, (size_t) n * sizeof *p->m);
  memcpy (p->c, p->new_c, (size_t) n * sizeof *p->c);
}

/* ---- frames ------------------------------------------------------------- */

static void
stateful_reference (const CfFilter *filter_, const CfVideo *video, const CfCommon *common, const void *params,
    void **state_, const CfImage *in, const CfImage *out, KcRegions *regions)
{
  const CfFormatInfo *info = cf_format_info (video->format);
  const double noise = kc_param_double (filter_, params, "noise");
  const int strength = kc_param_int (filter_, params, "strength", 0);
  const bool off = noise == 0 || strength == 0;
  State *state = *state_ ? *state_ : g_new0 (State, 1);

  (void) regions;
  *state_ = state;
  if (off || state->apply_to != common->apply_to)
    forget (state);
  state->apply_to = common->apply_to;
  for (int c = 0; c < info->n_components; c++)
    if (off || !kc_is_filtered (info, c, common))
      kc_copy_component (in, out, c);
    else
      for (int f = 0; f < kc_fields (video); f++) {
        KcPlane x = kc_unpack (video, in, c, f);
        Plane *p = &state->plane[c][f];

        p->w = x.w;
        p->h = x.h;
        p->bits = info->bits;
        if (x.h > 0)
          filter_plane (p, &x, noise, strength, !state->begun);
        kc_pack (video, out, c, f, &x);
        g_free (x.v);
      }
  state->begun = !off;
}

static bool
reference (const CfFilter *filter_, const CfVideo *video, const CfCommon *common, const void *params,
    const CfImage *const *seen, int n_seen, const CfImage *out)
{
  void *state = NULL;

  for (int i = n_seen - 1; i >= 0; i--)
    stateful_reference (filter_, video, common, params, &state, seen[i], out, NULL);
  free_state (state);
  return true;
}

static bool
accepts (const CfFilter *filter_, const CfVideo *video, const void *params)
{
  const double noise = kc_param_double (filter_, params, "noise");

  (void) video;
  return noise == -1 || noise >= 0;
}

/* One gray sample: every sum has it 25 or 49 times, and space changes nothing. Noise 2 gives g = 256 and r = 2048: e is
 * 8 for one level. 101 after 100: A = 200 and B = 392; for c = 1, a1 is 246 and b1 1165, so it stands still, and m is
 * 100.5. Then 103: e = 20, A = 500; for c = 2, a2 is 343, so it has moved. 200 has moved, and then stands still. */
static int
check_reference (void)
{
  static const uint8_t given[] = { 100, 101, 103, 200, 200 }; /* they come out so: 100.5 is 101 */
  const CfFilter *filter_ = cf_filter_find ("denoise");
  const CfVideo video = { CF_FORMAT_GRAY8, 1, 1, false };
  const CfCommon common = { 0 };
  void *params = kc_params_new (filter_, "noise=2", NULL), *state = NULL;
  uint8_t in = 0, out = 0;
  const CfImage from = { CF_FORMAT_GRAY8, 1, 1, { { &in, 1 } } }, to = { CF_FORMAT_GRAY8, 1, 1, { { &out, 1 } } };
  static const int right_m[] = { 12800, 12864, 13184, 25600, 25600 }, right_c[] = { 1, 2, 1, 1, 2 };
  int failures = 0;

  for (size_t i = 0; i < G_N_ELEMENTS (given); i++) {
    const Plane *p;

    in = given[i];
    stateful_reference (filter_, &video, &common, params, &state, &from, &to, NULL);
    p = &((State *) state)->plane[0][0];
    failures += out != given[i] || p->m[0] != right_m[i] || p->c[0] != right_c[i];
  }
  free_state (state);
  cf_params_free (filter_, params);
  return failures;
}

/* ---- cases -------------------------------------------------------------- */

static const char *const settings[] = { "noise=-1", "noise=5", "noise=20", "noise=64 strength=200",
  "noise=2 strength=50", "noise=0.3", "noise=10 strength=1", "noise=-1 strength=150", "noise=0", "strength=0",
  "noise=35 strength=90", NULL };
static const char *const large_settings[] = { "noise=-1", "noise=8", NULL };
static const char *const bad_settings[] = { "noise=-0.5", "noise=-2", "noise=64.5", "noise=nan", "strength=-1",
  "strength=201", "message-interval=-1", NULL };
static const char *const sanitize_settings[] = { "noise=-1", "noise=20", "strength=0", NULL };

static void
random_setting (GString *text, uint64_t *state)
{
  const unsigned kind = (unsigned) (kc_random (state) % 8);
  const double u = kc_random_double (state);

  if (kind < 4)
    g_string_append (text, "noise=-1");
  else
    g_string_append_printf (text, "noise=%.3f", kind == 4 ? 0 : u * u * 64);
  if (kc_random (state) % 3 == 0)
    g_string_append_printf (text, " strength=%d", (int) (kc_random (state) % 201));
}

static const KcBench bench[] = { { "noise", "noise=%d", "8" }, { "estimated, strength", "strength=%d", "100" }, { 0 } };

const KcFilter kc_denoise = {
  .stem = "denoise",
  .reference = reference,
  .stateful_reference = stateful_reference,
  .free_state = free_state,
  .check_reference = check_reference,
  .accepts = accepts,
  .random_setting = random_setting,
  .script = "EEEEXEE",
  .settings = settings,
  .large_settings = large_settings,
  .bad_settings = bad_settings,
  .sanitize_settings = sanitize_settings,
  .right = "noise=8",
  .wrong = "noise=40",
  .bench = bench,
  .bench_formats = "GRAY8,NV12,RGBA",
};
