#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch and cf-verify: records of pieces, their signatures and their chain, whatever is done to the files; and the
frames that left unmasked. OpenSSL's own program is the independent one. See harness.py."""
import glob
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys

from clock import Clock
from harness import SECONDS, Skip, Watch, expect, main, need, probe, run, talk
from hidden import Camera
from page import door
from through import with_sound
from users import Site, Visitor, three

VERIFY = os.path.join(os.environ.get('CF_BUILD', 'build'), 'pipelines', 'watch', 'cf-verify')
FILL = 'cudaconvolve name=hide preset=fill roi=0,0,0.5,0.5'


def key(folder, name='key'):
    """Makes a pair of keys. Returns the private one's path and the public one's."""
    need('openssl')
    private, public = os.path.join(folder, f'{name}.pem'), os.path.join(folder, f'{name}.pub')
    subprocess.run(['openssl', 'genpkey', '-algorithm', 'ed25519', '-out', private], check=True, capture_output=True)
    os.chmod(private, 0o600)
    subprocess.run(['openssl', 'pkey', '-in', private, '-pubout', '-out', public], check=True)
    return private, public


def config(folder, line=FILL, more=None, **record):
    return {**(more or {}), 'cameras': {'door': {
        'source': 'test:ball', 'width': 64, 'height': 48, 'rate': 25, 'filter': line,
        'record': {'folder': os.path.join(folder, 'rec'), **record}}}}


def piece(watch):
    """Has one piece recorded. Returns the event of its record."""
    watch.ask('record door on')
    watch.wait('piece-begun', 'door')
    watch.ask('record door off')
    return watch.wait('record-written', 'door')


def record_of(path):
    with open(path + '.json', encoding='utf-8') as file:
        return json.load(file)


def verify(*arguments, code=0):
    done = subprocess.run([VERIFY, *arguments], capture_output=True, text=True, timeout=SECONDS, check=False)
    expect(done.returncode == code, f'{arguments}: {done.returncode}, not {code}: {done.stdout}{done.stderr}')
    return done.stdout + done.stderr


def pieces(folder):
    return sorted(glob.glob(os.path.join(folder, 'rec', '*.mkv')))


def record(folder, count, **settings):
    """Records so many pieces. Returns the public key."""
    private, public = key(folder)
    with Watch(config(folder, when='off', sign=private, **settings), folder) as watch:
        watch.wait('started', 'door')
        for _ in range(count):
            piece(watch)
        watch.end()
    return public


def signed(folder):
    """What a record says is so; OpenSSL agrees with each signature; each record names the one before it."""
    private, public = key(folder)
    with Watch(config(folder, sign=private, piece=2), folder) as watch:
        watch.wait('record-written', 'door')
        watch.ask('set door hide.roi 0,0,1,1')
        events = [event for event in watch.events if event['type'] == 'record-written']
        for _ in range(2):
            events.append(watch.wait('record-written', 'door'))
        watch.end()
        events = [event for event in watch.events if event['type'] == 'record-written']
        finished = {event['file']: event for event in watch.events if event['type'] == 'piece-finished'}
    expect([event['number'] for event in events] == list(range(1, len(events) + 1)) and len(events) >= 3, events)
    expect({event['file'] for event in events} == set(finished) == set(pieces(folder)), events)
    previous, chain = None, set()
    for event in events:
        path = event['file']
        with open(path, 'rb') as file:
            content = file.read()
        with open(path + '.json', 'rb') as file:
            text = file.read()
        found = json.loads(text)
        expect(hashlib.sha256(text).hexdigest() == event['sha256'], event)
        expect(found['sha256'] == hashlib.sha256(content).hexdigest() and found['bytes'] == len(content), found)
        expect(found['previous'] == previous and found['number'] == event['number'], found)
        expect(found['first'] == finished[path]['start'] and found['first'] < found['last'], found)
        expect(found['filter'] == FILL and found['unmasked'] == 0 and found['file'] == os.path.basename(path), found)
        if shutil.which('ffprobe'):
            expect(found['frames'] == probe(path)[1], (found, probe(path)))
        subprocess.run(['openssl', 'pkeyutl', '-verify', '-pubin', '-inkey', public, '-rawin', '-in', path + '.json',
                        '-sigfile', path + '.json.sig'], check=True, capture_output=True)
        previous = event['sha256']
        chain.add(found['chain'])
    expect(len(chain) == 1, chain)
    values = [record_of(event['file']) for event in events]
    expect(values[0]['settings'][0]['values'] == {'preset': 'fill', 'roi': '0,0,0.5,0.5'}, values[0])
    changes = [change for value in values for change in value['changes']]
    expect(changes and all(change['set'] == 'hide.roi' and change['value'] == '0,0,1,1' for change in changes), values)
    expect(values[-1]['settings'][0]['values']['roi'] == '0,0,1,1' or values[-1]['changes'], values[-1])
    said = verify('--key', public, os.path.join(folder, 'rec'))
    expect(f'{len(events)} good, 0 wrong, 0 deleted' in said and 'Without' not in said, said)
    expect('Without --key' in verify(os.path.join(folder, 'rec')), 'a check without a key says so')
    verify('--key', public, events[0]['file'], events[1]['file'] + '.json')
    with open(os.path.join(folder, 'rec', 'door.chain'), 'rb') as file:
        line, signature = file.read().splitlines(keepends=True)
    for name, data in ('text', line), ('sig64', signature):
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(data)
    subprocess.run(['openssl', 'base64', '-d', '-A', '-in', f'{folder}/sig64', '-out', f'{folder}/sig'], check=True)
    subprocess.run(['openssl', 'pkeyutl', '-verify', '-pubin', '-inkey', public, '-rawin', '-in', f'{folder}/text',
                    '-sigfile', f'{folder}/sig'], check=True, capture_output=True)


