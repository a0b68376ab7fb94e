/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * sweep.c: the list of cases. --full is the product of settings, format classes, sizes and contents (an hour). By
 * default every size is combined with every setting and format class, with two contents that rotate from one
 * combination to the next. --quick uses a few sizes and one content, so that each value is still combined with each
 * other somewhere. */
#include "kernelcheck.h"

#include <stdio.h>
#include <string.h>

/* One format for each memory layout of samples: step 1, 2 with chroma, 3, 4, mixed; 16 bits and 10 bits, shifted. */
static const CfFormat classes[] = { CF_FORMAT_GRAY8, CF_FORMAT_GRAY16_LE, CF_FORMAT_NV12, CF_FORMAT_I420_10LE,
  CF_FORMAT_YUY2, CF_FORMAT_RGB, CF_FORMAT_RGBA, CF_FORMAT_P010_10LE };
#define N_CLASSES G_N_ELEMENTS (classes)

/* The smallest sizes, single rows and columns, odd chroma, and one below, at and above the side lengths of tiles,
 * vectors and blocks. */
static const int sizes[][2] = { { 1, 1 }, { 1, 37 }, { 53, 1 }, { 2, 2 }, { 3, 5 }, { 5, 3 }, { 15, 16 }, { 16, 17 },
  { 17, 15 }, { 31, 33 }, { 32, 32 }, { 33, 31 }, { 63, 17 }, { 64, 16 }, { 65, 18 }, { 127, 9 }, { 128, 8 },
  { 129, 7 }, { 19, 64 }, { 21, 65 }, { 23, 129 }, { 255, 5 }, { 257, 4 }, { 150, 70 } };
#define N_SIZES G_N_ELEMENTS (sizes)

/* With more settings than this, a setting and format class are combined with every third size, and with the next class
 * the other sizes. */
#define MANY 60

/* Returns whether the filter accepts the case's setting for its video. */
static bool
accepted (const KcCase *c)
{
  void *params = kc_params_new (c->filter, c->set, NULL);
  const bool good = params && cf_filter_check (c->filter, &c->video, &c->common, params, NULL) == CF_OK;

  cf_params_free (c->filter, params);
  return good;
}

/* Full range and limited; BT.601 by its name and as the default, BT.709, BT.2020, FCC, SMPTE 240M. */
static const CfColors colors[] = { { 0, 0, false }, { 2126, 722, true }, { 2990, 1140, true }, { 2627, 593, false },
  { 0, 0, true }, { 3000, 1100, true }, { 2120, 870, false }, { 2627, 593, true } };

static KcCase
new_case (const KcFilter *kc, const char *set, CfFormat format, int width, int height)
{
  KcCase c = { .kc = kc, .filter = cf_filter_find (kc->stem), .content = KC_RANDOM, .layout = KC_ODD };

  c.script = kc->script ? kc->script : "E";
  c.common.colors = colors[(unsigned) (format + width + height) % G_N_ELEMENTS (colors)];
  snprintf (c.set, sizeof c.set, "%s", set);
  c.video = (CfVideo) { .format = format, .width = width, .height = height };
  if (kc->contents)
    c.content = kc->contents[0];
  return c;
}

/* Sets the filter's own contents in rotation; false: the filter has none. */
static bool
own_content (const KcFilter *kc, unsigned rotation, KcContent *content)
{
  if (kc->contents)
    *content = kc->contents[rotation % (unsigned) *kc->n_contents];
  return kc->contents;
}

