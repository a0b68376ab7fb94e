#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Applies the faults of faults.txt, one at a time, to a copy of the tree, and runs the tests that must fail.

Builds without CUDA; needs no GPU. Prints a line a fault: the test that failed first, the seconds of build and tests.
The closing line `N passed, N failed, N skipped` counts faults: passed were caught; skipped have the field `survives`,
and did. A fault that survives without that field, is caught in spite of it, does not compile or does not apply, fails.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
FIELDS = ('name', 'file', 'old', 'new', 'tests', 'survives')
SECONDS = 60  # least limit of a test; a fault may make it slow without being wrong

Fault = collections.namedtuple('Fault', FIELDS)


def read_faults(path):
    """Reads the blocks of fields `key: text`; a key that is repeated adds a line to the text."""
    faults = []
    with open(path, encoding='utf-8') as file:
        for block in re.split(r'\n{2,}', re.sub(r'(?m)^#.*\n', '', file.read()).strip('\n')):
            fields = dict.fromkeys(FIELDS)
            for line in block.split('\n'):
                key, _, text = line.partition(':')
                if key not in FIELDS:
                    sys.exit(f'{path}: "{line}" begins with none of the fields {", ".join(FIELDS)}')
                text = text[1:]
                fields[key] = text if fields[key] is None else fields[key] + '\n' + text
            if None in [fields[key] for key in FIELDS[:-1]]:
                sys.exit(f'{path}: {fields["name"]} needs the fields {", ".join(FIELDS[:-1])}')
            faults.append(Fault(**fields)._replace(tests=fields['tests'].split()))
    return faults


def faulty_text(fault, tree):
    """Returns a fault's file with and without it, or fails with the reason why it does not apply."""
    with open(os.path.join(tree, fault.file), encoding='utf-8', newline='') as file:
        good = file.read()
    if good.count(fault.old) != 1:
        raise ValueError(f'the text is there {good.count(fault.old)} times in {fault.file}')
    if fault.old == fault.new or not fault.tests:
        raise ValueError('it changes nothing, or names no test')
    return good, good.replace(fault.old, fault.new)


def check(faults):
    """Returns how many faults of the list are wrong: they do not apply, or have the name of another one."""
    names = collections.Counter(fault.name for fault in faults)
    wrong = 0
    for fault in faults:
        try:
            faulty_text(fault, TREE)
            reason = 'the name is there twice' if names[fault.name] > 1 else None
        except (OSError, ValueError) as error:
            reason = str(error)
        if reason:
            print(f'{fault.name}: {reason}')
            wrong += 1
    return wrong


