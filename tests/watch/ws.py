#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: live pictures for pages: who may connect, that none of before a command comes after it, video against other
programs' demuxers, clients that misbehave, and, where there is Chromium, the page that plays it. See harness.py."""
import contextlib
import json
import os
import random
import select
import subprocess
import sys
import threading
import time

import harness
from harness import SECONDS, Skip, expect, free_port, main, need, run
from hidden import Camera
from live import memory
from page import HIDE, Page, bearer, door, gray, middle
from webdriver import Browser
from websocket import BINARY, CLOSE, PING, TEXT, Refused, WebSocket

BEGIN, FRAME, JPEG, PAIR = range(4)
MP4 = {'watch': 'door', 'channel': 1, 'as': 'mp4'}
TILE = {'watch': 'door', 'channel': 2, 'as': 'jpeg', 'width': 320}
LARGE = {'watch': 'door', 'channel': 3, 'as': 'jpeg'}
BOTH = {'watch': 'door', 'channel': 4, 'as': 'both'}


def connect(page, buffer=None, **headers):
    return WebSocket(page.port, {**bearer(page.token), **headers}, buffer)


class Eye(threading.Thread):
    """Watches a camera, and acknowledges what comes. `streams` has the files that the messages of mp4 make, `pictures`
    the JPEGs of each channel, `texts` all else."""

    def __init__(self, page, *asked):
        super().__init__(daemon=True)
        self.lock, self.socket = threading.Condition(), connect(page)
        self.streams, self.frames, self.texts = [], [], []
        self.pictures = {how['channel']: [] for how in asked if how['as'] == 'jpeg'}
        self.got, self.wrong = {how['channel']: 0 for how in asked}, None
        for how in asked:
            self.socket.send(how)
        self.start()

    def run(self):
        try:
            while True:
                message = self.socket.read()
                with self.lock:
                    self.take(message)
                    self.lock.notify_all()
        except (EOFError, OSError) as error:
            with self.lock:
                self.wrong = error
                self.lock.notify_all()

    def take(self, message):
        if not isinstance(message, bytes):
            self.texts.append(message)
            return
        kind, channel = message[:2]
        self.got[channel] += len(message)
        self.socket.send({'ack': channel, 'bytes': self.got[channel]})
        if kind == JPEG:
            self.pictures[channel].append(message[2:])
        elif kind == BEGIN:
            self.streams.append(bytearray(message[2:]))
            self.frames.append(0)
        else:
            self.streams[-1] += message[2:]
            self.frames[-1] += 1

    def counts(self):
        return [sum(self.frames), *map(len, self.pictures.values())]

    def wait(self, what, condition):
        with self.lock:
            expect(self.lock.wait_for(lambda: self.wrong or condition(self), SECONDS), f'{what}: it is late')
            expect(not self.wrong, f'{what}: {self.wrong}')

    def more(self, what):
        """Waits for more of everything. JPEGs come five times a second at most."""
        ends = [n + (20 if i == 0 else 5) for i, n in enumerate(self.counts())]
        self.wait(what, lambda _: all(n >= end for n, end in zip(self.counts(), ends)))

    def end(self):
        self.socket.socket.shutdown(2)
        self.join()
        self.socket.socket.close()