def flips(folder):
    """Each byte of a record, of its signature and of the chain, and many of the piece, is found when it is another."""
    public = record(folder, 1, hashes=True)
    rec = os.path.join(folder, 'rec')
    path, = pieces(folder)
    verify('--key', public, rec)
    for end, step in ('.mkv', 97), ('.hashes', 5), ('.json', 1), ('.sig', 1), ('.chain', 1):
        name, = [name for name in os.listdir(rec) if name.endswith(end)]
        with open(os.path.join(rec, name), 'rb') as file:
            content = file.read()
        copies = []
        for at in range(0, len(content), step):
            copy = os.path.join(folder, end, str(at))
            os.makedirs(copy)
            for other in os.listdir(rec):
                if other != name:
                    os.link(os.path.join(rec, other), os.path.join(copy, other))
            with open(os.path.join(copy, name), 'wb') as file:
                file.write(content[:at] + bytes([content[at] ^ 1]) + content[at + 1:])
            copies.append(copy)
        said = verify('--key', public, *copies, code=1)
        # The line's end is no part of a signature in base64, nor are the last bits of it.
        slack = 4 if end == '.chain' else 0
        found = said.count('.chain: WRONG: it is ' if end == '.chain' else '.mkv: WRONG: ')
        expect(len(copies) - slack <= found <= len(copies), (end, len(copies), found, said[-300:]))
        shutil.rmtree(os.path.join(folder, end))
    with open(path, 'ab') as file:
        file.write(b'more')
    expect('not as it was recorded' in verify('--key', public, path, code=1), 'bytes behind the end')


def taken(folder):
    """Pieces that are removed, swapped, re-dated, copied or brought from elsewhere."""
    public = record(folder, 5)
    rec, copy = os.path.join(folder, 'rec'), os.path.join(folder, 'copy')
    names = [os.path.basename(path) for path in pieces(folder)]
    with open(os.path.join(rec, 'door.chain'), 'rb') as file:
        newest = file.read()

    def at(number):
        return os.path.join(copy, names[number])

    def remove(number, ends=('', '.json', '.json.sig')):
        for end in ends:
            os.unlink(at(number) + end)

    def swap(ends):
        for end in ends:
            os.rename(at(1) + end, at(0) + '.x')
            os.rename(at(2) + end, at(1) + end)
            os.rename(at(0) + '.x', at(2) + end)

    def rename():
        for end in ('', '.json', '.json.sig'):
            os.rename(at(2) + end, re.sub(r'-\d{8}T', '-20250101T', at(2)) + end)

    def again():
        for end in ('', '.json', '.json.sig'):
            shutil.copy(at(2) + end, os.path.join(copy, 'door-20300101T000000.000Z.mkv' + end))

    def older():
        remove(4)
        # What an attacker has who has kept nothing: the chain of today says that a piece is missing.
        with open(os.path.join(copy, 'door.chain'), 'wb') as file:
            file.write(newest)

    attacks = {
        'one in the middle': (lambda: remove(2), '1 before it are missing, numbers 3 to 3'),
        'two': (lambda: (remove(1), remove(2)), '2 before it are missing, numbers 2 to 3'),
        'the oldest': (lambda: remove(0), '1 before it are missing, numbers 1 to 1'),
        'the newest': (older, '1 behind it are missing'),
        'the piece alone': (lambda: remove(2, ['']), 'cannot be read'),
        'its record': (lambda: remove(2, ['.json', '.json.sig']), 'it has no record'),
        'its signature': (lambda: remove(2, ['.json.sig']), 'not signed'),
        'two pieces swapped': (lambda: swap(['']), 'not as it was recorded'),
        'with their records': (lambda: swap(['', '.json', '.json.sig']), 'is of another piece'),
        'another date': (rename, 'is of another piece'),
        'a copy': (again, 'is of another piece'),
        'a piece from elsewhere': (lambda: shutil.copy(at(0), os.path.join(copy, 'yard-20300101T000000.000Z.mkv')),
                                   'it has no record'),
        'all of them': (lambda: [os.unlink(path) for path in glob.glob(os.path.join(copy, 'door-*'))],
                        'all 5 pieces are missing'),
        'the chain': (lambda: os.unlink(os.path.join(copy, 'door.chain')), 'it is missing'),
    }
    for name, (attack, message) in attacks.items():
        shutil.copytree(rec, copy)
        attack()
        said = verify('--key', public, copy, code=1)
        expect(message in said, f'{name}: {said}')
        shutil.rmtree(copy)
    expect('5 good, 0 wrong' in verify('--key', public, rec), 'the original')
    _, other = key(folder, 'other')
    expect('by another key' in verify('--key', other, rec, code=1), 'another key')
    verify('--key', other, '--key', public, rec)
    expect('no public key of Ed25519' in verify('--key', os.path.join(rec, 'door.chain'), rec, code=2), 'no key')
    verify(code=2)
    expect('There is no piece' in verify('--key', public, folder, code=1), 'another folder')
    for name in ('nowhere', 'nowhere.mkv'):
        expect('no such file' in verify('--key', public, os.path.join(folder, name), code=1), name)


