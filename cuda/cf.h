/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf.h: the filter library, as elements and tools see it. Outside cuda/, tests and benchmarks also include cf-test.h,
 * and the fake GPU of tests/faults headers of core/.
 *
 * A CfContext stands for a backend: the CPU, or the CUDA context that is current. A CfFilter describes a filter: its
 * name, its table of parameters, its functions for each backend. A CfPlan filters frames of one size and format:
 * cf_plan_new chooses a variant and allocates everything, cf_plan_update takes new parameters between two frames, and
 * cf_plan_enqueue filters a frame, without allocating and, on CUDA, without waiting (areas: see there).
 *
 * Errors. A function that can fail returns a CfCode (or NULL) and, where `status` is not
 * NULL, fills it with the code and a sentence for people. Nothing prints, nothing aborts.
 *
 * Threads. Functions on different objects may run at the same time. One thread at a time
 * uses a plan or a stream. "CUDA context current" means that the caller has pushed it; a
 * program that uses the runtime API alone has the primary context current by itself. */
#ifndef CF_H
#define CF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Around the declarations of a header that C++ may include. */
#ifdef __cplusplus
#define CF_BEGIN_DECLS extern "C" {
#define CF_END_DECLS }
#else
#define CF_BEGIN_DECLS
#define CF_END_DECLS
#endif

CF_BEGIN_DECLS

/* ---- status ------------------------------------------------------------- */

typedef enum {
  CF_OK = 0,
  CF_BAD_VALUE,   /* a parameter, size or image breaks the contract */
  CF_UNSUPPORTED, /* the request is sound, this build or device cannot */
  CF_NO_MEMORY,   /* host or device memory is out */
  CF_NO_GPU,      /* no driver, no device, or built without CUDA */
  CF_GPU_ERROR,   /* a CUDA call failed; a later call may succeed */
  CF_GPU_LOST,    /* sticky: no CUDA call of this process will succeed again */
  CF_TIMEOUT,     /* the GPU did not finish before the deadline, or whether it has is not known */
  CF_REPLAN,      /* cf_plan_update: make a new plan for these parameters */
  CF_CANCELLED,   /* the caller's flush or stop ended a wait: no failure */
} CfCode;

typedef struct {
  CfCode code;
  int cuda;          /* the CUDA error number, 0 where there is none */
  char message[240]; /* what is wrong, where, what would be right */
} CfStatus;

/* ---- formats, planes, images -------------------------------------------- */

#define CF_MAX_PLANES 4
#define CF_MAX_SIZE 16384

/* The names are GStreamer's: cf_format_from_name ("NV12"). */
typedef enum {
  CF_FORMAT_NONE = 0,
  CF_FORMAT_GRAY8,
  CF_FORMAT_GRAY16_LE,
  CF_FORMAT_NV12,
  CF_FORMAT_NV21,
  CF_FORMAT_I420,
  CF_FORMAT_YV12,
  CF_FORMAT_NV16,
  CF_FORMAT_Y42B,
  CF_FORMAT_Y444,
  CF_FORMAT_YUY2,
  CF_FORMAT_UYVY,
  CF_FORMAT_AYUV,
  CF_FORMAT_RGB,
  CF_FORMAT_BGR,
  CF_FORMAT_RGBA,
  CF_FORMAT_BGRA,
  CF_FORMAT_ARGB,
  CF_FORMAT_ABGR,
  CF_FORMAT_RGBx,
  CF_FORMAT_BGRx,
  CF_FORMAT_xRGB,
  CF_FORMAT_xBGR,
  CF_FORMAT_GBR,
  CF_FORMAT_P010_10LE,
  CF_FORMAT_P016_LE,
  CF_FORMAT_I420_10LE,
  CF_FORMAT_I422_10LE,
  CF_FORMAT_Y444_10LE,
  CF_FORMAT_Y444_16LE,
  CF_FORMAT_P012_LE,
  CF_FORMAT_I420_12LE,
  CF_FORMAT_I422_12LE,
  CF_FORMAT_Y444_12LE,
  CF_FORMAT_NV24,
  CF_FORMAT_VUYA,
  CF_FORMAT_A420,
  CF_FORMAT_RGBP,
  CF_FORMAT_BGRP,
  CF_FORMAT_GBR_10LE,
  CF_FORMAT_Y410,
  CF_FORMAT_RGB10A2_LE,
  CF_FORMAT_BGR10A2_LE,
  CF_N_FORMATS
} CfFormat;

