/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/network.cu: the networks' kernels, compiled for samples of up to 10 bits and for those of 16 bits. */
#include "network.cuh"

namespace cf {

/* ---- the variants for one sample width ---------------------------------- */

template<int K, int TX, int TY, int BY, int BLOCKS> static MedianNetworkVariant
network_variant ()
{
  typedef MedianNetworkBlock<K, TX, TY, BY, BLOCKS> B;

  static_assert (B::SHARED <= 99 << 10, "all devices from capability 8.0 on have as much");
  return MedianNetworkVariant { (const void *) median_network_kernel<B>, B::TILE_W, B::TILE_H, B::BY, B::SHARED,
    K > 5 ? CF_MEDIAN_LARGE_ARCH : 0 };
}

const MedianNetworkVariant *
#if CF_MEDIAN_WIDE
median_networks_wide (void)
#else
median_networks_narrow (void)
#endif
{
  static const MedianNetworkVariant variants[median_n_networks] = {
    network_variant<3, 4, 4, 4, 8> (), network_variant<5, 4, 4, 4, 6> (), network_variant<7, 4, 4, 8, 2> (),
    network_variant<9, 4, 2, 4, 5> (), network_variant<11, 4, 3, 4, 3> (), network_variant<13, 4, 2, 4, 3> (),
    network_variant<15, 4, 2, 4, 2> (), network_variant<17, 4, 2, 4, 2> (),
  };

  return variants;
}

} // namespace cf
