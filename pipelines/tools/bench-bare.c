/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-bare.c: the filters of a line called directly, without GStreamer: what a
 * frame takes at least. From pinned memory and back each way is tried, and the
 * quickest is told: over the GPU's memory, as a whole or (one filter) in bands that
 * overlap, or with kernels that read or write the host's. In CUDA memory there is one
 * way; frames are waited for one by one for their time, and queued many at once for
 * their rate. */

#include "bench.h"
#include "bench-camera.h"
#include "bench-line.h"
#include "bench-numbers.h"
#include "cf.h"
#include "transfer/slices.h"
#include "line.h"

#include <string.h>

#define FRAMES 24 /* pairs that are taken in turn: more than a GPU's L2 holds */
#define QUEUED 64 /* frames that are queued before one waits */
#define DEADLINE (30 * (guint64) GST_SECOND)

typedef struct {
  CfContext *context;
  CfStream *stream;
  CfPlan *plan[BENCH_ELEMENTS];
  int n; /* plans, in the order of the line */
  CfImage host_in[FRAMES], host_out[FRAMES];
  CfImage device_in[FRAMES], between[BENCH_ELEMENTS + 1]; /* behind each plan */
  void *memory[4]; /* host in and out, device in and the others */
  gsize bytes;
  /* Of the first filter, and what it takes in bands: between[n] is their second picture. */
  const CfFilter *filter;
  CfVideo video;
  CfCommon common;
  void *params;
  GstCfBands bands;
  CfStream *up, *down;
  CfStatus status;
} Bare;

typedef struct {
  const char *name;
  gboolean in, out; /* the kernels read, write the host's memory */
  guint bands;
} Way;

static const Way ways[] = { { "copied up and down", FALSE, FALSE }, { "read from the host, copied down", TRUE, FALSE },
  { "copied up, written to the host", FALSE, TRUE }, { "read from and written to the host", TRUE, TRUE },
  { "in two bands", FALSE, FALSE, 2 }, { "in four bands", FALSE, FALSE, 4 } };

static gboolean
fail (BenchRow *row, const char *format, const char *text)
{
  row->state = BENCH_LEFT_OUT;
  g_snprintf (row->note, sizeof row->note, format, text);
  return FALSE;
}

/* ---- the filter, as the line sets it -------------------------------------- */

/* One property into the block; strings are the block's own. */
static void
take_value (const CfParam *p, const GValue *value, void *params)
{
  gpointer field = (guint8 *) params + p->offset;

  switch (p->type) {
    case CF_TYPE_INT:
      *(int *) field = g_value_get_int (value);
      break;
    case CF_TYPE_DOUBLE:
      *(double *) field = g_value_get_double (value);
      break;
    case CF_TYPE_BOOL:
      *(int *) field = g_value_get_boolean (value);
      break;
    case CF_TYPE_ENUM:
      *(int *) field = g_value_get_enum (value);
      break;
    case CF_TYPE_FLAGS:
      *(int *) field = (int) g_value_get_flags (value);
      break;
    case CF_TYPE_STRING:
      *(char **) field = g_value_dup_string (value);
      break;
    case CF_TYPE_COLOR:
      *(guint32 *) field = g_value_get_uint (value);
      break;
  }
}

/* What differs from the defaults, with what it implies for others. */
static gboolean
read_params (GstElement *element, const CfFilter *filter, void *params, CfStatus *status)
{
  unsigned n;
  const CfParam *table = cf_filter_params (filter, &n);

  cf_filter_defaults (filter, params);
  for (unsigned i = 0; i < n; i++) {
    GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), table[i].name);
    GValue value = G_VALUE_INIT;
    gboolean good = TRUE;

    if (!spec || table[i].hidden || table[i].readonly)
      continue;
    g_value_init (&value, spec->value_type);
    g_object_get_property (G_OBJECT (element), spec->name, &value);
    if (!g_param_value_defaults (spec, &value)) {
      take_value (&table[i], &value, params);
      good = cf_filter_param_changed (filter, params, i, status) == CF_OK;
    }
    g_value_unset (&value);
    if (!good)
      return FALSE;
  }
  return TRUE;
}

/* An element's filter: "cudamedian" has "median". */
static const CfFilter *
filter_of (GstElement *element)
{
  const char *name = GST_OBJECT_NAME (gst_element_get_factory (element));

  return g_str_has_prefix (name, "cuda") ? cf_filter_find (name + strlen ("cuda")) : NULL;
}

