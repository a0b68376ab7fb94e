/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * schedule.c: the scheduler of the recursive filter on the GPU (cuda/irfilter/gpu/scheduler.cuh)
 * under bad luck: few blocks and too many, claims of a single chunk, warps that
 * fall asleep, other work on the GPU. Whatever the order in which the blocks came
 * by their work, the bytes are the CPU's, and they come.
 *
 * What this cannot show. Orders of memory operations that this GPU does not
 * produce, or produces too rarely to be met in some thousand frames: sleeping
 * warps make other interleavings, not all of them. That no block waits for ever
 * and that no chunk is left out is argued in irfilter/gpu/scheduler.cuh; here it is tried. A
 * claim that is made twice may go unseen where both blocks write the same bytes.
 * Nor is anything said of how fast a schedule is, of GPUs that take blocks off an
 * SM half done, or of two processes on one GPU. */
#define _GNU_SOURCE
#include "kernelcheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_NS 10000000000u
#define SIDE_BATCH 4
#define ROUND 250 /* frames of each of two plans */

enum { INPUTS = 2, MAX_DELAY = 3000, TABLE_BLOCKS = 7, TABLE_CHUNKS = 12, TABLE_STRIPS = 8, MOST_ENTRIES = 4096 };

/* Each side of a window, with one core and with several, in pictures of 333 x
 * 217; no denominator is a product of two axes. Then a cascade alike. */
static const struct {
  int m;
  const char *set;
} settings[] = {
  { 2, "sets=2 radius=0.95" }, { 2, "sets=2 radius=0.3 border=zero" },
  { 3, "sets=3 radius=0.95 border=zero" }, { 3, "sets=3 radius=0.3" },
  { 4, "sets=4 radius=0.95" }, { 4, "sets=4 radius=0.3 border=zero" },
  { 5, "sets=5 radius=0.95 border=zero" }, { 5, "sets=5 radius=0.3" },
  { 8, "sets=8 radius=0.95" }, { 8, "sets=8 radius=0.3 border=zero" },
  { 2, "preset=soft sigma=20" }, { 2, "preset=soft sigma=1" },
};

enum { N_SETTINGS = sizeof settings / sizeof *settings };

typedef struct {
  int blocks, chunks, delay, seed;
} Knobs;

/* A plan on the GPU with its pictures. The inputs take turns: what one frame left
 * behind, in `out` or among the words that strips hand to each other, is wrong
 * for the next. */
typedef struct {
  char what[KC_TEXT + 96]; /* for people */
  CfPlan *plan;
  CfStream *stream;
  void *host, *device;
  size_t size;
  CfImage in[INPUTS], out;              /* on the device */
  CfImage poison, got, truth[INPUTS];   /* in host memory */
} Job;

/* ---- jobs --------------------------------------------------------------- */

static bool
failed (CfStatus *status, const char *why)
{
  status->code = CF_BAD_VALUE;
  snprintf (status->message, sizeof status->message, "%.200s", why);
  return false;
}

static void
job_free (Job *job)
{
  cf_plan_free (job->plan);
  cf_stream_free (job->stream);
  cf_pinned_free (job->host);
  cf_device_free (job->device);
  memset (job, 0, sizeof *job);
}

/* One piece of memory a side; picture k lies k sizes from its begin. */
static bool
job_pictures (Job *job, const CfVideo *video, CfStatus *status)
{
  CfImage layout;

  job->size = cf_image_layout (&layout, video->format, video->width, video->height, 1);
  job->host = cf_pinned_alloc ((2 + INPUTS) * job->size, status);
  job->device = job->host ? cf_device_alloc ((1 + INPUTS) * job->size, status) : NULL;
  if (!job->device)
    return false;
  cf_image_at (&job->poison, &layout, job->host);
  cf_image_at (&job->got, &layout, (uint8_t *) job->host + job->size);
  cf_image_at (&job->out, &layout, job->device);
  for (size_t i = 0; i < INPUTS; i++) {
    cf_image_at (&job->truth[i], &layout, (uint8_t *) job->host + (2 + i) * job->size);
    cf_image_at (&job->in[i], &layout, (uint8_t *) job->device + (1 + i) * job->size);
  }
  return true;
}

