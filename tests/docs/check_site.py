#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Builds the site of the documents (docs/site.py), and looks at it.

- No warning of MkDocs; a page for each document, with its headings, tables and code.
- Every link within the site leads to a file and an anchor of it, and no page needs anything of another server.
- Each property of an element, typed in the search of a browser (Chromium), leads first to that element.

Ends with `N passed, N failed, N skipped`. 77: MkDocs is missing.
"""
import functools
import html.parser
import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, 'tests', 'watch'), os.path.join(ROOT, 'tests', 'docs')]
import check_docs  # noqa: E402
import make  # noqa: E402
from harness import Skip  # noqa: E402
from webdriver import Browser  # noqa: E402


class Page(html.parser.HTMLParser):
    """The anchors of a page, its links, what it loads, and how many of each tag there are."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads, self.tags = set(), [], [], {}
        self.text = True  # until the footer
        with open(path, encoding='utf-8') as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if attrs.get('role') == 'main':
            self.tags = {}
        self.text = self.text and tag != 'footer'
        self.tags[tag] = self.tags.get(tag, 0) + self.text
        self.ids.update(attrs[name] for name in ('id', 'name') if name in attrs)
        if tag == 'a' and attrs.get('href'):
            self.links.append(attrs['href'])
        elif tag in ('img', 'script', 'link', 'source') and attrs.get('rel') != 'canonical':
            self.loads += [attrs[name] for name in ('src', 'href', 'srcset') if attrs.get(name)]


def check_page(results, site, path, pages):
    page = pages[path]
    for target in {*page.links, *page.loads}:
        parts = urllib.parse.urlsplit(target)
        if parts.scheme or parts.netloc:
            results.add(f'{path}: {target}', 'of another server' if target in page.loads else None)
            continue
        name = urllib.parse.unquote(parts.path)
        there = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        anchor, failure = urllib.parse.unquote(parts.fragment), None
        if os.path.isdir(os.path.join(site, there)):
            there = os.path.normpath(os.path.join(there, 'index.html'))
        if not os.path.isfile(os.path.join(site, there)):
            failure = f'there is no {there}'
        elif anchor and there in pages and anchor not in pages[there].ids:
            failure = f'{there} has no anchor {anchor}'
        results.add(f'{path}: link {target}', failure)


def check_content(results, path, page):
    """Markdown has dialects: what is a table, a heading or a block of code here is one there."""
    text = make.read(path)
    plain = re.sub(r'(?ms)^ *```.*?^ *```', '', text)
    for what, tags, count in (
            ('tables', ('table',), len(re.findall(r'(?m)^ *\| ?-', plain))),
            ('headings', ('h1', 'h2', 'h3', 'h4'), len(re.findall(r'(?m)^#{1,4} ', plain))),
            ('items', ('li',), len(re.findall(r'(?m)^ *(?:[-*]|\d+\.) (?!.*\\$)', re.sub(r'(?m)^    .*', '', plain))))):
        found = sum(page.tags.get(tag, 0) for tag in tags)
        results.add(f'{path}: {what}', None if found == count else f'{found}, not {count}')


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def check_search(results, site, folder):
    elements = {}
    for element in check_docs.ELEMENTS:
        properties = make.read(f'docs/elements/{element}.md').split('\n## Properties\n')[1]
        for name in re.findall(r'(?m)^\| `([a-z0-9-]+)` \|', properties):
            elements.setdefault(name, []).append(f'/docs/elements/{element}.html#property-{name}')
    handler = functools.partial(Quiet, directory=site)
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler) as server, Browser(folder) as browser:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f'http://127.0.0.1:{server.server_port}'
        browser.go(f'{address}/index.html?q=median')
        for name, places in elements.items():
            browser.until('the search has found nothing', lambda: browser.run(
                'return document.querySelector("#mkdocs-search-results article")'))
            browser.run("""const field = document.querySelector('#mkdocs-search-query');
                document.querySelector('#mkdocs-search-results').innerHTML = '';
                field.value = arguments[0];
                field.dispatchEvent(new Event('keyup'))""", name)
            found = browser.until(f'the search finds nothing for {name}', lambda: browser.run(
                'return [...document.querySelectorAll("#mkdocs-search-results article a")].map(a => a.href)'))
            first = [link.replace(address, '') for link in found[:len(places)]]
            results.add(f'search for {name}', None if set(first) == set(places) else f'{first}, not {places}')
        server.shutdown()


def main():
    results = check_docs.Results('-v' in sys.argv)
    with tempfile.TemporaryDirectory() as folder:
        site = os.path.join(folder, 'site')
        done = subprocess.run([os.path.join(ROOT, 'docs', 'site.py'), site], capture_output=True, text=True,
                              check=False)
        if done.returncode == 77:
            print(f'{done.stderr}0 passed, 0 failed, 1 skipped')
            sys.exit(77)
        results.add('docs/site.py', done.stderr if done.returncode or 'WARNING' in done.stderr else None)
        if done.returncode:
            results.end()
        names = [os.path.relpath(os.path.join(at, name), site) for at, _, files in os.walk(site) for name in files]
        pages = {name: Page(os.path.join(site, name)) for name in names if name.endswith('.html')}
        for path in check_docs.documents():
            name = re.sub(r'(^|/)README\.html$', r'\1index.html', path[:-3] + '.html')
            if not path.endswith('.in.md'):
                results.add(f'a page of {path}', None if name in pages else 'it is missing')
                check_content(results, path, pages[name])
        for path in pages:
            if path != '404.html':  # its addresses begin at the root of a server
                check_page(results, site, path, pages)
        try:
            check_search(results, site, folder)
        except Skip as reason:
            results.add('the search', skipped=str(reason))
    results.end()


if __name__ == '__main__':
    main()
