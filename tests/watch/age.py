#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""How old pictures are, by RTSP and on the page, and what viewers cost cf-watch.

usage: CF_BUILD=BUILD GST_PLUGIN_PATH=BUILD/gst age.py [VIDEO [--seconds 8]]

A camera over HTTP sends the video (OpenCV's vtest.avi) at 25 frames/s, and paints the time of day into each frame.
Chromium shows that camera, and reads the time back: the age is from before the camera makes its JPEG until after the
browser has decoded what it got, so it has the camera's own encoder, the connection and the filter in it. GStreamer's
rtspsrc shows it in the same way. Then 1, 4 and 16 clients take the same pictures, and acknowledge them; the figure is
the CPU time of cf-watch alone. Meaningful only on a quiet machine.
"""
import argparse
import os
import select
import subprocess
import sys
import tempfile
import threading
import time

from harness import Skip, Web, main, need
from live import Client, Viewer, shown
from page import Page
from webdriver import Browser
from websocket import WebSocket

WIDTH, HEIGHT, RATE, BITS = 768, 576, 25, 32
OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument('video', nargs='?', default='/usr/share/doc/opencv-doc/examples/data/vtest.avi')
OPTIONS.add_argument('--seconds', type=float, default=8)
CHOSEN = argparse.Namespace()

READ = '''
  window.ages = []; window.looking = (window.looking ?? 0) + 1;
  const mine = window.looking, canvas = document.createElement('canvas');
  canvas.width = 512; canvas.height = 16;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  const read = (shown, width) => {
    context.drawImage(shown, 0, 0, width * 512 / 768, width * 16 / 768, 0, 0, 512, 16);
    const row = context.getImageData(0, 8, 512, 1).data;
    let stamp = 0;
    for (let bit = 31; bit >= 0; bit--)
      stamp = stamp * 2 + (row[(bit * 16 + 8) * 4] > 128 ? 1 : 0);
    const age = ((Date.now() >>> 0) - stamp) >>> 0;
    if (age < 60000 && mine === window.looking)
      window.ages.push(age);
  };
  const video = document.getElementById('video'), image = document.querySelector(arguments[0]);
  const next = () => { read(video, video.videoWidth); video.requestVideoFrameCallback(next); };
  if (arguments[0] === '#video')
    video.requestVideoFrameCallback(next);
  else
    new MutationObserver(() => image.decode().then(() => read(image, image.naturalWidth), () => {}))
      .observe(image, { attributeFilter: ['src'] });'''


class Stamped:
    """The camera."""

    def __init__(self, video, folder):
        need('gst-launch-1.0')
        if not os.path.exists(video):
            raise Skip(f'{video} is missing')
        raw = os.path.join(folder, 'raw')
        subprocess.run(['gst-launch-1.0', '-q', 'filesrc', f'location={video}', '!', 'decodebin', '!', 'videoconvert',
                        '!', 'videoscale', '!', f'video/x-raw,format=I420,width={WIDTH},height={HEIGHT}', '!',
                        'identity', 'eos-after=201', '!', 'filesink', f'location={raw}'], check=True)
        with open(raw, 'rb') as file:
            self.frames = list(iter(lambda: file.read(WIDTH * HEIGHT * 3 // 2), b''))
        self.web = Web(lambda request: self.answer(request))

    def write(self, pipe):
        """Writes stamped frames until nobody reads them."""
        begun = time.monotonic()
        try:
            for number in range(10**9):
                pause = begun + number / RATE - time.monotonic()
                select.select([], [], [], max(0, pause))
                now = int(time.time() * 1000)
                row = b''.join(bytes([235 if now >> bit & 1 else 16]) * 16 for bit in range(BITS))
                frame = self.frames[number % len(self.frames)]
                stamped = [row + frame[y * WIDTH + len(row):(y + 1) * WIDTH] for y in range(16)]
                gray = frame[WIDTH * HEIGHT:]
                pipe.write(b''.join(stamped) + frame[16 * WIDTH:WIDTH * HEIGHT] + gray)
                pipe.flush()
        except OSError:
            pass

    def answer(self, request):
        request.wfile.write(b'HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=b\r\n\r\n')
        encoder = subprocess.Popen(
            ['gst-launch-1.0', '-q', 'fdsrc', '!', 'rawvideoparse', f'width={WIDTH}', f'height={HEIGHT}', 'format=i420',
             f'framerate={RATE}/1', '!', 'jpegenc', '!', 'multipartmux', 'boundary=b', '!', 'fdsink', 'sync=false'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        threading.Thread(target=self.write, args=[encoder.stdin], daemon=True).start()
        try:
            while chunk := os.read(encoder.stdout.fileno(), 1 << 20):
                request.wfile.write(chunk)
        finally:
            encoder.kill()


def cpu(process):
    """Returns the seconds of CPU time that it has had."""
    with open(f'/proc/{process.pid}/stat', encoding='ascii') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def serve(page, clients, seconds):
    """Has clients read for so long: of each socket, what reads it and returns how many bytes it got. Returns the share
    of a core that cf-watch takes, and bytes a second."""
    begun, used, bytes_ = time.monotonic(), cpu(page.process), 0
    while time.monotonic() < begun + seconds:
        for client in select.select(list(clients), [], [], 0.1)[0]:
            bytes_ += clients[client]()
    took = time.monotonic() - begun
    return (cpu(page.process) - used) / took, bytes_ / took


def page_client(page, how):
    """Returns a page's socket, and what reads and acknowledges."""
    client, got = WebSocket(page.port, {'Authorization': 'Bearer ' + page.token}), 0
    client.send({'watch': 'door', 'channel': 1, **how})

    def take():
        nonlocal got
        before = got
        client.more()
        while len(client.data) > 10:
            message = client.read()
            if isinstance(message, bytes):
                got += len(message)
                client.send({'ack': 1, 'bytes': got})
        return got - before

    return client.socket, take


def rtsp_client(page, _):
    client = Client(page.ready['rtsp_port']).play()

    def take():
        client.more()
        taken, client.data = len(client.data), b''
        return taken

    return client.socket, take


def report_ages(what, ages, seconds, used):
    ages = sorted(ages)
    print(f'{what}: age p50 {ages[len(ages) // 2]} ms, p95 {ages[len(ages) * 95 // 100]} ms, '
          f'{len(ages) / seconds:.1f} pictures/s; {used:.1%} of a core')


def watch_rtsp(page, seconds):
    """Returns the ages of pictures by RTSP."""
    ages, end, used = [], time.monotonic() + seconds, cpu(page.process)
    # More threads of the decoder would each keep a frame.
    with Viewer(page.ready['rtsp_port'], size=(WIDTH, HEIGHT),
                decoder='rtph264depay ! h264parse ! avdec_h264 max-threads=1') as viewer:
        while time.monotonic() < end:
            row = viewer.frame()[8]
            stamp = sum((row[bit * 16 + 8] > 128) << bit for bit in range(BITS))
            ages.append(int(time.time() * 1000) - stamp & (1 << BITS) - 1)
    report_ages('rtsp', ages[RATE:], seconds, (cpu(page.process) - used) / seconds)  # the first came all at once


def measure_clients(page, what, make, how, seconds):
    for number in (1, 4, 16):
        clients = dict(make(page, how) for _ in range(number))
        serve(page, clients, 2)
        used, rate = serve(page, clients, seconds)
        print(f'{what}, {number} clients: {used:.1%} of a core, {rate / 1e6:.2f} MB/s')
        for client in clients:
            client.close()


def measure(folder):
    camera = Stamped(CHOSEN.video, folder)
    line = 'cudaconvolve preset=fill roi=0.45,0.4,0.1,0.2'
    cameras = {'door': {'source': camera.web.address, 'filter': line, 'live': True}}
    with camera.web, Page(cameras, folder, rtsp={'port': 0}) as page:
        page.wait('started', 'door')
        nobody = serve(page, {}, CHOSEN.seconds)[0]
        print(f'load {os.getloadavg()[0]:.1f}; nobody looks: {nobody:.1%} of a core')
        shown(page, page.ready['rtsp_port'])
        watch_rtsp(page, CHOSEN.seconds)
        measure_clients(page, 'rtsp', rtsp_client, None, CHOSEN.seconds)
        with Browser(folder) as web:
            web.go(page.link)
            for what, where in (('[href="#door"] img', ''), ('#video', 'door')):
                web.run(f'location.hash = "{where}"')
                web.until('pictures', lambda what=what: web.run(
                    'const c = document.querySelector(arguments[0])?.classList; return c && !c.contains("away")', what))
                web.run(READ, what)
                used = serve(page, {}, CHOSEN.seconds)[0]
                report_ages(what, web.run('return window.ages')[2:], CHOSEN.seconds, used)
        for how in ({'as': 'mp4'}, {'as': 'jpeg', 'width': 320, 'rate': 2}):
            measure_clients(page, how['as'], page_client, how, CHOSEN.seconds)
        page.end()


if __name__ == '__main__':
    OPTIONS.parse_args(namespace=CHOSEN)
    sys.argv[1:] = []  # main () takes none
    sys.exit(main(measure))
