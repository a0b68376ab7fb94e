#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Times the filters on the CPU against OpenCV: medianBlur, filter2D, GaussianBlur, blur and Sobel, and for regions
watershed and pyrMeanShiftFiltering: the same image, the same cores, one run.

Usage: bench_cpu_opencv.py KERNELCHECK [--filter median|convolve|segment] [--size 1920x1080] [--rounds 5]
                                       [--sizes 3,5,7,...] [--formats GRAY8,GRAY16,RGB,RGBA] [--isa NAME] [--cpu-time]
                                       [--kernels dense,gauss,...] [--image FILE] [--check-goals]

KERNELCHECK is the program tests/kernelcheck of the build folder. Needs the packages numpy and opencv-python-headless.
The two sides alternate, so that other load on the machine affects both; the shortest time of each counts. The results
are compared as well: a difference fails the run. (Regions are not compared: the algorithms differ.)
To measure on one core: `taskset -c 1 bench_cpu_opencv.py ...`, with --cpu-time if other processes use that core. To
restrict OpenCV to AVX2: OPENCV_CPU_DISABLE=AVX512-SKX.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import cv2
import numpy as np


def test_image(width, height):
    """Returns an image like a night camera's: slopes, edges, texture, sensor noise, some salt and pepper."""
    rng = np.random.default_rng(1)
    y, x = np.mgrid[0:height, 0:width]
    image = 128 + 60 * np.sin(x / 90) + 50 * np.cos(y / 70 + x / 300)
    image += 40 * ((x // 160 + y // 120) % 2) + 12 * np.sin(x * y / 5000)
    image += rng.normal(0, 6, (height, width))
    spots = rng.random((height, width))
    image[spots < 0.02] = 0
    image[spots > 0.98] = 255
    return image.clip(0, 255).astype(np.uint8)


class Bench:
    """The options of a run, and the files of one frame."""

    def __init__(self, options, folder):
        self.options = options
        self.frame, self.output = os.path.join(folder, "in"), os.path.join(folder, "out")
        self.clock = time.process_time if options.cpu_time else time.perf_counter

    def opencv_us(self, call, repeats):
        """Returns the shortest time in microseconds, and the result."""
        best = 1e30
        for _ in range(repeats):
            start = self.clock()
            result = call()
            best = min(best, (self.clock() - start) * 1e6)
        return best, result

    def ours_us(self, stem, form, image, height, settings, repeats):
        """Returns the shortest time in microseconds, the variant and instruction set, and the result."""
        image.tofile(self.frame)
        command = [self.options.program, "--filter", stem, "--format", form, "--size", f"{image.shape[1]}x{height}",
                   "--repeat", str(repeats), "--in", self.frame, "--out", self.output]
        command += ["--isa", self.options.isa] if self.options.isa else []
        command += ["--cpu-time"] if self.options.cpu_time else []
        for setting in settings:
            command += ["--set", setting]
        line = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split(maxsplit=1)
        return float(line[0]), line[1].strip(), np.fromfile(self.output, image.dtype).reshape(image.shape)


def goal(size):
    return 1 if size <= 5 else 10 if size <= 15 else 3


def compare(bench, image, size):
    ours = theirs = 1e30
    for _ in range(bench.options.rounds):
        t, variant, mine = bench.ours_us("median", "GRAY8", image, image.shape[0], [f"kernel-size={size}"], 20)
        ours = min(ours, t)
        t, reference = bench.opencv_us(lambda: cv2.medianBlur(image, size), 20 if size <= 5 else 2)
        theirs = min(theirs, t)
        if not np.array_equal(mine, reference):
            sys.exit(f"size {size}: our result differs from OpenCV's in {np.count_nonzero(mine != reference)} samples")
    ratio = theirs / ours
    met = ratio >= goal(size)
    print(f"| {size} | {ours / 1000:.2f} | {theirs / 1000:.2f} | {ratio:.1f} | {goal(size)} |"
          f" {'yes' if met else 'NO'} | {variant} |", flush=True)
    return met


# ---- convolution

FORMATS = {"GRAY8": 1, "GRAY16": 1, "RGB": 3, "RGBA": 4}  # channels of each
REPLICATE = cv2.BORDER_REPLICATE


def dense_kernel(size):
    """Returns an integer kernel that is not of rank 1, and a power of two to divide by: exact in filter2D's floats."""
    rng = np.random.default_rng(size)
    kernel = rng.integers(-9, 20, (size, size))
    return kernel, 2 ** int(np.ceil(np.log2(max(1, kernel.sum()))))


def sobel(image):
    """Returns the gradient closest to ours: OpenCV has none of integers."""
    x = cv2.Sobel(image, cv2.CV_32F, 1, 0, borderType=REPLICATE).reshape(image.shape[0], -1)
    y = cv2.Sobel(image, cv2.CV_32F, 0, 1, borderType=REPLICATE).reshape(image.shape[0], -1)
    return cv2.convertScaleAbs(cv2.magnitude(x, y)).reshape(image.shape)


def gauss(image, size):
    # From size 9 on OpenCV computes the weights from sigma; below, both sides use the same table.
    sigma = 0.3 * ((size - 1) / 2 - 1) + 0.8 if size > 7 else 0
    return cv2.GaussianBlur(image, (size, size), sigma, borderType=REPLICATE)


def unsharp(image, size):
    return cv2.addWeighted(image, 2, gauss(image, size), -1, 0)


def convolution(kind, size):
    """Returns our settings, OpenCV's function, and the tolerated difference of the two."""
    if kind == "dense":
        kernel, divisor = dense_kernel(size)
        text = ";".join(" ".join(map(str, row)) for row in kernel)
        weights = (kernel / divisor).astype(np.float32)
        # OpenCV uses the Fourier transform above 130 taps.
        return ([f"kernel={text}", f"divisor={divisor}"],
                lambda image: cv2.filter2D(image, -1, weights, borderType=REPLICATE), 0 if size <= 11 else 1)
    if kind == "gauss":
        return ["preset=gauss"], lambda image: gauss(image, size), 0
    if kind == "box":
        return ["preset=box"], lambda image: cv2.blur(image, (size, size), borderType=REPLICATE), 1
    if kind == "unsharp":  # OpenCV rounds twice
        return ["preset=unsharp"], lambda image: unsharp(image, size), 1
    return ["preset=sobel"], sobel, 1


def compare_convolution(bench, format_, image, kind, size):
    settings, opencv, slack = convolution(kind, size)
    name = "GRAY16_LE" if format_ == "GRAY16" else format_
    ours = theirs = 1e30
    for _ in range(bench.options.rounds):
        t, variant, mine = bench.ours_us("convolve", name, image, image.shape[0],
                                         [f"kernel-size={size}"] + settings, 30)
        ours = min(ours, t)
        t, reference = bench.opencv_us(lambda: opencv(image), 10)
        theirs = min(theirs, t)
    if mine.dtype == np.uint16:  # OpenCV's floats cannot represent these sums
        slack = 2
    difference = np.abs(mine.astype(int) - reference)
    off = difference[..., :3].max() if mine.ndim == 3 else difference.max()  # alpha is copied
    if off > slack:
        sys.exit(f"{format_} {kind} {size}: our result differs from OpenCV's by {off}")
    ratio = theirs / ours
    print(f"| {format_} | {kind} | {size} | {ours / 1000:.2f} | {theirs / 1000:.2f} | {ratio:.1f} |"
          f" {'yes' if ratio >= 1 else 'NO'} | {variant} |", flush=True)
    return ratio >= 1


def convolutions(bench, image):
    print("| format | kernel | size | ours | OpenCV | ratio | met | variant |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    met = []
    for format_ in bench.options.formats.split(","):
        # the channels differ, so that swapped channels are detected
        channels = [np.roll(image, 7 * c, 1) for c in range(FORMATS[format_])]
        if format_ == "GRAY16":  # uses all 16 bits
            frame_image = image.astype(np.uint16) * 256 + np.roll(image, 7, 1)
        else:
            frame_image = image if format_ == "GRAY8" else np.ascontiguousarray(np.dstack(channels))
        for kind in bench.options.kernels.split(","):
            for size in (bench.options.sizes or "3,5,7,9,11,15,31").split(","):
                if kind != "sobel" or (size == "3" and format_ != "GRAY16"):
                    met.append(compare_convolution(bench, format_, frame_image, kind, int(size)))
    return met


def segmentations(bench, image):
    """Times segmentation. Watershed is given its markers, a grid of dots, and paints no mean; mean shift paints, but
    reports no regions."""
    height, width = image.shape
    color = np.ascontiguousarray(np.dstack([np.roll(image, 7 * c, 1) for c in range(3)]))
    markers = np.zeros((height, width), np.int32)
    markers[12::24, 12::24] = np.arange(1, markers[12::24, 12::24].size + 1).reshape(markers[12::24, 12::24].shape)
    met = []
    print("| format | frames | ours | watershed | mean shift | met |\n| --- | --- | --- | --- | --- | --- |")
    watershed = bench.opencv_us(lambda: cv2.watershed(color, markers.copy()), bench.options.rounds)[0]
    shift = bench.opencv_us(lambda: cv2.pyrMeanShiftFiltering(color, 10, 20), 1)[0]
    for format_, frame_image in (("RGB", color), ("NV12", np.vstack([image, np.roll(image, 7, 1)[:height // 2]]))):
        for kind, temporal in (("stateless", "0"), ("stateful", "0.15")):
            ours = min(bench.ours_us("segment", format_, frame_image, height, [f"temporal={temporal}"], 20)[0]
                       for _ in range(bench.options.rounds))
            met.append(ours <= watershed)
            print(f"| {format_} | {kind} | {ours / 1000:.2f} | {watershed / 1000:.2f} | {shift / 1000:.1f} |"
                  f" {'yes' if met[-1] else 'NO'} |", flush=True)
    return met


def medians(bench, image):
    print("| size | ours | OpenCV | ratio | goal | met | variant |\n| --- | --- | --- | --- | --- | --- | --- |")
    sizes = (bench.options.sizes or "3,5,7,9,11,15,21,31,51,101").split(",")
    return [compare(bench, image, int(size)) for size in sizes]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the program tests/kernelcheck of the build folder")
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--filter", default="median", choices=["median", "convolve", "segment"])
    parser.add_argument("--sizes", help="comma-separated kernel sizes")
    parser.add_argument("--formats", default=",".join(FORMATS), help="formats of the convolution")
    parser.add_argument("--kernels", default="dense,gauss,box,unsharp,sobel", help="kernels of the convolution")
    parser.add_argument("--isa", help="instruction set, for example avx2")
    parser.add_argument("--cpu-time", action="store_true", help="measure CPU time")
    parser.add_argument("--image", help="image to use instead of the synthetic one")
    parser.add_argument("--check-goals", action="store_true", help="fail if a goal is missed")
    options = parser.parse_args()

    if options.image:
        image = cv2.imread(options.image, cv2.IMREAD_GRAYSCALE)
        if image is None:
            sys.exit(f"{options.image} is not an image that OpenCV can read")
    else:
        image = test_image(*map(int, options.size.split("x")))
    print(f"OpenCV {cv2.__version__} with {cv2.getNumThreads()} threads, frame {image.shape[1]} x {image.shape[0]},"
          f" {len(os.sched_getaffinity(0))} cores; milliseconds per frame\n")
    with tempfile.TemporaryDirectory() as folder:
        run = {"median": medians, "convolve": convolutions, "segment": segmentations}[options.filter]
        met = run(Bench(options, folder), image)
    if options.check_goals and not all(met):
        sys.exit("a goal was missed")


if __name__ == "__main__":
    main()
