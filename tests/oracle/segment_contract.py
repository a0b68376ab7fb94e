# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""The segmentation by its contract (cuda/segment/segment.h, whose steps are named here) in NumPy and SciPy, and the
check that the filter paints exactly these labels. Colours are (Y, Cb, Cr) in the last axis, cells are numbered row by
row, and a region is named by its root, its smallest cell number."""
import math

import numpy as np
from scipy import ndimage, sparse

WEIGHT = np.array((1, 4, 4))  # of differences of Y, Cb, Cr


def fixed(t):
    return math.floor(65536 * t * t + 0.5)


def squared(p):
    return (p * p).sum(-1)


def distance(p, q):
    return ((p - q) ** 2 * WEIGHT).sum(-1)


def rel(p, q, n):
    return 131072 * distance(p, q) < n * (squared(p) + squared(q))


def ycbcr(rgb):
    r, g, b = (rgb[..., k] for k in range(3))
    return np.stack(((19595 * r + 38470 * g + 7471 * b + 32768) >> 16,
                     (-11059 * r - 21709 * g + 32768 * b + 8421375) >> 16,
                     (32768 * r - 27439 * g - 5329 * b + 8421375) >> 16), -1)


def components(pairs, n):
    """Returns for each of n things the smallest one that it is connected with."""
    number = sparse.csgraph.connected_components(
        sparse.coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n)), directed=False)[1]
    least = np.full(number.max() + 1, n)
    np.minimum.at(least, number, np.arange(n))
    return least[number]


def around(cells):
    """Returns the 3 x 3 arrays of the cells beside each one; beyond the frame lies the nearest one inside."""
    height, width = cells.shape[:2]
    cells = np.pad(cells, ((1, 1), (1, 1), (0, 0)), "edge")
    return [[cells[i:i + height, j:j + width] for j in range(3)] for i in range(3)]


def luma_class(y):
    """Step 4: L."""
    return np.where(y < 64, y // 32, y // 64 + 1)


def sides(cells, corners=False):
    """Returns the pairs of cells of this array that touch, with corners also those that touch at a corner."""
    pairs = [(cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])]
    if corners:
        pairs += [(cells[:-1, :-1], cells[1:, 1:]), (cells[:-1, 1:], cells[1:, :-1])]
    return np.concatenate([np.stack(pair, -1).reshape(-1, 2) for pair in pairs])


class Segmenter:
    """Segments frames of (height, width, 3) samples: RGB where `is_rgb`, else Y, Cb, Cr. The settings are those of the
    element, with _ for -, and stay the same for all frames."""

    def __init__(self, is_rgb, bits=8, seed_threshold=1, seed_similarity=False, seeds=(), merge_threshold=0.12,
                 weak_difference=0.03, weak_fraction=1, min_size=0, max_regions=65535, temporal=0.15, cell_size=0):
        self.is_rgb, self.shift, self.seeds, self.similarity = is_rgb, bits - 8, seeds, seed_similarity
        self.seed_threshold, self.merge_threshold, self.temporal = seed_threshold, merge_threshold, temporal
        self.weak, self.fraction = weak_difference, math.floor(65536 * weak_fraction + 0.5)
        self.min_size, self.max_regions, self.cell_size = min_size, max_regions, cell_size
        self.state, self.next_id = None, 1

    # ---- steps 1 to 4 ----

    def cells(self, frame):
        """Step 1: sets the size of the cells, the cell of each pixel and the colours of both."""
        height, width = frame.shape[:2]
        s = self.s = self.cell_size or max(1, (min(width, height) + 239) // 480)
        self.h, self.w = -(-height // s), -(-width // s)
        self.z = self.h * self.w
        self.of_pixel = (np.arange(height) // s)[:, None] * self.w + np.arange(width) // s
        n = np.bincount(self.of_pixel.ravel())
        sums = np.stack([np.bincount(self.of_pixel.ravel(), frame[..., k].ravel()) for k in range(3)], -1).astype(int)
        color = (sums + n[:, None] // 2) // n[:, None] >> self.shift
        self.q = (ycbcr(color) if self.is_rgb else color).reshape(self.h, self.w, 3)
        above, level, below = ((left + 2 * here + right) for left, here, right in around(self.q))
        self.p = ((above + 2 * level + below + 8) // 16).reshape(-1, 3)
        frame = frame >> self.shift
        self.of_frame = ycbcr(frame) if self.is_rgb else frame
        self.least = max(1, -(-(self.min_size or max(1, width * height // 10000)) // s ** 2))
        self.grid = np.arange(self.z).reshape(self.h, self.w)
        self.touch, self.near = sides(self.grid), sides(self.grid, corners=True)
        self.listed = np.zeros(self.z, bool)
        for x, y in self.seeds:
            if x < width and y < height:
                self.listed[self.of_pixel[y, x]] = True
        self.most = max(self.max_regions, self.listed.sum())

    def kept_cells(self):
        """Step 2."""
        if self.state is None or self.temporal == 0:
            return np.zeros(self.z, bool)
        mean, before, t = self.state["mean"][self.state["index"]], self.state["p"], self.temporal
        kept = rel(self.p, mean, fixed(t)) | (rel(self.p, before, fixed(t / 3)) &
                                              rel(self.p, mean, fixed(min(1, 3 * t))))
        return kept

    def similar(self):
        """Step 3: the cells that are similar to their surroundings."""
        parts = np.stack(sum(around(self.q), []))
        value = 9 * (parts ** 2).sum(0) - parts.sum(0) ** 2
        r = np.sqrt(value).astype(int).sum(-1).ravel()
        h = 255 - 255 * r // r.max() if r.max() else np.full(self.z, 255)
        count = np.bincount(h, minlength=256)
        n0, s0 = np.cumsum(count)[:255], np.cumsum(count * np.arange(256))[:255]
        n1, s1 = self.z - n0, int(h.sum()) - s0
        both = (n0 > 0) & (n1 > 0)
        if not both.any():
            return np.ones(self.z, bool)
        n0, s0, n1, s1 = (values.astype(float) for values in (n0, s0, n1, s1))
        between = np.where(both, (s0 * n1 - s1 * n0) ** 2 / np.where(both, n0 * n1, 1), -1)
        return h > between.argmax()

    def first_regions(self):
        """Steps 2 to 4: sets the root of each cell, which regions have a seed, and which old ones they continue."""
        kept = self.kept_cells()
        threshold = self.seed_threshold or 0.05 * min(2, 480 / min(self.h, self.w))
        alike = rel(self.p[self.near[:, 0]], self.p[self.near[:, 1]], fixed(threshold))
        seed = np.ones(self.z, bool)
        seed[self.near[~alike].ravel()] = False
        if self.similarity:
            seed &= self.similar()
        seed = (seed | self.listed) & ~kept
        a, b = self.touch.T
        row, column = np.divmod(np.arange(self.z), self.w)
        kind = np.stack((luma_class(self.p[:, 0]), *((self.p[:, 1:] + 32) // 64).T, row // 16, column // 16), -1)
        join = seed[a] & seed[b] & (kind[a] == kind[b]).all(-1)
        old = self.state["index"] if self.state is not None else np.zeros(self.z, int)
        join |= kept[a] & kept[b] & (old[a] == old[b])
        root = components(self.touch[join], self.z)
        self.continued = {}
        free = np.zeros(self.z, bool)
        if kept.any():
            size = np.bincount(root)
            parts = {}  # by the index of the old region: the roots of its components
            for part in np.unique(root[kept]):
                parts.setdefault(old[part], []).append(part)
            for index, roots in parts.items():
                o = self.state["cells"][index]
                going_on = [part for part in roots if size[part] >= self.least or 16 * size[part] >= o]
                if 4 * sum(size[part] for part in going_on) < o:
                    going_on = []
                for part in roots:
                    if part in going_on:
                        root[root == part] = going_on[0]  # the smallest: np.unique sorts
                    elif size[part] < self.least:
                        free[root == part] = True
                if going_on:
                    self.continued[going_on[0]] = {index: sum(size[part] for part in going_on)}
            root[free] = np.arange(self.z)[free]
        self.root = root
        self.seeded = np.zeros(self.z, bool)
        self.seeded[root[(seed | kept) & ~free]] = True

    # ---- steps 5 to 9 ----

    def measure(self):
        """Sets cells and mean of each region, by its root, and its sorted neighbours: pairs (region, other)."""
        self.n = np.bincount(self.root, minlength=self.z)
        sums = np.stack([np.bincount(self.root, self.p[:, k], self.z) for k in range(3)], -1).astype(int)
        n = np.maximum(self.n, 1)[:, None]
        self.mean = (sums + n // 2) // n
        pairs = self.root[self.touch]
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        self.pairs = np.unique(np.concatenate((pairs, pairs[:, ::-1])), axis=0)

    def count(self):
        return len(np.unique(self.root))

    def cost(self, a, b):
        """Step 5: the cost of joining two regions."""
        c = distance(self.mean[a], self.mean[b]) ** 2 * np.minimum(np.minimum(self.n[a], self.n[b]), 1 << 24)
        others = sum((c >= 1 << k).astype(int) for k in range(14, 63))
        return 8192 * others + (c >> others)

    def is_larger(self):
        """Step 8: returns in which pairs the second one is the larger, and the first one may pick it."""
        a, b = self.pairs.T
        larger = self.marked[b] | (self.n[b] > self.n[a]) | ((self.n[b] == self.n[a]) & (b < a))
        return larger & ~self.marked[a]

    def goes_on(self, roots):
        """Returns which of these regions continue old ones."""
        going_on = np.zeros(self.z, bool)
        going_on[list(self.continued)] = True
        return going_on[roots]

    def rename(self, new):
        """Gives each region the root that `new` has at its old one."""
        self.root = new[self.root]
        self.seeded = np.bincount(new, self.seeded, self.z) > 0
        continued = {}
        for root, of_root in self.continued.items():
            continued.setdefault(int(new[root]), {}).update(of_root)
        self.continued = continued
        self.measure()

    def join_picks(self, a, b, value):
        """Step 5: each of the regions a picks the one of its b with the least value, or the smallest root. Returns
        whether any picks."""
        if not len(a):
            return False
        order = np.lexsort((b, value, a))
        first = order[np.unique(a[order], return_index=True)[1]]
        pick = np.arange(self.z)
        pick[a[first]] = b[first]
        last = pick  # follow the picks to the region that picks none, or into the pair that picks each other
        for _ in range(self.z.bit_length()):
            last = last[last]
        self.rename(np.where(pick[last] == last, last, np.minimum(last, pick[last])))
        return True

    def grow(self):
        """Step 6."""
        while self.count() > 1:
            a, b = self.pairs[~self.seeded[self.pairs[:, 0]]].T
            if not self.join_picks(a, b, distance(self.mean[a], self.mean[b])):
                break
        self.marked = np.zeros(self.z, bool)
        self.marked[self.root[self.listed]] = True

    def join_weak(self):
        """Step 7. Returns whether it joins any."""
        a, b = self.root[self.touch].T
        both = self.goes_on(a) & self.goes_on(b)
        p, q = self.p[self.touch[:, 0]], self.p[self.touch[:, 1]]
        weak = np.where(both, rel(p, q, fixed(0.6 * self.weak)), rel(p, q, fixed(self.weak)))
        outer = a != b
        around = np.bincount(np.concatenate((a[outer], b[outer])), minlength=self.z)
        border, w = np.unique(np.sort(np.stack((a, b), -1)[outer & weak], axis=1), axis=0, return_counts=True)
        s = around[border].min(-1, initial=1 << 40)
        border = border[(65536 * w > self.fraction * s) & ~self.marked[border].any(-1)]
        if len(border):
            self.rename(components(border, self.z))
        return len(border) > 0

    def merge_alike(self):
        """Step 8."""
        square = self.merge_threshold ** 2
        full = np.array([math.floor(65536 * min(1, square * math.sqrt(self.z / (1000 * 2 ** k))) + 0.5)
                         for k in range(32)])
        rises = 7 if self.listed.any() else 5
        r = 0
        while True:
            a, b = self.pairs[self.is_larger()].T
            n = full[np.frexp(np.minimum(self.n[a], self.n[b]))[1] - 1] >> max(0, rises - r)
            allowed = rel(self.mean[a], self.mean[b], n) & ~(self.goes_on(a) & self.goes_on(b))
            any_picks = self.join_picks(a[allowed], b[allowed], self.cost(a, b)[allowed])
            if not any_picks and r >= rises:
                return
            r += 1

    def merge_small(self):
        """Step 9."""
        while self.count() > 1:
            first = self.pairs[:, 0]
            a, b = self.pairs[(self.n[first] < self.least) & ~self.marked[first]].T
            if not self.join_picks(a, b, self.cost(a, b)):
                break
        limit = 81920
        while self.count() > self.most:  # until no region picks, also below that
            picked = True
            while picked:
                a, b = self.pairs[self.is_larger()].T
                cost = self.cost(a, b)
                picked = self.join_picks(a[cost < limit], b[cost < limit], cost[cost < limit])
            limit += 2048

    # ---- steps 10 and 11 ----

    def name(self):
        """Step 10: sets the ids, and the state for the next frame."""
        roots = np.unique(self.root)
        if self.state is None or self.temporal == 0:
            self.next_id = 1
        ids = []
        for root in roots:
            old = self.continued.get(root)
            if old:
                most = max(old, key=lambda index: (old[index], -index))
                ids.append(self.state["ids"][most])
            else:
                ids.append(self.next_id)
                self.next_id += 1
        self.ids = np.array(ids)
        index = np.searchsorted(roots, self.root)
        before = self.state["ids"][self.state["index"]] if self.state is not None and self.temporal else 0
        for _ in range(4):
            index = self.moved(index, self.ids[index] == before, self.mean[roots])
        self.state = {"p": self.p, "index": index, "mean": self.mean[roots], "cells": self.n[roots], "ids": self.ids}

    def moved(self, index, stays, mean):
        """Step 10: moves the borders once."""
        cells = np.pad(index.reshape(self.h, self.w), 1, "edge")  # an edge offers a cell its own region
        offered = np.stack((cells[1:-1, 1:-1], cells[:-2, 1:-1], cells[1:-1, :-2], cells[1:-1, 2:], cells[2:, 1:-1]))
        offered = offered.reshape(5, -1)
        best = distance(mean[offered], self.q.reshape(-1, 3)).argmin(0)  # the first of equals
        return np.where(stays, index, offered[best, np.arange(self.z)])

    def of_pixels(self):
        """Step 11: returns the index of each pixel's region."""
        s, index, mean = self.s, self.state["index"].reshape(self.h, self.w), self.state["mean"]
        row, column = np.divmod(self.of_pixel, self.w)
        height, width = row.shape
        i = np.broadcast_to(np.arange(width) % s, row.shape)
        j = np.broadcast_to((np.arange(height) % s)[:, None], row.shape)
        best = index[row, column]
        least = distance(mean[best], self.of_frame)
        for down, aside in ((0, np.sign(2 * i + 1 - s)), (np.sign(2 * j + 1 - s), 0)):
            y, x = row + down, column + aside
            there = (y >= 0) & (y < self.h) & (x >= 0) & (x < self.w)
            other = index[np.clip(y, 0, self.h - 1), np.clip(x, 0, self.w - 1)]
            far = distance(mean[other], self.of_frame)
            nearer = there & (far < least)
            best, least = np.where(nearer, other, best), np.where(nearer, far, least)
        return best

    def __call__(self, frame):
        """Returns the index of each pixel's region. `ids` has the ids of the regions."""
        self.cells(frame.astype(int))
        self.first_regions()
        self.measure()
        self.grow()
        self.join_weak()
        self.merge_alike()
        self.merge_small()
        self.name()
        return self.of_pixels()


