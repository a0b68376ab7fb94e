#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Makes cuda/irfilter/tables.c, the sets of cudairfilter's presets deblur and motion-deblur, with cf-identify.

usage: pipelines/tools/make-tables.py build/pipelines/cf-identify > cuda/irfilter/tables.c

Takes some minutes. The filters are found on cf-identify's chart with a noise of 2 levels. Without it they amplify the
noise of every camera: at sigma 1.5, 17-fold instead of 3.3-fold, for 2 dB more in an image without noise. Windows of
5 x 5 gain 1 to 2 dB over 3 x 3 for motion and next to nothing for a Gaussian.
"""
import concurrent.futures
import json
import os
import struct
import subprocess
import sys
import tempfile

NOISE = 2
GAUSS_M, MOTION_M = 3, 5
SIGMAS = [s / 4 for s in range(2, 13)]
LENGTHS = range(3, 16)
QUADRANTS = ['se', 'sw', 'ne', 'nw']
COLUMNS = 120

HEAD = '''\
/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/tables.c: written by pipelines/tools/make-tables.py, which calls
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


def identify(program, blur, m):
    """Returns (a, b) of rows of texts for se and for sw, and the report's figures; nw is as se, ne as sw."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'set.json')
        report = subprocess.run([program, '--chart', '--blur', blur, '--noise', str(NOISE), '--window', str(m),
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
    count = f'sizeof {name}_table / sizeof *{name}_table'
    return lines + ['};', f'const CfIrTable cf_ir_{name} = {{ {name}_table, {count} }};']


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith('-'):
        sys.exit(__doc__)
    program = sys.argv[1]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        gauss = {s: pool.submit(identify, program, f'gauss:{s:g}', GAUSS_M) for s in SIGMAS}
        motion = {(n, angle): pool.submit(identify, program, f'motion:{n}:{angle}', MOTION_M)
                  for n in LENGTHS for angle in (0, 45)}
    deblur_rows = [(s, 0, 0, GAUSS_M, *found.result()) for s, found in gauss.items()]
    motion_rows = [(0, n, angle, MOTION_M, *found.result()) for (n, angle), found in motion.items()]
    arrays = Arrays()
    tables = table('deblur', deblur_rows, arrays) + [''] + table('motion', motion_rows, arrays)
    head = HEAD % {'gauss': 'gauss:SIGMA', 'motion': 'motion:LENGTH:ANGLE', 'noise': NOISE, 'gauss_m': GAUSS_M,
                   'motion_m': MOTION_M}
    comment = '/* Each array is a or b of a quadrant; equal quadrants share one. */'
    print('\n'.join([head, comment, *arrays.lines, '', *tables]))


if __name__ == '__main__':
    main()
