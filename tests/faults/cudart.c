/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cudart.c: the device layer by itself: how it waits and polls, its deadlines, what it does after a hang, and what it
 * makes of CUDA's errors. */
#include "core/area.h"
#include "core/gpu/cuda.h"
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C (1000000)
#define SECOND (1000 * MS)

static int passed;

#define CHECK(good) check (good, #good, __LINE__)

static void
check (bool good, const char *what, int line)
{
  passed += good;
  if (good)
    return;
  printf ("cudart.c:%d: not so: %s\n%d passed, 1 failed, 0 skipped\n", line, what, passed);
  exit (1);
}

/* In pinned and in device memory. */
static CfImage image = { .format = CF_FORMAT_GRAY8, .width = 8, .height = 8, .plane = { { NULL, 8 } } };
static CfImage copy = { .format = CF_FORMAT_GRAY8, .width = 8, .height = 8, .plane = { { NULL, 8 } } };

/* Queues work that takes that long. */
static CfCode
queue (CfStream *stream, uint64_t ns)
{
  CfCode code;

  fake_runtime.copy_ns = ns;
  code = cf_stream_copy (stream, CF_UPLOAD, &copy, &image, NULL, NULL);
  fake_runtime.copy_ns = 0;
  return code;
}

/* Returns how long a wait for work of that length takes, by the fake's clock. */
static uint64_t
time_of (CfStream *stream, uint64_t ns, uint64_t deadline_ns, CfCode code)
{
  CfStatus status = { 0 };
  uint64_t start = fake_runtime.now;

  CHECK (queue (stream, ns) == CF_OK);
  fake_runtime.queries = fake_runtime.naps = fake_runtime.yields = 0;
  CHECK (cf_stream_wait (stream, deadline_ns, NULL, &status) == code);
  fake.blocked = 0; /* from now on it is known */
  return fake_runtime.now - start;
}

/* ---- waits ------------------------------------------------------------------ */

/* Without a query while the wait is short, and without a busy core while it is long. */
static void
waits (void)
{
  CfStream *stream = cf_stream_new (NULL, NULL);
  uint64_t took;

  took = time_of (stream, MS / 5, SECOND, CF_OK);
  CHECK (took >= MS / 5 && took < MS / 5 + 20000 && fake_runtime.queries == 0);
  took = time_of (stream, 9 * MS / 10, SECOND, CF_OK);
  CHECK (took >= 9 * MS / 10 && took < MS && fake_runtime.queries == 0);
  took = time_of (stream, 9 * MS / 10, SECOND, CF_OK); /* sleeps for half of what the last one took */
  CHECK (took >= 9 * MS / 10 && took < MS && fake_runtime.naps >= 1 && fake_runtime.yields < 600);
  took = time_of (stream, 500 * MS, SECOND, CF_OK);
  CHECK (took >= 500 * MS && took < 501 * MS);
  CHECK (fake_runtime.queries > 100 && fake_runtime.queries < 501 && fake_runtime.yields < 2000);
  took = time_of (stream, 1900 * MS, 2 * SECOND, CF_OK);
  CHECK (took >= 1900 * MS && took < 1901 * MS && cf_gpu_state ().hung == 0);
  CHECK (time_of (stream, 0, SECOND, CF_OK) < MS);
  cf_stream_free (stream);
}

/* Where the driver writes no words, an event takes their place. */
static void
waits_by_event (void)
{
  CfStream *stream = cf_stream_new (NULL, NULL);
  CfEvents *events = cf_events_new (2, NULL);
  uint64_t took;

  fake_runtime.words = false;
  took = time_of (stream, 3 * MS, SECOND, CF_OK);
  CHECK (took >= 3 * MS && took < 4 * MS && fake_runtime.queries > 0);
  CHECK (cf_stream_record (stream, events, 0, NULL) == CF_OK && queue (stream, 5 * MS) == CF_OK);
  CHECK (cf_stream_record (stream, events, 1, NULL) == CF_OK &&
      cf_stream_record (stream, events, CF_COMPLETION, NULL) == CF_OK);
  CHECK (cf_events_elapsed_ns (events, 0, 1) == 0);
  CHECK (cf_events_wait (events, SECOND, NULL, NULL) == CF_OK && cf_events_elapsed_ns (events, 0, 1) == 5 * MS);
  fake_runtime.words = true;
  cf_events_free (events);
  cf_stream_free (stream);
}

