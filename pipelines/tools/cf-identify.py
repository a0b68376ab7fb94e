#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
# The system's Python: PyGObject belongs to it, and another one may be the first in the path.
"""cf-identify: finds the recursive filter that restores a sharp image from a blurred one, given an example of both, and
writes it for `cudairfilter coefficients=FILE`. The filter's equation is that of cuda/irfilter/irfilter.h;
docs/elements/cudairfilter.md, "Restoring blurred video", has an example.

For given poles the numerators a enter the result linearly: y = sum a x_i, where x_i is the image after the recursion
1 / (1 - sum b ..) without a numerator, shifted by up to m - 1 samples. Least squares give the numerators; only the
poles are searched. The search tries stable poles only, so every result is stable.

A denominator is a product of polynomials of one variable. Each polynomial is given by its reflection coefficients (the
Schur-Cohn recursion backwards): all coefficients between -1 and 1 give a stable polynomial, and each stable polynomial
has such coefficients. The roots are then scaled by --max-radius.

The sums of the least squares are kept twice: for the samples that the numerators are fitted to, and for the samples
held out, which choose the poles.
"""
import argparse
import itertools
import math
import os
import re
import secrets
import signal
import sys
import tempfile

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')  # the matrices are small: threads only wait for each other
try:
    import numpy as np
except ImportError:
    np = None  # --help works without

VERSION = ''  # the build puts it there
MAX_M = 5
CHART_SIDE = 256
SMALLEST = 32  # side of a fragment
QUADRANTS = ('se', 'sw', 'ne', 'nw')  # quadrant q runs to the left if q & 1, upward if q & 2; 3 - q is opposite
# Families of denominators. AXES: a polynomial of the rows times one of the columns, in all quadrants. SAME: the same
# polynomial for both. DOWN, UP: poles along a diagonal in the two quadrants on it, rows times columns in the others.
AXES, SAME, DOWN, UP = ('poles along rows and columns', 'the same poles along rows and columns',
                        'poles along the falling diagonal', 'poles along the rising diagonal')
# The families that are searched for each symmetry. Each symmetry leaves fewer unknowns than the one before it.
FAMILIES = {'none': (AXES, DOWN, UP),
            'point': (AXES, DOWN, UP),     # opposite quadrants are equal
            'diagonal': (SAME, DOWN, UP),  # and rows and columns may be exchanged: motion at 45 or 135 degrees
            'mirror': (AXES,),             # all quadrants are equal: motion along rows or columns
            'full': (SAME,)}               # and rows and columns may be exchanged: a round blur
STARTS = 4      # best candidates of the grid, in each family, that are refined
FINALISTS = 2   # best of those, which get more poles
SEARCHED = 128  # side of the part that poles are searched on; the numerators use the whole fragment
BLOCK = 16      # side of the squares that are held out
FITTED, HELD_OUT, UNUSED, OUTSIDE = range(4)
RIDGE = 1e-12   # of the mean square; keeps weights small that can replace each other; 1e-9 loses 1 dB


def complain(text):
    print(f'cf-identify: {text}', file=sys.stderr)


def fail(status, text):
    complain(text)
    sys.exit(status)


# ---- images: arrays of levels from 0 to 255, not rounded -----------------------------

