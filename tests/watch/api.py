#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: api.json has the addresses that the server has, and the documents its commands. See harness.py."""
import json
import os
import re
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None
try:
    from openapi_spec_validator import validate
except ImportError:
    validate = None

from harness import PROGRAM, ROOT, Skip, Watch, expect, main
from page import door
from users import ROLES, WORDS, Site, Visitor, three

API = os.path.join(os.path.abspath(os.path.dirname(PROGRAM)), 'api.json')
METHODS = ('get', 'put', 'post', 'delete', 'patch', 'options')
BLUR = 'cudaconvolve name=hide preset=gauss sigma=1'
ORDER = [*ROLES.values()]
# What is sent: the operations that are not here have no body.
BODIES = {'login': {'user': 'anna', 'password': WORDS['anna']}, 'set': {'value': 3}, 'filter': {'value': BLUR},
          'enable': {'value': 'on'}, 'record': {'value': 'auto'}, 'add': {'source': 'test:ball'}}
PARTS = {'{element}': 'hide', '{property}': 'kernel-size', '{file}': 'index.m3u8',
         'face.jpg': 'face.jpg?width=64', '/search': '/search?what=door'}
# Operations without a command, and commands without an address.
NO_COMMANDS = {'api', 'login', 'logout', 'me', 'ws', 'cameras', 'status_of', 'picture', 'face', 'hls', 'mjpeg'}
NO_ADDRESSES = {'snapshot', 'quit'}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as file:
        return file.read()


def operations(api):
    """Returns (path, method, operation) of all; DELETE comes last."""
    found = [(path, method, one) for path, methods in api['paths'].items() for method, one in methods.items()
             if method in METHODS]
    return sorted(found, key=lambda operation: operation[1] == 'delete')


def command_names(watch):
    return set(re.search(r'there are (.*)$', watch.ask('no-such-command', ok=False)['error']).group(1).split(', '))


def check_answer(api, operation, status, headers, body):
    """The answer has the form that the file says."""
    responses = operation['responses']
    response = responses.get(str(status), responses['default'])
    if '$ref' in response:
        response = api['components']['responses'][response['$ref'].rsplit('/', 1)[1]]
    kind, content = next(iter(response['content'].items()))
    expect(headers['Content-Type'].split(';')[0] == kind, (operation['operationId'], headers))
    if 'schema' in content:
        schema = {**content['schema'], 'components': api['components']}
        jsonschema.Draft202012Validator(schema).validate(json.loads(body))


def by_roles(site, operation, method, at, data):
    """Asks as nobody and as each role; each is answered as it may. Returns the answers of those who may."""
    name, security = operation['operationId'], operation.get('security', [{'login': ['viewer']}])
    needed = security[-1]['login'][0] if security else None
    for user, role in ((None, None), *ROLES.items()):
        visitor = Visitor(site)
        if user:
            visitor.login(user)
        status, headers, body = visitor.fetch(method, at, data)
        if not role and needed:
            expect(status == 401, (name, status, body))
        elif needed and ORDER.index(role) < ORDER.index(needed):
            expect(status == 403 and b'needs the role ' + needed.encode() in body, (name, role, status, body))
        elif name == 'ws':
            expect(status == 400, (role, status, body))
        else:
            expect(status == 200, (name, role, status, body))
            yield status, headers, body


