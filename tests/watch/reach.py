#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: what a camera in a stranger's hands may not reach, and whose certificate counts. See harness.py."""
import contextlib
import os
import re
import socketserver
import ssl
import subprocess
import sys
import threading

from harness import SECONDS, Watch, Web, expect, main, need

WORD = 'Tr0ub4dor&3'
ENV = {f'CF_WATCH_{what}_{name}': text for name in ('A', 'B', 'C', 'D')
       for what, text in (('USER', 'viewer'), ('PASSWORD', WORD))}


def picture(folder):
    """Returns a JPEG."""
    need('gst-launch-1.0')
    path = os.path.join(folder, 'picture.jpg')
    if not os.path.exists(path):
        subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=1', '!',
                        'video/x-raw,format=I420,width=64,height=48', '!', 'jpegenc', '!', 'filesink',
                        f'location={path}'], check=True, timeout=SECONDS)
    with open(path, 'rb') as file:
        return file.read()


def certificate(folder, name):
    """Makes a certificate that only its own key has signed. Returns (its file, its key's, its SHA-256)."""
    need('openssl')
    files = [os.path.join(folder, name + end) for end in ('.pem', '.key')]
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
                    '-days', '2', '-subj', '/CN=camera', '-addext', 'subjectAltName=IP:127.0.0.1', '-out', files[0],
                    '-keyout', files[1]], check=True, capture_output=True, timeout=SECONDS)
    text = subprocess.run(['openssl', 'x509', '-noout', '-fingerprint', '-sha256', '-in', files[0]], check=True,
                          capture_output=True, text=True, timeout=SECONDS).stdout
    return *files, text.strip().split('=')[1]


def server_tls(files):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files[:2])
    return context


class Rtsp(socketserver.ThreadingTCPServer):
    """A server of RTSP on loopback while its `with` lasts. `requests` has their first lines and what they log in with;
    it answers each by what `answer (method)` returns: the status and lines of the header."""
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, answer, tls=None):
        self.requests, self.lines, self.tls = [], answer, tls
        super().__init__(('127.0.0.1', 0), Request)
        self.address = f'rtsp{"s" if tls else ""}://127.0.0.1:{self.server_address[1]}/x'
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """Clients that go away, or that do not like the certificate, are no errors here."""


class Request(socketserver.StreamRequestHandler):
    def setup(self):
        if self.server.tls:
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def handle(self):
        head = []
        while line := self.rfile.readline().decode().strip() or head:
            if line is not head:
                head.append(line)
                continue
            self.server.requests.append((head[0], [one for one in head if one.startswith('Authorization')]))
            sequence = next(one for one in head if one.lower().startswith('cseq'))
            lines = [*self.server.lines(head[0].split()[0]), sequence]
            self.wfile.write(('RTSP/1.0 ' + '\r\n'.join(lines) + '\r\n\r\n').encode())
            head = []


def playlists(folder):
    """A camera that sends a playlist, or the description of a stream, has neither files nor servers read."""
    asked = []

    def inner_answer(request):
        asked.append(request.path)
        request.send_error(404)

    with Web(inner_answer) as inner:
        clip = os.path.join(folder, 'clip.ts')
        texts = {
            f'/{n}/{place}': (kind, text.format(uri=uri)) for place, uri in (
                ('file', 'file://' + clip), ('server', inner.address + '/clip.ts')) for n, (kind, text) in enumerate((
                    ('application/vnd.apple.mpegurl', '#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:10\n'
                     '#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:10,\n{uri}\n#EXT-X-ENDLIST\n'),
                    ('application/dash+xml', '<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" '
                     'type="static" mediaPresentationDuration="PT3S" minBufferTime="PT1S" '
                     'profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period><AdaptationSet '
                     'mimeType="video/mp2t"><Representation id="1" bandwidth="1"><BaseURL>{uri}</BaseURL>'
                     '</Representation></AdaptationSet></Period></MPD>'),
                    ('text/uri-list', '{uri}\n')))}
        texts['/sdp'] = ('application/sdp', 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=x\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n'
                         'm=video 5004 RTP/AVP 26\r\n')

        def send(request):
            kind, text = texts[request.path]
            request.send_response(200)
            request.send_header('Content-Type', kind)
            request.send_header('Content-Length', str(len(text)))
            request.end_headers()
            request.wfile.write(text.encode())

        need('gst-launch-1.0')
        subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=25', '!', 'video/x-raw,width=64,height=48',
                        '!', 'jpegenc', '!', 'matroskamux', '!', 'filesink', f'location={clip}'], check=True,
                       timeout=SECONDS)
        with Web(send) as web:
            cameras = {f'cam{n}': {'source': web.address + path, 'timeout': 5} for n, path in enumerate(texts)}
            with Watch({'cameras': cameras}, folder) as watch:
                for name in cameras:
                    lost = watch.wait('lost', name, after={'seq': 0})
                    if 'cam0' == name:
                        expect('application/x-hls' in lost['reason'] and 'not followed' in lost['reason'], lost)
                watch.end()
                started = [event for event in watch.events if event['type'] == 'started']
                expect(not started and not asked, (started, asked))


