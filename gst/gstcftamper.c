/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcftamper.c: events of what happens to the camera or to its light. */
#include "gstcftamper.h"

#define STEP (GST_SECOND / 15 + 1) /* of frames without a time; rounded up, so that 15 are a second */
#define USUAL (30 * GST_SECOND)
#define TURNED (10 * GST_SECOND) /* then what it sees is its view, and a return is another turn */
#define FEW 64                   /* blocks / FEW edges are the fewest that say something */
#define LIGHT 64                 /* least change of the mean by light in a frame anew; 16 a level */
#define LIT 16                   /* and in one that is lit */
#define SAME_MEAN 32             /* largest difference of a view that is there again */
#define SHAKES 0.2               /* if more frames shake, another view need not be a turn */

static const struct {
  const gchar *start, *stop;
  GstClockTime from, to; /* how long it has to be so, and not to be so */
} names[GST_CF_TAMPER_STATES] = {
  [GST_CF_TAMPER_SHAKE] = { "shake-start", "shake-stop", GST_SECOND, GST_SECOND },
  [GST_CF_TAMPER_BLINDED] = { "blinded-start", "blinded-stop", GST_SECOND, GST_SECOND },
  [GST_CF_TAMPER_COVERED] = { "covered-start", "covered-stop", GST_SECOND, GST_SECOND },
  [GST_CF_TAMPER_DARK] = { "dark-start", "dark-stop", GST_SECOND, GST_SECOND },
  [GST_CF_TAMPER_DEFOCUSED] = { "defocused-start", "defocused-stop", GST_SECOND, GST_SECOND },
  [GST_CF_TAMPER_TURNED] = { "turned-start", "turned-stop", GST_SECOND, 0 },
  [GST_CF_TAMPER_FROZEN] = { "frozen-start", "frozen-stop", 2 * GST_SECOND, GST_SECOND },
};

static void
end (GstCfTamper *t, const GstCfEvents *events)
{
  for (guint i = 0; i < GST_CF_TAMPER_STATES; i++) {
    const GstClockTime until = t->state[i].is ? t->now : t->state[i].changed;

    if (t->state[i].on)
      gst_cf_events_post (events, names[i].stop, "seconds", G_TYPE_DOUBLE,
          (gdouble) (until - t->state[i].began) / GST_SECOND, NULL);
  }
  *t = (GstCfTamper) { 0 };
}

/* Takes whether a state is so in this frame. */
static void
settle (GstCfTamper *t, const GstCfEvents *events, GstCfTamperName name, gboolean is)
{
  if (is != t->state[name].is) {
    t->state[name].is = is;
    t->state[name].changed = t->now;
    if (is && !t->state[name].on)
      t->state[name].began = t->now;
  }
  if (is == t->state[name].on || t->now - t->state[name].changed < (is ? names[name].from : names[name].to))
    return;
  t->state[name].on = is;
  if (is)
    gst_cf_events_post (events, names[name].start, NULL);
  else
    gst_cf_events_post (events, names[name].stop, "seconds", G_TYPE_DOUBLE,
        (gdouble) (t->state[name].changed - t->state[name].began) / GST_SECOND, NULL);
}

/* Has it been less than a second since then? */
static gboolean
lately (const GstCfTamper *t, GstClockTime when)
{
  return when != GST_CLOCK_TIME_NONE && t->now - when < GST_SECOND;
}

/* Are there fewer edges than this share of the usual ones? Not if these are not known. */
static gboolean
lacks_edges (const GstCfTamper *t, const CfScene *scene, gdouble share)
{
  return t->usual.known >= GST_SECOND && t->usual.edges * FEW >= scene->blocks && scene->edges < share * t->usual.edges;
}

static void
take_light (GstCfTamper *t, const GstCfEvents *events, const CfScene *scene)
{
  if (t->now >= GST_SECOND && !lately (t, t->light))
    gst_cf_events_post (events, "light", "from", G_TYPE_DOUBLE, t->mean / 16.0, "to", G_TYPE_DOUBLE, scene->mean / 16.0,
        NULL);
  t->light = t->now;
}