static void
product (KcRun *run, const KcFilter *kc, const char *const *settings, const CfFormat *formats, size_t n_formats)
{
  static const KcContent contents[] = { KC_RANDOM, KC_GRADIENT, KC_LOW, KC_SALT, KC_HIGH, KC_TIES };
  size_t n_contents = G_N_ELEMENTS (contents), rotation = 0;
  size_t size_step = run->options.quick ? 7 : 1, n_settings = 0;
  size_t some = run->options.full ? n_contents : run->options.quick ? 1 : 2;

  while (settings && settings[n_settings])
    n_settings++;
  if (n_settings > MANY && !run->options.full && !run->options.quick)
    size_step = 3;
  for (const char *const *set = settings; set && *set; set++)
    for (size_t f = 0; f < n_formats; f++) {
      rotation++;
      for (size_t s = rotation % size_step; s < N_SIZES; s += size_step)
        for (size_t k = 0; k < some; k++) {
          KcCase c = new_case (kc, *set, formats[f], sizes[s][0], sizes[s][1]);

          /* Every other content is random: random contents find the most errors. */
          if (!own_content (kc, (unsigned) (rotation + s + k), &c.content))
            c.content = contents[run->options.full ? k
                    : (rotation + s + k) % 2       ? 0
                                                   : 1 + (rotation / 2 + s) % (n_contents - 1)];
          c.layout = (KcLayout) ((rotation + s + k) % KC_N_LAYOUTS);
          c.video.interlaced = (rotation + 2 * s + k) % 5 == 0;
          kc_case_run (run, &c);
        }
    }
}

/* Sizes with which every format is tested. */
static const int small_sizes[][2] = { { 1, 1 }, { 5, 3 }, { 34, 19 }, { 67, 35 } };

/* Every format with every one of the filter's settings for that, progressive and interlaced, with every apply-to. */
static void
each_format (KcRun *run, const KcFilter *kc)
{
  unsigned rotation = 0;

  for (const char *const *set = kc->format_settings; set && *set; set++)
    for (int f = CF_FORMAT_NONE + 1; f < CF_N_FORMATS; f++)
      for (int i = 0; i < 8; i++)
        for (int apply = CF_APPLY_ALL; apply <= CF_APPLY_CHROMA; apply++) {
          KcCase c = new_case (kc, *set, (CfFormat) f, small_sizes[i / 2][0], small_sizes[i / 2][1]);

          if (apply != CF_APPLY_ALL && cf_format_info ((CfFormat) f)->rgb)
            continue;
          c.common.apply_to = (CfApplyTo) apply;
          c.video.interlaced = i % 2;
          c.layout = (KcLayout) (rotation++ % KC_N_LAYOUTS);
          kc_case_run (run, &c);
        }
}

/* Every format with a few settings, progressive and interlaced, with every apply-to. */
static void
all_formats (KcRun *run, const KcFilter *kc)
{
  unsigned rotation = 0, n_settings = 0;

  while (kc->settings[n_settings] && n_settings < 6)
    n_settings++;
  for (int f = CF_FORMAT_NONE + 1; f < CF_N_FORMATS; f++)
    for (int i = 0; i < 4; i++)
      for (int apply = CF_APPLY_ALL; apply <= CF_APPLY_CHROMA; apply++) {
        KcCase c = new_case (kc, kc->settings[rotation % n_settings], (CfFormat) f, small_sizes[i][0],
            small_sizes[i][1]);

        if (apply != CF_APPLY_ALL && (cf_format_info ((CfFormat) f)->rgb || i == 0))
          continue;
        rotation++;
        c.common.apply_to = (CfApplyTo) apply;
        c.video.interlaced = rotation % 2;
        c.layout = (KcLayout) (rotation % KC_N_LAYOUTS);
        if (!own_content (kc, rotation, &c.content))
          c.content = rotation % 3 ? KC_RANDOM : KC_SALT;
        kc_case_run (run, &c);
      }
}

