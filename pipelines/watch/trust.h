/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * trust.h: what a network camera may not do: show another certificate than its own, or send cf-watch to another
 * address. */
#ifndef PIPELINES_WATCH_TRUST_H
#define PIPELINES_WATCH_TRUST_H

#include "config.h"

/* The end of the sentence "The camera redirects to ...: ". */
#define TRUST_NO_REDIRECT \
  "that is not followed, since a camera must not choose what is read, and its password is for its own address; set " \
  "the address as \"source\" if it is the camera's, too"

/* Prepares the source of a camera's pipeline, an rtspsrc or a souphttpsrc. Name and password become properties, so that
 * no address contains them. Certificates are checked as the settings say, and a redirect is not followed. What is
 * refused becomes an error of the pipeline. */
void trust_set_up (GstElement *source, GstElement *pipeline, const CameraSettings *settings);

#endif
