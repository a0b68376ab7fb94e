/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-options.c: what a person asks bench for, checked. */

#include "bench.h"
#include "bench-numbers.h"
#include "line.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

#define MAX_SIDE 16384

const char *const bench_memory_names[] = { "proposed", "plain", "cuda", NULL };

/* What is typed, before it is looked at. */
typedef struct {
  char *size, *format, *cameras, *cores, *processes, *gpus, *memory, *study, *sweep;
} Typed;

static const char summary[] =
    "Measures how many frames a second a filter line makes on this machine, and how long a frame takes. LINE is\n"
    "anything that gst-launch-1.0 takes between source and sink; without one it is 'cudamedian kernel-size=5'. The\n"
    "source has its frames ready (made-up pictures, more of them than the caches hold), the sink counts.\n\n"
    "  bench 'cudamedian kernel-size=5 ! cudaconvolve'                  as many frames as can be\n"
    "  bench --size 640x480,3840x2160 --format NV12,RGBA --peers cudamedian\n"
    "  bench --cameras 1,4,16 --rate 30 cudamedian                      so many cameras, in real time\n"
    "  bench --cameras 256 --processes 1,4 --rate 30 cudamedian         the same, dealt to several processes\n"
    "  bench --memory proposed,plain,cuda --bare cudamedian             where frames are, and the filter by itself\n"
    "  bench --sweep kernel-size=3,9,31 --plot medians cudamedian       one row for each value of a property\n"
    "  bench --study size --plot sizes --json sizes.json cudairfilter   a whole study, with its picture\n\n"
    "Studies, each with a choice of sizes, cores, values or cameras that fits:\n"
    "  size      picture size against the time of a frame\n"
    "  kernel    kernel-size against the time of a frame\n"
    "  cameras   cameras of --rate (30) against what comes through\n"
    "  speedup   how much faster than one core of the CPU, against picture size\n"
    "  threads   how much faster than one core of the CPU, against the number of cores";

static const char description[] =
    "frames/s    that arrived; ms: the time from one to the next\n"
    "p50 p99 max how long a frame took from the source to the sink, in ms: half of them, 99 of 100, all of them. In\n"
    "            real time it counts from when the camera would have taken it\n"
    "cores       how many cores of the CPU were busy\n"
    "up k down   what our elements say of themselves: upload, kernels, download in us, of half the frames\n"
    "late        frames that took longer than until the next one; drop: that the camera had to throw away, because\n"
    "            two more were waiting already\n"
    "x2.0        as many times as fast as the same on one core of the CPU\n"
    "limit       how much this is of what the machine can do with such frames: of the link to the GPU, both ways at\n"
    "            once, where the GPU works; of memcpy on all cores where it does not; memcpy by one: of one thread's,\n"
    "            for frames in plain memory that the GPU gets\n"
    "bare        the filters called directly, without GStreamer: one frame after the other by the quickest way to and\n"
    "            from the GPU or, in CUDA memory, many queued and p50 of one after the other\n"
    "x1.10 bare  p50 is as many times that of the row of it; +9 us: in CUDA memory, how much more a frame takes\n"
    "Ctrl-C ends early and tells what has been measured.";

