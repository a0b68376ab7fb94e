/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * crowd.c: kernelcheck --crowd: many plans of a filter at once, as many cameras make them: each on a thread and a
 * stream of its own, as quickly as the GPU takes frames. Their frames are those of a camera's clip, in different sizes
 * and formats; settings change while a plan runs; plans and streams end, and others begin. One frame in 100 is compared
 * with the CPU's, byte for byte.
 *
 * A plan filters a loop of LOOP frames again and again, from a reset on, with the same changes of its settings at the
 * same frames. So the CPU makes each scene's loop once, before, and any frame of it can be compared. */
#include "kernelcheck.h"

#include <stdio.h>
#include <string.h>

#define DEADLINE_NS 10000000000u

/* LOOP and ONE_IN have no common factor: in time each frame of the loop is compared. */
enum { LOOP = 47, ONE_IN = 100, SETTINGS = 3, MOST_PLANS = 256, MOST_LOOPS = 40, MOST_QUEUED = 8 };

/* A third of the loop each. */
typedef struct {
  const char *stem, *set[SETTINGS];
  CfFormat format;
  int width, height;
} Row;

static const Row rows[] = {
  { "median", { "kernel-size=3", "kernel-size=5", "kernel-size=3" }, CF_FORMAT_NV12, 320, 240 },
  { "median", { "kernel-size=9", "kernel-size=15", "kernel-size=7" }, CF_FORMAT_GRAY8, 320, 240 },
  { "median", { "kernel-size=5 temporal-depth=3", "kernel-size=3 temporal-depth=3", "temporal-depth=3" },
      CF_FORMAT_GRAY8, 320, 240 },
  { "median",
      { "temporal-method=running", "temporal-method=running output=mask", "temporal-method=running output=still" },
      CF_FORMAT_NV12, 320, 240 },
  { "median", { "kernel-size=31", "kernel-size=21", "kernel-size=3" }, CF_FORMAT_I420, 352, 288 },
  { "median", { "kernel-size=5", "kernel-size=11 percentile=90", "kernel-size=3 threshold=9" }, CF_FORMAT_RGBA, 321,
      243 },
  { "median", { "kernel-size=3", "kernel-size=7", "kernel-size=5" }, CF_FORMAT_I420_10LE, 640, 480 },
  { "median", { "kernel-size=3", "kernel-size=13", "kernel-size=5" }, CF_FORMAT_NV12, 1920, 1080 },
  { "convolve", { "preset=gauss kernel-size=5", "preset=sharpen", "preset=identity" }, CF_FORMAT_NV12, 320, 240 },
  { "convolve", { "any=31x31 weights=8", "any=7x7 weights=8", "any=3x3 weights=8" }, CF_FORMAT_GRAY8, 320, 240 },
  { "convolve", { "preset=privacy", "preset=mosaic", "preset=fill" }, CF_FORMAT_NV12, 320, 240 },
  { "convolve", { "preset=gauss kernel-size=31", "preset=box kernel-size=63", "preset=sobel" }, CF_FORMAT_I420, 352,
      288 },
  { "convolve", { "any=5x5 weights=16", "preset=unsharp", "any=15x15 weights=8" }, CF_FORMAT_RGBA, 321, 243 },
  { "convolve", { "preset=gauss kernel-size=7", "preset=laplace bias=128", "any=9x9" }, CF_FORMAT_I420_10LE, 640, 480 },
  { "convolve", { "preset=gauss kernel-size=15", "any=31x31 weights=8", "preset=privacy" }, CF_FORMAT_NV12, 1920,
      1080 },
  { "irfilter", { "preset=smooth", "preset=smooth sigma=9", "preset=smooth sigma=2" }, CF_FORMAT_NV12, 320, 240 },
  { "irfilter", { "sets=3 radius=0.95", "sets=2 radius=0.3", "sets=3 radius=0.3 border=zero" }, CF_FORMAT_GRAY8, 320,
      240 },
  { "irfilter", { "sets=5 radius=0.95", "sets=8 radius=0.3", "sets=4 radius=0.95" }, CF_FORMAT_GRAY8, 352, 288 },
  { "irfilter", { "preset=soft sigma=9 method=quadrants", "preset=soft sigma=9", "preset=highpass sigma=20" },
      CF_FORMAT_I420, 321, 243 },
  { "irfilter", { "preset=sharpen", "preset=smooth", "sets=2 radius=0.95" }, CF_FORMAT_RGBA, 320, 240 },
  { "irfilter", { "preset=smooth", "sets=3 radius=0.95", "preset=soft" }, CF_FORMAT_NV12, 1280, 720 },
  { "segment", { "output=mean", "output=labels", "output=mean min-size=50" }, CF_FORMAT_NV12, 320, 240 },
  { "segment", { "output=labels", "output=labels cell-size=1", "output=labels" }, CF_FORMAT_GRAY8, 320, 240 },
  { "segment", { "temporal=0", "temporal=0 merge-threshold=0.02", "temporal=0" }, CF_FORMAT_NV12, 320, 240 },
  { "segment", { "output=labels weak-fraction=0.5", "output=labels max-regions=50", "output=labels" }, CF_FORMAT_I420,
      352, 288 },
  { "segment", { "output=labels", "output=boundaries", "temporal=0" }, CF_FORMAT_RGBA, 321, 243 },
  { "segment", { "output=labels", "output=labels merge-threshold=0.05", "output=labels" }, CF_FORMAT_NV12, 640, 480 },
  { "segment", { "output=labels", "output=labels", "temporal=0" }, CF_FORMAT_NV12, 1920, 1080 },
};

