#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# deb-arm64.sh FOLDER: cross-builds the Debian packages for arm64 into FOLDER and shows them to lintian, in a Debian 12
# of its own in $TMPDIR that is removed at the end: nothing is installed here. It downloads 600 MB and takes 3 GB of the
# disk and a quarter of an hour, so it is for once a week. Ends with `N passed, N failed, N skipped`; 77: mmdebstrap is
# missing.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$root/tests/packages/lib.sh"
[ $# = 1 ] || { echo "usage: deb-arm64.sh FOLDER"; exit 2; }
need mmdebstrap:mmdebstrap
begin "$1"
copy_tree "$root" "$work/gst-cuda-filters"

# Two packages for arm64 only have to look installed: the first one cannot be beside that of amd64, and without kernels
# the second one, which brings OpenCV, is of use from Debian 13 on.
cat > "$work/build" << 'SCRIPT'
set -e
export DEBIAN_FRONTEND=noninteractive DEB_BUILD_OPTIONS='nocuda nocheck parallel=2'
cd "$(dirname "$0")"
for name in gobject-introspection libgstreamer-plugins-bad1.0-dev; do
  mkdir -p $name/DEBIAN
  printf '%s\n' "Package: $name" "Version: $(apt-cache show $name:arm64 | sed -n 's/^Version: //p' | head -n 1)" \
    'Architecture: arm64' 'Multi-Arch: same' 'Maintainer: nobody <nobody@example.org>' \
    'Description: looks installed' > $name/DEBIAN/control
  dpkg-deb --build $name $name.deb
done
apt-get -q -y --no-install-recommends install ./*.deb
cd gst-cuda-filters
apt-get -q -y --no-install-recommends build-dep -a arm64 -P cross,nocheck .
dpkg-buildpackage -a arm64 -Pcross,nocheck -us -uc -b
SCRIPT
# --variant and --include: what dpkg-buildpackage and lintian themselves need.
mmdebstrap --variant=apt --architectures=amd64,arm64 --skip=cleanup/apt \
  --include=crossbuild-essential-arm64,debhelper,dpkg-dev,fakeroot,lintian \
  --customize-hook="mkdir \"\$1/w\" && cp -a '$work/gst-cuda-filters' '$work/build' \"\$1/w\"" \
  --customize-hook="chroot \"\$1\" sh /w/build" \
  --customize-hook="cp \"\$1\"/w/*_arm64.* \"\$1\"/w/*_all.* '$work'" \
  --customize-hook="chroot \"\$1\" sh -c 'lintian --fail-on error,warning --info /w/*.changes' > '$work/lintian.log' \
    2>&1; echo \$? > '$work/lintian'" \
  bookworm /dev/null > "$work/build.log" 2>&1
result $? "the packages" "$work/build.log"
[ "$failed" = 0 ] || end
result "$(cat "$work/lintian")" "lintian" "$work/lintian.log"

for name in gstreamer1.0-cudafilters:libgstcudafilters.so cudafilters-tools:cf-watch; do
  dpkg-deb -x "$work/${name%:*}"_*_arm64.deb "$work/unpacked"
  LC_ALL=C readelf -h "$(find "$work/unpacked/usr" -name "${name#*:}" -type f)" | grep -q AArch64
  result $? "${name#*:} is not for aarch64"
done
ls "$work"/{python3-cudafilters,cudafilters-doc}_*_all.deb > /dev/null
result $? "a package for all processors is missing"
rm -rf "$work/unpacked" "$work/gst-cuda-filters"
end
