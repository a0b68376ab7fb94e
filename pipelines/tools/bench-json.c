/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-json.c: writes all results for other programs. A member's name ends in the
 * unit of its value. */

#include "bench.h"
#include "line.h"

#include <json-glib/json-glib.h>
#include <string.h>

static void
text (JsonBuilder *out, const char *name, const char *value)
{
  json_builder_set_member_name (out, name);
  if (value)
    json_builder_add_string_value (out, value);
  else
    json_builder_add_null_value (out);
}

static void
number (JsonBuilder *out, const char *name, double value)
{
  json_builder_set_member_name (out, name);
  json_builder_add_double_value (out, value);
}

static void
count (JsonBuilder *out, const char *name, guint64 value)
{
  json_builder_set_member_name (out, name);
  json_builder_add_int_value (out, (gint64) value);
}

static void
truth (JsonBuilder *out, const char *name, gboolean value)
{
  json_builder_set_member_name (out, name);
  json_builder_add_boolean_value (out, value);
}

static void
add_machine (JsonBuilder *out, const BenchMachine *m)
{
  json_builder_set_member_name (out, "machine");
  json_builder_begin_object (out);
  text (out, "cpu", m->cpu);
  count (out, "cores", (guint64) m->cores);
  text (out, "isa", m->isa);
  text (out, "gstreamer", m->gstreamer);
  count (out, "gpus", (guint64) m->gpus);
  text (out, "gpu", m->gpus ? m->gpu : NULL);
  text (out, "why_no_gpu", m->gpus ? NULL : m->why_no_gpu);
  json_builder_end_object (out);
}

static void
add_limits (JsonBuilder *out, const GArray *limits)
{
  json_builder_set_member_name (out, "limits");
  json_builder_begin_array (out);
  for (guint i = 0; i < limits->len; i++) {
    const BenchLimit *limit = &g_array_index (limits, BenchLimit, i);

    json_builder_begin_object (out);
    count (out, "width", (guint64) limit->size.width);
    count (out, "height", (guint64) limit->size.height);
    text (out, "format", limit->format);
    count (out, "frame_bytes", limit->frame_bytes);
    number (out, "memcpy_one_thread_gbs", limit->copy_one);
    number (out, "memcpy_all_threads_gbs", limit->copy_all);
    if (limit->both > 0) {
      number (out, "link_up_gbs", limit->up);
      number (out, "link_down_gbs", limit->down);
      number (out, "link_both_gbs", limit->both);
      number (out, "link_trip_us", limit->trip);
    }
    json_builder_end_object (out);
  }
  json_builder_end_array (out);
}

static void
add_elements (JsonBuilder *out, const BenchRow *row)
{
  json_builder_set_member_name (out, "elements");
  json_builder_begin_array (out);
  for (int i = 0; i < row->n_elements; i++) {
    const BenchElement *e = &row->element[i];
    const struct {
      const char *name;
      double value;
    } times[] = { { "upload_p50_us", e->upload_p50 }, { "kernel_p50_us", e->kernel_p50 },
      { "download_p50_us", e->download_p50 }, { "total_p50_us", e->total_p50 } };

    json_builder_begin_object (out);
    text (out, "element", e->name);
    text (out, "active_backend", e->backend);
    count (out, "frames", e->frames);
    count (out, "frames_gpu", e->gpu);
    count (out, "frames_cpu", e->cpu);
    count (out, "frames_fallback", e->fallback);
    count (out, "frames_passed", e->passed);
    for (guint t = 0; t < G_N_ELEMENTS (times); t++)
      number (out, times[t].name, times[t].value);
    json_builder_end_object (out);
  }
  json_builder_end_array (out);
}

