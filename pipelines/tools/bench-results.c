/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-results.c: prints each row of the table when it has been measured, and writes all of them as JSON. */

#include "bench.h"
#include "output.h"

#include <json-glib/json-glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const BenchLimit *
bench_find_limit (const BenchReport *report, const BenchSize *size, const char *format)
{
  for (guint i = 0; i < report->n_limits; i++)
    if (!memcmp (&report->limits[i].size, size, sizeof *size) && !strcmp (report->limits[i].format, format))
      return &report->limits[i];
  return NULL;
}

static gboolean
on_gpu (const BenchRow *row)
{
  for (int i = 0; i < row->n_elements; i++)
    if (row->element[i].gpu > 0)
      return TRUE;
  return FALSE;
}

/* Returns "GPU", "CPU", "GPU+CPU" or "passed" of this project's elements; "-" of foreign elements. */
static const char *
backend_of (const BenchRow *row)
{
  gboolean gpu = on_gpu (row), cpu = FALSE, passed = FALSE;

  for (int i = 0; i < row->n_elements; i++) {
    cpu = cpu || row->element[i].cpu > 0;
    passed = passed || row->element[i].passed > 0;
  }
  if (!gpu && !cpu && !passed && row->n_elements) /* no frame was processed: the active backend */
    return strcmp (row->element[0].backend, "cuda") ? "CPU" : "GPU";
  return gpu && cpu ? "GPU+CPU" : gpu ? "GPU" : cpu ? "CPU" : passed ? "passed" : "-";
}

/* Returns the row's share of a limit in GB/s; 0 if the limit is 0. */
static double
share (const BenchRow *row, double limit)
{
  return limit > 0 ? row->fps * (double) row->frame_bytes / 1e9 / limit : 0;
}

/* Returns the share of the machine's limit that the row reaches, 0 if unknown, and sets *which to the limit's name. */
static double
of_limit (const BenchReport *report, const BenchRow *row, const char **which)
{
  const BenchCase *c = bench_case (report, row);
  const BenchLimit *limit = bench_find_limit (report, &c->size, row->format);

  *which = on_gpu (row) ? "link" : "memcpy";
  if (!limit || c->kernels_only || c->memory == BENCH_CUDA) /* frames in CUDA memory do not cross the link */
    return 0;
  return share (row, on_gpu (row) ? limit->both : limit->copy_all);
}

/* Returns the share of one thread's memcpy that the row reaches; 0 if not measured. */
static double
of_memcpy (const BenchReport *report, const BenchRow *row)
{
  const BenchCase *c = bench_case (report, row);
  const BenchLimit *limit = bench_find_limit (report, &c->size, row->format);

  return limit && c->memory == BENCH_PLAIN ? share (row, limit->copy_one) : 0;
}

void
bench_progress (const char *format, ...)
{
  static int terminal = -1;
  va_list args;

  if (terminal < 0)
    terminal = isatty (STDERR_FILENO);
  if (!terminal)
    return;
  fputs ("\r\033[K", stderr);
  if (format) {
    g_autofree char *text = NULL;

    va_start (args, format);
    text = g_strdup_vprintf (format, args);
    va_end (args);
    fprintf (stderr, "%.78s", text);
  }
  fflush (stderr);
}

/* ---- machine and limits ------------------------------------------------- */

void
bench_table_machine (const BenchReport *report)
{
  const BenchMachine *m = report->machine;

  printf ("%s, %d core%s, %s; %s\n", m->cpu, m->cores, m->cores == 1 ? "" : "s", m->isa, m->gstreamer);
  if (m->gpus > 0)
    printf ("%d GPU%s, %s\n", m->gpus, m->gpus == 1 ? "" : "s, the first one", m->gpu);
  else
    printf ("no usable GPU: %s\n", m->why_no_gpu);
}

static double
frames (const BenchLimit *limit, double gb)
{
  return gb * 1e9 / (double) limit->frame_bytes;
}

void
bench_table_limit (const BenchLimit *limit)
{
  bench_progress (NULL);
  printf ("limits at %dx%d %s, %.2f MB: memcpy %.1f GB/s by one thread (%.0f frames/s), %.1f by all (%.0f frames/s)\n",
      limit->size.width, limit->size.height, limit->format, (double) limit->frame_bytes / 1e6, limit->copy_one,
      frames (limit, limit->copy_one), limit->copy_all, frames (limit, limit->copy_all));
  if (limit->both > 0)
    printf ("  link up %.1f GB/s, down %.1f, both at once %.1f each (%.0f frames/s); one frame up, down and waited "
            "for: %.0f us\n",
        limit->up, limit->down, limit->both, frames (limit, limit->both), limit->trip);
  fflush (stdout);
}

