/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/network.cu: the networks' kernels, compiled for samples of up to 10 bits and for those of 16 bits. */
#include "network.cuh"
