/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * reference/segment_known.c: checks the reference of the segmentation against cases worked out by hand from the
 * contract (cuda/segment/segment.h). */
#include "segment.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 64, FRAMES = 2 };

/* One or two gray frames. levels: one letter a pixel, row by row; labels: the expected region of each pixel as a
 * letter; id: the expected ids of the regions. Values that are left out switch their step off: thresholds of 0 are
 * never met, a weak-fraction of 1 joins nothing, M is 1. */
typedef struct {
  const char *what;
  int width, height, size, n_seeds;
  int seeds[4]; /* cell numbers */
  struct {
    double seed, merge, weak, fraction, temporal;
    uint32_t min_cells;
    int max_regions; /* 0: no limit */
    bool similarity;
    const char *levels, *labels;
    uint32_t id[4];
  } frame[FRAMES];
} Known;

/* Returns the level of a letter: 'a' is 100 and each further small letter 10 more. 'B' is 116, which merges with 100
 * at a threshold of .1 but not of .06. */
static int
level_of (char letter)
{
  return letter == 'B' ? 116 : 100 + 10 * (letter - 'a');
}

static const Known known[] = {
  { "a flat frame", 2, 2, 1, 0, { 0 }, { { .seed = .05, .levels = "aaaa", .labels = "aaaa", .id = { 1 } } } },
  /* The cells beside the border are not seeds; they join by growth. */
  { "two halves", 4, 2, 1, 0, { 0 },
      { { .seed = .05,
          .merge = .1,
          .weak = .03,
          .fraction = .5,
          .levels = "aakkaakk",
          .labels = "aabbaabb",
          .id = { 1, 2 } } } },
  { "seeds that touch at a corner", 2, 2, 1, 2, { 0, 3 }, { { .levels = "akka", .labels = "aaaa", .id = { 1 } } } },
  { "seeds that do not touch", 3, 1, 1, 2, { 0, 2 }, { { .levels = "aka", .labels = "aab", .id = { 1, 2 } } } },
  { "a tie of growth", 3, 1, 1, 2, { 0, 2 }, { { .levels = "afk", .labels = "aab", .id = { 1, 2 } } } },
  /* 140 and 150 pick each other, 160 joins them; in the next round there is a tie. */
  { "two that pick each other", 5, 1, 1, 2, { 0, 4 }, { { .levels = "aefgk", .labels = "aaaab", .id = { 1, 2 } } } },
  { "no seed at all", 4, 1, 1, 0, { 0 }, { { .levels = "abkl", .labels = "aaaa", .id = { 1 } } } },
  /* 130 beside 140 is weak from .0443 on. */
  { "a weak border", 5, 1, 1, 2, { 0, 4 },
      { { .weak = .05, .fraction = .5, .levels = "abcde", .labels = "aaaaa", .id = { 1 } } } },
  { "a border nearly weak", 5, 1, 1, 2, { 0, 4 },
      { { .weak = .044, .fraction = .5, .levels = "abcde", .labels = "aaaab", .id = { 1, 2 } } } },
  { "a border of weak pairs only, at fraction 1", 5, 1, 1, 2, { 0, 4 },
      { { .weak = .05, .fraction = 1, .levels = "abcde", .labels = "aaaab", .id = { 1, 2 } } } },
  { "three sizes", 6, 1, 1, 3, { 0, 3, 5 }, { { .levels = "aaaggk", .labels = "aaabbc", .id = { 1, 2, 3 } } } },
  { "less than 2", 6, 1, 1, 3, { 0, 3, 5 },
      { { .min_cells = 2, .levels = "aaaggk", .labels = "aaabbb", .id = { 1, 2 } } } },
  { "less than 3", 6, 1, 1, 3, { 0, 3, 5 },
      { { .min_cells = 3, .levels = "aaaggk", .labels = "aaabbb", .id = { 1, 2 } } } },
  { "less than 4", 6, 1, 1, 3, { 0, 3, 5 },
      { { .min_cells = 4, .levels = "aaaggk", .labels = "aaaaaa", .id = { 1 } } } },
  { "two regions at most", 6, 1, 1, 3, { 0, 3, 5 },
      { { .max_regions = 2, .levels = "aaaggk", .labels = "aaabbb", .id = { 1, 2 } } } },
  { "one region at most", 6, 1, 1, 3, { 0, 3, 5 },
      { { .max_regions = 1, .levels = "aaaggk", .labels = "aaaaaa", .id = { 1 } } } },
  /* The cell in the middle belongs to the left region, but its right pixels do not. */
  { "cells of 2", 6, 2, 2, 2, { 0, 2 }, { { .levels = "aaakkkaaakkk", .labels = "aaabbbaaabbb", .id = { 1, 2 } } } },
  { "a border that moves", 4, 2, 1, 0, { 0 },
      { { .seed = .05, .merge = .1, .levels = "aakkaakk", .labels = "aabbaabb", .id = { 1, 2 } },
          { .seed = .05, .merge = .1, .temporal = .15, .levels = "aaakaaak", .labels = "aaabaaab", .id = { 1, 2 } } } },
  { "each frame by itself", 4, 2, 1, 0, { 0 },
      { { .seed = .05, .levels = "aaaaaaaa", .labels = "aaaaaaaa", .id = { 1 } },
          { .seed = .05, .levels = "kkaakkaa", .labels = "aabbaabb", .id = { 1, 2 } } } },
  { "pieces of an old region stay one region", 9, 3, 1, 0, { 0 },
      { { .seed = .05, .levels = "aaaaaaaaaaaaaaaaaaaaaaaaaaa", .labels = "aaaaaaaaaaaaaaaaaaaaaaaaaaa", .id = { 1 } },
          { .seed = .05,
              .temporal = .15,
              .levels = "aaakkkaaaaaakkkaaaaaakkkaaa",
              .labels = "aaabbbaaaaaabbbaaaaaabbbaaa",
              .id = { 1, 2 } } } },
  /* The right part has 3 of 60 cells, less than one part in 16, but not less than min-size. */
  { "a small piece stays", 20, 3, 1, 0, { 0 },
      { { .seed = .05,
            .levels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .labels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .id = { 1 } },
          { .seed = .05,
              .temporal = .15,
              .levels = "aaaaaaaaaaaaaaaakkkaaaaaaaaaaaaaaaaakkkaaaaaaaaaaaaaaaaakkka",
              .labels = "aaaaaaaaaaaaaaaabbbaaaaaaaaaaaaaaaaabbbaaaaaaaaaaaaaaaaabbba",
              .id = { 1, 2 } } } },
  /* The block between the parts has no seed; it joins the left part, because that has the smaller root. */
  { "a part too small is dropped", 20, 3, 1, 0, { 0 },
      { { .seed = .05,
            .levels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .labels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .id = { 1 } },
          { .seed = .05,
              .temporal = .15,
              .min_cells = 4,
              .levels = "aaaaaaaaaaaaaaaaakkaaaaaaaaaaaaaaaaaakkaaaaaaaaaaaaaaaaaakka",
              .labels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
              .id = { 1 } } } },
  { "less than a quarter is left", 20, 3, 1, 0, { 0 },
      { { .seed = .05,
            .levels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .labels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .id = { 1 } },
          { .seed = .05,
              .temporal = .15,
              .levels = "aaaakkkkkkkkkkkkkkkkaaaakkkkkkkkkkkkkkkkaaaakkkkkkkkkkkkkkkk",
              .labels = "aaaabbbbbbbbbbbbbbbbaaaabbbbbbbbbbbbbbbbaaaabbbbbbbbbbbbbbbb",
              .id = { 2, 3 } } } },
  { "a quarter is left", 20, 3, 1, 0, { 0 },
      { { .seed = .05,
            .levels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .labels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .id = { 1 } },
          { .seed = .05,
              .temporal = .15,
              .levels = "aaaaakkkkkkkkkkkkkkkaaaaakkkkkkkkkkkkkkkaaaaakkkkkkkkkkkkkkk",
              .labels = "aaaaabbbbbbbbbbbbbbbaaaaabbbbbbbbbbbbbbbaaaaabbbbbbbbbbbbbbb",
              .id = { 1, 2 } } } },
  /* 100 beside 116 needs N > 377.05; of two cells in four, N is 380 at .36 and 376 at .358. */
  { "similar enough to merge", 4, 1, 1, 0, { 0 },
      { { .seed = .05, .merge = .36, .levels = "aaBB", .labels = "aaaa", .id = { 1 } } } },
  { "not similar enough to merge", 4, 1, 1, 0, { 0 },
      { { .seed = .05, .merge = .358, .levels = "aaBB", .labels = "aabb", .id = { 1, 2 } } } },
  /* 110 may join 100 and 120 (N is 155, more than 149.6 and 142.4 are needed), and does so on the left, where the root
   * is smaller. What is on the right picks no smaller region, and is not similar to the joined one. */
  { "a small region between two large ones", 11, 1, 1, 1, { 5 },
      { { .seed = .03, .merge = .15, .levels = "aaaaabccccc", .labels = "aaaaaabbbbb", .id = { 1, 2 } } } },
  /* 116 and 120 merge in round 2, where N of 318 is 39 and more than 22.5 is needed. Their mean is 119 then, to which
   * 100 is not similar: N is 450, more than 377.1 is needed beside 116, and more than 527.5 beside 119. */
  { "the most alike merge first", 28, 1, 1, 0, { 0 },
      { { .seed = .01,
          .merge = .2865,
          .levels = "aaaaBBBBBBBBcccccccccccccccc",
          .labels = "aaaabbbbbbbbbbbbbbbbbbbbbbbb",
          .id = { 1, 2 } } } },
  { "seeds of one class", 8, 1, 1, 0, { 0 },
      { { .seed = .05, .levels = "aaaabbbb", .labels = "aaaaaaaa", .id = { 1 } } } },
  /* 120 and 130 are on either side of 128. */
  { "seeds of two classes", 8, 1, 1, 0, { 0 },
      { { .seed = .05, .levels = "ccccdddd", .labels = "aaaabbbb", .id = { 1, 2 } } } },
  /* The right half has seeds by seed-threshold, but is rougher than the left one: h is 108 there and 255 here. */
  { "stripes", 16, 1, 1, 0, { 0 },
      { { .seed = .05, .levels = "ddddddddcbcbcbcb", .labels = "aaaaaaaabbbbbbbb", .id = { 1, 2 } } } },
  { "stripes with seed-similarity", 16, 1, 1, 0, { 0 },
      { { .seed = .05,
          .similarity = true,
          .levels = "ddddddddcbcbcbcb",
          .labels = "aaaaaaaaaaaaaaaa",
          .id = { 1 } } } },
  /* N is 142; more than 135.4 is needed. */
  { "two classes of similar colours merge", 8, 1, 1, 0, { 0 },
      { { .seed = .05, .merge = .22, .levels = "ccccdddd", .labels = "aaaaaaaa", .id = { 1 } } } },
  { "separate regions stay separate", 4, 1, 1, 0, { 0 },
      { { .seed = .05, .levels = "aaBB", .labels = "aabb", .id = { 1, 2 } },
          { .seed = .05, .merge = 1, .temporal = .15, .levels = "aaBB", .labels = "aabb", .id = { 1, 2 } } } },
  { "separate regions merge where there are too many", 4, 1, 1, 0, { 0 },
      { { .seed = .05, .levels = "aaBB", .labels = "aabb", .id = { 1, 2 } },
          { .seed = .05, .max_regions = 1, .temporal = .15, .levels = "aaBB", .labels = "aaaa", .id = { 1 } } } },
};

