/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * camera.c: one camera's life: start, frames, loss, back-off, start. */
#include "camera.h"

#include "../tools/line.h"
#include "elements.h"
#include "events.h"
#include "gpu.h"
#include "may.h"
#include "packets.h"
#include "properties.h"
#include "serve.h"
#include "snapshot.h"
#include "store.h"

#include <string.h>

#define FIRST_DELAY 1000 /* ms */
#define LAST_DELAY 30000
#define GOOD (10 * G_USEC_PER_SEC) /* after so long with frames, the next loss begins with FIRST_DELAY again */
#define LOOPS_AFTER G_USEC_PER_SEC /* a file begins again no sooner: a file of one picture takes no time */
#define STOPS_WITHIN (5 * G_USEC_PER_SEC)
#define MAX_ASIDE 3                        /* pipelines of a camera that do not end, beside the one it has */
#define LOOKS 5                            /* ticks from one look at what is hidden to the next */
#define SAME_WARNING (60 * G_USEC_PER_SEC) /* is not repeated sooner */

/* Has it a pipeline that is not being stopped? */
static gboolean
camera_runs (const Camera *camera)
{
  return camera->state == CAMERA_STARTING || camera->state == CAMERA_UP;
}

static void
set_state (Camera *camera, CameraState state)
{
  camera->state = state;
  camera->since = g_get_monotonic_time ();
}

/* What happens to a camera. The table `steps` below says what follows. */
typedef enum {
  EVENT_START,   /* the time of the next attempt has come, or a command starts it */
  EVENT_LOOKED,  /* its filter's files have been read */
  EVENT_FRAME,   /* the first one of a pipeline */
  EVENT_AGAIN,   /* a new pipeline is needed at once */
  EVENT_LATER,   /* a new pipeline is needed at the next attempt */
  EVENT_WRONG,   /* the settings are wrong: a new pipeline is of no use before they change */
  EVENT_END,     /* the file has ended: no new pipeline */
  EVENT_LATE,    /* its pipeline has not stopped in time */
  EVENT_STOPPED, /* its pipeline has ended */
  EVENT_ROOM,    /* a pipeline that was kept aside has ended */
  EVENT_REMOVE,  /* it is removed, or the process ends */
} Event;

static void happen (Camera *camera, Event event);

/* ---- stop ---------------------------------------------------------------- */

/* A pipeline that is being stopped. The camera may have another one meanwhile, or be gone. */
struct Stopping {
  Camera *camera; /* NULL: it is gone */
  CameraSettings *settings;
  int gpu;
  gint64 since; /* monotonic µs */
  gboolean reported;
  gboolean drained; /* no frames come from it any more */
};

static guint n_aside; /* of all cameras */

guint
camera_count_aside (void)
{
  return n_aside;
}

static void enter (Camera *camera, CameraState state);

/* Leaves the pipeline, which has ended or was set aside, and enters the state that was to follow. */
static void
go_on (Camera *camera, CameraState state)
{
  (void) state;
  camera->gpu = -1;
  camera->pipeline = NULL;
  camera->stopping = NULL;
  enter (camera, camera->after);
}

/* Changes the state that follows when the pipeline has ended. */
static void
plan (Camera *camera, CameraState state)
{
  camera->after = state;
}

/* Ends what is recorded, unless frames of it are still to come. */
static void
end_recording (Camera *camera)
{
  if (camera->stopping && !camera->stopping->drained)
    return;
  recorder_pause (camera->recorder,
      camera->state == CAMERA_GONE || camera->after == CAMERA_GONE ? NULL : camera->settings);
}

static void
on_drained (Pipeline *pipeline, gpointer data)
{
  Stopping *stopping = data;

  (void) pipeline;
  if (stopping->drained || !stopping->camera) /* it was given up */
    return;
  stopping->drained = TRUE;
  end_recording (stopping->camera);
}

/* Keeps the pipeline that does not end aside; the camera goes on without it. */
static void
set_aside (Camera *camera, CameraState state)
{
  pipeline_remove_taker (camera->pipeline, camera->recorder);
  proof_detach (recorder_proof (camera->recorder), camera->pipeline);
  pipeline_abandon (camera->pipeline);
  camera->aside = g_slist_prepend (camera->aside, camera->stopping);
  n_aside++;
  go_on (camera, state);
}

static void
on_stopped (Pipeline *pipeline, gpointer data)
{
  Stopping *stopping = data;
  Camera *camera = stopping->camera;

  if (stopping->reported)
    event_post (stopping->settings->name, "freed", "after_ms",
        int_node ((g_get_monotonic_time () - stopping->since) / 1000), NULL);
  gpu_release (stopping->gpu);
  if (camera)
    proof_detach (recorder_proof (camera->recorder), pipeline);
  pipeline_unref (pipeline);
  if (camera && camera->stopping == stopping)
    happen (camera, EVENT_STOPPED);
  else {
    n_aside--;
    if (camera) {
      camera->aside = g_slist_remove (camera->aside, stopping);
      happen (camera, EVENT_ROOM);
    }
  }
  camera_settings_unref (stopping->settings);
  g_free (stopping);
}

