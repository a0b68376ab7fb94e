#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# bench-program.sh BENCH BENCH-NUMBERS: runs each mode of the frame-rate benchmark once, on small
# frames, on the CPU. Ends with `N passed, N failed, N skipped`.

set -u
bench=$1 numbers=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0 skipped=0

result () { # STATUS WHAT
  if [ "$1" -eq 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $2"
    [ ! -s "$dir/output" ] || tail -n 20 "$dir/output"
  fi
}

# measure NAME CONDITION ARGUMENTS...: runs the benchmark and checks its JSON: CONDITION (Python),
# which may use `rows`, must be true, and so must the invariants of every row.
measure () {
  local name=$1 condition=$2
  shift 2
  "$bench" --seconds 0.1 --warm-up 0.02 --json "$dir/$name.json" "$@" > "$dir/output" 2>&1
  result $? "$name: $*"
  python3 - "$dir/$name.json" "$condition" >> "$dir/output" 2>&1 << 'END'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
rows = [row for row in report["rows"] if row["state"] == "good"]
limits = report["limits"]
for row in rows:
    assert row["frames_per_second"] > 0 and row["frames"] > 0 and row["seconds"] > 0, row
    assert abs(row["frame_ms"] * row["frames_per_second"] - 1000) < 1, row
    if not row["line"].startswith("ffmpeg:") and not row["naive"]:
        assert 0 < row["latency_p50_ms"] <= row["latency_p99_ms"] <= row["latency_max_ms"], row
    assert row["rotating_frames"] >= 2 and row["cores_busy"] > 0, row
    assert row.get("dropped", 0) <= row.get("due", 0), row
    for element in row["elements"]:
        parts = element["frames_gpu"] + element["frames_cpu"] + element["frames_passed"]
        assert element["frames"] == parts, row
assert report["machine"]["cores"] >= 1
assert eval("(" + sys.argv[2] + ")"), (sys.argv[2], report)
END
  result $? "$name: the JSON is wrong"
}

# refuse WORDS ARGUMENTS...: the benchmark must fail with a message that contains WORDS.
refuse () {
  local words=$1 status
  shift
  "$bench" --seconds 0.1 --no-limits "$@" > "$dir/output" 2>&1
  status=$?
  [ $status -ne 0 ] && [ $status -lt 128 ] && grep -qF -- "$words" "$dir/output"
  result $? "'$*' is not refused with \"$words\""
}

"$numbers" > "$dir/output"
result $? "percentiles and lists"
"$bench" --help > "$dir/output" && grep -q -- --cameras "$dir/output"
result $? "--help"

small=(--size 160x120)
one='cudamedian backend=cpu'
measure flat 'len(rows) == 1 and rows[0]["backend"] == "CPU" and rows[0]["elements"][0]["frames_cpu"] > 0 and
  limits[0]["memcpy_one_thread_gbs"] > 0 and 0 < rows[0]["of_limit"]' "${small[@]}" "$one"
measure frames 'rows[0]["frames"] == 50' "${small[@]}" --frames 50 --no-limits "$one"
measure chain 'len(rows) == 6 and {len(r["elements"]) for r in rows} == {1, 2} and
  {r["format"] for r in rows} == {"NV12", "RGBA", "GRAY16_LE"}' "${small[@]}" --format NV12,RGBA,GRAY16_LE --no-limits \
  "$one" "$one ! cudaconvolve backend=cpu"
gst-launch-1.0 -q videotestsrc num-buffers=5 ! video/x-raw,format=I420,width=64,height=48 ! avimux ! \
  filesink location="$dir/clip.avi" > "$dir/output" 2>&1
measure video 'rows[0]["frames"] == 50' "${small[@]}" --frames 50 --no-limits --video "$dir/clip.avi" "$one"
refuse "there is no such file" "${small[@]}" --video "$dir/none.avi" "$one"
refuse "--video $numbers: no frames can be read: " "${small[@]}" --video "$numbers" "$one"
refuse 'failed: no frames could be made of the video' "${small[@]}" --video "$numbers" "$one"
measure odd 'len(rows) == 2' --size 1x1,33x17 --format I420 --no-limits "$one"
measure queue 'rows[0]["memory"] == "SystemMemory"' "${small[@]}" --queue --memory plain --no-limits "$one"
measure cameras 'len(rows) == 2 and rows[1]["cameras"] == 3 and rows[1]["due"] == 30 and
  rows[1]["frames"] + rows[1]["dropped"] == 30 and rows[1]["frames"] > 0' "${small[@]}" --seconds 0.2 --rate 50 \
  --cameras 1,3 --no-limits "$one"
# Overload: cameras drop frames and report it, and the latency of a frame is not hidden.
measure overload 'rows[0]["dropped"] > 0 and rows[0]["frames"] + rows[0]["dropped"] == rows[0]["due"] and
  rows[0]["latency_p50_ms"] > 1' --size 1280x720 --rate 1000 --seconds 1 --no-limits \
  'cudamedian kernel-size=31 backend=cpu'
measure several 'rows[0]["cameras"] == 2' "${small[@]}" --cameras 2 --no-limits "$one"
# Cameras distributed to processes that start together: every due frame is counted once.
measure processes 'len(rows) == 2 and rows[1]["processes"] == 3 and rows[1]["cameras"] == 7 and
  rows[1]["due"] == 70 and rows[1]["frames"] + rows[1]["dropped"] == 70 and
  rows[1]["elements"][0]["frames_cpu"] > 0' "${small[@]}" --seconds 0.2 --rate 50 --cameras 7 --processes 1,3 \
  --no-limits "$one"
measure memory '[r["memory_asked"] for r in rows] == ["proposed", "plain"] and
  [r["state"] for r in report["rows"]] == ["good", "good", "left out"]' "${small[@]}" --memory proposed,plain,cuda \
  --no-limits "$one"
# Without a GPU there are no rows of kernels only.
measure bare 'report["rows"][0]["bare"] and len(rows) >= 2' "${small[@]}" --bare --sweep frames-in-flight=1,2 \
  --no-limits cudamedian
measure sweep '[r["value"] for r in rows] == ["3", "5"] and len(report["rows"]) == 3' "${small[@]}" \
  --sweep kernel-size=3,5,9999 --no-limits "$one"
# What does not run on this machine is left out, and says why; no row fails.
measure peers 'report["rows"][-1]["peer"] and rows[0]["line"] == "identity" and
  all(r["state"] == "good" or r["note"] for r in report["rows"])' "${small[@]}" --peers --no-limits identity
if command -v ffmpeg > /dev/null; then
  measure ffmpeg 'rows[0]["format"] == "GRAY8" and rows[0]["frames"] == 2000 and rows[0]["cpu_ms"] > 0' "${small[@]}" \
    --format GRAY8 --frames 2000 --no-limits ffmpeg:median=radius=2
  refuse 'ffmpeg converts NV12' "${small[@]}" ffmpeg:median=radius=2
  refuse "ffmpeg: No such filter: 'medan'" "${small[@]}" --format GRAY8 ffmpeg:medan
else
  skipped=$((skipped + 3))
  refuse 'ffmpeg is not installed' ffmpeg:median
fi
measure cores 'rows[0]["cores_allowed"] == 1 and rows[0]["speedup"] == 1 and rows[-1]["speedup"] > 0' "${small[@]}" \
  --study speedup --cores "1,$(nproc)" --no-limits cudaconvolve
measure speedup 'len(rows) == 6 and [r["naive"] for r in rows] == [True, False, False] * 2 and
  all(r["speedup"] > 0 and r["speedup_over"] == "naive C" for r in rows)' --size 64x48,160x120 --study speedup \
  --no-limits "$one"
# Naive C fails unless it gives the filter's frames.
measure naive 'len([r for r in rows if r["naive"]]) == 2 * 3 * 8 and
  all(r["speedup"] == 1 for r in rows if r["naive"]) and
  all(r["speedup_over"] == "naive C" for r in rows)' --size 37x29,64x48 --format NV12,RGBA,GRAY8 --study speedup \
  --cores 1 --frames 2 --no-limits cudamedian 'cudamedian kernel-width=9 kernel-height=11 percentile=20' cudaconvolve \
  'cudaconvolve kernel-size=15 kernel-height=1' 'cudaconvolve preset=box kernel-size=3' 'cudaconvolve preset=sharpen' \
  'cudaconvolve kernel="1 2 3 4; -5 6, -7 8" divisor=-6' 'cudaconvolve preset=custom kernel="0 1 0; 1 -4 1; 0 1 0"'
measure packed 'len([r for r in rows if r["naive"]]) == 2 * 2 and
  all(r["speedup_over"] == "naive C" for r in rows)' --size 37x29 --format RGB,ARGB --study speedup --cores 1 \
  --frames 2 --no-limits 'cudamedian color-order=packed' 'cudamedian color-order=packed kernel-size=9 percentile=20'
measure other 'not any(r["naive"] for r in rows) and [r["note"] for r in report["rows"] if r["naive"]] == [
  "naive C is of one cudamedian or cudaconvolve", "naive C has no threshold", "naive C has no roi",
  "naive C has no such kernel", "naive C is of one cudamedian or cudaconvolve"] and
  all(r["speedup_over"] == "one core" for r in rows)' "${small[@]}" --study speedup --no-limits "$one ! $one" \
  "$one threshold=3" 'cudaconvolve roi=0,0,.5,.5' 'cudaconvolve preset=sobel' cudasegment
