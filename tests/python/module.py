#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Tests the Python module cudafilters: module.py [--region-at PROGRAM]

What the module reads is compared with what is known without it: pictures of rectangles that this file draws, a flood
fill of what cudasegment paints, the C program region-at, planes that this file writes. Skipped (77) without PyGObject,
GStreamer's typelibs or NumPy.
"""
import argparse
import collections
import ctypes
import gc
import importlib.util
import os
import re
import resource
import subprocess
import sys
import tempfile
import warnings

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(ROOT, 'pipelines', 'python')]
import interpreter  # noqa: E402
interpreter.use()

import gi  # noqa: E402
gi.require_version('Gst', '1.0')
gi.require_version('GstVideo', '1.0')
import numpy as np  # noqa: E402
from gi.repository import GLib, Gst, GstVideo  # noqa: E402

import cudafilters as cf  # noqa: E402

WIDTH, HEIGHT = 320, 240
# x, y, width, height, gray level of what picture() draws on a background of 60. No two touch.
DRAWN = [(20, 30, 50, 40, 200), (100, 20, 64, 64, 130), (200, 50, 90, 30, 230), (30, 120, 100, 80, 10),
         (180, 120, 120, 100, 170)]
tests = []


def test(function):
    tests.append(function)
    return function


def picture(shift=0):
    image = np.full((HEIGHT, WIDTH), 60, np.uint8)
    for x, y, width, height, level in DRAWN:
        image[y:y + height, x + shift:x + shift + width] = level
    return image


def buffer_of(image, number=0):
    """Returns a buffer with a copy of the bytes of an image."""
    buffer = Gst.Buffer.new_wrapped(image.tobytes())
    buffer.pts, buffer.duration = number * Gst.SECOND // 25, Gst.SECOND // 25
    return buffer


def run(line, images, form='GRAY8', size=(WIDTH, HEIGHT), probe=None, prepare=None):
    """Passes images through a line of elements and returns the samples. `probe` is one of the first element's sink;
    `prepare` gets each buffer before it is pushed, and may return another one."""
    pipeline = Gst.parse_launch(f'appsrc name=source format=time caps=video/x-raw,format={form},width={size[0]},'
                                f'height={size[1]},framerate=25/1 ! identity name=in ! {line} ! '
                                'appsink name=sink sync=false')
    if probe:
        pipeline.get_by_name('in').get_static_pad('src').add_probe(Gst.PadProbeType.BUFFER, probe)
    source = pipeline.get_by_name('source')
    for n, image in enumerate(images):
        buffer = buffer_of(image, n)
        source.emit('push-buffer', prepare(buffer) or buffer if prepare else buffer)
    source.emit('end-of-stream')
    found = list(cf.samples(pipeline))
    assert len(found) == len(images), f'{len(found)} of {len(images)} frames'
    return found


def refused(function, part, kind=ValueError):
    """Asserts that a call is refused with a sentence that has this part."""
    try:
        function()
    except kind as error:
        assert part in str(error), f'"{error}" has no "{part}"'
    else:
        raise AssertionError(f'not refused, where "{part}" was expected')


def fill_regions(image):
    """Returns a number for each pixel: connected pixels of the same value have the same. A flood fill."""
    rows, columns = image.shape
    found, count = np.full(image.shape, -1), 0
    for start in np.ndindex(image.shape):
        if found[start] >= 0:
            continue
        queue, found[start] = collections.deque([start]), count
        while queue:
            y, x = queue.popleft()
            for v, u in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if 0 <= v < rows and 0 <= u < columns and found[v, u] < 0 and image[v, u] == image[y, x]:
                    found[v, u] = count
                    queue.append((v, u))
        count += 1
    return found


# ---- regions and label maps ----------------------------------------------------------

@test
def regions_are_those_that_were_drawn():
    samples = run('cudasegment output=passthrough region-meta=true', [picture()] * 3)
    for age, sample in enumerate(samples):
        regions = cf.regions(sample.get_buffer())
        assert len(regions) == len(DRAWN) + 1 and len({r.id for r in regions}) == len(regions)
        for x, y, width, height, level in DRAWN:
            r = next(r for r in regions if r.box == (x, y, width, height))
            assert (r.age, r.area) == (age, width * height), r
            assert np.allclose(r.centroid, (x + (width - 1) / 2, y + (height - 1) / 2)), r
            assert np.allclose(r.mean, (level, 128, 128)), r
        ids = {r.id for r in regions}
        assert ids == {r.id for r in cf.regions(samples[0].get_buffer())}
        assert {roi.id for roi in cf.rois(sample.get_buffer())} == ids


@test
def the_label_map_is_a_flood_fill():
    sample = run('cudasegment output=mean region-meta=true label-meta=true', [picture()])[0]
    labels, regions = cf.label_map(sample.get_buffer())
    filled = fill_regions(cf.frame(sample))  # of what the element has painted
    assert labels.shape == filled.shape and labels.dtype == np.uint16
    pairs = set(zip(labels.ravel().tolist(), filled.ravel().tolist()))
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(DRAWN) + 1
    areas = np.bincount(labels.ravel(), minlength=len(regions))
    assert (areas == regions['area']).all()
    for r in cf.regions(sample.get_buffer()):
        record = regions[regions['id'] == r.id][0]
        assert (record['age'], record['area']) == (r.age, r.area)
        assert tuple(record[name] for name in ('x', 'y', 'width', 'height')) == r.box
        assert tuple(record['centroid']) == r.centroid and tuple(record['mean']) == r.mean


@test
def the_c_program_reads_the_same(program, folder):
    if not program:
        return 'no region-at'
    path = os.path.join(folder, 'drawn.avi')
    images = [picture(shift) for shift in range(4)]
    bgr = [np.repeat(image[:, :, None], 3, axis=2) for image in images]
    line = f'video/x-raw ! avimux ! filesink location={path}'
    pipeline = Gst.parse_launch(f'appsrc name=source format=time caps=video/x-raw,format=BGR,width={WIDTH},'
                                f'height={HEIGHT},framerate=25/1 ! {line}')
    for n, image in enumerate(bgr):
        pipeline.get_by_name('source').emit('push-buffer', buffer_of(image, n))
    pipeline.get_by_name('source').emit('end-of-stream')
    cf.play(pipeline)
    samples = run('cudasegment output=passthrough label-meta=true', bgr, 'BGR')
    for x, y in ((50, 50), (120, 40), (5, 5), (200, 200)):
        said = subprocess.run([program, path, str(x), str(y)], capture_output=True, text=True, check=True).stdout
        lines = [[int(n) for n in re.findall(r'\d+', line)] for line in said.splitlines()]
        assert len(lines) == len(samples), said
        for sample, (_, id, age, area, width, height, left, top, *_) in zip(samples, lines):
            labels, regions = cf.label_map(sample.get_buffer())
            r = regions[labels[y, x]]
            assert [int(r[name]) for name in ('id', 'age', 'area', 'width', 'height', 'x', 'y')] == \
                [id, age, area, width, height, left, top], (said, r)
    return None


@test
def odd_sizes_have_padded_maps():
    for width, height in ((1, 1), (37, 23), (129, 5)):
        image = np.arange(width * height, dtype=np.uint32).reshape(height, width) * 7 % 251
        sample = run('videoconvert ! cudasegment output=labels label-meta=true',
                     [image.astype(np.uint8).repeat(4).reshape(height, width, 4)] * 2, 'RGBx', (width, height))[1]
        labels, regions = cf.label_map(sample.get_buffer())
        assert labels.shape == (height, width)
        assert (np.bincount(labels.ravel(), minlength=len(regions)) == regions['area']).all()


@test
def what_moves_is_reported():
    if Gst.ElementFactory.make('cudamedian').find_property('motion-meta') is None:
        return 'this cudamedian has no motion-meta'
    still, moving = [picture()] * 40, []
    for n in range(20):
        moving.append(picture())
        moving[-1][90:115, 10 + 6 * n:60 + 6 * n] = 250  # between the rectangles
    samples = run('cudamedian temporal-method=running motion-meta=true motion-hold=0', still + moving)
    assert not any(cf.motion(sample.get_buffer()) for sample in samples[:40])
    for n, sample in enumerate(samples[43:], 3):
        found = cf.motion(sample.get_buffer())
        assert found and all(roi.type == 'motion' and roi.param('motion')['area'] > 0 for roi in found), found
        seen = np.zeros((HEIGHT, WIDTH), bool)
        for x, y, width, height in (roi.box for roi in found):
            seen[y:y + height, x:x + width] = True
        # Boxes are of whole cells of 16 x 16. The bar's front is new to the background; behind it nothing was for long.
        assert seen[94:111, 40 + 6 * n:56 + 6 * n].mean() > 0.9, (n, found)
        assert not seen[:64].any() and not seen[144:].any() and not seen[:, 96 + 6 * n:].any(), (n, found)
    return None


# ---- what has no metas, and what is gone ------------------------------------------------

@test
def buffers_without_metas():
    sample = run('cudasegment', [picture()])[0]
    for buffer in (sample.get_buffer(), Gst.Buffer.new(), Gst.Buffer.new_allocate(None, 100, None)):
        assert cf.regions(buffer) == cf.motion(buffer) == cf.rois(buffer) == []
        assert cf.label_map(buffer) is None


@test
def arrays_outlive_their_pipeline():
    images = [picture(shift) for shift in range(12)]
    kept = []
    for sample in run('cudasegment output=passthrough label-meta=true', images):
        labels, regions = cf.label_map(sample.get_buffer())
        kept.append((labels[10:200, ::2], regions['area'], cf.frame(sample)[::3], labels.copy(), regions.copy()))
    del sample, labels, regions
    gc.collect()
    run('cudasegment label-meta=true', [picture(20)] * 12)  # would write to maps and frames that are free
    for image, (part, areas, rows, labels, regions) in zip(images, kept):
        assert (part == labels[10:200, ::2]).all() and (areas == regions['area']).all() and (rows == image[::3]).all()
        for array in (part, areas, rows):
            assert not array.flags.writeable and not array.flags.owndata


@test
def a_map_that_does_not_fit_is_refused():
    sample = run('cudasegment output=passthrough label-meta=true', [picture()])[0]
    core = ctypes.CDLL('libgstreamer-1.0.so.0')
    for function in (core.gst_buffer_get_custom_meta, core.gst_custom_meta_get_structure):
        function.restype = ctypes.c_void_p
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    core.gst_structure_set.argtypes = [pointer, text, size, ctypes.c_uint, pointer]
    core.gst_structure_remove_field.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    uint = 7 << 2  # G_TYPE_UINT
    for field, value in (('width', WIDTH * 8), ('height', HEIGHT + 1), ('height', 0), ('pitch', 10), ('labels', None),
                         ('regions', None)):
        buffer = cf.copy_buffer(sample.get_buffer())
        meta = core.gst_buffer_get_custom_meta(ctypes.c_void_p(hash(buffer)), b'GstCudaSegmentMeta')
        structure = core.gst_custom_meta_get_structure(ctypes.c_void_p(meta))
        if value is None:
            core.gst_structure_remove_field(structure, field.encode())
        else:
            core.gst_structure_set(structure, field.encode(), uint, value, None)
        refused(lambda: cf.label_map(buffer), 'GstCudaSegmentMeta')
    assert cf.label_map(sample.get_buffer()) is not None


@test
def what_is_no_buffer_is_refused():
    sample = run('cudasegment', [picture()])[0]
    for read in (cf.regions, cf.rois, cf.motion, cf.label_map, cf.copy_buffer,
                 lambda thing: cf.add_roi(thing, 1, 2, 3, 4, 'x')):
        refused(lambda read=read: read(sample), 'sample.get_buffer()', TypeError)
        for thing in (None, 7, 'buffer', sample.get_caps()):
            refused(lambda read=read, thing=thing: read(thing), 'a Gst.Buffer is needed', TypeError)
    refused(lambda: cf.planes(sample.get_caps(), sample.get_caps()), 'Gst.Buffer', TypeError)


# ---- regions of interest -------------------------------------------------------------

@test
def regions_of_interest_round_trip():
    buffer = Gst.Buffer.new_allocate(None, 10, None)
    assert cf.add_roi(buffer, 10, 20, 30, 40, 'face', 0.75, 3, id=7, parent_id=2, frame_size=(100, 200))
    assert cf.add_roi(buffer, -4.5, 1.2, np.float32(10), np.int64(3), 'ß', 1)
    assert cf.add_roi(buffer, 95, 0, 10, 10, '', frame_size=(100, 100))
    face, sharp, plain = cf.rois(buffer)
    assert (face.type, face.box, face.id, face.parent_id) == ('face', (10, 20, 30, 40), 7, 2)
    assert face.param('detection') == {'label_id': 3, 'confidence': 0.75, 'x_min': 0.1, 'x_max': 0.4, 'y_min': 0.1,
                                       'y_max': 0.3}
    assert (sharp.type, sharp.box, sharp.confidence) == ('ß', (0, 1, 6, 4), 1.0)
    assert plain.box == (95, 0, 10, 10) and plain.param('detection')['x_max'] == 1 and plain.confidence is None
    assert cf.rois(buffer, 'face') == [face] and cf.motion(buffer) == [] and plain.param('other') is None
    # GStreamer's own binding reads the same.
    meta = GstVideo.buffer_get_video_region_of_interest_meta_id(buffer, 7)
    assert (meta.x, meta.y, meta.w, meta.h, GLib.quark_to_string(meta.roi_type)) == (10, 20, 30, 40, 'face')
    assert meta.get_param('detection').get_double('confidence') == (True, 0.75)
    other = cf.copy_buffer(buffer)
    assert cf.rois(other) == cf.rois(buffer)
    assert cf.add_roi(other, 1, 1, 1, 1, 'motion') and len(cf.rois(buffer)) == 3
    assert [roi.box for roi in cf.motion(other)] == [(1, 1, 1, 1)]


@test
def bad_regions_of_interest_are_refused():
    buffer = Gst.Buffer.new_allocate(None, 10, None)
    for box in ((0, 0, -1, 5), (0, 0, float('nan'), 5), (float('inf'), 0, 5, 5), (0, 0, 5, 1e12)):
        refused(lambda box=box: cf.add_roi(buffer, *box, 'x'), 'a region at')
    for confidence in (-0.1, 1.5, float('nan')):
        refused(lambda c=confidence: cf.add_roi(buffer, 0, 0, 5, 5, 'x', c), 'from 0 to 1')
    for box in ((-10, 0, 10, 5), (0, -5, 10, 5), (3, 3, 0, 5)):
        assert not cf.add_roi(buffer, *box, 'x')
    sample = run('identity', [picture()])[0]
    held = sample.get_buffer()
    refused(lambda: cf.add_roi(held, 0, 0, 5, 5, 'x'), 'copy_buffer')
    assert cf.rois(buffer) == cf.rois(held) == []


@test
def a_probe_attaches_regions_that_the_filter_hides():
    seen = []

    def probe(pad, info):
        image = cf.frame(info.get_buffer(), pad.get_current_caps())
        held = info.get_buffer()  # must not keep the frame of the pipeline from getting the regions
        x = int(image[40].argmax())
        for width, kind, confidence in ((50, 'face', 0.9), (4, 'face', 0.2), (4, 'car', 0.9)):
            assert cf.add_roi(info, x, 30, width, 40, kind, confidence)
        seen.append((x, cf.rois(held)))
        return Gst.PadProbeReturn.OK

    images = [np.where(picture(shift) == 200, 255, 60).astype(np.uint8) for shift in range(0, 30, 3)]
    samples = run('cudaconvolve preset=fill roi-meta=true roi-type=face roi-min-confidence=0.5', images, probe=probe)
    for n, (image, sample) in enumerate(zip(images, samples)):
        x = 20 + 3 * n
        assert seen[n] == (x, []), seen[n]
        assert [roi.box.width for roi in cf.rois(sample.get_buffer())] == [50, 4, 4]
        hidden = cf.frame(sample) != image
        rows, columns = np.nonzero(hidden)
        assert hidden.sum() == 50 * 40 and (rows.min(), rows.max(), columns.min(), columns.max()) == (30, 69, x, x + 49)


@test
def a_probe_without_a_buffer_is_refused():
    said = []

    def probe(pad, info):
        refused(lambda: cf.add_roi(info, 0, 0, 1, 1, 'x'), 'no buffer')
        said.append(info.get_event().type)
        return Gst.PadProbeReturn.OK

    pipeline = Gst.parse_launch('videotestsrc num-buffers=1 ! fakesink name=sink')
    pipeline.get_by_name('sink').get_static_pad('sink').add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, probe)
    cf.play(pipeline)
    assert Gst.EventType.EOS in said


@test
def boxes_follow_a_scaled_frame():
    def prepare(buffer):
        assert cf.add_roi(buffer, 100, 60, 40, 20, 'face', 0.5, frame_size=(WIDTH, HEIGHT))

    line = 'cudasegment output=passthrough region-meta=true label-meta=true ! '
    before = run(line + 'identity', [picture()], prepare=prepare)[0].get_buffer()
    known = {r.id: r.box for r in cf.regions(before)}
    assert len(known) == len(DRAWN) + 1 and cf.rois(before, 'face')[0].confidence == 0.5
    for width, height in ((160, 120), (640, 240), (WIDTH, HEIGHT)):
        buffer = run(f'{line} videoconvert ! videoscale ! video/x-raw,format=BGR,width={width},height={height}',
                     [picture()], prepare=prepare)[0].get_buffer()
        # cf.label_map() lets a map pass where the size is the same.
        assert (cf.label_map(buffer) is None) == (width != WIDTH)
        regions = cf.regions(buffer)
        assert {r.id for r in regions} == set(known)
        for r in regions:
            x, y, w, h = known[r.id]
            box = x * width / WIDTH, y * height / HEIGHT, w * width / WIDTH, h * height / HEIGHT
            assert np.abs(np.subtract(r.box, box)).max() < 1, (r.box, box)
            # A GStreamer that keeps the parameters some day is fine, too.
            assert (r.age, r.area, r.centroid, r.mean) == (None,) * 4 or r.age == 0
        face = cf.rois(buffer, 'face')[0]
        assert face.box == (100 * width // WIDTH, 60 * height // HEIGHT, 40 * width // WIDTH, 20 * height // HEIGHT)
        assert face.confidence in (None, 0.5)


@test
def parameters_of_any_type():
    buffer = Gst.Buffer.new_allocate(None, 10, None)
    meta = GstVideo.buffer_add_video_region_of_interest_meta(buffer, 'car', 1, 2, 3, 4)
    for text in ('plate, text=(string)"AB 12", sure=(float)0.25, n=(int)-3, yes=(boolean)true, rate=(fraction)25/1;',
                 'plate, text=(string)other;', 'empty;',
                 'caps, c=(GstCaps)[video/x-raw], big=(guint64)18446744073709551615;'):
        meta.add_param(Gst.Structure.from_string(text)[0])
    roi = cf.rois(buffer)[0]
    assert [name for name, _ in roi.params] == ['plate', 'plate', 'empty', 'caps'], roi.params
    plate = roi.param('plate')
    assert (plate['text'], plate['sure'], plate['n'], plate['yes']) == ('AB 12', 0.25, -3, True)
    assert set(plate) == {'text', 'sure', 'n', 'yes', 'rate'} and roi.param('empty') == {}
    assert roi.param('caps')['big'] == 2 ** 64 - 1 and roi.confidence is None
    assert roi.params[1][1]['text'] == 'other'


# ---- frames ----------------------------------------------------------------------------

# What the planes of the formats look like: subsampling along x and y, and samples in a column, of each.
HALF, WIDE = (2, 2, 1), (2, 1, 1)
PLANES = {
    'GRAY8 GRAY16_LE': [(1, 1, 1)],
    'RGB BGR': [(1, 1, 3)],
    'RGBA BGRA ARGB ABGR RGBx BGRx xRGB xBGR AYUV VUYA': [(1, 1, 4)],
    'YUY2 UYVY': [(1, 1, 2)],
    'NV12 NV21 P010_10LE P012_LE P016_LE': [(1, 1, 1), (2, 2, 2)],
    'NV16': [(1, 1, 1), (2, 1, 2)],
    'NV24': [(1, 1, 1), (1, 1, 2)],
    'I420 YV12 I420_10LE I420_12LE': [(1, 1, 1), HALF, HALF],
    'A420': [(1, 1, 1), HALF, HALF, (1, 1, 1)],
    'Y42B I422_10LE I422_12LE': [(1, 1, 1), WIDE, WIDE],
    'Y444 GBR RGBP BGRP GBR_10LE Y444_10LE Y444_12LE Y444_16LE': [(1, 1, 1)] * 3,
}


def padded_frame(random, name, shapes, width, height):
    """Returns a sample of a frame with random samples in rows with padding, and its planes."""
    kind = np.dtype('<u2' if name.endswith('LE') else 'u1')
    content, strides, offsets, arrays = b'\xee' * 24, [], [], []
    for sub_x, sub_y, samples in shapes:
        columns, rows = -(-width // sub_x), -(-height // sub_y)
        columns += columns % 2 if 'YUY2' == name or 'UYVY' == name else 0
        array = random.integers(0, 256, (rows, columns * samples * kind.itemsize), np.uint8)
        strides.append(array.shape[1] + 12)
        offsets.append(len(content))
        content += np.pad(array, ((0, 0), (0, 12)), constant_values=0xdd).tobytes()
        arrays.append(array.view(kind).reshape(rows, columns, samples))
    buffer = Gst.Buffer.new_wrapped(content)
    GstVideo.buffer_add_video_meta_full(buffer, GstVideo.VideoFrameFlags.NONE, GstVideo.VideoFormat.from_string(name),
                                        width, height, len(shapes), offsets + [0] * (4 - len(shapes)),
                                        strides + [0] * (4 - len(shapes)))
    caps = Gst.Caps.from_string(f'video/x-raw,format={name},width={width},height={height},framerate=25/1')
    return Gst.Sample.new(buffer, caps, None, None), arrays


@test
def planes_of_all_formats():
    random, count = np.random.default_rng(1), 0
    for names, shapes in PLANES.items():
        for name in names.split():
            for width, height in ((8, 6), (7, 5), (1, 1)):
                sample, expected = padded_frame(random, name, shapes, width, height)
                found = cf.planes(sample)
                assert len(found) == len(expected), name
                for array, right in zip(found, expected):
                    right = right[:, :array.shape[1]]  # without the half of a pair that YUY2 has at an odd width
                    right = right[:, :, 0] if right.shape[2] == 1 else right
                    assert array.shape == right.shape and array.dtype == right.dtype, (name, array.shape, right.shape)
                    assert (array == right).all(), (name, width, height)
                if len(expected) > 1:
                    refused(lambda: cf.frame(sample), 'planes()')
                else:
                    assert (cf.frame(sample) == found[0]).all()
            count += 1
    assert count == 39
    for name in ('Y410', 'RGB10A2_LE', 'BGR10A2_LE'):  # several samples a word
        caps = Gst.Caps.from_string(f'video/x-raw,format={name},width=4,height=2,framerate=25/1')
        refused(lambda: cf.planes(Gst.Buffer.new_wrapped(bytes(32)), caps), 'no form as arrays')


@test
def a_frame_without_a_meta_has_the_strides_of_its_caps():
    image = np.random.default_rng(2).integers(0, 256, (5, 8, 3), np.uint8)  # 7 columns: rows are padded to 24 bytes
    caps = Gst.Caps.from_string('video/x-raw,format=RGB,width=7,height=5,framerate=25/1')
    buffer = buffer_of(image)
    assert (cf.frame(buffer, caps) == image[:, :7]).all()
    assert (cf.frame(Gst.Sample.new(buffer, caps, None, None)) == image[:, :7]).all()


@test
def what_is_no_frame_is_refused():
    buffer = Gst.Buffer.new_allocate(None, 100, None)

    def read(text):
        return lambda: cf.planes(buffer, Gst.Caps.from_string(text) if text else None)

    refused(read(None), 'needs a sample')
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        refused(read('audio/x-raw'), 'not a raw video frame')
        refused(read('ANY'), 'not a raw video frame')
        refused(read('video/x-raw,format=BGR'), 'not a raw video frame')
        refused(read('image/jpeg,width=4,height=4'), 'not a raw video frame')
    refused(read('video/x-raw,format=v210,width=4,height=4'), 'v210 has no form')
    refused(read('video/x-raw,format=BGR,width=40,height=40'), 'too few')
    refused(lambda: cf.planes(Gst.Sample.new(None, None, None, None)), 'needs a sample')
    sample = padded_frame(np.random.default_rng(3), 'BGR', [(1, 1, 3)], 8, 8)[0]
    other = Gst.Caps.from_string('video/x-raw,format=BGR,width=16,height=8,framerate=25/1')
    refused(lambda: cf.planes(sample.get_buffer(), other), '8 x 8')


# ---- pipelines, memory, installing -------------------------------------------------------

@test
def pipelines_that_fail_say_why():
    for line in ('filesrc location=/nonexistent.avi ! decodebin ! appsink name=sink',
                 'videotestsrc ! identity error-after=3 ! appsink name=sink'):
        for play in (cf.play, lambda pipeline: list(cf.samples(pipeline))):
            pipeline = Gst.parse_launch(line)
            try:
                play(pipeline)
            except RuntimeError as error:
                assert 'src' in str(error) or 'identity' in str(error), error
                assert '.c(' not in str(error), f'a place in GStreamer\'s source: {error}'
            else:
                raise AssertionError(f'"{line}" played')
            assert pipeline.get_state(0).state == Gst.State.NULL
    for sink in ('fakesink', 'fakesink name=sink'):
        refused(lambda: next(cf.samples(Gst.parse_launch(f'videotestsrc ! {sink}'))), 'appsink name=sink')
    pipeline = Gst.parse_launch('videotestsrc ! appsink name=sink max-buffers=2')
    assert [n for n, _ in zip(range(5), cf.samples(pipeline))] == list(range(5))  # leaving the loop stops it
    gc.collect()
    assert pipeline.get_state(Gst.SECOND).state == Gst.State.NULL


@test
def nothing_leaks():
    sample = run('cudasegment output=passthrough region-meta=true label-meta=true', [picture()])[0]

    def work(times):
        for _ in range(times):
            buffer = cf.copy_buffer(sample.get_buffer())
            cf.add_roi(buffer, 1, 2, 3, 4, 'face', 0.5, frame_size=(10, 10))
            assert len(cf.rois(buffer)) == len(DRAWN) + 2
            cf.label_map(buffer).labels[0, 0], cf.frame(buffer, sample.get_caps())[0, 0], cf.regions(buffer)
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = work(500)
    after = work(1500)  # one structure of each would be 400 kB; the map and the frame are far more
    assert after - before < 300, f'{after - before} KiB more after 1500 buffers'


@test
def pip_installs_it(folder):
    if not all(importlib.util.find_spec(name) for name in ('pip', 'setuptools')):
        return 'no pip or setuptools'
    copy, target = os.path.join(folder, 'tree'), os.path.join(folder, 'site')
    subprocess.run(['cp', '-r', os.path.join(ROOT, 'pipelines', 'python'), copy], check=True)
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', '--no-deps', '--no-build-isolation', '--target',
                    target, copy], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    code = 'import cudafilters; print(cudafilters.__file__, len(cudafilters.__all__))'
    said = subprocess.run([sys.executable, '-c', code], check=True, capture_output=True, text=True, cwd=folder,
                          env={**os.environ, 'PYTHONPATH': target}).stdout
    assert said.startswith(target) and int(said.split()[-1]) == len(cf.__all__), said
    assert os.path.exists(os.path.join(target, 'cudafilters', 'py.typed'))
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--region-at', metavar='PROGRAM')
    args = parser.parse_args()
    Gst.init(None)
    if Gst.ElementFactory.find('cudasegment') is None:
        sys.exit('cudasegment is not found: GST_PLUGIN_PATH=build/gst')
    print(Gst.version_string(), 'PyGObject', gi.__version__, 'NumPy', np.__version__)
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as folder:
        known = {'program': args.region_at, 'folder': folder}
        for function in tests:
            names = function.__code__.co_varnames[:function.__code__.co_argcount]
            try:
                why = function(**{name: known[name] for name in names})
                passed, skipped = passed + (not why), skipped + bool(why)
                print(f'{function.__name__}: {f"skipped, {why}" if why else "passed"}', flush=True)
            except Exception as error:  # pylint: disable=broad-except
                failed += 1
                sys.excepthook(type(error), error, error.__traceback__)
                print(f'{function.__name__}: FAILED', flush=True)
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    sys.exit(1 if failed or not passed else 0)


if __name__ == '__main__':
    main()
