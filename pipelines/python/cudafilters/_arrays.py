# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""NumPy arrays over memory of GStreamer. An array, and each array that is made of it by slicing, keeps alive what it
looks at; all of them are read-only."""
from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import gi
gi.require_version('Gst', '1.0')
gi.require_version('GstVideo', '1.0')
import numpy as np  # noqa: E402
from gi.repository import GLib, Gst, GstVideo  # noqa: E402

from . import _native  # noqa: E402

# GstCudaSegmentRegion of the installed header gst/cudafilters/gstcudasegmentmeta.h: 72 bytes.
REGION = np.dtype([('id', 'u4'), ('age', 'u4'), ('area', 'u4'), ('x', 'u4'), ('y', 'u4'), ('width', 'u4'),
                   ('height', 'u4'), ('reserved', 'u4'), ('centroid', 'f8', 2), ('mean', 'f8', 3)])
META_NAME = 'GstCudaSegmentMeta'
# The formats that the plugin filters and of which each sample is a byte or a 16-bit number.
FORMATS = frozenset(
    'GRAY8 GRAY16_LE NV12 NV21 I420 YV12 NV16 Y42B Y444 YUY2 UYVY AYUV RGB BGR RGBA BGRA ARGB ABGR RGBx BGRx xRGB xBGR '
    'GBR P010_10LE P016_LE I420_10LE I422_10LE Y444_10LE Y444_16LE P012_LE I420_12LE I422_12LE Y444_12LE '
    'NV24 VUYA A420 RGBP BGRP GBR_10LE'.split())


class LabelMap(NamedTuple):
    """Which region each pixel of a frame belongs to. Both arrays are read-only, and look at memory that they keep
    alive, also after the buffer and the pipeline are gone."""
    labels: np.ndarray
    """uint16, one for each pixel, shape (height, width): an index into `regions`"""
    regions: np.ndarray
    """One record for each region, with the fields id, age, area, x, y, width, height, centroid (x, y) and mean (Y, Cb,
    Cr). A record of area 0 is a region that has no pixels left; its other fields mean nothing."""


class _Memory:
    """Bytes of GStreamer for NumPy; `owner` is what must stay alive as long as an array looks at them."""

    def __init__(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], sample: str, owner: Any):
        self.owner = owner
        self.__array_interface__ = {'version': 3, 'data': (address, True), 'shape': shape, 'strides': strides,
                                    'typestr': sample}


class _Mapped:
    """A buffer that is mapped for reading as long as this object lives."""

    def __init__(self, buffer: Gst.Buffer):
        mapped = _native.map_for_reading(buffer)
        if mapped is None:
            raise ValueError('the memory of this buffer cannot be read')
        self.data, self.size = mapped.data, mapped.size
        # At the end of the process the memory is gone anyway, and GStreamer may be, too.
        weakref.finalize(self, _native.unmap, buffer, mapped).atexit = False


# ---- label maps --------------------------------------------------------------------

def label_map(buffer: Gst.Buffer) -> LabelMap | None:
    """Returns the label map that `cudasegment label-meta=true` has attached to a buffer, without a copy.

    None: the buffer has none. A buffer that was scaled or cropped has lost it. ValueError: there is a map that is not
    as the installed header gstcudasegmentmeta.h says.
    """
    _native.address_of_buffer(buffer)
    meta = buffer.get_custom_meta(META_NAME)
    if meta is None:
        return None
    structure = meta.get_structure()
    width, height, pitch = (structure.get_uint(name)[1] for name in ('width', 'height', 'pitch'))
    labels, regions = (structure.get_value(name) if structure.has_field(name) else None
                       for name in ('labels', 'regions'))
    if not isinstance(labels, GLib.Bytes) or not isinstance(regions, GLib.Bytes):
        raise ValueError(f'{META_NAME} has no labels or no regions: {structure.to_string()[:200]}')
    pixels, n_pixel_bytes = _native.data_of(labels)
    records, n_record_bytes = _native.data_of(regions)
    if not width or not height or pitch < 2 * width or n_pixel_bytes < pitch * height or \
            n_record_bytes % REGION.itemsize:
        raise ValueError(f'{META_NAME} of {width} x {height} pixels, {pitch} bytes a row: {n_pixel_bytes} bytes of '
                         f'labels and {n_record_bytes} of regions ({REGION.itemsize} each) do not fit; '
                         'plugin and Python module are of different versions')
    count = n_record_bytes // REGION.itemsize
    array = np.asarray(_Memory(records, (n_record_bytes,), (1,), '|u1', regions)) if count else np.empty(0, 'u1')
    return LabelMap(np.asarray(_Memory(pixels, (height, width), (pitch, 2), '<u2', labels)).view(np.uint16),
                    array.view(REGION))


# ---- video frames ------------------------------------------------------------------

def _layout(info: GstVideo.VideoInfo, buffer: Gst.Buffer) -> tuple[list[int], list[int]]:
    """Returns bytes from row to row, and from the begin of the buffer, of each plane."""
    meta = GstVideo.buffer_get_video_meta(buffer)
    if meta is None:
        return list(info.stride), list(info.offset)
    if (meta.width, meta.height) != (info.width, info.height):
        raise ValueError(f'the buffer has {meta.width} x {meta.height} pixels, its caps say '
                         f'{info.width} x {info.height}')
    return list(meta.stride), list(meta.offset)


def _plane_shape(info: GstVideo.VideoInfo, plane: int) -> tuple[int, int, int, int]:
    """Returns rows, columns, samples in a column, and bytes in a sample of a plane."""
    form = info.finfo
    components = [c for c in range(form.n_components) if form.plane[c] == plane]
    size = 1 if form.bits <= 8 else 2
    step = min(form.pixel_stride[c] for c in components)
    rows = -(-info.height // (1 << min(form.h_sub[c] for c in components)))
    columns = -(-info.width // (1 << min(form.w_sub[c] for c in components)))
    return rows, columns, step // size, size


def planes(source: Gst.Sample | Gst.Buffer, caps: Gst.Caps | None = None) -> tuple[np.ndarray, ...]:
    """Returns the planes of a raw video frame, without a copy where it is in one block of memory.

    `source`: a sample, or a buffer with its caps (in a pad probe: `pad.get_current_caps()`). An array has the shape
    (height, width), or (height, width, samples) where pixels have several: 3 for BGR, 4 for BGRx, 2 for the second
    plane of NV12. Its type is uint8, or uint16 for deeper formats. The arrays are read-only: copy() gives one to draw
    into. The frame stays mapped, and its buffer out of its pool, as long as one of the arrays lives.

    ValueError: no raw video, a format without a form as arrays, or memory that cannot be read.
    """
    buffer = source.get_buffer() if isinstance(source, Gst.Sample) else source
    if caps is None and isinstance(source, Gst.Sample):
        caps = source.get_caps()
    if buffer is None or caps is None:
        raise ValueError('a frame needs a sample, or a buffer and its caps')
    try:
        info = GstVideo.VideoInfo.new_from_caps(caps) if caps.is_fixed() else None
    except TypeError:  # PyGObject, where the function returns NULL
        info = None
    if info is None or not info.width or info.finfo.format == GstVideo.VideoFormat.ENCODED:
        raise ValueError(f'not a raw video frame: {caps.to_string()}')
    if info.finfo.name not in FORMATS:
        raise ValueError(f'{info.finfo.name} has no form as arrays: put videoconvert and caps such as '
                         'video/x-raw,format=BGR before the sink')
    shapes = [_plane_shape(info, plane) for plane in range(info.finfo.n_planes)]
    strides, offsets = _layout(info, buffer)
    mapped = _Mapped(buffer)
    arrays = []
    for (rows, columns, samples, size), stride, offset in zip(shapes, strides, offsets):
        if offset + stride * (rows - 1) + columns * samples * size > mapped.size:
            raise ValueError(f'the buffer has {mapped.size} bytes, too few for {info.finfo.name} '
                             f'{info.width} x {info.height}')
        shape, steps = (rows, columns, samples), (stride, samples * size, size)
        n = 2 if samples == 1 else 3
        memory = _Memory(mapped.data + offset, shape[:n], steps[:n], '|u1' if size == 1 else '<u2', mapped)
        arrays.append(np.asarray(memory))
    return tuple(arrays)


def frame(source: Gst.Sample | Gst.Buffer, caps: Gst.Caps | None = None) -> np.ndarray:
    """Returns a raw video frame of one plane, such as BGR, BGRx, RGBA or GRAY8: see planes(). ValueError also where it
    has several planes."""
    found = planes(source, caps)
    if len(found) != 1:
        raise ValueError(f'a frame of {len(found)} planes: planes() returns them; for one array put videoconvert and '
                         'caps such as video/x-raw,format=BGR before the sink')
    return found[0]
