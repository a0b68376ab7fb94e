/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcfgpu.h: everything one element instance owns on the GPU, and one frame's
 * way through it. All functions make the context current themselves. */
#ifndef GST_CF_GPU_H
#define GST_CF_GPU_H

#include "gstcfchain.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

/* How the lines of a frame are filtered; a plan each. */
typedef enum { GST_CF_PROGRESSIVE, GST_CF_INTERLACED, GST_CF_N_MODES } GstCfMode;

typedef struct {
  GstObject *context; /* NULL: not open */
  CfContext *cf;
  CfStream *stream;
  CfPlan *plan[GST_CF_N_MODES]; /* NULL: this mode does not occur */
  /* One frame's way, allocated when the caps are known: frames in memory that
   * the GPU does not reach go through host_in and host_out. */
  gpointer memory_in, memory_out, memory_host_in, memory_host_out;
  CfImage device_in, device_out, host_in, host_out;
  gboolean warm; /* a frame has come back since the plans were made */
} GstCfGpu;

typedef struct {
  GstCfMode mode;
  const CfImage *in, *out;
  gboolean in_device, out_device; /* device addresses */
  gboolean in_pinned, out_pinned; /* host addresses that the GPU reaches */
  GstCfChain *chain;
  GstBuffer *in_buffer, *out_buffer; /* whose pictures these are, for the chain */
  gboolean leave;                    /* the frame may leave before the GPU is done */
  CfRegions *regions; /* NULL: nobody wants them; else filled, with what stays the plan's until its next call */
  gboolean timed;                   /* private: the marks are set */
  guint64 upload, kernel, download; /* out: ns; of a frame that leaves unfinished: of an earlier one, or 0 */
} GstCfGpuJob;

/* Takes a reference to `context`. Loads the kernels. */
gboolean gst_cf_gpu_open (GstCfGpu *gpu, GstObject *context, CfStatus *status);
/* Frees everything; where the GPU is lost or hangs, see gst_cf_gpu_abandon. */
void gst_cf_gpu_close (GstCfGpu *gpu);
/* Forgets everything but leaves it where it is: the GPU may still use it.
 * Returns how many things were given up. */
guint gst_cf_gpu_abandon (GstCfGpu *gpu);

/* Plans for `modes` (bits 1 << GstCfMode) and all memory. */
gboolean gst_cf_gpu_configure (GstCfGpu *gpu, const CfFilter *filter, const GstVideoInfo *info, CfFormat format,
    guint modes, const CfCommon *common, gconstpointer params, CfStatus *status);
void gst_cf_gpu_unconfigure (GstCfGpu *gpu);
gboolean gst_cf_gpu_update (GstCfGpu *gpu, const CfFilter *filter, const GstVideoInfo *info, CfFormat format,
    const CfCommon *common, gconstpointer params, CfStatus *status);
gboolean gst_cf_gpu_reset (GstCfGpu *gpu, CfStatus *status);

/* One frame, finished on return, unless it may leave before. After CF_TIMEOUT the GPU may still use the
 * job's pictures and everything in `gpu`. */
CfCode gst_cf_gpu_run (GstCfGpu *gpu, GstCfGpuJob *job, gboolean history, CfStatus *status);

/* Updates one plan, or makes it anew where the parameters ask for that. */
gboolean gst_cf_plan_update (CfPlan **plan, CfContext *context, const CfFilter *filter, const CfVideo *video,
    const CfCommon *common, gconstpointer params, CfStatus *status);

G_END_DECLS
#endif
