/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernelcheck.h: what the files of kernelcheck share. kernelcheck proves a
 * filter's fast code, on either backend, against a reference that is written
 * from the filter's contract and shares nothing with it but the format table.
 *
 * A new filter adds reference_STEM.c with a KcFilter and one row to
 * kc_filters in kernelcheck.c. */
#ifndef TESTS_CHECK_KERNELCHECK_H
#define TESTS_CHECK_KERNELCHECK_H

#include "cf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KC_MAX_FRAMES 24
#define KC_TEXT 320

typedef enum { KC_LOW, KC_HIGH, KC_RANDOM, KC_GRADIENT, KC_SALT, KC_TIES, KC_NATURAL,
  KC_PATCHES, KC_N_CONTENTS } KcContent;

/* How the planes of a picture lie in memory:
 * tight: no padding at all, the last byte ends against a guard page;
 * front: the first byte stands against a guard page, pitch a multiple of 64;
 * odd:   offsets and pitches that are a multiple of the sample size only;
 * wide:  256-byte aligned, a pitch far over the width. */
typedef enum { KC_TIGHT, KC_FRONT, KC_ODD, KC_WIDE, KC_N_LAYOUTS } KcLayout;

/* ---- pictures (image.c) ----------------------------------------------- */

/* A picture in host memory whose every byte is known: what is not a sample is
 * poison that nobody may change. */
typedef struct {
  CfImage image;
  struct {
    uint8_t *map; /* with a guard page on each side */
    size_t map_size;
    uint8_t *base; /* the bytes that belong to the picture */
    size_t size;
  } mem[CF_MAX_PLANES];
} KcPicture;

/* A random number, the next state in `state` (splitmix64). */
uint64_t kc_random (uint64_t *state);
/* false: memory is out. All bytes are poison that `seed` decides. */
bool kc_picture_new (KcPicture *p, const CfVideo *video, KcLayout layout, uint64_t seed);
void kc_picture_free (KcPicture *p);
void kc_picture_poison (KcPicture *p, uint64_t seed);
void kc_picture_fill (KcPicture *p, KcContent content, int frame, uint64_t seed);
const char *kc_content_name (KcContent content);
const char *kc_layout_name (KcLayout layout);
/* One byte of a synthetic camera picture: soft light, edges, texture, noise. */
uint8_t kc_natural (int x, int y, int frame, uint64_t seed);
/* One byte of component `component` of a scene of flat, ramped and noisy
 * patches of colour, with a disc that moves from frame to frame. */
uint8_t kc_patches (int x, int y, int component, int frame, uint64_t seed);

/* ---- samples (samples.c) ------------------------------------------------ */

/* The values of one component of one field, unpacked. */
typedef struct {
  uint32_t *v;
  int w, h;
} KcPlane;

int kc_fields (const CfVideo *video);
/* A field that has no rows gives h = 0. v is NULL when memory is out. */
KcPlane kc_unpack (const CfVideo *video, const CfImage *image, int component, int field);
void kc_pack (const CfVideo *video, const CfImage *image, int component, int field, const KcPlane *plane);
/* Copies a component as it is stored. */
void kc_copy_component (const CfImage *in, const CfImage *out, int component);
bool kc_is_filtered (const CfFormatInfo *info, int component, const CfCommon *common);
/* The value of sample (x, y) of a component of a whole picture, as stored. */
unsigned kc_word (const CfImage *image, int component, int x, int y);
void kc_put_word (const CfImage *image, int component, int x, int y, unsigned word);
int kc_component_width (const CfFormatInfo *info, int component, int width);
int kc_component_height (const CfFormatInfo *info, int component, int height);

typedef struct KcFilter KcFilter;

/* ---- regions (regions.c) ------------------------------------------------ */

/* What the reference tells of a frame's regions: as CfRegions, its label map
 * without padding. A mean that is NAN is not compared. */
typedef struct {
  unsigned n;
  CfRegion *region;
  uint16_t *label;
} KcRegions;

void kc_regions_free (KcRegions *regions);
/* Are they what cf_plan_regions tells? `reports`, `labels`: do the parameters ask
 * for them? If not, `text` says what is wrong. `spoil`: one number is altered
 * before, which must be noticed. */
bool kc_regions_compare (CfPlan *plan, const KcRegions *expected, const CfVideo *video, bool reports, bool labels,
    bool spoil, char *text, size_t size);

