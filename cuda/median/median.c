/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/median.c: the median filter's parameters and descriptor. median.h is its
 * contract; median/cpu/plan.c implements it on the CPU, median/gpu/plan.cu on CUDA. */
#include "running.h"

#define FIELD(name) offsetof (CfMedianParams, name)

static const CfEnumValue color_orders[] = {
  { CF_MEDIAN_PER_CHANNEL, "per-channel", "Each channel is sorted on its own" },
  { CF_MEDIAN_PACKED, "packed", "Pixels are sorted as 24-bit numbers, red highest; 8-bit RGB formats only" },
  { 0, NULL, NULL },
};

static const CfEnumValue methods[] = {
  { CF_MEDIAN_WINDOW, "window", "The median of a window of samples, of one frame or of several" },
  { CF_MEDIAN_RUNNING, "running", "A background that follows the frames slowly; finds what moves" },
  { 0, NULL, NULL },
};

static const CfEnumValue outputs[] = {
  { CF_MEDIAN_RESULT, "result", "window: the filtered frame; running: the frame as it is" },
  { CF_MEDIAN_BACKGROUND, "background", "running: the frame without what moves" },
  { CF_MEDIAN_DIFFERENCE, "difference", "running: how far each sample is from the background" },
  { CF_MEDIAN_MASK, "mask",
      "running: white where what moves is far from the background (by more than 21 levels of 255, or by more than that "
      "where it is noisy), black elsewhere" },
  { CF_MEDIAN_STILL, "still", "running: the frame, with the background where something moves" },
  { 0, NULL, NULL },
};

static const CfParam params[] = {
  { "kernel-size", CF_TYPE_INT, FIELD (kernel_size), 1, 255, 3, NULL, "samples", "Window width and height; odd" },
  { "kernel-width", CF_TYPE_INT, FIELD (kernel_width), 0, 255, 0, NULL, "samples",
      "Width of the window; odd, or 0 for kernel-size" },
  { "kernel-height", CF_TYPE_INT, FIELD (kernel_height), 0, 255, 0, NULL, "samples",
      "Height of the window; odd, or 0 for kernel-size" },
  { "percentile", CF_TYPE_INT, FIELD (percentile), 0, 100, 50, NULL, "%",
      "Rank of the output among the window's sorted samples: 0 minimum, 50 median, 100 maximum" },
  { "threshold", CF_TYPE_INT, FIELD (threshold), 0, 65535, 0, NULL, "sample value",
      "Replace a sample only if it differs from the result by more than this" },
  { "temporal-depth", CF_TYPE_INT, FIELD (temporal_depth), 1, CF_MEDIAN_MAX_DEPTH, 1, NULL, "frames",
      "Number of frames in the window, the current one and those before it, or around it with temporal-center; odd; "
      "above 15 with kernel-size=1 only" },
  { "temporal-center", CF_TYPE_BOOL, FIELD (temporal_center), 0, 1, 0, NULL, "",
      "The window has as many frames after the current one as before it, of temporal-depth in all; frames come out "
      "(temporal-depth - 1) / 2 frames later" },
  { "color-order", CF_TYPE_ENUM, FIELD (color_order), 0, 0, CF_MEDIAN_PER_CHANNEL, color_orders, "",
      "How the pixels of RGB formats are sorted" },
  { "temporal-method", CF_TYPE_ENUM, FIELD (temporal_method), 0, 0, CF_MEDIAN_WINDOW, methods, "",
      "How frames are filtered over time" },
  { "output", CF_TYPE_ENUM, FIELD (output), 0, 0, CF_MEDIAN_RESULT, outputs, "", "What the output shows" },
  { "motion-meta", CF_TYPE_BOOL, FIELD (motion_meta), 0, 1, 0, NULL, "",
      "running: attach a region of interest of type motion for each place where something moves, and post when motion "
      "starts and stops" },
  { "motion-min-area", CF_TYPE_INT, FIELD (motion_min_area), 0, CF_MAX_SIZE *CF_MAX_SIZE, 0, NULL, "pixels",
      "running: motion of fewer pixels in connected cells of 16 x 16 is none" },
  { "motion-hold", CF_TYPE_INT, FIELD (motion_hold), 0, 10000, 10, NULL, "frames",
      "running: how long a cell of 16 x 16 pixels stays in motion after the last frame in which it moved" },
  { "zones", CF_TYPE_STRING, FIELD (zones), 0, 0, 0, NULL, "",
      "running: parts of the frame whose motion is reported: \"door: 0.1,0.2 0.4,0.2 0.4,0.6; yard: ...\", a name and "
      "corners in fractions of the frame each" },
  { "min-age", CF_TYPE_INT, FIELD (min_age), 0, 10000, 0, NULL, "frames",
      "running: post that motion starts only after as many frames with confirmed motion, and that it stops only after "
      "as many frames without any" },
  { "tamper", CF_TYPE_BOOL, FIELD (tamper), 0, 1, 0, NULL, "",
      "running: post when the light changes, and when the camera shakes, is covered, blinded, dark, out of focus, "
      "turned or frozen" },
};

