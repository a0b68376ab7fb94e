#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# clean.sh [FOLDER]: a newcomer's way, in a Debian 12 with nothing in it: the demo, cameras by the demo, and then what
# README.md says under "Build and install", word for word, in the same tree. With FOLDER, where deb.sh has left its
# packages, these as well, in a root of their own. Prints for each step the seconds, the seconds of processor time, and
# megabytes (downloaded packages, and all on the disk). Ends with `N passed, N failed, N skipped`; 77: not root, or no
# debootstrap. For once a week: it takes some minutes and a network.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
source=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "for root, which chroot needs"; echo "0 passed, 0 failed, 1 skipped"; exit 77; }
need debootstrap:debootstrap
export TMPDIR=/var/tmp
begin ""
root=$work/root
trap 'umount "$work"/*/proc 2> /dev/null; rm -rf --one-file-system "$work"' EXIT

# megabytes FOLDER
megabytes () { du -smx --exclude "$root/proc" "$1" 2> /dev/null | cut -f 1; }

# step WHAT COMMAND: runs it in the root, in the tree, as a newcomer would type it.
step () {
  local TIMEFORMAT='%R %U %S' archives=$root/var/cache/apt/archives before cached times
  before=$(megabytes "$root") cached=$(megabytes "$archives")
  {
    time chroot "$root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      LC_ALL=C.UTF-8 bash -ec "cd ~/gst-cuda-filters; $2" > "$work/log" 2>&1 < /dev/null
  } 2> "$work/times"
  result $? "$1" "$work/log"
  read -ra times < "$work/times"
  cached=$(($(megabytes "$archives") - cached))
  printf '%-40s %6.1f s, %6.1f s of processor, %4d MB downloaded, %5d MB on the disk\n' "$1" "${times[0]}" \
    "$(bc <<< "${times[1]} + ${times[2]}")" "$cached" "$(($(megabytes "$root") - before - cached))"
}

# Prints the commands below a heading of a page that begin with one of these words, `false` if there is none.
lines_of () { # PAGE HEADING PATTERN
  sed -n "/^##* $2\$/,/^##* /{/^    /p}" "$source/$1" | sed -e ':a' -e '/\\$/{N;s/\\\n//;ba}' |
    grep -E "^ *($3)" || echo false
}

# Makes a root with the tree in it, and with a sudo that a minimal Debian lacks.
new_root () {
  ! mountpoint -q "$root/proc" || umount "$root/proc"
  rm -rf --one-file-system "$root"
  cp -a "$work/base" "$root" && mount -t proc proc "$root/proc" &&
    copy_tree "$source" "$root/root/gst-cuda-filters" &&
    printf '#!/bin/sh\nexec "$@"\n' > "$root/usr/local/bin/sudo" && chmod 755 "$root/usr/local/bin/sudo"
}

uptime
debootstrap --variant=minbase bookworm "$work/base" http://deb.debian.org/debian > "$work/log" 2>&1 &&
  cp /etc/resolv.conf "$work/base/etc" && chroot "$work/base" apt-get -qq update > "$work/log" 2>&1 && new_root
result $? "debootstrap" "$work/log"
[ "$failed" = 0 ] || end

step "demo.sh" './pipelines/demo.sh; [ -s cudafilters-demo.webm ]'
# shellcheck disable=SC2016 # for the bash of the root
step "demo.sh FILE.json, to the first picture" 'mkdir ~/cameras; cp pipelines/examples/watch.json ~/cameras
  coproc ./pipelines/demo.sh ~/cameras/watch.json
  while read -r line; do
    echo "$line"
    case $line in
      *door*started*) echo "snapshot door /root/door.jpg" ;;
      *ok*true*file*) echo quit ;;
    esac >&"${COPROC[1]}"
  done <&"${COPROC[0]}"
  [ -s ~/door.jpg ]'
# As a demo.sh left it that built there: before the packages are installed, and by the headers that it had unpacked.
# shellcheck disable=SC2016 # for the bash of the root
step "an old build folder" 'meson setup build --buildtype=release -Dtests=false -Dcuda-archs=75 \
  -Dpkg_config_path=$(echo ~+/build-demo/headers/usr/lib/*/pkgconfig)'
step "README: packages" "export DEBIAN_FRONTEND=noninteractive
  $(lines_of README.md 'Build and install' 'sudo apt-get' | sed 's/install /&-y /')"
step "README: build and install" "$(lines_of README.md 'Build and install' 'meson')"
installed="gst-inspect-1.0 cudamedian; cf-watch --check ~/cameras/watch.json
  cf-effect --list; cf-bench --help; cf-regions --help"
step "gst-inspect-1.0, cf-watch --check" "$(lines_of README.md 'Build and install' 'export')
  $installed"

if [ -n "${1:-}" ]; then
  new_root
  mkdir -p "$root/root/debs/packages" "$root/root/cameras" && cp "$1"/*.deb "$root/root/debs" &&
    cp "$source/pipelines/examples/watch.json" "$root/root/cameras"
  result $? "the packages are in $1"
  step "the packages" "export DEBIAN_FRONTEND=noninteractive; cd ~/debs/packages
    $(lines_of docs/using.md 'Debian packages' 'sudo apt-get install' | sed 's/install /&-y /')"
  step "gst-inspect-1.0, cf-watch --check" "$installed; python3 -c 'import cudafilters'"
else
  skip "the packages: no FOLDER"
fi
uptime
end
