/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * tests/reference/median.c: the median and rank filter, written from its contract (cuda/median/median.h) in two ways:
 * by sorting every window, and for large windows by counting values in a window that slides along the row.
 * check_reference compares the second with the first. */
#include "check/kernelcheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SORT_MAX 64 /* samples of a window; larger windows are counted */
#define LANES 16    /* windows in a row that are sorted at a time */

typedef int32_t Lanes[LANES]; /* values have at most 24 bits */

typedef struct {
  int w, h, depth, percentile, threshold;
  bool packed;
} Window;

static Window
window_of (const CfFilter *filter, const void *params)
{
  int size = kc_param_int (filter, params, "kernel-size", 3);
  int w = kc_param_int (filter, params, "kernel-width", 0), h = kc_param_int (filter, params, "kernel-height", 0);

  return (Window) {
    .w = w ? w : size,
    .h = h ? h : size,
    .depth = kc_param_int (filter, params, "temporal-depth", 1),
    .percentile = kc_param_int (filter, params, "percentile", 50),
    .threshold = kc_param_int (filter, params, "threshold", 0),
    .packed = kc_param_int (filter, params, "color-order", 0) == 1,
  };
}

/* With temporal-center, half of the frames besides the filtered one come after it. */
static int
ahead (const CfFilter *filter, const void *params)
{
  const bool window = strcmp (kc_param_name (filter, params, "temporal-method"), "window") == 0;

  return window && kc_param_int (filter, params, "temporal-center", 0)
      ? kc_param_int (filter, params, "temporal-depth", 1) / 2
      : 0;
}

static uint32_t
value_at (const KcPlane *plane, int x, int y)
{
  return plane->v[CLAMP (y, 0, plane->h - 1) * plane->w + CLAMP (x, 0, plane->w - 1)];
}

/* Sorts LANES lists of n values, those of list[0..n - 1][lane]: Batcher's network, whose pairs do not depend on the
 * values. */
static KC_VECTORS void
sort_values (Lanes *list, int n)
{
  for (int run = 1; run < n; run *= 2)
    for (int gap = run; gap > 0; gap /= 2)
      for (int i = gap % run; i + gap < n; i++) {
        int32_t *a = list[i], *b = list[i + gap];

        if ((i - gap % run) / gap % 2 || i / (2 * run) != (i + gap) / (2 * run))
          continue;
        for (int lane = 0; lane < LANES; lane++) {
          const int32_t low = MIN (a[lane], b[lane]), high = MAX (a[lane], b[lane]);

          a[lane] = low;
          b[lane] = high;
        }
      }
}

static int
rank_of (const Window *k)
{
  int n = k->w * k->h * k->depth;

  return (2 * k->percentile * (n - 1) + 100) / 200;
}

/* Returns the results at (x, y) and right of it before the threshold. frames[] are those of the window; `list` has room
 * for the w h depth values of each. */
static const int32_t *
by_sorting (const KcPlane *frames, const Window *k, int x, int y, Lanes *list)
{
  int n = 0;

  for (int s = 0; s < k->depth; s++)
    for (int j = -(k->h / 2); j <= k->h / 2; j++)
      for (int i = -(k->w / 2); i <= k->w / 2; i++, n++)
        for (int lane = 0; lane < LANES; lane++)
          list[n][lane] = (int32_t) value_at (&frames[s], x + lane + i, y + j);
  sort_values (list, n);
  return list[rank_of (k)];
}

/* Counts how often each value is in the window, and the same for ranges of 2^8 and 2^16 values. */
typedef struct {
  uint32_t *count[3]; /* [0]: the widest ranges that this number of bits needs */
  int levels;
} Counter;

static Counter
counter_new (int bits)
{
  Counter c = { .levels = (bits + 7) / 8 };

  for (int i = 0; i < c.levels; i++)
    c.count[i] = g_new0 (uint32_t, 1 << (8 * (i + 1)));
  return c;
}

static void
counter_free (Counter *c)
{
  for (int i = 0; i < 3; i++)
    g_free (c->count[i]);
}