static gboolean complain (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* Says it and is FALSE. */
static gboolean
complain (const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  say ("bench: %s", text);
  return FALSE;
}

/* "proposed,cuda"; without: proposed. */
static GArray *
parse_memories (const char *text)
{
  GArray *list = g_array_new (FALSE, FALSE, sizeof (int));
  g_auto (GStrv) names = g_strsplit (text ? text : "proposed", ",", -1);

  for (char **name = names; *name; name++) {
    int i = 0;

    while (bench_memory_names[i] && strcmp (*name, bench_memory_names[i]))
      i++;
    if (!bench_memory_names[i]) {
      g_array_unref (list);
      return NULL;
    }
    g_array_append_val (list, i);
  }
  return list;
}

static gboolean
choose_lists (BenchOptions *opt, const Typed *typed)
{
  if (typed->size && !(opt->sizes = bench_parse_sizes (typed->size, MAX_SIDE)))
    return complain ("--size %s: right would be 640x480,1920x1080, with sides from 1 to %d", typed->size, MAX_SIDE);
  if (typed->cameras && !(opt->cameras = bench_parse_ints (typed->cameras, 1, 1024)))
    return complain ("--cameras %s: right would be 1,4,16, numbers from 1 to 1024", typed->cameras);
  if (typed->cores && !(opt->cores = bench_parse_ints (typed->cores, 1, (int) g_get_num_processors ())))
    return complain ("--cores %s: right would be 1,2, numbers from 1 to %u, which are here", typed->cores,
        g_get_num_processors ());
  if (typed->processes && !(opt->processes = bench_parse_ints (typed->processes, 1, 256)))
    return complain ("--processes %s: right would be 1,4, numbers from 1 to 256", typed->processes);
  if (typed->gpus && !(opt->gpus = bench_parse_ints (typed->gpus, 1, BENCH_GPUS)))
    return complain ("--gpus %s: right would be 1,2, numbers from 1 to %d", typed->gpus, BENCH_GPUS);
  if (!(opt->memories = parse_memories (typed->memory)))
    return complain ("--memory %s: there are proposed, plain and cuda", typed->memory);
  opt->formats = g_strsplit (typed->format ? typed->format : "NV12", ",", -1);
  return TRUE;
}

static gboolean
choose_study (BenchOptions *opt, const Typed *typed)
{
  static const char *const names[] = { "size", "kernel", "cameras", "speedup", "threads" };

  for (guint i = 0; typed->study && i < G_N_ELEMENTS (names); i++)
    if (!strcmp (typed->study, names[i]))
      opt->study = BENCH_STUDY_SIZE + i;
  if (typed->study && opt->study == BENCH_STUDY_NONE)
    return complain ("--study %s: there are size, kernel, cameras, speedup and threads", typed->study);
  if ((opt->study == BENCH_STUDY_SPEEDUP || opt->study == BENCH_STUDY_THREADS) && opt->rate > 0)
    return complain ("--study %s is about frames as fast as they can be; it goes without --rate", typed->study);
  if (opt->study == BENCH_STUDY_CAMERAS && opt->rate == 0)
    opt->rate = 30;
  return TRUE;
}

/* "kernel-size=3,5,7" */
static gboolean
choose_sweep (BenchOptions *opt, const char *text)
{
  const char *equal = text ? strchr (text, '=') : NULL;

  if (!text)
    return TRUE;
  if (!equal || equal == text || !equal[1])
    return complain ("--sweep %s: right would be kernel-size=3,5,7, a property and its values", text);
  opt->property = g_strndup (text, equal - text);
  opt->values = g_strsplit (equal + 1, ",", -1);
  return TRUE;
}

static gboolean
check_file (const char *option, const char *path)
{
  g_autofree char *folder = path ? g_path_get_dirname (path) : NULL;

  if (path && g_access (folder, W_OK))
    return complain ("%s %s: no file can be made in the folder \"%s\": %s", option, path, folder, g_strerror (errno));
  return TRUE;
}

static gboolean
check_numbers (const BenchOptions *opt)
{
  if (!(opt->seconds > 0 && opt->seconds <= 86400))
    return complain ("--seconds %g: it has to be above 0 and at most 86400, a day", opt->seconds);
  if (!(opt->warm_up >= 0 && opt->warm_up <= 3600))
    return complain ("--warm-up %g: it has to be 0 to 3600", opt->warm_up);
  if (opt->frames < 0 || opt->frames > 100000000)
    return complain ("--frames %d: it has to be 1 to 100000000", opt->frames);
  if (!(opt->rate >= 0 && opt->rate <= 1000))
    return complain ("--rate %g: it has to be above 0 and at most 1000", opt->rate);
  if (opt->bare && opt->rate > 0)
    return complain ("--bare is about frames one after the other; it goes without --rate");
  return TRUE;
}

static gboolean
read_command_line (BenchOptions *opt, Typed *typed, int argc, char **argv)
{
  const GOptionEntry entries[] = {
    { "size", 's', 0, G_OPTION_ARG_STRING, &typed->size, "sizes of the pictures (1920x1080)", "WxH,..." },
    { "format", 'f', 0, G_OPTION_ARG_STRING, &typed->format, "their formats (NV12)", "FORMAT,..." },
    { "seconds", 't', 0, G_OPTION_ARG_DOUBLE, &opt->seconds, "how long each row is measured (3)", "SECONDS" },
    { "frames", 'n', 0, G_OPTION_ARG_INT, &opt->frames, "instead: how many frames a camera", "N" },
    { "warm-up", 'w', 0, G_OPTION_ARG_DOUBLE, &opt->warm_up, "left out at the beginning (0.5)", "SECONDS" },
    { "rate", 'r', 0, G_OPTION_ARG_DOUBLE, &opt->rate,
        "in real time: a camera has so many frames a second (without: as many as can be)", "R" },
    { "cameras", 'c', 0, G_OPTION_ARG_STRING, &typed->cameras, "pipelines at once, in one process (1)", "N,..." },
    { "cores", 0, 0, G_OPTION_ARG_STRING, &typed->cores, "let it run on so many cores of the CPU only (all)",
        "N,..." },
    { "processes", 0, 0, G_OPTION_ARG_STRING, &typed->processes, "deal the cameras to so many processes (1)",
        "N,..." },
    { "gpus", 0, 0, G_OPTION_ARG_STRING, &typed->gpus,
        "deal the cameras to so many GPUs (without: as the elements choose)", "N,..." },
    { "memory", 'm', 0, G_OPTION_ARG_STRING, &typed->memory, "where frames are: in the buffers that the filter "
        "proposes, in plain memory, or in CUDA memory at both ends: proposed, plain, cuda (proposed)", "KIND,..." },
    { "bare", 'b', 0, G_OPTION_ARG_NONE, &opt->bare, "also the filters by themselves, without GStreamer: what a "
        "frame takes at least (lines of nothing but elements of this project, on a GPU)", NULL },
    { "queue", 'q', 0, G_OPTION_ARG_NONE, &opt->queue,
        "a queue of 4 frames before and behind the line: three threads", NULL },
    { "sweep", 0, 0, G_OPTION_ARG_STRING, &typed->sweep, "a row for each value of a property of the line's elements",
        "NAME=V,..." },
    { "study", 0, 0, G_OPTION_ARG_STRING, &typed->study, "size, kernel, cameras, speedup or threads, see above",
        "NAME" },
    { "peers", 'p', 0, G_OPTION_ARG_NONE, &opt->peers,
        "beside it what GStreamer has: videomedian, gaussianblur, cvsmooth, where installed", NULL },
    { "no-limits", 0, 0, G_OPTION_ARG_NONE, &opt->no_limits, "do not measure what memcpy and the link can do", NULL },
    { "json", 'j', 0, G_OPTION_ARG_FILENAME, &opt->json, "write all of it there", "FILE" },
    { "plot", 0, 0, G_OPTION_ARG_FILENAME, &opt->plot, "write PREFIX.svg and PREFIX.png (needs gnuplot)", "PREFIX" },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &opt->lines, NULL, NULL },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  g_autoptr (GError) error = NULL;
  GOptionContext *context = g_option_context_new ("'LINE'... - frames a second, and how long each takes");
  gboolean good;

  g_option_context_set_summary (context, summary);
  g_option_context_set_description (context, description);
  g_option_context_add_main_entries (context, entries, NULL);
  good = g_option_context_parse (context, &argc, &argv, &error);
  g_option_context_free (context);
  return good || complain ("%s; --help lists the options", error->message);
}

static void
free_typed (Typed *typed)
{
  char **const all[] = { &typed->size, &typed->format, &typed->cameras, &typed->cores, &typed->processes,
    &typed->gpus, &typed->memory, &typed->study, &typed->sweep };

  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    g_free (*all[i]);
}

gboolean
bench_options_parse (BenchOptions *opt, int argc, char **argv)
{
  static char *standard[] = { (char *) "cudamedian kernel-size=5", NULL };
  Typed typed = { NULL };
  gboolean good;

  *opt = (BenchOptions) { .seconds = 3, .warm_up = 0.5 };
  setlocale (LC_ALL, "");
  good = read_command_line (opt, &typed, argc, argv) && check_numbers (opt) && choose_lists (opt, &typed) &&
      choose_study (opt, &typed) && choose_sweep (opt, typed.sweep) && check_file ("--json", opt->json) &&
      check_file ("--plot", opt->plot) && (!opt->plot || bench_plot_check (opt->plot));
  free_typed (&typed);
  setlocale (LC_NUMERIC, "C"); /* from here on numbers are also for JSON and gnuplot */
  if (!opt->lines)
    opt->lines = g_strdupv (standard);
  return good;
}
