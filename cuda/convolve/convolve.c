/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve/convolve.c: the convolution filter's parameters and descriptor; convolve.h is
 * its contract, kernel.c makes its weights, convolve/cpu/plan.c is its CPU
 * side, convolve/gpu/plan.cu its kernels. */
#include "kernel.h"
#include "core/text.h"

#include <stdlib.h>

#define FIELD(name) offsetof (CfConvolveParams, name)

static const CfEnumValue presets[] = {
  { CF_PRESET_IDENTITY, "identity", "The picture as it is" },
  { CF_PRESET_BOX, "box", "Mean of a square: the simplest blur" },
  { CF_PRESET_GAUSS, "gauss", "Gaussian blur" },
  { CF_PRESET_SHARPEN, "sharpen", "Sharpen, 3 x 3" },
  { CF_PRESET_LAPLACE, "laplace", "Laplace, 3 x 3: second derivative" },
  { CF_PRESET_UNSHARP, "unsharp", "Unsharp mask: sharpen by what a Gaussian blur takes away" },
  { CF_PRESET_EMBOSS, "emboss", "Relief, lit from angle, 3 x 3" },
  { CF_PRESET_SOBEL, "sobel", "Edges: magnitude of Sobel's gradient" },
  { CF_PRESET_PREWITT, "prewitt", "Edges: magnitude of Prewitt's gradient" },
  { CF_PRESET_SCHARR, "scharr", "Edges: magnitude of Scharr's gradient" },
  { CF_PRESET_LOG, "log", "Laplacian of a Gaussian: edges and spots of one size" },
  { CF_PRESET_MOTION, "motion", "Blur along a line" },
  { CF_PRESET_CUSTOM, "custom", "The weights of kernel or kernel-file" },
  { 0, NULL, NULL },
};

static const CfEnumValue borders[] = {
  { CF_BORDER_REPLICATE, "replicate", "The outermost samples go on" },
  { CF_BORDER_REFLECT101, "reflect101", "A mirror in the outermost samples" },
  { CF_BORDER_WRAP, "wrap", "The picture goes on at its other side" },
  { CF_BORDER_CONSTANT, "constant", "border-value" },
  { 0, NULL, NULL },
};

static const CfEnumValue grays[] = {
  { CF_GRAY_NONE, "none", "Colours as they are" },
  { CF_GRAY_MEAN, "mean", "Mean of red, green and blue; of YUV its luma" },
  { CF_GRAY_LUMA, "luma", "Weighted as the eye does; of YUV its luma" },
  { 0, NULL, NULL },
};

/* The rows that others follow from. */
enum { ROW_KERNEL = 1, ROW_KERNEL_FILE };

static const CfParam params[] = {
  { "preset", CF_TYPE_ENUM, FIELD (preset), 0, 0, CF_PRESET_GAUSS, presets, "", "Which kernel" },
  [ROW_KERNEL] = { "kernel", CF_TYPE_STRING, FIELD (kernel), 0, 0, 0, NULL, "",
      "Weights, rows by ';', numbers by spaces or ',', up to 63 x 63; makes preset custom and drops kernel-file" },
  [ROW_KERNEL_FILE] = { "kernel-file", CF_TYPE_STRING, FIELD (kernel_file), 0, 0, 0, NULL, "",
      "File with weights, rows by line or ';'; read when this is set; makes preset custom and drops kernel" },
  { "kernel-size", CF_TYPE_INT, FIELD (kernel_size), 1, CF_CONVOLVE_MAX, 5, NULL, "samples",
      "Side of the kernels box, gauss, unsharp, log and motion; odd" },
  { "sigma", CF_TYPE_DOUBLE, FIELD (sigma), 0, 100, 0, NULL, "samples",
      "Of gauss, unsharp and log; 0: the one that fits kernel-size" },
  { "angle", CF_TYPE_DOUBLE, FIELD (angle), -360, 360, 0, NULL, "degrees",
      "Of motion, counterclockwise from the right; of emboss, in steps of 45" },
  { "amount", CF_TYPE_DOUBLE, FIELD (amount), 0, 10, 1, NULL, "", "Strength of sharpen and unsharp" },
  { "divisor", CF_TYPE_DOUBLE, FIELD (divisor), -1e9, 1e9, 0, NULL, "",
      "Sums are divided by this; 0: by the sum of the weights, or by 1 if that is 0" },
  { "bias", CF_TYPE_DOUBLE, FIELD (bias), -65536, 65536, 0, NULL, "sample value",
      "Added to the result, but not to chroma" },
  { "border", CF_TYPE_ENUM, FIELD (border), 0, 0, CF_BORDER_REPLICATE, borders, "", "What is outside the picture" },
  { "border-value", CF_TYPE_INT, FIELD (border_value), 0, 65535, 0, NULL, "sample value",
      "What is outside with border=constant; of chroma it is gray" },
  { "flip", CF_TYPE_BOOL, FIELD (flip), 0, 1, 0, NULL, "",
      "Turn the kernel by 180 degrees: a convolution in the strict sense, not a correlation" },
  { "gray", CF_TYPE_ENUM, FIELD (gray), 0, 0, CF_GRAY_NONE, grays, "", "Make the picture gray first" },
  { "file-text", CF_TYPE_STRING, FIELD (file_text), 0, 0, 0, NULL, "", "What stood in kernel-file", .hidden = true },
};