/* The role of a component. CF_ROLE_ALPHA is also that of padding (the x of RGBx): filters copy both as they are. */
typedef enum { CF_ROLE_LUMA, CF_ROLE_CHROMA, CF_ROLE_RED, CF_ROLE_GREEN, CF_ROLE_BLUE, CF_ROLE_ALPHA } CfRole;

typedef struct {
  uint8_t plane;        /* index of its plane */
  uint8_t offset;       /* first sample in the row, in samples */
  uint8_t step;         /* samples from one of this component to the next */
  uint8_t w_sub, h_sub; /* log2 of the subsampling */
  CfRole role;
  uint8_t bit, bits; /* packed formats: the lowest bit of the sample in its word, and how many it has; else 0 */
} CfComponent;

typedef struct {
  CfFormat format;
  const char *name; /* as GStreamer spells it */
  uint8_t n_planes, n_components;
  uint8_t bits;  /* significant bits of a sample: 8, 10, 12 or 16 */
  uint8_t bytes; /* bytes of a stored sample: 1 or 2 (little endian); packed formats: 4, a pixel's word */
  uint8_t shift; /* sample value = stored word >> shift (6 for P010, 4 for P012) */
  bool rgb;
  CfFormat unpacked; /* packed formats: the format of planes that is filtered in their place; else CF_FORMAT_NONE */
  CfComponent comp[4];
} CfFormatInfo;

/* Returns the layout of a format; NULL for CF_FORMAT_NONE and numbers out of range. */
const CfFormatInfo *cf_format_info (CfFormat format);
/* Returns the format of GStreamer's name, CF_FORMAT_NONE if the library has none of that name. */
CfFormat cf_format_from_name (const char *name);
/* Return the bytes of a row, and the rows, of plane `plane` of an image of that width and height;
 * 0 for a format or plane that does not exist. */
size_t cf_plane_row_bytes (CfFormat format, int width, int plane);
int cf_plane_rows (CfFormat format, int height, int plane);

/* One image: in host memory for a CPU plan, in device memory (or mapped pinned memory) for a CUDA plan. A pitch is in
 * bytes, at least cf_plane_row_bytes; `data` is aligned to the size of a sample. */
typedef struct {
  CfFormat format;
  int width, height; /* 1..CF_MAX_SIZE */
  struct {
    void *data;
    size_t pitch;
  } plane[CF_MAX_PLANES];
} CfImage;

/* Sets format, size and pitches (each a multiple of `align`, a power of two), leaves the byte OFFSETS of the planes in
 * plane[].data, and returns the bytes that the image takes. cf_image_at adds a base address to the offsets. */
size_t cf_image_layout (CfImage *image, CfFormat format, int width, int height, size_t align);
void cf_image_at (CfImage *image, const CfImage *layout, void *base);

/* ---- parameters --------------------------------------------------------- */

typedef enum {
  CF_TYPE_INT,
  CF_TYPE_DOUBLE,
  CF_TYPE_BOOL,
  CF_TYPE_ENUM,
  CF_TYPE_FLAGS,
  CF_TYPE_STRING,
  CF_TYPE_COLOR /* 0xAARRGGBB */
} CfType;

typedef struct {
  int value;
  const char *name; /* as typed in a pipeline: "per-channel" */
  const char *blurb;
} CfEnumValue;

/* One row of a filter's parameter table. The GObject property, its documentation and the random cases of the tests are
 * made of it. The value is at `offset` in the filter's parameter block: int, double, int (bool, enum, flags),
 * char * from malloc (string, may be NULL) or uint32_t (color). */
typedef struct {
  const char *name; /* "kernel-size" */
  CfType type;
  size_t offset;
  double min, max, def;      /* int, double: the range; enum, flags, bool, color: def only */
  const CfEnumValue *values; /* enum: one of them; flags: any sum of them; ends with a NULL name */
  const char *unit;          /* "samples", "%", ... or "" */
  const char *blurb;         /* a sentence */
  bool hidden;               /* internal to the filter: no property, no documentation */
  bool readonly;             /* an output: cf_params_set computes it, and refuses to set it */
} CfParam;