/* ---- the clip ----------------------------------------------------------- */

/* Frames of 8-bit 4:2:0 in planes. Without a file: those of kc_natural (). */
typedef struct {
  int width, height;
  uint8_t *data; /* LOOP frames; NULL: no file */
} Clip;

static size_t
clip_frame_bytes (const Clip *clip)
{
  return (size_t) clip->width * (size_t) clip->height +
      2 * (size_t) ((clip->width + 1) / 2) * (size_t) ((clip->height + 1) / 2);
}

/* Reads the first LOOP frames of a YUV4MPEG2 file. */
static bool
clip_read (Clip *clip, const char *name)
{
  FILE *file = fopen (name, "rb");
  char head[256];
  bool good = file && fgets (head, sizeof head, file) && g_str_has_prefix (head, "YUV4MPEG2 ") &&
      strstr (head, " C420") && sscanf (strstr (head, " W") ?: "", " W%d H%d", &clip->width, &clip->height) == 2 &&
      clip->width > 0 && clip->height > 0 && clip->width <= CF_MAX_SIZE && clip->height <= CF_MAX_SIZE;

  if (good) {
    const size_t size = clip_frame_bytes (clip);

    clip->data = g_malloc (LOOP * size);
    for (int i = 0; good && i < LOOP; i++)
      good = fgets (head, sizeof head, file) && g_str_has_prefix (head, "FRAME") &&
          fread (clip->data + (size_t) i * size, 1, size, file) == size;
  }
  if (file)
    fclose (file);
  return good;
}

/* Returns sample (x, y) of a component that is width x height, 8 bits: the clip's nearest one. Red and blue have other
 * levels than the luma. */
static unsigned
clip_sample (const Clip *clip, int frame, const CfFormatInfo *info, int component, int x, int y, int width, int height)
{
  const CfRole role = info->comp[component].role;
  const bool chroma = role == CF_ROLE_CHROMA;
  const int w = chroma ? (clip->width + 1) / 2 : clip->width, h = chroma ? (clip->height + 1) / 2 : clip->height;
  const uint8_t *plane = clip->data + (size_t) frame * clip_frame_bytes (clip);
  unsigned v;

  if (chroma)
    plane += (size_t) clip->width * (size_t) clip->height + (component == 2 ? (size_t) w * (size_t) h : 0);
  v = plane[(size_t) (y * h / height) * (size_t) w + (size_t) (x * w / width)];
  return role == CF_ROLE_RED ? v * 7 / 8 : role == CF_ROLE_BLUE ? 255 - v : role == CF_ROLE_ALPHA ? 255 : v;
}

static void
clip_fill (const Clip *clip, int frame, const CfVideo *video, CfImage *image)
{
  const CfFormatInfo *info = cf_format_info (video->format);

  if (!clip->data) {
    kc_image_fill (&(KcImage) { .image = *image }, KC_NATURAL, frame, 1);
    return;
  }
  for (int c = 0; c < info->n_components; c++) {
    const int width = kc_component_width (info, c, video->width), height = kc_component_height (info, c, video->height);

    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++)
        kc_put_word (image, c, x, y,
            clip_sample (clip, frame, info, c, x, y, width, height) << (info->bits - 8) << info->shift);
  }
}

