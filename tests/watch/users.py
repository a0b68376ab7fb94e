#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: who may use the page: each address by each role, wrong passwords, sessions, other machines, TLS; no
password, hash or session is in any output. See harness.py."""
import contextlib
import json
import os
import pty
import random
import select
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time

from clock import Clock
from harness import PROGRAM, SECONDS, Skip, Stream, expect, main, need, run, sanitized
from live import memory
from page import HIDE, SMALL, Client, Eye, Page, at_once, bearer, door, gray, run_with
from streams import ask, read_pictures
from webdriver import Browser
from websocket import Refused, WebSocket

WORDS = {'vera': 'word-of-vera', 'otto': 'word-of-otto', 'anna': 'word-of-anna'}
ROLES = {'vera': 'viewer', 'otto': 'operator', 'anna': 'admin'}


def make_hash(word):
    done = subprocess.run([PROGRAM, '--hash-password'], input=word + '\n', capture_output=True, text=True,
                          timeout=SECONDS, check=False)
    if 'without libxcrypt' in done.stderr:
        raise Skip('built without libxcrypt')
    expect(done.returncode == 0 and not done.stderr, done)
    return done.stdout.strip()


def write(folder, name, text, mode=0o600):
    """Writes a file, whose mode is this."""
    path = os.path.join(folder, name)
    with open(path, 'w', encoding='utf-8') as file:
        os.chmod(path, mode)
        file.write(text)


def write_users(folder, **users):
    """Writes the file, in which each user has a password, or what is given."""
    write(folder, 'users.json', json.dumps(users))


def three(folder, **more):
    """One user of each role, of whom one has a hash."""
    users = {name: {'password': word, 'role': ROLES[name]} for name, word in WORDS.items()}
    users['otto'] = {'hash': make_hash(WORDS['otto']), 'role': 'operator'}
    del users['vera']['role']
    users.update(more)
    write_users(folder, **users)
    return users


class Site(Page):
    """A running cf-watch whose page has users. What must stay secret is looked for in its output at the end."""

    def __init__(self, folder, cameras=None, page=None, env=None):
        self.secret = list(WORDS.values())
        self.settings = {'port': 0, 'users': 'users.json', **(page or {})}
        super().__init__(door() if cameras is None else cameras, folder, env, page=self.settings)
        if 'tls' in self.settings:
            self.context = ssl.create_default_context(cafile=os.path.join(folder, 'c.pem'))

    def finish(self, code):
        status = super().finish(code)
        for secret in self.secret:
            expect(secret not in self.text + self.stderr(), f'{secret} is shown')
        return status


class Visitor(Client):
    """One who logs in."""

    def put(self, camera, target, value):
        """Sets a property. Returns the status."""
        return self.fetch('PUT', f'/api/v1/cameras/{camera}/elements/{target}', json.dumps({'value': value}))[0]

    def login(self, user, password=None, status=200):
        answer = self.api('POST', 'login', {'user': user, 'password': password or WORDS[user]}, status)
        if status == 200:
            self.site.secret.append(self.cookie.split('=')[1])
        return answer


def files(folder):
    """The page and its files: without a login there is a form, and what it needs. The token is an admin without a
    name. (api.py looks at each address by each role.)"""
    three(folder)
    with Site(folder) as site:
        nobody, vera = Visitor(site), Visitor(site)
        vera.login('vera')
        looks, missing, never = (401, 200), (401, 404), (405, 405)
        for method, path, body, expected in (
                ('GET', '/', None, (200, 200)), ('GET', '/user.js', None, (200, 200)), ('GET', '/page.js', None, looks),
                ('GET', '/draw.js', None, looks), ('GET', '/live.js', None, looks), ('GET', '/nothing', None, missing),
                ('GET', '/api/v1/nothing', None, missing), ('POST', '/api/v1/quit', '{}', missing),
                ('POST', '/api/v1/cameras/door/quit', '{}', missing), ('GET', '/api/v1/login', None, never),
                ('PUT', '/user.js', '{}', never)):
            for visitor, status in zip((nobody, vera), expected):
                got, _, text = visitor.fetch(method, path, body)
                expect(got == status, (method, path, visitor.cookie[-5:], got, status, text[:200]))
        expect(b'<form id="login">' in nobody.fetch('GET', '/')[2] and
               b'<form id="login">' not in vera.fetch('GET', '/')[2], 'the form')
        me = site.api('GET', 'me')
        expect((me['user'], me['role']) == (None, 'admin'), me)
        site.end()


def passwords(folder):
    """Wrong passwords: an address has five a minute, one after the other or at once, whatever else it does; an unknown
    name costs as much as a known one."""
    three(folder)
    with Site(folder) as site:
        def visitor(number):
            return Visitor(site, f'127.0.0.{number}')

        one, begun = visitor(1), time.monotonic()
        for user, password in (('anna', 'no'), ('nobody', 'no'), ('anna', ''), ('anna', WORDS['otto']), ('otto', 'no')):
            answer = one.api('POST', 'login', {'user': user, 'password': password}, 401)
            expect(answer['error'] == 'name or password is wrong', answer)
        for password in ('no', WORDS['anna']):
            body = json.dumps({'user': 'anna', 'password': password})
            status, headers, text = one.fetch('POST', '/api/v1/login', body)
            expect(status == 429 and 0 < int(headers['Retry-After']) <= 60 and b'wait for' in text, (headers, text))
        expect(not one.cookie, 'a cookie')
        visitor(2).login('anna')
        # Who is in the file gains no attempts by that.
        two = visitor(3)
        for _ in range(5):
            two.login('vera')
            two.login('anna', 'wrong', 401)
        two.login('vera', status=429)
        # One event in ten seconds at most, which has no name that is not in the file, and no password.
        site.ask('status')
        failed = [event for event in site.events if event['type'] == 'login-failed']
        expect((failed[0]['at'], failed[0]['from'], failed[0].get('user')) == ('page', '127.0.0.1', 'anna'), failed)
        expect(len(failed) <= 1 + (time.monotonic() - begun) / 10, f'{len(failed)} events')
        # All at once.

        def guess():
            return visitor(4).fetch('POST', '/api/v1/login', json.dumps({'user': 'otto', 'password': 'x'}))[0]

        answers = at_once(*[guess] * 30)
        expect(sorted(answers) == [401] * 5 + [429] * 25, answers)
        for body in ('', '[]', '{}', '{"user":"anna"}', '{"user":1,"password":2}', '{"user":"anna","password":null}',
                     '{"user":"anna","password":"x","more":1}', '{"user":["anna"],"password":{}}'):
            expect(visitor(5).fetch('POST', '/api/v1/login', body)[0] == 400, body)
        visitor(5).login('anna', 'a' * 60000, 401)
        # The shortest of ten, so that whatever else the machine does counts for nothing.
        times = {'anna': [], 'otto': [], 'nobody': []}
        for number in range(6, 16):
            for name, list_of in times.items():
                begun = time.monotonic()
                visitor(number).login(name, 'wrong', 401)
                list_of.append(time.monotonic() - begun)
        fastest = {name: min(list_of) for name, list_of in times.items()}
        expect(max(fastest.values()) < 4 * min(fastest.values()) and min(fastest.values()) > 0.005, fastest)
        site.end()
    with Site(folder) as site:
        visitor(1).login('a-password ' * 9, 'no', 401)
        event = site.wait('login-failed')
        expect('user' not in event and event['more'] == 0 and 'a-password' not in site.text + site.stderr(), event)
        site.end()


def sessions(folder):
    """A login makes a new session, never one that the browser brings. It ends by logging out, logging in again, the
    seventeenth login, and the end of the process; other ports and pages do not get it."""
    three(folder)
    with Site(folder) as site:
        anna = Visitor(site)
        brought = f'cf-watch-{site.port}={"0" * 64}'
        anna.cookie = brought
        anna.api('GET', 'me', status=401)
        anna.login('anna')
        first = anna.cookie
        expect(first != brought and len(first.split('=')[1]) == 64, first)
        expect({'HttpOnly', 'SameSite=Strict', 'Path=/'} < set(anna.given.split('; ')) and
               'Domain' not in anna.given and 'Secure' not in anna.given, anna.given)
        anna.login('anna')  # with the cookie: the session before it ends
        expect(anna.cookie != first, 'the same session')
        old = Visitor(site)
        old.cookie = first
        old.api('GET', 'me', status=401)
        # A program has no cookies.
        program = Visitor(site)
        secret = anna.cookie.split('=')[1]
        expect(program.fetch('GET', '/api/v1/me', headers=bearer(secret))[0] == 200, 'a program')
        # A foreign page, a form, another name: nobody logs in or changes anything.
        body = json.dumps({'user': 'vera', 'password': WORDS['vera']})
        for status, headers in ((403, {'Origin': 'http://evil.example'}), (403, {'Origin': 'null'}),
                                (403, {'Origin': f'https://127.0.0.1:{site.port}'}),
                                (403, {'Origin': f'http://127.0.0.1:{site.port + 1}'}),
                                (415, {'Content-Type': 'text/plain'}),
                                (415, {'Content-Type': 'application/x-www-form-urlencoded'}),
                                (421, {'Host': 'evil.example'}), (421, {'Host': f'evil.example:{site.port}'})):
            for path, text in (('/api/v1/login', body), ('/api/v1/logout', '{}'),
                               ('/api/v1/cameras/door/trigger', '{}')):
                got, answer, _ = anna.fetch('POST', path, text, headers)
                expect(got == status and 'Set-Cookie' not in answer, (path, headers, got))
        anna.api('GET', 'me')
        anna.cookie = f'a=1; {anna.cookie}; cf-watch-1=x'
        anna.api('GET', 'me')
        anna.cookie = anna.cookie.split('; ')[1]
        for wrong in (anna.cookie[:-1], anna.cookie + '0', anna.cookie.upper(), anna.cookie.replace('=', '= '),
                      'x' + anna.cookie, anna.cookie.split('=')[0] + '='):
            other = Visitor(site)
            other.cookie = wrong
            other.api('GET', 'me', status=401)
        many = [Visitor(site) for _ in range(17)]
        for visitor in many:
            visitor.login('vera')
        many[0].api('GET', 'me', status=401)
        for visitor in many[1:]:
            visitor.api('GET', 'me')
        anna.api('GET', 'me')  # another user's
        gone = anna.cookie
        anna.api('POST', 'logout')
        expect('Max-Age=0' in anna.given, anna.given)
        anna.cookie = gone
        anna.api('GET', 'me', status=401)
        last, port = many[5].cookie, site.port
        site.end()
    with Site(folder, page={'port': port}) as site:
        visitor = Visitor(site)
        visitor.cookie = last
        visitor.api('GET', 'me', status=401)
        site.end()


def ends(folder):
    """A login ends after twelve hours without use, and after thirty days; wrong passwords count for a minute."""
    three(folder)
    clock, hours = Clock(folder), 3600
    with Site(folder, {}, env={**clock.env, 'CF_CLOCK_MONOTONIC': '1'}) as site:
        vera, anna = Visitor(site), Visitor(site)
        vera.login('vera')
        anna.login('anna')
        for now in (11 * hours, 22 * hours):
            clock.set(now)
            vera.api('GET', 'me')
        anna.api('GET', 'me', status=401)
        clock.set(34 * hours + 1)
        vera.api('GET', 'me', status=401)
        vera.login('vera')
        for now in range(44, 34 + 30 * 24, 10):
            clock.set(now * hours)
            vera.api('GET', 'me')
        clock.set((34 + 30 * 24) * hours + 60)
        vera.api('GET', 'me', status=401)
        for now in (800 * hours, 800 * hours + 61):
            clock.set(now)
            for _ in range(5):
                vera.login('vera', 'wrong', 401)
            vera.login('vera', status=429)
        clock.set(801 * hours)
        vera.login('vera')
        site.end()


def reload(folder):
    """`reload` reads the users again: whoever is gone or has changed has to log in anew; a bad file changes nothing."""
    users = three(folder)
    with Site(folder) as site:
        visitors = {name: Visitor(site) for name in ROLES}
        for name, visitor in visitors.items():
            visitor.login(name)

        def here():
            return [name for name, visitor in visitors.items() if visitor.fetch('GET', '/api/v1/me')[0] == 200]

        site.ask('reload')
        expect(here() == ['vera', 'otto', 'anna'], here())
        for text in ('', '{"anna": {"password": "x", "role": "king"}}', '{"anna": {}}', '{"a b": {"password": "x"}}'):
            write(folder, 'users.json', text)
            expect('users.json' in site.ask('reload', ok=False)['error'], text)
        os.remove(os.path.join(folder, 'users.json'))
        site.ask('reload', ok=False)
        expect(here() == ['vera', 'otto', 'anna'], here())
        write_users(folder, **{**users, 'otto': {**users['otto'], 'role': 'viewer'}})
        site.ask('reload')
        expect(here() == ['vera', 'anna'], here())
        visitors['otto'].login('otto')
        expect(visitors['otto'].api('GET', 'me')['role'] == 'viewer', 'the new role')
        users['otto']['role'] = 'viewer'
        write_users(folder, **{**users, 'vera': {'password': 'word-of-vera-2'}})
        site.secret.append('word-of-vera-2')
        site.ask('reload')
        expect(here() == ['otto', 'anna'], here())
        visitors['vera'].login('vera', status=401)
        visitors['vera'].login('vera', 'word-of-vera-2')
        write_users(folder, vera=users['vera'])
        site.ask('reload')
        expect(here() == [], here())
        visitors['anna'].login('anna', status=401)
        write_users(folder)
        site.ask('reload')
        visitors['vera'].login('vera', status=401)
        expect(site.api('GET', 'me')['role'] == 'admin', 'the token')
        site.end()


def reload_of_two(folder):
    """A `reload` that the users of RTSP make fail takes up neither the page's users nor the passwords of cameras."""
    three(folder)

    def write_secret(word):
        write(folder, 'secrets.json', json.dumps({'door': {'password': word}}))

    write_secret('secret-before')
    os.rename(os.path.join(folder, 'users.json'), os.path.join(folder, 'viewers.json'))
    write_users(folder, anna={'password': 'word-before'})
    with Page(door(live=True), folder, page={'port': 0, 'users': 'users.json'},
              rtsp={'port': 0, 'users': 'viewers.json'}, secrets='secrets.json') as page:
        if 'rtsp_port' not in page.ready:
            raise Skip('built without gst-rtsp-server')

        def is_taken(word):
            return word not in page.ask('restart ' + word, ok=False)['error']  # passwords are hidden


        def login(word):
            return page.fetch('POST', '/api/v1/login', json.dumps({'user': 'anna', 'password': word}))[0]

        expect(login('word-before') == 200, 'at first')
        write_users(folder, anna={'password': 'word-after'})
        write_secret('secret-after')
        write(folder, 'viewers.json', '[]')
        expect('viewers.json' in page.ask('reload', ok=False)['error'], 'the file is named')
        expect((login('word-after'), login('word-before')) == (401, 200), 'the page has other users')
        expect(is_taken('secret-before') and not is_taken('secret-after'), 'the cameras have other passwords')
        write(folder, 'viewers.json', '{}')
        page.ask('reload')
        expect((login('word-after'), login('word-before')) == (200, 401), 'the file is good again')
        expect(is_taken('secret-after'), 'the passwords of cameras')
        page.end()


