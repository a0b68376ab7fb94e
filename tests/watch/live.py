#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: filtered video for viewers, over RTSP: what they see and do not see, who may watch, viewers that do not
read, cameras that go. CF_WATCH_RECORDER=SECONDS has a recorder run for so long. See harness.py."""
import base64
import hashlib
import json
import os
import re
import select
import socket
import ssl
import struct
import subprocess
import sys
import time

from harness import SECONDS, Failed, Skip, Stream, Watch, expect, main, need, run, sanitized
from hidden import FILL, LARGE, Camera, expect_hidden

RECORDER = float(os.environ.get('CF_WATCH_RECORDER', '0'))
COVERED = FILL.replace('0,0,2,2', '0.4,0.4,0.4,0.4')


def config(camera, line=COVERED, rtsp=None, **settings):
    return {'rtsp': {'port': 0, **(rtsp or {})},
            'cameras': {'door': {'source': camera.web.address, 'filter': line, 'live': True, **settings}}}


def test_picture(**settings):
    return {'source': 'test:ball', 'width': 64, 'height': 48, 'rate': 25, 'live': True, **settings}


def port_of(watch):
    if 'without gst-rtsp-server' in run('--check', watch.path)[2]:
        raise Skip('cf-watch was built without gst-rtsp-server')
    return watch.wait('ready')['rtsp_port']


def described(port, name, login=None):
    with Client(port, login) as client:
        return client.ask('DESCRIBE', name)[0]


def shown(watch, port, *names, login=None):
    """Waits for the cameras' first encoded pictures."""
    for name in names or ['door']:
        watch.until(f'{name} is shown', lambda _, name=name: described(port, name, login) == 200)


