/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * denoise/denoise.c: the denoiser's parameters and descriptor. denoise.h is its contract. */
#include "denoise.h"

#define FIELD(name) offsetof (CfDenoiseParams, name)

static const CfParam params[] = {
  { "noise", CF_TYPE_DOUBLE, FIELD (noise), -1, 64, -1, NULL, "levels of 8 bits",
      "Standard deviation of the noise in the input; -1: estimated, for eight zones of brightness" },
  { "strength", CF_TYPE_INT, FIELD (strength), 0, 200, 100, NULL, "%",
      "How much of the noise is removed: less keeps finer texture and some noise, more smooths; 0: none" },
  { "message-interval", CF_TYPE_INT, FIELD (message_interval), 0, 3600000, 0, NULL, "ms",
      "Post a message with the estimated noise when it has changed by more than a third, at most once per interval; 0: "
      "never" },
};

static CfCode
check (const CfVideo *video, const CfCommon *common, const void *params_, CfStatus *status)
{
  const CfDenoiseParams *p = params_;

  (void) video;
  (void) common;
  if (p->noise < 0 && p->noise != -1)
    return cf_fail (status, CF_BAD_VALUE, "noise %g is not a standard deviation; use 0 to 64, or -1 to have it estimated",
        p->noise);
  return CF_OK;
}

static void
traits (const CfVideo *video, const CfCommon *common, const void *params_, CfTraits *traits)
{
  const CfDenoiseParams *p = params_;

  traits->stateful = true;
  traits->identity = video && (p->strength == 0 || p->noise == 0 || !cf_any_filtered (video, common));
}

const CfFilter cf_denoise = {
  .info = { .stem = "denoise", .params = params, .n_params = sizeof params / sizeof params[0] },
  .params_size = sizeof (CfDenoiseParams),
  .check = check,
  .traits = traits,
  .cpu = &cf_denoise_cpu,
#ifdef CF_HAVE_CUDA
  .cuda = &cf_denoise_cuda,
#endif
};