/* Reports a pipeline that does not end. Another one takes its place, up to MAX_ASIDE times, since each holds threads
 * and memory. */
static void
report_stuck (Camera *camera, CameraState state)
{
  gboolean room = g_slist_length (camera->aside) < MAX_ASIDE;
  const char *reason = camera->final ? "its pipeline does not end"
      : room                         ? "its pipeline does not end, and is kept aside; the camera goes on without it"
             : "its pipelines do not end; the camera comes back when one of them has ended after all";

  on_drained (camera->pipeline, camera->stopping);
  camera->stopping->reported = TRUE;
  camera->state = state; /* since stays */
  event_post (camera->settings->name, "stuck", "reason", text_node (reason), NULL);
  if (room && !camera->final)
    set_aside (camera, state);
}

/* Begins to stop the pipeline. The camera enters `state` when it has ended. */
static void
stop (Camera *camera, CameraState state)
{
  g_autolist (GstElement) elements = NULL;
  PipelineCounts counts;

  elements = find_elements (pipeline_filter (camera->pipeline), "name");
  overrides_note_sizes (camera->overrides, elements);
  counts = pipeline_counts (camera->pipeline);
  camera->endless |= counts.frames > 0 && camera->settings->http && pipeline_is_endless (camera->pipeline);
  camera->frames += counts.frames;
  camera->dropped += counts.dropped;
  camera->not_encoded += counts.not_encoded;
  camera->ticked = 0;
  camera->fps = 0;
  g_source_remove (camera->watch);
  camera->watch = 0;
  set_state (camera, CAMERA_STOPPING);
  camera->after = state;
  camera->stopping = g_new0 (Stopping, 1);
  camera->stopping->camera = camera;
  camera->stopping->settings = camera_settings_ref (camera->settings);
  camera->stopping->gpu = camera->gpu;
  camera->stopping->since = camera->since;
  filter_stop (pipeline_filter (camera->pipeline));
  snapshot_stop (pipeline_filter (camera->pipeline));
  decoder_stop (camera->decoder);
  pipeline_stop (camera->pipeline, on_drained, on_stopped, camera->stopping);
}

/* ---- loss ---------------------------------------------------------------- */

static gboolean
on_retry (gpointer data)
{
  Camera *camera = data;

  camera->retry_timer = 0;
  happen (camera, EVENT_START);
  return G_SOURCE_REMOVE;
}

/* Gives up a camera with wrong settings: there is no further attempt before they change. */
static void
fail (Camera *camera, const char *reason)
{
  g_free (camera->reason);
  camera->reason = g_strdup (reason);
  event_post (camera->settings->name, "failed", "reason", text_node (reason), NULL);
  happen (camera, EVENT_WRONG);
}

static void
lose (Camera *camera, const char *reason)
{
  /* Not all cameras of a switch that was off come back in the same moment. */
  guint wait = (guint) ((double) camera->delay * g_random_double_range (0.8, 1.2));

  if (!camera->lost_at)
    camera->lost_at = g_get_monotonic_time ();
  camera->attempts++;
  camera->restarts++;
  camera->quiet = FALSE;
  g_free (camera->reason);
  camera->reason = g_strdup (reason);
  event_post (camera->settings->name, "lost", "reason", text_node (reason), "retry_ms", int_node (wait), NULL);
  camera->delay = MIN (camera->delay * 2, LAST_DELAY);
  camera->retry_timer = g_timeout_add (wait, on_retry, camera);
  happen (camera, EVENT_LATER);
}

/* Reports that nothing is recorded. The camera goes on. */
static void
report_unrecorded (Camera *camera, const char *reason)
{
  event_post (camera->settings->name, "recording-failed", "reason", text_node (reason), "retry_ms",
      json_node_new (JSON_NODE_NULL), NULL);
}

/* Does the same, and the next pipelines have no encoder. */
static void
refuse_recording (Camera *camera, const char *reason)
{
  camera->no_encoder = TRUE;
  report_unrecorded (camera, reason);
}

/* ---- messages ------------------------------------------------------------ */

/* Returns the backends of the filter: "cuda", "cpu", "cuda+cpu", "none". Free it. */
static char *
camera_backend (Camera *camera)
{
  g_autolist (GstElement) filters = camera->pipeline ? find_filters (pipeline_filter (camera->pipeline)) : NULL;
  gboolean cuda = FALSE, cpu = FALSE;

  for (GList *l = filters; l; l = l->next) {
    g_autofree char *backend = active_backend (l->data);

    cuda |= !strcmp (backend, "cuda");
    cpu |= !strcmp (backend, "cpu");
  }
  return g_strdup (cuda && cpu ? "cuda+cpu" : cuda ? "cuda" : cpu ? "cpu" : "none");
}

