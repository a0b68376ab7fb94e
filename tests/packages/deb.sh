#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# deb.sh [FOLDER]: builds the Debian packages in a copy of the tree, as on a machine without nvcc, and looks at them:
# lintian, what they contain, what they depend on, and whether plugin, programs and header work as installed
# (debian/tests/launch). Ends with `N passed, N failed, N skipped`; 77: a program that this needs is missing.
#
#   FOLDER             keeps the packages and the logs there (else they are removed)
#   DEB_BUILD_OPTIONS  as for dpkg-buildpackage (nocuda nocheck parallel=2; without nocheck the build runs tests)
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$root/tests/packages/lib.sh"
need dpkg-buildpackage:dpkg-dev dh:debhelper lintian:lintian meson:meson
begin "${1:-}"
export DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS:-nocuda nocheck parallel=2}
version=$(sed -n "s/^  version : '\(.*\)',/\1/p" "$root/meson.build")

copy_tree "$root" "$work/gst-cuda-filters-$version"
(cd "$work/gst-cuda-filters-$version" && dpkg-buildpackage -us -uc) > "$work/build.log" 2>&1
result $? "dpkg-buildpackage" "$work/build.log"
[ "$failed" = 0 ] || end

lintian --fail-on error,warning --info --display-info "$work"/*.changes > "$work/lintian.log" 2>&1
result $? "lintian" "$work/lintian.log"

# ---- what the packages are
plugin=$(echo "$work"/gstreamer1.0-cudafilters_"$version"_*.deb)
tools=$(echo "$work"/cudafilters-tools_"$version"_*.deb)
[ -f "$plugin" ] && [ -f "$tools" ] && [ -f "$work/gst-cuda-filters_$version.tar.xz" ]
result $? "plugin, tools and a source of version $version"
tar -tf "$work/gst-cuda-filters_$version.tar.xz" > "$work/source.list"
grep -q '/meson.build$' "$work/source.list" && ! grep -E '/(\.git|build|obj-[^/]*|debian/tmp)/' "$work/source.list"
result $? "the source has files of a build or of git" "$work/source.list"
dpkg-deb -f "$plugin" Depends > "$work/depends"
grep -q libgstreamer1.0-0 "$work/depends" && grep -q libjson-glib "$work/depends" && ! grep -qi cuda "$work/depends"
result $? "the plugin depends on GStreamer and not on CUDA" "$work/depends"
dpkg-deb -f "$tools" Depends | grep -q gstreamer1.0-cudafilters
result $? "the tools depend on the plugin"

unpacked=$work/unpacked
for package in "$plugin" "$tools" "$work"/{cudafilters-doc,python3-cudafilters}_"$version"_all.deb; do
  dpkg-deb -x "$package" "$unpacked" || break
done
result $? "the packages cannot be unpacked"
for program in cf-bench cf-demo cf-diagnose cf-effect cf-identify cf-regions cf-restore cf-search cf-verify cf-watch; do
  [ -x "$unpacked/usr/bin/$program" ] && [ -s "$unpacked/usr/share/man/man1/$program.1.gz" ] &&
    [ -s "$unpacked/usr/share/bash-completion/completions/$program" ]
  result $? "$program with its page and its completion"
done
# A program that is new has to be named above.
programs=("$unpacked"/usr/bin/*)
[ ${#programs[@]} = 10 ]
result $? "10 programs, not ${#programs[@]}"
pages=$unpacked/usr/share/doc/cudafilters-doc
rm "$pages/COPYING" && touch "$pages/COPYING" # a link into a package of its own
python3 "$root/docs/pages.py" --check "$pages" > "$work/links.log" 2>&1
result $? "a link in the installed pages leads nowhere" "$work/links.log"
objects=("$unpacked"/usr/lib/*/gstreamer-1.0/libgstcudafilters.so "${programs[@]}")
! strings -a "${objects[@]}" | grep -F "$work/" > "$work/paths"
result $? "the path of the build is in an installed file" "$work/paths"
grep -qaF "gst-cuda-filters ($(dpkg-vendor --query Vendor))" "${objects[0]}"
result $? "the plugin does not name the distribution"

# ---- do they work
if [ -n "$(GST_PLUGIN_PATH='' gst-inspect-1.0 cudafilters 2> /dev/null)" ]; then
  skip "launch: the plugin is installed here already"
else
  GST_PLUGIN_PATH=$(dirname "${objects[0]}") GST_REGISTRY=$work/registry.bin PATH=$unpacked/usr/bin:$PATH \
    PYTHONPATH=$unpacked/usr/lib/python3/dist-packages \
    PKG_CONFIG_PATH=$unpacked/usr/share/pkgconfig C_INCLUDE_PATH=$unpacked/usr/include/gstreamer-1.0 \
    "$root/debian/tests/launch" > "$work/launch.log" 2>&1
  result $? "debian/tests/launch" "$work/launch.log"
fi
end
