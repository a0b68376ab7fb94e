/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * covered.c: which pixels of a stream's frames are filtered, by the rules of docs/elements/regions.md in a naive form:
 * random frames with and without regions, settings that change, late frames, gaps, flushes and new caps. A fill makes
 * black what is filtered, and no pixel of the input is black. */
#include "common.h"

#include <string.h>

#define HEIGHT 64
#define MOST_WIDTH 96
#define MOST 8   /* regions of a frame */
#define LONG 500 /* actions of a run */

typedef struct {
  gint x, y, width, height;
} Rect;

typedef struct {
  Rect rect;
  guint type;
  gint id;
  gdouble confidence; /* < 0: none */
  gboolean lost;      /* the frames since have another shape */
} Region;

typedef struct {
  guint64 number;
  gint width;
  guint8 in[HEIGHT][MOST_WIDTH];
  gboolean covered[HEIGHT][MOST_WIDTH];
} Frame;

typedef enum { PASS, LAST, ALL, AUTO } Missing;

typedef struct {
  GRand *rand;
  GstHarness *h;
  GstSegment segment;
  gint width;
  guint64 number; /* of frames sent */
  GstClockTime pts;
  gboolean may_drop;
  GQueue frames; /* that have not come back */

  gboolean enabled, meta, invert;
  Missing missing;
  gint hold, grow;
  guint types; /* bits; 0: all */
  gdouble confidence;
  Rect fixed[2];
  guint n_fixed;
  gint fixed_width; /* of the frames when they were set */

  Region sent[MOST]; /* of the last frame that had some */
  guint n_sent;
  Region last[MOST];
  guint n_last;
  gint last_width; /* of the frame that carried them */
  GArray *held;    /* Held, of each frame that carried one */
  GstClockTimeDiff time;
  gboolean timed;
} Stream;

/* A box that is held. It hides `past`, and `place` until a newer box replaces it. */
typedef struct {
  Rect rect;
  GstClockTimeDiff seen;
  gboolean lost, fresh, replaced;
  Rect past, place, from; /* from: the place when it met its carrier, */
  gint type, id;          /* of this type (-1: it has none), with this id, */
  Rect start, carrier;    /* which was there then, and later here */
} Held;

#define MOTION 2
#define REGION 3
static const gchar *const types[] = { "face", "car", [MOTION] = "motion", [REGION] = "region" };

static gint
any (Stream *s, gint below)
{
  return g_rand_int_range (s->rand, 0, below);
}

static Rect
any_rect (Stream *s)
{
  const gint x = any (s, MOST_WIDTH), y = any (s, HEIGHT);

  return (Rect) { x, y, 1 + any (s, 14), 1 + any (s, 14) };
}

/* ---- the rules ----------------------------------------------------------- */

/* Returns the largest whole number up to n / d. */
static gint
divided (gint n, gint d)
{
  return n >= 0 ? n / d : -((d - 1 - n) / d);
}

/* Returns the whole pixels that hold what was a rectangle in frames of the width `from`, in those of the width `to`.
 * `grow` is a multiple of 50. */
static Rect
grown (const Rect *r, gint grow, gint from, gint to)
{
  const gint more_x = r->width * grow / 50, more_y = r->height * grow / 50; /* quarters of a pixel */
  const gint left = divided ((4 * r->x - more_x) * to, 4 * from);
  const gint right = -divided (-(4 * (r->x + r->width) + more_x) * to, 4 * from);
  const gint top = divided (4 * r->y - more_y, 4);
  const gint below = -divided (-(4 * (r->y + r->height) + more_y), 4);

  return (Rect) { left, top, right - left, below - top };
}

static void
cover (Frame *f, const Rect *r)
{
  for (gint y = MAX (r->y, 0); y < MIN (r->y + r->height, HEIGHT); y++)
    for (gint x = MAX (r->x, 0); x < MIN (r->x + r->width, f->width); x++)
      f->covered[y][x] = TRUE;
}

