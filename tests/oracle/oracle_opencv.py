#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""An independent oracle: compares OpenCV's medianBlur and SciPy's rank filters (and the references of
oracle_convolve.py, oracle_irfilter.py, oracle_segment.py and oracle_denoise.py for the other filters) on photographs
with the filter library (through kernelcheck) and with the element (through gst-launch-1.0). Every byte must be equal,
except where a check states a tolerance.

    oracle_opencv.py [--kernelcheck PROGRAM] [--backend cpu|cuda|reference] [--filter STEM] [--no-element] [--rivals]

--rivals: the table of restored photographs has the other methods, too.

Needs numpy, scipy, opencv-python-headless and scikit-image. If this Python lacks them, uses the one that CF_PYTHON
names; without it the test is skipped (77).
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import cv2
    import numpy as np
    import skimage
    from scipy import ndimage
except ImportError as missing:
    other = os.environ.get("CF_PYTHON")
    if other and os.path.exists(other) and not os.environ.get("CF_PYTHON_TRIED"):
        os.environ["CF_PYTHON_TRIED"] = "1"
        os.execv(other, [other] + sys.argv)
    print(f"skipped: {missing}\n0 passed, 0 failed, 1 skipped")
    sys.exit(77)

import oracle_convolve
import oracle_denoise
import oracle_irfilter
import oracle_segment
from oracle_convolve import deep_of

SIZES = [3, 5, 7, 9, 11, 13, 15, 21, 31]


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, good, what, always=False):
        """Counts a check, and prints it if it failed, or always."""
        self.passed += int(good)
        self.failed += int(not good)
        if always or not good:
            print(f"{'' if good else 'FAIL '}{what}", flush=True)

    def skip(self, why):
        print(f"skipped: {why}")
        self.skipped += 1

    def compare(self, what, got, expected):
        if got is None or got.shape != expected.shape:
            self.check(False, f"{what}: no result")
        elif np.array_equal(got, expected):
            self.passed += 1
        else:
            bad = np.argwhere(got != expected)
            at = tuple(bad[0])
            self.check(False, f"{what}: {len(bad)} samples differ, first at {at}: {got[at]} instead of {expected[at]}")

    def near(self, what, got, expected):
        """Counts equality within 1."""
        if got is not None and got.shape == expected.shape:
            got = np.where(np.abs(got.astype(np.int32) - expected) <= 1, expected, got)
        self.compare(what, got, expected)


def load_images():
    """Returns photographs and scans of scikit-image as 8-bit arrays."""
    folder = os.path.join(os.path.dirname(skimage.__file__), "data")
    found = []
    for name in ("astronaut.png", "camera.png", "chelsea.png", "coffee.png", "coins.png", "gravel.png",
                 "hubble_deep_field.jpg", "moon.png", "motorcycle_left.png", "page.png", "rocket.jpg", "text.png"):
        image = cv2.imread(os.path.join(folder, name), cv2.IMREAD_COLOR)
        if image is not None:
            found.append((name, image[:420, :611]))
    return found


class Runner:
    def __init__(self, program, backend, folder, rivals=False):
        self.program, self.backend, self.folder, self.rivals = program, backend, folder, rivals

    def raw(self, stack, form, *sets, stem="median", name=""):
        """Filters frames one after the other with one plan. Returns them, None on failure, and what kernelcheck
        printed. Calls at the same time need different names."""
        raw_in, raw_out = os.path.join(self.folder, name + "in"), os.path.join(self.folder, name + "out")
        np.ascontiguousarray(stack).tofile(raw_in)
        command = [self.program, "--filter", stem, "--format", form, "--size", f"{stack.shape[2]}x{stack.shape[1]}",
                   "--in", raw_in, "--out", raw_out, "--backend", self.backend]
        for one in sets:
            command += ["--set", one]
        return self.result(command, raw_out, stack)

    def frames(self, stack, form, *sets, stem="median"):
        out, said = self.raw(stack, form, *sets, stem=stem)
        if out is None:
            print(form, *sets, said)
        return out

    def kernelcheck(self, image, form, *sets, stem="median"):
        out = self.frames(image[None], form, *sets, stem=stem)
        return None if out is None else out[0]

    def element(self, image, form, properties, stem="median"):
        """Filters with the element; widths are multiples of four, so rows have no padding."""
        raw_in, raw_out = os.path.join(self.folder, "in"), os.path.join(self.folder, "out")
        np.ascontiguousarray(image).tofile(raw_in)
        command = ["gst-launch-1.0", "-q", "filesrc", f"location={raw_in}", f"blocksize={image.nbytes}", "!",
                   f"video/x-raw,format={form},width={image.shape[1]},height={image.shape[0]},framerate=1/1", "!",
                   "cuda" + stem, f"backend={self.backend}", "on-gpu-error=error", *properties, "!",
                   "filesink", f"location={raw_out}"]
        out, said = self.result(command, raw_out, image)
        if out is None:
            print(" ".join(command), "\n", said)
        return out

    @staticmethod
    def result(command, raw_out, image):
        if os.path.exists(raw_out):
            os.unlink(raw_out)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        out = np.fromfile(raw_out, image.dtype) if done.returncode == 0 else None
        return (out.reshape(image.shape) if out is not None and out.size == image.size else None), done.stdout


