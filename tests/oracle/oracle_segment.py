# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""The part of oracle_opencv.py for the segmentation. kernelcheck proves that the labels are exactly those of the
contract; the checks here measure the quality of the segmentation: scenes with known regions, seeded region growing with
a priority queue after Adams & Bischof (1994), images at two resolutions, noise on a static scene, and moving objects.
Each check prints its figures.

Covering of a segmentation A by a segmentation B: the mean over all pixels of the best overlap (intersection over union)
of the pixel's region in A with a region of B."""
import heapq
import os

import cv2
import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

SEED, MERGE = 0.05, 0.1  # defaults of seed-threshold and merge-threshold


# ---- running ---------------------------------------------------------------

def id_colors(n):
    """Returns the colours that output=labels gives the ids 1 .. n, as R << 16 | G << 8 | B."""
    h = np.arange(1, n + 1, dtype=np.uint64) * 2654435769 % 2**32
    r, g, b = (64 + 3 * (h >> np.uint64(s) & np.uint64(255)) // 4 for s in (24, 16, 8))
    return (r << np.uint64(16) | g << np.uint64(8) | b).astype(np.int64)


def frames(runner, stack, *sets):
    """Filters a stack of BGR frames with the given settings; returns None on failure."""
    return runner.frames(stack, "BGR", *sets, stem="segment")


def as_numbers(painted):
    """Returns the colour of each pixel of an output=labels image as one number."""
    b, g, r = (painted[..., k].astype(np.int64) for k in range(3))
    return r << 16 | g << 8 | b


def labels(runner, image, *sets):
    """Returns the region of each pixel, 0 .. n - 1; -1 everywhere if the filter failed."""
    out = frames(runner, image[None], "output=labels", "temporal=0", *sets)
    if out is None:
        return np.full(image.shape[:2], -1)
    return np.unique(as_numbers(out[0]), return_inverse=True)[1].reshape(image.shape[:2])


def covering(of, by):
    """Returns the covering of the labels `of` by the labels `by`; 0 if the filter failed."""
    if by.min() < 0:
        return 0.0
    n_of, n_by = of.max() + 1, by.max() + 1
    both = np.bincount((of.astype(np.int64) * n_by + by).ravel(), minlength=n_of * n_by).reshape(n_of, n_by)
    size_of, size_by = both.sum(1, keepdims=True), both.sum(0, keepdims=True)
    best = (both / np.maximum(size_of + size_by - both, 1)).max(1)
    return float((best * size_of[:, 0]).sum() / of.size)


def noisy(rng, image, sigma):
    """Returns the image with Gaussian noise, as 8-bit samples."""
    return np.clip(image + rng.normal(0, sigma, image.shape), 0, 255).round().astype(np.uint8)


def report(tally, what, good, figures):
    """Counts a check as passed or failed and prints its figures."""
    tally.check(good, f"segment: {what}: {figures}", always=True)


# ---- scenes with known regions ---------------------------------------------

def ycbcr(bgr):
    """Converts BGR to full range BT.601 in doubles; Y, Cb, Cr in the last axis."""
    b, g, r = (bgr[..., k].astype(float) for k in range(3))
    y = 0.299 * r + 0.587 * g + 0.114 * b
    return np.stack((y, 128 + (b - y) / 1.772, 128 + (r - y) / 1.402), -1)


def touching(label):
    """Returns the pairs of labels that touch, each pair once, the smaller label first."""
    pairs = np.concatenate([np.stack((label[:, :-1], label[:, 1:]), -1).reshape(-1, 2),
                            np.stack((label[:-1], label[1:]), -1).reshape(-1, 2)])
    pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
    return np.unique(pairs, axis=0)


def voronoi(rng, width, height, n):
    """Returns labels and image of n Voronoi cells; the colours of cells that touch differ by 40 or more."""
    y, x = np.mgrid[:height, :width]
    label = cKDTree(rng.uniform(0, 1, (n, 2)) * (width, height)).query(np.c_[x.ravel(), y.ravel()])[1]
    label = label.reshape(height, width)
    beside = [[] for _ in range(n)]
    for a, b in touching(label):
        beside[b].append(a)  # a < b: a already has its colour
    color = np.zeros((n, 3))
    for i in range(n):
        while True:
            color[i] = rng.integers(30, 226, 3)
            if all(np.linalg.norm(ycbcr(color[i]) - ycbcr(color[j])) >= 40 for j in beside[i]):
                break
    return label, color[label]


def check_voronoi(tally, runner):
    rng = np.random.default_rng(1)
    for width, height, n in ((640, 480, 60), (640, 480, 20), (1920, 1080, 60), (1920, 1080, 200)):
        truth, image = voronoi(rng, width, height, n)
        got = labels(runner, noisy(rng, image, 4))
        score = covering(truth, got)
        report(tally, f"{n} cells, noise 4, {width}x{height}", score > 0.95,
               f"{got.max() + 1} regions, covering {score:.4f} (over .95)")


# ---- other growth algorithms -----------------------------------------------

def near(p, q, t):
    """Returns whether the relative distance is less than t."""
    return 2 * ((p - q) ** 2).sum(-1) < t * t * ((p * p).sum(-1) + (q * q).sum(-1))


def seeds_of(p):
    """Returns the connected components of seeds, numbered from 1 (0 elsewhere), and their number."""
    h, w = p.shape[:2]
    smooth = np.ones((h, w), bool)
    for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1)):
        y, x = slice(0, h - dy), slice(max(0, -dx), w - max(0, dx))
        y2, x2 = slice(dy, h), slice(max(0, dx), w - max(0, -dx))
        alike = near(p[y, x], p[y2, x2], SEED)
        smooth[y, x] &= alike
        smooth[y2, x2] &= alike
    return ndimage.label(smooth, np.ones((3, 3)))


