/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench.c: the benchmark's options, what it measures, and the rows as JSON: each on a line when it has been measured,
 * and all of them in a file, with the machine. docs/performance/kernels.py makes tables of that. */
#include "bench.h"
#include "check/kernelcheck.h"

#include <dlfcn.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_IMAGES 4
#define BENCH_MAX_ROWS 512

typedef struct {
  const KcBench *kind;
  const char *format, *resolution;
  int size, streams, width, height;
  char variant[48];
  double ours, singly, copy, baseline; /* microseconds per frame; 0 = not measured. singly: ours without a graph */
  bool checked, right;
} BenchRow;

typedef struct {
  char *filter, *sizes, *set, *format, *kinds, *resolution, *streams, *picture, *baseline, *json, *command, *tiles,
      *blocks;
  gboolean all_variants;
  int area;
} BenchOptions;

typedef struct {
  BenchOptions o;
  const KcFilter *kc;
  const CfFilter *filter;
  CfContext *context;
  const BenchBaseline *baseline;
  CfGpuInfo gpu;
  BenchRow rows[BENCH_MAX_ROWS];
  int n_rows, failed;
} Bench;

typedef struct {
  CfPlan *plan[BENCH_MAX_STREAMS];
  CfStream *stream[BENCH_MAX_STREAMS];
  CfVideo video;
  CfStatus status;
  CfArea *area; /* --area */
  void *scratch[BENCH_MAX_STREAMS];
} Ours;

typedef struct {
  const BenchBaseline *library;
  void *filter;
} Baseline;

/* ---- results ------------------------------------------------------------ */

static JsonNode *
row_as_json (const BenchRow *row)
{
  JsonObject *out = json_object_new ();
  JsonNode *node = json_node_alloc ();

  json_object_set_string_member (out, "kind", row->kind->name);
  json_object_set_string_member (out, "format", row->format);
  json_object_set_string_member (out, "frame", row->resolution);
  json_object_set_int_member (out, "size", row->size);
  json_object_set_int_member (out, "streams", row->streams);
  json_object_set_int_member (out, "width", row->width);
  json_object_set_int_member (out, "height", row->height);
  json_object_set_string_member (out, "variant", row->variant);
  json_object_set_double_member (out, "us", row->ours);
  json_object_set_double_member (out, "singly_us", row->singly);
  json_object_set_double_member (out, "copy_us", row->copy);
  json_object_set_double_member (out, "baseline_us", row->baseline);
  json_object_set_boolean_member (out, "right", row->right);
  json_node_take_object (json_node_init_object (node, NULL), out);
  return node;
}

static void
print_row (const BenchRow *row)
{
  g_autoptr (JsonNode) node = row_as_json (row);
  g_autofree char *text = json_to_string (node, FALSE);

  puts (text);
  fflush (stdout);
}

/* Returns the driver's version, the first word of its file that begins with a digit; the caller frees it. */
static char *
driver_version (void)
{
  g_autofree char *text = NULL;
  g_auto (GStrv) words = NULL;

  if (g_file_get_contents ("/proc/driver/nvidia/version", &text, NULL, NULL))
    words = g_strsplit_set (text, " \t\n", -1);
  for (char **word = words; word && *word; word++)
    if (g_ascii_isdigit (**word))
      return g_strdup (*word);
  return g_strdup ("unknown");
}

