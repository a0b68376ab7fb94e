#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: its index and cf-search: what moved where and when, in which piece; a clock that is set, pieces that go, a
writer that is too slow, a broken file, and a month of sixteen cameras. See harness.py."""
import contextlib
import glob
import json
import math
import os
import random
import sqlite3
import struct
import subprocess
import sys
import time
import urllib.parse

from clock import Clock, seconds_of
from harness import PROGRAM, SCHEMAS, SECONDS, Skip, Watch, expect, main, need
from page import Page
from recording import ZONES, camera, passing

SEARCH = os.path.join(os.path.dirname(PROGRAM), 'cf-search')
MOVES = 'cudamedian temporal-method=running motion-meta=true'
MANY = '; '.join(f'{x}-{y}: {x / 40},{y / 40} {x / 40 + .02},{y / 40} {x / 40 + .02},{y / 40 + .02}'
                 for x in range(40) for y in range(40))
MIDDLE, CORNER = '0.4,0.4 0.6,0.4 0.6,0.6 0.4,0.6', '0.0,0.0 0.1,0 .1,0.1 0,0.1'


def search(folder, what, status=0, *more, wrapper=()):
    """Returns what cf-search finds; with another status, what it says."""
    state = os.path.join(folder, 'state', 'cf-watch')
    done = subprocess.run([*wrapper, SEARCH, '--json', '--state', state, *more, what], capture_output=True,
                          text=True, timeout=SECONDS, check=False)
    expect(done.returncode == status, (what, done))
    return done.stderr if status == 2 else [json.loads(line) for line in done.stdout.splitlines()]


def index_of(folder):
    path, = glob.glob(os.path.join(folder, 'state', 'cf-watch', 'index-*.db'))
    return path


@contextlib.contextmanager
def opened(folder):
    with contextlib.closing(sqlite3.connect(index_of(folder), timeout=SECONDS, isolation_level=None)) as database:
        yield database


def rows(folder):
    """Returns how many rows each table has."""
    with opened(folder) as database:
        return {table: database.execute(f'SELECT count (*) FROM {table}').fetchone()[0]
                for table in ('piece', 'minute', 'second', 'event', 'event WHERE end > begin')}


def wait_for(watch, folder, condition):
    """Waits until the rows are as wanted. Returns them."""
    found = {}

    def holds(_):
        with contextlib.suppress(ValueError, sqlite3.Error):  # it is not there yet, or is being begun
            found.update(rows(folder))
            return condition(found)
        return False
    watch.until('rows of the index', holds)
    return found


def moving(folder, **record):
    return camera(folder, filter=MOVES, width=160, height=128, **record)


def where(folder):
    """A ball goes from the middle to the right, from 4 to 6 s of a file: that is found, by cf-search and by HTTP, in
    the piece and at the second, and with the event of the zone; where nothing moved, nothing is found."""
    need('gst-launch-1.0')
    source = passing(folder)
    line = f'{MOVES} motion-hold=2 zones="{ZONES}"'
    doors = {name: {'source': source, 'filter': line, 'record': {'folder': os.path.join(folder, name), **record}}
             for name, record in (('door', {'piece': 60}), ('gate', {'when': 'motion', 'before': 2, 'after': 1}))}
    with Page(doors, folder) as watch:
        for name in doors:
            watch.wait('ended', name, after={'seq': 0})
            watch.wait('piece-finished', name, after={'seq': 0})
        wait_for(watch, folder, lambda found: found['event WHERE end > begin'] == 4)
        for name in doors:
            piece = watch.wait('piece-finished', name, after={'seq': 0})
            begun = watch.wait('motion', name, state='start', after={'seq': 0})
            hit, = search(folder, f'{name}: {MIDDLE}')
            expect(hit['piece'] == piece['file'], (hit, piece))
            expect(abs(seconds_of(hit['begin']) - seconds_of(piece['start']) - hit['offset']) < 0.002, (hit, piece))
            # The file is recorded from its first frame on, which may be in the middle of a second; what moves is motion
            # from its third frame on.
            expect(seconds_of(hit['begin']) - 0.1 < seconds_of(begun['time']) < seconds_of(hit['begin']) + 1.3,
                   (hit, begun))
            expect(1 <= seconds_of(hit['end']) - seconds_of(hit['begin']) <= 4, hit)
            events = {(event['kind'], event['zone']): event for event in hit['events']}
            expect(set(events) == {('motion', ''), ('zone', 'middle')}, hit)
            seconds = [seconds_of(event['end']) - seconds_of(event['begin']) for event in events.values()]
            expect(all(0.3 < one < 3 for one in seconds), events)
            x, y, width, height = map(float, events['motion', '']['box'].split(','))
            expect(x <= 0.5 <= x + width and y <= 0.5 <= y + height, events)
            expect(search(folder, f'{name}: {CORNER}', 1) == [], 'the corner')
            expect(search(folder, f'{name}', 0) == [hit] and search(folder, f' {name} :, -1h, now ') == [hit], 'all')
            day = begun['time'][:10]
            expect(search(folder, f'{name}: {MIDDLE}, {day}, {hit["end"]}') == [hit], 'up to its end')
            for late in (hit['end'] + ', now', '2020-01-01, ' + hit['begin'], '-1h, -1m'):
                expect(search(folder, f'{name}: {MIDDLE}, {late}', 1) == [], late)
            answer = watch.api('GET', 'search?what=' + urllib.parse.quote(f'{name}: {MIDDLE}'))
            expect(answer == {'ok': True, 'found': [hit]}, answer)
        watch.end()


def words(folder):
    """What is wrong is said; the index is that of one file of cameras."""
    expect('there is no ' in search(folder, 'door', 2), 'no index')
    with Page({'door': moving(folder), 'gate': {'source': 'test', 'width': 64, 'height': 48}}, folder) as watch:
        wait_for(watch, folder, lambda found: found['second'])
        for what, wrong in (('', "a camera's name"), ('do/or', "a camera's name"), ('door: 0,0 1,1', '3 to 255 points'),
                            ('door: 0,0 1,1 2,1', 'from 0 to 1'), ('door: 10,10 20,20 20,10', 'from 0 to 1'),
                            ('door: 0,0 1,0 1', '3 to 255 points'), ('door: 0,0 1,0 1,1 1', '"1" is neither'),
                            ('door: yesterday', '"yesterday" is neither'),
                            ('door: -1y', 'neither'), ('door: -1h, -2h', 'before the second'),
                            ('door: -1h, now, now', 'too much'),
                            ('door: 1e999,0 1,0 1,1', 'from 0 to 1'), ('door:' + ' 0,0' * 300, '3 to 255 points')):
            for text in (search(folder, what, 2),
                         watch.api('GET', 'search?what=' + urllib.parse.quote(what), status=422)['error']):
                expect(wrong in text, (what, text))
        for query in ('', '?', '?x=1'):
            expect('?what=' in watch.api('GET', 'search' + query, status=422)['error'], 'nothing is asked')
        unknown = 'there is no camera "nobody"; there are: door'
        expect(search(folder, 'nobody', 2) == f'cf-search: {unknown}\n', 'another camera')
        expect(watch.api('GET', 'search?what=nobody', status=404)['error'] == unknown + ', gate', 'another camera')
        expect(watch.api('GET', 'search?what=gate')['found'] == [], 'a camera without a recording')
        expect(watch.ask('search door')['found'], 'a command')
        expect(search(folder, 'door: -1e999d, now') and search(folder, 'door: -nand'), 'longer ago than anything')
        expect(search(folder, 'door', 0, '--config', watch.path), 'by the file')
        other = os.path.join(folder, 'other.json')
        expect(f'{other}: there is no such file' in search(folder, 'door', 2, '--config', other), 'no file')
        with open(other, 'wb'):
            expect('there is no ' in search(folder, 'door', 2, '--config', other), 'another file')
        watch.end()
    with open(index_of(folder).replace('index-', 'index-x'), 'wb'):
        expect('--config' in search(folder, 'door', 2), 'two files')
    with Page({'door': moving(folder)}, os.path.join(folder, 'rec'), index=False) as watch:
        expect('there is no index' in watch.api('GET', 'search?what=door', status=409)['error'], 'no index')
        watch.end()


TOLD = ((20, 30, 'motion', ''), (22, 25, 'zone', 'yard'), (40, 45, 'motion', ''), (70, 72, 'region', ''),
        (71, 75, 'region', ''), (90, None, 'motion', ''))


def told(folder):
    """Regions that go on without an end make no end to what the camera tells: each event is found by itself, with what
    moves five seconds before and after it, and what moves between events is, too."""
    with Watch({'cameras': {'door': moving(folder)}}, folder) as watch:  # makes the tables
        wait_for(watch, folder, lambda found: found['second'])
        watch.end()
    start = int(time.time()) - 1000
    with opened(folder) as database:
        database.execute("INSERT INTO piece VALUES (999, 'yard', '/rec/yard.mkv', ?, NULL, 0)", (start * 10**6,))
        database.executemany('INSERT INTO second VALUES (999, ?, ?)',
                             [(start + n, pack([1] + 35 * [0])) for n in range(100) if n != 60])
        database.executemany('INSERT INTO minute VALUES (999, ?, ?)',
                             [(n, pack([1] + 35 * [0])) for n in range(start // 60, (start + 99) // 60 + 1)])
        database.executemany('INSERT INTO event VALUES (999, ?, ?, ?, ?, 0, \'\')', [
            ((start + begin) * 10**6, end and (start + end) * 10**6, kind, zone) for begin, end, kind, zone in TOLD])
    found = [(seconds_of(hit['begin']) - start, seconds_of(hit['end']) - start - 1, len(hit['events']))
             for hit in search(folder, 'yard')]
    expect(found == [(0, 14, 0), (15, 35, 2), (36, 50, 1), (51, 64, 0), (65, 80, 2), (81, 84, 0), (85, 99, 1)], found)


def is_set(folder):
    """The clock is set back by an hour: each second is in the piece that it was recorded in, also where two pieces are
    of the same time."""
    clock = Clock(folder)
    with Watch({'cameras': {'door': moving(folder, piece=3600)}}, folder, clock.env) as watch:
        first = watch.wait('piece-begun', 'door')
        wait_for(watch, folder, lambda found: found['second'] >= 3)
        clock.set(-8)
        second = watch.wait('piece-begun', 'door', after=first)
        wait_for(watch, folder, lambda found: found['piece'] == 2)
        watch.end()
        with opened(folder) as database:
            ends = database.execute('SELECT max (begin), min ("end" >= begin) FROM event').fetchone()
        expect(ends[0] and ends[1] == 1, 'events end with cf-watch, and not before they begin')
        lasted = {piece['file']: piece['duration_s'] for piece in watch.events if piece['type'] == 'piece-finished'}
    found = {hit['piece']: hit for hit in search(folder, 'door')}
    expect(set(found) == {first['file'], second['file']} == set(lasted), (found, lasted))
    expect(seconds_of(second['start']) < seconds_of(found[first['file']]['end']), 'pieces of the same time')
    for file, hit in found.items():
        length = seconds_of(hit['end']) - seconds_of(hit['begin'])
        expect(hit['offset'] <= 1 and hit['offset'] + length <= lasted[file] + 1.1, (hit, lasted))


def pruned(folder):
    """With its piece go its rows: of one that is deleted for its bytes, and of one that somebody has deleted while
    cf-watch did not run, but not where all are missing, since their disk may be away."""
    with Watch({'cameras': {'door': moving(folder, piece=1, keep_bytes=20000)}}, folder) as watch:
        gone = watch.wait('piece-deleted', 'door')['file']
        watch.wait('piece-deleted', 'door')
        with opened(folder) as database:
            watch.until('it is not found', lambda _: not database.execute(
                'SELECT * FROM piece WHERE file = ?', (gone,)).fetchall())
            for table in ('second', 'minute', 'event'):
                expect(not database.execute(f'SELECT * FROM {table} WHERE piece NOT IN (SELECT id FROM piece)')
                       .fetchall(), table)
        watch.end()
    # Of many pieces they go faster than pieces come.
    with opened(folder) as database:
        for number in range(10**6, 10**6 + 200):
            database.execute("INSERT INTO piece VALUES (?, '', ?, 0, 0, 0)", (number, f'/gone/{number}'))
            for table in ('event (piece)', 'second (piece, second)', 'minute (piece, minute)'):
                columns = table.count(',') + 1
                database.execute(f'INSERT INTO {table} VALUES ({number}{", 1" * (columns - 1)})')
    with Watch({'cameras': {'door': moving(folder, when='off')}}, folder) as watch:
        wait_for(watch, folder, lambda found: found['piece'] < 200 and found['event'] < 200)
        watch.end()
    config, rec, away = {'cameras': {'door': moving(folder, when='off')}}, folder + '/rec', folder + '/away'
    with opened(folder) as database:  # the last ones that went when cf-watch ended are still in it
        kept = {file for file, in database.execute('SELECT file FROM piece') if os.path.exists(file)}
    expect(len(kept) > 1, kept)
    one = sorted(kept)[0]
    for remove in (lambda: None, lambda: os.rename(rec, away), lambda: os.remove(one)):
        remove()
        with Watch(config, folder) as watch:
            watch.wait('started', 'door')
            left = len(kept) - (not os.path.exists(one) and not os.path.exists(away))
            wait_for(watch, folder, lambda found, left=left: found['piece'] == left)
            watch.end()
        expect(rows(folder)['piece'] == left, (left, rows(folder)))
        if os.path.exists(away):
            os.rename(away, rec)
    expect(one not in {hit['piece'] for hit in search(folder, 'door')}, 'somebody has deleted it')


def begins_anew(folder):
    """A piece whose file has the name of an earlier one has none of its rows."""
    with Watch({'cameras': {'door': moving(folder, piece=3600)}}, folder) as watch:
        wait_for(watch, folder, lambda found: found['second'] >= 2)
        with opened(folder) as database:
            old, start = database.execute('SELECT id, start FROM piece').fetchone()
            database.execute('UPDATE piece SET start = start - 3600000000')
            database.execute('INSERT INTO second VALUES (?, ?, ?)', (old, start // 10**6 - 3600, pack([1] + 35 * [0])))
            watch.until('another row', lambda _: database.execute(
                'SELECT id, start FROM piece WHERE camera = \'door\'').fetchall() not in ([], [(old, start)]))
            watch.until('no old row', lambda _: database.execute(
                'SELECT count (*) FROM second WHERE piece = ?', (old,)).fetchone()[0] == 0)
            expect(database.execute('SELECT start FROM piece').fetchall() == [(start,)], 'one piece')
        watch.end()


def processes(folder):
    """Two processes with the same file: one writes the index, the other one says so, and goes on when it may."""
    config = {'cameras': {'door': moving(folder, piece=3600)}}
    with Watch(config, folder) as first:
        wait_for(first, folder, lambda found: found['second'])
        with Watch(config, folder) as second:
            expect('another cf-watch' in second.wait('index-failed')['reason'], 'index-failed')
            mine = second.wait('piece-begun', 'door', after={'seq': 0})['file']
            first.end()
            wait_for(second, folder, lambda found: found['piece'] == 2)
            second.until('it is found', lambda _: mine in {hit['piece'] for hit in search(folder, 'door')})
            second.end()


def just_made(folder):
    """An index whose tables are not there yet: nothing has moved so far."""
    state = os.path.join(folder, 'state', 'cf-watch')
    os.makedirs(state)
    with open(os.path.join(state, 'index-new.db'), 'wb'):
        pass
    found = search(folder, 'door', 1)
    expect(found == [], found)


def read_only(folder):
    """On a disk that takes nothing the camera goes on, an event says why nothing is found, and what was written before
    is found."""
    wrapper = ['unshare', '-rm', 'sh', '-c', f'mount --bind {folder}/state {folder}/state && '
               f'mount -o remount,ro,bind {folder}/state && exec "$0" "$@"']
    os.mkdir(os.path.join(folder, 'state'))
    if subprocess.run([*wrapper, 'true'], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip('this user may not mount')
    config = {'cameras': {'door': moving(folder, piece=3600)}}
    with Watch(config, folder, wrapper=wrapper) as watch:
        expect('Read-only' in watch.wait('index-failed')['reason'], 'index-failed')
        expect(watch.ask('search door')['found'] == [], 'the command')
        watch.end()
    with Watch(config, folder) as watch:
        wait_for(watch, folder, lambda found: found['second'])
        watch.end()
    expect(search(folder, 'door') == search(folder, 'door', wrapper=wrapper), 'cf-search')
    with Watch(config, folder, wrapper=wrapper) as watch:
        expect('Read-only' in watch.wait('index-failed')['reason'], 'index-failed')
        expect(len(watch.ask('search door')['found']) == 1, 'the command')
        watch.end()


def unrecorded(folder):
    """What is not recorded needs no room in the index's queue, however much moves there."""
    watched = {**moving(folder), 'filter': f'{MOVES} min-age=0 zones="{MANY}"', 'rate': 30}
    del watched['record']
    checks = SCHEMAS['event']  # of so many events would take too long
    SCHEMAS['event'] = None
    with Watch({'cameras': {'loud': watched, 'door': moving(folder)}}, folder) as watch:
        watch.until('events', lambda _: len(watch.events) > 6000)
        watch.ask('remove loud')
        wait_for(watch, folder, lambda found: found['second'] >= 3)
        expect(not [event for event in watch.events if event['type'] == 'index-dropped'], 'something was dropped')
        watch.end()
    SCHEMAS['event'] = checks


