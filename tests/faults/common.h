/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * common.h: functions for all programs that use the fake GPU. */
#ifndef FAULTS_COMMON_H
#define FAULTS_COMMON_H

#include <gst/gst.h>

/* Initialises GStreamer without any plugin; the elements are linked to the program. A
 * critical warning ends the process. */
void faults_start (void);
/* Keeps the CPU's filters in the threads that call them; the elements' threads still run on all processors. For
 * programs whose frames are so small that waking a worker takes longer than the frame; `same` and `hangs` have the
 * workers. To be called before anything is filtered. */
void faults_without_workers (void);
/* Returns whether the arguments are `--one-in N`, with which faults_is_ours is true for every Nth case only. */
gboolean faults_take_share (int argc, char **argv);
gboolean faults_is_ours (void);
/* Counts a check. Returns TRUE for a failure, which the caller prints and then ends with faults_stop. */
gboolean faults_count (gboolean good);
/* Ends the program, after the first failure: the runs after it would say the same again. */
void faults_stop (void) G_GNUC_NORETURN;
/* Counts a check; prints `what` and ends the program if it failed. */
void faults_check (gboolean good, const gchar *what);
/* Prints the counts. Returns the exit status for main. */
int faults_end (void);
/* Pushes a TIME segment that starts at 0. */
void faults_push_segment (GstPad *src);
/* Returns the pool that the element behind `src` proposes, active, as a source uses it; NULL without one. */
GstBufferPool *faults_proposed_pool (GstPad *src, GstCaps *caps);
/* Returns a pad that takes any caps. The caller unrefs it. */
GstPad *faults_pad (const gchar *name, GstPadDirection direction);
/* Makes the pads of an element's neighbours, links them to it and activates them. `take` gets the frames that come out;
 * its pad has `user` as its private data. The caller unrefs both pads. */
void faults_link (GstElement *element, GstPad **src, GstPad **sink, GstPadChainFunction take, gpointer user);
/* Returns a new fake CUDA context on the GPU of that number. */
GstObject *fake_context_new (gint number);
/* Returns a pool of fake CUDA memory with that stream (NULL: without). */
GstBufferPool *fake_pool_new (GstObject *context, gpointer stream);
/* Removes all messages from the bus and adds the numbers of errors and of warnings. */
void faults_count_messages (GstBus *bus, int *errors, int *warnings);

#endif
