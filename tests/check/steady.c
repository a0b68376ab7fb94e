/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * steady.c: kernelcheck --segment: the same frames are segmented again and again,
 * on the GPU with few blocks and with many. Every byte, region and label must be
 * those of the first run, which is compared with the reference or, where that
 * would take long and on the GPU, with the CPU. Pictures that are hard on what
 * threads do at the same time: one region, none but single cells, nothing but
 * ties, a single line, more cells than any number of blocks has threads. */
#define _GNU_SOURCE
#include "kernelcheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINE_NS 10000000000u

enum { FRAMES = 3, REFERENCE_PIXELS = 700 * 500 };

typedef enum { LOOKS, CHECKERS } Kind;

static const struct {
  const char *name;
  CfFormat format;
  int width, height;
  Kind kind;
  KcContent content;
} pictures[] = {
  { "a single pixel", CF_FORMAT_GRAY8, 1, 1, LOOKS, KC_PATCHES },
  { "a row", CF_FORMAT_RGBA, 4001, 1, LOOKS, KC_PATCHES },
  { "a column", CF_FORMAT_GRAY8, 1, 4001, LOOKS, KC_PATCHES },
  { "noise", CF_FORMAT_NV12, 643, 481, LOOKS, KC_RANDOM },
  { "ties", CF_FORMAT_GRAY8, 643, 481, LOOKS, KC_TIES },
  { "patches", CF_FORMAT_I420_10LE, 643, 481, LOOKS, KC_PATCHES },
  { "a checkerboard", CF_FORMAT_GRAY8, 643, 481, CHECKERS, KC_LOW },
  { "a large checkerboard", CF_FORMAT_GRAY8, 1919, 1081, CHECKERS, KC_LOW },
  { "one colour", CF_FORMAT_NV12, 1920, 1080, LOOKS, KC_HIGH },
  { "large patches", CF_FORMAT_NV12, 1920, 1080, LOOKS, KC_PATCHES },
  { "large noise", CF_FORMAT_GRAY8, 1920, 1080, LOOKS, KC_RANDOM },
  { "a 4K picture", CF_FORMAT_NV12, 3840, 2160, LOOKS, KC_NATURAL },
};

static const char *const settings[] = {
  "region-meta=1 label-meta=1", "region-meta=1 label-meta=1 temporal=0 min-size=1 cell-size=1 merge-threshold=0.02",
};

enum { N_PICTURES = sizeof pictures / sizeof *pictures, N_SETTINGS = sizeof settings / sizeof *settings };

/* How many blocks a plan on the GPU may use; 0: as many as it likes. */
static const int blocks[] = { 0, 1, 2, 7, 132 };

typedef struct {
  KcRun *run;
  int picture;
  const CfFilter *filter;
  CfVideo video;
  void *params;
  KcPicture in[FRAMES], out;
} Scene;

/* ---- frames ------------------------------------------------------------- */

static void
fill_checkers (KcPicture *p, int frame)
{
  for (int y = 0; y < p->image.height; y++)
    for (int x = 0; x < p->image.width; x++)
      kc_put_word (&p->image, 0, x, y, (x + y + frame) % 2 ? 200 : 40);
}

static void
scene_free (Scene *s)
{
  for (int i = 0; i < FRAMES; i++)
    kc_picture_free (&s->in[i]);
  kc_picture_free (&s->out);
  kc_params_free (s->filter, s->params);
}

static bool
scene_new (Scene *s, KcRun *run, int picture, const char *set, char *error)
{
  bool good;

  *s = (Scene) { .run = run, .picture = picture, .filter = cf_filter_find ("segment") };
  s->video = (CfVideo) { pictures[picture].format, pictures[picture].width, pictures[picture].height, false };
  s->params = malloc (cf_filter_params_size (s->filter));
  snprintf (error, KC_TEXT, "out of memory");
  if (!s->params)
    return false;
  cf_filter_defaults (s->filter, s->params);
  good = kc_params_set (s->filter, s->params, set, error) == CF_OK && kc_picture_new (&s->out, &s->video, KC_TIGHT, 1);
  for (int i = 0; good && i < FRAMES; i++) {
    good = kc_picture_new (&s->in[i], &s->video, KC_TIGHT, 1);
    if (good && pictures[picture].kind == CHECKERS)
      fill_checkers (&s->in[i], i);
    else if (good)
      kc_picture_fill (&s->in[i], pictures[picture].content, i, run->options.seed);
  }
  return good;
}

