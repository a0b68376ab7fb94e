#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: what cameras and a broker send that is not by the book, or more than anyone wants. See harness.py."""
import glob
import itertools
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time

from harness import SECONDS, Watch, Web, expect, main, need, probe, sanitized
from lost import GOOD, clip, undisturbed


def jpegs(folder, frames=10, size=(64, 48)):
    """Returns that number of JPEGs."""
    need('gst-launch-1.0')
    subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', f'num-buffers={frames}', 'pattern=ball', '!',
                    f'video/x-raw,width={size[0]},height={size[1]}', '!', 'jpegenc', '!', 'multifilesink',
                    f'location={folder}/jpeg-%03d.jpg'], check=True, timeout=SECONDS)
    return [open(path, 'rb').read() for path in sorted(glob.glob(os.path.join(folder, 'jpeg-*.jpg')))]


def odd_parts(folder):
    """Cameras over HTTP that do not go by the book: each has its pictures, all of them, and is never lost, though it
    sends more than `max_bytes` in all."""
    pictures, done, most = jpegs(folder), threading.Event(), 65536
    sound = b'--next\r\nContent-Type: audio/basic\r\nContent-Length: 160\r\n\r\n' + bytes(160) + b'\r\n'

    def part(jpeg, kind=b'Content-Type: image/jpeg', length=b'Content-Length: %d', end=b'\r\n', boundary=b'--next'):
        lines = [boundary, kind, length % len(jpeg) if b'%d' in length else length]
        return end.join([line for line in lines if line] + [b'', jpeg, b''])

    cases = {
        '/jpg': lambda jpeg: part(jpeg, kind=b'Content-Type: image/jpg'),
        '/no-blank': lambda jpeg: part(jpeg, b'content-type:image/jpeg', b'content-length:%d'),
        '/no-type': lambda jpeg: part(jpeg, kind=b''),
        '/no-length': lambda jpeg: part(jpeg, length=b''),
        '/no-number': lambda jpeg: part(jpeg, length=b'Content-Length: -1'),
        '/line-feeds': lambda jpeg: part(jpeg, end=b'\n'),
        '/no-first': lambda jpeg: part(jpeg, boundary=b'') + b'--next\r\n',
        '/no-first-no-length': lambda jpeg: part(jpeg, boundary=b'', length=b'') + b'--next\r\n',
        '/sound': lambda jpeg: part(jpeg) + sound,
        '/bare': lambda jpeg: jpeg,
        '/bare-lines': lambda jpeg: jpeg + b'\r\n'}

    def send(request):
        request.send_response(200)
        if not request.path.startswith('/bare'):
            request.send_header('Content-Type', 'multipart/x-mixed-replace; boundary=next')
        request.end_headers()
        for number in range(10000):
            data = cases[request.path](pictures[number % len(pictures)])
            for at in range(0, len(data), 700):  # in pieces, as a network brings them
                request.wfile.write(data[at:at + 700])
            if done.wait(0.02):
                return

    with Web(send) as web:
        cameras = {path[1:]: {'source': web.address + path, 'max_bytes': most} for path in cases}
        enough = 2 * most // min(map(len, pictures))
        with Watch({'cameras': cameras}, folder) as watch:
            for name in cameras:
                watch.wait('started', name, after={'seq': 0})
            watch.until('pictures of all', lambda s: all(s['cameras'][name]['frames'] > enough for name in cameras))
            for name in cameras:
                undisturbed(watch, name)
            watch.end()
        done.set()


def asked(folder):
    """A camera that sends a picture when it is asked is asked each second, in one pipeline; it is lost when it does not
    answer, and comes back. Without `every`, the reason of its loss says what it needs."""
    need('ffprobe')
    pictures, calls = jpegs(folder), []
    silent = threading.Event()

    def send(request):
        if request.path == '/once.jpg':
            request.send_response(200)
            request.end_headers()
            request.wfile.write(pictures[0])
            return
        calls.append(time.monotonic())
        request.send_response(503 if silent.is_set() else 200)
        picture = b'' if silent.is_set() else pictures[len(calls) % len(pictures)]
        request.send_header('Content-Type', 'image/jpeg')
        if len(calls) % 2:  # else the end of the connection is that of the picture
            request.send_header('Content-Length', str(len(picture)))
        request.end_headers()
        request.wfile.write(picture)

    with Web(send) as web:
        record = {'folder': os.path.join(folder, 'rec')}
        camera = {'source': web.address + '/snapshot.jpg', 'every': 1, 'record': record}
        once = {'source': web.address + '/once.jpg'}
        with Watch({'cameras': {'good': GOOD, 'door': camera, 'once': once}}, folder) as watch:
            watch.wait('started', 'door')
            expect('"every"' in watch.wait('lost', 'once', after={'seq': 0})['reason'], watch.text)
            watch.ask('remove once')
            watch.until('pictures', lambda s: s['cameras']['door']['frames'] >= 5)
            expect(not any(e['type'] == 'lost' and e['camera'] == 'door' for e in watch.events), watch.text)
            steps = [after - before for before, after in zip(calls, calls[1:])]
            expect(all(step > 0.8 for step in steps), steps)
            silent.set()
            lost = watch.wait('lost', 'door')
            silent.clear()
            watch.wait('back', 'door', after=lost)
            undisturbed(watch)
            watch.end()
            pieces = [probe(event['file']) for event in watch.events if event['type'] == 'piece-finished']
            expect(pieces and pieces[0][1] >= 4, pieces)


