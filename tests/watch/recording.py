#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: pieces, seconds before and after, events of what moves, what is kept, and disks that take nothing. See
harness.py."""
import contextlib
import datetime
import os
import shutil
import signal
import subprocess
import sys
import threading

from harness import SCHEMAS, SECONDS, Failed, Skip, Watch, Web, expect, main, need, probe


def camera(folder, **record):
    settings = {key: record.pop(key) for key in ('filter', 'source', 'width', 'height') if key in record}
    return {'source': 'test:ball', 'width': 64, 'height': 48, 'rate': 10, **settings,
            'record': {'folder': os.path.join(folder, 'rec'), **record}}


def seconds_of(text):
    return datetime.datetime.fromisoformat(text.replace('Z', '+00:00')).timestamp()


def start_of(event):
    return seconds_of(event['start'])


def time_of(event):
    return seconds_of(event['time'])


def pieces_of(watch, name):
    return [event for event in watch.events if event['type'] == 'piece-finished' and event['camera'] == name]


def check_pieces(watch, name, width=64, height=48):
    """Each file can be played, has a frame each 0.1 s, and begins where the one before ends."""
    pieces = pieces_of(watch, name)
    expect(pieces, f'{name} has no pieces')
    end = None
    for piece in pieces:
        seconds, frames, *size, step = probe(piece['file'])
        expect(size == [width, height], (piece, size))
        expect(abs(seconds + 0.1 - piece['duration_s']) < 0.02, (piece, seconds))
        expect(frames == round(piece['duration_s'] * 10) and step < 0.101, (piece, frames, step))
        expect(end is None or abs(start_of(piece) - end) < 0.05, (piece, end))
        expect(os.path.getsize(piece['file']) == piece['bytes'], piece)
        end = start_of(piece) + piece['duration_s']
    return pieces


def always(folder):
    """Pieces follow each other without a gap, in both formats; odd sizes lose a line; the last one ends at quit."""
    need('ffprobe')
    cameras = {'door': camera(folder, piece=2), 'gate': camera(folder, piece=2, format='mp4', width=65, height=49)}
    with Watch({'cameras': cameras}, folder) as watch:
        for name in cameras:
            watch.wait('started', name, after={'seq': 0})
            watch.wait('piece-finished', name, after={'seq': 0})
        watch.ask('record gate off')
        # A piece may have ended just before, so that none begins any more.
        watch.until('each piece of gate is finished', lambda s: 'file' not in s['cameras']['gate']['record'])
        watch.end()
        check_pieces(watch, 'door')
        check_pieces(watch, 'gate', 64, 48)
        expect(len(pieces_of(watch, 'door')) >= 2, 'one piece only')
        expect(os.stat(os.path.join(folder, 'rec')).st_mode & 0o7777 == 0o750, 'the mode of the folder')


def motion(folder):
    """A trigger records what came before it and after it; a second one goes on without a gap."""
    need('ffprobe')
    with Watch({'cameras': {'door': camera(folder, when='motion', before=2, after=1)}}, folder) as watch:
        watch.wait('started', 'door')
        watch.until('three seconds of frames', lambda s: s['cameras']['door']['frames'] > 35)
        watch.ask('trigger door')
        begun = watch.wait('motion', 'door', state='start', by='trigger', after={'seq': 0})
        watch.wait('motion', 'door', state='stop')
        piece = watch.wait('piece-finished', 'door', after=begun)
        trigger = time_of(begun)
        before = trigger - start_of(piece)
        expect(2 <= before < 4.5, f'{before} s before the trigger')
        after = start_of(piece) + piece['duration_s'] - trigger
        expect(0.8 <= after < 1.6, f'{after} s after the trigger')
        watch.ask('trigger door')
        watch.wait('motion', 'door', state='start')
        watch.end()
        seconds, _, _, _, step = probe(piece['file'])
        expect(seconds > 2.8 and step < 0.101, (seconds, step))
        last = pieces_of(watch, 'door')[-1]
        expect(last != piece and start_of(last) <= start_of(piece) + piece['duration_s'] + 0.15, 'a gap')


def passing(folder):
    """Makes a file of 8 s: nothing, from 4 s on a white ball that goes from the middle to the right, nothing."""
    path = os.path.join(folder, 'passing.avi')
    size = 'video/x-raw,format=I420,width=160,height=128,framerate=10/1'
    parts = [f'videotestsrc pattern={pattern} num-buffers={frames} ! {size} ! c.'
             for pattern, frames in (('black', 40), ('ball', 20), ('black', 20))]
    line = f'concat name=c ! jpegenc ! avimux ! filesink location={path} {" ".join(parts)}'
    subprocess.run(['gst-launch-1.0', '-q', *line.split(' ')], check=True, timeout=SECONDS)
    return path


ZONES = 'middle: 0.4,0.4 0.6,0.4 0.6,0.6 0.4,0.6; corner: 0,0 0.1,0 0.1,0.1 0,0.1'


TAMPERED = ['dark-start', 'frozen-start', 'frozen-stop', 'dark-stop']


def what_moves(folder):
    """cudamedian's motion is an event, with its zone, and is recorded with the seconds before and after it."""
    need('gst-launch-1.0', 'ffprobe')
    line = f'cudamedian temporal-method=running motion-meta=true motion-hold=2 zones="{ZONES}"'
    door = {**camera(folder, when='motion', before=2, after=1, filter=line), 'source': passing(folder)}
    for name in ('width', 'height', 'rate'):
        del door[name]
    with Watch({'cameras': {'door': door}}, folder) as watch:
        watch.wait('ended', 'door')
        watch.end()
        found = [(event['fields']['event'], event['fields'].get('zone')) for event in watch.events
                 if event['type'] == 'element']
        expect(found == [('motion-start', None), ('enter-zone', 'middle'), ('leave-zone', 'middle'),
                         ('motion-stop', None)], found)
        start, enter, _, stop = [event for event in watch.events if event['type'] == 'element']
        # The ball comes after 4 s, and its motion is confirmed in the third frame.
        expect(start['fields']['timestamp'] == start['fields']['running-time'] == 42 * 10**8, start)
        expect(start['fields']['timestamp'] == enter['fields']['timestamp'], enter)
        expect(6 * 10**9 <= stop['fields']['timestamp'] <= 63 * 10**8, stop)
        box, = start['fields']['boxes']
        expect(box['x'] <= 80 < box['x'] + box['width'] and box['y'] <= 64 < box['y'] + box['height'], box)
        expect(0 < box['confirmed'] <= start['fields']['area'] == box['area'] <= box['width'] * box['height'], start)
        expect(stop['fields']['boxes'] == [] and stop['fields']['area'] == 0, stop)
        # The schema holds for what an element says as well.
        for wrong in ({'zone': 'middle'}, {'event': 'enter-zone'}, {'boxes': [{}]}, {'area': -1}, {'more': 1}):
            expect(not SCHEMAS['event'] or not SCHEMAS['event'].is_valid(
                {**start, 'fields': {**start['fields'], **wrong}}), f'the schema takes {wrong}')
        states = [(event['state'], event['by']) for event in watch.events if event['type'] == 'motion']
        expect(states == [('start', 'cudamedian'), ('stop', 'cudamedian')], states)
        piece, = check_pieces(watch, 'door', 160, 128)
        begun, ended = [time_of(event) for event in watch.events if event['type'] == 'motion']
        expect(2 <= begun - start_of(piece) < 4.5, f'{begun - start_of(piece)} s before')
        after = start_of(piece) + piece['duration_s'] - ended
        expect(0.8 <= after < 1.6, f'{after} s after')