/* Sequences of calls on a plan: histories, resets, updates, takeovers. */
static void
scripts (KcRun *run, const KcFilter *kc)
{
  static const char *const script[] = { "EEE", "EEEXEE", "RREE", "REREXRE", "EEEEE" };
  unsigned n = 0, rotation = 0;

  for (const char *const *set = kc->frame_settings; set && *set; set++)
    for (size_t f = 0; f < N_CLASSES; f += run->options.quick ? 3 : 1)
      for (size_t s = 0; s < G_N_ELEMENTS (script); s++) {
        int i = (int) (rotation++ % N_SIZES);
        KcCase c = new_case (kc, *set, classes[(f + s) % N_CLASSES], sizes[i][0], sizes[i][1]);

        c.script = script[s];
        c.video.interlaced = rotation % 3 == 0;
        kc_case_run (run, &c);
      }
  /* More frames than the history has. */
  for (unsigned i = 0; kc->deep_settings && kc->deep_settings[i]; i++)
    for (size_t f = 0; f < N_CLASSES; f++) {
      KcCase c = new_case (kc, kc->deep_settings[i], classes[f], 37, 19);

      c.script = "EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEXRREE";
      kc_case_run (run, &c);
    }
  while (kc->settings[n])
    n++;
  for (unsigned i = 0; i < n; i += run->options.quick ? 2 : 1)
    for (size_t f = 0; f < N_CLASSES; f += run->options.quick ? 3 : 1) {
      KcCase c = new_case (kc, kc->settings[i], classes[(f + i) % N_CLASSES], 45, 27);

      snprintf (c.then, sizeof c.then, "%s", kc->settings[(i * 7 + 3 + f) % n]);
      c.script = "EBEUEEBE";
      c.one_variant = true;
      kc_case_run (run, &c);
    }
  /* A single pixel, too: state kept between frames may then have the same size by chance. */
  for (unsigned i = 0; kc->frame_settings && kc->frame_settings[i] && kc->frame_settings[i + 1]; i++)
    for (int single = 0; single <= (kc->stateful_reference != NULL); single++) {
      KcCase c = new_case (kc, kc->frame_settings[i], CF_FORMAT_NV12, single ? 1 : 37, single ? 1 : 21);

      snprintf (c.then, sizeof c.then, "%s", kc->frame_settings[i + 1]);
      c.script = "EEUEEE";
      c.one_variant = true;
      kc_case_run (run, &c);
    }
}

/* Removes each N before which more frames are taken than the `ahead` with which a plan may filter an untaken one. */
static void
drop_untaken (char *script, int ahead)
{
  const char *from = script;
  int taken = 0;

  for (; *from; from++) {
    taken = *from == 'X' ? 0 : taken + (*from == 'R');
    if (*from != 'N' || taken <= ahead)
      *script++ = *from;
  }
  *script = '\0';
}

/* Windows with frames before and after: every format, with every apply-to, also calls that no element makes. */
static void
look_ahead (KcRun *run, const KcFilter *kc)
{
  static const char *const script[] = { "E", "EEEEE", "NRNRNRNXNRRRRRRRN", "RREEXREE" };
  unsigned rotation = 0;

  for (const char *const *set = kc->ahead_settings; set && *set; set++, rotation++)
    for (int f = CF_FORMAT_NONE + 1; f < CF_N_FORMATS; f++, rotation++) {
      KcCase c = new_case (kc, *set, (CfFormat) f, small_sizes[2 + rotation / 4 % 2][0], 13);
      void *params = kc_params_new (c.filter, *set, NULL);
      char text[32];

      if (!cf_format_info (c.video.format)->rgb)
        c.common.apply_to = (CfApplyTo) (rotation % 3);
      c.video.interlaced = rotation % 5 == 0;
      c.layout = (KcLayout) (rotation / 3 % KC_N_LAYOUTS);
      snprintf (text, sizeof text, "%s", script[rotation % G_N_ELEMENTS (script)]);
      drop_untaken (text, kc->ahead (c.filter, params));
      cf_params_free (c.filter, params);
      c.script = text;
      c.one_variant = run->options.quick;
      if (accepted (&c))
        kc_case_run (run, &c);
    }
}

/* Every setting with some of the filter's own sizes, each time with another format class. */
static void
more_sizes (KcRun *run, const KcFilter *kc)
{
  unsigned n = 0, rotation = 0;

  while (kc->more_sizes && kc->more_sizes[n][0])
    n++;
  for (unsigned i = 0; n > 0 && kc->settings[i]; i++)
    for (unsigned j = 0; j < (run->options.full ? n : run->options.quick ? 1 : 4); j++, rotation++) {
      const int *size = kc->more_sizes[rotation % n];
      KcCase c = new_case (kc, kc->settings[i], classes[(rotation + rotation / N_CLASSES) % N_CLASSES], size[0],
          size[1]);

      c.layout = (KcLayout) (rotation / 3 % KC_N_LAYOUTS);
      c.video.interlaced = rotation % 5 == 4;
      kc_case_run (run, &c);
    }
}

