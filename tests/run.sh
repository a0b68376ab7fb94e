#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# run.sh [--quick]: installs what is missing, builds, and runs every test that needs no
# GPU (and those that do, where there is one). Prints a line for each test that ends, and
# at last the line
#   N passed, N failed, N skipped
# with a status that is not 0 when something failed or nothing ran.
#
#   --version        prints the version
#   --quick          only the tests of the suite `quick`, for the next edit
#   CF_BUILD         the build folder (build-tests: its warnings are errors, and
#                    its kernels are for one GPU only)
#   CF_NO_INSTALL=1  never install anything
#   CF_CLIP          a video file for the clip test (a test picture otherwise)
set -u
# shellcheck source-path=SCRIPTDIR source=../pipelines/lib.sh
. "$(dirname "$0")/../pipelines/lib.sh"
suite=(--no-suite sample) quick=0
case "$*" in
  '') ;;
  --version) cf_version; exit 0 ;;
  --quick) suite=(--suite quick) quick=1 ;;
  *) cf_say "usage: run.sh [--quick]"; exit 2 ;;
esac

end () { # message
  cf_say "run.sh: $1"
  echo "0 passed, 1 failed, 0 skipped"
  exit 1
}

build=$(cf_build_folder build-tests) || end "nothing can be built"

packages () {
  cf_whole_build_packages
  # clang alone is `cc`, too; beside gcc it is the second compiler.
  command -v gcc > /dev/null || echo gcc libc6-dev
  cf_element_packages videotestsrc:gstreamer1.0-plugins-base videoconvert:gstreamer1.0-plugins-base \
    rawvideoparse:gstreamer1.0-plugins-base appsink:gstreamer1.0-plugins-base jpegdec:gstreamer1.0-plugins-good \
    splitmuxsink:gstreamer1.0-plugins-good h264parse:gstreamer1.0-plugins-bad x264enc:gstreamer1.0-plugins-ugly \
    avdec_h264:gstreamer1.0-libav textoverlay:gstreamer1.0-x
  # cf-watch: what it can be built with, a broker, and what looks at its files and lines.
  pkg-config --exists libmosquitto 2> /dev/null || echo libmosquitto-dev
  pkg-config --exists libsoup-3.0 2> /dev/null || echo libsoup-3.0-dev
  pkg-config --exists libxcrypt 2> /dev/null || echo libcrypt-dev
  pkg-config --exists gstreamer-rtsp-server-1.0 2> /dev/null || echo libgstrtspserver-1.0-dev
  pkg-config --exists libcrypto 2> /dev/null || echo libssl-dev
  pkg-config --exists libsystemd 2> /dev/null || echo libsystemd-dev
  command -v mosquitto > /dev/null || [ -x /usr/sbin/mosquitto ] || echo mosquitto
  command -v mosquitto_sub > /dev/null || echo mosquitto-clients
  command -v ffprobe > /dev/null || echo ffmpeg
  # Tests run with either Python, which may be the same.
  { python3 -c 'import jsonschema' && /usr/bin/python3 -c 'import jsonschema'; } 2> /dev/null || echo python3-jsonschema
  { python3 -c 'import yaml' && /usr/bin/python3 -c 'import yaml'; } 2> /dev/null || echo python3-yaml
  command -v python3 > /dev/null || echo python3
  python3 -c 'import venv, ensurepip' 2> /dev/null || echo python3-venv
  # PyGObject is the system's Python's; python3 may be another one.
  /usr/bin/python3 -c 'import gi, numpy; gi.require_version("GstVideo", "1.0")' 2> /dev/null ||
    echo python3-gi python3-gst-1.0 gir1.2-gst-plugins-base-1.0 python3-numpy python3-venv
  # RTSP cameras for cf-watch.
  /usr/bin/python3 -c 'import gi; gi.require_version("GstRtspServer", "1.0")' 2> /dev/null ||
    echo gir1.2-gst-rtsp-server-1.0
  command -v mandoc > /dev/null || echo mandoc
}