static void
counter_add (Counter *c, uint32_t value, uint32_t one)
{
  for (int i = 0; i < c->levels; i++)
    c->count[i][value >> (8 * (c->levels - 1 - i))] += one;
}

static uint32_t
counter_rank (const Counter *c, uint32_t rank)
{
  uint32_t bin = 0;

  for (int i = 0; i < c->levels; i++) {
    bin <<= 8;
    while (rank >= c->count[i][bin])
      rank -= c->count[i][bin++];
  }
  return bin;
}

/* Returns how many of the positions from - half .. from + half are i once they are clamped to 0 .. end - 1, for an i
 * between the clamped ends. */
static uint32_t
times (int i, int from, int half, int end)
{
  int first = i == 0 ? from - half : i, last = i == end - 1 ? from + half : i;

  return (uint32_t) (last - first + 1);
}

/* Adds the window's column x `columns` times (subtracts it if that is negative), and each clamped row as often as it is
 * in the window. */
static void
counter_column (Counter *c, const KcPlane *frames, const Window *k, int x, int y, uint32_t columns)
{
  int half = k->h / 2, last = CLAMP (y + half, 0, frames[0].h - 1);

  for (int s = 0; s < k->depth; s++)
    for (int r = CLAMP (y - half, 0, frames[0].h - 1); r <= last; r++)
      counter_add (c, value_at (&frames[s], x, r), columns * times (r, y, half, frames[0].h));
}

/* Adds (sign = 1) or subtracts (-1) all columns of the window at x. */
static void
counter_window (Counter *c, const KcPlane *frames, const Window *k, int x, int y, uint32_t sign)
{
  int half = k->w / 2, last = CLAMP (x + half, 0, frames[0].w - 1);

  for (int i = CLAMP (x - half, 0, frames[0].w - 1); i <= last; i++)
    counter_column (c, frames, k, i, y, sign * times (i, x, half, frames[0].w));
}

static void
row_by_counting (Counter *c, const KcPlane *frames, const Window *k, int y, uint32_t *out)
{
  int half = k->w / 2, w = frames[0].w;

  counter_window (c, frames, k, 0, y, 1);
  for (int x = 0; x < w; x++) {
    int leaving = CLAMP (x - half, 0, w - 1), entering = CLAMP (x + half + 1, 0, w - 1);

    out[x] = counter_rank (c, (uint32_t) rank_of (k));
    if (x + 1 < w && leaving != entering) {
      counter_column (c, frames, k, leaving, y, (uint32_t) -1);
      counter_column (c, frames, k, entering, y, 1);
    }
  }
  counter_window (c, frames, k, w - 1, y, (uint32_t) -1);
}

/* Computes the result of every window of one component, before the threshold. Packed pixels run in one thread, because
 * their 24-bit counters are large. */
static void
ranks (const KcPlane *frames, const Window *k, int bits, bool sorting, uint32_t *out)
{
  int w = frames[0].w, h = frames[0].h;

#ifdef _OPENMP
#pragma omp parallel if (bits <= 16 && (long) w * h > 4000)
#endif
  {
    Counter counter = sorting ? (Counter) { .levels = 0 } : counter_new (bits);
    g_autofree Lanes *list = sorting ? g_new (Lanes, k->w * k->h * k->depth) : NULL;

#ifdef _OPENMP
#pragma omp for schedule(static)
#endif
    for (int y = 0; y < h; y++) {
      for (int x = 0; sorting && x < w; x += LANES)
        memcpy (out + y * w + x, by_sorting (frames, k, x, y, list), (size_t) MIN (LANES, w - x) * sizeof *out);
      if (!sorting)
        row_by_counting (&counter, frames, k, y, out + y * w);
    }
    counter_free (&counter);
  }
}

static int
distance (uint32_t a, uint32_t b)
{
  return (int) (a > b ? a - b : b - a);
}

static bool
differs_more (uint32_t a, uint32_t b, int threshold)
{
  return distance (a >> 16, b >> 16) > threshold || distance (a >> 8 & 255, b >> 8 & 255) > threshold ||
      distance (a & 255, b & 255) > threshold;
}

