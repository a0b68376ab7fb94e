/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * schedule.c: stresses the scheduler of the recursive filter on the GPU (cuda/irfilter/gpu/scheduler.cuh): few blocks
 * and too many, claims of a single chunk, late warps, other work on the GPU. Whatever the order in which blocks claim
 * work, every frame must complete with the bytes of the CPU. Then late warps of the convolution's sparse kernel, whose
 * warp groups wait for each other (cuda/convolve/gpu/sparse.cu).
 *
 * Limits of this test. It cannot show orders of memory operations that this GPU does not produce, or produces less
 * often than once in some thousand frames: delayed warps create other interleavings, not all of them. scheduler.cuh
 * argues why no block waits forever and why no chunk is left out; this test only tries it. A chunk that is claimed
 * twice may go unseen when both blocks write the same bytes. The test says nothing about the speed of a schedule, about
 * GPUs that preempt blocks, or about two processes on one GPU. */
#include "kernelcheck.h"

#include <stdio.h>
#include <string.h>

#define DEADLINE_NS 10000000000u
#define SIDE_BATCH 4
#define N_EVENTS 4 /* around each of two batches */
#define ROUND 250  /* frames per plan, for each pair of plans */

enum { INPUTS = 2, MAX_DELAY = 3000, TABLE_BLOCKS = 7, MOST_ENTRIES = 4096, N_SHARING = 8 };

/* Each window size, with one core and with several, in frames of 333 x 217; no denominator is a product of two axes.
 * Then a cascade of filters (preset=soft), with one core and with several. */
static const struct {
  int m;
  const char *set;
} settings[] = {
  { 2, "sets=2 radius=0.95" },
  { 2, "sets=2 radius=0.3 border=zero" },
  { 3, "sets=3 radius=0.95 border=zero" },
  { 3, "sets=3 radius=0.3" },
  { 4, "sets=4 radius=0.95" },
  { 4, "sets=4 radius=0.3 border=zero" },
  { 5, "sets=5 radius=0.95 border=zero" },
  { 5, "sets=5 radius=0.3" },
  { 8, "sets=8 radius=0.95" },
  { 8, "sets=8 radius=0.3 border=zero" },
  { 2, "preset=soft sigma=20 method=quadrants" },
  { 2, "preset=soft sigma=1 method=quadrants" },
};

enum { N_SETTINGS = G_N_ELEMENTS (settings) };

typedef struct {
  int blocks, chunks, delay, seed;
} Overrides;

/* A plan on the GPU with its images. The inputs alternate, so that data that one frame left behind, in `out` or in the
 * words that strips exchange, is wrong for the next frame. */
typedef struct {
  char what[KC_TEXT + 96]; /* description for messages */
  CfPlan *plan;
  CfStream *stream;
  CfEvents *events;
  void *host, *device;
  size_t size;
  CfImage in[INPUTS], out;               /* on the device */
  CfImage poison, got, expected[INPUTS]; /* in host memory */
} Subject;

/* ---- plans under test ------------------------------------------------- */

static void
subject_free (Subject *subject)
{
  cf_plan_free (subject->plan);
  cf_events_free (subject->events);
  cf_stream_free (subject->stream);
  cf_gpu_free (CF_PINNED, subject->host);
  cf_gpu_free (CF_DEVICE, subject->device);
  memset (subject, 0, sizeof *subject);
}

/* Allocates one block of host memory and one of device memory; image k begins k * size bytes into its block. */
static bool
subject_images (Subject *subject, const CfVideo *video, CfStatus *status)
{
  CfImage layout;

  subject->size = cf_image_layout (&layout, video->format, video->width, video->height, 1);
  subject->host = cf_gpu_alloc (CF_PINNED, (2 + INPUTS) * subject->size, status);
  subject->device = subject->host ? cf_gpu_alloc (CF_DEVICE, (1 + INPUTS) * subject->size, status) : NULL;
  if (!subject->device)
    return false;
  cf_image_at (&subject->poison, &layout, subject->host);
  cf_image_at (&subject->got, &layout, (uint8_t *) subject->host + subject->size);
  cf_image_at (&subject->out, &layout, subject->device);
  for (size_t i = 0; i < INPUTS; i++) {
    cf_image_at (&subject->expected[i], &layout, (uint8_t *) subject->host + (2 + i) * subject->size);
    cf_image_at (&subject->in[i], &layout, (uint8_t *) subject->device + (1 + i) * subject->size);
  }
  return true;
}