measure size 'len(rows) == 3' --size 64x48,160x120,320x240 --study size "$one"

refuse 'no element "cudamedia"' cudamedia
refuse 'kernel-size' 'cudamedian kernel-size=999'
refuse 'is even' "${small[@]}" 'cudamedian kernel-size=4'
refuse 'no free source pad' fakesink
refuse 'GStreamer knows no such format' --format NV99 "$one"
refuse 'does not take I420_12BE' --format I420_12BE "${small[@]}" "$one"
refuse '--size 640' --size 640 "$one"
refuse '--cameras 0' --cameras 0 "$one"
refuse '--regions -1: expected 0' "${small[@]}" --regions -1 "$one"
refuse '--gpus 16: ' "${small[@]}" --gpus 16 "$one"
refuse '--processes 0' --processes 0 "$one"
refuse '--memory gpu' --memory gpu "$one"
refuse 'goes without --rate' --bare --rate 30 "$one"
refuse '--study shape' --study shape "$one"
refuse '--study speedup' --study speedup --rate 30 "$one"
refuse 'has a property "radius"' "${small[@]}" --sweep radius=1 "$one"
refuse '--json' --json "$dir/no/such.json" "$one"
refuse 'Unknown option' --fast

# Ctrl-C, when the benchmark has reported a few frames: the current row is written with the frames so
# far. A shell's background job ignores SIGINT, so Python starts the benchmark, with a terminal for
# its reports.
python3 - "$bench" "$dir/ended.json" > "$dir/output" 2>&1 << 'END'
import json
import os
import pty
import re
import signal
import subprocess
import sys

terminal, end = pty.openpty()
child = subprocess.Popen([sys.argv[1], "--seconds", "60", "--size", "160x120", "--no-limits", "--json", sys.argv[2],
                          "cudamedian backend=cpu", "cudaconvolve"], stderr=end)
os.close(end)
said = b""
while not any(int(frames) > 10 for frames in re.findall(rb"backend=cpu : [0-9.]+ s, ([0-9]+) frames", said)):
    said += os.read(terminal, 4096)
child.send_signal(signal.SIGINT)
assert child.wait(timeout=15) == 0
with open(sys.argv[2], encoding="utf-8") as file:
    rows = json.load(file)["rows"]
assert len(rows) == 1 and rows[0]["ended_early"] and rows[0]["frames"] > 10, rows
END
result $? "Ctrl-C"

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
