#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""What moves, by the contract in cuda/median/running.h, in NumPy; and whether the element cudamedian finds the same.

    motion_contract.py [--sizes 320x240,349x282] [--scenes stop,lamp] [--backend cpu|cuda]

The class Motion follows the contract, rule by rule, with its names. The program shows parts of drawn scenes (scenes.py)
to it and to the element, and compares the regions of each frame; those whose cells are cut by the border with
motion-hold=3 motion-min-area=200, the others without. Each rule has to be at work. The program is skipped (77) without
PyGObject, GStreamer's typelibs or NumPy.
"""
import argparse
import itertools
import os
import sys

sys.dont_write_bytecode = True
if __name__ == "__main__":
    sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
    import interpreter
    interpreter.use()

import numpy as np

import scenes

CELL, BLOCK = 16, 4
RULES = ("anew", "loose", "lit", "drift", "floor", "ghost", "sure", "group")


def clamp(value, most):
    return np.clip(value, -most, most)


def towards_zero(number, by):
    """Divides as C does."""
    return np.sign(number) * (np.abs(number) // by)


def around(values, of):
    """Returns `of`, np.maximum or np.add for instance, of each value and the up to eight around it."""
    for _ in range(2):
        values, beside = values.copy().T, values.T
        of(values[1:], beside[:-1], out=values[1:])
        of(values[:-1], beside[1:], out=values[:-1])
    return values


def groups(cells):
    """Returns the number of each cell's group, from 1 on in the order of their first cells, and 0 where there is none.
    Cells that touch, also at a corner, are of one group."""
    number, count = np.zeros(cells.shape, int), 0
    left = dict.fromkeys(map(tuple, np.argwhere(cells).tolist()))
    while left:
        reached, count = [next(iter(left))], count + 1
        while reached:
            row, column = at = reached.pop()
            if at in left:
                del left[at]
                number[at] = count
                reached += [(row + down, column + aside) for down in (-1, 0, 1) for aside in (-1, 0, 1)]
    return number


def of_group(number, values):
    """Returns for each cell the sum of the values of its group."""
    sums = np.bincount(number.ravel(), values.ravel()).astype(int)
    sums[0] = 0
    return sums[number]


class Motion:
    """Finds what moves in gray frames. `frame` returns the cells at once and the confirmed ones: rows by columns of
    booleans. `without` names rules that are left out, see RULES: to show what each is for.

    After a frame `unknown` says that it is not known what moves, and `met` has the names of the rules that have been at
    work since the start."""

    def __init__(self, width, height, bits=8, without=(), min_area=0, hold=0):
        self.size, self.bits, self.without, self.min_area, self.hold = (width, height), bits, without, min_area, hold
        self.w, self.h = -(-width // CELL), -(-height // CELL)
        self.s = max(2, (self.h + 3) // 7)
        cells = (self.h, self.w)
        self.c1 = self.c2 = np.zeros((*cells, CELL), bool)
        self.q, self.in_motion, self.in_confirmed = (np.zeros(cells, int) for _ in range(3))
        self.was_ghost = np.zeros(cells, bool)
        self.g = self.lit = 0
        self.b = None
        self.met = set()

    # ---- blocks, cells, tiles: (4 H, 4 W), (H, W), (tiles down, tiles across) ----

    def blocks(self, y):
        """Returns x."""
        width, height = self.size
        y = np.pad(np.minimum(y, (1 << self.bits) - 1).astype(np.int32),
                   ((0, self.h * CELL - height), (0, self.w * CELL - width)), "edge")
        rows = y[0::4] + y[1::4] + y[2::4] + y[3::4]
        x = (rows[:, 0::4] + rows[:, 1::4] + rows[:, 2::4] + rows[:, 3::4]) >> (self.bits - 8)
        x[-(-height // BLOCK):] = 0
        x[:, -(-width // BLOCK):] = 0
        return x

    def by_cell(self, blocks):
        """Returns (H, W, 16): the blocks of each cell."""
        return blocks.reshape(self.h, 4, self.w, 4).swapaxes(1, 2).reshape(self.h, self.w, CELL)

    def to_blocks(self, cells):
        return cells.repeat(4, 0).repeat(4, 1)

    def window(self, cells):
        """Returns the sum over each tile's window."""
        s = self.s
        padded = np.pad(cells, ((0, -self.h % s), (0, -self.w % s)))
        return around(padded.reshape(padded.shape[0] // s, s, padded.shape[1] // s, s).sum((1, 3)), np.add)

    def of_tile(self, tiles):
        """Returns for each cell the value of its tile."""
        return tiles.repeat(self.s, 0).repeat(self.s, 1)[:self.h, :self.w]

    # ---- the rules ----

    def extreme(self, b, of):
        """Returns the least or largest B around each block, of those that have pixels of the frame."""
        width, height = self.size
        result = b.copy()
        real = np.s_[:-(-height // BLOCK), :-(-width // BLOCK)]
        result[real] = around(b[real], of)
        return result

    def edges(self, x, b, t, moved):
        """Returns E and Y of each cell."""
        changed = np.zeros((self.h, self.w), int)
        sharper = np.zeros((self.h, self.w), int)
        for axis in (0, 1):
            first = [slice(None)] * 4  # row of cells, row in the cell, column of cells, column in the cell
            second = list(first)
            first[1 + 2 * axis], second[1 + 2 * axis] = slice(0, 3), slice(1, 4)
            (xa, ba, ta, one), (xb, bb, tb, other) = (
                [blocks.reshape(self.h, 4, self.w, 4)[tuple(part)] for blocks in (x, b, t, moved)]
                for part in (first, second))
            m = np.maximum(ta, tb)
            te = m + m // 4 + m // 8
            now, then = xb - xa, bb - ba
            edge = (np.abs(now - then) > te) & (np.abs(xb * ba - xa * bb) > te * np.maximum(16, np.minimum(ba, bb)))
            changed += edge.sum((1, 3))
            sharper += ((edge & (one != other)) * np.sign(np.abs(now) - np.abs(then))).sum((1, 3))
        return changed, sharper

    def frame(self, y):
        x = self.blocks(y)
        if self.b is None:
            self.b, self.x, self.v = x.astype(np.int64), x, np.full(x.shape, 256)
            self.unknown = True
            return self.finish(*[np.zeros((self.h, self.w), kind) for kind in (bool, bool, bool, int)])
        b, without, n = self.b, self.without, self.w * self.h

        # 1. changed blocks
        d, t = x - b, np.abs(x - self.x)
        threshold = np.maximum(np.maximum(112, self.v), self.g)
        changed = np.abs(d) > threshold
        distinct = np.maximum(self.extreme(b, np.minimum) - x, x - self.extreme(b, np.maximum)) > threshold
        count_l, u, count_d = (self.by_cell(of).sum(2) for of in (changed, t > threshold, distinct))

        # 2. edges
        e, more = self.edges(x, b, threshold, changed)
        e[count_l < 2] = more[count_l < 2] = 0

        # 3. tiles
        p, r, restless = (count_l >= 2).sum(), (count_d >= 2).sum(), u.sum()
        anew = "anew" not in without and 5 * p > 3 * n
        if anew:
            count_l, count_d, u, more = (np.zeros_like(count_l) for _ in range(4))
        loose = "loose" not in without and not anew and 20 * p > n and 2 * r < p
        sum_l = self.window(count_l)
        smooth = self.of_tile((sum_l >= 32) & (sum_l > 3 * self.window(e)))
        z = ((count_l >= 2) & smooth).sum()
        lit = smooth & bool("lit" not in without and z * (128 if self.lit > 0 else 8) >= n and not anew)
        steady = ~changed
        drift = self.of_tile(towards_zero(
            self.window(self.by_cell(steady * clamp(d, 24)).sum(2)),
            np.maximum(1, self.window(self.by_cell(steady).sum(2)))))
        if "drift" in without:
            drift[:] = 0
        if not anew:
            self.lit = max(0, (45 if 8 * z >= n else self.lit) - 1)
        self.g = min(256, self.g + 8) if 50 * restless > 16 * n else max(0, self.g - 1)
        if "floor" in without:
            self.g = 0

        # 4. cells
        counts = count_d >= 2 if loose else (count_l >= 2) & ~lit
        self.q = np.where(counts & (u < 2), self.q + 1, 0)
        border = around(more * counts, np.add)
        beside = around(self.was_ghost.astype(int), np.add) > self.was_ghost
        ghost = (self.q >= 6) & ((border < 0) | ((border == 0) & beside))
        if "ghost" in without:
            ghost[:] = False
        self.was_ghost = ghost
        counts &= ~ghost
        k = self.by_cell(distinct if loose else changed)
        sure = counts & ((k & self.c1 & self.c2).sum(2) >= 3)
        self.c2, self.c1 = self.c1, k & counts[..., None]
        moves = counts | (loose & (count_l >= 2) & ~lit & ~ghost)

        # 5. update
        if anew:
            self.b = x.astype(np.int64)
        elif not loose:
            take = self.to_blocks(ghost | ((count_l >= 2) & lit))
            hold = self.to_blocks(counts) & changed
            held = np.clip(b + clamp(d, 1) + self.to_blocks(drift), 0, 4095)
            self.b = np.where(take, x, np.where(hold, held, b + clamp(d, 24)))
            v = self.v
            self.v = np.clip(np.where(7 * t > 4 * v, v + (v >> 4) + 2, v - (v >> 6) - 1), 16, 1280)
        self.x = x
        self.unknown = anew
        work = {"anew": anew, "loose": loose, "lit": lit.any(), "drift": drift.any(), "floor": self.g > 112,
                "ghost": ghost.any(), "sure": (counts & ~sure).any()}
        self.met |= {rule for rule, is_at_work in work.items() if is_at_work}
        return self.finish(moves, counts, sure, count_l)

    def finish(self, moves, counts, sure, count_l):
        """Returns the cells in motion and the confirmed ones: MOTION in the contract."""
        moves = moves & (16 * of_group(groups(moves), count_l) >= self.min_area)
        counts = counts & moves
        number = groups(counts)
        n_sure, n_cells = of_group(number, sure), of_group(number, counts)
        confirmed = counts & (n_sure > 0) & (4 * n_sure >= n_cells)
        if (counts & (n_sure > 0) & ~confirmed).any():
            self.met.add("group")
        if "group" in self.without:
            confirmed = counts & (n_sure > 0)
        if "sure" in self.without:
            confirmed = counts
        self.in_motion = np.where(moves, self.hold + 1, np.maximum(0, self.in_motion - 1))
        self.in_confirmed = np.where(confirmed, self.hold + 1, np.maximum(0, self.in_confirmed - 1))
        return self.in_motion > 0, self.in_confirmed > 0

    def regions(self, cells, confirmed):
        """Returns (x, y, width, height, area, confirmed) of each region, in pixels, from what frame() has returned."""
        width, height = self.size
        number, found = groups(cells), []
        wide = np.minimum(CELL, width - CELL * np.arange(self.w))
        high = np.minimum(CELL, height - CELL * np.arange(self.h))
        pixels = np.outer(high, wide)
        for one in range(1, number.max() + 1):
            own = number == one
            rows, columns = (np.flatnonzero(own.any(axis)) for axis in (1, 0))
            left, top = CELL * columns[0], CELL * rows[0]
            found.append(tuple(int(value) for value in (
                left, top, min(width, CELL * (columns[-1] + 1)) - left, min(height, CELL * (rows[-1] + 1)) - top,
                pixels[own].sum(), pixels[own & confirmed].sum())))
        return found


# ---- the element ----------------------------------------------------------------------------------------------------

# Parts of scenes: sigma, and the frames in which something happens.
PARTS = {"stop": (5, 140, 340), "lamp": (5, 60, 200), "cloud": (5, 70, 190), "ir": (5, 120, 240), "rain": (5, 40, 160),
         "leaves": (5, 50, 170), "shake": (5, 90, 250), "moth": (10, 100, 220), "noise": (20, 0, 120),
         "headlights": (2, 80, 240), "faint": (2, 90, 210)}


def found_by_element(frames, settings):
    """Yields the regions of each frame, as Motion.regions() does, or None where it is not known what moves."""
    import gi
    for name in ("Gst", "GstApp", "GstVideo"):
        gi.require_version(name, "1.0")
    from gi.repository import Gst, GstApp, GstVideo  # noqa: F401
    Gst.init(None)
    height, width = frames[0].shape
    pipeline = Gst.parse_launch(
        f"appsrc name=from format=time caps=video/x-raw,format=GRAY8,width={width},height={height},framerate=15/1 ! "
        f"cudamedian temporal-method=running motion-meta=true {settings} ! appsink name=to sync=false")
    source, sink = (pipeline.get_by_name(name) for name in ("from", "to"))
    pipeline.set_state(Gst.State.PLAYING)
    stride = -(-width // 4) * 4
    for n, y in enumerate(frames):
        buffer = Gst.Buffer.new_wrapped(np.pad(y, ((0, 0), (0, stride - width))).tobytes())
        buffer.pts = n * Gst.SECOND // 15
        source.push_buffer(buffer)
        sample = sink.try_pull_sample(20 * Gst.SECOND)
        if not sample:
            message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
            raise RuntimeError(message.parse_error().gerror.message if message else f"no frame {n}")
        metas = []
        for number in itertools.count():  # 0 where nothing moves, else from 1 on
            meta = GstVideo.buffer_get_video_region_of_interest_meta_id(sample.get_buffer(), number)
            if not meta and number:
                break
            metas += [meta] if meta else []
        yield [(meta.x, meta.y, meta.w, meta.h, *map(meta.get_param("motion").get_value, ("area", "confirmed")))
               for meta in metas if meta.w] if metas else None
    pipeline.set_state(Gst.State.NULL)


def compare(name, size, backend):
    """Shows part of a scene to the model and to the element. Returns what differs, in words, and the rules met."""
    sigma, first, last = PARTS[name]
    frames = [planes[0] for planes, _ in scenes.Scene(name, size, sigma).part(first, last)]
    hold, area = (3, 200) if size[0] % CELL else (0, 0)
    model, differ = Motion(*size, min_area=area, hold=hold), []
    settings = f"backend={backend} on-gpu-error=error motion-hold={hold} motion-min-area={area}"
    for n, found in enumerate(found_by_element(frames, settings)):
        at_once, confirmed = model.frame(frames[n])
        expected = None if model.unknown else model.regions(at_once, confirmed)
        if found != expected:
            differ.append(f"frame {n}: {found}, not {expected}")
    return differ, model.met


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="320x240,349x282")
    parser.add_argument("--scenes", default=",".join(PARTS))
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    options = parser.parse_args()
    passed = failed = 0
    met = set()
    for size in options.sizes.split(","):
        for name in options.scenes.split(","):
            differ, at_work = compare(name, tuple(map(int, size.split("x"))), options.backend)
            met |= at_work
            passed, failed = passed + (not differ), failed + bool(differ)
            if differ:
                print(f"FAIL {name} {size}: {len(differ)} frames differ; {differ[0]}", flush=True)
    if options.scenes == parser.get_default("scenes"):
        passed, failed = passed + (met == set(RULES)), failed + (met != set(RULES))
        if met != set(RULES):
            print(f"FAIL never at work: {', '.join(sorted(set(RULES) - met))}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
