/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * kernelcheck.h: what the files of kernelcheck share. kernelcheck proves a filter's fast code, on either backend,
 * against a reference implementation. The reference is written from the filter's contract and shares nothing with the
 * filter but the format table. Memory comes from GLib, which ends the process where none is left.
 *
 * A filter has its KcFilter, kc_STEM, in tests/reference/STEM.c. */
#ifndef TESTS_CHECK_KERNELCHECK_H
#define TESTS_CHECK_KERNELCHECK_H

#include "cf-test.h"

#include <glib.h>

/* Has a loop of a reference compiled for newer processors, too; which one runs is chosen when the program starts. The
 * results are the same. */
#if defined __x86_64__ && defined __gnu_linux__ && !defined __clang__ && !defined __SANITIZE_ADDRESS__
#define KC_VECTORS __attribute__ ((target_clones ("arch=skylake-avx512", "avx2", "default")))
#else
#define KC_VECTORS
#endif

#define KC_MAX_FRAMES 200
#define KC_TEXT 320
#define KC_MAX_VARIANTS 512

typedef enum {
  KC_LOW,
  KC_HIGH,
  KC_RANDOM,
  KC_GRADIENT,
  KC_SALT,
  KC_TIES,
  KC_NATURAL,
  KC_PATCHES,
  KC_DRAWN, /* KcFilter.draw */
  KC_N_CONTENTS
} KcContent;

/* How the planes of an image lie in memory:
 * tight: no padding at all; the last byte ends at a guard page;
 * front: the first byte follows a guard page; the pitch is a multiple of 64;
 * odd:   offsets and pitches are multiples of the sample size only;
 * wide:  planes are 256-byte aligned; the pitch is far larger than a row. */
typedef enum { KC_TIGHT, KC_FRONT, KC_ODD, KC_WIDE, KC_N_LAYOUTS } KcLayout;

/* ---- images (image.c) ------------------------------------------------- */

/* An image in host memory. Every byte that is not a sample is poison, so that a write beside the samples is seen. */
typedef struct {
  CfImage image;
  struct {
    uint8_t *map; /* with a guard page on each side */
    size_t map_size;
    uint8_t *base; /* the bytes that belong to the image */
    size_t size;
  } mem[CF_MAX_PLANES];
} KcImage;

/* Returns a random number and leaves the next state in `state` (splitmix64). */
uint64_t kc_random (uint64_t *state);
/* Returns a random number from 0 to below 1. */
double kc_random_double (uint64_t *state);
/* Returns the largest integer whose square is not larger. */
int64_t kc_root (int64_t square);
/* Allocates an image and fills all its bytes with poison derived from `seed`. */
void kc_image_new (KcImage *p, const CfVideo *video, KcLayout layout, uint64_t seed);
/* Allocates an image with the layout and the bytes of another one. */
void kc_image_copy (KcImage *p, const KcImage *from);
void kc_image_free (KcImage *p);
void kc_image_poison (KcImage *p, uint64_t seed);
void kc_image_fill (KcImage *p, KcContent content, int frame, uint64_t seed);
/* Returns one byte of a synthetic camera frame: slow gradient, hard edges, texture, sensor noise. */
uint8_t kc_natural (int x, int y, int frame, uint64_t seed);

/* ---- samples (samples.c) ------------------------------------------------ */

/* The samples of one component of one field, unpacked, row by row without padding; h is 0 for a field without rows. */
typedef struct {
  uint32_t *v;
  int w, h;
} KcPlane;

int kc_fields (const CfVideo *video);
/* Unpacks a component of a field; the caller frees `v`. */
KcPlane kc_unpack (const CfVideo *video, const CfImage *image, int component, int field);
void kc_pack (const CfVideo *video, const CfImage *image, int component, int field, const KcPlane *plane);
/* Sets components[] to those of red, green and blue. */
void kc_rgb_components (const CfFormatInfo *info, int components[3]);
/* Copies a component word by word, as it is stored. */
void kc_copy_component (const CfImage *in, const CfImage *out, int component);
bool kc_is_filtered (const CfFormatInfo *info, int component, const CfCommon *common);
/* Returns Y, Cb, Cr (k = 0, 1, 2), or for RGB formats R, G, B, of a colour 0xAARRGGBB, by the contract of CfColors. */
uint32_t kc_color_level (const CfColors *colors, bool rgb, uint32_t argb, int k);
/* Returns the word stored for sample (x, y) of a component of a whole image. */
unsigned kc_word (const CfImage *image, int component, int x, int y);
void kc_put_word (const CfImage *image, int component, int x, int y, unsigned word);
/* Returns whether two images have the same stored words in all components. */
bool kc_same_words (const CfVideo *video, const CfImage *a, const CfImage *b);
/* Compares samples with those that `what` must give, and prints both where they differ, or where `good` is false.
 * Returns the number of failures: 0 or 1. */
