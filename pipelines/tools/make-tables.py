#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Makes cuda/irfilter/tables_0.c, _2.c and _5.c, the sets of cudairfilter's presets deblur and motion-deblur for video
of that noise, with cf-identify.

usage: pipelines/tools/make-tables.py build/pipelines/cf-identify cuda/irfilter

Takes ten minutes of CPU time. The filters are found on cf-identify's chart, whose edges are much stronger than a
photograph's. So that photographs keep their structural similarity, the chart gets four times the noise of the video,
and 2 levels if it has none (docs/notes/irfilter.md). Windows of 5 x 5 gain 1 to 2 dB over 3 x 3 for motion and next to
nothing for a Gaussian.
"""
import concurrent.futures
import json
import os
import struct
import subprocess
import sys
import tempfile

# The video's noise, and the chart's.
NOISES = {0: 2, 2: 8, 5: 20}
GAUSS_M, MOTION_M = 3, 5
SIGMAS = [s / 4 for s in range(2, 13)]
LENGTHS = range(3, 16)
QUADRANTS = ['se', 'sw', 'ne', 'nw']
COLUMNS = 120

HEAD = '''\
/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/tables_%(video)d.c: written by pipelines/tools/make-tables.py, which calls
 *   cf-identify --chart --blur %(gauss)s --noise %(noise)d --window %(gauss_m)d
 *   cf-identify --chart --blur %(motion)s --noise %(noise)d --window %(motion_m)d
 * for each entry. The comment beside it: PSNR in dB of the blurred, noisy chart and of the restored one, on samples
 * that the fit did not use; the gain of the noise. */

#include "tables.h"
'''


def shortest(number):
    """Returns the number with the fewest digits that give the same float32."""
    wanted = struct.pack('f', number)
    for digits in range(1, 10):
        text = f'{number:.{digits}g}'
        if struct.pack('f', float(text)) == wanted:
            break
    return text.replace('e-0', 'e-').replace('0.', '.', 1) if text.lstrip('-').startswith('0.') else text


def identify(program, blur, noise, m):
    """Returns (a, b) of rows of texts for se and for sw, and the report's figures; nw is as se, ne as sw."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'set.json')
        report = subprocess.run([program, '--chart', '--blur', blur, '--noise', str(noise), '--window', str(m),
                                 '--output', path], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                text=True).stdout.splitlines()
        with open(path, encoding='utf-8') as file:
            found = json.load(file)
    se, sw, ne, nw = [tuple([[shortest(v) for v in row] for row in found[q][part]] for part in 'ab') for q in QUADRANTS]
    if nw != se or ne != sw:
        sys.exit(f'{blur}: opposite quadrants differ')
    before, after = report[1].split(), report[3].split()
    return (se, sw), f'{float(before[-3]):.1f} -> {float(after[-3]):.1f} dB, noise x {float(after[-1]):.1f}'


def wrap(first, words, end):
    """Returns C lines of at most COLUMNS columns."""
    lines, line = [], first
    for i, word in enumerate(words):
        word = ' ' + word + (end if i == len(words) - 1 else ',')
        if len(line) + len(word) > COLUMNS:
            lines.append(line)
            line = ' ' + word
        else:
            line += word
    return lines + [line]


class Arrays:
    """The distinct matrices that the entries point to."""

    def __init__(self):
        self.names, self.lines = {}, []

    def name(self, matrix):
        key = tuple(v for row in matrix for v in row)
        if key not in self.names:
            self.names[key] = f's{len(self.names)}'
            self.lines += wrap(f'static const double {self.names[key]}[] = {{', key, ' };')
        return self.names[key]


def table(name, rows, arrays):
    lines = [f'static const CfIrTableEntry {name}_table[] = {{']
    for sigma, length, angle, m, sets, figures in rows:
        a, b = (', '.join(arrays.name(pair[i]) for pair in sets) for i in (0, 1))
        lines += [f'  {{ {sigma:g}, {length}, {angle}, {m}, {{ {a} }}, {{ {b} }} }}, /* {figures} */']
    return lines + ['};']


def tables(pool, program, video, noise):
    """Returns the C file for the noise of the video; `noise`: of the chart."""
    gauss = {s: pool.submit(identify, program, f'gauss:{s:g}', noise, GAUSS_M) for s in SIGMAS}
    motion = {(n, angle): pool.submit(identify, program, f'motion:{n}:{angle}', noise, MOTION_M)
              for n in LENGTHS for angle in (0, 45)}
    deblur_rows = [(s, 0, 0, GAUSS_M, *found.result()) for s, found in gauss.items()]
    motion_rows = [(0, n, angle, MOTION_M, *found.result()) for (n, angle), found in motion.items()]
    arrays = Arrays()
    entries = table('deblur', deblur_rows, arrays) + table('motion', motion_rows, arrays)
    head = HEAD % {'gauss': 'gauss:SIGMA', 'motion': 'motion:LENGTH:ANGLE', 'noise': noise, 'gauss_m': GAUSS_M,
                   'motion_m': MOTION_M, 'video': video}
    comment = '/* Each array is a or b of a quadrant; equal quadrants share one. */'
    both = [f'{{ {name}_table, sizeof {name}_table / sizeof *{name}_table }}' for name in ('deblur', 'motion')]
    last = [f'const CfIrTables cf_ir_tables_{video} = {{ {video},', f'  {both[0]},', f'  {both[1]} }};']
    return '\n'.join([head, comment, *arrays.lines, '', *entries, '', *last, ''])


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith('-'):
        sys.exit(__doc__)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for video, noise in NOISES.items():
            text = tables(pool, sys.argv[1], video, noise)
            with open(os.path.join(sys.argv[2], f'tables_{video}.c'), 'w', encoding='utf-8') as file:
                file.write(text)


if __name__ == '__main__':
    main()
