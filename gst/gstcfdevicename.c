/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfdevicename.c: see gstcfdevicename.h. */
#include "gstcfdevicename.h"

#include <stdio.h>
#include <string.h>

typedef enum { ANY, STRONGEST, BY_UUID, BY_ADDRESS } Kind;

typedef struct {
  Kind kind;
  guint8 uuid[16];
  guint domain, bus, slot;
} Name;

/* Reads the 32 digits of a UUID, in groups of 8, 4, 4, 4 and 12. */
static gboolean
read_uuid (const gchar *text, guint8 uuid[16])
{
  guint n = 0;

  if (strlen (text) != 36)
    return FALSE;
  for (gint i = 0; i < 36; i++) {
    const gboolean between = i == 8 || i == 13 || i == 18 || i == 23;

    if (between ? text[i] != '-' : !g_ascii_isxdigit (text[i]))
      return FALSE;
    if (between)
      continue;
    uuid[n / 2] = (guint8) (uuid[n / 2] << 4 | g_ascii_xdigit_value (text[i]));
    n++;
  }
  return TRUE;
}

static gboolean
read_address (const gchar *text, Name *name)
{
  const gint length = (gint) strlen (text);
  gint end = -1;
  gchar bare[32];

  /* sscanf would take signs and blanks, too. GPUs are function 0. */
  if (strspn (text, "0123456789abcdefABCDEF:.") != (gsize) length || length >= (gint) sizeof bare)
    return FALSE;
  g_strlcpy (bare, text, sizeof bare);
  if (g_str_has_suffix (bare, ".0"))
    bare[length - 2] = '\0';
  if (sscanf (bare, "%8x:%2x:%2x%n", &name->domain, &name->bus, &name->slot, &end) == 3 && !bare[end])
    return TRUE;
  name->domain = 0;
  return sscanf (bare, "%2x:%2x%n", &name->bus, &name->slot, &end) == 2 && !bare[end];
}

#define SHOWN 60 /* bytes of a text in a message */

static CfCode
read_name (const gchar *text, Name *name, CfStatus *status)
{
  gchar shown[SHOWN + 1] = "";

  for (gsize i = 0; text && text[i] && i < SHOWN; i++)
    shown[i] = g_ascii_isprint (text[i]) ? text[i] : '?';
  *name = (Name) { .kind = ANY };
  if (!text || g_ascii_strcasecmp (text, "auto") == 0 || g_ascii_strcasecmp (text, "least-used") == 0)
    return CF_OK;
  name->kind = STRONGEST;
  if (g_ascii_strcasecmp (text, "strongest") == 0)
    return CF_OK;
  name->kind = BY_UUID;
  if (g_ascii_strncasecmp (text, "GPU-", 4) == 0 || g_ascii_strncasecmp (text, "MIG-", 4) == 0) {
    if (read_uuid (text + 4, name->uuid))
      return CF_OK;
    return cf_fail (status, CF_BAD_VALUE,
        "cuda-device \"%s\" is no UUID; one is like GPU-01234567-89ab-cdef-0123-456789abcdef (nvidia-smi -L)", shown);
  }
  name->kind = BY_ADDRESS;
  if (read_address (text, name))
    return CF_OK;
  return cf_fail (status, CF_BAD_VALUE,
      "cuda-device is \"%s\"; it must be auto, least-used, strongest, a UUID (GPU-...) or a PCI address "
      "(0000:01:00.0)",
      shown);
}

CfCode
gst_cf_device_name_check (const gchar *text, CfStatus *status)
{
  Name name;

  return read_name (text, &name, status);
}

static gboolean
is_named (const CfGpuInfo *info, const Name *name)
{
  if (name->kind == BY_UUID)
    return memcmp (info->uuid, name->uuid, sizeof info->uuid) == 0;
  return (guint) info->pci_domain == name->domain && (guint) info->pci_bus == name->bus &&
      (guint) info->pci_slot == name->slot;
}

static gboolean
is_stronger (const CfGpuInfo *a, const CfGpuInfo *b)
{
  const guint64 of_a = (guint64) a->sms * (guint64) a->clock_khz, of_b = (guint64) b->sms * (guint64) b->clock_khz;

  return of_a > of_b || (of_a == of_b && a->memory > b->memory);
}

CfCode
gst_cf_device_name_find (const gchar *text, gint n, guint64 hung, gint *device, CfStatus *status)
{
  const gchar *archs = cf_gpu_state ().archs;
  CfGpuInfo best = { 0 };
  Name name;
  CfCode code = read_name (text, &name, status);

  *device = -1;
  if (code != CF_OK || name.kind == ANY)
    return code;
  for (gint i = 0; i < n; i++) {
    CfGpuInfo info;

    if ((hung >> MIN (i, 63) & 1) || cf_gpu_info (i, &info, NULL) != CF_OK)
      continue;
    if (name.kind == STRONGEST && cf_gpu_check (&info, archs, status) != CF_OK) {
      code = CF_UNSUPPORTED;
      continue;
    }
    if (name.kind == STRONGEST ? *device < 0 || is_stronger (&info, &best) : is_named (&info, &name)) {
      *device = i;
      best = info;
    }
  }
  if (*device >= 0)
    return CF_OK;
  if (code != CF_OK)
    return code;
  return cf_fail (status, CF_UNSUPPORTED, "none of %d GPU%s that CUDA sees is cuda-device \"%.60s\"%s%s", n,
      n == 1 ? "" : "s", text, name.kind == STRONGEST ? "" : "; nvidia-smi -L has UUIDs, nvidia-smi addresses",
      hung ? "; a GPU that hangs is not looked at" : "");
}
