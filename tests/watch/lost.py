#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: cameras that end, hang, send rubbish or are not there, a broker that goes away, and readers that are slow.
See harness.py."""
import glob
import json
import os
import random
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

from broker import Broker, Subscriber
from harness import SECONDS, STAND_IN, Skip, Watch, Web, expect, free_port, main, need, plugins_but, probe, talk

SMALL = {'width': 64, 'height': 48, 'rate': 10}
GOOD = {'source': 'test:ball', **SMALL}


def clip(folder, frames=10, size=(64, 48)):
    """Makes a file of so many frames, 10 a second."""
    path = os.path.join(folder, f'clip-{frames}-{size[0]}.avi')
    subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', f'num-buffers={frames}', '!',
                    f'video/x-raw,width={size[0]},height={size[1]},framerate=10/1', '!', 'jpegenc', '!', 'avimux', '!',
                    'filesink', f'location={path}'], check=True, timeout=SECONDS)
    return path


def undisturbed(watch, name='good'):
    """The neighbour has started once, and was never lost."""
    events = [event['type'] for event in watch.events if event.get('camera') == name]
    expect(events == ['started'], (name, events))


def in_order(watch, name):
    """started, then lost and back in turn; attempts that fail between are `lost` as well."""
    up = False
    for event in watch.events:
        if event.get('camera') == name and event['type'] in ('started', 'back', 'lost'):
            expect(event['type'] != 'started' or not up, (name, event))
            up = event['type'] != 'lost'


def hangs(folder):
    """A server that accepts and says nothing, one that sends rubbish, one that is not there: back-off, jitter, and
    the neighbour goes on."""
    silent = socket.create_server(('127.0.0.1', 0))
    rubbish = socket.create_server(('127.0.0.1', 0))
    data = random.Random(1).randbytes(4096)
    cameras = {'good': GOOD, 'file': {'source': 'rubbish.mp4'}, 'text': {'source': 'rubbish.txt', 'loop': True},
               'silent': {'source': f'rtsp://127.0.0.1:{silent.getsockname()[1]}/x', 'timeout': 1},
               'noise': {'source': f'rtsp://127.0.0.1:{rubbish.getsockname()[1]}/x', 'timeout': 1},
               'absent': {'source': f'rtsp://127.0.0.1:{free_port()}/x', 'timeout': 1},
               'nofile': {'source': 'no such file.mp4'}, 'nodevice': {'source': '/dev/video99'}}
    for name in ('rubbish.mp4', 'rubbish.txt'):
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(data if name.endswith('4') else b'hello\n' * 100)
    with Watch({'cameras': cameras}, folder) as watch:
        watch.wait('started', 'good')
        selector = selectors.DefaultSelector()
        selector.register(rubbish, selectors.EVENT_READ)
        clients = []
        wanted = {name: 2 for name in cameras if name != 'good'}
        deadline = time.monotonic() + SECONDS
        while any(wanted.values()):
            expect(time.monotonic() < deadline, wanted)
            for _ in selector.select(0):
                client = rubbish.accept()[0]
                client.setblocking(False)
                client.send(data)
                clients.append(client)
            seen = len(watch.events)
            watch.read(deadline)
            for event in watch.events[seen:]:
                if event['type'] == 'lost' and wanted.get(event['camera']):
                    wanted[event['camera']] -= 1
        for name in cameras:
            waits = [event['retry_ms'] for event in watch.events if event['type'] == 'lost' and event['camera'] == name]
            for i, wait in enumerate(waits):
                expect(0.79 * min(1000 * 2 ** i, 30000) <= wait <= 1.21 * min(1000 * 2 ** i, 30000), (name, waits))
        undisturbed(watch)
        watch.end()
        for client in [silent, rubbish, *clients]:
            client.close()


def ends(folder):
    """A file once: `ended`. A file again and again: no event, and no more than once a second. A file that comes late:
    found. Sound: no picture."""
    need('gst-launch-1.0')
    once, one, sound = clip(folder), clip(folder, frames=1), os.path.join(folder, 'sound.wav')
    subprocess.run(['gst-launch-1.0', '-q', 'audiotestsrc', 'num-buffers=10', '!', 'wavenc', '!', 'filesink',
                    f'location={sound}'], check=True, timeout=SECONDS)
    late = os.path.join(folder, 'late.avi')
    cameras = {'good': GOOD, 'once': {'source': once}, 'again': {'source': once, 'loop': True},
               'late': {'source': late}, 'picture': {'source': one, 'loop': True}, 'sound': {'source': sound}}
    begun = time.monotonic()
    with Watch({'cameras': cameras}, folder) as watch:
        expect(watch.wait('ended', 'once', after={'seq': 0})['frames'] == 10, 'frames')
        watch.wait('lost', 'late', after={'seq': 0})
        shutil.copy(once, late)
        watch.wait('started', 'late')
        watch.until('two rounds', lambda s: s['cameras']['again']['frames'] > 20)
        undisturbed(watch)
        undisturbed(watch, 'again')
        undisturbed(watch, 'picture')
        status = watch.until('two pictures', lambda s: s['cameras']['picture']['frames'] > 1)
        frames = status['cameras']['picture']['frames']
        expect(frames <= time.monotonic() - begun + 1, frames)
        expect('no picture in it' in watch.wait('lost', 'sound', after={'seq': 0})['reason'], watch.text)
        expect(watch.ask('status once')['status']['cameras']['once']['state'] == 'ended', 'state')
        watch.ask('restart once')
        watch.wait('back', 'once')
        watch.end()


def was_up(folder):
    """A camera that was up is tried again, even where its filter refuses a value: what it reads or gets may be back."""
    need('gst-launch-1.0')
    kernel = os.path.join(folder, 'kernel.txt')
    line = f'cudaconvolve kernel-file={kernel}'
    config = {'cameras': {'door': {'source': clip(folder), 'loop': True, 'filter': line}}}
    with open(kernel, 'w', encoding='ascii') as file:
        file.write('1 2 1')
    with Watch(config, folder) as watch:
        watch.wait('started', 'door')
        os.rename(kernel, kernel + '.away')
        expect('kernel.txt' in watch.wait('lost', 'door')['reason'], watch.text)
        os.rename(kernel + '.away', kernel)
        watch.wait('back', 'door')
        watch.end()


def refused(folder):
    """A web server that has no video for them: each pipeline is stopped properly; if not, GStreamer complains."""
    with Web() as web:
        cameras = {f'door{i}': {'source': f'{web.address}/none.cgi'} for i in range(16)}
        with Watch({'cameras': cameras}, folder) as watch:
            for name in cameras:
                first = watch.wait('lost', name, after={'seq': 0})
                watch.wait('lost', name, after=first)
            watch.end()


def by_http(folder):
    """A camera over HTTP that closes its connection comes back, with its recording; a file over HTTP ends."""
    need('gst-launch-1.0', 'ffprobe')
    file = clip(folder)
    subprocess.run(['gst-launch-1.0', '-q', 'filesrc', f'location={file}', '!', 'avidemux', '!', 'multifilesink',
                    f'location={folder}/%02d.jpg'], check=True, timeout=SECONDS)
    pictures = [open(path, 'rb').read() for path in sorted(glob.glob(os.path.join(folder, '*.jpg')))]
    calls, done = [], threading.Event()

    def send(request):
        """Sends the pictures, three at once, as a network may bring them; first all of them, once, then for ever."""
        request.send_response(200)
        if request.path == '/clip.avi':
            data = open(file, 'rb').read()
            request.send_header('Content-Length', str(len(data)))
            request.end_headers()
            request.wfile.write(data)
            return
        if request.path == '/bare.cgi':
            request.send_header('Content-Type', 'image/jpeg')
            request.end_headers()
            for number in range(10000):
                request.wfile.write(pictures[number % len(pictures)])
                if done.wait(0.1):
                    return
        calls.append(request.path)
        request.send_header('Content-Type', 'multipart/x-mixed-replace;boundary=next')
        request.end_headers()
        parts = b''
        for number in range(10 if len(calls) == 1 else 10000):
            picture = pictures[number % len(pictures)]
            parts += b'--next\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n' % len(picture)
            parts += picture + b'\r\n'
            if number % 3 == 0:
                request.wfile.write(parts)
                parts = b''
                if done.wait(0.1):
                    return

    with Web(send) as web:
        record = {'folder': os.path.join(folder, 'rec')}
        cameras = {'good': GOOD, 'file': {'source': web.address + '/clip.avi'},
                   'bare': {'source': web.address + '/bare.cgi', 'record': record},
                   'door': {'source': web.address + '/video.cgi', 'filter': 'cudamedian', 'record': record}}
        with Watch({'cameras': cameras}, folder) as watch:
            started = watch.wait('started', 'door', after={'seq': 0})
            expect(watch.wait('lost', 'door', after=started)['reason'] == 'the stream has ended', watch.text)
            watch.wait('back', 'door', after=started)
            expect(watch.wait('ended', 'file', after={'seq': 0})['frames'] == 10, 'frames of the file')
            watch.until('frames come as they are sent', lambda s: all(
                s['cameras'][name]['frames'] > frames for name, frames in (('door', 20), ('bare', 10))))
            expect(len(calls) == 2, calls)
            undisturbed(watch)
            watch.end()
            pieces = [probe(event['file']) for name in ('door', 'bare') for event in watch.events
                      if event['type'] == 'piece-finished' and event['camera'] == name]
            expect(len(pieces) == 3 and all(piece[2:4] == (64, 48) and piece[4] < 1 for piece in pieces), pieces)
            # All of the first; the last of the others may still be in the encoder at the end of the program.
            expect(pieces[0][1] == 10 and all(piece[1] >= 8 for piece in pieces), pieces)
        done.set()


def free(watch, fifo, name):
    """Has a writer come and go until the reader of the FIFO, which hangs, returns."""
    deadline = time.monotonic() + SECONDS
    while not any(event['type'] == 'freed' and event['camera'] == name for event in watch.events):
        expect(time.monotonic() < deadline, 'it is not freed')
        try:
            os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:  # there is no reader just now
            pass
        watch.ask('status')


def devices(folder):
    """Cameras of /dev, by a stand-in for v4l2src: raw and JPEG, of the size that is asked for; unplugged, and back."""
    env = {**plugins_but(folder, 'video4linux2', more=[STAND_IN]), 'FAKE_DEVICE': '/dev/video7'}
    lines = {'raw': 'videotestsrc is-live=true num-buffers=20 ! video/x-raw,format=YUY2,framerate=10/1',
             'jpeg': 'videotestsrc is-live=true num-buffers=20 ! video/x-raw,width=64,framerate=10/1 ! jpegenc'}
    cameras = {'door': {'source': '/dev/video7', 'filter': 'cudamedian', **SMALL}, 'good': GOOD,
               'none': {'source': '/dev/video8'}}
    for kind, line in lines.items():
        with Watch({'cameras': cameras}, folder, {**env, 'FAKE_V4L2': line}) as watch:
            started = watch.wait('started', 'door', after={'seq': 0})
            expect((started['width'], started['height'], started['rate']) == (64, 48, '10/1'), (kind, started))
            expect('identify' in watch.wait('lost', 'none', after={'seq': 0})['reason'], watch.text)
            expect(watch.wait('lost', 'door', after=started)['reason'] == 'the stream has ended', watch.text)
            watch.wait('back', 'door', after=started)
            undisturbed(watch)
            watch.end()


def stuck(folder):
    """A FIFO without a writer cannot even be opened, and its pipeline does not end: others go on, and so does this
    camera, with a new pipeline. Three are kept aside; a fourth that does not end waits for one of them."""
    fifo = os.path.join(folder, 'fifo')
    os.mkfifo(fifo)
    with Watch({'cameras': {'good': GOOD, 'fifo': {'source': fifo, 'timeout': 1}}}, folder) as watch:
        watch.wait('started', 'good')
        watch.wait('lost', 'fifo')
        for aside in range(1, 4):
            watch.wait('stuck', 'fifo')
            status = watch.ask('status fifo')['status']['cameras']['fifo']
            expect(status['state'] != 'stuck' and status['aside'] == aside, status)
            watch.ask('restart fifo')  # there is one to be stopped
        watch.wait('stuck', 'fifo')
        expect(watch.ask('status fifo')['status']['cameras']['fifo']['state'] == 'stuck', 'state')
        expect('do not end' in watch.ask('restart fifo', ok=False)['error'], 'nothing can be done')
        undisturbed(watch)
        free(watch, fifo, 'fifo')
        status = watch.ask('status fifo')['status']['cameras']['fifo']
        expect(status['state'] != 'stuck' and status.get('aside', 0) <= 3, status)
        # It hangs again by now: the end would wait for it, but for a second signal.
        watch.wait('lost', 'fifo', after=watch.events[-1])
        watch.process.send_signal(signal.SIGTERM)
        watch.wait('stopping')
        watch.kill(signal.SIGINT, -signal.SIGINT)


def again(folder):
    """A camera that a reload brings back while it is still being stopped starts when it has ended, or is kept aside as
    one that does not end; in this case the exit status says that something was not finished."""
    fifo = os.path.join(folder, 'fifo')
    os.mkfifo(fifo)
    config = {'cameras': {'good': GOOD, 'fifo': {'source': fifo, 'timeout': 1}}}
    for is_freed in (True, False):
        with Watch(config, folder) as watch:
            watch.wait('lost', 'fifo')
            watch.write({'cameras': {'good': GOOD}})
            expect(watch.ask('reload')['removed'] == ['fifo'], 'removed')
            watch.write({'cameras': {'good': GOOD, 'fifo': {**GOOD, 'width': 80}}})
            expect(watch.ask('reload')['added'] == ['fifo'], 'added')
            expect('being stopped' in watch.ask('restart fifo', ok=False)['error'], 'it does not start now')
            expect(watch.ask('status fifo')['status']['cameras']['fifo']['state'] == 'waiting', watch.text)
            started = watch.wait('started', 'fifo')
            stuck_one = watch.wait('stuck', 'fifo', after={'seq': 0})
            expect(started['width'] == 80 and started['seq'] > stuck_one['seq'], (stuck_one, started))
            if is_freed:
                free(watch, fifo, 'fifo')
            undisturbed(watch)
            watch.end(code=0 if is_freed else 1)


def dead_disk(folder):
    """Masks and snapshots on a disk that does not answer, by command and in the file: the answer says so, and
    nothing else waits, neither other commands nor cameras nor the health check nor the end. The camera comes when the
    disk answers again."""
    need('gst-launch-1.0')
    library = os.path.join(os.environ.get('CF_BUILD', 'build'), 'tests', 'watch', 'libhang.so')
    if not os.path.exists(library):
        raise Skip(f'{library} is not built')
    own, hang, gate = (os.path.join(folder, name) for name in ('own', 'hang', 'gate'))
    os.mkdir(own, 0o700)
    os.mkdir(hang)
    os.mkfifo(gate)
    mask, line, control = os.path.join(hang, 'mask.png'), 'cudaconvolve preset=fill', os.path.join(own, 'control')
    subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=1', '!', 'pngenc', '!', 'filesink',
                    f'location={mask}'], check=True, timeout=SECONDS)
    config = {'cameras': {'good': GOOD, 'door': {**GOOD, 'filter': line},
                          'bad': {**GOOD, 'filter': f'{line} mask={mask}'}},
              'control': {'socket': control}, 'metrics': {'port': 0}}
    commands = [f'set door 0.mask {mask}2', f'snapshot door {hang}/door.jpg',
                f'add yard {json.dumps({**GOOD, "filter": f"{line} mask={mask}3"})}']
    with Watch(config, folder, {'LD_PRELOAD': os.path.abspath(library), 'CF_HANG': gate}) as watch:
        health = f'http://127.0.0.1:{watch.wait("ready")["metrics_port"]}/healthz'
        for name in ('good', 'door'):
            watch.wait('started', name, after={'seq': 0})
        clients = [socket.socket(socket.AF_UNIX) for _ in commands]
        for client, command in zip(clients, commands):
            client.settimeout(SECONDS)
            client.connect(control)
            client.sendall(command.encode() + b'\n')
            watch.ask('status')
            urllib.request.urlopen(health, timeout=SECONDS).close()
        for client in clients:
            answer = client.makefile().readline()
            expect('does not answer' in json.loads(answer)['error'], answer)
            client.close()
        expect(mask in watch.wait('lost', 'bad', after={'seq': 0})['reason'], watch.text)
        # A second one does not wait at all: a thread waits already.
        begun = time.monotonic()
        watch.ask(commands[0], ok=False)
        expect(time.monotonic() - begun < 4, 'another thread waits')
        undisturbed(watch)
        undisturbed(watch, 'door')
        with open(gate, 'r+b', buffering=0):
            watch.wait('started', 'bad')
            expect(watch.ask(commands[1])['ok'], 'the disk answers again')
            watch.kill()


def in_time(folder):
    """The end comes within the time that docs/watch.md states, whatever hangs: a pipeline, the broker, a reader."""
    fifo = os.path.join(folder, 'fifo')
    os.mkfifo(fifo)
    with socket.create_server(('127.0.0.1', 0)) as silent:
        config = {'cameras': {'good': GOOD, 'fifo': {'source': fifo}},
                  'mqtt': {'host': '127.0.0.1', 'port': silent.getsockname()[1]}}
        with Watch(config, folder) as watch:
            watch.wait('started', 'good')
            client = silent.accept()[0]
            client.sendall(b'\x20\x02\x00\x00')  # it accepts the connection, and acknowledges no message
            watch.wait('broker-connected', after={'seq': 0})
            watch.send(b'an answer to this is some hundred bytes\n' * 2000)  # more than a pipe holds
            begun = time.monotonic()
            watch.process.send_signal(signal.SIGTERM)
            expect(watch.process.wait(timeout=2 * SECONDS) == 1, 'its status')
            took = time.monotonic() - begun
            expect(12 < took < 15, f'{took:.1f} s')
            client.close()


def events_in(lines):
    return [json.loads(line.split(' ', 1)[1]) for line in lines if line.startswith('house/') and '{' in line]


def broker(folder):
    """The broker starts late, goes away and comes back: every event arrives, in order; the last will is kept."""
    need('mosquitto', 'mosquitto_sub')
    port = free_port()
    house = Broker(folder, port)
    config = {'cameras': {'door': GOOD}, 'mqtt': {'host': '127.0.0.1', 'port': port, 'topic': 'house'}}
    with Watch(config, folder) as watch:
        watch.wait('broker-lost')
        watch.wait('started', 'door', after={'seq': 0})
        house.start()
        reader = Subscriber(port)
        watch.wait('broker-connected')
        lines = reader.until(lambda lines: any('"broker-connected"' in line for line in lines))
        expect('house/available online' in lines, lines)
        expect(any(line.startswith('house/door/started {') for line in lines), lines)
        reader.end()
        house.stop()
        away = watch.wait('broker-lost')
        for _ in range(20):
            watch.ask('restart door')
            watch.wait('back', 'door')
        house.start()
        reader = Subscriber(port)
        watch.wait('broker-connected', after=away)
        lines = reader.until(lambda lines: any('"broker-connected"' in line for line in lines))
        numbers = [event['seq'] for event in events_in(lines)]
        # What came before the subscriber was there is the broker's; from then on none is missing or late.
        expect(numbers == list(range(numbers[0], numbers[0] + len(numbers))) and len(numbers) > 3, numbers)
        watch.process.send_signal(signal.SIGKILL)
        reader.until(lambda lines: 'house/available offline' in lines)
        watch.finish(None)
        reader.end()
        house.stop()


def slow_reader(folder):
    """What standard output has lost is reported when it is read again; the broker gets this event in its place, too."""
    need('mosquitto', 'mosquitto_sub')
    own = os.path.join(folder, 'own')
    os.mkdir(own, 0o700)
    control, port = os.path.join(own, 'control'), free_port()
    house = Broker(folder, port)
    house.start()
    config = {'cameras': {'door': GOOD}, 'control': {'socket': control},
              'mqtt': {'host': '127.0.0.1', 'port': port, 'topic': 'house'}}
    with Watch(config, folder) as watch:
        watch.wait('started', 'door')
        watch.wait('broker-connected', after={'seq': 0})
        reader = Subscriber(port)
        watch.send(b'x\n' * 12000)  # their answers are not read: 10000 of them are kept
        deadline = time.monotonic() + SECONDS
        while not (lost := talk(control, 'status\n')[0]['status']['events_lost']):
            expect(time.monotonic() < deadline, 'nothing is lost')
        while len(watch.answers) < 10000:
            watch.read(deadline)
        expect(talk(control, 'restart door\n')[0]['ok'], 'restart')
        event = watch.wait('events-lost')
        expect(event['where'] == 'stdout' and event['count'] >= lost, (event, lost))
        expect(talk(control, 'restart door\n')[0]['ok'], 'restart')
        last = watch.wait('back', 'door', after=event)
        lines = reader.until(lambda lines: any(f'"seq":{last["seq"]},' in line for line in lines))
        numbers = [one['seq'] for one in events_in(lines) if one['seq'] <= last['seq']]
        expect(numbers == list(range(numbers[0], last['seq'] + 1)) and numbers[0] < event['seq'], (numbers, event))
        watch.end()
    reader.end()
    house.stop()


if __name__ == '__main__':
    sys.exit(main(hangs, ends, was_up, refused, by_http, devices, stuck, again, dead_disk, in_time, broker,
                  slow_reader))
