#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Checks the rules of CONTRIBUTING's "Style" that a program can check, in the files of a source tree.

usage: tests/style.py [TREE]

Prints a line `path:line: what` for each place that breaks a rule, and ends with `N passed, N failed, N skipped`,
which counts rules. Needs nothing but Python; without shellcheck the rule on scripts is skipped, without clang-format
19 (in the path, or beside the Python that CF_PYTHON names) the one on layout.
"""
import ast
import os
import re
import shutil
import subprocess
import sys

COLUMNS = 120
FUNCTION_LINES = 80
C_KINDS = ('.c', '.h', '.cu', '.cuh', '.cpp')
LICENSE = 'SPDX-License-' 'Identifier: LGPL-2.1-or-later'  # in one piece, `reuse lint` would take it for this file's
COPYRIGHT = 'Copyright (C) 2026 the gst-cuda-filters authors'
# In C, Python (also where a script contains some), and as a command of a script.
SLEEP = re.compile(r'\b(g_usleep|usleep|sleep|sleep_for|nanosleep|clock_nanosleep|thrd_sleep) ?\(')
SLEEP_COMMAND = re.compile(r'(^|[;&|({]|\b(do|then|else))\s*sleep\s')

# (file, part of the line, included file or function): why it may break a rule. An exemption that is no longer needed
# breaks a rule itself.
EXEMPT = {
    ('tests/faults/fake.h', 'cuda/core/device.h'): 'what the device layer promises the core',
    ('tests/faults/cudart.c', 'cuda/core/area.h'): 'tests the device layer itself',
    ('tests/faults/cudart.c', 'cuda/core/gpu/cuda.h'): 'tests the device layer itself',
    ('tests/faults/fake.c', 'cuda/core/gpu/cuda.h'): 'knows which errors lose the GPU',
    ('tests/faults/hooks.c', 'cuda/core/gpu/errors.c'): 'has the GPU back after its loss',
    ('tests/faults/kernels-fake.c', 'cuda/core/area.h'): 'implements the kernels of the core',
    ('tests/faults/kernels-fake.c', 'cuda/core/gpu/cuda.h'): 'implements the kernels of the core',
    ('tests/faults/cuda-fake.c', 'cuda/core/gpu/cuda.h'): 'the device layer sees the errors of its streams',
    ('tests/faults/cuda-fake.c', 'cuda_runtime_api.h'): 'makes streams',
    ('tests/faults/cudart-fake.c', 'cuda_runtime_api.h'): 'implements the functions of the runtime',
    ('tests/faults/fake.c', 'cuda_runtime_api.h'): 'implements the functions of the runtime',
    ('tests/faults/launches.c', 'cuda_runtime_api.h'): 'implements more of them',
    ('tests/bench/bench_tiles.cu', 'cuda/median/gpu/network.cuh'): 'times the kernels with other tiles',
    ('tests/long/usage.c', 'usage_now'): 'nothing says when the kernel has removed a thread from /proc',
}
used = set()


class Source:
    """A file of the tree: its lines and functions."""

    def __init__(self, tree, path):
        self.path = path
        self.name = os.path.basename(path)
        self.kind = os.path.splitext(path)[1]
        self.top = path.split('/')[0]
        with open(os.path.join(tree, path), encoding='utf-8') as file:
            self.text = file.read()
        self.lines = self.text.split('\n')
        self.is_c = self.kind in C_KINDS
        self.is_python = self.kind == '.py'
        self.is_script = self.kind == '.sh' or (not self.kind and re.match(r'#!.*sh\b', self.text) is not None)
        self.is_build = self.name in ('meson.build', 'meson_options.txt', 'meson.options')
        self.functions = self.find_functions()

    def wanted(self):
        return self.is_c or self.is_python or self.is_script or self.is_build

    def find_functions(self):
        """Returns (name, first line, last line) of each function, counted from 1."""
        if self.is_c:
            return list(c_functions(self.lines))
        if self.is_python:
            return [(node.name, node.lineno, node.end_lineno) for node in ast.walk(ast.parse(self.text))
                    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        if self.is_script:
            return list(script_functions(self.lines))
        return []

    def function_at(self, line):
        return next((name for name, first, last in self.functions if first <= line <= last), '')


def is_head(line):
    """Returns whether a line above the brace of a C function is of its head, not a comment or other code."""
    ends_comment = '*/' in line and '/*' not in line
    return bool(line) and line[0] not in '{}/#*' and not line.startswith(' *') and not ends_comment


def c_functions(lines):
    """Relies on the style: a function's braces stand in the first column, its head on the lines above the first."""
    last = -1
    for i, line in enumerate(lines):
        if i <= last or line.rstrip(' \\') != '{':
            continue
        head = i
        while head > 0 and is_head(lines[head - 1]):
            head -= 1
        last = next((j for j in range(i + 1, len(lines)) if lines[j].startswith('}')), len(lines) - 1)
        text = ' '.join(lines[head:i])
        name = re.match(r'GST_START_TEST \((\w+)\)', text) or re.search(r'(?:^|\s)\**(?!__\w+__\b)(\w+) \(', text)
        yield name.group(1) if name else '', head + 1, last + 1


