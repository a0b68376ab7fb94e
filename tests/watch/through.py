#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: cameras without a filter, whose own H.264 or H.265 is recorded and shown without decoding it: not a bit
differs, also with B frames, open groups of pictures, parameters that change, damage. With a filter, no such packet
leaves. Other codecs than H.264 that are encoded. See harness.py."""
import contextlib
import json
import os
import re
import struct
import subprocess
import sys

from harness import SECONDS, Skip, Watch, expect, main, need, plugins_but, probe, sanitized
from hidden import FILL, LARGE, Camera, expect_hidden, gray, pixels
from live import Client, Viewer, described, is_key, memory, port_of, shown
from page import run_with
from recording import pieces_of, start_of, time_of

CLOSED = {'bf': 2, 'g': 25}
OPEN = {'bf': 3, 'g': 25, 'x264-params': 'open-gop=1:b-pyramid=normal:scenecut=0:min-keyint=25'}
H265 = {'c:v': 'libx265', 'x265-params': 'log-level=none:keyint=25:min-keyint=25:scenecut=0:bframes=3:open-gop=1'}
RATE = 25


def ffmpeg(*arguments, data=None):
    need('ffmpeg', 'ffprobe')
    done = subprocess.run(['ffmpeg', '-v', 'error', '-y', *map(str, arguments)], input=data, capture_output=True,
                          check=False, timeout=SECONDS)
    if b'Unknown encoder' in done.stderr:
        raise Skip('this ffmpeg has no libx264 or libx265')
    expect(done.returncode == 0, (arguments, done.stderr))
    return done.stdout, done.stderr


def clip(path, seconds=3, size='160x120', picture='testsrc2=', **options):
    """Makes a file of H.264, if no option says otherwise; all options are ffmpeg's."""
    settings = {'c:v': 'libx264', 'bf': 0, 'g': 25, **options}
    ffmpeg('-f', 'lavfi', '-i', f'{picture}size={size}:rate={RATE}:duration={seconds}', '-pix_fmt', 'yuv420p', *[
        part for name, value in settings.items() for part in (f'-{name}', value)], path)
    return path


def copy(path, target, *more):
    ffmpeg('-i', path, '-c', 'copy', *more, target)
    return target


def turn(path, height):
    """Turns the pictures of an MP4 by 90 degrees, by the matrix in the header of its track. ffmpeg's options for this
    differ between versions."""
    with open(path, 'r+b') as file:
        file.seek(file.read().index(b'tkhd') + 44)
        file.write(struct.pack('>9i', 0, 1 << 16, 0, -1 << 16, 0, 0, height << 16, 0, 1 << 30))
    return path


def stream(path, kind='h264'):
    """Returns the stream itself."""
    return ffmpeg('-i', path, '-map', '0:v', '-c', 'copy', '-bsf:v', f'{kind}_mp4toannexb', '-f', kind, '-')[0]


def units(data, kind='h264'):
    """Returns the units of a stream but for those that a container has elsewhere: parameters, marks between pictures,
    and the encoder's own text, which ffmpeg takes out of or puts into streams."""
    found = re.split(b'\0\0\0?\1', data.rstrip(b'\0'))[1:]
    return [unit.rstrip(b'\0') for unit in found
            if (unit[0] & 31 in (1, 2, 3, 4, 5) if kind == 'h264' else unit[0] >> 1 & 63 < 32)]


def stamps(path):
    """Returns the times of the pictures in the order in which they are decoded, from the first one shown on."""
    text = ffprobe('-select_streams', 'v', '-show_entries', 'packet=pts_time', path)
    found = [float(packet['pts_time']) for packet in text['packets']]
    return [time - min(found) for time in found]


def ffprobe(*arguments):
    need('ffprobe')
    return json.loads(subprocess.run(['ffprobe', '-v', 'error', '-of', 'json', *arguments], capture_output=True,
                                     check=True, timeout=SECONDS).stdout)


def pictures_of(*arguments):
    """Returns a checksum of each decoded picture, and what the decoder complains of."""
    text, errors = ffmpeg(*arguments, '-map', '0:v', '-vsync', 'passthrough', '-f', 'framemd5', '-')
    return [line.split(b',')[-1].strip() for line in text.splitlines() if line[:1] != b'#'], errors


def joined(pieces, kind='h264'):
    return b''.join(stream(piece['file'], kind) for piece in pieces)