static bool
write_json (const Bench *b)
{
  g_autofree char *driver = driver_version ();
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *date = g_date_time_format (now, "%Y-%m-%d");
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autoptr (JsonNode) root = json_node_alloc ();
  JsonObject *out = json_object_new ();
  JsonArray *rows = json_array_new ();

  json_object_set_string_member (out, "command", b->o.command);
  json_object_set_string_member (out, "date", date);
  json_object_set_string_member (out, "gpu", b->gpu.name);
  json_object_set_int_member (out, "sms", b->gpu.sms);
  json_object_set_int_member (out, "l2_bytes", (gint64) b->gpu.l2_bytes);
  json_object_set_string_member (out, "driver", driver);
  json_object_set_int_member (out, "cuda", cf_gpu_state ().runtime);
  json_object_set_int_member (out, "repetitions", BENCH_REPETITIONS);
  json_object_set_string_member (out, "filter", b->o.filter);
  json_object_set_string_member (out, "baseline", b->baseline ? b->baseline->name : "baseline");
  for (int i = 0; i < b->n_rows; i++)
    json_array_add_element (rows, row_as_json (&b->rows[i]));
  json_object_set_array_member (out, "rows", rows);
  json_node_take_object (json_node_init_object (root, NULL), out);
  json_generator_set_pretty (generator, TRUE);
  json_generator_set_root (generator, root);
  return json_generator_to_file (generator, b->o.json, NULL);
}

/* ---- filters on frames --------------------------------------------------- */

/* Returns the image in `data`: the chroma of NV12 lies below the luma. */
static CfImage
image_in (const CfVideo *video, const uint8_t *data, size_t pitch)
{
  CfImage image = { .format = video->format, .width = video->width, .height = video->height };

  for (int i = 0; i < cf_format_info (video->format)->n_planes; i++) {
    image.plane[i].data = (uint8_t *) data + (size_t) (i * video->height) * pitch;
    image.plane[i].pitch = pitch;
  }
  return image;
}

static int
enqueue_ours (void *user, int stream, const uint8_t *src, uint8_t *dst, size_t pitch)
{
  Ours *ours = user;
  const CfImage in = image_in (&ours->video, src, pitch), out = image_in (&ours->video, dst, pitch);
  const CfImage scratch = image_in (&ours->video, ours->scratch[stream], pitch);

  return cf_plan_enqueue (ours->plan[stream], ours->stream[stream],
             &(CfFrame) { &in, &out, ours->area, &scratch, .copies = ours->area }, &ours->status) == CF_OK;
}

static int
enqueue_baseline (void *user, int stream, const uint8_t *src, uint8_t *dst, size_t pitch)
{
  Baseline *baseline = user;

  (void) stream;
  return baseline->library->run (baseline->filter, src, pitch, dst, pitch) == 0;
}

typedef struct {
  const BenchTile *kernel;
  const BenchFrames *frames;
} Tile;

/* Loads a binary PGM of 8 bits; false: the file is not one. */
static bool
load_pgm (const char *path, uint8_t **pixels, int *width, int *height)
{
  FILE *file = fopen (path, "rb");
  int max = 0;
  bool good = file && fscanf (file, "P5 %d %d %d", width, height, &max) == 3 && max == 255 && *width > 0 &&
      *height > 0 && *width <= CF_MAX_SIZE && *height <= CF_MAX_SIZE && fgetc (file) != EOF;

  *pixels = good ? g_new (uint8_t, *width **height) : NULL;
  good = good && fread (*pixels, (size_t) *width, (size_t) *height, file) == (size_t) *height;
  if (file)
    (void) fclose (file);
  return good;
}

static int
enqueue_tile (void *user, int stream, const uint8_t *src, uint8_t *dst, size_t pitch)
{
  Tile *tile = user;

  return bench_tile_enqueue (tile->kernel, tile->frames, stream, src, dst, pitch);
}

/* ---- contents ----------------------------------------------------------- */

static uint8_t
noise (int x, int y, int frame, uint64_t seed)
{
  uint64_t state = seed ^ ((uint64_t) (unsigned) frame << 48) ^ ((uint64_t) (unsigned) y << 24) ^ (unsigned) x;

  return (uint8_t) kc_random (&state);
}

static uint8_t
even (int x, int y, int frame, uint64_t seed)
{
  (void) x, (void) y, (void) frame;
  return (uint8_t) (98 + seed);
}

static uint8_t
rows (int x, int y, int frame, uint64_t seed)
{
  (void) x, (void) seed;
  return (y + frame) % 2 ? 255 : 0;
}

static uint8_t
ramp (int x, int y, int frame, uint64_t seed)
{
  return (uint8_t) ((x + y + 2 * frame) / 16 + (int) seed);
}