class Client(Stream):
    """An RTSP client that shows what comes: answers, and access units of H.264."""

    def __init__(self, port, login=None, tls=False, buffer=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if tls else None
        if tls:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        super().__init__(port, buffer, context)
        self.base = f'rtsp{"s" if tls else ""}://127.0.0.1:{port}/'
        self.login, self.challenge, self.session = login, None, None
        self.packets, self.number = [], 0

    def interleaved(self):
        """Takes a packet off the data, if it begins with one that is complete."""
        if len(self.data) < 4 or self.data[:1] != b'$':
            return False
        length = struct.unpack('>H', self.data[2:4])[0]
        if len(self.data) < 4 + length:
            return False
        if self.data[1] == 0:
            self.packets.append(self.data[4:4 + length])
        self.data = self.data[4 + length:]
        return True

    def once(self, method, path, **headers):
        url = path if '://' in path else self.base + path
        self.number += 1
        if self.challenge and self.login:
            realm, nonce = (re.search(f'{name}="([^"]*)"', self.challenge).group(1) for name in ('realm', 'nonce'))
            one = hashlib.md5(f'{self.login[0]}:{realm}:{self.login[1]}'.encode()).hexdigest()
            two = hashlib.md5(f'{method}:{url}'.encode()).hexdigest()
            answer = hashlib.md5(f'{one}:{nonce}:{two}'.encode()).hexdigest()
            headers['Authorization'] = f'Digest username="{self.login[0]}", realm="{realm}", nonce="{nonce}", ' \
                f'uri="{url}", response="{answer}"'
        if self.session:
            headers['Session'] = self.session
        lines = [f'{method} {url} RTSP/1.0', f'CSeq: {self.number}', *(f'{k}: {v}' for k, v in headers.items()), '', '']
        self.socket.sendall('\r\n'.join(lines).encode())
        while True:
            while self.interleaved():
                pass
            if self.data[:1] not in (b'', b'$') and b'\r\n\r\n' in self.data:
                break
            self.more()
        head, self.data = self.data.split(b'\r\n\r\n', 1)
        first, *rest = head.decode().split('\r\n')
        found = dict(line.split(': ', 1) for line in rest)
        length = int(found.get('Content-Length', 0))
        while len(self.data) < length:
            self.more()
        body, self.data = self.data[:length], self.data[length:]
        self.session = found.get('Session', self.session or '').split(';')[0] or None
        self.challenge = found.get('WWW-Authenticate', self.challenge)
        return int(first.split()[1]), body.decode()

    def ask(self, method, path, **headers):
        """Returns (status, body) of a request; logs in if it has to and can."""
        code, body = self.once(method, path, **headers)
        if code == 401 and self.login and 'Authorization' not in headers:
            code, body = self.once(method, path, **headers)
        return code, body

    def play(self, name='door', **headers):
        code, sdp = self.ask('DESCRIBE', name, Accept='application/sdp')
        expect(code == 200, f'DESCRIBE: {code}')
        control = re.findall(r'a=control:(\S+)', sdp)[-1]
        control = control if '://' in control else f'{self.base}{name}/{control}'
        code, _ = self.ask('SETUP', control, Transport='RTP/AVP/TCP;unicast;interleaved=0-1')
        expect(code == 200, f'SETUP: {code}')
        code, _ = self.ask('PLAY', name, **headers)
        expect(code == 200, f'PLAY: {code}')
        return self

    def packet(self):
        while not self.packets:
            while self.interleaved():
                pass
            if not self.packets:
                self.more()
        return self.packets.pop(0)

    def units(self):
        """Yields (time stamp in s, kinds of NAL units) of each access unit that is complete; none may be lost."""
        kinds, last = [], None
        while True:
            packet = self.packet()
            marker, (number, stamp) = packet[1] & 0x80, struct.unpack('>HI', packet[2:8])
            expect(last is None or number == (last + 1) & 0xffff, f'packet {number} comes after {last}')
            last = number
            at, kind = 12, packet[12] & 31
            if kind == 24:  # several in one
                at += 1
                while at < len(packet):
                    kinds.append(packet[at + 2] & 31)
                    at += 2 + struct.unpack('>H', packet[at:at + 2])[0]
            elif kind != 28:
                kinds.append(kind)
            elif packet[13] & 0x80:  # the first of several parts
                kinds.append(packet[13] & 31)
            if marker:
                yield stamp / 90000, kinds
                kinds = []

    def until_end(self):
        """Reads to the end of the connection."""
        try:
            while True:
                self.packet()
        except (EOFError, ConnectionError):
            return


def is_key(kinds):
    """A whole one: more parameters within the access unit would be the end of it for some clients."""
    return 5 in kinds and kinds.count(7) == kinds.count(8) == 1 and kinds.index(5) > max(kinds.index(7), kinds.index(8))


class Viewer:
    """GStreamer's own client, which decodes: `frame` returns the rows of the next picture, None at the end."""

    def __init__(self, port, name='door', size=LARGE, scheme='rtsp', more=(), decoder='decodebin'):
        need('gst-launch-1.0')
        self.size, self.data = size, b''
        self.process = subprocess.Popen(
            ['gst-launch-1.0', '-q', 'rtspsrc', f'location={scheme}://127.0.0.1:{port}/{name}', 'latency=0',
             'protocols=tcp', *more, '!', *decoder.split(), '!', 'videoconvert', '!', 'video/x-raw,format=GRAY8', '!',
             'fdsink', 'sync=false'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def frame(self):
        width, height = self.size
        stride = width + -width % 4
        deadline = time.monotonic() + SECONDS
        while len(self.data) < stride * height:
            if not select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                raise Failed('no picture came')
            chunk = os.read(self.process.stdout.fileno(), 1 << 20)
            if not chunk:
                return None
            self.data += chunk
        rows = [self.data[y * stride:y * stride + width] for y in range(height)]
        self.data = self.data[stride * height:]
        return rows

    def frames(self, number, what):
        """Reads so many pictures, each of which has to be whole and covered."""
        for i in range(number):
            rows = self.frame()
            expect(rows, f'{what}: the stream ended after {i} pictures')
            expect_hidden(rows, f'{what}, picture {i}')

    def end(self, what):
        """Reads to the end; what still comes has to be covered, too."""
        while rows := self.frame():
            expect_hidden(rows, what)


def pictures(folder):
    """What a viewer sees is whole from the first picture on, and covered: also after restart, a bad value, reload, a
    loss, another size of the pictures. With each of them the stream ends, and the next one begins."""
    with Camera() as camera:
        camera.show(LARGE)
        with Watch(config(camera), folder) as watch:
            port = port_of(watch)
            shown(watch, port)
            for i in range(3):
                with Viewer(port) as viewer:
                    viewer.frames(3, f'viewer {i}')
            with Viewer(port) as viewer, Viewer(port) as other:
                viewer.frames(5, 'at first')
                watch.ask('set door hide.roi nonsense', ok=False)
                watch.ask('set door hide.roi 0.3,0.3,0.5,0.5')
                viewer.frames(50, 'another value')
                other.frames(1, 'the other')
                watch.ask('restart door')
                watch.wait('back', 'door')
                shown(watch, port)
                viewer.end('restart')
                other.end('restart')
            with Viewer(port) as viewer:
                viewer.frames(5, 'after a restart')
                watch.write(config(camera, timeout=11))
                watch.ask('reload')
                watch.wait('back', 'door')
                shown(watch, port)
                viewer.end('reload')
            with Viewer(port) as viewer:
                viewer.frames(5, 'after a reload')
                camera.cut()
                watch.wait('lost', 'door')
                viewer.end('loss')
                watch.ask('restart door')
                watch.wait('back', 'door')
                shown(watch, port)
            with Viewer(port) as viewer:
                viewer.frames(5, 'after a loss')
                camera.show((64, 48))
                watch.wait('size', 'door')
                viewer.end('another size')
            with Viewer(port, size=(64, 48)) as viewer:
                viewer.frames(5, 'another size')
            watch.end()


def recorded(path):
    """Returns how many pictures a file has. Each has to be covered."""
    width, height = LARGE
    film = subprocess.run(['ffmpeg', '-v', 'fatal', '-i', path, '-fps_mode', 'passthrough', '-f', 'rawvideo',
                           '-pix_fmt', 'gray', '-'], stdout=subprocess.PIPE, check=True, timeout=SECONDS).stdout
    for at in range(0, len(film), width * height):
        expect_hidden([film[at + y * width:at + (y + 1) * width] for y in range(height)], f'{path}, byte {at}')
    return len(film) // (width * height)


def recorder(folder):
    """FFmpeg records the stream as it is, and begins anew when the camera was away: its files have all pictures from
    when it was served until the camera went."""
    need('ffmpeg')
    end, films, total, held = time.monotonic() + RECORDER, 0, 0, 0
    with Camera() as camera:
        camera.show(LARGE)
        with Watch(config(camera), folder) as watch:
            port = port_of(watch)
            while films < 2 or time.monotonic() < end:
                shown(watch, port)
                path = os.path.join(folder, f'{films}.mkv')
                with subprocess.Popen(['ffmpeg', '-v', 'error', '-rtsp_transport', 'tcp', '-i',
                                       f'rtsp://127.0.0.1:{port}/door', '-c', 'copy', path]) as ffmpeg:
                    served = watch.until('it is served', lambda s: s['cameras']['door']['live']['clients'])
                    begun = served['cameras']['door']['frames']
                    status = watch.until('a film', lambda s: s['cameras']['door']['frames'] > begun + 250)
                    lost = watch.events[-1]['seq'] if watch.events else 0
                    camera.cut()
                    watch.wait('lost', 'door', after={'seq': lost})
                    expect(ffmpeg.wait(SECONDS) == 0, f'FFmpeg ended with {ffmpeg.returncode}')
                pictures = recorded(path)
                expect(pictures > status['cameras']['door']['frames'] - begun - 25, f'{pictures} pictures in {path}')
                os.unlink(path)
                films, total, held = films + 1, total + pictures, held or memory(watch)
                watch.ask('restart door')
                watch.wait('back', 'door', after={'seq': lost})
            print(f'recorder: {films} films, {total} pictures, {held} MiB after the first, {memory(watch)} at the end')
            expect(memory(watch) < held + 32, f'{held} MiB, then {memory(watch)}')
            watch.end()


def first(folder):
    """A stream begins with a key frame, whenever the viewer comes, and what came before is soon behind it."""
    with Watch({'rtsp': {'port': 0}, 'cameras': {'door': test_picture()}}, folder) as watch:
        port = port_of(watch)
        shown(watch, port)
        for number in range(20, 100, 15):
            watch.until('more frames', lambda s, n=number: s['cameras']['door']['frames'] > n)
            with Client(port) as client:
                units = client.play().units()
                stamps, kinds = zip(*(next(units) for _ in range(10)))
                expect(is_key(kinds[0]) and not any(map(is_key, kinds[1:3])), kinds)
                steps = [b - a for a, b in zip(stamps, stamps[1:])]
                expect(all(0 < step < 0.5 for step in steps), steps)
        watch.until('nobody looks', lambda s: s['cameras']['door']['live'] == {'clients': 0, 'dropped': 0})
        watch.end()


def speeds(folder):
    """A client that asks for another speed, or another place, gets what comes, as it comes."""
    with Watch({'rtsp': {'port': 0}, 'cameras': {'door': test_picture()}}, folder) as watch:
        port = port_of(watch)
        shown(watch, port)
        for headers in ({'Rate-Control': 'no'}, {'Scale': '4.0', 'Rate-Control': 'no'}, {'Scale': '-1.0'},
                        {'Speed': '0.5'}, {'Range': 'npt=5-'}, {'Range': 'npt=now-', 'Seek-Style': 'RAP'},
                        {'Seek-Style': 'x' * 1000}, {'Frames': 'intra/1000', 'Scale': 'nan'}):
            with Client(port) as client:
                units = client.play(**headers).units()
                for _ in range(60):  # the first ones come closer
                    stamp, _ = next(units)
                stamps = [stamp] + [next(units)[0] for _ in range(5)]
                expect(all(0.03 < b - a < 0.05 for a, b in zip(stamps, stamps[1:])), (headers, stamps))
        watch.end()


def at_once(folder):
    """No frame waits for its time: each is sent when it comes."""
    log = os.path.join(folder, 'log')
    env = {'GST_DEBUG': 'basesink:6', 'GST_DEBUG_NO_COLOR': '1', 'GST_DEBUG_FILE': log}
    with Watch({'rtsp': {'port': 0}, 'cameras': {'door': test_picture()}}, folder, env) as watch:
        port = port_of(watch)
        shown(watch, port)
        with Client(port) as client:
            units = client.play().units()
            for _ in range(60):
                next(units)
        watch.end()
    with open(log, encoding='utf-8', errors='replace') as file:
        text = file.read()
    if 'appsink' not in text:
        raise Skip('GStreamer is built without its log')
    waits = [line for line in text.splitlines() if '<appsink' in line and ', base_time ' in line]
    expect(not waits, f'{len(waits)} frames wait: {waits[:1]}')


def memory(watch):
    """Returns its memory in MiB; 0 with the address sanitizer, which keeps what is freed."""
    if sanitized():
        return 0
    with open(f'/proc/{watch.process.pid}/status', encoding='ascii') as file:
        return int(re.search(r'VmRSS:\s*(\d+)', file.read()).group(1)) // 1024


def slow(folder):
    """A viewer that stops reading loses frames up to a key frame, for itself alone, and takes no memory."""
    door = test_picture(source='test:snow', width=320, height=240, record={'folder': os.path.join(folder, 'rec'),
                                                                           'quality': 1, 'when': 'off', 'before': 0})
    with Watch({'rtsp': {'port': 0}, 'cameras': {'door': door}}, folder) as watch:
        port = port_of(watch)
        shown(watch, port)
        with Client(port, buffer=4096) as sleeper, Client(port) as reader:
            sleeping = sleeper.play().units()
            next(sleeping)
            reading = reader.play().units()
            stamps = [next(reading)[0]]

            def dropped(status, number):
                while select.select([reader.socket], [], [], 0)[0] or reader.packets:
                    stamps.append(next(reading)[0])
                return status['cameras']['door']['live']['dropped'] > number
            watch.until('the first is dropped', lambda s: dropped(s, 0))
            before = memory(watch)
            watch.until('many are dropped', lambda s: dropped(s, 100))
            expect(memory(watch) < before + 16, f'{before} MiB, then {memory(watch)}')
            steps = [b - a for a, b in zip(stamps, stamps[1:])]
            expect(len(stamps) > 100 and max(steps) < 1, f'the other one has a gap of {max(steps)} s')
            last, gap = None, False
            while not gap:
                stamp, kinds = next(sleeping)
                gap = last is not None and stamp - last > 1
                last = stamp
            expect(is_key(kinds), f'behind the gap comes {kinds}')
            state = watch.ask('status')['status']['cameras']['door']
            expect(state['live']['clients'] == 2 and state['record']['dropped'] == 0, state)
        watch.end()


def write_users(folder, **users):
    path = os.path.join(folder, 'users.json')
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 'w', encoding='utf-8') as file:
        json.dump({name: {'password': password} for name, password in users.items()}, file)
    return path


def flood(folder):
    """What a viewer sends is dropped: it may name any number of senders."""
    with Watch({'rtsp': {'port': 0}, 'cameras': {'door': test_picture()}}, folder) as watch:
        port = port_of(watch)
        shown(watch, port)
        with Client(port) as client:
            units = client.play().units()
            next(units)
            before = memory(watch)
            for number in range(60000):
                report = struct.pack('>BBHIQIII', 0x80, 200, 6, number, 1, 2, 3, 4)
                packet = struct.pack('>BBHII', 0x80, 96, number & 0xffff, number, number) + bytes(100)
                client.socket.sendall(b''.join(b'$' + bytes([channel]) + struct.pack('>H', len(data)) + data
                                               for channel, data in ((0, packet), (1, report))))
                if number % 1000 == 0:
                    next(units)
            code, _ = client.ask('OPTIONS', 'door')
            expect(code == 200, 'the client lives')
            expect(memory(watch) < before + 16, f'{before} MiB, then {memory(watch)}')
        watch.end()


def requests(folder):
    """A request without an end, of header lines or of one line, is not kept; others are served meanwhile."""
    with Watch({'rtsp': {'port': 0}, 'cameras': {'door': test_picture()}}, folder) as watch:
        port = port_of(watch)
        shown(watch, port)
        for line in (b'User-Agent: ' + b'x' * 1000 + b'\r\n', b'x' * 1000, b'GET / HTTP/1.0\r\n'):
            with Client(port) as endless, Client(port) as client:
                units = client.play().units()
                endless.socket.sendall(b'OPTIONS rtsp://127.0.0.1/door RTSP/1.0\r\nCSeq: 1\r\n')
                try:
                    for _ in range(100000):
                        endless.socket.sendall(line)
                    raise Failed('it takes 100000 times ' + repr(line))
                except ConnectionError:
                    pass
                next(units)
                for _ in range(100):
                    expect(client.ask('GET_PARAMETER', 'door')[0] == 200, 'a request after many')
        watch.end()


def login(folder):
    """Digest users: nobody else watches, or learns which cameras there are. With other users all log in again."""
    write_users(folder, anna='anna-s-secret', bert='bert-s-secret')
    cameras = {'door': test_picture()}
    with Watch({'rtsp': {'port': 0, 'users': 'users.json'}, 'cameras': cameras}, folder) as watch:
        port = port_of(watch)
        shown(watch, port, login=('anna', 'anna-s-secret'))
        for who in (None, ('anna', 'bert-s-secret'), ('anna', ''), ('anna', 'wrong'), ('nobody', 'anna-s-secret')):
            for name in ('door', 'nix'):
                with Client(port, who) as client:
                    for method in ('DESCRIBE', 'SETUP', 'PLAY', 'GET_PARAMETER', 'TEARDOWN'):
                        expect(client.ask(method, name, Transport='RTP/AVP/TCP;interleaved=0-1')[0] == 401,
                               f'{who}, {method} {name}')
        with Client(port) as client:
            basic = base64.b64encode(b'anna:anna-s-secret').decode()
            expect(client.ask('DESCRIBE', 'door', Authorization=f'Basic {basic}')[0] == 401, 'basic')
            expect(client.ask('OPTIONS', 'door')[0] == 200, 'OPTIONS')
        for text in ('', 'Digest', 'Digest username', 'Digest username="', 'Digest username=anna', 'Basic =, Digest',
                     'Digest username="\xff\x01"', 'Digest username="' + 'anna' * 9999 + '"', 'Digest ' + 'a="' * 9999):
            with Client(port) as client:
                expect(client.ask('DESCRIBE', 'door', Authorization=text)[0] in (400, 401), text[:40])
        with Client(port, ('anna', 'anna-s-secret')) as client, Client(port) as thief:
            next(client.play().units())
            expect(client.ask('DESCRIBE', 'nix')[0] == 404, 'an unknown camera')
            thief.session = client.session
            expect(thief.ask('TEARDOWN', 'door')[0] == 401, 'the session of another')
        with Client(port) as client:
            try:
                while True:
                    expect(client.ask('DESCRIBE', 'door')[0] == 401, 'guesses')
                    expect(client.number <= 10, 'guesses without an end')
            except (EOFError, ConnectionError):
                pass
        with Client(port, ('anna', 'anna-s-secret')) as anna, Client(port, ('bert', 'bert-s-secret')) as bert:
            anna.play()
            bert.play()
            watch.ask('reload')
            next(anna.units())
            write_users(folder, bert='another-secret')
            watch.ask('reload')
            anna.until_end()
            bert.until_end()
        for who, code in ((('anna', 'anna-s-secret'), 401), (('bert', 'bert-s-secret'), 401),
                          (('bert', 'another-secret'), 200)):
            with Client(port, who) as client:
                expect(client.ask('DESCRIBE', 'door')[0] == code, who)
        os.chmod(os.path.join(folder, 'users.json'), 0o644)
        expect('others may read it' in watch.ask('reload', ok=False)['error'], 'a file that others read')
        event = watch.wait('login-failed', after={'seq': 0})
        expect((event['at'], event['from'], event['user']) == ('rtsp', '127.0.0.1', 'anna'), event)
        with Client(port, ('bert', 'another-secret')) as client:
            expect(client.ask('DESCRIBE', 'door')[0] == 200, 'the users stay')
        watch.end()
        for secret in ('anna-s-secret', 'bert-s-secret', 'another-secret'):
            expect(secret not in watch.text + watch.stderr(), f'{secret} is shown')


def cameras_go(folder):
    """Cameras that are not there, have no picture, are not shown, come and go by reload; a viewer's stream ends."""
    away = {'source': os.path.join(folder, 'nothing.mkv'), 'live': True}
    cameras = {'door': test_picture(), 'yard': test_picture(live=False), 'away': away}
    with Watch({'rtsp': {'port': 0}, 'cameras': cameras}, folder) as watch:
        port = port_of(watch)
        shown(watch, port)
        watch.wait('lost', 'away', after={'seq': 0})

        def codes(**expected):
            for name, code in expected.items():
                with Client(port) as client:
                    got = client.ask('DESCRIBE', name)[0]
                    expect(got == code, f'{name}: {got}, not {code}')
        codes(door=200, yard=404, away=503, nix=404)
        with Client(port) as client:
            expect(client.ask('DESCRIBE', 'door/more')[0] != 200, 'a path below a camera')
            expect(client.ask('DESCRIBE', '')[0] == 404, 'no camera')
            expect(client.ask('ANNOUNCE', 'door')[0] >= 400, 'ANNOUNCE')
            for transport in ('RTP/AVP;unicast;client_port=5000-5001', 'RTP/AVP;multicast',
                              'RTP/AVP;unicast;destination=127.0.0.1;client_port=5000-5001'):
                expect(client.ask('SETUP', 'door/stream=0', Transport=transport)[0] == 461, transport)
        with Client(port) as client:
            next(client.play().units())
            watch.write({'rtsp': {'port': 0}, 'cameras': {'door': test_picture(live=False), 'gate': test_picture()}})
            watch.ask('reload')
            client.until_end()
        shown(watch, port, 'gate')
        codes(door=404, yard=404, away=404, gate=200)
        with Client(port) as client:
            next(client.play('gate').units())
            watch.ask('remove gate')
            client.until_end()
        codes(gate=404)
        watch.ask('add gate {"source": "test", "live": true}')
        shown(watch, port, 'gate')
        codes(gate=200)
        with Client(port) as client, Client(port, buffer=4096) as sleeper:
            next(client.play('gate').units())
            sleeper.play('gate')
            watch.end()
            client.until_end()


def gone(folder):
    """Who goes while much is being sent leaves nothing behind that the server would use later: what is freed is
    overwritten here."""
    door = test_picture(source='test:snow', width=320, height=240,
                        record={'folder': os.path.join(folder, 'rec'), 'quality': 1, 'when': 'off'})
    with Watch({'rtsp': {'port': 0}, 'cameras': {'door': door}}, folder, env={'MALLOC_PERTURB_': '165'}) as watch:
        port = port_of(watch)
        shown(watch, port)
        watch.until('a group of pictures', lambda s: s['cameras']['door']['frames'] > 40)
        for _ in range(40):
            with Client(port, buffer=4096) as client:
                next(client.play().units())
        expect(described(port, 'door') == 200, 'the server answers')
        watch.end()


def many(folder):
    """No more viewers than `clients`, whatever one connection asks for; others are served when there is room."""
    with Watch({'rtsp': {'port': 0, 'clients': 2}, 'cameras': {'door': test_picture(), 'yard': test_picture()}},
               folder) as watch:
        port = port_of(watch)
        shown(watch, port, 'door', 'yard')
        with Client(port) as one, Client(port) as two:
            one.play()
            two.ask('OPTIONS', 'door')
            with Client(port) as three:
                try:
                    three.ask('OPTIONS', 'door')
                    raise Failed('a third connection')
                except (EOFError, ConnectionError):
                    pass
            one.session = None
            one.play('yard')
            expect(two.ask('DESCRIBE', 'door')[0] == 503, 'a third stream')
            next(one.units())
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                with Client(port) as client:
                    next(client.play().units())
                    break
            except (EOFError, ConnectionError, Failed) as error:
                expect(time.monotonic() < deadline, f'nobody is served any more: {error}')
                watch.ask('status')
        watch.end()


def encrypted(folder):
    """rtsps://: a client of GStreamer and one of Python; one without TLS gets nothing."""
    need('openssl')
    for name in ('c', 'k'):
        open(os.path.join(folder, name), 'wb').close()
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=cam', '-days', '2',
                    '-keyout', os.path.join(folder, 'k'), '-out', os.path.join(folder, 'c')], check=True,
                   capture_output=True)
    write_users(folder, anna='anna-s-secret')
    rtsp = {'port': 0, 'tls': {'certificate': 'c', 'key': 'k'}}
    for more, who in (({}, None), ({'users': 'users.json'}, ('anna', 'anna-s-secret'))):
        with Camera() as camera:
            camera.show(LARGE)
            settings = config(camera, rtsp={**rtsp, **more})
            watch = Watch(settings, folder)
            if 'TLS: install' in run('--check', watch.path)[1]:
                raise Skip('glib-networking is missing')
            with watch:
                port = port_of(watch)
                watch.wait('started', 'door')
                with Client(port, who, tls=True) as client:
                    expect(is_key(next(client.play().units())[1]), 'the first picture')
                login_of = [f'user-id={who[0]}', f'user-pw={who[1]}'] if who else []
                with Viewer(port, scheme='rtsps', more=('tls-validation-flags=0', *login_of)) as viewer:
                    viewer.frames(5, 'encrypted')
                with Client(port) as client:
                    try:
                        client.ask('OPTIONS', 'door')
                        raise Failed('an answer without TLS')
                    except (EOFError, ConnectionError):
                        pass
                watch.end()


