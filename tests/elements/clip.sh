#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# clip.sh: runs a clip through the elements, once with each backend. All frames must be equal byte
# for byte, and so must the regions that the segmentation reports. Without a GPU (or if
# CF_TEST_BACKEND is not cuda) the element on the CPU is compared with itself with three frames in
# flight, and on a few frames with kernelcheck's reference.
#
#   clip.sh [--quick] [--filter NAME] [--clip FILE] [--cuda-memory]
#
# Each row of the table below runs with each format, and so does each filter by default.
# --cuda-memory: NVIDIA's decoder decodes the clip (H.264 in MP4), and its frames reach and leave the
# element in CUDA memory. CF_CLIP names the clip; without one the script uses a moving test pattern.
# CF_BIN: the folder of sameframes and kernelcheck (the build's tests folder).
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=${CF_BIN:-${CF_BUILD:-$here/../../build-tests}/tests}
clip=${CF_CLIP:-}
formats='GRAY8 I420 NV12 YUY2 RGB RGBA I420_10LE'
filter='' quick=0 cuda_memory=0
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=1 formats='NV12 RGB I420_10LE' ;;
    --filter) filter=$2; shift ;;
    --clip) clip=$2; shift ;;
    --cuda-memory) cuda_memory=1 formats=NV12 ;;
    *) echo "clip.sh: $1 is not an option" >&2; exit 2 ;;
  esac
  shift
done

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# Each filter as it is by default, and these rows: filter, name of the row, and properties as typed in a pipeline; no
# value has spaces.
"$bin/kernelcheck" --list > "$tmp/filters" || exit 1
{ sed 's/$/ default/' "$tmp/filters"; cat; } << 'END' | sort -s -k1,1 | grep "^${filter:-[a-z]}" > "$tmp/rows"
median 5 kernel-size=5
median 9 kernel-size=9
median 15 kernel-size=15
median 31 kernel-size=31
median center kernel-size=1 temporal-depth=5 temporal-center=true
median frames kernel-size=1 temporal-depth=5
convolve identity preset=identity
convolve box preset=box kernel-size=9
convolve gauss preset=gauss kernel-size=15
convolve sharpen preset=sharpen
convolve laplace preset=laplace bias=128
convolve unsharp preset=unsharp kernel-size=7 amount=1.5
convolve emboss preset=emboss angle=45 bias=64
convolve sobel preset=sobel
convolve prewitt preset=prewitt
convolve scharr preset=scharr divisor=4
convolve sobelx preset=sobel-x divisor=8
convolve log preset=log bias=128
convolve motion preset=motion kernel-size=15 angle=30
convolve fill preset=fill fill-color=0xff2040c0
convolve mosaic preset=mosaic
convolve privacy preset=privacy blocks=5
convolve custom kernel=1,-2,3;-4,9,4;-3,2,1
irfilter smooth preset=smooth
irfilter soft preset=soft sigma=15
irfilter highpass preset=highpass sigma=40 amount=1.5
irfilter sharpen preset=sharpen sigma=1.5
irfilter deblur preset=deblur sigma=1.5
irfilter motion-deblur preset=motion-deblur
irfilter custom numerator=0.03 denominator=0,0.6,0;0.5,-0.3,0.02;0,0,0.05
segment mean output=mean min-size=20 region-meta=1 label-meta=1
segment boundaries output=boundaries min-size=20 region-meta=1 label-meta=1
segment labels output=labels min-size=20 region-meta=1 label-meta=1
segment afresh temporal=0 cell-size=3 boundary-color=0xff00ff00
END
[ "$cuda_memory" = 0 ] || sed -i 's/ region-meta=1 label-meta=1//' "$tmp/rows" # cudadownload drops metas
[ "$quick" = 0 ] || sed -i '/^median \(5\|9\|31\) /d' "$tmp/rows"
mapfile -t filters < <(cut -d ' ' -f 1 "$tmp/rows" | uniq)

if [ -n "$clip" ]; then
  source="filesrc location=$clip ! decodebin"
else
  # Odd sides, so that chroma is odd too; every frame is different.
  source='videotestsrc num-buffers=12 pattern=ball ! video/x-raw,width=321,height=243'
  [ "$quick" = 1 ] || source='videotestsrc num-buffers=60 pattern=ball ! video/x-raw,width=641,height=483'
fi

