#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# compilers.sh [COMPILER...]: builds library, plugin, programs and kernelcheck with each compiler, warnings being errors
# here, and runs one of 32 of kernelcheck's cases. Without arguments: every gcc-N from 12 on and every clang-N from 14
# on that is installed. Ends with `N passed, N failed, N skipped`.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
need meson:meson ninja:ninja-build
begin ""
compilers=("$@")
if [ $# = 0 ]; then
  for number in {12..30}; do
    for name in gcc-$number clang-$number; do
      [ "$name" = clang-12 ] || [ "$name" = clang-13 ] || ! command -v "$name" > /dev/null || compilers+=("$name")
    done
  done
fi
copy_tree "$root" "$work/source"

for compiler in "${compilers[@]}"; do
  build=$work/build-${compiler##*/} log=$work/log
  targets=(gst/libgstcudafilters.so pipelines/{cf-bench,cf-demo,cf-diagnose,cf-regions} tests/kernelcheck)
  "$compiler" --version | head -n 1
  CC=$compiler meson setup "$build" "$work/source" --buildtype=release -Dwerror=true -Dcuda=disabled > "$log" 2>&1 &&
    ninja -j "$(nproc)" -C "$build" "${targets[@]}" >> "$log" 2>&1
  result $? "$compiler: the build" "$log"
  [ ! -x "$build/tests/kernelcheck" ] ||
    { "$build/tests/kernelcheck" --cpu --quick --one-in 32 > "$log" 2>&1; result $? "$compiler: kernelcheck" "$log"; }
  rm -rf "$build"
done
end
