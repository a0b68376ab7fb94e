// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright (C) 2026 the gst-cuda-filters authors
// What comes by itself, over one WebSocket: pictures, a camera's video, events, and the states of cameras. ws.c has the
// other end.
'use strict';

const AGAIN_MS = 1000;
const SILENT_MS = 30000; // something comes every ten seconds
const KIND = { begin: 0, frame: 1, jpeg: 2, pair: 3 };

// ---- the connection

const channels = new Map(); // number -> { ask, got, on }
let socket = null, heard = 0, lastNumber = 0;

function tell(message) {
  if (socket?.readyState === WebSocket.OPEN)
    socket.send(JSON.stringify(message));
}

// Watches a camera. `on (kind, data, done)` gets each message: KIND.begin and so on with its bytes, or a text's object;
// it calls `done ()` when the next one may come. Returns a function that ends it.
function watch(camera, how, on) {
  const channel = { ask: { watch: camera, ...how }, got: 0, on };
  do
    lastNumber = lastNumber % 255 + 1;
  while (channels.has(lastNumber));
  const number = lastNumber;
  channels.set(number, channel);
  tell({ ...channel.ask, channel: number });
  return () => {
    channels.delete(number);
    tell({ stop: number });
  };
}

function onBinary(data) {
  const bytes = new Uint8Array(data), number = bytes[1], channel = channels.get(number);
  if (!channel) // it was stopped
    return;
  channel.got += bytes.length;
  channel.on(bytes[0], bytes.subarray(2), () => tell({ ack: number, bytes: channel.got }));
}

function onText(message) {
  if (message.cameras)
    window.dispatchEvent(new CustomEvent('cameras', { detail: message.cameras }));
  if (message.event)
    window.dispatchEvent(new CustomEvent('report', { detail: message.event }));
  if (message.channel)
    channels.get(message.channel)?.on(message, null, () => {});
}

// A page that nobody sees is not connected.
function connect() {
  if (socket || document.visibilityState === 'hidden')
    return;
  const address = new URL('api/v1/ws', location.href);
  address.protocol = address.protocol.replace('http', 'ws');
  const mine = socket = new WebSocket(address);
  mine.binaryType = 'arraybuffer';
  mine.onopen = () => {
    heard = performance.now();
    window.dispatchEvent(new CustomEvent('connection', { detail: true }));
    for (const [number, channel] of channels) {
      channel.got = 0;
      tell({ ...channel.ask, channel: number });
    }
  };
  mine.onmessage = ({ data }) => {
    heard = performance.now();
    if (mine !== socket)
      return;
    if (typeof data === 'string')
      onText(JSON.parse(data));
    else
      onBinary(data);
  };
  mine.onclose = async () => {
    if (mine !== socket)
      return;
    socket = null;
    window.dispatchEvent(new CustomEvent('connection', { detail: document.visibilityState === 'hidden' }));
    const me = await fetch('api/v1/me').catch(() => null);
    if (me?.status === 401) // the login has ended: in place of the page there is a form
      location.reload();
    setTimeout(connect, AGAIN_MS);
  };
}

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden')
    socket?.close();
  else
    connect();
});

setInterval(() => {
  if (socket?.readyState === WebSocket.OPEN && performance.now() - heard > SILENT_MS)
    socket.close();
}, AGAIN_MS);

// ---- pictures

// Shows pictures of the camera in the images, which are in the box: one, or, as "both", the same frame before and after
// the filter, both at once. More come only when these are painted, so that a slow connection gets fewer pictures, not
// later ones. `sayWhy ()` is called with why there is none. Returns a function that ends it.
function showPictures(box, images, camera, how, isUp, sayWhy = () => {}) {
  const end = watch(camera, how, async (kind, data, done) => {
    if (kind.error)
      sayWhy(kind.error);
    if (!data)
      return;
    const length = kind === KIND.pair ? new DataView(data.buffer, data.byteOffset).getUint32(0) : 0;
    const parts = kind === KIND.pair ? [data.subarray(4, 4 + length), data.subarray(4 + length)] : [data];
    const next = parts.map(part => Object.assign(new Image(),
      { src: URL.createObjectURL(new Blob([part], { type: 'image/jpeg' })) }));
    await Promise.all(next.map(image => image.decode())).catch(() => {});
    const old = images.map(image => image.src);
    images.forEach((image, i) => { image.src = next[i].src; });
    await Promise.all(images.map(image => image.decode())).catch(() => {});
    old.forEach(address => URL.revokeObjectURL(address));
    box.classList.toggle('away', !isUp());
    done();
  });
  return () => {
    end();
    box.classList.add('away');
  };
}

// ---- video

const Source = window.MediaSource ?? window.ManagedMediaSource; // the second is what iPhones have
const DURATION = 1; // s, that each frame says to last, FMP4_DURATION
const KEPT = 10; // s behind what is shown
const FAR = 0.6, LATE = 0.06, EARLY = 0.01, TARGET = 0.04; // s from the frame that is shown to the newest one

// Keeps the video close to the newest frame: a little faster or slower, or by a jump.
function keepUp(video) {
  const { buffered } = video;
  if (!buffered.length)
    return;
  const last = buffered.length - 1, newest = buffered.end(last) - DURATION, lag = newest - video.currentTime;
  if (lag > FAR || lag < -FAR || video.currentTime < buffered.start(last))
    video.currentTime = Math.max(newest - TARGET, buffered.start(last));
  video.playbackRate = lag > LATE ? 1.1 : lag < EARLY ? 0.9 : 1;
  if (video.paused)
    video.play().catch(() => {}); // it was stopped meanwhile
}

// What the video plays, from one start of the camera's stream to the next.
class Stream {
  constructor(video, codec, lost) {
    this.video = video;
    this.parts = [];
    this.lost = lost;
    this.source = new Source();
    const url = URL.createObjectURL(this.source);
    this.source.onsourceopen = () => {
      URL.revokeObjectURL(url);
      if (this.source.readyState !== 'open')
        return; // the next start came first: the video plays another source by now
      this.buffer = this.source.addSourceBuffer(`video/mp4; codecs="${codec}"`);
      this.buffer.onupdateend = () => this.pump();
      this.pump();
    };
    video.disableRemotePlayback = true;
    video.src = url;
  }

  add(part) {
    this.parts.push(part);
    this.pump();
  }

  pump() {
    if (this.buffer?.updating !== false || this.source.readyState !== 'open')
      return;
    keepUp(this.video);
    const { buffered } = this.buffer, old = this.video.currentTime - KEPT;
    try {
      if (buffered.length && buffered.start(0) < old - KEPT)
        this.buffer.remove(0, old);
      else if (this.parts.length)
        this.buffer.appendBuffer(this.parts.shift());
    } catch {
      this.lost();
    }
  }
}

// Plays the camera's video. `fail ()` is called where the browser cannot play it. Returns a function that ends it.
function playVideo(video, camera, isUp, fail) {
  let stream = null, codec = '';
  const lost = () => { stream = null; video.classList.add('away'); };
  const end = watch(camera, { as: 'mp4' }, (kind, data, done) => {
    if (kind === KIND.begin)
      stream = new Stream(video, codec, fail);
    if (data)
      stream?.add(data);
    else if (kind.away)
      lost();
    else if (kind.error || (codec = kind.codec) === '' || !Source?.isTypeSupported(`video/mp4; codecs="${codec}"`))
      fail();
    done();
  });
  video.ontimeupdate = () => video.classList.toggle('away', !stream || !isUp());
  video.onerror = () => { if (stream) fail(); };
  return () => {
    end();
    lost();
    video.removeAttribute('src');
    video.load();
  };
}
