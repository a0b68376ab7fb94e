// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright (C) 2026 the gst-cuda-filters authors
// The grid of cameras, one camera large, and the controls of its filter. What comes from the server is text, and is
// never made HTML.
'use strict';

const TILE_MS = 500; // from one picture of a tile to the next, at least
const LARGE_MS = 150;
const STATUS_MS = 2000;
const PICTURES = 4; // under way: a browser has six connections, and commands need some
const WAIT_MS = 20000;

const find = id => document.getElementById(id);

function make(name, members = {}, ...inside) {
  const node = Object.assign(document.createElement(name), members);
  node.append(...inside);
  return node;
}

function say(text, wrong = false) {
  find('note').textContent = text;
  find('note').className = wrong ? 'wrong' : '';
}

const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

// Returns the answer; throws what the server says is wrong.
async function ask(path, method = 'GET', body = {}) {
  const more = method === 'GET' ? {} : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch('api/v1/' + path, { method, signal: AbortSignal.timeout(WAIT_MS), ...more });
  const answer = await response.json();
  if (!answer.ok)
    throw new Error(answer.error);
  return answer;
}

// ---- pictures

let underWay = 0;

// Puts the next picture into the image. Another one is asked for only when this one has arrived, so that a slow
// connection gets fewer pictures, not later ones.
async function load(image, camera, query) {
  underWay++;
  try {
    const response = await fetch(`api/v1/cameras/${camera}/snapshot.jpg${query}`,
      { signal: AbortSignal.timeout(WAIT_MS) });
    if (!response.ok)
      throw new Error((await response.json()).error);
    const old = image.src;
    image.src = URL.createObjectURL(await response.blob());
    await image.decode();
    URL.revokeObjectURL(old);
    image.classList.remove('away');
  } catch {
    image.classList.add('away'); // what was there is no picture of now
  } finally {
    underWay--;
  }
}

// Loads pictures while `wanted ()`. Returns a function that ends it.
function follow(image, camera, query, ms, wanted) {
  let on = true;
  (async () => {
    while (on) {
      const begun = performance.now();
      const up = states.get(camera)?.state === 'up';
      if (!up)
        image.classList.add('away');
      else if (underWay < PICTURES && document.visibilityState === 'visible' && wanted()) {
        await load(image, camera, query);
        await pause(Math.max(0, begun + ms - performance.now()));
        continue;
      }
      await pause(underWay < PICTURES ? 200 : 20);
    }
    URL.revokeObjectURL(image.src);
  })();
  return () => { on = false; };
}

// ---- the grid

const states = new Map(); // camera -> its status
const tiles = new Map(); // camera -> { link, text, visible, end }

const sight = new IntersectionObserver(entries => {
  for (const entry of entries)
    for (const tile of tiles.values())
      if (tile.link === entry.target)
        tile.visible = entry.isIntersecting;
});

function addTile(camera) {
  const image = make('img', { alt: '', className: 'away' }), text = make('span');
  const tile = { link: make('a', { href: '#' + camera }, image, text), text, visible: false };
  tiles.set(camera, tile);
  tile.end = follow(image, camera, '?width=320', TILE_MS, () => tile.visible && !current);
  find('grid').append(tile.link);
  sight.observe(tile.link);
}

function removeTile(camera, tile) {
  tile.end();
  sight.unobserve(tile.link);
  tile.link.remove();
  tiles.delete(camera);
}

function describe(status) {
  const recorded = status.record?.on ? ', recorded' : '';
  return status.state === 'up' ? `up, ${Math.round(status.fps)} frames/s${recorded}`
    : status.state + (status.reason ? ': ' + status.reason : '');
}

function showStates() {
  for (const [camera, tile] of tiles)
    if (!states.has(camera))
      removeTile(camera, tile);
  for (const [camera, status] of states) {
    if (!tiles.has(camera))
      addTile(camera);
    tiles.get(camera).text.textContent = `${camera}: ${describe(status)}`;
  }
  if (current) {
    find('state').textContent = states.has(current) ? describe(states.get(current)) : 'there is no such camera';
    find('record').options[0].textContent = states.get(current)?.record.mode ?? '';
  }
}

async function followStates() {
  let away = false;
  for (;;) {
    try {
      const { status } = await ask('status');
      states.clear();
      for (const camera of Object.keys(status.cameras))
        states.set(camera, status.cameras[camera]);
      if (away)
        say('');
      away = false;
    } catch {
      states.clear();
      away = true;
      say('cf-watch does not answer', true);
    }
    if (!away || current)
      showStates();
    await pause(STATUS_MS);
  }
}

// ---- one camera

let current = ''; // the camera that is shown large; '': the grid is
let endPicture = () => {};
let controls = new Map(); // 'INDEX/PROPERTY' -> { property, input, note }