/* ---- parameters (params.c) ---------------------------------------------- */

/* Sets "name=value name=value" in a parameter struct. A value goes on to the
 * next word with a '=', so that texts may have spaces ("kernel=1 2 1"); ','
 * between a kernel's numbers does as well. On failure `error` (KC_TEXT bytes)
 * says which part was wrong: CF_UNSUPPORTED for what no parameter can be, and
 * what cf_filter_param_changed answered. */
CfCode kc_params_set (const CfFilter *filter, void *params, const char *text, char *error);
/* Frees a malloc'ed parameter struct with its strings; NULL is nothing. */
void kc_params_free (const CfFilter *filter, void *params);
/* Any int, bool, enum or color parameter by name; `fallback` where there is none. */
int kc_param_int (const CfFilter *filter, const void *params, const char *name, int fallback);
double kc_param_double (const CfFilter *filter, const void *params, const char *name); /* 0 where there is none */
const char *kc_param_text (const CfFilter *filter, const void *params, const char *name); /* NULL where there is none */
/* An enum's value as typed; "" where there is none. */
const char *kc_param_name (const CfFilter *filter, const void *params, const char *name);
/* A random setting that cf_filter_check accepts for this video, as text of
 * KC_TEXT bytes, from the filter's own random_setting or else its table; false
 * if none was found. Where the filter's reference refuses what the check
 * accepts, or the other way round, `error` says so. */
bool kc_params_random (const CfFilter *filter, const CfVideo *video, const CfCommon *common, char *text,
    uint64_t *state, char *error);
/* The KcFilter of a filter; NULL if there is none. */
const KcFilter *kc_filter_of (const CfFilter *filter);

/* ---- filters ------------------------------------------------------------ */

/* Rows of the benchmark: `set` has the size once or twice, as %d. */
typedef struct {
  const char *name, *set, *sizes;
  const char *peer; /* what the peer's library calls it; NULL: it has none */
  const char *streams; /* how many frames at once: "1,8"; NULL: one after the other */
  const char *knob;    /* of the plan, for a study; NULL: none */
  int value;           /* of the knob */
} KcBench;

struct KcFilter {
  const char *stem;
  /* Filters seen[0] into `out`; seen[1..] are the frames before it, n_seen of
   * them in all. false: memory is out. */
  bool (*reference) (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params,
      const CfImage *const *seen, int n_seen, const CfImage *out);
  /* For a filter whose results lean on all frames since a reset, instead of
   * `reference`, which then is this for frames with the same parameters: one
   * frame after the other, each with its own. *state is NULL before the first;
   * `forget` frees it. `told` (may be NULL) is to be freed. NULL: the filter
   * does not follow. */
  bool (*follow) (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params, void **state,
      const CfImage *in, const CfImage *out, KcRegions *told);
  void (*forget) (void *state);
  /* Checks the reference itself; returns the number of failures. NULL: none. */
  int (*check_reference) (void);
  /* Does the reference's own check take these? For parameters in their ranges;
   * NULL: whatever cf_filter_check says. */
  bool (*accepts) (const CfFilter *filter, const CfVideo *video, const void *params);
  /* A random setting as text of `size` bytes; NULL: each parameter by itself. */
  void (*random_setting) (char *text, size_t size, uint64_t *state);
  /* Turns a setting's abbreviations into parameters; to be freed; NULL where
   * there are none. May be NULL. */
  char *(*expand) (const char *text);
  const KcContent *contents;         /* what it is tried on, n_contents of them; NULL: random and others in turn */
  const int *n_contents;
  const char *const *settings;       /* hand-picked, NULL at the end */
  const char *const *rgb_settings;   /* only sound for 8 bit RGB; may be NULL */
  const char *const *frame_settings; /* look at earlier frames; may be NULL */
  const char *const *large_settings; /* for whole 1080p pictures */
  const int (*more_sizes)[2];        /* beside those that every filter meets, 0 at the end; may be NULL */
  const char *const *bad_settings;   /* must be refused */
  const char *const *bad_8bit_settings; /* refused for 8 bit, sound for 16; may be NULL */
  const char *const *sanitize_settings; /* NULL: `settings` */
  const char *right, *wrong;         /* almost alike, for the self-test */
  const KcBench *bench;              /* the benchmark's rows, a NULL set at the end */
  const char *bench_formats;         /* "GRAY8,RGBA" */
  const char *bench_resolutions;     /* NULL: "1080p,4k" */
};

