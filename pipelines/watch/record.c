/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * record.c: a camera's recorder. When recording begins, the frames that the hub holds go into the session first, so
 * that a file shows what came before. */
#include "record.h"

#include "events.h"
#include "threads.h"
#include "session.h"

#include <stdatomic.h>

#define MAX_JUMP ((gint64) 60 * GST_SECOND) /* of time stamps, within one session */
#define ASTRAY (2 * G_USEC_PER_SEC)         /* the clock was set if it parts further from the monotonic time */
#define RETRY 5000                          /* ms, twice as many each time, up to: */
#define MAX_RETRY 60000
#define REPORT_DROPPED (10 * G_USEC_PER_SEC)
#define MAX_ENDING 4        /* sessions: a stream that changes with each frame would have any number */
#define LATE G_USEC_PER_SEC /* a frame may reach the recorder so much later */

struct Recorder {
  gatomicrefcount count;
  CameraSettings *settings;
  int when; /* a RecordWhen, -1: the settings' */
  gboolean moving, triggered, stopped;
  gint64 until; /* monotonic µs: recorded until then although nothing moves */
  guint timer, retry_timer, retry;
  guint ending;     /* sessions that are finishing their files */
  GPtrArray *files; /* that are open */
  Keep *keep;
  Proof *proof;
  guint64 pieces;
  char *by; /* what found the motion */

  Hub *hub; /* its lock guards what follows; it is held as well to change `settings` */
  Session *session;
  gboolean wanted, live, waits_for_key; /* live: frames go into the session */
  gboolean broken;                      /* the stream has changed: a new session is needed */
  GstCaps *next_sound;                  /* of sound that the stream does not have yet; NULL: none */
  gboolean end_when_open;               /* what was recorded for is over, but the disk has not answered yet */
  gint64 recorded;                      /* DTS of the last frame in a session, -1: none */
  gint64 due; /* µs since 1970: stop at the first frame of this time or later; G_MAXINT64: do not stop */
  guint64 dropped, dropped_reported;
  gint64 reported_at;      /* monotonic µs */
  gint64 clock;            /* the time of day less the monotonic time, µs */
  gint64 set_from, set_to; /* µs since 1970: the clock was set, and no event has said so; 0: it was not */
  _Atomic int poked;
};

static void update (Recorder *recorder);
static void end_session (Recorder *recorder);

/* ---- the last frames ----------------------------------------------------- */

/* Returns the packet that a recording begins with: the oldest one, or, if all up to the time stamp `recorded` was
 * recorded (-1: nothing was), the last key frame before what is new. NULL: there is none. */
static GList *
first_packet (Hub *hub, gint64 recorded)
{
  GList *first = hub->packets.head;

  for (GList *l = first; l && recorded >= 0; l = l->next) {
    Packet *packet = l->data;

    if (packet_is_key (packet))
      first = l;
    if (!packet_is_sound (packet) && (gint64) GST_BUFFER_DTS (packet->buffer) > recorded)
      break;
  }
  return first;
}

/* Drops frames that nobody needs. While a session is being opened all stay (up to 64 MiB): the disk may be slow to
 * wake. */
static void
trim (Recorder *recorder)
{
  gboolean opening = !recorder->live && (recorder->wanted || recorder->session);
  const RecordSettings *record = &recorder->settings->record;

  hub_trim (recorder->hub, opening ? G_MAXINT64 : record->folder ? (gint64) record->before * GST_SECOND : 0);
}

static void
forget (Recorder *recorder)
{
  hub_clear (recorder->hub);
  recorder->recorded = -1;
}

/* ---- the camera's thread ------------------------------------------------- */

/* Gives a frame to the session. Call it with the lock held. */
static void
push (Recorder *recorder, GstBuffer *buffer, gint64 wall)
{
  const gboolean sound = GST_BUFFER_FLAG_IS_SET (buffer, HUB_SOUND);

  if (recorder->waits_for_key && GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DELTA_UNIT))
    recorder->dropped += !sound;
  else if (sound)
    session_push_sound (recorder->session, buffer);
  else if (session_push (recorder->session, buffer, wall)) {
    recorder->recorded = (gint64) GST_BUFFER_DTS (buffer);
    recorder->waits_for_key = FALSE;
  } else {
    recorder->dropped++;
    recorder->waits_for_key = TRUE;
  }
}