def check(folder):
    """--check says what is wrong with `rtsp`, and so does the start."""
    path = os.path.join(folder, 'watch.json')
    write_users(folder, anna='x')
    for name, mode, text in (('open.json', 0o644, '{}'),
                             ('bad.json', 0o600, '{"anna": {"user": "a", "password": "y"}}'),
                             ('dots.json', 0o600, '{"anna": {"password": "..."}}')):
        with open(os.path.join(folder, name), 'w', encoding='ascii') as file:
            file.write(text)
        os.chmod(os.path.join(folder, name), mode)
    for rtsp, said in (({'address': '0.0.0.0'}, 'everybody there could watch: set "users"'),
                       ({'address': '::'}, 'everybody there could watch'),
                       ({'address': 'localhost'}, 'is not an IP address'), ({'clients': 0}, 'rtsp.clients'),
                       ({'port': 65536}, 'rtsp.port'), ({'colour': 1}, 'colour'), ({'tls': True}, 'rtsp.tls'),
                       ({'tls': {'certificate': 'c'}}, 'both of them PEM'),
                       ({'tls': {'certificate': 'c', 'key': 'k'}}, 'rtsp.tls'),
                       ({'users': 'nix.json'}, 'nix.json'), ({'users': 'open.json'}, 'others may read it'),
                       ({'users': 'bad.json'}, 'has to be { "password": "..." }'),
                       ({'users': 'dots.json'}, '"..." stands for a password of your own'),
                       ({'address': '0.0.0.0', 'users': 'users.json'}, None), ({}, None)):
        with open(path, 'w', encoding='utf-8') as file:
            json.dump({'rtsp': rtsp, 'cameras': {'door': test_picture()}}, file)
        code, text, errors = run('--check', path)
        text += errors
        if 'without gst-rtsp-server' in text:
            raise Skip('cf-watch was built without gst-rtsp-server')
        if said is None:
            expect(code == 0, (rtsp, text))
            continue
        expect(code == 2 and said in text and 'watch.json:1: rtsp' in text, (rtsp, code, text))
        code, text, errors = run(path)
        expect(code == 2 and 'rtsp' in text + errors or said in errors, (rtsp, code, text, errors))
    with socket.create_server(('127.0.0.1', 0)) as taken:
        with Watch({'rtsp': {'port': taken.getsockname()[1]}, 'cameras': {}}, folder) as watch:
            watch.finish(2)
            expect('in use' in watch.stderr(), watch.stderr())


if __name__ == '__main__':
    sys.exit(main(pictures, recorder, first, speeds, at_once, slow, flood, requests, login, cameras_go, gone, many,
                  encrypted, check))
