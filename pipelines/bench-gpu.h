/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-gpu.h: how busy the GPUs are, from the driver's NVML where it is there. */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H

#include <glib.h>

/* FALSE where nothing can be told. All GPUs together: mean % busy, MB in use. */
gboolean bench_gpu_use (double *percent, double *memory);

#endif
