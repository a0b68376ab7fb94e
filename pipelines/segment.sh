#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# segment.sh: cudasegment in everyday pipelines. Each is one gst-launch line,
# printed before it runs, to be copied and changed. demo.sh builds the plugin.

set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

usage () {
  cat << 'END'
usage: pipelines/segment.sh OUTPUT FILE OUT.mkv        a film, divided into regions
       pipelines/segment.sh OUTPUT FILE                the same in a window
       pipelines/segment.sh OUTPUT [/dev/video0]       a camera, in a window
       pipelines/segment.sh OUTPUT rtsp://... OUT.mkv  a network camera, until Ctrl-C
       pipelines/segment.sh OUTPUT test [OUT.mkv]      a test picture
OUTPUT is one of
  mean      each region in its mean colour
  borders   the picture, with the regions' borders drawn in
  labels    a colour a region, which it keeps as long as it is there
  large     the same with thirty regions at most, large ones
  afresh    labels of each frame for itself: what following the regions is good for
  print     borders, and once a second the list of the regions in the terminal
FILTER='cudasegment output=mean max-regions=20' in the environment takes another filter line.
END
}

# Prints the words of the output's element line, one a line.
effect () {
  case $1 in
    mean) printf '%s\n' cudasegment ;;
    borders) printf '%s\n' cudasegment output=boundaries boundary-color=0xffffff00 ;;
    labels) printf '%s\n' cudasegment output=labels ;;
    large) printf '%s\n' cudasegment output=labels max-regions=30 ;;
    afresh) printf '%s\n' cudasegment output=labels temporal=0 ;;
    print) printf '%s\n' cudasegment output=boundaries boundary-color=0xffffff00 message-interval=1000 ;;
    *) return 1 ;;
  esac
}

case ${1:-} in -h | --help) usage; exit 0 ;; esac
if [ $# -lt 1 ] || [ $# -gt 3 ] || ! words=$(effect "$1"); then
  usage >&2
  exit 2
fi
mapfile -t filter <<< "$words"
[ "$1" != print ] || cf_launch_options=(--messages) # the regions are told in one
cf_effect "${filter[@]}" -- "${@:2}"
