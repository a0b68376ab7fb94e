#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# image.sh: builds the image of pipelines/watch/deploy/Containerfile, without CUDA, without a daemon and without a
# registry: its base is a Debian 12 made by mmdebstrap. Starts cf-watch in it, in a chroot as the image's user, and
# fetches a picture of a test camera by HTTP. Prints the size of the image, and ends with `N passed, N failed, N
# skipped`; 77: a program that this needs is missing. It takes some ten minutes, 8 GB of disk, and root, or a user with
# a range of numbers in /etc/subuid.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$root/tests/packages/lib.sh"
need buildah:buildah mmdebstrap:mmdebstrap curl:curl python3:python3
if [ "$(id -u)" -ne 0 ] && [ -z "${_CONTAINERS_USERNS_CONFIGURED:-}" ]; then
  exec buildah unshare "$0" "$@"
fi
begin ""
store=(buildah --root "$work/storage" --runroot "$work/run")
trap '"${store[@]}" rm -a > "$work/rm.log" 2>&1; rm -rf "$work"' EXIT
export BUILDAH_ISOLATION=chroot

# As debian:12-slim is.
mmdebstrap --mode=auto --variant=minbase --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-include=/usr/share/doc/*/copyright' bookworm "$work/base.tar" > "$work/base.log" 2>&1 &&
  base=$("${store[@]}" from scratch) && "${store[@]}" add -q "$base" "$work/base.tar" / > "$work/add.log" &&
  "${store[@]}" commit -q "$base" localhost/debian > "$work/commit.log"
result $? "a base of Debian 12" "$work/base.log"
[ "$failed" = 0 ] || end

copy_tree "$root" "$work/tree"
"${store[@]}" bud --pull-never --build-arg BUILDER=localhost/debian --build-arg RUNNER=localhost/debian \
  -f "$work/tree/pipelines/watch/deploy/Containerfile" -t cf-watch "$work/tree" > "$work/build.log" 2>&1
result $? "the image" "$work/build.log"
[ "$failed" = 0 ] || end
size=$("${store[@]}" images --format '{{.Size}}' localhost/cf-watch)
echo "image: $size"

mkdir "$work/etc"
port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
cat > "$work/etc/watch.json" << END
{ "page": { "port": $port }, "cameras": { "try": { "source": "test:ball", "filter": "cudamedian kernel-size=3" } } }
END
chmod a+rx "$work" "$work/etc"
container=$("${store[@]}" from --pull-never localhost/cf-watch)
mapfile -t entry < <("${store[@]}" inspect --type image \
  --format '{{range .OCIv1.Config.Entrypoint}}{{println .}}{{end}}{{range .OCIv1.Config.Cmd}}{{println .}}{{end}}' \
  localhost/cf-watch | grep .)
run=("${store[@]}" run -v "$work/etc:/etc/cf-watch:ro" "$container" --)
[ "$("${run[@]}" id -u)" = 10001 ]
result $? "it does not run as the image's user"

# Its commands come from a pipe, its events go to a file through another.
coproc watch { timeout 120 "${run[@]}" "${entry[@]}" 2> "$work/watch.err"; }
# shellcheck disable=SC2154 # coproc sets it
pid=$watch_PID commands=${watch[1]}
exec {events}<&"${watch[0]}"
while read -r -t 60 line <&"$events" && [[ $line != *'"type":"started"'* ]]; do :; done
[[ $line = *'"type":"started"'* ]]
result $? "the camera has not started: $line" "$work/watch.err"
# http://127.0.0.1:PORT/?token=TOKEN
link=$("${run[@]}" "${entry[0]}" --page-link /etc/cf-watch/watch.json)
curl -sf -m 20 -H "Authorization: Bearer ${link#*=}" -o "$work/picture.jpg" \
  "${link%%\?*}api/v1/cameras/try/snapshot.jpg"
result $? "no picture at $link" "$work/watch.err"
[ "$(head -c 3 "$work/picture.jpg" | od -An -tx1 | tr -d ' ')" = ffd8ff ]
result $? "the picture is no JPEG"
echo quit >&"$commands"
wait "$pid"
result $? "cf-watch has not ended as it should" "$work/watch.err"
[ ! -s "$work/watch.err" ]
result $? "cf-watch complains" "$work/watch.err"
end
