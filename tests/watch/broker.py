# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""A broker for the tests of cf-watch, and who listens to it: mosquitto and its clients. See harness.py."""
import atexit
import os
import selectors
import socket
import subprocess
import time

from harness import SECONDS, Failed, expect


class Broker:
    """mosquitto on a port of loopback, and a subscriber to all of it."""

    def __init__(self, folder, port):
        self.folder, self.port, self.process = folder, port, None

    def start(self):
        path = os.path.join(self.folder, 'mosquitto.conf')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(f'listener {self.port} 127.0.0.1\nallow_anonymous true\n')
        self.process = subprocess.Popen(['mosquitto', '-c', path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.process.kill)  # where the test fails before its end
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                socket.create_connection(('127.0.0.1', self.port)).close()
                return
            except ConnectionRefusedError as error:
                expect(time.monotonic() < deadline, error)

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=SECONDS)


class Subscriber:
    def __init__(self, port, *more, topic='#'):
        self.port = port
        self.process = subprocess.Popen(['stdbuf', '-oL', 'mosquitto_sub', '-p', str(port), '-h', '127.0.0.1', '-t',
                                         topic, '-q', '1', '-v', '-d', *more], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        atexit.register(self.process.kill)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.data = b''
        self.until(lambda lines: any(line.startswith('Subscribed') for line in lines))

    def until(self, condition):
        """Reads until the condition on the lines (topic, space, text) holds; returns them."""
        deadline = time.monotonic() + SECONDS
        while not condition(lines := self.data.decode(errors='replace').splitlines()):
            if not self.selector.select(max(0, deadline - time.monotonic())):
                raise Failed(f'the broker did not send it: {lines[-5:]}')
            self.data += os.read(self.process.stdout.fileno(), 65536)
        return lines

    def end(self):
        self.process.kill()  # its pipe may be full
        self.process.wait(timeout=SECONDS)
        self.process.stdout.close()
