/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/shares.cuh: how the plans of a filter share a device out. For kernels whose blocks wait for each other most
 * of the time and keep their places on the multiprocessors meanwhile: where each plan takes its share of them, the
 * frames of several plans overlap. */
#ifndef CF_CORE_GPU_SHARES_CUH
#define CF_CORE_GPU_SHARES_CUH

#include "core/gpu/cuda.h"

#include <algorithm>
#include <atomic>

namespace cf {

/* The plans of one filter in this process, by device (modulo the entries). */
class PlanShares {
public:
  /* Begins or ends to count a plan; *counted: whether it is. */
  void
  count (const CfPlan *plan, bool now, bool *counted)
  {
    if (now != *counted)
      plans[plan->context->device % devices] += now ? 1 : -1;
    *counted = now;
  }

  /* Returns the plan's share of `places`, at least a part of them, 1 / most. */
  int
  of (const CfPlan *plan, int places, int most) const
  {
    return std::max (places / std::clamp (plans[plan->context->device % devices].load (), 1, most), 1);
  }

private:
  static constexpr int devices = 64;
  std::atomic<int> plans[devices] = { };
};

} // namespace cf

#endif
