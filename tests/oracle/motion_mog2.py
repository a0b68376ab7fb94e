#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Compares what moves by cudamedian's running median with OpenCV's MOG2, frame by frame and cell by cell, on vtest.avi.

    motion_mog2.py [--kernelcheck PROGRAM] [--backend cpu|cuda|reference] [--all]

Gray frames, the defaults of both, and MOG2 without its search for shadows; --all: other settings of cudamedian as well.
A cell of 16 x 16 pixels is active if an eighth of its own pixels move, and a frame moves if a cell is active. The first
60 frames, in which both learn, are left out. docs/notes/motion.md has the table.

Needs what oracle_opencv.py needs, and the clip, which CF_CLIP may name; skipped (77) without it.
"""
import argparse
import os
import sys
import tempfile

from oracle_opencv import Runner, Tally
from oracle_segment import clip_paths

import cv2
import numpy as np

CELL, LEARN, FRAMES = 16, 60, 795
# cudamedian's settings, and with which of MOG2 they are compared: True has detectShadows, its default.
ROWS = {"threshold=0": (True, False)}
MORE = {"threshold=24": (True,), "threshold=12": (True,), "rate=0.004": (True,)}


def cells(moves):
    """Returns which cells of a frame of booleans are active. Those at the right and at the bottom may be smaller."""
    ends = [np.minimum(np.arange(0, side + CELL, CELL), side) for side in moves.shape]
    counts = np.diff(np.diff(cv2.integral(moves.astype(np.uint8))[np.ix_(*ends)], axis=0), axis=1)
    return 8 * counts >= np.outer(*map(np.diff, ends))


def find_clip():
    """Returns the path of vtest.avi, or None."""
    return next((path for path in clip_paths() if os.path.basename(path) == "vtest.avi"), None)


def gray_frames(path):
    """Yields the gray frames of a video file."""
    capture = cv2.VideoCapture(path)
    while (read := capture.read())[0]:
        yield cv2.cvtColor(read[1], cv2.COLOR_BGR2GRAY)


def read_clip(path):
    """Returns the gray frames of vtest.avi, and by MOG2 with and without shadows the active cells of each."""
    finder, found, gray = cv2.createBackgroundSubtractorMOG2(), {True: [], False: []}, []
    for frame in gray_frames(path):
        gray.append(frame)
        mask = finder.apply(frame)
        found[True].append(cells(mask == 255))
        found[False].append(cells(mask > 0))  # shadows, 127, are foreground to a finder that does not look for them
    return gray, {shadows: np.array(of_frames) for shadows, of_frames in found.items()}


def compare(tally, name, ours, theirs):
    """Prints a row of the table. Returns the share of MOG2's cells that cudamedian has found."""
    frames, same = int((ours.any((1, 2)) == theirs.any((1, 2))).sum()), float((ours == theirs).mean())
    both, others = int((ours & theirs).sum()), int((theirs & ~ours).sum())
    print(f"| {name} | {frames} of {len(ours)} | {100 * same:.1f} % | {both} | {int((ours & ~theirs).sum())} | "
          f"{others} |", flush=True)
    tally.check(frames == len(ours), f"{name}: {len(ours) - frames} frames move for one of them only")
    tally.check(same > 0.96, f"{name}: {100 * same:.1f} % of the cells are alike (over 96)")
    return both / (both + others)


def measure(runner, tally, path, rows):
    gray, theirs = read_clip(path)
    tally.check(len(gray) == FRAMES, f"{path}: {len(gray)} frames, not {FRAMES}")
    gray = np.stack(gray)
    print("| cudamedian | frames alike | cells alike | active in both | in cudamedian only | in MOG2 only |\n" +
          "| --- " * 6 + "|")
    for setting, kinds in rows.items():
        mask = runner.frames(gray, "GRAY8", "temporal-method=running", "output=mask", setting)
        if mask is None:
            tally.check(False, f"{setting}: no mask")
            continue
        ours = np.array([cells(frame > 0) for frame in mask[LEARN:]])
        for shadows in kinds:
            share = compare(tally, setting + ("" if shadows else ", MOG2 with detectShadows off"), ours,
                            theirs[shadows][LEARN:])
            if setting == "threshold=0" and shadows:
                tally.check(share > 0.99, f"{100 * share:.1f} % of MOG2's cells are found (over 99)")


def main():
    parser = argparse.ArgumentParser()
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--kernelcheck", default=os.path.join(here, "..", "..", "build-tests", "tests", "kernelcheck"))
    parser.add_argument("--backend", default="cpu", choices=("cpu", "cuda", "reference"))
    parser.add_argument("--all", action="store_true", help="other settings of cudamedian as well")
    options = parser.parse_args()
    tally, path = Tally(), find_clip()
    if not path:
        print("skipped: no file vtest.avi of OpenCV's samples (Debian: opencv-doc; CF_CLIP names one elsewhere)\n"
              "0 passed, 0 failed, 1 skipped")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        measure(Runner(options.kernelcheck, options.backend, folder), tally, path,
                {**ROWS, **(MORE if options.all else {})})
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