def check_opencv(tally, runner, images):
    for i, (name, color) in enumerate(images):
        gray = cv2.cvtColor(color, cv2.COLOR_BGR2GRAY)
        for k in SIZES:
            tally.compare(f"{name} gray {k}", runner.kernelcheck(gray, "GRAY8", f"kernel-size={k}"),
                          cv2.medianBlur(gray, k))
            if i % 2 == 0:
                tally.compare(f"{name} BGR {k}", runner.kernelcheck(color, "BGR", f"kernel-size={k}"),
                              cv2.medianBlur(color, k))
        deep = deep_of(gray)
        for k in (3, 5):
            tally.compare(f"{name} 16 bit {k}", runner.kernelcheck(deep, "GRAY16_LE", f"kernel-size={k}"),
                          cv2.medianBlur(deep, k))


def check_scipy(tally, runner, images):
    """Checks ranks other than the median, rectangles, 16 bits at any size."""
    for name, color in images[:3]:
        gray = cv2.cvtColor(color, cv2.COLOR_BGR2GRAY)[:150, :173]
        deep = (gray.astype(np.uint16) * 257).astype("<u2") + np.arange(173, dtype="<u2")
        for w, h, p in ((3, 3, 0), (3, 3, 100), (5, 3, 25), (1, 9, 80), (13, 1, 50), (9, 7, 37), (15, 15, 99),
                        (31, 5, 10)):
            rank = (2 * p * (w * h - 1) + 100) // 200
            sets = (f"kernel-width={w}", f"kernel-height={h}", f"percentile={p}")
            for form, image in (("GRAY8", gray), ("GRAY16_LE", deep)):
                tally.compare(f"{name} {form} {w}x{h} percentile {p}", runner.kernelcheck(image, form, *sets),
                              ndimage.rank_filter(image, rank, size=(h, w), mode="nearest"))
        stack = np.stack([np.roll(gray, 3 * i, axis=1) for i in range(4)])
        got = runner.frames(stack, "GRAY8", "kernel-size=3", "temporal-depth=3")
        padded = np.concatenate([stack[:1], stack[:1], stack])
        expected = np.stack([ndimage.median_filter(padded[i:i + 3], size=(3, 3, 3), mode="nearest")[1]
                             for i in range(4)])
        tally.compare(f"{name} temporal", got, expected)
        got = runner.frames(stack, "GRAY8", "kernel-size=3", "temporal-depth=3", "temporal-center=1")
        tally.compare(f"{name} temporal-center", got, ndimage.median_filter(stack, size=(3, 3, 3), mode="nearest"))