def without_filter(folder):
    """On a camera without a filter an operator does not set the element in its place: identity can write each frame to
    standard output, where the events are."""
    three(folder)
    with Site(folder, {'door': {'source': 'test:white', **SMALL}}) as site:
        site.wait('started', 'door')
        otto = Visitor(site)
        otto.login('otto')
        otto.api('PUT', 'cameras/door/elements/0/dump', {'value': True}, 403)
        expect(site.ask('get door 0.dump')['value'] is False, 'it is set')
        site.end()


def dark(pictures, folder, name):
    """What the mask HIDE covers is dark in all of these pictures of 640 x 480, and white is somewhere."""
    inside = os.path.join(folder, name)
    os.mkdir(inside)
    for number, frame in enumerate(gray(pictures, inside)):
        rows = [frame[y * 640:(y + 1) * 640] for y in range(480)]
        brightest = max(max(row[180:460]) for row in rows[140:340])
        expect(brightest < 60, f'picture {number} of {len(pictures)}: {brightest} under the mask')


OLD = '0.25,0.25,0.5,0.5'
WHITE = {'source': 'test:white', 'width': 640, 'height': 480, 'rate': 60}
TURNED = {**WHITE, 'filter': 'videoflip name=turn ! ' + HIDE, 'page': {'may_set': ['hide.fill-color']}}


