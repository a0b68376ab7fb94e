#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The filters on the CPU beside OpenCV's medianBlur, filter2D, GaussianBlur, blur and Sobel, and beside what it has that
finds regions, watershed and pyrMeanShiftFiltering: the same picture, the same cores, one run.

Usage: bench_cpu_opencv.py CPUBENCH [--filter median|convolve|segment] [--size 1920x1080] [--rounds 5] [--sizes 3,5,7,...]
                                    [--formats GRAY8,GRAY16,RGB,RGBA] [--kernels dense,gauss,...] [--image FILE]
                                    [--isa NAME] [--cpu-time] [--check-goals]

CPUBENCH is the helper program of that name from the build folder (tests/cpubench). Needs the packages numpy and
opencv-python-headless. Both sides take turns, so that whatever else the machine does hits both; the best time of each
counts. The results are compared too: a difference fails the run. (Not those of the regions: each has its own.)
One core of each: `taskset -c 1 bench_cpu_opencv.py ...`, with --cpu-time where others want that core; OpenCV with AVX2
alone: OPENCV_CPU_DISABLE=AVX512-SKX.
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


# ---- convolution

FORMATS = {"GRAY8": 1, "GRAY16": 1, "RGB": 3, "RGBA": 4}  # and how many channels
REPLICATE = cv2.BORDER_REPLICATE


def dense_kernel(size):
    """Integers of no rank 1 over a power of two: what filter2D's floats hold exactly."""
    rng = np.random.default_rng(size)
    kernel = rng.integers(-9, 20, (size, size))
    return kernel, 2 ** int(np.ceil(np.log2(max(1, kernel.sum()))))


def sobel(image):
    """OpenCV has no gradient of integers: the nearest to it."""
    x = cv2.Sobel(image, cv2.CV_32F, 1, 0, borderType=REPLICATE).reshape(image.shape[0], -1)
    y = cv2.Sobel(image, cv2.CV_32F, 0, 1, borderType=REPLICATE).reshape(image.shape[0], -1)
    return cv2.convertScaleAbs(cv2.magnitude(x, y)).reshape(image.shape)


def gauss(image, size):
    # From 9 on not by a table of few bits; below, our weights are the same table's.
    sigma = 0.3 * ((size - 1) / 2 - 1) + 0.8 if size > 7 else 0
    return cv2.GaussianBlur(image, (size, size), sigma, borderType=REPLICATE)


def unsharp(image, size):
    return cv2.addWeighted(image, 2, gauss(image, size), -1, 0)


def convolution(kind, size):
    """Settings of ours, OpenCV's function, and by how much the two may differ."""
    if kind == "dense":
        kernel, divisor = dense_kernel(size)
        text = ";".join(" ".join(map(str, row)) for row in kernel)
        weights = (kernel / divisor).astype(np.float32)
        # OpenCV goes by the Fourier transform above 130 taps.
        return ([f"kernel={text}", f"divisor={divisor}"],
                lambda image: cv2.filter2D(image, -1, weights, borderType=REPLICATE), 0 if size <= 11 else 1)
    if kind == "gauss":
        return ["preset=gauss"], lambda image: gauss(image, size), 0
    if kind == "box":
        return ["preset=box"], lambda image: cv2.blur(image, (size, size), borderType=REPLICATE), 1
    if kind == "unsharp":  # OpenCV rounds twice
        return ["preset=unsharp"], lambda image: unsharp(image, size), 1
    return ["preset=sobel"], sobel, 1


def convolve_us(options, frame, format_, image, size, settings, output):
    height, width = image.shape[:2]
    name = "GRAY16_LE" if format_ == "GRAY16" else format_
    command = [options.program, "-F", "convolve", "-f", name, "-s", f"{width}x{height}", "-n", "30", "-o", output]
    command += ["-i", options.isa] if options.isa else []
    command += ["-t"] if options.cpu_time else []
    for setting in settings:
        command += ["-p", setting]
    line = subprocess.run(command + [frame, str(size)], check=True, stdout=subprocess.PIPE, text=True).stdout.split(
        maxsplit=2)
    return float(line[1]), line[2].strip(), np.fromfile(output, image.dtype).reshape(image.shape)


