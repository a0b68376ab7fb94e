#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Compares platforms: builds kernelcheck with gcc and clang and, by a cross compiler under qemu, for aarch64, and
filters the same frames with each build and instruction set. Prints a table; its last column counts the settings with
the bytes of the first row.

usage: platforms.py FOLDER

FOLDER keeps the builds for the next time. Ends with `N passed, N failed, N skipped`; skipped is a compiler that is not
here. For aarch64 it fetches libraries (tests/check/arm64.sh).
"""
import hashlib
import itertools
import os
import random
import shutil
import struct
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
W, H, FRAMES = 178, 98, 3
# Samples of a frame in quarters of W x H, and how a sample from 0 to 65535 is stored.
FORMATS = {'GRAY8': (4, 'B', 8, 0), 'NV12': (6, 'B', 8, 0), 'I420': (6, 'B', 8, 0), 'RGBA': (16, 'B', 8, 0),
           'GRAY16_LE': (4, 'H', 0, 0), 'I420_10LE': (6, 'H', 6, 0), 'P010_10LE': (6, 'H', 6, 6)}
SETTINGS = {
    ('median', 'GRAY8'): [
        'kernel-size=3', 'kernel-size=5', 'kernel-size=7', 'kernel-size=15', 'kernel-size=41',
        'kernel-size=5 percentile=30 threshold=20', 'kernel-size=3 temporal-depth=3', 'kernel-size=1 temporal-depth=3',
        'temporal-method=running output=background', 'temporal-method=running output=mask',
        'temporal-method=running output=difference'],
    ('median', 'NV12'): ['kernel-size=5', 'kernel-size=11'],
    ('median', 'RGBA'): ['kernel-size=3 color-order=packed', 'kernel-size=9'],
    ('median', 'GRAY16_LE'): ['kernel-size=3', 'kernel-size=9', 'kernel-size=31'],
    ('median', 'I420_10LE'): ['kernel-size=7'],
    ('median', 'P010_10LE'): ['kernel-size=5'],
    ('convolve', 'GRAY8'): [
        'preset=gauss kernel-size=15', 'preset=gauss sigma=2.3', 'preset=gauss sigma=9.7',
        'preset=unsharp kernel-size=7 amount=1.7', 'preset=log kernel-size=9', 'preset=motion kernel-size=21 angle=33',
        'preset=sobel', 'preset=scharr', 'preset=emboss angle=17', 'preset=box kernel-size=131', 'preset=mosaic',
        'preset=privacy blocks=5',
        'kernel=1 2 3 4 5; 6 7 8 9 10; -11 -12 13 14 15; 1 1 1 1 1; 0 0 3.7 0 0 preset=custom'],
    ('convolve', 'NV12'): ['preset=gauss kernel-size=31', 'preset=privacy'],
    ('convolve', 'I420'): ['preset=unsharp sigma=3.3'],
    ('convolve', 'RGBA'): ['preset=gauss kernel-size=7', 'preset=log sigma=1.4', 'preset=sobel gray=luma'],
    ('convolve', 'GRAY16_LE'): [
        'preset=gauss kernel-size=15', 'preset=unsharp sigma=4.1', 'preset=motion kernel-size=31 angle=71'],
    ('convolve', 'I420_10LE'): ['preset=gauss sigma=5.5'],
    ('convolve', 'P010_10LE'): ['preset=sharpen'],
    ('irfilter', 'GRAY8'): [
        'preset=soft sigma=3', 'preset=soft sigma=40', 'preset=smooth sigma=7.7', 'preset=highpass sigma=20',
        'preset=sharpen sigma=2', 'preset=deblur sigma=1.5', 'preset=motion-deblur length=9 angle=45',
        'preset=smooth sigma=4 method=quadrants',
        'preset=custom numerator=0.3 0.1; 0.1 0 denominator=0 0.3; 0.2 0.1'],
    ('irfilter', 'NV12'): ['preset=soft sigma=5'],
    ('irfilter', 'RGBA'): ['preset=soft sigma=8'],
    ('irfilter', 'GRAY16_LE'): ['preset=soft sigma=12', 'preset=deblur sigma=2'],
    ('irfilter', 'I420_10LE'): ['preset=smooth sigma=3'],
    ('segment', 'GRAY8'): ['output=mean', 'output=labels'],
    ('segment', 'NV12'): ['output=labels', 'output=mean merge-threshold=0.05'],
    ('segment', 'I420'): ['output=boundaries'],
    ('segment', 'RGBA'): ['output=labels', 'output=mean max-regions=20'],
    ('segment', 'I420_10LE'): ['output=labels'],
    ('segment', 'GRAY16_LE'): ['output=mean'],
    ('denoise', 'NV12'): ['', 'strength=80'],
    ('denoise', 'I420'): ['strength=30'],
    ('denoise', 'I420_10LE'): [''],
    ('denoise', 'P010_10LE'): ['strength=60']}


def sweep():
    """Yields settings whose kernels and poles come out of the C library's functions."""
    for angle in range(0, 360, 45):
        yield from (('convolve', f'preset=motion kernel-size={k} angle={angle}') for k in (3, 9, 15, 31, 63))
        yield 'convolve', f'preset=emboss angle={angle}'
    for sigma in (.3, .5, .7, .85, 1, 1.1, 1.5, 2, 2.2, 2.75, 3.3, 4.4, 5, 6.6, 7.1, 8.8, 9.99):
        yield from (('convolve', f'preset={p} sigma={sigma}') for p in ('log', 'gauss', 'unsharp amount=1.3'))
    for sigma in (.5, 1, 1.5, 2, 3, 5, 7.7, 12.5, 25, 50, 99.9, 150, 200):
        for preset in ('smooth', 'soft', 'highpass', 'sharpen', 'smooth method=quadrants'):
            yield 'irfilter', f'preset={preset} sigma={sigma}'
    for sigma, noise in itertools.product((.5, .8, 1, 1.3, 1.7, 2.2, 2.9), (0, 2, 5)):
        yield 'irfilter', f'preset=deblur sigma={sigma} noise={noise}'


