// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright (C) 2026 the gst-cuda-filters authors
// Draws the areas that a filter is for over the picture, by mouse and by keyboard: the rectangles of `roi` and the
// polygons of `mask-polygons`. All points are fractions of the frame.
'use strict';

const STEP = 0.01; // of an arrow key
const NEAR = 0.025; // a point that the mouse takes hold of
const HELP = {
  'roi': 'Drag the mouse over the picture. Keys, when the picture has the focus: Enter begins a rectangle, arrows move '
    + 'its last corner, with Shift all of it, Delete removes it. Nothing drawn: the whole frame is filtered.',
  'mask-polygons': 'Click for each corner, double-click for the last. Keys, when the picture has the focus: Enter sets '
    + 'a corner, arrows move it, with Shift the whole polygon, Escape ends it, Delete removes it.',
};

const SVG = 'http://www.w3.org/2000/svg';
let shapes = []; // of lists of points [x, y]; a rectangle has two corners
let open = false; // the last polygon gets more corners
let held = null; // the point that the mouse has

const control = () => controls.get(find('target').value);
const isPolygons = () => control()?.property.name === 'mask-polygons';
const clip = x => Math.min(1, Math.max(0, x));
const number = x => String(+clip(x).toFixed(4));

// Returns the fractions that the numbers of a rectangle are: all of them are, if one has a decimal point; else pixels.
function toFractions(text, numbers) {
  if (text.includes('.'))
    return numbers;
  const size = controls.get(find('target').value.replace(/roi$/, 'roi-size'))?.property.value;
  const [width, height] = size ? size.split('x').map(Number)
    : !find('video').hidden ? [find('video').videoWidth || 1, find('video').videoHeight || 1]
      : (({ naturalWidth, naturalHeight }) => [naturalWidth || 1, naturalHeight || 1])(
        find(find('pair').hidden ? 'picture' : 'after'));
  return numbers.map((value, i) => value / (i % 2 ? height : width));
}

function read(text) {
  const parts = (text ?? '').split(';').map(part => part.trim()).filter(Boolean);
  return parts.map(part => {
    const numbers = part.split(/[\s,]+/).map(Number);
    if (isPolygons())
      return numbers.flatMap((x, i) => i % 2 ? [] : [[x, numbers[i + 1]]]);
    const [x, y, width, height] = toFractions(part, numbers);
    return [[x, y], [x + width, y + height]];
  }).map((shape, i) => Object.assign(shape, { text: parts[i], drawn: JSON.stringify(shape) }));
}

const bounds = ([[a, b], [c, d]]) =>
  [Math.min(a, c), Math.min(b, d), Math.abs(clip(c) - clip(a)), Math.abs(clip(d) - clip(b))];

// Returns an area as the element reads it. A decimal point says that these are fractions. One that nobody has touched
// stays as it is written: an operator may add areas, not round those that hide.
function writeShape(shape) {
  if (shape.drawn === JSON.stringify(shape))
    return shape.text;
  return isPolygons() ? shape.map(point => point.map(number).join(',')).join(' ')
    : bounds(shape).map(x => clip(x).toFixed(4)).join(',');
}

const write = () => shapes.filter(shape => !isPolygons() || shape.length > 2).map(writeShape).join('; ');

function node(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes))
    made.setAttribute(key, value);
  return made;
}

function paint() {
  const box = find('draw').getBoundingClientRect();
  const rx = 5 / Math.max(box.width, 1), ry = 5 / Math.max(box.height, 1);
  find('draw').replaceChildren(...shapes.flatMap(shape => {
    const [x, y, width, height] = isPolygons() ? [] : bounds(shape);
    const area = isPolygons() ? node('polygon', { points: shape.map(point => point.join(',')).join(' ') })
      : node('rect', { x, y, width, height });
    return [area, ...shape.map(([cx, cy]) => node('ellipse', { cx, cy, rx, ry }))];
  }));
  find('areas').textContent = write();
}

// ---- mouse

function at(event) {
  const box = find('draw').getBoundingClientRect();
  return [clip((event.clientX - box.left) / box.width), clip((event.clientY - box.top) / box.height)];
}

find('draw').onpointerdown = event => {
  const point = at(event);
  find('draw').setPointerCapture(event.pointerId);
  held = shapes.flat().find(other => Math.hypot(other[0] - point[0], other[1] - point[1]) < NEAR);
  if (!held && control()) {
    held = point;
    if (isPolygons() && open)
      shapes.at(-1).push(point);
    else
      shapes.push(isPolygons() ? [point] : [[...point], point]);
    open = isPolygons();
  }
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
  if (isPolygons() && open)
    shapes.at(-1).push([...shapes.at(-1).at(-1)]);
  else
    shapes.push(isPolygons() ? [[0.5, 0.5]] : [[0.4, 0.4], [0.6, 0.6]]);
  open = isPolygons();
}

find('draw').onkeydown = event => {
  const step = ARROWS[event.key], last = shapes.at(-1);
  if (event.key === 'Enter' && control()) {
    enter();
  } else if (event.key === 'Escape') {
    open = false;
  } else if (event.key === 'Delete' || event.key === 'Backspace') {
    shapes.pop();
    open = false;
  } else if (step && last) {
    for (const point of event.shiftKey ? last : [last.at(-1)]) {
      point[0] = clip(point[0] + step[0]);
      point[1] = clip(point[1] + step[1]);
    }
  } else {
    return;
  }
  event.preventDefault();
  paint();
};

new ResizeObserver(paint).observe(find('draw')); // corners are round whatever the picture's size

// ---- tools

// Shows what is in force.
function begin() {
  const name = control()?.property.name;
  shapes = name ? read(control().property.value) : [];
  open = false;
  find('help').textContent = HELP[name] ?? '';
  paint();
}

find('undo').onclick = () => { shapes.pop(); open = false; paint(); };
find('clear').onclick = () => { shapes = []; open = false; paint(); };
find('target').onchange = begin;
find('apply').onclick = () => set(find('target').value, write());

// Another camera, or another filter line.
window.addEventListener('controls', () => {
  const drawn = [...controls].filter(([, { property }]) => property.name in HELP && property.live);
  find('target').replaceChildren(...drawn.map(([key, { property }]) => {
    return make('option', { value: key, textContent: `${property.name} of element ${key.split('/')[0]}` });
  }));
  find('drawing').hidden = find('help').hidden = drawn.length === 0;
  begin();
});
