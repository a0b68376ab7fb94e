#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Shows a scene with a known truth to cudamedian's running median, OpenCV's MOG2 and GStreamer's motioncells, and
compares frame by frame what moves: with the truth, and with cudamedian; motioncells on vtest.avi as well.

    motion_scene.py [--keep FILE]        --keep: the scene, 900 gray frames of 768 x 576 without a header

The scene is the street of vtest.avi without people, the median of every 16th frame, with Gaussian noise of 3 levels. A
rectangle comes five times (SCENES), and in the end there is more light. cudamedian moves from its message motion-start
to motion-stop, without motion-hold; MOG2 if a cell of 16 x 16 pixels has an eighth of its pixels as foreground;
motioncells in frames for which it posts cells. docs/notes/motion.md has the table.

By hand: half a minute of one processor. Needs what oracle_opencv.py needs, gst-launch-1.0 with the plugin, and
vtest.avi, else skipped (77); without motioncells (gstreamer1.0-opencv) its columns are.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

from oracle_opencv import Tally
from motion_mog2 import cells, find_clip, gray_frames

import cv2
import numpy as np

FRAMES, LEARN, LIGHT, RATE, HEIGHT, WIDTH = 900, 5, 840, 10, 576, 768
SMALL = "8 x 8 pixels, contrast 60"  # a quarter of a cell, so that it is no motion where four cells share it
# Name, first frame, frames, width and height, levels, pixels a frame: where it stands in each frame, from 0 on.
SCENES = [("contrast 40, 6 pixels a frame", 60, 60, (24, 60), 40, lambda n: 6 * n),
          ("1 pixel a frame", 160, 80, (24, 60), 40, lambda n: n),
          ("contrast 15, 4 pixels a frame", 300, 60, (24, 60), 15, lambda n: 4 * n),
          (SMALL, 420, 40, (8, 8), 60, lambda n: 4 * n),
          ("walks 30 frames, stands 30, walks 30", 540, 90, (24, 60), 40,
           lambda n: 4 * (min(n, 29) + max(0, n - 59)))]
MEDIAN = "cudamedian temporal-method=running motion-meta=true motion-hold=0"
CELLS = "videoconvert ! motioncells postallmotion=true display=false"
FINE = " gridx=32 gridy=32 threshold=0 sensitivity="
METHODS = {"cudamedian": MEDIAN, "MOG2": None, "motioncells": CELLS, "motioncells, fine, 0.8": CELLS + FINE + "0.8",
           "motioncells, fine, 0.9": CELLS + FINE + "0.9"}


def street(path):
    return np.median(np.stack(list(gray_frames(path))[::16]), axis=0).astype(np.float32)


def draw(path):
    """Yields the frames of the scene."""
    still, dice = street(path), np.random.default_rng(1)
    for n in range(FRAMES):
        frame = still + (25 if n >= LIGHT else 0)
        for _, first, frames, (width, height), levels, place in SCENES:
            if first <= n < first + frames:
                x = 200 + place(n - first)
                frame[300:300 + height, x:x + width] += np.float32(levels)
        noisy = frame + 3 * dice.standard_normal(frame.shape, np.float32)
        yield np.clip(np.rint(noisy), 0, 255).astype(np.uint8)


def truth():
    """Returns the name of what moves in each frame; the light ends the part in which one is right."""
    names = ["nothing moves"] * FRAMES
    for name, first, frames, *_ in SCENES:
        names[first:first + frames] = [name] * frames
    return np.array(names[:LIGHT] + ["after the light"] * (FRAMES - LIGHT))


