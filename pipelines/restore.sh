#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# restore.sh: a blurred film made sharper by cudairfilter, with what cf-identify
# found or with one of the element's own filters. One gst-launch line, printed
# before it runs, to be copied and changed. demo.sh builds the plugin.

set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

usage () {
  cat << 'END'
usage: pipelines/restore.sh HOW FILE [OUT.mkv]           a film; without OUT.mkv in a window
       pipelines/restore.sh HOW /dev/video0 [OUT.mkv]    a camera
       pipelines/restore.sh HOW rtsp://... [OUT.mkv]     a network camera, until Ctrl-C
       pipelines/restore.sh --show FILE [OUT.mkv]        a sharp film, blurred first, then left blurred, right restored
HOW is one of
  coefficients.json   what cf-identify wrote
  gauss:1.5           a round blur, as of a lens out of focus (sigma 0.5 to 3)
  motion:9:0          a camera that moved: length 3 to 15, degrees 0, 45, 90 or 135
Brightness is restored, colour left as it is: it has another resolution.
END
}

# Prints the words of the element line, one a line.
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
show=0 how=$1
[ "$how" != --show ] || { show=1 how=motion:9:0; }
case $how in
  gauss:* | motion:*) ;;
  *) [ -r "$how" ] || cf_die "no file \"$how\" that can be read; --help tells what else it can be" ;;
esac
mapfile -t filter < <(element "$how")
cf_need_element cudairfilter

cf_ends "$2" "${3:-}"
source+=(! videoconvert ! "video/x-raw,format=I420")
if [ "$show" = 1 ]; then
  blur=(cudaconvolve preset=motion kernel-size=9 angle=0 apply-to=luma)
  # At a known width, so that the second picture can be placed beside the first.
  cf_launch -e "${source[@]}" ! videoscale ! "video/x-raw,width=640,height=480" ! "${blur[@]}" ! tee name=t \
    t. ! queue ! box.sink_0 \
    t. ! queue ! "${filter[@]}" ! box.sink_1 \
    compositor name=box sink_1::xpos=640 ! videoconvert ! "${sink[@]}"
fi
cf_launch -e "${source[@]}" ! "${filter[@]}" ! videoconvert ! "${sink[@]}"
