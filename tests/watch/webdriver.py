# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Chromium, driven by WebDriver with nothing but Python's library."""
import base64
import json
import subprocess
import time
import urllib.error
import urllib.request

from harness import SECONDS, Failed, expect, need


class Browser:
    """A Chromium without a window while its `with` lasts."""

    def __init__(self, folder, width=1280, height=900):
        need('chromium', 'chromedriver')
        self.session = None
        self.driver, started = None, None
        arguments = ['--headless=new', '--no-sandbox', '--disable-gpu', f'--window-size={width},{height}',
                     f'--user-data-dir={folder}/browser-{width}']
        options = {'browserName': 'chrome', 'goog:loggingPrefs': {'browser': 'ALL'},
                   'goog:chromeOptions': {'args': arguments}}
        try:
            for _ in range(3):  # it ends where another program has its port for IPv4 or for IPv6
                self.driver = subprocess.Popen(['chromedriver', '--port=0'], stdout=subprocess.PIPE,
                                               stderr=subprocess.DEVNULL)
                lines = []
                started = next((line for line in self.driver.stdout if b'started successfully on port' in line
                                or lines.append(line)), None)
                if started:
                    break
                self.driver.communicate()
            expect(started, f'chromedriver does not start: {lines}')
            self.address = 'http://127.0.0.1:' + started.split()[-1].decode().rstrip('.')
            answer = self.call('POST', '/session', {'capabilities': {'alwaysMatch': options}})
            self.session = '/session/' + answer['sessionId']
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            if self.session:
                self.call('DELETE', self.session)
        finally:
            self.driver.terminate()
            self.driver.communicate()

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {'Content-Type': 'application/json'}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=3 * SECONDS) as answer:
                return json.load(answer)['value']
        except urllib.error.HTTPError as error:
            raise Failed(error.read().decode()[:800]) from error

    def until(self, what, condition):
        """Asks again and again until the condition holds. Returns its value."""
        deadline = time.monotonic() + SECONDS
        while not (value := condition()):
            expect(time.monotonic() < deadline, f'the page: {what}')
        return value

    def go(self, address):
        self.call('POST', self.session + '/url', {'url': address})

    def run(self, script, *arguments):
        return self.call('POST', self.session + '/execute/sync', {'script': script, 'args': arguments})

    def phone(self, width=412, height=915):
        """Shows the page as on a phone: windows themselves are 500 wide at least."""
        self.call('POST', self.session + '/goog/cdp/execute', {
            'cmd': 'Emulation.setDeviceMetricsOverride',
            'params': {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': True}})

    def tab_to(self, what, most=80):
        """Goes on by the key Tab until an element has the focus, which has to be seen."""
        for _ in range(most):
            self.keys('\ue004')
            if self.run('return document.activeElement.matches(arguments[0])', what):
                expect(self.run('return getComputedStyle(document.activeElement).outlineStyle') == 'solid', what)
                return
        expect(False, f'Tab does not lead to {what}')

    def shot(self, path):
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.call('GET', self.session + '/screenshot')))

    def console(self):
        """Returns what the page has written there since the last call, such as what its policy refuses."""
        return [entry['message'] for entry in self.call('POST', self.session + '/se/log', {'type': 'browser'})]

    def act(self, *actions):
        self.call('POST', self.session + '/actions', {'actions': actions})

    def keys(self, *keys):
        self.act({'type': 'key', 'id': 'keys', 'actions': [
            {'type': kind, 'value': key} for key in keys for kind in ('keyDown', 'keyUp')]})

    def drag(self, *points):
        """Presses the mouse at the first point, and lets it go at the last."""
        moves = [{'type': 'pointerMove', 'x': round(x), 'y': round(y), 'duration': 20} for x, y in points]
        self.act({'type': 'pointer', 'id': 'mouse', 'parameters': {'pointerType': 'mouse'}, 'actions': [
            moves[0], {'type': 'pointerDown', 'button': 0}, *moves[1:], {'type': 'pointerUp', 'button': 0}]})
