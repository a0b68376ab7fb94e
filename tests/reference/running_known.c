/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * running_known.c: draws scenes for the running background, and checks its reference: with sequences whose results were
 * worked out by hand, and by what drawn scenes reach. */
#include "running.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- scenes ------------------------------------------------------------- */

/* Levels are sixteenths of levels of 8 bits. */
typedef struct {
  int width, height;
  int base, contrast, period;         /* of the place: a checkerboard */
  int noise;                          /* levels of 8 bits */
  int level, stripes;                 /* of the object */
  int x, y, w, h, dx, dy;             /* the object at first, pixels; its way in a frame */
  int appears, stops, leaves;         /* frames */
  int gain, offset, lights, lit_size; /* from frame `lights` on: gain / 16, in as many pixels of each row */
  int again;                          /* from this frame on in fewer pixels */
  int slope;                          /* of the light, for each frame */
  int shakes;                         /* pixels by which frames are shifted; negative: from frame 8 on */
  bool blinks;                        /* the object is there in every other frame */
  int cut;                            /* from this frame on it is another place; 0: none */
  bool repeats;                       /* every third frame equals the one before */
} Scene;

/* Returns a number from `from` to `to`. */
static int
draw_int (uint64_t *state, int from, int to)
{
  return from + (int) (kc_random (state) % (unsigned) (to - from + 1));
}

/* Returns one of n numbers. */
static int
draw_of (uint64_t *state, const int *v, size_t n)
{
  return v[kc_random (state) % n];
}

#define DRAW(state, ...) \
  draw_of (state, (const int[]) { __VA_ARGS__ }, sizeof ((const int[]) { __VA_ARGS__ }) / sizeof (int))

static void
draw_object (Scene *s, uint64_t *state)
{
  s->w = MAX (8, s->width / draw_int (state, 2, 6));
  s->h = MAX (8, s->height / draw_int (state, 2, 6));
  s->x = draw_int (state, 0, MAX (0, s->width - s->w));
  s->y = draw_int (state, 0, MAX (0, s->height - s->h));
  if (kc_random (state) % 2) {
    s->w = (s->w + 15) & ~15;
    s->h = (s->h + 7) & ~7;
    s->x &= ~15;
    s->y &= ~15;
  }
  s->dx = DRAW (state, 0, 0, 1, 3, -2, 8);
  s->dy = DRAW (state, 0, 0, 1, -1, 2);
  s->level = draw_int (state, 200, 3900);
  s->stripes = DRAW (state, 0, 400, 900, 1600);
  s->appears = DRAW (state, 0, 0, 1, 1, 2, 5, 125);
  s->stops = s->appears + DRAW (state, 0, 2, 6, 30);
  s->leaves = s->appears + DRAW (state, 1, 2, 4, 11, 30);
  s->blinks = kc_random (state) % 6 == 0;
  if (s->blinks) {
    s->dx = s->dy = 0;
    s->level = s->base < 2000 ? 3600 : 200;
    s->leaves = INT_MAX;
  }
}

static void
draw_light (Scene *s, uint64_t *state)
{
  s->lights = DRAW (state, 1, 2, 5, 9, 40, 40);
  s->again = s->lights + DRAW (state, 1, 3, 43, 44, 45);
  s->gain = DRAW (state, 16, 16, 20, 24, 11);
  s->offset = s->gain == 16 ? DRAW (state, 256, 320, 600, 1200, -400) : DRAW (state, 0, 0, 160, -200);
  s->lit_size = s->width * draw_int (state, 20, 62) / 100;
  s->slope = DRAW (state, 0, 0, 0, 6, 16, 30, -16, -30);
}

static Scene
draw_scene (const CfImage *image, uint64_t seed)
{
  Scene s = { .width = image->width, .height = image->height };

  s.base = DRAW (&seed, 0, draw_int (&seed, 300, 2400), 640, 1200, 2000);
  s.contrast = DRAW (&seed, 0, 0, 160, 480, 1200);
  s.period = draw_int (&seed, 2, 20);
  s.noise = DRAW (&seed, 0, 1, 2, 4, 30);
  draw_object (&s, &seed);
  draw_light (&s, &seed);
  s.shakes = DRAW (&seed, 0, 0, 0, 0, 1, 2, -2, -7);
  s.cut = DRAW (&seed, 0, 0, 0, 0, 0, 0, 4, 13);
  s.repeats = kc_random (&seed) % 3 == 0;
  return s;
}