class Elements:
    """The environment for a process whose elements are to be known."""

    def __init__(self, folder):
        self.path = os.path.join(folder, 'elements')
        self.env = {'GST_DEBUG': 'GST_STATES:4', 'GST_DEBUG_FILE': self.path, 'GST_DEBUG_NO_COLOR': '1'}

    def used(self):
        """Returns the names, less their numbers, of all elements that have been more than made."""
        with open(self.path, encoding='utf-8', errors='replace') as file:
            names = re.findall(r'<([^>]+)> completed state change to READY', file.read())
        return {re.sub(r'-?\d+$', '', name) for name in names}

    def expect_no_codec(self):
        """None of them decodes or encodes."""
        found = {name for name in self.used() if re.search('dec$|^dec|enc$|enc_|dec_|^x26|convert$|^encod', name) and
                 name not in ('uridecodebin', 'decodebin')}
        expect(not {'h264parse', 'h265parse'}.isdisjoint(self.used()) and not found, (found, self.used()))


def record(folder, **settings):
    return {'folder': os.path.join(folder, 'rec'), **settings}


def same(folder):
    """Recordings of files in all containers, as Matroska and MP4, in pieces: bit for bit the stream of the file, with
    its times. Each piece begins with a key frame. Nothing is decoded or encoded."""
    elements, kinds = Elements(folder), {'plain': {}, 'closed': CLOSED, 'open': OPEN, 'h265': H265}
    ends = {'plain': ['ts'], 'closed': ['mp4', 'mkv'], 'open': ['mp4', 'ts'], 'h265': ['mkv', 'ts']}
    files, cameras = {}, {}
    for kind, options in kinds.items():
        first = clip(os.path.join(folder, f'{kind}.mp4'), **options)
        for end in ends[kind]:
            name = f'{kind}-{end}'
            files[name] = first if end == 'mp4' else copy(first, os.path.join(folder, f'{kind}.{end}'))
            cameras[name] = {'source': files[name], 'record': record(folder, piece=1, format='mp4' if end == 'ts' else
                                                                     'mkv')}
    with Watch({'cameras': cameras}, folder, env=elements.env) as watch:
        for name in cameras:
            expect(watch.wait('ended', name, after={'seq': 0})['frames'] == 3 * RATE, name)
        watch.end()
        elements.expect_no_codec()
        for name, path in files.items():
            pieces = pieces_of(watch, name)
            expect(len(pieces) >= 3, (name, pieces))
            kind = 'hevc' if 'h265' in name else 'h264'
            expect(units(joined(pieces, kind), kind) == units(stream(path, kind), kind), f'{name}: other bits')
            times, begin = [], None
            for piece in pieces:
                # Leading pictures of an open group are shown before the key frame.
                times += [time + start_of(piece) for time in stamps(piece['file'])]
                begin = start_of(piece) if begin is None else begin
                flags = ffprobe('-select_streams', 'v', '-show_entries', 'packet=flags', piece['file'])['packets']
                expect('K' in flags[0]['flags'], (name, piece, flags[0]))
            whole = sorted(stamps(path))
            steps = [b - a for a, b in zip(sorted(times), sorted(times)[1:])]
            expect(len(times) == len(whole), (name, len(times)))
            closed_groups = kind == 'h264' and 'open' not in name
            expect(not closed_groups or max(abs(step - 1 / RATE) for step in steps) < 0.003, (name, steps))
            if closed_groups:
                expect(sum((pictures_of('-i', piece['file'])[0] for piece in pieces), []) == pictures_of('-i', path)[0],
                       f'{name}: other pictures')


def one_piece(folder):
    """In one piece, each picture has the time that it has in the file, whatever the order in which they are decoded."""
    cameras = {}
    for kind, options in {'closed': CLOSED, 'open': OPEN, 'h265': H265}.items():
        for form in 'mkv', 'mp4':
            cameras[f'{kind}-{form}'] = {'source': clip(os.path.join(folder, f'{kind}.mp4'), 2, **options),
                                         'record': record(folder, format=form)}
    with Watch({'cameras': cameras}, folder) as watch:
        for name in cameras:
            watch.wait('ended', name, after={'seq': 0})
        watch.end()
        for name, camera in cameras.items():
            piece, = pieces_of(watch, name)
            found, wanted = stamps(piece['file']), stamps(camera['source'])
            expect(len(found) == len(wanted) and max(abs(a - b) for a, b in zip(found, wanted)) < 0.0015,
                   (name, found, wanted))
            expect(pictures_of('-i', piece['file']) == pictures_of('-i', camera['source']), name)
            expect(abs(piece['duration_s'] - 2) < 0.05, piece)


class Sender(Camera):
    """Sends a stream as a camera over HTTP does: it has no end. `show` changes it, `cut` ends the connections."""

    def __init__(self, data=b'', kind='video/mp2t'):
        super().__init__()
        self.data, self.kind = data, kind

    def show(self, data):
        self.data = data
        self.cut()

    def answer(self, request):
        turn = self.turn
        request.wfile.write(b'HTTP/1.0 200 OK\r\nContent-Type: %s\r\n\r\n' % self.kind.encode())
        request.wfile.write(self.data)
        with self.lock:
            while turn == self.turn:
                self.lock.wait(SECONDS)