def retention(folder):
    """What retention deletes stays explained, also by the next process; what somebody else deletes is found."""
    private, public = key(folder)
    rec = os.path.join(folder, 'rec')
    saved = os.path.join(folder, 'saved')
    settings = config(folder, when='off', sign=private, hashes=True, keep_bytes=1)
    with Watch(settings, folder) as watch:
        watch.wait('started', 'door')
        for number in range(4):
            last = piece(watch)['file']
            if number:
                watch.wait('piece-deleted', 'door')
            if number == 1:
                shutil.copytree(rec, saved)
                # A new pipeline forgets the frames of before, so that no later piece begins with one of them.
                watch.ask('restart door')
                watch.wait('back', 'door')
        watch.end()
    left, = pieces(folder)
    expect(left == last, (left, last))
    expect(sorted(os.listdir(rec)) == sorted(['door.chain'] + [os.path.basename(left) + end for end in
                                                               ('', '.hashes', '.json', '.json.sig')]), os.listdir(rec))
    said = verify('--key', public, rec)
    expect('1 good, 0 wrong, 3 deleted by retention' in said, said)
    # What is left of what was to be deleted, where the process was killed just then.
    brought = [name for name in os.listdir(saved) if name != 'door.chain']
    for name in brought:
        shutil.copy(os.path.join(saved, name), rec)
    expect('2 good, 0 wrong, 3 deleted by retention' in (said := verify('--key', public, rec)), said)
    for name in brought:
        os.unlink(os.path.join(rec, name))
    del settings['cameras']['door']['record']['keep_bytes']
    with Watch(settings, folder) as watch:
        watch.wait('started', 'door')
        for number in (5, 6):
            expect(piece(watch)['number'] == number, watch.text)
        watch.end()
    expect('3 good, 0 wrong, 3 deleted by retention' in verify('--key', public, rec), 'the next process')
    for end in ('', '.hashes', '.json', '.json.sig'):
        os.unlink(left + end)
    expect('4 before it are missing' in verify('--key', public, rec, code=1), 'one more')


def forged(folder):
    """Another record in the place of one that retention deletes is no explanation for the piece that it is of."""
    private, public = key(folder)
    rec = os.path.join(folder, 'rec')
    settings = config(folder, when='off', sign=private)
    with Watch(settings, folder) as watch:
        watch.wait('started', 'door')
        for _ in range(4):
            piece(watch)
        first, second, third, _ = pieces(folder)
        saved = os.path.join(folder, 'saved')
        os.mkdir(saved)
        for end in ('', '.json', '.json.sig'):
            shutil.copy(first + end, saved)
        # The oldest one is said to be number 2, so that number 2 can be taken away, and the oldest one be put back.
        forged_record = {**record_of(first), 'number': 2, 'previous': record_of(second)['previous']}
        with open(first + '.json', 'w', encoding='utf-8') as file:
            json.dump(forged_record, file)
        # A third one is said to be the second one by that one's own record.
        shutil.copy(second + '.json', third + '.json')
        watch.write({**settings, 'cameras': {'door': {**settings['cameras']['door'], 'record': {
            **settings['cameras']['door']['record'], 'keep_bytes': 1}}}})
        watch.ask('reload')
        watch.wait('back', 'door')
        piece(watch)
        for _ in range(4):
            watch.wait('piece-deleted', 'door')
        watch.end()
    said = verify('--key', public, rec, code=1)
    expect('4 before it are missing' in said, said)
    for name in os.listdir(saved):
        shutil.copy(os.path.join(saved, name), rec)
    said = verify('--key', public, rec, code=1)
    expect('3 before it are missing, numbers 2 to 4' in said, said)


def flood(folder):
    """Commands without an end make neither the record nor the memory grow without one."""
    private, public = key(folder)
    with Watch(config(folder, when='off', sign=private), folder) as watch:
        watch.wait('started', 'door')
        watch.ask('record door on')
        begun = watch.wait('piece-begun', 'door')
        polygon = ';'.join(f'0,0 0.{number},0 0,0.{number}' for number in range(1000, 3000))
        for _ in range(100):
            watch.ask(f'set door hide.mask-polygons {polygon}')
        watch.ask('record door off')
        watch.wait('record-written', 'door')
        watch.end()
    found = record_of(begun['file'])
    expect(found['changes_left_out'] > 50 and len(found['changes']) > 10, found['changes_left_out'])
    expect(os.path.getsize(begun['file'] + '.json') < 3 << 20, os.path.getsize(begun['file'] + '.json'))
    expect('1 good' in verify('--key', public, os.path.join(folder, 'rec')), 'a long record')


