#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch --try: one source on the page without a file; other filter lines while it runs, and the line with what is
set. See harness.py."""
import json
import os
import re
import signal
import subprocess
import sys
import time

from harness import PROGRAM, SECONDS, expect, main, need, run
from page import SMALL, Client, Page, bearer
from webdriver import Browser


class Trial:
    """A running cf-watch --try. `fetch` and `api` ask its page."""
    context = None  # of TLS

    def __init__(self, folder, *arguments, env=None):
        self.state = os.path.join(folder, 'state')
        self.process = subprocess.Popen([PROGRAM, '--try', *arguments], stdin=subprocess.DEVNULL, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
                                        env={**os.environ, 'XDG_STATE_HOME': self.state, **(env or {})})
        self.link = self.process.stdout.readline().strip()
        found = re.fullmatch(r'http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{64})#try', self.link)
        expect(found, (self.link, found or self.process.communicate(timeout=SECONDS)))
        self.port, self.token = int(found[1]), found[2]
        holder = Client(self, login=bearer(self.token))
        self.fetch, self.api = holder.fetch, holder.api

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def until(self, what, condition):
        deadline = time.monotonic() + SECONDS
        while not condition(camera := self.api('GET', 'status')['status']['cameras']['try']):
            expect(time.monotonic() < deadline, f'{what}: {camera}')
        return camera

    def end(self):
        """Ends it by Ctrl-C. Returns what it has printed besides the link."""
        self.process.send_signal(signal.SIGINT)
        out, errors = self.process.communicate(timeout=SECONDS)
        expect(self.process.returncode == 0, (self.process.returncode, errors))
        expect(self.token not in out + errors and 'CRITICAL' not in errors, errors)
        return out, errors


def trial(folder):
    """A source, the page, and nothing else: no state, no recording, no events among what is printed; a file begins
    again; a token of its own each time."""
    video = os.path.join(folder, 'clip with a space.avi')
    need('gst-launch-1.0')
    subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=20', '!', 'video/x-raw,width=64,height=48',
                    '!', 'jpegenc', '!', 'avimux', '!', 'filesink', f'location={video}'], check=True, timeout=SECONDS)
    before = set(os.listdir(folder))
    with Trial(folder, 'test') as one, Trial(folder, os.path.basename(video), 'cudaconvolve', 'preset=fill') as two:
        expect(one.token != two.token, 'two trials have one token')
        one.until('a picture', lambda camera: camera['state'] == 'up')
        expect(one.api('GET', 'cameras/try/elements')['line'] == 'cudamedian kernel-size=5', 'the first line')
        expect('--try' in one.api('GET', 'search?what=try', status=409)['error'], 'there is no index')
        expect(one.fetch('GET', '/api/v1/cameras/try/snapshot.jpg')[2][:2] == b'\xff\xd8', 'a picture')
        expect(two.api('GET', 'cameras/try/elements')['line'] == 'cudaconvolve preset=fill', 'the given line')
        two.until('the file begins again', lambda camera: camera['frames'] > 50)
        one.api('PUT', 'cameras/try/elements/0/kernel-size', 7)
        expect('--try' in one.api('POST', 'reload', '', 422)['error'], 'reload')
        expect('no "record"' in one.api('POST', 'cameras/try/record', 'on', 409)['error'], 'record')
        for other in (one, two):
            out, errors = other.end()
            expect(not out and errors.count('\n') == 1 and 'Ctrl-C' in errors, (out, errors))
    expect(set(os.listdir(folder)) == before, (before, os.listdir(folder)))


def refused(folder):
    """What is wrong is said at once, as gst-launch-1.0 says it; a loss while it runs is a sentence."""
    for arguments, words in (
            (('test', 'cudamedia'), 'no element "cudamedia"'), (('test', 'cudamedian kernel-siz=3'), '"kernel-siz"'),
            (('test', 'cudamedian', 'kernel-size=9999'), 'kernel-size'), (('test', 'fakesink'), 'source pad'),
            (('test', 'cudamedian cudamedian'), 'is there a ! missing'), (('test:no',), 'no pattern'),
            (('nothing.avi',), 'nothing.avi: No such file'), (('/dev/video99',), '/dev/video99: No such file'),
            (('nothing://x',), 'nothing://'), (('rtsp://a:hunter2@host/x',), 'CF_WATCH_PASSWORD_TRY'),
            (('',), 'is missing'), ((), 'try'), (('test', '--check'), 'FILE')):
        status, out, errors = run('--try', *arguments)
        expect(status == 2 and not out and words in errors, (arguments, status, out, errors))
        expect('hunter2' not in errors, errors)
    path = os.path.join(folder, 'no.avi')
    with open(path, 'wb') as file:
        file.write(b'nothing')
    for source, words in ((path, 'lost: '), ('rtsp://127.0.0.1:1/x', 'lost: source: Nothing answers at this address')):
        with Trial(folder, source) as one:
            one.until('it is lost', lambda camera: camera['state'] == 'waiting')
            expect(words in (said := one.end()[1]) and 'error: ' not in said, said)


# Lines with what is easily lost: quotes, spaces, lists, numbers of all kinds, what one setting implies of another.
LINES = (
    'cudamedian kernel-size=5',
    'cudamedian kernel-width=3 kernel-height=7 percentile=25 threshold=9 roi="0,0,0.5,0.5; 0.5,0.5,0.25,0.25"',
    'cudamedian temporal-method=running motion-meta=true zones="door: 0.1,0.2 0.4,0.2 0.4,0.6" output=still',
    'cudaconvolve kernel="0 1 0; 1 -4 1; 0 1 0" bias=128 divisor=2',
    'cudaconvolve name=hide preset=fill fill-color=0xff102030',
    'cudaconvolve preset=unsharp kernel-size=7 amount=1.5 ! cudamedian',
    'cudairfilter preset=deblur noise=2 sigma=1.25',
    'cudairfilter preset=soft sigma=40 apply-to=luma',
    'cudasegment output=boundaries boundary-color=0xffffff00 seeds="20,20; 40,30"',
    'cudadenoise strength=120',
    'capsfilter caps=video/x-raw,format=GRAY8 ! cudamedian name=m1',
    r'textoverlay text="say \"a \\ b\" ! c" ! cudamedian',
    'identity',
    'queue ! cudamedian mask-polygons="0.1,0.1 0.2,0.1 0.2,0.2;"')


def lines(folder):
    """The line that a camera answers makes the same elements with the same values, for each filter, and again when
    something was set; `filter` takes it; a filter in branches has none."""
    def values(page):
        answer = page.api('GET', 'cameras/door/elements')
        return answer['line'], [(element['kind'], element['name'], {
            one['name']: one['value'] for one in element['properties']}) for element in answer['elements']]

    def without_numbers(elements):
        return [(kind, re.sub(r'\d+$', '', name), all_values) for kind, name, all_values in elements]

    with Page({'door': {'source': 'test', **SMALL}}, folder) as page:
        page.wait('started', 'door')
        for line in LINES:
            page.api('PUT', 'cameras/door/filter', line)
            page.wait('command', 'door', command='filter', by='page')
            page.wait('back', 'door')
            first, before = values(page)
            page.api('PUT', 'cameras/door/filter', first)
            page.wait('back', 'door')
            again, after = values(page)
            expect('color=0x' in first or 'color' not in line, first)
            expect(first == again and without_numbers(before) == without_numbers(after), (line, first, again))
            expect(page.ask('filter door ' + again)['ok'], again)
            page.wait('back', 'door')
        page.api('PUT', 'cameras/door/filter', 'cudaconvolve name=hide')
        page.wait('back', 'door')
        page.api('PUT', 'cameras/door/elements/hide/kernel', '1 2 1')
        page.api('PUT', 'cameras/door/elements/hide/roi', '0,0,0.5,0.5; 0.1,0.1,0.1,0.1')
        line = values(page)[0]
        expect('roi="0,0,0.5,0.5; 0.1,0.1,0.1,0.1"' in line and 'kernel="1 2 1"' in line and 'name=hide' in line, line)
        branches = 'tee name=t t. ! queue ! compositor name=c t. ! queue ! c. c. ! identity'
        page.api('PUT', 'cameras/door/filter', branches.replace('tee', 'identity ! tee'))
        page.wait('back', 'door')
        expect('line' not in page.api('GET', 'cameras/door/elements'), 'the line of branches')
        n = len(page.events)
        for line, words in (('cudamedia', 'no element'), ('a b', 'no element'), ('fakesink', 'source pad')):
            expect(words in page.api('PUT', 'cameras/door/filter', line, 422)['error'], line)
        expect(all(event['type'] != 'command' for event in page.events[n:]), 'what was refused is an event')
        page.ask('reload')
        page.wait('back', 'door')
        expect(values(page)[0] == 'identity', 'the file counts again')
        page.end()


def compare(web):
    """Before and after of the same frame, on both sides of a slider that keys move as well."""
    color = """
        const [side, x] = arguments, image = document.getElementById(side), canvas = document.createElement('canvas');
        if (document.getElementById('pair').classList.contains('away') || !image.naturalWidth)
          return -1;
        const context = canvas.getContext('2d');
        context.drawImage(image, image.naturalWidth * x, image.naturalHeight / 2, 1, 1, 0, 0, 1, 1);
        return context.getImageData(0, 0, 1, 1).data[0];"""
    edge = """
        const box = document.getElementById('pair').getBoundingClientRect();
        const line = document.getElementById('edge').getBoundingClientRect();
        return [Math.round(100 * (line.left + 1 - box.left) / box.width),
          getComputedStyle(document.getElementById('before')).clipPath];"""
    web.run('const c = document.getElementById("line"); c.value = "cudaconvolve preset=fill fill-color=0xff000000";'
            'document.querySelector("#change button").click()')
    web.until('the filter', lambda: web.run('return controls.has("0/fill-color")'))
    web.run('document.getElementById("compare").click()')
    web.until('both sides', lambda: web.run(color, 'before', 0.5) > 200 and 0 <= web.run(color, 'after', 0.5) < 60)
    expect(web.run(edge) == [50, 'inset(0px 50% 0px 0px)'], web.run(edge))
    left, top, width, height = web.run('const box = document.getElementById("split").getBoundingClientRect();'
                                       'return [box.left, box.top, box.width, box.height]')
    web.drag((left + width / 2, top + height / 2), (left + width * 0.7, top + height / 2),
             (left + width * 0.8, top + height / 2))
    place = web.run(edge)
    expect(75 < place[0] < 85 and 'inset' in place[1] and place[1] != 'inset(0px 50% 0px 0px)', place)
    web.run('document.getElementById("split").focus()')
    web.keys('\ue012', '\ue012', '\ue013')  # left, left, up
    expect(web.run(edge)[0] == place[0] - 1, (place, web.run(edge)))
    web.run('document.getElementById("compare").click()')
    web.until('no pair any more', lambda: web.run('return document.getElementById("pair").hidden'))
    web.run('const c = document.getElementById("line"); c.value = "cudamedian kernel-size=9";'
            'document.querySelector("#change button").click()')
    web.until('the filter', lambda: web.run('return controls.has("0/percentile")'))


def browser(folder):
    """In Chromium, the printed link leads to the source: another line, an example, a property, and what there is to
    copy then; a line that is wrong changes nothing."""
    with Trial(folder, 'test:white', 'cudaconvolve', 'preset=fill', 'roi=0.25,0.25,0.5,0.5') as one, \
            Browser(folder) as web:
        value = 'return document.getElementById(arguments[0]).value'
        line = 'document.getElementById("line").value = arguments[0]; document.querySelector("#change button").click()'
        one.until('a picture', lambda camera: camera['state'] == 'up')
        web.go(one.link)
        expect('token' not in web.until('the page', lambda: web.run('return location.href')), 'the token is in reach')
        web.until('the line', lambda: 'roi=0.25,0.25,0.5,0.5 ' in web.run(value, 'line'))
        web.run('document.getElementById("examples").focus()')
        examples = web.run('return [...document.getElementById("examples").options].map(one => one.value)')
        for example in examples[1:]:
            web.run('const e = document.getElementById("examples"); e.value = arguments[0]; e.onchange({target: e});'
                    'document.querySelector("#change button").click()', example)
            web.until(f'{example}: it runs', lambda e=example: web.run(value, 'line') == one.api(
                'GET', 'cameras/try/elements')['line'] and one.until(e, lambda now: now['state'] == 'up') and
                web.run('return controls.size > 10 && [...document.querySelectorAll("figure:not([hidden]) img")]'
                        '.every(one => one.src && one.complete)'))
        expect(len(examples) > 6, examples)
        web.run(line, 'cudamedian')
        web.until('another line', lambda: web.run('return controls.has("0/percentile")'))
        web.run('const c = controls.get("0/kernel-size"); c.input.value = 9; c.input.onchange()')
        web.until('what is set', lambda: web.run(value, 'as-line') == 'cudamedian kernel-size=9')
        expect(json.loads('{' + web.run(value, 'as-json') + '}') == {'filter': 'cudamedian kernel-size=9'}, 'as JSON')
        compare(web)
        # The page may ask for the face of a second element just when a line of one element has taken its place.
        gone = r'.*/elements/[1-9][0-9]*/face\.jpg\?\S* - Failed to load resource: .* 404 \(Not Found\)'
        said = [text for text in web.console() if not re.fullmatch(gone, text)]
        expect(not said, f'the console: {said}')
        web.run(line, 'cudamedia')
        web.until('what is wrong', lambda: 'no element' in web.run(
            'return document.getElementById("note").textContent'))
        expect(one.api('GET', 'cameras/try/elements')['line'] == 'cudamedian kernel-size=9', 'a wrong line')
        one.end()


if __name__ == '__main__':
    sys.exit(main(trial, refused, lines, browser))
