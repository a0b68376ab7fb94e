#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: the page: who may ask, what each address answers, clients that misbehave, and, where there is Chromium, the
page itself. See harness.py."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import random
import select
import socket
import stat
import subprocess
import sys
import threading

from harness import SECONDS, Skip, Stream, Watch, expect, free_port, main, need, run
from live import memory
from webdriver import Browser

SMALL = {'width': 64, 'height': 48, 'rate': 10}
HIDE = 'cudaconvolve name=hide preset=fill fill-color=0xff000000 roi=0.25,0.25,0.5,0.5'
JSON = {'Content-Type': 'application/json'}


class Client:
    """Whoever asks a site's page: a browser with its cookie, or a program that logs in by headers."""

    def __init__(self, site, source='127.0.0.1', host='127.0.0.1', login=None):
        self.site, self.source, self.host, self.login_headers = site, source, host, login or {}
        self.cookie = self.given = ''

    def connect(self):
        more = {'timeout': SECONDS, 'source_address': (self.source, 0)}
        if self.site.context:
            return http.client.HTTPSConnection(self.host, self.site.port, context=self.site.context, **more)
        return http.client.HTTPConnection(self.host, self.site.port, **more)

    def fetch(self, method, path, body=None, headers=None):
        """Returns the status, the headers and the body of an answer, of one without an end no body."""
        cookie = {'Cookie': self.cookie} if self.cookie else {}
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, path, body, {**self.login_headers, **cookie, **({} if body is None else JSON),
                                                    **(headers or {})})
            answer = connection.getresponse()
            got = dict(answer.getheaders())
            if given := got.get('Set-Cookie'):
                self.given, self.cookie = given, given.split(';')[0]
            endless = got.get('Content-Type', '').startswith('multipart/')
            return answer.status, got, b'' if endless else answer.read()

    def api(self, method, path, body=None, status=200):
        """Returns the object that the address answers, with this status. `body`: an object, or a value."""
        given = body if isinstance(body, dict) else {} if body is None else {'value': body}
        got, headers, text = self.fetch(method, '/api/v1/' + path, None if method == 'GET' else json.dumps(given))
        answer = json.loads(text)
        expect(got == status and answer['ok'] == (status == 200) == ('error' not in answer), (method, path, got, text))
        expect(headers['Content-Type'] == 'application/json' and 'code' not in answer, (headers, answer))
        return answer


def bearer(token):
    return {'Authorization': 'Bearer ' + token}


class Page(Watch):
    """A running cf-watch with a page. `fetch` and `api` ask it as the holder of the token."""
    context = None  # of TLS

    def __init__(self, cameras, folder, env=None, **more):
        self.state = os.path.join(folder, 'state')
        super().__init__({'cameras': cameras, 'page': {'port': 0}, **more}, folder,
                         {'XDG_STATE_HOME': self.state, **(env or {})})
        self.ready = self.wait('ready')
        if 'page_port' not in self.ready:
            raise Skip('built without libsoup')
        self.port = self.ready['page_port']
        with open(os.path.join(self.state, 'cf-watch', 'page-token'), encoding='ascii') as file:
            self.token = file.read()
        self.link = f'http://127.0.0.1:{self.port}/?token={self.token}'
        holder = Client(self, login=bearer(self.token))
        self.fetch, self.api = holder.fetch, holder.api

    def picture(self, camera='door', query='', status=200):
        got, headers, body = self.fetch('GET', f'/api/v1/cameras/{camera}/snapshot.jpg{query}')
        expect(got == status, (got, body[:200]))
        expect(got != 200 or headers['Content-Type'] == 'image/jpeg' and headers['Cache-Control'] == 'no-store' and
               body[:2] == b'\xff\xd8', headers)
        return body

    def descriptors(self):
        return len(os.listdir(f'/proc/{self.process.pid}/fd'))

    def settle(self, few):
        """Waits until it has hardly more descriptors than these: the index has four."""
        self.until(f'{few} descriptors', lambda _: self.descriptors() <= few + 4)


def at_once(*functions):
    """Calls all functions at the same time. Returns what they return."""
    with concurrent.futures.ThreadPoolExecutor(len(functions)) as pool:
        return [one.result() for one in [pool.submit(function) for function in functions]]