def crash(folder):
    """A process that is killed leaves a piece without a record at most, whenever that is; the next one goes on."""
    private, public = key(folder)
    rec = os.path.join(folder, 'rec')
    for moment in ('piece-begun', 'piece-finished', 'piece-finished', 'piece-finished', 'record-written'):
        with Watch(config(folder, when='off', sign=private), folder) as watch:
            watch.wait('started', 'door')
            piece(watch)
            watch.ask('record door on')
            watch.wait('piece-begun', 'door')
            if moment != 'piece-begun':
                watch.ask('record door off')
                watch.wait(moment, 'door')
            watch.kill(signal.SIGKILL, -signal.SIGKILL)
    with Watch(config(folder, when='off', sign=private), folder) as watch:
        watch.wait('started', 'door')
        piece(watch)
        watch.end()
    said = verify('--key', public, rec, code=1)
    wrong = [line for line in said.splitlines() if 'WRONG' in line]
    expect(1 <= len(wrong) <= 4 and all('it has no record' in line for line in wrong), said)
    # A record that the chain does not name is none.
    parts = [name.removesuffix('.json.part') for name in os.listdir(rec) if name.endswith('.part')]
    expect(all(any(line.startswith(name) for line in wrong) for name in parts), (parts, said))
    name = [line for line in said.splitlines() if 'good' in line][0].partition(':')[0]
    os.rename(os.path.join(rec, name + '.json'), os.path.join(rec, name + '.json.part'))
    said = verify('--key', public, rec, code=1)
    expect(f'{name}: WRONG: it has no record' in said and 'missing' in said, said)


def full_disk(folder):
    """A full disk, and a chain that cannot be written: the camera goes on, and an event says it."""
    private, public = key(folder)
    rec = os.path.join(folder, 'rec')
    os.makedirs(os.path.join(rec, 'door.chain', 'in the way'))
    with Watch(config(folder, when='off', sign=private), folder) as watch:
        watch.wait('started', 'door')
        watch.ask('record door on')
        watch.wait('piece-begun', 'door')
        watch.ask('record door off')
        expect('door.chain' in watch.wait('record-failed', 'door')['reason'], watch.text)
        os.rmdir(os.path.join(rec, 'door.chain', 'in the way'))
        os.rmdir(os.path.join(rec, 'door.chain'))
        expect(piece(watch)['number'] == 1, watch.text)
        watch.end()
    said = verify('--key', public, rec, code=1)
    expect('1 good, 1 wrong' in said and 'it has no record' in said, said)
    mount = ['unshare', '-rm', 'sh', '-c', f'mount -t tmpfs -o size=100k none {rec} && exec "$@"', 'sh']
    if not shutil.which('unshare') or subprocess.run([*mount, 'true'], check=False, capture_output=True).returncode:
        raise Skip('nothing can be mounted here: no full disk')
    with Watch(config(folder, sign=private, keep_bytes=60000, piece=1, quality=1), folder, wrapper=mount) as watch:
        watch.wait('recording-failed', 'door')
        before = watch.ask('status')['status']['cameras']['door']
        watch.until('more frames', lambda s: s['cameras']['door']['frames'] > before['frames'] + 25)
        watch.end(code=None)
        expect(watch.events[-1]['type'] == 'stopped' and not [e for e in watch.events if e['type'] == 'lost'],
               watch.text)


def rotation(folder):
    """Another key in the place of the old one signs from the next piece on. A process that starts with another key
    does not go on with what it cannot check, and a key that cannot be used is no obstacle to recording."""
    private, public = key(folder)
    other, next_public = key(folder, 'next')
    rec = os.path.join(folder, 'rec')
    settings = config(folder, when='off', sign=private)
    with Watch(settings, folder) as watch:
        watch.wait('started', 'door')
        piece(watch)
        shutil.copy(private, os.path.join(folder, 'old.pem'))
        os.rename(other, private)
        piece(watch)
        verify('--key', public, '--key', next_public, rec)
        verify('--key', public, rec, code=1)
        verify('--key', next_public, rec, code=1)
        os.chmod(private, 0o644)
        unsigned = piece(watch)
        expect('chmod 600' in watch.wait('record-failed', 'door', after={'seq': 0})['reason'], watch.text)
        os.chmod(private, 0o600)
        piece(watch)
        watch.end()
    said = verify('--key', public, '--key', next_public, rec, code=1)
    expect('is not signed' in said and said.count('WRONG') <= 2, (said, unsigned))
    os.rename(os.path.join(folder, 'old.pem'), private)
    with Watch(settings, folder) as watch:
        watch.wait('started', 'door')
        expect(piece(watch)['number'] == 1, watch.text)
        expect('a new chain begins' in watch.wait('record-failed', 'door', after={'seq': 0})['reason'], watch.text)
        watch.end()
    expect('another chain begins behind it' in verify('--key', public, '--key', next_public, rec, code=1), 'two chains')
    # What --check says of keys.
    os.chmod(private, 0o604)
    os.chmod(public, 0o600)
    for path, message in ((private, 'chmod 600'), (public, 'no private key of Ed25519'), (folder, 'is no file'),
                          (os.path.join(folder, 'none.pem'), 'No such file')):
        with open(os.path.join(folder, 'check.json'), 'w', encoding='utf-8') as file:
            json.dump(config(folder, sign=path), file)
        code, _, said = run('--check', os.path.join(folder, 'check.json'))
        expect(code == 2 and 'record.sign: ' in said and message in said and 'PRIVATE' not in said, said)