/* A bright square that walks through a dark place. */
static Scene
plain_scene (const CfImage *image)
{
  return (Scene) { .width = image->width,
    .height = image->height,
    .base = 640,
    .contrast = 80,
    .period = 8,
    .noise = 1,
    .level = 3200,
    .w = MAX (8, image->width / 4),
    .h = MAX (8, image->height / 4),
    .dx = MAX (1, image->width / 16),
    .appears = 1,
    .stops = 12,
    .leaves = 99,
    .lights = 99,
    .gain = 16 };
}

/* Returns the level of a pixel of the scene. */
static int
level_at (const Scene *s, int x, int y, int frame)
{
  const int walked = CLAMP (frame - s->appears, 0, s->stops - s->appears);
  const int u = x - s->x - walked * s->dx, v = y - s->y - walked * s->dy;
  const int shift = frame % 2 && (s->shakes > 0 || frame >= 8) ? abs (s->shakes) : 0;
  const bool second = s->cut && frame >= s->cut;
  int level;

  if (frame >= s->appears && frame < s->leaves && !(s->blinks && frame % 2) && u >= 0 && v >= 0 && u < s->w && v < s->h)
    level = s->level + (u / 6 % 2 ? s->stripes : 0);
  else
    level = (second ? 3000 - s->base : s->base) +
        (((x + shift) / s->period + (y + shift / 2) / s->period) % 2 == second ? s->contrast : 0);
  if (frame >= s->lights && x < (frame >= s->again ? s->lit_size * 3 / 4 : s->lit_size))
    level = level * s->gain / 16 + s->offset;
  return level + s->slope * frame;
}

static int
level_of_component (const Scene *s, CfRole role, int x, int y, int frame)
{
  const int level = level_at (s, x, y, frame);

  switch (role) {
    case CF_ROLE_LUMA:
    case CF_ROLE_GREEN:
      return level;
    case CF_ROLE_RED:
      return level + 200;
    case CF_ROLE_BLUE:
      return level * 3 / 4;
    default:
      return 2048 + (level - 1600) / 3;
  }
}

/* Draws frame `frame` of a scene. Seed 0 has one in which something moves in every size. */
void
rn_draw (const CfImage *image, int frame, uint64_t seed)
{
  const CfFormatInfo *info = cf_format_info (image->format);
  const Scene s = seed ? draw_scene (image, seed) : plain_scene (image);
  const int shown = s.repeats ? frame - (frame % 3 == 2) : frame, unit = 1 << (info->bits - 8);

  for (int c = 0; c < info->n_components; c++) {
    const CfComponent *comp = &info->comp[c];
    uint64_t state = seed + (uint64_t) shown * 1000003u + (uint64_t) c * 7919u;

    for (int y = 0; y < kc_component_height (info, c, image->height); y++)
      for (int x = 0; x < kc_component_width (info, c, image->width); x++) {
        const int level = level_of_component (&s, comp->role, x << comp->w_sub, y << comp->h_sub, shown);
        const uint64_t r = kc_random (&state);
        const int off = (int) (r % (unsigned) (2 * s.noise * unit + 1)) - s.noise * unit;
        const unsigned word = (unsigned) CLAMP (level * unit / 16 + off, 0, 256 * unit - 1);

        /* The low bits of a word that are no part of its sample are noise. */
        kc_put_word (image, c, x, y, word << info->shift | (unsigned) (r >> 32) % (1u << info->shift));
      }
  }
}

/* ---- sequences ---------------------------------------------------------- */

typedef struct {
  const CfFilter *filter;
  CfVideo video;
  void *params, *state;
  KcImage in, out;
  KcRegions regions;
  int failures;
} Sequence;

