#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# wheel.sh [--arm64] [FOLDER]: makes the wheel without kernels (pipelines/python/wheel.sh), and installs it as a user
# without rights into environments of the system's Python: one of its own, in which the demo runs, and one that sees the
# system's PyGObject, in which the module and the elements are used. Needs PyPI: to be run each week. Ends with
# `N passed, N failed, N skipped`; 77: a program that this needs is missing.
#
#   --arm64   the wheel for aarch64, with Python and GStreamer of Debian's arm64, which qemu and proot run: half a GB on
#             the disk, five minutes
#   FOLDER    keeps wheels, builds and logs there (else they are removed); wheels that lie there are tested as they are,
#             and with them the one with kernels that `pipelines/python/wheel.sh --cuda FOLDER` makes
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$root/tests/packages/lib.sh"
machine=$(uname -m) arm64=0
if [ "${1:-}" = --arm64 ]; then
  machine=aarch64 arm64=1
  shift
  need aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu mmdebstrap:mmdebstrap proot:proot qemu-aarch64:qemu-user
fi
need meson:meson ninja:ninja-build gst-inspect-1.0:gstreamer1.0-tools readelf:binutils setpriv:util-linux
if [ -n "${1:-}" ] && compgen -G "$1/*.whl" > /dev/null; then
  work=$(cd "$1" && pwd)
  rm -rf "$work/user" "$work/unpacked"
else
  begin "${1:-}"
  options=()
  [ $arm64 = 0 ] || options=(--cross "$work/cross/cross.ini")
  { [ $arm64 = 0 ] || "$root/tests/check/arm64.sh" --root "$work/cross"; } > "$work/build.log" 2>&1 &&
    "$root/pipelines/python/wheel.sh" "${options[@]}" "$work" >> "$work/build.log" 2>&1
  result $? "pipelines/python/wheel.sh" "$work/build.log"
  [ "$failed" = 0 ] || end
fi

# look WHEEL MODULE MEGABYTES: the wheel's size, and what lies in it.
look () {
  [ "$(stat -c %s "$1")" -lt "${3}000000" ]
  result $? "${1##*/} has $(stat -c %s "$1") bytes, more than $3 MB"
  python3 -m zipfile -e "$1" "$work/unpacked/$2"
  find "$work/unpacked/$2" '(' -path '*/gst/*' -o -path '*/bin/*' ')' -exec readelf -dW {} + > "$work/dynamic"
  grep -q NEEDED "$work/dynamic" && ! grep -E 'R(UN)?PATH|TEXTREL|NEEDED.*libcuda' "$work/dynamic"
  result $? "the plugin looks for its libraries where the user's are not" "$work/dynamic"
  ! grep -rqaF -e "$work" -e "$root" "$work/unpacked/$2"
  result $? "a path of the build is in ${1##*/}"
}

wheel=$(echo "$work"/gst_cuda_filters-*-py3-none-manylinux_2_*_"$machine".whl)
[ -f "$wheel" ] || { result 1 "no wheel for $machine: $(ls "$work")"; end; }
look "$wheel" cudafilters 15
! grep -i 'NEEDED.*cuda' "$work/dynamic"
result $? "the plugin without kernels needs CUDA" "$work/dynamic"

# As a user who can write only to a folder of his own.
mkdir -m 777 "$work/user"
chmod a+rx "$work"
cert=${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}
user=(env -i "PATH=/usr/bin:/bin" "HOME=$work/user" "TMPDIR=$work/user" "GST_REGISTRY=$work/user/registry.bin"
  PYTHONDONTWRITEBYTECODE=1 "PIP_CERT=$cert" PIP_DISABLE_PIP_VERSION_CHECK=1)
[ "$(id -u)" -ne 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups "${user[@]}")
as=() # by what the wheel's processor is emulated
if [ $arm64 = 1 ]; then
  [ -e "$work/debian/usr/bin/gst-inspect-1.0" ] || { mkdir -p "$work/debian" &&
    mmdebstrap --variant=extract --architectures=arm64 --include=gir1.2-gst-plugins-base-1.0,gstreamer1.0-plugins-base \
      --include=gstreamer1.0-plugins-good,gstreamer1.0-tools,libjson-glib-1.0-0,python3-gi,python3-venv \
      bookworm - 2> "$work/debian.log" | tar -x --no-same-owner --exclude './dev/*' -C "$work/debian"; }
  result $? "Debian's arm64" "$work/debian.log"
  # A path outside is the same inside: old versions of proot do not know each call that names a file.
  as=(proot -q qemu-aarch64 -R "$work/debian" -b "$work" -b "$cert")