def operator(folder):
    """What an operator may set of a camera that hides: areas more, and what `may_set` lists. An admin may set all."""
    three(folder)
    with Site(folder, {'door': TURNED, 'away': {'source': 'no such file', 'filter': HIDE},
                       'free': {**WHITE, 'filter': HIDE, 'page': {'may_set': 'all'}},
                       'shut': {**WHITE, 'filter': 'cudamedian', 'page': {'may_set': []}},
                       'blocks': {**WHITE, 'filter': HIDE.replace('fill ', 'mosaic ')},
                       'plain': {**WHITE, 'filter': 'cudaconvolve preset=gauss'}}) as site:
        for camera in ('door', 'free', 'shut', 'blocks', 'plain'):
            site.wait('started', camera, after=site.ready)
        otto, anna = Visitor(site), Visitor(site)
        otto.login('otto')
        anna.login('anna')
        for status, target, value in (
                (200, 'hide/roi', OLD), (200, '1/roi', '0.2500,0.25 ,0.5, 0.50; 0.8,0.8,0.1,0.1'),
                (403, 'hide/roi', OLD), (403, 'hide/roi', '0.8,0.8,0.1,0.1; ' + OLD), (403, 'hide/roi', ''),
                (403, 'hide/roi', '0.26,0.25,0.5,0.5; 0.8,0.8,0.1,0.1'), (403, 'hide/roi', '0,0,1.0,1.0'),
                (403, 'hide/roi', OLD + ' 0.8,0.8,0.1,0.1; 0.8,0.8,0.1,0.1'),
                (403, 'hide/roi', '0x0.4p0,0.25,0.5,0.5; 0.8,0.8,0.1,0.1'),
                (403, 'hide/mask-polygons', '0.1,0.1 0.2,0.1 0.2,0.2'), (403, 'hide/roi-size', '10x10'),
                (403, 'hide/roi-invert', True), (403, 'hide/roi-shape', 'ellipse'), (403, 'hide/mask', '/dev/null'),
                (403, 'hide/preset', 'gauss'), (403, 'hide/enabled', False), (403, 'hide/kernel', '1'),
                (403, 'turn/method', 'rotate-180'), (403, '0/method', 'rotate-180'),
                (200, 'hide/fill-color', 0xff000010), (200, 'cudaconvolve/fill-color', 0xff000000),
                (404, 'hide/no', 1), (404, '7/roi', OLD)):
            expect((got := otto.put('door', target, value)) == status, (target, value, got))
        for value in ('on', 'off'):
            answer = otto.api('POST', 'cameras/door/enable', {'value': value}, 403)
        expect('"may_set"' in answer['error'] and 'an admin may' in answer['error'], answer)
        # Pixels count in frames of the size in which they were set, and polygons once there are any.
        anna.put('door', 'hide/roi', '160,120,320,240')
        for value in ('160,120,320,240', '160,120,320,240; 0.8,0.8,0.1,0.1'):
            expect(otto.put('door', 'hide/roi', value) == 403, value)
        anna.put('door', 'hide/mask-polygons', '0.2,0.2 0.8,0.2 0.8,0.8 0.2,0.8')
        for status, value in ((200, '0.2,0.2 0.8,0.2 0.8,0.8 0.2,0.8; 0,0 0.1,0 0,0.1'),
                              (403, '0.2,0.2 0.8,0.2 0.8,0.8; 0,0 0.1,0 0,0.1')):
            expect(otto.put('door', 'hide/mask-polygons', value) == status, value)
        # The rule is of what is in force: a camera that is away, one that the file shuts, one that hides from now on.
        for status, camera, target, value in (
                (403, 'away', 'hide/roi', ''), (200, 'away', 'hide/roi', OLD + '; 0.1,0.1,0.1,0.1'),
                (403, 'away', 'hide/preset', 'gauss'), (200, 'free', 'hide/preset', 'gauss'),
                (403, 'blocks', 'hide/roi', OLD + '; 0.4,0.4,0.1,0.1'), (403, 'blocks', 'hide/blocks', 64),
                (403, 'shut', '0/kernel-size', 5), (200, 'plain', '0/sigma', 3),
                (403, 'plain', '0/kernel-file', '/etc/passwd'), (403, 'plain', '0/kernel-file', 'users.json'),
                (403, 'plain', '0/mask', '/nothing'), (200, 'plain', '0/kernel', '0 1 0; 1 2 1; 0 1 0'),
                (422, 'free', '0/kernel-file', '/etc/passwd'), (200, 'plain', '0/preset', 'fill'),
                (403, 'plain', '0/preset', 'gauss')):
            expect((got := otto.put(camera, target, value)) == status, (camera, target, value, got))
        expect(anna.put('door', 'hide/roi-invert', True) == 200, 'an admin')
        polygons = otto.api('GET', 'cameras/door/elements/hide/mask-polygons')['value']
        expect(otto.put('door', 'hide/mask-polygons', polygons + '; 0.4,0.4 0.5,0.4 0.5,0.5') == 403, 'inverted')
        expect(anna.put('door', 'hide/enabled', False) == 200, 'an admin')
        expect(otto.put('door', 'hide/enabled', True) == 403, 'an operator')
        site.end()