class Flood:
    """A server on loopback that answers each request of a client by `begin (request)`, a pair: the answer and, for the
    last request, what is sent behind it as long as the client takes it."""

    def __init__(self, begin):
        self.begin, self.requests = begin, []
        self.server = socket.create_server(('127.0.0.1', 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.serve, args=(self.server.accept()[0],), daemon=True).start()

    def serve(self, client):
        with client:
            try:
                while request := client.recv(65536):
                    self.requests.append(request)
                    answer, more = self.begin(request)
                    client.sendall(answer)
                    for data in more:
                        client.sendall(data)
            except OSError:
                pass


def rtsp(last, more, **lines):
    """Returns what answers RTSP: with the lines (and the body) of each method, and behind the last with `more ()`."""
    lines = {'OPTIONS': b'Public: DESCRIBE, SETUP, PLAY\r\n\r\n', **lines}

    def begin(request):
        method, number = request.split()[0].decode(), re.search(rb'CSeq: *(\d+)', request).group(1)
        answer = b'RTSP/1.0 200 OK\r\nCSeq: ' + number + b'\r\n' + lines.get(method, b'\r\n')
        return answer, more() if method == last else ()
    return begin


def plays(streams, more):
    """Returns what answers RTSP for a camera of so many streams, which plays `more ()`."""
    media = b'm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:%d\r\n'
    body = b'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\n' + b''.join(media % n for n in range(streams))
    return rtsp('PLAY', more, SETUP=b'Transport: RTP/AVP/TCP;interleaved=0-1\r\nSession: 1\r\n\r\n',
                DESCRIBE=b'Content-Type: application/sdp\r\nContent-Length: %d\r\n\r\n' % len(body) + body)


def interleaved(channel, packet):
    """Yields, without an end, `packet (n)` as RTSP carries it."""
    for first in itertools.count(step=50):
        packets = map(packet, range(first, first + 50))
        yield b''.join(b'$' + struct.pack('>BH', channel, len(data)) + data for data in packets)


def fragment(number, step=1):
    """Returns a packet of a picture by H.264 that has no last one. All but every `step`th are lost."""
    head = struct.pack('>BBHII', 0x80, 96, number * step & 0xffff, 1, 1)
    return head + (b'\x7c\x05' if number else b'\x7c\x85') + bytes(1300)


def report(number):
    """Returns a report of RTCP, by another sender each time."""
    return struct.pack('>BBHIIIIII', 0x80, 200, 6, number, 0, 0, 0, 0, 0)


def drip(data):
    """Yields it five times a second."""
    while not threading.Event().wait(0.2):
        yield data


# RTSP cameras that fill the memory or hold a thread: headers without an end, quick and slow, a body and a picture
# without one, also of packets that wait for lost ones, a sender a packet.
FLOODS = {
    'headers': rtsp('DESCRIBE', lambda: itertools.repeat(b'X-A: b\r\n' * 10000), DESCRIBE=b''),
    'slow-headers': rtsp('DESCRIBE', lambda: drip(b'X-A: b\r\n'), DESCRIBE=b''),
    'body': rtsp('DESCRIBE', lambda: itertools.repeat(bytes(1 << 20)),
                 DESCRIBE=b'Content-Type: application/sdp\r\nContent-Length: 2000000000\r\n\r\nv=0\r\n'),
    'fragments': plays(1, lambda: interleaved(0, fragment)),
    'gaps': plays(1, lambda: interleaved(0, lambda number: fragment(number, 2))),
    'reports': plays(1, lambda: interleaved(1, report)),
}


def most_memory(watch):
    """Returns the most main memory that the process has had, in MiB."""
    with open(f'/proc/{watch.process.pid}/status', encoding='ascii') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmHWM:')) // 1024


def took_little(watch, most):
    """The process has had less than so many MiB; the address sanitizer keeps what is freed."""
    expect(most_memory(watch) < most or sanitized(), f'{most_memory(watch)} MiB')


def too_much(folder):
    """Cameras over HTTP that send without an end, or a picture that says it is huge: each is lost, with the reason, the
    process takes little memory for it, and the neighbour goes on."""
    picture = jpegs(folder, 1)[0]
    frame = picture.index(b'\xff\xc0')
    huge = picture[:frame + 5] + b'\xff\xdc\xff\xdc' + picture[frame + 9:]
    first, head = b'--next\r\nContent-Type: image/jpeg\r\n', b'--next\r\nContent-Length: 4294967295\r\n\r\n'
    bare = b'\xff\xd8\xff\xe0\x00\x10' + bytes(14)
    # The answer's type, its beginning, what comes again and again, and what the reason says.
    multipart = 'multipart/x-mixed-replace; boundary=next'
    cases = {'no-end': (multipart, first + b'\r\n' + picture[:-2], b'\x55' * 65536, 'max_bytes'),
             'no-boundary': (multipart, b'--', b'x' * 65536, 'max_bytes'),
             'headers': (multipart, first, b'X: ' + b'y' * 60000 + b'\r\n', 'max_bytes'),
             'length': (multipart, head, b'\x55' * 65536, 'max_bytes'),
             'sound': (multipart, b'', b'--next\r\nContent-Length: 60000\r\n\r\n' + bytes(60000), 'max_bytes'),
             'bare': ('image/jpeg', bare, b'\x55' * 65536, 'max_bytes'),
             'video': ('video/mp4', b'\x00\x00\x00\x18ftypmp42' + bytes(12), bytes(65536), ''),
             'picture': (multipart, b'', first + b'Content-Length: %d\r\n\r\n' % len(huge) + huge, '65500 x 65500'),
             'bare-picture': ('image/jpeg', b'', huge, '65500 x 65500')}

    def send(request):
        kind, begin, more, _ = cases[request.path[1:]]
        request.send_response(200)
        request.send_header('Content-Type', kind)
        request.end_headers()
        request.wfile.write(begin)
        while True:
            request.wfile.write(more)

    with Web(send) as web:
        cameras = {name: {'source': f'{web.address}/{name}', 'max_bytes': 8 << 20} for name in cases}
        with Watch({'cameras': {'good': GOOD}}, folder) as watch:
            watch.wait('started', 'good')
            for name, camera in cameras.items():
                watch.ask(f'add {name} {json.dumps(camera)}')
                reason = watch.wait('lost', name)['reason']
                expect(cases[name][3] in reason, (name, reason))
                watch.ask(f'remove {name}')
            took_little(watch, 200)
            undisturbed(watch)
            watch.end()


def too_much_said(folder):
    """RTSP cameras that fill the memory, or have no end of streams, and a broker that sends a message of 256 MB: the
    connection ends, and nothing hangs."""
    floods = {name: Flood(begin) for name, begin in {**FLOODS, 'streams': plays(300, lambda: ())}.items()}
    reasons = {'fragments': 'max_bytes', 'gaps': 'max_bytes', 'reports': 'senders'}
    house = Flood(lambda request: (b'\x20\x02\x00\x00\x30\xff\xff\xff\x7f', itertools.repeat(bytes(1 << 20))))
    with Watch({'cameras': {'good': GOOD}}, folder) as watch:
        watch.wait('started', 'good')
        for name, flood in floods.items():
            camera = {'source': f'rtsp://127.0.0.1:{flood.port}/x', 'timeout': 2, 'latency': 2000,
                      'max_bytes': 8 << 20}
            watch.ask(f'add {name} {json.dumps(camera)}')
            reason = watch.wait('lost', name)['reason']
            expect(reasons.get(name, '') in reason, (name, reason))
            watch.ask(f'remove {name}')
        watch.until('all is stopped', lambda s: set(s['cameras']) == {'good'})
        expect(not any(event['type'] == 'stuck' for event in watch.events), watch.text)
        took_little(watch, 80)
        methods = [request.split()[0] for request in floods['streams'].requests]
        expect(methods.count(b'SETUP') == 16, methods)
        undisturbed(watch)
        watch.end()
    config = {'cameras': {'good': GOOD}, 'mqtt': {'host': '127.0.0.1', 'port': house.port}}
    # Else malloc fills the 256 MB that libmosquitto asks for and does not use.
    with Watch(config, folder, env={'MALLOC_PERTURB_': '0'}) as watch:
        expect('not asked for' in watch.wait('broker-lost')['reason'], watch.text)
        watch.wait('started', 'good', after={'seq': 0})
        took_little(watch, 100)
        undisturbed(watch)
        watch.end()


def never_ended(folder):
    """A camera over HTTP for which something with an end answers once is not given up."""
    pictures, clips, calls, done = jpegs(folder), open(clip(folder), 'rb').read(), [], threading.Event()

    def send(request):
        calls.append(request.path)
        request.send_response(200)
        if len(calls) == 2:
            request.send_header('Content-Length', str(len(clips)))
            request.end_headers()
            request.wfile.write(clips)
            return
        request.send_header('Content-Type', 'multipart/x-mixed-replace; boundary=next')
        request.end_headers()
        for number in range(5 if len(calls) == 1 else 10000):
            jpeg = pictures[number % len(pictures)]
            request.wfile.write(b'--next\r\nContent-Length: %d\r\n\r\n' % len(jpeg) + jpeg + b'\r\n')
            if done.wait(0.05):
                return

    with Web(send) as web:
        with Watch({'cameras': {'door': {'source': web.address + '/video'}}}, folder) as watch:
            started = watch.wait('started', 'door')
            second = watch.wait('back', 'door', after=started)
            watch.wait('back', 'door', after=second)
            expect(len(calls) == 3 and not any(event['type'] == 'ended' for event in watch.events), calls)
            watch.end()
        done.set()


if __name__ == '__main__':
    sys.exit(main(odd_parts, asked, too_much, too_much_said, never_ended))