/* ---- hangs ------------------------------------------------------------------- */

/* Every function that may block, on a GPU that hangs. */
static void
try_all (CfStream *stream, CfEvents *events, void *pinned, void *memory)
{
  const uint64_t abandoned = cf_gpu_state ().abandoned;
  CfStatus status = { 0 };

  CHECK (!cf_gpu_alloc (CF_DEVICE, 1, &status) && status.code == CF_TIMEOUT && strstr (status.message, "hangs"));
  CHECK (!cf_gpu_alloc (CF_PINNED, 1, &status) && !cf_stream_new (NULL, &status) && !cf_events_new (1, &status));
  CHECK (!cf_context_new (CF_BACKEND_CUDA, &status) && status.code == CF_TIMEOUT);
  CHECK (queue (stream, 0) == CF_TIMEOUT && cf_stream_wait (stream, SECOND, NULL, &status) == CF_TIMEOUT);
  CHECK (cf_stream_copy_planes (stream, CF_UPLOAD, &copy, &image, false, &status) == CF_TIMEOUT);
  CHECK (cf_stream_record (stream, events, 0, &status) == CF_TIMEOUT);
  CHECK (cf_stream_wait_event (stream, events, 0, &status) == CF_TIMEOUT);
  CHECK (cf_stream_record (stream, events, CF_COMPLETION, &status) == CF_TIMEOUT);
  CHECK (cf_events_elapsed_ns (events, 0, 1) == 0);
  cf_gpu_free (CF_PINNED, pinned);
  cf_gpu_free (CF_DEVICE, memory);
  cf_events_free (events);
  cf_stream_free (stream);
  CHECK (cf_gpu_state ().abandoned == abandoned + 4);
  CHECK (fake.blocked == 0 && fake.misuse == 0);
}

/* A hang on one of two GPUs; it goes on later. */
static void
hang (void)
{
  CfStream *stream = cf_stream_new (NULL, NULL), *other, *free_one = cf_stream_new (NULL, NULL);
  CfEvents *events = cf_events_new (2, NULL);
  void *handle = cf_stream_handle (stream);
  CfStatus status = { 0 };
  uint64_t took;

  fake_push (1);
  other = cf_stream_new (NULL, NULL);
  fake_pop ();
  CHECK (cf_cuda_launched ("hanging_kernel", NULL) == CF_OK);
  took = time_of (stream, FAKE_NEVER, 2 * SECOND, CF_TIMEOUT);
  CHECK (took >= 2 * SECOND && took < 2 * SECOND + MS && fake_runtime.queries < 2001);
  CHECK (cf_gpu_state ().hung == 1);
  CHECK (cf_cuda_launched ("later_kernel", NULL) == CF_OK);
  CHECK (cf_device_usable (&status) == CF_TIMEOUT && strstr (status.message, "GPU 0 hangs") &&
      strstr (status.message, "last kernel launched: hanging_kernel"));
  CHECK (cf_fail_hung (1, &status) == CF_TIMEOUT && !strstr (status.message, "kernel"));
  try_all (free_one, events, cf_stream_handle (stream), cf_stream_handle (stream));
  fake_push (1);
  CHECK (time_of (other, MS, SECOND, CF_OK) < 2 * MS && cf_gpu_state ().hung == 1);
  cf_stream_free (other);
  fake_pop ();
  fake_pop (); /* a thread without a context asks */
  fake_end (handle);
  CHECK (cf_gpu_state ().hung == 0 && fake.pushed == 0);
  fake_push (0);
  CHECK (cf_device_usable (&status) == CF_OK);
  cf_events_free (events);
  cf_stream_free (free_one);
  cf_stream_free (stream);
  CHECK (fake.blocked == 0 && fake.misuse == 0);
}