def clock(folder):
    """A clock that is set while it records: the chain does not care, and each record has the times of its piece."""
    private, public = key(folder)
    stand_in = Clock(folder, 86400)
    with Watch(config(folder, sign=private, piece=1, format='mp4'), folder, stand_in.env) as watch:
        for ahead in (0, 3 * 86400, -86400):
            watch.wait('record-written', 'door')
            stand_in.set(ahead)
            watch.wait('clock', 'door')
        watch.wait('record-written', 'door')
        watch.end()
        events = [event for event in watch.events if event['type'] == 'record-written']
    for number, event in enumerate(events):
        found = record_of(event['file'])
        expect(found['number'] == number + 1 and found['first'] <= found['last'], found)
        expect(not shutil.which('ffprobe') or found['frames'] == probe(event['file'])[1], found)
        expect(found['first'][:19].replace('-', '').replace(':', '') in found['file'], found)
    verify('--key', public, os.path.join(folder, 'rec'))


def video(folder, frames):
    path = os.path.join(folder, 'video.avi')
    subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', f'num-buffers={frames}', '!',
                    'video/x-raw,format=I420,width=64,height=48,framerate=25/1', '!', 'jpegenc', '!', 'avimux', '!',
                    'filesink', f'location={path}'], check=True, timeout=SECONDS)
    return path


COUNTS = {  # a filter line -> the frames of 50 that left unmasked, None: nothing is counted
    'cudaconvolve preset=fill': 0,
    'cudaconvolve preset=mosaic roi=0,0,0.1,0.1': 0,
    'cudaconvolve preset=privacy roi=""': 0,
    'cudaconvolve preset=fill enabled=false': 50,
    'cudaconvolve preset=fill roi=500,500,9,9': 50,
    'cudaconvolve preset=fill roi-meta=true': 50,
    'cudaconvolve preset=fill ! cudaconvolve preset=mosaic enabled=false': 50,
    'cudaconvolve preset=fill ! cudamedian enabled=false': 0,
    'cudaconvolve preset=gauss': None,
    'cudaconvolve preset=fill apply-to=luma': None,
    'cudamedian': None,
    '': None,
}


def counted(folder):
    """The frames of a file, to the last one."""
    need('gst-launch-1.0')
    path = video(folder, 50)
    cameras = {f'c{number}': {'source': path, 'filter': line} for number, line in enumerate(COUNTS)}
    with Watch({'cameras': cameras}, folder) as watch:
        for name in cameras:
            watch.wait('ended', name, after={'seq': 0})
        status = watch.until('all pipelines have ended', lambda s: all(
            camera['state'] == 'ended' for camera in s['cameras'].values()))
        for number, (line, count) in enumerate(COUNTS.items()):
            found = status['cameras'][f'c{number}']
            expect(found.get('unmasked') == count and found['frames'] == 50, (line, found))
        watch.end()


def passed(status):
    return status['cameras']['door']['elements'][0]['stats']['frames-passed']


def hidden(folder):
    """What commands open is counted, over restarts and reloads, in the status and in the records; no frame is missed
    where the preset changes, and few are counted that were hidden."""
    settings = config(folder, FILL, when='off')
    with Watch(settings, folder) as watch:
        watch.wait('started', 'door')
        expect(watch.ask('status')['status']['cameras']['door']['unmasked'] == 0, watch.text)
        first = piece(watch)
        watch.ask('enable door off')
        watch.until('open frames', lambda s: passed(s) > 10)
        second = piece(watch)
        watch.ask('enable door on')
        third = watch.until('hidden ones', lambda s: s['cameras']['door']['elements'][0]['stats']['frames'] >
                            passed(s) + 10)
        sure = passed(third)
        expect(sure <= third['cameras']['door']['unmasked'] <= sure + 1, third)
        watch.ask('restart door')
        watch.wait('back', 'door')
        count = watch.ask('status')['status']['cameras']['door']['unmasked']
        expect(sure <= count <= sure + 1, (sure, count))
        watch.ask('set door hide.preset gauss')
        watch.until('unmasked ones', lambda s: s['cameras']['door']['unmasked'] > count + 10)
        settings['cameras']['door']['timeout'] = 11
        watch.write(settings)
        watch.ask('reload')
        watch.wait('back', 'door')
        watch.until('more of them', lambda s: s['cameras']['door']['unmasked'] > count + 20)
        status = watch.ask('status')['status']['cameras']['door']
        expect(status['elements'][0]['stats']['frames-passed'] == 0, status)
        watch.ask('set door hide.preset fill')
        count = watch.ask('status')['status']['cameras']['door']
        now = watch.until('hidden again', lambda s: s['cameras']['door']['frames'] > count['frames'] + 25)
        expect(now['cameras']['door']['unmasked'] <= count['unmasked'] + 1, now)
        watch.end()
    expect(record_of(first['file'])['unmasked'] == 0 and record_of(second['file'])['unmasked'] > 0, 'the records')
    last = record_of(second['file'])
    expect([change['set'] for change in last['changes']] == ['enabled'] and
           last['changes'][0]['value'] == 'false', last)
    expect(re.search('2 good, 0 wrong', verify(os.path.join(folder, 'rec'))), 'unsigned')


def losses(folder):
    """A camera that is lost again and again: what each of its pipelines has let pass is counted."""
    with Camera() as camera:
        camera.show((64, 48))
        settings = {'cameras': {'door': {'source': camera.web.address, 'filter': FILL + ' enabled=false'}}}
        with Watch(settings, folder) as watch:
            watch.wait('started', 'door')
            for times in range(3):
                watch.until('frames', lambda s, least=10 * times + 10: s['cameras']['door']['unmasked'] >= least)
                camera.cut()
                watch.wait('lost', 'door')
                watch.ask('restart door')
                watch.wait('back', 'door')
            watch.ask('enable door on')
            found = watch.ask('status')['status']['cameras']['door']
            # Some of a pipeline's last frames come when it was counted.
            expect(found['frames'] - 2 <= found['unmasked'] <= found['frames'] + 10, found)
            later = watch.until('hidden ones', lambda s: s['cameras']['door']['frames'] > found['frames'] + 20)
            expect(later['cameras']['door']['unmasked'] <= found['unmasked'] + 1, later)
            watch.end()


