#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Writes docs/elements/cuda*.md, a page for each element.

usage: GST_PLUGIN_PATH=build/gst docs/elements/make.py [--check]

A page is made of the element's text (the gtk-doc comment of gst/gstcuda*.c), of the part that is written by hand
(docs/elements/STEM.in.md) and of the properties, as the element itself lists them. --check writes nothing: it prints
how the pages differ from what would be written, and exits with 1 if they do.
"""
import difflib
import os
import re
import sys
import textwrap

import gstapi

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NO_PLUGIN = 'no element "cuda{}"; GST_PLUGIN_PATH has to name the folder of libgstcudafilters.so'
WIDTH = 120


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


STEMS = re.findall(r'\bROW \((\w+)\)', read('cuda/cf.h'))


# ---- the element's text --------------------------------------------------------

def comment_of(source):
    """Returns the lines of the gtk-doc comment "SECTION:..." of a C file, without what makes them a comment."""
    found = re.search(r'/\*\*\n \* SECTION:element-[a-z]+\n(.*?)\n \*/', source, re.S)
    return [re.sub(r'^ \* ?', '', line) for line in found.group(1).split('\n')]


def plain(text):
    """Replaces gtk-doc's marks for properties and types by Markdown's for code."""
    text = re.sub(r'#\w+:([a-z-]+)', r'`\1`', text)
    return re.sub(r'[#%](\w+)', r'`\1`', text)


def fill(text):
    """Fills each paragraph and each item of a list."""
    paragraphs = [[textwrap.fill(' '.join(item.split()), WIDTH, break_on_hyphens=False,
                                 subsequent_indent='  ' if item.startswith('* ') else '')
                   for item in re.split(r'\n(?=\* )', paragraph)] for paragraph in text.split('\n\n')]
    return '\n\n'.join('\n'.join(items) for items in paragraphs)


def launch_lines(lines):
    """Returns Markdown for lines of the form `|[`, a line of gst-launch-1.0, `]| What it does.`"""
    out, code = [], []
    for line in lines:
        if line.startswith(']|'):
            out += [fill(plain(line[2:].strip())), '', *('    ' + word for word in code), '']
            code = []
        elif line.startswith('|['):
            code = []
        elif code or line.startswith('gst-launch-1.0'):
            code.append(line)
    return out


def element_text(name):
    """Returns the one-line description, the paragraphs, the launch lines and the version of the gtk-doc comment."""
    lines = comment_of(read(f'gst/gst{name}.c'))
    tags = dict(re.findall(r'^@(\w+): (.*)$', '\n'.join(lines), re.M))
    since = re.search(r'^Since: (.*)$', '\n'.join(lines), re.M).group(1)
    examples = lines.index('## Example launch lines')
    body = [plain(line) for line in lines[:examples] if not line.startswith('@')]
    return tags['short_description'], fill('\n'.join(body).strip()), launch_lines(lines[examples + 1:]), since


# ---- properties ------------------------------------------------------------------

def number(value):
    return f'{value:.10g}'


def default_of(p):
    if p.changes == 'never':
        return ''
    if p.kind == 'bool':
        return 'true' if p.default else 'false'
    if p.kind == 'color':
        return f'0x{p.default:08x}'
    return {'string': 'none', 'enum': p.default, 'flags': p.default}.get(p.kind) or number(p.default)


def range_of(p):
    if p.kind in ('int', 'double'):
        high = '' if p.high == 2147483647 else number(p.high)
        return f'{number(p.low)}..{high}'
    return {'bool': 'false, true', 'color': '0xAARRGGBB', 'string': 'text', 'other': 'structure',
            'enum': ', '.join(nick for nick, _ in p.values),
            'flags': 'any of ' + ', '.join(nick for nick, _ in p.values)}[p.kind]


def change_of(p):
    return {'never': 'read-only', 'ready': 'before the start',
            'live': 'any time, controllable' if p.controllable else 'any time'}[p.changes]


def cell(text):
    return text.replace('|', '\\|')


def property_table(properties):
    out = ['| property | type | range | default | unit | may change | meaning |',
           '| --- | --- | --- | --- | --- | --- | --- |']
    for p in properties:
        kind = {'other': 'GstStructure', 'bool': 'boolean', 'color': 'uint'}.get(p.kind, p.kind)
        row = f'`{p.name}`', kind, range_of(p), default_of(p), p.unit, change_of(p), p.blurb
        out.append('| ' + ' | '.join(cell(text) for text in row) + ' |')
    return out + ['']


def value_tables(properties):
    out = []
    for p in properties:
        if p.values and p.name != 'active-backend':
            out += [f'Values of `{p.name}`:', '', '| value | meaning |', '| --- | --- |']
            out += [f'| {nick} | {cell(blurb)} |' for nick, blurb in p.values] + ['']
    return out


# ---- a page ------------------------------------------------------------------------

PROPERTIES = '''\
Properties that may change at any time take effect with the next frame. A value that the element refuses is an error
before the start ([regions](regions.md#when-something-is-wrong) never are); while the stream runs the previous value is
kept, and a warning is posted on the bus. Properties that are controllable can be animated by a GstController. "Before
the start" is the state NULL or READY.'''


def page(gst, stem):
    name = 'cuda' + stem
    element = gst.element(name)
    if not element:
        raise SystemExit('make.py: ' + NO_PLUGIN.format(stem))
    short, body, examples, since = element_text(name)
    own = [p for p in element.properties if p.owner != 'GstCfFilter']
    common = [p for p in element.properties if p.owner == 'GstCfFilter']
    formats = textwrap.fill(', '.join(element.formats) + '.', WIDTH, break_on_hyphens=False)
    lines = [
        f'<!-- Written by docs/elements/make.py from gst/gst{name}.c, {stem}.in.md and the properties. -->', '',
        f'# {name}', '', f'{short[0].upper()}{short[1:]}. Since version {since}.', '', body, '',
        '## Launch lines', '', *examples,
        read(f'docs/elements/{stem}.in.md').strip(), '',
        '## Properties', '', PROPERTIES, '', *property_table(own), *value_tables(own),
        '## Properties of all elements', '',
        '[docs/using.md](../using.md) explains backends, GPUs, `frames-in-flight` and `stats`;',
        '[regions](regions.md) the properties from `enabled` to `mask-polygons`.', '',
        *property_table(common), *value_tables(common),
        '## Formats', '', formats, '',
        'Frames have from 1 x 1 to 16384 x 16384 pixels, in system memory or in CUDA memory:',
        '[docs/using.md](../using.md#formats).', '',
        '## Contract', '',
        f'The exact rules, to the last bit, are in [cuda/{stem}/{stem}.h](../../cuda/{stem}/{stem}.h).', '']
    return '\n'.join(lines)


def differences(gst):
    """Returns the diff of all pages against what would be written, as lines."""
    out = []
    for stem in STEMS:
        path = f'docs/elements/cuda{stem}.md'
        there = read(path) if os.path.exists(os.path.join(ROOT, path)) else ''
        out += difflib.unified_diff(there.splitlines(), page(gst, stem).splitlines(), path, 'what make.py writes',
                                    lineterm='')
    return out


def main():
    if sys.argv[1:] not in ([], ['--check']):
        sys.exit(__doc__)
    gst = gstapi.Gst()
    if sys.argv[1:]:
        diff = differences(gst)
        print('\n'.join(diff), end='\n' if diff else '')
        sys.exit(1 if diff else 0)
    for stem in STEMS:
        text = page(gst, stem)  # before the old page is gone
        with open(os.path.join(HERE, f'cuda{stem}.md'), 'w', encoding='utf-8') as file:
            file.write(text)


if __name__ == '__main__':
    main()