def redirects(folder):
    """A camera that redirects is not followed: its password, and requests of this machine, are for its address."""
    seen = []

    def other_answer(request):
        seen.append((request.path, request.headers.get('Authorization')))
        request.send_response(401)
        request.send_header('WWW-Authenticate', 'Basic realm="x"')
        request.send_header('Content-Length', '0')
        request.end_headers()

    def redirect(request):
        if request.path == '/first' and not request.headers.get('Authorization'):
            other_answer(request)
            seen.pop()
            return
        request.send_response(302)
        request.send_header('Location', other.address + request.path)
        request.send_header('Content-Length', '0')
        request.end_headers()

    def challenge(_method):
        return '401 Unauthorized', 'WWW-Authenticate: Basic realm="x"'

    def to_other(_method):
        return '302 Found', f'Location: {other_rtsp.address}'

    with Web(other_answer) as other, Web(redirect) as web, Rtsp(challenge) as other_rtsp, Rtsp(to_other) as rtsp, \
            Rtsp(challenge) as own:
        cameras = {'a': {'source': web.address + '/at-once'}, 'b': {'source': web.address + '/first'},
                   'c': {'source': rtsp.address}, 'd': {'source': own.address}}
        with Watch({'cameras': cameras}, folder, ENV) as watch:
            for name, to in (('a', 'another address (302)'), ('b', 'another address (302)'),
                             ('c', other_rtsp.address)):
                lost = watch.wait('lost', name, after={'seq': 0})
                expect(f'redirects to {to}: that is not followed' in lost['reason'], lost)
            watch.wait('lost', 'd', after={'seq': 0})
            watch.end()
            expect(WORD not in watch.text, 'a password is shown')
    expect(not seen and not other_rtsp.requests, (seen, other_rtsp.requests))
    expect(any(login for _, login in own.requests), 'no camera is logged in to: the others had seen no password either')


def certificates(folder):
    """A camera with a certificate of its own: refused with a reason that names it, taken with tls_ca or tls_pin."""
    own, foreign = certificate(folder, 'own'), certificate(folder, 'foreign')
    jpeg, done = picture(folder), threading.Event()
    pin = own[2].replace(':', '').lower()

    def send(request):
        request.send_response(200)
        request.send_header('Content-Type', 'multipart/x-mixed-replace;boundary=next')
        request.end_headers()
        while not done.wait(0.1):
            request.wfile.write(b'--next\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n' %
                                (len(jpeg), jpeg))

    def found(_method):
        return '404 Not Found', 'X: y'

    ways = {'none': {}, 'pin': {'tls_pin': own[2]}, 'ca': {'tls_ca': own[0]}, 'other-pin': {'tls_pin': foreign[2]},
            'other-ca': {'tls_ca': foreign[0]}}
    # Each has a server of its own: GLib resumes a session with one that it has trusted.
    with contextlib.ExitStack() as servers:
        cameras = {}
        for way, settings in ways.items():
            web = servers.enter_context(Web(send))
            web.socket = server_tls(own).wrap_socket(web.socket, server_side=True, do_handshake_on_connect=False)
            rtsp = servers.enter_context(Rtsp(found, server_tls(own)))
            cameras[f'http-{way}'] = {'source': web.address.replace('http', 'https'), **settings}
            cameras[f'rtsp-{way}'] = {'source': rtsp.address, **settings}
        with Watch({'cameras': cameras}, folder) as watch:
            for name in cameras:
                good = name.split('-', 1)[1] in ('pin', 'ca')
                if good and name.startswith('http'):
                    watch.wait('started', name, after={'seq': 0})
                    continue
                reason = watch.wait('lost', name, after={'seq': 0})['reason']
                expect(good == ('certificate' not in reason), (name, reason))
                expect(good or pin in reason, (name, reason))
                expect(not good or re.search('[Nn]ot [Ff]ound|404', reason), (name, reason))
            done.set()
            watch.end()


if __name__ == '__main__':
    sys.exit(main(playlists, redirects, certificates))
