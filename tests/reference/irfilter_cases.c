/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter_cases.c: the settings with which the recursive filter is tested. */
#define _GNU_SOURCE
#include "irfilter.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A setting may describe coefficients by a few words instead of numbers:
 *   poles=M       numerator and denominator, M x M
 *   sets=M        a file with other coefficients for each quadrant
 *   equal=M       numerator and denominator, all poles of both axes near R, as far apart as rounding to float
 *                 separates them: the response of M - 1 such poles decays later than that of one, so that what lies
 *                 outside a core's window is visible in 16 bits. (Not R = 0.5, where nothing is rounded: the radius of
 *                 six exactly equal poles cannot be computed to nine digits.)
 *   radius=R (0.7)  the largest pole radius, exactly; from 1 on it is unstable
 *   mix=X (0.1)   how far the denominator is from a product of two axes
 *   seed=N (1)    other coefficients
 *   use=QUADRANTS (se+sw+ne+nw)  quadrants in the file
 *   through=P, offset=O (0)      in the file
 *   json=TEXT     a file with this text
 * ref_ir_expand replaces them by parameters. The pole radius decides into how many cores a plane is divided: the
 * warm-up margin is 8 samples for a radius of 0.1, 24 for 0.5, 120 for 0.87. */
const char *const ref_ir_settings[] = {
  /* The first six are tested with every format. */
  "preset=soft", "sets=3 radius=0.3", "preset=highpass sigma=2 amount=1.5", "poles=5 radius=0.6 border=zero",
  "sets=2 radius=0.9 through=0.5 offset=20 use=se+nw", "equal=5 radius=0.2 border=zero",
  /* Presets along lines. */
  "preset=smooth sigma=0.1", "preset=smooth sigma=0.5 border=zero", "preset=smooth sigma=20",
  "preset=smooth sigma=200 border=zero", "preset=soft sigma=0.2", "preset=soft sigma=1.5 border=zero",
  "preset=soft sigma=4", "preset=soft sigma=60", "preset=soft sigma=200 border=zero",
  "preset=highpass sigma=0.7 amount=10 border=zero", "preset=highpass sigma=30 amount=0.3", "preset=sharpen",
  "preset=sharpen sigma=0.8 amount=4 border=zero", "preset=sharpen sigma=11 amount=0.01", "preset=sharpen amount=0",
  "preset=sharpen sigma=0.1 amount=10", "preset=highpass amount=0",
  /* The same presets by quadrants. */
  "preset=smooth sigma=1 quadrants=se", "preset=smooth sigma=7.77 quadrants=sw+ne+nw",
  "preset=soft sigma=2 quadrants=ne+sw", "preset=smooth sigma=0.1 method=quadrants",
  "preset=smooth sigma=200 border=zero method=quadrants", "preset=soft sigma=0.2 method=quadrants",
  "preset=soft sigma=1.5 border=zero method=quadrants", "preset=soft sigma=60 method=quadrants",
  "preset=highpass sigma=0.7 amount=10 border=zero method=quadrants", "preset=sharpen method=quadrants",
  "preset=highpass amount=0 method=quadrants",
  /* Every side of a window; from short responses to endless ones. */
  "poles=1", "poles=2 radius=0.1", "poles=2 radius=0.5", "poles=2 radius=0.99", "poles=3 radius=0.05",
  "poles=3 radius=0.45 border=zero", "poles=3 radius=0.999", "poles=4 radius=0.2", "poles=4 radius=0.8 border=zero",
  "poles=5 radius=0.15", "poles=5 radius=0.97", "poles=6 radius=0.3 border=zero", "poles=6 radius=0.9",
  "poles=7 radius=0.4", "poles=8 radius=0.1", "poles=8 radius=0.5 border=zero", "poles=8 radius=0.95",
  "equal=4 radius=0.47 border=zero", "equal=5 radius=0.3", "equal=5 radius=0.47", "equal=5 radius=0.3 border=zero",
  "equal=3 radius=0.13 border=zero quadrants=se+nw", "equal=5 radius=0.2 border=zero quadrants=sw+ne",
  /* Each quadrant with its own coefficients. */
  "sets=1 through=0.25", "sets=2 radius=0.3 border=zero", "sets=3 radius=0.8", "sets=4 radius=0.1",
  "sets=4 radius=0.7 border=zero", "sets=5 radius=0.35", "sets=5 radius=0.98 offset=-3.5", "sets=8 radius=0.25",
  "sets=8 radius=0.85 border=zero through=-1 offset=300", "sets=3 radius=0.4 use=ne", "sets=5 radius=0.2 use=sw",
  "sets=2 radius=0.6 use=se+ne border=zero", "sets=3 radius=0.5 quadrants=nw", "sets=8 radius=0.3 use=sw+nw+ne",
  /* Coefficients as text. */
  "numerator=0.0625,0.125;0.125,0.25", "numerator=0.25", "numerator=-1,2,-1;2,-4,2;-1,2,0.5 border=zero",
  "numerator=0.01 denominator=0,0.9;0.9,-0.81", "denominator=0,0.5;0,0 quadrants=se",
  "denominator=0,0,0;0,0,0;0.6,0,0 numerator=0.1", "numerator=0.05,0.01;0.01,0 denominator=0,0.45;0.45,0.05",
  "numerator=0.2 denominator=0", "json={\"m\":1,\"nw\":{\"a\":[[0.75]]}}", NULL
};

