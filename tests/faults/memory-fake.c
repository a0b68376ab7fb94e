/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * memory-fake.c: the memory of the fake GPU: each block is known, and what is freed must not be in use. */
#include "fake-private.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BLOCKS 256

static struct {
  uint8_t *memory;
  size_t size;
} blocks[MAX_BLOCKS];

void
fake_forget_blocks (void)
{
  for (int i = 0; i < MAX_BLOCKS; i++) {
    free (blocks[i].memory);
    blocks[i].memory = NULL;
  }
}

bool
fake_is_allocated (const uint8_t *data)
{
  for (int i = 0; i < MAX_BLOCKS; i++)
    if (blocks[i].memory && data >= blocks[i].memory && data < blocks[i].memory + blocks[i].size)
      return true;
  return false;
}

void *
fake_alloc (FakeKind kind, size_t size, CfStatus *status)
{
  void *memory = NULL;
  int i = 0;

  pthread_mutex_lock (&fake_lock);
  if (fake_call (kind, status) == CF_OK) {
    while (i < MAX_BLOCKS && blocks[i].memory)
      i++;
    if (i < MAX_BLOCKS)
      memory = blocks[i].memory = aligned_alloc (4096, (size + 4095) & ~(size_t) 4095);
    if (memory) {
      blocks[i].size = size;
      memset (memory, 0, size);
      fake.live++;
    } else {
      cf_fail (status, CF_NO_MEMORY, "out of memory");
    }
  }
  pthread_mutex_unlock (&fake_lock);
  return memory;
}

void *
fake_pinned_alloc (size_t size, CfStatus *status)
{
  /* cuda/core/gpu/device.c makes no call in this case. */
  if (cf_gpu_lost ()) {
    cf_fail_lost (status);
    return NULL;
  }
  return fake_alloc (FAKE_PINNED_ALLOC, size, status);
}

void *
fake_device_alloc (size_t size, CfStatus *status)
{
  return fake_alloc (FAKE_DEVICE_ALLOC, size, status);
}

void
fake_release (void *memory)
{
  int i = 0;

  if (!memory)
    return;
  pthread_mutex_lock (&fake_lock);
  if (fake_is_lost () || fake_call (FAKE_FREE, NULL) != CF_OK) {
    pthread_mutex_unlock (&fake_lock);
    return;
  }
  while (i < MAX_BLOCKS && blocks[i].memory != memory)
    i++;
  if (i < MAX_BLOCKS) {
    fake.misuse += fake_in_use (memory, blocks[i].size);
    free (memory);
    blocks[i].memory = NULL;
    fake.live--;
  } else {
    fake.misuse++; /* not allocated here, or freed before */
  }
  pthread_mutex_unlock (&fake_lock);
}
