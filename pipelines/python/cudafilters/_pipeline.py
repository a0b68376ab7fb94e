# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Plays pipelines to their end."""
from __future__ import annotations

from typing import Iterator

from gi.repository import Gst

STEP = Gst.SECOND // 10  # after which Python looks for Ctrl-C


def _raise(pipeline: Gst.Pipeline, message: Gst.Message) -> None:
    """Raises what an error message says."""
    error, details = message.parse_error()
    where = message.src.get_path_string() if message.src else pipeline.get_name()
    more = (details or '').splitlines()[1:]  # the first line is a place in GStreamer's source
    raise RuntimeError(f'{where}: {error.message}' + (f' ({more[-1]})' if more else ''))


def _check(pipeline: Gst.Pipeline, bus: Gst.Bus) -> None:
    message = bus.pop_filtered(Gst.MessageType.ERROR)
    if message is not None:
        _raise(pipeline, message)


def _start(pipeline: Gst.Pipeline) -> Gst.Bus:
    bus = pipeline.get_bus()
    if pipeline.set_state(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE:
        try:
            _check(pipeline, bus)
            raise RuntimeError(f'{pipeline.get_name()}: cannot play')
        finally:
            pipeline.set_state(Gst.State.NULL)  # which empties the bus
    return bus


def play(pipeline: Gst.Pipeline) -> None:
    """Plays a pipeline until its stream ends, and stops it. RuntimeError: one of its elements has failed."""
    bus = _start(pipeline)
    message = None
    try:
        while message is None:
            message = bus.timed_pop_filtered(STEP, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        if message.type == Gst.MessageType.ERROR:
            _raise(pipeline, message)
    finally:
        pipeline.set_state(Gst.State.NULL)


def samples(pipeline: Gst.Pipeline, sink: str = 'sink') -> Iterator[Gst.Sample]:
    """Plays a pipeline and yields what its appsink of that name receives, until the stream ends or the loop is left;
    then the pipeline is stopped. RuntimeError: one of its elements has failed."""
    appsink = pipeline.get_by_name(sink)
    if appsink is None or appsink.find_property('max-buffers') is None:
        raise ValueError(f'the pipeline has no appsink name={sink}')
    bus = _start(pipeline)
    try:
        while True:
            sample = appsink.emit('try-pull-sample', STEP)
            if sample is not None:
                yield sample
            else:
                _check(pipeline, bus)
                if appsink.get_property('eos'):
                    return
    finally:
        pipeline.set_state(Gst.State.NULL)
