/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * mqtt.h: events to a broker, and messages from it, by a thread of its own. Main thread; no function waits for the
 * network but mqtt_stop (). */
#ifndef PIPELINES_WATCH_MQTT_H
#define PIPELINES_WATCH_MQTT_H

#include "config.h"

/* Takes a message of a topic that is subscribed to. `text`: NULL: it was no UTF-8, or longer than 64 KiB. */
typedef void (*MqttTaker) (const char *topic, const char *text, gboolean retained);

#ifdef HAVE_MOSQUITTO
/* Starts the thread if the configuration names a broker. `subscriptions`: topics, NULL-terminated; NULL: none. */
void mqtt_start (const Config *config, char **subscriptions, MqttTaker take);
/* Queues an event; an EventSink. While the broker is away the last 10000 are kept. */
void mqtt_publish (const char *line, const char *camera, const char *type);
/* Queues a message. Returns FALSE if the broker is away, or much waits for it: only events are kept then. */
gboolean mqtt_send (const char *topic, const char *text, gboolean retained);
/* Sends what is queued and says good-bye; waits for 2.5 s at most. */
void mqtt_stop (void);
/* Returns "off", "connected" or "away". */
const char *mqtt_state (void);
#else /* config.c refuses the setting */
#define mqtt_publish(line, camera, type) ((void) (line), (void) (camera), (void) (type))
#define mqtt_stop() ((void) 0)
#define mqtt_state() "off"
#endif

#endif
