#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: what was hidden by command stays hidden: over losses, reloads, pictures of other formats and sizes, and
masks whose files come and go. Each picture has a bright secret, which no snapshot and no recording may show.
CF_WATCH_STEPS=N has the model take so many steps, with CF_WATCH_SEED=N. See harness.py."""
import functools
import glob
import json
import math
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import zlib

from harness import SECONDS, Skip, Watch, Web, expect, main, need

STEPS = int(os.environ.get('CF_WATCH_STEPS', '60'))
SEED = int(os.environ.get('CF_WATCH_SEED', '1'))
LARGE, SMALL = (128, 96), (64, 48)
DARK, BRIGHT = 60, 230
FILL = 'cudaconvolve name=hide preset=fill fill-color=0xff000000 roi=0,0,2,2'
AT = 0.5, 0.5, 0.75, 0.75  # the secret: left, top, right, bottom in fractions of the frame


def pixels(size, part=AT):
    """Returns the rows of a dark picture with a bright part."""
    (width, height), (left, top, right, bottom) = size, part
    return [bytes(BRIGHT if left <= x / width < right and top <= y / height < bottom else DARK for x in range(width))
            for y in range(height)]


def png(rows):
    """Returns gray rows as a PNG file."""
    def chunk(name, data):
        return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))
    header = struct.pack('>IIBBBBB', len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + \
        chunk(b'IDAT', zlib.compress(b''.join(b'\0' + row for row in rows), 1)) + chunk(b'IEND', b'')


@functools.lru_cache(None)
def jpeg(size, kind, part):
    """Returns a picture as a JPEG file, which decodes to frames of this format."""
    need('gst-launch-1.0')
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ('in.png', 'out.jpg')]
        with open(paths[0], 'wb') as file:
            file.write(png(pixels(size, part)))
        subprocess.run(['gst-launch-1.0', '-q', 'filesrc', f'location={paths[0]}', '!', 'pngdec', '!', 'videoconvert',
                        '!', f'video/x-raw,format={kind}', '!', 'jpegenc', 'quality=95', '!', 'filesink',
                        f'location={paths[1]}'], check=True, timeout=SECONDS)
        with open(paths[1], 'rb') as file:
            return file.read()


def gray(path):
    """Returns the rows of a PNG file of 8 bits; of colours, the first."""
    with open(path, 'rb') as file:
        data = file.read()
    at, packed = 8, b''
    while at < len(data):
        length, name = struct.unpack('>I4s', data[at:at + 8])
        if name == b'IHDR':
            width, height, _, color = struct.unpack('>IIBB', data[at + 8:at + 18])
        packed += data[at + 8:at + 8 + length] if name == b'IDAT' else b''
        at += 12 + length
    step = {0: 1, 2: 3, 4: 2, 6: 4}[color]
    data, rows, above = zlib.decompress(packed), [], bytes(width * step)
    for y in range(height):
        kind, *line = data[y * (width * step + 1):(y + 1) * (width * step + 1)]
        for i, up in enumerate(above):
            left, corner = (line[i - step], above[i - step]) if i >= step else (0, 0)
            guess = [0, left, up, (left + up) // 2,
                     min((left, up, corner), key=lambda value, sum=left + up - corner: abs(sum - value))][kind]
            line[i] = (line[i] + guess) & 255
        above = bytes(line)
        rows.append(above[::step])
    return rows


class Camera:
    """Sends one picture again and again, as a camera over HTTP does. `show` changes the picture; `cut` ends the
    connections, so that the next ones begin with it."""

    def __init__(self):
        self.lock = threading.Condition()
        self.turn, self.picture = 0, b''
        self.web = Web(lambda request: self.answer(request))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cut()
        self.web.__exit__()

    def show(self, size, kind='I420', part=AT):
        self.picture = jpeg(size, kind, part)

    def cut(self):
        with self.lock:
            self.turn += 1
            self.lock.notify_all()

    def answer(self, request):
        turn = self.turn
        request.wfile.write(b'HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=b\r\n\r\n')
        with self.lock:
            while turn == self.turn:
                request.wfile.write(b'--b\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n' %
                                    (len(self.picture), self.picture))
                self.lock.wait(0.02)  # the time from frame to frame


def shot(watch, folder):
    """Returns the next frame; not one that the filter had begun before the last command."""
    path = os.path.join(folder, 'shot.png')
    watch.ask(f'snapshot door --overwrite {path}')
    return gray(path)


def expect_hidden(rows, what, whole=False):
    """The secret is black. The rest is not, unless the whole frame has to be."""
    width, height = len(rows[0]), len(rows)
    left, top, right, bottom = (round(at * side) for at, side in zip(AT, (width, height, width, height)))
    secret = max(max(row[left:right]) for row in rows[top:bottom])
    rest = max(max(row) for row in rows)
    expect(secret < 30, f'{what}: {secret} is open')
    expect((rest < 30) == whole, f'{what}: the brightest pixel is {rest}')


def config(camera, line=FILL, **settings):
    return {'cameras': {'door': {'source': camera.web.address, 'filter': line, **settings}}}


def other_format(folder):
    """Another element refuses a picture of red, green and blue: what was set by command counts in the next one."""
    with Camera() as camera:
        camera.show(LARGE)
        with Watch(config(camera, f'cudamedian apply-to=luma ! {FILL}'), folder) as watch:
            watch.wait('started', 'door')
            watch.ask('set door hide.roi 0.4,0.4,0.4,0.4')
            expect_hidden(shot(watch, folder), 'before')
            camera.show(LARGE, 'RGB')
            camera.cut()
            expect('apply-to' in watch.wait('error', 'door')['text'], watch.text)
            camera.show(LARGE)
            watch.wait('back', 'door')
            expect_hidden(shot(watch, folder), 'after')
            expect(not [event for event in watch.events if event['type'].startswith('settings-')], watch.text)
            watch.end()


def mask_away(folder):
    """A mask whose file is away when the camera is built anew: the whole frame is hidden, also at the next time, and
    the mask counts as soon as the file is there, without another command."""
    mask, away = (os.path.join(folder, name) for name in ('mask.png', 'away.png'))
    with open(mask, 'wb') as file:
        file.write(png([bytes(255 if value == BRIGHT else 0 for value in row) for row in pixels(LARGE)]))
    with Camera() as camera:
        camera.show(LARGE)
        with Watch(config(camera), folder) as watch:
            watch.wait('started', 'door')
            watch.ask(f'set door hide.mask {mask}')
            expect_hidden(shot(watch, folder), 'before')
            os.rename(mask, away)
            for times in range(2):
                watch.ask('restart door')
                watch.wait('back', 'door')
                expect_hidden(shot(watch, folder), f'away {times}', whole=True)
            refused = [event for event in watch.events if event['type'] == 'settings-refused']
            expect([event['settings'] for event in refused] == [['0.mask']], refused)
            os.rename(away, mask)
            expect(watch.wait('settings-applied', 'door')['settings'] == ['0.mask'], watch.text)
            expect_hidden(shot(watch, folder), 'there again')
            # A mask of the file is no more than what the command says.
            watch.write(config(camera, FILL + f' mask={mask}'))
            watch.ask(f'set door hide.mask {mask}2', ok=False)
            os.rename(mask, mask + '2')
            watch.ask(f'set door hide.mask {mask}2')
            os.rename(mask + '2', mask)
            watch.ask('reload')
            watch.wait('back', 'door')
            expect_hidden(shot(watch, folder), 'another mask in the file', whole=True)
            watch.ask(f'set door hide.mask {mask}')
            expect_hidden(shot(watch, folder), 'a mask that is there')
            watch.end()


def sizes(folder):
    """A region in pixels, of the file or set by command, hides the same part of pictures of another size, in the same
    connection, in the next one, and after a loss; set while the camera is away, it is one of the last size."""
    large, small = '60,44,40,32', '30,22,20,16'
    for line, command in ((FILL.replace('0,0,2,2', large), None), (FILL, large)):
        own = os.path.join(folder, 'command' if command else 'file')  # what is set lasts
        os.mkdir(own)
        with Camera() as camera:
            camera.show(LARGE)
            with Watch(config(camera, line), own) as watch:
                watch.wait('started', 'door')
                if command:
                    watch.ask(f'set door hide.roi {command}')
                expect_hidden(shot(watch, own), 'at first')
                camera.show(SMALL)
                watch.wait('size', 'door')
                expect_hidden(shot(watch, own), 'a smaller one')
                for size in (SMALL, LARGE):
                    camera.show(size)
                    watch.ask('restart door')
                    watch.wait('back', 'door')
                    expect_hidden(shot(watch, own), f'{size} after a restart')
                camera.show(SMALL)
                watch.wait('size', 'door')
                camera.cut()
                watch.wait('lost', 'door')
                watch.ask(f'set door hide.roi {small}')
                camera.show(LARGE)
                watch.wait('back', 'door')
                expect_hidden(shot(watch, own), 'set while away')
                watch.ask('set door hide.roi 200,0,9,9')
                expect('outside' in watch.wait('warning', 'door')['text'], 'a region outside of the frame')
                watch.end()


def reload(folder):
    """A reload keeps what was set by command, with another timeout and with another line; what belongs to no element
    any more waits for one, and the event says so."""
    with Camera() as camera:
        camera.show(LARGE)
        with Watch(config(camera), folder) as watch:
            watch.wait('started', 'door')
            watch.ask('set door hide.roi 0.4,0.4,0.4,0.4')
            for line in (FILL, f'cudamedian ! {FILL}', FILL.replace('=hide', '=cover'), FILL.replace('name=hide ', ''),
                         f'{FILL} roi-grow=1'):
                watch.write(config(camera, line, timeout=11))
                expect(watch.ask('reload')['changed'] == ['door'], line)
                watch.wait('back', 'door')
                expect_hidden(shot(watch, folder), line)
            expect(not [event for event in watch.events if event['type'].startswith('settings-')], watch.text)
            watch.write(config(camera, 'cudamedian'))
            watch.ask('reload')
            expect(watch.wait('settings-dropped', 'door')['settings'] == ['hide.roi'], watch.text)
            # Also without the camera, by the file and by command: what was hidden does not show when it is back.
            watch.write({'cameras': {}})
            watch.ask('reload')
            watch.until('it is gone', lambda status: not status['cameras'])
            watch.write(config(camera))
            watch.ask('reload')
            watch.wait('settings-restored', 'door', settings=['0.roi'])
            watch.wait('started', 'door')
            expect_hidden(shot(watch, folder), 'the camera is back')
            watch.ask('remove door')
            watch.until('it is added', lambda _: watch.ask('add door ' + json.dumps(
                config(camera)['cameras']['door']), ok=None)['ok'])
            watch.wait('started', 'door')
            expect_hidden(shot(watch, folder), 'the camera is added again')
            watch.end()


def saved(watch, camera='door'):
    """Waits until the disk has what was set."""
    watch.until('it is saved', lambda _: watch.ask(f'overrides {camera}')['saved'])


def restarts(folder):
    """What was set is hidden by the next process, however the one before ended, in pictures of another size too; until
    it is forgotten. Another configuration in the same state directory knows nothing of it."""
    with Camera() as camera:
        for turn, (roi, size) in enumerate((('0.4,0.4,0.4,0.4', LARGE), ('60,44,40,32', SMALL), (None, LARGE))):
            camera.show(LARGE if roi else SMALL)
            with Watch(config(camera), folder) as watch:
                watch.wait('started', 'door')
                if turn:
                    expect_hidden(shot(watch, folder), f'before turn {turn}')
                if roi:
                    watch.ask(f'set door hide.roi {roi}')
                    saved(watch)
                    expect(watch.ask('overrides door')['overrides'] == [
                        {'element': 'hide', 'property': 'roi', 'value': roi}], 'the list')
                expect_hidden(shot(watch, folder), f'turn {turn}')
                if turn == 1:
                    watch.end()
                else:
                    watch.kill(signal.SIGKILL, -signal.SIGKILL)
            camera.show(size)
            with Watch(config(camera), folder) as watch:
                watch.wait('settings-restored', 'door', settings=['0.roi'])
                watch.wait('started', 'door')
                expect_hidden(shot(watch, folder), f'after turn {turn}')
                watch.kill(signal.SIGKILL, -signal.SIGKILL)
        other = os.path.join(folder, 'other')
        os.mkdir(other)
        with Watch(config(camera), other, {'XDG_STATE_HOME': os.path.join(folder, 'state')}) as watch:
            watch.wait('started', 'door')
            expect(watch.ask('overrides door')['overrides'] == [], 'another configuration')
            watch.ask('set door hide.roi 0,0,9,9')
            watch.end()
        with Watch(config(camera), folder) as watch:
            watch.wait('started', 'door')
            expect_hidden(shot(watch, folder), 'beside another configuration')
            watch.ask('forget door')
            watch.wait('back', 'door')
            expect(watch.ask('get door hide.roi')['value'] == '0,0,2,2', 'it is as the file says')
            watch.ask('forget none', ok=False)
            watch.end()
        with Watch(config(camera), folder) as watch:
            watch.wait('started', 'door')
            expect(watch.ask('get door hide.roi')['value'] == '0,0,2,2', 'it stays forgotten')
            watch.end()


class Model:
    """What must be hidden: `covers` has the parts that each property covers, in fractions of the frame. Any command may
    come at any time, but one of the properties always covers the secret."""
    SIZES = (64, 48), (32, 24), (96, 72)
    LINE = f'cudamedian kernel-size=1 apply-to=luma ! {FILL}'

    def __init__(self, folder, camera):
        self.folder, self.camera = folder, camera
        self.dice = random.Random(SEED)
        self.size, self.timeout, self.closed = self.SIZES[0], 11, False
        self.covers = {'roi': None, 'mask-polygons': None, 'mask': None}
        self.mask, self.away, self.finished = None, set(), set()
        self.watch = self.start()
        self.watch.wait('started', 'door')
        for name in ('m0.png', 'm1.png'):
            with open(os.path.join(folder, name), 'wb') as file:
                file.write(png([bytes(value == BRIGHT and 255 for value in row)
                                for row in pixels(LARGE, (0.375, 0.375, 0.875, 0.875))]))
        self.set('roi', *self.part(True))

    def start(self):
        return Watch(record(self.camera, self.LINE, self.folder, timeout=self.timeout), self.folder)

    def part(self, covers):
        """Returns a part, and how `roi` has it: in fractions, or in pixels of the present size."""
        low, high = ((30, 50), (75, 95)) if covers else ((25, 30), (32, 45))
        part = [self.dice.randint(*low) / 100, self.dice.randint(*low) / 100,
                self.dice.randint(*high) / 100, self.dice.randint(*high) / 100]
        if self.dice.random() < 0.5:
            left, top, right, bottom = part
            return part, f'{left},{top},{right - left:.3f},{bottom - top:.3f}'
        width, height = self.size
        left, top = math.floor(part[0] * width), math.floor(part[1] * height)
        right, bottom = math.ceil(part[2] * width), math.ceil(part[3] * height)
        return [left / width, top / height, right / width, bottom / height], \
            f'{left},{top},{right - left},{bottom - top}'

    def set(self, name, part, value):
        self.watch.ask(f'set door hide.{name} {value}')
        self.covers[name] = part

    def needed(self, name):
        """Returns whether nothing else covers the secret."""
        def is_cover(part):
            return part and part[0] <= AT[0] and part[1] <= AT[1] and part[2] >= AT[2] and part[3] >= AT[3]
        return not any(is_cover(part) for other, part in self.covers.items() if other != name)

    def roi(self):
        self.set('roi', *self.part(self.needed('roi') or self.dice.random() < 0.5))

    def polygons(self):
        part, _ = self.part(self.needed('mask-polygons') or self.dice.random() < 0.5)
        left, top, right, bottom = part
        self.set('mask-polygons', part, f'{left},{top} {right},{top} {right},{bottom} {left},{bottom}')

    def masks(self):
        name = self.dice.choice(('m0.png', 'm1.png'))
        if name in self.away:
            if self.mask and not self.closed:  # the mask before it stays, also if it is the same
                self.watch.ask(f'set door hide.mask {self.folder}/{name}', ok=name == self.mask)
            return
        self.set('mask', [0.42, 0.42, 0.83, 0.83], f'{self.folder}/{name}')  # without the soft edges
        self.mask, self.closed = name, False

    def files(self):
        name = self.dice.choice(('m0.png', 'm1.png'))
        path = os.path.join(self.folder, name)
        if name not in self.away:
            os.rename(path, path + '.away')
            self.away.add(name)
            return
        os.rename(path + '.away', path)
        self.away.remove(name)
        if self.closed and name == self.mask:
            self.watch.wait('settings-applied', 'door')
            self.closed = False

    def sizes(self):
        size = self.dice.choice(self.SIZES)
        if size != self.size:
            self.camera.show(size)
            self.watch.wait('size', 'door')
        self.size = size

    def built_anew(self, command):
        self.watch.ask(command)
        self.watch.wait('back', 'door')
        self.closed = self.mask in self.away or self.closed

    def restart(self):
        self.built_anew('restart door')

    def loss(self):
        self.camera.cut()
        self.watch.wait('lost', 'door')
        self.restart()

    def reload(self):
        self.timeout = 23 - self.timeout
        self.watch.write(record(self.camera, self.LINE, self.folder, timeout=self.timeout))
        self.built_anew('reload')

    def other_process(self):
        """The process is killed, or ends; the next one hides the same."""
        saved(self.watch)
        if self.dice.random() < 0.7:
            self.watch.kill(signal.SIGKILL, -signal.SIGKILL)
        else:
            self.watch.end()
        self.note_files()
        self.watch.__exit__(None, None, None)
        self.watch = self.start()
        self.watch.wait('started', 'door')
        self.closed = self.mask in self.away or self.closed

    def note_files(self):
        self.finished |= {event['file'] for event in self.watch.events if event['type'] == 'piece-finished'}

    def other_format(self):
        self.camera.show(self.size, 'RGB')
        self.watch.wait('error', 'door')
        self.camera.show(self.size)
        self.watch.wait('lost', 'door')
        self.restart()

    def check(self, number):
        rows = shot(self.watch, self.folder)
        width, height = len(rows[0]), len(rows)
        expect((width, height) == self.size, (number, width, height, self.size))
        parts = [part for part in self.covers.values() if part] + [AT]
        for left, top, right, bottom in [(0, 0, 1, 1)] if self.closed else parts:
            for row in rows[math.ceil(top * height - 0.01):math.floor(bottom * height + 0.01)]:
                most = max(row[math.ceil(left * width - 0.01):math.floor(right * width + 0.01)], default=0)
                expect(most < 30, f'step {number}: {most} is open; {self.covers}, {self.closed}')
        expect(self.closed or rows[-2][2] > 30, f'step {number}: the whole frame is hidden')

    def run(self):
        often = [self.roi, self.polygons, self.masks, self.files, self.sizes] * 3 + [self.restart, self.reload] * 2
        for number in range(STEPS):
            self.dice.choice(often + [self.loss, self.other_format, self.other_process])()
            self.check(number)


def record(camera, line, folder, **settings):
    return config(camera, line, record={'folder': os.path.join(folder, 'rec')}, **settings)


def decode(path, seconds):
    """Returns the exit status of a program that decodes the file, None if it takes longer, and the samples."""
    try:
        done = subprocess.run(['gst-launch-1.0', '-q', 'filesrc', f'location={path}', '!', 'decodebin', '!',
                               'videoconvert', '!', 'video/x-raw,format=GRAY8', '!', 'fdsink'], check=False,
                              capture_output=True, timeout=seconds)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as error:
        return None, error.stdout or b''


def model(folder):
    """Random commands, losses, reloads, sizes, formats, processes, and files that come and go: no pixel is open that
    has to be hidden, in a snapshot after each step and in all that was recorded."""
    with Camera() as camera:
        camera.show(Model.SIZES[0], part=(0, 0, 0, 0))  # before anything is hidden
        steps = Model(folder, camera)
        try:
            camera.show(Model.SIZES[0])
            steps.run()
            steps.watch.end()
            steps.note_files()
        finally:
            steps.watch.__exit__(*sys.exc_info())
    pieces = glob.glob(os.path.join(folder, 'rec', '*.mkv'))
    for path in pieces:
        status, shown = decode(path, SECONDS if path in steps.finished else 5)
        # One that a killed process was writing may end anywhere, for which decodebin may wait for ever.
        expect(path not in steps.finished or (shown and status == 0), path)
        expect(max(shown, default=0) < 150, f'{path} shows a pixel of {max(shown, default=0)}')
    if not pieces:
        raise Skip('there is no encoder: nothing was recorded')


if __name__ == '__main__':
    sys.exit(main(other_format, mask_away, sizes, reload, restarts, model))
