#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# tsan.sh [TEST...]: builds with clang and the thread sanitizer, and runs the tests with the
# most threads (the names of `meson test`). Prints each test's counts, the first lines of
# every report, and the line
#   N passed, N failed, N skipped
#
#   CF_BUILD         the build folder (build-tsan); the reports are in its folder `reports`
set -u
# shellcheck source-path=SCRIPTDIR source=../pipelines/lib.sh
. "$(dirname "$0")/../pipelines/lib.sh"
tests=("$@")
[ $# -gt 0 ] || tests=(elements_{buffers,flight,center,life}_cpu linkslots hangs flushes chains fuzz_chaos)
build=${CF_BUILD:-$CF_ROOT/build-tsan}
mkdir -p "$build/reports" && build=$(cd "$build" && pwd) || exit 1
rm -f "$build"/reports/*
echo 'int main (void) { return 0; }' | clang -x c -fsanitize=thread - -o "$build/probe" 2> /dev/null ||
  cf_die "it needs clang with the thread sanitizer"
read -ra flags < <(pkg-config --cflags gstreamer-1.0)
clang -fsanitize=thread -fPIC -O1 -g -c "$CF_ROOT/tests/check/tsan_glib.c" -o "$build/tsan_glib.o" "${flags[@]}" ||
  exit 1
targets=()
for name in "${tests[@]}"; do
  case $name in
    elements_*) targets+=("tests/elements/${name%_cpu}") ;;
    fuzz_*) targets+=("tests/fuzz/$name") ;;
    *) targets+=("tests/faults/$name") ;;
  esac
done
CC=clang cf_build "$build" -Doptimization=1 -Ddebug=true -Dcuda=disabled -Db_sanitize=thread -Db_lundef=false \
  "-Dc_link_args=-fsanitize=thread -rdynamic $build/tsan_glib.o $(pkg-config --libs gstreamer-1.0)" -- \
  gst/libgstcudafilters.so "${targets[@]}" || exit 1
# Libraries without the sanitizer: what they do inside, to memory of their own, it cannot order. upload_given_up: see
# tests/faults/fake.c.
printf '%s\n' 'race:^upload_given_up$' called_from_lib:libglib-2.0 called_from_lib:libgobject-2.0 \
  called_from_lib:libgstreamer-1.0 called_from_lib:libgstbase-1.0 called_from_lib:libgstvideo-1.0 \
  called_from_lib:libgstcheck-1.0 > "$build/tsan.supp"
TSAN_OPTIONS="suppressions=$build/tsan.supp log_path=$build/reports/tsan exitcode=66 allocator_may_return_null=1"
export TSAN_OPTIONS
export GST_REGISTRY_FORK=no CK_FORK=no
# GLib's own allocator hands memory from thread to thread by locks that the sanitizer does not see.
export G_SLICE=always-malloc
# The program itself looks at all plugins that it finds: at those of other projects the sanitizer has much to say.
mkdir -p "$build/plugins" && rm -f "$build/tests/registry.bin"
for name in coreelements videotestsrc videoconvertscale app; do
  ln -sf "$(pkg-config --variable=pluginsdir gstreamer-1.0)/libgst$name.so" "$build/plugins/"
done
export GST_PLUGIN_SYSTEM_PATH=$build/plugins GST_PLUGIN_SYSTEM_PATH_1_0=$build/plugins
meson test -C "$build" --no-rebuild --timeout-multiplier 10 "${tests[@]}" > "$build/test.log" 2>&1
grep -h -A 4 'WARNING: ThreadSanitizer' "$build"/reports/* 2> /dev/null
exec python3 "$CF_ROOT/tests/summary.py" "$build/meson-logs/testlog.json"