/* Along lines, with every format. */
const char *const ref_ir_format_settings[] = { "preset=smooth", "preset=soft sigma=2 border=zero",
  "preset=sharpen sigma=1.2 amount=1.5", NULL };

/* For whole frames. */
const char *const ref_ir_large_settings[] = { "preset=smooth", "sets=3 radius=0.87", "preset=smooth sigma=50",
  "sets=3 radius=0.99", "preset=soft sigma=10", "sets=2 radius=0.5 border=zero", "preset=highpass sigma=40 amount=1.5",
  "sets=5 radius=0.93", "preset=soft sigma=10 method=quadrants", "sets=8 radius=0.8", NULL };

/* For runs under a sanitizer: each side of a window, with one core and with several. */
const char *const ref_ir_sanitize_settings[] = { "preset=smooth sigma=10", "preset=smooth sigma=0.5 border=zero",
  "preset=soft sigma=1", "preset=sharpen", "preset=smooth sigma=10 method=quadrants",
  "preset=soft sigma=1 border=zero method=quadrants", "sets=2 radius=0.1", "sets=3 radius=0.9",
  "sets=3 radius=0.05 border=zero", "sets=4 radius=0.6", "sets=5 radius=0.1", "sets=5 radius=0.8 border=zero",
  "sets=8 radius=0.95", "sets=8 radius=0.05", "poles=3 radius=0.3 quadrants=nw", "sets=1 through=0.25 use=se", NULL };