def tamper(folder):
    """What happens to the camera is an event, and records nothing."""
    need('gst-launch-1.0')
    door = {**camera(folder, when='motion', filter='cudamedian temporal-method=running tamper=true'),
            'source': passing(folder)}
    for name in ('width', 'height', 'rate'):
        del door[name]
    with Watch({'cameras': {'door': door}}, folder) as watch:
        watch.wait('ended', 'door')
        watch.end()
        events = [event for event in watch.events if event['type'] == 'element']
        fields = [event['fields'] for event in events]
        # Black and frozen for 4 s, then a ball for 2 s, then black again for 2 s, until the end.
        expect([one['event'] for one in fields] == TAMPERED, fields)
        expect(all(('seconds' in one) == one['event'].endswith('-stop') for one in fields), fields)
        for wrong in ({'seconds': 1}, {'event': 'light'}, {'event': 'moved-start'}, {'area': 1}):
            expect(not SCHEMAS['event'] or not SCHEMAS['event'].is_valid(
                {**events[0], 'fields': {**fields[0], **wrong}}), f'the schema takes {wrong}')
        kinds = {event['type'] for event in watch.events}
        expect(not kinds & {'motion', 'piece-begun'}, kinds)


def by_elements(folder):
    """motioncells in the filter begins and ends a recording; its message is an event."""
    line = 'videoconvert ! motioncells gap=1 postallmotion=false ! videoconvert'
    if os.system('gst-inspect-1.0 --exists motioncells') != 0:
        raise Skip('motioncells is missing')
    door = camera(folder, when='motion', filter=line, width=160, height=120)
    with Watch({'cameras': {'door': door}}, folder) as watch:
        watch.wait('motion', 'door', state='start', by='motioncells')
        event = watch.wait('element', 'door', name='motion', after={'seq': 0})
        expect('motion_begin' in event['fields'] or 'motion_cells_indices' in event['fields'], event)
        watch.wait('piece-begun', 'door')
        watch.end()


