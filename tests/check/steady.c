/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * steady.c: kernelcheck --segment: segments the same frames many times, on the GPU with few blocks and with many. Every
 * byte, region and label must equal those of the first run, which is compared with the reference or, where the
 * reference would be slow and on the GPU, with the CPU. The frames are hard cases for concurrent threads: one region
 * only, single cells only, nothing but ties, a single row, more cells than any grid has threads. */
#include "kernelcheck.h"

#include <stdio.h>
#include <string.h>

#define DEADLINE_NS 10000000000u

enum { FRAMES = 3, REFERENCE_PIXELS = 700 * 500 };

/* In the place of a content. */
#define CHECKERS KC_N_CONTENTS

static const struct {
  const char *name;
  CfFormat format;
  int width, height;
  KcContent content;
} scenes[] = {
  { "a single pixel", CF_FORMAT_GRAY8, 1, 1, KC_PATCHES },
  { "a row", CF_FORMAT_RGBA, 4001, 1, KC_PATCHES },
  { "a column", CF_FORMAT_GRAY8, 1, 4001, KC_PATCHES },
  { "noise", CF_FORMAT_NV12, 323, 241, KC_RANDOM },
  { "ties", CF_FORMAT_GRAY8, 643, 481, KC_TIES },
  { "patches", CF_FORMAT_I420_10LE, 643, 481, KC_PATCHES },
  { "a checkerboard", CF_FORMAT_GRAY8, 643, 481, CHECKERS },
  { "a large checkerboard", CF_FORMAT_GRAY8, 1919, 1081, CHECKERS },
  { "one colour", CF_FORMAT_NV12, 1920, 1080, KC_HIGH },
  { "large patches", CF_FORMAT_NV12, 1920, 1080, KC_PATCHES },
  { "large noise", CF_FORMAT_GRAY8, 1920, 1080, KC_RANDOM },
  { "a 4K frame", CF_FORMAT_NV12, 3840, 2160, KC_NATURAL },
};

static const char *const settings[] = {
  "region-meta=1 label-meta=1",
  "region-meta=1 label-meta=1 temporal=0 min-size=1 cell-size=1 merge-threshold=0.02 max-regions=8192",
};

/* Overrides of a plan on the GPU: blocks of the graph kernel (0: its own choice), and by how many ns at most some of
 * them are late where they wait for each other. */
typedef struct {
  int blocks, delay;
} Overrides;

static const Overrides overrides[] = { { 0, 0 }, { 1, 0 }, { 2, 0 }, { 7, 0 }, { 132, 0 }, { 2, 40000 }, { 7, 20000 },
  { 132, 20000 }, { 132, 3000 } };

typedef struct {
  KcRun *run;
  size_t index;
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
scene_new (Scene *s, KcRun *run, size_t index, const char *set, CfStatus *status)
{
  *s = (Scene) { .run = run, .index = index, .filter = cf_filter_find ("segment") };
  s->video = (CfVideo) { scenes[index].format, scenes[index].width, scenes[index].height, false };
  kc_image_new (&s->out, &s->video, KC_TIGHT, 1);
  for (int i = 0; i < FRAMES; i++) {
    kc_image_new (&s->in[i], &s->video, KC_TIGHT, 1);
    if (scenes[index].content == CHECKERS)
      fill_checkers (&s->in[i], i);
    else
      kc_image_fill (&s->in[i], scenes[index].content, i, run->options.seed);
  }
  return (s->params = kc_params_new (s->filter, set, status));
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

  for (size_t n; size > 0; at += n, size -= n) {
    uint64_t v = 0;

    n = MIN (size, sizeof v);
    memcpy (&v, at, n);
    mix (hash, v);
  }
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
    mix (hash, (uint64_t) r->confirmed << 32 | r->fresh);
    if (!r->area)
      continue;
    mix (hash, (uint64_t) (unsigned) r->x << 32 | (unsigned) r->y);
    mix (hash, (uint64_t) (unsigned) r->width << 32 | (unsigned) r->height);
  }
  for (int y = 0; y < video->height; y++)
    mix_bytes (hash, (const uint8_t *) label + (size_t) y * pitch, sizeof *label * (size_t) video->width);
}

static void
reference_run (Scene *s, uint64_t *hash)
{
  const CfCommon common = { 0 };
  void *state = NULL;

  *hash = 0;
  for (int i = 0; i < FRAMES; i++) {
    KcRegions regions = { 0 };

    kc_image_poison (&s->out, 1);
    kc_segment.stateful_reference (s->filter, &s->video, &common, s->params, &state, &s->in[i].image, &s->out.image,
        &regions);
    mix_image (hash, &s->out);
    mix_regions (hash, &s->video, regions.region, regions.n, regions.label,
        sizeof *regions.label * (size_t) s->video.width);
    kc_regions_free (&regions);
  }
  kc_segment.free_state (state);
}

