# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""The convolution's part of oracle_opencv.py: OpenCV's filter2D with integer kernels and its GaussianBlur of 8 bits,
both bit-exact; blur and Sobel within 1; and SciPy for borders that OpenCV's filters lack."""
from fractions import Fraction

import cv2
import numpy as np
from scipy import ndimage

N_KERNELS = 200
# The names of the border modes: the element's, OpenCV's, NumPy's, SciPy's.
BORDERS = [("replicate", cv2.BORDER_REPLICATE, "edge", "nearest"),
           ("reflect101", cv2.BORDER_REFLECT_101, "reflect", "mirror"),
           ("constant", cv2.BORDER_CONSTANT, "constant", "constant"), ("wrap", None, "wrap", "wrap")]


def deep_of(gray):
    """Returns an image of 16 bits whose lower bits vary as well."""
    return (gray.astype(np.uint16) * 251 + np.arange(gray.shape[1], dtype=np.uint16) * 13).astype("<u2")


def kernel_text(kernel):
    return ";".join(",".join(str(int(c)) for c in row) for row in kernel)


def filter2d(image, kernel, border):
    """Returns OpenCV's sums in doubles, which are exact: integers far below 2^53. For large kernels OpenCV uses a DFT,
    whose error is far below 1/2."""
    if border[1] is None:
        h, w = kernel.shape
        padded = np.pad(image, ((h, h), (w, w)), mode=border[2])
        sums = cv2.filter2D(padded.astype(np.float64), cv2.CV_64F, kernel.astype(np.float64))[h:-h, w:-w]
    else:
        sums = cv2.filter2D(image.astype(np.float64), cv2.CV_64F, kernel.astype(np.float64), borderType=border[1])
    return np.rint(sums).astype(np.int64)


def rounded(sums, divisor, bias, top):
    """Returns sums / divisor + bias in rational numbers, halves to even, saturated."""
    bias = Fraction(bias)
    over, under = sums * bias.denominator + bias.numerator * divisor, divisor * bias.denominator
    quotient, rest = np.divmod(2 * over + under, 2 * under)
    quotient -= (rest == 0) & (quotient % 2 == 1)
    return np.clip(quotient, 0, top)


