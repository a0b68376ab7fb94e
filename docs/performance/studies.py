#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Makes the table of a study of `bench` in a page, between "<!-- study NAME: begin -->" and "<!-- study NAME: end -->",
and its plot, study-NAME.png beside this script.

usage: docs/performance/studies.py sizes SIZES.json... PAGE.md
       docs/performance/studies.py speedup SPEEDUP.json... PAGE.md
       docs/performance/studies.py naive NAIVE.json PAGE.md

Of several files of the same study, the middle one of each row's times counts.

sizes: the time of the convolution against the frame's size, in colour, from colour to gray, and in gray: from host
memory to host memory, and the kernels alone. Written on a machine with a GPU by
  bench --study size --bare --memory proposed,cuda --format RGB,GRAY8 --no-limits --seconds 1 --json SIZES.json
    'cudaconvolve preset=gauss kernel-size=5' 'cudaconvolve preset=gauss kernel-size=5 gray=mean'
speedup: how many times faster than sequential C the filters are on one core, on more and on the GPU, by
  bench --study speedup --format GRAY8,RGB --cores 1,2,4,8 --no-limits --seconds 1 --json SPEEDUP.json
    'cudamedian kernel-size=3' 'cudamedian kernel-size=7' 'cudamedian kernel-size=15'
    'cudamedian color-order=packed kernel-size=3' 'cudamedian color-order=packed kernel-size=7'
    'cudamedian color-order=packed kernel-size=15' 'cudaconvolve preset=gauss kernel-size=5'
with as many cores as there are (--cores 1 where other programs run: the times of several cores are elapsed ones).
naive: the filters' kernels beside the ones that one writes first, with other claims of work, and the growth of the
recursive filter's time with its window, by
  naive > NAIVE.json
Needs gnuplot with cairo; naive, which has no plot, does not.
"""
import json
import math
import os
import statistics
import subprocess
import sys
import textwrap

import page

COLORS = '#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000', '#7f3fbf'
POINTS = 7, 5, 9, 13, 6, 4
DOCS = os.path.dirname(os.path.abspath(__file__))
SCRIPT = """
set terminal pngcairo size 900,{height} font 'sans,11'
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
    """Draws the curves {(what, where): {(width, height): value}} that have points: a colour for each what, a dash and
    a point for each where."""
    data, parts, colors, marks = [], [], [], []
    for (what, place), points in curves.items():
        if not points:
            continue
        colors += [what] if what not in colors else []
        marks += [place] if place not in marks else []
        lines = ''.join(f'{w * h} {value}\n' for (w, h), value in sorted(points.items()))
        mark, color = marks.index(place) + 1, COLORS[colors.index(what) % len(COLORS)]
        parts.append(f"$d{len(data)} using 1:2 with linespoints linewidth 2 linecolor rgb '{color}' dashtype {mark} "
                     f"pointtype {POINTS[(mark - 1) % len(POINTS)]} title '{what}, {place}'")
        data.append(f'$d{len(data)} << end\n{lines}end\n')
    path = os.path.join(DOCS, f'{name}.png')
    text = ''.join(data) + SCRIPT.format(out=path, title=title, ylabel=ylabel, curves=', \\\n  '.join(parts),
                                         height=420 + 18 * len(parts))
    subprocess.run(['gnuplot'], input=text, text=True, check=True)


def where(report):
    """Returns the machine, or its GPU, in words."""
    machine = report['machine']
    cores = f"{machine['cores']} cores of {machine['cpu']}"
    return f"{machine['gpu']}, {cores}" if machine['gpu'] else cores


def number(value):
    return f'{value:.0f}' if value >= 100 else f'{value:.3g}'


def middle(rows, key, time):
    """Returns {key (row): the middle time (row)}."""
    found = {}
    for row in rows:
        found.setdefault(key(row), []).append(time(row))
    return {one: statistics.median_low(times) for one, times in found.items()}


def sizes(rows, image, title):
    """Draws the plot and returns the heading, a text, the table's head and its rows."""
    def key(row):
        kind = 'gray' if row['format'] == 'GRAY8' else 'colour to gray' if 'gray=' in row['line'] else 'colour'
        return 'kernels' if row['memory_asked'] == 'cuda' else 'host to host', kind, size_of(row)

    times = middle([row for row in rows if row['bare'] and row['memory_asked'] in ('cuda', 'proposed') and
                    not (row['format'] == 'GRAY8' and 'gray=' in row['line'])], key,
                   lambda row: 1e3 * row['frame_ms' if row['memory_asked'] == 'cuda' else 'latency_p50_ms'])
    columns = [(place, kind) for place in ('host to host', 'kernels') for kind in ('colour', 'colour to gray', 'gray')]
    lines = []
    for size in sorted({size for _, _, size in times}, key=lambda s: s[0] * s[1]):
        values = [times.get((*column, size)) for column in columns]
        lines.append([f'{size[0]} x {size[1]}', *(number(us) if us else '-' for us in values)])
    plot(image, f'Gauss 5 x 5, {title}', 'microseconds per frame',
         {(kind, place): {size: us for (*column, size), us in times.items() if column == [place, kind]}
          for place, kind in columns})
    return ("## Time against the frame's size", 'A Gauss of 5 x 5, in microseconds per frame. Host to host: from host '
            'memory to host memory, without GStreamer, the median of frames one after the other. Kernels: of many '
            'frames queued.',
            ['frame', *(f'{place}, {kind}' for place, kind in columns)], lines)