static bool
frame_of (const Known *k, int i, SgState *state)
{
  static uint32_t v[MOST];
  SgSetup u = { .width = k->width,
    .height = k->height,
    .size = k->size,
    .bits = 8,
    .n_components = 1,
    .columns = (k->width + k->size - 1) / k->size,
    .rows = (k->height + k->size - 1) / k->size,
    .plane = { { v, k->width, k->height } },
    .seed_threshold = k->frame[i].seed,
    .merge_threshold = k->frame[i].merge,
    .weak_difference = k->frame[i].weak,
    .weak_fraction = k->frame[i].fraction > 0 ? k->frame[i].fraction : 1,
    .temporal = k->frame[i].temporal,
    .min_cells = k->frame[i].min_cells ? k->frame[i].min_cells : 1,
    .max_regions = k->frame[i].max_regions ? k->frame[i].max_regions : 65535,
    .similarity = k->frame[i].similarity,
    .n_seeds = k->n_seeds,
    .seeds = k->seeds };
  char labels[MOST + 1] = "";
  SgState after;
  bool good;

  for (int p = 0; p < k->width * k->height; p++)
    v[p] = (uint32_t) level_of (k->frame[i].levels[p]);
  sg_segment (&u, state, &after);
  sg_state_free (state);
  *state = after;
  for (int p = 0; p < k->width * k->height; p++)
    labels[p] = (char) ('a' + sg_pixel_label (&u, state, p % k->width, p / k->width));
  good = strcmp (labels, k->frame[i].labels) == 0;
  for (int r = 0; r < 4; r++)
    good = good && (r < state->n_regions ? state->region[r].id : 0) == k->frame[i].id[r];
  if (!good)
    printf ("the reference of segment: %s, frame %d: labels %s instead of %s, first ids %u %u\n", k->what, i, labels,
        k->frame[i].labels, state->region[0].id, state->n_regions > 1 ? state->region[1].id : 0);
  return good;
}

