#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Times the filters on the CPU against OpenCV: medianBlur, filter2D, GaussianBlur, blur and Sobel, and for regions
watershed and pyrMeanShiftFiltering: the same image, the same core, with AVX2 alone and with AVX-512, in one run.

Usage: bench_cpu_opencv.py KERNELCHECK [--filter median,convolve,segment] [--size 1920x1080,640x480] [--rounds 3]
                                       [--sizes 3,5,...] [--formats GRAY8,GRAY16,RGBA] [--kernels dense,gauss,...]
                                       [--isa avx2,avx512bw] [--image FILE] [--page PAGE.md] [--check-goals]

KERNELCHECK is the program tests/kernelcheck of the build folder. Needs the packages numpy and opencv-python-headless.
Both sides have one thread and are measured by the CPU time of their process, so that other programs on the machine
change little; they alternate, and the shortest time of each counts. OpenCV writes into an image that it is given. The
results are compared as well: a difference fails the run. (Regions are not compared: the algorithms differ.)
--page writes the tables between two markers of a page, "<!-- cpu FILTER: begin -->" and "<!-- cpu FILTER: end -->".
"""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "performance"))
import page  # noqa: E402

ISAS = {"avx2": ("AVX2 alone", "AVX512-SKX"), "avx512bw": ("AVX-512", "")}  # name, what OpenCV must not use
FORMATS = {"GRAY8": 1, "GRAY16": 1, "RGB": 3, "RGBA": 4}  # channels of each
SIZES = {"median": "3,5,7,9,11,15,21,31", "convolve": "3,5,7,9,15,31"}
SECONDS = 0.15  # of each measurement, about


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


def in_format(image, format_):
    if format_ == "GRAY16":  # uses all 16 bits
        return image.astype(np.uint16) * 256 + np.roll(image, 7, 1)
    # the channels differ, so that swapped channels are detected
    channels = [np.roll(image, 7 * c, 1) for c in range(FORMATS[format_])]
    return image if len(channels) == 1 else np.ascontiguousarray(np.dstack(channels))


def dense_kernel(size):
    """Returns an integer kernel that is not of rank 1, and a power of two to divide by: exact in filter2D's floats."""
    rng = np.random.default_rng(size)
    kernel = rng.integers(-9, 20, (size, size))
    return kernel, 2 ** int(np.ceil(np.log2(max(1, kernel.sum()))))


# ---- OpenCV's side: a process of its own, in which OPENCV_CPU_DISABLE counts


def opencv_call(kind, size):
    """Returns a function of the image and of one to write to, which returns the result."""
    import cv2  # pylint: disable=import-outside-toplevel

    replicate = cv2.BORDER_REPLICATE
    # From size 9 on OpenCV computes the weights from sigma; below, both sides use the same table.
    sigma = 0.3 * ((size - 1) / 2 - 1) + 0.8 if size > 7 else 0

    def gauss(image, dst):
        return cv2.GaussianBlur(image, (size, size), sigma, dst, borderType=replicate)

    def dense():
        kernel, divisor = dense_kernel(size)
        weights = (kernel / divisor).astype(np.float32)
        return lambda image, dst: cv2.filter2D(image, -1, weights, dst, borderType=replicate)

    def sobel(image, _):
        """Returns the gradient closest to ours: OpenCV has none of integers."""
        x = cv2.Sobel(image, cv2.CV_32F, 1, 0, borderType=replicate).reshape(image.shape[0], -1)
        y = cv2.Sobel(image, cv2.CV_32F, 0, 1, borderType=replicate).reshape(image.shape[0], -1)
        return cv2.convertScaleAbs(cv2.magnitude(x, y)).reshape(image.shape)

    def watershed(image, _):
        """Is given its markers, a grid of dots, and paints no mean."""
        markers = np.zeros(image.shape[:2], np.int32)
        grid = markers[12::24, 12::24]
        markers[12::24, 12::24] = np.arange(1, grid.size + 1).reshape(grid.shape)
        return cv2.watershed(image, markers)

    return {"median": lambda image, dst: cv2.medianBlur(image, size, dst),
            "dense": dense() if kind == "dense" else None, "gauss": gauss, "sobel": sobel, "watershed": watershed,
            "box": lambda image, dst: cv2.blur(image, (size, size), dst, borderType=replicate),
            "unsharp": lambda image, dst: cv2.addWeighted(image, 2, gauss(image, dst), -1, 0, dst),
            # Paints, but reports no regions.
            "mean shift": lambda image, _: cv2.pyrMeanShiftFiltering(image, 10, 20)}[kind]


