/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * reference/segment_cases.c: the settings and frame contents with which the segmentation is tested. */
#include "segment.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define META " region-meta=1 label-meta=1"
/* clicks=N in a setting stands for N points of `seeds`, every second pixel of rows of 40 pixels: more than the
 * text of a setting can hold (sg_expand). */
/* Points at a distance of three cells of 2 pixels: regions of a few cells. */
#define MANY_SEEDS "1,1;7,1;13,1;19,1;25,1;31,1;1,7;7,7;13,7;19,7;25,7;31,7;1,13;7,13;13,13;19,13;25,13;31,13"

/* Patches exercise all steps: flat areas, ramps, weak and strong borders, fragments, noise that differs from frame to
 * frame. The others are the extremes: one region, only single cells, ties. */
const KcContent sg_contents[] = { KC_PATCHES, KC_RANDOM, KC_PATCHES, KC_GRADIENT, KC_PATCHES, KC_LOW, KC_PATCHES,
  KC_SALT, KC_PATCHES, KC_TIES, KC_PATCHES, KC_HIGH, KC_NATURAL };
const int sg_n_contents = G_N_ELEMENTS (sg_contents);

const char *const sg_settings[] = {
  /* The first six are tested with every format. */
  "region-meta=1 label-meta=1", "output=boundaries boundary-color=0xff20c0f0 seed-threshold=0" META,
  "output=labels cell-size=2" META, "temporal=0 cell-size=3 seed-threshold=0.03" META,
  "merge-threshold=0.03 weak-fraction=1 min-size=1 output=mean label-meta=1", "output=passthrough message-interval=100",
  /* Painting without reported regions. */
  "output=mean", "output=boundaries", "output=labels", "output=passthrough",
  /* Seeds: derived, few, many; Otsu's criterion; seeds by the user: repeated, outside the frame, filling a corner.
   * Nearly every cell is a seed by default, and growth has little to do: so the settings below have other thresholds,
   * too. */
  "seed-threshold=0" META, "seed-threshold=0.03" META, "seed-threshold=0.0001" META,
  "seed-threshold=0.01 min-size=1" META, "seed-threshold=0.2" META, "seed-similarity=1" META,
  "seed-similarity=1 seed-threshold=0 min-size=1" META,
  "seeds=0,0;3,2;9,12;3,2;16383,5;2,70 seed-threshold=0.0001" META,
  "seeds=0,0;1,0;0,1;1,1;2,1;2,2;40,20;41,20;12,8 min-size=1 seed-threshold=0" META,
  "seeds=;7,3;;4,4;10,2; cell-size=4" META, "clicks=1024 min-size=1" META,
  "clicks=1024 min-size=1 seed-threshold=0.03" META, "clicks=40 min-size=50" META,
  "seeds=1,1;14,13 merge-threshold=1 cell-size=1" META,
  "seeds=1,1;40,20;9,40;70,7 merge-threshold=0.3 weak-difference=0.3 weak-fraction=0.1 max-regions=3" META,
  /* Weak borders: all that touch; only those whose pairs are all weak; hardly any. */
  "weak-difference=1 weak-fraction=0" META,
  "weak-difference=0.2 weak-fraction=0.99 merge-threshold=0 seed-threshold=0" META,
  "weak-difference=0 weak-fraction=0.5 min-size=1" META, "weak-fraction=0.5 seed-threshold=0.03" META,
  "weak-difference=0.1 weak-fraction=0.3 min-size=1 merge-threshold=0.01" META,
  "weak-difference=0.05 weak-fraction=0.0001 merge-threshold=0 min-size=1" META,
  /* Merging. */
  "merge-threshold=0 weak-fraction=1 min-size=1 seed-threshold=0" META, "merge-threshold=1" META,
  "merge-threshold=0.2 min-size=1" META, "merge-threshold=0.05 min-size=7" META, "min-size=50 output=labels" META,
  "min-size=268435456" META, "max-regions=1" META, "max-regions=2 min-size=1 seed-threshold=0.03" META,
  "max-regions=5 merge-threshold=0 weak-fraction=1" META,
  "max-regions=20 min-size=1 merge-threshold=0.02 output=boundaries" META,
  /* Cell sizes: odd, even, larger than the frame. */
  "cell-size=1" META, "cell-size=1 seed-threshold=0.03" META, "cell-size=2 min-size=13 output=boundaries" META,
  "cell-size=3 min-size=1" META, "cell-size=4" META, "cell-size=5 min-size=60 weak-fraction=1 seed-threshold=0" META,
  "cell-size=7 output=labels min-size=1" META, "cell-size=8 seed-threshold=0.3" META, "cell-size=11 min-size=1" META,
  "cell-size=16 min-size=1" META,
  "cell-size=2 merge-threshold=0 weak-fraction=1 min-size=33 seed-threshold=0.0001 seeds=" MANY_SEEDS META, NULL
};

/* Tested over several frames. */
const char *const sg_frame_settings[] = { "region-meta=1 label-meta=1",
  "temporal=0.05 min-size=1 seed-threshold=0" META, "temporal=1" META,
  "temporal=0.3 merge-threshold=0.05 cell-size=2 output=labels" META, "temporal=0" META,
  "temporal=0.1 min-size=4 merge-threshold=0.02 weak-fraction=1 seed-threshold=0.03" META,
  "temporal=0.02 merge-threshold=0.3 weak-difference=0.1 weak-fraction=0.5" META,
  "temporal=0.2 max-regions=6 min-size=1 seed-threshold=0" META,
  "temporal=0.15 cell-size=2 seeds=3,3;9,9;20,10 min-size=1" META, "merge-threshold=1 temporal=0.3" META,
  "seeds=3,3;30,9;20,18 merge-threshold=0.4 temporal=0.3" META,
  "seeds=3,3;30,9;9,18;19,18 temporal=0.05 max-regions=1 weak-fraction=0.3" META,
  "temporal=0.5 seed-similarity=1 output=boundaries" META, "temporal=0.0001 min-size=1 output=labels" META,
  "temporal=0.6 cell-size=1 min-size=3 seed-threshold=0.03" META, "weak-fraction=0.3 min-size=3" META, "temporal=0.15",
  "seed-threshold=0" META, NULL };