/* ---- the rows ------------------------------------------------------------ */

static void
head (const BenchReport *report, const BenchCase *c)
{
  printf ("\n%s%s\n", c->line, c->baseline ? "  (baseline)" : "");
  if (report->opt->rate > 0)
    printf ("%22s %8s %8s %8s %7s %6s %6s %8s %8s %8s %6s\n", "", "backend", "cameras", "frames/s", "due/s", "late",
        "drop", "p50 ms", "p99", "max", "cores");
  else
    printf ("%22s %8s %8s %8s %8s %8s %8s %6s %8s %8s %8s %8s  %s\n", "", "backend", "frames/s", "ms", "p50", "p99",
        "max", "cores", "CPU ms", "up us", "k", "down", "limit");
}

static void
print_element_times (const BenchRow *row)
{
  double up = 0, kernel = 0, down = 0;

  for (int i = 0; i < row->n_elements; i++) {
    up += row->element[i].upload_p50;
    kernel += row->element[i].kernel_p50;
    down += row->element[i].download_p50;
  }
  if (row->n_elements)
    printf (" %8.0f %8.0f %8.0f", up, kernel, down);
  else
    printf (" %8s %8s %8s", "-", "-", "-");
}

static void
print_flat_out (const BenchReport *report, const BenchRow *row)
{
  const BenchCase *c = bench_case (report, row);
  const char *which;
  double part = of_limit (report, row, &which);
  const char *backend = c->kernels_only ? "kernels" : backend_of (row);

  printf (" %8s %8.1f %8.3f", c->naive ? "naive C" : backend, row->fps, row->ms);
  if (row->max > 0)
    printf (" %8.3f %8.3f %8.3f", row->p50, row->p99, row->max);
  else /* the line changed the time stamps that identify frames, or is FFmpeg's */
    printf (" %8s %8s %8s", "-", "-", "-");
  printf (" %6.2f %8.3f", row->cores, row->cpu_ms);
  print_element_times (row);
  if (part > 0)
    printf ("  %.1f%% %s", 100 * part, which);
  if (on_gpu (row) && of_memcpy (report, row) > 0)
    printf ("  %.1f%% memcpy, one thread", 100 * of_memcpy (report, row));
  if (row->of_kernels > 0 && c->memory == BENCH_CUDA)
    printf ("  %+.1f us", row->over_kernels);
}

static void
print_real_time (const BenchReport *report, const BenchRow *row, const BenchCase *c)
{
  const char *which;
  double part = of_limit (report, row, &which);

  printf (" %8s %8d %8.1f %7.0f %6" G_GUINT64_FORMAT " %6" G_GUINT64_FORMAT " %8.2f %8.2f %8.2f %6.2f",
      backend_of (row), c->cameras, row->fps, c->cameras * c->rate, row->late, row->dropped, row->p50, row->p99,
      row->max, row->cores);
  if (part > 0)
    printf ("  %.1f%% %s", 100 * part, which);
}

/* Prints the settings in which this row differs from others of its line. */
static void
print_differences (const BenchReport *report, const BenchRow *row, const BenchCase *c)
{
  guint64 fallback = 0;

  if (c->property)
    printf ("  %s=%s", c->property, c->value);
  if (!c->kernels_only && report->opt->memories->len > 1)
    printf ("  %s memory", bench_memory_names[c->memory]);
  if (c->processes > 1)
    printf ("  in %d processes", c->processes);
  if (c->gpus)
    printf ("  on %d GPU%s", c->gpus, c->gpus == 1 ? "" : "s");
  if (row->of_kernels > 0)
    printf ("  x%.2f kernels only", row->of_kernels);
  if (c->cores)
    printf ("  on %d core%s", c->cores, c->cores == 1 ? "" : "s");
  if (c->cameras > 1 && report->opt->rate == 0)
    printf ("  %d at once", c->cameras);
  if (row->speedup > 0)
    printf ("  x%.2f %s", row->speedup, row->over_naive ? "naive C" : "one core");
  for (int i = 0; i < row->n_elements; i++)
    fallback += row->element[i].fallback;
  if (fallback)
    printf ("  %" G_GUINT64_FORMAT " frames on which the GPU failed", fallback);
  if (row->interrupted)
    printf ("  (ended early)");
  if (row->note[0])
    printf ("  note: %s", row->note);
}

