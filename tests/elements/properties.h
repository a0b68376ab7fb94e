/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * properties.h: what the tests of the elements' properties know of a filter: a table each. A value is
 * text as typed in a pipeline, NULL for no text; lists end with a row without a name. */
#ifndef PROPERTIES_H
#define PROPERTIES_H

#include "regions.h"

typedef struct {
  const gchar *name, *value;
} Setting;

/* One change of a setting and the samples of the next frame. A value that begins with '@': a file with
 * this text, which is removed when the property has been set. */
typedef struct {
  const gchar *name, *value;
  guint8 right[16];
} Step;

/* One change of a setting, or new caps of the format `value` ("caps"), and what happens to the next two
 * frames: the same buffer comes out; the same samples do. */
typedef struct {
  const gchar *name, *value;
  gboolean passes_through, same;
} Pass;

/* A value that is refused. One that begins with '@' is made by `make`, and goes into a file if the
 * property is that of a file. */
typedef struct {
  const gchar *name, *value;
  const gchar *where;  /* part of the message, which always names the property */
  const gchar *format; /* bad with these caps only */
} Bad;

/* A running element that is to refuse a value. */
typedef struct {
  const Setting *settings; /* before it runs */
  const Setting *kept;     /* properties after the refusal */
  const guint8 *right;     /* samples, by `show` */
} Refusal;

typedef struct {
  const gchar *factory;
  const gchar *file; /* the property of a file, if there is one */

  const Setting *start; /* of the tests below */
  const gchar *format;
  gint width, height;
  const guint8 *samples;
  const Step *steps, *file_steps;
  const Setting *file_start;
  const Setting *last_counts; /* rows with '=' before the name: expected values */

  const Pass *passes;
  const Setting *pass_start;

  const Bad *bad;
  const Setting *bad_start;  /* before a start that fails */
  const Setting *good_start; /* makes it succeed */
  const gchar *bad_format;   /* the caps of the running element */
  gint bad_width, bad_height;
  Refusal refusal, preset_refusal; /* preset_refusal: of a preset */
  const Setting *good;             /* accepted afterwards */
  /* Pushes a frame into an element that has been set up by a Refusal, n = 0: before, 1: after the bad
   * value, 2: after the good one, and checks what comes out. */
  void (*show) (GstHarness *h, const GstVideoInfo *info, const Refusal *r, guint n);
  gchar *(*make) (const Bad *bad);                                         /* the caller frees it */
  void (*refused) (GstElement *element, const Bad *bad, const Refusal *r); /* r NULL: before the start */

  void (*add) (TCase *tests); /* tests of this filter alone */
} Properties;

#define DECLARE(stem) extern const Properties stem##_properties;
CF_FILTERS (DECLARE)

/* The tests' frames of four samples. */
extern const guint8 ramp[4];

void set_all (GstElement *element, const Setting *settings);

#endif
