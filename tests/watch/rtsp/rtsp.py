#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch with real RTSP cameras that fail: rtsp.py [--seconds 600] [--short] [--keep FOLDER]

Eight cameras (camera.py, one process each, on loopback, with a password) in ten rounds. In each round one is killed and
started again, one hangs (its process is stopped: connections are accepted, nothing comes), one changes its size in the
stream, one comes back with another codec; 100 settings change over the control socket; in one round the MQTT broker
goes, and is back at its end. The first round is the one that memory, descriptors and threads of later ones are held
against: by then all of this has happened once. The clock stands in 1970 until the sixth round, in which it is set; the
disk of one camera does not answer in the fifth and sixth; a ninth camera fills memory and threads, each time in
another way. --short: two cameras and two rounds, without these three, for `meson test`.

Checked: no crash, exit 0; events fit their schema and miss no number; each fault is reported, in order, and only for
its camera; recordings can be decoded to their end, and miss no second but where a camera was away, and no frame that is
not counted; of what was recorded before the run only what is old is deleted; MQTT has the same events; no password is
in any output.

Needs PyGObject, gst-rtsp-server's typelib, x264enc and avdec_h264, else skipped (77); without mosquitto that part is.
CF_CLIP: a video file for the cameras, a test picture otherwise.
"""
import argparse
import base64
import datetime
import glob
import itertools
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TESTS, 'python'), os.path.join(TESTS, 'watch'),
                os.path.join(TESTS, '..', 'pipelines', 'python')]
import interpreter  # noqa: E402
interpreter.use("; gi.require_version('GstRtspServer', '1.0'); from gi.repository import GstRtspServer")

import cudafilters as cf  # noqa: E402
import harness  # noqa: E402
import network  # noqa: E402
from camera import RATE  # noqa: E402
from clock import DAY, LIBRARY, Clock, make  # noqa: E402
from gi.repository import Gst  # noqa: E402
from harness import Failed, Watch, expect, free_port  # noqa: E402

CLIP = os.environ.get('CF_CLIP') or '/usr/share/doc/opencv-doc/examples/data/vtest.avi'
FILTER = 'cudamedian name=m kernel-size=3 ! cudaconvolve name=c preset=gauss'
SETTINGS = [('m.kernel-size', ('1', '3', '5', '7')), ('m.enabled', ('true', 'false')),
            ('c.preset', ('gauss', 'sharpen', 'privacy', 'fill')), ('c.enabled', ('true', 'false')),
            ('c.roi', ('0.1,0.1,0.5,0.5', '10,10,30,30; 0.5,0.5,0.2,0.2'))]
TIMEOUT, PIECE, GAP = 4, 20, 1.0
BEHIND = int(time.time()) - 60  # s, the clock before it is set
HANG = os.path.join(os.path.dirname(LIBRARY), 'libhang.so')
MOST_MEMORY = 250  # MiB
HELD = 4  # s of a recording that a disk may not have yet: from a key frame to the next, and what the muxer holds
MOSQUITTO = shutil.which('mosquitto', path=os.environ.get('PATH', '') + ':/usr/sbin')
# What the last round may have more than the first: 1 MiB for each of eight cameras. Descriptors differ by a connection
# or two from round to round.
LIMITS = {'rss_kb': 8192, 'descriptors': 4, 'threads': 1}


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, right, what, detail=''):
        self.passed, self.failed = self.passed + bool(right), self.failed + (not right)
        print(f'{"ok" if right else "FAIL"}: {what}{f": {detail}" if detail and not right else ""}', flush=True)

    def skip(self, what):
        self.skipped += 1
        print(f'skipped: {what}', flush=True)

    def end(self):
        print(f'{self.passed} passed, {self.failed} failed, {self.skipped} skipped')
        return 1 if self.failed or not self.passed else 0


def has(*elements):
    return all(Gst.ElementFactory.find(name) for name in elements)


def make_clips(folder):
    """Transcodes the clip, or a test picture, once to each codec. Returns the paths."""
    paths = {}
    source = f'filesrc location={CLIP} ! decodebin ! videoconvert ! videorate' if os.path.exists(CLIP) else \
        'videotestsrc num-buffers=300 pattern=ball'
    for kind, encoder in (('h264', 'x264enc bframes=0 speed-preset=veryfast key-int-max=10 threads=1 bitrate=200'),
                          ('h265', 'x265enc speed-preset=ultrafast key-int-max=10 bitrate=200')):
        if not has(encoder.split()[0], f'{kind}parse', f'avdec_{kind}'):
            continue
        paths[kind] = os.path.join(folder, f'clip.{kind}')
        cf.play(Gst.parse_launch(f'{source} ! videoscale ! video/x-raw,width=160,height=120,framerate=10/1 ! '
                                 f'identity eos-after=300 ! {encoder} ! video/x-{kind},stream-format=byte-stream ! '
                                 f'filesink location={paths[kind]}'))
    return paths


class Camera:
    """A camera, its process, and what is to come of it."""

    def __init__(self, name, codec, roles, secret, folder):
        self.name, self.codec, self.roles = name, codec, roles
        self.folder = os.path.join(folder, 'hang') if 'disk' in roles else folder
        self.rec = os.path.join(self.folder, 'rec')
        self.old, self.young = (make(self.folder, -days * DAY, camera=name) for days in (40, 1))
        self.port, self.secret = free_port(), secret
        self.process = None
        self.last = None  # its last event of those that were waited for

    def start(self, clips):
        path = clips.get(self.codec, clips['h264'])
        env = {**os.environ, 'CAMERA_USER': 'viewer', 'CAMERA_PASSWORD': self.secret}
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, 'camera.py'), str(self.port),
                                         self.codec if self.codec in ('live', 'jpeg') else 'clip', path],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        env=env)
        if not select.select([self.process.stdout], [], [], harness.SECONDS)[0] or \
                self.process.stdout.readline() != b'ready\n':
            raise Failed(f'{self.name}: its server does not start')

    def kill(self):
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None


class Broker:
    """mosquitto on loopback with a password, and a client that writes down what comes."""

    def __init__(self, folder, secret):
        self.port, self.secret, self.folder = free_port(), secret, folder
        self.received = os.path.join(folder, 'mqtt.txt')
        passwords, config = os.path.join(folder, 'passwd'), os.path.join(folder, 'mosquitto.conf')
        subprocess.run(['mosquitto_passwd', '-c', '-b', passwords, 'watch', secret], check=True, capture_output=True)
        os.chmod(passwords, 0o644)  # mosquitto, started by root, reads it as another user
        os.chmod(folder, 0o755)
        with open(config, 'w', encoding='ascii') as file:
            file.write(f'listener {self.port} 127.0.0.1\nallow_anonymous false\npassword_file {passwords}\n')
        self.config, self.process = config, None
        self.start()
        with open(self.received, 'wb') as out:
            self.client = subprocess.Popen(['mosquitto_sub', '-p', str(self.port), '-u', 'watch', '-P', secret, '-q',
                                            '1', '-t', 'cf-watch/#', '-F', '%t %p'], stdout=out,
                                           stderr=subprocess.DEVNULL)

    def start(self):
        self.process = subprocess.Popen([MOSQUITTO, '-c', self.config], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + harness.SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(('127.0.0.1', self.port)) == 0:
                    return
            select.select([], [], [], 0.05)
        raise Failed('mosquitto does not start')

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def end(self):
        self.client.terminate()
        self.client.wait()
        self.stop()

    def events(self):
        """Returns (topic, event) of all messages so far but those of availability."""
        with open(self.received, encoding='utf-8') as file:
            lines = [line.split(' ', 1) for line in file.read().split('\n')[:-1]]
        return [(topic, json.loads(text)) for topic, text in lines if not topic.endswith('/available')]

    def until(self, seq):
        """Waits for the client to have this event: what the broker was given may still be on its way."""
        deadline = time.monotonic() + harness.SECONDS
        while all(event['seq'] != seq for _, event in self.events()) and time.monotonic() < deadline:
            select.select([], [], [], 0.05)


class Hazards:
    """A clock that is wrong and is set, a disk that does not answer for a while, and a ninth camera that is hostile."""

    def __init__(self, folder):
        self.clock = Clock(folder, -BEHIND)
        path = os.path.join(folder, 'gate')
        os.mkfifo(path)
        self.path, self.gate = path, os.open(path, os.O_RDWR)
        self.env = {**self.clock.env, 'CF_HANG': path,
                    'LD_PRELOAD': ':'.join(os.path.abspath(name) for name in (LIBRARY, HANG))}
        self.ways = itertools.cycle(network.FLOODS.values())
        self.way = None
        self.hostile = network.Flood(self.answer)
        self.lost = []  # from when until when frames are missing on the disk: those of a recording that it did not take

    def answer(self, request):
        if request.startswith(b'OPTIONS'):  # the first of each attempt
            self.way = next(self.ways)
        return self.way(request)

    def begin(self, number, run):
        disk = run.having('disk')[0]
        if number == 4:
            os.close(self.gate)
            self.lost.append(time.time() - HELD)
        elif number == 5:
            self.clock.set(0)
            self.lost.append(time.time() + 2 * GAP)
            for camera in run.cameras:
                run.watch.wait('clock', camera.name, after=camera.last)
            run.watch.wait('recording-failed', disk.name, after=disk.last)
        elif number == 6:
            self.gate = os.open(self.path, os.O_RDWR)
            disk.last = run.watch.wait('piece-begun', disk.name, after=run.watch.events[-1])


class Control:
    """A client of the control socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(harness.SECONDS)
        self.socket.connect(path)
        self.file = self.socket.makefile('rw', encoding='utf-8', newline='\n')

    def ask(self, line):
        self.file.write(line + '\n')
        self.file.flush()
        return harness.parse(self.file.readline())