static gboolean
is_wanted (const Stream *s, const Region *r)
{
  return (s->types == 0 || s->types >> r->type & 1) && (r->confidence < 0 || r->confidence >= s->confidence);
}

/* Returns the rectangle with these edges. */
static Rect
between (gint left, gint top, gint right, gint below)
{
  return (Rect) { left, top, right - left, below - top };
}

static Rect
around (Rect a, Rect b)
{
  return between (MIN (a.x, b.x), MIN (a.y, b.y), MAX (a.x + a.width, b.x + b.width),
      MAX (a.y + a.height, b.y + b.height));
}

static gboolean
is_in (gint x, gint y, Rect r)
{
  return x >= r.x && x < r.x + r.width && y >= r.y && y < r.y + r.height;
}

static gboolean
lies_in (Rect a, Rect b)
{
  return is_in (a.x, a.y, b) && is_in (a.x + a.width - 1, a.y + a.height - 1, b);
}

static gint
pixels_of_both (Rect a, Rect b)
{
  gint n = 0;

  for (gint y = a.y; y < a.y + a.height; y++)
    for (gint x = a.x; x < a.x + a.width; x++)
      n += is_in (x, y, b);
  return n;
}

/* Is this a region that a held box may move with? */
static gboolean
carries (const Stream *s, const Region *r)
{
  return s->types != 0 && !s->invert && r->type >= MOTION && !(s->types >> r->type & 1);
}

/* Moves a held box with what carries it: the rules in gst/gstcfroi.c, "Held regions that move". */
static void
carry (const Stream *s, Held *h, const Region *found, guint n, gint width)
{
  const Rect before = h->carrier;
  const gint type = h->type;
  gdouble best = 0;

  h->type = -1;
  for (guint i = 0; i < n && type >= 0; i++)
    if (carries (s, &found[i]) && (gint) found[i].type == type && (type == MOTION || found[i].id == h->id) &&
        pixels_of_both (found[i].rect, before) > 0) {
      h->carrier = h->type < 0 ? found[i].rect : around (h->carrier, found[i].rect);
      h->type = type;
    }
  if (h->type < 0) {
    for (guint i = 0; i < n; i++) {
      const Rect c = found[i].rect, p = h->place;
      const gint both = pixels_of_both (c, p);
      const gdouble share = (gdouble) both / (c.width * c.height + p.width * p.height - both);

      if (carries (s, &found[i]) && is_in (p.x + p.width / 2, p.y + p.height / 2, c) && share > best) {
        best = share;
        h->type = (gint) found[i].type;
        h->id = found[i].id;
        h->start = h->carrier = c;
      }
    }
    if (best > 0) {
      h->past = around (h->past, h->place);
      h->from = h->place;
    }
  }
  if (h->type >= 0 && !h->fresh) {
    const Rect c = h->carrier, c0 = h->start, b = h->from;
    const gint left = c.x - c0.x, right = c.x + c.width - c0.x - c0.width;
    const gint top = c.y - c0.y, below = c.y + c.height - c0.y - c0.height;
    const gint64 ms = ABS (s->time - h->seen) / (GstClockTimeDiff) GST_MSECOND;
    gint u = h->type == MOTION ? 16 : 2, v = u;

    if (h->type == MOTION && lies_in ((Rect) { 0, c.y, width, 1 }, c) && lies_in ((Rect) { 0, c0.y, width, 1 }, c0))
      u += (gint) (ms * h->rect.width / 100);
    if (h->type == MOTION && lies_in ((Rect) { c.x, 0, 1, HEIGHT }, c) && lies_in ((Rect) { c0.x, 0, 1, HEIGHT }, c0))
      v += (gint) (ms * h->rect.height / 100);
    h->place = between (b.x + MIN (left, right) - u, b.y + MIN (top, below) - v, b.x + b.width + MAX (left, right) + u,
        b.y + b.height + MAX (top, below) + v);
  }
}

