#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""A network camera for tests: an RTSP server on loopback that asks for a password.

usage: camera.py PORT CODEC FILE

CODEC: clip (the H.264 or H.265 byte stream FILE, again and again), live (an H.264 test picture, which changes its size
between 160 x 120 and 192 x 144 with each line "size" on standard input) or jpeg (a test picture as MJPEG). The name and
the password are in the environment, CAMERA_USER and CAMERA_PASSWORD. Prints "ready" when it listens. It ends with its
standard input.
"""
import os
import signal
import sys
import threading

import gi
gi.require_version('Gst', '1.0')
gi.require_version('GstRtspServer', '1.0')
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402

RATE = 10
SIZES = (160, 120), (192, 144)
TEST = 'videotestsrc is-live=true pattern=ball ! capsfilter name=size caps={} ! '


def size_caps(size):
    return f'video/x-raw,format=I420,width={size[0]},height={size[1]},framerate={RATE}/1'


def line_of(codec, path):
    if codec == 'jpeg':
        return TEST.format(size_caps(SIZES[0])) + 'jpegenc ! rtpjpegpay name=pay0'
    if codec == 'live':
        return TEST.format(size_caps(SIZES[0])) + \
            f'x264enc tune=zerolatency speed-preset=ultrafast key-int-max={RATE} threads=1 ! ' \
            'rtph264pay config-interval=-1 name=pay0'
    kind = 'h265' if path.endswith('.h265') else 'h264'
    return f'multifilesrc location={path} loop=true ' \
        f'caps=video/x-{kind},stream-format=byte-stream,framerate={RATE}/1 ! {kind}parse ! ' \
        f'rtp{kind}pay config-interval=-1 name=pay0'


class Camera:
    def __init__(self, port, codec, path):
        self.size, self.filter = 0, None
        self.server = GstRtspServer.RTSPServer()
        self.server.set_address('127.0.0.1')
        self.server.set_service(str(port))
        factory = GstRtspServer.RTSPMediaFactory()
        factory.set_launch(f'( {line_of(codec, path)} )')
        factory.set_shared(True)
        factory.connect('media-configure', self.configure)
        role = Gst.Structure.new_empty('viewer')
        for permission in (GstRtspServer.RTSP_PERM_MEDIA_FACTORY_ACCESS,
                           GstRtspServer.RTSP_PERM_MEDIA_FACTORY_CONSTRUCT):
            role.set_value(permission, True)
        factory.add_role_from_structure(role)
        self.server.get_mount_points().add_factory('/stream', factory)
        token = GstRtspServer.RTSPToken()
        token.set_string(GstRtspServer.RTSP_TOKEN_MEDIA_FACTORY_ROLE, 'viewer')
        auth = GstRtspServer.RTSPAuth()
        basic = GstRtspServer.RTSPAuth.make_basic(os.environ['CAMERA_USER'], os.environ['CAMERA_PASSWORD'])
        auth.add_basic(basic, token)
        self.server.set_auth(auth)

    def configure(self, _factory, media):
        self.filter = media.get_element().get_by_name_recurse_up('size')
        self.set_size()

    def set_size(self):
        if self.filter is not None:
            self.filter.set_property('caps', Gst.Caps.from_string(size_caps(SIZES[self.size])))

    def change_size(self):
        self.size = 1 - self.size
        self.set_size()
        return GLib.SOURCE_REMOVE


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the test
    Gst.init(None)
    loop = GLib.MainLoop()
    camera = Camera(int(sys.argv[1]), *sys.argv[2:])
    if camera.server.attach(None) == 0:
        sys.exit(f'port {sys.argv[1]} cannot be had')

    def read_commands():
        for line in sys.stdin:
            if line == 'size\n':
                GLib.idle_add(camera.change_size)
        loop.quit()

    threading.Thread(target=read_commands, daemon=True).start()
    print('ready', flush=True)
    loop.run()
    os._exit(0)  # without the seconds that threads of the server may take


if __name__ == '__main__':
    main()
