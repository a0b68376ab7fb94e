#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: its file, commands, events, snapshots, secrets, and the end. See harness.py."""
import datetime
import json
import os
import pty
import random
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

try:
    import yaml
except ImportError:
    yaml = None

from harness import (PROGRAM, ROOT, SECONDS, STAND_IN, Skip, Watch, Web, expect, main, need, parse, plugins_but,
                     run, talk)
from hidden import LARGE, jpeg

SMALL = {'width': 64, 'height': 48, 'rate': 10}
FILTER = 'cudamedian kernel-size=3 ! cudaconvolve name=blur preset=gauss'
FAKE_GPU = os.path.join(os.path.abspath(os.environ.get('CF_BUILD', 'build')), 'tests', 'faults',
                        'libfakecudafilters.so')
DEPLOY = os.path.join(ROOT, 'pipelines', 'watch', 'deploy')
STATUS_LINE = r'1 of 1 cameras up, \d+ frames/s, \d+ dropped'


def small(**settings):
    return {'source': 'test:ball', **SMALL, **settings}


def begins(folder):
    """Two cameras start; one with a bad line is named, with the element's range, and does not stop the other."""
    cameras = {'door': small(filter='cudamedian kernel-size=3'), 'bad': small(filter='cudamedian kernel-size=4000')}
    with Watch({'cameras': cameras}, folder) as watch:
        ready = watch.wait('ready')
        expect(ready['cameras'] == 2, ready)
        failed = watch.wait('failed', 'bad')
        expect('kernel-size' in failed['reason'] and '1..255' in failed['reason'], failed)
        started = watch.wait('started', 'door')
        expect((started['width'], started['height'], started['rate']) == (64, 48, '10/1'), started)
        expect(started['backend'] in ('cpu', 'cuda'), started)
        status = watch.until('frames', lambda s: s['cameras']['door']['frames'] > 5)
        door = status['cameras']['door']
        expect(door['state'] == 'up' and status['cameras']['bad']['state'] == 'failed', status)
        stats = door['elements'][0]['stats']
        expect(stats['frames-cpu'] + stats['frames-gpu'] > 0, stats)
        watch.end()
        expect(watch.events[-1]['type'] == 'stopped' and watch.events[-1]['clean'], watch.events[-1])


def properties(folder):
    """set and get by kind, name and index; what is wrong is said; a restart keeps what was set."""
    with Watch({'cameras': {'door': small(filter=FILTER)}}, folder) as watch:
        watch.wait('started', 'door')
        watch.ask('set door cudamedian.kernel-size 5')
        expect(watch.ask('get door 0.kernel-size')['value'] == 5, 'by index')
        watch.ask('set door blur.preset privacy')
        watch.ask('set door 1.roi 0.1,0.1,0.5,0.5')
        expect(watch.ask('get door blur.preset')['value'] == 'privacy', 'by name')
        wrong = {'set door cudamedian.kernel-size 4000': 'out of range',
                 'set door cudamedian.kernel-size x': 'no value',
                 'set door cudamedian.nothing 1': 'no property',
                 'set door sharpen.x 1': 'no element "sharpen"; it has cudamedian blur',
                 'set door kernel-size 5': 'ELEMENT.PROPERTY', 'set door 0.cuda-device-id 0': 'cannot change',
                 'set door 0.stats x': 'cannot be set', 'set nowhere 0.kernel-size 3': 'no camera',
                 'set door 0.kernel-size': 'needs', 'get door 2.x': 'no element', 'enable door maybe': 'neither',
                 'set door 0.name x': 'cannot be set'}
        for command, what in wrong.items():
            answer = watch.ask(command, ok=False)
            expect(what in answer['error'], (command, answer))
        watch.ask('enable door off')
        expect(watch.ask('get door blur.enabled')['value'] is False, 'enabled')
        expect(watch.ask('get door 0.kernel-size')['value'] == 5, 'a refused value changed it')
        watch.ask('restart door')
        watch.wait('back', 'door')
        expect(watch.ask('get door 0.kernel-size')['value'] == 5, 'a restart forgets')
        expect(watch.ask('get door 0.enabled')['value'] is False, 'a restart forgets')
        watch.end()


def refusals(folder):
    """What only the running element can refuse is an error of set, and spoils neither what was set nor the start."""
    with Watch({'cameras': {'door': small(filter=FILTER)}}, folder) as watch:
        watch.wait('started', 'door')
        watch.ask('set door blur.preset unsharp')
        watch.ask('set door blur.kernel 0 1 0')  # which makes the preset custom
        watch.ask('set door blur.divisor 2')
        expect('column 3' in watch.ask('set door blur.kernel 1 2 x', ok=False)['error'], 'the reason')
        expect('even' in watch.ask('set door 0.kernel-size 4', ok=False)['error'], 'the reason')
        expect('roi' in watch.ask('set door blur.roi 1,2', ok=False)['error'], 'the reason')
        # Advice is no refusal: motion-meta has no effect without temporal-method=running.
        watch.ask('set door 0.motion-meta true')
        watch.wait('warning', 'door', element='cudamedian0')
        watch.ask('restart door')
        watch.wait('back', 'door')
        expect(not [event for event in watch.events if event['type'].startswith('settings-')], 'all counts')
        expect(watch.ask('get door 0.motion-meta')['value'] is True, 'advice counts as a refusal')
        expect(watch.ask('get door blur.kernel')['value'] == '0 1 0', 'the kernel before the bad one is forgotten')
        expect(watch.ask('get door blur.divisor')['value'] == 2, 'a setting beside the bad one is forgotten')
        # While the camera is away, its element is asked at the next start only. It is kept until there is a good one.
        watch.send('restart door\nset door blur.roi 1,2')
        watch.answer()
        expect(watch.answer()['ok'], 'set while it is away')
        refused = watch.wait('settings-refused', 'door')
        expect(refused['settings'] == ['1.roi'] and 'whole frame' in refused['reason'], refused)
        watch.wait('back', 'door')
        watch.wait('warning', 'door')
        expect(watch.ask('get door blur.divisor')['value'] == 2, 'a setting beside the bad one is dropped')
        watch.ask('set door blur.roi 1,2,3,4')
        expect(not [event for event in watch.events if event['type'] == 'settings-dropped'], 'nothing was dropped')
        watch.ask('restart door')
        watch.wait('back', 'door', attempts=0)
        expect(watch.ask('get door blur.kernel')['value'] == '0 1 0', 'the kernel')
        watch.end()


