/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-json.c: writes all results for other programs. A member's name ends in the
 * unit of its value. */

#include "bench.h"
#include "output.h"

#include <json-glib/json-glib.h>

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
  double part = bench_of_limit (report, row, &which);

  json_object_set_string_member (out, "backend", bench_backend (row));
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
  if (bench_of_memcpy (report, row) > 0)
    json_object_set_double_member (out, "of_memcpy_one_thread", bench_of_memcpy (report, row));
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
