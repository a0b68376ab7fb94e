/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * page.h: the page that shows the cameras in a browser, and the commands by HTTP. Main thread. */
#ifndef PIPELINES_WATCH_PAGE_H
#define PIPELINES_WATCH_PAGE_H

#include "watch.h"

#ifdef HAVE_SOUP
/* Serves the page. Sets watch->page_port. Returns FALSE with what is wrong. */
gboolean page_start (Watch *watch, const Config *config, GString *wrong);
/* Reads the files of users and of TLS again; if `take`, they count. Returns FALSE with what is wrong; all stays as it
 * was then. */
gboolean page_reload (gboolean take, GString *wrong);
void page_stop (void);
#else /* config.c refuses the setting */
#define page_start(watch, config, wrong) FALSE
#define page_reload(take, wrong) TRUE
#define page_stop() ((void) 0)
#endif
/* Returns the address that opens the page on this machine, with the token, or NULL with what is wrong. Free it. */
char *page_link (const Config *config, GString *wrong);

#endif
