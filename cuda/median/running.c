/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/running.c: the running background's descriptor, and the regions of motion that are made of cells. */
#include "running.h"

#include <stdlib.h>
#include <string.h>

static CfRunning *
running_of (CfPlan *plan)
{
  return plan->state;
}

/* ---- the plan ----------------------------------------------------------- */

CfCode
cf_running_init (CfPlan *plan, CfStatus *status)
{
  CfRunning *r = running_of (plan);
  size_t cells, groups;

  r->width = plan->video.width;
  r->height = plan->video.height;
  r->columns = cf_divide_up (r->width, CF_RUNNING_CELL);
  r->rows = cf_divide_up (r->height, CF_RUNNING_CELL);
  r->n_cells = r->columns * r->rows;
  r->real_x = cf_divide_up (r->width, CF_RUNNING_BLOCK);
  r->real_y = cf_divide_up (r->height, CF_RUNNING_BLOCK);
  r->tile = cf_max (2, (r->rows + 3) / 7);
  r->tiles_x = cf_divide_up (r->columns, r->tile);
  r->tiles_y = cf_divide_up (r->rows, r->tile);
  r->apply_to = plan->common.apply_to;
  cells = (size_t) r->n_cells;
  /* No two groups have cells in the same square of 2 x 2 cells. */
  groups = (size_t) cf_divide_up (r->columns, 2) * (size_t) cf_divide_up (r->rows, 2);
  r->left = calloc (4 * cells, sizeof *r->left);
  r->region = malloc (groups * sizeof *r->region);
  if (!r->left || !r->region)
    return cf_fail (status, CF_NO_MEMORY, "out of memory: motion in %zu cells", cells);
  r->sure_left = r->left + cells;
  r->parent = r->sure_left + cells;
  r->pixels = r->parent + cells;
  return CF_OK;
}

void
cf_running_free (CfPlan *plan)
{
  CfRunning *r = running_of (plan);

  free (r->left);
  free (r->region);
}

static void
forget_cells (CfRunning *r)
{
  memset (r->left, 0, 2 * (size_t) r->n_cells * sizeof *r->left); /* and sure_left */
  r->n_regions = 0;
  r->fresh = false;
}

void
cf_running_reset (CfPlan *plan)
{
  CfRunning *r = running_of (plan);

  r->begun = r->has_back = false;
  forget_cells (r);
}

CfCode
cf_running_update (CfPlan *plan, CfStatus *status)
{
  CfRunning *r = running_of (plan);

  (void) status;
  if (r->apply_to != plan->common.apply_to)
    cf_running_reset (plan);
  r->apply_to = plan->common.apply_to;
  if (!((const CfMedianParams *) plan->params)->motion_meta)
    forget_cells (r);
  return CF_OK;
}

CfRunningFrame
cf_running_frame (CfPlan *plan)
{
  const CfMedianParams *p = plan->params;
  const CfFormatInfo *info = cf_format_info (plan->video.format);
  CfRunning *r = running_of (plan);
  const bool back = p->output != CF_MEDIAN_RESULT;
  CfRunningFrame frame = { .first = !r->begun, .begins = back && !r->has_back, .back = back, .output = p->output };

  r->frame = r->begun ? r->frame + 1 : 0;
  r->begun = true;
  r->has_back = back;
  r->fresh = p->motion_meta != 0;
  frame.step = 1 << (info->bits - 8);
  frame.hold = r->frame % 16 == 0 ? frame.step : 0;
  return frame;
}

/* ---- images ------------------------------------------------------------- */

int
cf_running_views (const CfPlan *plan, const CfImage *image, CfView views[CF_MAX_VIEWS])
{
  CfVideo whole = plan->video;

  whole.interlaced = false;
  return cf_image_views (&whole, &plan->common, image, views);
}

bool
cf_running_rows_are_full (const CfPlan *plan)
{
  const CfImage image = { .format = plan->video.format };
  CfView views[CF_MAX_VIEWS];
  const int n = cf_running_views (plan, &image, views);
  size_t bytes = 0, full = 0;

  for (int i = 0; i < n; i++)
    bytes += (size_t) views[i].width * views[i].bytes;
  for (int p = 0; p < cf_format_info (plan->video.format)->n_planes; p++)
    full += cf_plane_row_bytes (plan->video.format, plan->video.width, p);
  return bytes == full;
}

size_t
cf_running_layout (const CfPlan *plan, size_t offset[CF_MAX_VIEWS], size_t pitch[CF_MAX_VIEWS])
{
  CfPlan whole = *plan;
  CfView views[CF_MAX_VIEWS];
  const CfImage image = { .format = plan->video.format };
  size_t size = 0;
  int n;

  whole.common = (CfCommon) { 0 }; /* room for every component, whatever apply-to will be */
  n = cf_running_views (&whole, &image, views);
  for (int i = 0; i < n; i++) {
    pitch[i] = ((size_t) views[i].width * views[i].bytes + 63) / 64 * 64;
    offset[i] = size;
    if (views[i].filtered)
      size += pitch[i] * (size_t) views[i].height;
  }
  return size;
}

/* ---- motion ------------------------------------------------------------- */

static int
root_of (int *parent, int cell)
{
  while (parent[cell] != cell) {
    parent[cell] = parent[parent[cell]];
    cell = parent[cell];
  }
  return cell;
}

/* Joins two groups; the first cell of both is the root. */
static void
join (int *parent, int a, int b)
{
  a = root_of (parent, a);
  b = root_of (parent, b);
  parent[a > b ? a : b] = cf_min (a, b);
}

/* Joins each cell of a group with its neighbours to the left and above. parent[] is -1 for cells of no group, and the
 * cell itself for the others. */
