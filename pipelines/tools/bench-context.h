/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-context.h: one CUDA context for all pipelines of a process, as GStreamer's
 * manual asks of applications. Each element gets the context of the first element. */
#ifndef PIPELINES_TOOLS_BENCH_CONTEXT_H
#define PIPELINES_TOOLS_BENCH_CONTEXT_H

#include <gst/gst.h>

/* Shares the context with the pipeline's elements; `gpu` is the pipeline's GPU, -1: any. */
void bench_context_share (GstElement *pipeline, int gpu);

#endif
