#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Copies README.md, and all that it and the pages that it links to lead to, into a folder: there all links work.

usage: docs/pages.py FOLDER
       docs/pages.py --check FOLDER    finds links in the pages there that lead nowhere
"""
import os
import re
import shutil
import sys
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def links(root, path):
    """Yields the files and folders that a page links to, from the root."""
    with open(os.path.join(root, path), encoding='utf-8') as file:
        text = re.sub(r'`[^`\n]*`', 'code', re.sub(r'(?ms)^```.*?^```|^    .*?$', '', file.read()))
    for target in re.findall(r'\]\(\s*<?([^)>\s#]+)[^)]*\)', text):
        if not re.match(r'[a-z][a-z0-9+.-]*:', target):
            yield os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(target)))


def check(folder):
    pages = [os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder)
             for name in names if name.endswith('.md')]
    lost = [f'{page}: {link}' for page in pages for link in links(folder, page)
            if not os.path.exists(os.path.join(folder, link))]
    print(*lost, f'{len(pages)} pages', sep='\n')
    sys.exit(1 if lost or not pages else 0)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == '--check':
        check(sys.argv[2])
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found, left = {'README.md'}, ['README.md']
    while left:
        path = left.pop()
        there = os.path.join(sys.argv[1], path)
        os.makedirs(os.path.dirname(there), exist_ok=True)
        if os.path.isdir(os.path.join(ROOT, path)):
            shutil.copytree(os.path.join(ROOT, path), there, dirs_exist_ok=True)
            continue
        shutil.copy(os.path.join(ROOT, path), there)
        if path.endswith('.md'):
            more = set(links(ROOT, path)) - found
            found |= more
            left += more


main()