/* Returns a number that rises from 0 to `height` and falls again, in `length` steps each. */
static int
hill (int x, int length, int height)
{
  return abs ((x + 2 * length) % (2 * length) - length) * height / length;
}

/* A camera's frame: soft light, a few large objects with soft edges, little noise. */
static uint8_t
camera (int x, int y, int frame, uint64_t seed)
{
  const int light = 40 + hill (x, 700, 70) + hill (y + x / 3, 450, 50);
  const int object = CLAMP (hill (x + 2 * frame, 260, 520) - 180, 0, 40) - CLAMP (hill (y, 310, 620) - 400, 0, 60);

  return (uint8_t) (light + CLAMP (object, -40, 40) + noise (x, y, frame, seed) % 7);
}

/* What the camera of a street sees: walls in soft light, some with windows, some with leaves, people that walk, little
 * noise. At 1080p it leaves about as many regions and pairs after growth as a frame of OpenCV's vtest.avi does. */
static uint8_t
street (int x, int y, int frame, uint64_t seed)
{
  const int light = 20 + hill (x, 700, 40) + hill (y + x / 3, 450, 30);
  const int wall = noise (x / 240, y / 150, 0, seed) % 90, kind = noise (x / 240, y / 150, 1, 0) % 16;
  const bool window = kind < 3 && x % 24 > 4 && y % 36 > 8, person = (x + 4 * frame) % 480 < 30 && y % 300 > 220;
  int thing = window ? noise (x / 24, y / 36, 2, 0) % 60 : kind >= 12 ? noise (x / 3, y / 3, 3, 0) % 60 : 0;

  thing = person ? 30 - wall : thing;
  return (uint8_t) (light + wall + thing + noise (x, y, frame, seed) % 7);
}

static const struct {
  const char *name;
  uint8_t (*sample) (int x, int y, int frame, uint64_t seed);
} contents[] = { { "noise", noise }, { "even", even }, { "rows", rows }, { "ramp", ramp }, { "camera", camera },
  { "street", street } };

/* Are the format's samples stored as words of 16 bits? */
static bool
has_words (const CfFormatInfo *info)
{
  return info->bytes == 2 && !info->unpacked;
}

/* Makes N_IMAGES images with margins. Words of 16 bits have a sample in their upper byte and noise in the lower one. */
static uint8_t *
make_images (const Bench *b, const char *content, int width, int height, int pixel, bool words)
{
  uint8_t (*sample) (int x, int y, int frame, uint64_t seed) = kc_natural;
  int w = (width + 2 * BENCH_MARGIN_X) * pixel, h = height + 2 * BENCH_MARGIN_Y, pw = 0, ph = 0;
  size_t one = bench_image_bytes (width, height, pixel);
  g_autofree uint8_t *photo = NULL;
  uint8_t *all = g_malloc (one * N_IMAGES);

  for (size_t i = 0; content && i < G_N_ELEMENTS (contents); i++)
    if (g_str_equal (content, contents[i].name))
      sample = contents[i].sample;
  if (b->o.picture && !load_pgm (b->o.picture, &photo, &pw, &ph)) {
    fprintf (stderr, "%s: not a binary PGM of 8 bits\n", b->o.picture);
    g_clear_pointer (&photo, g_free);
  }
  for (int i = 0; i < N_IMAGES; i++)
    for (int y = 0; y < h; y++)
      for (int x = 0; x < w; x++)
        all[(size_t) i * one + (size_t) y * (size_t) w + (size_t) x] = photo
            ? photo[(size_t) (y % ph) * (size_t) pw + (size_t) ((x / pixel + i * 7 + x % pixel) % pw)]
            : words && x % 2 == 0 ? noise (x, y, i, 3)
                                  : sample (x / pixel, y, i, 1 + (uint64_t) (x % pixel / (1 + words)));
  return all;
}

