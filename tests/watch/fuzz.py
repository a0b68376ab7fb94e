#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: random command lines, and random changes of its files. Seeds are fixed; CF_WATCH_SEED=N takes another,
CF_WATCH_LINES=N so many lines. See harness.py."""
import json
import os
import random
import sys

from harness import SCHEMAS, Failed, Watch, expect, main, run

SEED = int(os.environ.get('CF_WATCH_SEED', '1'))
LINES = int(os.environ.get('CF_WATCH_LINES', '600'))
SMALL = {'source': 'test:ball', 'width': 32, 'height': 32, 'rate': 5}
WORDS = ['set', 'get', 'enable', 'add', 'remove', 'snapshot', 'record', 'trigger', 'restart', 'status', 'door', 'yard',
         'overrides', 'forget',
         'cudamedian.kernel-size', '0.kernel-size', '0.enabled', '0.backend', '1.roi', '0.', '.', '..', '-1.x',
         '99999999999', 'on', 'off', 'auto', '--overwrite', '', ' ', '\t', '{', '}', '{}',
         '{"source":"test"}', 'null', '3', '5', '-7',
         '1e999', 'nan', '0.1,0.1,0.5,0.5', 'é', '\x01', '"', "'", '\\', '%s%n', '$(reboot)', 'x.png', 'a' * 3000]
FILE = {'cameras': {'door': {**SMALL, 'filter': 'cudamedian kernel-size=3', 'timeout': 5, 'user': 'me', 'gpu': -1,
                             'record': {'folder': 'rec', 'when': 'motion', 'before': 2, 'keep_days': 3}},
                    'yard': {'source': 'rtsp://127.0.0.1:1/x', 'transport': 'udp', 'latency': 20}},
        'defaults': {'record': {'folder': 'rec', 'piece': 10}}, 'control': {'stdin': True},
        'metrics': {'port': 0, 'address': '127.0.0.1'}}
SECRETS = {'door': {'user': 'viewer', 'password': 'Geheimnis-1'}, 'yard': {'password': 'Geheimnis-2'},
           'mqtt': {'user': 'cf', 'password': 'Geheimnis-3'}}


def random_line(dice):
    words = [dice.choice(WORDS) for _ in range(dice.randrange(6))]
    if dice.random() < 0.5:  # nearly right
        words[:2] = [dice.choice(WORDS[:10]), dice.choice(('door', 'yard', 'gate'))]
    line = bytearray(' '.join(words).encode())
    if dice.random() < 0.1 and line:
        line[dice.randrange(len(line))] = dice.randrange(256)
    return bytes(line).replace(b'\n', b' ')


def is_answered(line):
    """Empty lines and comments are not; those with bytes that are no text are."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return True
    return '\0' in text or (text.strip(' \t\r\f\v') != '' and not text.strip(' \t\r\f\v').startswith('#'))


def commands(folder):
    """Random lines: each has its answer, and the program stays."""
    dice = random.Random(SEED)
    cameras = {'door': {**SMALL, 'filter': 'cudamedian kernel-size=3 ! cudaconvolve'}, 'yard': SMALL}
    with Watch({'cameras': cameras}, folder) as watch:
        for begin in range(0, LINES, 20):
            lines = [random_line(dice) for _ in range(20)]
            watch.send(b''.join(line + b'\n' for line in lines))
            for line in filter(is_answered, lines):
                try:
                    watch.answer()
                except Failed as error:
                    raise Failed(f'line {begin}: {line!r}: {error}') from error
            for name in ('door', 'yard'):
                watch.ask(f'add {name} {json.dumps(SMALL)}', ok=None)
        # A camera that was just removed may still be being stopped, and cannot be added until it is.
        watch.until('a camera can be added', lambda status: 'door' in status['cameras'] or
                    watch.ask(f'add door {json.dumps(SMALL)}', ok=None)['ok'])
        watch.end()