/* ---- scenes ------------------------------------------------------------- */

/* A row's loop: its frames, in device memory where there is a GPU, and what the CPU makes of them. */
typedef struct {
  const Row *row;
  const CfFilter *filter;
  CfVideo video;
  CfImage layout;
  size_t size;
  void *params[SETTINGS], *device;
  uint8_t *host; /* the inputs, then the outputs */
} Scene;

typedef struct {
  KcRun *run;
  CfContext *context;
  Scene scenes[G_N_ELEMENTS (rows)];
  int n_scenes;
  gint left;   /* frames; atomic */
  gint failed; /* atomic */
  GMutex lock; /* of the counts below, and of the run */
  unsigned long compared, plans;
} Crowd;

static CfImage
scene_image (const Scene *s, void *base, int i)
{
  CfImage image;

  cf_image_at (&image, &s->layout, (uint8_t *) base + (size_t) i * s->size);
  return image;
}

/* Returns which settings begin with a frame; -1: none. */
static int
settings_from (int frame)
{
  for (int i = 0; i < SETTINGS; i++)
    if (frame == i * LOOP / SETTINGS)
      return i;
  return -1;
}

static bool
take_settings (const Scene *s, CfPlan *plan, int which, CfStatus *status)
{
  const CfCommon common = { 0 };

  return cf_plan_update (plan, &common, s->params[which], status) == CF_OK;
}

static bool
scene_expect (Scene *s, CfContext *cpu, CfStatus *status)
{
  const CfCommon common = { 0 };
  CfPlan *plan = cf_plan_new (cpu, s->filter, &s->video, &common, s->params[0], status);
  bool good = plan;

  for (int i = 0; good && i < LOOP; i++) {
    const CfImage in = scene_image (s, s->host, i), out = scene_image (s, s->host, LOOP + i);

    good = (settings_from (i) < 0 || take_settings (s, plan, settings_from (i), status)) &&
        cf_plan_enqueue (plan, NULL, &(CfFrame) { .in = &in, .out = &out }, status) == CF_OK;
  }
  cf_plan_free (plan);
  return good;
}

/* Copies the inputs to the GPU, through pinned memory. */
static bool
scene_upload (Scene *s, CfStream *stream, CfStatus *status)
{
  void *pinned = cf_gpu_alloc (CF_PINNED, s->size, status);
  bool good = pinned && (s->device = cf_gpu_alloc (CF_DEVICE, LOOP * s->size, status));

  for (int i = 0; good && i < LOOP; i++) {
    const CfImage from = scene_image (s, pinned, 0), to = scene_image (s, s->device, i);

    memcpy (pinned, s->host + (size_t) i * s->size, s->size);
    good = cf_stream_copy (stream, CF_UPLOAD, &to, &from, NULL, status) == CF_OK &&
        cf_stream_wait (stream, DEADLINE_NS, NULL, status) == CF_OK;
  }
  cf_gpu_free (CF_PINNED, pinned);
  return good;
}

static bool
scene_new (Scene *s, KcRun *run, const Row *row, const Clip *clip, CfContext *cpu, CfStatus *status)
{
  bool good = true;

  *s = (Scene) { .row = row, .filter = cf_filter_find (row->stem) };
  s->video = (CfVideo) { row->format, row->width, row->height, false };
  s->size = cf_image_layout (&s->layout, row->format, row->width, row->height, 64);
  s->host = g_malloc0 (2 * LOOP * s->size);
  for (int i = 0; i < SETTINGS; i++)
    good = good && (s->params[i] = kc_params_new (s->filter, row->set[i], status));
  for (int i = 0; good && i < LOOP; i++) {
    CfImage in = scene_image (s, s->host, i);

    clip_fill (clip, i, &s->video, &in);
  }
  return good && scene_expect (s, cpu, status) && (!run->gpu || scene_upload (s, run->stream, status));
}

static void
scene_free (Scene *s)
{
  for (int i = 0; i < SETTINGS; i++)
    cf_params_free (s->filter, s->params[i]);
  cf_gpu_free (CF_DEVICE, s->device);
  g_free (s->host);
}

/* ---- a camera ----------------------------------------------------------- */

/* A plan that filters a scene, with its stream and its output. */
typedef struct {
  Crowd *crowd;
  const Scene *s;
  CfPlan *plan;
  CfStream *stream; /* NULL on the CPU */
  void *out, *got;  /* out: in device memory; got: pinned, what the GPU has made of a frame that is compared */
  uint64_t state;   /* random */
  unsigned number;  /* of the thread's frames */
  unsigned long compared;
  CfStatus status;
} Camera;

