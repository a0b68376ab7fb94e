#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# convolve.sh: cudaconvolve in everyday pipelines. Each is one gst-launch line,
# printed before it runs, to be copied and changed. demo.sh builds the plugin.

set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

usage () {
  cat << 'END'
usage: pipelines/convolve.sh EFFECT FILE OUT.mkv        a film with the effect on it
       pipelines/convolve.sh EFFECT FILE                the same in a window
       pipelines/convolve.sh EFFECT [/dev/video0]       a camera, in a window
       pipelines/convolve.sh EFFECT rtsp://... OUT.mkv  a network camera, until Ctrl-C
       pipelines/convolve.sh EFFECT test [OUT.mkv]      a test picture
EFFECT is one of
  sharpen   an unsharp mask, which leaves flat areas alone
  crisp     the hard 3 x 3 sharpening
  blur      a wide Gaussian
  edges     the strength of the edges (Sobel)
  lines     lines and spots, about gray (Laplacian of a Gaussian)
  relief    gray, lit from the side
  motion    blurred as by a moving camera
  kernel    whatever KERNEL='0 -1 0; -1 5 -1; 0 -1 0' in the environment says
FILTER='cudaconvolve preset=box kernel-size=31' in the environment takes another filter line.
END
}

# Prints the words of the effect's element line, one a line.
effect () {
  case $1 in
    sharpen) printf '%s\n' cudaconvolve preset=unsharp kernel-size=7 amount=1.5 ;;
    crisp) printf '%s\n' cudaconvolve preset=sharpen ;;
    blur) printf '%s\n' cudaconvolve preset=gauss kernel-size=21 ;;
    edges) printf '%s\n' cudaconvolve preset=sobel divisor=2 ;;
    lines) printf '%s\n' cudaconvolve preset=log kernel-size=9 divisor=0.1 bias=128 gray=luma ;;
    relief) printf '%s\n' cudaconvolve preset=emboss angle=45 gray=luma ;;
    motion) printf '%s\n' cudaconvolve preset=motion kernel-size=21 angle=30 ;;
    kernel) printf '%s\n' cudaconvolve "kernel=${KERNEL:-0 -1 0; -1 5 -1; 0 -1 0}" ;;
    *) return 1 ;;
  esac
}

case ${1:-} in -h | --help) usage; exit 0 ;; esac
if [ $# -lt 1 ] || [ $# -gt 3 ] || ! words=$(effect "$1"); then
  usage >&2
  exit 2
fi
mapfile -t filter <<< "$words"
cf_effect "${filter[@]}" -- "${@:2}"
