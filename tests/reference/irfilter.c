/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter.c: the recursive filter straight from its contract (cuda/irfilter/irfilter.h): each window is copied in its
 * quadrant's direction, with what lies outside beside it, and then filtered row by row, sample by sample. */
#include "irfilter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TINY 0x1p-60f
#define PAD (REF_IR_SIDE - 1)

/* ---- one window --------------------------------------------------------- */

/* Sample (n1, n2), counted from the near edges, is at[n1 * row + n2 * column]. */
typedef struct {
  const float *at;
  ptrdiff_t row, column; /* steps in floats */
  int w, h;
  bool zero_top, zero_left;
} Window;

static float
input (const Window *win, int n1, int n2)
{
  if ((win->zero_top && n1 < 0) || (win->zero_left && n2 < 0))
    return 0;
  return win->at[(n1 < 0 ? 0 : n1) * win->row + (n2 < 0 ? 0 : n2) * win->column];
}

/* Input and output of a window, with PAD rows above and PAD columns to the left. */
typedef struct {
  float *x, *y;
  int pitch;
} Planes;

static size_t
index_of (const Planes *p, int n1, int n2)
{
  return (size_t) (n1 + PAD) * (size_t) p->pitch + (size_t) (n2 + PAD);
}

/* Computes the state outside one edge, `above` or to the left: along[n] for n >= 0; before that it is the corner. */
static void
settle_edge (const Planes *p, int m, int n, bool above, const float *a, const float *b, float corner, float *along)
{
  for (int i = 0; i < n; i++) {
    float acc = TINY;

    for (int j = 0; j < m; j++)
      acc = fmaf (a[j], p->x[above ? index_of (p, 0, i - j) : index_of (p, i - j, 0)], acc);
    for (int j = m - 1; j >= 1; j--)
      acc = fmaf (b[j], i - j < 0 ? corner : along[i - j], acc);
    along[i] = acc;
  }
}

static void
fill_outside (const Planes *p, const Window *win, int m, const RefIrSet *set, float *along)
{
  static const float none[REF_IR_SIDE];
  float corner = win->zero_top || win->zero_left ? 0 : set->corner * p->x[index_of (p, 0, 0)];

  for (int n1 = -PAD; n1 < 0; n1++)
    for (int n2 = -PAD; n2 < 0; n2++)
      p->y[index_of (p, n1, n2)] = corner;
  settle_edge (p, m, win->w, true, win->zero_top ? none : set->top_a, win->zero_top ? none : set->top_b, corner, along);
  for (int n1 = -PAD; n1 < 0; n1++)
    for (int n2 = 0; n2 < win->w; n2++)
      p->y[index_of (p, n1, n2)] = along[n2];
  settle_edge (p, m, win->h, false, win->zero_left ? none : set->left_a, win->zero_left ? none : set->left_b, corner,
      along);
  for (int n1 = 0; n1 < win->h; n1++)
    for (int n2 = -PAD; n2 < 0; n2++)
      p->y[index_of (p, n1, n2)] = along[n1];
}

/* Two clones give the same numbers, one without a call of fmaf () for each: whole frames take seconds. */
#ifdef __x86_64__
__attribute__ ((target_clones ("fma", "default")))
#endif
static void
walk (const Planes *p, int m, const RefIrSet *set, int w, int h)
{
  for (int n1 = 0; n1 < h; n1++)
    for (int n2 = 0; n2 < w; n2++) {
      float acc = TINY;

      for (int k = 0; k < m; k++)
        for (int l = 0; l < m; l++)
          acc = fmaf (set->a[k][l], p->x[index_of (p, n1 - k, n2 - l)], acc);
      for (int k = m - 1; k >= 1; k--)
        for (int l = m - 1; l >= 0; l--)
          acc = fmaf (set->b[k][l], p->y[index_of (p, n1 - k, n2 - l)], acc);
      for (int l = m - 1; l >= 1; l--)
        acc = fmaf (set->b[0][l], p->y[index_of (p, n1, n2 - l)], acc);
      p->y[index_of (p, n1, n2)] = acc;
    }
}

/* The caller frees p->x and p->y. */
static void
filter_window (const Window *win, int m, const RefIrSet *set, Planes *p)
{
  const int n = (win->w + PAD) * (win->h + PAD);
  g_autofree float *along = g_new (float, MAX (win->w, win->h));

  *p = (Planes) { g_new (float, n), g_new (float, n), win->w + PAD };
  for (int n1 = -PAD; n1 < win->h; n1++)
    for (int n2 = -PAD; n2 < win->w; n2++)
      p->x[index_of (p, n1, n2)] = input (win, n1, n2);
  fill_outside (p, win, m, set, along);
  walk (p, m, set, win->w, win->h);
}

