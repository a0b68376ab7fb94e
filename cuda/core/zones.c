/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/zones.c: reads polygons from text, with names (zones) and without. */
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define EXAMPLE "0.1,0.2 0.4,0.2 0.4,0.6"

/* Reads the name of a zone and the colon. Returns whether they are there. */
static bool
read_name (CfTextList *list, CfZone *zone)
{
  const size_t to = strcspn (list->text, ":;");
  size_t n = to;

  while (n > 0 && strchr (" \t\r\n", list->text[n - 1]))
    n--;
  if (list->text[to] != ':' || n == 0 || n >= sizeof zone->name)
    return false;
  memcpy (zone->name, list->text, n);
  zone->name[n] = '\0';
  list->text += to + 1;
  return true;
}

/* Where the zones with a name are: a table that is twice as large as their number at least, in which an entry is the
 * number of a zone, from 1 on, in the first free place from its name's hash on. */
typedef struct {
  unsigned *entry, mask;
} Names;

/* Enters the name of the zone behind the last one. Returns false where an earlier zone has it. */
static bool
enter_name (Names *names, const CfZones *zones)
{
  const char *name = zones->zone[zones->n].name;
  uint32_t hash = 2166136261u; /* FNV-1a */
  unsigned *entry;

  for (const char *c = name; *c; c++)
    hash = (hash ^ (unsigned char) *c) * 16777619u;
  for (; *(entry = &names->entry[hash & names->mask]); hash++)
    if (strcmp (zones->zone[*entry - 1].name, name) == 0)
      return false;
  *entry = zones->n + 1;
  return true;
}

/* Reads polygons, with names unless `names` is NULL. `corner` has room for `room` corners. */
static CfCode
read_zones (CfTextList *list, CfZones *zones, CfCorner *corner, size_t room, Names *names, CfStatus *status)
{
  while (cf_text_next (list)) {
    CfZone *zone = &zones->zone[zones->n];
    bool point, inside = true;
    int n;

    *zone = (CfZone) { .corner = corner };
    if (names && !read_name (list, zone))
      return cf_text_refuse (list, "must begin with a name of up to 63 bytes and a colon", status);
    if (names && !enter_name (names, zones))
      return cf_text_refuse (list, "has the name of an earlier one", status);
    n = cf_text_tuples (list, 2, &corner->x, (unsigned) room, &point);
    for (int i = 0; i < n; i++)
      inside = inside && corner[i].x >= 0 && corner[i].x <= 1 && corner[i].y >= 0 && corner[i].y <= 1;
    if (n < 0 || !inside)
      return cf_text_refuse (list, "must have corners x,y in fractions of the frame, from 0 to 1", status);
    if (n < 3)
      return cf_text_refuse (list, "must have three corners or more", status);
    zone->n = (unsigned) n;
    zones->n++;
    corner += n;
    room -= (size_t) n;
  }
  return CF_OK;
}

static CfZones *
new_zones (CfTextList *list, bool named, CfStatus *status)
{
  const char *text = list->text ? list->text : "";
  const size_t length = strlen (text), n_corners = length / 3 + 1; /* a corner has three bytes or more */
  size_t n_zones = 1;
  CfCode code = CF_NO_MEMORY;
  Names names = { 0 };
  CfZones *zones;
  CfCorner *corner;

  for (size_t i = 0; i < length; i++)
    n_zones += text[i] == ';';
  zones = length <= CF_TEXT_MAX || !named
      ? malloc (sizeof *zones + n_corners * sizeof *corner + n_zones * sizeof (CfZone))
      : NULL;
  while (zones && names.mask < 2 * n_zones)
    names.mask = 2 * names.mask + 1;
  names.entry = zones ? calloc (names.mask + 1, sizeof *names.entry) : NULL;
  if (names.entry) {
    corner = (CfCorner *) (zones + 1);
    *zones = (CfZones) { .zone = (CfZone *) (corner + n_corners) };
    code = read_zones (list, zones, corner, n_corners, named ? &names : NULL, status);
  } else {
    cf_fail (status, CF_NO_MEMORY, "out of memory: %s of %zu bytes", list->what, length);
  }
  free (names.entry);
  if (code == CF_OK)
    return zones;
  free (zones);
  return NULL;
}

CfZones *
cf_zones_new (const char *text, CfStatus *status)
{
  CfTextList list = { .what = "zones", .example = "door: " EXAMPLE, .text = text };

  return new_zones (&list, true, status);
}

CfZones *
cf_polygons_new (const char *text, CfStatus *status)
{
  CfTextList list = { .what = "mask-polygons", .example = EXAMPLE, .text = text };

  return new_zones (&list, false, status);
}

void
cf_zones_free (CfZones *zones)
{
  free (zones);
}

CfCode
cf_zones_check (const char *text, CfStatus *status)
{
  CfStatus local;
  CfZones *zones = cf_zones_new (text, status ? status : &local);

  free (zones);
  return zones ? CF_OK : status ? status->code : local.code;
}
