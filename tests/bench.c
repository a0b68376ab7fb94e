/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench.c: the benchmark's options, rows and tables. */
#define _GNU_SOURCE
#include "bench.h"
#include "kernelcheck.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_ROWS 512
#define N_PICTURES 4

typedef struct {
  int size, width, height;
  const char *resolution;
  char variant[48];
  double ours, copy, peer; /* us a frame; 0 = not measured */
  bool checked, right;
} Row;

typedef struct {
  const char *filter, *sizes, *set, *resolution, *picture, *peer, *json, *markdown;
  bool all_variants;
  char command[512];
} Options;

typedef struct {
  Options o;
  const KcFilter *kc;
  const CfFilter *filter;
  CfContext *context;
  const BenchPeer *peer;
  CfGpuInfo gpu;
  Row rows[MAX_ROWS];
  int n_rows, failed;
} Bench;

typedef struct {
  CfPlan *plan;
  CfStream *stream;
  int width, height;
  CfStatus status;
} Ours;

typedef struct {
  const BenchPeer *peer;
  void *opened;
} Theirs;

/* Goals and arithmetic floors on one H200, us a frame at 1080p and 4K. */
static const struct {
  int size;
  double goal[2], floor[2];
} targets[] = {
  { 3, { 3.6, 8 }, { 1.4, 5.5 } }, { 5, { 7, 20 }, { 4.1, 17 } }, { 7, { 12, 35 }, { 7.9, 32 } },
  { 9, { 20, 60 }, { 13, 54 } }, { 11, { 29, 88 }, { 20, 79 } }, { 15, { 75, 280 }, { 37, 149 } },
  { 31, { 110, 420 }, { 86, 345 } }, { 101, { 150, 600 }, { 0, 0 } },
};

static void
target_of (const Bench *b, const Row *row, double *goal, double *least)
{
  int which = row->height > 1080;

  *goal = *least = 0;
  for (size_t i = 0; strcmp (b->o.filter, "median") == 0 && i < sizeof targets / sizeof *targets; i++)
    if (targets[i].size == row->size) {
      *goal = targets[i].goal[which];
      *least = targets[i].floor[which];
    }
}

static int
enqueue_ours (void *user, const uint8_t *src, uint8_t *dst, size_t pitch)
{
  Ours *ours = user;
  CfImage in = { .format = CF_FORMAT_GRAY8, .width = ours->width, .height = ours->height }, out = in;

  in.plane[0].data = (uint8_t *) src;
  out.plane[0].data = dst;
  in.plane[0].pitch = out.plane[0].pitch = pitch;
  return cf_plan_enqueue (ours->plan, ours->stream, &in, &out, &ours->status) == CF_OK;
}

static int
enqueue_theirs (void *user, const uint8_t *src, uint8_t *dst, size_t pitch)
{
  Theirs *theirs = user;

  return theirs->peer->run (theirs->opened, src, pitch, dst, pitch) == 0;
}

/* A binary PGM, repeated where the frame is larger; false: it is none. */
static bool
load_pgm (const char *path, uint8_t **pixels, int *width, int *height)
{
  FILE *file = fopen (path, "rb");
  int max = 0;
  bool good = file && fscanf (file, "P5 %d %d %d", width, height, &max) == 3 && max == 255 && *width > 0 && *height > 0 &&
      *width <= CF_MAX_SIZE && *height <= CF_MAX_SIZE && fgetc (file) != EOF;

  *pixels = good ? malloc ((size_t) *width * (size_t) *height) : NULL;
  good = *pixels && fread (*pixels, (size_t) *width, (size_t) *height, file) == (size_t) *height;
  if (file)
    (void) fclose (file);
  return good;
}

static uint8_t *
make_pictures (const Bench *b, int width, int height)
{
  int w = width + 2 * BENCH_MARGIN_X, h = height + 2 * BENCH_MARGIN_Y, pw = 0, ph = 0;
  size_t one = bench_picture_bytes (width, height);
  uint8_t *all = malloc (one * N_PICTURES), *photo = NULL;

  if (b->o.picture && !load_pgm (b->o.picture, &photo, &pw, &ph)) {
    fprintf (stderr, "%s: not a binary PGM of 8 bits\n", b->o.picture);
    free (photo);
    photo = NULL;
  }
  for (int i = 0; all && i < N_PICTURES; i++)
    for (int y = 0; y < h; y++)
      for (int x = 0; x < w; x++)
        all[(size_t) i * one + (size_t) y * (size_t) w + (size_t) x] =
            photo ? photo[(size_t) (y % ph) * (size_t) pw + (size_t) ((x + i * 7) % pw)] : kc_natural (x, y, i, 1);
  free (photo);
  return all;
}

