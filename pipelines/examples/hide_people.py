#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Hides the people that a detector finds in a video: OpenCV's detector of persons, which needs no file. It looks at
every third frame, and what it has found stays hidden for half a second. Needs OpenCV 4 (python3-opencv).

usage: hide_people.py VIDEO OUTPUT.mkv
"""
import sys

import cudafilters
import cv2
from gi.repository import Gst


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    Gst.init(None)
    pipeline = Gst.parse_launch('filesrc name=file ! decodebin ! videoconvert ! video/x-raw,format=BGR ! '
                                'cudaconvolve name=hide preset=privacy roi-meta=true roi-grow=10 roi-missing=pass '
                                'roi-hold=500 ! videoconvert ! jpegenc ! matroskamux ! filesink name=out')
    pipeline.get_by_name('file').set_property('location', sys.argv[1])
    pipeline.get_by_name('out').set_property('location', sys.argv[2])
    hog = cv2.HOGDescriptor()
    hog.setSVMDetector(cv2.HOGDescriptor_getDefaultPeopleDetector())
    seen = {'frames': 0, 'people': 0}

    def detect(pad, info):
        if seen['frames'] % 3 == 0:
            image = cudafilters.frame(info.get_buffer(), pad.get_current_caps())
            boxes, weights = hog.detectMultiScale(image, winStride=(8, 8), scale=1.1)
            for (x, y, width, height), weight in zip(boxes, weights):
                cudafilters.add_roi(info, x, y, width, height, 'person', confidence=min(float(weight), 1.0))
            seen['people'] += len(boxes)
        seen['frames'] += 1
        return Gst.PadProbeReturn.OK

    pipeline.get_by_name('hide').get_static_pad('sink').add_probe(Gst.PadProbeType.BUFFER, detect)
    cudafilters.play(pipeline)
    print(f'{seen["frames"]} frames, people found {seen["people"]} times')


if __name__ == '__main__':
    main()