def checks(folder):
    """Who may connect: as for every other request, and others are refused before there is a WebSocket."""
    with Page(door(), folder) as page:
        page.wait('started', 'door')
        own, login = f'127.0.0.1:{page.port}', bearer(page.token)
        cookie = {'Cookie': f'cf-watch-{page.port}={page.token}'}
        for status, headers in (
                (101, login), (101, cookie), (101, {**cookie, 'Origin': 'http://' + own}),
                (101, {**login, 'Host': 'localhost'}),
                (401, {}), (401, {'Authorization': 'Bearer x'}), (401, {'Cookie': f'cf-watch-{page.port}=x'}),
                (403, {**cookie, 'Origin': 'http://evil.example'}), (403, {**cookie, 'Origin': 'null'}),
                (403, {**login, 'Origin': 'https://' + own}), (403, {**cookie, 'Origin': f'http://{own}.evil.example'}),
                (421, {**cookie, 'Host': 'evil.example'}), (421, {**login, 'Host': '127.0.0.2'}),
                (400, {**login, 'Upgrade': 'h2c'}), (400, {**login, 'Sec-WebSocket-Version': '8'}),
                (400, {**login, 'Sec-WebSocket-Key': ''}), (400, {**login, 'Sec-WebSocket-Key': 'x'}),
                (400, {**login, 'Connection': 'close'})):
            try:
                with WebSocket(page.port, headers) as client:
                    expect(status == 101 and 'door' in client.read()['cameras'], headers)
            except Refused as refused:
                got, _, body = refused.args
                expect(got == status and not json.loads(body)['ok'], (headers, refused.args))
        page.api('GET', 'ws', status=400)
        page.api('POST', 'ws', status=405)
        page.end()
    # A `live` that nobody can see is hardly meant.
    for more, noted in (({}, True), ({'page': {'port': 0}}, False)):
        page.write({'cameras': door(live=True), **more})
        status, _, text = run('--check', page.path)
        expect(status == 0 and ('nobody can watch' in text) == noted, text)


def states(folder):
    """What comes unasked: the states of all cameras, what changes, and events; what is refused, and by which words."""
    cameras = {**door(live=True), 'plain': {'source': 'test', 'width': 64, 'height': 48}}
    with Page(cameras, folder) as page:
        page.wait('started', 'door', after=page.ready)
        page.wait('started', 'plain', after=page.ready)
        with connect(page) as client:
            found = client.read()['cameras']
            expect(found['door']['state'] == 'up' and found['door']['video'] and not found['plain']['video'], found)
            page.api('PUT', 'cameras/door/elements/hide/roi', '0,0,1,1')
            event = client.until(lambda m: 'event' in m)['event']
            expect((event['type'], event['command'], event['by']) == ('command', 'set', 'page'), event)
            page.ask('remove plain')
            client.until(lambda m: m.get('cameras', {}).get('plain', '') is None)
            page.ask('add yard {"source":"no such file"}')
            yard = client.until(lambda m: m.get('cameras', {}).get('yard', {}).get('reason'))['cameras']['yard']
            expect(yard['state'] == 'waiting', yard)
            for message, words in (
                    ({'watch': 'none', 'channel': 1}, 'no such camera'), ({'watch': 'door'}, 'channel'),
                    ({'watch': 'door', 'channel': 256}, 'channel'), ({'watch': 'yard', 'channel': 1}, 'not encoded'),
                    ({'watch': 'door', 'channel': 1, 'as': 'png'}, 'mp4'), ({**MP4, 'channel': True}, 'channel'),
                    ({**TILE, 'width': 321}, 'width'), ({**TILE, 'rate': 6}, 'rate'), ({}, 'needs'), ([], 'object'),
                    ({'watch': 'door', 'channel': 1, 'quality': 1}, 'quality'), (b'{', ''), (b'', ''), (b'\xff', ''),
                    (b'[' * 4000, ''), ({'ack': 1, 'bytes': -1}, 'bytes')):
                client.send(message)
                expect(words in client.until(lambda m: 'error' in m)['error'], message)
            for message in ({'stop': 9}, {'ack': 9, 'bytes': 5}, MP4, {**MP4, 'channel': 2}):
                client.send(message)
            for message in (MP4, {**MP4, 'channel': 3}):
                client.send(message)
                expect('channel' in client.until(lambda m: not isinstance(m, bytes) and 'error' in m)['error'], message)
        page.end()
        expect(page.token not in page.text + page.stderr(), 'the token is shown')


