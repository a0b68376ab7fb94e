#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Compares the machine code of two builds, function by function, regardless of the functions' names.

usage: tests/check/same_code.py BUILD OTHER_BUILD [--only kernels|host] [--match TEXT]

For changes that must not change code: moved files, new names and comments. Each function is reduced to its
instructions without addresses and names; the two builds must hold the same set of them. Functions that only one build
holds are listed with their names. Exit status 1 on any difference.

Kernels need cuobjdump (in the CUDA toolkit, or "pip install nvidia-cuda-cuobjdump"). Debug macros put line
numbers into host code, which differ as soon as lines move: configure both builds with
    -Dc_args="-Wno-builtin-macro-redefined -D__LINE__=0"
"""
import argparse
import collections
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

SYMBOL = re.compile(r"`\([^)]*\)|<[^>+]*>|<[^>]*>")


def cuobjdump():
    """Returns the path of cuobjdump; exits with a hint if it is missing."""
    found = shutil.which("cuobjdump")
    for path in sys.path + ["/usr/local/cuda/bin"]:
        for name in ("nvidia/cu*/bin/cuobjdump", "nvidia/*/bin/cuobjdump", "cuobjdump"):
            found = found or next(iter(glob.glob(os.path.join(path, name))), None)
    return found or sys.exit("same_code.py: cuobjdump is missing; pip install nvidia-cuda-cuobjdump")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def kernels_of(tool, path):
    """Yields (name, digest) of each device function of each architecture in an object file."""
    name, arch, body = None, "", []
    for line in run(tool, "-sass", path).splitlines() + ["\tFunction : end"]:
        arch_line = re.match(r"\s*code for (sm_\w+)", line)
        start = re.match(r"\s*Function : (\S+)", line)
        if arch_line or start:
            if name:
                yield f"{arch} {name}", hashlib.sha256("\n".join(body).encode()).hexdigest()
            name, body = (start.group(1), [arch]) if start else (None, [])
            arch = arch_line.group(1) if arch_line else arch
        elif name and "/*" in line:
            # Functions are ordered by name in a module, so the distances between them depend on
            # names.
            text = re.sub(r"/\*[0-9a-f]{4,5}\*/", "", line)
            if "CALL" in text or "`" in text or "@" in text:
                text = re.sub(r"/\*.*?\*/|0x[0-9a-f]+", "", SYMBOL.sub("", text))
            body.append(" ".join(text.split()))


def host_of(path):
    """Yields (name, digest) of each function of an object file for the host."""
    name, body, own = None, [], None
    for line in run("objdump", "-dr", "--no-show-raw-insn", path).splitlines() + ["0 <end>:"]:
        start = re.match(r"[0-9a-f]+ <(\S+)>:$", line)
        if start:
            if name:
                yield name, hashlib.sha256("\n".join(body).encode()).hexdigest()
            name, body = start.group(1), []
            own = re.compile(r"[0-9a-f]+ <" + re.escape(name) + r"(\+0x[0-9a-f]+)?>")
        elif name and re.match(r"\s+[0-9a-f]+:", line):
            text = line.split(":", 1)[1]
            if "R_X86_64" in text or "R_AARCH64" in text:
                text = text.split()[0]
            text = own.sub(r"SELF\1", text)
            body.append(" ".join(re.sub(r"[0-9a-f]+ <[^>]*>", "OTHER", text).split()))


def functions(tool, build, only, match):
    """Returns a counter of the digests, and a function name for each digest."""
    objects = [p for p in glob.glob(build + "/**/*.o", recursive=True) if match in p
               and "/venv/" not in p and "meson-private" not in p]
    names, count = {}, collections.Counter()

    def read(path):
        rows = []
        if only != "host" and b".nv_fatbin" in open(path, "rb").read():
            rows += [(f"kernel {n} ({os.path.basename(path)})", d) for n, d in kernels_of(tool, path)]
        if only != "kernels":
            rows += [(f"host {n} ({os.path.basename(path)})", d) for n, d in host_of(path)]
        return rows
    with ThreadPoolExecutor() as pool:
        for rows in pool.map(read, sorted(objects)):
            for name, digest in rows:
                kind = name.split()[0]
                count[kind, digest] += 1
                names[kind, digest] = name
    return count, names


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("builds", nargs=2, metavar="BUILD")
    parser.add_argument("--only", choices=("kernels", "host"))
    parser.add_argument("--match", default="", metavar="TEXT", help="only object files with this in their path")
    options = parser.parse_args()
    tool = cuobjdump() if options.only != "host" else None
    (one, names), (other, other_names) = (functions(tool, b, options.only, options.match) for b in options.builds)
    failed = 0
    for kind in ("kernel", "host"):
        total = sum(n for (k, _), n in one.items() if k == kind)
        if total == 0:
            continue
        gone = [k for k in (one - other) if k[0] == kind]
        new = [k for k in (other - one) if k[0] == kind]
        for sign, rows, by_name in (("-", gone, names), ("+", new, other_names)):
            for key in sorted(rows, key=lambda k: by_name[k])[:400]:
                print(sign, by_name[key])
        failed += len(gone) + len(new)
        same = sum((one & other)[k] for k in one if k[0] == kind)
        print(f"{kind} functions: {same} of {total} the same, {len(gone)} only here, {len(new)} only there")
    if not one or not other:
        sys.exit("same_code.py: a build has no object files")
    print(f"{sum((one & other).values())} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
