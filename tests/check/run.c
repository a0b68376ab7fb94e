/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * run.c: runs one case. The reference makes the expected frames; every variant of every backend filters the same input;
 * all bytes are compared, including the padding between rows. */
#define _GNU_SOURCE
#include "kernelcheck.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINE_NS 60000000000u
#define MAX_PRINTED 40

/* The frames of a case, made once and shared by all variants. */
typedef struct {
  int n;
  KcImage in[KC_MAX_FRAMES], expected[KC_MAX_FRAMES]; /* expected: only for steps E and N */
  KcRegions regions[KC_MAX_FRAMES];                   /* for step E of a filter with a stateful reference */
  int first[KC_MAX_FRAMES], last[KC_MAX_FRAMES];      /* of each frame's stream, which ends where the history does */
  KcImage out;
  void *params, *then; /* parameter structs, for settings `set` and `then` */
} Frames;

void
kc_variant_count (KcRun *run, const char *name, unsigned long runs)
{
  for (int i = 0; i < KC_MAX_VARIANTS; i++) {
    if (run->variants[i].name[0] == '\0')
      g_strlcpy (run->variants[i].name, name, sizeof run->variants[i].name);
    if (g_str_equal (run->variants[i].name, name)) {
      run->variants[i].runs += runs;
      return;
    }
  }
}

static void
count_variant (KcRun *run, const KcCase *c, const char *where, const char *variant, unsigned runs)
{
  char name[sizeof run->variants[0].name];

  snprintf (name, sizeof name, "%s %s: %s", c->kc->stem, where, variant);
  kc_variant_count (run, name, runs);
}

bool
kc_variants_report (KcRun *run)
{
  bool all = true;
  int n = 0;

  for (; n < KC_MAX_VARIANTS && run->variants[n].name[0]; n++) {
    const unsigned long runs = run->variants[n].runs;

    if (run->options.verbose || runs == 0)
      printf ("  %-60s %lu frames%s\n", run->variants[n].name, runs, runs == 0 ? ": never ran" : "");
    all = all && runs > 0;
  }
  printf ("%d variants ran\n", n);
  return all;
}

void
kc_result (KcRun *run, bool good, const char *format, ...)
{
  va_list args;

  if (good) {
    run->passed++;
    return;
  }
  if (++run->failed <= MAX_PRINTED) {
    va_start (args, format);
    printf ("FAIL ");
    vprintf (format, args);
    printf ("\n");
    va_end (args);
  } else if (run->failed == MAX_PRINTED + 1) {
    printf ("FAIL ... further failures are counted, but not printed\n");
  }
  fflush (stdout);
}

static void
describe (const KcCase *c, char *text, size_t size)
{
  static const char *const apply[] = { "", " apply-to=luma", " apply-to=chroma" };
  static const char *const layouts[] = { "tight", "front", "odd", "wide" };
  static const char *const contents[] = { "low", "high", "random", "gradient", "salt", "ties", "natural", "patches",
    "drawn" };

  snprintf (text, size, "case %u: %s %s%s%s%s %s %dx%d%s%s layout %s content %s script %s colors %d,%d,%s%s", c->number,
      c->kc->stem, c->set, c->then[0] ? " then " : "", c->then, apply[c->common.apply_to],
      cf_format_info (c->video.format)->name, c->video.width, c->video.height, c->video.interlaced ? " interlaced" : "",
      c->mapped ? " mapped" : "", layouts[c->layout], contents[c->content], c->script, c->common.colors.kr,
      c->common.colors.kb, c->common.colors.limited ? "limited" : "full", c->broken ? " (fault injected)" : "");
}

/* ---- the frames --------------------------------------------------------- */

static void
frames_free (const KcCase *c, Frames *f)
{
  for (int i = 0; i < KC_MAX_FRAMES; i++) {
    kc_image_free (&f->in[i]);
    kc_image_free (&f->expected[i]);
    kc_regions_free (&f->regions[i]);
  }
  kc_image_free (&f->out);
  cf_params_free (c->filter, f->params);
  cf_params_free (c->filter, f->then);
}

static uint64_t
out_seed (const KcCase *c)
{
  return c->seed * 3 + 1;
}

static void
free_state (const KcCase *c, void **state)
{
  if (c->kc->free_state)
    c->kc->free_state (*state);
  *state = NULL;
}

