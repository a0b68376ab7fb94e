/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * elements.h: elements that this GStreamer lacks, and the packages that have them. */
#ifndef PIPELINES_WATCH_ELEMENTS_H
#define PIPELINES_WATCH_ELEMENTS_H

#include <glib.h>

/* Adds that this GStreamer has no such element, and in which package it is. */
void element_missing (const char *name, GString *wrong);
/* Adds what a recording lacks here, into MP4 or Matroska; nothing where all is there. */
void elements_for_recording (gboolean mp4, GString *wrong);

#endif
