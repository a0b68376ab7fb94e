// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright (C) 2026 the gst-cuda-filters authors
// The grid of cameras, one camera large, and the controls of its filter. What comes from the server is text, and is
// never made HTML.
'use strict';

const RATE = 2; // pictures a second of a tile, at most
const WAIT_MS = 20000;
const EVENTS = 100; // that are shown
const WIDEST = 5000; // of the ranges that have sliders
const STEPS = 1000; // of a slider for fractions

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

// Returns the answer; throws what the server says is wrong.
async function ask(path, method = 'GET', body = {}) {
  const more = method === 'GET' ? {} : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch('api/v1/' + path, { method, signal: AbortSignal.timeout(WAIT_MS), ...more });
  if (response.status === 401) // the session has ended: in place of the page there is a form
    location.reload();
  const answer = await response.json();
  if (!answer.ok)
    throw new Error(answer.error);
  return answer;
}

// ---- the grid

const states = new Map(); // camera -> its state
const tiles = new Map(); // camera -> { camera, link, image, text, end }

const isUp = camera => states.get(camera)?.state === 'up';

// Only tiles that are seen get pictures.
const sight = new IntersectionObserver(entries => {
  for (const { target, isIntersecting } of entries) {
    const tile = tiles.get(target.dataset.camera);
    tile?.end();
    if (tile && isIntersecting)
      tile.end = showPictures(tile.image, [tile.image], tile.camera, { as: 'jpeg', width: 320, rate: RATE },
        () => isUp(tile.camera));
    else if (tile)
      tile.end = () => {};
  }
});

function addTile(camera) {
  const image = make('img', { alt: '', className: 'away' }), text = make('span');
  const link = make('a', { href: '#' + camera }, image, text);
  link.dataset.camera = camera;
  tiles.set(camera, { camera, link, image, text, end: () => {} });
  find('grid').append(link);
  sight.observe(link);
}

function removeTile(camera, tile) {
  tile.end();
  sight.unobserve(tile.link);
  tile.link.remove();
  tiles.delete(camera);
}

function describe(status) {
  const recorded = status.recorded ? ', recorded' : '';
  return status.state === 'up' ? `up, ${status.fps} frames/s${recorded}`
    : status.state + (status.reason ? ': ' + status.reason : '');
}

function showStates() {
  for (const [camera, tile] of tiles)
    if (!states.has(camera))
      removeTile(camera, tile);
  for (const [camera, status] of states) {
    if (!tiles.has(camera))
      addTile(camera);
    const tile = tiles.get(camera);
    tile.text.textContent = `${camera}: ${describe(status)}`;
    if (!isUp(camera)) // what is there is no picture of now
      tile.image.classList.add('away');
  }
  if (!current)
    return;
  find('state').textContent = states.has(current) ? describe(states.get(current)) : 'there is no such camera';
  find('record').options[0].textContent = states.get(current)?.record ?? '';
  if (!isUp(current))
    for (const picture of [find('picture'), find('video'), find('pair')])
      picture.classList.add('away');
  if (shownAs !== howToShow())
    showPicture();
}

window.addEventListener('cameras', ({ detail }) => {
  for (const [camera, state] of Object.entries(detail))
    if (state)
      states.set(camera, state);
    else
      states.delete(camera);
  showStates();
});

window.addEventListener('role', showStates);

window.addEventListener('connection', ({ detail: there }) => {
  states.clear(); // all of them come anew
  for (const picture of document.querySelectorAll('#grid img, #picture, #video, #pair'))
    picture.classList.add('away');
  say(there ? '' : 'cf-watch does not answer', !there);
});

// ---- events

const BUILT = ['started', 'back']; // another filter may run
const NOT_SHOWN = ['schema', 'seq', 'time', 'camera', 'type'];

window.addEventListener('report', ({ detail }) => {
  const members = Object.entries(detail).filter(([name]) => !NOT_SHOWN.includes(name));
  const text = members.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(', ');
  const when = new Date(detail.time).toLocaleTimeString();
  find('events').prepend(make('li', { textContent: `${when} ${detail.camera ?? ''} ${detail.type} ${text}` }));
  find('events').children[EVENTS]?.remove();
  if (detail.camera === current && [...BUILT, 'settings-applied', 'settings-refused', 'command'].includes(detail.type))
    readElements(BUILT.includes(detail.type)).catch(() => {});
});

// ---- one camera

