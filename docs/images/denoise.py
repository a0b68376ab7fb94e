#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Makes docs/images/denoise.png: a part of a video with the noise of a camera at night, after a median of five frames,
after cudadenoise, and without noise. Prints how near each is to the video without noise, over all samples and over
those that move.

usage: GST_PLUGIN_PATH=build/gst docs/images/denoise.py VIDEO [OUT.png]

VIDEO of the image in the repository: OpenCV's sample vtest.avi. Needs numpy and gst-launch-1.0 with pngenc.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

WIDTH, HEIGHT, FIRST, FRAMES = 768, 576, 60, 40
LEFT, TOP, PART_W, PART_H = 330, 60, 300, 220
GAP = 4
CAPS = f'video/x-raw,format=RGB,width={WIDTH},height={HEIGHT}'
LINES = ['cudamedian kernel-size=1 temporal-depth=5 temporal-center=true', 'cudadenoise']


def launch(line):
    subprocess.run(['gst-launch-1.0', '-q', *line.split()], check=True)


def read(path):
    frames = np.fromfile(path, np.uint8)
    return frames.reshape(-1, HEIGHT, WIDTH, 3)


def filtered(line, frames, folder):
    given, out = os.path.join(folder, 'in.raw'), os.path.join(folder, 'out.raw')
    frames.tofile(given)
    launch(f'filesrc location={given} blocksize={WIDTH * HEIGHT * 3} ! {CAPS},framerate=25/1 ! {line} ! '
           f'filesink location={out}')
    return read(out)


def night(frames):
    """Darker, and with the noise of light (which grows with the light) and of the sensor (which does not)."""
    dark = frames * 0.6
    noise = np.random.default_rng(1).normal(size=frames.shape) * np.sqrt(16 + 1.3 * dark)
    return dark, np.clip(np.rint(dark + noise), 0, 255).astype(np.uint8)


def nearness(clean, frames, where):
    error = ((clean - frames.astype(np.float64)) ** 2)[where].mean()
    return 10 * np.log10(255 ** 2 / error)


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] in ('-h', '--help'):
        sys.exit(__doc__)
    out = sys.argv[2] if len(sys.argv) == 3 else os.path.join(os.path.dirname(os.path.abspath(__file__)), 'denoise.png')
    with tempfile.TemporaryDirectory() as folder:
        raw, picture = os.path.join(folder, 'video.raw'), os.path.join(folder, 'sheet.raw')
        launch(f'filesrc location={sys.argv[1]} ! decodebin ! videoconvert ! videoscale ! {CAPS} ! '
               f'identity eos-after={FIRST + FRAMES} ! filesink location={raw}')
        clean, noisy = night(read(raw)[FIRST:])
        images = [noisy, *(filtered(line, noisy, folder) for line in LINES), np.rint(clean).astype(np.uint8)]
        moving = np.zeros(clean.shape, bool)
        moving[1:] = (np.abs(np.diff(clean, axis=0)) > 6).any(axis=3, keepdims=True)
        moving[:5] = False
        later = np.zeros(clean.shape, bool)
        later[5:] = True
        for name, frames in zip(['noisy', *LINES], images):
            print(f'{name}: {nearness(clean, frames, later):.1f} dB, what moves '
                  f'{nearness(clean, frames, moving):.1f} dB')
        parts = [np.clip(i[-3, TOP:TOP + PART_H, LEFT:LEFT + PART_W] * 1.6, 0, 255).astype(np.uint8) for i in images]
        gap = np.full((PART_H, GAP, 3), 255, np.uint8)
        rows = [np.hstack([parts[k], gap, parts[k + 1]]) for k in (0, 2)]
        sheet = np.vstack([rows[0], np.full((GAP, rows[0].shape[1], 3), 255, np.uint8), rows[1]])
        sheet.tofile(picture)
        height, width = sheet.shape[:2]
        launch(f'filesrc location={picture} blocksize={sheet.size} ! video/x-raw,format=RGB,width={width},'
               f'height={height},framerate=1/1 ! pngenc ! filesink location={out}')


if __name__ == '__main__':
    main()
