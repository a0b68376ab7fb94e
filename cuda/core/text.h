/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/text.h: reads numbers from text that users type or store in a file. Any thread, any locale. */
#ifndef CF_CORE_TEXT_H
#define CF_CORE_TEXT_H

#include "filter.h"

/* The maximum length of a text, in bytes without the end. */
#define CF_TEXT_MAX (1 << 20)

/* Words for the error messages. */
typedef struct {
  const char *what;    /* the parameter's name, which begins each message */
  const char *thing;   /* what the numbers are: "a kernel" */
  const char *example; /* a valid text */
  int max;             /* the maximum number of rows and of columns */
} CfTextKind;

/* Reads rows of numbers, separated by ';' or line ends; numbers are separated by blanks or ','. A separator may stand
 * behind the last row and behind the last number of a row. Stores number i of row j in t[j * w + i]; `t` has room for
 * max x max numbers. An error names row and column, counted from 1. */
CfCode cf_text_parse (const CfTextKind *kind, const char *text, double *t, int *w, int *h, CfStatus *status);

/* Fills the message of `status` (with CF_OK) if a row of the text looks like numbers with decimal commas: "0,5 1 0,5"
 * has five numbers, not three. `text` may be NULL. */
void cf_text_advise (const char *what, const char *text, CfStatus *status);

/* Returns the text of the file at `path`, to be freed by the caller; NULL on failure, with a message that names `what`,
 * the path and the reason. May wait for the disk. */
char *cf_text_read (const char *what, const char *path, CfStatus *status);

/* Frees a text and sets it to NULL. */
void cf_text_drop (const char **text);

/* Reads a file again that could not be read when its parameter was set, to fill the status with the reason. Always
 * returns an error. */
CfCode cf_text_unread (const char *what, const char *path, CfStatus *status);

/* Writes `length` bytes of a text to `out` in a form for error messages: a long text is shortened to its first part
 * (with `tail`: its last), and control characters are replaced. `n`: the size of `out`, at least 8. Returns `out`. */
const char *cf_text_show (const char *text, size_t length, bool tail, char *out, size_t n);

#endif
