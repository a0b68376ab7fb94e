#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Measures where the segmentation's borders lie, how they hold under noise, and what it separates; beside other methods
as their libraries have them, untuned.

    borders.py [--ours PROGRAM] [--set NAME=VALUE]... [--bsds DIR] [--seed N] [--no-peers] [--markdown] [PART...]
    borders.py --quick [--ours PROGRAM]

PART: truth, photographs, defaults, noise, static, street, halves; without one, all. PROGRAM: tests/tools/labels.c of
build-tests, or any other that reads and writes the same: so a prototype is measured beside the filter. --set: of all
runs. DIR: BSDS500's data (images/val/*.jpg, groundTruth/val/*.mat), in place of drawn pictures. --seed: other drawn
pictures, to choose defaults by; those that are reported have seed 1. --quick: the filter alone on a few pictures, and
bounds that must hold.

The metrics are those of Stutz, Hermans & Leibe, "Superpixels: an evaluation of the state of the art" (2018). With
regions S, the truth's regions G and N pixels (where people drew several truths, the mean over these):
  undersegmentation   1/N sum over S and G that overlap of min (|S & G|, |S - G|) (Neubert & Protzel 2012)
  recall              of the pixels at a border of the truth, those that have a border of S in the 5 x 5 pixels around
                      them (2 pixels: .0025 of the diagonal, rounded up); a pixel is at a border if one of its four
                      neighbours is of another region
  variation           explained: variance of the regions' means of B, G and R in the picture's
  accuracy            achievable: 1/N sum over S of max |S & G|
  compactness         1/N sum over S of |S| 4 pi |S| / perimeter^2, in edges of pixels (Schick et al. 2012)
and besides
  largest             the largest region's share of the pixels
  scraps              the share of the regions that have fewer than 50 pixels
  covering            of G by S: 1/N sum over G of |G| max |S & G| / |S | G| (Arbelaez et al. 2011)
At equal numbers of regions: for each picture interpolated in the logarithm of the number; where a method gives no more
regions, or no fewer, its last figures count. Times are of a processor.

Needs what oracle_opencv.py needs, and for SLIC, SEEDS and LSC opencv-contrib-python-headless; skipped (77) without it.
"""
import argparse
import glob
import os
import queue
import subprocess
import sys
import threading
import time

from oracle_opencv import Tally

import cv2
import numpy as np
from scipy import io, ndimage
from skimage import segmentation

import drawn
from oracle_segment import clip_paths, covering, noisy, still

COUNTS = (50, 100, 200, 400, 800)
ASKED = (20, 40, 80, 160, 320, 640, 1280)
MERGING = (.12, .06, .03, .2)  # merge-threshold: the default, then lower ones where a picture needs them
SCALES = (10, 30, 100, 300, 1000, 3000, 10000)  # of felzenszwalb, which is asked by a scale
METRICS = ("undersegmentation", "recall", "variation", "accuracy", "compactness", "largest", "scraps", "covering")


def compact(label):
    """Returns labels, which are not negative, as 0 .. n - 1."""
    there = np.zeros(int(label.max()) + 1, bool)
    there[label] = True
    return (np.cumsum(there) - 1)[label]


# ---- the filter ------------------------------------------------------------------

class Ours:
    """The program of --ours. Its last run's processor time of a picture is in `us`, None if it does not say."""

    def __init__(self, program, sets):
        if not os.access(program, os.X_OK):
            raise SystemExit(f"{program} cannot be run; ninja -C build-tests tests/labels makes the filter's")
        self.program, self.sets, self.us = program, sets, None

    def labels(self, pictures, *sets):
        """Yields the ids of each picture of an iterable, segmented one after the other as frames of a video."""
        command, shapes = [self.program, *sets, *self.sets], queue.Queue()

        def feed(pipe):
            try:
                for picture in pictures:
                    height, width = picture.shape[:2]
                    pipe.write(f"P6\n{width} {height}\n255\n".encode() + picture[..., ::-1].tobytes())
                    shapes.put((height, width))
                pipe.close()
            except BrokenPipeError:
                pass
            finally:
                shapes.put(None)

        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            feeder = threading.Thread(target=feed, args=(run.stdin,))
            feeder.start()
            whole = True
            for height, width in iter(shapes.get, None):
                data = run.stdout.read(4 * height * width)
                whole = len(data) == 4 * height * width
                if not whole:
                    break
                yield np.frombuffer(data, "<i4").reshape(height, width)
            run.stdout.close()
            feeder.join()
            said = run.stderr.read().decode().strip()
        if run.returncode or not whole:
            raise SystemExit(f"{' '.join(command)}: {said or 'fewer labels than pixels'}")
        self.us = float(said.split()[-2]) if said.endswith(" us") else None

    def alone(self, pictures, *sets):
        """Returns the labels of pictures that have nothing to do with each other."""
        return [compact(label) for label in self.labels(pictures, "temporal=0", *sets)]