typedef enum { CF_APPLY_ALL, CF_APPLY_LUMA, CF_APPLY_CHROMA } CfApplyTo;

/* How the video writes a colour that a parameter names (CF_TYPE_COLOR): R, G and B from 0 to 255. Zeros mean full range
 * and BT.601. With Kg = 10000 - Kr - Kb and L = Kr R + Kg G + Kb B, in levels of 8 bits,
 *   Y  = o + a L / 2550000                              to the nearest integer, halves up
 *   Cb = 128 + c (10000 B - L) / (510 (10000 - Kb))     to the nearest integer, halves down
 *   Cr = 128 + c (10000 R - L) / (510 (10000 - Kr))     likewise
 * and of RGB formats R' = o + a R / 255 to the nearest integer, G' and B' likewise. Full range: o = 0, a = c = 255;
 * limited range: o = 16, a = 219, c = 224. Gray formats have Y alone. */
typedef struct {
  int kr, kb; /* in 1/10000: BT.601 2990 and 1140, BT.709 2126 and 722, BT.2020 2627 and 593; both 0: BT.601 */
  bool limited;
} CfColors;

/* What all filters share. */
typedef struct {
  CfApplyTo apply_to; /* which components are filtered; the others are copied */
  CfColors colors;    /* the video's */
} CfCommon;

/* The frames that a plan is for. */
typedef struct {
  CfFormat format;
  int width, height;
  bool interlaced; /* two interleaved fields, each filtered by itself */
} CfVideo;

typedef struct CfFilter CfFilter;

typedef struct {
  const char *stem;      /* the element's name without "cuda": "median" */
  const CfParam *params; /* the parameter table */
  unsigned n_params;
  bool whole_frames; /* interlaced frames are filtered as a whole, not field by field */
} CfFilterInfo;

/* All filters, in the order of the documents. This list makes the tables of filters, elements and tests: a filter that
 * lacks its part of a table does not link. */
#define CF_FILTERS(ROW) ROW (median) ROW (convolve) ROW (irfilter) ROW (segment) ROW (denoise)

#define CF_COUNT(stem) +1
enum { CF_N_FILTERS = CF_FILTERS (CF_COUNT) };
#undef CF_COUNT

/* The same; NULL behind the last. */
extern const CfFilter *const cf_filters[];
/* Returns the filter with that stem, NULL if there is none. */
const CfFilter *cf_filter_find (const char *stem);
const CfFilterInfo *cf_filter_info (const CfFilter *filter);

/* Returns a block of parameters: a copy of `from`, or the defaults (strings: NULL) where that is NULL; NULL when memory
 * is out. The block owns its strings. */
void *cf_params_new (const CfFilter *filter, const void *from);
void cf_params_free (const CfFilter *filter, void *params);

/* A parameter's value, by its type. */
typedef union {
  int number; /* int, bool, enum, flags */
  double real;
  uint32_t color;
  const char *text; /* string, which is copied; NULL: none */
} CfValue;

/* Sets row `row` of the table. Then does what the setting implies for other parameters (a typed kernel makes the preset
 * "custom") and reads a file that the parameter names, once. Fails with CF_BAD_VALUE (an output, a file that cannot be
 * read) or CF_NO_MEMORY; the block is sound then, but cf_filter_check may refuse it. Ranges are checked there, not
 * here. Any thread; may wait for the disk. */
CfCode cf_params_set_value (const CfFilter *filter, void *params, unsigned row, CfValue value, CfStatus *status);
/* Does the same for the parameter `name` and a text, whatever the locale: numbers in decimal (colours in hexadecimal,
 * too), true or false, the name or number of an enum value, names of flags joined by '+'; NULL clears a string. Fails
 * with CF_BAD_VALUE for another name or text, too. */
CfCode cf_params_set (const CfFilter *filter, void *params, const char *name, const char *text, CfStatus *status);

/* Checks what cf_plan_new would: ranges, oddness, combinations. `video` may be NULL while the
 * caps are not known; what needs them is not checked then. No context. CF_OK with a message in
 * `status`: the parameters are accepted, but can hardly mean what the user wants (a seed outside
 * the frame); the message says so. */
CfCode cf_filter_check (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params,
    CfStatus *status);