/* Filters the area of the frame image[0] on the CPU, after the areas of the `before` frames that came before it. */
static bool
filter_area (Bench *b, const CfVideo *video, const void *params, const CfArea *area, const CfImage *image, int before,
    const CfImage *out)
{
  CfContext *cpu = cf_context_new (CF_BACKEND_CPU, NULL);
  CfPlan *plan = cpu ? cf_plan_new (cpu, b->filter, video, &(CfCommon) { 0 }, params, NULL) : NULL;
  g_autofree void *memory = g_malloc (out->plane[0].pitch * (size_t) video->height * 3 / 2);
  const CfImage scratch = image_in (video, memory, out->plane[0].pitch);
  bool good = plan != NULL;

  for (int k = before; good && k >= 0; k--)
    good = cf_plan_enqueue (plan, NULL, &(CfFrame) { &image[k], out, area, &scratch, .copies = true }, NULL) == CF_OK;
  cf_plan_free (plan);
  cf_context_free (cpu);
  return good;
}

/* Compares frame `i` with the reference, which gets the `before` frames before it as well. Compares an area with the
 * CPU. */
static bool
check_frame (Bench *b, BenchFrames *f, int i, int before, const CfVideo *video, const void *params, const CfArea *area,
    char *error)
{
  size_t row = (size_t) (f->width * f->pixel), n = row * (size_t) f->height;
  g_autofree uint8_t *in = g_malloc (2 * n), *out = g_malloc (n), *expected = g_malloc (n);
  const CfImage want = image_in (video, expected, row);
  CfImage image[2];
  const CfImage *seen[2] = { &image[0], &image[1] };
  CfCommon all = { 0 };
  bool good = true;

  /* Frame i comes last: its result stays in `out`. */
  for (int k = before; good && k >= 0; k--) {
    image[k] = image_in (video, in + (size_t) k * n, row);
    good = bench_fetch (f, i - k, in + (size_t) k * n, out, error);
  }
  good = good &&
      (area ? filter_area (b, video, params, area, image, before, &want)
            : b->kc->reference (b->filter, video, &all, params, seen, 1 + before, &want));
  return good && memcmp (out, expected, n) == 0;
}

/* Filters two frames again after a reset: the result of a stateful filter depends on all frames before, which are too
 * many for the reference. */
static bool
enqueue_two (BenchFrames *f, Ours *ours)
{
  bool good = true;

  cf_plan_reset (ours->plan[0]);
  for (size_t at = f->offset, i = 0; good && i < 2; at += f->frame, i++)
    good = enqueue_ours (ours, 0, f->in + at, f->out + at, f->pitch);
  return good;
}

/* Makes a plan and a stream for each of the row's frames at once. On failure status says why; it is empty where the
 * variant returned CF_UNSUPPORTED. */
static bool
ours_new (Bench *b, BenchFrames *f, Ours *ours, const BenchRow *row, const void *params, const char *variant)
{
  const KcBench *kind = row->kind;
  CfCommon all = { 0 };

  if (b->o.area > 0) {
    const CfTraits traits = cf_filter_traits (b->filter, &ours->video, &all, params);
    const int width = (int) (row->width * sqrt (b->o.area / 100.0)), height = width * row->height / row->width;
    const CfRect box = { (row->width - width) / 2, (row->height - height) / 2, width, height };

    ours->area = cf_area_new (&ours->video, &traits, &(CfAreaSpec) { .rect = &box, .n_rects = 1 }, &ours->status);
    if (!ours->area)
      return false;
  }
  for (int i = 0; i < row->streams; i++) {
    if (ours->area && !(ours->scratch[i] = cf_gpu_alloc (CF_DEVICE, f->frame, &ours->status)))
      return false;
    ours->plan[i] = cf_plan_new (b->context, b->filter, &ours->video, &all, params, &ours->status);
    ours->stream[i] = cf_stream_new (f->stream[i], &ours->status);
    if (!ours->plan[i] || !ours->stream[i] || (variant && cf_plan_prefer (ours->plan[i], variant, NULL) != CF_OK) ||
        (kind->override && cf_plan_override (ours->plan[i], kind->override, kind->value, &ours->status) != CF_OK))
      return false;
  }
  return true;
}

