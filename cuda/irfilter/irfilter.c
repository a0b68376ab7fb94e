/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/irfilter.c: the recursive filter's parameters and descriptor; irfilter.h is
 * its contract, design.c makes its constants, irfilter/cpu/plan.c is its CPU
 * side, irfilter/gpu/plan.cu its kernels. */
#include "design.h"
#include "core/text.h"

#include <stdlib.h>

#define FIELD(name) offsetof (CfIrFilterParams, name)
#define ALL_QUADRANTS ((1 << CF_IR_QUADRANTS) - 1)

static const CfEnumValue presets[] = {
  { CF_IR_SMOOTH, "smooth", "Blur; costs the same whatever sigma is" },
  { CF_IR_SOFT, "soft", "Rounder blur, three times smooth" },
  { CF_IR_HIGHPASS, "highpass", "Only what differs from its surroundings, about gray" },
  { CF_IR_SHARPEN, "sharpen", "Sharpen by what smooth takes away" },
  { CF_IR_DEBLUR, "deblur", "Undo a Gaussian blur of sigma" },
  { CF_IR_MOTION_DEBLUR, "motion-deblur", "Undo a blur along a line, of length and angle" },
  { CF_IR_CUSTOM, "custom", "The filter of numerator and denominator, or of coefficients" },
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
  { CF_IR_REPLICATE, "replicate", "The outermost samples go on for ever" },
  { CF_IR_ZERO, "zero", "Black; of chroma gray" },
  { 0, NULL, NULL },
};

/* The rows that others follow from. */
enum { ROW_NUMERATOR = 5, ROW_DENOMINATOR, ROW_COEFFICIENTS };

static const CfParam params[] = {
  { "preset", CF_TYPE_ENUM, FIELD (preset), 0, 0, CF_IR_SMOOTH, presets, "", "Which filter" },
  { "sigma", CF_TYPE_DOUBLE, FIELD (sigma), 0.1, 200, 3, NULL, "samples",
      "How wide smooth, soft, highpass and sharpen see; of deblur the blur to be undone, 0.5 to 3" },
  { "amount", CF_TYPE_DOUBLE, FIELD (amount), 0, 10, 1, NULL, "", "Strength of highpass and sharpen" },
  { "length", CF_TYPE_INT, FIELD (length), 3, 15, 9, NULL, "samples", "Of the blur that motion-deblur undoes" },
  { "angle", CF_TYPE_INT, FIELD (angle), 0, 135, 0, NULL, "degrees",
      "Of the blur that motion-deblur undoes, counterclockwise from the right: 0, 45, 90 or 135" },
  [ROW_NUMERATOR] = { "numerator", CF_TYPE_STRING, FIELD (numerator), 0, 0, 0, NULL, "",
      "Weights of the input, rows by ';', numbers by spaces or ',', up to 8 x 8, the same in all quadrants; makes "
      "preset custom and drops coefficients" },
  [ROW_DENOMINATOR] = { "denominator", CF_TYPE_STRING, FIELD (denominator), 0, 0, 0, NULL, "",
      "Weights of the outputs before, which are added; begins with 0; as numerator" },
  [ROW_COEFFICIENTS] = { "coefficients", CF_TYPE_STRING, FIELD (coefficients), 0, 0, 0, NULL, "",
      "JSON file with weights for each quadrant; read when this is set; makes preset custom and drops numerator and "
      "denominator" },
  { "quadrants", CF_TYPE_FLAGS, FIELD (quadrants), 0, 0, ALL_QUADRANTS, quadrants, "",
      "The quadrants in use; the others are left out of the sum" },
  { "border", CF_TYPE_ENUM, FIELD (border), 0, 0, CF_IR_REPLICATE, borders, "", "What is outside the picture" },
  /* of smooth with sigma 3 */
  { "pole-radius", CF_TYPE_DOUBLE, FIELD (pole_radius), 0, 1, 0.6269524140063415, NULL, "",
      "The largest of the filter's: the nearer to 1, the longer it remembers; 0 where the filter is refused",
      .readonly = true },
  { "file-text", CF_TYPE_STRING, FIELD (file_text), 0, 0, 0, NULL, "", "What stood in coefficients", .hidden = true },
};

static void
drop (const char **text)
{
  free ((void *) *text);
  *text = NULL;
}

/* Of the texts and the file what was set last counts. */
static CfCode
take (CfIrFilterParams *p, unsigned row, CfStatus *status)
{
  bool text = (row == ROW_NUMERATOR && p->numerator) || (row == ROW_DENOMINATOR && p->denominator);
  CfStatus local, *why = status ? status : &local;

  if (text) {
    drop (&p->coefficients);
    drop (&p->file_text);
    p->preset = CF_IR_CUSTOM;
  }
  if (row != ROW_COEFFICIENTS)
    return CF_OK;
  drop (&p->file_text);
  if (!p->coefficients)
    return CF_OK;
  drop (&p->numerator);
  drop (&p->denominator);
  p->preset = CF_IR_CUSTOM;
  p->file_text = cf_text_read ("coefficients", p->coefficients, why);
  return p->file_text ? CF_OK : why->code;
}

static CfCode
changed (void *params_, unsigned row, CfStatus *status)
{
  CfIrFilterParams *p = params_;
  CfCode code = take (p, row, status);
  CfIrDesign design;

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
passes (const CfVideo *video, const CfCommon *common, const void *params_)
{
  const CfIrFilterParams *p = params_;

  if (p->preset == CF_IR_SHARPEN && !(p->amount > 0))
    return true;
  return !cf_any_filtered (video, common);
}

const CfFilter cf_irfilter = {
  .stem = "irfilter",
  .params = params,
  .n_params = sizeof params / sizeof params[0],
  .params_size = sizeof (CfIrFilterParams),
  .check = check,
  .changed = changed,
  .passes = passes,
  .cpu = &cf_irfilter_cpu,
#ifdef CF_HAVE_CUDA
  .cuda = &cf_irfilter_cuda,
#endif
};
