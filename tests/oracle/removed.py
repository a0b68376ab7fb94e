#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Prints what cudamedian output=still leaves of a person, on scenes with a known truth (scenes.py).

    removed.py [--scenes stop,cloud] [--sigmas 5,20] [--size 320x240] [--markdown]

Each scene is drawn with the person and without, with the same noise, and the one with the person is filtered.
  drawn     share of the person's pixels that differ by more than 24 levels from the scene without, in the frames as
            they are drawn
  left      the same in the filtered frames, of all in which the person is seen, less the share of the pixels beside the
            person that do so though the background is there: that is noise
  worst     the largest share left in a frame, without the first three in which the person is seen
  touched   share of the other pixels that are not as in the frame as drawn

Needs numpy and gst-launch-1.0 with the plugin (GST_PLUGIN_PATH).
"""
import argparse

import numpy as np

import motion
import scenes

FAR = 24


class Empty(scenes.Scene):
    """A scene to which nobody comes."""

    def person_at(self, n):
        return None


def frames_of(scene):
    """Returns the frames, (n, bytes of I420), and where the person is."""
    planes, truth = zip(*scene)
    return np.stack([np.concatenate([plane.ravel() for plane in frame]) for frame in planes]), np.stack(truth)


def measure(name, size, sigma):
    """Returns the figures of a scene, as texts."""
    width, height = size
    with_person, truth = frames_of(scenes.Scene(name, size, sigma))
    without, _ = frames_of(Empty(name, size, sigma))
    filtered = motion.through_elements(with_person, size, "cudamedian temporal-method=running output=still")
    drawn, clean, out = (frames[:, :width * height].reshape(-1, height, width).astype(np.int16)
                         for frames in (with_person, without, filtered))
    rest = ~truth & truth.any((1, 2))[:, None, None]
    noise = (np.abs(out - clean) > FAR)[rest & (out != drawn)].mean()
    seen = [n for n in range(len(truth)) if truth[n].any()]
    shares = [[(np.abs(frames[n] - clean[n]) > FAR)[truth[n]].mean() for n in seen] for frames in (drawn, out)]
    of_drawn, of_out = np.array(shares[0]), np.maximum(0, np.array(shares[1]) - noise)
    return [f"{value:.3f}" for value in (of_drawn.mean(), of_out.mean(), of_out[3:].max(), (out != drawn)[rest].mean())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", default="stop,lamp,cloud,rain,leaves,shake,moth,headlights")
    parser.add_argument("--sigmas", default="5,20")
    parser.add_argument("--size", default="320x240")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    size = tuple(map(int, options.size.split("x")))
    rows = [["scene", "sigma", "drawn", "left", "worst", "touched"]]
    rows += [[name, sigma, *measure(name, size, int(sigma))]
             for name in options.scenes.split(",") for sigma in options.sigmas.split(",")]
    motion.show(rows, options.markdown)


if __name__ == "__main__":
    main()
