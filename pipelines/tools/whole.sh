#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# whole.sh SCRIPT PLAY OUTPUT VERSION: writes effect.sh or restore.sh as it is installed: called cf-effect or
# cf-restore, with play.sh within, and with the version.
set -e
sed -E -e '/^# shellcheck source/d' -e "/^\. /{r $2" -e 'd}' "$1" |
  sed -E -e 's/(pipelines\/)?(effect|restore)\.sh/cf-\2/g' \
    -e "s/^cf_version .*/cf_version () { echo \"\$(basename \"\$0\") (gst-cuda-filters) $4\"; }/" > "$3"
chmod 755 "$3"
