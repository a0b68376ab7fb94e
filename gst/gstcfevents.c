/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfevents.c: events of regions and of motion, in the frame and in zones. */
#include "gstcfevents.h"

#include <string.h>

/* A state that is posted, and for how many frames it has been otherwise. */
typedef struct {
  gboolean on;
  gint otherwise;
} State;

/* A region, or what moves. */
typedef struct {
  CfRegion region; /* the last one that had pixels */
  guint64 seen;    /* the last frame with it */
  State there;
  State zone[]; /* n_zones */
} Object;

struct _GstCfEvents {
  GstElement *element; /* not referenced: its owner */
  const gchar *name;
  GstCfDescribe describe;
  gchar *text; /* of the zones */
  CfZones *zones;
  GHashTable *objects; /* by id */
  guint64 frame;
  gint min_age;

  /* of the last frame */
  GstClockTime pts, running, stream, duration;
  gint width, height;
};

GstCfEvents *
gst_cf_events_new (GstElement *element, const gchar *name, GstCfDescribe describe)
{
  GstCfEvents *e = g_new0 (GstCfEvents, 1);

  e->element = element;
  e->name = name;
  e->describe = describe;
  e->objects = g_hash_table_new_full (g_direct_hash, g_direct_equal, NULL, g_free);
  return e;
}

void
gst_cf_events_free (GstCfEvents *e)
{
  g_hash_table_unref (e->objects);
  cf_zones_free (e->zones);
  g_free (e->text);
  g_free (e);
}

void
gst_cf_events_reset (GstCfEvents *e)
{
  g_hash_table_remove_all (e->objects);
}

static guint
n_zones (const GstCfEvents *e)
{
  return e->zones ? e->zones->n : 0;
}

static Object *
new_object (GstCfEvents *e, guint32 id)
{
  Object *object = g_malloc0 (sizeof (Object) + n_zones (e) * sizeof (State));

  g_hash_table_insert (e->objects, GUINT_TO_POINTER (id), object);
  return object;
}

/* Gives all objects new zones, in which none of them is. */
static void
take_zones (GstCfEvents *e, const gchar *text)
{
  GHashTable *old = e->objects;
  GHashTableIter iter;
  gpointer id, object;

  if (g_strcmp0 (text, e->text) == 0)
    return;
  g_free (e->text);
  e->text = g_strdup (text);
  cf_zones_free (e->zones);
  e->zones = cf_zones_new (text, NULL); /* the properties were checked; NULL: no memory */
  e->objects = g_hash_table_new_full (g_direct_hash, g_direct_equal, NULL, g_free);
  g_hash_table_iter_init (&iter, old);
  while (g_hash_table_iter_next (&iter, &id, &object))
    memcpy (new_object (e, GPOINTER_TO_UINT (id)), object, sizeof (Object));
  g_hash_table_unref (old);
}

void
gst_cf_events_frame (GstCfEvents *e, GstBuffer *buffer, const GstSegment *segment, const GstVideoInfo *info,
    const gchar *zones, gint min_age)
{
  const gboolean timed = segment->format == GST_FORMAT_TIME;

  take_zones (e, zones);
  e->min_age = min_age;
  e->frame++;
  e->pts = GST_BUFFER_PTS (buffer);
  e->duration = GST_BUFFER_DURATION (buffer);
  e->running = timed ? gst_segment_to_running_time (segment, GST_FORMAT_TIME, e->pts) : GST_CLOCK_TIME_NONE;
  e->stream = timed ? gst_segment_to_stream_time (segment, GST_FORMAT_TIME, e->pts) : GST_CLOCK_TIME_NONE;
  e->width = GST_VIDEO_INFO_WIDTH (info);
  e->height = GST_VIDEO_INFO_HEIGHT (info);
}

/* ---- messages ------------------------------------------------------------- */

/* Returns the structure of an event of the last frame. `zone`: NULL for none. */
static GstStructure *
new_event (const GstCfEvents *e, const gchar *event, const CfZone *zone)
{
  GstStructure *s = gst_structure_new (e->name, "event", G_TYPE_STRING, event, "timestamp", G_TYPE_UINT64, e->pts,
      "stream-time", G_TYPE_UINT64, e->stream, "running-time", G_TYPE_UINT64, e->running, "duration", G_TYPE_UINT64,
      e->duration, "width", G_TYPE_INT, e->width, "height", G_TYPE_INT, e->height, NULL);

  if (zone) { /* GstStructure takes no other text than UTF-8 */
    g_autofree gchar *name = g_utf8_make_valid (zone->name, -1);

    gst_structure_set (s, "zone", G_TYPE_STRING, name, NULL);
  }
  return s;
}

