#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# effect.sh: everyday uses of the filters of this project. demo.sh builds what it runs.

set -u
# shellcheck source-path=SCRIPTDIR source=play.sh
. "$(dirname "$0")/play.sh"

usage () {
  cat << 'END'
usage: pipelines/effect.sh EFFECT FILE OUT.mkv        a video file with the effect
       pipelines/effect.sh EFFECT FILE                the same in a window
       pipelines/effect.sh EFFECT [/dev/video0]       a camera, in a window
       pipelines/effect.sh EFFECT rtsp://... OUT.mkv  a network camera, until Ctrl-C
       pipelines/effect.sh EFFECT test [OUT.mkv]      a test pattern
OUT may end in .mkv, .mp4, .webm or .avi. The same line for gst-launch-1.0 is printed
before it runs, to be copied and changed. FILTER='cudaconvolve preset=box kernel-size=31' in the environment replaces
the element line of any effect. restore.sh restores blurred video.

  --force        in front of all: replace OUT if it exists
  --list         print the effects and their element lines
  --version      print the version
  -h, --help     print this text

Effects:
END
  list
}

# The table of effects: calls `effect NAME SENTENCE ELEMENT [PROPERTY=VALUE...]` for each one.
table () {
  effect denoise 'Removes the noise of a camera at night, as strong as it is found.' \
    cudadenoise
  effect despeckle 'Removes speckles by a 5 x 5 median.' \
    cudamedian kernel-size=5
  effect despeckle-light 'Removes single noisy pixels by a 3 x 3 median.' \
    cudamedian kernel-size=3
  effect despeckle-temporal 'Removes what lasts one frame, rain or snow: a 3 x 3 median of three frames.' \
    cudamedian kernel-size=3 temporal-depth=3

  effect sharpen 'Sharpens by an unsharp mask, which leaves flat areas alone.' \
    cudaconvolve preset=unsharp kernel-size=7 amount=1.5
  effect crisp 'Sharpens hard by a 3 x 3 kernel.' \
    cudaconvolve preset=sharpen
  effect sharpen-fine 'Sharpens small details of the luma by a recursive filter.' \
    cudairfilter preset=sharpen sigma=1.2 amount=1.2 apply-to=luma
  effect clear 'Raises the local contrast: sharpens by a wide blur.' \
    cudairfilter preset=sharpen sigma=30 amount=0.6 apply-to=luma

  effect blur 'Blurs by a Gaussian of 21 x 21.' \
    cudaconvolve preset=gauss kernel-size=21
  effect blur-wide 'Blurs very wide and soft by a recursive filter.' \
    cudairfilter preset=soft sigma=40
  effect motion 'Blurs as a moving camera does.' \
    cudaconvolve preset=motion kernel-size=21 angle=30
  effect smear 'Smears to the right by a typed recursive filter.' \
    cudairfilter numerator=0.05 'denominator=0 0.95; 0 0' quadrants=se

  effect edges 'Shows the strength of edges (Sobel).' \
    cudaconvolve preset=sobel divisor=2
  effect lines 'Shows lines and spots on gray (Laplacian of a Gaussian).' \
    cudaconvolve preset=log kernel-size=9 divisor=0.1 bias=128 gray=luma
  effect relief 'Shows a gray relief, lit from the side.' \
    cudaconvolve preset=emboss angle=45 gray=luma
  effect flat 'Removes shadows and vignetting: shows on gray how each pixel differs from its surroundings.' \
    cudairfilter preset=highpass sigma=40 amount=1.5 apply-to=luma

  effect kernel "Convolves with KERNEL='0 -1 0; -1 5 -1; 0 -1 0' of the environment." \
    cudaconvolve "kernel=${KERNEL:-0 -1 0; -1 5 -1; 0 -1 0}"
  effect coefficients 'Filters by COEFFICIENTS=coefficients.json of the environment, a file as cf-identify writes it.' \
    cudairfilter "coefficients=${COEFFICIENTS:-coefficients.json}" apply-to=luma

  effect hide 'Hides ROI=left,top,width,height of the environment, in fractions of the frame: its middle.' \
    cudaconvolve preset=fill "roi=${ROI:-0.25,0.25,0.5,0.5}"
  effect hide-motion 'Hides whatever moves, and all of the first frame, for cameras that stand still.' \
    cudamedian temporal-method=running motion-meta=true '!' \
    cudaconvolve preset=fill roi-meta=true roi-type=motion roi-grow=10
  effect remove-motion 'Removes people live: shows what is behind whatever moves, for cameras that stand still.' \
    cudamedian temporal-method=running output=still

  effect regions 'Paints each region in its mean colour; the program cf-regions prints them as a table.' \
    cudasegment
  effect borders 'Draws the borders of regions into the video.' \
    cudasegment output=boundaries boundary-color=0xffffff00
  effect labels 'Paints each region in a colour that it keeps from frame to frame.' \
    cudasegment output=labels
  effect labels-large 'Paints the labels of thirty regions at most, large ones.' \
    cudasegment output=labels max-regions=30
  effect labels-per-frame 'Paints the labels of each frame by itself, to compare with labels.' \
    cudasegment output=labels temporal=0
}

# Prints the words of an element line, their values quoted where they have to be.
line () {
  local word text=()
  for word in "$@"; do
    case $word in *[[:space:]]*) word="${word%%=*}=$(cf_value "${word#*=}")" ;; esac
    text+=("$word")
  done
  echo "${text[*]}"
}

list () {
  effect () { printf '  %-16s  %s\n  %16s  %s\n' "$1" "$2" '' "$(line "${@:3}")"; }
  table
}

# Prints the element line of effect $1, nothing if there is no such effect.
find_effect () {
  local wanted=$1
  effect () { [ "$1" != "$wanted" ] || line "${@:3}"; }
  table
}

force=()
[ "${1:-}" != --force ] || { force=(--force); shift; }
case ${1:-} in
  -h | --help) usage; exit 0 ;;
  --list) list; exit 0 ;;
  --version) cf_version; exit 0 ;;
esac
if [ $# -lt 1 ] || [ $# -gt 3 ]; then
  usage >&2
  exit 2
fi
filter=$(find_effect "$1")
[ -n "$filter" ] || cf_wrong "no effect \"$1\"; --list prints the effects"
filter=${FILTER:-$filter}
# RGB, which a camera may send, has no luma.
case " $filter " in *" apply-to="*) filter="capsfilter caps=video/x-raw,format=I420 ! $filter" ;; esac
input=(--input "${2:-/dev/video0}")
[ "${2:-}" != test ] || input=(--noise 0)
cf_run "${force[@]}" --layout alone --filter "$filter" "${input[@]}" ${3:+--output "$3"}