static CfTraits
traits_of (const KcCase *c, const void *params)
{
  return cf_filter_traits (c->filter, &c->video, &c->common, params);
}

/* Lays out frame i of the case; frames of different layouts follow each other. */
static void
frame_new (const KcCase *c, KcImage *image, int i)
{
  kc_image_new (image, &c->video, (KcLayout) ((c->layout + i) % KC_N_LAYOUTS), c->seed + (uint64_t) i);
}

/* Returns how many later frames a result depends on: as the reference has it, not the traits. */
static int
ahead_of (const KcCase *c, const void *params)
{
  return c->kc->ahead ? c->kc->ahead (c->filter, params) : 0;
}

/* Lists the window of frame i: the frame, then the others. Those before the stream's first frame are that one, those
 * after its last frame that one. Returns their number. */
static int
list_window (const Frames *f, int i, int ahead, const CfImage *seen[])
{
  int n = 0;

  seen[n++] = &f->in[i].image;
  for (int distance = 1; distance <= ahead; distance++) {
    seen[n++] = &f->in[MAX (i - distance, f->first[i])].image;
    seen[n++] = &f->in[MIN (i + distance, f->last[i])].image;
  }
  return n;
}

/* The same for a frame that was not taken, where taken[0] is the newest of those that were. */
static int
list_untaken (const CfImage *in, const CfImage *const *taken, int n_taken, int ahead, const CfImage *seen[])
{
  int n = 0;

  seen[n++] = in;
  for (int back = 0; back <= 2 * ahead; back++)
    if (back != ahead)
      seen[n++] = n_taken > 0 ? taken[MIN (back, n_taken - 1)] : in;
  return n;
}

static bool
is_frame (char step)
{
  return step == 'E' || step == 'R' || step == 'N';
}

/* Finds where the streams of the script begin and end: at a reset, and at a change of the number of frames in the
 * history or of those ahead, as the contract says. */
static void
find_streams (const KcCase *c, Frames *f)
{
  const void *params = f->params;
  int first = 0, i = 0;

  for (const char *step = c->script; *step; step++) {
    if (*step == 'X')
      first = i;
    if (*step == 'U') {
      if (traits_of (c, params).history != traits_of (c, f->then).history ||
          ahead_of (c, params) != ahead_of (c, f->then))
        first = i;
      params = f->then;
    }
    if (!is_frame (*step))
      continue;
    f->first[i] = first;
    for (int j = first; j <= i; j++)
      f->last[j] = i;
    i++;
  }
}

/* Runs the script with the reference. */
static CfCode
frames_expect (const KcCase *c, Frames *f, CfStatus *status)
{
  const CfImage *before[KC_MAX_FRAMES], *window[2 * KC_MAX_FRAMES]; /* before: the stream's frames, newest first */
  const void *params = f->params;
  CfTraits traits = traits_of (c, params);
  void *state = NULL;
  int n_before = 0, i = 0;
  CfCode code = CF_OK;

  find_streams (c, f);
  for (const char *step = c->script; code == CF_OK && *step; step++) {
    const CfImage *const *seen = before;
    int n_seen, ahead;

    if (*step == 'X')
      free_state (c, &state);
    if (*step == 'U') {
      params = f->then;
      traits = traits_of (c, params);
    }
    if (!is_frame (*step))
      continue;
    if (f->first[i] == i)
      n_before = 0;
    ahead = ahead_of (c, params);
    if (*step == 'N') {
      n_seen = list_untaken (&f->in[i].image, before, n_before, ahead, window);
      seen = window;
    } else {
      memmove (before + 1, before, (size_t) n_before * sizeof *before);
      before[0] = &f->in[i].image;
      n_seen = ++n_before;
    }
    if (*step == 'E' && ahead > 0) {
      n_seen = list_window (f, i, ahead, window);
      seen = window;
    }
    if (traits.ahead != ahead)
      code = cf_fail (status, CF_BAD_VALUE, "%s %.100s: its traits have another number of later frames than %d",
          c->kc->stem, c->set, ahead);
    if (*step != 'R') {
      const CfImage *out = &f->expected[i].image;

      /* The same layout and poison as the output's, so that whole planes can be compared. */
      kc_image_new (&f->expected[i], &c->video, c->layout, out_seed (c));
      if (c->kc->stateful_reference)
        c->kc->stateful_reference (c->filter, &c->video, &c->common, params, &state, seen[0], out, &f->regions[i]);
      else if (!c->kc->reference (c->filter, &c->video, &c->common, params, seen, n_seen, out))
        code = cf_fail (status, CF_BAD_VALUE, "%s %.100s: the reference refuses it", c->kc->stem, c->set);
      /* An element hands the input of an identity on. */
      if (code == CF_OK && traits.identity && !kc_same_words (&c->video, seen[0], out))
        code = cf_fail (status, CF_BAD_VALUE, "%s %.100s: no identity, as its traits say", c->kc->stem, c->set);
    }
    i++;
  }
  free_state (c, &state);
  return code;
}

