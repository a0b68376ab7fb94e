/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * hooks.c: where the fake GPU looks into the device layer: which thread knows that the GPU is lost, and what may cut a
 * wait short. A process loses its GPU once; here it gets it back for the next run. */
#include "fake.h"

bool layer_lost (void);
CfCode layer_stream_wait (CfStream *stream, uint64_t deadline_ns, const int *hurry, CfStatus *status);
CfCode layer_events_wait (CfEvents *events, uint64_t deadline_ns, const int *hurry, CfStatus *status);

#define cf_gpu_lost layer_lost
#include "core/gpu/errors.c"
#undef cf_gpu_lost

bool
cf_gpu_lost (void)
{
  const bool is = layer_lost ();

  if (is)
    fake_know_loss ();
  return is;
}

CfCode
cf_stream_wait (CfStream *stream, uint64_t deadline_ns, const int *hurry, CfStatus *status)
{
  CfCode code;

  fake_wait_begins (hurry);
  code = layer_stream_wait (stream, deadline_ns, hurry, status);
  fake_wait_ends (code);
  return code;
}

CfCode
cf_events_wait (CfEvents *events, uint64_t deadline_ns, const int *hurry, CfStatus *status)
{
  CfCode code;

  fake_wait_begins (hurry);
  code = layer_events_wait (events, deadline_ns, hurry, status);
  fake_wait_ends (code);
  return code;
}

void
fake_arm (int call, int code, bool for_good)
{
  fake_reset (call, code, for_good);
  atomic_store (&lost, NULL);
  (void) cf_gpu_state (); /* what hung in the run before has ended */
}