/* Two streams hang; the GPU is used again when both have ended. */
static void
two_hangs (void)
{
  CfStream *stream[2];
  CfEvents *events[2];

  for (int i = 0; i < 2; i++) {
    stream[i] = cf_stream_new (NULL, NULL);
    events[i] = cf_events_new (1, NULL);
    CHECK (time_of (stream[i], MS, SECOND, CF_OK) > 0 &&
        cf_stream_record (stream[i], events[i], CF_COMPLETION, NULL) == CF_OK);
    CHECK (cf_events_wait (events[i], SECOND, NULL, NULL) == CF_OK);
  }
  for (int i = 0; i < 2; i++) /* both are queued before one is known to hang */
    CHECK (queue (stream[i], FAKE_NEVER) == CF_OK &&
        cf_stream_record (stream[i], events[i], CF_COMPLETION, NULL) == CF_OK);
  for (int i = 0; i < 2; i++)
    CHECK (cf_events_wait (events[i], SECOND, NULL, NULL) == CF_TIMEOUT);
  fake.blocked = 0;
  CHECK (cf_gpu_state ().hung == 1);
  fake_end (cf_stream_handle (stream[1]));
  CHECK (cf_gpu_state ().hung == 1 && cf_device_usable (NULL) == CF_TIMEOUT);
  fake_end (cf_stream_handle (stream[0]));
  CHECK (cf_gpu_state ().hung == 0 && cf_device_usable (NULL) == CF_OK);
  for (int i = 0; i < 2; i++) {
    cf_events_free (events[i]);
    cf_stream_free (stream[i]);
  }
}

/* A flush or stop during a wait for work of that length, 10 ms after its begin. Returns how long the wait goes on. */
static uint64_t
hurried (CfStream *stream, uint64_t ns, uint64_t deadline_ns, CfCode code)
{
  CfStatus status = { 0 };
  int hurry = 0;

  CHECK (queue (stream, ns) == CF_OK);
  fake_runtime.hurry = &hurry;
  fake_runtime.hurry_at = fake_runtime.now + 10 * MS;
  CHECK (cf_stream_wait (stream, deadline_ns, &hurry, &status) == code && (code == CF_OK || status.message[0]));
  fake_runtime.hurry = NULL;
  fake.blocked = 0;
  return fake_runtime.now - fake_runtime.hurry_at;
}

/* A flush or stop leaves work a twentieth of its deadline, and twice the time of the work before. Whether the GPU hangs
 * is in doubt until the deadline: nothing is freed until then, and an allocation waits. */
static void
cut_short (void)
{
  CfStream *stream = cf_stream_new (NULL, NULL);
  void *memory = cf_gpu_alloc (CF_DEVICE, 10, NULL), *more;
  const uint64_t abandoned = cf_gpu_state ().abandoned;
  CfStatus status = { 0 };
  uint64_t start;

  CHECK (hurried (stream, 90 * MS, 2 * SECOND, CF_OK) < 81 * MS && cf_gpu_state ().doubt == 0);
  CHECK (hurried (stream, 250 * MS, 2 * SECOND, CF_OK) < 241 * MS);
  CHECK (time_of (stream, 0, SECOND, CF_OK) < MS);
  start = fake_runtime.now;
  CHECK (hurried (stream, 500 * MS, 2 * SECOND, CF_CANCELLED) < 102 * MS);
  CHECK (cf_gpu_state ().hung == 0 && cf_gpu_state ().doubt == 1 && cf_device_usable (NULL) == CF_OK);
  cf_gpu_free (CF_DEVICE, memory);
  CHECK (cf_gpu_state ().abandoned == abandoned + 1 && fake.blocked == 0);
  more = cf_gpu_alloc (CF_DEVICE, 10, &status);
  CHECK (more && fake_runtime.now - start >= 500 * MS && fake_runtime.now - start < 510 * MS &&
      cf_gpu_state ().doubt == 0);
  cf_gpu_free (CF_DEVICE, more);
  cf_gpu_free (CF_DEVICE, memory);
  CHECK (cf_gpu_state ().abandoned == abandoned + 1);
  start = fake_runtime.now;
  CHECK (hurried (stream, FAKE_NEVER, 2 * SECOND, CF_CANCELLED) < 102 * MS && cf_gpu_state ().hung == 0);
  CHECK (!cf_gpu_alloc (CF_DEVICE, 10, &status) && status.code == CF_TIMEOUT && strstr (status.message, "hangs"));
  CHECK (fake_runtime.now - start >= 2 * SECOND && fake_runtime.now - start < 2010 * MS);
  CHECK (cf_gpu_state ().hung == 1 && cf_gpu_state ().doubt == 0 && fake.blocked == 0);
  fake_end (cf_stream_handle (stream));
  CHECK (cf_gpu_state ().hung == 0);
  cf_stream_free (stream);
}

