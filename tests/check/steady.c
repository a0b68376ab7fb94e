/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * steady.c: kernelcheck --segment: segments the same frames many times, on the GPU with few blocks
 * and with many. Every byte, region and label must equal those of the first run, which is compared
 * with the reference or, where the reference would be slow and on the GPU, with the CPU. The
 * frames are hard cases for concurrent threads: one region only, single cells only, nothing but
 * ties, a single row, more cells than any grid has threads. */
#define _GNU_SOURCE
#include "kernelcheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINE_NS 10000000000u

enum { FRAMES = 3, REFERENCE_PIXELS = 700 * 500 };

typedef enum { CONTENT, CHECKERS } Kind;

static const struct {
  const char *name;
  CfFormat format;
  int width, height;
  Kind kind;
  KcContent content;
} scenes[] = {
  { "a single pixel", CF_FORMAT_GRAY8, 1, 1, CONTENT, KC_PATCHES },
  { "a row", CF_FORMAT_RGBA, 4001, 1, CONTENT, KC_PATCHES },
  { "a column", CF_FORMAT_GRAY8, 1, 4001, CONTENT, KC_PATCHES },
  { "noise", CF_FORMAT_NV12, 643, 481, CONTENT, KC_RANDOM },
  { "ties", CF_FORMAT_GRAY8, 643, 481, CONTENT, KC_TIES },
  { "patches", CF_FORMAT_I420_10LE, 643, 481, CONTENT, KC_PATCHES },
  { "a checkerboard", CF_FORMAT_GRAY8, 643, 481, CHECKERS, KC_LOW },
  { "a large checkerboard", CF_FORMAT_GRAY8, 1919, 1081, CHECKERS, KC_LOW },
  { "one colour", CF_FORMAT_NV12, 1920, 1080, CONTENT, KC_HIGH },
  { "large patches", CF_FORMAT_NV12, 1920, 1080, CONTENT, KC_PATCHES },
  { "large noise", CF_FORMAT_GRAY8, 1920, 1080, CONTENT, KC_RANDOM },
  { "a 4K frame", CF_FORMAT_NV12, 3840, 2160, CONTENT, KC_NATURAL },
};

static const char *const settings[] = {
  "region-meta=1 label-meta=1", "region-meta=1 label-meta=1 temporal=0 min-size=1 cell-size=1 merge-threshold=0.02",
};

enum { N_SCENES = sizeof scenes / sizeof *scenes, N_SETTINGS = sizeof settings / sizeof *settings };

/* Blocks that a plan on the GPU may use; 0: the plan's own choice. */
static const int blocks[] = { 0, 1, 2, 7, 132 };

typedef struct {
  KcRun *run;
  int index;
  const CfFilter *filter;
  CfVideo video;
  void *params;
  KcImage in[FRAMES], out;
} Scene;

/* ---- frames ------------------------------------------------------------- */

static void
fill_checkers (KcImage *p, int frame)
{
  for (int y = 0; y < p->image.height; y++)
    for (int x = 0; x < p->image.width; x++)
      kc_put_word (&p->image, 0, x, y, (x + y + frame) % 2 ? 200 : 40);
}

static void
scene_free (Scene *s)
{
  for (int i = 0; i < FRAMES; i++)
    kc_image_free (&s->in[i]);
  kc_image_free (&s->out);
  cf_params_free (s->filter, s->params);
}

static bool
scene_new (Scene *s, KcRun *run, int index, const char *set, char *error)
{
  bool good;

  *s = (Scene) { .run = run, .index = index, .filter = cf_filter_find ("segment") };
  s->video = (CfVideo) { scenes[index].format, scenes[index].width, scenes[index].height, false };
  s->params = cf_params_new (s->filter);
  snprintf (error, KC_TEXT, "out of memory");
  if (!s->params)
    return false;
  good = kc_params_set (s->filter, s->params, set, error) == CF_OK && kc_image_new (&s->out, &s->video, KC_TIGHT, 1);
  for (int i = 0; good && i < FRAMES; i++) {
    good = kc_image_new (&s->in[i], &s->video, KC_TIGHT, 1);
    if (good && scenes[index].kind == CHECKERS)
      fill_checkers (&s->in[i], i);
    else if (good)
      kc_image_fill (&s->in[i], scenes[index].content, i, run->options.seed);
  }
  return good;
}

