#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: a camera's video as MJPEG and HLS: other programs read it, nothing of before a change shows more than after
it, slow clients, and limits. See harness.py."""
import contextlib
import datetime
import json
import os
import random
import re
import subprocess
import sys
import threading
import time

from harness import SECONDS, Skip, Stream, expect, main, need
from live import memory
from page import HIDE, SMALL, Page, door

LIST = 'cameras/door/hls/index.m3u8'
OPEN = 16  # pictures without an end, at a time
WHITE = {'source': 'test:white', 'width': 160, 'height': 120, 'rate': 25}


class Pictures(threading.Thread):
    """Reads MJPEG, again and again where it ends. `pictures` has the JPEGs."""

    def __init__(self, page):
        super().__init__(daemon=True)
        self.page, self.pictures, self.ends, self.wrong, self.on = page, [], 0, None, True
        self.lock = threading.Condition()
        self.start()

    def run(self):
        try:
            while self.on:
                with contextlib.suppress(EOFError, ConnectionError), ask(self.page) as stream:
                    for picture in read_pictures(stream):
                        with self.lock:
                            self.pictures.append(picture)
                            self.lock.notify_all()
                        if not self.on:
                            return
                self.ends += 1
        except Exception as error:  # pylint: disable=broad-exception-caught
            with self.lock:
                self.wrong = error
                self.lock.notify_all()

    def more(self, what):
        with self.lock:
            end = len(self.pictures) + 3
            expect(self.lock.wait_for(lambda: self.wrong or len(self.pictures) >= end, SECONDS), f'{what}: it is late')
            expect(not self.wrong, f'{what}: {self.wrong}')

    def end(self):
        self.on = False
        self.join()


class Segments(threading.Thread):
    """Follows HLS as a player does. `streams` has, for each beginning, the bytes of all segments by their numbers."""

    def __init__(self, page):
        super().__init__(daemon=True)
        self.page, self.streams, self.wrong, self.on = page, {}, None, threading.Event()
        self.lock = threading.Condition()
        self.start()

    def run(self):
        try:
            while not self.on.wait(0.1):  # as often as it reads the list
                self.follow()
        except Exception as error:  # pylint: disable=broad-exception-caught
            with self.lock:
                self.wrong = error
                self.lock.notify_all()

    def follow(self):
        try:
            found = read_list(self.page)
        except TimeoutError:  # the list waits for a segment: there is none while one restart follows the other
            return
        if not found:
            return
        begun, segments = found
        stream = self.streams.setdefault(begun, {})
        for name in [f'{begun}.mp4', *(f'{number}.m4s' for number, _ in segments)]:
            number = int(name.split('.')[0]) if name.endswith('s') else 0
            if number not in stream:
                status, headers, data = self.page.fetch('GET', f'/api/v1/cameras/door/hls/{name}')
                if status != 200:  # meanwhile it is another stream
                    expect(status in (404, 409), (name, status, data))
                    return
                expect(headers['Content-Type'] == 'video/mp4', headers)
                with self.lock:
                    stream[number] = data
                    self.lock.notify_all()

    def count(self):
        return sum(len(stream) for stream in self.streams.values())

    def more(self, what):
        with self.lock:
            end = self.count() + 2
            expect(self.lock.wait_for(lambda: self.wrong or self.count() >= end, SECONDS), f'{what}: it is late')
            expect(not self.wrong, f'{what}: {self.wrong}')

    def end(self):
        self.on.set()
        self.join()


def ask(page, camera='door', buffer=None, login=None, context=None, what='mjpeg'):
    """Returns a connection that has asked for MJPEG, or something else."""
    stream = Stream(page.port, buffer, context)
    stream.socket.sendall(f'GET /api/v1/cameras/{camera}/{what} HTTP/1.1\r\nHost: localhost\r\n'
                          f'{login or "Authorization: Bearer " + page.token}\r\n\r\n'.encode())
    return stream


def read_until(stream, end):
    while end not in stream.data:
        stream.more()
    found, stream.data = stream.data.split(end, 1)
    return found


def read_head(stream):
    """Returns the status of an answer, and its headers."""
    line, *headers = read_until(stream, b'\r\n\r\n').decode().split('\r\n')
    return int(line.split()[1]), dict(header.split(': ', 1) for header in headers)


def read_pictures(stream):
    """Yields each picture of an answer; none, if the camera is away."""
    status, headers = read_head(stream)
    expect(status in (200, 409), status)
    if status != 200:
        return
    expect(headers['Content-Type'] == 'multipart/x-mixed-replace; boundary=frame' and
           headers['Cache-Control'] == 'no-store', headers)
    while True:
        part = read_until(stream, b'\r\n\r\n').decode().split('\r\n')
        expect(part[:2] == ['--frame', 'Content-Type: image/jpeg'] and len(part) == 3, part)
        length = int(part[2].removeprefix('Content-Length: '))
        while len(stream.data) < length + 2:
            stream.more()
        picture, end, stream.data = stream.data[:length], stream.data[length:length + 2], stream.data[length + 2:]
        expect(picture[:2] == b'\xff\xd8' and picture[-2:] == b'\xff\xd9' and end == b'\r\n', 'a picture')
        yield picture


def read_list(page):
    """Returns with which number the stream has begun, and the numbers and durations of the segments; None: the camera
    is away."""
    status, headers, text = page.fetch('GET', '/api/v1/' + LIST)
    if status == 409:
        return None
    expect(status == 200 and headers['Content-Type'] == 'application/vnd.apple.mpegurl', (status, text))
    head = re.match(r'#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:(\d+)\n#EXT-X-MEDIA-SEQUENCE:(\d+)\n'
                    r'#EXT-X-DISCONTINUITY-SEQUENCE:(\d+)\n#EXT-X-MAP:URI="(\d+)\.mp4"\n', text.decode())
    expect(head, text)
    longest, first, begun, file = map(int, head.groups())
    segments = [(int(number), float(time)) for time, number in
                re.findall(r'#EXT-X-PROGRAM-DATE-TIME:[\dT:.-]+Z\n#EXTINF:([\d.]+),\n(\d+)\.m4s\n',
                           text[head.end():].decode())]
    expect(begun == file and 1 <= len(segments) <= 3 and max(time for _, time in segments) <= longest and
           [number for number, _ in segments] == list(range(first, first + len(segments))) and first >= begun, text)
    return begun, segments


def decode(parts, folder, size):
    """Returns the frames of a video as gray bytes."""
    need('gst-launch-1.0')
    path = os.path.join(folder, 'video.mp4')
    with open(path, 'wb') as file:
        file.write(b''.join(parts))
    data = subprocess.run(['gst-launch-1.0', '-q', 'filesrc', f'location={path}', '!', 'qtdemux', '!', 'decodebin',
                           '!', 'videoconvert', '!', 'video/x-raw,format=GRAY8', '!', 'fdsink'],
                          capture_output=True, check=True, timeout=SECONDS * 10).stdout
    return [data[at:at + size] for at in range(0, len(data), size)]


def encodes(page):
    """Skips the test where nothing can be encoded."""
    if not page.until('an encoder, or none', lambda s: s['cameras']['door']['state'] == 'up' and
                      s['cameras']['door']['frames'] > 5)['cameras']['door'].get('live'):
        raise Skip('there is no encoder')


def players(folder):
    """ffmpeg, ffprobe and curl read both. What there is not is refused with a sentence."""
    cameras = {**door(live=True, rate=25), 'gone': door()['door'], 'plain': {'source': 'test', **SMALL},
               'away': {'source': 'no such file', 'live': True}}
    with Page(cameras, folder) as page:
        page.wait('started', 'door', after=page.ready)
        page.wait('started', 'plain', after=page.ready)
        for status, method, path, words in (
                (404, 'GET', 'cameras/none/mjpeg', 'camera'), (404, 'GET', 'cameras/none/hls/index.m3u8', 'camera'),
                (409, 'GET', 'cameras/away/mjpeg', 'not up'), (409, 'GET', 'cameras/away/hls/index.m3u8', 'not up'),
                (409, 'GET', 'cameras/plain/hls/index.m3u8', 'not encoded'), (405, 'POST', LIST, 'POST'),
                (405, 'POST', 'cameras/door/mjpeg', 'POST'), (404, 'GET', 'cameras/door/hls', 'address'),
                *((404, 'GET', f'cameras/door/hls/{name}', 'no such file') for name in (
                    '0.m4s', '1.mp4', '-1.m4s', '18446744073709551616.m4s', 'x', 'index.m3u8x', '.m4s'))):
            expect(words in page.api(method, path, status=status)['error'], path)
        for query, status in (('', 200), ('cameras/plain/mjpeg', 200)):
            path = '/api/v1/' + (query or 'cameras/door/mjpeg')
            got, headers, body = page.fetch('HEAD', path)
            expect(got == status and body == b'' and 'multipart' in headers['Content-Type'], (got, headers))
        with ask(page, 'gone') as stream:
            pictures = read_pictures(stream)
            first = [next(pictures) for _ in range(8)]
            expect(len(set(first)) > 4, 'the same picture again')
            page.ask('remove gone')
            with contextlib.suppress(EOFError):
                expect(len(list(zip(range(20), pictures))) < 20, 'it does not end')
        encodes(page)
        begun, segments = read_list(page)
        for number, _ in segments:
            got, _, body = page.fetch('GET', f'/api/v1/cameras/door/hls/{number}.m4s')
            expect(got == 200 and body[4:8] == b'moof' and body.count(b'moof') == body.count(b'mdat') > 20, got)
        expect(page.fetch('HEAD', f'/api/v1/cameras/door/hls/{begun}.mp4')[0] == 200, 'HEAD')
        need('ffmpeg', 'ffprobe', 'curl')
        login, base = f'Authorization: Bearer {page.token}', f'http://127.0.0.1:{page.port}/api/v1/cameras/door/'
        text = subprocess.run(['ffprobe', '-v', 'error', '-headers', login + '\r\n', '-read_intervals', '%+4',
                               '-show_entries', 'stream=codec_name,width,height:packet=dts_time,duration_time',
                               '-of', 'json', base + 'hls/index.m3u8'], capture_output=True, text=True, check=True,
                              timeout=SECONDS)
        found = json.loads(text.stdout)
        expect(not text.stderr and [(one['codec_name'], one['width']) for one in found['streams']] == [('h264', 64)],
               text)
        times = [(float(one['dts_time']), float(one['duration_time'])) for one in found['packets']]
        steps = [b[0] - a[0] - a[1] for a, b in zip(times, times[1:])]
        expect(len(times) > 80 and all(abs(step) < 0.001 for step in steps), (len(times), max(map(abs, steps))))
        for how, name in (((), 'hls/index.m3u8'), (('-f', 'mpjpeg'), 'mjpeg')):
            done = subprocess.run(['ffmpeg', '-v', 'error', '-headers', login + '\r\n', *how, '-i', base + name,
                                   '-frames:v', '9', '-f', 'framemd5', '-'], capture_output=True, text=True,
                                  check=True, timeout=SECONDS)
            frames = [line for line in done.stdout.splitlines() if not line.startswith('#')]
            expect(len(frames) == 9 and not done.stderr, (name, done))
        done = subprocess.run(['curl', '-s', '-m', '2', '-H', login, base + 'mjpeg'], capture_output=True, check=False,
                              timeout=SECONDS)
        expect(done.returncode == 28 and done.stdout.count(b'--frame') > 3, (done.returncode, len(done.stdout)))
        page.end()
        expect(page.token not in page.text + page.stderr(), 'the token is shown')


def covers(folder):
    """From the answer to a command on that covers more, no list and no segment has a frame of before, whatever its
    name, also if the recorder keeps older frames."""
    small = HIDE.replace('0.25,0.25,0.5,0.5', '0.0,0.0,0.1,0.1')
    record = {'folder': os.path.join(folder, 'records'), 'when': 'off', 'before': 30}
    with Page({'door': {**WHITE, 'filter': small, 'live': True, 'record': record}}, folder) as page:
        page.wait('started', 'door')
        encodes(page)
        for turn, roi in enumerate(('0.25,0.25,0.5,0.5', '0.2,0.2,0.6,0.6')):
            if turn:
                page.api('PUT', 'cameras/door/elements/hide/roi', '0.0,0.0,0.1,0.1')
            begun, segments = read_list(page)
            at = f'/api/v1/cameras/door/hls/{begun}.mp4'
            size = 160 * 120
            head = page.fetch('GET', at)[2]
            names = [f'/api/v1/cameras/door/hls/{number}.m4s' for number, _ in segments]
            expect(max(decode([head, page.fetch('GET', names[-1])[2]], folder, size)[-1]) > 200, 'nothing is open')
            page.api('PUT', 'cameras/door/elements/hide/roi', roi)
            expect(all(page.fetch('GET', name)[0] == 404 for name in names), 'a segment of before')
            found = read_list(page)
            expect(found[0] == begun and found[1][0][0] > segments[-1][0], (segments, found))
            frames = decode([head, *(page.fetch('GET', f'/api/v1/cameras/door/hls/{number}.m4s')[2]
                                     for number, _ in found[1])], folder, size)
            middle = [max(frame[y * 160 + 56:y * 160 + 104]) for frame in frames for y in range(40, 80)]
            expect(len(frames) > 20 and max(middle) < 60, (len(frames), max(middle)))
        page.end()


def recorded(folder):
    """What is kept for HLS is not recorded: a recording begins with what `before` of the file says, up to a group of
    pictures."""
    record = {'folder': os.path.join(folder, 'records'), 'when': 'motion', 'before': 0}
    with Page(door(record=record, rate=25, live=True), folder) as page:
        page.wait('started', 'door')
        encodes(page)
        page.until('a list of three', lambda _: len(read_list(page)[1]) == 3)
        page.ask('trigger door')
        event = page.wait('piece-begun', 'door')
        begun, now = (datetime.datetime.fromisoformat(event[name].replace('Z', '+00:00')) for name in ('start', 'time'))
        expect((now - begun).total_seconds() < 3, event)
        page.end()


def slow(folder):
    """Who reads nothing is disconnected, and others are not late; there are so many at a time; memory is bounded; what
    nobody asks for is kept no longer."""
    with Page({'door': {'source': 'test:snow', 'width': 640, 'height': 480, 'rate': 25}}, folder) as page, \
            contextlib.ExitStack() as clients:
        page.wait('started', 'door')
        deaf = [clients.enter_context(ask(page, buffer=2048)) for _ in range(OPEN)]
        for client in deaf:
            expect(read_head(client)[0] == 200, 'a stream')
        status, _, text = page.fetch('GET', '/api/v1/cameras/door/mjpeg')
        expect(status == 503 and b'streams are open' in text, (status, text))
        page.picture()
        before = memory(page)

        def is_free(_):
            with ask(page) as client:
                return read_head(client)[0] == 200

        page.until('the deaf ones are disconnected', is_free)
        grown = memory(page) - before
        expect(grown < 64, f'{grown} MiB')
        with ask(page) as client:
            begun, pictures = time.monotonic(), read_pictures(client)
            for _ in range(10):
                next(pictures)
            expect(time.monotonic() - begun < 10, 'it is late')
        page.end()


def enemies(folder):
    """Clients that go at any moment, also while they wait for the first segment and while the camera is built anew: no
    descriptor stays. The program ends with clients that wait."""
    dice = random.Random(1)
    with Page(door(live=True, rate=50), folder) as page:
        page.wait('started', 'door')
        encodes(page)
        few = page.descriptors()
        for number in range(60):
            if number % 6 == 2:
                page.ask(f'set door hide.roi 0.1,0.1,0.{number % 7 + 1},0.5')  # the list is empty then
            if number % 25 == 20:
                page.ask('restart door')
            how = dice.choice((('mjpeg', 0), ('mjpeg', 600), ('mjpeg', 9000), ('hls/index.m3u8', 0)))
            with contextlib.suppress(EOFError, ConnectionError), ask(page, what=how[0]) as client:
                while len(client.data) < how[1]:
                    client.more()
        page.settle(few)
        page.until('the camera', lambda s: s['cameras']['door']['state'] == 'up')
        page.ask('set door hide.roi 0.1,0.1,0.2,0.2')
        with contextlib.ExitStack() as clients:
            for number in range(20):
                clients.enter_context(ask(page, what=('mjpeg', 'hls/index.m3u8')[number % 2]))
            page.picture()
            page.end()


if __name__ == '__main__':
    sys.exit(main(players, covers, recorded, slow, enemies))
