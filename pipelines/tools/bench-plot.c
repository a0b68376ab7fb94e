/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-plot.c: a image of the rows, by gnuplot. A curve is a line and a format,
 * on so many cores; x is what the rows differ in. */

#include "bench.h"
#include "line.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

typedef struct {
  const char *x, *y;
  gboolean log_x, log_y;
} Axes;

gboolean
bench_plot_check (const char *prefix)
{
  g_autofree char *program = g_find_program_in_path ("gnuplot");

  if (!program)
    say ("bench: --plot %s: plots are made by gnuplot, which is not here (Debian: gnuplot-nox)", prefix);
  return program != NULL;
}

/* ---- what is drawn ------------------------------------------------------- */

static double
x_of (const BenchReport *report, BenchX x, const BenchRow *row)
{
  const BenchCase *c = bench_case (report, row);

  switch (x) {
    case BENCH_X_SIZE:
      return (double) c->size.width * c->size.height / 1e6;
    case BENCH_X_CAMERAS:
      return c->cameras;
    case BENCH_X_CORES:
      return c->cores ? c->cores : report->machine.cores;
    case BENCH_X_VALUE:
      return c->value ? g_ascii_strtod (c->value, NULL) : 0;
    default:
      return row->case_index + 1;
  }
}

/* Which y a image has: time, speed-up, or frames a second. */
static gboolean
has_speedup (const BenchReport *report)
{
  return report->opt->study == BENCH_STUDY_SPEEDUP || report->opt->study == BENCH_STUDY_THREADS;
}

static gboolean
has_time (const BenchReport *report)
{
  return report->opt->study == BENCH_STUDY_SIZE || report->opt->study == BENCH_STUDY_KERNEL;
}

static double
y_of (const BenchReport *report, const BenchRow *row)
{
  if (bench_case (report, row)->kernels_only) /* no curve of a pipeline's */
    return 0;
  return has_speedup (report) ? row->speedup : has_time (report) ? row->ms : row->fps;
}

/* The curve's name; rows with the same one belong together. */
static char *
curve_of (const BenchReport *report, BenchX x, const BenchRow *row)
{
  const BenchCase *c = bench_case (report, row);
  GString *name = g_string_new (c->line);

  g_string_append_printf (name, ", %s", row->format);
  if (x != BENCH_X_SIZE && report->opt->sizes && report->opt->sizes->len > 1)
    g_string_append_printf (name, " %dx%d", c->size.width, c->size.height);
  if (x != BENCH_X_VALUE && c->property)
    g_string_append_printf (name, ", %s=%s", c->property, c->value);
  if (report->opt->memories->len > 1)
    g_string_append_printf (name, ", %s memory", bench_memory_names[c->memory]);
  if (c->processes > 1)
    g_string_append_printf (name, ", %d processes", c->processes);
  if (c->gpus)
    g_string_append_printf (name, ", %d GPU%s", c->gpus, c->gpus == 1 ? "" : "s");
  if (x != BENCH_X_CAMERAS && c->cameras > 1)
    g_string_append_printf (name, ", %d at once", c->cameras);
  if (x != BENCH_X_CORES && c->cores)
    g_string_append_printf (name, ", %d core%s", c->cores, c->cores == 1 ? "" : "s");
  else if (report->opt->study == BENCH_STUDY_SPEEDUP)
    g_string_append_printf (name, ", %s", c->cpu ? "all cores" : "GPU");
  return g_string_free (name, FALSE);
}

/* A heredoc of gnuplot's, for each curve one. */
static GPtrArray *
collect (const BenchReport *report, BenchX x, GString *script)
{
  GPtrArray *curves = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < report->rows->len; i++) {
    const BenchRow *row = &g_array_index (report->rows, BenchRow, i);
    char *curve = curve_of (report, x, row);

    if (row->state != BENCH_GOOD || y_of (report, row) <= 0 ||
        g_ptr_array_find_with_equal_func (curves, curve, g_str_equal, NULL)) {
      g_free (curve);
      continue;
    }
    g_string_append_printf (script, "$d%u << end\n", curves->len);
    g_ptr_array_add (curves, curve);
    for (guint k = i; k < report->rows->len; k++) {
      const BenchRow *other = &g_array_index (report->rows, BenchRow, k);
      g_autofree char *its = curve_of (report, x, other);

      if (other->state == BENCH_GOOD && y_of (report, other) > 0 && !strcmp (its, curve))
        g_string_append_printf (script, "%.9g %.9g %.9g\n", x_of (report, x, other), y_of (report, other), other->p99);
    }
    g_string_append (script, "end\n");
  }
  return curves;
}