def probe(path):
    """Returns the PTS of all frames in ns, as ffprobe decodes them, and the size."""
    text = subprocess.run(['ffprobe', '-v', 'error', '-show_entries', 'stream=width,height,codec_name:frame=pts', '-of',
                           'json', path], capture_output=True, text=True, check=True, timeout=SECONDS)
    expect(not text.stderr, text.stderr)
    found = json.loads(text.stdout)
    stream = found['streams'][0]
    expect(stream['codec_name'] == 'h264' and len(found['streams']) == 1, stream)
    return [frame['pts'] * 10**9 / 90000 for frame in found['frames']], (stream['width'], stream['height'])


def fragments(folder):
    """What fmp4.c writes, for other programs: ffprobe and qtdemux find every frame at its time, also where frames are
    shown in another order than they are decoded in."""
    need('ffprobe', 'gst-launch-1.0', 'gst-inspect-1.0')
    program = os.path.join(os.path.dirname(harness.PROGRAM), '..', '..', 'tests', 'watch', 'fmp4')
    if subprocess.run(['gst-inspect-1.0', '--exists', 'x264enc'], check=False).returncode:
        raise Skip('x264enc is missing')
    for bframes, more in ((0, 'tune=zerolatency'), (3, ''), (3, 'b-pyramid=true b-adapt=false')):
        path = os.path.join(folder, 'video.mp4')
        lines = subprocess.run([program, path, f'x264enc bframes={bframes} key-int-max=30 {more}'],
                               capture_output=True, text=True, check=True, timeout=SECONDS).stdout.splitlines()
        frames = [tuple(map(int, line.split())) for line in lines]
        expect(len(frames) == 100, len(frames))
        reordered = sum(pts != dts for pts, dts, _ in frames)
        expect((reordered > 50) == (bframes > 0), f'{reordered} frames are reordered')
        shown = sorted(pts for pts, _, _ in frames)
        found, size = probe(path)
        expect(size == (162, 98) and len(found) == 100, (size, len(found)))
        expect(all(abs(a - b) < 12000 for a, b in zip(shown, found)), list(zip(shown, found))[:5])  # a unit is 11 µs
        text = subprocess.run(['gst-launch-1.0', '-v', 'filesrc', f'location={path}', '!', 'qtdemux', '!', 'fakesink',
                               'silent=false', 'sync=false'], capture_output=True, text=True, check=True,
                              timeout=SECONDS).stdout
        expect(sum('chain' in line for line in text.splitlines()) == 100, 'frames of qtdemux')
        decoded = subprocess.run(['gst-launch-1.0', '-q', 'filesrc', f'location={path}', '!', 'qtdemux', '!',
                                  'decodebin', '!', 'videoconvert', '!', 'video/x-raw,format=GRAY8', '!', 'fdsink'],
                                 capture_output=True, check=True, timeout=SECONDS).stdout
        expect(len(decoded) == 100 * 164 * 98, f'{len(decoded)} bytes')


def video(folder):
    """A camera's own stream: whole from the first frame on, in time; another size makes it begin anew."""
    need('ffprobe')
    with Camera() as camera:
        camera.show((128, 96))
        cameras = {'door': {'source': camera.web.address, 'filter': HIDE, 'live': True}}
        with Page(cameras, folder) as page:
            page.wait('started', 'door')
            page.until('frames', lambda s: s['cameras']['door']['frames'] > 30)
            eyes = [Eye(page, MP4) for _ in range(2)]
            for eye in eyes:
                eye.wait('frames', lambda e: sum(e.frames) > 60)
            camera.show((64, 48))
            page.wait('size', 'door')
            for eye in eyes:
                eye.wait('another size', lambda e: len(e.streams) > 1 and e.frames[-1] > 30)
            page.ask('restart door')
            page.wait('back', 'door')
            for eye in eyes:
                eye.wait('after a restart', lambda e: len(e.streams) > 2 and e.frames[-1] > 10)
                eye.end()
            page.end()
    for eye in eyes:
        expect(sum(text.get('away', False) for text in eye.texts) >= 2, 'it says that the stream has ended')
        expect(all(text['codec'].startswith('avc1.') for text in eye.texts if 'codec' in text), eye.texts)
        sizes = []
        for stream, frames in zip(eye.streams, eye.frames):
            path = os.path.join(folder, 'stream.mp4')
            with open(path, 'wb') as file:
                file.write(stream)
            times, size = probe(path)
            sizes.append(size)
            steps = [b - a for a, b in zip(times, times[1:])]
            expect(len(times) == frames and times[0] == 0 and all(0 < step < 2e9 for step in steps), (frames, times))
        expect(sizes == [(128, 96), (64, 48), (64, 48)], sizes)


