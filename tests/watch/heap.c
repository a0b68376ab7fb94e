/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * heap.c: for LD_PRELOAD. Each connection to the socket CF_HEAP reads how many bytes the process has allocated and not
 * freed, by its malloc's own count. */
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int door;

static void *
answer (void *data)
{
  for (;;) {
    int client = accept (door, NULL, NULL);
    struct mallinfo2 info = mallinfo2 ();

    if (client < 0)
      return data;
    dprintf (client, "%zu", info.uordblks + info.hblkhd);
    close (client);
  }
}

__attribute__ ((constructor)) static void
begin (void)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  const char *path = getenv ("CF_HEAP");
  pthread_t thread;

  if (!path || strlen (path) >= sizeof address.sun_path)
    return;
  strcpy (address.sun_path, path);
  unsetenv ("CF_HEAP"); /* the plugin scanner is another process */
  unsetenv ("LD_PRELOAD");
  door = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (door >= 0 && bind (door, (const struct sockaddr *) &address, sizeof address) == 0 && listen (door, 8) == 0 &&
      pthread_create (&thread, NULL, answer, NULL) == 0)
    pthread_detach (thread);
}
