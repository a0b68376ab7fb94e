#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Shows scenes with a known truth (scenes.py) to finders of motion, and prints what each finds.

    motion.py [--scenes stop,lamp] [--sizes 320x240,640x480] [--sigmas 2,5,10,20] [--seed N] [--qp 0,32]
              [--before cudadenoise]
              [--ways ours,mog2,knn,cnt,gsoc,motioncells,difference] [--model FILE.py] [--figures F,events]
              [--jobs 2] [--cache FOLDER] [--markdown]

A way tells for each gray frame which cells of 16 x 16 pixels are active: `frame (y)` of a class made with (width,
height) returns booleans, rows by columns, or a pair of these: at once and confirmed. "ours" is the contract of
cudamedian's running method (motion_contract.py); "ours-lit", for instance, is the same without the rule "lit", see
RULES there. --model adds the class Motion of a file as the way "model", the only one unless --ways names more. OpenCV's
ways have their defaults; a cell of theirs is active if an eighth of its pixels are foreground, shadows not counted.
--qp codes the scene by x264 with this quantizer and shows the decoded frames; 0 is the scene as it is. --before filters
them with a line of elements first. --figures: a row for each scene, in which a way has one column.

A cell is truth if the person has an eighth of its pixels; with fewer, but some, it counts neither way. The first 30
frames, in which ways learn, do not count. The figures, of what is confirmed unless another is named:
  precision, recall, F   of all cells of all frames
  F at once              F of what is found at once
  quiet                  share of the frames without the person in which a cell is active
  events                 runs of such frames, as one if fewer than 15 frames lie between them; "2+1": one more begins
                         in the 15 frames after the person
  delay                  frames from the first with a cell of truth to the first in which a cell with some of the person
                         is active at once; "never" if there is none
  ghost                  frames after the person with an active cell where the person has been
  standing               share of the frames in which the person stands with an active cell on the person
The row "all" has the means, and the sums of events, delay and ghost. "-" is no figure: there is nobody to be found in
"noise", only "stop" has somebody who stands, or the way is missing.

Needs numpy; the peers opencv-contrib-python-headless and motioncells (Debian: gstreamer1.0-opencv); --qp ffmpeg.
"""
import argparse
import concurrent.futures
import functools
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import zlib

import numpy as np

import motion_contract
import scenes

try:
    import cv2
    cv2.setNumThreads(1)
except ImportError:
    cv2 = None

CELL, LEARN, NEAR = 16, 30, 15
FIGURES = ("precision", "recall", "F", "F at once", "quiet", "events", "delay", "ghost", "standing")


def count(pixels):
    """Returns how many pixels of each cell are set. Cells at the right and at the bottom may be smaller."""
    height, width = pixels.shape
    padded = np.pad(pixels, ((0, -height % CELL), (0, -width % CELL)))
    rows, columns = (side // CELL for side in padded.shape)
    return padded.reshape(rows, CELL, columns, CELL).sum((1, 3), dtype=np.uint16)


def cells(pixels):
    """Returns the cells that have an eighth of their pixels set."""
    return 8 * count(pixels) >= count(np.ones(pixels.shape, bool))


# ---- ways: each takes the frames, (n, height, width), and yields cells or pairs, or is None where it is missing ------


class Subtractor:
    """A background subtractor of OpenCV."""

    def __init__(self, maker):
        self.finder = maker()

    def frame(self, y):
        return cells(self.finder.apply(y) == 255)


class Difference:
    def __init__(self):
        self.last = None

    def frame(self, y):
        now = y.astype(np.int16)
        moves = np.abs(now - (now if self.last is None else self.last)) > 15
        self.last = now
        return cells(moves)


def motioncells(frames):
    """Returns the cells of GStreamer's element. It has at most 32 a side: in wider frames one stands for several. It
    compares every third frame; what it finds there is taken for the next two as well."""
    if subprocess.run(["gst-inspect-1.0", "motioncells"], check=False, capture_output=True).returncode:
        return None
    height, width = frames.shape[1:]
    found = np.zeros((len(frames), *count(frames[0] > 255).shape), bool)
    several = -(-found.shape[2] // 32)
    rows, columns = (-(-side // several) for side in found.shape[1:])
    with tempfile.NamedTemporaryFile() as raw:
        frames.tofile(raw.name)
        done = subprocess.run(
            ["gst-launch-1.0", "-m", "filesrc", f"location={raw.name}", "!", "rawvideoparse", "format=gray8",
             f"width={width}", f"height={height}", f"framerate={scenes.RATE}/1", "!", "videoconvert", "!",
             "motioncells", "postallmotion=true", "display=false", f"gridx={columns}", f"gridy={rows}", "!",
             "fakesink"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        sys.exit(f"motioncells: {done.stdout[-2000:]}")
    for indices, time in re.findall(r": motion, .*?motion_cells_indices=\(string\)([^;]*?), "
                                    r".*?motion(?:_begin)?=\(guint64\)(\d+)", done.stdout):
        for row, column in re.findall(r"(\d+):(\d+)", indices):
            row, column = int(row) * several, int(column) * several
            n = round(int(time) * scenes.RATE / 1e9)
            found[n:n + 3, row:row + several, column:column + several] = True
    return found


def each(maker):
    """Returns a way out of a class, or a function, that makes something with frame()."""
    def way(frames):
        finder = maker(frames.shape[2], frames.shape[1])
        return (finder.frame(y) for y in frames)
    return way


def subtractor(maker):
    """Returns a way out of OpenCV's maker, "bgsegm." in the name being of its contributed modules."""
    def way(frames):
        holder = cv2
        for part in maker.split("."):
            holder = getattr(holder, part, None)
        return each(lambda width, height: Subtractor(holder))(frames) if holder else None
    return way


