#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Makes the table of a study of `bench` in a page, between "<!-- study NAME: begin -->" and "<!-- study NAME: end -->",
and its plot, study-NAME.png beside this script.

usage: docs/performance/studies.py sizes SIZES.json PAGE.md
       docs/performance/studies.py speedup SPEEDUP.json PAGE.md

sizes: the time of the convolution against the frame's size, in colour, from colour to gray, and in gray: from host
memory to host memory, and the kernels alone. Written on a machine with a GPU by
  bench --study size --bare --memory proposed,cuda --format RGB,GRAY8 --no-limits --seconds 1 --json SIZES.json
    'cudaconvolve preset=gauss kernel-size=5' 'cudaconvolve preset=gauss kernel-size=5 gray=mean'
speedup: how many times faster than sequential C the filters are on one core, on all cores and on the GPU, by
  bench --study speedup --format GRAY8 --no-limits --seconds 1 --json SPEEDUP.json
    'cudamedian kernel-size=3' 'cudamedian kernel-size=7' 'cudaconvolve preset=gauss kernel-size=5'
Needs gnuplot with cairo.
"""
import json
import os
import subprocess
import sys
import textwrap

import page

DOCS = os.path.dirname(os.path.abspath(__file__))
SCRIPT = """
set terminal pngcairo size 900,600 font 'sans,11'
set output '{out}'
set logscale xy
set xlabel 'pixels of the frame'
set ylabel '{ylabel}'
set format x '%.0s%c'
set grid
set key below Left reverse noenhanced
set title '{title}'
plot {curves}
"""


def size_of(row):
    return row['width'], row['height']


def plot(name, title, ylabel, curves):
    """Draws the curves {title: {(width, height): value}} that have points."""
    data, parts = [], []
    for number, (of_curve, points) in enumerate(curves.items()):
        if points:
            lines = ''.join(f'{w * h} {value}\n' for (w, h), value in sorted(points.items()))
            data.append(f'$d{number} << end\n{lines}end\n')
            parts.append(f"$d{number} using 1:2 with linespoints linewidth 2 pointtype 7 title '{of_curve}'")
    path = os.path.join(DOCS, f'study-{name}.png')
    text = ''.join(data) + SCRIPT.format(out=path, title=title, ylabel=ylabel, curves=', \\\n  '.join(parts))
    subprocess.run(['gnuplot'], input=text, text=True, check=True)


def where(report):
    """Returns the machine, or its GPU, in words."""
    machine = report['machine']
    cores = f"{machine['cores']} cores of {machine['cpu']}"
    return f"{machine['gpu']}, {cores}" if machine['gpu'] else cores


def number(value):
    return f'{value:.0f}' if value >= 100 else f'{value:.3g}'


def sizes(report):
    """Draws the plot and returns the heading, a text, the table's head and its rows."""
    times = {}  # by (place, kind): {size: us}
    for row in report['rows']:
        kind = 'gray' if row['format'] == 'GRAY8' else 'colour to gray' if 'gray=' in row['line'] else 'colour'
        if row['state'] != 'good' or not row['bare'] or (kind == 'gray' and 'gray=' in row['line']):
            continue
        if row['memory_asked'] == 'cuda':
            times.setdefault(('kernels', kind), {})[size_of(row)] = row['frame_ms'] * 1e3
        elif row['memory_asked'] == 'proposed':
            times.setdefault(('host to host', kind), {})[size_of(row)] = row['latency_p50_ms'] * 1e3
    columns = [(place, kind) for place in ('host to host', 'kernels') for kind in ('colour', 'colour to gray', 'gray')]
    rows = []
    for size in sorted({size for of_kind in times.values() for size in of_kind}, key=lambda s: s[0] * s[1]):
        values = [times.get(column, {}).get(size) for column in columns]
        rows.append([f'{size[0]} x {size[1]}', *(number(us) if us else '-' for us in values)])
    plot('sizes', f'Gauss 5 x 5, {where(report)}', 'microseconds per frame',
         {f'{place}, {kind}': times.get((place, kind), {}) for place, kind in columns})
    return ("## Time against the frame's size", 'A Gauss of 5 x 5, in microseconds per frame. Host to host: from host '
            'memory to host memory, without GStreamer, the median of frames one after the other. Kernels: of many '
            'frames queued.',
            ['frame', *(f'{place}, {kind}' for place, kind in columns)], rows)


def speedup(report):
    """The same for the speed-up."""
    most = max(row['cores_allowed'] for row in report['rows'])
    places = ['naive C', 'one core', f'{most} cores', 'GPU']
    found, lines = {}, []  # by (line, place): {size: row}
    for row in report['rows']:
        if row['line'] not in lines:
            lines.append(row['line'])
        if row['state'] != 'good':
            continue
        place = ('naive C' if row['naive'] else 'GPU' if row['backend'] == 'GPU' else
                 'one core' if row['cores_allowed'] == 1 else f"{row['cores_allowed']} cores")
        found.setdefault((row['line'], place), {})[size_of(row)] = row
    rows, curves = [], {}
    for line in lines:
        of_line = {size for (other, _), of_place in found.items() if other == line for size in of_place}
        for size in sorted(of_line, key=lambda s: s[0] * s[1]):
            cells = [found.get((line, place), {}).get(size) for place in places]
            rows.append([line, f'{size[0]} x {size[1]}', *(
                number(row['frame_ms']) + ('' if row['naive'] else f" (x {number(row['speedup'])})") if row else '-'
                for row in cells)])
        for place in places[1:]:
            curves[f'{line}, {place}'] = {size: row['speedup']
                                          for size, row in found.get((line, place), {}).items()}
    plot('speedup', f'Speed-up over sequential C, {where(report)}', 'times', curves)
    return ('## Speed-up over sequential C', 'Milliseconds per frame of GRAY8, from host memory to host memory, and '
            'how many times faster than naive C that is: the median by sorting each window, the convolution by its '
            'sum.',
            ['filter', 'frame', *places], rows)


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ('sizes', 'speedup'):
        sys.exit(__doc__)
    name = sys.argv[1]
    with open(sys.argv[2], encoding='utf-8') as file:
        report = json.load(file)
    heading, text, head, rows = (sizes if name == 'sizes' else speedup)(report)
    text = textwrap.fill(f"{text} {where(report)}, {report['date'][:10]}; the commands are in studies.py.", 120)
    page.replace(sys.argv[3], f'study {name}', f'{heading}\n\n{text}\n\n{page.table(head, rows)}\n'
                 f'![{heading[3:]}](study-{name}.png)\n')


if __name__ == '__main__':
    main()