# fetch PYTHON FOLDER OPTION LOG PACKAGE...: makes an environment of that Python, with an option of venv. Modules that
# are never imported are not compiled, and pip is not installed again where it can fill other environments than its own.
fetch () {
  local python=$1 venv=$2 option=$3 log=$4 pip=()
  shift 4
  if "$python" -m venv --without-pip "$option" "$venv" > "$log" 2>&1 &&
    "$python" -m pip --python "$venv/bin/python" --version >> "$log" 2>&1; then
    pip=("$python" -m pip --python "$venv/bin/python")
  else
    "$python" -m venv "$option" "$venv" >> "$log" 2>&1
    pip=("$venv/bin/python" -m pip)
  fi
  "${pip[@]}" install -q --no-compile --disable-pip-version-check "$@" >> "$log" 2>&1
}

# OpenCV, SciPy and pictures for the oracle, clang-format for style.py and reuse for check.py, in a place of their own.
oracle_python () {
  local venv=$build/venv
  if python3 -c 'import cv2, numpy, scipy, skimage' 2> /dev/null; then
    echo python3
    return
  fi
  if ! "$venv/bin/python" -c 'import cv2, numpy, scipy, skimage' 2> /dev/null && [ "${CF_NO_INSTALL:-0}" = 0 ]; then
    cf_say "fetching OpenCV, SciPy and scikit-image into $venv"
    fetch python3 "$venv" --symlinks "$build/pip.log" numpy scipy opencv-python-headless scikit-image \
      clang-format==19.1.7 reuse charset-normalizer || cf_say "that failed ($build/pip.log), so the oracle is skipped"
    # Helm's library and the schemas of Kubernetes and of Prometheus' operator.
    fetch python3 "$venv" --symlinks "$build/pip-chart.log" helm-python-sdk kubernetes-validate \
      cloudcoil-models-prometheus-operator ||
      cf_say "there is none for this machine ($build/pip-chart.log), so the Helm chart is not tested"
  fi
  echo "$venv/bin/python"
}

# A Python with GStreamer and OpenCV 4, for the tests of the module cudafilters and of its examples: OpenCV 5 has no
# detector of persons.
gi_python () {
  local venv=$build/venv-gi
  if [ "$quick" = 0 ] && [ "${CF_NO_INSTALL:-0}" = 0 ] &&
    ! /usr/bin/python3 -c 'import cv2; cv2.HOGDescriptor' 2> /dev/null &&
    ! "$venv/bin/python" -c 'import cv2; cv2.HOGDescriptor' 2> /dev/null; then
    cf_say "fetching OpenCV 4 into $venv"
    fetch /usr/bin/python3 "$venv" --system-site-packages "$build/pip-gi.log" 'opencv-python-headless<5' setuptools ||
      cf_say "that failed ($build/pip-gi.log), so two examples are skipped"
  fi
  [ -x "$venv/bin/python" ] && echo "$venv/bin/python" || echo /usr/bin/python3
}

# Turns meson's lines " 3/40 suite - project:name  OK  0.29s" into "3 of 40: name, OK, 0.29 s".
progress () {
  sed -unE 's#^ *([0-9]+)/([0-9]+) +(.*[ :])?([a-z0-9_-]+) +([A-Z]+) +([0-9.]+)s.*#\1 of \2: \4, \5, \6 s#p' >&2
}

mapfile -t missing < <(packages | tr ' ' '\n')
cf_install "${missing[@]}" || end "what the tests need is not installed"
# In the background: it waits for the network, the compiler for the processor. The oracle is not quick.
[ "$quick" = 1 ] || oracle_python > "$build/python" &
# Kernels for the GPU at hand. Without one they are only compiled, for one kind of GPU and as quickly as can be.
options=(-Dwerror=true -Dtests=true -Dcuda-archs=90 -Dcuda-fast-compile=true)
if arch=$(cf_gpu_arch); then
  options+=("-Dcuda-archs=$arch" -Dcuda-fast-compile=false)
fi
gi_python > "$build/python-gi" &
if [ -f "$build/build.ninja" ]; then
  meson configure "$build" "${options[@]}" || end "$build cannot be configured"
