#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# run.sh tests | together | sanitize [TOOL...] | bench [OPTION...] | kernels | older [CAPABILITY...] |
# elements [PROGRAM...] | cuda-memory | schedule [OPTION...] | steady [OPTION...] | crowd [OPTION...] |
# areas | clip | changes | oracle | soak [gpu|cpu] [OPTION...] | fault [KIND...] | framepath [PART...] |
# watch [OPTION...] | starts [OPTION...] | trace | all | exec COMMAND... | --version: runs the bundle's tests and
# benchmarks on a machine with an NVIDIA GPU. Each ends with the line N passed, N failed, N skipped. Full logs go to
# $OUT, or to logs/ beside this script. CF_FILTERS=convolve restricts what runs per filter. trace counts the CUDA calls
# over 1000 steady frames, none of which may allocate, register or copy synchronously; it needs a C compiler, and CUPTI
# from the toolkit or from Python's packages. fault has the GPU fail in the middle of a stream: address, trap, hang.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
logs=${OUT:-$here/logs}
if [ ! -d "$here/bin" ] && [ -f "$here/bundle.tar.xz" ]; then
  tar xJf "$here/bundle.tar.xz" -C "$here" || exit 1
fi
mkdir -p "$logs" || exit 1
passed=0 failed=0 skipped=0
on='backend=cuda on-gpu-error=error'

# Uses everything from this folder and nothing from the host's GStreamer.
library_path=$here/lib
ldconfig -p 2> /dev/null | grep -q 'libstdc++\.so\.6' || library_path=$library_path:$here/lib/optional
in_bundle () {
  env LD_LIBRARY_PATH="$library_path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" PATH="$here/bin:$PATH" \
    GST_PLUGIN_PATH="$here/plugins" GST_PLUGIN_SYSTEM_PATH="$here/plugins" GST_PLUGIN_SYSTEM_PATH_1_0="$here/plugins" \
    GST_PLUGIN_SCANNER="$here/bin/gst-plugin-scanner" GST_PLUGIN_SCANNER_1_0="$here/bin/gst-plugin-scanner" \
    XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-/tmp}" GST_REGISTRY="$here/registry.bin" GST_REGISTRY_1_0="$here/registry.bin" \
    CF_BIN="$here/bin" CF_TEST_BACKEND=cuda CK_DEFAULT_TIMEOUT=60 "$@"
}

all_filters=$(in_bundle kernelcheck --list | paste -sd ' ')
[ -n "$all_filters" ] || { echo "run.sh: this is no bundle: bin/kernelcheck --list prints no filter" >&2; exit 1; }

# step NAME COMMAND...: runs the command, prints one row, and adds up the results in its log. A test
# that skips itself because it found no GPU counts as failed; `may_skip=1 step` accepts a skip.
step () {
  local name=$1 log begin code line p f s
  shift
  log="$logs/$name.log"
  begin=$(date +%s)
  "$@" > "$log" 2>&1
  code=$?
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
  if [ -n "$line" ]; then
    read -r p _ f _ s _ <<< "$line"
  elif grep -qE '^[0-9]+%: Checks: ' "$log"; then
    read -r p f < <(sed -nE 's/^[0-9]+%: Checks: ([0-9]+), Failures: ([0-9]+), Errors: ([0-9]+).*/\1 \2 \3/p' "$log" |
      awk '{ n += $1; f += $2 + $3 } END { print n - f, f }')
    s=0
  else
    p=$((code == 0)) f=0 s=0
  fi
  [ "$code" != 77 ] || [ "$s" -gt 0 ] || s=1
  [ "$code" = 0 ] || [ "$code" = 77 ] || [ "$f" -gt 0 ] || f=1
  [ "$code" != 77 ] || [ "${may_skip:-0}" = 1 ] || [ "$f" -gt 0 ] || f=1
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  printf '%-34s %6d passed %4d failed %4d skipped %5d s\n' "$name" "$p" "$f" "$s" $(($(date +%s) - begin))
  [ "$f" = 0 ] || grep -vE '^$' "$log" | tail -n 15 | cut -c 1-300 | sed 's/^/    /'
}

finish () {
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}

# Without Python the oracle counts as skipped.
find_python () { command -v python3 || echo false; }

tests () {
  local filter
  for filter in $all_filters; do
    step "registered-cuda$filter" in_bundle gst-inspect-1.0 "cuda$filter"
  done
  kernels
  schedule
  steady
  areas
  elements
  clip
  cuda_memory
  changes
  oracle
}

