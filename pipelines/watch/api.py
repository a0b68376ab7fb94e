#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Writes api.json, the OpenAPI description of what cf-watch serves by HTTP. usage: api.py FILE

The table OPERATIONS has a row for each of page.c's routes. Whoever adds one adds both; tests/watch/api.py compares."""
import json
import re
import sys

TEXT = {'type': 'string'}
JSON = 'application/json'


def ref(kind, name):
    return {'$ref': f'#/components/{kind}/{name}'}


def answer(description, optional=(), **members):
    """Returns an answer in JSON that has these members besides "ok"."""
    schema = {'allOf': [ref('schemas', 'done')], 'properties': members,
              'required': [name for name in members if name not in optional]}
    return {'description': description, 'content': {JSON: {'schema': schema}}}


def media(description, *types):
    return {'description': description, 'content': {name: {} for name in types}}


def exactly(**members):
    """Returns the schema of an object with these members and no other."""
    return {'type': 'object', 'properties': members, 'required': list(members), 'additionalProperties': False}


def body(schema):
    return {'required': True, 'content': {JSON: {'schema': schema}}}


def listed(items):
    return {'type': 'array', 'items': items}


def query(name, **more):
    return {'parameters': [{'name': name, 'in': 'query', **more}]}


def in_path(name, **more):
    return {'name': name, 'in': 'path', 'required': True, 'schema': TEXT, **more}


def needs(role):
    return {'security': [{'token': []}, {'login': [role]}]}


VALUE = {'requestBody': ref('requestBodies', 'value')}
SETS, RULES = needs('operator'), needs('admin')
NAMES = ref('schemas', 'names')
FRAME = ref('schemas', 'frame')
SETTING = {
    'type': 'object', 'required': ['element', 'property', 'value'],
    'properties': {
        'element': TEXT, 'property': TEXT, 'value': TEXT, 'refused': {'const': True}, 'missing': {'const': True},
        'nth': {'type': 'integer',
                'description': 'Its place among its kind; without: the first, 0, or one with a name'},
    },
}

# Method and path, operationId, summary, what 200 answers (a text: one of ANSWERS), and further members.
OPERATIONS = (
    ('get /api.json', 'api', 'This file',
     {'description': 'It', 'content': {JSON: {'schema': {'type': 'object'}}}}),
    ('post /login', 'login', 'Begins a login by the cookie that comes with the answer', 'user',
     {'security': [], 'requestBody': body(exactly(user=TEXT, password=TEXT))}),
    ('post /logout', 'logout', 'Ends the login', 'done'),
    ('get /me', 'me', 'Who has logged in', 'user'),
    ('get /status', 'status', 'The state of all cameras: status.schema.json', 'status'),
    ('post /reload', 'reload', 'Reads the file again',
     answer('The names of cameras, and the parts of the file that only a new process takes up',
            added=NAMES, removed=NAMES, changed=NAMES, kept=NAMES, restart_needed=NAMES), RULES),
    ('get /ws', 'ws', 'A WebSocket: pictures, events and states as they come', None,
     {'responses': {'101': {'description': 'It is one'}, 'default': ref('responses', 'refused')}}),
    ('get /search', 'search', 'When something moved in a part of the picture, and where that is in which file',
     answer('It, in the order of the recordings, and, if there is more, what asks for that',
            found=listed(ref('schemas', 'found')), next=TEXT, optional=['next']),
     query('what', required=True, description='CAMERA: x,y x,y x,y, FROM, TO', schema=TEXT)),
    ('get /cameras', 'cameras', 'The names of all cameras', answer('They', cameras=NAMES)),
    ('get /cameras/{camera}', 'status_of', 'The state of the camera: status.schema.json', 'status'),
    ('put /cameras/{camera}', 'add', "A camera more, with these settings and the file's defaults", 'done',
     {**RULES, 'requestBody': body({'type': 'object', 'description': 'A camera of config.schema.json'})}),
    ('delete /cameras/{camera}', 'remove', 'Stops the camera for good; its files are finished', 'done', RULES),
    ('get /cameras/{camera}/elements', 'elements',
     'The elements of the filter with their properties, and the filter line that makes all of it',
     answer('They', elements=listed(ref('schemas', 'element')), line=TEXT, optional=['line'])),
    ('get /cameras/{camera}/elements/{element}/{property}', 'get', 'The value of a property', 'value'),
    ('put /cameras/{camera}/elements/{element}/{property}', 'set',
     'Sets the property while the filter runs; answers what is in force then',
     answer('The value in force, and the first frame that has it', value={}, frame=FRAME), {**SETS, **VALUE}),
    ('put /cameras/{camera}/filter', 'filter',
     'Gives the camera another filter line, up to the next reload or the end', 'done', {**RULES, **VALUE}),
    ('post /cameras/{camera}/enable', 'enable', 'Has the picture filtered or not: on, off',
     answer('The first frame that has it', frame=FRAME), {**SETS, **VALUE}),
    ('post /cameras/{camera}/record', 'record', 'Has the camera recorded: on, off, auto (as the file says)', 'done',
     {**SETS, **VALUE}),
    ('post /cameras/{camera}/trigger', 'trigger', 'As if something had moved now', 'done', SETS),
    ('post /cameras/{camera}/restart', 'restart', 'Gives the camera a new pipeline now', 'done', SETS),
    ('get /cameras/{camera}/overrides', 'overrides', 'What set and enable have set',
     answer('It, whether the disk has all of it, and in which file',
            overrides=listed(SETTING), saved={'type': 'boolean'}, file=TEXT)),
    ('delete /cameras/{camera}/overrides', 'forget', 'Takes all of that back', 'done', RULES),
    ('get /cameras/{camera}/elements/{element}/face.jpg', 'face',
     "A drawn face, and beside it what the element's settings leave of it", media('They', 'image/jpeg'),
     query('width', required=True, description='Of the face, in pixels of a frame',
           schema={'type': 'integer', 'minimum': 16, 'maximum': 256})),
    ('get /cameras/{camera}/mjpeg', 'mjpeg',
     'Filtered frames as JPEG, one after the other, as fast as they are taken',
     media('They', 'multipart/x-mixed-replace')),
    ('get /cameras/{camera}/hls/{file}', 'hls',
     'HLS: the list of segments (index.m3u8), and the files that it names',
     media('It', 'application/vnd.apple.mpegurl', 'video/mp4')),
    ('get /cameras/{camera}/snapshot.jpg', 'picture', 'The next filtered frame', media('It', 'image/jpeg'),
     query('width', description="Without it, the picture has the frame's own size", schema={'enum': [320]})),
)