/* ---- what a run gives, as one number ------------------------------------ */

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
mix_picture (uint64_t *hash, const KcPicture *p)
{
  for (int i = 0; i < CF_MAX_PLANES && p->mem[i].size; i++)
    mix_bytes (hash, p->mem[i].base, p->mem[i].size);
}

/* The means are compared elsewhere: they are the only ones that may be rounded. */
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
    KcRegions told = { 0 };

    kc_picture_poison (&s->out, 1);
    good = kc_segment.follow (s->filter, &s->video, &common, s->params, &state, &s->in[i].image, &s->out.image, &told);
    if (good) {
      mix_picture (hash, &s->out);
      mix_regions (hash, &s->video, told.region, told.n, told.label, sizeof *told.label * (size_t) s->video.width);
    }
    kc_regions_free (&told);
  }
  kc_segment.forget (state);
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
to_device (Subject *j, const KcPicture *host, CfImage *image)
{
  *image = host->image;
  for (int i = 0; i < CF_MAX_PLANES && host->mem[i].size; i++) {
    void *memory = cf_device_alloc (host->mem[i].size, &j->status);

    if (!memory)
      return false;
    j->memory[j->n_memory++] = memory;
    image->plane[i].data = memory; /* a tight picture begins with its first sample */
    if (!kc_upload (j->s->run, memory, host->mem[i].base, host->mem[i].size, &j->status))
      return false;
  }
  return true;
}

static void
subject_free (Subject *j)
{
  cf_plan_free (j->plan);
  for (int i = 0; i < j->n_memory; i++)
    cf_device_free (j->memory[i]);
}

static bool
subject_new (Subject *j, Scene *s, CfContext *context)
{
  const CfCommon common = { CF_APPLY_ALL };
  bool good = true;

  *j = (Subject) { .s = s, .cuda = cf_context_backend (context) == CF_BACKEND_CUDA, .out = s->out.image };
  for (int i = 0; i < FRAMES && good; i++) {
    j->in[i] = s->in[i].image;
    good = !j->cuda || to_device (j, &s->in[i], &j->in[i]);
  }
  good = good && (!j->cuda || to_device (j, &s->out, &j->out));
  if (good)
    j->plan = cf_plan_new (context, s->filter, &s->video, &common, s->params, &j->status);
  return j->plan;
}

/* From a reset through all frames; false: status says why. */
static bool
subject_run (Subject *j, uint64_t *hash)
{
  Scene *s = j->s;
  CfStream *stream = j->cuda ? s->run->stream : NULL;

  *hash = 0;
  cf_plan_reset (j->plan);
  for (int i = 0; i < FRAMES; i++) {
    CfRegions told;
    bool good = cf_plan_enqueue (j->plan, stream, &j->in[i], &j->out, &j->status) == CF_OK;

    good = good && (!j->cuda || cf_stream_wait (stream, DEADLINE_NS, &j->status) == CF_OK);
    for (int k = 0; good && j->cuda && k < CF_MAX_PLANES && s->out.mem[k].size; k++)
      good = kc_download (s->run, s->out.mem[k].base, j->out.plane[k].data, s->out.mem[k].size, &j->status);
    if (!good || cf_plan_regions (j->plan, &told, &j->status) != CF_OK)
      return false;
    if (!told.label) {
      snprintf (j->status.message, sizeof j->status.message, "no labels are told");
      return false;
    }
    mix_picture (hash, &s->out);
    mix_regions (hash, &s->video, told.region, told.n, told.label, told.pitch);
    s->run->frames++;
  }
  return true;
}

static void
again_and_again (Subject *j, const char *what, uint64_t expected, long runs)
{
  KcRun *run = j->s->run;

  for (long i = 0; i < runs; i++) {
    uint64_t hash;
    const bool ran = subject_run (j, &hash);

    run->cases++;
    kc_result (run, ran && hash == expected, "%s, run %ld of %ld: %s", what, i + 1, runs,
        ran ? "not what was expected" : j->status.message);
    if (!ran || hash != expected)
      return;
  }
}

/* ---- when regions are asked for ----------------------------------------- */

static bool
update (Subject *j, const char *set)
{
  const CfCommon common = { CF_APPLY_ALL };
  char error[KC_TEXT];

  return kc_params_set (j->s->filter, j->s->params, set, error) == CF_OK &&
      cf_plan_update (j->plan, &common, j->s->params, &j->status) == CF_OK;
}

