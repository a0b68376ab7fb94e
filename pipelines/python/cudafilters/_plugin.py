# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""The plugin that pip has installed with the module, and whether it can run here.

GStreamer itself comes from the system. In a process there is one library of a name, so that the plugin uses the
GStreamer that the process has loaded, wherever that lies.
"""
from __future__ import annotations

import ctypes
import importlib.util
import os
import sys

NAME = 'libgstcudafilters.so'
OLDEST = (1, 22)
ADVICE = ('Debian and Ubuntu: sudo apt-get install gstreamer1.0-plugins-base gstreamer1.0-plugins-good '
          'gstreamer1.0-libav libjson-glib-1.0-0 python3-gi python3-numpy gir1.2-gst-plugins-base-1.0\n'
          "An environment sees the system's PyGObject if it was made by: python3 -m venv --system-site-packages FOLDER")
PACKAGES = {'libjson-glib-1.0': 'libjson-glib-1.0-0', 'libgdk_pixbuf-2.0': 'libgdk-pixbuf-2.0-0',
            'libgstvideo-1.0': 'libgstreamer-plugins-base1.0-0', 'libgstcuda-1.0': 'libgstreamer-plugins-bad1.0-0'}


def folder() -> str | None:
    """Returns the folder with the plugin: that with CUDA kernels where the package of these is installed. None where
    the module came without a plugin."""
    for package in ('cudafilters_cuda', 'cudafilters'):
        spec = importlib.util.find_spec(package)
        for place in spec.submodule_search_locations or [] if spec else []:
            if os.path.exists(os.path.join(place, 'gst', NAME)):
                return os.path.join(place, 'gst')
    return None


def _machine(path: str) -> bytes:
    """Returns the kind of processor that a program or library is for, and its bits, as in the head of ELF files."""
    with open(path, 'rb') as file:
        head = file.read(20)
    return head[4:5] + head[18:20]


def check(place: str) -> None:
    """Loads GStreamer and the plugin. ImportError: why that is not possible, and what would help."""
    plugin = os.path.join(place, NAME)
    if _machine(plugin) != _machine(sys.executable):
        raise ImportError(f'{plugin} is for another kind of processor than this Python, which is for '
                          f'{os.uname().machine}: pip install gst-cuda-filters with this Python')
    try:
        version = (ctypes.c_uint * 4)()
        ctypes.CDLL('libgstreamer-1.0.so.0').gst_version(*(ctypes.byref(version, 4 * i) for i in range(4)))
    except OSError as error:
        raise ImportError(f'GStreamer is not found ({error}).\n{ADVICE}') from error
    if tuple(version[:2]) < OLDEST:
        raise ImportError(f'GStreamer here is {version[0]}.{version[1]}.{version[2]}; 1.22 or newer is needed, '
                          'which Debian 12, Ubuntu 24.04, Fedora 38 and their successors have')
    try:
        ctypes.CDLL(plugin)
    except OSError as error:
        package = next((PACKAGES[name] for name in PACKAGES if name in str(error)), None)
        raise ImportError(f'the plugin cannot be loaded: {error}' + (
            f'.\nDebian and Ubuntu: sudo apt-get install {package}' if package else '')) from error


def use(gst=None) -> None:
    """Makes GStreamer find the plugin, also in programs that this process starts. Where there is none, nothing
    changes; a plugin in a folder that the environment names already is preferred. `gst`: gi.repository.Gst, which may
    be initialized already."""
    place = folder()
    if place is None:
        return
    check(place)
    name = 'GST_PLUGIN_PATH_1_0' if os.environ.get('GST_PLUGIN_PATH_1_0') else 'GST_PLUGIN_PATH'
    known = [entry for entry in os.environ.get(name, '').split(os.pathsep) if entry]
    if place not in known:
        os.environ[name] = os.pathsep.join([*known, place])
    if gst and gst.is_initialized():
        gst.Registry.get().scan_path(place)
