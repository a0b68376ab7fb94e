/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * codec.h: the kinds of video that are recorded and shown, and their encoders. */
#ifndef PIPELINES_WATCH_CODEC_H
#define PIPELINES_WATCH_CODEC_H

#include <gst/gst.h>

typedef struct {
  const char *title; /* for people */
  const char *kind;  /* of its caps */
  const char *form;  /* of its packets, as files have them: more of the caps */
  const char *parser, *payloader;
  const char *install; /* encoders that do without a GPU, and their packages */
  /* Can decoding begin with this packet, of units with a length of four bytes? NULL: a camera's own are not taken. */
  gboolean (*is_entry) (const guint8 *data, gsize size);
} Codec;

/* In the order of the setting `codec`. */
#define N_CODECS 3
extern const Codec codecs[N_CODECS];

/* Returns the codec of the caps, NULL: it is none of these. */
const Codec *codec_of (GstCaps *caps);
/* Sound is passed on as it comes. */
typedef struct {
  const char *kind;              /* of its caps */
  const char *form;              /* elements that bring it into the form which files have */
  const char *payloader, *title; /* title: for people */
} Sound;

/* Returns the kind of sound, NULL: it is none that is passed on. */
const Sound *sound_of (GstCaps *caps);

/* Returns an encoder, NULL: there is none. `quality`: 1 (best) to 51. `gpu`: one of a GPU may be taken, which `on_gpu`
 * says. */
GstElement *codec_make_encoder (const Codec *codec, guint quality, gboolean gpu, gboolean *on_gpu);
/* Returns whether there is any. */
gboolean codec_has_encoder (const Codec *codec);

/* Tells the encoder a usual rate where the frames' rate is unknown. What leaves the parser behind it names no rate. */
void codec_name_rate (GstElement *encoder, GstElement *parser);

#endif