def load_image(path):
    """Reads an image file, or the first frame of a video."""
    if not os.path.isfile(path):
        fail(1, f'"{path}" is a folder; an image is needed' if os.path.isdir(path) else f'no file "{path}"')
    try:
        import gi
        gi.require_version('Gst', '1.0')
        gi.require_version('GstVideo', '1.0')
        from gi.repository import GLib, Gst, GstVideo
    except (ImportError, ValueError) as error:
        fail(1, f'"{path}" cannot be read: {error} (Debian: python3-gi, gir1.2-gst-plugins-base-1.0)')
    Gst.init(None)
    try:  # 16 bits keep files of more than 8 bits exact
        pipeline = Gst.parse_launch('filesrc name=source ! decodebin ! videoconvert ! video/x-raw,format=GRAY16_LE ! '
                                    'fakesink name=sink sync=false')
    except GLib.Error as error:
        fail(1, error.message)
    pipeline.get_by_name('source').set_property('location', path)
    pipeline.set_state(Gst.State.PAUSED)  # a failure comes as a message
    message = pipeline.get_bus().timed_pop_filtered(30 * Gst.SECOND, Gst.MessageType.ERROR | Gst.MessageType.ASYNC_DONE)
    sample = pipeline.get_by_name('sink').get_property('last-sample')
    pipeline.set_state(Gst.State.NULL)
    if message and message.type == Gst.MessageType.ERROR:
        why = message.parse_error()[0]
        lacking = why.domain == 'gst-core-error-quark' or \
            why.matches(Gst.StreamError.quark(), Gst.StreamError.CODEC_NOT_FOUND)
        fail(1, f'"{path}" cannot be read as an image: {why.message}' +
             (' (PNG and JPEG need the package gstreamer1.0-plugins-good)' if lacking else ''))
    if not sample:
        fail(1, f'no image could be read from "{path}" within 30 seconds')
    info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
    rows = np.frombuffer(sample.get_buffer().extract_dup(0, info.stride[0] * info.height), '<u2')
    return rows.reshape(info.height, -1)[:, :info.width] / 257.0


def uniform(state):
    """Yields numbers between 0 and 1, the same on every machine. G. Marsaglia, "Xorshift RNGs" (2003)."""
    while True:
        state ^= state << 13 & 0xffffffffffffffff
        state ^= state >> 7
        state ^= state << 17 & 0xffffffffffffffff
        yield ((state >> 11) + 0.5) / 2 ** 53


def round_levels(image):
    """Rounds to what 8 bits hold."""
    return np.rint(image.clip(0, 255))


def draw_leaf(image, random):
    """Draws a disc or a rotated rectangle over the image; its edge is one sample wide."""
    side, smallest = len(image), 1.5
    largest = side / 4
    u, angle, gray = next(random), math.pi * next(random), 16 + 224 * next(random)
    # Leaves of each size cover about the same area: their density falls with the cube of the radius.
    r = 1 / math.sqrt((1 - u) / smallest ** 2 + u / largest ** 2)
    cx, cy = ((side + 2 * r) * next(random) - r for _ in range(2))
    flat = 0 if next(random) < 0.5 else 0.3 + 0.7 * next(random)  # 0: a disc
    extent = math.ceil(1.5 * r) + 1
    x, y = (np.arange(max(0, int(c) - extent), min(side, int(c) + extent + 1)) for c in (cx, cy))
    if not x.size or not y.size:
        return
    dx, dy = x - cx, (y - cy)[:, None]
    if flat:
        p, q = abs(dx * math.cos(angle) + dy * math.sin(angle)), abs(dy * math.cos(angle) - dx * math.sin(angle))
        inside = np.minimum(r - p, flat * r - q)
    else:
        inside = r - np.sqrt(dx * dx + dy * dy)
    part = image[y[0]:y[-1] + 1, x[0]:x[-1] + 1]
    part += (inside + 0.5).clip(0, 1) * (gray - part)