def script_functions(lines):
    for i, line in enumerate(lines):
        name = re.match(r'(\w+) \(\) [{(]', line)
        if name and not line.endswith(('}', ')')):
            last = next((j for j in range(i + 1, len(lines)) if lines[j].startswith(('}', ')'))), i)
            yield name.group(1), i + 1, last + 1


def list_files(tree):
    """The files that git knows or would add; without git all but hidden ones and build folders."""
    if os.path.exists(os.path.join(tree, '.git')) and shutil.which('git'):
        listed = subprocess.run(['git', 'ls-files', '-z', '-c', '-o', '--exclude-standard'], cwd=tree, check=True,
                                stdout=subprocess.PIPE, text=True).stdout.split('\0')
        return sorted({path for path in listed if path and os.path.isfile(os.path.join(tree, path))})
    found = []
    for folder, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if not name.startswith(('.', 'build', '__pycache__'))]
        found += [os.path.relpath(os.path.join(folder, name), tree) for name in names]
    return sorted(found)


def read_sources(tree):
    kinds = (*C_KINDS, '.py', '.sh', '.bash', '.build', '.txt', '.options', '')
    paths = [path for path in list_files(tree) if os.path.splitext(path)[1] in kinds and path != 'COPYING']
    sources = [Source(tree, path) for path in paths if not os.path.basename(path).startswith('.')]
    return [source for source in sources if source.wanted()]


# ---- rules: each yields (path, line, what) ------------------------------------


def check_columns(sources):
    """Lines have at most 120 columns, no tabs, nothing behind the text; files end with one end of line."""
    for source in sources:
        launch_line = False  # between |[ and ]| of a gtk-doc comment: launch lines are to be copied as a whole
        for i, line in enumerate(source.lines, 1):
            if source.is_c and line.startswith((' * |[', ' * ]|')):
                launch_line = line.startswith(' * |[')
            if len(line) > COLUMNS and not (launch_line and 'gst-launch-1.0' in line):
                yield source.path, i, f'{len(line)} columns, more than {COLUMNS}'
            if '\t' in line:
                yield source.path, i, 'a tab'
            if line != line.rstrip():
                yield source.path, i, 'spaces at the end of the line'
        if source.text and (not source.text.endswith('\n') or source.text.endswith('\n\n')):
            yield source.path, len(source.lines), 'the file does not end with one end of line'


def check_headers(sources):
    """Files begin with the SPDX line and the copyright line; above them only `#!` and options of shellcheck."""
    for source in sources:
        first = 0
        while not source.is_c and source.lines[first].startswith(('#!', '# shellcheck ')):
            first += 1
        head = [line.strip(' */#') for line in source.lines[first:first + 2]]
        if head[:1] != [LICENSE]:
            yield source.path, first + 1, f'not "{LICENSE}"'
        elif source.is_c and not source.lines[first].startswith('/* '):
            yield source.path, first + 1, 'the line does not begin with "/* "'
        if head[1:] != [COPYRIGHT]:
            yield source.path, first + 2, f'not "{COPYRIGHT}"'