def frames(name):
    """Returns frames: moving steps of brightness, a slope, noise."""
    quarters, code, down, up = FORMATS[name]
    chance = random.Random(1)
    values = [8000 * ((i % W // 23 + i // W // 17 + frame) % 5) + 128 * (i % W) + chance.randrange(4000)
              for frame in range(FRAMES) for i in range(quarters * W * H // 4)]
    return struct.pack(f'<{len(values)}{code}', *(v >> down << up for v in values))


def filtered(command, stem, form, settings, folder):
    """Returns a hash of the frames that kernelcheck makes; None: it fails."""
    out = os.path.join(folder, 'out')
    done = subprocess.run([*command, '--filter', stem, *(['--set', settings] if settings else []), '--format', form,
                           '--size', f'{W}x{H}', '--in', os.path.join(folder, form), '--out', out],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if done.returncode:
        return None
    with open(out, 'rb') as file:
        return hashlib.sha256(file.read()).digest()


def build(folder, name, compiler, options):
    """Returns the path of kernelcheck by that compiler; None: it is not here."""
    if not shutil.which(compiler):
        return None
    place = os.path.join(folder, name)
    with open(place + '.log', 'w', encoding='utf-8') as log:
        if not os.path.exists(os.path.join(place, 'build.ninja')):
            subprocess.run(['meson', 'setup', place, ROOT, '--buildtype=release', '-Dcuda=disabled', '-Dwerror=true',
                            *options], env={**os.environ, 'CC': compiler}, stdout=log, stderr=log, check=True)
        subprocess.run(['ninja', '-C', place, 'tests/kernelcheck'], stdout=log, stderr=log, check=True)
    return os.path.join(place, 'tests/kernelcheck')


def main():
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    for name in FORMATS:
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(frames(name))
    root = os.path.join(folder, 'arm64-root')
    arm = subprocess.run([os.path.join(ROOT, 'tests/check/arm64.sh'), '--root', root], check=False).returncode == 0
    builds = {'gcc': build(folder, 'gcc', 'gcc', []), 'clang': build(folder, 'clang', 'clang', []),
              'aarch64': build(folder, 'aarch64', 'aarch64-linux-gnu-gcc',
                               ['--cross-file', os.path.join(root, 'cross.ini')]) if arm else None}
    qemu = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu', '-E', f'LD_LIBRARY_PATH={root}/usr/lib/aarch64-linux-gnu']
    isas = ['avx512bw', 'avx2', 'sse4.1', 'baseline']
    rows = [(name, isa, [], builds[name]) for name in ('gcc', 'clang') for isa in isas]
    # The C library's functions have versions with and without fused multiplication.
    rows.insert(4, ('gcc, libm without FMA', isas[-1], ['env', 'GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2'],
                    builds['gcc']))
    rows.append(('aarch64, gcc, qemu', isas[-1], qemu, builds['aarch64']))
    cases = [(stem, form, text) for (stem, form), texts in SETTINGS.items() for text in texts]
    cases += [(stem, 'GRAY16_LE', text) for stem, text in sweep()]
    passed = failed = skipped = 0
    expected, checks = None, {}
    print(f'| platform | kernelcheck | same bytes, of {len(cases)} settings |\n| --- | --- | --- |')
    for name, isa, runner, program in rows:
        command = [*runner, program, '--isa', isa]
        if not program or not filtered(command, *cases[0], folder):
            skipped += 1
            print(f'| {name}, {isa} | not here | |')
            continue
        if program not in checks:
            done = subprocess.run([*runner, program, '--cpu', '--quick', '--one-in', '100'], capture_output=True,
                                  text=True, check=False)
            checks[program] = done.stdout.splitlines()[-1]
            failed += done.returncode != 0
        hashes = [filtered(command, *case, folder) for case in cases]
        expected = expected or hashes
        wrong = [case for case, a, b in zip(cases, hashes, expected) if a is None or a != b]
        passed += not wrong
        failed += bool(wrong)
        print(f'| {name}, {isa} | {checks[program]} | {len(cases) - len(wrong)} |', flush=True)
        for case in wrong[:5]:
            print('  differs or fails:', *case)
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    sys.exit(failed > 0 or passed == 0)


main()