def usage(pid):
    with open(f'/proc/{pid}/status', encoding='ascii') as file:
        rss = int(re.search(r'VmRSS:\s*(\d+)', file.read()).group(1))
    return {'rss_kb': rss, 'descriptors': len(os.listdir(f'/proc/{pid}/fd')),
            'threads': len(os.listdir(f'/proc/{pid}/task'))}


# ---- a run -----------------------------------------------------------------------------

class Run:
    def __init__(self, watch, cameras, clips, broker, control, args, hazards):
        self.watch, self.cameras, self.clips, self.broker, self.control = watch, cameras, clips, broker, control
        self.hazards, self.memory = hazards, 0
        self.args, self.random = args, random.Random(1)
        self.settings, self.read, self.wrong, self.usages = 0, 0, [], []
        self.status = self.metrics = self.command_line = ''
        self.expected = {camera.name: [] for camera in cameras}

    def wait(self, camera, kind, **members):
        """Waits for an event of a camera behind those that were waited for before."""
        camera.last = self.watch.wait(kind, camera.name, after=camera.last or {'seq': 0}, **members)
        self.expected[camera.name].append(kind)
        return camera.last

    def having(self, role):
        return [camera for camera in self.cameras if role in camera.roles]

    def warm_up(self, times):
        """Builds every camera anew, until what malloc keeps anyway has levelled off (docs/watch.md, Sizing), and the
        first round begins with that."""
        for _ in range(times):
            for camera in self.cameras:
                self.watch.ask(f'restart {camera.name}')
            for camera in self.cameras:
                self.wait(camera, 'back')
        for camera in self.having('recoded') * 3:  # each codec once
            self.recode(camera)
            self.wait(camera, 'lost')
            self.wait(camera, 'back')

    def fault(self, number):
        """Everything that goes wrong in a round. Cameras fail at the same time."""
        if self.hazards:
            self.hazards.begin(number, self)
        gone = self.having('restarted')
        for camera in gone:
            camera.kill()
        recoded = self.having('recoded')
        for camera in recoded:
            self.recode(camera)
        for camera in self.having('hanging'):
            camera.process.send_signal(signal.SIGSTOP)
        if self.broker and number == self.args.broker_round:
            self.broker.stop()
            self.watch.wait('broker-lost')
        self.change(self.args.settings // self.args.rounds // 2)
        for camera in gone + recoded + self.having('hanging'):
            self.wait(camera, 'lost')
        for camera in gone:
            camera.start(self.clips)
        for camera in self.having('hanging'):
            camera.process.send_signal(signal.SIGCONT)
        for camera in gone + recoded + self.having('hanging'):
            self.wait(camera, 'back')
        for camera in self.having('resized'):
            camera.process.stdin.write(b'size\n')
            camera.process.stdin.flush()
            self.wait(camera, 'size')
        if self.broker and number == self.args.broker_round:
            self.broker.start()
            self.watch.wait('broker-connected')

    def recode(self, camera):
        """Starts a camera again with the next codec: rounds 1, 4, 7 and 10 have the same."""
        names = [name for name in ('h264', 'jpeg', 'h265') if name == 'jpeg' or name in self.clips]
        camera.kill()
        camera.codec = names[(names.index(camera.codec) + 1) % len(names)]
        camera.start(self.clips)

    def change(self, count):
        """Changes settings over the socket; what is set has to be what is read."""
        for _ in range(count):
            camera = self.random.choice(self.cameras)
            name, values = self.random.choice(SETTINGS)
            value = self.random.choice(values)
            answers = [self.control.ask(f'set {camera.name} {name} {value}')]
            if self.random.random() < 0.1:
                answers.append(self.control.ask(f'get {camera.name} {name}'))
                self.read += 1
            self.settings += 1
            self.wrong += [(camera.name, name, value, answer) for answer in answers
                           if not answer['ok'] or json.dumps(answer.get('value', value)).strip('"') != value]

    def settle(self, number, begun):
        """Waits until all cameras are up, and for the end of the round. Returns what the process uses then."""
        names = {camera.name for camera in self.cameras}
        frames = self.watch.ask('status')['status']['cameras']
        self.watch.until('all cameras up, with new frames', lambda s: all(
            s['cameras'][name]['state'] == 'up' and s['cameras'][name]['frames'] > frames[name]['frames'] + 10
            for name in names))
        self.change(self.args.settings // self.args.rounds - self.args.settings // self.args.rounds // 2)
        end = max(begun + self.args.seconds / self.args.rounds, time.monotonic() + 1)
        samples = []
        while time.monotonic() < end:
            try:
                self.watch.read(min(end, time.monotonic() + 0.25))
            except Failed:
                pass  # no line
            samples = samples[-20:] + [usage(self.watch.process.pid)]
        # The least of the last seconds: a piece that ends is open beside the one that begins.
        used = {key: min(sample[key] for sample in samples) for key in LIMITS}
        print(f'round {number + 1:2}: {time.monotonic() - begun:5.1f} s, {len(self.watch.events):5} events, '
              f'{self.settings:4} settings, ' + ', '.join(f'{key} {value}' for key, value in used.items()), flush=True)
        self.usages.append(used)


def gaps(times):
    return [(a, b) for a, b in zip(times, times[1:]) if b - a > GAP]


def seconds_of(text):
    """Returns the moment that an event names, as if the clock had always been right."""
    seconds = datetime.datetime.fromisoformat(text.replace('Z', '+00:00')).timestamp()
    return seconds + BEHIND if seconds < BEHIND / 2 else seconds


def decode(path):
    """Decodes a recording to its end. Returns the times of its frames in s."""
    pipeline = Gst.parse_launch('filesrc name=file ! decodebin ! video/x-raw ! appsink name=sink sync=false '
                                'max-buffers=8')
    pipeline.get_by_name('file').set_property('location', path)
    return [sample.get_buffer().pts / Gst.SECOND for sample in cf.samples(pipeline)]


def check_recordings(tally, run, camera):
    """Every piece decodes to its end; between frames there is at most a second, but where the camera or its disk was
    away."""
    events, status = run.watch.events, json.loads(run.status)['status']['cameras'][camera.name]
    lost = [tuple(run.hazards.lost)] if 'disk' in camera.roles else []
    mine = [event for event in events if event.get('camera') == camera.name]
    finished = {event['file']: event for event in mine if event['type'] == 'piece-finished'}
    files = set(glob.glob(os.path.join(camera.rec, camera.name + '-*')))
    records = {file for file in files if file.endswith('.json')}
    on_disk = files - records
    tally.add(camera.young in on_disk and camera.old not in on_disk, f'{camera.name}: of older pieces one is deleted')
    on_disk.discard(camera.young)
    tally.add(finished and set(finished) <= on_disk and len(on_disk - set(finished)) == len(lost),
              f'{camera.name}: every piece was finished{", but the one when the disk did not answer" if lost else ""}',
              f'{len(finished)} events, on disk besides: {sorted(on_disk - set(finished))[:3]}, '
              f'gone: {sorted(set(finished) - on_disk)[:3]}')
    tally.add(records == {file + '.json' for file in finished}, f'{camera.name}: every piece has its record',
              f'{sorted(records)[:3]}, {sorted(finished)[:3]}')
    times, bad = [], []
    for piece in (event for event in mine if event['type'] == 'piece-begun'):
        path, said = piece['file'], finished.get(piece['file'], {}).get('duration_s')
        try:
            frames = decode(path)
            expect(frames or said is None, 'no frames')
            expect(said is None or abs(frames[-1] - frames[0] - said) < GAP,
                   f'{frames[-1] - frames[0]:.1f} s, said were {said} s')
            times += [seconds_of(piece['start']) + time_ - frames[0] for time_ in frames]
        except (Failed, RuntimeError) as error:
            bad.append(f'{os.path.basename(path)}: {error}')
    tally.add(not bad, f'{camera.name}: {len(on_disk)} pieces play to their end', '; '.join(bad[:4]))
    filtered, counted = status['frames'], len(times) + status['record']['dropped']
    most = sum(RATE * (b - a) for a, b in lost)
    tally.add(filtered - most <= counted < filtered + 50,  # some come behind the status
              f'{camera.name}: {len(times)} frames recorded of {filtered}, {status["record"]["dropped"]} dropped')
    # A camera is missed after TIMEOUT at the latest.
    back = [(seconds_of(event['time']), event['away_ms'] / 1000) for event in mine if event['type'] == 'back']
    away = [(time_ - seconds - TIMEOUT - 2 * GAP, time_ + 2 * GAP) for time_, seconds in back] + lost
    open_gaps = [(a, b) for a, b in gaps(sorted(times)) if not any(f <= a and b <= t for f, t in away)]
    shown = '; '.join(f'{b - a:.1f} s from {datetime.datetime.fromtimestamp(a, datetime.timezone.utc):%H:%M:%S}'
                      for a, b in open_gaps[:4])
    tally.add(not open_gaps, f'{camera.name}: no gap over {GAP} s but where it was away ({len(away)} times)', shown)
    begun = seconds_of(next(event['time'] for event in mine if event['type'] == 'started'))
    ended = seconds_of(next(event['time'] for event in reversed(events) if event['type'] == 'stopping'))
    tally.add(times and min(times) - begun < 2 * GAP and ended - max(times) < 2 * GAP,
              f'{camera.name}: recorded from its first frame to the end',
              f'{min(times, default=0) - begun:.1f} s late, {ended - max(times, default=0):.1f} s short')


def check_events(tally, run):
    """Each fault was reported, in its order; cameras without a fault are not mentioned."""
    events = run.watch.events
    for camera in run.cameras:
        mine = [event['type'] for event in events if event.get('camera') == camera.name]
        line = [kind for kind in mine if kind in ('started', 'lost', 'back')]
        # Attempts that fail give `lost` again.
        once = [kind for i, kind in enumerate(line) if not (kind == 'lost' and i and line[i - 1] == 'lost')]
        wanted = [kind for kind in run.expected[camera.name] if kind != 'size']
        tally.add(once == wanted, f'{camera.name}: started, and {wanted.count("lost")} times lost and back',
                  f'{once} instead of {wanted}')
        sizes = run.expected[camera.name].count('size')
        # A camera that was killed begins with its first size again.
        tally.add(sizes <= mine.count('size') <= sizes + once.count('back') * bool(sizes),
                  f'{camera.name}: {sizes} changes of size', f'{mine.count("size")} events')
        if not wanted.count('lost'):
            rest = set(mine) - {'started', 'back', 'size', 'piece-begun', 'piece-finished', 'piece-deleted', 'clock',
                                'retention', *(('recording-failed',) if 'disk' in camera.roles else ())}
            tally.add(not rest, f'{camera.name}: the faults of others do not touch it', rest)
    others = [event for event in events if event['type'] in
              ('events-lost', 'recording-failed', 'recording-dropped', 'settings-dropped', 'failed', 'stuck') and
              event.get('camera') not in ['hostile', *(camera.name for camera in run.having('disk'))]]
    tally.add(not others, 'no event of a kind that should not be', others[:3])


def check_hostile(tally, run):
    """The ninth camera was lost again and again, in each of its ways; no more came of it than of one that hangs."""
    mine = [event for event in run.watch.events if event.get('camera') == 'hostile']
    reasons = [event['reason'] for event in mine if event['type'] == 'lost']
    ways = all(any(word in reason for reason in reasons) for word in ('max_bytes', 'senders'))
    tally.add({event['type'] for event in mine} <= {'lost', 'error', 'stuck', 'freed'} and ways and
              len(reasons) >= 2 * len(network.FLOODS),
              f'hostile: {len(reasons)} times lost', [(event['type'], event.get('reason')) for event in mine])


def check_broker(tally, run):
    if not run.broker:
        tally.skip('MQTT: mosquitto is missing')
        return
    got = run.broker.events()
    known = {event['seq']: event for event in run.watch.events}
    wrong = [(topic, event) for topic, event in got if known.get(event['seq']) != event or
             topic != '/'.join(filter(None, ('cf-watch', event.get('camera'), event['type'])))]
    tally.add(got and not wrong, f'MQTT: {len(got)} messages, each an event, under its topic', wrong[:2])
    last = [event['seq'] for event in run.watch.events if event['type'] == 'broker-connected'][-1]
    seen = {event['seq'] for _, event in got}
    # The client of this test connects again by itself, a little later.
    first = min((seq for seq in seen if seq > last), default=None)
    missing = [seq for seq in known if first and seq > first and seq not in seen and known[seq]['type'] != 'stopped']
    tally.add(first and not missing, 'MQTT: every event after the broker was back', missing[:10])


def check_secrets(tally, run, secrets, folder):
    """No output has a password, as it is or as HTTP writes it."""
    texts = {'standard output': run.watch.text, 'standard error': run.watch.stderr(), 'status': run.status,
             'metrics': run.metrics, 'names of files': str([names for _, _, names in os.walk(folder)])}
    if run.broker:
        with open(run.broker.received, encoding='utf-8') as file:
            texts['MQTT'] = file.read()
    texts['command line'] = run.command_line
    for secret in secrets:
        forms = [secret, *(base64.b64encode(f'{user}:{secret}'.encode()).decode() for user in ('viewer', 'watch'))]
        found = [name for name, text in texts.items() if any(form in text for form in forms)]
        if found:
            tally.add(False, 'no password in any output', ', '.join(found))
            return
    tally.add(True, f'none of {len(secrets)} passwords in {", ".join(texts)}')


def fetch_metrics(watch):
    port = watch.events[0].get('metrics_port')
    if not port:
        return ''
    with socket.create_connection(('127.0.0.1', port), timeout=harness.SECONDS) as connection:
        connection.sendall(b'GET /metrics HTTP/1.0\r\n\r\n')
        parts = iter(lambda: connection.recv(65536), b'')
        return b''.join(parts).decode()


def make_config(folder, cameras, broker, hazards):
    path = os.path.join(folder, 'secrets.json')
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), 'w', encoding='ascii') as file:
        json.dump({**{camera.name: {'password': camera.secret} for camera in cameras},
                   **({'mqtt': {'password': broker.secret}} if broker else {})}, file)
    config = {'secrets': path, 'control': {'socket': os.path.join(folder, 'control')}, 'metrics': {'port': 0},
              'defaults': {'filter': FILTER, 'timeout': TIMEOUT, 'latency': 100, 'user': 'viewer',
                           'max_bytes': 1 << 20,
                           'record': {'folder': os.path.join(folder, 'rec'), 'piece': PIECE, 'keep_days': 30}},
              'cameras': {camera.name: {'source': f'rtsp://127.0.0.1:{camera.port}/stream',
                                        'record': {'folder': camera.rec}} for camera in cameras}}
    if hazards:
        config['cameras']['hostile'] = {'source': f'rtsp://127.0.0.1:{hazards.hostile.port}/stream'}
    if broker:
        config['mqtt'] = {'host': '127.0.0.1', 'port': broker.port, 'user': 'watch'}
    return config


