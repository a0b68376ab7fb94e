#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Prints how much of people's faces stays uncovered while their detector is silent, on scenes with a known truth.

    carried.py [--people walk,cross] [--sigmas 2,5,10] [--sizes 320x240,640x480] [--seed N] [--markdown]

The detector finds every face of a frame, or is silent: in half of the frames at random ("random"), for .5 s after every
.5 s, for 1 s after every 1 s; or it finds and misses each face by itself ("each"). Its boxes and the frames go through
`cudaconvolve preset=fill roi-type=face`:
  none      with roi-hold=0
  still     with roi-hold=1500
  motion    with roi-hold=1500 behind cudamedian temporal-method=running motion-meta=true
  segment   with roi-hold=1500 behind cudasegment output=passthrough region-meta=true
A figure is the share of the pixels of faces that are uncovered, from the frame on in which the detector found the face
for the first time, and behind it the share of the frame that is hidden, the mean over frames with a face.

People, in the place of scenes.py (PATHS below): "walk" one that passes; "turn" turns round twice; "stand" stands while
two others pass before it; "cross" three that cross in one place, from both sides; "between" one that passes two who
come from the other side. Besides these the names of scenes.py.

Needs PyGObject and NumPy, and the plugin (GST_PLUGIN_PATH).
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import interpreter  # noqa: E402

interpreter.use()

import gi  # noqa: E402
import numpy as np  # noqa: E402

import motion  # noqa: E402
import scenes  # noqa: E402

for module in ("Gst", "GstApp", "GstVideo"):
    gi.require_version(module, "1.0")
from gi.repository import Gst, GstApp, GstVideo  # noqa: E402, F401

FRAMES, HOLD = 260, 1500
# The parts of each person's way: the frame in which it begins, and pixels a frame to the right, in frames of 240 rows.
# A person comes from the left if its first part goes to the right.
PATHS = {"walk": [[(40, 2)]], "turn": [[(40, 2), (100, -2), (140, 2)]],
         "stand": [[(40, 2), (100, 0), (230, 2)], [(100, -2.5)], [(130, 3)]],
         "cross": [[(40, 2)], [(40, -2)], [(68, 3)]], "between": [[(40, -1.5)], [(64, -1.5)], [(40, 2)]]}