PARAMETERS = {
    'camera': in_path('camera', schema={**TEXT, 'pattern': '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'}),
    'element': in_path('element', description='A name, a kind (the first such), or the place in the line, from 0'),
    'property': in_path('property'),
    'file': in_path('file'),
}

ANSWERS = {
    'done': {'description': 'It is done', 'content': {JSON: {'schema': ref('schemas', 'done')}}},
    'value': answer('The value in force', value={}),
    'user': answer('Name (null: the holder of the token) and role', user={'type': ['string', 'null']},
                   role={'enum': ['viewer', 'operator', 'admin']}),
    'status': answer('An object of status.schema.json', status={'type': 'object'}),
    'refused': {
        'description': '400 no such JSON; 401 no login; 403 a role that may not, or another Origin; 404 no such thing; '
                       '405 another method; 409 not now; 413 too long; 415 no JSON; 421 another Host; 422 the value is '
                       'refused; 429 too many wrong passwords; 503 ending, or too many pages or searches',
        'content': {JSON: {'schema': exactly(ok={'const': False}, error=TEXT)}},
    },
}

PROPERTY = {'name': TEXT, 'type': TEXT, 'blurb': TEXT, 'default': {}, 'value': {}, 'live': {'type': 'boolean'}}
ELEMENT = {
    'index': {'type': 'integer', 'minimum': 0}, 'kind': TEXT, 'name': TEXT,
    'properties': listed({'type': 'object', 'properties': PROPERTY, 'required': list(PROPERTY)}),
}
MOVED = {
    'kind': {'enum': ['motion', 'zone', 'region']}, 'zone': {**TEXT, 'description': 'Its name; "": none'},
    'region': {'type': 'integer', 'description': 'Its number; 0: none'}, 'begin': TEXT,
    'end': {'type': ['string', 'null'], 'description': 'null: not yet'}, 'box': TEXT,
}
FOUND = {
    'piece': TEXT, 'offset': {'type': 'number', 'minimum': 0, 'description': 'Seconds from the beginning of the file'},
    'begin': TEXT, 'end': TEXT,
    'events': listed({'type': 'object', 'properties': MOVED, 'required': list(MOVED)}),
}
SCHEMAS = {
    'done': {'type': 'object', 'properties': {'ok': {'const': True}}, 'required': ['ok']},
    'frame': {
        'type': ['string', 'null'],
        'description': 'The time of day of a frame, as recordings have it; null: none has come within a second',
    },
    'found': {'type': 'object', 'properties': FOUND, 'required': list(FOUND)},
    'names': listed(TEXT),
    'element': {'type': 'object', 'properties': ELEMENT, 'required': list(ELEMENT)},
}


def paths():
    """Returns the operations by their paths. Each may be refused."""
    found = {}
    for at, name, summary, answered, *more in OPERATIONS:
        method, path = at.split(' ')
        methods = found.setdefault(path, {})
        if parameters := re.findall(r'\{(\w+)\}', path):
            methods['parameters'] = [ref('parameters', one) for one in parameters]
        responses = {'200': ref('responses', answered) if isinstance(answered, str) else answered,
                     'default': ref('responses', 'refused')}
        methods[method] = {'operationId': name, 'summary': summary, 'responses': responses, **(more[0] if more else {})}
    return found


API = {
    'openapi': '3.1.0',
    'info': {
        'title': 'cf-watch by HTTP',
        'description': 'The page of cf-watch uses this, and so can any program; docs/watch.md says more. An '
                       'operationId is the command that is executed, where there is one. What changes anything needs '
                       'Content-Type: application/json, and an Origin of this server or none. A login has the role '
                       'that is named beside it, or a higher one.',
        'version': '1',
        'license': {'name': 'LGPL-2.1-or-later', 'identifier': 'LGPL-2.1-or-later'},
    },
    'servers': [{'url': '/api/v1'}],
    **needs('viewer'),
    'paths': paths(),
    'components': {
        'securitySchemes': {
            'token': {'type': 'http', 'scheme': 'bearer', 'description': 'The file page-token; from this machine only'},
            'login': {'type': 'apiKey', 'in': 'cookie', 'name': 'cf-watch-PORT',
                      'description': 'The cookie of a login'},
        },
        'parameters': PARAMETERS,
        'requestBodies': {'value': body(exactly(value={'type': ['string', 'number', 'boolean']}))},
        'responses': ANSWERS,
        'schemas': SCHEMAS,
    },
}

with open(sys.argv[1], 'w', encoding='utf-8') as output:
    json.dump(API, output, indent=2)
    output.write('\n')