/* Drawn sequences: each setting, with each format class and each size in turn, and every format. Resets and updates
 * come when there is something to forget. Long ones reach limits of what changes slowly. */
static void
drawn (KcRun *run, const KcFilter *kc)
{
  static const int some[][2] = { { 16, 16 }, { 96, 64 }, { 200, 120 }, { 33, 47 }, { 131, 97 }, { 64, 32 }, { 21, 200 },
    { 180, 35 }, { 48, 48 }, { 40, 290 }, { 80, 16 }, { 64, 64 }, { 24, 272 }, { 80, 80 } };
  static const char *const script[] = { "EEEEEEEEEEEEEEEEEEEE", "EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE",
    "EEEEEEEEEEEEXEEEEEEEEE", "EEEEEEEEEEUEEBEEEEEEEE", "EEEEUEEEEEEEEEEEEEEEEE" };
  unsigned n = 0, rotation = 0;

  while (kc->settings[n])
    n++;
  for (unsigned i = 0; kc->draw && i < (N_CLASSES + CF_N_FORMATS - 1) * n; i++, rotation++) {
    const unsigned f = i / n;
    const CfFormat format = f < N_CLASSES ? classes[f] : (CfFormat) (f - N_CLASSES + 1);
    const int *size = some[(rotation + rotation / G_N_ELEMENTS (some)) % G_N_ELEMENTS (some)];
    KcCase c = new_case (kc, kc->settings[i % n], format, size[0], size[1]);

    if (!run->options.full && rotation % (run->options.quick ? 5 : 2))
      continue;
    snprintf (c.then, sizeof c.then, "%s", kc->settings[(i * 5 + 3) % n]);
    c.content = KC_DRAWN;
    c.script = script[rotation / 2 % G_N_ELEMENTS (script)];
    c.layout = (KcLayout) (rotation / 3 % KC_N_LAYOUTS);
    c.video.interlaced = rotation % 7 == 0;
    if (!cf_format_info (format)->rgb && rotation % 4 == 0)
      c.common.apply_to = rotation % 8 ? CF_APPLY_LUMA : CF_APPLY_CHROMA;
    kc_case_run (run, &c);
  }
  for (size_t i = 0; kc->draw && i < 8 * N_CLASSES; i += run->options.quick ? 5 : 1) {
    KcCase c = new_case (kc, kc->settings[i % n], classes[i % N_CLASSES], 53, 42);
    char many[KC_MAX_FRAMES] = "";

    memset (many, 'E', sizeof many - 1);
    c.content = KC_DRAWN;
    c.script = many;
    kc_case_run (run, &c);
  }
}

static void
large (KcRun *run, const KcFilter *kc)
{
  for (unsigned i = 0; kc->large_settings[i]; i++)
    for (size_t f = 0; f < N_CLASSES; f += run->options.quick ? N_CLASSES : 1) {
      KcCase c = new_case (kc, kc->large_settings[i], classes[run->options.quick ? i % N_CLASSES : f], 1920, 1080);

      /* Exactly one frame per setting and class; with --quick only every other setting. */
      if (run->options.quick && i % 2)
        continue;
      c.content = kc->contents && i % 2 ? KC_PATCHES : KC_NATURAL;
      c.layout = KC_WIDE;
      c.script = kc->stateful_reference ? "EE" : "E";
      c.one_variant = run->options.quick;
      kc_case_run (run, &c);
    }
}

/* Frames whose blocks a GPU does not hold at once, for which some kernels have code of their own. Not on CPUs, where
 * they would be slow and show nothing new. */
