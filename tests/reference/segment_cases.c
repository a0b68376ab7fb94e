/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment_cases.c: with which settings and contents the segmentation is tried. */
#define _GNU_SOURCE
#include "segment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLD " region-meta=1 label-meta=1"
/* clicks=N in a setting are N points of `seeds`, in rows of 40 pixels that are 2
 * apart: more than a setting has room for (sg_expand).
 * Three cells of 2 apart: regions of a few cells. */
#define MANY_SEEDS "1,1;7,1;13,1;19,1;25,1;31,1;1,7;7,7;13,7;19,7;25,7;31,7;1,13;7,13;13,13;19,13;25,13;31,13"

/* Patches have all that the steps look for: flat places, ramps, borders weak and
 * strong, fragments, noise that is different in every frame. The others are the
 * ends: one region, none but single cells, ties. */
const KcContent sg_contents[] = { KC_PATCHES, KC_RANDOM, KC_PATCHES, KC_GRADIENT, KC_PATCHES, KC_LOW, KC_PATCHES,
  KC_SALT, KC_PATCHES, KC_TIES, KC_PATCHES, KC_HIGH, KC_NATURAL };
const int sg_n_contents = sizeof sg_contents / sizeof *sg_contents;

const char *const sg_settings[] = {
  /* The first six meet every format. */
  "region-meta=1 label-meta=1", "output=boundaries boundary-color=0xff20c0f0" TOLD, "output=labels cell-size=2" TOLD,
  "temporal=0 cell-size=3" TOLD, "merge-threshold=0.03 weak-fraction=1 min-size=1 output=mean label-meta=1",
  "output=passthrough message-interval=100",
  /* What is painted, with nobody asking for more. */
  "output=mean", "output=boundaries", "output=labels", "output=passthrough",
  /* Seeds: none, all, few; the thesis's second criterion; clicks, some twice, outside, all over a corner. */
  "seed-threshold=1" TOLD, "seed-threshold=0.0001" TOLD, "seed-threshold=0.01 min-size=1" TOLD,
  "seed-threshold=0.2" TOLD, "seed-similarity=1" TOLD, "seed-similarity=1 seed-threshold=1 min-size=1" TOLD,
  "seeds=0,0;3,2;9,12;3,2;16383,5;2,70 seed-threshold=0.0001" TOLD,
  "seeds=0,0;1,0;0,1;1,1;2,1;2,2;40,20;41,20;12,8 min-size=1" TOLD,
  "seeds=7,3;4,4;10,2 cell-size=4" TOLD, "clicks=1024 min-size=1" TOLD,
  /* Weak borders: all that touch; those all of whose pairs are weak; hardly any. */
  "weak-difference=1 weak-fraction=0" TOLD, "weak-difference=0.2 weak-fraction=0.99 merge-threshold=0" TOLD,
  "weak-difference=0 min-size=1" TOLD, "weak-difference=0.1 weak-fraction=0.3 min-size=1 merge-threshold=0.01" TOLD,
  "weak-difference=0.05 weak-fraction=0.0001 merge-threshold=0 min-size=1" TOLD,
  /* Merging. */
  "merge-threshold=0 weak-fraction=1 min-size=1" TOLD, "merge-threshold=1" TOLD, "merge-threshold=0.2 min-size=1" TOLD,
  "merge-threshold=0.05 min-size=7" TOLD, "min-size=50 output=labels" TOLD, "min-size=268435456" TOLD,
  "max-regions=1" TOLD, "max-regions=2 min-size=1" TOLD, "max-regions=5 merge-threshold=0 weak-fraction=1" TOLD,
  "max-regions=20 min-size=1 merge-threshold=0.02 output=boundaries" TOLD,
  /* Cells of every kind: odd, even, larger than the picture. */
  "cell-size=1" TOLD, "cell-size=2 min-size=13 output=boundaries" TOLD, "cell-size=3 min-size=1" TOLD,
  "cell-size=4" TOLD, "cell-size=5 min-size=60 weak-fraction=1" TOLD, "cell-size=7 output=labels min-size=1" TOLD,
  "cell-size=8 seed-threshold=0.3" TOLD, "cell-size=11 min-size=1" TOLD, "cell-size=16 min-size=1" TOLD,
  "cell-size=2 merge-threshold=0 weak-fraction=1 min-size=33 seed-threshold=0.0001 seeds=" MANY_SEEDS TOLD, NULL
};

/* With frames before. */
const char *const sg_frame_settings[] = {
  "region-meta=1 label-meta=1", "temporal=0.05 min-size=1" TOLD, "temporal=1" TOLD,
  "temporal=0.3 merge-threshold=0.05 cell-size=2 output=labels" TOLD, "temporal=0" TOLD,
  "temporal=0.1 min-size=4 merge-threshold=0.02 weak-fraction=1" TOLD,
  "temporal=0.02 merge-threshold=0.3 weak-difference=0.1" TOLD, "temporal=0.2 max-regions=6 min-size=1" TOLD,
  "temporal=0.15 cell-size=2 seeds=3,3;9,9;20,10 min-size=1" TOLD,
  "temporal=0.5 seed-similarity=1 output=boundaries" TOLD,
  "temporal=0.0001 min-size=1 output=labels" TOLD, "temporal=0.6 cell-size=1 min-size=3" TOLD, "temporal=0.15", NULL
};

