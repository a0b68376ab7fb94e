#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# demo.sh: runs video through the filters, starting from a fresh Debian 12 or Ubuntu
# 24.04: installs missing packages, builds and runs. --help explains the options.

set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

usage () {
  cat << END
usage: pipelines/demo.sh [options] [INPUT]

Runs video through filters and shows it: in a window if there is a display, else
in a file with a PNG of one frame beside it. Without INPUT: a moving test pattern
with salt-and-pepper noise, and beside it what a median leaves of that. With INPUT:
what each of the elements does with it. The last line is backend, frames and
frames/s. Ctrl-C ends; the file stays playable.

  INPUT               a video file, rtsp://..., or a camera: /dev/video0;
                      or FILE.json, a file of cf-watch: its cameras, until Ctrl-C,
                      and the address of its page (pipelines/examples/watch.json)
  -f, --filter LINE   only this element line, beside the original
                      ('cudamedian kernel-size=5')
      --page          the same on a page in the browser, where the filter can be
                      changed while the video runs: cf-watch --try
  -o, --output FILE   write this .mp4, .mkv, .webm or .avi and show no window
                      (without a display: cudafilters-demo.webm in this folder)
      --force         replace FILE if it exists
  -n, --frames N      end after N frames
      --noise PERCENT pixels with salt-and-pepper noise (5 without INPUT, else 0)
      --diagnose      print what is found on this machine and which backend
                      would be used
      --no-install    never call apt-get; list missing packages instead
      --version       print the version
  -h, --help          print this text

Missing packages are installed with apt-get (with sudo unless you are root). The
build goes to ${CF_BUILD:-$CF_ROOT/build-demo} (CF_BUILD in
the environment names another folder); it has CUDA kernels if nvcc is found.
END
}

# Prints the packages that are missing to show or write the result.
runtime_packages () {
  local elements=(videotestsrc:gstreamer1.0-plugins-base compositor:gstreamer1.0-plugins-base)
  if [ "$watch" = 1 ]; then # small pictures, and what is recorded and shown large
    elements+=(jpegenc:gstreamer1.0-plugins-good x264enc:gstreamer1.0-plugins-ugly h264parse:gstreamer1.0-plugins-bad)
    case $input in '' | *.json) ;; *) elements+=(avdec_h264:gstreamer1.0-libav) ;; esac
  elif [ -n "$output" ] || [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    elements+=(vp8enc:gstreamer1.0-plugins-good pngenc:gstreamer1.0-plugins-good)
  elif [ -n "${WAYLAND_DISPLAY:-}" ] && [ -z "${DISPLAY:-}" ]; then
    elements+=(waylandsink:gstreamer1.0-plugins-bad)
  else
    elements+=(ximagesink:gstreamer1.0-x)
  fi
  case $output in *.[mM][pP]4) elements+=(x264enc:gstreamer1.0-plugins-ugly) ;; esac
  if [ "$watch" = 0 ] && [ -n "$input" ]; then
    elements+=(decodebin:gstreamer1.0-plugins-base matroskademux:gstreamer1.0-plugins-good
      textoverlay:gstreamer1.0-x) # the names in the picture
  fi
  cf_element_packages "${elements[@]}"
}

diagnose=0 watch=0 input='' output='' filter='' pass=()
while [ $# -gt 0 ]; do
  case $1 in --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;; esac
  case $1 in
    -h | --help) usage; exit 0 ;;
    --version) cf_version; exit 0 ;;
    --diagnose) diagnose=1 ;;
    --no-install) export CF_NO_INSTALL=1 ;;
    --force) pass+=(--force) ;;
    --page) watch=1 ;;
    -i | --input | -o | --output | -f | --filter | -n | --frames | --noise)
      [ $# -gt 1 ] || cf_wrong "$1 needs a value; --help lists the options"
      case $1 in
        -i | --input) input=$2 ;;
        -o | --output) output=$2 pass+=("$1" "$2") ;;
        -f | --filter) filter=$2 pass+=("$1" "$2") ;;
        *) pass+=("$1" "$2") ;;
      esac
      shift ;;
    -*) cf_wrong "\"$1\" is not an option; --help lists them" ;;
    *)
      [ -z "$input" ] || cf_wrong "two inputs, \"$input\" and \"$1\"; the file to write is given as --output FILE"
      input=$1 ;;
  esac
  shift
