# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""The recursive filter's part of oracle_opencv.py: the plain recursion in double precision with SciPy's lfilter along
the rows, on images padded by hundreds of samples; stability from all roots at many frequencies; the smoother as a
convolution; restored photographs (with --rivals beside those of two other methods); and FFmpeg's gblur, which is the
same smoother except for its rounding."""
import functools
import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
from oracle_convolve import deep_of
from scipy import ndimage, signal
from skimage import restoration
from skimage.metrics import structural_similarity

N_STABLE = N_UNSTABLE = 500
QUADRANTS = ("se", "sw", "ne", "nw")
# The response is cut off where it is below 0.002 of a level: ln (255 / 0.002).
FORGOTTEN = 11.8


# ---- sets ------------------------------------------------------------------

def lines_radius(b):
    """Returns the largest pole radius, from the roots of the polynomial in t for z1 = t, z2 = t e^(i f): accurate
    enough to choose a set's stability."""
    m = len(b)
    f = np.linspace(0, np.pi, 97)
    n = 2 * (m - 1)
    companion = np.zeros((len(f), n, n), complex)
    for k in range(m):
        for i in range(m):
            if k + i:
                companion[:, 0, k + i - 1] += b[k, i] * np.exp(1j * i * f)
    companion[:, np.arange(1, n), np.arange(n - 1)] = 1
    return np.abs(np.linalg.eigvals(companion)).max()


def is_stable(b):
    """Tests stability by Huang's theorem: the roots of the column alone, and at every frequency along it all roots in
    the other variable."""
    m = len(b)
    if np.abs(np.roots(np.concatenate(([1], -b[1:, 0])))).max(initial=0) >= 1:
        return False
    z = np.exp(1j * np.linspace(0, np.pi, 241))[:, None] ** np.arange(m)
    d = -(z @ b)
    d[:, 0] += 1
    companion = np.zeros((len(d), m - 1, m - 1), complex)
    companion[:, 0] = -d[:, 1:] / d[:, :1]
    companion[:, np.arange(1, m - 1), np.arange(m - 2)] = 1
    return np.abs(np.linalg.eigvals(companion)).max() < 1


def axis(rng, m):
    """Returns a random polynomial 1 + c1 z + ... with roots of radius 0.1 to 1."""
    roots = []
    while len(roots) < m - 1:
        r, angle = rng.uniform(0.1, 1), rng.uniform(0, np.pi)
        if len(roots) + 2 <= m - 1 and rng.integers(2):
            roots += [r * np.exp(1j * angle), r * np.exp(-1j * angle)]
        else:
            roots.append(r * rng.choice((-1, 1)))
    return np.poly(roots).real


def denominator(rng, m, radius):
    """Returns a random denominator: half of them near a product of two axes, the others arbitrary."""
    if rng.integers(2):
        b = -np.outer(axis(rng, m), axis(rng, m)) * (1 + 0.2 * rng.uniform(-1, 1, (m, m)))
    else:
        b = rng.uniform(-1, 1, (m, m))
    b[0, 0] = 0
    power = np.add.outer(np.arange(m), np.arange(m))
    return (b * (radius / lines_radius(b)) ** power).astype(np.float32).astype(float)


def numerator(rng, m, b):
    """Returns a random numerator, scaled so that the gain of a flat image is a quarter, or else the absolute sum of the
    impulse response is a half."""
    a = rng.uniform(-0.5, 1, (m, m))
    impulse = np.zeros((40, 40))
    impulse[0, 0] = 1
    size, flat = np.abs(quadrant(impulse, a, b)).sum(), a.sum() / (1 - b.sum())
    a *= 0.25 / flat if abs(flat) > size / 4 else 0.5 / size
    return a.astype(np.float32).astype(float)


# ---- the filter ------------------------------------------------------------

def quadrant(x, a, b):
    """Filters with the quadrant se; samples before the first row and column are zero."""
    m = len(a)
    y = signal.convolve2d(x, a)[:x.shape[0], :x.shape[1]]
    along = np.concatenate(([1], -b[0, 1:]))
    for row in range(len(y)):
        for k in range(1, min(m, row + 1)):
            y[row] += np.convolve(y[row - k], b[k])[:y.shape[1]]
        y[row] = signal.lfilter([1], along, y[row])
    return y