static JsonNode *
size_node (int width, int height)
{
  return object_node (object_of ("width", int_node (width), "height", int_node (height), NULL));
}

static void
on_size (Camera *camera, const GstStructure *structure)
{
  int width = 0, height = 0, n = 0, d = 1;

  gst_structure_get (structure, "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height, "rate", GST_TYPE_FRACTION,
      &n, &d, NULL);
  if (camera->width && (camera->width != width || camera->height != height))
    event_post (camera->settings->name, "size", "from", size_node (camera->width, camera->height), "to",
        size_node (width, height), NULL);
  camera->width = width;
  camera->height = height;
  g_free (camera->format);
  camera->format = g_strdup (gst_structure_get_string (structure, "format"));
  g_free (camera->rate);
  camera->rate = g_strdup_printf ("%d/%d", n, d);
}

/* Something is set: no picture from before is shown from now on. */
static void
renew_pictures (Camera *camera, GList *elements)
{
  hub_hide_past (camera->hub);
  if (camera_runs (camera) && any_hides (elements))
    snapshot_renew (pipeline_filter (camera->pipeline));
}

/* Has the file say what is set now; not in place of what nobody could read. */
static void
save_overrides (Camera *camera)
{
  if (!camera->closed && overrides_is_empty (camera->overrides))
    store_forget (camera->settings->name);
  else if (!camera->closed)
    store_set (camera->settings->name, overrides_json (camera->overrides));
}

static void
report_up (Camera *camera, CameraState state)
{
  gint64 now = g_get_monotonic_time ();
  g_autofree char *backend = camera_backend (camera);
  const RecordSettings *record = &camera->settings->record;
  const gboolean by_motion = record->folder && record->when == WHEN_MOTION, back = camera->was_up;
  const gboolean blind = by_motion && !filter_reports_motion (pipeline_filter (camera->pipeline));
  g_autolist (GstElement) elements = find_elements (pipeline_filter (camera->pipeline), "name");

  set_state (camera, state);
  if (!camera->quiet)
    event_post (camera->settings->name, back ? "back" : "started", "first_frame_ms",
        int_node ((now - camera->begun) / 1000), "width", int_node (camera->width), "height", int_node (camera->height),
        "format", text_node (camera->format), "rate", text_node (camera->rate), "backend", word_node (backend), "gpu",
        camera->gpu >= 0 ? int_node (camera->gpu) : NULL, "away_ms",
        back ? int_node ((now - camera->lost_at) / 1000) : NULL, "attempts", back ? int_node (camera->attempts) : NULL,
        "note", blind ? text_node (FILTER_NO_MOTION) : NULL, NULL);
  camera->was_up = camera->proven = TRUE;
  camera->quiet = FALSE;
  camera->lost_at = 0;
  camera->attempts = 0;
  /* Now the sizes are known of regions that were set before. */
  overrides_note_sizes (camera->overrides, elements);
  renew_pictures (camera, elements);
  save_overrides (camera);
}

static const char *
name_of (GstObject *source)
{
  return source ? GST_OBJECT_NAME (source) : "?";
}

static void
post_text (Camera *camera, const char *type, GstMessage *message, const char *text)
{
  event_post (camera->settings->name, type, "element", text_node (name_of (GST_MESSAGE_SRC (message))), "text",
      text_node (text), NULL);
}

/* Returns whether an element says that its camera was dealt a GPU on which the kernels do not run, and another one
 * will be dealt to its next pipeline. */
static gboolean
is_misdealt (Camera *camera, GstMessage *message)
{
  const GstStructure *details = NULL;
  int unfit;

  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error_details (message, &details);
  else
    gst_message_parse_warning_details (message, &details);
  return details && gst_structure_get_int (details, "unfit-device", &unfit) && unfit >= 0 && unfit == camera->gpu &&
      gpu_refuse (unfit) && camera->settings->gpu < 0;
}

static void
on_error (Camera *camera, GstMessage *message)
{
  g_autofree char *text = message_text (message), *reason = NULL;
  GstObject *source = GST_MESSAGE_SRC (message);
  const PipelinePart part = pipeline_part_of (camera->pipeline, source);
  gboolean refused = is_about_settings (message);
  g_autolist (GstElement) elements = find_elements (pipeline_filter (camera->pipeline), "name");
  /* There is hope if the camera has been up (frames of another kind may have been refused, and the former ones will
   * come again), or if a command has set a value of the element (a file that is away just now). */
  gboolean hopeless = refused && !overrides_refuse (camera->overrides, elements, source, text) && !camera->proven &&
      part == PART_FILTER;

  reason = g_strdup_printf ("%s: %s", name_of (source), text);
  if (hopeless) {
    fail (camera, reason);
    return;
  }
  post_text (camera, "error", message, text);
  if (part == PART_GPU_ENCODER) {
    camera->software_encoder = TRUE; /* it has no encoder, or not for so many cameras */
  } else if (part == PART_ENCODING) {
    refuse_recording (camera, reason);
  }
  if (is_misdealt (camera, message))
    happen (camera, EVENT_AGAIN);
  else
    lose (camera, reason);
}