static void
whole (KcRun *run, const KcFilter *kc)
{
  for (const KcWhole *w = kc->whole; w && w->set; w++) {
    KcCase c = new_case (kc, w->set, w->format, w->width, w->height);

    if (!run->gpu) {
      run->number++; /* case numbers do not depend on the backend */
      continue;
    }
    c.content = KC_NATURAL;
    c.layout = KC_WIDE;
    c.one_variant = true;
    kc_case_run (run, &c);
  }
}

static void
random_cases (KcRun *run, const KcFilter *kc)
{
  static const char *const script[] = { "E", "E", "EE", "EXE", "RE", "EEE" };
  int n = run->options.quick ? 150 : 2000;

  for (int i = 0; i < n; i++) {
    uint64_t state = (uint64_t) run->options.seed * 77u + (uint64_t) i;
    int w = 1 + (int) (kc_random (&state) % (i % 3 ? 70 : 200)), h = 1 + (int) (kc_random (&state) % (i % 3 ? 50 : 20));
    KcCase c = new_case (kc, "", (CfFormat) (1 + kc_random (&state) % (CF_N_FORMATS - 1)), w, h);
    CfStatus status = { 0 };

    if (!kc_is_ours (run, run->number)) {
      run->number++;
      continue;
    }
    /* Draws among the contents before KC_PATCHES, so that a seed still gives the cases of older versions. */
    c.content = (KcContent) (kc_random (&state) % KC_PATCHES);
    if (kc->contents && i % 4)
      c.content = KC_PATCHES;
    c.layout = (KcLayout) (kc_random (&state) % KC_N_LAYOUTS);
    c.video.interlaced = kc_random (&state) % 4 == 0;
    c.mapped = run->gpu && kc_random (&state) % 8 == 0;
    c.script = script[kc_random (&state) % 6];
    if (!cf_format_info (c.video.format)->rgb)
      c.common.apply_to = (CfApplyTo) (kc_random (&state) % 3);
    if (kc_params_random (kc, &c.video, &c.common, c.set, &state, &status))
      kc_case_run (run, &c);
    else
      run->number++; /* case numbers do not depend on what is found */
    kc_result (run, status.code == CF_OK, "random case %d, %s %s: %s", i, cf_format_info (c.video.format)->name, c.set,
        status.message);
  }
}

#define MAX_WIDTH 280

/* Every width with which strips of up to 128 samples can begin and end, on few rows; a third of them in GRAY8, whose
 * kernels have the widest strips. A setting meets other widths, classes and layouts in each round. */
static void
each_width (KcRun *run, const KcFilter *kc)
{
  unsigned n = 0, rounds = run->options.full ? 16 : run->options.quick ? 1 : 4;

  while (kc->settings[n])
    n++;
  for (unsigned i = 0; i < rounds * MAX_WIDTH; i++) {
    unsigned rotation = i + i / n + i / MAX_WIDTH;
    int w = 1 + (int) (i % MAX_WIDTH);
    KcCase c = new_case (kc, kc->settings[i % n], classes[rotation % 3 ? rotation % N_CLASSES : 0], w, 1 + 5 * w % 13);

    c.layout = (KcLayout) (rotation / 3 % KC_N_LAYOUTS);
    kc_case_run (run, &c);
  }
}

/* Every setting with every format class in frames whose rows begin and end on 16 bytes, in all planes: some kernels
 * take no others, and elsewhere a setting meets such a frame in few classes. With --quick only the variant that the
 * plan chooses. */
static void
aligned (KcRun *run, const KcFilter *kc)
{
  static const int some[][2] = { { 144, 21 }, { 64, 34 } };
  unsigned rotation = 0;

  for (const char *const *set = kc->settings; *set; set++)
    for (size_t f = 0; f < N_CLASSES; f++, rotation++) {
      KcCase c = new_case (kc, *set, classes[f], some[rotation % 2][0], some[rotation % 2][1]);

      own_content (kc, rotation, &c.content);
      c.layout = KC_WIDE;
      c.one_variant = run->options.quick;
      kc_case_run (run, &c);
    }
}

/* Under a sanitizer, which is slow: each setting with each of its variants, on small tight images; every third setting
 * for other formats; and aligned images. One image is tall, so that ring buffers in shared memory wrap around more than
 * once. */