static void
ours_free (Ours *ours)
{
  for (int i = 0; i < BENCH_MAX_STREAMS; i++) {
    cf_stream_free (ours->stream[i]);
    cf_plan_free (ours->plan[i]);
    cf_gpu_free (CF_DEVICE, ours->scratch[i]);
  }
  cf_area_unref (ours->area);
}

static void
time_ours (Bench *b, BenchFrames *f, BenchRow row, const char *set, const char *variant)
{
  Ours ours = { .video = { cf_format_from_name (row.format), row.width, row.height, false } };
  const CfCommon all = { 0 };
  void *params = kc_params_new (b->filter, set, &ours.status);
  char error[256] = "";

  f->n_streams = row.streams;
  if (params && ours_new (b, f, &ours, &row, params, variant)) {
    const CfTraits traits = cf_filter_traits (b->filter, NULL, &all, params);

    snprintf (row.variant, sizeof row.variant, "%s", cf_plan_variant (ours.plan[0]));
    row.ours = bench_filter_us (f, enqueue_ours, &ours, 1, error);
    row.singly = row.ours > 0 ? bench_filter_us (f, enqueue_ours, &ours, 0, error) : 0;
    row.checked = true;
    if (traits.stateful || traits.history > 0)
      row.right = row.ours > 0 && enqueue_two (f, &ours) &&
          check_frame (b, f, 1, 1, &ours.video, params, ours.area, error);
    else /* checks the frame of the last stream */
      row.right = row.ours > 0 && check_frame (b, f, row.streams - 1, 0, &ours.video, params, ours.area, error);
    if (!row.right) {
      b->failed++;
      fprintf (stderr, "%s with %s, %s (%s): %s %s\n", b->o.filter, set, row.format, row.variant,
          row.ours > 0 ? "the result is wrong" : "failed", row.ours > 0 || error[0] ? error : ours.status.message);
    }
    if (b->n_rows < BENCH_MAX_ROWS)
      b->rows[b->n_rows++] = row;
  } else if (!variant) {
    b->failed++;
    fprintf (stderr, "%s with %s: %s\n", b->o.filter, set, ours.status.message);
  }
  f->n_streams = 1;
  ours_free (&ours);
  cf_params_free (b->filter, params);
}

static double
time_baseline (Bench *b, BenchFrames *f, const BenchRow *row)
{
  Baseline baseline = { .library = b->baseline };
  char error[256] = "";
  double us = 0;

  if (!b->baseline || !row->kind->baseline || f->height != row->height ||
      cf_format_info (cf_format_from_name (row->format))->bytes != 1)
    return 0;
  baseline.filter = b->baseline->open (row->kind->baseline, row->size, f->pixel, f->width, f->height, f->stream[0]);
  if (!baseline.filter)
    return 0;
  us = bench_filter_us (f, enqueue_baseline, &baseline, 0, error);
  if (us <= 0)
    fprintf (stderr, "%s: %s %d: %s\n", b->baseline->name, row->kind->baseline, row->size, error);
  b->baseline->close (baseline.filter);
  return us;
}

/* Measures the row with the variant that the plan chooses and, on request, with the others. */
static void
bench_size (Bench *b, BenchFrames *f, BenchRow row)
{
  g_autofree char *numbers = g_strdup_printf (row.kind->set, row.size, row.size);
  g_autofree char *set = g_strdup_printf ("%s %s", numbers, b->o.set);
  CfVideo video = { cf_format_from_name (row.format), row.width, row.height, false };
  CfCommon all = { 0 };
  void *params = b->o.all_variants ? kc_params_new (b->filter, set, NULL) : NULL;
  CfPlan *plan = params ? cf_plan_new (b->context, b->filter, &video, &all, params, NULL) : NULL;
  const int first = b->n_rows;
  const char *name;

  time_ours (b, f, row, set, NULL);
  for (unsigned i = 0; plan && (name = cf_plan_variant_name (plan, i)); i++)
    if (b->n_rows == first || !g_str_equal (name, b->rows[first].variant))
      time_ours (b, f, row, set, name);
  cf_plan_free (plan);
  cf_params_free (b->filter, params);
  if (b->n_rows > first)
    b->rows[first].baseline = time_baseline (b, f, &row);
  for (int i = first; i < b->n_rows; i++)
    print_row (&b->rows[i]);
}