/* Returns one component, or the pixels as numbers, red highest; rgb[] is the index of each channel's component. */
static KcPlane
unpack (const CfVideo *video, const CfImage *image, int field, int component, const int *rgb)
{
  KcPlane all = kc_unpack (video, image, rgb ? rgb[0] : component, field);

  for (int i = 1; rgb && i < 3; i++) {
    KcPlane one = kc_unpack (video, image, rgb[i], field);

    for (int p = 0; p < all.w * all.h; p++)
      all.v[p] = all.v[p] << 8 | one.v[p];
    g_free (one.v);
  }
  return all;
}

/* Filters a component or, where `rgb` is set, packed pixels. */
static void
filter_field (const CfVideo *video, const Window *k, const CfImage *const *seen, int n_seen, const CfImage *out,
    int field, int component, const int *rgb)
{
  const int bits = rgb ? 24 : cf_format_info (video->format)->bits;
  KcPlane frames[64] = { 0 }, result = unpack (video, seen[0], field, component, rgb);
  const int n = result.w * result.h;

  for (int s = 0; s < k->depth; s++)
    frames[s] = unpack (video, seen[MIN (s, n_seen - 1)], field, component, rgb);
  ranks (frames, k, bits, k->w * k->h * k->depth <= SORT_MAX, result.v);
  for (int i = 0; i < n; i++)
    if (rgb ? !differs_more (frames[0].v[i], result.v[i], k->threshold)
            : distance (frames[0].v[i], result.v[i]) <= k->threshold)
      result.v[i] = frames[0].v[i];
  for (int c = 0; rgb && c < 3; c++) {
    KcPlane one = kc_unpack (video, seen[0], rgb[c], field);

    for (int i = 0; i < n; i++)
      one.v[i] = result.v[i] >> (16 - 8 * c) & 255;
    kc_pack (video, out, rgb[c], field, &one);
    g_free (one.v);
  }
  if (!rgb)
    kc_pack (video, out, component, field, &result);
  g_free (result.v);
  for (int s = 0; s < k->depth; s++)
    g_free (frames[s].v);
}

static bool
reference (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params,
    const CfImage *const *seen, int n_seen, const CfImage *out)
{
  const CfFormatInfo *info = cf_format_info (video->format);
  Window k = window_of (filter, params);
  int rgb[3] = { 0, 0, 0 };

  if (strcmp (kc_param_name (filter, params, "temporal-method"), "running") == 0) /* for the benchmark */
    return kc_running.reference (filter, video, common, params, seen, n_seen, out);
  kc_rgb_components (info, rgb);
  for (int c = 0; c < info->n_components; c++) {
    if (!kc_is_filtered (info, c, common))
      kc_copy_component (seen[0], out, c);
    for (int f = 0; !k.packed && kc_is_filtered (info, c, common) && f < kc_fields (video); f++)
      filter_field (video, &k, seen, n_seen, out, f, c, NULL);
  }
  for (int f = 0; k.packed && f < kc_fields (video); f++)
    filter_field (video, &k, seen, n_seen, out, f, 0, rgb);
  return true;
}

/* Compares sorting with counting on random planes, and two windows with results found by hand. Returns the number of
 * failures. */
