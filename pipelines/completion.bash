# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# completion.bash: what bash completes behind the programs of this project. It needs nothing of the package
# bash-completion, which loads it by the program's name.

# Prints the options of a program. tests/packages/check.py compares them with its --help.
_cf_options () { # PROGRAM
  case $1 in
    cf-bench)
      echo "--help --size --format --seconds --frames --warm-up --rate --regions --video --cameras --cores" \
        "--processes --gpus --memory --bare --queue --sweep --study --peers --no-limits --json --force --version" ;;
    cf-demo) echo "--help --input --filter --before --layout --output --force --frames --noise --page --version" ;;
    cf-diagnose) echo "--help --version" ;;
    cf-effect) echo "--help --force --list --version" ;;
    cf-identify)
      echo "--help --output --force --window --fragment --blur --chart --noise --symmetry --max-radius --version" ;;
    cf-regions) echo "--help --filter --interval --largest --frames --json --version" ;;
    cf-restore) echo "--help --force --show --version" ;;
    cf-search) echo "--help --config --json --state --version" ;;
    cf-verify) echo "--help --key --original --version" ;;
    cf-watch) echo "--help --check --hash-password --page-link --try --version" ;;
  esac
}

# Prints the values of an option: words, @files, or nothing where a number or the like is typed.
_cf_values () { # PROGRAM OPTION
  case $1:$2 in
    cf-bench:-f | cf-bench:--format) echo "NV12 I420 GRAY8 RGBA RGB P010_10LE GRAY16_LE Y444" ;;
    cf-bench:-m | cf-bench:--memory) echo "proposed plain cuda" ;;
    cf-bench:--study) echo "size speedup cameras" ;;
    cf-demo:-l | cf-demo:--layout) echo "alone beside grid" ;;
    cf-demo:-f | cf-demo:--filter) echo "@elements@" ;;
    cf-identify:-b | cf-identify:--blur) echo "gauss: motion:" ;;
    cf-identify:-s | cf-identify:--symmetry) echo "none point diagonal mirror full" ;;
    cf-regions:-f | cf-regions:--filter) echo "cudasegment" ;;
    *:-o | *:--output | cf-bench:-j | cf-bench:--json | cf-demo:-i | cf-demo:--input | cf-verify:-k | cf-verify:--key | \
      cf-verify:--original | cf-watch:--try) echo @files ;;
  esac
}

_cf_complete () {
  local program=${COMP_WORDS[0]##*/} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=''
  # bash splits --option=VALUE at the sign.
  [ "$word" != = ] || word=''
  [ "$before" != = ] || before=${COMP_WORDS[COMP_CWORD - 2]}
  case $before:$word in
    *:-*) words=$(_cf_options "$program") ;;
    -*:*) words=$(_cf_values "$program" "$before") ;;
    *) [ "$program" != cf-bench ] || words="@elements@" ;;
  esac
  COMPREPLY=()
  # Where there is nothing, bash completes names of files (-o default).
  [ "$words" = @files ] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o default -F _cf_complete cf-bench cf-demo cf-diagnose cf-effect cf-identify cf-regions cf-restore cf-search \
  cf-verify cf-watch
