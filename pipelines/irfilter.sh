#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# irfilter.sh: cudairfilter in everyday pipelines. Each is one gst-launch line,
# printed before it runs, to be copied and changed. demo.sh builds the plugin.

set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

usage () {
  cat << 'END'
usage: pipelines/irfilter.sh EFFECT FILE OUT.mkv        a film with the effect on it
       pipelines/irfilter.sh EFFECT FILE                the same in a window
       pipelines/irfilter.sh EFFECT [/dev/video0]       a camera, in a window
       pipelines/irfilter.sh EFFECT rtsp://... OUT.mkv  a network camera, until Ctrl-C
       pipelines/irfilter.sh EFFECT test [OUT.mkv]      a test picture
EFFECT is one of
  blur      a very wide, soft blur
  flat      shadows and vignetting away: what differs from its surroundings, about gray
  clear     more contrast where it is near (sharpening by a wide blur)
  sharpen   sharpening of small things
  smear     drawn out to the right, as the filter is typed
  filter    whatever COEFFICIENTS=coefficients.json in the environment names
restore.sh undoes blurs. FILTER='cudairfilter sigma=100' in the environment takes another filter line.
END
}

# Prints the words of the effect's element line, one a line.
effect () {
  case $1 in
    blur) printf '%s\n' cudairfilter preset=soft sigma=40 ;;
    flat) printf '%s\n' cudairfilter preset=highpass sigma=40 amount=1.5 apply-to=luma ;;
    clear) printf '%s\n' cudairfilter preset=sharpen sigma=30 amount=0.6 apply-to=luma ;;
    sharpen) printf '%s\n' cudairfilter preset=sharpen sigma=1.2 amount=1.2 apply-to=luma ;;
    smear) printf '%s\n' cudairfilter numerator=0.05 'denominator=0 0.95; 0 0' quadrants=se ;;
    filter) printf '%s\n' cudairfilter "coefficients=${COEFFICIENTS:-coefficients.json}" apply-to=luma ;;
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
