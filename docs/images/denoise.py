#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Makes docs/images/denoise.png: a part of a video with the noise of a camera at night, after a median of five frames,
after cudadenoise, and without noise. Makes denoise-SCENE.png, too, for five scenes: with noise, after a filter of
FFmpeg that is told the noise, and after cudadenoise. Prints how near each is to the video without noise, over all
samples and over those that move.

usage: GST_PLUGIN_PATH=build/gst docs/images/denoise.py SAMPLES [FOLDER]

SAMPLES is the folder of OpenCV's vtest.avi and graf1.png, on Debian /usr/share/doc/opencv-doc/examples/data. The images
go to FOLDER, by default docs/images. Needs numpy, OpenCV, gst-launch-1.0 and FFmpeg with libx264: the program ffmpeg,
or the one that the variable FFMPEG names.
"""
import os
import subprocess
import sys
import tempfile

import cv2
import numpy as np

from sheets import GAP, tile

FRAMES, SKIPPED, SHOWN = 40, 5, -3  # of a clip: all; the first ones, which are not measured; the one in the image
WIDTH, HEIGHT = 384, 288  # of a scene
PART_W, PART_H, SCALE = 160, 150, 2
MEDIAN = 'cudamedian kernel-size=1 temporal-depth=5 temporal-center=true'
PEERS = {'nlmeans': ('nlmeans=s={:.2f}:p=5:r=9', (0.6, 0.8, 1)), 'hqdn3d': ('hqdn3d={:.2f}', (0.5, 1, 1.5))}
FFMPEG = os.environ.get('FFMPEG', 'ffmpeg')
RAW = ['-f', 'rawvideo', '-pix_fmt', 'gray']


# ---- clips, as arrays: frame, row, column, and colour if there is any --------------

def read(path, first):
    video = cv2.VideoCapture(path)
    frames = [video.read()[1] for _ in range(first + FRAMES)][first:]
    if frames[-1] is None:
        sys.exit(f'{path}: frame {first + FRAMES - 1} cannot be read')
    return frames


def street(samples, first, left, top):
    """Returns a part of vtest.avi in grey."""
    frames = read(os.path.join(samples, 'vtest.avi'), first)
    return np.array([cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)[top:top + HEIGHT, left:left + WIDTH] for frame in frames],
                    np.float64)


def wall():
    """Returns a dark wall that gets darker to the right. Its four bars are 1, 2, 4 and 8 grey levels brighter."""
    still = np.tile(np.linspace(44, 4, WIDTH), (HEIGHT, 1))
    for n, contrast in enumerate((1, 2, 4, 8)):
        still[75 + 36 * n:87 + 36 * n, 120:264] += contrast
    return np.repeat(still[None], FRAMES, 0)


def zoom(samples):
    """Returns graf1.png, seen by a camera that zooms out and turns."""
    picture = cv2.GaussianBlur(cv2.imread(os.path.join(samples, 'graf1.png'), cv2.IMREAD_GRAYSCALE), (0, 0), 0.6)
    frames = []
    for t in range(FRAMES):
        way = cv2.getRotationMatrix2D((380, 280), 0.17 * t, 1.25 - 0.0075 * t)
        way[:, 2] += WIDTH / 2 - 380, HEIGHT / 2 - 280
        frames.append(cv2.warpAffine(picture, way, (WIDTH, HEIGHT), flags=cv2.INTER_CUBIC))
    return np.array(frames, np.float64)


# ---- noise -----------------------------------------------------------------------------

def to_bytes(frames):
    return np.clip(np.rint(frames), 0, 255).astype(np.uint8)


def gauss(clean, sigma=10):
    return to_bytes(clean + np.random.default_rng(1).normal(size=clean.shape) * sigma)


def light(clean):
    """Returns the clip with the noise of light, which grows with the light, and of the sensor, which does not."""
    return gauss(clean, np.sqrt(16 + 1.3 * clean))


def coded(clean):
    """Returns the clip with noise, and then encoded and decoded."""
    stream = ffmpeg(gauss(clean), '-c:v', 'libx264', '-qp', '28', '-f', 'h264')
    data = run_ffmpeg(stream, '-i', '-', '-vf', 'extractplanes=y', *RAW)
    return np.frombuffer(data, np.uint8).reshape(clean.shape)


# ---- filters ---------------------------------------------------------------------------

def run_ffmpeg(data, *options):
    return subprocess.run([FFMPEG, '-v', 'error', *options, '-'], input=data, stdout=subprocess.PIPE, check=True).stdout


def ffmpeg(frames, *options):
    height, width = frames.shape[1:]
    return run_ffmpeg(frames.tobytes(), *RAW, '-s', f'{width}x{height}', '-r', '25', '-i', '-', *options)


def peer(name, clean, noisy):
    """Returns the clip after FFmpeg's filter, with the best of its strengths, which are factors of the noise."""
    line, factors = PEERS[name]
    made = [ffmpeg(noisy, '-vf', line.format(factor * (noisy - clean).std()), *RAW) for factor in factors]
    made = [np.frombuffer(data, np.uint8).reshape(noisy.shape) for data in made]
    return max(made, key=lambda frames: nearness(clean, frames))