/* ---- the hash of a run's results -------------------------------------- */

static void
mix (uint64_t *hash, uint64_t v)
{
  *hash = (*hash ^ v) * 0x9e3779b97f4a7c15u;
  *hash ^= *hash >> 29;
}

static void
mix_bytes (uint64_t *hash, const void *data, size_t size)
{
  const uint8_t *at = data;

  for (; size >= 8; at += 8, size -= 8) {
    uint64_t v;

    memcpy (&v, at, 8);
    mix (hash, v);
  }
  for (; size > 0; at++, size--)
    mix (hash, *at);
}

static void
mix_image (uint64_t *hash, const KcImage *p)
{
  for (int i = 0; i < CF_MAX_PLANES && p->mem[i].size; i++)
    mix_bytes (hash, p->mem[i].base, p->mem[i].size);
}

/* Leaves out the means, which may be rounded; regions.c compares them. */
static void
mix_regions (uint64_t *hash, const CfVideo *video, const CfRegion *region, unsigned n, const uint16_t *label,
    size_t pitch)
{
  mix (hash, n);
  for (unsigned i = 0; i < n; i++) {
    const CfRegion *r = &region[i];

    mix (hash, (uint64_t) r->id << 32 | r->age);
    mix (hash, r->area);
    if (!r->area)
      continue;
    mix (hash, (uint64_t) (unsigned) r->x << 32 | (unsigned) r->y);
    mix (hash, (uint64_t) (unsigned) r->width << 32 | (unsigned) r->height);
  }
  for (int y = 0; y < video->height; y++)
    mix_bytes (hash, (const uint8_t *) label + (size_t) y * pitch, sizeof *label * (size_t) video->width);
}

static bool
reference_run (Scene *s, uint64_t *hash)
{
  const CfCommon common = { CF_APPLY_ALL };
  void *state = NULL;
  bool good = true;

  *hash = 0;
  for (int i = 0; good && i < FRAMES; i++) {
    KcRegions regions = { 0 };

    kc_image_poison (&s->out, 1);
    good = kc_segment.stateful_reference (s->filter, &s->video, &common, s->params, &state, &s->in[i].image,
        &s->out.image, &regions);
    if (good) {
      mix_image (hash, &s->out);
      mix_regions (hash, &s->video, regions.region, regions.n, regions.label,
          sizeof *regions.label * (size_t) s->video.width);
    }
    kc_regions_free (&regions);
  }
  kc_segment.free_state (state);
  return good;
}

/* ---- a plan ------------------------------------------------------------- */

typedef struct {
  Scene *s;
  CfPlan *plan;
  bool cuda;
  CfImage in[FRAMES], out;
  void *memory[CF_MAX_PLANES * (FRAMES + 1)];
  int n_memory;
  CfStatus status;
} Subject;

static bool
to_device (Subject *subject, const KcImage *host, CfImage *image)
{
  *image = host->image;
  for (int i = 0; i < CF_MAX_PLANES && host->mem[i].size; i++) {
    void *memory = cf_device_alloc (host->mem[i].size, &subject->status);

    if (!memory)
      return false;
    subject->memory[subject->n_memory++] = memory;
    image->plane[i].data = memory; /* a tight image begins with its first sample */
    if (!kc_upload (subject->s->run, memory, host->mem[i].base, host->mem[i].size, &subject->status))
      return false;
  }
  return true;
}

static void
subject_free (Subject *subject)
{
  cf_plan_free (subject->plan);
  for (int i = 0; i < subject->n_memory; i++)
    cf_device_free (subject->memory[i]);
}

