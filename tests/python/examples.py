#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Runs the Python programs of pipelines/examples on short clips and looks at what they print and write.

The clips are drawn here: a figure, which OpenCV's detector of persons takes for one, walks through a street of stripes.
Skipped (77) without PyGObject, GStreamer's typelibs or NumPy; the two programs that need OpenCV are skipped without it,
and the one with the detector without OpenCV 4.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(ROOT, 'pipelines', 'python')]
import interpreter  # noqa: E402
interpreter.use()

import numpy as np  # noqa: E402

import cudafilters as cf  # noqa: E402
from gi.repository import Gst  # noqa: E402

try:
    import cv2
except ImportError:
    cv2 = None

WIDTH, HEIGHT, FRAMES = 320, 240, 30
EXAMPLES = os.path.join(ROOT, 'pipelines', 'examples')
SECONDS = 100


class Failed(Exception):
    pass


def check(right, what):
    if not right:
        raise Failed(what)


def street():
    """Gray stripes, which a filter that hides something changes everywhere."""
    image = np.full((HEIGHT, WIDTH), 150, np.uint8)
    image[:, ::4] = 158
    return image


def figure(image, x):
    """Draws a figure of 128 pixels in height around the column x. Returns its box: x, y, width, height."""
    top, u = 60, 16
    parts = np.full(image.shape, 0, np.uint8)
    cv2.ellipse(parts, (x, top + 10), (7, 10), 0, 0, 360, 255, -1)
    cv2.ellipse(parts, (x, top + 38), (u, 24), 0, 0, 360, 255, -1)
    for side in (-1, 1):
        for shape in (((1, 56), (14, 51), (14, 125), (6, 125)), ((13, 21), (19, 24), (22, 67), (17, 67))):
            cv2.fillPoly(parts, [np.array([(x + side * dx, top + dy) for dx, dy in shape])], 255)
    image[parts > 0] = 40
    rows, columns = np.nonzero(parts)
    return columns.min(), rows.min(), np.ptp(columns) + 1, np.ptp(rows) + 1


def square(image, x):
    """As figure(), where there is no OpenCV."""
    image[90:130, x:x + 40] = 40
    return x, 90, 40, 40


def write_clip(path, draw):
    """Writes a clip without compression. Returns the frames (gray) and the box of what moves in each."""
    pipeline = Gst.parse_launch(f'appsrc name=source format=time caps=video/x-raw,format=BGR,width={WIDTH},'
                                f'height={HEIGHT},framerate=10/1 ! video/x-raw ! avimux ! filesink location={path}')
    images, boxes = [], []
    for n in range(FRAMES):
        images.append(street())
        boxes.append(draw(images[-1], 80 + 4 * n))
        buffer = Gst.Buffer.new_wrapped(np.repeat(images[-1][:, :, None], 3, axis=2).tobytes())
        buffer.pts, buffer.duration = n * Gst.SECOND // 10, Gst.SECOND // 10
        pipeline.get_by_name('source').emit('push-buffer', buffer)
    pipeline.get_by_name('source').emit('end-of-stream')
    cf.play(pipeline)
    return images, boxes


def start(name, *words, **more):
    env = {**os.environ, 'PYTHONPATH': os.path.join(ROOT, 'pipelines', 'python'), 'PYTHONDONTWRITEBYTECODE': '1'}
    return subprocess.Popen([sys.executable, os.path.join(EXAMPLES, name), *words], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env=env, **more)


def run(name, *words):
    process = start(name, *words)
    said = process.communicate(timeout=SECONDS)[0]
    check(process.returncode == 0, f'{name} ended with {process.returncode}: {said}')
    return said


def refuses(name, clip, folder, ending):
    """Runs a program that writes onto its input, a file that is there, and beside the rest of an earlier program."""
    wanted = {}
    for word in ('input', 'kept', 'part'):
        path = os.path.join(folder, f'{name}-{word}{ending}')
        there = path + '.part' if word == 'part' else path
        with open(there, 'wb') as file, open(clip, 'rb') as source:
            file.write(source.read() if word == 'input' else b'of the user')
        wanted[path] = there
    before = {file: read_bytes(os.path.join(folder, file)) for file in os.listdir(folder)}
    for path, there in wanted.items():
        process = start(name, there if path.endswith('-input' + ending) else clip, path)
        said = process.communicate(timeout=SECONDS)[0]
        check(process.returncode == 1 and 'nothing is overwritten' in said, f'{name} onto {there}: {said}')
    after = {file: read_bytes(os.path.join(folder, file)) for file in os.listdir(folder)}
    check(before == after, f'{name} changes {[file for file in after if before.get(file) != after[file]]}')


def read_bytes(path):
    with open(path, 'rb') as file:
        return file.read()


def read_frames(path):
    """Returns the luma of each frame of a video file."""
    pipeline = Gst.parse_launch('filesrc name=file ! decodebin ! videoconvert ! video/x-raw,format=GRAY8 ! '
                                'appsink name=sink sync=false max-buffers=4')
    pipeline.get_by_name('file').set_property('location', path)
    return [cf.frame(sample).copy() for sample in cf.samples(pipeline)]


# ---- one an example --------------------------------------------------------------------

