# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# lib.sh: functions that the scripts of tests/packages share; to be sourced.
passed=0 failed=0 skipped=0

# need COMMAND:PACKAGE...: ends with status 77 where one of these commands is missing.
need () {
  local pair missing=()
  for pair; do
    command -v "${pair%%:*}" > /dev/null || missing+=("${pair#*:}")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "missing: ${missing[*]} (Debian's names)"
  echo "0 passed, 0 failed, 1 skipped"
  exit 77
}

# begin [FOLDER]: sets `work` to that folder, which must be empty or not exist, or to one that is removed at the end.
begin () {
  if [ -z "${1:-}" ]; then
    work=$(mktemp -d) || exit 1
    trap 'rm -rf "$work"' EXIT
    return
  fi
  mkdir -p "$1" && work=$(cd "$1" && pwd) || exit 1
  [ -z "$(ls -A "$work")" ] || { echo "$work is not empty"; exit 2; }
}

# copy_tree FROM TO: copies the files that git knows or would add; without git all but build folders.
copy_tree () {
  mkdir -p "$2" || return 1
  if [ -e "$1/.git" ]; then
    (cd "$1" && git ls-files -z -c -o --exclude-standard | tar -c --null -T - --ignore-failed-read) | tar -x -C "$2"
  else
    tar -c -C "$1" --exclude './build*' --exclude __pycache__ . | tar -x -C "$2"
  fi
}

# result STATUS WHAT [LOG]: counts a check, and shows the end of the log of one that failed.
result () {
  if [ "$1" -eq 0 ]; then
    passed=$((passed + 1))
    return
  fi
  failed=$((failed + 1))
  echo "FAIL $2"
  [ ! -s "${3:-}" ] || tail -n 25 "$3" | sed 's/^/  /'
}

skip () { # WHAT
  skipped=$((skipped + 1))
  echo "skipped: $1"
}

end () {
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
  exit
}