static void
on_warning (Camera *camera, GstMessage *message)
{
  g_autofree char *text = message_text (message);
  gint64 now = g_get_monotonic_time ();

  if (g_strcmp0 (text, camera->warned) || now - camera->warned_at >= SAME_WARNING) {
    g_free (camera->warned);
    camera->warned = g_strdup (text);
    camera->warned_at = now;
    post_text (camera, "warning", message, text);
  }
  if (is_misdealt (camera, message))
    happen (camera, EVENT_AGAIN);
}

/* Posts the messages of elements as events; those about motion begin and end recordings. */
static void
on_element (Camera *camera, GstMessage *message)
{
  const GstStructure *structure = gst_message_get_structure (message);
  gboolean median = gst_structure_has_name (structure, "cudamedian");
  gboolean cells = gst_structure_has_name (structure, "motion");
  const char *kind = gst_structure_get_string (structure, "event");
  GstObject *pipeline = GST_OBJECT_PARENT (pipeline_filter (camera->pipeline));
  GstClockTime running = GST_CLOCK_TIME_NONE;

  if (!median && !cells && !gst_structure_has_name (structure, "cudasegment"))
    return;
  event_post (camera->settings->name, "element", "name", word_node (gst_structure_get_name (structure)), "element",
      text_node (name_of (GST_MESSAGE_SRC (message))), "frame",
      gst_structure_get_uint64 (structure, "running-time", &running) && GST_CLOCK_TIME_IS_VALID (running)
          ? time_node (wall_time (age_of (GST_ELEMENT (pipeline), running)))
          : NULL,
      "fields", structure_node (structure), NULL);
  if (median && !g_strcmp0 (kind, "motion-start"))
    recorder_motion (camera->recorder, TRUE, "cudamedian");
  else if (median && !g_strcmp0 (kind, "motion-stop"))
    recorder_motion (camera->recorder, FALSE, "cudamedian");
  else if (cells && gst_structure_has_field (structure, "motion_begin"))
    recorder_motion (camera->recorder, TRUE, "motioncells");
  else if (cells && gst_structure_has_field (structure, "motion_finished"))
    recorder_motion (camera->recorder, FALSE, "motioncells");
}

/* Plays the file once more. */
static void
begin_again (Camera *camera)
{
  gint64 rest = camera->begun + LOOPS_AFTER - g_get_monotonic_time ();

  camera->quiet = TRUE;
  if (rest > 0)
    camera->retry_timer = g_timeout_add ((guint) (rest / 1000), on_retry, camera);
  happen (camera, rest > 0 ? EVENT_LATER : EVENT_AGAIN);
}

static const char *
why_ended (Camera *camera, guint64 frames)
{
  if (frames == 0)
    return "there is no picture in it";
  if (frames == 1 && camera->settings->http)
    return "the stream has ended with its first picture; a camera that sends one for each request needs \"every\"";
  return "the stream has ended";
}

static void
on_end (Camera *camera)
{
  guint64 frames = pipeline_counts (camera->pipeline).frames;
  gboolean live = camera->settings->live || camera->endless ||
      (camera->settings->http && pipeline_is_endless (camera->pipeline));

  if (live || frames == 0) {
    lose (camera, why_ended (camera, frames));
  } else if (camera->settings->loop) {
    begin_again (camera);
  } else {
    happen (camera, EVENT_END);
    event_post (camera->settings->name, "ended", "frames", int_node ((gint64) camera->frames), NULL);
  }
}

/* Begins anew, with a decoder: the camera's own packets cannot be recorded. */
static void
decode_all (Camera *camera)
{
  const guint64 frames = camera->frames;

  camera->no_packets = TRUE;
  camera->quiet = camera->state == CAMERA_UP;
  happen (camera, EVENT_AGAIN);
  camera->frames = frames; /* they come again */
}

static gboolean
on_message (GstBus *bus, GstMessage *message, gpointer data)
{
  const GstStructure *structure = gst_message_get_structure (message);
  Camera *camera = data;

  (void) bus;
  switch (GST_MESSAGE_TYPE (message)) {
    case GST_MESSAGE_ERROR:
      on_error (camera, message);
      break;
    case GST_MESSAGE_WARNING:
      on_warning (camera, message);
      break;
    case GST_MESSAGE_EOS:
      on_end (camera);
      break;
    case GST_MESSAGE_ELEMENT:
      if (structure)
        on_element (camera, message);
      break;
    case GST_MESSAGE_APPLICATION:
      if (gst_structure_has_name (structure, PIPELINE_SIZE))
        on_size (camera, structure);
      else if (gst_structure_has_name (structure, PIPELINE_UNFIT))
        report_unrecorded (camera, gst_structure_get_string (structure, "reason"));
      else if (gst_structure_has_name (structure, PIPELINE_NO_ENCODER))
        refuse_recording (camera, gst_structure_get_string (structure, "reason"));
      else if (gst_structure_has_name (structure, PIPELINE_NO_SOUND))
        event_post (camera->settings->name, "warning", "element", text_node ("sound"), "text",
            text_node (gst_structure_get_string (structure, "reason")), NULL);
      else if (gst_structure_has_name (structure, PIPELINE_NO_PACKETS))
        decode_all (camera);
      else if (gst_structure_has_name (structure, PIPELINE_FIRST_FRAME))
        happen (camera, EVENT_FRAME);
      break;
    default:
      break;
  }
  return camera->watch != 0;
}