/* Makes the inputs, uploads them, and filters them on the CPU. */
static bool
job_inputs (Job *job, CfPlan *cpu, uint64_t seed, CfStatus *status)
{
  static const KcContent contents[INPUTS] = { KC_NATURAL, KC_RANDOM };
  KcPicture poison = { .image = job->poison }, input = { .image = job->got };

  for (int i = 0; i < INPUTS; i++) {
    kc_picture_fill (&input, contents[i], i, seed);
    if (cf_stream_upload (job->stream, &job->in[i], &input.image, status) != CF_OK ||
        cf_stream_wait (job->stream, DEADLINE_NS, status) != CF_OK ||
        cf_plan_enqueue (cpu, NULL, &input.image, &job->truth[i], status) != CF_OK)
      return false;
  }
  kc_picture_fill (&poison, KC_RANDOM, INPUTS, seed);
  return true;
}

static bool
job_new (Job *job, KcRun *run, CfContext *cpu, const char *stem, const char *set, const CfVideo *video, uint64_t seed,
    CfStatus *status)
{
  const CfFilter *filter = cf_filter_find (stem);
  const CfCommon common = { CF_APPLY_ALL };
  void *params = malloc (cf_filter_params_size (filter));
  char error[KC_TEXT] = "";
  CfPlan *truth = NULL;
  bool good;

  memset (job, 0, sizeof *job);
  snprintf (job->what, sizeof job->what, "%s %s, %s %dx%d", stem, set, cf_format_info (video->format)->name,
      video->width, video->height);
  if (!params)
    return failed (status, "out of memory");
  cf_filter_defaults (filter, params);
  good = kc_params_set (filter, params, set, error) == CF_OK || failed (status, error);
  good = good && (job->stream = cf_stream_new (NULL, status)) &&
      (job->plan = cf_plan_new (run->gpu, filter, video, &common, params, status)) &&
      (truth = cf_plan_new (cpu, filter, video, &common, params, status)) && job_pictures (job, video, status) &&
      job_inputs (job, truth, seed, status);
  cf_plan_free (truth);
  kc_params_free (filter, params);
  if (!good)
    kc_result (run, false, "%s: %s", job->what, status->message);
  else
    run->cases++;
  return good;
}

static bool
turn (Job *job, const Knobs *k, CfStatus *status)
{
  return cf_plan_override (job->plan, "blocks", k->blocks, status) == CF_OK &&
      cf_plan_override (job->plan, "chunks", k->chunks, status) == CF_OK &&
      cf_plan_override (job->plan, "delay", k->delay, status) == CF_OK &&
      cf_plan_override (job->plan, "seed", k->seed, status) == CF_OK;
}

/* Queues a frame into a picture in which every byte is wrong, and its way back. */
static bool
queue (Job *job, int input, CfStatus *status)
{
  return cf_stream_upload (job->stream, &job->out, &job->poison, status) == CF_OK &&
      cf_plan_enqueue (job->plan, job->stream, &job->in[input], &job->out, status) == CF_OK &&
      cf_stream_download (job->stream, &job->got, &job->out, status) == CF_OK;
}

/* Nothing that this process still asks of a GPU that hangs would come back, not
 * even its end in good order. */
static void
hang (KcRun *run, const Job *job, const char *how, const CfStatus *status)
{
  kc_result (run, false, "%s, %s: %s; the GPU hangs, so the test ends here", job->what, how, status->message);
  printf ("%lu passed, %lu failed, %lu skipped\n", run->passed, run->failed, run->skipped);
  fflush (stdout);
  _exit (1);
}

/* Says how many bytes differ, and where the first of them is. */
static bool
compare (const Job *job, int input, char *text, size_t size)
{
  const uint8_t *truth = job->truth[input].plane[0].data, *got = job->got.plane[0].data;
  size_t wrong = 0, first = 0, begin = 0;
  int plane = 0;

  if (memcmp (truth, got, job->size) == 0)
    return true;
  for (size_t i = job->size; i-- > 0;)
    if (truth[i] != got[i]) {
      first = i;
      wrong++;
    }
  for (int p = 1; p < CF_MAX_PLANES && job->got.plane[p].data; p++)
    if ((size_t) ((uint8_t *) job->got.plane[p].data - got) <= first) {
      begin = (size_t) ((uint8_t *) job->got.plane[p].data - got);
      plane = p;
    }
  snprintf (text, size, "%zu bytes are not the CPU's; first byte %zu of row %zu of plane %d: 0x%02x, not 0x%02x", wrong,
      (first - begin) % job->got.plane[plane].pitch, (first - begin) / job->got.plane[plane].pitch, plane,
      got[first], truth[first]);
  return false;
}