static bool
frames_new (const KcCase *c, Frames *f, CfStatus *status)
{
  memset (f, 0, sizeof *f);
  for (const char *step = c->script; *step; step++)
    f->n += is_frame (*step);
  g_assert (f->n <= KC_MAX_FRAMES);
  f->params = kc_params_new (c->filter, c->set, status);
  f->then = f->params ? kc_params_new (c->filter, c->then[0] ? c->then : c->set, status) : NULL;
  if (!f->then)
    return false;
  for (int i = 0; i < f->n; i++) {
    frame_new (c, &f->in[i], i);
    if (c->content == KC_DRAWN)
      c->kc->draw (&f->in[i].image, i, c->broken ? 0 : c->seed);
    else
      kc_image_fill (&f->in[i], c->content, i, c->seed);
  }
  kc_image_new (&f->out, &c->video, c->layout, out_seed (c));
  return frames_expect (c, f, status) == CF_OK;
}

/* ---- comparing ---------------------------------------------------------- */

/* Describes what byte `at` of plane `p` is. */
static void
locate (const KcCase *c, const KcImage *image, int p, size_t at, char *text, size_t size)
{
  const CfFormatInfo *info = cf_format_info (c->video.format);
  size_t head = (size_t) ((uint8_t *) image->image.plane[p].data - image->mem[p].base);
  size_t pitch = image->image.plane[p].pitch, row, column;

  if (at < head) {
    snprintf (text, size, "plane %d, %zu bytes before its first sample", p, head - at);
    return;
  }
  row = (at - head) / pitch;
  column = (at - head) % pitch;
  for (int i = 0; i < info->n_components; i++) {
    const CfComponent *comp = &info->comp[i];
    size_t sample = column / info->bytes;

    if (comp->plane == p && sample >= comp->offset && (sample - comp->offset) % comp->step == 0 &&
        (sample - comp->offset) / comp->step < (size_t) kc_component_width (info, i, c->video.width)) {
      snprintf (text, size, "component %d at (%zu, %zu)", i, (sample - comp->offset) / comp->step, row);
      return;
    }
  }
  snprintf (text, size, "plane %d, row %zu, byte %zu, which is padding", p, row, column);
}

static bool
compare (const KcCase *c, const KcImage *expected, const KcImage *got, char *text, size_t size)
{
  int wrong = 0;

  for (int p = 0; p < CF_MAX_PLANES && expected->mem[p].size; p++) {
    if (memcmp (expected->mem[p].base, got->mem[p].base, expected->mem[p].size) == 0)
      continue;
    for (size_t i = 0; i < expected->mem[p].size; i++) {
      if (expected->mem[p].base[i] == got->mem[p].base[i])
        continue;
      if (wrong++ == 0) {
        char where[96];

        locate (c, expected, p, i, where, sizeof where);
        snprintf (text, size, "%s: expected byte 0x%02x, got 0x%02x", where, expected->mem[p].base[i],
            got->mem[p].base[i]);
      }
    }
  }
  if (wrong > 1)
    snprintf (text + strlen (text), size - strlen (text), " (%d bytes differ)", wrong);
  return wrong == 0;
}

/* ---- fault injection -------------------------------------------------- */

/* Damages one byte of an image in host memory. */
static void
break_image (const KcCase *c, KcImage *in, KcImage *out)
{
  const CfFormatInfo *info = cf_format_info (c->video.format);
  uint8_t *first = out->image.plane[0].data;
  size_t row = cf_plane_row_bytes (c->video.format, c->video.width, 0), pitch = out->image.plane[0].pitch;
  size_t last = (size_t) (cf_plane_rows (c->video.format, c->video.height, 0) - 1) * pitch;

  if (c->broken == KC_BREAK_LAST_SAMPLE)
    first[last + row - info->bytes] ^= 1;
  if (c->broken == KC_BREAK_FIRST_SAMPLE)
    first[0] ^= 1;
  if (c->broken == KC_BREAK_PADDING)
    first[row] ^= 1;
  if (c->broken == KC_BREAK_INPUT)
    *(uint8_t *) in->image.plane[0].data ^= 1;
}

