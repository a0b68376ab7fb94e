/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * nvbufsurface.h: the stand-in for NVIDIA's library of surfaces, nvbufsurface.c. */
#ifndef FAULTS_NVBUFSURFACE_H
#define FAULTS_NVBUFSURFACE_H

#include "gstcfnvmm.h"

gint NvBufSurfaceCreate (GstCfNvBuffer **surfaces, guint32 n, GstCfNvRequest *request);
gint NvBufSurfaceDestroy (GstCfNvBuffer *surfaces);
gint NvBufSurfaceMap (GstCfNvBuffer *surfaces, gint index, gint plane, gint how);
gint NvBufSurfaceUnMap (GstCfNvBuffer *surfaces, gint index, gint plane);
gint NvBufSurfaceSyncForCpu (GstCfNvBuffer *surfaces, gint index, gint plane);
gint NvBufSurfaceSyncForDevice (GstCfNvBuffer *surfaces, gint index, gint plane);

/* The kind of new surfaces; how many exist, are mapped; calls that were wrong. */
extern gint stub_memory;
extern _Atomic gint stub_live, stub_mapped, stub_wrong;

#endif
