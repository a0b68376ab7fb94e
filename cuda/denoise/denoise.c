/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * denoise/denoise.c: the denoiser's parameters and descriptor. denoise.h is its contract. */
#include "noise.h"

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

const CfDenoiseTables cf_denoise_tables = {
  .a1 = { 246, 214, 201, 195, 191, 188, 186, 185, 184, 183, 182, 181, 181, 180, 180, 180 },
  .a2 = { 395, 343, 323, 312, 306, 302, 299, 297, 295, 294, 292, 290, 290, 289, 288, 288 },
  .b1 = { 1165, 1010, 953, 920, 901, 892, 882, 875, 869, 866, 859, 856, 856, 853, 849, 849 },
  .b2 = { 1435, 1244, 1173, 1133, 1110, 1098, 1086, 1078, 1070, 1066, 1058, 1054, 1054, 1050, 1046, 1046 },
  .part = { 32767, 16384, 10922, 8192, 6553, 5461, 4681, 4096, 3640, 3276, 2978, 2730, 2520, 2340, 2184, 2048 },
  .left = { 40960, 28963, 23648, 20480, 18318, 16722, 15481, 14482, 13653, 12953, 12350, 11824, 11360, 10947, 10576,
      10240 },
  .still = { 23170, 26755, 28378, 29309, 29913, 30337, 30652, 30894, 31086, 31243, 31373, 31482, 31576, 31657, 31727,
      31790 },
};

size_t
cf_denoise_lay_out (const CfVideo *video, CfDenoiseLayout *layout)
{
  const CfCommon all = { 0 };
  const CfImage image = { .format = video->format };
  const size_t bytes = cf_format_info (video->format)->bits == 8 ? 2 : 4;
  CfView views[CF_MAX_VIEWS];
  const int n = cf_image_views (video, &all, &image, views);
  size_t size = 0;

  for (int i = 0; i < n; i++) {
    layout->offset[i] = size;
    layout->pitch[i] = ((size_t) views[i].width * bytes + 63) / 64 * 64;
    if (views[i].filtered)
      size += layout->pitch[i] * (size_t) views[i].height;
  }
  return size;
}

static CfCode
check (const CfVideo *video, const CfCommon *common, const void *params_, CfStatus *status)
{
  const CfDenoiseParams *p = params_;

  (void) video;
  (void) common;
  if (p->noise < 0 && p->noise != -1)
    return cf_fail (status, CF_BAD_VALUE,
        "noise %g is not a standard deviation; use 0 to 64, or -1 to have it estimated", p->noise);
  return CF_OK;
}

static void
traits (const CfVideo *video, const CfCommon *common, const void *params_, CfTraits *traits)
{
  const CfDenoiseParams *p = params_;

  traits->stateful = true;
  traits->lapses = true;
  traits->identity = video && (cf_denoise_is_off (p) || !cf_any_filtered (video, common));
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
