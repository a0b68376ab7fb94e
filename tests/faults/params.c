/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * params.c: an element for whose parameters memory is out, once, at each place where it copies them: when a property is
 * set, when caps come, and before a frame. The old values stay in force, or the stream ends with an error; nothing
 * crashes. The program's linker leads all calls of cf_params_new here. */
#include "onefilter.h"

#include <stdio.h>

static gint calls, fails = -1; /* the call that fails, -1: none */

gpointer __real_cf_params_new (const CfFilter *filter, gconstpointer from);
gpointer __wrap_cf_params_new (const CfFilter *filter, gconstpointer from);

gpointer
__wrap_cf_params_new (const CfFilter *filter, gconstpointer from)
{
  return g_atomic_int_add (&calls, 1) == fails ? NULL : __real_cf_params_new (filter, from);
}

/* Plays some frames, with a change of a property and of the caps, and counts the messages. */
static void
play (const gchar *backend, int *errors, int *warnings)
{
  Filter f;

  calls = *errors = *warnings = 0;
  open_filter (&f, backend, -1, 1);
  begin_stream (&f, "");
  push_frames (&f, 2);
  set_size (&f, 5);
  push_frames (&f, 2);
  push_caps (&f, "", 50);
  push_frames (&f, 1);
  gst_element_set_state (f.element, GST_STATE_NULL);
  faults_count_messages (f.bus, errors, warnings);
  gst_object_unref (f.bus);
  gst_object_unref (f.element);
  gst_object_unref (f.src);
  gst_object_unref (f.sink);
}

static void
check (const gchar *backend)
{
  int errors, warnings, said = 0, n;

  fails = -1;
  play (backend, &errors, &warnings);
  faults_check (errors == 0 && warnings == 0, "a run with enough memory has messages");
  n = calls;
  /* The first one belongs to the object, for which GLib has just got memory. */
  for (fails = 1; fails < n; fails++) {
    play (backend, &errors, &warnings);
    faults_check (errors + warnings <= 1, "a lack of memory is said more than once");
    said += errors + warnings;
  }
  faults_check (said > 0, "no lack of memory is said");
  printf ("%s: %d copies of the parameters, %d failures said\n", backend, n, said);
}

int
main (void)
{
  faults_start ();
  fake_arm (-1, 0, false); /* the GPU has no fault */
  learn ();
  check ("cpu");
  check ("cuda");
  return faults_end ();
}