void
bench_table_row (const BenchReport *report, const BenchRow *row)
{
  const BenchCase *c = bench_case (report, row);
  gssize last = row - report->rows - 1; /* the row printed before this one */
  g_autofree char *size = g_strdup_printf ("%dx%d %s", c->size.width, c->size.height,
      row->format[0] ? row->format : c->format);

  bench_progress (NULL);
  while (last >= 0 && !report->rows[last].done)
    last--;
  if (last < 0 || c->line != bench_case (report, &report->rows[last])->line)
    head (report, c);
  printf ("%22s", size);
  if (row->state == BENCH_GOOD) {
    if (report->opt->rate > 0)
      print_real_time (report, row, c);
    else
      print_flat_out (report, row);
    print_differences (report, row, c);
  } else {
    if (c->property)
      printf ("  %s=%s", c->property, c->value);
    if (report->opt->memories->len > 1)
      printf ("  %s memory", bench_memory_names[c->memory]);
    printf ("  %s: %s", row->state == BENCH_FAILED ? "failed" : "left out", row->note);
  }
  putchar ('\n');
  fflush (stdout);
}

/* ---- JSON: a member's name ends in the unit of its value ------------------ */

/* Returns a new object at the end of the array, which owns it. */
static JsonObject *
add_object (JsonArray *array)
{
  JsonObject *object = json_object_new ();

  json_array_add_object_element (array, object);
  return object;
}

static void
add_machine (JsonObject *out, const BenchMachine *m)
{
  json_object_set_string_member (out, "cpu", m->cpu);
  json_object_set_int_member (out, "cores", m->cores);
  json_object_set_string_member (out, "isa", m->isa);
  json_object_set_string_member (out, "gstreamer", m->gstreamer);
  json_object_set_int_member (out, "gpus", m->gpus);
  json_object_set_string_member (out, "gpu", m->gpus ? m->gpu : NULL);
  json_object_set_string_member (out, "why_no_gpu", m->gpus ? NULL : m->why_no_gpu);
}

static void
add_limit (JsonObject *out, const BenchLimit *limit)
{
  json_object_set_int_member (out, "width", limit->size.width);
  json_object_set_int_member (out, "height", limit->size.height);
  json_object_set_string_member (out, "format", limit->format);
  json_object_set_int_member (out, "frame_bytes", (gint64) limit->frame_bytes);
  json_object_set_double_member (out, "memcpy_one_thread_gbs", limit->copy_one);
  json_object_set_double_member (out, "memcpy_all_threads_gbs", limit->copy_all);
  if (limit->both > 0) {
    json_object_set_double_member (out, "link_up_gbs", limit->up);
    json_object_set_double_member (out, "link_down_gbs", limit->down);
    json_object_set_double_member (out, "link_both_gbs", limit->both);
    json_object_set_double_member (out, "link_trip_us", limit->trip);
  }
}

static void
add_element (JsonObject *out, const BenchElement *e)
{
  json_object_set_string_member (out, "element", e->name);
  json_object_set_string_member (out, "active_backend", e->backend);
  json_object_set_int_member (out, "frames", (gint64) e->frames);
  json_object_set_int_member (out, "frames_gpu", (gint64) e->gpu);
  json_object_set_int_member (out, "frames_cpu", (gint64) e->cpu);
  json_object_set_int_member (out, "frames_fallback", (gint64) e->fallback);
  json_object_set_int_member (out, "frames_passed", (gint64) e->passed);
  json_object_set_double_member (out, "upload_p50_us", e->upload_p50);
  json_object_set_double_member (out, "kernel_p50_us", e->kernel_p50);
  json_object_set_double_member (out, "download_p50_us", e->download_p50);
  json_object_set_double_member (out, "total_p50_us", e->total_p50);
}

static void
add_case (JsonObject *out, const BenchReport *report, const BenchCase *c, const BenchRow *row)
{
  json_object_set_string_member (out, "line", c->line);
  json_object_set_boolean_member (out, "peer", c->baseline);
  json_object_set_int_member (out, "width", c->size.width);
  json_object_set_int_member (out, "height", c->size.height);
  json_object_set_string_member (out, "format", row->format[0] ? row->format : c->format);
  json_object_set_int_member (out, "cameras", c->cameras);
  if (c->rate > 0)
    json_object_set_double_member (out, "rate", c->rate);
  json_object_set_int_member (out, "cores_allowed", (c->cores ? c->cores : report->machine->cores));
  json_object_set_int_member (out, "processes", c->processes);
  if (c->gpus)
    json_object_set_int_member (out, "gpus_used", c->gpus);
  json_object_set_string_member (out, "memory_asked", bench_memory_names[c->memory]);
  json_object_set_boolean_member (out, "bare", c->kernels_only);
  json_object_set_boolean_member (out, "naive", c->naive);
  json_object_set_boolean_member (out, "cpu_forced", c->cpu);
  if (c->property) {
    json_object_set_string_member (out, "property", c->property);
    json_object_set_string_member (out, "value", c->value);
  }
}