gboolean
camera_encodes (const Camera *camera)
{
  const CameraSettings *settings = camera->settings;

  return (settings->record.folder || settings->shown || settings->on_page) && !camera->no_encoder;
}

/* ---- start --------------------------------------------------------------- */

/* Makes a pipeline and starts it. */
static void
make (Camera *camera, CameraState state)
{
  PipelinePlan plan = { .settings = camera->settings,
    .software_encoder = camera->software_encoder,
    .encodes = camera_encodes (camera),
    .own = camera->settings->own && !camera->no_packets };
  g_autoptr (GString) wrong = g_string_new (NULL), note = g_string_new (NULL);
  g_autolist (GstElement) elements = NULL;

  if (camera->closed) {
    fail (camera, camera->closed);
    return;
  }
  plan.gpu = camera->gpu = gpu_take (camera->settings->gpu);
  if (gpu_count () > 0 && camera->settings->gpu >= (int) gpu_count ())
    g_string_append_printf (wrong, "there is no GPU %d: they have the numbers 0 to %u", camera->settings->gpu,
        gpu_count () - 1);
  else
    camera->pipeline = pipeline_new (&plan, wrong, note);
  if (note->len)
    refuse_recording (camera, note->str);
  if (camera->pipeline)
    elements = find_elements (pipeline_filter (camera->pipeline), "name");
  if (camera->pipeline && !overrides_check (camera->overrides, elements, wrong)) {
    g_string_prepend (wrong, "what a command has set before is refused now, so that it might hide less: ");
    g_string_append (wrong, "; set another value, or have all of them forgotten by: forget CAMERA");
    pipeline_unref (camera->pipeline);
    camera->pipeline = NULL;
  }
  if (!camera->pipeline) {
    gpu_release (camera->gpu);
    camera->gpu = -1;
    fail (camera, wrong->str);
    return;
  }
  proof_attach (recorder_proof (camera->recorder), camera->pipeline, elements);
  overrides_start (camera->overrides, elements);
  proof_begin (recorder_proof (camera->recorder), elements, camera->settings);
  pipeline_add_taker (camera->pipeline, recorder_packet, camera->recorder);
  camera->watch = gst_bus_add_watch (pipeline_bus (camera->pipeline), on_message, camera);
  camera->begun = g_get_monotonic_time ();
  set_state (camera, state);
  pipeline_start (camera->pipeline);
}

static void
on_looked (const char *wrong, gpointer data)
{
  Camera *camera = data;

  camera->look = NULL;
  if (wrong)
    lose (camera, wrong);
  else
    happen (camera, EVENT_LOOKED);
}

void
camera_add_files (Camera *camera, GPtrArray *paths)
{
  look_add_line (paths, camera->settings->filter);
  overrides_add_files (camera->overrides, paths);
}

/* Looks at the files that the filter is going to read. */
static void
look (Camera *camera)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);

  camera_add_files (camera, paths);
  if (paths->len == 0)
    happen (camera, EVENT_LOOKED);
  else
    camera->look = look_start (g_steal_pointer (&paths), on_looked, camera);
}

/* ---- states -------------------------------------------------------------- */

static void
enter (Camera *camera, CameraState state)
{
  set_state (camera, state);
  if (state == CAMERA_LOOKING)
    look (camera);
}

typedef struct {
  void (*action) (Camera *camera, CameraState state); /* NULL: nothing follows */
  CameraState state;                                  /* that it leads to */
} Step;

/* State x event. An event that a state lacks changes nothing. `enter` leads there at once, `stop` when the pipeline has
 * ended, and `plan` changes where `stop` leads. */
/* clang-format off */
#define WITHOUT_PIPELINE \
  [EVENT_LATER] = { enter, CAMERA_WAITING }, [EVENT_WRONG] = { enter, CAMERA_FAILED }, \
  [EVENT_REMOVE] = { enter, CAMERA_GONE }
#define WITH_PIPELINE \
  [EVENT_AGAIN] = { stop, CAMERA_LOOKING }, [EVENT_LATER] = { stop, CAMERA_WAITING }, \
  [EVENT_WRONG] = { stop, CAMERA_FAILED }, [EVENT_END] = { stop, CAMERA_ENDED }, [EVENT_REMOVE] = { stop, CAMERA_GONE }