static gboolean
update_poked (gpointer data)
{
  Recorder *recorder = data;

  recorder->poked = 0;
  update (recorder);
  recorder_unref (recorder);
  return G_SOURCE_REMOVE;
}

static void
poke (Recorder *recorder)
{
  if (atomic_exchange (&recorder->poked, 1))
    return;
  g_atomic_ref_count_inc (&recorder->count);
  in_main (update_poked, recorder);
}

/* Begins another stream: its caps have changed, or its time stamps have jumped. Call it with the lock held. */
static void
change (Recorder *recorder, GstCaps *caps)
{
  hub_set_caps (recorder->hub, caps);
  if (recorder->next_sound)
    gst_caps_take (&recorder->hub->sound, g_steal_pointer (&recorder->next_sound));
  forget (recorder);
  if (recorder->session)
    recorder->broken = TRUE;
  recorder->live = FALSE;
}

/* Breaks the recording off if the caps change or the time stamps jump. Call it with the lock held. */
static void
look_for_change (Recorder *recorder, GstBuffer *buffer, GstCaps *caps)
{
  GList *last = recorder->hub->packets.tail;
  gint64 step;

  while (last && packet_is_sound (last->data))
    last = last->prev;
  step = last ? GST_CLOCK_DIFF (GST_BUFFER_DTS (((Packet *) last->data)->buffer), GST_BUFFER_DTS (buffer)) : 1;
  if (!recorder->hub->caps || !gst_caps_is_equal (recorder->hub->caps, caps) || step <= 0 || step >= MAX_JUMP ||
      (recorder->next_sound && !GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DELTA_UNIT)))
    change (recorder, caps);
}

/* Does the packet of sound belong to the stream? If its caps are new, the next stream has them, which begins with the
 * next key frame. Call it with the lock held. */
static gboolean
look_at_sound (Recorder *recorder, GstCaps *caps)
{
  Hub *hub = recorder->hub;

  if (hub->sound && gst_caps_is_equal (hub->sound, caps))
    return TRUE;
  gst_caps_replace (hub->caps ? &recorder->next_sound : &hub->sound, caps);
  return !hub->caps;
}

/* Breaks the recording off if the clock was set, so that the next file has the right time in its name. Call it with the
 * lock held. */
static void
look_at_clock (Recorder *recorder)
{
  gint64 now = g_get_real_time (), clock = now - g_get_monotonic_time (), by = clock - recorder->clock;

  if (ABS (by) <= ASTRAY)
    return;
  recorder->clock = clock;
  recorder->set_from = now - by;
  recorder->set_to = now;
  for (GList *l = recorder->hub->packets.head; l; l = l->next)
    ((Packet *) l->data)->wall += by;
  if (recorder->session)
    recorder->broken = TRUE;
  recorder->live = FALSE;
}

gboolean
recorder_packet (GstBuffer *buffer, GstCaps *caps, gint64 wall, gpointer data)
{
  Recorder *recorder = data;
  const gboolean sound = GST_BUFFER_FLAG_IS_SET (buffer, HUB_SOUND);
  gboolean held, key_wanted;

  g_mutex_lock (&recorder->hub->lock);
  if (!sound)
    look_for_change (recorder, buffer, caps);
  else if (!look_at_sound (recorder, caps)) {
    g_mutex_unlock (&recorder->hub->lock);
    return FALSE;
  }
  look_at_clock (recorder);
  held = hub_add (recorder->hub, buffer, wall);
  if (recorder->live) /* also where a group of pictures is longer than the hub can hold */
    push (recorder, buffer, wall);
  else if (!held && !sound)
    recorder->dropped += recorder->wanted;
  trim (recorder);
  key_wanted = !held || (recorder->live && recorder->waits_for_key);
  if (recorder->broken || recorder->set_to || wall >= recorder->due ||
      (held && ((recorder->wanted && !recorder->session) || recorder->dropped > recorder->dropped_reported)))
    poke (recorder);
  g_mutex_unlock (&recorder->hub->lock);
  return key_wanted;
}

/* ---- sessions ------------------------------------------------------------ */

static void
on_opened (Session *session, gpointer data)
{
  Recorder *recorder = data;

  gboolean end = FALSE;

  g_mutex_lock (&recorder->hub->lock);
  if (recorder->session == session && !recorder->broken) {
    end = recorder->end_when_open;
    recorder->live = TRUE;
    recorder->waits_for_key = TRUE;
    for (GList *l = first_packet (recorder->hub, recorder->recorded); l; l = l->next)
      push (recorder, ((Packet *) l->data)->buffer, ((Packet *) l->data)->wall);
    trim (recorder);
  }
  g_mutex_unlock (&recorder->hub->lock);
  if (end) {
    end_session (recorder);
    update (recorder);
  }
}

