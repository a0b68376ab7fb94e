#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Checks the documents against the elements.

usage: GST_PLUGIN_PATH=build/gst tests/docs/check_docs.py [-v]

- The pages of the elements are those that docs/elements/make.py writes.
- Every line of gst-launch-1.0 in a document, or in the gtk-doc comment of an element, parses, and a frame passes
  through its elements: sources and decoders are replaced by a test video, encoders and sinks by fakesink, and all other
  elements keep their properties. The CPU filters.
- Element lines in documents (of bench, of demo.sh, in text) name properties that exist, with values that they accept.
- The tables of parameters in the contracts (cuda/STEM/STEM.h), tables of properties and of the fields of `stats` in
  documents agree with the elements.
- Relative links, their anchors and images exist; so do the files that the documents for users name.

Prints failures (-v: all results) and ends with the line `N passed, N failed, N skipped`. 77: gst-launch-1.0 is missing.
"""
import concurrent.futures
import os
import re
import shlex
import shutil
import sys
import tempfile
import threading
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'docs', 'elements'))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, 'tests'))
import gstapi  # noqa: E402
import make  # noqa: E402
import style  # noqa: E402

SECONDS = 20  # a pipeline of two small frames takes milliseconds
USER_DOCUMENTS = r'README\.md|docs/(?:using|python)\.md|docs/elements/(?:cuda\w+|regions)\.md'
ELEMENTS = ['cuda' + stem for stem in make.STEMS]

# Elements that a launch line begins with, and those that come before raw video.
SOURCES = {'filesrc', 'v4l2src', 'uridecodebin', 'uridecodebin3', 'rtspsrc', 'souphttpsrc', 'multifilesrc', 'playbin'}
DECODERS = re.compile(r'(decodebin3?|qtdemux|matroskademux|tsdemux|rtph26[45]depay|h26[45]parse|\w+dec)$')
# Elements after raw video. cudaupload and cudadownload remain where this GStreamer has them.
ENCODERS = re.compile(r'(\w+enc|h26[45]parse|\w+mux|rtph26[45]pay)$')
SINKS = re.compile(r'\w+sink$')
COPIES = {'cudaupload', 'cudadownload'}
TEST_VIDEO = 'videotestsrc num-buffers=2 ! video/x-raw,format=NV12,width=96,height=64,framerate=30/1'
SAMPLE_FILES = {'kernel-file': '0 -1 0\n-1 5 -1\n0 -1 0\n',
                'coefficients': '{ "m": 2, "se": { "a": [[0.1, 0], [0, 0]], "b": [[0, 0.9], [0, 0]] } }\n'}


class Results:
    def __init__(self, verbose):
        self.verbose, self.passed, self.failed, self.skipped = verbose, 0, 0, 0
        self.lock = threading.Lock()

    def add(self, what, failure=None, skipped=None):
        with self.lock:
            self.passed += not failure and not skipped
            self.failed += bool(failure)
            self.skipped += not failure and bool(skipped)
            if failure or self.verbose:
                state = f'FAILED: {failure}' if failure else f'skipped: {skipped}' if skipped else 'passed'
                print(f'{what}: {state}', flush=True)

    def end(self):
        print(f'{self.passed} passed, {self.failed} failed, {self.skipped} skipped')
        sys.exit(1 if self.failed or not self.passed else 0)


# ---- documents -------------------------------------------------------------------

def documents():
    """Returns the paths of all Markdown files."""
    return [path for path in style.list_files(ROOT) if path.endswith('.md')]


def is_page(path):
    return re.fullmatch(r'docs/elements/cuda\w+\.md', path)


def logical_lines(text):
    """Yields (number, line) with lines joined that end in a backslash."""
    number, parts = 0, []
    for i, line in enumerate(text.split('\n'), 1):
        number = number if parts else i
        if line.endswith('\\'):
            parts.append(line[:-1])
            continue
        yield number, ' '.join(parts + [line])
        parts = []


def launch_lines(path, text):
    """Yields (number, line) for each line of gst-launch-1.0 of a document or of a C file's gtk-doc comment."""
    if path.endswith('.c'):
        found = re.search(r'/\*\*\n \* SECTION:.*?\*/', text, re.S)
        before = text[:found.start()].count('\n') if found else 0
        text = '\n' * before + re.sub(r'(?m)^ \* ?', '', found.group(0)) if found else ''
    for number, line in logical_lines(text):
        start = re.match(r'\s*(?:\$ )?((?:[A-Z_]+=\S+ )*gst-launch-1\.0 .*)$', line)
        if start and ' ! ' in line:
            yield number, start.group(1)
        else:
            for span in re.findall(r'`(gst-launch-1\.0 [^`]* ! [^`]*)`', line):
                yield number, span