/* How a filter with these parameters depends on its input. */
typedef struct {
  int halo;         /* rows of its plane above and below its own that a sample depends on, away from the border; -1:
                        all rows, or other frames */
  int halo_columns; /* the same to the left and to the right; not set where halo is -1 */
  int history;      /* other input frames that a result depends on */
  int ahead;        /* how many of them come after its own frame: see CfFrame */
  int kept;         /* a key: if it changes, the history is invalid and a new plan is needed */
  bool stateful;    /* a result depends on those of all frames since the last reset (recurrent in time) */
  bool lapses;      /* stateful: the plan is reset behind frames that were not filtered */
  bool has_regions; /* cf_plan_regions has regions after each frame */
  bool anchored;    /* a result depends on where the frame begins and ends: of an area, each region is a frame */
  bool replicates;  /* beyond the border lies the nearest sample; not set where halo is -1 */
  bool identity;    /* the output is the input, word for word; false where `video` is NULL */
} CfTraits;

/* Returns the traits of parameters that cf_filter_check accepts for `video` (which may be NULL). */
CfTraits cf_filter_traits (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params);

/* ---- context and plan --------------------------------------------------- */

typedef enum { CF_BACKEND_CPU, CF_BACKEND_CUDA } CfBackend;

typedef struct CfContext CfContext;
typedef struct CfPlan CfPlan;
typedef struct CfStream CfStream;

/* Makes a context. CF_BACKEND_CUDA: CUDA context current, here and in every later call that takes the
 * context, a plan or a stream of it. Returns NULL and a status on failure. */
CfContext *cf_context_new (CfBackend backend, CfStatus *status);
void cf_context_free (CfContext *context);

/* Checks the parameters, chooses the variant and allocates all memory that frames need. Returns
 * NULL and a status on failure. The plan keeps a pointer to `context` and a copy of `params`. */
CfPlan *cf_plan_new (CfContext *context, const CfFilter *filter, const CfVideo *video, const CfCommon *common,
    const void *params, CfStatus *status);
void cf_plan_free (CfPlan *plan);

/* Takes new parameters, from the next enqueue on. May allocate. After CF_BAD_VALUE the old ones
 * stay. CF_REPLAN: the parameters are sound, but only a new plan can hold them. */
CfCode cf_plan_update (CfPlan *plan, const CfCommon *common, const void *params, CfStatus *status);

/* Forgets the frames seen so far (flush, seek, discontinuity). */
void cf_plan_reset (CfPlan *plan);

/* ---- areas -------------------------------------------------------------- */

/* A rectangle, in pixels of the frame; it may be empty or reach outside. */
typedef struct {
  int x, y, width, height;
} CfRect;

/* A polygon's corner, in 1 / 256 pixels, within -2^30..2^30; the first pixel's centre is at 128, 128. */
typedef struct {
  int x, y;
} CfPoint;

typedef struct {
  const CfPoint *point;
  unsigned n;
} CfPolygon;

/* What is filtered, prepared for a filter's halo. It does not change, and any number of threads may use it. */
typedef struct CfArea CfArea;

/* What of a frame is filtered. A pixel's strength, 0..255, is the largest of those that the lists give it: 255 inside
 * a rectangle, or inside the ellipse that the rectangle surrounds (a pixel's centre decides), and inside a polygon
 * (even-odd, its centre decides); and its sample of the mask. `invert`: 255 minus that.
 *
 * A sample becomes in + (filtered - in) * strength / 255, rounded half up: `in` at strength 0, `filtered` at 255. A
 * sample of a subsampled component has the largest strength of its pixels; in an interlaced frame the pixels on the
 * other field's lines between them count as well. */
typedef struct {
  const CfRect *rect;
  unsigned n_rects;
  bool ellipses; /* the rectangles surround ellipses */
  const CfPolygon *polygon;
  unsigned n_polygons;
  const uint8_t *mask; /* NULL, or a row of `width` bytes for each row of the frame */
  bool invert;
  const CfArea *base; /* NULL, or an area for the same video, whose polygons and mask are added (not its rectangles) */
} CfAreaSpec;

/* Returns an area with one reference, for frames of `video` and plans with these traits; NULL and a status when memory
 * is out. The lists stay the caller's. No context. */
CfArea *cf_area_new (const CfVideo *video, const CfTraits *traits, const CfAreaSpec *spec, CfStatus *status);
CfArea *cf_area_ref (CfArea *area);
void cf_area_unref (CfArea *area); /* NULL: nothing */

