/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * chain.h: the records of a camera's pieces on the disk. docs/watch.md, "Records of pieces", has the format:
 *
 *   FILE.json        the record of the piece FILE, which names the SHA-256 of the record before it
 *   FILE.json.sig    the signature of FILE.json
 *   FILE.hashes      of its frames, where they are wanted; the record has the SHA-256 of this file
 *   CAMERA.chain     a line of JSON, which record is the newest and which were pruned, and a line with its signature
 *
 * All functions may be called in any thread, and wait for the disk. */
#ifndef PIPELINES_WATCH_CHAIN_H
#define PIPELINES_WATCH_CHAIN_H

#include "sign.h"

#include <json-glib/json-glib.h>

#define CHAIN_FORMAT 1

/* Records that retention has deleted. */
typedef struct {
  guint64 from, to;      /* their numbers */
  char *previous, *last; /* the SHA-256 of the record before them (NULL: there was none), and of the last of them */
} ChainGap;

typedef struct {
  char *id;       /* of the chain, a random one */
  guint64 number; /* of the newest record, 0: there is none */
  char *last;     /* its SHA-256, NULL: there is none */
  char *file;     /* the name of its piece */
  GArray *pruned; /* of ChainGap, in the order of their numbers */
} ChainState;

#define CHAIN_MAX (4 << 20) /* bytes of a record or a chain */

/* Returns the bytes of a file (free them), or NULL: there is no such file, or it is larger than `max`. */
char *chain_read (const char *path, gint64 max, gsize *length);
/* Returns what CAMERA.chain says, or NULL: it is no such text. */
ChainState *chain_parse (const char *text);
void chain_state_free (ChainState *state);
/* Returns how many bytes of CAMERA.chain are signed, and their signature; 0: there is no signature. */
gsize chain_signature (const char *text, gsize length, guchar signature[SIGNATURE_BYTES]);
/* Returns a member, or NULL and -1: there is none, or no object, or it is of another type. */
const char *chain_text (JsonObject *object, const char *member);
gint64 chain_number (JsonObject *object, const char *member);
/* Returns an element of the array, or NULL: it is no object. */
JsonObject *chain_object (JsonArray *array, guint i);

typedef struct {
  const char *camera;
  const char *sign; /* the file with the private key, NULL: nothing is signed */
  gboolean hashes;  /* there is a list of the frames' hashes beside the piece (hashes.h) */
} ChainOwner;

/* Completes the record of a finished piece, and writes it. Returns its SHA-256 (free it), or NULL with why it is not
 * written. If it is written, `wrong` has what is missing all the same, such as the signature. */
char *chain_add (const ChainOwner *owner, const char *piece, JsonObject *record, GString *wrong);
/* Notes that retention deletes a piece; call it before. */
void chain_prune (const ChainOwner *owner, const char *piece);
/* Deletes the record of a piece that retention has deleted. */
void chain_delete (const ChainOwner *owner, const char *piece);

#endif