const char *const ref_ir_bad_settings[] = { "sigma=0.09", "sigma=201", "sigma=nan", "amount=-0.1", "amount=10.5",
  "amount=inf", "preset=custom", "preset=99", "border=2", "method=2", "quadrants=", "preset=motion-deblur angle=30",
  "preset=motion-deblur length=2", "length=16", "preset=deblur sigma=0.49", "preset=deblur sigma=3.01",
  "preset=motion-deblur angle=180", "numerator=", "numerator=;", "numerator=1,2;3", "numerator=1,2", "numerator=1;2",
  "numerator=x", "numerator=nan", "numerator=1e7", "numerator=-1000001", "numerator=1,2,3,4,5,6,7,8,9",
  "denominator=", "denominator=0,0.5", "denominator=1", "denominator=0.1,0;0,0", "denominator=0,inf;0,0",
  "denominator=0,10001;0,0",
  /* Unstable; 0.5 and 0.5 are on the circle itself. */
  "denominator=0,0.5;0.5,0", "denominator=0,1;0,0", "denominator=0,0;-1,0", "denominator=0,0.9;0.9,0.9",
  "denominator=0,0.6;-0.6,0", "denominator=0,0,-1.01;0,0,0;0,0,0", "poles=2 radius=1.001", "poles=3 radius=1.0001",
  "poles=4 radius=1.01", "poles=5 radius=1.1", "poles=8 radius=1.001", "poles=8 radius=1.5", "sets=3 radius=1.001",
  "sets=5 radius=1.2 use=nw", "sets=3 use=nw quadrants=se+sw", "coefficients=/nonexistent/coefficients.json",
  "coefficients=/", "json=", "json=7", "json={}", "json={\"m\":2}", "json={\"m\":9,\"se\":{\"a\":[[1]],\"b\":[[0]]}}",
  "json={\"m\":1,\"se\":{\"b\":[[0]]}}", "json={\"m\":1,\"se\":{\"a\":[[1]],\"b\":[[0.5]]}}",
  "json={\"m\":2,\"se\":{\"a\":[[1]],\"b\":[[0]]}}", "json={\"m\":1,\"se\":{\"a\":[[1e7]],\"b\":[[0]]}}",
  "json={\"m\":1,\"se\":{\"a\":[[\"x\"]],\"b\":[[0]]}}", "json={\"m\":1,\"se\":{\"a\":[[1]],\"b\":[[0]]}", NULL };

/* ---- random ------------------------------------------------------------- */

static double
random_between (double from, double to, uint64_t *state)
{
  return from + (to - from) * kc_random_double (state);
}

static const char *
random_quadrants (uint64_t *state)
{
  static const char *const some[] = { "se+sw+ne+nw", "se+sw+ne+nw", "se+sw+ne+nw", "se", "sw", "ne", "nw", "se+nw",
    "sw+ne", "sw+nw", "se+sw+ne", "sw+ne+nw" };

  return some[kc_random (state) % 12];
}

void
ref_ir_random (GString *text, uint64_t *state)
{
  static const char *const presets[] = { "smooth", "soft", "highpass", "sharpen" };
  double radius = kc_random (state) % 10 == 0 ? random_between (0.9, 1.1, state) : random_between (0.02, 0.99, state);

  g_string_append_printf (text, "border=%s quadrants=%s", kc_random (state) % 2 ? "replicate" : "zero",
      random_quadrants (state));
  if (kc_random (state) % 4 == 0)
    g_string_append_printf (text, " method=%s preset=%s sigma=%.17g amount=%.17g",
        kc_random (state) % 3 ? "auto" : "quadrants", presets[kc_random (state) % 4],
        pow (10, random_between (-1, 2.3, state)), kc_random (state) % 2 ? 1 : random_between (0, 10, state));
  else if (kc_random (state) % 2)
    g_string_append_printf (text, " poles=%d radius=%.6f mix=%.3f seed=%d", (int) (1 + kc_random (state) % 8), radius,
        kc_random_double (state), (int) (kc_random (state) % 1000000));
  else
    g_string_append_printf (text, " sets=%d radius=%.6f mix=%.3f seed=%d use=%s through=%.4g offset=%.4g",
        (int) (1 + kc_random (state) % 8), radius, kc_random_double (state), (int) (kc_random (state) % 1000000),
        random_quadrants (state), random_between (-1, 1, state), random_between (-50, 50, state));
}

/* ---- coefficients from a few words -------------------------------------- */

typedef struct {
  int m;
  bool file, equal;
  double radius, mix, through, offset;
  uint64_t seed;
  const char *json;
  char use[32];
} Shape;

