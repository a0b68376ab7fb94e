/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * updates.c: plans on the CPU, and new parameters for them. Those that need no more memory allocate nothing but their
 * copy; and where any allocation fails, there is no plan, or it filters as before. A frame allocates nothing, whatever
 * part of it is filtered. The allocations of the library go through the linker's --wrap to the functions below. */
#include "cf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 320, HEIGHT = 200, FRAME = WIDTH * HEIGHT };

/* Changes of one parameter. `fixed`: set before. even: neither value needs more memory than the other. */
static const struct {
  const char *stem, *fixed[2], *name, *from, *to;
  bool even;
} changes[] = {
  { "median", { "kernel-size", "3" }, "threshold", "3", "4", true },
  { "median", { "kernel-size", "5" }, "threshold", "3", "4", true },
  { "median", { "kernel-size", "31" }, "percentile", "40", "60", true },
  { "median", { "percentile", "30" }, "kernel-size", "3", "31", false },
  { "median", { "percentile", "30" }, "kernel-size", "31", "7", false },
  { "median", { "percentile", "30" }, "kernel-size", "7", "9", false },
  { "median", { "percentile", "50" }, "kernel-size", "5", "3", false },
  { "convolve", { "kernel-size", "7" }, "sigma", "1.1", "1.2", true },
  { "convolve", { "preset", "gauss" }, "kernel-size", "3", "63", false },
  { "convolve", { "preset", "gauss" }, "kernel-size", "63", "3", false },
  { "convolve", { "kernel-size", "7" }, "preset", "gauss", "mosaic", false },
  { "irfilter", { "preset", "smooth" }, "sigma", "3.1", "3.2", true },
  { "irfilter", { "preset", "smooth" }, "sigma", "3", "50", false },
  { "segment", { "cell-size", "4" }, "merge-threshold", "0.1", "0.2", true },
  { "segment", { "temporal", "0" }, "cell-size", "8", "1", false },
  { "denoise", { "noise", "5" }, "strength", "100", "50", true },
  { "denoise", { "strength", "100" }, "noise", "5", "-1", true },
};

static uint8_t input[FRAME], before[FRAME], after[FRAME];
static int passed, failed;

/* ---- allocations --------------------------------------------------------- */

void *__real_malloc (size_t size);
void *__real_calloc (size_t n, size_t size);
void *__real_realloc (void *memory, size_t size);
void *__real_aligned_alloc (size_t alignment, size_t size);
void *__wrap_malloc (size_t size);
void *__wrap_calloc (size_t n, size_t size);
void *__wrap_realloc (void *memory, size_t size);
void *__wrap_aligned_alloc (size_t alignment, size_t size);

static unsigned n_allocations, n_granted = ~0u; /* n_granted: further ones fail; all are granted before main () */

static bool
granted (void)
{
  return n_allocations++ < n_granted;
}

void *
__wrap_malloc (size_t size)
{
  return granted () ? __real_malloc (size) : NULL;
}

void *
__wrap_calloc (size_t n, size_t size)
{
  return granted () ? __real_calloc (n, size) : NULL;
}

void *
__wrap_realloc (void *memory, size_t size)
{
  return granted () ? __real_realloc (memory, size) : NULL;
}

void *
__wrap_aligned_alloc (size_t alignment, size_t size)
{
  return granted () ? __real_aligned_alloc (alignment, size) : NULL;
}

/* Counts anew from here on, and grants that many allocations. */
static void
grant (unsigned n)
{
  n_allocations = 0;
  n_granted = n;
}

/* ---- changes --------------------------------------------------------------- */

static bool
check (bool good, unsigned i, unsigned n, const char *what)
{
  passed += good;
  failed += !good;
  if (!good)
    printf ("FAIL %s %s=%s, %s from %s to %s, %u allocations: %s\n", changes[i].stem, changes[i].fixed[0],
        changes[i].fixed[1], changes[i].name, changes[i].from, changes[i].to, n, what);
  return good;
}

static void *
new_params (const CfFilter *filter, unsigned i, const char *value)
{
  CfStatus status = { 0 };
  void *params = cf_params_new (filter, NULL);

  if (cf_params_set (filter, params, changes[i].fixed[0], changes[i].fixed[1], &status) != CF_OK ||
      cf_params_set (filter, params, changes[i].name, value, &status) != CF_OK)
    check (false, i, 0, status.message);
  return params;
}

static bool
filter_to (CfPlan *plan, uint8_t *output)
{
  const CfImage in = { .format = CF_FORMAT_GRAY8, .width = WIDTH, .height = HEIGHT, .plane = { { input, WIDTH } } };
  const CfImage out = { .format = CF_FORMAT_GRAY8, .width = WIDTH, .height = HEIGHT, .plane = { { output, WIDTH } } };

  cf_plan_reset (plan);
  return cf_plan_enqueue (plan, NULL, &(CfFrame) { .in = &in, .out = &out }, NULL) == CF_OK;
}

/* Makes a plan with n allocations granted. Returns whether they sufficed. */
static bool
make_with (CfContext *context, unsigned i, unsigned n)
{
  const CfFilter *filter = cf_filter_find (changes[i].stem);
  const CfVideo video = { .format = CF_FORMAT_GRAY8, .width = WIDTH, .height = HEIGHT };
  const CfCommon common = { 0 };
  void *params = new_params (filter, i, changes[i].to);
  CfStatus status = { 0 };
  bool made;
  CfPlan *plan;

  grant (n);
  plan = cf_plan_new (context, filter, &video, &common, params, &status);
  grant (~0u);
  made = plan != NULL;
  check (made || (status.code == CF_NO_MEMORY && status.message[0]), i, n, "it does not say that memory is out");
  check (!made || filter_to (plan, before), i, n, "a plan without its memory");
  cf_plan_free (plan);
  cf_params_free (filter, params);
  return made;
}

