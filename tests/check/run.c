/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * run.c: runs one case. The reference makes the expected frames; every variant of every backend
 * filters the same input; all bytes are compared, including the padding between rows. */
#define _GNU_SOURCE
#include "kernelcheck.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEADLINE_NS 60000000000u
#define MAX_PRINTED 40
#define MAX_VARIANTS 512

/* The frames of a case, made once and shared by all variants. */
typedef struct {
  int n;
  KcImage in[KC_MAX_FRAMES], expected[KC_MAX_FRAMES]; /* expected: only for step E */
  KcRegions regions[KC_MAX_FRAMES];                   /* for step E of a filter with a stateful reference */
  KcImage out;
  void *params, *then; /* parameter structs, for settings `set` and `then` */
} Frames;

/* An image in device memory, or in pinned host memory. */
typedef struct {
  CfImage image;
  void *memory[CF_MAX_PLANES];
  bool pinned;
} DeviceImage;

typedef struct {
  char name[96];
  unsigned long runs;
} Variant;

static Variant variants[MAX_VARIANTS];

static void
add_variant (const char *key, unsigned long runs)
{
  for (int i = 0; i < MAX_VARIANTS; i++) {
    if (variants[i].name[0] == '\0')
      snprintf (variants[i].name, sizeof variants[i].name, "%s", key);
    if (strcmp (variants[i].name, key) == 0) {
      variants[i].runs += runs;
      return;
    }
  }
}

static void
count_variant (const KcCase *c, const char *where, const char *name, unsigned runs)
{
  char key[sizeof variants[0].name];

  snprintf (key, sizeof key, "%s %s: %s", c->kc->stem, where, name);
  add_variant (key, runs);
}

/* One entry at a time: the whole table does not fit into a pipe's buffer. */
bool
kc_variants_send (int descriptor)
{
  static const Variant end;
  bool good = true;

  for (int i = 0; good && i < MAX_VARIANTS && variants[i].name[0]; i++)
    good = write (descriptor, &variants[i], sizeof variants[i]) == (ssize_t) sizeof variants[i];
  return good && write (descriptor, &end, sizeof end) == (ssize_t) sizeof end;
}

bool
kc_variants_receive (int descriptor)
{
  Variant v;

  for (;;) {
    if (read (descriptor, &v, sizeof v) != (ssize_t) sizeof v)
      return false;
    if (!v.name[0])
      return true;
    add_variant (v.name, v.runs);
  }
}

