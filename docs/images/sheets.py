#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Makes docs/images/convolve.png, irfilter.png or segment.png: a part of a video frame, once per effect of an element.

usage: GST_PLUGIN_PATH=build/gst docs/images/sheets.py convolve|irfilter|segment VIDEO [OUT.png]

VIDEO of the images in the repository: OpenCV's sample vtest.avi. Needs numpy, OpenCV and gst-launch-1.0 with pngdec
and pngenc.
"""
import os
import subprocess
import sys
import tempfile

import cv2
import numpy as np

FRAME = 120
BAR, GAP = 20, 4
# Columns, and the part of the frame: left, top, width, height. Regions are found in the whole frame.
LAYOUTS = {
    'convolve': (4, (370, 58, 212, 154)),
    'irfilter': (4, (370, 58, 212, 154)),
    'segment': (2, (300, 80, 424, 300)),
}

# '_' stands for a blank within a word of an element line.
SHEETS = {
    'convolve': [
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
    ],
    'irfilter': [
        'preset=smooth sigma=3',
        'preset=smooth sigma=30',
        'preset=soft sigma=30',
        'numerator=.1 denominator=0_.9;_0_0 quadrants=se',
        'preset=highpass sigma=40 apply-to=luma',
        'preset=highpass sigma=3',
        'preset=sharpen sigma=1.5',
        'preset=sharpen sigma=30 apply-to=luma',
    ],
    'segment': [
        'output=passthrough',
        'output=mean',
        'output=boundaries boundary-color=0xffffff00',
        'output=labels',
    ],
}


def read_frame(video, number):
    capture = cv2.VideoCapture(video)
    frame = None
    for _ in range(number + 1):
        good, frame = capture.read()
        if not good:
            sys.exit(f'{video}: frame {number} cannot be read')
    return frame


def filtered(words, source, target, video_format):
    """Returns the image file `source` after the element, also in the file `target`."""
    subprocess.run(['gst-launch-1.0', '-q', 'filesrc', f'location={source}', '!', 'pngdec', '!', 'videoconvert', '!',
                    f'video/x-raw,format={video_format}', '!', *words, '!', 'videoconvert', '!', 'pngenc', '!',
                    'filesink', f'location={target}'], check=True)
    return cv2.imread(target)


def tile(picture, label, scale):
    bar = np.full((BAR, picture.shape[1], 3), 255, np.uint8)
    cv2.putText(bar, label, (1, BAR - 6), cv2.FONT_HERSHEY_SIMPLEX, scale, (0, 0, 0), 1, cv2.LINE_AA)
    return np.vstack([bar, picture])


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in SHEETS:
        sys.exit(__doc__)
    sheet_name, video = sys.argv[1:3]
    tiles = SHEETS[sheet_name]
    out = sys.argv[3] if len(sys.argv) == 4 else os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                              f'{sheet_name}.png')
    columns, (left, top, width, height) = LAYOUTS[sheet_name]
    part = slice(top, top + height), slice(left, left + width)
    whole = sheet_name == 'segment'
    rows = -(-len(tiles) // columns)
    sheet = np.full((rows * (height + BAR + GAP) - GAP, columns * (width + GAP) - GAP, 3), 255, np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, 'in.png')
        frame = read_frame(video, FRAME)
        cv2.imwrite(source, frame if whole else frame[part])
        for n, words in enumerate(tiles):
            y, x = n // columns * (height + BAR + GAP), n % columns * (width + GAP)
            properties = [word.replace('_', ' ') for word in words.split()]
            # I420 is the format of most cameras.
            picture = filtered([f'cuda{sheet_name}', *properties], source, os.path.join(folder, 'out.png'), 'I420')
            sheet[y:y + height + BAR, x:x + width] = tile(picture[part] if whole else picture,
                                                          ' '.join(properties).removeprefix('preset='), 0.35)
    cv2.imwrite(out, sheet, [cv2.IMWRITE_PNG_COMPRESSION, 9])
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
