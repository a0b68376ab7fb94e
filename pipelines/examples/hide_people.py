#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Hides the people that OpenCV's detector of persons finds in a video: it looks at every third frame, and what it has
found stays hidden for half a second. Needs OpenCV 4 (python3-opencv). usage: hide_people.py VIDEO OUTPUT.mkv
"""
import os
import sys

import cudafilters
import cv2
from gi.repository import Gst

hog, seen = cv2.HOGDescriptor(), {'frames': 0, 'people': 0}
hog.setSVMDetector(cv2.HOGDescriptor_getDefaultPeopleDetector())


def detect(pad, info):
    if seen['frames'] % 3 == 0:
        image = cudafilters.frame(info.get_buffer(), pad.get_current_caps())
        boxes, weights = hog.detectMultiScale(image, winStride=(8, 8), scale=1.1)
        for (x, y, width, height), weight in zip(boxes, weights):
            cudafilters.add_roi(info, x, y, width, height, 'person', confidence=min(float(weight), 1.0))
        seen['people'] += len(boxes)
    seen['frames'] += 1
    return Gst.PadProbeReturn.OK


if len(sys.argv) != 3 or any(map(os.path.exists, (sys.argv[2], sys.argv[2] + '.part'))):
    sys.exit(__doc__ + 'Neither OUTPUT.mkv nor OUTPUT.mkv.part may be there: nothing is overwritten.')
Gst.init(None)
pipeline = Gst.parse_launch('filesrc name=file ! decodebin ! videoconvert ! video/x-raw,format=BGR ! cudaconvolve '
                            'name=hide preset=fill roi-meta=true roi-grow=10 roi-missing=pass roi-hold=500 ! '
                            'videoconvert ! jpegenc ! matroskamux ! filesink name=out')
pipeline.get_by_name('file').set_property('location', sys.argv[1])
pipeline.get_by_name('out').set_property('location', sys.argv[2] + '.part')
pipeline.get_by_name('hide').get_static_pad('sink').add_probe(Gst.PadProbeType.BUFFER, detect)
cudafilters.play(pipeline)
os.rename(sys.argv[2] + '.part', sys.argv[2])  # a reader finds all of it or nothing
print(f'{seen["frames"]} frames, people found {seen["people"]} times')
