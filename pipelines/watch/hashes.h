/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * hashes.h: the SHA-256 of each frame as it leaves the filter, on its way to the file beside the piece. cf-watch writes
 * what cf-verify makes again of the original. */
#ifndef PIPELINES_WATCH_HASHES_H
#define PIPELINES_WATCH_HASHES_H

#include <gst/video/video.h>
#include <stdio.h>

/* Behind the name of a piece. The file has a line with the caps of the frames before the filter, again where they
 * change, and one for each frame of the piece: µs since 1970, a space, and the SHA-256 in small hexadecimal digits, or
 * "-" where it is not known. */
#define HASHES_END ".hashes"

/* Returns the SHA-256 of the frame's samples: plane after plane, row after row, without what stands between rows. Free
 * it. NULL: they cannot be read. */
char *hash_frame (GstBuffer *buffer, const GstVideoInfo *info);

/* The frames that are with the encoder. */
typedef struct Hashes Hashes;

Hashes *hashes_new (void);
void hashes_free (Hashes *hashes);
/* Hashes a frame that leaves the filter by the pad; `input`: the pad by which it has come in. */
void hashes_add (Hashes *hashes, GstPad *output, GstPad *input, GstBuffer *frame);
/* Marks the packet that the frame of this running time has become. Copies of it have the mark, too. Any thread. */
void hashes_mark (Hashes *hashes, GstClockTime running, GstBuffer *packet);
/* Writes the packet's line; `wall`: its time, µs since 1970; `caps`: the last ones written, NULL: none. The
 * file is opened (NULL: it is not yet) for the first packet with a mark. */
void hashes_write (FILE **file, const char *path, char **caps, GstBuffer *packet, gint64 wall);

#endif
