/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-machine.c: describes this machine and measures its limits for any filter: memcpy
 * of a frame, and the link to the GPU, both over more frames than the caches hold. */

#include "bench.h"
#include "bench-camera.h"
#include "cf.h"

#include <string.h>
#include <unistd.h>

#define SECONDS 0.3
#define DEPTH 32 /* copies that are queued before the thread waits */
#define LINK_FRAMES 16
#define MAX_BYTES 1.5e9 /* of all threads' frames */

/* Uses the plugin that was built beside this program, with a registry file there, unless
 * GST_PLUGIN_PATH is set. */
void
bench_init (void)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = self ? g_path_get_dirname (self) : NULL;
  g_autofree char *gst = folder ? g_build_filename (folder, "..", "gst", NULL) : NULL;
  g_autofree char *plugin = gst ? g_build_filename (gst, "libgstcudafilters.so", NULL) : NULL;
  const char *path = g_getenv ("GST_PLUGIN_PATH");

  if (plugin && g_file_test (plugin, G_FILE_TEST_EXISTS) && !path) {
    g_autofree char *registry = g_build_filename (folder, "registry.bin", NULL);

    g_setenv ("GST_PLUGIN_PATH", gst, TRUE);
    g_setenv ("GST_REGISTRY", registry, FALSE);
  }
  gst_init (NULL, NULL);
}

/* Reads "model name : ..." from /proc/cpuinfo; some architectures have no such line. */
static void
read_cpu (char *name, gsize size)
{
  g_autofree char *text = NULL;
  const char *line, *colon;

  g_strlcpy (name, "CPU", size);
  if (!g_file_get_contents ("/proc/cpuinfo", &text, NULL, NULL) || !(line = strstr (text, "model name")) ||
      !(colon = strchr (line, ':')))
    return;
  colon += 1 + strspn (colon + 1, " \t");
  g_strlcpy (name, colon, MIN (size, strcspn (colon, "\n") + 1));
}

void
bench_machine (BenchMachine *machine)
{
  g_autofree char *version = gst_version_string ();
  CfStatus status = { .code = CF_OK };
  CfGpuInfo info;
  int threads;

  read_cpu (machine->cpu, sizeof machine->cpu);
  g_strlcpy (machine->isa, cf_cpu_info (&threads), sizeof machine->isa);
  g_strlcpy (machine->gstreamer, version, sizeof machine->gstreamer);
  machine->cores = threads;
  machine->gpus = cf_gpu_count (&status);
  if (machine->gpus == 0)
    g_strlcpy (machine->why_no_gpu, status.message, sizeof machine->why_no_gpu);
  else if (cf_gpu_info (0, &info, &status) == CF_OK)
    g_strlcpy (machine->gpu, info.name, sizeof machine->gpu);
}

/* ---- memcpy ------------------------------------------------------------- */

typedef struct {
  guint8 *memory;
  gsize bytes;
  int frames; /* pairs of them */
  gint *ready, wait_for;
  double rate; /* bytes a second */
} Copier;

/* Copies from frame to frame for SECONDS. The threads begin together: each first touches its
 * memory, then spins until the others have. */
static gpointer
copy_frames (gpointer data)
{
  Copier *copier = data;
  guint64 begin, now;
  gsize n = 0;

  memset (copier->memory, 1, 2 * copier->bytes * copier->frames);
  g_atomic_int_inc (copier->ready);
  while (g_atomic_int_get (copier->ready) < copier->wait_for)
    g_thread_yield ();
  begin = bench_now ();
  do {
    guint8 *pair = copier->memory + n++ % copier->frames * 2 * copier->bytes;

    memcpy (pair + copier->bytes, pair, copier->bytes);
    now = bench_now ();
  } while ((double) (now - begin) < SECONDS * 1e9);
  copier->rate = (double) (n * copier->bytes) / ((double) (now - begin) / 1e9);
  return NULL;
}

/* Returns the GB/s of `threads` threads together; 0 if the memory cannot be allocated. */
static double
measure_copy (gsize bytes, int threads)
{
  long cache = MAX (sysconf (_SC_LEVEL3_CACHE_SIZE), 32 << 20);
  double wanted = 1 + 2.0 * (double) cache / (double) bytes, room = MAX_BYTES / 2 / (double) bytes / threads;
  int frames = (int) CLAMP (MIN (wanted, room), 1, 4096);
  Copier *copier = g_new0 (Copier, threads);
  GThread **thread = g_new0 (GThread *, threads);
  gboolean good = TRUE;
  gint ready = 0;
  double sum = 0;

  for (int i = 0; i < threads; i++) {
    copier[i] = (Copier) { g_try_malloc (2 * bytes * (gsize) frames), bytes, frames, &ready, threads, 0 };
    good = good && copier[i].memory;
  }
  for (int i = 0; i < threads && good; i++)
    thread[i] = g_thread_new ("copy", copy_frames, &copier[i]);
  for (int i = 0; i < threads; i++) {
    if (thread[i])
      g_thread_join (thread[i]);
    sum += copier[i].rate;
    g_free (copier[i].memory);
  }
  g_free (copier);
  g_free (thread);
  return sum / 1e9;
}

/* ---- the link to the GPU ------------------------------------------------- */

typedef struct {
  CfStream *up, *down;
  CfImage host[LINK_FRAMES], device[LINK_FRAMES];
  void *host_memory, *device_memory;
  gsize bytes;
} Link;