def run_with(config, folder, *words, env=None):
    """Runs cf-watch with a configuration to its end, as run ()."""
    path = os.path.join(folder, 'watch.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(config, file)
    return run(*words, path, env=env)


def door(**settings):
    return {'door': {'source': 'test:ball', **SMALL, 'filter': HIDE, **settings}}


def checks(folder):
    """Who may ask: by the name of this machine, from its own page or none, in JSON, with the token."""
    with Page(door(), folder) as page:
        page.wait('started', 'door')
        own, path = f'127.0.0.1:{page.port}', '/api/v1/cameras/door/elements/hide/roi'
        cookie = {'Authorization': '', 'Cookie': f'a=b; cf-watch-{page.port}={page.token}; c'}
        body = json.dumps({'value': '0,0,1,1'})
        for status, method, at, text, headers in (
                (200, 'GET', '/', None, {}), (200, 'HEAD', '/page.js', None, {}),
                (200, 'GET', '/', None, {'Host': 'localhost'}), (200, 'GET', '/', None, {'Host': 'LOCALHOST:9'}),
                (200, 'GET', '/', None, cookie), (200, 'PUT', path, body, cookie),
                (200, 'PUT', path, body, {'Origin': 'http://' + own}),
                (200, 'PUT', path, body, {'Content-Type': 'application/json; charset=utf-8'}),
                *((421, 'GET', '/', None, {'Host': host}) for host in (
                    'evil.example', f'evil.example:{page.port}', '127.0.0.1.evil.example', '127.0.0.1:80@evil.example',
                    'localhost:', '127.0.0.2', '[::1]', '')),
                (421, 'GET', '/', None, {'Host': 'evil.example', 'Authorization': ''}),
                *((403, 'PUT', path, body, {'Origin': origin}) for origin in (
                    'http://evil.example', 'null', f'https://{own}', f'http://{own}.evil.example', 'http://127.0.0.1',
                    'http://localhost:1', '')),
                (403, 'GET', '/', None, {'Origin': 'http://evil.example'}),
                *((415, 'PUT', path, body, {'Content-Type': kind}) for kind in (
                    'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '')),
                (415, 'POST', '/api/v1/cameras/door/trigger', None, {}),
                *((401, method, at, body if method == 'PUT' else None, {'Authorization': login})
                  for method, at in (('GET', '/'), ('GET', '/page.js'), ('GET', '/api/v1/status'), ('PUT', path),
                                     ('GET', '/api/v1/cameras/door/snapshot.jpg'), ('GET', '/nothing'),
                                     ('GET', '/?token=' + '0' * 64), ('GET', '/page.js?token=' + page.token))
                  for login in ('', 'Bearer ' + page.token[:-1], 'Bearer ' + page.token + '0', 'Basic ' + page.token,
                                'Bearer ')),
                (401, 'GET', '/', None, {'Authorization': '', 'Cookie': f'cf-watch-{page.port}='}),
                (401, 'GET', '/', None, {'Authorization': '', 'Cookie': f'cf-watch-1={page.token}'}),
                (413, 'PUT', path, '"' + 'a' * (64 << 10), {}), (401, 'PUT', path, 'a' * 70000, {'Authorization': ''}),
                (404, 'GET', '/nothing', None, {}),
                (405, 'POST', '/', '{}', {}), (405, 'DELETE', path, '{}', {})):
            got, answer_headers, answer = page.fetch(method, at, text, headers)
            expect(got == status, (method, at, headers, got, answer[:200]))
            expect("default-src 'none'" in answer_headers['Content-Security-Policy'] and
                   answer_headers['Connection'] == 'close', answer_headers)
        for host in (b'', b'Host: localhost:80a\r\n', b'Host: evil.example\r\nHost: localhost\r\n'):
            with socket.create_connection(('127.0.0.1', page.port), timeout=SECONDS) as client:
                client.sendall(b'GET / HTTP/1.1\r\n' + host + b'\r\n')
                expect(client.makefile('rb').readline().split()[1] in (b'400', b'401', b'421'), host)
        # What has no length: counted as it comes.
        expect(page.fetch('PUT', path, iter([b'a' * 9000] * 9))[0] == 413, 'a body without a length')
        # The link is traded for a cookie.
        status, headers, _ = page.fetch('GET', '/?token=' + page.token, headers={'Authorization': ''})
        made = headers['Set-Cookie'].split('; ')
        expect(status == 303 and headers['Location'] == '/' and made[0] == f'cf-watch-{page.port}={page.token}' and
               {'HttpOnly', 'SameSite=Strict', 'Path=/'} <= set(made), headers)
        page.end()


def routes(folder):
    """Each address: what it answers, what it refuses, and the event that says who has changed something."""
    cameras = {**door(record={'folder': os.path.join(folder, 'records'), 'when': 'off'}),
               'away': {'source': 'no such file'}, 'plain': {'source': 'test', **SMALL}}
    with Page(cameras, folder) as page:
        page.wait('started', 'door')
        status = page.api('GET', 'status')
        expect(list(status['status']['cameras']) == list(cameras), status)
        expect(page.api('GET', 'cameras')['cameras'] == list(cameras), 'cameras')
        expect(list(page.api('GET', 'cameras/door')['status']['cameras']) == ['door'], 'one')
        element, = page.api('GET', 'cameras/door/elements')['elements']
        expect((element['index'], element['kind'], element['name']) == (0, 'cudaconvolve', 'hide'), element)
        properties = {one['name']: one for one in element['properties']}
        size, preset = properties['kernel-size'], properties['preset']
        expect((size['type'], size['min'], size['default'], size['live']) == ('integer', 0, 0, True) and
               size['max'] > 60 and size['blurb'], size)
        expect(preset['value'] == 'fill' and {'fill', 'mosaic'} <= {one['value'] for one in preset['values']}, preset)
        expect(all(one['blurb'] for one in preset['values']), preset)
        expect(not properties['backend']['live'] and 'name' not in properties and 'stats' not in properties, 'live')
        expect(page.api('GET', 'cameras/away/elements')['elements'][0]['kind'] == 'identity', 'without a filter')
        expect(page.api('GET', 'cameras/door/elements/0/roi')['value'] == '0.25,0.25,0.5,0.5', 'get')
        for key, value, now in (('0/roi', '0,0,0.5,0.5', '0,0,0.5,0.5'), ('hide/enabled', False, False),
                                ('hide/enabled', 'true', True), ('0/kernel-size', 5, 5), ('0/sigma', 1.5, 1.5),
                                ('cudaconvolve/preset', 'mosaic', 'mosaic')):
            expect(page.api('PUT', f'cameras/door/elements/{key}', value)['value'] == now, key)
            event = page.wait('command', 'door', command='set', by='page')
            expect(event['arguments'].startswith(key.replace('/', '.') + ' '), event)
        page.api('PUT', 'cameras/door/elements/0/kernel', ' '.join(['0 1 0'] * 3))
        expect('range' in page.api('PUT', 'cameras/door/elements/0/kernel-size', 4000, 422)['error'], 'range')
        expect('column 3' in page.api('PUT', 'cameras/door/elements/0/kernel', '1 2 x', 422)['error'], "the element's")
        page.api('PUT', 'cameras/door/elements/0/backend', 'cpu', 422)
        for name, value in (('enable', 'off'), ('enable', 'on'), ('record', 'on'), ('record', 'auto'),
                            ('trigger', None)):
            page.api('POST', f'cameras/door/{name}', value)
            page.wait('command', 'door', command=name, arguments=value or '', by='page')
        page.api('POST', 'cameras/door/restart')
        page.wait('back', 'door')
        page.api('POST', 'cameras/door/enable', 'maybe', 422)
        before = sum(event['type'] == 'command' for event in page.events)
        for status, method, at, value in (
                (404, 'GET', 'cameras/no', None), (404, 'GET', 'cameras/no/elements', None), (404, 'GET', '', None),
                (404, 'GET', 'cameras/no/snapshot.jpg', None), (404, 'POST', 'cameras/no/trigger', None),
                (404, 'GET', 'cameras/door/elements/1/roi', None), (404, 'GET', 'cameras/door/elements/0/no', None),
                (404, 'PUT', 'cameras/door/elements/1/roi', ''), (404, 'PUT', 'cameras/door/elements/0/no', ''),
                (404, 'GET', 'cameras//elements', None), (404, 'GET', 'cameras/door/', None), (404, 'GET', 'x', None),
                (404, 'POST', 'cameras/door/quit', None),
                (405, 'POST', 'status', None), (405, 'POST', 'cameras/door', None), (404, 'DELETE', 'cameras/no', None),
                (405, 'GET', 'cameras/door/enable', None), (405, 'POST', 'cameras/door/snapshot.jpg', None),
                (405, 'PUT', 'cameras/door/trigger', None),
                (409, 'GET', 'cameras/away/snapshot.jpg', None), (409, 'POST', 'cameras/away/trigger', None),
                (409, 'POST', 'cameras/plain/record', 'on'), (422, 'GET', 'cameras/door/snapshot.jpg?width=321', None),
                (422, 'POST', 'cameras/plain/enable', 'on')):
            page.api(method, at, value, status)
        for body in ('', '{', '[]', '{"value":{}}', '{"value":[1]}', '{"value":null}', '{}', '{"value":1,"by":2}',
                     '{"value":1}{"value":2}', '[' * 60000, '{"value":"\x00"}', b'{"value":"\xff"}'):
            got, _, text = page.fetch('POST', '/api/v1/cameras/door/enable', body)
            expect(got in (400, 422) and not json.loads(text)['ok'], (body[:20], got, text))
        expect(sum(event['type'] == 'command' for event in page.events) == before, 'what was refused is an event')
        # Cameras that come and go: the body is the settings.
        added = {'source': 'test:ball', **SMALL}
        for status, body in ((200, added), (422, added), (422, {'source': 'test', 'colour': 1}),
                             (400, '{'), (400, '[]'), (422, '{"source": "test", "source": "test:ball"}')):
            at = '/api/v1/cameras/' + ('new' if body == added else 'other')
            got, _, text = page.fetch('PUT', at, body if isinstance(body, str) else json.dumps(body))
            expect(got == status and json.loads(text)['ok'] == (got == 200), (at, got, text))
        page.wait('command', 'new', command='add', by='page')
        page.wait('started', 'new')
        page.api('DELETE', 'cameras/new')
        page.wait('command', 'new', command='remove', arguments='', by='page')
        page.api('POST', 'reload')
        page.wait('command', command='reload', arguments='', by='page')
        # A long value is in force, and its event is short.
        page.api('PUT', 'cameras/door/elements/0/mask-polygons', '0.1,0.1 0.2,0.1 0.2,0.2;' * 60)
        event = page.wait('command', 'door', command='set', after=page.events[-1])
        expect(len(event['arguments']) == 200, event)
        expect(page.ask('elements door')['elements'][0]['kind'] == 'cudaconvolve', 'the command')
        expect('code' not in page.ask('status no', ok=False), 'the status of HTTP')
        page.end()


def gray(pictures, folder):
    """Returns each JPEG of one size as its gray bytes."""
    need('gst-launch-1.0')
    for number, picture in enumerate(pictures):
        with open(os.path.join(folder, f'{number:06}.jpg'), 'wb') as file:
            file.write(picture)
    path = os.path.join(folder, 'gray')
    subprocess.run(['gst-launch-1.0', '-q', 'multifilesrc', f'location={folder}/%06d.jpg',
                    f'stop-index={len(pictures) - 1}', 'caps=image/jpeg,framerate=1/1', '!', 'jpegdec', '!',
                    'videoconvert', '!', 'video/x-raw,format=GRAY8', '!', 'filesink', f'location={path}'], check=True,
                   timeout=SECONDS * 10)
    with open(path, 'rb') as file:
        data = file.read()
    size = len(data) // len(pictures)
    return [data[at:at + size] for at in range(0, len(data), size)]


def faces(folder):
    """How much of a face a setting leaves: nothing of `fill`, the less of a mosaic the fewer blocks, and of a blur the
    less the smaller the face is. Where the areas are has no part in it; nor has the camera, which may be away."""
    def left(line, width=64):
        """Returns what is left of the face's levels: 1 is all of it."""
        page.api('PUT', 'cameras/away/filter', line)
        path = f'/api/v1/cameras/away/elements/hide/face.jpg?width={width}'
        status, headers, body = page.fetch('GET', path)
        expect(status == 200 and headers['Content-Type'] == 'image/jpeg', (line, status, body))
        inside = os.path.join(folder, str(len(os.listdir(folder))))
        os.mkdir(inside)
        [frame] = gray([body], inside)
        height, line_size = width * 5 // 4, width * 5 // 2
        expect(len(frame) == line_size * height, (len(frame), width))
        before, after = ([level for y in range(height) for level in frame[y * line_size + at:][:width]]
                         for at in (0, width + width // 2))
        mean = sum(before) / len(before)
        return sum((a - mean) * b for a, b in zip(before, after)) / sum((a - mean) * a for a in before)

    with Page({'away': {'source': 'no such file', 'filter': HIDE}}, folder) as page:
        expect(abs(rest := left(HIDE)) < 0.01, f'{rest} is left by fill')
        expect(left(HIDE + ' enabled=false') > 0.98, 'one that is off leaves all')
        mosaics = [left(f'cudaconvolve name=hide preset=mosaic blocks={n} roi=0.9,0.9,0.1,0.1 roi-invert=true')
                   for n in (2, 4, 8, 16)]
        expect(mosaics == sorted(mosaics) and mosaics[0] < 0.4 < 0.7 < mosaics[-1], mosaics)
        expect(left('cudaconvolve name=hide mask=none.png preset=privacy blocks=4') < 0.7, 'privacy')
        for line in ('cudairfilter name=hide preset=soft', 'cudairfilter name=hide preset=smooth',
                     'cudaconvolve name=hide preset=gauss'):
            small, medium, large = (left(f'{line} sigma=8', width) for width in (16, 64, 256))
            expect(small < 0.25 < medium < 0.6 < large, (line, small, medium, large))
        for status, path in ((404, 'none/elements/hide/face.jpg?width=64'), (404, 'away/elements/no/face.jpg?width=64'),
                             (422, 'away/elements/hide/face.jpg'), (422, 'away/elements/hide/face.jpg?width=15'),
                             (422, 'away/elements/hide/face.jpg?width=257'), (422, 'away/elements/0/face.jpg?width=x')):
            page.api('GET', 'cameras/' + path, status=status)
        page.api('PUT', 'cameras/away/filter', 'audiotestsrc', 422)
        page.api('PUT', 'cameras/away/filter', 'cudamedian name=hide')
        page.api('GET', 'cameras/away/elements/hide/face.jpg?width=64', status=404)
        page.end()


class Eye(threading.Thread):
    """Asks for one picture after the other."""

    def __init__(self, page, query):
        super().__init__(daemon=True)
        self.page, self.query, self.pictures, self.wrong, self.on = page, query, [], None, True
        self.lock = threading.Condition()

    def run(self):
        while self.on:
            try:
                got, _, body = self.page.fetch('GET', '/api/v1/cameras/door/snapshot.jpg' + self.query)
            except OSError as error:
                got, body = 0, error
            with self.lock:
                if got == 200:
                    self.pictures.append(body)
                elif got != 409:
                    self.wrong = got, body
                self.lock.notify_all()

    def wait(self, end):
        """Waits for so many pictures in all."""
        with self.lock:
            self.lock.wait_for(lambda: len(self.pictures) >= end or self.wrong, SECONDS + end)
            expect(len(self.pictures) >= end and not self.wrong, (len(self.pictures), end, self.wrong))


def clients(folder):
    """Clients that never read, never send, send for ever, and a hundred at once: the others are served, memory and
    descriptors stay, and the camera loses no frame."""
    with Page(door(), folder) as page:
        page.wait('started', 'door')
        place, few = ('127.0.0.1', page.port), page.descriptors()
        ask = (f'GET /api/v1/cameras/door/elements HTTP/1.1\r\nHost: localhost\r\n'
               f'Authorization: Bearer {page.token}\r\n\r\n').encode()
        with contextlib.ExitStack() as all_of_them:
            def connect(text=b''):
                client = all_of_them.enter_context(Stream(page.port, 2048)).socket
                client.sendall(text)
                return client

            deaf = [connect(ask) for _ in range(20)]
            page.picture()
            idle = [connect(b'GET / HT' if number % 2 else b'') for number in range(100)]
            # Of those that are too many, some are closed at once; all of them in time.
            for client in idle:
                with contextlib.suppress(ConnectionResetError):
                    expect(client.recv(100) == b'', 'a silent client is answered')
            page.picture()
            expect(len(deaf) == 20, 'they are still there')
        with socket.create_connection(place, timeout=SECONDS) as client:
            client.sendall(ask.replace(b'GET', b'PUT')[:-2] + b'Content-Type: application/json\r\n'
                           b'Transfer-Encoding: chunked\r\n\r\nffffffff\r\n')
            client.setblocking(False)
            sent = 0
            while not select.select([client], [client], [], SECONDS)[0]:  # it hangs up
                with contextlib.suppress(BlockingIOError):
                    sent += client.send(b'a' * 1000000)
                expect(sent < 80 << 20, 'a request of 80 MB is read')
        # Whoever is refused before anybody is asked leaves nothing behind.
        before = memory(page)
        for more in (b'Host: localhost\r\nTransfer-Encoding: x', b'Host: /') * 200:
            with socket.create_connection(place, timeout=SECONDS) as client, contextlib.suppress(ConnectionError):
                client.sendall(b'GET /' + b'a' * 60000 + b' HTTP/1.1\r\n' + more + b'\r\n\r\n')
                status = client.makefile('rb').readline().split()[1]
                expect(status in (b'400', b'501'), status)
        expect(memory(page) < before + 8, f'{before} MiB, then {memory(page)}')
        # Many that ask for the same picture.
        answers = at_once(*[page.picture] * 40)
        expect(len(set(answers)) < 40, f'{len(set(answers))} of 40 pictures differ')
        page.settle(few)
        with open(f'/proc/{page.process.pid}/status', encoding='ascii') as file:
            most = int(next(line for line in file if line.startswith('VmHWM')).split()[1])
        expect(most < 600 << 10, f'{most} KiB')
        expect(page.api('GET', 'status')['status']['cameras']['door']['restarts'] == 0, 'the camera was lost')
        page.end()


def rubbish(folder):
    """Random requests: the program stays, and answers the next one."""
    dice = random.Random(1)
    words = [b'GET', b'PUT', b'POST', b'/', b'/api/v1/', b'cameras', b'door', b'elements', b'0', b'roi', b'%00', b'%2e',
             b'snapshot.jpg', b'?width=', b'320', b' HTTP/1.1', b'\r\n', b'\r\n\r\n', b'Host: localhost', b'Origin: ',
             b'Content-Type: application/json', b'Content-Length: ', b'-1', b'99999999999999999999', b'5', b'{"value":',
             b'"x"}', b'Transfer-Encoding: chunked', b'Cookie: ', b'=', b';', b'\0', b'\xff', b'a' * 9000]
    with Page(door(), folder) as page:
        page.wait('started', 'door')
        login = b'Authorization: Bearer ' + page.token.encode() + b'\r\nContent-Type: application/json\r\n'
        for number in range(300):
            text = b''.join(dice.choice(words) for _ in range(dice.randrange(12)))
            if dice.random() < 0.7:
                at = dice.choice([b'/enable', b'/elements/0/roi', b'/snapshot.jpg', text[:50]])
                text = b'%b /api/v1/cameras/door%b HTTP/1.1\r\nHost: localhost\r\n%b%b' % (
                    dice.choice(words[:3]), at, login, text)
            with socket.create_connection(('127.0.0.1', page.port), timeout=SECONDS) as client:
                with contextlib.suppress(OSError):  # it may hang up before the end
                    client.sendall(text + b'\r\n\r\n' * (number % 2))
                    client.shutdown(socket.SHUT_WR)
                    while client.recv(65536):
                        pass
            if number % 50 == 0:
                page.api('GET', 'status')
        page.end()
        expect(page.token not in page.text + page.stderr(), 'the token is shown')


def token(folder):
    """The token: for its user alone, the same after a restart, in no output; --page-link prints it when asked."""
    with Page(door(), folder) as page:
        path = os.path.join(page.state, 'cf-watch', 'page-token')
        for at, mode in ((path, 0o600), (os.path.dirname(path), 0o700)):
            expect(stat.S_IMODE(os.stat(at).st_mode) == mode, at)
        page.wait('started', 'door')
        page.fetch('GET', '/?token=' + page.token)
        page.ask('set door hide.' + page.token + ' 1', ok=False)
        page.ask('set door hide.mask ' + page.token, ok=False)
        page.api('GET', 'cameras/' + page.token, status=404)
        page.end()
        expect(page.token not in page.text + page.stderr(), 'the token is shown')
        first = page.token
    with Page(door(), folder) as page:
        expect(page.token == first, 'each start has another token')
        page.end()

    def link(what, state='state'):
        return run_with({'cameras': {}, **what}, folder, '--page-link',
                        env={'XDG_STATE_HOME': os.path.join(folder, state)})

    port = free_port()
    expect(link({'page': {'port': port}}) == (0, f'http://127.0.0.1:{port}/?token={first}\n', ''), 'the link')
    expect('"page": {' in link({})[2] and 'page_port' in link({'page': {'port': 0}})[2], 'no link')
    status, out, errors = link({'page': {'port': port}}, 'empty')
    expect(status == 2 and not out and 'when it starts' in errors, errors)
    expect(not os.path.exists(os.path.join(folder, 'empty')), 'the link makes a file')
    for mode, text, what in ((0o640, first, 'others may'), (0o600, 'abc', 'hexadecimal'), (0o600, '', 'hexadecimal')):
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        os.chmod(path, mode)
        status, out, errors = link({'page': {'port': port}})
        expect(status == 2 and what in errors and first not in out + errors, (mode, status, out, errors))
    os.remove(path)
    os.symlink('/etc/passwd', path)
    status, _, errors = link({'page': {'port': port}})
    expect(status == 2 and 'page-token' in errors, errors)


def middle(browser, what):
    """Returns the brightness in the middle of an image of the page, -1: it has none."""
    return browser.run('''
        const image = document.querySelector(arguments[0]), canvas = document.createElement('canvas');
        if (!image?.naturalWidth || image.classList.contains('away'))
          return -1;
        const context = canvas.getContext('2d');
        context.drawImage(image, image.naturalWidth / 2, image.naturalHeight / 2, 1, 1, 0, 0, 1, 1);
        return context.getImageData(0, 0, 1, 1).data[0];''', what)


def slide(page, web):
    """A number of a sensible range has a slider beside its field."""
    slider = 'const { slider } = controls.get(arguments[0]); return slider && [slider.min, slider.max, slider.value]'
    expect(web.run(slider, '0/blocks') == ['2', '64', '8'], 'a slider')
    expect(web.run(slider, '0/roi') is web.run(slider, '0/roi-hold') is None, 'no slider')
    web.run('const { slider } = controls.get("0/blocks"); slider.value = 9; slider.oninput(); slider.onchange()')
    page.wait('command', 'door', command='set', arguments='0.blocks 9', by='page')
    web.until('the value in force', lambda: web.run(slider, '0/blocks')[2] == '9' ==
              web.run('return controls.get("0/blocks").input.value'))


def face(page, web):
    """What a setting leaves of a face is shown beside it, and again when it changes."""
    shown = """
        const image = document.querySelector('#controls figure img'), canvas = document.createElement('canvas');
        if (!image.checkVisibility() || !image.complete || !image.naturalWidth)
          return null;
        const context = canvas.getContext('2d');
        context.drawImage(image, image.naturalWidth * 0.8, image.naturalHeight * 0.7, 1, 1, 0, 0, 1, 1);
        return [image.naturalWidth, context.getImageData(0, 0, 1, 1).data[0] > 90];"""
    change = 'const c = controls.get(arguments[0]); c.input.value = arguments[1]; c.input.onchange()'
    web.until('nothing is left', lambda: web.run(shown) == [160, False])
    web.run('const f = document.querySelector("figure input"); f.value = 32; f.onchange()')
    web.until('another width', lambda: web.run(shown) == [80, False])
    web.run(change, '0/preset', 'mosaic')
    web.until('something is left', lambda: web.run(shown) == [80, True])
    web.run(change, '0/preset', 'sharpen')
    web.until('nothing is hidden', lambda: web.run(shown) is None)
    web.run(change, '0/preset', 'fill')
    web.until('it is hidden', lambda: web.run(shown) == [80, False])


def by_keyboard(page, web):
    """From the grid to a property, with keys alone, and back."""
    web.go(page.link)
    web.until('the grid', lambda: middle(web, '[href="#yard"] img') > 200)
    web.tab_to('[href="#door"]')
    web.keys('\ue007')
    web.until('the camera', lambda: web.run('return controls.size') > 30)
    web.tab_to('#enable')
    web.keys(' ')
    page.wait('command', 'door', command='enable', arguments='on')
    web.tab_to('#record')
    web.tab_to('#target')
    web.tab_to('#controls summary')
    web.keys('\ue007')
    web.tab_to('#controls details input[type=range]')
    web.tab_to('[aria-label="amount"] + input')
    web.keys(*'\ue010\ue003\ue003\ue003\ue0032.5\ue007')  # End, Backspace, what is typed, Enter
    page.wait('command', 'door', command='set', arguments='0.amount 2.5')
    web.tab_to('summary', 90)
    web.tab_to('nav a')
    web.keys('\ue007')
    web.until('the grid again', lambda: not web.run('return document.getElementById("grid").hidden'))


def on_phone(page, web, where):
    """On a phone nothing is wider than the screen, and what is touched is large enough for a finger."""
    web.phone()
    web.go(page.link)
    web.until('the grid', lambda: middle(web, '[href="#yard"] img') > 200)
    wide = """
        const list = (what, wrong) => [...document.querySelectorAll(what)].filter(node =>
          node.checkVisibility() && wrong(node.getBoundingClientRect())).map(node => node.outerHTML.slice(0, 99));
        return [innerWidth, document.documentElement.scrollWidth, list('body *', box => box.right > innerWidth + 1),
          list('button, select, #controls input, #name, #line, #split, summary', box => box.height < 24)];"""
    expect(web.run(wide) == [412, 412, [], []], web.run(wide))
    if where:
        web.shot(os.path.join(where, 'phone-grid.png'))
    web.run('document.querySelector("[href=\'#door\']").click()')
    web.until('the camera', lambda: web.run('return controls.size') > 30 and middle(web, '#picture') >= 0)
    web.run('for (const part of document.querySelectorAll("details")) part.open = true')
    expect(web.run(wide) == [412, 412, [], []], web.run(wide))
    if where:
        web.shot(os.path.join(where, 'phone.png'))
    web.run('location.hash = "hall"')
    web.until('another camera', lambda: web.run('return controls.has("1/seeds")') and middle(web, '#picture') >= 0)
    web.run('const t = document.getElementById("target"); t.value = "0/zones"; t.onchange()')
    left, top, width, height = place(web)
    for x, y in ((0.1, 0.6), (0.3, 0.6), (0.3, 0.9)):
        web.drag((left + x * width, top + y * height))
    expect(web.run(wide) == [412, 412, [], []], web.run(wide))
    if where:
        web.shot(os.path.join(where, 'phone-zone.png'))


def place(web):
    """Returns where the picture is on the page: left, top, width and height."""
    return web.run('const box = document.getElementById("draw").getBoundingClientRect();'
                   'return [box.left, box.top, box.width, box.height]')


def areas(page, web, where):
    """Rectangles and a polygon, by mouse and by keyboard."""
    left, top, width, height = place(web)

    def at(x, y):
        return left + x * width, top + y * height

    # Another rectangle in place of the one that there is.
    web.run('document.getElementById("clear").click()')
    web.drag(at(0.1, 0.1), at(0.2, 0.2), at(0.3, 0.4))
    web.run('document.getElementById("apply").click()')
    event = page.wait('command', 'door', command='set')
    sides = [float(one) for one in event['arguments'].split(' ')[1].split(',')]
    expect(all(abs(a - b) < 0.02 for a, b in zip(sides, (0.1, 0.1, 0.2, 0.3))), event)
    web.until('the middle, which is hidden no more', lambda: middle(web, '#picture') > 200)
    # By keyboard alone: a rectangle in the middle, larger by one step to the right.
    web.run('document.getElementById("draw").focus()')
    web.keys('\ue007', '\ue014')
    web.run('document.getElementById("apply").click()')
    event = page.wait('command', 'door', command='set')
    expect(event['arguments'].endswith('; 0.4000,0.4000,0.2100,0.2000'), event)
    web.until('the middle, which is hidden again', lambda: 0 <= middle(web, '#picture') < 60)
    # A polygon, by four clicks.
    web.run('const t = document.getElementById("target"); t.value = "0/mask-polygons"; t.onchange()')
    for point in ((0.7, 0.1), (0.9, 0.1), (0.9, 0.3), (0.7, 0.3)):
        web.drag(at(*point))
    if where:
        web.shot(os.path.join(where, 'page.png'))
    web.run('document.getElementById("apply").click()')
    event = page.wait('command', 'door', command='set')
    expect(event['arguments'].startswith('0.mask-polygons 0.7') and event['arguments'].count(',') == 4, event)


def zones(page, web, where):
    """Zones by mouse, with names: in force on the next frame. By keyboard alone, another one; its name, the choice of
    one, and its end. Points in pixels."""
    web.run('location.hash = "hall"')
    web.until('the camera', lambda: middle(web, '#picture') >= 0 and web.run('return controls.has("1/seeds")'))
    expect(web.run('return document.getElementById("camera").textContent') == 'hall', 'the name')
    drawn = web.run('return [...document.getElementById("target").options].map(one => one.text)')
    expect('zones of cudamedian' in drawn and 'zones of cudasegment' in drawn, drawn)
    drawn = web.run('return [...document.getElementById("target").options].map(one => one.value)')
    expect(drawn[-2:] == ['rectangle to search', 'polygon to search'], drawn)
    expect(sorted(drawn[:-2]) == ['0/mask-polygons', '0/roi', '0/zones', '1/mask-polygons', '1/roi', '1/seeds',
                                  '1/zones'], drawn)
    target = 'const t = document.getElementById("target"); t.value = arguments[0]; t.onchange()'
    state = 'const name = document.getElementById("name"); return [name.checkVisibility(), name.disabled, name.value]'
    left, top, width, height = place(web)
    expect(web.run(state)[0] is False, 'a name of a polygon')
    web.run(target, '0/zones')
    expect(web.run(state) == [True, True, ''], web.run(state))
    for x, y in ((0, 0), (1, 0), (1, 1), (0, 1)):
        web.drag((left + 1 + x * (width - 2), top + 1 + y * (height - 2)))
    expect(web.run(state) == [True, False, 'zone1'], web.run(state))
    web.run('document.getElementById("name").select()')
    web.keys(*'ha:ll <b>;')
    expect(web.run('return document.querySelector("#draw text").textContent') == 'hall <b>', 'the name in the picture')
    if where:
        web.shot(os.path.join(where, 'page-zone.png'))
    before = {'seq': len(page.events)}
    web.run('document.getElementById("apply").click()')
    event = page.wait('command', 'hall', command='set')
    expect(event['arguments'].startswith('0.zones hall <b>: 0.') and event['arguments'].count(',') == 4, event)
    # The ball is in it. That may come before the event of set, which waits for a frame.
    found = page.wait('element', 'hall', after=before, name='cudamedian')
    while found['fields'].get('zone') != 'hall <b>':
        found = page.wait('element', 'hall', after=found, name='cudamedian')
    # By keyboard: a triangle, its name, and Apply.
    web.tab_to('#draw')
    web.keys('\ue007', '\ue007', *'\ue014' * 5, '\ue007', *'\ue015' * 5, '\ue00c')
    web.tab_to('#name')
    web.keys('\ue010', *'\ue003' * 5, *'yard')
    web.tab_to('#apply')
    web.keys('\ue007')
    event = page.wait('command', 'hall', command='set', after=event)
    expect(event['arguments'].endswith('; yard: 0.5,0.5 0.55,0.5 0.55,0.55'), event)
    # The other one is chosen and removed; the one that nobody has touched stays as it is written.
    web.until('the answer', lambda: 'yard' in web.run('return controls.get("0/zones").property.value'))
    web.run('document.getElementById("draw").focus()')
    web.keys('\ue00e')
    expect(web.run(state)[2] == 'hall <b>', web.run(state))
    web.keys('\ue017')
    web.run('document.getElementById("apply").click()')
    event = page.wait('command', 'hall', command='set', after=event)
    expect(event['arguments'] == '0.zones yard: 0.5,0.5 0.55,0.5 0.55,0.55', event)
    # A name that another zone has: the element's sentence, and what was in force stays.
    web.run('document.getElementById("draw").focus()')
    web.keys('\ue007', '\ue007', '\ue014', '\ue007', '\ue015')
    web.run('const name = document.getElementById("name"); name.value = "yard"; name.oninput({ target: name })')
    expect(web.console() == [], 'the console')
    web.run('document.getElementById("apply").click()')
    web.until("the element's sentence", lambda: 'has the name of an earlier one' in web.run(
        'return controls.get("0/zones").note.textContent'))
    expect(len(web.console()) == 1, 'the answer 422')
    expect(page.api('GET', 'cameras/hall/elements/0/zones')['value'].startswith('yard: 0.5,0.5 0.55'), 'the zones')
    # Points: pixels of the frame, whatever size it is shown in.
    web.run(target, '1/seeds')
    left, top, width, height = place(web)
    web.drag((left + width * 0.25, top + height * 0.75))
    web.run('document.getElementById("draw").focus()')
    web.keys('\ue007', '\ue014')
    web.run('document.getElementById("apply").click()')
    event = page.wait('command', 'hall', command='set', after=event)
    x, y = map(int, event['arguments'].split(' ')[1].rstrip(';').split(','))
    expect(abs(x - 80) < 3 and abs(y - 180) < 3 and event['arguments'].endswith('; 163,120'), event)


def searching(page, web, where):
    """A rectangle and a polygon are searched: each result is a playlist with the piece and the second in it."""
    web.run('location.hash = "lane"')
    web.until('the camera', lambda: web.run('return document.title') == 'lane - cf-watch' and
              web.run('return controls.has("0/zones") && document.getElementById("video").videoWidth'))
    target = 'const t = document.getElementById("target"); t.value = arguments[0]; t.onchange()'
    ask = 'document.querySelector("#search button").click()'
    note = 'return document.getElementById("note").textContent'
    links = 'return [...document.querySelectorAll("#found a")].map(link => decodeURIComponent(link.href))'
    piece = page.wait('piece-begun', 'lane', after={'seq': 0})['file']
    for kind, points in (('rectangle', ((0.1, 0.1), (0.5, 0.5), (0.9, 0.9))),
                         ('polygon', ((0.1, 0.1), (0.9, 0.1), (0.9, 0.9), (0.1, 0.9)))):
        web.run(target, kind + ' to search')
        expect(not web.run('return document.getElementById("apply").checkVisibility()'), 'there is nothing to apply')
        left, top, width, height = place(web)
        places = [(left + x * width, top + y * height) for x, y in points]
        for one in [places] if kind == 'rectangle' else [[place] for place in places]:
            web.drag(*one)

        def found():
            web.run(ask)
            return web.until('an answer', lambda: web.run(links) or web.run(note))
        web.until('what moved', lambda: isinstance(found(), list))
        expect(web.run(links)[0].startswith(f'data:audio/x-mpegurl,#EXTM3U\n#EXTVLCOPT:start-time=') and
               web.run(links)[0].endswith(f'\n{piece}\n'), web.run(links))
        drawn = web.run('return searchedArea()').replace(',', ' ').split(' ')
        expect(len(drawn) == 8 and all(abs(float(is_now) - wanted) < 0.02 for is_now, wanted in
                                       zip(drawn, (0.1, 0.1, 0.9, 0.1, 0.9, 0.9, 0.1, 0.9))), drawn)
    if where:
        web.shot(os.path.join(where, 'page-search.png'))
    told = 'return document.querySelector("#found li").textContent'
    web.until('what was told', lambda: isinstance(found(), list) and web.run(told).count('motion') == 1)
    # In the year before nothing has moved.
    web.run('document.getElementById("to").value = "2020-01-01T00:00"')
    web.run(ask)
    web.until('nothing', lambda: web.run(note) == 'nothing has moved there' and web.run(links) == [])
    web.run('document.getElementById("from").value = "2021-01-01T00:00"')
    expect(web.console() == [], 'the console')
    web.run(ask)
    web.until('what is wrong', lambda: 'before the second one' in web.run(note))
    web.console()  # the 422


def browser(folder):
    """In Chromium: the grid, one camera large, its controls, areas by mouse and by keyboard; the console is empty."""
    white = {'source': 'test:white', 'width': 640, 'height': 480, 'rate': 10}
    cameras = {'door': {**white, 'filter': HIDE}, 'yard': {**white, 'record': {'folder': os.path.join(folder, 'rec'),
                                                                               'when': 'off'}},
               'away': {'source': 'no such file'}, 'hall': {
                  'source': 'test:ball', 'width': 320, 'height': 240, 'rate': 10,
                  'filter': 'cudamedian temporal-method=running motion-meta=true ! cudasegment'},
               'lane': {'source': 'test:ball', 'width': 320, 'height': 240, 'rate': 10,
                        'filter': 'cudamedian temporal-method=running motion-meta=true',
                        'record': {'folder': os.path.join(folder, 'lane'), 'piece': 3600}},
              **{f'cam{n}': white for n in range(40)}}
    with Page(cameras, folder) as page, Browser(folder) as web:
        page.wait('started', 'door', after=page.ready)
        web.go(page.link)
        expect(web.run('return location.search + document.cookie') == '', 'the token is in reach')
        web.until('the grid', lambda: middle(web, '[href="#yard"] img') > 200 and
                  0 <= middle(web, '[href="#door"] img') < 60)
        expect(web.run('return document.querySelectorAll("#grid a").length') == len(cameras), 'tiles')
        web.until('a state', lambda: 'waiting' in
                  web.run('return document.querySelector("[href=\'#away\']").textContent'))
        expect(middle(web, '[href="#away"] img') == -1, 'a picture of a camera that is away')
        expect(middle(web, '[href="#cam39"] img') == -1, 'a picture that nobody sees is asked for')
        if where := os.environ.get('CF_WATCH_SHOTS'):
            web.shot(os.path.join(where, 'page-grid.png'))
        web.run('document.querySelector("[href=\'#door\']").click()')
        web.until('the large picture', lambda: 0 <= middle(web, '#picture') < 60)
        value = 'return controls.get(arguments[0]).input.value'
        expect(web.until('the controls', lambda: web.run('return controls.size')) > 30, 'controls')
        expect(web.run(value, '0/roi') == '0.25,0.25,0.5,0.5' and web.run(value, '0/preset') == 'fill' and
               web.run(value, '0/fill-color') == '#000000', 'values')
        note = 'return document.getElementById("note").textContent'
        change = 'const c = controls.get(arguments[0]); c.input.value = arguments[1]; c.input.onchange()'
        face(page, web)
        slide(page, web)
        web.run(change, '0/roi', 'nonsense')
        web.until("the element's sentence", lambda: 'nonsense' in web.run(
            'return controls.get("0/roi").note.textContent'))
        expect(page.api('GET', 'cameras/door/elements/0/roi')['value'] == '0.25,0.25,0.5,0.5', 'a refused value')
        expect(len(web.console()) == 1, 'the answer 422')  # Chromium itself reports it
        areas(page, web, where)
        web.run('document.getElementById("enable").click()')
        page.wait('command', 'door', command='enable', arguments='off', by='page')
        web.until('the picture without the filter', lambda: middle(web, '#picture') > 200)
        web.run('location.hash = "yard"')
        web.until('the other camera', lambda: web.run('return document.title') == 'yard - cf-watch' and
                  web.run('return controls.size') and not web.run('return controls.has("0/roi")'))
        web.run('const r = document.getElementById("record"); r.value = "on"; r.onchange({target: r})')
        page.wait('command', 'yard', command='record', arguments='on', by='page')
        web.until('the state', lambda: 'recorded' in web.run('return document.getElementById("state").textContent'))
        web.run('location.hash = ""')
        web.until('the grid again', lambda: not web.run('return document.getElementById("grid").hidden'))
        zones(page, web, where)
        searching(page, web, where)
        by_keyboard(page, web)
        on_phone(page, web, where)
        expect((said := web.console()) == [], f'the console: {said}')
        expect(page.token not in page.text + page.stderr(), 'the token is shown')
        page.end()
        web.until('that nobody answers', lambda: 'does not answer' in web.run(note))


if __name__ == '__main__':
    sys.exit(main(checks, routes, faces, clients, rubbish, token, browser))