/* Takes a box of this frame. */
static void
hold (Stream *s, const Held *box)
{
  for (guint i = s->held->len; i-- > 0;) {
    Held *h = &g_array_index (s->held, Held, i);

    if (h->lost || memcmp (&h->rect, &box->rect, sizeof (Rect)) != 0)
      continue;
    if (!h->replaced && !lies_in (box->rect, h->place))
      break;
    *h = *box;
    return;
  }
  g_array_append_val (s->held, *box);
}

/* Returns the squared distance of two centres, in half pixels. */
static gdouble
apart (Rect a, Rect b)
{
  const gdouble dx = 2 * a.x + a.width - 2 * b.x - b.width, dy = 2 * a.y + a.height - 2 * b.y - b.height;

  return dx * dx + dy * dy;
}

/* Moves what is held to its place in a frame. */
static void
carry_held (Stream *s, const Region *found, guint n, gint width)
{
  for (guint i = 0; i < s->held->len; i++) {
    Held *h = &g_array_index (s->held, Held, i);

    if (!h->lost && !h->replaced)
      carry (s, h, found, n, width);
  }
  for (guint j = 0; j < s->held->len; j++) {
    const Held *newer = &g_array_index (s->held, Held, j);
    Held *best = NULL;

    for (guint i = 0; newer->fresh && i < s->held->len; i++) {
      Held *h = &g_array_index (s->held, Held, i);

      if (!h->fresh && !h->replaced && h->type >= 0 && h->type == newer->type &&
          memcmp (&h->carrier, &newer->carrier, sizeof (Rect)) == 0 &&
          (!best || apart (h->place, newer->rect) < apart (best->place, newer->rect)))
        best = h;
    }
    if (best && lies_in (newer->rect, best->place))
      best->replaced = TRUE;
  }
  for (guint i = 0; i < s->held->len; i++)
    g_array_index (s->held, Held, i).fresh = FALSE;
}

static void
forget (Stream *s)
{
  s->n_last = 0;
  s->timed = FALSE;
  g_array_set_size (s->held, 0);
}

/* Covers the detector's regions. `empty`: bits of the types that have an empty region. Returns FALSE if the whole frame
 * is to be filtered. */
static gboolean
cover_found (Stream *s, Frame *f, const Region *found, guint n, guint empty, GstClockTime pts)
{
  const gboolean holds = s->hold > 0;
  guint said = empty, kept = 0;
  gboolean known;

  for (guint i = 0; i < n; i++)
    said |= 1u << found[i].type;
  known = s->missing != AUTO || !(s->types >> MOTION & 1) || said >> MOTION & 1;

  if (GST_CLOCK_TIME_IS_VALID (pts)) {
    const GstClockTimeDiff old = s->time;

    s->time = (GstClockTimeDiff) gst_segment_to_running_time (&s->segment, GST_FORMAT_TIME, pts);
    for (guint i = 0; i < s->held->len; i++)
      if (!s->timed || old - s->time > s->hold * (GstClockTimeDiff) GST_MSECOND)
        g_array_index (s->held, Held, i).seen += s->time - old;
    s->timed = TRUE;
  }
  if (n > 0) {
    memcpy (s->last, found, n * sizeof *found);
    s->n_last = n;
    s->last_width = f->width;
  } else {
    for (guint i = 0; i < s->n_last; i++)
      if (!(empty >> s->last[i].type & 1))
        s->last[kept++] = s->last[i];
    s->n_last = kept;
  }
  for (guint i = 0; i < s->n_last; i++) {
    const Rect rect = grown (&s->last[i].rect, s->grow, s->last_width, f->width);
    const Held now = { .rect = rect, .seen = s->time, .fresh = TRUE, .past = rect, .place = rect, .type = -1 };

    if ((n == 0 && s->missing != LAST && s->missing != AUTO) || !is_wanted (s, &s->last[i]))
      continue;
    cover (f, &now.rect);
    known = known && !s->last[i].lost;
    if (n > 0 && holds)
      hold (s, &now);
  }
  if (holds)
    carry_held (s, found, n, f->width);
  for (guint i = s->held->len; i-- > 0;) {
    const Held *held = &g_array_index (s->held, Held, i);

    if (!holds || ABS (s->time - held->seen) > s->hold * (GstClockTimeDiff) GST_MSECOND)
      g_array_remove_index (s->held, i);
    else {
      cover (f, s->invert ? &held->rect : &held->past);
      if (!s->invert && !held->replaced)
        cover (f, &held->place);
      known = known && !held->lost;
    }
  }
  return known && (n > 0 || s->missing != ALL);
}

