/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/tables.h: the coefficient sets of the presets deblur and motion-deblur, found by
 * cf-identify (pipelines/tools/make-tables.py has the commands). Every angle has its own
 * entries: no set has to be rotated or mirrored. */
#ifndef CF_IRFILTER_TABLES_H
#define CF_IRFILTER_TABLES_H

typedef struct {
  double sigma;    /* deblur: standard deviation of the Gaussian blur; else 0 */
  int length;      /* motion-deblur: length of the blur in samples; else 0 */
  int angle;       /* motion-deblur: degrees, counterclockwise from the right */
  int m;           /* side of the windows */
  const double *a[4], *b[4]; /* se, sw, ne, nw; [k * m + l], k down the rows, as in irfilter.h; exact in float */
  double passthrough;
} CfIrTableEntry;

/* Returns the table of deblur, sorted by sigma, and its number of entries in *n. */
const CfIrTableEntry *cf_ir_deblur_table (int *n);

/* Returns the table of motion-deblur, sorted by length, then by angle. */
const CfIrTableEntry *cf_ir_motion_table (int *n);

#endif
