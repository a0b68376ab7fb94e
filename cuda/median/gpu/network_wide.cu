/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * median/gpu/network_wide.cu: the networks for samples of 16 bits. */
#define CF_WIDE 1
#include "network.cuh"

namespace cf {

const NetworkVariant *
median_network_wide (void)
{
  static const NetworkVariant variants[n_network_variants] = CF_NETWORK_VARIANTS;

  return variants;
}

} // namespace cf
