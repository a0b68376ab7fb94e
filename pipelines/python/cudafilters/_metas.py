# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""What the elements attach to frames, and regions of an application's own."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from gi.repository import Gst, GstVideo

from . import _native


class Box(NamedTuple):
    """A rectangle, in pixels of the frame that carries it."""
    x: int
    y: int
    width: int
    height: int


class Region(NamedTuple):
    """A region of similar colour.

    Where GStreamer's videoscale or videoconvert has changed the frame since, it has kept (and scaled) the boxes and
    dropped the rest: age, area, centroid and mean are None there. That is so from GStreamer 1.22 to 1.26 at least.
    """
    id: int
    """from 1 on; the same from frame to frame"""
    box: Box
    age: int | None
    """frames before this one that had the region"""
    area: int | None
    """pixels"""
    centroid: tuple[float, float] | None
    """x and y of the mean position of its pixels; that of the first pixel is 0"""
    mean: tuple[float, float, float] | None
    """Y, Cb and Cr of the mean colour, in levels of 8 bits"""


class Roi(NamedTuple):
    """A GstVideoRegionOfInterestMeta."""
    type: str
    """such as "person", "region" or "motion"; "" if its maker gave none"""
    box: Box
    id: int
    parent_id: int
    params: tuple[tuple[str, dict[str, Any]], ...]
    """name and fields of each structure that is attached to it (None: a field of a type that Python has no value for);
    empty where videoscale or videoconvert has changed the frame since, see Region"""

    def param(self, name: str) -> dict[str, Any] | None:
        """Returns the fields of the first structure of that name; None if there is none."""
        return next((fields for found, fields in self.params if found == name), None)

    @property
    def confidence(self) -> float | None:
        """The largest "confidence" of its structures, as roi-min-confidence reads it; None if none has one."""
        found = [fields['confidence'] for _, fields in self.params if isinstance(fields.get('confidence'), float)]
        return max(found, default=None)


def rois(buffer: Gst.Buffer, type: str | None = None) -> list[Roi]:
    """Returns the regions of interest of a buffer, in the order in which they were attached: all, or those of a type.
    The list is empty where there are none."""
    found = []
    for meta in _native.roi_metas(buffer):
        kind = _native.roi_type(meta)
        if type is None or kind == type:
            found.append(Roi(kind, Box(meta.x, meta.y, meta.width, meta.height), meta.id, meta.parent_id,
                             tuple(_native.roi_params(meta))))
    return found


def motion(buffer: Gst.Buffer) -> list[Roi]:
    """Returns where something moves in a frame: the regions of type "motion", which `cudamedian motion-meta=true`
    attaches. The list is empty where nothing moves (the frame then carries one of 0 x 0 pixels, which is left out), and
    where that is not known."""
    return [roi for roi in rois(buffer, 'motion') if roi.box.width]


def regions(buffer: Gst.Buffer) -> list[Region]:
    """Returns the regions that `cudasegment region-meta=true` has attached to a buffer. The list is empty where there
    are none; the regions of a label map are in label_map(buffer).regions."""
    found = []
    for roi in rois(buffer, 'region'):
        f = roi.param('cudasegment')
        more = (f['age'], f['area'], (f['centroid-x'], f['centroid-y']),
                (f['mean-y'], f['mean-cb'], f['mean-cr'])) if f else (None, None, None, None)
        found.append(Region(roi.id, roi.box, *more))
    return found


# ---- regions of an application's own -------------------------------------------------

def copy_buffer(buffer: Gst.Buffer) -> Gst.Buffer:
    """Returns a buffer of its own with everything that a buffer has: timestamps, flags, metas. It may be changed. The
    memory with the pixels is shared and is not copied. (In Python `buffer.copy()` is no copy but one more reference.)
    """
    _native.address_of_buffer(buffer)
    flags = Gst.BufferCopyFlags
    return buffer.copy_region(flags.FLAGS | flags.TIMESTAMPS | flags.META | flags.MEMORY, 0, buffer.get_size())


def _whole_box(x: float, y: float, width: float, height: float) -> tuple[int, int, int, int] | None:
    """Returns the smallest box of whole pixels around one; None if nothing of it lies right of and below 0, 0."""
    numbers = [float(n) for n in (x, y, width, height)]
    if not all(math.isfinite(n) and abs(n) < 2 ** 31 for n in numbers) or numbers[2] < 0 or numbers[3] < 0:
        raise ValueError(f'a region at {x}, {y} of {width} x {height} pixels: numbers of pixels are needed, and no '
                         'negative size')
    left, top = (max(math.floor(n), 0) for n in numbers[:2])
    right, below = (math.ceil(numbers[i] + numbers[i + 2]) for i in range(2))
    return (left, top, right - left, below - top) if right > left and below > top else None


def _frame_size(buffer: Gst.Buffer, given: tuple[int, int] | None) -> tuple[int, int] | None:
    meta = None if given else GstVideo.buffer_get_video_meta(buffer)
    return given or ((meta.width, meta.height) if meta else None)


def add_roi(target: Gst.Buffer | Gst.PadProbeInfo, x: float, y: float, width: float, height: float, type: str,
            confidence: float | None = None, label_id: int | None = None, *, id: int = 0, parent_id: int = 0,
            frame_size: tuple[int, int] | None = None) -> bool:
    """Attaches a region of interest, in the form in which DL Streamer attaches its detections.

    `target`: in a pad probe its info, so that the frame in the pipeline gets the region. Elsewhere a buffer that has no
    other owner: one of copy_buffer(), or a new one.
    `x, y, width, height`: pixels of the frame; fractions are rounded outward, and what lies left of 0 or above 0 is cut
    off. `type`: what was found, such as "face"; roi-type of the elements selects by it.
    `confidence`: 0 to 1. `label_id`: the number of the type in the detector's list of labels.
    `frame_size`: width and height, for the box in fractions of the frame, which DL Streamer's own elements read; not
    needed where the buffer says it (GstVideoMeta).

    Returns False if nothing of the region is left of which a frame could have something. ValueError: the numbers make
    no box, a confidence above 1, or a buffer with other owners.
    """
    box = _whole_box(x, y, width, height)
    if box is None:
        return False
    if confidence is not None and not 0 <= confidence <= 1:
        raise ValueError(f'confidence {confidence}: a number from 0 to 1 is needed')
    if isinstance(target, Gst.PadProbeInfo):
        if not target.type & Gst.PadProbeType.BUFFER:
            raise ValueError('this pad probe has no buffer: PadProbeType.BUFFER is needed')
        # In this order: while Python holds the buffer, it is not writable.
        size = _frame_size(target.get_buffer(), frame_size)
        address = _native.writable_buffer_of(target)
    else:
        if not _native.is_writable(target):
            raise ValueError('this buffer has other owners and must not be changed: give add_roi() the info of the pad '
                             'probe, or a buffer of copy_buffer()')
        address, size = _native.address_of_buffer(target), _frame_size(target, frame_size)
    detection = Gst.Structure.new_empty('detection')
    if label_id is not None:
        detection.set_value('label_id', int(label_id))
    if confidence is not None:
        detection.set_value('confidence', float(confidence))
    if size:
        for name, edge, whole in (('x_min', box[0], size[0]), ('x_max', box[0] + box[2], size[0]),
                                  ('y_min', box[1], size[1]), ('y_max', box[1] + box[3], size[1])):
            detection.set_value(name, min(edge / whole, 1.0))
    _native.add_roi(address, type, box, (id, parent_id), [detection])
    return True