def ts(folder, seconds=20, name='stream', **options):
    """Returns a transport stream."""
    path = clip(os.path.join(folder, f'{name}.mp4'), seconds, **options)
    with open(copy(path, os.path.join(folder, f'{name}.ts')), 'rb') as file:
        return file.read()


def frames(watch, number, name='door'):
    return watch.until(f'{number} frames', lambda s: s['cameras'][name]['frames'] > number)


def viewers(folder):
    """Viewers get whole pictures at once, the newest group of them: also with B frames, open groups, and key frames
    each ten seconds. Nothing is decoded or encoded for them."""
    elements = Elements(folder)
    data = {'long': ts(folder, name='long', bf=2, g=250), 'open': ts(folder, name='open', **OPEN)}
    with Sender(data['long']) as one, Sender(data['open']) as two:
        cameras = {name: {'source': sender.web.address, 'live': True} for name, sender in
                   (('long', one), ('open', two))}
        with Watch({'rtsp': {'port': 0}, 'cameras': cameras}, folder, env=elements.env) as watch:
            port = port_of(watch)
            shown(watch, port, *cameras)
            for count in 40, 60, 80:
                frames(watch, count, 'long')
                for name in cameras:
                    with Client(port) as client:
                        kinds = next(client.play(name).units())[1]
                        expect(5 in kinds if name == 'long' else not {1, 5}.isdisjoint(kinds), (name, kinds))
                        expect(name == 'open' or is_key(kinds), kinds)
                    found, errors = pictures_of('-rtsp_transport', 'tcp', '-i', f'rtsp://127.0.0.1:{port}/{name}',
                                                '-frames:v', '40')
                    wanted = pictures_of('-i', os.path.join(folder, f'{name}.mp4'))[0]
                    at = wanted.index(found[0])
                    expect(found == wanted[at:at + 40], f'{name}: not the pictures from {at} on')
                    expect(at == 0 if name == 'long' else at > 0, f'{name}: begins with picture {at}')
                    expect(b'error' not in errors and b'reference' not in errors, errors)
            elements.expect_no_codec()
            expect(watch.ask('status long')['status']['cameras']['long']['own'], 'own')
            watch.end()


def rtsp(folder, codec='h264', kind='h264'):
    """What one cf-watch encodes and shows, another one records without decoding it: bit for bit."""
    elements, other = Elements(folder), os.path.join(folder, 'other')
    os.mkdir(other)
    door = {'source': 'test:ball', 'width': 64, 'height': 48, 'rate': RATE, 'live': True, 'codec': codec,
            'record': record(folder)}
    with Watch({'rtsp': {'port': 0}, 'cameras': {'door': door}}, folder) as watch:
        port = port_of(watch)
        shown(watch, port)
        yard = {'source': f'rtsp://127.0.0.1:{port}/door', 'record': record(other, piece=1)}
        with Watch({'cameras': {'yard': yard}}, other, env=elements.env) as taker:
            taker.wait('started', 'yard')
            taker.wait('piece-finished', 'yard')
            frames(taker, 100, 'yard')
            taker.end()
            elements.expect_no_codec()
        watch.end()
        source = units(joined(pieces_of(watch, 'door'), kind), kind)
        pieces = pieces_of(taker, 'yard')
        found = units(joined(pieces, kind), kind)
        at = source.index(found[0])
        expect(len(found) > 50 and found == source[at:at + len(found)], 'other bits')
        for piece in pieces:
            _, errors = pictures_of('-i', piece['file'])
            expect(not errors and probe(piece['file'])[4] < 0.09, (piece, errors))


def rtsp_h265(folder):
    """The same with H.265."""
    need_elements('x265enc', 'h265parse', 'rtph265pay')
    rtsp(folder, 'h265', 'hevc')


def need_elements(*names):
    for name in names:
        if os.system(f'gst-inspect-1.0 --exists {name}') != 0:
            raise Skip(f'{name} is missing')


