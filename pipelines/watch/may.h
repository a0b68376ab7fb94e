/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * may.h: what an operator may change of a camera's filter: nothing that shows more of what it hides. Main thread. */
#ifndef PIPELINES_WATCH_MAY_H
#define PIPELINES_WATCH_MAY_H

#include "config.h"

/* Does one of the filter's elements hide something? */
gboolean any_hides (GList *elements);
/* Returns whether an operator may set all, but only because nothing hides. */
gboolean may_set_while_open (const CameraSettings *settings, GList *elements);
/* Returns whether an operator may set "ELEMENT.PROPERTY" of the filter's elements to the value (NULL: may enable and
 * disable them), or FALSE with why not. A target that is not there may be set: that is refused elsewhere. */
gboolean
may_set (const CameraSettings *settings, GList *elements, const char *target, const char *value, GString *wrong);

#endif