def grow_sequentially(p, label, n):
    """Grows one pixel at a time: of all pixels that touch a region, the one that is relatively nearest to the region's
    mean. The distance is computed when the pixel is queued."""
    h, w = label.shape
    # A border of -1 on all sides, so that each pixel has four neighbours.
    framed = np.full((h + 2, w + 2), -1)
    framed[1:-1, 1:-1] = label
    flat, step = framed.ravel().tolist(), w + 2
    color = np.zeros((h + 2, w + 2, 3))
    color[1:-1, 1:-1] = p
    color = color.reshape(-1, 3).tolist()
    count = np.bincount(label.ravel(), minlength=n + 1).tolist()
    total = np.stack([np.bincount(label.ravel(), p[..., k].ravel(), minlength=n + 1) for k in range(3)], 1).tolist()
    queue = []

    def ask(at):
        owner, n_own, s = flat[at], count[flat[at]], total[flat[at]]
        m0, m1, m2 = s[0] / n_own, s[1] / n_own, s[2] / n_own
        for other in (at - step, at - 1, at + 1, at + step):
            if flat[other] == 0:
                q0, q1, q2 = color[other]
                d = (q0 - m0) ** 2 + (q1 - m1) ** 2 + (q2 - m2) ** 2
                heapq.heappush(queue, (d / (q0 * q0 + q1 * q1 + q2 * q2 + m0 * m0 + m1 * m1 + m2 * m2), other, owner))

    for at, owner in enumerate(flat):
        if owner > 0:
            ask(at)
    while queue:
        _, at, owner = heapq.heappop(queue)
        if flat[at] != 0:
            continue
        flat[at] = owner
        count[owner] += 1
        for k in range(3):
            total[owner][k] += color[at][k]
        ask(at)
    return np.array(flat).reshape(h + 2, w + 2)[1:-1, 1:-1]


def grow_in_rings(p, label, n):
    """Grows all pixels that touch a region at once, then updates the means."""
    label = label.copy()
    while (label == 0).any():
        count = np.maximum(np.bincount(label.ravel(), minlength=n + 1), 1)
        mean = np.stack([np.bincount(label.ravel(), p[..., k].ravel(), minlength=n + 1) for k in range(3)], 1)
        mean /= count[:, None]
        framed = np.pad(label, 1)
        beside = np.stack((framed[:-2, 1:-1], framed[1:-1, :-2], framed[1:-1, 2:], framed[2:, 1:-1]))
        y, x = np.nonzero((label == 0) & (beside > 0).any(0))
        m = mean[beside[:, y, x]]
        d = ((m - p[y, x]) ** 2).sum(-1) / ((m * m).sum(-1) + (p[y, x] ** 2).sum(-1))
        d[beside[:, y, x] == 0] = np.inf
        label[y, x] = beside[d.argmin(0), y, x]
    return label


