#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# clip.sh: a clip through the element, the way people use it, once with each
# backend; all frames must be equal byte for byte. Without a GPU (or with
# CF_TEST_BACKEND not cuda) the element on the CPU is compared with the same
# filter applied by kernelcheck's reference to a few frames, and the number of
# frames and their hash are printed.
#
#   clip.sh [--quick] [--clip FILE] [--formats "GRAY8 NV12"] [--sizes "3 5"]
#
# CF_CLIP names the clip; without one, a moving test picture is used.
# CF_BIN: where sameframes and kernelcheck are (the build's tests folder).
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=${CF_BIN:-${CF_BUILD:-$here/../build-tests}/tests}
clip=${CF_CLIP:-}
formats='GRAY8 I420 NV12 YUY2 RGB RGBA I420_10LE'
sizes='3 5 9 15 31'
quick=0
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=1; formats='GRAY8 NV12 RGB I420_10LE'; sizes='3 15' ;;
    --clip) clip=$2; shift ;;
    --formats) formats=$2; shift ;;
    --sizes) sizes=$2; shift ;;
    *) echo "clip.sh: $1 is no option" >&2; exit 2 ;;
  esac
  shift
done

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
if [ -n "$clip" ]; then
  source="filesrc location=$clip ! decodebin"
else
  # Odd sides, so that chroma is odd too; every frame another one.
  source='videotestsrc num-buffers=12 pattern=ball ! video/x-raw,width=321,height=243'
  [ "$quick" = 1 ] || source='videotestsrc num-buffers=60 pattern=ball ! video/x-raw,width=641,height=483'
fi

line () { # format size backend
  echo "$source ! videoconvert ! video/x-raw,format=$1 ! cudamedian name=f kernel-size=$2 backend=$3 $4 ! appsink name=out"
}

# The element's frames against the reference's, on a few frames.
against_reference () { # format size
  local in="$tmp/$1-$2.in" out="$tmp/$1-$2.out" ref="$tmp/$1-$2.ref"
  # Rows of this width have no padding, so that raw files hold samples only.
  gst-launch-1.0 -q videotestsrc num-buffers=2 pattern=snow ! \
    "video/x-raw,format=$1,width=64,height=48" ! tee name=t \
    t. ! queue ! filesink location="$in" \
    t. ! queue ! cudamedian kernel-size="$2" backend=cpu ! filesink location="$out" || return 1
  "$bin/kernelcheck" --filter median --set "kernel-size=$2" --format "$1" --size 64x48 --backend reference \
    --in "$in" --out "$ref" && cmp "$out" "$ref"
}

one () { # format size -> prints a row, returns 1 on failure
  local said
  if [ "${CF_TEST_BACKEND:-}" = cuda ]; then
    said=$("$bin/sameframes" --all-on-gpu f "$(line "$1" "$2" cuda on-gpu-error=error)" "$(line "$1" "$2" cpu '')" 2>&1) || {
      printf '%-10s %3s  FAIL (status %s) %s\n' "$1" "$2" "$?" "$said"; return 1; }
  else
    said=$("$bin/sameframes" --hash "$(line "$1" "$2" cpu '')" 2>&1) && against_reference "$1" "$2" > /dev/null 2>&1 || {
      printf '%-10s %3s  FAIL (status %s) %s\n' "$1" "$2" "$?" "$said"; return 1; }
  fi
  printf '%-10s %3s  %s\n' "$1" "$2" "$said"
}

export -f one line against_reference
export bin source tmp
jobs=$(( $(nproc) / 2 ))
[ "$jobs" -ge 1 ] || jobs=1
for format in $formats; do
  for size in $sizes; do
    echo "$format $size"
  done
done > "$tmp/rows"
xargs -P "$jobs" -L 1 bash -c 'one "$@"' one < "$tmp/rows" > "$tmp/log"
sort -k1,1 -k2,2n "$tmp/log"
failed=$(grep -c FAIL "$tmp/log")
want=$(wc -l < "$tmp/rows")
got=$(wc -l < "$tmp/log")
[ "$got" -ge "$want" ] || failed=$((failed + want - got))
echo "$((want - failed)) passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