def messages(*source, line, frames):
    """Runs a filter line. Returns for each frame whether it moves, by the messages of the element."""
    done = subprocess.run(["gst-launch-1.0", "-m", *source, "!", *line.split(" "), "!", "fakesink"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        sys.exit(f"{line}: {done.stdout[-2000:]}")
    moves = np.zeros(frames + 1, bool)
    for time in re.findall(r": motion, .*?motion(?:_begin)?=\(guint64\)(\d+)", done.stdout):
        moves[round(int(time) * RATE / 1e9)] = True
    for event, time in re.findall(r"event=\(string\)motion-(start|stop), timestamp=\(guint64\)(\d+)", done.stdout):
        moves[round(int(time) * RATE / 1e9):] = event == "start"  # the frame with motion-stop does not move any more
    return moves[:frames]


def watch_scene(tally, methods, clip, raw):
    """Prints and checks what each method finds in the scene."""
    finder, found = cv2.createBackgroundSubtractorMOG2(), {"MOG2": []}
    with open(raw, "wb") as file:
        for frame in draw(clip):
            file.write(frame.tobytes())
            found["MOG2"].append(cells(finder.apply(frame) == 255).any())
    found["MOG2"] = np.array(found["MOG2"])
    source = ["filesrc", f"location={raw}", "!", "rawvideoparse", "format=gray8", f"width={WIDTH}", f"height={HEIGHT}",
              f"framerate={RATE}/1"]
    for name, line in methods.items():
        if line:
            found[name] = messages(*source, line=line, frames=FRAMES)
    names = truth()
    print(f"| | {' | '.join(methods)} |\n" + "| --- " * (len(methods) + 1) + "|")
    for row in [scene[0] for scene in SCENES] + ["nothing moves", "after the light"]:
        mine = (names == row) & (np.arange(FRAMES) >= LEARN)
        print(f"| {row} | " + " | ".join(f"{found[name][mine].sum()} of {mine.sum()}" for name in methods) + " |")
    known = slice(LEARN, LIGHT)
    right = {name: float((moves[known] == (names != "nothing moves")[known]).mean()) for name, moves in found.items()}
    print("| frames as they are | " + " | ".join(f"{100 * right[name]:.1f} %" for name in methods) + " |")
    alike = {name: float((moves[known] == found["cudamedian"][known]).mean()) for name, moves in found.items()}
    print("| frames as cudamedian | " + " | ".join(f"{100 * alike[name]:.1f} %" for name in methods) + " |")
    ours = found["cudamedian"]
    tally.check(right["cudamedian"] > 0.98, f"cudamedian: {100 * right['cudamedian']:.1f} % of the frames (over 98)")
    tally.check(alike["MOG2"] > 0.99, f"as MOG2: {100 * alike['MOG2']:.1f} % of the frames (over 99)")
    tally.check(not ours[known][(names == "nothing moves")[known]].any(), "cudamedian moves where nothing does")
    tally.check(ours[LIGHT] and not ours[LIGHT + 40:].any(), "the light is no event of less than 40 frames")
    for name, moves in found.items():
        only = collections.Counter(names[known][(moves & ~ours)[known]])
        only.pop("nothing moves", None)
        small = only.pop(SMALL, 0)
        tally.check(small <= 10 and sum(only.values()) <= 2, f"{name} finds frames that cudamedian does not: "
                    f"{small} of {SMALL} (10 at most), and {dict(only)} (2 at most)")


def watch_clip(tally, methods, clip):
    """Compares cudamedian and motioncells on vtest.avi, in which something moves in every frame."""
    frames = sum(1 for _ in gray_frames(clip))
    source = ["filesrc", f"location={clip}", "!", "decodebin", "!", "videoconvert"]
    found = {name: messages(*source, line=line, frames=frames) for name, line in methods.items() if line}
    ours = found["cudamedian"]
    for name, moves in found.items():
        print(f"vtest.avi: {name} moves in {moves.sum()} of {frames} frames, in {(moves & ~ours).sum()} of them alone; "
              f"{(moves == ours).sum()} frames are as cudamedian's")
        tally.check((moves & ~ours).sum() <= 2, f"{name} finds more than 2 frames that cudamedian does not")
    tally.check(ours.mean() > 0.99, f"cudamedian: {100 * ours.mean():.1f} % of the frames (over 99)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", metavar="FILE", help="a new file")
    options = parser.parse_args()
    clip, tally = find_clip(), Tally()
    there = {name: subprocess.run(["gst-inspect-1.0", name], check=False, capture_output=True).returncode == 0
             for name in ("cudamedian", "motioncells")}
    if not clip or not there["cudamedian"]:
        print("skipped: no vtest.avi of OpenCV's samples, or GST_PLUGIN_PATH does not name the folder of the plugin\n"
              "0 passed, 0 failed, 1 skipped")
        return 77
    if options.keep and os.path.exists(options.keep):
        sys.exit(f'"{options.keep}" exists already')
    methods = {name: line for name, line in METHODS.items() if there["motioncells"] or "motioncells" not in name}
    if not there["motioncells"]:
        tally.skip("motioncells (Debian: gstreamer1.0-opencv)")
    with tempfile.TemporaryDirectory() as folder:
        watch_scene(tally, methods, clip, options.keep or os.path.join(folder, "scene"))
    watch_clip(tally, methods, clip)
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
