/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * reference/segment_known.c: checks the reference of the segmentation against cases worked out by hand from the
 * contract (cuda/segment/segment.h). */
#include "segment.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 64, FRAMES = 2 };

/* One or two gray frames. levels: one character a pixel, row by row; labels: the expected region of each pixel as a
 * letter; id: the expected ids of the regions. Values that are left out switch their step off: thresholds of 0 are
 * never met, a weak-fraction of 1 joins nothing, M is 1. */
typedef struct {
  const char *what;
  int width, height, size, n_seeds;
  int seeds[4]; /* cell numbers */
  struct {
    double seed, merge, weak, fraction, temporal;
    uint32_t min_cells;
    int max_regions;           /* 0: no limit */
    bool similarity, unseeded; /* unseeded: without `seeds` */
    const char *levels, *labels;
    uint32_t id[4];
  } frame[FRAMES];
} Known;

/* Returns the level of a character: '0' is 0 and each further digit 10 more, and so on with the small letters from 'a',
 * which is 100. 'B' is 116, which merges with 100 at a threshold of .27 but not of .269. */
static int
level_of (char c)
{
  return c == 'B' ? 116 : c <= '9' ? 10 * (c - '0') : 100 + 10 * (c - 'a');
}

/* 20 cells of one level or region; and of two regions, as a block ends behind 16 cells. */
#define ROW "aaaaaaaaaaaaaaaaaaaa"
#define ROW_IN_BLOCKS "aaaaaaaaaaaaaaaabbbb"

