#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# clang.sh: kernelcheck as clang builds it, an eighth of the quick cases. tests/run.sh names the build in CF_CLANG.
if [ -z "${CF_CLANG:-}" ]; then
  echo "clang is not installed (or this is not tests/run.sh), so its build is not tested"
  exit 77
fi
exec "$CF_CLANG/tests/kernelcheck" --cpu --quick --one-in 8 --jobs 2