/* ---- a plan ------------------------------------------------------------- */

typedef struct {
  Scene *s;
  CfPlan *plan;
  bool cuda;
  KcDeviceImage in[FRAMES], out; /* `image` alone is set where a plan on the CPU uses the scene's images */
  CfStatus status;
} Subject;

static bool
subject_image (Subject *subject, KcImage *host, KcDeviceImage *d)
{
  d->image = host->image;
  return !subject->cuda ||
      (kc_device_image_new (d, host, false, &subject->status) &&
          kc_device_image_copy (subject->s->run, CF_UPLOAD, d, host, &subject->status));
}

static void
subject_free (Subject *subject)
{
  cf_plan_free (subject->plan);
  for (int i = 0; i < FRAMES; i++)
    kc_device_image_free (&subject->in[i]);
  kc_device_image_free (&subject->out);
}

static bool
subject_new (Subject *subject, Scene *s, CfContext *context)
{
  const CfCommon common = { 0 };
  bool good = true;

  *subject = (Subject) { .s = s, .cuda = context == s->run->gpu };
  for (int i = 0; good && i < FRAMES; i++)
    good = subject_image (subject, &s->in[i], &subject->in[i]);
  if (good && subject_image (subject, &s->out, &subject->out))
    subject->plan = cf_plan_new (context, s->filter, &s->video, &common, s->params, &subject->status);
  return subject->plan;
}

static bool
run_frame (Subject *subject, int i)
{
  CfStream *stream = subject->cuda ? subject->s->run->stream : NULL;

  return cf_plan_enqueue (subject->plan, stream, &(CfFrame) { .in = &subject->in[i].image, .out = &subject->out.image },
             &subject->status) == CF_OK &&
      (!stream || cf_stream_wait (stream, DEADLINE_NS, NULL, &subject->status) == CF_OK);
}

/* Resets the plan and filters all frames. Returns false with a status on failure. */
static bool
subject_run (Subject *subject, uint64_t *hash)
{
  Scene *s = subject->s;

  *hash = 0;
  cf_plan_reset (subject->plan);
  for (int i = 0; i < FRAMES; i++) {
    CfRegions regions;

    if (!run_frame (subject, i) ||
        (subject->cuda && !kc_device_image_copy (s->run, CF_DOWNLOAD, &subject->out, &s->out, &subject->status)) ||
        cf_plan_regions (subject->plan, &regions, &subject->status) != CF_OK)
      return false;
    if (!regions.label)
      return cf_fail (&subject->status, CF_BAD_VALUE, "no labels are reported") == CF_OK;
    mix_image (hash, &s->out);
    mix_regions (hash, &s->video, regions.region, regions.n, regions.label, regions.pitch);
    s->run->frames++;
  }
  return true;
}