/* Downloads the image and uploads it again, so that the test includes the path from the device to the comparison. */
static bool
break_device (KcRun *run, const KcCase *c, KcDeviceImage *d, KcImage *scratch, CfStatus *status)
{
  if (!kc_device_image_copy (run, CF_DOWNLOAD, d, scratch, status))
    return false;
  break_image (c, scratch, scratch);
  return kc_device_image_copy (run, CF_UPLOAD, d, scratch, status);
}

/* ---- one plan through the script ---------------------------------------- */

typedef struct {
  KcRun *run;
  const KcCase *c;
  Frames *f;
  CfPlan *plan;
  CfContext *context;
  const void *params;     /* the parameters that the plan uses now */
  int taken;              /* with a filter that looks ahead: the next frame to take */
  char what[KC_TEXT * 2]; /* what went wrong */
} Walk;

static bool
is_on_gpu (const Walk *w)
{
  return w->context == w->run->gpu;
}

static bool
walk_status (Walk *w, const char *call, const CfStatus *status)
{
  snprintf (w->what, sizeof w->what, "%s: %s", call, status->message);
  return false;
}

static bool
walk_update (Walk *w)
{
  CfStatus status = { 0 };
  CfCode code = cf_plan_update (w->plan, &w->c->common, w->f->then, &status);

  w->params = w->f->then;
  if (code == CF_REPLAN) {
    cf_plan_free (w->plan);
    w->plan = cf_plan_new (w->context, w->c->filter, &w->c->video, &w->c->common, w->params, &status);
    return w->plan ? true : walk_status (w, "cf_plan_new after CF_REPLAN", &status);
  }
  return code == CF_OK ? true : walk_status (w, "cf_plan_update", &status);
}

/* Tries each bad setting: the plan must refuse it and stay as it was. */
static bool
walk_bad_update (Walk *w)
{
  for (const char *const *bad = w->c->kc->bad_settings; *bad; bad++) {
    void *params = kc_params_new (w->c->filter, *bad, NULL);
    CfCode code = params ? cf_plan_update (w->plan, &w->c->common, params, NULL) : CF_BAD_VALUE;

    cf_params_free (w->c->filter, params);
    if (code != CF_BAD_VALUE) {
      snprintf (w->what, sizeof w->what, "cf_plan_update accepted the bad value %s", *bad);
      return false;
    }
  }
  return true;
}

/* Compares the regions of the frame that the plan just filtered. */
static bool
walk_regions (Walk *w, int i)
{
  const KcCase *c = w->c;

  return !c->kc->has_regions ||
      kc_regions_compare (w->plan, &w->f->regions[i], &c->video, traits_of (c, w->params).has_regions,
          kc_param_int (c->filter, w->params, "label-meta", 0) != 0, c->broken == KC_BREAK_REGION, w->what,
          sizeof w->what);
}

/* Filters `in`, or pushes it into the history. */
static bool
walk_enqueue (Walk *w, char step, const CfImage *in, const CfImage *out, CfStatus *status)
{
  CfStream *stream = is_on_gpu (w) ? w->run->stream : NULL;

  if (step == 'R')
    return cf_plan_enqueue (w->plan, stream, &(CfFrame) { .in = in }, status) == CF_OK;
  return w->c->broken == KC_BREAK_SKIP ||
      cf_plan_enqueue (w->plan, stream, &(CfFrame) { .in = in, .out = out }, status) == CF_OK;
}

/* The plan is given a copy of the input that is freed afterwards: the plan must not keep a pointer to it. */
static bool
filter_on_host (Walk *w, char step, int i, KcImage *copy, CfStatus *status)
{
  bool good;

  kc_image_copy (copy, &w->f->in[i]);
  good = walk_enqueue (w, step, &copy->image, &w->f->out.image, status);
  break_image (w->c, copy, &w->f->out);
  return good;
}