let current = ''; // the camera that is shown large; '': the grid is
let endPicture = () => {};
let shownAs = null; // 'video', 'pictures' or 'pair'; null: not yet
let unplayable = false; // this browser cannot play the camera's video
let controls = new Map(); // 'INDEX/PROPERTY' -> { property, input, slider, note }

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

// Returns a slider for a number beside its field, or null: over a range so wide nobody finds a value with it.
function makeSlider(property, input) {
  const span = property.max - property.min;
  if (input.type !== 'number' || !(span <= WIDEST))
    return null;
  const slider = make('input', { type: 'range', min: property.min, max: property.max,
    step: property.type === 'integer' ? 1 : span / STEPS, ariaLabel: property.name });
  slider.oninput = () => { input.value = +Number(slider.value).toPrecision(4); };
  slider.onchange = () => input.onchange();
  return slider;
}

// Shows the value that is in force, unless somebody is typing another one.
function showValue({ property, input, slider }) {
  if (slider && slider !== document.activeElement)
    slider.value = property.value;
  if (input === document.activeElement && input.type !== 'checkbox')
    return;
  if (input.type === 'checkbox')
    input.checked = property.value;
  else
    input.value = isColor(property) ? hex(property.value) : property.value ?? '';
}

function addControl(key, property) {
  const input = makeInput(property), note = make('span', { className: 'wrong-value' });
  const slider = makeSlider(property, input);
  note.setAttribute('role', 'alert');
  controls.set(key, { property, input, slider, note });
  input.disabled = !property.live;
  if (slider)
    slider.disabled = !property.live;
  input.onchange = () => set(key, input.type === 'checkbox' ? input.checked
    : input.type === 'color' ? '0xff' + input.value.slice(1) : input.value);
  const range = 'min' in property && !isColor(property) ? ` (${property.min} to ${property.max})` : '';
  const why = property.live ? '' : '\nOnly a new pipeline takes this up: change it in the file, and reload.';
  return make('label', { title: property.blurb + range + why, className: slider ? 'slides' : '' },
    make('span', { textContent: property.name }), ...slider ? [slider] : [], input, note);
}

const LITTLE = ['fill', 'mosaic', 'privacy', 'soft', 'smooth', 'gauss', 'box']; // presets that may hide a face
let faces = []; // functions that show what the elements' settings leave of one
let asked = 0;

// Shows what an element's settings leave of a face. The element makes the picture, of a drawn face.
function makeFace({ index, kind }) {
  const width = make('input', { type: 'number', min: 16, max: 256, value: 64, required: true,
    ariaLabel: 'Width of a face in pixels' });
  const image = make('img', { alt: 'A drawn face, and what this leaves of it' });
  const box = make('figure', {}, image,
    make('figcaption', {}, 'What this leaves of a face that fills an area and is ', width, ' pixels wide'));
  let shown = '';
  const show = elements => {
    if (elements[index]?.kind !== kind) // another filter line
      return;
    const mine = [...controls].filter(([key]) => key.startsWith(`${index}/`));
    const now = JSON.stringify([width.value, ...mine.map(([, { property }]) => property.value)]);
    box.hidden = !LITTLE.includes(controls.get(`${index}/preset`).property.value);
    if (!box.hidden && width.checkValidity() && shown !== (shown = now))
      image.src = `api/v1/${path(`elements/${index}/face.jpg?width=${width.value}&${++asked}`)}`;
  };
  width.onchange = () => readElements().catch(error => say(error.message, true));
  faces.push(show);
  return box;
}

// Those that the line or a command has set come first.
function buildControls(elements) {
  controls = new Map();
  faces = [];
  find('controls').replaceChildren(...elements.map(element => {
    const first = [], more = [], several = elements.filter(one => one.kind === element.kind).length > 1;
    const title = element.kind + (several ? ` (${element.index})` : '');
    for (const property of element.properties) {
      const isSet = String(property.value ?? '') !== String(property.default ?? '');
      const key = `${element.index}/${property.name}`;
      (isSet ? first : more).push(addControl(key, property));
      controls.get(key).title = title;
    }
    const face = ['preset', 'roi'].every(name => controls.has(`${element.index}/${name}`)) ? [makeFace(element)] : [];
    return make('div', {}, make('h2', { textContent: title }), ...face, ...first,
      make('details', {}, make('summary', { textContent: 'All other settings' }), ...more));
  }));
  window.dispatchEvent(new Event('controls'));
}