/* Waits for the frame, compares it and counts it. */
static bool
finish (KcRun *run, const Job *job, int input, const char *how)
{
  CfStatus status = { 0 };
  CfCode code = cf_stream_wait (job->stream, DEADLINE_NS, &status);
  char text[KC_TEXT] = "";
  bool good;

  if (code == CF_TIMEOUT)
    hang (run, job, how, &status);
  good = code == CF_OK && compare (job, input, text, sizeof text);
  run->frames++;
  kc_result (run, good, "%s, %s: %s", job->what, how, code == CF_OK ? text : status.message);
  return good;
}

static void
describe (const Knobs *k, char *text, size_t size)
{
  snprintf (text, size, "%d blocks, %d chunks a claim (0: all), %d ns of delay, seed %d", k->blocks, k->chunks,
      k->delay, k->seed);
}

static bool
frame (KcRun *run, Job *job, const Knobs *k, int input)
{
  CfStatus status = { 0 };
  char how[KC_TEXT];

  describe (k, how, sizeof how);
  if (turn (job, k, &status) && queue (job, input, &status))
    return finish (run, job, input, how);
  kc_result (run, false, "%s, %s: %s", job->what, how, status.message);
  return false;
}

static int
random_seed (uint64_t *state)
{
  return (int) (kc_random (state) & 0x7fffffff);
}

/* ---- every grid, every claim -------------------------------------------- */

static const int grids[] = { 1, 2, 7, 132, 1000 }, claims[] = { 0, 1, 3 }, delays[] = { 0, MAX_DELAY };

enum { N_GRIDS = sizeof grids / sizeof *grids, N_CLAIMS = sizeof claims / sizeof *claims, N_DELAYS = 2 };

static void
matrix (KcRun *run, CfContext *cpu, uint64_t *state)
{
  static const CfFormat formats[] = { CF_FORMAT_GRAY8, CF_FORMAT_NV12 };

  for (int i = 0; i < 2 * N_SETTINGS; i++) {
    const CfVideo video = { .format = formats[i % 2], .width = 333, .height = 217 };
    CfStatus status = { 0 };
    Job job;
    bool good = job_new (&job, run, cpu, "irfilter", settings[i / 2].set, &video, run->options.seed, &status);

    for (int k = 0; good && k < N_GRIDS * N_CLAIMS * N_DELAYS; k++) {
      const Knobs knobs = { grids[k / N_DELAYS / N_CLAIMS], claims[k / N_DELAYS % N_CLAIMS], delays[k % N_DELAYS],
        random_seed (state) };

      frame (run, &job, &knobs, k % INPUTS);
    }
    job_free (&job);
  }
}

/* ---- many frames, while others use the GPU ------------------------------ */

/* Keeps a stream busy: two batches, one under way while the other is queued. */
static bool
keep_busy (Job *job, unsigned long *frames, CfStatus *status)
{
  for (int first = 0; first < CF_STREAM_MARKS; first += 2) {
    if (*frames >= 2 * SIDE_BATCH && cf_stream_elapsed_ns (job->stream, first, first + 1) == 0)
      continue; /* it is not over yet */
    if (cf_stream_mark (job->stream, first, status) != CF_OK)
      return false;
    for (int i = 0; i < SIDE_BATCH; i++, ++*frames)
      if (cf_plan_enqueue (job->plan, job->stream, &job->in[i % INPUTS], &job->out, status) != CF_OK)
        return false;
    if (cf_stream_mark (job->stream, first + 1, status) != CF_OK)
      return false;
  }
  return true;
}

