/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * client.h: where commands come from: standard input, and the connections of the socket. Lines in, lines out; nothing
 * here waits for the other side. Main thread. */
#ifndef PIPELINES_WATCH_CLIENT_H
#define PIPELINES_WATCH_CLIENT_H

#include "watch.h"

/* Listens on the socket of `control`, whose folder has to be the user's own, and sets watch->socket. Reads standard
 * input, unless `control` says no; its answers come between the events. Returns FALSE with what is wrong. */
gboolean clients_start (Watch *watch, const Config *config, GString *wrong);
/* Closes the socket and removes it. */
void clients_stop (void);

#endif
