#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: the file of what commands have set: when it cannot be read, when the disk does not take it, and when
another process writes it. tests/watch/hidden.py has what it is for. See harness.py."""
import glob
import json
import os
import random
import signal
import stat
import sys

from harness import Skip, Watch, expect, main

SMALL = {'source': 'test:ball', 'width': 64, 'height': 48, 'rate': 10}
FILL = 'cudaconvolve name=hide preset=fill roi=0,0,2,2'
CAMERAS = {'cameras': {name: {**SMALL, 'filter': FILL} for name in ('door', 'yard')}}
SEED = int(os.environ.get('CF_WATCH_SEED', '1'))


def saved(watch):
    watch.until('it is saved', lambda _: watch.ask('overrides door')['saved'])


def started(watch, *cameras):
    for name in cameras:
        watch.wait('started', name, after={'seq': 0})


def the_file(folder):
    path, = glob.glob(os.path.join(folder, 'state', 'cf-watch', '*.json'))
    return path


def make(folder):
    """Has the file say something of both cameras. Returns its path and its text."""
    with Watch(CAMERAS, folder) as watch:
        started(watch, 'door', 'yard')
        for name in ('door', 'yard'):
            watch.ask(f'set {name} hide.roi 0,0,9,9')
        saved(watch)
        watch.kill(signal.SIGKILL, -signal.SIGKILL)
    path = the_file(folder)
    expect(stat.S_IMODE(os.stat(path).st_mode) == 0o600 and
           stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700, 'its mode')
    expect(os.listdir(os.path.dirname(path)) == [os.path.basename(path)], 'something else is left')
    with open(path, encoding='utf-8') as file:
        return path, file.read()


def put(path, text):
    if os.path.islink(path) or os.path.exists(path):
        os.remove(path)
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), 'w' if isinstance(text, str) else 'wb') as file:
        file.write(text)


def is_closed(watch, camera, what=''):
    failed = watch.wait('failed', camera, after={'seq': 0})
    expect(what in failed['reason'] and f'forget {camera}' in failed['reason'].replace('CAMERA', camera), failed)
    for command in (f'snapshot {camera} a.png', f'trigger {camera}'):
        watch.ask(command, ok=False)
    for command in ('restart', 'enable'):
        before = len(watch.events)
        watch.ask(f'{command} {camera}' + (' on' if command == 'enable' else ''))
        if command == 'restart':
            watch.wait('failed', camera, after=watch.events[before - 1])


def unreadable(folder):
    """A file that cannot be read keeps all cameras closed, each until it is forgotten; then a new file is made."""
    path, good = make(folder)
    other = good.replace(json.dumps(os.path.join(folder, 'watch.json'))[1:-1], '/etc/watch.json')
    expect(other != good, 'the configuration is not named')
    dice = random.Random(SEED)
    cut = [good[:dice.randrange(1, len(good) - 2)] for _ in range(3)]
    for text, what in (('', 'JSON object'), ('{}', 'cameras: is missing'), ('[]', 'JSON object'), (other, 'config'),
                       ('{"config": 5}', 'text'), (good + good, 'behind'), ('[' * 100000, 'nested'),
                       (b'\xff', 'UTF-8'), (good.encode().replace(b'hide', b'h\0de'), 'UTF-8'),
                       (good.replace('"cameras"', '"camera"'), 'no such setting'), *((part, '') for part in cut)):
        put(path, text)
        with Watch(CAMERAS, folder) as watch:
            for name in ('door', 'yard'):
                is_closed(watch, name, what)
            watch.end(code=None)
        with open(path, 'rb') as file:
            expect(file.read() == (text if isinstance(text, bytes) else text.encode()), 'it is replaced')
    # The folder that the environment names is there, or its disk is away; the user's own is made.
    state = os.path.join(folder, 'unit')
    for named, opened in ((state, False), (os.path.dirname(path), True)):
        put(path, good)
        with Watch(CAMERAS, folder, {'STATE_DIRECTORY': named}) as watch:
            if opened:
                watch.wait('settings-restored', 'door')
            else:
                is_closed(watch, 'door', 'its disk may be away')
                watch.ask('forget door')
                watch.ask('forget yard')
                watch.ask('set door hide.roi 0,0,8,8')
                expect('unit' in watch.wait('overrides-failed', after={'seq': 0})['reason'], watch.text)
            watch.end(code=None)
    expect(not os.path.exists(state), 'it is made')
    os.mkdir(state)
    with Watch(CAMERAS, folder, {'STATE_DIRECTORY': state}) as watch:
        started(watch, 'door', 'yard')  # the first start
        watch.end()
    put(path, good)
    os.chmod(path, 0o640)
    with Watch(CAMERAS, folder) as watch:
        is_closed(watch, 'door', 'others may')
        watch.end(code=None)
    elsewhere = os.path.join(folder, 'elsewhere')
    put(elsewhere, good)
    os.remove(path)
    os.symlink(elsewhere, path)
    with Watch(CAMERAS, folder) as watch:
        is_closed(watch, 'door', 'it is a link')
        watch.ask('forget door')
        watch.wait('started', 'door')
        watch.ask('set door hide.roi 0,0,5,5')
        watch.wait('overrides-failed', after={'seq': 0})
        expect(not watch.ask('overrides door')['saved'], 'it is not saved')
        watch.end(code=None)
    with Watch(CAMERAS, folder) as watch:  # nothing was replaced, and nothing is open
        is_closed(watch, 'door', 'it is a link')
        is_closed(watch, 'yard', 'it is a link')
        for name in ('door', 'yard'):
            watch.ask(f'forget {name}')
            watch.wait('started', name)
        saved(watch)
        watch.ask('set door hide.roi 0,0,5,5')
        saved(watch)
        watch.end()
    expect(not os.path.islink(path) and open(elsewhere, encoding='utf-8').read() == good, 'the link is followed')
    if os.getuid() == 0:
        os.chown(path, 1, 1)
        with Watch(CAMERAS, folder) as watch:
            is_closed(watch, 'door', 'not a file of this user')
            watch.end(code=None)


def refused(folder):
    """A value that the element can no longer have, or a camera's part that is no such thing, keeps that camera closed;
    the other one is as it was set. Another value of the property opens it, as does forget."""
    path, good = make(folder)

    def changed(**members):
        top = json.loads(good)
        top['cameras']['door']['values'][0].update(members)
        return json.dumps(top)

    top = json.loads(good)
    for text, what in ((changed(property='nothing'), 'no property'), (changed(property='kernel-size', value='x'), 'no'),
                       (changed(property='kernel-size', value='9999'), 'out of range'),
                       (changed(property='backend', value='cpu'), 'cannot change'),
                       (changed(property='name', value='x'), 'cannot be set'), (changed(value=5), 'text'),
                       (changed(nth=-1), '0 to 1000'), (changed(more='x'), 'no such setting'),
                       (json.dumps({**top, 'cameras': {**top['cameras'], 'door': {}}}), 'a list'),
                       (json.dumps({**top, 'cameras': {**top['cameras'], 'door': {'values': [5], 'sizes': []}}}),
                        'objects')):
        put(path, text)
        with Watch(CAMERAS, folder) as watch:  # what else is set opens nothing, also not at the next start
            is_closed(watch, 'door', what)
            watch.ask('set door hide.roi-grow 1')
            watch.end(code=None)
        with Watch(CAMERAS, folder) as watch:
            is_closed(watch, 'door', what)
            started(watch, 'yard')
            expect(watch.ask('get yard hide.roi')['value'] == '0,0,9,9', 'the other one')
            watch.ask('forget door')
            watch.wait('started', 'door')
            expect(watch.ask('get door hide.roi')['value'] == '0,0,2,2', 'it is forgotten')
            saved(watch)
            watch.end()
        with Watch(CAMERAS, folder) as watch:
            started(watch, 'door', 'yard')
            expect(watch.ask('overrides door')['overrides'] == [] and watch.ask('overrides yard')['overrides'], 'again')
            watch.end()
    put(path, changed(property='kernel-size', value='9999'))
    with Watch(CAMERAS, folder) as watch:
        watch.wait('failed', 'door')
        watch.ask('set door hide.kernel-size 5')
        watch.wait('started', 'door')
        watch.end()
    # What is set on a camera that the file has no more is kept, shown and forgotten by its name.
    with Watch({'cameras': {}}, folder) as watch:
        expect(watch.ask('overrides yard')['overrides'][0]['value'] == '0,0,9,9', 'the list')
        watch.ask('forget yard')
        watch.ask('overrides yard', ok=False)
        saved(watch)
        watch.end()


def texts(folder):
    """Any text that a property takes comes back from the file as it was."""
    dice, line = random.Random(SEED), 'identity name=one ! watchdog name=two ! cudaconvolve name=hide'
    values = {f'{folder}/\x01\x7f\t"\\{{}}é\U0001f600', 'a "b" \\n', "'", '/* x */', '010', *(
        ''.join(chr(dice.choice((dice.randrange(1, 127), dice.randrange(0xa0, 0x2000)))) for _ in range(40))
        .replace('\n', '').replace('\r', '').strip() for _ in range(5))}
    config = {'cameras': {'door': {**SMALL, 'filter': line}}}
    for value in sorted(values):
        with Watch(config, folder) as watch:
            started(watch, 'door')
            got = watch.ask(f'set door hide.roi-type {value}')['value']
            saved(watch)
            watch.kill(signal.SIGKILL, -signal.SIGKILL)
        with Watch(config, folder) as watch:
            started(watch, 'door')
            expect(watch.ask('get door hide.roi-type')['value'] == got, (value, got))
            watch.end()


def disk(folder):
    """A disk that does not take the file: an event says so, cameras and commands go on, and what was set is in the file
    when the disk takes it again."""
    state = os.path.join(folder, 'state', 'cf-watch')
    put(os.path.join(folder, 'state'), 'x')
    with Watch(CAMERAS, folder) as watch:
        started(watch, 'door')
        watch.ask('set door hide.roi 0,0,9,9')
        watch.wait('overrides-failed')
        for number in range(1, 50):
            watch.ask(f'set door hide.roi 0,0,9,{number}')
        expect(not watch.ask('overrides door')['saved'], 'saved')
        expect(sum(event['type'] == 'overrides-failed' for event in watch.events) == 1, 'it is said once')
        os.remove(os.path.join(folder, 'state'))
        watch.wait('overrides-saved')
        expect(watch.ask('overrides door')['saved'], 'not saved')
        # What lies where the new file is made.
        part = the_file(folder) + '.part'
        os.makedirs(os.path.join(part, 'x'))
        watch.ask('set door hide.roi 0,0,9,8')
        watch.wait('overrides-failed')
        watch.end(code=1)
    expect(os.listdir(state).count(os.path.basename(part)) == 1, 'it is removed')


def dead_disk(folder):
    """A disk that does not answer is said; everything goes on, and so does the end, in its time."""
    library = os.path.join(os.environ.get('CF_BUILD', 'build'), 'tests', 'watch', 'libhang.so')
    if not os.path.exists(library):
        raise Skip(f'{library} is not built')
    gate = os.path.join(folder, 'gate')
    os.mkfifo(gate)
    env = {'LD_PRELOAD': os.path.abspath(library), 'CF_HANG': gate, 'XDG_STATE_HOME': os.path.join(folder, 'hang', 'x')}
    with open(gate, 'r+b', buffering=0) as open_gate, Watch(CAMERAS, folder, env) as watch:
        started(watch, 'door')
        open_gate.close()
        watch.ask('set door hide.roi 0,0,9,9')
        watch.ask('set door hide.roi 0,0,9,8')
        expect('does not answer' in watch.wait('overrides-failed')['reason'], watch.text)
        watch.ask('restart door')
        watch.wait('back', 'door')
        with open(gate, 'r+b', buffering=0):
            watch.wait('overrides-saved')
        watch.ask('set door hide.roi 0,0,9,7')
        watch.end(code=1)


def processes(folder):
    """Two processes with the same file do not overwrite each other's settings: the second one says that it cannot."""
    with Watch(CAMERAS, folder) as first, Watch(CAMERAS, folder) as second:
        for watch in (first, second):
            started(watch, 'door')
        first.ask('set door hide.roi 0,0,7,7')
        saved(first)
        second.ask('set door hide.roi 0,0,6,6')
        expect('somebody else' in second.wait('overrides-failed')['reason'], second.text)
        first.ask('set door hide.roi 0,0,8,8')
        saved(first)
        second.end(code=1)
        first.end()
    with Watch(CAMERAS, folder) as watch:
        started(watch, 'door')
        expect(watch.ask('get door hide.roi')['value'] == '0,0,8,8', 'the first one')
        watch.end()


if __name__ == '__main__':
    sys.exit(main(unreadable, refused, texts, disk, dead_disk, processes))
