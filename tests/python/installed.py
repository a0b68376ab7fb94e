#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Tests the module cudafilters as pip installs it, with the plugin inside.

usage: installed.py --plugin FILE --program FILE...     a folder is filled as the wheel has it
       installed.py --python PROGRAM...                 the Python of an environment into which pip has installed it,
                                                        behind the words that run it; CC compiles for it

The plugin is found before and after Gst.init(), programs run without PyGObject, and where GStreamer is missing, is too
old or lacks a library, or the plugin is for another processor, a sentence says so, and no traceback. The second form
tests the programs and these sentences only. The first skips itself (77) without PyGObject, GStreamer's typelibs or
NumPy.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import interpreter  # noqa: E402

FIND = 'print(Gst.ElementFactory.find("cudamedian").get_plugin().get_filename())'
GST = 'import gi; gi.require_version("Gst", "1.0"); from gi.repository import Gst; Gst.init(None); '
OLD = 'void gst_version (unsigned *a, unsigned *b, unsigned *c, unsigned *d) { *a = 1, *b = 20, *c = 3, *d = 0; }'


class Tests:
    def __init__(self, folder, words):
        self.folder, self.words, self.passed, self.failed = folder, words, 0, 0
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(('GST_PLUGIN', 'PYTHON'))}
        self.env |= {'GST_REGISTRY': os.path.join(folder, 'registry.bin'), 'PYTHONDONTWRITEBYTECODE': '1'}

    def run(self, *words, path='', plugins=''):
        env = self.env | ({'LD_LIBRARY_PATH': path} if path else {}) | ({'GST_PLUGIN_PATH': plugins} if plugins else {})
        return subprocess.run([*self.words, *words], cwd=self.folder, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=100, check=False)

    def check(self, what, ended, status, *parts):
        """Counts a test of a program: its status, and what it has printed."""
        said = ended.stdout + ended.stderr
        good = ended.returncode == status and all(part in said for part in parts)
        good = good and ('Traceback' not in said or ended.args[-2] == '-c')
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        print(f'{what}: {"passed" if good else f"FAILED, status {ended.returncode}: {said}"}', flush=True)

    def programs(self):
        """What runs without PyGObject. Returns the plugin's folder."""
        module = ('-m', 'cudafilters')
        ended = self.run(*module, 'path')
        place = ended.stdout.strip()
        self.check('path', ended, 0, os.path.join('cudafilters', 'gst'))
        self.check('no word', self.run(*module), 2, 'usage:')
        self.check('help', self.run(*module, '--help'), 0, 'demo', 'regions')
        self.check('demo', self.run(*module, 'demo', '--frames', '3', '--output', 'demo.avi'), 0, ' 3 frames')
        self.check('regions', self.run(*module, 'regions', 'demo.avi'), 0, 'region')
        self.check('demo of nothing', self.run(*module, 'demo', 'none.avi'), 2, 'no file "none.avi"')
        return place

    def broken(self):
        """Libraries that cannot be loaded stand for those that are missing."""
        module = ('-m', 'cudafilters', 'path')
        for name, *parts in (('libgstreamer-1.0.so.0', 'GStreamer is not found', 'apt-get install gstreamer1.0'),
                             ('libjson-glib-1.0.so.0', 'cannot be loaded', 'apt-get install libjson-glib-1.0-0')):
            place = os.path.join(self.folder, 'without-' + name)
            os.mkdir(place)
            with open(os.path.join(place, name), 'w', encoding='utf-8') as file:
                file.write('no library, but long enough for the head of one' * 10)
            self.check('without ' + name, self.run(*module, path=place), 1, *parts)
        place = os.path.join(self.folder, 'old')
        os.mkdir(place)
        subprocess.run([os.environ.get('CC', 'cc'), '-shared', '-fPIC', '-x', 'c', '-', '-o',
                        os.path.join(place, 'libgstreamer-1.0.so.0')], input=OLD, text=True, check=True)
        self.check('GStreamer 1.20', self.run(*module, path=place), 1, 'is 1.20.3', '1.22 or newer is needed')

    def imported(self, place, other):
        """What needs PyGObject."""
        self.check('import', self.run('-c', 'import cudafilters; ' + GST + FIND), 0, place)
        self.check('import behind init', self.run('-c', GST + 'import cudafilters; ' + FIND), 0, place)
        self.check("the user's plugin first",
                   self.run('-c', 'import cudafilters; ' + GST + FIND, plugins=os.path.dirname(other)), 0, other)


def stage(folder, plugin, programs):
    """Fills a folder as the wheel has it."""
    site = os.path.join(folder, 'site')
    package = os.path.join(site, 'cudafilters')
    shutil.copytree(os.path.join(ROOT, 'pipelines', 'python', 'cudafilters'), package,
                    ignore=shutil.ignore_patterns('__pycache__'))
    for place, files in (('gst', [plugin]), ('bin', programs)):
        os.mkdir(os.path.join(package, place))
        for file in files:
            shutil.copy(file, os.path.join(package, place))
    return site


def staged(folder, plugin, programs):
    site = stage(folder, plugin, programs)
    tests = Tests(folder, [sys.executable, '-S'])  # -S: no module that is installed
    tests.env['PYTHONPATH'] = site
    place = tests.programs()
    tests.broken()
    tests.check('import without PyGObject', tests.run('-c', 'import cudafilters'), 1, 'needs PyGObject', 'apt-get')
    tests.words = [sys.executable]
    tests.imported(place, plugin)

    copy = os.path.join(place, os.path.basename(plugin))
    with open(copy, 'r+b') as file:
        file.seek(18)
        file.write(b'\xf3\x00')  # RISC-V
    tests.check('another processor', tests.run('-m', 'cudafilters', 'path'), 1, 'another kind of processor')
    better = os.path.join(site, 'cudafilters_cuda', 'gst')
    os.makedirs(better)
    shutil.copy(plugin, better)
    tests.check('the plugin with kernels', tests.run('-m', 'cudafilters', 'path'), 0, better)
    os.remove(os.path.join(better, os.path.basename(plugin)))
    os.remove(copy)
    tests.check('no plugin', tests.run('-m', 'cudafilters', 'demo'), 1, 'without the plugin')
    tests.check('import without a plugin', tests.run('-c', 'import cudafilters; print(cudafilters.Box)'), 0, 'Box')
    return tests


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--plugin')
    parser.add_argument('--program', action='append')
    parser.add_argument('--python', nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if not args.python:
        interpreter.use()
    with tempfile.TemporaryDirectory() as folder:
        if args.python:
            tests = Tests(folder, args.python)
            tests.programs()
            tests.broken()
        else:
            tests = staged(folder, args.plugin, args.program)
    print(f'{tests.passed} passed, {tests.failed} failed')
    sys.exit(1 if tests.failed or not tests.passed else 0)


if __name__ == '__main__':
    main()
