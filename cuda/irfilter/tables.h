/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/tables.h: the coefficient sets of the presets deblur and motion-deblur, found by cf-identify
 * (pipelines/tools/make-tables.py has the commands). Each file tables_*.c is for one noise. */
#ifndef CF_IRFILTER_TABLES_H
#define CF_IRFILTER_TABLES_H

typedef struct {
  double sigma;              /* deblur: standard deviation of the Gaussian blur; else 0 */
  int length;                /* motion-deblur: length of the blur in samples; else 0 */
  int angle;                 /* motion-deblur: 0 or 45 degrees, counterclockwise from the right */
  int m;                     /* side of the windows */
  const double *a[2], *b[2]; /* [0] se and nw, [1] sw and ne; [k * m + l], k down the rows, as in irfilter.h; exact in
                                float */
} CfIrTableEntry;

typedef struct {
  const CfIrTableEntry *entry;
  int n;
} CfIrTable;

/* For video with this noise, standard deviation in levels of 8 bits. */
typedef struct {
  double noise;
  CfIrTable deblur; /* sorted by sigma */
  CfIrTable motion; /* by length, then by angle */
} CfIrTables;

extern const CfIrTables cf_ir_tables_0, cf_ir_tables_2, cf_ir_tables_5;

#endif