static int
check_labels (void)
{
  int failures = 0;

  for (size_t c = 0; c < G_N_ELEMENTS (known); c++) {
    SgState state = { 0 };
    bool good = true;

    for (int i = 0; good && i < FRAMES && known[c].frame[i].levels; i++)
      good = frame_of (&known[c], i, &state);
    sg_state_free (&state);
    failures += !good;
  }
  return failures;
}

static int
check_colors (void)
{
  static const SgColor of[][2] = { { { { 255, 255, 255 } }, { { 255, 128, 128 } } },
    { { { 255, 0, 0 } }, { { 76, 85, 255 } } }, { { { 0, 0, 0 } }, { { 0, 128, 128 } } } };
  int failures = 0;

  for (size_t i = 0; i < G_N_ELEMENTS (of); i++) {
    const SgColor got = sg_ycbcr (of[i][0]);

    failures += memcmp (&got, &of[i][1], sizeof got) != 0;
  }
  if (failures)
    printf ("the reference of segment: %d colours are wrong\n", failures);
  return failures;
}

/* ---- painting ----------------------------------------------------------- */

/* An RGB frame of 4 x 2 pixels with two halves: the expected red samples of each output, row by row. The levels of a
 * half differ by up to 2; the border pixels are the last column of the left half. Ids 1 and 2 hash to 0x9e3779b9 and
 * 0x3c6ef372. */