int kc_wrong_samples (const char *what, bool good, const uint32_t *got, const uint32_t *expected, int n);
int kc_component_width (const CfFormatInfo *info, int component, int width);
int kc_component_height (const CfFormatInfo *info, int component, int height);

typedef struct KcFilter KcFilter;

/* ---- regions (regions.c) ------------------------------------------------ */

/* The regions of a frame as the reference computes them: as CfRegions, but the label map has no padding. A mean that is
 * NAN is not compared. */
typedef struct {
  unsigned n;
  CfRegion *region;
  uint16_t *label;
  bool unknown;
  CfScene scene; /* of a filter that looks at scenes */
} KcRegions;

void kc_regions_free (KcRegions *regions);
/* Compares the plan's regions (cf_plan_regions) with `expected`. `reports` and `labels` say whether the parameters ask
 * for regions and for the label map. Returns false and writes the difference to `text` if they disagree. `corrupt`:
 * alters one number first, for the self-test; the comparison must then fail. */
bool kc_regions_compare (CfPlan *plan, const KcRegions *expected, const CfVideo *video, bool reports, bool labels,
    bool corrupt, char *text, size_t size);

/* ---- parameters (params.c) ---------------------------------------------- */

/* Sets "name=value name=value" in a parameter struct. A value extends to the next word with a '=', so that texts may
 * contain spaces ("kernel=1 2 1"); ',' between a kernel's numbers works as well. On failure `status` says which part
 * was wrong. Returns CF_UNSUPPORTED for text that no parameter accepts, and otherwise what cf_params_set returned. */
CfCode kc_params_set (const CfFilter *filter, void *params, const char *text, CfStatus *status);
/* Returns a new parameter struct with these settings; NULL and a status as of kc_params_set on failure. */
void *kc_params_new (const CfFilter *filter, const char *text, CfStatus *status);
/* Returns an int, bool, enum or color parameter by name; `fallback` if there is none. */
int kc_param_int (const CfFilter *filter, const void *params, const char *name, int fallback);
double kc_param_double (const CfFilter *filter, const void *params, const char *name);    /* 0 where there is none */
const char *kc_param_text (const CfFilter *filter, const void *params, const char *name); /* NULL where there is none */
/* Returns an enum's nick as typed in a pipeline; "" if there is none. */
const char *kc_param_name (const CfFilter *filter, const void *params, const char *name);
/* Makes a random setting that cf_filter_check accepts for this video, as text of KC_TEXT bytes, from the filter's own
 * random_setting or else from its parameter table. Returns false if none was found; `status` has a code then, or where
 * the reference refuses what cf_filter_check accepts, or accepts what it refuses. */
bool kc_params_random (const KcFilter *kc, const CfVideo *video, const CfCommon *common, char *text, uint64_t *state,
    CfStatus *status);
/* Reads rows of at most `most` numbers into v, w numbers a row. Rows end with one of `ends`; spaces and ',' separate
 * numbers. Returns false for text that is not so, rows of different lengths, and no rows; `empty`: rows without numbers
 * are skipped. */
bool kc_read_matrix (const char *text, const char *ends, bool empty, int most, double *v, int *w, int *h);
/* Returns the KcFilter of a stem; NULL if there is none. */
const KcFilter *kc_filter_find (const char *stem);

/* ---- filters ------------------------------------------------------------ */

/* Rows of the benchmark: `set` contains the kernel size once or twice, as %d. */
typedef struct {
  const char *name, *set, *sizes;
  const char *baseline;   /* the kind of filter to ask the baseline library for; NULL: it has none */
  const char *streams;    /* numbers of frames at once, "1,8"; NULL: one after the other */
  const char *override;   /* an override of the plan (cf_plan_override), for a study; NULL: none */
  int value;              /* of the override */
  const char *content;    /* of the frames: "noise", ... (bench.c); NULL: kc_natural () */
  const char *word_sizes; /* in place of sizes, where samples are stored as words of 16 bits; NULL: the same */
} KcBench;

/* A whole frame for GPUs only. */
typedef struct {
  const char *set;
  CfFormat format;
  int width, height;
} KcWhole;

