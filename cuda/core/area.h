/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/area.h: areas (cf.h), as the backends see them: disjoint boxes, each with the shapes that lie in it. */
#ifndef CF_CORE_AREA_H
#define CF_CORE_AREA_H

#include "core/filter.h"

CF_BEGIN_DECLS

#define CF_AREA_BOXES 64 /* at most CF_PIECES */
#define CF_AREA_SHAPES 256

/* A rectangle, or the ellipse in it; not clipped to the frame. The pixel x, y is in the ellipse if
 *   (2 x + 1 - 2 X - W)^2 H^2 + (2 y + 1 - 2 Y - H)^2 W^2 <= W^2 H^2. */
typedef struct {
  int16_t x, y;
  uint16_t width, height; /* 1..CF_SHAPE_MAX */
} CfShape;

#define CF_SHAPE_MAX 32767

/* A part of the frame in which something is filtered. It begins and ends with whole samples of all components; an edge
 * that is the frame's may cut them. */
typedef struct {
  CfRect write, read; /* the rectangle that may change, and the one that the filter reads for it */
  unsigned shape, n;  /* the first of its shapes, and their number */
  bool solid;         /* the strength is 255 everywhere */
  CfRect full;        /* it is 255 there and 0 beside it; no width: it is otherwise */
  CfRect sheet;       /* the rectangle that is copied into a sheet (core/plan.c), which may reach beyond the frame; no
                         width: the box is filtered by itself */
} CfBox;

/* Strengths of all pixels of a frame, which areas share. */
typedef struct {
  unsigned refs;   /* atomic */
  uint64_t number; /* unique in the process, not 0 */
  bool full;       /* the strength is 255 everywhere */
  unsigned n;      /* of `part`: rectangles around the polygons and around the mask */
  CfRect part[CF_AREA_BOXES];
  uint8_t strength[];
} CfMap;

struct CfArea {
  unsigned refs; /* atomic */
  CfFormat format;
  int width, height;
  bool interlaced, anchored, ellipses, invert, whole;
  bool plain;   /* all boxes have a `full` */
  bool by_halo; /* false: the filter reads the whole frame, whatever it filters */
  unsigned n_boxes, n_shapes;
  CfBox box[CF_AREA_BOXES];
  CfShape shape[CF_AREA_SHAPES];
  CfMap *map; /* NULL: none */
};

/* Sets the strengths that a shape has in row `y`, in the `width` pixels from column `x0` on, whose first is row[0]. */
void cf_area_draw (const CfArea *area, const CfShape *shape, int y, int x0, int width, uint8_t *row);

CF_END_DECLS
#endif
