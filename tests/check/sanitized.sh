#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# sanitized.sh kernelcheck|faults|elements|fuzz|watch: a share of the tests in the build with the address and the
# undefined behaviour sanitizers, which tests/run.sh makes and names in CF_SANITIZED. `watch` is all of cf-watch's and
# no part of tests/run.sh: docs/testing.md.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${CF_SANITIZED:-}" ]; then
  echo "no compiler here has the sanitizers (or this is not tests/run.sh)"
  exit 77
fi
# soak, linkslots and faults count what is alive; GStreamer's registry would fill a report of leaks. The plugin cannot
# be loaded into GStreamer's scanner, a program without the sanitizers.
export ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=64 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export GST_REGISTRY_FORK=no CK_TIMEOUT_MULTIPLIER=5

# Runs tests of that build by their names; their counts are one.
build_tests () { # LOG TEST...
  local log=$1
  shift
  meson test -C "$CF_SANITIZED" --no-rebuild --num-processes 2 --timeout-multiplier 4 --logbase "$log" "$@" \
    > "$CF_SANITIZED/$log.log" 2>&1
  python3 "$here/summary.py" "$CF_SANITIZED/meson-logs/$log.json"
}

# A report counts by itself: some tests kill cf-watch, or expect it to fail.
watch_tests () {
  local reports=$CF_SANITIZED/reports status=0
  rm -rf "$reports"
  mkdir -p "$reports" || return
  ASAN_OPTIONS+=:log_path=$reports/report UBSAN_OPTIONS+=:log_path=$reports/report
  # libproxy throws exceptions, for which a sanitizer linked into a program in C has no library.
  export CF_WATCH_SLOW=4 GIO_USE_PROXY_RESOLVER=dummy
  build_tests watch watch-{control,files,fuzz,growth,hidden,reach,recording,clock,lost,network,page,live,leaves} \
    watch-{ws,users,through,stored,proof,mqtt,api,streams,rtsp,search} || status=1
  cat "$reports"/* 2> /dev/null || return "$status"
  echo "0 passed, $(find "$reports" -type f | wc -l) failed, 0 skipped"
  return 1
}

case ${1:-} in
  kernelcheck)
    # Each code path once, with settings that have overflowed before; then a share of all cases.
    "$CF_SANITIZED/tests/kernelcheck" --cpu --sanitize --filter convolve --jobs 2 || exit 1
    exec "$CF_SANITIZED/tests/kernelcheck" --cpu --quick --one-in 32 --jobs 2 ;;
  faults)
    "$CF_SANITIZED/tests/faults/chains" --one-in 41 || exit 1
    exec "$CF_SANITIZED/tests/faults/faults" --one-in 97 ;;
  elements)
    # In one process: a fork copies the sanitizer's tables, which took most of the time. Whatever it finds ends it.
    export CK_FORK=no
    build_tests elements roi_properties same devices hangs flushes linkslots nvmm cudart \
      elements_{properties,buffers,negotiation,segment,areas,flight,center,life}_cpu ;;
  fuzz) build_tests fuzz fuzz_{kernel,kernel_file,fraction,coefficients,seeds,zones,settings,regions,stream,chaos} ;;
  watch) watch_tests ;;
  *) echo "usage: sanitized.sh kernelcheck|faults|elements|fuzz|watch"; exit 2 ;;
esac
