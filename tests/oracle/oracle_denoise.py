# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""The part of oracle_opencv.py for the denoiser: its contract (cuda/denoise/denoise.h) with numpy, whole planes at a
time, compared byte by byte; and how near a photograph that stands, and one that moves, come to what they are without
noise, beside scikit-image's non-local means, which is told the noise. Each check prints its figures."""
import cv2
import numpy as np
from skimage import restoration

F = np.array([0, 362, 314, 296, 286, 280, 277, 274, 272, 270, 269, 267, 266, 266, 265, 264, 264])
K = np.array([0, 40960, 28963, 23648, 20480, 18318, 16722, 15481, 14482, 13653, 12953, 12350, 11824, 11360, 10947,
              10576, 10240])
R = np.array([0, 23170, 26755, 28378, 29309, 29913, 30337, 30652, 30894, 31086, 31243, 31373, 31482, 31576, 31657,
              31727, 31790])
NEAR = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if y or x]


def mulr(a, b):
    return a * b + 16384 >> 15


def moved_by(plane, dy, dx):
    """Returns each sample's neighbour; beyond the border, the nearest sample."""
    h, w = plane.shape
    return plane[np.clip(np.arange(h) + dy, 0, h - 1)][:, np.clip(np.arange(w) + dx, 0, w - 1)]


def around(plane, reach):
    return [moved_by(plane, y, x) for y in range(-reach, reach + 1) for x in range(-reach, reach + 1)]


