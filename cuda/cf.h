/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cf.h: the filter library, as the GStreamer elements, the tests and the
 * benchmarks see it. This is the only header of cuda/ that they include.
 *
 * The shape of it: a CONTEXT (the CPU, or the CUDA context that is current), a
 * DESCRIPTOR a filter (CfFilter: names, parameter table, functions for each
 * backend), a PLAN made once size and format are known (it chooses the variant
 * and allocates everything), UPDATE with new parameters between two frames,
 * and ENQUEUE of a frame: no allocation, and on CUDA no wait.
 *
 * Errors. Every function that can fail returns a CfCode and, where `status` is
 * not NULL, fills it with the code and a sentence for people. Nothing prints
 * and nothing aborts.
 *
 * Threads. Functions on different objects may run at the same time. One plan
 * or one stream is used by one thread at a time. The functions that say "CUDA
 * context current" need the caller to have pushed it (an application that only
 * uses the runtime API has the primary context current by itself).
 */
#ifndef CF_H
#define CF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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
  CF_N_FORMATS
} CfFormat;

/* What a component is. ALPHA stands for padding (the x of RGBx) too: both are
 * copied and never filtered. */
typedef enum { CF_ROLE_LUMA, CF_ROLE_CHROMA, CF_ROLE_RED, CF_ROLE_GREEN, CF_ROLE_BLUE, CF_ROLE_ALPHA } CfRole;

typedef struct {
  uint8_t plane;        /* which plane it lives in */
  uint8_t offset;       /* first sample in the row, in samples */
  uint8_t step;         /* samples from one to the next of this component */
  uint8_t w_sub, h_sub; /* log2 of the subsampling */
  CfRole role;
} CfComponent;

typedef struct {
  CfFormat format;
  const char *name; /* as GStreamer spells it */
  uint8_t n_planes, n_components;
  uint8_t bits;  /* of a sample: 8, 10 or 16 */
  uint8_t bytes; /* a sample takes: 1 or 2 (little endian) */
  uint8_t shift; /* sample value = stored word >> shift (6 for P010) */
  bool rgb;
  CfComponent comp[4];
} CfFormatInfo;

/* NULL for CF_FORMAT_NONE and numbers out of range. */
const CfFormatInfo *cf_format_info (CfFormat format);
/* CF_FORMAT_NONE for a name that is not in the list. */
CfFormat cf_format_from_name (const char *name);
/* Bytes of one row, and rows, of plane `plane` of a width x height picture. */
size_t cf_plane_row_bytes (CfFormat format, int width, int plane);
int cf_plane_rows (CfFormat format, int height, int plane);

/* One picture: host memory for a CPU plan, device memory (or mapped pinned
 * memory) for a CUDA plan. Any pitch >= cf_plane_row_bytes, in bytes, any
 * alignment of `data` to the sample size. */
typedef struct {
  CfFormat format;
  int width, height; /* 1..CF_MAX_SIZE */
  struct {
    void *data;
    size_t pitch;
  } plane[CF_MAX_PLANES];
} CfImage;

/* Sets format, size and pitches (each a multiple of `align`, a power of two)
 * and leaves in plane[].data the byte OFFSETS of the planes; returns the bytes
 * the picture takes. cf_image_at adds a base address to them. */
size_t cf_image_layout (CfImage *image, CfFormat format, int width, int height, size_t align);
void cf_image_at (CfImage *image, const CfImage *layout, void *base);
/* The rows begin..end - 1 of a picture, as a picture; `begin` on a row of all planes. */
void cf_image_rows (CfImage *rows, const CfImage *image, int begin, int end);

/* Copies the visible samples between two pictures of the same format and size in
 * host memory that does not overlap; nothing beside them is written. Large ones
 * are copied by several threads. Any thread; needs no context. */
void cf_image_copy (const CfImage *to, const CfImage *from);

/* ---- parameters --------------------------------------------------------- */

typedef enum {
  CF_TYPE_INT,
  CF_TYPE_DOUBLE,
  CF_TYPE_BOOL,
  CF_TYPE_ENUM,
  CF_TYPE_FLAGS,
  CF_TYPE_STRING,
  CF_TYPE_COLOR, /* 0xAARRGGBB */
} CfType;