def regions(folder):
    """Messages of cudasegment are events, with arrays and structures."""
    with Watch({'cameras': {'door': {'source': 'test:smpte', 'width': 64, 'height': 48, 'rate': 10,
                                     'filter': 'cudasegment message-interval=100'}}}, folder) as watch:
        event = watch.wait('element', 'door', name='cudasegment')
        lists = [value for value in event['fields'].values() if isinstance(value, list)]
        expect(lists and isinstance(lists[0][0], dict), event)
        watch.end()


def region_events(folder):
    """What cudasegment posts of a region that comes, is in a zone and goes: an event each, in this order."""
    need('gst-launch-1.0')
    line = f'cudasegment output=passthrough events=true min-age=1 zones="{ZONES}"'
    with Watch({'cameras': {'door': {'source': passing(folder), 'filter': line}}}, folder) as watch:
        watch.wait('ended', 'door')
        watch.end()
        fields = [event['fields'] for event in watch.events if event['type'] == 'element']
        first = fields[0]
        expect(first['event'] == 'appear' and first['region']['area'] == 160 * 128, first)
        ball = next(one for one in fields if one['event'] == 'appear' and one['region']['mean-y'] > 180)
        expect(41 * 10**8 == ball['timestamp'] and ball['region']['x'] <= 80 <= ball['region']['x'] +
               ball['region']['width'], ball)
        mine = [(one['event'], one.get('zone')) for one in fields if one['region']['id'] == ball['region']['id']]
        expect(mine == [('appear', None), ('enter-zone', 'middle'), ('leave-zone', 'middle'), ('leave', None)], mine)
        times = [one['timestamp'] for one in fields]
        expect(times == sorted(times), times)


# Milliseconds of frame N: two frames share a time; all do; the clock of the source is set back.
TIMES = {'pairs': '100+floor(N/2)*80', 'frozen': '100', 'back': 'if(lt(N,25),3000,100)+N*40'}


def times(folder):
    """Frames whose times do not rise: each of them is recorded, at about the speed of the source, up to the file's
    end."""
    need('ffmpeg', 'ffprobe')
    quiet = ['ffmpeg', '-v', 'error', '-i']
    base = os.path.join(folder, 'base.mkv')
    subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=50', '!', 'video/x-raw,width=160,height=120,'
                    'framerate=25/1', '!', 'jpegenc', '!', 'matroskamux', '!', 'filesink', f'location={base}'],
                   check=True, timeout=SECONDS)
    files = {name: os.path.join(folder, name + '.mkv') for name in TIMES}
    for name, path in files.items():
        escaped = TIMES[name].replace(',', r'\,')
        subprocess.run([*quiet, base, '-c', 'copy', '-bsf:v', f'setts=pts={escaped}:dts=N', path], check=True,
                       timeout=SECONDS)
    # What an AVI has whose B-frames share a packet with the frame behind them.
    files['packed'] = os.path.join(folder, 'packed.avi')
    subprocess.run([*quiet, base, '-c:v', 'mpeg4', '-bf', '2', '-vtag', 'XVID', files['packed']], check=True,
                   timeout=SECONDS)
    # Its last five frames have the time of the one before, and no later time lies before the end of the file.
    files['end'] = os.path.join(folder, 'end.mp4')
    subprocess.run([*quiet, base, '-c', 'copy', '-bsf:v',
                    r'setts=pts=PTS*min(N\,44)/max(N\,1):dts=PTS/2:duration=1', '-video_track_timescale', '16000',
                    files['end']], check=True, timeout=SECONDS)
    rec = os.path.join(folder, 'rec')
    cameras = {name: {'source': path, 'record': {'folder': rec}} for name, path in files.items()}
    with Watch({'cameras': cameras}, folder) as watch:
        counts = {name: watch.wait('ended', name, after={'seq': 0})['frames'] for name in cameras}
        expect(counts == {**dict.fromkeys(cameras, 50), 'end': 45}, counts)
        watch.end()
        for name in cameras:
            piece, = pieces_of(watch, name)
            # The clock gives frozen's frames their times, so its steps show when this machine stood still.
            seconds, frames, *_, step = probe(piece['file'], 0.9 if name == 'frozen' else 1)
            expect(frames == counts[name] and 1.5 < seconds < 2.5 and step < 0.13, (name, frames, seconds, step))