def watch_cameras(tally, args, folder, cameras, broker, clips, hazards):
    config = make_config(folder, cameras, broker, hazards)
    with Watch(config, folder, hazards.env if hazards else None) as watch:
        ready = watch.wait('ready')
        if broker:
            watch.wait('broker-connected', after=ready)
        run = Run(watch, cameras, clips, broker, Control(os.path.join(folder, 'control')), args, hazards)
        for camera in cameras:
            run.wait(camera, 'started')
        run.warm_up(args.warm_up)
        for number in range(args.rounds):
            begun = time.monotonic()
            run.fault(number)
            run.settle(number, begun)
        run.status = json.dumps(run.control.ask('status'))
        run.memory = network.most_memory(watch)
        run.metrics = fetch_metrics(watch)
        with open(f'/proc/{watch.process.pid}/cmdline', encoding='utf-8') as file:
            run.command_line = file.read()
        code = watch.end(code=None)
        if broker:
            broker.until(watch.events[-2]['seq'])  # the last, "stopped", is no message
        tally.add(code == 0 and watch.events[-1]['type'] == 'stopped' and watch.events[-1]['clean'],
                  'it ends cleanly', f'status {code}, {watch.events[-1]}')
        return run


def check_all(tally, run, args, folder, secrets):
    tally.add(run.settings >= args.settings and run.read and not run.wrong,
              f'{run.settings} settings, {run.read} of them read again', run.wrong[:3])
    # What happens once, to clock and disk, is between two stretches.
    for begin, end in [(0, 3), (6, 9)] if run.hazards else [(0, args.rounds - 1)]:
        for name, limit in LIMITS.items():
            if name == 'rss_kb' and harness.sanitized():
                tally.skip('rss_kb: the address sanitizer keeps what is freed')
                continue
            first, last = run.usages[begin][name], run.usages[end][name]
            tally.add(last <= first + limit, f'{name}: {first} after round {begin + 1}, {last} after {end + 1}',
                      f'more than {limit} more')
    if not harness.sanitized():
        tally.add(run.memory < MOST_MEMORY, f'at most {run.memory} MiB', f'more than {MOST_MEMORY}')
    check_events(tally, run)
    if run.hazards:
        check_hostile(tally, run)
    if not harness.jsonschema:
        tally.skip('the schemas of events and status: python3-jsonschema is missing')
    for camera in run.cameras:
        check_recordings(tally, run, camera)
    check_broker(tally, run)
    check_secrets(tally, run, secrets, folder)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seconds', type=float, default=600)
    parser.add_argument('--short', action='store_true', help='two cameras, two rounds, no longer than they take')
    parser.add_argument('--keep', metavar='FOLDER', help='an empty folder for recordings and logs, which stays')
    args = parser.parse_args()
    args.rounds, args.settings, args.warm_up = (2, 60, 0) if args.short else (10, 1000, 25)
    args.broker_round = 0 if args.short else 3
    args.seconds = 0 if args.short else args.seconds
    return args


