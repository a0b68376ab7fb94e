/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * check.h: what --check looks at beyond the file itself. */
#ifndef PIPELINES_WATCH_CHECK_H
#define PIPELINES_WATCH_CHECK_H

#include "config.h"

/* A ConfigCheck: looks at secrets, filter lines, each of them once, files and folders, the elements for recording, and
 * whether each camera has a pipeline. Devices and addresses are left alone: they may be away just now. `notes`, a
 * GString, receives what is no fault but can hardly be meant. */
void check_config (Reader *reader, JsonObject *top, const Config *config, gpointer notes);

#endif