static void
repeat_runs (Subject *subject, const Overrides *o, const char *what, uint64_t expected, long runs)
{
  KcRun *run = subject->s->run;

  for (long i = 0; i < runs; i++) {
    uint64_t hash;
    const bool ran = (!o->delay || cf_plan_override (subject->plan, "seed", (int) i, &subject->status) == CF_OK) &&
        subject_run (subject, &hash);

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
  const CfCommon common = { 0 };

  return kc_params_set (subject->s->filter, subject->s->params, set, &subject->status) == CF_OK &&
      cf_plan_update (subject->plan, &common, subject->s->params, &subject->status) == CF_OK;
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

/* Checks that only frames filtered while regions were requested report them. Whether a plan drops the last frame's
 * regions when labels are switched on or off is left to the plan. */
static void
check_requests (KcRun *run, CfContext *context)
{
  Scene s;
  Subject subject = { 0 };
  bool good = scene_new (&s, run, 5, "region-meta=0", &subject.status) && subject_new (&subject, &s, context);
  const struct {
    const char *update;
    bool filter;
    Expected expected;
    bool labels;
    const char *wrong;
  } steps[] = {
    { "region-meta=1", false, NONE, false, "regions are reported for a frame filtered before the request" },
    { NULL, true, SOME, false, "regions are missing, or labels are reported without a request" },
    { "label-meta=1", false, EITHER, false, "labels are reported for a frame filtered before the request" },
    { NULL, true, SOME, true, "regions or labels are missing" },
    { "label-meta=0", false, EITHER, false, "labels are reported without a request" },
  };

  good = good && run_frame (&subject, 0);
  kc_result (run, good && cf_plan_regions (subject.plan, &(CfRegions) { 0 }, NULL) == CF_BAD_VALUE,
      "regions are reported without a request");
  for (size_t i = 0; i < G_N_ELEMENTS (steps); i++) {
    good = good && (!steps[i].update || update (&subject, steps[i].update)) &&
        (!steps[i].filter || run_frame (&subject, 0));
    kc_result (run, good && reports (&subject, steps[i].expected, steps[i].labels), "%s", steps[i].wrong);
  }
  subject_free (&subject);
  scene_free (&s);
}

/* ---- ids ---------------------------------------------------------------- */

/* Checks the reported ids where the counted ones pass 2^31, in a frame that keeps no region. */
static void
check_ids (KcRun *run)
{
  Scene s;
  Subject subject = { 0 };
  CfRegions regions = { 0 };
  bool good = scene_new (&s, run, 5, "region-meta=1 temporal=0.0001", &subject.status) &&
      subject_new (&subject, &s, run->cpu) && run_frame (&subject, 0) &&
      cf_plan_override (subject.plan, "next-id", INT_MAX - 1, &subject.status) == CF_OK && run_frame (&subject, 1) &&
      cf_plan_regions (subject.plan, &regions, &subject.status) == CF_OK;

  for (unsigned i = 0; i < regions.n; i++)
    good = good && regions.region[i].id == (i < 2 ? INT_MAX - 1u + i : i - 2);
  kc_result (run, good && regions.n > 3, "ids do not begin again with 0 after 2^31 - 1, or %s", subject.status.message);
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

  if (s->video.width * s->video.height <= REFERENCE_PIXELS) {
    reference_run (s, hash);
    return true;
  }
  good = subject_new (&subject, s, cpu) && subject_run (&subject, hash);
  kc_result (s->run, good, "%s: %s", scenes[s->index].name, subject.status.message);
  subject_free (&subject);
  return good;
}

static void
run_on (Scene *s, CfContext *context, const Overrides *o, const char *what, uint64_t expected, long runs)
{
  Subject subject;

  if (subject_new (&subject, s, context) &&
      (!o->blocks || cf_plan_override (subject.plan, "blocks", o->blocks, &subject.status) == CF_OK) &&
      (!o->delay || cf_plan_override (subject.plan, "delay", o->delay, &subject.status) == CF_OK))
    repeat_runs (&subject, o, what, expected, runs);
  else
    kc_result (s->run, false, "%s: %s", what, subject.status.message);
  subject_free (&subject);
}

static void
run_scene (Scene *s, const char *set, CfContext *cpu, long runs)
{
  KcRun *run = s->run;
  char what[KC_TEXT];
  uint64_t expected;

  if (!first_run (s, cpu, &expected))
    return;
  snprintf (what, sizeof what, "%s on the CPU with %s", scenes[s->index].name, set);
  if (run->cpu)
    run_on (s, run->cpu, &overrides[0], what, expected, runs);
  for (size_t i = 0; run->gpu && i < G_N_ELEMENTS (overrides); i++) {
    const Overrides *o = &overrides[i];

    snprintf (what, sizeof what, "%s on the GPU with %s, %d blocks, some up to %d ns late", scenes[s->index].name, set,
        o->blocks, o->delay);
    /* Fewer runs: a single block is slow on a large frame, and late blocks on any. */
    run_on (s, run->gpu, o, what, expected, o->delay ? runs / 12 + 1 : i ? runs / 5 + 1 : runs);
  }
}

void
kc_steady (KcRun *run)
{
  const long runs = run->options.frames ? run->options.frames : run->options.quick ? 2 : 100;
  CfStatus status = { 0 };
  CfContext *cpu = cf_context_new (CF_BACKEND_CPU, &status);

  if (!cpu) {
    kc_result (run, false, "no CPU context: %s", status.message);
    return;
  }
  if (run->cpu) {
    check_requests (run, run->cpu);
    check_ids (run);
  }
  if (run->gpu)
    check_requests (run, run->gpu);
  for (size_t p = 0; p < G_N_ELEMENTS (scenes); p++)
    for (size_t i = 0; i < G_N_ELEMENTS (settings); i++) {
      Scene s;

      /* With --quick large frames are segmented with cells of two pixels only. */
      if (run->options.quick && i > 0 && scenes[p].width * scenes[p].height > REFERENCE_PIXELS)
        continue;
      if (scene_new (&s, run, p, settings[i], &status))
        run_scene (&s, settings[i], cpu, runs);
      else
        kc_result (run, false, "%s: %s", scenes[p].name, status.message);
      scene_free (&s);
    }
  cf_context_free (cpu);
}