typedef struct {
  bool empty;      /* no pixel is filtered */
  bool whole;      /* every pixel is filtered at 255 */
  bool solid;      /* every sample that may change is filtered at 255 */
  uint64_t pixels; /* that may change */
} CfAreaInfo;

CfAreaInfo cf_area_info (const CfArea *area);

/* A part of a frame, for a copy. READ: what a filter reads for the area. WRITE: what may change. PACKED: the same as
 * WRITE, but one image (`to` of cf_stream_copy, `from` of cf_image_copy) is only memory of a frame's size in one piece,
 * in which the part's rectangles lie one below another. */
typedef struct {
  const CfArea *area;
  enum { CF_AREA_READ, CF_AREA_WRITE, CF_AREA_PACKED } use;
} CfPart;

/* Copies the visible samples of an image in host memory, or of a part of it (NULL: the image), to another of the same
 * format and size that does not overlap it, and writes nothing else. Several threads copy a large one. Any thread; no
 * context. */
void cf_image_copy (const CfImage *to, const CfImage *from, const CfPart *part);

/* ---- frames ------------------------------------------------------------- */

/* What is done with a frame. All images have the plan's format and size.
 *
 * With CfTraits.ahead == 0, filtering a frame also takes it into the plan's history. With ahead > 0 the caller does
 * that, by enqueueing each frame with `out` NULL, once and in order; at the end of the stream the last frame is taken
 * `ahead` times more. A frame is filtered when it and the `ahead` frames after it have been taken, before the next one
 * is. For ahead = 1:
 *   take 0, take 1, filter 0, take 2, filter 1, take 2, filter 2
 * The result depends on the last `history` + 1 frames taken, one of which is `in`; the oldest frame taken stands for
 * those that are missing. If `ahead` frames or fewer were taken (since the plan began or was reset), `in` counts beside
 * them; if none was, `in` stands for all. */
typedef struct {
  const CfImage *in;
  const CfImage *out;     /* NULL: `in` is only taken into the plan's history, if it has one: so a standby plan can
                             take over a stream, and a filter can look ahead */
  const CfArea *area;     /* NULL: the whole frame */
  const CfImage *scratch; /* with an area: a third image, whose contents are lost */
  const int *hurry;       /* with an area, on CUDA: cuts a wait short, see cf_stream_wait; NULL: nothing does */
  bool copies;            /* with an area, where `out` is neither `in` nor `scratch`: the rest is copied from `in` */
} CfFrame;

/* Filters `in` into `out`. Without an area, the two do not overlap, and every visible sample of `out` is written.
 * With an area, only the CF_AREA_READ part of `in` is read and only the CF_AREA_WRITE part of `out` is written (with
 * `copies` all of both); `out` may be `in`, or `scratch` if the area is solid. On CUDA, what `copies` copies is never
 * in a part of `out` that is filtered, not even meanwhile. A filter with a history also takes a frame whose area is
 * empty.
 * CPU: done on return (`stream` NULL). CUDA: queued on `stream`. Only areas may allocate (scratch memory, when a frame
 * first needs it) or wait: with a map (polygons, a mask, more than 256 shapes), until the map before last is uploaded.
 */
CfCode cf_plan_enqueue (CfPlan *plan, CfStream *stream, const CfFrame *frame, CfStatus *status);

/* A region of the last frame. */
typedef struct {
  uint32_t id;                   /* from 1 on (after 2^31 - 1: from 0); the same as long as the region persists */
  uint32_t age;                  /* earlier frames that had the region */
  uint32_t area;                 /* pixels; 0: the region has lost all of them, and the fields below are not set */
  int x, y, width, height;       /* the smallest rectangle around it, pixels */
  double centroid_x, centroid_y; /* mean position of its pixels; the first pixel of a row is at 0 */
  double mean[3];                /* Y, Cb, Cr in levels of 8 bits (RGB formats: full range BT.601) */
  uint32_t confirmed, fresh;     /* motion: pixels whose motion is confirmed, and that this frame confirms; else 0 */
} CfRegion;

/* What a frame is like, see median/running.h. All 0 where there was no frame before it. */
typedef struct {
  uint32_t blocks, equal, dark, bright;   /* blocks in all; unchanged since the last frame; dark; bright */
  uint32_t edges, back_edges, same_edges; /* strong edges of the frame, of the background, of both alike */
  uint32_t mean;                          /* of the blocks' values: a level of 8 bits is 16 */
  bool anew, loose, lit;
} CfScene;

