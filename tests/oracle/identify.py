#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Tests cf-identify end to end: blurs a photograph, runs cf-identify on a fragment of 64 x 64 of both images, and
filters with the element and the resulting file. The PSNR of the rest of the image must rise by a given amount, and by
more than with weights without poles. Then tests the element's own tables in all directions, and with noise.

    identify.py [--program CF-IDENTIFY] [--backend cpu|cuda]

Needs what oracle_opencv.py needs, and PyGObject and NumPy in the system's Python; skipped (77) without it.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from oracle_opencv import Runner, Tally, load_images

import cv2
import numpy as np
from oracle_irfilter import blurred, gauss, motion, psnr
from skimage.metrics import structural_similarity

FRAGMENT = (216, 166, 64, 64)  # left, top, width, height: a man, grass and sky


class Checks(Tally):
    """Prints each check."""

    def check(self, what, good):
        super().check(good, what, always=True)


def check_pair(checks, runner, program, sharp, name, kernel, least, margin):
    """Checks a gain of `least` dB outside the fragment, and of `margin` dB over weights without poles."""
    soft = blurred(sharp, kernel)
    paths = [os.path.join(runner.folder, f) for f in ("sharp.png", "blurred.png", "found.json")]
    cv2.imwrite(paths[0], sharp)
    cv2.imwrite(paths[1], soft)
    x, y, w, h = FRAGMENT
    done = subprocess.run([program, paths[0], paths[1], "--fragment", f"{w}x{h}+{x}+{y}", "--force", "--output",
                           paths[2]],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        checks.check(f"{name}: cf-identify: {done.stderr}", False)
        return
    rows = [float(line.split()[-2]) for line in done.stdout.splitlines()[1:4]]
    with open(paths[2], encoding="utf-8") as file:
        found = json.load(file)
    flat = sum(np.sum(found[q]["a"]) / (1 - np.sum(found[q]["b"])) for q in ("se", "sw", "ne", "nw"))
    checks.check(f"{name}: a flat image keeps its level to {abs(flat - 1):.1e}", abs(flat - 1) < 1e-5)
    got = runner.element(soft, "GRAY8", [f"coefficients={paths[2]}"], stem="irfilter")
    if got is None:
        checks.check(f"{name}: the element accepts the file", False)
        return
    before, after = psnr(soft, sharp, FRAGMENT), psnr(got, sharp, FRAGMENT)
    checks.check(f"{name}: {before:.2f} dB became {after:.2f} (without poles {rows[1]:.2f})",
                 after > before + least and after > rows[1] + margin)
    checks.check(f"{name}: as cf-identify reported: {rows[0]:.2f}, {rows[2]:.2f}",
                 abs(rows[0] - before) < 0.02 and abs(rows[2] - after) < 0.05)


def check_tables(checks, runner, sharp):
    cases = [(f"deblur sigma={s:g}", gauss(s), least) for s, least in ((0.75, 2), (1.5, 2), (3, 1))]
    cases += [(f"motion-deblur length={n} angle={angle}", motion(n, angle), 2.5) for n, angle in
              ((3, 0), (4, 45), (9, 0), (9, 45), (9, 90), (9, 135), (15, 90))]
    for name, kernel, least in cases:
        soft = blurred(sharp, kernel, 1)
        got = runner.element(soft, "GRAY8", ("preset=" + name + " noise=0").split(), stem="irfilter")
        gained = psnr(got, sharp) - psnr(soft, sharp) if got is not None else 0
        checks.check(f"preset={name}: {gained:+.2f} dB with noise of one level", gained > least)


def check_noise(checks, runner, sharp, name):
    """Checks that restoring a noisy image with the preset made for its noise improves it by both measures."""
    cases = [(f"deblur sigma={s:g}", gauss(s)) for s in (1, 2, 3)]
    cases += [(f"motion-deblur length={n} angle={angle}", motion(n, angle)) for n, angle in ((5, 0), (9, 45), (15, 90))]
    for preset, kernel in cases:
        for noise in (2, 5):
            soft = blurred(sharp, kernel, noise)
            got = runner.element(soft, "GRAY8", f"preset={preset} noise={noise}".split(), stem="irfilter")
            if got is None:
                checks.check(f"{name}, {preset} noise={noise}: no result", False)
                continue
            gained = psnr(got, sharp) - psnr(soft, sharp)
            closer = structural_similarity(got, sharp) - structural_similarity(soft, sharp)
            checks.check(f"{name}, {preset} noise={noise}: {gained:+.2f} dB, structural similarity {closer:+.3f}",
                         gained > 0.5 and closer > 0.01)


def check_errors(checks, runner, program, sharp):
    """Checks that an error prints one line and writes no file."""
    one, other, out = (os.path.join(runner.folder, f) for f in ("one.png", "other.png", "none.json"))
    cv2.imwrite(one, sharp)
    cv2.imwrite(other, sharp[:200])
    for name, arguments, word in (("one image", [one], "needed"), ("no file", [one, one + "x"], "no file"),
                                  ("two sizes", [one, other], "same size"),
                                  ("no such blur", [one, "-b", "box:3"], "right"),
                                  ("window", [one, one, "-m", "9"], "2 to"), ("no image", [one, __file__], "cannot"),
                                  ("outside", [one, one, "-f", "96x96+600+9"], "reaches out"),
                                  ("unstable", [one, one, "-r", "1"], "stable")):
        done = subprocess.run([program, *arguments, "--output", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        checks.check(f"{name}: {done.stderr.strip()}", done.returncode > 0 and word in done.stderr and
                     done.stderr.count("\n") == 1 and not os.path.exists(out))


def main():
    parser = argparse.ArgumentParser()
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--program", default=os.path.join(here, "..", "..", "build-tests", "pipelines", "cf-identify"))
    parser.add_argument("--backend", default="cpu", choices=("cpu", "cuda"))
    options = parser.parse_args()
    if subprocess.run(["/usr/bin/python3", "-c", "import gi, numpy"], check=False).returncode:
        print("skipped: cf-identify needs PyGObject and NumPy\n0 passed, 0 failed, 1 skipped")
        sys.exit(77)
    images = {name: cv2.cvtColor(image, cv2.COLOR_BGR2GRAY) for name, image in load_images()}
    sharp = images["camera.png"]
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(None, options.backend, folder)
        check_errors(checks, runner, options.program, sharp)
        check_pair(checks, runner, options.program, sharp, "motion of 9 samples", motion(9, 0), 2.5, 1.5)
        check_pair(checks, runner, options.program, sharp, "Gaussian of 1.5", gauss(1.5), 2.5, 0.5)
        check_tables(checks, runner, sharp)
        for name in ("camera.png", "chelsea.png"):
            image = images[name]
            check_noise(checks, runner, np.ascontiguousarray(image[:, :image.shape[1] // 4 * 4]), name)
    print(f"{checks.passed} passed, {checks.failed} failed, 0 skipped")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