def rates(folder):
    """A file of a camera that does not say its rate names none: what the encoder takes for it is not in the file."""
    need('ffmpeg')
    picture = subprocess.run(['ffmpeg', '-v', 'error', '-f', 'lavfi', '-i', 'testsrc=size=64x48', '-frames:v', '1',
                              '-f', 'mjpeg', '-'], capture_output=True, check=True, timeout=SECONDS).stdout
    done = threading.Event()

    def send(request):
        request.send_response(200)
        request.send_header('Content-Type', 'multipart/x-mixed-replace;boundary=next')
        request.end_headers()
        while not done.wait(0.1):
            request.wfile.write(b'--next\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n' % len(picture) +
                                picture + b'\r\n')

    with Web(send) as web:
        cameras = {f'{kind}-{codec}': {'source': source, 'codec': codec, 'filter': 'identity',
                                       'record': {'folder': os.path.join(folder, 'rec')}}
                   for kind, source in (('unknown', web.address), ('known', 'test')) for codec in ('h264', 'h265')}
        with Watch({'cameras': cameras}, folder) as watch:
            for name in cameras:
                rate = watch.wait('started', name, after={'seq': 0})['rate']
                expect((rate == '0/1') == name.startswith('unknown'), (name, rate))
                watch.wait('piece-begun', name, after={'seq': 0})
            watch.until('frames', lambda s: all(camera['frames'] > 10 for camera in s['cameras'].values()))
            watch.end()
            done.set()
            for piece in [event for event in watch.events if event['type'] == 'piece-finished']:
                with open(piece['file'], 'rb') as file:
                    head = file.read().split(b'\x1f\x43\xb6\x75')[0]  # before the first cluster
                named = b'\x23\xe3\x83' in head  # DefaultDuration
                expect(named == piece['camera'].startswith('known'), (piece, named))


def gray_of(path):
    """Returns the first frame of a video or a picture as shown: a byte a sample of R, G and B."""
    return subprocess.run(['ffmpeg', '-v', 'error', '-i', path, '-frames:v', '1', '-pix_fmt', 'rgb24', '-f', 'rawvideo',
                           '-'], capture_output=True, check=True, timeout=SECONDS).stdout


def levels(folder):
    """H.264 of full range without a description of its colours: recording and snapshot show the same levels. Some
    versions of ffmpeg write into Matroska that the range is limited, so the source is MP4."""
    need('ffmpeg')
    source, shot = os.path.join(folder, 'full.mp4'), os.path.join(folder, 'shot.png')
    made = subprocess.run(['ffmpeg', '-v', 'error', '-f', 'lavfi', '-i', 'color=black:size=352x288:rate=10:duration=3,'
                           'format=yuv420p,geq=lum=X*255/351:cb=128:cr=128', '-c:v', 'libx264', '-crf', '5',
                           '-x264-params', 'fullrange=on', source], check=False, timeout=SECONDS)
    if made.returncode:
        raise Skip('this ffmpeg has no libx264')
    door = {'source': source, 'record': {'folder': os.path.join(folder, 'rec'), 'quality': 5}}
    with Watch({'cameras': {'door': door}}, folder) as watch:
        watch.wait('started', 'door')
        watch.ask(f'snapshot door {shot}')
        watch.wait('ended', 'door')
        watch.end()
        want = gray_of(source)
        for path in (pieces_of(watch, 'door')[0]['file'], shot):
            off = max(abs(a - b) for a, b in zip(want, gray_of(path)))
            expect(off <= 4, f'{path}: levels differ by {off}')


