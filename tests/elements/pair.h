/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * pair.h: two pipelines with the same filters, "e0", "e1" and so on, on the GPU and on the CPU. */
#ifndef PAIR_H
#define PAIR_H

#include "gate.h"
#include "regions.h"

#define GPU "video/x-raw(" CUDA_FEATURE ")"
#define ON_GPU " backend=cuda on-gpu-error=error "
#define DOWNLOAD GPU " ! cudadownload name=d ! "
#define TO_HOST "capsfilter caps=video/x-raw"

typedef struct {
  GstHarness *gpu, *cpu;
  GstVideoInfo info;
  guint unfinished; /* frames that left element e0 on the GPU with input that is still held */
  guint frames;
  Found *found[2]; /* in the map and in the metas of the frame that left e0 last, if it has them */
} Pair;

/* Sets the caps of both. */
void set_both_caps (Pair *pair, const gchar *format, gint width, gint height);
/* Opens both pipelines. `head` and `tail`: the elements around the filters on the GPU. */
void open_pair_around (Pair *pair, const gchar *head, const gchar *const *filters, guint n, const gchar *between,
    const gchar *tail, const gchar *format, gint width, gint height);
void open_pair (Pair *pair, const gchar *head, const gchar *const *filters, guint n, const gchar *between);
void close_pair (Pair *pair);
/* Pulls n frames of both, and fails unless they are the same. */
void expect_same (Pair *pair, guint n, const gchar *what);
void push_frame (Pair *pair, GstBuffer *in);
/* Pushes n random frames into both. */
void push (Pair *pair, guint n);
void set_one (GstHarness *h, const gchar *name, const gchar *property, const gchar *value);
void set_both (Pair *pair, const gchar *name, const gchar *property, const gchar *value);
/* Fails unless the first n filters have done so many frames on the GPU, and no others. */
void expect_on_gpu (Pair *pair, guint n, guint64 frames);

#endif
