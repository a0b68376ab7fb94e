/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/filter.h: the interface between the core and the filters: a filter's descriptor, the fields of a plan, and views
 * (one component of one field of an image). */
#ifndef CF_CORE_FILTER_H
#define CF_CORE_FILTER_H

#include "cf.h"

CF_BEGIN_DECLS

/* One component of one field of an image, the unit that filters process. Sample (x, y) is the `bytes`-wide word at
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

static inline int
cf_min (int a, int b)
{
  return a < b ? a : b;
}

static inline int
cf_max (int a, int b)
{
  return a > b ? a : b;
}

/* Returns how many parts a whole has, the last of which may be smaller. */
static inline int
cf_divide_up (int whole, int part)
{
  return (whole + part - 1) / part;
}

/* Lists the views of `image` in the order component, field, without empty ones (the second field of an image of one
 * row). Returns their number. */
int cf_image_views (const CfVideo *video, const CfCommon *common, const CfImage *image, CfView views[CF_MAX_VIEWS]);
/* Copies the words of the rows begin..end - 1 of a view as they are. */
void cf_view_copy (const CfView *to, const CfView *from, int begin, int end);
/* Sets `rows` to the rows begin..end - 1 of an image; a row of each plane begins at `begin`. */
void cf_image_rows (CfImage *rows, const CfImage *image, int begin, int end);
/* Sets `part` to a rectangle of an image. A sample of each component must begin at its first pixel. */
void cf_image_part (CfImage *part, const CfImage *image, const CfRect *rect);
/* Copies a whole image, as cf_image_copy. */
void cf_image_copy_whole (const CfImage *to, const CfImage *from);

/* A filter's functions on one backend. `plan->state` belongs to the filter: state_size bytes, cleared before init and
 * freed after free. Every function except `enqueue` may be NULL if the filter needs none. `status` is never NULL in
 * init, update and set_override. */
typedef struct {
  size_t state_size;
  CfCode (*init) (CfPlan *plan, CfStatus *status);   /* allocates and chooses the variant */
  CfCode (*update) (CfPlan *plan, CfStatus *status); /* after a change of plan->params, which are checked */
  CfCode (*enqueue) (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status);
  /* Filters the boxes of an area, each as a frame of its own, at once; with `copies`, where all boxes have a
   * CfBox.full, also copies what is beside these. Writes CfBox.full of a box, all of one that has none. Only anchored
   * filters have it. `out` may be `in`. NULL: `enqueue` filters one box after the other. */
  CfCode (*enqueue_boxes) (CfPlan *plan, CfStream *stream, const CfArea *area, bool copies, const CfImage *in,
      const CfImage *out, CfStatus *status);
  CfCode (*push_history) (CfPlan *plan, CfStream *stream, const CfImage *in, CfStatus *status);
  /* After plan->video has got another size, which is not larger than at init: called before the frames of that size.
   * Only for filters with a halo. NULL: `enqueue` takes the size from there by itself. */
  void (*resize) (CfPlan *plan);
  void (*reset) (CfPlan *plan);
  void (*free) (CfPlan *plan);
  const char *const *variants; /* names, NULL behind the last; NULL: there is one variant. See CfPlan.variant */
  CfCode (*set_override) (CfPlan *plan, const char *name, int value, CfStatus *status);
  CfCode (*trace) (CfPlan *plan, CfStream *stream, int *table, size_t size, int *rows, int *columns, CfStatus *status);
  CfCode (*regions) (CfPlan *plan, CfRegions *regions, CfStatus *status);
  bool (*noise) (CfPlan *plan, double noise[CF_NOISE_ZONES]); /* cf_plan_noise */
} CfOps;

struct CfFilter {
  CfFilterInfo info;
  size_t params_size; /* bytes of the parameter block */
  /* Checks what the ranges of the table cannot express: oddness, combinations. Called after the check of the ranges;
   * `video` may be NULL. NULL: no further checks. */
  CfCode (*check) (const CfVideo *video, const CfCommon *common, const void *params, CfStatus *status);
  /* Fills the message of `status` (with CF_OK) where parameters that are accepted can hardly mean what the user wants;
   * `video` may be NULL. NULL: no advice. */
  void (*advise) (const CfVideo *video, const void *params, CfStatus *status);
  /* Updates other rows after row `row` was set (cf_params_set); `status` is never NULL. NULL: rows are independent. */
  CfCode (*changed) (void *params, unsigned row, CfStatus *status);
  /* Returns the filter whose traits and functions count: with some parameters another one, which shares this one's
   * table and checks. NULL: this one. */
  const CfFilter *(*method) (const void *params);
  /* Fills the traits, which are { .halo = -1 } on entry. NULL: keeps them. `video` may be NULL. */
  void (*traits) (const CfVideo *video, const CfCommon *common, const void *params, CfTraits *traits);
  const CfOps *cpu;
  const CfOps *cuda; /* NULL in a build without CUDA */
};

struct CfContext {
  CfBackend backend;
  int device; /* CUDA: the device of the current context */
  int sms;
  int max_shared; /* CUDA: bytes of shared memory that a block may opt in to */
  bool dependent; /* CUDA: the build's kernels wait by themselves for what was queued before (griddep_wait ()) */
};

struct CfPlan {
  CfContext *context;
  const CfFilter *filter;
  const CfOps *ops;
  CfVideo video;
  CfCommon common;
  void *params; /* the plan's own block */
  void *state;  /* owned by the filter */
  /* Indices into CfOps.variants: the variant that cf_plan_prefer asks for, -1: none; and the one that the next enqueue
   * takes, which init and update set. An update with a preference that is not possible fails with CF_UNSUPPORTED. */
  int preferred, variant;
  /* CUDA: a copy of the map of the area that was filtered last, and its number. Maps are uploaded from two buffers in
   * turn, each of which is written again when its last upload has ended. */
  void *map;
  uint64_t map_number;
  struct {
    void *memory; /* pinned */
    CfEvents *uploaded;
    bool queued; /* an upload was */
  } pinned_map[2];
  unsigned next_map;
  void *sheets; /* CUDA: two images of the plan's size, allocated when an area first needs them (plan.c) */
  /* The format of the images if it is a packed one, which the filter does not see: then `video` has the format of
   * planes, and `planes` are the images that the filter reads and writes. */
  CfFormat packed;
  CfImage planes[2];
  void *planes_memory;
};

/* Returns the video that a filter sees: that of planes in place of a packed one. */
CfVideo cf_unpacked_video (const CfVideo *video);
/* Takes pixels apart, or puts them together: one image has a packed format, the other one its format of planes. What
 * is put together takes its alpha from `alpha`, which has the packed format. Host memory. */
void cf_repack (const CfImage *from, const CfImage *alpha, const CfImage *to);

/* Sets the levels of a colour 0xAARRGGBB, as CfColors says: Y, Cb, Cr, or for RGB formats R, G, B. */
void cf_color_levels (const CfColors *colors, bool rgb, uint32_t argb, int level[3]);

/* Returns whether apply-to selects any component of this video: GRAY8 has no chroma. */
bool cf_any_filtered (const CfVideo *video, const CfCommon *common);

/* Checks the text of zones (cf_zones_new). */
CfCode cf_zones_check (const char *text, CfStatus *status);

/* Returns CF_BAD_VALUE, with a message that names the nearest odd values, if `value` is even. `name` and `max` are
 * those of the parameter. */
CfCode cf_check_odd (const char *name, int value, int max, CfStatus *status);

CF_END_DECLS
#endif
