# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Runs cf-watch for the tests: sends commands, reads its lines, and holds each of them against the schemas.

Every wait is for a line, with a deadline. A test program calls `main ()` with its functions; it ends with the line
`N passed, N failed, N skipped`.
"""
import http.server
import json
import math
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

try:
    import jsonschema
except ImportError:
    jsonschema = None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(os.environ.get('CF_BUILD', 'build'), 'pipelines', 'watch', 'cf-watch')
SECONDS = 20 * int(os.environ.get('CF_WATCH_SLOW', '1'))  # of patience: a loaded machine, a sanitizer


class Skip(Exception):
    """What the test needs is missing."""


class Failed(Exception):
    """The program did not do what was expected."""


def schema(name):
    """Returns a validator, or None where python3-jsonschema is missing."""
    if not jsonschema:
        return None
    with open(os.path.join(ROOT, 'pipelines', 'watch', name + '.schema.json'), encoding='utf-8') as file:
        content = json.load(file)
    jsonschema.Draft202012Validator.check_schema(content)
    return jsonschema.Draft202012Validator(content)


SCHEMAS = {name: schema(name) for name in ('config', 'event', 'status')}


def no_constant(name):
    raise Failed(f'{name} is not JSON')


def parse(line):
    """Returns a line as an object; it must be strict JSON and fit the schema of its kind."""
    value = json.loads(line, parse_constant=no_constant)
    if 'ok' in value:
        if not isinstance(value['ok'], bool) or value['ok'] == ('error' in value):
            raise Failed(f'no answer: {line}')
        kind, part = 'status', value.get('status')
    else:
        kind, part = 'event', value
    if part is not None and SCHEMAS[kind]:
        errors = [f'{error.json_path}: {error.message}' for error in SCHEMAS[kind].iter_errors(part)]
        if errors:
            raise Failed(f'{line}\n  does not fit {kind}.schema.json: {errors[:3]}')
    return value


class Watch:
    """A running cf-watch. `events` has all events so far, in order; `answers` those that no command has taken."""

    def __init__(self, config, folder, env=None, wrapper=()):
        self.folder = folder
        self.path = os.path.join(folder, 'watch.json')
        self.write(config)
        self.events, self.answers, self.text = [], [], ''
        self.buffer = b''
        self.taken = 0
        with open(os.path.join(folder, 'stderr'), 'wb') as errors:
            self.process = subprocess.Popen([*wrapper, PROGRAM, self.path], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, cwd=folder,
                                            env={**os.environ, 'XDG_STATE_HOME': os.path.join(folder, 'state'),
                                                 **(env or {})})
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.selector.close()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass
        if kind and kind is not Skip:
            print(f'---- its last lines:\n{self.text[-3000:]}\n---- its errors:\n{self.stderr()[-2000:]}')

    def write(self, config):
        text = config if isinstance(config, str) else json.dumps(config)
        with open(self.path, 'w', encoding='utf-8') as file:
            file.write(text)

    def stderr(self):
        with open(os.path.join(self.folder, 'stderr'), encoding='utf-8', errors='replace') as file:
            return file.read()

    def read(self, deadline):
        """Takes what the program has written; waits for more until the deadline. Returns False at its end."""
        if not self.selector.select(max(0, deadline - time.monotonic())):
            raise Failed('no line came in time')
        data = os.read(self.process.stdout.fileno(), 65536)
        self.buffer += data
        *lines, self.buffer = self.buffer.split(b'\n')
        for line in lines:
            text = line.decode('utf-8')
            self.text += text + '\n'
            value = parse(text)
            if 'ok' in value:
                self.answers.append(value)
                continue
            if value['seq'] != len(self.events) + 1:
                raise Failed(f'event {len(self.events) + 1} is missing: {text}')
            self.events.append(value)
        return bool(data)

    def status(self):
        """Waits for the end of the program and returns its exit status, the negative number of a signal."""
        return self.process.wait(timeout=SECONDS)

    def ask(self, command, ok=True):
        """Sends a command and returns its answer, which has to be `ok` or not (None: any)."""
        self.send(command)
        answer = self.answer()
        if ok is not None and answer['ok'] != ok:
            raise Failed(f'{command!r}: {answer}')
        return answer

    def send(self, command):
        self.process.stdin.write(command if isinstance(command, bytes) else command.encode() + b'\n')
        self.process.stdin.flush()

    def answer(self):
        deadline = time.monotonic() + SECONDS
        while not self.answers:
            if not self.read(deadline):
                raise Failed(f'the program has ended with {self.status()}, without an answer')
        return self.answers.pop(0)

    def wait(self, kind, camera=None, after=None, **members):
        """Returns the first event of this type (and so on) behind the event `after`, or behind what wait returned
        last."""
        at = after['seq'] if after else self.taken
        deadline = time.monotonic() + SECONDS
        while True:
            while at < len(self.events):
                event = self.events[at]
                at += 1
                if event['type'] == kind and event.get('camera') == camera and \
                        all(event.get(name) == value for name, value in members.items()):
                    self.taken = max(self.taken, at)
                    return event
            if not self.read(deadline):
                raise Failed(f'the program has ended with {self.status()}, without {kind} of {camera}')

    def until(self, what, condition):
        """Asks for the status again and again, with a pause for events, until the condition on it holds."""
        deadline = time.monotonic() + SECONDS
        while True:
            status = self.ask('status')['status']
            if condition(status):
                return status
            if time.monotonic() > deadline:
                raise Failed(f'it did not come about: {what}; {status}')
            pause = time.monotonic() + 0.1
            while time.monotonic() < pause and self.selector.select(pause - time.monotonic()):
                self.read(deadline)

    def end(self, command='quit', code=0):
        """Ends the program and reads to its end. Returns the exit status."""
        if command:
            self.send(command)
        return self.finish(code)

    def kill(self, number=signal.SIGTERM, code=0):
        self.process.send_signal(number)
        return self.finish(code)

    def finish(self, code):
        deadline = time.monotonic() + SECONDS
        while self.read(deadline):
            pass
        status = self.status()
        if code is not None and status != code:
            raise Failed(f'it ended with {status}, not {code}')
        if 'CRITICAL' in self.stderr():
            raise Failed(self.stderr())
        return status


def run(*arguments, env=None):
    """Runs cf-watch to its end. Returns (exit status, standard output, standard error)."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=SECONDS, check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
    if 'CRITICAL' in done.stderr:
        raise Failed(done.stderr)
    return done.returncode, done.stdout, done.stderr


