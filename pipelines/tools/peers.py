#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Prints a table of the filters on the CPU beside stock elements of GStreamer, FFmpeg and OpenCV, as Markdown.

usage: pipelines/tools/peers.py BUILD [--size 1920x1080] [--seconds 1] [--rounds 3] [--gpu FOLDER] [--page PAGE.md]

Milliseconds of CPU time for one frame on one core, the least of the rounds, which alternate between all programs: other
programs on the machine change that little. Frames are GRAY8, or the format beside the figure where a filter does not
take that. BUILD/pipelines/bench measures pipelines of GStreamer and filters of FFmpeg, Python's cv2 OpenCV. What is not
installed is left out.

--gpu FOLDER puts the microseconds of the kernels on a GPU before these, and NPP's, from bench-FILTER.json of a bundle's
`run.sh bench`. --page writes the table between "<!-- peers: begin -->" and "<!-- peers: end -->" of a page:
  pipelines/tools/peers.py build --gpu logs --page README.md
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
import textwrap
import time

try:
    import cv2
    import numpy as np
except ImportError:
    cv2 = None

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
sys.path.insert(0, os.path.join(ROOT, 'docs', 'performance'))
import page  # noqa: E402

FEWEST = 8  # frames that a measurement needs
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
    return lambda image, to: cv2.filter2D(image, -1, np.float32(weights) / total, to, borderType=cv2.BORDER_REPLICATE)


# filter, (its stem, kind and size in the GPU's benchmark), our line, (stock line, its format), FFmpeg's line, OpenCV's
# call
Row = collections.namedtuple('Row', 'name gpu ours stock ffmpeg opencv')
ROWS = [
    Row('median 3 x 3', ('median', '', 3), 'cudamedian kernel-size=3',
        ('videomedian filtersize=9 lum-only=false', 'I420'), 'ffmpeg:median=radius=1',
        lambda image, to: cv2.medianBlur(image, 3, to)),
    Row('median 7 x 7', ('median', '', 7), 'cudamedian kernel-size=7', None, 'ffmpeg:median=radius=3',
        lambda image, to: cv2.medianBlur(image, 7, to)),
    Row('median 15 x 15', ('median', '', 15), 'cudamedian kernel-size=15', None, 'ffmpeg:median=radius=7',
        lambda image, to: cv2.medianBlur(image, 15, to)),
    Row('Gauss 15 x 15', ('convolve', 'gauss', 15), 'cudaconvolve preset=gauss kernel-size=15',
        (f'gaussianblur sigma={OPENCV_SIGMA}', 'AYUV'), f'ffmpeg:gblur=sigma={OPENCV_SIGMA}',
        lambda image, to: cv2.GaussianBlur(image, (15, 15), 0, to)),
    Row('a dense kernel 7 x 7', ('convolve', 'dense', 7), ours(7), None, ffmpegs(7), opencvs(7)),
    Row('recursive blur, sigma 3', ('irfilter', 'smooth sigma', 3), 'cudairfilter preset=smooth sigma=3', None,
        'ffmpeg:gblur=sigma=3', None),
    Row('regions of similar colour', ('segment', 'stateful', 0), 'cudasegment', None, None, None)]


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
    # Queued frames may have been filtered before the measurement began, which counts where few are measured.
    return {row['line']: row['cpu_ms'] for row in report['rows'] if row['state'] == 'good' and row['frames'] >= FEWEST}


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
    n, start, to = 0, time.process_time(), np.empty_like(images[0])
    while n == 0 or time.process_time() - start < seconds / 2:
        call(images[n % len(images)], to)
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


def cell(value, base, digits=2, note=''):
    """Returns a figure, and how many times ours it is."""
    if not value or not base:
        return 'not measured'
    ratio = value / base
    return f'{value:.{digits}f}{note} (x {ratio:.{0 if ratio >= 20 else 1}f})'