def compare_convolution(options, format_, image, frame, output, kind, size):
    settings, opencv, slack = convolution(kind, size)
    clock = time.process_time if options.cpu_time else time.perf_counter
    ours = theirs = 1e30
    for _ in range(options.rounds):
        t, variant, mine = convolve_us(options, frame, format_, image, size, settings, output)
        ours = min(ours, t)
        for _ in range(10):
            start = clock()
            reference = opencv(image)
            theirs = min(theirs, (clock() - start) * 1e6)
    if mine.dtype == np.uint16:  # OpenCV's floats do not hold these sums
        slack = 2
    difference = np.abs(mine.astype(int) - reference)
    off = difference[..., :3].max() if mine.ndim == 3 else difference.max()  # alpha is copied
    if off > slack:
        sys.exit(f"{format_} {kind} {size}: our result differs from OpenCV's by {off}")
    ratio = theirs / ours
    print(f"| {format_} | {kind} | {size} | {ours / 1000:.2f} | {theirs / 1000:.2f} | {ratio:.1f} |"
          f" {'yes' if ratio >= 1 else 'NO'} | {variant} |", flush=True)
    return ratio >= 1


def convolutions(options, image, folder):
    print("| format | kernel | size | ours | OpenCV | ratio | met | variant |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    met = []
    for format_ in options.formats.split(","):
        frame, output = os.path.join(folder, "in"), os.path.join(folder, "out")
        # the channels differ, so that one in another's place is noticed
        channels = [np.roll(image, 7 * c, 1) for c in range(FORMATS[format_])]
        if format_ == "GRAY16":  # all 16 bits are busy
            picture_ = image.astype(np.uint16) * 256 + np.roll(image, 7, 1)
        else:
            picture_ = image if format_ == "GRAY8" else np.ascontiguousarray(np.dstack(channels))
        picture_.tofile(frame)
        for kind in options.kernels.split(","):
            for size in (options.sizes or "3,5,7,9,11,15,31").split(","):
                if kind != "sobel" or (size == "3" and format_ != "GRAY16"):
                    met.append(compare_convolution(options, format_, picture_, frame, output, kind, int(size)))
    return met


def fastest_us(call, repeats):
    best = 1e30
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, (time.perf_counter() - start) * 1e6)
    return best


def segmentations(options, image, folder):
    """Watershed is given its markers, a grid of dots, and has no mean to paint; mean shift paints, but has no regions."""
    height, width = image.shape
    color = np.ascontiguousarray(np.dstack([np.roll(image, 7 * c, 1) for c in range(3)]))
    markers = np.zeros((height, width), np.int32)
    markers[12::24, 12::24] = np.arange(1, markers[12::24, 12::24].size + 1).reshape(markers[12::24, 12::24].shape)
    frame, met = os.path.join(folder, "in"), []
    print("| format | frames | ours | watershed | mean shift | met |\n| --- | --- | --- | --- | --- | --- |")
    watershed = fastest_us(lambda: cv2.watershed(color, markers.copy()), options.rounds)
    shift = fastest_us(lambda: cv2.pyrMeanShiftFiltering(color, 10, 20), 1)
    for format_, picture_ in (("RGB", color), ("NV12", np.vstack([image, np.roll(image, 7, 1)[:height // 2]]))):
        picture_.tofile(frame)
        for kind, temporal in (("afresh", "0"), ("following", "0.15")):
            command = [options.program, "-F", "segment", "-f", format_, "-s", f"{width}x{height}", "-n", "20",
                       "-p", f"temporal={temporal}"] + (["-i", options.isa] if options.isa else []) + [frame, "0"]
            ours = min(float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1])
                       for _ in range(options.rounds))
            met.append(ours <= watershed)
            print(f"| {format_} | {kind} | {ours / 1000:.2f} | {watershed / 1000:.2f} | {shift / 1000:.1f} |"
                  f" {'yes' if met[-1] else 'NO'} |", flush=True)
    return met


def medians(options, image, folder):
    print("| size | ours | OpenCV | ratio | goal | met | variant |\n| --- | --- | --- | --- | --- | --- | --- |")
    frame, output = os.path.join(folder, "in.gray"), os.path.join(folder, "out.gray")
    image.tofile(frame)
    sizes = (options.sizes or "3,5,7,9,11,15,21,31,51,101").split(",")
    return [compare(options, image, frame, output, int(size)) for size in sizes]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the helper program tests/cpubench of the build folder")
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--filter", default="median", choices=["median", "convolve", "segment"])
    parser.add_argument("--sizes", help="kernel sizes, with commas")
    parser.add_argument("--formats", default=",".join(FORMATS), help="of the convolution")
    parser.add_argument("--kernels", default="dense,gauss,box,unsharp,sobel", help="of the convolution")
    parser.add_argument("--isa", help="the instruction set of the convolution: avx2, say")
    parser.add_argument("--cpu-time", action="store_true", help="of the convolution, the processes' own time")
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
    with tempfile.TemporaryDirectory() as folder:
        met = {"median": medians, "convolve": convolutions, "segment": segmentations}[options.filter](options, image,
                                                                                                      folder)
    if options.check_goals and not all(met):
        sys.exit("a goal was missed")


if __name__ == "__main__":
    main()
