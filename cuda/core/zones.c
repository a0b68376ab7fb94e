/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/zones.c: reads zones from text, in any locale. */
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define EXAMPLE "door: 0.1,0.2 0.4,0.2 0.4,0.6"

static const char *
skip_blanks (const char *text)
{
  return text + strspn (text, " \t\r\n");
}

/* Reads a corner "x,y" of the frame, and a comma behind it. Returns the text behind that and the blanks, or NULL. */
static const char *
read_corner (const char *text, CfCorner *corner)
{
  double n[2];
  bool point;

  text = cf_text_tuple (text, 2, n, &point);
  if (!text || !(n[0] >= 0 && n[0] <= 1 && n[1] >= 0 && n[1] <= 1))
    return NULL;
  *corner = (CfCorner) { n[0], n[1] };
  return skip_blanks (text + (*text == ','));
}

static CfCode
bad_zone (const char *text, unsigned number, const char *wrong, CfStatus *status)
{
  char part[48];

  return cf_fail (status, CF_BAD_VALUE, "zones: number %u, \"%s\", %s; an example is " EXAMPLE, number,
      cf_text_show (text, strcspn (text, ";"), false, part, sizeof part), wrong);
}

/* Reads the name of a zone and the colon. Returns the text behind, or NULL. */
static const char *
read_name (const char *text, CfZone *zone)
{
  const size_t to = strcspn (text, ":;");
  size_t n = to;

  while (n > 0 && strchr (" \t\r\n", text[n - 1]))
    n--;
  if (text[to] != ':' || n == 0 || n >= sizeof zone->name)
    return NULL;
  memcpy (zone->name, text, n);
  zone->name[n] = '\0';
  return skip_blanks (text + to + 1);
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

static CfCode
read_zones (const char *text, CfZones *zones, CfCorner *corner, Names *names, CfStatus *status)
{
  for (text = skip_blanks (text); *text; text = skip_blanks (text + (*text == ';'))) {
    const char *begin = text;
    CfZone *zone = &zones->zone[zones->n];

    if (*text == ';')
      continue;
    *zone = (CfZone) { .corner = corner };
    text = read_name (text, zone);
    if (!text)
      return bad_zone (begin, zones->n + 1, "must begin with a name of up to 63 bytes and a colon", status);
    if (!enter_name (names, zones))
      return bad_zone (begin, zones->n + 1, "has the name of an earlier one", status);
    while (*text && *text != ';') {
      text = read_corner (text, corner);
      if (!text)
        return bad_zone (begin, zones->n + 1, "must have corners x,y in fractions of the frame, from 0 to 1", status);
      corner++;
      zone->n++;
    }
    if (zone->n < 3)
      return bad_zone (begin, zones->n + 1, "must have three corners or more", status);
    zones->n++;
  }
  return CF_OK;
}

CfZones *
cf_zones_new (const char *text, CfStatus *status)
{
  size_t n_zones = 1, n_corners, length;
  CfCode code = CF_NO_MEMORY;
  Names names = { 0 };
  CfZones *zones;
  CfCorner *corner;

  text = text ? text : "";
  length = strlen (text);
  n_corners = length / 3 + 1; /* a corner has three bytes or more */
  for (size_t i = 0; i < length; i++)
    n_zones += text[i] == ';';
  zones = length <= CF_TEXT_MAX ? malloc (sizeof *zones + n_corners * sizeof *corner + n_zones * sizeof (CfZone))
                                : NULL;
  while (zones && names.mask < 2 * n_zones)
    names.mask = 2 * names.mask + 1;
  names.entry = zones ? calloc (names.mask + 1, sizeof *names.entry) : NULL;
  if (names.entry) {
    corner = (CfCorner *) (zones + 1);
    *zones = (CfZones) { .zone = (CfZone *) (corner + n_corners) };
    code = read_zones (text, zones, corner, &names, status);
  } else {
    cf_fail (status, CF_NO_MEMORY, "out of memory: zones of %zu bytes", length);
  }
  free (names.entry);
  if (code == CF_OK)
    return zones;
  free (zones);
  return NULL;
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