static bool
subject_new (Subject *subject, Scene *s, CfContext *context)
{
  const CfCommon common = { CF_APPLY_ALL };
  bool good = true;

  *subject = (Subject) { .s = s, .cuda = context == s->run->gpu, .out = s->out.image };
  for (int i = 0; i < FRAMES && good; i++) {
    subject->in[i] = s->in[i].image;
    good = !subject->cuda || to_device (subject, &s->in[i], &subject->in[i]);
  }
  good = good && (!subject->cuda || to_device (subject, &s->out, &subject->out));
  if (good)
    subject->plan = cf_plan_new (context, s->filter, &s->video, &common, s->params, &subject->status);
  return subject->plan;
}

/* Resets the plan and filters all frames. Returns false with a status on failure. */
static bool
subject_run (Subject *subject, uint64_t *hash)
{
  Scene *s = subject->s;
  CfStream *stream = subject->cuda ? s->run->stream : NULL;

  *hash = 0;
  cf_plan_reset (subject->plan);
  for (int i = 0; i < FRAMES; i++) {
    CfRegions regions;
    bool good = cf_plan_enqueue (subject->plan, stream, &subject->in[i], &subject->out, &subject->status) == CF_OK;

    good = good && (!subject->cuda || cf_stream_wait (stream, DEADLINE_NS, &subject->status) == CF_OK);
    for (int k = 0; good && subject->cuda && k < CF_MAX_PLANES && s->out.mem[k].size; k++)
      good = kc_download (s->run, s->out.mem[k].base, subject->out.plane[k].data, s->out.mem[k].size, &subject->status);
    if (!good || cf_plan_regions (subject->plan, &regions, &subject->status) != CF_OK)
      return false;
    if (!regions.label) {
      snprintf (subject->status.message, sizeof subject->status.message, "no labels are reported");
      return false;
    }
    mix_image (hash, &s->out);
    mix_regions (hash, &s->video, regions.region, regions.n, regions.label, regions.pitch);
    s->run->frames++;
  }
  return true;
}

static void
repeat_runs (Subject *subject, const char *what, uint64_t expected, long runs)
{
  KcRun *run = subject->s->run;

  for (long i = 0; i < runs; i++) {
    uint64_t hash;
    const bool ran = subject_run (subject, &hash);

    run->cases++;
    kc_result (run, ran && hash == expected, "%s, run %ld of %ld: %s", what, i + 1, runs,
        ran ? "not what was expected" : subject->status.message);
    if (!ran || hash != expected)
      return;
  }
}

/* ---- when regions are requested --------------------------------------- */

static bool
update (Subject *subject, const char *set)
{
  const CfCommon common = { CF_APPLY_ALL };
  char error[KC_TEXT];

  return kc_params_set (subject->s->filter, subject->s->params, set, error) == CF_OK &&
      cf_plan_update (subject->plan, &common, subject->s->params, &subject->status) == CF_OK;
}

static bool
run_frame (Subject *subject)
{
  CfStream *stream = subject->cuda ? subject->s->run->stream : NULL;

  return cf_plan_enqueue (subject->plan, stream, &subject->in[0], &subject->out, &subject->status) == CF_OK &&
      (!subject->cuda || cf_stream_wait (stream, DEADLINE_NS, &subject->status) == CF_OK);
}

typedef enum { NONE, SOME, EITHER } Expected;

/* Returns whether the plan reports regions and labels as expected. */
static bool
reports (Subject *subject, Expected expected, bool labels)
{
  CfRegions regions;

  return cf_plan_regions (subject->plan, &regions, &subject->status) == CF_OK && (regions.label != NULL) == labels &&
      (expected == EITHER || (regions.n > 0) == (expected == SOME));
}

/* Checks that only frames filtered while regions were requested report them. Whether a plan
 * drops the last frame's regions when labels are switched on or off is left to the plan. */