bool
kc_variants_report (KcRun *run)
{
  bool all = true;
  int n = 0;

  for (int i = 0; i < MAX_VARIANTS && variants[i].name[0]; i++, n++) {
    if (run->options.verbose || variants[i].runs == 0)
      printf ("  %-60s %lu frames%s\n", variants[i].name, variants[i].runs,
          variants[i].runs == 0 ? ": never ran" : "");
    all = all && variants[i].runs > 0;
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

  snprintf (text, size, "case %u: %s %s%s%s%s %s %dx%d%s%s layout %s content %s script %s%s", c->number, c->kc->stem,
      c->set, c->then[0] ? " then " : "", c->then, apply[c->common.apply_to], cf_format_info (c->video.format)->name,
      c->video.width, c->video.height, c->video.interlaced ? " interlaced" : "", c->mapped ? " mapped" : "",
      kc_layout_name (c->layout), kc_content_name (c->content), c->script, c->broken ? " (fault injected)" : "");
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

static void *
make_params (const KcCase *c, const char *text, char *error)
{
  void *params = cf_params_new (c->filter);

  if (!params) {
    snprintf (error, KC_TEXT, "out of memory");
    return NULL;
  }
  if (kc_params_set (c->filter, params, text, error) != CF_OK) {
    cf_params_free (c->filter, params);
    return NULL;
  }
  return params;
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

/* Runs the script with the reference. A change of the history's length clears the history, as the
 * contract says. */
static bool
frames_expect (const KcCase *c, Frames *f, char *error)
{
  const CfImage *seen[KC_MAX_FRAMES];
  const void *params = f->params;
  void *state = NULL;
  int n_seen = 0, i = 0;
  bool good = true;

  for (const char *step = c->script; good && *step; step++) {
    if (*step == 'X') {
      n_seen = 0;
      free_state (c, &state);
    }
    if (*step == 'U') {
      if (traits_of (c, params).history != traits_of (c, f->then).history)
        n_seen = 0;
      params = f->then;
    }
    if (*step != 'E' && *step != 'R')
      continue;
    memmove (seen + 1, seen, (size_t) n_seen * sizeof *seen);
    seen[0] = &f->in[i].image;
    n_seen++;
    if (*step == 'E') {
      KcImage *out = &f->expected[i];

      /* The same layout and poison as the output's, so that whole planes can be compared. */
      good = kc_image_new (out, &c->video, c->layout, out_seed (c)) && (c->kc->stateful_reference
          ? c->kc->stateful_reference (c->filter, &c->video, &c->common, params, &state, seen[0], &out->image,
              &f->regions[i])
          : c->kc->reference (c->filter, &c->video, &c->common, params, seen, n_seen, &out->image));
      /* An element hands the input of an identity on. */
      if (good && traits_of (c, params).identity && !kc_same_words (&c->video, seen[0], &out->image)) {
        snprintf (error, KC_TEXT, "%s %.100s: no identity, as its traits say", c->kc->stem, c->set);
        free_state (c, &state);
        return false;
      }
    }
    i++;
  }
  free_state (c, &state);
  if (!good)
    snprintf (error, KC_TEXT, "the reference is out of memory");
  return good;
}

static bool
frames_new (const KcCase *c, Frames *f, char *error)
{
  memset (f, 0, sizeof *f);
  for (const char *step = c->script; *step; step++)
    f->n += *step == 'E' || *step == 'R';
  if (f->n > KC_MAX_FRAMES) {
    snprintf (error, KC_TEXT, "a script has at most %d frames", KC_MAX_FRAMES);
    return false;
  }
  f->params = make_params (c, c->set, error);
  f->then = f->params ? make_params (c, c->then[0] ? c->then : c->set, error) : NULL;
  if (!f->then)
    return false;
  for (int i = 0; i < f->n; i++) {
    if (!kc_image_new (&f->in[i], &c->video, (KcLayout) ((c->layout + i) % KC_N_LAYOUTS), c->seed + (uint64_t) i)) {
      snprintf (error, KC_TEXT, "out of memory");
      return false;
    }
    kc_image_fill (&f->in[i], c->content, i, c->seed);
  }
  if (!kc_image_new (&f->out, &c->video, c->layout, out_seed (c))) {
    snprintf (error, KC_TEXT, "out of memory");
    return false;
  }
  return frames_expect (c, f, error);
}

/* ---- device images ---------------------------------------------------- */

static void
device_image_free (DeviceImage *d)
{
  for (int i = 0; i < CF_MAX_PLANES; i++)
    if (d->pinned)
      cf_pinned_free (d->memory[i]);
    else
      cf_device_free (d->memory[i]);
  memset (d, 0, sizeof *d);
}

static bool
device_image_new (DeviceImage *d, const KcImage *host, bool pinned, CfStatus *status)
{
  memset (d, 0, sizeof *d);
  d->image = host->image;
  d->pinned = pinned;
  for (int i = 0; i < CF_MAX_PLANES && host->mem[i].size; i++) {
    size_t size = host->mem[i].size;
    size_t head = (size_t) ((uint8_t *) host->image.plane[i].data - host->mem[i].base);

    d->memory[i] = pinned ? cf_pinned_alloc (size, status) : cf_device_alloc (size, status);
    if (!d->memory[i]) {
      device_image_free (d);
      return false;
    }
    d->image.plane[i].data = (uint8_t *) d->memory[i] + head;
  }
  return true;
}

static bool
device_image_upload (KcRun *run, DeviceImage *d, const KcImage *host, CfStatus *status)
{
  for (int i = 0; i < CF_MAX_PLANES && host->mem[i].size; i++) {
    if (d->pinned)
      memcpy (d->memory[i], host->mem[i].base, host->mem[i].size);
    else if (!kc_upload (run, d->memory[i], host->mem[i].base, host->mem[i].size, status))
      return false;
  }
  return true;
}

static bool
device_image_download (KcRun *run, const DeviceImage *d, KcImage *host, CfStatus *status)
{
  for (int i = 0; i < CF_MAX_PLANES && host->mem[i].size; i++) {
    if (d->pinned)
      memcpy (host->mem[i].base, d->memory[i], host->mem[i].size);
    else if (!kc_download (run, host->mem[i].base, d->memory[i], host->mem[i].size, status))
      return false;
  }
  return true;
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
  unsigned long wrong = 0;

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
    snprintf (text + strlen (text), size - strlen (text), " (%lu bytes differ)", wrong);
  return wrong == 0;
}

/* ---- fault injection -------------------------------------------------- */

static void
flip (uint8_t *byte)
{
  *byte ^= 1;
}

/* Damages one byte of an image in host memory. For a device image the caller downloads it before
 * and uploads it again, so that the test includes the path from the device to the comparison. */
static void
break_image (const KcCase *c, KcImage *in, KcImage *out)
{
  const CfFormatInfo *info = cf_format_info (c->video.format);
  uint8_t *first = out->image.plane[0].data;
  size_t row = cf_plane_row_bytes (c->video.format, c->video.width, 0), pitch = out->image.plane[0].pitch;
  size_t last = (size_t) (cf_plane_rows (c->video.format, c->video.height, 0) - 1) * pitch;

  switch (c->broken) {
    case KC_BREAK_LAST_SAMPLE:
      flip (first + last + row - info->bytes);
      break;
    case KC_BREAK_FIRST_SAMPLE:
      flip (first);
      break;
    case KC_BREAK_PADDING:
      flip (first + row);
      break;
    case KC_BREAK_INPUT:
      flip (in->image.plane[0].data);
      break;
    default:
      break;
  }
}

static bool
break_device (KcRun *run, const KcCase *c, DeviceImage *din, DeviceImage *dout, KcImage *scratch, CfStatus *status)
{
  DeviceImage *which = c->broken == KC_BREAK_INPUT ? din : dout;

  if (!device_image_download (run, which, scratch, status))
    return false;
  break_image (c, scratch, scratch);
  return device_image_upload (run, which, scratch, status);
}

/* ---- one plan through the script ---------------------------------------- */

typedef struct {
  KcRun *run;
  const KcCase *c;
  Frames *f;
  CfPlan *plan;
  CfContext *context;
  const void *params;    /* the parameters that the plan uses now */
  char what[KC_TEXT * 2]; /* what went wrong */
} Walk;

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
  char error[KC_TEXT];

  for (const char *const *bad = w->c->kc->bad_settings; *bad; bad++) {
    void *params = make_params (w->c, *bad, error);
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
  const bool labels = kc_param_int (c->filter, w->params, "label-meta", 0) != 0;
  const bool reports = traits_of (c, w->params).has_regions;

  return !c->kc->stateful_reference || kc_regions_compare (w->plan, &w->f->regions[i], &c->video, reports, labels,
      c->broken == KC_BREAK_REGION, w->what, sizeof w->what);
}

static bool
host_step (Walk *w, char step, int i)
{
  const KcCase *c = w->c;
  KcImage *in = &w->f->in[i], *out = &w->f->out, copy;
  CfStatus status = { 0 };
  bool good = true;

  /* The plan is given a copy of the input that is freed afterwards: the plan must not keep a
   * pointer to it. */
  if (!kc_image_new (&copy, &c->video, (KcLayout) ((c->layout + i) % KC_N_LAYOUTS), c->seed + (uint64_t) i)) {
    snprintf (w->what, sizeof w->what, "out of memory");
    return false;
  }
  kc_image_fill (&copy, c->content, i, c->seed);
  kc_image_poison (out, out_seed (c));
  if (step == 'R')
    good = cf_plan_push_history (w->plan, NULL, &copy.image, &status) == CF_OK ||
        walk_status (w, "cf_plan_push_history", &status);
  else if (c->broken != KC_BREAK_SKIP)
    good = cf_plan_enqueue (w->plan, NULL, &copy.image, &out->image, &status) == CF_OK ||
        walk_status (w, "cf_plan_enqueue", &status);
  break_image (c, &copy, out);
  if (good && step == 'E')
    good = compare (c, &w->f->expected[i], out, w->what, sizeof w->what) && walk_regions (w, i);
  if (good && !compare (c, in, &copy, w->what, sizeof w->what)) {
    snprintf (w->what, sizeof w->what, "the input was written");
    good = false;
  }
  kc_image_free (&copy);
  return good;
}

static bool
device_step (Walk *w, char step, int i)
{
  const KcCase *c = w->c;
  KcRun *run = w->run;
  KcImage *in = &w->f->in[i], *out = &w->f->out, copy = { 0 };
  DeviceImage din = { 0 }, dout = { 0 };
  CfStatus status = { 0 };
  bool good;

  kc_image_poison (out, out_seed (c));
  good = device_image_new (&din, in, c->mapped, &status) && device_image_new (&dout, out, c->mapped, &status) &&
      device_image_upload (run, &din, in, &status) && device_image_upload (run, &dout, out, &status) &&
      kc_image_new (&copy, &c->video, (KcLayout) ((c->layout + i) % KC_N_LAYOUTS), c->seed + (uint64_t) i);
  if (good && step == 'R')
    good = cf_plan_push_history (w->plan, run->stream, &din.image, &status) == CF_OK;
  else if (good && c->broken != KC_BREAK_SKIP)
    good = cf_plan_enqueue (w->plan, run->stream, &din.image, &dout.image, &status) == CF_OK;
  good = good && cf_stream_wait (run->stream, DEADLINE_NS, &status) == CF_OK;
  if (good && c->broken)
    good = break_device (run, c, &din, &dout, c->broken == KC_BREAK_INPUT ? &copy : out, &status);
  good = good && device_image_download (run, &din, &copy, &status) && device_image_download (run, &dout, out, &status);
  if (!good)
    walk_status (w, step == 'R' ? "the history on the GPU" : "filtering on the GPU", &status);
  if (good && step == 'E')
    good = compare (c, &w->f->expected[i], out, w->what, sizeof w->what) && walk_regions (w, i);
  if (good && !compare (c, in, &copy, w->what, sizeof w->what)) {
    snprintf (w->what, sizeof w->what, "the input was written");
    good = false;
  }
  kc_image_free (&copy);
  device_image_free (&din);
  device_image_free (&dout);
  return good;
}

static bool
walk_script (Walk *w)
{
  bool gpu = w->context == w->run->gpu, good = true;
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
        good = gpu ? device_step (w, *step, i) : host_step (w, *step, i);
        w->run->frames++;
        i++;
        break;
    }
    if (!good) {
      char frame[32];

      snprintf (frame, sizeof frame, " (step %d)", (int) (step - w->c->script));
      strncat (w->what, frame, sizeof w->what - strlen (w->what) - 1);
    }
  }
  return good;
}

/* ---- all variants of one backend ---------------------------------------- */

static void
report (Walk *w, bool good, const char *where, const char *variant)
{
  const KcCase *c = w->c;
  char text[1024], kept[48];

  w->run->cases++;
  if (c->broken) {
    kc_result (w->run, !good, "the comparison did not detect the injected fault (kind %d, %s)", c->broken, where);
    return;
  }
  describe (c, text, sizeof text);
  snprintf (kept, sizeof kept, "%s", variant ? variant : "?");
  kc_result (w->run, good, "%s \"%s\", %s\n     %s\n     again: kernelcheck --%s%s --seed %llu --case %u", where, kept,
      text, w->what, w->context == w->run->gpu ? "gpu" : "cpu",
      w->run->options.quick ? " --quick" : w->run->options.full ? " --full" : "",
      (unsigned long long) w->run->options.seed, c->number);
}

/* Runs the script with one variant; NULL: the one that the plan chooses. Leaves the variant's name
 * in `chosen`. */
static void
run_variant (KcRun *run, const KcCase *c, Frames *f, CfContext *context, const char *where, const char *variant,
    char chosen[64])
{
  Walk w = { .run = run, .c = c, .f = f, .context = context, .params = f->params };
  void *wrong = c->broken == KC_BREAK_PARAMS ? make_params (c, c->kc->wrong, w.what) : NULL;
  CfStatus status = { 0 };
  bool good;

  w.plan = cf_plan_new (context, c->filter, &c->video, &c->common, wrong ? wrong : f->params, &status);
  good = w.plan || walk_status (&w, "cf_plan_new", &status);
  if (good && variant) {
    CfCode code = cf_plan_prefer (w.plan, variant, &status);

    if (code == CF_UNSUPPORTED) {
      cf_plan_free (w.plan);
      return;
    }
    good = code == CF_OK || walk_status (&w, "cf_plan_prefer", &status);
  }
  if (good && !c->broken) {
    snprintf (chosen, 64, "%s", cf_plan_variant (w.plan));
    for (unsigned i = 0; !variant && cf_plan_variant_name (w.plan, i); i++)
      count_variant (c, where, cf_plan_variant_name (w.plan, i), 0);
  }
  good = good && walk_script (&w);
  if (good && !c->broken)
    count_variant (c, where, cf_plan_variant (w.plan), 1);
  report (&w, good, where, chosen);
  cf_plan_free (w.plan);
  cf_params_free (c->filter, wrong);
}

static void
run_backend (KcRun *run, const KcCase *c, Frames *f, CfContext *context, const char *where)
{
  char names[32][64], chosen[64] = "", other[64];
  unsigned n = 0;
  CfPlan *plan;

  run_variant (run, c, f, context, where, NULL, chosen);
  if (c->broken || c->one_variant)
    return;
  plan = cf_plan_new (context, c->filter, &c->video, &c->common, f->params, NULL);
  for (; plan && n < 32 && cf_plan_variant_name (plan, n); n++)
    snprintf (names[n], sizeof names[n], "%s", cf_plan_variant_name (plan, n));
  cf_plan_free (plan);
  for (unsigned i = 0; i < n; i++)
    if (strcmp (names[i], chosen) != 0)
      run_variant (run, c, f, context, where, names[i], other);
}

/* Case numbers are hashed, because slow cases have neighbouring numbers. */
bool
kc_is_ours (const KcRun *run, unsigned number)
{
  const KcOptions *o = &run->options;

  if (o->only >= 0 && (long) number != o->only)
    return false;
  if (o->one_in && (number * 0x85ebca6bu >> 8) % (unsigned) o->one_in != 0)
    return false;
  return !o->jobs || (int) ((number * 0x9e3779b1u >> 8) % (unsigned) o->jobs) == o->process;
}

void
kc_case_run (KcRun *run, KcCase *c)
{
  static const char *const isas[] = { "baseline", "sse4.1", "avx2", "avx512bw" };
  static Frames f; /* large */
  char error[KC_TEXT] = "";

  c->number = run->number++;
  if (!kc_is_ours (run, c->number))
    return;
  c->seed = run->options.seed * 1000003u + c->number;
  if (!frames_new (c, &f, error)) {
    kc_result (run, false, "case %u: %s", c->number, error);
  } else {
    for (int i = 0; run->cpu && i < 4; i++)
      if ((!run->options.isa || strcmp (run->options.isa, isas[i]) == 0) && cf_cpu_limit (isas[i]))
        run_backend (run, c, &f, run->cpu, isas[i]);
    if (run->gpu)
      run_backend (run, c, &f, run->gpu, "cuda");
  }
  frames_free (c, &f);
}