static void
post (const GstCfEvents *e, GstStructure *s)
{
  gst_element_post_message (e->element, gst_message_new_element (GST_OBJECT (e->element), s));
}

void
gst_cf_events_post (const GstCfEvents *e, const gchar *event, const gchar *field, ...)
{
  GstStructure *s = new_event (e, event, NULL);
  va_list fields;

  va_start (fields, field);
  if (field)
    gst_structure_set_valist (s, field, fields);
  va_end (fields);
  post (e, s);
}

GstClockTime
gst_cf_events_running_time (const GstCfEvents *e)
{
  return e->running;
}

/* Takes what is so in this frame. A frame that does not count leaves another state as it waits. Returns whether the
 * state changes by it. */
static gboolean
settle (const GstCfEvents *e, State *state, gboolean on, gboolean counts)
{
  if (on == state->on) {
    state->otherwise = 0;
    return FALSE;
  }
  if (!counts || state->otherwise++ < e->min_age)
    return FALSE;
  *state = (State) { on, 0 };
  return TRUE;
}

/* ---- zones ------------------------------------------------------------------ */

/* Returns whether a point, in fractions of the frame, is in a zone (even-odd). */
static gboolean
has_point (const CfZone *zone, gdouble x, gdouble y)
{
  gboolean inside = FALSE;

  for (guint i = 0, j = zone->n - 1; i < zone->n; j = i++) {
    const CfCorner *a = &zone->corner[i], *b = &zone->corner[j];

    if ((a->y > y) != (b->y > y) && x < (b->x - a->x) * (y - a->y) / (b->y - a->y) + a->x)
      inside = !inside;
  }
  return inside;
}

/* Returns whether the line from a to b passes through the inside of a rectangle (Liang and Barsky). */
static gboolean
crosses (const CfCorner *a, const CfCorner *b, gdouble left, gdouble top, gdouble right, gdouble bottom)
{
  const gdouble dx = b->x - a->x, dy = b->y - a->y;
  const gdouble p[4] = { -dx, dx, -dy, dy }, q[4] = { a->x - left, right - a->x, a->y - top, bottom - a->y };
  gdouble from = 0, to = 1;

  for (guint i = 0; i < 4; i++)
    if (p[i] < 0)
      from = MAX (from, q[i] / p[i]);
    else if (p[i] > 0)
      to = MIN (to, q[i] / p[i]);
    else if (q[i] <= 0)
      return FALSE;
  return from < to;
}

/* Returns whether a region's rectangle and a zone overlap: an edge of the zone passes through it, or it lies in the
 * zone. */
static gboolean
overlaps (const GstCfEvents *e, const CfZone *zone, const CfRegion *r)
{
  const gdouble left = (gdouble) r->x / e->width, right = (gdouble) (r->x + r->width) / e->width;
  const gdouble top = (gdouble) r->y / e->height, bottom = (gdouble) (r->y + r->height) / e->height;

  for (guint i = 0, j = zone->n - 1; i < zone->n; j = i++)
    if (crosses (&zone->corner[j], &zone->corner[i], left, top, right, bottom))
      return TRUE;
  return has_point (zone, (left + right) / 2, (top + bottom) / 2);
}

static gboolean
has_centroid (const GstCfEvents *e, const CfZone *zone, const CfRegion *r)
{
  return has_point (zone, (r->centroid_x + 0.5) / e->width, (r->centroid_y + 0.5) / e->height);
}

/* ---- motion ------------------------------------------------------------------- */

/* Is the motion of a region confirmed, and, unless `zone` is NULL, in the zone? */
static gboolean
moves_in (const GstCfEvents *e, const CfZone *zone, const CfRegion *r)
{
  return r->confirmed > 0 && (!zone || overlaps (e, zone, r));
}

/* Takes whether something moves in the frame, or in a zone. A frame that only holds what earlier ones have confirmed
 * does not count. Returns whether the state changes by it. */
static gboolean
settle_motion (const GstCfEvents *e, State *state, const CfZone *zone, const CfRegions *regions)
{
  gboolean moves = FALSE, confirms = FALSE;

  for (unsigned i = 0; regions && i < regions->n; i++)
    if (moves_in (e, zone, &regions->region[i])) {
      moves = TRUE;
      confirms = confirms || regions->region[i].fresh > 0;
    }
  return settle (e, state, moves, !moves || confirms);
}