static Sequence
sequence_new (CfFormat format, int width, int height, const char *set)
{
  Sequence q = { .filter = cf_filter_find ("median"), .video = { format, width, height, false } };

  q.params = kc_params_new (q.filter, set, NULL);
  kc_image_new (&q.in, &q.video, KC_TIGHT, 1);
  kc_image_new (&q.out, &q.video, KC_TIGHT, 1);
  return q;
}

static int
sequence_free (Sequence *q)
{
  kc_image_free (&q->in);
  kc_image_free (&q->out);
  kc_regions_free (&q->regions);
  cf_params_free (q->filter, q->params);
  rn_free_state (q->state);
  return q->failures;
}

static void
filter_frame (Sequence *q)
{
  const CfCommon common = { 0 };

  kc_regions_free (&q->regions);
  rn_filter (q->filter, &q->video, &common, q->params, &q->state, &q->in.image, &q->out.image, &q->regions);
}

/* Fills columns from .. to - 1 of the first component. */
static void
fill (Sequence *q, int from, int to, unsigned word)
{
  for (int y = 0; y < q->video.height; y++)
    for (int x = from; x < to; x++)
      kc_put_word (&q->in.image, 0, x, y, word);
}

static const RnState *
state_of (const Sequence *q)
{
  return q->state;
}

/* Returns a block of the first row. */
static const RnBlock *
block_at (const Sequence *q, int column)
{
  return &state_of (q)->block[column];
}

static void
expect (Sequence *q, const char *what, int number, int64_t got, int64_t right)
{
  if (got == right)
    return;
  printf ("the reference of running: %s, frame %d: %d (%d)\n", what, number, (int) got, (int) right);
  q->failures++;
}

/* What follows. One cell, all blocks alike: 16 d = x - B. */
static int
check_following (void)
{
  static const struct {
    unsigned sample;
    int B, V, p;
  } steps[] = {
    { 100, 1600, 256, 100 }, { 101, 1616, 251, 101 }, /* 7 16 <= 4 256 */
    { 104, 1640, 247, 102 },                          /* d = 48 */
    { 115, 1664, 264, 103 },                          /* d = 200 <= 247, 7 176 > 4 247: 247 + 15 + 2 */
    { 115, 1688, 259, 104 },                          /* d = 176 */
    { 200, 3200, 259, 200 },                          /* d = 1512: anew */
    { 200, 3200, 254, 200 }, { 185, 3176, 271, 199 }, /* d = -240, 7 240 > 4 254: 254 + 15 + 2 */
  };
  Sequence q = sequence_new (CF_FORMAT_GRAY8, 16, 16, "temporal-method=running output=background motion-meta=1");

  for (int i = 0; i < (int) G_N_ELEMENTS (steps); i++) {
    fill (&q, 0, 16, steps[i].sample);
    filter_frame (&q);
    for (int j = 0; j < 16; j++) {
      expect (&q, "B of what follows", i, state_of (&q)->block[j].B, steps[i].B);
      expect (&q, "V of what follows", i, state_of (&q)->block[j].V, steps[i].V);
    }
    expect (&q, "p of what follows", i, kc_word (&q.out.image, 0, 2, 4), steps[i].p);
    expect (&q, "unknown", i, q.regions.unknown, i == 0 || i == 5);
    expect (&q, "regions of what follows", i, q.regions.n, 0);
  }
  return sequence_free (&q);
}

