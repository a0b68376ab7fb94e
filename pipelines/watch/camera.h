/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * camera.h: one camera: its pipeline is started, watched, and made anew when the camera is lost. The main thread calls
 * all functions; none of them waits for the camera. */
#ifndef PIPELINES_WATCH_CAMERA_H
#define PIPELINES_WATCH_CAMERA_H

#include "config.h"
#include "decode.h"
#include "filter.h"
#include "look.h"
#include "overrides.h"
#include "record.h"
#include "pipeline.h"
#include "users.h"

/* `steps` in camera.c is the table of what leads from one state to another. */
typedef enum {
  CAMERA_NEW,      /* not started yet: it may wait for the end of the camera that had its name before */
  CAMERA_WAITING,  /* lost; waits for the next attempt */
  CAMERA_LOOKING,  /* the files that its filter names are being read (look.h) */
  CAMERA_STARTING, /* it has a pipeline, but no frame has come */
  CAMERA_UP,
  CAMERA_STOPPING, /* its pipeline is being stopped */
  CAMERA_STUCK,    /* too many of its pipelines do not end; nothing can be done but wait */
  CAMERA_FAILED,   /* its settings cannot be made a pipeline, or its filter refuses them */
  CAMERA_ENDED,    /* a file has ended */
  CAMERA_GONE,     /* the camera was removed, and has no pipeline any more */
} CameraState;

typedef struct Stopping Stopping;

typedef struct {
  CameraSettings *settings;
  CameraState state, after; /* after: what follows STOPPING and STUCK */
  Hub *hub;
  Recorder *recorder;
  Decoder *decoder;
  Pipeline *pipeline;                             /* NULL: none; while it stops, still there */
  Overrides *overrides;                           /* what was set by command */
  char *closed;                                   /* why nobody knows what was set before; NULL: it is known */
  char *reason;                                   /* of the last loss; NULL: none yet */
  guint64 frames, dropped, not_encoded, restarts; /* of earlier pipelines; restarts: how often it was lost */
  double fps;
  gint64 since; /* monotonic µs: since when it is in this state */

  GSList *aside; /* of Stopping: pipelines that do not end, and that were replaced by another one */

  /* For camera.c. */
  Look *look;         /* in LOOKING */
  Stopping *stopping; /* the pipeline, in STOPPING and STUCK */
  gboolean final;     /* the process ends: nothing takes the place of what hangs */
  guint watch, retry_timer, delay, attempts;

  /* What it knows of earlier pipelines. */
  gboolean was_up, software_encoder, no_encoder;
  gboolean no_packets; /* its own cannot pass: they do not say when they are shown, or the pictures lie on their side */
  gboolean quiet;      /* a file is played once more: no event */
  gboolean endless;    /* an HTTP stream without a length came once: it is a camera, whatever comes later */
  gboolean proven;     /* frames came since the settings changed or the camera was restarted by command */
  gint64 begun, lost_at, warned_at;
  guint64 ticked;
  guint looked; /* ticks since the proof has looked */
  int gpu, width, height;
  char *format, *rate, *warned;
} Camera;

Camera *camera_new (CameraSettings *settings);
/* Frees a camera that is GONE. */
void camera_free (Camera *camera);
/* Starts a NEW camera. `looked`: the files that its filter names have just been read. */
void camera_start (Camera *camera, gboolean looked);
/* Builds a new pipeline now; `settings`: with these, NULL: the same; `by`: who wants that. A NEW camera is not
 * started. */
void camera_restart (Camera *camera, CameraSettings *settings, const char *by);
/* Stops it for good; `final`: because the process ends. camera_is_gone () says when it has stopped and its files are
 * finished. */
void camera_remove (Camera *camera, gboolean final);
/* Returns how many pipelines of all cameras do not end and are kept aside. */
guint camera_count_aside (void);
/* Returns the counts of all its pipelines, also ended ones; last_frame is of the one that runs. */
PipelineCounts camera_counts (Camera *camera);
gboolean camera_is_gone (Camera *camera);
/* Adds what may be files that its filter reads when it is made: of the line, and of what was set by command. */
void camera_add_files (Camera *camera, GPtrArray *paths);
/* Looks whether frames come; call it once a second. */
void camera_tick (Camera *camera);

/* Set and get "ELEMENT.PROPERTY" of the filter line, as overrides_set () does, or add what is wrong to `wrong`.
 * `role`, `by`: of who sets it. */
void camera_set (Camera *camera, const char *target, const char *value, Role role, const char *by, GString *wrong);
/* Returns whether an operator may do that, as may_set () says. */
gboolean camera_may_set (Camera *camera, const char *target, const char *value, GString *wrong);
/* Calls `next` with the first frame for which what was set up to now counts, as filter_next () does. Returns FALSE
 * where nobody can say: the camera is not up, or its own packets pass. */
gboolean camera_next (Camera *camera, FilterNext next, gpointer data);
JsonNode *camera_get (Camera *camera, const char *target, GString *wrong);
/* Returns the element of "ELEMENT.PROPERTY", or NULL with what is wrong. Unref it. */
GstElement *camera_find_element (Camera *camera, const char *target, GString *wrong);
/* Returns the filter's elements with all their properties, and their line (free it, it may be NULL), as properties.h
 * says; NULL with what is wrong. */
JsonArray *camera_describe (Camera *camera, char **line, GString *wrong);
/* Returns an element behind whose source pad its pictures come. The camera is UP. */
GstElement *camera_pictures (Camera *camera);
/* Sets `enabled` of all elements that have it. */
void camera_enable (Camera *camera, gboolean on, Role role, const char *by, GString *wrong);
/* Returns whether its frames are encoded, while it is up. */
gboolean camera_encodes (const Camera *camera);
/* Forgets what was set, also in the file: the camera is as its filter line says. */
void camera_forget (Camera *camera, const char *by);
/* Returns the state's name for users, to whom NEW is "waiting", LOOKING "starting" and GONE "ended". */
const char *camera_state_name (CameraState state);
/* Returns the status for JSON. */
JsonObject *camera_status (Camera *camera);

#endif