def later(folder):
    """What an operator sets where nothing hides makes nothing smaller that a later line hides; what an admin sets
    stays."""
    three(folder)
    line = 'cudaconvolve name=hide preset=fill roi=0,0,0.5,0.5'
    cameras = {name: {'source': 'test', **SMALL, 'filter': 'cudaconvolve name=hide preset=gauss'}
               for name in ('door', 'gate', 'yard')}
    cameras['yard']['page'] = {'may_set': ['hide.enabled']}

    def wide(site, name):
        values = [site.ask(f'get {name} hide.{one}')['value'] for one in ('preset', 'roi', 'enabled')]
        expect(values == ['fill', '0,0,0.5,0.5', True], (name, values))

    with Site(folder, cameras) as site:
        for name in cameras:
            site.wait('started', name, after=site.ready)
        visitor = Visitor(site)
        visitor.login('otto')
        for name in ('door', 'gate'):
            for target, value in (('preset', 'box'), ('roi', '0,0,0.1,0.1'), ('0/enabled', 'false')):
                path = target if '/' in target else f'hide/{target}'
                expect(visitor.put(name, path, value) == 200, (name, target))
            visitor.api('POST', f'cameras/{name}/enable', {'value': 'off'})
        expect(visitor.put('yard', 'hide/enabled', 'false') == 200, 'it is allowed')
        site.ask('set gate hide.fill-color 0xff0000ff')
        site.ask(f'filter door {line}')
        event = site.wait('settings-dropped', 'door', after=site.ready)
        expect(sorted(event['settings']) == ['0.enabled', '0.preset', '0.roi'] and 'operator' in event['reason'], event)
        site.wait('back', 'door', after=site.ready)
        wide(site, 'door')
        expect(visitor.put('door', 'hide/roi', '0,0,0.1,0.1') == 403, 'smaller')
        expect(site.ask('overrides door')['overrides'] == [], 'forgotten')
        site.until('it is saved', lambda _: site.ask('overrides gate')['saved'])
        site.end()
    for camera in cameras.values():
        camera['filter'] = line
    with Site(folder, cameras) as site:
        for name in cameras:
            site.wait('started', name, after=site.ready)
        wide(site, 'gate')
        wide(site, 'door')
        expect(all(event.get('camera') != 'door' for event in site.events if event['type'] == 'settings-dropped'),
               'it was forgotten before')
        expect(site.ask('status door')['status']['cameras']['door']['unmasked'] == 0, site.text)
        expect(site.ask('get gate hide.fill-color')['value'] == 0xff0000ff, 'what the admin has set')
        expect(site.ask('get yard hide.enabled')['value'] is False, 'what the file lets an operator set')
        site.end()


def variants(dice, now):
    """Returns a value that looks much like the areas that are there."""
    more = ','.join(f'{dice.random():.{dice.randrange(1, 4)}f}' for _ in range(4))
    return dice.choice([
        now + '; ' + more, now + ';' + more, now.replace(' ', '  ') + '; ' + more, more + ';' + now, more, '', ';',
        now[:-1] + ';' + more, now.replace('.', '', 1) + ';' + more, now.replace(';', ' ;;') + ';;' + more + ';',
        now + more, now + ', ' + more, '-' + now + ';' + more, now + ';1,1,1,1', now + ';0,0,1,1', '1,1,1,1', True, 3,
        now.replace('0.', '.') + ';' + more, now + ' ;' + more + ' 3', '0.5', 'gauss', '\n' + now,
        now + '\t;' + more, '0.1,0.1 0.2,0.1 0.2,0.2'])


def guesses(folder):
    """Whatever an operator sends to a camera that hides, what is under the mask is in no picture."""
    three(folder)
    dice, counts = random.Random(2), {}
    with Site(folder, {'door': TURNED}) as site:
        site.wait('started', 'door')
        otto, anna = Visitor(site), Visitor(site)
        otto.login('otto')
        anna.login('anna')
        names = [one['name'] for element in otto.api('GET', 'cameras/door/elements')['elements']
                 for one in element['properties']]
        eye = Eye(site, '')
        eye.start()
        for number in range(400):
            now = otto.api('GET', 'cameras/door/elements/hide/roi')['value']
            value = variants(dice, now)
            element = dice.choice(['hide', '1', 'cudaconvolve', 'hide', 'hide', 'turn', 'HIDE', '01'])
            target = element + '/' + dice.choice(['roi', 'roi', 'roi', 'roi', 'ROI', dice.choice(names), 'enabled',
                                                  'mask-polygons', 'roi-invert'])
            got = otto.put('door', target, value)
            counts[got] = counts.get(got, 0) + 1
            expect(got in (200, 403, 404, 422), (target, value, got))
            if got == 200:
                eye.wait(len(eye.pictures) + 2)
            if number % 100 == 50:
                otto.api('POST', 'cameras/door/restart')
                site.wait('back', 'door')
            if len(now) > 1000:  # many areas take time
                anna.put('door', 'hide/roi', OLD + '; 0.8,0.8,0.1,0.1')
        expect(counts[200] > 20 and counts[403] > 100, counts)
        eye.on = False
        eye.join()
        dark(eye.pictures, folder, 'operator')
        print(f'  {len(eye.pictures)} pictures, {counts}')
        site.end()


