/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * zones.c: as many zones as a text has room for. Their names are compared a few times each, not each with all others:
 * the comparisons of the library go through the linker's --wrap to the functions below. And of several errors the first
 * one in the text is reported. */
#include "cf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT (1 << 20)
#define CORNERS "0,0 0,1 1,0"

static char text[TEXT + 1];
static unsigned long comparisons;
static int passed, failed;

int __real_strcmp (const char *a, const char *b);
int __real_memcmp (const void *a, const void *b, size_t n);
int __wrap_strcmp (const char *a, const char *b);
int __wrap_memcmp (const void *a, const void *b, size_t n);

int
__wrap_strcmp (const char *a, const char *b)
{
  comparisons++;
  return __real_strcmp (a, b);
}

int
__wrap_memcmp (const void *a, const void *b, size_t n)
{
  comparisons++;
  return __real_memcmp (a, b, n);
}

static void
check (bool good, const char *what, unsigned long number)
{
  passed += good;
  failed += !good;
  if (!good)
    printf ("FAIL %s (%lu)\n", what, number);
}

/* Writes n zones with the names "0", "1", ... to `text`, with room for one more. Returns the text's length. */
static size_t
write_zones (unsigned n)
{
  size_t length = 0;

  for (unsigned i = 0; i < n; i++)
    length += (size_t) snprintf (text + length, sizeof text - length, "%x:" CORNERS ";", i);
  return length;
}

/* Adds a zone with a name that is there behind n others. */
static void
check_repeated (unsigned n, unsigned name)
{
  const size_t length = write_zones (n);
  CfStatus status = { 0 };
  char expected[64];

  snprintf (text + length, sizeof text - length, "%x:" CORNERS, name);
  snprintf (expected, sizeof expected, "zones: number %u, ", n + 1);
  comparisons = 0;
  check (!cf_zones_new (text, &status) && status.code == CF_BAD_VALUE, "a repeated name is accepted", n);
  check (strstr (status.message, expected) && strstr (status.message, "has the name of an earlier one"), status.message,
      n);
  check (comparisons < 4ul * n, "so many comparisons of names", comparisons);
}

static void
check_distinct (unsigned n)
{
  CfStatus status = { 0 };
  CfZones *zones;
  bool good;

  write_zones (n);
  comparisons = 0;
  zones = cf_zones_new (text, &status);
  check (comparisons < 4ul * n, "so many comparisons of names", comparisons);
  good = zones && zones->n == n;
  for (unsigned i = 0; good && i < n; i++)
    good = strtoul (zones->zone[i].name, NULL, 16) == i && zones->zone[i].n == 3;
  check (good, zones ? "other zones than those of the text" : status.message, n);
  cf_zones_free (zones);
}

/* The number of the zone that is reported, and a part of the sentence. */
static const struct {
  const char *text, *number, *part;
} wrong[] = {
  { "a:" CORNERS "; b: 2,0; a:" CORNERS, "number 2, ", "must have corners" },
  { "a:" CORNERS "; b: 0,0; a:" CORNERS, "number 2, ", "three corners" },
  { "a:" CORNERS "; a: 2,0; b", "number 2, ", "the name of an earlier one" },
  { "a:" CORNERS "; b:" CORNERS "; b:" CORNERS "; a:" CORNERS, "number 3, ", "the name of an earlier one" },
  { "a:" CORNERS ";; a :" CORNERS, "number 2, ", "the name of an earlier one" },
  { "a:" CORNERS "; b; a:" CORNERS, "number 2, ", "must begin with a name" },
  { "a: 0,0 1,0,,1,1", "number 1, ", "must have corners" },
  { "a: 0,0 1 0 1,1", "number 1, ", "must have corners" },
};

/* Texts of the same three corners. */
static const char *const same[] = { "a: 0,0.25 1,0 .5,1", " a :0,0.25,1,0,0.5,1", "a: 0, 0.25 , 1 ,0\n\t+0.5,1.; ;",
  ";a:-0,000.2500 1,0, 0.5000000000000009,1" };

int
main (void)
{
  unsigned n = 0;

  for (size_t length = 0; length + 2 * strlen ("fffff:" CORNERS ";") < TEXT; n++)
    length += (size_t) snprintf (NULL, 0, "%x:" CORNERS ";", n);
  check (n > 50000, "a text has room for so many zones only", n);
  check_distinct (n);
  check_repeated (n, 0);
  check_repeated (n, n / 2);
  check_repeated (n, n - 1);
  check_repeated (1, 0);
  for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CfStatus status = { 0 };

    check (!cf_zones_new (wrong[i].text, &status), "a wrong text is accepted", i);
    check (strstr (status.message, wrong[i].number) && strstr (status.message, wrong[i].part), status.message, i);
  }
  for (unsigned i = 0; i < sizeof same / sizeof *same; i++) {
    CfStatus status = { 0 };
    CfZones *zones = cf_zones_new (same[i], &status);
    const CfCorner *c = zones && zones->n == 1 && zones->zone[0].n == 3 ? zones->zone[0].corner : NULL;

    check (c && c[0].x == 0 && c[0].y == 0.25 && c[1].x == 1 && c[1].y == 0 && c[2].x == 0.5 && c[2].y == 1,
        zones ? "other corners than those of the text" : status.message, i);
    cf_zones_free (zones);
  }
  printf ("%d passed, %d failed, 0 skipped\n", passed, failed);
  return failed > 0;
}
