/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * transfer/transfer.h: everything one element instance owns on the GPU, and one frame's
 * way through it: submit queues it, finish waits for it. All functions make the
 * context current themselves.
 *
 * Threads. One thread at a time uses a GstCfGpu, except that while frames are
 * under way one thread may submit and another finish earlier ones. */
#ifndef GST_TRANSFER_TRANSFER_H
#define GST_TRANSFER_TRANSFER_H

#include "slices.h"
#include "chain.h"
#include "trial.h"
#include "linkslots.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

/* How the lines of a frame are filtered; a plan each. */
typedef enum { GST_CF_PROGRESSIVE, GST_CF_INTERLACED, GST_CF_N_MODES } GstCfMode;

#define GST_CF_MAX_IN_FLIGHT 8

/* What one frame under way needs for itself, allocated when a frame first needs
 * it: frames in memory that the GPU does not reach go through host_in and host_out. */
typedef struct {
  gpointer memory_in, memory_out, memory_host_in, memory_host_out;
  CfImage device_in, device_out, host_in, host_out;
  CfMarks *marks;
  gboolean left; /* a frame has left from here since something was uploaded here */
} GstCfGpuSlot;

typedef struct {
  GstObject *context; /* NULL: not open */
  CfContext *cf;
  GstCfTurns *turns;   /* with the streams of frames that the CPU waits for one at a time */
  /* Of frames that overlap; else NULL. The kernels of all, in their order, where they have no stream of a chain;
   * uploads; and downloads, which may be on two by turns. */
  CfStream *stream, *up, *down[2];
  const CfMarks *before; /* of the frame that was queued last */
  CfPlan *plan[GST_CF_N_MODES]; /* NULL: this mode does not occur */
  guint n_slots;
  GstCfGpuSlot slot[GST_CF_MAX_IN_FLIGHT];
  CfImage layout;      /* of the slots' pictures, */
  gsize bytes;         /* and of one of them */
  guint frames;        /* that were queued and did not leave */
  gboolean configured; /* the plans are there */
  gboolean warm;       /* a frame has come back since the plans were made */
  GstCfTrial trial;
  GstCfBands bands[2]; /* for GST_CF_BANDS_2 and GST_CF_BANDS_4, when they are first used */
  gboolean no_bands;   /* they could not be made */
  gpointer memory_bands; /* a second picture for them to filter into */
  CfImage device_bands;
} GstCfGpu;

typedef struct {
  guint slot;
  GstCfMode mode;
  const CfFilter *filter; /* for bands: what the plans were made of */
  const CfCommon *common;
  gconstpointer params;
  const CfImage *in, *out;
  gboolean in_device, out_device; /* device addresses */
  gboolean in_pinned, out_pinned; /* host addresses that the GPU reaches */
  GstCfChain *chain;
  GstBuffer *in_buffer, *out_buffer; /* whose pictures these are, for the chain */
  gboolean leave;     /* the frame is finished before the GPU is done: nobody waits for it here */
  CfRegions *regions; /* NULL: nobody wants them; else filled, with what stays the plan's until its next call */
  CfStream *stream;   /* out, of submit: that of the kernels, */
  CfStream *up, *down; /* private: and of a frame in bands of its copies */
  guint64 start, took; /* private: when it was queued, and how long it was on its way, ns */
  gboolean timed;     /* private: its marks are set, or the chain's */
  gboolean in_turn, alone; /* private: it has one, and nobody else had one then; */
  guint turn;         /* private: this */
  GstCfTicket ticket; /* private: what is done when this is finished */
  GstCfWay way;       /* out, of submit */
  gboolean decided;   /* out, of finish: this frame was the last one of the trial */
  /* out, of finish: ns, 0 where it did not happen or was not timed; of a frame that leaves unfinished: of an
   * earlier one, or 0 */
  guint64 upload, kernel, download;
} GstCfGpuJob;

/* Takes a reference to `context`. Loads the kernels. `slots`: frames that may be
 * under way at a time. */
gboolean gst_cf_gpu_open (GstCfGpu *gpu, GstObject *context, guint slots, CfStatus *status);
/* Frees everything; where the GPU is lost or hangs, see gst_cf_gpu_abandon. */
void gst_cf_gpu_close (GstCfGpu *gpu);
/* Forgets everything but leaves it where it is: the GPU may still use it.
 * Returns how many things were given up. */
guint gst_cf_gpu_abandon (GstCfGpu *gpu);

/* Plans for `modes` (bits 1 << GstCfMode). */
gboolean gst_cf_gpu_configure (GstCfGpu *gpu, const CfFilter *filter, const GstVideoInfo *info, CfFormat format,
    guint modes, const CfCommon *common, gconstpointer params, CfStatus *status);
void gst_cf_gpu_unconfigure (GstCfGpu *gpu);
gboolean gst_cf_gpu_update (GstCfGpu *gpu, const CfFilter *filter, const GstVideoInfo *info, CfFormat format,
    const CfCommon *common, gconstpointer params, CfStatus *status);
gboolean gst_cf_gpu_reset (GstCfGpu *gpu, CfStatus *status);

/* Queues one frame; the pictures have to stay until it is finished. Where it
 * fails, what there was of it is over on return, but after CF_TIMEOUT, see below.
 * With one slot the context stays current until the frame is finished, by the
 * same thread. */
CfCode gst_cf_gpu_submit (GstCfGpu *gpu, GstCfGpuJob *job, gboolean history, CfStatus *status);
/* Waits for a frame that was submitted; frames are finished in their order.
 * After CF_TIMEOUT the GPU may still use the pictures of all frames under way
 * and everything in `gpu`. */
CfCode gst_cf_gpu_finish (GstCfGpu *gpu, GstCfGpuJob *job, CfStatus *status);

/* Updates one plan, or makes it anew where the parameters ask for that. */
gboolean gst_cf_plan_update (CfPlan **plan, CfContext *context, const CfFilter *filter, const CfVideo *video,
    const CfCommon *common, gconstpointer params, CfStatus *status);

G_END_DECLS
#endif