struct KcFilter {
  const char *stem;
  /* Filters seen[0] into `out`; seen[1..] are the frames before it, n_seen frames in all. Where `ahead` is above 0,
   * seen[1..] are the other frames of the window, in any order. Returns false for parameters that the reference
   * refuses. */
  bool (*reference) (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params,
      const CfImage *const *seen, int n_seen, const CfImage *out);
  /* Returns how many later frames a result depends on; as many earlier ones belong to its window. NULL: none. */
  int (*ahead) (const CfFilter *filter, const void *params);
  /* For a filter whose results depend on all frames since a reset; NULL for the others. Filters one frame after the
   * other, each with its own parameters. `reference` above then serves frames that all have the same parameters.
   * *state is NULL before the first frame; `free_state` frees it. `regions` may be NULL; the caller frees its
   * members. */
  void (*stateful_reference) (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params,
      void **state, const CfImage *in, const CfImage *out, KcRegions *regions);
  void (*free_state) (void *state);
  bool has_regions; /* stateful_reference finds regions with some parameters */
  /* Draws frame `frame` of a sequence, for results that other contents do not reach. Cases with an injected fault have
   * seed 0, and all others another one: it must be a sequence in which something moves. NULL: none. */
  void (*draw) (const CfImage *image, int frame, uint64_t seed);
  /* Checks the reference itself against known results; returns the number of failures. May be NULL. */
  int (*check_reference) (void);
  /* Returns whether the reference's own rules accept these parameters, all of which are in their ranges. NULL: the
   * reference accepts what cf_filter_check accepts. */
  bool (*accepts) (const CfFilter *filter, const CfVideo *video, const void *params);
  /* Appends a random setting. NULL: each parameter is drawn by itself. */
  void (*random_setting) (GString *text, uint64_t *state);
  /* Replaces a setting's abbreviations by parameters; g_free () the result. Returns NULL if there are none. May be
   * NULL. */
  char *(*expand) (const char *text);
  const char *script;        /* of single cases; NULL: "E" */
  const KcContent *contents; /* contents of its frames, n_contents of them; NULL: the default rotation */
  const int *n_contents;
  const char *const *settings;          /* hand-picked, NULL at the end */
  const char *const *format_settings;   /* combined with each format; may be NULL */
  const char *const *rgb_settings;      /* valid for 8 bit RGB only; may be NULL */
  const char *const *frame_settings;    /* need earlier frames; may be NULL */
  const char *const *deep_settings;     /* need up to 62 earlier frames; may be NULL */
  const char *const *ahead_settings;    /* need later frames; may be NULL */
  const char *const *large_settings;    /* for whole 1080p frames */
  const KcWhole *whole;                 /* frames larger than those, a NULL set at the end; may be NULL */
  const int (*more_sizes)[2];           /* besides those of every filter, 0 at the end; may be NULL */
  const char *const *bad_settings;      /* must be refused */
  const char *const *bad_8bit_settings; /* refused for 8 bit, valid for 16; may be NULL */
  /* refused for 16 bit, valid for 10; may be NULL */
  const char *const *bad_16bit_settings;
  const char *const *sanitize_settings; /* NULL: `settings` */
  const char *right, *wrong;            /* settings whose results differ in few samples, for the self-test */
  const KcBench *bench;                 /* the benchmark's rows, a NULL set at the end */
  const char *bench_formats;            /* "GRAY8,RGBA" */
  const char *bench_resolutions;        /* NULL: "1080p,4k" */
};

#define KC_DECLARE(stem) extern const KcFilter kc_##stem;
CF_FILTERS (KC_DECLARE)
KC_DECLARE (running)                       /* the median with temporal-method=running */
extern const KcFilter *const kc_filters[]; /* NULL at the end */

/* ---- cases (run.c) ------------------------------------------------------ */

/* The fault that the self-test injects after a real enqueue. */
typedef enum {
  KC_BREAK_NOTHING,
  KC_BREAK_LAST_SAMPLE, /* last row, last column */
  KC_BREAK_FIRST_SAMPLE,
  KC_BREAK_PADDING, /* the byte after a row's end */
  KC_BREAK_INPUT,   /* the input is written */
  KC_BREAK_SKIP,    /* nothing is enqueued */
  KC_BREAK_PARAMS,  /* the filter's `wrong` setting is used instead */
  KC_BREAK_REGION,  /* the reported regions; only for filters that have some */
  KC_N_BREAKS
} KcBreak;