def killed(folder):
    """What a process that was killed has written is found, and what moves while nothing is recorded is not in its last
    piece. A trigger is found anywhere."""
    with Watch({'cameras': {'door': moving(folder, piece=3600)}}, folder) as watch:
        wait_for(watch, folder, lambda found: found['second'] >= 3)
        watch.kill(9, -9)
    before = search(folder, 'door')
    expect(len(before) == 1, before)
    with Watch({'cameras': {'door': moving(folder, when='off'),
                            'gate': camera(folder, when='motion', before=1, after=1)}}, folder) as watch:
        watch.wait('started', 'gate')
        watch.ask('trigger gate')
        wait_for(watch, folder, lambda found: found['piece'] == 2)
        piece = watch.wait('piece-finished', 'gate', after={'seq': 0})
        watch.end()
    after = search(folder, 'door')
    expect([hit['end'] for hit in after] == [hit['end'] for hit in before], (before, after))
    hit, = search(folder, f'gate: {CORNER}')
    expect(hit['piece'] == piece['file'] and [event['kind'] for event in hit['events']] == ['motion'], hit)


def full(folder):
    """While somebody locks the file, what is too much is dropped and counted, and the camera goes on; later all is
    written again, and the metrics have the count."""
    door = {**moving(folder), 'filter': f'{MOVES} min-age=0 zones="{MANY}"', 'rate': 30}
    checks = SCHEMAS['event']  # of so many events would take too long
    SCHEMAS['event'] = None
    with Watch({'cameras': {'door': door, 'gate': moving(folder)}}, folder) as watch:
        wait_for(watch, folder, lambda found: found['second'] >= 4)
        with opened(folder) as database:
            database.execute('BEGIN IMMEDIATE')
            expect('locked' in watch.wait('index-failed')['reason'], 'index-failed')
            dropped = watch.wait('index-dropped')
            expect(dropped['count'] > 0, dropped)
            watch.ask('remove door')  # or the events would soon be too many for this reader
            expect(search(folder, 'gate'), 'reading goes on')
            before = database.execute('SELECT max (second) FROM second').fetchone()
            database.execute('ROLLBACK')
            watch.until('it is written',
                        lambda _: database.execute('SELECT max (second) FROM second').fetchone() > before)
            expect(database.execute('SELECT * FROM event JOIN piece ON id = piece WHERE camera = \'gate\' AND '
                                    'kind = \'motion\' AND event."end" IS NULL').fetchall(), 'it goes on')
        watch.end()
    SCHEMAS['event'] = checks


