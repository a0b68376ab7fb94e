/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf-test.h: the filter library as tests and benchmarks see it, besides cf.h. Nothing that users run calls it. */
#ifndef CF_TEST_H
#define CF_TEST_H

#include "cf.h"

CF_BEGIN_DECLS

/* Returns the name of the variant that the next enqueue takes: "network 5x5". */
const char *cf_plan_variant (const CfPlan *plan);
/* Returns the name of the i-th variant, NULL behind the last. */
const char *cf_plan_variant_name (const CfPlan *plan, unsigned i);
/* Takes that variant from now on, whatever the size; NULL: chooses again. CF_UNSUPPORTED if the
 * variant cannot do the plan's parameters. */
CfCode cf_plan_prefer (CfPlan *plan, const char *variant, CfStatus *status);

/* Sets one of the plan's test overrides, which change how it works and, but for the ids of regions, never what comes
 * out. CF_UNSUPPORTED for a name that the filter does not have. */
CfCode cf_plan_override (CfPlan *plan, const char *name, int value, CfStatus *status);
/* Reads which block made what in the last frame, where the override "trace" is 1: fills at most
 * `size` entries of `table`, a row for each strip and a column for each chunk, -1 where there is none, and
 * sets rows and columns. Waits for the stream. */
CfCode
cf_plan_trace (CfPlan *plan, CfStream *stream, int *table, size_t size, int *rows, int *columns, CfStatus *status);

/* Restricts the CPU code to an instruction set of cf_cpu_info; before any plan is made. Returns false for a
 * name that this machine does not have. */
bool cf_cpu_limit (const char *isa);

CF_END_DECLS
#endif