static int
check_reference (void)
{
  static const Window windows[] = {
    { .w = 3, .h = 3, .depth = 1, .percentile = 50 },
    { .w = 1, .h = 9, .depth = 2, .percentile = 10 },
    { .w = 17, .h = 5, .depth = 3, .percentile = 99 },
    { .w = 41, .h = 31, .depth = 1, .percentile = 0 },
    { .w = 7, .h = 7, .depth = 1, .percentile = 100 },
  };
  static const int widths[] = { 8, 10, 16, 24 };
  enum { W = 13, H = 11 };
  uint32_t v[3][W * H], a[W * H], b[W * H], nine[9] = { 9, 1, 8, 2, 7, 3, 6, 4, 5 };
  Lanes list[9];
  KcPlane frames[3] = { { v[0], W, H }, { v[1], W, H }, { v[2], W, H } }, small = { nine, 3, 3 };
  uint64_t state = 1;
  int failures = 0;

  for (int i = 0; i < 4; i++)
    for (size_t k = 0; k < G_N_ELEMENTS (windows); k++) {
      for (int p = 0; p < 3 * W * H; p++)
        v[p / (W * H)][p % (W * H)] = (uint32_t) kc_random (&state) & ((1u << widths[i]) - 1);
      ranks (frames, &windows[k], widths[i], true, a);
      ranks (frames, &windows[k], widths[i], false, b);
      failures += memcmp (a, b, sizeof a) != 0;
    }
  /* the window of the middle has 1..9, that of the corner 9 9 1 9 9 1 2 2 7 */
  failures += by_sorting (&small, &windows[0], 1, 1, list)[0] != 5;
  failures += by_sorting (&small, &windows[0], 0, 0, list)[0] != 7;
  return failures;
}

static const char *const settings[] = { "kernel-size=1", "kernel-size=3", "kernel-size=5", "kernel-size=7",
  "kernel-size=9", "kernel-size=11", "kernel-size=13", "kernel-size=15", "kernel-size=17", "kernel-size=19",
  "kernel-size=21", "kernel-size=23", "kernel-size=31", "kernel-size=33", "kernel-size=63", "kernel-size=101",
  "kernel-size=151", "kernel-size=255", "kernel-width=3 kernel-height=1", "kernel-width=1 kernel-height=3",
  "kernel-width=5 kernel-height=3", "kernel-width=3 kernel-height=7", "kernel-width=9 kernel-height=11",
  "kernel-width=255 kernel-height=1", "kernel-width=1 kernel-height=255", "kernel-width=31 kernel-height=3",
  "kernel-width=13", "kernel-size=3 percentile=0", "kernel-size=3 percentile=100",
  "kernel-size=3 percentile=30 threshold=7", "kernel-size=5 percentile=0", "kernel-size=5 percentile=100",
  "kernel-size=5 percentile=62", "kernel-size=9 percentile=25", "kernel-size=15 percentile=1",
  "kernel-size=15 percentile=99 threshold=2", "kernel-size=31 percentile=0", "kernel-size=31 percentile=100",
  "kernel-size=31 percentile=80", "kernel-size=3 threshold=1", "kernel-size=5 threshold=40",
  "kernel-size=7 threshold=255", "kernel-size=3 threshold=65535", "kernel-size=31 threshold=300", NULL };
static const char *const rgb_settings[] = { "color-order=packed kernel-size=1", "color-order=packed kernel-size=3",
  "color-order=packed kernel-size=5", "color-order=packed kernel-size=9 percentile=20",
  "color-order=packed kernel-size=15 threshold=30", "color-order=packed kernel-size=31",
  "color-order=packed kernel-size=129 percentile=60",
  "color-order=packed kernel-width=7 kernel-height=1 percentile=100",
  "color-order=packed kernel-size=3 temporal-depth=3", NULL };
static const char *const frame_settings[] = { "kernel-size=1 temporal-depth=3", "kernel-size=3 temporal-depth=3",
  "kernel-size=1 temporal-depth=15", "kernel-size=3 temporal-depth=5 percentile=10",
  "kernel-size=5 temporal-depth=3 threshold=20", "kernel-size=9 temporal-depth=3", "kernel-size=31 temporal-depth=3",
  "kernel-size=1 temporal-depth=3 temporal-center=1", "kernel-size=3 temporal-depth=3 temporal-center=1 threshold=5",
  "kernel-size=1 temporal-depth=15 temporal-center=1", "kernel-size=5 temporal-depth=5 temporal-center=1 percentile=30",
  "kernel-size=5 temporal-depth=5", NULL };
static const char *const deep_settings[] = { "kernel-size=1 temporal-depth=63", "kernel-size=1 temporal-depth=17",
  "kernel-size=1 temporal-depth=41 percentile=8 threshold=3",
  "kernel-size=1 temporal-depth=63 temporal-center=1 threshold=3", NULL };