# ---- launch lines ------------------------------------------------------------------

def words_of(line):
    """Returns the words after gst-launch-1.0 and its options, as a shell would pass them."""
    words = shlex.split(line, comments=True)
    words = words[words.index('gst-launch-1.0') + 1:]
    while words and re.fullmatch(r'-\w+|--[\w=-]+', words[0]):
        words = words[1:]
    return words


def split_at_links(words):
    parts = [[]]
    for word in words:
        if word == '!':
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


class Replacer:
    """Replaces what a line needs from the outside by a test video and fakesinks. No names of elements are lost."""

    def __init__(self, gst):
        self.gst, self.sinks = gst, 0

    def sink(self, part):
        kept = part[1:] if part and part[0] == 'fakesink' else [w for w in part[1:] if w.startswith('name=')]
        self.sinks += 1
        named = [] if any(word.startswith('name=') for word in kept) else [f'name=docs{self.sinks}']
        return ['fakesink', *kept, *named, 'enable-last-sample=true']

    def replace(self, words):
        """Returns the words of the line to run."""
        out, at_source = [], False
        for part in split_at_links(words):
            name = part[0] if part else ''
            if name in SOURCES:
                out.append(TEST_VIDEO.split())
                at_source = True
            elif at_source and DECODERS.match(name):
                pass
            elif name == 'videotestsrc':
                out.append([word for word in part if not word.startswith('num-buffers=')] + ['num-buffers=2'])
            elif SINKS.match(name):
                out.append(self.sink(part))
            elif ENCODERS.match(name) or name in COPIES and not self.gst.has(name):
                pass
            else:
                at_source = False
                out.append(part)
        return [word for i, part in enumerate(out) for word in (['!'] if i else []) + part]


def factories_of(words):
    return [part[0] for part in split_at_links(words)
            if part and re.fullmatch(r'[a-z][a-z0-9_-]*', part[0])]


def make_files(words):
    """Makes the files that properties of our elements name, below the current folder."""
    for word in words:
        name, _, path = word.partition('=')
        if name in SAMPLE_FILES and path and not os.path.isabs(path):
            os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
            with open(path, 'w', encoding='utf-8') as file:
                file.write(SAMPLE_FILES[name])


def parse_whole(gst, words):
    """Parses the line as it is. Returns what is wrong with it, apart from elements that this GStreamer lacks."""
    pipeline, error = gst.parse(words)
    gst.free(pipeline)
    no_such_element = 1
    return error[1] if error and error[0] != no_such_element else None


def run_line(gst, line):
    """Returns (failure, reason to skip) of a launch line."""
    try:
        words = words_of(line)
    except ValueError as error:
        return f'no shell line: {error}', None
    make_files(words)
    failure = parse_whole(gst, words)
    if failure:
        return failure, None
    replacer = Replacer(gst)
    short = replacer.replace(words)
    lacking = [name for name in factories_of(short) if not gst.has(name)]
    if lacking or 'backend=cuda' in words:
        return None, f'no element {", ".join(lacking)}' if lacking else 'it needs a GPU'
    pipeline, error = gst.parse(short)
    if error:
        gst.free(pipeline)
        return f'{error[1]} ({" ".join(short)})', None
    failure = gst.play(pipeline, SECONDS)
    if not failure and not (replacer.sinks and gst.got_frame(pipeline, 'docs1')):
        failure = 'no frame arrived'
    gst.free(pipeline)
    return failure and f'{failure} ({" ".join(short)})', None


def check_launch_lines(results, gst, texts):
    places = {}
    for path, text in texts.items():
        for number, line in launch_lines(path, text):
            places.setdefault(line, []).append(f'{path}:{number}')
    if not places:
        results.add('launch lines', 'there are none')
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for line, (failure, skipped) in zip(places, pool.map(lambda line: run_line(gst, line), places)):
            for place in places[line]:
                results.add(f'{place}: {line}', failure, skipped)


# ---- properties ------------------------------------------------------------------

