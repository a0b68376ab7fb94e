#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Prints a table of the filters on the CPU beside stock elements of GStreamer, FFmpeg and OpenCV, as Markdown.

usage: pipelines/tools/peers.py BUILD [--size 1920x1080] [--seconds 1] [--rounds 3]

Milliseconds of CPU time for one frame on one core, the least of the rounds, which alternate between all programs: other
programs on the machine change that little. Frames are GRAY8, or the format beside the figure where a filter does not
take that. BUILD/pipelines/bench measures pipelines of GStreamer and filters of FFmpeg, Python's cv2 OpenCV. What is not
installed is left out.
"""
import argparse
import collections
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import time

try:
    import cv2
    import numpy as np
except ImportError:
    cv2 = None

OPENCV_SIGMA = 2.6  # of 15 samples, as cudaconvolve and OpenCV have it


def dense(size):
    """Returns whole weights of a kernel that is no product of a row and a column, and their sum."""
    weights = [[1 + (3 * x + 5 * y + x * y) % 7 for x in range(size)] for y in range(size)]
    return weights, sum(map(sum, weights))


def ours(size):
    weights, total = dense(size)
    return f'cudaconvolve divisor={total} kernel="{"; ".join(" ".join(map(str, row)) for row in weights)}"'


def ffmpegs(size):
    weights, total = dense(size)
    return f"ffmpeg:convolution='{' '.join(str(v) for row in weights for v in row)}':0rdiv=1/{total}"


def opencvs(size):
    weights, total = dense(size)
    return lambda image: cv2.filter2D(image, -1, np.float32(weights) / total, borderType=cv2.BORDER_REPLICATE)


# filter, our line, (stock line, its format), FFmpeg's line, OpenCV's call
Row = collections.namedtuple('Row', 'name ours stock ffmpeg opencv')
ROWS = [
    Row('median 3 x 3', 'cudamedian kernel-size=3', ('videomedian filtersize=9 lum-only=false', 'I420'),
        'ffmpeg:median=radius=1', lambda image: cv2.medianBlur(image, 3)),
    Row('median 7 x 7', 'cudamedian kernel-size=7', None, 'ffmpeg:median=radius=3',
        lambda image: cv2.medianBlur(image, 7)),
    Row('median 15 x 15', 'cudamedian kernel-size=15', None, 'ffmpeg:median=radius=7',
        lambda image: cv2.medianBlur(image, 15)),
    Row('Gauss 15 x 15', 'cudaconvolve preset=gauss kernel-size=15', (f'gaussianblur sigma={OPENCV_SIGMA}', 'AYUV'),
        f'ffmpeg:gblur=sigma={OPENCV_SIGMA}', lambda image: cv2.GaussianBlur(image, (15, 15), 0)),
    Row('a dense kernel 7 x 7', ours(7), None, ffmpegs(7), opencvs(7)),
    Row('a dense kernel 9 x 9', ours(9), None, None, opencvs(9)),
    Row('recursive blur, sigma 3', 'cudairfilter preset=smooth sigma=3', None, 'ffmpeg:gblur=sigma=3', None),
    Row('regions of similar colour', 'cudasegment', None, None, None)]


def bench(build, lines, options, format_):
    """Returns CPU milliseconds by line. A line that does not run has none."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'rows.json')
        command = [os.path.join(build, 'pipelines', 'bench'), '--no-limits', '--cores', '1', '--size', options.size,
                   '--seconds', str(options.seconds), '--format', format_, '--json', path, *lines]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, GST_PLUGIN_PATH=os.path.join(build, 'gst')), check=False)
        if not os.path.exists(path):
            sys.exit(f'{" ".join(command[:1])}: {done.stderr}')
        with open(path, encoding='utf-8') as file:
            report = json.load(file)
    for row in report['rows']:
        if row['state'] != 'good':
            print(f'{row["line"]}: {row["note"]}', file=sys.stderr)
    return {row['line']: row['cpu_ms'] for row in report['rows'] if row['state'] == 'good'}


