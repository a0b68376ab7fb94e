/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * filters-fake.c: the functions of every filter on the fake GPU: those of the CPU, as kernels. */
#include "fake.h"

#include <stdlib.h>

static CfContext cpu = { .backend = CF_BACKEND_CPU };

typedef struct {
  CfPlan *plan; /* of the CPU backend */
  void *scratch;
} State;

static CfCode
init (CfPlan *plan, CfStatus *status)
{
  State *s = plan->state = calloc (1, sizeof *s);

  if (!s)
    return cf_fail (status, CF_NO_MEMORY, "out of memory");
  if (fake_call (FAKE_KERNELS, status) != CF_OK || !(s->scratch = cf_device_alloc (1000, status)))
    return status->code;
  s->plan = cf_plan_new (&cpu, plan->filter, &plan->video, &plan->common, plan->params, status);
  return s->plan ? CF_OK : status->code;
}

/* Allocates scratch memory again, because new parameters may need more. */
static CfCode
update (CfPlan *plan, CfStatus *status)
{
  State *s = plan->state;
  void *scratch = cf_device_alloc (2000, status);

  if (!scratch)
    return status ? status->code : CF_NO_MEMORY;
  cf_device_free (s->scratch);
  s->scratch = scratch;
  return cf_plan_update (s->plan, &plan->common, plan->params, status);
}

static CfCode
enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  return fake_launch (((State *) plan->state)->plan, stream, in, out, status);
}

static CfCode
push_history (CfPlan *plan, CfStream *stream, const CfImage *in, CfStatus *status)
{
  return fake_launch (((State *) plan->state)->plan, stream, in, NULL, status);
}

static void
reset (CfPlan *plan)
{
  cf_plan_reset (((State *) plan->state)->plan);
}

static CfCode
regions (CfPlan *plan, CfRegions *found, CfStatus *status)
{
  CfCode code = fake_call (FAKE_REGIONS, status);

  return code == CF_OK ? cf_plan_regions (((State *) plan->state)->plan, found, status) : code;
}

static void
free_state (CfPlan *plan)
{
  State *s = plan->state;

  if (!s)
    return;
  cf_device_free (s->scratch);
  cf_plan_free (s->plan);
  free (s);
}

static const CfOps ops = { .init = init,
  .update = update,
  .enqueue = enqueue,
  .push_history = push_history,
  .reset = reset,
  .regions = regions,
  .free = free_state };

const CfOps *
fake_ops_of (const CfFilter *filter)
{
  (void) filter;
  return &ops;
}
