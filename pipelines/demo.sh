#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# demo.sh: from a fresh Debian 12 or Ubuntu 24.04 to video running through a
# filter. Installs what is missing, builds, runs; --help says the rest.

set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

usage () {
  cat << END
usage: pipelines/demo.sh [options]

Video through a filter, the original beside the filtered picture: in a window
where there is a display, else into a file with a PNG of one frame beside it.
Without --input: a moving test picture with salt-and-pepper noise. The last
line says backend, frames and frames/s. Ctrl-C ends; the file stays playable.

  -i, --input INPUT   a video file, rtsp://..., or a camera: /dev/video0
  -f, --filter LINE   any element line ('cudamedian kernel-size=5')
  -o, --output FILE   write this .mp4, .mkv or .avi and show no window
                      (without a display: cudafilters-demo.mp4, here)
  -n, --frames N      end after N frames
      --noise PERCENT salt and pepper on so many of the pixels (5 without
                      --input, else 0)
      --diagnose      what is found on this machine and what would be used
      --no-install    never call apt-get; say what is missing
  -h, --help          this

Missing packages are installed with apt-get (with sudo where you are not root).
The build goes to $CF_ROOT/build; CUDA kernels are in it where nvcc is found.
END
}

# What to install so that this input can be read and the result be shown or written.
runtime_packages () {
  local elements=(videotestsrc:gstreamer1.0-plugins-base compositor:gstreamer1.0-plugins-base
    pngenc:gstreamer1.0-plugins-good mp4mux:gstreamer1.0-plugins-good)
  if [ -n "$input" ]; then
    # Demuxers and parsers; H.264, MPEG-4 and the rest of the decoders.
    elements+=(rtspsrc:gstreamer1.0-plugins-good h264parse:gstreamer1.0-plugins-bad avdec_h264:gstreamer1.0-libav)
  fi
  if [ -e /proc/driver/nvidia/version ]; then
    elements+=(h264parse:gstreamer1.0-plugins-bad) # nvcodec is in there
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
    --input=* | --output=* | --filter=* | --frames=* | --noise=*)
      case $1 in
        --input=*) input=${1#*=} ;;
        --output=*) output=${1#*=} ;;
      esac
      pass+=("$1") ;;
    *)
      [ ! -e "$1" ] || cf_die "\"$1\" is not an option; a file is given as --input FILE"
      cf_die "\"$1\" is not an option; --help lists them" ;;
  esac
  shift
done

# Said before anything is installed or built.
case $input in
  '' | *://*) ;;
  *) [ -e "$input" ] || cf_die "no file or camera \"$input\"; --input takes a video file, rtsp://... or /dev/videoN" ;;
esac

mapfile -t packages < <(cf_build_packages | tr ' ' '\n'; [ "$diagnose" = 1 ] || runtime_packages)
cf_install "${packages[@]}" || exit 1
# For the GPU at hand only, where there is one: kernels for all take minutes.
# Without a GPU: for the oldest one, whose kernels the driver of any later one can take.
cf_build "$CF_ROOT/build" --buildtype=release "-Dcuda-archs=$(cf_gpu_arch || echo 75)" -- \
  gst/libgstcudafilters.so pipelines/cf-demo pipelines/cf-diagnose || exit 1

export GST_PLUGIN_PATH="$CF_ROOT/build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
if [ "$diagnose" = 1 ]; then
  exec "$CF_ROOT/build/pipelines/cf-diagnose"
fi
exec "$CF_ROOT/build/pipelines/cf-demo" "${pass[@]}"
