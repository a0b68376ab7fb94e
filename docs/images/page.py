#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Makes the pictures of cf-watch's page in Chromium: docs/images/page.webp, with a polygon that is being drawn,
try.webp, cf-watch --try with a frame before and after the filter, and phone.webp, the same on a phone.

usage: CF_BUILD=build GST_PLUGIN_PATH=build/gst docs/images/page.py [FOLDER]

The video is OpenCV's vtest.avi (Debian: opencv-doc). Needs chromium, chromium-driver and ffmpeg.
"""
import importlib
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
TO = sys.argv[1] if len(sys.argv) > 1 else HERE


def save(web, folder, name):
    shot = os.path.join(folder, 'shot.png')
    web.shot(shot)
    subprocess.run(['ffmpeg', '-v', 'error', '-y', '-i', shot, '-quality', '75', os.path.join(TO, name + '.webp')],
                   check=True)


def has_frames(web):
    state = web.run('return document.getElementById("state").textContent')
    return state.startswith('up') and ' 0 frames' not in state


def draw(folder):
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
        web.until('frames', lambda: has_frames(web))
        save(web, folder, 'page')


def compare(folder):
    trial = importlib.import_module('try').Trial
    with trial(folder, VIDEO, 'cudasegment', 'output=boundaries', 'boundary-color=0xffffff00') as one, \
            Browser(folder, 1100, 800) as web:
        one.until('a picture', lambda camera: camera['state'] == 'up')
        web.go(one.link)
        web.until('the controls', lambda: web.run('return controls.size'))
        web.run('document.getElementById("compare").click()')
        web.until('both', lambda: middle(web, '#after') >= 0 and not web.run(
            'return document.getElementById("pair").classList.contains("away")'))
        web.until('frames', lambda: has_frames(web))
        save(web, folder, 'try')
        web.phone()
        save(web, folder, 'phone')


for make in draw, compare:
    with tempfile.TemporaryDirectory() as inside:
        make(inside)
