#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch --check: what is wrong with a file is said, with line and setting. See harness.py."""
import json
import os
import sys

from harness import SCHEMAS, Watch, expect, main, plugins_but, run

CAMERA = {'source': 'test'}


def with_filter(line):
    return {'cameras': {'a': {**CAMERA, 'filter': line}}}


def refuse(folder, text, what):
    """The file with this text, or this value as JSON, is refused with these words."""
    path = os.path.join(folder, 'watch.json')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text if isinstance(text, str) else json.dumps(text, indent=1))
    status, _, errors = run('--check', path)
    expect(status == 2 and what in errors and 'CRITICAL' not in errors, (text, what, status, errors))


def settings(folder):
    """Settings that there are not, or that have no such value: --check and the schema agree."""
    wrong = [
        ({}, 'cameras'), ({'cameras': []}, 'cameras'), ({'cameras': {'a b': CAMERA}}, 'letters'),
        ({'cameras': {'a': {}}}, 'source'), ({'cameras': {'a': {'source': 5}}}, 'quotes'),
        ({'cameras': {'a': {**CAMERA, 'timeout': 0}}}, '1 to 3600'),
        ({'cameras': {'a': {**CAMERA, 'timeout': 1.5}}}, 'whole'), ({'cameras': {'a': {**CAMERA, 'loop': 1}}}, 'true'),
        ({'cameras': {'a': {**CAMERA, 'transport': 'tpc'}}}, 'tcp|udp|auto'),
        ({'cameras': {'a': {'source': 'rtsps://h/x', 'tls_pin': 'ab:cd'}}}, '64 hexadecimal digits'),
        ({'cameras': {'a': {**CAMERA, 'fliter': ''}}}, 'no such setting'),
        ({'cameras': {'a': {**CAMERA, 'record': {'folder': '/x', 'quality': 52}}}}, 'record.quality'),
        ({'cameras': {}, 'mqtt': {'host': 'h', 'topic': 'a/#'}}, 'topic'), ({'cameras': {}, 'mqtt': {}}, 'host'),
        ({'cameras': {}, 'mqtt': {'host': 'h', 'discovery': '+'}}, 'mqtt.discovery'),
        ({'cameras': {}, 'defaults': {'latency': -1}}, 'defaults.latency'), ({'cameras': {}, 'control': 7}, 'object'),
        ({'cameras': {}, 'page': {}}, 'page.port'), ({'cameras': {}, 'page': {'port': 70000}}, '0 to 65535'),
        ({'cameras': {}, 'page': {'port': 1, 'address': '0.0.0.0'}}, 'ssh -L 1:127.0.0.1:1 HOST'),
        ({'cameras': {}, 'page': {'port': 1, 'address': '::'}}, 'set "users"'),
    ]
    for config, what in wrong:
        refuse(folder, config, what)
        expect(not SCHEMAS['config'] or 'source' not in str(config) or not SCHEMAS['config'].is_valid(config), config)


def accepted_by_the_schema(folder, *wrong):
    for config, what in wrong:
        refuse(folder, config, what)
        expect(not SCHEMAS['config'] or SCHEMAS['config'].is_valid(config), config)


def filters(folder):
    """Filter lines: elements, values, files, what is not for video, what is not linked."""
    accepted_by_the_schema(
        folder, (with_filter('nosuch'), 'cameras.a.filter: '), (with_filter('cudamedian kernel-size=4'), 'is even'),
        (with_filter('cudaconvolve kernel-file=none'), '"none" cannot be'),
        (with_filter('identity ! cudaconvolve mask=no.png'), 'no.png'),
        (with_filter('queue ! audioconvert'),
         "cameras.a.filter: 'queue ! audioconvert': audioconvert takes audio/x-raw, not raw video"),
        (with_filter('jpegenc ! queue'), 'jpegenc makes image/jpeg, not raw video'),
        (with_filter('cudamedian cudaconvolve'), 'is there a ! missing?'),
        (with_filter('capsfilter caps=video/x-raw,width=3'), 'takes no pictures of 640 x 480'),
        ({'cameras': {name: CAMERA for name in 'abc'}, 'defaults': {'filter': 'nosuch'}},
         'cameras.a.filter (and that of 2 more): '))


