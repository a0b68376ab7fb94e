#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""An example of a Python program that reads the regions found by cudasegment.

usage: GST_PLUGIN_PATH=build/gst pipelines/examples/regions.py FILE

Prints the largest regions once a second, from the messages on the bus, and
checks the regions' sizes in the last frame against its label map. Needs
python3-gi, gir1.2-gstreamer-1.0 and numpy.
"""
import sys
import warnings

import gi
gi.require_version('Gst', '1.0')
from gi.repository import Gst  # noqa: E402
import numpy as np  # noqa: E402

# PyGObject reads GStreamer's arrays only by this deprecated type; with python3-gst-1.0, s['regions'] does it.
warnings.filterwarnings('ignore', 'GObject.ValueArray', DeprecationWarning)

REGION = np.dtype([('id', 'u4'), ('age', 'u4'), ('area', 'u4'), ('x', 'u4'), ('y', 'u4'), ('width', 'u4'),
                   ('height', 'u4'), ('reserved', 'u4'), ('centroid', 'f8', 2), ('mean', 'f8', 3)])


def read_map(buffer):
    """Returns the labels of the pixels (rows x columns) and the regions, indexed by label."""
    s = buffer.get_custom_meta('GstCudaSegmentMeta').get_structure()
    labels = np.frombuffer(s.get_value('labels').get_data(), np.uint16).reshape(s.get_value('height'), -1)
    return labels[:, :s.get_value('width')], np.frombuffer(s.get_value('regions').get_data(), REGION)


def print_message(s):
    _, array = s.get_array('regions')  # array owns the regions
    regions = [array.get_nth(i) for i in range(array.n_values)]
    print(f"{s.get_value('running-time') / 1e9:.2f} s: {len(regions)} regions")
    for r in sorted(regions, key=lambda r: -r.get_value('area'))[:5]:
        print('  region {}, {} frames old: {} pixels, {} x {} at {}, {}, Y {:.0f}'.format(
            *(r.get_value(name) for name in ('id', 'age', 'area', 'width', 'height', 'x', 'y', 'mean-y'))))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Gst.init(None)
    pipeline = Gst.parse_launch('filesrc name=source ! decodebin ! videoconvert ! '
                                'cudasegment output=passthrough message-interval=1000 label-meta=true ! '
                                'fakesink name=sink enable-last-sample=true')
    pipeline.get_by_name('source').set_property('location', sys.argv[1])
    pipeline.set_state(Gst.State.PLAYING)
    bus = pipeline.get_bus()
    while True:
        message = bus.timed_pop_filtered(Gst.CLOCK_TIME_NONE,
                                         Gst.MessageType.ELEMENT | Gst.MessageType.ERROR | Gst.MessageType.EOS)
        if message.type == Gst.MessageType.ERROR:
            sys.exit(message.parse_error()[0].message)
        if message.type == Gst.MessageType.EOS:
            break
        if message.has_name('cudasegment'):
            print_message(message.get_structure())
    labels, regions = read_map(pipeline.get_by_name('sink').get_property('last-sample').get_buffer())
    counted = np.bincount(labels.ravel(), minlength=len(regions))
    print(f'last frame: {len(regions)} regions; the map has {counted.sum()} pixels, '
          f'{"and the regions have these sizes" if (counted == regions["area"]).all() else "but the sizes are WRONG"}')
    pipeline.set_state(Gst.State.NULL)


if __name__ == '__main__':
    main()
