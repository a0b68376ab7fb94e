# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Pictures for borders.py: drawn ones whose regions are known, photographs, and two halves.

A drawn picture has objects over each other (dead leaves: Lee, Mumford & Huang 2001), the more of a size the smaller it
is: ellipses, polygons and blobs. Each has a colour, a gradient of light, a texture of 0 to 20 levels and an edge that
rises over 0 to 6 pixels, half of them over 1.5 or less. Every fourth picture is dark (a mean of 30 to 60); in every
fourth, a faint one, an object differs by 6 to 25 levels of Y from what it lies upon. Then come noise of sigma 0 to 4
and JPEG of quality 85. The truth is the connected parts of what is on top."""
import os

import cv2
import numpy as np
import skimage
from skimage import measure

from oracle_segment import noisy

SIZES = ((321, 481), (481, 321))  # rows, columns: those of BSDS500
SMALLEST, LARGEST = 12, 160       # radius of an object, pixels
SAMPLES = "/usr/share/doc/opencv-doc/examples/data"


def bgr(y, cb, cr):
    """Returns a colour of full range BT.601 as B, G, R. Inputs may be arrays."""
    cb, cr = np.asarray(cb) - 128.0, np.asarray(cr) - 128.0
    return np.stack((y + 1.772 * cb, y - 0.344136 * cb - 0.714136 * cr, y + 1.402 * cr), -1)


# ---- drawn pictures ----------------------------------------------------------

def outline(dice, radius):
    """Returns the corners of an ellipse, a polygon or a blob around 0, 0."""
    kind = dice.integers(3)
    if kind == 0:
        angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
        x, y, turn = radius * np.cos(angle), radius * dice.uniform(.4, 1) * np.sin(angle), dice.uniform(0, np.pi)
        return np.stack((x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn)), 1)
    if kind == 1:
        angle = np.sort(dice.uniform(0, 2 * np.pi, dice.integers(3, 8)))
        far = radius * dice.uniform(.5, 1, angle.size)
    else:
        angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
        far = sum(dice.normal(0, .25 / k) * np.cos(k * angle + dice.uniform(0, 2 * np.pi)) for k in range(1, 9))
        far = radius * np.clip(.7 + far, .2, 1)
    return np.stack((far * np.cos(angle), far * np.sin(angle)), 1)


def texture(dice, shape):
    """Returns a texture between about -1 and 1, which is 0 for one object in three: noise, stripes, checks, leaves."""
    kind, amount = dice.choice(5, p=(.32, .17, .17, .17, .17)), dice.uniform(0, 20)
    y, x = np.mgrid[:shape[0], :shape[1]].astype(np.float32)
    turn, wave = dice.uniform(0, np.pi), 2 * np.pi / dice.uniform(3, 24)
    along, across = wave * (x * np.cos(turn) + y * np.sin(turn)), wave * (y * np.cos(turn) - x * np.sin(turn))
    if kind == 0:
        return np.zeros(shape, np.float32)
    if kind == 1:
        grain, white = dice.uniform(.7, 4), dice.standard_normal(shape, np.float32)
        pattern = cv2.GaussianBlur(white, (0, 0), grain) - cv2.GaussianBlur(white, (0, 0), 2 * grain)
        pattern /= 2 * pattern.std()
    elif kind == 2:
        pattern = np.sin(along)
    elif kind == 3:
        pattern = np.sign(np.sin(along) * np.sin(across))
    else:
        pattern, size = np.zeros(shape, np.float32), dice.integers(2, 8)
        for _ in range(int(shape[0] * shape[1] / size ** 2)):
            at = int(dice.integers(shape[1])), int(dice.integers(shape[0]))
            cv2.circle(pattern, at, int(size), dice.uniform(-1, 1), -1)
    return amount * pattern


def surface(dice, color, shape):
    """Returns a patch of a colour with a gradient of light and a texture."""
    y, x = np.mgrid[-1:1:shape[0] * 1j, -1:1:shape[1] * 1j].astype(np.float32)
    turn = dice.uniform(0, 2 * np.pi)
    light = 1 + dice.uniform(0, .25) * (x * np.cos(turn) + y * np.sin(turn))
    return (color * light[..., None] + texture(dice, shape)[..., None]).astype(np.float32)


def draw(seed, number):
    """Returns a drawn picture (BGR) and the number of each pixel's region, from 0 on."""
    dice = np.random.default_rng([seed, number])
    rows, columns = SIZES[number % 2]
    dark, faint = number % 4 == 2, number % 4 == 3
    color = bgr(dice.uniform(60, 200) if faint else dice.uniform(25, 230), *(128 + dice.normal(0, 18, 2)))
    picture, top = surface(dice, color, (rows, columns)), np.zeros((rows, columns), np.int32)
    for i in range(1, dice.integers(20, 71)):
        radius = 1 / dice.uniform(1 / LARGEST, 1 / SMALLEST)  # of the density radius^-2
        x, y = dice.uniform(0, columns), dice.uniform(0, rows)
        below = picture[int(y), int(x)]
        if faint:
            step = dice.uniform(6, 25) * (dice.choice((-1, 1)) if 50 < below.mean() < 200 else 1 - below.mean() // 100)
            color = below + bgr(step, *(128 + dice.normal(0, 2, 2)))
        else:
            color = bgr(dice.uniform(25, 230), *(128 + dice.normal(0, 18, 2)))
        mask = np.zeros((rows, columns), np.uint8)
        cv2.fillPoly(mask, [np.rint(outline(dice, radius) + (x, y)).astype(np.int32)], 1)
        rise = 6 * dice.uniform() ** 2  # of the edge, pixels from 10 to 90 %
        part = tuple(slice(max(0, int(c - radius - 8)), int(c + radius + 8)) for c in (y, x))
        alpha = mask[part].astype(np.float32)
        if rise > .5:
            alpha = cv2.GaussianBlur(alpha, (0, 0), rise / 2.56)
        picture[part] += alpha[..., None] * (surface(dice, color, alpha.shape) - picture[part])
        top[mask > 0] = i
    if dark:
        picture *= dice.uniform(30, 60) / picture.mean()
    coded = cv2.imencode(".jpg", noisy(dice, picture, dice.uniform(0, 4)), [cv2.IMWRITE_JPEG_QUALITY, 85])[1]
    return cv2.imdecode(coded, cv2.IMREAD_COLOR), measure.label(top, background=-1, connectivity=1) - 1


# ---- photographs ---------------------------------------------------------------

def photographs():
    """Returns photographs of scikit-image and, where there are any, of OpenCV's samples, 481 pixels long."""
    folder, found = os.path.join(os.path.dirname(skimage.__file__), "data"), []
    for path in [os.path.join(folder, n) for n in ("astronaut.png", "camera.png", "chelsea.png", "coffee.png",
                                                   "motorcycle_left.png", "rocket.jpg")] + \
                [os.path.join(SAMPLES, n) for n in ("aero1.jpg", "aloeL.jpg", "baboon.jpg", "butterfly.jpg",
                                                    "building.jpg", "fruits.jpg", "graf1.png", "home.jpg",
                                                    "leuvenA.jpg", "messi5.jpg")]:
        picture = cv2.imread(path, cv2.IMREAD_COLOR)
        if picture is not None:
            scale = 481 / max(picture.shape)
            found.append(cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA))
    return found


# ---- two halves ------------------------------------------------------------------

def halves(level, contrast, ramp, sigma):
    """Returns 320 x 320 pixels, the left half of gray `level`, the right one brighter by `contrast` levels, with `ramp`
    pixels between them and noise. Level None: a gray of 100 of which the Cb differ."""
    step = np.clip((np.arange(320) - 159.5) / ramp + .5, 0, 1) if ramp else (np.arange(320) >= 160).astype(float)
    line = bgr(level + contrast * step, 128, 128) if level is not None else \
        bgr(np.full(320, 100.0), 128 + contrast * (step - .5), 128)
    return noisy(np.random.default_rng(5), np.broadcast_to(line, (320, 320, 3)), sigma)
