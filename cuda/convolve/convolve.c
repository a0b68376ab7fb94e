/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/convolve.c: parameters and descriptor of the convolution filter. convolve.h is its contract, kernel.c makes
 * its weights, cpu/plan.c is the CPU backend and gpu/plan.cu the CUDA backend. */
#include "convolve.h"
#include "core/text.h"

#include <math.h>

#define FIELD(name) offsetof (CfConvolveParams, name)

static const CfEnumValue presets[] = {
  { CF_PRESET_IDENTITY, "identity", "Leave frames unchanged" },
  { CF_PRESET_BOX, "box", "Mean of a square: the simplest blur" },
  { CF_PRESET_GAUSS, "gauss", "Gaussian blur" },
  { CF_PRESET_SHARPEN, "sharpen", "Sharpen, 3 x 3" },
  { CF_PRESET_LAPLACE, "laplace", "Laplace, 3 x 3: second derivative" },
  { CF_PRESET_UNSHARP, "unsharp", "Unsharp mask: sharpen by the difference to a Gaussian blur" },
  { CF_PRESET_EMBOSS, "emboss", "Relief, lit from angle, 3 x 3" },
  { CF_PRESET_SOBEL, "sobel", "Edges: magnitude of the Sobel gradient" },
  { CF_PRESET_PREWITT, "prewitt", "Edges: magnitude of the Prewitt gradient" },
  { CF_PRESET_SCHARR, "scharr", "Edges: magnitude of the Scharr gradient" },
  { CF_PRESET_SOBEL_X, "sobel-x", "Sobel gradient from left to right, signed: 0 becomes mid-level (128 of 8 bits)" },
  { CF_PRESET_SOBEL_Y, "sobel-y", "Sobel gradient from top to bottom, signed: 0 becomes mid-level (128 of 8 bits)" },
  { CF_PRESET_LOG, "log", "Laplacian of a Gaussian: edges and spots of one size" },
  { CF_PRESET_MOTION, "motion", "Blur along a line" },
  { CF_PRESET_CUSTOM, "custom", "The weights of kernel or kernel-file" },
  { CF_PRESET_FILL, "fill", "Hide: all samples become fill-color" },
  { CF_PRESET_MOSAIC, "mosaic", "Hide: the mean of each of a few cells" },
  { CF_PRESET_PRIVACY, "privacy", "Hide: the means of a few cells, joined smoothly" },
  { 0, NULL, NULL },
};

static const CfEnumValue borders[] = {
  { CF_BORDER_REPLICATE, "replicate", "Repeat the outermost samples" },
  { CF_BORDER_REFLECT101, "reflect101", "Mirror the frame about its outermost samples" },
  { CF_BORDER_WRAP, "wrap", "Continue at the opposite side of the frame" },
  { CF_BORDER_CONSTANT, "constant", "Use border-value" },
  { 0, NULL, NULL },
};

static const CfEnumValue grays[] = {
  { CF_GRAY_NONE, "none", "Keep colours" },
  { CF_GRAY_MEAN, "mean", "Mean of red, green and blue; luma of YUV" },
  { CF_GRAY_LUMA, "luma", "Mean of red, green and blue weighted as luma; luma of YUV" },
  { 0, NULL, NULL },
};

/* Rows of the table below whose change sets other parameters: see changed (). */
enum { ROW_KERNEL = 1, ROW_KERNEL_FILE };

static const CfParam params[] = {
  { "preset", CF_TYPE_ENUM, FIELD (preset), 0, 0, CF_PRESET_GAUSS, presets, "", "Kernel to apply" },
  [ROW_KERNEL] = { "kernel", CF_TYPE_STRING, FIELD (kernel), 0, 0, 0, NULL, "",
      "Weights, up to 63 x 63: rows separated by ';', numbers by spaces or ','; sets preset to custom and clears "
      "kernel-file" },
  [ROW_KERNEL_FILE] = { "kernel-file", CF_TYPE_STRING, FIELD (kernel_file), 0, 0, 0, NULL, "",
      "File of weights: rows separated by newlines or ';', numbers by spaces or ','; read when this property is set; "
      "sets preset to custom and clears kernel" },
  { "kernel-size", CF_TYPE_INT, FIELD (kernel_size), 0, CF_CONVOLVE_LONG, 0, NULL, "samples",
      "Side of the kernel for box, gauss and unsharp, and, up to 63, log and motion; odd. 0: 2 x ceil (3 x sigma) + 1, "
      "at most 255 (log: 63), for gauss, unsharp and log with a sigma, otherwise 5" },
  { "kernel-width", CF_TYPE_INT, FIELD (kernel_width), 0, CF_CONVOLVE_LONG, 0, NULL, "samples",
      "Width of the kernel for box, gauss, unsharp and log; odd, or 0 for kernel-size" },
  { "kernel-height", CF_TYPE_INT, FIELD (kernel_height), 0, CF_CONVOLVE_LONG, 0, NULL, "samples",
      "Height of the kernel for box, gauss, unsharp and log; odd, or 0 for kernel-size" },
  { "sigma", CF_TYPE_DOUBLE, FIELD (sigma), 0, 100, 0, NULL, "samples",
      "Standard deviation for gauss, unsharp and log; 0: chosen from the kernel's size" },
  { "sigma-y", CF_TYPE_DOUBLE, FIELD (sigma_y), 0, 100, 0, NULL, "samples",
      "Standard deviation from top to bottom, where it is not that from left to right; 0: sigma" },
  { "angle", CF_TYPE_DOUBLE, FIELD (angle), -360, 360, 0, NULL, "degrees",
      "Direction for motion, counterclockwise from the right, and of the light for emboss, in steps of 45" },
  { "amount", CF_TYPE_DOUBLE, FIELD (amount), 0, 10, 1, NULL, "", "Strength of sharpen and unsharp" },
  { "divisor", CF_TYPE_DOUBLE, FIELD (divisor), -1e9, 1e9, 0, NULL, "",
      "Divide sums by this; 0: by the sum of the weights, or by 1 if that sum is 0; not used by gauss and unsharp" },
  { "bias", CF_TYPE_DOUBLE, FIELD (bias), -65536, 65536, 0, NULL, "sample value",
      "Offset added to the result, except for chroma" },
  { "border", CF_TYPE_ENUM, FIELD (border), 0, 0, CF_BORDER_REPLICATE, borders, "", "Samples outside the frame" },
  { "border-value", CF_TYPE_INT, FIELD (border_value), 0, 65535, 0, NULL, "sample value",
      "Value of samples outside the frame with border=constant; chroma is always gray there" },
  { "flip", CF_TYPE_BOOL, FIELD (flip), 0, 1, 0, NULL, "",
      "Rotate the kernel by 180 degrees: a convolution in the strict sense instead of a correlation" },
  { "gray", CF_TYPE_ENUM, FIELD (gray), 0, 0, CF_GRAY_NONE, grays, "", "Convert frames to gray before filtering" },
  { "fill-color", CF_TYPE_COLOR, FIELD (fill_color), 0, 0, 0xff000000, NULL, "",
      "Colour for fill, 0xAARRGGBB; alpha is ignored" },
  { "blocks", CF_TYPE_INT, FIELD (blocks), 2, CF_CONVOLVE_MAX_BLOCKS, 8, NULL, "cells",
      "Cells for mosaic and privacy along the shorter side, as long as each has 4 pixels; fewer hide more" },
  { "file-text", CF_TYPE_STRING, FIELD (file_text), 0, 0, 0, NULL, "", "Content of kernel-file", .hidden = true },
};