typedef struct {
  int value;
  const char *name; /* as typed in a pipeline: "per-channel" */
  const char *blurb;
} CfEnumValue;

/* One row of a filter's parameter table. It makes the GObject property, the
 * row of the documentation, the tests' random cases and the benchmark's sweep.
 * The value lives at `offset` of the filter's parameter struct as int, double,
 * int (bool, enum, flags), const char * (string, may be NULL) or uint32_t (color). */
typedef struct {
  const char *name; /* "kernel-size" */
  CfType type;
  size_t offset;
  double min, max, def; /* int, double: the range; enum, flags, bool, color: def only */
  const CfEnumValue *values; /* enum: one of them; flags: any sum of them; ends with a NULL name */
  const char *unit;  /* "samples", "%", ... or "" */
  const char *blurb; /* a sentence */
  bool hidden; /* the filter's own notes (a string): no property, no documentation, no random cases */
  bool readonly; /* what cf_filter_param_changed finds out: nobody sets it, no random cases */
} CfParam;

typedef enum { CF_APPLY_ALL, CF_APPLY_LUMA, CF_APPLY_CHROMA } CfApplyTo;

/* What every filter is asked besides its own parameters. */
typedef struct {
  CfApplyTo apply_to; /* which components are filtered; the others are copied */
} CfCommon;

/* The pictures a plan is for. */
typedef struct {
  CfFormat format;
  int width, height;
  bool interlaced; /* two interleaved fields, each filtered by itself */
} CfVideo;

typedef struct CfFilter CfFilter; /* the descriptor; core/filter.h has it */

/* All filters, in the order they are documented; NULL behind the last. */
extern const CfFilter *const cf_filters[];
/* By stem ("median"); NULL if there is none. */
const CfFilter *cf_filter_find (const char *stem);
const char *cf_filter_stem (const CfFilter *filter);
const CfParam *cf_filter_params (const CfFilter *filter, unsigned *n);
size_t cf_filter_params_size (const CfFilter *filter);
/* Fills a parameter struct with the defaults (strings NULL). */
void cf_filter_defaults (const CfFilter *filter, void *params);
/* Would these be accepted for this video? Ranges, oddness, combinations.
 * `video` may be NULL while the caps are not known: what needs them is then
 * not checked. Needs no context. */
CfCode cf_filter_check (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params,
    CfStatus *status);
/* Call this after setting the field of row `row` of the table: it does what the
 * setting implies for other fields (a kernel that is typed makes the preset
 * "custom"), and reads a file that a row names, once. The strings of `params`
 * must be the caller's own, from malloc; so are those it puts there. On
 * CF_BAD_VALUE (the file cannot be read) or CF_NO_MEMORY `params` is sound, but
 * cf_filter_check may refuse it. Any thread; may wait for the disk. */
CfCode cf_filter_param_changed (const CfFilter *filter, void *params, unsigned row, CfStatus *status);
/* How many rows of its plane above and below its own a sample's result depends on,
 * in a frame by itself and away from the border; -1: on all, or on earlier frames. */
int cf_filter_halo (const CfFilter *filter, const void *params);
/* How many earlier input frames these parameters look at (0 = none). */
int cf_filter_history (const CfFilter *filter, const void *params);
/* Are the output words the input words, all over the picture? Then the frames
 * need not be filtered. The parameters must be ones that cf_filter_check
 * accepts for `video`. */
bool cf_filter_passes (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params);

/* Does it find regions in a frame as a whole, so that interlaced frames are not
 * filtered field by field? */
bool cf_filter_whole_frames (const CfFilter *filter);
/* Does a frame's result lean on those of the frames before it, all the way back
 * to a reset? A plan that has not made the frames before then starts afresh. */
bool cf_filter_follows (const CfFilter *filter, const void *params);
/* Do these parameters ask for what cf_plan_regions tells? */
bool cf_filter_reports (const CfFilter *filter, const void *params);

/* ---- context and plan --------------------------------------------------- */

typedef enum { CF_BACKEND_CPU, CF_BACKEND_CUDA } CfBackend;

typedef struct CfContext CfContext;
typedef struct CfPlan CfPlan;
typedef struct CfStream CfStream;

/* CF_BACKEND_CUDA: CUDA context current, here and in every later call that
 * takes the context, a plan or a stream of it. Loads the kernels. */