/* ---- one pass ----------------------------------------------------------- */

typedef struct {
  const float *x;
  int w, h;
  bool zero;
} Plane;

/* One side of a core and its window. */
typedef struct {
  int core, core_end, window, window_end;
  bool inner; /* the near edge lies inside the plane */
} Span;

static int
cores (int n, int margin)
{
  return CLAMP (n / (2 * margin), 1, 4);
}

static Span
span (int n, int margin, int i, bool backwards)
{
  int c = cores (n, margin);
  Span s = { .core = i * n / c, .core_end = (i + 1) * n / c };

  s.window = backwards ? s.core : MAX (s.core - margin, 0);
  s.window_end = backwards ? MIN (s.core_end + margin, n) : s.core_end;
  s.inner = backwards ? s.window_end < n : s.window > 0;
  return s;
}

/* Filters core (i, j) of a quadrant into y, a plane like x. */
static void
filter_core (const Plane *in, const RefIrPass *pass, int q, int i, int j, float *y)
{
  bool left = q & 1, up = q & 2;
  Span sx = span (in->w, pass->warmup_margin, i, left), sy = span (in->h, pass->warmup_margin, j, up);
  int x0 = left ? sx.window_end - 1 : sx.window, y0 = up ? sy.window_end - 1 : sy.window;
  Window win = {
    .at = in->x + (ptrdiff_t) y0 * in->w + x0,
    .row = up ? -in->w : in->w,
    .column = left ? -1 : 1,
    .w = sx.window_end - sx.window,
    .h = sy.window_end - sy.window,
    .zero_top = in->zero && !sy.inner,
    .zero_left = in->zero && !sx.inner,
  };
  Planes p;

  filter_window (&win, pass->m, &pass->set[q], &p);
  for (int row = sy.core; row < sy.core_end; row++)
    for (int column = sx.core; column < sx.core_end; column++)
      y[row * in->w + column] = p.y[index_of (&p, up ? y0 - row : row - y0, left ? x0 - column : column - x0)];
  g_free (p.x);
  g_free (p.y);
}

/* Filters `in` to r; y has room for all quadrants. */
static void
filter_pass (const Plane *in, const RefIrPass *pass, float offset, float *y, float *r)
{
  size_t n = (size_t) in->w * (size_t) in->h;
  int nx = cores (in->w, pass->warmup_margin), ny = cores (in->h, pass->warmup_margin);

#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) if (n > 20000)
#endif
  for (int i = 0; i < REF_IR_QUADRANTS * nx * ny; i++) {
    int q = i / (nx * ny), core = i % (nx * ny);

    if (pass->set[q].used)
      filter_core (in, pass, q, core % nx, core / nx, y + (size_t) q * n);
  }
  for (size_t i = 0; i < n; i++) {
    r[i] = fmaf (pass->through, in->x[i], offset);
    for (int q = 0; q < REF_IR_QUADRANTS; q++)
      if (pass->set[q].used)
        r[i] += y[(size_t) q * n + i];
  }
}

static void
filter_plane (const RefIrSetting *s, const RefIrDesign *d, bool chroma, int bits, KcPlane *plane)
{
  const int n = plane->w * plane->h, max = (1 << bits) - 1;
  g_autofree float *x = g_new (float, n), *r = g_new (float, n), *y = g_new (float, n *REF_IR_QUADRANTS);

  if (n == 0) /* the second field of a frame of one row */
    return;
  if (d->by_lines) {
    ref_ir_filter_lines (s, chroma, bits, plane);
    return;
  }
  for (int i = 0; i < n; i++)
    x[i] = (float) ((int) plane->v[i] - (chroma ? 1 << (bits - 1) : 0));
  for (int i = 0; i < d->n; i++) {
    Plane in = { x, plane->w, plane->h, d->zero };

    filter_pass (&in, &d->pass[i], chroma ? d->pass[i].chroma_offset : d->pass[i].luma_offset, y, r);
    memcpy (x, r, sizeof *x * (size_t) n);
  }
  for (int i = 0; i < n; i++)
    plane->v[i] = isnan (x[i]) ? 0 : (uint32_t) rintf (fminf (fmaxf (x[i], 0), (float) max));
}

/* ---- frames ------------------------------------------------------------- */