def encoders(folder):
    """`codec`: pictures behind a filter as H.265 and AV1, in both formats, and to viewers; the filter hides. --check
    says which element is missing."""
    need('ffprobe')
    kinds = {}
    for codec, encoder in ('h264', 'x264enc'), ('h265', 'x265enc'), ('av1', 'av1enc'):
        if os.system(f'gst-inspect-1.0 --exists {encoder}') == 0:
            kinds[codec] = {'h264': 'h264', 'h265': 'hevc', 'av1': 'av1'}[codec]
    line = FILL.replace('0,0,2,2', '0.4,0.4,0.4,0.4')
    cameras = {f'{codec}-{form}': {'source': 'test:white', 'width': LARGE[0], 'height': LARGE[1], 'rate': 30,
                                   'filter': line, 'codec': codec, 'live': codec == 'h265', 'record': record(
                                       folder, format=form, piece=2)} for codec in kinds for form in ('mkv', 'mp4')}
    with Watch({'rtsp': {'port': 0}, 'cameras': cameras}, folder) as watch:
        port = port_of(watch)
        for name in cameras:
            watch.wait('piece-finished', name, after={'seq': 0})
        if 'h265' in kinds:
            with Viewer(port, 'h265-mkv') as viewer:
                rows = viewer.frame()
                expect(max(rows[48][52:100]) < 30 < min(rows[10]), 'H.265 for viewers')
        watch.end()
        for name in cameras:
            for piece in pieces_of(watch, name):
                found = ffprobe('-select_streams', 'v', '-show_entries', 'stream=codec_name:packet=flags',
                                piece['file'])
                expect(found['streams'][0]['codec_name'] == kinds[name.split('-')[0]], (name, found['streams']))
                expect('K' in found['packets'][0]['flags'], (name, found['packets'][0]))
                pictures = list(rows_of(piece['file']))
                expect(len(pictures) == round(piece['duration_s'] * 30), (piece, len(pictures)))
                expect(all(max(rows[48][52:100]) < 30 < min(rows[10]) for rows in pictures), piece)
        fault = dict(next(iter(cameras.values())), codec='av1', record=record(folder))
        env = plugins_but(folder, 'gstaom', 'gstnvcodec', 'gstrsrtp')
        code, text, errors = run_with({'rtsp': {'port': 0}, 'cameras': {'door': {**fault, 'live': True}}}, folder,
                                      '--check', env=env)
        expect(code == 2 and 'no encoder for AV1' in text + errors and 'rtpav1pay' in text + errors, text + errors)


def before(folder):
    """A trigger records what came before it, from a key frame on, and after it, though a key frame comes each five
    seconds only. The file begins with a whole picture."""
    with Sender(ts(folder, bf=2, g=125)) as sender:
        door = {'source': sender.web.address, 'record': record(folder, when='motion', before=2, after=1)}
        with Watch({'cameras': {'door': door}}, folder) as watch:
            frames(watch, 7 * RATE)
            watch.ask('trigger door')
            begun = watch.wait('motion', 'door', state='start', by='trigger')
            piece = watch.wait('piece-finished', 'door')
            watch.end()
            early = time_of(begun) - start_of(piece)
            expect(2 <= early < 7.5, f'{early} s before')
            late = start_of(piece) + piece['duration_s'] - time_of(begun)
            expect(0.6 <= late < 1.8, f'{late} s after')
            found, errors = pictures_of('-i', piece['file'])
            wanted = pictures_of('-i', os.path.join(folder, 'stream.mp4'))[0]
            at = wanted.index(found[0])
            # The last pictures may be shown after one that is not in the file any more.
            expect(at in (0, 125) and found[:-3] == wanted[at:at + len(found) - 3] and not errors, (at, errors))


