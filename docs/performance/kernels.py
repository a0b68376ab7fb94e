#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Prints a filter's kernel times as a table, or writes it into a page, between its markers.

usage: docs/performance/kernels.py BENCH.json [PAGE.md]

BENCH.json is written on the GPU by: kernelcheck --bench --filter STEM --json BENCH.json
A page that is not there is made.
"""
import json
import os
import sys

from page import replace, table

HEAD = """# Kernel times

Microseconds per frame, one after the other in a CUDA graph over more frames than L2 holds; one frame of each
row was compared with the reference. singly: the same without a graph, so that a launch costs what it costs the
CPU. copy: the same with a kernel that only copies the bytes.
"""

# Notes on the filters' columns.
NOTES = {
    'median': """\
NPP: the same frames, borders not handled. floor: minimum and maximum instructions of the best known
network, at this GPU's rate for them. even: all samples of a frame are equal; rows: 0 and 255 by turns.
Words of 16 bits, of P010 as well, have such samples in their upper byte and noise in the lower one.
wavelet: OpenCV's CUDA median since CUDA 11, which takes one time at any window (a wavelet matrix,
opencv_contrib's pull request 3627). It did not run beside the others: its authors' own code on one H100,
CUDA 13, random pictures, 2026-11-27.
""",
    'irfilter': """\
No library present has such a filter, so there is no baseline. one core m: a window of m x m whose
impulse response is longer than the frame is wide (pole radius 0.99); 16 cores m: one whose response has
decayed after 120 samples (0.87); N at once: N frames, each on its own stream. floor: the longest chain of
dependent operations, 4 cycles each, or, if that takes longer or frames overlap, all multiply-adds at this
GPU's rate.
""",
    'segment': """\
stateless: temporal=0; stateful: each frame depends on the one before, four frames in rotation. NPP has
no such filter: the first is compared with SegmentWatershed and a copy of the frame, because it works in
place, the second with LabelMarkersUF, which only labels connected equal samples. floor: the bytes of a
frame read twice and written once. Studies, stateful: global atomics: pixels are added to their regions'
sums with global atomics, not in the block first; 4 warps: the size of that block, which is 8 in the other
rows. street: like a frame of a street's camera, which has fewer regions than the texture of the other
rows; N at once: N streams, each with a plan of its own.
""",
    'denoise': """\
NPP has no such filter. noise: it is told the noise, 8 levels; estimated: it measures the noise. A frame needs the
one before.
""",
    'convolve': """\
