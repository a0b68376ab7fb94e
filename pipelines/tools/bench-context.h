/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-context.h: one CUDA context for all pipelines of a process, as GStreamer's
 * manual asks of applications: whoever needs one is given that of the first. */
#ifndef PIPELINES_TOOLS_BENCH_CONTEXT_H
#define PIPELINES_TOOLS_BENCH_CONTEXT_H

#include <gst/gst.h>

/* Answers the pipeline's elements; `gpu` is the one it is to work on, -1: any. */
void bench_context_share (GstElement *pipeline, int gpu);

#endif
