#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# bundle.sh [--pack] DIR: makes a folder with GStreamer and the few plugins needed, the project's
# plugin, the test programs, footage, and a run.sh, for a machine with an NVIDIA driver. That
# machine must provide the driver, and a glibc and libstdc++ at least as new as this machine's; for
# `sanitize` and `bench` the CUDA toolkit, for `trace` a C compiler and CUPTI. --pack leaves one
# archive beside run.sh, which run.sh unpacks at its first start.
#
#   CF_BUILD   the build folder to take (build-tests, as tests/run.sh makes it on a machine with a GPU;
#              on any other, build it first: docs/testing.md)
#   CF_WATCHED a build folder of the same source with -Drace-watch=true, whose kernelcheck
#              is included for racecheck (docs/testing.md)
#   CF_OLDER   build folders of the same source, each with -Dcuda-archs= of one older capability, such as 75: their
#              kernelchecks are included for `older`
#   CF_VTEST   a clip to include. Without it the script downloads Debian's opencv-doc for its
#              vtest.avi; without network it uses a test pattern.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../../pipelines/lib.sh
. "$here/../../pipelines/lib.sh"
pack=0
[ "${1:-}" != --pack ] || { pack=1; shift; }
[ $# = 1 ] || cf_die "usage: bundle.sh [--pack] DIR"
build=${CF_BUILD:-$CF_ROOT/build-tests}
[ -x "$build/tests/kernelcheck" ] || cf_die "$build is not a build folder; docs/testing.md says how to make one"
meson introspect --buildoptions "$build" | tr -d '\n ' | grep -q '"name":"cuda-fast-compile","value":false' ||
  cf_die "the kernels in $build are only compiled to see that they compile (cuda-fast-compile); build another folder"
build=$(cd "$build" && pwd)
mkdir -p "$1"
to=$(cd "$1" && pwd)
[ -z "$(ls -A "$to")" ] || [ -f "$to/.bundle" ] || cf_die "$to is neither empty nor a bundle"
rm -rf "${to:?}"/* && touch "$to/.bundle"
mkdir -p "$to/bin" "$to/lib/optional" "$to/plugins" "$to/media" "$to/tests" "$to/pipelines"

mapfile -t missing < <(cf_element_packages x264enc:gstreamer1.0-plugins-ugly mp4mux:gstreamer1.0-plugins-good \
  h264parse:gstreamer1.0-plugins-bad nvcodec:gstreamer1.0-plugins-bad)
cf_install "${missing[@]}"

# ---- programs and plugins
multiarch=$(pkg-config --variable=pluginsdir gstreamer-1.0)
scanner=$(pkg-config --variable=pluginscannerdir gstreamer-1.0 || true)
cp "$(command -v gst-launch-1.0)" "$(command -v gst-inspect-1.0)" "$to/bin/"
for dir in "$scanner" /usr/libexec/gstreamer-1.0 /usr/lib/*/gstreamer1.0/gstreamer-1.0; do
  [ ! -x "$dir/gst-plugin-scanner" ] || cp "$dir/gst-plugin-scanner" "$to/bin/"
done
[ -x "$to/bin/gst-plugin-scanner" ] || cf_die "gst-plugin-scanner was not found"
for plugin in coreelements app videotestsrc videoconvertscale videorate rawparse videoparsersbad jpeg y4menc y4mdec \
  nvcodec openh264 isomp4 avi typefindfunctions playback videocrop videofilter compositor debug png; do
  if [ -f "$multiarch/libgst$plugin.so" ]; then
    cp "$multiarch/libgst$plugin.so" "$to/plugins/"
  else
    cf_say "no plugin $plugin here; left out"
  fi
done
cp "$build/gst/libgstcudafilters.so" "$to/plugins/"
for program in kernelcheck naive soak sameframes gpufault; do
  [ ! -x "$build/tests/$program" ] || cp "$build/tests/$program" "$to/bin/"
done
[ -z "${CF_WATCHED:-}" ] || cp "$CF_WATCHED/tests/kernelcheck" "$to/bin/kernelcheck-watched"
for older in ${CF_OLDER:-}; do
  capability=$(meson introspect --buildoptions "$older" | tr -d '\n ' |
    sed -n 's/.*"name":"cuda-archs","value":"\([0-9]*\)".*/\1/p')
  [ -n "$capability" ] || cf_die "$older is not a build for one capability (-Dcuda-archs=)"
  cp "$older/tests/kernelcheck" "$to/bin/kernelcheck-$capability"
done
[ ! -x "$build/pipelines/watch/cf-watch" ] || cp "$build/pipelines/watch/cf-watch" "$CF_ROOT/tests/watch/cameras.py" \
  "$to/bin/"
for program in "$build"/pipelines/*; do # cf-bench is bench
  [ -d "$program" ] || [ ! -x "$program" ] || [ "${program##*/}" = cf-bench ] || cp "$program" "$to/bin/"