def wrong_values(folder):
    """A value of the file that only the running element can refuse: `failed` says it once, and there is no next attempt
    before something changes: the file, a file that the filter reads, a property."""
    even, kernel = 'cudamedian kernel-size=4', os.path.join(folder, 'kernel.txt')
    reader = f'cudaconvolve kernel-file={kernel}'
    with Watch({'cameras': {'door': small(filter='cudamedian kernel-size=3'), 'yard': small()}}, folder) as watch:

        def refused(what, times=1):
            failed = watch.wait('failed', 'door')
            expect(what in failed['reason'], failed)
            door = watch.until('failed', lambda s: s['cameras']['door']['state'] == 'failed')['cameras']['door']
            expect(door['reason'] == failed['reason'], (door, failed))
            said = [event['type'] for event in watch.events if what in str(event)]
            expect(said == ['failed'] * times, said)

        watch.wait('started', 'door')
        watch.write({'cameras': {'door': small(filter=even), 'yard': small()}})
        expect(watch.ask('reload')['changed'] == ['door'], 'door has changed')
        refused('kernel-size 4 is even')
        watch.ask('restart door')
        refused('kernel-size 4 is even', 2)
        watch.ask('set door 0.kernel-size 5')
        watch.wait('back', 'door')
        # What was set by command is tried again, and a better value at once.
        watch.send('restart door\nset door 0.kernel-size 6')
        expect(watch.answer()['ok'] and watch.answer()['ok'], 'set while it is away')
        expect(watch.wait('settings-refused', 'door')['settings'] == ['0.kernel-size'], 'the value set by command')
        watch.wait('lost', 'door')
        watch.wait('lost', 'door')
        watch.until('waiting', lambda s: s['cameras']['door']['state'] == 'waiting')
        watch.ask('set door 0.kernel-size 7')
        watch.wait('back', 'door')
        watch.write({'cameras': {'door': small(filter=reader), 'yard': small()}})
        watch.ask('reload')
        expect(watch.wait('settings-dropped', 'door')['settings'] == ['cudamedian.kernel-size'], 'no median is left')
        refused('kernel.txt')
        with open(kernel, 'w', encoding='ascii') as file:
            file.write('1 2 1')
        expect(watch.ask('reload')['kept'] == ['yard', 'door'], 'the settings are the same')
        watch.wait('back', 'door')
        os.remove(kernel)
        watch.ask('restart door')
        watch.wait('failed', 'door')
        expect(watch.ask('status yard')['status']['cameras']['yard']['restarts'] == 0, 'yard was disturbed')
        watch.end()


def changes(folder):
    """add, remove and reload; what the file leaves alone goes on without a break."""
    cameras = {'door': small(), 'yard': small(), 'gate': small()}
    with Watch({'cameras': cameras}, folder) as watch:
        for name in cameras:
            watch.wait('started', name, after=watch.events[0] if watch.events else None)
        watch.ask('add hall ' + json.dumps(small(filter='identity')))
        watch.wait('started', 'hall')
        expect('already' in watch.ask('add hall {"source":"test"}', ok=False)['error'], 'twice')
        expect('source' in watch.ask('add x {}', ok=False)['error'], 'no source')
        expect('is behind' in watch.ask('add x {} {}', ok=False)['error'], 'two objects')
        expect('JSON object' in watch.ask('add x "a" {}', ok=False)['error'], 'a text and an object')
        expect('nosuch' in watch.ask('add x {"source":"test","filter":"nosuch"}', ok=False)['error'], 'no element')
        watch.ask('remove hall')
        watch.wait('removed', 'hall')
        # yard changes, gate goes, lane comes; door stays.
        watch.write({'cameras': {'door': small(), 'yard': small(width=80), 'lane': small()}})
        answer = watch.ask('reload')
        expect((answer['kept'], answer['changed'], answer['removed'], answer['added']) ==
               (['door'], ['yard'], ['gate'], ['lane']), answer)
        watch.wait('started', 'lane')
        size = watch.wait('size', 'yard', after=watch.events[0])
        expect(size['to']['width'] == 80, size)
        expect(sum(event.get('camera') == 'door' for event in watch.events) == 1, 'door was disturbed')
        watch.write('{ "cameras": { "door": { "source": "test", "timeout": "x" } } }')
        error = watch.ask('reload', ok=False)['error']
        expect('cameras.door.timeout' in error and ':1:' in error, error)
        watch.write('{ "cameras": { "door": { "source": "test" ')
        watch.process.send_signal(signal.SIGHUP)
        watch.wait('reload-failed')
        expect(watch.ask('status door')['status']['cameras']['door']['state'] == 'up', 'a bad file disturbed it')
        watch.end()


