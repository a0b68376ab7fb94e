#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Builds the documents as a site with a search that knows the properties of the elements.

usage: docs/site.py [FOLDER]

The pages are the Markdown files as they are; the files that they link to come along. FOLDER is build/site unless given.
It needs MkDocs 1.4 or newer (Debian's mkdocs) and no network. A warning of MkDocs is an error.
"""
import glob
import html
import json
import os
import re
import sys
import tempfile

try:
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    from mkdocs.exceptions import MkDocsException
except ImportError:
    # Debian's is the system's Python's, which is not always the first in the path.
    SYSTEM = '/usr/bin/python3'
    if not os.path.exists(SYSTEM) or os.path.realpath(sys.executable) == os.path.realpath(SYSTEM):
        print('site.py: MkDocs is missing: apt-get install mkdocs, or pip install mkdocs', file=sys.stderr)
        sys.exit(77)
    os.execv(SYSTEM, [SYSTEM, *sys.argv])

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The parts of the menu. A page is in the first one whose pattern is that of its path.
PARTS = {'Using it': r'README\.md|docs/(?!architecture|testing)\w+\.md', 'Elements': r'docs/elements/.*',
         'How fast it is': r'docs/performance/.*', 'Why it is so': r'docs/notes/.*', 'Changing it': r'.*'}
# What the page's search does, and that the properties of that name come first.
SEARCH = 'var results = index.search(query);'
FIRST = SEARCH + '''
  function named(result) { return documents[result.ref].name === query.trim(); }
  results.sort(function (a, b) { return named(b) - named(a); });'''


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def write(path, text):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def slug(heading, _):
    """Returns the anchor of a heading, as hosts of repositories make it."""
    return re.sub(r'[^\w\- ]', '', heading.strip().lower()).replace(' ', '-')


def stage(tree):
    """Fills a folder with links to the pages and to the files that they name. Returns the menu."""
    pages = [path for pattern in ('*.md', 'docs/**/*.md') for path in glob.glob(pattern, root_dir=ROOT, recursive=True)
             if not path.endswith('.in.md')]
    files, menu = set(pages), {part: [] for part in PARTS}
    for path in sorted(pages, key=lambda path: (path != 'README.md', path != 'docs/using.md', path)):
        text = read(os.path.join(ROOT, path))
        part = next(part for part, pattern in PARTS.items() if re.fullmatch(pattern, path))
        menu[part].append({re.search(r'(?m)^# (.*)', text).group(1): path})
        for target in re.findall(r'\]\(\s*(?![a-z]+:|#)([^)#\s]+)', text):
            files.add(os.path.normpath(os.path.join(os.path.dirname(path), target)))
    for folder in [path for path in files if os.path.isdir(os.path.join(ROOT, path))]:
        names = sorted(name for name in os.listdir(os.path.join(ROOT, folder))
                       if os.path.isfile(os.path.join(ROOT, folder, name)) and not name.startswith('.'))
        files.remove(folder)
        files.update(os.path.join(folder, name) for name in names)
        os.makedirs(os.path.join(tree, folder), exist_ok=True)
        rows = ''.join(f'<p><a href="{name}">{name}</a>' for name in names)
        write(os.path.join(tree, folder, 'index.html'),
              f'<!doctype html><title>{folder}</title><h1>{folder}</h1>{rows}')
    for path in files:
        os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
        os.symlink(os.path.join(ROOT, path), os.path.join(tree, path))
    return [{part: entries} for part, entries in menu.items()]


def indent_items(markdown):
    """Python-Markdown wants what belongs to an item of a list four columns in, no fences there, and an empty line
    behind an item with one."""
    out, width, begun, code = [], 0, 0, False
    for line in markdown.split('\n'):
        item = re.match(r'(?:[-*]|\d+\.) +', line)
        if item:
            out += [''] if width and '' in out[begun:] else []
            width, begun = len(item.group(0)), len(out)
        elif width and line.startswith(' ' * width):
            line = '    ' + '    ' * code + line[width:]
            if line.strip().startswith('```'):
                code, line = not code, ''
        elif line:
            width = 0
        out.append(line)
    return '\n'.join(out)


def on_page_markdown(markdown, page, config, **_):
    """A hook of MkDocs: links to folders lead to their list."""
    def target(found):
        path = os.path.normpath(os.path.join(os.path.dirname(page.file.src_path), found.group(1)))
        folder = os.path.isdir(os.path.join(config['docs_dir'], path))
        return f']({found.group(1).rstrip("/")}/index.html)' if folder else found.group(0)
    return re.sub(r'\]\(([^)#\s]+)\)', target, indent_items(markdown))


def index_properties(site):
    """Gives each row of a table of properties an anchor, and adds it to what the search finds."""
    index, worker = os.path.join(site, 'search', 'search_index.json'), os.path.join(site, 'search', 'worker.js')
    found, script = json.loads(read(index)), read(worker)
    if SEARCH not in script:
        sys.exit('site.py: the search of this MkDocs is not known; that of 1.4 to 1.6 is')
    write(worker, script.replace(SEARCH, FIRST))
    for path in sorted(glob.glob('docs/elements/cuda*.html', root_dir=site)):
        element = os.path.basename(path)[:-5]

        def row(match):
            name, rest = match.groups()
            text = html.unescape(re.sub(r'<[^>]*>', ' ', rest))
            found['docs'].append({'location': f'{path}#property-{name}', 'title': f'{element} {name}', 'text': text,
                                  'name': name})
            return f'<tr id="property-{name}">\n<td><code>{name}</code></td>{rest}</tr>'

        text = read(os.path.join(site, path))
        head, tables = text.split('<h2 id="properties">')
        tables = re.sub(r'<tr>\s*<td><code>([a-z0-9-]+)</code></td>(.*?)</tr>', row, tables, flags=re.S)
        write(os.path.join(site, path), f'{head}<h2 id="properties">{tables}')
    write(index, json.dumps(found))


def main():
    if len(sys.argv) > 2 or sys.argv[1:] and sys.argv[1].startswith('-'):
        sys.exit(__doc__)
    site = os.path.abspath(sys.argv[1] if sys.argv[1:] else os.path.join(ROOT, 'build', 'site'))
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, 'tree')
        os.mkdir(tree)
        # No file of the theme comes from another server, and addresses of pages are those of the files.
        config = {'site_name': 'gst-cuda-filters', 'docs_dir': tree, 'site_dir': site, 'nav': stage(tree),
                  'theme': {'name': 'mkdocs', 'highlightjs': False, 'navigation_depth': 3},
                  'use_directory_urls': False, 'plugins': ['search'], 'hooks': [os.path.abspath(__file__)]}
        write(os.path.join(folder, 'mkdocs.yml'), json.dumps(config))
        loaded = load_config(os.path.join(folder, 'mkdocs.yml'), strict=True)
        loaded['mdx_configs']['toc'] = {'slugify': slug}
        try:
            build(loaded)
        except MkDocsException as error:
            sys.exit(f'site.py: {error}')
    index_properties(site)
    print(f'{site}: to read it, python3 -m http.server -d {site}')


if __name__ == '__main__':
    main()