def packed_rank(frames, size, percentile, threshold):
    """Returns the median's color-order=packed of the last of these RGB frames: ranks of R << 16 | G << 8 | B."""
    number = frames.astype(np.int32) @ np.array((1 << 16, 1 << 8, 1))
    rank = (2 * percentile * (number.shape[0] * size[0] * size[1] - 1) + 100) // 200
    # One layer of frames is wanted, the middle one: SciPy's border adds no frame there.
    found = ndimage.rank_filter(number, rank, size=(number.shape[0], *size), mode="nearest")[number.shape[0] // 2]
    result = np.stack((found >> 16, found >> 8 & 255, found & 255), -1)
    changed = np.abs(result - frames[-1]).max(-1, keepdims=True) > threshold
    return np.where(changed, result, frames[-1]).astype(np.uint8)


def check_packed(tally, runner, images):
    """Checks color-order=packed in several layouts of RGB, with other ranks, a threshold and several frames."""
    colored = [(name, image) for name, image in images if np.ptp(image, axis=-1).any()]
    for (name, color), form, order in zip(colored, ("RGB", "BGR", "RGBA", "xBGR"), ("RGB", "BGR", "RGB.", ".BGR")):
        frames = np.stack([np.roll(color[:100, :123, ::-1], 3 * i, axis=1) for i in range(3)])  # R, G, B
        stored = np.stack([frames[..., "RGB".index(c)] if c in "RGB" else frames[..., 0] ^ 85 for c in order], -1)
        at = [order.index(c) for c in "RGB"]
        for (h, w), percentile, threshold in (((3, 3), 50, 0), ((7, 7), 50, 0), ((15, 15), 50, 0), ((5, 3), 25, 0),
                                              ((1, 9), 100, 0), ((3, 3), 50, 12), ((9, 9), 10, 40)):
            sets = ("color-order=packed", f"kernel-width={w}", f"kernel-height={h}", f"percentile={percentile}",
                    f"threshold={threshold}")
            for depth in (1, 3):
                expected = stored.copy()
                for i in range(len(frames)):
                    window = frames[[max(0, i - k) for k in range(depth - 1, -1, -1)]]
                    expected[i][..., at] = packed_rank(window, (h, w), percentile, threshold)
                tally.compare(f"{name} {form} packed {w}x{h} percentile {percentile} threshold {threshold} of {depth}",
                              runner.frames(stored, form, *sets, f"temporal-depth={depth}"), expected)


def check_element(tally, runner, images):
    for name, color in images[:3]:
        color = color[:, :color.shape[1] // 4 * 4]
        gray = cv2.cvtColor(color, cv2.COLOR_BGR2GRAY)
        for k in (3, 5, 9, 15, 31):
            tally.compare(f"element: {name} gray {k}", runner.element(gray, "GRAY8", [f"kernel-size={k}"]),
                          cv2.medianBlur(gray, k))
        tally.compare(f"element: {name} BGR 7", runner.element(color, "BGR", ["kernel-size=7"]),
                      cv2.medianBlur(color, 7))
        tally.compare(f"element: {name} BGR packed 5",
                      runner.element(color, "BGR", ["kernel-size=5", "color-order=packed"]),
                      packed_rank(color[None, ..., ::-1], (5, 5), 50, 0)[..., ::-1])
        deep = (gray.astype(np.uint16) * 257).astype("<u2")
        tally.compare(f"element: {name} 16 bit 5", runner.element(deep, "GRAY16_LE", ["kernel-size=5"]),
                      cv2.medianBlur(deep, 5))


def main():
    parser = argparse.ArgumentParser()
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--kernelcheck", default=os.path.join(here, "..", "..", "build-tests", "tests", "kernelcheck"))
    parser.add_argument("--backend", default="cpu", choices=("cpu", "cuda", "reference"))
    parser.add_argument("--filter", choices=("median", "convolve", "irfilter", "segment", "denoise"))
    parser.add_argument("--no-element", action="store_true")
    parser.add_argument("--rivals", action="store_true")
    options = parser.parse_args()
    tally = Tally()
    images = load_images()
    print(f"OpenCV {cv2.__version__}, {len(images)} images")
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options.kernelcheck, options.backend, folder, options.rivals)
        elements = not options.no_element and shutil.which("gst-launch-1.0")
        if not options.no_element and not elements:
            tally.skip("gst-launch-1.0 was not found")
        if options.filter in (None, "median"):
            check_opencv(tally, runner, images)
            check_scipy(tally, runner, images)
            check_packed(tally, runner, images)
            if elements:
                check_element(tally, runner, images)
        for stem, part in (("convolve", oracle_convolve), ("irfilter", oracle_irfilter),
                           ("segment", oracle_segment), ("denoise", oracle_denoise)):
            if options.filter in (None, stem) and images:
                part.check(tally, runner, images)
                if elements:
                    part.check_element(tally, runner, images)
    if not images:
        tally.check(False, "scikit-image has no images")
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