def recursive(x, sets, radius, border, through=0.0, offset=0.0):
    """Returns the sum of all quadrants of an image, in doubles."""
    far = int(np.ceil(FORGOTTEN / np.log(1 / radius))) + 8
    out = through * x + offset
    for name, (a, b) in sets.items():
        flip = np.s_[::-1 if name[0] == "n" else 1, ::-1 if name[1] == "w" else 1]
        seen = x[flip]
        if border == "replicate":
            seen = np.pad(seen, ((far, 0), (far, 0)), mode="edge")
        out = out + quadrant(seen, a, b)[-x.shape[0]:, -x.shape[1]:][flip]
    return out


class Kernelcheck:
    """One call of kernelcheck, with its own files, so that several may run at the same time."""

    def __init__(self, runner, name):
        self.runner, self.name = runner, name
        self.file = os.path.join(runner.folder, name + ".json")

    def run(self, image, *sets):
        form = "GRAY8" if image.dtype == np.uint8 else "GRAY16_LE"
        out, said = self.runner.raw(image[None], form, *sets, stem="irfilter", name=self.name)
        return (None if out is None else out[0]), said.strip()

    def with_file(self, image, sets, *more, through=0.0, offset=0.0):
        table = {"m": len(next(iter(sets.values()))[0]), "passthrough": through, "offset": offset}
        for name, (a, b) in sets.items():
            table[name] = {"a": a.tolist(), "b": b.tolist()}
        with open(self.file, "w", encoding="ascii") as file:
            json.dump(table, file)
        return self.run(image, f"coefficients={self.file}", *more)


# ---- checks ----------------------------------------------------------------

def close(got, expected, top=255):
    """Returns the largest difference in levels; the expected value is not rounded."""
    return np.inf if got is None else np.abs(got.astype(float) - np.clip(expected, 0, top)).max()


def one_stable(runner, gray, i):
    rng = np.random.default_rng(1000 + i)
    m, radius = 2 + i % 4, rng.uniform(0.2, 0.95)
    h, w = 2 * rng.integers(4, 28, 2) + 1
    y, x = rng.integers(0, gray.shape[0] - h), rng.integers(0, gray.shape[1] - w)
    names = QUADRANTS if i % 3 else tuple(n for n in QUADRANTS if rng.integers(2)) or ("se",)
    sets = {}
    for name in names:
        b = denominator(rng, m, radius)
        sets[name] = (numerator(rng, m, b), b)
    border = ("replicate", "zero")[i % 2]
    through, offset = (0.0, 0.0) if i % 5 else (0.5, -20.0)
    image = np.ascontiguousarray(gray[y:y + h, x:x + w])
    got, said = Kernelcheck(runner, f"stable{i}").with_file(image, sets, f"border={border}", through=through,
                                                            offset=offset)
    stable = all(is_stable(b) for _, b in sets.values())
    off = close(got, recursive(image.astype(float), sets, radius, border, through, offset))
    return f"stable set {i}: m={m} {'+'.join(names)} {w}x{h} radius {radius:.3f} {border}", stable, off, said


def one_unstable(runner, i):
    rng = np.random.default_rng(5000 + i)
    m, radius = 2 + i % 4, 1 + 10 ** rng.uniform(-2.5, -0.3)
    bad = QUADRANTS[rng.integers(4)]
    sets = {name: (np.eye(m), denominator(rng, m, radius if name == bad else 0.8)) for name in QUADRANTS}
    stable = is_stable(sets[bad][1])
    got, said = Kernelcheck(runner, f"unstable{i}").with_file(np.zeros((4, 4), np.uint8), sets)
    named = bad in said.replace(":", " ").split()
    return f"unstable set {i}: m={m} {bad} radius {radius:.4f}", stable, got, named, said


def check_sets(tally, runner, gray):
    worst = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for what, stable, off, said in pool.map(lambda i: one_stable(runner, gray, i), range(N_STABLE)):
            # Rounding gives half a level; the rest is the error of float32.
            tally.check(stable and off <= 1, f"{what}: {off:.3f} levels off, stable: {stable} {said}")
            worst = max(worst, off)
        for what, stable, got, named, said in pool.map(lambda i: one_unstable(runner, i), range(N_UNSTABLE)):
            tally.check(not stable and got is None and named, f"{what}: stable {stable}, refused {got is None} {said}")
    print(f"irfilter: {N_STABLE} stable sets, at most {worst:.3f} levels off; {N_UNSTABLE} unstable ones")