def changes(folder):
    """A stream that begins between key frames, one whose size changes, and one that is damaged: the camera goes on, and
    what is recorded begins with whole pictures."""
    small, large = ts(folder, 2, 'small'), ts(folder, 2, 'large', size='192x144')
    begin = len(small) // 8 // 188 * 188
    hurt = bytearray(ts(folder, 4, 'hurt', g=10))
    for at in range(len(hurt) // 4, len(hurt) // 2, 1504 + 7):
        hurt[at] ^= 0x55
    with Sender(small[begin:] + large + small) as one, Sender(bytes(hurt)) as two:
        cameras = {'sizes': {'source': one.web.address, 'record': record(folder)},
                   'hurt': {'source': two.web.address, 'timeout': 2, 'record': record(folder, format='mp4')}}
        with Watch({'cameras': cameras}, folder) as watch:
            watch.wait('started', 'sizes')
            watch.wait('size', 'sizes', to={'width': 192, 'height': 144})
            watch.wait('size', 'sizes', to={'width': 160, 'height': 120})
            lost = watch.wait('lost', 'hurt')
            expect('no frame for' in lost['reason'], lost)
            watch.wait('back', 'hurt')
            frames(watch, 130, 'hurt')
            watch.end()
            found = pieces_of(watch, 'sizes')
            expect([probe(piece['file'])[2] for piece in found] == [160, 192, 160], found)
            for piece in found:
                expect(not pictures_of('-i', piece['file'])[1], piece)
            expect(probe(found[0]['file'])[1] < 50 == probe(found[1]['file'])[1], 'it begins with a key frame')
            for piece in pieces_of(watch, 'hurt'):
                expect('K' in ffprobe('-show_entries', 'packet=flags', piece['file'])['packets'][0]['flags'], piece)


def flapping(folder):
    """A stream whose size changes with each picture: a file each, as quickly as they can be begun, and they are not
    written all at once."""
    groups = []
    for number, size in enumerate(('160x120', '192x144')):
        data = stream(clip(os.path.join(folder, f'{number}.mp4'), 4, size=size, g=1))
        groups.append(re.split(b'(?=\0\0\0\1\x67)', data)[1:])
    expect(len(groups[0]) == len(groups[1]) == 4 * RATE, 'a key frame is missing')
    mixed = b''.join(one + other for one, other in zip(groups[0][::2], groups[1][1::2]))
    path = os.path.join(folder, 'mixed.ts')
    ffmpeg('-f', 'h264', '-r', RATE, '-i', '-', '-c', 'copy', path, data=mixed)
    with open(path, 'rb') as file, Sender(file.read()) as sender:
        door = {'source': sender.web.address, 'record': record(folder)}
        with Watch({'cameras': {'door': door}}, folder) as watch:
            most = []
            watch.until('all frames', lambda s: most.append(len(os.listdir(f'/proc/{watch.process.pid}/task'))) or
                        s['cameras']['door']['frames'] >= 4 * RATE - 5)
            watch.end()
            pieces = pieces_of(watch, 'door')
            found = [probe(piece['file'])[1] for piece in pieces[::8]]
            expect(set(found) == {1} and len(pieces) >= 3 * RATE and max(most) < 60, (found, len(pieces), max(most)))


# Milliseconds of packet N: two share a time; all do; the clock of the source is set back.
TIMES = {'pairs': '100+floor(N/2)*80', 'frozen': '100', 'back': 'if(lt(N,25),3000,100)+N*40'}


def times(folder):
    """Packets whose times do not rise: each of them is recorded, at about the speed of the source."""
    base = copy(clip(os.path.join(folder, 'base.mp4'), 2), os.path.join(folder, 'base.mkv'))
    cameras = {}
    for name, text in TIMES.items():
        escaped = text.replace(',', r'\,')
        path = copy(base, os.path.join(folder, f'{name}.mkv'), '-bsf:v', f'setts=pts={escaped}:dts=N')
        cameras[name] = {'source': path, 'record': record(folder)}
    with Watch({'cameras': cameras}, folder) as watch:
        for name in cameras:
            expect(watch.wait('ended', name, after={'seq': 0})['frames'] == 50, name)
        watch.end()
        for name in cameras:
            piece, = pieces_of(watch, name)
            seconds, count, *_, step = probe(piece['file'])
            expect(count == 50 and seconds < 2.5 and step < 0.13 and (seconds > 1.5 or name == 'frozen'),
                   (name, count, seconds, step))
            expect(units(stream(piece['file'])) == units(stream(base)), f'{name}: other bits')


def endless(folder):
    """A group of pictures without end: recording goes on, and memory is bounded."""
    path = os.path.join(folder, 'noise.ts')
    ffmpeg('-f', 'lavfi', '-i', f'color=gray:size=1280x720:rate={RATE}:duration=2,noise=alls=100:allf=t', '-pix_fmt',
           'yuv420p', '-c:v', 'libx264', '-preset', 'ultrafast', '-qp', '1', '-g', '1000', path)
    with open(path, 'rb') as file:
        data = file.read()
    expect(len(data) > 100 << 20, f'{len(data)} bytes are too few')
    with Sender(data) as sender:
        door = {'source': sender.web.address, 'record': record(folder)}
        with Watch({'cameras': {'door': door}}, folder) as watch:
            frames(watch, 10)
            # The last ones are not known to be complete.
            watch.until('all frames', lambda s: s['cameras']['door']['frames'] >= 2 * RATE - 2)
            with open(f'/proc/{watch.process.pid}/status', encoding='ascii') as file:
                most = int(re.search(r'VmHWM:\s*(\d+)', file.read()).group(1)) >> 10
            expect(most < 420, f'{most} MiB')
            expect(watch.ask('status')['status']['cameras']['door']['record']['dropped'] == 0, 'dropped')
            watch.end()
            piece, = pieces_of(watch, 'door')
            expect(probe(piece['file'])[1] >= 2 * RATE - 2, piece)


def snapshots(folder):
    """A snapshot shows the newest picture, soon, though a key frame comes each ten seconds only. The decoder for it
    goes again."""
    path = os.path.join(folder, 'shot.png')
    # A picture as bright as it is late.
    with Sender(ts(folder, 19, picture='color=color=black:', bf=2, g=250, vf='geq=lum=16+N/2:cb=128:cr=128')) as sender:
        door = {'source': sender.web.address, 'record': record(folder)}
        with Watch({'cameras': {'door': door}}, folder) as watch:
            watch.wait('started', 'door')
            watch.ask(f'snapshot door {path}')

            def threads():
                found = []
                for task in os.listdir(f'/proc/{watch.process.pid}/task'):
                    with contextlib.suppress(OSError), \
                            open(f'/proc/{watch.process.pid}/task/{task}/comm', encoding='ascii') as file:
                        found.append(file.read().strip())  # an error: it has ended
                return found
            for count in 100, 150:
                number = frames(watch, count)['cameras']['door']['frames']
                watch.ask(f'snapshot door --overwrite {path}')
                level = gray(path)[60][80]
                after = watch.ask('status')['status']['cameras']['door']['frames']
                # The level of video, 16 to 235, as 0 to 255.
                shot = (level * 219 / 255) * 2
                expect(number - 12 <= shot <= after + 4, f'picture {shot} of {number} to {after}')
            expect(any('avdec' in name or 'packets:src' in name for name in threads()), threads())
            watch.until('the decoder goes', lambda _: not any('packets:src' in name for name in threads()))
            watch.end()


def rows_of(path, size=LARGE):
    """Yields the rows of each picture of a file."""
    data, (width, height) = ffmpeg('-i', path, '-pix_fmt', 'gray', '-f', 'rawvideo', '-')[0], size
    for at in range(0, len(data), width * height):
        yield [data[at + y * width:at + (y + 1) * width] for y in range(height)]


def closed(folder):
    """With a filter line, no packet of the camera leaves: the mark is covered in all that is shown and recorded from
    the answer to `reload` on, also after a restart, with the filter off and on again, and with remove and add. Without
    a line, the mark is there, and its packets pass again."""
    image = os.path.join(folder, 'mark.pgm')
    with open(image, 'wb') as file:
        file.write(b'P5 %d %d 255\n' % LARGE + b''.join(pixels(LARGE)))
    path = os.path.join(folder, 'mark.ts')
    ffmpeg('-loop', '1', '-framerate', RATE, '-t', '60', '-i', image, '-pix_fmt', 'yuv420p', '-c:v', 'libx264', '-bf',
           '2', '-g', '250', path)
    with open(path, 'rb') as file:
        data = file.read()
    line, shot, phases = FILL.replace('0,0,2,2', '0.4,0.4,0.5,0.5'), os.path.join(folder, 'shot.png'), []

    def config(line):
        return {'rtsp': {'port': 0}, 'cameras': {'door': {'source': sender.web.address, 'filter': line, 'live': True,
                                                          'record': record(folder)}}}

    def reload(watch, line):
        watch.until('recording', lambda s: 'file' in s['cameras']['door']['record'])
        watch.write(config(line))
        watch.ask('reload')
        phases.append((len(watch.events), bool(line)))

    with Sender(data) as sender, Watch(config(''), folder) as watch:
        port = port_of(watch)
        phases.append((0, False))
        for _ in range(3):
            shown(watch, port)
            expect(watch.ask('status')['status']['cameras']['door'].get('own'), 'its packets do not pass')
            with Viewer(port) as viewer:
                expect(max(viewer.frame()[60][70:90]) > 200, 'the mark is not there')
                reload(watch, line)
                # From here on who asks gets nothing, or what is covered.
                expect(described(port, 'door') == 503, 'what was there before is still shown')
                while viewer.frame():
                    pass
            watch.wait('back', 'door')
            shown(watch, port)
            with Viewer(port) as viewer:
                viewer.frames(20, 'filter')
                watch.ask('restart door')
                viewer.end('restart')
            watch.wait('back', 'door')
            shown(watch, port)
            watch.ask(f'snapshot door --overwrite {shot}')
            expect_hidden(gray(shot), 'snapshot')
            watch.ask('enable door off')
            expect(not watch.ask('status')['status']['cameras']['door'].get('own'), 'packets pass a filter')
            watch.ask('enable door on')
            watch.ask('restart door')
            watch.wait('back', 'door')
            reload(watch, '')
            watch.wait('back', 'door')
        watch.ask('remove door')
        watch.wait('removed', 'door')
        again = 'add door ' + json.dumps(config(line)['cameras']['door'])
        watch.until('the old one has gone', lambda _: watch.ask(again, ok=None)['ok'])
        phases.append((len(watch.events), True))
        shown(watch, port)
        with Viewer(port) as viewer:
            viewer.frames(20, 'added')
        watch.end()
        begun = {event['file']: event['seq'] for event in watch.events if event['type'] == 'piece-begun'}
        counts = {True: 0, False: 0}
        for piece in pieces_of(watch, 'door'):
            filtered = [state for seq, state in phases if seq < begun[piece['file']]][-1]
            # `enable off` shows the mark for a while.
            dark = [max(row[70] for row in rows[50:70]) < 30 for rows in rows_of(piece['file'])]
            expect(dark[0] == filtered and (filtered or not any(dark)), (piece, filtered, dark))
            counts[filtered] += 1
        expect(counts[True] >= 7 and counts[False] >= 3, counts)


def track(path, codec='aac'):
    """Returns the sound of a file itself."""
    return ffmpeg('-i', path, '-map', '0:a', '-c', 'copy', '-f', 'adts' if codec == 'aac' else 'alaw', '-')[0]


def kinds_of(path, *arguments):
    found = ffprobe(*arguments, '-show_entries', 'stream=codec_name', path)
    return sorted(one['codec_name'] for one in found['streams'])


def with_sound(folder, name, seconds, *codec):
    """Makes a file of pictures and sound."""
    path = os.path.join(folder, name)
    ffmpeg('-i', clip(os.path.join(folder, f'plain-{seconds}.mp4'), seconds, **CLOSED), '-f', 'lavfi', '-i',
           f'sine=frequency=440:duration={seconds}', '-map', '0:v', '-map', '1:a', '-c:v', 'copy', '-ac', '1', '-c:a',
           *codec, path)
    return path


ALAW = 'pcm_alaw', '-ar', '8000'


def sound(folder):
    """The camera's own sound is recorded bit for bit, with and without a filter; only with `audio`. What a file cannot
    have is said, and its pictures are all there."""
    sources = {name: with_sound(folder, f'{name}.mkv', 4, *codec) for name, codec in
               {'aac': ['aac'], 'alaw': ALAW, 'mp3': ['mp3']}.items()}

    def camera(name, form='mkv', **settings):
        return {'source': sources[name], 'record': record(folder, format=form, piece=2), **settings}
    cameras = {'own': camera('aac', audio=True), 'mp4': camera('aac', 'mp4', audio=True),
               'filtered': camera('aac', audio=True, filter='identity'), 'alaw': camera('alaw', audio=True),
               'refused': camera('alaw', 'mp4', audio=True), 'mp3': camera('mp3', audio=True), 'off': camera('aac')}
    with Watch({'cameras': cameras}, folder) as watch:
        for name in cameras:
            expect(watch.wait('ended', name, after={'seq': 0})['frames'] == 4 * RATE, name)
        watch.end()
        said = {event['camera']: event['text'] for event in watch.events
                if event['type'] == 'warning' and event['element'] == 'sound'}
        expect(said.keys() == {'refused', 'mp3'}, said)
        expect('MP4 cannot have G.711' in said['refused'] and 'not passed on' in said['mp3'], said)
        for name, settings in cameras.items():
            pieces, codec = pieces_of(watch, name), 'alaw' if 'alaw' in settings['source'] else 'aac'
            expect(len(pieces) >= 2, (name, pieces))
            counts = [probe(piece['file'])[1] for piece in pieces]
            expect(sum(counts) == 4 * RATE, (name, counts))
            if name in ('refused', 'mp3', 'off'):
                expect({len(kinds_of(piece['file'])) for piece in pieces} == {1}, f'{name} has sound')
                continue
            source, found = (b''.join(track(path, codec) for path in paths) for paths in (
                [settings['source']], [piece['file'] for piece in pieces]))
            # What begins before the first picture or ends behind the last one is left out.
            expect(found in source and len(found) > 0.95 * len(source), (name, len(found), len(source)))


def sound_live(folder):
    """Viewers get the sound as well, with and without a filter, but not without `audio`."""
    streams = {'aac': ['aac'], 'alaw': ALAW}
    for name, codec in streams.items():
        with open(with_sound(folder, f'{name}.mkv', 60, *codec), 'rb') as file:
            streams[name] = file.read()
    with Sender(streams['aac'], 'video/x-matroska') as aac, Sender(streams['alaw'], 'video/x-matroska') as alaw:
        cameras = {'own': {'source': aac.web.address, 'audio': True},
                   'filtered': {'source': aac.web.address, 'audio': True, 'filter': 'identity'},
                   'alaw': {'source': alaw.web.address, 'audio': True}, 'off': {'source': aac.web.address}}
        for camera in cameras.values():
            camera['live'] = True
        with Watch({'rtsp': {'port': 0}, 'cameras': cameras}, folder) as watch:
            port = port_of(watch)
            shown(watch, port, *cameras)
            for name, wanted in {'own': ['aac', 'h264'], 'filtered': ['aac', 'h264'], 'alaw': ['h264', 'pcm_alaw'],
                                 'off': ['h264']}.items():
                watch.until(f'{name} has {wanted}', lambda _, name=name, wanted=wanted: kinds_of(
                    f'rtsp://127.0.0.1:{port}/{name}', '-rtsp_transport', 'tcp') == wanted)
            watch.end()


def sound_floods(folder):
    """Sound in very many small packets: the pictures are all recorded and shown, and memory is bounded."""
    path = with_sound(folder, 'flood.mkv', 6, *ALAW, '-ar', '48000', '-af', 'asetnsamples=n=1')
    with open(path, 'rb') as file, Sender(file.read(), 'video/x-matroska') as sender:
        door = {'source': sender.web.address, 'audio': True, 'live': True, 'record': record(folder)}
        with Watch({'rtsp': {'port': 0}, 'cameras': {'door': door}}, folder) as watch:
            port = port_of(watch)
            shown(watch, port)
            with Client(port, buffer=4096) as client:
                client.play()
                before = memory(watch)
                frames(watch, 5 * RATE)
                after = memory(watch)
                expect(sanitized() or after < before + 32, f'{before} MiB, then {after}')
            watch.end()
            piece, = pieces_of(watch, 'door')
            expect(probe(piece['file'])[1] >= 5 * RATE, piece)


def sound_goes(folder):
    """Sound that ends before the pictures, and sound that begins later: the pictures are recorded all the same, in
    time, and what there is of the sound."""
    plain, data = clip(os.path.join(folder, 'plain.mp4'), 12, **CLOSED), {}
    for name, more in {'ends': ('-t', '2'), 'begins': ('-itsoffset', '5')}.items():
        path = os.path.join(folder, f'{name}.ts')
        ffmpeg('-i', plain, *more, '-f', 'lavfi', '-i', 'sine=duration=6', '-map', '0:v', '-map', '1:a', '-c:v', 'copy',
               '-c:a', 'aac', path)
        with open(path, 'rb') as file:
            data[name] = file.read()
    with Sender(data['ends']) as ends, Sender(data['begins']) as begins:
        cameras = {name: {'source': sender.web.address, 'audio': True, 'record': record(folder, piece=2)}
                   for name, sender in (('ends', ends), ('begins', begins))}
        with Watch({'cameras': cameras}, folder) as watch:
            for name in cameras:
                watch.wait('piece-finished', name, after={'seq': 0})
                frames(watch, 11 * RATE, name)
            watch.end()
            for name in cameras:
                pieces = pieces_of(watch, name)
                expect(sum(probe(piece['file'])[1] for piece in pieces) > 10.5 * RATE, (name, pieces))
                heard = [len(kinds_of(piece['file'])) == 2 for piece in pieces]
                expect(heard[0] if name == 'ends' else not heard[0] and heard[-1], (name, heard))
                # The last one may end between pictures that are shown in another order.
                expect(max(probe(piece['file'])[4] for piece in pieces[:-1]) < 0.09, name)


def fall_back(folder):
    """What cannot pass is decoded and encoded as before: pictures of another kind, packets that do not say when they
    are shown, pictures that lie on their side, and where the settings ask for it."""
    plain = clip(os.path.join(folder, 'plain.mp4'), 2)
    turned = turn(copy(plain, os.path.join(folder, 'turned.mp4')), 120)
    reordered = copy(clip(os.path.join(folder, 'reordered.mp4'), 2, **CLOSED), os.path.join(folder, 'reordered.avi'))
    jpegs = os.path.join(folder, 'jpegs.mkv')
    ffmpeg('-i', plain, '-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p', jpegs)
    sources = {'always': (plain, {'encode': 'always'}), 'turned': (turned, {}), 'reordered': (reordered, {}),
               'jpegs': (jpegs, {}), 'filtered': (plain, {'filter': 'identity'})}
    cameras = {name: {'source': path, 'record': record(folder), **more} for name, (path, more) in sources.items()}
    with Watch({'cameras': cameras}, folder) as watch:
        for name in cameras:
            started = watch.wait('started', name, after={'seq': 0})
            expect(name == 'reordered' or started['format'] != 'H.264', started)
            expect(watch.wait('ended', name, after={'seq': 0})['frames'] == 2 * RATE, name)
        watch.end()
        for name in cameras:
            piece, = pieces_of(watch, name)
            size = probe(piece['file'])[1:4]
            expect(size == (2 * RATE, *((120, 160) if name == 'turned' else (160, 120))), (name, size))
            expect(units(stream(piece['file'])) != units(stream(plain)), f'{name} is not encoded anew')
            lost = [event for event in watch.events if event['type'] in ('lost', 'error') and event['camera'] == name]
            expect(not lost, lost)


if __name__ == '__main__':
    sys.exit(main(same, one_piece, viewers, rtsp, rtsp_h265, encoders, before, changes, flapping, times,
                  endless, snapshots, closed, fall_back, sound, sound_live, sound_floods,
                  sound_goes))