done
mkdir -p "$to/bin/elements"
for program in "$build"/tests/elements/elements_*; do
  [ -d "$program" ] || [ ! -x "$program" ] || cp "$program" "$to/bin/elements/"
done
cp "$CF_ROOT"/tests/elements/clip.sh "$CF_ROOT"/tests/oracle/{oracle,motion,segment}_*.py \
  "$CF_ROOT"/tests/bench/bench.h "$CF_ROOT"/tests/bench/bench_npp.cpp "$here"/trace_cuda.c "$to/tests/"
mkdir "$to/tests/performance"
cp "$CF_ROOT"/docs/performance/*.{md,py} "$to/tests/performance/"
cp "$CF_ROOT"/pipelines/*.sh "$to/pipelines/"
cp "$here/run.sh" "$to/run.sh"
chmod +x "$to/run.sh"

# ---- their libraries, except the C library and the driver
mapfile -t objects < <(find "$to/bin" "$to/plugins" -type f)
ldd "${objects[@]}" 2> /dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | while read -r library; do
  case ${library##*/} in
    libc.so* | libm.so* | libdl.so* | librt.so* | libpthread.so* | libresolv.so* | ld-linux* | libcuda.so* | libnv*) ;;
    # Used only if the host has none: an older one could break the host's tools.
    libstdc++.so* | libgcc_s.so*) cp -L "$library" "$to/lib/optional/" ;;
    *) cp -L "$library" "$to/lib/" ;;
  esac
done
find "$to/bin" "$to/plugins" "$to/lib" -type f -exec strip --strip-unneeded {} + 2> /dev/null || true

# ---- footage: a surveillance clip as H.264
clip=${CF_VTEST:-$build/vtest.avi}
if [ ! -f "$clip" ]; then
  tmp=$(mktemp -d)
  cf_say "fetching opencv-doc for its clip"
  (cd "$tmp" && apt-get -q download opencv-doc > /dev/null 2>&1 &&
    dpkg-deb --fsys-tarfile opencv-doc_*.deb | tar x ./usr/share/doc/opencv-doc/examples/data/vtest.avi &&
    cp usr/share/doc/opencv-doc/examples/data/vtest.avi "$clip") || cf_say "no clip; using a test pattern"
  rm -rf "$tmp"
fi
if [ -f "$clip" ]; then
  mapfile -t missing < <(cf_element_packages avdec_mpeg4:gstreamer1.0-libav)
  cf_install "${missing[@]}"
  from="filesrc location=$clip ! decodebin"
else
  from='videotestsrc num-buffers=300 pattern=ball ! video/x-raw,width=768,height=576,framerate=10/1'
fi
# shellcheck disable=SC2086
gst-launch-1.0 -q $from ! videoconvert ! video/x-raw,format=I420 ! \
  x264enc pass=qual quantizer=26 bframes=0 key-int-max=50 ! video/x-h264,profile=main ! h264parse ! mp4mux ! \
  filesink location="$to/media/clip.mp4"

(cd "$CF_ROOT" && git rev-parse HEAD 2> /dev/null) > "$to/revision" || true
if [ "$pack" = 1 ]; then
  # Four programs have the kernels: a dictionary longer than one of them makes half of what gzip makes.
  tar cf - -C "$to" bin lib plugins media tests pipelines revision |
    xz --lzma2=preset=1,dict=96MiB > "$to/bundle.tar.xz"
  (cd "$to" && rm -rf bin lib plugins media tests pipelines)
fi
du -sh "$to" | cut -f 1 | sed "s|\$| in $to|"
