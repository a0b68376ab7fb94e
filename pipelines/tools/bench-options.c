/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-options.c: reads and checks the command line. */

#include "bench.h"
#include "line.h"
#include "output.h"

#include <locale.h>
#include <string.h>

#define MAX_SIDE 16384

const char *const bench_memory_names[] = { "proposed", "plain", "cuda", NULL };

/* Lists as typed, before they are parsed. */
typedef struct {
  char *size, *format, *cameras, *cores, *processes, *gpus, *memory, *study, *sweep;
} Typed;

static const char summary[] =
    "Measures the frames per second and the latency of a filter line on this machine. LINE is anything that\n"
    "gst-launch-1.0 takes between source and sink, or a filter of FFmpeg like 'ffmpeg:gblur=sigma=3'; the default is\n"
    "'cudamedian kernel-size=5'. The source sends frames that were made before (synthetic images, more of them than\n"
    "the caches hold); the sink counts them.\n\n"
    "  cf-bench 'cudamedian kernel-size=5 ! cudaconvolve'                  as many frames as possible\n"
    "  cf-bench --size 640x480,3840x2160 --format NV12,RGBA --peers cudamedian\n"
    "  cf-bench --cameras 1,4,16 --rate 30 cudamedian                      cameras in real time\n"
    "  cf-bench --cameras 256 --processes 1,4 --rate 30 cudamedian         the same in one and in four processes\n"
    "  cf-bench --memory proposed,plain,cuda --bare cudamedian             kinds of memory, and the kernels only\n"
    "  cf-bench --sweep kernel-size=3,9,31 cudamedian                      one row per value of a property\n"
    "  cf-bench --study size --json sizes.json cudairfilter                a whole study, also written as JSON\n"
    "  cf-bench --study speedup --size 1920x1080 --cores 1,2,4 cudamedian  the speed-up against the number of cores\n\n"
    "Studies, whose sizes, cores and cameras can be replaced by options:\n"
    "  size      each frame size from 320x240 to 7680x4320\n"
    "  speedup   the same sizes in naive C, on one CPU core, on all cores and on the GPU, with the speed-up over\n"
    "            naive C: the median by sorting, the convolution by its sum, sequential, checked against the filter\n"
    "  cameras   1 to 256 cameras of --rate (30), until most frames are dropped";

static const char description[] =
    "frames/s    frames that arrived; ms: time between two of them\n"
    "p50 p99 max latency from source to sink in ms: 50 %, 99 % and 100 % of the frames take no longer. In real time\n"
    "            it begins when the frame is due\n"
    "cores       CPU cores in use; CPU ms: their time per frame, which other programs on the machine change little\n"
    "up k down   medians in us of upload, kernels and download, from the elements' stats\n"
    "late        frames with a latency above one frame interval; drop: frames that the camera dropped, because two\n"
    "            more were waiting\n"
    "x2.0        speed-up over the same case in naive C; over one CPU core for lines without naive C\n"
    "limit       share of the machine's limit for such frames: with a GPU, of the link to it in both directions at\n"
    "            once; without, of memcpy by all threads; \"memcpy, one thread\": for frames in plain memory\n"
    "kernels     kernels only (--bare): the filters are called directly, without GStreamer. Frames follow each other\n"
    "            by the fastest transfer mode; in CUDA memory many are queued, and p50 is of one after the other\n"
    "x1.10 kernels only  ratio of p50 to that of the kernels only; +9 us: in CUDA memory, additional time per frame\n"
    "Ctrl-C ends early and reports what has been measured.";

static int
index_of (const char *const *names, const char *name)
{
  int i = 0;

  while (names[i] && strcmp (names[i], name))
    i++;
  return names[i] ? i : -1;
}

static gboolean
choose_study (BenchOptions *opt, const char *name)
{
  static const char *const names[] = { "", "size", "cameras", "speedup", NULL }; /* as in BenchStudy */
  int study = index_of (names, name ? name : "");

  if (study < 0)
    return complain ("--study %s: expected size, speedup or cameras", name);
  opt->study = (BenchStudy) study;
  if (opt->study == BENCH_STUDY_SPEEDUP && opt->rate > 0)
    return complain ("--study speedup measures as many frames as possible; it goes without --rate");
  if (opt->study == BENCH_STUDY_CAMERAS && opt->rate == 0)
    opt->rate = 30;
  return TRUE;
}