def authors(folder):
    """Each change by a command is an event that says who it was; a question and what is refused are none."""
    own = os.path.join(folder, 'own')
    os.mkdir(own, 0o700)
    path = os.path.join(own, 'control')
    with Watch({'cameras': {'door': small(filter=FILTER)}, 'control': {'socket': path}}, folder) as watch:
        watch.wait('started', 'door')
        more = json.dumps(small(filter='identity'))
        for camera, command in (('door', 'set door 0.kernel-size 5'), ('door', 'enable door off'),
                                ('hall', f'add hall {more}'), ('hall', 'remove hall'), (None, 'reload'),
                                ('door', 'trigger door'), ('door', 'restart door')):
            name, *rest = command.split(' ', 1)
            arguments = rest[0].partition(' ')[2] if rest else ''
            for by in ('stdin', f'socket uid {os.getuid()}'):
                if by == 'stdin' or name == 'set':
                    answer = watch.ask(command) if by == 'stdin' else talk(path, command + '\n')[0]
                    expect(answer['ok'], (command, answer))
                    watch.wait('command', camera, command=name, arguments=arguments, by=by)
        before = sum(event['type'] == 'command' for event in watch.events)
        for command in ('set door 0.kernel-size x', 'record door on', 'remove none', 'get door 0.kernel-size',
                        'status', 'elements door'):
            watch.ask(command, ok=None)
        expect(sum(event['type'] == 'command' for event in watch.events) == before, watch.events[-3:])
        watch.end()
        expect([event['command'] for event in watch.events if event['type'] == 'command'][-1] == 'quit', watch.text)


