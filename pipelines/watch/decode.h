/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * decode.h: pictures of a camera whose own packets pass: a decoder that the hub feeds, while somebody wants pictures.
 * Main thread. */
#ifndef PIPELINES_WATCH_DECODE_H
#define PIPELINES_WATCH_DECODE_H

#include "hub.h"

typedef struct Decoder Decoder;

Decoder *decoder_new (Hub *hub);
void decoder_free (Decoder *decoder);
/* Returns an element behind whose source pad the pictures come, from the newest one on. It belongs to the decoder,
 * which goes when nobody has asked for some seconds. */
GstElement *decoder_pictures (Decoder *decoder);
/* Ends it, because the camera's pipeline is being stopped. */
void decoder_stop (Decoder *decoder);

#endif