def random_kernel(rng, i):
    sides = [(1, 1), (2, 2), (3, 3), (5, 5), (7, 7), (9, 9), (15, 15), (31, 31), (1, 31), (31, 1), (3, 9), (4, 5)]
    w, h = sides[i] if i < len(sides) else rng.integers(1, 32 if i % 2 else 12, 2)
    # Sums of 8 bit samples must fit into 32 bits.
    most = min((4, 100, 127, 3000, 32767)[i % 5], (2 ** 31 - 1) // 255 // (w * h))
    kernel = rng.integers(-most, most + 1, (h, w)) + (most // 8 if i % 3 else 0)
    kernel = np.clip(kernel, -most, most)
    if not kernel.any():
        kernel[0, 0] = 1
    return kernel


def check_filter2d(tally, run, gray):
    rng = np.random.default_rng(7)
    deep = deep_of(gray)
    for i in range(N_KERNELS):
        kernel, border = random_kernel(rng, i), BORDERS[i % len(BORDERS)]
        size = float(np.sqrt((kernel.astype(np.float64) ** 2).sum()))
        # A power of two is exact in OpenCV's floats; other divisors are only so as a fraction.
        divisor = 2 ** int(np.log2(max(size, 1))) if i % 2 else int(max(1, size + rng.integers(-9, 10)))
        bias = (0, -3, 77, 0.5, -10.25)[rng.integers(0, 5)]
        what = f"filter2D {i}: {kernel.shape[1]}x{kernel.shape[0]} {border[0]} divisor {divisor} bias {bias}"
        sets = (f"kernel={kernel_text(kernel)}", f"divisor={divisor}", f"bias={bias}", f"border={border[0]}")
        got = run(gray, "GRAY8", *sets)
        tally.compare(what, got, rounded(filter2d(gray, kernel, border), divisor, bias, 255).astype(np.uint8))
        small = kernel.size <= 49 and np.abs(kernel).sum() * 255 < 2 ** 24
        if i % 2 and border[1] is not None and small:
            tally.compare(what + ", OpenCV's own bytes", got,
                          cv2.filter2D(gray, -1, (kernel / divisor).astype(np.float32), delta=bias,
                                       borderType=border[1]))
        if i % 4 == 0:
            tally.compare(what + ", 16 bit", run(deep, "GRAY16_LE", *sets),
                          rounded(filter2d(deep, kernel, border), divisor, bias, 65535).astype("<u2"))
        if i % 5 == 0:
            sums = ndimage.correlate(gray.astype(np.int64), kernel.astype(np.int64), mode=border[3])
            tally.compare(what + ", SciPy", got, rounded(sums, divisor, bias, 255).astype(np.uint8))


def check_gauss(tally, run, gray):
    for k in range(3, 64, 2):
        for sigma in (0,) if k % 4 == 1 and k > 9 else (0, 0.7, k / 4):
            border = BORDERS[(k // 2) % 2]
            tally.compare(f"GaussianBlur {k} sigma {sigma} {border[0]}",
                          run(gray, "GRAY8", "preset=gauss", f"kernel-size={k}", f"sigma={sigma}",
                              f"border={border[0]}"),
                          cv2.GaussianBlur(gray, (k, k), sigma, borderType=border[1]))


    for w, h, sx, sy in ((1, 9, 0, 0), (31, 3, 4, 0), (5, 21, 0.7, 3.5), (63, 1, 0, 9), (7, 13, 0, 0), (65, 65, 0, 0),
                         (255, 101, 40, 0), (9, 255, 0, 31), (255, 255, 42, 0)):
        sets = (f"kernel-width={w}", f"kernel-height={h}", f"sigma={sx}", f"sigma-y={sy}")
        tally.compare(f"GaussianBlur {w} x {h} sigmas {sx} {sy}", run(gray, "GRAY8", "preset=gauss", *sets),
                      cv2.GaussianBlur(gray, (w, h), sx, sigmaY=sy, borderType=cv2.BORDER_REPLICATE))
    for sigma in (0.3, 1, 2.5, 7, 10, 20, 42):
        k = 2 * int(np.ceil(3 * sigma)) + 1
        tally.compare(f"GaussianBlur sigma {sigma}", run(gray, "GRAY8", "preset=gauss", f"sigma={sigma}"),
                      cv2.GaussianBlur(gray, (k, k), sigma, borderType=cv2.BORDER_REPLICATE))


def check_gradients(tally, run, gray):
    for name, x in (("sobel-x", 1), ("sobel-y", 0)):
        for image, form, top in ((gray, "GRAY8", 255), (deep_of(gray), "GRAY16_LE", 65535)):
            sums = cv2.Sobel(image.astype(np.float64), cv2.CV_64F, x, 1 - x, ksize=3,
                             borderType=cv2.BORDER_REPLICATE).astype(np.int64)
            for divisor in (1, 8):
                tally.compare(f"{name} {form} / {divisor}", run(image, form, f"preset={name}", f"divisor={divisor}"),
                              rounded(sums, divisor, (top + 1) // 2, top).astype(image.dtype))


def check_gray(tally, run, color):
    """Checks gray=: RGB and YUV, kernels without and with a border of their own, a magnitude, a copied alpha."""
    kernel = np.array([[1, -2, 3], [4, 5, -6], [7, 8, 9]])
    rgb = color[..., ::-1].astype(int)
    for gray, y in (("mean", rgb.sum(-1) // 3), ("luma", (rgb @ (77, 150, 29) + 128) >> 8)):
        y = y.astype(np.uint8)
        for border in BORDERS:
            padded = np.pad(y, 1, border[2], **({"constant_values": 31} if border[2] == "constant" else {}))
            expected = rounded(filter2d(padded, kernel, BORDERS[0])[1:-1, 1:-1], 29, -7, 255).astype(np.uint8)
            sets = (f"gray={gray}", f"kernel={kernel_text(kernel)}", "bias=-7", f"border={border[0]}",
                    "border-value=31")
            tally.compare(f"gray={gray} {border[0]}", run(color, "BGR", *sets), np.stack([expected] * 3, -1))
            alpha = color[..., :1] ^ 85
            tally.compare(f"gray={gray} {border[0]} ARGB", run(np.concatenate((alpha, color[..., ::-1]), -1), "ARGB",
                                                               *sets), np.stack([alpha[..., 0], *[expected] * 3], -1))
        tally.compare(f"gray={gray} identity", run(color, "BGR", f"gray={gray}", "kernel=1"), np.stack([y] * 3, -1))
        tally.compare(f"gray={gray} gauss", run(color, "BGR", f"gray={gray}", "preset=gauss", "kernel-size=9"),
                      np.stack([cv2.GaussianBlur(y, (9, 9), 0, borderType=cv2.BORDER_REPLICATE)] * 3, -1))
        sides = [cv2.Sobel(y, cv2.CV_64F, x, 1 - x, ksize=3, borderType=cv2.BORDER_REPLICATE) for x in (1, 0)]
        expected = np.clip(np.rint(np.sqrt(sides[0] ** 2 + sides[1] ** 2)), 0, 255).astype(np.uint8)
        tally.compare(f"gray={gray} sobel", run(color, "BGR", f"gray={gray}", "preset=sobel"),
                      np.stack([expected] * 3, -1))
        blurred = cv2.GaussianBlur(np.ascontiguousarray(color[..., 0]), (5, 5), 0, borderType=cv2.BORDER_REPLICATE)
        mid = np.full_like(blurred, 128)
        tally.compare(f"gray={gray} AYUV", run(np.concatenate((color[..., 2:], color), -1), "AYUV", f"gray={gray}",
                                               "preset=gauss", "kernel-size=5"),
                      np.stack((color[..., 2], blurred, mid, mid), -1))


def check_near(tally, run, gray):
    """Checks filters that OpenCV rounds differently."""
    tally.near("blur 9 x 3", run(gray, "GRAY8", "preset=box", "kernel-width=9", "kernel-height=3"),
               cv2.blur(gray, (9, 3), borderType=cv2.BORDER_REPLICATE))
    for k in (3, 5, 9, 15, 31, 63, 127, 255):
        tally.near(f"blur {k}", run(gray, "GRAY8", "preset=box", f"kernel-size={k}"),
                   cv2.blur(gray, (k, k), borderType=cv2.BORDER_REPLICATE))
    gx, gy = (cv2.Sobel(gray, cv2.CV_64F, x, 1 - x, ksize=3, borderType=cv2.BORDER_REPLICATE) for x in (1, 0))
    for divisor in (1, 4):
        tally.near(f"Sobel / {divisor}", run(gray, "GRAY8", "preset=sobel", f"divisor={divisor}"),
                   np.clip(np.rint(np.hypot(gx, gy) / divisor), 0, 255).astype(np.uint8))
    gx, gy = (cv2.Scharr(gray, cv2.CV_64F, x, 1 - x, borderType=cv2.BORDER_REPLICATE) for x in (1, 0))
    tally.near("Scharr / 16", run(gray, "GRAY8", "preset=scharr", "divisor=16"),
               np.clip(np.rint(np.hypot(gx, gy) / 16), 0, 255).astype(np.uint8))


def check(tally, runner, images):
    name, color = images[0]
    gray = np.ascontiguousarray(cv2.cvtColor(color, cv2.COLOR_BGR2GRAY)[40:173, 60:211])  # 151 x 133

    def run(image, form, *sets):
        return runner.kernelcheck(image, form, *sets, stem="convolve")

    print(f"convolve on {name}, {gray.shape[1]} x {gray.shape[0]}")
    check_filter2d(tally, run, gray)
    check_gauss(tally, run, gray)
    check_gradients(tally, run, gray)
    check_near(tally, run, gray)
    check_gray(tally, run, np.ascontiguousarray(color[40:173, 60:211]))
    for k in (3, 9, 31):
        tally.compare(f"GaussianBlur BGR {k}", run(color, "BGR", "preset=gauss", f"kernel-size={k}"),
                      cv2.GaussianBlur(color, (k, k), 0, borderType=cv2.BORDER_REPLICATE))


def check_element(tally, runner, images):
    for name, color in images[:2]:
        color = np.ascontiguousarray(color[:, :color.shape[1] // 4 * 4])
        gray = cv2.cvtColor(color, cv2.COLOR_BGR2GRAY)
        kernel = np.array([[1, -2, 3], [4, 5, -6], [7, 8, 9]])
        tally.compare(f"element: {name} kernel",
                      runner.element(gray, "GRAY8", [f"kernel={kernel_text(kernel)}", "bias=-7"], stem="convolve"),
                      rounded(filter2d(gray, kernel, BORDERS[0]), 29, -7, 255).astype(np.uint8))
        for k in (3, 15, 63):
            tally.compare(f"element: {name} gauss {k}",
                          runner.element(color, "BGR", ["preset=gauss", f"kernel-size={k}"], stem="convolve"),
                          cv2.GaussianBlur(color, (k, k), 0, borderType=cv2.BORDER_REPLICATE))
