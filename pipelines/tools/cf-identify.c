/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf-identify: finds the recursive filter that restores a sharp image from a blurred
 * one, given an example of both, and writes it for `cudairfilter coefficients=FILE`.
 * README's section "Restoring" explains its use, cf-identify-fit.c the search. */

#include "cf-identify.h"
#include "line.h"
#include "output.h"

#include <gst/gst.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CHART_SIDE 256
#define SMALLEST 32 /* side of a fragment */

typedef struct {
  char **files;
  char *output, *blur, *fragment, *symmetry;
  gboolean chart, force;
  int m;
  double noise, max_radius;
} Options;

/* ---- command line ------------------------------------------------------- */

static gboolean
parse_options (Options *opt, int argc, char **argv)
{
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &opt->output, "write the filter there (coefficients.json)", "FILE" },
    { "force", 0, 0, G_OPTION_ARG_NONE, &opt->force, OUTPUT_FORCE_HELP, NULL },
    { "window", 'm', 0, G_OPTION_ARG_INT, &opt->m, "side of the filter's windows, 2 to 5 (3)", "M" },
    { "fragment", 'f', 0, G_OPTION_ARG_STRING, &opt->fragment,
        "fit the filter to this part only (size, left, top: 96x96+40+20) and report the rest as well", "WxH+X+Y" },
    { "blur", 'b', 0, G_OPTION_ARG_STRING, &opt->blur,
        "blur SHARP by gauss:SIGMA or motion:LENGTH:DEGREES, instead of reading BLURRED", "BLUR" },
    { "chart", 0, 0, G_OPTION_ARG_NONE, &opt->chart, "draw an image with edges of all kinds, instead of reading SHARP",
        NULL },
    { "noise", 'n', 0, G_OPTION_ARG_DOUBLE, &opt->noise,
        "expected noise in levels of 255; it is added to the blurred image before the search (0)", "SIGMA" },
    { "symmetry", 's', 0, G_OPTION_ARG_STRING, &opt->symmetry,
        "symmetry of the weights: none, point, diagonal, mirror, full (that of --blur, else none)", "KIND" },
    { "max-radius", 'r', 0, G_OPTION_ARG_DOUBLE, &opt->max_radius,
        "largest radius of a pole, below 1 (0.95); a smaller one rings less", "RADIUS" },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &opt->files, NULL, NULL },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };

  return parse_command_line (entries, "SHARP BLURRED - finds the recursive filter that restores SHARP",
      "SHARP and BLURRED are images (or videos: their first frames) of the same scene, of the same size and aligned.\n"
      "The result is a file for: cudairfilter coefficients=FILE",
      NULL, &argc, &argv);
}

/* Checks what it can before the search, which takes a while. */
static gboolean
check_options (const Options *opt)
{
  guint n = opt->files ? g_strv_length (opt->files) : 0, wanted = 2 - !!opt->chart - !!opt->blur;

  if (n != wanted)
    return complain ("%u image%s given, but %u %s needed here: a sharp one (or --chart) and a blurred one (or "
                     "--blur); see --help",
        n, n == 1 ? " was" : "s were", wanted, wanted == 1 ? "is" : "are");
  if (opt->m < 2 || opt->m > MAX_M)
    return complain ("--window %d: expected 2 to %d", opt->m, MAX_M);
  if (!(opt->noise >= 0 && opt->noise <= 50))
    return complain ("--noise %g: expected 0 to 50", opt->noise);
  if (!(opt->max_radius > 0 && opt->max_radius < 1))
    return complain ("--max-radius %g: expected more than 0 and less than 1, or the filter would not be stable",
        opt->max_radius);
  return output_check ("--output", opt->output, opt->force, (const char *const *) opt->files);
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

/* Without the option, chooses the symmetry of the blur. */
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
    return complain ("--symmetry %s: expected none, point, diagonal, mirror or full", text);
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
choose_fragment (const char *text, const Image *image, Rect *rect)
{
  char end;

  *rect = (Rect) { 0, 0, image->w, image->h };
  if (text && sscanf (text, "%dx%d+%d+%d%c", &rect->w, &rect->h, &rect->x, &rect->y, &end) != 4)
    return complain ("--fragment %s: expected width, height, left and top, like 96x96+40+20", text);
  if (rect->x < 0 || rect->y < 0 || rect->w > image->w - rect->x || rect->h > image->h - rect->y)
    return complain ("--fragment %s reaches out of the image, which is %d x %d", text, image->w, image->h);
  if (rect->w < SMALLEST || rect->h < SMALLEST)
    return complain ("%d x %d samples are too few to find a filter; at least %d x %d are needed", rect->w, rect->h,
        SMALLEST, SMALLEST);
  return TRUE;
}

static Image *
load (const char *path)
{
  g_autoptr (GError) error = NULL;
  Image *image = image_load (path, &error);

  if (!image)
    complain ("%s", error->message);
  return image;
}

/* Loads or makes both images. Returns FALSE after a message if they cannot be used. */
static gboolean
get_images (const Options *opt, const Blur *blur, Image **sharp, Image **blurred)
{
  *sharp = opt->chart ? image_chart (CHART_SIDE) : load (opt->files[0]);
  if (!*sharp)
    return FALSE;
  *blurred = blur ? image_blur (*sharp, blur) : load (opt->files[opt->chart ? 0 : 1]);
  if (!*blurred)
    return FALSE;
  if ((*sharp)->w != (*blurred)->w || (*sharp)->h != (*blurred)->h)
    return complain ("the sharp image is %d x %d and the blurred one %d x %d; they have to be of the same size and "
                     "aligned",
        (*sharp)->w, (*sharp)->h, (*blurred)->w, (*blurred)->h);
  image_add_noise (*blurred, opt->noise);
  if (blur || opt->noise > 0)
    image_round (*blurred);
  return TRUE;
}

/* Warns if the images do not seem to show the same scene. */
static void
compare (const Problem *problem)
{
  Rect f = problem->fragment;
  g_autoptr (Image) s = image_part (problem->sharp, f), b = image_part (problem->blurred, f);
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
    complain ("warning: the images hardly correlate (%.2f); they have to show the same scene, aligned",
        ss * bb > 0 ? sb / sqrt (ss * bb) : 0.0);
  if (fabs (ms - mb) > 4)
    complain ("warning: the sharp image's mean is %.0f and the blurred one's %.0f; if their exposures "
              "differ, a difference in contrast is taken for blur",
        ms, mb);
}

/* ---- results ------------------------------------------------------------ */

/* Samples of the fragment used by the fit, samples of it held out, and the rest of the image. */
enum { FITTED, HELD_OUT, OUTSIDE, REGIONS };

static void
report_row (const Problem *problem, const char *name, const Image *image, double noise_gain)
{
  Difference differences[REGIONS] = { 0 };
  Rect f = problem->fragment;
  int margin = fit_margin (problem);

  for (int y = 0; y < image->h; y++)
    for (int x = 0; x < image->w; x++) {
      gsize at = (gsize) y * image->w + x;
      int left = x - f.x, top = y - f.y;
      int edge = MIN (MIN (left, top), MIN (f.w - 1 - left, f.h - 1 - top)); /* distance to the fragment's edge */

      if (edge < 0)
        difference_add (&differences[OUTSIDE], image->v[at] - problem->sharp->v[at]);
      else if (edge >= margin)
        difference_add (&differences[fit_held_out (left, top) ? HELD_OUT : FITTED],
            image->v[at] - problem->sharp->v[at]);
    }
  printf ("%-22s", name);
  for (int region = 0; region < REGIONS; region++)
    if (differences[region].n > 0)
      printf (" %8.2f", difference_psnr (&differences[region]));
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
    g_autoptr (Image) restored = design_apply (designs[i], problem->blurred);
    g_autofree char *name = i ? g_strdup_printf ("recursive, m = %d", problem->m)
                              : g_strdup_printf ("not recursive, %d x %d", side, side);

    image_round (restored);
    report_row (problem, name, restored, design_noise_gain (designs[i]));
  }
  printf ("%s, largest radius %.4f\n", best->family, best->radius);
}