def sources(folder):
    """Sources, folders, hosts and passwords that there are not, or that are written as elsewhere."""
    with open(os.path.join(folder, 'a file'), 'w', encoding='ascii') as file:
        file.write('x')
    accepted_by_the_schema(
        folder, ({'cameras': {'a': {'source': '~/a.avi'}}}, 'cameras.a.source: begins with ~'),
        ({'cameras': {'a': {**CAMERA, 'record': {'folder': '~/a'}}}}, 'record.folder: begins with ~'),
        ({'cameras': {'a': {'source': 'a.avi'}}}, 'a.avi: No such file'),
        ({'cameras': {'a': {'source': '.'}}}, 'is a folder'),
        ({'cameras': {'a': {**CAMERA, 'record': {'folder': 'a file'}}}}, 'a file is no folder'),
        ({'cameras': {'a': {**CAMERA, 'record': {}}}}, 'folder'),
        ({'cameras': {'a': {'source': 'rtsp://'}}}, 'no host'),
        ({'cameras': {'a': {'source': 'rtsp://h:99999/x'}}}, 'out of range'),
        ({'cameras': {'a': {'source': 'rtsp://h/x', 'width': 5}}}, 'test pictures'),
        ({'cameras': {'a': {'source': 'nosuch://h/x'}}}, 'nosuch'),
        ({'cameras': {'a': {'source': 'https://h/x', 'tls_ca': 'none.pem'}}}, 'none.pem: No such file'),
        ({'cameras': {'a': {'source': 'rtsp://h/x', 'tls_pin': 'a' * 64}}}, 'rtsps:// only'),
        ({'cameras': {'a': {'source': 'test:nosuch'}}}, 'cameras.a: videotestsrc has no pattern'),
        ({'cameras': {'a': {'source': 'http://h/?pwd={password}'}}}, 'secrets have none for this camera'),
        ({'cameras': {'a': CAMERA}, 'mqtt': {'host': 'mqtt://h:1883'}}, 'a name or an address alone'),
        ({'cameras': {'a': CAMERA}, 'mqtt': {'host': 'h:1883'}}, 'a name or an address alone'),
        ({'cameras': {'a': CAMERA}, 'secrets': 'none.json'}, 'none.json'))
    secret = os.path.join(folder, 'secrets.json')
    with open(os.open(secret, os.O_CREAT | os.O_WRONLY, 0o600), 'w', encoding='utf-8') as file:
        json.dump({'a': {'pin': 1, 'user': 'viewer', 'password': 'x'}}, file)
    refuse(folder, {'cameras': {'a': CAMERA}, 'secrets': secret}, 'secrets.json: a: has to be')
    for text, what in {'{} {}': ':1: something is behind', '{}\n{"a": {}}': ':2: something is behind',
                       '{\n"a":\n{x} }': 'secrets.json:3: it is not JSON', '[]': 'has to be a JSON object',
                       'null {"a": {}}': 'secrets.json:1: it has to be a JSON object',
                       '{"a": {"password": "x"': 'secrets.json:1: it is not JSON',
                       '[' * 200000: 'nested', '{}\0{}': 'UTF-8'}.items():
        with open(secret, 'w', encoding='utf-8') as file:
            file.write(text)
        refuse(folder, {'cameras': {'a': CAMERA}, 'secrets': secret}, 'secrets.json: ' if what == 'UTF-8' else what)


def texts(folder):
    """What is no JSON, and what the parser would take for something else."""
    five = '{\n "cameras": {\n  "a": { "source": "test" },\n  "b": { "source": "test",\n "latency": "1" }\n}\n}'
    number = '{"cameras": {"a": {"source": "test", "latency": %s}}}'
    huge = '{"cameras": {"a": {"source": "test", "gpu": %s99999999999999999999}}}'
    for text, what in {
            five: ':5: cameras.b.latency', '[]': 'object', '{"cameras":': 'watch.json', '': 'object',
            '{"cameras": {"a": {"source":"test"}, "a": {"source":"test"}}}': 'two cameras',
            '{"cameras": {"a": {"source":"test", "source":"test"}}}': 'twice',
            '{"cameras": {}}\n{"cameras": {}}': 'json:2: something is behind',
            '{} {}': 'json:1: something is behind', '{}\n"': 'json:2: something is behind',
            '"x" {"a": 1}': 'json:1: it has to be a JSON object', '\n5 {}': 'json:2: it has to be a JSON object',
            '{/{/}{"a": 1}': 'json:1: a character is here that JSON has in quotes only',
            '{"cameras": {\'\\\': {}}}': 'name', '{"cameras": {},\n}': ': a comma has nothing behind it',
            '{"cameras": {} "secrets": "x"}': ': a comma is missing',
            '{"cameras":\n{"a": {"source": "test", "latency": 0200}}}': 'json:2: 0200 is no number',
            number % '010': '1: 010 is no', number % '-00': '1: 00 is no', number % '0x10': '1: 0x10 is no',
            number % '0b11': '1: 0b11 is no', number % '$10': 'in quotes only', number % '07 7': '1: 07 is no',
            huge % '': 'too large a number', huge % '-': 'too large a number',
            '[' * 200000: 'nested', '{"cameras": ' + '[{"a":' * 50000: 'nested',
            '{"cameras": {"a": {"source": "test", "filter": "' + '[' * 50 + '"}}}': 'filter'}.items():
        refuse(folder, text, what)