def last_frames(folder):
    """An encoder may hold frames back until it sees the next one: they are written when the camera is stopped."""
    need('gst-launch-1.0', 'ffprobe')
    subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=20', '!', 'video/x-raw,width=64,height=48',
                    '!', 'jpegenc', '!', 'multifilesink', f'location={folder}/%02d.jpg'], check=True, timeout=SECONDS)
    end = threading.Event()

    def answer(request):
        request.send_response(200)
        request.send_header('Content-Type', 'multipart/x-mixed-replace; boundary=part')
        request.end_headers()
        for number in range(20):
            with open(f'{folder}/{number:02}.jpg', 'rb') as file:
                jpeg = file.read()
            request.wfile.write(b'--part\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n' %
                                (len(jpeg), jpeg))
        end.wait(SECONDS)  # the camera is stopped before

    with Web(answer) as server:
        door = {'source': server.address, 'timeout': SECONDS, 'record': {'folder': os.path.join(folder, 'rec')}}
        with Watch({'cameras': {'door': door}}, folder) as watch:
            watch.until('all frames', lambda s: s['cameras']['door']['frames'] == 20)
            watch.ask('restart door')
            watch.wait('piece-finished', 'door')
            watch.until('the same again', lambda s: s['cameras']['door']['frames'] == 40)
            watch.end()
            end.set()
            found = [probe(piece['file'])[1] for piece in pieces_of(watch, 'door')]
            expect(found == [20, 20], found)


def disks(folder):
    """A folder that cannot be made: the camera goes on, and the recording begins when it can be."""
    with open(os.path.join(folder, 'rec'), 'w', encoding='utf-8'):
        pass
    with Watch({'cameras': {'door': camera(folder)}}, folder) as watch:
        failed = watch.wait('recording-failed', 'door')
        expect('rec' in failed['reason'] and failed['retry_ms'] > 0, failed)
        frames = watch.ask('status')['status']['cameras']['door']['frames']
        os.unlink(os.path.join(folder, 'rec'))
        watch.wait('piece-begun', 'door')
        status = watch.ask('status')['status']['cameras']['door']
        expect(status['frames'] > frames and status['restarts'] == 0 and status['record']['on'], status)
        watch.end()
        expect(pieces_of(watch, 'door'), 'no piece')


def unfit(folder):
    """Pictures that no encoder takes are not recorded, which is said once; the camera goes on."""
    sizes = {'one': (1, 1), 'row': (64, 1), 'column': (1, 64)}
    cameras = {name: camera(folder, source='test:black', width=w, height=h) for name, (w, h) in sizes.items()}
    with Watch({'cameras': cameras}, folder) as watch:
        for name, (width, height) in sizes.items():
            failed = watch.wait('recording-failed', name, after={'seq': 0})
            expect(f'no pictures of {width} x {height}' in failed['reason'] and failed['retry_ms'] is None, failed)
        watch.until('thirty frames', lambda s: all(c['frames'] > 30 for c in s['cameras'].values()))
        watch.end()
        expect(not [e for e in watch.events if e['type'] in ('lost', 'error', 'recording-dropped')], watch.text)
        expect(len([e for e in watch.events if e['type'] == 'recording-failed']) == 3, watch.text)


def keeps(folder):
    """The oldest pieces go, and nothing else."""
    rec = os.path.join(folder, 'rec')
    os.mkdir(rec)
    old = [f'door-2020010{day}T000000.000Z.mkv' for day in range(1, 5)]
    others = ['doorbell-20200101T000000.000Z.mkv', 'door-20200101T000000.mkv', 'door-20200101T000000.000Z.txt',
              'yard-20200101T000000.000Z.mkv', 'door-notes']
    for name in old + others:
        with open(os.path.join(rec, name), 'wb') as file:
            file.truncate(100 << 20)
    os.mkdir(os.path.join(rec, 'door-20200109T000000.000Z.mkv'))
    os.symlink('yard-20200101T000000.000Z.mkv', os.path.join(rec, 'door-20200108T000000.000Z.mkv'))
    with Watch({'cameras': {'door': camera(folder, keep_bytes=250 << 20)}}, folder) as watch:
        watch.wait('piece-begun', 'door')
        watch.ask('record door off')
        for name in old[:2]:
            event = watch.wait('piece-deleted', 'door', reason='bytes', after={'seq': 0})
            expect(os.path.basename(event['file']) in old[:2], event)
        watch.write({'cameras': {'door': camera(folder, keep_days=30)}})
        changed = watch.events[-1]
        watch.ask('reload')
        watch.wait('back', 'door', after=changed) # what begins before keeps by bytes
        watch.ask('record door auto')
        begun = watch.wait('piece-begun', 'door', after=changed)
        watch.ask('record door off')
        watch.wait('piece-deleted', 'door', reason='days', after=begun)
        watch.end()
        left = os.listdir(rec)
        expect(not set(old) & set(left) and not set(others) - set(left), left)
        expect('door-20200108T000000.000Z.mkv' in left and 'door-20200109T000000.000Z.mkv' in left, left)