def check_sizes(sources):
    """Functions have at most 80 lines."""
    for source in sources:
        for name, first, last in source.functions:
            if last - first + 1 > FUNCTION_LINES:
                yield source.path, first, f'{name} has {last - first + 1} lines, more than {FUNCTION_LINES}'


def is_exempt(path, text):
    found = {key for key in EXEMPT if key[0] == path and key[1] in text}
    used.update(found)
    return bool(found)


def check_sleeps(sources):
    """No test sleeps until a thread has come so far: a slow machine breaks it."""
    for source in sources:
        if source.top != 'tests' or source.path == 'tests/style.py':
            continue
        for i, line in enumerate(source.lines, 1):
            if SLEEP.search(line) or (source.is_script and SLEEP_COMMAND.search(line)):
                name = source.function_at(i)
                if not is_exempt(source.path, name):
                    yield source.path, i, f'{name or "it"} sleeps: wait for a condition, or give a reason in style.py'


def check_pads(sources):
    """Pads have a template. Without one GStreamer answers a query of caps with the pad's own, and reads these although
    another thread may bring new ones and free them."""
    for source in sources:
        for i, line in enumerate(source.lines, 1):
            if source.is_c and 'gst_pad_new (' in line:
                yield source.path, i, 'a pad without a template: gst_pad_new_from_template'


def room(path):
    """The part of cuda/ that a file belongs to: interface, filters.c, core or a filter."""
    parts = path.split('/')
    if len(parts) == 2:
        return 'registry' if parts[1] == 'filters.c' else 'interface'
    return parts[1]


def include_fault(path, target):
    """Returns why a file must not include `target`, a file of the tree, or None."""
    top, target_top = path.split('/')[0], target.split('/')[0]
    allowed = {'cuda': 'cuda', 'gst': 'cuda gst', 'pipelines': 'cuda gst pipelines',
               'tests': 'cuda gst pipelines tests'}[top].split()
    if target_top not in allowed:
        return f'nothing in {top}/ includes a header of {target_top}/'
    if top == 'pipelines' and target_top == 'gst' and target != 'gst/gstcudasegmentmeta.h':
        return 'of gst/, pipelines/ include only the header that is installed, gstcudasegmentmeta.h'
    if target_top != 'cuda':
        return None
    if top in ('gst', 'pipelines') and target != 'cuda/cf.h':
        return f'of cuda/, {top}/ includes only cf.h'
    if top == 'tests' and target not in ('cuda/cf.h', 'cuda/cf-test.h'):
        return 'of cuda/, tests/ include only cf.h and cf-test.h'
    if top == 'cuda':
        return library_fault(path, target)
    return None


def library_fault(path, target):
    here, there = room(path), room(target)
    filters = {here, there} - {'interface', 'registry', 'core'}
    if here == 'interface' and there != 'interface':
        return 'the interface includes nothing of the library'
    if here == 'core' and there in filters:
        return 'cuda/core/ knows no filter; cuda/filters.c does'
    if len(filters) == 2:
        return f'the {here} filter includes a header of the {there} filter'
    if '/gpu/' in target and '/gpu/' not in path:
        return 'the CPU side is built without CUDA: only gpu/ includes headers of gpu/'
    return None


def system_fault(path, header):
    """Returns why a file must not include <header>, or None."""
    top = path.split('/')[0]
    of_gpu = '/gpu/' in path or path.startswith('tests/bench/')
    if re.match(r'cuda|curand|device_launch|npp', header) and not of_gpu:
        return f'<{header}> is for cuda/*/gpu/ and tests/bench/ only'
    if top == 'cuda' and re.match(r'g(lib|io|object|st)\b|json-glib', header) and path != 'cuda/irfilter/json.c':
        return f'<{header}>: in cuda/ only irfilter/json.c uses GLib'
    return None