# Runs all element tests, or those named. All tests of a program are one process with one CUDA context: with a context
# for each test they take several times as long.
elements () {
  local program name filter
  export CK_FORK=${CK_FORK:-no}
  for program in "$here"/bin/elements/*; do
    name=$(basename "$program")
    case " $* " in '  ' | *" $name "*) ;; *) continue ;; esac
    if [ "$name" = elements_properties ]; then
      for filter in ${CF_FILTERS:-$all_filters}; do
        step "$name-$filter" in_bundle env CK_RUN_CASE="$filter" "$program"
      done
    elif [ -x "$program" ]; then
      step "$name" in_bundle "$program"
    fi
  done
}

oracle () {
  may_skip=1 step oracle in_bundle "$(find_python)" "$here/tests/oracle_opencv.py" \
    --kernelcheck "$here/bin/kernelcheck" --backend cuda
}

# Runs a part, WHAT[:FILTER[:TOOL or PROGRAM]], as a process with its own logs, because names repeat, and prints its
# rows.
part () {
  local what filter more
  IFS=: read -r what filter more <<< "$1"
  OUT=$logs/$1 CF_FILTERS=${filter:-${CF_FILTERS:-$all_filters}} CF_SANITIZE_TIMEOUT=${CF_SANITIZE_TIMEOUT:-540} \
    "${BASH_SOURCE[0]}" "$what" ${more:+"$more"} > "$logs/$1.rows" 2>&1
  sed '$d' "$logs/$1.rows"
}

# Runs `tests` and `sanitize`, as much as can be at a time: kernelcheck takes all cores; then three lanes of programs
# with one CUDA context each, because many that are made at once are slow; then what takes minutes, all of it together.
# Leaves out soak, whose frames would wait for the other processes, and bench.
together () {
  local name names filter tool lane kernels=() others=() long=(changes oracle) p f s
  local lanes=(elements 'clip cuda-memory' 'schedule steady areas')
  for filter in ${CF_FILTERS:-$all_filters}; do
    kernels+=("kernels:$filter")
    for tool in memcheck racecheck initcheck synccheck; do
      long+=("sanitize:$filter:$tool")
    done
  done
  # OpenMP threads must not spin, and other processes allocate GPU memory.
  export OMP_WAIT_POLICY=passive CF_GPU_SHARED=1
  in_bundle gst-inspect-1.0 > "$logs/registry.log" 2>&1 # written once, before the parallel starts
  for name in "${kernels[@]}"; do
    part "$name"
  done
  for lane in "${lanes[@]}"; do
    read -ra names <<< "$lane"
    others+=("${names[@]}")
    for name in "${names[@]}"; do part "$name"; done &
  done
  wait
  for name in "${long[@]}"; do
    OMP_NUM_THREADS=4 part "$name" &
  done
  wait
  for name in "${kernels[@]}" "${others[@]}" "${long[@]}"; do
    read -r p _ f _ s _ < <(grep -E '^[0-9]+ passed, ' "$logs/$name.rows" | tail -n 1)
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1})) skipped=$((skipped + ${s:-0}))
  done
}

# One process per core, up to 16: each has a CUDA context of some 500 MB.
kernels () {
  local filter n=${CF_JOBS:-$(nproc)}
  for filter in ${CF_FILTERS:-$all_filters}; do
    step "kernelcheck-gpu-$filter" in_bundle kernelcheck --gpu --require-gpu --verbose --filter "$filter" \
      --jobs $((n > 16 ? 16 : n))
  done
}

# Runs the kernels of builds for older GPUs, which the driver compiles from their PTX: all, or those of the capabilities
# named. It keeps what it has compiled; so the first process of a filter compiles, and the others wait.
older () {
  local program capability filter n=${CF_JOBS:-$(nproc)}
  local -x CUDA_CACHE_MAXSIZE=4294967296
  for program in "$here"/bin/kernelcheck-[0-9]*; do
    capability=${program##*-}
    case " $* " in '  ' | *" $capability "*) ;; *) continue ;; esac
    [ -x "$program" ] || { echo "no build for an older GPU is here: see CF_OLDER in bundle.sh"; failed=1; return; }
    for filter in ${CF_FILTERS:-$all_filters}; do
      in_bundle "$program" --gpu --require-gpu --quick --one-in 1000 --filter "$filter" \
        > "$logs/older-$capability-$filter-first.log" 2>&1 &
    done
    wait
    for filter in ${CF_FILTERS:-$all_filters}; do
      step "older-$capability-$filter" in_bundle "$program" --gpu --require-gpu --verbose --filter "$filter" \
        --jobs $((n > 16 ? 16 : n))
    done
  done
}

# Filters the clip with 32 and with 64 plans of each filter at once, as quickly as the GPU can.
#   CF_CROWD_FRAMES   frames of a filter, in all
crowd () {
  local filter plans clip frames=${CF_CROWD_FRAMES:-5000000}
  local -x GST_PLUGIN_FEATURE_RANK=nvh264dec:NONE,nvh264sldec:NONE # as in clip ()
  clip=$(mktemp)
  # Converted twice, so that no padding of the decoder's is written.
  in_bundle gst-launch-1.0 -q filesrc location="$here/media/clip.mp4" ! decodebin ! videoconvert ! \
    video/x-raw,format=NV12 ! videoconvert ! video/x-raw,format=I420 ! identity eos-after=50 ! y4menc ! \
    filesink location="$clip" > "$logs/crowd.log" 2>&1
  for filter in ${CF_FILTERS:-$all_filters}; do
    for plans in 32 64; do
      step "crowd-$filter-$plans" in_bundle kernelcheck --crowd --gpu --require-gpu --filter "$filter" \
        --plans "$plans" --frames $((frames / 2)) --clip "$clip" "$@"
      grep 'plans at once' "$logs/crowd-$filter-$plans.log" | sed 's/^/    /'
    done
  done
  rm -f "$clip"
}

# Stress test of the recursive filter's scheduler, and late warps there and in the convolution.
schedule () {
  case " ${CF_FILTERS:-irfilter} " in
    *' irfilter '* | *' convolve '*)
      step schedule-gpu in_bundle timeout 600 kernelcheck --schedule --require-gpu "$@" ;;
  esac
}

# Segments the same frames many times, with several numbers of blocks, some of them late.
steady () {
  case " ${CF_FILTERS:-segment} " in
    *' segment '*) step steady-gpu in_bundle timeout 600 kernelcheck --segment --gpu --require-gpu "$@" ;;
  esac
}

# Filters random areas of frames; see kernelcheck --areas.
areas () {
  local n=${CF_JOBS:-$(nproc)}
  step areas-gpu in_bundle timeout 600 kernelcheck --areas --gpu --require-gpu --jobs $((n > 8 ? 8 : n)) "$@"
}

# Compares every frame of the clip through each filter on the GPU and on the CPU. The clip is
# decoded on the CPU: sameframes.c says what NVIDIA's decoders do at a process's end.
clip () { # [--cuda-memory]
  local filter name=${1:-clip}
  for filter in ${CF_FILTERS:-$all_filters}; do
    step "${name#--}-$filter" in_bundle env GST_PLUGIN_FEATURE_RANK=nvh264dec:NONE,nvh264sldec:NONE \
      "$here/tests/clip.sh" --filter "$filter" --clip "$here/media/clip.mp4" ${1:+"$1"}
  done
}

# Changes settings a hundred times per second, for a minute.
changes () {
  step changes-gpu in_bundle soak --changes --seconds 60 --backend cuda "$@"
}

# Decoder, filter, download: frames arrive and leave as CUDA memory.
cuda_memory () { clip --cuda-memory; }

# Prints the element with settings whose kernels take little time beside the copies.
quick_line () { # FILTER
  case $1 in
    median | convolve) echo "cuda$1 kernel-size=3 $on" ;;
    irfilter) echo "cudairfilter preset=smooth $on" ;;
    *) echo "cuda$1 $on" ;;
  esac
}

find_tool () { command -v "$1" || ls /usr/local/cuda/bin/"$1" 2> /dev/null; }

# Runs each of the four tools over each variant a few times. A finding, a missing launch and a wrong
# result are failures. CF_FILTERS names some filters. racecheck uses the build that is made for it,
# if the bundle has it.
sanitize () {
  local sanitizer tool filter launches log program
  sanitizer=$(find_tool compute-sanitizer) || { echo "compute-sanitizer is not here"; skipped=1; return; }
  [ $# -gt 0 ] || set -- memcheck racecheck initcheck synccheck
  for filter in ${CF_FILTERS:-$all_filters}; do
    for tool in "$@"; do
      program=kernelcheck
      [ "$tool" != racecheck ] || [ ! -x "$here/bin/kernelcheck-watched" ] || program=kernelcheck-watched
      step "sanitize-$tool-$filter" in_bundle timeout "${CF_SANITIZE_TIMEOUT:-280}" "$sanitizer" --tool "$tool" \
        --error-exitcode 9 "$here/bin/$program" --gpu --require-gpu --sanitize --verbose --filter "$filter"
      log="$logs/sanitize-$tool-$filter.log"
      launches=$(sed -nE 's/.* ([0-9]+) kernel launches.*/\1/p' "$log" | tail -n 1)
      echo "    ${launches:-0} launches; $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -n 1 | sed 's/=//g')"
      # Checks the summary, not only the exit status: initcheck and racecheck report differently.
      if ! grep -qE 'ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards' "$log"; then
        failed=$((failed + 1))
        grep -A 6 -m 3 -E '^=+ (Invalid|Error|Uninit|Race|Barrier|Potential)' "$log" | sed 's/^/    /'
      fi
    done
  done
}

