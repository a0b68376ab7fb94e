# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""usage: python -m cudafilters demo [INPUT] ...     the filters at work: in a window, or in a file and a PNG
       python -m cudafilters regions INPUT ...   the regions of a video
       python -m cudafilters path                the plugin's folder, for GST_PLUGIN_PATH

--help behind one of the first two lists its options."""
import os
import sys

from . import _plugin


def main() -> int:
    place = _plugin.folder()
    word = sys.argv[1] if len(sys.argv) > 1 else ''
    if word in ('--help', '-h'):
        print(__doc__)
        return 0
    if word not in ('demo', 'regions', 'path') or word == 'path' and len(sys.argv) > 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        if place is None:
            raise ImportError('this module came without the plugin; the wheel gst-cuda-filters has it: pip install '
                              'gst-cuda-filters')
        _plugin.use()
    except ImportError as error:
        print(f'cudafilters: {error}', file=sys.stderr)
        return 1
    if word == 'path':
        print(place)
        return 0
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'bin', 'cf-' + word)
    os.execv(program, [program, *sys.argv[2:]])


if __name__ == '__main__':
    sys.exit(main())