static void
cover_frame (Stream *s, Frame *f, const Region *found, guint n, guint empty, GstClockTime pts)
{
  gboolean whole = !s->meta && s->n_fixed == 0;

  if (!s->meta)
    forget (s);
  else if (!cover_found (s, f, found, n, empty, pts))
    whole = TRUE;
  for (guint i = 0; i < s->n_fixed; i++) {
    const Rect r = grown (&s->fixed[i], s->grow, s->fixed_width, f->width);

    cover (f, &r);
  }
  for (gint y = 0; y < HEIGHT; y++)
    for (gint x = 0; x < f->width; x++)
      f->covered[y][x] = s->enabled && (whole || f->covered[y][x] != s->invert);
}

/* ---- what happens -------------------------------------------------------- */

static void
push_frame (Stream *s)
{
  Frame *f = g_new0 (Frame, 1);
  const guint n = any (s, 3) ? 0 : 1 + (guint) any (s, MOST);
  GstClockTime pts = GST_CLOCK_TIME_NONE;
  Region found[MOST];
  guint empty = 0;
  GstVideoInfo info;
  GstBuffer *in;
  GstMapInfo map;

  f->number = ++s->number;
  f->width = s->width;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, (guint) s->width, HEIGHT);
  in = gst_buffer_new_allocate (NULL, info.size, NULL);
  gst_buffer_map (in, &map, GST_MAP_WRITE);
  for (gint y = 0; y < HEIGHT; y++)
    for (gint x = 0; x < s->width; x++)
      map.data[y * info.stride[0] + x] = f->in[y][x] = (guint8) (100 + any (s, 100));
  gst_buffer_unmap (in, &map);
  for (guint i = 0; i < n; i++) {
    static const gdouble confidences[] = { -1, 0.25, 0.75 };
    const gint step = any (s, 7) - 3, wider = any (s, 5) - 2, higher = any (s, 3) - 1;
    Region *r = &found[i];
    GstVideoRegionOfInterestMeta *meta;

    *r = (Region) { any_rect (s), (guint) any (s, 4), any (s, 3), confidences[any (s, 3)], FALSE };
    if (any (s, 4) && i < s->n_sent) { /* it has been there before */
      *r = s->sent[i];
      r->rect.x = ABS (r->rect.x + step);
      r->rect.y = ABS (r->rect.y + any (s, 2) * step);
      r->rect.width = MAX (1, r->rect.width + wider);
      r->rect.height = MAX (1, r->rect.height + higher);
    } else if (r->type >= MOTION) {
      r->rect.width += any (s, 20);
      r->rect.height += any (s, 20);
      if (any (s, 4) == 0) { /* from border to border */
        r->rect.x = 0;
        r->rect.width = s->width + any (s, 4);
      }
    }
    meta = gst_buffer_add_video_region_of_interest_meta (in, types[r->type], (guint) r->rect.x, (guint) r->rect.y,
        (guint) r->rect.width, (guint) r->rect.height);
    meta->id = r->id;
    if (r->confidence >= 0)
      gst_video_region_of_interest_meta_add_param (meta,
          gst_structure_new ("detection", "confidence", G_TYPE_DOUBLE, r->confidence, NULL));
  }
  if (n > 0) {
    memcpy (s->sent, found, n * sizeof *found);
    s->n_sent = n;
  }
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (any (s, 3) == 0) {
      gst_buffer_add_video_region_of_interest_meta (in, types[i], (guint) any (s, 40), 0, 0, 0);
      empty |= 1u << i;
    }
  if (any (s, 50) == 0) /* the source begins anew, without a flush */
    s->pts = (GstClockTime) any (s, 1000) * GST_MSECOND;
  if (any (s, 8))
    pts = s->pts += (any (s, 40) ? 40 : 1000) * GST_MSECOND;
  GST_BUFFER_PTS (in) = pts;
  GST_BUFFER_OFFSET (in) = f->number;
  cover_frame (s, f, found, n, empty, pts);
  g_queue_push_tail (&s->frames, f);
  push_ok (s->h, in);
}

