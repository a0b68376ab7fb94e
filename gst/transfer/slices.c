/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * transfer/slices.c: a frame cut into bands, their plans and their way. */
#include "slices.h"

#include <string.h>

/* The marks of a band. */
enum { UPLOADED, FILTERED };

/* Bands begin at such rows, for all subsamplings and for copies that begin on a line. */
#define STEP 16

/* In rows of luma, even; below 0: all rows depend on all. Chroma at half the height reaches
 * twice as far. */
static gint
halo_of (const CfFilter *filter, CfFormat format, gconstpointer params)
{
  const CfFormatInfo *info = cf_format_info (format);
  gint reach = cf_filter_halo (filter, params), sub = 0;

  for (gint i = 0; i < info->n_components; i++)
    sub = MAX (sub, info->comp[i].h_sub);
  return reach < 0 ? -1 : ((reach << sub) + 1) / 2 * 2;
}

/* Two halos fit into a band, so that a band's picture does not touch the one after the next. */
gboolean
gst_cf_bands_fit (guint n, const CfFilter *filter, const CfVideo *video, gconstpointer params)
{
  gint halo = halo_of (filter, video->format, params), rows = video->height / (gint) n - STEP;

  return !video->interlaced && halo >= 0 && rows >= MAX (2 * halo, 4 * STEP);
}

static gint
first_row (const GstCfBands *bands, guint b)
{
  return MAX (bands->begin[b] - bands->halo, 0);
}

static gint
end_row (const GstCfBands *bands, guint b)
{
  return MIN (bands->begin[b + 1] + bands->halo, bands->begin[bands->n]);
}

gboolean
gst_cf_bands_make (GstCfBands *bands, guint n, CfContext *context, const CfFilter *filter, const CfVideo *video,
    const CfCommon *common, gconstpointer params, CfStatus *status)
{
  gboolean good = TRUE;

  memset (bands, 0, sizeof *bands);
  bands->n = n;
  bands->halo = halo_of (filter, video->format, params);
  for (guint b = 0; b <= n; b++)
    bands->begin[b] = b == n ? video->height : video->height * (gint) b / (gint) n / STEP * STEP;
  for (guint b = 0; good && b < n; b++) {
    CfVideo band = *video;

    band.height = end_row (bands, b) - first_row (bands, b);
    good = (bands->marks[b] = cf_marks_new (status)) != NULL
        && (bands->plan[b] = cf_plan_new (context, filter, &band, common, params, status)) != NULL;
  }
  if (!good)
    gst_cf_bands_free (bands);
  return good;
}

void
gst_cf_bands_free (GstCfBands *bands)
{
  for (guint b = 0; b < bands->n; b++) {
    cf_plan_free (bands->plan[b]);
    cf_marks_free (bands->marks[b]);
  }
  memset (bands, 0, sizeof *bands);
}

static CfCode
upload_band (const GstCfBands *bands, guint b, const GstCfBandsWay *way, CfStatus *status)
{
  gint begin = b == 0 ? 0 : end_row (bands, b - 1), end = end_row (bands, b);
  CfCode code = cf_stream_upload_rows (way->up, way->device_in, way->host_in, begin, end, status);

  return code == CF_OK ? cf_stream_set_mark (way->up, bands->marks[b], UPLOADED, status) : code;
}

static CfCode
filter_band (const GstCfBands *bands, guint b, const GstCfBandsWay *way, CfStatus *status)
{
  gint begin = first_row (bands, b), end = end_row (bands, b);
  CfImage in, out;
  CfCode code = cf_stream_follow (way->kernels, bands->marks[b], UPLOADED, status);

  cf_image_rows (&in, way->device_in, begin, end);
  cf_image_rows (&out, way->device_out[b % 2], begin, end);
  if (code == CF_OK)
    code = cf_plan_enqueue (bands->plan[b], way->kernels, &in, &out, status);
  return code == CF_OK ? cf_stream_set_mark (way->kernels, bands->marks[b], FILTERED, status) : code;
}

static CfCode
download_band (const GstCfBands *bands, guint b, const GstCfBandsWay *way, CfStatus *status)
{
  CfCode code = cf_stream_follow (way->down, bands->marks[b], FILTERED, status);

  return code == CF_OK ? cf_stream_download_rows (way->down, way->host_out, way->device_out[b % 2], bands->begin[b],
      bands->begin[b + 1], status) : code;
}

CfCode
gst_cf_bands_queue (const GstCfBands *bands, const GstCfBandsWay *way, CfStatus *status)
{
  CfCode code = upload_band (bands, 0, way, status);

  for (guint b = 0; code == CF_OK && b < bands->n; b++) {
    if (b + 1 < bands->n)
      code = upload_band (bands, b + 1, way, status);
    if (code == CF_OK)
      code = filter_band (bands, b, way, status);
    if (code == CF_OK)
      code = download_band (bands, b, way, status);
  }
  return code;
}