/* The right one of two cells becomes bright and stays so, then the left one lighter, then all is as before. */
static int
check_holding (void)
{
  static const struct {
    unsigned left, right;
    int B, V, q, G, drift;        /* of the right cell, and of its tile */
    unsigned n, confirmed, fresh; /* regions */
    unsigned out;                 /* on the right */
  } steps[] = {
    { 100, 100, 1600, 256, 0, 0, 0, 0, 0, 0, 100 },
    { 100, 160, 1601, 274, 0, 8, 0, 1, 0, 0, 100 }, /* U = 16 */
    { 100, 160, 1602, 269, 1, 7, 0, 1, 0, 0, 100 },
    { 100, 160, 1603, 264, 2, 6, 0, 1, 256, 256, 100 }, /* sure: it counted in three frames */
    { 101, 160, 1620, 259, 3, 5, 16, 1, 256, 256, 100 },
    { 101, 100, 1600, 277, 0, 13, -10, 1, 256, 0, 100 }, /* in motion for one more frame; d = -20 */
    { 101, 100, 1600, 272, 0, 12, 0, 0, 0, 0, 100 },
  };
  Sequence q = sequence_new (CF_FORMAT_GRAY8, 32, 16,
      "temporal-method=running output=still motion-meta=1 motion-hold=1 motion-min-area=256");

  for (int i = 0; i < (int) G_N_ELEMENTS (steps); i++) {
    const RnState *s;

    fill (&q, 0, 16, steps[i].left);
    fill (&q, 16, 32, steps[i].right);
    filter_frame (&q);
    s = state_of (&q);
    expect (&q, "B of what holds", i, block_at (&q, 7)->B, steps[i].B);
    expect (&q, "V of what holds", i, block_at (&q, 7)->V, steps[i].V);
    expect (&q, "q of what holds", i, s->cell[1].q, steps[i].q);
    expect (&q, "G of what holds", i, s->G, steps[i].G);
    expect (&q, "drift of what holds", i, s->tile[0].drift, steps[i].drift);
    expect (&q, "regions of what holds", i, q.regions.n, steps[i].n);
    if (q.regions.n == 1) {
      expect (&q, "x of what holds", i, q.regions.region[0].x, 16);
      expect (&q, "confirmed of what holds", i, q.regions.region[0].confirmed, steps[i].confirmed);
      expect (&q, "fresh of what holds", i, q.regions.region[0].fresh, steps[i].fresh);
    }
    expect (&q, "still of what holds", i, kc_word (&q.out.image, 0, 31, 0), steps[i].out);
    expect (&q, "still beside what holds", i, kc_word (&q.out.image, 0, 0, 0), steps[i].left);
  }
  return sequence_free (&q);
}

/* Fills the blocks of the right cell with two words in turn. */
static void
fill_stripes (Sequence *q, unsigned a, unsigned b)
{
  fill (q, 0, 16, 100);
  for (int x = 16; x < 32; x += 4)
    fill (q, x, x + 4, x / 4 % 2 ? b : a);
}

/* Stripes leave. Their 12 edges, Y = -12, are a ghost's when q = 6. */
static int
check_ghost (void)
{
  Sequence q = sequence_new (CF_FORMAT_GRAY8, 32, 16,
      "temporal-method=running output=background motion-meta=1 motion-hold=0");

  for (int i = 0; i < 9; i++) {
    const bool ghost = i >= 7;

    fill_stripes (&q, 150, i ? 100 : 240);
    filter_frame (&q);
    expect (&q, "B beside a ghost", i, block_at (&q, 4)->B, 2400);
    expect (&q, "B of a ghost", i, block_at (&q, 5)->B, ghost ? 1600 : 3840 - i);
    expect (&q, "Y of a ghost", i, state_of (&q)->cell[1].Y, i > 7 || i == 0 ? 0 : -12);
    expect (&q, "D of a ghost", i, state_of (&q)->cell[1].D, i > 7 || i == 0 ? 0 : 8);
    expect (&q, "regions of a ghost", i, q.regions.n, i > 0 && !ghost);
    expect (&q, "p of a ghost", i, kc_word (&q.out.image, 0, 31, 15), ghost ? 100 : 240);
  }
  return sequence_free (&q);
}

/* Stripes that change places are distinct nowhere. */
static int
check_shaking (void)
{
  Sequence q = sequence_new (CF_FORMAT_GRAY8, 32, 16, "temporal-method=running output=mask motion-meta=1");

  for (int i = 0; i < 2; i++) {
    fill_stripes (&q, i ? 200 : 100, i ? 100 : 200);
    filter_frame (&q);
    expect (&q, "B of what shakes", i, block_at (&q, 4)->B, 1600);
    expect (&q, "V of what shakes", i, block_at (&q, 4)->V, 256);
    expect (&q, "mask of what shakes", i, kc_word (&q.out.image, 0, 16, 0), i ? 255 : 0);
    expect (&q, "mask beside what shakes", i, kc_word (&q.out.image, 0, 15, 0), 0);
    expect (&q, "regions of what shakes", i, q.regions.n, (unsigned) i);
  }
  expect (&q, "loose", 1, state_of (&q)->loose, true);
  expect (&q, "a cell that counts", 1, state_of (&q)->cell[1].counts, false);
  return sequence_free (&q);
}