/* Makes a plan and changes the parameter with n allocations granted. Returns whether they sufficed. */
static bool
change_with (CfContext *context, unsigned i, unsigned n)
{
  const CfFilter *filter = cf_filter_find (changes[i].stem);
  const CfVideo video = { .format = CF_FORMAT_GRAY8, .width = WIDTH, .height = HEIGHT };
  const CfCommon common = { 0 };
  void *from = new_params (filter, i, changes[i].from), *to = new_params (filter, i, changes[i].to);
  CfPlan *plan = cf_plan_new (context, filter, &video, &common, from, NULL);
  CfStatus status = { 0 };
  CfCode code;

  check (plan && filter_to (plan, before), i, n, "the plan does not filter");
  grant (n);
  code = cf_plan_update (plan, &common, to, &status);
  grant (~0u);
  check (code == CF_OK || (code == CF_NO_MEMORY && status.message[0]), i, n, "it does not say that memory is out");
  check (filter_to (plan, after) && (code == CF_OK || memcmp (before, after, FRAME) == 0), i, n,
      "the plan does not filter as before");
  cf_plan_free (plan);
  cf_params_free (filter, from);
  cf_params_free (filter, to);
  return code == CF_OK;
}

/* Goes back and forth: from the second time on there is all memory. */
static void
change_steadily (CfContext *context, unsigned i)
{
  const CfFilter *filter = cf_filter_find (changes[i].stem);
  const CfVideo video = { .format = CF_FORMAT_GRAY8, .width = WIDTH, .height = HEIGHT };
  const CfCommon common = { 0 };
  void *params[2] = { new_params (filter, i, changes[i].from), new_params (filter, i, changes[i].to) };
  CfPlan *plan = cf_plan_new (context, filter, &video, &common, params[0], NULL);
  unsigned least;

  grant (~0u);
  check (cf_filter_check (filter, &video, &common, params[0], NULL) == CF_OK, i, 0, "it is refused");
  cf_params_free (filter, cf_params_new (filter, params[0]));
  least = n_allocations;
  for (int k = 1; plan && k < 10; k++) {
    grant (~0u);
    if (!check (cf_plan_update (plan, &common, params[k % 2], NULL) == CF_OK, i, 0, "it fails") ||
        (k > 1 && !check (n_allocations == least, i, n_allocations, "more than a copy takes")))
      break;
  }
  cf_plan_free (plan);
  cf_params_free (filter, params[0]);
  cf_params_free (filter, params[1]);
}

/* ---- frames ---------------------------------------------------------------- */

/* Filters areas of random sizes without any memory; parts of a frame are filtered as smaller frames. */
static void
filter_areas (CfContext *context, unsigned i, int width, int height)
{
  static uint8_t scratch[FRAME];
  const CfFilter *filter = cf_filter_find (changes[i].stem);
  const CfVideo video = { .format = CF_FORMAT_GRAY8, .width = width, .height = height };
  const CfCommon common = { 0 };
  void *params = new_params (filter, i, changes[i].to);
  CfPlan *plan = cf_plan_new (context, filter, &video, &common, params, NULL);
  const CfTraits traits = cf_filter_traits (filter, &video, &common, params);
  const size_t pitch = (size_t) width;
  const CfImage in = { .format = CF_FORMAT_GRAY8, .width = width, .height = height, .plane = { { input, pitch } } };
  CfImage out = in, other = in;
  uint32_t random = 1;

  out.plane[0].data = after;
  other.plane[0].data = scratch;
  for (int k = 0; plan && k < 100; k++) {
    int side[4]; /* x, y, width, height */
    CfArea *area;

    for (int j = 0; j < 4; j++) {
      random = 1664525 * random + 1013904223;
      side[j] = (int) ((random >> 16) % (uint32_t) (j % 2 ? height : width)) + j / 2;
    }
    area = cf_area_new (&video, &traits,
        &(CfAreaSpec) { .rect = &(CfRect) { side[0], side[1], side[2], side[3] }, .n_rects = 1 }, NULL);
    grant (0);
    check (area &&
            cf_plan_enqueue (plan, NULL, &(CfFrame) { .in = &in, .out = &out, .area = area, .scratch = &other },
                NULL) == CF_OK,
        i, 0, "a frame fails");
    check (n_allocations == 0, i, n_allocations, "a frame takes memory");
    grant (~0u);
    cf_area_unref (area);
  }
  check (plan, i, 0, "there is no plan");
  cf_plan_free (plan);
  cf_params_free (filter, params);
}

int
main (void)
{
  CfContext *context;

  grant (~0u);
  context = cf_context_new (CF_BACKEND_CPU, NULL);
  for (unsigned i = 0; i < FRAME; i++)
    input[i] = (uint8_t) (i * 2654435761u >> 24);
  for (unsigned i = 0; i < sizeof changes / sizeof *changes; i++) {
    unsigned n = 0;

    while (n < 100 && !make_with (context, i, n))
      n++;
    check (n > 0 && n < 100, i, n, "it needs none, or never has enough");
    for (n = 0; n < 100 && !change_with (context, i, n);)
      n++;
    check (n > 0 && n < 100, i, n, "it needs none, or never has enough");
    if (changes[i].even)
      change_steadily (context, i);
    filter_areas (context, i, WIDTH, HEIGHT);
    filter_areas (context, i, 223, 11);
  }
  cf_context_free (context);
  printf ("%d passed, %d failed, 0 skipped\n", passed, failed);
  return failed > 0;
}
