/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cf-identify: from a sharp and a blurred picture of the same thing, finds the
 * recursive filter that makes the one out of the other, and writes it for
 * `cudairfilter coefficients=FILE`. README's section "Restoring" tells how to
 * use it; cf-identify-fit.c how it works. */

#include "cf-identify.h"

#include <glib/gstdio.h>
#include <gst/gst.h>

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHART_SIDE 256
#define SMALLEST 32 /* side of a fragment */

typedef struct {
  char **files;
  char *output, *blur, *fragment, *symmetry;
  gboolean chart;
  int m;
  double noise, max_radius;
} Options;

static gboolean complain (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* Says it and is FALSE. */
static gboolean
complain (const char *format, ...)
{
  va_list args;

  va_start (args, format);
  fprintf (stderr, "cf-identify: ");
  vfprintf (stderr, format, args);
  va_end (args);
  fputc ('\n', stderr);
  return FALSE;
}

/* ---- what was asked for ------------------------------------------------- */

static gboolean
parse_options (Options *opt, int argc, char **argv)
{
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &opt->output, "write the filter there (coefficients.json)", "FILE" },
    { "window", 'm', 0, G_OPTION_ARG_INT, &opt->m, "side of the filter's windows, 2 to 5 (3)", "M" },
    { "fragment", 'f', 0, G_OPTION_ARG_STRING, &opt->fragment,
        "look only at this part, 96x96+40+20: size, left, top; the rest then tells how good the filter is", "WxH+X+Y" },
    { "blur", 'b', 0, G_OPTION_ARG_STRING, &opt->blur,
        "instead of BLURRED: SHARP blurred by gauss:SIGMA or motion:LENGTH:DEGREES", "BLUR" },
    { "chart", 0, 0, G_OPTION_ARG_NONE, &opt->chart, "instead of SHARP: a drawn picture with edges of all kinds",
        NULL },
    { "noise", 'n', 0, G_OPTION_ARG_DOUBLE, &opt->noise,
        "noise to be reckoned with, in levels of 255: is added to the blurred picture first (0)", "SIGMA" },
    { "symmetry", 's', 0, G_OPTION_ARG_STRING, &opt->symmetry,
        "which weights are the same: none, point, diagonal, mirror, full (that of --blur; none)", "KIND" },
    { "max-radius", 'r', 0, G_OPTION_ARG_DOUBLE, &opt->max_radius,
        "no pole further out than this, below 1 (0.95); less rings less", "RADIUS" },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &opt->files, NULL, NULL },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  g_autoptr (GError) error = NULL;
  GOptionContext *context = g_option_context_new ("SHARP BLURRED - finds the recursive filter that restores");
  gboolean good;

  g_option_context_set_summary (context,
      "SHARP and BLURRED are pictures (or films: their first frames) of the same thing, of the same size and with\n"
      "every point at the same place. Out comes a file for: cudairfilter coefficients=FILE");
  g_option_context_add_main_entries (context, entries, NULL);
  good = g_option_context_parse (context, &argc, &argv, &error);
  g_option_context_free (context);
  return good || complain ("%s; --help lists the options", error->message);
}

/* The search takes a while: better to know before it. */
static gboolean
check_output (const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);

  if (g_access (folder, W_OK))
    return complain ("--output %s: no file can be made in the folder \"%s\"", path, folder);
  return TRUE;
}

static gboolean
check_options (const Options *opt)
{
  guint n = opt->files ? g_strv_length (opt->files) : 0, wanted = 2 - !!opt->chart - !!opt->blur;

  if (n != wanted)
    return complain ("%u picture%s given and %u %s needed here: a sharp one (or --chart) and a blurred one (or "
        "--blur); --help tells more", n, n == 1 ? " was" : "s were", wanted, wanted == 1 ? "is" : "are");
  if (opt->m < 2 || opt->m > MAX_M)
    return complain ("--window %d: it has to be 2 to %d", opt->m, MAX_M);
  if (!(opt->noise >= 0 && opt->noise <= 50))
    return complain ("--noise %g: it has to be 0 to 50", opt->noise);
  if (!(opt->max_radius > 0 && opt->max_radius < 1))
    return complain ("--max-radius %g: it has to be above 0 and below 1, or the filter would not be stable",
        opt->max_radius);
  return check_output (opt->output);
}

static gboolean
parse_blur (const char *text, Blur *blur)
{
  char end;

  blur->motion = g_str_has_prefix (text, "motion:");
  if (sscanf (text, "gauss:%lf%c", &blur->sigma, &end) == 1 && blur->sigma >= 0.1 && blur->sigma <= 20)
    return TRUE;
  if (sscanf (text, "motion:%lf:%lf%c", &blur->length, &blur->angle, &end) == 2 && blur->length >= 1 &&
      blur->length <= 64 && fabs (blur->angle) <= 360)
    return TRUE;
  return complain ("--blur %s: right would be gauss:1.5 (sigma 0.1 to 20) or motion:9:45 (length 1 to 64, degrees)",
      text);
}

