# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Reads elements and runs pipelines through the C interface of GStreamer, by ctypes.

Only the public ABI is used: functions, and the layouts of GParamSpec, GEnumClass and GFlagsClass, which GLib keeps
within a major version. So no Python package is needed, and the text of gst-inspect-1.0, which differs from version to
version, is not parsed.
"""
import collections
import ctypes as c
import os
import re

P, CH = c.c_void_p, c.c_char_p
READABLE, WRITABLE, CONTROLLABLE, READY, PLAYING = 1, 2, 1 << 9, 1 << 10, 1 << 12

# kind: int, double, bool, enum, flags, string, color or other. values: (nick, blurb) of enum and flags.
# changes: 'live', 'ready' (only in NULL or READY) or 'never' (read-only).
Property = collections.namedtuple('Property', 'name owner kind low high default values unit blurb changes controllable')
# stats: the names of the fields of that property.
Element = collections.namedtuple('Element', 'name properties formats stats')


def structure(**fields):
    return type('Structure', (c.Structure,), {'_fields_': list(fields.items())})


Spec = structure(instance=P, name=CH, flags=c.c_uint, value_type=c.c_size_t, owner_type=c.c_size_t, nick=CH,
                 blurb=CH, qdata=P, ref_count=c.c_uint, param_id=c.c_uint)
Int = structure(spec=Spec, low=c.c_int, high=c.c_int, default=c.c_int)
UInt = structure(spec=Spec, low=c.c_uint, high=c.c_uint, default=c.c_uint)
Double = structure(spec=Spec, low=c.c_double, high=c.c_double, default=c.c_double)
Boolean = structure(spec=Spec, default=c.c_int)
Value = structure(value=c.c_int, name=CH, nick=CH)
EnumClass = structure(type=c.c_size_t, low=c.c_int, high=c.c_int, n=c.c_uint, values=c.POINTER(Value))
FlagsClass = structure(type=c.c_size_t, mask=c.c_uint, n=c.c_uint, values=c.POINTER(Value))
Enum = structure(spec=Spec, rows=c.POINTER(EnumClass), default=c.c_int)
Flags = structure(spec=Spec, rows=c.POINTER(FlagsClass), default=c.c_uint)
Error = structure(domain=c.c_uint32, code=c.c_int, message=CH)

SIGNATURES = {
    'gst_init': (None, P, P),
    'gst_element_factory_find': (P, CH),
    'gst_element_factory_make': (P, CH, CH),
    'gst_element_get_static_pad': (P, P, CH),
    'gst_pad_get_pad_template_caps': (P, P),
    'gst_caps_to_string': (P, P),
    'gst_parse_launchv': (P, c.POINTER(CH), c.POINTER(c.POINTER(Error))),
    'gst_element_set_state': (c.c_int, P, c.c_int),
    'gst_element_get_bus': (P, P),
    'gst_bus_timed_pop_filtered': (P, P, c.c_uint64, c.c_uint),
    'gst_message_get_structure': (P, P),
    'gst_structure_get_name': (CH, P),
    'gst_structure_to_string': (P, P),
    'gst_structure_free': (None, P),
    'gst_message_parse_error': (None, P, c.POINTER(c.POINTER(Error)), c.POINTER(P)),
    'gst_message_parse_warning': (None, P, c.POINTER(c.POINTER(Error)), c.POINTER(P)),
    'gst_mini_object_unref': (None, P),
    'gst_object_unref': (None, P),
    'gst_bin_get_by_name': (P, P, CH),
    'g_free': (None, P),
    'g_error_free': (None, P),
    'g_type_name': (CH, c.c_size_t),
    'g_type_fundamental': (c.c_size_t, c.c_size_t),
    'g_object_class_list_properties': (P, P, c.POINTER(c.c_uint)),
    'g_object_get': (None, P, CH, c.POINTER(P), P),
}


class Gst:
    """GStreamer in this process. Raises OSError where its library is missing."""

    def __init__(self):
        self.gst = c.CDLL('libgstreamer-1.0.so.0')  # finds symbols of the libraries that it is linked with, too
        for function, (result, *arguments) in SIGNATURES.items():
            getattr(self.gst, function).restype = result
            getattr(self.gst, function).argtypes = arguments
        os.environ.setdefault('GST_DEBUG', '0')
        self.gst.gst_init(None, None)

    def has(self, factory):
        found = self.gst.gst_element_factory_find(factory.encode())
        if found:
            self.gst.gst_object_unref(found)
        return bool(found)

    def property_of(self, pointer):
        def at(kind):
            return c.cast(pointer, c.POINTER(kind)).contents
        spec = at(Spec)
        fundamental = self.gst.g_type_name(self.gst.g_type_fundamental(spec.value_type)).decode()
        low = high = default = None
        values, kind = (), 'other'
        if fundamental in ('gint', 'guint', 'gdouble'):
            number = at({'gint': Int, 'guint': UInt, 'gdouble': Double}[fundamental])
            kind, low, high, default = fundamental[1:], number.low, number.high, number.default
            if kind == 'uint':
                kind = 'color' if high == 0xffffffff else 'int'
        elif fundamental == 'gboolean':
            kind, default = 'bool', bool(at(Boolean).default)
        elif fundamental == 'gchararray':
            kind = 'string'
        elif fundamental in ('GEnum', 'GFlags'):
            typed = at(Enum if fundamental == 'GEnum' else Flags)
            rows = [typed.rows.contents.values[i] for i in range(typed.rows.contents.n)]
            values = tuple((row.nick.decode(), row.name.decode()) for row in rows)
            kind = fundamental[1:].lower()
            default = '+'.join(row.nick.decode() for row in rows if
                               (row.value & typed.default if kind == 'flags' else row.value == typed.default))
        blurb, unit = re.fullmatch(r'(.*?)(?: \[([^]]*)\])?', (spec.blurb or b'').decode(), re.S).groups()
        changes = 'never' if not spec.flags & WRITABLE else 'ready' if spec.flags & READY else 'live'
        return Property(spec.name.decode(), self.gst.g_type_name(spec.owner_type).decode(), kind, low, high, default,
                        values, unit or '', blurb, changes, bool(spec.flags & CONTROLLABLE))

    def formats(self, element):
        pad = self.gst.gst_element_get_static_pad(element, b'sink')
        caps = self.gst.gst_pad_get_pad_template_caps(pad)
        text = self.gst.gst_caps_to_string(caps)
        found = re.search(r'(?:^|; )video/x-raw,[^;]*format=\(string\)\{([^}]*)\}', c.string_at(text).decode())
        self.gst.g_free(text)
        self.gst.gst_mini_object_unref(caps)
        self.gst.gst_object_unref(pad)
        return [word.strip() for word in found.group(1).split(',')] if found else []

    def stats(self, element):
        structure = P()
        self.gst.g_object_get(element, b'stats', c.byref(structure), None)
        text = self.gst.gst_structure_to_string(structure)
        names = re.findall(r', ([a-z0-9-]+)=', c.string_at(text).decode())
        self.gst.g_free(text)
        self.gst.gst_structure_free(structure)
        return names

    def element(self, name):
        """Returns the Element of that name, with the properties of its own and of GstCfFilter, in their order; None:
        there is none."""
        element = self.gst.gst_element_factory_make(name.encode(), None)
        if not element:
            return None
        number = c.c_uint()
        klass = c.cast(element, c.POINTER(P)).contents.value
        specs = self.gst.g_object_class_list_properties(klass, c.byref(number))
        pointers = c.cast(specs, c.POINTER(P))
        properties = [self.property_of(pointers[i]) for i in range(number.value)]
        self.gst.g_free(specs)
        formats, stats = self.formats(element), self.stats(element)
        self.gst.gst_object_unref(element)
        own = [p for p in properties if p.owner not in ('GstObject', 'GstBaseTransform')]
        return Element(name, own, formats, stats)

    def take(self, error):
        """Returns (code, text) of a GError and frees it; None where it is NULL."""
        if not error:
            return None
        result = error.contents.code, error.contents.message.decode()
        self.gst.g_error_free(error)
        return result

    def parse(self, words):
        """Returns a pipeline or None, and (code, text) of an error or None."""
        error = c.POINTER(Error)()
        words = [word.encode() for word in words]
        pipeline = self.gst.gst_parse_launchv((CH * (len(words) + 1))(*words, None), c.byref(error))
        return pipeline, self.take(error)

    def free(self, pipeline):
        if pipeline:
            self.gst.gst_element_set_state(pipeline, 1)
            self.gst.gst_object_unref(pipeline)

    def play(self, pipeline, seconds):
        """Plays to the end of the stream. Returns None or what went wrong: an error, a warning, or no end."""
        bus = self.gst.gst_element_get_bus(pipeline)
        self.gst.gst_element_set_state(pipeline, 4)
        # EOS, ERROR, WARNING
        message = self.gst.gst_bus_timed_pop_filtered(bus, int(seconds * 1e9), 1 | 2 | 4)
        self.gst.gst_object_unref(bus)
        if not message:
            return f'no end after {seconds} s'
        structure = self.gst.gst_message_get_structure(message)
        name = self.gst.gst_structure_get_name(structure).decode() if structure else ''
        error = None
        if name in ('GstMessageError', 'GstMessageWarning'):
            parse = self.gst.gst_message_parse_error if 'Error' in name else self.gst.gst_message_parse_warning
            found, debug = c.POINTER(Error)(), P()
            parse(message, c.byref(found), c.byref(debug))
            error = self.take(found)[1]
            if debug:
                error += f' ({c.string_at(debug).decode().splitlines()[-1]})'
                self.gst.g_free(debug)
        self.gst.gst_mini_object_unref(message)
        return error

    def got_frame(self, pipeline, sink):
        """Returns whether a frame has arrived in the sink, which has enable-last-sample=true."""
        element, sample = self.gst.gst_bin_get_by_name(pipeline, sink.encode()), P()
        if not element:
            return False
        self.gst.g_object_get(element, b'last-sample', c.byref(sample), None)
        self.gst.gst_object_unref(element)
        if sample:
            self.gst.gst_mini_object_unref(sample)
        return bool(sample)