static void
on_record (const char *file, gpointer data)
{
  Recorder *recorder = data;

  keep_end (recorder->keep, file);
  keep_prune (recorder->keep, recorder->settings);
  recorder_unref (recorder);
}

static void
on_piece (Session *session, const SessionPiece *piece, gpointer data)
{
  Recorder *recorder = data;
  const gboolean begun = piece->duration < 0;
  const char *file = piece->file;
  guint i;

  (void) session;
  if (begun) {
    g_ptr_array_add (recorder->files, g_strdup (file));
    recorder->retry = 0;
    proof_piece_begun (recorder->proof, piece);
  } else {
    if (g_ptr_array_find_with_equal_func (recorder->files, file, g_str_equal, &i))
      g_ptr_array_remove_index (recorder->files, i);
    recorder->pieces++;
  }
  event_post (recorder->settings->name, begun ? "piece-begun" : "piece-finished", "file", text_node (file), "start",
      time_node (piece->start), "duration_s", begun ? NULL : number_node (piece->duration), "bytes",
      begun ? NULL : int_node (piece->bytes), NULL);
  if (begun)
    return;
  g_atomic_ref_count_inc (&recorder->count); /* on_record gives it back */
  proof_piece_finished (recorder->proof, recorder->settings, piece, on_record, recorder);
}

static gboolean
retry (gpointer data)
{
  Recorder *recorder = data;

  recorder->retry_timer = 0;
  update (recorder);
  return G_SOURCE_REMOVE;
}

static void
on_ended (Session *session, const char *error, gpointer data)
{
  Recorder *recorder = data;
  gboolean current;

  g_mutex_lock (&recorder->hub->lock);
  current = recorder->session == session;
  if (current) {
    recorder->session = NULL;
    recorder->live = recorder->broken = recorder->end_when_open = FALSE;
    recorder->recorded = -1; /* some of it may be lost */
  }
  g_mutex_unlock (&recorder->hub->lock);
  if (!current)
    recorder->ending--;
  if (error) {
    recorder->retry = recorder->retry ? MIN (recorder->retry * 2, MAX_RETRY) : RETRY;
    g_ptr_array_set_size (recorder->files, 0);
    event_post (recorder->settings->name, "recording-failed", "reason", text_node (error), "retry_ms",
        int_node (recorder->retry), NULL);
    if (!recorder->retry_timer && !recorder->stopped)
      recorder->retry_timer = g_timeout_add (recorder->retry, retry, recorder);
    keep_prune (recorder->keep, recorder->settings);
  }
  update (recorder);
  recorder_unref (recorder);
}

/* Ends the session, which finishes its files while the next one may begin. A session that is still being opened gets
 * its frames first, and on_opened () ends it: motion may be shorter than a disk takes to wake. */
static void
end_session (Recorder *recorder)
{
  Session *session = NULL;

  g_mutex_lock (&recorder->hub->lock);
  recorder->end_when_open = recorder->session && !recorder->live && !recorder->broken;
  if (!recorder->end_when_open) {
    session = g_steal_pointer (&recorder->session);
    recorder->live = recorder->broken = FALSE;
  }
  g_mutex_unlock (&recorder->hub->lock);
  if (session) {
    recorder->ending++;
    session_end (session);
  }
}

static void
begin_session (Recorder *recorder)
{
  static const SessionCalls calls = { .opened = on_opened, .piece = on_piece, .ended = on_ended };

  g_mutex_lock (&recorder->hub->lock);
  if (recorder->hub->caps && !g_queue_is_empty (&recorder->hub->packets)) {
    g_atomic_ref_count_inc (&recorder->count); /* on_ended gives it back */
    recorder->session = session_new (recorder->settings, recorder->keep, recorder->hub->caps, recorder->hub->sound,
        &calls, recorder);
  }
  g_mutex_unlock (&recorder->hub->lock);
}

/* ---- what is wanted ------------------------------------------------------ */

static RecordWhen
when_of (Recorder *recorder)
{
  return recorder->when >= 0 ? (RecordWhen) recorder->when : (RecordWhen) recorder->settings->record.when;
}