/* ---- made and freed ------------------------------------------------------- */

static gboolean
allocate (Bare *b, const BenchJob *job, CfFormat format)
{
  CfImage layout;
  gsize size = (cf_image_layout (&layout, format, job->size.width, job->size.height, 4) + 255) / 256 * 256;

  b->bytes = size;
  b->memory[0] = cf_pinned_alloc (size * FRAMES, &b->status);
  b->memory[1] = cf_pinned_alloc (size * FRAMES, &b->status);
  b->memory[2] = cf_device_alloc (size * FRAMES, &b->status);
  b->memory[3] = cf_device_alloc (size * (gsize) (b->n + 1), &b->status);
  if (!b->memory[0] || !b->memory[1] || !b->memory[2] || !b->memory[3])
    return FALSE;
  memset (b->memory[1], 0, size * FRAMES);
  for (int i = 0; i < FRAMES; i++) {
    cf_image_at (&b->host_in[i], &layout, (guint8 *) b->memory[0] + (gsize) i * size);
    cf_image_at (&b->host_out[i], &layout, (guint8 *) b->memory[1] + (gsize) i * size);
    cf_image_at (&b->device_in[i], &layout, (guint8 *) b->memory[2] + (gsize) i * size);
  }
  for (int p = 0; p <= b->n; p++)
    cf_image_at (&b->between[p], &layout, (guint8 *) b->memory[3] + (gsize) p * size);
  return TRUE;
}

/* Pictures of the same kind as the cameras'. */
static gboolean
fill (Bare *b, const BenchJob *job)
{
  GstBuffer *picture[FRAMES] = { NULL };
  GstVideoInfo info;
  gboolean good = gst_video_info_set_format (&info, gst_video_format_from_string (job->format),
      (guint) job->size.width, (guint) job->size.height) && bench_pictures (&info, picture, FRAMES);

  for (int i = 0; i < FRAMES && picture[i]; i++) {
    GstVideoFrame frame;

    good = good && gst_video_frame_map (&frame, &info, picture[i], GST_MAP_READ);
    for (guint p = 0; good && p < GST_VIDEO_INFO_N_PLANES (&info); p++) {
      int rows = cf_plane_rows (b->host_in[i].format, job->size.height, (int) p);

      for (int y = 0; y < rows; y++)
        memcpy ((guint8 *) b->host_in[i].plane[p].data + (gsize) y * b->host_in[i].plane[p].pitch,
            (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, p) + (gssize) y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p),
            cf_plane_row_bytes (b->host_in[i].format, job->size.width, (int) p));
    }
    if (good)
      gst_video_frame_unmap (&frame);
    gst_buffer_unref (picture[i]);
  }
  return good;
}

static void
free_bare (Bare *b)
{
  for (int p = 0; p < b->n; p++)
    cf_plan_free (b->plan[p]);
  g_free (b->params);
  cf_stream_free (b->up);
  cf_stream_free (b->down);
  cf_stream_free (b->stream);
  cf_pinned_free (b->memory[0]);
  cf_pinned_free (b->memory[1]);
  cf_device_free (b->memory[2]);
  cf_device_free (b->memory[3]);
  if (b->context)
    cf_context_free (b->context);
}

/* ---- timed ---------------------------------------------------------------- */

/* All plans, from the one picture to the other. */
static gboolean
filter_frame (Bare *b, const CfImage *in, const CfImage *out)
{
  for (int p = 0; p < b->n; p++)
    if (cf_plan_enqueue (b->plan[p], b->stream, p ? &b->between[p - 1] : in, p == b->n - 1 ? out : &b->between[p],
            &b->status) != CF_OK)
      return FALSE;
  return TRUE;
}

static gboolean
one_frame_in_bands (Bare *b, int i)
{
  const GstCfBandsWay way = { b->up, b->stream, b->down, &b->host_in[i], &b->device_in[i],
    { &b->between[0], &b->between[1] }, &b->host_out[i] };

  return cf_stream_mark (b->stream, 0, &b->status) == CF_OK &&
      gst_cf_bands_queue (&b->bands, &way, &b->status) == CF_OK &&
      cf_stream_mark (b->stream, 1, &b->status) == CF_OK && cf_stream_wait (b->down, DEADLINE, &b->status) == CF_OK;
}

