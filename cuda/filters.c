/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * filters.c: the registry of filters. */
#include "cf.h"

#define DECLARE(stem) extern const CfFilter cf_##stem;
CF_FILTERS (DECLARE)

#define ROW(stem) &cf_##stem,
const CfFilter *const cf_filters[] = { CF_FILTERS (ROW) NULL };
