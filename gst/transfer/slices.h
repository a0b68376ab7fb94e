/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * transfer/slices.h: one frame in bands of rows, so that its own upload, kernels and
 * download overlap: for who waits for one frame at a time.
 *
 * The rows that a band's pixels depend on (cf_filter_halo) are filtered with
 * it and thrown away, which makes every band the same bytes as the whole frame.
 * Neighbours write into two pictures by turns: what one throws away may lie
 * where the other's rows are.
 *
 * One thread at a time, with the context current. */
#ifndef GST_TRANSFER_SLICES_H
#define GST_TRANSFER_SLICES_H

#include "cf.h"

#include <glib.h>

G_BEGIN_DECLS

#define GST_CF_MAX_BANDS 4

typedef struct {
  guint n;                          /* 0: not made */
  gint begin[GST_CF_MAX_BANDS + 1]; /* rows; band b ends before begin[b + 1] */
  gint halo;                        /* rows more on either side */
  CfPlan *plan[GST_CF_MAX_BANDS];
  CfMarks *marks[GST_CF_MAX_BANDS]; /* the band is uploaded; it is filtered */
} GstCfBands;

/* Where a frame goes through: the same picture in host memory, in device memory, filtered
 * into two pictures in device memory, and back in host memory. */
typedef struct {
  CfStream *up, *kernels, *down;
  const CfImage *host_in, *device_in, *device_out[2], *host_out;
} GstCfBandsWay;

/* Can a video be cut into so many? Not where its rows depend on too many others. */
gboolean gst_cf_bands_fit (guint n, const CfFilter *filter, const CfVideo *video, gconstpointer params);
gboolean gst_cf_bands_make (GstCfBands *bands, guint n, CfContext *context, const CfFilter *filter,
    const CfVideo *video, const CfCommon *common, gconstpointer params, CfStatus *status);
void gst_cf_bands_free (GstCfBands *bands);

/* Queues a whole frame: each band is uploaded while the one before is filtered, and that
 * one downloaded meanwhile. All is done when the stream `down` is. */
CfCode gst_cf_bands_queue (const GstCfBands *bands, const GstCfBandsWay *way, CfStatus *status);

G_END_DECLS
#endif
