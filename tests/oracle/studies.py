#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Studies that are run by hand: what the filters make of pictures. Each prints a table, or writes it into a page.

    studies.py NAME [--kernelcheck PROGRAM] [--gpu NAIVE.json] [--page PAGE.md]

salt: what medians leave of salt and pepper, by its density, the window, the threshold, and how often they are applied.
packed: colours that a median makes up, and what it leaves of noise, with color-order=packed and per channel.
tiles: regions that grow inside tiles, beside those of cudasegment, which grow over the whole picture.
similarity, weak: what cudasegment's seed-similarity, weak-fraction and weak-difference change in photographs.
naive: how many times faster than sequential C cudairfilter and cudasegment are on one core, for a page of this machine;
with the file that the program naive (tests/bench/naive.cu) writes on a GPU, beside that GPU's kernels.

Needs what oracle_opencv.py needs.
"""
import argparse
import datetime
import json
import os
import sys
import tempfile
import textwrap

import oracle_opencv as oracle  # first: it finds a Python that has the libraries

import cv2
import numpy as np
import oracle_segment

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(ROOT, "docs", "performance"))
import page  # noqa: E402

PICTURES = ("astronaut.png", "camera.png", "chelsea.png", "coffee.png", "motorcycle_left.png", "rocket.jpg")


def pictures():
    """Returns (name, picture) of photographs of scikit-image, in BGR, of at most 611 x 420 pixels."""
    return [(name.split(".")[0], image) for name, image in oracle.load_images() if name in PICTURES]


# ---- salt and pepper --------------------------------------------------------

DENSITIES = (1, 5, 10, 20, 30, 40)  # percent of the pixels
TIMES = {1: "once", 2: "twice", 3: "three times"}


def salted(image, percent):
    """Returns the picture with so many percent of its pixels black or white."""
    dice = np.random.default_rng(percent).random(image.shape)
    return np.where(dice < percent / 200, 0, np.where(dice < percent / 100, 255, image)).astype(np.uint8)


def salt(runner):
    grays = [cv2.cvtColor(image, cv2.COLOR_BGR2GRAY) for _, image in pictures()]
    noisy = {percent: [salted(gray, percent) for gray in grays] for percent in DENSITIES}

    def row(name, found):
        return [name, *(f"{np.mean([cv2.PSNR(*pair) for pair in zip(grays, found[percent])]):.1f}"
                        for percent in DENSITIES)]

    rows = [row("as it is", noisy)]
    for threshold in (0, 40):
        for size in (3, 5, 7):
            found = noisy
            for times, words in TIMES.items():
                found = {percent: [runner.kernelcheck(one, "GRAY8", f"kernel-size={size}", f"threshold={threshold}")
                                   for one in some] for percent, some in found.items()}
                rows.append(row(f"kernel-size={size}{f' threshold={threshold}' if threshold else ''}, {words}", found))
    for column in range(1, len(DENSITIES) + 1):
        most = max(float(cells[column]) for cells in rows)
        for cells in rows:
            cells[column] = f"**{cells[column]}**" if float(cells[column]) == most else cells[column]
    return ("Salt and pepper",
            f"PSNR in dB, the mean of {len(grays)} photographs of scikit-image in gray, with so many percent of "
            "the pixels black or white. **Bold**: the best of a column.",
            ["cudamedian", *(f"{percent} %" for percent in DENSITIES)], rows)


# ---- packed colours ----------------------------------------------------------

def seen_in_window(image, size):
    """Yields the picture moved to each place of the window; beyond its border lies the nearest pixel."""
    height, width = image.shape[:2]
    padded = np.pad(image, size // 2, "edge")
    for y in range(size):
        for x in range(size):
            yield padded[y:y + height, x:x + width]


def packed(runner):
    rows = []
    images = [image for name, image in pictures() if name != "camera"]  # which is gray
    for size in (3, 7, 15):
        for order in ("per-channel", "packed"):
            shares, worths = [], []
            for image in images:
                def median(one):
                    return runner.kernelcheck(one, "BGR", f"kernel-size={size}", f"color-order={order}")

                number = image.astype(int) @ (1, 256, 65536)
                got = median(image).astype(int) @ (1, 256, 65536)
                old = np.zeros(number.shape, bool)
                for moved in seen_in_window(number, size):
                    old |= got == moved
                shares.append((100 * (~old).mean(), 100 * (~np.isin(got, number)).mean()))
                spots = salted(np.full_like(image[..., :1], 128), 10)
                noisy = (np.where(spots == 128, image, spots), salted(image, 10),
                         oracle_segment.noisy(np.random.default_rng(1), image, 10))
                worths.append([cv2.PSNR(image, median(one)) for one in noisy])
            rows.append([f"kernel-size={size}, {order}", *("%.1f" % value for value in np.mean(shares, 0)),
                         *("%.1f" % value for value in np.mean(worths, 0))])
    return ("Packed colours",
            f"Means of {len(images)} photographs of scikit-image in colour. New colours: percent of the pixels whose "
            "colour no pixel of the window, or of the whole picture, has in the input. Then the PSNR in dB to the "
            "picture after 10 % of its pixels became black or white, after 10 % of the samples of each channel did, "
            "and after Gaussian noise of 10 levels.",
            ["cudamedian", "new in the window, %", "in the picture, %", "PSNR: bad pixels", "bad samples", "noise"],
            rows)


# ---- segmentation -----------------------------------------------------------

def segmented(runner, *sets):
    """Returns the labels of the pictures, each by itself."""
    return [oracle_segment.labels(runner, image, *sets) for _, image in pictures()]


def figures(found):
    """Returns the means over the pictures: regions, explained variance, F of the borders, share of the largest."""
    return np.mean([(label.max() + 1, oracle_segment.explained(image, label),
                     oracle_segment.border_f(oracle_segment.edges_of(image), label),
                     np.bincount(label.ravel()).max() / label.size)
                    for (_, image), label in zip(pictures(), found)], 0)


EXPLAINED = ("Explained variance, how much of the colours' variance is between the regions' means, and F of the "
             "borders against Canny's edges: means of {} photographs of scikit-image. ")


def similarity(runner):
    rows = []
    for threshold in (.03, .05, .07, .1, .15, .2, .3, .5, 1):
        off, on = (segmented(runner, f"seed-threshold={threshold}", f"seed-similarity={value}")
                   for value in ("false", "true"))
        same = [100 * oracle_segment.covering(a, b) for a, b in zip(off, on)]
        rows.append([threshold, *("%.0f, %.3f, %.3f" % tuple(figures(found)[:3]) for found in (off, on)),
                     f"{np.mean(same):.1f}, {min(same):.1f}"])
    return ("seed-similarity", EXPLAINED.format(len(off)) +
            "Covering: how much of the regions without it those with it cover, the mean and the least of a photograph.",
            ["seed-threshold", "regions, explained, F: without", "with seed-similarity", "covering, %"], rows)


def weak(runner):
    differences = (.01, .03, .05, .1)
    rows = [["1 (off)", *["%.0f, %.3f, %.3f, %.0f %%" % (*was[:3], 100 * was[3])
                          for was in [figures(segmented(runner))]], *["the same"] * (len(differences) - 1)]]
    for fraction in (.5, .4, .3, .2, .1):
        rows.append([fraction])
        for difference in differences:
            *was, largest = figures(segmented(runner, f"weak-fraction={fraction}", f"weak-difference={difference}"))
            rows[-1].append("%.0f, %.3f, %.3f, %.0f %%" % (*was, 100 * largest))
    return ("Weak borders", EXPLAINED.format(len(pictures())) + "In each cell: regions, explained variance, F, and the "
            "share of the largest region.",
            ["weak-fraction", *(f"weak-difference={one}" for one in differences)], rows)


# ---- growth inside tiles -----------------------------------------------------

def relative(p, mean):
    """Returns the relative distance of colours from a mean."""
    return np.sqrt(((p - mean) ** 2).sum(-1) / np.maximum((p ** 2).sum(-1), 1e-9))


def grown_in_tiles(p, side, t):
    """Grows one region in each tile of side x side from its centre, all neighbours at once, as long as one is nearer
    than t to the mean. Returns the mask of the pixels that are in their tile's region."""
    down, across = p.shape[0] // side, p.shape[1] // side
    tiles = p.reshape(down, side, across, side, 3).swapaxes(1, 2)
    grown = np.zeros(tiles.shape[:4], bool)
    grown[:, :, side // 2, side // 2] = True
    while True:
        inside = grown[..., None]
        mean = (tiles * inside).sum((2, 3), keepdims=True) / inside.sum((2, 3), keepdims=True)
        framed = np.pad(grown, ((0, 0), (0, 0), (1, 1), (1, 1)))
        beside = (framed[:, :, :-2, 1:-1] | framed[:, :, 2:, 1:-1] | framed[:, :, 1:-1, :-2] |
                  framed[:, :, 1:-1, 2:])
        more = beside & ~grown & (relative(tiles, mean) < t)
        if not more.any():
            return grown.swapaxes(1, 2).reshape(p.shape[:2])
        grown |= more


def joined_tiles(p, grown, side, t):
    """Joins the regions of neighbouring tiles whose means are nearer than t: from the lower left to the right and up,
    then back. Returns the label of each pixel, 0 where it is in no region."""
    down, across = p.shape[0] // side, p.shape[1] // side
    tile = np.arange(down).repeat(side)[:, None] * across + np.arange(across).repeat(side)
    count = np.bincount(tile.ravel(), grown.ravel())
    total = np.stack([np.bincount(tile.ravel(), (p[..., k] * grown).ravel()) for k in range(3)], -1)
    region = np.arange(down * across)
    for rows, columns, step in ((range(down - 1, -1, -1), range(across), (-1, 1)),
                                (range(down), range(across - 1, -1, -1), (1, -1))):
        for y in rows:
            for x in columns:
                for other_y, other_x in ((y, x + step[1]), (y + step[0], x)):
                    if not (0 <= other_y < down and 0 <= other_x < across):
                        continue
                    a, b = region[y * across + x], region[other_y * across + other_x]
                    if a != b and relative(total[b] / count[b], total[a] / count[a]) < t:
                        region[region == b] = a
                        count[a] += count[b]
                        total[a] += total[b]
    return np.where(grown, region[tile] + 1, 0)


def tiles(runner):
    images = []
    for _, image in pictures():
        images.append(image[:image.shape[0] // 80 * 80, :image.shape[1] // 80 * 80])

    def row(name, found):
        """`found`: labels from 0 on; a pixel of label 0 is in no region, and nothing of it is explained."""
        values = []
        for image, label in zip(images, found):
            p = oracle_segment.ycbcr(image)
            label = np.unique(label, return_inverse=True)[1].reshape(label.shape) + (label.min() > 0)
            mean = np.stack([np.bincount(label.ravel(), p[..., k].ravel()) /
                             np.maximum(np.bincount(label.ravel()), 1) for k in range(3)], -1)
            mean[0] = p.mean((0, 1))
            rest = ((p - mean[label]) ** 2).sum() / ((p - p.mean((0, 1))) ** 2).sum()
            values.append((label.max(), 100 * (label == 0).mean(), 1 - rest,
                           oracle_segment.border_f(oracle_segment.edges_of(image), label)))
        rows.append([name, *(form % value for form, value in zip(("%.0f", "%.1f", "%.3f", "%.3f"),
                                                                  np.mean(values, 0)))])

    rows = []
    for side in (16, 20):
        for t in (.1, .2, .4):
            grown = [grown_in_tiles(oracle_segment.ycbcr(image), side, t) for image in images]
            row(f"tiles of {side} x {side}, growth up to {t}, joined up to .1",
                [joined_tiles(oracle_segment.ycbcr(image), one, side, .1) for image, one in zip(images, grown)])
    for sets in ((), ("max-regions=85",), ("max-regions=50",)):
        row(" ".join(("cudasegment", *sets)), [oracle_segment.labels(runner, image, *sets) + 1 for image in images])
    return ("Growth inside tiles",
            f"Means of {len(images)} photographs of scikit-image. Tiles: the centre of each tile is a seed, its region "
            "grows inside the tile alone, and regions of neighbouring tiles with similar means join, as in the thesis "
            "of J. Barriuso (2011). Of a pixel without a region nothing is explained.",
            ["", "regions", "pixels without one, %", "explained variance", "F of the borders"], rows)


# ---- sequential C ------------------------------------------------------------

SIZES = ((320, 240), (640, 480), (1920, 1080))


def recursive(m):
    """Returns the settings of a set of m x m weights whose response is longer than any frame here is wide."""
    def square(first, other):
        return ";".join(" ".join(str(first if k + l == 0 else other) for l in range(m)) for k in range(m))

    return f"numerator={square(.005 / m ** 2, .005 / m ** 2)}", f"denominator={square(0, .98 / (m * m - 1))}"


def shortest(runner, backend, stem, image, sets, repeats):
    """Returns the shortest processor time of a frame in ms, the result, and the instruction set."""
    command = [runner.program, "--filter", stem, "--format", "GRAY8", "--size", f"{image.shape[1]}x{image.shape[0]}",
               "--in", os.path.join(runner.folder, "in"), "--out", os.path.join(runner.folder, "out"), "--backend",
               backend, "--repeat", str(repeats), "--cpu-time", *(word for one in sets for word in ("--set", one))]
    image.tofile(command[8])
    out, said = runner.result(command, command[10], image)
    if out is None:
        sys.exit(said)
    us, *_, isa = said.split()
    return float(us) / 1e3, out, isa


def gpu_times(path):
    """Returns {(filter, m or a cell's side): milliseconds} of 1080p from the JSON of naive.cu, and where that ran."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    return ({(row["filter"].split()[0], row["size"]): row["ours_us"] / 1e3 for row in report["rows"]},
            f" GPU: kernels alone, on one {report['gpu']}, {report['date']}, of the frame in tests/bench/naive.cu.")


def naive(runner, gpu):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    on_gpu, where = gpu_times(gpu) if gpu else ({}, "")
    gray, rows = cv2.cvtColor(dict(pictures())["coffee"], cv2.COLOR_BGR2GRAY), []
    for name, stem, sets in (*((f"cudairfilter, m = {m}", "irfilter", recursive(m)) for m in (3, 5, 8)),
                             ("cudasegment temporal=0", "segment", ("temporal=0",))):
        for size in SIZES:
            image = cv2.resize(gray, size, interpolation=cv2.INTER_AREA if size[0] < 611 else cv2.INTER_CUBIC)
            slow, expected, _ = shortest(runner, "reference", stem, image, sets, 1)
            fast, got, isa = shortest(runner, "cpu", stem, image, sets, 200)
            if not np.array_equal(got, expected):
                sys.exit(f"{name} is not what the reference gives")
            rows.append([name, f"{size[0]} x {size[1]}", f"{slow:.3g}", f"{fast:.3g} (x {slow / fast:.3g})"])
            if gpu:
                # A cell of 1080p is 2 x 2 pixels.
                ms = on_gpu["cuda" + stem, int(name[-1]) or 2] if size == SIZES[-1] else 0
                rows[-1].append(f"{ms:.3g} (x {slow / ms:.0f})" if ms else "-")
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    return ("Speed-up over sequential C: recursive filter, segmentation",
            f"Milliseconds of processor time for a frame of GRAY8, the photograph coffee at that size, and how many "
            f"times faster than sequential C that is. Sequential C is the tests' reference, sample by sample straight "
            f"from the contract; results are the same. One core of {cpu} ({isa}), the least of as many runs as fit "
            f"into 3 seconds (sequential C: of 2).{where}",
            ["filter", "frame", "sequential C", "one core", *(["GPU"] if gpu else [])], rows)


STUDIES = {"salt": salt, "packed": packed, "similarity": similarity, "weak": weak, "tiles": tiles, "naive": naive}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=STUDIES)
    parser.add_argument("--kernelcheck", default=os.path.join(ROOT, "build-tests", "tests", "kernelcheck"))
    parser.add_argument("--gpu", metavar="NAIVE.json")
    parser.add_argument("--page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        more = (options.gpu,) if options.name == "naive" else ()
        heading, text, head, rows = STUDIES[options.name](oracle.Runner(options.kernelcheck, "cpu", folder), *more)
    text = textwrap.fill(f"{text} Written on {datetime.date.today()} by `tests/oracle/studies.py {options.name}`.", 120,
                         break_on_hyphens=False)
    text = f"## {heading}\n\n{text}\n\n{page.table(head, rows)}"
    if options.page:
        page.replace(options.page, f"picture {options.name}", text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