def by_page(folder):
    """A change that comes by the page is in the record with its author, whoever that is."""
    three(folder)
    rec = {'folder': os.path.join(folder, 'rec'), 'when': 'off'}
    with Site(folder, door(record=rec, page={'may_set': ['hide.roi']})) as site:
        site.wait('started', 'door')
        site.ask('record door on')
        begun = site.wait('piece-begun', 'door')
        for user in 'otto', 'anna':
            visitor = Visitor(site)
            visitor.login(user)
            expect(visitor.put('door', 'hide/roi', '0,0,1,1') == 200, user)
            expect(visitor.put('door', 'hide/preset', 'mosaic') == (200 if user == 'anna' else 403), user)
        site.api('POST', 'cameras/door/enable', 'on')  # the token has no name
        site.ask('record door off')
        site.wait('record-written', 'door')
        site.end()
    found = [(change['set'], change['by']) for change in record_of(begun['file'])['changes']]
    expect(found == [('hide.roi', 'page otto 127.0.0.1'), ('hide.roi', 'page anna 127.0.0.1'),
                     ('hide.preset', 'page anna 127.0.0.1'), ('enabled', 'page')], found)


def lines(folder):
    """Another filter line, by command or by `reload`: the records have the line that each piece was filtered by, and
    who has changed it. Where a line hides nothing any more, all frames count."""
    path, mosaic = os.path.join(folder, 'control'), 'cudaconvolve name=hide preset=mosaic'
    settings = config(folder, more={'control': {'socket': path, 'stdin': True}})
    socket = f'socket uid {os.getuid()}'
    with Watch(settings, folder) as watch:
        def more():
            status = watch.ask('status')['status']['cameras']['door']
            watch.until('more frames', lambda s: s['cameras']['door']['frames'] > status['frames'] + 10)
            return watch.ask('status')['status']['cameras']['door']['unmasked']

        def written():
            return record_of(watch.wait('record-written', 'door')['file'])
        watch.wait('piece-begun', 'door')
        expect(more() == 0, watch.text)
        watch.ask(f'filter door {mosaic}')
        records = [written()]
        watch.wait('back', 'door', after={'seq': 0})
        expect(more() == 0, watch.text)
        expect(talk(path, 'filter door cudamedian\n')[0]['ok'], watch.text)
        records.append(written())
        before = more()
        expect(before >= 10 and more() >= before + 10, watch.text)
        watch.ask('filter door ' + FILL)
        records.append(written())
        before = more()
        expect(more() == before, watch.text)
        watch.ask('set door hide.preset gauss')
        expect(more() >= before + 10, watch.text)
        watch.ask('forget door')
        records.append(written())
        before = more()
        expect(more() == before, watch.text)
        settings['cameras']['door']['filter'] = ''
        watch.write(settings)
        watch.ask('reload')
        records.append(written())
        before = more()
        expect(more() >= before + 10, watch.text)
        watch.ask('record door off')
        records.append(written())
        watch.end()
    expect([found['filter'] for found in records] == [FILL, mosaic, 'cudamedian', FILL, FILL, ''], records)
    changes = [[(change['set'], change['value'], change['by']) for change in found['changes']] for found in records]
    made = [[('filter', mosaic, 'stdin')], [('filter', 'cudamedian', socket)], [('filter', FILL, 'stdin')],
            [('hide.preset', 'gauss', 'stdin'), ('filter', FILL, 'stdin')], [('filter', '', 'stdin')]]
    for number, found in enumerate(changes):
        wanted = made[number] if number < len(made) else []
        # What was set within ten seconds before the piece may be among them.
        expect(found[-len(wanted) or len(found):] == wanted, (number, found, wanted))
        expect(number == 0 or made[number - 1][-1] in found, (number, found))
        earlier = found[:len(found) - len(wanted)]
        expect(all(change[0] == 'filter' for change in earlier), (number, found))
    unmasked = [(found['frames'], found['unmasked']) for found in records]
    expect(unmasked[0][1] == unmasked[1][1] == 0, unmasked)
    expect(unmasked[2][1] >= unmasked[2][0] and unmasked[5][1] >= unmasked[5][0], unmasked)
    expect(verify(os.path.join(folder, 'rec')).count(': good') >= 6, 'the chain')


def restored(folder):
    """What an earlier process has set counts from the first frame on, and the records have it."""
    settings = config(folder, when='off')
    with Watch(settings, folder) as watch:
        watch.wait('started', 'door')
        watch.ask('set door hide.preset gauss')
        watch.until('it is saved', lambda _: watch.ask('overrides door')['saved'])
        watch.end()
    with Watch(settings, folder) as watch:
        watch.wait('started', 'door')
        event = piece(watch)
        status = watch.ask('status')['status']['cameras']['door']
        expect(status['frames'] - 2 <= status['unmasked'] <= status['frames'] + 2, status)
        watch.ask('set door hide.preset fill')
        watch.end()
    found = record_of(event['file'])
    expect('preset' not in found['settings'][0]['values'] and found['changes'] == [] and
           found['unmasked'] >= found['frames'], found)
    with Watch(settings, folder) as watch:
        watch.wait('started', 'door')
        found = record_of(piece(watch)['file'])
        expect(found['unmasked'] == 0 and found['settings'][0]['values']['preset'] == 'fill', found)
        watch.end()