# Sets `baseline` and LD_LIBRARY_PATH. Builds bench_npp.so if NPP's headers are installed.
build_baseline () {
  local nvcc
  nvcc=$(find_tool nvcc)
  baseline=()
  if [ -n "$nvcc" ] && "$nvcc" -O2 -shared -Xcompiler -fPIC -o "$logs/bench_npp.so" \
      "$here/tests/bench_npp.cpp" -lnppif -lnppc > "$logs/bench_npp.log" 2>&1; then
    baseline=(--baseline ./bench_npp.so)
    # NPP's libraries are in the toolkit.
    LD_LIBRARY_PATH="$(dirname "$(dirname "$(readlink -f "$nvcc")")")/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export LD_LIBRARY_PATH
  else
    echo "bench_npp.so cannot be built here, so there is no baseline:"
    tail -n 3 "$logs/bench_npp.log" 2> /dev/null
  fi
}

# Benchmarks all filters, or the one that the options name, and writes their tables to a new page.
#   CF_PAGE   a page of docs/performance whose tables are replaced in a copy
bench () {
  local filter filters baseline page=${CF_PAGE:-kernels.md} name p f s
  read -ra filters <<< "${CF_FILTERS:-$all_filters}"
  case " $* " in *' --filter '*) filters=('') ;; esac
  build_baseline
  [ -z "${CF_PAGE:-}" ] || cp "$here/tests/performance/$page" "$logs/$page" || { failed=1; return; }
  for filter in "${filters[@]}"; do
    # The file quotes the command: run it in the folder, so that it names no path of this host.
    name=bench${filter:+-$filter}
    (cd "$logs" && in_bundle kernelcheck --bench ${filter:+--filter "$filter"} "${baseline[@]}" --json "$name.json" \
      "$@") > "$logs/$name.log" 2>&1
    # The table, on the page and here, and what went wrong.
    [ ! -f "$logs/$name.json" ] || for p in '' "$logs/$page"; do
      "$(find_python)" "$here/tests/performance/kernels.py" "$logs/$name.json" ${p:+"$p"} || failed=$((failed + 1))
    done
    grep -v '^{' "$logs/$name.log"
    read -r p _ f _ s _ < <(grep -E '^[0-9]+ passed, ' "$logs/$name.log" | tail -n 1)
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1})) skipped=$((skipped + ${s:-0}))
  done
  rm -f "$logs/bench_npp.so"
}

