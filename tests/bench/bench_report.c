/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench_report.c: the benchmark's goals, and the tables that it prints and writes. In the Markdown file the section of
 * a filter lies between two markers, "<!-- bench STEM: begin -->" and "<!-- bench STEM: end -->". A run replaces its
 * own section and keeps everything else; where the file has no such markers, the section is appended. */
#include "bench-private.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Goals and lower bounds at 1080p and 4K. The bounds: see `notes`. */
static const struct {
  const char *filter, *kind;
  int size;
  double goal[2], floor[2];
  int streams;        /* 0: one */
  const char *format; /* NULL: GRAY8 */
} targets[] = {
  { "median", "", 3, { 3.6, 8.4 }, { 1.4, 5.5 } },
  { "median", "", 5, { 7, 19 }, { 4.1, 17 } },
  { "median", "", 7, { 11, 35 }, { 7.9, 32 } },
  { "median", "", 9, { 18, 59 }, { 13, 54 } },
  { "median", "", 11, { 29, 86 }, { 20, 79 } },
  { "median", "", 13, { 50, 180 }, { 0, 0 } },
  { "median", "", 15, { 52, 187 }, { 0, 0 } },
  { "median", "", 31, { 56, 190 }, { 0, 0 } },
  { "median", "", 51, { 97, 335 }, { 0, 0 } },
  { "median", "", 101, { 134, 440 }, { 0, 0 } },
  { "median", "noise", 31, { 56, 190 }, { 0, 0 } },
  { "median", "even", 31, { 56, 190 }, { 0, 0 } },
  { "median", "rows", 31, { 56, 190 }, { 0, 0 } },
  { "median", "ramp", 31, { 56, 190 }, { 0, 0 } },
  { "median", "camera", 31, { 56, 190 }, { 0, 0 } },
  { "convolve", "dense", 3, { 3.0, 6.4 }, { 0.96, 3.86 } },
  { "convolve", "dense", 5, { 3.1, 6.8 }, { 0.96, 3.86 } },
  { "convolve", "dense", 7, { 3.3, 7.6 }, { 0.96, 3.86 } },
  { "convolve", "dense", 9, { 3.5, 8.8 }, { 0.96, 3.86 } },
  { "convolve", "dense", 15, { 4.5, 12 }, { 1.1, 4.3 } },
  { "convolve", "dense", 31, { 9, 26 }, { 3.8, 15.4 } },
  { "convolve", "dense", 7, { 8, 25 }, { 0, 0 }, .format = "RGBA" },
  { "convolve", "dense", 31, { 20, 60 }, { 0, 0 }, .format = "RGBA" },
  { "convolve", "gauss", 7, { 4.2, 9.1 }, { 0.96, 3.86 } },
  { "convolve", "gauss", 15, { 4.1, 9.3 }, { 0.96, 3.86 } },
  { "convolve", "gauss", 31, { 4.3, 11 }, { 0.96, 3.86 } },
  { "convolve", "gauss", 15, { 10, 28 }, { 0, 0 }, .format = "RGBA" },
  { "convolve", "box", 31, { 4.6, 11 }, { 0.96, 3.86 } },
  { "irfilter", "smooth sigma", 3, { 9.6, 31 }, { 0, 0 } },
  { "irfilter", "smooth sigma", 200, { 9.6, 31 }, { 0, 0 } },
  { "irfilter", "smooth sigma", 3, { 40, 125 }, { 0, 0 }, .format = "RGBA" },
  { "irfilter", "smooth sigma", 200, { 40, 125 }, { 0, 0 }, .format = "RGBA" },
  { "irfilter", "soft sigma", 3, { 16, 55 }, { 0, 0 } },
  { "irfilter", "soft sigma", 200, { 16, 55 }, { 0, 0 } },
  { "irfilter", "highpass sigma", 40, { 11, 34 }, { 0, 0 } },
  { "irfilter", "sharpen sigma", 3, { 11, 34 }, { 0, 0 } },
  { "irfilter", "one core m", 3, { 112, 270 }, { 10.4, 20.9 } },
  { "irfilter", "one core m", 5, { 210, 600 }, { 0, 0 } },
  { "irfilter", "one core m", 8, { 415, 1000 }, { 0, 0 } },
  { "irfilter", "one core m", 3, { 36, 130 }, { 4.2, 16.9 }, 8 },
  { "irfilter", "one core m", 5, { 70, 240 }, { 0, 0 }, 8 },
  { "irfilter", "one core m", 8, { 180, 650 }, { 0, 0 }, 8 },
  { "irfilter", "16 cores m", 3, { 75, 205 }, { 4.2, 16.9 } },
  { "segment", "stateless", 0, { 100, 300 }, { 2.4, 9.6 } },
  { "segment", "stateful", 0, { 60, 200 }, { 2.4, 9.6 } },
  { "segment", "street stateless", 0, { 150, 0 }, { 2.4, 9.6 } },
  { "segment", "street stateless", 0, { 95, 0 }, { 2.4, 9.6 }, 8 },
  { "segment", "street stateful", 0, { 110, 0 }, { 2.4, 9.6 } },
  { "segment", "street stateful", 0, { 62, 0 }, { 2.4, 9.6 }, 8 },
};