def refusal(element, name, value):
    """Returns why a property does not take the value; None: it does, or only the element can say."""
    p = {p.name: p for p in element.properties}.get(name)
    if name in ('name', 'qos'):
        return None
    if not p:
        return f'{element.name} has no property {name}'
    if p.changes == 'never':
        return f'{name} is read-only'
    if p.kind in ('int', 'double') and not re.match(r'[-+.\d]', value):
        return f'{name}={value} is no number'
    if p.kind in ('int', 'double') and not p.low <= float(value) <= p.high:
        return f'{name}={value} is outside {make.range_of(p)}'
    nicks = [nick for nick, _ in p.values]
    if p.values and not set(value.split('+') if p.kind == 'flags' else [value]) <= set(nicks):
        return f'{name}={value} is none of {", ".join(nicks)}'
    if p.kind == 'bool' and value not in ('true', 'false'):
        return f'{name}={value} is neither true nor false'
    return None


def check_element_lines(results, elements, path, text):
    """Checks `cudaNAME PROPERTY=VALUE ...` wherever it is written."""
    value = r'(?:"[^"]*"|[\w.+:/-]*\w)'
    for number, line in logical_lines(text):
        for name, rest in re.findall(rf'\b(cuda\w+)((?: [a-z][a-z-]*={value})+)', line):
            if name not in elements:
                continue
            for prop, given in re.findall(rf' ([a-z][a-z-]*)=({value})', rest):
                results.add(f'{path}:{number}: {name} {prop}={given}',
                            refusal(elements[name], prop, given.strip('"')))


def disagreement(p, text):
    """Compares a property with a cell such as "samples, odd 1..255 (3)". Returns what differs."""
    limits = re.search(r'(-?\d[\d.e]*?)\.\.(-?\d[\d.e]*)?', text)
    if limits and p.kind in ('int', 'double'):
        low, high = float(limits.group(1)), limits.group(2)
        low = min(low, 0) if re.search(r'\b0 or\b', text) else low
        if low != p.low or float(high or 2147483647) != p.high:
            return f'the range is {make.range_of(p)}'
    elif p.values and re.match(r'[a-z0-9-]+,', text):
        stated = re.findall(r'[a-z][a-z0-9-]*', text.partition('(')[0])
        if stated != [nick for nick, _ in p.values]:
            return f'the values are {make.range_of(p)}'
    default = re.search(r'\(([^()\s=]+)(?: = [^()]*)?\)\s*$', text)
    if default and p.kind in ('int', 'double') and float(default.group(1)) != p.default:
        return f'the default is {make.default_of(p)}'
    if default and p.kind in ('bool', 'enum', 'color') and default.group(1) != make.default_of(p):
        return f'the default is {make.default_of(p)}'
    return None


def check_contract(results, element):
    """Compares the table "| parameter | unit, range | ..." of a contract with the element."""
    stem = element.name.removeprefix('cuda')
    path = f'cuda/{stem}/{stem}.h'
    rows = re.findall(r'^ \* \| ([a-z, -]+) \| ([^|]*) \|', make.read(path), re.M)
    properties = {p.name: p for p in element.properties if p.owner != 'GstCfFilter'}
    missing = set(properties)
    for names, text in rows:
        for name in names.split(', '):
            if name == 'parameter':
                continue
            missing.discard(name)
            results.add(f'{path}: {name}', disagreement(properties[name], text) if name in properties
                        else f'{element.name} has no property {name}')
    if rows:
        results.add(f'{path}: all properties', missing and f'the table lacks {", ".join(sorted(missing))}')
    else:
        results.add(f'{path}: all properties', skipped='the contract has no table of parameters')


def tables(text):
    """Yields (number of the first row, cells of the head, rows of cells) of each Markdown table."""
    lines = text.split('\n')
    for i, line in enumerate(lines):
        if i and re.fullmatch(r'\|(?: *:?-+:? *\|)+ *', line):
            rows = []
            for row in lines[i + 1:]:
                if not row.startswith('|'):
                    break
                rows.append([cell.strip() for cell in re.split(r'(?<!\\)\|', row)[1:-1]])
            yield i + 2, [cell.strip() for cell in lines[i - 1].split('|')[1:-1]], rows