class Graph:
    """A region adjacency graph, to be merged pair by pair."""

    def __init__(self, p, label):
        n = label.max() + 1
        self.count = np.bincount(label.ravel(), minlength=n).astype(float)
        self.total = np.stack([np.bincount(label.ravel(), p[..., k].ravel(), minlength=n) for k in range(3)], 1)
        self.beside = [set() for _ in range(n)]
        for a, b in touching(label).tolist():
            self.beside[a].add(b)
            self.beside[b].add(a)
        self.now = np.arange(n)  # the region of which each first region is a part now
        self.version = [0] * n
        self.label = label

    def mean(self, a):
        return self.total[a] / self.count[a]

    def join(self, a, b):
        """Merges b into a."""
        self.count[a] += self.count[b]
        self.total[a] += self.total[b]
        self.count[b] = 0
        self.now[self.now == b] = a
        self.beside[a] |= self.beside[b]
        self.beside[a] -= {a, b}
        for c in self.beside[b]:
            self.beside[c].discard(b)
            if c != a:
                self.beside[c].add(a)
        self.beside[b] = set()
        self.version[a] += 1
        self.version[b] += 1

    def ratio(self, a, b):
        p, q = self.mean(a), self.mean(b)
        return 2 * ((p - q) ** 2).sum() / ((p * p).sum() + (q * q).sum())


def merge_greedily(p, label, min_size):
    """Merges the two nearest regions as long as they are similar; then merges the regions below min_size, the smallest
    first, into their nearest neighbours."""
    g = Graph(p, label)
    queue = []

    def ask(a, others):
        for b in others:
            r = g.ratio(a, b)
            if r < MERGE * MERGE:
                heapq.heappush(queue, (r, a, b, g.version[a], g.version[b]))

    for a, others in enumerate(g.beside):
        ask(a, [b for b in others if b > a])
    while queue:
        _, a, b, va, vb = heapq.heappop(queue)
        if va == g.version[a] and vb == g.version[b]:
            g.join(a, b)
            ask(a, g.beside[a])
    small = [(g.count[a], a) for a in range(len(g.count)) if 0 < g.count[a] < min_size]
    heapq.heapify(small)
    while small:
        n, a = heapq.heappop(small)
        if n != g.count[a] or n == 0 or not g.beside[a]:
            continue
        b = min(g.beside[a], key=lambda c: (((g.mean(a) - g.mean(c)) ** 2).sum(), c))
        g.join(b, a)
        if g.count[b] < min_size:
            heapq.heappush(small, (g.count[b], b))
    return np.unique(g.now[label], return_inverse=True)[1].reshape(label.shape)


def photographs(images, *names):
    """Returns the named images that are available."""
    found = dict(images)
    return [(name, found[name]) for name in names if name in found]