static bool
one_frame (Subject *j)
{
  CfStream *stream = j->cuda ? j->s->run->stream : NULL;

  return cf_plan_enqueue (j->plan, stream, &j->in[0], &j->out, &j->status) == CF_OK &&
      (!j->cuda || cf_stream_wait (stream, DEADLINE_NS, &j->status) == CF_OK);
}

typedef enum { NONE, SOME, EITHER } Told;

/* Are regions told, and labels? */
static bool
tells (Subject *j, Told regions, bool labels)
{
  CfRegions told;

  return cf_plan_regions (j->plan, &told, &j->status) == CF_OK && (told.label != NULL) == labels &&
      (regions == EITHER || (told.n > 0) == (regions == SOME));
}

/* Only of frames that were made while they were asked for; whether a plan forgets
 * the last frame's regions when the labels are turned on or off is its matter. */
static void
asked_late (KcRun *run, CfContext *context)
{
  Scene s;
  Subject j = { 0 };
  char error[KC_TEXT];
  bool good = scene_new (&s, run, 5, "region-meta=0", error) && subject_new (&j, &s, context);

  kc_result (run, good && one_frame (&j) && cf_plan_regions (j.plan, &(CfRegions) { 0 }, NULL) == CF_BAD_VALUE,
      "regions that nobody asks for are told");
  kc_result (run, good && update (&j, "region-meta=1") && tells (&j, NONE, false),
      "regions are told of a frame that was made before they were asked for");
  kc_result (run, good && one_frame (&j) && tells (&j, SOME, false), "regions are not told, or labels are");
  kc_result (run, good && update (&j, "label-meta=1") && tells (&j, EITHER, false),
      "labels are told of a frame that was made before they were asked for");
  kc_result (run, good && one_frame (&j) && tells (&j, SOME, true), "regions or labels are not told");
  kc_result (run, good && update (&j, "label-meta=0") && tells (&j, EITHER, false),
      "labels that nobody asks for are told");
  if (j.plan)
    subject_free (&j);
  scene_free (&s);
}

/* ---- all of them -------------------------------------------------------- */

/* The first run, which all others are held against. */
static bool
first_run (Scene *s, CfContext *cpu, uint64_t *hash)
{
  Subject j;
  bool good;

  if (s->video.width * s->video.height <= REFERENCE_PIXELS)
    return reference_run (s, hash);
  good = subject_new (&j, s, cpu) && subject_run (&j, hash);
  kc_result (s->run, good, "%s: %s", pictures[s->picture].name, j.status.message);
  subject_free (&j);
  return good;
}

static void
one_scene (Scene *s, const char *set, CfContext *cpu, long runs)
{
  KcRun *run = s->run;
  char what[KC_TEXT];
  uint64_t expected;
  Subject j;

  if (!first_run (s, cpu, &expected))
    return;
  if (run->cpu) {
    snprintf (what, sizeof what, "%s on the CPU with %s", pictures[s->picture].name, set);
    if (subject_new (&j, s, run->cpu))
      again_and_again (&j, what, expected, runs);
    else
      kc_result (run, false, "%s: %s", what, j.status.message);
    subject_free (&j);
  }
  for (size_t b = 0; run->gpu && b < sizeof blocks / sizeof *blocks; b++) {
    snprintf (what, sizeof what, "%s on the GPU with %s, %d blocks", pictures[s->picture].name, set, blocks[b]);
    /* A single block takes long for a large picture. */
    if (subject_new (&j, s, run->gpu) && (!blocks[b] || cf_plan_override (j.plan, "blocks", blocks[b], &j.status) == CF_OK))
      again_and_again (&j, what, expected, blocks[b] ? runs / 5 + 1 : runs);
    else
      kc_result (run, false, "%s: %s", what, j.status.message);
    subject_free (&j);
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
    asked_late (run, run->cpu);
  if (run->gpu)
    asked_late (run, run->gpu);
  for (int p = 0; p < N_PICTURES; p++)
    for (int i = 0; i < N_SETTINGS; i++) {
      Scene s;

      /* On a small machine a large picture is met with cells of two pixels only. */
      if (run->options.quick && i > 0 && pictures[p].width * pictures[p].height > REFERENCE_PIXELS)
        continue;
      if (scene_new (&s, run, p, settings[i], error))
        one_scene (&s, settings[i], cpu, runs);
      else
        kc_result (run, false, "%s: %s", pictures[p].name, error);
      scene_free (&s);
    }
  cf_context_free (cpu);
}