def at_once(folder):
    """Cameras that are removed before they have started: what is stopped first does not start afterwards."""
    with Watch({'cameras': {'door': SMALL}}, folder) as watch:
        for number in range(2 * LINES):
            watch.send(f'add c{number} {json.dumps(SMALL)}\nremove c{number}\n')
        for number in range(2 * LINES):
            expect(watch.answer()['ok'] and watch.answer()['ok'], f'camera {number} is not added and removed')
        watch.end()
        expect('dispose' not in watch.stderr(), watch.stderr()[:400])


def changed(dice, value):
    """Returns the JSON value with one part of it replaced, removed or doubled."""
    other = [None, True, 0, -1, 1.5, 1e300, 2**63, '', 'x', 'a' * 500, [], {}, [[]], {'x': {}}, 'test', '\u0000', '{']
    if isinstance(value, dict) and value and dice.random() < 0.85:
        value = dict(value)
        key = dice.choice(list(value))
        what = dice.random()
        if what < 0.1:
            del value[key]
        elif what < 0.2:
            value[dice.choice(['x', '', 'source', 'cameras', 'record', key + ' '])] = value.pop(key)
        else:
            value[key] = changed(dice, value[key])
        return value
    return dice.choice(other)


def files(folder):
    """Random files: refused with words, or run; what is run fits the schema."""
    dice = random.Random(SEED)
    with Watch(FILE, folder) as watch:
        watch.wait('started', 'door')
        for _ in range(LINES // 3):
            value = changed(dice, FILE)
            text = json.dumps(value)
            if dice.random() < 0.3:
                at = dice.randrange(len(text))
                text = text[:at] + dice.choice('{}[]",:0x\\\u00e9 ') * dice.randrange(3) + text[at + dice.randrange(4):]
                value = None
            watch.write(text)
            answer = watch.ask('reload', ok=None)
            expect(answer['ok'] or len(answer['error']) > 5, (text, answer))
            if value is not None and answer['ok'] and SCHEMAS['config']:
                expect(SCHEMAS['config'].is_valid(value), f'the schema refuses what cf-watch takes: {text}')
        watch.write(FILE)
        watch.ask('reload')
        watch.until('door is back', lambda s: s['cameras']['door']['state'] == 'up')
        watch.end()


def secrets(folder):
    """Random files of passwords: refused with words, of which none is of the file, or taken."""
    dice = random.Random(SEED)
    path = os.path.join(folder, 'secrets.json')

    def write(data):
        with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), 'wb') as file:
            file.write(data)

    write(json.dumps(SECRETS).encode())
    with Watch({'secrets': path, 'cameras': {'door': SMALL}}, folder) as watch:
        watch.wait('started', 'door')
        for _ in range(LINES):
            data = bytearray(json.dumps(changed(dice, SECRETS)).encode())
            for _ in range(dice.choice((0, 0, 1, 2, 8))):
                data[dice.randrange(len(data))] = dice.choice((*b'{}[]",:\\', dice.randrange(256)))
            write(data[:dice.randrange(len(data) + 1)] if dice.random() < 0.1 else data)
            answer = watch.ask('reload', ok=None)
            expect(answer['ok'] or len(answer['error']) > 5, (data, answer))
            expect('Geheim' not in str(answer), (data, answer))
        write(json.dumps(SECRETS).encode())
        watch.ask('reload')
        expect('Geheim' not in watch.text + watch.stderr(), 'a password is shown')
        expect(sum(event.get('camera') == 'door' for event in watch.events) == 1, 'the camera was disturbed')
        watch.end()


def checks(folder):
    """--check of random bytes ends with 0 or 2."""
    dice = random.Random(SEED)
    path = os.path.join(folder, 'x.json')
    whole = json.dumps(FILE).encode()
    for _ in range(LINES // 60):
        data = bytearray(whole if dice.random() < 0.7 else dice.randbytes(200))
        for _ in range(dice.randrange(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        with open(path, 'wb') as file:
            file.write(data)
        status, _, errors = run('--check', path)
        expect(status in (0, 2) and errors, (bytes(data), status, errors))


if __name__ == '__main__':
    sys.exit(main(commands, at_once, files, secrets, checks))
