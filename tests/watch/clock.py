#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: recording while the clock is wrong, and is set. clock.c stands in for the clock. See harness.py."""
import contextlib
import datetime
import os
import struct
import sys
import time

from harness import Skip, Watch, expect, main

DAY = 86400
LIBRARY = os.path.join(os.environ.get('CF_BUILD', 'build'), 'tests', 'watch', 'libclock.so')


class Clock:
    """The clock of the programs that run with `env`: the machine's and so many seconds."""

    def __init__(self, folder, ahead=0):
        if not os.path.exists(LIBRARY):
            raise Skip(f'{LIBRARY} is not built')
        self.path = os.path.join(folder, 'clock')
        with open(self.path, 'wb') as file:
            file.write(struct.pack('=q', ahead))
        self.env = {'CF_CLOCK': self.path, 'LD_PRELOAD': os.path.abspath(LIBRARY)}

    def set(self, ahead):
        with open(self.path, 'r+b') as file:
            file.write(struct.pack('=q', ahead))


def config(folder, **record):
    return {'cameras': {'door': {'source': 'test:ball', 'width': 64, 'height': 48, 'rate': 10, 'record': {
        'folder': os.path.join(folder, 'rec'), 'piece': 1, **record}}}}


def of(watch, kind):
    return [event for event in watch.events if event['type'] == kind]


def seconds_of(text):
    return datetime.datetime.fromisoformat(text.replace('Z', '+00:00')).timestamp()


def make(folder, ahead, size=1000, modified=None, camera='door'):
    """Makes a piece whose name is so many seconds ahead of now, and its own time `modified` seconds (as much)."""
    moment = time.time() + ahead
    name = datetime.datetime.fromtimestamp(moment, datetime.timezone.utc).strftime(f'{camera}-%Y%m%dT%H%M%S.000Z.mkv')
    path = os.path.join(folder, 'rec', name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as file:
        file.truncate(size)
    changed = moment if modified is None else time.time() + modified
    os.utime(path, (changed, changed))
    return path


def check_set(watch, ahead):
    """What is recorded after the clock was set has the right time in its name, and none of all pieces is deleted."""
    event = watch.wait('clock', 'door', after={'seq': 0})
    old, new = seconds_of(event['from']), seconds_of(event['to'])
    expect(abs(new - old + ahead) < 3, event)
    begun = event
    while abs(seconds_of(begun.get('start', event['from'])) - new) > 10:
        begun = watch.wait('piece-begun', 'door', after=begun)
    watch.wait('piece-finished', 'door', file=begun['file'])
    watch.wait('piece-finished', 'door')
    watch.end()
    for piece in of(watch, 'piece-begun'):  # what was recorded before is finished beside the new pieces
        start = seconds_of(piece['start'])
        expect(old - 10 < start <= old or new - 10 < start < new + 10, (piece, event))
        expect(piece['start'][:10].replace('-', '') in os.path.basename(piece['file']), piece)
    expect(len(of(watch, 'clock')) == 1 and not of(watch, 'piece-deleted'), watch.text)
    expect(all(os.path.getsize(piece['file']) for piece in of(watch, 'piece-finished')), watch.text)
    expect(not of(watch, 'recording-dropped'), watch.text)


def is_set(folder):
    """The clock is set while it records: from 1970, by 90 days, and back by a year."""
    runs = {}
    with contextlib.ExitStack() as stack:
        for ahead in (-int(time.time()) + 60, -90 * DAY, 400 * DAY):
            own = os.path.join(folder, f'by{ahead}')
            os.mkdir(own)
            clock = Clock(own, ahead)
            runs[ahead] = stack.enter_context(Watch(config(own, keep_days=7), own, clock.env)), clock
        for watch, clock in runs.values():
            for _ in range(2):
                watch.wait('piece-finished', 'door')
            clock.set(0)
        for ahead, (watch, _) in runs.items():
            check_set(watch, ahead)
            states = [event['state'] for event in of(watch, 'retention')]
            expect(states == (['suspended', 'resumed'] if ahead < 0 else []), (ahead, states))


def goes_astray(folder):
    """A second more or less is no other recording."""
    clock = Clock(folder)
    with Watch(config(folder), folder, clock.env) as watch:
        watch.wait('piece-finished', 'door')
        clock.set(1)
        watch.wait('piece-finished', 'door')
        clock.set(-1)
        watch.wait('piece-finished', 'door')
        watch.end()
        expect(not of(watch, 'clock'), watch.text)


def was_ahead(folder):
    """Pieces of a year to come: they make room for those of now; their age says nothing, and that is said."""
    future = [make(folder, 400 * DAY + n) for n in range(3)]
    past = make(folder, -DAY)
    with Watch(config(folder, keep_bytes=9000), folder) as watch:
        for _ in range(4):
            watch.wait('piece-finished', 'door')
        watch.end()
        new = [event['file'] for event in of(watch, 'piece-finished')]
        gone = [event['file'] for event in of(watch, 'piece-deleted')]
        expect(gone[:3] == future, (gone, new))
        expect(os.path.exists(new[-1]), 'the newest piece is gone')
        expect(past not in gone[:3] and gone == sorted(gone, key=lambda path: (path not in future, path)), gone)
    for path in future:
        make(folder, 400 * DAY)
    with Watch(config(folder, keep_days=30), folder) as watch:
        event = watch.wait('retention', 'door', state='suspended')
        expect('door-' in event['reason'] and 'delete the file' in event['reason'], event)
        watch.end()
        expect(not of(watch, 'piece-deleted'), watch.text)


def impossible(folder):
    """A name that cannot be right: the file's own time counts, and where that cannot be right either, now."""
    old = make(folder, -40 * DAY)
    never = -time.time() + DAY
    by_file = make(folder, never, modified=-40 * DAY)
    young = make(folder, never + 60, modified=-DAY)
    unknown = make(folder, never + 120)
    coming = make(folder, 10 * DAY, modified=-DAY)
    others = make(folder, -40 * DAY, camera='yard')
    with Watch(config(folder, keep_days=30), folder) as watch:
        gone = {watch.wait('piece-deleted', 'door', after={'seq': 0}, file=path)['reason'] for path in (old, by_file)}
        expect(gone == {'days'}, gone)
        watch.end()
        expect(len(of(watch, 'piece-deleted')) == 2 and not of(watch, 'retention'), watch.text)
    expect(all(os.path.exists(path) for path in (young, unknown, coming, others)), os.listdir(f'{folder}/rec'))
    expect(time.time() - os.path.getmtime(unknown) < 100, 'the piece is still without an age')


def newest(folder):
    """However little is kept: not the piece that is being written, nor the last one."""
    with Watch(config(folder, keep_bytes=1), folder) as watch:
        for _ in range(4):
            watch.wait('piece-finished', 'door')
        watch.wait('piece-deleted', 'door')
        watch.end()
        finished = [event['file'] for event in of(watch, 'piece-finished')]
        for event in of(watch, 'piece-deleted'):
            end = next(one for one in of(watch, 'piece-finished') if one['file'] == event['file'])
            expect(end['seq'] < event['seq'] and event['file'] != finished[-1], event)
        expect(os.path.exists(finished[-1]), watch.text)


if __name__ == '__main__':
    sys.exit(main(is_set, goes_astray, was_ahead, impossible, newest))
