# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# lib.sh: functions that the scripts share; to be sourced. They find missing packages
# and install them on Debian and Ubuntu, and build the project.
#
#   CF_NO_INSTALL=1   never install: list missing packages and fail

# shellcheck source-path=SCRIPTDIR source=play.sh
. "$(dirname "${BASH_SOURCE[0]}")/play.sh"

# Returns whether nvcc is installed; the toolkit's folder is often not in PATH.
cf_have_nvcc () { command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ]; }

# Prints the packages without which nothing can be built. Checks for the tools themselves, not for
# the packages, so that tools from elsewhere (pip, /usr/local) count.
cf_build_packages () {
  command -v meson > /dev/null || echo meson
  command -v ninja > /dev/null || echo ninja-build
  command -v cc > /dev/null || echo gcc libc6-dev
  command -v pkg-config > /dev/null || echo pkg-config
  pkg-config --exists gstreamer-1.0 2> /dev/null || echo libgstreamer1.0-dev
  pkg-config --exists json-glib-1.0 2> /dev/null || echo libjson-glib-dev
  if cf_have_nvcc; then
    command -v c++ > /dev/null || echo g++
    pkg-config --exists gstreamer-cuda-1.0 2> /dev/null || echo libgstreamer-plugins-bad1.0-dev
  fi
}

# Prints the packages of all parts that the build leaves out where they are missing.
cf_whole_build_packages () {
  cf_build_packages
  pkg-config --exists gstreamer-video-1.0 2> /dev/null || echo libgstreamer-plugins-base1.0-dev
  pkg-config --exists gdk-pixbuf-2.0 2> /dev/null || echo libgdk-pixbuf-2.0-dev
  pkg-config --exists sqlite3 2> /dev/null || echo libsqlite3-dev
}