CfContext *cf_context_new (CfBackend backend, CfStatus *status);
void cf_context_free (CfContext *context);
CfBackend cf_context_backend (const CfContext *context);

/* Validates, chooses the variant, allocates all scratch. NULL and a status on
 * failure. The plan keeps a pointer to `context`; `params` is copied. */
CfPlan *cf_plan_new (CfContext *context, const CfFilter *filter, const CfVideo *video, const CfCommon *common,
    const void *params, CfStatus *status);
void cf_plan_free (CfPlan *plan);

/* New parameters, from the next enqueue on. May allocate. On CF_BAD_VALUE the
 * old ones stay. CF_REPLAN: sound, but the plan cannot hold them. */
CfCode cf_plan_update (CfPlan *plan, const CfCommon *common, const void *params, CfStatus *status);

/* Filters `in` into `out`: same format and size as the plan's video, memory
 * that does not overlap. Writes every visible sample of `out` and nothing
 * beside them. CPU: done on return (stream NULL). CUDA: queued on `stream`. */
CfCode cf_plan_enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status);

/* Takes `in` into the plan's history without filtering it, as cf_plan_enqueue
 * would have: keeps a standby plan ready to take over a stream. No-op without
 * history. */
CfCode cf_plan_push_history (CfPlan *plan, CfStream *stream, const CfImage *in, CfStatus *status);

/* A region of the last frame. */
typedef struct {
  uint32_t id;  /* 1..; the same as long as the region persists */
  uint32_t age; /* frames before this one that had it */
  uint32_t area; /* pixels; 0: the region has lost all of them, its other fields say nothing */
  int x, y, width, height; /* the smallest rectangle about it */
  double centroid_x, centroid_y; /* mean position of its pixels, the first one's is 0 */
  double mean[3]; /* Y, Cb, Cr, levels of 8 bits (of an RGB picture full range BT.601) */
} CfRegion;

typedef struct {
  unsigned n;
  const CfRegion *region;
  /* Of each pixel the index of its region; row y begins y * pitch bytes behind it. */
  const uint16_t *label;
  size_t pitch;
} CfRegions;

/* The regions of the last frame enqueued; on CUDA once the stream was waited for.
 * They are the plan's, until its next call. CF_BAD_VALUE where the parameters do
 * not ask for them (cf_filter_reports), CF_UNSUPPORTED from a filter that has
 * none. `label` is NULL unless the parameter label-meta is on. */
CfCode cf_plan_regions (CfPlan *plan, CfRegions *regions, CfStatus *status);

/* Forgets the frames seen so far (flush, seek, discontinuity). */
void cf_plan_reset (CfPlan *plan);

/* The name of the variant the next enqueue takes, "network 5x5" say. */
const char *cf_plan_variant (const CfPlan *plan);
/* For tests and benchmarks: the i-th variant's name, NULL behind the last;
 * and take that one from now on whatever the size (NULL: choose again).
 * CF_UNSUPPORTED if it cannot do these parameters. */
const char *cf_plan_variant_name (const CfPlan *plan, unsigned i);
CfCode cf_plan_prefer (CfPlan *plan, const char *variant, CfStatus *status);
/* For tests: turns one of the plan's knobs, which change how it works and never
 * what comes out. CF_UNSUPPORTED for a name that the filter does not know. */
CfCode cf_plan_override (CfPlan *plan, const char *name, int value, CfStatus *status);
/* For tests: which block made what in the last frame, where the knob "trace" was
 * turned to 1: `table` gets up to `size` entries, row by row, a row a strip and a
 * column a chunk, -1 where there is none; rows and columns are set. Waits. */
CfCode cf_plan_trace (CfPlan *plan, CfStream *stream, int *table, size_t size, int *rows, int *columns, CfStatus *status);

/* ---- CPU side ----------------------------------------------------------- */

/* The instruction set the CPU code runs with: "avx512bw", "avx2", "sse4.1",
 * "baseline". cf_cpu_limit restricts it (tests; before any plan is made);
 * false for a name this machine does not have. */
const char *cf_cpu_isa (void);
bool cf_cpu_limit (const char *isa);
/* Threads the CPU side uses: the cores this process may run on. */
int cf_cpu_threads (void);

/* ---- GPU side ----------------------------------------------------------- */