/* Whole pictures: cells of 2. */
const char *const sg_large_settings[] = {
  "region-meta=1 label-meta=1", "output=labels min-size=1 merge-threshold=0.04" TOLD,
  "cell-size=1 output=boundaries" TOLD,
  "cell-size=5 seed-similarity=1 max-regions=100" TOLD, NULL
};

const char *const sg_sanitize_settings[] = {
  "region-meta=1 label-meta=1", "output=boundaries cell-size=2 seed-similarity=1" TOLD,
  "output=labels cell-size=3 min-size=1 seeds=3,3;9,9" TOLD, "merge-threshold=0 weak-fraction=1 min-size=1" TOLD,
  "max-regions=2 min-size=1 temporal=0" TOLD, "output=mean", "seed-threshold=0.0001 min-size=1" TOLD, NULL
};

const char *const sg_bad_settings[] = {
  "output=4", "seed-threshold=-0.001", "seed-threshold=1.001", "seed-threshold=nan", "merge-threshold=-1",
  "merge-threshold=1.5", "merge-threshold=inf", "weak-difference=1.01", "weak-fraction=-0.5", "weak-fraction=nan",
  "min-size=-1", "max-regions=0", "max-regions=65536", "temporal=-0.1", "temporal=1.01", "cell-size=-1", "cell-size=17",
  "message-interval=-1", "seeds=x", "seeds=1", "seeds=1,", "seeds=,1", "seeds=1,2;", "seeds=;1,2", "seeds=1,2;;3,4",
  "seeds=1,2,3", "seeds=1.5,2", "seeds=1,2;x,3", "seeds=1,2;3", "seeds=99999999999,1", "seeds=1,2x",
  "seeds=0x1,2", "clicks=1025", NULL
};

/* Beside those that every filter meets: several warps and blocks of cells with
 * cells of 1, and more lines than 720, where cells are 2. */
const int sg_more_sizes[][2] = {
  { 320, 240 }, { 257, 130 }, { 1025, 5 }, { 7, 700 }, { 1, 300 }, { 511, 37 }, { 725, 723 }, { 90, 90 },
  { 16384, 2 }, { 3, 16384 }, { 0 }
};

char *
sg_expand (const char *text)
{
  const char *at = strstr (text, "clicks=");
  char *expanded = NULL;
  size_t size;
  FILE *out;
  int n;

  if (!at || sscanf (at, "clicks=%d", &n) != 1 || !(out = open_memstream (&expanded, &size)))
    return NULL;
  fprintf (out, "%.*sseeds=", (int) (at - text), text);
  for (int i = 0; i < n; i++)
    fprintf (out, "%s%d,%d", i ? ";" : "", i % 20 * 2, i / 20);
  fputs (at + strcspn (at, " "), out);
  if (fclose (out) != 0) {
    free (expanded);
    return NULL;
  }
  return expanded;
}

/* ---- random ------------------------------------------------------------- */

/* Now an end, now in between, more often small. */
static double
random_part (uint64_t *state)
{
  const double u = (double) (kc_random (state) >> 11) / 9007199254740992.0;

  switch (kc_random (state) % 8) {
    case 0: return 0;
    case 1: return 1;
    case 2: return u;
    default: return u * u * u;
  }
}

static int
random_small (int most, uint64_t *state)
{
  const double u = (double) (kc_random (state) >> 11) / 9007199254740992.0;

  return (int) (pow (most + 1.0, u * u) - 1);
}

/* Each parameter stays what it is now and then, so that the others show. */
void
sg_random (char *text, size_t size, uint64_t *state)
{
  static const char *const outputs[] = { "mean", "boundaries", "labels", "passthrough" };
  static const char *const doubles[] = { "seed-threshold", "merge-threshold", "weak-difference", "weak-fraction",
    "temporal" };
  size_t used;

  snprintf (text, size, "output=%s boundary-color=0x%08x seed-similarity=%d region-meta=%d label-meta=%d",
      outputs[kc_random (state) % 4], (unsigned) kc_random (state), kc_random (state) % 4 == 0,
      kc_random (state) % 4 != 0, kc_random (state) % 4 != 0);
  for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
    if (used = strlen (text), kc_random (state) % 2)
      snprintf (text + used, size - used, " %s=%.9g", doubles[i], random_part (state));
  if (used = strlen (text), kc_random (state) % 3)
    snprintf (text + used, size - used, " min-size=%d", random_small (3000, state));
  if (used = strlen (text), kc_random (state) % 4 == 0)
    snprintf (text + used, size - used, " max-regions=%d", 1 + random_small (200, state));
  if (used = strlen (text), kc_random (state) % 2)
    snprintf (text + used, size - used, " cell-size=%d", (int) (kc_random (state) % 17));
  for (int i = 0, n = kc_random (state) % 4 ? 0 : (int) (1 + kc_random (state) % 6); i < n; i++) {
    used = strlen (text);
    snprintf (text + used, size - used, "%s%d,%d", i ? ";" : " seeds=", (int) (kc_random (state) % 90),
        (int) (kc_random (state) % 60));
  }
}