/* Makes the inputs, uploads them, and filters them on the CPU. */
static bool
subject_inputs (Subject *subject, CfPlan *cpu, uint64_t seed, CfStatus *status)
{
  static const KcContent contents[INPUTS] = { KC_NATURAL, KC_RANDOM };
  KcImage poison = { .image = subject->poison }, input = { .image = subject->got };

  for (int i = 0; i < INPUTS; i++) {
    kc_image_fill (&input, contents[i], i, seed);
    if (cf_stream_copy (subject->stream, CF_UPLOAD, &subject->in[i], &input.image, NULL, status) != CF_OK ||
        cf_stream_wait (subject->stream, DEADLINE_NS, NULL, status) != CF_OK ||
        cf_plan_enqueue (cpu, NULL, &(CfFrame) { .in = &input.image, .out = &subject->expected[i] }, status) != CF_OK)
      return false;
  }
  kc_image_fill (&poison, KC_RANDOM, INPUTS, seed);
  return true;
}

static bool
subject_new (Subject *subject, KcRun *run, CfContext *cpu, const char *stem, const char *set, const CfVideo *video,
    uint64_t seed, CfStatus *status)
{
  const CfFilter *filter = cf_filter_find (stem);
  const CfCommon common = { 0 };
  void *params = kc_params_new (filter, set, status);
  CfPlan *expected = NULL;
  bool good;

  memset (subject, 0, sizeof *subject);
  snprintf (subject->what, sizeof subject->what, "%s %s, %s %dx%d", stem, set, cf_format_info (video->format)->name,
      video->width, video->height);
  good = params && (subject->stream = cf_stream_new (NULL, status)) &&
      (subject->events = cf_events_new (N_EVENTS, status)) &&
      (subject->plan = cf_plan_new (run->gpu, filter, video, &common, params, status)) &&
      (expected = cf_plan_new (cpu, filter, video, &common, params, status)) &&
      subject_images (subject, video, status) && subject_inputs (subject, expected, seed, status);
  cf_plan_free (expected);
  cf_params_free (filter, params);
  if (!good)
    kc_result (run, false, "%s: %s", subject->what, status->message);
  else
    run->cases++;
  return good;
}

static bool
apply_overrides (Subject *subject, const Overrides *k, CfStatus *status)
{
  return cf_plan_override (subject->plan, "blocks", k->blocks, status) == CF_OK &&
      cf_plan_override (subject->plan, "chunks", k->chunks, status) == CF_OK &&
      cf_plan_override (subject->plan, "delay", k->delay, status) == CF_OK &&
      cf_plan_override (subject->plan, "seed", k->seed, status) == CF_OK;
}

/* Queues upload of an output in which every byte is wrong, filtering, and download. */
static bool
queue (Subject *subject, int input, CfStatus *status)
{
  return cf_stream_copy (subject->stream, CF_UPLOAD, &subject->out, &subject->poison, NULL, status) == CF_OK &&
      cf_plan_enqueue (subject->plan, subject->stream, &(CfFrame) { .in = &subject->in[input], .out = &subject->out },
          status) == CF_OK &&
      cf_stream_copy (subject->stream, CF_DOWNLOAD, &subject->got, &subject->out, NULL, status) == CF_OK;
}

/* Describes how many bytes differ, and where the first of them is. */
static bool
compare (const Subject *subject, int input, char *text, size_t size)
{
  const uint8_t *expected = subject->expected[input].plane[0].data, *got = subject->got.plane[0].data;
  size_t wrong = 0, first = 0, begin = 0;
  int plane = 0;

  if (memcmp (expected, got, subject->size) == 0)
    return true;
  for (size_t i = subject->size; i-- > 0;)
    if (expected[i] != got[i]) {
      first = i;
      wrong++;
    }
  for (int p = 1; p < CF_MAX_PLANES && subject->got.plane[p].data; p++)
    if ((size_t) ((uint8_t *) subject->got.plane[p].data - got) <= first) {
      begin = (size_t) ((uint8_t *) subject->got.plane[p].data - got);
      plane = p;
    }
  snprintf (text, size, "%zu bytes differ from the CPU's; first byte %zu of row %zu of plane %d: 0x%02x, not 0x%02x",
      wrong, (first - begin) % subject->got.plane[plane].pitch, (first - begin) / subject->got.plane[plane].pitch,
      plane, got[first], expected[first]);
  return false;
}

