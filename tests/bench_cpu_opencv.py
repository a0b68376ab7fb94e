#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The median filter on the CPU beside OpenCV's medianBlur: the same picture, the same cores, one run.

Usage: bench_cpu_opencv.py CPUBENCH [--size 1920x1080] [--rounds 5] [--sizes 3,5,7,...] [--image FILE]
                                    [--check-goals]

CPUBENCH is the helper program of that name from the build folder (tests/cpubench). Needs the packages numpy and
opencv-python-headless. Both sides take turns, so that whatever else the machine does hits both; the best time of each
counts. The results are compared too: a difference fails the run.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import cv2
import numpy as np


def picture(width, height):
    """Slopes, edges, texture, sensor noise and some salt and pepper: what a camera at night gives."""
    rng = np.random.default_rng(1)
    y, x = np.mgrid[0:height, 0:width]
    image = 128 + 60 * np.sin(x / 90) + 50 * np.cos(y / 70 + x / 300)
    image += 40 * ((x // 160 + y // 120) % 2) + 12 * np.sin(x * y / 5000)
    image += rng.normal(0, 6, (height, width))
    spots = rng.random((height, width))
    image[spots < 0.02] = 0
    image[spots > 0.98] = 255
    return image.clip(0, 255).astype(np.uint8)


def opencv_us(image, size, repeats):
    best = 1e30
    for _ in range(repeats):
        start = time.perf_counter()
        result = cv2.medianBlur(image, size)
        best = min(best, (time.perf_counter() - start) * 1e6)
    return best, result


def ours_us(program, frame, image, size, repeats, output):
    height, width = image.shape
    command = [program, "-f", "GRAY8", "-s", f"{width}x{height}", "-n", str(repeats), "-o", output, frame, str(size)]
    line = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split(maxsplit=2)
    result = np.fromfile(output, np.uint8).reshape(image.shape)
    return float(line[1]), line[2].strip(), result


def goal(size):
    return 1 if size <= 5 else 10 if size <= 15 else 3


def compare(options, image, frame, output, size):
    ours = theirs = 1e30
    for _ in range(options.rounds):
        t, variant, mine = ours_us(options.program, frame, image, size, 20, output)
        ours = min(ours, t)
        t, reference = opencv_us(image, size, 20 if size <= 5 else 2)
        theirs = min(theirs, t)
        if not np.array_equal(mine, reference):
            sys.exit(f"size {size}: our result differs from OpenCV's in {np.count_nonzero(mine != reference)} samples")
    ratio = theirs / ours
    met = ratio >= goal(size)
    print(f"| {size} | {ours / 1000:.2f} | {theirs / 1000:.2f} | {ratio:.1f} | {goal(size)} | {'yes' if met else 'NO'} |"
          f" {variant} |", flush=True)
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the helper program tests/cpubench of the build folder")
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", default="3,5,7,9,11,15,21,31,51,101")
    parser.add_argument("--image", help="a picture to use instead of the made-up one")
    parser.add_argument("--check-goals", action="store_true", help="fail if a goal is missed")
    options = parser.parse_args()

    if options.image:
        image = cv2.imread(options.image, cv2.IMREAD_GRAYSCALE)
        if image is None:
            sys.exit(f"{options.image} is no picture that OpenCV can read")
    else:
        image = picture(*map(int, options.size.split("x")))
    print(f"OpenCV {cv2.__version__} with {cv2.getNumThreads()} threads, picture {image.shape[1]} x {image.shape[0]},"
          f" {len(os.sched_getaffinity(0))} cores; milliseconds a frame\n")
    print("| size | ours | OpenCV | ratio | goal | met | variant |\n| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        frame, output = os.path.join(folder, "in.gray"), os.path.join(folder, "out.gray")
        image.tofile(frame)
        met = [compare(options, image, frame, output, int(size)) for size in options.sizes.split(",")]
    if options.check_goals and not all(met):
        sys.exit("a goal was missed")


if __name__ == "__main__":
    main()