def draw_chart(side):
    """Draws edges of all sizes and directions, always the same. Dead leaves, the model of G. Matheron (1968), are
    shapes that occlude each other. Their statistics are close to those of photographs (A. Lee, D. Mumford, J. Huang,
    "Occlusion models for natural images", 2001)."""
    image, random = np.zeros((side, side)), uniform(0x9e3779b97f4a7c15)
    for _ in range(side * side // 8):
        draw_leaf(image, random)
    return round_levels(image)


def convolve(image, weight):
    r, s = weight.shape[0] // 2, weight.shape[1] // 2
    padded, out = np.pad(image, ((r, r), (s, s)), 'edge'), np.zeros(image.shape)
    for j, i in np.argwhere(weight):
        out += weight[j, i] * padded[j:j + image.shape[0], i:i + image.shape[1]]
    return out / weight.sum()


def blur_image(image, blur):
    kind, size, angle = blur
    if kind == 'gauss':
        i = np.arange(-math.ceil(4 * size), math.ceil(4 * size) + 1)
        weight = np.exp(-i * i / (2 * size * size))
        return convolve(convolve(image, weight[None]), weight[:, None])
    # Motion blur as in cudaconvolve's preset, also for even lengths.
    extent, angle = (size - 1) / 2, angle * math.pi / 180
    i = np.arange(-math.ceil(extent + 1), math.ceil(extent + 1) + 1)
    j = i[:, None]
    p, q = i * math.cos(angle) - j * math.sin(angle), i * math.sin(angle) + j * math.cos(angle)
    return convolve(image, np.maximum(0, 1 - abs(q)) * (extent + 1 - abs(p)).clip(0, 1))


def add_noise(image, sigma):
    u = np.fromiter(uniform(0x2545f4914f6cdd1d), float, 2 * image.size).reshape(*image.shape, 2)
    return image + sigma * np.sqrt(-2 * np.log(u[..., 0])) * np.cos(2 * math.pi * u[..., 1])


# ---- the recursion --------------------------------------------------------------------

def settle(x, c):
    """Returns x / c(z) along the first axis, with len(c) - 1 samples before the first, where x is as the first."""
    pad = len(c) - 1
    w = np.empty((pad + len(x), *x.shape[1:]))
    w[:pad] = x[0] / c.sum()
    back = -c[:0:-1]
    for n, row in enumerate(x):
        w[pad + n] = row + back @ w[n:n + pad]
    return w


def settle_axes(x, down, right):
    """Returns x after the recursion of each quadrant, in its direction, with rows and columns before the near edges."""
    width = x.shape[1]
    w = settle(np.hstack([x, x[::-1]]), down)
    from_top, from_bottom = w[:, :width], w[:, width:]
    turned = [from_top, from_top[:, ::-1], from_bottom, from_bottom[:, ::-1]]
    w = settle(np.hstack([part.T for part in turned]), right)
    return np.ascontiguousarray(w.reshape(len(w), 4, -1).transpose(1, 2, 0))


def settle_diagonal(x, c):
    """The same along the falling diagonal, for one quadrant."""
    pad, (height, width) = len(c) - 1, x.shape
    w = np.empty((pad + height, pad + width))
    w[:pad] = settle(x[0], c)
    w[:, :pad] = settle(x[:, 0], c)[:, None]
    row, column = w.strides
    before = np.lib.stride_tricks.as_strided(w, (height, pad, width), (row, row + column, column))
    back = -c[:0:-1]
    for n in range(height):
        w[pad + n, pad:] = x[n] + back @ before[n]
    return w


def turn(image, q):
    """Returns the image in the quadrant's direction; turns it back as well."""
    return image[::-1 if q & 2 else 1, ::-1 if q & 1 else 1]


# ---- designs --------------------------------------------------------------------------

def from_reflections(reflections, radius, m):
    """Returns the m coefficients of z^0, z^-1 .. from reflection coefficients; the roots lie within radius."""
    c = np.ones(1)
    for reflection in reflections:
        c = np.append(c, 0) + reflection * np.append(0, c[::-1])
    return np.append(c * radius ** np.arange(len(c)), np.zeros(m - len(c)))


class Design:
    """A filter: per quadrant the numerator a and the denominator b, both m x m."""

    def __init__(self, m, family, reflections, max_radius):
        """`reflections`: of the rows (or the diagonal) and of the columns; SAME has only the first."""
        self.m, self.family, self.a = m, family, np.zeros((4, m, m))
        # A step along a diagonal is a step along both axes, so its root is squared.
        self.steps = 2 if family in (DOWN, UP) else 1
        self.first = from_reflections(reflections[0], max_radius ** self.steps, m)
        self.second = from_reflections(reflections[-1], max_radius, m)
        self.right = self.second if self.steps == 2 else self.first
        self.diagonal = {DOWN: (0, 3), UP: (1, 2)}.get(family, ())
        # As the element reads them.
        self.b = np.array([-np.diag(self.first) if q in self.diagonal else -np.outer(self.second, self.right)
                           for q in range(4)]).astype(np.float32).astype(float)
        self.b[:, 0, 0] = 0

    def radius(self):
        """Returns the radius of the outermost pole."""
        return max(abs(np.append(np.roots(c), 0)).max() ** (1 / steps)
                   for c, steps in ((self.first, self.steps), (self.second, 1)))

    def settled(self, x):
        """Returns x after each quadrant's recursion; w[q][k][l] is shifted by k rows and l columns."""
        pad, (height, width) = self.m - 1, x.shape
        w = settle_axes(x, self.second, self.right)
        for q in self.diagonal:
            w[q] = settle_diagonal(turn(x, q), self.first)
        return [[[turn(w[q, pad - k:pad - k + height, pad - l:pad - l + width], q) for l in range(self.m)]
                 for k in range(self.m)] for q in range(4)]

    def apply(self, x):
        """Returns the filtered image."""
        w, out = self.settled(x), np.zeros(x.shape)
        for q, k, l in np.ndindex(self.a.shape):
            out += self.a[q, k, l] * w[q][k][l]
        return out

    def noise_gain(self):
        """Returns the factor by which the standard deviation of white noise grows."""
        point = np.zeros((257, 257))
        point[128, 128] = 1
        return math.sqrt((self.apply(point) ** 2).sum())


# ---- least squares for given poles ----------------------------------------------------

def number_unknowns(m, symmetry):
    """Returns the number of each weight's unknown, and how many there are. Equal weights share one."""
    exchange = symmetry in ('diagonal', 'full')
    first = {'none': (0, 1, 2, 3), 'point': (0, 1, 1, 0), 'diagonal': (0, 1, 1, 0)}.get(symmetry, (0, 0, 0, 0))
    keys = [(first[q], *sorted((k, l))) if exchange else (first[q], k, l) for q, k, l in np.ndindex(4, m, m)]
    numbers = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys]).reshape(4, m, m), len(numbers)


