#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# restore.sh: restores blurred video by cudairfilter, with coefficients found by
# cf-identify or with a preset of the element. It is one line of gst-launch-1.0,
# which is printed before it runs, to be copied and changed. demo.sh builds the plugin.

set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

usage () {
  cat << 'END'
usage: pipelines/restore.sh BLUR FILE [OUT.mkv]          a video file; without OUT.mkv in a window
       pipelines/restore.sh BLUR /dev/video0 [OUT.mkv]   a camera
       pipelines/restore.sh BLUR rtsp://... [OUT.mkv]    a network camera, until Ctrl-C
       pipelines/restore.sh --show FILE [OUT.mkv]        blurs a sharp video: left blurred, right restored
BLUR is one of
  coefficients.json   a file written by cf-identify
  gauss:1.5           a round blur, as of a lens out of focus (sigma 0.5 to 3)
  motion:9:0          a camera that moved: length 3 to 15, degrees 0, 45, 90 or 135
Only the luma is restored: chroma has another resolution.
END
}

# Prints the words of the element line, one per line.
element () {
  local words
  IFS=: read -ra words <<< "$1"
  case $1 in
    gauss:*) printf '%s\n' cudairfilter preset=deblur "sigma=${words[1]}" ;;
    motion:*) printf '%s\n' cudairfilter preset=motion-deblur "length=${words[1]}" "angle=${words[2]:-0}" ;;
    *) printf '%s\n' cudairfilter "coefficients=$1" ;;
  esac
  echo apply-to=luma
}

case ${1:-} in -h | --help) usage; exit 0 ;; esac
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  usage >&2
  exit 2
fi
show=0 blur=$1
[ "$blur" != --show ] || { show=1 blur=motion:9:0; }
case $blur in
  gauss:* | motion:*) ;;
  *) [ -r "$blur" ] || cf_die "no readable file \"$blur\"; --help lists the other kinds of BLUR" ;;
esac
mapfile -t filter < <(element "$blur")
cf_need_element cudairfilter

cf_ends "$2" "${3:-}"
source+=(! videoconvert ! "video/x-raw,format=I420")
if [ "$show" = 1 ]; then
  # Scaled to a known width, which is the position of the second frame.
  cf_launch -e "${source[@]}" ! videoscale ! "video/x-raw,width=640,height=480" ! \
    cudaconvolve preset=motion kernel-size=9 angle=0 apply-to=luma ! tee name=t \
    t. ! queue ! box.sink_0 \
    t. ! queue ! "${filter[@]}" ! box.sink_1 \
    compositor name=box sink_1::xpos=640 ! videoconvert ! "${sink[@]}"
fi
cf_launch -e "${source[@]}" ! "${filter[@]}" ! videoconvert ! "${sink[@]}"