/* The reference on the first frame; whatever is timed must be right. */
static bool
check_frame (Bench *b, BenchFrames *f, const CfVideo *video, const void *params, char *error)
{
  size_t n = (size_t) f->width * (size_t) f->height;
  uint8_t *in = malloc (n), *out = malloc (n), *expected = malloc (n);
  CfImage image = { .format = CF_FORMAT_GRAY8, .width = f->width, .height = f->height }, want = image;
  const CfImage *seen[1] = { &image };
  CfCommon all = { CF_APPLY_ALL };
  bool good = in && out && expected && bench_fetch (f, 0, in, out, error);

  image.plane[0].data = in;
  want.plane[0].data = expected;
  image.plane[0].pitch = want.plane[0].pitch = (size_t) f->width;
  good = good && b->kc->reference (b->filter, video, &all, params, seen, 1, &want) && memcmp (out, expected, n) == 0;
  free (in);
  free (out);
  free (expected);
  return good;
}

static void
time_ours (Bench *b, BenchFrames *f, Row row, const char *set, const char *variant)
{
  CfVideo video = { CF_FORMAT_GRAY8, f->width, f->height, false };
  CfCommon all = { CF_APPLY_ALL };
  Ours ours = { .width = f->width, .height = f->height };
  void *params = malloc (cf_filter_params_size (b->filter));
  char error[KC_TEXT] = "";

  cf_filter_defaults (b->filter, params);
  if (kc_params_set (b->filter, params, set, error) == CF_OK)
    ours.plan = cf_plan_new (b->context, b->filter, &video, &all, params, &ours.status);
  ours.stream = cf_stream_new (f->stream, &ours.status);
  if (ours.plan && ours.stream && (!variant || cf_plan_prefer (ours.plan, variant, NULL) == CF_OK)) {
    snprintf (row.variant, sizeof row.variant, "%s", cf_plan_variant (ours.plan));
    row.ours = bench_filter_us (f, enqueue_ours, &ours, 1, error);
    row.checked = true;
    row.right = row.ours > 0 && check_frame (b, f, &video, params, error);
    if (!row.right) {
      b->failed++;
      fprintf (stderr, "%s with %s (%s): %s %s\n", b->o.filter, set, row.variant,
          row.ours > 0 ? "the result is wrong" : "failed", row.ours > 0 ? error : error[0] ? error : ours.status.message);
    }
    if (b->n_rows < MAX_ROWS)
      b->rows[b->n_rows++] = row;
  } else if (!variant) {
    b->failed++;
    fprintf (stderr, "%s with %s: %s\n", b->o.filter, set, error[0] ? error : ours.status.message);
  }
  cf_stream_free (ours.stream);
  cf_plan_free (ours.plan);
  kc_params_free (b->filter, params);
}

static double
time_theirs (Bench *b, BenchFrames *f, int size)
{
  Theirs theirs = { .peer = b->peer };
  char error[256] = "";
  double us = 0;

  if (!b->peer || size > b->peer->max_size)
    return 0;
  theirs.opened = b->peer->open (b->o.filter, size, f->width, f->height, f->stream);
  if (!theirs.opened)
    return 0;
  us = bench_filter_us (f, enqueue_theirs, &theirs, 0, error);
  if (us <= 0)
    fprintf (stderr, "%s at size %d: %s\n", b->peer->name, size, error);
  b->peer->close (theirs.opened);
  return us;
}

static void
print_row (const Bench *b, const Row *row)
{
  double goal, least;

  target_of (b, row, &goal, &least);
  printf ("%5d  %-6s %-28s %9.2f %7.2f %11.1f %8.1f %7.1f %7.1f  %s\n", row->size, row->resolution, row->variant, row->ours,
      row->copy, row->peer, row->ours > 0 ? row->peer / row->ours : 0, goal, least, row->right ? "" : "WRONG");
  fflush (stdout);
}

static void
bench_size (Bench *b, BenchFrames *f, Row row)
{
  char set[KC_TEXT], names[32][64];
  int first = b->n_rows, n = 0;
  CfVideo video = { CF_FORMAT_GRAY8, f->width, f->height, false };
  CfCommon all = { CF_APPLY_ALL };
  void *params = malloc (cf_filter_params_size (b->filter));

  snprintf (set, sizeof set, "%s=%d %s", b->kc->bench, row.size, b->o.set);
  time_ours (b, f, row, set, NULL);
  if (params && b->o.all_variants) {
    CfPlan *plan;

    cf_filter_defaults (b->filter, params);
    plan = cf_plan_new (b->context, b->filter, &video, &all, params, NULL);
    for (; plan && n < 32 && cf_plan_variant_name (plan, (unsigned) n); n++)
      snprintf (names[n], sizeof names[n], "%s", cf_plan_variant_name (plan, (unsigned) n));
    cf_plan_free (plan);
    for (int i = 0; i < n; i++)
      if (b->n_rows == first || strcmp (names[i], b->rows[first].variant) != 0)
        time_ours (b, f, row, set, names[i]);
  }
  kc_params_free (b->filter, params);
  if (b->n_rows > first)
    b->rows[first].peer = time_theirs (b, f, row.size);
  for (int i = first; i < b->n_rows; i++)
    print_row (b, &b->rows[i]);
}