def given(folder):
    """A camera is given what hides by a command, while a picture of it, a large one, is being made: once the page has
    heard of the command, none of before comes."""
    cameras = {'door': {'source': 'test:white', 'width': 5120, 'height': 2880, 'rate': 10}}
    whole, corner = '0.0,0.0,1.0,1.0', '0.0,0.0,0.1,0.1'
    with Page(cameras, folder) as page, connect(page) as client:
        page.wait('started', 'door')
        got = 0

        def until(condition):
            """Acknowledges what comes until the condition holds, as soon as it does."""
            nonlocal got
            message = None
            while not message or not condition(message):
                message = client.read()
                if isinstance(message, bytes):
                    got += len(message)
                    client.send({'ack': 3, 'bytes': got})
            return message

        def commanded(command):
            page.ask(command)
            until(lambda m: not isinstance(m, bytes) and
                  m.get('event', {}).get('arguments') == command.split(' ', 2)[2])

        def picture():
            return until(lambda m: isinstance(m, bytes))[2:]

        client.send(LARGE)
        hide, pictures = HIDE.replace('0.25,0.25,0.5,0.5', whole), []
        for turn, (show, command) in enumerate([('', f'filter door {hide}')] + 3 * [
                (f'set door hide.roi {corner}', f'set door hide.roi {whole}'), ('enable door off', 'enable door on')]):
            if turn:
                commanded(show)
                picture()
            pictures.append((command, True, picture()))
            begun = page.ask('status')['status']['cameras']['door']['frames']
            page.until('the next one', lambda s, n=begun + turn % 5: s['cameras']['door']['frames'] > n)
            commanded(command)
            pictures.append((command, False, picture()))
        page.end()
        for (command, shown, _), frame in zip(pictures, gray([picture for _, _, picture in pictures], folder)):
            expect(max(frame) > 200 if shown else max(frame) < 60, f'{max(frame)} {"before" if shown else "after"} '
                   f'{command}')


def take_pairs(client, n):
    """Yields so many pairs, and acknowledges them."""
    got = 0
    for _ in range(n):
        message = client.until(lambda m: isinstance(m, bytes) or 'error' in m)
        expect(isinstance(message, bytes), message)
        expect(message[0] == PAIR and message[1] == 4, message[:2])
        got += len(message)
        client.send({'ack': 4, 'bytes': got})
        length = int.from_bytes(message[2:6], 'big')
        yield message[6:6 + length], message[6 + length:]


def compared(line, source='test:snow', **page):
    return {'door': {'source': source, 'width': 160, 'height': 120, 'rate': 50, 'filter': line, 'live': True,
                     'page': page}}