typedef struct {
  char name[128];
  int major, minor; /* compute capability */
  int sms;
  uint64_t memory;   /* bytes */
  uint64_t l2_bytes;
  int pci_bus;
} CfGpuInfo;

/* Was the library built with CUDA kernels? */
bool cf_gpu_built (void);
/* Usable devices; on 0 `status` says why (built without, no driver, driver too
 * old, no device). May be called with no driver installed; after a fork it
 * answers 0. */
int cf_gpu_count (CfStatus *status);
CfCode cf_gpu_info (int device, CfGpuInfo *info, CfStatus *status);
/* CUDA versions as 13000 for 13.0; 0 = none. */
int cf_gpu_driver_version (void);
int cf_gpu_runtime_version (void);
/* Has a sticky error been seen in this process? Set by any failing call, never
 * cleared. */
bool cf_gpu_lost (void);
/* Kernels launched by this process so far: shows that a GPU run ran there. */
uint64_t cf_gpu_launches (void);

/* All below: CUDA context current. */

/* Pinned host memory, usable from every context. NULL on failure. Stays
 * readable and writable after a GPU fault. */
void *cf_pinned_alloc (size_t size, CfStatus *status);
void cf_pinned_free (void *memory);
void *cf_device_alloc (size_t size, CfStatus *status);
void cf_device_free (void *memory);

/* A non-default CUDA stream with its timing events. `handle` is a cudaStream_t
 * (CUstream) to borrow, or NULL to make one. */
CfStream *cf_stream_new (void *handle, CfStatus *status);
void cf_stream_free (CfStream *stream);
/* Whole pictures between host and device, asynchronous; one copy where both
 * sides lie alike in memory. */
CfCode cf_stream_upload (CfStream *stream, const CfImage *device, const CfImage *host, CfStatus *status);
CfCode cf_stream_download (CfStream *stream, const CfImage *host, const CfImage *device, CfStatus *status);
/* The rows begin..end - 1 (cf_image_rows) of whole pictures, and nothing beside them. */
CfCode cf_stream_upload_rows (CfStream *stream, const CfImage *device, const CfImage *host, int begin, int end,
    CfStatus *status);
CfCode cf_stream_download_rows (CfStream *stream, const CfImage *host, const CfImage *device, int begin, int end,
    CfStatus *status);
/* Waits until all that the stream was told by now is done, `deadline_ns` at most
 * (CF_TIMEOUT). One thread at a time. */
CfCode cf_stream_wait (CfStream *stream, uint64_t deadline_ns, CfStatus *status);
/* Marks 0..3 in the stream, and the time between two of them once the stream
 * was waited for (0 if unknown). */
#define CF_STREAM_MARKS 4
CfCode cf_stream_mark (CfStream *stream, int mark, CfStatus *status);
uint64_t cf_stream_elapsed_ns (CfStream *stream, int from, int to);

/* Marks 0..5 of one frame's way, which may lead through several streams, and its
 * end: one stream sets a mark, another waits for it. One thread sets them;
 * another may wait for the end and ask for times while that one works on other
 * frames. */
typedef struct CfMarks CfMarks;
#define CF_MARKS 6
CfMarks *cf_marks_new (CfStatus *status);
void cf_marks_free (CfMarks *marks);
/* All that the stream was told before. */
CfCode cf_stream_set_mark (CfStream *stream, CfMarks *marks, int mark, CfStatus *status);
/* What the stream is told from here on waits for the mark as it was last set;
 * no wait where it never was, nor on the host. */
CfCode cf_stream_follow (CfStream *stream, const CfMarks *marks, int mark, CfStatus *status);
/* The frame's end, behind all that this stream was told: what the host waits for, as
 * cf_stream_wait does. */
CfCode cf_stream_set_end (CfStream *stream, CfMarks *marks, CfStatus *status);
CfCode cf_marks_wait (CfMarks *marks, uint64_t deadline_ns, CfStatus *status);
/* Between two marks that were reached (0 if unknown). */
uint64_t cf_marks_elapsed_ns (const CfMarks *marks, int from, int to);
/* Allocations of pinned and of device memory by this process so far: shows that
 * a stream under way makes none. */
uint64_t cf_gpu_allocations (void);

#ifdef __cplusplus
}
#endif
#endif