#define WHILE_IT_STOPS \
  [EVENT_START] = { plan, CAMERA_LOOKING }, [EVENT_REMOVE] = { plan, CAMERA_GONE }, [EVENT_STOPPED] = { go_on }
#define START [EVENT_START] = { enter, CAMERA_LOOKING }
#define LOOKED [EVENT_LOOKED] = { make, CAMERA_STARTING }

static const Step steps[][EVENT_REMOVE + 1] = {
  [CAMERA_NEW] = { WITHOUT_PIPELINE, START, LOOKED },
  [CAMERA_WAITING] = { WITHOUT_PIPELINE, START },
  [CAMERA_LOOKING] = { WITHOUT_PIPELINE, START, LOOKED },
  [CAMERA_STARTING] = { WITH_PIPELINE, [EVENT_FRAME] = { report_up, CAMERA_UP } },
  [CAMERA_UP] = { WITH_PIPELINE },
  [CAMERA_STOPPING] = { WHILE_IT_STOPS, [EVENT_LATE] = { report_stuck, CAMERA_STUCK } },
  [CAMERA_STUCK] = { WHILE_IT_STOPS, [EVENT_ROOM] = { set_aside } },
  [CAMERA_FAILED] = { WITHOUT_PIPELINE, START },
  [CAMERA_ENDED] = { WITHOUT_PIPELINE, START },
  [CAMERA_GONE] = { { NULL } },
};
/* clang-format on */

static void
happen (Camera *camera, Event event)
{
  const Step *step = &steps[camera->state][event];

  if (step->action)
    step->action (camera, step->state);
}

/* ---- the object ---------------------------------------------------------- */

void
camera_start (Camera *camera, gboolean looked)
{
  happen (camera, looked ? EVENT_LOOKED : EVENT_START);
}

/* Has the camera what was set on it before, also by an earlier process. */
static void
load_overrides (Camera *camera)
{
  const char *name = camera->settings->name, *trouble = store_trouble (name);
  JsonObject *set = store_get (name);
  g_autoptr (GString) wrong = g_string_new (NULL);

  if (trouble)
    camera->closed = g_strdup (trouble);
  else if (set && !overrides_load (camera->overrides, set, wrong))
    camera->closed = g_strdup_printf ("what commands have set cannot be read from %s: %s; put it right and start "
                                      "cf-watch anew, or have it forgotten by: forget %s",
        store_path (), wrong->str, name);
}

Camera *
camera_new (CameraSettings *settings)
{
  Camera *camera = g_new0 (Camera, 1);

  camera->settings = camera_settings_ref (settings);
  camera->hub = hub_new ();
  camera->recorder = recorder_new (settings, camera->hub);
  camera->decoder = decoder_new (camera->hub);
  camera->overrides = overrides_new (settings->name);
  load_overrides (camera);
  camera->delay = FIRST_DELAY;
  camera->gpu = -1;
  set_state (camera, CAMERA_NEW);
  serve_camera (settings->name, settings->shown ? camera->hub : NULL);
  return camera;
}

void
camera_free (Camera *camera)
{
  for (GSList *l = camera->aside; l; l = l->next)
    ((Stopping *) l->data)->camera = NULL;
  g_slist_free (camera->aside);
  camera_settings_unref (camera->settings);
  recorder_unref (camera->recorder);
  decoder_free (camera->decoder);
  hub_unref (camera->hub);
  overrides_free (camera->overrides);
  g_free (camera->closed);
  g_free (camera->reason);
  g_free (camera->format);
  g_free (camera->rate);
  g_free (camera->warned);
  g_free (camera);
}

static void
cancel_retry (Camera *camera)
{
  if (camera->look)
    look_cancel (g_steal_pointer (&camera->look));
  if (camera->retry_timer)
    g_source_remove (camera->retry_timer);
  camera->retry_timer = 0;
}

void
camera_restart (Camera *camera, CameraSettings *settings, const char *by)
{
  if (settings && strcmp (settings->filter, camera->settings->filter))
    proof_note_line (recorder_proof (camera->recorder), settings->filter, by);
  cancel_retry (camera);
  happen (camera, EVENT_AGAIN);
  if (settings) {
    camera_settings_unref (camera->settings);
    camera->settings = camera_settings_ref (settings);
    camera->endless = FALSE;
    serve_camera (settings->name, settings->shown ? camera->hub : NULL);
    end_recording (camera);
  }
  camera->delay = FIRST_DELAY;
  camera->software_encoder = camera->no_encoder = camera->no_packets = camera->proven = FALSE;
  camera->lost_at = g_get_monotonic_time ();
  if (camera->state != CAMERA_NEW)
    happen (camera, EVENT_START);
}