/* Measures one row for each number of frames at once. */
static void
bench_streams (Bench *b, BenchFrames *f, BenchRow row)
{
  const char *streams = b->o.streams ? b->o.streams : row.kind->streams ? row.kind->streams : "1";
  g_auto (GStrv) items = g_strsplit (streams, ",", -1);

  for (char **item = items; *item; item++) {
    row.streams = atoi (*item);
    if (row.streams >= 1 && row.streams <= BENCH_MAX_STREAMS)
      bench_size (b, f, row);
  }
}

/* Returns whether a kind has rows: --kinds may leave it out, and so may --sizes one that is about a content. */
static bool
is_wanted (const Bench *b, const KcBench *kind)
{
  g_auto (GStrv) kinds = b->o.kinds ? g_strsplit (b->o.kinds, ",", -1) : NULL;

  return kinds ? g_strv_contains ((const char *const *) kinds, kind->name) : !kind->content || !b->o.sizes;
}

/* Measures all sizes of a kind. */
static void
bench_kind (Bench *b, BenchFrames *f, BenchRow row)
{
  const bool words = row.kind->word_sizes && has_words (cf_format_info (cf_format_from_name (row.format)));
  const char *usual = words ? row.kind->word_sizes : row.kind->sizes;
  g_auto (GStrv) sizes = g_strsplit (b->o.sizes ? b->o.sizes : usual, ",", -1);

  for (char **size = sizes; *size; size++) {
    row.size = atoi (*size);
    bench_streams (b, f, row);
  }
}

/* Returns whether a comma-separated list, or NULL, which stands for all, has this item. */
static bool
is_listed (const char *list, const char *item)
{
  g_auto (GStrv) items = list ? g_strsplit (list, ",", -1) : NULL;

  return !items || g_strv_contains ((const char *const *) items, item);
}

/* Measures one kernel of bench_tiles.cu. */
static void
time_tile (Bench *b, BenchFrames *f, BenchRow row, BenchTile *kernel)
{
  g_autofree char *set = g_strdup_printf ("kernel-size=%d", kernel->size);
  const CfVideo video = { CF_FORMAT_GRAY8, f->width, f->height, false };
  Tile tile = { kernel, f };
  void *params = kc_params_new (b->filter, set, NULL);
  char error[256] = "";

  row.size = kernel->size;
  row.streams = 1;
  row.ours = params && bench_tile_measure (kernel) ? bench_filter_us (f, enqueue_tile, &tile, 1, error) : 0;
  row.singly = row.ours > 0 ? bench_filter_us (f, enqueue_tile, &tile, 0, error) : 0;
  row.checked = true;
  row.right = row.ours > 0 && check_frame (b, f, 0, 0, &video, params, NULL, error);
  snprintf (row.variant, sizeof row.variant, "%d x %d, %d warps (%d registers, %d/SM)", kernel->w, kernel->h,
      kernel->rows, kernel->registers, kernel->blocks);
  if (!row.right) {
    b->failed++;
    fprintf (stderr, "%s: %s\n", row.variant, error[0] ? error : "the result is wrong");
  }
  if (b->n_rows < BENCH_MAX_ROWS)
    b->rows[b->n_rows++] = row;
  print_row (&row);
  cf_params_free (b->filter, params);
}

