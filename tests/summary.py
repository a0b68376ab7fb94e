#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Adds up the results of meson's tests: summary.py build/meson-logs/testlog.json

A test's counts come from its last line `N passed, N failed, N skipped` or from Check's line
`NN%: Checks: a, Failures: b, Errors: c`; a test without either counts as one."""
import json
import re
import sys


def count(test):
    said = (test.get("stdout") or "") + "\n" + (test.get("stderr") or "")
    code = test.get("returncode", 1)
    own = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", said, re.M)
    check = re.findall(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)", said, re.M)
    if own:
        passed, failed, skipped = (int(n) for n in own[-1])
    elif check:
        failed = sum(int(f) + int(e) for _, f, e in check)
        passed, skipped = sum(int(n) for n, _, _ in check) - failed, 0
    else:
        passed, failed, skipped = int(code == 0), 0, 0
    if code == 77 and not skipped:
        skipped = 1
    elif code not in (0, 77) and not failed:
        failed = 1
    return passed, failed, skipped, said


def main():
    total = [0, 0, 0]
    with open(sys.argv[1], encoding="utf-8") as log:
        tests = [json.loads(line) for line in log if line.strip()]
    for test in tests:
        *numbers, said = count(test)
        total = [a + b for a, b in zip(total, numbers)]
        print(f"{test['name']:40s} {numbers[0]:6d} passed {numbers[1]:4d} failed {numbers[2]:4d} skipped"
              f" {test.get('duration', 0):7.1f} s")
        if numbers[1]:
            print("  " + "\n  ".join(said.strip().splitlines()[-60:]))
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 0 if total[0] > 0 and total[1] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
