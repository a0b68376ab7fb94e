/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * devices.c: the choice of the GPU for the next element, with made-up counts. */
#include "gstcfdevices.h"
#include "common.h"

GST_START_TEST (fewest)
{
  static const struct {
    guint n, numbers[4], right;
  } rows[] = { { 0, { 0 }, 0 }, { 1, { 7 }, 0 }, { 2, { 0, 0 }, 0 }, { 2, { 3, 2 }, 1 }, { 4, { 5, 1, 1, 2 }, 1 },
    { 4, { 9, 9, 9, 8 }, 3 }, { 3, { 0, 1, 2 }, 0 } };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    fail_unless_equals_int (gst_cf_devices_fewest (rows[i].numbers, rows[i].n), rows[i].right);
}
GST_END_TEST

/* New elements are distributed evenly; a device that loses an element is next. */
GST_START_TEST (dealt_out)
{
  gint given[4] = { 0 };

  for (gint i = 0; i < 10; i++) {
    gint device = gst_cf_devices_choose (4);

    fail_unless_equals_int (device, i % 4);
    gst_cf_devices_count (device, 1);
    given[device]++;
  }
  gst_cf_devices_count (3, -1);
  fail_unless_equals_int (gst_cf_devices_choose (4), 3);
  gst_cf_devices_count (0, 5); /* elements with a device number, or on a neighbour's device */
  fail_unless_equals_int (gst_cf_devices_choose (2), 1);
  fail_unless_equals_int (gst_cf_devices_choose (1), 0);
  fail_unless_equals_int (gst_cf_devices_choose (0), 0);
  gst_cf_devices_count (-1, 1);
  gst_cf_devices_count (GST_CF_MAX_DEVICES, 1);
  fail_unless_equals_int (gst_cf_devices_choose (1000), 4);
  fail_unless_equals_int (given[0] + given[1] + given[2] + given[3], 10);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("devices");

  tcase_add_test (tests, fewest);
  tcase_add_test (tests, dealt_out);
  return run_suite (argc, argv, "devices", tests, FALSE);
}