# Prints the pipeline: one source, and a branch for each row of the filter.
line () { # filter format backend more
  local head="$source ! videoconvert" raw=video/x-raw row properties i=0 tail=''
  if [ "$cuda_memory" = 1 ]; then
    head="filesrc location=$clip ! qtdemux ! h264parse ! nvh264dec"
    [ "$3" != cuda ] || { raw='video/x-raw(memory:CUDAMemory)'; tail="! $raw ! cudadownload ! video/x-raw"; }
  fi
  printf '%s' "$head ! $raw,format=$2 ! tee name=t"
  while read -r _ row properties; do
    printf '%s' " t. ! queue ! cuda$1 name=f$i $properties backend=$3 $4 $tail ! appsink name=out$i"
    i=$((i + 1))
  done < <(grep "^$1 " "$tmp/rows")
}

# Compares the element's frames with the reference's, on a few frames.
against_reference () { # filter format row properties
  local file="$tmp/$1-$2-$3" words range=--limited
  # The reference lacks these tables of coefficients; the oracle checks them.
  case $1-$3 in irfilter-*deblur) return 0 ;; esac
  read -ra words <<< "$4"
  case $2 in *RGB* | GRAY*) range='' ;; esac # what the caps of these formats and sizes mean
  # Rows of this width have no padding, so that raw files hold samples only.
  gst-launch-1.0 -q videotestsrc num-buffers=2 pattern=snow ! "video/x-raw,format=$2,width=64,height=48" ! \
    tee name=t t. ! queue ! filesink location="$file.in" \
    t. ! queue ! "cuda$1" "${words[@]}" backend=cpu ! filesink location="$file.out" || return 1
  "$bin/kernelcheck" --filter "$1" --set "$4" --format "$2" --size 64x48 --backend reference ${range:+"$range"} \
    --in "$file.in" --out "$file.ref" && cmp "$file.out" "$file.ref"
}

one () { # filter format: prints a line for each row
  local results options=() row properties result i=0 names=''
  if [ "${CF_TEST_BACKEND:-}" = cuda ]; then
    # Frames pass through the identity.
    names=$(awk -v f="$1" '$1 == f { if ($2 != "identity") print "f" n + 0; n++ }' "$tmp/rows" | paste -sd ,)
    options=(--all-on-gpu "$names" "$(line "$1" "$2" cuda on-gpu-error=error)" "$(line "$1" "$2" cpu '')")
    [ "$cuda_memory" = 0 ] || options=(--quick-exit "${options[@]}")
  else
    options=("$(line "$1" "$2" cpu '')" "$(line "$1" "$2" cpu frames-in-flight=3)")
  fi
  mapfile -t results < <("$bin/sameframes" "${options[@]}" 2>&1; echo "status $?")
  [ "${#results[@]}" = $(($(grep -c "^$1 " "$tmp/rows") + 1)) ] || # a line per row is missing: all rows failed
    mapfile -t results < <(yes "FAIL a row has no result: ${results[*]}" | head -n 40)
  while read -r _ row properties; do
    result=${results[i]}
    if [[ ! $result =~ ^[0-9]+\ frames\  ]]; then
      result="FAIL $result"
    elif [[ $properties = *label-meta* && ! $result =~ with\ [1-9][0-9]*\ regions\ and\ [1-9] ]]; then
      result="FAIL no metas: $result"
    elif [ "${CF_TEST_BACKEND:-}" != cuda ] && ! against_reference "$1" "$2" "$row" "$properties" > /dev/null 2>&1; then
      result="FAIL differs from the reference"
    fi
    printf '%-9s %-10s %-13s  %s\n' "$1" "$2" "$row" "$result"
    i=$((i + 1))
  done < <(grep "^$1 " "$tmp/rows")
}

export -f one line against_reference
export bin source clip cuda_memory tmp
jobs=$(( $(nproc) / 2 ))
for filter in "${filters[@]}"; do
  for format in $formats; do
    echo "$filter $format"
  done
  [ "$quick-$filter" != 1-median ] || echo "median GRAY8"
done | xargs -P "$((jobs > 0 ? jobs : 1))" -L 1 bash -c 'one "$@"' one > "$tmp/log"
sort -k1,1 -k2,2 -k3,3n "$tmp/log"
failed=$(grep -c FAIL "$tmp/log")
want=$(($(wc -l < "$tmp/rows") * $(wc -w <<< "$formats")))
[ "$quick" = 0 ] || want=$((want + $(grep -c '^median' "$tmp/rows")))
got=$(wc -l < "$tmp/log")
[ "$got" -ge "$want" ] || failed=$((failed + want - got))
echo "$((want - failed)) passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