def check_growing(tally, runner, images):
    """Checks that the filter is as close to growth with a queue as growth in rings is."""
    scores, rings = [], []
    for name, image in photographs(images, "astronaut.png", "camera.png", "chelsea.png", "coffee.png", "coins.png",
                                   "moon.png", "motorcycle_left.png", "rocket.jpg"):
        small = cv2.resize(image, (240, image.shape[0] * 240 // image.shape[1]), interpolation=cv2.INTER_AREA)
        p = ycbcr(small).round()
        seeds, n = seeds_of(p)
        least = max(1, small.shape[0] * small.shape[1] // 10000)
        truth = merge_greedily(p, grow_sequentially(p, seeds, n), least)
        ring = merge_greedily(p, grow_in_rings(p, seeds, n), least)
        got = labels(runner, small)
        scores.append(covering(truth, got))
        rings.append(covering(truth, ring))
        print(f"segment: {name}: with a queue {truth.max() + 1} regions, in rings {ring.max() + 1}, "
              f"covering {rings[-1]:.3f}, the filter {got.max() + 1}, covering {scores[-1]:.3f}")
    mean_filter, mean_rings = np.mean(scores or [0]), np.mean(rings or [0])
    report(tally, f"{len(scores)} photographs", len(scores) > 0 and mean_filter >= mean_rings,
           f"covering {mean_filter:.3f}, growth in rings {mean_rings:.3f}")


# ---- resolutions -----------------------------------------------------------

def check_resolution(tally, runner, images):
    for name, image in photographs(images, "astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg"):
        large = cv2.resize(image, None, fx=4, fy=4, interpolation=cv2.INTER_CUBIC)
        a, b = labels(runner, image), labels(runner, large)
        score, n, m = covering(a, b[2::4, 2::4]), a.max() + 1, b.max() + 1
        report(tally, f"{name} and the same enlarged four times", score > 0.7 and max(n, m) <= 1.6 * min(n, m),
               f"{n} and {m} regions, covering {score:.3f} (over .7)")


# ---- video -----------------------------------------------------------------

def static_scene(images):
    """Returns name and image of a static scene: a frame of a video file if there is one, else a photograph."""
    for path in (os.environ.get("CF_CLIP"), os.path.join(os.environ.get("CF_BUILD", "."), "vtest.avi")):
        if path and os.path.exists(path):
            good, frame = cv2.VideoCapture(path).read()
            if good:
                return os.path.basename(path), frame
    return images[0]


def jumps(painted):
    """Returns for each frame the percentage of pixels whose luma changes by more than 8 from the previous frame."""
    luma = ycbcr(painted)[..., 0]
    return [float((np.abs(luma[i] - luma[i - 1]) > 8).mean() * 100) for i in range(1, len(luma))]


def check_static(tally, runner, images):
    rng = np.random.default_rng(2)
    name, scene = static_scene(images)
    for size in ((768, 576), (1920, 1080)):
        base = cv2.resize(scene, size).astype(float)
        stack = np.stack([noisy(rng, base, 2) for _ in range(8)])
        for setting, good, limit in (("temporal=0.15", lambda j: max(j) < 3, "all under 3"),
                                     ("temporal=0", lambda j: np.mean(j) > 10, "over 10 on average")):
            out = frames(runner, stack, setting)
            j = jumps(out) if out is not None else [50.0]
            report(tally, f"{name}, static, noise 2, {size[0]}x{size[1]}, {setting}", out is not None and good(j),
                   f"{np.mean(j):.2f} % of the pixels jump, at most {max(j):.2f} ({limit})")


def discs(n):
    """Returns n frames of five discs that move on an ellipse, and the centres of the discs in each frame."""
    rng = np.random.default_rng(3)
    colors = ((40, 40, 200), (220, 60, 60), (60, 200, 60), (200, 200, 210), (20, 20, 20))
    stack, centres = np.empty((n, 360, 480, 3), np.uint8), np.empty((n, 5, 2), int)
    for t in range(n):
        image = np.full((360, 480, 3), (90, 110, 100), float)
        for i, color in enumerate(colors):
            angle = t * 0.02 + i * 1.2566
            centres[t, i] = round(240 + 180 * np.cos(angle)), round(180 + 120 * np.sin(angle))
            cv2.circle(image, tuple(int(v) for v in centres[t, i]), 25, color, -1)
        stack[t] = noisy(rng, image, 2)
    return stack, centres


def check_discs(tally, runner):
    stack, centres = discs(300)
    out = frames(runner, stack, "output=labels")
    if out is None:
        report(tally, "five discs", False, "no result")
        return
    painted = as_numbers(out)
    ids = np.stack([painted[t, centres[t, :, 1], centres[t, :, 0]] for t in range(len(stack))])
    known = np.isin(ids[0], id_colors(100)).all() and len(set(ids[0].tolist())) == 5
    bad = int((ids != ids[0]).any(1).sum())
    report(tally, "five discs move for 300 frames", known and bad == 0, f"{bad} frames in which a disc has another id")


# ---- all checks ------------------------------------------------------------

def check(tally, runner, images):
    check_voronoi(tally, runner)
    check_growing(tally, runner, images)
    check_resolution(tally, runner, images)
    check_static(tally, runner, images)
    check_discs(tally, runner)


def check_element(tally, runner, images):
    """Checks that the element paints the same as the library."""
    for name, color in images[:2]:
        image = np.ascontiguousarray(color[:, :color.shape[1] // 4 * 4])
        for sets in (("output=mean",), ("output=labels", "cell-size=3"), ("output=boundaries", "min-size=40")):
            tally.compare(f"element: {name} {' '.join(sets)}", runner.element(image, "BGR", list(sets), stem="segment"),
                          runner.kernelcheck(image, "BGR", *sets, stem="segment"))