def serve():
    """Answers each request, a line of JSON on standard input, by the microseconds; the result goes to a file."""
    import cv2  # pylint: disable=import-outside-toplevel

    cv2.setNumThreads(1)
    cv2.ocl.setUseOpenCL(False)
    wide = "*AVX512-SKX" in cv2.getCPUFeaturesLine().split()  # with a "?" where it is disabled
    print(cv2.__version__, "avx512" if wide else "avx2", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        image = np.fromfile(request["in"], request["type"]).reshape(request["shape"])
        call, dst, best = opencv_call(request["kind"], request["size"]), np.empty_like(image), 1e30
        for _ in range(request["repeats"]):
            start = time.process_time()
            result = call(image, dst)
            best = min(best, (time.process_time() - start) * 1e6)
        result.tofile(request["out"])
        print(best, flush=True)


class OpenCV:
    """The process of one instruction set."""

    def __init__(self, isa):
        self.child = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True,
                                      env=dict(os.environ, OPENCV_CPU_DISABLE=ISAS[isa][1]))
        self.version, uses = self.child.stdout.readline().split()
        if (uses == "avx512") != (isa == "avx512bw"):
            sys.exit(f"OpenCV does not keep to {isa}")

    def us(self, kind, size, image, files, repeats):
        """Returns the shortest time in microseconds, and the result."""
        request = {"kind": kind, "size": size, "in": files[0], "out": files[1], "type": image.dtype.name,
                   "shape": image.shape, "repeats": repeats}
        print(json.dumps(request), file=self.child.stdin, flush=True)
        us = float(self.child.stdout.readline())
        return us, np.fromfile(files[1], image.dtype).reshape(image.shape) if kind not in FOREIGN else None


FOREIGN = ("watershed", "mean shift")  # their results are not compared

# ---- our side


def settings_of(kind, size):
    """Returns our settings, and the tolerated difference from OpenCV's result."""
    if kind == "dense":
        kernel, divisor = dense_kernel(size)
        text = ";".join(" ".join(map(str, row)) for row in kernel)
        # OpenCV uses the Fourier transform above 130 taps.
        return [f"kernel={text}", f"divisor={divisor}"], 0 if size <= 11 else 1
    if kind == "median":
        return [f"kernel-size={size}"], 0
    # OpenCV rounds unsharp twice.
    return [f"preset={kind}", f"kernel-size={size}"], 0 if kind == "gauss" else 1


class Bench:
    """The options of a run, the processes of OpenCV, and the files of one frame."""

    def __init__(self, options, folder):
        self.options = options
        self.files = os.path.join(folder, "in"), os.path.join(folder, "out")
        self.isas = options.isa.split(",")
        self.opencv = {isa: OpenCV(isa) for isa in self.isas}
        self.missed = []

    def ours_us(self, isa, stem, form, image, height, settings, repeats):
        """Returns the shortest time in microseconds, and the result."""
        command = [self.options.program, "--filter", stem, "--format", form, "--size", f"{image.shape[1]}x{height}",
                   "--repeat", str(repeats), "--in", self.files[0], "--out", self.files[1], "--isa", isa, "--cpu-time"]
        for setting in settings:
            command += ["--set", setting]
        line = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        return float(line.split()[0]), np.fromfile(self.files[1], image.dtype).reshape(image.shape)

    def compare(self, filter_, format_, kind, size, image, isa):
        """Returns the microseconds of both sides; None: OpenCV has no such filter."""
        settings, slack = settings_of(kind, size)
        ours = theirs = 1e30
        image.tofile(self.files[0])
        for _ in range(self.options.rounds):
            us, mine = self.ours_us(isa, filter_, "GRAY16_LE" if format_ == "GRAY16" else format_, image,
                                    image.shape[0], settings, repeats(ours, 30))
            ours = min(ours, us)
            if kind == "median" and format_ == "GRAY16" and size > 5:
                return ours, None
            us, reference = self.opencv[isa].us(kind, size, image, self.files, repeats(theirs, 30))
            theirs = min(theirs, us)
            image.tofile(self.files[0])
        if mine.dtype == np.uint16 and kind != "median":  # OpenCV's floats cannot represent these sums
            slack = 2
        difference = np.abs(mine.astype(int) - reference)
        off = difference[..., :3].max() if mine.ndim == 3 else difference.max()  # alpha is copied
        if off > slack:
            sys.exit(f"{format_} {kind} {size}: our result differs from OpenCV's by {off}")
        return ours, theirs


def repeats(us, most):
    """Returns how often a function is called whose time was that, 1e30: is unknown."""
    return 3 if us >= 1e30 else int(np.clip(SECONDS * 1e6 / us, 2, most))


def goal(kind, size):
    """Returns how much longer OpenCV has to take."""
    return 6 if kind == "median" and size >= 15 else 1


def number(us):
    return f"{us / 1000:.3g}" if us < 1e5 else f"{us / 1000:.0f}"


def cell(bench, what, times, wanted):
    """Returns "ours / OpenCV's", in bold where OpenCV is faster, and notes a missed goal."""
    ours, theirs = times
    if theirs is None:
        return number(ours)
    if theirs < wanted * ours:
        bench.missed.append(f"{what}: {theirs / ours:.2f}, wanted {wanted}")
    text = f"{number(ours)} / {number(theirs)}"
    return f"**{text}**" if theirs < ours else text