fi
# Prints a compiler that has the sanitizers. clang is quicker.
sanitizing_compiler () {
  local cc
  for cc in clang cc; do
    echo 'int main (void) { return 0; }' | "$cc" -x c -fsanitize=address,undefined - -o "$build/sanitizers" \
      2> /dev/null && echo "$cc" && return
  done
}
# Builds targets in a folder beside the first build, for two processors.
build_more () { # FOLDER COMPILER OPTION... -- TARGET...
  local dir=$1 cc=$2 more=()
  shift 2
  while [ "$1" != -- ]; do
    more+=("$1")
    shift
  done
  shift
  [ -f "$dir/build.ninja" ] || CC=$cc meson setup "$dir" "$CF_ROOT" -Dwerror=true -Dcuda=disabled "${more[@]}" \
    > "$dir.log" 2>&1 || { cf_say "$cc: configuring failed ($dir.log)"; return 1; }
  ninja -C "$dir" -j 2 "$@" > "$dir.log" 2>&1 || { cf_say "the build with $cc failed ($dir.log)"; return 1; }
}
# Either of the two other builds leaves instruction sets out, together none: the sanitizers have the widest vectors of
# this machine, clang's optimizer has the others.
widest=avx2
! grep -qw avx512bw /proc/cpuinfo || widest=avx512bw
narrower=sse4_1,avx2
[ "$widest" = avx512bw ] || narrower=sse4_1
# The second compiler: library, plugin and kernelcheck without a warning, and an eighth of the cases.
! command -v clang > /dev/null || export CF_CLANG=$build/clang
# A third build with the address and the undefined behaviour sanitizers (tests/check/sanitized.sh).
if [ "$quick" = 0 ] && cc=$(sanitizing_compiler); then
  export CF_SANITIZED=$build/sanitized
fi
# A fourth build, for aarch64: library, plugin and kernelcheck (tests/check/arm64.sh).
if [ "$quick" = 0 ] && "$CF_ROOT/tests/check/arm64.sh" --root "$build/arm64-root"; then
  export CF_ARM64=$build/arm64
fi
# All builds at once: while one is configured or has its longest file left, the others use the processor.
others () {
  if [ -n "${CF_CLANG:-}" ]; then
    build_more "$CF_CLANG" clang --buildtype=release "-Dcpu-isas=$narrower" -- \
      gst/libgstcudafilters.so tests/kernelcheck || return
  fi
  if [ -n "${CF_ARM64:-}" ]; then
    build_more "$CF_ARM64" cc --buildtype=release --cross-file "$build/arm64-root/cross.ini" -- \
      gst/libgstcudafilters.so tests/kernelcheck || return
  fi
  if [ -n "${CF_SANITIZED:-}" ]; then
    build_more "$CF_SANITIZED" "$cc" -Doptimization=1 "-Dcpu-isas=$widest" -Db_lundef=false \
      -Db_sanitize=address,undefined -Dc_args=-fno-sanitize-recover=undefined -- \
      gst/libgstcudafilters.so tests/kernelcheck \
      tests/faults/{faults,chains,same,devices,hangs,flushes,linkslots,nvmm,cudart} \
      tests/elements/{elements_{properties,buffers,negotiation,segment,areas,flight,center,life},roi_properties} \
      tests/fuzz/{words.dict,fuzz_{kernel,kernel_file,fraction,coefficients,seeds,zones,settings,regions,stream,chaos}}
  fi
}
# In a process group, so that nothing goes on building where this script ends early.
set -m
others &
others=$!
set +m
trap 'kill -- "-$others" 2> /dev/null' EXIT
cf_build "$build" --buildtype=release "${options[@]}" || end "the build failed"
wait "$others" || end "another build failed"
trap - EXIT
wait
CF_PYTHON=$(cat "$build/python" 2> /dev/null)
CF_GI_PYTHON=$(cat "$build/python-gi" 2> /dev/null)
export CF_PYTHON CF_GI_PYTHON CF_BUILD="$build"
# Where Python is to leave no bytecode beside sources, it would compile SciPy's in each test: the build folder has it.
if [ -n "${PYTHONDONTWRITEBYTECODE:-}" ]; then
  unset PYTHONDONTWRITEBYTECODE
  export PYTHONPYCACHEPREFIX=$build/pycache
fi

cf_say "testing"
rm -f "$build/meson-logs/testlog.json"
# Two more than the processors, because some tests wait, those of cf-watch most of their time. What failed is in the
# log that the summary reads.
meson test -C "$build" --no-rebuild --num-processes $(($(nproc) + 2)) "${suite[@]}" 2>&1 |
  tee "$build/test.log" | progress
[ -s "$build/meson-logs/testlog.json" ] || { tail -n 20 "$build/test.log" >&2; end "no test ran"; }
exec python3 "$CF_ROOT/tests/summary.py" "$build/meson-logs/testlog.json"