def own(folder):
    """Cameras without a filter, and sound: nothing hides, and the frames are counted, not the sound."""
    source = with_sound(folder, 'clip.mkv', 4, 'aac')
    cameras = {name: {'source': source, 'audio': True, 'filter': line, 'record': {
        'folder': os.path.join(folder, 'rec'), 'format': form, 'piece': 2}}
               for name, line, form in (('own', '', 'mkv'), ('mp4', '', 'mp4'), ('filtered', 'identity', 'mkv'))}
    with Watch({'cameras': cameras}, folder) as watch:
        for name in cameras:
            watch.wait('ended', name, after={'seq': 0})
        watch.end()
        written = [event for event in watch.events if event['type'] == 'record-written']
        finished = {event['file']: event for event in watch.events if event['type'] == 'piece-finished'}
    expect(finished.keys() == {event['file'] for event in written}, written)
    for name in cameras:
        found = [(event['file'], record_of(event['file'])) for event in written if event['camera'] == name]
        expect(sum(record['frames'] for _, record in found) == 100 and len(found) >= 2, (name, found))
        for path, record in found:
            expect(record['frames'] == probe(path)[1] and 'unmasked' not in record, (record, probe(path)))
            expect(record['first'] == finished[path]['start'] and record['first'] < record['last'], record)
    verify(os.path.join(folder, 'rec'))


def words(folder):
    """Passwords are in no record, whatever is typed."""
    word, path = 'word-of-door', os.path.join(folder, 'secrets.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump({'door': {'user': 'viewer', 'password': word}}, file)
    os.chmod(path, 0o600)
    line = f'identity name={word} ! {FILL}'
    with Watch(config(folder, line, more={'secrets': 'secrets.json'}), folder) as watch:
        begun = watch.wait('piece-begun', 'door')
        watch.ask(f'set door {word}.silent false')
        watch.ask(f'filter door {FILL} ! identity name={word}')
        watch.wait('piece-begun', 'door', after=begun)
        watch.ask('record door off')
        watch.wait('record-written', 'door', after=begun, number=2)
        watch.end()
    texts = []
    for record in glob.glob(os.path.join(folder, 'rec', '*.json')):
        with open(record, encoding='utf-8') as file:
            texts.append(file.read())
    expect(len(texts) == 2 and all('***' in text and word not in text for text in texts), texts)


def sign_again(path, private, *changes):
    """Changes what the record says, by pairs of texts, and signs that."""
    with open(path + '.json', encoding='utf-8') as file:
        text = file.read()
    for old, new in changes:
        expect(old in text, (old, text))
        text = text.replace(old, new)
    with open(path + '.json', 'w', encoding='utf-8') as file:
        file.write(text)
    subprocess.run(['openssl', 'pkeyutl', '-sign', '-rawin', '-inkey', private, '-in', path + '.json', '-out',
                    path + '.json.sig'], check=True)


def draw(path, pattern, form, count=50):
    """Draws frames of one kind; what the pattern is alone makes them differ."""
    subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', f'num-buffers={count}', f'pattern={pattern}', '!',
                    'video/x-raw,format=I420,width=64,height=48,framerate=25/1', '!', form, '!',
                    'filesink', f'location={path}'], check=True, timeout=SECONDS)


def frames_of(path):
    """Returns the head of a file of draw () and y4menc, and a list of its frames, each with its own head."""
    with open(path, 'rb') as file:
        head, *frames = re.split(b'(?=FRAME\n)', file.read())
    return head, frames


def recorded(folder, name, source, line, *commands):
    """Records a file with the hashes of its frames, by a camera of this name. Returns the piece's path."""
    with Watch({'cameras': {name: {'source': source, 'filter': line, 'record': {
            'folder': os.path.join(folder, name), 'sign': os.path.join(folder, 'key.pem'), 'hashes': True}}}},
               folder) as watch:
        watch.wait('piece-begun', name)
        for command in commands:
            watch.ask(command)
        path = watch.wait('record-written', name)['file']
        watch.end()
    return path


