/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gpu.h: deals cameras to GPUs, and shares one CUDA context a GPU among all pipelines. Works without a GPU. */
#ifndef PIPELINES_WATCH_GPU_H
#define PIPELINES_WATCH_GPU_H

#include <gst/gst.h>

/* Finds the GPUs, and returns how many there are; 0 without a driver. `note` says which ones get no camera because the
 * plugin has no kernels for them. Call it before threads start. */
guint gpu_init (GString *note);
guint gpu_count (void);
/* Returns the GPU for a camera: `wanted`, or for -1 the one with the fewest cameras. The plugin has to have kernels
 * for it; -1: there is no such GPU. Main thread; gpu_release () gives it back. */
int gpu_take (int wanted);
void gpu_release (int gpu);
/* Notes that the kernels do not run on a GPU, whatever the list of archs says: it is dealt to no camera again. Returns
 * whether there is another for cameras that name none. Main thread. */
gboolean gpu_refuse (int gpu);
/* Sets the GPU of the line's elements whose cuda-device-id is -1, and makes the pipeline's bus answer their questions
 * for a context. */
void gpu_assign (GstElement *pipeline, GstElement *line, int gpu);
/* Starts the line's elements before the pipeline if the GPU has no context yet, one camera at a time: the first one
 * makes the context that all others get. Any thread but the main one; waits for other cameras. */
void gpu_warm_up (GstElement *line, int gpu);

#endif