static const struct {
  const char *set;
  uint8_t red[8];
} painted[] = {
  { "output=mean", { 101, 101, 201, 201, 101, 101, 201, 201 } },
  { "output=passthrough", { 100, 100, 200, 202, 102, 100, 200, 200 } },
  { "output=boundaries boundary-color=0x00070809", { 100, 7, 200, 202, 102, 7, 200, 200 } },
  { "output=labels", { 182, 182, 109, 109, 182, 182, 109, 109 } },
};

static bool
check_report (const KcRegions *report)
{
  bool good = report->n == 2;

  for (unsigned i = 0; good && i < 2; i++) {
    const CfRegion *r = &report->region[i];

    good = r->id == i + 1 && r->age == 0 && r->area == 4 && r->x == (int) (2 * i) && r->y == 0 && r->width == 2 &&
        r->height == 2 && G_APPROX_VALUE (r->centroid_x, 2 * i + .5, 1e-9) &&
        G_APPROX_VALUE (r->centroid_y, .5, 1e-9) &&
        G_APPROX_VALUE (r->mean[0], 0.299 * (100.5 + 100 * i) + 0.701 * 50, 1e-9) && report->label[5] == 0 &&
        report->label[6] == 1;
  }
  return good;
}

static bool
check_painted (const CfFilter *filter, const char *set, const uint8_t red[8])
{
  const CfVideo video = { CF_FORMAT_RGB, 4, 2, true };
  const CfCommon common = { 0 };
  void *params = kc_params_new (filter, set, NULL), *state = NULL;
  uint8_t in[24], out[24];
  CfImage from = { .format = CF_FORMAT_RGB, .width = 4, .height = 2, .plane = { { in, 12 } } }, to = from;
  KcRegions report = { 0 };
  bool good = params;

  to.plane[0].data = out;
  for (int i = 0; i < 24; i++)
    in[i] = i % 3 ? 50 : painted[1].red[i / 3];
  if (good)
    kc_segment.stateful_reference (filter, &video, &common, params, &state, &from, &to, &report);
  for (int i = 0; good && i < 8; i++)
    good = out[3 * i] == red[i];
  good = good && check_report (&report);
  kc_segment.free_state (state);
  kc_regions_free (&report);
  cf_params_free (filter, params);
  if (!good)
    printf ("the reference of segment: %s: wrong samples or wrong reported regions\n", set);
  return good;
}

int
sg_check (void)
{
  const CfFilter *filter = cf_filter_find ("segment");
  int failures = check_labels () + check_colors ();

  for (size_t i = 0; filter && i < G_N_ELEMENTS (painted); i++)
    failures += !check_painted (filter, painted[i].set, painted[i].red);
  return failures;
}
