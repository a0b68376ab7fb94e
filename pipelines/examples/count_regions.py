#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Counts the regions of similar colour in each frame of a video, and prints once a second how many there are, the
largest ones, and what lies in the middle of the picture.

usage: count_regions.py VIDEO
"""
import sys

import cudafilters
from gi.repository import Gst


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Gst.init(None)
    pipeline = Gst.parse_launch('filesrc name=file ! decodebin ! videoconvert ! '
                                'cudasegment output=passthrough region-meta=true label-meta=true max-regions=200 ! '
                                'appsink name=sink sync=false max-buffers=4')
    pipeline.get_by_name('file').set_property('location', sys.argv[1])
    printed = None
    for sample in cudafilters.samples(pipeline):
        buffer = sample.get_buffer()
        if (second := buffer.pts // Gst.SECOND) == printed:
            continue
        printed = second
        regions = sorted(cudafilters.regions(buffer), key=lambda r: -r.area)
        print(f'{second} s: {len(regions)} regions')
        for r in regions[:3]:
            print(f'  region {r.id}, {r.age} frames old: {r.area} pixels around {r.centroid[0]:.0f}, '
                  f'{r.centroid[1]:.0f}; brightness {r.mean[0]:.0f}')
        labels, found = cudafilters.label_map(buffer)
        here = labels[labels.shape[0] // 2, labels.shape[1] // 2]
        print(f'  in the middle: region {found["id"][here]}, {(labels == here).mean():.1%} of the picture')


if __name__ == '__main__':
    main()
