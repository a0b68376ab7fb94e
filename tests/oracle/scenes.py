#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Draws what a fixed camera sees, 15 frames a second, with the exact truth of what moves.

    scenes.py list
    scenes.py draw NAME FILE [--size 320x240] [--sigma 5] [--seed N]

FILE gets the frames in I420 without a header, FILE.truth a bit for each pixel: numpy.packbits of each frame's rows.

A person is the truth; light, rain, leaves, shake, insects and noise are not. In "shake" the place moves and the person
does not. The pictures follow from the name, the size, sigma (the noise in levels) and the seed.
"""
import argparse
import zlib

import numpy as np

SEED, RATE, MARGIN = 20261127, 15, 16
# The frames of each scene, and the one in which the person comes. Nobody comes in "noise".
FRAMES = {"stop": (600, 60), "lamp": (600, 450), "cloud": (500, 200), "ir": (500, 350), "rain": (450, 300),
          "leaves": (450, 300), "shake": (450, 300), "insect": (450, 300), "moth": (450, 300), "noise": (1000, None),
          "headlights": (450, 300), "faint": (300, 100)}
WALK, STAND = 80, 10 * RATE  # "stop": frames of the walk, then of standing
SHAKE = {2: 1, 3: 2, 4: 3, 5: 4}  # pixels in the 30 frames from each 50th on; later always 2
NIGHT = 150  # "ir": the frame in which the camera turns to infrared


def smooth(picture, times):
    """Blurs by 1 2 1 in both directions, so many times."""
    for _ in range(times):
        for axis in (0, 1):
            picture = (np.roll(picture, 1, axis) + 2 * picture + np.roll(picture, -1, axis)) / 4
    return picture


def texture(dice, shape, times, spread):
    """Returns smoothed noise with this standard deviation."""
    picture = smooth(dice.standard_normal(shape).astype(np.float32), times)
    return picture * np.float32(spread / picture.std())


def put_boxes(picture, dice, count, value):
    """Adds boxes of other brightness: windows, doors, signs."""
    height, width = picture.shape
    for _ in range(count):
        h, w = dice.integers(height // 14, height // 6), dice.integers(width // 20, width // 8)
        y, x = dice.integers(0, height - h), dice.integers(0, width - w)
        picture[y:y + h, x:x + w] += dice.uniform(-value, value)


class Scene:
    """Iterates over ((y, u, v), truth): planes of uint8, and booleans of the size of y."""

    def __init__(self, name, size=(320, 240), sigma=5, seed=SEED):
        self.name, (self.width, self.height), self.sigma, self.seed = name, size, sigma, seed
        (self.frames, self.first), self.scale = FRAMES[name], size[1] / 240
        dice = np.random.default_rng([seed, *size])  # the place is the same in all scenes
        shape = (self.height + 2 * MARGIN, self.width + 2 * MARGIN)
        rows = np.linspace(0, 1, shape[0], dtype=np.float32)[:, None]
        place = np.where(rows < .55, 150 - 60 * rows, 95 + 50 * (rows - .55)) * np.ones(shape, np.float32)
        put_boxes(place, dice, 24, 45)
        place += texture(dice, shape, 1, 5) + texture(dice, shape, 40, 8)
        self.place = np.clip(place, 25, 225).astype(np.float32)
        infrared = .5 * place + texture(dice, shape, 30, 25) + 70  # another picture: other materials reflect
        self.infrared = np.clip(infrared, 30, 235).astype(np.float32)
        half = (self.height // 2, self.width // 2)
        self.chroma = [np.clip(128 + texture(dice, half, 12, 14), 60, 200).astype(np.float32) for _ in range(2)]
        self.make_person(dice)
        self.yy, self.xx = np.mgrid[:self.height, :self.width].astype(np.float32)
        self.leaves = texture(dice, (self.height // 3 + 2 * MARGIN, self.width // 3 + 2 * MARGIN), 2, 32)

    def make_person(self, dice):
        k = self.scale
        self.person = np.full((int(60 * k), int(20 * k)), 60, np.float32)  # trousers
        self.person[:int(12 * k)] = 175  # head
        self.person[int(12 * k):int(34 * k)] = 190  # jacket
        self.person += texture(dice, self.person.shape, 1, 12)
        self.person = np.clip(self.person, 20, 230)

    def person_at(self, n):
        """Returns the person's left edge in frame n and how wide the legs are, or None."""
        if self.first is None or n < self.first:
            return None
        steps, stride = n - self.first, abs(np.sin(n * .5))
        if self.name == "stop":
            stride = 0 if WALK <= steps < WALK + STAND else stride
            steps = min(steps, WALK) + max(0, steps - WALK - STAND)
        elif steps > 110:
            return None
        x = 1 - self.person.shape[1] + int(2 * self.scale * steps)
        return (x, stride) if x < self.width else None

    def put_person(self, picture, truth, n):
        at, k, (height, width) = self.person_at(n), self.scale, self.person.shape
        if not at:
            return
        (x, stride), top = at, int(self.height * .5)
        row, column = np.mgrid[:height, :width]
        aside = column - width / 2 + .5
        form = (aside / (5 * k)) ** 2 + ((row - 6 * k) / (6.5 * k)) ** 2 <= 1
        form |= (row >= 12 * k) & (row < 34 * k) & (np.abs(aside) < 9.5 * k)
        form |= (row >= 34 * k) & (np.abs(np.abs(aside) - 5 * k * (row / k - 34) / 26 * stride) < 4.2 * k)
        left, right = max(x, 0), min(x + width, self.width)
        form, target = form[:, left - x:right - x], picture[top:top + height, left:right]
        # "faint": hardly another brightness than what is behind
        target[form] = (target + 15 if self.name == "faint" else self.person[:, left - x:right - x])[form]
        truth[top:top + height, left:right] |= form

    def background(self, dice, n):
        """Returns the picture behind the person, with what moves there."""
        dx = dy = 0
        if self.name == "shake":
            most = 2 if n >= self.first else SHAKE.get(n // 50, 0) if n % 50 < 30 else 0
            dx, dy = dice.integers(-most, most + 1, 2) if most else (0, 0)
        still = self.infrared if self.name == "ir" and n >= NIGHT else self.place
        y = still[MARGIN + dy:MARGIN + dy + self.height, MARGIN + dx:MARGIN + dx + self.width].copy()
        if self.name == "leaves":
            h, w = self.leaves.shape[0] - 2 * MARGIN, self.leaves.shape[1] - 2 * MARGIN
            sx = MARGIN + int(round(self.scale * (4 * np.sin(n * .55) + 2 * np.sin(n * .23)))) if n >= 60 else MARGIN
            sy = MARGIN + int(round(2 * self.scale * np.sin(n * .41))) if n >= 60 else MARGIN
            y[:h, -w:] += self.leaves[sy:sy + h, sx:sx + w]
        if self.name == "headlights":
            y *= np.float32(.4)  # at night
        return y

    def disturb(self, y, dice, n):
        """Adds what is in front of everything: light, rain, insects."""
        k, width, height = self.scale, self.width, self.height
        if self.name == "lamp" and 100 <= n < 350:
            y *= 1 + .9 * np.exp(-((self.xx - width * .6) ** 2 + (self.yy - height * .35) ** 2) / (2 * (60 * k) ** 2))
        if self.name == "cloud" and 80 <= n < 380:
            t = (n - 80) / (20 * RATE)
            y *= np.float32(1 - (.3 if t < .5 else .2) * np.sin(2 * np.pi * t))
        if self.name == "rain" and n >= 60:
            for _ in range(int(40 * k * k)):
                length, x, top = int(dice.integers(12, 24) * k), dice.integers(0, width), dice.integers(-10, height)
                rows = np.arange(max(top, 0), min(top + length, height))
                for wide in range(max(1, int(k))):
                    columns = np.minimum(np.clip(x + (rows - top) // 6, 0, width - 1) + wide, width - 1)
                    y[rows, columns] += .4 * (235 - y[rows, columns])
        if self.name in ("insect", "moth") and n % 40 in (20, 21):
            size, where = 3 if self.name == "insect" else int(24 * k), np.random.default_rng([self.seed, n // 40])
            down, aside = where.uniform(.1, .8, 2)
            row, column = int(down * height + 3 * (n % 2)), int(aside * width + 5 * (n % 2))
            blob = (self.yy - row) ** 2 + (self.xx - column) ** 2 <= (size / 2) ** 2
            y[blob] = .3 * y[blob] + .7 * 225
        for first in (100, 180) if self.name == "headlights" else ():
            if first <= n < first + 40:
                column = (n - first) / 40 * width * 1.4 - .2 * width
                y += 110 * np.exp(-((self.xx - column) / (35 * k)) ** 2 / 2
                                  - ((self.yy - .55 * height) / (40 * k)) ** 2 / 2)

    def __iter__(self):
        return self.part(0, self.frames)

    def part(self, first, last):
        """Yields the frames from the first on, as they come. The noise begins with them: it is another one than that of
        the whole scene."""
        dice = np.random.default_rng([self.seed, zlib.crc32(self.name.encode()), self.width, self.height, self.sigma])
        for n in range(first, last):
            night = self.name == "ir" and n >= NIGHT
            y, truth = self.background(dice, n), np.zeros((self.height, self.width), bool)
            self.put_person(y, truth, n)
            self.disturb(y, dice, n)
            planes = [y + self.sigma * (1.4 if night else 1) * dice.standard_normal(y.shape, np.float32)]
            for plane in self.chroma:
                planes.append(np.full(plane.shape, 128, np.float32) if night else
                              plane + self.sigma / 2 * dice.standard_normal(plane.shape, np.float32))
            yield tuple(np.clip(np.rint(plane), 0, 255).astype(np.uint8) for plane in planes), truth


def draw(scene, file):
    with open(file, "wb") as raw, open(f"{file}.truth", "wb") as true:
        for planes, truth in scene:
            raw.write(b"".join(plane.tobytes() for plane in planes))
            true.write(np.packbits(truth, axis=1).tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("list", "draw"))
    parser.add_argument("name", nargs="?", choices=tuple(FRAMES))
    parser.add_argument("file", nargs="?")
    parser.add_argument("--size", default="320x240")
    parser.add_argument("--sigma", type=int, default=5)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    if options.what == "list":
        print("\n".join(f"{name} {frames}" for name, (frames, _) in FRAMES.items()))
    elif not options.file:
        parser.error("draw needs the name of a scene and a file")
    else:
        draw(Scene(options.name, tuple(map(int, options.size.split("x"))), options.sigma, options.seed), options.file)


if __name__ == "__main__":
    main()