fi

# install NAME WHAT OPTION...: an environment with the wheel in it, in a minute.
install () {
  local begin=$SECONDS venv=$work/user/$1 what=$2
  shift 2
  "${user[@]}" "${as[@]}" /usr/bin/python3 -m venv "$@" "$venv" > "$venv.log" 2>&1 &&
    "${user[@]}" "${as[@]}" "$venv/bin/pip" install --no-cache-dir --find-links "$work" "$what" >> "$venv.log" 2>&1
  result $? "pip install $what" "$venv.log"
  echo "environment and pip install: $((SECONDS - begin)) s"
  [ $((SECONDS - begin)) -le 60 ] || [ $arm64 = 1 ]
  result $? "more than 60 s"
}

# use NAME FOLDER: the module and the elements, whose plugin lies in FOLDER of the environment.
use () {
  "${user[@]}" CUDA_VISIBLE_DEVICES= "${as[@]}" "$work/user/$1/bin/python" - "site-packages/$2/" \
    > "$work/module.log" 2>&1 << 'END'
import sys

import cudafilters
from gi.repository import Gst

Gst.init(None)
for filter in 'cudamedian', 'cudaconvolve', 'cudairfilter', 'cudadenoise', 'cudasegment':
    pipeline = Gst.parse_launch(f'videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8 ! {filter} name=f ! '
                                'appsink name=sink')
    assert [cudafilters.frame(sample).shape for sample in cudafilters.samples(pipeline)] == [(240, 320)] * 3
    plugin = pipeline.get_by_name('f').get_factory().get_plugin()
    assert sys.argv[1] in plugin.get_filename(), plugin.get_filename()
END
  result $? "the module and the elements of $2" "$work/module.log"
}

install alone "$wheel"
compiler=cc
[ $arm64 = 0 ] || compiler=aarch64-linux-gnu-gcc
"${user[@]}" "CC=$compiler" /usr/bin/python3 "$root/tests/python/installed.py" \
  --python "${as[@]}" "$work/user/alone/bin/python" > "$work/installed.log" 2>&1
result $? "the programs" "$work/installed.log"
place=$("${user[@]}" "${as[@]}" "$work/user/alone/bin/python" -m cudafilters path)
"${user[@]}" "GST_PLUGIN_PATH=$place" "${as[@]}" gst-inspect-1.0 cudafilters > "$work/inspect.log" 2>&1
result $? "gst-inspect-1.0" "$work/inspect.log"
install beside "$wheel" --system-site-packages
use beside cudafilters

kernels=$(echo "$work"/gst_cuda_filters_cu13-*-py3-none-manylinux_2_*_"$machine".whl)
[ -f "$kernels" ] || end
look "$kernels" cudafilters_cuda 100
install kernels 'gst-cuda-filters[cuda]' --system-site-packages
use kernels cudafilters_cuda
"${user[@]}" CUDA_VISIBLE_DEVICES= "${as[@]}" "$work/user/kernels/bin/python" -m cudafilters demo --frames 3 \
  --output "$work/user/demo.avi" > "$work/demo.log" 2>&1 && grep -q 'backend cpu' "$work/demo.log"
result $? "the demo with kernels and without GPU" "$work/demo.log"
# The kernels are for the compute capabilities that the plugin names, and those of the newest one are there as PTX, for
# GPUs that come later.
plugin=$work/unpacked/cudafilters_cuda/cudafilters_cuda/gst/libgstcudafilters.so
python3 -m venv "$work/user/tools" && "$work/user/tools/bin/pip" install -q nvidia-cuda-cuobjdump &&
  for kind in elf ptx; do
    "$(echo "$work"/user/tools/lib/python3*/site-packages/nvidia/cu*/bin/cuobjdump)" -l$kind "$plugin" |
      sed -n 's/.*\.sm_\([0-9]*\)a\?\..*/\1/p' | sort -nu | paste -sd, > "$work/$kind"
  done 2> "$work/cuobjdump.log" && strings -n 2 "$plugin" | grep -qxF "$(cat "$work/elf")" &&
  grep -qE "(^|,)$(cat "$work/ptx")\$" "$work/elf"
result $? "kernels for $(cat "$work/elf"), PTX of $(cat "$work/ptx"): not what the plugin names" "$work/cuobjdump.log"
end
