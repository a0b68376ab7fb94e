/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * common.h: what the programs share that play streams on the stand-in GPU. */
#ifndef FAULTS_COMMON_H
#define FAULTS_COMMON_H

#include <gst/gst.h>

/* GStreamer with no plugin but what is registered by hand; a critical warning ends the process. */
void faults_start (void);
/* Time from 0 on. */
void faults_push_segment (GstPad *src);
/* CUDA memory that comes with this stream. */
GstBufferPool *fake_pool_new (GstObject *context, gpointer stream);
/* Takes the bus empty; adds to both. */
void faults_count_messages (GstBus *bus, int *errors, int *warnings);

#endif
