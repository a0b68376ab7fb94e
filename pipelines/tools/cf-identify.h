/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cf-identify.h: what the parts of cf-identify share: pictures
 * (cf-identify-picture.c), recursive filters and how they are found
 * (cf-identify-fit.c). The filter's equation is that of cuda/irfilter/irfilter.h. */

#ifndef PIPELINES_TOOLS_CF_IDENTIFY_H
#define PIPELINES_TOOLS_CF_IDENTIFY_H

#include <glib.h>

#define MAX_M 5
#define QUADRANTS 4 /* se, sw, ne, nw */

/* Gray, in levels of 8 bits, with what is between them. */
typedef struct {
  int w, h;
  double *v;
} Picture;

typedef struct {
  int x, y, w, h;
} Rect;

/* A blur with a name: "gauss:1.5" or "motion:9:45". */
typedef struct {
  gboolean motion;
  double sigma;         /* gauss */
  double length, angle; /* motion */
} Blur;

/* Which weights are the same. With each step fewer have to be found. */
typedef enum {
  SYMMETRY_NONE,
  SYMMETRY_POINT,    /* opposite quadrants */
  SYMMETRY_DIAGONAL, /* and rows and columns may be exchanged: motion at 45 or 135 degrees */
  SYMMETRY_MIRROR,   /* all quadrants: motion along rows or columns */
  SYMMETRY_FULL,     /* and rows and columns may be exchanged: a round blur */
} Symmetry;

/* Windows of m x m, entry [k * m + l]; both are added. */
typedef struct {
  int m;
  double a[QUADRANTS][MAX_M * MAX_M], b[QUADRANTS][MAX_M * MAX_M];
  double radius;       /* of its outermost pole */
  double held;         /* mean square error on the samples held out */
  const char *family;  /* which kind of denominator, in words */
} Design;

typedef struct {
  const Picture *sharp, *blurred; /* whole pictures of the same size */
  Rect fragment;                  /* only this is looked at */
  int m;
  Symmetry symmetry;
  double max_radius;
} Problem;

/* ---- cf-identify-picture.c ---------------------------------------------- */

Picture *picture_new (int w, int h);
void picture_free (Picture *picture);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Picture, picture_free)

/* A picture file, or the first frame of a film; NULL and a sentence otherwise. */
Picture *picture_load (const char *path, GError **error);

/* A picture with edges of all sizes and directions, always the same. */
Picture *picture_chart (int side);

Picture *picture_part (const Picture *picture, Rect rect);
Picture *picture_blur (const Picture *picture, const Blur *blur);
void picture_add_noise (Picture *picture, double sigma);
void picture_round (Picture *picture); /* as 8 bits hold it */

/* How far two pictures are apart, sample by sample; not by their mean levels,
 * which another exposure changes. */
typedef struct {
  double sum, squares;
  gint64 n;
} Difference;

void difference_add (Difference *difference, double d);
double difference_psnr (const Difference *difference);

/* ---- cf-identify-fit.c -------------------------------------------------- */

/* The weights without poles, (2 m - 1) x (2 m - 1) of them. FALSE if nothing
 * can be found, as in a flat picture. */
gboolean fit_fir (const Problem *problem, Design *fir);

/* The best recursive filter that was found. FALSE as above. Says on stderr how far it is. */
gboolean fit_recursive (const Problem *problem, Design *best);

/* Is the fragment's sample (x, y) kept from the fit, to judge it? And is it so
 * near to the fragment's border that it is not looked at? */
gboolean fit_held_out (int x, int y);
int fit_margin (const Problem *problem);

Picture *design_apply (const Design *design, const Picture *picture);
double design_noise_gain (const Design *design);

#endif
