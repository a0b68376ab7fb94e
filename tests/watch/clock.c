/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * clock.c: for LD_PRELOAD. The time of day is the machine's plus the seconds in the file CF_CLOCK, a native 64-bit
 * integer, which the test may change at any time. The monotonic clock is left alone, as when a real clock is set; with
 * CF_CLOCK_MONOTONIC in the environment it is ahead as well, as if so much time had passed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default)

static const volatile int64_t *ahead; /* s */
static int monotonic;

__attribute__ ((constructor)) static void
begin (void)
{
  const char *path = getenv ("CF_CLOCK");
  int file = path ? open (path, O_RDONLY | O_CLOEXEC) : -1;
  void *map = file < 0 ? MAP_FAILED : mmap (NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);

  monotonic = getenv ("CF_CLOCK_MONOTONIC") != NULL;
  if (map != MAP_FAILED)
    ahead = map;
  if (file >= 0)
    close (file);
}

int
clock_gettime (clockid_t id, struct timespec *result)
{
  long failed = syscall (SYS_clock_gettime, id, result);

  if (!failed && ahead && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || (monotonic && id == CLOCK_MONOTONIC)))
    result->tv_sec += (time_t) *ahead;
  return (int) failed;
}

int
gettimeofday (struct timeval *restrict result, void *restrict zone)
{
  struct timespec now;

  (void) zone;
  clock_gettime (CLOCK_REALTIME, &now);
  result->tv_sec = now.tv_sec;
  result->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t
time (time_t *result)
{
  struct timespec now;

  clock_gettime (CLOCK_REALTIME, &now);
  if (result)
    *result = now.tv_sec;
  return now.tv_sec;
}