/* One case. The script is the sequence of calls on the plan, a letter a step: E enqueue a new frame and compare, R push
 * a new frame into the history, X reset, U update to `then`, B update to each bad value (must change nothing). Of a
 * filter that looks ahead, E first takes the frames up to those that the result depends on into the history; N, in
 * scripts without E, enqueues a new frame that is not taken, and compares. */
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
  bool mapped;      /* CUDA: images in pinned host memory instead of device memory */
  bool one_variant; /* test only the variant that the plan chooses */
  KcBreak broken;
} KcCase;

typedef struct {
  gboolean cpu, gpu, require_gpu, quick, full, sanitize, self_test, schedule, segment, crowd, areas, one_thread, list,
      verbose;
  gint64 seed;
  int only;          /* --case; -1 = all */
  int frames;        /* --frames; 0 = the default number */
  int one_in;        /* --one-in; 0 = every case */
  int plans;         /* --plans */
  char *clip;        /* --clip; NULL = made frames */
  int jobs, process; /* --jobs: how many processes share the cases (0: one runs all); which one */
  char *filter;      /* --filter; NULL = all */
  char *isa;         /* --isa; NULL = every instruction set of this machine */
} KcOptions;

typedef struct {
  KcOptions options;
  CfContext *cpu, *gpu;
  CfStream *stream;
  unsigned long passed, failed, skipped, cases, frames, launches;
  unsigned number;
  struct {
    char name[96]; /* with filter and backend */
    unsigned long runs;
  } variants[KC_MAX_VARIANTS];
} KcRun;

/* Runs one case on every backend and variant of the run and counts the results. A case with an injected fault passes if
 * the fault is detected. */
void kc_case_run (KcRun *run, KcCase *c);
/* Returns whether case `number` is this process's share, and selected by --case. */
bool kc_is_ours (const KcRun *run, unsigned number);
#define KC_N_ISAS 4
/* Restricts the CPU side to the i-th of all instruction sets and returns its name; NULL where this machine does not
 * have it, or --isa names another. */
const char *kc_take_isa (const KcRun *run, unsigned i);
/* Counts one result; prints the sentence if it failed. */
void kc_result (KcRun *run, bool good, const char *format, ...) __attribute__ ((format (printf, 3, 4)));
/* Counts a failure, says that the GPU hangs, prints the summary and ends the process at once: no further CUDA call
 * would return, not even those of a normal exit (device.c). */
void kc_end_hung (KcRun *run, const char *format, ...) __attribute__ ((format (printf, 2, 3), noreturn));
/* Adds frames to those of a variant, which is new or in the table. */
void kc_variant_count (KcRun *run, const char *name, unsigned long runs);
/* Prints the variants that ran. Returns false if a variant was listed but never ran. */
bool kc_variants_report (KcRun *run);
/* Returns whether this process also runs the checks that are no cases and run once. */
static inline bool
kc_is_first_process (const KcRun *run)
{
  return run->options.process == 0;
}

/* Runs `work` in run->options.jobs processes at once, each with its share of the cases, and adds up their counts
 * (jobs.c). */
void kc_run_processes (KcRun *run, void (*work) (void));

/* ---- the rest ----------------------------------------------------------- */

void kc_contract (KcRun *run);                      /* contract.c */
void kc_sweep (KcRun *run, const KcFilter *filter); /* sweep.c */
void kc_schedule (KcRun *run);                      /* schedule.c */
void kc_areas (KcRun *run);                         /* areas.c */
void kc_steady (KcRun *run);                        /* steady.c */
void kc_crowd (KcRun *run);                         /* crowd.c */
int kc_raw_main (int argc, char **argv);            /* raw.c */
int kc_bench_main (int argc, char **argv);          /* bench.c */
/* Parses the command line of one of the three programs above, or says what is wrong with it (kernelcheck.c). */
bool kc_parse (int argc, char **argv, const GOptionEntry *options, const char *summary);

/* ---- images on the device (device.c) -------------------------------------- */

/* An image in device memory, or in pinned host memory. */
typedef struct {
  CfImage image;
  void *memory[CF_MAX_PLANES];
  bool pinned;
} KcDeviceImage;

bool kc_device_image_new (KcDeviceImage *d, const KcImage *host, bool pinned, CfStatus *status);
void kc_device_image_free (KcDeviceImage *d);
/* Copies all bytes of an image, padding included, and waits. Returns false with a status on failure. */
bool
kc_device_image_copy (KcRun *run, CfDirection direction, const KcDeviceImage *d, const KcImage *host, CfStatus *status);

#endif