def shades(path):
    """Returns (time in µs since 1970, sample in the middle) of each frame of a recording."""
    text = subprocess.run(['ffprobe', '-v', 'error', '-select_streams', 'v', '-show_entries', 'frame=pts_time', '-of',
                           'csv=p=0', path], capture_output=True, text=True, check=True, timeout=SECONDS).stdout
    times = [float(word.strip(',')) for word in text.split()]
    data = subprocess.run(['gst-launch-1.0', '-q', 'filesrc', f'location={path}', '!', 'decodebin', '!', 'videoconvert',
                           '!', 'video/x-raw,format=GRAY8', '!', 'fdsink'], capture_output=True, check=True,
                          timeout=SECONDS).stdout
    size = SMALL['width'] * SMALL['height']
    name = re.search(r'-(\w+\.\d+)Z', os.path.basename(path)).group(1)
    start = datetime.datetime.strptime(name + '+0000', '%Y%m%dT%H%M%S.%f%z').timestamp()
    expect(len(data) == size * len(times), (len(data), len(times)))
    return [(start + at - times[0], data[i * size + size // 2 + SMALL['width'] // 2]) for i, at in enumerate(times)]


def first_frames(folder):
    """The frame that the answer to set and its event name has the value in the recording, and so have all later ones:
    50 of them at random times, with frames in flight in two elements and a queue. Null where no frame comes."""
    need('ffprobe', 'gst-launch-1.0')
    line = 'cudamedian kernel-size=3 frames-in-flight=4 ! queue ! cudaconvolve name=hide preset=fill ' \
        'frames-in-flight=4 fill-color=0xff000000'
    dice, named = random.Random(1), []
    grays = [f'0xff{level:02x}{level:02x}{level:02x}' for level in range(16, 256, 34)]
    with Watch({'cameras': {'door': small(filter=line, rate=25, record={'folder': 'rec', 'quality': 1})}},
               folder) as watch:
        watch.wait('piece-begun', 'door')
        for number in range(50):
            for _ in range(dice.randrange(6)):  # so many answers later
                watch.ask('status')
            if number == 25:
                watch.ask('restart door')
                watch.wait('back', 'door')
            answer = watch.ask(f'set door hide.fill-color {grays[number % len(grays)]}')
            event = watch.wait('command', 'door', command='set')
            expect(answer['frame'] and event['frame'] == answer['frame'], (answer, event))
            named.append(datetime.datetime.fromisoformat(answer['frame']).timestamp())
        watch.end()
    found = sorted(shade for name in os.listdir(f'{folder}/rec') if name.endswith('.mkv')
                   for shade in shades(f'{folder}/rec/{name}'))
    levels, seen = [level for level in range(16, 256, 34)], set()
    for at, shade in found:
        last = sum(time < at + 0.01 for time in named) - 1  # files count in ms, and 25 frames a second are 40 apart
        index = min(range(len(levels)), key=lambda i, shade=shade: abs(levels[i] - (shade - 16) * 255 / 219))
        # Frames that were in the filter may have later values.
        if last >= 0:
            expect((index - last) % len(levels) < 4, (at, shade, index, last))
            seen.add((last, (index - last) % len(levels) == 0))
    expect(len({last for last, same in seen if same}) > 40, (len(seen), len(found)))
    print(f'    {len(found)} frames of 50 settings')


def no_frames(folder):
    """A camera that stands still answers null within its second; one that is away at once."""
    picture, over, served = jpeg(LARGE, 'I420', (0, 0, 0, 0)), threading.Event(), []
    part = b'--b\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n' % (len(picture), picture)

    def answer(request):
        request.wfile.write(b'HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=b\r\n\r\n' +
                            part * 3)
        served.append(3)
        over.wait(SECONDS)

    with Web(answer) as web, \
            Watch({'cameras': {'door': {'source': web.address, 'filter': FILTER, 'timeout': 60},
                               'away': {'source': 'http://127.0.0.1:9', 'filter': FILTER}}}, folder) as watch:
        watch.wait('started', 'door')
        begun, sets = time.monotonic(), 1
        while watch.ask('set door blur.sigma 3')['frame']:  # one of those that there are
            sets += 1
        expect(sets <= sum(served) and time.monotonic() - begun < SECONDS / 2, (sets, begun))
        expect(watch.ask('enable door off')['frame'] is None, 'no frame comes')
        watch.wait('lost', 'away')
        expect(watch.ask('set away blur.sigma 3')['frame'] is None, 'it is away')
        watch.send('set door blur.sigma 2')
        watch.send('quit')
        over.set()
        watch.end(None)
        events = [event for event in watch.events if event['type'] == 'command'][sets - 1:]
        expect([(event['command'], event.get('frame')) for event in events] ==
               [('set', None), ('enable', None), ('set', None), ('set', None), ('quit', None)], events)


def snapshots(folder):
    """JPEG and PNG of the size of the frame; never over a file without --overwrite; no part of one stays, and what an
    earlier process has left is not in the way."""
    rest = os.path.join(folder, 'a.jpg.part')
    with open(rest, 'w', encoding='ascii') as file:
        file.write('half')
    with Watch({'cameras': {'door': small(filter='cudamedian')}}, folder, wrapper=('env', '-C', '/')) as watch:
        watch.wait('started', 'door')
        for name, magic in {'a.jpg': b'\xff\xd8\xff', 'b c.png': b'\x89PNG'}.items():
            path = os.path.join(folder, name)
            answer = watch.ask(f'snapshot door {path}')
            expect((answer['file'], answer['width'], answer['height']) == (path, 64, 48), answer)
            with open(path, 'rb') as file:
                expect(file.read(len(magic)) == magic, f'{path} is something else')
        watch.wait('snapshot', 'door')
        path = os.path.join(folder, 'a.jpg')
        expect('overwrite' in watch.ask(f'snapshot door {path}', ok=False)['error'], 'over a file')
        watch.ask(f'snapshot door --overwrite {path}')
        expect('.png' in watch.ask(f'snapshot door {folder}/a.gif', ok=False)['error'], 'gif')
        watch.ask(f'snapshot door {folder}/no/such/folder.jpg', ok=False)
        expect(watch.ask('snapshot door of-the-file.jpg')['file'] == f'{folder}/of-the-file.jpg', 'a relative path')
        parts = [name for name in os.listdir(folder) if name.endswith('.part')]
        expect(parts == ['a.jpg.part'] and os.path.getsize(rest) == 4, parts)
        watch.end()


def gray(path):
    """Returns the samples of a picture."""
    return subprocess.run(['gst-launch-1.0', '-q', 'filesrc', f'location={path}', '!', 'pngdec', '!', 'videoconvert',
                           '!', 'video/x-raw,format=GRAY8', '!', 'fdsink'], check=True, capture_output=True,
                          timeout=SECONDS).stdout


def turned(folder):
    """Pictures that say that they lie on their side are upright: a file with a display matrix, a JPEG with EXIF."""
    need('gst-launch-1.0')
    raw = os.path.join(folder, 'raw')
    with open(raw, 'wb') as file:  # the left half is white: the upper one, turned to the right
        file.write((bytes([235]) * 32 + bytes([16]) * 32) * 48 * 60)
    begin = ['gst-launch-1.0', '-q', 'filesrc', f'location={raw}', '!', 'rawvideoparse', 'format=gray8', 'width=64',
             'height=48', 'framerate=2/1', '!', 'videoconvert', '!', 'video/x-raw,format=I420', '!']
    encode = next((name for name in ('x264enc', 'openh264enc') if not subprocess.run(
        ['gst-inspect-1.0', '--exists', name], check=False).returncode), None)
    if not encode:
        raise Skip('there is no encoder for H.264')
    subprocess.run([*begin, encode, '!', 'h264parse', '!', 'mp4mux', '!', 'filesink', f'location={folder}/clip.mp4'],
                   check=True, timeout=SECONDS)
    with open(os.path.join(folder, 'clip.mp4'), 'r+b') as file:
        file.seek(file.read().index(b'tkhd') + 4 + 40)
        file.write(struct.pack('>9i', 0, 1 << 16, 0, -1 << 16, 0, 0, 48 << 16, 0, 1 << 30))
    subprocess.run([*begin, 'identity', 'eos-after=2', '!', 'jpegenc', '!', 'filesink', f'location={folder}/a.jpg'],
                   check=True, timeout=SECONDS)
    with open(os.path.join(folder, 'a.jpg'), 'rb') as file:
        jpeg = file.read()
    # An APP1 with the one entry "orientation", 6: the first row is the right side.
    exif = b'Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0'
    with open(os.path.join(folder, 'a.jpg'), 'wb') as file:
        file.write(jpeg[:2] + b'\xff\xe1' + (len(exif) + 2).to_bytes(2, 'big') + exif + jpeg[2:])
    cameras = {'clip': {'source': 'clip.mp4', 'filter': 'cudaconvolve preset=gauss roi=0,0,1,0.1'},
               'still': {'source': 'a.jpg', 'loop': True}, 'flat': small()}
    with Watch({'cameras': cameras}, folder) as watch:
        for name in cameras:
            started = watch.wait('started', name, after={'seq': 0})
            expect((started['width'], started['height']) == ((64, 48) if name == 'flat' else (48, 64)), started)
        watch.ask('snapshot clip clip.png')
        watch.end()
        expect(not any(event['type'] == 'size' for event in watch.events), 'a size that no frame has')
    samples = gray(os.path.join(folder, 'clip.png'))
    means = [sum(samples[row * 48:(row + 16) * 48]) / 16 / 48 for row in (8, 40)]
    expect(means[0] > 200 and means[1] < 40, means)


def lines(folder):
    """Lines that are empty, comments, too long, not text; many at once are answered in order."""
    with Watch({'cameras': {'door': small(filter='cudamedian', rate=100)}}, folder) as watch:
        watch.wait('started', 'door')
        watch.send('\n# nothing\n   \n')
        expect('no command' in watch.ask('jump', ok=False)['error'], 'jump')
        expect('longer' in watch.ask('set door 0.x ' + 'y' * 100000, ok=False)['error'], 'long')
        expect('UTF-8' in watch.ask(b'set door \xff\xfe\n', ok=False)['error'], 'bytes')
        expect('UTF-8' in watch.ask(b'sta\0tus\n', ok=False)['error'], 'a NUL')
        for size in range(200):
            watch.send(f'set door 0.kernel-size {size % 7 * 2 + 1}\nget door 0.kernel-size')
        for size in range(200):
            answer = watch.answer()
            expect(answer == {'ok': True, 'value': size % 7 * 2 + 1, 'frame': answer['frame']}, 'set')
            expect(watch.answer()['value'] == size % 7 * 2 + 1, 'get is answered before set')
        watch.process.stdin.close()  # the program goes on
        watch.kill()


def tables(folder):
    """The page and the manual list the commands that the program has, with their arguments and in its order."""
    with open(os.path.join(ROOT, 'docs', 'watch.md'), encoding='utf-8') as file:
        section = file.read().split('\n## Commands\n')[1].split('\n## ')[0]
    with open(os.path.join(ROOT, 'pipelines', 'man', 'cf-watch.1'), encoding='utf-8') as file:
        manual = ' '.join(file.read().split())
    rows = [row.replace('\\|', '|') for row in re.findall(r'^\| `([a-z]+[^`]*)` \|', section, re.M)]
    with Watch({'cameras': {'door': small()}}, folder) as watch:
        names = watch.ask('nothing', ok=False)['error'].split('; there are ')[1]
        expect(names == ', '.join(row.split()[0] for row in rows), (names, rows))
        expect(f': {names}; each is answered' in manual, 'the manual lists other commands')
        for row in rows:
            name, *arguments = row.split()
            if arguments != ['[CAMERA]']:  # it may be missing, so that nothing is wrong
                error = watch.ask(name if arguments else f'{name} x', ok=False)['error']
                expect(error.rstrip() == f'{name} needs: {row}', (row, error))


def sockets(folder):
    """The socket is for its user only; a stale one is replaced, a live one is not; slow readers are let go."""
    own = os.path.join(folder, 'own')
    os.mkdir(own, 0o700)
    path = os.path.join(own, 'control')
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(path)
    stale.close()
    config = {'cameras': {'door': small()}, 'control': {'socket': 'own/control', 'stdin': False}}
    with Watch(config, folder, wrapper=('env', '-C', '/')) as watch:
        expect(watch.wait('ready')['socket'] == path, watch.events)
        watch.wait('started', 'door')
        expect(stat.S_IMODE(os.stat(path).st_mode) == 0o600, 'the mode of the socket')
        answers = talk(path, 'status door\nnonsense\nstatus')
        expect([answer['ok'] for answer in answers] == [True, False, True], answers)
        status, _, errors = run(watch.path)
        expect(status == 2 and 'another process listens' in errors, (status, errors))
        with socket.socket(socket.AF_UNIX) as slow:  # asks for megabytes, and reads nothing
            slow.connect(path)
            slow.settimeout(10)
            try:
                slow.sendall(b'status\n' * 20000)
            except OSError:
                pass
            expect(talk(path, 'status door\n')[0]['ok'], 'a slow client stops others')
        talk(path, 'quit\n')
        watch.finish(0)
        expect(not os.path.exists(path), 'the socket is left behind')
    os.chmod(own, 0o777)
    status, _, errors = run(watch.path)
    expect(status == 2 and 'others may write' in errors, (status, errors))


def check_prometheus(text):
    """Each line is of the text format: HELP and TYPE of a metric, and behind them its samples, one a camera."""
    known, seen = {}, set()
    expect(text.endswith('\n'), 'the last line does not end')
    for line in text.splitlines():
        if line.startswith('# '):
            found = re.fullmatch(r'# (HELP|TYPE) (cf_watch_[a-z_]+) (.+)', line)
            expect(found, line)
            what, name, rest = found.groups()
            expect((what == 'HELP') == (name not in known) and (what == 'HELP' or rest in ('counter', 'gauge')), line)
            expect(what == 'HELP' or (rest == 'counter') == name.endswith('_total'), line)
            known[name] = rest
            continue
        found = re.fullmatch(r'(cf_watch_[a-z_]+)(\{camera="[A-Za-z0-9][A-Za-z0-9._-]*"\})? '
                             r'[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?', line)
        expect(found and found.group(1) == list(known)[-1] and line.split(' ')[0] not in seen, line)
        seen.add(line.split(' ')[0])
    expect({f'{name}{{camera="{camera}"}}' for name in known if 'events' not in name and 'index' not in name
            for camera in ('door', 'yard-1.b_c') if 'unmasked' not in name or camera == 'door'} |
           {name for name in known if 'events' in name or 'index' in name} == seen and len(known) == 13, seen)


def metrics(folder):
    """Prometheus' text on loopback; not elsewhere by accident."""
    config = {'cameras': {'door': {**small(), 'filter': 'cudaconvolve preset=fill'},
                          'yard-1.b_c': {'source': 'no such file'}}, 'metrics': {'port': 0}}
    with Watch(config, folder) as watch:
        port = watch.wait('ready').get('metrics_port')
        watch.wait('started', 'door')
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=10) as answer:
            text = answer.read().decode()
        expect('cf_watch_up{camera="door"} 1\n' in text, text)
        expect('cf_watch_unmasked_frames_total{camera="door"} 0\n' in text, text)
        check_prometheus(text)
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/healthz', timeout=10) as answer:
            expect(answer.status == 200 and answer.read() == b'ok\n', 'healthz')
        try:
            urllib.request.urlopen(f'http://127.0.0.1:{port}/secrets', timeout=10)
            expect(False, 'there is such a page')
        except urllib.error.HTTPError as error:
            expect(error.code == 404, error)
        watch.end()
    for address in ('0.0.0.0', '::', '192.168.1.5'):
        watch.write({'cameras': {}, 'metrics': {'port': 0, 'address': address}})
        status, _, errors = run('--check', watch.path)
        expect(status == 2 and 'allow_remote' in errors, (address, errors))


def secrets(folder):
    """Passwords are not in the file, and nowhere in what the program writes."""
    word, other = 'Tr0ub4dor&3', 'aus/der:Umgebung@x'
    path = os.path.join(folder, 'secrets.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump({name: {'user': 'viewer', 'password': word} for name in ('door', 'query')}, file)
    os.chmod(path, 0o644)
    config = {'secrets': 'secrets.json', 'control': {'stdin': True},
              'cameras': {'door': {'source': 'rtsp://127.0.0.1:1/x', 'timeout': 1}, 'yard-1': small(),
                          'query': {'source': 'http://127.0.0.1:1/video?pwd={password}', 'timeout': 1},
                          'none': {'source': 'http://127.0.0.1:1/video?pwd={password}'}}}
    env = {'CF_WATCH_PASSWORD_YARD_1': other}
    with Watch(config, folder, env) as watch:
        expect(watch.finish(2) == 2 and 'others may read' in watch.stderr(), 'the mode of the secrets file')
    os.chmod(path, 0o600)
    env['GST_DEBUG'] = 'cf*:6,2'
    with Watch(config, folder, env) as watch:
        watch.wait('started', 'yard-1')
        watch.wait('lost', 'door', after=watch.events[0])
        # Typed where it does not belong.
        watch.ask(f'add x {{"source":"rtsp://viewer:{word}@127.0.0.1/x"}}', ok=False)
        watch.ask(f'snapshot yard-1 {folder}/{word}/a.jpg', ok=False)
        watch.ask(f'get door {word}.{word}', ok=False)
        watch.ask(f'{word} {word}', ok=False)
        watch.wait('lost', 'query', after=watch.events[0])
        expect('{password}' in watch.wait('failed', 'none', after=watch.events[0])['reason'], 'a password is missing')
        watch.ask('status')
        watch.end()
        for text in (watch.text, watch.stderr()):
            expect(word not in text and other not in text and 'aus%2Fder' not in text, 'a password is shown')
        expect('***' in watch.text, 'nothing was to be hidden')
        config['cameras']['door']['source'] = f'rtsp://viewer:{word}@127.0.0.1/x'
        watch.write(config)
        status, out, errors = run('--check', watch.path)
        expect(status == 2 and 'password' in errors and word not in out + errors, errors)


def parts_of_secrets(folder):
    """No part of a password is left where a text is cut, and where passwords begin alike or overlap."""
    word, long = 'Tr0ub4dor&3', 'Zw1schenf4ll'
    path = os.path.join(folder, 'secrets.json')
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), 'w', encoding='utf-8') as file:
        json.dump({'begin': {'password': word[:6]}, 'end': {'password': word[4:] + 'x'},
                   'door': {'password': word}, **{f'far-{n}': {'password': long} for n in range(2)}}, file)
    with Web() as web:  # it refuses what is asked for; GStreamer's error has the address, which is cut in the middle
        cameras = {f'far-{n}': {'source': f'{web.address}/{6 * n * "y"}' + '/{password}' * 30} for n in range(2)}
        with Watch({'secrets': path, 'cameras': cameras}, folder) as watch:
            watch.ask(f'get far-0 {word}x.y', ok=False)
            for n in range(20):
                watch.ask('x' * (35 + 2 * n) + word, ok=False)
                watch.ask('remove ' + 'x' * (35 + 2 * n) + word, ok=False)
            for name in cameras:
                expect('***/***' in watch.wait('lost', name, after={'seq': 0})['reason'], watch.text)
            watch.end()
            for part in (word[:4], word[4:8], word[-4:], long[:4]):
                expect(part not in watch.text + watch.stderr(), f'a part of a password is shown: {part}')


def documents(folder):
    """The files that the page and the Kubernetes manifest show are right; so are their settings."""
    with open(os.path.join(ROOT, 'docs', 'watch.md'), encoding='utf-8') as file:
        page = file.read()
    with open(os.path.join(ROOT, 'pipelines', 'watch', 'deploy', 'cf-watch.yaml'), encoding='utf-8') as file:
        manifest = file.read()
    examples = re.findall(r'```json\n(.*?)```', page, re.DOTALL)
    inside = re.search(r'\.json: \|\n((?: {4}.*\n)+)---', manifest).group(1)
    expect(len(examples) == 1, 'the example of the page is not found')
    for text in (*examples, inside):
        path = os.path.join(folder, 'watch.json')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        status, _, errors = run('--check', path)
        if 'was built without' in errors:
            raise Skip(errors)
        expect(status == 0, (text, errors))
    with open(os.path.join(ROOT, 'pipelines', 'watch', 'config.schema.json'), encoding='utf-8') as file:
        definitions = json.load(file)
    with open(os.path.join(ROOT, 'pipelines', 'watch', 'event.schema.json'), encoding='utf-8') as file:
        types = json.load(file)['properties']['type']['enum']
    names = [*definitions['properties'], *definitions['$defs']['camera']['properties'],
             *definitions['$defs']['record']['properties'], *types]
    missing = [name for name in names if f'`{name}`' not in page]
    expect(not missing, f'docs/watch.md does not mention {missing}')


def deployment(folder):
    """The Kubernetes manifest and the systemd unit can be read, fit together, and leave the end the time it takes."""
    texts = {}
    for name in ('cf-watch.yaml', 'cf-watch.service'):
        with open(os.path.join(DEPLOY, name), encoding='utf-8') as file:
            texts[name] = file.read()
    with open(os.path.join(ROOT, 'docs', 'watch.md'), encoding='utf-8') as file:
        texts['watch.md'] = file.read()
    within = {name: int(re.search(r'within (\d+) s', text).group(1)) for name, text in texts.items()}
    expect(len(set(within.values())) == 1, f'they do not agree on how long the end takes: {within}')
    given = int(re.search(r'TimeoutStopSec=(\d+)', texts['cf-watch.service']).group(1))
    expect(given > within['watch.md'], f'the unit gives it {given} s')
    plugins = re.search(r'GST_PLUGIN_PATH=(\S+)', texts['cf-watch.service']).group(1).split(':')
    expect('/usr/local/lib/x86_64-linux-gnu/gstreamer-1.0' in plugins, 'the plugin of /usr/local')
    if shutil.which('systemd-analyze'):
        unit = os.path.join(folder, 'cf-watch.service')
        with open(unit, 'w', encoding='utf-8') as file:
            file.write(re.sub(r'ExecStart=\S+', 'ExecStart=' + os.path.abspath(PROGRAM), texts['cf-watch.service']))
        done = subprocess.run(['systemd-analyze', 'verify', '--man=no', unit], capture_output=True, text=True,
                              check=False, timeout=SECONDS)
        expect('cf-watch.service' not in done.stderr, done.stderr)
    if not yaml:
        raise Skip('the manifest: python3-yaml is missing')
    parts = {part['kind']: part for part in yaml.safe_load_all(texts['cf-watch.yaml'])}
    expect(list(parts) == ['ConfigMap', 'Secret', 'Service', 'StatefulSet'], list(parts))
    path = os.path.join(folder, 'secrets.json')
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), 'w', encoding='utf-8') as file:
        file.write(parts['Secret']['stringData']['secrets.json'])
    config = json.loads(parts['ConfigMap']['data']['cameras-0.json'])
    with open(os.path.join(folder, 'watch.json'), 'w', encoding='utf-8') as file:
        json.dump({**config, 'secrets': path}, file)
    status, _, errors = run('--check', os.path.join(folder, 'watch.json'))
    expect(status == 0 or 'was built without' in errors, errors)
    pod = parts['StatefulSet']['spec']['template']
    container, = pod['spec']['containers']
    expect(pod['metadata']['labels'] == parts['Service']['spec']['selector'], 'labels')
    expect(pod['spec']['terminationGracePeriodSeconds'] > within['watch.md'], 'the manifest gives it less')
    expect(container['ports'][0]['containerPort'] == config['metrics']['port'], 'the port')
    unused = [one['name'] for one in container['env'] if not one['name'].startswith('CF_WATCH_') and
              f'$({one["name"]})' not in ' '.join(container['args'])]
    expect(not unused, f'the manifest sets {unused} for nothing')
    volumes = {one['name'] for one in pod['spec']['volumes']}
    volumes |= {one['metadata']['name'] for one in parts['StatefulSet']['spec']['volumeClaimTemplates']}
    expect(volumes == {one['name'] for one in container['volumeMounts']}, volumes)


