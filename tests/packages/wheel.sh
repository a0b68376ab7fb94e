#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# wheel.sh [FOLDER]: makes the wheel without kernels (pipelines/python/wheel.sh), and installs it as a user without
# rights into environments of the system's Python: one of its own, in which the demo runs, and one that sees the
# system's PyGObject, in which the module and the elements are used. Needs PyPI: to be run each week. Ends with
# `N passed, N failed, N skipped`; 77: a program that this needs is missing.
#
#   FOLDER    keeps wheel, builds and logs there (else they are removed); wheels that lie there are tested as they are
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$root/tests/packages/lib.sh"
need meson:meson ninja:ninja-build gst-inspect-1.0:gstreamer1.0-tools readelf:binutils setpriv:util-linux
if [ -n "${1:-}" ] && compgen -G "$1/*.whl" > /dev/null; then
  work=$(cd "$1" && pwd)
  rm -rf "$work/user"
else
  begin "${1:-}"
  "$root/pipelines/python/wheel.sh" "$work" > "$work/build.log" 2>&1
  result $? "pipelines/python/wheel.sh" "$work/build.log"
  [ "$failed" = 0 ] || end
fi

wheel=$(echo "$work"/gst_cuda_filters-*-py3-none-manylinux_2_*_"$(uname -m)".whl)
[ -f "$wheel" ] || { result 1 "no wheel for this machine: $(ls "$work")"; end; }
[ "$(stat -c %s "$wheel")" -lt 15000000 ]
result $? "the wheel has $(stat -c %s "$wheel") bytes, more than 15 MB"
python3 -m zipfile -e "$wheel" "$work/unpacked"
readelf -dW "$work"/unpacked/cudafilters/gst/*.so > "$work/dynamic"
! grep -E 'R(UN)?PATH|TEXTREL' "$work/dynamic" && ! grep -i 'NEEDED.*cuda' "$work/dynamic"
result $? "the plugin looks for its libraries where the user's are not" "$work/dynamic"
! grep -rqaF -e "$work" -e "$root" "$work/unpacked"
result $? "a path of the build is in the wheel"

# As a user who can write only to a folder of his own.
mkdir -m 777 "$work/user"
chmod a+rx "$work"
user=(env -i "PATH=/usr/bin:/bin" "HOME=$work/user" PYTHONDONTWRITEBYTECODE=1
  "PIP_CERT=${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}")
[ "$(id -u)" -ne 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups "${user[@]}")

# install NAME OPTION...: an environment with the wheel in it, in a minute.
install () {
  local begin=$SECONDS venv=$work/user/$1
  shift
  "${user[@]}" /usr/bin/python3 -m venv "$@" "$venv" > "$venv.log" 2>&1 &&
    "${user[@]}" "$venv/bin/pip" install --no-cache-dir "$wheel" >> "$venv.log" 2>&1
  result $? "pip install" "$venv.log"
  echo "environment and pip install: $((SECONDS - begin)) s"
  [ $((SECONDS - begin)) -le 60 ]
  result $? "more than 60 s"
}

install alone
"${user[@]}" "TMPDIR=$work/user" /usr/bin/python3 "$root/tests/python/installed.py" \
  --python "$work/user/alone/bin/python" > "$work/installed.log" 2>&1
result $? "the programs" "$work/installed.log"
install beside --system-site-packages
"${user[@]}" "GST_REGISTRY=$work/user/registry.bin" "$work/user/beside/bin/python" - > "$work/module.log" 2>&1 << 'END'
import cudafilters
from gi.repository import Gst

Gst.init(None)
for filter in 'cudamedian', 'cudaconvolve', 'cudairfilter', 'cudadenoise', 'cudasegment':
    pipeline = Gst.parse_launch(f'videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8 ! {filter} name=f ! '
                                'appsink name=sink')
    assert [cudafilters.frame(sample).shape for sample in cudafilters.samples(pipeline)] == [(240, 320)] * 3
    plugin = pipeline.get_by_name('f').get_factory().get_plugin()
    assert 'site-packages' in plugin.get_filename(), plugin.get_filename()
END
result $? "the module and the elements" "$work/module.log"
GST_PLUGIN_PATH=$("${user[@]}" "$work/user/alone/bin/python" -m cudafilters path) GST_REGISTRY=$work/registry.bin \
  gst-inspect-1.0 cudafilters > "$work/inspect.log" 2>&1
result $? "gst-inspect-1.0" "$work/inspect.log"
end