def installed(line):
    if line.startswith('ffmpeg:'):
        command = ['ffmpeg', '-version']
    else:
        command = ['gst-inspect-1.0', '--exists', line.split()[0]]
    try:
        return not subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
    except FileNotFoundError:
        return False


def pictures(width, height):
    """Returns images like those of bench: soft shapes, edges, sensor noise; more of them than caches hold."""
    rng = np.random.default_rng(1)
    y, x = np.mgrid[0:height, 0:width]
    image = 118 + 50 * np.sin(x / 90) + 40 * np.cos(y / 70 + x / 300) + 30 * ((x // 160 + y // 120) % 2)
    image = (image + rng.normal(0, 2.5, (height, width))).clip(0, 255).astype(np.uint8)
    return [np.roll(image, 7 * i, (0, 1)) for i in range(max(3, (64 << 20) // image.size))]


def opencv(call, images, seconds):
    """Returns CPU milliseconds of a call."""
    n, start = 0, time.process_time()
    while n == 0 or time.process_time() - start < seconds / 2:
        call(images[n % len(images)])
        n += 1
    return 1000 * (time.process_time() - start) / n


def measure(options):
    """Returns the least CPU milliseconds by line, and by (name, 'OpenCV')."""
    best = {}
    by_format = {'GRAY8': [row.ours for row in ROWS] + [row.ffmpeg for row in ROWS if row.ffmpeg]}
    for row in ROWS:
        if row.stock:
            by_format.setdefault(row.stock[1], []).append(row.stock[0])
    for format_, lines in by_format.items():
        by_format[format_] = [line for line in lines if line in (row.ours for row in ROWS) or installed(line)]
    images = pictures(*map(int, options.size.split('x'))) if cv2 else None
    if cv2:
        cv2.setNumThreads(1)
    for _ in range(options.rounds):
        found = {}
        for format_, lines in by_format.items():
            found.update(bench(options.build, lines, options, format_) if lines else {})
        for row in ROWS if cv2 else []:
            if row.opencv:
                found[row.name, 'OpenCV'] = opencv(row.opencv, images, options.seconds)
        for key, ms in found.items():
            best[key] = min(ms, best.get(key, ms))
    return best


def cell(ms, base, note=''):
    return f'{ms:.2f}{note} (x {ms / base:.1f})' if ms and base else 'not measured'


def output(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--size', default='1920x1080')
    parser.add_argument('--seconds', type=float, default=1)
    parser.add_argument('--rounds', type=int, default=3)
    options = parser.parse_args()
    best = measure(options)
    print(f'| CPU ms per frame, {options.size.replace("x", " x ")} | ours | FFmpeg | stock GStreamer | OpenCV |')
    print('| --- | --- | --- | --- | --- |')
    for row in ROWS:
        base = best.get(row.ours)
        stock = cell(best.get(row.stock[0]), base, ' ' + row.stock[1]) if row.stock else 'has none'
        print(f'| {row.name} | {base and f"{base:.2f}" or "not measured"} |'
              f' {cell(best.get(row.ffmpeg), base) if row.ffmpeg else "has none"} | {stock} |'
              f' {cell(best.get((row.name, "OpenCV")), base) if row.opencv else "has none"} |')
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        cpu = re.search(r'model name\s*: (.*)', file.read())
    versions = [re.search(r'ffmpeg version (\S+)', output(['ffmpeg', '-version'])) if installed('ffmpeg:') else None,
                re.search(r'GStreamer (\S+)', output(['gst-inspect-1.0', '--version']))]
    names = [name for name, version in zip(('FFmpeg', 'GStreamer'), versions) if version]
    texts = [f'{name} {version.group(1)}' for name, version in zip(names, filter(None, versions))]
    print(f'\nOne core of {cpu.group(1) if cpu else "this machine"}, {datetime.date.today()}; '
          f'{", ".join(texts + ([f"OpenCV {cv2.__version__}"] if cv2 else []))}; CPU time of GRAY8 frames (another '
          f'format is beside the figure), `{" ".join(["peers.py", *sys.argv[1:]])}`.')


if __name__ == '__main__':
    main()
