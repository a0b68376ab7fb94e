#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: nothing unfiltered leaves, by no exit: small and large pictures and video of the page, MJPEG, HLS,
snapshots, RTSP, recordings. A bright secret is in all pictures of a camera, hidden by nothing but a command of the
first process. CF_WATCH_PICTURES=N has so many looked at; the first round has some thousand. See harness.py."""
import collections
import os
import shutil
import signal
import subprocess
import sys
import threading

from harness import SECONDS, Skip, expect, main, need
from hidden import AT, FILL, SMALL, Camera, saved, shot
from page import Eye as Asker
from page import Page
from streams import Pictures, Segments
from ws import BOTH, LARGE, MP4, TILE, Eye, connect

PICTURES = int(os.environ.get('CF_WATCH_PICTURES', '1'))
SIZE = 352, 264  # wider than a small picture
WIDTH, HEIGHT = 128, 96  # of what is decoded
PLUGIN = os.path.join(os.path.abspath(os.environ.get('CF_BUILD', 'build')), 'tests', 'faults', 'libfakecudafilters.so')
GRAY = ['!', 'decodebin', '!', 'videoconvert', '!', 'videoscale', '!',
        f'video/x-raw,format=GRAY8,width={WIDTH},height={HEIGHT}', '!', 'fdsink', 'sync=false']


def look(rows):
    """Returns the brightest pixel of the secret, and one beside all that hides."""
    left, top, right, bottom = (round(at * side) for at, side in zip(AT, (len(rows[0]), len(rows)) * 2))
    return max(max(row[left:right]) for row in rows[top:bottom]), rows[2][2]


def look_at(data):
    """Does so for all frames of this many bytes."""
    frames = [data[at:at + WIDTH * HEIGHT] for at in range(0, len(data), WIDTH * HEIGHT)]
    return [look([frame[y * WIDTH:(y + 1) * WIDTH] for y in range(HEIGHT)]) for frame in frames
            if len(frame) == WIDTH * HEIGHT]


def decode(*source, whole=True):
    """Returns what is seen in a file; of one that a killed process has left, in what is there."""
    try:
        done = subprocess.run(['gst-launch-1.0', '-q', *source, *GRAY], check=whole, capture_output=True,
                              timeout=SECONDS * 10 if whole else 5)
        return look_at(done.stdout)
    except subprocess.TimeoutExpired as error:
        expect(not whole, source)
        return look_at(error.stdout or b'')


class Viewer(threading.Thread):
    """Watches the camera by RTSP, again and again; `seen` has what it sees."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.command = ['gst-launch-1.0', '-q', 'rtspsrc', f'location=rtsp://127.0.0.1:{port}/door', 'latency=0',
                        'protocols=tcp', *GRAY]
        self.lock, self.seen, self.on, self.process = threading.Lock(), [], True, None
        self.start()

    def run(self):
        while True:
            with self.lock:
                if not self.on:
                    return
                self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            with self.process as process:
                while data := process.stdout.read(WIDTH * HEIGHT):
                    self.seen += look_at(data)

    def end(self):
        with self.lock:
            self.on = False
            self.process.kill()
        self.join()


class Exits:
    """Looks at all exits of a running cf-watch."""

    def __init__(self, page, folder):
        self.page, self.folder, self.snapshots = page, folder, []
        self.eye, self.viewer = Eye(page, MP4, TILE, LARGE), Viewer(page.ready['rtsp_port'])
        self.mjpeg, self.hls = Pictures(page), Segments(page)
        self.askers = [Asker(page, query) for query in ('', '?width=320')]
        for asker in self.askers:
            asker.start()

    def counts(self):
        return [*self.eye.counts(), len(self.viewer.seen), len(self.mjpeg.pictures),
                *(len(asker.pictures) for asker in self.askers)]

    def more(self, what):
        """Waits for more by each exit, and takes a snapshot."""
        ends = [n + 8 for n in self.counts()]
        self.page.until(what, lambda _: all(n >= end for n, end in zip(self.counts(), ends)))
        expect(not any(one.wrong for one in (self.eye, self.mjpeg, self.hls, *self.askers)), what)
        self.snapshots.append(look(shot(self.page, self.folder)))
        with connect(self.page) as client:
            client.send(BOTH)
            expect('shows no picture' in client.until(lambda m: isinstance(m, bytes) or 'error' in m)['error'], what)

    def end(self):
        """Returns what was seen by each exit but recordings."""
        self.hls.more('segments')  # some seconds after the last command
        for one in self.viewer, self.mjpeg, self.hls:
            one.end()
        for asker in self.askers:
            asker.on = False
        for asker in self.askers:
            asker.join()
        self.eye.end()
        path = os.path.join(self.folder, 'seen')
        seen = {'video': [], 'hls': [], 'rtsp': self.viewer.seen, 'snapshot': self.snapshots}
        streams = [b''.join(data for _, data in sorted(parts.items())) for parts in self.hls.streams.values()
                   if len(parts) > 1]  # more than the beginning
        for name, stream in [*(('video', stream) for stream in self.eye.streams), *(('hls', one) for one in streams)]:
            with open(path, 'wb') as file:
                file.write(stream)
            seen[name] += decode('filesrc', f'location={path}', '!', 'qtdemux')
        pictures = {'tile': self.eye.pictures[2], 'large': self.eye.pictures[3], 'mjpeg': self.mjpeg.pictures,
                    'asked': self.askers[0].pictures + self.askers[1].pictures}
        for name, list_of in pictures.items():
            for number, picture in enumerate(list_of):
                with open(f'{path}{number:06}.jpg', 'wb') as file:
                    file.write(picture)
            seen[name] = decode('multifilesrc', f'location={path}%06d.jpg', f'stop-index={len(list_of) - 1}',
                                'caps=image/jpeg,framerate=1/1')
            expect(len(seen[name]) == len(list_of), f'{len(seen[name])} of {len(list_of)} pictures are decoded')
        return seen