NPP: FilterBorder32f, FilterGaussBorder (FilterGaussAdvancedBorder over 15) and FilterBoxBorder on the same
frames, replicated borders, RGBA with its alpha. dense: random signed weights of 8 bits, not separable;
16 bit: random weights of 16 bits; fraction: decimal ones. floor: the bytes or, if longer, the int8 tensor
pipe.
""",
}

# Goals at 1080p and 4K and lower bounds at both, in us of one H200; 0: none. The bounds: see NOTES.
GOALS = {
    # filter, kind, size, format, frames at once
    ('median', '', 3, 'GRAY8', 1): (3.6, 8.4, 1.4, 5.5),
    ('median', '', 5, 'GRAY8', 1): (7, 19, 4.1, 17),
    ('median', '', 7, 'GRAY8', 1): (11, 35, 7.9, 32),
    ('median', '', 9, 'GRAY8', 1): (18, 59, 13, 54),
    ('median', '', 11, 'GRAY8', 1): (29, 86, 20, 79),
    ('median', '', 13, 'GRAY8', 1): (50, 180, 0, 0),
    ('median', '', 15, 'GRAY8', 1): (52, 187, 0, 0),
    ('median', '', 31, 'GRAY8', 1): (56, 190, 0, 0),
    ('median', '', 51, 'GRAY8', 1): (97, 335, 0, 0),
    ('median', '', 101, 'GRAY8', 1): (134, 440, 0, 0),
    ('median', '', 127, 'GRAY8', 1): (170, 560, 0, 0),
    ('median', '', 255, 'GRAY8', 1): (270, 950, 0, 0),
    ('median', '', 7, 'GRAY16_LE', 1): (60, 240, 0, 0),
    ('median', '', 15, 'GRAY16_LE', 1): (250, 1000, 0, 0),
    ('median', '', 31, 'GRAY16_LE', 1): (500, 2000, 0, 0),
    ('median', '', 101, 'GRAY16_LE', 1): (1200, 4800, 0, 0),
    ('median', '', 7, 'P010_10LE', 1): (29, 107, 0, 0),
    ('median', '', 15, 'P010_10LE', 1): (128, 447, 0, 0),
    ('median', '', 31, 'P010_10LE', 1): (155, 537, 0, 0),
    ('median', '', 101, 'P010_10LE', 1): (373, 1260, 0, 0),
    ('median', 'noise', 31, 'GRAY8', 1): (56, 190, 0, 0),
    ('median', 'even', 31, 'GRAY8', 1): (56, 190, 0, 0),
    ('median', 'rows', 31, 'GRAY8', 1): (56, 190, 0, 0),
    ('median', 'ramp', 31, 'GRAY8', 1): (56, 190, 0, 0),
    ('median', 'camera', 31, 'GRAY8', 1): (56, 190, 0, 0),
    ('convolve', 'dense', 3, 'GRAY8', 1): (3.0, 6.4, 0.96, 3.86),
    ('convolve', 'dense', 5, 'GRAY8', 1): (3.1, 6.8, 0.96, 3.86),
    ('convolve', 'dense', 7, 'GRAY8', 1): (3.3, 7.6, 0.96, 3.86),
    ('convolve', 'dense', 9, 'GRAY8', 1): (3.5, 8.8, 0.96, 3.86),
    ('convolve', 'dense', 15, 'GRAY8', 1): (4.5, 12, 1.1, 4.3),
    ('convolve', 'dense', 31, 'GRAY8', 1): (9, 26, 3.8, 15.4),
    ('convolve', 'dense', 7, 'RGBA', 1): (8, 25, 0, 0),
    ('convolve', 'dense', 31, 'RGBA', 1): (20, 60, 0, 0),
    ('convolve', 'dense', 63, 'GRAY8', 1): (28, 100, 0, 0),
    ('convolve', 'dense', 63, 'RGBA', 1): (80, 270, 0, 0),
    ('convolve', 'gauss', 7, 'GRAY8', 1): (4.2, 9.1, 0.96, 3.86),
    ('convolve', 'gauss', 15, 'GRAY8', 1): (4.1, 9.3, 0.96, 3.86),
    ('convolve', 'gauss', 31, 'GRAY8', 1): (4.3, 11, 0.96, 3.86),
    ('convolve', 'gauss', 15, 'RGBA', 1): (10, 28, 0, 0),
    ('convolve', 'gauss', 101, 'GRAY8', 1): (8, 22, 0, 0),
    ('convolve', 'gauss', 101, 'RGBA', 1): (24, 75, 0, 0),
    ('convolve', 'gauss', 255, 'GRAY8', 1): (12, 34, 0, 0),
    ('convolve', 'box', 31, 'GRAY8', 1): (4.6, 11, 0.96, 3.86),
    ('convolve', 'box', 101, 'GRAY8', 1): (8, 22, 0, 0),
    ('convolve', 'box', 101, 'RGBA', 1): (24, 75, 0, 0),
    ('convolve', 'box', 255, 'GRAY8', 1): (9, 26, 0, 0),
    ('convolve', 'fill', 8, 'GRAY8', 1): (2, 5, 0, 0),
    ('convolve', 'mosaic', 8, 'GRAY8', 1): (5.5, 13, 0, 0),
    ('convolve', 'mosaic', 8, 'RGBA', 1): (12, 45, 0, 0),
    ('convolve', 'privacy', 8, 'GRAY8', 1): (5.5, 13, 0, 0),
    ('convolve', 'privacy', 8, 'RGBA', 1): (12, 45, 0, 0),
    ('irfilter', 'smooth sigma', 3, 'GRAY8', 1): (9.6, 31, 0, 0),
    ('irfilter', 'smooth sigma', 200, 'GRAY8', 1): (9.6, 31, 0, 0),
    ('irfilter', 'smooth sigma', 3, 'RGBA', 1): (40, 125, 0, 0),
    ('irfilter', 'smooth sigma', 200, 'RGBA', 1): (40, 125, 0, 0),
    ('irfilter', 'soft sigma', 3, 'GRAY8', 1): (16, 55, 0, 0),
    ('irfilter', 'soft sigma', 200, 'GRAY8', 1): (16, 55, 0, 0),
    ('irfilter', 'highpass sigma', 40, 'GRAY8', 1): (11, 34, 0, 0),
    ('irfilter', 'sharpen sigma', 3, 'GRAY8', 1): (11, 34, 0, 0),
    ('irfilter', 'one core m', 3, 'GRAY8', 1): (112, 270, 10.4, 20.9),
    ('irfilter', 'one core m', 5, 'GRAY8', 1): (210, 600, 0, 0),
    ('irfilter', 'one core m', 8, 'GRAY8', 1): (415, 1000, 0, 0),
    ('irfilter', 'one core m', 3, 'GRAY8', 8): (36, 130, 4.2, 16.9),
    ('irfilter', 'one core m', 5, 'GRAY8', 8): (70, 240, 0, 0),
    ('irfilter', 'one core m', 8, 'GRAY8', 8): (180, 650, 0, 0),
    ('irfilter', '16 cores m', 3, 'GRAY8', 1): (75, 205, 4.2, 16.9),
    ('segment', 'stateless', 0, 'GRAY8', 1): (100, 300, 2.4, 9.6),
    ('segment', 'stateful', 0, 'GRAY8', 1): (60, 200, 2.4, 9.6),
    ('segment', 'street stateless', 0, 'GRAY8', 1): (150, 0, 2.4, 9.6),
    ('segment', 'street stateless', 0, 'GRAY8', 8): (95, 0, 2.4, 9.6),
    ('segment', 'street stateful', 0, 'GRAY8', 1): (110, 0, 2.4, 9.6),
    ('segment', 'street stateful', 0, 'GRAY8', 8): (62, 0, 2.4, 9.6),
}

# us of OpenCV's CUDA median, by format, frame and size: see NOTES.
WAVELET = {
    ('GRAY8', '1080p'): {7: 1361, 15: 1335, 31: 1353, 101: 1448, 255: 1771},
    ('GRAY8', '4k'): {15: 5372, 31: 5347, 255: 5839},
    ('GRAY16_LE', '1080p'): {7: 3342, 15: 3278, 31: 3268, 101: 3320},
    ('GRAY16_LE', '4k'): {15: 14023, 31: 12966},
}


def number(value, text):
    return text % value if value > 0 else '-'


def cells(bench, row):
    """Returns the row of the table. A size of 0 leaves the choice to the filter."""
    name = f"{row['kind']} {row['size'] or ''}".strip() + (f", {row['streams']} at once" if row['streams'] > 1 else '')
    key = bench['filter'], row['kind'], row['size'], row['format'], row['streams']
    goals = GOALS.get(key, (0,) * 4) if row['frame'] in ('1080p', '4k') else (0,) * 4
    large = row['height'] > 1080
    wavelet = WAVELET.get((row['format'], row['frame']), {}).get(row['size'], 0)
    more = [number(0 if row['kind'] else wavelet, '%.0f')] if bench['filter'] == 'median' else []
    return (name, row['format'], row['frame'], '%.2f' % row['us'] if row['right'] else 'WRONG', row['variant'],
            number(row['singly_us'], '%.2f'), number(row['copy_us'], '%.2f'), number(row['baseline_us'], '%.1f'),
            number(row['baseline_us'] / row['us'] if row['us'] > 0 else 0, '%.1f'), number(goals[large], '%.4g'),
            number(goals[2 + large], '%.4g'), *more)


def section(bench):
    """Returns the filter's part of the page."""
    other = bench['baseline']
    return (f"## {bench['filter']}\n\nWritten by\n`{bench['command']}`:\n{bench['gpu']} ({bench['sms']} SMs, "
            f"{bench['l2_bytes'] >> 20} MB of L2),\ndriver {bench['driver']}, CUDA {bench['cuda'] // 1000}."
            f"{bench['cuda'] % 1000 // 10}, {bench['date']}, the median of {bench['repetitions']} repetitions.\n"
            f"{NOTES.get(bench['filter'], '')}\n" +
            table(('kernel', 'format', 'frame', 'ours', 'variant', 'singly', 'copy', other, f'{other} / ours', 'goal',
                   'floor', *(['wavelet'] if bench['filter'] == 'median' else [])),
                  [cells(bench, row) for row in bench['rows']]))


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding='utf-8') as file:
        bench = json.load(file)
    if len(sys.argv) < 3:
        print(section(bench), end='')
        return
    if not os.path.exists(sys.argv[2]):
        with open(sys.argv[2], 'x', encoding='utf-8') as file:
            file.write(HEAD)
    replace(sys.argv[2], f"bench {bench['filter']}", section(bench))


if __name__ == '__main__':
    main()