def check_tables(results, elements, path, text):
    """Checks hand-written tables of properties and of the fields of stats."""
    stats = elements[ELEMENTS[0]].stats
    for number, head, rows in tables(text):
        if head and head[0] == 'property' and not is_page(path):
            for i, row in enumerate(rows):
                for name in re.findall(r'[a-z][a-z-]*', row[0]):
                    found = [p for e in elements.values() for p in e.properties if p.name == name]
                    wrong = [disagreement(p, row[1]) for p in found]
                    results.add(f'{path}:{number + i}: {name}',
                                None if None in wrong else wrong[0] if wrong else 'no element has this property')
        elif head and head[0] == 'field' and rows[0][0] == 'frames':
            names = [name for row in rows for name in row[0].split(', ')]
            unknown = ', '.join(name for name in names if name not in stats)
            results.add(f'{path}:{number}: stats', unknown and f'stats has no field {unknown}')


# ---- links -----------------------------------------------------------------------

def without_code(text):
    text = re.sub(r'(?ms)^```.*?^```', lambda found: '\n' * found.group(0).count('\n'), text)
    return re.sub(r'(?m)^    .*$', '', text)


def anchors(text):
    """Returns the anchors that hosts make of a document's headings."""
    counts = {}
    out = set()
    for heading in re.findall(r'(?m)^#+ (.*)$', re.sub(r'(?ms)^```.*?^```', '', text)):
        heading = re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', heading)
        slug = re.sub(r'[^\w\- ]', '', heading.strip().lower()).replace(' ', '-')
        out.add(f'{slug}-{counts[slug]}' if slug in counts else slug)
        counts[slug] = counts.get(slug, 0) + 1
    return out


def check_links(results, path, text):
    # A link's text may be wrapped, and may have code in it; links within code are none.
    plain = re.sub(r'`[^`\n]*`', 'code', without_code(text))
    folder = os.path.dirname(path)
    for target in re.findall(r'\]\(\s*<?([^)>\s]+)>?(?:\s+"[^"]*")?\s*\)', plain):
        if re.match(r'[a-z][a-z0-9+.-]*:', target):
            continue
        name, _, anchor = urllib.parse.unquote(target).partition('#')
        there = os.path.normpath(os.path.join(folder, name)) if name else path
        failure = None
        if not os.path.exists(os.path.join(ROOT, there)):
            failure = f'there is no {there}'
        elif anchor and there.endswith('.md') and anchor not in anchors(make.read(there)):
            failure = f'{there} has no heading #{anchor}'
        results.add(f'{path}: link {target}', failure)


def check_files(results, path, text):
    """Checks that files exist that a document for users names; those of build folders do not count."""
    names = r'(?<![\w/.$-])(?:\./)?((?:cuda|docs|gst|pipelines|tests)/[\w./-]*\w\.(?:c|h|md|png|py|sh))\b'
    for name in sorted(set(re.findall(names, text))):
        if not name.startswith('gst/cudafilters/'):  # where the header is installed
            exists = os.path.exists(os.path.join(ROOT, name))
            results.add(f'{path}: file {name}', None if exists else 'it does not exist')


# ---- all ---------------------------------------------------------------------------

def check_all(results, gst, elements):
    texts = {path: make.read(path) for path in documents()}
    sources = {path: make.read(path) for path in (f'gst/gst{name}.c' for name in ELEMENTS)}
    diff = make.differences(gst)
    results.add('docs/elements/make.py --check', '\n'.join(['the pages are not those that it writes:', *diff[:40]])
                if diff else None)
    for path, text in texts.items():
        if path.endswith('.in.md'):  # a part of a page, whose folder its links are for
            continue
        check_links(results, path, text)
        check_element_lines(results, elements, path, text)
        check_tables(results, elements, path, text)
        if re.fullmatch(USER_DOCUMENTS, path):
            check_files(results, path, text)
    for element in elements.values():
        check_contract(results, element)
    pages = {path: text for path, text in texts.items() if not path.endswith('.in.md')}
    check_launch_lines(results, gst, {**pages, **sources})


def main():
    if sys.argv[1:] not in ([], ['-v']):
        sys.exit(__doc__)
    if not shutil.which('gst-launch-1.0'):
        print('gst-launch-1.0 is missing\n0 passed, 0 failed, 1 skipped')
        sys.exit(77)
    results = Results(sys.argv[1:] == ['-v'])
    os.environ['CUDA_VISIBLE_DEVICES'] = ''  # CUDA contexts would take longer than the frames
    gst = gstapi.Gst()
    elements = {name: gst.element(name) for name in ELEMENTS}
    if None in elements.values():
        results.add('elements', make.NO_PLUGIN.format(make.STEMS[0]))
        results.end()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # for the files that launch lines name
        check_all(results, gst, elements)
        os.chdir(ROOT)
    results.end()


if __name__ == '__main__':
    main()