# Of each frame and number of a face, whether the detector misses it.
ALL = np.ones(4, bool)
SILENCE = {"random": lambda n, dice: dice.random((n, 1)) < .5 * ALL,
           ".5 s": lambda n, dice: (2 * np.arange(n) // 15 % 2 == 1)[:, None] & ALL,
           "1 s": lambda n, dice: (np.arange(n) // 15 % 2 == 1)[:, None] & ALL,
           "each, random": lambda n, dice: dice.random((n, 4)) < .5,
           "each, 1 s": lambda n, dice: (np.arange(n)[:, None] // 15 + np.arange(4)) % 2 == 1}
HIDE = "cudaconvolve preset=fill fill-color=0xffffffff roi-meta=true roi-type=face roi-missing=pass roi-hold="
WAYS = {"none": f"{HIDE}0", "still": f"{HIDE}{HOLD}",
        "motion": f"cudamedian temporal-method=running motion-meta=true ! {HIDE}{HOLD}",
        "segment": f"cudasegment output=passthrough region-meta=true ! {HIDE}{HOLD}"}


class People(scenes.Scene):
    """A scene with the people of PATHS, or that of scenes.py; `faces` has the number of the face of each pixel of the
    last frame, from 1 on."""

    def __init__(self, name, size, sigma, seed):
        super().__init__("stop" if name in PATHS else name, size, sigma, seed)
        self.paths = PATHS.get(name)
        if self.paths:
            self.frames = FRAMES

    def on_path(self, path, n):
        """Returns what person_at() does, for the person with this path."""
        x = 1 - self.person.shape[1] if path[0][1] > 0 else self.width - 1
        ends = [begin for begin, _ in path[1:]] + [n]
        for (begin, speed), end in zip(path, ends):
            x += int(speed * self.scale * max(0, min(n, end) - begin))
        speed = ([0] + [speed for begin, speed in path if begin <= n])[-1]
        return (x, abs(np.sin(n * .5)) if speed else 0) if n >= path[0][0] and x < self.width else None

    def person_at(self, n):
        return self.at

    def put_person(self, picture, truth, n):
        self.faces = np.zeros(picture.shape, np.uint8)
        places = [self.on_path(path, n) for path in self.paths] if self.paths else [super().person_at(n)]
        row, column = np.mgrid[:self.height, :self.width]
        for number, self.at in enumerate(places, 1):
            if not self.at or self.at[0] <= -self.person.shape[1]:
                continue
            one, k = np.zeros_like(truth), self.scale
            super().put_person(picture, one, n)
            truth |= one
            self.faces[one] = 0
            aside, down = column - self.at[0] - self.person.shape[1] / 2 + .5, row - int(self.height * .5) - 6 * k
            self.faces[one & ((aside / (5 * k)) ** 2 + (down / (6.5 * k)) ** 2 <= 1)] = number


def boxes(faces):
    """Returns (number, x, y, width, height) of each face."""
    found = []
    for number in np.unique(faces[faces > 0]):
        rows, columns = (np.flatnonzero((faces == number).any(axis)) for axis in (1, 0))
        found.append((number, columns[0], rows[0], columns[-1] + 1 - columns[0], rows[-1] + 1 - rows[0]))
    return found


def hidden(frames, faces, line):
    """Yields which pixels of each frame are hidden. frames: luma of at most 234; faces: the detector's, of each."""
    height, width = frames[0].shape
    pipeline = Gst.parse_launch(
        f"appsrc name=from format=time caps=video/x-raw,format=GRAY8,width={width},height={height},framerate=15/1 ! "
        f"{line} ! appsink name=to sync=false")
    source, sink = (pipeline.get_by_name(name) for name in ("from", "to"))
    pipeline.set_state(Gst.State.PLAYING)
    for n, (y, found) in enumerate(zip(frames, faces)):
        buffer = Gst.Buffer.new_wrapped(y.tobytes())
        buffer.pts = n * Gst.SECOND // scenes.RATE
        for _, *box in found:
            GstVideo.buffer_add_video_region_of_interest_meta(buffer, "face", *map(int, box))
        source.push_buffer(buffer)
        sample = sink.try_pull_sample(20 * Gst.SECOND)
        if not sample:
            message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
            raise RuntimeError(message.parse_error().gerror.message if message else f"no frame {n}")
        out = sample.get_buffer()
        yield np.frombuffer(out.extract_dup(0, out.get_size()), np.uint8).reshape(height, width) != y
    pipeline.set_state(Gst.State.NULL)


def measure(frames, faces, found, silent):
    """Returns the figures of all ways, as texts."""
    seen, known = set(), []
    for n, face in enumerate(faces):
        seen |= {number for number, *_ in found[n] if not silent[n][number]}
        known.append(np.isin(face, list(seen)) & (face > 0))
    if not seen or not silent.any():
        raise RuntimeError("no face is found, or the detector is never silent")
    figures = []
    heard = [[face for face in of_frame if not quiet[face[0]]] for quiet, of_frame in zip(silent, found)]
    for line in WAYS.values():
        masks = list(hidden(frames, heard, line))
        bare = sum((face & ~mask).sum() for face, mask in zip(known, masks)) / sum(face.sum() for face in known)
        share = np.mean([mask.mean() for mask, face in zip(masks, faces) if face.any()])
        figures.append(f"{bare:.4f} / {100 * share:.2f} %")
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", default=",".join([*PATHS, "stop", "rain", "leaves", "shake"]))
    parser.add_argument("--sigmas", default="2,5,10")
    parser.add_argument("--sizes", default="640x480")
    parser.add_argument("--seed", type=int, default=scenes.SEED)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    Gst.init(None)
    rows = [["people", "size", "sigma", "silent", *WAYS]]
    for size in options.sizes.split(","):
        for name in options.people.split(","):
            for sigma in options.sigmas.split(","):
                scene = People(name, tuple(map(int, size.split("x"))), int(sigma), options.seed)
                frames, faces = zip(*((np.minimum(planes[0], 234), scene.faces) for planes, _ in scene))
                found = [boxes(face) for face in faces]
                for silence, made in SILENCE.items():
                    silent = made(len(frames), np.random.default_rng(options.seed))
                    rows.append([name, size, sigma, silence, *measure(frames, faces, found, silent)])
    motion.show(rows, options.markdown)


if __name__ == "__main__":
    main()
