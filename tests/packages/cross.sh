#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# cross.sh: what meson says of processors for which nothing can be built, and that a cross build takes no kernels from
# this machine's nvcc. Ends with `N passed, N failed, N skipped`.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
need meson:meson
begin ""

# configure CPU ENDIAN OPTION...: this machine's compiler, taken for that of another processor.
configure () {
  printf "[binaries]\nc = 'cc'\nar = 'ar'\npkgconfig = 'pkg-config'\n[host_machine]\nsystem = 'linux'
cpu_family = '%s'\ncpu = '%s'\nendian = '%s'\n" "$1" "$1" "$2" > "$work/$1.ini"
  meson setup "$work/$1" "$root" --cross-file "$work/$1.ini" -Dtests=false "${@:3}" > "$work/$1.log" 2>&1
}

for cpu in s390x:big ppc64:big x86:little arm:little; do
  ! configure "${cpu%:*}" "${cpu#*:}" && grep -q "ERROR.* this build is for ${cpu%:*}, ${cpu#*:}-endian; .*x86-64" \
    "$work/${cpu%:*}.log"
  result $? "${cpu%:*} is not refused" "$work/${cpu%:*}.log"
done
configure aarch64 little && grep -q 'CUDA kernels *: NO' "$work/aarch64.log"
result $? "a cross build has kernels of this machine's nvcc" "$work/aarch64.log"
end
