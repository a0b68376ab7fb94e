/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * tsan_glib.c: adds the order that GLib's and GStreamer's functions make to what the thread sanitizer sees. These
 * libraries are not built with it, and GLib's locks are futexes, which it does not know. tests/tsan.sh links it into
 * every program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <glib-object.h>
#include <gst/gst.h>

#undef g_once_init_enter
#undef g_once_init_leave
#undef g_object_unref

void __tsan_acquire (void *at);
void __tsan_release (void *at);

/* Finds the library's function once; no lock can be used for that here. */
#define REAL(name) \
  static __typeof__ (&name) real; \
  if (!__atomic_load_n (&real, __ATOMIC_RELAXED)) \
  __atomic_store_n (&real, (__typeof__ (&name)) dlsym (RTLD_NEXT, #name), __ATOMIC_RELAXED)

#define LOCK(name, type) \
  void name (type *lock) \
  { \
    REAL (name); \
    real (lock); \
    __tsan_acquire (lock); \
  }
#define UNLOCK(name, type) \
  void name (type *lock) \
  { \
    REAL (name); \
    __tsan_release (lock); \
    real (lock); \
  }

#pragma GCC visibility push(default)
LOCK (g_mutex_lock, GMutex)
UNLOCK (g_mutex_unlock, GMutex)
LOCK (g_rec_mutex_lock, GRecMutex)
UNLOCK (g_rec_mutex_unlock, GRecMutex)

gboolean
g_mutex_trylock (GMutex *lock)
{
  REAL (g_mutex_trylock);
  gboolean locked = real (lock);

  if (locked)
    __tsan_acquire (lock);
  return locked;
}

gboolean
g_rec_mutex_trylock (GRecMutex *lock)
{
  REAL (g_rec_mutex_trylock);
  gboolean locked = real (lock);

  if (locked)
    __tsan_acquire (lock);
  return locked;
}

void
g_cond_wait (GCond *cond, GMutex *lock)
{
  REAL (g_cond_wait);
  __tsan_release (lock);
  real (cond, lock);
  __tsan_acquire (lock);
}

gboolean
g_cond_wait_until (GCond *cond, GMutex *lock, gint64 end)
{
  REAL (g_cond_wait_until);
  __tsan_release (lock);
  gboolean signalled = real (cond, lock, end);

  __tsan_acquire (lock);
  return signalled;
}

void
g_once_init_leave (volatile void *at, gsize value)
{
  REAL (g_once_init_leave);
  __tsan_release ((void *) at);
  real (at, value);
}

gboolean
g_once_init_enter (volatile void *at)
{
  REAL (g_once_init_enter);
  gboolean first = real (at);

  __tsan_acquire ((void *) at);
  return first;
}

/* What is done with an object before a thread gives up its reference comes before what the last one does. */
#define UNREF(name, type) \
  void name (type *object) \
  { \
    REAL (name); \
    __tsan_release (object); \
    __tsan_acquire (object); \
    real (object); \
  }
UNREF (gst_mini_object_unref, GstMiniObject)
UNREF (g_object_unref, void)
UNREF (gst_object_unref, void)

/* GLib calls its own locks directly. */
void
g_async_queue_push (GAsyncQueue *queue, void *data)
{
  REAL (g_async_queue_push);
  __tsan_release (data);
  real (queue, data);
}

void *
g_async_queue_try_pop (GAsyncQueue *queue)
{
  REAL (g_async_queue_try_pop);
  void *data = real (queue);

  if (data)
    __tsan_acquire (data);
  return data;
}

void *
g_async_queue_timeout_pop (GAsyncQueue *queue, guint64 us)
{
  REAL (g_async_queue_timeout_pop);
  void *data = real (queue, us);

  if (data)
    __tsan_acquire (data);
  return data;
}

GstFlowReturn
gst_pad_push (GstPad *pad, GstBuffer *buffer)
{
  REAL (gst_pad_push);
  __tsan_release (buffer);
  return real (pad, buffer);
}
#pragma GCC visibility pop