const char *
cf_convolve_preset_name (int preset)
{
  for (const CfEnumValue *v = presets; v->name; v++)
    if (v->value == preset)
      return v->name;
  return "";
}

/* The one of kernel and kernel-file that was set last applies and clears the other. */
static CfCode
changed (void *params_, unsigned row, CfStatus *status)
{
  CfConvolveParams *p = params_;

  if (row == ROW_KERNEL && p->kernel) {
    cf_text_drop (&p->kernel_file);
    cf_text_drop (&p->file_text);
    p->preset = CF_PRESET_CUSTOM;
  } else if (row == ROW_KERNEL_FILE) {
    cf_text_drop (&p->file_text);
    if (!p->kernel_file)
      return CF_OK;
    cf_text_drop (&p->kernel);
    p->preset = CF_PRESET_CUSTOM;
    p->file_text = cf_text_read ("kernel-file", p->kernel_file, status);
    return p->file_text ? CF_OK : status->code;
  }
  return CF_OK;
}

/* While the format is not known, the check is for 10 bits, the smallest samples whose sums have 62 bits:
 * it refuses only kernels that no bit depth accepts. */
static CfCode
check (const CfVideo *video, const CfCommon *common, const void *params_, CfStatus *status)
{
  const CfConvolveParams *p = params_;
  CfConvolution c;

  return cf_convolution_resolve (p, common, video ? video->format : CF_FORMAT_Y444_10LE, &c, status);
}

static void
advise (const CfVideo *video, const void *params_, CfStatus *status)
{
  const CfConvolveParams *p = params_;
  const double angle = 45 * floor (p->angle / 45 + 0.5);

  (void) video;
  if (p->preset == CF_PRESET_EMBOSS && fabs (p->angle - angle) > 0)
    cf_fail (status, CF_OK, "angle=%g is taken as %g: preset=emboss has directions in steps of 45 degrees", p->angle,
        angle);
  else if (p->preset == CF_PRESET_CUSTOM)
    cf_text_advise (p->kernel ? "kernel" : "kernel-file", p->kernel ? p->kernel : p->file_text, status);
}

static bool
is_identity (const CfVideo *video, const CfCommon *common, const CfConvolution *c)
{
  CfView views[CF_MAX_VIEWS];
  CfImage image;
  int n;

  cf_image_layout (&image, video->format, video->width, video->height, 1);
  n = cf_image_views (video, common, &image, views);
  for (int i = 0; i < n; i++)
    if (cf_convolve_action (c, video->format, &views[i]) != CF_ACTION_COPY)
      return false;
  return true;
}

/* The anchor of a kernel of even height has h / 2 rows above it and fewer below
 * (flip: the other way round), so h / 2 rows on both sides suffice. */
static void
traits (const CfVideo *video, const CfCommon *common, const void *params_, CfTraits *traits)
{
  CfConvolution c;

  if (cf_convolution_resolve (params_, common, video ? video->format : CF_FORMAT_GRAY8, &c, NULL) != CF_OK)
    return;
  traits->identity = video && is_identity (video, common, &c);
  traits->anchored = cf_convolve_hides (&c); /* a fill need not be, but then all boxes are filled at once */
  if (c.border == CF_BORDER_WRAP && !cf_convolve_hides (&c))
    return;
  traits->halo = c.h / 2;
  traits->halo_columns = c.w / 2;
  traits->replicates = c.border == CF_BORDER_REPLICATE;
}

const CfFilter cf_convolve = {
  .info = { .stem = "convolve", .params = params, .n_params = sizeof params / sizeof params[0] },
  .params_size = sizeof (CfConvolveParams),
  .check = check,
  .advise = advise,
  .changed = changed,
  .traits = traits,
  .cpu = &cf_convolve_cpu,
#ifdef CF_HAVE_CUDA
  .cuda = &cf_convolve_cuda,
#endif
};