def recorded(folder, finished):
    """Returns what is seen in the recordings, and removes them."""
    seen = []
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        seen += decode('filesrc', f'location={path}', whole=path in finished)
        os.remove(path)
    return seen


class House:
    """One camera, and one process after the other."""

    def __init__(self, folder, camera):
        self.folder, self.camera, self.timeout = folder, camera, 11
        self.records = os.path.join(folder, 'rec')
        self.gpu = os.path.join(folder, 'gpu')
        os.mkdir(self.gpu)
        os.symlink(PLUGIN, os.path.join(self.gpu, 'libgstcudafilters.so'))
        self.seen = collections.defaultdict(list)

    def door(self):
        return {'door': {'source': self.camera.web.address, 'filter': FILL, 'live': True, 'timeout': self.timeout,
                         'record': {'folder': self.records, 'before': 0}}}

    def start(self):
        env = {'GST_PLUGIN_PATH': self.gpu, 'GST_REGISTRY': os.path.join(self.folder, 'registry.bin'),
               'GST_REGISTRY_FORK': 'no', 'FAKE_LOST_AT': '3000'}
        page = Page(self.door(), self.folder, env, rtsp={'port': 0})
        if 'rtsp_port' not in page.ready:
            raise Skip('built without gst-rtsp-server')
        expect(page.wait('started', 'door')['backend'] == 'cuda', 'the GPU is not used')
        return page

    def done(self, page, exits):
        """Has the recordings looked at, when the process has ended."""
        for name, list_of in exits.items():
            self.seen[name] += list_of
        finished = {event['file'] for event in page.events if event['type'] == 'piece-finished'}
        self.seen['recording'] += recorded(self.records, finished)

    def steps(self, page):
        """Does what may happen to a camera; yields what it was."""
        camera = self.camera
        yield 'at first'
        page.ask('restart door')
        page.wait('back', 'door')
        yield 'a restart'
        self.timeout = 23 - self.timeout
        page.write({'cameras': self.door(), 'page': {'port': 0}, 'rtsp': {'port': 0}})
        page.ask('reload')
        page.wait('back', 'door')
        yield 'a reload'
        for value in ('0,0', '2,2,x', '9' * 400):
            page.api('PUT', 'cameras/door/elements/hide/roi', value, 422)
        page.ask(f'set door hide.mask {self.folder}/none.png', ok=False)
        page.ask('set door hide.roi 0.3,0.3,0.6,0.6')
        page.ask('set door hide.roi 0.4,0.4,0.4,0.4')
        yield 'values'
        camera.show(SMALL)
        page.wait('size', 'door')
        yield 'another size'
        camera.show(SIZE, 'RGB')
        page.wait('size', 'door')
        yield 'another format'
        camera.show(SIZE)
        camera.cut()
        page.wait('lost', 'door')
        page.ask('restart door')
        page.wait('back', 'door')
        yield 'a loss'
        page.until('the GPU is lost', lambda status: status['cameras']['door']['backend'] == 'cpu')
        yield 'the loss of the GPU'
        page.ask('restart door')
        page.wait('back', 'door')
        yield 'a restart without the GPU'
        page.send('restart door\nset door hide.roi 1,2')  # what the next pipeline refuses hides all
        page.answer()
        page.answer()
        page.wait('back', 'door')
        yield 'a value that is refused'
        page.ask('set door hide.roi 0.4,0.4,0.4,0.4')
        saved(page)

    def round(self, kill):
        with self.start() as page:
            exits = Exits(page, self.folder)
            for what in self.steps(page):
                exits.more(what)
            seen = exits.end()
            if kill:
                page.kill(signal.SIGKILL, -signal.SIGKILL)
            else:
                page.end()
            self.done(page, seen)


def nothing_unfiltered(folder):
    """The secret is seen by no exit, whatever happens to the camera, its GPU and the process; and by each of them as
    soon as what the command has set is forgotten."""
    need('gst-launch-1.0')
    if not os.path.exists(PLUGIN):
        raise Skip(f'{PLUGIN} is not built')
    with Camera() as camera:
        house = House(folder, camera)
        camera.show(SIZE, part=(0, 0, 0, 0))
        with house.start() as page:
            page.ask('set door hide.roi 0.4,0.4,0.4,0.4')
            saved(page)
            page.end()
        camera.show(SIZE)
        shutil.rmtree(house.records)
        rounds = number = 0
        while rounds == 0 or number < PICTURES:
            house.round(kill=rounds % 2 == 0)
            rounds += 1
            for name, list_of in house.seen.items():
                secret, shown = max(secret for secret, _ in list_of), sum(rest > 40 for _, rest in list_of)
                expect(secret < 60, f'{name}: {secret} under the mask')
                expect(0 < shown, f'{name}: nothing is shown')
            number = sum(map(len, house.seen.values()))
            print(f'{rounds} rounds, {number} pictures: ' + ', '.join(
                f'{len(list_of)} {name}' for name, list_of in house.seen.items()), flush=True)
        house.seen.clear()
        with house.start() as page:
            page.ask('forget door')
            page.wait('back', 'door')
            exits = Exits(page, folder)
            exits.more('what is not hidden')
            seen = exits.end()
            page.end()
            house.done(page, seen)
        blind = [name for name, list_of in house.seen.items() if max(secret for secret, _ in list_of) < 150]
        expect(len(house.seen) == 9 and not blind, f'{blind} would not show it either')


if __name__ == '__main__':
    sys.exit(main(nothing_unfiltered))
