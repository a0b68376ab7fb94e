#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# restore.sh: restores blurred video by cudairfilter, with coefficients found by
# cf-identify or with a preset of the element. demo.sh builds what it runs.

set -u
# shellcheck source-path=SCRIPTDIR source=play.sh
. "$(dirname "$0")/play.sh"

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
Only the luma is restored: chroma has another resolution. OUT may end in .mkv, .mp4, .webm
or .avi. The same line for gst-launch-1.0 is printed before it runs, to be copied and changed.

  --force        in front of all: replace OUT if it exists
  --show         blur a sharp video by motion:9:0 first, and show both
  --version      print the version
  -h, --help     print this text
END
}

force=()
[ "${1:-}" != --force ] || { force=(--force); shift; }
case ${1:-} in
  -h | --help) usage; exit 0 ;;
  --version) cf_version; exit 0 ;;
esac
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  usage >&2
  exit 2
fi
blur=$1 layout=(--layout alone) luma='capsfilter caps=video/x-raw,format=I420'
if [ "$blur" = --show ]; then
  blur=motion:9:0 layout=(--layout beside --before "$luma ! cudaconvolve preset=motion kernel-size=9 apply-to=luma")
fi
IFS=: read -ra words <<< "$blur"
case $blur in
  gauss:* | motion:*)
    [[ $blur =~ ^(gauss:[0-9.]+|motion:[0-9]+(:-?[0-9.]+)?)$ ]] ||
      cf_wrong "\"$blur\" is no blur; right would be gauss:1.5 (sigma) or motion:9:0 (length and degrees)"
    filter="preset=deblur sigma=${words[1]}"
    [ "${words[0]}" = gauss ] || filter="preset=motion-deblur length=${words[1]} angle=${words[2]:-0}" ;;
  *)
    [ -r "$blur" ] || cf_wrong "no readable file \"$blur\"; --help lists the other kinds of BLUR"
    filter="coefficients=$(cf_value "$blur")" ;;
esac
cf_run "${force[@]}" "${layout[@]}" --filter "$luma ! cudairfilter $filter apply-to=luma" "${@:2}"
