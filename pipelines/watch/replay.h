/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * replay.h: compares a piece's frames with what its filter makes of the original. */
#ifndef PIPELINES_WATCH_REPLAY_H
#define PIPELINES_WATCH_REPLAY_H

#include <json-glib/json-glib.h>

/* Filters the files, one behind the other, as the record says, and compares each frame with the list of hashes. The
 * record and the list were signed. Returns FALSE with what is wrong. `left_out`: frames of the original between two of
 * the piece that the piece lacks. */
gboolean replay (JsonObject *record, const char *hashes, char **originals, guint64 *left_out, GString *wrong);

#endif