const path = rest => `cameras/${current}/${rest}`;

// Sets a property. Returns whether the element has taken it; else its own sentence is beside the control.
async function set(key, value) {
  const control = controls.get(key);
  try {
    const answer = await ask(path('elements/' + key), 'PUT', { value: String(value) });
    control.note.textContent = '';
    say(`${control.property.name} = ${answer.value}`);
    await readElements();
    return true;
  } catch (error) {
    control.note.textContent = error.message;
    say(error.message, true);
    return false;
  }
}

const hex = number => '#' + (number & 0xffffff).toString(16).padStart(6, '0');
const isColor = property => property.type === 'integer' && property.name.endsWith('color');

function makeInput(property) {
  if (property.type === 'boolean')
    return make('input', { type: 'checkbox' });
  if (property.type === 'enum')
    return make('select', {}, ...property.values.map(one =>
      make('option', { value: one.value, textContent: one.value, title: one.blurb })));
  if (isColor(property))
    return make('input', { type: 'color' });
  if (property.type === 'integer' || property.type === 'number')
    return make('input', { type: 'number', min: property.min, max: property.max,
      step: property.type === 'integer' ? 1 : 'any' });
  return make('input', { type: 'text', spellcheck: false });
}

// Shows the value that is in force, unless somebody is typing another one.
function showValue({ property, input }) {
  if (input === document.activeElement && input.type !== 'checkbox')
    return;
  if (input.type === 'checkbox')
    input.checked = property.value;
  else
    input.value = isColor(property) ? hex(property.value) : property.value ?? '';
}

function addControl(key, property) {
  const input = makeInput(property), note = make('span', { className: 'wrong-value' });
  note.setAttribute('role', 'alert');
  controls.set(key, { property, input, note });
  input.disabled = !property.live;
  input.onchange = () => set(key, input.type === 'checkbox' ? input.checked
    : input.type === 'color' ? '0xff' + input.value.slice(1) : input.value);
  const range = 'min' in property && !isColor(property) ? ` (${property.min} to ${property.max})` : '';
  const why = property.live ? '' : '\nOnly a new pipeline takes this up: change it in the file, and reload.';
  return make('label', { title: property.blurb + range + why }, make('span', { textContent: property.name }), input, note);
}

// Those that the line or a command has set come first.
function buildControls(elements) {
  controls = new Map();
  find('controls').replaceChildren(...elements.map(element => {
    const first = [], more = [];
    for (const property of element.properties) {
      const isSet = String(property.value ?? '') !== String(property.default ?? '');
      (isSet ? first : more).push(addControl(`${element.index}/${property.name}`, property));
    }
    return make('div', {}, make('h2', { textContent: element.kind }), ...first,
      make('details', {}, make('summary', { textContent: 'All other settings' }), ...more));
  }));
  window.dispatchEvent(new Event('controls'));
}

async function readElements(build = false) {
  const { elements } = await ask(path('elements'));
  if (build)
    buildControls(elements);
  const enabled = [];
  for (const element of elements)
    for (const property of element.properties) {
      const control = controls.get(`${element.index}/${property.name}`);
      if (!control) // another filter line
        continue;
      control.property = property;
      showValue(control);
      if (property.name === 'enabled')
        enabled.push(property.value);
    }
  find('enable').disabled = enabled.length === 0;
  find('enable').checked = enabled.length > 0 && enabled.every(value => value);
}

async function command(name, body, done) {
  try {
    await ask(path(name), 'POST', body);
    say(done);
    await readElements();
  } catch (error) {
    say(error.message, true);
  }
}

find('enable').onchange = event => command('enable', { value: event.target.checked ? 'on' : 'off' },
  event.target.checked ? 'the filter is on' : 'the filter is off: the picture is as the camera sends it');
find('record').onchange = event => command('record', { value: event.target.value }, 'record ' + event.target.value);
find('trigger').onclick = () => command('trigger', {}, 'triggered');
find('restart').onclick = () => command('restart', {}, 'restarted');

async function show() {
  endPicture();
  current = location.hash.slice(1);
  if (!/^[A-Za-z0-9][\w.-]*$/.test(current)) // no camera's name: it would be part of an address
    current = '';
  find('grid').hidden = current !== '';
  find('one').hidden = current === '';
  find('controls').replaceChildren();
  find('record').value = '';
  controls = new Map();
  say('');
  showStates();
  document.title = current ? `${current} - cf-watch` : 'cf-watch';
  if (!current)
    return;
  const image = find('picture');
  image.alt = `Filtered picture of ${current}`;
  image.classList.add('away');
  endPicture = follow(image, current, '', LARGE_MS, () => true);
  try {
    await readElements(true);
  } catch (error) {
    say(error.message, true);
  }
}

window.onhashchange = show;
show();
followStates();
