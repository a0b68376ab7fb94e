/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * common.h: shared by the element tests. The tests know the elements by their names and properties
 * only: they include nothing of gst/ and, of cuda/, only the list of filters, and find the plugin by GST_PLUGIN_PATH.
 *
 * CF_TEST_BACKEND=cuda runs the same tests on the GPU: backend=cuda on-gpu-error=error, and every
 * frame must have been filtered there. Without a GPU the tests are skipped (77), unless
 * CF_TEST_REQUIRE_GPU is set. */
#ifndef COMMON_H
#define COMMON_H

#include "cf.h"

#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>

/* For CF_FILTERS: the names of all elements. */
#define ELEMENT(stem) "cuda" #stem,

#define CUDA_FEATURE "memory:CUDAMemory"

gboolean on_gpu (void);

/* Returns an element with the backend under test and with properties given as pairs of strings,
 * NULL at the end. The element posts its messages to its own bus. */
GstElement *new_element_of (const gchar *factory, const gchar *first, ...);
#define new_element(...) new_element_of ("cudamedian", __VA_ARGS__)
#define new_convolve(...) new_element_of ("cudaconvolve", __VA_ARGS__)
#define new_irfilter(...) new_element_of ("cudairfilter", __VA_ARGS__)
#define new_segment(...) new_element_of ("cudasegment", __VA_ARGS__)
/* Returns a playing harness around the element and takes the element's reference. */
GstHarness *new_harness (GstElement *element);
/* The same, with caps of that format and size. */
GstHarness *new_stream (GstElement *element, const gchar *format, gint width, gint height, GstVideoInfo *info);
/* Returns a harness of a line as gst-launch-1.0 has it, with one open pad at each end. */
GstHarness *parse_harness (const gchar *line);
/* Frees the harness and the messages of its element, which hold a reference to it: a CUDA context lasts until then.
 * Fails unless nothing else holds the element. */
void free_harness (GstHarness *h);
/* Fails unless every filtered frame was filtered by the backend under test, `frames` in all (-1:
 * any number), and frees the harness. */
void close_harness (GstHarness *h, gint frames);
/* Pushes a frame and returns the one that comes out; fails if there is none. */
GstBuffer *push_pull (GstHarness *h, GstBuffer *in);
/* Pushes the events of a flushing seek to 0. `pusher`: a thread that the flush ends, or NULL. */
void flush_harness (GstHarness *h, GThread *pusher);
/* Returns an element of the harness' pipeline, without a reference. */
GstElement *child_of (GstHarness *h, const gchar *name);
void add_probe (GstElement *element, const gchar *pad, GstPadProbeCallback callback, gpointer data); /* of buffers */

guint64 stat_of (GstElement *element, const gchar *name);
/* Fails unless the property has that value: the text of a string, the nick of an enum, "se+sw" for
 * flags. */
void expect_value (GstElement *element, const gchar *name, const gchar *right);
/* Sets a property: a string as it is, any other type as typed in a pipeline. */
void set_value (GstElement *element, const gchar *name, const gchar *value);
/* Increments *(gint *) count: a handler for notify::NAME. */
void count_notify (GObject *object, GParamSpec *spec, gpointer count);
/* Writes a file with that text and returns its path; the caller removes the file and frees the
 * path. */
gchar *temporary_file (const gchar *text);
/* Frees a value; if it is the path of a temporary file, removes the file, too. */
void free_value (gchar *value, gboolean is_file);
/* Fails unless this error text names the property, contains `where`, and is short. */
void expect_message (const gchar *text, const gchar *name, const gchar *where);
/* Calls a function in a locale whose decimal sign is a comma, where localedef can make one. */
void in_comma_locale (void (*function) (void));
/* Returns `text` repeated n times; the caller frees it. */
gchar *repeated (const gchar *text, gsize n);
/* Returns the next message of that type on the element's bus; NULL if there is none. */
GstMessage *pop_message (GstElement *element, GstMessageType type);
/* Fails if there is a warning or an error. */
void expect_no_messages (GstElement *element);
/* Fails unless exactly one such message is on the bus; returns the text of its GError, which the
 * caller frees. */
gchar *only_message (GstElement *element, GstMessageType type, GQuark domain, gint code);

/* Returns the formats of the element's pad templates, `n` of them; the caller frees the list. */
gchar **formats_of (const gchar *factory, gboolean cuda, guint n);
/* Returns raw video caps such as "NV12", 64, 48; `more` is appended. */
GstCaps *video_caps (const gchar *format, gint width, gint height, const gchar *more);
void set_caps (GstHarness *h, GstCaps *caps, GstVideoInfo *info); /* takes the caps */

/* Returns a frame of random samples in the default layout. `kind` 0: any values, 1: two values, 2:
 * gradient. */
GstBuffer *random_frame (const GstVideoInfo *info, guint seed, gint kind);

/* Return the address of the word of sample (x, y) of component `c`, and the sample's value. */
guint8 *word_at (const GstVideoFrame *f, gint c, gint x, gint y);
/* Writes a sample, whatever its word. */
void put_value (const GstVideoFrame *f, gint c, gint x, gint y, guint value);
guint value_of (const GstVideoFrame *f, gint c, gint x, gint y);

/* The parameters of the expected result, which follows the documentation. */
typedef struct {
  gint width, height; /* window */
  gint depth;
  gint percentile, threshold;
  gboolean packed, interlaced;
  gboolean luma, chroma; /* apply-to */
} Expect;

#define EXPECT(side) { (side), (side), 1, 50, 0, FALSE, FALSE, TRUE, TRUE }

/* Fails unless `out` is the filtered `in[0]`; in[1], in[2].. are the frames before it, n frames in
 * all. */
void assert_filtered (const GstVideoInfo *info, GstBuffer *out, GstBuffer *const *in, gint n, const Expect *expect);
/* Pushes a frame; fails unless it is filtered, with none before it. */
void expect_filtered (GstHarness *h, const GstVideoInfo *info, GstBuffer *in, const Expect *expect);
/* Returns a frame with these 8 bit samples, given in the order of the default layout: all rows of
 * plane 0, then of plane 1. Rows of every plane must be a multiple of 4 bytes. */
GstBuffer *frame_of (const GstVideoInfo *info, const guint8 *samples);
/* Fails unless the frame has these samples. */
void assert_samples (const GstVideoInfo *info, GstBuffer *frame, const guint8 *samples, const gchar *what);
/* Pushes a frame with the samples `in`; fails unless the output has the samples `right`. */
void expect_samples (GstHarness *h, const GstVideoInfo *info, const guint8 *in, const guint8 *right, const gchar *what);
/* Fails unless both frames have the same samples. */
void assert_same (const GstVideoInfo *info, GstBuffer *a, GstBuffer *b);

/* Push a frame, which is taken, and pull one; fail unless that works. */
void push_ok (GstHarness *h, GstBuffer *buffer);
GstBuffer *pull (GstHarness *h);

/* Runs the suite and prints `N passed, N failed, N skipped`. `gpu_only`: skips the suite on the
 * CPU. */
int run_suite (int argc, char **argv, const gchar *name, TCase *tests, gboolean gpu_only);
int run_cases (int argc, char **argv, const gchar *name, TCase **tests, gint n, gboolean gpu_only);

#endif
