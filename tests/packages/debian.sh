#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# debian.sh [SUITE [COMMAND...]]: runs a command, .ci/run unless another is given, in a root of another Debian (trixie,
# which is Debian 13) with nothing in it but what debootstrap takes and the command itself installs, on a clone of
# this tree's last commit. The status and the last line are the command's. Needs root, for chroot, and debootstrap.
# For a run each week: an hour of two cores, 6 GB under CF_ROOTS.
#
#   tests/packages/debian.sh                                  # all that CI runs, on Debian 13
#   tests/packages/debian.sh sid ./tests/run.sh --quick       # on GStreamer's latest version
#
#   CF_ROOTS       where the roots are kept (/var/tmp); the packages stay there, the clone is made anew
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
suite=${1:-trixie}
shift
[ $# -gt 0 ] || set -- bash .ci/run
root=${CF_ROOTS:-/var/tmp}/cf-debian-$suite

fail () {
  echo "debian.sh: $1"
  echo "0 passed, 1 failed, 0 skipped"
  exit 1
}

[ "$(id -u)" -eq 0 ] || fail "only root can change to another root: sudo $0"
command -v debootstrap > /dev/null || fail "debootstrap is missing: apt-get install debootstrap"
mirror=$(sed -nE 's/^(URIs:|deb( \[[^]]*\])?) *(https?:[^ ]*debian\/?)( .*)?$/\3/p' /etc/apt/sources.list \
  /etc/apt/sources.list.d/* 2> /dev/null | grep -v security | head -n 1)

if [ ! -e "$root/complete" ]; then
  rm -rf "$root"
  # The mirror may have a certificate of its own, and pip and apt a proxy.
  debootstrap --variant=minbase --include=ca-certificates,git "$suite" "$root" \
    "${mirror:-http://deb.debian.org/debian}" > "$root.log" 2>&1 || fail "debootstrap has failed: $root.log"
  echo 'Binary::apt-get::APT::Keep-Downloaded-Packages "false";' > "$root/etc/apt/apt.conf.d/cudafilters"
  touch "$root/complete"
fi
[ ! -s /etc/ssl/certs/ca-certificates.crt ] || cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
rm -rf "$root/src"
git clone -q --no-hardlinks "$top" "$root/src" || fail "$top cannot be cloned"

# Mounts and processes are the command's own, and end with it.
# shellcheck disable=SC2016 # the words of the inner shells
exec unshare --mount --pid --fork --kill-child sh -c '
  root=$1 && shift
  mount --make-rprivate / && mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" &&
    mount --rbind /dev "$root/dev" && mount -t tmpfs -o mode=1777 shm "$root/dev/shm" || exit 1
  exec chroot "$root" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin CI=true \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_BREAK_SYSTEM_PACKAGES=1 \
    sh -c "cd /src && exec \"\$@\"" sh "$@"' sh "$root" "$@"