@functools.cache
def smoother(n, sigma, mode):
    """Returns the matrix that convolves n samples with the smoother's response, an exponential, to where it vanishes:
    its columns are what becomes of single samples of 1."""
    lam = sigma * sigma / 2
    nu = (1 + 2 * lam - np.sqrt(1 + 4 * lam)) / (2 * lam)
    half = int(np.ceil(30 / -np.log(nu)))
    taps = (1 - nu) / (1 + nu) * nu ** np.abs(np.arange(-half, half + 1.0))
    return ndimage.convolve1d(np.eye(n), taps, axis=0, mode=mode)


def smoothed(image, sigma, mode="nearest"):
    """Convolves with the smoother's response along each axis. mode: SciPy's name of the border."""
    down, across = (smoother(n, sigma, mode) for n in image.shape)
    return down @ image @ across.T


def wanted_presets(x, sigma, mode, middle):
    """Returns what the presets make of an image, in doubles."""
    blurred, soft = smoothed(x, sigma, mode), x
    for _ in range(3):
        soft = smoothed(soft, sigma / np.sqrt(3), mode)
    return {"smooth": blurred, "soft": soft, "highpass": middle + 1.7 * (x - blurred),
            "sharpen": x + 1.7 * (x - blurred)}


def check_presets(tally, runner, gray):
    """Checks the presets along lines and by quadrants. Rounding gives half a level; the rest is the error of float32
    and, along lines with 255 levels, of the plane between columns and rows."""
    call = Kernelcheck(runner, "preset")
    for sigma in (0.3, 1, 3, 12, 40, 200):
        for image, top in ((gray, 255), (deep_of(gray), 65535)):
            for border, mode in (("replicate", "nearest"), ("zero", "constant")):
                wanted = wanted_presets(image.astype(float), sigma, mode, (top + 1) / 2)
                for preset, want in wanted.items():
                    got, said = call.run(image, f"preset={preset}", f"sigma={sigma}", f"border={border}", "amount=1.7")
                    off = close(got, want, top)
                    tally.check(off <= (0.504 if top == 255 else 0.55),
                                f"{preset} sigma {sigma} {border}, {top}: {off:.4f} levels off {said}")
                    if sigma > 40:  # by quadrants float32 is too coarse
                        continue
                    got, said = call.run(image, f"preset={preset}", f"sigma={sigma}", f"border={border}", "amount=1.7",
                                         "method=quadrants")
                    off = close(got, want, top)
                    tally.check(off <= (0.51 if top == 255 else 1.5),
                                f"{preset} sigma {sigma} {border} by quadrants, {top}: {off:.3f} levels off {said}")


NOISES = 0, 2, 5