/* Fills c with a random polynomial 1 + c[1] z + ...: real roots and pairs, of radius 0.1 to 1. */
static void
random_axis (int m, double c[REF_IR_SIDE], uint64_t *state)
{
  memset (c, 0, REF_IR_SIDE * sizeof *c);
  c[0] = 1;
  for (int n = 1; n < m;) {
    bool pair = n + 1 < m && kc_random (state) % 2;
    double r = random_between (0.1, 1, state),
           p = pair             ? -2 * r * cos (random_between (0, 3.14, state))
        : kc_random (state) % 2 ? r
                                : -r;

    for (int i = REF_IR_SIDE - 1; i > 0; i--)
      c[i] += p * c[i - 1] + (pair && i > 1 ? r * r * c[i - 2] : 0);
    n += pair ? 2 : 1;
  }
}

/* Fills t->b: a product of two axes, perturbed by `mix`, and scaled by powers of the radius so that the pole radius is
 * s->radius. */
static void
random_denominator (const Shape *s, RefIrTaps *t, uint64_t *state)
{
  double row[REF_IR_SIDE], column[REF_IR_SIDE], radius;

  random_axis (s->m, row, state);
  random_axis (s->m, column, state);
  for (int k = 0; k < s->m; k++)
    for (int l = 0; l < s->m; l++)
      t->b[k][l] = k + l == 0 ? 0 : -column[k] * row[l] * (1 + s->mix * random_between (-1, 1, state));
  radius = ref_ir_pole_radius (s->m, t->b);
  for (int k = 0; k < s->m; k++)
    for (int l = 0; l < s->m; l++)
      t->b[k][l] = radius > 0 ? (float) (t->b[k][l] * pow (s->radius / radius, k + l)) : 0;
}

static void
equal_poles (const Shape *s, RefIrTaps *t)
{
  double c[REF_IR_SIDE] = { 1 };

  for (int n = 1; n < s->m; n++)
    for (int i = n; i > 0; i--)
      c[i] -= s->radius * c[i - 1];
  for (int k = 0; k < s->m; k++)
    for (int l = 0; l < s->m; l++)
      t->b[k][l] = k + l == 0 ? 0 : (float) (-c[k] * c[l]);
  t->a[0][0] = (float) (pow (1 - s->radius, 2 * (s->m - 1)) / 4);
}

/* Returns the sum of the absolute impulse response over its first 48 x 48 samples. */
static double
impulse_size (const RefIrTaps *t)
{
  enum { N = 48 };
  static double y[N][N];
  double size = 0;

  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      y[i][j] = i < t->m && j < t->m ? t->a[i][j] : 0;
      for (int k = 0; k < t->m && k <= i; k++)
        for (int l = 0; l < t->m && l <= j; l++)
          y[i][j] += t->b[k][l] * y[i - k][j - l];
      size += fabs (y[i][j]);
    }
  return size;
}

/* Fills t->a, scaled so that a flat plane becomes a quarter of itself; where the filter oscillates too much for that,
 * so that no sample grows much. */
static void
random_numerator (const Shape *s, RefIrTaps *t, uint64_t *state)
{
  double a = 0, b = 0, flat, size;

  for (int k = 0; k < s->m; k++)
    for (int l = 0; l < s->m; l++) {
      t->a[k][l] = random_between (-0.5, 1, state);
      a += t->a[k][l];
      b += t->b[k][l];
    }
  flat = a / (1 - b);
  size = impulse_size (t);
  for (int k = 0; k < s->m; k++)
    for (int l = 0; l < s->m; l++)
      t->a[k][l] = (float) (t->a[k][l] * (fabs (flat) > size / 4 ? 0.25 / flat : size > 1e-30 ? 0.5 / size : 0));
}

static void
print_square (GString *out, int m, double t[REF_IR_SIDE][REF_IR_SIDE], const char *row, const char *end)
{
  for (int k = 0; k < m; k++)
    for (int l = 0; l < m; l++)
      g_string_append_printf (out, "%s%.9g", l ? "," : k ? row : "", t[k][l]);
  g_string_append (out, end);
}