/* That of the blur, where none is asked for. */
static gboolean
choose_symmetry (const char *text, const Blur *blur, Symmetry *symmetry)
{
  static const char *const names[] = { "none", "point", "diagonal", "mirror", "full" };

  for (guint i = 0; text && i < G_N_ELEMENTS (names); i++)
    if (!strcmp (text, names[i])) {
      *symmetry = i;
      return TRUE;
    }
  if (text)
    return complain ("--symmetry %s: there are none, point, diagonal, mirror and full", text);
  if (!blur)
    *symmetry = SYMMETRY_NONE;
  else if (!blur->motion)
    *symmetry = SYMMETRY_FULL;
  else if (fmod (blur->angle, 90) == 0)
    *symmetry = SYMMETRY_MIRROR;
  else
    *symmetry = fmod (blur->angle, 45) == 0 ? SYMMETRY_DIAGONAL : SYMMETRY_POINT;
  return TRUE;
}

static gboolean
choose_fragment (const char *text, const Picture *picture, Rect *rect)
{
  char end;

  *rect = (Rect) { 0, 0, picture->w, picture->h };
  if (text && sscanf (text, "%dx%d+%d+%d%c", &rect->w, &rect->h, &rect->x, &rect->y, &end) != 4)
    return complain ("--fragment %s: right would be 96x96+40+20, which is its width, height, left and top", text);
  if (rect->x < 0 || rect->y < 0 || rect->w > picture->w - rect->x || rect->h > picture->h - rect->y)
    return complain ("--fragment %s reaches out of the picture, which is %d x %d", text, picture->w, picture->h);
  if (rect->w < SMALLEST || rect->h < SMALLEST)
    return complain ("%d x %d samples are too few to find a filter from; at least %d x %d are needed", rect->w, rect->h,
        SMALLEST, SMALLEST);
  return TRUE;
}

static Picture *
load (const char *path)
{
  g_autoptr (GError) error = NULL;
  Picture *picture = picture_load (path, &error);

  if (!picture)
    complain ("%s", error->message);
  return picture;
}

/* Both pictures, TRUE where they are such that something can be found. */
static gboolean
get_pictures (const Options *opt, const Blur *blur, Picture **sharp, Picture **blurred)
{
  *sharp = opt->chart ? picture_chart (CHART_SIDE) : load (opt->files[0]);
  if (!*sharp)
    return FALSE;
  *blurred = blur ? picture_blur (*sharp, blur) : load (opt->files[opt->chart ? 0 : 1]);
  if (!*blurred)
    return FALSE;
  if ((*sharp)->w != (*blurred)->w || (*sharp)->h != (*blurred)->h)
    return complain ("the sharp picture is %d x %d and the blurred one %d x %d; they have to be of the same size, with "
        "every point at the same place", (*sharp)->w, (*sharp)->h, (*blurred)->w, (*blurred)->h);
  picture_add_noise (*blurred, opt->noise);
  if (blur || opt->noise > 0)
    picture_round (*blurred);
  return TRUE;
}

/* Warns where the two do not look like the same thing. */
static void
compare (const Problem *problem)
{
  Rect f = problem->fragment;
  g_autoptr (Picture) s = picture_part (problem->sharp, f), b = picture_part (problem->blurred, f);
  double ms = 0, mb = 0, ss = 0, bb = 0, sb = 0;
  int n = f.w * f.h;

  for (int i = 0; i < n; i++) {
    ms += s->v[i] / n;
    mb += b->v[i] / n;
  }
  for (int i = 0; i < n; i++) {
    ss += (s->v[i] - ms) * (s->v[i] - ms);
    bb += (b->v[i] - mb) * (b->v[i] - mb);
    sb += (s->v[i] - ms) * (b->v[i] - mb);
  }
  if (!(sb > 0.3 * sqrt (ss * bb)))
    complain ("warning: the pictures hardly resemble each other (correlation %.2f); do they show the same, at the same "
        "place?", ss * bb > 0 ? sb / sqrt (ss * bb) : 0.0);
  if (fabs (ms - mb) > 4)
    complain ("warning: the sharp picture's mean is %.0f and the blurred one's %.0f; with another exposure, a "
        "difference in contrast is taken for blur", ms, mb);
}

/* ---- what came out ------------------------------------------------------ */

/* The fragment's samples that were fitted to, those held out, the rest of the picture. */
enum { FITTED, HELD_OUT, OUTSIDE, PLACES };

