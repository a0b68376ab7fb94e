#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# clip.sh: runs a clip through the elements, once with each backend. All frames must be equal byte
# for byte, and so must the regions that the segmentation reports. Without a GPU (or if
# CF_TEST_BACKEND is not cuda) the element on the CPU is compared with itself with three frames in
# flight, and on a few frames with kernelcheck's reference; the script prints the number of frames
# and their hash.
#
#   clip.sh [--quick] [--filter median|convolve|irfilter|segment] [--clip FILE]
#     [--formats "GRAY8 NV12"] [--sizes "3 5"] [--presets "box sobel"]
#
# The median runs with each size, the segmentation with each output, the other filters with each
# preset. CF_CLIP names the clip; without one the script uses a moving test pattern. CF_BIN: the
# folder of sameframes and kernelcheck (the build's tests folder).
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=${CF_BIN:-${CF_BUILD:-$here/../../build-tests}/tests}
clip=${CF_CLIP:-}
filters='median convolve irfilter segment'
formats='' sizes='' presets='' quick=0
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=1 ;;
    --filter) filters=$2; shift ;;
    --clip) clip=$2; shift ;;
    --formats) formats=$2; shift ;;
    --sizes) sizes=$2; shift ;;
    --presets) presets=$2; shift ;;
    *) echo "clip.sh: $1 is not an option" >&2; exit 2 ;;
  esac
  shift
done

formats_for () { # filter
  if [ -n "$formats" ]; then echo "$formats"
  elif [ "$quick" = 0 ]; then echo GRAY8 I420 NV12 YUY2 RGB RGBA I420_10LE
  elif [ "$1" = median ]; then echo GRAY8 NV12 RGB I420_10LE
  else echo NV12 RGB I420_10LE
  fi
}

rows_for () { # filter
  if [ "$1" = segment ]; then echo mean boundaries labels afresh
  elif [ "$1" != median ] && [ -n "$presets" ]; then echo "$presets"
  elif [ "$1" = convolve ]; then
    echo identity box gauss sharpen laplace unsharp emboss sobel prewitt scharr log motion custom
  elif [ "$1" = irfilter ]; then echo smooth soft highpass sharpen deblur motion-deblur custom
  elif [ -n "$sizes" ]; then echo "$sizes"
  elif [ "$quick" = 1 ]; then echo 3 15
  else echo 3 5 9 15 31
  fi
}

# Prints a row's properties as typed in a pipeline; no value has spaces.
properties () { # filter row
  case $1-$2 in
    median-*) echo "kernel-size=$2" ;;
    convolve-custom) echo "kernel=1,-2,3;-4,9,4;-3,2,1" ;;
    convolve-box) echo "preset=box kernel-size=9" ;;
    convolve-gauss) echo "preset=gauss kernel-size=15" ;;
    convolve-unsharp) echo "preset=unsharp kernel-size=7 amount=1.5" ;;
    convolve-laplace | convolve-log) echo "preset=$2 bias=128" ;;
    convolve-emboss) echo "preset=emboss angle=45 bias=64" ;;
    convolve-scharr) echo "preset=scharr divisor=4" ;;
    convolve-motion) echo "preset=motion kernel-size=15 angle=30" ;;
    irfilter-soft) echo "preset=soft sigma=15" ;;
    irfilter-highpass) echo "preset=highpass sigma=40 amount=1.5" ;;
    irfilter-deblur) echo "preset=deblur sigma=1.5" ;;
    irfilter-sharpen) echo "preset=sharpen sigma=1.5" ;;
    segment-afresh) echo "temporal=0 cell-size=3 boundary-color=0xff00ff00" ;;
    segment-*) echo "output=$2 min-size=20 region-meta=1 label-meta=1" ;;
    irfilter-custom) echo "numerator=0.03 denominator=0,0.6,0;0.5,-0.3,0.02;0,0,0.05" ;;
    *) echo "preset=$2" ;;
  esac
}

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
if [ -n "$clip" ]; then
  source="filesrc location=$clip ! decodebin"
else
  # Odd sides, so that chroma is odd too; every frame is different.
  source='videotestsrc num-buffers=12 pattern=ball ! video/x-raw,width=321,height=243'
  [ "$quick" = 1 ] || source='videotestsrc num-buffers=60 pattern=ball ! video/x-raw,width=641,height=483'
fi

