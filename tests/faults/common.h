/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * common.h: what the programs share that use the stand-in GPU. */
#ifndef FAULTS_COMMON_H
#define FAULTS_COMMON_H

#include <gst/gst.h>

/* GStreamer with no plugin but what is registered by hand; a critical warning ends the process. */
void faults_start (void);
/* Counts a check. TRUE: it failed, and is among the first ones, which are told of. */
gboolean faults_count (gboolean good);
/* Counts it, and tells `what` is wrong. */
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
