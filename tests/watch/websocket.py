# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""A WebSocket's client (RFC 6455), with nothing but Python's library. It sends what it is told, also what is wrong."""
import base64
import hashlib
import json
import os
import struct
import time

from harness import SECONDS, Stream, expect

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Refused(Exception):
    """The server has not answered 101. Has the status, the headers and the body."""


class WebSocket(Stream):
    """A connection; `read ()` returns the next message: a JSON object, or bytes. It answers pings."""

    def __init__(self, port, headers, buffer=None, early=b'', context=None):
        super().__init__(port, buffer, context)
        key = base64.b64encode(os.urandom(16)).decode()
        all_of_them = {'Host': f'127.0.0.1:{port}', 'Upgrade': 'websocket', 'Connection': 'Upgrade',
                       'Sec-WebSocket-Key': key, 'Sec-WebSocket-Version': '13', **headers}
        sent = {name: value for name, value in all_of_them.items() if value}
        lines = ['GET /api/v1/ws HTTP/1.1', *(f'{name}: {value}' for name, value in sent.items()), '', '']
        try:
            self.socket.sendall('\r\n'.join(lines).encode() + early)
            while b'\r\n\r\n' not in self.data:
                self.more()
            head, self.data = self.data.split(b'\r\n\r\n', 1)
            first, *rest = head.decode().split('\r\n')
            answered = dict(line.split(': ', 1) for line in rest)
            if first.split()[1] != '101':
                while len(self.data) < int(answered.get('Content-Length', 0)):
                    self.more()
                raise Refused(int(first.split()[1]), answered, self.data)
            accept = hashlib.sha1((key + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').encode()).digest()
            expect(answered['Sec-WebSocket-Accept'] == base64.b64encode(accept).decode(), answered)
        except BaseException:
            self.socket.close()
            raise

    def take(self, n):
        while len(self.data) < n:
            self.more()
        taken, self.data = self.data[:n], self.data[n:]
        return taken

    def frame(self):
        """Returns the kind and the payload of the next frame, a whole message: the server sends no parts."""
        first, n = self.take(2)
        expect(first & 0xf0 == 0x80 and n < 128, f'a frame begins with {first:02x} {n:02x}')
        if n >= 126:
            n = int.from_bytes(self.take(2 if n == 126 else 8), 'big')
        return first & 15, self.take(n)

    def read(self):
        while True:
            kind, payload = self.frame()
            if kind == TEXT:
                return json.loads(payload)
            if kind == BINARY:
                return payload
            if kind == CLOSE:
                raise EOFError(int.from_bytes(payload[:2], 'big'))
            if kind == PING:
                self.send(payload, PONG)

    def send(self, payload, kind=TEXT, last=True, masked=True, length=None):
        """Sends a frame: bytes, or an object as JSON. `length` is what the frame says, if that is not its length."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        n = len(data) if length is None else length
        head = bytes([kind | 0x80 * last])
        size = bytes([n]) if n < 126 else struct.pack('>BH', 126, n) if n < 65536 else struct.pack('>BQ', 127, n)
        mask = os.urandom(4)
        if masked:
            size = bytes([size[0] | 0x80]) + size[1:] + mask
            data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
        self.socket.sendall(head + size + data)

    def until(self, condition):
        """Returns the first message for which the condition holds."""
        deadline = time.monotonic() + SECONDS
        while not condition(message := self.read()):
            expect(time.monotonic() < deadline, f'what is waited for does not come; the last: {message[:200]}'
                   if isinstance(message, bytes) else message)
        return message