def broken(folder):
    """A file that is none of SQLite's, is of another version or damaged, or is taken away while cf-watch runs, is moved
    aside; another one is begun, and has the pieces that are being recorded."""
    config = {'cameras': {'door': moving(folder, piece=3600)}}
    with Watch(config, folder) as watch:
        wait_for(watch, folder, lambda found: found['second'])
        path = index_of(folder)
        for name in glob.glob(path + '*'):
            os.remove(name)
        expect('taken' in watch.wait('index-broken')['reason'], 'taken away')
        wait_for(watch, folder, lambda found: found['piece'] == 1)
        watch.end()
    with opened(folder) as database:
        database.execute('PRAGMA user_version = 7')
        database.execute('UPDATE piece SET "end" = NULL')
    with open(path, 'rb') as file:
        head = file.read(4096)
    for reason, text in (('version', None), ('malformed', head + b'no index' * 512 * 8),
                         ('not a database', b'no index at all' * 1000)):
        if text:
            with open(path, 'wb') as file:
                file.write(text)
            expect(reason in search(folder, 'door', 2), 'cf-search')
        with Watch(config, folder) as watch:
            event = watch.wait('index-broken')
            expect(reason in event['reason'] and event['file'] == path + '.broken', event)
            wait_for(watch, folder, lambda found: found['second'])
            watch.end()
        if not text:
            with contextlib.closing(sqlite3.connect(path + '.broken')) as database:
                ended = database.execute('SELECT count ("end") FROM piece').fetchone()[0]
                expect(ended == 0, 'nothing is changed in it')