/* Light on four of eight cells. */
static int
check_light (void)
{
  Sequence q = sequence_new (CF_FORMAT_GRAY8, 64, 32, "temporal-method=running output=background motion-meta=1");

  for (int i = 0; i < 2; i++) {
    fill (&q, 0, 32, i ? 130 : 100);
    fill (&q, 32, 64, 100);
    filter_frame (&q);
    expect (&q, "B of what is lit", i, block_at (&q, 0)->B, i ? 2080 : 1600);
    expect (&q, "V of what is lit", i, block_at (&q, 0)->V, i ? 274 : 256);
    expect (&q, "p of what is lit", i, kc_word (&q.out.image, 0, 31, 31), i ? 130 : 100);
    expect (&q, "lit", i, state_of (&q)->lit, i ? 44 : 0);
    expect (&q, "regions of what is lit", i, q.regions.n, 0);
  }
  return sequence_free (&q);
}

/* A striped object, then light, in the two black cells of a row of six, beside which it becomes darker. The object
 * keeps B = 0, not 0 + 1 - 10, with which a gain explains its edges: all changes are light. */
static int
check_darkness (void)
{
  Sequence q = sequence_new (CF_FORMAT_GRAY8, 96, 16, "temporal-method=running output=background");

  for (int i = 0; i < 3; i++) {
    fill (&q, 0, 64, i ? 99 : 100);
    for (int x = 64; x < 80; x += 4)
      fill (&q, x, x + 4, !i ? 0 : x / 4 % 2 ? 190 : 150);
    fill (&q, 80, 96, i < 2 ? 0 : 150);
    filter_frame (&q);
    expect (&q, "the drift beside darkness", i, state_of (&q)->tile[2].drift, i == 1 ? -10 : 0);
    expect (&q, "B in darkness", i, block_at (&q, 16)->B, i < 2 ? 0 : 2400);
    expect (&q, "p in darkness", i, kc_word (&q.out.image, 0, 64, 0), i == 2 ? 150 : 0);
  }
  return sequence_free (&q);
}

/* 16 changed blocks are less than 257 pixels. */
static int
check_dropping (void)
{
  Sequence q = sequence_new (CF_FORMAT_GRAY8, 32, 16, "temporal-method=running motion-meta=1 motion-min-area=257");

  for (int i = 0; i < 4; i++) {
    fill (&q, 0, 16, 100);
    fill (&q, 16, 32, i ? 160 : 100);
    filter_frame (&q);
    expect (&q, "regions of what is dropped", i, q.regions.n, 0);
  }
  return sequence_free (&q);
}

/* Filters a row of cells whose stripes change places, or which become bright, in the first `changed` of them; returns
 * whether the frame is anew ('a'), loose ('l') or neither ('-'). */
static char
kind_of_row (int cells, int changed, bool stripes)
{
  Sequence q = sequence_new (CF_FORMAT_GRAY8, 16 * cells, 16, "temporal-method=running");
  char kind;

  for (int i = 0; i < 2; i++) {
    for (int x = 0; x < 16 * cells; x += 4)
      fill (&q, x, x + 4, stripes && (x / 4 + (i && x < 16 * changed)) % 2 ? 200 : 100);
    if (i && !stripes)
      fill (&q, 0, 16 * changed, 200);
    filter_frame (&q);
  }
  kind = state_of (&q)->anew ? 'a' : state_of (&q)->loose ? 'l' : '-';
  sequence_free (&q);
  return kind;
}

