/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * lost.c: in the plugin on the fake GPU: call number FAKE_LOST_AT to the GPU, and all later ones, find it lost. */
#include "fake.h"

#include <stdlib.h>

__attribute__ ((constructor)) static void
begin (void)
{
  const char *at = getenv ("FAKE_LOST_AT");

  if (at)
    fake_arm (atoi (at), 719, true);
}
