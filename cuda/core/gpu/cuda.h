/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/cuda.h: errors and handles of the CUDA runtime, for core/gpu/ and for the gpu/ folders of the filters. */
#ifndef CF_CORE_GPU_CUDA_H
#define CF_CORE_GPU_CUDA_H

#include "core/device.h"

CF_BEGIN_DECLS

/* Returns CF_OK for 0 (cudaSuccess). Converts any other cudaError_t to a status, whose message begins with `what`, the
 * operation that failed. The first sticky error of the process is kept for cf_gpu_lost and cf_fail_lost. */
CfCode cf_cuda_check (int error, const char *what, CfStatus *status);
/* The same for work that another thread may have queued. CUDA reports a kernel's error at a later call; `kernel` is the
 * last kernel that was launched before this work, NULL where none is known. */
CfCode cf_cuda_check_after (const char *kernel, int error, const char *what, CfStatus *status);
/* Counts a launch and checks it for an error. To be called immediately after every launch. `kernel` is kept. */
CfCode cf_cuda_launched (const char *kernel, CfStatus *status);
/* Returns the last kernel that this thread has launched, NULL before the first. */
const char *cf_cuda_last_kernel (void);
/* Returns a function of the driver, as of CUDA 12.0; NULL where there is none of that name. */
void *cf_cuda_entry (const char *name);
/* Clears new device memory, and waits for that. CF_TIMEOUT: the memory must not be freed. */
CfCode cf_cuda_clear (void *memory, size_t size, CfStatus *status);
/* Returns the cudaStream_t of a stream. */
void *cf_stream_handle (const CfStream *stream);

/* The table's functions for streams and events (core/gpu/stream.c). */
CfStream *cf_cuda_stream_new (void *handle, CfStatus *status);
void cf_cuda_stream_free (CfStream *stream);
CfCode cf_cuda_stream_copy (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, bool whole,
    CfStatus *status);
CfCode cf_cuda_stream_wait (CfStream *stream, uint64_t deadline_ns, const int *hurry, CfStatus *status);
CfCode cf_cuda_stream_record (CfStream *stream, CfEvents *events, unsigned i, CfStatus *status);
CfCode cf_cuda_stream_wait_event (CfStream *stream, const CfEvents *events, unsigned i, CfStatus *status);
CfCode cf_cuda_stream_signal (CfStream *stream, CfEvents *events, CfStatus *status);
CfEvents *cf_cuda_events_new (unsigned n, CfStatus *status);
void cf_cuda_events_free (CfEvents *events);
CfCode cf_cuda_events_wait (CfEvents *events, uint64_t deadline_ns, const int *hurry, CfStatus *status);
uint64_t cf_cuda_events_elapsed_ns (const CfEvents *events, unsigned from, unsigned to);

/* The table's function for rectangles (core/gpu/pieces.cu). */
CfCode cf_cuda_copy_pieces (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from,
    bool interlaced, const CfPiece *piece, unsigned n, CfStatus *status);
/* For areas (core/gpu/blend.cu). */
CfCode cf_cuda_blend (CfStream *stream, const CfArea *area, const void *map, const CfImage *in, const CfImage *filtered,
    const CfImage *out, CfStatus *status);
/* And for packed formats (core/gpu/repack.cu). */
CfCode
cf_cuda_repack (CfStream *stream, const CfImage *from, const CfImage *alpha, const CfImage *to, CfStatus *status);

CF_END_DECLS
#endif