/* 5 P > 3 N, 20 P > N, 2 R < P. */
static int
check_limits (void)
{
  static const struct {
    int cells, changed;
    bool stripes;
    char kind;
  } rows[] = { { 5, 3, false, '-' }, { 5, 4, false, 'a' }, { 5, 3, true, 'l' }, { 20, 1, true, '-' },
    { 19, 1, true, 'l' }, { 19, 1, false, '-' }, { 20, 12, true, 'l' }, { 20, 13, true, 'a' } };
  int failures = 0;

  for (size_t i = 0; i < G_N_ELEMENTS (rows); i++) {
    const char kind = kind_of_row (rows[i].cells, rows[i].changed, rows[i].stripes);

    if (kind == rows[i].kind)
      continue;
    printf ("the reference of running: row %d of check_limits is %c (%c)\n", (int) i, kind, rows[i].kind);
    failures++;
  }
  return failures;
}

/* Values of blocks: (2 10 + 5 20 + 30) 16 >> 3, and 16 65535 >> 8. */
static int
check_values (void)
{
  Sequence rgb = sequence_new (CF_FORMAT_RGB, 1, 1, "temporal-method=running");
  Sequence gray = sequence_new (CF_FORMAT_GRAY16_LE, 1, 1, "temporal-method=running");

  for (int c = 0; c < 3; c++)
    kc_put_word (&rgb.in.image, c, 0, 0, 10 + 10 * (unsigned) c);
  fill (&gray, 0, 1, 65535);
  filter_frame (&rgb);
  filter_frame (&gray);
  expect (&rgb, "RGB", 0, block_at (&rgb, 0)->B, 300);
  expect (&gray, "16 bits", 0, block_at (&gray, 0)->B, 4095);
  return sequence_free (&rgb) + sequence_free (&gray);
}

/* ---- what drawn scenes reach -------------------------------------------- */

static void
filter_scene (uint64_t seed, int frames)
{
  static const int size[][2] = { { 96, 64 }, { 131, 97 }, { 200, 150 }, { 48, 33 }, { 32, 290 }, { 200, 20 } };
  static const CfFormat format[] = { CF_FORMAT_GRAY8, CF_FORMAT_NV12, CF_FORMAT_RGB, CF_FORMAT_I420_10LE };
  const int *const s = size[seed % G_N_ELEMENTS (size)];
  Sequence q = sequence_new (format[seed / 3 % G_N_ELEMENTS (format)], s[0], s[1],
      seed % 2 ? "temporal-method=running output=mask motion-meta=1 motion-min-area=600"
               : "temporal-method=running output=still motion-meta=1");

  for (int i = 0; i < frames; i++) {
    rn_draw (&q.in.image, i, seed);
    filter_frame (&q);
  }
  sequence_free (&q);
}

/* Draws scenes until everything was reached. */
static int
check_reached (void)
{
  static const char *const names[RN_N_BRANCHES] = { "lit", "lit again", "loose", "a cell that counts in a loose frame",
    "a cell that moves without counting", "anew", "ghost", "ghost beside one", "sure", "a confirmed group",
    "a group with too few sure cells", "a dropped group", "a drift above 0", "a drift below 0", "take", "hold",
    "p that moves where its block holds", "a stronger edge", "a weaker edge", "an edge that a gain explains", "T = G",
    "the least T", "V up", "V down", "the largest V", "the least V", "S above 2", "drifts that differ",
    "a pixel that moves", "a masked pixel that does not" };
  int failures = 0;

  memset (rn_reached, 0, sizeof rn_reached);
  for (uint64_t seed = 1; seed <= 60; seed++)
    filter_scene (seed, seed % 20 ? 32 : 190);
  for (int i = 0; i < RN_N_BRANCHES; i++) {
    if (getenv ("RN_SHOW"))
      printf ("%-40s %lu\n", names[i], rn_reached[i]);
    if (rn_reached[i] == 0) {
      printf ("the reference of running: no scene reaches %s\n", names[i]);
      failures++;
    }
  }
  return failures;
}

int
rn_check (void)
{
  return check_following () + check_holding () + check_ghost () + check_shaking () + check_light () +
      check_darkness () + check_dropping () + check_limits () + check_values () + check_reached ();
}
