# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""What the scripts that write measurements into pages share."""
import re


def table(head, rows):
    """Returns a table of Markdown."""
    lines = [head, ['---'] * len(head), *rows]
    return ''.join('| ' + ' | '.join(str(cell) for cell in line) + ' |\n' for line in lines)


def replace(path, name, text):
    """Puts `text` between the page's lines "<!-- NAME: begin -->" and "<!-- NAME: end -->", which are appended to a
    page without them, and keeps everything else."""
    begin, end = f'<!-- {name}: begin -->\n', f'<!-- {name}: end -->'
    with open(path, encoding='utf-8') as file:
        page = file.read()
    old = re.compile(re.escape(begin) + '.*?' + re.escape(end), re.DOTALL)
    new = begin + text + end
    page = old.sub(lambda _: new, page) if old.search(page) else f'{page}\n{new}\n'
    with open(path, 'w', encoding='utf-8') as file:
        file.write(page)