const char *
cf_convolve_preset_name (int preset)
{
  for (const CfEnumValue *v = presets; v->name; v++)
    if (v->value == preset)
      return v->name;
  return "";
}

static void
drop (const char **text)
{
  free ((void *) *text);
  *text = NULL;
}

/* Of kernel and kernel-file the one that was set last counts. */
static CfCode
changed (void *params_, unsigned row, CfStatus *status)
{
  CfConvolveParams *p = params_;

  if (row == ROW_KERNEL && p->kernel) {
    drop (&p->kernel_file);
    drop (&p->file_text);
    p->preset = CF_PRESET_CUSTOM;
  } else if (row == ROW_KERNEL_FILE) {
    CfStatus local, *why = status ? status : &local;

    drop (&p->file_text);
    if (!p->kernel_file)
      return CF_OK;
    drop (&p->kernel);
    p->preset = CF_PRESET_CUSTOM;
    p->file_text = cf_text_read ("kernel-file", p->kernel_file, why);
    return p->file_text ? CF_OK : why->code;
  }
  return CF_OK;
}

/* Where the depth of the samples is not known yet, 16 bit refuses what no depth
 * takes. */
static CfCode
check (const CfVideo *video, const CfCommon *common, const void *params_, CfStatus *status)
{
  const CfConvolveParams *p = params_;
  CfCode code = cf_check_odd ("kernel-size", p->kernel_size, CF_CONVOLVE_MAX, status);
  CfConvolution c;

  (void) common;
  return code == CF_OK ? cf_convolution_resolve (p, video ? video->format : CF_FORMAT_GRAY16_LE, &c, status) : code;
}

static bool
passes (const CfVideo *video, const CfCommon *common, const void *params_)
{
  CfView views[CF_MAX_VIEWS];
  CfConvolution c;
  CfImage image;
  int n;

  if (cf_convolution_resolve (params_, video->format, &c, NULL) != CF_OK)
    return false;
  cf_image_layout (&image, video->format, video->width, video->height, 1);
  n = cf_image_views (video, common, &image, views);
  for (int i = 0; i < n; i++)
    if (cf_convolve_fate (&c, video->format, &views[i]) != CF_FATE_COPY)
      return false;
  return true;
}

/* Of a kernel of even height, too. */
static int
halo (const void *params_)
{
  CfConvolution c;

  if (cf_convolution_resolve (params_, CF_FORMAT_GRAY8, &c, NULL) != CF_OK || c.border == CF_BORDER_WRAP)
    return -1;
  return c.h / 2;
}

const CfFilter cf_convolve = {
  .stem = "convolve",
  .params = params,
  .n_params = sizeof params / sizeof params[0],
  .params_size = sizeof (CfConvolveParams),
  .check = check,
  .changed = changed,
  .passes = passes,
  .halo = halo,
  .cpu = &cf_convolve_cpu,
#ifdef CF_HAVE_CUDA
  .cuda = &cf_convolve_cuda,
#endif
};