# ---- the check ---------------------------------------------------------------

def label_colors(ids):
    """Step 12: returns the colours of output=labels, in RGB."""
    h = ids.astype(np.uint64) * np.uint64(2654435769) % np.uint64(2 ** 32)
    return np.stack([64 + 3 * (h >> np.uint64(shift) & np.uint64(255)) // 4 for shift in (24, 16, 8)], -1).astype(int)


def as_samples(stored, form):
    """Returns RGB, or Y, Cb, Cr of a frame as it is stored."""
    if form == "BGR":
        return stored[..., ::-1]
    if form == "AYUV":
        return stored[..., 1:]
    if form == "UYVY":  # U and V in turn, then Y
        chroma = stored[..., 0]
        return np.stack((stored[..., 1], chroma[:, 0::2].repeat(2, 1), chroma[:, 1::2].repeat(2, 1)), -1)
    mid = np.full_like(stored, 128 * (257 if stored.itemsize == 2 else 1))
    return np.stack((stored, mid, mid), -1)


def as_stored(before, form, rgb):
    """Returns a frame as it is stored after the painting."""
    out, color = before.copy(), ycbcr(rgb)
    if form == "BGR":
        out[...] = rgb[..., ::-1]
    elif form == "AYUV":
        out[..., 1:] = color
    elif form == "UYVY":
        out[..., 1] = color[..., 0]
        out[:, 0::2, 0], out[:, 1::2, 0] = color[:, 0::2, 1], color[:, 0::2, 2]
    else:
        out[...] = color[..., 0].astype(out.dtype) << 8 * (out.itemsize - 1)
    return out


def video(images):
    """Returns four frames of a photograph that moves, with noise, in BGR."""
    dice = np.random.default_rng(1)
    still = dict(images)["coffee.png"][100:240, 150:320]
    frames = np.stack([np.roll(still, 3 * i, axis=1) for i in range(4)]).astype(int)
    return (frames + dice.integers(-4, 5, frames.shape)).clip(0, 255).astype(np.uint8)


def formats(bgr):
    """Returns (format, frames) with the same pictures."""
    yuv = ycbcr(bgr[..., ::-1].astype(int)).astype(np.uint8)
    yield "AYUV", np.concatenate((np.full_like(yuv[..., :1], 77), yuv), -1)
    yield "UYVY", np.stack((np.where(np.arange(yuv.shape[2]) % 2, yuv[..., 2], yuv[..., 1]), yuv[..., 0]), -1)
    yield "GRAY8", yuv[..., 0].copy()
    yield "GRAY16_LE", yuv[..., 0] * np.uint16(256) + np.arange(yuv.shape[2], dtype=np.uint16)


# Each has to have an effect; the first one is the default.
SETTINGS = [{}, {"seed_similarity": True, "seed_threshold": 0.2}, {"seed_threshold": 0.2}, {"seed_threshold": 0.02},
            {"weak_fraction": 0.3}, {"weak_fraction": 0.3, "weak_difference": 0.1}, {"merge_threshold": 0.05},
            {"min_size": 60}, {"min_size": 30, "max_regions": 12}, {"cell_size": 2}, {"cell_size": 3},
            {"seeds": ((128, 15), (27, 51), (999, 1)), "seed_threshold": 0.02}, {"seeds": ((128, 15), (27, 51))},
            {"seeds": ((128, 15), (27, 51), (88, 90)), "merge_threshold": 0.4, "max_regions": 2}]
OVER_TIME = [{}, {"weak_fraction": 0.3, "weak_difference": 0.1}, {"temporal": 0.03, "cell_size": 2, "max_regions": 30},
             {"temporal": 1}, {"seeds": ((44, 90),), "min_size": 25, "seed_threshold": 0.03},
             {"seeds": ((44, 90), (128, 15), (27, 51)), "merge_threshold": 0.4}]


def texts(settings):
    """Returns the settings as `--set` takes them."""
    for name, value in settings.items():
        text = "; ".join("%d,%d" % point for point in value) if name == "seeds" else str(value).lower()
        yield f"{name.replace('_', '-')}={text}"


def check(tally, runner, images):
    """Compares every byte of painted labels: of a picture afresh with each setting, of a video, of other formats."""
    def painted(form, frames, settings):
        segmenter = Segmenter(form == "BGR", 8 * frames.itemsize, **settings)
        out = []
        for frame in frames:
            labels = segmenter(as_samples(frame, form))
            out.append(as_stored(frame, form, label_colors(segmenter.ids)[labels]))
        got = runner.frames(frames, form, "output=labels", *texts(settings), stem="segment")
        tally.compare(f"segment: contract, {form}, {' '.join(texts(settings))}", got, np.stack(out))
        return out[0]

    frames, results = video(images), []
    for settings in SETTINGS:
        results.append(painted("BGR", frames[:1], {"temporal": 0, **settings}))
        tally.check(not any(np.array_equal(results[-1], other) for other in results[:-1]),
                    f"segment: contract: {settings} has no effect of its own")
    for settings in OVER_TIME:
        painted("BGR", frames, settings)
    for form, same in formats(frames[:2]):
        painted(form, same, {"cell_size": 2, "weak_fraction": 0.5})
        painted(form, same[:1], {"seed_similarity": True, "seed_threshold": 0.2})