static void
sanitize (KcRun *run, const KcFilter *kc)
{
  static const CfFormat formats[] = { CF_FORMAT_GRAY8, CF_FORMAT_I420_10LE, CF_FORMAT_YUY2, CF_FORMAT_RGB,
    CF_FORMAT_RGBA, CF_FORMAT_GRAY8, CF_FORMAT_NV12, CF_FORMAT_RGBA };
  /* from `first` on: aligned rows, as in aligned (), with every setting and the variant that the plan chooses */
  static const size_t first = 5;
  static const int some[][2] = { { 67, 35 }, { 33, 150 }, { 21, 13 }, { 21, 11 }, { 37, 19 }, { 64, 19 }, { 32, 18 },
    { 32, 11 } };
  const char *const *settings = kc->sanitize_settings ? kc->sanitize_settings : kc->settings;

  for (size_t f = 0; f < G_N_ELEMENTS (formats); f++) {
    for (const char *const *set = settings; *set; set++) {
      KcCase c = new_case (kc, *set, formats[f], some[f][0], some[f][1]);

      if (f > 0 && f < first && (size_t) (set - settings) % 3 != f % 3 && !(f == 3 && strstr (*set, "gray=")))
        continue;
      c.one_variant = f >= first;
      c.layout = KC_TIGHT;
      kc_case_run (run, &c);
    }
    for (const char *const *set = kc->frame_settings; f == 0 && set && *set; set++) {
      KcCase c = new_case (kc, *set, formats[f], 35, 19);

      c.layout = KC_TIGHT;
      c.script = "EE";
      kc_case_run (run, &c);
    }
  }
  for (const char *const *set = kc->rgb_settings; set && *set; set++) {
    KcCase c = new_case (kc, *set, CF_FORMAT_RGB, 33, 17);

    c.layout = KC_TIGHT;
    kc_case_run (run, &c);
  }
}

static void
self_test (KcRun *run, const KcFilter *kc)
{
  static const CfFormat formats[] = { CF_FORMAT_GRAY8, CF_FORMAT_NV12, CF_FORMAT_RGBA, CF_FORMAT_P010_10LE };

  for (size_t f = 0; f < G_N_ELEMENTS (formats); f++)
    for (int b = KC_BREAK_NOTHING + 1; b < (kc->has_regions ? KC_N_BREAKS : KC_BREAK_REGION); b++) {
      KcCase c = new_case (kc, kc->right, formats[f], 45, 23);

      c.layout = KC_WIDE;
      c.broken = (KcBreak) b;
      if (kc->draw)
        c.content = KC_DRAWN;
      kc_case_run (run, &c);
    }
}

void
kc_sweep (KcRun *run, const KcFilter *kc)
{
  static const CfFormat rgb[] = { CF_FORMAT_RGB, CF_FORMAT_BGRx, CF_FORMAT_ARGB, CF_FORMAT_GBR };
  /* Not among `classes`: with more of them, or another number, sizes and layouts would meet some classes only. */
  static const CfFormat bits_12[] = { CF_FORMAT_I420_12LE, CF_FORMAT_P012_LE };

  if (kc_is_first_process (run))
    kc_result (run, !kc->check_reference || kc->check_reference () == 0,
        "the reference of %s does not agree with itself", kc->stem);
  self_test (run, kc);
  if (run->options.self_test)
    return;
  if (run->options.sanitize) {
    sanitize (run, kc);
    return;
  }
  product (run, kc, kc->settings, classes, N_CLASSES);
  product (run, kc, kc->settings, bits_12, G_N_ELEMENTS (bits_12));
  product (run, kc, kc->rgb_settings, rgb, run->options.quick ? 2 : 4);
  all_formats (run, kc);
  each_format (run, kc);
  scripts (run, kc);
  look_ahead (run, kc);
  more_sizes (run, kc);
  drawn (run, kc);
  large (run, kc);
  random_cases (run, kc);
  each_width (run, kc);
  aligned (run, kc);
  whole (run, kc);
}
