# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Runs a test by a Python that has what it needs. PyGObject belongs to the system's Python, which is not always the
first in the path, and OpenCV may be in an environment that tests/run.sh has made (CF_GI_PYTHON)."""
import os
import subprocess
import sys

CHECK = "import gi, numpy; gi.require_version('GstVideo', '1.0'); from gi.repository import GstVideo"
CV2 = "; import cv2; cv2.HOGDescriptor"


def can(python, modules):
    try:
        return subprocess.run([python, '-c', modules], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def use(extra=''):
    """Returns if this Python has GStreamer and NumPy, or continues in one that has. Ends with status 77 where there is
    none. `extra`: a statement that the Python must execute besides."""
    if os.environ.get('CF_PYTHON_FOUND') == sys.executable:
        return
    candidates = [os.environ.get('CF_GI_PYTHON') or sys.executable, sys.executable, '/usr/bin/python3']
    for wanted in (CHECK + extra + CV2, CHECK + extra):
        for python in candidates:
            if can(python, wanted):
                os.environ['CF_PYTHON_FOUND'] = python
                os.execv(python, [python, *sys.argv])
    print('no Python here has PyGObject, GStreamer and NumPy (Debian: python3-gi, python3-gst-1.0, '
          'gir1.2-gst-plugins-base-1.0, python3-numpy)\n0 passed, 0 failed, 1 skipped')
    sys.exit(77)
