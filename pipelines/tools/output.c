/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * output.c: files that programs write without destroying others. */

#define _GNU_SOURCE 1 /* renameat2 */
#include "output.h"
#include "line.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static gboolean
is_one_of (const GStatBuf *file, const char *const *others)
{
  GStatBuf other;

  for (; others && *others; others++)
    if (!g_stat (*others, &other) && other.st_dev == file->st_dev && other.st_ino == file->st_ino)
      return TRUE;
  return FALSE;
}

gboolean
output_check (const char *option, const char *path, gboolean force, const char *const *inputs)
{
  g_autofree char *folder = g_path_get_dirname (path);
  GStatBuf out;

  if (!path[0] || g_str_has_suffix (path, "/") || g_file_test (path, G_FILE_TEST_IS_DIR))
    return complain ("%s \"%s\" is a folder; a file name is needed", option, path);
  if (!g_file_test (folder, G_FILE_TEST_IS_DIR))
    return complain ("%s \"%s\": there is no folder \"%s\"", option, path, folder);
  if (g_access (folder, W_OK))
    return complain ("%s \"%s\": the folder \"%s\" cannot be written: %s", option, path, folder, g_strerror (errno));
  if (!g_stat (path, &out)) {
    if (!S_ISREG (out.st_mode))
      return complain ("%s \"%s\" is not a file but a device or a pipe; a file name is needed", option, path);
    if (is_one_of (&out, inputs))
      return complain ("%s \"%s\" is the input; another name is needed", option, path);
  }
  if (!force && !g_lstat (path, &out)) /* a link without a target as well */
    return complain ("%s \"%s\" exists already; --force replaces it", option, path);
  return TRUE;
}

/* Renames the file without replacing another one; with `force`, replaces it. Sets errno. */
static gboolean
give_name (const char *from, const char *to, gboolean force)
{
  GStatBuf other;

  if (force)
    return !g_rename (from, to);
  if (!renameat2 (AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
    return TRUE;
  if (errno != EINVAL && errno != ENOSYS)
    return FALSE;
  if (!g_lstat (to, &other)) { /* a file system without that flag */
    errno = EEXIST;
    return FALSE;
  }
  return !g_rename (from, to);
}

gboolean
output_part_done (const char *option, const char *part, const char *path, gboolean force)
{
  return give_name (part, path, force) ||
      complain ("%s \"%s\": the result stays in \"%s\": %s", option, path, part, g_strerror (errno));
}

static gboolean
write_all (int file, const char *text, gsize length)
{
  while (length > 0) {
    gssize n = write (file, text, length);

    if (n < 0 && errno != EINTR)
      return FALSE;
    if (n > 0) {
      text += n;
      length -= (gsize) n;
    }
  }
  return TRUE;
}

gboolean
output_write (const char *option, const char *path, gboolean force, const char *text, gsize length)
{
  g_autofree char *part = g_strdup_printf ("%s.XXXXXX", path);
  int file = g_mkstemp_full (part, O_RDWR | O_CLOEXEC, 0666);
  gboolean written = file >= 0 && write_all (file, text, length);
  int why = errno;

  if (file >= 0 && close (file) && written) {
    written = FALSE;
    why = errno;
  }
  if (written)
    return output_part_done (option, part, path, force);
  if (file >= 0)
    g_unlink (part);
  return complain ("%s \"%s\" cannot be written: %s", option, path, g_strerror (why));
}

char *
output_part_new (const char *option, const char *path, gboolean force, const char *const *inputs)
{
  g_autofree char *part = g_strconcat (path, ".part", NULL);
  GStatBuf info;
  int file;

  if (!output_check (option, path, force, inputs))
    return NULL;
  file = g_open (part, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666); /* open, and locked, until the program ends */
  if (file < 0 || fstat (file, &info))
    complain ("%s \"%s\" cannot be written: %s", option, part, g_strerror (errno));
  else if (is_one_of (&info, inputs))
    complain ("%s \"%s\": the unfinished file would be the input, \"%s\"; another name is needed", option, path, part);
  else if (flock (file, LOCK_EX | LOCK_NB))
    complain ("%s \"%s\": another program is writing it", option, path);
  else if (!force && info.st_size > 0)
    complain ("%s \"%s\": an earlier program has left \"%s\"; look at it and remove it, or use --force", option, path,
        part);
  else
    return g_steal_pointer (&part);
  if (file >= 0)
    close (file);
  return NULL;
}
