# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# lib.sh: functions that the scripts share; to be sourced. They find missing packages
# and install them on Debian and Ubuntu, build the project, and run pipelines.
#
#   CF_NO_INSTALL=1   never install: list missing packages and fail

CF_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

cf_say () { printf '%s\n' "$*" >&2; }
cf_die () { cf_say "$(basename "$0"): $*"; exit 1; }

# Returns whether nvcc is installed; the toolkit's folder is often not in PATH.
cf_have_nvcc () { command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ]; }

# Prints the packages that a build lacks. Checks for the tools themselves, not for the
# packages, so that tools from elsewhere (pip, /usr/local) count.
cf_build_packages () {
  command -v meson > /dev/null || echo meson
  command -v ninja > /dev/null || echo ninja-build
  command -v cc > /dev/null || echo gcc libc6-dev
  command -v pkg-config > /dev/null || echo pkg-config
  pkg-config --exists gstreamer-1.0 2> /dev/null || echo libgstreamer1.0-dev
  pkg-config --exists gstreamer-video-1.0 2> /dev/null || echo libgstreamer-plugins-base1.0-dev
  pkg-config --exists json-glib-1.0 2> /dev/null || echo libjson-glib-dev
  pkg-config --exists gdk-pixbuf-2.0 2> /dev/null || echo libgdk-pixbuf-2.0-dev
  pkg-config --exists lapacke 2> /dev/null || echo liblapacke-dev
  if cf_have_nvcc; then
    command -v c++ > /dev/null || echo g++
    pkg-config --exists gstreamer-cuda-1.0 2> /dev/null || echo libgstreamer-plugins-bad1.0-dev
  fi
}

# cf_element_packages ELEMENT:PACKAGE...: prints the packages of the elements that
# this GStreamer lacks.
cf_element_packages () {
  local pair
  command -v gst-inspect-1.0 > /dev/null || echo gstreamer1.0-tools
  for pair in "$@"; do
    gst-inspect-1.0 --exists "${pair%%:*}" > /dev/null 2>&1 || echo "${pair#*:}"
  done
}

# cf_install PACKAGES...: installs the packages that are missing by apt-get, with sudo
# unless it runs as root. Prints what it does. If it may not or cannot install, it
# prints the command line to type and fails.
cf_install () {
  local package missing=() as_root=() line log
  for package in "$@"; do
    case " ${missing[*]} " in *" $package "*) continue ;; esac
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0

  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  line="${as_root[*]:+${as_root[*]} }apt-get install --no-install-recommends ${missing[*]}"
  if [ "${CF_NO_INSTALL:-0}" != 0 ]; then
    cf_say "missing: ${missing[*]}
to install:  $line"
    return 1
  fi
  if ! command -v apt-get > /dev/null; then
    cf_say "missing: ${missing[*]} (Debian's names), and there is no apt-get here:
install the packages of your system and try again."
    return 1
  fi
  if [ ${#as_root[@]} -gt 0 ] && ! command -v sudo > /dev/null; then
    cf_say "missing: ${missing[*]}
There is no sudo here. As root, type:  ${line#sudo }"
    return 1
  fi

  cf_say "installing: ${missing[*]}"
  log=$(mktemp)
  # If the index cannot be updated, the present one may do.
  "${as_root[@]}" apt-get -q update > "$log" 2>&1 ||
    cf_say "apt-get update failed; trying with the package lists at hand"
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends \
      "${missing[@]}" >> "$log" 2>&1 < /dev/null; then
    tail -n 15 "$log" >&2
    rm -f "$log"
    cf_say "apt-get could not install: ${missing[*]}
Its messages are above. To try by hand:  $line"
    return 1
  fi
  rm -f "$log"
}

# cf_gpu_arch: prints the first GPU's compute capability, 90 for 9.0. Fails if there
# is no GPU or nvcc cannot compile for it.
cf_gpu_arch () {
  local cap nvcc
  cap=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | head -n 1 | tr -d '. ')
  nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  "$nvcc" --list-gpu-arch 2> /dev/null | grep -qx "compute_${cap:-none}" && echo "$cap"
}

# cf_build DIR SETUP-ARGUMENTS -- TARGETS...: configures DIR with meson unless it is
# a build directory, and builds the targets (none: everything).
cf_build () {
  local dir=$1 setup=() log version
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    setup+=("$1")
    shift
  done
  [ $# -eq 0 ] || shift

  if ! pkg-config --atleast-version=1.22 gstreamer-1.0; then
    version=$(pkg-config --modversion gstreamer-1.0 2> /dev/null)
    cf_say "GStreamer 1.22 or newer is needed (Debian 12, Ubuntu 24.04 or later); found: ${version:-none}."
    return 1
  fi
  mkdir -p "$dir" || return 1
  log=$dir/build.log
  if [ ! -f "$dir/build.ninja" ]; then
    cf_say "configuring $dir"
    if ! meson setup "${setup[@]}" "$dir" "$CF_ROOT" > "$log" 2>&1; then
      tail -n 20 "$log" >&2
      cf_say "meson could not configure $dir; its output is in $log"
      return 1
    fi
  fi
  cf_say "building in $dir"
  if ! ninja -C "$dir" "$@" > "$log" 2>&1; then
    grep -A 12 -m 3 -E '^FAILED|error:|^ninja: error' "$log" >&2 || tail -n 30 "$log" >&2
    cf_say "the build failed; its output is in $log. If $dir is an old one, remove it and try again."
    return 1
  fi
}

# cf_need_element NAME: ends the script with a message unless that element of this
# project is installed or built in $CF_ROOT/build.
cf_need_element () {
  [ ! -e "$CF_ROOT/build/gst" ] || export GST_PLUGIN_PATH="$CF_ROOT/build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
  command -v gst-launch-1.0 > /dev/null || cf_die "gst-launch-1.0 is missing; it comes with gstreamer1.0-tools"
  gst-inspect-1.0 "$1" > /dev/null 2>&1 || cf_die "$1 is not found; ./pipelines/demo.sh builds it"
}

# cf_launch ARGUMENTS...: prints the line of gst-launch-1.0 and executes it.
cf_launch () {
  printf 'gst-launch-1.0' >&2
  printf ' %q' "$@" >&2
  printf '\n' >&2
  exec gst-launch-1.0 "$@"
}

# cf_ends INPUT [OUT.mkv]: sets the array `source` to a file, a camera, a URI or
# "test", and the array `sink` to a video file, or without OUT.mkv to a window.
# shellcheck disable=SC2034 # the arrays are for the caller
cf_ends () {
  local tune=() sync=()
  case $1 in
    *://*)
      source=(uridecodebin "uri=$1" ! queue)
      case $1 in rtsp*) tune=(tune=zerolatency) ;; esac ;;
    test) source=(videotestsrc pattern=ball num-buffers=300 ! "video/x-raw,width=640,height=480,framerate=30/1") ;;
    /dev/*)
      [ -e "$1" ] || cf_die "no camera $1"
      source=(v4l2src "device=$1" ! decodebin)
      tune=(tune=zerolatency) sync=(sync=false) ;;
    *)
      [ -r "$1" ] || cf_die "no readable file \"$1\""
      source=(filesrc "location=$1" ! decodebin) ;;
  esac
  if [ -n "${2:-}" ]; then
    sink=(x264enc speed-preset=veryfast "${tune[@]}" ! matroskamux ! filesink "location=$2")
  else
    sink=(autovideosink "${sync[@]}")
  fi
}