# Measures whole frames through the elements with pipelines/bench: all parts, or those named.
#   CF_FRAMEPATH_SECONDS   seconds of each row of cameras
#   CF_FRAMEPATH_SIZES, CF_CAMERAS   replace the default sizes and numbers of cameras
framepath () {
  local part size=${CF_FRAMEPATH_SIZES:-1920x1080,3840x2160}
  local cameras=${CF_CAMERAS:-64,128,256,400,448,512} line options
  local median convolve lines
  median=$(quick_line median) convolve=$(quick_line convolve)
  mapfile -t lines < <(for part in $all_filters; do quick_line "$part"; done)
  # As in clip ().
  local -x GST_PLUGIN_FEATURE_RANK=nvh264dec:NONE,nvh264sldec:NONE
  local quick=(--seconds 0.4 --warm-up 0.1)
  local live=(--rate 30 --study cameras --seconds "${CF_FRAMEPATH_SECONDS:-20}" --warm-up 1)
  [ $# -gt 0 ] || set -- flight plain chain sizes kernels harness cameras processes
  for part in "$@"; do
    case $part in
      # Frames in flight, beside the link's limit and the kernels only.
      flight) line=("${lines[@]}")
        options=(--size "$size" --bare --sweep 'frames-in-flight=1,2,3,4,8' "${quick[@]}") ;;
      plain) line=("${lines[@]:0:2}")
        options=(--size "$size" --memory plain --no-limits --sweep 'frames-in-flight=1,4' "${quick[@]}") ;;
      # In CUDA memory: one, two and four elements in a row, beside the same kernels without
      # GStreamer.
      chain) line=("$median" "$median ! $median" "$convolve" "$convolve ! $convolve"
          "$convolve ! $convolve ! $convolve ! $convolve" "$median ! $convolve ! $median ! $convolve")
        options=(--size "$size" --memory cuda --bare --no-limits "${quick[@]}") ;;
      sizes) line=("$median frames-in-flight=4")
        options=(--size '320x240,640x480,1280x720,1920x1080,3840x2160,7680x4320' --memory 'proposed,cuda'
          "${quick[@]}") ;;
      kernels) line=("cudamedian frames-in-flight=4 $on" "cudaconvolve frames-in-flight=4 $on")
        options=(--sweep 'kernel-size=3,5,7,9,15,31,63' "${quick[@]}") ;;
      # Areas of 1, 5, 25 and 100 % of the frame, and one region that moves.
      regions) mapfile -t line < <(
          for element in 'cudamedian kernel-size=7' 'cudaconvolve preset=gauss sigma=5' \
            'cudaconvolve preset=privacy'; do
            for area in '' roi=.1,.1,.1,.1 roi=.1,.1,.2236,.2236 roi=.1,.1,.5,.5 roi=0.,0.,1.,1. roi-meta=true; do
              echo "$element $on $area"
            done
          done)
        options=(--size "$size" --regions 1 --memory 'proposed,cuda' --no-limits --sweep 'frames-in-flight=1,4'
          --seconds 0.2 --warm-up 0.1) ;;
      # Cameras with a detector's regions.
      privacy) line=("cudaconvolve preset=privacy roi-meta=true $on")
        options=(--regions 1 --cameras 200 --no-limits --memory proposed "${live[@]}") ;;
      privacy-cuda) line=("cudaconvolve preset=privacy roi-meta=true $on")
        options=(--regions 1 --cameras 400 --no-limits --memory cuda "${live[@]}") ;;
      # Eight cameras together, as many frames as the link takes; and cameras that segment. The made frames pan by 7
      # pixels each; a clip's are those of a camera that stands.
      eight) line=("cudasegment $on" "cudairfilter preset=soft $on") options=(--cameras 8 "${quick[@]}") ;;
      eight-clip) line=("cudasegment $on")
        options=(--cameras '1,8,32' --video "$here/media/clip.mp4" --sweep 'frames-in-flight=1,2' "${quick[@]}") ;;
      segment) line=("cudasegment $on") options=(--cameras 350 --no-limits "${live[@]}") ;;
      segment-clip) line=("cudasegment $on")
        options=(--cameras 350 --no-limits --video "$here/media/clip.mp4" "${live[@]}") ;;
      # The cost of the sources and sinks only.
      harness) line=(identity) options=(--no-limits --cameras 400 "${live[@]}" --seconds 3) ;;
      cameras) line=("$median") options=(--cameras "$cameras" "${live[@]}") ;;
      processes) line=("$median") options=(--cameras '256,400' --processes '4,16' "${live[@]}") ;;
      *) echo "there is no part $part"; failed=1; continue ;;
    esac
    # Runs in the folder, so that the table names no path of this host.
    (cd "$logs" && in_bundle bench --force --json "framepath-$part.json" "${options[@]}" "${line[@]}") 2>&1 |
      tee "$logs/framepath-$part.log"
    if [ "${PIPESTATUS[0]}" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  done
}

