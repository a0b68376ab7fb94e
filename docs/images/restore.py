#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Makes docs/images/restore.png: a part of a frame blurred by motion, restored by the filter that cf-identify found on
another part of it, and the original.

usage: GST_PLUGIN_PATH=build/gst docs/images/restore.py build/pipelines/cf-identify VIDEO [OUT.png]

VIDEO of the image in the repository: OpenCV's sample vtest.avi. Needs numpy, OpenCV and gst-launch-1.0 with pngdec
and pngenc.
"""
import os
import subprocess
import sys
import tempfile

import cv2
import numpy as np

from sheets import BAR, FRAME, GAP, filtered, read_frame, tile

FRAGMENT = '96x96+120+150'
LEFT, TOP, WIDTH, HEIGHT = 400, 58, 280, 190


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] in ('-h', '--help'):
        sys.exit(__doc__)
    out = sys.argv[3] if len(sys.argv) == 4 else os.path.join(os.path.dirname(os.path.abspath(__file__)), 'restore.png')
    with tempfile.TemporaryDirectory() as folder:
        frame, sharp, blurred, restored, found = (os.path.join(folder, name) for name in (
            'frame.png', 'sharp.png', 'blurred.png', 'restored.png', 'found.json'))
        cv2.imwrite(frame, read_frame(sys.argv[2], FRAME))
        # Both images take the same conversions, which change the colours a little.
        original = filtered(['cudaconvolve', 'preset=identity', 'apply-to=luma'], frame, sharp, 'Y444')
        before = filtered(['cudaconvolve', 'preset=motion', 'kernel-size=9', 'angle=0', 'apply-to=luma'], frame,
                          blurred, 'Y444')
        subprocess.run([sys.argv[1], sharp, blurred, '--fragment', FRAGMENT, '--window', '5', '--symmetry', 'mirror',
                        '--output', found], check=True)
        after = filtered(['cudairfilter', f'coefficients={found}', 'apply-to=luma'], blurred, restored, 'Y444')
    part = slice(TOP, TOP + HEIGHT), slice(LEFT, LEFT + WIDTH)
    gap = np.full((HEIGHT + BAR, GAP, 3), 255, np.uint8)
    cv2.imwrite(out, np.hstack([tile(before[part], 'blurred by a motion of 9 pixels', 0.4), gap,
                                tile(after[part], 'restored by cudairfilter', 0.4), gap,
                                tile(original[part], 'as it was', 0.4)]), [cv2.IMWRITE_PNG_COMPRESSION, 9])
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