def expect(condition, what):
    if not condition:
        raise Failed(what)


def need(*programs):
    """Returns the paths of programs, or skips the test."""
    for name in programs:
        if not shutil.which(name):
            raise Skip(f'{name} is missing')


def plugins_but(folder, *left_out, more=()):
    """Returns an environment in which GStreamer has the plugins of this machine but for those with one of these words
    in the name of their file, and those files besides."""
    need('gst-inspect-1.0')
    text = subprocess.run(['gst-inspect-1.0', 'videotestsrc'], capture_output=True, text=True, check=True).stdout
    system, plugins = os.path.dirname(re.search(r'Filename +(\S+)', text).group(1)), os.path.join(folder, 'plugins')
    os.mkdir(plugins)
    for path in [os.path.join(system, name) for name in os.listdir(system)
                 if not any(word in name for word in left_out)] + list(more):
        if not os.path.exists(path):
            raise Skip(f'{path} is not built')
        os.symlink(path, os.path.join(plugins, os.path.basename(path)))
    return {'GST_PLUGIN_SYSTEM_PATH_1_0': plugins, 'GST_PLUGIN_SYSTEM_PATH': plugins,
            'GST_REGISTRY': os.path.join(folder, 'registry.bin'), 'GST_REGISTRY_FORK': 'no'}