# ---- other methods ---------------------------------------------------------------

def superpixels(picture, n, make, enforce=True):
    """Segments with one of OpenCV's ximgproc, in CIELAB."""
    lab = cv2.cvtColor(picture, cv2.COLOR_BGR2Lab)
    found = make(lab, n, max(2, round((lab.shape[0] * lab.shape[1] / n) ** .5)))
    if enforce:
        found.iterate(10)
        found.enforceLabelConnectivity()
    else:
        found.iterate(lab, 10)
    return found.getLabels()


def slic(picture, n):
    return superpixels(picture, n, lambda lab, n, side: cv2.ximgproc.createSuperpixelSLIC(lab, region_size=side))


def lsc(picture, n):
    return superpixels(picture, n, lambda lab, n, side: cv2.ximgproc.createSuperpixelLSC(lab, region_size=side))


def seeds(picture, n):
    return superpixels(picture, n, lambda lab, n, side: cv2.ximgproc.createSuperpixelSEEDS(
        lab.shape[1], lab.shape[0], 3, n, 4), False)


def felzenszwalb(picture, scale):
    return segmentation.felzenszwalb(picture[..., ::-1], scale=scale)


def watershed(picture, n):
    gray = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY).astype(float)
    return segmentation.watershed(ndimage.gaussian_gradient_magnitude(gray, 1), markers=n)


def peers():
    """Returns the other methods by name: a function of a picture and a setting, and the settings."""
    found = {"SLIC (OpenCV)": (slic, ASKED[1:]), "LSC (OpenCV)": (lsc, ASKED[1:]),
             "SEEDS (OpenCV)": (seeds, ASKED[1:])}
    if not hasattr(cv2, "ximgproc"):
        print("OpenCV has no ximgproc here: without SLIC, LSC and SEEDS of it")
        found = {}
    found["slic (scikit-image)"] = (lambda picture, n: segmentation.slic(picture[..., ::-1], n_segments=n), ASKED[1:])
    found["felzenszwalb"] = (felzenszwalb, SCALES)
    found["watershed"] = (watershed, ASKED[1:])
    return found


# ---- metrics ---------------------------------------------------------------------

def at_border(label):
    """Returns which pixels have one of four neighbours of another region."""
    border = np.zeros(label.shape, bool)
    for a, b in ((np.s_[:, 1:], np.s_[:, :-1]), (np.s_[1:], np.s_[:-1])):
        differ = label[a] != label[b]
        border[a] |= differ
        border[b] |= differ
    return border


def perimeters(label, n):
    """Returns how many edges of pixels each region has to others and to the frame's border."""
    framed, around = np.pad(label, 1, constant_values=-1), np.zeros(label.shape, np.int64)
    for part in (framed[:-2, 1:-1], framed[2:, 1:-1], framed[1:-1, :-2], framed[1:-1, 2:]):
        around += label != part
    return np.bincount(label.ravel(), around.ravel(), n)