def pairs(folder):
    """Before and after the filter: the same frame, also where frames leave late, are dropped, or change their size; and
    no tee stands before any filter."""
    same = ('identity', 'queue min-threshold-buffers=5 max-size-buffers=9', 'identity drop-probability=0.5',
            'cudaconvolve enabled=false frames-in-flight=4',
            'cudamedian kernel-size=1 temporal-depth=9 temporal-center=true enabled=false')
    links = {'GST_DEBUG': 'GST_PADS:4', 'GST_DEBUG_NO_COLOR': '1'}
    with Page(compared('identity', original=True), folder, links) as page:
        page.wait('started', 'door')
        for line in same:
            page.api('PUT', 'cameras/door/filter', line)
            page.wait('back', 'door')
            with connect(page) as client:
                expect(client.read()['cameras']['door']['original'] is True, 'the page is not told')
                client.send(BOTH)
                both = list(take_pairs(client, 4))
                expect(all(before == after and before[:2] == b'\xff\xd8' for before, after in both),
                       f'{line}: two frames')
                expect(len(set(both)) == 4, f'{line}: a frame that is no new one')  # snow is never the same
        page.api('PUT', 'cameras/door/filter', 'videocrop left=100')
        page.wait('back', 'door')
        with connect(page) as client:
            client.send(BOTH)
            (before, after), = take_pairs(client, 1)
            expect(len(after) < 0.6 * len(before), 'the size')
        page.api('PUT', 'cameras/door/filter', 'videorate rate=0.37')
        page.wait('back', 'door')
        with connect(page) as client:
            client.send(BOTH)
            said = client.until(lambda m: not isinstance(m, bytes) and 'error' in m)
            expect('other times' in said['error'] and said['channel'] == 4, said)
        page.end()
        linked = [line for line in page.stderr().splitlines() if 'linked' in line and 'successful' in line]
        tees = [line for line in linked if 'and tee' in line]  # behind the filter's bin, one a pipeline
        expect(len(tees) >= 8 and all(' linked bin' in line and ':src and tee:sink' in line for line in tees), tees)


def originals(folder):
    """What hides still hides on its side, and the other one is the camera's own picture. Without `original` there is no
    pair, also where the file takes it away while somebody looks; --check notes that it is there."""
    with Page(compared(HIDE, 'test:white', original=True), folder) as page:
        page.wait('started', 'door')
        with connect(page) as client:
            client.send(BOTH)
            both = list(take_pairs(client, 5))
            for i, dark in enumerate((False, True)):
                inside = os.path.join(folder, f'side{i}')
                os.mkdir(inside)
                for frame in gray([pair[i] for pair in both], inside):
                    middle_ones = [frame[y * 160 + x] for y in range(36, 84) for x in range(48, 112)]
                    expect(max(middle_ones) < 60 if dark else min(middle_ones) > 200, (i, middle_ones[:9]))
                    expect(frame[2 * 160 + 2] > 200, 'beside the mask')
            # The file takes it away while somebody looks.
            page.write({'cameras': compared(HIDE, 'test:white'), 'page': {'port': 0}})
            page.ask('reload')
            page.wait('back', 'door')
            client.until(lambda m: not isinstance(m, bytes) and
                         m.get('cameras', {}).get('door', {}).get('original') is False)
            client.send({**LARGE, 'rate': 5})
            for _ in range(3):
                message = client.until(lambda m: isinstance(m, bytes))
                expect(message[0] == JPEG, 'a pair that the file does not allow any more')
                client.send({'ack': 3, 'bytes': 10**9})
            client.send({'stop': 4})
            client.send({**BOTH, 'channel': 5})
            said = client.until(lambda m: not isinstance(m, bytes) and 'error' in m)
            expect('"original"' in said['error'], said)
        page.end()
    for page_on, original in ((True, True), (True, False), (False, True)):
        config = {'cameras': compared(HIDE, original=original), **({'page': {'port': 0}} if page_on else {'rtsp': {}})}
        page.write(config)
        status, _, text = run('--check', page.path)
        expect(status == 0 and ('unfiltered pictures of door' in text) == (page_on and original), text)


def snow(folder, **settings):
    """A camera whose frames are large."""
    return {'door': {'source': 'test:snow', 'width': 320, 'height': 240, 'rate': 25, 'live': True, **settings,
                     'record': {'folder': os.path.join(folder, 'rec'), 'quality': 1, 'when': 'off', 'before': 0}}}


