#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Filters a video and saves one frame a second as a NumPy array of the shape (frames, height, width, 3), B, G, R.

usage: frames_to_numpy.py VIDEO OUTPUT.npy [FILTER]        FILTER: 'cudamedian kernel-size=5' for instance
"""
import os
import sys

import cudafilters
import numpy as np
from gi.repository import Gst


def main():
    if len(sys.argv) not in (3, 4) or any(map(os.path.exists, (sys.argv[2], sys.argv[2] + '.part'))):
        sys.exit(__doc__ + 'Neither OUTPUT.npy nor OUTPUT.npy.part may be there: nothing is overwritten.')
    Gst.init(None)
    line = sys.argv[3] if len(sys.argv) == 4 else 'cudamedian kernel-size=5'
    pipeline = Gst.parse_launch(f'filesrc name=file ! decodebin ! videoconvert ! {line} ! videoconvert ! '
                                'video/x-raw,format=BGR ! appsink name=sink sync=false max-buffers=4')
    pipeline.get_by_name('file').set_property('location', sys.argv[1])
    kept, next_time = [], 0
    for sample in cudafilters.samples(pipeline):
        if sample.get_buffer().pts >= next_time:
            next_time = sample.get_buffer().pts + Gst.SECOND
            kept.append(cudafilters.frame(sample).copy())  # without copy () the frame would not go back to its pool
    frames = np.stack(kept)
    with open(sys.argv[2] + '.part', 'wb') as file:
        np.save(file, frames)
    os.rename(sys.argv[2] + '.part', sys.argv[2])  # a reader finds all of it or nothing
    print(f'{frames.shape} {frames.dtype}, mean brightness of each: {frames.mean(axis=(1, 2, 3)).round(1)}')


if __name__ == '__main__':
    main()