/* Measures the kernels of bench_tiles.cu that --tiles, --blocks and --sizes name. */
static void
bench_tiles (Bench *b, BenchFrames *f, BenchRow row)
{
  static const KcBench kind = { "tile", "", "" };
  BenchTile *kernel;

  row.kind = &kind;
  for (int i = 0; (kernel = bench_tile (i)); i++) {
    g_autofree char *tile = g_strdup_printf ("%dx%d", kernel->w, kernel->h);
    g_autofree char *rows = g_strdup_printf ("%d", kernel->rows), *size = g_strdup_printf ("%d", kernel->size);

    if (is_listed (b->o.tiles, tile) && is_listed (b->o.blocks, rows) && is_listed (b->o.sizes, size))
      time_tile (b, f, row, kernel);
  }
}

static bool
read_resolution (const char *text, int *width, int *height)
{
  static const struct {
    const char *name;
    int width, height;
  } known[] = {
    { "480p", 854, 480 },
    { "1080p", 1920, 1080 },
    { "4k", 3840, 2160 },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (known); i++)
    if (g_str_equal (text, known[i].name)) {
      *width = known[i].width;
      *height = known[i].height;
      return true;
    }
  return sscanf (text, "%dx%d", width, height) == 2 && *width >= 1 && *height >= 1 && *width <= CF_MAX_SIZE &&
      *height <= CF_MAX_SIZE;
}

/* Fills f with frames for a row of the table, and measures how long it takes to copy one. The rows of NV12's and P010's
 * chroma are rows of the frame. */
static bool
make_frames (const Bench *b, BenchFrames *f, BenchRow *row, const char *content, int pixel)
{
  char error[256] = "";
  const CfFormatInfo *info = cf_format_info (cf_format_from_name (row->format));
  const int height = row->height * (info->n_planes == 2 ? 3 : 2) / 2;
  g_autofree uint8_t *images = make_images (b, content, row->width, height, pixel, has_words (info));

  if (!bench_frames_new (f, row->width, height, pixel, images, N_IMAGES, b->gpu.l2_bytes, error)) {
    fprintf (stderr, "%s frames of %s: %s\n", row->resolution, row->format, error);
    return false;
  }
  row->copy = bench_copy_us (f, error);
  return true;
}

/* Measures all sizes and kinds on frames of one format and resolution. */
static bool
bench_frames (Bench *b, const char *format, const char *resolution)
{
  const CfFormatInfo *info = cf_format_info (cf_format_from_name (format));
  BenchRow row = { .format = info ? info->name : format, .resolution = resolution };
  const char *content = NULL; /* of the frames */
  BenchFrames f;
  int pixel;

  if (!info || (info->n_planes != 1 && info->format != CF_FORMAT_NV12 && info->format != CF_FORMAT_P010_10LE) ||
      cf_plane_row_bytes (info->format, 2, 0) % 2) {
    fprintf (stderr, "%s: the benchmark needs one plane, such as GRAY8, GRAY16_LE, RGBA, Y410, or NV12 or P010_10LE\n",
        format);
    return false;
  }
  if (!read_resolution (resolution, &row.width, &row.height)) {
    fprintf (stderr, "%s: not a resolution; examples: 1080p, 4k, 800x600\n", resolution);
    return false;
  }
  pixel = (int) cf_plane_row_bytes (info->format, 2, 0) / 2;
  if (!make_frames (b, &f, &row, content, pixel))
    return false;
  if ((b->o.tiles || b->o.blocks) && info->format == CF_FORMAT_GRAY8)
    bench_tiles (b, &f, row);
  for (row.kind = b->kc->bench; !b->o.tiles && !b->o.blocks && row.kind->set; row.kind++) {
    if (!is_wanted (b, row.kind))
      continue;
    if (g_strcmp0 (row.kind->content, content) != 0) {
      content = row.kind->content;
      bench_frames_free (&f);
      if (!make_frames (b, &f, &row, content, pixel))
        return false;
    }
    bench_kind (b, &f, row);
  }
  bench_frames_free (&f);
  return true;
}