/* p: the smoothed colours of step 1. Step 4 takes the kinds from p. */
static const Known known[] = {
  { "a flat frame", 2, 2, 1, 0, { 0 }, { { .seed = .05, .levels = "aaaa", .labels = "aaaa", .id = { 1 } } } },
  /* p is 100, 100, 125, 175, 200, 200: the first and the last column are seeds, the rest joins them by growth. */
  { "two halves", 6, 2, 1, 0, { 0 },
      { { .seed = .05,
          .merge = .1,
          .weak = .03,
          .fraction = .5,
          .levels = "aaakkkaaakkk",
          .labels = "aaabbbaaabbb",
          .id = { 1, 2 } } } },
  /* p is 138 for the seeds, 163 for the others, which are equally near to both and join the first. */
  { "seeds that touch at a corner", 2, 2, 1, 2, { 0, 3 }, { { .levels = "akka", .labels = "aaab", .id = { 1, 2 } } } },
  { "seeds that do not touch", 3, 1, 1, 2, { 0, 2 }, { { .levels = "aka", .labels = "aab", .id = { 1, 2 } } } },
  /* p is 110, 140, 170. */
  { "a tie of growth", 3, 1, 1, 2, { 0, 2 }, { { .levels = "aei", .labels = "aab", .id = { 1, 2 } } } },
  /* p is 110, 133, 150, 168, 190: 133 and 150 pick each other, 168 joins them; in the next round there is a tie. The
   * mean is 140 then, and the cell's own 160 is nearer to it than to 190. */
  { "two that pick each other", 5, 1, 1, 2, { 0, 4 }, { { .levels = "aefgk", .labels = "aaaab", .id = { 1, 2 } } } },
  { "no seed at all", 4, 1, 1, 0, { 0 }, { { .levels = "abkl", .labels = "aaaa", .id = { 1 } } } },
  /* p is 103, 110, 120; 130, 138, of two classes. 120 beside 130 is weak where N is over 135.4: from .0455 on. */
  { "a weak border", 5, 1, 1, 0, { 0 },
      { { .seed = 1, .weak = .05, .fraction = .5, .levels = "abcde", .labels = "aaaaa", .id = { 1 } } } },
  { "a border nearly weak", 5, 1, 1, 0, { 0 },
      { { .seed = 1, .weak = .045, .fraction = .5, .levels = "abcde", .labels = "aaabb", .id = { 1, 2 } } } },
  { "a border of weak pairs only, at fraction 1", 5, 1, 1, 0, { 0 },
      { { .seed = 1, .weak = .05, .fraction = 1, .levels = "abcde", .labels = "aaabb", .id = { 1, 2 } } } },
  /* p is 100, 100, 100, 115; 145, 160, 173; 198, of three classes; the means are 104, 159, 198, and 169 of the last two
   * together. */
  { "three sizes", 8, 1, 1, 0, { 0 },
      { { .seed = 1, .levels = "aaaagggl", .labels = "aaaabbbc", .id = { 1, 2, 3 } } } },
  { "less than 2", 8, 1, 1, 0, { 0 },
      { { .seed = 1, .min_cells = 2, .levels = "aaaagggl", .labels = "aaaabbbb", .id = { 1, 2 } } } },
  { "less than 4", 8, 1, 1, 0, { 0 },
      { { .seed = 1, .min_cells = 4, .levels = "aaaagggl", .labels = "aaaabbbb", .id = { 1, 2 } } } },
  { "less than 5", 8, 1, 1, 0, { 0 },
      { { .seed = 1, .min_cells = 5, .levels = "aaaagggl", .labels = "aaaaaaaa", .id = { 1 } } } },
  { "two regions at most", 8, 1, 1, 0, { 0 },
      { { .seed = 1, .max_regions = 2, .levels = "aaaagggl", .labels = "aaaabbbb", .id = { 1, 2 } } } },
  { "one region at most", 8, 1, 1, 0, { 0 },
      { { .seed = 1, .max_regions = 1, .levels = "aaaagggl", .labels = "aaaaaaaa", .id = { 1 } } } },
  /* p is 113, 150, 188. The cell in the middle belongs to the left region, but its right pixels do not. */
  { "cells of 2", 6, 2, 2, 2, { 0, 2 }, { { .levels = "aaakkkaaakkk", .labels = "aaabbbaaabbb", .id = { 1, 2 } } } },
  { "a thing that grows", 8, 1, 1, 0, { 0 },
      { { .seed = .05, .merge = .1, .levels = "aaaakkkk", .labels = "aaaabbbb", .id = { 1, 2 } },
          { .seed = .05, .merge = .1, .temporal = .15, .levels = "aaaaaakk", .labels = "aaaaaabb", .id = { 1, 2 } } } },
  { "each frame by itself", 6, 1, 1, 0, { 0 },
      { { .seed = .05, .levels = "aaaaaa", .labels = "aaaaaa", .id = { 1 } },
          { .seed = .05, .levels = "kkkaaa", .labels = "aaabbb", .id = { 1, 2 } } } },
  { "pieces of an old region stay one region", 11, 3, 1, 0, { 0 },
      { { .seed = .05,
            .levels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .labels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .id = { 1 } },
          { .seed = .05,
              .temporal = .15,
              .levels = "aaakkkkkaaaaaakkkkkaaaaaakkkkkaaa",
              .labels = "aaabbbbbaaaaaabbbbbaaaaaabbbbbaaa",
              .id = { 1, 2 } } } },
  /* A row of 20 cells reaches into a second block; the threshold of .1 merges the two parts. The right part has 3 of 60
   * cells, less than one part in 16, but not less than min-size. */
  { "a small piece stays", 20, 3, 1, 0, { 0 },
      { { .seed = .05,
            .merge = .1,
            .levels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .labels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .id = { 1 } },
          { .seed = .05,
              .temporal = .15,
              .levels = "aaaaaaaaaaaaaakkkkkaaaaaaaaaaaaaaakkkkkaaaaaaaaaaaaaaakkkkka",
              .labels = "aaaaaaaaaaaaaabbbbbaaaaaaaaaaaaaaabbbbbaaaaaaaaaaaaaaabbbbba",
              .id = { 1, 2 } } } },
  /* The right part is free again, and joins what is beside it. */
  { "a part too small is dropped", 20, 3, 1, 0, { 0 },
      { { .seed = .05,
            .merge = .1,
            .levels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .labels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .id = { 1 } },
          { .seed = .05,
              .temporal = .15,
              .min_cells = 4,
              .levels = "aaaaaaaaaaaaaakkkkkaaaaaaaaaaaaaaakkkkkaaaaaaaaaaaaaaakkkkka",
              .labels = "aaaaaaaaaaaaaabbbbbbaaaaaaaaaaaaaabbbbbbaaaaaaaaaaaaaabbbbbb",
              .id = { 1, 2 } } } },
  { "less than a quarter is left", 20, 3, 1, 0, { 0 },
      { { .seed = .05,
            .merge = .1,
            .levels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .labels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .id = { 1 } },
          { .seed = .05,
              .merge = .1,
              .temporal = .15,
              .levels = "aaaakkkkkkkkkkkkkkkkaaaakkkkkkkkkkkkkkkkaaaakkkkkkkkkkkkkkkk",
              .labels = "aaaabbbbbbbbbbbbbbbbaaaabbbbbbbbbbbbbbbbaaaabbbbbbbbbbbbbbbb",
              .id = { 2, 3 } } } },
  { "a quarter is left", 20, 3, 1, 0, { 0 },
      { { .seed = .05,
            .merge = .1,
            .levels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .labels = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .id = { 1 } },
          { .seed = .05,
              .merge = .1,
              .temporal = .15,
              .levels = "aaaaakkkkkkkkkkkkkkkaaaaakkkkkkkkkkkkkkkaaaaakkkkkkkkkkkkkkk",
              .labels = "aaaaabbbbbbbbbbbbbbbaaaaabbbbbbbbbbbbbbbaaaaabbbbbbbbbbbbbbb",
              .id = { 1, 2 } } } },
  /* p is 100, 104, 112, 116; the means are 102 and 114, which needs N > 212.2. Of two cells in four, N is 214 at .27
   * and 212 at .269. */
  { "similar enough to merge", 4, 1, 1, 0, { 0 },
      { { .seed = .03, .merge = .27, .levels = "aaBB", .labels = "aaaa", .id = { 1 } } } },
  { "not similar enough to merge", 4, 1, 1, 0, { 0 },
      { { .seed = .03, .merge = .269, .levels = "aaBB", .labels = "aabb", .id = { 1, 2 } } } },
  /* p is 110 and at the end 113, in a block of their own; 120; 128 and 130, of the next class. The means are 110, 120,
   * 130. 120 is similar to both (N is 242, more than 142.4 and 135.4 are needed), and joins that with the smaller root,
   * as both cost the same. What is on the right picks no smaller region, and is not similar to the joined one. */
  { "a small region between two large ones", 27, 1, 1, 0, { 0 },
      { { .seed = 1,
          .merge = .15,
          .levels = "bbbbbbbbbbbbbbbbcdddddddddd",
          .labels = "aaaaaaaaaaaaaaaaabbbbbbbbbb",
          .id = { 1, 2 } } } },
  /* The means are 101, 116, 120. 116 and 120 merge in round 2, where N of 318 is 39 and more than 22.5 is needed. Their
   * mean is 119 then, to which 101 is not similar: N is 450, more than 330.6 is needed beside 116, and more than 472.4
   * beside 119. */
  { "the most alike merge first", 28, 1, 1, 0, { 0 },
      { { .seed = .008,
          .merge = .2865,
          .levels = "aaaaBBBBBBBBcccccccccccccccc",
          .labels = "aaaabbbbbbbbbbbbbbbbbbbbbbbb",
          .id = { 1, 2 } } } },
  { "seeds of one class", 8, 1, 1, 0, { 0 },
      { { .seed = .05, .levels = "aaaabbbb", .labels = "aaaaaaaa", .id = { 1 } } } },
  /* At the border p is 123 and 128. */
  { "seeds of two classes", 8, 1, 1, 0, { 0 },
      { { .seed = .05, .levels = "ccccdddd", .labels = "aaaabbbb", .id = { 1, 2 } } } },
  /* At the border p is 25 and 35; 53 and 58; 63 and 68. */
  { "two dark classes", 8, 1, 1, 0, { 0 },
      { { .seed = 1, .levels = "22224444", .labels = "aaaabbbb", .id = { 1, 2 } } } },
  { "one dark class", 8, 1, 1, 0, { 0 }, { { .seed = 1, .levels = "55556666", .labels = "aaaaaaaa", .id = { 1 } } } },
  { "a dark class and the next", 8, 1, 1, 0, { 0 },
      { { .seed = 1, .levels = "66667777", .labels = "aaaabbbb", .id = { 1, 2 } } } },
  /* N is 142; more than 109.4 is needed. */
  { "two classes of similar colours merge", 8, 1, 1, 0, { 0 },
      { { .seed = .05, .merge = .22, .levels = "ccccdddd", .labels = "aaaaaaaa", .id = { 1 } } } },
  { "blocks side by side", 20, 1, 1, 0, { 0 },
      { { .seed = 1, .levels = ROW, .labels = ROW_IN_BLOCKS, .id = { 1, 2 } } } },
  { "blocks one above the other", 1, 20, 1, 0, { 0 },
      { { .seed = 1, .levels = ROW, .labels = ROW_IN_BLOCKS, .id = { 1, 2 } } } },
  { "blocks that merge", 20, 1, 1, 0, { 0 },
      { { .seed = 1, .merge = .12, .levels = ROW, .labels = ROW, .id = { 1 } } } },
  { "blocks that hold cells of seeds", 20, 1, 1, 2, { 3, 17 },
      { { .seed = 1, .merge = .12, .levels = ROW, .labels = ROW_IN_BLOCKS, .id = { 1, 2 } } } },
  { "marked regions too small and too many", 20, 1, 1, 2, { 3, 17 },
      { { .seed = 1, .min_cells = 8, .max_regions = 1, .levels = ROW, .labels = ROW_IN_BLOCKS, .id = { 1, 2 } } } },
  { "seeds in one block", 20, 1, 1, 2, { 3, 7 },
      { { .seed = 1, .merge = .12, .levels = ROW, .labels = ROW, .id = { 1 } } } },
  /* The means of the blocks are 100, 110, 110. The second one picks the third one, which has fewer cells. */
  { "a marked region counts as larger", 40, 1, 1, 2, { 3, 35 },
      { { .seed = 1,
          .merge = .12,
          .levels = "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbb",
          .labels = "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbb",
          .id = { 1, 2 } } } },
  { "a weak border of marked regions", 5, 1, 1, 2, { 0, 4 },
      { { .weak = .05, .fraction = .5, .levels = "abcde", .labels = "aaabb", .id = { 1, 2 } } } },
  { "new seeds divide a region", 20, 1, 1, 2, { 3, 17 },
      { { .seed = 1, .merge = .12, .unseeded = true, .levels = ROW, .labels = ROW, .id = { 1 } },
          { .seed = 1, .merge = .12, .temporal = .15, .levels = ROW, .labels = ROW_IN_BLOCKS, .id = { 2, 3 } } } },
  { "one new seed does not", 20, 1, 1, 1, { 17 },
      { { .seed = 1, .merge = .12, .unseeded = true, .levels = ROW, .labels = ROW, .id = { 1 } },
          { .seed = 1, .temporal = .15, .levels = ROW, .labels = ROW, .id = { 1 } } } },
  /* In the second frame nothing else is a seed, and nothing merges. */
  { "a cell of seeds is kept", 8, 1, 1, 1, { 1 },
      { { .seed = .05, .merge = .1, .levels = "aaaakkkk", .labels = "aaaabbbb", .id = { 1, 2 } },
          { .temporal = .15, .levels = "aaaakkkk", .labels = "aaaabbbb", .id = { 1, 2 } } } },
  /* The right half has seeds by seed-threshold, but is rougher than the left one: h is 109 there and 255 here. p is 115
   * there. */
  { "stripes", 16, 1, 1, 0, { 0 },
      { { .seed = .05, .levels = "ddddddddcbcbcbcb", .labels = "aaaaaaaabbbbbbbb", .id = { 1, 2 } } } },
  { "stripes with seed-similarity", 16, 1, 1, 0, { 0 },
      { { .seed = .05,
          .similarity = true,
          .levels = "ddddddddcbcbcbcb",
          .labels = "aaaaaaaaaaaaaaaa",
          .id = { 1 } } } },
  { "separate regions stay separate", 4, 1, 1, 0, { 0 },
      { { .seed = .03, .levels = "aaBB", .labels = "aabb", .id = { 1, 2 } },
          { .seed = .03, .merge = 1, .temporal = .15, .levels = "aaBB", .labels = "aabb", .id = { 1, 2 } } } },
  { "separate regions merge where there are too many", 4, 1, 1, 0, { 0 },
      { { .seed = .03, .levels = "aaBB", .labels = "aabb", .id = { 1, 2 } },
          { .seed = .03, .max_regions = 1, .temporal = .15, .levels = "aaBB", .labels = "aaaa", .id = { 1 } } } },
  /* p is 70 five times, 83, 108, 120 four times, 123, 128, 130 three times: 127 and 128 are of two classes, and the
   * means are 95 and 130. All own levels of 120 are nearer to 130, but four cells move. In the next frame the means are
   * 83 and 125, and the last 120 stays where it was. */
  { "a border moves by four cells, and then stays", 16, 1, 1, 0, { 0 },
      { { .seed = 1, .levels = "777777ccccccdddd", .labels = "aaaaaaaabbbbbbbb", .id = { 1, 2 } },
          { .seed = 1,
              .temporal = .15,
              .levels = "777777ccccccdddd",
              .labels = "aaaaaaaabbbbbbbb",
              .id = { 1, 2 } } } },
  { "a border moves to the right", 16, 1, 1, 0, { 0 },
      { { .seed = 1, .levels = "ddddcccccc777777", .labels = "aaaaaaaabbbbbbbb", .id = { 1, 2 } } } },
  /* The means are 140 of the first row and 120. The own levels of 130 in the middle column are as near to both. */
  { "a cell as near to its own region stays", 3, 3, 1, 0, { 0 },
      { { .seed = 1, .levels = "gdgadadad", .labels = "aaabbbbbb", .id = { 1, 2 } } } },
  /* p is 156, 125, 119; 125, 131, 144; 119, 144, 138. 100 in the middle is as near to 122 above as left. */
  { "above before left", 3, 3, 1, 0, { 0 },
      { { .seed = 1, .levels = "kaaaakaka", .labels = "abbcbdcdd", .id = { 1, 2, 3, 4 } } } },
  /* p is 110, 118, 133; 128, 125, 128; 133, 118, 110. 140 in the middle is as near to 131 left as right. */
  { "left before right, though its root is larger", 3, 3, 1, 0, { 0 },
      { { .seed = 1, .levels = "aaeeeeeaa", .labels = "aabccbcaa", .id = { 1, 2, 3 } } } },
  /* p is 93, 109, 131; 109, 121, 128; 131, 128, 112. 140 in the middle is as near to 130 right as below. */
  { "right before below", 3, 3, 1, 0, { 0 },
      { { .seed = 1, .levels = "99e9eeee9", .labels = "aababbccd", .id = { 1, 2, 3, 4 } } } },
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
    .n_seeds = k->frame[i].unseeded ? 0 : k->n_seeds,
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

/* A frame of 3 x 3 gray pixels and its colours of step 1. */
static const struct {
  uint32_t level[9];
  int color[9];
} smooth[] = {
  { { 0, 0, 0, 0, 16, 0, 0, 0, 0 }, { 1, 2, 1, 2, 4, 2, 1, 2, 1 } },
  { { 8, 0, 0, 0, 0, 0, 0, 0, 0 }, { 5, 2, 0, 2, 1, 0, 0, 0, 0 } },
  { { 0, 0, 0, 0, 0, 7, 0, 0, 0 }, { 0, 0, 1, 0, 1, 3, 0, 0, 1 } },
};

static int
check_smoothing (void)
{
  int failures = 0;

  for (size_t i = 0; i < G_N_ELEMENTS (smooth); i++) {
    uint32_t v[9];
    const SgSetup u = { .width = 3,
      .height = 3,
      .size = 1,
      .bits = 8,
      .n_components = 1,
      .columns = 3,
      .rows = 3,
      .plane = { { v, 3, 3 } },
      .weak_fraction = 1,
      .min_cells = 1,
      .max_regions = 65535 };
    const SgState none = { 0 };
    SgState after;
    bool good = true;

    memcpy (v, smooth[i].level, sizeof v);
    sg_segment (&u, &none, &after);
    for (int c = 0; c < 9; c++)
      good = good && after.p[c].c[0] == smooth[i].color[c] && after.p[c].c[1] == 128;
    sg_state_free (&after);
    failures += !good;
  }
  if (failures)
    printf ("the reference of segment: %d frames are smoothed wrongly\n", failures);
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
  int failures = check_labels () + check_smoothing () + check_colors ();

  for (size_t i = 0; filter && i < G_N_ELEMENTS (painted); i++)
    failures += !check_painted (filter, painted[i].set, painted[i].red);
  return failures;
}
