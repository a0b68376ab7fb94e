/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cuda-fake.c: GStreamer's CUDA library as the fake GPU needs it: contexts that
 * are nothing but objects, and no CUDA memory. */
#include "gstcfcuda.h"
#include "fake.h"

G_DECLARE_FINAL_TYPE (FakeContext, fake_context, FAKE, CONTEXT, GstObject)

struct _FakeContext {
  GstObject parent;
};

G_DEFINE_TYPE (FakeContext, fake_context, GST_TYPE_OBJECT)

static void
fake_context_finalize (GObject *object)
{
  fake.contexts--;
  G_OBJECT_CLASS (fake_context_parent_class)->finalize (object);
}

static void
fake_context_class_init (FakeContextClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = fake_context_finalize;
}

static void
fake_context_init (FakeContext *self)
{
  (void) self;
  fake.contexts++;
}

gboolean
gst_cf_cuda_available (gchar **why)
{
  CfStatus status = { 0 };

  if (!cf_gpu_lost () && cf_gpu_count (&status) > 0)
    return TRUE;
  if (why)
    *why = g_strdup (status.message);
  return FALSE;
}

gboolean
gst_cf_cuda_has_format (GstVideoFormat format)
{
  (void) format;
  return FALSE;
}

gboolean
gst_cf_cuda_ensure_context (GstElement *element, gint device, GstObject **context)
{
  (void) element;
  (void) device;
  if (!*context)
    *context = gst_object_ref_sink (g_object_new (fake_context_get_type (), NULL));
  return TRUE;
}

void
gst_cf_cuda_set_context (GstElement *element, GstContext *message, gint device, GstObject **context)
{
  (void) element;
  (void) message;
  (void) device;
  (void) context;
}

gboolean
gst_cf_cuda_context_query (GstElement *element, GstQuery *query, GstObject *context)
{
  (void) element;
  (void) query;
  (void) context;
  return FALSE;
}

gint
gst_cf_cuda_device (GstObject *context)
{
  (void) context;
  return 0;
}

gboolean
gst_cf_cuda_push (GstObject *context)
{
  if (!context || (!fake_is_lost () && fake_call (FAKE_PUSH, NULL) != CF_OK))
    return FALSE;
  fake_current (1);
  return TRUE;
}

void
gst_cf_cuda_pop (void)
{
  fake_current (-1);
}

gpointer
gst_cf_cuda_stream_new (void)
{
  return NULL;
}

void
gst_cf_cuda_stream_free (gpointer stream)
{
  (void) stream;
}

GstObject *
gst_cf_cuda_buffer_context (GstBuffer *buffer)
{
  (void) buffer;
  return NULL;
}

void
gst_cf_cuda_sync (GstBuffer *buffer)
{
  (void) buffer;
}

GstBufferPool *
gst_cf_cuda_pool_new (GstObject *context)
{
  (void) context;
  return NULL;
}

gboolean
gst_cf_cuda_pool_is_on (GstBufferPool *pool, GstObject *context)
{
  (void) pool;
  (void) context;
  return FALSE;
}