WAYS = {"ours": each(motion_contract.Motion), "mog2": subtractor("createBackgroundSubtractorMOG2"),
        "knn": subtractor("createBackgroundSubtractorKNN"),
        "cnt": subtractor("bgsegm.createBackgroundSubtractorCNT"),
        "gsoc": subtractor("bgsegm.createBackgroundSubtractorGSOC"), "motioncells": motioncells,
        "difference": each(lambda width, height: Difference())}
LESS = {f"ours-{rule}": each(functools.partial(motion_contract.Motion, without=(rule,)))
         for rule in motion_contract.RULES}


def model(path):
    """Returns the way of a file's class Motion."""
    spec = importlib.util.spec_from_file_location("model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return each(module.Motion)


# ---- scenes ---------------------------------------------------------------------------------------------------------


def through_x264(pictures, size, qp):
    """Returns the decoded luma of frames, (n, bytes of I420)."""
    shape = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", "{}x{}".format(*size), "-r", str(scenes.RATE)]
    quiet = ["ffmpeg", "-v", "error", "-threads", "1"]
    coded = subprocess.run([*quiet, *shape, "-i", "-", "-c:v", "libx264", "-qp", str(qp), "-f", "h264", "-"],
                           input=pictures.tobytes(), stdout=subprocess.PIPE, check=True).stdout
    plain = subprocess.run([*quiet, "-f", "h264", "-i", "-", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-vsync",
                            "passthrough", "-"], input=coded, stdout=subprocess.PIPE, check=True).stdout
    return np.frombuffer(plain, np.uint8).reshape(pictures.shape)


def through_elements(pictures, size, line):
    """Returns the frames, (n, bytes of I420), behind a line of GStreamer elements."""
    with tempfile.NamedTemporaryFile() as before, tempfile.NamedTemporaryFile() as behind:
        pictures.tofile(before.name)
        subprocess.run(["gst-launch-1.0", "-q", "filesrc", f"location={before.name}", "!", "rawvideoparse",
                        "format=i420", "width={}".format(size[0]), "height={}".format(size[1]),
                        f"framerate={scenes.RATE}/1", "!", *line.split(), "!", "filesink",
                        f"location={behind.name}"], check=True)
        return np.fromfile(behind.name, np.uint8).reshape(pictures.shape)


def scene(name, size, sigma, seed, qp, line, cache):
    """Returns the frames of a scene, how many pixels of each cell are the person's, and whether the person stands."""
    with open(scenes.__file__, "rb") as file:
        version = zlib.crc32(file.read())
    version = zlib.crc32(line.encode(), version)
    path = os.path.join(cache, f"{name}-{size[0]}x{size[1]}-{sigma}-{seed}-{qp}-{version:08x}.npz")
    if not os.path.exists(path):
        pictures, truth, stands, last = [], [], [], None
        for planes, true in scenes.Scene(name, size, sigma, seed):
            pictures.append(np.concatenate([plane.ravel() for plane in (planes if qp or line else planes[:1])]))
            truth.append(count(true))
            stands.append(bool(true.any()) and np.array_equal(true, last))
            last = true
        pictures = np.stack(pictures)
        if qp:
            pictures = through_x264(pictures, size, qp)
        if line:
            pictures = through_elements(pictures, size, line)
        with tempfile.NamedTemporaryFile(dir=cache, suffix=".npz", delete=False) as file:
            np.savez(file, y=pictures[:, :size[0] * size[1]].reshape(-1, size[1], size[0]), truth=truth, stands=stands)
        os.replace(file.name, path)
    with np.load(path) as kept:
        return kept["y"], kept["truth"], kept["stands"]


# ---- figures --------------------------------------------------------------------------------------------------------


def share(part, whole):
    return f"{part / whole:.3f}" if whole else "-"


def events(active):
    """Returns the first frames of runs, as one if fewer than NEAR frames lie between them."""
    at = np.flatnonzero(active)
    return at[np.diff(at, prepend=-NEAR - 1) > NEAR]


def measure(found, truth, own, stands):
    """Returns the figures of a way. found: cells or pairs; truth: pixels of the person; own: pixels of a cell."""
    pairs = [cell if isinstance(cell, tuple) else (cell, cell) for cell in found]
    once, sure = (np.array(part, bool)[LEARN:] for part in zip(*pairs, strict=True))
    some, full, stands = truth[LEARN:] > 0, 8 * truth[LEARN:] >= own, stands[LEARN:]
    known, comes = full | ~some, some.any((1, 2))
    figures = {}
    for active, name in ((once, "F at once"), (sure, "F")):
        right, wrong, missed = ((part & known).sum() for part in (active & full, active & ~full, ~active & full))
        figures[name] = share(2 * right, 2 * right + wrong + missed) if comes.any() else "-"
    figures["precision"] = share(right, right + wrong) if comes.any() else "-"
    figures["recall"] = share(right, right + missed)
    false = sure.any((1, 2)) & ~comes
    figures["quiet"] = share(false.sum(), (~comes).sum())
    begins, left = events(false), np.flatnonzero(comes)[-1] + 1 if comes.any() else len(comes)
    late = int(((begins >= left) & (begins < left + NEAR)).sum())
    figures["events"] = str(len(begins) - late) + (f"+{late}" if late else "")
    first = np.argmax(full.any((1, 2)))
    hits = np.flatnonzero((once & some).any((1, 2))[first:])
    figures["delay"] = "-" if not comes.any() else str(hits[0]) if len(hits) else "never"
    figures["ghost"] = str((sure[left:] & some.any(0)).any((1, 2)).sum()) if comes.any() else "-"
    figures["standing"] = share((sure & some).any((1, 2))[stands].sum(), stands.sum())
    return figures


def run(job):
    """Returns the figures of each way for a scene and condition."""
    names, file, where = job
    frames, truth, stands = scene(*where)
    own, results = count(np.ones(frames.shape[1:], bool)), {}
    for name in names:
        found = (model(file) if name == "model" else {**WAYS, **LESS}[name])(frames)
        results[name] = dict.fromkeys(FIGURES, "-") if found is None else measure(found, truth, own, stands)
    return results


# ---- the table ------------------------------------------------------------------------------------------------------


def show(rows, markdown):
    widths = [max(map(len, column)) for column in zip(*rows)]
    for n, row in enumerate(rows):
        line = [text.ljust(width) for text, width in zip(row, widths)]
        print("| " + " | ".join(line) + " |" if markdown else "  ".join(line).rstrip())
        if markdown and not n:
            print("| --- " * len(row) + "|")


def summary(results):
    """Returns the figures of all scenes together: the mean of those that have one; of counts the sum."""
    figures = {}
    for figure in FIGURES:
        texts = [result[figure] for result in results if result[figure] != "-"]
        numbers = [[float(part) for part in text.split("+")] for text in texts if text != "never"]
        never = f", {len(texts) - len(numbers)} never" if len(texts) > len(numbers) else ""
        own, late = sum(parts[0] for parts in numbers), sum(sum(parts[1:]) for parts in numbers)
        counts = figure in ("events", "delay", "ghost")
        figures[figure] = "-" if not texts else (
            f"{own:.0f}" + (f"+{late:.0f}" if late else "") + never if counts else f"{own / len(numbers):.3f}")
    return figures


def table(jobs, found, names, wanted):
    """Returns the rows of the table."""
    texts, by_condition = [], {}
    for (_, _, (name, size, sigma, _, qp, line, _)), results in zip(jobs, found):
        condition = f"{size[0]}x{size[1]} sigma {sigma}" + (f" qp {qp}" if qp else "") + (f" {line}" if line else "")
        texts.append((name, condition, results))
        by_condition.setdefault(condition, []).append(results)
    for condition, of_scenes in by_condition.items():
        if len(of_scenes) > 1:
            texts.append(("all", condition, {way: summary([of[way] for of in of_scenes]) for way in names}))
    if wanted:
        rows = [["scene", "frames", *(f"{way}: {', '.join(wanted)}" for way in names)]]
        return rows + [[name, condition, *(" / ".join(results[way][figure] for figure in wanted) for way in names)]
                       for name, condition, results in texts]
    rows = [["scene", "frames", "way", *FIGURES]]
    return rows + [[name, condition, way, *(results[way][figure] for figure in FIGURES)]
                   for name, condition, results in texts for way in names]


def chosen(parser, text, known):
    names = text.split(",") if text else []
    for name in names:
        if name not in known:
            parser.error(f'"{name}" is none of {", ".join(known)}')
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", default=",".join(scenes.FRAMES))
    parser.add_argument("--sizes", default="320x240")
    parser.add_argument("--sigmas", default="5")
    parser.add_argument("--seed", type=int, default=scenes.SEED)
    parser.add_argument("--qp", default="0")
    parser.add_argument("--before", default="", metavar="LINE")
    parser.add_argument("--ways")
    parser.add_argument("--model", metavar="FILE.py")
    parser.add_argument("--figures")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", metavar="FOLDER")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    names = chosen(parser, options.ways, (*WAYS, *LESS, "model")) or (["model"] if options.model else list(WAYS))
    if options.model and "model" not in names:
        names.append("model")
    if ("model" in names) > bool(options.model):
        parser.error("the way model needs --model FILE.py")
    if cv2 is None and {"mog2", "knn", "cnt", "gsoc"} & set(names):
        parser.error("OpenCV is missing: pip install opencv-contrib-python-headless, or choose other --ways")
    wanted, shown = chosen(parser, options.figures, FIGURES), chosen(parser, options.scenes, scenes.FRAMES)
    sizes = [tuple(map(int, size.split("x"))) for size in options.sizes.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        cache = options.cache or folder
        os.makedirs(cache, exist_ok=True)
        jobs = [(names, options.model, (name, size, int(sigma), options.seed, int(qp), options.before, cache))
                for size in sizes for sigma in options.sigmas.split(",")
                for qp in options.qp.split(",") for name in shown]
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            found = list(pool.map(run, jobs))
    show(table(jobs, found, names, wanted), options.markdown)


if __name__ == "__main__":
    main()