/* Downloads the device's input into `copy`. */
static bool
filter_on_device (Walk *w, char step, int i, KcImage *copy, CfStatus *status)
{
  const KcCase *c = w->c;
  KcRun *run = w->run;
  KcImage *in = &w->f->in[i], *out = &w->f->out;
  KcDeviceImage din = { 0 }, dout = { 0 };
  bool good;

  frame_new (c, copy, i);
  good = kc_device_image_new (&din, in, c->mapped, status) && kc_device_image_new (&dout, out, c->mapped, status) &&
      kc_device_image_copy (run, CF_UPLOAD, &din, in, status) &&
      kc_device_image_copy (run, CF_UPLOAD, &dout, out, status) &&
      walk_enqueue (w, step, &din.image, &dout.image, status) &&
      cf_stream_wait (run->stream, DEADLINE_NS, NULL, status) == CF_OK;

  if (good && c->broken == KC_BREAK_INPUT)
    good = break_device (run, c, &din, copy, status);
  else if (good && c->broken)
    good = break_device (run, c, &dout, out, status);
  good = good && kc_device_image_copy (run, CF_DOWNLOAD, &din, copy, status) &&
      kc_device_image_copy (run, CF_DOWNLOAD, &dout, out, status);
  kc_device_image_free (&din);
  kc_device_image_free (&dout);
  return good;
}

static bool
walk_frame (Walk *w, char step, int i)
{
  const KcCase *c = w->c;
  KcImage copy;
  CfStatus status = { 0 };
  bool good;

  kc_image_poison (&w->f->out, out_seed (c));
  good = (is_on_gpu (w) ? filter_on_device : filter_on_host) (w, step, i, &copy, &status) ||
      walk_status (w, step == 'R' ? "the history" : "filtering", &status);
  if (good && step != 'R')
    good = compare (c, &w->f->expected[i], &w->f->out, w->what, sizeof w->what) && walk_regions (w, i);
  if (good && !compare (c, &w->f->in[i], &copy, w->what, sizeof w->what)) {
    snprintf (w->what, sizeof w->what, "the input was written");
    good = false;
  }
  kc_image_free (&copy);
  return good;
}

/* Takes the frames up to those that the result of frame i depends on; behind the stream's last one that one again. */
static bool
walk_ahead (Walk *w, int i)
{
  const int ahead = ahead_of (w->c, w->params);
  bool good = true;

  for (w->taken = MAX (w->taken, w->f->first[i]); good && ahead > 0 && w->taken <= i + ahead; w->taken++)
    good = walk_frame (w, 'R', MIN (w->taken, w->f->last[i]));
  return good;
}

/* Does a step with frame i. A frame that the plan has taken to look ahead is not taken again. */
static bool
walk_step (Walk *w, char step, int i)
{
  if (i == w->f->first[i])
    w->taken = i;
  if (step == 'R' && w->taken > i)
    return true;
  if (step == 'R')
    w->taken = i + 1;
  return (step != 'E' || walk_ahead (w, i)) && walk_frame (w, step, i);
}

static bool
walk_script (Walk *w)
{
  bool good = true;
  int i = 0;

  for (const char *step = w->c->script; good && *step; step++) {
    switch (*step) {
      case 'X':
        cf_plan_reset (w->plan);
        break;
      case 'U':
        good = walk_update (w);
        break;
      case 'B':
        good = walk_bad_update (w);
        break;
      default:
        good = walk_step (w, *step, i++);
        w->run->frames++;
        break;
    }
    if (!good)
      snprintf (w->what + strlen (w->what), sizeof w->what - strlen (w->what), " (step %d)",
          (int) (step - w->c->script));
  }
  return good;
}

/* ---- all variants of one backend ---------------------------------------- */

static void
report (Walk *w, bool good, const char *where, const char *variant)
{
  const KcCase *c = w->c;
  char text[1024] = "";

  w->run->cases++;
  if (c->broken) {
    kc_result (w->run, !good, "the comparison did not detect the injected fault (kind %d, %s)", c->broken, where);
    return;
  }
  if (!good)
    describe (c, text, sizeof text);
  kc_result (w->run, good,
      "%s \"%s\", %s\n     %s\n     again: kernelcheck --%s%s%s%s --seed %" G_GINT64_FORMAT " --case %u", where,
      variant, text, w->what, is_on_gpu (w) ? "gpu" : "cpu",
      w->run->options.quick      ? " --quick"
          : w->run->options.full ? " --full"
                                 : "",
      w->run->options.filter ? " --filter=" : "", w->run->options.filter ? w->run->options.filter : "",
      w->run->options.seed, c->number);
}

