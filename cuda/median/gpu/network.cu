/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/network.cu: the networks' kernels, compiled for samples of up to 10 bits and for those of 16 bits. */
#include "network.cuh"

namespace cf {

/* ---- the variants for one sample width ---------------------------------- */

template<int K> static MedianNetworkVariant
network_variant ()
{
  typedef MedianNetworkBlock<K> B;

  return MedianNetworkVariant { K, (const void *) median_network_kernel<K>, B::TILE_W, B::TILE_H, B::BY };
}

const MedianNetworkVariant *
#if CF_MEDIAN_WIDE
median_networks_wide (void)
#else
median_networks_narrow (void)
#endif
{
  static const MedianNetworkVariant variants[median_n_networks] = {
    network_variant<3> (), network_variant<5> (), network_variant<7> (), network_variant<9> (), network_variant<11> (),
    network_variant<13> (), network_variant<15> (), network_variant<17> (),
  };

  return variants;
}

} // namespace cf
