# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# play.sh: functions by which scripts say something and run cf-demo; to be sourced. The installed cf-effect and
# cf-restore have them within (pipelines/meson.build).

CF_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

cf_say () { printf '%s\n' "$*" >&2; }
cf_die () { cf_say "$(basename "$0"): $*"; exit 1; }
# Ends with the status that the programs have for a wrong command line.
cf_wrong () { cf_say "$(basename "$0"): $*"; exit 2; }
# The version has one place, meson.build.
cf_version () { sed -n "s/^  version : '\(.*\)',$/$(basename "$0") (gst-cuda-filters) \1/p" "$CF_ROOT/meson.build"; }

# cf_value TEXT: prints the text as the value of a property in a filter line.
cf_value () {
  local text=${1//\\/\\\\}
  printf '"%s"' "${text//\"/\\\"}"
}

# cf_run ARGUMENTS...: executes cf-demo, with the plugin beside it: of $CF_BUILD, of the folder that README's lines
# build in, of demo.sh's, or the one that is installed. Ends the script with a message where there is none.
cf_run () {
  local build program
  program=$(command -v cf-demo)
  for build in "$CF_ROOT/build-demo" "${CF_BUILD:-$CF_ROOT/build}"; do
    [ ! -x "$build/pipelines/cf-demo" ] || program=$build/pipelines/cf-demo
  done
  [ -n "$program" ] || cf_die "cf-demo is not found; ./pipelines/demo.sh builds it"
  build=${program%/pipelines/cf-demo}
  [ "$build" = "$program" ] || export GST_PLUGIN_PATH="$build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
  exec "$program" "$@"
}