def addresses(folder):
    """Each path and method of the file answers whoever has the role that it says, in the form that it says; no other
    method does, and the server's table has no other path."""
    if not jsonschema:
        raise Skip('python3-jsonschema is missing')
    three(folder)
    cameras = door(filter=BLUR, record={'folder': os.path.join(folder, 'records'), 'when': 'off'})
    with Site(folder, cameras) as page:
        page.wait('started', 'door')
        status, _, body = page.fetch('GET', '/api/v1/api.json')
        api = json.loads(body)
        expect(status == 200 and body.decode() == read(API), 'the file itself')
        if validate:
            validate(api)
        else:
            print('    openapi-spec-validator is missing: whether it is OpenAPI at all is not looked at')
        for path, method, one in operations(api):
            name, at = one['operationId'], '/api/v1' + path
            for part, value in {'{camera}': 'more' if name in ('add', 'remove') else 'door', **PARTS}.items():
                at = at.replace(part, value)
            data = None if method == 'get' else json.dumps(BODIES.get(name, {}))
            expect((name in BODIES) == ('requestBody' in one), f'{name}: its body')
            for answered in by_roles(page, one, method.upper(), at, data):
                check_answer(api, one, *answered)
                if name in ('filter', 'restart', 'forget'):
                    page.wait('back', 'door')
        for command, camera, who in (('set', 'door', 'otto'), ('set', 'door', 'anna'), ('record', 'door', 'otto'),
                                     ('filter', 'door', 'anna'), ('add', 'more', 'anna'), ('remove', 'more', 'anna'),
                                     ('reload', None, 'anna')):
            page.wait('command', camera, after=page.ready, command=command, by=f'page {who} 127.0.0.1')
        expect(not any('vera' in event.get('by', '') for event in page.events), 'an event of one who only looks')
        for path in api['paths']:
            methods = {method for other, methods in api['paths'].items() for method in methods
                       if re.fullmatch(re.sub(r'\{\w+\}', '[^/]+', other), path)}
            at = re.sub(r'\{\w+\}', 'x', '/api/v1' + path)
            for method in METHODS:
                status, headers, body = page.fetch(method.upper(), at, None if method == 'get' else '{}')
                expect(method in methods or status == 405, (method, path, status, body))
        # What is wrong is answered in the form of `refused`.
        for method, at, body, status in (('GET', 'cameras/nobody', None, 404), ('PUT', 'cameras/door/filter', '7', 400),
                                         ('PUT', 'cameras/door/elements/hide/sigma', '{"value":"x"}', 422)):
            got, headers, text = page.fetch(method, '/api/v1/' + at, body)
            expect(got == status, (method, at, got, text))
            check_answer(api, {'operationId': at, 'responses': {'default': {'$ref': '/refused'}}}, got, headers, text)
        table = re.search(r'routes\[\] = \{\n(.*?)\n\};', read('pipelines', 'watch', 'page.c'), re.S).group(1)
        served = {(path, method.lower()) for method, path in re.findall(r'\{ "([A-Z]+)", "([^"]+)"', table)}
        described = {(re.sub(r'\{\w+\}', '*', path[1:]), method) for path, method, _ in operations(api)}
        expect(served == described and len(served) == table.count('\n') + 1, served ^ described)
        names = [one['operationId'].split('_')[0] for *_, one in operations(api)]
        expect(set(names) | NO_ADDRESSES == command_names(page) | {name.split('_')[0] for name in NO_COMMANDS}, names)
        page.end()


def documents(folder):
    """The commands of docs/watch.md, with their arguments, and of the manual page are the program's; the
    addresses of docs/watch.md are api.json's."""
    text = read('docs', 'watch.md')
    table = re.search(r'\| command \| \|\n\| --- \| --- \|\n(.*?)\n\n', text, re.S).group(1)
    written = dict(re.match(r'\| `((\S+).*?)` \|', line.replace('\\|', '/')).group(2, 1) for line in table.splitlines())
    page = re.search(r'from a UNIX socket: (.*?);', read('pipelines', 'man', 'cf-watch.1'), re.S).group(1)
    with Watch({'cameras': {}}, folder) as watch:
        names = command_names(watch)
        expect(set(written) == names and set(page.replace('\n', ' ').split(', ')) == names, (written, page, names))
        # One that takes any number of words is given none, and one that takes none is given one.
        for name in names - {'status'}:
            word = ' x' if written[name] == name else ''
            error = watch.ask(name + word, ok=False)['error'].replace('|', '/')
            expect(error.rstrip() == f'{name} needs: {written[name]}', (error, written[name]))
        expect(written['status'] == 'status [CAMERA]', written)
        watch.end()
    api = json.loads(read(API))
    for path in api['paths']:
        path = re.sub(r'\{(\w+)\}', lambda part: part.group(1).upper(), path[1:])
        expect(f'`{path}`' in text or f'`{path}?' in text, path)


if __name__ == '__main__':
    sys.exit(main(addresses, documents))
