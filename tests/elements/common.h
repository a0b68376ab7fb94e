/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * common.h: what the element tests share. They know the elements by their
 * names and properties only: nothing of gst/ or cuda/ is included, and the
 * plugin is found by GST_PLUGIN_PATH.
 *
 * CF_TEST_BACKEND=cuda runs the same tests on the GPU: backend=cuda
 * on-gpu-error=error, and every frame must have been made there. Where there is
 * no GPU they skip themselves (77), unless CF_TEST_REQUIRE_GPU is set.  */
#ifndef COMMON_H
#define COMMON_H

#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>

#define CUDA_FEATURE "memory:CUDAMemory"

gboolean on_gpu (void);

/* An element with the backend under test and the properties given as pairs of
 * strings, NULL at the end; its messages go to a bus of its own. */
GstElement *new_element_of (const gchar *factory, const gchar *first, ...);
#define new_element(...) new_element_of ("cudamedian", __VA_ARGS__)
#define new_convolve(...) new_element_of ("cudaconvolve", __VA_ARGS__)
#define new_irfilter(...) new_element_of ("cudairfilter", __VA_ARGS__)
#define new_segment(...) new_element_of ("cudasegment", __VA_ARGS__)
/* A playing harness around it. */
GstHarness *new_harness (GstElement *element);
/* Asserts that every frame that was filtered ran on the backend under test,
 * `frames` in all (-1: any number), and takes the harness down. */
void end_harness (GstHarness *h, gint frames);

guint64 stat_of (GstElement *element, const gchar *name);
/* Fails unless the property has that value: a string's own, the nick of an enum,
 * "se+sw" of flags. */
void expect_value (GstElement *element, const gchar *name, const gchar *right);
/* Fails unless the property says in its flags that it may be changed while
 * playing (and, but for strings and flags, be controlled), and what it is for. */
void expect_live (GstElement *element, const gchar *name);
/* Texts go as they are, all else as it is typed in a pipeline. */
void set_value (GstElement *element, const gchar *name, const gchar *value);
/* Counts a signal: for notify::name. */
void count_notify (GObject *object, GParamSpec *spec, gpointer count);
/* A file with that text; the caller removes it and frees the path. */
gchar *temporary_file (const gchar *text);
/* Frees a value; where it is the path of a temporary file, removes that, too. */
void end_value (gchar *value, gboolean is_file);
/* Fails unless this error text names the property and says `where`, in a few lines. */
void expect_says (const gchar *text, const gchar *name, const gchar *where);
/* `text` n times; to be freed. */
gchar *repeated (const gchar *text, gsize n);
/* The next message of that type on the element's bus, NULL if there is none. */
GstMessage *pop_message (GstElement *element, GstMessageType type);
/* Exactly one such message is there; returns its GError's text. */
gchar *only_message (GstElement *element, GstMessageType type, GQuark domain, gint code);

/* Raw video caps; "NV12", 64, 48. */
GstCaps *video_caps (const gchar *format, gint width, gint height, const gchar *more);
void set_caps (GstHarness *h, GstCaps *caps, GstVideoInfo *info); /* takes the caps */

/* A frame of random samples in the default layout. `kind` 0: any, 1: few
 * values, 2: gradient. */
GstBuffer *random_frame (const GstVideoInfo *info, guint seed, gint kind);

/* Sample (x, y) of component `c`: where its word is stored, and its value. */
guint8 *word_at (const GstVideoFrame *f, gint c, gint x, gint y);
guint value_of (const GstVideoFrame *f, gint c, gint x, gint y);

/* What the filter should do, written from the documentation. */
typedef struct {
  gint width, height; /* window */
  gint depth;
  gint percentile, threshold;
  gboolean packed, interlaced;
  gboolean luma, chroma; /* apply-to */
} Expect;

#define EXPECT(side) { (side), (side), 1, 50, 0, FALSE, FALSE, TRUE, TRUE }

/* Fails the test unless `out` is the filtered `in[0]`; in[1], in[2].. are the
 * frames before it, n of all. */
void assert_filtered (const GstVideoInfo *info, GstBuffer *out, GstBuffer *const *in, gint n, const Expect *expect);
/* A frame of `format` in the default layout with these samples, 8 bit ones, in
 * the order in which the layout has them: all rows of plane 0, then of plane 1.
 * Rows of every plane have to be a multiple of 4 bytes. */
GstBuffer *frame_of (const GstVideoInfo *info, const guint8 *samples);
/* Fails unless the frame has these samples. */
void assert_samples (const GstVideoInfo *info, GstBuffer *frame, const guint8 *samples, const gchar *what);
/* Pushes a frame with the samples `in`; fails unless `right` come out. */
void expect_samples (GstHarness *h, const GstVideoInfo *info, const guint8 *in, const guint8 *right, const gchar *what);
/* Pushes a frame; does the very buffer come out? Fails unless its samples do as
 * they are where it does. */
gboolean passes (GstHarness *h, const GstVideoInfo *info, guint seed);
/* Fails unless both frames show the same samples. */
void assert_same (const GstVideoInfo *info, GstBuffer *a, GstBuffer *b);

/* Runs the suite, ends with `N passed, N failed, N skipped`. `gpu_only`: there
 * is nothing in it for the CPU. */
int run_suite (int argc, char **argv, const gchar *name, TCase *tests, gboolean gpu_only);

#endif
