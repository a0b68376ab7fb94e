/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-gpu.h: how busy the GPUs are, from the driver's NVML where it is there. */
#ifndef PIPELINES_TOOLS_BENCH_GPU_H
#define PIPELINES_TOOLS_BENCH_GPU_H

#include <glib.h>

/* How many GPUs can be told of, `max` at most; of each one how much of the time it
 * worked (%) and the memory in use (MB). 0 where nothing can be told. */
int bench_gpu_use (int max, double *percent, double *memory);

#endif