static void
check_requests (KcRun *run, CfContext *context)
{
  Scene s;
  Subject subject = { 0 };
  char error[KC_TEXT];
  bool good = scene_new (&s, run, 5, "region-meta=0", error) && subject_new (&subject, &s, context);

  kc_result (run,
      good && run_frame (&subject) && cf_plan_regions (subject.plan, &(CfRegions) { 0 }, NULL) == CF_BAD_VALUE,
      "regions are reported without a request");
  kc_result (run, good && update (&subject, "region-meta=1") && reports (&subject, NONE, false),
      "regions are reported for a frame filtered before the request");
  kc_result (run, good && run_frame (&subject) && reports  (&subject, SOME, false),
      "regions are missing, or labels are reported without a request");
  kc_result (run, good && update (&subject, "label-meta=1") && reports (&subject, EITHER, false),
      "labels are reported for a frame filtered before the request");
  kc_result (run, good && run_frame (&subject) && reports (&subject, SOME, true), "regions or labels are missing");
  kc_result (run, good && update (&subject, "label-meta=0") && reports (&subject, EITHER, false),
      "labels are reported without a request");
  if (subject.plan)
    subject_free (&subject);
  scene_free (&s);
}

/* ---- all scenes ------------------------------------------------------- */

/* Computes the hash that all other runs are compared with. */
static bool
first_run (Scene *s, CfContext *cpu, uint64_t *hash)
{
  Subject subject;
  bool good;

  if (s->video.width * s->video.height <= REFERENCE_PIXELS)
    return reference_run (s, hash);
  good = subject_new (&subject, s, cpu) && subject_run (&subject, hash);
  kc_result (s->run, good, "%s: %s", scenes[s->index].name, subject.status.message);
  subject_free (&subject);
  return good;
}

static void
run_scene (Scene *s, const char *set, CfContext *cpu, long runs)
{
  KcRun *run = s->run;
  char what[KC_TEXT];
  uint64_t expected;
  Subject subject;

  if (!first_run (s, cpu, &expected))
    return;
  if (run->cpu) {
    snprintf (what, sizeof what, "%s on the CPU with %s", scenes[s->index].name, set);
    if (subject_new (&subject, s, run->cpu))
      repeat_runs (&subject, what, expected, runs);
    else
      kc_result (run, false, "%s: %s", what, subject.status.message);
    subject_free (&subject);
  }
  for (size_t b = 0; run->gpu && b < sizeof blocks / sizeof *blocks; b++) {
    snprintf (what, sizeof what, "%s on the GPU with %s, %d blocks", scenes[s->index].name, set, blocks[b]);
    /* One fifth of the runs: a single block is slow on a large frame. */
    if (subject_new (&subject, s, run->gpu) &&
        (!blocks[b] || cf_plan_override (subject.plan, "blocks", blocks[b], &subject.status) == CF_OK))
      repeat_runs (&subject, what, expected, blocks[b] ? runs / 5 + 1 : runs);
    else
      kc_result (run, false, "%s: %s", what, subject.status.message);
    subject_free (&subject);
  }
}

void
kc_steady (KcRun *run)
{
  const long runs = run->options.frames ? run->options.frames : run->options.quick ? 2 : 100;
  CfStatus status = { 0 };
  CfContext *cpu = cf_context_new (CF_BACKEND_CPU, &status);
  char error[KC_TEXT];

  if (!cpu) {
    kc_result (run, false, "no CPU context: %s", status.message);
    return;
  }
  if (run->cpu)
    check_requests (run, run->cpu);
  if (run->gpu)
    check_requests (run, run->gpu);
  for (int p = 0; p < N_SCENES; p++)
    for (int i = 0; i < N_SETTINGS; i++) {
      Scene s;

      /* With --quick large frames are segmented with cells of two pixels only. */
      if (run->options.quick && i > 0 && scenes[p].width * scenes[p].height > REFERENCE_PIXELS)
        continue;
      if (scene_new (&s, run, p, settings[i], error))
        run_scene (&s, settings[i], cpu, runs);
      else
        kc_result (run, false, "%s: %s", scenes[p].name, error);
      scene_free (&s);
    }
  cf_context_free (cpu);
}