static void
group_cells (CfRunning *r)
{
  static const int neighbour[4][2] = { { -1, 0 }, { -1, -1 }, { 0, -1 }, { 1, -1 } };

  for (int y = 0, cell = 0; y < r->rows; y++)
    for (int x = 0; x < r->columns; x++, cell++)
      for (int i = 0; i < 4 && r->parent[cell] >= 0; i++) {
        const int u = x + neighbour[i][0], v = y + neighbour[i][1];

        if (u >= 0 && u < r->columns && v >= 0 && r->parent[v * r->columns + u] >= 0)
          join (r->parent, v * r->columns + u, cell);
      }
}

/* Holds cells in motion, and counts down how long others stay: cells that move and whose groups are large enough; or,
 * with `sure`, cells that count, move, and whose groups have a sure cell for each three others or more. */
static void
hold_cells (CfRunning *r, const uint16_t *state, bool sure, int least, int hold)
{
  int *const left = sure ? r->sure_left : r->left, *const weight = r->pixels; /* weight: of a group, at its root */

  for (int cell = 0; cell < r->n_cells; cell++)
    if (sure ? state[cell] & CF_RUNNING_COUNTS && r->left[cell] == hold + 1 : state[cell] & CF_RUNNING_MOVES)
      r->parent[cell] = cell;
    else
      r->parent[cell] = -1;
  group_cells (r);
  memset (weight, 0, (size_t) r->n_cells * sizeof *weight);
  for (int cell = 0; cell < r->n_cells; cell++)
    if (r->parent[cell] >= 0 && sure)
      weight[root_of (r->parent, cell)] += state[cell] & CF_RUNNING_IS_SURE ? 3 : -1;
    else if (r->parent[cell] >= 0)
      weight[root_of (r->parent, cell)] += CF_RUNNING_BLOCK * CF_RUNNING_BLOCK * (state[cell] & CF_RUNNING_CHANGED);
  for (int cell = 0; cell < r->n_cells; cell++)
    if (r->parent[cell] >= 0 && weight[root_of (r->parent, cell)] >= least)
      left[cell] = hold + 1;
    else
      left[cell] = cf_min (left[cell], hold + 1) - (left[cell] > 0);
}

static void
add_cell (const CfRunning *r, CfRegion *region, int cell, int hold)
{
  const int x = cell % r->columns, y = cell / r->columns;
  const int left = x * CF_RUNNING_CELL, top = y * CF_RUNNING_CELL;
  const int w = cf_min (CF_RUNNING_CELL, r->width - left), h = cf_min (CF_RUNNING_CELL, r->height - top); /* pixels */
  const int right = region->x + region->width, bottom = region->y + region->height;

  region->area += (uint32_t) (w * h);
  if (r->sure_left[cell] > 0)
    region->confirmed += (uint32_t) (w * h);
  if (r->sure_left[cell] > hold)
    region->fresh += (uint32_t) (w * h);
  /* sums at first */
  region->centroid_x += (left + (w - 1) / 2.0) * w * h;
  region->centroid_y += (top + (h - 1) / 2.0) * w * h;
  if (left < region->x)
    region->x = left;
  region->width = (left + w > right ? left + w : right) - region->x;
  region->height = (top + h > bottom ? top + h : bottom) - region->y;
}

static void
find_regions (CfRunning *r, int hold)
{
  for (int cell = 0; cell < r->n_cells; cell++)
    r->parent[cell] = r->left[cell] > 0 ? cell : -1;
  group_cells (r);
  r->n_regions = 0;
  for (int cell = 0; cell < r->n_cells; cell++) {
    if (r->parent[cell] < 0)
      continue;
    if (root_of (r->parent, cell) == cell) {
      r->pixels[cell] = (int) r->n_regions; /* the group's index */
      r->region[r->n_regions] = (CfRegion) { .id = r->n_regions + 1,
        .x = cell % r->columns * CF_RUNNING_CELL,
        .y = cell / r->columns * CF_RUNNING_CELL };
      r->n_regions++;
    }
    add_cell (r, &r->region[r->pixels[root_of (r->parent, cell)]], cell, hold);
  }
  for (unsigned i = 0; i < r->n_regions; i++) {
    r->region[i].centroid_x /= r->region[i].area;
    r->region[i].centroid_y /= r->region[i].area;
  }
}

void
cf_running_regions (CfPlan *plan, const uint16_t *cell, const CfScene *scene, CfRegions *regions)
{
  const CfMedianParams *p = plan->params;
  CfRunning *r = running_of (plan);

  if (r->fresh) {
    r->fresh = false;
    hold_cells (r, cell, false, p->motion_min_area, p->motion_hold);
    hold_cells (r, cell, true, 0, p->motion_hold);
    find_regions (r, p->motion_hold);
  }
  *regions = (CfRegions) { .n = r->n_regions,
    .region = r->region,
    .unknown = scene->blocks == 0 || scene->anew,
    .scene = scene };
}

/* ---- the descriptor ------------------------------------------------------ */

static void
traits (const CfVideo *video, const CfCommon *common, const void *params, CfTraits *traits)
{
  const CfMedianParams *p = params;

  (void) common;
  traits->has_regions = p->motion_meta || p->tamper;
  traits->identity = video && p->output == CF_MEDIAN_RESULT && !traits->has_regions;
  traits->stateful = true;
  traits->kept = -1; /* no plan of the window's */
}

const CfFilter cf_running = {
  .traits = traits,
  .cpu = &cf_running_cpu,
#ifdef CF_HAVE_CUDA
  .cuda = &cf_running_cuda,
#endif
};