static bool
bench_resolution (Bench *b, const char *name)
{
  Row row = { .resolution = name };
  BenchFrames f;
  char error[256] = "";
  uint8_t *pictures;
  bool good;

  row.width = strcmp (name, "4k") == 0 ? 3840 : 1920;
  row.height = strcmp (name, "4k") == 0 ? 2160 : 1080;
  pictures = make_pictures (b, row.width, row.height);
  good = pictures && bench_frames_new (&f, row.width, row.height, pictures, N_PICTURES, b->gpu.l2_bytes, error);
  free (pictures);
  if (!good) {
    fprintf (stderr, "%s frames: %s\n", name, error);
    return false;
  }
  row.copy = bench_copy_us (&f, error);
  for (const char *at = b->o.sizes; *at; at += strcspn (at, ","), at += *at == ',') {
    row.size = atoi (at);
    bench_size (b, &f, row);
  }
  bench_frames_free (&f);
  return true;
}

static void
driver_version (char *text, size_t size)
{
  FILE *file = fopen ("/proc/driver/nvidia/version", "r");
  char line[256] = "", *at = NULL;

  if (file && fgets (line, sizeof line, file))
    for (char *word = strtok (line, " \t"); word && !at; word = strtok (NULL, " \t"))
      if (word[0] >= '0' && word[0] <= '9')
        at = word;
  snprintf (text, size, "%s", at ? at : "unknown");
  if (file)
    (void) fclose (file);
}

static void
write_number (FILE *file, double value, const char *format)
{
  if (value > 0)
    fprintf (file, format, value);
  else
    fputs (" -", file);
  fputs (" |", file);
}

/* What people wrote below the tables, from the line "## Notes" on: it stays.
 * To be freed; NULL if there is none. */
static char *
read_notes (const char *path)
{
  FILE *file = fopen (path, "r");
  char *text = file ? calloc (1, 1 << 16) : NULL, *notes = NULL;

  if (text && fread (text, 1, (1 << 16) - 1, file) > 0) {
    const char *at = strstr (text, "\n## Notes\n");

    notes = at ? strdup (at) : NULL;
  }
  free (text);
  if (file)
    (void) fclose (file);
  return notes;
}

static bool
write_markdown (const Bench *b)
{
  char *notes = read_notes (b->o.markdown);
  FILE *file = fopen (b->o.markdown, "w");
  char driver[64], date[32] = "";
  time_t now = time (NULL);

  if (!file) {
    free (notes);
    return false;
  }
  driver_version (driver, sizeof driver);
  (void) strftime (date, sizeof date, "%Y-%m-%d", gmtime (&now));
  fprintf (file, "# Benchmarks\n\nWritten by the benchmark: `%s`\n\n"
      "%s (%d SMs, %llu MB of L2), driver %s, CUDA %d.%d, %s.\n\n"
      "Microseconds a frame, one plane of 8 bits, one launch a frame inside a CUDA graph over more frames than the L2\n"
      "holds, the median of %d repetitions; one frame of each row was compared with the reference. copy: the same with a\n"
      "kernel that only copies. %s: the same frames, borders not handled. floor: minimum and maximum instructions of\n"
      "the best network known, at this GPU's rate for them.\n\n", b->o.command, b->gpu.name, b->gpu.sms,
      (unsigned long long) (b->gpu.l2_bytes >> 20), driver, cf_gpu_runtime_version () / 1000,
      cf_gpu_runtime_version () % 1000 / 10, date, BENCH_REPETITIONS, b->peer ? b->peer->name : "peer");
  fprintf (file, "## %s\n\n| size | picture | ours | variant | copy | %s | %s / ours | goal | floor |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n", b->o.filter, b->peer ? b->peer->name : "peer",
      b->peer ? b->peer->name : "peer");
  for (int i = 0; i < b->n_rows; i++) {
    const Row *row = &b->rows[i];
    double goal, least;

    target_of (b, row, &goal, &least);
    fprintf (file, "| %d | %s | ", row->size, row->resolution);
    if (row->right)
      fprintf (file, "%.2f | %s |", row->ours, row->variant);
    else
      fprintf (file, "WRONG | %s |", row->variant);
    write_number (file, row->copy, " %.2f");
    write_number (file, row->peer, " %.1f");
    write_number (file, row->ours > 0 ? row->peer / row->ours : 0, " %.1f");
    write_number (file, goal, " %.3g");
    write_number (file, least, " %.3g");
    fprintf (file, "\n");
  }
  if (notes)
    fputs (notes, file);
  free (notes);
  return fclose (file) == 0;
}