def rows_of(bench, filter_, frame, base):
    """Measures a filter on frames of one size and returns rows of its table."""
    rows = []
    sizes = [int(size) for size in (bench.options.sizes or SIZES[filter_]).split(",")]
    kinds = ["median"] if filter_ == "median" else bench.options.kernels.split(",")
    for format_ in bench.options.formats.split(","):
        image = in_format(base, format_)
        for kind in kinds:
            for isa in bench.isas if kind != "sobel" or format_ != "GRAY16" else []:
                row = [f"{format_} {kind}" if kind != "median" else format_, frame.replace("x", " x "), ISAS[isa][0]]
                for size in sizes:
                    if kind == "sobel" and size != 3:
                        row.append("-")
                        continue
                    times = bench.compare(filter_, format_, kind, size, image, isa)
                    row.append(cell(bench, f"{' '.join(row[:3])} {size}", times, goal(kind, size)))
                rows.append(row)
                print("| " + " | ".join(row) + " |", flush=True)
    return rows


def segment_rows(bench, frame, image):
    """Measures segmentation beside watershed and mean shift."""
    color, rows, isa = in_format(image, "RGB"), [], bench.isas[-1]
    color.tofile(bench.files[0])
    theirs = [bench.opencv[isa].us(kind, 0, color, bench.files, bench.options.rounds if kind == "watershed" else 1)[0]
              for kind in FOREIGN]
    for format_, of_frame in (("RGB", color), ("NV12", np.vstack([image, np.roll(image, 7, 1)[:image.shape[0] // 2]]))):
        of_frame.tofile(bench.files[0])
        for kind, temporal in (("stateless", "0"), ("stateful", "0.15")):
            ours = min(bench.ours_us(isa, "segment", format_, of_frame, image.shape[0], [f"temporal={temporal}"], 20)[0]
                       for _ in range(bench.options.rounds))
            rows.append([format_, kind, frame.replace("x", " x "), number(ours), *map(number, theirs)])
            if ours > theirs[0]:
                bench.missed.append(f"segment {format_} {kind}")
            print("| " + " | ".join(rows[-1]) + " |", flush=True)
    return rows


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"model name\s*: (.*)", file.read())
    return found.group(1).strip() if found else "this machine"


def head_of(bench, filter_):
    """Returns what stands above a table: how it was made."""
    version = bench.opencv[bench.isas[0]].version
    arguments = [os.path.basename(arg) if i == 0 or os.sep in arg else arg for i, arg in enumerate(sys.argv)]
    text = (f"One core of {cpu_name()}, {datetime.date.today()}, OpenCV {version}, written by\n"
            f"`{' '.join(arguments)}`.\n"
            f"Milliseconds of CPU time per frame, one thread each, the least of {bench.options.rounds} rounds.")
    if filter_ == "segment":
        return text + "\n\n"
    return text + (" Ours /\nOpenCV's, **bold** where OpenCV is faster; a single figure is ours where OpenCV has no"
                   " such filter.\n\n")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", help="the program tests/kernelcheck of the build folder")
    parser.add_argument("--size", default="1920x1080,640x480", help="of the frames")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--filter", default="median,convolve", help="median, convolve, segment")
    parser.add_argument("--sizes", help="kernel sizes")
    parser.add_argument("--formats", default="GRAY8,GRAY16,RGBA", help="of median and convolve; RGB besides")
    parser.add_argument("--kernels", default="dense,gauss,box,unsharp", help="of the convolution; sobel besides")
    parser.add_argument("--isa", default="avx2,avx512bw", help="instruction sets")
    parser.add_argument("--image", help="image to use instead of the synthetic one")
    parser.add_argument("--page", help="page of docs/performance that gets the tables")
    parser.add_argument("--check-goals", action="store_true", help="fail if a goal is missed")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.program and not options.serve:
        parser.error("KERNELCHECK is needed")
    return options


def image_of(options, frame):
    width, height = map(int, frame.split("x"))
    if not options.image:
        return test_image(width, height)
    import cv2  # pylint: disable=import-outside-toplevel

    image = cv2.imread(options.image, cv2.IMREAD_GRAYSCALE)
    if image is None:
        sys.exit(f"{options.image} is not an image that OpenCV can read")
    return cv2.resize(image, (width, height))


def main():
    options = parse()
    if options.serve:
        serve()
        return
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # one thread; children inherit it
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        for filter_ in options.filter.split(","):
            rows = []
            for frame in options.size.split(","):
                image = image_of(options, frame)
                rows += (segment_rows(bench, frame, image) if filter_ == "segment" else
                         rows_of(bench, filter_, frame, image))
            sizes = (options.sizes or SIZES.get(filter_, "")).split(",")
            head = ["format", "", "frame", "ours", *FOREIGN] if filter_ == "segment" else ["", "frame", "with", *sizes]
            text = head_of(bench, filter_) + page.table(head, rows)
            if options.page:
                page.replace(options.page, f"cpu {filter_}", text)
            else:
                print(f"\n{text}")
    for missed in bench.missed:
        print("missed:", missed)
    if options.check_goals and bench.missed:
        sys.exit("a goal was missed")


if __name__ == "__main__":
    main()