static void
add_times (JsonObject *out, const BenchReport *report, const BenchRow *row, const BenchCase *c)
{
  JsonArray *elements = json_array_new ();
  const char *which;
  double part = of_limit (report, row, &which);

  json_object_set_string_member (out, "backend", backend_of (row));
  json_object_set_string_member (out, "memory", row->memory);
  json_object_set_int_member (out, "rotating_frames", row->rotating);
  json_object_set_int_member (out, "frame_bytes", (gint64) row->frame_bytes);
  json_object_set_int_member (out, "frames", (gint64) row->frames);
  json_object_set_double_member (out, "seconds", row->seconds);
  json_object_set_double_member (out, "frames_per_second", row->fps);
  json_object_set_double_member (out, "frame_ms", row->ms);
  if (row->max > 0) { /* otherwise the line changed the time stamps that identify frames */
    json_object_set_double_member (out, "latency_p50_ms", row->p50);
    json_object_set_double_member (out, "latency_p99_ms", row->p99);
    json_object_set_double_member (out, "latency_max_ms", row->max);
  }
  json_object_set_double_member (out, "cores_busy", row->cores);
  json_object_set_double_member (out, "cpu_ms", row->cpu_ms);
  if (c->rate > 0) {
    json_object_set_int_member (out, "due", (gint64) row->due);
    json_object_set_int_member (out, "late", (gint64) row->late);
    json_object_set_int_member (out, "dropped", (gint64) row->dropped);
  }
  if (part > 0) {
    json_object_set_string_member (out, "limit", which);
    json_object_set_double_member (out, "of_limit", part);
  }
  if (of_memcpy (report, row) > 0)
    json_object_set_double_member (out, "of_memcpy_one_thread", of_memcpy (report, row));
  if (row->of_kernels > 0)
    json_object_set_double_member (out, "of_bare", row->of_kernels);
  if (row->of_kernels > 0 && c->memory == BENCH_CUDA)
    json_object_set_double_member (out, "over_bare_us", row->over_kernels);
  if (row->speedup > 0) {
    json_object_set_double_member (out, "speedup", row->speedup);
    json_object_set_string_member (out, "speedup_over", row->over_naive ? "naive C" : "one core");
  }
  for (int i = 0; i < row->n_elements; i++)
    add_element (add_object (elements), &row->element[i]);
  json_object_set_array_member (out, "elements", elements);
}

static void
add_row (JsonObject *out, const BenchReport *report, const BenchRow *row)
{
  static const char *const states[] = { "good", "failed", "left out" };
  const BenchCase *c = bench_case (report, row);

  add_case (out, report, c, row);
  json_object_set_string_member (out, "state", states[row->state]);
  json_object_set_boolean_member (out, "ended_early", row->interrupted);
  if (row->note[0])
    json_object_set_string_member (out, "note", row->note);
  if (row->state == BENCH_GOOD)
    add_times (out, report, row, c);
}

gboolean
bench_json_write (const BenchReport *report)
{
  JsonObject *out = json_object_new (), *machine = json_object_new ();
  JsonArray *limits = json_array_new (), *rows = json_array_new ();
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autoptr (JsonNode) root = json_node_alloc ();
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *date = g_date_time_format (now, "%Y-%m-%dT%H:%M:%SZ"), *text = NULL;
  gsize length;

  add_machine (machine, report->machine);
  for (guint i = 0; i < report->n_limits; i++)
    if (report->limits[i].frame_bytes)
      add_limit (add_object (limits), &report->limits[i]);
  for (guint i = 0; i < report->cases->len; i++)
    if (report->rows[i].done)
      add_row (add_object (rows), report, &report->rows[i]);
  json_object_set_string_member (out, "program", "bench of gst-cuda-filters");
  json_object_set_string_member (out, "date", date);
  json_object_set_object_member (out, "machine", machine);
  json_object_set_array_member (out, "limits", limits);
  json_object_set_array_member (out, "rows", rows);
  json_node_init_object (root, out);
  json_object_unref (out);
  json_generator_set_pretty (generator, TRUE);
  json_generator_set_root (generator, root);
  text = json_generator_to_data (generator, &length);
  return output_write ("--json", report->opt->json, report->opt->force, text, length);
}
