# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""What PyGObject cannot do with buffers, by the C functions of GStreamer.

Three things: PyGObject holds a reference to every buffer that it hands out, so that a buffer is never writable in a pad
probe; it reads the parameters of a region by their names only, of which there may be any; and it copies blocks of
memory where an array can look at them. The structs below are those of GStreamer's public headers, which stay as they
are in all of 1.x. Buffers and other objects reach the C functions by their addresses, see address_of().
"""
from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint32, c_ulong, c_void_p
from typing import Any, Iterator

from gi.repository import GObject, Gst

PADDING = 4  # GST_PADDING


class MapInfo(ctypes.Structure):
    """GstMapInfo."""
    _fields_ = [('memory', c_void_p), ('flags', c_int), ('data', c_void_p), ('size', c_size_t), ('maxsize', c_size_t),
                ('user_data', c_void_p * 4), ('reserved', c_void_p * PADDING)]


class PadProbeInfo(ctypes.Structure):
    """The first fields of GstPadProbeInfo."""
    _fields_ = [('type', c_int), ('id', c_ulong), ('data', c_void_p)]


class List(ctypes.Structure):
    """GList."""


List._fields_ = [('data', c_void_p), ('next', POINTER(List)), ('prev', POINTER(List))]


class RoiMeta(ctypes.Structure):
    """GstVideoRegionOfInterestMeta; `flags` and `info` are its GstMeta."""
    _fields_ = [('flags', c_int), ('info', c_void_p), ('roi_type', c_uint32), ('id', c_int), ('parent_id', c_int),
                ('x', c_uint), ('y', c_uint), ('width', c_uint), ('height', c_uint), ('params', POINTER(List))]


def _declare(library: str, **functions: tuple[Any, ...]) -> list[Any]:
    """Returns functions of a library that is loaded already; each is (type of the result, types of the arguments...)"""
    loaded = ctypes.CDLL(library)
    found = []
    for name, (result, *arguments) in functions.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
        found.append(function)
    return found


(_is_writable, _make_writable, _map, _unmap, _iterate, _copy_structure, _structure_name, _n_fields, _field_name,
 _field_value) = _declare(
    'libgstreamer-1.0.so.0',
    gst_mini_object_is_writable=(c_int, c_void_p),
    gst_mini_object_make_writable=(c_void_p, c_void_p),
    gst_buffer_map=(c_int, c_void_p, POINTER(MapInfo), c_int),
    gst_buffer_unmap=(None, c_void_p, POINTER(MapInfo)),
    gst_buffer_iterate_meta_filtered=(c_void_p, c_void_p, POINTER(c_void_p), c_size_t),
    gst_structure_copy=(c_void_p, c_void_p),
    gst_structure_get_name=(c_char_p, c_void_p),
    gst_structure_n_fields=(c_int, c_void_p),
    gst_structure_nth_field_name=(c_char_p, c_void_p, c_uint),
    gst_structure_get_value=(c_void_p, c_void_p, c_char_p))
(_roi_api, _add_roi, _add_param) = _declare(
    'libgstvideo-1.0.so.0',
    gst_video_region_of_interest_meta_api_get_type=(c_size_t,),
    gst_buffer_add_video_region_of_interest_meta=(POINTER(RoiMeta), c_void_p, c_char_p, c_uint, c_uint, c_uint, c_uint),
    gst_video_region_of_interest_meta_add_param=(None, POINTER(RoiMeta), c_void_p))
(_set_boxed, _type_from_name, *_getters) = _declare(
    'libgobject-2.0.so.0',
    g_value_set_boxed=(None, c_void_p, c_void_p),
    g_type_from_name=(c_size_t, c_char_p),
    g_value_get_int=(c_int, c_void_p),
    g_value_get_uint=(c_uint, c_void_p),
    g_value_get_double=(c_double, c_void_p),
    g_value_get_string=(c_char_p, c_void_p))
# Most parameters are of these types, and a frame may have hundreds; others go the long way by PyGObject.
_readers = dict(zip((_type_from_name(name) for name in (b'gint', b'guint', b'gdouble', b'gchararray')), _getters))
(_bytes_data, _quark_name) = _declare(
    'libglib-2.0.so.0',
    g_bytes_get_data=(c_void_p, c_void_p, POINTER(c_size_t)),
    g_quark_to_string=(c_char_p, c_uint32))


def address_of(boxed: Any) -> int:
    """Returns the address of the C object in a Python object of PyGObject: of a buffer, for instance.

    PyGObject says it in two places, as the object's hash and as the first field after Python's own. If they do not
    agree, this PyGObject is another one than this module knows, which is a RuntimeError.
    """
    address = hash(boxed) & (2 ** (8 * ctypes.sizeof(c_void_p)) - 1)
    if not address or c_void_p.from_address(id(boxed) + object.__basicsize__).value != address:
        raise RuntimeError(f'cudafilters cannot find the C object of {boxed!r}: '
                           'it works on CPython, and was tried with PyGObject 3.42 and 3.50')
    return address


# ---- buffers -----------------------------------------------------------------------

def address_of_buffer(buffer: Gst.Buffer) -> int:
    """Returns the address of a buffer; TypeError where it is something else, which C would take for a buffer."""
    if not isinstance(buffer, Gst.Buffer):
        hint = ': sample.get_buffer()' if isinstance(buffer, Gst.Sample) else ''
        raise TypeError(f'a Gst.Buffer is needed, not {type(buffer).__name__}{hint}')
    return address_of(buffer)


def is_writable(buffer: Gst.Buffer) -> bool:
    return bool(_is_writable(address_of_buffer(buffer)))


def writable_buffer_of(info: Gst.PadProbeInfo) -> int:
    """Makes the buffer of a pad probe writable, as a probe in C does, and returns its address, which is valid until the
    probe returns. The probe must have a buffer."""
    probe = PadProbeInfo.from_address(address_of(info))
    probe.data = _make_writable(probe.data)
    return probe.data


def map_for_reading(buffer: Gst.Buffer) -> MapInfo | None:
    """Returns None if the memory cannot be read."""
    mapped = MapInfo()
    return mapped if _map(address_of_buffer(buffer), mapped, int(Gst.MapFlags.READ)) else None


def unmap(buffer: Gst.Buffer, mapped: MapInfo) -> None:
    _unmap(address_of(buffer), mapped)


def data_of(block: Any) -> tuple[int, int]:
    """Returns the address and the size of the data of a GLib.Bytes, which are valid as long as that is."""
    size = c_size_t()
    return _bytes_data(address_of(block), size) or 0, size.value


# ---- regions of interest -----------------------------------------------------------

def roi_metas(buffer: Gst.Buffer) -> Iterator[RoiMeta]:
    """Yields the metas of a buffer. They belong to the buffer."""
    address, state = address_of_buffer(buffer), c_void_p()
    while True:
        meta = _iterate(address, state, _roi_api())
        if not meta:
            return
        yield RoiMeta.from_address(meta)


def roi_type(meta: RoiMeta) -> str:
    name = _quark_name(meta.roi_type)
    return name.decode(errors='replace') if name else ''


def _as_structure(address: int) -> Gst.Structure:
    """Returns a copy."""
    value = GObject.Value(Gst.Structure.__gtype__)
    _set_boxed(address_of(value), address)
    return value.get_boxed()


def _field(structure: int, name: bytes) -> Any:
    """Returns None for a field of a type that Python has no value for."""
    value = _field_value(structure, name)
    read = _readers.get(c_size_t.from_address(value).value)  # the type is the first field of a GValue
    if read is not None:
        found = read(value)
        return found.decode(errors='replace') if isinstance(found, bytes) else found
    try:
        return _as_structure(structure).get_value(name.decode())
    except (TypeError, NotImplementedError):
        return None


def roi_params(meta: RoiMeta) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields name and fields of each structure that is attached to a meta."""
    at = meta.params
    while at:
        structure = at.contents.data
        names = [_field_name(structure, i) for i in range(_n_fields(structure))]
        yield _structure_name(structure).decode(), {name.decode(): _field(structure, name) for name in names}
        at = at.contents.next


def add_roi(buffer: int, kind: str, box: tuple[int, int, int, int], ids: tuple[int, int],
            params: list[Gst.Structure]) -> None:
    """Adds a meta to a buffer at that address, which must be writable."""
    meta = _add_roi(buffer, kind.encode(), *box)
    meta.contents.id, meta.contents.parent_id = ids
    for structure in params:
        _add_param(meta, _copy_structure(address_of(structure)))
