/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * properties.h: the properties of a filter's elements, for programs and pages that offer them. */
#ifndef PIPELINES_WATCH_PROPERTIES_H
#define PIPELINES_WATCH_PROPERTIES_H

#include "json.h"

/* Returns the elements, each with its properties that can be set: their types, ranges, defaults and values, and what
 * the element itself says about them. */
JsonArray *properties_json (GList *elements);
/* Returns the line, as gst-launch-1.0 takes it, that makes these elements with what is set of them now; NULL: they
 * stand in branches. Free it. */
char *properties_line (GList *elements);
/* Returns the elements, each with the values of those properties that are not the default. */
JsonArray *properties_set_json (GList *elements);

#endif
