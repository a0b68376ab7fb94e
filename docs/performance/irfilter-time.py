#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Draws irfilter-time.png, beside this script: the time of the recursive filter on squares of N x N, and the two
limits that no program passes: the longest chain of dependent operations, which grows with N, and all its
multiply-adds, which grow with N^2.

usage: docs/performance/irfilter-time.py BENCH.json [GHZ [SMS]]

BENCH.json is written on the GPU by:
  kernelcheck --bench --filter irfilter --kinds 'one core m,16 cores m' --sizes 3 --streams 1,8 --format GRAY8
    --resolution 256x256,512x512,1024x1024,2048x2048,4096x4096,8192x8192 --json BENCH.json
GHZ and SMS (1.98 and 132, an H200) are the GPU's. Needs gnuplot with cairo.
"""
import json
import os
import subprocess
import sys

M = 3
CYCLES = 4  # a multiply-add's latency
LANES = 128  # multiply-adds an SM begins in a cycle
ROWS = [("one core m", 1, "any stable filter", "#0072b2", 7),  # with its colour and points
        ("one core m", 8, "any stable filter, 8 frames at once", "#d55e00", 5),
        ("16 cores m", 1, "one whose response decays (pole radius 0.87)", "#009e73", 9)]

SCRIPT = """
set terminal {terminal}
set output '{out}'
set logscale xy 2
set logscale y 10
set xrange [{low}/1.2:{high}*1.2]
set yrange [1:]
set xtics ({ticks})
set xlabel 'N, samples along a side (8 bit, one plane)'
set ylabel 'microseconds per frame'
set grid
set key left top Left reverse
set title 'Four quadrants, windows of {m} x {m}, on {gpu}'
chain(n) = {chain}*n
work(n) = {work}*n*n
plot {curves}, \\
  chain(x) with lines dashtype 2 linewidth 2 linecolor rgb '#808080' \\
    title 'chain of dependent operations, grows with N', \\
  work(x) with lines dashtype 4 linewidth 2 linecolor rgb '#000000' title 'all multiply-adds, grow with N x N'
"""


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        bench = json.load(file)
    ghz = float(sys.argv[2]) if len(sys.argv) > 2 else 1.98
    sms = int(sys.argv[3]) if len(sys.argv) > 3 else 132
    data, curves, sides = [], [], set()
    for kind, streams, title, color, point in ROWS:
        points = sorted((row["width"], row["us"]) for row in bench["rows"] if row["kind"] == kind and row["right"] and
                        row["size"] == M and row.get("streams", 1) == streams and row["width"] == row["height"])
        if points:
            sides.update(n for n, _ in points)
            data.append(f"$d{len(data)} << end\n" + "".join(f"{n} {us}\n" for n, us in points) + "end\n")
            curves.append(f"$d{len(data) - 1} using 1:2 with linespoints linewidth 2 linecolor rgb '{color}' "
                          f"pointtype {point} pointsize 1.5 title '{title}'")
    if not curves:
        sys.exit("it has no row of squares with the right result")
    # To the right the last operation alone waits for the sample before, down a column M of them.
    values = {"m": M, "gpu": bench["gpu"], "low": min(sides), "high": max(sides),
              "ticks": ", ".join(str(n) for n in sorted(sides)), "curves": ", \\\n  ".join(curves),
              "chain": CYCLES * (1 + M) / (ghz * 1e3), "work": 4 * (2 * M * M - 1) / (sms * LANES * ghz * 1e3)}
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "irfilter-time.png")
    text = "".join(data) + SCRIPT.format(terminal="pngcairo size 900,600 font 'sans,11'", out=path, **values)
    subprocess.run(["gnuplot"], input=text, text=True, check=True)
    print(path)


if __name__ == "__main__":
    main()