def filtered(line, frames):
    height, width = frames.shape[1:3]
    with tempfile.TemporaryDirectory() as folder:
        given, out = os.path.join(folder, 'in.raw'), os.path.join(folder, 'out.raw')
        frames.tofile(given)
        words = (f'filesrc location={given} blocksize={frames[0].size} ! video/x-raw,width={width},height={height},'
                 f'format={"GRAY8" if frames.ndim == 3 else "BGR"},framerate=25/1 ! {line} ! filesink location={out}')
        subprocess.run(['gst-launch-1.0', '-q', *words.split()], check=True)
        return np.fromfile(out, np.uint8).reshape(frames.shape)


# ---- how near --------------------------------------------------------------------------

def nearness(clean, frames, where=slice(SKIPPED, None)):
    """Returns the PSNR in dB."""
    return 10 * np.log10(255 ** 2 / ((clean - frames) ** 2)[where].mean())


def print_nearness(scene, clean, clips):
    moving = np.zeros(clean.shape, bool)
    moved = np.abs(np.diff(clean, axis=0)) > 6
    moving[1:] = moved.any(axis=3, keepdims=True) if clean.ndim == 4 else moved
    moving[:SKIPPED] = False
    for name, frames in clips.items():
        print(f'{scene}: {name} {nearness(clean, frames):.1f} dB',
              f'what moves {nearness(clean, frames, moving):.1f} dB' if moving.any() else 'nothing moves', sep=', ')


# ---- images ----------------------------------------------------------------------------

# name: clip, noise, filter of FFmpeg, left and top of the part in the image, how much brighter that is
SCENES = {
    'street': (lambda samples: 0.6 * street(samples, 60, 330, 30), light, 'nlmeans', (190, 20), 1.6),
    'person': (lambda samples: 0.6 * street(samples, 505, 100, 288), light, 'hqdn3d', (100, 97), 2.5),
    'wall': (lambda samples: wall(), light, 'nlmeans', (112, 70), 4),
    'codec': (lambda samples: street(samples, 190, 384, 200), coded, 'hqdn3d', (100, 40), 1),
    'zoom': (zoom, gauss, 'nlmeans', (112, 70), 1),
}


def scene_image(samples, scene):
    make, noise, name, (left, top), brighter = SCENES[scene]
    clean = make(samples)
    noisy = noise(clean)
    clips = {'with noise': noisy, f"FFmpeg's {name}": peer(name, clean, noisy),
             'cudadenoise': filtered('cudadenoise', noisy)}
    print_nearness(scene, clean, clips)
    tiles = []
    for label, frames in clips.items():
        part = to_bytes(frames[SHOWN, top:top + PART_H, left:left + PART_W] * float(brighter))
        part = cv2.cvtColor(part.repeat(SCALE, 0).repeat(SCALE, 1), cv2.COLOR_GRAY2BGR)
        tiles.append(tile(part, f'{label}: {nearness(clean, frames):.1f} dB', 0.45)[..., 0])
    gap = np.full((len(tiles[0]), GAP), 255, np.uint8)
    return np.hstack([tiles[0], gap, tiles[1], gap, tiles[2]])


def night_image(samples):
    clean = 0.6 * np.array(read(os.path.join(samples, 'vtest.avi'), 60))
    noisy = light(clean)
    clips = {'noisy': noisy, **{line: filtered(line, noisy) for line in (MEDIAN, 'cudadenoise')}}
    print_nearness('night', clean, clips)
    parts = [to_bytes(frames[SHOWN, 60:280, 330:630] * 1.6) for frames in (*clips.values(), clean)]
    gap = np.full((len(parts[0]), GAP, 3), 255, np.uint8)
    rows = [np.hstack([parts[k], gap, parts[k + 1]]) for k in (0, 2)]
    return np.vstack([rows[0], np.full((GAP, rows[0].shape[1], 3), 255, np.uint8), rows[1]])


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] in ('-h', '--help'):
        sys.exit(__doc__)
    samples = sys.argv[1]
    folder = sys.argv[2] if len(sys.argv) == 3 else os.path.dirname(os.path.abspath(__file__))
    images = {'denoise': night_image(samples), **{f'denoise-{scene}': scene_image(samples, scene) for scene in SCENES}}
    for name, image in images.items():
        path = os.path.join(folder, f'{name}.png')
        cv2.imwrite(path, image, [cv2.IMWRITE_PNG_COMPRESSION, 9])
        print(f'{path}: {os.path.getsize(path)} bytes')


if __name__ == '__main__':
    main()