DAYS, CAMERAS, SHARE = 30, 16, 0.12
SLOWER = 4  # other tests run beside it


def pack(cells):
    """Returns 36 rows as search.h has them."""
    used = [row for row in range(36) if cells[row]]
    return bytes(used[:1]) + struct.pack(f'<{used[-1] - used[0] + 1}Q', *cells[used[0]:used[-1] + 1])


def day_of(chance, number, start):
    """Writes down a day of a camera: returns the pieces, seconds and minutes, in 12 % of whose seconds a box moves."""
    seconds, minutes = [], {}
    for second in range(86400):
        if chance.random() < SHARE:
            row, column = chance.randrange(28), chance.randrange(48)
            bits = ((1 << chance.randrange(2, 12)) - 1) << column
            cells = [0] * row + [bits] * chance.randrange(2, 8)
            cells += [0] * (36 - len(cells))
            piece, minute = number + second // 3600, (start + second) // 60
            seconds.append((piece, start + second, pack(cells)))
            together = minutes.setdefault((piece, minute), [0] * 36)
            together[row:row + 8] = [a | b for a, b in zip(together[row:row + 8], cells[row:row + 8])]
    return seconds, [(*key, pack(cells)) for key, cells in minutes.items()]


WHOLE, NEVER = '0,0 1,0 1,1 0,1', '0.97,0.97 1,0.97 1,1'
WIDEST = {'the whole frame, 30 days': f'cam3: {WHOLE}', 'without a polygon': 'cam15',
          'a place where nothing moves, 30 days': f'cam3: {NEVER}',
          'a place where much moves': 'cam3: 0.3,0.3 0.4,0.3 0.4,0.4 0.3,0.4',
          '255 corners': 'cam3: ' + ' '.join(f'{0.5 + 0.5 * math.cos(n):.4f},{0.5 + 0.5 * math.sin(n):.4f}'
                                             for n in range(255)),
          'each second moves, the whole frame': f'busy: {WHOLE}', 'each second moves, a place of it': f'busy: {MIDDLE}',
          'each second moves, nothing there': f'busy: {NEVER}', 'each second moves, the last day': 'busy: -1d, now',
          'a second in each minute': f'rare: {MIDDLE}'}


