/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/irfilter.c: the recursive filter's parameters and descriptor. irfilter.h is the contract, design.c computes
 * the constants, irfilter/cpu/plan.c and irfilter/gpu/plan.cu are the backends. */
#include "design.h"
#include "core/text.h"

#define FIELD(name) offsetof (CfIrFilterParams, name)
#define ALL_QUADRANTS ((1 << CF_IR_QUADRANTS) - 1)

static const CfEnumValue presets[] = {
  { CF_IR_SMOOTH, "smooth", "Blur; its cost does not depend on sigma" },
  { CF_IR_SOFT, "soft", "Rounder blur: smooth, three times" },
  { CF_IR_HIGHPASS, "highpass", "Difference from the blurred image, around mid-gray" },
  { CF_IR_SHARPEN, "sharpen", "Sharpen: add the detail that smooth removes" },
  { CF_IR_DEBLUR, "deblur", "Undo a Gaussian blur of sigma" },
  { CF_IR_MOTION_DEBLUR, "motion-deblur", "Undo a motion blur of length and angle" },
  { CF_IR_CUSTOM, "custom", "The filter given by numerator and denominator, or by coefficients" },
  { 0, NULL, NULL },
};

static const CfEnumValue quadrants[] = {
  { 1 << CF_IR_SE, "se", "Runs right and down" },
  { 1 << CF_IR_SW, "sw", "Runs left and down" },
  { 1 << CF_IR_NE, "ne", "Runs right and up" },
  { 1 << CF_IR_NW, "nw", "Runs left and up" },
  { 0, NULL, NULL },
};

static const CfEnumValue borders[] = {
  { CF_IR_REPLICATE, "replicate", "Repeat the edge samples" },
  { CF_IR_ZERO, "zero", "Black; mid-gray for chroma" },
  { 0, NULL, NULL },
};

static const CfEnumValue methods[] = {
  { CF_IR_AUTO, "auto", "The blurs, which are separable, along columns and rows; other filters by quadrants" },
  { CF_IR_BY_QUADRANTS, "quadrants", "Every filter as the sum of its quadrants" },
  { 0, NULL, NULL },
};

/* Rows of params that `changed` has to recognize. */
enum { ROW_SIGMA = 1, ROW_NUMERATOR = 6, ROW_DENOMINATOR, ROW_COEFFICIENTS };

static const CfParam params[] = {
  { "preset", CF_TYPE_ENUM, FIELD (preset), 0, 0, CF_IR_SOFT, presets, "", "Filter to apply" },
  { "sigma", CF_TYPE_DOUBLE, FIELD (sigma), 0.1, 200, 3, NULL, "samples",
      "Standard deviation of the blur in smooth, soft, highpass and sharpen; with deblur, of the blur to undo, 0.5 to "
      "3, which is 1 unless it is set" },
  { "amount", CF_TYPE_DOUBLE, FIELD (amount), 0, 10, 1, NULL, "",
      "Strength of highpass, sharpen, deblur and motion-deblur" },
  { "length", CF_TYPE_INT, FIELD (length), 3, 15, 9, NULL, "samples", "Length of the blur that motion-deblur undoes" },
  { "angle", CF_TYPE_INT, FIELD (angle), 0, 135, 0, NULL, "degrees",
      "Direction of the blur that motion-deblur undoes, counterclockwise from the right: 0, 45, 90 or 135" },
  { "noise", CF_TYPE_DOUBLE, FIELD (noise), 0, 10, 2, NULL, "levels",
      "Standard deviation of the video's noise, in levels of 8 bits: deblur and motion-deblur restore less where there "
      "is more" },
  [ROW_NUMERATOR] = { "numerator", CF_TYPE_STRING, FIELD (numerator), 0, 0, 0, NULL, "",
      "Weights of the input, up to 8 x 8, rows separated by ';', numbers by spaces or ',', the same in all quadrants; "
      "sets preset to custom and clears coefficients" },
  [ROW_DENOMINATOR] = { "denominator", CF_TYPE_STRING, FIELD (denominator), 0, 0, 0, NULL, "",
      "Weights of previous outputs, which are added; the first must be 0; format as for numerator" },
  [ROW_COEFFICIENTS] = { "coefficients", CF_TYPE_STRING, FIELD (coefficients), 0, 0, 0, NULL, "",
      "JSON file with weights for each quadrant, read when the property is set; sets preset to custom and clears "
      "numerator and denominator" },
  { "quadrants", CF_TYPE_FLAGS, FIELD (quadrants), 0, 0, ALL_QUADRANTS, quadrants, "",
      "Quadrants in use; the others are left out of the sum" },
  { "method", CF_TYPE_ENUM, FIELD (method), 0, 0, CF_IR_AUTO, methods, "",
      "How the filter is computed; the results differ by rounding only" },
  { "border", CF_TYPE_ENUM, FIELD (border), 0, 0, CF_IR_REPLICATE, borders, "", "What lies outside the frame" },
  /* the default is that of soft with sigma 3 */
  { "pole-radius", CF_TYPE_DOUBLE, FIELD (pole_radius), 0, 1, 0.45141623018877575, NULL, "",
      "Largest pole radius of the filter: the closer to 1, the longer its response; 0 if the filter is refused",
      .readonly = true },
  { "file-text", CF_TYPE_STRING, FIELD (file_text), 0, 0, 0, NULL, "", "Contents of the coefficients file",
      .hidden = true },
};