/* Waits for the frame, compares it and counts it. */
static bool
finish (KcRun *run, const Subject *subject, int input, const char *how)
{
  CfStatus status = { 0 };
  CfCode code = cf_stream_wait (subject->stream, DEADLINE_NS, NULL, &status);
  char text[KC_TEXT] = "";
  bool good;

  if (code == CF_TIMEOUT)
    kc_end_hung (run, "%s, %s: %s", subject->what, how, status.message);
  good = code == CF_OK && compare (subject, input, text, sizeof text);
  run->frames++;
  kc_result (run, good, "%s, %s: %s", subject->what, how, code == CF_OK ? text : status.message);
  return good;
}

static void
describe (const Overrides *k, char *text, size_t size)
{
  snprintf (text, size, "%d blocks, %d chunks per claim (0: all), %d ns of delay, seed %d", k->blocks, k->chunks,
      k->delay, k->seed);
}

static bool
run_frame (KcRun *run, Subject *subject, const Overrides *k, int input)
{
  CfStatus status = { 0 };
  char how[KC_TEXT];

  describe (k, how, sizeof how);
  if (apply_overrides (subject, k, &status) && queue (subject, input, &status))
    return finish (run, subject, input, how);
  kc_result (run, false, "%s, %s: %s", subject->what, how, status.message);
  return false;
}

static int
random_seed (uint64_t *state)
{
  return (int) (kc_random (state) & 0x7fffffff);
}

/* ---- every grid, every claim length ----------------------------------- */

static const int grids[] = { 1, 2, 7, 132, 1000 }, claims[] = { 0, 1, 3 }, delays[] = { 0, MAX_DELAY };

enum { N_GRIDS = G_N_ELEMENTS (grids), N_CLAIMS = G_N_ELEMENTS (claims), N_DELAYS = G_N_ELEMENTS (delays) };

static void
matrix (KcRun *run, CfContext *cpu, uint64_t *state)
{
  static const CfFormat formats[] = { CF_FORMAT_GRAY8, CF_FORMAT_NV12 };

  for (int i = 0; i < 2 * N_SETTINGS; i++) {
    const CfVideo video = { .format = formats[i % 2], .width = 333, .height = 217 };
    CfStatus status = { 0 };
    Subject subject;
    bool good = subject_new (&subject, run, cpu, "irfilter", settings[i / 2].set, &video, run->options.seed, &status);

    for (int k = 0; good && k < N_GRIDS * N_CLAIMS * N_DELAYS; k++) {
      const Overrides overrides = { grids[k / N_DELAYS / N_CLAIMS], claims[k / N_DELAYS % N_CLAIMS],
        delays[k % N_DELAYS], random_seed (state) };

      run_frame (run, &subject, &overrides, k % INPUTS);
    }
    subject_free (&subject);
  }
}

/* ---- many frames, beside other work on the GPU ------------------------ */

/* Keeps a stream busy with two batches: one runs while the other is queued. */
static bool
keep_busy (Subject *subject, unsigned long *frames, CfStatus *status)
{
  for (unsigned first = 0; first < N_EVENTS; first += 2) {
    if (*frames >= 2 * SIDE_BATCH && cf_events_elapsed_ns (subject->events, first, first + 1) == 0)
      continue; /* the batch still runs */
    if (cf_stream_record (subject->stream, subject->events, first, status) != CF_OK)
      return false;
    for (int i = 0; i < SIDE_BATCH; i++, ++*frames)
      if (cf_plan_enqueue (subject->plan, subject->stream,
              &(CfFrame) { .in = &subject->in[i % INPUTS], .out = &subject->out }, status) != CF_OK)
        return false;
    if (cf_stream_record (subject->stream, subject->events, first + 1, status) != CF_OK)
      return false;
  }
  return true;
}

