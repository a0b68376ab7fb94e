#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Runs cf-watch with many test pictures, the four elements in turn, in system memory: none may lose a frame.

usage: cameras.py CF-WATCH [--seconds 300] [--cameras 64] [--size 1920x1080] [--backend cuda] [--viewers 16]
       cameras.py CF-WATCH --starts 10 --file FILE.mp4 [--cameras 64]

Prints when the first frames came, the frames and the drops of all cameras, on which GPU each is, and the memory; with
several GPUs they have to be dealt evenly. The pictures are smpte,
which takes a core 2 ms a frame of 1080p to draw; ball takes 9. The first ten seconds do not count: while all pipelines
start, the pictures themselves come late. With --starts it begins and ends so many times, as soon as all cameras show
the file's H.264, which NVIDIA's decoders decode: the driver's library has crashed processes at their end.

With --viewers so many pages are open, each with two small pictures a second of every camera (63 of them at most), and
the video of the first one.

Ends with the line N passed, N failed, N skipped.
"""
import argparse
import base64
import json
import multiprocessing
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time

LINES = ("cudamedian kernel-size=3", "cudaconvolve preset=privacy roi=0.3,0.3,0.4,0.4", "cudairfilter preset=smooth",
         "cudasegment")
START = 10
PORT = 18080


def configuration(options):
    width, height = map(int, options.size.split("x"))
    backend = f"backend={options.backend}" + (" on-gpu-error=error" if options.backend == "cuda" else "")
    cameras = {f"cam{i:03}": {"filter": f"{LINES[i % len(LINES)]} {backend}"} for i in range(options.cameras)}
    cameras["cam000"]["live"] = options.viewers > 0
    return {"defaults": {"width": width, "height": height, "rate": 30, "source": "test:smpte"}, "cameras": cameras,
            **({"page": {"port": PORT}} if options.viewers else {})}


class Watch:
    """A running cf-watch, its events so far, and its answers."""

    def __init__(self, program, config):
        self.events, self.answers, self.rest = [], [], b""
        self.process = subprocess.Popen([program, config], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def listen(self, seconds, wanted=None):
        """Reads what it says for so many seconds, until there are `wanted` answers, or until it ends."""
        end = time.monotonic() + seconds
        while wanted is None or len(self.answers) < wanted:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            said = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
            if not said:
                return
            *lines, self.rest = (self.rest + said).split(b"\n")
            for line in map(json.loads, lines):
                (self.answers if "ok" in line else self.events).append(line)

    def ask(self, command):
        """Sends a command. Returns its answer, or None where there is none."""
        wanted = len(self.answers) + 1
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        self.listen(60, wanted)
        return self.answers[-1] if len(self.answers) == wanted else None

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self):
        """Returns the most main memory that the process has had."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1000


