#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Makes docs/images/hide.png: a face as cudaconvolve's presets hide it, and what attempts to undo that make of it.

usage: docs/images/hide.py build/tests/kernelcheck [OUT.png]

The face is that of scikit-image's picture astronaut.png, as in tests/oracle/undo_privacy.py, whose table says how much
of it is left. Needs what that needs.
"""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'tests', 'oracle'))
import undo_privacy as undo  # noqa: E402 (first: it looks for a Python with the packages)

import cv2  # noqa: E402
import numpy as np  # noqa: E402

from oracle_opencv import Runner, load_images  # noqa: E402
from sheets import GAP, tile  # noqa: E402

WIDTH, HEIGHT = 160, 190
TILES = [
    ('1080p', None, None, 'the original'),
    ('1080p', 'gauss 63', None, 'gauss 63, in 1080p'),
    ('4K', 'gauss 63', None, 'gauss 63, in 4K'),
    ('4K', 'gauss 63', 'Wiener 0.001', 'gauss 63, 4K, undone'),
    ('4K', 'mosaic 8', None, 'mosaic blocks=8, 4K'),
    ('4K', 'privacy 8', None, 'privacy blocks=8, 4K'),
    ('4K', 'privacy 8', 'bicubic with the means', 'blocks=8, undone'),
    ('4K', 'privacy 4', None, 'privacy blocks=4, 4K'),
    ('4K', 'privacy 4', 'bicubic, Wiener 1', 'blocks=4, undone'),
    ('4K', 'fill', None, 'fill, 4K'),
]


def picture(runner, color, size, way, attempt):
    """Returns the face with its surroundings, in the size of a tile; attempts take the channels one by one."""
    whole, face = undo.scene(color, undo.SIZES[size])
    out = undo.hide(runner, whole, face, undo.WAYS[way]) if way else whole
    if attempt:
        channels = [np.ascontiguousarray(out[..., c]) for c in range(3)]
        for c, hidden in enumerate(channels):
            found = undo.undo(runner, np.ascontiguousarray(whole[..., c]), hidden, face, way)[attempt]
            out[face][..., c] = np.clip(np.rint(found), 0, 255)
    return cv2.resize(out, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] in ('-h', '--help'):
        sys.exit(__doc__)
    out = sys.argv[2] if len(sys.argv) == 3 else os.path.join(HERE, 'hide.png')
    color = dict(load_images())['astronaut.png']
    columns, high = 5, HEIGHT + 20
    sheet = np.full((2 * (high + GAP) - GAP, columns * (WIDTH + GAP) - GAP, 3), 255, np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(sys.argv[1], 'cpu', folder)
        for n, (size, way, attempt, label) in enumerate(TILES):
            y, x = n // columns * (high + GAP), n % columns * (WIDTH + GAP)
            sheet[y:y + high, x:x + WIDTH] = tile(picture(runner, color, size, way, attempt), label, 0.4)
    cv2.imwrite(out, sheet, [cv2.IMWRITE_PNG_COMPRESSION, 9])
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