static void
bench_all (Bench *b)
{
  const char *usual = b->kc->bench_resolutions ? b->kc->bench_resolutions : "1080p,4k";
  g_auto (GStrv) formats = g_strsplit (b->o.format ? b->o.format : b->kc->bench_formats, ",", -1);
  char **resolutions = g_strsplit (b->o.resolution ? b->o.resolution : usual, ",", -1); /* the rows point into it */

  for (char **format = formats; *format; format++)
    for (char **resolution = resolutions; *resolution; resolution++)
      if (!bench_frames (b, *format, *resolution))
        b->failed++;
}

static bool
parse (Bench *b, int argc, char **argv)
{
  const GOptionEntry options[] = {
    { "bench", 0, 0, G_OPTION_ARG_NONE, &(gboolean) { false }, "time the GPU variants", NULL },
    { "filter", 0, 0, G_OPTION_ARG_STRING, &b->o.filter, "which (median)", "STEM" },
    { "sizes", 0, 0, G_OPTION_ARG_STRING, &b->o.sizes, "kernel sizes", "3,5,..." },
    { "set", 0, 0, G_OPTION_ARG_FILENAME, &b->o.set, "further parameters", "NAME=VALUE" },
    { "baseline", 0, 0, G_OPTION_ARG_FILENAME, &b->o.baseline, "another library's filters", "FILE.so" },
    { "resolution", 0, 0, G_OPTION_ARG_STRING, &b->o.resolution, "of the frames", "1080p,4k,800x600,..." },
    { "picture", 0, 0, G_OPTION_ARG_FILENAME, &b->o.picture, "in the frames", "FILE.pgm" },
    { "json", 0, 0, G_OPTION_ARG_FILENAME, &b->o.json, "writes the rows, for docs/performance/kernels.py", "FILE" },
    { "format", 0, 0, G_OPTION_ARG_STRING, &b->o.format, "of the frames", "GRAY8,RGBA" },
    { "kinds", 0, 0, G_OPTION_ARG_STRING, &b->o.kinds, "of rows", "dense,gauss,..." },
    { "tiles", 0, 0, G_OPTION_ARG_STRING, &b->o.tiles, "a study: outputs per thread and lane", "4x2,4x3,4x4" },
    { "blocks", 0, 0, G_OPTION_ARG_STRING, &b->o.blocks, "a study: warps of a block", "4,8,12,16,24" },
    { "area", 0, 0, G_OPTION_ARG_INT, &b->o.area, "filters so much of each frame: a box in its middle", "PERCENT" },
    { "streams", 0, 0, G_OPTION_ARG_STRING, &b->o.streams, "frames at once", "1,8" },
    { "all-variants", 0, 0, G_OPTION_ARG_NONE, &b->o.all_variants, "not only those that plans choose", NULL }, { NULL }
  };
  g_autofree char *arguments = g_strjoinv (" ", argv + 1);

  b->o = (BenchOptions) { .filter = "median", .set = "", .command = g_strdup_printf ("kernelcheck %s", arguments) };
  if (!kc_parse (argc, argv, options, "Times the GPU variants."))
    return false;
  b->kc = kc_filter_find (b->o.filter);
  b->filter = cf_filter_find (b->o.filter);
  if (!b->kc || !b->filter)
    fprintf (stderr, "%s: not a filter\n", b->o.filter);
  return b->kc && b->filter;
}

static void
open_baseline (Bench *b)
{
  void *library = b->o.baseline ? dlopen (b->o.baseline, RTLD_NOW | RTLD_LOCAL) : NULL;
  BenchBaselineEntry entry = NULL;

  if (library)
    *(void **) &entry = dlsym (library, BENCH_BASELINE_ENTRY);
  if (entry)
    b->baseline = entry ();
  else if (b->o.baseline)
    printf ("no baseline: %s\n", dlerror ());
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
  open_baseline (&b);
  bench_all (&b);
  if (b.o.json && !write_json (&b)) {
    fprintf (stderr, "%s cannot be written\n", b.o.json);
    b.failed++;
  }
  printf ("%d passed, %d failed, 0 skipped\n", b.n_rows - b.failed > 0 ? b.n_rows - b.failed : 0, b.failed);
  cf_context_free (b.context);
  return b.failed || b.n_rows == 0 ? 1 : 0;
}
