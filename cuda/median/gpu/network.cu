/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * median/gpu/network.cu: the networks for samples of up to 10 bits. */
#define CF_WIDE 0
#include "network.cuh"

namespace cf {

const NetworkVariant *
median_network_narrow (void)
{
  static const NetworkVariant variants[n_network_variants] = CF_NETWORK_VARIANTS;

  return variants;
}

} // namespace cf