/* What memcpy and the link would take for each size. */
static void
collect_limits (const BenchReport *report, GString *script, gboolean gpu)
{
  g_string_append_printf (script, "$%s << end\n", gpu ? "link" : "copy");
  for (guint i = 0; i < report->limits->len; i++) {
    const BenchLimit *limit = &g_array_index (report->limits, BenchLimit, i);
    double gb = gpu ? limit->both : limit->copy_all;

    if (gb > 0 && !strcmp (limit->format, report->opt->formats[0]))
      g_string_append_printf (script, "%.9g %.9g\n", (double) limit->size.width * limit->size.height / 1e6,
          has_time (report) ? (double) limit->frame_bytes / gb / 1e6 : gb * 1e9 / (double) limit->frame_bytes);
  }
  g_string_append (script, "end\n");
}

/* ---- how ----------------------------------------------------------------- */

static Axes
choose_axes (const BenchReport *report, BenchX x)
{
  static const char *const names[] = { "row", "million pixels of a frame", "cameras", "cores of the CPU", NULL };
  Axes axes = { names[x], "frames/s", x == BENCH_X_SIZE || x == BENCH_X_CAMERAS, TRUE };

  if (x == BENCH_X_VALUE)
    axes.x = report->opt->property ? report->opt->property : "kernel-size";
  if (has_time (report))
    axes.y = "ms a frame";
  if (has_speedup (report)) {
    axes.y = "times as fast as one core";
    axes.log_y = report->machine.gpus > 0 && x == BENCH_X_SIZE;
  }
  axes.log_x = axes.log_x || (x == BENCH_X_VALUE && report->opt->study == BENCH_STUDY_KERNEL);
  return axes;
}

/* Room beside the outermost points. */
static void
set_range (const BenchReport *report, BenchX x, const Axes *axes, GString *script)
{
  double low = G_MAXDOUBLE, high = 0, room;

  for (guint i = 0; i < report->rows->len; i++) {
    const BenchRow *row = &g_array_index (report->rows, BenchRow, i);

    low = MIN (low, x_of (report, x, row));
    high = MAX (high, x_of (report, x, row));
  }
  room = high > low ? (high - low) / 20 : 1;
  if (axes->log_x && low > 0)
    g_string_append_printf (script, "set xrange [%g:%g]\n", low / 1.2, high * 1.2);
  else
    g_string_append_printf (script, "set xrange [%g:%g]\n", low - room, high + room);
}

/* Marks where there are points, in place of round numbers. */
static void
set_tics (const BenchReport *report, BenchX x, GString *script)
{
  g_string_append (script, "set xtics (");
  for (guint i = 0; i < report->rows->len; i++)
    g_string_append_printf (script, "%s%.6g", i ? ", " : "",
        x_of (report, x, &g_array_index (report->rows, BenchRow, i)));
  g_string_append (script, ")\n");
}

/* As text between single quotes. */
static char *
quote (const char *words)
{
  g_auto (GStrv) parts = g_strsplit (words, "'", -1);

  return g_strjoinv ("''", parts);
}