/* `way` NULL: in CUDA memory. */
static gboolean
one_frame (Bare *b, const Way *way, int i)
{
  const CfImage *in = way && way->in ? &b->host_in[i] : &b->device_in[i];
  const CfImage *out = way && way->out ? &b->host_out[i] : &b->between[b->n - 1];
  gboolean up = way && !way->in, down = way && !way->out;

  if (way && way->bands)
    return one_frame_in_bands (b, i);
  return (!up || cf_stream_upload (b->stream, in, &b->host_in[i], &b->status) == CF_OK) &&
      cf_stream_mark (b->stream, 0, &b->status) == CF_OK && filter_frame (b, in, out) &&
      cf_stream_mark (b->stream, 1, &b->status) == CF_OK &&
      (!down || cf_stream_download (b->stream, &b->host_out[i], out, &b->status) == CF_OK) &&
      cf_stream_wait (b->stream, DEADLINE, &b->status) == CF_OK;
}

/* us a frame, of many that are queued in CUDA memory; 0 after an error. */
static double
measure_queued (Bare *b, double seconds)
{
  guint64 begin = bench_now (), now = begin;
  int n = 0;

  do {
    for (int i = 0; i < QUEUED; i++, n++)
      if (!filter_frame (b, &b->device_in[n % FRAMES], &b->between[b->n - 1]))
        return 0;
    if (cf_stream_wait (b->stream, DEADLINE, &b->status) != CF_OK)
      return 0;
    now = bench_now ();
  } while ((double) (now - begin) < seconds * 1e9);
  return (double) (now - begin) / 1e3 / n;
}

/* Frames one after the other for `seconds`; FALSE after an error. */
static gboolean
measure (Bare *b, const Way *way, double seconds, GArray *took, double *kernel)
{
  guint64 begin = bench_now (), now = begin;
  double sum = 0;

  for (guint i = 0; (double) (now - begin) < seconds * 1e9 || i < 20; i++) {
    guint64 from = bench_now (), ns;

    if (!one_frame (b, way, (int) (i % FRAMES)))
      return FALSE;
    now = bench_now ();
    ns = now - from;
    sum += (double) cf_stream_elapsed_ns (b->stream, 0, 1);
    if (i >= 10) /* the first ones load kernels */
      g_array_append_val (took, ns);
    else
      sum = 0;
  }
  *kernel = took->len ? sum / took->len / 1e3 : 0;
  bench_sort ((guint64 *) took->data, took->len);
  return TRUE;
}

/* Measures one way, and takes its times if its median is the least. */
static gboolean
try_way (Bare *b, const Way *way, double seconds, BenchRow *row, double *p50)
{
  g_autoptr (GArray) took = g_array_new (FALSE, FALSE, sizeof (guint64));
  const guint64 *sorted;
  double kernel;

  if (!measure (b, way, seconds, took, &kernel))
    return fail (row, "%s", b->status.message);
  sorted = (const guint64 *) took->data;
  *p50 = (double) bench_percentile (sorted, took->len, 50) / 1e6;
  if (row->p50 > 0 && *p50 >= row->p50)
    return TRUE;
  row->p50 = *p50;
  row->p99 = (double) bench_percentile (sorted, took->len, 99) / 1e6;
  row->max = (double) bench_percentile (sorted, took->len, 100) / 1e6;
  row->frames = took->len;
  row->element[0].kernel_p50 = kernel;
  return TRUE;
}

static gboolean
has_way (const Bare *b, const Way *way)
{
  return way->bands == 0 || (b->n == 1 && gst_cf_bands_fit (way->bands, b->filter, &b->video, b->params));
}

static gboolean
open_way (Bare *b, const Way *way)
{
  return way->bands == 0 || ((b->up || (b->up = cf_stream_new (NULL, &b->status))) &&
      (b->down || (b->down = cf_stream_new (NULL, &b->status))) &&
      gst_cf_bands_make (&b->bands, way->bands, b->context, b->filter, &b->video, &b->common, b->params, &b->status));
}

static gboolean
try_host (Bare *b, double seconds, BenchRow *row)
{
  g_autoptr (GString) all = g_string_new (NULL);
  double p50;

  for (guint w = 0; w < G_N_ELEMENTS (ways); w++) {
    gboolean good;

    if (!has_way (b, &ways[w]))
      continue;
    if (!open_way (b, &ways[w]))
      return fail (row, "%s", b->status.message);
    good = try_way (b, &ways[w], seconds / G_N_ELEMENTS (ways), row, &p50);
    gst_cf_bands_free (&b->bands);
    if (!good)
      return FALSE;
    g_string_append_printf (all, "%s%s %.0f us", all->len ? "; " : "", ways[w].name, p50 * 1e3);
  }
  g_strlcpy (row->note, all->str, sizeof row->note);
  row->ms = row->p50;
  return TRUE;
}