static void
print_file (const Shape *s, RefIrTaps t[REF_IR_QUADRANTS], GString *file)
{
  static const char *const names[REF_IR_QUADRANTS] = { "se", "sw", "ne", "nw" };

  if (s->json) {
    g_string_append (file, s->json);
    return;
  }
  g_string_append_printf (file, "{ \"m\": %d,\n  \"passthrough\": %.9g, \"offset\": %.9g", s->m, s->through, s->offset);
  for (int q = REF_IR_QUADRANTS - 1; q >= 0; q--)
    if (strstr (s->use, names[q])) {
      g_string_append_printf (file, ",\n  \"%s\": { \"a\": [[", names[q]);
      print_square (file, s->m, t[q].a, "], [", "]],\n    \"b\": [[");
      print_square (file, s->m, t[q].b, "], [", "]] }");
    }
  g_string_append (file, " }\n");
}

/* Fills this process's file, which lies in memory: the filter reads it once, when the parameter is set. Returns its
 * descriptor. */
static int
write_file (const Shape *s, RefIrTaps t[REF_IR_QUADRANTS])
{
  static pid_t owner;
  static int fd;
  GString *text = g_string_new ("");

  if (owner != getpid ())
    fd = memfd_create ("coefficients", 0);
  owner = getpid ();
  print_file (s, t, text);
  if (ftruncate (fd, 0) != 0 || pwrite (fd, text->str, text->len, 0) != (ssize_t) text->len)
    g_error ("the file of coefficients cannot be written");
  g_string_free (text, true);
  return fd;
}

/* Reads a word; returns whether it is one of those explained above. */
static bool
read_word (Shape *s, const char *word)
{
  if (sscanf (word, "poles=%d", &s->m) == 1)
    return true;
  if (sscanf (word, "equal=%d", &s->m) == 1)
    return s->equal = true;
  if (sscanf (word, "sets=%d", &s->m) == 1 || g_str_has_prefix (word, "json=")) {
    s->file = true;
    s->json = word[0] == 'j' ? word + 5 : s->json;
    return true;
  }
  return sscanf (word, "radius=%lf", &s->radius) == 1 || sscanf (word, "mix=%lf", &s->mix) == 1 ||
      sscanf (word, "seed=%" SCNu64, &s->seed) == 1 || sscanf (word, "through=%lf", &s->through) == 1 ||
      sscanf (word, "offset=%lf", &s->offset) == 1 || sscanf (word, "use=%31[a-z+]", s->use) == 1;
}

/* Prints the coefficients as parameters: the two texts, or the name of a file. */
static void
print_setting (const Shape *s, GString *out)
{
  uint64_t state = s->seed * 131 + (uint64_t) s->m;
  RefIrTaps t[REF_IR_QUADRANTS] = { 0 };

  for (int q = 0; q < (s->json ? 0 : s->file ? REF_IR_QUADRANTS : 1); q++) {
    t[q].m = s->m;
    if (s->equal) {
      equal_poles (s, &t[q]);
      continue;
    }
    random_denominator (s, &t[q], &state);
    random_numerator (s, &t[q], &state);
  }
  if (s->file) {
    g_string_append_printf (out, "coefficients=/proc/self/fd/%d", write_file (s, t));
    return;
  }
  g_string_append (out, "numerator=");
  print_square (out, s->m, t[0].a, ";", " denominator=");
  print_square (out, s->m, t[0].b, ";", "");
}

char *
ref_ir_expand (const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  Shape s = { .radius = 0.7, .mix = 0.1, .seed = 1, .use = "se+sw+ne+nw" };
  GString *others = g_string_new (""), *out;

  for (char **word = words; *word; word++)
    if (!read_word (&s, *word))
      g_string_append_printf (others, " %s", *word);
  out = g_string_new ("");
  if (s.json || (s.m >= 1 && s.m <= REF_IR_SIDE)) {
    print_setting (&s, out);
    g_string_append (out, others->str);
  }
  g_string_free (others, true);
  return g_string_free (out, out->len == 0);
}
