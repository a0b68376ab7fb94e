#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Makes single faults in the C code of cuda/ and gst/, one at a time, in a copy of the tree, and runs the tests that
should fail. The faults are a sample of all that mutants.py lists, the same for the same seed, as many of each kind.

Needs libclang (Debian: python3-clang-14), builds without CUDA, needs no GPU. Prints a line a fault: the test that
failed first, the seconds of build and tests. The closing line `N passed, N failed, N skipped` counts faults: passed
were caught; skipped survived, but change nothing that can be seen: they are in equivalents.txt. A fault that survives
and is not there is a test that is missing, and fails. What does not compile is no fault, and another takes its place.
"""
import argparse
import collections
import concurrent.futures
import difflib
import hashlib
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time

import mutants

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
SECONDS = 30  # least limit of a test; a fault may make it slow without being wrong

# What should find a fault in a file: the first row that fits. Tests run in this order, until one fails.
TESTS = (
    (r'cuda/cf\.h', 'cudart devices elements_negotiation_cpu elements_pixels_cpu elements_areas_cpu same '
                    'kernelcheck-sample updates'),
    (r'cuda/core/gpu/', 'cudart hangs devices same chains faults'),
    (r'cuda/core/(area|blend)', 'same areas-cpu elements_areas_cpu elements_covered_cpu updates'),
    (r'cuda/core/(text|zones|param)', 'zones fuzz_zones fuzz_settings elements_zones_cpu elements_properties_cpu '
                                      'roi_properties kernelcheck-sample'),
    (r'cuda/core/', 'same hangs elements_flight_cpu elements_pixels_cpu kernelcheck-sample areas-cpu updates '
                    'elements_properties_cpu elements_life_cpu faults'),
    (r'cuda/segment/', 'elements_segment_cpu kernelcheck-sample segment-cpu elements_properties_cpu areas-cpu updates'),
    (r'cuda/median/', 'kernelcheck-sample elements_flight_cpu elements_motion_cpu updates elements_properties_cpu '
                      'same'),
    (r'cuda/(?!median/cpu/mkcode)', 'kernelcheck-sample updates elements_properties_cpu elements_hide_cpu same '
                                    'fuzz_kernel fuzz_coefficients fuzz_fraction'),
    (r'gst/(transfer|gstcfplans|gstcfmemory)', 'same linkslots flushes hangs elements_flight_cpu elements_buffers_cpu '
                                               'chains faults'),
    (r'gst/gstcf(roi|mask)', 'elements_areas_cpu elements_covered_cpu elements_hide_cpu elements_motion_cpu '
                             'roi_properties fuzz_regions same'),
    (r'gst/gstcfnvmm', 'nvmm'),
    (r'gst/gstcftamper', 'elements_tamper_cpu'),
    (r'gst/gstcfevents', 'elements_zones_cpu elements_motion_cpu elements_segment_cpu'),
    (r'gst/gstcudamedian', 'elements_motion_cpu elements_center_cpu elements_properties_cpu elements_life_cpu'),
    (r'gst/gstcudasegment', 'elements_segment_cpu elements_properties_cpu elements_life_cpu'),
    (r'gst/(?!plugin)', 'caps stats_property devices elements_buffers_cpu elements_negotiation_cpu elements_center_cpu '
                        'elements_life_cpu flushes hangs same elements_flight_cpu elements_pixels_cpu '
                        'elements_areas_cpu elements_properties_cpu chains faults'),
)
PART = ['--one-in', '25']  # of tests that take minutes; a fault that all tests let pass has to pass them whole
THINNED = ('chains', 'faults')


def tests_of(mutant):
    """Returns the names of the tests that should find the fault."""
    return next((tests.split() for pattern, tests in TESTS if re.match(pattern, mutant.file)), [])


def shuffled(found, seed):
    """Returns the faults by kind, in an order that depends on the seed and hardly on other faults."""
    kinds = collections.defaultdict(list)
    for mutant in sorted(found, key=lambda mutant: hashlib.sha1(f'{seed} {mutant.name}'.encode()).digest()):
        kinds[mutant.kind].append(mutant)
    return kinds


def read_equivalents():
    """Returns the reasons by the names of the faults that change nothing."""
    with open(os.path.join(HERE, 'equivalents.txt'), encoding='utf-8') as file:
        return dict(line.rstrip('\n').split(' ', 1) for line in file if line.strip() and line[0] != '#')


class Copy:
    """A copy of the tree's files with a build of its own."""

    def __init__(self, folder):
        self.tree, self.build = os.path.join(folder, 'tree'), os.path.join(folder, 'build')
        self.env = dict(os.environ, CCACHE_BASEDIR=folder, CCACHE_NOHASHDIR='1')
        for name in subprocess.check_output(['git', 'ls-files', '-z'], cwd=TREE, text=True).split('\0')[:-1]:
            self.take(name)
        if not os.path.exists(os.path.join(self.build, 'build.ninja')):
            # One instruction set: the files of vectors take longest.
            subprocess.run(['meson', 'setup', self.build, self.tree, '-Dcuda=disabled', '-Dcpu-isas=avx2',
                            '--buildtype=debugoptimized'], env=self.env, check=True, stdout=subprocess.DEVNULL)
        listed = {key: json.loads(subprocess.check_output(['meson', 'introspect', '--' + key, self.build]))
                  for key in ('tests', 'targets')}
        files = {target['id']: target['filename'] for target in listed['targets']}
        wanted = {test for _, tests in TESTS for test in tests.split()}
        self.tests = {test['name']: dict(test, files=[name for key in test['depends'] for name in files[key]])
                      for test in listed['tests'] if test['name'] in wanted}
        if len(self.tests) < len(wanted) or not self.make(wanted):
            sys.exit(f'not all of {" ".join(sorted(wanted))} can be built in {self.build}')

    def take(self, name):
        """Copies a file that is new or has changed."""
        source, target = os.path.join(TREE, name), os.path.join(self.tree, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(source, 'rb') as file:
            data = file.read()
        if os.path.exists(target):
            with open(target, 'rb') as file:
                if file.read() == data:
                    return
        shutil.copyfile(source, target)
        shutil.copymode(source, target)

    def make(self, tests):
        """Builds what the tests need. Returns whether that succeeded."""
        files = sorted({name for test in tests for name in self.tests[test]['files']})
        return subprocess.run(['ninja', '-C', self.build, *(os.path.relpath(name, self.build) for name in files)],
                              env=self.env, stdout=subprocess.DEVNULL).returncode == 0

    def passes(self, test, limit=None, part=None, whole=False):
        """Runs a test. Returns whether it passed; one that takes longer than the limit in seconds has not."""
        command = self.tests[test]['cmd'] + (PART if test in THINNED and not whole else [])
        if part and test.startswith('kernelcheck-'):
            command = command + ['--filter', part]
        try:
            return subprocess.run(command, env=dict(os.environ, **self.tests[test]['env']), cwd=self.build,
                                  timeout=limit, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def try_mutant(self, mutant, limits):
        """Returns the name of the first test that fails, '' if all pass, None if the fault does not compile."""
        path = os.path.join(self.tree, mutant.file)
        with open(path, 'rb') as file:
            good = file.read()
        try:
            with open(path, 'wb') as file:
                file.write(good[:mutant.begin] + mutant.new.encode() + good[mutant.end:])
            if not self.make(tests_of(mutant)):
                return None
            part = re.match(r'cuda/(?!core)(\w+)/', mutant.file)  # kernelcheck tries the fault's filter only
            part = part and part[1]
            runs = [(test, False) for test in tests_of(mutant)]
            runs += [(test, True) for test, _ in runs if test in THINNED]
            return next((test for test, whole in runs if not self.passes(
                test, self.tests[test]['timeout'] if whole else limits[test], part, whole)), '')
        finally:
            with open(path, 'wb') as file:
                file.write(good)


def describe(mutant):
    """Returns the line of the fault, without it and with it."""
    with open(os.path.join(TREE, mutant.file), 'rb') as file:
        good = file.read()
    bad = good[:mutant.begin] + mutant.new.encode() + good[mutant.end:]
    lines = difflib.unified_diff(good.decode().split('\n'), bad.decode().split('\n'), n=0, lineterm='')
    return '\n'.join(f'    {line}' for line in list(lines)[2:])


def measure(copy, jobs):
    """Runs all tests without a fault. Returns the limit of each in seconds."""
    def one(test):
        start = time.monotonic()
        if not copy.passes(test):
            sys.exit(f'{test} does not pass without a fault')
        return test, max(SECONDS, 5 * (time.monotonic() - start))

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return dict(pool.map(one, sorted(copy.tests)))


def run(copies, kinds, count):
    """Tries `count` faults of each kind, and prints the table. Returns how many were caught, failed and skipped."""
    free, counts, by_kind = queue.Queue(), collections.Counter(), collections.Counter()
    first, equivalents = collections.Counter(), read_equivalents()
    for copy in copies:
        free.put(copy)
    limits = measure(copies[0], len(copies))

    def one(kind):
        copy = free.get()
        try:
            result = None
            while result is None and kinds[kind]:
                mutant, start = kinds[kind].pop(0), time.monotonic()
                result = copy.try_mutant(mutant, limits)
            return result if result is None else (mutant, result, time.monotonic() - start)
        finally:
            free.put(copy)

    wanted = [kind for _ in range(count) for kind in sorted(kinds)]
    with concurrent.futures.ThreadPoolExecutor(len(copies)) as pool:
        for task in concurrent.futures.as_completed([pool.submit(one, kind) for kind in wanted]):
            if not task.result():
                continue
            mutant, result, seconds = task.result()
            reason = equivalents.get(mutant.name)
            outcome = 'caught' if result else 'survived' if reason else 'FAIL'
            counts[outcome] += 1
            by_kind[mutant.kind, outcome] += 1
            first[result or 'none'] += 1
            print(f'{outcome:8} {mutant.name}, line {mutant.line}: {result or reason or "SURVIVED"}, {seconds:.0f} s')
            if outcome == 'FAIL':
                print(describe(mutant))
            sys.stdout.flush()
    for kind in sorted(kinds):
        print(f'{kind}:', ', '.join(f'{by_kind[kind, word]} {word}' for word in ('caught', 'survived', 'FAIL')))
    print('first to fail:', ', '.join(f'{test} {n}' for test, n in first.most_common()))
    return [counts[outcome] for outcome in ('caught', 'FAIL', 'survived')]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seed', type=int, default=1, help='another sample (default: 1)')
    parser.add_argument('--count', metavar='N', type=int, default=300, help='how many faults (default: 300)')
    parser.add_argument('--only', metavar='TEXT', help='only faults whose name begins with this, all of them')
    parser.add_argument('--list', action='store_true', help='print how many faults of each kind there are, and stop')
    parser.add_argument('--build', metavar='DIR', help='folder of the copies, which stay (default: a temporary one)')
    parser.add_argument('--jobs', metavar='N', type=int, default=1, help='copies to work on at a time')
    args = parser.parse_args()
    start, temporary = time.monotonic(), None if args.build else tempfile.TemporaryDirectory()
    folder = os.path.abspath(args.build or temporary.name)
    copies = [Copy(os.path.join(folder, str(number))) for number in range(args.jobs)]
    found = [mutant for mutant in mutants.find(copies[0].tree, copies[0].build, ('cuda/', 'gst/')) if tests_of(mutant)]
    gone = read_equivalents().keys() - {mutant.name for mutant in found}
    for name in sorted(gone):
        print(f'equivalents.txt: there is no fault {name} any more')
    kinds = shuffled([mutant for mutant in found if mutant.name.startswith(args.only or '')], args.seed)
    if args.list:
        print(', '.join(f'{kind} {len(kinds[kind])}' for kind in kinds))
        return 0
    count = max(map(len, kinds.values()), default=0) if args.only else -(-args.count // max(len(kinds), 1))
    passed, failed, skipped = run(copies, kinds, count)
    print(f'{time.monotonic() - start:.0f} s')
    print(f'{passed} passed, {failed + len(gone)} failed, {skipped} skipped')
    return 0 if passed and not failed and not gone else 1


if __name__ == '__main__':
    sys.exit(main())
