/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * proof.h: what can be said of a camera's hiding afterwards: how many frames left unmasked, which settings were in
 * force, and a record of both beside each piece. docs/watch.md, "Records of pieces", says what the count means. It
 * outlives the camera's pipelines. Main thread. */
#ifndef PIPELINES_WATCH_PROOF_H
#define PIPELINES_WATCH_PROOF_H

#include "config.h"
#include "pipeline.h"
#include "session.h"

typedef struct Proof Proof;

Proof *proof_new (void);
Proof *proof_ref (Proof *proof);
void proof_unref (Proof *proof);

/* A pipeline is there whose filter has these elements, with the values of the line. */
void proof_attach (Proof *proof, Pipeline *pipeline, GList *elements);
/* Its elements have all their values, and no frame has come yet. It was made of these settings. */
void proof_begin (Proof *proof, GList *elements, CameraSettings *settings);
/* No frame comes from this pipeline any more. */
void proof_detach (Proof *proof, Pipeline *pipeline);
/* Counts, and returns FALSE if nothing hides, nor has. Call it before a value changes. */
gboolean proof_count (Proof *proof, guint64 *unmasked);
/* Counts, and notes values that no command has changed. Call it every few seconds where it is recorded. */
void proof_look (Proof *proof, GList *elements);
/* Notes that a value was set on these elements; `by`: who has. */
void proof_note (Proof *proof, GList *elements, const char *target, const char *value, const char *by);
/* Notes that the next pipeline is to be as this filter line says. */
void proof_note_line (Proof *proof, const char *line, const char *by);

/* A piece was begun. */
void proof_piece_begun (Proof *proof, const SessionPiece *piece);
/* It is finished: writes its record in another thread, in the order of the calls, and posts the events. Then calls
 * `done`. */
void proof_piece_finished (Proof *proof, CameraSettings *settings, const SessionPiece *piece,
    void (*done) (const char *file, gpointer data), gpointer data);
/* Returns whether records are being written. */
gboolean proof_is_busy (Proof *proof);

#endif