def count_regions(clip, images, _boxes, _folder):
    said = run('count_regions.py', clip)
    counts = [int(n) for n in re.findall(r'^\d+ s: (\d+) regions$', said, re.M)]
    check(len(counts) == 3 and min(counts) >= 2, said)
    for area, gray in re.findall(r'(\d+) pixels .* brightness (\d+)$', said, re.M):
        check(int(area) <= WIDTH * HEIGHT and 35 <= int(gray) <= 171, said)
    shares = [float(text) for text in re.findall(r'in the middle: region \d+, ([\d.]+)% of the picture', said)]
    dark = [(image == 40).mean() * 100 for image in images[::10]]
    # The figure's dark pixels are a region of their own; the rest is the street.
    for share, own in zip(shares, dark):
        check(min(abs(share - own), abs(share - 100 + own)) < 5, f'{said}\nthe figure has {own:.1f} %')


def hide_people(clip, images, boxes, folder):
    if cv2 is None or not hasattr(cv2, 'HOGDescriptor'):
        return 'no OpenCV 4'
    out = os.path.join(folder, 'hidden.mkv')
    said = run('hide_people.py', clip, out)
    found = re.match(r'(\d+) frames, people found (\d+) times\n', said)
    check(found and int(found.group(1)) == FRAMES and int(found.group(2)) >= FRAMES // 3 - 1, said)
    check(not os.path.exists(out + '.part'), 'a part is left')
    refuses('hide_people.py', clip, folder, '.mkv')
    frames = read_frames(out)
    check(len(frames) == FRAMES, f'{len(frames)} frames were written')
    for n, (frame, image, (x, y, width, height)) in enumerate(zip(frames, images, boxes)):
        # Large cells in the place of the figure: neither its outline nor its stripes are left.
        inside = np.abs(frame[y:y + height, x:x + width].astype(int) - image[y:y + height, x:x + width]).mean()
        check(inside > 8, f'frame {n}: {inside:.1f} levels off where the figure is')
        outside = np.abs(frame[:, :20].astype(int) - image[:, :20]).mean()
        check(outside < 1.5, f'frame {n}: {outside:.1f} levels off where nothing is')
    return None


def frames_to_numpy(clip, images, _boxes, folder):
    out = os.path.join(folder, 'frames.npy')
    said = run('frames_to_numpy.py', clip, out, 'cudamedian kernel-size=3')
    check(not os.path.exists(out + '.part'), 'a part is left')
    refuses('frames_to_numpy.py', clip, folder, '.npy')
    frames = np.load(out)
    check(frames.shape == (3, HEIGHT, WIDTH, 3) and frames.dtype == np.uint8, said)
    for frame, image in zip(frames, images[::10]):
        # A median over 3 x 3, by sorting, away from the border.
        windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3)).reshape(HEIGHT - 2, WIDTH - 2, 9)
        right = np.sort(windows, axis=2)[:, :, 4]
        check((frame[1:-1, 1:-1] == right[:, :, None]).all(), 'a frame is not the median of the clip')


def opencv_loop(clip, _images, boxes, _folder):
    if cv2 is None:
        return 'no OpenCV'
    lines = run('opencv_loop.py', clip).splitlines()
    check(len(lines) == FRAMES, '\n'.join(lines))
    for line, (x, y, width, height) in list(zip(lines, boxes))[5:]:
        found = [[int(n) for n in box] for box in re.findall(r'\((\d+), (\d+), (\d+), (\d+)\)', line)]
        check(any(a < x + width and a + w > x and b < y + height and b + h > y for a, b, w, h in found), line)
    return None


def live_control(_clip, _images, _boxes, _folder):
    process = start('live_control.py', 'cudamedian kernel-size=3', 'fakesink', stdin=subprocess.PIPE)

    def ask(line, answer):
        process.stdin.write(line + '\n')
        process.stdin.flush()
        said = process.stdout.readline()
        check(said == answer + '\n', f'"{line}": "{said}", not "{answer}"')

    try:
        ask('kernel-size 9', 'kernel-size is 9')
        ask('nonsense 1', 'cudamedian has no property "nonsense"')
        ask('kernel-size many', 'kernel-size is 9')
        for n in range(50):
            ask(f'enabled {"true" if n % 2 else "false"}', f'enabled is {bool(n % 2)}')
        said = process.communicate(timeout=SECONDS)[0]
        check(process.returncode == 0 and re.fullmatch(r'\d+ frames\n', said), said)
    finally:
        process.kill()


def main():
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    Gst.init(None)
    if Gst.ElementFactory.find('cudasegment') is None:
        sys.exit('cudasegment is not found: GST_PLUGIN_PATH=build/gst')
    programs = {name for name in os.listdir(EXAMPLES) if name.endswith('.py')}
    checks = {f'{f.__name__}.py': f for f in (count_regions, hide_people, frames_to_numpy, opencv_loop, live_control)}
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as folder:
        clip = os.path.join(folder, 'clip.avi')
        images, boxes = write_clip(clip, figure if cv2 else square)
        for name in sorted(programs | set(checks)):
            try:
                check(name in checks, 'it has no test here')
                lines = read_bytes(os.path.join(EXAMPLES, name)).count(b'\n')
                check(lines <= 40, f'it has {lines} lines; docs/python.md says 40 at most')
                why = checks[name](clip, images, boxes, folder)
                passed, skipped = passed + (not why), skipped + bool(why)
                print(f'{name}: {f"skipped, {why}" if why else "passed"}', flush=True)
            except (Failed, subprocess.TimeoutExpired, OSError) as error:
                failed += 1
                print(f'{name}: FAILED: {error}', flush=True)
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    sys.exit(1 if failed or not passed else 0)


if __name__ == '__main__':
    main()