/* New memory is cleared on a stream of its own; where that hangs, the memory stays. */
static void
clearing (void)
{
  CfStatus status = { 0 };
  void *memory;
  uint64_t start;

  fake_runtime.copy_ns = 3 * MS;
  memory = cf_gpu_alloc (CF_DEVICE, 10, &status);
  CHECK (memory && ((char *) memory)[9] == 0 && fake.live == 1);
  cf_gpu_free (CF_DEVICE, memory);
  start = fake_runtime.now;
  fake_runtime.copy_ns = FAKE_NEVER;
  CHECK (!cf_gpu_alloc (CF_DEVICE, 10, &status) && status.code == CF_TIMEOUT && cf_gpu_state ().hung == 1);
  CHECK (fake_runtime.now - start >= 10 * SECOND && fake_runtime.now - start < 11 * SECOND && fake.live == 3);
  fake_runtime.copy_ns = 0;
  fake.blocked = 0;
}

/* More streams hang than the list holds: the GPU is not used again, on whatever device. */
static void
many_hangs (void)
{
  static char handles[1000];

  for (int i = 0; i < 1000; i++)
    cf_cuda_hangs (&handles[i], NULL, 0);
  CHECK (cf_gpu_state ().hung == UINT64_MAX && cf_device_usable (NULL) == CF_TIMEOUT);
}

/* An error that is not known, in a wait: only a query that succeeds shows that the work has ended. */
static void
unknown_error (void)
{
  CfStream *stream = cf_stream_new (NULL, NULL);
  CfStatus status = { 0 };

  CHECK (queue (stream, 5 * MS) == CF_OK);
  fake_runtime.query_error = 999;
  CHECK (cf_stream_wait (stream, SECOND, NULL, &status) == CF_TIMEOUT && status.cuda == 999);
  CHECK (strstr (status.message, "unknown error of the driver"));
  CHECK (cf_gpu_state ().hung == 1 && !cf_gpu_lost ());
  fake_runtime.query_error = 0;
  CHECK (cf_gpu_state ().hung == 1);
  fake_pass (5 * MS);
  CHECK (cf_gpu_state ().hung == 0);
  cf_stream_free (stream);
}

/* ---- errors ------------------------------------------------------------------- */

/* What CUDA's errors mean, in NVIDIA's description of cudaError_t. */
static void
meanings (void)
{
  static const int lost[] = { 4, 201, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911 };
  static const int none[] = { 3, 34, 35, 46, 100, 102, 127, 209, 222, 802, 803, 804, 805, 806, 807, 808, 809 };
  static const int pass[] = { 1, 36, 101, 216, 400, 600, 701, 720, 800, 801, 900, 909, 912, 999 };
  CfStatus status;

  CHECK (cf_cuda_fail (2, "it", "name", &status) == CF_NO_MEMORY && status.cuda == 2);
  for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
    CHECK (cf_cuda_fail (lost[i], "it", "name", &status) == CF_GPU_LOST && status.cuda == lost[i] &&
        !strstr (status.message, "name"));
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
    CHECK (cf_cuda_fail (none[i], "it", "name", &status) == CF_NO_GPU && !strstr (status.message, "name"));
  for (size_t i = 0; i < sizeof pass / sizeof pass[0]; i++)
    CHECK (cf_cuda_fail (pass[i], "it", "name", &status) == CF_GPU_ERROR && status.code == CF_GPU_ERROR);
  cf_cuda_fail (400, "it", "name", &status);
  CHECK (strcmp (status.message, "it: name (CUDA error 400)") == 0);
}

