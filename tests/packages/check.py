#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Checks what packages contain beside code: manual pages, completion for bash, version, metadata, licences.

usage: tests/packages/check.py COMPLETION NAME=PROGRAM...

COMPLETION is the completion for bash as the build makes it. Each installed program follows, by the name under which it
is installed.

- Every option of a program's --help is in its page and in the completion, and the other way round.
- mandoc finds no error in the pages, appstreamcli none in the metadata, `reuse lint` none in the licences; each of
  these is skipped where the program is missing (reuse also beside the Python that CF_PYTHON names).
- The files that debian/ lists as documents and examples are there.
- The version stands in meson.build and nowhere else; debian/changelog, NEWS.md, the Python module and the Helm chart
  have the same.

Ends with the line `N passed, N failed, N skipped`.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = os.path.join(ROOT, 'pipelines', 'man')
COMPLETION = sys.argv[1] if len(sys.argv) > 2 else sys.exit(__doc__)
sys.path.insert(0, os.path.join(ROOT, 'docs', 'elements'))
import make  # noqa: E402


class Results:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, good, what):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print('FAIL', what)

    def skip(self, what):
        self.skipped += 1
        print('skipped:', what)


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as file:
        return file.read()


def run(*words):
    return subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def listed(options):
    return ', '.join(sorted(options)) or 'none'


def check_same(results, what, found, wanted):
    results.check(found == wanted, f'{what}: missing {listed(wanted - found)}; too many {listed(found - wanted)}')


# ---- options ---------------------------------------------------------------------

def options_of_help(program):
    """Returns the options that --help lists: "  -f, --filter=LINE   text". The option --help need not list itself."""
    text = run(program, '--help').stdout
    found = re.findall(r'^  (?:(-\w), )?(--[a-z][a-z-]*)', text, re.M)
    return {option for pair in found for option in pair if option} | {'--help'}


def options_of_page(page):
    """Returns the options that a page of mdoc explains: ".It Fl f , Fl -filter Ns = Ns Ar LINE"."""
    return {'-' + flag for line in re.findall(r'^\.It (.*\bFl\b.*)$', page, re.M)
            for flag in re.findall(r'Fl (-?[a-z][a-z-]*)', line)}


def complete(program, *words):
    """Returns what bash offers for the last of these words."""
    line = (f'source "$0"; COMP_WORDS=({program} "$@"); COMP_CWORD=$#; _cf_complete; '
            f'printf "%s\\n" "${{COMPREPLY[@]}}"; complete -p {program} > /dev/null || echo none')
    return set(run('bash', '-c', line, COMPLETION, *words).stdout.split())


def check_program(results, name, program):
    wanted = options_of_help(program)
    path = os.path.join(PAGES, name + '.1')
    results.check(len(wanted) > 0, f'{name}: --help lists no option')
    if not os.path.exists(path):
        results.check(False, f'{name}: pipelines/man/{name}.1 is missing')
        return
    page = read('pipelines', 'man', name + '.1')
    check_same(results, f'pipelines/man/{name}.1', options_of_page(page) | {'-h'}, wanted | {'-h'})
    check_same(results, f'pipelines/completion.bash, {name}', complete(name, '-'),
               {option for option in wanted if option.startswith('--')})
    results.check(f'.Dt {name.upper()} 1\n' in page and f'.Nm {name}\n' in page, f'{name}: the page has another name')
    version = run(program, '--version')
    if '--version' in wanted:
        results.check(version.stdout == f'{name} (gst-cuda-filters) {project_version()}\n',
                      f'{name} --version prints "{version.stdout}"')


def check_completion(results):
    elements = {'cuda' + stem for stem in make.STEMS}
    cases = ((('cf-bench', ''), elements),
             (('cf-demo', '--filter', ''), elements),
             (('cf-bench', '--memory', ''), {'proposed', 'plain', 'cuda'}),
             (('cf-bench', '--memory', '=', 'pl'), {'plain'}),
             (('cf-bench', 'cudas'), {'cudasegment'}),
             (('cf-demo', '--filter', 'cudam'), {'cudamedian'}),
             (('cf-demo', '--input', 'x'), set()),
             (('cf-identify', '-s', 'd'), {'diagonal'}),
             (('cf-identify', '--symmetry', '='), {'none', 'point', 'diagonal', 'mirror', 'full'}),
             (('cf-regions', 'street'), set()),
             (('cf-regions', '--js'), {'--json'}))
    for words, wanted in cases:
        check_same(results, 'completion of ' + ' '.join(words), complete(*words), wanted)