typedef struct {
  unsigned n;
  const CfRegion *region;
  bool unknown;          /* of motion: there was nothing to compare the frame with */
  const uint16_t *label; /* each pixel's index into `region`, row by row; NULL unless label-meta is on */
  size_t pitch;          /* bytes from a row of labels to the next */
  const CfScene *scene;  /* of a filter that looks at scenes, else NULL */
} CfRegions;

/* Returns the regions of the last frame enqueued; on CUDA, wait for the stream first. They
 * belong to the plan and last until its next call. CF_BAD_VALUE where the parameters ask for none
 * (CfTraits.has_regions), CF_UNSUPPORTED from a filter that finds none. */
CfCode cf_plan_regions (CfPlan *plan, CfRegions *regions, CfStatus *status);

/* The noise that a filter estimates, for this many zones of brightness, the darkest first. */
#define CF_NOISE_ZONES 8

/* Returns whether the plan estimates noise, and sets the standard deviations of the first component that it filters, in
 * levels of 8 bits, as the last frame that has ended has left them. Waits for nothing. */
bool cf_plan_noise (CfPlan *plan, double noise[CF_NOISE_ZONES]);

/* ---- zones -------------------------------------------------------------- */

/* In fractions of the frame, 0..1. */
typedef struct {
  double x, y;
} CfCorner;

/* A polygon (even-odd). */
typedef struct {
  char name[64]; /* "" of mask-polygons */
  const CfCorner *corner;
  unsigned n;
} CfZone;

typedef struct {
  CfZone *zone; /* the corners of each follow those of the one before in memory */
  unsigned n;
} CfZones;

/* Reads zones: "door: 0.1,0.2 0.4,0.2 0.4,0.6; yard: ...", a name and a polygon each; NULL and blanks: none. Returns
 * NULL and a status for another text and without memory. Any thread. */
CfZones *cf_zones_new (const char *text, CfStatus *status);
/* Reads mask-polygons, which have no names. */
CfZones *cf_polygons_new (const char *text, CfStatus *status);
void cf_zones_free (CfZones *zones);

/* Reads a list of points, rectangles or polygons. ';' separates entries, and empty ones do not count. A point is x,y
 * and a rectangle x,y,width,height. Blanks or a comma separate the points of a polygon. Blanks may stand around each
 * number, and a comma behind the last one of an entry. Numbers are decimal, whatever the locale; digits beyond 1e-12
 * do not count. Any thread. */
typedef struct {
  const char *what;    /* the parameter's name, which begins each message */
  const char *example; /* a valid entry */
  const char *text;    /* what is left to read; NULL: nothing */
  const char *entry;   /* the current one */
  unsigned number;     /* of the entry, from 1 on */
} CfTextList;

/* Moves to the next entry when the current one was read. Returns false behind the last one. */
bool cf_text_next (CfTextList *list);
/* Reads the entry as tuples of `n` numbers, `most` of them at most. Sets *point to whether a number has a decimal
 * point. Returns the count of tuples, -1 for another text. */
int cf_text_tuples (CfTextList *list, unsigned n, double *number, unsigned most, bool *point);
/* Fills the status with what is wrong with the entry ("must have ..."), its number, and the example. */
CfCode cf_text_refuse (const CfTextList *list, const char *wrong, CfStatus *status);

/* ---- CPU ---------------------------------------------------------------- */

/* Returns the instruction set that the CPU code runs with ("avx512bw", "avx2", "sse4.1", "baseline") and, where
 * `threads` is not NULL, the threads that it uses: as many as there are cores that this process may run on. */
const char *cf_cpu_info (int *threads);

/* ---- GPU ---------------------------------------------------------------- */

typedef struct {
  char name[128];
  int major, minor; /* compute capability */
  int sms;
  int clock_khz;
  uint64_t memory; /* bytes */
  uint64_t l2_bytes;
  uint8_t uuid[16];
  int pci_domain, pci_bus, pci_slot; /* "0000:01:00.0" has the slot 0 of bus 1 */
  bool integrated;                   /* its memory is the host's (Jetson) */
} CfGpuInfo;