static bool
camera_wait (Camera *c)
{
  CfCode code;

  if (!c->stream)
    return true;
  code = cf_stream_wait (c->stream, DEADLINE_NS, NULL, &c->status);
  if (code == CF_TIMEOUT) {
    g_mutex_lock (&c->crowd->lock);
    kc_end_hung (c->crowd->run, "%s %s, %dx%d: %s", c->s->row->stem, c->s->row->set[0], c->s->video.width,
        c->s->video.height, c->status.message);
  }
  return code == CF_OK;
}

static bool
camera_open (Camera *c, const Scene *s)
{
  const CfCommon common = { 0 };

  c->s = s;
  if (c->crowd->run->gpu) {
    c->stream = cf_stream_new (NULL, &c->status);
    c->out = c->stream ? cf_gpu_alloc (CF_DEVICE, s->size, &c->status) : NULL;
    c->got = c->out ? cf_gpu_alloc (CF_PINNED, s->size, &c->status) : NULL;
    if (c->got)
      memset (c->got, 0, s->size); /* padding, which is not copied with the rows */
  } else {
    c->out = c->got = g_malloc0 (s->size);
  }
  if (c->got)
    c->plan = cf_plan_new (c->crowd->context, s->filter, &s->video, &common, s->params[0], &c->status);
  return c->plan;
}

static void
camera_close (Camera *c)
{
  cf_plan_free (c->plan);
  if (c->crowd->run->gpu) {
    cf_gpu_free (CF_DEVICE, c->out);
    cf_gpu_free (CF_PINNED, c->got);
    cf_stream_free (c->stream);
  } else {
    g_free (c->out);
  }
  c->plan = NULL;
  c->stream = NULL;
  c->out = c->got = NULL;
}

/* Compares a frame that has been filtered. */
static bool
camera_compare (Camera *c, int frame)
{
  const Scene *s = c->s;
  const uint8_t *expected = s->host + (size_t) (LOOP + frame) * s->size, *got;
  const CfImage from = scene_image (s, c->out, 0), to = scene_image (s, c->got, 0);
  size_t wrong = 0;

  if (c->stream && (cf_stream_copy (c->stream, CF_DOWNLOAD, &to, &from, NULL, &c->status) != CF_OK || !camera_wait (c)))
    return false;
  c->compared++;
  got = c->got;
  if (memcmp (expected, got, s->size) == 0)
    return true;
  for (size_t i = 0; i < s->size; i++)
    wrong += expected[i] != got[i];
  cf_fail (&c->status, CF_BAD_VALUE, "frame %d of the loop: %zu of %zu bytes differ from the CPU's", frame, wrong,
      s->size);
  return false;
}

/* Filters the loop once. */
static bool
camera_loop (Camera *c)
{
  int queued = 0;

  cf_plan_reset (c->plan);
  for (int i = 0; i < LOOP; i++) {
    const CfImage in = scene_image (c->s, c->stream ? c->s->device : c->s->host, i),
                  out = scene_image (c->s, c->out, 0);

    if (settings_from (i) >= 0 && (!camera_wait (c) || !take_settings (c->s, c->plan, settings_from (i), &c->status)))
      return false;
    if (cf_plan_enqueue (c->plan, c->stream, &(CfFrame) { .in = &in, .out = &out }, &c->status) != CF_OK)
      return false;
    if (++c->number % ONE_IN == 0) {
      if (!camera_compare (c, i))
        return false;
      queued = 0;
    } else if (++queued > (int) (kc_random (&c->state) % MOST_QUEUED)) {
      if (!camera_wait (c))
        return false;
      queued = 0;
    }
  }
  return camera_wait (c);
}

/* Counts a loop, or a plan that could not be made. */
static void
camera_count (Camera *c, bool good, int frames)
{
  Crowd *crowd = c->crowd;

  g_atomic_int_add (&crowd->left, -frames);
  if (!good)
    g_atomic_int_set (&crowd->failed, 1);
  g_mutex_lock (&crowd->lock);
  kc_result (crowd->run, good, "%s, %s, then %s, %s %dx%d: %s", c->s->row->stem, c->s->row->set[0], c->s->row->set[1],
      cf_format_info (c->s->video.format)->name, c->s->video.width, c->s->video.height, c->status.message);
  crowd->run->frames += (unsigned long) frames;
  g_mutex_unlock (&crowd->lock);
}