CfMedianWindow
cf_median_window (const CfMedianParams *p)
{
  CfMedianWindow win = {
    .w = p->kernel_width ? p->kernel_width : p->kernel_size,
    .h = p->kernel_height ? p->kernel_height : p->kernel_size,
    .depth = p->temporal_depth,
  };

  win.n = win.w * win.h * win.depth;
  win.ahead = p->temporal_center ? (win.depth - 1) / 2 : 0;
  win.rank = (int) ((2 * (int64_t) p->percentile * (win.n - 1) + 100) / 200);
  return win;
}

static bool
is_running (const CfMedianParams *p)
{
  return p->temporal_method == CF_MEDIAN_RUNNING;
}

static CfCode
check (const CfVideo *video, const CfCommon *common, const void *params_, CfStatus *status)
{
  const CfMedianParams *p = params_;
  const CfFormatInfo *info = video ? cf_format_info (video->format) : NULL;
  CfCode code = cf_check_odd ("kernel-size", p->kernel_size, 255, status);

  if (code == CF_OK && p->kernel_width)
    code = cf_check_odd ("kernel-width", p->kernel_width, 255, status);
  if (code == CF_OK && p->kernel_height)
    code = cf_check_odd ("kernel-height", p->kernel_height, 255, status);
  if (code == CF_OK)
    code = cf_check_odd ("temporal-depth", p->temporal_depth, CF_MEDIAN_MAX_DEPTH, status);
  if (code == CF_OK && !is_running (p) && p->temporal_depth > CF_MEDIAN_MAX_WINDOWS &&
      cf_median_window (p).n > p->temporal_depth)
    code = cf_fail (status, CF_BAD_VALUE,
        "temporal-depth %d needs a window of one sample (kernel-size=1); larger windows span up to %d frames",
        p->temporal_depth, CF_MEDIAN_MAX_WINDOWS);
  if (code == CF_OK)
    code = cf_zones_check (p->zones, status);
  if (code != CF_OK || p->color_order != CF_MEDIAN_PACKED || is_running (p))
    return code;
  if (common->apply_to != CF_APPLY_ALL)
    return cf_fail (status, CF_BAD_VALUE, "color-order=packed sorts whole pixels and needs apply-to=all");
  if (info && (!info->rgb || info->bits != 8))
    return cf_fail (status, CF_BAD_VALUE,
        "color-order=packed needs an RGB format of 8 bit; for others use color-order=per-channel");
  return CF_OK;
}

static void
advise (const CfVideo *video, const void *params_, CfStatus *status)
{
  const CfMedianParams *p = params_;
  const bool running = is_running (p);
  const struct {
    bool set;
    const char *name, *why;
  } idle[] = {
    { !running && p->tamper, "tamper", "without temporal-method=running" },
    { !running && p->motion_meta, "motion-meta", "without temporal-method=running" },
    { !running && p->output != CF_MEDIAN_RESULT, "output", "without temporal-method=running" },
    { running && p->temporal_depth > 1, "temporal-depth", "with temporal-method=running" },
    { running && p->temporal_center, "temporal-center", "with temporal-method=running" },
    { running && p->threshold > 0, "threshold", "with temporal-method=running" },
    { !(running && p->motion_meta) && p->zones && *p->zones, "zones",
        "without temporal-method=running motion-meta=true" },
    { !(running && p->motion_meta) && p->min_age > 0, "min-age", "without temporal-method=running motion-meta=true" },
  };

  (void) video;
  for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++)
    if (idle[i].set) {
      cf_fail (status, CF_OK, "%s has no effect %s", idle[i].name, idle[i].why);
      return;
    }
}

static void
traits (const CfVideo *video, const CfCommon *common, const void *params_, CfTraits *traits)
{
  const CfMedianParams *p = params_;
  const CfMedianWindow win = cf_median_window (p);
  const bool packed = p->color_order == CF_MEDIAN_PACKED;

  /* Words of 10 or 12 bits may be out of range, and the filter clamps them. Frames that pass are missing in the history
   * of later ones, for which the threshold may be another one. */
  if (video && win.depth == 1) {
    const CfFormatInfo *info = cf_format_info (video->format);
    const bool keeps = win.n == 1 || p->threshold >= (1 << info->bits) - 1;

    traits->identity = (keeps && info->bits == 8 * info->bytes) || !cf_any_filtered (video, common);
  }
  traits->history = win.depth - 1;
  traits->ahead = win.ahead;
  /* The history has room for one depth and for what is filtered of a frame; with `ahead`, the caller fills it. */
  if (win.depth > 1)
    traits->kept = win.depth << 4 | (int) common->apply_to << 2 | packed << 1 | p->temporal_center;
  traits->halo = win.h / 2;
  traits->halo_columns = win.w / 2;
  traits->replicates = true;
}

static const CfFilter *
method (const void *params_)
{
  return is_running (params_) ? &cf_running : &cf_median;
}

const CfFilter cf_median = {
  .info = { .stem = "median", .params = params, .n_params = sizeof params / sizeof params[0] },
  .params_size = sizeof (CfMedianParams),
  .check = check,
  .advise = advise,
  .method = method,
  .traits = traits,
  .cpu = &cf_median_cpu,
#ifdef CF_HAVE_CUDA
  .cuda = &cf_median_cuda,
#endif
};