def original(folder):
    """The filter makes each frame of the piece of the original again; of another original, or with another setting, it
    does not. Nothing is filtered without a signature."""
    need('gst-launch-1.0')
    private, public = key(folder)
    camera, source, other, noise = [os.path.join(folder, name) for name in ('a.mkv', 'a.y4m', 'b.y4m', 'noise.y4m')]
    draw(camera, 'ball', 'matroskamux')
    draw(source, 'ball', 'y4menc')
    draw(noise, 'snow', 'y4menc')
    path = recorded(folder, 'rec', camera, FILL)
    count = record_of(path)['frames']
    for before in [], [noise]:  # the original begins earlier
        said = verify('--key', public, *[word for one in before + [source] for word in ('--original', one)], path)
        expect(f'{count} of {count} are what the filter makes' in said, said)
    expect('makes its first frame of none' in verify('--key', public, '--original', noise, path, code=1), 'another')
    expect('needs --key' in verify('--original', source, path, code=2), 'unsigned')
    (head, frames), (_, snow) = frames_of(source), frames_of(noise)
    bit = frames[40][:64 * 48 - 10] + bytes([frames[40][64 * 48 - 10] ^ 1]) + frames[40][64 * 48 - 9:]
    for found, code, *what in ((frames[:40] + [bit] + frames[41:], 1, f'frame 41 of {count}', 'the 40 before are'),
                               (frames[:40] + frames[41:], 1, f'frame 41 of {count}', 'the 40 before are'),
                               (frames[:40] + frames[41:39:-1] + frames[42:], 1, f'frame 42 of {count}'),
                               (frames[:40] + snow[:1] + frames[40:], 0, '(1 of its frames in between are left out)')):
        with open(other, 'wb') as file:
            file.write(head + b''.join(found))
        said = verify('--key', public, '--original', other, path, code=code)
        expect(all(one in said for one in what), (what, said))
    with open(path + '.hashes', encoding='utf-8') as file:
        lines = file.readlines()
    right, order = (hashlib.sha256(''.join(some).encode()).hexdigest()
                    for some in (lines, lines[:41] + lines[42:40:-1] + lines[43:]))
    for some, new, what in ((lines[:-1], right, 'are not as they were recorded'),
                            (lines[:41] + lines[42:40:-1] + lines[43:], order, f'frame 42 of {count}')):
        with open(path + '.hashes', 'w', encoding='utf-8') as file:
            file.writelines(some)
        sign_again(path, private, (right, new))
        said = verify('--key', public, '--original', source, path, code=1)
        expect(what in said, said)
    sign_again(path, private, (order, right))
    with open(path + '.hashes', 'w', encoding='utf-8') as file:
        file.writelines(lines)
    sign_again(path, private, ('"preset" :', '"roi-meta" : false, "preset" :'))
    expect('are what the filter makes' in verify('--key', public, '--original', source, path), 'no detector')
    for old, new, what in (('0,0,0.5,0.5', '0,0,0.4,0.4', 'makes its first frame of none'),
                           ('"roi-meta" : false', '"roi-meta" : true', 'a detector has told cudaconvolve'),
                           ('"roi-meta" : true', '"mask" : "/dev/zero"', 'has read a file (mask)'),
                           ('"mask" : "/dev/zero"', '"kernel-file" : "/dev/zero"', 'has read a file (kernel-file)'),
                           ('"kernel-file" : "/dev/zero"', '"sigma" : 1e308', 'sigma'),
                           ('"sigma" : 1e308', '"sigma" : []', 'sigma'),
                           ('"kind" : "cudaconvolve"', '"kind" : "filesink"', 'none of this project'),
                           ('"kind" : "filesink"', '"kind" : 7', 'cannot'),
                           ('"changes" : []', '"changes" : [7]', 'cannot')):
        sign_again(path, private, (old, new))
        said = verify('--key', public, '--original', source, path, code=1)
        expect(what in said, (new, said))
    with open(path + '.json', 'a', encoding='utf-8') as file:
        file.write(' ')
    expect('not as it was signed' in verify('--key', public, '--original', source, path, code=1), 'a changed record')


def original_live(folder):
    """Settings that change within a piece are in force one after the other; a filter that remembers is run from the
    original's first frame on, and not where a setting changes."""
    need('gst-launch-1.0')
    private, public = key(folder)
    camera, source, noise = [os.path.join(folder, name) for name in ('a.mkv', 'a.y4m', 'noise.y4m')]
    draw(camera, 'ball', 'matroskamux')
    draw(source, 'ball', 'y4menc')
    draw(noise, 'snow', 'y4menc')
    commands = 'set live hide.roi 0,0,0.9,0.9', 'set live hide.preset mosaic', 'enable live off'
    live = recorded(folder, 'live', camera, FILL, *commands)
    changes = record_of(live)['changes']
    expect(len(changes) == len(commands), record_of(live))
    said = verify('--key', public, '--original', source, live)
    expect('are what the filter makes' in said, said)
    # Each of the changes has had frames: where one is another, that is found.
    for old, new in ('"value" : "false"', '"value" : "true"'), ('"value" : "mosaic"', '"value" : "gauss"'):
        sign_again(live, private, (old, new))
        said = verify('--key', public, '--original', source, live, code=1)
        expect(' is not what the filter makes' in said, said)
        sign_again(live, private, (new, old))
    last = re.search(r'frame (\d+) of', said)
    expect(last and int(last.group(1)) > 1, said)
    for line in 'cudadenoise', 'cudamedian temporal-method=running output=background':
        path = recorded(folder, 'still', camera, line)
        expect('are what the filter makes' in verify('--key', public, '--original', source, path), line)
        verify('--key', public, '--original', noise, '--original', source, path, code=1)
        path = recorded(folder, 'changed', camera, line, 'enable changed off')
        said = verify('--key', public, '--original', source, path, code=1)
        expect('depend on those before' in said, said)
    hostile = recorded(folder, 'hostile', camera, FILL + ' ! identity')
    expect('none of this project' in verify('--key', public, '--original', source, hostile, code=1), 'identity')


if __name__ == '__main__':
    sys.exit(main(signed, flips, taken, retention, forged, flood, crash, full_disk, rotation, clock, counted, hidden,
                  losses, by_page, lines, restored, own, words,
                  original, original_live))