/* Texts and file exclude each other: clears the source that was not set last, and reads a new file. */
static CfCode
resolve_source (CfIrFilterParams *p, unsigned row, CfStatus *status)
{
  bool is_text = (row == ROW_NUMERATOR && p->numerator) || (row == ROW_DENOMINATOR && p->denominator);

  if (is_text) {
    cf_text_drop (&p->coefficients);
    cf_text_drop (&p->file_text);
    p->preset = CF_IR_CUSTOM;
  }
  if (row != ROW_COEFFICIENTS)
    return CF_OK;
  cf_text_drop (&p->file_text);
  if (!p->coefficients)
    return CF_OK;
  cf_text_drop (&p->numerator);
  cf_text_drop (&p->denominator);
  p->preset = CF_IR_CUSTOM;
  p->file_text = cf_text_read ("coefficients", p->coefficients, status);
  return p->file_text ? CF_OK : status->code;
}

static CfCode
changed (void *params_, unsigned row, CfStatus *status)
{
  CfIrFilterParams *p = params_;
  CfCode code = resolve_source (p, row, status);
  CfIrDesign design;

  p->sigma_is_set = p->sigma_is_set || row == ROW_SIGMA;
  /* The poles are the same in any format. */
  p->pole_radius = cf_ir_design (p, CF_FORMAT_GRAY8, &design, NULL) == CF_OK ? design.pole_radius : 0;
  return code;
}

static CfCode
check (const CfVideo *video, const CfCommon *common, const void *params_, CfStatus *status)
{
  const CfIrFilterParams *p = params_;
  CfIrDesign design;

  (void) common;
  if (p->angle % 45)
    return cf_fail (status, CF_BAD_VALUE, "angle is %d; it must be one of 0, 45, 90 and 135 degrees", p->angle);
  return cf_ir_design (p, video ? video->format : CF_FORMAT_GRAY8, &design, status);
}

static bool
is_identity (const CfVideo *video, const CfCommon *common, const void *params_)
{
  const CfFormatInfo *info = cf_format_info (video->format);
  const CfIrFilterParams *p = params_;

  /* Words of 10-bit samples may be out of range, and the filter clamps them. */
  if (p->preset == CF_IR_SHARPEN && !(p->amount > 0) && info->bits == 8 * info->bytes)
    return true;
  return !cf_any_filtered (video, common);
}

static void
traits (const CfVideo *video, const CfCommon *common, const void *params_, CfTraits *traits)
{
  traits->identity = video && is_identity (video, common, params_);
}

static void
advise (const CfVideo *video, const void *params_, CfStatus *status)
{
  const CfIrFilterParams *p = params_;

  (void) video;
  cf_text_advise ("numerator", p->numerator, status);
  cf_text_advise ("denominator", p->denominator, status);
}

const CfFilter cf_irfilter = {
  .info = { .stem = "irfilter", .params = params, .n_params = sizeof params / sizeof params[0] },
  .params_size = sizeof (CfIrFilterParams),
  .check = check,
  .advise = advise,
  .changed = changed,
  .traits = traits,
  .cpu = &cf_irfilter_cpu,
#ifdef CF_HAVE_CUDA
  .cuda = &cf_irfilter_cuda,
#endif
};