void
bench_target (const Bench *b, const BenchRow *row, double *goal, double *least)
{
  int which = row->height > 1080;
  bool any = g_str_equal (row->resolution, "1080p") || g_str_equal (row->resolution, "4k");

  *goal = *least = 0;
  for (size_t i = 0; any && i < G_N_ELEMENTS (targets); i++)
    if (g_str_equal (targets[i].filter, b->o.filter) && g_str_equal (targets[i].kind, row->kind->name) &&
        targets[i].size == row->size && g_str_equal (targets[i].format ? targets[i].format : "GRAY8", row->format) &&
        (targets[i].streams ? targets[i].streams : 1) == row->streams) {
      *goal = targets[i].goal[which];
      *least = targets[i].floor[which];
    }
}

static void
name_row (const BenchRow *row, char *name, size_t size)
{
  /* A size of 0 leaves the choice to the filter. */
  if (row->size)
    snprintf (name, size, "%s%s%d", row->kind->name, row->kind->name[0] ? " " : "", row->size);
  else
    snprintf (name, size, "%s", row->kind->name);
  if (row->streams > 1)
    snprintf (name + strlen (name), size - strlen (name), ", %d at once", row->streams);
}

void
bench_print_head (const Bench *b)
{
  printf ("%s, %s, us a frame of 8 bits\n", b->gpu.name, b->o.filter);
  printf ("%-26s %-6s %-9s %-28s %9s %9s %7s %11s %8s %7s %7s\n", "kernel", "format", "frame", "variant", "ours",
      "singly", "copy", b->baseline ? b->baseline->name : "baseline", "ratio", "goal", "floor");
}

void
bench_print_row (const Bench *b, const BenchRow *row)
{
  char name[40];
  double goal, least;

  bench_target (b, row, &goal, &least);
  name_row (row, name, sizeof name);
  printf ("%-26s %-6s %-9s %-28s %9.2f %9.2f %7.2f %11.1f %8.1f %7.1f %7.1f  %s\n", name, row->format, row->resolution,
      row->variant, row->ours, row->singly, row->copy, row->baseline, row->ours > 0 ? row->baseline / row->ours : 0,
      goal, least, row->right ? "" : "WRONG");
  fflush (stdout);
}

/* Returns the driver's version, the first word of its file that begins with a digit; the caller frees it. */
static char *
driver_version (void)
{
  g_autofree char *text = NULL;
  g_auto (GStrv) words = NULL;

  if (g_file_get_contents ("/proc/driver/nvidia/version", &text, NULL, NULL))
    words = g_strsplit_set (text, " \t\n", -1);
  for (char **word = words; word && *word; word++)
    if (g_ascii_isdigit (**word))
      return g_strdup (*word);
  return g_strdup ("unknown");
}

static const char head[] =
    "# Kernel times\n\n"
    "Microseconds per frame, 8 bits per sample, one launch per frame in a CUDA graph over more frames than L2 holds;\n"
    "one frame of each row was compared with the reference. singly: the same without a graph, so that a launch costs\n"
    "what it costs the CPU. copy: the same with a kernel that only copies the bytes.\n";

/* Notes on the filters' columns. */
static const struct {
  const char *filter, *text;
} notes[] = {
  { "median",
      "NPP: the same frames, borders not handled. floor: minimum and maximum instructions of the best known\n"
      "network, at this GPU's rate for them. even: all samples of a frame are equal; rows: 0 and 255 by turns.\n" },
  { "irfilter",
      "No library present has such a filter, so there is no baseline. one core m: a window of m x m whose\n"
      "impulse response is longer than the frame is wide (pole radius 0.99); 16 cores m: one whose response has\n"
      "decayed after 120 samples (0.87); N at once: N frames, each on its own stream. floor: the longest chain of\n"
      "dependent operations, 4 cycles each, or, if that takes longer or frames overlap, all multiply-adds at this\n"
      "GPU's rate.\n" },
  { "segment",
      "stateless: temporal=0; stateful: each frame depends on the one before, four frames in rotation. NPP has\n"
      "no such filter: the first is compared with SegmentWatershed and a copy of the frame, because it works in\n"
      "place, the second with LabelMarkersUF, which only labels connected equal samples. floor: the bytes of a\n"
      "frame read twice and written once. Studies, stateful: global atomics: pixels are added to their regions'\n"
      "sums with global atomics, not in the block first; 4 warps: the size of that block, which is 8 in the other\n"
      "rows. street: like a frame of a street's camera, which has fewer regions than the texture of the other\n"
      "rows; N at once: N streams, each with a plan of its own.\n" },
  { "convolve",
      "NPP: FilterBorder32f, FilterGaussBorder (FilterGaussAdvancedBorder over 15) and FilterBoxBorder on the same\n"
      "frames, replicated borders, RGBA with its alpha. dense: random signed weights of 8 bits, not separable;\n"
      "16 bit: random weights of 16 bits; fraction: decimal ones. floor: the bytes or, if longer, the int8 tensor\n"
      "pipe.\n" },
};

