#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Hides a face with cudaconvolve's presets, tries to undo that, and says how much of the face comes back: from a small
face, and from one that fills a third of a frame of 1080p and of 4K. Not tried: trained networks.

    undo_privacy.py [--kernelcheck PROGRAM] [--backend cpu|cuda|reference] [--products]

Three correlations with the original, each the best of all attempts: of the brightness, of the brightness less its mean
around each pixel (a Gauss of 1/8 of the face's width: features), and the same with 1/32 (fine detail). What is asserted
is that mosaics and privacy lose the detail at every size, and a blur of a fixed width does not.

--products: beside them what the blurs of other products leave, by their formulas; nothing is asserted of these.

Needs what oracle_opencv.py needs; skipped (77) without it.
"""
import argparse
import collections
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
BALANCES = (1e-2, 1e-3, 1e-4, 1e-5)
WAYS = {
    f"gauss {SIDE}": ["preset=gauss", f"kernel-size={SIDE}", f"sigma={SIGMA}"],
    "mosaic 8": ["preset=mosaic", "blocks=8"],
    "mosaic 4": ["preset=mosaic", "blocks=4"],
    "privacy 8": ["preset=privacy", "blocks=8"],
    "privacy 4": ["preset=privacy", "blocks=4"],
    "fill": ["preset=fill"],
}


def scene(color, height, around=AROUND):
    """Returns the face, `height` pixels high, with its surroundings, and where in that it is."""
    x, y, w, h = FACE
    scale = height / h
    whole = cv2.resize(color[y - around:y + h + around, x - around:x + w + around], None, fx=scale, fy=scale,
                       interpolation=cv2.INTER_CUBIC)
    first = int(around * scale)
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
        for balance in BALANCES:
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


# ---- other products -----------------------------------------------------------------

# What a product makes of a face whose box its detector has found: `hide` gets a picture, the face's place in it, and
# returns the hidden face and the attempts to undo that. The formulas are of the public sources that docs/elements/
# convolve.in.md names, written anew; colours and what lies outside the face are left out.
Product = collections.namedtuple("Product", "name hide")


def undo_blur(part, inner, blur, lines):
    """Hides by a blur of `part`, and undoes it by its kernel. `lines`: the kernel's weights in x and in y. `inner` is
    the face in `part`."""
    hidden = blur(part)
    kernel = np.outer(lines[1], lines[0]).astype(np.float32)
    return hidden[inner], {f"Wiener {balance:g}": wiener(hidden, kernel, balance)[inner] for balance in BALANCES}


def gauss(size, sigma=-1):
    return cv2.getGaussianKernel(size, sigma)[:, 0]


def gvawatermark(part_of_side):
    def hide(whole, face):
        height, width = whole[face].shape
        sizes = [max(7, side // part_of_side) | 1 for side in (width, height)]
        return undo_blur(whole, face, lambda image: cv2.GaussianBlur(image, sizes, 0), [gauss(k) for k in sizes])
    return hide


def savant(whole, face):
    part = np.ascontiguousarray(whole[face])  # a GPU's filter ends at the box
    sigma = min(part.shape) / 10
    size = min(int(4 * sigma + 0.5) | 1, 31)
    return undo_blur(part, np.s_[:, :], lambda image: cv2.GaussianBlur(image, (size, size), sigma),
                     [gauss(size, sigma)] * 2)


def faceblur(whole, face):
    return undo_blur(whole, face, lambda image: cv2.GaussianBlur(cv2.blur(image, (11, 11)), (11, 11), 0),
                     [np.convolve(np.full(11, 1 / 11), gauss(11))] * 2)


def deface(whole, face):
    """The box grows by .3 of the face at each side, and is blurred alone by means of half its width and height."""
    place, inner = [], []
    for side in face:
        more = round(0.3 * (side.stop - side.start))
        place.append(slice(side.start - more, side.stop + more))
        inner.append(slice(more, more + side.stop - side.start))
    part = np.ascontiguousarray(whole[tuple(place)])
    sizes = [side // 2 for side in part.shape[::-1]]
    return undo_blur(part, tuple(inner), lambda image: cv2.blur(image, sizes), [np.full(k, 1 / k) for k in sizes])


def nvdsosd(whole, face):
    """Single samples at 32 x 32 places, the mean of 7 x 7 of these (fewer at the border), enlarged by repetition."""
    corner, sides = [side.start for side in face], whole[face].shape
    rows, columns = (first + (np.arange(32) * side / 32 + 0.5).astype(int) for first, side in zip(corner, sides))
    near = (np.abs(np.subtract.outer(np.arange(32), np.arange(32))) <= 3).astype(np.float64)
    near /= near.sum(axis=1, keepdims=True)
    cells = np.floor(near @ whole[np.ix_(rows, columns)] @ near.T + 1e-9)
    hidden = cells[np.ix_(*(np.arange(side) * 32 // side for side in sides))]
    # All cells can be read, and the means are a known matrix from both sides: least squares, damped.
    u, s, v = np.linalg.svd(near)
    both, offset = np.outer(s, s), cells.mean()
    out = {}
    for damping in (1e-2, 1e-3, 1e-4):
        sharp = v.T @ (u.T @ (cells - offset) @ u * both / (both ** 2 + damping)) @ v + offset
        out[f"least squares {damping:g}"] = cv2.resize(sharp.astype(np.float32), sides[::-1],
                                                       interpolation=cv2.INTER_CUBIC)
    return hidden, out


PRODUCTS = [
    Product("GStreamer: faceblur", faceblur),
    Product("Savant: blur", savant),
    Product("DL Streamer 2026.1: gvawatermark", gvawatermark(5)),
    Product("DL Streamer, later: gvawatermark", gvawatermark(3)),
    Product("DeepStream 9.1: nvdsosd", nvdsosd),
    Product("deface 1.5.0", deface),
]


def products(gray, found):
    """Prints a table of features, as hidden / undone, of other products and of ours."""
    print("| hidden by | " + " | ".join(f"face of {height} pixels" for height in SIZES.values()) + " |\n" + "| --- " *
          (1 + len(SIZES)) + "|")
    for product in PRODUCTS:
        row = []
        for height in SIZES.values():
            whole, face = scene(gray, height, around=40)
            hidden, attempts = product.hide(whole, face)
            left = [alike(image, whole[face])[1] for image in (hidden, *attempts.values())]
            row.append(f"{left[0]:.2f} / {max(left):.2f}")
        print(f"| {product.name} | " + " | ".join(row) + " |", flush=True)
    for way in ("mosaic 4", "fill"):
        print(f"| ours: {way} | " + " | ".join(f"{found[way, size].as_it_is[1]:.2f} / {found[way, size].undone[1]:.2f}"
                                               for size in SIZES) + " |")


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


# Correlations of the brightness, of the features and of the fine detail: as hidden, and the best of all attempts.
Left = collections.namedtuple("Left", "as_it_is undone")


def measure(runner, gray):
    """Prints a table and returns a Left by (way, size)."""
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
            found[way, size] = Left(all_["as it is"], best)
            print(f"| {way} | {size} | " + " | ".join(f"{v:.2f}" for v in all_["as it is"] + best) + f" | {by} |",
                  flush=True)
    return found


def check(tally, found):
    for (way, size), left in found.items():
        brightness, features, fine = left.undone
        what = f"{way}, {size}: {brightness:.3f} {features:.3f} {fine:.3f}"
        if way == "fill":
            tally.check(brightness == features == fine == 0, what)
        elif way in ("mosaic 4", "privacy 4"):
            tally.check(features < 0.4 and fine < 0.15, what)
        elif not way.startswith("gauss"):
            tally.check(features < 0.75 and fine < 0.35, what)
        elif size == "4K":
            tally.check(features > 0.9 and fine > 0.75, what)
    for way in WAYS:
        features = [found[way, size].undone[1] for size in SIZES]
        same = max(features) - min(features) < 0.05
        tally.check(same != way.startswith("gauss"), f"{way}: features by size: {features}")


def main():
    parser = argparse.ArgumentParser()
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--kernelcheck", default=os.path.join(here, "..", "..", "build-tests", "tests", "kernelcheck"))
    parser.add_argument("--backend", default="cpu", choices=("cpu", "cuda", "reference"))
    parser.add_argument("--products", action="store_true")
    options = parser.parse_args()
    tally = Tally()
    color = dict(load_images()).get("astronaut.png")
    if color is None:
        print("skipped: scikit-image has no astronaut.png\n0 passed, 0 failed, 1 skipped")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options.kernelcheck, options.backend, folder)
        gray = cv2.cvtColor(color, cv2.COLOR_BGR2GRAY)
        found = measure(runner, gray)
        check(tally, found)
        if options.products:
            products(gray, found)
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