static Overrides
random_overrides (uint64_t *state)
{
  Overrides k;

  k.blocks = kc_random (state) % 3 == 0 ? 0 : grids[kc_random (state) % N_GRIDS];
  k.chunks = kc_random (state) % 2 ? 0 : 1 + (int) (kc_random (state) % 5);
  k.delay = kc_random (state) % 2 ? 0 : 1 + (int) (kc_random (state) % MAX_DELAY);
  k.seed = random_seed (state);
  return k;
}

/* Runs two plans at once, one frame of each at a time. Returns the number of frames. */
static long
pair_of_plans (KcRun *run, Subject subject[2], Subject side[2], unsigned long beside[2], long frames, uint64_t *state)
{
  bool good = true;
  long n = 0;

  for (int input = 0; good && n < frames; input = (input + 1) % INPUTS) {
    CfStatus status = { 0 };
    char how[2][KC_TEXT];

    for (int i = 0; i < 2; i++) {
      const Overrides overrides = random_overrides (state);

      describe (&overrides, how[i], sizeof how[i]);
      good = good && keep_busy (&side[i], &beside[i], &status) && apply_overrides (&subject[i], &overrides, &status) &&
          queue (&subject[i], input, &status);
    }
    if (!good)
      kc_result (run, false, "%s and %s: %s", subject[0].what, subject[1].what, status.message);
    for (int i = 0; good && i < 2; i++, n++)
      good = finish (run, &subject[i], input, how[i]);
  }
  return n;
}

static bool
two_plans (KcRun *run, CfContext *cpu, Subject subject[2], uint64_t *state)
{
  static const CfFormat formats[] = { CF_FORMAT_GRAY8, CF_FORMAT_NV12, CF_FORMAT_I420_10LE, CF_FORMAT_RGBA };
  int chosen[2] = { (int) (kc_random (state) % N_SETTINGS), 0 };
  bool good = true;

  do
    chosen[1] = (int) (kc_random (state) % N_SETTINGS);
  while (settings[chosen[0]].m == settings[chosen[1]].m);
  memset (subject, 0, 2 * sizeof *subject);
  for (int i = 0; good && i < 2; i++) {
    const CfVideo video = { .format = formats[kc_random (state) % 4],
      .width = 1 + (int) (kc_random (state) % 600),
      .height = 1 + (int) (kc_random (state) % 400) };
    CfStatus status = { 0 };

    good = subject_new (&subject[i], run, cpu, "irfilter", settings[chosen[i]].set, &video, kc_random (state), &status);
  }
  return good;
}

static void
beside_others (KcRun *run, CfContext *cpu, long frames, uint64_t *state)
{
  static const char *const sides[2][2] = { { "median", "kernel-size=9" }, { "convolve", "any=9x9 weights=8" } };
  const CfVideo video = { .format = CF_FORMAT_GRAY8, .width = 3840, .height = 2160 };
  unsigned long beside[2] = { 0, 0 };
  CfStatus status = { 0 };
  Subject side[2], subject[2];
  bool good = true;
  long n = 0;

  memset (side, 0, sizeof side);
  for (int i = 0; good && i < 2; i++)
    good = subject_new (&side[i], run, cpu, sides[i][0], sides[i][1], &video, run->options.seed, &status);
  while (good && n < frames) {
    const unsigned long before = run->failed;
    const long rest = frames - n;

    good = two_plans (run, cpu, subject, state);
    if (good)
      n += pair_of_plans (run, subject, side, beside, rest < 2 * ROUND ? rest : 2 * ROUND, state);
    good = good && run->failed == before;
    for (int i = 0; i < 2; i++)
      subject_free (&subject[i]);
  }
  for (int i = 0; i < 2; i++) {
    if (good && queue (&side[i], i, &status))
      finish (run, &side[i], i, "while the recursive filter ran");
    else if (good)
      kc_result (run, false, "%s: %s", side[i].what, status.message);
    subject_free (&side[i]);
  }
  printf ("%ld frames of two plans at once, beside %lu of the median and %lu of the convolution of %dx%d\n", n,
      beside[0], beside[1], video.width, video.height);
}

/* ---- late warp groups of the convolution ---------------------------------- */

