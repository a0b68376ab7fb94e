/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * client.h: connections that commands come from: standard input, and those of the socket. Lines in, lines out; nothing
 * here waits for the other side. Main thread. */
#ifndef PIPELINES_WATCH_CLIENT_H
#define PIPELINES_WATCH_CLIENT_H

#include "watch.h"

/* Reads standard input, and answers on standard output between the events. */
void client_read_input (Watch *watch);
/* Listens on the socket, whose folder has to be the user's own. Sets watch->socket. Returns FALSE with what is
 * wrong. */
gboolean client_listen (Watch *watch, const char *path, GString *wrong);
/* Closes the socket and removes it. */
void client_stop_listening (void);

#endif