static RefIrSetting
setting_of (const CfFilter *filter, const void *params)
{
  return (RefIrSetting) {
    .preset = kc_param_name (filter, params, "preset"),
    .numerator = kc_param_text (filter, params, "numerator"),
    .denominator = kc_param_text (filter, params, "denominator"),
    .file = kc_param_text (filter, params, "file-text"),
    .sigma = kc_param_double (filter, params, "sigma"),
    .amount = kc_param_double (filter, params, "amount"),
    .length = kc_param_int (filter, params, "length", 9),
    .angle = kc_param_int (filter, params, "angle", 0),
    .quadrants = (unsigned) kc_param_int (filter, params, "quadrants", 15),
    .zero = strcmp (kc_param_name (filter, params, "border"), "zero") == 0,
    .auto_method = strcmp (kc_param_name (filter, params, "method"), "auto") == 0,
  };
}

static bool
reference (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params,
    const CfImage *const *frames, int n_frames, const CfImage *out)
{
  const CfFormatInfo *info = cf_format_info (video->format);
  g_autofree RefIrDesign *d = g_new (RefIrDesign, 1);
  RefIrSetting s = setting_of (filter, params);

  (void) n_frames;
  if (!ref_ir_design (&s, info->bits, d))
    return false;
  for (int c = 0; c < info->n_components; c++) {
    bool filtered = kc_is_filtered (info, c, common);

    if (!filtered)
      kc_copy_component (frames[0], out, c);
    for (int f = 0; filtered && f < kc_fields (video); f++) {
      KcPlane plane = kc_unpack (video, frames[0], c, f);

      filter_plane (&s, d, info->comp[c].role == CF_ROLE_CHROMA, info->bits, &plane);
      kc_pack (video, out, c, f, &plane);
      g_free (plane.v);
    }
  }
  return true;
}

/* The parameter pole-radius has to be the same, too. */
static bool
accepts (const CfFilter *filter, const CfVideo *video, const void *params)
{
  g_autofree RefIrDesign *d = g_new (RefIrDesign, 1);
  RefIrSetting s = setting_of (filter, params);
  bool good = ref_ir_design (&s, cf_format_info (video->format)->bits, d);
  double radius = kc_param_double (filter, params, "pole-radius");

  if (good && fabs (radius - d->radius) > 1e-7) {
    printf ("pole radius %.12g instead of %.12g\n", radius, d->radius);
    good = false;
  }
  return good;
}

/* ---- the reference itself, by hand -------------------------------------- */

/* Filters a plane of 16 bits with a setting's words. Returns false if they are refused. `whole`: one core. */
static bool
filter_words (const char *words, unsigned quadrants, bool zero, bool whole, KcPlane *plane)
{
  g_autofree char *text = ref_ir_expand (words);
  g_autofree RefIrDesign *d = g_new (RefIrDesign, 1);
  char *denominator = strstr (text, " denominator=");
  RefIrSetting s = { .preset = "custom",
    .quadrants = quadrants,
    .zero = zero,
    .numerator = text + strlen ("numerator="),
    .denominator = denominator + strlen (" denominator=") };

  *denominator = '\0';
  if (!ref_ir_design (&s, 16, d))
    return false;
  d->pass[0].warmup_margin = whole ? 16384 : d->pass[0].warmup_margin;
  filter_plane (&s, d, false, 16, plane);
  return true;
}

/* Filters a row or a column of 8-bit samples. Returns 0 if the result is the expected one. */
static int
check_line (const char *what, RefIrSetting s, bool down, int n, const uint32_t *in, const uint32_t *expected)
{
  g_autofree uint32_t *v = g_memdup2 (in, sizeof *in * (size_t) n);
  g_autofree RefIrDesign *d = g_new (RefIrDesign, 1);
  KcPlane plane = { v, down ? 1 : n, down ? n : 1 };
  bool good = ref_ir_design (&s, 8, d);

  if (good)
    filter_plane (&s, d, false, 8, &plane);
  return kc_wrong_samples (what, good, v, expected, n);
}

#define ROW(...) ((const uint32_t[]) { __VA_ARGS__ })