class Copy:
    """A copy of the tree's files with a build of its own."""

    def __init__(self, folder):
        self.tree, self.build = os.path.join(folder, 'tree'), os.path.join(folder, 'build')
        self.env = dict(os.environ, CCACHE_BASEDIR=folder, CCACHE_NOHASHDIR='1')
        for name in subprocess.check_output(['git', 'ls-files', '-z'], cwd=TREE, text=True).split('\0')[:-1]:
            self.take(name)
        if not os.path.exists(os.path.join(self.build, 'build.ninja')):
            subprocess.run(['meson', 'setup', self.build, self.tree, '-Dcuda=disabled', '--buildtype=debugoptimized'],
                           env=self.env, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(['ninja', '-C', self.build], env=self.env, check=True, stdout=subprocess.DEVNULL)
        listed = {key: json.loads(subprocess.check_output(['meson', 'introspect', '--' + key, self.build]))
                  for key in ('tests', 'targets')}
        files = {target['id']: target['filename'] for target in listed['targets']}
        self.tests = {test['name']: (test['timeout'], [name for key in test['depends'] for name in files[key]])
                      for test in listed['tests']}

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
        files = sorted({name for test in tests for name in self.tests[test][1]})
        return subprocess.run(['ninja', '-C', self.build, *(os.path.relpath(name, self.build) for name in files)],
                              env=self.env, stdout=subprocess.DEVNULL).returncode == 0

    def passes(self, test, limit=None, part=None):
        """Runs a test. Returns whether it passed; one that takes longer than the limit in seconds has not."""
        command = ['meson', 'test', '-C', self.build, '--no-rebuild', test, '--maxfail', '1']
        if limit:
            command += ['-t', str(limit / self.tests[test][0])]
        if part and test.startswith('kernelcheck-'):
            command += ['--test-args=--filter ' + part]
        run = subprocess.run(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return run.returncode == 0 and re.search(r'(?m)^Ok: +[1-9]', run.stdout) is not None

    def try_fault(self, fault, limits):
        """Returns the name of the first test that fails, None if all pass; 'does not compile' or another reason."""
        try:
            good, bad = faulty_text(fault, self.tree)
        except (OSError, ValueError) as error:
            return 'does not apply: ' + str(error)
        path = os.path.join(self.tree, fault.file)
        try:
            with open(path, 'w', encoding='utf-8', newline='') as file:
                file.write(bad)
            if not self.make(fault.tests):
                return 'does not compile'
            part = re.match(r'cuda/(?!core)(\w+)/', fault.file)  # kernelcheck tries the fault's filter only
            part = part and part[1]
            return next((test for test in fault.tests if not self.passes(test, limits[test], part)), None)
        finally:
            with open(path, 'w', encoding='utf-8', newline='') as file:
                file.write(good)


def measure(copy, faults, jobs):
    """Runs all tests without a fault. Returns the limit of each in seconds."""
    def one(test):
        start = time.monotonic()
        if test not in copy.tests or not copy.passes(test):
            raise ValueError(f'{test}: there is no such test, or it does not pass without a fault')
        return test, max(SECONDS, 5 * (time.monotonic() - start))

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return dict(pool.map(one, sorted({test for fault in faults for test in fault.tests})))


def run(faults, folder, jobs):
    """Tries all faults, and prints the table. Returns how many were caught, failed and survived as they must."""
    copies, counts, first = queue.Queue(), collections.Counter(), collections.Counter()
    for number in range(jobs):
        copies.put(Copy(os.path.join(folder, str(number))))
    limits = measure(copies.queue[0], faults, jobs)

    def one(fault):
        copy, start = copies.get(), time.monotonic()
        try:
            return fault, copy.try_fault(fault, limits), time.monotonic() - start
        finally:
            copies.put(copy)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for task in concurrent.futures.as_completed([pool.submit(one, fault) for fault in faults]):
            fault, result, seconds = task.result()
            caught = result in fault.tests
            outcome = ('survived' if result is None and fault.survives else 'caught' if caught and not fault.survives
                       else 'FAIL')
            counts[outcome] += 1
            first[result] += caught
            print(f'{outcome:8} {fault.name:44} {result or fault.survives or "SURVIVED"}, {seconds:.0f} s', flush=True)
    print('first to fail:', ', '.join(f'{test} {n}' for test, n in first.most_common() if n))
    return [counts[outcome] for outcome in ('caught', 'FAIL', 'survived')]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--check', action='store_true', help='only check that each fault of the list applies')
    parser.add_argument('--build', metavar='DIR', help='folder of the copies, which stay (default: a temporary one)')
    parser.add_argument('--only', metavar='NAME', action='append', help='try this fault; may be repeated')
    parser.add_argument('--jobs', metavar='N', type=int, default=1, help='copies to work on at a time')
    args = parser.parse_args()
    faults = read_faults(os.path.join(HERE, 'faults.txt'))
    if args.only:
        faults = [fault for fault in faults if fault.name in args.only]
    start, wrong = time.monotonic(), check(faults)
    if args.check:
        result = [len(faults) - wrong, wrong, 0]
    elif args.build:
        result = run(faults, os.path.abspath(args.build), args.jobs)
    else:
        with tempfile.TemporaryDirectory() as folder:
            result = run(faults, folder, args.jobs)
    print(f'{time.monotonic() - start:.0f} s')
    print('{} passed, {} failed, {} skipped'.format(*result))
    return 0 if faults and not result[1] else 1


if __name__ == '__main__':
    sys.exit(main())
