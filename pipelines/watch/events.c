/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * events.c: numbers events and writes them to standard output from a thread of its own, so that a reader that has
 * stopped blocks nothing but this thread. */
#include "events.h"

#include <errno.h>
#include <unistd.h>

#define MAX_QUEUED 10000 /* lines: some megabytes, minutes of a busy building */

static struct {
  GMutex lock;
  GCond changed;
  GQueue lines;
  GThread *thread;
  gboolean quiet;          /* events go to the sink alone */
  gboolean ending, broken; /* broken: the reader has closed standard output */
  guint64 seq, lost, lost_reported;
  EventSink sink;
} out;

static gboolean
write_all (const char *text, gsize n)
{
  while (n > 0) {
    gssize done = write (STDOUT_FILENO, text, n);

    if (done < 0 && errno != EINTR && errno != EAGAIN)
      return FALSE;
    text += MAX (done, 0);
    n -= (gsize) MAX (done, 0);
  }
  return TRUE;
}

static gpointer
write_lines (gpointer data)
{
  /* The status line is on the same terminal: an event takes its place. */
  gboolean ok = TRUE, clear = isatty (STDOUT_FILENO) && isatty (STDERR_FILENO);

  (void) data;
  g_mutex_lock (&out.lock);
  for (;;) {
    g_autofree char *line = NULL;

    while (!(line = g_queue_pop_head (&out.lines)) && !out.ending)
      g_cond_wait (&out.changed, &out.lock);
    if (!line)
      break;
    g_mutex_unlock (&out.lock);
    if (clear) {
      char *whole = g_strconcat ("\r\033[K", line, NULL); /* at once: the main thread writes there, too */

      g_free (line);
      line = whole;
    }
    ok = ok && write_all (line, strlen (line));
    g_mutex_lock (&out.lock);
    out.broken = !ok;
  }
  out.thread = NULL; /* events_stop waits for this */
  g_cond_broadcast (&out.changed);
  g_mutex_unlock (&out.lock);
  return NULL;
}

void
events_start (EventSink sink, gboolean quiet)
{
  out.quiet = quiet;
  out.sink = sink;
  out.thread = g_thread_new ("output", write_lines, NULL);
  g_thread_unref (out.thread);
}

void
events_stop (void)
{
  gint64 deadline = g_get_monotonic_time () + G_USEC_PER_SEC;

  g_mutex_lock (&out.lock);
  out.ending = TRUE;
  g_cond_broadcast (&out.changed);
  while (out.thread && g_cond_wait_until (&out.changed, &out.lock, deadline))
    ;
  g_mutex_unlock (&out.lock);
}

/* Takes the text, which ends with an end of line. Returns whether there was room. */
static gboolean
queue_line (char *line)
{
  gboolean room;

  g_mutex_lock (&out.lock);
  room = !out.broken && g_queue_get_length (&out.lines) < MAX_QUEUED;
  if (room)
    g_queue_push_tail (&out.lines, line);
  else
    out.lost++;
  g_cond_broadcast (&out.changed);
  g_mutex_unlock (&out.lock);
  if (!room)
    g_free (line);
  return room;
}

void
events_answer (char *line)
{
  char *whole = g_strconcat (line, "\n", NULL);

  g_free (line);
  queue_line (whole);
}

gboolean
events_are_quiet (void)
{
  return out.quiet;
}

guint64
events_count (void)
{
  return out.seq;
}

guint64
events_lost (void)
{
  guint64 lost;

  g_mutex_lock (&out.lock);
  lost = out.lost;
  g_mutex_unlock (&out.lock);
  return lost;
}

void
event_post_object (const char *camera, const char *type, JsonObject *members)
{
  JsonObject *event = object_of ("schema", int_node (EVENT_SCHEMA), "seq", int_node ((gint64) ++out.seq), "time",
      time_node (g_get_real_time ()), "camera", camera ? word_node (camera) : NULL, "type", word_node (type), NULL);
  g_autofree char *line = NULL;
  guint64 lost = events_lost ();
  gboolean room;

  object_add_members (event, members);
  line = json_line (event);
  room = out.quiet || queue_line (g_strconcat (line, "\n", NULL));
  if (out.sink)
    out.sink (line, camera, type);
  if (room && lost > out.lost_reported) {
    const guint64 count = lost - out.lost_reported;

    out.lost_reported = lost;
    event_post (NULL, "events-lost", "count", int_node ((gint64) count), "where", word_node ("stdout"), NULL);
  }
}
