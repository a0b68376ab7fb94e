#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# fuzz.sh [SECONDS [JOBS [TARGET...]]]: searches with libFuzzer under the address and the
# undefined behaviour sanitizers: builds the targets with clang and runs each for SECONDS
# (600) in JOBS processes (one a core). The target `chaos` is the program of that name,
# with a new seed each time. Prints a line for each target and the line
#   N passed, N failed, N skipped
#
#   CF_BUILD         the build folder (build-fuzz). What is found stays in its folder
#                    `fuzz`: inputs in corpus/TARGET, failing ones beside TARGET.log
set -u
# shellcheck source-path=SCRIPTDIR source=../../pipelines/lib.sh
. "$(dirname "$0")/../../pipelines/lib.sh"
seconds=${1:-600} jobs=${2:-$(nproc)}
targets=("${@:3}")
[ ${#targets[@]} -gt 0 ] || targets=(kernel kernel_file fraction coefficients seeds zones settings regions stream chaos
  fmp4 websocket http)
build=${CF_BUILD:-$CF_ROOT/build-fuzz}
here=$CF_ROOT/tests/fuzz
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

executions () { # target
  cat "$1".[0-9]*.log | sed -n 's/^stat::number_of_executed_units: //p' | awk '{ n += $1 } END { print n + 0 }'
}

search () { # target
  local words=("-dict=$build/tests/fuzz/words.dict") most=1024 leaks=1
  mkdir -p "corpus/$1"
  case $1 in
    stream) words=() ;;
    websocket) most=9000 ;;
    fmp4 | http) most=9000 leaks=0 ;; # GLib has one: its first table of names
  esac
  ASAN_OPTIONS=detect_leaks=$leaks "$build/tests/fuzz/fuzz_$1" -max_total_time="$seconds" -jobs="$jobs" \
    -workers="$jobs" -timeout=60 -max_len="$most" -print_final_stats=1 \
    -artifact_prefix="$1-" "${words[@]}" "corpus/$1" "$here/corpus/$1" > "$1.log" 2>&1
  local status=$? n
  for n in fuzz-*.log; do
    mv "$n" "$1.${n#fuzz-}"
  done
  echo "$1: $(executions "$1") executions, status $status"
  return $status
}

chaos () {
  local end=$((SECONDS + seconds)) seed=1
  while [ $SECONDS -lt $end ]; do
    if ! "$build/tests/fuzz/fuzz_chaos" --seed $seed > chaos.log 2>&1; then
      echo "chaos: failed with --seed $seed"
      return 1
    fi
    seed=$((seed + 100000))
  done
  echo "chaos: $((seed / 100000)) runs, status 0"
}

command -v clang > /dev/null || cf_install clang || cf_die "it needs clang with libFuzzer"
mapfile -t missing < <(cf_whole_build_packages | tr ' ' '\n')
cf_install "${missing[@]}" || exit 1
# The runtime library of libFuzzer is a package of its own in some systems.
echo 'int LLVMFuzzerTestOneInput (const char *d, long n) { return !d && n; }' |
  clang -x c -fsanitize=fuzzer,address - -o /dev/null 2> /dev/null ||
  cf_install "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev" || cf_die "it needs clang with libFuzzer"
CC=clang cf_build "$build" -Dcuda=disabled -Dlibfuzzer=true -Dbuildtype=debugoptimized -Db_lundef=false \
  -Db_sanitize=address,undefined "-Dc_args=-fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined" -- \
  "${targets[@]/#/tests/fuzz/fuzz_}" tests/fuzz/words.dict || exit 1
build=$(cd "$build" && pwd)
mkdir -p "$build/fuzz" && cd "$build/fuzz" || exit 1
passed=0 failed=0
for target in "${targets[@]}"; do
  if [ "$target" = chaos ]; then chaos; else search "$target"; fi && passed=$((passed + 1)) || failed=$((failed + 1))
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
