/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * config.h: the JSON file that cf-watch is run with. docs/watch.md has all settings. */
#ifndef PIPELINES_WATCH_CONFIG_H
#define PIPELINES_WATCH_CONFIG_H

#include "reader.h"

#include <gst/gst.h>

typedef enum { WHEN_ALWAYS, WHEN_MOTION, WHEN_OFF } RecordWhen;
typedef enum { TRANSPORT_TCP, TRANSPORT_UDP, TRANSPORT_AUTO } Transport;
typedef enum { SOURCE_TEST, SOURCE_DEVICE, SOURCE_URI } SourceKind;

typedef struct {
  char *folder;               /* absolute; NULL: nothing is recorded, and there is no encoder */
  guint when, format;         /* a RecordWhen; 0: Matroska, 1: MP4 */
  guint piece, before, after; /* seconds */
  guint quality;              /* H.264's quantizer, or what is like it, 1 to 51 */
  guint keep_days;            /* 0: for ever */
  guint64 keep_bytes;         /* 0: any amount */
  char *sign;                 /* the file with the private key; NULL: records of pieces are not signed */
  gboolean hashes;            /* of each filtered frame are beside the piece */
} RecordSettings;

/* What the file says about one camera. Counted references; never changed once it is read. */
typedef struct {
  gatomicrefcount count;
  char *name;
  char *text; /* the defaults and the camera as JSON, a line each, to see what a new file changes */
  char *source, *filter, *user;
  char *tls_ca, *tls_pin; /* a file of certificates; a certificate's SHA-256 in small hexadecimal digits */
  SourceKind kind;
  char *place;   /* of the source: a URI, a device or a test pattern's name */
  gboolean live; /* a camera; FALSE: a file or HTTP, which is played at its own speed */
  gboolean http; /* a camera, too, if the stream does not say how long it is */
  gboolean loop;
  guint transport, latency, timeout; /* a Transport; ms; s */
  guint every;                       /* s from one picture to the next that is asked for; 0: they come by themselves */
  guint64 max_bytes;                 /* that may come without a picture */
  guint width, height, rate;         /* 0: not given */
  int gpu;                           /* -1: the one with the fewest cameras */
  guint encode;                      /* 0: only what has no packets of its own that can be recorded, 1: always */
  guint codec;                       /* of what is encoded: an index of `codecs` (codec.h) */
  gboolean own;                      /* such packets pass, without a decoder; there is no filter line */
  gboolean audio;                    /* the camera's own sound is recorded and shown as well */
  gboolean shown, on_page;           /* `live` of the file, where it has `rtsp`; where it has `page` */
  gboolean original;                 /* the page may show its frames before the filter */
  RecordSettings record;
  /* What an operator may set, NULL-terminated; NULL: nothing where the filter hides, else all. */
  char **may_set;
  gboolean may_set_all;
} CameraSettings;

typedef struct {
  char *path; /* of the file; of a trial, which has none, a name in the folder that relative paths begin in */
  char *secrets;
  gboolean index; /* of what moved when, to be searched */
  gboolean trial; /* try.h: nothing outlives the process */
  struct {
    gboolean standard_input;
    char *socket;
  } control;
  struct {
    char *host, *topic, *user, *ca;
    char *discovery; /* Home Assistant's prefix; NULL: it is told nothing */
    guint port;
    gboolean tls, control;
  } mqtt;
  struct {
    gboolean on, allow_remote;
    char *address;
    guint port;
  } metrics;
  struct {
    gboolean on, allow_plain;
    char *address, *users;   /* users: a file as secrets.h says; NULL: only the token opens the page */
    char *token;             /* opens the page; NULL: the state directory has it */
    char **names;            /* further ones of this machine, NULL-terminated; NULL: none */
    char *certificate, *key; /* files; NULL: no TLS */
    guint port;
  } page;
  struct {
    gboolean on;
    char *address, *users;   /* users: a file as secrets.h says; NULL: nobody has to log in */
    char *certificate, *key; /* files; NULL: no TLS */
    guint port, clients;
  } rtsp;
  GPtrArray *cameras; /* of CameraSettings, in the file's order */
  /* `control`, `index`, `mqtt`, `metrics`, `page` and `rtsp` as text: a reload does not take them up. */
  char *process;
  JsonObject *defaults;
} Config;

/* Checks more than the file says, for the cameras whose settings are right. Other cameras may have faults. `top` is the
 * file's object. Adds faults to the reader. */
typedef void (*ConfigCheck) (Reader *reader, JsonObject *top, const Config *config, gpointer data);
/* Returns settings without any camera; nothing is read. */
Config *config_new (const char *path);
/* Returns the settings that the file has, or NULL with a line for each fault in `wrong`: file, line, member, what
 * would be right. `check` may be NULL. */
Config *config_load (const char *path, GString *wrong, ConfigCheck check, gpointer data);
void config_free (Config *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Config, config_free)
/* Returns the settings of one camera from the text of a JSON object, with the file's defaults; NULL with what is
 * wrong. */
CameraSettings *config_read_camera (const Config *config, const char *name, const char *json, GString *wrong);
CameraSettings *camera_settings_ref (CameraSettings *settings);
void camera_settings_unref (CameraSettings *settings);

#endif