done
allowed=0
case $input:$filter in
  *.json:*) watch=1 ;;
  *:?*) allowed=2 ;;
esac
[ "$watch" = 0 ] || [ ${#pass[@]} = $allowed ] ||
  cf_wrong "only INPUT and --filter go with --page, and nothing with FILE.json; --help lists the options"
[ -z "$input" ] || pass+=(--input "$input")

# Checked before anything is installed or built; cf-demo checks the rest.
case $input in
  '' | *://*) ;;
  *)
    [ -r "$input" ] ||
      cf_wrong "no readable file or camera \"$input\"; INPUT is a file, rtsp://... or /dev/videoN" ;;
esac
if [ "$diagnose$watch" = 00 ] && { [ -n "$output" ] || [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; }; then
  folder=$(dirname "${output:-.}")
  [ -d "$folder" ] && [ -w "$folder" ] ||
    cf_wrong "the folder \"$folder\", in which the video would be written, is not there or cannot be written;" \
      "--output FILE names a file elsewhere"
fi
case " ${pass[*]} " in
  *' --force '*) ;;
  *) [ ! -e "$output" ] || cf_wrong "\"$output\" exists already; --force replaces it" ;;
esac
build=$(cf_build_folder build-demo) || exit 1

needed () {
  cf_build_packages
  [ "$diagnose" = 1 ] || runtime_packages
  [ "$watch" = 0 ] || echo libsoup-3.0-0 libcrypt-dev libmosquitto-dev libsqlite3-dev
}
mapfile -t packages < <(needed | tr ' ' '\n')
cf_install "${packages[@]}" || exit 1
targets=(gst/libgstcudafilters.so pipelines/cf-demo pipelines/cf-diagnose)
headers=(gstreamer-video-1.0:libgstreamer-plugins-base1.0-dev)
if [ "$watch" = 1 ]; then
  targets=(gst/libgstcudafilters.so pipelines/watch/cf-watch)
  headers+=(libsoup-3.0:libsoup-3.0-dev)
fi
unpacked=$(cf_headers "$build" "${headers[@]}") || cf_install "${headers[@]#*:}" || exit 1
# With a GPU here: kernels for that one only, because kernels for all GPUs take minutes to
# compile. Without: for the oldest architecture, which the driver compiles for later ones.
# Of the CPU code for x86, what this machine would take.
isa=sse4_1
for name in avx2 avx512bw; do
  ! grep -qsw "$name" /proc/cpuinfo || isa=$name
done
cf_build "$build" --buildtype=release -Dtests=false "-Dcpu-isas=$isa" ${unpacked:+"-Dpkg_config_path=$unpacked"} \
  "-Dcuda-archs=$(cf_gpu_arch || echo 75)" -- "${targets[@]}" || exit 1

export GST_PLUGIN_PATH="$build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
[ "$diagnose" = 0 ] || exec "$build/pipelines/cf-diagnose"
program=$build/pipelines/watch/cf-watch
if [[ $input = *.json ]]; then
  # Ctrl-C is for cf-watch alone, which then finishes its files.
  "$program" "$input" | {
    trap '' INT
    while IFS= read -r line; do
      printf '%s\n' "$line"
      [[ $line != *'"type":"ready"'* ]] || cf_say "the page: $("$program" --page-link "$input")"
    done
  }
  exit "${PIPESTATUS[0]}"
fi
run=("$build/pipelines/cf-demo" "${pass[@]}")
[ "$watch" = 0 ] || run=("$program" --try "${input:-test}" ${filter:+"$filter"})
"${run[@]}"
status=$?
# 3: GStreamer has no demuxer or decoder for the input, which shows only now.
for pair in avdec_h264:gstreamer1.0-libav tsdemux:gstreamer1.0-plugins-bad; do
  [ $status = 3 ] || break
  mapfile -t packages < <(cf_element_packages "$pair")
  if [ ${#packages[@]} -gt 0 ]; then
    cf_install "${packages[@]}" || break
    "${run[@]}"
    status=$?
  fi
done
exit $status
