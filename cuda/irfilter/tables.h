/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/tables.h: the sets of the recursive filter's presets deblur and
 * motion-deblur, found by cf-identify (pipelines/tools/make-tables.py has the commands).
 * Every angle has entries of its own: nothing is left to be turned or mirrored. */
#ifndef CF_IRFILTER_TABLES_H
#define CF_IRFILTER_TABLES_H

typedef struct {
  double sigma;    /* deblur: of the Gaussian that blurred; else 0 */
  int length;      /* motion-deblur: samples that one point was drawn out over; else 0 */
  int angle;       /* motion-deblur: degrees, counterclockwise from the right */
  int m;           /* side of the windows */
  const double *a[4], *b[4]; /* se, sw, ne, nw; [k * m + l], k down the rows, as in irfilter.h; exact in float */
  double passthrough;
} CfIrTableEntry;

/* Sorted by sigma; *n says how many there are. */
const CfIrTableEntry *cf_ir_deblur_table (int *n);

/* Sorted by length, then by angle. */
const CfIrTableEntry *cf_ir_motion_table (int *n);

#endif