static gboolean
try_device (Bare *b, double seconds, BenchRow *row)
{
  double p50, queued;

  /* So that the GPU's frames are pictures. */
  for (int i = 0; i < FRAMES; i++)
    if (cf_stream_upload (b->stream, &b->device_in[i], &b->host_in[i], &b->status) != CF_OK)
      return fail (row, "%s", b->status.message);
  if (!try_way (b, NULL, seconds / 2, row, &p50))
    return FALSE;
  if ((queued = measure_queued (b, seconds / 2)) <= 0)
    return fail (row, "%s", b->status.message);
  row->ms = queued / 1e3;
  g_snprintf (row->note, sizeof row->note, "in CUDA memory, many queued; p50 of one by one");
  return TRUE;
}

static gboolean
add_plan (Bare *b, const CfVideo *video, GstElement *element, BenchRow *row)
{
  const CfFilter *filter = filter_of (element);
  g_autofree void *params = filter ? g_malloc (cf_filter_params_size (filter)) : NULL;
  CfCommon common = { CF_APPLY_ALL };
  int apply_to = 0;

  if (!filter)
    return fail (row, "%s", "only a line of nothing but elements of this project can be called directly");
  g_object_get (element, "apply-to", &apply_to, NULL);
  common.apply_to = (CfApplyTo) apply_to;
  if (!read_params (element, filter, params, &b->status) ||
      !(b->plan[b->n] = cf_plan_new (b->context, filter, video, &common, params, &b->status)))
    return fail (row, "%s", b->status.message);
  if (b->n++ == 0) {
    b->filter = filter;
    b->video = *video;
    b->common = common;
    b->params = g_steal_pointer (&params);
  }
  return TRUE;
}

/* The plans and what they need. */
static gboolean
open_bare (Bare *b, const BenchJob *job, GstElement *bin, BenchRow *row)
{
  CfVideo video = { cf_format_from_name (job->format), job->size.width, job->size.height, false };
  GList *filters = find_filters (bin), *l;
  guint n = g_list_length (filters);
  gboolean good = FALSE;

  if (n == 0 || n > BENCH_ELEMENTS || (int) n != GST_BIN_NUMCHILDREN (bin))
    fail (row, "%s", "only a line of nothing but elements of this project can be called directly");
  else if (cf_gpu_count (&b->status) == 0 || !(b->context = cf_context_new (CF_BACKEND_CUDA, &b->status)) ||
      !(b->stream = cf_stream_new (NULL, &b->status)))
    fail (row, "%s", b->status.message);
  else
    good = video.format != CF_FORMAT_NONE || fail (row, "it does not take %s", job->format);
  for (l = filters; l && good; l = l->next)
    good = add_plan (b, &video, l->data, row);
  g_list_free_full (filters, gst_object_unref);
  if (good && !allocate (b, job, video.format))
    good = fail (row, "%s", b->status.message);
  return good && (fill (b, job) || fail (row, "there are no pictures of the format %s", job->format));
}

void
bench_bare (const BenchOptions *opt, const BenchJob *job, BenchRow *row)
{
  GstElement *bin = bench_line_new (job, 0, row);
  Bare bare = { NULL };
  double seconds = MIN (opt->seconds, 1);

  g_strlcpy (row->format, job->format, sizeof row->format);
  if (bin && open_bare (&bare, job, bin, row) &&
      (job->memory == BENCH_CUDA ? try_device (&bare, seconds, row) : try_host (&bare, seconds, row))) {
    row->n_elements = 1;
    row->frame_bytes = bare.bytes;
    row->rotating = FRAMES;
    row->element[0].gpu = row->element[0].frames = row->frames;
    g_strlcpy (row->element[0].name, "filter", sizeof row->element[0].name);
    g_strlcpy (row->element[0].backend, "cuda", sizeof row->element[0].backend);
    row->fps = 1e3 / row->ms;
    row->seconds = (double) row->frames * row->p50 / 1e3;
  }
  free_bare (&bare);
  g_clear_object (&bin);
}