def busy(database, start):
    """Writes two cameras more: `busy`, where in each second of 30 days something moves but in one corner, with an event
    in each half minute, and `rare`, where there is one second of each minute in the middle, and all others elsewhere.
    Of the days between the first and the last one, which no answer looks into, there are only the minutes."""
    much, middle, edge = (pack([bits] * 30 + 6 * [0]) for bits in (2**60 - 1, 2**40 - 2**20, 1))
    for camera, one, in_minute in (('busy', much, much), ('rare', middle, middle)):
        first = 10**5 * (1 + (camera == 'rare'))
        database.executemany(f'INSERT INTO piece VALUES (?, \'{camera}\', ?, ?, NULL, 0)', [
            (first + n, f'/rec/{camera}-{n}.mkv', (start + 3600 * n) * 10**6) for n in range(24 * DAYS)])
        database.executemany('INSERT INTO minute VALUES (?, ?, ?)', (
            (first + n // 60, start // 60 + n, in_minute) for n in range(1440 * DAYS)))
        database.executemany('INSERT INTO second VALUES (?, ?, ?)', (
            (first + n // 3600, start + n, one if camera == 'busy' or n % 60 == 0 else edge)
            for day in (0, DAYS - 1) for n in range(86400 * day, 86400 * (day + 1))))
    database.executemany('INSERT INTO event VALUES (?, ?, ?, \'motion\', \'\', 0, \'0,0,1,1\')', (
        (10**5 + n // 120, (start + 30 * n) * 10**6, (start + 30 * n + 20) * 10**6) for n in range(2880 * DAYS)))


def month(folder):
    """30 days of 16 cameras, of which something moves in 12 % of all seconds, and of two more where something moves in
    each, are searched within 100 ms: the widest questions, and page after page by HTTP."""
    with Watch({'cameras': {'door': moving(folder)}}, folder) as watch:  # makes the tables
        wait_for(watch, folder, lambda found: found['second'])
        watch.end()
    begun, chance = time.monotonic(), random.Random(1)
    start = int(time.time()) // 3600 * 3600 - DAYS * 86400  # so that the last day is whole at any time of day
    with opened(folder) as database:
        database.execute('PRAGMA synchronous = OFF')
        database.execute('BEGIN')
        for one in range(CAMERAS):
            first = 1000 * (one + 1)
            seconds, minutes = day_of(chance, first, start)
            database.executemany('INSERT INTO second VALUES (?, ?, ?)', seconds)
            database.executemany('INSERT INTO minute VALUES (?, ?, ?)', minutes)
            for hour in range(24 * DAYS):
                at = start + 3600 * hour
                database.execute('INSERT INTO piece VALUES (?, ?, ?, ?, NULL, 0)',
                                 (first + hour, f'cam{one}', f'/rec/cam{one}-{hour}.mkv', at * 10**6))
            for day in range(1, DAYS):
                for table, column, by in (('second', 'second', 86400), ('minute', 'minute', 1440)):
                    database.execute(f'INSERT INTO {table} SELECT piece + {24 * day}, {column} + {by * day}, cells '
                                     f'FROM {table} WHERE piece BETWEEN {first} AND {first + 23}')
        busy(database, start)
        database.execute('COMMIT')
        count = database.execute('SELECT count (*) FROM second').fetchone()[0]
    print(f'    {count} seconds, {os.path.getsize(index_of(folder)) >> 20} MiB, made in '
          f'{time.monotonic() - begun:.0f} s')
    expect(count > 0.11 * DAYS * CAMERAS * 86400, count)
    with Page({'door': moving(folder, when='off')}, folder) as watch:
        for name, what in WIDEST.items():
            took, path = [], 'search?what=' + urllib.parse.quote(what)
            for _ in range(5):
                before = time.monotonic()
                answer = watch.api('GET', path)
                took.append(time.monotonic() - before)
            found = answer['found']
            expect(('next' in answer) == bool(found) == (NEVER not in what), (name, len(found)))
            print(f'    {name}: {len(found)} results, {min(took) * 1000:.0f} ms, at most {max(took) * 1000:.0f}')
            expect(min(took) < 0.1 * SLOWER, (what, took))
        # A further answer begins where the first one ends, however the question is written.
        for what in ('cam2', 'cam2:', 'cam2 :,', 'cam2: 0,0 1,0 1,1', 'cam2: 0,0 1,0 1,1, '):
            first, then = (watch.api('GET', 'search?what=' + urllib.parse.quote(one)) for one in
                           (what, watch.api('GET', 'search?what=' + urllib.parse.quote(what))['next']))
            expect(first['found'][-1]['begin'] < then['found'][0]['begin'] and 'next' in then, (what, then['found'][0]))
        # One page after the other has each second once, as the table says.
        pages, found, last = 0, [], ''
        hours = (time.gmtime(start + 3600 * hour) for hour in (0, 6))
        what = 'cam1: ' + ', '.join(time.strftime('%Y-%m-%dT%H:%M', hour) for hour in hours)
        while what:
            answer = watch.api('GET', 'search?what=' + urllib.parse.quote(what))
            for hit in answer['found']:
                expect(hit['begin'] > last and hit['end'] > hit['begin'], (last, hit))
                last = hit['begin']
            found += answer['found']
            pages, what = pages + 1, answer.get('next')
        with opened(folder) as database:
            count = database.execute('SELECT count (*) FROM second JOIN piece ON id = piece WHERE camera = ? AND '
                                     'second < ?', ('cam1', start + 6 * 3600)).fetchone()[0]
        spans = sum(seconds_of(hit['end']) - seconds_of(hit['begin']) for hit in found)
        expect(pages > 2 and count <= spans < 1.5 * count, (pages, count, spans))
        watch.end()


if __name__ == '__main__':
    sys.exit(main(where, words, told, is_set, pruned, begins_anew, processes, just_made, read_only, killed, full,
                  unrecorded, broken, month))