STAND_IN = os.path.join(os.environ.get('CF_BUILD', 'build'), 'tests', 'watch', 'libgstfakev4l2.so')


def talk(path, text):
    """Sends lines to a control socket. Returns the answers."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.sendall(text.encode())
        client.shutdown(socket.SHUT_WR)
        data = b''
        while chunk := client.recv(65536):
            data += chunk
    return [json.loads(line) for line in data.decode().splitlines()]


def sanitized():
    """Returns whether the program has the address sanitizer: its malloc keeps what is freed, and counts nothing."""
    with open(PROGRAM, 'rb') as file:
        return b'__asan_init' in file.read()


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as server:
        return server.getsockname()[1]


class Stream:
    """A client's connection; `data` has come and is not dealt with."""

    def __init__(self, port, buffer=None, context=None):
        self.socket, self.data = socket.socket(), b''
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(SECONDS)
        self.socket.connect(('127.0.0.1', port))
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname='127.0.0.1')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def more(self):
        chunk = self.socket.recv(1 << 16)
        if not chunk:
            raise EOFError
        self.data += chunk


class Web(http.server.ThreadingHTTPServer):
    """A web server on loopback while its `with` lasts. It calls `answer (request)` for each GET; without one, each
    fails."""
    daemon_threads = True

    def __init__(self, answer=None):
        methods = {'log_message': lambda *_: None, **({'do_GET': answer} if answer else {})}
        super().__init__(('127.0.0.1', 0), type('Request', (http.server.BaseHTTPRequestHandler,), methods))
        self.address = f'http://127.0.0.1:{self.server_address[1]}'
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """Clients that go away are no errors here."""


def probe(path, share=1.0):
    """Returns (seconds, frames, width, height, largest step between frames in s) of a video file, by ffprobe. With a
    share below 1, so many of the steps are not larger."""
    need('ffprobe')
    text = subprocess.run(['ffprobe', '-v', 'error', '-select_streams', 'v', '-show_entries',
                           'stream=width,height:frame=pts_time', '-of', 'json', path], capture_output=True, text=True,
                          check=True, timeout=SECONDS).stdout
    found = json.loads(text)
    times = [float(frame['pts_time']) for frame in found['frames']]
    steps = sorted(b - a for a, b in zip(times, times[1:]))
    stream = found['streams'][0]
    step = steps[math.ceil(share * len(steps)) - 1] if steps else 0
    return times[-1] - times[0], len(times), stream['width'], stream['height'], step


def main(*tests):
    """Runs the tests, or those that the command line names. Each gets a folder of its own. Debian's jsonschema is the
    system's Python's, which is not always the first in the path."""
    system = '/usr/bin/python3'
    if not jsonschema and os.path.realpath(system) != os.path.realpath(sys.executable) and subprocess.run(
            [system, '-c', 'import jsonschema'], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.execv(system, [system, *sys.argv])
    if not os.path.exists(PROGRAM):
        print(f'{PROGRAM} is not built (json-glib or gio is missing)\n0 passed, 0 failed, {len(tests)} skipped')
        return 77
    wanted = sys.argv[1:]
    passed = failed = skipped = 0
    for test in tests:
        if wanted and test.__name__ not in wanted:
            continue
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix='cf-watch-') as folder:
            try:
                test(folder)
                passed += 1
                print(f'ok: {test.__name__}, {time.monotonic() - begun:.1f} s')
            except Skip as reason:
                skipped += 1
                print(f'skipped: {test.__name__}: {reason}')
            except Exception:  # pylint: disable=broad-except
                failed += 1
                print(f'FAIL: {test.__name__}\n{re.sub("(?m)^", "  ", traceback.format_exc())}')
        sys.stdout.flush()
    if not jsonschema:
        skipped += 1
        print('skipped: the schemas of events and status: python3-jsonschema is missing')
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    if failed or passed + skipped == 0:
        return 1
    return 0 if passed else 77
