#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Hides a face with cudaconvolve's presets, tries to undo that, and says how much of the face comes back: from a small
face, and from one that fills a third of a frame of 1080p and of 4K. Not tried: trained networks.

    undo_privacy.py [--kernelcheck PROGRAM] [--backend cpu|cuda|reference]

Three correlations with the original, each the best of all attempts: of the brightness, of the brightness less its mean
around each pixel (a Gauss of 1/8 of the face's width: features), and the same with 1/32 (fine detail). What is asserted
is that mosaics and privacy lose the detail at every size, and a blur of a fixed width does not.

Needs what oracle_opencv.py needs; skipped (77) without it.
"""
import argparse
import os
import sys
import tempfile

from oracle_opencv import Runner, Tally, load_images

import cv2
import numpy as np
from skimage import restoration

FACE = (174, 64, 100, 130)  # of scikit-image's astronaut: left, top, width, height
AROUND = 30                 # what an attempt sees of the picture around it
SIZES = {"small": 64, "1080p": 360, "4K": 720}  # the face's height
SIGMA, SIDE = 20, 63
WAYS = {
    f"gauss {SIDE}": ["preset=gauss", f"kernel-size={SIDE}", f"sigma={SIGMA}"],
    "mosaic 8": ["preset=mosaic", "blocks=8"],
    "privacy 8": ["preset=privacy", "blocks=8"],
    "privacy 4": ["preset=privacy", "blocks=4"],
    "fill": ["preset=fill"],
}


def scene(color, height):
    """Returns the face, `height` pixels high, with its surroundings, and where in that it is."""
    x, y, w, h = FACE
    scale = height / h
    whole = cv2.resize(color[y - AROUND:y + h + AROUND, x - AROUND:x + w + AROUND], None, fx=scale, fy=scale,
                       interpolation=cv2.INTER_CUBIC)
    first = int(AROUND * scale)
    return whole, (slice(first, first + int(h * scale)), slice(first, first + int(w * scale)))


def hide(runner, whole, face, sets):
    """Returns the scene with its face hidden. As in an element with a region, a blur reads what is around the face, and
    for the other presets the face is a frame."""
    form = "GRAY8" if whole.ndim == 2 else "BGR"
    out = whole.copy()
    if sets[0] == "preset=gauss":
        out[face] = runner.kernelcheck(whole, form, *sets, stem="convolve")[face]
    else:
        out[face] = runner.kernelcheck(np.ascontiguousarray(whole[face]), form, *sets, stem="convolve")
    return out


# ---- attempts ----------------------------------------------------------------------

def gauss_kernel():
    line = cv2.getGaussianKernel(SIDE, SIGMA, cv2.CV_32F)
    return line @ line.T


def wiener(image, kernel, balance):
    """Returns what scikit-image's Wiener filter makes of an image, mirrored at its border so that it has no edges
    there. `balance`: of the power of the noise to that of the image, both taken as white."""
    height, width = image.shape
    twice = np.pad(image.astype(np.float32) / 255, ((0, height), (0, width)), mode="symmetric")
    out = restoration.wiener(twice, kernel, balance, reg=np.ones((1, 1), np.float32), clip=False)
    return out[:height, :width] * (255 * (1 + balance))  # a flat image keeps its brightness


def cells(face, blocks):
    """Returns the edges of the cells of a face, of its columns and rows: see cuda/convolve/convolve.h."""
    height, width = face.shape
    longer = (2 * height * blocks + width) // (2 * width)
    return [np.arange(n + 1) * side // n for n, side in ((blocks, width), (longer, height))]


def means(face, columns, rows):
    sums = np.add.reduceat(np.add.reduceat(face, rows[:-1], axis=0), columns[:-1], axis=1)
    return sums / np.outer(np.diff(rows), np.diff(columns))


def smooth_faces(hidden, original, blocks):
    """Returns two pictures of the face that are smooth; the second one has the means of its cells, too. These can be
    read from a mosaic; those of `privacy` are taken as known, too, though they are so only nearly."""
    columns, rows = cells(hidden, blocks)
    known = np.rint(means(original.astype(np.float64), columns, rows))
    out = {}
    face = np.zeros(hidden.shape)
    for n in range(8):
        off = (known - means(face, columns, rows)).astype(np.float32)
        face = face + cv2.resize(off, hidden.shape[::-1], interpolation=cv2.INTER_CUBIC)
        out["bicubic" if n == 0 else "bicubic with the means"] = face
    return out


def undo(runner, whole, hidden, face, way):
    """Returns all attempts, by their names."""
    out = {"as it is": hidden[face]}
    if way == "fill":
        return out
    for sigma in (1, 3):
        out[f"deblur {sigma}"] = runner.kernelcheck(hidden, "GRAY8", "preset=deblur", "noise=0", f"sigma={sigma}",
                                                    stem="irfilter")[face]
    if way.startswith("gauss"):
        # With blurred surroundings, as where the whole frame is.
        blurred = runner.kernelcheck(whole, "GRAY8", *WAYS[way], stem="convolve")
        for balance in (1e-2, 1e-3, 1e-4):
            out[f"Wiener {balance:g}"] = wiener(blurred, gauss_kernel(), balance)[face]
        if hidden.shape[0] < 1000:  # not better than Wiener, and slow
            out["Richardson-Lucy"] = 255 * restoration.richardson_lucy(blurred.astype(np.float32) / 255,
                                                                       gauss_kernel(), num_iter=10)[face]
        return out
    blocks = int(way.split()[1])
    side = max(hidden[face].shape[1] // blocks, 1)
    cell = np.full((side, side), 1 / side ** 2, np.float32)
    out.update(smooth_faces(hidden[face], whole[face], blocks))
    for balance in (1, 1e-1):
        out[f"Wiener {balance:g}"] = wiener(hidden[face], cell, balance)
        out[f"bicubic, Wiener {balance:g}"] = wiener(out["bicubic"], cell, balance)
    return out


# ---- what is left -------------------------------------------------------------------

def correlation(a, b):
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a * a).sum() * (b * b).sum())
    return float((a * b).sum() / size) if size > 1e-3 else 0.0


def small(image):
    """Returns half of a large image, which has all that is compared, to save time."""
    return cv2.resize(image, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA) if image.shape[1] > 400 else image


def detail(image, part):
    return image - cv2.GaussianBlur(image, (0, 0), image.shape[1] / part)


def alike(image, original):
    """Returns the correlations of the brightness, of the features and of the fine detail."""
    image, original = (small(np.clip(one, 0, 255).astype(np.float32)) for one in (image, original))
    return [correlation(image, original)] + [correlation(detail(image, part), detail(original, part))
                                             for part in (8, 32)]


def measure(runner, gray):
    """Prints a table and returns its numbers by (way, size): as hidden, and after the best attempts."""
    print("| hidden by | face | as it is: brightness | features | fine detail | undone: brightness | features "
          "| fine detail | by |\n" + "| --- " * 9 + "|")
    found = {}
    for way, sets in WAYS.items():
        for size, height in SIZES.items():
            whole, face = scene(gray, height)
            hidden = hide(runner, whole, face, sets)
            all_ = {name: alike(image, whole[face]) for name, image in undo(runner, whole, hidden, face, way).items()}
            best = [max(one[i] for one in all_.values()) for i in range(3)]
            by = max(all_, key=lambda name: all_[name][1])
            found[way, size] = best
            print(f"| {way} | {size} | " + " | ".join(f"{v:.2f}" for v in all_["as it is"] + best) + f" | {by} |",
                  flush=True)
    return found


def check(tally, found):
    for (way, size), (brightness, features, fine) in found.items():
        what = f"{way}, {size}: {brightness:.3f} {features:.3f} {fine:.3f}"
        if way == "fill":
            tally.check(brightness == features == fine == 0, what)
        elif way == "privacy 4":
            tally.check(features < 0.4 and fine < 0.15, what)
        elif not way.startswith("gauss"):
            tally.check(features < 0.75 and fine < 0.35, what)
        elif size == "4K":
            tally.check(features > 0.9 and fine > 0.75, what)
    for way in WAYS:
        features = [found[way, size][1] for size in SIZES]
        same = max(features) - min(features) < 0.05
        tally.check(same != way.startswith("gauss"), f"{way}: features by size: {features}")


def main():
    parser = argparse.ArgumentParser()
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--kernelcheck", default=os.path.join(here, "..", "..", "build-tests", "tests", "kernelcheck"))
    parser.add_argument("--backend", default="cpu", choices=("cpu", "cuda", "reference"))
    options = parser.parse_args()
    tally = Tally()
    color = dict(load_images()).get("astronaut.png")
    if color is None:
        print("skipped: scikit-image has no astronaut.png\n0 passed, 0 failed, 1 skipped")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options.kernelcheck, options.backend, folder)
        check(tally, measure(runner, cv2.cvtColor(color, cv2.COLOR_BGR2GRAY)))
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
