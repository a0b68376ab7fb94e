#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# median.sh: cudamedian in three everyday pipelines. Each is one gst-launch line,
# printed before it runs, to be copied and changed. demo.sh builds the plugin.

set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

usage () {
  cat << 'END'
usage: pipelines/median.sh denoise FILE OUT.mkv     a surveillance clip without its speckles
       pipelines/median.sh camera [/dev/video0]     a camera, cleaned, in a window
       pipelines/median.sh record rtsp://... OUT.mkv  a network camera at night, cleaned, until Ctrl-C
FILTER='cudamedian kernel-size=7' in the environment takes another filter line.
END
}

cf_need_element cudamedian

case ${1:-}${#} in
  denoise3)
    [ -r "$2" ] || cf_die "no file \"$2\" that can be read"
    read -ra filter <<< "${FILTER:-cudamedian kernel-size=5}"
    cf_launch -e filesrc "location=$2" ! decodebin ! videoconvert ! "${filter[@]}" ! videoconvert \
      ! x264enc speed-preset=veryfast ! matroskamux ! filesink "location=$3" ;;
  camera1 | camera2)
    [ -e "${2:-/dev/video0}" ] || cf_die "no camera ${2:-/dev/video0}"
    read -ra filter <<< "${FILTER:-cudamedian kernel-size=3}"
    cf_launch v4l2src "device=${2:-/dev/video0}" ! decodebin ! videoconvert ! "${filter[@]}" ! videoconvert \
      ! autovideosink sync=false ;;
  record3)
    # Three frames of three by three: noise that moves goes, what stays for two frames stays.
    read -ra filter <<< "${FILTER:-cudamedian kernel-size=3 temporal-depth=3}"
    cf_launch -e uridecodebin "uri=$2" ! queue ! videoconvert ! "${filter[@]}" ! videoconvert \
      ! x264enc speed-preset=veryfast tune=zerolatency ! matroskamux ! filesink "location=$3" ;;
  --help1 | -h1) usage ;;
  *) usage >&2; exit 2 ;;
esac