def gpus(folder):
    """Cameras are dealt evenly to GPUs, by a driver that says there are three; those that name one get it."""
    driver = os.path.join(os.environ.get('CF_BUILD', 'build'), 'tests', 'libfakecuda.so')
    if not os.path.exists(driver):
        raise Skip(f'{driver} is not built')
    shutil.copy(driver, os.path.join(folder, 'libcuda.so.1'))
    # Of a capability that kernels for any other run on.
    env = {'LD_LIBRARY_PATH': folder, 'FAKE_DEVICES': '3', 'FAKE_CAPABILITY': '120', 'GST_REGISTRY_UPDATE': 'no'}
    cameras = {f'cam{n}': small() for n in range(6)}
    cameras['one'] = small(gpu=1, filter='cudamedian backend=cpu')
    cameras['none'] = small(gpu=3)
    with Watch({'cameras': cameras}, folder, env) as watch:
        expect(watch.wait('ready')['gpus'] == 3, watch.events)
        expect('0 to 2' in watch.wait('failed', 'none', after=watch.events[0])['reason'], 'there is a fourth one')
        for name in set(cameras) - {'none'}:
            watch.wait('started', name, after=watch.events[0])

        def dealt():
            found = watch.ask('status')['status']['cameras']
            return {name: camera['gpu'] for name, camera in found.items() if 'gpu' in camera}

        def each():
            return sorted(list(dealt().values()).count(number) for number in range(3))

        expect(each() == [2, 2, 3] and dealt()['one'] == 1, dealt())
        expect(watch.ask('get one 0.cuda-device-id')['value'] == 1, 'the element has another GPU')
        # What is removed makes room, and what comes takes it.
        gone = [name for name, gpu in dealt().items() if gpu == 0]
        for name in gone:
            watch.ask(f'remove {name}')
        for name in gone:
            watch.until(f'{name} is added again', lambda _, name=name: watch.ask(
                f'add {name} {json.dumps(small())}', ok=None)['ok'])
        expect(each() == [2, 2, 3], dealt())
        watch.ask('restart one')
        watch.wait('back', 'one')
        expect(each() == [2, 2, 3] and dealt()['one'] == 1, dealt())
        watch.end()
    # One that the kernels do not run on gets none but those that name it.
    cameras.pop('none')
    with Watch({'cameras': cameras}, folder, env | {'FAKE_OLD': '1'}) as watch:
        for name in cameras:
            watch.wait('started', name, after={'seq': 0})
        expect(each() == [1, 3, 3] and dealt()['one'] == 1, dealt())
        expect('GPU 1 gets no camera' in watch.stderr(), watch.stderr())
        watch.end()
    # Nor does one on which no kernel can be loaded, though its capability is right: its cameras get others at once.
    # Where there is no other, the CPU filters, and no camera is restarted for nothing.
    os.symlink(FAKE_GPU, os.path.join(folder, 'libgstcudafilters.so'))
    env |= {'FAKE_CAPABILITY': '90', 'FAKE_UNFIT': '0', 'GST_PLUGIN_PATH': folder, 'GST_REGISTRY_UPDATE': 'yes',
            'GST_REGISTRY': os.path.join(folder, 'registry.bin'), 'GST_REGISTRY_FORK': 'no'}
    for count, line, backend in (3, 'cudamedian', 'cuda'), (3, 'cudamedian backend=cuda', 'cuda'), (1, '', 'cpu'):
        cameras = {f'cam{n}': small(filter=line or 'cudamedian') for n in range(6)}
        cameras['one'] = small(gpu=0, filter='cudamedian')
        with Watch({'cameras': cameras}, folder, env | {'FAKE_DEVICES': str(count)}) as watch:
            for name in cameras:
                started = watch.wait('started', name, after={'seq': 0})
                expect(started['backend'] == ('cpu' if name == 'one' else backend), started)
            expect(not line or each() == [1, 3, 3] and dealt()['one'] == 0, dealt())
            said = {event['element'] for event in watch.events if event['type'] in ('warning', 'error')}
            expect(len(said) == (3 if line else 7), watch.text)
            expect(not any(event['type'] == 'lost' for event in watch.events), watch.text)
            watch.end()