# ---- programs that check files -----------------------------------------------------

def find(program):
    """Returns the path of a program, or None."""
    beside = os.path.join(os.path.dirname(os.environ.get('CF_PYTHON', '')), program)
    return shutil.which(program) or (shutil.which(beside) if os.sep in beside else None)


def check_by(results, what, program, *words):
    """Runs a program that finds errors in files, where it is installed."""
    path = find(program)
    if not path:
        results.skip(f'{what}: no {program}')
        return
    ended = run(path, *words)
    results.check(ended.returncode == 0, f'{what}: {ended.stdout.strip()[-2000:]}')


def check_files(results):
    pages = sorted(os.path.join(PAGES, name) for name in os.listdir(PAGES))
    results.check(pages, 'pipelines/man is empty')
    check_by(results, 'manual pages', 'mandoc', '-Tlint', '-Wwarning', *pages)
    check_by(results, 'metadata', 'appstreamcli', 'validate', '--no-net', 'pipelines/metainfo.xml')
    reuse = find('reuse')
    if reuse and int(re.search(r'\d+', run(reuse, '--version').stdout).group()) < 4:
        results.skip('licences: this reuse is older than 4.0, which reads REUSE.toml')
    else:
        check_by(results, 'licences', 'reuse', 'lint', '--quiet')


def check_lists(results):
    """dh_installdocs and dh_installexamples would end the build of the packages."""
    for path in sorted(glob.glob(os.path.join(ROOT, 'debian', '*.docs')) +
                       glob.glob(os.path.join(ROOT, 'debian', '*.examples'))):
        for line in read(path).split():
            results.check(glob.glob(os.path.join(ROOT, line)), f'{os.path.basename(path)}: there is no {line}')


# ---- version -----------------------------------------------------------------------

def project_version():
    return re.search(r"^  version : '([\d.]+)'", read('meson.build'), re.M).group(1)


def check_version(results):
    version = project_version()
    news = re.search(r'^## (\S+)', read('NEWS.md'), re.M).group(1)
    results.check(news == version, f'NEWS.md begins with {news}, meson.build has {version}')
    if os.path.exists(os.path.join(ROOT, 'debian')):  # not in every tarball
        changelog = re.match(r'gst-cuda-filters \(([^)]*)\)', read('debian', 'changelog')).group(1)
        results.check(changelog == version, f'debian/changelog begins with {changelog}, meson.build has {version}')
    module = re.findall(r'(?:^version = "| == )([^"]*)"', read('pipelines', 'python', 'pyproject.toml'), re.M)
    results.check(module == [version] * 2, f'pipelines/python/pyproject.toml has {module}, meson.build has {version}')
    chart = set(re.findall(r'(?m)^(?:appV|v)ersion: (.*)$', read('pipelines', 'watch', 'deploy', 'Chart.yaml')))
    results.check(chart == {version}, f'pipelines/watch/deploy/Chart.yaml has {chart}, meson.build has {version}')
    # A second place would be forgotten at the next release. What a version is since when may stand anywhere.
    for path in ('pipelines/meson.build', 'gst/meson.build', 'cuda/meson.build', 'pipelines/metainfo.xml',
                 'pipelines/completion.bash', 'debian/rules', 'debian/control'):
        if os.path.exists(os.path.join(ROOT, path)):
            results.check(not re.search(rf'(?<![\d.]){re.escape(version)}(?![\d.])', read(path)),
                          f'{path} has the version {version}, which belongs into meson.build')


def main():
    programs = [word.partition('=') for word in sys.argv[2:]]
    if any(not program for _, _, program in programs):
        sys.exit(__doc__)
    results = Results()
    for name, _, program in programs:
        check_program(results, name, program)
    check_completion(results)
    check_files(results)
    check_lists(results)
    check_version(results)
    print(f'{results.passed} passed, {results.failed} failed, {results.skipped} skipped')
    sys.exit(1 if results.failed else 0)


if __name__ == '__main__':
    main()