static Knobs
random_knobs (uint64_t *state)
{
  Knobs k;

  k.blocks = kc_random (state) % 3 == 0 ? 0 : grids[kc_random (state) % N_GRIDS];
  k.chunks = kc_random (state) % 2 ? 0 : 1 + (int) (kc_random (state) % 5);
  k.delay = kc_random (state) % 2 ? 0 : 1 + (int) (kc_random (state) % MAX_DELAY);
  k.seed = random_seed (state);
  return k;
}

/* Two plans at once, a frame each in turns. Returns the frames that were made. */
static long
pair_of_plans (KcRun *run, Job job[2], Job side[2], unsigned long beside[2], long frames, uint64_t *state)
{
  bool good = true;
  long n = 0;

  for (int input = 0; good && n < frames; input = (input + 1) % INPUTS) {
    CfStatus status = { 0 };
    char how[2][KC_TEXT];

    for (int i = 0; i < 2; i++) {
      const Knobs knobs = random_knobs (state);

      describe (&knobs, how[i], sizeof how[i]);
      good = good && keep_busy (&side[i], &beside[i], &status) && turn (&job[i], &knobs, &status) &&
          queue (&job[i], input, &status);
    }
    if (!good)
      kc_result (run, false, "%s and %s: %s", job[0].what, job[1].what, status.message);
    for (int i = 0; good && i < 2; i++, n++)
      good = finish (run, &job[i], input, how[i]);
  }
  return n;
}

static bool
two_plans (KcRun *run, CfContext *cpu, Job job[2], uint64_t *state)
{
  static const CfFormat formats[] = { CF_FORMAT_GRAY8, CF_FORMAT_NV12, CF_FORMAT_I420_10LE, CF_FORMAT_RGBA };
  int chosen[2] = { (int) (kc_random (state) % N_SETTINGS), 0 };
  bool good = true;

  do
    chosen[1] = (int) (kc_random (state) % N_SETTINGS);
  while (settings[chosen[0]].m == settings[chosen[1]].m);
  memset (job, 0, 2 * sizeof *job);
  for (int i = 0; good && i < 2; i++) {
    const CfVideo video = { .format = formats[kc_random (state) % 4], .width = 1 + (int) (kc_random (state) % 600),
      .height = 1 + (int) (kc_random (state) % 400) };
    CfStatus status = { 0 };

    good = job_new (&job[i], run, cpu, "irfilter", settings[chosen[i]].set, &video, kc_random (state), &status);
  }
  return good;
}

static void
crowd (KcRun *run, CfContext *cpu, long frames, uint64_t *state)
{
  static const char *const sides[2][2] = { { "median", "kernel-size=9" }, { "convolve", "any=9x9 weights=8" } };
  const CfVideo video = { .format = CF_FORMAT_GRAY8, .width = 3840, .height = 2160 };
  unsigned long beside[2] = { 0, 0 };
  CfStatus status = { 0 };
  Job side[2], job[2];
  bool good = true;
  long n = 0;

  memset (side, 0, sizeof side);
  for (int i = 0; good && i < 2; i++)
    good = job_new (&side[i], run, cpu, sides[i][0], sides[i][1], &video, run->options.seed, &status);
  while (good && n < frames) {
    const unsigned long before = run->failed;
    const long rest = frames - n;

    good = two_plans (run, cpu, job, state);
    if (good)
      n += pair_of_plans (run, job, side, beside, rest < 2 * ROUND ? rest : 2 * ROUND, state);
    good = good && run->failed == before;
    for (int i = 0; i < 2; i++)
      job_free (&job[i]);
  }
  for (int i = 0; i < 2; i++) {
    if (good && queue (&side[i], i, &status))
      finish (run, &side[i], i, "while the recursive filter ran");
    else if (good)
      kc_result (run, false, "%s: %s", side[i].what, status.message);
    job_free (&side[i]);
  }
  printf ("%ld frames of two plans at once, beside %lu of the median and %lu of the convolution of %dx%d\n", n,
      beside[0], beside[1], video.width, video.height);
}

/* ---- who made what ------------------------------------------------------ */

