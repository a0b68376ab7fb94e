/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * common.h: shared by the programs that use the stand-in GPU. */
#ifndef FAULTS_COMMON_H
#define FAULTS_COMMON_H

#include <gst/gst.h>

/* Starts the stand-in GPU, and GStreamer with no plugin but what is registered by hand; a critical warning ends the process. */
void faults_start (void);
/* Counts a check. TRUE: it failed, and is among the first, which are reported. */
gboolean faults_count (gboolean good);
/* Counts a check, and reports `what` is wrong where it failed. */
void faults_check (gboolean good, const gchar *what);
/* The closing line; what main returns. */
int faults_end (void);
/* Time from 0 on. */
void faults_push_segment (GstPad *src);
/* CUDA memory that comes with this stream. */
GstBufferPool *fake_pool_new (GstObject *context, gpointer stream);
/* Takes the bus empty; adds to both. */
void faults_count_messages (GstBus *bus, int *errors, int *warnings);

#endif