static bool
write_json (const Bench *b)
{
  FILE *file = fopen (b->o.json, "w");

  if (!file)
    return false;
  fprintf (file, "{\"gpu\": \"%s\", \"filter\": \"%s\", \"rows\": [", b->gpu.name, b->o.filter);
  for (int i = 0; i < b->n_rows; i++) {
    const Row *row = &b->rows[i];

    fprintf (file, "%s\n  {\"size\": %d, \"width\": %d, \"height\": %d, \"variant\": \"%s\", \"us\": %.3f, \"copy_us\": %.3f, "
        "\"peer_us\": %.3f, \"right\": %s}", i ? "," : "", row->size, row->width, row->height, row->variant, row->ours,
        row->copy, row->peer, row->right ? "true" : "false");
  }
  fprintf (file, "\n]}\n");
  return fclose (file) == 0;
}

static bool
parse (Bench *b, int argc, char **argv)
{
  struct { const char *name, **value; } options[] = {
    { "--filter", &b->o.filter }, { "--sizes", &b->o.sizes }, { "--set", &b->o.set }, { "--peer", &b->o.peer },
    { "--resolution", &b->o.resolution }, { "--picture", &b->o.picture }, { "--json", &b->o.json },
    { "--markdown", &b->o.markdown },
  };

  b->o = (Options) { .filter = "median", .sizes = "3,5,7,9,11,15,31,101", .set = "", .resolution = "1080p,4k" };
  snprintf (b->o.command, sizeof b->o.command, "kernelcheck");
  for (int i = 1; i < argc; i++) {
    size_t used = strlen (b->o.command), o = 0;

    snprintf (b->o.command + used, sizeof b->o.command - used, " %s", argv[i]);
    if (strcmp (argv[i], "--bench") == 0)
      continue;
    if (strcmp (argv[i], "--all-variants") == 0) {
      b->o.all_variants = true;
      continue;
    }
    while (o < sizeof options / sizeof *options && strcmp (options[o].name, argv[i]) != 0)
      o++;
    if (o == sizeof options / sizeof *options || i + 1 == argc) {
      fprintf (stderr, "%s: no option of the benchmark, or without its value\n", argv[i]);
      return false;
    }
    *options[o].value = argv[++i];
    used = strlen (b->o.command);
    snprintf (b->o.command + used, sizeof b->o.command - used, " %s", argv[i]);
  }
  for (const KcFilter *const *kc = kc_filters; *kc; kc++)
    if (strcmp ((*kc)->stem, b->o.filter) == 0)
      b->kc = *kc;
  b->filter = cf_filter_find (b->o.filter);
  if (!b->kc || !b->filter)
    fprintf (stderr, "%s: no filter\n", b->o.filter);
  return b->kc && b->filter;
}

static void
open_peer (Bench *b)
{
  void *library = b->o.peer ? dlopen (b->o.peer, RTLD_NOW | RTLD_LOCAL) : NULL;
  BenchPeerEntry entry = NULL;

  if (library)
    *(void **) &entry = dlsym (library, BENCH_PEER_ENTRY);
  if (entry)
    b->peer = entry ();
  else if (b->o.peer)
    printf ("no peer: %s\n", dlerror ());
}

int
kc_bench_main (int argc, char **argv)
{
  static Bench b;
  CfStatus status = { 0 };

  if (!parse (&b, argc, argv))
    return 2;
  if (cf_gpu_count (&status) == 0 || !(b.context = cf_context_new (CF_BACKEND_CUDA, &status)) ||
      cf_gpu_info (0, &b.gpu, &status) != CF_OK) {
    printf ("no GPU: %s\n0 passed, 0 failed, 1 skipped\n", status.message);
    return 77;
  }
  open_peer (&b);
  printf ("%s, %s, us a frame of one 8-bit plane\n", b.gpu.name, b.o.filter);
  printf (" size  frame  %-28s %9s %7s %11s %8s %7s %7s\n", "variant", "ours", "copy", b.peer ? b.peer->name : "peer",
      "ratio", "goal", "floor");
  if (strstr (b.o.resolution, "1080p") && !bench_resolution (&b, "1080p"))
    b.failed++;
  if (strstr (b.o.resolution, "4k") && !bench_resolution (&b, "4k"))
    b.failed++;
  if ((b.o.markdown && !write_markdown (&b)) || (b.o.json && !write_json (&b))) {
    fprintf (stderr, "a results file cannot be written\n");
    b.failed++;
  }
  printf ("%d passed, %d failed, 0 skipped\n", b.n_rows - b.failed > 0 ? b.n_rows - b.failed : 0, b.failed);
  cf_context_free (b.context);
  return b.failed || b.n_rows == 0 ? 1 : 0;
}
