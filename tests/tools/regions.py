#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Runs cf-regions on a video of rectangles whose places, sizes and colours are known.

usage: GST_PLUGIN_PATH=build/gst tests/tools/regions.py CF-REGIONS

The video is drawn here and is packed without loss, so that the expected lists are counted from the picture, and the
colours by the definition of BT.601. Ends with the line `N passed, N failed, N skipped`. 77: GStreamer's programs or
plugins are missing.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

WIDTH, HEIGHT, FRAMES, RATE = 160, 96, 12, 4
GROUND = (60, 110, 140)
# (x, y, width, height, (Y, Cb, Cr), first frame)
RECTANGLES = [(10, 8, 40, 24, (200, 90, 150), 0), (70, 20, 30, 60, (140, 190, 60), 0),
              (120, 40, 24, 30, (235, 128, 128), 5)]


class Results:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, good, what, shown=''):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f'FAIL {what}' + (f': {shown}' if shown != '' else ''))


def visible(frame):
    return [r for r in RECTANGLES if r[5] <= frame]


def planes(frame):
    """Returns the bytes of a frame of I420. All edges are even, so that no chroma sample is a mixture."""
    out = b''
    for plane in range(3):
        step = 2 if plane else 1
        rows = [bytearray([GROUND[plane]]) * (WIDTH // step) for _ in range(HEIGHT // step)]
        for x, y, w, h, colour, _ in visible(frame):
            for row in rows[y // step:(y + h) // step]:
                row[x // step:(x + w) // step] = bytes([colour[plane]]) * (w // step)
        out += b''.join(rows)
    return out


def hexadecimal(colour):
    """Returns a colour of BT.601 in the limited range as #rrggbb (ITU-R BT.601, 2.5.1: the three inverse equations)."""
    y, cb, cr = (colour[0] - 16) / 219, (colour[1] - 128) / 224, (colour[2] - 128) / 224
    rgb = (y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb)
    return '#' + ''.join(f'{int(min(max(v, 0), 1) * 255 + 0.5):02x}' for v in rgb)


def near(a, b):
    """Returns whether two colours #rrggbb differ by what chroma that is interpolated at edges may cost."""
    return all(abs(int(a[i:i + 2], 16) - int(b[i:i + 2], 16)) <= 6 for i in (1, 3, 5))


def expected(frame):
    """Returns (area, x, y, width, height, age, colour) of each region of a frame, the largest first."""
    shown = visible(frame)
    covered = sum(w * h for _, _, w, h, _, _ in shown)
    regions = [(WIDTH * HEIGHT - covered, 0, 0, WIDTH, HEIGHT, frame, hexadecimal(GROUND))]
    regions += [(w * h, x, y, w, h, frame - first, hexadecimal(colour)) for x, y, w, h, colour, first in shown]
    return sorted(regions, reverse=True)


def make_video(folder):
    path = os.path.join(folder, 'rectangles.mkv')
    raw = os.path.join(folder, 'raw')
    with open(raw, 'wb') as file:
        file.write(b''.join(planes(i) for i in range(FRAMES)))
    line = (f'gst-launch-1.0 -q filesrc location={raw} ! rawvideoparse format=i420 width={WIDTH} height={HEIGHT} '
            f'framerate={RATE}/1 ! video/x-raw,colorimetry=bt601 ! matroskamux ! filesink location={path}')
    made = subprocess.run(line.split(), capture_output=True, text=True, check=False)
    return path if made.returncode == 0 else None


def run(program, *args, **options):
    return subprocess.run([program, *args], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, 'LC_ALL': 'C'}, **options)


def fields(region):
    return tuple(region[name] for name in ('area', 'x', 'y', 'width', 'height', 'age', 'colour'))


def check_json(results, program, video):
    ended = run(program, '--json', '--interval', '0', video)
    lists = [json.loads(line) for line in ended.stdout.splitlines()]
    results.check(ended.returncode == 0 and not ended.stderr, '--json', ended.stderr)
    results.check(len(lists) == FRAMES, 'a list a frame', len(lists))
    if not lists:
        return
    ids = {}
    for i, one in enumerate(lists):
        results.check((one['frame'], one['width'], one['height']) == (i, WIDTH, HEIGHT), f'frame {i}', one)
        results.check(abs(one['time'] - i / RATE) < 2e-3, f'time of frame {i}', one['time'])
        found = [fields(r) for r in one['regions']]
        results.check(found == expected(i) and one['count'] == len(found), f'regions of frame {i}', found)
        for r in one['regions']:
            results.check(ids.setdefault(r['id'], r['colour']) == r['colour'], 'ids stay', r)
    means = [tuple(r['mean']) for r in lists[-1]['regions']]
    results.check(sorted(means) == sorted([GROUND, *(r[4] for r in RECTANGLES)]), 'means', means)
    centre = lists[0]['regions'][1]['centroid']
    results.check(centre == [70 + 29 / 2, 20 + 59 / 2], 'centroid', centre)


def check_tables(results, program, video):
    ended = run(program, '--largest', '2', video)
    row = re.compile(r' *(\d+) +(\d+) +(\d+) +([\d.]+)% +(\d+) x (\d+) +(\d+), (\d+) +(#[0-9a-f]{6})$', re.M)
    blocks = ended.stdout.strip().split('\n\n')
    results.check(ended.returncode == 0 and not ended.stderr, 'tables', ended.stderr)
    results.check(len(blocks) == 4, 'a table a second and a summary', ended.stdout)
    for second, block in enumerate(blocks[:3]):
        frame = second * RATE
        want = expected(frame)
        head = f'0:0{second}.00  frame {frame} of {WIDTH} x {HEIGHT}: {len(want)} regions, the largest 2\n'
        results.check(block.startswith(head), f'head of second {second}', block)
        rows = [(int(area), int(x), int(y), int(w), int(h), int(frames) - 1, colour)
                for _, frames, area, _, w, h, x, y, colour in row.findall(block)]
        results.check(rows == want[:2], f'rows of second {second}', rows)
    shares = [float(share) for _, _, _, share, *_ in row.findall(blocks[0])]
    results.check(shares == [round(100 * r[0] / WIDTH / HEIGHT, 2) for r in expected(0)[:2]], 'shares', shares)
    summary = f'{FRAMES} frames in 0:02.75: 3 to 4 regions in a frame, 4 in all.\n'
    results.check(blocks[-1].startswith(summary), 'summary', blocks[-1])
    last = [(int(frames), colour) for _, frames, *_, colour in row.findall(blocks[-1])]
    results.check(last == [(r[5] + 1, r[6]) for r in sorted(expected(FRAMES - 1), key=lambda r: (-r[5], -r[0]))],
                  'regions that stayed longest', last)
    longest = max(len(line) for line in ended.stdout.splitlines())
    results.check(longest <= 80, 'lines of 80 columns at most', longest)


def check_options(results, program, video, folder):
    for args, count in ((['--frames', '3', '--interval', '0'], 3), (['--interval', '.5'], 6), (['--interval', '9'], 1)):
        found = len(run(program, '--json', *args, video).stdout.splitlines())
        results.check(found == count, f'{" ".join(args)}: {count} lists', found)
    one = run(program, '--json', '--frames', '1', '--filter', 'identity ! cudasegment max-regions=1', video).stdout
    results.check(json.loads(one)['count'] == 1, 'options of cudasegment in --filter', one)
    for form in ('RGB', 'BGRA', 'GBR'):
        # Where chroma is interpolated, the colours between two things are regions of their own.
        line = f'capsfilter caps=video/x-raw,format={form} ! cudasegment min-size=200'
        one = json.loads(run(program, '--json', '--frames', '1', '--filter', line, video).stdout)
        results.check(all(near(r['colour'], want[6]) and fields(r)[:6] == want[:6]
                          for r, want in zip(one['regions'], expected(0))), f'colours of {form}', one)
    uri = run(program, '--json', '--frames', '1', 'file://' + video)
    results.check(len(uri.stdout.splitlines()) == 1, 'an address', uri.stderr)
    version = run(program, '--version')
    results.check(version.returncode == 0 and
                  re.fullmatch(r'cf-regions \(gst-cuda-filters\) \d+\.\d+\.\d+\n', version.stdout), '--version')
    text = os.path.join(folder, 'text')
    with open(text, 'w', encoding='utf-8') as file:
        file.write('no video\n' * 100)
    for status, words, args in (
            (2, '0 inputs', []), (2, '2 inputs', [video, video]), (2, 'cannot be read: No such file', ['none.avi']),
            (2, 'is a directory', [folder]), (1, 'text', [text]), (2, '--interval -1', ['--interval', '-1', video]),
            (2, 'no cudasegment', ['--filter', 'cudamedian', video]), (2, '--frames -1', ['--frames', '-1', video]),
            (2, "'cudasegment min-size=9'", ['--filter', 'min-size=9', video]), (2, '--speed', ['--speed', video]),
            (2, 'min-siz', ['--filter', 'cudasegment min-siz=9', video])):
        ended = run(program, *args)
        results.check(ended.returncode == status and words in ended.stderr and not ended.stdout,
                      f'{args} is refused with status {status} and "{words}"', (ended.returncode, ended.stderr))
    with open('/dev/full', 'w', encoding='utf-8') as full:
        ended = subprocess.run([program, video], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    results.check(ended.returncode == 1 and 'No space left' in ended.stderr, 'a full disk', ended.stderr)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    results = Results()
    with tempfile.TemporaryDirectory() as folder:
        video = make_video(folder) if shutil.which('gst-launch-1.0') else None
        if not video:
            print('gst-launch-1.0 or its plugins rawparse and matroska are missing\n0 passed, 0 failed, 1 skipped')
            sys.exit(77)
        check_json(results, sys.argv[1], video)
        check_tables(results, sys.argv[1], video)
        check_options(results, sys.argv[1], video, folder)
    print(f'{results.passed} passed, {results.failed} failed, 0 skipped')
    sys.exit(1 if results.failed or not results.passed else 0)


if __name__ == '__main__':
    main()
