#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# reproducible.sh: `meson dist` makes a tarball; that and the tree are built at different times, in folders of different
# depth, with different time zones, languages and permissions of new files, and give the same installed files, byte
# for byte. Takes two builds without tests and kernels. Ends with `N passed, N failed, N skipped`.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
need meson:meson ninja:ninja-build git:git
begin ""
export CCACHE_DISABLE=1
first=$work/first second=$work/a/second/place

# build SOURCE BUILD DESTINATION: without tests and kernels.
build () {
  meson setup "$2" "$1" --prefix=/usr -Dtests=false -Dcuda=disabled && ninja -j "$(nproc)" -C "$2" && \
    DESTDIR=$3 meson install -C "$2" --no-rebuild
}

copy_tree "$root" "$first"
# meson dist packs what git has committed, so the copy gets a history of its own.
(cd "$first" && git init -q && git add -A && git -c user.name=test -c user.email=test@localhost commit -qm test) \
  > "$work/git.log" 2>&1
result $? "the copy of the tree" "$work/git.log"
build "$first" "$first/build" "$work/one" > "$work/one.log" 2>&1
result $? "the first build" "$work/one.log"
meson dist -C "$first/build" --no-tests --formats xztar > "$work/dist.log" 2>&1
result $? "meson dist" "$work/dist.log"
[ "$failed" = 0 ] || end

mkdir -p "$second"
tar -x -C "$second" -f "$first"/build/meson-dist/gst-cuda-filters-*.tar.xz
result $? "the tarball cannot be unpacked"
source=$(echo "$second"/gst-cuda-filters-*)
diff -r --no-dereference -x .git -x build "$first" "$source" > "$work/tree.diff"
result $? "the tarball has other files than the tree" "$work/tree.diff"
(umask 077 && TZ=Asia/Tokyo LC_ALL=C build "$source" "$work/b" "$work/two") > "$work/two.log" 2>&1
result $? "the build of the tarball" "$work/two.log"
[ "$failed" = 0 ] || end

listed () { (cd "$1" && find . -mindepth 1 \( -type l -printf '%P -> %l\n' -o -printf '%P\n' \) | sort); }
diff <(listed "$work/one") <(listed "$work/two") > "$work/list.diff"
result $? "the installed files have other names" "$work/list.diff"
count=0
while IFS= read -r file; do
  cmp -s "$work/one/$file" "$work/two/$file"
  result $? "$file differs"
  count=$((count + 1))
done < <(cd "$work/one" && find . -type f)
[ "$count" -ge 10 ]
result $? "only $count files were installed"
! grep -rlF -e "$work" "$work/one" > "$work/paths"
result $? "the path of the build is in an installed file" "$work/paths"
end
