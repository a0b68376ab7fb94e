/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * words.c: prints the words of the filters' tables for a dictionary: the start of a line that sets a parameter, and the
 * values of enums and flags. */
#include "cf.h"

#include <stdio.h>

int
main (void)
{
  for (const CfFilter *const *f = cf_filters; *f; f++) {
    const CfFilterInfo *info = cf_filter_info (*f);

    for (const CfParam *p = info->params; p < info->params + info->n_params; p++) {
      printf ("\"\\x0a%s=%s\"\n", p->name, p->type == CF_TYPE_BOOL ? "true" : "");
      for (const CfEnumValue *value = p->values; value && value->name; value++)
        printf ("\"%s\"\n", value->name);
    }
  }
  return 0;
}
