/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * fake-private.h: what device-fake.c and memory-fake.c share. */
#ifndef FAKE_PRIVATE_H
#define FAKE_PRIVATE_H

#include "fake.h"

#include <pthread.h>

/* Guards all of the fake GPU; recursive. */
extern pthread_mutex_t fake_lock;

/* Returns memory for queued work, for a stream or for events, after a call of that kind. */
void *fake_alloc (FakeKind kind, size_t size, CfStatus *status);
void fake_release (void *memory);
/* The table's functions. */
void *fake_pinned_alloc (size_t size, CfStatus *status);
void *fake_device_alloc (size_t size, CfStatus *status);
/* Returns whether an address is in such memory. */
bool fake_is_allocated (const uint8_t *data);
/* Frees what the previous run has left. */
void fake_forget_blocks (void);
/* Returns whether queued work uses a part of this memory. */
bool fake_in_use (const uint8_t *memory, size_t size);

#endif