static void
print_table (const int *entry, int strips, int chunks, const unsigned made[TABLE_BLOCKS])
{
  printf ("chunk");
  for (int s = 0; s < strips && s < TABLE_STRIPS; s++)
    printf (" strip%d", s);
  for (int c = 0; c < chunks && c < TABLE_CHUNKS; c++) {
    printf ("\n%5d", c);
    for (int s = 0; s < strips && s < TABLE_STRIPS; s++)
      printf ("%7d", entry[s * chunks + c]);
  }
  printf ("\nblock   ");
  for (int b = 0; b < TABLE_BLOCKS; b++)
    printf ("%6d", b);
  printf ("\nchunks  ");
  for (int b = 0; b < TABLE_BLOCKS; b++)
    printf ("%6u", made[b]);
  printf ("\n");
}

/* Table 1 of A. Nikonorov, S. Popov, V. Fursov (irfilter/gpu/scheduler.cuh) for one frame. */
static void
trace (KcRun *run, Job *job, uint64_t *state)
{
  /* The first frame leaves numbers of many blocks behind, so that a chunk that
   * nobody makes in the second most likely has one that the second has not. */
  const Knobs many = { 1000, 1, 0, 0 }, few = { TABLE_BLOCKS, 1, MAX_DELAY, random_seed (state) };
  static int entry[MOST_ENTRIES];
  unsigned made[TABLE_BLOCKS] = { 0 }, nobody = 0, all = 0, most = 0;
  CfStatus status = { 0 };
  int strips = 0, chunks = 0;

  if (cf_plan_override (job->plan, "trace", 1, &status) != CF_OK) {
    kc_result (run, false, "%s: %s", job->what, status.message);
    return;
  }
  if (!frame (run, job, &many, 0) || !frame (run, job, &few, 1))
    return;
  if (cf_plan_trace (job->plan, job->stream, entry, MOST_ENTRIES, &strips, &chunks, &status) != CF_OK) {
    kc_result (run, false, "%s: %s", job->what, status.message);
    return;
  }
  for (int i = 0; i < strips * chunks && i < MOST_ENTRIES; i++) {
    if (entry[i] >= 0 && entry[i] < TABLE_BLOCKS)
      made[entry[i]]++;
    else
      nobody++;
    all++;
  }
  for (int b = 0; b < TABLE_BLOCKS; b++)
    most = made[b] > most ? made[b] : most;
  printf ("%s, %d blocks, 1 chunk a claim, up to %d ns of delay: which block made a chunk\n", job->what, TABLE_BLOCKS,
      MAX_DELAY);
  print_table (entry, strips, chunks, made);
  kc_result (run, all > 0 && strips * chunks <= MOST_ENTRIES,
      "%s: the trace has %d strips of %d chunks; 1 to %d chunks in all would be right", job->what, strips, chunks,
      MOST_ENTRIES);
  kc_result (run, nobody == 0, "%s: %u of %u chunks were made by no block of %d", job->what, nobody, all, TABLE_BLOCKS);
  kc_result (run, most < all, "%s: one block made all %u chunks; %d were there", job->what, all, TABLE_BLOCKS);
}

static double
seconds (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

void
kc_schedule (KcRun *run)
{
  const long frames = run->options.frames ? run->options.frames : run->options.quick ? 300 : 10000;
  /* A quadrant in one core: the strips are the picture's, from left to right. */
  const CfVideo wide = { .format = CF_FORMAT_GRAY8, .width = 1024, .height = 217 };
  const double start = seconds ();
  uint64_t state = run->options.seed;
  CfStatus status = { 0 };
  CfContext *cpu = cf_context_new (CF_BACKEND_CPU, &status);
  double now;
  Job job;

  if (!cpu) {
    kc_result (run, false, "no CPU context: %s", status.message);
    return;
  }
  matrix (run, cpu, &state);
  now = seconds ();
  printf ("%d settings and formats, each with %d grids, %d lengths of a claim, with and without delays: %lu frames, "
      "%.1f s\n", 2 * N_SETTINGS, N_GRIDS, N_CLAIMS, run->frames, now - start);
  crowd (run, cpu, frames, &state);
  printf ("that took %.1f s\n", seconds () - now);
  if (job_new (&job, run, cpu, "irfilter", "sets=3 radius=0.98 use=se", &wide, run->options.seed, &status))
    trace (run, &job, &state);
  job_free (&job);
  cf_context_free (cpu);
}