async function readElements(build = false) {
  const { elements, line } = await ask(path('elements'));
  if (build)
    buildControls(elements);
  showLine(line);
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
  faces.forEach(show => show(elements));
  find('enable').disabled = enabled.length === 0;
  find('enable').checked = enabled.length > 0 && enabled.every(value => value);
}

async function command(name, body, done, method = 'POST') {
  try {
    await ask(path(name), method, body);
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

// ---- the filter line

const EXAMPLES = {
  'without speckles': 'cudamedian kernel-size=5',
  'sharper': 'cudaconvolve preset=unsharp kernel-size=7 amount=1.5',
  'a part hidden': 'cudaconvolve preset=fill roi=0.3,0.3,0.4,0.4',
  'what moves hidden': 'cudamedian temporal-method=running motion-meta=true ! '
    + 'cudaconvolve preset=fill roi-meta=true roi-type=motion roi-missing=pass',
  'even light': 'cudairfilter preset=sharpen sigma=30 amount=0.6 apply-to=luma',
  'a very wide blur': 'cudairfilter preset=soft sigma=40',
  'regions of colour': 'cudasegment output=boundaries boundary-color=0xffffff00',
  'without noise': 'cudadenoise',
};

// Shows the line with all that is set now; of a filter in branches there is none.
function showLine(line) {
  if (find('line') !== document.activeElement)
    find('line').value = line ?? '';
  find('copies').hidden = line === undefined;
  find('as-line').value = line ?? '';
  find('as-json').value = '"filter": ' + JSON.stringify(line ?? '');
}

// Over plain HTTP from another machine a page may only select the text.
function copy(field) {
  field.select();
  navigator.clipboard?.writeText(field.value).then(() => say('copied'), () => {});
}

find('examples').append(...Object.entries(EXAMPLES).map(([name, line]) =>
  make('option', { value: line, textContent: name, title: line })));
find('examples').onchange = event => { find('line').value = event.target.value; };
find('change').onsubmit = event => {
  event.preventDefault();
  command('filter', { value: find('line').value }, 'another filter', 'PUT');
};
find('copy-line').onclick = () => copy(find('as-line'));
find('copy-json').onclick = () => copy(find('as-json'));

// Returns how: the frame before and after the filter where that is wished for and allowed, video where the camera is
// encoded and the browser plays it, else pictures.
function howToShow() {
  const sees = ['operator', 'admin'].includes(document.body.dataset.role);
  const state = states.get(current), allowed = (state?.original ?? false) && sees;
  find('compare-label').hidden = !allowed;
  return allowed && find('compare').checked ? 'pair' : state?.video && !unplayable && Source ? 'video' : 'pictures';
}

// Shows the camera large.
function showPicture() {
  const camera = current, up = () => isUp(camera);
  shownAs = howToShow();
  endPicture();
  find('video').hidden = shownAs !== 'video';
  find('picture').hidden = shownAs !== 'pictures';
  find('pair').hidden = find('split').hidden = shownAs !== 'pair';
  if (shownAs === 'video')
    endPicture = playVideo(find('video'), camera, up, () => { unplayable = true; showPicture(); });
  else if (shownAs === 'pair')
    endPicture = showPictures(find('pair'), [find('before'), find('after')], camera, { as: 'both' }, up,
      why => say(why, true));
  else
    endPicture = showPictures(find('picture'), [find('picture')], camera, { as: 'jpeg' }, up);
}

find('compare').onchange = showPicture;
find('split').oninput = event => {
  find('before').style.clipPath = `inset(0 ${100 - event.target.value}% 0 0)`;
  find('edge').style.left = event.target.value + '%';
};

async function show() {
  endPicture();
  endPicture = () => {};
  shownAs = null;
  unplayable = false;
  current = location.hash.slice(1);
  if (!/^[A-Za-z0-9][\w.-]*$/.test(current)) // no camera's name: it would be part of an address
    current = '';
  find('grid').hidden = current !== '';
  find('one').hidden = current === '';
  find('controls').replaceChildren();
  find('record').value = '';
  controls = new Map();
  faces = [];
  say('');
  showStates();
  find('camera').textContent = current;
  document.title = current ? `${current} - cf-watch` : 'cf-watch';
  if (!current)
    return;
  find('before').alt = `Picture of ${current} before the filter`;
  find('after').alt = 'The same picture after the filter';
  find('picture').alt = `Filtered picture of ${current}`;
  find('video').setAttribute('aria-label', `Filtered video of ${current}`);
  try {
    await readElements(true);
  } catch (error) {
    say(error.message, true);
  }
}

window.onhashchange = show;
show();
connect();
