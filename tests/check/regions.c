/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * regions.c: compares the regions that a plan reports for a frame with the reference's. */
#include "kernelcheck.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void
kc_regions_free (KcRegions *regions)
{
  g_free (regions->region);
  g_free (regions->label);
  memset (regions, 0, sizeof *regions);
}

/* Returns the name of the first field that differs; NULL: none. `a` is expected, `b` was reported. Both sides are sums
 * of integers, divided once. RGB frames' means go through a matrix whose coefficients may be rounded to 16 bits. */
static const char *
differs (const CfRegion *a, const CfRegion *b, double *expected, double *got)
{
  const struct {
    const char *name;
    double expected, got, off;
  } fields[] = {
    { "id", a->id, b->id, 0 },
    { "age", a->age, b->age, 0 },
    { "area", a->area, b->area, 0 },
    { "x", a->x, b->x, 0 },
    { "y", a->y, b->y, 0 },
    { "width", a->width, b->width, 0 },
    { "height", a->height, b->height, 0 },
    { "centroid-x", a->centroid_x, b->centroid_x, 1e-9 },
    { "centroid-y", a->centroid_y, b->centroid_y, 1e-9 },
    { "mean-y", a->mean[0], b->mean[0], 0.01 },
    { "mean-cb", a->mean[1], b->mean[1], 0.01 },
    { "mean-cr", a->mean[2], b->mean[2], 0.01 },
    { "confirmed", a->confirmed, b->confirmed, 0 },
    { "fresh", a->fresh, b->fresh, 0 },
  };
  /* A region without pixels has no valid fields but the first three. */
  const size_t n = a->area ? G_N_ELEMENTS (fields) : 3;

  for (size_t i = 0; i < n; i++)
    if (!isnan (fields[i].expected) &&
        !(fabs (fields[i].got - fields[i].expected) <= fields[i].off + 1e-12 * fabs (fields[i].expected))) {
      *expected = fields[i].expected;
      *got = fields[i].got;
      return fields[i].name;
    }
  return NULL;
}

static bool
compare_labels (const KcRegions *expected, const CfRegions *got, const CfVideo *video, char *text, size_t size)
{
  for (int y = 0; y < video->height; y++)
    for (int x = 0; x < video->width; x++) {
      const unsigned want = expected->label[(size_t) y * (size_t) video->width + (size_t) x];
      const uint16_t *row = (const uint16_t *) (const void *) ((const uint8_t *) got->label + (size_t) y * got->pitch);

      if (row[x] == want)
        continue;
      snprintf (text, size, "the label at (%d, %d) is %u instead of %u", x, y, row[x], want);
      return false;
    }
  return true;
}

static bool
same_scene (const CfScene *expected, const CfScene *got, char *text, size_t size)
{
  const struct {
    const char *name;
    unsigned expected, got;
  } row[] = { { "blocks", expected->blocks, got->blocks }, { "equal", expected->equal, got->equal },
    { "dark", expected->dark, got->dark }, { "bright", expected->bright, got->bright },
    { "edges", expected->edges, got->edges }, { "back_edges", expected->back_edges, got->back_edges },
    { "same_edges", expected->same_edges, got->same_edges }, { "mean", expected->mean, got->mean },
    { "anew", expected->anew, got->anew }, { "loose", expected->loose, got->loose },
    { "lit", expected->lit, got->lit } };

  for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
    if (row[i].expected != row[i].got) {
      snprintf (text, size, "the scene's %s is %u instead of %u", row[i].name, row[i].got, row[i].expected);
      return false;
    }
  return true;
}

static bool
compare_regions (const KcRegions *expected, const CfRegions *got, bool corrupt, char *text, size_t size)
{
  if (got->n != expected->n) {
    snprintf (text, size, "%u regions are reported instead of %u", got->n, expected->n);
    return false;
  }
  if (got->unknown != expected->unknown) {
    snprintf (text, size, "what moves is %s", got->unknown ? "unknown" : "known, and should not be");
    return false;
  }
  if (got->scene && !same_scene (&expected->scene, got->scene, text, size))
    return false;
  for (unsigned i = 0; i < got->n; i++) {
    CfRegion actual = got->region[i];
    double a, b;
    const char *what;

    actual.age += corrupt && i + 1 == got->n;
    what = differs (&expected->region[i], &actual, &a, &b);
    if (!what)
      continue;
    snprintf (text, size, "region %u of %u: %s is %.12g instead of %.12g", i, got->n, what, b, a);
    return false;
  }
  return true;
}

bool
kc_regions_compare (CfPlan *plan, const KcRegions *expected, const CfVideo *video, bool reports, bool labels,
    bool corrupt, char *text, size_t size)
{
  CfStatus status = { 0 };
  CfRegions got = { 0 };
  const CfCode code = cf_plan_regions (plan, &got, &status);

  if (!reports) {
    if (code != CF_BAD_VALUE)
      snprintf (text, size, "cf_plan_regions returns %d although the parameters do not ask for regions", code);
    return code == CF_BAD_VALUE;
  }
  if (code != CF_OK) {
    snprintf (text, size, "cf_plan_regions: %s", status.message);
    return false;
  }
  if (!compare_regions (expected, &got, corrupt, text, size))
    return false;
  if (labels != (got.label != NULL)) {
    snprintf (text, size, "a label map is %s although label-meta is %s", got.label ? "present" : "missing",
        labels ? "on" : "off");
    return false;
  }
  return !labels || compare_labels (expected, &got, video, text, size);
}