static const char *
notes_of (const char *filter)
{
  for (size_t i = 0; i < G_N_ELEMENTS (notes); i++)
    if (g_str_equal (notes[i].filter, filter))
      return notes[i].text;
  return "";
}

static void
write_number (FILE *file, double value, const char *format)
{
  if (value > 0)
    fprintf (file, format, value);
  else
    fputs (" -", file);
  fputs (" |", file);
}

static void
write_part (const Bench *b, FILE *file)
{
  g_autofree char *driver = driver_version ();
  char date[32] = "";
  const char *baseline = b->baseline ? b->baseline->name : "baseline";
  time_t now = time (NULL);
  const int cuda = cf_gpu_state ().runtime;

  (void) strftime (date, sizeof date, "%Y-%m-%d", gmtime (&now));
  fprintf (file,
      "## %s\n\nWritten by\n`%s`:\n%s (%d SMs, %llu MB of L2),\ndriver %s, CUDA %d.%d, %s, the median of %d "
      "repetitions.\n%s\n",
      b->o.filter, b->o.command, b->gpu.name, b->gpu.sms, (unsigned long long) (b->gpu.l2_bytes >> 20), driver,
      cuda / 1000, cuda % 1000 / 10, date, BENCH_REPETITIONS, notes_of (b->o.filter));
  fprintf (file,
      "| kernel | format | frame | ours | variant | singly | copy | %s | %s / ours | goal | floor |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      baseline, baseline);
  for (int i = 0; i < b->n_rows; i++) {
    const BenchRow *row = &b->rows[i];
    double goal, least;
    char name[40];

    bench_target (b, row, &goal, &least);
    name_row (row, name, sizeof name);
    fprintf (file, "| %s | %s | %s | ", name, row->format, row->resolution);
    if (row->right)
      fprintf (file, "%.2f | %s |", row->ours, row->variant);
    else
      fprintf (file, "WRONG | %s |", row->variant);
    write_number (file, row->singly, " %.2f");
    write_number (file, row->copy, " %.2f");
    write_number (file, row->baseline, " %.1f");
    write_number (file, row->ours > 0 ? row->baseline / row->ours : 0, " %.1f");
    write_number (file, goal, " %.3g");
    write_number (file, least, " %.3g");
    fprintf (file, "\n");
  }
}

bool
bench_write_markdown (const Bench *b)
{
  g_autofree char *begin = g_strdup_printf ("<!-- bench %s: begin -->\n", b->o.filter);
  g_autofree char *end = g_strdup_printf ("<!-- bench %s: end -->\n", b->o.filter);
  g_autofree char *old = NULL;
  const char *from, *to;
  FILE *file;

  if (!g_file_get_contents (b->o.markdown, &old, NULL, NULL))
    old = g_strdup (head);
  from = strstr (old, begin);
  to = from ? strstr (from, end) : NULL;
  if (from && !to) {
    fprintf (stderr, "%s has no line %s", b->o.markdown, end);
    return false;
  }
  file = fopen (b->o.markdown, "w");
  if (!file)
    return false;
  fprintf (file, "%.*s", (int) (from ? from - old : (ptrdiff_t) strlen (old)), old);
  if (!from)
    fputc ('\n', file);
  fputs (begin, file);
  write_part (b, file);
  fprintf (file, "%s%s", end, to ? to + strlen (end) : "");
  return fclose (file) == 0;
}

bool
bench_write_json (const Bench *b)
{
  FILE *file = fopen (b->o.json, "w");

  if (!file)
    return false;
  fprintf (file, "{\"gpu\": \"%s\", \"filter\": \"%s\", \"rows\": [", b->gpu.name, b->o.filter);
  for (int i = 0; i < b->n_rows; i++) {
    const BenchRow *row = &b->rows[i];

    fprintf (file,
        "%s\n  {\"kind\": \"%s\", \"format\": \"%s\", \"size\": %d, \"streams\": %d, \"width\": %d, "
        "\"height\": %d, \"variant\": \"%s\", \"us\": %.3f, \"singly_us\": %.3f, \"copy_us\": %.3f, "
        "\"baseline_us\": %.3f, \"right\": %s}",
        i ? "," : "", row->kind->name, row->format, row->size, row->streams, row->width, row->height, row->variant,
        row->ours, row->singly, row->copy, row->baseline, row->right ? "true" : "false");
  }
  fprintf (file, "\n]}\n");
  return fclose (file) == 0;
}