def terminal(folder):
    """On a terminal a line is printed each second, and an event takes its place."""
    path = os.path.join(folder, 'watch.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump({'cameras': {'door': small()}}, file)
    master, slave = pty.openpty()
    with subprocess.Popen([PROGRAM, path], stdin=subprocess.PIPE, stdout=slave, stderr=slave) as process:
        os.close(slave)
        text, asked = '', False
        while True:
            try:
                text += os.read(master, 65536).decode()
            except OSError:  # the program has closed it
                break
            if not asked and len(re.findall(STATUS_LINE, text)) == 2:
                asked = True
                process.stdin.write(b'status\nquit\n')
                process.stdin.flush()
    os.close(master)
    expect(process.returncode == 0 and asked, (process.returncode, text))
    *lines, last = text.split('\r\n')
    expect(last == '', last)
    for line in filter(None, lines):
        *before, json_text = line.split('\r\033[K')
        expect(all(re.fullmatch(r'(\d of 1 cameras up, .*)?', part) for part in before), line)
        if json_text:
            parse(json_text)
    expect(re.search(r'"events_lost":0', text) and '"stopped"' in text, text)


def signals(folder):
    """SIGTERM and SIGINT end it cleanly."""
    for number in (signal.SIGTERM, signal.SIGINT):
        with Watch({'cameras': {'door': small()}}, folder) as watch:
            watch.wait('started', 'door')
            watch.kill(number)
            expect([event['type'] for event in watch.events[-2:]] == ['stopping', 'stopped'], watch.events[-2:])


def exits(folder):
    """A library that crashes in its exit handler, as drivers do, changes no exit status, and loses no output."""
    line = 'videotestsrc is-live=true ! video/x-raw,format=I420,width=64,height=48,framerate=10/1'
    env = {**plugins_but(folder, 'video4linux2', more=[STAND_IN]), 'FAKE_CRASH': '1', 'FAKE_DEVICE': '/dev/fake',
           'FAKE_V4L2': line}
    with Watch({'cameras': {'door': {'source': '/dev/fake'}}}, folder, env) as watch:
        watch.wait('started', 'door')
        watch.end()
        expect(watch.events[-1]['type'] == 'stopped', watch.events[-1])
        status, _, errors = run('--check', watch.path, env=env)
        expect(status == 0 and 'nothing wrong' in errors, (status, errors))
        watch.write({'cameras': {'door': {'source': '/dev/fake'}, 'yard': {'source': 'test:nosuch'}}})
        status, _, errors = run('--check', watch.path, env=env)
        expect(status == 2 and 'nosuch' in errors, (status, errors))


def manager(folder):
    """A service manager hears when it is ready, that its main loop runs, and when it ends."""
    path = os.path.join(folder, 'notify')
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(path)
        notified.settimeout(SECONDS)
        env = {'NOTIFY_SOCKET': path, 'WATCHDOG_USEC': '200000'}
        with Watch({'cameras': {'door': small()}}, folder, env) as watch:
            watch.wait('ready')
            if 'without libsystemd' in watch.stderr():
                raise Skip('built without libsystemd')
            expect([notified.recv(100) for _ in range(3)] == [b'READY=1', b'WATCHDOG=1', b'WATCHDOG=1'], 'ready')
            watch.end()
            heard = [notified.recv(100)]
            while heard[-1] != b'STOPPING=1':
                heard.append(notified.recv(100))


def deaf(folder):
    """Standard output that is never read stops neither cameras nor commands, and the end is in time."""
    own = os.path.join(folder, 'own')
    os.mkdir(own, 0o700)
    path = os.path.join(own, 'control')
    config = {'cameras': {'door': small()}, 'control': {'socket': path, 'stdin': False}}
    with Watch(config, folder) as watch:
        watch.wait('started', 'door')
        for _ in range(3):  # each line makes two events, of which a pipe holds some hundreds
            talk(path, 'add x {"source": "test:nosuch"}\n' * 200)
        status = talk(path, 'status\n')[0]['status']
        expect(status['events'] > 1100, status)
        expect(status['cameras']['door']['state'] == 'up' and status['cameras']['door']['restarts'] == 0, status)
        talk(path, 'quit\n')
        begun = time.monotonic()
        watch.process.wait(timeout=SECONDS)
        expect(time.monotonic() - begun < 5, 'the end waits for a reader')


if __name__ == '__main__':
    sys.exit(main(begins, properties, refusals, wrong_values, changes, authors, first_frames, no_frames, snapshots,
                  turned, lines, tables, sockets, metrics, secrets, parts_of_secrets, documents, deployment, gpus,
                  terminal, signals, exits, manager, deaf))
