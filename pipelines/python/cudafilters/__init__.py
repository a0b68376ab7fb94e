# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""What the elements of GStreamer's cudafilters plugin attach to frames, as Python objects and NumPy arrays.

    regions(buffer)     what cudasegment region-meta=true has found
    label_map(buffer)   the region of each pixel, of cudasegment label-meta=true
    motion(buffer)      where something moves, of cudamedian motion-meta=true
    rois(buffer)        all regions of interest, of whatever element, with their parameters
    add_roi(...)        attaches one, for cudaconvolve preset=privacy roi-meta=true and all other elements
    copy_buffer(buffer) a buffer that one may be attached to
    frame(sample)       the picture as an array; planes(sample) where it has several
    samples(pipeline)   plays a pipeline and yields what its appsink receives; play(pipeline) only plays

All of them may be called from any thread: in a pad probe, in a signal of appsink, or in a loop that pulls samples.
Nothing that they return looks at memory that may go away. Works with GStreamer 1.22 and newer, with and without the
package python3-gst-1.0.

Where pip has installed the plugin with the module, GStreamer finds it after the import. `python -m cudafilters demo`
needs neither PyGObject nor NumPy.
"""
import sys

from . import _plugin

__all__ = ['Box', 'LabelMap', 'REGION', 'Region', 'Roi', 'add_roi', 'copy_buffer', 'frame', 'label_map', 'motion',
           'planes', 'play', 'regions', 'rois', 'samples']

try:
    try:
        import gi
        import numpy  # noqa: F401
        gi.require_version('Gst', '1.0')
        gi.require_version('GstVideo', '1.0')
        from gi.repository import Gst, GstVideo  # noqa: F401
    except (ImportError, ValueError) as error:  # ValueError: no typelib
        raise ImportError("the module cudafilters needs PyGObject, GStreamer's typelibs and NumPy: "
                          f'{error}.\n{_plugin.ADVICE}') from error
    _plugin.use(Gst)
except ImportError:
    if sys.argv[:1] != ['-m']:  # While Python looks for cudafilters.__main__, which says by itself what is missing.
        raise
else:
    from ._arrays import REGION, LabelMap, frame, label_map, planes
    from ._metas import Box, Region, Roi, add_roi, copy_buffer, motion, regions, rois
    from ._pipeline import play, samples