def speedup(rows, image, title):
    """The same for the speed-up."""
    def place_of(row):
        return ('naive C' if row['naive'] else 'GPU' if row['backend'] == 'GPU' else
                'one core' if row['cores_allowed'] == 1 else f"{row['cores_allowed']} cores")

    most = max(row['cores_allowed'] for row in rows)
    times = middle(rows, lambda row: (row['line'], row['format'], place_of(row), size_of(row)),
                   lambda row: row['cpu_ms' if place_of(row) in ('naive C', 'one core') else 'frame_ms'])
    places = list(dict.fromkeys(place for _, _, place, _ in times))
    shown = 'one core', f'{most} cores', 'GPU'  # in the plot
    lines, curves = [], {}
    for line, form in dict.fromkeys((row['line'], row['format']) for row in rows):
        for size in sorted({one[3] for one in times if one[:2] == (line, form)}, key=lambda s: s[0] * s[1]):
            naive, cells = times.get((line, form, 'naive C', size)), []
            for place in places:
                ms = times.get((line, form, place, size))
                if ms and naive and place in shown:
                    curves.setdefault((line, f'{form}, {place}'), {})[size] = naive / ms
                cells.append('-' if not ms else number(ms) if place == 'naive C' or not naive else
                             f'{number(ms)} (x {number(naive / ms)})')
            lines.append([f'{line}, {form}', f'{size[0]} x {size[1]}', *cells])
    plot(image, f'Speed-up over sequential C, {title}', 'times', curves)
    return ('## Speed-up over sequential C', 'Milliseconds per frame, from host memory to host memory, and how many '
            'times faster than naive C that is: the median by sorting each window, the convolution by its sum. Naive C '
            'and one core: processor time.',
            ['filter', 'frame', *places], lines)


def naive(report):
    """Returns the tables of tests/bench/naive.cu's rows, with heading and text."""
    if not all(row['right'] for row in report['rows']):
        sys.exit('a result differs from the CPU')
    tables = {True: [], False: []}
    paper, ours = {}, {}
    for row in report['rows']:
        m, claims = row['size'], 'claim' in row['kernel']
        tables[claims].append((row['filter'], f'{m} x {m}', row['kernel'], number(row['us']), number(row['ours_us']),
                               number(row['us'] / row['ours_us'])))
        if claims:
            ours[m] = row['ours_us']
            if row['kernel'].startswith('1 sample'):
                paper[m] = row['us']
    least = min(ours)
    growth = [(f'{m} x {m}', *(f'{value(m) / value(least):.2f}' for value in (
        lambda n: math.ceil(math.log2(n)), lambda n: n, lambda n: 2 * n * n - 1, paper.get, ours.get)))
              for m in sorted(ours)]

    def text(words):
        return textwrap.fill(words, 120, break_on_hyphens=False)

    return '\n\n'.join((
        '## Speed-up over naive CUDA', text(
            'Microseconds per frame of 1080p, GRAY8, of packed colours RGBA: the kernels alone, over more frames than '
            "the L2 cache holds, each result compared with the CPU's. The naive kernels are as in students' reports "
            'and tutorials, see tests/bench/naive.cu; of the segmentation each step is a launch over '
            f"all cells. {report['gpu']}, {report['date']}; the command is in studies.py."),
        page.table(('filter', 'window or cell', 'naive kernel', 'its time', 'ours', 'times'), tables[False]).rstrip(),
        text(
            "The scheduler of the recursive filter: the paper's, whose blocks claim a single sample (here of one "
            "thread each, because the sum's order is fixed); this one's, held to few chunks a claim, 8 rows of a strip "
            'of 128 columns (64 from m = 5 on); ours takes each chunk that is ready.'),
        page.table(('filter', 'window', 'claims', 'time', 'ours', 'times'), tables[True]).rstrip(),
        text(
            'How the time grows with the window of m x m, the smallest one being 1. By the paper a frame of N x N '
            'takes 2 (2N - 1) ceil (log2 m) operations one after the other: the threads of a block add up a window in '
            'a tree.'),
        page.table(('window', 'log2 m, the paper', 'm', 'multiply-adds, 2 m^2 - 1', '1 sample a claim', 'ours'),
                   growth)))


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ('sizes', 'speedup', 'naive'):
        sys.exit(__doc__)
    name, *files, path = sys.argv[1:]
    reports = []
    for file in files:
        with open(file, encoding='utf-8') as report:
            reports.append(json.load(report))
    if name == 'naive':
        page.replace(path, 'study naive', naive(reports[0]))
        return
    title = where(reports[0])
    image = f"study-{name}{'' if reports[0]['machine']['gpu'] else '-cpu'}"
    heading, text, head, lines = (sizes if name == 'sizes' else speedup)(
        [row for report in reports for row in report['rows'] if row['state'] == 'good'], image, title)
    runs = f'the middle of {len(files)} runs; ' if len(files) > 1 else ''
    text = textwrap.fill(f"{text} {title}, {reports[-1]['date'][:10]}; {runs}the commands are in studies.py.", 120)
    page.replace(path, f'study {name}',
                 f'{heading}\n\n{text}\n\n{page.table(head, lines)}\n![{heading[3:]}]({image}.png)\n')


if __name__ == '__main__':
    main()