void
camera_remove (Camera *camera, gboolean final)
{
  camera->final = final;
  serve_camera (camera->settings->name, NULL);
  cancel_retry (camera);
  happen (camera, EVENT_REMOVE);
  end_recording (camera);
}

PipelineCounts
camera_counts (Camera *camera)
{
  PipelineCounts counts = camera_runs (camera) ? pipeline_counts (camera->pipeline) : (PipelineCounts) { 0 };

  counts.frames += camera->frames;
  counts.dropped += camera->dropped;
  counts.not_encoded += camera->not_encoded;
  return counts;
}

gboolean
camera_is_gone (Camera *camera)
{
  return camera->state == CAMERA_GONE && !recorder_is_busy (camera->recorder);
}

void
camera_tick (Camera *camera)
{
  gint64 now = g_get_monotonic_time (), silent;
  guint timeout = camera->settings->timeout + camera->settings->every;
  PipelineCounts counts;

  if (now - camera->since > STOPS_WITHIN)
    happen (camera, EVENT_LATE);
  if (!camera_runs (camera))
    return;
  counts = pipeline_counts (camera->pipeline);
  camera->fps = (double) (counts.frames - camera->ticked);
  camera->ticked = counts.frames;
  silent = now - (counts.last_frame ? counts.last_frame : camera->begun);
  if (camera->state == CAMERA_UP) {
    g_autolist (GstElement) elements = find_elements (pipeline_filter (camera->pipeline), "name");

    overrides_retry (camera->overrides, elements);
    if (camera->settings->record.folder && ++camera->looked % LOOKS == 0)
      proof_look (recorder_proof (camera->recorder), elements);
    if (now - camera->since > GOOD)
      camera->delay = FIRST_DELAY;
  }
  if (silent > (gint64) timeout * (counts.last_frame ? 1 : 2) * G_USEC_PER_SEC) {
    g_autofree char *reason = g_strdup_printf ("no frame for %d s", (int) (silent / G_USEC_PER_SEC));

    lose (camera, reason);
  }
}

/* ---- the filter ---------------------------------------------------------- */

/* Returns the filter's elements, in the order of the line. Free the list with its references. A camera that is away has
 * no pipeline, but a filter made for the question can be asked and set: the next pipeline gets it. */
static GList *
camera_elements (Camera *camera, GString *wrong)
{
  const char *line = *camera->settings->filter ? camera->settings->filter : "identity";
  GstElement *bin;
  GList *elements;

  if (camera_runs (camera))
    return find_elements (pipeline_filter (camera->pipeline), "name");
  if (!(bin = make_filter ("filter ", line, wrong)))
    return NULL;
  gst_object_ref_sink (bin);
  elements = find_elements (bin, "name");
  overrides_apply (camera->overrides, elements);
  gst_object_unref (bin);
  return elements;
}

void
camera_set (Camera *camera, const char *target, const char *value, Role role, const char *by, GString *wrong)
{
  g_autolist (GstElement) elements = camera_elements (camera, wrong);
  const gboolean open = role < ROLE_ADMIN && may_set_while_open (camera->settings, elements);
  GstBus *bus = camera_runs (camera) ? pipeline_bus (camera->pipeline) : NULL;
  gboolean was_refused;

  proof_count (recorder_proof (camera->recorder), NULL);
  if (!elements || !overrides_set (camera->overrides, elements, bus, target, value, open, &was_refused, wrong))
    return;
  renew_pictures (camera, elements);
  save_overrides (camera);
  if (bus)
    proof_note (recorder_proof (camera->recorder), elements, target, value, by);
  /* This may be the value that was wrong. */
  if (camera->state == CAMERA_FAILED || (camera->state == CAMERA_WAITING && was_refused))
    camera_restart (camera, NULL, by);
}

gboolean
camera_next (Camera *camera, FilterNext next, gpointer data)
{
  const gboolean passes = camera->state == CAMERA_UP && !pipeline_has_packets (camera->pipeline);

  if (passes)
    filter_next (pipeline_filter (camera->pipeline), next, data);
  return passes;
}

gboolean
camera_may_set (Camera *camera, const char *target, const char *value, GString *wrong)
{
  g_autolist (GstElement) elements = camera_elements (camera, wrong);

  return elements && may_set (camera->settings, elements, target, value, wrong);
}

GstElement *
camera_pictures (Camera *camera)
{
  return pipeline_has_packets (camera->pipeline) ? decoder_pictures (camera->decoder)
                                                 : pipeline_filter (camera->pipeline);
}

void
camera_enable (Camera *camera, gboolean on, Role role, const char *by, GString *wrong)
{
  g_autolist (GstElement) elements = camera_elements (camera, wrong);

  proof_count (recorder_proof (camera->recorder), NULL);
  overrides_enable (camera->overrides, elements, on,
      role < ROLE_ADMIN && may_set_while_open (camera->settings, elements), wrong);
  if (camera_runs (camera) && !wrong->len)
    proof_note (recorder_proof (camera->recorder), elements, "enabled", on ? "true" : "false", by);
  renew_pictures (camera, elements);
  save_overrides (camera);
}