static int
check_lines (void)
{
  RefIrSetting s = { .preset = "custom", .zero = true };
  int failures = 0;

  /* An echo that halves with each sample: along a row, down a column. */
  for (unsigned q = 0; q < REF_IR_QUADRANTS; q++)
    for (int down = 0; down < 2; down++) {
      const uint32_t *expected = q & (down ? 2 : 1) ? ROW (10, 4, 8, 16) : ROW (8, 4, 2, 17);

      s.quadrants = 1u << q;
      s.denominator = down ? "0,0;0.5,0" : "0,0.5;0,0";
      failures += check_line ("an echo", s, down, 4, ROW (8, 0, 0, 16), expected);
      failures += check_line ("an echo across", s, !down, 4, ROW (8, 0, 0, 16), ROW (8, 0, 0, 16));
    }
  /* The same after an endless run of 16, which has settled at 32: 16 + 16, 0 + 16, ... Then the taps of x:
   * x[n] + 0.5 x[n - 1]; halves to even. */
  s.quadrants = 1, s.zero = false, s.denominator = "0,0.5;0,0";
  failures += check_line ("a settled echo", s, false, 5, ROW (16, 0, 0, 0, 0), ROW (32, 16, 8, 4, 2));
  s.denominator = NULL, s.numerator = "1,0.5;0,0";
  failures += check_line ("two taps", s, false, 5, ROW (4, 1, 2, 1, 200), ROW (6, 3, 2, 2, 200));
  s.numerator = "-1";
  failures += check_line ("below black", s, false, 2, ROW (4, 1), ROW (0, 0));
  s = (RefIrSetting) { .preset = "smooth", .sigma = 3, .quadrants = 15 };
  failures += check_line ("smooth and flat", s, false, 4, ROW (77, 77, 77, 77), ROW (77, 77, 77, 77));
  s.preset = "soft", s.sigma = 50;
  failures += check_line ("soft and flat", s, true, 4, ROW (200, 200, 200, 200), ROW (200, 200, 200, 200));
  s.preset = "highpass", s.amount = 3;
  failures += check_line ("highpass and flat", s, false, 2, ROW (7, 7), ROW (128, 128));
  s.auto_method = true;
  failures += check_line ("highpass and flat, along lines", s, false, 2, ROW (7, 7), ROW (128, 128));
  s.preset = "soft";
  failures += check_line ("soft and flat, along lines", s, true, 4, ROW (200, 200, 200, 200), ROW (200, 200, 200, 200));
  /* With sigma 2 nu is 1/2: a third of the spot, and half of that for each sample further. */
  s.preset = "smooth", s.sigma = 2;
  failures += check_line ("a spot along a line", s, true, 5, ROW (0, 0, 0, 240, 0), ROW (10, 20, 40, 80, 40));
  s.zero = true; /* across the line as well */
  failures += check_line ("a spot in the dark", s, true, 2, ROW (180, 0), ROW (20, 10));
  s.preset = "highpass", s.amount = 2, s.zero = false;
  failures += check_line ("highpass of a spot", s, false, 5, ROW (0, 0, 60, 0, 0), ROW (118, 108, 208, 108, 118));
  return failures;
}

/* Radii that are known exactly: of products of two axes, of a pair of poles of radius sqrt 0.72, and of
 * 1 - p z1 - q z2, which is |p| + |q|. */
static int
check_radii (void)
{
  static const struct {
    double b01, b02, b10, b11, radius;
  } known[] = {
    { 0, 0, 0, 0, 0 },
    { 0.9, 0, 0, 0, 0.9 },
    { 0, 0, -0.8, 0, 0.8 },
    { 0.75, 0, 0.5, -0.375, 0.75 },
    { 0.5, 0, -0.75, 0.375, 0.75 },
    { 1.2, -0.72, 0, 0, 0.848528137423857 },
    { 0.3, 0, 0.4, 0, 0.7 },
    { 0.5, 0, 0.5, 0, 1 },
    { -0.625, 0, 0.5, 0, 1.125 },
    { 2, 0, 0, 0, 2 },
    { 0, 0.25, 0, 0, 0.5 },
    /* 1 - b z1 z2, a root on the diagonal. */
    { 0, 0, 0, 0.81, 0.9 },
  };
  int failures = 0;

  for (size_t i = 0; i < G_N_ELEMENTS (known); i++) {
    double b[REF_IR_SIDE][REF_IR_SIDE] = { { 0, known[i].b01, known[i].b02 }, { known[i].b10, known[i].b11 } };
    double radius = ref_ir_pole_radius (3, b);

    if (fabs (radius - known[i].radius) > 1e-9) {
      printf ("the reference's pole radius %zu: %.12g instead of %.12g\n", i, radius, known[i].radius);
      failures++;
    }
  }
  return failures;
}

