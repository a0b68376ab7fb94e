#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: what it may do a million times in a year keeps no memory and no descriptor. Each test does it a few times,
and then many times: afterwards malloc has no more in use (heap.c). See harness.py."""
import contextlib
import glob
import json
import os
import socket
import sys
import time
import urllib.error
import urllib.request

import harness
from harness import Failed, Skip, Watch, expect, main
from websocket import CLOSE, WebSocket

HEAP = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(harness.PROGRAM))), 'tests', 'watch', 'libheap.so')
# After a halt of the process the source brings all late frames at once, and two pools keep what they had to add: up to
# nine frames. So frames are small: nine of them, with their buffers, take 10 KB of what NOISE allows.
CAMERA = {'source': 'test:ball', 'width': 16, 'height': 16, 'rate': 30,
          'filter': 'cudamedian name=m backend=cpu'}  # the driver of a GPU has blocks of its own
NOISE = 16 << 10  # bytes: a frame under way, or what is parsed just now


class Counted(Watch):
    """A running cf-watch, and what it holds: with the address sanitizer its descriptors alone, see heap ()."""

    def __init__(self, config, folder):
        self.door = os.path.join(folder, 'heap')
        # A count that is exact: no slices of GLib, no cache of each thread.
        super().__init__(config, folder, env={'LD_PRELOAD': os.path.abspath(HEAP), 'CF_HEAP': self.door,
                                              'XDG_STATE_HOME': folder, 'G_SLICE': 'always-malloc',
                                              'GLIBC_TUNABLES': 'glibc.malloc.tcache_count=0'})
        self.ready = self.wait('ready')
        if config['cameras']:  # whose index, opened later, would count as growth
            self.until('the index', lambda _: glob.glob(os.path.join(folder, 'cf-watch', 'index-*.db-wal')))

    def heap(self):
        """Returns the bytes in use; 0 where malloc counts nothing, and no bound on them is ever passed."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.door)
            used = int(client.makefile().read())
        expect(used or harness.sanitized(), 'malloc counts nothing')
        return used

    def descriptors(self):
        return len(os.listdir(f'/proc/{self.process.pid}/fd'))

    def does_not_grow(self, what, action, few=40, many=200, noise=NOISE, settle=lambda: None):
        """`action (number)` may leave something behind the first time, not each time. What ends in other threads gets
        the time for it, and what begins there has begun when `settle ()` returns."""
        for number in range(few):
            action(number)
        settle()
        heap, descriptors = self.heap(), self.descriptors()
        for number in range(many):
            action(number)
        deadline = time.monotonic() + harness.SECONDS
        while self.heap() > heap + noise or self.descriptors() > descriptors + 3:
            expect(time.monotonic() < deadline, f'{what}, {many} times: {(self.heap() - heap) // many} bytes and '
                   f'{(self.descriptors() - descriptors) / many:.2f} descriptors more each time')
            with contextlib.suppress(Failed):
                self.read(time.monotonic() + 0.1)


def counted(config, folder):
    if not os.path.exists(HEAP):
        raise Skip('this C library has no mallinfo2')
    return Counted(config, folder)


def restarts(folder):
    """A camera that is built anew, one that cannot be had, one that is refused, and one with other settings."""
    config = {'cameras': {'up': CAMERA, 'away': {'source': 'no such file'},
                          'bad': {**CAMERA, 'filter': 'cudamedian kernel-size=4'}}}
    with counted(config, folder) as watch:
        last = {'up': watch.wait('started', 'up'), 'away': watch.wait('lost', 'away', after=watch.ready),
                'bad': watch.wait('failed', 'bad', after=watch.ready)}

        def restart(name, kind):
            watch.ask(f'restart {name}')
            last[name] = watch.wait(kind, name, after=last[name])

        def change(number):
            watch.write({'cameras': {**config['cameras'], 'up': {**CAMERA, 'rate': 20 + number % 2}}})
            watch.ask('reload')
            last['up'] = watch.wait('back', 'up', after=last['up'])

        watch.does_not_grow('restart', lambda _: restart('up', 'back'), many=500)
        watch.does_not_grow('a camera that is not there', lambda _: restart('away', 'lost'), many=500)
        watch.does_not_grow('a value that is refused', lambda _: restart('bad', 'failed'))
        watch.does_not_grow('reload with a change', change)
        watch.end()


def recordings(folder):
    """A camera that is built anew while it is recorded: the encoder, and a session that ends with its file."""
    camera = {**CAMERA, 'record': {'folder': os.path.join(folder, 'records')}}
    with counted({'cameras': {'up': camera}}, folder) as watch:
        last = watch.wait('started', 'up')
        if any(event['type'] == 'recording-failed' for event in watch.events):
            raise Skip('no encoder for H.264')

        def restart(_):
            nonlocal last
            watch.ask('restart up')
            last = watch.wait('back', 'up', after=last)

        def records():
            """Waits for a piece of the last session's frames. Its first one may have begun before the camera is back,
            or be that of the session before, which goes on where time stamps do; so recording begins anew."""
            piece = last
            while piece is last or piece['start'] < last['time']:
                watch.ask('record up off')
                watch.ask('record up on')
                piece = watch.wait('piece-begun', 'up', after=piece)

        # The encoder is opened behind the first frame, and takes 4 MB: the first count has to have it, too. Between two
        # of its frames, and while a session begins, there is up to half a megabyte less.
        watch.does_not_grow('restart of a recorded camera', restart, noise=1 << 20, settle=records)
        watch.end()


