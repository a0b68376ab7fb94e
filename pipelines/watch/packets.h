/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * packets.h: what of a camera is passed on as it comes: its own packets instead of pictures, and its sound. Streaming
 * threads call all functions but packets_new () and packets_free (). */
#ifndef PIPELINES_WATCH_PACKETS_H
#define PIPELINES_WATCH_PACKETS_H

#include "codec.h"
#include "config.h"

typedef struct Packets Packets;

typedef struct {
  /* Takes a packet: a buffer with PTS and DTS, its caps, and its time of day in µs. */
  void (*take) (GstBuffer *buffer, GstCaps *caps, gint64 wall, gpointer data);
  /* The packets cannot pass: they do not say when they are shown. */
  void (*refuse) (gpointer data);
} PacketsCalls;

Packets *packets_new (GstElement *pipeline, CameraSettings *settings, const PacketsCalls *calls, gpointer data);
void packets_free (Packets *packets);
/* Adds the branch for packets of this codec behind the tee, and has them given. */
void packets_begin (Packets *packets, GstElement *tee, const Codec *codec);
/* Returns their codec; NULL: pictures come, or nothing yet. Any thread. */
const Codec *packets_codec (Packets *packets);

/* A SourceSound: has the sound given, a buffer with the flag HUB_SOUND each. */
void packets_take_sound (GstPad *pad, GstCaps *caps, gpointer packets);
/* Lets the sound go, because a picture was given, be it a packet or not. */
void packets_let_sound (Packets *packets);

/* Returns how long a frame of this running time has been under way, in µs. */
gint64 age_of (GstElement *pipeline, GstClockTime running);
/* Returns the time of day of a frame that has been under way so long. */
gint64 wall_time (gint64 age);

#endif