/* No GPU to be had: why. */
static void
absent (void)
{
  CfStatus status = { 0 };

  fake_runtime.driver = 0;
  CHECK (cf_gpu_count (&status) == 0 && status.code == CF_NO_GPU && strstr (status.message, "no NVIDIA driver"));
  fake_runtime.driver = 12010;
  fake_fail_next (FAKE_COUNT, 35, false);
  CHECK (cf_gpu_count (&status) == 0 && strstr (status.message, "supports CUDA 12.1; this build needs 13.0"));
  fake_runtime.driver = 13000;
  fake_fail_next (FAKE_COUNT, 100, false);
  CHECK (cf_gpu_count (&status) == 0 && strstr (status.message, "finds no GPU") && status.cuda == 0);
  fake_fail_next (FAKE_COUNT, 802, false);
  CHECK (cf_gpu_count (&status) == 0 && strstr (status.message, "Fabric Manager") && status.cuda == 802);
  CHECK (cf_gpu_count (&status) == 2 && !cf_gpu_lost ());
  fake_fail_next (FAKE_DEVICE_ALLOC, 2, false);
  CHECK (!cf_gpu_alloc (CF_DEVICE, 10, &status) && status.code == CF_NO_MEMORY);
}

/* A sticky error in a wait, for good: in a process of its own. What fails later says this error, too: the operation,
 * the error, the device, and the last kernel that was launched before the work that was waited for. */
static void
sticky (int error)
{
  CfStream *stream = cf_stream_new (NULL, NULL);
  CfEvents *events = cf_events_new (1, NULL);
  void *memory = cf_gpu_alloc (CF_DEVICE, 10, NULL);
  CfStatus status = { 0 }, later = { 0 };
  char words[40];
  int live;

  CHECK (cf_cuda_launched ("failing_kernel", NULL) == CF_OK && queue (stream, 5 * MS) == CF_OK);
  CHECK (cf_stream_record (stream, events, CF_COMPLETION, NULL) == CF_OK);
  CHECK (cf_cuda_launched ("later_kernel", NULL) == CF_OK);
  fake_runtime.query_error = error;
  CHECK (cf_events_wait (events, SECOND, NULL, &status) == CF_GPU_LOST && cf_gpu_lost () && cf_gpu_state ().hung == 0);
  snprintf (words, sizeof words, "(CUDA error %d), cudaErrorOfThisNumber", error);
  CHECK (status.cuda == error && strstr (status.message, "must restart: waiting for the GPU: ") &&
      strstr (status.message, words) && strstr (status.message, ", GPU 0, last kernel launched: failing_kernel"));
  CHECK (cf_cuda_check (716, "copying", &later) == CF_GPU_LOST && later.cuda == 716);
  CHECK (strcmp (later.message, status.message) == 0);
  live = fake.live;
  CHECK (fake_runtime.now < 3 * MS); /* found by a query, long before the deadline */
  cf_gpu_free (CF_DEVICE, memory);
  CHECK (!cf_gpu_alloc (CF_PINNED, 10, &later) && later.code == CF_GPU_LOST);
  CHECK (strcmp (later.message, status.message) == 0);
  CHECK (!cf_context_new (CF_BACKEND_CUDA, &later) && later.code == CF_GPU_LOST);
  CHECK (strcmp (later.message, status.message) == 0);
  cf_events_free (events);
  cf_stream_free (stream);
  CHECK (fake.live == live); /* nothing was freed */
}

static void *
fail_in_thread (void *what)
{
  CfStatus *status = calloc (1, sizeof *status);

  cf_cuda_check (700, what, status);
  return status;
}

