/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/cuda.h: errors and handles of the CUDA runtime, for core/gpu/ and for the gpu/ folders of the filters. */
#ifndef CF_CORE_GPU_CUDA_H
#define CF_CORE_GPU_CUDA_H

#include "core/device.h"

CF_BEGIN_DECLS

/* Fills a status with the code and the sentence for an error number of the CUDA runtime or driver, which share their
 * numbers, and returns the code. `what`: the operation that failed; `name`: CUDA's own description, for an error that
 * has no sentence here. */
CfCode cf_cuda_fail (int error, const char *what, const char *name, CfStatus *status);
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
/* Returns whether the process was forked from one that used CUDA. */
bool cf_cuda_forked (void);
/* Returns CF_NO_GPU in such a process. In another one notes its forks from now on, and returns CF_OK. */
CfCode cf_cuda_watch_forks (CfStatus *status);
/* Returns the time of a clock that only goes on. */
uint64_t cf_cuda_now_ns (void);

/* Records that the work of a stream of the current context (a cudaStream_t) did not end before its deadline, or that
 * this is not known. `kernel`: the last one launched before, a string that stays; NULL: not known. `left_ns`: the
 * deadline is only so far away, and the GPU hangs from then on. */
void cf_cuda_hangs (void *stream, const char *kernel, uint64_t left_ns);
/* As cf_device_usable, but first waits while it is in doubt whether the GPU hangs. */
CfCode cf_cuda_may_allocate (CfStatus *status);
/* Returns whether there is an object and it may be freed: not while the GPU hangs or may hang. One that stays is
 * counted. */
bool cf_cuda_may_free (const void *object);
/* Sets hung, doubt and abandoned. */
void cf_cuda_state_of_hangs (CfGpuState *state);

/* Returns a function of the driver, as of CUDA 12.0; NULL where there is none of that name. */
void *cf_cuda_entry (const char *name);
/* Clears new device memory, and waits for that. CF_TIMEOUT: the memory must not be freed. */
CfCode cf_cuda_clear (void *memory, size_t size, CfStatus *status);
/* Returns the cudaStream_t of a stream. */
void *cf_stream_handle (const CfStream *stream);

/* Loads the kernel of cf_stream_copy_pieces, as a trial: CF_NO_GPU where the current context's GPU, or its driver,
 * cannot run kernels of this build. Sets CfContext.dependent. */
CfCode cf_cuda_load_pieces (bool *dependent, CfStatus *status);
/* The kernels of cf_stream_copy_pieces (core/gpu/pieces.cu). */
CfCode cf_cuda_copy_pieces (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from,
    bool interlaced, const CfPiece *piece, unsigned n, CfStatus *status);
/* The kernel of cf_device_blend (core/gpu/blend.cu), queued behind the filter. `map`: a copy of the area's map; NULL:
 * it has none. `dependent`: CfContext.dependent. */
CfCode cf_cuda_blend (CfStream *stream, const CfFrame *frame, const void *map, bool dependent, CfStatus *status);
/* The kernel of cf_device_repack (core/gpu/repack.cu). */
CfCode
cf_cuda_repack (CfStream *stream, const CfImage *from, const CfImage *alpha, const CfImage *to, CfStatus *status);

CF_END_DECLS
#endif