def blocks(plane):
    """Returns the sums over the blocks of 8 x 8 in every other row of blocks."""
    h, w = (n // 8 * 8 for n in plane.shape)
    return plane[:h, :w].reshape(h // 8, 8, w // 8, 8).sum((1, 3))[::2].ravel()


def laplacian(p, k):
    n4 = moved_by(p, 0, k) + moved_by(p, 0, -k) + moved_by(p, k, 0) + moved_by(p, -k, 0)
    n8 = moved_by(p, k, k) + moved_by(p, k, -k) + moved_by(p, -k, k) + moved_by(p, -k, -k)
    return np.abs(4 * p - 2 * n4 + n8)


def quantile(values, k):
    """The bin of the k-th of the sorted values, counted from 0."""
    return 16 * int(np.sort(values)[k]) + 8


class Denoiser:
    """Filters the frames of one plane."""

    def __init__(self, bits, noise=-1, strength=100):
        self.bits, self.noise, self.strength, self.m = bits, noise, strength, None
        self.sigma, self.est = [0] * 8, None

    def estimate(self, s_in, first):
        """Returns est of all zones; None where no zone is known."""
        largest = 32767 if self.bits == 16 else (1 << self.bits) - 1 << 15 - self.bits
        counts = blocks(((s_in == 0) | (s_in == largest)).astype(int)) <= 16
        zone = (blocks(s_in) >> 18)[counts]
        time = np.minimum(255, blocks(mulr(np.abs(s_in - self.m), R[self.c])) >> 10)[counts]
        near, wide = (np.minimum(255, blocks(laplacian(s_in >> 3, k)) // 768)[counts] for k in (1, 2))
        known = {}
        for z in range(8):
            of, n = zone == z, int((zone == z).sum())
            if n < 16 or 32 * n < zone.size:
                continue
            s = quantile(near[of], n // 16) * 430 >> 8
            t, w = quantile(time[of], n // 4) * 350 >> 8, quantile(wide[of], n // 16) * 430 >> 8
            spare = max(0, s - 384)
            top = max(s, min(w, s + min(s // 2, spare)))
            limit = 9 * top // 8
            est = min(t, top) if t <= limit else max(s, top - (t - limit))
            est += max(0, est - s)
            known[z] = s if first else est
        return [known[min(known, key=lambda other: (abs(other - z), other))] for z in range(8)] if known else None

    def frame(self, x):
        x = x.astype(np.int64)
        s_in = x >> 1 if self.bits == 16 else x << 15 - self.bits
        first = self.m is None
        if first:
            self.m, self.c = s_in.copy(), np.ones(x.shape, int)
        if self.noise >= 0:
            self.sigma = [int(self.noise * 128 + 0.5)] * 8
        elif first:
            self.sigma = self.estimate(s_in, True) or self.sigma
        level = [(self.sigma[max(0, l - 1) // 2] + self.sigma[min(15, l + 1) // 2]) // 2 for l in range(16)]
        g = np.clip((np.array(level) * self.strength + 50) // 100, 17, 8191)
        if self.noise < 0 and not first:
            if self.est:
                self.sigma = [s + int((f - s) / 4) for s, f in zip(self.sigma, self.est)]
            self.est = self.estimate(s_in, False)
        if not first:
            self.follow(s_in, (1 << 19) // g)
        m, half = self.m, self.m >> 1
        h = np.minimum(4095, 2 * np.maximum(17, g - 38)[m >> 11] * K[self.c] >> 16)
        change = 0
        for weight, distance in ((156, 1), (74, 2)):
            for dy, dx in NEAR:
                d = moved_by(half, distance * dy, distance * dx) - half
                change = change + weight * np.sign(d) * np.maximum(0, np.minimum(np.abs(d), 2 * h - np.abs(d)))
        out = np.clip(m + (change >> 10), 0, 32767)
        if self.bits == 16:
            return np.clip(x + 2 * (out - s_in), 0, 65535)
        return np.minimum((1 << self.bits) - 1, out + (1 << 14 - self.bits) >> 15 - self.bits)

    def follow(self, s_in, r):
        e = np.clip(mulr(s_in - self.m, r[self.m >> 11]), -127, 127)
        a, b = np.abs(sum(around(e, 2))), sum(around(np.abs(e), 3))
        a2, b2 = 280 * F[self.c] >> 8, 1015 * F[self.c] >> 8
        moved = np.where((a > a2) | (b > b2), 2, ((a > 5 * a2 >> 3) | (b > 13 * b2 >> 4)).astype(int))
        v = np.max(around(moved, 1), 0)
        self.c = np.where(v == 2, 1, np.minimum(self.c + 1, np.where(v == 1, 2, 16)))
        self.m = np.where(v == 2, s_in, self.m + mulr(s_in - self.m, 32768 // self.c))
        if self.bits == 8:
            self.m = np.minimum(4095, self.m + 4 >> 3) << 3


def noisy(clean, sigma):
    noise = np.random.default_rng(3).normal(size=clean.shape) * sigma
    return np.clip(np.rint(clean + noise), 0, 255).astype(np.uint8)


def nearness(a, b):
    return 10 * np.log10(255 ** 2 / ((a.astype(float) - b) ** 2).mean())


def aimed(gray):
    """Returns stacks that reach the limits of the contract: a name, the frames as numbers, noise and strength."""
    random, shape = np.random.default_rng(5), (8, 136, 200)
    noise, left = random.normal(size=shape), np.arange(shape[2]) < shape[2] // 2
    panned = np.stack([np.roll(gray, 2 * max(0, i - 4), axis=1) for i in range(9)])
    for sigma in (4, 9, 18, 26):  # as a codec smooths noise, with a quieter part
        soft = noise
        for axis in (1, 2):
            soft = (np.roll(soft, 1, axis) + 2 * soft + np.roll(soft, -1, axis)) / 4
        yield f"smooth noise {sigma}", 128 + sigma * soft + 2 * random.normal(size=shape), -1, 100
    zones = np.where(left, 32, 160) + noise * np.where(left, 3, 9)
    zones[4:] = zones[4:] * 0.5 + 40
    yield "zones 1 and 5, others between", zones, -1, 100
    saturated = 100 + 6 * noise
    saturated[3:6] = 255
    yield "no zone known in between", saturated, -1, 100
    still = np.repeat(gray[None], 20, 0)
    yield "more frames than are averaged", still + 5 * random.normal(size=still.shape), 5, 100
    yield "too few blocks", 100 + 6 * noise[:, :32, :48], -1, 100
    yield "one sample", 100 + 3 * noise[:, :1, :1], 2, 100
    yield "the least noise", 100 + (random.random(shape) < 0.02), 0.3, 1
    yield "noise .7", 100 + 0.7 * noise, 0.7, 100
    yield "the most noise", random.random(shape) * 255, 64, 200
    for name, sigma, strength in (("estimated", -1, 100), ("8", 8, 100), ("3", 3, 150), ("estimated, weak", -1, 40)):
        yield name, panned + 8 * random.normal(size=panned.shape), sigma, strength


def check_contract(tally, runner, gray):
    for name, values, noise, strength in aimed(gray):
        for form, bits, kind, scale in (("GRAY8", 8, np.uint8, 1), ("GRAY16_LE", 16, "<u2", 257)):
            frames = np.clip(np.rint(values * scale), 0, (1 << bits) - 1).astype(kind)
            filter_ = Denoiser(bits, noise, strength)
            expected = np.stack([filter_.frame(x) for x in frames]).astype(kind)
            got = runner.frames(frames, form, f"noise={noise}", f"strength={strength}", stem="denoise")
            tally.compare(f"denoise: {name}, {form}", got, expected)


def check_quality(tally, runner, gray):
    for name, step in (("stands", 0), ("moves", 3)):
        clean = np.stack([np.roll(gray, step * i, axis=1) for i in range(12)])
        for sigma in (5, 10, 20):
            given = noisy(clean, sigma)
            got = runner.frames(given, "GRAY8", stem="denoise")
            peer = restoration.denoise_nl_means(given[-1] / 255, patch_size=5, patch_distance=6, h=0.8 * sigma / 255,
                                                sigma=sigma / 255, fast_mode=True) * 255
            ours = -1 if got is None else nearness(got[-1], clean[-1])
            before, means = nearness(given[-1], clean[-1]), nearness(peer, clean[-1])
            print(f"denoise: a photograph that {name}, noise {sigma}: {before:.1f} dB, {ours:.1f} after it, non-local "
                  f"means {means:.1f}")
            # Where all moves by three samples a frame, no frame helps another; non-local means search 13 x 13 samples.
            tally.check(ours > before + 3 and ours > means + (-1.25 if step else 3),
                        f"denoise: a photograph that {name}, noise {sigma}: {ours:.2f} dB of {before:.2f}, {means:.2f}")


def check(tally, runner, images):
    gray = np.ascontiguousarray(cv2.cvtColor(images[0][1], cv2.COLOR_BGR2GRAY)[40:253, 60:331])
    check_contract(tally, runner, gray)
    check_quality(tally, runner, gray)


def check_element(tally, runner, images):
    gray = np.ascontiguousarray(cv2.cvtColor(images[0][1], cv2.COLOR_BGR2GRAY)[:200, :320])
    tally.compare("element: denoise", runner.element(noisy(gray, 9), "GRAY8", [], stem="denoise"),
                  Denoiser(8).frame(noisy(gray, 9)).astype(np.uint8))