def main():
    args = parse()
    if not os.path.exists(harness.PROGRAM):
        print(f'{harness.PROGRAM} is not built\n0 passed, 0 failed, 1 skipped')
        return 77
    Gst.init(None)
    if not has('x264enc', 'rtph264pay', 'avdec_h264', 'multifilesrc', 'rtspsrc'):
        print('x264enc, rtph264pay, avdec_h264, multifilesrc or rtspsrc is missing\n0 passed, 0 failed, 1 skipped')
        return 77
    harness.SECONDS = max(harness.SECONDS, 60)
    tally = Tally()
    names = [('restarted', 'live', ('restarted', 'resized')), ('hanging', 'h264', ('hanging',))] if args.short else \
        [('restarted', 'h264', ('restarted',)), ('hanging', 'h264', ('hanging',)), ('resized', 'live', ('resized',)),
         ('recoded', 'h264', ('recoded',)), ('disk', 'h264', ('disk',)),
         *((f'steady-{n}', codec, ()) for n, codec in enumerate(('h264', 'jpeg', 'live')))]
    with tempfile.TemporaryDirectory(prefix='cf-rtsp-') as made:
        folder = os.path.abspath(args.keep or made)
        os.makedirs(folder, exist_ok=True)
        clips = make_clips(folder)
        secrets = [f'geheim-{random.getrandbits(64):x}' for _ in names] + [f'mqtt-{random.getrandbits(64):x}']
        cameras = [Camera(*row, secret, folder) for row, secret in zip(names, secrets)]
        hazards = None if args.short else Hazards(folder)
        broker = Broker(folder, secrets[-1]) if MOSQUITTO and shutil.which('mosquitto_sub') else None
        try:
            for camera in cameras:
                camera.start(clips)
            run = watch_cameras(tally, args, folder, cameras, broker, clips, hazards)
        except Failed as error:
            tally.add(False, 'the run', str(error))
            return tally.end()
        finally:
            for camera in cameras:
                camera.kill()
            if broker:
                broker.end()
        check_all(tally, run, args, folder, secrets)
    return tally.end()


if __name__ == '__main__':
    sys.exit(main())