/* Tested with large frames: the default is cells of 2. */
const char *const sg_large_settings[] = { "region-meta=1 label-meta=1",
  "seeds=100,100;900,600;400,700 merge-threshold=0.3" META, "output=labels min-size=1 merge-threshold=0.04" META,
  "cell-size=1 output=boundaries" META, "cell-size=5 seed-similarity=1 max-regions=100" META,
  "weak-fraction=0.5 max-regions=40 seed-threshold=0" META, NULL };

const char *const sg_sanitize_settings[] = { "region-meta=1 label-meta=1",
  "output=boundaries cell-size=2 seed-similarity=1" META, "output=labels cell-size=3 min-size=1 seeds=3,3;9,9" META,
  "merge-threshold=0 weak-fraction=1 min-size=1" META, "max-regions=2 min-size=1 temporal=0" META, "output=mean",
  "seed-threshold=0" META, "seed-threshold=0.0001 min-size=1" META, "weak-fraction=0.4 weak-difference=0.1" META,
  NULL };

const char *const sg_bad_settings[] = { "output=4", "seed-threshold=-0.001", "seed-threshold=1.001",
  "seed-threshold=nan", "merge-threshold=-1", "merge-threshold=1.5", "merge-threshold=inf", "weak-difference=1.01",
  "weak-fraction=-0.5", "weak-fraction=nan", "min-size=-1", "max-regions=0", "max-regions=65536", "temporal=-0.1",
  "temporal=1.01", "cell-size=-1", "cell-size=17", "message-interval=-1", "seeds=x", "seeds=1", "seeds=1,", "seeds=,1",
  "seeds=1,2;,", "seeds=;1.,2", "seeds=1,2;;3,4x", "seeds=1,2,3", "seeds=1.5,2", "seeds=1,2;x,3", "seeds=1,2;3",
  "seeds=99999999999,1", "seeds=1,2x", "seeds=0x1,2", "clicks=1025", NULL };

/* In addition to the sizes that every filter is tested with: several warps and blocks of cells of 1, and more than 720
 * lines, where cells are 2. */
const int sg_more_sizes[][2] = { { 320, 240 }, { 257, 130 }, { 1025, 5 }, { 7, 700 }, { 1, 300 }, { 511, 37 },
  { 725, 723 }, { 90, 90 }, { 16384, 2 }, { 3, 16384 }, { 0 } };

char *
sg_expand (const char *text)
{
  const char *at = strstr (text, "clicks=");
  GString *out;
  int n;

  if (!at || sscanf (at, "clicks=%d", &n) != 1)
    return NULL;
  out = g_string_new_len (text, at - text);
  g_string_append (out, "seeds=");
  for (int i = 0; i < n; i++)
    g_string_append_printf (out, "%s%d,%d", i ? ";" : "", i % 20 * 2, i / 20);
  g_string_append (out, at + strcspn (at, " "));
  return g_string_free (out, false);
}

/* ---- random ------------------------------------------------------------- */

/* Returns a number in 0..1: 0 or 1 now and then, otherwise mostly small. */
static double
random_part (uint64_t *state)
{
  const double u = kc_random_double (state);

  switch (kc_random (state) % 8) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return u;
    default:
      return u * u * u;
  }
}

/* Returns a number in 0..most, mostly small. */
static int
random_small (int most, uint64_t *state)
{
  const double u = kc_random_double (state);

  return (int) (pow (most + 1.0, u * u) - 1);
}

/* Leaves some parameters at their defaults, so that the effect of the others shows. */
void
sg_random (GString *text, uint64_t *state)
{
  static const char *const outputs[] = { "mean", "boundaries", "labels", "passthrough" };
  static const char *const doubles[] = { "seed-threshold", "merge-threshold", "weak-difference", "weak-fraction",
    "temporal" };

  g_string_append_printf (text, "output=%s boundary-color=0x%08x seed-similarity=%d region-meta=%d label-meta=%d",
      outputs[kc_random (state) % 4], (unsigned) kc_random (state), kc_random (state) % 4 == 0,
      kc_random (state) % 4 != 0, kc_random (state) % 4 != 0);
  for (size_t i = 0; i < G_N_ELEMENTS (doubles); i++)
    if (kc_random (state) % 2)
      g_string_append_printf (text, " %s=%.9g", doubles[i], random_part (state));
  if (kc_random (state) % 3)
    g_string_append_printf (text, " min-size=%d", random_small (3000, state));
  if (kc_random (state) % 4 == 0)
    g_string_append_printf (text, " max-regions=%d", 1 + random_small (200, state));
  if (kc_random (state) % 2)
    g_string_append_printf (text, " cell-size=%d", (int) (kc_random (state) % 17));
  for (int i = 0, n = kc_random (state) % 4 ? 0 : (int) (1 + kc_random (state) % 6); i < n; i++)
    g_string_append_printf (text, "%s%d,%d", i ? ";" : " seeds=", (int) (kc_random (state) % 90),
        (int) (kc_random (state) % 60));
}
