/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * ws.h: what the page is shown live, by one WebSocket a page: pictures of cameras, events, and changes of their states.
 * Main thread. */
#ifndef PIPELINES_WATCH_WS_H
#define PIPELINES_WATCH_WS_H

#include "watch.h"

#ifdef HAVE_SOUP
#include <libsoup/soup.h>

/* Makes the connection of a request, which was allowed, a WebSocket. Returns FALSE with what is wrong, and its status
 * of HTTP. */
gboolean ws_open (Watch *watch, SoupServerMessage *message, guint *status, GString *wrong);
/* Shows everybody an event; what was commanded, and who failed to log in, and so addresses, only those who may command
 * all. */
void ws_show_event (const char *line, const char *type);
void ws_stop (void);
#else
#define ws_show_event(line, type) ((void) 0)
#define ws_stop() ((void) 0)
#endif

#endif