/* Threads that find an error at the same time: the first of them is that of all. */
static void
sticky_in_threads (int n)
{
  static char what[16][32];
  CfStatus *status[16], lost;
  pthread_t thread[16];

  for (int i = 0; i < n; i++) {
    snprintf (what[i], sizeof what[i], "in thread %d", i);
    CHECK (pthread_create (&thread[i], NULL, fail_in_thread, what[i]) == 0);
  }
  for (int i = 0; i < n; i++)
    CHECK (pthread_join (thread[i], (void **) &status[i]) == 0);
  CHECK (cf_gpu_lost () && cf_fail_lost (&lost) == CF_GPU_LOST && strstr (lost.message, "in thread "));
  for (int i = 0; i < n; i++) {
    CHECK (status[i]->code == CF_GPU_LOST && strcmp (status[i]->message, lost.message) == 0);
    free (status[i]);
  }
}

static void
in_process (void (*scenario) (int), int argument)
{
  pid_t child = fork ();
  int result = 1;

  if (child == 0) {
    scenario (argument);
    _exit (0);
  }
  CHECK (child > 0 && waitpid (child, &result, 0) == child && WIFEXITED (result) && WEXITSTATUS (result) == 0);
}

/* A frame whose area has another map than that of the frame before, which takes 5 ms to upload. Returns how long it
 * takes to queue it. */
static uint64_t
blend_map (CfPlan *plan, CfStream *stream, uint8_t strength)
{
  const CfVideo video = { CF_FORMAT_GRAY8, 8, 8, false };
  const CfTraits traits = { 0 };
  uint8_t mask[64];
  const uint64_t start = fake_runtime.now;
  CfStatus status = { 0 };
  CfArea *area;

  memset (mask, strength, sizeof mask);
  area = cf_area_new (&video, &traits, &(CfAreaSpec) { .mask = mask }, &status);
  fake_runtime.copy_ns = 5 * MS;
  CHECK (cf_device_blend (plan, stream, &(CfFrame) { &image, &copy, area, &copy, NULL }, &status) == CF_OK);
  fake_runtime.copy_ns = 0;
  CHECK (plan->map && plan->map_number == area->map->number);
  cf_area_unref (area);
  return fake_runtime.now - start;
}

/* Maps are uploaded from two buffers, which are allocated once; each is written again when it has been read. */
static void
maps (void)
{
  CfStream *stream = cf_stream_new (NULL, NULL);
  CfContext context = { 0 };
  CfPlan *plan = calloc (1, sizeof *plan);
  uint64_t allocations;

  plan->context = &context;
  CHECK (blend_map (plan, stream, 1) < 6 * MS && blend_map (plan, stream, 2) < MS); /* the first clears memory, too */
  allocations = cf_gpu_state ().allocations;
  CHECK (blend_map (plan, stream, 3) > 4 * MS && blend_map (plan, stream, 4) > 4 * MS);
  fake_pass (20 * MS);
  for (int i = 5; i < 15; i++) {
    CHECK (blend_map (plan, stream, (uint8_t) i) < MS);
    fake_pass (10 * MS);
  }
  CHECK (cf_gpu_state ().allocations == allocations);
  CHECK (cf_stream_wait (stream, SECOND, NULL, NULL) == CF_OK && *(uint8_t *) plan->map == 14);
  cf_gpu_free (CF_DEVICE, plan->map);
  for (int i = 0; i < 2; i++) {
    cf_events_free (plan->pinned_map[i].uploaded);
    cf_gpu_free (CF_PINNED, plan->pinned_map[i].memory);
  }
  free (plan);
  cf_stream_free (stream);
}

/* What CUDA says of a device is where cf.h promises it. */
static void
properties (void)
{
  CfGpuInfo info;
  uint8_t uuid[16];

  memset (uuid, 0xa1, sizeof uuid);
  CHECK (cf_gpu_info (1, &info, NULL) == CF_OK && strcmp (info.name, "fake") == 0);
  CHECK (memcmp (info.uuid, uuid, sizeof uuid) == 0 && info.clock_khz == 13); /* the attribute by its number */
  CHECK (info.pci_domain == 0x10000 && info.pci_bus == 0xc2 && info.pci_slot == 2 && info.integrated);
}

