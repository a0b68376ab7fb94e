// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright (C) 2026 the gst-cuda-filters authors
// Draws areas over the picture, by mouse and by keyboard: the rectangles of `roi`, the polygons of `mask-polygons`, the
// polygons with names of `zones`, the points of `seeds`, and where to search. All points are fractions of the frame.
'use strict';

const STEP = 0.01; // of an arrow key
const NEAR = 0.025; // a point that the mouse takes hold of
const ANY = ' With Shift they move all of it, Page Up and Page Down choose another one, Delete removes it.';
const POLYGON = 'Click for each corner, double-click for the last. Keys, when the picture has the focus: Enter sets a '
  + 'corner, arrows move it, Escape ends it.' + ANY;
// The properties that are drawn. `corners`: how many each area has, 0: three or more.
const KINDS = {
  'roi': { corners: 2, help: 'Drag the mouse over the picture. Keys, when the picture has the focus: Enter begins a '
    + 'rectangle, arrows move its last corner.' + ANY + ' Nothing drawn: the whole frame is filtered.' },
  'mask-polygons': { corners: 0, help: POLYGON },
  'zones': { corners: 0, named: true, help: POLYGON + ' Events have the name of the zone.' },
  'seeds': { corners: 1, pixels: true, help: 'Click for each point. Keys, when the picture has the focus: Enter sets a '
    + 'point, arrows move it.' + ANY },
  'rectangle to search': { corners: 2, one: true, help: 'Drag the mouse over the picture, or press Enter and arrows '
    + 'when it has the focus. Then ask what moved there: below. Nothing drawn: the whole frame is searched.' },
  'polygon to search': { corners: 0, one: true, help: POLYGON + ' Then ask what moved there: below.' },
};

// Where to search is drawn like a property, but there is no element that has it.
const SEARCHED = new Map(['rectangle to search', 'polygon to search'].map(name => [name, { property: { name, value: '' } }]));

const SVG = 'http://www.w3.org/2000/svg';
let shapes = []; // of lists of points [x, y], with a `name` if they are zones; a rectangle has two corners
let chosen = null; // the shape that keys move and that the name is of
let open = false; // the chosen polygon gets more corners
let held = null; // the point that the mouse has
let touched = false; // what is shown is not what is in force

const control = () => SEARCHED.get(find('target').value) ?? controls.get(find('target').value);
const kind = () => KINDS[control()?.property.name];
const clip = x => Math.min(1, Math.max(0, x));
const number = x => String(+clip(x).toFixed(4));

// Returns the size of the frames that pixels of the property count in, as far as it is known.
function frameSize() {
  const { videoWidth, videoHeight } = find('video');
  const { naturalWidth, naturalHeight } = find(find('pair').hidden ? 'picture' : 'after');
  const size = controls.get(find('target').value.replace(/roi$/, 'roi-size'))?.property.value;
  return /^\d+x\d+$/.test(size) ? size.split('x').map(Number)
    : find('video').hidden ? [naturalWidth || 1, naturalHeight || 1] : [videoWidth || 1, videoHeight || 1];
}

// Returns the numbers of a rectangle or a point as fractions of the frame. A rectangle with a decimal point has
// fractions already. Other numbers are pixels.
function toFractions(text, numbers) {
  const size = frameSize();
  return text.includes('.') && !kind().pixels ? numbers : numbers.map((value, i) => value / size[i % 2]);
}

function read(text) {
  const parts = (text ?? '').split(';').map(part => part.trim()).filter(Boolean);
  return parts.map(part => {
    const colon = kind().named ? part.indexOf(':') + 1 : 0;
    const numbers = part.slice(colon).trim().split(/[\s,]+/).map(Number);
    const [x, y, width, height] = kind().corners ? toFractions(part, numbers) : [];
    const shape = kind().corners === 2 ? [[x, y], [x + width, y + height]] : kind().corners === 1 ? [[x, y]]
      : numbers.flatMap((value, i) => i % 2 ? [] : [[value, numbers[i + 1]]]);
    return Object.assign(shape, { text: part, drawn: String(shape), name: part.slice(0, Math.max(colon - 1, 0)).trim() });
  });
}

const bounds = ([[a, b], [c, d]]) =>
  [Math.min(a, c), Math.min(b, d), Math.abs(clip(c) - clip(a)), Math.abs(clip(d) - clip(b))];

// Returns an area as the element reads it. A decimal point says that these are fractions. One that nobody has touched
// stays as it is written: an operator may add areas, not round those that hide.
function writeShape(shape) {
  const { corners, named } = kind();
  if (shape.drawn === String(shape))
    return shape.text;
  if (corners === 1)
    return frameSize().map((size, i) => Math.min(size - 1, Math.floor(clip(shape[0][i]) * size))).join(',');
  return corners === 2 ? bounds(shape).map(x => clip(x).toFixed(4)).join(',')
    : (named ? shape.name + ': ' : '') + shape.map(point => point.map(number).join(',')).join(' ');
}

const write = () => shapes.filter(shape => kind().corners || shape.length > 2).map(writeShape).join('; ');

function node(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes))
    made.setAttribute(key, value);
  return made;
}