# Prints folders that may hold CUPTI: a toolkit's, or those of Python's packages.
cupti_folders () {
  local nvcc root
  for root in /usr/local/cuda "$(nvcc=$(find_tool nvcc) && dirname "$(dirname "$(readlink -f "$nvcc")")")"; do
    [ -z "$root" ] || printf '%s\n' "$root/extras/CUPTI" "$root" "$root/targets/x86_64-linux"
  done
  "$(find_python)" -c 'import glob, sys
for path in sys.path:
    print(*glob.glob(path + "/nvidia/cu*"), sep="\n")' 2> /dev/null
}

# Builds the tracing library and sets `tracer`. Returns 1 if it cannot be built here, 2 if the build
# failed.
build_trace () {
  local folder library='' file compiler options=()
  tracer=$logs/trace_cuda.so
  compiler=$(command -v gcc || command -v cc) || { echo "there is no C compiler here, so no trace"; return 1; }
  while read -r folder; do
    [ ! -d "$folder/include" ] || options+=("-I$folder/include")
    for file in "$folder"/lib64/libcupti.so* "$folder"/lib/libcupti.so*; do
      # Prefers a library with its header beside it.
      [ ! -f "$file" ] || [ ! -f "$folder/include/cupti.h" ] || [ -n "$library" ] || library=$file
    done
  done < <(cupti_folders)
  [ -n "$library" ] || { echo "neither a CUDA toolkit nor Python's packages have CUPTI here, so no trace"; return 1; }
  # Calls are reported to the CUPTI that the library was linked with.
  "$compiler" -std=gnu11 -O2 -shared -fPIC "${options[@]}" -o "$tracer" "$here/tests/trace_cuda.c" "$library" \
    "-Wl,-rpath,$(dirname "$library")" -ldl > "$logs/trace_build.log" 2>&1 && return 0
  echo "the tracing library cannot be built here:"
  head -n 5 "$logs/trace_build.log"
  return 2
}

