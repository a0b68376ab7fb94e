/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/filter.h: what a filter and the core share: the filter's descriptor, a plan as the filter sees
 * it, and views (one component of one field of an image). */
#ifndef CF_CORE_FILTER_H
#define CF_CORE_FILTER_H

#include "cf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One component of one field of an image, which is what a filter works on: sample (x, y) is the
 * `bytes`-wide word at
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

/* Lists the views of `image`, in the order component, field, without empty ones (the second field of
 * an image of one row). Returns how many. */
int cf_image_views (const CfVideo *video, const CfCommon *common, const CfImage *image, CfView views[CF_MAX_VIEWS]);
/* Sets `rows` to the rows begin..end - 1 of an image; `begin` is on a row of all planes. */
void cf_image_rows (CfImage *rows, const CfImage *image, int begin, int end);

/* A filter's functions on one backend. `plan->state` belongs to the filter. Every function but
 * `enqueue` may be NULL: then there is nothing to do. */
typedef struct {
  CfCode (*init) (CfPlan *plan, CfStatus *status);   /* allocates, chooses the variant */
  CfCode (*update) (CfPlan *plan, CfStatus *status); /* plan->params are new and checked */
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
  CfFilterInfo info;
  size_t params_size; /* bytes of the parameter block */
  /* Checks what the ranges of the table cannot say: oddness, combinations. Called after the ranges
   * were checked; `video` may be NULL. NULL: nothing more to check. */
  CfCode (*check) (const CfVideo *video, const CfCommon *common, const void *params, CfStatus *status);
  /* Does what setting row `row` implies for other rows (cf_params_set). NULL: nothing. */
  CfCode (*changed) (void *params, unsigned row, CfStatus *status);
  /* Fills the traits, which begin as { .halo = -1 }. NULL: they stay so. `video` may be NULL. */
  void (*traits) (const CfVideo *video, const CfCommon *common, const void *params, CfTraits *traits);
  /* Returns whether the new parameters need a new plan. NULL: never. */
  bool (*replan) (const void *old_params, const void *new_params);
  const CfOps *cpu;
  const CfOps *cuda; /* NULL in a build without CUDA */
};

struct CfContext {
  CfBackend backend;
  int device; /* CUDA: the current context's device */
  int sms, major, minor;
  int max_shared; /* CUDA: bytes of shared memory that a block may opt in to */
};

struct CfPlan {
  CfContext *context;
  const CfFilter *filter;
  const CfOps *ops;
  CfVideo video;
  CfCommon common;
  void *params; /* the plan's own block */
  void *state;  /* the filter's */
};

/* Returns whether apply-to leaves any component of this video to be filtered. GRAY8 has no chroma. */
bool cf_any_filtered (const CfVideo *video, const CfCommon *common);

/* Returns CF_BAD_VALUE and a sentence with the next odd values where `value` is even; for a
 * parameter of that name whose maximum is `max`. */
CfCode cf_check_odd (const char *name, int value, int max, CfStatus *status);

/* CfOps.prefer of a filter that keeps its preferred variant as a number, -1 for none: sets `*preferred`
 * to the variant of that name (NULL: -1) and calls `update`; where that fails, restores what was.
 * CF_UNSUPPORTED for a name that no variant has. */
CfCode cf_plan_prefer_number (CfPlan *plan, const char *name, int *preferred,
    CfCode (*update) (CfPlan *plan, CfStatus *status), CfStatus *status);

#ifdef __cplusplus
}
#endif
#endif