def all_at_once(folder):
    """All faults of a file are reported in one run, each once and with its line, those in the defaults as well."""
    with open(os.path.join(folder, 'a file'), 'w', encoding='ascii') as file:
        file.write('x')
    text = """{ "secrets": "none.json",
 "defaults": {
  "latency": -1,
  "record": {
   "folder": "a file/rec" } },
 "cameras": {
  "a": { "source": "a.avi",
         "timeout": 0 },
  "b": { "source": "test",
         "filter": "nosuch" },
  "c": { "source": "test", "record": {
          "folder": "/proc/nosuch" } },
  "d": { "source": "test:nosuch" },
  "e": { "filter": "nosuch" },
  "f": { "source": "b.avi" }
 },
 "mqtt": { "port": 1 } }"""
    path = os.path.join(folder, 'watch.json')
    refuse(folder, text, 'none.json')
    errors = run('--check', path)[2]
    for line, what in {1: 'secrets: ', 3: 'defaults.latency: has to be', 8: 'cameras.a.timeout: has to be',
                       14: 'cameras.e.source: is missing', 17: 'mqtt.host: is missing'}.items():
        expect(errors.count(f'{path}:{line}: {what}') == 1, (line, what, errors))
    # A camera whose settings can be read is looked at although others are wrong.
    text = text.replace('-1', '1')
    refuse(folder, text, 'none.json')
    errors = run('--check', path)[2]
    for line, what in {1: 'secrets: ', 5: 'defaults.record.folder: ', 8: 'cameras.a.timeout: ',
                       10: "cameras.b.filter: 'nosuch': no element",
                       12: 'cameras.c.record.folder: /proc/nosuch cannot be made',
                       14: 'cameras.e.source: is missing', 15: 'cameras.f.source: ', 17: 'mqtt.host: '}.items():
        expect(errors.count(f'{path}:{line}: {what}') == 1, (line, what, errors))
    refuse(folder, text.replace('"secrets": "none.json",', ''), f'{path}:13: cameras.d: videotestsrc has no pattern')
    expect(sorted(os.listdir(folder)) == ['a file', 'watch.json'], 'the check leaves something behind')


def recordings(folder):
    """What a recording lacks is a fault, with its package; what can hardly be meant is a note."""
    path = os.path.join(folder, 'watch.json')
    motion = {'folder': 'x', 'when': 'motion'}
    cameras = {'door': {**CAMERA, 'record': motion}, 'always': {**CAMERA, 'record': {'folder': 'x'}},
               'yard': {**CAMERA, 'record': motion, 'filter': 'cudamedian temporal-method=running motion-meta=true'}}
    with open(path, 'w', encoding='utf-8') as file:
        json.dump({'cameras': cameras}, file, indent=1)
    status, _, errors = run('--check', path)
    expect(status == 0 and ':7: cameras.door.record.when: note: nothing in the filter reports motion' in errors, errors)
    expect(errors.count('note') == 1 and not os.path.exists(os.path.join(folder, 'x')), errors)
    with Watch({'cameras': cameras}, folder) as watch:
        started = {name: watch.wait('started', name, after={'seq': 0}) for name in cameras}
        expect('trigger' in started['door']['note'], started)
        expect(all('note' not in started[name] for name in ('always', 'yard')), started)
        watch.end()
    env = plugins_but(folder, 'videoparsersbad', 'videocrop', 'jpeg')
    status, _, errors = run('--check', path, env=env)
    for what in ('"h264parse", which is in gstreamer1.0-plugins-bad',
                 '"videocrop", which is in gstreamer1.0-plugins-good'):
        expect(status == 2 and what in errors, (what, errors))
    with Watch({'cameras': cameras}, folder, env) as watch:
        failed = watch.wait('recording-failed', 'always', after={'seq': 0})
        expect('"h264parse", which is in gstreamer1.0-plugins-bad' in failed['reason'], failed)
        watch.wait('started', 'always', after={'seq': 0})
        watch.end()
        watch.write({'cameras': {}, 'page': {'port': 8080}})
    expect(run('--check', path)[0] == 0, 'a page')
    status, _, errors = run('--check', path, env=env)
    expect(status == 2 and 'page: no picture can be shown: this GStreamer has no element "jpegenc", which is in '
           'gstreamer1.0-plugins-good' in errors, errors)


def right(folder):
    """A file that is right, with the mark that some editors begin files with, and command lines."""
    path = os.path.join(folder, 'watch.json')
    line = 'cudamedian kernel-size=3 ! cudaconvolve name=n1234567890123456789 backend=cuda'
    good = {'cameras': {'a': {**CAMERA, 'filter': line, 'record': {'folder': 'x', 'when': 'motion'}}},
            'defaults': {'latency': 2e2, 'record': {'folder': 'y', 'keep_days': 7}}, 'control': {'stdin': False}}
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\ufeff' + json.dumps(good) + "/* that's all: {} */\n")
    status, _, errors = run('--check', path)
    expect(status == 0, errors)
    expect(not SCHEMAS['config'] or SCHEMAS['config'].is_valid(good), 'the schema refuses it')
    expect(run('--version')[1].startswith('cf-watch (gst-cuda-filters) '), 'version')
    expect(run('--help')[0] == 0 and run()[0] == 2 and run('a', 'b')[0] == 2 and run('--nosuch')[0] == 2, 'options')


if __name__ == '__main__':
    sys.exit(main(settings, filters, sources, texts, all_at_once, recordings, right))