/* Compares the frames that have come. */
static void
check_frames (Stream *s, gint seed)
{
  GstQuery *drain = gst_query_new_drain ();
  GstBuffer *out;
  GstMapInfo map;
  Frame *f;

  gst_pad_peer_query (s->h->srcpad, drain);
  gst_query_unref (drain);
  while ((out = gst_harness_try_pull (s->h))) {
    while ((f = g_queue_pop_head (&s->frames)) && f->number < GST_BUFFER_OFFSET (out) && s->may_drop)
      g_free (f);
    fail_unless (f && f->number == GST_BUFFER_OFFSET (out), "seed %d: a frame is missing", seed);
    gst_buffer_map (out, &map, GST_MAP_READ);
    for (gint y = 0; y < HEIGHT; y++)
      for (gint x = 0; x < f->width; x++) {
        const guint8 value = map.data[y * ((f->width + 3) & ~3) + x];

        if (f->covered[y][x] ? value >= 100 : value != f->in[y][x])
          fail ("seed %d, frame %d, pixel (%d, %d) is %u, not %s", seed, (gint) f->number, x, y, value,
              f->covered[y][x] ? "black" : "as it was");
      }
    gst_buffer_unmap (out, &map);
    gst_buffer_unref (out);
    g_free (f);
  }
  fail_unless (s->may_drop || g_queue_is_empty (&s->frames), "seed %d: a frame is missing", seed);
  g_queue_clear_full (&s->frames, g_free);
}

static void
new_caps (Stream *s)
{
  static const gchar *const more[] = { NULL, "pixel-aspect-ratio=4/3", "interlace-mode=mixed" };
  const gint width = any (s, 2) ? s->width : 16 + any (s, MOST_WIDTH - 15);
  const gboolean lost = ABS (width - s->width) * HEIGHT > width + s->width + 2 * HEIGHT;
  GstVideoInfo info;

  for (guint i = 0; i < s->held->len; i++) {
    Held *held = &g_array_index (s->held, Held, i);

    Rect *const rects[] = { &held->rect, &held->past, &held->place, &held->from, &held->start, &held->carrier };

    for (guint j = 0; j < G_N_ELEMENTS (rects); j++)
      *rects[j] = grown (rects[j], 0, s->width, width);
    held->lost = held->lost || lost;
  }
  for (guint i = 0; i < s->n_last; i++)
    s->last[i].lost = s->last[i].lost || lost;
  s->width = width;
  set_caps (s->h, video_caps ("GRAY8", width, HEIGHT, more[any (s, 3)]), &info); /* with a segment of the harness */
  gst_harness_push_event (s->h, gst_event_new_segment (&s->segment));
}

static void
flush (Stream *s, gint seed)
{
  check_frames (s, seed);
  gst_segment_init (&s->segment, GST_FORMAT_TIME);
  if (any (s, 3) == 0) {
    s->segment.rate = -1;
    s->segment.stop = 1000 * GST_SECOND;
  }
  gst_harness_push_event (s->h, gst_event_new_flush_start ());
  gst_harness_push_event (s->h, gst_event_new_flush_stop (TRUE));
  gst_harness_push_event (s->h, gst_event_new_segment (&s->segment));
  forget (s);
  s->may_drop = FALSE;
}

static void
send_qos (Stream *s)
{
  s->may_drop = TRUE;
  gst_harness_push_upstream_event (s->h,
      gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 2, any (s, 4) * 40 * (GstClockTimeDiff) GST_MSECOND,
          gst_segment_to_running_time (&s->segment, GST_FORMAT_TIME, s->pts)));
}

