/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/text.h: numbers that people type, or keep in a file. Any thread, any locale. */
#ifndef CF_CORE_TEXT_H
#define CF_CORE_TEXT_H

#include "filter.h"

/* The largest text, in bytes without the end. */
#define CF_TEXT_MAX (1 << 20)

/* What the sentences of errors need to know. */
typedef struct {
  const char *what;    /* begins them: the parameter's name */
  const char *thing;   /* that the numbers make: "a kernel" */
  const char *example; /* as in `example` */
  int max;             /* rows and columns */
} CfTextKind;

/* Reads rows of numbers, rows by ';' or a line's end, numbers by blanks or ','.
 * Number i of row j goes to t[j * w + i], `t` has room for max x max. An error
 * says row and column, from 1. */
CfCode cf_text_parse (const CfTextKind *kind, const char *text, double *t, int *w, int *h, CfStatus *status);

/* The text of the file at `path`, for the caller to free; NULL and a sentence
 * with `what`, path and reason if it cannot be had. May wait for the disk. */
char *cf_text_read (const char *what, const char *path, CfStatus *status);

/* Of a file that could not be read when it was set: reads it again, for the
 * sentence that says why; fails in any case. */
CfCode cf_text_unread (const char *what, const char *path, CfStatus *status);

/* `length` bytes of a text, as a sentence can have them: the first part (or, with
 * `tail`, the last) where it is long, and nothing that a terminal would obey.
 * `n` bytes of `out` with the end, at least 8; returns it. */
const char *cf_text_show (const char *text, size_t length, bool tail, char *out, size_t n);

#endif