static void
set_up (const BenchReport *report, BenchX x, const Axes *axes, GString *script)
{
  g_autofree char *machine = quote (report->machine.gpus ? report->machine.gpu : report->machine.cpu);

  g_string_append_printf (script, "set grid\nset key outside below left Left reverse maxcols 1 noenhanced\n"
      "set xlabel '%s' noenhanced\nset ylabel '%s'\n", axes->x, axes->y);
  g_string_append_printf (script, "set title '%s, %d core%s%s' noenhanced\n", machine, report->machine.cores,
      report->machine.cores == 1 ? "" : "s", report->machine.gpus ? " beside it" : "");
  if (axes->log_x)
    g_string_append (script, "set logscale x 2\n");
  if (axes->log_x && x == BENCH_X_SIZE)
    g_string_append (script, "set format x '%.2g'\n");
  if (axes->log_y)
    g_string_append (script, "set logscale y 10\n");
  else
    g_string_append (script, "set yrange [0:*]\n");
  set_range (report, x, axes, script);
  if (x == BENCH_X_VALUE || x == BENCH_X_CORES || x == BENCH_X_CAMERAS)
    set_tics (report, x, script);
  if (x == BENCH_X_CAMERAS && report->opt->rate > 0)
    g_string_append (script, "set y2tics\nset ytics nomirror\nset logscale y2 10\n"
        "set y2label 'ms, 99 of 100 frames'\n");
}

/* The curves, and beside them what cannot be passed. */
static void
draw (const BenchReport *report, BenchX x, const GPtrArray *curves, GString *script)
{
  const char *comma = "plot ";

  for (guint i = 0; i < curves->len; i++) {
    g_autofree char *title = quote (g_ptr_array_index (curves, i));

    g_string_append_printf (script, "%s$d%u using 1:2 with linespoints linewidth 2 pointtype 7 linecolor %u title '%s'",
        comma, i, i + 1, title);
    comma = ", ";
    if (x == BENCH_X_CAMERAS && report->opt->rate > 0)
      g_string_append_printf (script, ", $d%u using 1:3 axes x1y2 with linespoints dashtype 3 pointtype 6 linecolor %u "
          "title 'its time from camera to sink (right axis)'", i, i + 1);
  }
  if (x == BENCH_X_CAMERAS && report->opt->rate > 0)
    g_string_append_printf (script, ", x * %g with lines dashtype 2 linecolor rgb '#808080' "
        "title 'frames that are due'", report->opt->rate);
  if (x == BENCH_X_CORES && has_speedup (report))
    g_string_append (script, ", x with lines dashtype 2 linecolor rgb '#808080' title 'as many times as cores'");
  if (x == BENCH_X_SIZE && !has_speedup (report) && report->limits->len > 1) {
    g_string_append (script, ", $copy using 1:2 with lines dashtype 2 linecolor rgb '#808080' "
        "title 'memcpy, all cores'");
    if (g_array_index (report->limits, BenchLimit, 0).both > 0)
      g_string_append (script, ", $link using 1:2 with lines dashtype 4 linecolor rgb '#000000' "
          "title 'link to the GPU, both ways'");
  }
  g_string_append_c (script, '\n');
}

static gboolean
run_gnuplot (const char *script)
{
  FILE *pipe = popen ("gnuplot", "w");
  int status = -1;

  if (pipe) {
    fputs (script, pipe);
    status = pclose (pipe);
  }
  if (status)
    say ("bench: gnuplot did not make the plot");
  return status == 0;
}

gboolean
bench_plot (const BenchReport *report, const char *prefix)
{
  static const char *const kinds[][2] = { { "svg", "svg size 900,600 font 'sans,14' background rgb 'white'" },
    { "png", "pngcairo size 900,600 font 'sans,11'" } };
  BenchX x = bench_plan_x (report->opt, report->cases);
  g_autoptr (GString) data = g_string_new (NULL);
  g_autoptr (GPtrArray) curves = collect (report, x, data);
  g_autofree char *name = quote (prefix);
  Axes axes = choose_axes (report, x);

  if (curves->len == 0) {
    say ("bench: --plot %s: there is nothing to be drawn", prefix);
    return FALSE;
  }
  collect_limits (report, data, FALSE);
  collect_limits (report, data, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++) {
    g_autoptr (GString) script = g_string_new (NULL);

    g_string_append_printf (script, "set terminal %s\nset output '%s.%s'\n%s", kinds[i][1], name, kinds[i][0],
        data->str);
    set_up (report, x, &axes, script);
    draw (report, x, curves, script);
    if (!run_gnuplot (script->str))
      return FALSE;
    printf ("%s.%s\n", prefix, kinds[i][0]);
  }
  return TRUE;
}
