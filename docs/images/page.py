#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Makes docs/images/page.png: cf-watch's page in Chromium, with a polygon that is being drawn.

usage: CF_BUILD=build GST_PLUGIN_PATH=build/gst docs/images/page.py [OUT.png]

The video is OpenCV's vtest.avi (Debian: opencv-doc). Needs chromium, chromium-driver and ffmpeg.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'tests', 'watch'))
from page import Page, middle  # noqa: E402 (first: where it is)
from webdriver import Browser  # noqa: E402

VIDEO = '/usr/share/doc/opencv-doc/examples/data/vtest.avi'
LINE = 'cudadenoise ! cudaconvolve preset=mosaic roi=0.02,0.18,0.17,0.3'

with tempfile.TemporaryDirectory() as folder:
    cameras = {'street': {'source': VIDEO, 'loop': True, 'filter': LINE}}
    with Page(cameras, folder) as page, Browser(folder, 1100, 760) as web:
        page.wait('started', 'street', after=page.ready)
        web.go(page.link + '#street')
        web.until('the picture', lambda: middle(web, '#picture') >= 0 and web.run('return controls.size'))
        left, top, width, height = web.run('const box = document.getElementById("draw").getBoundingClientRect();'
                                           'return [box.left, box.top, box.width, box.height]')
        web.run('const t = document.getElementById("target"); t.value = "1/mask-polygons"; t.onchange()')
        for x, y in ((0.72, 0.2), (0.9, 0.24), (0.93, 0.62), (0.68, 0.55)):
            web.drag((left + x * width, top + y * height))
        shot = os.path.join(folder, 'shot.png')
        web.shot(shot)
    # 256 colours: a third of the bytes.
    subprocess.run(['ffmpeg', '-v', 'error', '-y', '-i', shot, '-vf',
                    'split [a] [b]; [a] palettegen [p]; [b] [p] paletteuse=dither=none',
                    sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, 'page.png')], check=True)
