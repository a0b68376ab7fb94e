#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Makes docs/images/moves.webp: what cudamedian finds moving in a frame, and how it is shown, hidden and removed.

usage: GST_PLUGIN_PATH=build/gst PYTHONPATH=pipelines/python docs/images/moves.py VIDEO [OUT.webp]

VIDEO of the image in the repository: OpenCV's sample vtest.avi. Needs OpenCV, and what docs/python.md says.
"""
import os
import sys

import cudafilters
import cv2
import numpy as np
from gi.repository import Gst

from sheets import BAR, GAP, tile

FRAME = 220
LEFT, TOP, WIDTH, HEIGHT = 180, 80, 424, 270
YELLOW, RED = (0, 255, 255), (0, 0, 255)
TILES = [
    ('at once: yellow; confirmed: red (motion-hold=0)', 'motion-meta=true motion-hold=0'),
    ('output=mask', 'output=mask'),
    ('cudaconvolve preset=fill roi-meta=true roi-type=motion',
     'motion-meta=true ! cudaconvolve backend=cpu preset=fill roi-meta=true roi-type=motion'),
    ('output=still', 'output=still'),
]


def picture(video, line):
    """Returns the frame behind `cudamedian line`, with the boxes of what moves if the line ends there."""
    pipeline = Gst.parse_launch('filesrc name=file ! decodebin ! videoconvert ! video/x-raw,format=BGR ! '
                                f'cudamedian backend=cpu temporal-method=running {line} ! appsink name=sink sync=false')
    pipeline.get_by_name('file').set_property('location', video)
    for number, sample in enumerate(cudafilters.samples(pipeline)):
        if number == FRAME:
            image = cudafilters.frame(sample).copy()
            for region in cudafilters.motion(sample.get_buffer()) if '!' not in line else []:
                x, y, width, height = region.box
                color = RED if region.param('motion')['confirmed'] else YELLOW
                cv2.rectangle(image, (x, y), (x + width - 1, y + height - 1), color, 2)
            return image
    sys.exit(f'{video}: there is no frame {FRAME}')


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] in ('-h', '--help'):
        sys.exit(__doc__)
    out = sys.argv[2] if len(sys.argv) == 3 else os.path.join(os.path.dirname(os.path.abspath(__file__)), 'moves.webp')
    Gst.init(None)
    sheet = np.full((2 * (HEIGHT + BAR + GAP) - GAP, 2 * (WIDTH + GAP) - GAP, 3), 255, np.uint8)
    for n, (label, line) in enumerate(TILES):
        y, x = n // 2 * (HEIGHT + BAR + GAP), n % 2 * (WIDTH + GAP)
        part = picture(sys.argv[1], line)[TOP:TOP + HEIGHT, LEFT:LEFT + WIDTH]
        sheet[y:y + HEIGHT + BAR, x:x + WIDTH] = tile(part, label, 0.4)
    cv2.imwrite(out, sheet, [cv2.IMWRITE_WEBP_QUALITY, 85])
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