/* What GPUs are to this process, and what it has done on them. */
typedef struct {
  /* The CUDA versions as 13000 for 13.0. Driver 0: none is installed. Runtime 0: this build has no CUDA kernels. */
  int driver, runtime;
  const char *archs;    /* the compute capabilities of this build's kernels, as for -Dcuda-archs=; "": it has none */
  bool forked;          /* from a process that used CUDA: not even host objects of CUDA may be touched */
  uint64_t hung;        /* a bit, 1 << number, for each device where work did not end before its deadline and has not
                           ended since. New work fails there with CF_TIMEOUT. Nothing is freed: freeing could block */
  uint64_t doubt;       /* the same, where a wait was cut short before the work's deadline: nothing is freed, and an
                           allocation waits until it is known whether the GPU hangs */
  uint64_t launches;    /* of kernels: shows that a run on the GPU ran there */
  uint64_t allocations; /* of pinned and of device memory: a stream in its steady state makes none */
  uint64_t abandoned;   /* objects that were not freed, because the GPU hung */
} CfGpuState;

/* Returns the state now. Any thread; does not wait. */
CfGpuState cf_gpu_state (void);
/* Does work on the device hang (CfGpuState.hung)? -1: on any device, which is cheap to ask. Any thread. */
bool cf_gpu_hangs (int device);
/* The same, or is it in doubt (CfGpuState.doubt)? What is to be freed there has to stay. */
bool cf_gpu_may_hang (int device);
/* Returns when the device is not in CfGpuState.doubt (any more). Any thread. */
void cf_gpu_settle_doubt (int device);
/* Returns whether no CUDA call of this process can succeed any more: after a sticky error, and in a process forked from
 * one that used CUDA. Never becomes false again. Any thread. */
bool cf_gpu_lost (void);
/* After cf_gpu_lost: fill `status` with CF_GPU_LOST and the first sticky error of the process (the operation, the
 * error, the device, the last kernel launched before), or with the fork. Returns the code. Any thread. */
CfCode cf_fail_lost (CfStatus *status);
/* The same for a device that hangs (CfGpuState.hung): CF_TIMEOUT, the device, the last kernel launched. */
CfCode cf_fail_hung (int device, CfStatus *status);
/* Returns how many devices can be used; on 0 `status` says why (a build without kernels, no driver, a
 * driver too old, no device, a forked process). No driver is needed to ask. */
int cf_gpu_count (CfStatus *status);
CfCode cf_gpu_info (int device, CfGpuInfo *info, CfStatus *status);
#define CF_OLDEST_CAPABILITY 75

/* Returns whether kernels for `archs` (CfGpuState; "": any) run on a GPU of capability 10 * major + minor. Machine code
 * runs on the same major capability with the same or a higher minor one, but that of Jetson Orin (8.7) only there, and
 * there no other; for newer GPUs the driver compiles the code of the last one in the list. Here, for programs that do
 * not link the library. */
static inline bool
cf_archs_run (const char *archs, int capability)
{
  bool runs = archs[0] == '\0';

  for (const char *next = archs; next && !runs; next = strchr (next, ',')) {
    const int arch = atoi (next += *next == ',');

    runs = arch <= capability &&
        ((arch / 10 == capability / 10 && (arch == 87) == (capability == 87)) || !strchr (next, ','));
  }
  return runs && capability >= CF_OLDEST_CAPABILITY;
}

/* Returns the first GPU of 0..n - 1 with the smallest count whose bit, 1 << number, is not in `unfit`; -1 if there is
 * none. n <= 64. Inline for the same reason. */
static inline int
cf_gpu_fewest (const unsigned *counts, unsigned n, uint64_t unfit)
{
  int best = -1;

  for (unsigned i = 0; i < n; i++)
    if (!(unfit >> i & 1) && (best < 0 || counts[i] < counts[best]))
      best = (int) i;
  return best;
}

/* Returns CF_OK if kernels for `archs` run on the GPU, else CF_UNSUPPORTED and a sentence. Any thread; asks nothing of
 * the GPU. */
CfCode cf_gpu_check (const CfGpuInfo *info, const char *archs, CfStatus *status);

/* CUDA context current in all functions below. */

/* CF_PINNED: host memory that every context can use and that stays readable and writable after a GPU fault.
 * CF_DEVICE: cleared device memory. */