def own_address():
    """Returns an address of this machine that is not of loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(('192.0.2.1', 9))  # nothing is sent
            return probe.getsockname()[0]
        except OSError as error:
            raise Skip('this machine has no network') from error


def remote(folder):
    """From another address: the token opens nothing, eight connections, and the names by which it may be called."""
    mine = own_address()
    three(folder)
    for address in ('0.0.0.0', '::'):
        if address == '::' and not socket.has_ipv6:
            continue
        with Site(folder, page={'address': address, 'allow_plain': True, 'names': ['cams.lan']}) as site:
            far = Visitor(site, mine, mine)
            expect(far.fetch('GET', '/api/v1/me', headers=bearer(site.token))[0] == 401 and
                   far.fetch('GET', '/?token=' + site.token)[:2][0] == 200 and not far.cookie, 'the token')
            expect(far.fetch('GET', '/api/v1/me', headers={'Cookie': f'cf-watch-{site.port}={site.token}'})[0] == 401,
                   'the token as a cookie')
            far.login('otto')
            own = f'{mine}:{site.port}'
            for status, host in ((200, own), (200, mine), (200, 'cams.lan'), (200, 'CAMS.LAN:1'), (200, 'localhost'),
                                 (421, 'cams.lan.evil.example'), (421, 'evil.example'), (421, '127.0.0.2'),
                                 (421, '0.0.0.0'), (421, '[::]'), (421, f'{mine}.evil.example'), (421, '10.255.0.1')):
                got = far.fetch('GET', '/api/v1/me', headers={'Host': host})[0]
                expect(got == status, (host, got))
            site.wait('started', 'door', after=site.ready)
            expect(far.fetch('POST', '/api/v1/cameras/door/trigger', '{}', {'Origin': 'http://' + own})[0] == 200,
                   'its own page')
            site.wait('command', 'door', command='trigger', by=f'page otto {mine}')
            expect(site.fetch('GET', '/api/v1/me')[0] == 200, 'the token on this machine')
            with contextlib.ExitStack() as all_of_them:
                def connect(host):
                    client = all_of_them.enter_context(socket.create_connection((host, site.port), SECONDS, (host, 0)))
                    client.sendall(b'GET / HTTP/1.1\r\n')
                    return client

                far_ones = [connect(mine) for _ in range(12)]
                closed = select.select(far_ones, [], [], SECONDS)[0]
                while len(closed) < 4:
                    closed = select.select(far_ones, [], [], SECONDS)[0]
                expect(len(closed) == 4, f'{len(closed)} of 12 connections are closed')
                for _ in range(20):
                    connect('127.0.0.1')
                expect(site.fetch('GET', '/api/v1/me')[0] == 200, 'this machine is kept out')
                # The headers do not come in time.
                for client in far_ones:
                    with contextlib.suppress(ConnectionResetError):
                        expect(client.recv(100) == b'', 'an answer to half a request')
            site.end()


def slow(folder):
    """A client that sends its headers byte by byte has five seconds."""
    three(folder)
    with Site(folder) as site, socket.create_connection(('127.0.0.1', site.port), SECONDS) as client:
        begun = time.monotonic()
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while not select.select([client], [], [], 0.5)[0]:
                client.sendall(b'a')
                expect(time.monotonic() - begun < SECONDS, 'it waits for ever')
        expect(4 < time.monotonic() - begun, 'it waits for less')
        site.end()


def certify(folder, name='cam', suffix=''):
    need('openssl')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
                    '-subj', '/CN=' + name, '-days', '2', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout',
                    os.path.join(folder, f'k{suffix}.pem'), '-out', os.path.join(folder, f'c{suffix}.pem')], check=True,
                   capture_output=True)


def ask_and_never_read(visitor, all_of_them):
    """Twenty connections ask for a large picture, and read nothing."""
    site = visitor.site
    for _ in range(20):
        client = all_of_them.enter_context(Stream(site.port, 2048, site.context))
        client.socket.sendall(f'GET /api/v1/cameras/large/snapshot.jpg HTTP/1.1\r\nHost: localhost\r\n'
                              f'Cookie: {visitor.cookie}\r\n\r\n'.encode())


def tls(folder):
    """Over TLS: the cookie is for TLS only, `reload` takes up another certificate; clients that shake no hands or never
    read keep nobody waiting."""
    certify(folder)
    three(folder)
    settings = {'tls': {'certificate': 'c.pem', 'key': 'k.pem'}}
    large = {'source': 'test:snow', 'width': 1920, 'height': 1080, 'rate': 2}
    with Site(folder, {**door(), 'large': large}, settings) as site:
        anna = Visitor(site)
        anna.login('anna')
        expect(anna.given.startswith(f'__Host-cf-watch-{site.port}=') and '; Secure' in anna.given, anna.given)
        anna.api('GET', 'me')
        own = f'127.0.0.1:{site.port}'
        for status, origin in ((403, 'http://' + own), (200, 'https://' + own), (403, 'https://evil.example')):
            got = anna.fetch('POST', '/api/v1/cameras/door/record', '{"value":"auto"}', {'Origin': origin})[0]
            expect((got == 403) == (status == 403), (origin, got))
        site.wait('started', 'door', after=site.ready)
        site.wait('started', 'large', after=site.ready)
        picture = anna.fetch('GET', '/api/v1/cameras/door/snapshot.jpg')
        expect(picture[0] == 200 and picture[2][:2] == b'\xff\xd8', picture[:2])
        place = '127.0.0.1', site.port
        with contextlib.suppress(ConnectionResetError), socket.create_connection(place, SECONDS) as client:
            client.sendall(b'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
            expect(not client.recv(100).startswith(b'HTTP'), 'an answer without TLS')
        with contextlib.ExitStack() as all_of_them:
            ask_and_never_read(anna, all_of_them)
            silent = [all_of_them.enter_context(socket.create_connection(place, SECONDS)) for _ in range(20)]
            for client in silent[::2]:
                client.sendall(b'\x16\x03\x01')
            longest, deadline = 0, time.monotonic() + SECONDS
            while len(select.select(silent, [], [], 0)[0]) < len(silent):  # until it has closed them all
                begun = time.monotonic()
                site.ask('status')
                longest = max(longest, time.monotonic() - begun)
                expect(begun < deadline, 'who shakes no hands stays')
            expect(longest < 1, f'a command waits for {longest:.1f} s')
            anna.api('GET', 'me')
            for client in silent:
                with contextlib.suppress(ConnectionResetError):
                    expect(len(client.recv(100)) < 100, 'an answer')
        certify(folder, 'other', '2')
        for name in ('c', 'k'):
            shutil.copy(os.path.join(folder, name + '2.pem'), os.path.join(folder, name + '.pem'))
        try:
            Visitor(site).api('GET', 'me', status=401)
        except ssl.SSLError as error:
            expect(False, f'another certificate without reload: {error}')
        site.ask('reload')
        site.context = ssl.create_default_context(cafile=os.path.join(folder, 'c.pem'))
        anna.api('GET', 'me')
        certify(folder, 'third', '3')
        for text in ('rubbish', ''), (None, 'is not its key'):
            if text[0]:
                write(folder, 'c.pem', text[0])
            else:
                shutil.copy(os.path.join(folder, 'c3.pem'), os.path.join(folder, 'c.pem'))
            answer = site.ask('reload', ok=False)
            expect('page.tls' in answer['error'] and text[1] in answer['error'], answer)
        anna.api('GET', 'me')
        site.end()


def live(folder):
    """Over TLS, a WebSocket is for those who have logged in, and ends with the login; what was commanded, and who
    failed to log in, is for admins, and frames before the filter are for operators; one that reads nothing, whose login
    ends, keeps nobody waiting."""
    certify(folder)
    users = three(folder)
    large = {'source': 'test:snow', 'width': 1280, 'height': 720, 'rate': 10, 'live': True}
    shown = door(live=True, page={'original': True})
    with Site(folder, {**shown, 'large': large}, {'tls': {'certificate': 'c.pem', 'key': 'k.pem'}}) as site:
        for name in ('door', 'large'):
            site.wait('started', name, after=site.ready)
        visitors = {name: Visitor(site) for name in ROLES}

        def join(visitor, **more):
            return WebSocket(site.port, {'Cookie': visitor.cookie}, context=site.context, **more)
        try:
            join(visitors['vera'])
            expect(False, 'a WebSocket without a login')
        except Refused as refused:
            expect(refused.args[0] == 401, refused)
        sockets = {}
        for name, visitor in visitors.items():
            visitor.login(name)
            sockets[name] = join(visitor)
            sockets[name].send({'watch': 'door', 'channel': 9, 'as': 'both'})
            got = sockets[name].until(lambda m: isinstance(m, bytes) or 'error' in m)
            expect(got[:2] == b'\x03\x09' if name != 'vera' else 'role operator' in got['error'], (name, got[:99]
                   if isinstance(got, bytes) else got))
            sockets[name].send({'stop': 9})
            for kind in ('mp4', 'jpeg'):
                sockets[name].send({'watch': 'door', 'channel': 1 + (kind == 'jpeg'), 'as': kind})
            for head in b'\x01\x01', b'\x02\x02\xff\xd8':
                sockets[name].until(lambda m, head=head: isinstance(m, bytes) and m.startswith(head))
        deaf = join(visitors['vera'], buffer=2048)
        deaf.send({'watch': 'large', 'channel': 1, 'as': 'mp4'})
        streams = [ask(site, camera, buffer, 'Cookie: ' + visitors['vera'].cookie, site.context)
                   for camera, buffer in (('door', None), ('large', 2048))]
        expect(next(read_pictures(streams[0])), 'MJPEG')
        expect(visitors['otto'].put('door', 'hide/roi', '0.1,0.1,0.9,0.9') in (200, 403), 'set')
        Visitor(site).login('anna', 'wrong', 401)
        sockets['anna'].until(lambda m: isinstance(m, dict) and m.get('event', {}).get('type') == 'login-failed')
        visitors['anna'].api('POST', 'cameras/door/trigger')
        told = sockets['anna'].until(lambda m: isinstance(m, dict) and m.get('event', {}).get('type') == 'command')
        expect(told['event']['by'].startswith('page '), told)
        visitors['anna'].api('POST', 'cameras/door/restart')
        for name in ('vera', 'otto'):
            def is_restart(message):
                event = message.get('event', {}) if isinstance(message, dict) else {}
                expect(event.get('type') not in ('command', 'login-failed'), f'{name} is told {event}')
                return event.get('type') in ('lost', 'back')
            sockets[name].until(is_restart)
        visitors['otto'].api('POST', 'logout')
        users['vera'] = {'password': 'another-word-of-vera'}
        write_users(folder, **users)
        site.ask('reload')
        longest, open_ones, deadline = 0, {'vera', 'otto'}, time.monotonic() + SECONDS
        for name in open_ones:
            try:
                while True:
                    begun = time.monotonic()
                    site.ask('status')
                    longest = max(longest, time.monotonic() - begun)
                    sockets[name].read()
                    expect(begun < deadline, f'{name} still watches')
            except (EOFError, ConnectionError, ssl.SSLError):
                pass
        with contextlib.suppress(EOFError, ConnectionError, ssl.SSLError):
            while True:
                streams[0].more()
                expect(time.monotonic() < deadline, 'MJPEG does not end with the login')
        expect(longest < 1, f'a command waits for {longest:.1f} s')
        sockets['anna'].until(lambda m: isinstance(m, dict))
        for one in (*sockets.values(), deaf, *streams):
            one.socket.close()
        site.end()


def flood(folder):
    """Hundreds of logins, random bytes before, in and behind the handshake, logins while the file changes: memory and
    descriptors stay, commands are answered at once, and the end waits for no client."""
    certify(folder)
    users = three(folder)
    dice = random.Random(3)
    large = {'source': 'test:snow', 'width': 1920, 'height': 1080, 'rate': 2}
    with Site(folder, {'large': large}, {'tls': {'certificate': 'c.pem', 'key': 'k.pem'}}) as site:
        site.wait('started', 'large')
        place = '127.0.0.1', site.port
        visitors = [Visitor(site, f'127.0.0.{number}') for number in range(1, 5)]
        visitors[0].login('vera')
        before, few, longest, done = memory(site), site.descriptors(), 0, []

        def log_in(visitor, name):
            for _ in range(25):
                visitor.cookie = ''  # another browser each time
                status = visitor.fetch('POST', '/api/v1/login', json.dumps({'user': name, 'password': WORDS[name]}))[0]
                done.append(status)

        threads = [threading.Thread(target=log_in, args=(visitor, name))
                   for visitor, name in zip(visitors, ('vera', 'otto', 'anna', 'anna'))]
        for thread in threads:
            thread.start()
        number = 0
        while any(thread.is_alive() for thread in threads):
            begun = time.monotonic()
            site.ask('status')
            longest = max(longest, time.monotonic() - begun)
            raw = socket.create_connection(place, SECONDS)
            with contextlib.suppress(OSError):
                if number % 2:
                    raw = site.context.wrap_socket(raw, server_hostname='127.0.0.1')
                raw.sendall(dice.randbytes(dice.randrange(1, 2000)) if number % 3 else b'GET / HTTP/1.1\r\nHost: local')
            raw.close()
            number += 1
            if number % 10 == 0:
                users['vera']['password'] = WORDS['vera'] + 'x' * (number // 10 % 2)
                write_users(folder, **users)
                site.ask('reload')
        expect(done.count(200) > 60 and set(done) <= {200, 401, 429}, {one: done.count(one) for one in set(done)})
        expect(longest < 1, f'a command waits for {longest:.1f} s')
        site.settle(few)
        expect(memory(site) < before + 60, f'{memory(site)} MiB, {before} before')
        print(f'  {len(done)} logins, {number} rubbish, {before} > {memory(site)} MiB, longest {longest * 1000:.0f} ms')
        visitors[2].login('anna')
        with contextlib.ExitStack() as all_of_them:
            ask_and_never_read(visitors[2], all_of_them)  # at the end
            visitors[2].fetch('GET', '/api/v1/cameras/large/snapshot.jpg')
            begun = time.monotonic()
            site.end()
            expect(time.monotonic() - begun < 4, f'the end takes {time.monotonic() - begun:.1f} s')


def check(folder):
    """--check and the start say what is wrong with `page`, --page-link what it leads to."""
    certify(folder)
    certify(folder, 'other', '2')
    three(folder)
    for name, mode, text in (('open.json', 0o644, '{}'),
                             ('role.json', 0o600, '{"a": {"password": "x", "role": "king"}}'),
                             ('both.json', 0o600, '{"a": {"password": "x", "hash": "$y$"}}'),
                             ('none.json', 0o600, '{}'), ('bad.json', 0o600, '{"a": {"hash": "$1$a$b"}}'),
                             ('cut.json', 0o600, '{"a": {"hash": "$y$j9T$abc$def"}}'),
                             ('name.json', 0o600, '{"a b": {"password": "xyz"}}'),
                             ('twice.json', 0o600, '{"a": {"password": "x"}, "a": {"password": "y", "role": "admin"}}'),
                             ('role2.json', 0o600, '{"a": {"password": "x", "role": "viewer", "role": "admin"}}'),
                             ('junk.pem', 0o600, 'junk')):
        write(folder, name, text, mode)
    both = {'certificate': 'c.pem', 'key': 'k.pem'}
    far = {'address': '0.0.0.0', 'users': 'users.json'}
    for page, said in (({'address': '0.0.0.0'}, 'set "users"'), ({'address': '::'}, 'set "users"'),
                       ({'address': '0.0.0.0', 'tls': both}, 'set "users"'),
                       ({'address': '0.0.0.0', 'allow_plain': True}, 'set "users"'),
                       ({'address': 'localhost'}, 'is not an IP address'), (far, 'set "tls", or "allow_plain"'),
                       ({**far, 'tls': True}, 'page.tls'),
                       ({**far, 'tls': {'certificate': 'c.pem'}}, 'both of them PEM'),
                       ({**far, 'tls': {**both, 'certificate': 'nix.pem'}}, 'nix.pem'),
                       ({**far, 'tls': {**both, 'key': 'junk.pem'}}, 'page.tls'),
                       ({**far, 'tls': {**both, 'key': 'k2.pem'}}, 'k2.pem is not its key'),
                       ({'users': 'nix.json'}, 'nix.json'), ({'users': 'open.json'}, 'others may read it'),
                       ({'users': 'role.json'}, 'may have "role"'), ({'users': 'both.json'}, 'or { "hash"'),
                       ({'users': 'bad.json'}, 'cf-watch --hash-password prints'),
                       ({'users': 'cut.json'}, 'cf-watch --hash-password prints'),
                       ({'users': 'name.json'}, "a user's name has"), ({'users': 'twice.json'}, 'twice'),
                       ({'users': 'role2.json'}, 'has to be'),
                       ({'names': 'cams.lan'}, 'page.names'), ({'names': ['cams.lan:80']}, 'without a port'),
                       ({'names': [1]}, 'page.names'), ({'names': ['']}, 'page.names'),
                       ({'users': 'none.json'}, None), ({**far, 'tls': both, 'names': ['cams.lan']}, None),
                       ({**far, 'allow_plain': True}, None), ({'tls': both}, None), ({'address': '::1'}, None)):
        config = {'page': {'port': 8080, **page}, 'cameras': {'door': {'source': 'test'}}}
        code, text, errors = run_with(config, folder, '--check')
        text += errors
        if 'without libsoup' in text:
            raise Skip('built without libsoup')
        expect('xyz' not in text, text)
        if said is None:
            expect(code == 0 and ('nobody can log in' in text) == ('none.json' in str(page)), (page, text))
            continue
        expect(code == 2 and said in text and 'watch.json:1: page' in text, (page, code, text))
        code, text, errors = run_with(config, folder)
        expect(code == 2 and said in errors and not text, (page, code, text, errors))


def notes(folder):
    """What --check notes: users who cannot watch by RTSP, a certificate whose time is over. What --page-link prints."""
    certify(folder)
    three(folder)
    both = {'certificate': 'c.pem', 'key': 'k.pem'}
    errors = run_with({'rtsp': {'users': 'users.json'}, 'cameras': {}}, folder, '--check')[2]
    expect('otto cannot watch' in errors and 'anna' not in errors or 'without gst-rtsp' in errors, errors)
    config = {'page': {'port': 8080, 'tls': both}, 'cameras': {}}
    if not sanitized():  # the clock is a library without one
        code, _, errors = run_with(config, folder, '--check', env=Clock(folder, 3 * 86400).env)
        expect(code == 0 and 'note' in errors and 'was valid until' in errors, (code, errors))
    state = {'XDG_STATE_HOME': os.path.join(folder, 'state')}
    os.makedirs(os.path.join(folder, 'state', 'cf-watch'))
    write(folder, 'state/cf-watch/page-token', '0' * 64)
    for page, link in (({'tls': both}, 'https://127.0.0.1:8080/?token='),
                       ({'address': '0.0.0.0', 'users': 'users.json', 'tls': both},
                        'https://127.0.0.1:8080/?'),
                       ({'address': '::', 'users': 'users.json', 'allow_plain': True}, 'http://[::1]:8080/?'),
                       ({'address': '192.0.2.1', 'users': 'users.json', 'tls': both}, None)):
        config['page'] = {'port': 8080, **page}
        code, text, errors = run_with(config, folder, '--page-link', env=state)
        expect(text.startswith(link) if link else code == 2 and 'log in at https://192.0.2.1:8080/' in errors,
               (text, errors))


def check_may_set(folder):
    """--check says what is wrong with a camera's `may_set`."""
    for may_set, said in (('all', None), ([], None), (['hide.roi', '0.fill-color'], None),
                          (['hide.no'], 'no property "no"'), (['x.roi'], 'no element "x"'),
                          (['hide.backend'], 'cannot change while frames come'),
                          ('some', 'has to be "all" or a list'), ([1], 'has to be "all" or a list'),
                          (None, 'has to be'),
                          ({}, 'has to be')):
        for place in ('camera', 'defaults'):
            camera, page = {'source': 'test', 'filter': HIDE}, {'page': {'may_set': may_set}}
            code, text, errors = run_with({'defaults': page if place == 'defaults' else {}, 'cameras': {
                'door': {**camera, **(page if place == 'camera' else {})}}}, folder, '--check')
            expect((code, said is None or said in text + errors) == (2 if said else 0, True), (may_set, text, errors))