static const char *const ahead_settings[] = { "kernel-size=1 temporal-depth=3 temporal-center=1",
  "kernel-size=1 temporal-depth=5 temporal-center=1 percentile=20 threshold=30",
  "kernel-size=1 temporal-depth=63 temporal-center=1", "kernel-size=3 temporal-depth=5 temporal-center=1",
  "color-order=packed kernel-size=1 temporal-depth=15 temporal-center=1 threshold=90",
  "kernel-width=5 kernel-height=9 temporal-depth=3 temporal-center=1 percentile=80 threshold=3",
  "temporal-depth=1 temporal-center=1", NULL };
static const char *const large_settings[] = { "kernel-size=3", "kernel-size=5", "kernel-size=7", "kernel-size=11",
  "kernel-size=15", "kernel-size=21", "kernel-size=31", "kernel-size=101 percentile=40", NULL };
static const char *const bad_settings[] = { "kernel-size=4", "kernel-size=0", "kernel-size=257", "kernel-width=2",
  "kernel-height=-1", "percentile=101", "percentile=-1", "threshold=65536", "threshold=-1", "temporal-depth=2",
  "temporal-depth=17", "kernel-size=1 temporal-depth=65", "kernel-size=1 temporal-depth=62",
  "kernel-width=1 kernel-height=3 temporal-depth=17", "color-order=7", NULL };

static const KcBench bench[] = {
  { "", "kernel-size=%d", "3,5,7,9,11,13,15,31,51,101,127,255", "median", .word_sizes = "7,15,31,101" },
  { "noise", "kernel-size=%d", "31", .content = "noise" },
  { "even", "kernel-size=%d", "31", .content = "even" },
  { "rows", "kernel-size=%d", "31", .content = "rows", .word_sizes = "" },
  { "ramp", "kernel-size=%d", "31", .content = "ramp", .word_sizes = "" },
  { "camera", "kernel-size=%d", "31,101", .content = "camera", .word_sizes = "" },
  { "running", "kernel-size=%d temporal-method=running output=mask", "1", .word_sizes = "" },
  { 0 },
};

/* Of the window method alone; reference/running.c tests the other one. */
static void
random_setting (GString *text, uint64_t *state)
{
  static const char *const names[] = { "kernel-size", "kernel-width", "kernel-height", "temporal-depth" };

  for (size_t i = 0; i < G_N_ELEMENTS (names); i++) {
    const bool is_side = i < 3;
    const double u = kc_random_double (state);
    const int how = (int) (kc_random (state) % 8), value = (int) ((how == 0 ? u : u * u * u) * (is_side ? 127 : 7));

    if (how < 5)
      g_string_append_printf (text, "%s=%d ", names[i], 2 * value + 1);
  }
  if (kc_random (state) % 2)
    g_string_append_printf (text, "percentile=%d ", (int) (kc_random (state) % 101));
  if (kc_random (state) % 2)
    g_string_append_printf (text, "threshold=%d ", (int) (pow (kc_random_double (state), 3) * 65535));
  g_string_append_printf (text, "color-order=%d", kc_random (state) % 4 == 0);
  if (kc_random (state) % 4 == 0)
    g_string_append (text, " temporal-center=1");
}

const KcFilter kc_median = {
  .stem = "median",
  .reference = reference,
  .ahead = ahead,
  .check_reference = check_reference,
  .random_setting = random_setting,
  .settings = settings,
  .rgb_settings = rgb_settings,
  .frame_settings = frame_settings,
  .deep_settings = deep_settings,
  .ahead_settings = ahead_settings,
  .large_settings = large_settings,
  .bad_settings = bad_settings,
  .right = "kernel-size=3 percentile=50", /* rank 4 of 9 */
  .wrong = "kernel-size=3 percentile=62", /* rank 5 of 9 */
  .bench = bench,
  .bench_formats = "GRAY8,GRAY16_LE,P010_10LE",
};
