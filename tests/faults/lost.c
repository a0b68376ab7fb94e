/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * lost.c: in the plugin on the fake GPU: call number FAKE_LOST_AT to the GPU, and all later ones, find it lost. There
 * are FAKE_DEVICES, of which number FAKE_OLD has capability 6.1, and FAKE_UNFIT runs none of the kernels. */
#include "fake.h"

#include <stdlib.h>

__attribute__ ((constructor)) static void
begin (void)
{
  const char *at = getenv ("FAKE_LOST_AT"), *devices = getenv ("FAKE_DEVICES"), *old = getenv ("FAKE_OLD"),
             *unfit_one = getenv ("FAKE_UNFIT");

  if (devices)
    fake_devices = atoi (devices);
  if (old) {
    fake_infos[atoi (old)].major = 6;
    fake_infos[atoi (old)].minor = 1;
  }
  if (unfit_one)
    fake_unfit = 1U << atoi (unfit_one);
  if (at)
    fake_arm (atoi (at), 719, true);
}