/* Kernels that the sparse kernel takes, in frames whose rows begin on 16 bytes: one plane a tile, two and three, one
 * limb and two, with samples outside the image and without; the last three in 64 neighbours, one with weights that come
 * through a ring. */
static const struct {
  const char *set;
  CfFormat format;
  int width, height;
} sparse_rows[] = {
  { "any=31x31 weights=8", CF_FORMAT_GRAY8, 1920, 1080 },
  { "any=11x13 weights=8 border=wrap", CF_FORMAT_GRAY8, 320, 217 },
  { "any=17x9 weights=8 border=constant", CF_FORMAT_NV12, 640, 360 },
  { "any=23x23 weights=8", CF_FORMAT_RGBA, 640, 360 },
  { "any=31x31 weights=8 border=reflect101", CF_FORMAT_RGB, 336, 217 },
  { "any=15x15 weights=12", CF_FORMAT_GRAY8, 640, 360 },
  { "any=63x63 weights=8", CF_FORMAT_GRAY8, 1920, 1080 },
  { "any=33x41 weights=8 border=wrap", CF_FORMAT_RGBA, 640, 360 },
  { "any=63x63 weights=12", CF_FORMAT_NV12, 640, 360 },
};

static void
late_groups (KcRun *run, CfContext *cpu, uint64_t *state)
{
  const int frames = run->options.quick ? 20 : 200;

  for (size_t i = 0; i < G_N_ELEMENTS (sparse_rows); i++) {
    const CfVideo video = { sparse_rows[i].format, sparse_rows[i].width, sparse_rows[i].height, false };
    CfStatus status = { 0 };
    Subject subject;
    bool good = subject_new (&subject, run, cpu, "convolve", sparse_rows[i].set, &video, run->options.seed, &status);

    for (int k = 0; good && k < frames; k++) {
      const int delay = delays[k % N_DELAYS] / (1 + k / N_DELAYS % 3), seed = random_seed (state);
      char how[KC_TEXT];

      snprintf (how, sizeof how, "%d ns of delay, seed %d", delay, seed);
      good = cf_plan_override (subject.plan, "delay", delay, &status) == CF_OK &&
          cf_plan_override (subject.plan, "seed", seed, &status) == CF_OK && queue (&subject, k % INPUTS, &status);
      if (good)
        finish (run, &subject, k % INPUTS, how);
      else
        kc_result (run, false, "%s, %s: %s", subject.what, how, status.message);
    }
    subject_free (&subject);
  }
  printf ("%zu rows of the convolution's sparse kernel, %d frames each, half of them with late warps\n",
      G_N_ELEMENTS (sparse_rows), frames);
}

/* ---- which block filtered which chunk --------------------------------- */

/* Reads which block filtered which chunk of one frame: table 1 of A. Nikonorov, S. Popov, V. Fursov (see
 * irfilter/gpu/scheduler.cuh). */
static void
trace (KcRun *run, Subject *subject, uint64_t *state)
{
  /* The first frame leaves numbers of many blocks in the trace, so that a chunk that no block filters in the second
   * frame most likely shows a block number that the second frame does not have. */
  const Overrides many = { 1000, 1, 0, 0 }, few = { TABLE_BLOCKS, 1, MAX_DELAY, random_seed (state) };
  static int entry[MOST_ENTRIES];
  unsigned made[TABLE_BLOCKS] = { 0 }, missing = 0, all = 0, most = 0;
  CfStatus status = { 0 };
  CfCode code = cf_plan_override (subject->plan, "trace", 1, &status);
  int strips = 0, chunks = 0;

  if (code == CF_OK && (!run_frame (run, subject, &many, 0) || !run_frame (run, subject, &few, 1)))
    return;
  if (code == CF_OK)
    code = cf_plan_trace (subject->plan, subject->stream, entry, MOST_ENTRIES, &strips, &chunks, &status);
  if (code != CF_OK) {
    kc_result (run, false, "%s: %s", subject->what, status.message);
    return;
  }
  for (int i = 0; i < strips * chunks && i < MOST_ENTRIES; i++, all++)
    if (entry[i] < 0 || entry[i] >= TABLE_BLOCKS)
      missing++;
    else if (++made[entry[i]] > most)
      most = made[entry[i]];
  printf ("%s, %d blocks, 1 chunk per claim, up to %d ns of delay: %u chunks, at most %u by one block\n", subject->what,
      TABLE_BLOCKS, MAX_DELAY, all, most);
  for (int i = 0; i < strips * chunks && i < MOST_ENTRIES; i++) {
    if (i % chunks == 0)
      printf ("  strip %d, the blocks of its chunks:", i / chunks);
    printf (" %d%s", entry[i], i % chunks == chunks - 1 ? "\n" : "");
  }
  kc_result (run, all > 0 && strips * chunks <= MOST_ENTRIES,
      "%s: the trace has %d strips of %d chunks; 1 to %d chunks in all are expected", subject->what, strips, chunks,
      MOST_ENTRIES);
  kc_result (run, missing == 0, "%s: %u of %u chunks were filtered by none of the %d blocks", subject->what, missing,
      all, TABLE_BLOCKS);
  kc_result (run, most < all, "%s: one block filtered all %u chunks; the grid had %d blocks", subject->what, all,
      TABLE_BLOCKS);
}