void
camera_forget (Camera *camera, const char *by)
{
  const gboolean any = camera->closed || !overrides_is_empty (camera->overrides);

  store_forget (camera->settings->name);
  overrides_forget (camera->overrides);
  g_clear_pointer (&camera->closed, g_free);
  if (any) {
    proof_note_line (recorder_proof (camera->recorder), camera->settings->filter, by);
    camera_restart (camera, NULL, by);
  }
}

JsonNode *
camera_get (Camera *camera, const char *target, GString *wrong)
{
  g_autolist (GstElement) elements = camera_elements (camera, wrong);

  return elements ? overrides_get (elements, target, wrong) : NULL;
}

GstElement *
camera_find_element (Camera *camera, const char *target, GString *wrong)
{
  g_autolist (GstElement) elements = camera_elements (camera, wrong);
  int index;

  if (!elements || !overrides_find (elements, target, &index, wrong))
    return NULL;
  return gst_object_ref (g_list_nth_data (elements, (guint) index));
}

JsonArray *
camera_describe (Camera *camera, char **line, GString *wrong)
{
  g_autolist (GstElement) elements = camera_elements (camera, wrong);

  *line = elements ? properties_line (elements) : NULL;
  return elements ? properties_json (elements) : NULL;
}

/* ---- status -------------------------------------------------------------- */

static JsonArray *
elements_status (Camera *camera)
{
  g_autolist (GstElement) elements = find_elements (pipeline_filter (camera->pipeline), "name");
  JsonArray *array = json_array_new ();
  guint index = 0;

  for (GList *l = elements; l; l = l->next, index++) {
    gboolean ours = g_object_class_find_property (G_OBJECT_GET_CLASS (l->data), "active-backend") != NULL;
    g_autofree char *backend = ours ? active_backend (l->data) : NULL;
    GstStructure *stats = NULL;

    if (ours)
      g_object_get (l->data, "stats", &stats, NULL);
    json_array_add_object_element (array,
        object_of ("name", text_node (GST_OBJECT_NAME (l->data)), "kind", word_node (element_kind (l->data)), "index",
            int_node (index), "backend", ours ? word_node (backend) : NULL, "stats",
            stats ? structure_node (stats) : NULL, NULL));
    gst_clear_structure (&stats);
  }
  return array;
}

const char *
camera_state_name (CameraState state)
{
  static const char *const names[] = {
    [CAMERA_NEW] = "waiting",
    [CAMERA_WAITING] = "waiting",
    [CAMERA_LOOKING] = "starting",
    [CAMERA_STARTING] = "starting",
    [CAMERA_UP] = "up",
    [CAMERA_STOPPING] = "stopping",
    [CAMERA_STUCK] = "stuck",
    [CAMERA_FAILED] = "failed",
    [CAMERA_ENDED] = "ended",
    [CAMERA_GONE] = "ended",
  };

  return names[state];
}

JsonObject *
camera_status (Camera *camera)
{
  JsonObject *record = recorder_status (camera->recorder);
  gboolean runs = camera_runs (camera), sized = camera->width > 0;
  const double up = camera->state == CAMERA_UP ? (double) (g_get_monotonic_time () - camera->since) : 0;
  const PipelineCounts counts = camera_counts (camera);
  g_autofree char *backend = camera_backend (camera);
  guint64 missed, unmasked;
  const gboolean hides = proof_count (recorder_proof (camera->recorder), &unmasked);
  guint viewers;

  hub_count (camera->hub, &viewers, &missed);
  json_object_set_int_member (record, "dropped",
      json_object_get_int_member (record, "dropped") + (gint64) counts.not_encoded);
  return object_of ("state", word_node (camera_state_name (camera->state)), "frames", int_node ((gint64) counts.frames),
      "fps", number_node (camera->fps), "dropped", int_node ((gint64) counts.dropped), "restarts",
      int_node ((gint64) camera->restarts), "unmasked", hides ? int_node ((gint64) unmasked) : NULL, "aside",
      camera->aside ? int_node (g_slist_length (camera->aside)) : NULL, "reason",
      camera->reason ? text_node (camera->reason) : NULL, "width", sized ? int_node (camera->width) : NULL, "height",
      sized ? int_node (camera->height) : NULL, "backend", word_node (backend), "gpu",
      camera->gpu >= 0 ? int_node (camera->gpu) : NULL, "own",
      runs && pipeline_has_packets (camera->pipeline) ? bool_node (TRUE) : NULL, "uptime_s",
      number_node (up / G_USEC_PER_SEC), "record", object_node (record), "live",
      camera->settings->shown || camera->settings->on_page
          ? object_node (object_of ("clients", int_node (viewers), "dropped", int_node ((gint64) missed), NULL))
          : NULL,
      "elements", runs ? array_node (elements_status (camera)) : NULL, NULL);
}