in_trace () { # TABLE COMMAND...
  local table=$1
  shift
  rm -f "$table"
  in_bundle env CUDA_INJECTION64_PATH="$tracer" CF_TRACE_OUT="$table" timeout 120 "$@"
}

table_value () { awk -v key="$2" '$1 == key && NF == 2 { print $2 }' "$1" 2> /dev/null; }

# Traces a whole run, in which memory is allocated and kernels are loaded: a trace that misses these
# calls here would miss them among steady frames.
trace_whole () { # TABLE MEMORY ELEMENT
  local table=$1 frames=64 upload=() line n call
  [ "$2" != cuda ] || upload=(cudaupload ! 'video/x-raw(memory:CUDAMemory)' !)
  read -ra line <<< "$3"
  in_trace "$table" gst-launch-1.0 -q videotestsrc num-buffers="$frames" pattern=black ! \
    video/x-raw,format=NV12,width=1920,height=1080 ! "${upload[@]}" "${line[@]}" ! fakesink || return 1
  [ -f "$table" ] || { echo "there is no table: the tracing library was not loaded"; return 1; }
  cat "$table"
  n=$(table_value "$table" frames)
  [ "${n:-0}" -ge "$frames" ] || { echo "$frames frames were waited for ${n:-0} times"; return 1; }
  for call in 'cuMemAlloc' 'cuMemHostAlloc' 'cuEventCreate' 'cu(Module|Library)Load'; do
    grep -qE "^forbidden +$call" "$table" || { echo "$call was not seen, which this run does"; return 1; }
  done
}

# Traces 1000 frames, after the first 200.
trace_steady () { # TABLE MEMORY ELEMENT
  local table=$1
  CF_TRACE_SKIP=200 CF_TRACE_FRAMES=1000 in_trace "$table" bench --no-limits --size 1920x1080 --format NV12 \
    --memory "$2" --frames 1300 --warm-up 0.1 "$3" || return 1
  [ -f "$table" ] || { echo "no 1000 steady frames were seen"; return 1; }
  cat "$table"
  [ "$(table_value "$table" frames)" = 1000 ] && [ "$(table_value "$table" forbidden)" = 0 ]
}

# Prints the calls per frame in one line.
print_table () {
  [ -f "$1" ] && awk '
    $1 == "calls" { calls = $2 }
    $1 == "forbidden" && NF == 2 { forbidden = $2 }
    NF > 3 { list = list sprintf ("%s %s %.2f", list ? "," : "", $2, $4) }
    END { printf "    %.2f calls a frame, %s forbidden:%s\n", calls / 1000, forbidden, list }' "$1"
}