static bool
goes_on (Crowd *crowd)
{
  return g_atomic_int_get (&crowd->left) > 0 && !g_atomic_int_get (&crowd->failed);
}

/* Makes plans, one after the other, until enough frames have been filtered. */
static gpointer
camera_thread (gpointer data)
{
  Camera *c = data;
  Crowd *crowd = c->crowd;
  unsigned long plans = 0;

  for (; goes_on (crowd); plans++) {
    const Scene *scene = &crowd->scenes[kc_random (&c->state) % (uint64_t) crowd->n_scenes];

    if (camera_open (c, scene))
      for (int n = 1 + (int) (kc_random (&c->state) % MOST_LOOPS); n > 0 && goes_on (crowd); n--)
        camera_count (c, camera_loop (c), LOOP);
    else
      camera_count (c, false, 0);
    camera_close (c);
  }
  g_mutex_lock (&crowd->lock);
  crowd->compared += c->compared;
  crowd->plans += plans;
  g_mutex_unlock (&crowd->lock);
  return NULL;
}

/* ---- a filter ----------------------------------------------------------- */

/* Runs the cameras, and prints what they did. */
static void
crowd_run (Crowd *crowd, const char *stem, int plans)
{
  KcRun *run = crowd->run;
  const gint64 start = g_get_monotonic_time ();
  const unsigned long before = run->frames;
  Camera cameras[MOST_PLANS];
  GThread *threads[MOST_PLANS];
  double seconds;

  for (int i = 0; i < plans; i++) {
    cameras[i] = (Camera) { .crowd = crowd, .state = (uint64_t) (run->options.seed + i), .number = (unsigned) i };
    threads[i] = g_thread_new ("camera", camera_thread, &cameras[i]);
  }
  for (int i = 0; i < plans; i++)
    g_thread_join (threads[i]);
  seconds = (double) (g_get_monotonic_time () - start) / 1e6;
  printf ("%s: %d plans at once, %lu in all, %lu frames of %d scenes in %.1f s, %.0f frames/s, %lu compared\n", stem,
      plans, crowd->plans, run->frames - before, crowd->n_scenes, seconds, (double) (run->frames - before) / seconds,
      crowd->compared);
  kc_result (run, crowd->compared > 0, "%s: no frame was compared", stem);
}

void
kc_crowd (KcRun *run)
{
  const int plans = CLAMP (run->options.plans, 1, MOST_PLANS);
  CfStatus status = { 0 };
  CfContext *cpu = cf_context_new (CF_BACKEND_CPU, &status);
  Clip clip = { 0 };
  bool good = cpu;

  if (good && run->options.clip && !(good = clip_read (&clip, run->options.clip)))
    cf_fail (&status, CF_BAD_VALUE, "%s is no YUV4MPEG2 file of %d frames, 8 bit, 4:2:0", run->options.clip, LOOP);
  for (const CfFilter *const *f = cf_filters; good && *f; f++) {
    const char *stem = cf_filter_info (*f)->stem;
    const Row by_default = { stem, { "", "", "" }, CF_FORMAT_NV12, 320, 240 };
    Crowd crowd = { .run = run, .context = run->gpu ? run->gpu : cpu };

    if (run->options.filter && !g_str_equal (run->options.filter, stem))
      continue;
    g_mutex_init (&crowd.lock);
    crowd.left = run->options.frames ? run->options.frames : 20000;
    for (size_t i = 0; good && i < G_N_ELEMENTS (rows); i++)
      if (g_str_equal (rows[i].stem, stem) && (!run->options.quick || rows[i].width <= 400))
        good = scene_new (&crowd.scenes[crowd.n_scenes++], run, &rows[i], &clip, cpu, &status);
    if (good && crowd.n_scenes == 0)
      good = scene_new (&crowd.scenes[crowd.n_scenes++], run, &by_default, &clip, cpu, &status);
    if (good) {
      run->cases++;
      crowd_run (&crowd, stem, plans);
    }
    for (int i = 0; i < crowd.n_scenes; i++)
      scene_free (&crowd.scenes[i]);
    g_mutex_clear (&crowd.lock);
  }
  kc_result (run, good, "%s", status.message);
  g_free (clip.data);
  if (cpu)
    cf_context_free (cpu);
}