static void
post_motion (Recorder *recorder, gboolean on)
{
  event_post (recorder->settings->name, "motion", "state", word_node (on ? "start" : "stop"), "by",
      word_node (recorder->by), NULL);
}

static void
report_dropped (Recorder *recorder)
{
  gint64 now = g_get_monotonic_time ();
  guint64 n;

  g_mutex_lock (&recorder->hub->lock);
  /* Not for each frame that a slow disk loses: when frames are recorded again, or after a while. */
  if (recorder->waits_for_key && now - recorder->reported_at < REPORT_DROPPED)
    n = 0;
  else
    n = recorder->dropped - recorder->dropped_reported;
  if (n > 0)
    recorder->reported_at = now;
  recorder->dropped_reported += n;
  g_mutex_unlock (&recorder->hub->lock);
  if (n > 0)
    event_post (recorder->settings->name, "recording-dropped", "frames", int_node ((gint64) n), NULL);
}

static void
report_clock (Recorder *recorder)
{
  gint64 from, to;

  g_mutex_lock (&recorder->hub->lock);
  from = recorder->set_from;
  to = recorder->set_to;
  recorder->set_to = 0;
  g_mutex_unlock (&recorder->hub->lock);
  if (to)
    event_post (recorder->settings->name, "clock", "from", time_node (from), "to", time_node (to), NULL);
}

static gboolean
on_timer (gpointer data)
{
  Recorder *recorder = data;

  recorder->timer = 0;
  update (recorder);
  return G_SOURCE_REMOVE;
}

/* Returns the monotonic time in µs up to which frames are recorded although nothing moves, 0: it is over. For frames
 * that were made before `until` and come later, it waits up to LATE longer, and sets `due` for the camera's thread. */
static gint64
recorded_until (Recorder *recorder, gint64 now)
{
  gint64 until = recorder->until, due = until + g_get_real_time () - now;
  Packet *last;

  g_mutex_lock (&recorder->hub->lock);
  last = g_queue_peek_tail (&recorder->hub->packets);
  recorder->due = G_MAXINT64;
  if (now >= until && now < until + LATE && recorder->session && (!last || last->wall < due)) {
    recorder->due = due;
    until += LATE;
  }
  g_mutex_unlock (&recorder->hub->lock);
  return now < until ? until : 0;
}

/* Begins and ends sessions as is wanted now. */
static void
update (Recorder *recorder)
{
  gint64 now = g_get_monotonic_time (), until = recorded_until (recorder, now);
  gboolean after = until > 0, wanted, broken, has;

  if (recorder->triggered && !after) {
    recorder->triggered = FALSE;
    if (!recorder->moving)
      post_motion (recorder, FALSE);
  }
  if (recorder->timer)
    g_source_remove (recorder->timer);
  recorder->timer = after ? g_timeout_add ((guint) ((until - now) / 1000) + 1, on_timer, recorder) : 0;
  report_dropped (recorder);
  report_clock (recorder);
  g_mutex_lock (&recorder->hub->lock);
  wanted = recorder->settings->record.folder && !recorder->stopped && !recorder->retry_timer &&
      (when_of (recorder) == WHEN_ALWAYS || (when_of (recorder) == WHEN_MOTION && (recorder->moving || after)));
  recorder->wanted = wanted;
  broken = recorder->broken;
  g_mutex_unlock (&recorder->hub->lock);
  if (broken || !wanted)
    end_session (recorder);
  g_mutex_lock (&recorder->hub->lock);
  has = recorder->session != NULL;
  if (wanted)
    recorder->end_when_open = FALSE;
  g_mutex_unlock (&recorder->hub->lock);
  if (wanted && !has && recorder->ending < MAX_ENDING)
    begin_session (recorder);
}

void
recorder_motion (Recorder *recorder, gboolean on, const char *by)
{
  if (recorder->moving == on)
    return;
  recorder->moving = on;
  if (on && recorder->triggered) /* the event was posted */
    recorder->triggered = FALSE;
  else {
    g_free (recorder->by);
    recorder->by = g_strdup (by);
    post_motion (recorder, on);
  }
  if (!on)
    recorder->until = g_get_monotonic_time () + (gint64) recorder->settings->record.after * G_USEC_PER_SEC;
  update (recorder);
}