def margin_of(height, width):
    """Returns the number of samples at a fragment's border that are not used."""
    return min(12, min(height, width) // 8)


def kinds_of_samples(height, width):
    """Returns what each sample of a fragment is for. The samples held out of the fit evaluate it."""
    kinds = np.full((height, width), UNUSED)
    margin = margin_of(height, width)
    y, x = np.ogrid[margin:height - margin, margin:width - margin]
    kinds[margin:-margin, margin:-margin] = np.where((x // BLOCK + 2 * (y // BLOCK)) % 4 == 0, HELD_OUT, FITTED)
    return kinds


def error_of(candidate):
    return candidate[0]


class Fit:
    """Fits designs to a part of both images."""

    def __init__(self, options, sharp, blurred):
        self.m, self.max_radius = options.window, options.max_radius
        self.x, self.y = blurred - blurred.mean(), sharp - sharp.mean()  # the means depend on the exposure
        self.unknown, self.n = number_unknowns(self.m, options.symmetry)
        kinds, margin = kinds_of_samples(*self.y.shape), margin_of(*self.y.shape)
        # Large images are fitted band by band, because there is an image for each unknown.
        height, step = len(self.y) - margin, max(SEARCHED ** 2 // self.y.shape[1], 1)
        bands = [np.s_[top:min(top + step, height), margin:-margin] for top in range(margin, height, step)]
        # The numbers of the samples of each kind.
        self.bands = [(band, *(np.flatnonzero(kinds[band] == kind) for kind in (FITTED, HELD_OUT))) for band in bands]
        self.n_held = np.count_nonzero(kinds == HELD_OUT)
        # In use again and again: memory that is allocated anew is slow.
        self.rows = np.empty((self.n + 1) * max(self.y[band].size for band in bands))

    def sums(self, design):
        """Returns the sums of products of the regressors and the target, of the samples to fit and of those held out.
        """
        w, n = design.settled(self.x), self.n
        sums = np.zeros((2, n + 1, n + 1))
        for band, *kinds in self.bands:
            rows = self.rows[:(n + 1) * self.y[band].size].reshape(n + 1, *self.y[band].shape)
            rows[:n], rows[n] = 0, self.y[band]
            for q, k, l in np.ndindex(self.unknown.shape):
                rows[self.unknown[q, k, l]] += w[q][k][l][band]
            for total, kind in zip(sums, kinds):
                part = rows.reshape(n + 1, -1)[:, kind]
                total += part @ part.T
        return sums

    def fit(self, family, reflections):
        """Returns the best design with these poles, and its mean square error on the samples held out; infinite if the
        equations cannot be solved. Flat areas keep their level."""
        design, n = Design(self.m, family, reflections, self.max_radius), self.n
        train, held = self.sums(design)
        flat = np.bincount(self.unknown.ravel(), np.repeat(1 / (1 - design.b.sum((1, 2))), self.m ** 2))
        try:
            half = np.linalg.cholesky(train[:n, :n] + RIDGE * np.trace(train[:n, :n]) / n * np.eye(n))
        except np.linalg.LinAlgError:
            return design, math.inf
        c, level = np.linalg.solve(half.T, np.linalg.solve(half, np.stack([train[:n, n], flat], 1))).T
        c = c + (1 - flat @ c) / (flat @ level) * level
        design.a = c[self.unknown].astype(np.float32).astype(float)
        error = np.append(c, -1)
        square = error @ held @ error / self.n_held
        return design, square if math.isfinite(square) else math.inf

    # ---- the search -------------------------------------------------------------------

    def refine(self, family, held, reflections):
        """Descends along one parameter after the other, in steps that become smaller."""
        for step in (0.16, 0.08, 0.04, 0.02, 0.01, 0.005):
            for _ in range(8):
                before = held
                for i, sign in itertools.product(range(reflections.size), (1, -1)):
                    trial = reflections.copy()
                    trial.flat[i] = min(max(trial.flat[i] + sign * step, -0.999), 0.999)
                    judged = self.fit(family, trial)[1]
                    if judged < held:
                        held, reflections = judged, trial
                if not held < before * 0.9999:
                    break
        return held, reflections

    def search(self, family):
        """Returns the best candidates of a family of denominators: (error, reflection coefficients)."""
        grid = [(self.fit(family, poles)[1], poles) for poles in pole_grid(family, min(2, self.m - 1))]
        starts = [start for start in sorted(grid, key=error_of)[:STARTS] if math.isfinite(error_of(start))]
        finalists = sorted((self.refine(family, *start) for start in starts), key=error_of)[:FINALISTS]
        for i, (held, poles) in enumerate(finalists):
            while poles.shape[1] < self.m - 1:
                poles = np.pad(poles, ((0, 0), (0, 1)))  # a pole at 0, which has no effect before it is refined
                held, poles = self.refine(family, held, poles)
            finalists[i] = held, poles
        return finalists


def pole_grid(family, order):
    """Yields pairs of poles as reflection coefficients: of the first polynomial, of the second, of both. Of order 1: a
    pole at the radius or the place of the first one."""
    real = (-0.9, -0.6, -0.3, 0, 0.3, 0.6, 0.9)
    poles = [(u, -2 * u * math.cos(v * math.pi / 12), u * u) for u in (0.3, 0.5, 0.7, 0.85, 0.95) for v in range(1, 12)]
    poles += [(u, -(u + v), u * v) for u in real for v in real]
    for where in {AXES: ([0], [1], [0, 1]), SAME: ([0],)}.get(family, ([0], [1])):
        for u, first, second in poles:
            reflections = np.zeros((1 if family == SAME else 2, order))
            reflections[where] = -u if order < 2 else (first / (1 + second), second)
            yield reflections


# ---- results --------------------------------------------------------------------------

def psnr(difference):
    """Returns it without the difference of the mean levels, which depends on the exposure; "-" of no samples."""
    if not difference.size:
        return '-'
    square = difference.var()
    return f'{10 * math.log10(255 * 255 / square) if square > 0 else math.inf:.2f}'


def report(sharp, blurred, part, fir, best):
    kinds, m = np.full(sharp.shape, OUTSIDE), best.m
    kinds[part] = kinds_of_samples(*kinds[part].shape)
    rows = (('blurred', None), (f'not recursive, {2 * m - 1} x {2 * m - 1}', fir), (f'recursive, m = {m}', best))
    print(f'{"PSNR in dB":22} {"fitted":>8} {"held out":>8} {"outside":>8} {"noise x":>7}')
    for name, design in rows:
        error = (round_levels(design.apply(blurred)) if design else blurred) - sharp
        figures = ' '.join(f'{psnr(error[kinds == kind]):>8}' for kind in (FITTED, HELD_OUT, OUTSIDE))
        print(f'{name:22} {figures} {design.noise_gain() if design else 1:7.2f}')
    print(f'{best.family}, largest radius {best.radius():.4f}')


def to_json(design):
    """Returns the format of cuda/irfilter/irfilter.h. Nine digits preserve each float32."""
    def matrix(rows):
        return '[' + ',\n      '.join('[' + ', '.join(f'{v:.9g}' for v in row) + ']' for row in rows) + ']'
    quadrants = [f'  "{name}": {{\n    "a": {matrix(a)},\n    "b": {matrix(b)} }},\n'
                 for name, a, b in zip(QUADRANTS, design.a, design.b)]
    return f'{{ "m": {design.m},\n{"".join(quadrants)}  "offset": 0, "passthrough": 0 }}\n'


def check_output(path, force, inputs):
    """Checks before the search, which takes a while, that the result can be written; pipelines/tools/output.c is the
    same for the other programs."""
    folder, what = os.path.dirname(path) or '.', f'--output "{path}"'
    if not path or path.endswith('/') or os.path.isdir(path):
        fail(2, f'{what} is a folder; a file name is needed')
    if not os.path.isdir(folder):
        fail(2, f'{what}: there is no folder "{folder}"')
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        fail(2, f'{what}: the folder "{folder}" cannot be written: {error.strerror}')
    if os.path.exists(path) and not os.path.isfile(path):
        fail(2, f'{what} is not a file but a device or a pipe; a file name is needed')
    if os.path.exists(path) and any(os.path.exists(name) and os.path.samefile(name, path) for name in inputs):
        fail(2, f'{what} is the input; another name is needed')
    if os.path.lexists(path) and not force:  # a link without a target as well
        fail(2, f'{what} exists already; --force replaces it')


def write_output(path, force, text):
    """Writes the text to the path, which then has the whole text, or is left as it was."""
    part = f'{path}.{secrets.token_hex(3)}'
    try:
        with open(part, 'x', encoding='utf-8') as file:
            file.write(text)
    except OSError as error:
        if os.path.lexists(part):
            os.unlink(part)
        fail(1, f'--output "{path}" cannot be written: {error.strerror}')
    try:
        if not force:
            open(path, 'x', encoding='utf-8').close()  # fails if another program has made the file meanwhile
        os.replace(part, path)
    except OSError as error:
        fail(1, f'--output "{path}": the result stays in "{part}": {error.strerror}')


# ---- command line ---------------------------------------------------------------------

class Help(argparse.HelpFormatter):
    """Writes an option as the other programs do: -o, --output=FILE."""

    def _format_action_invocation(self, action):
        return ', '.join(action.option_strings) + (f'={action.metavar}' if action.metavar else '')


class Parser(argparse.ArgumentParser):
    def error(self, message):
        fail(2, f'{message}; --help lists the options')


def parse_options():
    parser = Parser(
        'cf-identify', usage='cf-identify [OPTION...] SHARP BLURRED', allow_abbrev=False,
        formatter_class=lambda prog: Help(prog, max_help_position=30, width=120),
        description='Finds the recursive filter that restores SHARP. SHARP and BLURRED are images (or videos: their '
        'first frames) of the same scene, of the same size and aligned. The result is a file for: cudairfilter '
        'coefficients=FILE')
    parser.add_argument('files', nargs='*', help=argparse.SUPPRESS)
    add = parser.add_argument
    add('-o', '--output', metavar='FILE', default='coefficients.json',
        help='write the filter there (coefficients.json)')
    add('--force', action='store_true', help='replace the file to write if it exists')
    add('-m', '--window', metavar='M', type=int, default=3, help="side of the filter's windows, 2 to 5 (3)")
    add('-f', '--fragment', metavar='WxH+X+Y',
        help='fit the filter to this part only (size, left, top: 96x96+40+20) and report the rest as well')
    add('-b', '--blur', metavar='BLUR',
        help='blur SHARP by gauss:SIGMA or motion:LENGTH:DEGREES, instead of reading BLURRED')
    add('--chart', action='store_true', help='draw an image with edges of all kinds, instead of reading SHARP')
    add('-n', '--noise', metavar='SIGMA', type=float, default=0,
        help='expected noise in levels of 255; it is added to the blurred image before the search (0)')
    add('-s', '--symmetry', metavar='KIND',
        help='symmetry of the weights: none, point, diagonal, mirror, full (that of --blur, else none)')
    add('-r', '--max-radius', metavar='RADIUS', type=float, default=0.95,
        help='largest radius of a pole, below 1 (0.95); a smaller one rings less')
    add('--version', action='version', version=f'cf-identify (gst-cuda-filters) {VERSION}', help='print the version')
    return parser.parse_intermixed_args()


def parse_blur(text):
    """Returns the kind, the size and the angle of a blur."""
    kind, *numbers = text.split(':')
    try:
        size, angle = map(float, numbers if kind == 'motion' else (*numbers, 0))
    except ValueError:
        size = angle = math.nan
    if not (kind == 'gauss' and 0.1 <= size <= 20 or kind == 'motion' and 1 <= size <= 64 and abs(angle) <= 360):
        fail(2, f'--blur {text}: right would be gauss:1.5 (sigma 0.1 to 20) or motion:9:45 (length 1 to 64, degrees)')
    return kind, size, angle


def symmetry_of(blur):
    if not blur:
        return 'none'
    kind, _, angle = blur
    return 'full' if kind == 'gauss' else 'mirror' if angle % 90 == 0 else 'diagonal' if angle % 45 == 0 else 'point'


def check_options(options):
    """Checks what it can before the search; puts what the options mean into their place."""
    given, wanted = len(options.files), 2 - options.chart - (options.blur is not None)
    if given != wanted:
        fail(2, f'{given} image{" was" if given == 1 else "s were"} given, but {wanted} '
             f'{"is" if wanted == 1 else "are"} needed here: a sharp one (or --chart) and a blurred one (or --blur); '
             'see --help')
    if not 2 <= options.window <= MAX_M:
        fail(2, f'--window {options.window}: expected 2 to {MAX_M}')
    if not 0 <= options.noise <= 50:
        fail(2, f'--noise {options.noise:g}: expected 0 to 50')
    if not 0 < options.max_radius < 1:
        fail(2, f'--max-radius {options.max_radius:g}: expected more than 0 and less than 1, or the filter would not '
             'be stable')
    check_output(options.output, options.force, options.files)
    options.blur = options.blur and parse_blur(options.blur)
    if options.symmetry is None:
        options.symmetry = symmetry_of(options.blur)
    if options.symmetry not in FAMILIES:
        fail(2, f'--symmetry {options.symmetry}: expected none, point, diagonal, mirror or full')


def get_images(options):
    sharp = draw_chart(CHART_SIDE) if options.chart else load_image(options.files[0])
    blurred = blur_image(sharp, options.blur) if options.blur else load_image(options.files[-1])
    if sharp.shape != blurred.shape:
        fail(1, 'the sharp image is {1} x {0} and the blurred one {3} x {2}; they have to be of the same size and '
             'aligned'.format(*sharp.shape, *blurred.shape))
    if options.noise > 0:
        blurred = add_noise(blurred, options.noise)
    return sharp, round_levels(blurred) if options.blur or options.noise > 0 else blurred


def choose_fragment(text, height, width):
    """Returns the rows and the columns of the part to fit the filter to."""
    found = re.fullmatch(r'(\d+)x(\d+)\+(\d+)\+(\d+)', text or f'{width}x{height}+0+0')
    if not found:
        fail(2, f'--fragment {text}: expected width, height, left and top, like 96x96+40+20')
    w, h, x, y = map(int, found.groups())
    if x + w > width or y + h > height:
        fail(2, f'--fragment {text} reaches out of the image, which is {width} x {height}')
    if w < SMALLEST or h < SMALLEST:
        fail(2, f'{w} x {h} samples are too few to find a filter; at least {SMALLEST} x {SMALLEST} are needed')
    return slice(y, y + h), slice(x, x + w)


def compare(sharp, blurred):
    """Warns if the images do not seem to show the same scene."""
    s, b = sharp - sharp.mean(), blurred - blurred.mean()
    both, product = math.sqrt((s * s).sum() * (b * b).sum()), (s * b).sum()
    if not product > 0.3 * both:
        complain(f'warning: the images hardly correlate ({product / both if both > 0 else 0:.2f}); they have to show '
                 'the same scene, aligned')
    if abs(sharp.mean() - blurred.mean()) > 4:
        complain(f"warning: the sharp image's mean is {sharp.mean():.0f} and the blurred one's {blurred.mean():.0f}; "
                 'if their exposures differ, a difference in contrast is taken for blur')


def middle(length):
    """Returns the middle SEARCHED of so many samples, or all of them."""
    start = max(length - SEARCHED, 0) // 2
    return slice(start, start + min(length, SEARCHED))


def find_filters(options, sharp, blurred):
    """Returns the best filter without poles, and the best one of all."""
    whole, part = Fit(options, sharp, blurred), tuple(map(middle, sharp.shape))
    (fir, error), winner = whole.fit(AXES, np.zeros((2, 1))), (math.inf, None, None)
    if math.isfinite(error):
        searched = Fit(options, sharp[part], blurred[part])
        for family in FAMILIES[options.symmetry]:
            winner = min([winner, *((held, family, poles) for held, poles in searched.search(family))], key=error_of)
            print(f'tried {family}: error {math.sqrt(error_of(winner)):.3f} levels', file=sys.stderr)
    best, error = whole.fit(*winner[1:]) if math.isfinite(error_of(winner)) else (None, math.inf)
    if not math.isfinite(error):
        fail(1, 'no filter could be found: the blurred image is flat, or nearly so')
    return fir, best


def main():
    for number in (signal.SIGINT, signal.SIGPIPE):  # end it without a traceback
        signal.signal(number, signal.SIG_DFL)
    options = parse_options()
    check_options(options)
    if np is None:
        fail(1, 'NumPy is missing (Debian: python3-numpy)')
    np.seterr(all='ignore')  # the search leaves out what is not finite
    sharp, blurred = get_images(options)
    part = choose_fragment(options.fragment, *sharp.shape)
    compare(sharp[part], blurred[part])
    fir, best = find_filters(options, sharp[part], blurred[part])
    report(sharp, blurred, part, fir, best)
    write_output(options.output, options.force, to_json(best))


def run():
    """Runs main(); ends with a message if standard output cannot be written."""
    try:
        sys.stdout = open(1, 'w', closefd=False)  # buffered whatever the environment says; fails if it is closed
        try:
            main()
        finally:
            sys.stdout.flush()
    except OSError as error:
        complain(f'the output cannot be written: {error.strerror}')
        os._exit(1)


if __name__ == '__main__':
    run()
