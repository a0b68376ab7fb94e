/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/network.cu: the networks' kernels for samples of up to 10 bits. */
#define CF_MEDIAN_WIDE 0
#include "network.cuh"

namespace cf {

const MedianNetworkVariant *
median_networks_narrow (void)
{
  static const MedianNetworkVariant variants[median_n_networks] = CF_MEDIAN_NETWORKS;

  return variants;
}

} // namespace cf
