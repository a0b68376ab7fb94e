#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Changes a filter while the video runs, by lines on standard input: "kernel-size 9", or "enabled false".

usage: live_control.py [FILTER [SINK]]        FILTER: 'cudaconvolve preset=gauss' for instance; SINK: another window
"""
import sys

import gi
gi.require_version('Gst', '1.0')
from gi.repository import Gst  # noqa: E402


def main():
    Gst.init(None)
    line, sink = (sys.argv[1:] + ['cudamedian', 'autovideosink'][len(sys.argv) - 1:])[:2]
    pipeline = Gst.parse_launch('videotestsrc is-live=true pattern=snow ! video/x-raw,width=640,height=480 ! '
                                f'{line} name=filter ! videoconvert ! {sink}')
    element, bus = pipeline.get_by_name('filter'), pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    for text in sys.stdin:  # the video runs in threads of its own
        name, _, value = text.strip().partition(' ')
        if element.find_property(name) is None:
            print(f'{element.get_factory().get_name()} has no property "{name}"', flush=True)
        else:
            Gst.util_set_object_arg(element, name, value)  # any thread may set; the next frame has it
            print(f'{name} is {element.get_property(name)}', flush=True)
        problem = bus.pop_filtered(Gst.MessageType.ERROR | Gst.MessageType.WARNING)
        if problem is not None:
            failed = problem.type == Gst.MessageType.ERROR
            print((problem.parse_error() if failed else problem.parse_warning())[0].message, flush=True)
    print(f'{element.get_property("stats").get_value("frames")} frames')
    pipeline.set_state(Gst.State.NULL)


if __name__ == '__main__':
    main()
