#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# demo.sh: runs video through a filter, starting from a fresh Debian 12 or Ubuntu
# 24.04: installs missing packages, builds and runs. --help explains the options.

set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

usage () {
  cat << END
usage: pipelines/demo.sh [options]

Runs video through a filter and shows the original beside the filtered frame: in
a window if there is a display, else in a file with a PNG of one frame beside it.
Without --input: a moving test pattern with salt-and-pepper noise. The last line
is backend, frames and frames/s. Ctrl-C ends; the file stays playable.

  -i, --input INPUT   a video file, rtsp://..., or a camera: /dev/video0
  -f, --filter LINE   any element line ('cudamedian kernel-size=5')
  -o, --output FILE   write this .mp4, .mkv or .avi and show no window
                      (without a display: cudafilters-demo.mp4 in this folder)
  -n, --frames N      end after N frames
      --noise PERCENT pixels with salt-and-pepper noise (5 without --input,
                      else 0)
      --diagnose      print what is found on this machine and which backend
                      would be used
      --no-install    never call apt-get; list missing packages instead
  -h, --help          print this text

Missing packages are installed with apt-get (with sudo unless you are root). The
build goes to $CF_ROOT/build; it has CUDA kernels if nvcc is found.
END
}

# Prints the packages that are missing to read this input and to show or write the result.
runtime_packages () {
  local elements=(videotestsrc:gstreamer1.0-plugins-base compositor:gstreamer1.0-plugins-base
    pngenc:gstreamer1.0-plugins-good mp4mux:gstreamer1.0-plugins-good)
  if [ -n "$input" ]; then
    # Demuxers and parsers; H.264, MPEG-4 and the rest of the decoders.
    elements+=(rtspsrc:gstreamer1.0-plugins-good h264parse:gstreamer1.0-plugins-bad avdec_h264:gstreamer1.0-libav)
  fi
  if [ -e /proc/driver/nvidia/version ]; then
    elements+=(h264parse:gstreamer1.0-plugins-bad) # the package includes nvcodec
  fi
  if [ -z "$output" ] && [ -n "${DISPLAY:-}" ]; then
    elements+=(ximagesink:gstreamer1.0-x)
  fi
  if [ -z "$output" ] && [ -n "${WAYLAND_DISPLAY:-}" ]; then
    elements+=(waylandsink:gstreamer1.0-plugins-bad)
  fi
  if [ -n "$output" ] || [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    elements+=(x264enc:gstreamer1.0-plugins-ugly)
  fi
  cf_element_packages "${elements[@]}"
}

diagnose=0 input='' output='' pass=()
while [ $# -gt 0 ]; do
  case $1 in --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;; esac
  case $1 in
    -h | --help) usage; exit 0 ;;
    --diagnose) diagnose=1 ;;
    --no-install) export CF_NO_INSTALL=1 ;;
    -i | --input | -o | --output | -f | --filter | -n | --frames | --noise)
      [ $# -gt 1 ] || cf_die "$1 needs a value; --help lists the options"
      case $1 in
        -i | --input) input=$2 ;;
        -o | --output) output=$2 ;;
      esac
      pass+=("$1" "$2")
      shift ;;
    *)
      [ ! -e "$1" ] || cf_die "\"$1\" is not an option; a file is given as --input FILE"
      cf_die "\"$1\" is not an option; --help lists them" ;;
  esac
  shift
done

# Checked before anything is installed or built.
case $input in
  '' | *://*) ;;
  *) [ -e "$input" ] || cf_die "no file or camera \"$input\"; --input takes a video file, rtsp://... or /dev/videoN" ;;
esac

mapfile -t packages < <(cf_build_packages | tr ' ' '\n'; [ "$diagnose" = 1 ] || runtime_packages)
cf_install "${packages[@]}" || exit 1
# With a GPU here: kernels for that one only, because kernels for all GPUs take minutes to
# compile. Without: for the oldest architecture, which the driver compiles for later ones.
cf_build "$CF_ROOT/build" --buildtype=release "-Dcuda-archs=$(cf_gpu_arch || echo 75)" -- \
  gst/libgstcudafilters.so pipelines/cf-demo pipelines/cf-diagnose || exit 1

export GST_PLUGIN_PATH="$CF_ROOT/build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
if [ "$diagnose" = 1 ]; then
  exec "$CF_ROOT/build/pipelines/cf-diagnose"
fi
exec "$CF_ROOT/build/pipelines/cf-demo" "${pass[@]}"
