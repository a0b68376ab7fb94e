/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * core/filter.h: what the filters share inside cuda/: the descriptor, the plan
 * as a filter sees it, and views (one component of one field of a picture). */
#ifndef CF_CORE_FILTER_H
#define CF_CORE_FILTER_H

#include "cf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One component of one field of a picture, which is what a filter works on:
 * sample (x, y) is the `bytes`-wide word at
 *   data + y * pitch + x * step * bytes        x < width, y < height
 * and its value is min (word >> shift, (1 << bits) - 1). */
typedef struct {
  uint8_t *data;
  size_t pitch; /* bytes; twice the plane's for a field */
  int width, height;
  uint8_t step, bytes, shift, bits;
  uint8_t component; /* index in CfFormatInfo.comp */
  uint8_t plane;
  uint8_t field;
  bool filtered; /* false: copy the stored words as they are */
} CfView;

#define CF_MAX_VIEWS 8 /* 4 components x 2 fields */

/* Lists the views of `image`, in the order component, field; empty ones (a
 * second field of a one-row picture) are left out. Returns how many. */
int cf_image_views (const CfVideo *video, const CfCommon *common, const CfImage *image, CfView views[CF_MAX_VIEWS]);

/* What a filter does on one backend. `plan->state` is the filter's own.
 * Functions may be NULL where there is nothing to do, except enqueue. */
typedef struct {
  CfCode (*init) (CfPlan *plan, CfStatus *status);   /* allocate, choose */
  CfCode (*update) (CfPlan *plan, CfStatus *status); /* plan->params are new, already checked */
  CfCode (*enqueue) (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status);
  CfCode (*push_history) (CfPlan *plan, CfStream *stream, const CfImage *in, CfStatus *status);
  void (*reset) (CfPlan *plan);
  void (*free) (CfPlan *plan);
  const char *(*variant) (const CfPlan *plan);
  const char *(*variant_name) (const CfPlan *plan, unsigned i);
  CfCode (*prefer) (CfPlan *plan, const char *variant, CfStatus *status);
  CfCode (*set_override) (CfPlan *plan, const char *name, int value, CfStatus *status);
  CfCode (*trace) (CfPlan *plan, CfStream *stream, int *table, size_t size, int *rows, int *columns, CfStatus *status);
  CfCode (*regions) (CfPlan *plan, CfRegions *regions, CfStatus *status);
} CfOps;

struct CfFilter {
  const char *stem;
  const CfParam *params;
  unsigned n_params;
  size_t params_size;
  /* What the table's ranges cannot say: oddness, combinations. Called after
   * the ranges were checked; `video` may be NULL. */
  CfCode (*check) (const CfVideo *video, const CfCommon *common, const void *params, CfStatus *status);
  /* cf_filter_param_changed and cf_filter_passes; NULL: nothing follows, and never. */
  CfCode (*changed) (void *params, unsigned row, CfStatus *status);
  bool (*passes) (const CfVideo *video, const CfCommon *common, const void *params);
  int (*history) (const void *params); /* NULL = 0 */
  int (*halo) (const void *params);   /* cf_filter_halo of one frame; NULL = -1 */
  bool whole_frames; /* cf_filter_whole_frames, and the other two; NULL: never */
  bool (*follows) (const void *params);
  bool (*reports) (const void *params);
  /* Do these parameters need a new plan, given the old ones? NULL = never. */
  bool (*replan) (const void *old_params, const void *new_params);
  const CfOps *cpu;
  const CfOps *cuda; /* NULL in a build without CUDA */
};

struct CfContext {
  CfBackend backend;
  int device; /* CUDA: the current context's device */
  int sms, major, minor;
  int max_shared; /* CUDA: bytes of shared memory a block may opt in to */
};

struct CfPlan {
  CfContext *context;
  const CfFilter *filter;
  const CfOps *ops;
  CfVideo video;
  CfCommon common;
  void *params; /* params_size bytes; strings are the plan's own copies */
  void *state;  /* the filter's */
};

/* Fills `status` (which may be NULL) and returns `code`. */
CfCode cf_fail (CfStatus *status, CfCode code, const char *format, ...) __attribute__ ((format (printf, 3, 4)));

/* Does apply-to leave something of this video to be filtered? GRAY8 has no chroma. */
bool cf_any_filtered (const CfVideo *video, const CfCommon *common);

/* CF_BAD_VALUE and a sentence with the next odd ones where `value` is even; for
 * a parameter of that name that goes up to `max`. */
CfCode cf_check_odd (const char *name, int value, int max, CfStatus *status);

/* For CfOps.prefer of a filter that numbers its variants in an int, -1 for none:
 * sets `*preferred` to the one of that name (NULL: -1) and calls `update`; where
 * that fails, all is as before. CF_UNSUPPORTED for a name that is none. */
CfCode cf_plan_prefer_number (CfPlan *plan, const char *name, int *preferred,
    CfCode (*update) (CfPlan *plan, CfStatus *status), CfStatus *status);

/* Device layer, as the filters' .cu files use it (core/gpu/device.c, core/gpu/launch.cuh). */

/* Turns a cudaError_t into a status: `what` says what was tried. Remembers
 * sticky errors for cf_gpu_lost. CF_OK for 0. */
CfCode cf_cuda_check (int error, const char *what, CfStatus *status);
/* Counts a launch and checks it; call right behind every <<<>>>. */
CfCode cf_cuda_launched (const char *kernel, CfStatus *status);
/* Freeing and allocating wait for the device: may they be called? Not while it hangs, nor
 * after a sticky error. */
bool cf_cuda_usable (void);
/* The work of this cudaStream_t did not end in time. */
void cf_cuda_hangs (void *stream);
/* The cudaStream_t inside. */
void *cf_stream_handle (const CfStream *stream);
/* Device part of cf_context_new. */
CfCode cf_cuda_context_init (CfContext *context, CfStatus *status);

#ifdef __cplusplus
}
#endif
#endif