static void
report_row (const Problem *problem, const char *name, const Picture *picture, double noise_gain)
{
  Difference differences[PLACES] = { 0 };
  Rect f = problem->fragment;
  int margin = fit_margin (problem);

  for (int y = 0; y < picture->h; y++)
    for (int x = 0; x < picture->w; x++) {
      gsize at = (gsize) y * picture->w + x;
      int left = x - f.x, top = y - f.y;
      int edge = MIN (MIN (left, top), MIN (f.w - 1 - left, f.h - 1 - top)); /* samples from there to the fragment's */

      if (edge < 0)
        difference_add (&differences[OUTSIDE], picture->v[at] - problem->sharp->v[at]);
      else if (edge >= margin)
        difference_add (&differences[fit_held_out (left, top) ? HELD_OUT : FITTED],
            picture->v[at] - problem->sharp->v[at]);
    }
  printf ("%-22s", name);
  for (int place = 0; place < PLACES; place++)
    if (differences[place].n > 0)
      printf (" %8.2f", difference_psnr (&differences[place]));
    else
      printf (" %8s", "-");
  printf (" %7.2f\n", noise_gain);
}

static void
report (const Problem *problem, const Design *fir, const Design *best)
{
  const Design *designs[] = { fir, best };
  int side = 2 * problem->m - 1;

  printf ("%-22s %8s %8s %8s %7s\n", "PSNR in dB", "fitted", "held out", "outside", "noise x");
  report_row (problem, "blurred", problem->blurred, 1);
  for (int i = 0; i < 2; i++) {
    g_autoptr (Picture) restored = design_apply (designs[i], problem->blurred);
    g_autofree char *name = i ? g_strdup_printf ("recursive, m = %d", problem->m) :
                                g_strdup_printf ("not recursive, %d x %d", side, side);

    picture_round (restored);
    report_row (problem, name, restored, design_noise_gain (designs[i]));
  }
  printf ("%s, the outermost at %.4f\n", best->family, best->radius);
}

static void
append_matrix (GString *text, const char *name, const double *v, int m)
{
  g_string_append_printf (text, "\"%s\": [", name);
  for (int k = 0; k < m; k++) {
    g_string_append_printf (text, "%s[", k ? ",\n      " : "");
    for (int l = 0; l < m; l++) {
      char number[G_ASCII_DTOSTR_BUF_SIZE];

      g_string_append_printf (text, "%s%s", l ? ", " : "",
          g_ascii_formatd (number, sizeof number, "%.9g", v[k * m + l]));
    }
    g_string_append_c (text, ']');
  }
  g_string_append_c (text, ']');
}

/* As cuda/irfilter/irfilter.h has it. Nine digits give each float32 back. */
static gboolean
write_json (const Design *design, const char *path)
{
  static const char *const names[QUADRANTS] = { "se", "sw", "ne", "nw" };
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  g_string_append_printf (text, "{ \"m\": %d,\n", design->m);
  for (int q = 0; q < QUADRANTS; q++) {
    g_string_append_printf (text, "  \"%s\": {\n    ", names[q]);
    append_matrix (text, "a", design->a[q], design->m);
    g_string_append (text, ",\n    ");
    append_matrix (text, "b", design->b[q], design->m);
    g_string_append (text, " },\n");
  }
  g_string_append (text, "  \"offset\": 0, \"passthrough\": 0 }\n");
  return g_file_set_contents (path, text->str, text->len, &error) || complain ("%s", error->message);
}

int
main (int argc, char **argv)
{
  Options opt = { .m = 3, .max_radius = 0.95 };
  Blur blur = { 0 };
  g_autoptr (Picture) sharp = NULL, blurred = NULL;
  Problem problem;
  Design fir, best;

  opt.output = g_strdup ("coefficients.json");
  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C"); /* 1.5 and not 1,5: in options and in the report */
  if (!parse_options (&opt, argc, argv) || !check_options (&opt))
    return 2;
  if ((opt.blur && !parse_blur (opt.blur, &blur)) ||
      !choose_symmetry (opt.symmetry, opt.blur ? &blur : NULL, &problem.symmetry))
    return 2;
  gst_init (NULL, NULL);
  if (!get_pictures (&opt, opt.blur ? &blur : NULL, &sharp, &blurred))
    return 1;
  problem.sharp = sharp;
  problem.blurred = blurred;
  problem.m = opt.m;
  problem.max_radius = opt.max_radius;
  if (!choose_fragment (opt.fragment, sharp, &problem.fragment))
    return 2;
  compare (&problem);
  if (!fit_fir (&problem, &fir) || !fit_recursive (&problem, &best)) {
    complain ("no filter could be found: the blurred picture is flat, or nearly so");
    return 1;
  }
  report (&problem, &fir, &best);
  return write_json (&best, opt.output) ? 0 : 1;
}
