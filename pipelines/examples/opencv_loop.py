#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""An OpenCV loop over frames that cudamedian has cleaned: prints what moves, by OpenCV's background subtraction.

usage: opencv_loop.py VIDEO [--show]        --show: in a window; q ends
"""
import sys

import cudafilters
import cv2
from gi.repository import Gst


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    Gst.init(None)
    pipeline = Gst.parse_launch('filesrc name=file ! decodebin ! videoconvert ! cudamedian kernel-size=5 ! '
                                'videoconvert ! video/x-raw,format=BGR ! appsink name=sink max-buffers=4 sync='
                                f'{"true" if "--show" in sys.argv else "false"}')
    pipeline.get_by_name('file').set_property('location', sys.argv[1])
    background = cv2.createBackgroundSubtractorMOG2(detectShadows=False)
    for n, sample in enumerate(cudafilters.samples(pipeline)):
        image = cudafilters.frame(sample)
        mask = background.apply(image)
        outlines = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0]
        boxes = [cv2.boundingRect(outline) for outline in outlines if cv2.contourArea(outline) > 100]
        print(f'frame {n}: {len(boxes)} things move', *boxes)
        if '--show' in sys.argv:
            picture = image.copy()  # frames are read-only
            for x, y, width, height in boxes:
                cv2.rectangle(picture, (x, y), (x + width, y + height), (0, 255, 255), 2)
            cv2.imshow('opencv_loop', picture)
            if cv2.waitKey(1) == ord('q'):
                break


if __name__ == '__main__':
    main()