# Traces a filter with each memory and number of frames in flight.
trace_filter () { # FILTER ELEMENT
  local filter=$1 element=$2 mode memory flight name
  for memory in proposed cuda; do
    name=trace-$filter-$memory-roi
    step "$name" trace_steady "$logs/$name.txt" "$memory" "$element frames-in-flight=1 roi=161,121,640,480"
    print_table "$logs/$name.txt"
  done
  for mode in proposed:1 proposed:4 plain:4 cuda:1 cuda:4; do
    IFS=: read -r memory flight <<< "$mode"
    case $mode in
      proposed:1 | cuda:1)
        name=trace-whole-$filter-$memory
        step "$name" trace_whole "$logs/$name.txt" "$memory" "$element" ;;
    esac
    name=trace-$filter-$memory-$flight
    step "$name" trace_steady "$logs/$name.txt" "$memory" "$element frames-in-flight=$flight"
    print_table "$logs/$name.txt"
  done
}

trace () {
  local filter tracer
  build_trace
  case $? in 1) skipped=$((skipped + 1)); return ;; 2) failed=$((failed + 1)); return ;; esac
  for filter in ${CF_FILTERS:-$all_filters}; do
    trace_filter "$filter" "$(quick_line "$filter")"
  done
  [ -z "${CF_FILTERS:-}" ] || return
  step trace-chain trace_steady "$logs/trace-chain.txt" cuda "cudamedian $on ! cudaconvolve $on ! cudamedian $on"
  print_table "$logs/trace-chain.txt"
}

# soak [gpu|cpu] [OPTION...]: both, unless one is named.
soak () {
  local filter where='gpu cpu'
  case ${1:-} in gpu | cpu) where=$1; shift ;; esac
  for filter in ${CF_FILTERS:-$all_filters}; do
    case $filter in
      convolve) filter='cudaconvolve preset=unsharp' ;;
      irfilter) filter='cudairfilter sigma=10' ;;
      *) filter=cuda$filter ;;
    esac
    [ "$where" = cpu ] || step "soak-gpu-${filter%% *}" in_bundle soak "$@" --element "$filter $on"
    [ "$where" = gpu ] || step "soak-cpu-${filter%% *}" in_bundle soak "$@" --element "$filter backend=cpu"
  done
  grep -h 'of the' "$logs"/soak-*.log
}

# Starts cf-watch with 64 files on NVIDIA's decoders, and ends it, ten times.
starts () {
  step watch-starts in_bundle "$(find_python)" "$here/bin/cameras.py" "$here/bin/cf-watch" --starts 10 \
    --file "$here/media/clip.mp4" "$@"
}

# Runs 64 cameras of cf-watch for five minutes (tests/watch/cameras.py).
watch () {
  step watch-gpu in_bundle "$(find_python)" "$here/bin/cameras.py" cf-watch "$@"
  sed '$d' "$logs/watch-gpu.log" # without its closing line
}

# A fault ends CUDA for its process, and a hang occupies the whole GPU for some seconds: nothing else may run then.
# The CPU takes over without the past that regions depend on, so temporal is 0.
fault () {
  local filter kind memory line
  [ $# -gt 0 ] || set -- address trap hang
  for kind in "$@"; do
    for filter in ${CF_FILTERS:-$all_filters}; do
      line=$(quick_line "$filter")
      [ "$filter" != segment ] || line+=' temporal=0'
      for memory in system cuda; do
        step "fault-$kind-$filter-$memory" in_bundle gpufault --fault "$kind" --memory "$memory" \
          --element "${line/ $on/}"
      done
    done
  done
}

what=${1:-}
[ $# -eq 0 ] || shift
case $what in
  tests) tests ;;
  cuda-memory) cuda_memory ;;
  kernels) kernels ;;
  elements) elements "$@" ;;
  oracle) oracle ;;
  together) together ;;
  schedule) schedule "$@" ;;
  steady) steady "$@" ;;
  crowd) crowd "$@" ;;
  older) older "$@" ;;
  areas) areas "$@" ;;
  clip) clip ;;
  changes) changes "$@" ;;
  sanitize) sanitize "$@" ;;
  soak) soak "$@" ;;
  fault) fault "$@" ;;
  watch) watch "$@" ;;
  starts) starts "$@" ;;
  bench) bench "$@" ;;
  framepath) framepath "$@" ;;
  trace) trace ;;
  all) tests; crowd; trace; sanitize; fault; soak ;;
  exec) in_bundle "$@"; exit ;;
  --version) in_bundle cf-diagnose --version | sed 's/^cf-diagnose/run.sh/'; exit ;;
  *) sed -n '5,12p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//' >&2; exit 2 ;;
esac
finish