typedef enum { CF_PINNED, CF_DEVICE } CfMemory;

/* Returns NULL and a status on failure. */
void *cf_gpu_alloc (CfMemory memory, size_t size, CfStatus *status);
void cf_gpu_free (CfMemory memory, void *block);

/* Makes a CUDA stream that does not synchronise with the legacy default stream, or wraps `handle` (a
 * cudaStream_t, which stays the caller's). */
CfStream *cf_stream_new (void *handle, CfStatus *status);
void cf_stream_free (CfStream *stream);

typedef enum { CF_UPLOAD, CF_DOWNLOAD, CF_ON_DEVICE } CfDirection;

/* Queues the copy of an image, or of a part of it (NULL: the image), between host memory that is pinned and device
 * memory, or within the latter: one copy where both images lie alike in memory, else one for each plane; the rectangles
 * of a part in one launch. */
CfCode cf_stream_copy (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from,
    const CfPart *part, CfStatus *status);
/* Waits until everything queued on the stream so far is done, for `deadline_ns` at most (CF_TIMEOUT). A flush or stop
 * cuts the wait short: once `*hurry` (atomic; NULL: never) is not 0, the work has a twentieth of its deadline left, and
 * twice the time of the wait before. CF_CANCELLED: it did not end, so the GPU may still use all that the work uses.
 * Whether the GPU hangs is known at the deadline (CfGpuState.doubt). */
CfCode cf_stream_wait (CfStream *stream, uint64_t deadline_ns, const int *hurry, CfStatus *status);

/* A set of `n` events, points in the work of streams, which one stream records and others wait for;
 * and one completion word, which the host waits for. One thread records; another may wait for
 * the completion word and ask for times meanwhile. */
typedef struct CfEvents CfEvents;
CfEvents *cf_events_new (unsigned n, CfStatus *status);
void cf_events_free (CfEvents *events);
#define CF_COMPLETION UINT32_MAX
/* Records event `i` behind everything queued on the stream; CF_COMPLETION: has the GPU write the completion word there.
 */
CfCode cf_stream_record (CfStream *stream, CfEvents *events, unsigned i, CfStatus *status);
/* Makes what is queued on the stream from now on wait for event `i` as it was last recorded; does nothing
 * where it never was or this stream recorded it. The host does not wait. */
CfCode cf_stream_wait_event (CfStream *stream, const CfEvents *events, unsigned i, CfStatus *status);
/* Waits until the completion word is written, as cf_stream_wait does. */
CfCode cf_events_wait (CfEvents *events, uint64_t deadline_ns, const int *hurry, CfStatus *status);
/* Returns the time between two events that were reached, 0 where it is not known. */
uint64_t cf_events_elapsed_ns (const CfEvents *events, unsigned from, unsigned to);

/* ---- one frame in slices ------------------------------------------------ */

/* A frame cut into slices of rows, so that the upload, the kernels and the download of one frame
 * overlap: for a caller that waits for each frame. A slice is filtered with the rows around
 * it that its samples depend on (CfTraits.halo), so the bytes are those of the whole frame. */
typedef struct CfSlices CfSlices;

/* What a frame in slices goes through: streams for uploads, kernels and downloads; the image in pinned host memory, in
 * device memory, filtered into two images in device memory in turn, and in pinned host memory again. */
typedef struct {
  CfStream *up, *kernels, *down;
  const CfImage *host_in, *device_in, *device_out[2], *host_out;
} CfSlicesRequest;

/* Makes the plans of `n` slices. CF_UNSUPPORTED and NULL where the video cannot be cut so: interlaced
 * frames, rows that depend on too many others, too few rows. */
CfSlices *cf_slices_new (unsigned n, CfContext *context, const CfFilter *filter, const CfVideo *video,
    const CfCommon *common, const void *params, CfStatus *status);
void cf_slices_free (CfSlices *slices);
/* Queues a frame. Everything is done when the stream `down` is. */
CfCode cf_slices_enqueue (CfSlices *slices, const CfSlicesRequest *request, CfStatus *status);

/* ---- errors ------------------------------------------------------------- */

/* Fills `status` (which may be NULL) with the code and a sentence, and returns the code. */
CfCode cf_fail (CfStatus *status, CfCode code, const char *format, ...) __attribute__ ((format (printf, 3, 4)));

CF_END_DECLS
#endif