def commands(folder):
    """Commands, right and wrong. The size stays: a filter of another size has other memory."""
    with counted({'cameras': {'up': CAMERA}}, folder) as watch:
        watch.wait('started', 'up')

        def ask(_):
            for line in ('set up m.kernel-size 3', 'get up m.kernel-size', 'enable up off', 'enable up on', 'status',
                         'reload'):
                watch.ask(line)
            for line in ('no such command', 'set up m.no-such 1', 'set up m.kernel-size x', 'add up {}',
                         'add new {"source":', 'add new ' + json.dumps({**CAMERA, 'filter': 'no-such'})):
                watch.ask(line, ok=False)

        watch.does_not_grow('commands', ask)
        picture = os.path.join(folder, 'picture.jpg')
        watch.does_not_grow('snapshot', lambda _: watch.ask(f'snapshot up --overwrite {picture}'), many=40)
        watch.end()


def clients(folder):
    """Clients of the control socket and of the metrics: those that end, hang up, and go without a word."""
    with counted({'cameras': {}, 'control': {'socket': os.path.join(folder, 'control')}, 'metrics': {'port': 0}},
                 folder) as watch:
        port = watch.ready.get('metrics_port')
        watch.does_not_grow('control', lambda _: harness.talk(os.path.join(folder, 'control'), 'status\nquack\n'))
        if not port:
            raise Skip('the metrics: built without libsoup')
        silent = [socket.create_connection(('127.0.0.1', port), timeout=harness.SECONDS) for _ in range(10)]

        def fetch(_):
            with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=harness.SECONDS) as answer:
                answer.read()

        def hang_up(number):
            with socket.create_connection(('127.0.0.1', port), timeout=harness.SECONDS) as client:
                client.sendall(b'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'[:None if number % 2 else 12])
                text = b''
                while number % 2 and not text.endswith(b'ok\n'):
                    text += client.recv(4096) or b'ok\n'
                expect(number % 2 == 0 or b'\r\nConnection: close\r\n' in text, text)

        watch.does_not_grow('metrics', fetch, many=500)
        watch.does_not_grow('metrics, of a client that hangs up', hang_up, many=500)
        for client in silent:
            expect(client.recv(1) == b'', 'a silent client is not disconnected')
            client.close()
        watch.end()


def pages(folder):
    """What the page asks, right and wrong, and pictures in memory."""
    with counted({'cameras': {'up': CAMERA}, 'page': {'port': 0}}, folder) as watch:
        port = watch.ready.get('page_port')
        if not port:
            raise Skip('built without libsoup')
        watch.wait('started', 'up')
        with open(os.path.join(folder, 'cf-watch', 'page-token'), encoding='ascii') as file:
            token = file.read()

        def ask(path, value=None, status=200):
            request = urllib.request.Request(
                f'http://127.0.0.1:{port}/{path}', None if value is None else json.dumps({'value': value}).encode(),
                {'Authorization': 'Bearer ' + token, 'Content-Type': 'application/json'},
                method='GET' if value is None else 'PUT')
            try:
                with urllib.request.urlopen(request, timeout=harness.SECONDS) as answer:
                    expect(status == 200 and answer.read(), path)
            except urllib.error.HTTPError as error:
                expect(error.code == status and error.read(), (path, error))

        def visit(_):
            for path in ('', 'page.js', 'api/v1/status', 'api/v1/cameras/up/elements'):
                ask(path)
            ask('api/v1/cameras/up/elements/m/kernel-size', 3)
            ask('api/v1/cameras/up/elements/m/kernel-size', 4, 422)
            ask('api/v1/cameras/up/elements/m/nothing', 4, 404)
            ask('api/v1/cameras/up/elements/m/enabled', [], 400)
            ask('nothing', status=404)

        watch.does_not_grow('the page', visit)
        watch.does_not_grow('pictures', lambda _: ask('api/v1/cameras/up/snapshot.jpg'), many=100)
        watch.does_not_grow('small pictures', lambda _: ask('api/v1/cameras/up/snapshot.jpg?width=320'), many=100)
        watch.end()


def sockets(folder):
    """Pages that are opened and closed: with a word, without one, and while pictures are under way."""
    with counted({'cameras': {'up': {**CAMERA, 'live': True}}, 'page': {'port': 0}}, folder) as watch:
        port = watch.ready.get('page_port')
        if not port:
            raise Skip('built without libsoup')
        watch.wait('started', 'up')
        with open(os.path.join(folder, 'cf-watch', 'page-token'), encoding='ascii') as file:
            login = {'Authorization': 'Bearer ' + file.read()}

        def visit(number):
            with WebSocket(port, login) as client:
                for channel, how in enumerate(('mp4', 'jpeg', 'mp4', 'jpeg'), 1):
                    client.send({'watch': 'up', 'channel': channel, 'as': how})
                if number % 4:
                    client.until(lambda message: isinstance(message, bytes))
                    client.send({'stop': 1})
                    client.send(b'quack')
                if number % 2:
                    client.send(b'', CLOSE)
                    while client.data or client.socket.recv(1 << 16):
                        client.data = b''

        def nobody():
            watch.until('nobody looks', lambda status: status['cameras']['up']['live']['clients'] == 0)

        watch.does_not_grow('a page that is opened', visit, settle=nobody)
        watch.end()


if __name__ == '__main__':
    sys.exit(main(restarts, recordings, commands, clients, pages, sockets))