static void
set_roi (Stream *s)
{
  GString *text = g_string_new (NULL);

  s->n_fixed = (guint) any (s, G_N_ELEMENTS (s->fixed) + 1);
  s->fixed_width = s->width;
  for (guint i = 0; i < s->n_fixed; i++) {
    const Rect r = s->fixed[i] = any_rect (s);

    g_string_append_printf (text, "%d,%d,%d,%d;", r.x, r.y, r.width, r.height);
  }
  set_value (s->h->element, "roi", text->str);
  g_string_free (text, TRUE);
}

static void
set_types (Stream *s)
{
  GString *text = g_string_new (NULL);

  s->types = (guint) any (s, 16);
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (s->types >> i & 1)
      g_string_append_printf (text, "%s,", types[i]);
  set_value (s->h->element, "roi-type", text->str);
  g_string_free (text, TRUE);
}

static void
set_any (Stream *s)
{
  static const gchar *const missing[] = { "pass", "last", "all", "auto" };
  GstElement *e = s->h->element;

  switch (any (s, 9)) {
    case 0:
      g_object_set (e, "enabled", s->enabled = !s->enabled, NULL);
      break;
    case 1:
      g_object_set (e, "roi-meta", s->meta = any (s, 4) > 0, NULL);
      break;
    case 2:
      g_object_set (e, "roi-invert", s->invert = any (s, 3) == 0, NULL);
      break;
    case 3:
      set_value (e, "roi-missing", missing[s->missing = (Missing) any (s, 4)]);
      break;
    case 4:
      g_object_set (e, "roi-hold", s->hold = 40 * any (s, 9), NULL);
      break;
    case 5:
      g_object_set (e, "roi-grow", (gdouble) (s->grow = 50 * any (s, 3)), NULL);
      break;
    case 6:
      g_object_set (e, "roi-min-confidence", s->confidence = any (s, 2) ? 0.5 : 0, NULL);
      break;
    case 7:
      set_types (s);
      break;
    default:
      set_roi (s);
  }
}

GST_START_TEST (rules_hold)
{
  static const gchar *const depths[] = { "1", "2", "5" };
  Stream s = { .rand = g_rand_new_with_seed ((guint32) __i__), .width = MOST_WIDTH, .enabled = TRUE, .missing = AUTO };
  GstElement *element = new_convolve ("preset", "fill", "fill-color", "0xff000000", "frames-in-flight",
      depths[__i__ % 3], NULL);
  GstMessage *message;
  GstVideoInfo info;

  s.h = new_stream (element, "GRAY8", MOST_WIDTH, HEIGHT, &info);
  s.held = g_array_new (FALSE, FALSE, sizeof (Held));
  gst_segment_init (&s.segment, GST_FORMAT_TIME);
  for (gint i = 0; i < LONG; i++) {
    const gint what = any (&s, 100);

    if (what < 40)
      set_any (&s);
    else if (what < 42)
      new_caps (&s);
    else if (what < 44)
      flush (&s, __i__);
    else if (what < 46)
      send_qos (&s);
    else if (what < 48)
      gst_harness_push_event (s.h, gst_event_new_gap (s.pts, 40 * GST_MSECOND));
    else
      push_frame (&s);
    if (any (&s, 8) == 0)
      check_frames (&s, __i__);
  }
  check_frames (&s, __i__);
  while ((message = pop_message (element, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR))) {
    GError *error = NULL;

    gst_message_parse_warning (message, &error, NULL);
    fail_unless (error && strstr (error->message, "lies outside of the frame"), "%" GST_PTR_FORMAT, message);
    g_clear_error (&error);
    gst_message_unref (message);
  }
  close_harness (s.h, -1);
  g_array_unref (s.held);
  g_rand_free (s.rand);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("covered");

  tcase_add_loop_test (tests, rules_hold, 0, 60);
  return run_suite (argc, argv, "covered", tests, FALSE);
}