def tables(noise):
    """Returns the sets of the deblurring presets for video of that noise, parsed from their source: (setting,
    quadrants). A set for a motion also serves the one at right angles to it: transposed or, where it is diagonal, with
    its quadrants exchanged."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cuda", "irfilter",
                          f"tables_{noise}.c")
    if not os.path.exists(source):
        return None
    with open(source, encoding="utf-8") as file:
        text = file.read()
    numbers = {name: np.array([float(n) for n in body.split(",")])
               for name, body in re.findall(r"static const double (\w+)\[\] = \{([^}]*)\};", text)}
    found = []
    for sigma, length, angle, m, a, b in re.findall(
            r"\{ ([\d.]+), (\d+), (\d+), (\d+), \{ ([^}]*) \}, \{ ([^}]*) \} \}", text):
        first, second = ((numbers[an].reshape(int(m), -1), numbers[bn].reshape(int(m), -1))
                         for an, bn in zip(a.split(", "), b.split(", ")))
        turned = [[w.T for w in one] for one in (first, second)] if angle == "0" else (second, first)
        rows = [(f"preset=motion-deblur length={length} angle={angle}", first, second),
                (f"preset=motion-deblur length={length} angle={int(angle) + 90}", *turned)]
        if not int(length):
            rows = [(f"preset=deblur sigma={sigma}", first, second)]
        found += [(preset, dict(zip(QUADRANTS, (one, other, other, one)))) for preset, one, other in rows]
    return found


def check_tables(tally, runner, gray):
    """Checks that a preset of the tables equals its set from a file, and that rotating the image by 90 degrees or
    mirroring it rotates or mirrors the result."""
    if tables(NOISES[0]) is None:
        tally.skip("the source of the deblurring presets' tables was not found")
        return
    call = Kernelcheck(runner, "table")
    for noise in NOISES:
        entries = tables(noise)
        for preset, sets in entries:
            tally.compare(f"{preset} noise {noise}", call.run(gray, preset, f"noise={noise}")[0],
                          call.with_file(gray, sets)[0])
        n = {kind: sum(kind in preset for preset, _ in entries) for kind in ("=deblur", "motion")}
        tally.check(n == {"=deblur": 11, "motion": 52}, f"irfilter: {len(entries)} sets of tables", always=True)
    # The first tables for at least the noise are used; 2 is the default.
    for noise, step in ((0.01, 2), (2.5, 5), (10, 5)):
        tally.compare(f"noise {noise}", call.run(gray, "preset=deblur sigma=2", f"noise={noise}")[0],
                      call.run(gray, "preset=deblur sigma=2", f"noise={step}")[0])
    tally.compare("no noise given", call.run(gray, "preset=motion-deblur")[0],
                  call.run(gray, "preset=motion-deblur", "noise=2")[0])
    # The tables have sigma 0.5, 0.75 ... 3; the nearest is used, and 1 where none is given.
    tally.compare("sigma 1.4", call.run(gray, "preset=deblur sigma=1.4")[0],
                  call.run(gray, "preset=deblur sigma=1.5")[0])
    tally.compare("no sigma", call.run(gray, "preset=deblur")[0], call.run(gray, "preset=deblur sigma=1")[0])
    # amount mixes: a is weighed, and the image passes through.
    preset, sets = tables(2)[4]
    weighed = {name: (0.25 * a, b) for name, (a, b) in sets.items()}
    tally.near("a quarter of deblur", call.run(gray, preset, "amount=0.25")[0],
               call.with_file(gray, weighed, through=0.75)[0])
    tally.compare("nothing of deblur", call.run(gray, preset, "amount=0")[0], gray)
    for length in (3, 9, 14):
        turned = ((gray, 0), (gray.T, 90), (gray, 45), (gray[:, ::-1], 135))
        row, down, up, mirrored = (call.run(image, f"preset=motion-deblur length={length} angle={angle}")[0]
                                   for image, angle in turned)
        tally.near(f"length {length}, 90 degrees", down.T, row)
        tally.near(f"length {length}, 135 degrees", mirrored[:, ::-1], up)


# ---- restoring --------------------------------------------------------------

def motion(length, angle):
    r, turn = (length - 1) / 2, np.deg2rad(angle)
    n = int(np.ceil(r + 1))
    down, right = np.mgrid[-n:n + 1, -n:n + 1]
    along = right * np.cos(turn) - down * np.sin(turn)
    across = right * np.sin(turn) + down * np.cos(turn)
    return np.maximum(0, 1 - abs(across)) * np.clip(r + 1 - abs(along), 0, 1)


def gauss(sigma):
    line = cv2.getGaussianKernel(2 * int(np.ceil(4 * sigma)) + 1, sigma)
    return line @ line.T


def blurred(image, kernel, noise=0):
    smooth = cv2.filter2D(image.astype(float), cv2.CV_64F, kernel / kernel.sum(), borderType=cv2.BORDER_REPLICATE)
    smooth += noise * np.random.default_rng(1).standard_normal(image.shape)
    return np.clip(np.rint(smooth), 0, 255).astype(np.uint8)


def psnr(a, b, without=None):
    square = (a.astype(float) - b) ** 2
    if without:
        x, y, w, h = without
        square[y:y + h, x:x + w] = np.nan
    return 10 * np.log10(255 ** 2 / np.nanmean(square))


RESTORED = ("camera.png", "astronaut.png", "coffee.png", "chelsea.png")
# What the other two methods need and get from the sharp image: of these the value with the best structural similarity.
BALANCES = (0.0001, 0.001, 0.01, 0.1, 0.5)
ITERATIONS = (3, 8, 20, 50)
INNER = np.s_[24:-24, 24:-24]  # they take the picture as periodic, or as black outside


def rival_restorations(soft, kernel):
    """Returns what the other methods make of a blurred image: each a list, of which the best counts."""
    kernel = kernel / kernel.sum()
    unit = soft / 255
    tried = {"Wiener": [restoration.wiener(unit, kernel, balance) for balance in BALANCES],
             "Richardson-Lucy": [restoration.richardson_lucy(unit, kernel, n) for n in ITERATIONS]}
    return {name: [np.clip(np.rint(255 * one), 0, 255).astype(np.uint8) for one in some]
            for name, some in tried.items()}


def check_restored(tally, runner, images):
    """Prints PSNR and structural similarity of blurred and restored photographs, the mean of four, as a table of
    Markdown. Checks that restoring by the preset for the video's noise makes neither worse, in any of them. The other
    methods, which nothing is held to, take most of the time, so they have an option."""
    call = Kernelcheck(runner, "noise")
    sharps = [np.ascontiguousarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)[60:316, 120:376])
              for name, image in images if name in RESTORED]
    cases = (("preset=deblur sigma=1", gauss(1)), ("preset=deblur sigma=2", gauss(2)),
             ("preset=deblur sigma=3", gauss(3)), ("preset=motion-deblur length=9 angle=45", motion(9, 45)))
    print("irfilter, restoring: | blur | noise | blurred | cudairfilter |",
          "Wiener | Richardson-Lucy |" if runner.rivals else "")
    for preset, kernel in cases:
        for noise in NOISES:
            rows = {}
            for i, sharp in enumerate(sharps):
                soft = blurred(sharp, kernel, noise)
                tried = {"blurred": [soft], "cudairfilter": [call.run(soft, *preset.split(), f"noise={noise}")[0]]}
                if runner.rivals:
                    tried |= rival_restorations(soft, kernel)
                if tried["cudairfilter"][0] is None:
                    tally.check(False, f"{preset} noise={noise}: no result")
                    return
                measured = {method: max((structural_similarity(one[INNER], sharp[INNER]),
                                         psnr(one[INNER], sharp[INNER])) for one in some)
                            for method, some in tried.items()}
                for method, pair in measured.items():
                    rows.setdefault(method, []).append(pair)
                before, after = measured["blurred"], measured["cudairfilter"]
                tally.check(after[0] >= before[0] and after[1] >= before[1],
                            f"{preset} noise={noise}, photograph {i}: structural similarity {before[0]:.3f} became "
                            f"{after[0]:.3f}, {before[1]:.2f} dB became {after[1]:.2f}")
            print(f"| {preset[7:]} | {noise} |", " | ".join(
                f"{np.mean([pair[1] for pair in pairs]):.1f}, {np.mean([pair[0] for pair in pairs]):.3f}"
                for pairs in rows.values()), "|", flush=True)


# ---- FFmpeg -----------------------------------------------------------------

def ffmpeg_program():
    if shutil.which("ffmpeg"):
        return "ffmpeg"
    try:
        import imageio_ffmpeg
        return imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        return None


def check_gblur(tally, runner, gray):
    """Compares with gblur steps=1 in the interior: its edges differ, and it truncates."""
    program = ffmpeg_program()
    if not program:
        tally.skip("no ffmpeg to compare smooth with its gblur")
        return
    call = Kernelcheck(runner, "gblur")
    for sigma in (0.5, 1, 2, 3, 5):
        done = subprocess.run(
            [program, "-v", "error", "-f", "rawvideo", "-pix_fmt", "gray", "-s",
             f"{gray.shape[1]}x{gray.shape[0]}", "-i", "-", "-vf", f"gblur=sigma={sigma}:steps=1", "-f", "rawvideo",
             "-pix_fmt", "gray", "-"],
            input=gray.tobytes(), capture_output=True, check=False)
        theirs = np.frombuffer(done.stdout, np.uint8)
        got, said = call.run(gray, "preset=smooth", f"sigma={sigma}")
        edge = int(10 * sigma) + 4
        inner = np.s_[edge:-edge, edge:-edge]
        if theirs.size != gray.size or got is None:
            off = np.inf
        else:
            off = np.abs(got.astype(int) - theirs.reshape(gray.shape))[inner].max()
        tally.check(off <= 1, f"gblur sigma {sigma}: {off} levels off {said} {done.stderr.decode()[-200:]}")


def check(tally, runner, images):
    gray = np.ascontiguousarray(cv2.cvtColor(images[0][1], cv2.COLOR_BGR2GRAY)[40:253, 60:331])  # 271 x 213
    check_sets(tally, runner, gray)
    check_presets(tally, runner, gray)
    check_tables(tally, runner, gray)
    check_restored(tally, runner, images)
    check_gblur(tally, runner, gray)


def check_element(tally, runner, images):
    for name, color in images[:2]:
        gray = np.ascontiguousarray(cv2.cvtColor(color, cv2.COLOR_BGR2GRAY)[:, :color.shape[1] // 4 * 4])
        for sigma in (1, 10):
            got = runner.element(gray, "GRAY8", ["preset=smooth", f"sigma={sigma}"], stem="irfilter")
            off = close(got, smoothed(gray.astype(float), sigma))
            tally.check(off <= 0.51, f"element: {name} smooth {sigma}: {off:.3f} levels off")