def cpu_rows(best):
    rows = []
    for row in ROWS:
        base = best.get(row.ours)
        rows.append([f'{base:.2f}' if base else 'not measured',
                     cell(best.get(row.ffmpeg), base) if row.ffmpeg else 'has none',
                     cell(best.get(row.stock[0]), base, note=f', {row.stock[1]}') if row.stock else 'has none',
                     cell(best.get((row.name, 'OpenCV')), base) if row.opencv else 'has none'])
    return rows


def gpu_rows(folder, width, height):
    """Returns the GPU's cells of each row, and what the caption says of them."""
    rows, name, newest = [], None, 0
    for row in ROWS:
        stem, kind, size = row.gpu
        path = os.path.join(folder, f'bench-{stem}.json')
        with open(path, encoding='utf-8') as file:
            report = json.load(file)
        name, newest = report['gpu'], max(newest, os.path.getmtime(path))
        found = next((r for r in report['rows'] if (r['kind'], r['size'], r['format'], r['width'], r['height'],
                      r['streams']) == (kind, size, 'GRAY8', width, height, 1) and r['right']), None)
        if not found:
            rows.append(['not measured'] * 2)
        elif stem == 'segment' or not found['baseline_us']:  # what NPP has for regions does something else
            rows.append([f"{found['us']:.2f}", 'has none'])
        else:
            rows.append([f"{found['us']:.2f}", cell(found['baseline_us'], found['us'], 1)])
    return rows, (f'GPU: microseconds on one {name}, kernels alone, one run of `run.sh bench`, '
                  f'{datetime.date.fromtimestamp(newest)}. ')


def output(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout


def cpu_caption():
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        text = file.read()
    cpu = re.search(r'model name\s*: (.*)', text)
    versions = [('FFmpeg', re.search(r'ffmpeg version n?(\d[\d.]*)', output(['ffmpeg', '-version']))
                 if installed('ffmpeg:') else None),
                ('GStreamer', re.search(r'GStreamer (\S+)', output(['gst-inspect-1.0', '--version'])))]
    texts = [f'{name} {version.group(1)}' for name, version in versions if version]
    texts += [f'OpenCV {cv2.__version__}'] if cv2 else []
    with_avx512 = ' with AVX-512' if ' avx512bw' in text else ''
    arguments = ' '.join(['peers.py', *(os.path.basename(os.path.normpath(arg)) for arg in sys.argv[1:])])
    return (f'CPU: milliseconds of one core of {cpu.group(1).strip() if cpu else "this machine"}{with_avx512}, '
            f'{datetime.date.today()}, `{arguments}`; {", ".join(texts)}. Ours and stock GStreamer are whole '
            "pipelines, OpenCV is the bare call; FFmpeg's recursive blur is its nearest, `gblur`. Frames are GRAY8, or "
            'have the format beside the figure.')


def version():
    with open(os.path.join(ROOT, 'meson.build'), encoding='utf-8') as file:
        return 'peers.py (gst-cuda-filters) ' + re.search(r"^  version : '(.*)',$", file.read(), re.MULTILINE).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--size', default='1920x1080')
    parser.add_argument('--seconds', type=float, default=1)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--gpu', help='folder of bench-FILTER.json', metavar='FOLDER')
    parser.add_argument('--page', help='page that gets the table')
    parser.add_argument('--version', action='version', version=version())
    options = parser.parse_args()
    size = tuple(map(int, options.size.split('x')))
    gpu, caption = gpu_rows(options.gpu, *size) if options.gpu else ([[] for _ in ROWS], '')
    rows = [[row.name, *of_gpu, *of_cpu] for row, of_gpu, of_cpu in zip(ROWS, gpu, cpu_rows(measure(options)))]
    head = [f'one frame of {size[0]} x {size[1]}', *(['GPU: ours', 'NPP'] if options.gpu else []), 'CPU: ours',
            'FFmpeg', 'stock GStreamer', 'OpenCV']
    text = page.table(head, rows) + '\n' + textwrap.fill(caption + cpu_caption(), 120, break_long_words=False,
                                                         break_on_hyphens=False) + '\n'
    if options.page:
        page.replace(options.page, 'peers', text)
    else:
        print(text, end='')


if __name__ == '__main__':
    main()