class Page:
    """A page's WebSocket. Counts what it gets, and acknowledges it."""

    def __init__(self, token, cameras):
        self.socket = socket.create_connection(("127.0.0.1", PORT))
        self.socket.sendall((f"GET /api/v1/ws HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nUpgrade: websocket\r\n"
                             f"Connection: Upgrade\r\nAuthorization: Bearer {token}\r\nSec-WebSocket-Version: 13\r\n"
                             f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}\r\n\r\n").encode())
        self.data, self.begun, self.got, self.pictures = b"", False, {}, {}
        self.send({"watch": cameras[0], "channel": 255, "as": "mp4"})
        for channel, camera in enumerate(cameras[:63], 1):
            self.send({"watch": camera, "channel": channel, "as": "jpeg", "width": 320, "rate": 2})

    def fileno(self):
        return self.socket.fileno()

    def send(self, message):
        data = json.dumps(message).encode()
        self.socket.sendall(bytes([0x81, 0x80 | 126]) + struct.pack(">H", len(data)) + bytes(4) + data)

    def read(self):
        """Reads what is there. Returns False at the end."""
        data = self.socket.recv(1 << 20)
        self.data += data
        if not self.begun and b"\r\n\r\n" in self.data:
            head, self.data = self.data.split(b"\r\n\r\n", 1)
            self.begun = b" 101 " in head
        while self.begun and len(self.data) > 10:
            short = self.data[1]
            at = 2 if short < 126 else 4 if short == 126 else 10
            n = short if short < 126 else int.from_bytes(self.data[2:at], "big")
            if len(self.data) < at + n:
                break
            if self.data[0] == 0x82:
                channel = self.data[at + 1]
                self.got[channel] = self.got.get(channel, 0) + n
                self.pictures[channel] = self.pictures.get(channel, 0) + 1
                self.send({"ack": channel, "bytes": self.got[channel]})
            self.data = self.data[at + n:]
        return bool(data) and (self.begun or len(self.data) < 4096)


def look(options, config, results):
    """Has so many pages open. Reports how many were lost, the fewest small pictures of a camera and the fewest frames
    that a page got, and the bytes of all."""
    link = subprocess.run([options.program, "--page-link", config], check=True, capture_output=True, text=True).stdout
    cameras = sorted(configuration(options)["cameras"])
    pages = [Page(link.strip().split("token=")[1], cameras) for _ in range(options.viewers)]
    end, lost = time.monotonic() + options.seconds, 0
    while time.monotonic() < end:
        for page in select.select(pages, [], [], 1)[0] if pages else ():
            if not page.read():
                pages.remove(page)
                lost += 1
    small = [page.pictures.get(channel, 0) for page in pages for channel in range(1, min(len(cameras), 63) + 1)]
    results.put((lost, min(small, default=0), min((page.pictures.get(255, 0) for page in pages), default=0),
                 sum(sum(page.got.values()) for page in pages)))


def gpu_memory():
    """Returns what nvidia-smi says of the first GPU, or nothing where it is missing."""
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=memory.used,utilization.gpu", "--format=csv,noheader"],
                              check=True, capture_output=True, text=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "not known"


def start_and_end(options, check):
    """Starts cf-watch with a file for each camera, and ends it when all have shown a frame."""
    cameras = {f"cam{i:03}": {"source": os.path.abspath(options.file), "filter": LINES[i % len(LINES)]}
               for i in range(options.cameras)}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"cameras": cameras}, file)
        file.flush()
        for start in range(options.starts):
            watch = Watch(options.program, file.name)
            end = time.monotonic() + 60
            while sum(event["type"] == "started" for event in watch.events) < options.cameras and \
                    time.monotonic() < end and watch.process.poll() is None:
                watch.listen(0.1)
            with open(f"/proc/{watch.process.pid}/maps", encoding="ascii") as maps:
                decoders = "libnvcuvid" in maps.read()
            started = sum(event["type"] == "started" for event in watch.events)
            watch.ask("quit")
            watch.listen(60)
            status = watch.process.wait()
            check(status == 0 and started == options.cameras and decoders,
                  f"start {start + 1}: {started} cameras, {'NVIDIA' if decoders else 'no NVIDIA'} decoders, "
                  f"status {status}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--cameras", type=int, default=64)
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--viewers", type=int, default=0)
    parser.add_argument("--starts", type=int)
    parser.add_argument("--file")
    options = parser.parse_args()
    passed = failed = 0

    def check(good, what):
        nonlocal passed, failed
        passed, failed = passed + good, failed + (not good)
        print("ok  " if good else "FAIL", what)

    if options.starts:
        start_and_end(options, check)
        print(f"{passed} passed, {failed} failed, 0 skipped")
        return 1 if failed else 0
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(configuration(options), file)
        file.flush()
        watch = Watch(options.program, file.name)
        watch.listen(START)
        seen = None
        if options.viewers:
            results = multiprocessing.Queue()
            multiprocessing.Process(target=look, args=(options, file.name, results), daemon=True).start()
        before, used = watch.ask("status"), watch.processor_seconds()
        watch.listen(options.seconds)
        after = watch.ask("status")
        print(f"processor: {watch.processor_seconds() - used:.1f} s in {options.seconds:.0f} s")
        if options.viewers:
            seen = results.get(timeout=60)
        memory = watch.memory_mb() if after else 0
        print(f"memory: {memory:.0f} MB; GPU: {gpu_memory()}")
        watch.ask("quit")
        watch.listen(60)
        check(watch.process.wait() == 0, "cf-watch ends with status 0")
    check(before is not None and after is not None, "both questions were answered")
    if seen:
        lost, small, frames, total = seen
        check(lost == 0 and small >= options.seconds and frames >= 30 * options.seconds * 0.95,
              f"each of {options.viewers} pages has at least {small} pictures of each camera and {frames} frames of "
              f"one, {total / 1e6:.0f} MB in all")
    if before and after:
        before, after = before["status"]["cameras"], after["status"]["cameras"]
        first = sorted(event["first_frame_ms"] for event in watch.events if event["type"] == "started")
        print(f"first frames after {first[0]} to {first[-1]} ms, half of them after {first[len(first) // 2]}"
              if first else "no camera started")
        frames = {name: after[name]["frames"] - before[name]["frames"] for name in after}
        dropped = {name: after[name]["dropped"] - before[name]["dropped"] for name in after}
        print(f"{sum(frames.values())} frames of {len(after)} cameras in {options.seconds:.0f} s, "
              f"{sum(dropped.values())} dropped, {sum(c['dropped'] for c in before.values())} in the first {START} s")
        check(len(after) == options.cameras == len(first), "all cameras have started, once")
        check(sum(dropped.values()) == 0, "no frame is dropped")
        fewest = min(frames.values())
        check(fewest >= 30 * options.seconds * 0.99, f"each has its frames, at least {fewest}")
        check({camera["backend"] for camera in after.values()} == {options.backend}, f"{options.backend} filters all")
        gpus = next(event["gpus"] for event in watch.events if event["type"] == "ready")
        dealt = {event["camera"]: event["gpu"] for event in watch.events if event["type"] == "started" and
                 "gpu" in event}
        each = [[name for name, gpu in sorted(dealt.items()) if gpu == number] for number in range(gpus)]
        for number, names in enumerate(each):
            print(f"GPU {number}: {len(names)} cameras: {' '.join(names)}")
        if gpus:
            check(len(dealt) == len(after), "each camera has a GPU")
            check(max(map(len, each)) - min(map(len, each)) <= 1, f"they are dealt evenly to {gpus} GPUs")
        wrong = [event for event in watch.events if event["type"] in
                 ("lost", "failed", "recording-failed", "stuck", "error", "warning")]
        check(not wrong, f"nothing is lost and nothing warns {wrong[:2] if wrong else ''}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