/* Allocates frames of as many bytes as GRAY8 images; a copy does not depend on the format. */
static gboolean
open_link (Link *link, gsize bytes)
{
  int height = (int) CLAMP (bytes / 4096, 1, CF_MAX_SIZE), width = (int) (bytes / (gsize) height);
  CfImage layout;
  gsize size;

  memset (link, 0, sizeof *link);
  if (width > CF_MAX_SIZE)
    return FALSE;
  size = cf_image_layout (&layout, CF_FORMAT_GRAY8, width, height, 1);
  size = (size + 255) / 256 * 256;
  link->bytes = (gsize) width * (gsize) height;
  link->host_memory = cf_gpu_alloc (CF_PINNED, size * LINK_FRAMES, NULL);
  link->device_memory = cf_gpu_alloc (CF_DEVICE, size * LINK_FRAMES, NULL);
  link->up = cf_stream_new (NULL, NULL);
  link->down = cf_stream_new (NULL, NULL);
  if (!link->host_memory || !link->device_memory || !link->up || !link->down)
    return FALSE;
  memset (link->host_memory, 1, size * LINK_FRAMES);
  for (int i = 0; i < LINK_FRAMES; i++) {
    cf_image_at (&link->host[i], &layout, (guint8 *) link->host_memory + (gsize) i * size);
    cf_image_at (&link->device[i], &layout, (guint8 *) link->device_memory + (gsize) i * size);
  }
  return TRUE;
}

static void
close_link (Link *link)
{
  cf_stream_free (link->up);
  cf_stream_free (link->down);
  cf_gpu_free (CF_PINNED, link->host_memory);
  cf_gpu_free (CF_DEVICE, link->device_memory);
}

/* Copies DEPTH frames in each requested direction and waits for them. */
static gboolean
copy_round (Link *link, gboolean up, gboolean down, int first)
{
  gboolean good = TRUE;

  for (int i = 0; i < DEPTH; i++) {
    int a = (first + i) % LINK_FRAMES, b = (a + LINK_FRAMES / 2) % LINK_FRAMES;

    if (up)
      good = good && cf_stream_copy (link->up, CF_UPLOAD, &link->device[a], &link->host[a], NULL, NULL) == CF_OK;
    if (down)
      good = good && cf_stream_copy (link->down, CF_DOWNLOAD, &link->host[b], &link->device[b], NULL, NULL) == CF_OK;
  }
  return good && cf_stream_wait (link->up, 2 * GST_SECOND, NULL, NULL) == CF_OK &&
      cf_stream_wait (link->down, 2 * GST_SECOND, NULL, NULL) == CF_OK;
}

/* Returns the GB/s of each direction, 0 after an error. */
static double
measure_link (Link *link, gboolean up, gboolean down)
{
  guint64 begin, now;
  int n = 0;

  if (!copy_round (link, up, down, 0))
    return 0;
  begin = bench_now ();
  do {
    if (!copy_round (link, up, down, n))
      return 0;
    n += DEPTH;
    now = bench_now ();
  } while ((double) (now - begin) < SECONDS * 1e9);
  return (double) n * (double) link->bytes / (double) (now - begin);
}

/* Returns the median time in us to upload one frame, download it and wait. */
static double
measure_trip (Link *link)
{
  g_autoptr (GArray) took = g_array_new (FALSE, FALSE, sizeof (guint64));
  guint64 begin = bench_now (), from;

  for (from = begin; (double) (from - begin) < SECONDS * 1e9; from = bench_now ()) {
    int a = (int) (took->len % LINK_FRAMES);
    guint64 ns;

    if (cf_stream_copy (link->up, CF_UPLOAD, &link->device[a], &link->host[a], NULL, NULL) != CF_OK ||
        cf_stream_copy (link->up, CF_DOWNLOAD, &link->host[a], &link->device[a], NULL, NULL) != CF_OK ||
        cf_stream_wait (link->up, 2 * GST_SECOND, NULL, NULL) != CF_OK)
      break;
    ns = bench_now () - from;
    g_array_append_val (took, ns);
  }
  bench_sort ((guint64 *) took->data, took->len);
  return (double) bench_percentile ((guint64 *) took->data, took->len, 50) / 1e3;
}

void
bench_limit (BenchLimit *limit)
{
  GstVideoInfo info;
  int threads;
  Link link;

  cf_cpu_info (&threads);
  if (!gst_video_info_set_format (&info, gst_video_format_from_string (limit->format), (guint) limit->size.width,
          (guint) limit->size.height))
    return;
  limit->frame_bytes = GST_VIDEO_INFO_SIZE (&info);
  bench_progress ("measures this machine's limits for %dx%d %s", limit->size.width, limit->size.height, limit->format);
  limit->copy_one = measure_copy (limit->frame_bytes, 1);
  limit->copy_all = measure_copy (limit->frame_bytes, threads);
  if (cf_gpu_count (NULL) > 0) {
    if (open_link (&link, limit->frame_bytes)) {
      limit->up = measure_link (&link, TRUE, FALSE);
      limit->down = measure_link (&link, FALSE, TRUE);
      limit->both = measure_link (&link, TRUE, TRUE);
      limit->trip = measure_trip (&link);
    }
    close_link (&link);
  }
  bench_table_limit (limit);
}