void
recorder_trigger (Recorder *recorder)
{
  /* A second at least: without `after`, what came before is to be recorded all the same. */
  recorder->until = g_get_monotonic_time () + (gint64) MAX (recorder->settings->record.after, 1) * G_USEC_PER_SEC;
  if (!recorder->moving && !recorder->triggered) {
    recorder->triggered = TRUE;
    g_free (recorder->by);
    recorder->by = g_strdup ("trigger");
    post_motion (recorder, TRUE);
  }
  update (recorder);
}

gboolean
recorder_set_when (Recorder *recorder, int when)
{
  if (!recorder->settings->record.folder)
    return FALSE;
  recorder->when = when;
  update (recorder);
  return TRUE;
}

int
recorder_when (const Recorder *recorder)
{
  return recorder->when;
}

void
recorder_pause (Recorder *recorder, CameraSettings *next)
{
  end_session (recorder);
  g_mutex_lock (&recorder->hub->lock);
  if (!recorder->end_when_open)
    forget (recorder);
  hub_set_caps (recorder->hub, NULL); /* the next frame drops what is left */
  gst_caps_replace (&recorder->hub->sound, NULL);
  gst_caps_replace (&recorder->next_sound, NULL);
  g_mutex_unlock (&recorder->hub->lock);
  recorder->until = 0;
  if (recorder->moving || recorder->triggered)
    post_motion (recorder, FALSE);
  recorder->moving = recorder->triggered = FALSE;
  recorder->stopped = !next;
  if (!next)
    g_clear_handle_id (&recorder->retry_timer, g_source_remove);
  else {
    CameraSettings *old = recorder->settings;

    g_mutex_lock (&recorder->hub->lock);
    recorder->settings = camera_settings_ref (next); /* what was set by command stays */
    g_mutex_unlock (&recorder->hub->lock);
    camera_settings_unref (old);
  }
  update (recorder);
}

gboolean
recorder_is_busy (Recorder *recorder)
{
  gboolean busy;

  g_mutex_lock (&recorder->hub->lock);
  busy = recorder->ending > 0 || recorder->session || proof_is_busy (recorder->proof);
  g_mutex_unlock (&recorder->hub->lock);
  return busy;
}

/* ---- the object ---------------------------------------------------------- */

Recorder *
recorder_new (CameraSettings *settings, Hub *hub)
{
  Recorder *recorder = g_new0 (Recorder, 1);

  g_atomic_ref_count_init (&recorder->count);
  recorder->hub = hub_ref (hub);
  recorder->settings = camera_settings_ref (settings);
  recorder->files = g_ptr_array_new_with_free_func (g_free);
  recorder->keep = keep_new ();
  recorder->proof = proof_new ();
  recorder->when = -1;
  recorder->recorded = -1;
  recorder->clock = g_get_real_time () - g_get_monotonic_time ();
  update (recorder);
  return recorder;
}

void
recorder_unref (Recorder *recorder)
{
  if (!g_atomic_ref_count_dec (&recorder->count))
    return;
  hub_unref (recorder->hub);
  if (recorder->timer)
    g_source_remove (recorder->timer);
  if (recorder->retry_timer)
    g_source_remove (recorder->retry_timer);
  camera_settings_unref (recorder->settings);
  g_ptr_array_unref (recorder->files);
  keep_unref (recorder->keep);
  gst_caps_replace (&recorder->next_sound, NULL);
  proof_unref (recorder->proof);
  g_free (recorder->by);
  g_free (recorder);
}

Proof *
recorder_proof (Recorder *recorder)
{
  return recorder->proof;
}

JsonObject *
recorder_status (Recorder *recorder)
{
  static const char *const modes[] = { [WHEN_ALWAYS] = "always", [WHEN_MOTION] = "motion", [WHEN_OFF] = "off" };
  const char *mode = recorder->settings->record.folder ? modes[when_of (recorder)] : "off";
  const guint n = recorder->files->len;
  gint64 dropped;
  gboolean live;

  g_mutex_lock (&recorder->hub->lock);
  live = recorder->live;
  dropped = (gint64) recorder->dropped;
  g_mutex_unlock (&recorder->hub->lock);
  return object_of ("mode", word_node (mode), "on", bool_node (live), "motion",
      bool_node (recorder->moving || recorder->triggered), "dropped", int_node (dropped), "failed",
      bool_node (recorder->retry > 0 && recorder->settings->record.folder), "file",
      n > 0 ? text_node (recorder->files->pdata[n - 1]) : NULL, "pieces", int_node ((gint64) recorder->pieces), NULL);
}