def slow(folder):
    """Who never reads, never acknowledges, or acknowledges what it does not read, loses frames up to a key frame for
    itself alone, and takes no memory; the camera loses no frame."""
    with Page(snow(folder), folder) as page:
        page.wait('started', 'door')
        reader = Eye(page, MP4)
        reader.wait('frames', lambda eye: sum(eye.frames) > 5)
        with contextlib.ExitStack() as clients:
            def client(*messages):
                made = clients.enter_context(connect(page, 4096))
                for message in messages:
                    made.send(message)
                return made

            for _ in range(3):
                client(MP4, TILE)  # it never reads
            liars = [client(MP4, {**LARGE, 'rate': 5}) for _ in range(3)]

            def lie(status, number):
                for liar in liars:
                    for channel in (1, 3):
                        liar.send({'ack': channel, 'bytes': 10**15})
                return status['cameras']['door']['live']['dropped'] > number
            silent = [Eye(page) for _ in range(2)]  # they never acknowledge
            for eye in silent:
                eye.take = lambda message, eye=eye: eye.texts.append(message)
                eye.socket.send(MP4)
            page.until('the first are dropped', lambda status: lie(status, 20))
            before = memory(page)
            status = page.until('many are dropped', lambda status: lie(status, 700))
            expect(memory(page) < before + 16, f'{before} MiB, then {memory(page)}')
            expect(before < 400 or harness.sanitized(), f'{before} MiB')
            for liar in liars:
                liar.send({})  # the answer comes behind all that waits
                waiting = []
                while isinstance(message := liar.read(), bytes) or 'error' not in message:
                    waiting.append(message[0] if isinstance(message, bytes) else None)
                    expect(waiting[-1] != JPEG or message.endswith(b'\xff\xd9'), 'not as it was sent')
                expect(waiting.count(JPEG) < 15, f'{waiting.count(JPEG)} pictures wait for one that does not read')
            for eye in silent:
                with eye.lock:
                    expect(sum(map(len, filter(lambda m: isinstance(m, bytes), eye.texts))) < 16 << 20, 'too much')
                eye.socket.send({'ack': 1, 'bytes': 10**15})
                n = len(eye.texts)
                eye.wait('it goes on', lambda e, n=n: sum(isinstance(m, bytes) for m in e.texts[n:]) > 10)
                eye.end()
        door_status = status['cameras']['door']
        expect(door_status['restarts'] == 0 and door_status['dropped'] == 0, door_status)
        reader.wait('frames', lambda eye: eye.frames[-1] > 50)
        reader.end()
        expect(len(reader.streams) == 1, 'the stream of one that reads has ended')
        path = os.path.join(folder, 'stream.mp4')
        with open(path, 'wb') as file:
            file.write(reader.streams[0])
        times, _ = probe(path)
        steps = [b - a for a, b in zip(times, times[1:])]
        expect(max(steps) < 1e9, f'the one that reads has a gap of {max(steps) / 1e9} s')
        page.until('nobody looks', lambda s: s['cameras']['door']['live']['clients'] == 0)
        page.end()