function paint() {
  const box = find('draw').getBoundingClientRect(), width = Math.max(box.width, 1), height = Math.max(box.height, 1);
  find('draw').replaceChildren(...(kind() ? shapes : []).flatMap(shape => {
    const [x, y, w, h] = kind().corners === 2 ? bounds(shape) : [];
    const area = kind().corners === 2 ? node('rect', { x, y, width: w, height: h })
      : node('polygon', { points: shape.map(point => point.join(',')).join(' ') });
    const text = node('text', { transform: `translate(${shape[0]}) scale(${1 / width} ${1 / height})`, x: 8, y: 20 });
    text.textContent = shape.name ?? '';
    for (const part of [area, text])
      part.classList.toggle('chosen', shape === chosen);
    return [area, text, ...shape.map(([cx, cy]) => node('ellipse', { cx, cy, rx: 5 / width, ry: 5 / height }))];
  }));
  find('areas').textContent = kind() ? write() : '';
  if (kind()?.one) // nothing is to be applied
    control().property.value = write();
  find('name').value = chosen?.name ?? '';
  find('name').disabled = !chosen;
}

// Begins an area; of those to search there is only one. A zone has the first number that is no zone's name.
function add(...points) {
  let n = 1;
  while (shapes.some(shape => shape.name === `zone${n}`))
    n++;
  chosen = Object.assign(points, { name: kind().named ? `zone${n}` : '' });
  shapes = kind().one ? [chosen] : [...shapes, chosen];
  open = !kind().corners;
}

function remove() {
  shapes = shapes.filter(shape => shape !== chosen);
  chosen = shapes.at(-1);
  open = false;
}

// ---- mouse

function at(event) {
  const box = find('draw').getBoundingClientRect();
  return [clip((event.clientX - box.left) / box.width), clip((event.clientY - box.top) / box.height)];
}

find('draw').onpointerdown = event => {
  const point = at(event), isNear = other => Math.hypot(other[0] - point[0], other[1] - point[1]) < NEAR;
  find('draw').setPointerCapture(event.pointerId);
  if (!control())
    return;
  touched = true;
  held = shapes.flat().find(isNear);
  if (held)
    chosen = shapes.find(shape => shape.includes(held));
  else if (open)
    chosen.push(held = point);
  else
    add(...kind().corners === 2 ? [[...point]] : [], held = point);
  paint();
};

find('draw').onpointermove = event => {
  if (held)
    [held[0], held[1]] = at(event);
  if (held)
    paint();
};

find('draw').onpointerup = () => { held = null; };
find('draw').ondblclick = () => { open = false; };

// ---- keyboard

const ARROWS = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };

function enter() {
  if (open)
    chosen.push([...chosen.at(-1)]);
  else
    add(...kind().corners === 2 ? [[0.4, 0.4], [0.6, 0.6]] : [[0.5, 0.5]]);
}

function move(points, [x, y]) {
  for (const point of points)
    [point[0], point[1]] = [clip(point[0] + x), clip(point[1] + y)];
}

function choose(step) {
  const { length } = shapes;
  chosen = shapes[(shapes.indexOf(chosen) + step + length) % length];
  open = false;
}

find('draw').onkeydown = event => {
  const step = ARROWS[event.key], page = { PageUp: -1, PageDown: 1 }[event.key];
  if (event.key === 'Enter' && control())
    enter();
  else if (event.key === 'Escape')
    open = false;
  else if (event.key === 'Delete' || event.key === 'Backspace')
    remove();
  else if (step && chosen)
    move(event.shiftKey ? chosen : [chosen.at(-1)], step);
  else if (page && chosen)
    choose(page);
  else
    return;
  touched = true;
  event.preventDefault();
  paint();
};

// Corners are round whatever the picture's size. Areas in pixels have their place only when there is a picture.
new ResizeObserver(() => touched ? paint() : begin()).observe(find('draw'));

// ---- tools

// Shows what is in force.
function begin() {
  shapes = kind() ? read(control().property.value) : [];
  chosen = shapes.at(-1);
  open = touched = false;
  find('help').textContent = kind()?.help ?? '';
  find('named').hidden = !kind()?.named;
  find('apply').hidden = kind()?.one ?? false;
  paint();
}

find('name').oninput = ({ target }) => {
  chosen.name = target.value.replace(/[:;]/g, '').trimStart(); // they end a name and a zone
  delete chosen.drawn;
  touched = true;
  paint();
};
find('delete').onclick = () => { remove(); touched = true; paint(); };
find('clear').onclick = () => { shapes = []; chosen = null; open = false; touched = true; paint(); };
find('target').onchange = begin;
find('apply').onclick = () => { open = false; set(find('target').value, write()); };

// Returns the polygon that was drawn last for the search; '': the whole frame.
function searchedArea() {
  const shape = kind()?.one ? shapes[0] : null;
  if (!shape || (!kind().corners && shape.length < 3))
    return '';
  const [x, y, w, h] = kind().corners ? bounds(shape) : [];
  const corners = kind().corners ? [[x, y], [x + w, y], [x + w, y + h], [x, y + h]] : shape;
  return corners.map(point => point.map(number).join(',')).join(' ');
}

// Another camera, another filter line, or who has logged in is known: a viewer draws nothing but where to search.
function offer() {
  const may = document.body.dataset.role !== 'viewer';
  const drawn = [...controls].filter(([, { property }]) => may && property.name in KINDS && property.live);
  find('target').replaceChildren(...drawn.map(([key, { property, title }]) =>
    make('option', { value: key, textContent: `${property.name} of ${title}` })),
  ...[...SEARCHED.keys()].map(name => make('option', { value: name, textContent: name })));
  find('drawing').hidden = find('help').hidden = false;
  begin();
}

window.addEventListener('controls', offer);
window.addEventListener('role', offer);
window.addEventListener('hashchange', () => {
  SEARCHED.forEach(({ property }) => { property.value = ''; });
  shapes = [];
  touched = false;
});
