/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * certificate.h: what a server shows its clients for TLS. */
#ifndef PIPELINES_WATCH_CERTIFICATE_H
#define PIPELINES_WATCH_CERTIFICATE_H

#include <gio/gio.h>

/* Returns the certificate of two PEM files with its key; NULL with what is wrong, also where the key is another
 * certificate's. */
GTlsCertificate *certificate_load (const char *path, const char *key, GString *wrong);

#endif