/* Compares a small plane with the same samples inside a large plane that extends its edges: the results have to be
 * equal. `cut`: the small plane is divided into cores. */
static int
check_edges (const char *words, unsigned quadrants, bool cut)
{
  enum { W = 47, H = 33, AROUND = 150, WIDE = W + 2 * AROUND, HIGH = H + 2 * AROUND };
  static uint32_t small[W * H], large[WIDE * HIGH];
  KcPlane plane = { small, W, H }, padded = { large, WIDE, HIGH };
  uint64_t state = 5;
  double worst = 0;
  bool good;

  for (int i = 0; i < W * H; i++)
    small[i] = (uint32_t) (kc_random (&state) % 65536);
  for (int i = 0; i < WIDE * HIGH; i++) {
    int x = i % WIDE - AROUND, y = i / WIDE - AROUND;

    large[i] = small[CLAMP (y, 0, H - 1) * W + CLAMP (x, 0, W - 1)];
  }
  good = filter_words (words, quadrants, false, !cut, &plane) && filter_words (words, quadrants, true, true, &padded);
  for (int i = 0; i < W * H; i++) {
    double d = fabs ((double) small[i] - large[(i / W + AROUND) * WIDE + i % W + AROUND]);

    if (d > worst) /* fmax crashes gcc 12 for aarch64 */
      worst = d;
  }
  if (!good || worst > 1)
    printf ("the reference's edges with %s: %.0f of 65535 off\n", words, worst);
  return !good || worst > 1;
}

static int
check_reference (void)
{
  int failures = check_lines () + check_radii ();

  for (unsigned q = 0; q < REF_IR_QUADRANTS; q++) {
    failures += check_edges ("poles=3 radius=0.8", 1u << q, false);
    failures += check_edges ("poles=8 radius=0.7 seed=2", 1u << q, false);
    /* Short responses, so that the plane is divided into several cores. */
    failures += check_edges ("poles=2 radius=0.15 seed=3", 1u << q, true);
    failures += check_edges ("poles=5 radius=0.1 seed=4", 1u << q, true);
  }
  failures += check_edges ("poles=3 radius=0.75 seed=5", 15, false);
  return failures;
}

/* Several strips of columns and chunks of rows, complete ones and one sample more or less; frames with cores of many
 * sizes. */
static const int more_sizes[][2] = { { 95, 40 }, { 97, 41 }, { 161, 23 }, { 256, 33 }, { 258, 64 }, { 385, 19 },
  { 511, 37 }, { 515, 12 }, { 641, 130 }, { 130, 259 }, { 1025, 5 }, { 7, 700 }, { 1, 300 }, { 33, 192 }, { 2049, 2 },
  { 320, 240 },
  /* Lines: more columns than one block of rows has threads, more rows than a block of columns; the tallest. */
  { 4097, 3 }, { 9300, 2 }, { 3, 2320 }, { 18, 4650 }, { 5, 9300 }, { 2, 16384 }, { 16384, 1 }, { 0 } };

#define BENCH_SIDES "3,5,8"

static const KcBench bench[] = { { "smooth sigma", "preset=smooth sigma=%d", "3,200", NULL, NULL },
  { "soft sigma", "preset=soft sigma=%d", "3,200", NULL, NULL },
  { "highpass sigma", "preset=highpass sigma=%d amount=1.5", "40", NULL, NULL },
  { "sharpen sigma", "preset=sharpen sigma=%d amount=1.5", "3", NULL, NULL },
  { "smooth, by quadrants, sigma", "preset=smooth sigma=%d method=quadrants", "3", NULL, NULL },
  { "one core m", "poles=%d radius=0.99", BENCH_SIDES, NULL, "1,8" },
  { "16 cores m", "poles=%d radius=0.87", BENCH_SIDES, NULL, NULL }, { 0 } };

const KcFilter kc_irfilter = {
  .stem = "irfilter",
  .reference = reference,
  .check_reference = check_reference,
  .accepts = accepts,
  .random_setting = ref_ir_random,
  .expand = ref_ir_expand,
  .settings = ref_ir_settings,
  .format_settings = ref_ir_format_settings,
  .sanitize_settings = ref_ir_sanitize_settings,
  .large_settings = ref_ir_large_settings,
  .more_sizes = more_sizes,
  .bad_settings = ref_ir_bad_settings,
  .right = "sets=3 radius=0.5",
  .wrong = "sets=3 radius=0.5 through=0.01",
  .bench = bench,
  .bench_formats = "GRAY8,RGBA",
};
