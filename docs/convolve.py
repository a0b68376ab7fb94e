#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes docs/convolve.png: a part of a frame of a film, once for each preset of cudaconvolve.

usage: GST_PLUGIN_PATH=build/gst docs/convolve.py FILM [OUT.png]

FILM of the picture in the repository: OpenCV's sample vtest.avi. Needs numpy, OpenCV and gst-launch-1.0 with
pngdec and pngenc.
"""
import os
import subprocess
import sys
import tempfile

import cv2
import numpy as np

FRAME = 120
LEFT, TOP, WIDTH, HEIGHT = 370, 58, 212, 154
COLUMNS, BAR, GAP = 4, 20, 4

TILES = [
    'preset=identity',
    'preset=box kernel-size=9',
    'preset=gauss kernel-size=15',
    'preset=motion kernel-size=21 angle=30',
    'preset=sharpen',
    'preset=unsharp kernel-size=9 amount=3',
    'preset=emboss angle=45 gray=luma',
    'preset=laplace bias=128',
    'preset=sobel divisor=2',
    'preset=prewitt divisor=2',
    'preset=scharr divisor=8',
    'preset=log kernel-size=9 bias=128 divisor=0.1',
]


def read_part(film):
    capture = cv2.VideoCapture(film)
    frame = None
    for _ in range(FRAME + 1):
        good, frame = capture.read()
        if not good:
            sys.exit(f'{film}: frame {FRAME} cannot be read')
    return frame[TOP:TOP + HEIGHT, LEFT:LEFT + WIDTH]


def filtered(properties, source, folder):
    """The file `source` behind the element, in the format that cameras give."""
    target = os.path.join(folder, 'out.png')
    subprocess.run(['gst-launch-1.0', '-q', 'filesrc', f'location={source}', '!', 'pngdec', '!', 'videoconvert', '!',
                    'video/x-raw,format=I420', '!', 'cudaconvolve', *properties.split(), '!', 'videoconvert', '!',
                    'pngenc', '!', 'filesink', f'location={target}'], check=True)
    return cv2.imread(target)


def tile(picture, label):
    bar = np.full((BAR, WIDTH, 3), 255, np.uint8)
    words = label.removeprefix('preset=')
    cv2.putText(bar, words, (1, BAR - 6), cv2.FONT_HERSHEY_SIMPLEX, 0.35, (0, 0, 0), 1, cv2.LINE_AA)
    return np.vstack([bar, picture])


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] in ('-h', '--help'):
        sys.exit(__doc__)
    out = sys.argv[2] if len(sys.argv) == 3 else os.path.join(os.path.dirname(os.path.abspath(__file__)), 'convolve.png')
    rows = -(-len(TILES) // COLUMNS)
    sheet = np.full((rows * (HEIGHT + BAR + GAP) - GAP, COLUMNS * (WIDTH + GAP) - GAP, 3), 255, np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, 'in.png')
        cv2.imwrite(source, read_part(sys.argv[1]))
        for n, properties in enumerate(TILES):
            y, x = n // COLUMNS * (HEIGHT + BAR + GAP), n % COLUMNS * (WIDTH + GAP)
            sheet[y:y + HEIGHT + BAR, x:x + WIDTH] = tile(filtered(properties, source, folder), properties)
    cv2.imwrite(out, sheet, [cv2.IMWRITE_PNG_COMPRESSION, 9])
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