# Prints the pipeline: one source, and a branch for each row.
line () { # filter format rows backend more
  local row i=0
  printf '%s' "$source ! videoconvert ! video/x-raw,format=$2 ! tee name=t"
  for row in $3; do
    printf '%s' " t. ! queue ! cuda$1 name=f$i $(properties "$1" "$row") backend=$4 $5 ! appsink name=out${i/#0/}"
    i=$((i + 1))
  done
}

# Compares the element's frames with the reference's, on a few frames.
against_reference () { # filter format row
  local in="$tmp/$1-$2-$3.in" out="$tmp/$1-$2-$3.out" ref="$tmp/$1-$2-$3.ref" words
  # The reference lacks these tables of coefficients; the oracle checks them.
  case $1-$3 in irfilter-*deblur) return 0 ;; esac
  read -ra words <<< "$(properties "$1" "$3")"
  # Rows of this width have no padding, so that raw files hold samples only.
  gst-launch-1.0 -q videotestsrc num-buffers=2 pattern=snow ! \
    "video/x-raw,format=$2,width=64,height=48" ! tee name=t \
    t. ! queue ! filesink location="$in" \
    t. ! queue ! "cuda$1" "${words[@]}" backend=cpu ! filesink location="$out" || return 1
  "$bin/kernelcheck" --filter "$1" --set "${words[*]}" --format "$2" --size 64x48 --backend reference \
    --in "$in" --out "$ref" && cmp "$out" "$ref"
}

# Prints --all-on-gpu for these rows except identity, whose frames are passed through.
on_gpu () { # filter rows
  local row i=0 names=''
  for row in $2; do
    [ "$1-$row" = convolve-identity ] || names+=${names:+,}f$i
    i=$((i + 1))
  done
  [ -z "$names" ] || echo "--all-on-gpu $names"
}

one () { # filter format rows: prints a line for each
  local results=() rows code i options all
  read -ra rows <<< "$3"
  if [ "${CF_TEST_BACKEND:-}" = cuda ]; then
    read -ra options <<< "$(on_gpu "$1" "$3")"
    mapfile -t results < <("$bin/sameframes" "${options[@]}" "$(line "$1" "$2" "$3" cuda on-gpu-error=error)" \
      "$(line "$1" "$2" "$3" cpu '')" 2>&1; echo $?)
  else
    mapfile -t results < <("$bin/sameframes" --hash "$(line "$1" "$2" "$3" cpu '')" \
      "$(line "$1" "$2" "$3" cpu frames-in-flight=3)" 2>&1; echo $?)
  fi
  code=${results[-1]}
  if [ "${#results[@]}" != $((${#rows[@]} + 1)) ]; then # a line per row is missing: all rows failed
    all="(status $code) ${results[*]}"
    for i in "${!rows[@]}"; do results[i]=$all; done
  fi
  for i in "${!rows[@]}"; do
    if [[ ! ${results[i]} =~ ^[0-9]+\ frames\  ]]; then
      results[i]="FAIL ${results[i]}"
    elif [[ $(properties "$1" "${rows[i]}") = *label-meta* &&
      ! ${results[i]} =~ with\ [1-9][0-9]*\ regions\ and\ [1-9] ]]; then
      results[i]="FAIL no metas: ${results[i]}"
    elif [ "${CF_TEST_BACKEND:-}" != cuda ] && ! against_reference "$1" "$2" "${rows[i]}" > /dev/null 2>&1; then
      results[i]="FAIL differs from the reference"
    fi
    printf '%-9s %-10s %-10s  %s\n' "$1" "$2" "${rows[i]}" "${results[i]}"
  done
}

export -f one line properties against_reference on_gpu
export bin source tmp
jobs=$(( $(nproc) / 2 ))
[ "$jobs" -ge 1 ] || jobs=1
for filter in $filters; do
  for format in $(formats_for "$filter"); do
    echo "$filter $format '$(rows_for "$filter" | xargs)'"
  done
done > "$tmp/groups"
xargs -P "$jobs" -L 1 bash -c 'one "$@"' one < "$tmp/groups" > "$tmp/log"
sort -k1,1 -k2,2 -k3,3n "$tmp/log"
failed=$(grep -c FAIL "$tmp/log")
want=$(tr -d "'" < "$tmp/groups" | awk '{ n += NF - 2 } END { print n }')
got=$(wc -l < "$tmp/log")
[ "$got" -ge "$want" ] || failed=$((failed + want - got))
echo "$((want - failed)) passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
