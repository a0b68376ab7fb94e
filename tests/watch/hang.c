/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * hang.c: for LD_PRELOAD. A disk that does not answer: each call for a file below a folder "hang" waits until the pipe
 * CF_HANG has a writer, and so does writing to one that is open. */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* it gives functions other names */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#pragma GCC visibility push(default)

static void
wait_for_disk (const char *path)
{
  const char *gate = getenv ("CF_HANG");
  long file;

  if (!gate || !path || !strstr (path, "/hang/"))
    return;
  file = syscall (SYS_openat, AT_FDCWD, gate, O_RDONLY | O_CLOEXEC);
  if (file >= 0)
    close ((int) file);
}

#define CALL(type, name, declared, passed) \
  type name declared \
  { \
    type (*next) declared = (type (*) declared) dlsym (RTLD_NEXT, #name); \
\
    wait_for_disk (path); \
    return next passed; \
  }

CALL (int, stat, (const char *path, struct stat *info), (path, info))
CALL (int, stat64, (const char *path, struct stat64 *info), (path, info))
CALL (int, lstat, (const char *path, struct stat *info), (path, info))
CALL (int, lstat64, (const char *path, struct stat64 *info), (path, info))
CALL (int, access, (const char *path, int mode), (path, mode))
CALL (FILE *, fopen, (const char *path, const char *mode), (path, mode))
CALL (FILE *, fopen64, (const char *path, const char *mode), (path, mode))

#define OPEN(name) \
  int name (const char *path, int flags, ...) \
  { \
    int (*next) (const char *, int, ...) = (int (*) (const char *, int, ...)) dlsym (RTLD_NEXT, #name); \
    va_list args; \
    int mode; \
\
    va_start (args, flags); \
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg (args, int) : 0; \
    va_end (args); \
    wait_for_disk (path); \
    return next (path, flags, mode); \
  }

OPEN (open)
OPEN (open64)

static void
wait_for_file (int file)
{
  char link[32], path[PATH_MAX];
  ssize_t n;

  snprintf (link, sizeof link, "/proc/self/fd/%d", file);
  n = readlink (link, path, sizeof path - 1);
  path[n > 0 ? n : 0] = 0;
  wait_for_disk (path);
}

#define WRITE(name, type, count) \
  ssize_t name (int file, type data, count n) \
  { \
    ssize_t (*next) (int, type, count) = (ssize_t (*) (int, type, count)) dlsym (RTLD_NEXT, #name); \
\
    wait_for_file (file); \
    return next (file, data, n); \
  }

WRITE (write, const void *, size_t)
WRITE (writev, const struct iovec *, int)