/* Writes the format of cuda/irfilter/irfilter.h. Nine digits preserve each float32. */
static gboolean
write_json (const Design *design, const Options *opt)
{
  static const char *const names[QUADRANTS] = { "se", "sw", "ne", "nw" };
  g_autoptr (GString) text = g_string_new (NULL);
  int m = design->m;

  g_string_append_printf (text, "{ \"m\": %d,\n", m);
  for (int part = 0; part < 2 * QUADRANTS; part++) { /* a and b of each quadrant */
    const double *v = part % 2 ? design->b[part / 2] : design->a[part / 2];

    if (part % 2 == 0)
      g_string_append_printf (text, "  \"%s\": {\n", names[part / 2]);
    g_string_append (text, part % 2 ? "    \"b\": [" : "    \"a\": [");
    for (int i = 0; i < m * m; i++) {
      char number[G_ASCII_DTOSTR_BUF_SIZE];

      g_string_append (text, i == 0 ? "[" : i % m ? ", " : "],\n      [");
      g_string_append (text, g_ascii_formatd (number, sizeof number, "%.9g", v[i]));
    }
    g_string_append (text, part % 2 ? "]] },\n" : "]],\n");
  }
  g_string_append (text, "  \"offset\": 0, \"passthrough\": 0 }\n");
  return output_write ("--output", opt->output, opt->force, text->str, text->len);
}

int
main (int argc, char **argv)
{
  Options opt = { .m = 3, .max_radius = 0.95 };
  Blur blur = { 0 };
  g_autoptr (Image) sharp = NULL, blurred = NULL;
  Problem problem;
  Design fir, best;

  opt.output = g_strdup ("coefficients.json");
  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C"); /* decimal points in options and in the report */
  if (!parse_options (&opt, argc, argv) || !check_options (&opt))
    return 2;
  if ((opt.blur && !parse_blur (opt.blur, &blur)) ||
      !choose_symmetry (opt.symmetry, opt.blur ? &blur : NULL, &problem.symmetry))
    return 2;
  gst_init (NULL, NULL);
  if (!get_images (&opt, opt.blur ? &blur : NULL, &sharp, &blurred))
    return 1;
  problem.sharp = sharp;
  problem.blurred = blurred;
  problem.m = opt.m;
  problem.max_radius = opt.max_radius;
  if (!choose_fragment (opt.fragment, sharp, &problem.fragment))
    return 2;
  compare (&problem);
  if (!fit_fir (&problem, &fir) || !fit_recursive (&problem, &best)) {
    complain ("no filter could be found: the blurred image is flat, or nearly so");
    return 1;
  }
  report (&problem, &fir, &best);
  return write_json (&best, &opt) ? 0 : 1;
}
