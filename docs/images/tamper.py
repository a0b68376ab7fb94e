#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Makes docs/images/tamper.webp: what cudamedian tamper=true reports, each in a frame in which it is so.

usage: GST_PLUGIN_PATH=build/gst docs/images/tamper.py VIDEO [OUT.webp]

VIDEO of the image in the repository: OpenCV's sample vtest.avi, which is changed from its 31st frame on. Ends with an
error where the element reports something else. Needs OpenCV, GStreamer for Python and rawvideoparse.
"""
import os
import sys
import tempfile

import cv2
import gi
import numpy as np

gi.require_version('Gst', '1.0')
from gi.repository import Gst  # noqa: E402

from sheets import BAR, GAP, tile  # noqa: E402

FROM, FRAMES, RATE = 30, 80, 10
SHOWN = FROM + 35
SIZE = 252, 190  # of a tile
COLUMNS = 4


def gain(frame, factor, offset=0):
    return np.clip(frame * factor + offset, 0, 255).astype(np.uint8)


def shifted(frame, by):
    return np.roll(frame, (by, -2 * by), (0, 1))


def cloth(frame):
    """Returns folds, as of a cloth before the lens."""
    height, width = frame.shape[:2]
    folds = 60 + 25 * np.sin(np.arange(width) / 90) + np.linspace(-15, 15, height)[:, None]
    return np.repeat(folds[..., None], 3, 2)


# What happens to a frame that is the nth one in which it does, 1 the first.
CASES = {
    'light': lambda frame, n: gain(frame, 0.6),
    'shake': lambda frame, n: shifted(frame, (6, -4, 9, -8, 3)[n % 5]),
    'covered': lambda frame, n: gain(cloth(frame), 1),
    'blinded': lambda frame, n: gain(frame, 0.5, 220),
    'dark': lambda frame, n: gain(frame, max(0.04, 1 - n / 15)),
    'defocused': lambda frame, n: cv2.GaussianBlur(frame, (0, 0), min(n / 4, 8)),
    'turned': lambda frame, n: cv2.resize(frame[280:, 350:][:, ::-1], frame.shape[1::-1]),
    'frozen': None,
}


def frames_of(video):
    capture = cv2.VideoCapture(video)
    frames = [capture.read()[1] for _ in range(FRAMES)]
    if frames[-1] is None:
        sys.exit(f'{video}: it has less than {FRAMES} frames')
    return frames


def changed(frames, name):
    """Returns the frames of a case, with the noise of a camera."""
    dice = np.random.default_rng(1)
    made = []
    for n, frame in enumerate(frames, 1 - FROM):
        if n > 0 and name == 'frozen':
            made.append(made[-1])
        else:
            picture = CASES[name](frame, n) if n > 0 else frame
            made.append(gain(picture + dice.normal(0, 2, frame.shape), 1))
    return made


def reported(frames):
    """Returns the events of the element for these frames."""
    height, width = frames[0].shape[:2]
    with tempfile.NamedTemporaryFile() as file:
        for frame in frames:
            file.write(frame.tobytes())
        file.flush()
        pipeline = Gst.parse_launch(
            f'filesrc location={file.name} ! rawvideoparse format=bgr width={width} height={height} framerate={RATE}/1 '
            '! cudamedian backend=cpu temporal-method=running tamper=true ! fakesink')
        pipeline.set_state(Gst.State.PLAYING)
        events, kinds = [], Gst.MessageType.ELEMENT | Gst.MessageType.EOS | Gst.MessageType.ERROR
        while message := pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, kinds):
            if message.type != Gst.MessageType.ELEMENT:
                break
            events.append(message.get_structure().get_string('event'))
        pipeline.set_state(Gst.State.NULL)
    return events


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] in ('-h', '--help'):
        sys.exit(__doc__)
    out = sys.argv[2] if len(sys.argv) == 3 else os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tamper.webp')
    Gst.init(None)
    frames = frames_of(sys.argv[1])
    width, height = SIZE
    rows = -(-len(CASES) // COLUMNS)
    sheet = np.full((rows * (height + BAR + GAP) - GAP, COLUMNS * (width + GAP) - GAP, 3), 255, np.uint8)
    for n, name in enumerate(CASES):
        case = changed(frames, name)
        events = reported(case)
        print(f'{name}: {" ".join(events)}')
        if not {name, name + '-start'} & set(events):
            sys.exit(f'{name} is not what is reported')
        part = case[SHOWN]
        if name == 'shake':  # two frames in one
            part = gain(part / 2 + case[SHOWN + 1] / 2, 1)
        y, x = n // COLUMNS * (height + BAR + GAP), n % COLUMNS * (width + GAP)
        sheet[y:y + height + BAR, x:x + width] = tile(cv2.resize(part, SIZE, interpolation=cv2.INTER_AREA), name, 0.4)
    cv2.imwrite(out, sheet, [cv2.IMWRITE_WEBP_QUALITY, 80])
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
