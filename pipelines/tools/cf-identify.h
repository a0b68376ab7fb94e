/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf-identify.h: types and functions that the parts of cf-identify share: images
 * (cf-identify-image.c) and recursive filters with the search for them
 * (cf-identify-fit.c). The filter's equation is that of cuda/irfilter/irfilter.h. */

#ifndef PIPELINES_TOOLS_CF_IDENTIFY_H
#define PIPELINES_TOOLS_CF_IDENTIFY_H

#include <glib.h>

#define MAX_M 5
#define QUADRANTS 4 /* se, sw, ne, nw */

/* A gray image in levels of 0 to 255, not rounded; v has h rows of w samples. */
typedef struct {
  int w, h;
  double *v;
} Image;

typedef struct {
  int x, y, w, h;
} Rect;

/* The blur of option --blur: "gauss:1.5" or "motion:9:45". */
typedef struct {
  gboolean motion;
  double sigma;         /* gauss */
  double length, angle; /* motion: samples, degrees */
} Blur;

/* Which weights are equal. Each kind leaves fewer unknowns than the one before it. */
typedef enum {
  SYMMETRY_NONE,
  SYMMETRY_POINT,    /* opposite quadrants */
  SYMMETRY_DIAGONAL, /* and rows and columns may be exchanged: motion at 45 or 135 degrees */
  SYMMETRY_MIRROR,   /* all quadrants: motion along rows or columns */
  SYMMETRY_FULL,     /* and rows and columns may be exchanged: a round blur */
} Symmetry;

/* A filter: per quadrant the numerator a and the denominator b, both m x m with entry [k * m + l]. */
typedef struct {
  int m;
  double a[QUADRANTS][MAX_M * MAX_M], b[QUADRANTS][MAX_M * MAX_M];
  double radius;      /* of the outermost pole */
  double held;        /* mean square error on the samples held out */
  const char *family; /* kind of denominator, for the report */
} Design;

typedef struct {
  const Image *sharp, *blurred; /* whole images of the same size */
  Rect fragment;                /* the part that the filter is fitted to */
  int m;
  Symmetry symmetry;
  double max_radius;
} Problem;

/* ---- cf-identify-image.c ---------------------------------------------- */

Image *image_new (int w, int h);
void image_free (Image *image);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Image, image_free)

/* Loads an image file, or the first frame of a video. On failure returns NULL and sets *error. */
Image *image_load (const char *path, GError **error);

/* Returns a drawn image of side x side with edges of all sizes and directions, always the same one. */
Image *image_chart (int side);

/* Returns a copy of the part `rect`, which must lie within the image. */
Image *image_part (const Image *image, Rect rect);
Image *image_blur (const Image *image, const Blur *blur);
void image_add_noise (Image *image, double sigma);
/* Rounds to whole levels from 0 to 255, as 8 bits hold them. */
void image_round (Image *image);

/* The difference between two images, sample by sample, without that of their mean levels, which
 * depends on the exposure. */
typedef struct {
  double sum, squares;
  gint64 n;
} Difference;

void difference_add (Difference *difference, double d);
double difference_psnr (const Difference *difference);

/* ---- cf-identify-fit.c -------------------------------------------------- */

/* Finds the best filter without poles, of (2 m - 1) x (2 m - 1) weights. Returns FALSE if there
 * is none, as for a flat image. */
gboolean fit_fir (const Problem *problem, Design *fir);

/* Searches for the best recursive filter. Returns FALSE as above. Prints its progress on stderr. */
gboolean fit_recursive (const Problem *problem, Design *best);

/* Returns whether the fragment's sample (x, y) is held out of the fit, to evaluate it. */
gboolean fit_held_out (int x, int y);
/* Returns the number of samples at the fragment's border that are not used. */
int fit_margin (const Problem *problem);

/* Returns the filtered image. */
Image *design_apply (const Design *design, const Image *image);
/* Returns the factor by which the standard deviation of white noise grows. */
double design_noise_gain (const Design *design);

#endif