/* Runs the script with one variant; NULL: the one that the plan chooses. Leaves the variant's name in `chosen`. */
static void
run_variant (KcRun *run, const KcCase *c, Frames *f, CfContext *context, const char *where, const char *variant,
    char chosen[64])
{
  Walk w = { .run = run, .c = c, .f = f, .context = context, .params = f->params };
  void *wrong = c->broken == KC_BREAK_PARAMS ? kc_params_new (c->filter, c->kc->wrong, NULL) : NULL;
  CfStatus status = { 0 };
  bool good;

  w.plan = cf_plan_new (context, c->filter, &c->video, &c->common, wrong ? wrong : f->params, &status);
  good = w.plan || walk_status (&w, "cf_plan_new", &status);
  if (good && variant)
    good = cf_plan_prefer (w.plan, variant, &status) == CF_OK || walk_status (&w, "cf_plan_prefer", &status);
  if (good && !c->broken)
    snprintf (chosen, 64, "%s", cf_plan_variant (w.plan));
  good = good && walk_script (&w);
  if (good && !c->broken)
    count_variant (run, c, where, cf_plan_variant (w.plan), 1);
  report (&w, good, where, chosen);
  cf_plan_free (w.plan);
  cf_params_free (c->filter, wrong);
}

/* Returns whether a plan refuses a variant. Counts the variant, with no runs yet, if the GPU has code for it. */
static bool
refuses (KcRun *run, const KcCase *c, CfPlan *plan, const char *where, const char *variant)
{
  CfStatus status = { 0 };
  const bool refused = cf_plan_prefer (plan, variant, &status) == CF_UNSUPPORTED;

  if (!refused || !strstr (status.message, "is not in the code that this GPU runs"))
    count_variant (run, c, where, variant, 0);
  return refused;
}

/* One plan is asked which variants support the case; each of them then has a plan of its own. */
static void
run_backend (KcRun *run, const KcCase *c, Frames *f, CfContext *context, const char *where)
{
  char chosen[64] = "", other[64];
  const char *name;
  CfPlan *plan;

  run_variant (run, c, f, context, where, NULL, chosen);
  if (c->broken || c->one_variant)
    return;
  plan = cf_plan_new (context, c->filter, &c->video, &c->common, f->params, NULL);
  for (unsigned i = 0; plan && (name = cf_plan_variant_name (plan, i)); i++)
    if (!refuses (run, c, plan, where, name) && !g_str_equal (name, chosen))
      run_variant (run, c, f, context, where, name, other);
  cf_plan_free (plan);
}

/* Case numbers are hashed, because slow cases have neighbouring numbers. */
bool
kc_is_ours (const KcRun *run, unsigned number)
{
  const KcOptions *o = &run->options;

  if (o->only >= 0 && (int) number != o->only)
    return false;
  if (o->one_in && (number * 0x85ebca6bu >> 8) % (unsigned) o->one_in != 0)
    return false;
  return !o->jobs || (int) ((number * 0x9e3779b1u >> 8) % (unsigned) o->jobs) == o->process;
}

const char *
kc_take_isa (const KcRun *run, unsigned i)
{
  static const char *const isas[KC_N_ISAS] = { "baseline", "sse4.1", "avx2", "avx512bw" };

  return g_strcmp0 (run->options.isa ? run->options.isa : isas[i], isas[i]) == 0 && cf_cpu_limit (isas[i]) ? isas[i]
                                                                                                           : NULL;
}

void
kc_case_run (KcRun *run, KcCase *c)
{
  static Frames f; /* large */
  CfStatus status = { 0 };

  c->number = run->number++;
  if (!kc_is_ours (run, c->number))
    return;
  c->seed = (uint64_t) run->options.seed * 1000003u + c->number;
  if (!frames_new (c, &f, &status)) {
    kc_result (run, false, "case %u: %s", c->number, status.message);
  } else {
    for (unsigned i = 0; run->cpu && i < KC_N_ISAS; i++) {
      const char *isa = kc_take_isa (run, i);

      if (isa)
        run_backend (run, c, &f, run->cpu, isa);
    }
    if (run->gpu)
      run_backend (run, c, &f, run->gpu, "cuda");
  }
  frames_free (c, &f);
}
