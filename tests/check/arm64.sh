#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# arm64.sh: kernelcheck as gcc builds it for aarch64, under qemu, one in 100 of the quick cases. tests/run.sh names the
# build in CF_ARM64.
#
#   arm64.sh --root DIR   prepares such a build: unpacks the libraries of Debian's arm64 that it needs in DIR (7 MB to
#                         download; neither root nor dpkg is needed) and writes meson's DIR/cross.ini. Fails with a
#                         sentence where it cannot.
set -u
# What a build without GPU includes and links, and what that loads; t64: the same in Debian 13.
packages='^(libjson-glib-(dev|1.0-0)|libglib2.0-(dev|0(t64)?)|libgio-2.0-dev|libpcre2-8-0|libffi8|zlib1g)$
  ^(libmount1|libblkid1|libselinux1|libgstreamer(-plugins-base)?1.0-(dev|0)|liborc-0.4-0(t64)?|libatomic1)$
  ^libgdk-pixbuf-2.0-(dev|0)$'

no () { # WHY
  echo "aarch64 is not tested: $1" >&2
  exit 1
}

# Apt for another architecture, with indexes of its own.
fetch () {
  local apt=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root -o "Dir::State=$1"
    -o "Dir::State::status=$1/status" -o "Dir::Cache=$1" -o Debug::NoLocking=1)

  mkdir -p "$1/lists/partial" "$1/archives/partial" && : > "$1/status" && cd "$1" || return
  # shellcheck disable=SC2086
  apt-get "${apt[@]}" update && apt-get "${apt[@]}" download $packages
}

prepare () { # DIR
  local dir library=usr/lib/aarch64-linux-gnu deb ccache=''

  command -v aarch64-linux-gnu-gcc > /dev/null && command -v qemu-aarch64 > /dev/null ||
    no "gcc-aarch64-linux-gnu, libc6-dev-arm64-cross or qemu-user is not installed"
  [ ! -s "$1/cross.ini" ] || return 0
  [ "${CF_NO_INSTALL:-0}" = 0 ] || no "CF_NO_INSTALL forbids to fetch its libraries"
  mkdir -p "$1/usr/lib" && dir=$(cd "$1" && pwd) && ln -sfn usr/lib "$dir/lib" || no "$1 cannot be written"
  rm -rf "$dir/apt"
  (fetch "$dir/apt") > "$dir/log" 2>&1 || no "apt-get could not fetch its libraries ($dir/log)"
  for deb in "$dir"/apt/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$dir" || no "$deb cannot be unpacked"
  done
  # What only static libraries need is not here.
  sed -i '/^Requires.private/d' "$dir/$library"/pkgconfig/*.pc
  rm -rf "$dir/apt"
  ! command -v ccache > /dev/null || ccache="'ccache', "
  cat > "$dir/cross.ini" << INI
[binaries]
c = [$ccache'aarch64-linux-gnu-gcc']
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu', '-E', 'LD_LIBRARY_PATH=$dir/$library']
[properties]
sys_root = '$dir'
pkg_config_libdir = '$dir/$library/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
INI
}

if [ "${1:-}" = --root ]; then
  prepare "$2"
  exit
fi
if [ -z "${CF_ARM64:-}" ]; then
  echo "no compiler for aarch64, or no qemu, is installed (or this is not tests/run.sh), so that build is not tested"
  exit 77
fi
exec qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$CF_ARM64-root/usr/lib/aarch64-linux-gnu" \
  "$CF_ARM64/tests/kernelcheck" --cpu --quick --one-in 100 --jobs 2