def hashes(folder):
    """--hash-password: from a pipe, from a terminal that shows nothing, and what it refuses."""
    del folder
    one, other = make_hash('word'), make_hash('word')
    expect(one != other and one.startswith('$y$'), (one, other))
    for given, said in (('', 'has no password'), ('\n', 'empty'), ('a' * 600 + '\n', 'bytes')):
        done = subprocess.run([PROGRAM, '--hash-password'], input=given, capture_output=True, text=True,
                              timeout=SECONDS, check=False)
        expect(done.returncode == 2 and not done.stdout and said in done.stderr, done)
    code, text, errors = run('--hash-password', 'word')
    expect(code == 2 and not text and 'asks for the password' in errors and 'word:' not in errors, errors)
    for second, code in ((b'word\n', 0), (b'other\n', 2)):
        leader, terminal = pty.openpty()
        with subprocess.Popen([PROGRAM, '--hash-password'], stdin=terminal, stdout=subprocess.PIPE,
                              stderr=terminal) as asks:
            os.close(terminal)
            shown = b''
            for prompt, typed in ((b'Password: ', b'word\n'), (b'again: ', second)):
                while not shown.endswith(prompt):
                    shown += os.read(leader, 100)
                os.write(leader, typed)
            out = asks.stdout.read()
            with contextlib.suppress(OSError):  # at its end
                while more := os.read(leader, 100):
                    shown += more
            expect(asks.wait(SECONDS) == code and out.startswith(b'$y$') == (code == 0) and b'word' not in
                   shown.replace(b'Password', b'').lower(), (shown, out))
        os.close(leader)


