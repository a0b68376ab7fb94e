// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright (C) 2026 the gst-cuda-filters authors
// The search in the recordings of the camera: where (draw.js has the areas) and when. Each result is a playlist for a
// player such as VLC, which begins at that second of the piece.
'use strict';

const EVER = '1970-01-01';

// Returns the time of a field as the search takes it.
const timeOf = (id, otherwise) => find(id).value ? new Date(find(id).value).toISOString() : otherwise;

const playlist = ({ piece, offset }) => `#EXTM3U\n#EXTVLCOPT:start-time=${offset}\n${piece}\n`;

function addFound(hit) {
  const begin = new Date(hit.begin), name = hit.piece.split('/').at(-1);
  const kinds = new Set(hit.events.map(event => event.zone ? `${event.kind} ${event.zone}` : event.kind));
  const seconds = Math.round((new Date(hit.end) - begin) / 1000);
  const link = make('a', { textContent: `${begin.toLocaleString()}, ${seconds} s`, download: name + '.m3u',
    href: 'data:audio/x-mpegurl,' + encodeURIComponent(playlist(hit)) });
  const where = `${[...kinds].join(', ')} (${name}, second ${hit.offset})`;
  find('found').append(make('li', { title: hit.piece }, link, ' ', where));
}

async function search(what) {
  const camera = current;
  try {
    const { found, next } = await ask('search?what=' + encodeURIComponent(what));
    if (camera !== current) // another one is shown by now
      return;
    found.forEach(addFound);
    find('more').hidden = !next;
    find('more').onclick = () => search(next);
    say(find('found').children.length ? '' : 'nothing has moved there');
  } catch (error) {
    say(error.message, true);
  }
}

function forget() {
  find('found').replaceChildren();
  find('more').hidden = true;
}

find('search').onsubmit = event => {
  event.preventDefault();
  forget();
  search(`${current}: ${searchedArea()}, ${timeOf('from', EVER)}, ${timeOf('to', 'now')}`);
};

window.addEventListener('hashchange', forget);