def enemies(folder):
    """A hundred connections; frames that are wrong, too long, in parts, or without a mask; floods: each ends for itself
    alone."""
    with Page(door(live=True, rate=30), folder) as page:
        page.wait('started', 'door')
        few = page.descriptors()
        eye = Eye(page, MP4, TILE)
        eye.more('at first')
        with contextlib.ExitStack() as clients:
            made = 0
            for _ in range(100):
                with contextlib.suppress(Refused, EOFError, ConnectionError):
                    clients.enter_context(connect(page))
                    made += 1
            expect(made == 31, f'{made} of 100 are served')
            page.api('GET', 'status')
            try:
                connect(page)
                expect(False, 'one more is served')
            except Refused as refused:
                expect(refused.args[0] == 503, refused.args)
            eye.more('beside a hundred')
        wrong = [
            (1002, dict(payload=b'{}', masked=False)), (1002, dict(payload=b'{}', kind=0x40 | TEXT)),
            (1002, dict(payload=b'{}', kind=3)), (1002, dict(payload=b'{}', kind=11)),
            (1002, dict(payload=b'', kind=PING, last=False)), (1002, dict(payload=b'a' * 126, kind=PING)),
            (1003, dict(payload=b'{}', kind=BINARY)), (1009, dict(payload=b'a' * 4097)),
            (1009, dict(payload=b'{', last=False)), (1009, dict(payload=b'}', kind=0)),
            (1009, dict(payload=b'', length=1 << 62)), (1009, dict(payload=b'a' * 65536)),
            (1001, dict(payload=b'\x03\xe8', kind=CLOSE))]
        for code, frame in wrong:
            with connect(page) as client:
                client.read()
                client.send(**frame)
                try:
                    while True:
                        client.read()
                except EOFError as error:
                    expect(error.args in ((code,), ()), (frame, error.args))
                except ConnectionError:
                    pass  # what it had not read was lost with the connection, and so was the reason
        with connect(page) as client:
            client.send(b'hello', PING)
            while (frame := client.frame())[0] == TEXT:
                pass
            expect(frame == (10, b'hello'), frame)
            client.send(TILE)
            client.until(lambda m: isinstance(m, bytes))
        with connect(page) as client:  # it begins a thousand videos, of which it wants none
            for _ in range(1000):
                client.send(MP4)
                client.send({'stop': 1})
            client.send({})
            client.until(lambda m: not isinstance(m, bytes) and 'error' in m)
        # A frame may come with the handshake, and byte by byte.
        with WebSocket(page.port, bearer(page.token), early=b'\x81\x82\0\0\0\0{}') as client:
            expect('needs' in client.until(lambda m: 'error' in m)['error'], 'early')
            for byte in b'\x81\x82\0\0\0\0[]':
                client.socket.sendall(bytes([byte]))
            expect('object' in client.until(lambda m: 'error' in m)['error'], 'byte by byte')
        for text in (b'x', b'{"watch":1}'):  # each is answered; nobody reads that
            with connect(page, 4096) as client:
                flood = bytes([0x81, 0x80 | len(text)]) + b'\0\0\0\0' + text
                client.socket.settimeout(0.1)
                deadline = time.monotonic() + SECONDS
                with contextlib.suppress(ConnectionError):
                    while True:
                        expect(time.monotonic() < deadline, 'a flood goes on')
                        with contextlib.suppress(TimeoutError):
                            client.socket.sendall(flood * 1000)
                eye.more('beside a flood')
        eye.end()
        page.settle(few)
        expect(page.api('GET', 'status')['status']['cameras']['door']['restarts'] == 0, 'the camera was lost')
        page.end()


def rubbish(folder):
    """Random frames and messages: the program stays, and serves the next client."""
    dice = random.Random(1)
    words = [b'{', b'}', b'"watch"', b'"door"', b':', b',', b'"channel"', b'1', b'255', b'-1', b'1e99', b'"as"',
             b'"mp4"', b'"jpeg"', b'"stop"', b'"ack"', b'"bytes"', b'"rate"', b'"width"', b'320', b'[', b']', b'null',
             b'\0', b'\xff', b'"\\u0000"', b'a' * 300]
    whole = [MP4, TILE, LARGE, {'stop': 1}, {'stop': 2}, {'ack': 1, 'bytes': 10**9}, {'ack': 2, 'bytes': 5}, {}]
    with Page(door(live=True), folder) as page:
        page.wait('started', 'door')
        for number in range(500):
            with connect(page) as client, contextlib.suppress(EOFError, OSError):
                for _ in range(dice.randrange(1, 20)):
                    text = b''.join(dice.choice(words) for _ in range(dice.randrange(12)))
                    part = dice.random()
                    if part < 0.5:
                        client.send(dice.choice(whole) if dice.random() < 0.6 else text)
                    elif part < 0.9:
                        client.send(text, dice.choice((TEXT, TEXT, PING, 10)))
                    elif part < 0.95:
                        client.send(text, dice.randrange(16), dice.random() < 0.8, dice.random() < 0.8)
                    else:
                        client.socket.sendall(dice.randbytes(dice.randrange(1, 200)))
                    while select.select([client.socket], [], [], 0)[0]:
                        client.frame()
                client.send(b'', CLOSE)
                while True:
                    client.frame()
            if number % 100 == 0:
                page.api('GET', 'status')
        page.until('nobody looks', lambda s: s['cameras']['door']['live']['clients'] == 0)
        page.end()
        expect(page.token not in page.text + page.stderr(), 'the token is shown')