static gboolean
choose_numbers (BenchOptions *opt, const Typed *typed)
{
  const struct {
    const char *option, *text, *standard;
    GArray **list;
    int high;
  } rows[] = {
    { "--cameras", typed->cameras, opt->study == BENCH_STUDY_CAMERAS ? "1,2,4,8,16,32,64,128,256" : "1", &opt->cameras,
        1024 },
    { "--cores", typed->cores, "0", &opt->cores, (int) g_get_num_processors () },
    { "--processes", typed->processes, "1", &opt->processes, BENCH_PROCESSES },
    { "--gpus", typed->gpus, "0", &opt->gpus, BENCH_GPUS },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (!(*rows[i].list = rows[i].text ? bench_parse_ints (rows[i].text, 1, rows[i].high)
                                       : bench_parse_ints (rows[i].standard, 0, rows[i].high)))
      return complain ("%s %s: expected numbers from 1 to %d, separated by commas", rows[i].option, rows[i].text,
          rows[i].high);
  return TRUE;
}

static gboolean
choose_lists (BenchOptions *opt, const Typed *typed)
{
  gboolean by_size = opt->study == BENCH_STUDY_SIZE || opt->study == BENCH_STUDY_SPEEDUP;
  const char *sizes = by_size ? "320x240,640x480,1280x720,1920x1080,2560x1440,3840x2160,7680x4320" : "1920x1080";
  g_auto (GStrv) memories = g_strsplit (typed->memory ? typed->memory : "proposed", ",", -1);

  if (!(opt->sizes = bench_parse_sizes (typed->size ? typed->size : sizes, MAX_SIDE)))
    return complain ("--size %s: expected sizes like 640x480,1920x1080, sides from 1 to %d", typed->size, MAX_SIDE);
  opt->memories = g_array_new (FALSE, FALSE, sizeof (int));
  for (char **name = memories; *name; name++) {
    int memory = index_of (bench_memory_names, *name);

    if (memory < 0)
      return complain ("--memory %s: expected proposed, plain or cuda", typed->memory);
    g_array_append_val (opt->memories, memory);
  }
  opt->formats = g_strsplit (typed->format ? typed->format : "NV12", ",", -1);
  return choose_numbers (opt, typed);
}

/* "kernel-size=3,5,7" */
static gboolean
choose_sweep (BenchOptions *opt, const char *text)
{
  const char *equal = text ? strchr (text, '=') : NULL;

  if (!text)
    return TRUE;
  if (!equal || equal == text || !equal[1])
    return complain ("--sweep %s: expected a property and its values, like kernel-size=3,5,7", text);
  opt->property = g_strndup (text, equal - text);
  opt->values = g_strsplit (equal + 1, ",", -1);
  return TRUE;
}

static gboolean
check_values (const BenchOptions *opt)
{
  if (opt->json && !output_check ("--json", opt->json, opt->force, NULL))
    return FALSE;
  if (!(opt->seconds > 0 && opt->seconds <= 86400))
    return complain ("--seconds %g: expected more than 0 and at most 86400 (a day)", opt->seconds);
  if (!(opt->warm_up >= 0 && opt->warm_up <= 3600))
    return complain ("--warm-up %g: expected 0 to 3600", opt->warm_up);
  if (opt->video && !g_file_test (opt->video, G_FILE_TEST_IS_REGULAR))
    return complain ("--video %s: there is no such file", opt->video);
  if (opt->frames < 0 || opt->frames > 100000000)
    return complain ("--frames %d: expected 1 to 100000000", opt->frames);
  if (opt->regions < 0 || opt->regions > 10000)
    return complain ("--regions %d: expected 0 to 10000", opt->regions);
  if (!(opt->rate >= 0 && opt->rate <= 1000))
    return complain ("--rate %g: expected more than 0 and at most 1000", opt->rate);
  if (opt->kernels_only && opt->rate > 0)
    return complain ("--bare measures frames one after the other; it goes without --rate");
  return TRUE;
}

static gboolean
read_command_line (BenchOptions *opt, Typed *typed, int argc, char **argv)
{
  const GOptionEntry entries[] = {
    { "size", 's', 0, G_OPTION_ARG_STRING, &typed->size, "sizes of the frames (1920x1080)", "WxH,..." },
    { "format", 'f', 0, G_OPTION_ARG_STRING, &typed->format, "formats of the frames (NV12)", "FORMAT,..." },
    { "seconds", 't', 0, G_OPTION_ARG_DOUBLE, &opt->seconds, "time that each row is measured (3)", "SECONDS" },
    { "frames", 'n', 0, G_OPTION_ARG_INT, &opt->frames, "frames per camera, instead of --seconds", "N" },
    { "warm-up", 'w', 0, G_OPTION_ARG_DOUBLE, &opt->warm_up, "time at the beginning that does not count (0.5)",
        "SECONDS" },
    { "rate", 'r', 0, G_OPTION_ARG_DOUBLE, &opt->rate,
        "frames per second of each camera, in real time (default: as many as possible)", "R" },
    { "regions", 0, 0, G_OPTION_ARG_INT, &opt->regions,
        "regions that move, as a detector attaches them to each frame, whose memory is then its own (0)", "N" },
    { "video", 'v', 0, G_OPTION_ARG_FILENAME, &opt->video,
        "frames of this video file, scaled, instead of made ones: there and back again", "FILE" },
    { "cameras", 'c', 0, G_OPTION_ARG_STRING, &typed->cameras, "pipelines at once (1)", "N,..." },
    { "cores", 0, 0, G_OPTION_ARG_STRING, &typed->cores, "CPU cores that may be used (all)", "N,..." },
    { "processes", 0, 0, G_OPTION_ARG_STRING, &typed->processes, "processes that share the cameras (1)", "N,..." },
    { "gpus", 0, 0, G_OPTION_ARG_STRING, &typed->gpus, "GPUs that share the cameras (default: the elements choose)",
        "N,..." },
    { "memory", 'm', 0, G_OPTION_ARG_STRING, &typed->memory,
        "memory of the frames: buffers that the filter proposes, "
        "plain memory, or CUDA memory at both ends: proposed, plain, cuda (proposed)",
        "KIND,..." },
    { "bare", 'b', 0, G_OPTION_ARG_NONE, &opt->kernels_only,
        "also measure the kernels only, without GStreamer (lines "
        "that have only elements of this project; needs a GPU)",
        NULL },
    { "queue", 'q', 0, G_OPTION_ARG_NONE, &opt->queue,
        "put a queue of 4 frames before and behind the line: three threads", NULL },
    { "sweep", 0, 0, G_OPTION_ARG_STRING, &typed->sweep, "one row per value of a property of the line's elements",
        "NAME=V,..." },
    { "study", 0, 0, G_OPTION_ARG_STRING, &typed->study, "size, speedup or cameras, see above", "NAME" },
    { "peers", 'p', 0, G_OPTION_ARG_NONE, &opt->baselines,
        "also measure comparable elements of GStreamer (videomedian, gaussianblur, cvsmooth) and filters of "
        "FFmpeg, where installed, in the same format if they take it",
        NULL },
    { "no-limits", 0, 0, G_OPTION_ARG_NONE, &opt->no_limits, "do not measure memcpy and the link to the GPU", NULL },
    { "json", 'j', 0, G_OPTION_ARG_FILENAME, &opt->json, "write all results to FILE", "FILE" },
    { "force", 0, 0, G_OPTION_ARG_NONE, &opt->force, OUTPUT_FORCE_HELP, NULL },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &opt->lines, NULL, NULL },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };

  return parse_command_line (entries, "'LINE'... - frames per second and latency of filter lines", summary, description,
      &argc, &argv);
}

gboolean
bench_options_parse (BenchOptions *opt, int argc, char **argv)
{
  static char *standard[] = { (char *) "cudamedian kernel-size=5", NULL };
  static Typed typed;
  gboolean good;

  *opt = (BenchOptions) { .seconds = 3, .warm_up = 0.5 };
  setlocale (LC_ALL, "");
  good = read_command_line (opt, &typed, argc, argv) && check_values (opt) && choose_study (opt, typed.study) &&
      choose_lists (opt, &typed) && choose_sweep (opt, typed.sweep);
  setlocale (LC_NUMERIC, "C"); /* decimal points in the table and in JSON */
  if (!opt->lines)
    opt->lines = g_strdupv (standard);
  return good;
}