/* Checks that the plans of a device share it out: with eight of them, a frame's strips are not each for a block of
 * their own. */
static void
shares (KcRun *run, CfContext *cpu)
{
  const CfVideo video = { .format = CF_FORMAT_GRAY8, .width = 4096, .height = 64 };
  const Overrides none = { 0, 0, 0, 0 };
  static int entry[MOST_ENTRIES];
  int strips = 0, chunks = 0, most = 0;
  Subject subject[N_SHARING];
  CfStatus status = { 0 };
  bool good = true;

  memset (subject, 0, sizeof subject);
  for (int i = 0; good && i < N_SHARING; i++)
    good = subject_new (&subject[i], run, cpu, "irfilter", "sets=3 radius=0.98", &video, run->options.seed, &status);
  if (good && cf_plan_override (subject->plan, "trace", 1, &status) == CF_OK && run_frame (run, subject, &none, 0) &&
      cf_plan_trace (subject->plan, subject->stream, entry, MOST_ENTRIES, &strips, &chunks, &status) == CF_OK) {
    for (int i = 0; i < strips * chunks && i < MOST_ENTRIES; i++)
      most = entry[i] > most ? entry[i] : most;
    printf ("%s, one of %d plans: %d strips by %d blocks or fewer\n", subject->what, N_SHARING, strips, most + 1);
    kc_result (run, most + 1 < strips / 2, "%s: there is a block %d for %d strips, though %d plans share the GPU",
        subject->what, most, strips, N_SHARING);
  } else if (good)
    kc_result (run, false, "%s: %s", subject->what, status.message);
  for (int i = 0; i < N_SHARING; i++)
    subject_free (&subject[i]);
}

void
kc_schedule (KcRun *run)
{
  const long frames = run->options.frames ? run->options.frames : run->options.quick ? 300 : 10000;
  /* A quadrant in one core: the strips are the frame's, from left to right. */
  const CfVideo wide = { .format = CF_FORMAT_GRAY8, .width = 1024, .height = 217 };
  const gint64 start = g_get_monotonic_time ();
  uint64_t state = run->options.seed;
  CfStatus status = { 0 };
  CfContext *cpu = cf_context_new (CF_BACKEND_CPU, &status);
  gint64 now;
  Subject subject;

  if (!cpu) {
    kc_result (run, false, "no CPU context: %s", status.message);
    return;
  }
  matrix (run, cpu, &state);
  now = g_get_monotonic_time ();
  printf ("%d settings and formats, each with %d grids, %d claim lengths, with and without delays: %lu frames, "
          "%.1f s\n",
      2 * N_SETTINGS, N_GRIDS, N_CLAIMS, run->frames, (double) (now - start) / 1e6);
  late_groups (run, cpu, &state);
  beside_others (run, cpu, frames, &state);
  printf ("that took %.1f s\n", (double) (g_get_monotonic_time () - now) / 1e6);
  if (subject_new (&subject, run, cpu, "irfilter", "sets=3 radius=0.98 use=se", &wide, run->options.seed, &status))
    trace (run, &subject, &state);
  subject_free (&subject);
  shares (run, cpu);
  cf_context_free (cpu);
}