static void
add_case (JsonBuilder *out, const BenchReport *report, const BenchCase *c, const BenchRow *row)
{
  text (out, "line", c->line);
  truth (out, "peer", c->baseline);
  count (out, "width", (guint64) c->size.width);
  count (out, "height", (guint64) c->size.height);
  text (out, "format", row->format[0] ? row->format : c->format);
  count (out, "cameras", (guint64) c->cameras);
  if (c->rate > 0)
    number (out, "rate", c->rate);
  count (out, "cores_allowed", (guint64) (c->cores ? c->cores : report->machine.cores));
  count (out, "processes", (guint64) c->processes);
  if (c->gpus)
    count (out, "gpus_used", (guint64) c->gpus);
  text (out, "memory_asked", bench_memory_names[c->memory]);
  truth (out, "bare", c->kernels_only);
  truth (out, "cpu_forced", c->cpu);
  if (c->property) {
    text (out, "property", c->property);
    text (out, "value", c->value);
  }
}

static void
add_times (JsonBuilder *out, const BenchReport *report, const BenchRow *row, const BenchCase *c)
{
  const char *which;
  double part = c->kernels_only ? 0 : bench_of_limit (report, row, &which);

  text (out, "backend", bench_backend (row));
  text (out, "memory", row->memory);
  count (out, "rotating_frames", (guint64) row->rotating);
  count (out, "frame_bytes", row->frame_bytes);
  count (out, "frames", row->frames);
  number (out, "seconds", row->seconds);
  number (out, "frames_per_second", row->fps);
  number (out, "frame_ms", row->ms);
  if (row->max > 0) { /* otherwise the line changed the time stamps that identify frames */
    number (out, "latency_p50_ms", row->p50);
    number (out, "latency_p99_ms", row->p99);
    number (out, "latency_max_ms", row->max);
  }
  number (out, "cores_busy", row->cores);
  number (out, "cpu_ms", row->cpu_ms);
  if (c->rate > 0) {
    count (out, "due", row->due);
    count (out, "late", row->late);
    count (out, "dropped", row->dropped);
  }
  if (part > 0) {
    text (out, "limit", which);
    number (out, "of_limit", part);
  }
  if (c->memory == BENCH_PLAIN && bench_of_memcpy (report, row) > 0)
    number (out, "of_memcpy_one_thread", bench_of_memcpy (report, row));
  if (row->of_kernels > 0)
    number (out, "of_bare", row->of_kernels);
  if (row->of_kernels > 0 && c->memory == BENCH_CUDA)
    number (out, "over_bare_us", row->over_kernels);
  if (row->speedup > 0)
    number (out, "speedup", row->speedup);
  add_elements (out, row);
}

static void
add_row (JsonBuilder *out, const BenchReport *report, const BenchRow *row)
{
  static const char *const states[] = { "good", "failed", "left out" };
  const BenchCase *c = bench_case (report, row);

  json_builder_begin_object (out);
  add_case (out, report, c, row);
  text (out, "state", states[row->state]);
  truth (out, "ended_early", row->interrupted);
  if (row->note[0])
    text (out, "note", row->note);
  if (row->state == BENCH_GOOD)
    add_times (out, report, row, c);
  json_builder_end_object (out);
}

gboolean
bench_json_write (const BenchReport *report, const char *path)
{
  g_autoptr (JsonBuilder) out = json_builder_new ();
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *date = g_date_time_format (now, "%Y-%m-%dT%H:%M:%SZ");
  g_autoptr (GError) error = NULL;
  JsonNode *root;

  json_builder_begin_object (out);
  text (out, "program", "bench of gst-cuda-filters");
  text (out, "date", date);
  add_machine (out, &report->machine);
  add_limits (out, report->limits);
  json_builder_set_member_name (out, "rows");
  json_builder_begin_array (out);
  for (guint i = 0; i < report->rows->len; i++)
    add_row (out, report, &g_array_index (report->rows, BenchRow, i));
  json_builder_end_array (out);
  json_builder_end_object (out);
  root = json_builder_get_root (out);
  json_generator_set_pretty (generator, TRUE);
  json_generator_set_root (generator, root);
  json_node_unref (root);
  if (!json_generator_to_file (generator, path, &error)) {
    say ("bench: --json %s: %s", path, error->message);
    return FALSE;
  }
  return TRUE;
}