def form(folder):
    """In Chromium: the form, the page of each role, logging out."""
    three(folder)
    white = {'source': 'test:white', 'width': 640, 'height': 480, 'rate': 10}
    with Site(folder, {'door': {**white, 'filter': HIDE}, 'plain': {**white, 'filter': 'cudamedian'}}) as site, \
            Browser(folder) as web:
        site.wait('started', 'door')
        fill = '''for (const [name, value] of Object.entries(arguments[0]))
                    document.querySelector(`[name=${name}]`).value = value;
                  document.querySelector('#login button').click()'''
        note = 'return document.getElementById("note")?.textContent'
        user = 'return document.getElementById("user")?.textContent'
        web.go(f'http://127.0.0.1:{site.port}/#plain')
        web.until('the form', lambda: web.run('return !!document.getElementById("login")'))
        if where := os.environ.get('CF_WATCH_SHOTS'):
            web.shot(os.path.join(where, 'page-login.png'))
        web.run(fill, {'user': 'otto', 'password': 'wrong'})
        web.until('what is wrong', lambda: web.run(note) == 'name or password is wrong')
        web.console()  # Chromium itself reports the 401
        web.run(fill, {'user': 'otto', 'password': WORDS['otto']})
        web.until('the page', lambda: (web.run(user) or '').startswith('otto (operator)'))
        expect(web.run('return document.cookie') == '', 'the session is in reach of scripts')
        web.until('controls', lambda: web.run('return typeof controls !== "undefined" && controls.size'))
        expect(not web.run('return document.getElementById("controls").inert'), 'what an operator may do')
        # An area more: those that hide stay as they are written, and the element takes it.
        web.run('location.hash = "door"')
        web.until('the areas', lambda: web.run('return document.title') == 'door - cf-watch' and
                  web.run('return controls.has("0/roi") && document.getElementById("picture").naturalWidth'))
        left, top, width, height = web.run('const box = document.getElementById("draw").getBoundingClientRect();'
                                           'return [box.left, box.top, box.width, box.height]')
        web.drag((left + 0.8 * width, top + 0.8 * height), (left + 0.9 * width, top + 0.9 * height))
        web.run('document.getElementById("apply").click()')
        event = site.wait('command', 'door', command='set', by='page otto 127.0.0.1')
        expect(event['arguments'].startswith('0.roi 0.25,0.25,0.5,0.5; 0.8'), event)
        web.run('document.getElementById("clear").click(); document.getElementById("apply").click()')
        web.until('a refusal', lambda: 'an admin may' in web.run(note))
        web.console()  # the 403
        web.run('document.querySelector("#user button").click()')
        web.until('the form again', lambda: web.run('return !!document.getElementById("login")'))
        expect(all('401' in line for line in web.console()), 'the console')  # what the page had just asked for
        web.run(fill, {'user': 'vera', 'password': WORDS['vera']})
        web.until('the page', lambda: (web.run(user) or '').startswith('vera (viewer)'))
        expect(web.run('return document.getElementById("controls").inert'), 'what a viewer may not do')
        web.until('what a viewer may draw', lambda: web.run(
            'return [...document.getElementById("target").options].map(one => one.value)') ==
                  ['rectangle to search', 'polygon to search'])
        expect(not web.run('return document.getElementById("draw").inert'), 'what a viewer may draw')
        expect((shown := web.console()) == [], shown)
        write_users(folder)
        site.ask('reload')
        web.until('the form of one who is gone', lambda: web.run('return !!document.getElementById("login")'))
        site.end()


if __name__ == '__main__':
    sys.exit(main(files, passwords, sessions, ends, reload, reload_of_two, without_filter, operator, later, guesses,
                  remote, slow, tls, live, flood, check, check_may_set, notes, hashes, form))