extern const KcFilter kc_median, kc_convolve, kc_irfilter, kc_segment;
extern const KcFilter *const kc_filters[]; /* NULL at the end */

/* ---- cases (run.c) ------------------------------------------------------ */

/* What the self-test breaks on purpose after a real enqueue. */
typedef enum {
  KC_BREAK_NOTHING,
  KC_BREAK_LAST_SAMPLE, /* last row, last column */
  KC_BREAK_FIRST_SAMPLE,
  KC_BREAK_PADDING,     /* the byte behind a row's end */
  KC_BREAK_INPUT,       /* the input is written */
  KC_BREAK_SKIP,        /* nothing is enqueued */
  KC_BREAK_PARAMS,      /* the filter's `wrong` setting runs instead */
  KC_BREAK_REGION,      /* what is told of the regions; only where a filter follows */
  KC_N_BREAKS
} KcBreak;

/* One case. The script is what happens to the plan, a letter a step:
 * E enqueue a new frame and compare, R remember a new frame, X reset,
 * U update to `then`, B try to update to a bad value (must change nothing). */
typedef struct {
  unsigned number;
  uint64_t seed;
  const KcFilter *kc;
  const CfFilter *filter;
  char set[KC_TEXT], then[KC_TEXT];
  CfCommon common;
  CfVideo video;
  KcContent content;
  KcLayout layout;
  const char *script;
  bool mapped;       /* CUDA: pinned host memory instead of device memory */
  bool one_variant;  /* only the variant that the plan chooses */
  KcBreak broken;
} KcCase;

typedef struct {
  bool cpu, gpu, require_gpu, quick, full, sanitize, self_test, schedule, segment, one_thread, verbose;
  uint64_t seed;
  long only;          /* --case; -1 = all */
  long frames;        /* --frames; 0 = as many as is usual */
  int jobs, job;      /* --jobs: how many processes share the cases, and which one this is; 0: one does all */
  const char *filter; /* --filter; NULL = all */
  const char *isa;    /* --isa; NULL = every one that the machine has */
} KcOptions;

typedef struct {
  KcOptions options;
  CfContext *cpu, *gpu;
  CfStream *stream;
  unsigned long passed, failed, skipped, cases, frames, launches;
  unsigned number;
} KcRun;

/* Runs one case on every backend and variant of the run and counts it; where
 * it is broken on purpose, being reported is what passes. */
void kc_case_run (KcRun *run, KcCase *c);
/* Is case `number` for this process, and one that was asked for? */
bool kc_is_ours (const KcRun *run, unsigned number);
/* Adds one result with a printed sentence when it failed. */
void kc_result (KcRun *run, bool good, const char *format, ...) __attribute__ ((format (printf, 3, 4)));
/* Prints the variants that ran; false if one that was listed never ran. */
bool kc_variants_report (KcRun *run);
/* What ran, from one process to another; false: it did not come. */
bool kc_variants_send (int descriptor);
bool kc_variants_receive (int descriptor);
/* Does this process do what is not a case, and is done once? */
static inline bool
kc_is_first_job (const KcRun *run)
{
  return run->options.job == 0;
}

/* Runs `work` in run->options.jobs processes at once, each of which takes its
 * share of the cases, and adds up what they counted (jobs.c). */
void kc_jobs (KcRun *run, void (*work) (void));

/* ---- the rest ----------------------------------------------------------- */

void kc_contract (KcRun *run);                         /* contract.c */
void kc_sweep (KcRun *run, const KcFilter *filter);    /* sweep.c */
void kc_self_test (KcRun *run, const KcFilter *filter);
void kc_schedule (KcRun *run);                         /* schedule.c */
void kc_steady (KcRun *run);                           /* steady.c */
int kc_raw_main (int argc, char **argv);               /* raw.c */
int kc_bench_main (int argc, char **argv);             /* bench_gpu.cu or no_bench.c */

/* Device memory of `size` bytes <-> host memory (device.c). */
bool kc_upload (KcRun *run, void *device, const void *host, size_t size, CfStatus *status);
bool kc_download (KcRun *run, void *host, const void *device, size_t size, CfStatus *status);

#ifdef __cplusplus
}
#endif
#endif