# cf_headers DIR PC:PACKAGE...: makes the headers that pkg-config calls PC usable without installing their PACKAGE,
# which depends on Mesa and LLVM, on GTK 4 and a C++ compiler (260 and 500 MB in Debian 12): unpacks it in DIR. Its
# libraries have to be installed. Prints the folder for pkg-config, nothing where all headers are installed. Fails if
# it cannot; the packages have to be installed then.
cf_headers () {
  local dir=$1/headers pair package file lib=''
  for pair in "${@:2}"; do
    package=${pair#*:}
    ! pkg-config --exists "${pair%%:*}" 2> /dev/null || continue
    if [ ! -e "$dir/$package" ]; then
      [ "${CF_NO_INSTALL:-0}" = 0 ] || return 1
      mkdir -p "$dir" &&
        (cd "$dir" && apt-get -qq download "$package" && dpkg-deb -x "$package"_*.deb . && rm "$package"_*.deb) \
          > "$dir/log" 2>&1 || return 1
    fi
    lib=$(echo "$dir"/usr/lib/*/pkgconfig)
    sed -i "s|^prefix=.*|prefix=$dir/usr|; /^Requires.private/d" "$lib"/*.pc || return 1
    for file in "$lib"/../*.so; do # links to what the package of the library has
      ln -sf "/${lib#"$dir/"}/../$(basename "$(readlink "$file")")" "$file" || return 1
    done
    PKG_CONFIG_PATH=$lib pkg-config --exists "${pair%%:*}" && touch "$dir/$package" || return 1
  done
  echo "$lib"
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

# cf_progress LOG: appends its input to LOG, and of ninja's and apt's reports how much is done: on one line of a
# terminal, else at each fifth.
cf_progress () {
  local line text part shown=-1 kind='' last='' format='  %.76s\n'
  [ ! -t 2 ] || format='  %-76.76s\r'
  while IFS= read -r line; do
    if [[ $line =~ ^Waiting\ for\ cache\ lock.*process\ ([0-9]+\ [^\ ]*\)) ]]; then
      kind=lock part=0 text="waiting for process ${BASH_REMATCH[1]}, which installs packages"
    elif [[ $line =~ ^dlstatus:[^:]*:([0-9]+) ]]; then
      kind=download part=${BASH_REMATCH[1]} text="downloaded ${BASH_REMATCH[1]} %"
    elif [[ $line =~ ^pmstatus:[^:]*:([0-9]+) ]]; then
      kind=install part=${BASH_REMATCH[1]} text="installed ${BASH_REMATCH[1]} %"
    elif [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      kind=ninja part=$((100 * BASH_REMATCH[1] / BASH_REMATCH[2])) text="built ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
    else
      printf '%s\n' "$line" >&3
      continue
    fi
    [ "$kind" = "$last" ] || shown=-1
    last=$kind
    if [ -t 2 ] || [ $((part / 20)) -gt "$shown" ]; then
      # shellcheck disable=SC2059
      printf "$format" "$text" >&2
    fi
    shown=$((part / 20))
  done 3>> "$1"
  [ ! -t 2 ] || printf '%78s\r' '' >&2
}

# cf_install PACKAGES...: installs the packages that are missing by apt-get, with sudo
# unless it runs as root. Says what, and how large it is, before it begins. If it may not
# or cannot install, it prints the command line to type and fails.
cf_install () {
  local package missing=() as_root=() line log apt status
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

  cf_say "to install: ${missing[*]}"
  log=$(mktemp)
  # Waits for another apt to end, ten minutes at most.
  apt=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0)
  # If the index cannot be updated, the present one may do.
  "${as_root[@]}" "${apt[@]}" update > "$log" 2>&1 ||
    cf_say "apt-get update failed; trying with the package lists at hand"
  apt+=(install --no-install-recommends)
  # Without a lock and as any user: only the sizes. With -y it would install, whatever --assume-no says.
  "${apt[@]}" --assume-no -o Debug::NoLocking=1 "${missing[@]}" 2> /dev/null |
    sed -nE 's/^.* ([0-9]+) newly installed.*/  \1 packages/p; s/^Need to get (.*) of archives.*/  \1 to download/p
      s/^After this operation, (.*) of additional.*/  \1 on the disk/p' >&2
  # The status has a pipe of its own: in one with the output, that of a package's script can fail and so the package.
  # sudo closes all but the first three.
  "${as_root[@]}" sh -c 'exec "$@" 3>&2 2>&1' sh "${apt[@]}" -y -o APT::Status-Fd=3 "${missing[@]}" \
    < /dev/null 2> >(cf_progress "$log") | cf_progress "$log"
  status=${PIPESTATUS[0]}
  if [ "$status" -ne 0 ]; then
    tail -n 15 "$log" >&2
    cf_say "apt-get could not install: ${missing[*]}
Its messages are above. To try by hand:  $line"
  fi
  rm -f "$log"
  return "$status"
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
# a build directory, again where packages have come since, which meson does not see, and
# builds the targets (none: everything).
cf_build () {
  local dir=$1 setup=() log version again=()
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
  log=$dir/build.log
  mkdir -p "$dir" && exec 9> "$dir/lock" || return 1
  flock -n 9 || { cf_say "another program builds in $dir; waiting until it ends"; flock 9; }
  [ ! -f "$dir/build.ninja" ] || again=(--reconfigure)
  if [ ${#again[@]} = 0 ] || [ /var/lib/dpkg/status -nt "$dir/build.ninja" ]; then
    cf_say "configuring $dir"
    if ! meson setup "${again[@]}" "${setup[@]}" "$dir" "$CF_ROOT" > "$log" 2>&1; then
      tail -n 20 "$log" >&2
      cf_say "meson could not configure $dir; its output is in $log"
      return 1
    fi
  fi
  cf_say "building in $dir"
  : > "$log"
  ninja -C "$dir" "$@" 2>&1 | cf_progress "$log"
  if [ "${PIPESTATUS[0]}" -ne 0 ]; then
    grep -A 12 -m 3 -E '^FAILED|error:|^ninja: error' "$log" >&2 || tail -n 30 "$log" >&2
    cf_say "the build failed; its output is in $log. If $dir is an old one, remove it and try again."
    return 1
  fi
  exec 9>&-
}

# cf_build_folder NAME: prints the folder to build in, $CF_BUILD or NAME in this tree, and makes it. Ends the script
# where it cannot be written.
cf_build_folder () {
  local dir=${CF_BUILD:-$CF_ROOT/$1}
  mkdir -p "$dir" 2> /dev/null && [ -w "$dir" ] ||
    cf_die "the folder \"$dir\", in which the project is built, cannot be written; another one:  CF_BUILD=~/cf-build $0"
  (cd "$dir" && pwd)
}