def crash(folder):
    """What a process that was killed has written can be played, in both formats."""
    need('ffprobe')
    cameras = {name: camera(folder, format=name) for name in ('mkv', 'mp4')}
    with Watch({'cameras': cameras}, folder) as watch:
        files = [watch.wait('piece-begun', name, after={'seq': 0})['file'] for name in cameras]
        watch.until('seven seconds', lambda s: all(c['frames'] > 70 for c in s['cameras'].values()))
        watch.process.send_signal(signal.SIGKILL)
        watch.finish(None)
    for file in files:
        seconds = probe(file)[0]
        expect(seconds > 1, f'{file}: {seconds} s of 7')


@contextlib.contextmanager
def small_disk(path):
    """A disk of 400 kB is mounted there. As root."""
    os.mkdir(path)
    line = f'mount -t tmpfs -o size=400k none {path} 2> /dev/null'
    if os.geteuid() or os.system(line):
        raise Skip('only root can mount a small disk')
    try:
        yield line
    finally:
        if os.path.ismount(path) and os.system(f'umount {path}'):
            raise Failed(f'{path} stays mounted')
        shutil.rmtree(path, ignore_errors=True)


def full(folder):
    """A disk that is full: said, the camera goes on, and the recording begins again when there is room. As root."""
    rec = os.path.join(folder, 'rec')
    filler = os.path.join(rec, 'filler')
    with small_disk(rec):
        with open(filler, 'wb') as file:
            file.write(bytes(396 << 10))
        with Watch({'cameras': {'door': camera(folder, source='test:snow', width=320, height=240)}}, folder) as watch:
            failed = watch.wait('recording-failed', 'door')
            expect('space' in failed['reason'], failed)
            os.unlink(filler)
            watch.wait('piece-begun', 'door', after=failed)
            expect(watch.ask('status')['status']['cameras']['door']['restarts'] == 0, 'the camera was disturbed')
            watch.end(code=None)


def unmounted(folder):
    """A disk that is not mounted any more, between two recordings or in one: nothing goes into its place. As root."""
    disk = os.path.join(folder, 'disk')
    door = camera(folder, piece=1)
    door['record']['folder'] = os.path.join(disk, 'rec')
    with small_disk(disk) as mount, Watch({'cameras': {'door': door}}, folder) as watch:
        watch.wait('piece-begun', 'door')
        watch.ask('record door off')
        watch.until('the files are closed', lambda s: 'file' not in s['cameras']['door']['record'])
        for line, on in (f'umount {disk}', 'record door on'), (f'umount -l {disk}', 'status'):
            # busy while a thread still looks at the piece
            watch.until(line, lambda _, line=line: os.system(f'{line} 2> /dev/null') == 0)
            watch.ask(on)
            failed = watch.wait('recording-failed', 'door')
            if 'Could not open' in failed['reason']:  # the disk went between the look at it and the opening of a file
                failed = watch.wait('recording-failed', 'door')
            expect(f'nothing is mounted at {disk} any more' in failed['reason'] and failed['retry_ms'] > 0, failed)
            expect(not os.listdir(disk), 'the recording went into the place of the disk')
            expect(os.system(mount) == 0, mount)
            watch.wait('piece-begun', 'door', after=failed)
        expect(watch.ask('status')['status']['cameras']['door']['restarts'] == 0, 'the camera was disturbed')
        watch.end(code=None)


if __name__ == '__main__':
    sys.exit(main(always, motion, what_moves, tamper, by_elements, regions, region_events, times, rates, levels, unfit,
                  last_frames, disks, keeps, crash, full, unmounted))