/* Takes whether the picture has moved to another view, or has come back. */
static void
take_turn (GstCfTamper *t, const CfScene *scene, gboolean another, gboolean moving)
{
  const gboolean there = ABS ((gint) scene->mean - (gint) t->calm_mean) <= SAME_MEAN &&
      scene->edges <= 2 * t->calm_edges && t->calm_edges <= 2 * scene->edges;

  if (t->turned && (another || t->shaking > SHAKES) && there) {
    t->turned = FALSE;
    t->usual = t->before;
  } else if (t->shaking > SHAKES ? moving && !there : another) {
    if (!t->turned)
      t->before = t->usual;
    t->turned = TRUE;
    t->turned_at = t->now;
    t->usual = (GstCfTamperView) { 0 };
    if (!t->state[GST_CF_TAMPER_TURNED].on)
      t->state[GST_CF_TAMPER_TURNED].is = FALSE; /* its second begins anew */
  }
}

void
gst_cf_tamper_frame (GstCfTamper *t, const GstCfEvents *events, const CfScene *scene)
{
  const GstClockTime running = gst_cf_events_running_time (events);
  GstClockTime step = STEP;
  const GstCfTamperView *usual;
  gboolean few, same, fresh, light, moving, jumps, blinded, covered, dark, defocused;
  guint change;

  if (!scene || scene->blocks == 0)
    end (t, events);
  if (!scene)
    return;
  if (!t->begun) {
    *t = (GstCfTamper) { .begun = TRUE, .running = running, .anew = GST_CLOCK_TIME_NONE, .light = GST_CLOCK_TIME_NONE };
    return;
  }
  if (GST_CLOCK_TIME_IS_VALID (running) && GST_CLOCK_TIME_IS_VALID (t->running) && running > t->running)
    step = running - t->running;
  t->running = running;
  t->now += step;

  usual = t->turned && t->usual.known < GST_SECOND ? &t->before : &t->usual;
  few = scene->back_edges * FEW < scene->blocks;
  same = scene->anew && !few && 2 * scene->same_edges >= scene->back_edges;
  if (scene->anew && !few && !same)
    t->anew = t->now;
  fresh = lately (t, t->anew);

  blinded = 2 * scene->bright >= scene->blocks;
  covered = !blinded &&
      (t->state[GST_CF_TAMPER_COVERED].is ? lacks_edges (t, scene, 0.5) : fresh && lacks_edges (t, scene, 0.25));
  dark = !covered && 10 * scene->dark >= 9 * scene->blocks;
  defocused = !blinded && !covered && !dark &&
      (t->state[GST_CF_TAMPER_DEFOCUSED].is ? lacks_edges (t, scene, 0.75) : !fresh && lacks_edges (t, scene, 0.5));

  change = (guint) ABS ((gint) scene->mean - (gint) t->mean);
  light = !blinded && !t->state[GST_CF_TAMPER_BLINDED].is && (scene->lit || same) && change >= (same ? LIGHT : LIT);
  if (light)
    take_light (t, events, scene);

  moving = scene->anew && !few && !light;
  jumps = 32 * ABS ((gint) scene->same_edges - (gint) t->same) > (gint) scene->back_edges;
  t->same = scene->same_edges;
  t->shaking += (((scene->loose && jumps) || moving) - t->shaking) * MIN (1.0, (gdouble) step / GST_SECOND);
  if (usual->known >= GST_SECOND && !blinded && !dark && 4 * MIN (scene->edges, scene->back_edges) >= usual->edges)
    take_turn (t, scene, moving && 4 * scene->same_edges < scene->back_edges, moving && !same);
  if ((covered && !t->state[GST_CF_TAMPER_TURNED].on) || t->now - t->turned_at >= TURNED + GST_SECOND)
    t->turned = FALSE;
  if (!t->turned && !fresh && t->shaking <= SHAKES) {
    t->calm_mean = scene->mean;
    t->calm_edges = scene->edges;
  }

  settle (t, events, GST_CF_TAMPER_SHAKE, t->shaking > (t->state[GST_CF_TAMPER_SHAKE].is ? 0.25 : 0.5));
  settle (t, events, GST_CF_TAMPER_BLINDED, blinded);
  settle (t, events, GST_CF_TAMPER_COVERED, covered);
  settle (t, events, GST_CF_TAMPER_DARK, dark);
  settle (t, events, GST_CF_TAMPER_DEFOCUSED, defocused);
  settle (t, events, GST_CF_TAMPER_TURNED, t->turned);
  settle (t, events, GST_CF_TAMPER_FROZEN, scene->equal == scene->blocks);

  t->mean = scene->mean;
  if (blinded || covered || dark || defocused)
    return;
  if (light)
    t->usual = (GstCfTamperView) { 0 };
  t->usual.known += step;
  t->usual.edges += (scene->edges - t->usual.edges) * step / MIN (t->usual.known, MAX (step, USUAL));
}
