/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * encode.h: the branch of a camera's pipeline that makes H.264 for the recorder. */
#ifndef PIPELINES_WATCH_ENCODE_H
#define PIPELINES_WATCH_ENCODE_H

#include "pipeline.h"

/* Adds the branch behind the tee. Where that cannot be, says why in `note`: the camera goes on without. */
void pipeline_add_encoder (Pipeline *pipeline, const PipelinePlan *plan, GstElement *tee, GString *note);

#endif
