/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/network_wide.cu: the networks' kernels for samples of 16 bits. */
#define CF_MEDIAN_WIDE 1
#include "network.cuh"

namespace cf {

const MedianNetworkVariant *
median_networks_wide (void)
{
  static const MedianNetworkVariant variants[median_n_networks] = CF_MEDIAN_NETWORKS;

  return variants;
}

} // namespace cf
