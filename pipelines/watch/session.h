/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * session.h: one stretch of recording: encoded frames without a gap, in one or more files (pieces). It has a pipeline
 * of its own, appsrc ! splitmuxsink, so that a disk that is full, slow or gone does not disturb the
 * camera. */
#ifndef PIPELINES_WATCH_SESSION_H
#define PIPELINES_WATCH_SESSION_H

#include "config.h"
#include "keep.h"

typedef struct Session Session;

typedef struct {
  const char *file;
  gint64 start, last; /* µs since 1970, of the first and of the last frame */
  double duration;    /* s; below 0: it was begun, and what follows is not known */
  gint64 bytes;
  guint64 frames;
} SessionPiece;

/* Called in the main thread. */
typedef struct {
  /* Frames are taken from now on. */
  void (*opened) (Session *session, gpointer data);
  /* A file was begun or finished. Of one that is finished, the keep is told by who is called. */
  void (*piece) (Session *session, const SessionPiece *piece, gpointer data);
  /* It is over; `error` NULL: all of it is written. The session may not be used any more: it frees itself. */
  void (*ended) (Session *session, const char *error, gpointer data);
} SessionCalls;

/* Begins to open a session for frames of such caps, and for sound, unless its caps are NULL. */
Session *session_new (const CameraSettings *settings, Keep *keep, GstCaps *caps, GstCaps *sound,
    const SessionCalls *calls, gpointer data);
/* Returns whether files of this format can have such sound. */
gboolean session_takes_sound (guint format, GstCaps *sound);
/* Takes a packet of sound, as session_push () does. One that does not fit is left out. */
void session_push_sound (Session *session, GstBuffer *buffer);
/* Takes an encoded frame; the first one has to be a key frame. Returns FALSE if too many wait for the disk. Any
 * thread, one at a time; not before `opened`, not after session_end (). */
gboolean session_push (Session *session, GstBuffer *buffer, gint64 wall);
/* Begins to finish the files. `ended` comes within 10 s. */
void session_end (Session *session);

#endif