/* Posts an event with the boxes of all motion that is confirmed, or of that in a zone. */
static void
post_motion (const GstCfEvents *e, const gchar *event, const CfZone *zone, const CfRegions *regions)
{
  GstStructure *s = new_event (e, event, zone);
  GValue list = G_VALUE_INIT;
  guint area = 0;

  g_value_init (&list, GST_TYPE_ARRAY);
  for (unsigned i = 0; regions && i < regions->n; i++) {
    const CfRegion *r = &regions->region[i];
    GValue value = G_VALUE_INIT;

    if (!moves_in (e, zone, r))
      continue;
    g_value_init (&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed (&value, e->describe (r));
    gst_value_array_append_and_take_value (&list, &value);
    area += r->area;
  }
  gst_structure_set (s, "area", G_TYPE_UINT, area, NULL);
  gst_structure_take_value (s, "boxes", &list);
  post (e, s);
}

void
gst_cf_events_motion (GstCfEvents *e, const CfRegions *regions)
{
  Object *motion = g_hash_table_lookup (e->objects, GUINT_TO_POINTER (0));
  gboolean changed;

  if (!motion)
    motion = new_object (e, 0);
  if (!regions)
    e->min_age = 0;
  changed = settle_motion (e, &motion->there, NULL, regions);
  if (changed && motion->there.on)
    post_motion (e, "motion-start", NULL, regions);
  for (guint i = 0; i < n_zones (e); i++) {
    const CfZone *zone = &e->zones->zone[i];

    if (settle_motion (e, &motion->zone[i], zone, regions))
      post_motion (e, motion->zone[i].on ? "enter-zone" : "leave-zone", zone, regions);
  }
  if (changed && !motion->there.on)
    post_motion (e, "motion-stop", NULL, NULL);
}

/* ---- regions -------------------------------------------------------------------- */

static void
post_region (const GstCfEvents *e, const gchar *event, const CfZone *zone, const Object *object)
{
  GstStructure *s = new_event (e, event, zone);
  GValue value = G_VALUE_INIT;

  g_value_init (&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&value, e->describe (&object->region));
  gst_structure_take_value (s, "region", &value);
  post (e, s);
}

/* Takes whether the region is in the frame, and in which zones its centroid is. It is in a zone for no longer than in
 * the frame, so it appears before it enters one, and leaves all zones before it leaves. */
static void
follow (const GstCfEvents *e, Object *object, gboolean there)
{
  const gboolean changed = settle (e, &object->there, there, TRUE);

  if (changed && there)
    post_region (e, "appear", NULL, object);
  for (guint i = 0; i < n_zones (e); i++) {
    const CfZone *zone = &e->zones->zone[i];

    if (settle (e, &object->zone[i], there && has_centroid (e, zone, &object->region), TRUE))
      post_region (e, object->zone[i].on ? "enter-zone" : "leave-zone", zone, object);
  }
  if (changed && !there)
    post_region (e, "leave", NULL, object);
}

/* Ends a region at once. */
static void
end (GstCfEvents *e, Object *object)
{
  const gint min_age = e->min_age;

  e->min_age = 0;
  follow (e, object, FALSE);
  e->min_age = min_age;
}

void
gst_cf_events_regions (GstCfEvents *e, const CfRegions *regions)
{
  GHashTableIter iter;
  gpointer object;

  for (unsigned i = 0; i < regions->n; i++) {
    const CfRegion *r = &regions->region[i];
    Object *known = g_hash_table_lookup (e->objects, GUINT_TO_POINTER (r->id));

    if (r->area == 0)
      continue;
    /* After a reset the ids begin anew. */
    if (known && r->age <= known->region.age) {
      end (e, known);
      known = NULL;
    }
    if (!known)
      known = new_object (e, r->id);
    known->region = *r;
    known->seen = e->frame;
    follow (e, known, TRUE);
  }
  g_hash_table_iter_init (&iter, e->objects);
  while (g_hash_table_iter_next (&iter, NULL, &object)) {
    Object *o = object;

    if (o->seen == e->frame)
      continue;
    follow (e, o, FALSE);
    if (!o->there.on)
      g_hash_table_iter_remove (&iter);
  }
}