/* Which GPUs kernels run on: NVIDIA's rules for machine code, and for the code that the driver compiles. */
static void
kernels (void)
{
  static const struct {
    const char *archs;
    int major, minor;
    bool runs;
  } rows[] = { { "75,80,86,90", 7, 5, true }, { "75,80,86,90", 8, 0, true }, { "75,80,86,90", 8, 9, true },
    { "75,80,86,90", 9, 0, true }, { "75,80,86,90", 10, 0, true }, { "75,80,86,90", 7, 0, false },
    { "86,90", 8, 0, false }, { "80,100", 9, 0, false }, { "80,100", 8, 9, true }, { "80,86,100", 8, 7, false },
    { "80,87,100", 8, 7, true }, { "80,87,100", 8, 9, true }, { "87,100", 8, 9, false }, { "80,100", 12, 1, true },
    { "90", 8, 9, false }, { "90", 12, 0, true }, { "90", 9, 0, true }, { "100", 10, 3, true }, { "103", 10, 0, false },
    { "", 7, 5, true }, { "", 6, 1, false } };
  CfStatus status = { 0 };

  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const CfGpuInfo info = { .name = "this GPU", .major = rows[i].major, .minor = rows[i].minor };
    const CfCode code = cf_gpu_check (&info, rows[i].archs, &status);

    CHECK (code == (rows[i].runs ? CF_OK : CF_UNSUPPORTED) && (rows[i].runs || strstr (status.message, "this GPU")));
  }
  CHECK (strcmp (cf_gpu_state ().archs, FAKE_ARCHS) == 0);
  fake_infos[0].major = 7;
  fake_infos[0].minor = 5;
  CHECK (!cf_context_new (CF_BACKEND_CUDA, &status) && status.code == CF_UNSUPPORTED && status.cuda == 0);
  CHECK (strcmp (status.message,
             "fake has compute capability 7.5, and this build's kernels are for " FAKE_ARCHS
             "; build with -Dcuda-archs=75," FAKE_ARCHS) == 0);
  fake_infos[0].major = 9;
  fake_infos[0].minor = 0;
}

int
main (void)
{
  static const int lost[] = { 214, 220, 700, 709, 719 };

  setvbuf (stdout, NULL, _IOLBF, 0);
  fake_devices = 2;
  for (int i = 0; i < 2; i++) {
    fake_infos[i] = (CfGpuInfo) { "fake", .major = 9, .clock_khz = 13, .pci_domain = 0x10000, .pci_bus = 0xc1 + i,
      .integrated = true /* maps () has an image in pinned memory */ };
    fake_infos[i].pci_slot = 2;
    memset (fake_infos[i].uuid, 0xa0 + i, sizeof fake_infos[i].uuid);
  }
  fake_runtime.words = true;
  fake_push (0);
  image.plane[0].data = cf_gpu_alloc (CF_PINNED, 64, NULL);
  copy.plane[0].data = cf_gpu_alloc (CF_DEVICE, 64, NULL);
  /* Before CUDA is used: it cannot be after a fork. */
  for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
    in_process (sticky, lost[i]);
  in_process (sticky_in_threads, 16);
  meanings ();
  kernels ();
  absent ();
  properties ();
  waits ();
  waits_by_event ();
  hang ();
  two_hangs ();
  unknown_error ();
  cut_short ();
  maps ();
  cf_gpu_free (CF_PINNED, image.plane[0].data);
  cf_gpu_free (CF_DEVICE, copy.plane[0].data);
  CHECK (fake.live == 0 && fake.blocked == 0 && fake.misuse == 0);
  clearing ();
  many_hangs ();
  printf ("%d passed, 0 failed, 0 skipped\n", passed);
  return 0;
}