def browser(folder):
    """In Chromium: the large picture is a video that plays, masked; what is drawn over it is in force in it; it goes on
    after a restart of the camera and of cf-watch; a camera that is not encoded has pictures."""
    white = {'source': 'test:white', 'width': 640, 'height': 480, 'rate': 25}
    cameras = {'door': {**white, 'filter': HIDE, 'live': True}, 'yard': white}
    port = free_port()
    shown = '''
        const video = document.getElementById('video'), canvas = document.createElement('canvas');
        if (video.hidden || video.classList.contains('away') || !video.videoWidth)
          return null;
        const context = canvas.getContext('2d', { willReadFrequently: true });
        const at = (x, y) => {
          context.drawImage(video, x * video.videoWidth, y * video.videoHeight, 1, 1, 0, 0, 1, 1);
          return context.getImageData(0, 0, 1, 1).data[0];
        };
        return { middle: at(0.5, 0.5), corner: at(0.1, 0.1), time: video.currentTime, width: video.videoWidth };'''
    with Browser(folder) as web:
        def plays(what, condition=lambda now: now['middle'] < 60 and now['corner'] > 200):
            first = web.until(what, lambda: (now := web.run(shown)) and condition(now) and now)
            expect(first['width'] == 640, first)
            web.until(f'{what}: it goes on', lambda: (now := web.run(shown)) and now['time'] > first['time'] + 0.3)

        with Page(cameras, folder, page={'port': port}) as page:
            page.wait('started', 'door')
            web.go(page.link)
            web.run('location.hash = "door"')
            plays('the video')
            expect(web.run('return document.getElementById("picture").hidden'), 'a picture beside the video')
            web.run('shapes = [[[0.05, 0.05], [0.3, 0.3]]]; document.getElementById("apply").click()')
            page.wait('command', 'door', command='set')
            plays('another mask', lambda now: now['middle'] > 200 and now['corner'] < 60)
            page.ask('set door hide.roi 0.25,0.25,0.5,0.5')
            plays('the first mask')
            page.ask('restart door')
            page.wait('back', 'door')
            plays('after a restart')
            web.until('an event', lambda: 'back' in web.run('return document.getElementById("events").textContent'))
            web.run('location.hash = "yard"')
            web.until('a camera without video', lambda: middle(web, '#picture') > 200)
            expect(web.run('return document.getElementById("video").hidden'), 'a video of one that is not encoded')
            web.run('location.hash = "door"')
            plays('again')
            page.until('one looks', lambda s: s['cameras']['door']['live']['clients'] == 1)
            expect((said := web.console()) == [], f'the console: {said}')
            page.end()
        web.until('that nobody answers', lambda: 'does not answer' in web.run(
            'return document.getElementById("note").textContent') and not web.run(shown))
        web.console()
        with Page(cameras, folder, page={'port': port}) as page:
            page.wait('started', 'door')
            plays('after a restart of cf-watch')
            page.end()


if __name__ == '__main__':
    sys.exit(main(checks, states, fragments, video, given, pairs, originals, slow, enemies, rubbish, browser))