def against(label, sizes, truth):
    """Returns undersegmentation, recall, accuracy and covering."""
    n, m = sizes.size, truth.max() + 1
    both = np.bincount((label.astype(np.int64) * m + truth).ravel(), minlength=n * m).reshape(n, m)
    border = at_border(truth)
    near = cv2.dilate(at_border(label).astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    union = sizes[:, None] + both.sum(0) - both
    return np.array((np.minimum(both, sizes[:, None] - both)[both > 0].sum() / label.size,
                     near[border].mean() if border.any() else 1, both.max(1).sum() / label.size,
                     ((both / union).max(0) * both.sum(0)).sum() / label.size))


def measure(picture, truths, label):
    """Returns the number of regions and the METRICS of labels 0 .. n - 1."""
    sizes, at, pixels = np.bincount(label.ravel()), label.ravel(), picture.reshape(-1, 3).astype(float)
    means = np.stack([np.bincount(at, pixels[:, k]) / sizes for k in range(3)], 1)
    between = (sizes[:, None] * (means - pixels.mean(0)) ** 2).sum()
    round_ = (sizes * 4 * np.pi * sizes / perimeters(label, sizes.size) ** 2).sum() / label.size
    missed, recall, accuracy, covered = np.mean([against(label, sizes, truth) for truth in truths], 0) \
        if truths else [np.nan] * 4
    return np.array((sizes.size, missed, recall, between / ((pixels - pixels.mean(0)) ** 2).sum(), accuracy, round_,
                     sizes.max() / label.size, (sizes < 50).mean(), covered))


def at_counts(rows, counts):
    """Returns the METRICS of one picture at these numbers of regions, from its rows of `measure` by setting."""
    rows = rows[np.unique(rows[:, 0], return_index=True)[1]]
    return np.stack([np.interp(np.log(counts), np.log(rows[:, 0]), rows[:, k]) for k in range(1, rows.shape[1])], 1)


# ---- tables ----------------------------------------------------------------------

class Report:
    def __init__(self, markdown):
        self.markdown = markdown

    def say(self, text):
        print(text + "\n" * self.markdown, flush=True)

    def table(self, title, head, rows):
        rows = [[title if self.markdown else "", *head], *[[cell(value) for value in row] for row in rows]]
        if self.markdown:
            rows[1:1] = [["---"] * len(rows[0])]
            lines = ["| " + " | ".join(row) + " |" for row in rows]
        else:
            widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
            lines = ["  ".join(text.ljust(w) if k == 0 else text.rjust(w) for k, (text, w) in
                               enumerate(zip(row, widths))) for row in rows]
            lines.insert(0, title)
        print("\n".join(lines) + "\n", flush=True)


def cell(value):
    """Returns a text as it is, a whole number, or a figure with three digits; "-" for one that is not known."""
    if isinstance(value, str):
        return value
    if np.isnan(value):
        return "-"
    if isinstance(value, (int, np.integer)) or abs(value) >= 10:
        return f"{value:.0f}"
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"


# ---- equal numbers of regions ----------------------------------------------------

def bsds(folder):
    """Yields BSDS500's pictures of its part val, and the truths of each."""
    paths = sorted(glob.glob(os.path.join(folder, "images", "val", "*.jpg")))
    if not paths:
        raise SystemExit(f"{folder}: there is no images/val/*.jpg; it has to be the folder data of BSDS500")
    for path in paths:
        name = os.path.splitext(os.path.basename(path))[0]
        people = io.loadmat(os.path.join(folder, "groundTruth", "val", name + ".mat"))["groundTruth"][0]
        yield cv2.imread(path), [compact(one["Segmentation"][0, 0]) for one in people]


def measure_ours(ours, pictures, merging, asked):
    """Returns the rows of `measure`, [picture, merge-threshold, max-regions], and the mean time."""
    rows, times = [], []
    for threshold in merging:
        for n in asked:
            found = ours.alone([p for p, _ in pictures], f"merge-threshold={threshold:g}", f"max-regions={n}")
            rows.append([measure(*picture, label) for picture, label in zip(pictures, found)])
            times.append(ours.us)
    rows = np.array(rows).reshape(len(merging), len(asked), len(pictures), -1).transpose(2, 0, 1, 3)
    return rows, np.mean(times) / 1000 if None not in times else np.nan


def measure_peer(method, settings, pictures):
    """Returns the rows of `measure`, [picture, setting], and the mean time."""
    rows, spent = [], 0
    for picture, truths in pictures:
        for setting in settings:
            begin = time.process_time()
            label = method(picture, setting)
            spent += time.process_time() - begin
            rows.append(measure(picture, truths, compact(label)))
    return np.array(rows).reshape(len(pictures), len(settings), -1), 1000 * spent / len(rows)


def sufficient(rows, asked):
    """Returns of one picture's rows [merge-threshold, max-regions] one for each max-regions: that of the first
    threshold which leaves as many regions, within 5 %, else that with the most."""
    best = [next((k for k in range(len(rows)) if rows[k, i, 0] >= .95 * n), int(rows[:, i, 0].argmax()))
            for i, n in enumerate(asked)]
    return rows[best, np.arange(len(asked))]


def check_counts(report, ours, pictures, others, what=""):
    """Prints the metrics at equal numbers of regions: those that need no truth where the pictures have none."""
    grid, spent = measure_ours(ours, pictures, MERGING, ASKED)
    tables = {"the filter": np.array([sufficient(rows[:3], ASKED) for rows in grid])}
    whole, times = {"the filter": grid.reshape(len(pictures), -1, grid.shape[-1])}, {"the filter": spent}
    for name, (method, settings) in others.items():
        tables[name], times[name] = measure_peer(method, settings, pictures)
        whole[name] = tables[name]
    figures = {name: np.mean([at_counts(one, COUNTS) for one in rows], 0) for name, rows in tables.items()}
    for k, metric in enumerate(METRICS[:-1]):
        if not np.isnan(figures["the filter"][0, k]):
            report.table(f"{what}{metric} at this many regions", [str(n) for n in COUNTS],
                         [(name, *f[:, k]) for name, f in figures.items()])
    rows = []
    for name, table in tables.items():
        given = [str(round(n)) for n in table[..., 0].mean(0)]
        rows.append((name, *["-"] * (len(ASKED) - len(given)), *given, times[name]))
    report.table(f"{what}regions when asked for", [str(n) for n in ASKED] + ["ms a picture"], rows)
    if "felzenszwalb" in others:
        report.say(f"felzenszwalb: with the scales {', '.join(str(s) for s in SCALES)}.")
    if pictures[0][1]:
        report.table("covering of the truth, whole segmentations", ("one setting", "the best of each"),
                     [(name, rows[..., -1].mean(0).max(), rows[..., -1].max(1).mean()) for name, rows in whole.items()])


def check_defaults(report, ours, kinds):
    """Prints the metrics at the default settings, and those of the truth itself. kinds: pictures by what they are."""
    rows = []
    for what, some in kinds.items():
        found = ours.alone([picture for picture, _ in some])
        ways = {what: found, what + ", the truth": [truths[0] for _, truths in some]} if some[0][1] else {what: found}
        for name, labels in ways.items():
            figures = np.array([measure(*one, label) for one, label in zip(some, labels)])
            over = sum(row[6] > .4 and not any(np.bincount(t.ravel()).max() > .4 * t.size for t in truths)
                       for row, (_, truths) in zip(figures, some))
            mean = figures.mean(0)
            rows.append((name, str(round(mean[0])), *mean[1:], figures[:, 6].max(), f"{over} of {len(some)}"))
    report.table("defaults", ("regions", *METRICS, "largest of all", "over .4"), rows)
    report.say("over .4: pictures with a region of more than .4, though the truth has none.")


# ---- noise -----------------------------------------------------------------------

def check_noise(report, ours, pictures, with_peers):
    """Prints the covering of a clean picture's regions by those of the same with noise of sigma 2. Returns the
    filter's, by the settings' names."""
    dice = np.random.default_rng(2)
    pairs = [(picture, noisy(dice, picture, 2)) for picture in pictures]
    ways = {"50": ("max-regions=50",), "200": ("max-regions=200",), "default": ()}
    rows = [["the filter"]]
    for sets in ways.values():
        both = [ours.alone([pair[k] for pair in pairs], *sets) for k in (0, 1)]
        rows[0] += said_covering(zip(*both))
    others = [("felzenszwalb", felzenszwalb, (1000, 200))]
    if hasattr(cv2, "ximgproc"):
        others.insert(0, ("SLIC (OpenCV)", slic, (50, 200)))
    for name, method, settings in others if with_peers else ():
        rows.append([name])
        for setting in settings:
            rows[-1] += said_covering([compact(method(one, setting)) for one in pair] for pair in pairs)
        rows[-1] += ["-", "-"]
    report.table("covering of clean by noisy, and regions of the clean", ("50", "", "200", "", "default", ""), rows)
    return dict(zip(ways, rows[0][1::2]))


def said_covering(pairs):
    """Returns the mean covering of pairs of labels, and the mean number of regions of the first."""
    found = [(covering(a, b), a.max() + 1) for a, b in pairs]
    return [float(np.mean([c for c, _ in found])), str(round(np.mean([n for _, n in found])))]


def check_static(report, ours, pictures, n):
    """Prints the percentage of the pixels of static noisy scenes whose id changes a frame. Returns the mean."""
    rows = []
    for name, picture in pictures.items():
        dice, changed, last = np.random.default_rng(3), [], None
        for label in ours.labels((noisy(dice, picture, 2) for _ in range(n))):
            if last is not None:
                changed.append(100 * (label != last).mean())
            last = label
        rows.append((name, float(np.mean(changed)), float(max(changed)), float(np.mean(changed[len(changed) // 2:]))))
    report.table(f"% of pixels whose id changes a frame, {n} frames, noise of sigma 2",
                 ("mean", "worst frame", "second half"), rows)
    return float(np.mean([row[1] for row in rows]))


def clip(path, n):
    """Yields the first frames of a video file."""
    capture = cv2.VideoCapture(path)
    for _ in range(n):
        good, frame = capture.read()
        if not good:
            return
        yield frame


def check_street(report, ours):
    """Prints the same of pixels without motion within 10 pixels of the street camera vtest.avi (oracle_segment.py)."""
    paths = clip_paths()
    if not paths:
        report.say("vtest.avi of OpenCV's samples was not found.")
        return
    changed, last, before = [], None, None
    for frame, label in zip(clip(paths[0], 400), ours.labels(clip(paths[0], 400))):
        if last is not None:
            changed.append(float(100 * (label != last)[still(before, frame)].mean()))
        last, before = label, frame
    report.table("% of pixels without motion whose id changes a frame", ("mean", "worst frame"),
                 [(f"{os.path.basename(paths[0])}, {len(changed) + 1} frames", np.mean(changed), max(changed))])


# ---- two halves ------------------------------------------------------------------

CONTRASTS, RAMPS, NOISES = (6, 8, 12, 16, 24, 32, 40), (0, 1, 2, 4, 8, 16), (0, 2)
LEVELS = {"16": 16, "40": 40, "100": 100, "180": 180, "Cb": None}
HALVES = ((), ("seeds=40,160;280,160",), ("seed-threshold=0.02",), ("seed-threshold=0.03",), ("merge-threshold=0",),
          ("merge-threshold=0.03",), ("merge-threshold=0.06",), ("seed-threshold=0.02", "merge-threshold=0.03"),
          ("seed-threshold=0.03", "merge-threshold=0.06"),
          ("seeds=40,160;280,160", "max-regions=1"), ("weak-fraction=0.3",))


def right(label):
    """Returns the share of the pixels that are right if the best two regions stand for the halves; .5: one region."""
    n = label.max() + 1
    sides = np.stack([np.bincount(half.ravel(), minlength=n) for half in (label[:, :160], label[:, 160:])])
    best = np.argsort(-sides, 1)[:, :2]
    pairs = [sides[0, i] + sides[1, j] for i in best[0] for j in best[1] if i != j]
    return max(pairs, default=label.size / 2) / label.size


def check_halves(report, ours, settings, levels, contrasts, ramps):
    """Prints what is separated: halves of which 95 % of the pixels are right. Returns the share of all cases that the
    first settings separate."""
    cases = [(level, c, ramp, sigma) for level in levels.values() for c in contrasts for ramp in ramps
             for sigma in NOISES]
    pictures = [drawn.halves(*case) for case in cases]
    least, shares = [], []
    for sets in settings:
        done = np.array([right(label) >= .95 for label in ours.alone(pictures, *sets)])
        done = done.reshape(len(levels), len(contrasts), len(ramps), len(NOISES))
        name = " ".join(sets) or "defaults"
        shares.append((name, *done.mean((1, 2, 3)), done.mean()))
        for k, sigma in enumerate(NOISES):
            # From the least contrast on, all greater ones are separated.
            first = len(contrasts) - np.logical_and.accumulate(done[:, ::-1, :, k], 1).sum(1)
            least.append((f"{name}, noise {sigma}",
                          *(" ".join(str(contrasts[i]) if i < len(contrasts) else "-" for i in row) for row in first)))
    ramps_said = " ".join(str(r) for r in ramps)
    report.table("share of two halves separated, by the level of the left one", (*levels, "all"), shares)
    report.table(f"least contrast separated, for a border of {ramps_said} pixels; -: none", tuple(levels), least)
    return shares[0][-1]


# ---- all -------------------------------------------------------------------------

# What the filter of 2026-11 holds with --quick, with a margin, at 50 and 200 regions.
BOUNDS = {"undersegmentation": (.2, .1), "recall": (.83, .91), "variation": (.9, .93), "accuracy": (.88, .93),
          "covering": (.74, .57)}


def check_metrics(tally):
    """Checks the metrics of two halves, of which the border is 4 or 2 pixels beside the truth's, worked out by hand."""
    columns = np.arange(20) * np.ones((20, 1), int)
    truth, picture = (columns >= 10).astype(int), np.repeat(np.where(columns >= 10, 100, 0)[..., None], 3, 2)
    round_ = np.pi * np.array((.7 * 1120 / 68 ** 2 + .3 * 480 / 52 ** 2, 800 / 60 ** 2))
    for border, expected in ((14, (2, .4, 0, 3 / 7, .8, round_[0], .7, 0, .65714)),
                             (10, (2, 0, 1, 1, 1, round_[1], .5, 0, 1))):
        got = measure(picture, [truth], (columns >= border).astype(int))
        tally.check(np.allclose(got, expected, atol=1e-4), f"metrics of a border at {border}: {got}")
    recall = measure(picture, [truth], (columns >= 12).astype(int))[2]
    tally.check(recall == 1, f"a border 2 pixels beside the truth's is found: {recall}")


def quick(report, ours):
    """Checks a few pictures of our own against bounds. Returns the status for the shell."""
    tally, pictures = Tally(), [(picture, [truth]) for picture, truth in (drawn.draw(1, i) for i in range(4))]
    check_metrics(tally)
    grid, spent = measure_ours(ours, pictures, MERGING[:3], (50, 200))
    found = np.mean([sufficient(rows, (50, 200)) for rows in grid], 0)
    report.table(f"{len(pictures)} drawn pictures, {spent:.1f} ms each", ("regions", *METRICS), [
        (str(n), *row) for n, row in zip((50, 200), found)])
    for metric, bounds in BOUNDS.items():
        for n, row, bound in zip((50, 200), found, bounds):
            figure = row[METRICS.index(metric) + 1]
            tally.check(figure <= bound if metric == "undersegmentation" else figure >= bound,
                        f"{metric} at {n} regions: {figure:.3f}, bound {bound}")
    held = check_noise(report, ours, [p for p, _ in pictures] + drawn.photographs()[:4], False)
    tally.check(min(held.values()) >= .87, "covering of clean by noisy: " +
                ", ".join(f"{name} {value:.3f}" for name, value in held.items()) + ", at least .87")
    moved = check_static(report, ours, {"drawn picture": pictures[0][0]}, 20)
    tally.check(moved <= .05, f"{moved:.3f} % of the pixels of a static noisy scene change id a frame, at most .05")
    share = check_halves(report, ours, HALVES[:1], LEVELS, (12, 24, 40), (0, 4))
    tally.check(share >= .95, f"{share:.2f} of the halves are separated, at least .95")
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed else 0


def main():
    parser = argparse.ArgumentParser()
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("part", nargs="*")
    parser.add_argument("--ours", default=os.path.join(here, "..", "..", "build-tests", "tests", "labels"))
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--bsds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    ours, report = Ours(options.ours, options.set), Report(options.markdown)
    cv2.setNumThreads(1)
    if options.quick:
        return quick(report, ours)
    photographs = [(picture, []) for picture in drawn.photographs()]
    pictures = list(bsds(options.bsds)) if options.bsds else \
        [(picture, [truth]) for picture, truth in (drawn.draw(options.seed, i) for i in range(24))]
    kinds = {"BSDS500": pictures} if options.bsds else \
        {"drawn": pictures, "drawn, dark": pictures[2::4], "drawn, faint": pictures[3::4]}
    some = [picture for i, (picture, _) in enumerate(pictures[:24] + photographs[:12]) if i % 8 < 4 or i >= 24]
    scenes = {"a photograph": photographs[3][0], "a picture": pictures[0][0], "another": pictures[2][0]}
    parts = {"truth": lambda: check_counts(report, ours, pictures, {} if options.no_peers else peers()),
             "photographs": lambda: check_counts(report, ours, photographs, {}, "photographs: "),
             "defaults": lambda: check_defaults(report, ours, {**kinds, "photographs": photographs}),
             "noise": lambda: check_noise(report, ours, some, not options.no_peers),
             "static": lambda: check_static(report, ours, scenes, 60),
             "street": lambda: check_street(report, ours),
             "halves": lambda: check_halves(report, ours, HALVES, LEVELS, CONTRASTS, RAMPS)}
    for part in options.part or parts:
        if part not in parts:
            parser.error(f"{part} is no part; the parts are {', '.join(parts)}")
        parts[part]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
