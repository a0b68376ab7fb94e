/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * filters.c: the registry of filters. The only file that knows them all. */
#include "convolve/convolve.h"
#include "irfilter/irfilter.h"
#include "median/median.h"
#include "segment/segment.h"

/* One row a filter, in the order in which they are documented. */
const CfFilter *const cf_filters[] = {
  &cf_median,
  &cf_convolve,
  &cf_irfilter,
  &cf_segment,
  NULL,
};