def check_includes(sources):
    """The include rules of CONTRIBUTING."""
    code = [source for source in sources if source.is_c and source.top in ('cuda', 'gst', 'tests', 'pipelines')]
    paths = {source.path for source in code}
    generated = ''.join(source.text for source in sources if source.name == 'meson.build')
    for source in code:
        folder = os.path.dirname(source.path)
        for i, line in enumerate(source.lines, 1):
            include = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not include:
                continue
            header, what = include.group(2), None
            places = [f'{place}/{header}' for place in ('cuda', 'gst', 'tests', 'pipelines')]
            if include.group(1) == '"':
                places.insert(0, os.path.normpath(f'{folder}/{header}'))
            target = next((place for place in places if place in paths), None)
            if target:
                what = include_fault(source.path, target)
            elif include.group(1) == '<':
                what = system_fault(source.path, header)
            elif f"'{header}'" not in generated:
                what = f'there is no "{header}" in the tree, and no meson.build makes it'
            if what and not is_exempt(source.path, target or header):
                yield source.path, i, what


def check_exemptions(_sources):
    """Every exemption of style.py is needed."""
    for path, part in EXEMPT.keys() - used:
        yield 'tests/style.py', 1, f'an exemption is not needed any more: {path}, {part}'


def start_shellcheck(sources, tree):
    """Starts shellcheck over the scripts. Returns None where it is missing."""
    paths = [source.path for source in sources if source.is_script]
    if not paths or not shutil.which('shellcheck'):
        return None
    # SC2015: `a && b || c` is used where c is to run after either fails.
    return subprocess.Popen(['shellcheck', '-x', '-f', 'gcc', '-e', 'SC2015', *paths], cwd=tree,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def check_scripts(process):
    """shellcheck finds nothing in the scripts."""
    output = process.communicate()[0]
    found = [re.match(r'([^:]+):(\d+):\d+: (.*)', line) for line in output.splitlines()]
    if process.returncode and not any(found):
        yield 'tests/style.py', 1, 'shellcheck failed: ' + output.strip()
    for match in filter(None, found):
        yield match.group(1), int(match.group(2)), match.group(3)


def find_clang_format():
    """Returns the path of a clang-format 19, or None: other versions lay out some lines differently."""
    beside = os.path.join(os.path.dirname(os.environ.get('CF_PYTHON', '')), 'clang-format')
    for name in ('clang-format-19', 'clang-format', beside):
        path = shutil.which(name)
        if path and ' version 19.' in subprocess.run([path, '--version'], capture_output=True, text=True).stdout:
            return path
    return None


def start_clang_format(sources, tree):
    """Starts clang-format over the C files. Returns None where it is missing."""
    program = find_clang_format()
    paths = [source.path for source in sources if source.kind in ('.c', '.h')]
    if not paths or not program:
        return None
    return subprocess.Popen([program, '--dry-run', '-Werror', *paths], cwd=tree, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def check_layout(process):
    """clang-format 19 leaves the C files as they are (.clang-format)."""
    output = process.communicate()[0]
    found = [re.match(r'([^:]+):(\d+):\d+: error: (.*)', line) for line in output.splitlines()]
    if process.returncode and not any(found):
        yield 'tests/style.py', 1, 'clang-format failed: ' + output.strip()
    for match in filter(None, found):
        yield match.group(1), int(match.group(2)), match.group(3)


# The last one sees what the others used.
RULES = (check_columns, check_headers, check_sizes, check_sleeps, check_pads, check_includes, check_exemptions)


def report(rule, faults):
    """Prints the places that break a rule. Returns whether there are none."""
    faults = sorted(faults)
    for path, line, what in faults:
        print(f'{path}:{line}: {what}')
    if faults:
        print(f'FAIL: {len(faults)} x: {rule.__doc__}')
    return not faults


def main():
    if len(sys.argv) > 2 or sys.argv[1:] in (['-h'], ['--help']):
        sys.exit(__doc__)
    tree = sys.argv[1] if len(sys.argv) == 2 else os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
    sources = read_sources(tree)
    if not sources:
        print(f'{tree}: no source files\n0 passed, 1 failed, 0 skipped')
        return 1
    programs = ((check_scripts, start_shellcheck(sources, tree)), (check_layout, start_clang_format(sources, tree)))
    results = [report(rule, rule(sources)) for rule in RULES]
    results += [report(rule, rule(process)) for rule, process in programs if process]
    skipped = sum(not process for _, process in programs)
    print(f'{results.count(True)} passed, {results.count(False)} failed, {skipped} skipped')
    return 0 if all(results) else 1


if __name__ == '__main__':
    sys.exit(main())
